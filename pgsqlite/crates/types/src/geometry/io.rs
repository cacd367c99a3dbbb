//! Text and binary form of the geometric types.

use super::{less, zero, Circle, Line, Lseg, Path, Point, Polygon, Rectangle};
use crate::buffer::{bad_stored, invalid_syntax, is_space, Reader};
use crate::{float, Datum, DatumRef, PgError, Result, SqlState};

/// Which geometric type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Point,
    Lseg,
    Line,
    Box,
    Path,
    Polygon,
    Circle,
}

/// A value of a geometric type.
pub trait Geometric: Sized {
    const NAME: &'static str;
    /// Reads the text form; `cursor` is at its beginning.
    fn read(cursor: &mut Cursor) -> Result<Self>;
    /// Appends the text form. `digits`: the setting `extra_float_digits`.
    fn write(&self, digits: i32, out: &mut Vec<u8>);
    fn receive(r: &mut Reader) -> Result<Self>;
    fn send(&self, out: &mut Vec<u8>);

    fn parse(text: &str) -> Result<Self> {
        Self::parse_checked(text, true)
    }
    fn parse_checked(text: &str, check: bool) -> Result<Self> {
        let mut cursor = Cursor { rest: text, text, name: Self::NAME, check };
        let value = Self::read(&mut cursor)?;
        match cursor.rest {
            "" => Ok(value),
            _ => Err(cursor.bad()),
        }
    }
    /// The storage form: the text form with all digits.
    fn to_datum(&self) -> Datum {
        let mut out = Vec::new();
        self.write(1, &mut out);
        Datum::Text(String::from_utf8(out).expect("numbers and brackets are ASCII"))
    }
    fn from_datum(value: DatumRef) -> Result<Self> {
        match value {
            DatumRef::Text(t) => Self::parse_checked(t, false).map_err(|_| bad_stored(Self::NAME, value)),
            other => Err(bad_stored(Self::NAME, other)),
        }
    }
}

/// Reads the text form of a value from the left.
pub struct Cursor<'a> {
    rest: &'a str,
    text: &'a str,
    name: &'static str,
    /// What a client gives is checked and put in order. What is stored is not: functions may make values that input refuses,
    /// as a circle of negative radius.
    check: bool,
}

impl Cursor<'_> {
    fn bad(&self) -> PgError {
        invalid_syntax(self.name, self.text)
    }
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
    }
    fn eat(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
    fn expect(&mut self, c: char) -> Result<()> {
        if self.eat(c) {
            Ok(())
        } else {
            Err(self.bad())
        }
    }
    fn number(&mut self) -> Result<f64> {
        let (value, length) = float::parse_prefix(self.rest, false, || self.bad())?;
        self.rest = &self.rest[length..];
        self.blanks();
        Ok(value)
    }
    /// `x,y`, with or without brackets.
    fn pair(&mut self) -> Result<Point> {
        self.blanks();
        let bracket = self.eat('(');
        let x = self.number()?;
        self.expect(',')?;
        let y = self.number()?;
        if bracket {
            self.expect(')')?;
            self.blanks();
        }
        Ok(Point { x, y })
    }
    /// Whether the opening bracket here is the only one.
    fn only_bracket(&self) -> bool {
        self.rest.starts_with('(') && self.rest.rfind('(') == Some(0)
    }
    /// Closes `depth` brackets, the last one perhaps by `last`.
    fn close(&mut self, depth: usize, last: Option<char>) -> Result<()> {
        for left in (1..=depth).rev() {
            crate::work::pulse(1);
            let closed = self.eat(')') || left == 1 && last.is_some_and(|c| self.eat(c));
            if !closed {
                return Err(self.bad());
            }
            self.blanks();
        }
        Ok(())
    }
    /// `count` pairs with commas between them, perhaps in brackets: round ones, or square ones where `open` allows that.
    /// Gives whether they were square.
    fn pairs(&mut self, count: usize, open: bool) -> Result<(Vec<Point>, bool)> {
        self.blanks();
        let mut depth = 0;
        let square = self.rest.starts_with('[');
        if square {
            if !open {
                return Err(self.bad());
            }
            self.eat('[');
            depth = 1;
        } else if self.rest.starts_with('(') {
            let only = self.only_bracket();
            let mut inner = Cursor { ..*self };
            inner.eat('(');
            inner.blanks();
            if inner.rest.starts_with('(') || only {
                depth = 1;
                self.rest = inner.rest;
            }
        }
        let mut points = Vec::with_capacity(count.min(1 << 16));
        for _ in 0..count {
            crate::work::pulse(1);
            points.push(self.pair()?);
            self.eat(',');
        }
        self.close(depth, square.then_some(']'))?;
        Ok((points, square))
    }
    /// How many pairs there are, by the commas; None: they cannot all be pairs.
    fn pair_count(&self) -> Option<usize> {
        let commas = self.text.bytes().filter(|b| *b == b',').count();
        (commas % 2 == 1).then_some(commas.div_ceil(2))
    }
}

