//! pgvector's types: `vector` (floats of 32 bits), `halfvec` (of 16 bits) and `sparsevec` (a few elements that are not 0).
//!
//! All are stored as BLOBs whose bytes compare as the values do, so that SQLite needs no collation for them. A number is stored with its
//! most significant byte first, a positive one with its sign bit set and a negative one with all bits inverted. A vector is its numbers
//! one after the other; [`sparse`] has the form of the third type. A zero has no sign in the file: `0` and `-0` are equal, and one
//! value has one storage form.
//!
//! `text` and `binary` read and write values, `distance` compares them.

mod binary;
pub mod distance;
pub mod sparse;
mod text;

pub(crate) use binary::{binary_in, binary_out};
pub(crate) use text::{text_in, text_out};

use crate::{Datum, DatumRef, PgError, Result, SqlState};
use half::f16;
use half::slice::HalfFloatSliceExt;
use sparse::Sparse;

/// Most dimensions of a `vector` and of a `halfvec`, and most elements of a `sparsevec` that are not 0.
pub const MAX_DIMENSIONS: usize = 16_000;
/// Most dimensions of a `sparsevec`.
pub const MAX_SPARSE_DIMENSIONS: i64 = 1_000_000_000;

/// One of the three types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Vector,
    Half,
    Sparse,
}

impl Kind {
    /// The type's name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Vector => "vector",
            Kind::Half => "halfvec",
            Kind::Sparse => "sparsevec",
        }
    }

    /// Most dimensions of a value.
    pub fn most_dimensions(self) -> i64 {
        match self {
            Kind::Vector | Kind::Half => MAX_DIMENSIONS as i64,
            Kind::Sparse => MAX_SPARSE_DIMENSIONS,
        }
    }

    /// 22000 and 54000: as many dimensions as no value has.
    pub fn check_dimensions(self, dimensions: i64) -> Result<()> {
        if dimensions < 1 {
            return Err(data(format!("{} must have at least 1 dimension", self.name())));
        }
        if dimensions > self.most_dimensions() {
            return Err(self.too_many_dimensions());
        }
        Ok(())
    }

    fn too_many_dimensions(self) -> PgError {
        let message = format!("{} cannot have more than {} dimensions", self.name(), self.most_dimensions());
        PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
    }

    /// 22000: an element that no value has.
    pub fn check_element(self, element: f32) -> Result<()> {
        if element.is_nan() {
            return Err(data(format!("NaN not allowed in {}", self.name())));
        }
        if element.is_infinite() {
            return Err(data(format!("infinite value not allowed in {}", self.name())));
        }
        Ok(())
    }

    /// The number of dimensions of a stored value.
    pub fn dimensions(self, stored: &[u8]) -> i64 {
        match self {
            Kind::Vector => (stored.len() / 4) as i64,
            Kind::Half => (stored.len() / 2) as i64,
            Kind::Sparse => sparse::dimensions(stored),
        }
    }

    /// 22000, where a stored value does not have as many dimensions as the type modifier says (-1: any number).
    pub fn check_modifier(self, stored: &[u8], typmod: i32) -> Result<()> {
        expect_dimensions(typmod, self.dimensions(stored))
    }
}

/// An error of the class "data exception", which most of pgvector's errors are of.
pub fn data(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::DATA_EXCEPTION, message)
}

/// 22000, where there are not as many dimensions as the type modifier says (-1: any number).
pub fn expect_dimensions(typmod: i32, dimensions: i64) -> Result<()> {
    if typmod != -1 && i64::from(typmod) != dimensions {
        return Err(data(format!("expected {typmod} dimensions, not {dimensions}")));
    }
    Ok(())
}

/// 22003: a number that a type cannot hold.
pub(crate) fn out_of_range(shown: &str, kind: Kind) -> PgError {
    let message = format!("\"{shown}\" is out of range for type {}", kind.name());
    PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
}

/// The stored form of a number of 32 bits.
#[inline]
pub(crate) fn encode(value: f32) -> [u8; 4] {
    // (a zero loses its sign)
    let bits = (value + 0.0).to_bits();
    (if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }).to_be_bytes()
}

/// The number of a stored form.
#[inline(always)]
pub(crate) fn decode(stored: [u8; 4]) -> f32 {
    let bits = u32::from_be_bytes(stored);
    // all bits of a negative number are inverted, of another one the sign only
    let inverted = (((bits as i32) >> 31) as u32 ^ u32::MAX) | 1 << 31;
    f32::from_bits(bits ^ inverted)
}

