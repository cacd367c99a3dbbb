//! The locks of prepared transactions ([`crate::session::transaction::two_phase`]): as data to be stored, and held again when the database is opened.

use crate::changes::table::Table;
use crate::connection::Connection;
use crate::engine::Engine;
use crate::locks::row_locks::{Row, RowMode};
use crate::locks::{Mode, Request, Target};
use crate::prepared::{Claim, Transaction};
use crate::session::execution::server_functions::next_session;
use crate::session::transaction::resting::{end_of, footprint};
use crate::transactions::Number;
use pgsqlite_metadata::store::prepared::{self, damaged, Locks, Record};
use pgsqlite_natives::udf::session_cell::AdvisoryKey;
use pgsqlite_types::Result;
use std::sync::Arc;

/// Gives back the locks that are held for no session.
pub(in crate::session) fn release(engine: &Engine, holder: u64) {
    engine.rows.release(holder);
    engine.locks.release_all(holder, true);
}

/// A prepared transaction has ended, or was not prepared after all.
pub(in crate::session) fn end(engine: &Engine, claim: Claim, committed: bool) {
    let Some(transaction) = claim.end() else { return };
    let Transaction { holder, watched, .. } = *transaction;
    if let Some(watched) = watched.filter(|_| committed) {
        watched.committed();
    }
    release(engine, holder);
}

/// Others wait for the end of a holder's transaction where they meet its rows.
pub(in crate::session) fn hold_end(engine: &Engine, holder: u64) {
    if let Some(holder) = engine.rows.holder(holder) {
        engine.locks.hold(end_of(holder));
    }
}

impl Engine {
    /// The file has been opened: its prepared transactions hold their locks again. `keeper`: a connection that sees the file.
    pub(crate) fn restore_prepared(&self, keeper: &Connection) -> Result<()> {
        for (record, is_whole) in prepared::all(keeper.rusqlite())? {
            pgsqlite_metadata::counter::pass(record.number);
            let holder = next_session();
            let tables = match is_whole {
                true => self.restore_locks(keeper, &record, holder),
                false => Err(damaged(&record.gid)),
            };
            if let Err(e) = &tables {
                tracing::error!(gid = record.gid, "a prepared transaction cannot be committed: {e}");
                release(self, holder);
            }
            // what it has read is not known any more
            let watched = record.locks.serializable.then(|| self.serializable.begin(false));
            if let Some(watched) = &watched {
                watched.touches_anything()?;
                watched.prepare()?;
            }
            let transaction = Transaction {
                number: Number::of_prepared(record.number),
                prepared: record.prepared,
                owner: record.owner,
                holder,
                tables: tables.ok(),
                watched,
            };
            self.prepared.reserve(&record.gid, usize::MAX)?.hold(transaction);
        }
        Ok(())
    }

    fn restore_locks(&self, keeper: &Connection, record: &Record, holder: u64) -> Result<Vec<Arc<Table>>> {
        let log = prepared::changes(keeper.rusqlite(), &record.gid)?;
        let tables = self.tables_of(keeper, &log)?;
        let same = |(table, columns): (&Arc<Table>, &Vec<String>)| table.columns == *columns;
        let columns = &record.locks.columns;
        let fits = |c: &pgsqlite_storage::changes::change_log::Change| {
            log.old(c).or_else(|| log.new_row(c)).is_some_and(|row| row.len() == tables[c.table].columns.len())
        };
        if tables.len() != columns.len() || !tables.iter().zip(columns).all(same) || !log.changes().iter().all(fits) {
            return Err(damaged(&record.gid));
        }
        let footprint = footprint(keeper, &log, &tables, 0)?;
        self.rows.put_aside(holder, footprint);
        for (row, mode) in rows_of(&record.locks) {
            if self.rows.try_lock(holder, row, mode).is_err() {
                return Err(damaged(&record.gid));
            }
        }
        for (target, mode) in table_of(&record.locks) {
            self.locks.hold(Request { session: holder, target, mode, transaction: true });
        }
        hold_end(self, holder);
        Ok(tables)
    }
}

/// Adds a lock of the database's table.
pub(in crate::session) fn add(locks: &mut Locks, target: Target, mode: Mode) {
    let shared = mode == Mode::Share;
    match target {
        Target::Relation(oid) => locks.relations.push((oid, mode as i32)),
        Target::Advisory(AdvisoryKey::One(key)) => locks.advisory.push((key, shared)),
        Target::Advisory(AdvisoryKey::Two(one, two)) => locks.advisory_pairs.push((one, two, shared)),
        // (it has a number of its own after each start)
        Target::Transaction(_) | Target::Turn(_) => {}
    }
}

/// The locks of the database's table.
fn table_of(locks: &Locks) -> impl Iterator<Item = (Target, Mode)> + '_ {
    let relations = locks.relations.iter().filter_map(|&(o, m)| Some((Target::Relation(o), Mode::numbered(m)?)));
    let one = locks.advisory.iter().map(|&(k, s)| (Target::Advisory(AdvisoryKey::One(k)), Mode::advisory(s)));
    let two = locks.advisory_pairs.iter();
    let two = two.map(|&(a, b, s)| (Target::Advisory(AdvisoryKey::Two(a, b)), Mode::advisory(s)));
    relations.chain(one).chain(two)
}

/// The rows that were locked by themselves.
fn rows_of(locks: &Locks) -> impl Iterator<Item = (Row, RowMode)> + '_ {
    locks.rows.iter().filter_map(|(table, rowid, mode)| {
        Some((Row { table: table.as_str().into(), rowid: *rowid }, RowMode::numbered(*mode)?))
    })
}
