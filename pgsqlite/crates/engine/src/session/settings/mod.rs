//! The role and the settings of a session, and what others see of it.

pub(in crate::session) mod identity;
pub(in crate::session) mod logged_statements;
pub(in crate::session) mod observation;
