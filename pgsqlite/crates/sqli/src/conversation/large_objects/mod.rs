//! BLOB and CLOB as clients hold them: locators and open objects. The calls that read and write them are in [`routines`].
//!
//! A column stores the content itself (bytea, text), so that PostgreSQL's clients see it. A client gets a locator of it, which is good
//! for this session only: for objects that it makes (`ifx_lo_create`) and then binds, and for those that it has fetched. Contents
//! of fetched objects are kept with their cursor, and for a while after that is closed; a locator whose content is gone is refused.
//! Of what is written into a fetched object the row gets it at once, if the row could say which one of its table it is ([`Origin`]).

mod fast_path;

use super::cursor::Rows;
use crate::errors::Failure;
use crate::values::types::LOCATOR;
use pgsqlite_types::Oid;
use std::collections::{BTreeMap, VecDeque};

/// Bytes of objects that no cursor and no open descriptor needs any more: they are kept for clients that come back to them.
const KEPT: u64 = 64 << 20;
/// Bytes of objects that were made and are not bound yet.
const UNBOUND: u64 = 256 << 20;
const MOST_OPEN: usize = 4096;

/// Flags of `ifx_lo_open` and `ifx_lo_create`.
const APPEND: i64 = 1;
const WRITE_ONLY: i64 = 2;
const READ_WRITE: i64 = 8;

/// What a locator stands for: an object that the client made (group 0), or the n-th of those that a cursor has given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    group: u32,
    number: u32,
}

/// An object that the client makes.
#[derive(Default)]
struct Made {
    content: Vec<u8>,
    /// a statement has stored it
    bound: bool,
}

#[derive(Debug)]
struct Descriptor {
    key: Key,
    place: u64,
    writable: bool,
    append: bool,
}

/// Where a fetched object is stored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Origin {
    pub table: Oid,
    pub attnum: i16,
    /// the row's number
    pub row: String,
    /// its columns that are not large, as a text
    pub values: String,
}

/// A session's objects.
#[derive(Default)]
pub(super) struct LargeObjects {
    /// tells this session's locators from those of others
    mark: u64,
    made: BTreeMap<u32, Made>,
    last_made: u32,
    /// contents by cursor
    fetched: BTreeMap<u32, Rows>,
    /// where those of each cursor are stored
    origins: BTreeMap<u32, Vec<Option<Origin>>>,
    /// what this session has written into stored ones; None: a transaction that has was undone
    written: BTreeMap<Origin, Option<Vec<u8>>>,
    last_group: u32,
    open: BTreeMap<i32, Descriptor>,
    /// what may be forgotten, the oldest first: groups of closed cursors, and made objects (group 0) that are bound
    retired: VecDeque<(u32, u32)>,
}

fn gone() -> Failure {
    Failure::text("the large object of this locator is not known to this session any more")
}

fn not_open(descriptor: i64) -> Failure {
    Failure::new(-9810, 0, descriptor.to_string())
}

impl LargeObjects {
    pub fn new(mark: u64) -> LargeObjects {
        LargeObjects { mark, ..LargeObjects::default() }
    }

    /// A place for the objects of a cursor.
    pub fn new_group(&mut self) -> u32 {
        self.last_group += 1;
        self.fetched.insert(self.last_group, Rows::default());
        self.last_group
    }

    /// Keeps the content of a fetched object; its locator.
    pub fn push(&mut self, group: u32, content: &[u8], origin: Option<Origin>) -> Result<[u8; LOCATOR], Failure> {
        let rows = self.fetched.get_mut(&group).ok_or_else(|| Failure::internal("objects of no cursor"))?;
        let number = u32::try_from(rows.len()).map_err(|_| Failure::text("too many large objects"))?;
        rows.push(content).map_err(|e| Failure::text(format!("large objects cannot be kept: {e}")))?;
        if let Some(written) = origin.as_ref().and_then(|o| self.written.get_mut(o)) {
            *written = Some(content.to_vec());
        }
        self.origins.entry(group).or_default().push(origin);
        Ok(self.locator(Key { group, number }))
    }

