//! The log of refused statements: each error 0A000 (not implemented) and XX000 (a defect) that a client is told, one JSON object a line.

use super::activity::Activity;
use parking_lot::Mutex;
use pgsqlite_storage::files::server_file::{may_be_database, Refused, ServerFile};
use pgsqlite_types::datetime::Timestamp;
use pgsqlite_types::{PgError, Result, SqlState};
use std::io::Write;
use std::path::Path;

/// Longer statements are cut.
const LONGEST: usize = 100_000;

/// The file, open for appending.
pub struct RefusedLog(Mutex<ServerFile>);

impl std::fmt::Debug for RefusedLog {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("RefusedLog")
    }
}

impl RefusedLog {
    /// Opens or makes the file. Errors: 58030 from the file system, 55006 for a database.
    pub fn open(path: &Path) -> Result<RefusedLog> {
        if std::fs::metadata(path).is_ok_and(|m| m.len() > 0) && may_be_database(path) {
            let message = format!("\"{}\" is a database, and no log", path.display());
            return Err(PgError::new(SqlState::OBJECT_IN_USE, message));
        }
        let file = ServerFile::append(path).map_err(|refused| match refused {
            Refused::Io(e) => PgError::new(SqlState::IO_ERROR, format!("file \"{}\": {e}", path.display())),
            Refused::Database(e) => e,
        })?;
        Ok(RefusedLog(Mutex::new(file)))
    }

    /// Writes a line if the error is one of those.
    pub fn write(&self, error: &PgError, session: &Activity, statement: &str) {
        if ![SqlState::FEATURE_NOT_SUPPORTED, SqlState::INTERNAL_ERROR].contains(&error.code()) {
            return;
        }
        let fields = error.fields();
        let end = (0..=LONGEST.min(statement.len())).rev().find(|i| statement.is_char_boundary(*i)).unwrap_or(0);
        let position = fields.location.filter(|_| fields.internal_query.is_none() && fields.located_in.is_none());
        let line = serde_json::json!({
            "time": Timestamp(pgsqlite_metadata::clock::now()).to_storage(),
            "sqlstate": error.code().as_str(),
            "message": fields.message,
            "detail": fields.detail,
            "hint": fields.hint,
            "context": fields.context,
            // the first character is 1, as in ErrorResponse
            "position": position.and_then(|at| statement.get(..at)).map(|before| before.chars().count() + 1),
            "statement": &statement[..end],
            "user": session.user,
            "database": session.database,
            "application_name": &*session.live().application_name,
            "pid": session.pid,
        });
        let mut text = line.to_string();
        text.push('\n');
        // one write a line: lines of several sessions do not mix
        if let Err(error) = self.0.lock().write_all(text.as_bytes()) {
            tracing::warn!(%error, "a refused statement could not be logged");
        }
    }
}
