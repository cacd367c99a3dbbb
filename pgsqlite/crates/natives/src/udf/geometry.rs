//! Functions of the geometric types: what `pgsqlite_types::geometry` computes.

use super::shim::{Call, Scalar};
use pgsqlite_types::geometry::{
    self, add, distance, div, eq, ge, gt, le, lt, mul, ne, predicates, sub, zero, Circle, Geometric, Line, Lseg, Path,
    Point, Polygon, Rectangle,
};
use pgsqlite_types::{float, Datum, PgError, Result, SqlState};

/// An argument in storage form as the value it is.
fn arg<T: Geometric>(c: &Call, i: usize) -> Result<T> {
    T::from_datum(c.datum(i))
}
fn both<A: Geometric, B: Geometric>(c: &Call) -> Result<(A, B)> {
    Ok((arg(c, 0)?, arg(c, 1)?))
}

// Results.

fn shape<T: Geometric>(value: T) -> Result<Datum> {
    Ok(value.to_datum())
}
fn perhaps<T: Geometric>(value: Option<T>) -> Result<Datum> {
    Ok(value.map_or(Datum::Null, |v| v.to_datum()))
}
fn number(value: f64) -> Result<Datum> {
    Ok(float::to_datum(value))
}
fn truth(value: bool) -> Result<Datum> {
    Ok(Datum::from(value))
}

/// Compares one measure of both arguments.
fn compare<T: Geometric>(c: &Call, measure: fn(&T) -> Result<f64>, how: fn(f64, f64) -> bool) -> Result<Datum> {
    let (a, b) = both::<T, T>(c)?;
    truth(how(measure(&a)?, measure(&b)?))
}
fn areas(c: &Call, how: fn(f64, f64) -> bool) -> Result<Datum> {
    compare::<Rectangle>(c, Rectangle::area, how)
}
fn circle_areas(c: &Call, how: fn(f64, f64) -> bool) -> Result<Datum> {
    compare::<Circle>(c, Circle::area, how)
}
fn lengths(c: &Call, how: fn(f64, f64) -> bool) -> Result<Datum> {
    compare::<Lseg>(c, Lseg::length, how)
}
fn counts(c: &Call, how: fn(&usize, &usize) -> bool) -> Result<Datum> {
    let (a, b) = both::<Path, Path>(c)?;
    truth(how(&a.points.len(), &b.points.len()))
}

/// Compares edges of both arguments.
fn points(c: &Call, how: fn(&Point, &Point) -> bool) -> Result<Datum> {
    let (a, b) = both(c)?;
    truth(how(&a, &b))
}
fn boxes(c: &Call, how: fn(&Rectangle, &Rectangle) -> bool) -> Result<Datum> {
    let (a, b) = both(c)?;
    truth(how(&a, &b))
}
/// Polygons are compared by their bounds, without tolerance.
fn bounds(c: &Call, how: fn(&Rectangle, &Rectangle) -> bool) -> Result<Datum> {
    let (a, b) = both::<Polygon, Polygon>(c)?;
    truth(how(&a.bounds(), &b.bounds()))
}

/// Compares edges of two circles. `how` gets the edges from a function of the argument's number and whether the upper one is
/// meant: an edge that is not asked for is not computed, because it could overflow.
fn circles(
    c: &Call,
    coordinate: fn(&Point) -> f64,
    how: fn(&dyn Fn(usize, bool) -> Result<f64>) -> Result<bool>,
) -> Result<Datum> {
    let circles: [Circle; 2] = [arg(c, 0)?, arg(c, 1)?];
    let edge = |which: usize, upper: bool| {
        let Circle { center, radius } = &circles[which];
        let step = if upper { add } else { sub };
        step(coordinate(center), *radius)
    };
    truth(how(&edge)?)
}

