//! pg_locks: the locks that this server has, in PostgreSQL's terms.
//!
//! * `advisory`: as PostgreSQL shows them
//! * `virtualxid`: each running transaction holds its own
//! * `relation`: what LOCK TABLE names, and what the data modifications of a transaction block change
//! * prepared transactions hold their number, relations and advisory locks; they have no process
//! * `transactionid`: who has a transaction's number, the database's writer slot, or locks on rows, holds it; who waits for the slot or for a row
//!   waits for its holder
//!
//! Who reads a relation or changes its definition keeps nobody from it in this way.

use super::cluster::{known_databases, KnownDatabase};
use super::{int, text, Rows};
use pgsqlite_natives::statistics::activity::{Activity, Wait};
use pgsqlite_natives::udf::session_cell::{AdvisoryKey, LockHolder, ServerFunctions, SessionState};
use pgsqlite_types::datetime::Timestamp;
use pgsqlite_types::work;
use pgsqlite_types::{Datum, Oid};
use std::sync::Arc;

/// The modes of locks on relations by their numbers.
const MODES: [&str; 9] = [
    "",
    "AccessShareLock",
    "RowShareLock",
    "RowExclusiveLock",
    "ShareUpdateExclusiveLock",
    "ShareLock",
    "ShareRowExclusiveLock",
    "ExclusiveLock",
    "AccessExclusiveLock",
];
const SHARE_UPDATE_EXCLUSIVE: i32 = 4;
/// The OID of the view itself.
const PG_LOCKS: pgsqlite_types::Oid = 12073;

/// A session with what it holds.
struct Holder {
    activity: Arc<Activity>,
    locks: LockHolder,
}

impl Holder {
    fn waits_for_slot(&self) -> bool {
        self.activity.wait() == Wait::Writer
    }

    /// Whether the session waits for the end of the other's transaction.
    fn waits_for(&self, other: &Holder) -> bool {
        match self.activity.wait() {
            Wait::Writer => other.keeps_from_slot(self),
            Wait::Transaction => self.locks.waits_for.contains(&other.locks.session),
            _ => false,
        }
    }

    /// Whether the session keeps the other from the writer slot.
    fn keeps_from_slot(&self, other: &Holder) -> bool {
        let (own, other) = (&self.activity, &other.activity);
        self.locks.slot && own.number != other.number && own.database == other.database
    }
}

fn holders(server: &dyn ServerFunctions) -> Vec<Holder> {
    let Some(statistics) = server.statistics() else { return vec![] };
    let sessions = statistics.sessions();
    let of = |number: u64| sessions.iter().find(|s| s.number == number).cloned();
    let all = server.lock_holders(&|number| of(number).is_some_and(|a| a.writes()));
    all.into_iter().filter_map(|locks| Some(Holder { activity: of(locks.session)?, locks })).collect()
}

/// `pg_blocking_pids`: the sessions that another one waits for.
pub(crate) fn blocking_pids(server: &dyn ServerFunctions, pid: i32) -> Vec<i32> {
    let all = holders(server);
    let Some(waiting) = all.iter().find(|h| h.activity.pid == pid) else { return vec![] };
    let mut pids: Vec<i32> = all
        .iter()
        .filter(|h| {
            waiting.locks.waits_for.contains(&h.locks.session) || waiting.waits_for_slot() && h.keeps_from_slot(waiting)
        })
        .map(|h| h.activity.pid)
        .collect();
    // (a prepared transaction has no process: it is 0)
    let prepared = server.prepared_transactions();
    pids.extend(prepared.iter().filter(|p| waiting.locks.waits_for.contains(&p.locks.session)).map(|_| 0));
    pids.sort_unstable();
    pids
}

pub(super) fn locks(rows: &mut Rows, state: &SessionState) {
    let Some(server) = &state.server else { return };
    let databases = known_databases(state);
    let all = holders(&**server);
    // who asks reads this view
    if let Some(own) = all.iter().find(|h| h.activity.pid == state.backend_pid) {
        rows.push(&[
            ("locktype", text("relation")),
            ("database", databases.iter().find(|d| d.name == own.activity.database).map(|d| d.number).into()),
            ("relation", int(PG_LOCKS)),
            ("virtualtransaction", text(format!("{}/{}", own.activity.number, own.activity.live().transactions))),
            ("pid", int(state.backend_pid)),
            ("mode", text("AccessShareLock")),
            ("granted", true.into()),
            ("fastpath", true.into()),
        ]);
    }
    for holder in &all {
        work::visit();
        push_holder(rows, holder, &all, &databases);
    }
    let database = databases.iter().find(|d| d.name == *state.database).map(|d| d.number);
    for prepared in server.prepared_transactions() {
        work::visit();
        // (what is stored has no process, and its virtual transaction is its number: manual, "pg_locks")
        let own = format!("-1/{}", prepared.number as u32);
        push_locks(rows, &own, Datum::Null, database, &prepared.locks, &|_| true);
    }
}

