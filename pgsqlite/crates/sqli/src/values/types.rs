//! Informix types, and the PostgreSQL types that store them.
//!
//! A type that PostgreSQL has under another name is stored as that (INTEGER as int4, DATETIME YEAR TO SECOND as timestamp(0)), and a
//! PostgreSQL column is shown as the Informix type that is stored so. Types that would look the same (MONEY and DECIMAL, NCHAR
//! and CHAR) are domains in the schema `informix`, named after the Informix type: so a column's type survives in the file, and
//! PostgreSQL clients see values of the domain's base type.

use super::complex::{self, Complex};
use super::qualifier::{self, Qualifier};
use crate::wire::output::Field;
use crate::wire::type_code;
use pgsqlite_sql::catalog::{Catalog, Column, Relation};
use pgsqlite_types::{oid, Oid};

/// The schema of the domains.
pub const SCHEMA: &str = "informix";
/// Bytes of a large object's locator.
pub const LOCATOR: usize = 72;
/// What a collection or row is thought to take in a row.
const COMPLEX: usize = 1024;
/// What LVARCHAR without a length holds.
pub const LVARCHAR: i32 = 2048;
/// What the longest LVARCHAR holds.
pub const LONGEST_LVARCHAR: i32 = 32739;

/// An Informix type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Type {
    Char(i32),
    SmallInt,
    Integer,
    Float,
    SmallFloat,
    /// None: floating point with so many digits
    Decimal(u8, Option<u8>),
    Serial,
    Date,
    Money(u8, u8),
    DateTime(Qualifier),
    Byte,
    Text,
    VarChar(i32),
    Interval(Qualifier),
    NChar(i32),
    NVarChar(i32),
    Int8,
    LVarChar(i32),
    Boolean,
    BigInt,
    BigSerial,
    /// a smart large object of bytes
    Blob,
    /// of characters
    Clob,
    /// SET, MULTISET, LIST or ROW
    Complex(&'static Complex),
}

impl Type {
    /// What stores it: a PostgreSQL type, without the domain.
    pub fn storage(self) -> String {
        match self {
            Type::Char(n) | Type::NChar(n) => format!("char({n})"),
            Type::VarChar(n) | Type::NVarChar(n) | Type::LVarChar(n) => format!("varchar({n})"),
            Type::SmallInt => "smallint".into(),
            Type::Integer | Type::Serial => "integer".into(),
            Type::BigInt | Type::BigSerial | Type::Int8 => "bigint".into(),
            Type::Float => "double precision".into(),
            Type::SmallFloat => "real".into(),
            Type::Decimal(_, None) => "numeric".into(),
            Type::Decimal(p, Some(s)) | Type::Money(p, s) => format!("numeric({p},{s})"),
            Type::Date => "date".into(),
            Type::DateTime(q) if q.is_timestamp() => format!("timestamp({})", q.fraction()),
            Type::DateTime(q) => format!("time({})", q.fraction()),
            Type::Interval(_) => "interval".into(),
            Type::Byte | Type::Blob => "bytea".into(),
            Type::Text | Type::Clob => "text".into(),
            Type::Boolean => "boolean".into(),
            Type::Complex(complex) => complex.storage(),
        }
    }

    /// The domain it needs; None: its storage says it all.
    pub fn domain(self) -> Option<String> {
        Some(match self {
            Type::NChar(n) => format!("nchar({n})"),
            Type::NVarChar(n) => format!("nvarchar({n})"),
            Type::LVarChar(n) if n <= 255 => format!("lvarchar({n})"),
            Type::Decimal(p, None) => format!("decimal({p})"),
            Type::Money(p, s) => format!("money({p},{s})"),
            Type::Int8 => "int8".into(),
            Type::Text => "text".into(),
            Type::Blob => "blob".into(),
            Type::Clob => "clob".into(),
            Type::Interval(q) => q.type_name(true),
            Type::DateTime(q) if q.from == qualifier::YEAR && q.to >= qualifier::SECOND => return None,
            Type::DateTime(q) if q.from == qualifier::HOUR && q.to >= qualifier::SECOND => return None,
            Type::DateTime(q) => q.type_name(false),
            Type::Complex(complex) => complex.stored_name(),
            _ => return None,
        })
    }

