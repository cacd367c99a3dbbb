//! A frame of the write-ahead log in one system call: its header waits for the page that SQLite writes right after it.

use libsqlite3_sys as ffi;
use std::ffi::c_int;

/// The bytes of a frame's header (<https://www.sqlite.org/walformat.html#the_wal_file_format>).
const HEADER: usize = 24;

/// What has been given to be written to a log and is not written yet: nothing, or a frame's header.
#[derive(Default)]
pub struct Pending {
    /// where the header in `frame` belongs
    at: Option<i64>,
    /// a header, and room for the page behind it
    frame: Vec<u8>,
}

impl Pending {
    /// SQLite's `xWrite`. An error may be that of the header before: SQLite gives up the transaction either way.
    ///
    /// # Safety
    /// `file` is open, with these methods.
    pub unsafe fn write(
        &mut self,
        base: &ffi::sqlite3_io_methods,
        file: *mut ffi::sqlite3_file,
        bytes: &[u8],
        at: i64,
    ) -> c_int {
        if self.at.is_some_and(|header| header + HEADER as i64 == at) {
            self.frame.extend_from_slice(bytes);
            // SAFETY: promised by the caller.
            return unsafe { self.flush(base, file) };
        }
        // SAFETY: as above.
        let rc = unsafe { self.flush(base, file) };
        if rc != ffi::SQLITE_OK {
            return rc;
        }
        if bytes.len() == HEADER {
            self.frame.extend_from_slice(bytes);
            self.at = Some(at);
            return ffi::SQLITE_OK;
        }
        // SAFETY: as above.
        unsafe { write(base, file, bytes, at) }
    }

    /// Writes what waits. If that fails it is forgotten: whoever wrote it is told.
    ///
    /// # Safety
    /// `file` is open, with these methods.
    pub unsafe fn flush(&mut self, base: &ffi::sqlite3_io_methods, file: *mut ffi::sqlite3_file) -> c_int {
        let Some(at) = self.at.take() else { return ffi::SQLITE_OK };
        // SAFETY: promised by the caller.
        let rc = unsafe { write(base, file, &self.frame, at) };
        self.frame.clear();
        rc
    }
}

unsafe fn write(base: &ffi::sqlite3_io_methods, file: *mut ffi::sqlite3_file, bytes: &[u8], at: i64) -> c_int {
    // SAFETY: an open file and its methods.
    base.xWrite
        .map_or(ffi::SQLITE_IOERR, |write| unsafe { write(file, bytes.as_ptr().cast(), bytes.len() as c_int, at) })
}