    /// A transaction is undone: what stored objects hold now must be fetched again.
    pub fn undo(&mut self) {
        self.written.values_mut().for_each(|w| *w = None);
    }

    /// Where a fetched object is stored, if that is known.
    fn origin(&self, key: Key) -> Option<&Origin> {
        self.origins.get(&key.group)?.get(key.number as usize)?.as_ref()
    }

    /// What was written into a stored object. Errors: that was undone.
    fn written(&self, key: Key) -> Result<Option<&Vec<u8>>, Failure> {
        match self.origin(key).and_then(|o| self.written.get(o)) {
            Some(None) => Err(gone()),
            Some(Some(content)) => Ok(Some(content)),
            None => Ok(None),
        }
    }

    /// Remembers what a stored object holds now, and forgets others if that is too much.
    fn remember(&mut self, origin: Origin, content: Vec<u8>) {
        let all: usize = self.written.values().flatten().map(Vec::len).sum();
        if (all + content.len()) as u64 > UNBOUND {
            self.undo();
        }
        self.written.insert(origin, Some(content));
    }

    /// A cursor is closed: its objects stay only while there is room.
    pub fn retire(&mut self, group: u32) {
        self.retired.push_back((group, 0));
        self.forget();
    }

    fn forget(&mut self) {
        let size = |objects: &Self, (group, number): &(u32, u32)| match group {
            0 => objects.made.get(number).map_or(0, |m| m.content.len() as u64),
            group => objects.fetched.get(group).map_or(0, Rows::size),
        };
        let mut kept: u64 = self.retired.iter().map(|r| size(self, r)).sum();
        while kept > KEPT || self.retired.len() > MOST_OPEN {
            let Some(oldest) = self.retired.pop_front() else { return };
            kept -= size(self, &oldest);
            match oldest {
                (0, number) => drop(self.made.remove(&number)),
                (group, _) => {
                    self.fetched.remove(&group);
                    self.origins.remove(&group);
                    let origins = &self.origins;
                    self.written.retain(|origin, _| origins.values().flatten().any(|o| o.as_ref() == Some(origin)));
                }
            }
        }
    }

    fn locator(&self, key: Key) -> [u8; LOCATOR] {
        let mut out = [0; LOCATOR];
        out[..8].copy_from_slice(&self.mark.to_be_bytes());
        out[8..12].copy_from_slice(&key.group.to_be_bytes());
        out[12..16].copy_from_slice(&key.number.to_be_bytes());
        out
    }

    fn key(&self, locator: &[u8]) -> Result<Key, Failure> {
        let short = |at: usize| <[u8; 4]>::try_from(locator.get(at..at + 4)?).ok().map(u32::from_be_bytes);
        match (locator.len(), locator.starts_with(&self.mark.to_be_bytes()), short(8), short(12)) {
            (LOCATOR, true, Some(group), Some(number)) => Ok(Key { group, number }),
            _ => Err(gone()),
        }
    }

    fn size(&self, key: Key) -> Result<u64, Failure> {
        if let Some(content) = self.written(key)? {
            return Ok(content.len() as u64);
        }
        match key.group {
            0 => self.made.get(&key.number).map(|m| m.content.len() as u64),
            group => self.fetched.get(&group).and_then(|r| r.size_of(key.number as usize)).map(|n| n as u64),
        }
        .ok_or_else(gone)
    }

    /// Bytes from `start`, at most `length`.
    fn read(&self, key: Key, start: u64, length: usize) -> Result<Vec<u8>, Failure> {
        let start = start.min(self.size(key)?);
        let length = length.min((self.size(key)? - start) as usize);
        if let Some(content) = self.written(key)? {
            return Ok(content[start as usize..start as usize + length].to_vec());
        }
        match (key.group, self.fetched.get(&key.group)) {
            (0, _) => {
                let made = self.made.get(&key.number).ok_or_else(gone)?;
                Ok(made.content[start as usize..start as usize + length].to_vec())
            }
            (_, Some(rows)) => {
                let mut out = Vec::new();
                let read = rows.get_part(key.number as usize, start as usize, length, &mut out);
                read.map_err(|e| Failure::text(format!("large objects cannot be read: {e}")))?;
                Ok(out)
            }
            _ => Err(gone()),
        }
    }

