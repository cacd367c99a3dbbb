//! Making a table anew with another declaration, in the same transaction: what SQLite's ALTER TABLE cannot do by itself.

use super::{naming, Ddl};
use pgsqlite_metadata::store::sqlite_error;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::names::quoted;
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::collections::HashMap;

impl Ddl<'_> {
    /// Replaces the table's SQLite table by one for `new`; `values`: SQLite expressions over the old columns for the columns
    /// (by attnum) that do not just keep their value. The catalog must already have `new` and its indexes.
    ///
    /// The old table is renamed out of the way. SQLite then rewrites the foreign keys, views and triggers of others to the
    /// new name, so their texts are put back afterwards; only then nothing refers to the old table any more, and dropping it
    /// runs no foreign key action.
    pub(super) fn rebuild(&mut self, old: &Relation, new: &Relation, values: &HashMap<i16, String>) -> Result<()> {
        if old.origin == Origin::Foreign {
            return Err(PgError::not_supported("this change of a table that another program made"));
        }
        let (database, schema_table) =
            if new.temporary { ("temp", "sqlite_temp_schema") } else { ("main", "sqlite_schema") };
        let name = quoted(&old.sqlite_name);
        let aside = format!("__pgsqlite_old_{}", old.oid);
        let read = |sql: String| -> Result<Vec<(String, String, String)>> {
            let mut statement = self.conn.prepare(&sql).map_err(sqlite_error)?;
            let rows = statement
                .query_map([&old.sqlite_name], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
                .map_err(sqlite_error)?;
            rows.collect::<rusqlite::Result<_>>().map_err(sqlite_error)
        };
        let explicit = read(format!(
            "SELECT type, name, sql FROM {database}.{schema_table} WHERE type = 'index' AND tbl_name = ?1 AND sql IS NOT NULL"
        ))?;
        let triggers = read(format!(
            "SELECT type, name, sql FROM {database}.{schema_table} WHERE type = 'trigger' AND tbl_name = ?1"
        ))?;
        for (_, index, _) in &explicit {
            work::visit();
            self.sqlite(&format!("DROP INDEX {database}.{}", quoted(index)))?;
        }
        for (_, trigger, _) in &triggers {
            work::visit();
            self.sqlite(&format!("DROP TRIGGER {database}.{}", quoted(trigger)))?;
        }
        let others = read(format!(
            "SELECT type, name, sql FROM {database}.{schema_table} WHERE tbl_name <> ?1 AND sql IS NOT NULL"
        ))?;
        self.sqlite(&format!("ALTER TABLE {database}.{name} RENAME TO {}", quoted(&aside)))?;
        let made = self.table_sql(new, &new.sqlite_name)?;
        self.sqlite(&made)?;
        let mut columns: Vec<String> = new.stored_columns().map(|c| quoted(&c.name)).collect();
        let mut sources: Vec<String> =
            new.stored_columns()
                .map(|c| {
                    values.get(&c.attnum).cloned().unwrap_or_else(|| {
                        old.column_by_attnum(c.attnum).map_or("NULL".to_string(), |o| quoted(&o.name))
                    })
                })
                .collect();
        // (rows are locked, and known to cursors, by their numbers)
        if let (None, false, Ok(number)) =
            (new.rowid_column, new.without_rowid || old.without_rowid, pgsqlite_sql::lower::rowid_name(new))
        {
            if old.rowid_column.is_none() && old.column(&number).is_none() {
                columns.push(number.clone());
                sources.push(number);
            }
        } else if columns.is_empty() {
            columns.push(quoted(pgsqlite_sql::lower::NO_COLUMN));
            sources.push("NULL".into());
        }
        let copy = format!(
            "INSERT INTO {database}.{} ({}) SELECT {} FROM {database}.{} ORDER BY rowid",
            quoted(&new.sqlite_name),
            columns.join(", "),
            sources.join(", "),
            quoted(&aside)
        );
        // A foreign key to the table itself needs its key's index while rows are copied.
        let to_itself = new.constraints.iter().any(
            |c| matches!(c.kind, ConstraintKind::ForeignKey { references, .. } if references == new.oid && !c.managed),
        );
        let indexes: Vec<Relation> = self.catalog.indexes_of(new.oid).map(|(r, _)| (**r).clone()).collect();
        if to_itself {
            for index in &indexes {
                work::visit();
                self.make_sqlite_index(index, new)?;
            }
        }
        self.conn.execute_batch(&copy).map_err(|e| self.copy_error(new, e))?;
        // Put back the texts in which SQLite followed the rename.
        self.sqlite("PRAGMA writable_schema = ON")?;
        // (a request must not come between this and the RESET)
        let restored = work::sheltered(|| -> rusqlite::Result<()> {
            let mut statement = self.conn.prepare(&format!(
                "UPDATE {database}.{schema_table} SET sql = ?3 WHERE type = ?1 AND name = ?2 AND sql <> ?3"
            ))?;
            for (kind, name, sql) in &others {
                work::visit();
                statement.execute([kind, name, sql])?;
            }
            Ok(())
        });
        self.sqlite("PRAGMA writable_schema = RESET")?;
        restored.map_err(sqlite_error)?;
        self.sqlite(&format!("DROP TABLE {database}.{}", quoted(&aside)))?;
        let of_sqlite = |r: &Relation| matches!(&r.kind, RelationKind::Index(i) if i.of_sqlite);
        let ours: Vec<&str> = indexes.iter().map(|i| i.sqlite_name.as_str()).collect();
        if !to_itself {
            for index in &indexes {
                work::visit();
                self.make_sqlite_index(index, new)?;
            }
        }
        for (_, index, sql) in &explicit {
            work::visit();
            // another program's, whose text only SQLite carries out
            if indexes.iter().any(|i| i.sqlite_name == *index && of_sqlite(i)) {
                self.sqlite(sql)?;
                continue;
            }
            let known = self.catalog.relations.values().any(|r| r.sqlite_name == *index);
            if !ours.contains(&index.as_str()) && !known && self.catalog.relation_in(old.schema, index).is_none() {
                // An index of another program (partial or on expressions) that the catalog does not have. Ours that
                // were dropped in this statement are gone from the catalog and from the store.
                if !self.was_ours(index) && !index.starts_with(pgsqlite_sql::lower::NULLS_INDEX) {
                    self.sqlite(sql)?;
                }
            }
        }
        // (those of inverted indexes were made with them)
        for (_, _, sql) in triggers.iter().filter(|(_, name, _)| !super::inverted::is_ours(name)) {
            work::visit();
            self.sqlite(sql)?;
        }
        Ok(())
    }

    /// The catalog before this statement had an index of this SQLite name.
    fn was_ours(&self, sqlite_name: &str) -> bool {
        self.environment.catalog.relations.values().any(|r| r.sqlite_name == sqlite_name)
    }

    /// What a failed copy means to the user.
    fn copy_error(&self, table: &Relation, error: rusqlite::Error) -> PgError {
        let text = error.to_string();
        if let Some(column) =
            text.strip_prefix("NOT NULL constraint failed: ").and_then(|t| t.rsplit_once('.')).map(|t| t.1)
        {
            return self.contains_nulls(table, column);
        }
        if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) {
            return PgError::new(
                SqlState::INTEGRITY_CONSTRAINT_VIOLATION,
                format!("a row of table \"{}\" violates a constraint", table.name),
            );
        }
        self.row_error(error)
    }

    pub(super) fn contains_nulls(&self, table: &Relation, column: &str) -> PgError {
        PgError::new(
            SqlState::NOT_NULL_VIOLATION,
            format!("column \"{column}\" of relation \"{}\" contains null values", table.name),
        )
        .schema(self.catalog.schema_name(table.schema))
        .table(&table.name)
        .column(column)
    }

    /// Drops a constraint of a table that stays.
    pub(super) fn remove_constraint(&mut self, table: Oid, constraint: Oid) -> Result<()> {
        let old = (**self.required(table)?).clone();
        let mut new = old.clone();
        let Some(at) = new.constraints.iter().position(|c| c.oid == constraint) else { return Ok(()) };
        let gone = new.constraints.remove(at);
        if matches!(gone.kind, ConstraintKind::SqliteCheck { .. }) {
            let what = format!("dropping the constraint \"{}\" of a table that another program made", gone.name);
            return Err(PgError::not_supported(what));
        }
        let mut rebuild = gone.is_foreign_key() && !gone.managed;
        if let Some(column) = gone.not_null_of().and_then(|a| new.columns.get_mut(a as usize - 1)) {
            // (SQLite knows of none that is NOT VALID or that a virtual column has)
            rebuild |= column.not_null && !column.is_virtual;
            (column.not_null, column.not_null_pending) = (false, false);
        }
        new.constraints.retain(|c| c.inherited.parent != constraint);
        if gone.has_index() {
            let index = self.required(gone.index)?.clone();
            if gone.kind == ConstraintKind::PrimaryKey
                && (old.rowid_column.is_some() || index.sqlite_name.starts_with("sqlite_autoindex_"))
            {
                new.rowid_column = None;
                rebuild = true;
            } else {
                self.sqlite(&format!("DROP INDEX IF EXISTS {}", quoted(&index.sqlite_name)))?;
                self.drop_nulls_index(index.oid)?;
            }
            self.catalog.remove_relation(gone.index);
            pgsqlite_metadata::store::storing::delete_object(self.conn, gone.index)?;
            self.forget_comments(gone.index)?;
        }
        self.forget_comments(constraint)?;
        self.put_relation(new.clone())?;
        if rebuild {
            self.rebuild(&old, &new, &HashMap::new())?;
        }
        Ok(())
    }

    /// The constraints that go with a column: those over it, and those whose index includes it.
    pub(super) fn constraints_of_column(&self, relation: &Relation, attnum: i16) -> Vec<Oid> {
        let included = |c: &Constraint| {
            let own = !matches!(c.kind, ConstraintKind::ForeignKey { .. });
            own && self.catalog.indexes_of(relation.oid).any(|(i, d)| i.oid == c.index && d.include.contains(&attnum))
        };
        relation.constraints.iter().filter(|c| c.columns.contains(&attnum) || included(c)).map(|c| c.oid).collect()
    }

    /// Drops a column of a table that stays, with its indexes, constraints and owned sequence.
    pub(super) fn remove_column(&mut self, table: Oid, attnum: i16) -> Result<()> {
        for constraint in self.constraints_of_column(self.required(table)?, attnum) {
            work::visit();
            self.remove_constraint(table, constraint)?;
        }
        let old = (**self.required(table)?).clone();
        let column = old.column_by_attnum(attnum).ok_or_else(|| PgError::internal("the column is not there"))?.clone();
        if let Some(policy) = self.policies_of_column(&old, attnum)?.first() {
            return Err(PgError::not_supported(format!(
                "dropping column \"{}\", which policy \"{policy}\" uses,",
                column.name
            )));
        }
        let mut indexes = Vec::new();
        for (index, definition) in self.catalog.indexes_of(table) {
            work::visit();
            let mut uses = definition.include.contains(&attnum);
            for key in &definition.columns {
                work::visit();
                uses |= match &key.key {
                    KeyPart::Column(a) => *a == attnum,
                    KeyPart::Expression(text) => self.expression_columns(text, &old)?.contains(&attnum),
                };
            }
            if let Some(text) = &definition.predicate {
                uses |= self.expression_columns(text, &old)?.contains(&attnum);
            }
            if uses {
                indexes.push((index.oid, index.sqlite_name.clone()));
            }
        }
        for (oid, sqlite_name) in indexes {
            work::visit();
            self.sqlite(&format!("DROP INDEX IF EXISTS {}", quoted(&sqlite_name)))?;
            self.drop_nulls_index(oid)?;
            self.drop_terms(oid)?;
            self.catalog.remove_relation(oid);
            pgsqlite_metadata::store::storing::delete_object(self.conn, oid)?;
            self.forget_comments(oid)?;
        }
        if self.catalog.comments.contains_key(&(super::schema::CLASS_RELATION, table, i32::from(attnum))) {
            self.set_comment(super::schema::CLASS_RELATION, table, i32::from(attnum), None)?;
        }
        let owned: Vec<Oid> = self
            .catalog
            .relations
            .values()
            .filter(|r| matches!(&r.kind, RelationKind::Sequence(s) if s.owned_by == Some((table, attnum))))
            .map(|r| r.oid)
            .collect();
        for sequence in owned {
            work::visit();
            self.catalog.remove_relation(sequence);
            pgsqlite_metadata::store::storing::delete_object(self.conn, sequence)?;
            self.forget_comments(sequence)?;
        }
        let mut new = old.clone();
        for c in new.columns.iter_mut().filter(|c| c.attnum == attnum) {
            work::visit();
            c.dropped = true;
            c.acl = None;
            c.default = None;
            c.generated = None;
            c.is_virtual = false;
            c.identity = None;
            c.not_null = false;
            c.not_null_pending = false;
            c.name = format!("........pg.dropped.{attnum}........");
        }
        if new.rowid_column == Some(attnum) {
            new.rowid_column = None;
        }
        self.put_relation(new.clone())?;
        if column.is_virtual {
            return Ok(());
        }
        if new.stored_columns().next().is_none() {
            // SQLite's tables have at least one
            return self.rebuild(&old, &new, &HashMap::new());
        }
        let name = quoted(&old.sqlite_name);
        let database = if old.temporary { "temp" } else { "main" };
        self.sqlite(&format!("ALTER TABLE {database}.{name} DROP COLUMN {}", quoted(&column.name)))?;
        let _ = naming::MAX_NAME;
        Ok(())
    }
}
