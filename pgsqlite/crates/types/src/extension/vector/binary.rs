//! The binary forms. All numbers are in network byte order.

use super::sparse::{check_elements, Sparse};
use super::{data, elements, expect_dimensions, store, store_half, stored, Kind};
use crate::buffer::Reader;
use crate::{Datum, DatumRef, Result};
use half::f16;

/// Reads a value (`typmod`: its number of dimensions, -1 for any).
pub(crate) fn binary_in(bytes: &[u8], kind: Kind, typmod: i32) -> Result<Datum> {
    let mut reader = Reader(bytes);
    let value = match kind {
        Kind::Sparse => sparse(&mut reader, typmod)?,
        Kind::Vector | Kind::Half => dense(&mut reader, kind, typmod)?,
    };
    reader.end()?;
    Ok(value)
}

fn dense(reader: &mut Reader, kind: Kind, typmod: i32) -> Result<Datum> {
    let dimensions = i64::from(reader.i16()?);
    let unused = reader.i16()?;
    kind.check_dimensions(dimensions)?;
    expect_dimensions(typmod, dimensions)?;
    if unused != 0 {
        return Err(data(format!("expected unused to be 0, not {unused}")));
    }
    let mut values = Vec::with_capacity(dimensions as usize);
    for _ in 0..dimensions {
        crate::work::visit();
        let value = match kind {
            Kind::Half => f16::from_bits(reader.u16()?).to_f32(),
            _ => f32::from_bits(reader.u32()?),
        };
        kind.check_element(value)?;
        values.push(value);
    }
    match kind {
        Kind::Half => store_half(&values),
        _ => Ok(store(&values)),
    }
}

fn sparse(reader: &mut Reader, typmod: i32) -> Result<Datum> {
    let dimensions = i64::from(reader.i32()?);
    let count = i64::from(reader.i32()?);
    let unused = reader.i32()?;
    Kind::Sparse.check_dimensions(dimensions)?;
    if count < 0 {
        return Err(data("sparsevec cannot have negative number of elements"));
    }
    check_elements(count)?;
    if count > dimensions {
        return Err(data("sparsevec cannot have more elements than dimensions"));
    }
    expect_dimensions(typmod, dimensions)?;
    if unused != 0 {
        return Err(data(format!("expected unused to be 0, not {unused}")));
    }
    let mut indices = Vec::with_capacity(count as usize);
    for _ in 0..count {
        crate::work::visit();
        let index = reader.i32()?;
        if index < 0 || i64::from(index) >= dimensions {
            return Err(data("sparsevec index out of bounds"));
        }
        match indices.last() {
            Some(before) if *before == index as u32 => {
                return Err(data("sparsevec indices must not contain duplicates"))
            }
            Some(before) if *before > index as u32 => return Err(data("sparsevec indices must be in ascending order")),
            _ => indices.push(index as u32),
        }
    }
    let mut elements = Vec::with_capacity(indices.len());
    for index in indices {
        crate::work::visit();
        let value = f32::from_bits(reader.u32()?);
        Kind::Sparse.check_element(value)?;
        if value == 0.0 {
            return Err(data("binary representation of sparsevec cannot contain zero values"));
        }
        elements.push((index, value));
    }
    Ok(Sparse { dimensions, elements }.to_datum())
}

/// Appends the binary form of a stored value.
pub(crate) fn binary_out(value: DatumRef, kind: Kind, out: &mut Vec<u8>) -> Result<()> {
    let stored = stored(value, kind)?;
    match kind {
        Kind::Sparse => {
            let sparse = Sparse::from_stored(stored);
            out.extend((sparse.dimensions as i32).to_be_bytes());
            out.extend((sparse.elements.len() as i32).to_be_bytes());
            out.extend([0; 4]);
            out.extend(sparse.elements.iter().flat_map(|(index, _)| index.to_be_bytes()));
            out.extend(sparse.elements.iter().flat_map(|(_, element)| element.to_be_bytes()));
        }
        Kind::Vector | Kind::Half => {
            out.extend((kind.dimensions(stored) as i16).to_be_bytes());
            out.extend([0; 2]);
            for element in elements(kind, stored) {
                crate::work::visit();
                match kind {
                    Kind::Half => out.extend(f16::from_f32(element).to_bits().to_be_bytes()),
                    _ => out.extend(element.to_be_bytes()),
                }
            }
        }
    }
    Ok(())
}
