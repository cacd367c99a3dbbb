//! SQLite's errors → PostgreSQL's: SQLSTATE and wording.

use libsqlite3_sys as ffi;
use pgsqlite_types::memory::out_of_memory;
use pgsqlite_types::{work, PgError, SqlState};
use std::path::Path;

/// An error of opening a file, in one line that names it.
pub fn open_error(path: &Path, error: rusqlite::Error) -> PgError {
    use rusqlite::ErrorCode as C;
    let path = path.display();
    match error.sqlite_error_code() {
        Some(C::NotADatabase) => no_database(path),
        Some(C::CannotOpen) => {
            PgError::new(SqlState::UNDEFINED_FILE, format!("cannot open database file \"{path}\": {error}"))
        }
        Some(C::ReadOnly | C::PermissionDenied) => {
            PgError::new(SqlState::READ_ONLY_SQL_TRANSACTION, format!("database file \"{path}\" is read-only"))
        }
        _ => PgError::new(SqlState::IO_ERROR, format!("database file \"{path}\": {error}")),
    }
}

/// The refusal of a file that is something else.
pub fn no_database(path: impl std::fmt::Display) -> PgError {
    PgError::new(SqlState::DATA_CORRUPTED, format!("\"{path}\" is not a SQLite database"))
        .hint("For a file of SQL statements or CSV use `pgsqlite import`. A file that is encrypted or damaged cannot be read.")
}

/// An error of a statement. Violations of unique, NOT NULL and CHECK constraints are not named here: who knows the tables' constraints
/// translates them.
pub fn from_sqlite(code: i32, message: &str) -> PgError {
    match code {
        // RESTRICT is a trigger of SQLite's
        // RAISE() in a trigger of another program's making
        ffi::SQLITE_CONSTRAINT_TRIGGER if message != "FOREIGN KEY constraint failed" => {
            PgError::new(SqlState::RAISE_EXCEPTION, message)
        }
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY | ffi::SQLITE_CONSTRAINT_TRIGGER => {
            PgError::new(SqlState::FOREIGN_KEY_VIOLATION, "insert, update or delete violates a foreign key constraint")
        }
        ffi::SQLITE_BUSY_SNAPSHOT => {
            PgError::new(SqlState::SERIALIZATION_FAILURE, "could not serialize access due to concurrent update")
        }
        ffi::SQLITE_ERROR if window_error(message).is_some() => {
            let (code, message) = window_error(message).expect("checked by the guard");
            PgError::new(code, message)
        }
        ffi::SQLITE_ERROR
            if matches!(message, "parser stack overflow" | "Recursion limit")
                || message.starts_with("Expression tree is too large")
                || message.ends_with("subqueries nested too deep") =>
        {
            PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
                .hint("Simplify the statement: it is nested too deeply.")
        }
        ffi::SQLITE_ERROR if message.starts_with("too many ") || message.starts_with("at most ") => PgError::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!("the statement exceeds a limit of SQLite: {message}"),
        ),
        ffi::SQLITE_ERROR if changed_schema(message).is_some() => {
            changed_schema(message).expect("checked by the guard")
        }
        // ALTER TABLE reads the schema again, and reports what stops that behind what it was doing
        ffi::SQLITE_ERROR if is_interrupted_alter(message) => interrupted(),
        ffi::SQLITE_INTERRUPT => interrupted(),
        _ => match code & 0xff {
            ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => {
                PgError::new(SqlState::LOCK_NOT_AVAILABLE, "the database file is locked by another program")
            }
            ffi::SQLITE_FULL => temporary_files_full().unwrap_or_else(|| {
                PgError::new(SqlState::DISK_FULL, "could not extend the database file: no space left on device")
            }),
            ffi::SQLITE_IOERR => {
                PgError::new(SqlState::IO_ERROR, format!("could not access the database file: {message}"))
            }
            // (a statement that is to end gets no large allocation)
            ffi::SQLITE_NOMEM => {
                work::look(false).err().unwrap_or_else(|| out_of_memory(pgsqlite_memory::Exceeded { requested: 0 }))
            }
            ffi::SQLITE_READONLY => PgError::new(SqlState::READ_ONLY_SQL_TRANSACTION, "the database file is read-only"),
            ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => PgError::new(SqlState::DATA_CORRUPTED, message),
            ffi::SQLITE_TOOBIG => PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "value too large"),
            _ => unexpected(format_args!("SQLite error {code}: {message}")),
        },
    }
}

