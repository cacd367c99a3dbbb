//! A frame of the write-ahead log in one system call: its header waits for the page that SQLite writes right after it.
//!
//! Only the header of a new frame waits, one that goes right behind the frame written last: its page is the next thing that
//! SQLite writes. Where a transaction has written frames twice, SQLite gives them new headers at its end and no page follows;
//! these it reads first, so that they are not "right behind", and are written at once. So nothing waits when a commit is done,
//! and whoever syncs the file finds all of it there.

use libsqlite3_sys as ffi;
use std::ffi::c_int;

/// The bytes of a frame's header (<https://www.sqlite.org/walformat.html#the_wal_file_format>).
const HEADER: usize = 24;
/// The bytes of the smallest page.
const PAGE: usize = 512;

/// What has been given to be written to a log and is not written yet: nothing, or a frame's header.
#[derive(Default)]
pub struct Pending {
    /// where the header in `frame` belongs
    at: Option<i64>,
    /// a header, and room for the page behind it
    frame: Vec<u8>,
    /// where the page ends that was written last, if nothing has been asked of the file since
    end: Option<i64>,
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
        if bytes.len() == HEADER && self.end == Some(at) {
            self.end = None;
            self.at = Some(at);
            self.frame.extend_from_slice(bytes);
            return ffi::SQLITE_OK;
        }
        let rc = if self.at.is_some_and(|header| header + HEADER as i64 == at) {
            self.frame.extend_from_slice(bytes);
            // SAFETY: promised by the caller.
            unsafe { self.flush(base, file) }
        } else {
            // SAFETY: as above.
            match unsafe { self.flush(base, file) } {
                ffi::SQLITE_OK => unsafe { write(base, file, bytes, at) },
                failed => failed,
            }
        };
        if rc == ffi::SQLITE_OK && bytes.len() >= PAGE {
            self.end = Some(at + bytes.len() as i64);
        }
        rc
    }

    /// Writes what waits, before anything else is asked of the file. If that fails it is forgotten: whoever wrote it is told.
    ///
    /// # Safety
    /// `file` is open, with these methods.
    pub unsafe fn flush(&mut self, base: &ffi::sqlite3_io_methods, file: *mut ffi::sqlite3_file) -> c_int {
        self.end = None;
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