fn encode_half(value: f16) -> [u8; 2] {
    let bits = value.to_bits();
    let bits = if bits == 1 << 15 { 0 } else { bits };
    (if bits >> 15 == 1 { !bits } else { bits | 1 << 15 }).to_be_bytes()
}

#[inline(always)]
fn decode_half(stored: [u8; 2]) -> u16 {
    let bits = u16::from_be_bytes(stored);
    bits ^ ((((bits as i16) >> 15) as u16 ^ u16::MAX) | 1 << 15)
}

/// The storage form of a `vector`.
pub fn store(elements: &[f32]) -> Datum {
    let mut out = Vec::with_capacity(elements.len() * 4);
    out.extend(elements.iter().flat_map(|e| encode(*e)));
    Datum::Blob(out)
}

/// The storage form of a `halfvec`. Errors: 22003 for an element that is finite, and too large.
pub fn store_half(elements: &[f32]) -> Result<Datum> {
    let mut out = Vec::with_capacity(elements.len() * 2);
    for element in elements {
        crate::work::visit();
        out.extend(encode_half(to_half(*element)?));
    }
    Ok(Datum::Blob(out))
}

/// A number as one of 16 bits. Errors: 22003, shown as the number is printed.
pub fn to_half(element: f32) -> Result<f16> {
    let half = f16::from_f32(element);
    if half.is_infinite() && !element.is_infinite() {
        let mut shown = Vec::new();
        crate::float::write(f64::from(element), true, 1, &mut shown);
        return Err(out_of_range(&String::from_utf8_lossy(&shown), Kind::Half));
    }
    Ok(half)
}

/// Appends the numbers of a stored `vector`.
pub fn read_into(stored: &[u8], out: &mut Vec<f32>) {
    out.extend(stored.as_chunks().0.iter().map(|&e| decode(e)));
}

/// Appends the numbers of a stored `halfvec`.
pub fn read_half_into(stored: &[u8], out: &mut Vec<f32>) {
    let halves: Vec<f16> = stored.as_chunks().0.iter().map(|&e| f16::from_bits(decode_half(e))).collect();
    let before = out.len();
    out.resize(before + halves.len(), 0.0);
    if let Some(to) = out.get_mut(before..) {
        halves.convert_to_f32_slice(to);
    }
}

/// The numbers of a stored `vector` or `halfvec`.
pub fn elements(kind: Kind, stored: &[u8]) -> Vec<f32> {
    let mut out = Vec::with_capacity(kind.dimensions(stored).max(0) as usize);
    match kind {
        Kind::Half => read_half_into(stored, &mut out),
        _ => read_into(stored, &mut out),
    }
    out
}

/// The bytes of a value in storage form.
pub fn stored(value: DatumRef<'_>, kind: Kind) -> Result<&[u8]> {
    let sound = |bytes: &[u8]| match kind {
        Kind::Vector => !bytes.is_empty() && bytes.len().is_multiple_of(4),
        Kind::Half => !bytes.is_empty() && bytes.len().is_multiple_of(2),
        Kind::Sparse => sparse::is_sound(bytes),
    };
    match value {
        DatumRef::Blob(bytes) if sound(bytes) => Ok(bytes),
        other => Err(crate::buffer::bad_stored(kind.name(), other)),
    }
}

/// A value of one of the types, in memory.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// of `vector` and `halfvec`
    Dense(Vec<f32>),
    Sparse(Sparse),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_numbers_are_in_order_and_come_back() {
        let all = [f32::MIN, -1.5, -1e-40, 0.0, 1e-40, 0.1, 1.5, f32::MAX];
        for pair in all.windows(2) {
            assert!(encode(pair[0]) < encode(pair[1]), "{pair:?}");
        }
        for number in all {
            assert_eq!(decode(encode(number)).to_bits(), number.to_bits());
            let half = f16::from_f32(number);
            if half.is_finite() && half.to_bits() != 1 << 15 {
                assert_eq!(decode_half(encode_half(half)), half.to_bits());
            }
        }
        assert_eq!(encode(-0.0), encode(0.0));
        assert_eq!(encode_half(f16::from_f32(-0.0)), encode_half(f16::from_f32(0.0)));
    }
}
