//! How the values of one type are stored and travel. Decided once per column or parameter, then run per value.

pub mod array;
pub mod enums;
pub mod range;
pub mod record;
pub mod reg;

use crate::datetime::io as datetime;
use crate::geometry::{io as geometry, Kind};
use crate::int::Width;
use crate::json::io as json;
use crate::network::{inet, mac};
use crate::oid::{self, Oid};
use crate::{
    bits, bool, bytea, catalog, extension, float, int, jsonpath, money, numeric, text, tid, transaction_ids, tsearch,
    uuid,
};
use crate::{Datum, DatumRef, PgError, Result, Settings, SqlState};
use range::RangeType;
use std::sync::Arc;

/// The delimiter of `int2vector` and `oidvector`, by which their codec knows them.
pub const VECTOR_DELIMITER: u8 = b' ';

/// An enum type: its labels in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumType {
    pub oid: Oid,
    /// in double quotes where SQL needs them
    pub name: String,
    pub labels: Vec<String>,
    /// Those that the transaction has added, which may not be used before it commits.
    pub unsafe_labels: Vec<String>,
}

/// A composite type: what its text and binary input need to know.
#[derive(Debug, Clone, PartialEq)]
pub struct CompositeType {
    pub name: String,
    /// type and type modifier of each field
    pub fields: Vec<(Oid, i32)>,
    /// the fields' codecs, for comparing; None: not implemented
    pub codecs: Vec<Option<TypeCodec>>,
}

/// The names behind `regclass`, `regtype`, `regproc` … values: what their text form looks up.
/// Implemented by the session's catalog.
pub trait RegNames {
    /// The text form of `oid` as the reg type `reg_type` (`regclass`, …); None: printed as the number.
    fn reg_name(&self, reg_type: Oid, oid: Oid) -> Option<String>;
    /// The OID that `name` means as `reg_type`; an error as PostgreSQL gives it (42P01, 42704, 42883 …).
    fn reg_oid(&self, reg_type: Oid, name: &str) -> Result<Oid>;
    /// The same for a role: 42501 where the name has a schema that the role may not look into.
    fn reg_oid_for(&self, role: Oid, reg_type: Oid, name: &str) -> Result<Oid>;
    /// The codec of a type of the user (for records, whose fields carry their type's OID).
    fn codec(&self, type_oid: Oid) -> Option<TypeCodec>;
}

/// No names at all: reg types are printed as numbers, and their names are refused. For values that have no catalog beside them.
pub struct NoNames;

impl RegNames for NoNames {
    fn reg_name(&self, _: Oid, _: Oid) -> Option<String> {
        None
    }
    fn reg_oid(&self, _: Oid, name: &str) -> Result<Oid> {
        Err(PgError::not_supported(format!("the name \"{name}\" where there is no catalog")))
    }
    fn reg_oid_for(&self, _: Oid, reg_type: Oid, name: &str) -> Result<Oid> {
        self.reg_oid(reg_type, name)
    }
    fn codec(&self, _: Oid) -> Option<TypeCodec> {
        None
    }
}

/// Names as a role may look them up.
pub struct NamesFor<'a> {
    pub names: &'a dyn RegNames,
    /// None: whatever the schema
    pub role: Option<Oid>,
}

impl RegNames for NamesFor<'_> {
    fn reg_name(&self, reg_type: Oid, oid: Oid) -> Option<String> {
        self.names.reg_name(reg_type, oid)
    }
    fn reg_oid(&self, reg_type: Oid, name: &str) -> Result<Oid> {
        match self.role {
            Some(role) => self.names.reg_oid_for(role, reg_type, name),
            None => self.names.reg_oid(reg_type, name),
        }
    }
    fn reg_oid_for(&self, role: Oid, reg_type: Oid, name: &str) -> Result<Oid> {
        self.names.reg_oid_for(role, reg_type, name)
    }
    fn codec(&self, type_oid: Oid) -> Option<TypeCodec> {
        self.names.codec(type_oid)
    }
}

