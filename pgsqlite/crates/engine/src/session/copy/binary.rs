//! The binary format of COPY: a header, rows of counted fields, a trailer (manual, "COPY", "Binary Format").

use pgsqlite_types::{PgError, Result, SqlState};
use std::ops::Range;

/// The eleven bytes every file begins with.
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";
/// Flag of the old format with OIDs, and the bits a reader must know.
const WITH_OIDS: u32 = 1 << 16;
const CRITICAL: u32 = 0xffff_0000;

/// Appends the header: the signature, no flags, no extension.
pub(in crate::session) fn put_header(out: &mut Vec<u8>) {
    out.extend_from_slice(SIGNATURE);
    out.extend_from_slice(&[0; 8]);
}

/// Appends the trailer.
pub(in crate::session) fn put_trailer(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-1i16).to_be_bytes());
}

/// What [`Rows::next`] found.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::session) enum Next {
    /// a row: its fields are in [`Rows::field`]
    Row,
    /// more bytes are needed
    More,
    End,
}

fn bad(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::BAD_COPY_FILE_FORMAT, message)
}

/// The client's bytes as rows.
#[derive(Default)]
pub(in crate::session) struct Rows {
    buffer: Vec<u8>,
    /// where the first byte not yet used is
    start: usize,
    header_read: bool,
    trailer_read: bool,
    fields: Vec<Option<Range<usize>>>,
    in_fields: bool,
    /// the row found last, from 1
    pub number: u64,
}

impl Rows {
    pub fn push(&mut self, data: &[u8]) {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.buffer.extend_from_slice(data);
    }

    /// Bytes that wait to be read.
    pub fn waiting(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// A field of the row found last; None: NULL.
    pub fn field(&self, i: usize) -> Option<&[u8]> {
        self.fields.get(i)?.clone().map(|r| &self.buffer[r])
    }

    /// After an error: the field that was being read.
    pub fn broken_field(&self) -> Option<usize> {
        self.in_fields.then_some(self.fields.len())
    }

    fn word(&self, at: usize) -> Option<i32> {
        Some(i32::from_be_bytes(self.buffer.get(at..at + 4)?.try_into().ok()?))
    }

    /// The header, if it is there as a whole. Errors: 22P04.
    fn header(&mut self, last: bool) -> Result<bool> {
        let have = &self.buffer[self.start..];
        let compared = have.len().min(SIGNATURE.len());
        if have[..compared] != SIGNATURE[..compared] || last && compared < SIGNATURE.len() {
            return Err(bad("COPY file signature not recognized"));
        }
        let at = self.start + SIGNATURE.len();
        let Some(flags) = self.word(at) else {
            return if last { Err(bad("invalid COPY file header (missing flags)")) } else { Ok(false) };
        };
        if flags as u32 & WITH_OIDS != 0 {
            return Err(bad("invalid COPY file header (WITH OIDS)"));
        }
        if flags as u32 & CRITICAL != 0 {
            return Err(bad("unrecognized critical flags in COPY file header"));
        }
        let Some(length) = self.word(at + 4) else {
            return if last { Err(bad("invalid COPY file header (missing length)")) } else { Ok(false) };
        };
        let wrong = || bad("invalid COPY file header (wrong length)");
        let end = at + 8 + usize::try_from(length).map_err(|_| wrong())?;
        if self.buffer.len() < end {
            return if last { Err(wrong()) } else { Ok(false) };
        }
        self.start = end;
        self.header_read = true;
        Ok(true)
    }

    /// The next row, which must have `columns` fields. `last`: no more bytes will come. Errors: 22P04.
    pub fn next(&mut self, columns: usize, last: bool) -> Result<Next> {
        if !self.header_read && !self.header(last)? {
            return Ok(Next::More);
        }
        self.in_fields = false;
        if self.trailer_read {
            if self.waiting() > 0 {
                self.number += 1;
                return Err(bad("received copy data after EOF marker"));
            }
            return Ok(Next::End);
        }
        let short = |rows: &mut Rows| -> Result<Next> {
            if !last {
                return Ok(Next::More);
            }
            rows.number += 1;
            Err(bad("unexpected EOF in COPY data"))
        };
        let Some(count) = self.buffer.get(self.start..self.start + 2) else {
            // the trailer may be missing
            return Ok(if last { Next::End } else { Next::More });
        };
        let count = i16::from_be_bytes([count[0], count[1]]);
        if count == -1 {
            self.start += 2;
            self.trailer_read = true;
            return self.next(columns, last);
        }
        if count as i64 != columns as i64 {
            self.number += 1;
            return Err(bad(format!("row field count is {count}, expected {columns}")));
        }
        self.fields.clear();
        self.in_fields = true;
        let mut at = self.start + 2;
        for _ in 0..columns {
            let Some(length) = self.word(at) else { return short(self) };
            at += 4;
            if length == -1 {
                self.fields.push(None);
                continue;
            }
            let Ok(length) = usize::try_from(length) else {
                self.number += 1;
                return Err(bad("invalid field size"));
            };
            if self.buffer.len() - at < length {
                return short(self);
            }
            self.fields.push(Some(at..at + length));
            at += length;
        }
        self.in_fields = false;
        self.start = at;
        self.number += 1;
        Ok(Next::Row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let mut out = Vec::new();
        put_header(&mut out);
        for row in [&[Some(&b"ab"[..]), None], &[Some(&b""[..]), Some(&b"xyz"[..])]] {
            out.extend_from_slice(&2i16.to_be_bytes());
            for field in row {
                match field {
                    None => out.extend_from_slice(&(-1i32).to_be_bytes()),
                    Some(bytes) => {
                        out.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
                        out.extend_from_slice(bytes);
                    }
                }
            }
        }
        put_trailer(&mut out);
        out
    }

    #[test]
    fn rows_come_whole_however_the_bytes_are_cut() {
        let file = file();
        for size in 1..=file.len() {
            let mut rows = Rows::default();
            let mut got = Vec::new();
            for piece in file.chunks(size) {
                rows.push(piece);
                while rows.next(2, false).unwrap() == Next::Row {
                    got.push((rows.field(0).map(<[u8]>::to_vec), rows.field(1).map(<[u8]>::to_vec)));
                }
            }
            assert_eq!(rows.next(2, true).unwrap(), Next::End);
            assert_eq!(got, [(Some(b"ab".to_vec()), None), (Some(vec![]), Some(b"xyz".to_vec()))]);
        }
    }

    #[test]
    fn malformed_files_are_refused() {
        let read = |bytes: &[u8], columns: usize| {
            let mut rows = Rows::default();
            rows.push(bytes);
            loop {
                match rows.next(columns, true) {
                    Ok(Next::Row) => {}
                    Ok(_) => return "ok".to_string(),
                    Err(e) => return e.message().to_string(),
                }
            }
        };
        let good = file();
        assert_eq!(read(&good, 2), "ok");
        assert_eq!(read(&good[..good.len() - 2], 2), "ok");
        assert_eq!(read(b"1\tx\n", 2), "COPY file signature not recognized");
        assert_eq!(read(&good[..13], 2), "invalid COPY file header (missing flags)");
        assert_eq!(read(&good, 3), "row field count is 2, expected 3");
        assert_eq!(read(&good[..good.len() - 4], 2), "unexpected EOF in COPY data");
        assert_eq!(read(&[&good[..], b"x"].concat(), 2), "received copy data after EOF marker");
        let mut flags = good.clone();
        flags[12] = 1;
        assert_eq!(read(&flags, 2), "invalid COPY file header (WITH OIDS)");
    }
}
