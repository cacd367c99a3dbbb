//! What pg_class remembers of a table's size: `reltuples`, counted by VACUUM, ANALYZE, REINDEX and CREATE INDEX, forgotten by
//! TRUNCATE. Clients estimate by it. ANALYZE also estimates how many different values each column has, from a sample of the rows:
//! SQLite knows that of indexes alone, and orders joins by it.

use super::Ddl;
use pgsqlite_metadata::store::sqlite_error;
use pgsqlite_sql::catalog::{Column, ColumnStatistics, Relation};
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};
use rusqlite::types::ValueRef;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How many rows ANALYZE looks at, about.
const SAMPLE: i64 = 10_000;

/// How many parts of equal size a column's bounds divide its values into.
const PARTS: usize = 20;

/// A value in a column's order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Ordered {
    Integer(i64),
    Moment(String),
}

/// Values at equal distances in their order.
fn bounds(mut values: Vec<Ordered>) -> Vec<String> {
    values.sort_unstable();
    let Some(last) = values.len().checked_sub(1) else { return vec![] };
    let text = |part: usize| match &values[part * last / PARTS] {
        Ordered::Integer(v) => v.to_string(),
        Ordered::Moment(text) => text.clone(),
    };
    (0..=PARTS).map(text).collect()
}

/// What tells a value apart from the one in the next row, mostly.
pub(super) fn hash_of(value: ValueRef) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        ValueRef::Null => 0u8.hash(&mut hasher),
        ValueRef::Integer(v) => v.hash(&mut hasher),
        ValueRef::Real(v) => v.to_bits().hash(&mut hasher),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.hash(&mut hasher),
    }
    hasher.finish()
}

