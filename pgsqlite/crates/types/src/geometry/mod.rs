//! `point`, `lseg`, `line`, `box`, `path`, `polygon`, `circle`. Stored as TEXT, as they print with all digits.
//!
//! This file has the values and the arithmetic of coordinates; `io` reads and writes them, `relations` tells how two of them
//! lie to each other, `distance` how far they are apart and where they are closest.
//!
//! Coordinates that differ by no more than [`EPSILON`] count as equal where PostgreSQL takes them so ([`eq`], [`lt`] …); sums
//! and products are computed in its order, because the last digit shows it, and refuse to overflow and underflow.

pub mod distance;
pub mod io;
pub mod predicates;

pub use io::{Geometric, Kind};

use crate::{PgError, Result, SqlState};

/// Differences up to this do not count.
pub const EPSILON: f64 = 1e-6;

pub fn zero(a: f64) -> bool {
    a.abs() <= EPSILON
}
pub fn eq(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= EPSILON
}
pub fn ne(a: f64, b: f64) -> bool {
    a != b && (a - b).abs() > EPSILON
}
pub fn lt(a: f64, b: f64) -> bool {
    a + EPSILON < b
}
pub fn le(a: f64, b: f64) -> bool {
    a <= b + EPSILON
}
pub fn gt(a: f64, b: f64) -> bool {
    a > b + EPSILON
}
pub fn ge(a: f64, b: f64) -> bool {
    a + EPSILON >= b
}

/// `a < b` in the order of `double precision`, in which NaN is the largest.
pub fn less(a: f64, b: f64) -> bool {
    !a.is_nan() && (b.is_nan() || a < b)
}
pub fn smaller(a: f64, b: f64) -> f64 {
    if less(a, b) {
        a
    } else {
        b
    }
}
pub fn larger(a: f64, b: f64) -> f64 {
    if less(b, a) {
        a
    } else {
        b
    }
}
/// Equal to the last bit; NaN is NaN.
fn identical(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

fn out_of_range(how: &str) -> PgError {
    PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("value out of range: {how}"))
}
fn checked(result: f64, a: f64, b: f64) -> Result<f64> {
    if result.is_infinite() && !a.is_infinite() && !b.is_infinite() {
        return Err(out_of_range("overflow"));
    }
    Ok(result)
}
pub fn add(a: f64, b: f64) -> Result<f64> {
    checked(a + b, a, b)
}
pub fn sub(a: f64, b: f64) -> Result<f64> {
    checked(a - b, a, b)
}
pub fn mul(a: f64, b: f64) -> Result<f64> {
    let result = checked(a * b, a, b)?;
    if result == 0.0 && a != 0.0 && b != 0.0 {
        return Err(out_of_range("underflow"));
    }
    Ok(result)
}
pub fn div(a: f64, b: f64) -> Result<f64> {
    if b == 0.0 && !a.is_nan() {
        return Err(PgError::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
    }
    let result = a / b;
    if result.is_infinite() && !a.is_infinite() {
        return Err(out_of_range("overflow"));
    }
    if result == 0.0 && a != 0.0 && !b.is_infinite() {
        return Err(out_of_range("underflow"));
    }
    Ok(result)
}
/// √(x² + y²), scaled by the larger one as PostgreSQL does it.
pub fn hypot(x: f64, y: f64) -> Result<f64> {
    if x.is_infinite() || y.is_infinite() {
        return Ok(f64::INFINITY);
    }
    if x.is_nan() || y.is_nan() {
        return Ok(f64::NAN);
    }
    let (x, y) = (x.abs(), y.abs());
    let (x, y) = if x < y { (y, x) } else { (x, y) };
    if y == 0.0 {
        return Ok(x);
    }
    let ratio = y / x;
    let result = x * (1.0 + ratio * ratio).sqrt();
    if result.is_infinite() {
        return Err(out_of_range("overflow"));
    }
    if result == 0.0 {
        return Err(out_of_range("underflow"));
    }
    Ok(result)
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

/// A line segment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lseg(pub Point, pub Point);

/// The line ax + by + c = 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    pub a: f64,
    pub b: f64,
    pub c: f64,
}

/// A rectangle parallel to the axes: its upper right and its lower left corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rectangle {
    pub high: Point,
    pub low: Point,
}

/// At least one point; a closed path has a segment from the last to the first, too.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    pub closed: bool,
    pub points: Vec<Point>,
}

