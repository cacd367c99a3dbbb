//! Python values → parameters of a BIND message, for the ordinary types.
//!
//! Whatever is not ordinary (large integers, text that the code set does not have, other types, subclasses) gives
//! None, and the Python side encodes it and says what is wrong with it.

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

/// Days from the ordinal 0 of Python's calendar to Informix's day 0, 1899-12-31.
const DATE_EPOCH: i64 = 693_595;
/// Longest text that is sent as CHAR.
const MAX_STRING: usize = 32739;

#[derive(Clone, Copy, PartialEq)]
enum CodeSet {
    Latin1,
    Utf8,
}

fn code_set(name: &str) -> Option<CodeSet> {
    match name {
        "iso-8859-1" => Some(CodeSet::Latin1),
        "utf-8" => Some(CodeSet::Utf8),
        _ => None,
    }
}

/// `datetime.date` itself: a subclass (as datetime.datetime is) is another type.
fn date_type(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static DATE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    DATE.import(py, "datetime", "date")
}

/// One parameter behind those of `out`; false: it is not ordinary, and `out` is of no use.
fn put(value: &Bound<'_, PyAny>, codes: Option<CodeSet>, out: &mut Vec<u8>) -> PyResult<bool> {
    let py = value.py();
    if value.is_exact_instance_of::<PyInt>() {
        let mut overflow = 0;
        // SAFETY: the object is an integer, and `overflow` lives here.
        let n = unsafe { ffi::PyLong_AsLongLongAndOverflow(value.as_ptr(), &raw mut overflow) };
        if overflow != 0 || n == i64::MIN {
            return Ok(false);
        }
        match i32::try_from(n) {
            // the least is NULL in an INTEGER
            Ok(n) if n != i32::MIN => {
                out.extend_from_slice(&[0, 2, 0, 0, 0x0A, 0]);
                out.extend_from_slice(&n.to_be_bytes());
            }
            _ => {
                out.extend_from_slice(&[0, 52, 0, 0, 0x13, 0]);
                out.extend_from_slice(&n.to_be_bytes());
            }
        }
    } else if value.is_exact_instance_of::<PyString>() {
        let Some(codes) = codes else { return Ok(false) };
        let Ok(text) = value.cast::<PyString>()?.to_str() else {
            return Ok(false);
        };
        let head = out.len();
        out.extend_from_slice(&[0; 8]);
        if codes == CodeSet::Utf8 || text.is_ascii() {
            out.extend_from_slice(text.as_bytes());
        } else {
            for c in text.chars() {
                let Ok(byte) = u8::try_from(u32::from(c)) else {
                    return Ok(false);
                };
                out.push(byte);
            }
        }
        let length = out.len() - head - 8;
        if length > MAX_STRING {
            return Ok(false);
        }
        out[head + 6..head + 8].copy_from_slice(&(length as u16).to_be_bytes());
        if length % 2 == 1 {
            out.push(0);
        }
    } else if value.is_none() {
        out.extend_from_slice(&[0, 0, 0xFF, 0xFF, 0, 0]);
    } else if value.is_exact_instance_of::<PyFloat>() {
        let n: f64 = value.extract()?;
        if !n.is_finite() {
            return Ok(false);
        }
        out.extend_from_slice(&[0, 3, 0, 0, 0, 0]);
        out.extend_from_slice(&n.to_be_bytes());
    } else if value.is_exact_instance_of::<PyBool>() {
        let letter = if value.is_truthy()? { b't' } else { b'f' };
        out.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 1, letter, 0]);
    } else if value.get_type().is(date_type(py)?) {
        let ordinal: i64 = value.call_method0("toordinal")?.extract()?;
        let Ok(days) = i32::try_from(ordinal - DATE_EPOCH) else {
            return Ok(false);
        };
        out.extend_from_slice(&[0, 7, 0, 0, 0, 0]);
        out.extend_from_slice(&days.to_be_bytes());
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// The Python function that encodes what is not ordinary.
fn pure(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static PURE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    PURE.import(py, "informix_db._core.types.encode", "encode_param_pure")
}

/// One parameter as it stands in BIND.
#[pyfunction]
#[pyo3(signature = (value, encoding = None))]
pub fn encode_param<'py>(
    value: &Bound<'py, PyAny>,
    encoding: Option<&Bound<'py, PyString>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    let codes = match encoding {
        None => Some(CodeSet::Latin1),
        Some(name) => code_set(name.to_str()?),
    };
    let mut out = Vec::with_capacity(16);
    if put(value, codes, &mut out)? {
        return Ok(PyBytes::new(py, &out).into_any());
    }
    match encoding {
        None => pure(py)?.call1((value,)),
        Some(name) => pure(py)?.call1((value, name)),
    }
}

/// BIND with all parameters of a list or tuple; None: one of them is not ordinary.
#[pyfunction]
#[pyo3(signature = (values, encoding, /))]
pub fn bind<'py>(
    values: &Bound<'py, PyAny>,
    encoding: &str,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let codes = code_set(encoding);
    let mut out = Vec::with_capacity(256);
    let head = |count: usize, out: &mut Vec<u8>| -> PyResult<()> {
        let count = u16::try_from(count)
            .ok()
            .filter(|n| *n <= i16::MAX as u16)
            .ok_or_else(|| PyTypeError::new_err("too many parameters"))?;
        out.extend_from_slice(&[0, 5]);
        out.extend_from_slice(&count.to_be_bytes());
        Ok(())
    };
    if let Ok(values) = values.cast_exact::<PyTuple>() {
        head(values.len(), &mut out)?;
        for value in values.iter_borrowed() {
            if !put(&value, codes, &mut out)? {
                return Ok(None);
            }
        }
    } else if let Ok(values) = values.cast_exact::<PyList>() {
        head(values.len(), &mut out)?;
        for value in values.iter() {
            if !put(&value, codes, &mut out)? {
                return Ok(None);
            }
        }
    } else {
        return Ok(None);
    }
    Ok(Some(PyBytes::new(values.py(), &out)))
}
