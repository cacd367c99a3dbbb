//! Programs over numerics (`pgsqlite_sql::lower::decimals`): an expression of several operators in one call, and its sum.

use super::aggregates::Numerics;
use super::session_cell::SessionCell;
use super::shim::{same_kind, Call, NewState, Scalar, State};
use pgsqlite_sql::lower::support;
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::{Datum, DatumRef, PgError, Result};
use std::any::Any;

/// Values of a program that stand on the stack at once without an allocation.
const SHALLOW: usize = 8;

/// What the program in argument 0 gives for the operands behind it; they are not NULL.
fn run(c: &Call) -> Result<Numeric> {
    let malformed = || PgError::internal("a malformed program over numerics");
    let mut stack: Vec<Numeric> = Vec::with_capacity(SHALLOW);
    for sign in c.text(0)?.bytes() {
        if sign.is_ascii_lowercase() {
            stack.push(c.numeric(1 + (sign - b'a') as usize)?);
            continue;
        }
        let last = stack.pop().ok_or_else(malformed)?;
        let value = if sign == b'~' {
            last.neg()
        } else {
            let first = stack.pop().ok_or_else(malformed)?;
            match sign {
                b'+' => first.add(&last)?,
                b'-' => first.sub(&last)?,
                b'*' => first.mul(&last)?,
                b'/' => first.div(&last)?,
                _ => return Err(malformed()),
            }
        };
        stack.push(value);
    }
    stack.pop().ok_or_else(malformed)
}

/// What a program gives for short operands, as coefficient and scale, if all values under way fit 128 bits. None: [`run`] is to compute it.
fn run_short(c: &Call) -> Option<(i128, u16)> {
    let mut stack = [(0i128, 0u16); SHALLOW];
    let mut depth = 0;
    let DatumRef::Text(program) = c.datum(0) else { return None };
    for sign in program.bytes() {
        if sign.is_ascii_lowercase() {
            let (coefficient, scale) = c.short_decimal(1 + (sign - b'a') as usize)?;
            *stack.get_mut(depth)? = (i128::from(coefficient), scale);
            depth += 1;
            continue;
        }
        let (last, scale) = *stack.get(depth.checked_sub(1)?)?;
        if sign == b'~' {
            stack[depth - 1].0 = last.checked_neg()?;
            continue;
        }
        depth = depth.checked_sub(2)?;
        let (first, first_scale) = stack[depth];
        stack[depth] = match sign {
            b'*' => (product(first, last)?, first_scale.checked_add(scale).filter(|s| *s <= MOST_DIGITS)?),
            b'+' | b'-' => {
                let common = scale.max(first_scale);
                let (first, last) = (widened(first, common - first_scale)?, widened(last, common - scale)?);
                (if sign == b'+' { first.checked_add(last)? } else { first.checked_sub(last)? }, common)
            }
            _ => return None,
        };
        depth += 1;
    }
    (depth == 1).then_some(stack[0])
}

/// Digits behind the point of what is computed in 128 bits.
const MOST_DIGITS: u16 = 30;

/// `value × 10^by`.
fn widened(value: i128, by: u16) -> Option<i128> {
    if by == 0 {
        return Some(value);
    }
    product(value, 10i128.checked_pow(u32::from(by))?)
}

fn product(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => Some(i128::from(a) * i128::from(b)),
        _ => a.checked_mul(b),
    }
}

/// (program, operand …) → numeric; NULL where an operand is
fn decimal(c: &Call) -> Result<Datum> {
    if (1..c.len()).any(|i| c.is_null(i)) {
        return Ok(Datum::Null);
    }
    match run_short(c) {
        Some((coefficient, scale)) => Ok(Numeric::of_parts(coefficient, scale).to_datum()),
        None => Ok(run(c)?.to_datum()),
    }
}

/// `sum` and `avg` of a program's values.
struct Programs(Numerics);

impl Programs {
    fn take(&mut self, call: &Call, sign: i64) -> Result<()> {
        match run_short(call) {
            Some((coefficient, scale)) => self.0.take_parts(coefficient, scale, sign),
            None => self.0.take(run(call)?, sign),
        }
    }
}

impl State for Programs {
    fn step(&mut self, call: &Call) -> Result<()> {
        self.take(call, 1)
    }
    fn inverse(&mut self, call: &Call) -> Result<()> {
        self.take(call, -1)
    }
    fn value(&mut self, session: &SessionCell) -> Result<Datum> {
        self.0.value(session)
    }
    fn combine(&mut self, later: Box<dyn Any>) -> Result<()> {
        self.0.append(same_kind::<Programs>(later)?.0)
    }
}

/// (name, arity, deterministic, function)
pub(crate) const FUNCTIONS: &[(&str, i32, bool, Scalar)] = &[(support::DECIMAL, -1, true, decimal)];

/// Aggregates that leave out rows with a NULL among their operands.
pub const AGGREGATES: &[(&str, NewState)] = &[
    (support::DECIMAL_SUM, || Box::new(Programs(Numerics::sum()))),
    (support::DECIMAL_AVERAGE, || Box::new(Programs(Numerics::average()))),
];
