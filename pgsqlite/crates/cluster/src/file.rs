//! A node's memory in a SQLite file.
//!
//! `log` has Raft's log, and the entries that it has not any more but objects need: a content stays in the entry with which it came, and is written once. What goes to the log is synced before it
//! is spoken of. What is applied to the objects is not: SQLite's own log keeps the order, so that after a failure of the machine the node applies the end of the log again.

use crate::bytes_of::{Reader, Writer};
use crate::disk::{Disk, Marks, Object, Objects, Part};
use crate::{Error, Result};
use bytes::Bytes;
use raft::eraftpb::{Entry, EntryType, HardState};
use rusqlite::{params, Connection, OpenFlags, OptionalExtension};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

// (the library that `rusqlite` speaks to)
use pgsqlite_sqlite as _;

/// The version of the tables.
const FORMAT: i64 = 1;
/// For so long a change is tried for which there is no memory.
const PATIENCE: Duration = Duration::from_secs(30);
/// So many bytes of the last entries are kept at hand.
const AT_HAND: usize = 16 << 20;

const TABLES: &str = "
CREATE TABLE cluster (
    one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, node INTEGER NOT NULL, founds INTEGER NOT NULL, id INTEGER NOT NULL, voters TEXT NOT NULL,
    term INTEGER NOT NULL, vote INTEGER NOT NULL, agreed INTEGER NOT NULL,
    compacted INTEGER NOT NULL, compacted_term INTEGER NOT NULL, applied INTEGER NOT NULL, applied_term INTEGER NOT NULL) STRICT;
