//! Rows that are encoded and wait to be fetched, and the contents of their large values.

use pgsqlite_memory::TemporaryFile;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Rows beyond this many bytes go to a temporary file.
const IN_MEMORY: u64 = 16 << 20;

/// Rows in tuple form, or large values, in order.
#[derive(Default)]
pub struct Rows {
    memory: Vec<u8>,
    /// what comes after `memory`
    file: Option<Overflow>,
    /// where each row ends
    ends: Vec<u64>,
}

/// The file of rows that memory has no place for.
struct Overflow {
    file: File,
    /// in bytes
    length: u64,
    /// counts for the session, which may be given a limit
    counted: TemporaryFile,
}

impl Overflow {
    fn new() -> io::Result<Overflow> {
        Ok(Overflow { file: tempfile::tempfile()?, length: 0, counted: TemporaryFile::new() })
    }

    fn push(&mut self, row: &[u8]) -> io::Result<()> {
        let length = self.length + row.len() as u64;
        if !self.counted.grow(length) {
            return Err(io::Error::other("temporary file size exceeds temp_file_limit"));
        }
        self.file.write_all_at(row, self.length)?;
        self.length = length;
        Ok(())
    }
}

impl Rows {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of all rows.
    pub fn size(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Errors: the disk's; the file would pass the session's `temp_file_limit`.
    pub fn push(&mut self, row: &[u8]) -> io::Result<()> {
        let end = self.size() + row.len() as u64;
        match &mut self.file {
            None if end <= IN_MEMORY => self.memory.extend_from_slice(row),
            None => self.file.insert(Overflow::new()?).push(row)?,
            Some(file) => file.push(row)?,
        }
        self.ends.push(end);
        Ok(())
    }

    /// The size of a row.
    pub fn size_of(&self, row: usize) -> Option<usize> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        Some((*self.ends.get(row)? - start) as usize)
    }

    /// A row's bytes, behind those of `out`.
    pub fn get(&self, row: usize, out: &mut Vec<u8>) -> io::Result<()> {
        self.get_part(row, 0, usize::MAX, out)
    }

    /// At most `length` of a row's bytes from `from`, behind those of `out`.
    pub fn get_part(&self, row: usize, from: usize, length: usize, out: &mut Vec<u8>) -> io::Result<()> {
        let Some(whole) = self.size_of(row) else { return Ok(()) };
        let begin = self.ends[row] - whole as u64;
        let from = from.min(whole);
        let (start, size) = (begin + from as u64, length.min(whole - from));
        let at = out.len();
        match &self.file {
            Some(overflow) if begin >= self.memory.len() as u64 => {
                out.resize(at + size, 0);
                overflow.file.read_exact_at(&mut out[at..], start - self.memory.len() as u64)
            }
            _ => {
                out.extend_from_slice(&self.memory[start as usize..start as usize + size]);
                Ok(())
            }
        }
    }

    pub fn clear(&mut self) {
        self.memory.clear();
        self.ends.clear();
        self.file = None;
    }

    /// Lets the first `count` rows go: those behind them move up.
    pub fn let_go(&mut self, count: usize) -> io::Result<()> {
        if count >= self.len() {
            self.clear();
            return Ok(());
        }
        let mut rest = Rows::default();
        let mut row = Vec::new();
        for i in count..self.len() {
            row.clear();
            self.get(i, &mut row)?;
            rest.push(&row)?;
        }
        *self = rest;
        Ok(())
    }
}

/// An open cursor.
pub struct Cursor {
    /// the engine's portal that has more rows
    pub portal: Option<String>,
    pub rows: Rows,
    /// the next row to give, counted in `rows`
    pub next: usize,
    /// rows that were given
    pub given: i64,
    /// its rows are kept
    pub scroll: bool,
    /// the row that a scroll cursor stands on, from 1; 0: before the first
    pub position: usize,
    /// of a FOR UPDATE cursor: which rows of their table `rows` are
    pub ids: Vec<Option<String>>,
    /// and the one that was given last
    pub row: Option<String>,
    /// contents of BYTE and TEXT values: a client may ask for those of all rows that it has fetched
    pub blobs: Rows,
    /// where the session keeps the contents of its BLOB and CLOB values
    pub objects: Option<u32>,
    /// files of the client that get the content of a value when their row is sent, by row: the value's number in `blobs`, the path
    pub files: BTreeMap<usize, Vec<(usize, String)>>,
    /// its rows have large values
    pub is_large: bool,
    /// bytes of those that have come since the last fetch began
    pub blob_bytes: usize,
    /// bytes of rows so far, to guess how many fit
    pub average: usize,
}

