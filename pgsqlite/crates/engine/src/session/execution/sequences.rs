//! Sequences: their values live in memory, shared by all sessions, and are stored with the transaction that used them.
//!
//! A value is given once while the process lives, also after a rollback. A commit sees to it that the file knows of the highest
//! value given so far; what a crash can take back was seen by no committed transaction (PostgreSQL gives the same promise:
//! manual, "Sequence Manipulation Functions").
//!
//! As PostgreSQL does in its log, the file is told a value that lies [`AHEAD`] values further: the commits that take those have
//! nothing to store, which is a page less to write for each row of a serial column. A crash leaves a gap there. Shutting down, a
//! copy of the database and DDL find each sequence where it really stands ([`SessionSequences::settle`], [`Engine::settle_sequences`]).

use crate::connection::Connection;
use crate::engine::Engine;
use crate::sequence_state::{Sequences, State, ToStore, AHEAD, MOST_AHEAD};
use parking_lot::Mutex;
use pgsqlite_metadata::store;
use pgsqlite_natives::udf::session_cell::SequenceSource;
use pgsqlite_sql::catalog::{Catalog, RelationKind, Sequence};
use pgsqlite_sql::names::quoted;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Weak};

/// A state that the running transaction stores.
struct Storing {
    sequence: Oid,
    last: i64,
    version: u64,
}

/// The sequences as one session sees them.
pub struct SessionSequences {
    pub engine: Weak<Engine>,
    /// the session, which waits for others that change a sequence
    pub(crate) server: Arc<crate::session::execution::server_functions::SessionServer>,
    pub(crate) locks: crate::locks::lock_table::LockTable,
    pub own: Mutex<Own>,
}

#[derive(Default)]
pub struct Own {
    pub catalog: Arc<Catalog>,
    /// whose privileges count
    pub user: Oid,
    /// the transaction is
    pub read_only: bool,
    /// what nextval gave last in this session
    current: HashMap<Oid, i64>,
    last_used: Option<Oid>,
    /// changed by the running transaction: to be stored with it
    pub dirty: BTreeSet<Oid>,
    /// changed by transactions that were rolled back: nobody's commit depends on them, the next write stores them
    left_over: BTreeSet<Oid>,
    /// what the running transaction has stored; then what of it is not yet on disk
    storing: Vec<Storing>,
}

impl SessionSequences {
    /// DISCARD SEQUENCES
    pub fn discard(&self) {
        let mut own = self.own.lock();
        own.current.clear();
        own.last_used = None;
    }

    /// 42501 unless the session's role has one of the privileges on the sequence. The sequence of an identity column
    /// goes with the privilege to insert into its table.
    fn check_privilege(&self, oid: Oid, needed: u32) -> Result<()> {
        use pgsqlite_sql::acl;
        let own = self.own.lock();
        let Some(relation) = own.catalog.relation(oid) else { return Ok(()) };
        if acl::relation_privileges(&own.catalog, own.user, relation) & needed != 0 {
            return Ok(());
        }
        if let RelationKind::Sequence(Sequence { identity: true, owned_by: Some((table, _)), .. }) = &relation.kind {
            let inserts = own
                .catalog
                .relation(*table)
                .is_some_and(|t| acl::relation_privileges(&own.catalog, own.user, t) & acl::privilege::INSERT != 0);
            if inserts {
                return Ok(());
            }
        }
        Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied for sequence {}", relation.name)))
    }

    /// 25006 in a read-only transaction, unless the sequence is temporary.
    fn check_writable(&self, oid: Oid, function: &str) -> Result<()> {
        let own = self.own.lock();
        if !own.read_only || own.catalog.relation(oid).is_some_and(|r| r.temporary) {
            return Ok(());
        }
        Err(PgError::new(
            SqlState::READ_ONLY_SQL_TRANSACTION,
            format!("cannot execute {function} in a read-only transaction"),
        ))
    }

