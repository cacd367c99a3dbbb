//! PostgreSQL's system catalogs over a catalog snapshot: one file per table or group of tables.

use pgsqlite_types::Oid;

/// Whether a system relation can be read. The others are refused by the analyzer with 0A000.
pub fn provided(_oid: Oid) -> bool {
    false
}

/// The PostgreSQL SQL behind a system view; None for tables.
pub fn view_definition(_oid: Oid) -> Option<&'static str> {
    None
}