/// At least one point.
#[derive(Debug, Clone, PartialEq)]
pub struct Polygon {
    pub points: Vec<Point>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Circle {
    pub center: Point,
    pub radius: f64,
}

impl Point {
    /// The same place, within [`EPSILON`].
    pub fn same(&self, other: &Point) -> bool {
        if [self.x, self.y, other.x, other.y].iter().any(|v| v.is_nan()) {
            return identical(self.x, other.x) && identical(self.y, other.y);
        }
        eq(self.x, other.x) && eq(self.y, other.y)
    }
    pub fn distance(&self, other: &Point) -> Result<f64> {
        hypot(sub(self.x, other.x)?, sub(self.y, other.y)?)
    }
    /// The slope of the line through both: infinite where it is vertical.
    pub fn slope(&self, other: &Point) -> Result<f64> {
        if eq(self.x, other.x) {
            Ok(f64::INFINITY)
        } else if eq(self.y, other.y) {
            Ok(0.0)
        } else {
            div(sub(self.y, other.y)?, sub(self.x, other.x)?)
        }
    }
    /// The slope of the lines that are perpendicular to it.
    pub fn inverse_slope(&self, other: &Point) -> Result<f64> {
        if eq(self.x, other.x) {
            Ok(0.0)
        } else if eq(self.y, other.y) {
            Ok(f64::INFINITY)
        } else {
            div(sub(self.x, other.x)?, sub(other.y, self.y)?)
        }
    }
    pub fn middle(&self, other: &Point) -> Result<Point> {
        Ok(Point { x: div(add(self.x, other.x)?, 2.0)?, y: div(add(self.y, other.y)?, 2.0)? })
    }
    pub fn add(&self, other: &Point) -> Result<Point> {
        Ok(Point { x: add(self.x, other.x)?, y: add(self.y, other.y)? })
    }
    pub fn sub(&self, other: &Point) -> Result<Point> {
        Ok(Point { x: sub(self.x, other.x)?, y: sub(self.y, other.y)? })
    }
    /// As complex numbers: turned and scaled.
    pub fn mul(&self, other: &Point) -> Result<Point> {
        Ok(Point {
            x: sub(mul(self.x, other.x)?, mul(self.y, other.y)?)?,
            y: add(mul(self.x, other.y)?, mul(self.y, other.x)?)?,
        })
    }
    pub fn div(&self, other: &Point) -> Result<Point> {
        let by = add(mul(other.x, other.x)?, mul(other.y, other.y)?)?;
        Ok(Point {
            x: div(add(mul(self.x, other.x)?, mul(self.y, other.y)?)?, by)?,
            y: div(sub(mul(self.y, other.x)?, mul(self.x, other.y)?)?, by)?,
        })
    }
}

impl Lseg {
    pub fn length(&self) -> Result<f64> {
        self.0.distance(&self.1)
    }
    pub fn slope(&self) -> Result<f64> {
        self.0.slope(&self.1)
    }
    /// The line that it is a part of.
    pub fn line(&self) -> Result<Line> {
        Line::new(&self.0, self.slope()?)
    }
}

impl Line {
    /// Through a point with a slope.
    pub fn new(point: &Point, slope: f64) -> Result<Line> {
        if slope.is_infinite() {
            return Ok(Line { a: -1.0, b: 0.0, c: point.x });
        }
        if slope == 0.0 {
            return Ok(Line { a: 0.0, b: -1.0, c: point.y });
        }
        let c = sub(point.y, mul(slope, point.x)?)?;
        Ok(Line { a: slope, b: -1.0, c: positive_zero(c) })
    }
    /// Through two points, which must differ; `state` is the error's code.
    pub fn through(p: &Point, q: &Point, state: SqlState) -> Result<Line> {
        if p.same(q) {
            return Err(PgError::new(state, "invalid line specification: must be two distinct points"));
        }
        Line::new(p, p.slope(q)?)
    }
    pub fn slope(&self) -> Result<f64> {
        if zero(self.a) {
            Ok(0.0)
        } else if zero(self.b) {
            Ok(f64::INFINITY)
        } else {
            div(self.a, -self.b)
        }
    }
    pub fn inverse_slope(&self) -> Result<f64> {
        if zero(self.a) {
            Ok(f64::INFINITY)
        } else if zero(self.b) {
            Ok(0.0)
        } else {
            div(self.b, self.a)
        }
    }
}

/// -0 as 0.
fn positive_zero(value: f64) -> f64 {
    if value == 0.0 {
        0.0
    } else {
        value
    }
}

impl Rectangle {
    /// With these opposite corners.
    pub fn new(p: &Point, q: &Point) -> Rectangle {
        let pair = |a, b| if less(b, a) { (a, b) } else { (b, a) };
        let ((high_x, low_x), (high_y, low_y)) = (pair(p.x, q.x), pair(p.y, q.y));
        Rectangle { high: Point { x: high_x, y: high_y }, low: Point { x: low_x, y: low_y } }
    }
    /// The smallest that has all the points (at least one).
    pub fn around(points: &[Point]) -> Rectangle {
        let mut out = Rectangle { high: points[0], low: points[0] };
        for p in &points[1..] {
            crate::work::pulse(1);
            out.high = Point { x: larger(p.x, out.high.x), y: larger(p.y, out.high.y) };
            out.low = Point { x: smaller(p.x, out.low.x), y: smaller(p.y, out.low.y) };
        }
        out
    }
    pub fn width(&self) -> Result<f64> {
        sub(self.high.x, self.low.x)
    }
    pub fn height(&self) -> Result<f64> {
        sub(self.high.y, self.low.y)
    }
    pub fn area(&self) -> Result<f64> {
        mul(self.width()?, self.height()?)
    }
    pub fn center(&self) -> Result<Point> {
        self.high.middle(&self.low)
    }
    /// Left, upper, lower and right side, in the order in which PostgreSQL looks at them.
    pub fn sides(&self) -> [Lseg; 4] {
        let upper_left = Point { x: self.low.x, y: self.high.y };
        let lower_right = Point { x: self.high.x, y: self.low.y };
        [
            Lseg(self.low, upper_left),
            Lseg(self.high, upper_left),
            Lseg(self.low, lower_right),
            Lseg(self.high, lower_right),
        ]
    }
    pub fn circle(&self) -> Result<Circle> {
        let center = self.center()?;
        Ok(Circle { center, radius: center.distance(&self.high)? })
    }
    pub fn polygon(&self) -> Polygon {
        let corner = |x, y| Point { x, y };
        Polygon { points: vec![self.low, corner(self.low.x, self.high.y), self.high, corner(self.high.x, self.low.y)] }
    }
}

/// The segments of points that follow each other; a closed row begins with the one from the last point to the first.
pub fn segments(points: &[Point], closed: bool) -> impl Iterator<Item = Lseg> + '_ {
    let first = closed.then(|| Lseg(points[points.len() - 1], points[0]));
    first.into_iter().chain(points.windows(2).map(|p| Lseg(p[0], p[1])))
}

