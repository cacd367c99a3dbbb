//! Functions and aggregates of bit strings: what `pgsqlite_types::bits` computes.

use super::session_cell::SessionCell;
use super::shim::{Call, NewState, Scalar, State};
use pgsqlite_types::{bits, Datum, Result};
use std::collections::VecDeque;

/// An argument that is an `int4`.
fn int(c: &Call, i: usize) -> Result<i32> {
    Ok(c.int(i)? as i32)
}

fn and(a: &str, b: &str) -> Result<String> {
    bits::combine(a, b, "AND", |x, y| x & y)
}
fn or(a: &str, b: &str) -> Result<String> {
    bits::combine(a, b, "OR", |x, y| x | y)
}
fn xor(a: &str, b: &str) -> Result<String> {
    bits::combine(a, b, "XOR", |x, y| x ^ y)
}

fn substring(c: &Call) -> Result<Datum> {
    let length = if c.len() > 2 { Some(int(c, 2)?) } else { None };
    bits::substring(c.text(0)?, int(c, 1)?, length).map(Datum::from)
}
fn overlay(c: &Call) -> Result<Datum> {
    let length = if c.len() > 3 { Some(int(c, 3)?) } else { None };
    bits::overlay(c.text(0)?, c.text(1)?, int(c, 2)?, length).map(Datum::Text)
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("bit", |c| bits::fit(c.text(0)?, int(c, 1)?, false, c.bool(2)?).map(Datum::Text)),
    ("varbit", |c| bits::fit(c.text(0)?, int(c, 1)?, true, c.bool(2)?).map(Datum::Text)),
    ("bit_and", |c| and(c.text(0)?, c.text(1)?).map(Datum::Text)),
    ("bit_or", |c| or(c.text(0)?, c.text(1)?).map(Datum::Text)),
    ("bitxor", |c| xor(c.text(0)?, c.text(1)?).map(Datum::Text)),
    ("bitnot", |c| Ok(Datum::Text(bits::not(c.text(0)?)))),
    ("bitshiftleft", |c| Ok(Datum::Text(bits::shift_left(c.text(0)?, c.int(1)?)))),
    ("bitshiftright", |c| Ok(Datum::Text(bits::shift_left(c.text(0)?, -c.int(1)?)))),
    ("bitcat", |c| bits::concatenate(c.text(0)?, c.text(1)?).map(Datum::Text)),
    ("bitsubstr bitsubstr_no_len", substring),
    ("bitoverlay bitoverlay_no_len", overlay),
    ("bitposition", |c| Ok(Datum::Int(bits::position(c.text(0)?, c.text(1)?)))),
    ("bitgetbit", |c| bits::get(c.text(0)?, int(c, 1)?).map(Datum::Int)),
    ("bitsetbit", |c| bits::set(c.text(0)?, int(c, 1)?, int(c, 2)?).map(Datum::Text)),
    ("bit_bit_count", |c| Ok(Datum::Int(c.text(0)?.bytes().filter(|b| *b == b'1').count() as i64))),
    ("bitfromint4", |c| bits::from_integer(c.int(0)?, int(c, 1)?, 32).map(Datum::Text)),
    ("bitfromint8", |c| bits::from_integer(c.int(0)?, int(c, 1)?, 64).map(Datum::Text)),
    ("bittoint4", |c| bits::to_integer(c.text(0)?, 32).map(Datum::Int)),
    ("bittoint8", |c| bits::to_integer(c.text(0)?, 64).map(Datum::Int)),
    ("bitcmp", |c| Ok(Datum::Int(c.text(0)?.cmp(c.text(1)?) as i64))),
];

/// `bit_and`, `bit_or`, `bit_xor`: the rows are kept, because `&` and `|` cannot be undone when a window moves.
struct Combined {
    rows: VecDeque<String>,
    combine: fn(&str, &str) -> Result<String>,
}

impl State for Combined {
    fn step(&mut self, call: &Call) -> Result<()> {
        let bits = call.text(0)?;
        if let Some(first) = self.rows.front() {
            // strings of different lengths are an error of the row
            (self.combine)(first, bits)?;
        }
        self.rows.push_back(bits.to_string());
        Ok(())
    }
    fn inverse(&mut self, _call: &Call) -> Result<()> {
        self.rows.pop_front();
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        let mut rows = self.rows.iter();
        let Some(first) = rows.next() else { return Ok(Datum::Null) };
        rows.try_fold(first.clone(), |all, row| (self.combine)(&all, row)).map(Datum::Text)
    }
}

fn combined(combine: fn(&str, &str) -> Result<String>) -> Box<dyn State> {
    Box::new(Combined { rows: VecDeque::new(), combine })
}

pub(crate) const AGGREGATES: &[(&str, NewState)] =
    &[("bit_and(bit)", || combined(and)), ("bit_or(bit)", || combined(or)), ("bit_xor(bit)", || combined(xor))];