CREATE TABLE log (entry INTEGER PRIMARY KEY, term INTEGER NOT NULL, kind INTEGER NOT NULL, data BLOB NOT NULL, context BLOB NOT NULL) STRICT;
CREATE TABLE objects (name TEXT PRIMARY KEY, tag INTEGER NOT NULL, time INTEGER NOT NULL, size INTEGER NOT NULL, attributes BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE parts (owner TEXT, number INTEGER, entry INTEGER NOT NULL, at INTEGER NOT NULL, length INTEGER NOT NULL, PRIMARY KEY (owner, number)) STRICT, WITHOUT ROWID;
CREATE INDEX parts_entry ON parts (entry);
";

/// SQLite has signed numbers, which none of ours outgrows but those of uploads and terms in nonsense.
fn signed(n: u64) -> i64 {
    n as i64
}

fn unsigned(n: i64) -> u64 {
    n as u64
}

/// The owner of an object's parts.
fn of_object(name: &str) -> String {
    format!("o{name}")
}

/// The owner of an upload's parts.
fn of_upload(upload: u64) -> String {
    format!("u{upload:016x}")
}

/// The memory of one node.
pub struct FileDisk {
    db: Connection,
    marks: Marks,
    founds: bool,
    id: u64,
    last: u64,
    /// the last entries, without a gap
    at_hand: VecDeque<Entry>,
    bytes_at_hand: usize,
}

/// A connection to the file.
fn connect(path: &Path, flags: OpenFlags) -> Result<Connection> {
    let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(Duration::from_secs(60))?;
    db.set_prepared_statement_cache_capacity(32);
    Ok(db)
}

impl FileDisk {
    /// Makes the memory of a new node of a new cluster. Errors: there is a file.
    /// `founds`: what the cluster keeps begins with this node. `id`: tells the cluster from others whose nodes have the same names.
    pub fn create(path: &Path, node: u64, voters: &[u64], founds: bool, id: u64) -> Result<()> {
        if path.exists() {
            return Err(Error::new(format!("\"{}\" exists already", path.display())));
        }
        let mut db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        db.pragma_update(None, "page_size", 8192)?;
        db.pragma_update(None, "journal_mode", "wal")?;
        let work = db.transaction()?;
        work.execute_batch(TABLES)?;
        let voters: Vec<String> = voters.iter().map(u64::to_string).collect();
        let values = params![FORMAT, signed(node), founds, signed(id), voters.join(",")];
        work.execute("INSERT INTO cluster VALUES (1, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0)", values)?;
        Ok(work.commit()?)
    }

    /// The memory of a node, which was made by [`FileDisk::create`]. Errors: it is another node's, or of a cluster with other nodes.
    pub fn open(path: &Path, node: u64, voters: &[u64]) -> Result<FileDisk> {
        let db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let shown = path.display();
        let (format, its_node, its_voters): (i64, i64, String) = db
            .query_row("SELECT format, node, voters FROM cluster", [], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
            .map_err(|e| Error::new(format!("\"{shown}\" is not the memory of a node of a cluster: {e}")))?;
        if format != FORMAT {
            return Err(Error::new(format!("\"{shown}\" is of version {format}, and this program has {FORMAT}")));
        }
        if its_node != signed(node) {
            return Err(Error::new(format!("\"{shown}\" is the memory of node {its_node}, and this is node {node}")));
        }
        let its_voters: Vec<u64> = its_voters.split(',').filter_map(|v| v.parse().ok()).collect();
        if its_voters != voters {
            return Err(Error::new(format!(
                "the cluster of \"{shown}\" has other nodes: a cluster's nodes cannot be changed"
            )));
        }
        let numbers = "SELECT term, vote, agreed, compacted, compacted_term, applied, applied_term FROM cluster";
        let mut n = [0; 7];
        let read = |r: &rusqlite::Row| {
            for (i, n) in n.iter_mut().enumerate() {
                *n = unsigned(r.get(i)?);
            }
            Ok(())
        };
        db.query_row(numbers, [], read)?;
        let hard = HardState { term: n[0], vote: n[1], commit: n[2], ..Default::default() };
        let (compacted, compacted_term, applied, applied_term) = (n[3], n[4], n[5], n[6]);
        let marks = Marks { hard, compacted, compacted_term, applied, applied_term, voters: its_voters };
        let last: Option<i64> = db.query_row("SELECT max(entry) FROM log", [], |r| r.get(0))?;
        let last = last.map_or(0, unsigned).max(compacted);
        let (founds, id): (bool, i64) =
            db.query_row("SELECT founds, id FROM cluster", [], |r| Ok((r.get(0)?, r.get(1)?)))?;
        let id = unsigned(id);
        Ok(FileDisk { db, marks, founds, id, last, at_hand: VecDeque::new(), bytes_at_hand: 0 })
    }

    /// Whether what the cluster keeps begins with this node.
    pub fn founds(&self) -> bool {
        self.founds
    }

    /// What tells the cluster from others.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The first entry that is at hand.
    fn first_at_hand(&self) -> u64 {
        self.at_hand.front().map_or(u64::MAX, |entry| entry.index)
    }

    fn take_in_hand(&mut self, entries: &[Entry]) {
        let Some(first) = entries.first() else { return };
        while self.at_hand.back().is_some_and(|entry| entry.index >= first.index) {
            self.bytes_at_hand -= self.at_hand.pop_back().map_or(0, |entry| entry.data.len());
        }
        for entry in entries {
            self.bytes_at_hand += entry.data.len();
            self.at_hand.push_back(entry.clone());
        }
        while self.bytes_at_hand > AT_HAND && self.at_hand.len() > 1 {
            self.bytes_at_hand -= self.at_hand.pop_front().map_or(0, |entry| entry.data.len());
        }
    }

    /// Makes changes as one. `syncs`: they are there for good when this returns; else they are with the next ones that are. Where the process has no memory left (the limit is that of its
    /// sessions), they are tried again for a while: a node that cannot write ends.
    fn changes(&mut self, syncs: bool, mut change: impl FnMut(&Connection) -> Result<()>) -> Result<()> {
        let began = Instant::now();
        loop {
            let db = &mut self.db;
            let mut attempt = || -> Result<()> {
                db.pragma_update(None, "synchronous", if syncs { "full" } else { "normal" })?;
                let work = db.transaction()?;
                change(&work)?;
                Ok(work.commit()?)
            };
            match attempt() {
                Err(e) if e.is_memory() && began.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(10)),
                done => return done,
            }
        }
    }
}

fn entry_of(row: &rusqlite::Row) -> rusqlite::Result<Entry> {
    let mut entry = Entry { index: unsigned(row.get(0)?), term: unsigned(row.get(1)?), ..Default::default() };
    entry.set_entry_type(match row.get(2)? {
        0 => EntryType::EntryNormal,
        1 => EntryType::EntryConfChange,
        _ => EntryType::EntryConfChangeV2,
    });
    entry.data = Bytes::from(row.get::<_, Vec<u8>>(3)?);
    entry.context = Bytes::from(row.get::<_, Vec<u8>>(4)?);
    Ok(entry)
}

/// What the objects are changed by.
struct Tables<'c>(&'c Connection);