/// What a codec may ask for while it works.
#[derive(Clone, Copy)]
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
    /// unsigned 32 bits
    Oid,
    /// `xid`, `cid`: as `oid`, but what is no number is 0
    Xid,
    Cid,
    Xid8,
    /// `pg_snapshot`, `txid_snapshot`
    Snapshot,
    Lsn,
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
    /// `bit(n)`, `bit varying(n)`
    Bits {
        varying: bool,
    },
    /// `inet`, `cidr` (`network`)
    Inet {
        network: bool,
    },
    /// `macaddr`, `macaddr8` (`eight` bytes)
    MacAddr {
        eight: bool,
    },
    /// cents, as INTEGER
    Money,
    /// `point`, `lseg`, `line`, `box`, `path`, `polygon`, `circle`
    Geometric(Kind),
    Date,
    Time,
    TimeTz,
    Timestamp,
    TimestampTz,
    Interval,
    Uuid,
    Tid,
    Json,
    Jsonb,
    JsonPath,
    TsVector,
    TsQuery,
    /// text that compares without regard to case (citext)
    Citext,
    Hstore,
    /// a condition on arrays of integers (intarray)
    QueryInt,
    /// `vector`, `halfvec`, `sparsevec`
    Vector(extension::vector::Kind),
    Void,
    Enum(Arc<EnumType>),
    /// element's codec, element's type, delimiter. Storage: TEXT, JSON array (nested for more dimensions), elements in
    /// their storage form: numbers as JSON numbers, bool as 0/1, everything else as JSON strings.
    Array(Box<TypeCodec>, Oid, u8),
    /// `record`. Storage: TEXT, JSON array of [type OID, value] pairs.
    Record,
    /// A composite type: stored as a record.
    Composite(Arc<CompositeType>),
    /// A range type. Storage: TEXT, see [`crate::range`].
    Range(Arc<RangeType>),
    /// The multirange type of a range type.
    Multirange(Arc<RangeType>),
}

impl TypeCodec {
    /// Whether values are stored as BLOBs, which have no form of their own in JSON: they are stored as texts in arrays and rows.
    pub fn is_blob(&self) -> bool {
        matches!(self, TypeCodec::Bytea | TypeCodec::Vector(_))
    }

