//! What clients send and get: the statements of both protocols, values, and answers.

pub(in crate::session) mod api;
pub mod client_text;
pub(in crate::session) mod collected;
pub(in crate::session) mod extended;
pub(in crate::session) mod function_call;
pub(in crate::session) mod long_texts;
pub(in crate::session) mod rebinding;
pub(in crate::session) mod script;
pub(in crate::session) mod seen;
pub(in crate::session) mod texts;
