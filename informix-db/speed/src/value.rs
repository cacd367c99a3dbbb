//! The bytes of one column → a Python object.
//!
//! Integers, floats, text, booleans and dates are made here directly; decimals and date-times are parsed here and made
//! by calling their Python class. `Call` columns go to the Python decoder with their bytes.

use crate::misfit;
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::ffi::CString;
use std::sync::Mutex;

/// Days from the ordinal 0 of Python's calendar to Informix's day 0, 1899-12-31.
const DATE_EPOCH: i64 = 693_595;
/// Dates repeat: made ones are kept, this many.
const DATE_CACHE: usize = 1024;

type Object = *mut ffi::PyObject;

/// A day as Informix counts, and its date.
type KnownDate = (i32, Py<PyAny>);

/// How a column lies in a row, and what becomes of it.
pub enum Layout {
    Int16,
    Int32,
    Int64,
    Int8,
    Float64,
    Float32,
    Date,
    /// Blank-padded text of so many bytes.
    Char(usize),
    /// Text behind a length byte.
    Varchar,
    /// Text in an envelope of indicator and 4-byte length.
    Text,
    Boolean,
    /// Base-100 number: bytes, scale (255 = floating).
    Decimal(usize, usize),
    /// DATETIME from YEAR to SECOND or a fraction, so many bytes.
    Datetime(usize),
    /// So many bytes for the Python decoder.
    Call(usize),
    /// The contents of an envelope for the Python decoder.
    CallEnvelope,
}

impl Layout {
    /// From the name that `rowplan` gives it.
    pub fn parse(kind: &str, width: usize, argument: usize) -> PyResult<Self> {
        Ok(match kind {
            "int16" => Layout::Int16,
            "int32" => Layout::Int32,
            "int64" => Layout::Int64,
            "int8" => Layout::Int8,
            "float64" => Layout::Float64,
            "float32" => Layout::Float32,
            "date" => Layout::Date,
            "char" => Layout::Char(width),
            "varchar" => Layout::Varchar,
            "text" => Layout::Text,
            "boolean" => Layout::Boolean,
            "decimal" => Layout::Decimal(width, argument),
            "datetime" => Layout::Datetime(width),
            "call" => Layout::Call(width),
            "envelope" => Layout::CallEnvelope,
            _ => return Err(PyValueError::new_err(format!("unknown layout {kind}"))),
        })
    }
}

pub enum Encoding {
    Latin1,
    Utf8,
    Other(CString),
}

/// What columns share: the code set, and the Python classes of values.
pub struct Context {
    pub(crate) encoding: Encoding,
    decimal: Py<PyAny>,
    datetime: Py<PyAny>,
    from_ordinal: Py<PyAny>,
    dates: Mutex<Vec<Option<KnownDate>>>,
}

impl Context {
    pub fn new(py: Python<'_>, encoding: &str) -> PyResult<Self> {
        let encoding = match encoding {
            "iso-8859-1" => Encoding::Latin1,
            "utf-8" => Encoding::Utf8,
            other => Encoding::Other(CString::new(other)?),
        };
        let datetime = py.import("datetime")?;
        Ok(Context {
            encoding,
            decimal: py.import("decimal")?.getattr("Decimal")?.unbind(),
            datetime: datetime.getattr("datetime")?.unbind(),
            from_ordinal: datetime.getattr("date")?.getattr("fromordinal")?.unbind(),
            dates: Mutex::new((0..DATE_CACHE).map(|_| None).collect()),
        })
    }

    pub(crate) fn text(&self, py: Python<'_>, raw: &[u8]) -> PyResult<Object> {
        let (start, length) = (raw.as_ptr().cast(), raw.len() as ffi::Py_ssize_t);
        // SAFETY: pointer and length are those of a live slice; a null error name means "strict".
        let text = unsafe {
            match &self.encoding {
                Encoding::Latin1 => ffi::PyUnicode_DecodeLatin1(start, length, std::ptr::null()),
                Encoding::Utf8 => ffi::PyUnicode_DecodeUTF8(start, length, std::ptr::null()),
                Encoding::Other(name) => {
                    ffi::PyUnicode_Decode(start, length, name.as_ptr(), std::ptr::null())
                }
            }
        };
        owned(py, text)
    }

    fn date(&self, py: Python<'_>, days: i32) -> PyResult<Object> {
        let slot = days.rem_euclid(DATE_CACHE as i32) as usize;
        if let Ok(dates) = self.dates.try_lock() {
            if let Some((known, date)) = &dates[slot] {
                if *known == days {
                    return Ok(date.clone_ref(py).into_ptr());
                }
            }
        }
        let date = self
            .from_ordinal
            .call1(py, (i64::from(days) + DATE_EPOCH,))?;
        if let Ok(mut dates) = self.dates.try_lock() {
            dates[slot] = Some((days, date.clone_ref(py)));
        }
        Ok(date.into_ptr())
    }
}

