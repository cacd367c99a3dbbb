//! How the values of one type are stored and travel. Decided once per column or parameter, then run per value.

use crate::catalog;
use crate::oid::{self, Oid};
use crate::{Datum, DatumRef, PgError, Result, Settings};
use std::sync::Arc;

/// An enum type: its labels in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumType {
    pub oid: Oid,
    pub name: String,
    pub labels: Vec<String>,
}

/// The names behind `regclass`, `regtype`, `regproc` … values: what their text form looks up.
/// Implemented by the session's catalog.
pub trait RegNames {
    /// The text form of `oid` as the reg type `reg_type` (`regclass`, …); None: printed as the number.
    fn reg_name(&self, reg_type: Oid, oid: Oid) -> Option<String>;
    /// The OID that `name` means as `reg_type`; an error as PostgreSQL gives it (42P01, 42704, 42883 …).
    fn reg_oid(&self, reg_type: Oid, name: &str) -> Result<Oid>;
    /// The codec of a type of the user (for records, whose fields carry their type's OID).
    fn codec(&self, type_oid: Oid) -> Option<TypeCodec>;
}

/// What a codec may ask for while it works.
pub struct Context<'a> {
    pub settings: &'a Settings,
    pub names: &'a dyn RegNames,
}

/// Plan for the values of one type. Storage forms are those of ARCHITECTURE.md.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeCodec {
    Bool,
    Int2,
    Int4,
    Int8,
    /// `oid`, `xid`, `cid`: unsigned 32 bits
    Oid,
    /// `regclass`, `regtype`, `regproc` … : the OID as INTEGER, its name on output
    Reg(Oid),
    Float4,
    Float8,
    Numeric,
    /// text, varchar, unknown, cstring
    Text,
    BpChar,
    Name,
    /// the one-byte `"char"`
    Char,
    Bytea,
    Date,
    Time,
    TimeTz,
    Timestamp,
    TimestampTz,
    Interval,
    Uuid,
    Json,
    Jsonb,
    Void,
    Enum(Arc<EnumType>),
    /// element's codec, element's type, delimiter. Storage: TEXT, JSON array (nested for more dimensions), elements in
    /// their storage form: numbers as JSON numbers, bool as 0/1, everything else as JSON strings.
    Array(Box<TypeCodec>, Oid, u8),
    /// `record`. Storage: TEXT, JSON array of [type OID, value] pairs.
    Record,
}

impl TypeCodec {
    /// The codec of a built-in type; None where the type is not implemented (the caller refuses with 0A000).
    /// Types of the user (enum, domain, arrays of them) get theirs from the catalog.
    pub fn builtin(type_oid: Oid) -> Option<TypeCodec> {
        let t = catalog::by_oid(type_oid)?;
        if t.is_array() {
            return Some(TypeCodec::Array(Box::new(TypeCodec::builtin(t.elem)?), t.elem, t.delim));
        }
        Some(match type_oid {
            oid::BOOL => TypeCodec::Bool,
            oid::INT2 => TypeCodec::Int2,
            oid::INT4 => TypeCodec::Int4,
            oid::INT8 => TypeCodec::Int8,
            _ => return None,
        })
    }

    /// The SQLite collation under which values in storage form compare as PostgreSQL compares them; None: SQLite's
    /// BINARY order of the storage class is right.
    pub fn collation(&self) -> Option<String> {
        match self {
            TypeCodec::Numeric => Some("decimal".into()),
            _ => None,
        }
    }

    /// Reads the text form (`typmod` -1: none; else length, precision … are applied as an *assignment* applies them).
    pub fn text_in(&self, _text: &str, _typmod: i32, _context: &Context) -> Result<Datum> {
        Err(PgError::not_supported(format!("text input of {self:?}")))
    }

    /// Appends the text form of a non-NULL value.
    pub fn text_out(&self, _value: DatumRef, _context: &Context, _out: &mut Vec<u8>) -> Result<()> {
        Err(PgError::not_supported(format!("text output of {self:?}")))
    }

    /// Reads the binary form (that of `typreceive`).
    pub fn binary_in(&self, _bytes: &[u8], _typmod: i32, _context: &Context) -> Result<Datum> {
        Err(PgError::not_supported(format!("binary input of {self:?}")))
    }

    /// Appends the binary form (that of `typsend`) of a non-NULL value, without its length word.
    pub fn binary_out(&self, _value: DatumRef, _context: &Context, _out: &mut Vec<u8>) -> Result<()> {
        Err(PgError::not_supported(format!("binary output of {self:?}")))
    }
}