    /// As Informix writes it, in lower case.
    pub fn name(self) -> String {
        match self {
            Type::Char(n) => format!("char({n})"),
            Type::VarChar(n) => format!("varchar({n})"),
            Type::LVarChar(n) => format!("lvarchar({n})"),
            Type::SmallInt => "smallint".into(),
            Type::Integer => "integer".into(),
            Type::Serial => "serial".into(),
            Type::BigInt => "bigint".into(),
            Type::BigSerial => "bigserial".into(),
            Type::Float => "float".into(),
            Type::SmallFloat => "smallfloat".into(),
            Type::Decimal(p, Some(s)) => format!("decimal({p},{s})"),
            Type::Date => "date".into(),
            Type::Boolean => "boolean".into(),
            Type::Byte => "byte".into(),
            Type::DateTime(q) => q.type_name(false),
            Type::Complex(complex) => complex.name(),
            // these have domains, which are named after them
            Type::NChar(_)
            | Type::NVarChar(_)
            | Type::Decimal(_, None)
            | Type::Money(..)
            | Type::Int8
            | Type::Text
            | Type::Blob
            | Type::Clob
            | Type::Interval(_) => self.domain().unwrap_or_default(),
        }
    }

    /// Back from [`Type::name`], for what is no collection or row.
    pub fn of_name(name: &str) -> Option<Type> {
        let (head, arguments) = match name.strip_suffix(')').and_then(|name| name.split_once('(')) {
            Some((head, arguments)) => (head, arguments),
            None => (name, ""),
        };
        let simple = match (head, arguments.split_once(',')) {
            ("char", None) => arguments.parse().ok().map(Type::Char),
            ("varchar", None) => arguments.parse().ok().map(Type::VarChar),
            ("decimal", Some((p, s))) => p.parse().ok().zip(s.parse().ok()).map(|(p, s)| Type::Decimal(p, Some(s))),
            ("smallint", None) => Some(Type::SmallInt),
            ("integer", None) => Some(Type::Integer),
            ("serial", None) => Some(Type::Serial),
            ("bigint", None) => Some(Type::BigInt),
            ("bigserial", None) => Some(Type::BigSerial),
            ("float", None) => Some(Type::Float),
            ("smallfloat", None) => Some(Type::SmallFloat),
            ("date", None) => Some(Type::Date),
            ("boolean", None) => Some(Type::Boolean),
            ("byte", None) => Some(Type::Byte),
            _ => None,
        };
        simple.or_else(|| Type::of_domain(name)).filter(|ty| ty.name() == name)
    }

    /// The type of a row's field, or of a domain's values.
    pub fn of_stored(catalog: &Catalog, type_oid: Oid, typmod: i32) -> Option<Type> {
        if let Some((base, typmod)) = complex::of_required(catalog, type_oid) {
            return Type::of_stored(catalog, base, typmod);
        }
        if let Some(found) = catalog.types.get(&type_oid) {
            let complex = || Complex::of_stored(catalog, type_oid).map(Type::Complex);
            let domain =
                || if catalog.schema_name(found.schema) == SCHEMA { Type::of_domain(&found.name) } else { None };
            if let Some(ty) = complex().or_else(domain) {
                return Some(ty);
            }
        }
        let (base, typmod) = base(catalog, type_oid, typmod);
        Type::of_postgres(base, typmod)
    }

    /// Back from [`Type::domain`].
    fn of_domain(name: &str) -> Option<Type> {
        let (head, arguments) = match name.split_once('(') {
            Some((head, rest)) if !head.contains(' ') => (head, rest.strip_suffix(')')?),
            _ => (name, ""),
        };
        let n = || arguments.parse().ok();
        Some(match head {
            "nchar" => Type::NChar(n()?),
            "nvarchar" => Type::NVarChar(n()?),
            "lvarchar" => Type::LVarChar(n()?),
            "decimal" => Type::Decimal(arguments.parse().ok()?, None),
            "money" => {
                let (p, s) = arguments.split_once(',')?;
                Type::Money(p.parse().ok()?, s.parse().ok()?)
            }
            "int8" => Type::Int8,
            "text" => Type::Text,
            "blob" => Type::Blob,
            "clob" => Type::Clob,
            _ => {
                let (kind, fields) = name.split_once(' ')?;
                let (from, to) = fields.split_once(" to ")?;
                let (from, precision) = match from.split_once('(') {
                    Some((from, digits)) => (from, digits.strip_suffix(')')?.parse().ok()?),
                    None => (from, 0),
                };
                let from = qualifier::field(from)?;
                let to = match to.strip_prefix("fraction(") {
                    Some(digits) => qualifier::SECOND + digits.strip_suffix(')')?.parse::<u8>().ok()?,
                    None => qualifier::field(to)?,
                };
                let plain = Qualifier::datetime(from, to);
                match kind {
                    "datetime" => Type::DateTime(plain),
                    "interval" if precision > 0 => Type::Interval(Qualifier { precision, ..plain }),
                    "interval" => Type::Interval(plain),
                    _ => return None,
                }
            }
        })
    }

