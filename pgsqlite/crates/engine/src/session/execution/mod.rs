//! Carrying out statements: from the plan to rows, and the statements that are no queries.

pub(in crate::session) mod catalog_view;
pub(crate) mod current_of;
pub(in crate::session) mod cursor;
pub(in crate::session) mod function_cursors;
pub(in crate::session) mod gathering;
pub(in crate::session) mod maintenance;
pub(in crate::session) mod natives;
pub(in crate::session) mod pace;
pub(in crate::session) mod planning;
pub(in crate::session) mod portal;
pub(in crate::session) mod progress;
pub(in crate::session) mod routines;
pub(in crate::session) mod running;
pub(in crate::session) mod scheduling;
pub(crate) mod sequences;
pub(crate) mod server_functions;
pub(in crate::session) mod session_objects;
pub(in crate::session) mod spool;
pub(in crate::session) mod steps;
pub(in crate::session) mod unshared;
pub(in crate::session) mod utility;
pub(in crate::session) mod work;
