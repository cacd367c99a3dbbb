//! What pg_class remembers of a table's size: `reltuples`, counted by VACUUM, ANALYZE, REINDEX and CREATE INDEX, forgotten by
//! TRUNCATE. Clients estimate by it.

use super::Ddl;
use crate::store::sqlite_error;
use pgsqlite_sql::catalog::Relation;
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

impl Ddl<'_> {
    /// VACUUM and ANALYZE, after SQLite has done its part.
    pub(super) fn count_tables(&mut self, statement: &ast::VacuumStmt) -> Result<String> {
        let mut tables = Vec::new();
        for node in &statement.rels {
            work::visit();
            let Some(NodeEnum::VacuumRelation(rel)) = &node.node else { return Err(PgError::internal("VACUUM")) };
            let name = rel.relation.as_ref().ok_or_else(|| PgError::internal("VACUUM without a table"))?;
            // (one that was dropped while the statement waited is passed over)
            match self.find(name) {
                Ok(table) => tables.push(table.oid),
                Err(e) if e.code() == SqlState::UNDEFINED_TABLE => {}
                Err(e) => return Err(e),
            }
        }
        if statement.rels.is_empty() {
            tables.extend(self.catalog.relations.values().filter(|r| r.is_stored()).map(|r| r.oid));
        }
        // (whoever owns the database may count what is in it)
        let owns = |owner: Oid| pgsqlite_sql::acl::owns(&self.catalog, self.environment.user, owner);
        if !owns(self.catalog.properties.owner) {
            tables.retain(|&table| self.catalog.relation(table).is_some_and(|r| owns(r.owner)));
        }
        for table in tables {
            work::visit();
            self.count_rows(table, true)?;
        }
        Ok(if statement.is_vacuumcmd { "VACUUM" } else { "ANALYZE" }.into())
    }

    /// REINDEX of these tables.
    pub(super) fn count_again(&mut self, tables: &[Oid]) -> Result<()> {
        tables.iter().try_for_each(|&table| self.count_rows(table, false))
    }

    /// CREATE INDEX has seen all rows. None of them: the size stays unknown, as the table may be filled later.
    pub(super) fn count_for_index(&mut self, table: Oid, index: Oid) -> Result<()> {
        let relation = self.required(table)?.clone();
        let rows = self.rows_of(&relation, None)?;
        if rows > 0 {
            self.put_tuples(table, rows)?;
            let found = self.catalog.indexes_of(table).find(|(r, _)| r.oid == index);
            let predicate = found.and_then(|(_, i)| i.predicate.clone());
            let rows = self.rows_of(&relation, predicate)?;
            self.put_tuples(index, rows)?;
        }
        Ok(())
    }

    /// TRUNCATE: nothing is known any more.
    pub(super) fn forget_rows(&mut self, table: Oid) -> Result<()> {
        let indexes: Vec<Oid> = self.catalog.indexes_of(table).map(|(i, _)| i.oid).collect();
        for oid in std::iter::once(table).chain(indexes) {
            work::visit();
            if self.required(oid)?.tuples.is_some() {
                self.put_tuples(oid, -1)?;
            }
        }
        Ok(())
    }

    /// `empty`: a table without rows is worth remembering.
    fn count_rows(&mut self, table: Oid, empty: bool) -> Result<()> {
        let relation = self.required(table)?.clone();
        if !relation.is_stored() {
            return Ok(());
        }
        let rows = self.rows_of(&relation, None)?;
        if rows == 0 && !empty {
            return Ok(());
        }
        self.put_tuples(table, rows)?;
        let indexes: Vec<(Oid, Option<String>)> = self
            .catalog
            .indexes_of(table)
            .filter(|(_, index)| !index.is_named_only())
            .map(|(r, index)| (r.oid, index.predicate.clone()))
            .collect();
        for (index, predicate) in indexes {
            work::visit();
            let rows = if predicate.is_some() { self.rows_of(&relation, predicate)? } else { rows };
            self.put_tuples(index, rows)?;
        }
        Ok(())
    }

    fn rows_of(&self, table: &Relation, predicate: Option<String>) -> Result<i64> {
        let database = if table.temporary { "temp" } else { "main" };
        let mut sql = format!("SELECT count(*) FROM {database}.{}", quoted(&table.sqlite_name));
        if let Some(predicate) = predicate {
            sql += &format!(" WHERE {}", self.lower_stored(&predicate, Some(table), Some((oid::BOOL, -1)))?);
        }
        self.conn.query_row(&sql, [], |row| row.get(0)).map_err(sqlite_error)
    }

    fn put_tuples(&mut self, oid: Oid, rows: i64) -> Result<()> {
        let relation = self.required(oid)?;
        if relation.tuples == Some(rows) {
            return Ok(());
        }
        let relation = Relation { tuples: Some(rows), ..(**relation).clone() };
        self.put_relation(relation)
    }
}
