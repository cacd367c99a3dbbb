//! Length coercion: what assigning a value to `varchar(n)`, `numeric(p,s)`, `timestamp(p)` … does to it.

use crate::array::{self, Array};
use crate::codec::TypeCodec;
use crate::datetime::{io, round_micros, TimeTz};
use crate::extension::vector;
use crate::numeric::Numeric;
use crate::{bits, text, Datum, DatumRef, Result};

impl TypeCodec {
    /// A value in storage form with the type's typmod applied (-1: none). An assignment refuses a text that is too long
    /// (22001, unless only blanks go), an explicit cast cuts it; numbers and times are rounded either way, and a number
    /// that does not fit is 22003.
    pub fn coerce_typmod(&self, value: DatumRef, typmod: i32, explicit: bool) -> Result<Datum> {
        if typmod < 0 || value.is_null() {
            return Ok(value.to_owned());
        }
        Ok(match self {
            TypeCodec::Text => Datum::from(text::coerce_varchar(text::stored(value)?, typmod, explicit)?),
            TypeCodec::BpChar => Datum::Text(text::coerce_bpchar(text::stored(value)?, typmod, explicit)?),
            TypeCodec::Bits { varying } => Datum::Text(bits::fit(bits::stored(value)?, typmod, *varying, explicit)?),
            TypeCodec::Numeric => Numeric::from_datum(value)?.apply_typmod(typmod)?.to_datum(),
            TypeCodec::Time => Datum::Text(io::time_typmod(io::stored_time(value)?, typmod).to_storage()),
            TypeCodec::TimeTz => {
                let t = io::stored_timetz(value)?;
                Datum::Text(TimeTz { micros: round_micros(t.micros, typmod), ..t }.to_storage())
            }
            TypeCodec::Timestamp | TypeCodec::TimestampTz => {
                Datum::Text(io::timestamp_typmod(io::stored_timestamp(value)?, typmod)?.to_storage())
            }
            TypeCodec::Interval => Datum::Text(io::stored_interval(value)?.apply_typmod(typmod)?.to_storage()),
            TypeCodec::Vector(kind) => {
                kind.check_modifier(vector::stored(value, *kind)?, typmod)?;
                value.to_owned()
            }
            TypeCodec::Array(element, ..) => {
                let Array { dimensions, lower, elements } = array::stored(value, element)?;
                let elements: Result<Vec<Datum>> =
                    elements.iter().map(|e| element.coerce_typmod(e.as_ref(), typmod, explicit)).collect();
                Array { dimensions, lower, elements: elements? }.to_datum()
            }
            _ => value.to_owned(),
        })
    }
}
