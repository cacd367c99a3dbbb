//! PostgreSQL's own functions, operators, casts and aggregates: the signatures as data ([`catalog`]), and what of them
//! is implemented ([`imp`]).

pub mod catalog;
pub mod imp;