    /// The codec of a built-in type; None where the type is not implemented (the caller refuses with 0A000).
    /// Types of the user (enum, domain, arrays of them) get theirs from the catalog.
    pub fn builtin(type_oid: Oid) -> Option<TypeCodec> {
        let t = catalog::by_oid(type_oid)?;
        if t.is_array() {
            // The vectors are arrays that print with blanks and count from 0.
            let vector = type_oid == oid::INT2VECTOR || type_oid == oid::OIDVECTOR;
            let delimiter = if vector { VECTOR_DELIMITER } else { t.delim };
            return Some(TypeCodec::Array(Box::new(TypeCodec::builtin(t.elem)?), t.elem, delimiter));
        }
        Some(match type_oid {
            oid::BOOL => TypeCodec::Bool,
            oid::INT2 => TypeCodec::Int2,
            oid::INT4 => TypeCodec::Int4,
            oid::INT8 => TypeCodec::Int8,
            oid::OID => TypeCodec::Oid,
            oid::XID => TypeCodec::Xid,
            oid::CID => TypeCodec::Cid,
            oid::XID8 => TypeCodec::Xid8,
            oid::PG_SNAPSHOT | oid::TXID_SNAPSHOT => TypeCodec::Snapshot,
            oid::PG_LSN => TypeCodec::Lsn,
            oid::REGPROC
            | oid::REGPROCEDURE
            | oid::REGOPER
            | oid::REGOPERATOR
            | oid::REGCLASS
            | oid::REGTYPE
            | oid::REGROLE
            | oid::REGNAMESPACE
            | oid::REGCONFIG
            | oid::REGDICTIONARY
            | oid::REGCOLLATION => TypeCodec::Reg(type_oid),
            oid::FLOAT4 => TypeCodec::Float4,
            oid::FLOAT8 => TypeCodec::Float8,
            oid::NUMERIC => TypeCodec::Numeric,
            oid::TEXT | oid::VARCHAR | oid::UNKNOWN | oid::CSTRING | oid::REFCURSOR => TypeCodec::Text,
            // Shown by the catalogs, never computed with.
            oid::PG_NODE_TREE | oid::ACLITEM => TypeCodec::Text,
            oid::BPCHAR => TypeCodec::BpChar,
            oid::NAME => TypeCodec::Name,
            oid::CHAR => TypeCodec::Char,
            oid::BYTEA => TypeCodec::Bytea,
            oid::BIT => TypeCodec::Bits { varying: false },
            oid::VARBIT => TypeCodec::Bits { varying: true },
            oid::INET => TypeCodec::Inet { network: false },
            oid::CIDR => TypeCodec::Inet { network: true },
            oid::MACADDR => TypeCodec::MacAddr { eight: false },
            oid::MACADDR8 => TypeCodec::MacAddr { eight: true },
            oid::MONEY => TypeCodec::Money,
            oid::POINT => TypeCodec::Geometric(Kind::Point),
            oid::LSEG => TypeCodec::Geometric(Kind::Lseg),
            oid::LINE => TypeCodec::Geometric(Kind::Line),
            oid::BOX => TypeCodec::Geometric(Kind::Box),
            oid::PATH => TypeCodec::Geometric(Kind::Path),
            oid::POLYGON => TypeCodec::Geometric(Kind::Polygon),
            oid::CIRCLE => TypeCodec::Geometric(Kind::Circle),
            oid::DATE => TypeCodec::Date,
            oid::TIME => TypeCodec::Time,
            oid::TIMETZ => TypeCodec::TimeTz,
            oid::TIMESTAMP => TypeCodec::Timestamp,
            oid::TIMESTAMPTZ => TypeCodec::TimestampTz,
            oid::INTERVAL => TypeCodec::Interval,
            oid::UUID => TypeCodec::Uuid,
            oid::TID => TypeCodec::Tid,
            oid::JSONPATH => TypeCodec::JsonPath,
            oid::TSVECTOR => TypeCodec::TsVector,
            oid::TSQUERY => TypeCodec::TsQuery,
            extension::CITEXT => TypeCodec::Citext,
            extension::HSTORE => TypeCodec::Hstore,
            extension::QUERY_INT => TypeCodec::QueryInt,
            extension::VECTOR => TypeCodec::Vector(extension::vector::Kind::Vector),
            extension::HALFVEC => TypeCodec::Vector(extension::vector::Kind::Half),
            extension::SPARSEVEC => TypeCodec::Vector(extension::vector::Kind::Sparse),
            oid::JSON => TypeCodec::Json,
            oid::JSONB => TypeCodec::Jsonb,
            // (no function gives a value of type trigger or event_trigger to who calls it)
            oid::VOID | oid::TRIGGER | oid::EVENT_TRIGGER => TypeCodec::Void,
            // a column of the catalogs; there are only NULLs in it
            oid::ANYARRAY => TypeCodec::Text,
            oid::RECORD => TypeCodec::Record,
            _ => return RangeType::builtin_codec(type_oid),
        })
    }