    /// The Informix type of values of a PostgreSQL type; None: there is none that holds them.
    pub fn of_postgres(type_oid: Oid, typmod: i32) -> Option<Type> {
        let length = typmod - 4;
        Some(match type_oid {
            oid::BOOL => Type::Boolean,
            oid::INT2 => Type::SmallInt,
            oid::INT4 => Type::Integer,
            oid::INT8 | oid::OID => Type::BigInt,
            oid::FLOAT4 => Type::SmallFloat,
            oid::FLOAT8 => Type::Float,
            oid::NUMERIC if typmod >= 0 => {
                let (p, s) = ((length >> 16) as u32, (length & 0x7ff) as u32);
                match p <= 32 && s <= p {
                    true => Type::Decimal(p as u8, Some(s as u8)),
                    false => Type::Decimal(32, None),
                }
            }
            oid::NUMERIC => Type::Decimal(32, None),
            oid::BPCHAR if (1..=32767).contains(&length) => Type::Char(length),
            oid::VARCHAR if (1..=255).contains(&length) => Type::VarChar(length),
            oid::VARCHAR if length > 0 => Type::LVarChar(length.min(LONGEST_LVARCHAR)),
            oid::NAME => Type::VarChar(128),
            oid::CHAR => Type::VarChar(1),
            oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::UNKNOWN => Type::LVarChar(LONGEST_LVARCHAR),
            oid::UUID => Type::VarChar(36),
            oid::JSON | oid::JSONB => Type::LVarChar(LONGEST_LVARCHAR),
            oid::DATE => Type::Date,
            oid::TIMESTAMP | oid::TIMESTAMPTZ => {
                let digits = if (0..5).contains(&typmod) { typmod as u8 } else { 5 };
                Type::DateTime(Qualifier::datetime(qualifier::YEAR, qualifier::SECOND + digits))
            }
            oid::TIME => {
                let digits = if (0..5).contains(&typmod) { typmod as u8 } else { 5 };
                Type::DateTime(Qualifier::datetime(qualifier::HOUR, qualifier::SECOND + digits))
            }
            // of an expression: which of the two classes is not known, days to fractions is the common one
            oid::INTERVAL => Type::Interval(Qualifier { from: qualifier::DAY, to: 15, precision: 9 }),
            oid::BYTEA => Type::Byte,
            _ => return None,
        })
    }

    /// A table's column.
    pub fn of_column(catalog: &Catalog, column: &Column) -> Option<Type> {
        match Type::of_stored(catalog, column.type_oid, column.typmod)? {
            Type::Integer if is_serial(column) => Some(Type::Serial),
            Type::BigInt if is_serial(column) => Some(Type::BigSerial),
            other => Some(other),
        }
    }

    /// The type of a result's column: that of the table's column it shows, or that of the expression.
    pub fn of_output(catalog: &Catalog, column: &pgsqlite_engine::session::OutputColumn) -> Option<Type> {
        let shown = (column.table_oid != 0)
            .then(|| catalog.relation(column.table_oid)?.column_by_attnum(column.attnum))
            .flatten();
        match shown {
            Some(shown) if base(catalog, shown.type_oid, shown.typmod).0 == column.type_oid => {
                Type::of_column(catalog, shown)
            }
            _ => Type::of_stored(catalog, column.type_oid, column.typmod),
        }
    }

    /// The qualifier of a DATETIME that begins neither with YEAR nor with HOUR.
    pub fn partial(self) -> Option<Qualifier> {
        match self {
            Type::DateTime(q) if q.is_partial() => Some(q),
            _ => None,
        }
    }