    /// The whole content of a locator that a statement stores.
    pub fn bound(&mut self, locator: &[u8]) -> Result<Vec<u8>, Failure> {
        let key = self.key(locator)?;
        let content = self.read(key, 0, usize::MAX)?;
        if key.group == 0 {
            if let Some(made) = self.made.get_mut(&key.number).filter(|m| !m.bound) {
                made.bound = true;
                self.retired.push_back((0, key.number));
                self.forget();
            }
        }
        Ok(content)
    }

    fn open(&mut self, key: Key, flags: i64) -> Result<i32, Failure> {
        self.size(key)?;
        if self.open.len() >= MOST_OPEN {
            // IBM's driver does not close what it reads as a stream: what belongs to closed cursors gives way
            let closed = |d: &Descriptor| d.key.group != 0 && self.retired.contains(&(d.key.group, 0));
            let stale = self.open.iter().find(|(_, d)| closed(d) || self.size(d.key).is_err()).map(|(n, _)| *n);
            stale.map(|n| self.open.remove(&n));
        }
        // descriptors are shorts in LODATA
        let number = (1..=i16::MAX as i32).find(|n| !self.open.contains_key(n));
        let number = number.filter(|_| self.open.len() < MOST_OPEN);
        let number = number.ok_or_else(|| Failure::text("too many large objects are open"))?;
        let append = flags & APPEND != 0;
        let writable = flags & (WRITE_ONLY | READ_WRITE) != 0 || append;
        self.open.insert(number, Descriptor { key, place: 0, writable, append });
        Ok(number)
    }

    fn descriptor(&mut self, number: i64) -> Result<&mut Descriptor, Failure> {
        let found = i32::try_from(number).ok().and_then(|n| self.open.get_mut(&n));
        found.ok_or_else(|| not_open(number))
    }

    /// What an object that is open for writing holds. Errors: it is one that a row holds.
    fn writable(&mut self, number: i64) -> Result<(&mut Descriptor, &mut Vec<u8>), Failure> {
        let found = i32::try_from(number).ok().and_then(|n| self.open.get_mut(&n));
        let descriptor = found.ok_or_else(|| not_open(number))?;
        if !descriptor.writable {
            return Err(Failure::text("the large object is open for reading only"));
        }
        if descriptor.key.group != 0 {
            return Err(Failure::refused("changing a large object that a row holds (bind another one instead)"));
        }
        let made = self.made.get_mut(&descriptor.key.number).ok_or_else(gone)?;
        if made.bound {
            return Err(Failure::refused("changing a large object that a row holds (bind another one instead)"));
        }
        Ok((descriptor, &mut made.content))
    }

    /// Refuses what would keep too much.
    fn check_room(&self, more: u64) -> Result<(), Failure> {
        let unbound: u64 = self.made.values().filter(|m| !m.bound).map(|m| m.content.len() as u64).sum();
        match unbound.saturating_add(more) > UNBOUND {
            true => Err(Failure::text("too many bytes of large objects wait to be stored")),
            false => Ok(()),
        }
    }

    /// Writes where the descriptor stands. What lies between the end and that place becomes zeros.
    fn write(&mut self, number: i64, bytes: &[u8]) -> Result<(), Failure> {
        let (descriptor, content) = self.writable(number)?;
        if descriptor.append {
            descriptor.place = content.len() as u64;
        }
        let end = descriptor.place.saturating_add(bytes.len() as u64);
        let more = end.saturating_sub(content.len() as u64);
        self.check_room(more)?;
        let (descriptor, content) = self.writable(number)?;
        let start = descriptor.place as usize;
        descriptor.place = end;
        if content.len() < end as usize {
            content.resize(end as usize, 0);
        }
        content[start..end as usize].copy_from_slice(bytes);
        Ok(())
    }

