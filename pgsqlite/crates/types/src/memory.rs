//! The server's memory limit, as code sees it whose allocations a client decides about.

use crate::{PgError, Result, SqlState};
use pgsqlite_memory::Exceeded;

/// No value is larger: PostgreSQL's MaxAllocSize, 1 GB less one byte.
pub const LARGEST_VALUE: usize = 0x3fff_ffff;

/// Fails with 53200 if the limit is reached and the running session holds more than its share: for loops that allocate.
#[inline]
pub fn check() -> Result<()> {
    pgsqlite_memory::check().map_err(out_of_memory)
}

/// Looks at the limit before an allocation of `bytes`. Errors: 53200; 54000 for more than [`LARGEST_VALUE`].
pub fn reserve(bytes: usize) -> Result<()> {
    if bytes > LARGEST_VALUE {
        return Err(too_large(bytes));
    }
    pgsqlite_memory::reserve(bytes).map_err(out_of_memory)
}

/// 54000: a value that PostgreSQL has no memory for either.
pub fn too_large(bytes: usize) -> PgError {
    PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, format!("invalid memory alloc request size {bytes}"))
}

/// 53200. The detail names the limit.
pub fn out_of_memory(exceeded: Exceeded) -> PgError {
    let limit = pgsqlite_memory::limit() >> 20;
    let error = PgError::new(SqlState::OUT_OF_MEMORY, "out of memory");
    match exceeded.requested {
        0 => error.detail(format!("The sessions of this server have reached its memory limit of {limit} MB.")),
        n => error.detail(format!("A request of {n} bytes would pass the server's memory limit of {limit} MB.")),
    }
}