impl Path {
    pub fn segments(&self) -> impl Iterator<Item = Lseg> + '_ {
        segments(&self.points, self.closed)
    }
    pub fn length(&self) -> Result<f64> {
        self.segments().try_fold(0.0, |sum, s| add(sum, s.length()?))
    }
    /// None: it is open.
    pub fn area(&self) -> Result<Option<f64>> {
        if !self.closed {
            return Ok(None);
        }
        let mut area = 0.0;
        for (i, p) in self.points.iter().enumerate() {
            crate::work::pulse(1);
            let q = &self.points[(i + 1) % self.points.len()];
            area = add(area, mul(p.x, q.y)?)?;
            area = sub(area, mul(p.y, q.x)?)?;
        }
        div(f64::abs(area), 2.0).map(Some)
    }
}

impl Polygon {
    pub fn bounds(&self) -> Rectangle {
        Rectangle::around(&self.points)
    }
    /// Around the mean of its points, with the mean of their distances from there.
    pub fn circle(&self) -> Result<Circle> {
        let count = self.points.len() as f64;
        let mut center = Point { x: 0.0, y: 0.0 };
        for p in &self.points {
            crate::work::pulse(1);
            center = center.add(p)?;
        }
        let center = Point { x: div(center.x, count)?, y: div(center.y, count)? };
        let mut radius = 0.0;
        for p in &self.points {
            crate::work::pulse(1);
            radius = add(radius, p.distance(&center)?)?;
        }
        Ok(Circle { center, radius: div(radius, count)? })
    }
}

impl Circle {
    pub fn area(&self) -> Result<f64> {
        mul(mul(self.radius, self.radius)?, std::f64::consts::PI)
    }
    /// The square in it.
    pub fn inner_box(&self) -> Result<Rectangle> {
        let delta = div(self.radius, std::f64::consts::SQRT_2)?;
        let corner = Point { x: delta, y: delta };
        Ok(Rectangle { high: self.center.add(&corner)?, low: self.center.sub(&corner)? })
    }
    /// The polygon of `count` points on it.
    pub fn polygon(&self, count: i64) -> Result<Polygon> {
        if zero(self.radius) {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cannot convert circle with radius zero to polygon",
            ));
        }
        if count < 2 {
            return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, "must request at least 2 points"));
        }
        // what PostgreSQL's size of a value allows
        if count >= i64::from(i32::MAX) / 16 - 2 {
            return Err(PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "too many points requested"));
        }
        let step = div(2.0 * std::f64::consts::PI, count as f64)?;
        let mut points = Vec::new();
        for i in 0..count {
            crate::work::pulse(1);
            let angle = mul(step, i as f64)?;
            points.push(Point {
                x: sub(self.center.x, mul(self.radius, angle.cos())?)?,
                y: add(self.center.y, mul(self.radius, angle.sin())?)?,
            });
        }
        Ok(Polygon { points })
    }
}