    fn definition(&self, oid: Oid) -> Result<(String, Sequence)> {
        let own = self.own.lock();
        match own.catalog.relation(oid).map(|r| (r.name.clone(), r.kind.clone())) {
            Some((name, RelationKind::Sequence(sequence))) => Ok((name, sequence)),
            Some((name, _)) => Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a sequence"))),
            None => Err(PgError::new(SqlState::UNDEFINED_TABLE, format!("could not open relation with OID {oid}"))),
        }
    }

    /// Runs with the sequence's state, loaded if this is its first use since start.
    fn with_state<R>(&self, oid: Oid, definition: &Sequence, f: impl FnOnce(&mut State) -> Result<R>) -> Result<R> {
        let engine = self.engine.upgrade().ok_or_else(|| PgError::shut_down())?;
        let mut all = engine.sequences.lock();
        match all.entry(oid) {
            Entry::Occupied(mut found) => f(found.get_mut()),
            Entry::Vacant(place) => f(place.insert(engine.load_sequence(oid, definition)?)),
        }
    }
}

/// What transactions do with the file.
impl SessionSequences {
    /// What of this transaction's values the file on disk does not cover.
    pub fn to_store(&self) -> ToStore {
        let mut own = self.own.lock();
        if own.dirty.is_empty() {
            return ToStore::Nothing;
        }
        let Some(engine) = self.engine.upgrade() else { return ToStore::Nothing };
        let all = engine.sequences.lock();
        let due = own.dirty.iter().map(|oid| match (all.get(oid), stored_sequence(&own.catalog, *oid)) {
            (Some(state), Some(definition)) if !state.is_covered(state.durable, definition.increment) => ToStore::Now,
            (Some(state), Some(definition)) if state.runs_low(definition) => ToStore::Soon,
            _ => ToStore::Nothing,
        });
        let due = due.max().unwrap_or(ToStore::Nothing);
        drop(all);
        if due == ToStore::Nothing {
            own.dirty.clear();
        }
        due
    }

    /// A transaction that only took values stores further ahead than others; `waited`: it had to wait for the writer slot to do so.
    pub fn reach_further(&self, waited: bool) {
        let own = self.own.lock();
        let Some(engine) = self.engine.upgrade() else { return };
        let mut all = engine.sequences.lock();
        for oid in &own.dirty {
            if let Some(state) = all.get_mut(oid) {
                let ahead = if waited { state.ahead.saturating_mul(2) } else { state.ahead };
                state.ahead = ahead.clamp(2 * AHEAD, MOST_AHEAD);
            }
        }
    }

    /// Stores where the sequences stand that this transaction used, where the file does not cover that, or will not for long. Returns whether some of it is
    /// covered by commits that may not be on disk yet.
    pub fn store(&self, catalog: &Catalog, db: &rusqlite::Connection) -> Result<bool> {
        let own = &mut *self.own.lock();
        if own.dirty.is_empty() && own.left_over.is_empty() {
            return Ok(false);
        }
        let mut rests_on_others = false;
        let engine = self.engine.upgrade().ok_or_else(|| PgError::shut_down())?;
        let mut changed = std::mem::take(&mut own.dirty);
        changed.append(&mut own.left_over);
        for sequence in changed {
            let state = engine.sequences.lock().get(&sequence).copied();
            let (Some(state), Some(definition)) = (state, stored_sequence(catalog, sequence)) else { continue };
            let low = state.ahead > AHEAD && state.runs_low(definition);
            if state.is_covered(state.stored, definition.increment) && !low {
                rests_on_others |= !state.is_covered(state.durable, definition.increment);
            } else {
                let (last, called) = state.to_store(definition);
                store::storing::put_sequence_state(db, sequence, last, called)?;
                if called {
                    own.storing.push(Storing { sequence, last, version: state.version });
                }
            }
        }
        Ok(rests_on_others)
    }

