//! GROUP BY by hashing: the aggregate `pg_group(plan, value …)`, which makes a table of groups, and what `pg_groups(number)` reads
//! from it (`vtab/groups.rs`). `pgsqlite_sql::lower::groups` writes the plans.
//!
//! A plan has a word for each column of the result:
//!
//! * `kb0`: a key, which compares by its bytes (`b`), without blanks at its end (`r`) or as a numeric (`d`), and its value's place
//! * `f1`: the value of the group's first row
//! * `c` counts rows, `n1` those whose value is not NULL
//! * `lb1`, `gd2`: the least and the greatest value, compared as keys are; of equal ones the first
//! * `aNAME:1,2`: a native aggregate of values; a row with a NULL among them is left out
//!
//! The table may take `work_mem` × `hash_mem_multiplier`. When it is full, rows of groups that it has are still taken in. The others go
//! to temporary files, by a part of their key's hash; each file is grouped by itself, after the groups that are in memory were read.

use super::hash_keys::{append_key, room, How};
use super::session_cell::SessionCell;
use super::shim::{Call, Decimal, NewState, Scalar, State};
use foldhash::fast::RandomState;
use pgsqlite_memory::TemporaryFile;
use pgsqlite_sql::lower::support;
use pgsqlite_types::numeric;
use pgsqlite_types::{work, Datum, DatumRef, PgError, Result, SqlState};
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::hash::BuildHasher;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::sync::{Arc, OnceLock};

/// A native aggregate: how its state is made, and whether it leaves out rows with a NULL.
pub(crate) type Native = (NewState, bool);

/// Finds a native aggregate by its name in SQLite. (The natives are registered by who knows all of them.)
pub static NATIVE: OnceLock<fn(&str) -> Option<Native>> = OnceLock::new();

enum Output {
    Key(usize),
    First(usize),
    Rows,
    Values(usize),
    Least(How, usize),
    Greatest(How, usize),
    Native { new: NewState, strict: bool, places: Vec<usize> },
}

/// What the aggregate is to do.
struct Plan {
    /// how each key compares, and its place among the call's arguments
    keys: Vec<(How, usize)>,
    outputs: Vec<Output>,
    /// bytes that the table may take
    room: usize,
    hashes: RandomState,
}

/// About what a native aggregate's state takes.
const STATE: usize = 256;
/// What a group takes besides its values.
const GROUP: usize = 96;
/// Files that the rows of other groups go to.
const FILES: usize = 16;
/// How often the rows of a file are divided again. (Each time a sixteenth of them is left.)
const DEEPEST: u32 = 12;

fn malformed(word: &str) -> PgError {
    PgError::internal(format!("a malformed plan of groups: {word}"))
}

impl Plan {
    fn parse(text: &str, session: &SessionCell) -> Result<Plan> {
        let (mut keys, mut outputs) = (Vec::new(), Vec::new());
        // bounded: the columns of a query
        for word in text.split(' ') {
            // (argument 0 is the plan)
            let place = |digits: &str| digits.parse::<usize>().map(|p| p + 1).map_err(|_| malformed(word));
            let compared = |rest: &str| -> Result<(How, usize)> {
                let how = How::of_letter(rest.as_bytes().first()).ok_or_else(|| malformed(word))?;
                Ok((how, place(&rest[1..])?))
            };
            let rest = word.get(1..).ok_or_else(|| malformed(word))?;
            outputs.push(match word.as_bytes()[0] {
                b'k' => {
                    let key = compared(rest)?;
                    keys.push(key);
                    Output::Key(key.1)
                }
                b'f' => Output::First(place(rest)?),
                b'c' => Output::Rows,
                b'n' => Output::Values(place(rest)?),
                b'l' => compared(rest).map(|(how, place)| Output::Least(how, place))?,
                b'g' => compared(rest).map(|(how, place)| Output::Greatest(how, place))?,
                b'a' => {
                    let (name, places) = rest.split_once(':').ok_or_else(|| malformed(word))?;
                    let (new, strict) = NATIVE.get().and_then(|find| find(name)).ok_or_else(|| malformed(word))?;
                    let places = places.split(',').map(place).collect::<Result<_>>()?;
                    Output::Native { new, strict, places }
                }
                _ => return Err(malformed(word)),
            });
        }
        Ok(Plan { keys, outputs, room: room(session), hashes: RandomState::default() })
    }
}