fn number(value: f64, digits: i32, out: &mut Vec<u8>) {
    float::write(value, false, digits, out);
}
fn point(p: &Point, digits: i32, out: &mut Vec<u8>) {
    out.push(b'(');
    number(p.x, digits, out);
    out.push(b',');
    number(p.y, digits, out);
    out.push(b')');
}
fn points(list: &[Point], digits: i32, out: &mut Vec<u8>) {
    for (i, p) in list.iter().enumerate() {
        crate::work::pulse(1);
        if i > 0 {
            out.push(b',');
        }
        point(p, digits, out);
    }
}
fn send(values: &[f64], out: &mut Vec<u8>) {
    for v in values {
        crate::work::pulse(1);
        out.extend_from_slice(&v.to_be_bytes());
    }
}
fn invalid_binary(message: String) -> PgError {
    PgError::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
}
fn receive_points(r: &mut Reader, name: &str) -> Result<Vec<Point>> {
    let count = r.i32()?;
    // as many as PostgreSQL's size of a value allows
    if count <= 0 || count >= i32::MAX / 16 - 2 {
        return Err(invalid_binary(format!("invalid number of points in external \"{name}\" value")));
    }
    let mut out = Vec::with_capacity((count as usize).min(r.0.len() / 16));
    for _ in 0..count {
        crate::work::pulse(1);
        out.push(Point::receive(r)?);
    }
    Ok(out)
}
fn send_points(points: &[Point], out: &mut Vec<u8>) {
    out.extend_from_slice(&(points.len() as i32).to_be_bytes());
    for p in points {
        crate::work::pulse(1);
        p.send(out);
    }
}

impl Geometric for Point {
    const NAME: &'static str = "point";
    fn read(c: &mut Cursor) -> Result<Self> {
        c.pair()
    }
    fn write(&self, digits: i32, out: &mut Vec<u8>) {
        point(self, digits, out);
    }
    fn receive(r: &mut Reader) -> Result<Self> {
        Ok(Point { x: r.f64()?, y: r.f64()? })
    }
    fn send(&self, out: &mut Vec<u8>) {
        send(&[self.x, self.y], out);
    }
}

impl Geometric for Lseg {
    const NAME: &'static str = "lseg";
    fn read(c: &mut Cursor) -> Result<Self> {
        let (p, _) = c.pairs(2, true)?;
        Ok(Lseg(p[0], p[1]))
    }
    fn write(&self, digits: i32, out: &mut Vec<u8>) {
        out.push(b'[');
        points(&[self.0, self.1], digits, out);
        out.push(b']');
    }
    fn receive(r: &mut Reader) -> Result<Self> {
        Ok(Lseg(Point::receive(r)?, Point::receive(r)?))
    }
    fn send(&self, out: &mut Vec<u8>) {
        self.0.send(out);
        self.1.send(out);
    }
}

impl Line {
    fn checked(self, state: SqlState) -> Result<Line> {
        if zero(self.a) && zero(self.b) {
            return Err(PgError::new(state, "invalid line specification: A and B cannot both be zero"));
        }
        Ok(self)
    }
}

impl Geometric for Line {
    const NAME: &'static str = "line";
    fn read(c: &mut Cursor) -> Result<Self> {
        c.blanks();
        if !c.eat('{') {
            let (p, _) = c.pairs(2, true)?;
            if !c.rest.is_empty() {
                return Err(c.bad());
            }
            return Line::through(&p[0], &p[1], SqlState::INVALID_TEXT_REPRESENTATION);
        }
        let a = c.number()?;
        c.expect(',')?;
        let b = c.number()?;
        c.expect(',')?;
        let line = Line { a, b, c: c.number()? };
        c.expect('}')?;
        c.blanks();
        if !c.rest.is_empty() {
            return Err(c.bad());
        }
        if c.check {
            line.checked(SqlState::INVALID_TEXT_REPRESENTATION)
        } else {
            Ok(line)
        }
    }
    fn write(&self, digits: i32, out: &mut Vec<u8>) {
        for (before, value) in [(b'{', self.a), (b',', self.b), (b',', self.c)] {
            crate::work::pulse(1);
            out.push(before);
            number(value, digits, out);
        }
        out.push(b'}');
    }
    fn receive(r: &mut Reader) -> Result<Self> {
        Line { a: r.f64()?, b: r.f64()?, c: r.f64()? }.checked(SqlState::INVALID_BINARY_REPRESENTATION)
    }
    fn send(&self, out: &mut Vec<u8>) {
        send(&[self.a, self.b, self.c], out);
    }
}

