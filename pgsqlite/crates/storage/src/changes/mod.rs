//! Changes of rows, as a connection records them: [`recorder`] receives them from SQLite's preupdate hook; [`log`] keeps them, in their
//! order, with the marks that savepoints need.

pub mod change_log;
pub mod recorder;
