//! How geometric values lie to each other: intersection, containment, equality.

use super::{
    add, div, eq, ge, gt, identical, le, lt, mul, positive_zero, segments, sub, zero, Circle, Line, Lseg, Path, Point,
    Polygon, Rectangle,
};
use crate::work::Ticking;
use crate::{PgError, Result, SqlState};

/// Segments that a test of containment cuts into ever smaller ones: more than this would exhaust the stack.
const DEEPEST: usize = 2000;

impl Line {
    /// Where two lines cross; None: they are parallel.
    pub fn crossing(&self, other: &Line) -> Result<Option<Point>> {
        // the first with a slope is solved for y
        let (l, m) = if !zero(self.b) {
            (self, other)
        } else if !zero(other.b) {
            (other, self)
        } else {
            return Ok(None);
        };
        if eq(m.a, mul(l.a, div(m.b, l.b)?)?) {
            return Ok(None);
        }
        let x = div(sub(mul(l.b, m.c)?, mul(m.b, l.c)?)?, sub(mul(l.a, m.b)?, mul(m.a, l.b)?)?)?;
        let y = div(-add(mul(l.a, x)?, l.c)?, l.b)?;
        Ok(Some(Point { x: positive_zero(x), y: positive_zero(y) }))
    }
    pub fn contains(&self, p: &Point) -> Result<bool> {
        Ok(zero(add(add(mul(self.a, p.x)?, mul(self.b, p.y)?)?, self.c)?))
    }
    pub fn is_perpendicular(&self, other: &Line) -> Result<bool> {
        Ok(if zero(self.a) {
            zero(other.b)
        } else if zero(other.a) {
            zero(self.b)
        } else if zero(self.b) {
            zero(other.a)
        } else if zero(other.b) {
            zero(self.a)
        } else {
            eq(div(mul(self.a, other.a)?, mul(self.b, other.b)?)?, -1.0)
        })
    }
    /// The same line: the factors are proportional.
    pub fn same(&self, other: &Line) -> Result<bool> {
        if [self.a, self.b, self.c, other.a, other.b, other.c].iter().any(|v| v.is_nan()) {
            return Ok(identical(self.a, other.a) && identical(self.b, other.b) && identical(self.c, other.c));
        }
        let ratio = if !zero(other.a) {
            div(self.a, other.a)?
        } else if !zero(other.b) {
            div(self.b, other.b)?
        } else if !zero(other.c) {
            div(self.c, other.c)?
        } else {
            1.0
        };
        Ok(eq(self.a, mul(ratio, other.a)?) && eq(self.b, mul(ratio, other.b)?) && eq(self.c, mul(ratio, other.c)?))
    }
    pub fn intersects_box(&self, b: &Rectangle) -> Result<bool> {
        let corner = |x, y| Point { x, y };
        let (high, low) = (b.high, b.low);
        let (upper_left, lower_right) = (corner(low.x, high.y), corner(high.x, low.y));
        let sides = [Lseg(low, upper_left), Lseg(high, upper_left), Lseg(high, lower_right), Lseg(low, lower_right)];
        for side in sides {
            crate::work::pulse(1);
            if side.crossing_line(self)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Lseg {
    pub fn same(&self, other: &Lseg) -> bool {
        self.0.same(&other.0) && self.1.same(&other.1)
    }
    /// Whether the point is on the segment: the way by it is no detour.
    pub fn contains(&self, p: &Point) -> Result<bool> {
        Ok(eq(p.distance(&self.0)? + p.distance(&self.1)?, self.length()?))
    }
    /// Where the segment crosses a line.
    pub fn crossing_line(&self, line: &Line) -> Result<Option<Point>> {
        let Some(at) = self.line()?.crossing(line)? else { return Ok(None) };
        if !self.contains(&at)? {
            return Ok(None);
        }
        Ok(Some(if self.0.same(&at) {
            self.0
        } else if self.1.same(&at) {
            self.1
        } else {
            at
        }))
    }
    /// Where two segments cross.
    pub fn crossing(&self, other: &Lseg) -> Result<Option<Point>> {
        match self.crossing_line(&other.line()?)? {
            Some(at) if other.contains(&at)? => Ok(Some(at)),
            _ => Ok(None),
        }
    }
}

impl Rectangle {
    pub fn same(&self, other: &Rectangle) -> bool {
        self.high.same(&other.high) && self.low.same(&other.low)
    }
    pub fn overlaps(&self, other: &Rectangle) -> bool {
        le(self.low.x, other.high.x)
            && le(other.low.x, self.high.x)
            && le(self.low.y, other.high.y)
            && le(other.low.y, self.high.y)
    }
    pub fn contains(&self, other: &Rectangle) -> bool {
        ge(self.high.x, other.high.x)
            && le(self.low.x, other.low.x)
            && ge(self.high.y, other.high.y)
            && le(self.low.y, other.low.y)
    }
    pub fn contains_point(&self, p: &Point) -> bool {
        self.high.x >= p.x && self.low.x <= p.x && self.high.y >= p.y && self.low.y <= p.y
    }
    /// What both have in common.
    pub fn intersection(&self, other: &Rectangle) -> Option<Rectangle> {
        use super::{larger, smaller};
        self.overlaps(other).then(|| Rectangle {
            high: Point { x: smaller(self.high.x, other.high.x), y: smaller(self.high.y, other.high.y) },
            low: Point { x: larger(self.low.x, other.low.x), y: larger(self.low.y, other.low.y) },
        })
    }
    /// Whether a segment crosses the box or is in it.
    pub fn intersects(&self, s: &Lseg) -> Result<bool> {
        if !Rectangle::around(&[s.0, s.1]).overlaps(self) {
            return Ok(false);
        }
        if self.contains_point(&s.0) || self.contains_point(&s.1) {
            return Ok(true);
        }
        for side in self.sides() {
            crate::work::pulse(1);
            if side.crossing(s)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What a side of a polygon does to the ray that goes from (0,0) to the right.
enum Crossing {
    /// the side goes through (0,0)
    On,
    /// in halves, positive upwards
    Times(i32),
}

fn ray_crossing(x: f64, y: f64, previous_x: f64, previous_y: f64) -> Result<Crossing> {
    use Crossing::{On, Times};
    let times = |there: bool, count: i32| if there { Times(count) } else { On };
    if zero(y) {
        return Ok(if zero(x) {
            On
        } else if gt(x, 0.0) {
            match zero(previous_y) {
                true => times(gt(previous_x, 0.0), 0),
                false => Times(if lt(previous_y, 0.0) { 1 } else { -1 }),
            }
        } else {
            match zero(previous_y) {
                true => times(lt(previous_x, 0.0), 0),
                false => Times(0),
            }
        });
    }
    let sign = if gt(y, 0.0) { 1 } else { -1 };
    if zero(previous_y) {
        return Ok(Times(if lt(previous_x, 0.0) { 0 } else { sign }));
    }
    let side = |v: f64| sign < 0 && lt(v, 0.0) || sign > 0 && gt(v, 0.0);
    if side(previous_y) {
        return Ok(Times(0));
    }
    if ge(x, 0.0) && gt(previous_x, 0.0) {
        return Ok(Times(2 * sign));
    }
    if lt(x, 0.0) && le(previous_x, 0.0) {
        return Ok(Times(0));
    }
    let z = sub(mul(sub(x, previous_x)?, y)?, mul(sub(y, previous_y)?, x)?)?;
    Ok(if zero(z) {
        On
    } else if side(z) {
        Times(0)
    } else {
        Times(2 * sign)
    })
}

/// Whether a point is in or on the polygon of these points.
pub fn inside(p: &Point, points: &[Point]) -> Result<bool> {
    let relative = |q: &Point| q.sub(p);
    let first = relative(&points[0])?;
    let (mut previous, mut total) = (first, 0);
    let rest = points[1..].iter().map(relative).chain(std::iter::once(Ok(first)));
    for q in rest {
        crate::work::pulse(1);
        let q = q?;
        match ray_crossing(q.x, q.y, previous.x, previous.y)? {
            Crossing::On => return Ok(true),
            Crossing::Times(count) => total += count,
        }
        previous = q;
    }
    Ok(total != 0)
}

impl Path {
    /// Whether the point is on an open path, in or on a closed one.
    pub fn contains(&self, p: &Point) -> Result<bool> {
        if self.closed {
            return inside(p, &self.points);
        }
        for s in self.segments() {
            crate::work::pulse(1);
            if eq(add(p.distance(&s.0)?, p.distance(&s.1)?)?, s.length()?) {
                return Ok(true);
            }
        }
        Ok(false)
    }
    pub fn intersects(&self, other: &Path) -> Result<bool> {
        if !Rectangle::around(&self.points).overlaps(&Rectangle::around(&other.points)) {
            return Ok(false);
        }
        for s in self.segments() {
            crate::work::pulse(1);
            for t in other.segments() {
                crate::work::pulse(1);
                if s.crossing(&t)?.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

impl Polygon {
    /// The same points in the same order, from wherever and either way round.
    pub fn same(&self, other: &Polygon) -> bool {
        let (a, b) = (&self.points, &other.points);
        let n = a.len();
        n == b.len()
            && (0..n).filter(|&start| b[start].same(&a[0])).any(|start| {
                (1..n).pulsing().all(|i| b[(start + i) % n].same(&a[i]))
                    || (1..n).pulsing().all(|i| b[(start + n - i) % n].same(&a[i]))
            })
    }
    pub fn overlaps(&self, other: &Polygon) -> Result<bool> {
        if !self.bounds().overlaps(&other.bounds()) {
            return Ok(false);
        }
        for s in segments(&self.points, true) {
            crate::work::pulse(1);
            for t in segments(&other.points, true) {
                crate::work::pulse(1);
                if s.crossing(&t)?.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(inside(&self.points[0], &other.points)? || inside(&other.points[0], &self.points)?)
    }
    pub fn contains(&self, other: &Polygon) -> Result<bool> {
        if !self.bounds().contains(&other.bounds()) {
            return Ok(false);
        }
        for s in segments(&other.points, true) {
            crate::work::pulse(1);
            if !self.contains_segment(&s, 0, 0)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the segment is in the polygon, as far as the sides from `start` on tell. The segment is cut where a side
    /// crosses it, and its parts are looked at with the sides that follow.
    fn contains_segment(&self, t: &Lseg, start: usize, depth: usize) -> Result<bool> {
        if depth > DEEPEST {
            return Err(PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
        }
        let n = self.points.len();
        let mut crossed = false;
        for i in start..n {
            crate::work::pulse(1);
            let side = Lseg(self.points[(i + n - 1) % n], self.points[i]);
            let fits = if side.contains(&t.0)? {
                if side.contains(&t.1)? {
                    return Ok(true);
                }
                self.contains_touching(&t.0, &t.1, &side, i + 1, depth)?
            } else if side.contains(&t.1)? {
                self.contains_touching(&t.1, &t.0, &side, i + 1, depth)?
            } else if let Some(at) = t.crossing(&side)? {
                crossed = true;
                self.contains_segment(&Lseg(t.0, at), i + 1, depth + 1)?
                    && self.contains_segment(&Lseg(t.1, at), i + 1, depth + 1)?
            } else {
                true
            };
            if !fits {
                return Ok(false);
            }
        }
        if crossed {
            return Ok(true);
        }
        inside(&t.0.middle(&t.1)?, &self.points)
    }

    /// As `contains_segment` for a segment from `a`, which is on the side, to `b`, which is not.
    fn contains_touching(&self, a: &Point, b: &Point, side: &Lseg, start: usize, depth: usize) -> Result<bool> {
        let t = Lseg(*a, *b);
        let beyond = if a.same(&side.0) {
            t.contains(&side.1)?.then_some(side.1)
        } else if a.same(&side.1) {
            t.contains(&side.0)?.then_some(side.0)
        } else if t.contains(&side.0)? {
            Some(side.0)
        } else if t.contains(&side.1)? {
            Some(side.1)
        } else {
            None
        };
        match beyond {
            Some(end) => self.contains_segment(&Lseg(*b, end), start, depth + 1),
            None => Ok(true),
        }
    }
}

impl Circle {
    pub fn same(&self, other: &Circle) -> bool {
        (self.radius.is_nan() && other.radius.is_nan() || eq(self.radius, other.radius))
            && self.center.same(&other.center)
    }
    pub fn overlaps(&self, other: &Circle) -> Result<bool> {
        Ok(le(self.center.distance(&other.center)?, add(self.radius, other.radius)?))
    }
    pub fn contains(&self, other: &Circle) -> Result<bool> {
        Ok(le(self.center.distance(&other.center)?, sub(self.radius, other.radius)?))
    }
    pub fn contains_point(&self, p: &Point) -> Result<bool> {
        Ok(self.center.distance(p)? <= self.radius)
    }
}