impl Rectangle {
    /// The corners as given, where they are not the other way round.
    fn ordered(mut self) -> Rectangle {
        if less(self.high.x, self.low.x) {
            std::mem::swap(&mut self.high.x, &mut self.low.x);
        }
        if less(self.high.y, self.low.y) {
            std::mem::swap(&mut self.high.y, &mut self.low.y);
        }
        self
    }
}

impl Geometric for Rectangle {
    const NAME: &'static str = "box";
    fn read(c: &mut Cursor) -> Result<Self> {
        let (p, _) = c.pairs(2, false)?;
        let given = Rectangle { high: p[0], low: p[1] };
        Ok(if c.check { given.ordered() } else { given })
    }
    fn write(&self, digits: i32, out: &mut Vec<u8>) {
        points(&[self.high, self.low], digits, out);
    }
    fn receive(r: &mut Reader) -> Result<Self> {
        Ok(Rectangle { high: Point::receive(r)?, low: Point::receive(r)? }.ordered())
    }
    fn send(&self, out: &mut Vec<u8>) {
        self.high.send(out);
        self.low.send(out);
    }
}

impl Geometric for Path {
    const NAME: &'static str = "path";
    fn read(c: &mut Cursor) -> Result<Self> {
        let count = c.pair_count().ok_or_else(|| c.bad())?;
        c.blanks();
        let single = c.only_bracket();
        if single {
            c.eat('(');
        }
        let (points, square) = c.pairs(count, true)?;
        c.close(usize::from(single), None)?;
        Ok(Path { closed: !square, points })
    }
    fn write(&self, digits: i32, out: &mut Vec<u8>) {
        out.push(if self.closed { b'(' } else { b'[' });
        points(&self.points, digits, out);
        out.push(if self.closed { b')' } else { b']' });
    }
    fn receive(r: &mut Reader) -> Result<Self> {
        let closed = r.u8()? != 0;
        Ok(Path { closed, points: receive_points(r, "path")? })
    }
    fn send(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.closed));
        send_points(&self.points, out);
    }
}

impl Geometric for Polygon {
    const NAME: &'static str = "polygon";
    fn read(c: &mut Cursor) -> Result<Self> {
        let count = c.pair_count().ok_or_else(|| c.bad())?;
        Ok(Polygon { points: c.pairs(count, false)?.0 })
    }
    fn write(&self, digits: i32, out: &mut Vec<u8>) {
        out.push(b'(');
        points(&self.points, digits, out);
        out.push(b')');
    }
    fn receive(r: &mut Reader) -> Result<Self> {
        Ok(Polygon { points: receive_points(r, "polygon")? })
    }
    fn send(&self, out: &mut Vec<u8>) {
        send_points(&self.points, out);
    }
}

impl Geometric for Circle {
    const NAME: &'static str = "circle";
    fn read(c: &mut Cursor) -> Result<Self> {
        c.blanks();
        let mut depth = 0;
        if c.eat('<') {
            depth = 1;
        } else if c.rest.starts_with('(') {
            let mut inner = Cursor { ..*c };
            inner.eat('(');
            inner.blanks();
            if inner.rest.starts_with('(') {
                depth = 1;
                c.rest = inner.rest;
            }
        }
        let center = c.pair()?;
        c.eat(',');
        let radius = c.number()?;
        // NaN is accepted
        if radius < 0.0 && c.check {
            return Err(c.bad());
        }
        c.close(depth, Some('>'))?;
        Ok(Circle { center, radius })
    }
    fn write(&self, digits: i32, out: &mut Vec<u8>) {
        out.push(b'<');
        point(&self.center, digits, out);
        out.push(b',');
        number(self.radius, digits, out);
        out.push(b'>');
    }
    fn receive(r: &mut Reader) -> Result<Self> {
        let circle = Circle { center: Point::receive(r)?, radius: r.f64()? };
        if circle.radius < 0.0 {
            return Err(invalid_binary("invalid radius in external \"circle\" value".into()));
        }
        Ok(circle)
    }
    fn send(&self, out: &mut Vec<u8>) {
        self.center.send(out);
        send(&[self.radius], out);
    }
}

