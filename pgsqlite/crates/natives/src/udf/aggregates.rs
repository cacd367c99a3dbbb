//! Aggregates, exact as PostgreSQL computes them; all may be used as window functions.

use super::session_cell::SessionCell;
use super::shim::{same_kind, Call, NewState, State};
use pgsqlite_sql::builtins::catalog::Proc;
use pgsqlite_types::array::Array;
use pgsqlite_types::buffer::bad_stored;
use pgsqlite_types::datetime::Interval;
use pgsqlite_types::int::Width;
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::work;
use pgsqlite_types::{float, Datum, DatumRef, PgError, Result, SqlState};
use std::any::Any;
use std::collections::VecDeque;

/// Whether rows with a NULL argument are left out before the state sees them.
pub fn skips_nulls(p: &Proc) -> bool {
    let hypothetical = matches!(p.name.as_str(), "rank" | "dense_rank" | "percent_rank" | "cume_dist");
    let collecting = matches!(p.name.as_str(), "array_agg" | "string_agg")
        || p.name.starts_with("json_agg")
        || p.name.starts_with("jsonb_agg")
        || p.name.contains("_object_agg");
    !hypothetical && !collecting
}

// --- integers and numeric --------------------------------------------------------------------------------------------

/// Sum over integers.
#[derive(Default)]
struct Integers {
    count: i64,
    sum: i128,
    average: bool,
    wide: bool,
}