/// One column: its layout, and the Python decoder for what is not done here.
pub struct Column {
    pub layout: Layout,
    pub decode: Py<PyAny>,
}

impl Column {
    /// Cut this column's bytes off the front of `rest` and make the value: an owned reference.
    pub fn take(&self, py: Python<'_>, context: &Context, rest: &mut &[u8]) -> PyResult<Object> {
        match self.layout {
            Layout::Int32 => {
                let value = i32::from_be_bytes(array(rest)?);
                // SAFETY: makes a new object; likewise below.
                if value == i32::MIN {
                    none()
                } else {
                    owned(py, unsafe { ffi::PyLong_FromLong(value.into()) })
                }
            }
            Layout::Int16 => {
                let value = i16::from_be_bytes(array(rest)?);
                if value == i16::MIN {
                    none()
                } else {
                    owned(py, unsafe { ffi::PyLong_FromLong(value.into()) })
                }
            }
            Layout::Int64 => {
                let value = i64::from_be_bytes(array(rest)?);
                if value == i64::MIN {
                    none()
                } else {
                    owned(py, unsafe { ffi::PyLong_FromLongLong(value) })
                }
            }
            Layout::Int8 => self.int8(py, cut(rest, 10)?),
            Layout::Float64 => {
                let bits = u64::from_be_bytes(array(rest)?);
                if bits == u64::MAX {
                    none()
                } else {
                    owned(py, unsafe { ffi::PyFloat_FromDouble(f64::from_bits(bits)) })
                }
            }
            Layout::Float32 => {
                let bits = u32::from_be_bytes(array(rest)?);
                if bits == u32::MAX {
                    return none();
                }
                owned(py, unsafe {
                    ffi::PyFloat_FromDouble(f32::from_bits(bits).into())
                })
            }
            Layout::Date => {
                let days = i32::from_be_bytes(array(rest)?);
                if days == i32::MIN {
                    none()
                } else {
                    context.date(py, days)
                }
            }
            Layout::Char(width) => {
                let raw = cut(rest, width)?;
                if raw.first() == Some(&0) {
                    return none();
                }
                let length = raw
                    .iter()
                    .rposition(|&b| b != b' ')
                    .map_or(0, |last| last + 1);
                context.text(py, &raw[..length])
            }
            Layout::Varchar => {
                let length = cut(rest, 1)?[0] as usize;
                let raw = cut(rest, length)?;
                if raw == [0] {
                    none()
                } else {
                    context.text(py, raw)
                }
            }
            Layout::Text => match envelope(rest)? {
                None => none(),
                Some(raw) => context.text(py, raw),
            },
            Layout::Boolean => match envelope(rest)? {
                None => none(),
                Some([b't' | b'T' | 1]) => Ok(true.into_pyobject(py)?.to_owned().into_ptr()),
                Some([b'f' | b'F' | 0]) => Ok(false.into_pyobject(py)?.to_owned().into_ptr()),
                Some(_) => Err(misfit()),
            },
            Layout::Decimal(width, scale) => {
                let raw = cut(rest, width)?;
                if raw.iter().all(|&b| b == 0) {
                    return none();
                }
                match decimal_text(raw, scale) {
                    Some(text) => Ok(context
                        .decimal
                        .call1(py, (PyString::new(py, &text),))?
                        .into_ptr()),
                    None => self.call(py, raw),
                }
            }
            Layout::Datetime(width) => {
                let raw = cut(rest, width)?;
                // Ordinary: from the year 0100 on nothing is normalised away. The class checks the ranges.
                if raw[0] != 0xC7 || raw.len() < 8 || raw[1..].iter().any(|&b| b > 99) {
                    return self.call(py, raw);
                }
                let pair = |i: usize| i32::from(raw.get(i).copied().unwrap_or(0));
                let year = pair(1) * 100 + pair(2);
                let micro = pair(8) * 10_000 + pair(9) * 100 + pair(10);
                let fields = (year, pair(3), pair(4), pair(5), pair(6), pair(7), micro);
                Ok(context.datetime.call1(py, fields)?.into_ptr())
            }
            Layout::Call(width) => {
                let raw = cut(rest, width)?;
                self.call(py, raw)
            }
            Layout::CallEnvelope => match envelope(rest)? {
                None => none(),
                Some(raw) => self.call(py, raw),
            },
        }
    }

