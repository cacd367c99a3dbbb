//! Whether a server is a standby, and how far each of its databases has come.
//!
//! A standby applies the changes of another server (PostgreSQL: it is in recovery) until it is promoted. From then on it is a primary, for good.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::Arc;

/// What a server that was started as a standby is now.
#[derive(Debug, Default)]
pub struct Standby {
    /// it applies changes, and nobody may write
    recovers: AtomicBool,
    /// somebody has asked for its promotion
    promoted: AtomicBool,
    /// somebody has asked that no more changes are applied for now
    pauses: AtomicBool,
    /// a lease decides who is the primary
    by_lease: bool,
}

impl Standby {
    /// One that applies changes.
    pub fn new() -> Standby {
        Standby { recovers: true.into(), ..Standby::default() }
    }

    /// One that becomes a primary when it has the lease, and not when somebody asks for that.
    pub fn by_lease() -> Standby {
        Standby { by_lease: true, ..Standby::new() }
    }

    /// Whether a lease decides who is the primary.
    pub fn is_by_lease(&self) -> bool {
        self.by_lease
    }

    /// Whether it is one still.
    pub fn recovers(&self) -> bool {
        self.recovers.load(Ordering::Acquire)
    }

    /// It is a primary from now on.
    pub fn end(&self) {
        self.recovers.store(false, Ordering::Release);
    }

    /// Asks that it becomes a primary, after it has applied what there is.
    pub fn promote(&self) {
        self.promoted.store(true, Ordering::Release);
    }

    /// Whether somebody has asked for that.
    pub fn is_promoted(&self) -> bool {
        self.promoted.load(Ordering::Acquire)
    }

    /// Asks that it applies no more changes (true), or goes on (false).
    pub fn pause(&self, pauses: bool) {
        self.pauses.store(pauses, Ordering::Release);
    }

    /// Whether no more changes are to be applied. A promotion ends that.
    pub fn pauses(&self) -> bool {
        self.pauses.load(Ordering::Acquire) && !self.is_promoted()
    }
}

/// How far one database of a standby has come.
#[derive(Debug, Default)]
pub struct Recovery {
    /// what its server is
    pub standby: Arc<Standby>,
    /// all changes up to this place of the log are applied
    pub replayed: AtomicU64,
    /// when the last of them was committed: milliseconds since 1970; 0: nothing was applied since the start
    pub replayed_at: AtomicI64,
    /// what the archive or the primary had at this time is applied: milliseconds since 1970; 0: it was not read yet
    pub followed_at: AtomicI64,
    /// how often the archive could not be read, or the primary not be reached, or a change not be applied
    pub failed: AtomicU64,
    /// it applies nothing, because somebody has asked for that
    pub is_paused: AtomicBool,
    /// all changes up to this place have come from a primary and are on disk; 0: none
    pub received: AtomicU64,
    /// the connection to the primary, while there is one
    pub receiver: Mutex<Option<Receiver>>,
}

/// A connection to a primary, as pg_stat_wal_receiver shows it. Times are microseconds since 2000-01-01 UTC.
#[derive(Debug, Clone, Default)]
pub struct Receiver {
    /// where in the log it began
    pub began: u64,
    /// the primary's last message: when it was sent, and when it came
    pub message: Option<(i64, i64)>,
    /// where the primary's log ended, as it said last, and when that came
    pub end: Option<(u64, i64)>,
    /// the primary's address, or the folder of its Unix socket
    pub host: String,
    pub port: u16,
    /// how the standby connects, without the password
    pub conninfo: String,
}

impl Recovery {
    /// Of a database of this server.
    pub fn of(standby: &Arc<Standby>) -> Recovery {
        Recovery { standby: standby.clone(), ..Recovery::default() }
    }

    /// The changes up to this place, which was committed at this time, are applied.
    pub fn applied(&self, lsn: u64, time: i64) {
        self.replayed.fetch_max(lsn, Ordering::AcqRel);
        self.replayed_at.fetch_max(time, Ordering::AcqRel);
    }
}
