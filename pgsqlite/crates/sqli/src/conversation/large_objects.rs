//! BLOB and CLOB as clients hold them: locators, open objects, and the routines and messages that read and write them.
//!
//! A column stores the content itself (bytea, text), so that PostgreSQL's clients see it. A client gets a locator of it, which is good
//! for this session only: for objects that it makes (`ifx_lo_create`) and then binds, and for those that it has fetched. Contents
//! of fetched objects are kept with their cursor, and for a while after that is closed; a locator whose content is gone is refused.
//!
//! The routines are called by the fast path: GETROUTINE gives a signature a number, EXFPROUTINE calls it. What stands in an open
//! object is read and written with LODATA. CLOBs are bytes of the client's code set here, and become text when they are bound.
//!
//! What is written into a fetched object changes the row's column at once ([`Conversation::edit_stored`]), if the row could say which one of
//! its table it is ([`Origin`]), is still the same, and holds what this session has read or written last.

use super::cursor::Rows;
use super::statement::hexadecimal;
use super::transaction::Discard;
use super::{Conversation, Step, Wrong};
use crate::client::End;
use crate::dialect::print::ident;
use crate::dialect::query_print::row_values;
use crate::errors::Failure;
use crate::values::types::{Type, LOCATOR};
use crate::wire::messages::{LargeObjectData, Value};
use crate::wire::{code, type_code};
use pgsqlite_engine::session::Execution;
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

/// The routines that clients call. Each signature has one number.
const ROUTINES: [&str; 9] = [
    "ifx_lo_create",
    "ifx_lo_open",
    "ifx_lo_close",
    "ifx_lo_seek",
    "ifx_lo_tell",
    "ifx_lo_truncate",
    "ifx_lo_stat",
    "ifx_lo_release",
    "ifx_lo_col_sbinfo",
];

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

