//! A frame of the write-ahead log in one system call: its header waits for the page that SQLite writes right after it.
//!
//! Only the header of a new frame waits, one that goes right behind the frame written last: its page is the next thing that
//! SQLite writes. Where a transaction has written frames twice, SQLite gives them new headers at its end and no page follows;
//! these it reads first, so that they are not "right behind", and are written at once. So nothing waits when a commit is done,
//! and whoever syncs the file finds all of it there.

use libsqlite3_sys as ffi;
use std::ffi::c_int;

/// The bytes of a frame's header (<https://www.sqlite.org/walformat.html#the_wal_file_format>).
pub const HEADER: usize = 24;
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
                // SAFETY: as above.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_void;

    /// A file in memory, as SQLite sees one.
    #[repr(C)]
    struct InMemory {
        base: ffi::sqlite3_file,
        content: Vec<u8>,
        calls: usize,
    }

    unsafe extern "C" fn write_in_memory(
        file: *mut ffi::sqlite3_file,
        bytes: *const c_void,
        n: c_int,
        at: i64,
    ) -> c_int {
        // SAFETY: the tests give an `InMemory`, and as many bytes as they say.
        let (file, bytes) =
            unsafe { (&mut *file.cast::<InMemory>(), std::slice::from_raw_parts(bytes.cast::<u8>(), n as usize)) };
        let at = at as usize;
        file.content.resize(file.content.len().max(at + bytes.len()), 0);
        file.content[at..at + bytes.len()].copy_from_slice(bytes);
        file.calls += 1;
        ffi::SQLITE_OK
    }

    /// Whatever SQLite writes, the file has it after a flush; a frame behind the last one takes one call.
    #[test]
    fn what_is_written_is_in_the_file() {
        // SAFETY: a struct of numbers and optional pointers to functions, for which zeros are a value.
        let mut methods: ffi::sqlite3_io_methods = unsafe { std::mem::zeroed() };
        methods.xWrite = Some(write_in_memory);
        let mut file = InMemory { base: ffi::sqlite3_file { pMethods: std::ptr::null() }, content: vec![], calls: 0 };
        let (mut pending, mut expected) = (Pending::default(), Vec::<u8>::new());
        let frame = (HEADER + PAGE) as i64;
        let mut state = 7u64;
        for round in 0..400u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round);
            let number = (state >> 40) as i64 % 6;
            let writes: &[(usize, i64)] = match (state >> 60) % 4 {
                // a header and its page, a header alone, a page alone, both of two frames
                0 => &[(HEADER, 0), (PAGE, HEADER as i64)],
                1 => &[(HEADER, 0)],
                2 => &[(PAGE, HEADER as i64)],
                _ => &[(HEADER, 0), (PAGE, HEADER as i64), (HEADER, frame), (PAGE, frame + HEADER as i64)],
            };
            for &(length, place) in writes {
                let (bytes, at) = (vec![(state >> 32) as u8; length], 32 + number * frame + place);
                let end = at as usize + length;
                expected.resize(expected.len().max(end), 0);
                expected[at as usize..end].copy_from_slice(&bytes);
                // SAFETY: a file of this test, with these methods.
                let rc = unsafe { pending.write(&methods, (&raw mut file).cast(), &bytes, at) };
                assert_eq!(rc, ffi::SQLITE_OK);
            }
            if state & 3 == 0 {
                // SAFETY: as above.
                assert_eq!(unsafe { pending.flush(&methods, (&raw mut file).cast()) }, ffi::SQLITE_OK);
                assert_eq!(file.content, expected);
            }
        }
        let (_, calls) = (&file.base, file.calls);
        // SAFETY: as above.
        unsafe {
            let at = (32 + 100 * frame, 32 + 101 * frame);
            pending.flush(&methods, (&raw mut file).cast());
            let before = file.calls;
            assert!(before >= calls);
            pending.write(&methods, (&raw mut file).cast(), &[1; PAGE], at.0 - PAGE as i64);
            pending.write(&methods, (&raw mut file).cast(), &[2; HEADER], at.0);
            assert_eq!(file.calls, before + 1, "the header waits");
            pending.write(&methods, (&raw mut file).cast(), &[3; PAGE], at.0 + HEADER as i64);
            pending.write(&methods, (&raw mut file).cast(), &[4; HEADER], at.1);
            pending.write(&methods, (&raw mut file).cast(), &[5; PAGE], at.1 + HEADER as i64);
            assert_eq!(file.calls, before + 3, "a call for each frame");
        }
    }
}