fn object_of(row: &rusqlite::Row) -> rusqlite::Result<Object> {
    let attributes: Vec<u8> = row.get(3)?;
    Ok(Object {
        tag: unsigned(row.get(0)?),
        time: unsigned(row.get(1)?),
        size: unsigned(row.get(2)?),
        attributes: attributes.into(),
    })
}

fn part_of(row: &rusqlite::Row) -> rusqlite::Result<(u32, Part)> {
    let part = Part { entry: unsigned(row.get(1)?), at: unsigned(row.get(2)?), length: unsigned(row.get(3)?) };
    Ok((row.get(0)?, part))
}

fn object(db: &Connection, name: &str) -> Result<Option<Object>> {
    let mut statement = db.prepare_cached("SELECT tag, time, size, attributes FROM objects WHERE name = ?")?;
    Ok(statement.query_row([name], object_of).optional()?)
}

fn parts(db: &Connection, owner: &str) -> Result<Vec<(u32, Part)>> {
    let mut statement =
        db.prepare_cached("SELECT number, entry, at, length FROM parts WHERE owner = ? ORDER BY number")?;
    let found = statement.query_map([owner], part_of)?.collect::<rusqlite::Result<_>>()?;
    Ok(found)
}

impl Tables<'_> {
    fn remove_parts(&self, owner: &str) -> Result<()> {
        self.0.prepare_cached("DELETE FROM parts WHERE owner = ?")?.execute([owner])?;
        Ok(())
    }

    fn add(&self, owner: &str, number: u32, part: Part) -> Result<()> {
        let mut statement = self.0.prepare_cached("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?)")?;
        statement.execute(params![owner, number, signed(part.entry), signed(part.at), signed(part.length)])?;
        Ok(())
    }
}

impl Objects for Tables<'_> {
    fn object(&self, name: &str) -> Result<Option<Object>> {
        object(self.0, name)
    }

    fn set(&mut self, name: &str, object: &Object, parts: &[Part]) -> Result<()> {
        let owner = of_object(name);
        self.remove_parts(&owner)?;
        let mut statement = self.0.prepare_cached("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)")?;
        let (tag, time, size) = (signed(object.tag), signed(object.time), signed(object.size));
        statement.execute(params![name, tag, time, size, &object.attributes[..]])?;
        (0..).zip(parts).try_for_each(|(number, part)| self.add(&owner, number, *part))
    }

    fn remove(&mut self, name: &str) -> Result<()> {
        self.remove_parts(&of_object(name))?;
        self.0.prepare_cached("DELETE FROM objects WHERE name = ?")?.execute([name])?;
        Ok(())
    }

    fn add_part(&mut self, upload: u64, number: u32, part: Part) -> Result<()> {
        self.add(&of_upload(upload), number, part)
    }

    fn parts(&self, upload: u64) -> Result<Vec<(u32, Part)>> {
        parts(self.0, &of_upload(upload))
    }

    fn forget_upload(&mut self, upload: u64) -> Result<()> {
        self.remove_parts(&of_upload(upload))
    }

    fn forget_uploads_before(&mut self, entry: u64) -> Result<()> {
        let text = "DELETE FROM parts WHERE owner >= 'u' AND owner < 'v' AND entry < ?";
        self.0.prepare_cached(text)?.execute([signed(entry)])?;
        Ok(())
    }
}

impl Disk for FileDisk {
    fn marks(&self) -> &Marks {
        &self.marks
    }

    fn last_index(&self) -> u64 {
        self.last
    }