/// A change of an object, where a descriptor stands or of the whole.
#[derive(Clone, Copy)]
enum Edit<'a> {
    Write(&'a [u8]),
    Truncate(u64),
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
    Failure::text(format!("no large object is open as {descriptor}"))
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

/// A result of a routine.
enum Out {
    Int(i32),
    Int8(u64),
    Opaque(&'static str, Vec<u8>),
}

/// The name in `function informix.ifx_lo_open(blob ,integer)`.
fn routine_name(signature: &str) -> Option<String> {
    let (head, _) = signature.split_once('(')?;
    let name = head.trim().rsplit([' ', '.']).next()?;
    Some(name.to_lowercase())
}

/// Bytes of what `ifx_lo_stat` fills, and the place of the size in it: low half, high half, sign.
const STATUS: usize = 644;
const SIZE_AT: usize = 4;

fn status(size: u64) -> Vec<u8> {
    let mut out = vec![0; STATUS];
    out[SIZE_AT..SIZE_AT + 4].copy_from_slice(&(size as u32).to_be_bytes());
    out[SIZE_AT + 4..SIZE_AT + 8].copy_from_slice(&((size >> 32) as u32).to_be_bytes());
    out[SIZE_AT + 8..SIZE_AT + 10].copy_from_slice(&1i16.to_be_bytes());
    out
}

impl Conversation<'_> {
    pub(super) fn get_routine(&mut self, signature: &[u8]) -> Step {
        let signature = self.identity.codeset.decode(signature)?;
        let name = routine_name(&signature);
        let number = ROUTINES.iter().position(|r| name.as_deref() == Some(r));
        let number = number.ok_or_else(|| Failure::new(-674, 0, signature))?;
        self.session()?;
        let mut database = Vec::new();
        self.identity.codeset.encode(&self.database, &mut database)?;
        self.client.out.short(code::GETROUTINE);
        self.client.out.char(&database);
        self.client.out.int(number as i32 + 1);
        Ok(())
    }

    pub(super) async fn call_routine(&mut self, handle: i32, values: &[Value]) -> Step {
        self.check_interrupt()?;
        self.session()?;
        let index = usize::try_from(handle).ok().and_then(|h| h.checked_sub(1));
        let name = index.and_then(|i| ROUTINES.get(i)).ok_or_else(|| Failure::new(-674, 0, handle.to_string()))?;
        let results = match (*name, values) {
            ("ifx_lo_truncate", [Value::Integer(number), Value::Integer(size)]) if self.is_stored(*number) => {
                let size = u64::try_from(*size).map_err(|_| Failure::text("a size below zero"))?;
                self.edit_stored(*number, Edit::Truncate(size)).await?;
                vec![Out::Int(0)]
            }
            _ => self.routine(name, values)?,
        };
        let out = &mut self.client.out;
        out.short(code::FPROUTINE);
        out.short(results.len() as i16);
        for result in results {
            match result {
                Out::Int(n) => {
                    out.shorts(&[type_code::INTEGER, 0, 0]);
                    out.int(n);
                }
                Out::Int8(n) => {
                    out.shorts(&[type_code::INT8, 0, 0, 1]);
                    out.int(n as u32 as i32);
                    out.int((n >> 32) as i32);
                }
                Out::Opaque(name, bytes) => {
                    out.short(type_code::UDT_FIXED);
                    out.char(b"informix");
                    out.char(name.as_bytes());
                    out.shorts(&[0, 0]);
                    out.int(bytes.len() as i32);
                    out.padded(&bytes);
                }
            }
        }
        Ok(())
    }

    fn routine(&mut self, name: &str, values: &[Value]) -> Result<Vec<Out>, Failure> {
        let objects = &mut self.large_objects;
        Ok(match (name, values) {
            ("ifx_lo_create", [_, Value::Integer(flags), _]) => {
                objects.check_room(0)?;
                if objects.made.len() >= u16::MAX as usize {
                    return Err(Failure::text("too many large objects wait to be stored"));
                }
                objects.last_made += 1;
                let key = Key { group: 0, number: objects.last_made };
                objects.made.insert(key.number, Made::default());
                // what is new is there to be written
                let descriptor = objects.open(key, *flags | READ_WRITE)?;
                vec![Out::Opaque("blob", objects.locator(key).to_vec()), Out::Int(descriptor)]
            }
            ("ifx_lo_open", [Value::Opaque { bytes, .. }, Value::Integer(flags)]) => {
                let key = objects.key(bytes)?;
                vec![Out::Int(objects.open(key, *flags)?)]
            }
            ("ifx_lo_close", [Value::Integer(number)]) => {
                objects.descriptor(*number)?;
                objects.open.remove(&(*number as i32));
                vec![Out::Int(0)]
            }
            ("ifx_lo_seek", [Value::Integer(number), Value::Integer(offset), Value::Integer(whence), _]) => {
                let place = objects.seek(*number, *offset, *whence)?;
                vec![Out::Int8(place), Out::Int(0)]
            }
            ("ifx_lo_tell", [Value::Integer(number), _]) => {
                vec![Out::Int8(objects.descriptor(*number)?.place), Out::Int(0)]
            }
            ("ifx_lo_truncate", [Value::Integer(number), Value::Integer(size)]) => {
                objects.truncate(*number, *size)?;
                vec![Out::Int(0)]
            }
            ("ifx_lo_stat", [Value::Integer(number), _]) => {
                let key = objects.descriptor(*number)?.key;
                vec![Out::Opaque("ifx_lo_stat", status(objects.size(key)?)), Out::Int(0)]
            }
            ("ifx_lo_release", [Value::Opaque { bytes, .. }]) => {
                let key = objects.key(bytes)?;
                objects.size(key)?;
                if key.group == 0 {
                    objects.made.remove(&key.number);
                }
                vec![Out::Int(0)]
            }
            // where a column keeps its objects: nothing of it is of use here, so it stays as the client has it
            ("ifx_lo_col_sbinfo", [_, Value::Opaque { bytes, .. }]) => vec![Out::Opaque("ifx_lo_spec", bytes.clone())],
            _ => return Err(Failure::new(-674, 0, name)),
        })
    }

    /// Whether an open object is one that a row holds, as far as that is known.
    fn is_stored(&mut self, number: i64) -> bool {
        let key = self.large_objects.descriptor(number).map(|d| d.key);
        key.is_ok_and(|key| self.large_objects.origin(key).is_some())
    }

    /// Changes an object that a row holds, where it is stored. Errors: -746 if the row is not what it was, and those of an UPDATE.
    async fn edit_stored(&mut self, number: i64, edit: Edit<'_>) -> Step {
        let objects = &mut self.large_objects;
        let &mut Descriptor { key, mut place, writable, append } = objects.descriptor(number)?;
        if !writable {
            return Err(Failure::text("the large object is open for reading only").into());
        }
        let origin = objects.origin(key).cloned().ok_or_else(gone)?;
        let before = objects.read(key, 0, usize::MAX)?;
        let mut content = before.clone();
        let end = match edit {
            Edit::Truncate(size) => size,
            Edit::Write(bytes) => {
                place = if append { content.len() as u64 } else { place };
                place.saturating_add(bytes.len() as u64)
            }
        };
        if end > UNBOUND {
            return Err(Failure::text("a large object that is too long").into());
        }
        match edit {
            Edit::Truncate(_) => content.resize(end as usize, 0),
            Edit::Write(bytes) => {
                content.resize(content.len().max(end as usize), 0);
                content[place as usize..end as usize].copy_from_slice(bytes);
                place = end;
            }
        }
        self.store(&origin, &before, &content).await?;
        let objects = &mut self.large_objects;
        objects.remember(origin, content);
        objects.descriptor(number)?.place = place;
        Ok(())
    }

    /// Puts a content into the column of a row that holds `before`.
    async fn store(&mut self, origin: &Origin, before: &[u8], content: &[u8]) -> Step {
        let catalog = self.session()?.catalog_snapshot();
        let relation = catalog.relation(origin.table).ok_or_else(gone)?;
        let column = relation.column_by_attnum(origin.attnum).ok_or_else(gone)?;
        let codeset = self.identity.codeset;
        let stored = |bytes: &[u8]| -> Result<Vec<u8>, Failure> {
            match Type::of_column(&catalog, column) {
                Some(Type::Clob) => Ok(codeset.decode(bytes)?.into_bytes()),
                Some(Type::Blob) => Ok(hexadecimal(bytes)),
                _ => Err(gone()),
            }
        };
        let (before, content) = (stored(before)?, stored(content)?);
        let table = match relation.temporary {
            true => ident(&relation.name),
            false => format!("{}.{}", ident(catalog.schema_name(relation.schema)), ident(&relation.name)),
        };
        let (name, values) = (ident(&column.name), row_values(&catalog, relation, "t"));
        let sql = format!(
            "UPDATE {table} AS t SET {name} = $1 WHERE t.ctid = $2::text::tid AND {values} = $3::text AND t.{name} = $4"
        );
        let parameters = [content.as_slice(), origin.row.as_bytes(), origin.values.as_bytes(), before.as_slice()];
        self.begin_change().await?;
        let result = async {
            let session = self.session()?;
            session.parse("", &sql, &[]).await?;
            session.bind("", "", &[], &parameters.map(Some), &[]).await?;
            match session.execute("", 0, &mut Discard).await? {
                Execution::Complete(tag) if tag.ends_with(" 1") => Ok(()),
                // also if another client has written into it
                _ => Err(Failure::text("the row of this large object has changed since it was read").into()),
            }
        }
        .await;
        self.end_change(result).await
    }

    /// LODATA: reads or writes a piece of an open object.
    pub(super) async fn large_object_data(&mut self, data: LargeObjectData) -> Step {
        self.check_interrupt()?;
        let number = i64::from(data.descriptor);
        if let Some(bytes) = &data.written {
            match self.is_stored(number) {
                true => self.edit_stored(number, Edit::Write(bytes)).await?,
                false => self.large_objects.write(number, bytes)?,
            }
            let out = &mut self.client.out;
            out.shorts(&[code::LODATA, 2]);
            out.int(bytes.len() as i32);
            return Ok(());
        }
        let objects = &mut self.large_objects;
        if data.chunk == 0 {
            return Err(Wrong::End(End::Malformed("a large object in chunks of no bytes".into())));
        }
        if let Some((offset, whence)) = data.seek {
            objects.seek(number, offset, whence.into())?;
        }
        let descriptor = objects.descriptor(number)?;
        let (key, place) = (descriptor.key, descriptor.place);
        let bytes = objects.read(key, place, data.wanted)?;
        objects.descriptor(number)?.place += bytes.len() as u64;
        let out = &mut self.client.out;
        out.shorts(&[code::LODATA, data.seek.is_some() as i16]);
        out.int(bytes.len() as i32);
        for chunk in bytes.chunks(data.chunk) {
            out.char(chunk);
        }
        if bytes.is_empty() {
            // clients read a chunk even of nothing
            out.short(0);
        }
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

    #[test]
    fn signatures() {
        assert_eq!(
            routine_name("function informix.ifx_lo_create( ifx_lo_spec,integer,blob)").unwrap(),
            "ifx_lo_create"
        );
        assert_eq!(routine_name("function ifx_lo_close (integer)").unwrap(), "ifx_lo_close");
        assert_eq!(routine_name("nothing"), None);
        assert_eq!(status(5)[..16], [0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 1, 0, 0]);
    }
}
