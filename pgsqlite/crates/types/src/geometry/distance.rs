//! How far geometric values are apart, and which point of one is closest to the other.

use super::predicates::inside;
use super::{div, eq, hypot, less, mul, segments, sub, zero, Circle, Line, Lseg, Path, Point, Polygon, Rectangle};
use crate::Result;

/// The closest point and its distance. The distance is NaN where none could be found.
pub type Closest = (Point, f64);

/// The closer one; the first if they are equally close.
fn closer(a: Closest, b: Closest) -> Closest {
    if less(b.1, a.1) {
        b
    } else {
        a
    }
}

impl Line {
    /// The point of the line that is closest to `p`.
    pub fn closest_to(&self, p: &Point) -> Result<Closest> {
        match Line::new(p, self.inverse_slope()?)?.crossing(self)? {
            Some(at) => Ok((at, at.distance(p)?)),
            None => Ok((*p, f64::NAN)),
        }
    }
    pub fn distance(&self, other: &Line) -> Result<f64> {
        if self.crossing(other)?.is_some() {
            return Ok(0.0);
        }
        let usable = |a: f64, b: f64| !zero(a) && !a.is_nan() && !zero(b) && !b.is_nan();
        let ratio = if usable(self.a, other.a) {
            div(self.a, other.a)?
        } else if usable(self.b, other.b) {
            div(self.b, other.b)?
        } else {
            1.0
        };
        div(sub(self.c, mul(ratio, other.c)?)?.abs(), hypot(self.a, self.b)?)
    }
}

impl Lseg {
    /// The point of the segment that is closest to `line`.
    pub fn closest_to_line(&self, line: &Line) -> Result<Closest> {
        if let Some(at) = self.crossing_line(line)? {
            return Ok((at, 0.0));
        }
        let (first, second) = (line.closest_to(&self.0)?.1, line.closest_to(&self.1)?.1);
        Ok(if first < second { (self.0, first) } else { (self.1, second) })
    }
    /// The point of the segment that is closest to `p`.
    pub fn closest_to(&self, p: &Point) -> Result<Closest> {
        let perpendicular = Line::new(p, self.0.inverse_slope(&self.1)?)?;
        let (at, _) = self.closest_to_line(&perpendicular)?;
        Ok((at, at.distance(p)?))
    }
    /// The point of this segment that is closest to `other`.
    pub fn closest_to_segment(&self, other: &Lseg) -> Result<Closest> {
        if let Some(at) = self.crossing(other)? {
            return Ok((at, 0.0));
        }
        let found = closer(self.closest_to(&other.0)?, self.closest_to(&other.1)?);
        let found = closer(found, (self.0, other.closest_to(&self.0)?.1));
        Ok(closer(found, (self.1, other.closest_to(&self.1)?.1)))
    }
    /// As an operator: None where they are parallel.
    pub fn closest_on_segment(&self, on: &Lseg) -> Result<Option<Point>> {
        if self.slope()? == on.slope()? {
            return Ok(None);
        }
        Ok(found(on.closest_to_segment(self)?))
    }
    pub fn closest_on_line(&self, line: &Line) -> Result<Option<Point>> {
        if self.slope()? == line.slope()? {
            return Ok(None);
        }
        Ok(found(self.closest_to_line(line)?))
    }
    pub fn is_parallel(&self, other: &Lseg) -> Result<bool> {
        Ok(eq(self.slope()?, other.slope()?))
    }
    pub fn is_perpendicular(&self, other: &Lseg) -> Result<bool> {
        Ok(eq(self.slope()?, other.0.inverse_slope(&other.1)?))
    }
}

/// The point, unless its distance is NaN.
pub fn found((point, distance): Closest) -> Option<Point> {
    (!distance.is_nan()).then_some(point)
}

/// The closest of what `measure` gives for each segment.
fn nearest(mut all: impl Iterator<Item = Lseg>, measure: impl Fn(&Lseg) -> Result<f64>) -> Result<Option<f64>> {
    all.try_fold(None, |least: Option<f64>, s| {
        let distance = measure(&s)?;
        Ok(Some(least.filter(|l| !less(distance, *l)).unwrap_or(distance)))
    })
}

/// The least distance of a segment of one row from one of another; None: one has none.
fn nearest_pair<I: Iterator<Item = Lseg>>(
    all: impl Iterator<Item = Lseg>,
    others: impl Fn() -> I,
) -> Result<Option<f64>> {
    let mut least = None;
    for s in all {
        crate::work::pulse(1);
        let distance = nearest(others(), |t| Ok(s.closest_to_segment(t)?.1))?;
        least = match (least, distance) {
            (Some(l), Some(d)) if !less(d, l) => Some(l),
            (l, d) => d.or(l),
        };
    }
    Ok(least)
}

impl Rectangle {
    /// The point in the box that is closest to `p`.
    pub fn closest_to(&self, p: &Point) -> Result<Closest> {
        if self.contains_point(p) {
            return Ok((*p, 0.0));
        }
        let [first, rest @ ..] = self.sides();
        rest.iter().try_fold(first.closest_to(p)?, |found, side| Ok(closer(found, side.closest_to(p)?)))
    }
    /// The point in the box that is closest to a segment; of one that meets the box, the point closest to the box's center.
    pub fn closest_to_segment(&self, s: &Lseg) -> Result<Closest> {
        if self.intersects(s)? {
            return Ok((s.closest_to(&self.center()?)?.0, 0.0));
        }
        let [first, rest @ ..] = self.sides();
        rest.iter().try_fold(first.closest_to_segment(s)?, |found, side| Ok(closer(found, side.closest_to_segment(s)?)))
    }
}

impl Path {
    /// 0 for a path of a single point, whichever it is: so does PostgreSQL.
    pub fn distance_to(&self, p: &Point) -> Result<f64> {
        Ok(nearest(self.segments(), |s| Ok(s.closest_to(p)?.1))?.unwrap_or(0.0))
    }
    /// None where one has no segment.
    pub fn distance(&self, other: &Path) -> Result<Option<f64>> {
        nearest_pair(self.segments(), || other.segments())
    }
}

impl Polygon {
    pub fn distance_to(&self, p: &Point) -> Result<f64> {
        if inside(p, &self.points)? {
            return Ok(0.0);
        }
        // the closing side the other way round, as PostgreSQL has it
        let closing = Lseg(self.points[0], self.points[self.points.len() - 1]);
        let sides = std::iter::once(closing).chain(segments(&self.points, false));
        Ok(nearest(sides, |s| Ok(s.closest_to(p)?.1))?.unwrap_or(0.0))
    }
    pub fn distance(&self, other: &Polygon) -> Result<f64> {
        if self.overlaps(other)? {
            return Ok(0.0);
        }
        Ok(nearest_pair(segments(&self.points, true), || segments(&other.points, true))?.unwrap_or(0.0))
    }
}

/// What is left of a distance to a circle's center.
fn beyond(distance: f64, radius: f64) -> Result<f64> {
    let rest = sub(distance, radius)?;
    Ok(if rest < 0.0 { 0.0 } else { rest })
}

impl Circle {
    pub fn distance_to(&self, p: &Point) -> Result<f64> {
        beyond(p.distance(&self.center)?, self.radius)
    }
    pub fn distance(&self, other: &Circle) -> Result<f64> {
        beyond(self.center.distance(&other.center)?, super::add(self.radius, other.radius)?)
    }
    pub fn distance_to_polygon(&self, p: &Polygon) -> Result<f64> {
        beyond(p.distance_to(&self.center)?, self.radius)
    }
}
