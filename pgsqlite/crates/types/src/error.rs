//! The one error type of pgsqlite: PostgreSQL's ErrorResponse / NoticeResponse fields.
//! Manual: "Error and Notice Message Fields" (protocol chapter) and appendix A (SQLSTATEs).

use crate::sqlstate::SqlState;
use std::fmt;

pub type Result<T, E = PgError> = std::result::Result<T, E>;

/// Severity as sent in fields S and V.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Error,
    Fatal,
    Panic,
    Warning,
    Notice,
    Debug,
    Info,
    Log,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "ERROR",
            Severity::Fatal => "FATAL",
            Severity::Panic => "PANIC",
            Severity::Warning => "WARNING",
            Severity::Notice => "NOTICE",
            Severity::Debug => "DEBUG",
            Severity::Info => "INFO",
            Severity::Log => "LOG",
        }
    }
}

/// An error (or notice) with the fields PostgreSQL gives. Boxed so that `Result` stays small.
#[derive(Clone)]
pub struct PgError(Box<Fields>);

#[derive(Debug, Clone)]
pub struct Fields {
    pub severity: Severity,
    pub code: SqlState,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
    /// Byte offset (from 0) in the text of the statement *string the client sent*; the session turns it into the
    /// 1-based character index of field P. With an internal query it counts in that one, and becomes field p.
    pub location: Option<usize>,
    /// The string in which the location counts, where the client has sent another one since: that of PREPARE.
    pub located_in: Option<std::sync::Arc<str>>,
    pub internal_query: Option<String>,
    pub context: Option<String>,
    pub schema: Option<String>,
    pub table: Option<String>,
    pub column: Option<String>,
    pub data_type: Option<String>,
    pub constraint: Option<String>,
    /// The name of PostgreSQL's C function that raises the error, where clients tell errors of one SQLSTATE apart by it.
    pub routine: Option<&'static str>,
    /// Where the error was made: fields F and L.
    pub source: &'static std::panic::Location<'static>,
}

/// How the message of a refusal ends.
const REFUSAL: &str = " is not supported by pgsqlite";

impl PgError {
    #[track_caller]
    pub fn new(code: SqlState, message: impl Into<String>) -> Self {
        PgError(Box::new(Fields {
            severity: Severity::Error,
            code,
            message: message.into(),
            detail: None,
            hint: None,
            location: None,
            located_in: None,
            internal_query: None,
            context: None,
            schema: None,
            table: None,
            column: None,
            data_type: None,
            constraint: None,
            routine: None,
            source: std::panic::Location::caller(),
        }))
    }

    /// 0A000: something PostgreSQL can do and pgsqlite cannot (yet). `what` names it, e.g. `"FOR UPDATE OF"`.
    /// This is the only way to refuse: nothing is ever dropped silently.
    #[track_caller]
    pub fn not_supported(what: impl fmt::Display) -> Self {
        Self::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what}{REFUSAL}"))
    }

    /// Whether this is a refusal by [`PgError::not_supported`].
    pub fn is_refusal(&self) -> bool {
        self.0.code == SqlState::FEATURE_NOT_SUPPORTED && self.0.message.ends_with(REFUSAL)
    }

    /// XX000: our own bug. A test that sees it fails.
    #[track_caller]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(SqlState::INTERNAL_ERROR, message)
    }

    /// XX000, with PostgreSQL's own words: a running statement has looked up an object that a function which it calls has dropped since.
    #[track_caller]
    pub fn cache_lookup_failed(kind: &str, oid: crate::Oid) -> Self {
        Self::new(SqlState::INTERNAL_ERROR, format!("cache lookup failed for {kind} {oid}"))
    }

    /// XX001: what the database's file says of its objects does not fit together. Another program has changed it, or the file is damaged.
    #[track_caller]
    pub fn damaged_catalog(what: impl fmt::Display) -> Self {
        Self::corrupted(format!("the catalog in the database file is damaged: {what}"))
            .hint("Another program may have changed the file's schema.")
    }

    /// XX001: a stored value is not in the storage form of its type. Another program has written it, or the file is damaged.
    #[track_caller]
    pub fn corrupted(message: impl Into<String>) -> Self {
        Self::new(SqlState::DATA_CORRUPTED, message)
    }

    /// 53000: the operating system has no threads, no randomness or nothing else of the kind to give.
    #[track_caller]
    pub fn no_resources(message: impl Into<String>) -> Self {
        Self::new(SqlState::INSUFFICIENT_RESOURCES, message)
    }

    /// 57P01: the database, or the whole server, is being shut down.
    #[track_caller]
    pub fn shut_down() -> Self {
        Self::new(SqlState::ADMIN_SHUTDOWN, "terminating connection due to administrator command")
    }

    pub fn fields(&self) -> &Fields {
        &self.0
    }
    pub fn fields_mut(&mut self) -> &mut Fields {
        &mut self.0
    }
    pub fn code(&self) -> SqlState {
        self.0.code
    }
    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn severity(mut self, severity: Severity) -> Self {
        self.0.severity = severity;
        self
    }
    pub fn fatal(self) -> Self {
        self.severity(Severity::Fatal)
    }
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }
    /// Sets the location from a parse node's (negative: unknown), unless a closer one is already there.
    pub fn at(mut self, location: i32) -> Self {
        if location >= 0 && self.0.location.is_none() {
            self.0.location = Some(location as usize);
        }
        self
    }
    /// Tells in which string the location counts, unless that is told already.
    pub fn located_in(mut self, text: impl FnOnce() -> std::sync::Arc<str>) -> Self {
        if self.0.location.is_some() && self.0.located_in.is_none() {
            self.0.located_in = Some(text());
        }
        self
    }

    /// The error without its place: where it counts in a text that the client has not written, or where PostgreSQL has the statement's text
    /// not at hand and gives none.
    pub fn without_position(mut self) -> Self {
        self.0.location = None;
        self
    }
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.0.context = Some(context.into());
        self
    }
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.0.schema = Some(schema.into());
        self
    }
    pub fn table(mut self, table: impl Into<String>) -> Self {
        self.0.table = Some(table.into());
        self
    }
    pub fn column(mut self, column: impl Into<String>) -> Self {
        self.0.column = Some(column.into());
        self
    }
    pub fn data_type(mut self, data_type: impl Into<String>) -> Self {
        self.0.data_type = Some(data_type.into());
        self
    }
    pub fn routine(mut self, routine: &'static str) -> Self {
        self.0.routine = Some(routine);
        self
    }
    pub fn constraint(mut self, constraint: impl Into<String>) -> Self {
        self.0.constraint = Some(constraint.into());
        self
    }
}

impl fmt::Display for PgError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (SQLSTATE {})", self.0.severity.as_str(), self.0.message, self.0.code)
    }
}
impl fmt::Debug for PgError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl std::error::Error for PgError {}
