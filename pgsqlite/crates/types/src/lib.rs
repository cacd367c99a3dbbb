//! Everything PostgreSQL knows of a type: its OID, its text and binary form, its storage form in SQLite, its order.
//!
//! The way of a value:
//!
//! * in: client bytes → [`codec::TypeCodec::text_in`] / [`codec::TypeCodec::binary_in`] → a [`Datum`] in *storage form* → bound to SQLite
//! * out: `sqlite3_column_*` → a borrowed [`DatumRef`] → [`codec::TypeCodec::text_out`] / [`codec::TypeCodec::binary_out`] → the session's output buffer
//!
//! | what | where |
//! | --- | --- |
//! | the codecs, one per type | `codec` dispatches to its own modules `enums`, `reg`, `record`, `array`, `range`, to `bool`, `int`, `float`, `text`, `bytea`, `bits`, `money`, `uuid`, `transaction`, `network`, `geometry`, and to the `io` modules of `numeric`, `datetime`, `json` |
//! | values that native functions compute with | [`numeric::Numeric`], [`datetime`]'s `Date`, `Time`, `TimeTz`, `Timestamp`, `Interval`, [`json::Json`], [`array::Array`], [`range::Range`] |
//! | `to_char` and its inverses | [`formatting`] |
//! | path expressions over JSON | [`jsonpath`] |
//! | full-text search: `tsvector`, `tsquery` | [`tsearch`] |
//! | types of extensions: `citext`, `hstore`, `query_int`, `vector`, `halfvec`, `sparsevec` | [`extension`] |
//! | collations of languages | [`collation`] |
//! | order: what SQLite's collations call | [`compare`], [`codec::TypeCodec::compare_storage`] |
//! | type modifiers and type names | [`typmod`], [`codec::TypeCodec::coerce_typmod`] |
//! | values that another program stored | [`normalize`] |
//! | hashes, as partitions have them | [`hash`] |
//!
//! `tests/vectors` holds what PostgreSQL itself answered; `gen/type_vectors.py` and `gen/operator_vectors.py` record it.
//!
//! The storage forms are those of ARCHITECTURE.md ("Storage"). This crate knows no SQL, no sockets and no SQLite.

pub mod bits;
pub mod bool;
pub mod buffer;
pub mod bytea;
pub mod calendar;
pub mod catalog;
pub mod codec;
pub mod collation;
pub mod compare;
pub mod datetime;
pub mod datum;
pub mod encoding;
pub mod error;
pub mod extension;
pub mod float;
pub mod formatting;
pub mod geometry;
pub mod hash;
pub mod int;
pub mod inverted;
pub mod json;
pub mod jsonpath;
mod length_coercion;
pub mod memory;
pub mod money;
pub mod network;
pub mod normalize;
pub mod numeric;
pub mod oid;
pub mod settings;
pub mod sqlstate;
pub mod text;
mod tid;
pub mod time_zone;
pub mod transaction_ids;
pub mod tsearch;
pub mod typmod;
pub mod uuid;
pub mod work;

// the types whose values are made of other types' values, or depend on the catalog: their codecs and `TypeCodec` use each other
pub use codec::{array, enums, range, record, reg};
pub use datum::{Datum, DatumRef};
pub use error::{PgError, Result};
pub use oid::Oid;
pub use settings::Settings;
pub use sqlstate::SqlState;