/// `error in table t after rename: interrupted`. (A column may have that name, too: then more stands before it.)
fn is_interrupted_alter(message: &str) -> bool {
    let rest = message.strip_prefix("error in ").and_then(|rest| rest.split_once(": "));
    rest.is_some_and(|(_, error)| error == "interrupted")
}

/// XX000, unless the statement is to end: what stops SQLite where it parses a schema again may be any error to it, "SQL logic error" among them.
fn unexpected(message: std::fmt::Arguments) -> PgError {
    match work::look(false) {
        Ok(()) => PgError::internal(message.to_string()),
        Err(request) => request,
    }
}

/// What SQLite says when a request has stopped it: who knows the request puts its error in place of this one.
fn interrupted() -> PgError {
    PgError::new(SqlState::QUERY_CANCELED, "canceling statement due to user request")
}

/// 53400, if the session's temporary files would have passed `temp_file_limit`.
pub fn temporary_files_full() -> Option<PgError> {
    let limit = pgsqlite_memory::Account::current()?.files().take_refused()? / 1024;
    let message = format!("temporary file size exceeds \"temp_file_limit\" ({limit}kB)");
    Some(PgError::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, message))
}

/// What SQLite says of a schema that another program has made or left unfit: a table that is gone (our own statements name what the catalog
/// knows to be there; the triggers and foreign keys of the file do not), and a foreign key to columns that are no key.
fn changed_schema(message: &str) -> Option<PgError> {
    let hint = "Another program has changed the file's schema.";
    if let Some(table) = message.strip_prefix("no such table: main.") {
        return Some(match table.starts_with("__pgsqlite_") {
            true => PgError::damaged_catalog(format_args!("its table \"{table}\" is missing")),
            false => PgError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{table}\" does not exist")).hint(hint),
        });
    }
    let (_, parent) = message.strip_prefix("foreign key mismatch - ")?.rsplit_once(" referencing ")?;
    let message = format!("there is no unique constraint matching given keys for referenced table {parent}");
    Some(PgError::new(SqlState::INVALID_FOREIGN_KEY, message).hint(hint))
}

/// What SQLite says of arguments of window functions, and what PostgreSQL does.
fn window_error(message: &str) -> Option<(SqlState, &'static str)> {
    Some(match message {
        "argument of ntile must be a positive integer" => {
            (SqlState::INVALID_ARGUMENT_FOR_NTILE_FUNCTION, "argument of ntile must be greater than zero")
        }
        "second argument to nth_value must be a positive integer" => {
            (SqlState::INVALID_ARGUMENT_FOR_NTH_VALUE_FUNCTION, "argument of nth_value must be greater than zero")
        }
        "frame starting offset must be a non-negative integer" => {
            (SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE, "frame starting offset must not be negative")
        }
        "frame ending offset must be a non-negative integer" => {
            (SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE, "frame ending offset must not be negative")
        }
        "frame starting offset must be a non-negative number" | "frame ending offset must be a non-negative number" => {
            (SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE, "invalid preceding or following size in window function")
        }
        _ => return None,
    })
}

