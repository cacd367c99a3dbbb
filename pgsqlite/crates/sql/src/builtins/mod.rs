//! PostgreSQL's own functions, operators, casts and aggregates: the signatures as data ([`catalog`]), and what of them
//! is implemented ([`imp`], its rows in the other modules).

pub mod catalog;
mod catalogs;
pub mod extensions;
pub mod imp;
pub mod keywords;
pub mod text_search;
pub mod word;

mod aggregates;
pub mod binary;
mod bits;
mod documents;
mod formatting;
mod geometry;
mod json_paths;
mod later;
mod money;
mod networks;
mod numbers;
mod objects;
mod privileges;
mod ranges;
mod server;
mod strings;
mod system;
mod times;
mod transactions;
pub mod trigger_functions;
