//! Sequences: their values live in memory, shared by all sessions, and are stored with the transaction that used them.
//!
//! A value is given once while the process lives, also after a rollback. A commit stores the highest value given so far;
//! what a crash can take back was seen by no committed transaction (PostgreSQL gives the same promise: manual, "Sequence
//! Manipulation Functions").

use crate::engine::Engine;
use crate::store;
use crate::udf::session_cell::SequenceSource;
use parking_lot::Mutex;
use pgsqlite_sql::catalog::{Catalog, RelationKind, Sequence};
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};

/// Where a sequence stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    pub last: i64,
    /// false: the next value is `last` itself
    pub called: bool,
}

/// The sequences as one session sees them.
pub struct SessionSequences {
    pub engine: Weak<Engine>,
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
    pub left_over: BTreeSet<Oid>,
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
        let engine = self.engine.upgrade().ok_or_else(|| PgError::internal("the engine is gone"))?;
        let mut all = engine.sequences.lock();
        match all.entry(oid) {
            Entry::Occupied(mut found) => f(found.get_mut()),
            Entry::Vacant(place) => f(place.insert(engine.load_sequence(oid, definition)?)),
        }
    }
}

impl SequenceSource for SessionSequences {
    fn show_catalog(&self, catalog: Arc<Catalog>) {
        self.own.lock().catalog = catalog;
    }
    fn nextval(&self, oid: Oid) -> Result<i64> {
        use pgsqlite_sql::acl::privilege::{UPDATE, USAGE};
        let (name, definition) = self.definition(oid)?;
        self.check_privilege(oid, USAGE | UPDATE)?;
        self.check_writable(oid, "nextval()")?;
        let value = self.with_state(oid, &definition, |state| {
            let next = if state.called { state.last.checked_add(definition.increment) } else { Some(state.last) };
            let value = match next.filter(|v| (definition.min..=definition.max).contains(v)) {
                Some(v) => v,
                None if definition.cycle => {
                    if definition.increment > 0 {
                        definition.min
                    } else {
                        definition.max
                    }
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
            *state = State { last: value, called: true };
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

    fn last_value(&self, oid: Oid) -> Result<Option<i64>> {
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
            *state = State { last: value, called };
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

impl Engine {
    /// The stored state; for a column's sequence never behind the column's values (another program may have inserted).
    fn load_sequence(&self, oid: Oid, definition: &Sequence) -> Result<State> {
        let keeper = self.keeper();
        let Some(connection) = &*keeper else { return Err(PgError::internal("the engine is shut down")) };
        let db = connection.rusqlite();
        let mut state = State { last: definition.start, called: false };
        if store::version(db)?.is_some() {
            if let Some((last, called)) = store::sequence_state(db, oid)? {
                state = State { last, called };
            }
        }
        if let Some((table, attnum)) = definition.owned_by.filter(|_| definition.increment > 0) {
            let catalog = self.catalog();
            if let Some((relation, column)) =
                catalog.relation(table).and_then(|r| Some((r, r.column_by_attnum(attnum)?)))
            {
                if !relation.temporary {
                    let quote = |s: &str| format!("\"{}\"", s.replace('"', "\"\""));
                    let sql = format!("SELECT max({}) FROM main.{}", quote(&column.name), quote(&relation.sqlite_name));
                    // a table of the running transaction is not there yet for this connection: nothing to catch up with
                    if let Ok(Some(max)) = db.query_row(&sql, [], |r| r.get::<_, Option<i64>>(0)) {
                        if max > state.last || max == state.last && !state.called {
                            state = State { last: max, called: true };
                        }
                    }
                }
            }
        }
        Ok(state)
    }
}