/// An error of SQLite in our own bookkeeping: disk trouble keeps its class, the rest is our bug.
pub fn sqlite_error(error: rusqlite::Error) -> PgError {
    use rusqlite::ErrorCode as C;
    // an index whose words only SQLite knows
    let text = error.to_string();
    if is_interrupted_alter(&text) {
        return interrupted();
    }
    if let Some(rest) = text.strip_prefix("error in index ") {
        let index = rest.split_once(" after ").or(rest.split_once(": ")).map_or(rest, |(index, _)| index);
        return PgError::not_supported(format!(
            "this change of a table that index \"{index}\" of another program is on"
        ));
    }
    if let Some(changed) = changed_schema(text.split(" in SELECT ").next().unwrap_or(&text)) {
        return changed;
    }
    let code = match error.sqlite_error_code() {
        Some(C::DiskFull) => SqlState::DISK_FULL,
        Some(C::SystemIoFailure | C::CannotOpen) => SqlState::IO_ERROR,
        Some(C::ReadOnly) => SqlState::READ_ONLY_SQL_TRANSACTION,
        Some(C::DatabaseCorrupt | C::NotADatabase) => SqlState::DATA_CORRUPTED,
        Some(C::OutOfMemory) => match work::look(false) {
            Ok(()) => SqlState::OUT_OF_MEMORY,
            // (a statement that is to end gets no large allocation)
            Err(request) => return request,
        },
        Some(C::OperationInterrupted) => SqlState::QUERY_CANCELED,
        Some(C::DatabaseBusy | C::DatabaseLocked) => SqlState::LOCK_NOT_AVAILABLE,
        _ => return unexpected(format_args!("SQLite: {error}")),
    };
    PgError::new(code, text)
}

/// The error of a statement that SQLite has given up because a function that it calls has changed the `temp` schema.
pub fn given_up() -> PgError {
    PgError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        "CREATE, ALTER or DROP of a temporary table in a function that this statement calls is not supported",
    )
    .hint("Create the temporary table before the statement.")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session that is to end.
    struct Ends;

    impl work::Overseer for Ends {
        fn look(&self, _: bool) -> pgsqlite_types::Result<()> {
            Err(PgError::new(SqlState::ADMIN_SHUTDOWN, "terminating connection due to administrator command"))
        }
        fn stops_sqlite(&self) -> bool {
            true
        }
        fn has_savepoints(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_request_that_stops_sqlite_is_known_wherever_it_does() {
        for (code, message) in [
            (ffi::SQLITE_INTERRUPT, "interrupted"),
            (ffi::SQLITE_ERROR, "error in table t after rename: interrupted"),
            (ffi::SQLITE_ERROR, "error in view v: interrupted"),
        ] {
            assert_eq!(from_sqlite(code, message).code(), SqlState::QUERY_CANCELED, "{message}");
        }
        for message in ["error in index i after drop column: interrupted", "error in table t after rename: interrupted"]
        {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_ERROR), Some(message.into()));
            assert_eq!(sqlite_error(error).code(), SqlState::QUERY_CANCELED, "{message}");
        }
        let unnamed = || rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_ERROR), None);
        assert_eq!(sqlite_error(unnamed()).code(), SqlState::INTERNAL_ERROR);
        let ended =
            work::overseen(&Ends, || [sqlite_error(unnamed()), from_sqlite(ffi::SQLITE_ERROR, "SQL logic error")]);
        assert_eq!(ended.map(|e| e.code()), [SqlState::ADMIN_SHUTDOWN; 2]);
        let no_memory = || rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_NOMEM), None);
        assert_eq!(sqlite_error(no_memory()).code(), SqlState::OUT_OF_MEMORY);
        let ended =
            work::overseen(&Ends, || [sqlite_error(no_memory()), from_sqlite(ffi::SQLITE_NOMEM, "out of memory")]);
        assert_eq!(ended.map(|e| e.code()), [SqlState::ADMIN_SHUTDOWN; 2]);
        let other = from_sqlite(ffi::SQLITE_ERROR, "error in table t after rename: no such column: interrupted");
        assert_ne!(other.code(), SqlState::QUERY_CANCELED);
    }
}