/// The order of two values that are not NULL, as SQLite has it with the collation.
fn compare(how: How, a: DatumRef, b: DatumRef) -> Ordering {
    let class = |v: &DatumRef| match v {
        DatumRef::Null => 0,
        DatumRef::Int(_) | DatumRef::Real(_) => 1,
        DatumRef::Text(_) => 2,
        DatumRef::Blob(_) => 3,
    };
    match (a, b) {
        (DatumRef::Int(a), DatumRef::Int(b)) => a.cmp(&b),
        // (NaN is a text)
        (DatumRef::Real(a), DatumRef::Real(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
        (DatumRef::Int(a), DatumRef::Real(b)) => integer_and_real(a, b),
        (DatumRef::Real(a), DatumRef::Int(b)) => integer_and_real(b, a).reverse(),
        (DatumRef::Text(a), DatumRef::Text(b)) => match how {
            How::Bytes => a.as_bytes().cmp(b.as_bytes()),
            How::Padded => a.trim_end_matches(' ').as_bytes().cmp(b.trim_end_matches(' ').as_bytes()),
            How::Numeric => numeric::compare_text(a, b),
        },
        (DatumRef::Blob(a), DatumRef::Blob(b)) => a.cmp(b),
        // a numeric may be an integer, where an expression of SQLite's own has made it
        (DatumRef::Int(a), DatumRef::Text(b)) if how == How::Numeric => numeric::compare_text(&a.to_string(), b),
        (DatumRef::Text(a), DatumRef::Int(b)) if how == How::Numeric => numeric::compare_text(a, &b.to_string()),
        (a, b) => class(&a).cmp(&class(&b)),
    }
}

fn integer_and_real(a: i64, b: f64) -> Ordering {
    // as SQLite compares them: exactly
    if b >= 9_223_372_036_854_775_808.0 {
        return Ordering::Less;
    }
    if b < -9_223_372_036_854_775_808.0 {
        return Ordering::Greater;
    }
    a.cmp(&(b as i64)).then_with(|| 0.0f64.partial_cmp(&b.fract()).unwrap_or(Ordering::Equal))
}

enum Slot {
    Value(Datum),
    Count(i64),
    State(Box<dyn State>),
}

/// Rows of groups for which there is no room.
struct Spilled {
    file: BufWriter<File>,
    counted: TemporaryFile,
    bytes: u64,
    rows: u64,
}

pub(super) fn failed(e: std::io::Error) -> PgError {
    match e.raw_os_error() {
        Some(libc::ENOSPC) => PgError::new(SqlState::DISK_FULL, format!("could not write to a temporary file: {e}")),
        _ => PgError::new(SqlState::IO_ERROR, format!("could not access a temporary file: {e}")),
    }
}

/// A temporary file without a name: nothing is left of it when the process ends.
pub(super) fn nameless(kind: &str) -> Result<File> {
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("{kind}-{}-{number}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path).map_err(failed)?;
    std::fs::remove_file(&path).map_err(failed)?;
    Ok(file)
}

impl Spilled {
    fn new() -> Result<Spilled> {
        let file = nameless("pgsqlite-groups")?;
        Ok(Spilled { file: BufWriter::with_capacity(16 << 10, file), counted: TemporaryFile::new(), bytes: 0, rows: 0 })
    }

    /// Appends the values of a call behind the plan.
    fn push(&mut self, call: &Call) -> Result<()> {
        let mut row = Vec::with_capacity(16 * call.len());
        let mut append = |kind: u8, bytes: &[u8], long: bool| {
            row.push(kind);
            if long {
                row.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            }
            row.extend_from_slice(bytes);
        };
        // bounded: the columns of a query
        for i in 1..call.len() {
            match call.datum(i) {
                DatumRef::Null => append(0, &[], false),
                DatumRef::Int(i) => append(1, &i.to_le_bytes(), false),
                DatumRef::Real(r) => append(2, &r.to_bits().to_le_bytes(), false),
                DatumRef::Text(t) => append(3, t.as_bytes(), true),
                DatumRef::Blob(b) => append(4, b, true),
            }
        }
        self.bytes += row.len() as u64;
        self.rows += 1;
        if !self.counted.grow(self.bytes) {
            let refused = pgsqlite_storage::error::temporary_files_full();
            return Err(
                refused.unwrap_or_else(|| PgError::new(SqlState::IO_ERROR, "could not write to a temporary file"))
            );
        }
        self.file.write_all(&row).map_err(failed)
    }

    /// Calls `f` for each row, as the values of a call. (The first one stands for the plan.)
    fn each(&mut self, width: usize, mut f: impl FnMut(&[Datum]) -> Result<()>) -> Result<()> {
        self.file.flush().map_err(failed)?;
        let file = self.file.get_mut();
        file.rewind().map_err(failed)?;
        let mut reader = BufReader::with_capacity(64 << 10, file);
        let mut row = vec![Datum::Null; width];
        for _ in 0..self.rows {
            work::tick(1)?;
            // bounded: the columns of a query
            for value in &mut row[1..] {
                *value = read_value(&mut reader)?;
            }
            f(&row)?;
        }
        Ok(())
    }
}

fn read_value(reader: &mut impl Read) -> Result<Datum> {
    let eight = |reader: &mut dyn Read| -> Result<[u8; 8]> {
        let mut bytes = [0; 8];
        reader.read_exact(&mut bytes).map_err(failed)?;
        Ok(bytes)
    };
    let mut kind = [0];
    reader.read_exact(&mut kind).map_err(failed)?;
    Ok(match kind[0] {
        0 => Datum::Null,
        1 => Datum::Int(i64::from_le_bytes(eight(reader)?)),
        2 => Datum::Real(f64::from_bits(u64::from_le_bytes(eight(reader)?))),
        kind => {
            let length = u64::from_le_bytes(eight(reader)?) as usize;
            work::room(length)?;
            let mut bytes = vec![0; length];
            reader.read_exact(&mut bytes).map_err(failed)?;
            match kind {
                3 => Datum::Text(String::from_utf8(bytes).map_err(|_| PgError::internal("a spilled text"))?),
                _ => Datum::Blob(bytes),
            }
        }
    })
}

/// A table of groups, and where its reader stands.
pub struct Groups {
    plan: Arc<Plan>,
    /// how many arguments the aggregate has
    width: usize,
    places: HashMap<Box<[u8]>, u32, RandomState>,
    groups: Vec<Box<[Slot]>>,
    bytes: usize,
    /// empty: there was room for all groups
    spilled: Vec<Spilled>,
    /// how often its rows were divided
    depth: u32,
    /// of the row at hand
    key: Vec<u8>,
    /// the values of the row at hand that were read as decimals
    decimals: Vec<Cell<Decimal>>,
    /// groups that were read
    read: usize,
    /// the file whose groups are read, and those
    file: usize,
    of_file: Option<Box<Groups>>,
}

impl Groups {
    fn new(plan: Arc<Plan>, width: usize, depth: u32) -> Groups {
        Groups {
            places: HashMap::with_hasher(plan.hashes.clone()),
            plan,
            width,
            groups: Vec::new(),
            bytes: 0,
            spilled: Vec::new(),
            depth,
            key: Vec::new(),
            decimals: vec![Cell::default(); width],
            read: 0,
            file: 0,
            of_file: None,
        }
    }

    fn take(&mut self, call: &Call) -> Result<()> {
        self.key.clear();
        // bounded: the columns of a query
        for (how, place) in &self.plan.keys {
            append_key(*how, call.datum(*place), &mut self.key);
        }
        let at = match self.places.get(&self.key[..]) {
            Some(at) => *at as usize,
            None if self.bytes > self.plan.room && self.depth < DEEPEST => return self.spill(call),
            None => self.add(call)?,
        };
        self.decimals.iter().for_each(|decimal| decimal.set(Decimal::Unread));
        let call = &call.remembering(&self.decimals);
        // bounded: the columns of a query
        for (output, slot) in self.plan.outputs.iter().zip(&mut self.groups[at]) {
            match (output, slot) {
                (Output::Rows, Slot::Count(n)) => *n += 1,
                (Output::Values(place), Slot::Count(n)) => *n += !call.is_null(*place) as i64,
                (Output::Least(how, place), Slot::Value(best)) => {
                    better(*how, Ordering::Less, call.datum(*place), best)
                }
                (Output::Greatest(how, place), Slot::Value(best)) => {
                    better(*how, Ordering::Greater, call.datum(*place), best);
                }
                (Output::Native { strict, places, .. }, Slot::State(state)) => {
                    let call = call.picked(places);
                    if !*strict || !(0..call.len()).any(|i| call.is_null(i)) {
                        state.step(&call)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes the group of the row at hand.
    fn add(&mut self, call: &Call) -> Result<usize> {
        let mut bytes = GROUP + self.key.len();
        let slots = self.plan.outputs.iter().map(|output| match output {
            Output::Key(place) | Output::First(place) => {
                let value = call.datum(*place).to_owned();
                if let Datum::Text(t) = &value {
                    bytes += t.len();
                }
                Slot::Value(value)
            }
            Output::Least(..) | Output::Greatest(..) => Slot::Value(Datum::Null),
            Output::Rows | Output::Values(_) => Slot::Count(0),
            Output::Native { new, .. } => {
                bytes += STATE;
                Slot::State(new())
            }
        });
        let slots: Box<[Slot]> = slots.collect();
        self.bytes += bytes + slots.len() * std::mem::size_of::<Slot>();
        let at = u32::try_from(self.groups.len())
            .map_err(|_| PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "too many groups"))?;
        self.places.insert(self.key[..].into(), at);
        self.groups.push(slots);
        Ok(at as usize)
    }

    fn spill(&mut self, call: &Call) -> Result<()> {
        if self.spilled.is_empty() {
            self.spilled = (0..FILES).map(|_| Spilled::new()).collect::<Result<_>>()?;
        }
        let hash = self.plan.hashes.hash_one(&self.key[..]);
        self.spilled[(hash >> (4 * self.depth)) as usize % FILES].push(call)
    }

    /// Whether all groups are in memory.
    pub fn is_whole(&self) -> bool {
        self.spilled.is_empty()
    }

    /// Takes in the groups that another connection has made of rows that come later. Both are whole.
    pub fn append(&mut self, later: Groups) -> Result<()> {
        let Groups { places, groups, .. } = later;
        let mut keys: Vec<(Box<[u8]>, u32)> = places.into_iter().collect();
        keys.sort_unstable_by_key(|(_, at)| *at);
        for ((key, _), slots) in keys.into_iter().zip(groups) {
            work::tick(1)?;
            match self.places.get(&key) {
                Some(at) => self.combine(*at as usize, slots)?,
                None => {
                    let at = u32::try_from(self.groups.len())
                        .map_err(|_| PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "too many groups"))?;
                    self.places.insert(key, at);
                    self.groups.push(slots);
                }
            }
        }
        Ok(())
    }

    /// A group of later rows becomes a part of the group with this number.
    fn combine(&mut self, at: usize, later: Box<[Slot]>) -> Result<()> {
        // bounded: the columns of a query
        for (output, (slot, later)) in self.plan.outputs.iter().zip(self.groups[at].iter_mut().zip(later)) {
            match (output, slot, later) {
                (Output::Least(how, _), Slot::Value(best), Slot::Value(later)) => {
                    better(*how, Ordering::Less, later.as_ref(), best);
                }
                (Output::Greatest(how, _), Slot::Value(best), Slot::Value(later)) => {
                    better(*how, Ordering::Greater, later.as_ref(), best);
                }
                (_, Slot::Count(n), Slot::Count(later)) => *n += later,
                (_, Slot::State(state), Slot::State(later)) => state.combine(later)?,
                // the value of the first row
                _ => {}
            }
        }
        Ok(())
    }

    /// The one group of no rows.
    pub fn of_no_rows(plan: &str, session: &SessionCell) -> Result<Groups> {
        let mut groups = Groups::new(Arc::new(Plan::parse(plan, session)?), 0, 0);
        groups.add(&Call::of_values(&[], session))?;
        Ok(groups)
    }

    /// Begins to read (again).
    pub fn rewind(&mut self) {
        (self.read, self.file, self.of_file) = (0, 0, None);
    }

    /// The columns of the next group.
    pub fn next(&mut self, session: &SessionCell) -> Result<Option<Vec<Datum>>> {
        if let Some(group) = self.groups.get_mut(self.read) {
            work::tick(1)?;
            self.read += 1;
            let values = group.iter_mut().map(|slot| match slot {
                Slot::Value(value) => Ok(value.clone()),
                Slot::Count(n) => Ok(Datum::Int(*n)),
                Slot::State(state) => state.value(session),
            });
            return values.collect::<Result<_>>().map(Some);
        }
        // bounded: the files that the groups went to
        while self.file < self.spilled.len() {
            let of_file = match &mut self.of_file {
                Some(groups) => groups,
                None => {
                    let mut groups = Groups::new(self.plan.clone(), self.width, self.depth + 1);
                    self.spilled[self.file].each(self.width, |row| groups.take(&Call::of_values(row, session)))?;
                    self.of_file.insert(Box::new(groups))
                }
            };
            if let Some(row) = of_file.next(session)? {
                return Ok(Some(row));
            }
            self.of_file = None;
            self.file += 1;
        }
        Ok(None)
    }
}

/// Takes a value in the place of another one that it is less or greater than.
/// The better one of two values. Of equal ones it is the last, but of strings with blanks at their ends the first (PostgreSQL's
/// `numeric_larger`, `bpchar_larger` …).
fn better(how: How, wanted: Ordering, value: DatumRef, best: &mut Datum) {
    let is_better = |order: Ordering| order == wanted || order == Ordering::Equal && how != How::Padded;
    if !value.is_null() && (best.is_null() || is_better(compare(how, value, best.as_ref()))) {
        *best = value.to_owned();
    }
}

/// The tables of groups that were made and not read yet.
#[derive(Default)]
pub struct Made {
    waiting: RefCell<VecDeque<(i64, Box<Groups>)>>,
    last: Cell<i64>,
    /// the table that was gathered for the statement that runs
    gathered: Cell<i64>,
}

/// A table is read as soon as it is made. What an error has left behind gives way to the next ones.
const WAITING: usize = 8;

impl Made {
    /// The table of the statement that begins now; None: it has no groups.
    pub fn gather(&self, groups: Option<Groups>) {
        self.gathered.set(groups.map_or(0, |groups| self.put(groups)));
    }

    fn put(&self, groups: Groups) -> i64 {
        self.last.set(self.last.get() + 1);
        let mut waiting = self.waiting.borrow_mut();
        if waiting.len() == WAITING {
            waiting.pop_front();
        }
        waiting.push_back((self.last.get(), Box::new(groups)));
        self.last.get()
    }

    /// The table with this number, which nobody has taken yet.
    pub fn take(&self, number: i64) -> Option<Box<Groups>> {
        let mut waiting = self.waiting.borrow_mut();
        let at = waiting.iter().position(|(n, _)| *n == number)?;
        waiting.remove(at).map(|(_, groups)| groups)
    }
}

/// The state of `pg_group`. Its value is the number of the table, 0 where there was no row.
#[derive(Default)]
struct Grouping(Option<Groups>);

impl State for Grouping {
    fn step(&mut self, call: &Call) -> Result<()> {
        let groups = match &mut self.0 {
            Some(groups) => groups,
            None => {
                let plan = Plan::parse(call.text(0)?, call.session)?;
                self.0.insert(Groups::new(Arc::new(plan), call.len(), 0))
            }
        };
        groups.take(call)
    }
    fn value(&mut self, session: &SessionCell) -> Result<Datum> {
        Ok(Datum::Int(self.0.take().map_or(0, |groups| session.groups.put(groups))))
    }
}

/// () → the number of the table of groups that was gathered
fn gathered(call: &Call) -> Result<Datum> {
    Ok(Datum::Int(call.session.groups.gathered.get()))
}

/// (name, arity, deterministic, function)
pub(crate) const FUNCTIONS: &[(&str, i32, bool, Scalar)] = &[(support::GATHERED, 0, false, gathered)];

/// The aggregate that keeps a table of groups.
pub const AGGREGATES: &[(&str, NewState)] = &[(support::GROUP, || Box::<Grouping>::default())];