    /// The SQLite collation under which values in storage form compare as PostgreSQL compares them; None: SQLite's
    /// BINARY order of the storage class is right. [`crate::compare`] implements those that SQLite does not have.
    pub fn collation(&self) -> Option<String> {
        Some(match self {
            TypeCodec::Numeric => "decimal".into(),
            TypeCodec::BpChar => "RTRIM".into(),
            TypeCodec::Char => "pg_char".into(),
            TypeCodec::TimeTz => "pg_timetz".into(),
            TypeCodec::Interval => "pg_interval".into(),
            TypeCodec::Jsonb => "pg_jsonb".into(),
            TypeCodec::Lsn => "pg_lsn".into(),
            TypeCodec::Inet { .. } => "pg_inet".into(),
            TypeCodec::TsVector => "pg_tsvector".into(),
            TypeCodec::TsQuery => "pg_tsquery".into(),
            TypeCodec::Citext => "pg_citext".into(),
            TypeCodec::Hstore => "pg_hstore".into(),
            TypeCodec::Enum(e) => format!("pg_enum_{}", e.oid),
            TypeCodec::Array(_, element, _) => format!("pg_array_{element}"),
            TypeCodec::Record | TypeCodec::Composite(_) => "pg_record".into(),
            TypeCodec::Range(t) => format!("pg_range_{}", t.oid),
            TypeCodec::Multirange(t) => format!("pg_multirange_{}", t.multirange),
            _ => return None,
        })
    }

    /// Reads the text form (`typmod` -1: none; else length, precision … are applied as an *assignment* applies them).
    pub fn text_in(&self, text: &str, typmod: i32, context: &Context) -> Result<Datum> {
        let settings = context.settings;
        match self {
            TypeCodec::Bool => bool::text_in(text),
            TypeCodec::Int2 => int::text_in(text, Width::Two),
            TypeCodec::Int4 => int::text_in(text, Width::Four),
            TypeCodec::Int8 => int::text_in(text, Width::Eight),
            TypeCodec::Oid => int::oid_text_in(text),
            TypeCodec::Xid => transaction_ids::xid_text_in(text, "xid"),
            TypeCodec::Cid => transaction_ids::xid_text_in(text, "cid"),
            TypeCodec::Xid8 => transaction_ids::xid8_text_in(text),
            TypeCodec::Snapshot => transaction_ids::snapshot_text_in(text),
            TypeCodec::Lsn => transaction_ids::lsn_text_in(text),
            TypeCodec::Float4 => float::text_in(text, true),
            TypeCodec::Float8 => float::text_in(text, false),
            TypeCodec::Numeric => numeric::io::text_in(text, typmod),
            TypeCodec::Text => Ok(Datum::from(text::coerce_varchar(text, typmod, false)?)),
            TypeCodec::BpChar => text::coerce_bpchar(text, typmod, false).map(Datum::Text),
            TypeCodec::Name => Ok(Datum::from(text::truncate_name(text))),
            TypeCodec::Char => text::char_in(text),
            TypeCodec::Bytea => bytea::text_in(text),
            TypeCodec::Bits { varying } => bits::text_in(text, typmod, *varying),
            TypeCodec::Inet { network } => inet::text_in(text, *network),
            TypeCodec::MacAddr { eight } => mac::text_in(text, *eight),
            TypeCodec::Money => money::text_in(text),
            TypeCodec::Geometric(kind) => geometry::text_in(text, *kind),
            TypeCodec::Date => datetime::date_in(text, settings),
            TypeCodec::Time => datetime::time_in(text, typmod, settings),
            TypeCodec::TimeTz => datetime::timetz_in(text, typmod, settings),
            TypeCodec::Timestamp => datetime::timestamp_in(text, typmod, false, settings),
            TypeCodec::TimestampTz => datetime::timestamp_in(text, typmod, true, settings),
            TypeCodec::Interval => datetime::interval_in(text, typmod, settings),
            TypeCodec::Uuid => uuid::text_in(text),
            TypeCodec::Tid => tid::text_in(text),
            TypeCodec::JsonPath => jsonpath::text_in(text),
            TypeCodec::TsVector => tsearch::vector::text_in(text),
            TypeCodec::TsQuery => tsearch::tsquery::text_in(text),
            TypeCodec::Citext => Ok(Datum::from(text)),
            TypeCodec::Hstore => extension::hstore::text_in(text),
            TypeCodec::QueryInt => extension::query_int::text_in(text),
            TypeCodec::Vector(kind) => extension::vector::text_in(text, *kind, typmod),
            TypeCodec::Reg(reg_type) => reg::text_in(text, *reg_type, context),
            TypeCodec::Json => json::json_in(text),
            TypeCodec::Jsonb => json::jsonb_in(text),
            TypeCodec::Enum(e) => enums::text_in(text, e),
            TypeCodec::Array(element, oid, delimiter) => {
                array::text_in(text, element, *oid, *delimiter, typmod, context)
            }
            TypeCodec::Record => Err(record::input()),
            TypeCodec::Composite(t) => record::text_in(text, t, context),
            TypeCodec::Range(t) => range::range_text_in(text, t, context),
            TypeCodec::Multirange(t) => range::multirange_text_in(text, t, context),
            TypeCodec::Void => Ok(Datum::from("")),
        }
    }

