//! What a transaction has changed, as data.
//!
//! SQLite has one writing transaction at a time. A transaction whose client is silent can be taken out of SQLite (ROLLBACK) and put back
//! later, because its connection records the changes of rows as they are made:
//!
//! * [`recorder`](pgsqlite_storage::changes::recorder) receives them from SQLite's preupdate hook;
//! * [`log`](pgsqlite_storage::changes::change_log) keeps them, in their order, with the marks that savepoints need;
//! * [`table`] says of each table what has to be known to put its rows back, and which keys they have;
//! * [`replay`] makes the changes again.
//!
//! What SQLite does by itself (referential actions, triggers of the file's schema) is done again when the changes are put back: such
//! changes are recorded as touched rows alone.

pub(crate) mod replay;
pub(crate) mod table;
