//! Large objects: contents that have an OID, and are read and written in pieces by the functions `lo_…` (`udf/large_objects.rs`).
//!
//! [`store`] has them in the file. Here are the descriptors by which a transaction holds them open.

pub mod store;

use pgsqlite_types::{Oid, PgError, Result, SqlState};

/// A large object that is open.
#[derive(Debug, Clone)]
pub struct Descriptor {
    pub object: Oid,
    /// where it stands
    pub place: u64,
    /// it may be written, and shows what is written meanwhile
    pub writes: bool,
    /// the object's version when it was opened ([`store::Found`])
    pub version: i64,
    /// counts the descriptors that were opened
    serial: u64,
}

/// The descriptors of a transaction, by number.
#[derive(Debug, Default)]
pub struct Descriptors {
    open: Vec<Option<Descriptor>>,
    opened: u64,
    /// how many had been opened at each savepoint
    marks: Vec<u64>,
}

impl Descriptors {
    /// A new descriptor; the lowest number that is free.
    pub fn open(&mut self, object: Oid, writes: bool, version: i64) -> i32 {
        self.opened += 1;
        let descriptor = Some(Descriptor { object, place: 0, writes, version, serial: self.opened });
        let free = self.open.iter().position(Option::is_none);
        let at = free.unwrap_or_else(|| {
            self.open.push(None);
            self.open.len() - 1
        });
        self.open[at] = descriptor;
        at as i32
    }

    /// Errors: 42704.
    pub fn get(&mut self, number: i64) -> Result<&mut Descriptor> {
        let found = usize::try_from(number).ok().and_then(|n| self.open.get_mut(n)?.as_mut());
        found.ok_or_else(|| {
            PgError::new(SqlState::UNDEFINED_OBJECT, format!("invalid large-object descriptor: {number}"))
        })
    }

    /// Errors: 42704.
    pub fn close(&mut self, number: i64) -> Result<()> {
        self.get(number)?;
        self.open[number as usize] = None;
        Ok(())
    }

    /// The object is gone.
    pub fn close_of(&mut self, object: Oid) {
        self.close_where(|d| d.object == object);
    }

    /// The transaction ends.
    pub fn close_all(&mut self) {
        if self.opened > 0 {
            *self = Descriptors::default();
        }
    }

    /// How many have been opened: what [`Descriptors::close_since`] takes.
    pub fn mark(&self) -> u64 {
        self.opened
    }

    /// What has been done since is undone: those that were opened are closed.
    pub fn close_since(&mut self, mark: u64) {
        self.close_where(|d| d.serial > mark);
    }

    /// The savepoint of this number is made.
    pub fn savepoint(&mut self, number: usize) {
        self.marks.resize(number, self.opened);
        self.marks.push(self.opened);
    }

    /// The transaction is again as it was at this savepoint.
    pub fn rollback_to(&mut self, number: usize) {
        if let Some(mark) = self.marks.get(number).copied() {
            self.marks.truncate(number + 1);
            self.close_since(mark);
        }
    }

    fn close_where(&mut self, gone: impl Fn(&Descriptor) -> bool) {
        for place in &mut self.open {
            if place.as_ref().is_some_and(&gone) {
                *place = None;
            }
        }
    }
}
