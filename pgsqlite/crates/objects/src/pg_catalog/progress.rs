//! pg_stat_progress_copy, pg_stat_progress_create_index, pg_stat_progress_cluster, pg_stat_progress_analyze: how far commands are that take long.
//!
//! What this server does not know is NULL, and COPY TO is not shown. SQLite builds an index in one go: its steps tell about how many rows it has read, and then loaded.

use super::cluster::known_databases;
use super::cumulative_statistics::{may_see, statistics};
use super::{int, text, Rows};
use pgsqlite_natives::statistics::progress::{Command, Progress};
use pgsqlite_natives::udf::session_cell::SessionState;
use pgsqlite_types::{work, Datum};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

type Columns = Vec<(&'static str, Datum)>;

/// The commands of these kinds that run now, each with the columns that all views have, and with others where the session may see them.
fn running(rows: &mut Rows, state: &SessionState, kinds: &[Command], others: impl Fn(&Arc<Progress>) -> Columns) {
    let Some(statistics) = statistics(state) else { return };
    let numbers = known_databases(state);
    for session in statistics.sessions() {
        work::visit();
        let Some(progress) = session.progress() else { continue };
        // (an index whose statement is being looked at, or an ALTER TABLE that builds none)
        let unbegun = progress.command == Command::CreateIndex && progress.relation() == 0;
        if unbegun || !kinds.contains(&progress.command) {
            continue;
        }
        let database = numbers.iter().find(|d| d.name == session.database);
        let mut row = vec![
            ("pid", int(session.pid)),
            ("datid", database.map(|d| d.number).into()),
            ("datname", text(database.map_or(&*session.database, |d| &*d.shown))),
        ];
        if may_see(state, session.user_oid) {
            row.push(("relid", if progress.relation() == 0 { Datum::Null } else { int(progress.relation()) }));
            row.extend(others(&progress));
        }
        rows.push(&row);
    }
}

fn count(counter: &AtomicU64) -> Datum {
    Datum::Int(counter.load(Ordering::Relaxed) as i64)
}

pub(super) fn copy(rows: &mut Rows, state: &SessionState) {
    running(rows, state, &[Command::CopyFrom], |progress| {
        vec![
            ("command", text("COPY FROM")),
            ("bytes_processed", count(&progress.done.bytes)),
            ("tuples_processed", count(&progress.done.rows)),
        ]
    });
}

pub(super) fn create_index(rows: &mut Rows, state: &SessionState) {
    running(rows, state, &[Command::CreateIndex, Command::Reindex], |progress| {
        // (SQLite reindexes a table in one go, without a word)
        let unknown = if progress.command == Command::Reindex { "building index" } else { "initializing" };
        let built = progress.built();
        let number = |rows: Option<u64>| rows.map_or(Datum::Null, |rows| Datum::Int(rows as i64));
        vec![
            ("index_relid", int(progress.index())),
            ("command", text(if progress.command == Command::CreateIndex { "CREATE INDEX" } else { "REINDEX" })),
            ("phase", text(built.map_or(unknown, |built| built.phase))),
            ("tuples_total", number(built.map(|built| built.total))),
            ("tuples_done", number(built.map(|built| built.rows))),
        ]
    });
}

/// VACUUM FULL.
pub(super) fn cluster(rows: &mut Rows, state: &SessionState) {
    running(rows, state, &[Command::VacuumFull], |progress| {
        vec![
            ("command", text("VACUUM FULL")),
            ("phase", text("seq scanning heap")),
            ("heap_blks_total", count(&progress.total.pages)),
        ]
    });
}

/// VACUUM without FULL has nothing to do that takes time.
pub(super) fn vacuum(_: &mut Rows, _: &SessionState) {}

pub(super) fn analyze(rows: &mut Rows, state: &SessionState) {
    running(rows, state, &[Command::Analyze], |_| vec![("phase", text("acquiring sample rows"))]);
}