    /// Sign, low and high half of the magnitude.
    fn int8(&self, py: Python<'_>, raw: &[u8]) -> PyResult<Object> {
        let sign = i16::from_be_bytes([raw[0], raw[1]]);
        let low = u32::from_be_bytes([raw[2], raw[3], raw[4], raw[5]]);
        let high = u32::from_be_bytes([raw[6], raw[7], raw[8], raw[9]]);
        let magnitude = i64::try_from(u64::from(high) << 32 | u64::from(low));
        match (sign, magnitude) {
            (0, _) => none(),
            // SAFETY: makes a new object.
            (1, Ok(value)) => owned(py, unsafe { ffi::PyLong_FromLongLong(value) }),
            (-1, Ok(value)) => owned(py, unsafe { ffi::PyLong_FromLongLong(-value) }),
            _ => self.call(py, raw),
        }
    }

    fn call(&self, py: Python<'_>, raw: &[u8]) -> PyResult<Object> {
        Ok(self.decode.call1(py, (PyBytes::new(py, raw),))?.into_ptr())
    }
}

/// The text that `Decimal` is made of, as `decode.decimal_decoder` builds it; None for what Python must look at.
fn decimal_text(raw: &[u8], scale: usize) -> Option<String> {
    let positive = raw[0] & 0x80 != 0;
    let exponent = i32::from(if positive {
        raw[0] & 0x7F
    } else {
        raw[0] ^ 0x7F
    }) - 64;
    let mut digits = String::with_capacity(2 * raw.len() + 12);
    if !positive {
        digits.push('-');
    }
    let first = digits.len();
    let last = raw.iter().rposition(|&b| b != 0)?;
    for (index, &byte) in raw.iter().enumerate().skip(1) {
        let pair = match (positive, index.cmp(&last)) {
            (true, _) => byte,
            (false, std::cmp::Ordering::Less) => 99u8.checked_sub(byte)?,
            (false, std::cmp::Ordering::Equal) => 100u8.checked_sub(byte)?,
            (false, std::cmp::Ordering::Greater) => break,
        };
        if pair > 99 {
            return None;
        }
        digits.push((b'0' + pair / 10) as char);
        digits.push((b'0' + pair % 10) as char);
    }
    if digits.len() == first {
        return None;
    }
    if scale == 255 {
        let kept = digits[first..].trim_end_matches('0').len();
        if kept == 0 {
            return Some("0".to_owned());
        }
        digits.truncate(first + kept);
        let point = 2 * exponent - kept as i32;
        digits.extend(std::iter::repeat_n('0', point.max(0) as usize));
        digits.push_str(&format!("E{}", point.min(0)));
        return Some(digits);
    }
    let have = (digits.len() - first) as i32;
    let keep = 2 * exponent + scale as i32;
    if keep <= 0 || keep < have {
        if digits[first + keep.max(0) as usize..]
            .bytes()
            .any(|b| b != b'0')
        {
            return None;
        }
        digits.truncate(first + keep.max(0) as usize);
        if keep <= 0 {
            digits.push('0');
        }
    } else {
        digits.extend(std::iter::repeat_n('0', (keep - have) as usize));
    }
    digits.push_str(&format!("E-{scale}"));
    Some(digits)
}

pub(crate) fn cut<'a>(rest: &mut &'a [u8], width: usize) -> PyResult<&'a [u8]> {
    if width > rest.len() {
        return Err(misfit());
    }
    let (part, after) = rest.split_at(width);
    *rest = after;
    Ok(part)
}

pub(crate) fn array<const N: usize>(rest: &mut &[u8]) -> PyResult<[u8; N]> {
    let (part, after) = rest.split_first_chunk::<N>().ok_or_else(misfit)?;
    *rest = after;
    Ok(*part)
}

/// Indicator, 4-byte length, contents; None for NULL (whose contents, if any, are skipped).
pub(crate) fn envelope<'a>(rest: &mut &'a [u8]) -> PyResult<Option<&'a [u8]>> {
    let [indicator] = array::<1>(rest)?;
    let length = i32::from_be_bytes(array(rest)?);
    let raw = cut(rest, usize::try_from(length).map_err(|_| misfit())?)?;
    Ok((indicator != 1).then_some(raw))
}

fn none() -> PyResult<Object> {
    // SAFETY: None is immortal or counted; a new reference is taken either way.
    unsafe {
        let none = ffi::Py_None();
        ffi::Py_IncRef(none);
        Ok(none)
    }
}

/// A new reference, or the error that Python has set.
fn owned(py: Python<'_>, object: Object) -> PyResult<Object> {
    if object.is_null() {
        Err(PyErr::fetch(py))
    } else {
        Ok(object)
    }
}