    /// Appends the text form of a non-NULL value.
    pub fn text_out(&self, value: DatumRef, context: &Context, out: &mut Vec<u8>) -> Result<()> {
        match self {
            TypeCodec::Bool => bool::text_out(value, out),
            TypeCodec::Int2 => int::text_out(value, Width::Two, out),
            TypeCodec::Int4 => int::text_out(value, Width::Four, out),
            TypeCodec::Int8 => int::text_out(value, Width::Eight, out),
            TypeCodec::Oid | TypeCodec::Xid | TypeCodec::Cid => int::oid_text_out(value, out),
            TypeCodec::Xid8 => transaction_ids::xid8_text_out(value, out),
            TypeCodec::Snapshot | TypeCodec::Lsn => text::text_out(value, out),
            TypeCodec::Float4 => float::text_out(value, true, context.settings.extra_float_digits, out),
            TypeCodec::Float8 => float::text_out(value, false, context.settings.extra_float_digits, out),
            TypeCodec::Numeric => numeric::io::text_out(value, out),
            TypeCodec::Text | TypeCodec::BpChar | TypeCodec::Name | TypeCodec::Char => text::text_out(value, out),
            TypeCodec::Json | TypeCodec::Jsonb => text::text_out(value, out),
            TypeCodec::Bytea => bytea::text_out(value, context.settings.bytea_output, out),
            TypeCodec::Bits { .. } => bits::text_out(value, out),
            TypeCodec::Inet { network } => inet::text_out(value, *network, out),
            TypeCodec::MacAddr { .. } => mac::text_out(value, out),
            TypeCodec::Money => money::text_out(value, out),
            TypeCodec::Geometric(kind) => geometry::text_out(value, *kind, context.settings.extra_float_digits, out),
            TypeCodec::Date => datetime::date_out(value, context.settings, out),
            TypeCodec::Time => datetime::time_out(value, out),
            TypeCodec::TimeTz => datetime::timetz_out(value, out),
            TypeCodec::Timestamp => datetime::timestamp_out(value, false, context.settings, out),
            TypeCodec::TimestampTz => datetime::timestamp_out(value, true, context.settings, out),
            TypeCodec::Interval => datetime::interval_out(value, context.settings, out),
            TypeCodec::Uuid => uuid::text_out(value, out),
            TypeCodec::Tid => tid::text_out(value, out),
            TypeCodec::JsonPath | TypeCodec::TsVector => text::text_out(value, out),
            TypeCodec::TsQuery => tsearch::tsquery::text_out(value, out),
            TypeCodec::Citext | TypeCodec::Hstore | TypeCodec::QueryInt => text::text_out(value, out),
            TypeCodec::Vector(kind) => extension::vector::text_out(value, *kind, out),
            TypeCodec::Reg(reg_type) => reg::text_out(value, *reg_type, context, out),
            TypeCodec::Enum(_) => enums::out(value, out),
            TypeCodec::Array(element, _, delimiter) => array::text_out(value, element, *delimiter, context, out),
            TypeCodec::Record | TypeCodec::Composite(_) => record::text_out(value, context, out),
            TypeCodec::Range(t) => range::range_text_out(value, t, context, out),
            TypeCodec::Multirange(t) => range::multirange_text_out(value, t, context, out),
            TypeCodec::Void => Ok(()),
        }
    }