impl State for Integers {
    fn step(&mut self, call: &Call) -> Result<()> {
        self.count += 1;
        self.sum += call.int(0)? as i128;
        Ok(())
    }
    fn inverse(&mut self, call: &Call) -> Result<()> {
        self.count -= 1;
        self.sum -= call.int(0)? as i128;
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        if self.count == 0 {
            return Ok(Datum::Null);
        }
        if self.average {
            let sum = Numeric::from_text(&self.sum.to_string())?;
            return Ok(sum.div(&Numeric::from(self.count))?.to_datum());
        }
        if self.wide {
            return Ok(Datum::Text(self.sum.to_string()));
        }
        i64::try_from(self.sum).map(Datum::Int).map_err(|_| Width::Eight.out_of_range())
    }
    fn combine(&mut self, later: Box<dyn Any>) -> Result<()> {
        let later = same_kind::<Integers>(later)?;
        self.count += later.count;
        self.sum += later.sum;
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Statistic {
    Sum,
    Average,
    Variance { sample: bool },
    Deviation { sample: bool },
}

/// Sums of values and squares of numerics (and integers, for variances).
pub(crate) struct Numerics {
    statistic: Statistic,
    count: i64,
    nan: i64,
    infinite: i64,
    negative_infinite: i64,
    /// what was added lately, while 128 bits hold it, in units of 10^-`scale`; the rest is in `sum`
    near: i128,
    scale: u16,
    sum: Numeric,
    squares: Numeric,
    /// How many values have each display scale: the sum shows the largest. (Mostly all have the same.)
    scales: Vec<(u16, i64)>,
}

impl Numerics {
    fn of(statistic: Statistic) -> Numerics {
        Numerics {
            statistic,
            count: 0,
            nan: 0,
            infinite: 0,
            negative_infinite: 0,
            near: 0,
            scale: 0,
            sum: Numeric::zero(),
            squares: Numeric::zero(),
            scales: Vec::new(),
        }
    }

    fn new(statistic: Statistic) -> Box<dyn State> {
        Box::new(Numerics::of(statistic))
    }

    /// The state of `sum`.
    pub(crate) fn sum() -> Numerics {
        Numerics::of(Statistic::Sum)
    }

    /// The state of `avg`.
    pub(crate) fn average() -> Numerics {
        Numerics::of(Statistic::Average)
    }

    /// Takes the finite value `coefficient × 10^-scale` in (`sign` 1) or out again (-1).
    pub(crate) fn take_parts(&mut self, coefficient: i128, scale: u16, sign: i64) -> Result<()> {
        if let (Statistic::Sum | Statistic::Average, Some((of, n))) = (self.statistic, self.scales.first_mut()) {
            let signed = if sign > 0 { Some(coefficient) } else { coefficient.checked_neg() };
            let sum = signed.and_then(|value| self.near.checked_add(value));
            if let (true, Some(sum)) = (*of == scale && self.scale == scale, sum) {
                *n += sign;
                self.count += sign;
                self.near = sum;
                return Ok(());
            }
        }
        self.take(Numeric::of_parts(coefficient, scale), sign)
    }

    /// Takes a value in (`sign` 1) or out again (-1).
    pub(crate) fn take(&mut self, value: Numeric, sign: i64) -> Result<()> {
        self.count += sign;
        match value {
            Numeric::NaN => self.nan += sign,
            Numeric::Infinity => self.infinite += sign,
            Numeric::NegInfinity => self.negative_infinite += sign,
            v => {
                let scale = v.scale().unwrap_or(0) as u16;
                match self.scales.iter_mut().find(|(s, _)| *s == scale) {
                    Some((_, n)) => *n += sign,
                    None => self.scales.push((scale, sign)),
                }
                let v = if sign > 0 { v } else { v.neg() };
                if matches!(self.statistic, Statistic::Sum | Statistic::Average) {
                    return self.add(v);
                }
                // A variance can be stored where the sum of the squares could not.
                let square = v.mul_unlimited(&v);
                self.squares = self.squares.add_unlimited(&if sign > 0 { square } else { square.neg() });
                self.sum = self.sum.add_unlimited(&v);
            }
        }
        Ok(())
    }

    /// Adds a finite value to the sum.
    fn add(&mut self, value: Numeric) -> Result<()> {
        if let Some((coefficient, scale)) = value.small_parts() {
            let common = scale.max(self.scale);
            let widened = |v: i128, s: u16| match common - s {
                0 => Some(v),
                by => 10i128.checked_pow(by as u32).and_then(|f| v.checked_mul(f)),
            };
            let sum = widened(self.near, self.scale).zip(widened(coefficient, scale));
            if let Some(sum) = sum.and_then(|(a, b)| a.checked_add(b)) {
                (self.near, self.scale) = (sum, common);
                return Ok(());
            }
        }
        self.sum = self.sum.add(&Numeric::of_parts(self.near, self.scale))?.add(&value)?;
        (self.near, self.scale) = (0, 0);
        Ok(())
    }

    /// Takes in what another state has taken in.
    pub(crate) fn append(&mut self, later: Numerics) -> Result<()> {
        self.count += later.count;
        self.nan += later.nan;
        self.infinite += later.infinite;
        self.negative_infinite += later.negative_infinite;
        // bounded: a value has one of 16,384 scales
        for (scale, n) in later.scales {
            match self.scales.iter_mut().find(|(s, _)| *s == scale) {
                Some((_, own)) => *own += n,
                None => self.scales.push((scale, n)),
            }
        }
        self.squares = self.squares.add_unlimited(&later.squares);
        if matches!(self.statistic, Statistic::Sum | Statistic::Average) {
            self.add(Numeric::of_parts(later.near, later.scale))?;
            return self.add(later.sum);
        }
        self.sum = self.sum.add_unlimited(&later.sum);
        Ok(())
    }

    /// The square root with `scale` digits: `Numeric::sqrt` chooses its own, so more are asked of it by shifting.
    fn root(value: &Numeric, scale: i32) -> Result<Numeric> {
        let up = Numeric::from_text(&format!("1{}", "0".repeat(2 * scale as usize)))?;
        let down = Numeric::from_text(&format!("0.{}1", "0".repeat((scale as usize).saturating_sub(1))))?;
        if scale == 0 {
            return Ok(value.sqrt()?.round(0));
        }
        Ok(value.mul(&up)?.sqrt()?.mul(&down)?.round(scale))
    }
}

impl State for Numerics {
    fn step(&mut self, call: &Call) -> Result<()> {
        match call.short_decimal(0) {
            Some((coefficient, scale)) => self.take_parts(i128::from(coefficient), scale, 1),
            None => self.take(call.numeric(0)?, 1),
        }
    }
    fn inverse(&mut self, call: &Call) -> Result<()> {
        match call.short_decimal(0) {
            Some((coefficient, scale)) => self.take_parts(i128::from(coefficient), scale, -1),
            None => self.take(call.numeric(0)?, -1),
        }
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        let (sample, deviation) = match self.statistic {
            Statistic::Variance { sample } => (sample, false),
            Statistic::Deviation { sample } => (sample, true),
            Statistic::Sum | Statistic::Average => {
                if self.count == 0 {
                    return Ok(Datum::Null);
                }
                if self.nan > 0 || self.infinite > 0 && self.negative_infinite > 0 {
                    return Ok(Numeric::NaN.to_datum());
                }
                if self.infinite > 0 {
                    return Ok(Numeric::Infinity.to_datum());
                }
                if self.negative_infinite > 0 {
                    return Ok(Numeric::NegInfinity.to_datum());
                }
                let scale = self.scales.iter().filter(|(_, n)| *n > 0).map(|(s, _)| *s).max().unwrap_or(0);
                let sum = self.sum.add(&Numeric::of_parts(self.near, self.scale))?.round(scale as i32);
                return Ok(match self.statistic {
                    Statistic::Sum => sum,
                    _ => sum.div(&Numeric::from(self.count))?,
                }
                .to_datum());
            }
        };
        if self.count == 0 || sample && self.count == 1 {
            return Ok(Datum::Null);
        }
        if self.nan + self.infinite + self.negative_infinite > 0 {
            return Ok(Numeric::NaN.to_datum());
        }
        let n = Numeric::from(self.count);
        let spread = self.squares.mul_unlimited(&n).add_unlimited(&self.sum.mul_unlimited(&self.sum).neg());
        if spread.is_zero() || spread.is_negative() {
            return Ok(Datum::from("0"));
        }
        let divisor = n.mul(&Numeric::from(if sample { self.count - 1 } else { self.count }))?;
        let variance = spread.div(&divisor)?;
        if !deviation {
            return Ok(variance.to_datum());
        }
        let scale = variance.scale().unwrap_or(0);
        Ok(Self::root(&variance, scale)?.to_datum())
    }
    fn combine(&mut self, later: Box<dyn Any>) -> Result<()> {
        self.append(*same_kind::<Numerics>(later)?)
    }
}

// --- intervals -------------------------------------------------------------------------------------------------------

/// `sum` and `avg` of intervals.
#[derive(Default)]
struct Intervals {
    average: bool,
    count: i64,
    sum: Interval,
}

impl State for Intervals {
    fn step(&mut self, call: &Call) -> Result<()> {
        self.count += 1;
        self.sum = self.sum.add(call.interval(0)?)?;
        Ok(())
    }
    fn inverse(&mut self, call: &Call) -> Result<()> {
        self.count -= 1;
        self.sum = self.sum.sub(call.interval(0)?)?;
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        if self.count == 0 {
            return Ok(Datum::Null);
        }
        let result = if self.average { self.sum.div(self.count as f64)? } else { self.sum };
        Ok(Datum::Text(result.to_storage()))
    }
    fn combine(&mut self, later: Box<dyn Any>) -> Result<()> {
        let later = same_kind::<Intervals>(later)?;
        self.count += later.count;
        self.sum = self.sum.add(later.sum)?;
        Ok(())
    }
}

// --- floats ----------------------------------------------------------------------------------------------------------

fn overflow() -> PgError {
    PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

/// Statistics of one float argument, by the Youngs-Cramer algorithm. A moving frame is computed anew from its rows,
/// because taking a float out of a sum does not give the sum without it.
struct Floats {
    statistic: Statistic,
    single: bool,
    values: VecDeque<f64>,
}

impl Floats {
    fn new(statistic: Statistic, single: bool) -> Box<dyn State> {
        Box::new(Floats { statistic, single, values: VecDeque::new() })
    }
}

impl State for Floats {
    fn step(&mut self, call: &Call) -> Result<()> {
        self.values.push_back(call.float(0)?);
        Ok(())
    }
    fn inverse(&mut self, _call: &Call) -> Result<()> {
        self.values.pop_front();
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        if self.values.is_empty() {
            return Ok(Datum::Null);
        }
        if self.statistic == Statistic::Sum {
            let mut sum: Option<f64> = None;
            for &v in &self.values {
                work::pulse(1);
                let next = match sum {
                    None => v,
                    Some(s) if self.single => (s as f32 + v as f32) as f64,
                    Some(s) => s + v,
                };
                if next.is_infinite() && !v.is_infinite() && sum.is_some_and(f64::is_finite) {
                    return Err(overflow());
                }
                sum = Some(next);
            }
            return Ok(sum.map_or(Datum::Null, float::to_datum));
        }
        let (mut n, mut sx, mut sxx) = (0f64, 0f64, 0f64);
        for &v in &self.values {
            work::pulse(1);
            let before = sx;
            n += 1.0;
            sx += v;
            if n > 1.0 {
                let t = v * n - sx;
                sxx += t * t / (n * (n - 1.0));
                if sx.is_infinite() || sxx.is_infinite() {
                    if !before.is_infinite() && !v.is_infinite() {
                        return Err(overflow());
                    }
                    sxx = f64::NAN;
                }
            } else if !v.is_finite() {
                sxx = f64::NAN;
            }
        }
        let (sample, deviation) = match self.statistic {
            Statistic::Variance { sample } => (sample, false),
            Statistic::Deviation { sample } => (sample, true),
            _ => return Ok(float::to_datum(sx / n)),
        };
        if sample && n <= 1.0 {
            return Ok(Datum::Null);
        }
        let variance = sxx / if sample { n - 1.0 } else { n };
        Ok(float::to_datum(if deviation { variance.sqrt() } else { variance }))
    }
}

/// What the sums over pairs (Y, X) give.
#[derive(Default, Clone, Copy)]
struct Pairs {
    n: f64,
    sx: f64,
    sxx: f64,
    sy: f64,
    syy: f64,
    sxy: f64,
}

/// Regression over pairs.
struct Regression {
    rows: VecDeque<(f64, f64)>,
    finish: fn(&Pairs) -> Option<f64>,
    count: bool,
}

impl State for Regression {
    fn step(&mut self, call: &Call) -> Result<()> {
        self.rows.push_back((call.float(0)?, call.float(1)?));
        Ok(())
    }
    fn inverse(&mut self, _call: &Call) -> Result<()> {
        self.rows.pop_front();
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        if self.count {
            return Ok(Datum::Int(self.rows.len() as i64));
        }
        let mut p = Pairs::default();
        for &(y, x) in &self.rows {
            work::pulse(1);
            let before = p;
            p.n += 1.0;
            p.sx += x;
            p.sy += y;
            if p.n > 1.0 {
                let (tx, ty) = (x * p.n - p.sx, y * p.n - p.sy);
                let scale = 1.0 / (p.n * (p.n - 1.0));
                p.sxx += tx * tx * scale;
                p.syy += ty * ty * scale;
                p.sxy += tx * ty * scale;
                let infinite_x = before.sx.is_infinite() || x.is_infinite();
                let infinite_y = before.sy.is_infinite() || y.is_infinite();
                if (p.sx.is_infinite() || p.sxx.is_infinite()) && !infinite_x
                    || (p.sy.is_infinite() || p.syy.is_infinite()) && !infinite_y
                    || p.sxy.is_infinite() && !infinite_x && !infinite_y
                {
                    return Err(overflow());
                }
                if p.sxx.is_infinite() {
                    p.sxx = f64::NAN;
                }
                if p.syy.is_infinite() {
                    p.syy = f64::NAN;
                }
                if p.sxy.is_infinite() {
                    p.sxy = f64::NAN;
                }
            } else {
                if !x.is_finite() {
                    (p.sxx, p.sxy) = (f64::NAN, f64::NAN);
                }
                if !y.is_finite() {
                    (p.syy, p.sxy) = (f64::NAN, f64::NAN);
                }
            }
        }
        if p.n < 1.0 {
            return Ok(Datum::Null);
        }
        Ok((self.finish)(&p).map_or(Datum::Null, float::to_datum))
    }
}

fn regression(finish: fn(&Pairs) -> Option<f64>) -> Box<dyn State> {
    Box::new(Regression { rows: VecDeque::new(), finish, count: false })
}

// --- bits ------------------------------------------------------------------------------------------------------------

/// Bitwise aggregates keep their rows: `&` and `|` cannot be undone.
struct Bits {
    rows: VecDeque<i64>,
    combine: fn(i64, i64) -> i64,
}

impl State for Bits {
    fn step(&mut self, call: &Call) -> Result<()> {
        self.rows.push_back(call.int(0)?);
        Ok(())
    }
    fn inverse(&mut self, _call: &Call) -> Result<()> {
        self.rows.pop_front();
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        Ok(self.rows.iter().copied().reduce(self.combine).into())
    }
}

fn bits(combine: fn(i64, i64) -> i64) -> Box<dyn State> {
    Box::new(Bits { rows: VecDeque::new(), combine })
}

// --- collecting ------------------------------------------------------------------------------------------------------

/// `string_agg`: the delimiter of a row stands before its value.
#[derive(Default)]
struct Strings {
    rows: VecDeque<(Vec<u8>, Vec<u8>)>,
    binary: bool,
}

fn raw(value: DatumRef) -> Vec<u8> {
    match value {
        DatumRef::Text(t) => t.as_bytes().to_vec(),
        DatumRef::Blob(b) => b.to_vec(),
        _ => Vec::new(),
    }
}

impl State for Strings {
    fn step(&mut self, call: &Call) -> Result<()> {
        if !call.is_null(0) {
            self.rows.push_back((raw(call.datum(1)), raw(call.datum(0))));
        }
        Ok(())
    }
    fn inverse(&mut self, call: &Call) -> Result<()> {
        if !call.is_null(0) {
            self.rows.pop_front();
        }
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        let length = self.rows.iter().map(|(delimiter, value)| delimiter.len() + value.len()).sum();
        work::room(length)?;
        let mut out = Vec::with_capacity(length);
        for (i, (delimiter, value)) in self.rows.iter().enumerate() {
            work::tick(1)?;
            if i > 0 {
                out.extend_from_slice(delimiter);
            }
            out.extend_from_slice(value);
        }
        Ok(match (self.rows.is_empty(), self.binary) {
            (true, _) => Datum::Null,
            (_, true) => Datum::Blob(out),
            _ => Datum::Text(String::from_utf8(out).map_err(|e| bad_stored("text", DatumRef::Blob(e.as_bytes())))?),
        })
    }
}

/// `array_agg` of scalars.
#[derive(Default)]
struct Elements(VecDeque<Datum>);

impl State for Elements {
    fn step(&mut self, call: &Call) -> Result<()> {
        self.0.push_back(call.datum(0).to_owned());
        Ok(())
    }
    fn inverse(&mut self, _call: &Call) -> Result<()> {
        self.0.pop_front();
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        if self.0.is_empty() {
            return Ok(Datum::Null);
        }
        Ok(Array::from_elements(self.0.iter().cloned().collect()).to_datum())
    }
}

/// `array_agg` of arrays of one shape.
#[derive(Default)]
struct Arrays(VecDeque<Array>);

impl State for Arrays {
    fn step(&mut self, call: &Call) -> Result<()> {
        if call.is_null(0) {
            return Err(PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "cannot accumulate null arrays"));
        }
        let array = super::support::untyped(call.text(0)?)?;
        if array.dimensions.is_empty() {
            return Err(PgError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "cannot accumulate empty arrays"));
        }
        if self
            .0
            .front()
            .is_some_and(|first| (&first.dimensions, first.lower_bounds()) != (&array.dimensions, array.lower_bounds()))
        {
            return Err(PgError::new(
                SqlState::ARRAY_SUBSCRIPT_ERROR,
                "cannot accumulate arrays of different dimensionality",
            ));
        }
        self.0.push_back(array);
        Ok(())
    }
    fn inverse(&mut self, _call: &Call) -> Result<()> {
        self.0.pop_front();
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        let Some(first) = self.0.front() else { return Ok(Datum::Null) };
        let dimensions = std::iter::once(self.0.len()).chain(first.dimensions.iter().copied()).collect();
        let elements = self.0.iter().flat_map(|a| a.elements.iter().cloned()).collect();
        let lower = std::iter::once(1).chain(first.lower_bounds()).collect();
        Ok(Array { dimensions, lower, elements }.to_datum())
    }
}

const SAMPLE_VARIANCE: Statistic = Statistic::Variance { sample: true };
const VARIANCE: Statistic = Statistic::Variance { sample: false };
const SAMPLE_DEVIATION: Statistic = Statistic::Deviation { sample: true };
const DEVIATION: Statistic = Statistic::Deviation { sample: false };

pub(crate) const FUNCTIONS: &[(&str, NewState)] = &[
    ("sum(int2) sum(int4)", || Box::<Integers>::default()),
    ("sum(int8)", || Box::new(Integers { wide: true, ..Default::default() })),
    ("avg(int2) avg(int4) avg(int8)", || Box::new(Integers { average: true, ..Default::default() })),
    ("sum(interval)", || Box::<Intervals>::default()),
    ("avg(interval)", || Box::new(Intervals { average: true, ..Default::default() })),
    ("sum(numeric)", || Numerics::new(Statistic::Sum)),
    ("avg(numeric)", || Numerics::new(Statistic::Average)),
    ("variance(int2) variance(int4) variance(int8) variance(numeric)", || Numerics::new(SAMPLE_VARIANCE)),
    ("var_samp(int2) var_samp(int4) var_samp(int8) var_samp(numeric)", || Numerics::new(SAMPLE_VARIANCE)),
    ("var_pop(int2) var_pop(int4) var_pop(int8) var_pop(numeric)", || Numerics::new(VARIANCE)),
    ("stddev(int2) stddev(int4) stddev(int8) stddev(numeric)", || Numerics::new(SAMPLE_DEVIATION)),
    ("stddev_samp(int2) stddev_samp(int4) stddev_samp(int8) stddev_samp(numeric)", || Numerics::new(SAMPLE_DEVIATION)),
    ("stddev_pop(int2) stddev_pop(int4) stddev_pop(int8) stddev_pop(numeric)", || Numerics::new(DEVIATION)),
    ("sum(float4)", || Floats::new(Statistic::Sum, true)),
    ("sum(float8)", || Floats::new(Statistic::Sum, false)),
    ("avg(float4) avg(float8)", || Floats::new(Statistic::Average, false)),
    ("variance(float4) variance(float8) var_samp(float4) var_samp(float8)", || Floats::new(SAMPLE_VARIANCE, false)),
    ("var_pop(float4) var_pop(float8)", || Floats::new(VARIANCE, false)),
    ("stddev(float4) stddev(float8) stddev_samp(float4) stddev_samp(float8)", || Floats::new(SAMPLE_DEVIATION, false)),
    ("stddev_pop(float4) stddev_pop(float8)", || Floats::new(DEVIATION, false)),
    ("corr(float8,float8)", || regression(|p| (p.sxx != 0.0 && p.syy != 0.0).then(|| p.sxy / (p.sxx * p.syy).sqrt()))),
    ("covar_pop(float8,float8)", || regression(|p| Some(p.sxy / p.n))),
    ("covar_samp(float8,float8)", || regression(|p| (p.n >= 2.0).then(|| p.sxy / (p.n - 1.0)))),
    ("regr_avgx(float8,float8)", || regression(|p| Some(p.sx / p.n))),
    ("regr_avgy(float8,float8)", || regression(|p| Some(p.sy / p.n))),
    ("regr_intercept(float8,float8)", || regression(|p| (p.sxx != 0.0).then(|| (p.sy - p.sx * p.sxy / p.sxx) / p.n))),
    ("regr_slope(float8,float8)", || regression(|p| (p.sxx != 0.0).then(|| p.sxy / p.sxx))),
    ("regr_r2(float8,float8)", || {
        regression(|p| (p.sxx != 0.0).then(|| if p.syy == 0.0 { 1.0 } else { (p.sxy * p.sxy) / (p.sxx * p.syy) }))
    }),
    ("regr_sxx(float8,float8)", || regression(|p| Some(p.sxx))),
    ("regr_syy(float8,float8)", || regression(|p| Some(p.syy))),
    ("regr_sxy(float8,float8)", || regression(|p| Some(p.sxy))),
    ("regr_count(float8,float8)", || Box::new(Regression { rows: VecDeque::new(), finish: |_| None, count: true })),
    ("bit_and(int2) bit_and(int4) bit_and(int8)", || bits(|a, b| a & b)),
    ("bit_or(int2) bit_or(int4) bit_or(int8)", || bits(|a, b| a | b)),
    ("bit_xor(int2) bit_xor(int4) bit_xor(int8)", || bits(|a, b| a ^ b)),
    ("string_agg(text,text)", || Box::<Strings>::default()),
    ("string_agg(bytea,bytea)", || Box::new(Strings { binary: true, ..Default::default() })),
    ("array_agg(anynonarray)", || Box::<Elements>::default()),
    ("array_agg(anyarray)", || Box::<Arrays>::default()),
];
