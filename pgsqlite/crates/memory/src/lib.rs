//! Accounting of the process's memory: how much is allocated, which session allocated it, and who fails at the limit.
//!
//! PostgreSQL runs each session in a process of its own, and the operating system ends the one that takes too much. Here all
//! sessions share one process, and an allocation that fails aborts it. So the limit is enforced before memory runs out:
//!
//! * [`Accounting`] is the program's global allocator. It counts each allocation for the running thread, which adds its count to the
//!   process's total every [`GRAIN`] bytes.
//! * An [`Account`] is the memory of one session. [`Account::track`] attributes what a future allocates and frees to it.
//! * [`check`] and [`reserve`] fail when the total is above the limit and the running session's account is above its share of it.
//!   A session that holds little is not affected by one that holds much: above the limit there is a reserve for small statements.
//!
//! The allocator itself never refuses: Rust code cannot recover from that. Code whose allocations a client decides about calls
//! [`check`] in its loops and [`reserve`] before a large allocation. SQLite can recover: [`sqlite`] refuses its allocations.

mod account;
mod count;
mod detect;
mod files;
mod held;
pub mod sqlite;
mod trim;

pub use account::{Account, Tracked};
pub use count::{flush_thread, limit, set_limit, total, Accounting, GRAIN, SMALLEST_LIMIT};
pub use detect::available;
pub use files::{FileLimit, TemporaryFile};
pub use held::{hold, Held};
pub use trim::limit_arenas;

/// The memory that was asked for is not to be had: the limit is reached, and this session holds more than its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeded {
    /// the bytes that were asked for; 0 where a loop looked at the limit
    pub requested: usize,
}

/// Fails if the limit is reached and the running session holds more than its share. One look at a thread's flag: made for loops.
#[inline]
pub fn check() -> Result<(), Exceeded> {
    count::check()
}

/// Fails if `bytes` more would pass the limit, with the running session holding more than its share.
pub fn reserve(bytes: usize) -> Result<(), Exceeded> {
    count::reserve(bytes)
}
