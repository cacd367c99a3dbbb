//! Errors as Informix tells them: a code, an ISAM code, and the name that the message of the code takes.
//!
//! Clients have the messages of the codes themselves. What no code says goes as -746, whose message is the text that comes with it.

use crate::wire::input::LONGEST;
use pgsqlite_types::{PgError, SqlState};

/// An error on its way to the client.
#[derive(Debug, Clone)]
pub struct Failure {
    pub sqlcode: i16,
    pub isamcode: i16,
    /// 1-based place in the SQL text, 0: unknown
    pub offset: i32,
    pub name: String,
    /// what it is in PostgreSQL's terms; None: an error of the dialect or the protocol
    pub cause: Option<Box<PgError>>,
}

/// As the client sees them.
impl PartialEq for Failure {
    fn eq(&self, other: &Failure) -> bool {
        (self.sqlcode, self.isamcode, self.offset, &self.name)
            == (other.sqlcode, other.isamcode, other.offset, &other.name)
    }
}

/// The code whose message is the text itself.
pub const TEXT: i16 = -746;

/// The SQLSTATE of what RAISE EXCEPTION raises in a routine; the error's DETAIL has its numbers.
pub const RAISED: &str = "IX001";
/// What stands before the numbers in that DETAIL.
pub const RAISED_DETAIL: &str = "Informix error ";

/// The error and ISAM numbers that the DETAIL of a raised error has.
fn raised_numbers(detail: &str) -> Option<(i16, i16)> {
    let (code, isam) = detail.strip_prefix(RAISED_DETAIL)?.split_once(' ')?;
    Some((code.parse().ok()?, isam.parse().ok()?))
}

impl Failure {
    pub fn new(sqlcode: i16, isamcode: i16, name: impl Into<String>) -> Failure {
        Failure { sqlcode, isamcode, offset: 0, name: name.into(), cause: None }
    }

    /// Something that is not implemented.
    pub fn refused(what: impl std::fmt::Display) -> Failure {
        let cause = Some(Box::new(PgError::not_supported(&what)));
        Failure { cause, ..Failure::new(TEXT, 0, format!("{what} is not supported")) }
    }

    /// A value of more bytes than one message may have ([`LONGEST`]). Its own message may be shorter: it came in pieces.
    pub fn too_long(what: &str) -> Failure {
        Failure::refused(format!("{what} of more than {} MiB", LONGEST >> 20))
    }

    /// A text that no code of Informix's says.
    pub fn text(message: impl Into<String>) -> Failure {
        Failure::new(TEXT, 0, message)
    }

    /// A defect of ours.
    pub fn internal(what: impl Into<String>) -> Failure {
        let what = what.into();
        tracing::error!(what, "a defect of pgsqlite");
        let cause = Some(Box::new(PgError::internal(what.clone())));
        Failure { cause, ..Failure::new(TEXT, 0, format!("internal error: {what}")) }
    }

    /// A syntax error at a byte offset (from 0) of the text.
    pub fn syntax(offset: usize) -> Failure {
        Failure { sqlcode: -201, isamcode: 0, offset: offset as i32 + 1, name: String::new(), cause: None }
    }

    pub fn at(mut self, offset: usize) -> Failure {
        self.offset = offset as i32 + 1;
        self
    }
}

/// The last quoted name of a message: PostgreSQL's messages quote the names that Informix's templates take.
fn quoted(message: &str) -> String {
    let mut parts = message.rsplit('"');
    parts.next();
    parts.next().unwrap_or("").to_string()
}

/// The first quoted name.
fn first_quoted(message: &str) -> String {
    message.split('"').nth(1).unwrap_or("").to_string()
}