    /// Reads the binary form (that of `typreceive`).
    pub fn binary_in(&self, bytes: &[u8], typmod: i32, context: &Context) -> Result<Datum> {
        match self {
            TypeCodec::Bool => bool::binary_in(bytes),
            TypeCodec::Int2 => int::binary_in(bytes, Width::Two),
            TypeCodec::Int4 => int::binary_in(bytes, Width::Four),
            TypeCodec::Int8 => int::binary_in(bytes, Width::Eight),
            TypeCodec::Oid | TypeCodec::Xid | TypeCodec::Cid => int::oid_binary_in(bytes),
            TypeCodec::Xid8 => transaction_ids::xid8_binary_in(bytes),
            TypeCodec::Snapshot => transaction_ids::snapshot_binary_in(bytes),
            TypeCodec::Lsn => transaction_ids::lsn_binary_in(bytes),
            TypeCodec::Float4 => float::binary_in(bytes, true),
            TypeCodec::Float8 => float::binary_in(bytes, false),
            TypeCodec::Numeric => numeric::io::binary_in(bytes, typmod),
            TypeCodec::Text | TypeCodec::BpChar | TypeCodec::Name => {
                self.text_in(text::decode_utf8(bytes)?, typmod, context)
            }
            TypeCodec::Char => text::char_binary_in(bytes),
            TypeCodec::Bytea => Ok(Datum::Blob(bytes.to_vec())),
            TypeCodec::Bits { varying } => bits::binary_in(bytes, typmod, *varying),
            TypeCodec::Inet { network } => inet::binary_in(bytes, *network),
            TypeCodec::MacAddr { eight } => mac::binary_in(bytes, *eight),
            TypeCodec::Money => money::binary_in(bytes),
            TypeCodec::Geometric(kind) => geometry::binary_in(bytes, *kind),
            TypeCodec::Date => datetime::date_binary_in(bytes),
            TypeCodec::Time => datetime::time_binary_in(bytes, typmod),
            TypeCodec::TimeTz => datetime::timetz_binary_in(bytes, typmod),
            TypeCodec::Timestamp | TypeCodec::TimestampTz => datetime::timestamp_binary_in(bytes, typmod),
            TypeCodec::Interval => datetime::interval_binary_in(bytes, typmod),
            TypeCodec::Uuid => uuid::binary_in(bytes),
            TypeCodec::Tid => tid::binary_in(bytes),
            TypeCodec::JsonPath => jsonpath::binary_in(bytes),
            TypeCodec::TsVector => tsearch::vector::binary_in(bytes),
            TypeCodec::TsQuery => tsearch::tsquery::binary_in(bytes),
            TypeCodec::Citext => Ok(Datum::from(text::decode_utf8(bytes)?)),
            TypeCodec::Hstore => extension::hstore::binary_in(bytes),
            TypeCodec::QueryInt => Err(no_binary("input", "query_int")),
            TypeCodec::Vector(kind) => extension::vector::binary_in(bytes, *kind, typmod),
            TypeCodec::Reg(_) => int::oid_binary_in(bytes),
            TypeCodec::Json => json::json_in(text::decode_utf8(bytes)?),
            TypeCodec::Jsonb => json::jsonb_binary_in(bytes),
            TypeCodec::Enum(e) => enums::binary_in(bytes, e),
            TypeCodec::Array(element, oid, delimiter) => {
                array::binary_in(bytes, element, *oid, *delimiter, typmod, context)
            }
            TypeCodec::Record => Err(record::input()),
            TypeCodec::Composite(t) => record::binary_in(bytes, t, context),
            TypeCodec::Range(t) => range::range_binary_in(bytes, t, context),
            TypeCodec::Multirange(t) => range::multirange_binary_in(bytes, t, context),
            TypeCodec::Void => Ok(Datum::from("")),
        }
    }

