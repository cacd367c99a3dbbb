//! Functions and aggregates of money; `pgsqlite_types::money` has the type.

use super::session_cell::SessionCell;
use super::shim::{Call, NewState, Scalar, State};
use pgsqlite_types::{float, money, Datum, PgError, Result, SqlState};

fn by_zero() -> PgError {
    PgError::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

/// A result that must fit 64 bits.
fn amount(value: Option<i64>) -> Result<Datum> {
    value.map(Datum::Int).ok_or_else(money::out_of_range)
}

/// amount × float, whichever comes first.
fn times_float(c: &Call, amount: usize, factor: usize) -> Result<Datum> {
    money::from_float(c.int(amount)? as f64 * c.float(factor)?).map(Datum::Int)
}
fn over_float(c: &Call) -> Result<Datum> {
    let divisor = c.float(1)?;
    if divisor == 0.0 {
        return Err(by_zero());
    }
    money::from_float(c.int(0)? as f64 / divisor).map(Datum::Int)
}
fn over_int(c: &Call) -> Result<Datum> {
    match c.int(1)? {
        0 => Err(by_zero()),
        divisor => amount(c.int(0)?.checked_div(divisor)),
    }
}
fn over_money(c: &Call) -> Result<Datum> {
    match c.int(1)? {
        0 => Err(by_zero()),
        divisor => Ok(float::to_datum(c.int(0)? as f64 / divisor as f64)),
    }
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("cash_cmp", |c| Ok(Datum::Int(c.int(0)?.cmp(&c.int(1)?) as i64))),
    ("cash_pl", |c| amount(c.int(0)?.checked_add(c.int(1)?))),
    ("cash_mi", |c| amount(c.int(0)?.checked_sub(c.int(1)?))),
    ("cash_mul_flt4 cash_mul_flt8", |c| times_float(c, 0, 1)),
    ("flt4_mul_cash flt8_mul_cash", |c| times_float(c, 1, 0)),
    ("cash_mul_int2 cash_mul_int4 cash_mul_int8 int2_mul_cash int4_mul_cash int8_mul_cash", |c| {
        amount(c.int(0)?.checked_mul(c.int(1)?))
    }),
    ("cash_div_flt4 cash_div_flt8", over_float),
    ("cash_div_int2 cash_div_int4 cash_div_int8", over_int),
    ("cash_div_cash", over_money),
    ("cash_words", |c| Ok(Datum::Text(money::in_words(c.int(0)?)))),
    ("int4_cash int8_cash", |c| money::from_units(c.int(0)?).map(Datum::Int)),
    ("numeric_cash", |c| money::from_numeric(&c.numeric(0)?).map(Datum::Int)),
    ("cash_numeric", |c| Ok(money::to_numeric(c.int(0)?)?.to_datum())),
];

/// `sum(money)`
#[derive(Default)]
struct Sum(Option<i64>, u64);

impl State for Sum {
    fn step(&mut self, call: &Call) -> Result<()> {
        let value = call.int(0)?;
        self.0 = Some(self.0.unwrap_or(0).checked_add(value).ok_or_else(money::out_of_range)?);
        self.1 += 1;
        Ok(())
    }
    fn inverse(&mut self, call: &Call) -> Result<()> {
        self.1 -= 1;
        let rest = self.0.unwrap_or(0).checked_sub(call.int(0)?).ok_or_else(money::out_of_range)?;
        self.0 = (self.1 > 0).then_some(rest);
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        Ok(self.0.into())
    }
}

pub(crate) const AGGREGATES: &[(&str, NewState)] = &[("sum(money)", || Box::<Sum>::default())];