/// How many different values `rows` rows have, of which `taken` have these, with how often each was seen (Haas and Stokes, "Estimating the
/// number of classes in a finite population", estimator Duj1).
pub(super) fn estimated(values: &HashMap<u64, u32>, taken: i64, rows: i64) -> i64 {
    let (seen, once) = (values.len() as f64, values.values().filter(|n| **n == 1).count() as f64);
    let sample: f64 = values.values().map(|n| *n as f64).sum();
    if taken >= rows {
        return values.len() as i64;
    }
    // (NULLs are as frequent in the table as in the sample)
    let all = rows as f64 * sample / taken as f64;
    let estimate = sample * seen / (sample - once + once * sample / all);
    estimate.clamp(seen, all.max(seen)) as i64
}

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
        let option = |node: &ast::Node| matches!(&node.node, Some(NodeEnum::DefElem(e)) if e.defname == "analyze");
        let analyzes = !statement.is_vacuumcmd || statement.options.iter().any(option);
        for table in tables {
            work::visit();
            self.count_rows(table, true)?;
            if analyzes {
                self.put_distinct(table)?;
            }
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

    /// Remembers how many different values the columns of a counted table have.
    fn put_distinct(&mut self, table: Oid) -> Result<()> {
        let relation = self.required(table)?.clone();
        let distinct = match relation.tuples {
            Some(rows) if relation.is_stored() && !relation.without_rowid && rows > 0 => {
                self.distinct(&relation, rows)?
            }
            _ => vec![],
        };
        if relation.distinct == distinct {
            return Ok(());
        }
        self.put_relation(Relation { distinct, ..(*relation).clone() })
    }

    /// Estimates of each column's values.
    fn distinct(&self, table: &Relation, rows: i64) -> Result<Vec<ColumnStatistics>> {
        let columns: Vec<_> = table.stored_columns().collect();
        if columns.is_empty() {
            return Ok(vec![]);
        }
        let Ok(rowid) = pgsqlite_sql::lower::rowid_name(table) else { return Ok(vec![]) };
        let name = pgsqlite_sql::lower::table_name(table);
        let Some((low, high)) = super::index_statistics::ends(self.conn, &name, &rowid)? else { return Ok(vec![]) };
        // rows at equal distances; a gap is passed over
        let step = (high.saturating_sub(low) / SAMPLE).max(1);
        let names: Vec<String> = columns.iter().map(|c| quoted(&c.name)).collect();
        let sql =
            format!("SELECT {rowid}, {} FROM {name} WHERE {rowid} >= ? ORDER BY {rowid} LIMIT 2", names.join(", "));
        let mut statement = self.conn.prepare(&sql).map_err(sqlite_error)?;
        let mut seen: Vec<HashMap<u64, u32>> = columns.iter().map(|_| HashMap::new()).collect();
        let mut ordered: Vec<Vec<Ordered>> = columns.iter().map(|_| Vec::new()).collect();
        let of_moments =
            |c: &Column| matches!(self.catalog.base_type(c.type_oid), oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ);
        // rows that the next one repeats, by column
        let mut repeated = vec![0usize; columns.len()];
        let moments: Vec<bool> = columns.iter().map(|c| of_moments(c)).collect();
        let (mut at, mut taken) = (low, 0);
        loop {
            work::visit();
            let mut found = statement.query([at]).map_err(sqlite_error)?;
            let Some(row) = found.next().map_err(sqlite_error)? else { break };
            taken += 1;
            for (i, values) in seen.iter_mut().enumerate() {
                work::tick(1)?;
                let mut hasher = DefaultHasher::new();
                match row.get_ref(i + 1).map_err(sqlite_error)? {
                    ValueRef::Null => continue,
                    ValueRef::Integer(v) => {
                        ordered[i].push(Ordered::Integer(v));
                        v.hash(&mut hasher)
                    }
                    ValueRef::Real(v) => v.to_bits().hash(&mut hasher),
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                        work::tick(bytes.len() / 8)?;
                        if let (true, Ok(text)) = (moments[i], std::str::from_utf8(bytes)) {
                            ordered[i].push(Ordered::Moment(text.to_string()));
                        }
                        bytes.hash(&mut hasher)
                    }
                }
                *values.entry(hasher.finish()).or_default() += 1;
            }
            let rowid: i64 = row.get(0).map_err(sqlite_error)?;
            let of_row = |row: &rusqlite::Row| -> Result<Vec<u64>> {
                let hash = |i: usize| Ok(hash_of(row.get_ref(i + 1).map_err(sqlite_error)?));
                (0..columns.len()).map(hash).collect()
            };
            let first = of_row(row)?;
            if let Some(row) = found.next().map_err(sqlite_error)? {
                for (i, (a, b)) in first.iter().zip(of_row(row)?).enumerate() {
                    work::tick(1)?;
                    repeated[i] += usize::from(*a == b);
                }
            }
            let Some(next) = rowid.checked_add(1) else { break };
            at = next.max(at.saturating_add(step));
        }
        let mut out = Vec::new();
        for (((column, values), ordered), repeated) in columns.iter().zip(&seen).zip(ordered).zip(repeated) {
            work::tick(values.len())?;
            if !values.is_empty() {
                let (distinct, bounds) = (estimated(values, taken, rows), bounds(ordered));
                let repeated = (100 * repeated / usize::try_from(taken).unwrap_or(1).max(1)) as u8;
                out.push(ColumnStatistics { attnum: column.attnum, distinct, bounds, repeated });
            }
        }
        Ok(out)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[u32]) -> HashMap<u64, u32> {
        of.iter().enumerate().map(|(i, n)| (i as u64, *n)).collect()
    }

    #[test]
    fn the_number_of_values_is_estimated_from_how_often_they_are_seen() {
        // all rows were looked at
        assert_eq!(estimated(&counts(&[1, 2, 3]), 6, 6), 3);
        // each value once: all rows differ
        assert_eq!(estimated(&counts(&[1; 100]), 100, 10_000), 10_000);
        // each value often: there are no others
        assert_eq!(estimated(&counts(&[25; 4]), 100, 10_000), 4);
        // some once, some twice: more than were seen
        let some = estimated(&counts(&[[1; 40], [2; 40]].concat()), 120, 12_000);
        assert!((100..1000).contains(&some), "{some}");
        // half of the rows are NULL
        assert_eq!(estimated(&counts(&[1; 50]), 100, 10_000), 5_000);
    }

    #[test]
    fn bounds_are_values_at_equal_distances() {
        let of = bounds((0..=100).rev().map(Ordered::Integer).collect());
        assert_eq!((of.len(), of[0].as_str(), of[1].as_str(), of[20].as_str()), (21, "0", "5", "100"));
        assert!(bounds(vec![]).is_empty());
    }
}