/// A path with every point changed.
fn moved(c: &Call, change: fn(&Point, &Point) -> Result<Point>) -> Result<Datum> {
    let (path, by) = both::<Path, Point>(c)?;
    let points: Result<Vec<Point>> = path.points.iter().map(|p| change(p, &by)).collect();
    shape(Path { points: points?, ..path })
}
fn box_moved(c: &Call, change: fn(&Point, &Point) -> Result<Point>) -> Result<Datum> {
    let (b, by) = both::<Rectangle, Point>(c)?;
    shape(Rectangle { high: change(&b.high, &by)?, low: change(&b.low, &by)? })
}
/// Turned corners are no corners of a box any more: the box that has them.
fn box_turned(c: &Call, change: fn(&Point, &Point) -> Result<Point>) -> Result<Datum> {
    let (b, by) = both::<Rectangle, Point>(c)?;
    shape(Rectangle::new(&change(&b.high, &by)?, &change(&b.low, &by)?))
}
fn circle_changed(
    c: &Call,
    change: fn(&Point, &Point) -> Result<Point>,
    radius: fn(f64, &Point) -> Result<f64>,
) -> Result<Datum> {
    let (circle, by) = both::<Circle, Point>(c)?;
    shape(Circle { center: change(&circle.center, &by)?, radius: radius(circle.radius, &by)? })
}

fn path_add(c: &Call) -> Result<Datum> {
    let (mut a, b) = both::<Path, Path>(c)?;
    if a.closed || b.closed {
        return Ok(Datum::Null);
    }
    a.points.extend(b.points);
    shape(a)
}
fn path_polygon(c: &Call) -> Result<Datum> {
    let path: Path = arg(c, 0)?;
    if !path.closed {
        return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, "open path cannot be converted to polygon"));
    }
    shape(Polygon { points: path.points })
}
fn bound_box(c: &Call) -> Result<Datum> {
    let (a, b) = both::<Rectangle, Rectangle>(c)?;
    shape(Rectangle::around(&[a.high, a.low, b.high, b.low]))
}
/// How many points a circle has as a polygon.
const POINTS_OF_CIRCLE: i64 = 12;