    /// Moves a descriptor; where it stands then.
    fn seek(&mut self, number: i64, offset: i64, whence: i64) -> Result<u64, Failure> {
        let key = self.descriptor(number)?.key;
        let size = self.size(key)?;
        let descriptor = self.descriptor(number)?;
        let from = match whence {
            0 => 0,
            1 => descriptor.place,
            2 => size,
            other => return Err(Failure::text(format!("{other} is no place to seek from"))),
        };
        let place = from.checked_add_signed(offset).filter(|p| *p <= i64::MAX as u64);
        descriptor.place = place.ok_or_else(|| Failure::text("a place outside of a large object"))?;
        Ok(descriptor.place)
    }

    fn truncate(&mut self, number: i64, size: i64) -> Result<(), Failure> {
        let size = u64::try_from(size).map_err(|_| Failure::text("a size below zero"))?;
        let (_, content) = self.writable(number)?;
        let more = size.saturating_sub(content.len() as u64);
        self.check_room(more)?;
        self.writable(number)?.1.resize(size as usize, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_made_written_and_read() {
        let mut objects = LargeObjects::new(7);
        let key = Key { group: 0, number: 1 };
        objects.made.insert(1, Made::default());
        let fd = i64::from(objects.open(key, READ_WRITE).unwrap());
        objects.write(fd, b"abc").unwrap();
        objects.seek(fd, 5, 0).unwrap();
        objects.write(fd, b"x").unwrap();
        assert_eq!(objects.read(key, 0, 100).unwrap(), b"abc\0\0x");
        assert_eq!(objects.read(key, 4, 1).unwrap(), b"\0");
        assert_eq!(objects.read(key, 9, 1).unwrap(), b"");
        objects.truncate(fd, 2).unwrap();
        assert_eq!(objects.seek(fd, -1, 2).unwrap(), 1);
        assert!(objects.seek(fd, -3, 2).is_err() && objects.seek(fd, 0, 3).is_err());
        let locator = objects.locator(key);
        assert_eq!(objects.bound(&locator).unwrap(), b"ab");
        // a row holds it now
        assert_eq!(objects.write(fd, b"y").unwrap_err().sqlcode, -746);
        assert!(LargeObjects::new(8).bound(&locator).is_err());
        assert!(objects.bound(&locator[1..]).is_err());
        assert!(objects.descriptor(99).is_err());
    }

    #[test]
    fn fetched_objects_are_kept_while_there_is_room() {
        let mut objects = LargeObjects::new(7);
        let content = vec![1; KEPT as usize / 2];
        let locators: Vec<_> = (0..3)
            .map(|_| {
                let group = objects.new_group();
                let locator = objects.push(group, &content, None).unwrap();
                objects.retire(group);
                locator
            })
            .collect();
        assert!(objects.bound(&locators[0]).is_err());
        assert_eq!(objects.bound(&locators[2]).unwrap().len(), content.len());
        let fd = {
            let key = objects.key(&locators[2]).unwrap();
            i64::from(objects.open(key, READ_WRITE).unwrap())
        };
        assert!(objects.write(fd, b"x").is_err());
    }

    #[test]
    fn descriptors_of_closed_cursors_give_way() {
        let mut objects = LargeObjects::new(7);
        let group = objects.new_group();
        let locator = objects.push(group, b"x", None).unwrap();
        let key = objects.key(&locator).unwrap();
        for n in 1..=MOST_OPEN as i32 {
            assert_eq!(objects.open(key, 4).unwrap(), n);
        }
        assert!(objects.open(key, 4).is_err());
        objects.retire(group);
        assert_eq!(objects.open(key, 4).unwrap(), 1);
    }
}
