//! What is said of an address that cannot be listened at.

use pgsqlite_types::{PgError, SqlState};

/// `flag`: what chooses another address.
pub fn address_error(what: String, e: std::io::Error, flag: &str) -> PgError {
    if e.kind() == std::io::ErrorKind::AddrInUse {
        return in_use(&what, flag);
    }
    PgError::new(SqlState::IO_ERROR, format!("cannot listen on {what}: {e}"))
}

/// Another server listens there. Who starts pgsqlite reads it.
pub fn in_use(what: &str, flag: &str) -> PgError {
    PgError::new(SqlState::OBJECT_IN_USE, format!("{what} is in use already: is another server running there?"))
        .hint(format!("Choose another one ({flag}), or stop the other server."))
}