fn circle_polygon(c: &Call) -> Result<Datum> {
    let (count, circle) = (c.int(0)?, arg::<Circle>(c, 1)?);
    shape(circle.polygon(count)?)
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    // point
    ("construct_point", |c| shape(Point { x: c.float(0)?, y: c.float(1)? })),
    ("point_left", |c| points(c, |a, b| lt(a.x, b.x))),
    ("point_right", |c| points(c, |a, b| gt(a.x, b.x))),
    ("point_above", |c| points(c, |a, b| gt(a.y, b.y))),
    ("point_below", |c| points(c, |a, b| lt(a.y, b.y))),
    ("point_vert", |c| points(c, |a, b| eq(a.x, b.x))),
    ("point_horiz", |c| points(c, |a, b| eq(a.y, b.y))),
    ("point_eq", |c| points(c, Point::same)),
    ("point_ne", |c| points(c, |a, b| !a.same(b))),
    ("point_distance", |c| number(arg::<Point>(c, 0)?.distance(&arg(c, 1)?)?)),
    ("point_slope", |c| number(arg::<Point>(c, 0)?.slope(&arg(c, 1)?)?)),
    ("point_add", |c| shape(arg::<Point>(c, 0)?.add(&arg(c, 1)?)?)),
    ("point_sub", |c| shape(arg::<Point>(c, 0)?.sub(&arg(c, 1)?)?)),
    ("point_mul", |c| shape(arg::<Point>(c, 0)?.mul(&arg(c, 1)?)?)),
    ("point_div", |c| shape(arg::<Point>(c, 0)?.div(&arg(c, 1)?)?)),
    ("point_box", |c| {
        let p = arg(c, 0)?;
        shape(Rectangle { high: p, low: p })
    }),
    // lseg
    ("lseg_construct", |c| shape(Lseg(arg(c, 0)?, arg(c, 1)?))),
    ("lseg_length", |c| number(arg::<Lseg>(c, 0)?.length()?)),
    ("lseg_center", |c| {
        let s: Lseg = arg(c, 0)?;
        shape(s.0.middle(&s.1)?)
    }),
    ("lseg_vertical", |c| {
        let s: Lseg = arg(c, 0)?;
        truth(eq(s.0.x, s.1.x))
    }),
    ("lseg_horizontal", |c| {
        let s: Lseg = arg(c, 0)?;
        truth(eq(s.0.y, s.1.y))
    }),
    ("lseg_parallel", |c| truth(arg::<Lseg>(c, 0)?.is_parallel(&arg(c, 1)?)?)),
    ("lseg_perp", |c| truth(arg::<Lseg>(c, 0)?.is_perpendicular(&arg(c, 1)?)?)),
    ("lseg_intersect", |c| truth(arg::<Lseg>(c, 0)?.crossing(&arg(c, 1)?)?.is_some())),
    ("lseg_interpt", |c| perhaps(arg::<Lseg>(c, 0)?.crossing(&arg(c, 1)?)?)),
    ("lseg_distance", |c| number(arg::<Lseg>(c, 0)?.closest_to_segment(&arg(c, 1)?)?.1)),
    ("close_lseg", |c| perhaps(arg::<Lseg>(c, 0)?.closest_on_segment(&arg(c, 1)?)?)),
    ("lseg_eq", |c| truth(arg::<Lseg>(c, 0)?.same(&arg(c, 1)?))),
    ("lseg_ne", |c| truth(!arg::<Lseg>(c, 0)?.same(&arg(c, 1)?))),
    ("lseg_lt", |c| lengths(c, lt)),
    ("lseg_le", |c| lengths(c, le)),
    ("lseg_gt", |c| lengths(c, gt)),
    ("lseg_ge", |c| lengths(c, ge)),
    // line
    ("line_construct_pp", |c| {
        let (p, q) = both(c)?;
        shape(Line::through(&p, &q, SqlState::INVALID_PARAMETER_VALUE)?)
    }),
    ("line_intersect", |c| truth(arg::<Line>(c, 0)?.crossing(&arg(c, 1)?)?.is_some())),
    ("line_parallel", |c| truth(arg::<Line>(c, 0)?.crossing(&arg(c, 1)?)?.is_none())),
    ("line_perp", |c| truth(arg::<Line>(c, 0)?.is_perpendicular(&arg(c, 1)?)?)),
    ("line_vertical", |c| truth(zero(arg::<Line>(c, 0)?.b))),
    ("line_horizontal", |c| truth(zero(arg::<Line>(c, 0)?.a))),
    ("line_eq", |c| truth(arg::<Line>(c, 0)?.same(&arg(c, 1)?)?)),
    ("line_interpt", |c| perhaps(arg::<Line>(c, 0)?.crossing(&arg(c, 1)?)?)),
    ("line_distance", |c| number(arg::<Line>(c, 0)?.distance(&arg(c, 1)?)?)),
    // box
    ("points_box", |c| shape(Rectangle::new(&arg(c, 0)?, &arg(c, 1)?))),
    ("box_same", |c| boxes(c, Rectangle::same)),
    ("box_overlap", |c| boxes(c, Rectangle::overlaps)),
    ("box_left", |c| boxes(c, |a, b| lt(a.high.x, b.low.x))),
    ("box_overleft", |c| boxes(c, |a, b| le(a.high.x, b.high.x))),
    ("box_right", |c| boxes(c, |a, b| gt(a.low.x, b.high.x))),
    ("box_overright", |c| boxes(c, |a, b| ge(a.low.x, b.low.x))),
    ("box_below", |c| boxes(c, |a, b| lt(a.high.y, b.low.y))),
    ("box_overbelow", |c| boxes(c, |a, b| le(a.high.y, b.high.y))),
    ("box_above", |c| boxes(c, |a, b| gt(a.low.y, b.high.y))),
    ("box_overabove", |c| boxes(c, |a, b| ge(a.low.y, b.low.y))),
    ("box_below_eq", |c| boxes(c, |a, b| le(a.high.y, b.low.y))),
    ("box_above_eq", |c| boxes(c, |a, b| ge(a.low.y, b.high.y))),
    ("box_contain", |c| boxes(c, Rectangle::contains)),
    ("box_contained", |c| boxes(c, |a, b| b.contains(a))),
    ("box_contain_pt", |c| truth(arg::<Rectangle>(c, 0)?.contains_point(&arg(c, 1)?))),
    ("box_lt", |c| areas(c, lt)),
    ("box_le", |c| areas(c, le)),
    ("box_eq", |c| areas(c, eq)),
    ("box_ge", |c| areas(c, ge)),
    ("box_gt", |c| areas(c, gt)),
    ("box_area", |c| number(arg::<Rectangle>(c, 0)?.area()?)),
    ("box_width", |c| number(arg::<Rectangle>(c, 0)?.width()?)),
    ("box_height", |c| number(arg::<Rectangle>(c, 0)?.height()?)),
    ("box_center", |c| shape(arg::<Rectangle>(c, 0)?.center()?)),
    ("box_distance", |c| {
        let (a, b) = both::<Rectangle, Rectangle>(c)?;
        number(a.center()?.distance(&b.center()?)?)
    }),
    ("box_intersect", |c| perhaps(arg::<Rectangle>(c, 0)?.intersection(&arg(c, 1)?))),
    ("box_diagonal", |c| {
        let b: Rectangle = arg(c, 0)?;
        shape(Lseg(b.high, b.low))
    }),
    ("box_add", |c| box_moved(c, Point::add)),
    ("box_sub", |c| box_moved(c, Point::sub)),
    ("box_mul", |c| box_turned(c, Point::mul)),
    ("box_div", |c| box_turned(c, Point::div)),
    ("boxes_bound_box", bound_box),
    ("box_poly", |c| shape(arg::<Rectangle>(c, 0)?.polygon())),
    ("box_circle", |c| shape(arg::<Rectangle>(c, 0)?.circle()?)),
    // path
    ("path_n_lt", |c| counts(c, usize::lt)),
    ("path_n_le", |c| counts(c, usize::le)),
    ("path_n_eq", |c| counts(c, usize::eq)),
    ("path_n_ge", |c| counts(c, usize::ge)),
    ("path_n_gt", |c| counts(c, usize::gt)),
    ("path_isclosed", |c| truth(arg::<Path>(c, 0)?.closed)),
    ("path_isopen", |c| truth(!arg::<Path>(c, 0)?.closed)),
    ("path_npoints", |c| Ok(Datum::Int(arg::<Path>(c, 0)?.points.len() as i64))),
    ("path_close", |c| shape(Path { closed: true, ..arg(c, 0)? })),
    ("path_open", |c| shape(Path { closed: false, ..arg(c, 0)? })),
    ("path_length", |c| number(arg::<Path>(c, 0)?.length()?)),
    ("path_area", |c| Ok(arg::<Path>(c, 0)?.area()?.map_or(Datum::Null, float::to_datum))),
    ("path_inter", |c| truth(arg::<Path>(c, 0)?.intersects(&arg(c, 1)?)?)),
    ("path_distance", |c| Ok(arg::<Path>(c, 0)?.distance(&arg(c, 1)?)?.map_or(Datum::Null, float::to_datum))),
    ("path_add", path_add),
    ("path_add_pt", |c| moved(c, Point::add)),
    ("path_sub_pt", |c| moved(c, Point::sub)),
    ("path_mul_pt", |c| moved(c, Point::mul)),
    ("path_div_pt", |c| moved(c, Point::div)),
    ("path_poly", path_polygon),
    // polygon
    ("poly_npoints", |c| Ok(Datum::Int(arg::<Polygon>(c, 0)?.points.len() as i64))),
    ("poly_center", |c| shape(arg::<Polygon>(c, 0)?.circle()?.center)),
    ("poly_box", |c| shape(arg::<Polygon>(c, 0)?.bounds())),
    ("poly_path", |c| shape(Path { closed: true, points: arg::<Polygon>(c, 0)?.points })),
    ("poly_circle", |c| shape(arg::<Polygon>(c, 0)?.circle()?)),
    ("poly_same", |c| truth(arg::<Polygon>(c, 0)?.same(&arg(c, 1)?))),
    ("poly_overlap", |c| truth(arg::<Polygon>(c, 0)?.overlaps(&arg(c, 1)?)?)),
    ("poly_contain", |c| truth(arg::<Polygon>(c, 0)?.contains(&arg(c, 1)?)?)),
    ("poly_contained", |c| truth(arg::<Polygon>(c, 1)?.contains(&arg(c, 0)?)?)),
    ("poly_contain_pt", |c| truth(predicates::inside(&arg(c, 1)?, &arg::<Polygon>(c, 0)?.points)?)),
    ("pt_contained_poly", |c| truth(predicates::inside(&arg(c, 0)?, &arg::<Polygon>(c, 1)?.points)?)),
    ("poly_left", |c| bounds(c, |a, b| a.high.x < b.low.x)),
    ("poly_overleft", |c| bounds(c, |a, b| a.high.x <= b.high.x)),
    ("poly_right", |c| bounds(c, |a, b| a.low.x > b.high.x)),
    ("poly_overright", |c| bounds(c, |a, b| a.low.x >= b.low.x)),
    ("poly_below", |c| bounds(c, |a, b| a.high.y < b.low.y)),
    ("poly_overbelow", |c| bounds(c, |a, b| a.high.y <= b.high.y)),
    ("poly_above", |c| bounds(c, |a, b| a.low.y > b.high.y)),
    ("poly_overabove", |c| bounds(c, |a, b| a.low.y >= b.low.y)),
    ("poly_distance", |c| number(arg::<Polygon>(c, 0)?.distance(&arg(c, 1)?)?)),
    // circle
    ("cr_circle", |c| shape(Circle { center: arg(c, 0)?, radius: c.float(1)? })),
    ("circle_same", |c| truth(arg::<Circle>(c, 0)?.same(&arg(c, 1)?))),
    ("circle_overlap", |c| truth(arg::<Circle>(c, 0)?.overlaps(&arg(c, 1)?)?)),
    ("circle_contain", |c| truth(arg::<Circle>(c, 0)?.contains(&arg(c, 1)?)?)),
    ("circle_contained", |c| truth(arg::<Circle>(c, 1)?.contains(&arg(c, 0)?)?)),
    ("circle_contain_pt", |c| truth(arg::<Circle>(c, 0)?.contains_point(&arg(c, 1)?)?)),
    ("pt_contained_circle", |c| truth(arg::<Circle>(c, 1)?.contains_point(&arg(c, 0)?)?)),
    ("circle_left", |c| circles(c, |p| p.x, |edge| Ok(lt(edge(0, true)?, edge(1, false)?)))),
    ("circle_overleft", |c| circles(c, |p| p.x, |edge| Ok(le(edge(0, true)?, edge(1, true)?)))),
    ("circle_right", |c| circles(c, |p| p.x, |edge| Ok(gt(edge(0, false)?, edge(1, true)?)))),
    ("circle_overright", |c| circles(c, |p| p.x, |edge| Ok(ge(edge(0, false)?, edge(1, false)?)))),
    ("circle_below", |c| circles(c, |p| p.y, |edge| Ok(lt(edge(0, true)?, edge(1, false)?)))),
    ("circle_overbelow", |c| circles(c, |p| p.y, |edge| Ok(le(edge(0, true)?, edge(1, true)?)))),
    ("circle_above", |c| circles(c, |p| p.y, |edge| Ok(gt(edge(0, false)?, edge(1, true)?)))),
    ("circle_overabove", |c| circles(c, |p| p.y, |edge| Ok(ge(edge(0, false)?, edge(1, false)?)))),
    ("circle_eq", |c| circle_areas(c, eq)),
    ("circle_ne", |c| circle_areas(c, ne)),
    ("circle_lt", |c| circle_areas(c, lt)),
    ("circle_le", |c| circle_areas(c, le)),
    ("circle_gt", |c| circle_areas(c, gt)),
    ("circle_ge", |c| circle_areas(c, ge)),
    ("circle_area", |c| number(arg::<Circle>(c, 0)?.area()?)),
    ("circle_diameter", |c| number(mul(arg::<Circle>(c, 0)?.radius, 2.0)?)),
    ("circle_radius", |c| number(arg::<Circle>(c, 0)?.radius)),
    ("circle_center", |c| shape(arg::<Circle>(c, 0)?.center)),
    ("circle_distance", |c| number(arg::<Circle>(c, 0)?.distance(&arg(c, 1)?)?)),
    ("circle_add_pt", |c| circle_changed(c, Point::add, |r, _| Ok(r))),
    ("circle_sub_pt", |c| circle_changed(c, Point::sub, |r, _| Ok(r))),
    ("circle_mul_pt", |c| circle_changed(c, Point::mul, |r, p| mul(r, geometry::hypot(p.x, p.y)?))),
    ("circle_div_pt", |c| circle_changed(c, Point::div, |r, p| div(r, geometry::hypot(p.x, p.y)?))),
    ("circle_box", |c| shape(arg::<Circle>(c, 0)?.inner_box()?)),
    ("circle_poly", circle_polygon),
    ("polygon(circle)", |c| shape(arg::<Circle>(c, 0)?.polygon(POINTS_OF_CIRCLE)?)),
    // between types: distance
    ("dist_pl", |c| number(arg::<Line>(c, 1)?.closest_to(&arg(c, 0)?)?.1)),
    ("dist_lp", |c| number(arg::<Line>(c, 0)?.closest_to(&arg(c, 1)?)?.1)),
    ("dist_ps", |c| number(arg::<Lseg>(c, 1)?.closest_to(&arg(c, 0)?)?.1)),
    ("dist_sp", |c| number(arg::<Lseg>(c, 0)?.closest_to(&arg(c, 1)?)?.1)),
    ("dist_pb", |c| number(arg::<Rectangle>(c, 1)?.closest_to(&arg(c, 0)?)?.1)),
    ("dist_bp", |c| number(arg::<Rectangle>(c, 0)?.closest_to(&arg(c, 1)?)?.1)),
    ("dist_ppath", |c| number(arg::<Path>(c, 1)?.distance_to(&arg(c, 0)?)?)),
    ("dist_pathp", |c| number(arg::<Path>(c, 0)?.distance_to(&arg(c, 1)?)?)),
    ("dist_ppoly", |c| number(arg::<Polygon>(c, 1)?.distance_to(&arg(c, 0)?)?)),
    ("dist_polyp", |c| number(arg::<Polygon>(c, 0)?.distance_to(&arg(c, 1)?)?)),
    ("dist_pc", |c| number(arg::<Circle>(c, 1)?.distance_to(&arg(c, 0)?)?)),
    ("dist_cpoint", |c| number(arg::<Circle>(c, 0)?.distance_to(&arg(c, 1)?)?)),
    ("dist_cpoly", |c| number(arg::<Circle>(c, 0)?.distance_to_polygon(&arg(c, 1)?)?)),
    ("dist_polyc", |c| number(arg::<Circle>(c, 1)?.distance_to_polygon(&arg(c, 0)?)?)),
    ("dist_sl", |c| number(arg::<Lseg>(c, 0)?.closest_to_line(&arg(c, 1)?)?.1)),
    ("dist_ls", |c| number(arg::<Lseg>(c, 1)?.closest_to_line(&arg(c, 0)?)?.1)),
    ("dist_sb", |c| number(arg::<Rectangle>(c, 1)?.closest_to_segment(&arg(c, 0)?)?.1)),
    ("dist_bs", |c| number(arg::<Rectangle>(c, 0)?.closest_to_segment(&arg(c, 1)?)?.1)),
    // the closest point
    ("close_pl", |c| perhaps(distance::found(arg::<Line>(c, 1)?.closest_to(&arg(c, 0)?)?))),
    ("close_ps", |c| perhaps(distance::found(arg::<Lseg>(c, 1)?.closest_to(&arg(c, 0)?)?))),
    ("close_pb", |c| perhaps(distance::found(arg::<Rectangle>(c, 1)?.closest_to(&arg(c, 0)?)?))),
    ("close_ls", |c| perhaps(arg::<Lseg>(c, 1)?.closest_on_line(&arg(c, 0)?)?)),
    ("close_sb", |c| perhaps(distance::found(arg::<Rectangle>(c, 1)?.closest_to_segment(&arg(c, 0)?)?))),
    // whether one is on the other
    ("on_pl", |c| truth(arg::<Line>(c, 1)?.contains(&arg(c, 0)?)?)),
    ("on_ps", |c| truth(arg::<Lseg>(c, 1)?.contains(&arg(c, 0)?)?)),
    ("on_pb", |c| truth(arg::<Rectangle>(c, 1)?.contains_point(&arg(c, 0)?))),
    ("on_ppath", |c| truth(arg::<Path>(c, 1)?.contains(&arg(c, 0)?)?)),
    ("on_sl", |c| {
        let (s, l) = both::<Lseg, Line>(c)?;
        truth(l.contains(&s.0)? && l.contains(&s.1)?)
    }),
    ("on_sb", |c| {
        let (s, b) = both::<Lseg, Rectangle>(c)?;
        truth(b.contains_point(&s.0) && b.contains_point(&s.1))
    }),
    // whether they meet
    ("inter_sl", |c| truth(arg::<Lseg>(c, 0)?.crossing_line(&arg(c, 1)?)?.is_some())),
    ("inter_sb", |c| truth(arg::<Rectangle>(c, 1)?.intersects(&arg(c, 0)?)?)),
    ("inter_lb", |c| truth(arg::<Line>(c, 0)?.intersects_box(&arg(c, 1)?)?)),
];