    fn term(&self, index: u64) -> Result<Option<u64>> {
        let first = self.first_at_hand();
        if index >= first {
            return Ok(self.at_hand.get((index - first) as usize).map(|entry| entry.term));
        }
        if index == self.marks.compacted {
            return Ok(Some(self.marks.compacted_term));
        }
        if index < self.marks.compacted {
            return Ok(None);
        }
        let mut statement = self.db.prepare_cached("SELECT term FROM log WHERE entry = ?")?;
        Ok(statement.query_row([signed(index)], |r| r.get(0)).optional()?.map(unsigned))
    }

    fn entries(&self, low: u64, high: u64, most: u64) -> Result<Vec<Entry>> {
        let (first, mut bytes, mut found) = (self.first_at_hand(), 0, Vec::new());
        let mut takes = |entry: Entry| {
            bytes += entry.data.len() as u64;
            let fits = found.is_empty() || bytes <= most;
            if fits {
                found.push(entry);
            }
            fits
        };
        if low >= first {
            let (from, to) = ((low - first) as usize, (high - first) as usize);
            let _ = self.at_hand.range(from..to.min(self.at_hand.len())).all(|entry| takes(entry.clone()));
            return Ok(found);
        }
        let text = "SELECT entry, term, kind, data, context FROM log WHERE entry >= ? AND entry < ? ORDER BY entry";
        let mut statement = self.db.prepare_cached(text)?;
        let mut rows = statement.query([signed(low), signed(high)])?;
        while let Some(row) = rows.next()? {
            if !takes(entry_of(row)?) {
                break;
            }
        }
        Ok(found)
    }

    fn write(&mut self, entries: &[Entry], hard: Option<&HardState>) -> Result<()> {
        let last = self.last;
        self.changes(true, |work| {
            if let Some(first) = entries.first() {
                if first.index <= last {
                    work.prepare_cached("DELETE FROM log WHERE entry >= ?")?.execute([signed(first.index)])?;
                }
                let mut insert = work.prepare_cached("INSERT INTO log VALUES (?, ?, ?, ?, ?)")?;
                for e in entries {
                    let kind = e.get_entry_type() as i64;
                    insert.execute(params![signed(e.index), signed(e.term), kind, &e.data[..], &e.context[..]])?;
                }
            }
            if let Some(hard) = hard {
                let mut update = work.prepare_cached("UPDATE cluster SET term = ?, vote = ?, agreed = ?")?;
                update.execute([signed(hard.term), signed(hard.vote), signed(hard.commit)])?;
            }
            Ok(())
        })?;
        if let Some(last) = entries.last() {
            self.last = last.index;
        }
        if let Some(hard) = hard {
            self.marks.hard = hard.clone();
        }
        self.take_in_hand(entries);
        Ok(())
    }

    fn apply(&mut self, applied: (u64, u64), run: &mut dyn FnMut(&mut dyn Objects) -> Result<()>) -> Result<()> {
        self.changes(false, |work| {
            run(&mut Tables(work))?;
            work.prepare_cached("UPDATE cluster SET applied = ?, applied_term = ?")?
                .execute([signed(applied.0), signed(applied.1)])?;
            Ok(())
        })?;
        (self.marks.applied, self.marks.applied_term) = applied;
        Ok(())
    }

    fn compact(&mut self, index: u64) -> Result<()> {
        let Some(term) = self.term(index)?.filter(|_| index > self.marks.compacted && index <= self.marks.applied)
        else {
            return Ok(());
        };
        self.changes(false, |work| {
            let unused =
                "DELETE FROM log WHERE entry <= ? AND NOT EXISTS (SELECT 1 FROM parts WHERE parts.entry = log.entry)";
            work.execute(unused, [signed(index)])?;
            work.execute("UPDATE cluster SET compacted = ?, compacted_term = ?", [signed(index), signed(term)])?;
            Ok(())
        })?;
        (self.marks.compacted, self.marks.compacted_term) = (index, term);
        Ok(())
    }

