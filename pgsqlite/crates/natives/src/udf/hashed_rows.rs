//! Joins by hashing: the aggregate `pg_hash(plan, value …)`, which makes a table of rows by the hash of some of their values, and what
//! `pg_hashed(number, key …)` reads from it (`vtab/hashed_rows.rs`). `pgsqlite_sql::lower::hash_join` writes the plans.
//!
//! A plan has a word for each key: how it compares, as in the plans of groups, and its value's place among the values (`b0 r3`). A row
//! with a NULL among its keys is left out: it equals nothing.
//!
//! The table finds the rows whose keys have a hash. The query compares the keys themselves.
//!
//! Rows may take `work_mem` × `hash_mem_multiplier`. Those for which there is no room go to a temporary file; 22 bytes for each of them,
//! by which it is found, stay in memory.

use super::hash_keys::{append_key, room, How};
use super::session_cell::SessionCell;
use super::shim::{Call, NewState, State};
use foldhash::fast::RandomState;
use pgsqlite_memory::TemporaryFile;
use pgsqlite_sql::lower::support;
use pgsqlite_types::{work, Datum, DatumRef, PgError, Result};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fs::File;
use std::hash::BuildHasher;
use std::os::unix::fs::FileExt;

/// Rows are kept in pieces of so many bytes: none of them is ever copied to grow.
const PIECE: usize = 256 << 10;
/// In a row's place: it is in the file.
const IN_FILE: u64 = 1 << 63;
/// No row.
const NONE: u32 = u32::MAX;

/// How a row is found.
struct Entry {
    hash: u32,
    /// the next row with the same place among the heads
    next: u32,
    /// the piece and the place in it, or the place in the file
    at: u64,
}

/// The rows beyond `work_mem`.
struct Spilled {
    file: File,
    counted: TemporaryFile,
    /// what is not written yet, and where it will begin
    waiting: Vec<u8>,
    written: u64,
}

impl Spilled {
    fn new() -> Result<Spilled> {
        let file = super::groups::nameless("pgsqlite-join")?;
        Ok(Spilled { file, counted: TemporaryFile::new(), waiting: Vec::new(), written: 0 })
    }

    fn push(&mut self, row: &[u8]) -> Result<u64> {
        let at = self.written + self.waiting.len() as u64;
        if !self.counted.grow(at + row.len() as u64) {
            let refused = pgsqlite_storage::error::temporary_files_full();
            return Err(refused.unwrap_or_else(|| PgError::internal("a temporary file was refused")));
        }
        self.waiting.extend_from_slice(row);
        if self.waiting.len() >= PIECE {
            self.flush()?;
        }
        Ok(at)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_all_at(&self.waiting, self.written).map_err(super::groups::failed)?;
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Reads the row at a place.
    fn read(&self, at: u64, out: &mut Vec<u8>) -> Result<()> {
        let mut length = [0; 4];
        self.file.read_exact_at(&mut length, at).map_err(super::groups::failed)?;
        let length = u32::from_le_bytes(length) as usize;
        work::room(length)?;
        out.resize(length, 0);
        self.file.read_exact_at(out, at).map_err(super::groups::failed)
    }
}

/// A table of rows.
pub struct HashedRows {
    keys: Vec<(How, usize)>,
    hashes: RandomState,
    /// values of a row
    width: usize,
    room: usize,
    entries: Vec<Entry>,
    /// by the last bits of a hash: the first row; made when all rows are there
    heads: Vec<u32>,
    pieces: Vec<Vec<u8>>,
    /// bytes of the rows in memory
    bytes: usize,
    spilled: Option<Spilled>,
    key: Vec<u8>,
    /// the row at hand, where it goes to the file
    row: Vec<u8>,
}

fn malformed(plan: &str) -> PgError {
    PgError::internal(format!("a malformed plan of a join: {plan}"))
}

/// What a value is in a row: the byte that stands for its kind.
const NULL: u8 = 0;
const INT: u8 = 1;
const REAL: u8 = 2;
const TEXT: u8 = 3;
const BLOB: u8 = 4;

/// Appends a row: its length, the kinds of its values, eight bytes for each of them, and the texts and blobs, whose places and lengths
/// are among the eight bytes.
fn append_row(call: &Call, width: usize, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let slots = start + 4 + width;
    out.resize(slots + 8 * width, 0);
    // bounded: the columns of a query
    for i in 0..width {
        let mut bytes_of = |kind: u8, bytes: &[u8]| {
            let at = (out.len() - start) as u64;
            out.extend_from_slice(bytes);
            (kind, at | (bytes.len() as u64) << 32)
        };
        let (kind, slot) = match call.datum(i + 1) {
            DatumRef::Null => (NULL, 0),
            DatumRef::Int(v) => (INT, v as u64),
            DatumRef::Real(v) => (REAL, v.to_bits()),
            DatumRef::Text(t) => bytes_of(TEXT, t.as_bytes()),
            DatumRef::Blob(b) => bytes_of(BLOB, b),
        };
        out[start + 4 + i] = kind;
        out[slots + 8 * i..slots + 8 * i + 8].copy_from_slice(&slot.to_le_bytes());
    }
    let length = u32::try_from(out.len() - start).map_err(|_| PgError::not_supported("a row of 4 GB in a join"))?;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// The value with this number in a row.
fn value_in(row: &[u8], width: usize, i: usize) -> Option<DatumRef<'_>> {
    let slot = row.get(4 + width + 8 * i..)?.first_chunk::<8>()?;
    let slot = u64::from_le_bytes(*slot);
    let bytes = || {
        let at = (slot & 0xffff_ffff) as usize;
        row.get(at..at + (slot >> 32) as usize)
    };
    Some(match *row.get(4 + i)? {
        INT => DatumRef::Int(slot as i64),
        REAL => DatumRef::Real(f64::from_bits(slot)),
        // SAFETY: `append_row` has copied it from a `str`.
        TEXT => DatumRef::Text(unsafe { std::str::from_utf8_unchecked(bytes()?) }),
        BLOB => DatumRef::Blob(bytes()?),
        _ => DatumRef::Null,
    })
}

/// Where a reader stands.
pub struct Place {
    entry: u32,
    hash: u32,
    /// a row that was read from the file
    row: Vec<u8>,
}

impl Default for Place {
    fn default() -> Self {
        Place { entry: NONE, hash: 0, row: Vec::new() }
    }
}

impl Place {
    /// Whether there is no row at hand.
    pub fn is_end(&self) -> bool {
        self.entry == NONE
    }

