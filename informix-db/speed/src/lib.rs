//! The compiled row decoder and parameter encoder of informix-db: the same results as the functions that
//! `informix_db._core.rowplan` and `informix_db._core.types.encode` generate in Python.
//!
//! Nothing here ends the interpreter: a panic would be a defect, and is told as a row or a value that is not ordinary.
//!
//! Data passes like this: `RowDecoder.decode` walks the TUPLE messages in an input buffer, cuts each payload into
//! columns, makes a Python object per value (`value.rs`), and appends a tuple per row. Whatever is not ordinary (a
//! size that does not fit, digits that are none, text that is not in the code set) ends the run with an exception;
//! the Python side then decodes that one row slowly and names the column. Values of rare types are given to the
//! Python decoder of their column.

mod columnar;
mod params;
mod value;

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use std::panic::{catch_unwind, AssertUnwindSafe};
use value::{Column, Context, Layout};

/// Longest row that is accepted, in bytes; the same limit as in `wire.py`.
pub(crate) const MAX_BODY: i32 = 64 << 20;
pub(crate) const TUPLE: u16 = 14;

/// Decodes the rows of one result.
#[pyclass(frozen)]
struct RowDecoder {
    columns: Vec<Column>,
    context: Context,
}

#[pymethods]
impl RowDecoder {
    /// `columns`: (kind, width, argument, Python decoder) each; kinds are named in `value::Layout::parse`.
    #[new]
    fn new(
        py: Python<'_>,
        columns: Vec<(String, usize, usize, Py<PyAny>)>,
        encoding: &str,
    ) -> PyResult<Self> {
        let columns = columns
            .into_iter()
            .map(|(kind, width, argument, decode)| {
                Ok(Column {
                    layout: Layout::parse(&kind, width, argument)?,
                    decode,
                })
            })
            .collect::<PyResult<Vec<_>>>()?;
        Ok(RowDecoder {
            columns,
            context: Context::new(py, encoding)?,
        })
    }

    /// Decode complete TUPLE messages of `data[pos:end]` into `rows`; the position of the first that is not taken.
    fn decode(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyBytes>,
        pos: usize,
        end: usize,
        rows: &Bound<'_, PyList>,
    ) -> PyResult<usize> {
        catch_unwind(AssertUnwindSafe(|| {
            self.decode_all(py, data, pos, end, rows)
        }))
        .unwrap_or_else(|_| Err(misfit()))
    }
}

impl RowDecoder {
    fn decode_all(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyBytes>,
        pos: usize,
        end: usize,
        rows: &Bound<'_, PyList>,
    ) -> PyResult<usize> {
        let data = data.as_bytes();
        if end > data.len() || pos > end {
            return Err(PyValueError::new_err("positions outside of the buffer"));
        }
        let data = &data[..end];
        let mut pos = pos;
        while end - pos >= 8 {
            let head = &data[pos..pos + 8];
            if u16::from_be_bytes([head[0], head[1]]) != TUPLE {
                break;
            }
            let size = i32::from_be_bytes([head[4], head[5], head[6], head[7]]);
            if !(0..=MAX_BODY).contains(&size) {
                return Err(misfit());
            }
            let size = size as usize;
            let stop = pos + 8 + size;
            let after = stop + (size & 1);
            if after > end {
                break;
            }
            let row = self.row(py, &data[pos + 8..stop])?;
            rows.append(row)?;
            pos = after;
        }
        Ok(pos)
    }

    /// One row; its columns must take exactly the payload.
    fn row<'py>(&self, py: Python<'py>, payload: &[u8]) -> PyResult<Bound<'py, PyTuple>> {
        let count = self.columns.len();
        // SAFETY: a new tuple is filled with owned references before anybody else sees it. When a column fails, the
        // tuple is dropped by `Bound`, which copes with the places that are still empty.
        let row = unsafe {
            Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(count as ffi::Py_ssize_t))?
                .cast_into_unchecked::<PyTuple>()
        };
        let mut rest = payload;
        for (index, column) in self.columns.iter().enumerate() {
            let value = column.take(py, &self.context, &mut rest)?;
            // SAFETY: the index is inside the tuple, and the reference is given away.
            if unsafe { ffi::PyTuple_SetItem(row.as_ptr(), index as ffi::Py_ssize_t, value) } != 0 {
                return Err(PyErr::fetch(py));
            }
        }
        if !rest.is_empty() {
            return Err(misfit());
        }
        Ok(row)
    }
}

/// The row is not what was described: the Python side finds out what is wrong.
pub(crate) fn misfit() -> PyErr {
    PyValueError::new_err("a row does not have the described form")
}

#[pymodule]
fn informix_db_speed(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<RowDecoder>()?;
    module.add_class::<columnar::ColumnBuilder>()?;
    module.add_function(wrap_pyfunction!(params::encode_param, module)?)?;
    module.add_function(wrap_pyfunction!(params::bind, module)?)?;
    module.add("VERSION", 3)
}
