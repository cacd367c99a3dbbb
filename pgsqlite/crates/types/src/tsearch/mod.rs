//! Full-text search: the types `tsvector` and `tsquery`. Manual: chapter 12, and "Text Search Types".
//!
//! `lexeme` reads one quoted or bare lexeme (both types share it); [`vector`] and [`query`] have the values, their text and binary forms
//! and what operators do with them; [`matching`] says whether a query matches and where, [`rank`] how well, [`rewrite`]
//! replaces parts of queries.
//! The storage form is the text form, which is canonical. How documents become lexemes is the engine's affair.

pub(crate) mod lexeme;
pub mod matching;
pub mod rank;
pub mod rewrite;
pub mod tsquery;
pub mod vector;

pub use tsquery::{Node, Query};
pub use vector::{Lexeme, Position, Vector};

/// Positions count from 1 to this one: what comes later has it, too.
pub const LAST_POSITION: u16 = 16383;
/// A lexeme has no more positions than this.
pub const MOST_POSITIONS: usize = 256;
/// Bytes of a lexeme, at most.
pub const LONGEST_LEXEME: usize = 2046;
/// Bytes of all lexemes of a vector with their positions, at most.
pub const LARGEST_VECTOR: usize = (1 << 20) - 1;
