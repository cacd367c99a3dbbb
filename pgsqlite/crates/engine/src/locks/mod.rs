//! Locks in memory, and who waits for whom.
//!
//! * [`lock_table`]: what sessions hold and queue for: advisory locks and relations. A further kind of object is a further [`Target`].
//! * [`row_locks`]: the rows and keys that transactions hold.
//! * [`serializable`]: what SERIALIZABLE transactions have read and written.
//! * [`graph`]: the sessions that wait (for a lock of the table, for the writer slot, for a pooled connection), and the cycles among them.
//!
//! The locks belong to the database and are gone with the server, as PostgreSQL's are. A session is known by a number of its own.

pub(crate) mod graph;
pub(crate) mod lock_table;
pub(crate) mod row_locks;
pub(crate) mod serializable;

use pgsqlite_natives::udf::session_cell::AdvisoryKey;
use pgsqlite_types::Oid;

/// What can be locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    Advisory(AdvisoryKey),
    Relation(Oid),
    /// the end of a transaction
    Transaction(Holder),
    /// being the next of those that wait for the end of a transaction: they go on in the order in which they came
    Turn(Holder),
}

/// A transaction that others wait for. (Not the session alone: who has waited for its turn would wait for the session's next transaction, which
/// may wait for him.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Holder {
    pub session: u64,
    /// the number of the transaction among those that have held rows ([`row_locks::RowLocks::holder`]); 0: the session's transaction, whether or
    /// not it holds rows
    pub transaction: u64,
}

impl Holder {
    /// A session's transaction, whether or not it holds rows.
    pub fn any(session: u64) -> Holder {
        Holder { session, transaction: 0 }
    }
}

/// A mode of locking (manual: "Table-Level Locks"), weakest first. The discriminants are the numbers of PostgreSQL's modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Mode {
    AccessShare = 1,
    RowShare,
    RowExclusive,
    ShareUpdateExclusive,
    Share,
    ShareRowExclusive,
    Exclusive,
    AccessExclusive,
}

use Mode::*;

/// By mode: the modes of other sessions that it conflicts with (manual: table 13.2).
const CONFLICTS: [&[Mode]; 8] = [
    &[AccessExclusive],
    &[Exclusive, AccessExclusive],
    &[Share, ShareRowExclusive, Exclusive, AccessExclusive],
    &[ShareUpdateExclusive, Share, ShareRowExclusive, Exclusive, AccessExclusive],
    &[RowExclusive, ShareUpdateExclusive, ShareRowExclusive, Exclusive, AccessExclusive],
    &[RowExclusive, ShareUpdateExclusive, Share, ShareRowExclusive, Exclusive, AccessExclusive],
    &[RowShare, RowExclusive, ShareUpdateExclusive, Share, ShareRowExclusive, Exclusive, AccessExclusive],
    &Mode::ALL,
];

impl Mode {
    pub const ALL: [Mode; 8] = [
        AccessShare,
        RowShare,
        RowExclusive,
        ShareUpdateExclusive,
        Share,
        ShareRowExclusive,
        Exclusive,
        AccessExclusive,
    ];

    /// The mode with PostgreSQL's number.
    pub fn numbered(number: i32) -> Option<Mode> {
        Mode::ALL.into_iter().find(|m| *m as i32 == number)
    }

    /// The mode of an advisory lock.
    pub fn advisory(shared: bool) -> Mode {
        if shared {
            Share
        } else {
            Exclusive
        }
    }

    /// As pg_locks and messages name it.
    pub fn name(self) -> &'static str {
        match self {
            AccessShare => "AccessShareLock",
            RowShare => "RowShareLock",
            RowExclusive => "RowExclusiveLock",
            ShareUpdateExclusive => "ShareUpdateExclusiveLock",
            Share => "ShareLock",
            ShareRowExclusive => "ShareRowExclusiveLock",
            Exclusive => "ExclusiveLock",
            AccessExclusive => "AccessExclusiveLock",
        }
    }

    /// Whether two sessions cannot hold the modes at the same time.
    pub fn conflicts(self, other: Mode) -> bool {
        CONFLICTS[self as usize - 1].contains(&other)
    }
}

/// What a session asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub session: u64,
    pub target: Target,
    pub mode: Mode,
    /// until the transaction ends; else until the session gives it back or ends
    pub transaction: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_mutual_and_as_many_as_in_the_manual() {
        for a in Mode::ALL {
            for b in Mode::ALL {
                assert_eq!(a.conflicts(b), b.conflicts(a), "{a:?} {b:?}");
            }
        }
        let counts = Mode::ALL.map(|a| Mode::ALL.iter().filter(|b| a.conflicts(**b)).count());
        assert_eq!(counts, [1, 2, 4, 5, 5, 6, 7, 8]);
    }
}