    /// What it is made of, if it is a collection or row.
    pub fn complex(self) -> Option<&'static Complex> {
        match self {
            Type::Complex(complex) => Some(complex),
            _ => None,
        }
    }

    /// Whether its values are texts.
    pub fn is_character(self) -> bool {
        matches!(
            self,
            Type::Char(_)
                | Type::NChar(_)
                | Type::VarChar(_)
                | Type::NVarChar(_)
                | Type::LVarChar(_)
                | Type::Text
                | Type::Clob
        )
    }

    /// Whether its values are whole numbers.
    pub fn is_integer(self) -> bool {
        use Type::*;
        matches!(self, SmallInt | Integer | Serial | BigInt | BigSerial | Int8)
    }

    pub fn code(self) -> i16 {
        match self {
            Type::Char(_) => type_code::CHAR,
            Type::SmallInt => type_code::SMALLINT,
            Type::Integer => type_code::INTEGER,
            Type::Float => type_code::FLOAT,
            Type::SmallFloat => type_code::SMALLFLOAT,
            Type::Decimal(..) => type_code::DECIMAL,
            Type::Serial => type_code::SERIAL,
            Type::Date => type_code::DATE,
            Type::Money(..) => type_code::MONEY,
            Type::DateTime(_) => type_code::DATETIME,
            Type::Byte => type_code::BYTE,
            Type::Text => type_code::TEXT,
            Type::VarChar(_) => type_code::VARCHAR,
            Type::Interval(_) => type_code::INTERVAL,
            Type::NChar(_) => type_code::NCHAR,
            Type::NVarChar(_) => type_code::NVARCHAR,
            Type::Int8 => type_code::INT8,
            Type::LVarChar(_) => type_code::UDT_VAR,
            Type::Boolean | Type::Blob | Type::Clob => type_code::UDT_FIXED,
            Type::BigInt => type_code::BIGINT,
            Type::BigSerial => type_code::BIGSERIAL,
            Type::Complex(complex) => complex.code(),
        }
    }

    /// What DESCRIBE and `syscolumns.coltype` say beside the code.
    pub fn flags(self) -> u16 {
        const NAMED_ROW: u16 = 0x1000;
        match self {
            Type::Complex(Complex::Named(..)) => NAMED_ROW,
            _ => 0,
        }
    }

    /// What DESCRIBE and `syscolumns.collength` say of its size.
    pub fn encoded_length(self) -> i32 {
        match self {
            Type::Char(n) | Type::NChar(n) | Type::VarChar(n) | Type::NVarChar(n) | Type::LVarChar(n) => n,
            Type::SmallInt => 2,
            Type::Integer | Type::Serial | Type::SmallFloat | Type::Date => 4,
            Type::Float | Type::BigInt | Type::BigSerial => 8,
            Type::Decimal(p, s) => (p as i32) << 8 | s.unwrap_or(255) as i32,
            Type::Money(p, s) => (p as i32) << 8 | s as i32,
            Type::DateTime(q) | Type::Interval(q) => q.encoded(),
            Type::Byte | Type::Text => 56,
            Type::Blob | Type::Clob => LOCATOR as i32,
            Type::Int8 => 10,
            Type::Boolean => 1,
            // of no certain length
            Type::Complex(_) => 0,
        }
    }

    /// The most bytes that a value takes in a row.
    pub fn width(self) -> usize {
        match self {
            Type::VarChar(n) | Type::NVarChar(n) => n as usize + 1,
            Type::LVarChar(n) => n as usize + 5,
            Type::Boolean => 6,
            // hexadecimal digits
            Type::Blob | Type::Clob => 5 + 2 * LOCATOR,
            Type::Decimal(p, s) => decimal_width(p, s.unwrap_or(255)),
            Type::Money(p, s) => decimal_width(p, s),
            Type::DateTime(q) | Type::Interval(q) => q.width(),
            Type::Complex(_) => COMPLEX,
            other => other.encoded_length() as usize,
        }
    }

    /// As DESCRIBE tells a column of this type, with the number that a collection's or row's type has in the catalog.
    pub fn numbered_field(self, name: String, not_null: bool, catalog: &Catalog) -> Field {
        let mut field = self.field(name, not_null);
        if let Some(oid) = self.complex().and_then(|complex| complex.oid(catalog)) {
            field.extended_id = oid as i32;
        }
        field
    }

    /// As DESCRIBE tells a column of this type.
    pub fn field(self, name: String, not_null: bool) -> Field {
        let (extended_id, type_name): (i32, std::borrow::Cow<'static, str>) = match self {
            Type::LVarChar(_) => (1, "lvarchar".into()),
            Type::Boolean => (5, "boolean".into()),
            Type::Blob => (10, "blob".into()),
            Type::Clob => (11, "clob".into()),
            // (`numbered_field` has its number)
            Type::Complex(Complex::Named(name, _)) => (0, name.as_str().into()),
            // (a row's is written so)
            Type::Complex(Complex::Row(_)) => (0, self.name().replacen("row(", "ROW(", 1).into()),
            Type::Complex(complex) => (0, complex.name().into()),
            _ => (0, "".into()),
        };
        const NOT_NULL: u16 = 0x100;
        let type_code = self.code() as u16 | self.flags() | if not_null { NOT_NULL } else { 0 };
        let (encoded_length, width) = (self.encoded_length(), self.width());
        Field { name, type_code, extended_id, type_name, encoded_length, width }
    }
}