impl Cursor {
    pub fn new(portal: String, scroll: bool, average: usize) -> Cursor {
        Cursor {
            portal: Some(portal),
            rows: Rows::default(),
            next: 0,
            given: 0,
            scroll,
            position: 0,
            ids: vec![],
            row: None,
            blobs: Rows::default(),
            objects: None,
            files: BTreeMap::new(),
            is_large: false,
            blob_bytes: 0,
            average: average.max(1),
        }
    }

    /// Lets the rows go that the client has. While the engine still reads, those that wait are few: it is asked for what one answer takes.
    /// Once it has read all, nothing is added any more, and what is there stays.
    pub fn let_given_rows_go(&mut self) -> io::Result<()> {
        let given = self.next;
        if given == 0 || given < self.rows.len() && !self.is_live() {
            return Ok(());
        }
        self.rows.let_go(given)?;
        self.ids.drain(..given.min(self.ids.len()));
        self.files =
            std::mem::take(&mut self.files).into_iter().filter_map(|(i, f)| Some((i.checked_sub(given)?, f))).collect();
        self.next = 0;
        Ok(())
    }

    /// Whether the engine still reads for it.
    pub fn is_live(&self) -> bool {
        self.portal.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_from_memory_and_file() {
        let mut rows = Rows::default();
        let row = |i: usize| vec![i as u8; 1 << 20];
        for i in 0..20 {
            rows.push(&row(i)).unwrap();
        }
        assert!(rows.file.is_some());
        for i in [0, 15, 16, 19, 3] {
            let mut out = b"x".to_vec();
            rows.get(i, &mut out).unwrap();
            assert_eq!(out[1..], row(i), "{i}");
            let mut part = vec![];
            rows.get_part(i, (1 << 20) - 2, 5, &mut part).unwrap();
            assert_eq!(part, [i as u8; 2], "{i}");
        }
        assert_eq!(rows.size_of(20), None);
        rows.let_go(18).unwrap();
        assert!(rows.file.is_none());
        let mut out = vec![];
        rows.get(1, &mut out).unwrap();
        assert_eq!((rows.len(), out), (2, row(19)));
        rows.clear();
        rows.push(b"ab").unwrap();
        assert_eq!((rows.len(), rows.size_of(0)), (1, Some(2)));
    }

    #[test]
    fn rows_that_the_client_has_are_let_go_while_more_come() {
        let mut cursor = Cursor::new("p".into(), false, 4);
        for round in 0..100u8 {
            cursor.let_given_rows_go().unwrap();
            // one row waits from the answer before
            for i in 0..10 {
                cursor.rows.push(&[round, i]).unwrap();
                cursor.ids.push(Some(format!("{round} {i}")));
            }
            cursor.files.insert(cursor.rows.len() - 1, vec![(0, format!("{round}"))]);
            cursor.next = cursor.rows.len() - 1;
            assert!(cursor.rows.len() <= 11);
        }
        cursor.let_given_rows_go().unwrap();
        assert_eq!((cursor.rows.len(), cursor.next, &cursor.ids[..]), (1, 0, &[Some("99 9".to_string())][..]));
        assert_eq!(cursor.files, BTreeMap::from([(0, vec![(0, "99".to_string())])]));
        // what is all there stays where it is
        cursor.rows.push(b"x").unwrap();
        (cursor.portal, cursor.next) = (None, 1);
        cursor.let_given_rows_go().unwrap();
        assert_eq!((cursor.rows.len(), cursor.next), (2, 1));
    }
}