/// pg_prepared_xacts: those of this database.
pub(super) fn prepared_transactions(rows: &mut Rows, state: &SessionState) {
    let Some(server) = &state.server else { return };
    for prepared in server.prepared_transactions() {
        work::visit();
        rows.push(&[
            ("transaction", Datum::Int(prepared.number as u32 as i64)),
            ("gid", text(&*prepared.gid)),
            ("prepared", text(Timestamp(prepared.prepared).to_storage())),
            ("owner", state.catalog.role_name(prepared.owner).map_or(Datum::Null, text)),
            ("database", text(&*state.database)),
        ]);
    }
}

fn push_holder(rows: &mut Rows, holder: &Holder, all: &[Holder], databases: &[KnownDatabase]) {
    let (activity, live) = (&holder.activity, holder.activity.live());
    let running = live.transaction_start.is_some();
    // (between its transactions a session has the number 0 of one)
    let own = format!("{}/{}", activity.number, if running { live.transactions } else { 0 });
    let mut push = |kind: &str, granted: bool, mode: &str, fast: bool, more: &[(&'static str, Datum)]| {
        let mut row = vec![
            ("locktype", text(kind)),
            ("virtualtransaction", text(&*own)),
            ("pid", int(activity.pid)),
            ("mode", text(mode)),
            ("granted", granted.into()),
            ("fastpath", fast.into()),
        ];
        row.extend_from_slice(more);
        rows.push(&row);
    };
    if running {
        push("virtualxid", true, "ExclusiveLock", true, &[("virtualxid", text(&*own))]);
    }
    if matches!(activity.wait(), Wait::Writer | Wait::Transaction) {
        let keeper = all.iter().find(|h| holder.waits_for(h));
        let number = keeper.and_then(|h| h.locks.transaction).map_or(Datum::Null, |n| Datum::Int(n as u32 as i64));
        let since = text(Timestamp(activity.waits_since()).to_storage());
        push("transactionid", false, "ShareLock", false, &[("transactionid", number), ("waitstart", since)]);
    }
    let database = databases.iter().find(|d| d.name == activity.database).map(|d| d.number);
    // weak ones are noted by the sessions themselves, as long as nobody has a strong one
    let is_strong = |relation: Oid| {
        all.iter().any(|h| {
            h.activity.database == activity.database
                && h.locks.relations.iter().any(|(r, m, _)| *r == relation && *m > SHARE_UPDATE_EXCLUSIVE)
        })
    };
    push_locks(rows, &own, int(activity.pid), database, &holder.locks, &is_strong);
}

/// The locks of a session, or of a transaction without one: its number, relations, advisory locks. `own`: its virtual transaction.
fn push_locks(
    rows: &mut Rows,
    own: &str,
    pid: Datum,
    database: Option<i64>,
    locks: &LockHolder,
    is_strong: &dyn Fn(Oid) -> bool,
) {
    let mut push = |kind: &str, granted: bool, mode: &str, fast: bool, more: &[(&'static str, Datum)]| {
        let mut row = vec![
            ("locktype", text(kind)),
            ("virtualtransaction", text(own)),
            ("pid", pid.clone()),
            ("mode", text(mode)),
            ("granted", granted.into()),
            ("fastpath", fast.into()),
        ];
        row.extend_from_slice(more);
        rows.push(&row);
    };
    if let Some(number) = locks.transaction {
        push("transactionid", true, "ExclusiveLock", false, &[("transactionid", Datum::Int(number as u32 as i64))]);
    }
    for &(relation, mode, waits_since) in &locks.relations {
        work::visit();
        let name = MODES.get(mode as usize).copied().unwrap_or_default();
        let mut more = vec![("database", database.into()), ("relation", int(relation))];
        if let Some(at) = waits_since {
            more.push(("waitstart", text(Timestamp(at).to_storage())));
        }
        let fast = waits_since.is_none() && mode < SHARE_UPDATE_EXCLUSIVE && !is_strong(relation);
        push("relation", waits_since.is_none(), name, fast, &more);
    }
    for lock in &locks.advisory {
        work::visit();
        let (class, object, sub) = match lock.key {
            AdvisoryKey::One(key) => ((key >> 32) as u32, key as u32, 1),
            AdvisoryKey::Two(class, object) => (class as u32, object as u32, 2),
        };
        let mode = if lock.shared { "ShareLock" } else { "ExclusiveLock" };
        push(
            "advisory",
            lock.waits_since.is_none(),
            mode,
            false,
            &[
                ("database", database.into()),
                ("classid", int(class)),
                ("objid", int(object)),
                ("objsubid", int(sub)),
                ("waitstart", lock.waits_since.map_or(Datum::Null, |at| text(Timestamp(at).to_storage()))),
            ],
        );
    }
}
