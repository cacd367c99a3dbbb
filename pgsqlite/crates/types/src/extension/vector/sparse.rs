//! The storage form of `sparsevec`: nine bytes for each element that is not 0, in the order of their indices, and five at the end.
//!
//! An element is a byte (2: positive, 0: negative), its index from 0 in four bytes (inverted for a positive element) and its number as
//! in a `vector`. The end is written as a negative element at the index behind the last one would begin: a zero byte and the number of
//! dimensions. So bytes compare as vectors do that have all their zeros: where the first element that differs is positive, the one
//! with the smaller index is the greater value, and a vector that ends is less than one that goes on.

use super::{data, decode, encode, Kind, MAX_DIMENSIONS};
use crate::{Datum, PgError, Result, SqlState};

const ELEMENT: usize = 9;
const END: usize = 5;

/// A `sparsevec` in memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sparse {
    pub dimensions: i64,
    /// The elements that are not 0, with their indices from 0, in the order of these.
    pub elements: Vec<(u32, f32)>,
}

/// Whether bytes are the storage form of a value.
pub(super) fn is_sound(stored: &[u8]) -> bool {
    stored.len() >= END && (stored.len() - END).is_multiple_of(ELEMENT)
}

/// The number of dimensions of a stored value.
pub fn dimensions(stored: &[u8]) -> i64 {
    stored.last_chunk::<4>().map_or(0, |last| i64::from(u32::from_be_bytes(*last)))
}

/// The elements of a stored value, one after the other.
pub fn iter(stored: &[u8]) -> impl Iterator<Item = (u32, f32)> + '_ {
    let elements = stored.get(..stored.len().saturating_sub(END)).unwrap_or_default();
    elements.as_chunks::<ELEMENT>().0.iter().map(|&[sign, i0, i1, i2, i3, v0, v1, v2, v3]| {
        let index = u32::from_be_bytes([i0, i1, i2, i3]);
        (if sign == 2 { !index } else { index }, decode([v0, v1, v2, v3]))
    })
}

impl Sparse {
    /// The value of a storage form.
    pub fn from_stored(stored: &[u8]) -> Sparse {
        Sparse { dimensions: dimensions(stored), elements: iter(stored).collect() }
    }

    /// The value with the elements of a dense one that are not 0. Errors: 54000 for too many.
    pub fn from_dense(elements: &[f32]) -> Result<Sparse> {
        let numbered = (0u32..).zip(elements.iter().copied());
        let sparse =
            Sparse { dimensions: elements.len() as i64, elements: numbered.filter(|(_, e)| *e != 0.0).collect() };
        Kind::Sparse.check_dimensions(sparse.dimensions)?;
        check_elements(sparse.elements.len() as i64)?;
        Ok(sparse)
    }

    /// All elements. Errors: 54000, where a value of `kind` cannot have so many dimensions.
    pub fn to_dense(&self, kind: Kind) -> Result<Vec<f32>> {
        kind.check_dimensions(self.dimensions)?;
        let mut out = vec![0.0; self.dimensions as usize];
        for (index, element) in &self.elements {
            crate::work::visit();
            if let Some(place) = out.get_mut(*index as usize) {
                *place = *element;
            }
        }
        Ok(out)
    }

    pub fn to_datum(&self) -> Datum {
        let mut out = Vec::with_capacity(self.elements.len() * ELEMENT + END);
        for (index, element) in &self.elements {
            crate::work::visit();
            let (sign, index) = if *element > 0.0 { (2, !index) } else { (0, *index) };
            out.push(sign);
            out.extend(index.to_be_bytes());
            out.extend(encode(*element));
        }
        out.push(0);
        out.extend((self.dimensions as u32).to_be_bytes());
        Datum::Blob(out)
    }

    /// 22000, where an index is not one of the dimensions', or there twice. The elements are in order.
    pub(super) fn check_indices(&self) -> Result<()> {
        let mut before = None;
        for (index, _) in &self.elements {
            crate::work::visit();
            if i64::from(*index) >= self.dimensions {
                return Err(data("sparsevec index out of bounds"));
            }
            if before == Some(index) {
                return Err(data("sparsevec indices must not contain duplicates"));
            }
            before = Some(index);
        }
        Ok(())
    }
}

/// 54000: more elements that are not 0 than a value has.
pub(super) fn check_elements(count: i64) -> Result<()> {
    if count > MAX_DIMENSIONS as i64 {
        let message = format!("sparsevec cannot have more than {MAX_DIMENSIONS} non-zero elements");
        return Err(PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    }
    Ok(())
}