    fn install(&mut self, index: u64, term: u64, copy: &[u8]) -> Result<()> {
        let path = std::str::from_utf8(copy).map_err(|_| Error::new("a copy without a name"))?;
        self.changes(true, |work| {
            let file = std::fs::File::open(path).map_err(|e| Error::new(format!("\"{path}\": {e}")))?;
            work.execute_batch("DELETE FROM log; DELETE FROM objects; DELETE FROM parts")?;
            let marks = read_copy(work, &mut std::io::BufReader::with_capacity(1 << 20, file))?;
            if marks != (index, term) {
                return Err(Error::new(format!("\"{path}\" is not the copy that it should be")));
            }
            let (i, t) = (signed(index), signed(term));
            let text = "UPDATE cluster SET compacted = ?1, compacted_term = ?2, applied = ?1, applied_term = ?2, agreed = max(agreed, ?1)";
            work.execute(text, [i, t])?;
            Ok(())
        })?;
        (self.marks.compacted, self.marks.compacted_term) = (index, term);
        (self.marks.applied, self.marks.applied_term) = (index, term);
        self.marks.hard.commit = self.marks.hard.commit.max(index);
        self.last = index;
        self.at_hand.clear();
        self.bytes_at_hand = 0;
        let _ = std::fs::remove_file(path);
        Ok(())
    }
}

// --- copies ----------------------------------------------------------------------------------------------------------

const OBJECT: u8 = 1;
const PART: u8 = 2;
const ENTRY: u8 = 3;
const END: u8 = 4;
/// No record of a copy is longer.
const LONGEST: u32 = 64 << 20;

fn io(e: &std::io::Error) -> Error {
    Error::new(format!("a copy: {e}"))
}

/// Writes a copy of a node's objects, as they are now, as a stream of records. Returns the number of the entry behind which it is, and its term, which are at its beginning, too.
pub fn write_copy(file: &Path, to: &mut dyn Write) -> Result<(u64, u64)> {
    let mut db = connect(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let work = db.transaction()?;
    let mut put = |kind: u8, w: &Writer| -> Result<()> {
        to.write_all(&[kind]).map_err(|e| io(&e))?;
        to.write_all(&(w.0.len() as u32).to_be_bytes()).map_err(|e| io(&e))?;
        to.write_all(&w.0).map_err(|e| io(&e))
    };
    let at: (i64, i64) =
        work.query_row("SELECT applied, applied_term FROM cluster", [], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let mut w = Writer::default();
    w.u64(unsigned(at.0)).u64(unsigned(at.1));
    put(END, &w)?;
    let mut statement = work.prepare("SELECT tag, time, size, attributes, name FROM objects")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (object, name): (Object, String) = (object_of(row)?, row.get(4)?);
        let mut w = Writer::default();
        w.bytes(name.as_bytes()).u64(object.tag).u64(object.time).u64(object.size).bytes(&object.attributes);
        put(OBJECT, &w)?;
    }
    let mut statement = work.prepare("SELECT number, entry, at, length, owner FROM parts")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let ((number, part), owner): (_, String) = (part_of(row)?, row.get(4)?);
        let mut w = Writer::default();
        w.bytes(owner.as_bytes()).u32(number).u64(part.entry).u64(part.at).u64(part.length);
        put(PART, &w)?;
    }
    let mut statement =
        work.prepare("SELECT entry, term, kind, data FROM log WHERE entry IN (SELECT entry FROM parts)")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut w = Writer::default();
        w.u64(unsigned(row.get(0)?)).u64(unsigned(row.get(1)?)).bytes(row.get_ref(3)?.as_blob().unwrap_or_default());
        put(ENTRY, &w)?;
    }
    put(END, &Writer::default())?;
    to.flush().map_err(|e| io(&e))?;
    Ok((unsigned(at.0), unsigned(at.1)))
}