impl From<PgError> for Failure {
    fn from(error: PgError) -> Failure {
        let fields = error.fields();
        let message = error.message();
        let constraint = || fields.constraint.clone().unwrap_or_else(|| quoted(message));
        let raised = fields.detail.as_deref().and_then(raised_numbers);
        let (sqlcode, isamcode, name) = match error.code().as_str() {
            RAISED if raised.is_some() => {
                let (code, isam) = raised.unwrap_or_default();
                (code, isam, message.to_string())
            }
            "42601" => (-201, 0, String::new()),
            "42P01" => (-206, -111, first_quoted(message).rsplit('.').next().unwrap_or("").to_string()),
            // column "a" does not exist, or column t.a does not exist
            "42703" if message.contains('"') => (-217, 0, first_quoted(message)),
            "42703" => (-217, 0, message.split_whitespace().nth(1).unwrap_or("").to_string()),
            "42702" => (-324, 0, first_quoted(message)),
            "42P07" => (-310, 0, first_quoted(message)),
            "42701" => (-328, 0, first_quoted(message)),
            "42883" if message.starts_with("operator") => (TEXT, 0, message.to_string()),
            // function sum(character) does not exist
            "42883" if !message.contains('"') => {
                let name = message.strip_prefix("function ").and_then(|m| m.split('(').next()).unwrap_or("");
                (-674, 0, name.rsplit('.').next().unwrap_or("").to_string())
            }
            "42883" => (-674, 0, first_quoted(message)),
            "42704" => (-319, 0, quoted(message)),
            "42803" => {
                let name = first_quoted(message);
                (-294, 0, name.rsplit('.').next().unwrap_or("").to_string())
            }
            // LOCK TABLE and savepoints need a transaction
            "25P01" => (-255, 0, String::new()),
            "42501" => (-387, 0, String::new()),
            "23505" => (-268, -100, constraint()),
            "23502" => (-391, 0, fields.column.clone().unwrap_or_else(|| first_quoted(message))),
            "23001" => (-692, -112, constraint()),
            "23503" if message.starts_with("update or delete") => (-692, -112, constraint()),
            "23503" => (-691, -111, constraint()),
            "23514" if message.starts_with("value for domain") && message.contains("interval ") => {
                (-1265, 0, String::new())
            }
            "23514" => (-530, 0, constraint()),
            "21000" => (-284, 0, String::new()),
            "22001" => (-1279, 0, String::new()),
            "22003" if message.contains("smallint") => (-1214, 0, String::new()),
            "22003" if message.contains("bigint") => (-1284, 0, String::new()),
            "22003" if message.contains("integer") => (-1215, 0, String::new()),
            "22003" => (-1226, 0, String::new()),
            "22012" => (-1202, 0, String::new()),
            "22P02" => (-1213, 0, String::new()),
            "22007" | "22008" if message.contains("interval") || message.contains("time") => (-1262, 0, String::new()),
            "22007" | "22008" => (-1218, 0, String::new()),
            "57014" => (-213, -157, String::new()),
            "55P03" => (-244, -154, String::new()),
            "40P01" => (-244, -143, String::new()),
            "40001" => (-243, -143, String::new()),
            "3D000" => (-329, -111, quoted(message)),
            "3B001" => (-26304, 0, quoted(message)),
            "25P02" => (-746, 0, "the transaction has failed: roll it back".into()),
            "28P01" | "28000" => (-951, 0, String::new()),
            // what Informix has no code for is said in words
            _ => (TEXT, 0, message.to_string()),
        };
        if error.code() == SqlState::INTERNAL_ERROR {
            tracing::error!(%error, "a defect of pgsqlite");
        }
        Failure { sqlcode, isamcode, offset: 0, name, cause: Some(Box::new(error)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_raised_errors_are_read() {
        assert_eq!(raised_numbers("Informix error -746 0"), Some((-746, 0)));
        assert_eq!(raised_numbers("else"), None);
    }

    #[test]
    fn sqlstates_become_informix_codes() {
        let failure = |code: SqlState, message: &str| Failure::from(PgError::new(code, message));
        assert_eq!(
            failure(SqlState::UNDEFINED_TABLE, "relation \"public.nosuch\" does not exist"),
            Failure::new(-206, -111, "nosuch")
        );
        let unique = PgError::new(SqlState::UNIQUE_VIOLATION, "duplicate key value violates unique constraint \"u1\"");
        assert_eq!(Failure::from(unique), Failure::new(-268, -100, "u1"));
        assert_eq!(failure(SqlState::QUERY_CANCELED, "canceling").sqlcode, -213);
        // nothing that is not known is lost
        let refused = Failure::from(PgError::not_supported("MERGE"));
        assert_eq!((refused.sqlcode, refused.name.contains("MERGE")), (-746, true));
    }
}
