//! TUPLE messages → columns in Arrow's layout, without a Python object per value.
//!
//! Each column grows a validity bitmap and the buffers of its Arrow type. Columns of types that only the Python decoder
//! knows are collected as its objects. Whatever is not ordinary ends the run with an exception, as it does for rows.

use crate::value::{array, cut, envelope, Column, Context, Encoding, Layout};
use crate::{misfit, MAX_BODY, TUPLE};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Days from 1899-12-31 to 1970-01-01.
const EPOCH_DAYS: i32 = 25_568;

/// The values of a column.
enum Values {
    /// values of one size, little-endian
    Fixed(Vec<u8>),
    Bits(Bitmap),
    /// ends of texts, and the texts
    Text(Vec<i32>, Vec<u8>),
    Objects(Vec<Py<PyAny>>),
}

/// One bit per row, the lowest first.
#[derive(Default)]
struct Bitmap {
    bytes: Vec<u8>,
    length: usize,
    unset: usize,
}

impl Bitmap {
    fn push(&mut self, bit: bool) {
        if self.length % 8 == 0 {
            self.bytes.push(0);
        }
        match (bit, self.bytes.last_mut()) {
            (true, Some(last)) => *last |= 1 << (self.length % 8),
            _ => self.unset += 1,
        }
        self.length += 1;
    }
}

struct Growing {
    column: Column,
    valid: Bitmap,
    values: Values,
}

/// Collects the rows of one result as columns.
#[pyclass]
pub struct ColumnBuilder {
    columns: Vec<Growing>,
    context: Context,
}

/// A finished column: (rows, NULLs, validity or None, buffers, objects or None).
type Finished<'py> = (
    usize,
    usize,
    Option<Bound<'py, PyBytes>>,
    Vec<Bound<'py, PyBytes>>,
    Option<Bound<'py, PyList>>,
);

#[pymethods]
impl ColumnBuilder {
    /// Arguments as of `RowDecoder`.
    #[new]
    fn new(
        py: Python<'_>,
        columns: Vec<(String, usize, usize, Py<PyAny>)>,
        encoding: &str,
    ) -> PyResult<Self> {
        let columns = columns
            .into_iter()
            .map(|(kind, width, argument, decode)| {
                let layout = Layout::parse(&kind, width, argument)?;
                let values = match layout {
                    Layout::Char(_) | Layout::Varchar | Layout::Text => {
                        Values::Text(vec![0], vec![])
                    }
                    Layout::Boolean => Values::Bits(Bitmap::default()),
                    Layout::Call(_) | Layout::CallEnvelope | Layout::Decimal(_, 255) => {
                        Values::Objects(vec![])
                    }
                    _ => Values::Fixed(vec![]),
                };
                Ok(Growing {
                    column: Column { layout, decode },
                    valid: Bitmap::default(),
                    values,
                })
            })
            .collect::<PyResult<Vec<_>>>()?;
        Ok(ColumnBuilder {
            columns,
            context: Context::new(py, encoding)?,
        })
    }

    /// Take the TUPLE messages of `data`, which must be complete.
    fn append(&mut self, py: Python<'_>, data: &Bound<'_, PyBytes>) -> PyResult<()> {
        catch_unwind(AssertUnwindSafe(|| self.append_all(py, data.as_bytes())))
            .unwrap_or_else(|_| Err(misfit()))
    }

    /// The columns. Nothing is left.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Finished<'py>>> {
        let bytes = |b: &[u8]| PyBytes::new(py, b);
        self.columns
            .drain(..)
            .map(|growing| {
                let Growing { valid, values, .. } = growing;
                let validity = (valid.unset > 0).then(|| bytes(&valid.bytes));
                let mut objects = None;
                let buffers = match values {
                    Values::Fixed(values) => vec![bytes(&values)],
                    Values::Bits(bits) => vec![bytes(&bits.bytes)],
                    Values::Text(ends, text) => {
                        let ends: Vec<u8> = ends.iter().flat_map(|e| e.to_le_bytes()).collect();
                        vec![bytes(&ends), bytes(&text)]
                    }
                    Values::Objects(list) => {
                        objects = Some(PyList::new(py, list)?);
                        vec![]
                    }
                };
                Ok((valid.length, valid.unset, validity, buffers, objects))
            })
            .collect()
    }
}