    /// Leaves the rows.
    pub fn end(&mut self) {
        self.entry = NONE;
    }
}

impl HashedRows {
    fn new(plan: &str, width: usize, session: &SessionCell) -> Result<HashedRows> {
        let key = |word: &str| {
            let how = How::of_letter(word.as_bytes().first())?;
            let place = word.get(1..)?.parse().ok().filter(|place| *place < width)?;
            Some((how, place))
        };
        let keys: Vec<_> = plan.split(' ').map(key).collect::<Option<_>>().ok_or_else(|| malformed(plan))?;
        Ok(HashedRows {
            keys,
            hashes: RandomState::default(),
            width,
            room: room(session),
            entries: Vec::new(),
            heads: Vec::new(),
            pieces: Vec::new(),
            bytes: 0,
            spilled: None,
            key: Vec::new(),
            row: Vec::new(),
        })
    }

    /// The hash of keys. None: one of them is NULL.
    fn hash<'v>(&mut self, value: impl Fn(usize) -> DatumRef<'v>) -> Option<u32> {
        if let ([(How::Bytes, _)], DatumRef::Int(v)) = (&self.keys[..], value(0)) {
            return Some(self.hashes.hash_one(v) as u32);
        }
        self.key.clear();
        // bounded: the columns of a query
        for (i, (how, _)) in self.keys.iter().enumerate() {
            match value(i) {
                DatumRef::Null => return None,
                // (an integer and a real number may be equal)
                DatumRef::Real(r) if self.keys.len() == 1 && r as i64 as f64 == r && *how == How::Bytes => {
                    return Some(self.hashes.hash_one(r as i64) as u32)
                }
                value => append_key(*how, value, &mut self.key),
            }
        }
        Some(self.hashes.hash_one(&self.key[..]) as u32)
    }

    fn take(&mut self, call: &Call) -> Result<()> {
        let places: &[(How, usize)] = &self.keys;
        let at: [usize; support::MOST_HASH_KEYS] =
            std::array::from_fn(|i| places.get(i).map_or(0, |(_, place)| place + 1));
        let Some(hash) = self.hash(|i| call.datum(at[i])) else { return Ok(()) };
        if self.entries.len() as u64 >= u64::from(NONE) {
            return Err(PgError::not_supported("a join of so many rows by hashing"));
        }
        let full = self.bytes + self.entries.len() * 22 > self.room;
        let at = if full {
            self.row.clear();
            append_row(call, self.width, &mut self.row)?;
            let spilled = match &mut self.spilled {
                Some(spilled) => spilled,
                None => self.spilled.insert(Spilled::new()?),
            };
            spilled.push(&self.row)? | IN_FILE
        } else {
            if self.pieces.last().is_none_or(|piece| piece.len() >= PIECE) {
                work::room(PIECE)?;
                self.pieces.push(Vec::with_capacity(PIECE + (4 << 10)));
            }
            let number = self.pieces.len() - 1;
            let piece = &mut self.pieces[number];
            let start = piece.len();
            append_row(call, self.width, piece)?;
            self.bytes += piece.len() - start;
            (number as u64) << 32 | start as u64
        };
        if self.entries.len() == self.entries.capacity() {
            work::room(self.entries.len() * 2 * std::mem::size_of::<Entry>())?;
        }
        self.entries.push(Entry { hash, next: NONE, at });
        Ok(())
    }

