//! Programs over numerics (`pgsqlite_sql::lower::decimals`): an expression of several operators in one call, and its sum.

use super::aggregates::Numerics;
use super::session_cell::SessionCell;
use super::shim::{Call, NewState, Scalar, State};
use pgsqlite_sql::lower::support;
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::{Datum, PgError, Result};

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

/// (program, operand …) → numeric; NULL where an operand is
fn decimal(c: &Call) -> Result<Datum> {
    if (1..c.len()).any(|i| c.is_null(i)) {
        return Ok(Datum::Null);
    }
    Ok(run(c)?.to_datum())
}

/// `sum` and `avg` of a program's values.
struct Programs(Numerics);

impl State for Programs {
    fn step(&mut self, call: &Call) -> Result<()> {
        self.0.take(run(call)?, 1)
    }
    fn inverse(&mut self, call: &Call) -> Result<()> {
        self.0.take(run(call)?, -1)
    }
    fn value(&mut self, session: &SessionCell) -> Result<Datum> {
        self.0.value(session)
    }
}

/// (name, arity, deterministic, function)
pub(crate) const FUNCTIONS: &[(&str, i32, bool, Scalar)] = &[(support::DECIMAL, -1, true, decimal)];

/// Aggregates that leave out rows with a NULL among their operands.
pub(crate) const AGGREGATES: &[(&str, NewState)] = &[
    (support::DECIMAL_SUM, || Box::new(Programs(Numerics::sum()))),
    (support::DECIMAL_AVERAGE, || Box::new(Programs(Numerics::average()))),
];
