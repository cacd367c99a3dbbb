//! PostgreSQL's own trigger functions.

use pgsqlite_types::Oid;

/// `suppress_redundant_updates_trigger`
pub const SUPPRESS_REDUNDANT_UPDATES: Oid = 1291;
/// `tsvector_update_trigger`
pub const TSVECTOR_UPDATE: Oid = 3752;
/// `tsvector_update_trigger_column`
pub const TSVECTOR_UPDATE_COLUMN: Oid = 3753;

/// Whether the function is one of these.
pub fn is_trigger_function(function: Oid) -> bool {
    matches!(function, SUPPRESS_REDUNDANT_UPDATES | TSVECTOR_UPDATE | TSVECTOR_UPDATE_COLUMN)
}