    /// Appends the binary form (that of `typsend`) of a non-NULL value, without its length word.
    pub fn binary_out(&self, value: DatumRef, context: &Context, out: &mut Vec<u8>) -> Result<()> {
        match self {
            TypeCodec::Bool => bool::binary_out(value, out),
            TypeCodec::Int2 => int::binary_out(value, Width::Two, out),
            TypeCodec::Int4 => int::binary_out(value, Width::Four, out),
            TypeCodec::Int8 => int::binary_out(value, Width::Eight, out),
            TypeCodec::Oid | TypeCodec::Xid | TypeCodec::Cid => int::oid_binary_out(value, out),
            TypeCodec::Xid8 => transaction_ids::xid8_binary_out(value, out),
            TypeCodec::Snapshot => transaction_ids::snapshot_binary_out(value, out),
            TypeCodec::Lsn => transaction_ids::lsn_binary_out(value, out),
            TypeCodec::Float4 => float::binary_out(value, true, out),
            TypeCodec::Float8 => float::binary_out(value, false, out),
            TypeCodec::Numeric => numeric::io::binary_out(value, out),
            TypeCodec::Text | TypeCodec::BpChar | TypeCodec::Name => text::text_out(value, out),
            TypeCodec::Char => text::char_binary_out(value, out),
            TypeCodec::Bytea => {
                out.extend_from_slice(bytea::stored(value)?);
                Ok(())
            }
            TypeCodec::Bits { .. } => bits::binary_out(value, out),
            TypeCodec::Inet { network } => inet::binary_out(value, *network, out),
            TypeCodec::MacAddr { eight } => mac::binary_out(value, *eight, out),
            TypeCodec::Money => money::binary_out(value, out),
            TypeCodec::Geometric(kind) => geometry::binary_out(value, *kind, out),
            TypeCodec::Date => datetime::date_binary_out(value, out),
            TypeCodec::Time => datetime::time_binary_out(value, out),
            TypeCodec::TimeTz => datetime::timetz_binary_out(value, out),
            TypeCodec::Timestamp | TypeCodec::TimestampTz => datetime::timestamp_binary_out(value, out),
            TypeCodec::Interval => datetime::interval_binary_out(value, out),
            TypeCodec::Uuid => uuid::binary_out(value, out),
            TypeCodec::Tid => tid::binary_out(value, out),
            TypeCodec::JsonPath => jsonpath::binary_out(value, out),
            TypeCodec::TsVector => tsearch::vector::binary_out(value, out),
            TypeCodec::TsQuery => tsearch::tsquery::binary_out(value, out),
            TypeCodec::Citext => text::text_out(value, out),
            TypeCodec::Hstore => extension::hstore::binary_out(value, out),
            TypeCodec::QueryInt => Err(no_binary("output", "query_int")),
            TypeCodec::Vector(kind) => extension::vector::binary_out(value, *kind, out),
            TypeCodec::Reg(_) => int::oid_binary_out(value, out),
            TypeCodec::Json => text::text_out(value, out),
            TypeCodec::Jsonb => json::jsonb_binary_out(value, out),
            TypeCodec::Enum(_) => enums::out(value, out),
            TypeCodec::Array(element, oid, delimiter) => {
                array::binary_out(value, element, *oid, *delimiter, context, out)
            }
            TypeCodec::Record | TypeCodec::Composite(_) => record::binary_out(value, context, out),
            TypeCodec::Range(t) => range::range_binary_out(value, t, context, out),
            TypeCodec::Multirange(t) => range::multirange_binary_out(value, t, context, out),
            TypeCodec::Void => Ok(()),
        }
    }
}

/// 42883: a type without `typreceive` or `typsend`.
fn no_binary(direction: &str, type_name: &str) -> PgError {
    PgError::new(SqlState::UNDEFINED_FUNCTION, format!("no binary {direction} function available for type {type_name}"))
}