    /// The transaction has been committed: later commits come after it in the log, and need not store again what it has stored.
    pub fn committed(&self) {
        self.mark(|state, last| state.stored = Some(last));
    }

    /// … and it is on disk: values that it covers may be told to a client without any commit.
    pub fn durable(&self) {
        self.mark(|state, last| state.durable = Some(last));
        self.own.lock().storing.clear();
    }

    /// … and nobody waits for the disk: what it has stored may be lost.
    pub fn not_durable(&self) {
        self.own.lock().storing.clear();
    }

    /// The transaction has been rolled back. The values that it took stay taken; nobody's commit depends on them.
    pub fn rolled_back(&self) {
        let own = &mut *self.own.lock();
        own.storing.clear();
        own.left_over.append(&mut own.dirty);
    }

    fn mark(&self, set: impl Fn(&mut State, i64)) {
        let own = self.own.lock();
        if own.storing.is_empty() {
            return;
        }
        let Some(engine) = self.engine.upgrade() else { return };
        let mut all = engine.sequences.lock();
        for storing in &own.storing {
            if let Some(state) = all.get_mut(&storing.sequence).filter(|s| s.version == storing.version) {
                set(state, storing.last);
            }
        }
    }
}

/// The definition of a sequence whose state is in the file: not a temporary one.
fn stored_sequence(catalog: &Catalog, oid: Oid) -> Option<&Sequence> {
    match catalog.relation(oid).map(|r| (r.temporary, &r.kind)) {
        Some((false, RelationKind::Sequence(sequence))) => Some(sequence),
        _ => None,
    }
}

/// Stores where all sequences really stand. Until that is committed, the file is not taken to cover anything.
fn settle(all: &mut HashMap<Oid, State>, db: &rusqlite::Connection, mut stored: impl FnMut(Storing)) -> Result<()> {
    for (&sequence, state) in all {
        // (nothing to do for most: the file says so already)
        if state.stored != Some(state.last) || !state.called {
            store::storing::move_sequence(db, sequence, state.last, state.called)?;
            // what other sessions have stored before, and not marked yet, is behind this in the file
            (state.stored, state.durable, state.version) = (None, None, pgsqlite_metadata::counter::next_number());
            if state.called {
                stored(Storing { sequence, last: state.last, version: state.version });
            }
        }
    }
    Ok(())
}

impl SequenceSource for SessionSequences {
    fn settle(&self, db: &rusqlite::Connection) -> Result<()> {
        let engine = self.engine.upgrade().ok_or_else(|| PgError::shut_down())?;
        let mut own = self.own.lock();
        let mut all = engine.sequences.lock();
        settle(&mut all, db, |stored| own.storing.push(stored))
    }

    fn show_catalog(&self, catalog: Arc<Catalog>) {
        self.own.lock().catalog = catalog;
    }
    fn nextval(&self, oid: Oid) -> Result<i64> {
        use pgsqlite_sql::acl::privilege::{UPDATE, USAGE};
        if self.locks.has_relations() && self.server.heed_sequence(oid)? {
            // the definition of before is no more; who waited for another's DDL has none of its own
            let engine = self.engine.upgrade().ok_or_else(|| PgError::shut_down())?;
            let mut own = self.own.lock();
            if !own.catalog.relations.values().any(|r| r.temporary) {
                own.catalog = engine.catalog();
            }
        }
        let (name, definition) = self.definition(oid)?;
        self.check_privilege(oid, USAGE | UPDATE)?;
        self.check_writable(oid, "nextval()")?;
        let value = self.with_state(oid, &definition, |state| {
            let next = if state.called { state.last.checked_add(definition.increment) } else { Some(state.last) };
            let value = match next.filter(|v| (definition.min..=definition.max).contains(v)) {
                Some(v) => v,
                None if definition.cycle => {
                    let first = if definition.increment > 0 { definition.min } else { definition.max };
                    *state = State::at(first, true);
                    first
                }
                None => {
                    let (what, bound) = if definition.increment > 0 {
                        ("maximum", definition.max)
                    } else {
                        ("minimum", definition.min)
                    };
                    return Err(PgError::new(
                        SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
                        format!("nextval: reached {what} value of sequence \"{name}\" ({bound})"),
                    ));
                }
            };
            (state.last, state.called, state.set) = (value, true, false);
            Ok(value)
        })?;
        let mut own = self.own.lock();
        own.current.insert(oid, value);
        own.last_used = Some(oid);
        own.dirty.insert(oid);
        Ok(value)
    }

