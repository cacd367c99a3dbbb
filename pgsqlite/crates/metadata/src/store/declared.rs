//! Declared types of SQLite tables that another program made → PostgreSQL types.

use pgsqlite_sql::catalog::StorageForm;
use pgsqlite_types::{oid, Oid};

/// What a declared type means: PostgreSQL's type, type modifier, and whether the values need normalising.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declared {
    pub type_oid: Oid,
    pub typmod: i32,
    pub storage: StorageForm,
}

/// The header size that PostgreSQL adds to length and precision modifiers (VARHDRSZ).
const HEADER: i32 = 4;

/// Reads a declared type. Names that programs use keep their meaning; the rest goes by SQLite's affinity rules, and what has
/// NUMERIC affinity only because its name means nothing to SQLite (`STRING`) is text, into which every value fits.
pub fn parse(declared: &str) -> Declared {
    let (name, numbers) = split(declared);
    let canonical = |type_oid| Declared { type_oid, typmod: -1, storage: StorageForm::Canonical };
    let foreign = |type_oid| Declared { type_oid, typmod: -1, storage: StorageForm::Foreign };
    let length = |type_oid, storage| Declared {
        type_oid,
        typmod: match numbers[..] {
            [n] if (1..=10_485_760).contains(&n) => n as i32 + HEADER,
            _ => -1,
        },
        storage,
    };
    match name.as_str() {
        "" => foreign(oid::TEXT),
        "SMALLINT" | "TINYINT" | "INT2" => canonical(oid::INT2),
        "BOOLEAN" | "BOOL" => foreign(oid::BOOL),
        "DATE" => foreign(oid::DATE),
        "DATETIME" | "TIMESTAMP" | "TIMESTAMP WITHOUT TIME ZONE" | "DATETIME2" | "SMALLDATETIME" => {
            foreign(oid::TIMESTAMP)
        }
        "TIMESTAMPTZ" | "TIMESTAMP WITH TIME ZONE" | "DATETIMEOFFSET" => foreign(oid::TIMESTAMPTZ),
        "TIME" | "TIME WITHOUT TIME ZONE" => foreign(oid::TIME),
        "JSON" => foreign(oid::JSON),
        "JSONB" => foreign(oid::JSONB),
        "UUID" | "GUID" | "UNIQUEIDENTIFIER" => foreign(oid::UUID),
        "BLOB" | "BYTEA" | "BINARY" | "VARBINARY" | "IMAGE" | "LONGBLOB" | "MEDIUMBLOB" | "TINYBLOB" => {
            canonical(oid::BYTEA)
        }
        "REAL" | "DOUBLE" | "DOUBLE PRECISION" | "FLOAT" | "FLOAT8" | "FLOAT4" => canonical(oid::FLOAT8),
        "DECIMAL" | "NUMERIC" | "NUMBER" | "MONEY" | "DEC" => Declared {
            type_oid: oid::NUMERIC,
            typmod: match numbers[..] {
                [p] if (1..=1000).contains(&p) => ((p as i32) << 16) + HEADER,
                [p, s] if (1..=1000).contains(&p) && (0..=p).contains(&s) => (((p as i32) << 16) | s as i32) + HEADER,
                _ => -1,
            },
            storage: StorageForm::Foreign,
        },
        "VARCHAR"
        | "NVARCHAR"
        | "CHARACTER VARYING"
        | "VARCHAR2"
        | "NVARCHAR2"
        | "VARYING CHARACTER"
        | "NATIONAL CHARACTER VARYING" => length(oid::VARCHAR, StorageForm::Canonical),
        "CHAR" | "NCHAR" | "CHARACTER" | "NATIVE CHARACTER" => {
            // char without a length would mean char(1), which such files do not mean.
            let typed = length(oid::BPCHAR, StorageForm::Foreign);
            if typed.typmod < 0 {
                canonical(oid::TEXT)
            } else {
                typed
            }
        }
        // `INTEGER_OR_TEXT`: numbers and texts stand side by side
        other if other.contains("INT") && (other.contains("TEXT") || other.contains("CHAR")) => foreign(oid::TEXT),
        other if other.contains("INT") => canonical(oid::INT8),
        other if other.contains("CHAR") || other.contains("CLOB") || other.contains("TEXT") => canonical(oid::TEXT),
        other if other.contains("BLOB") => canonical(oid::BYTEA),
        other if other.contains("REAL") || other.contains("FLOA") || other.contains("DOUB") => canonical(oid::FLOAT8),
        _ => foreign(oid::TEXT),
    }
}

/// `decimal(10, 2)` → (`DECIMAL`, [10, 2]).
fn split(declared: &str) -> (String, Vec<i64>) {
    let (name, rest) = declared.split_once('(').unwrap_or((declared, ""));
    let numbers = rest.trim_end().trim_end_matches(')').split(',').filter_map(|n| n.trim().parse().ok()).collect();
    let tail = rest.split_once(')').map_or("", |(_, tail)| tail);
    let name = format!("{name} {tail}").split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_uppercase();
    (name, numbers)
}
