//! SQLite's side of a table and its indexes: the declarations.
//!
//! Declared types are chosen so that their affinity never changes a value in storage form, and readable where that allows it.

use super::Ddl;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::lower::NO_COLUMN;
use pgsqlite_sql::names::quoted;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result};

/// SQLite's storage class of a type's values: `INTEGER`, `REAL`, `TEXT` or `BLOB`.
pub(super) fn storage_class(catalog: &Catalog, ty: Oid) -> &'static str {
    match catalog.base_type(ty) {
        oid::BOOL | oid::INT2 | oid::INT4 | oid::INT8 | oid::MONEY | oid::OID | oid::XID | oid::CID | oid::TID => {
            "INTEGER"
        }
        oid::REGCLASS
        | oid::REGTYPE
        | oid::REGPROC
        | oid::REGPROCEDURE
        | oid::REGOPER
        | oid::REGOPERATOR
        | oid::REGNAMESPACE
        | oid::REGROLE
        | oid::REGCOLLATION
        | oid::REGCONFIG
        | oid::REGDICTIONARY => "INTEGER",
        oid::FLOAT4 | oid::FLOAT8 => "REAL",
        ty if pgsqlite_types::catalog::is_blob(ty) => "BLOB",
        _ => "TEXT",
    }
}

/// SQLite's collation for values of a type that have a collation of SQL's; None: BINARY.
pub(crate) fn storage_collation(catalog: &Catalog, ty: Oid, collation: Oid) -> Option<String> {
    let codec = catalog.codec(ty)?;
    match catalog.sqlite_collation(collation) {
        Some(name) if codec == TypeCodec::Text => Some(name),
        _ => codec.collation(),
    }
}

/// The declared type of a column, with its collation. Names that hold `INT` or mean nothing to SQLite would get an affinity that
/// turns text into numbers, so types whose text can look like a number (numeric, json, bit …) are plain TEXT.
pub fn declared_type(catalog: &Catalog, column: &Column) -> String {
    let base = catalog.base_type(column.type_oid);
    let length =
        |name: &str| if column.typmod > 4 { format!("{name}({})", column.typmod - 4) } else { name.to_string() };
    let mut declared = match base {
        oid::BOOL => "BOOLEAN".to_string(),
        oid::INT2 => "SMALLINT".into(),
        oid::INT4 => "INTEGER".into(),
        oid::INT8 => "BIGINT".into(),
        oid::FLOAT4 => "REAL".into(),
        oid::FLOAT8 => "DOUBLE PRECISION".into(),
        oid::VARCHAR => length("VARCHAR"),
        oid::BPCHAR => length("CHAR"),
        oid::DATE => "DATE".into(),
        oid::TIMESTAMP => "TIMESTAMP".into(),
        oid::TIMESTAMPTZ => "TIMESTAMPTZ".into(),
        oid::UUID => "UUID".into(),
        // an affinity that keeps both numbers and texts
        oid::XID8 => "XID8".into(),
        _ => match storage_class(catalog, base) {
            // a primary key of the type INTEGER would be the rowid, which is made up where no value is given
            "INTEGER" => "BIGINT".into(),
            class => class.into(),
        },
    };
    if let Some(collation) = storage_collation(catalog, column.type_oid, column.collation) {
        declared.push_str(&format!(" COLLATE {}", quoted(&collation)));
    }
    declared
}

fn action(action: ForeignKeyAction) -> Option<&'static str> {
    match action {
        ForeignKeyAction::NoAction => None,
        ForeignKeyAction::Restrict => Some("RESTRICT"),
        ForeignKeyAction::Cascade => Some("CASCADE"),
        ForeignKeyAction::SetNull => Some("SET NULL"),
        ForeignKeyAction::SetDefault => Some("SET DEFAULT"),
    }
}

impl Ddl<'_> {
    /// CREATE TABLE for SQLite, under the name given.
    pub(super) fn table_sql(&self, relation: &Relation, sqlite_name: &str) -> Result<String> {
        let mut items: Vec<String> = Vec::new();
        for column in relation.stored_columns() {
            work::visit();
            items.push(self.column_sql(relation, column)?);
        }
        if items.is_empty() {
            items.push(quoted(NO_COLUMN));
        }
        let names = |attnums: &[i16], table: &Relation| -> Result<String> {
            let names: Vec<String> = attnums
                .iter()
                .map(|&a| table.column_by_attnum(a).map(|c| quoted(&c.name)))
                .collect::<Option<_>>()
                .ok_or_else(|| PgError::internal("a constraint on a column that is not there"))?;
            Ok(names.join(", "))
        };
        for c in &relation.constraints {
            work::visit();
            match &c.kind {
                ConstraintKind::PrimaryKey if relation.rowid_column.is_none() && self.key_is_inline(c) => {
                    // PRIMARY KEY of a single INTEGER column would be the rowid, which SQLite fills where it is NULL
                    let integer = |a: &i16| {
                        relation.column_by_attnum(*a).is_some_and(|c| declared_type(&self.catalog, c) == "INTEGER")
                    };
                    let word =
                        if c.columns.len() == 1 && c.columns.iter().all(integer) { "UNIQUE" } else { "PRIMARY KEY" };
                    items.push(format!("CONSTRAINT {} {word} ({})", quoted(&c.name), names(&c.columns, relation)?));
                }
                ConstraintKind::ForeignKey { references, columns, on_update, on_delete, .. } if !c.managed => {
                    let parent = if *references == relation.oid {
                        relation
                    } else {
                        self.catalog
                            .relation(*references)
                            .ok_or_else(|| PgError::internal("a foreign key to a table that is not there"))?
                    };
                    let mut item = format!(
                        "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {} ({})",
                        quoted(&c.name),
                        names(&c.columns, relation)?,
                        quoted(&parent.sqlite_name),
                        names(columns, parent)?
                    );
                    if let Some(word) = action(*on_update) {
                        item.push_str(&format!(" ON UPDATE {word}"));
                    }
                    if let Some(word) = action(*on_delete) {
                        item.push_str(&format!(" ON DELETE {word}"));
                    }
                    if c.initially_deferred {
                        item.push_str(" DEFERRABLE INITIALLY DEFERRED");
                    } else if c.deferrable {
                        item.push_str(" DEFERRABLE INITIALLY IMMEDIATE");
                    }
                    items.push(item);
                }
                _ => {}
            }
        }
        let temporary = if relation.temporary { "TEMP " } else { "" };
        Ok(format!("CREATE {temporary}TABLE {} (\n  {}\n)", quoted(sqlite_name), items.join(",\n  ")))
    }

    /// The primary key is in the table's own declaration (not an index made by ALTER TABLE).
    pub(super) fn key_is_inline(&self, key: &Constraint) -> bool {
        self.catalog
            .relation(key.index)
            .is_some_and(|i| i.sqlite_name.is_empty() || i.sqlite_name.starts_with("sqlite_autoindex_"))
    }

    pub(super) fn column_sql(&self, relation: &Relation, column: &Column) -> Result<String> {
        let name = quoted(&column.name);
        if relation.rowid_column == Some(column.attnum) {
            let key = relation.primary_key().map(|k| format!(" CONSTRAINT {}", quoted(&k.name))).unwrap_or_default();
            return Ok(format!("{name} INTEGER{key} PRIMARY KEY"));
        }
        let mut sql = format!("{name} {}", declared_type(&self.catalog, column));
        if column.not_null {
            sql.push_str(" NOT NULL");
        }
        Ok(sql)
    }
}