/// Runs `$body` with the type of `$kind` as `$t`.
macro_rules! by_kind {
    ($kind:expr, $t:ident => $body:expr) => {
        match $kind {
            Kind::Point => {
                type $t = Point;
                $body
            }
            Kind::Lseg => {
                type $t = Lseg;
                $body
            }
            Kind::Line => {
                type $t = Line;
                $body
            }
            Kind::Box => {
                type $t = Rectangle;
                $body
            }
            Kind::Path => {
                type $t = Path;
                $body
            }
            Kind::Polygon => {
                type $t = Polygon;
                $body
            }
            Kind::Circle => {
                type $t = Circle;
                $body
            }
        }
    };
}

pub(crate) fn text_in(text: &str, kind: Kind) -> Result<Datum> {
    by_kind!(kind, T => Ok(T::parse(text)?.to_datum()))
}

pub(crate) fn text_out(value: DatumRef, kind: Kind, digits: i32, out: &mut Vec<u8>) -> Result<()> {
    by_kind!(kind, T => T::from_datum(value)?.write(digits, out));
    Ok(())
}

pub(crate) fn binary_in(bytes: &[u8], kind: Kind) -> Result<Datum> {
    let mut r = Reader(bytes);
    let value = by_kind!(kind, T => T::receive(&mut r)?.to_datum());
    r.end()?;
    Ok(value)
}

pub(crate) fn binary_out(value: DatumRef, kind: Kind, out: &mut Vec<u8>) -> Result<()> {
    by_kind!(kind, T => T::from_datum(value)?.send(out));
    Ok(())
}

/// The parts of a value as its subscripts count them from 0: a point and a line have numbers, a segment and a box have points.
enum Parts {
    Numbers(Vec<f64>),
    Points([Point; 2]),
}

fn parts(value: DatumRef, kind: Kind) -> Result<Parts> {
    Ok(match kind {
        Kind::Point => {
            let p = Point::from_datum(value)?;
            Parts::Numbers(vec![p.x, p.y])
        }
        Kind::Line => {
            let l = Line::from_datum(value)?;
            Parts::Numbers(vec![l.a, l.b, l.c])
        }
        Kind::Lseg => {
            let s = Lseg::from_datum(value)?;
            Parts::Points([s.0, s.1])
        }
        Kind::Box => {
            let b = Rectangle::from_datum(value)?;
            Parts::Points([b.high, b.low])
        }
        Kind::Path | Kind::Polygon | Kind::Circle => return Err(PgError::internal("a part of a value that has none")),
    })
}

/// The part that a subscript names; None: there is none.
pub fn part(value: DatumRef, kind: Kind, index: i64) -> Result<Option<Datum>> {
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    Ok(match parts(value, kind)? {
        Parts::Numbers(list) => list.get(index).map(|v| float::to_datum(*v)),
        Parts::Points(list) => list.get(index).map(Geometric::to_datum),
    })
}

/// The value with the part that a subscript names changed. What comes out is not checked: a box may have its corners the wrong
/// way round, as in PostgreSQL.
pub fn set_part(value: DatumRef, kind: Kind, new: DatumRef, index: i64) -> Result<Datum> {
    let none = || PgError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "array subscript out of range");
    let index = usize::try_from(index).map_err(|_| none())?;
    let mut parts = parts(value, kind)?;
    match &mut parts {
        Parts::Numbers(list) => *list.get_mut(index).ok_or_else(none)? = float::from_datum(new)?,
        Parts::Points(list) => *list.get_mut(index).ok_or_else(none)? = Point::from_datum(new)?,
    }
    Ok(match (parts, kind) {
        (Parts::Numbers(list), Kind::Point) => Point { x: list[0], y: list[1] }.to_datum(),
        (Parts::Numbers(list), _) => Line { a: list[0], b: list[1], c: list[2] }.to_datum(),
        (Parts::Points([high, low]), Kind::Box) => Rectangle { high, low }.to_datum(),
        (Parts::Points([p, q]), _) => Lseg(p, q).to_datum(),
    })
}
