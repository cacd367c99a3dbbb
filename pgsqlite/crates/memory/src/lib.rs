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
mod attribution;
mod count;
mod detect;
mod files;
mod held;
pub mod sqlite;
mod temporary_file;
mod trim;

pub use account::Account;
pub use attribution::Tracked;
pub use count::{
    check, flush_thread, limit, peak, reserve, set_limit, total, Accounting, Exceeded, GRAIN, SMALLEST_LIMIT,
};
pub use detect::available;
pub use files::FileLimit;
pub use held::{hold, Held};
pub use temporary_file::TemporaryFile;
pub use trim::set_delay;
