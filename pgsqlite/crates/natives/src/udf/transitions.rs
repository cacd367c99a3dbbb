//! The transition, final and combine functions of PostgreSQL's aggregates whose state is an ordinary value: aggregates of the user are
//! made of them.

use super::shim::{Call, Scalar};
use super::strings::array as read_array;
use pgsqlite_types::array::Array;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::{float, Datum, PgError, Result, SqlState};

fn overflow() -> PgError {
    PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

/// The sums in argument `i`, which must be `count` of them.
fn floats(c: &Call, i: usize, count: usize, function: &str) -> Result<Vec<f64>> {
    let array = read_array(c.text(i)?, &TypeCodec::Float8)?;
    let fits = array.dimensions == [count] && !array.elements.iter().any(Datum::is_null);
    if !fits {
        return Err(PgError::internal(format!("{function}: expected {count}-element float8 array")));
    }
    array.elements.iter().map(|e| float::from_datum(e.as_ref())).collect()
}

fn of_floats(values: &[f64]) -> Datum {
    Array::from_elements(values.iter().map(|&v| float::to_datum(v)).collect()).to_datum()
}

/// (N, Sx, Sxx) and a value: the Youngs-Cramer step.
fn youngs_cramer(state: &[f64], x: f64) -> Result<[f64; 3]> {
    let (n, sx) = (state[0] + 1.0, state[1] + x);
    let mut sxx = state[2];
    if state[0] > 0.0 {
        let t = x * n - sx;
        sxx += t * t / (n * state[0]);
        if sx.is_infinite() || sxx.is_infinite() {
            if !state[1].is_infinite() && !x.is_infinite() {
                return Err(overflow());
            }
            sxx = f64::NAN;
        }
    } else if !x.is_finite() {
        sxx = f64::NAN;
    }
    Ok([n, sx, sxx])
}

fn float8_accum(c: &Call) -> Result<Datum> {
    let state = floats(c, 0, 3, "float8_accum")?;
    Ok(of_floats(&youngs_cramer(&state, c.float(1)?)?))
}

fn float8_combine(c: &Call) -> Result<Datum> {
    let (a, b) = (floats(c, 0, 3, "float8_combine")?, floats(c, 1, 3, "float8_combine")?);
    if a[0] == 0.0 {
        return Ok(of_floats(&b));
    }
    if b[0] == 0.0 {
        return Ok(of_floats(&a));
    }
    let (n, sx) = (a[0] + b[0], a[1] + b[1]);
    if sx.is_infinite() && !a[1].is_infinite() && !b[1].is_infinite() {
        return Err(overflow());
    }
    let t = a[1] / a[0] - b[1] / b[0];
    let sxx = a[2] + b[2] + a[0] * b[0] * t * t / n;
    if sxx.is_infinite() && !a[2].is_infinite() && !b[2].is_infinite() {
        return Err(overflow());
    }
    Ok(of_floats(&[n, sx, sxx]))
}

/// (N, Sx, Sxx, Sy, Syy, Sxy) and a pair (Y, X).
fn float8_regr_accum(c: &Call) -> Result<Datum> {
    let s = floats(c, 0, 6, "float8_regr_accum")?;
    let (y, x) = (c.float(1)?, c.float(2)?);
    let (n, sx, sy) = (s[0] + 1.0, s[1] + x, s[3] + y);
    let (mut sxx, mut syy, mut sxy) = (s[2], s[4], s[5]);
    if s[0] > 0.0 {
        let (tx, ty) = (x * n - sx, y * n - sy);
        let scale = 1.0 / (n * s[0]);
        sxx += tx * tx * scale;
        syy += ty * ty * scale;
        sxy += tx * ty * scale;
        let known_x = !s[1].is_infinite() && !x.is_infinite();
        let known_y = !s[3].is_infinite() && !y.is_infinite();
        if (sx.is_infinite() || sxx.is_infinite()) && known_x
            || (sy.is_infinite() || syy.is_infinite()) && known_y
            || sxy.is_infinite() && known_x && known_y
        {
            return Err(overflow());
        }
        for sum in [&mut sxx, &mut syy, &mut sxy] {
            if sum.is_infinite() {
                *sum = f64::NAN;
            }
        }
    } else {
        if !x.is_finite() {
            (sxx, sxy) = (f64::NAN, f64::NAN);
        }
        if !y.is_finite() {
            (syy, sxy) = (f64::NAN, f64::NAN);
        }
    }
    Ok(of_floats(&[n, sx, sxx, sy, syy, sxy]))
}

fn float8_regr_combine(c: &Call) -> Result<Datum> {
    let (a, b) = (floats(c, 0, 6, "float8_regr_combine")?, floats(c, 1, 6, "float8_regr_combine")?);
    if a[0] == 0.0 {
        return Ok(of_floats(&b));
    }
    if b[0] == 0.0 {
        return Ok(of_floats(&a));
    }
    let checked = |sum: f64, parts: [f64; 2]| match sum.is_infinite() && !parts.iter().any(|p| p.is_infinite()) {
        true => Err(overflow()),
        false => Ok(sum),
    };
    let n = a[0] + b[0];
    let sx = checked(a[1] + b[1], [a[1], b[1]])?;
    let tx = a[1] / a[0] - b[1] / b[0];
    let sxx = checked(a[2] + b[2] + a[0] * b[0] * tx * tx / n, [a[2], b[2]])?;
    let sy = checked(a[3] + b[3], [a[3], b[3]])?;
    let ty = a[3] / a[0] - b[3] / b[0];
    let syy = checked(a[4] + b[4] + a[0] * b[0] * ty * ty / n, [a[4], b[4]])?;
    let sxy = checked(a[5] + b[5] + a[0] * b[0] * tx * ty / n, [a[5], b[5]])?;
    Ok(of_floats(&[n, sx, sxx, sy, syy, sxy]))
}

fn float8_avg(c: &Call) -> Result<Datum> {
    let s = floats(c, 0, 3, "float8_avg")?;
    Ok(if s[0] == 0.0 { Datum::Null } else { float::to_datum(s[1] / s[0]) })
}

/// Variance or deviation, of a sample or of a whole population.
fn spread(c: &Call, function: &str, sample: bool, root: bool) -> Result<Datum> {
    let s = floats(c, 0, 3, function)?;
    let divisor = if sample { s[0] - 1.0 } else { s[0] };
    if divisor <= 0.0 {
        return Ok(Datum::Null);
    }
    let variance = s[2] / divisor;
    Ok(float::to_datum(if root { variance.sqrt() } else { variance }))
}
fn float8_var_pop(c: &Call) -> Result<Datum> {
    spread(c, "float8_var_pop", false, false)
}
fn float8_var_samp(c: &Call) -> Result<Datum> {
    spread(c, "float8_var_samp", true, false)
}
fn float8_stddev_pop(c: &Call) -> Result<Datum> {
    spread(c, "float8_stddev_pop", false, true)
}
fn float8_stddev_samp(c: &Call) -> Result<Datum> {
    spread(c, "float8_stddev_samp", true, true)
}

/// (count, sum) in argument `i`.
fn integers(c: &Call, i: usize) -> Result<(i64, i64)> {
    let array = read_array(c.text(i)?, &TypeCodec::Int8)?;
    match array.elements[..] {
        [Datum::Int(count), Datum::Int(sum)] => Ok((count, sum)),
        _ => Err(PgError::internal("expected 2-element int8 array")),
    }
}

fn of_integers(count: i64, sum: i64) -> Datum {
    Array::from_elements(vec![Datum::Int(count), Datum::Int(sum)]).to_datum()
}

fn int_avg_accum(c: &Call) -> Result<Datum> {
    let (count, sum) = integers(c, 0)?;
    Ok(of_integers(count.wrapping_add(1), sum.wrapping_add(c.int(1)?)))
}
fn int_avg_accum_inv(c: &Call) -> Result<Datum> {
    let (count, sum) = integers(c, 0)?;
    Ok(of_integers(count.wrapping_sub(1), sum.wrapping_sub(c.int(1)?)))
}
fn int4_avg_combine(c: &Call) -> Result<Datum> {
    let ((n, a), (m, b)) = (integers(c, 0)?, integers(c, 1)?);
    Ok(of_integers(n.wrapping_add(m), a.wrapping_add(b)))
}
fn int8_avg(c: &Call) -> Result<Datum> {
    let (count, sum) = integers(c, 0)?;
    if count == 0 {
        return Ok(Datum::Null);
    }
    Ok(Numeric::from(sum).div(&Numeric::from(count))?.to_datum())
}
fn int2int4_sum(c: &Call) -> Result<Datum> {
    let (count, sum) = integers(c, 0)?;
    Ok(if count == 0 { Datum::Null } else { Datum::Int(sum) })
}

fn booland_statefunc(c: &Call) -> Result<Datum> {
    Ok((c.bool(0)? && c.bool(1)?).into())
}
fn boolor_statefunc(c: &Call) -> Result<Datum> {
    Ok((c.bool(0)? || c.bool(1)?).into())
}

/// The count of rows, one more; the other arguments only must not be NULL.
fn int8inc(c: &Call) -> Result<Datum> {
    let more = c.int(0)?.checked_add(1);
    Ok(Datum::Int(more.ok_or_else(|| pgsqlite_types::int::Width::Eight.out_of_range())?))
}
fn int8dec(c: &Call) -> Result<Datum> {
    let less = c.int(0)?.checked_sub(1);
    Ok(Datum::Int(less.ok_or_else(|| pgsqlite_types::int::Width::Eight.out_of_range())?))
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("float8_accum float4_accum", float8_accum),
    ("float8_combine", float8_combine),
    ("float8_regr_accum", float8_regr_accum),
    ("float8_regr_combine", float8_regr_combine),
    ("float8_avg", float8_avg),
    ("float8_var_pop", float8_var_pop),
    ("float8_var_samp", float8_var_samp),
    ("float8_stddev_pop", float8_stddev_pop),
    ("float8_stddev_samp", float8_stddev_samp),
    ("int2_avg_accum int4_avg_accum", int_avg_accum),
    ("int2_avg_accum_inv int4_avg_accum_inv", int_avg_accum_inv),
    ("int4_avg_combine", int4_avg_combine),
    ("int8_avg", int8_avg),
    ("int2int4_sum", int2int4_sum),
    ("booland_statefunc", booland_statefunc),
    ("boolor_statefunc", boolor_statefunc),
    ("int8inc int8inc_any int8inc_float8_float8", int8inc),
    ("int8dec int8dec_any", int8dec),
];