    fn currval(&self, oid: Oid) -> Result<i64> {
        use pgsqlite_sql::acl::privilege::{SELECT, USAGE};
        let (name, _) = self.definition(oid)?;
        self.check_privilege(oid, USAGE | SELECT)?;
        self.own.lock().current.get(&oid).copied().ok_or_else(|| {
            PgError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("currval of sequence \"{name}\" is not yet defined in this session"),
            )
        })
    }

    fn lastval(&self) -> Result<i64> {
        use pgsqlite_sql::acl::privilege::{SELECT, USAGE};
        let undefined =
            || PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "lastval is not yet defined in this session");
        let (oid, value) = {
            let own = self.own.lock();
            own.last_used.and_then(|oid| Some((oid, own.current.get(&oid).copied()?))).ok_or_else(undefined)?
        };
        // it may have been dropped since
        self.definition(oid).map_err(|_| undefined())?;
        self.check_privilege(oid, USAGE | SELECT)?;
        Ok(value)
    }

    fn state(&self, oid: Oid) -> Result<(i64, bool)> {
        let (_, definition) = self.definition(oid)?;
        let state = self.with_state(oid, &definition, |state| Ok(*state))?;
        Ok((state.last, state.called))
    }

    fn given(&self, oid: Oid, value: i64) {
        let mut own = self.own.lock();
        own.current.insert(oid, value);
        own.last_used = Some(oid);
    }

    fn last_value(&self, oid: Oid) -> Result<Option<i64>> {
        if self.definition(oid)?.1.row_numbers.is_some() {
            // (what is committed: this is asked for by views of all sequences)
            let engine = self.engine.upgrade().ok_or_else(|| PgError::shut_down())?;
            let keeper = engine.keeper();
            let Some(connection) = &*keeper else { return Err(PgError::shut_down()) };
            let catalog = self.own.lock().catalog.clone();
            return store::sequence_relation::highest_row_number(connection.rusqlite(), &catalog, oid);
        }
        let (last, called) = self.state(oid)?;
        Ok(called.then_some(last))
    }

    fn setval(&self, oid: Oid, value: i64, called: bool) -> Result<i64> {
        let (name, definition) = self.definition(oid)?;
        self.check_privilege(oid, pgsqlite_sql::acl::privilege::UPDATE)?;
        self.check_writable(oid, "setval()")?;
        if !(definition.min..=definition.max).contains(&value) {
            return Err(PgError::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                format!(
                    "setval: value {value} is out of bounds for sequence \"{name}\" ({}..{})",
                    definition.min, definition.max
                ),
            ));
        }
        self.with_state(oid, &definition, |state| {
            *state = State { set: true, ..State::at(value, called) };
            Ok(())
        })?;
        let mut own = self.own.lock();
        if called {
            own.current.insert(oid, value);
        }
        own.dirty.insert(oid);
        Ok(value)
    }
}