impl ColumnBuilder {
    fn append_all(&mut self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        let mut rest = data;
        while !rest.is_empty() {
            let head: [u8; 8] = array(&mut rest)?;
            let size = i32::from_be_bytes([head[4], head[5], head[6], head[7]]);
            if u16::from_be_bytes([head[0], head[1]]) != TUPLE || !(0..=MAX_BODY).contains(&size) {
                return Err(misfit());
            }
            let mut row = cut(&mut rest, size as usize)?;
            cut(&mut rest, size as usize & 1)?;
            for growing in &mut self.columns {
                growing.take(py, &self.context, &mut row)?;
            }
            if !row.is_empty() {
                return Err(misfit());
            }
        }
        Ok(())
    }
}

impl Growing {
    fn fixed<const N: usize>(&mut self, value: Option<[u8; N]>) {
        self.valid.push(value.is_some());
        if let Values::Fixed(values) = &mut self.values {
            values.extend_from_slice(&value.unwrap_or([0; N]));
        }
    }

    fn text(&mut self, py: Python<'_>, context: &Context, raw: Option<&[u8]>) -> PyResult<()> {
        self.valid.push(raw.is_some());
        let Values::Text(ends, text) = &mut self.values else {
            return Err(misfit());
        };
        let raw = raw.unwrap_or_default();
        match &context.encoding {
            _ if raw.is_ascii() && !matches!(context.encoding, Encoding::Other(_)) => {
                text.extend_from_slice(raw)
            }
            Encoding::Utf8 => {
                text.extend_from_slice(std::str::from_utf8(raw).map_err(|_| misfit())?.as_bytes())
            }
            Encoding::Latin1 => {
                let mut utf8 = [0; 4];
                for &b in raw {
                    text.extend_from_slice(char::from(b).encode_utf8(&mut utf8).as_bytes());
                }
            }
            Encoding::Other(_) => {
                // SAFETY: `text` gives an owned reference to a string.
                let made = unsafe { Bound::from_owned_ptr_or_err(py, context.text(py, raw)?)? };
                text.extend_from_slice(made.cast::<PyString>()?.to_str()?.as_bytes());
            }
        }
        ends.push(i32::try_from(text.len()).map_err(|_| {
            PyValueError::new_err("a column of texts is beyond 2 GiB: fetch fewer rows")
        })?);
        Ok(())
    }

