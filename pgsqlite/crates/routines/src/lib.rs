//! Functions, procedures and triggers of users.
//!
//! [`routine`] runs their bodies on the connection of the statement that calls them. It asks a session for nothing but what the traits of
//! [`pgsqlite_natives::udf::session_cell`] have, and leaves for the session what it has to do after the statement
//! ([`routine::Runtime`]). [`diagnose`] finds the row for which a constraint failed, [`cursor_position`] the row on which a cursor is positioned, and
//! [`constraint_modes`] is what SET CONSTRAINTS has said.

pub mod constraint_modes;
pub mod constraints;
pub mod cursor_position;
pub mod diagnose;
pub mod routine;