/// Bytes of a DECIMAL in a row.
pub fn decimal_width(precision: u8, scale: u8) -> usize {
    (precision as usize + (scale & 1) as usize + 3) / 2
}

/// A domain's base type and its modifier.
fn base(catalog: &Catalog, type_oid: Oid, typmod: i32) -> (Oid, i32) {
    use pgsqlite_sql::catalog::UserTypeKind;
    match catalog.types.get(&type_oid).map(|t| &t.kind) {
        Some(UserTypeKind::Domain { base: inner, typmod, .. }) => base(catalog, *inner, *typmod),
        _ => (catalog.base_type(type_oid), typmod),
    }
}

/// Whether a column numbers its rows by itself: an identity column, or one whose default is its sequence. (What SQLite numbers
/// cannot be asked for the number behind a 0.)
pub fn is_serial(column: &Column) -> bool {
    let sequence = column.identity.is_some()
        || column.sequence != 0
        || column.default.as_deref().is_some_and(|d| d.starts_with("nextval("));
    sequence && !column.sqlite_default
}

/// The column of a table that is SERIAL, SERIAL8 or BIGSERIAL.
pub fn serial_column(relation: &Relation) -> Option<&Column> {
    relation.live_columns().find(|c| is_serial(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_brings_its_type_back() {
        let day_to_fraction = Qualifier { from: qualifier::DAY, to: 15, precision: 3 };
        for ty in [
            Type::NChar(10),
            Type::NVarChar(20),
            Type::LVarChar(200),
            Type::Decimal(16, None),
            Type::Money(12, 2),
            Type::Int8,
            Type::Text,
            Type::Blob,
            Type::Clob,
            Type::Interval(day_to_fraction),
            Type::Interval(Qualifier { from: qualifier::YEAR, to: qualifier::MONTH, precision: 9 }),
            Type::DateTime(Qualifier::datetime(qualifier::YEAR, qualifier::DAY)),
            Type::DateTime(Qualifier::datetime(qualifier::HOUR, qualifier::MINUTE)),
            Type::DateTime(Qualifier::datetime(qualifier::MONTH, qualifier::DAY)),
            Type::DateTime(Qualifier::datetime(qualifier::FRACTION, 15)),
        ] {
            assert_eq!(Type::of_domain(&ty.domain().unwrap()), Some(ty), "{:?}", ty.domain());
        }
        assert_eq!(Type::of_domain("own"), None);
    }

    #[test]
    fn a_name_brings_its_type_back() {
        for ty in [
            Type::Char(1),
            Type::VarChar(255),
            Type::LVarChar(2048),
            Type::NChar(3),
            Type::SmallInt,
            Type::Integer,
            Type::Serial,
            Type::BigInt,
            Type::BigSerial,
            Type::Int8,
            Type::Float,
            Type::SmallFloat,
            Type::Decimal(16, None),
            Type::Decimal(12, Some(2)),
            Type::Money(12, 2),
            Type::Date,
            Type::Boolean,
            Type::Byte,
            Type::Text,
            Type::DateTime(Qualifier::datetime(qualifier::YEAR, qualifier::SECOND)),
            Type::DateTime(Qualifier::datetime(qualifier::YEAR, 13)),
            Type::Interval(Qualifier { from: qualifier::DAY, to: qualifier::SECOND, precision: 2 }),
        ] {
            assert_eq!(Type::of_name(&ty.name()), Some(ty), "{}", ty.name());
        }
        for name in ["int", "char(x)", "decimal(5,", "set(integer not null)", "row(a integer)", "char(1"] {
            assert_eq!(Type::of_name(name), None, "{name}");
        }
    }

    #[test]
    fn widths_and_lengths() {
        for (ty, length, width) in [
            (Type::Decimal(10, Some(2)), 0x0a02, 6),
            (Type::Decimal(8, Some(4)), 0x0804, 5),
            (Type::Decimal(16, None), 0x10ff, 10),
            (Type::Money(12, 2), 0x0c02, 7),
            (Type::Decimal(32, None), 0x20ff, 18),
            (Type::VarChar(20), 20, 21),
            (Type::Int8, 10, 10),
        ] {
            assert_eq!((ty.encoded_length(), ty.width()), (length, width), "{ty:?}");
        }
    }
}