    /// Cut this column's bytes off the front of `row` and keep the value.
    fn take(&mut self, py: Python<'_>, context: &Context, row: &mut &[u8]) -> PyResult<()> {
        match self.column.layout {
            Layout::Int16 => {
                let n = i16::from_be_bytes(array(row)?);
                self.fixed((n != i16::MIN).then(|| n.to_le_bytes()));
            }
            Layout::Int32 => {
                let n = i32::from_be_bytes(array(row)?);
                self.fixed((n != i32::MIN).then(|| n.to_le_bytes()));
            }
            Layout::Int64 => {
                let n = i64::from_be_bytes(array(row)?);
                self.fixed((n != i64::MIN).then(|| n.to_le_bytes()));
            }
            Layout::Int8 => {
                let sign = i16::from_be_bytes(array(row)?);
                let low = u32::from_be_bytes(array(row)?);
                let high = u32::from_be_bytes(array(row)?);
                let size = i64::try_from(u64::from(high) << 32 | u64::from(low));
                let value = match (sign, size) {
                    (0, _) => None,
                    (1, Ok(n)) => Some(n),
                    (-1, Ok(n)) => Some(-n),
                    _ => return Err(misfit()),
                };
                self.fixed(value.map(i64::to_le_bytes));
            }
            Layout::Float64 => {
                let bits = u64::from_be_bytes(array(row)?);
                self.fixed((bits != u64::MAX).then(|| bits.to_le_bytes()));
            }
            Layout::Float32 => {
                let bits = u32::from_be_bytes(array(row)?);
                self.fixed((bits != u32::MAX).then(|| bits.to_le_bytes()));
            }
            Layout::Date => {
                let days = i32::from_be_bytes(array(row)?);
                // the years 1 to 9999, as Python's dates
                if days != i32::MIN && !(-693_594..=2_958_464).contains(&days) {
                    return Err(misfit());
                }
                self.fixed((days != i32::MIN).then(|| (days - EPOCH_DAYS).to_le_bytes()));
            }
            Layout::Char(width) => {
                let raw = cut(row, width)?;
                let end = raw.iter().rposition(|&b| b != b' ').map_or(0, |i| i + 1);
                let value = (raw.first() != Some(&0)).then(|| &raw[..end]);
                self.text(py, context, value)?;
            }
            Layout::Varchar => {
                let length = cut(row, 1)?[0] as usize;
                let raw = cut(row, length)?;
                self.text(py, context, (raw != [0]).then_some(raw))?;
            }
            Layout::Text => {
                let raw = envelope(row)?;
                self.text(py, context, raw)?;
            }
            Layout::Boolean => {
                let bit = match envelope(row)? {
                    None => None,
                    Some([b't' | b'T' | 1]) => Some(true),
                    Some([b'f' | b'F' | 0]) => Some(false),
                    Some(_) => return Err(misfit()),
                };
                self.valid.push(bit.is_some());
                if let Values::Bits(bits) = &mut self.values {
                    bits.push(bit.unwrap_or(false));
                }
            }
            Layout::Decimal(width, scale) if scale != 255 => {
                let raw = cut(row, width)?;
                let value = match raw.iter().all(|&b| b == 0) {
                    true => None,
                    false => Some(scaled(raw, scale).ok_or_else(misfit)?),
                };
                self.fixed(value.map(i128::to_le_bytes));
            }
            Layout::Datetime(width) => {
                let raw = cut(row, width)?;
                let value = match raw.iter().all(|&b| b == 0) {
                    true => None,
                    false => Some(micros(raw).ok_or_else(misfit)?),
                };
                self.fixed(value.map(i64::to_le_bytes));
            }
            Layout::Decimal(..) | Layout::Call(_) | Layout::CallEnvelope => {
                let value = self.column.take(py, context, row)?;
                // SAFETY: `take` gives an owned reference.
                let value = unsafe { Bound::from_owned_ptr_or_err(py, value)? };
                self.valid.push(!value.is_none());
                if let Values::Objects(objects) = &mut self.values {
                    objects.push(value.unbind());
                }
            }
        }
        Ok(())
    }
}

/// A base-100 number times 10^scale; None: it has more digits than that, or is none.
fn scaled(raw: &[u8], scale: usize) -> Option<i128> {
    let (head, pairs) = raw.split_first()?;
    let negative = head & 0x80 == 0;
    let exponent = i32::from(if negative { head ^ 0x7f } else { *head } & 0x7f) - 64;
    let used = pairs.iter().rposition(|&p| p != 0).map_or(0, |i| i + 1);
    let mut whole: i128 = 0;
    for (i, &pair) in pairs[..used].iter().enumerate() {
        let digits = match (negative, i + 1 == used) {
            (false, _) => i32::from(pair),
            // digits of a negative number are complements, from the last one on
            (true, true) => 100 - i32::from(pair),
            (true, false) => 99 - i32::from(pair),
        };
        if !(0..=99).contains(&digits) {
            return None;
        }
        whole = whole.checked_mul(100)?.checked_add(digits.into())?;
    }
    let power = 2 * (exponent - used as i32) + scale as i32;
    let factor = 10i128.checked_pow(power.unsigned_abs())?;
    let value = match power >= 0 {
        true => whole.checked_mul(factor)?,
        false if whole % factor == 0 => whole / factor,
        false => return None,
    };
    Some(if negative { -value } else { value })
}

/// A DATETIME from YEAR to SECOND or behind, as microseconds since 1970; None: it is not ordinary.
fn micros(raw: &[u8]) -> Option<i64> {
    // from the year 0100 on nothing is normalised away
    if raw[0] != 0xC7 || raw.len() < 8 || raw[1..].iter().any(|&b| b > 99) {
        return None;
    }
    let pair = |i: usize| i64::from(raw.get(i).copied().unwrap_or(0));
    let (year, month, day) = (pair(1) * 100 + pair(2), pair(3), pair(4));
    let (hour, minute, second) = (pair(5), pair(6), pair(7));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let right = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !right {
        return None;
    }
    // years that begin in March have the leap day at their end
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let since = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468;
    let seconds = since * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(seconds * 1_000_000 + pair(8) * 10_000 + pair(9) * 100 + pair(10))
}
