//! PostgreSQL's functions as functions of SQLite, and what they ask of others.
//!
//! [`udf`] has the functions. What they may ask of the session that uses their connection, and of the users' functions, are the traits of
//! [`udf::session_cell`]; sessions and users' functions themselves are in crates above. [`text_search`] has parsers, dictionaries and documents, and
//! [`large_object`] the contents of large objects.
//! Below the functions are [`settings`], the [`host`] program, what the server counts ([`statistics`]), and how far a standby has come ([`recovery`]).

pub mod hashing;
pub mod host;
pub mod large_object;
pub mod recovery;
pub mod regex;
pub mod settings;
pub mod statistics;
pub mod text_search;
pub mod udf;