fn read_copy(db: &Connection, from: &mut dyn Read) -> Result<(u64, u64)> {
    let mut next = || -> Result<(u8, Reader)> {
        let mut head = [0; 5];
        from.read_exact(&mut head).map_err(|e| io(&e))?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        if length > LONGEST {
            return Err(Error::new("a copy with a record that is too long"));
        }
        let mut content = vec![0; length as usize];
        from.read_exact(&mut content).map_err(|e| io(&e))?;
        Ok((head[0], Reader(content.into())))
    };
    let nonsense = || Error::new("a copy that is none");
    let (_, mut r) = next()?;
    let at = r.u64().zip(r.u64()).ok_or_else(nonsense)?;
    loop {
        let (kind, mut r) = next()?;
        let is_read = match kind {
            OBJECT => (|| {
                let (name, tag, time, size) = (r.text()?, r.u64()?, r.u64()?, r.u64()?);
                let object = Object { tag, time, size, attributes: r.bytes()? };
                Some(Tables(db).set(&name, &object, &[]))
            })(),
            PART => (|| {
                let (owner, number) = (r.text()?, r.u32()?);
                let part = Part { entry: r.u64()?, at: r.u64()?, length: r.u64()? };
                Some(Tables(db).add(&owner, number, part))
            })(),
            ENTRY => (|| {
                let (entry, term, data) = (r.u64()?, r.u64()?, r.bytes()?);
                let insert = db.prepare_cached("INSERT INTO log VALUES (?, ?, 0, ?, x'')");
                let done = insert.and_then(|mut s| s.execute(params![signed(entry), signed(term), &data[..]]));
                Some(done.map(|_| ()).map_err(Error::from))
            })(),
            END => return Ok(at),
            _ => None,
        };
        is_read.ok_or_else(nonsense)??;
    }
}

/// The number of the entry behind which a copy is that was brought to a file, and its term.
pub fn copy_is_at(file: &Path) -> Result<(u64, u64)> {
    let mut head = [0; 21];
    let mut file = std::fs::File::open(file).map_err(|e| io(&e))?;
    file.read_exact(&mut head).map_err(|e| io(&e))?;
    let mut r = Reader(Bytes::copy_from_slice(&head[5..]));
    r.u64().zip(r.u64()).ok_or_else(|| Error::new("a copy that is none"))
}

// --- reading ---------------------------------------------------------------------------------------------------------

/// Reads objects beside the node.
pub struct Shelf(Connection);

impl Shelf {
    /// A reader of a node's file.
    pub fn open(file: &Path) -> Result<Shelf> {
        Ok(Shelf(connect(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?))
    }

    /// The object of this name.
    pub fn object(&self, name: &str) -> Result<Option<Object>> {
        object(&self.0, name)
    }

    /// The object of this name with its content, or a part of it: so many bytes from there, as far as there are so many.
    pub fn content(&mut self, name: &str, from: u64, most: u64) -> Result<Option<(Object, Vec<u8>)>> {
        let work = self.0.transaction()?;
        let Some(object) = object(&work, name)? else { return Ok(None) };
        let (mut content, mut at, end) = (Vec::new(), 0, from.saturating_add(most).min(object.size));
        for (_, part) in parts(&work, &of_object(name))? {
            let (first, last) = (from.max(at), end.min(at + part.length));
            if first < last {
                let mut statement = work.prepare_cached("SELECT substr(data, ?, ?) FROM log WHERE entry = ?")?;
                let begin = signed(part.at + (first - at) + 1);
                let piece: Vec<u8> =
                    statement.query_row([begin, signed(last - first), signed(part.entry)], |r| r.get(0))?;
                content.extend(piece);
            }
            at += part.length;
        }
        if content.len() as u64 != end.saturating_sub(from) {
            return Err(Error::new(format!("object \"{name}\" is not complete")));
        }
        Ok(Some((object, content)))
    }

    /// The objects whose names begin like this and come after that one, by their names.
    pub fn list(&self, prefix: &str, after: &str) -> Result<Vec<(String, Object)>> {
        let text = "SELECT tag, time, size, attributes, name FROM objects WHERE name >= ?1 AND name > ?2 ORDER BY name";
        let mut statement = self.0.prepare_cached(text)?;
        let mut rows = statement.query([prefix, after])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let name: String = row.get(4)?;
            if !name.starts_with(prefix) {
                break;
            }
            found.push((name, object_of(row)?));
        }
        Ok(found)
    }
}