    /// All rows are there.
    fn finish(&mut self) -> Result<()> {
        if let Some(spilled) = &mut self.spilled {
            spilled.flush()?;
        }
        let places = self.entries.len().next_power_of_two();
        work::room(4 * places)?;
        self.heads = vec![NONE; places];
        // (rows with the same hash are read in the order in which they came)
        for (i, entry) in self.entries.iter_mut().enumerate().rev() {
            work::pulse(1);
            let head = &mut self.heads[entry.hash as usize & (places - 1)];
            entry.next = *head;
            *head = i as u32;
        }
        Ok(())
    }

    /// Goes to the first row whose keys may be these.
    pub fn find<'v>(&mut self, keys: usize, value: impl Fn(usize) -> DatumRef<'v>, place: &mut Place) -> Result<()> {
        if keys != self.keys.len() {
            return Err(PgError::internal("a join by other keys"));
        }
        match self.hash(value) {
            Some(hash) => {
                place.hash = hash;
                self.go_to(self.heads[hash as usize & (self.heads.len() - 1)], place)
            }
            None => {
                place.end();
                Ok(())
            }
        }
    }

    /// Goes to the next row.
    pub fn next(&self, place: &mut Place) -> Result<()> {
        match self.entries.get(place.entry as usize) {
            Some(entry) => self.go_to(entry.next, place),
            None => Ok(()),
        }
    }

    fn go_to(&self, mut at: u32, place: &mut Place) -> Result<()> {
        while let Some(entry) = self.entries.get(at as usize) {
            work::pulse(1);
            if entry.hash == place.hash {
                if let (true, Some(spilled)) = (entry.at & IN_FILE != 0, &self.spilled) {
                    spilled.read(entry.at & !IN_FILE, &mut place.row)?;
                }
                break;
            }
            at = entry.next;
        }
        place.entry = at;
        Ok(())
    }

    /// A value of the row at hand.
    pub fn value<'r>(&'r self, place: &'r Place, i: usize) -> DatumRef<'r> {
        let Some(entry) = self.entries.get(place.entry as usize) else { return DatumRef::Null };
        let row = if entry.at & IN_FILE != 0 {
            Some(&place.row[..])
        } else {
            self.pieces.get((entry.at >> 32) as usize).and_then(|piece| piece.get((entry.at & 0xffff_ffff) as usize..))
        };
        row.filter(|_| i < self.width).and_then(|row| value_in(row, self.width, i)).unwrap_or(DatumRef::Null)
    }
}

/// The tables that were made and not read yet.
#[derive(Default)]
pub struct Made {
    waiting: RefCell<VecDeque<(i64, Box<HashedRows>)>>,
    last: Cell<i64>,
}

/// A table is read as soon as it is made. What an error has left behind gives way to the next ones.
const WAITING: usize = 8;

impl Made {
    fn put(&self, rows: HashedRows) -> i64 {
        self.last.set(self.last.get() + 1);
        let mut waiting = self.waiting.borrow_mut();
        if waiting.len() == WAITING {
            waiting.pop_front();
        }
        waiting.push_back((self.last.get(), Box::new(rows)));
        self.last.get()
    }

    /// The table with this number, which nobody has taken yet.
    pub fn take(&self, number: i64) -> Option<Box<HashedRows>> {
        let mut waiting = self.waiting.borrow_mut();
        let at = waiting.iter().position(|(n, _)| *n == number)?;
        waiting.remove(at).map(|(_, rows)| rows)
    }
}

/// The state of `pg_hash`. Its value is the number of the table, 0 where there was no row.
#[derive(Default)]
struct Hashing(Option<HashedRows>);

impl State for Hashing {
    fn step(&mut self, call: &Call) -> Result<()> {
        let rows = match &mut self.0 {
            Some(rows) => rows,
            None => self.0.insert(HashedRows::new(call.text(0)?, call.len() - 1, call.session)?),
        };
        rows.take(call)
    }
    fn value(&mut self, session: &SessionCell) -> Result<Datum> {
        Ok(Datum::Int(match self.0.take() {
            Some(mut rows) => {
                rows.finish()?;
                session.hashed_rows.put(rows)
            }
            None => 0,
        }))
    }
}

/// The aggregate that keeps a table of rows.
pub const AGGREGATES: &[(&str, NewState)] = &[(support::HASH, || Box::<Hashing>::default())];
