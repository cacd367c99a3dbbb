//! The tables of terms behind inverted indexes (`sql/src/lower/inverted.rs`), and the triggers of SQLite that keep them. Indexes for nearest
//! values (`nearest`) are made and dropped here, too.
//!
//! The triggers call a function of ours, as the index itself needs a collation of ours: another program cannot write indexed values
//! without either, so that the terms are never behind. (It can change other columns.) A number may have terms of a row that is no more (SQLite replaces rows
//! without telling triggers): that makes a candidate too many, which the condition refuses.

use super::nearest::KeyedBy;
use super::Ddl;
use pgsqlite_metadata::store::sqlite_error;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::lower::inverted::{kind_of, side_table, SIDE_TABLE};
use pgsqlite_sql::lower::nearest::{class, is_method, lists_table};
use pgsqlite_sql::lower::{rowid_name, support};
use pgsqlite_sql::names::quoted;
use pgsqlite_types::{Oid, PgError, Result};

impl Ddl<'_> {
    /// Whether an index of this method and these keys gets a table of terms.
    pub(super) fn is_inverted(&self, table: &Relation, index: &Index) -> Result<bool> {
        let [key] = &index.columns[..] else { return Ok(false) };
        let usable = index.predicate.is_none()
            && !table.temporary
            && !table.without_rowid
            && table.kind == RelationKind::Table
            && table.origin != Origin::Foreign
            && rowid_name(table).is_ok();
        if !usable || index.method != "gin" {
            return Ok(usable && class(key.opclass).is_some());
        }
        let ty = match &key.key {
            KeyPart::Column(attnum) => table.column_by_attnum(*attnum).map_or(0, |c| c.type_oid),
            KeyPart::Expression(text) => {
                let expr =
                    self.analyze_stored(|e| pgsqlite_sql::analyze::analyze_expression(e, text, Some(table), None))?;
                // (a constant has no column whose change would be told of)
                if pgsqlite_sql::deparse::relation_columns(&expr, table).is_empty() {
                    return Ok(false);
                }
                expr.ty
            }
        };
        Ok(kind_of(&self.catalog, ty).is_some())
    }

    /// Makes (anew) the table of an index's terms, with the terms of the rows that are there, and the triggers.
    pub(super) fn make_terms(&self, index_relation: &Relation, index: &Index, table: &Relation) -> Result<()> {
        if is_method(&index.method) {
            return self.make_lists(index_relation, index, table);
        }
        let KeyedBy { value, ty, columns, changed, .. } = self.keyed_by(index, table)?;
        let kind = kind_of(&self.catalog, ty).ok_or_else(|| PgError::internal("an inverted index of such a type"))?;
        self.drop_terms(index_relation.oid)?;
        let side = quoted(&side_table(index_relation.oid));
        let name = quoted(&table.sqlite_name);
        let number = rowid_name(table)?;
        let terms = |rows: &str| {
            format!(
                "INSERT OR IGNORE INTO {side} SELECT j.value, r.n FROM (SELECT {number} AS n, {value} AS v FROM {name}{rows}) AS r \
                 CROSS JOIN json_each({}('{}', r.v)) AS j",
                support::TERMS,
                kind.name()
            )
        };
        let added = terms(&format!(" WHERE {number} = new.{number}"));
        let removed = format!("DELETE FROM {side} WHERE number = old.{number}");
        let trigger = |event: &str| quoted(&format!("{}_{event}", side_table(index_relation.oid)));
        let script = format!(
            "CREATE TABLE main.{side} (term TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (term, number)) WITHOUT ROWID;
             CREATE INDEX main.{} ON {side} (number);
             {};
             CREATE TRIGGER main.{} AFTER INSERT ON {name} BEGIN {added}; END;
             CREATE TRIGGER main.{} AFTER UPDATE OF {} ON {name}{changed} BEGIN {removed}; {added}; END;
             CREATE TRIGGER main.{} AFTER UPDATE ON {name} WHEN old.{number} <> new.{number}
             BEGIN UPDATE OR IGNORE {side} SET number = new.{number} WHERE number = old.{number}; END;
             CREATE TRIGGER main.{} AFTER DELETE ON {name} BEGIN {removed}; END;",
            quoted(&format!("{}_number", side_table(index_relation.oid))),
            terms(""),
            trigger("insert"),
            trigger("update"),
            columns.join(", "),
            trigger("move"),
            trigger("delete"),
        );
        self.conn.execute_batch(&script).map_err(sqlite_error)
    }

    /// Drops the table of an index's terms and the triggers, if they are there.
    pub(super) fn drop_terms(&self, index: Oid) -> Result<()> {
        let side = side_table(index);
        let triggers = ["insert", "update", "move", "delete"]
            .map(|event| format!("DROP TRIGGER IF EXISTS main.{};", quoted(&format!("{side}_{event}"))));
        let lists = quoted(&lists_table(index));
        let script = format!(
            "{} DROP TABLE IF EXISTS main.{}; DROP TABLE IF EXISTS main.{lists}",
            triggers.concat(),
            quoted(&side)
        );
        self.conn.execute_batch(&script).map_err(sqlite_error)
    }
}

/// A trigger of SQLite that keeps the terms of an index.
pub(super) fn is_ours(trigger: &str) -> bool {
    trigger.starts_with(SIDE_TABLE)
}