/// The highest whole number in a column. None: there is none, or no such table: one of a running transaction is not there yet for other
/// connections, and nothing is in it.
fn highest_in(db: &rusqlite::Connection, table: &str, column: &str) -> Result<Option<i64>> {
    use rusqlite::types::Value;
    let exists = "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ?1)";
    if !db.query_row(exists, [table], |r| r.get::<_, bool>(0)).map_err(store::sqlite_error)? {
        return Ok(None);
    }
    let sql = format!("SELECT max({0}) FROM main.{1}", quoted(column), quoted(table));
    match db.query_row(&sql, [], |r| r.get::<_, Value>(0)).map_err(store::sqlite_error)? {
        Value::Integer(max) => Ok(Some(max)),
        Value::Null => Ok(None),
        // another program has stored a text or a fraction, which sorts behind all whole numbers
        _ => {
            let sql = format!("{sql} WHERE typeof({}) = 'integer'", quoted(column));
            db.query_row(&sql, [], |r| r.get(0)).map_err(store::sqlite_error)
        }
    }
}

impl Engine {
    /// Stores in a closed copy of the database, or before the database itself is closed (None), where the sequences stand.
    pub(crate) fn settle_sequences(&self, copy: Option<&Path>) -> Result<()> {
        let mut all = self.sequences.lock();
        if all.values().all(|state| state.stored == Some(state.last)) {
            return Ok(());
        }
        let keeper = self.keeper();
        let opened = copy.map(Connection::open).transpose()?;
        let Some(connection) = opened.as_ref().or(keeper.as_ref()) else { return Ok(()) };
        if store::version(connection.rusqlite())?.is_none() {
            return Ok(());
        }
        if opened.is_some() {
            // whoever gives the copy its name syncs it
            connection.exec("PRAGMA synchronous = OFF")?;
        }
        connection.in_transaction("BEGIN IMMEDIATE", || settle(&mut all, connection.rusqlite(), |_| ()))
    }

    /// Where the sequences stand that were used since the start.
    pub(crate) fn standing_sequences(&self) -> Sequences {
        self.sequences.lock().clone()
    }

    /// In a new copy of the database whose sequences stand at `standing`: the copy's file may say less of them.
    pub(crate) fn continue_sequences(&self, standing: Sequences) {
        let catalog = self.catalog();
        // (neither temporary ones, nor those of transactions that are not committed)
        let own = standing.into_iter().filter(|(oid, _)| stored_sequence(&catalog, *oid).is_some());
        let unstored = |(oid, state)| (oid, State { stored: None, durable: None, ..state });
        *self.sequences.lock() = own.map(unstored).collect();
    }

    /// Before the database is closed. A failure leaves a gap, as a crash does.
    pub fn settle_before_close(&self) {
        if self.in_recovery() {
            return;
        }
        if let Err(error) = self.settle_sequences(None) {
            tracing::warn!(%error, "the next values of sequences will come after a gap");
        }
    }

    /// The stored state; for a column's sequence never behind the column's values (another program may have inserted).
    fn load_sequence(&self, oid: Oid, definition: &Sequence) -> Result<State> {
        let keeper = self.keeper();
        let Some(connection) = &*keeper else { return Err(PgError::shut_down()) };
        let db = connection.rusqlite();
        let mut state = State::at(definition.start, false);
        // (numbers of temporary objects come again in every process)
        if oid < pgsqlite_sql::catalog::FIRST_TEMPORARY_OID && store::version(db)?.is_some() {
            if let Some((last, called)) = store::sequence_state(db, oid)? {
                state = State::at(last, called);
                if called {
                    (state.stored, state.durable) = (Some(last), Some(last));
                }
            }
        }
        if let Some((table, attnum)) = definition.owned_by.filter(|_| definition.increment > 0) {
            let catalog = self.catalog();
            if let Some((relation, column)) =
                catalog.relation(table).and_then(|r| Some((r, r.column_by_attnum(attnum)?)))
            {
                if !relation.temporary {
                    if let Some(max) = highest_in(db, &relation.sqlite_name, &column.name)? {
                        if max > state.last || max == state.last && !state.called {
                            state = State::at(max, true);
                        }
                    }
                }
            }
        }
        Ok(state)
    }
}
