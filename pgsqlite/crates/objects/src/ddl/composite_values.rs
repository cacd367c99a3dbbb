//! Stored values of a composite type that gets an attribute or loses one: each is written anew. PostgreSQL reads them with a NULL in
//! the new attribute's place, or passes over the one that is gone.

use super::Ddl;
use pgsqlite_metadata::store::sqlite_error;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::names::quoted;
use pgsqlite_types::array::Array;
use pgsqlite_types::record::{self, Field};
use pgsqlite_types::{work, Datum, Oid, PgError, Result};

/// What becomes of each value's fields.
pub(super) enum FieldChange {
    /// a last field of this type, NULL
    Add(Oid),
    /// the field at this place is gone
    Drop(usize),
}

impl FieldChange {
    fn apply(&self, fields: &mut Vec<Field>) {
        match self {
            FieldChange::Add(ty) => fields.push((*ty, Datum::Null)),
            FieldChange::Drop(at) if *at < fields.len() => drop(fields.remove(*at)),
            FieldChange::Drop(_) => {}
        }
    }
}

/// How many rows are read before they are written.
const AT_ONCE: i64 = 10_000;

impl Ddl<'_> {
    /// 0A000 where values of the row type are in a key or an index, whose order a field's going would change, or in ranges, or in a
    /// table without row numbers.
    pub(super) fn check_values_can_change(&self, row: Oid, what: &str, change: &FieldChange) -> Result<()> {
        for relation in self.catalog.relations.values() {
            work::visit();
            for column in relation.live_columns().filter(|c| self.catalog.holds_values_of(c.type_oid, row)) {
                work::visit();
                let refuse = |why: &str| {
                    let place = format!("column \"{}.{}\"", relation.name, column.name);
                    Err(PgError::not_supported(format!("changing {what}, because {place} {why}")))
                };
                if relation.is_stored() && (relation.without_rowid || relation.origin != Origin::Pgsqlite) {
                    return refuse("is in a table of another program");
                }
                if self.in_ranges(column.type_oid, row) {
                    return refuse("holds its values in ranges");
                }
            }
        }
        if matches!(change, FieldChange::Drop(_)) {
            self.check_no_index_over(row, what)?;
        }
        Ok(())
    }

    /// Whether values of a row type are in ranges in values of another type.
    fn in_ranges(&self, ty: Oid, row: Oid) -> bool {
        let base = self.catalog.base_type(ty);
        if base == row || !self.catalog.holds_values_of(base, row) {
            return false;
        }
        if let Some(element) = self.catalog.element_type(base) {
            return self.in_ranges(element, row);
        }
        match self.catalog.composite_fields(base) {
            Some(fields) => fields.iter().any(|f| self.in_ranges(f.1, row)),
            None => true,
        }
    }

    fn check_no_index_over(&self, row: Oid, what: &str) -> Result<()> {
        for relation in self.catalog.relations.values() {
            work::visit();
            let RelationKind::Index(index) = &relation.kind else { continue };
            let Some(table) = self.catalog.relation(index.table) else { continue };
            let over = |key: &IndexColumn| match &key.key {
                KeyPart::Column(attnum) => {
                    table.column_by_attnum(*attnum).is_some_and(|c| self.catalog.holds_values_of(c.type_oid, row))
                }
                KeyPart::Expression(_) => table.live_columns().any(|c| self.catalog.holds_values_of(c.type_oid, row)),
            };
            if index.columns.iter().any(over) {
                return Err(PgError::not_supported(format!(
                    "changing {what}, because index \"{}\" uses it",
                    relation.name
                )));
            }
        }
        Ok(())
    }

    /// Writes all stored values of a row type anew.
    pub(super) fn change_stored_values(&self, row: Oid, change: &FieldChange) -> Result<()> {
        self.show_catalog();
        for relation in self.catalog.relations.values().filter(|r| r.is_stored()) {
            work::visit();
            for column in relation.live_columns().filter(|c| self.catalog.holds_values_of(c.type_oid, row)) {
                work::visit();
                self.change_column(relation, column, row, change)?;
            }
        }
        Ok(())
    }

    fn change_column(&self, relation: &Relation, column: &Column, row: Oid, change: &FieldChange) -> Result<()> {
        let (table, name) = (super::sqlite_table(relation), quoted(&column.name));
        let number = pgsqlite_sql::lower::rowid_name(relation)?;
        let mut read = self
            .conn
            .prepare(&format!(
                "SELECT {number}, {name} FROM {table} WHERE {number} > ?1 AND {name} IS NOT NULL ORDER BY {number} LIMIT {AT_ONCE}"
            ))
            .map_err(sqlite_error)?;
        let mut write =
            self.conn.prepare(&format!("UPDATE {table} SET {name} = ?2 WHERE {number} = ?1")).map_err(sqlite_error)?;
        let mut last = i64::MIN;
        loop {
            work::visit();
            let rows: Vec<(i64, String)> = read
                .query_map([last], |r| Ok((r.get(0)?, r.get(1)?)))
                .and_then(|rows| rows.collect())
                .map_err(sqlite_error)?;
            let Some((end, _)) = rows.last() else { return Ok(()) };
            last = *end;
            for (number, value) in rows {
                work::tick(value.len() + 16)?;
                if let Datum::Text(new) = self.changed_value(Datum::Text(value), column.type_oid, row, change)? {
                    write.execute(rusqlite::params![number, new]).map_err(sqlite_error)?;
                }
            }
        }
    }

    /// A value in storage form, with the values of the row type in it changed.
    fn changed_value(&self, value: Datum, ty: Oid, row: Oid, change: &FieldChange) -> Result<Datum> {
        let base = self.catalog.base_type(ty);
        let Datum::Text(text) = &value else { return Ok(value) };
        if !self.catalog.holds_values_of(base, row) {
            return Ok(value);
        }
        let broken = || PgError::corrupted("a stored value is malformed");
        if let Some(element) = self.catalog.element_type(base) {
            let codec = self.catalog.codec(element).ok_or_else(broken)?;
            let mut array = Array::from_storage(text, &codec).ok_or_else(broken)?;
            for item in &mut array.elements {
                work::visit();
                *item = self.changed_value(std::mem::take(item), element, row, change)?;
            }
            return Ok(Datum::Text(array.to_storage()));
        }
        let mut fields = record::from_storage(text).ok_or_else(broken)?;
        for (field, inner) in &mut fields {
            work::visit();
            *inner = self.changed_value(std::mem::take(inner), *field, row, change)?;
        }
        if base == row {
            change.apply(&mut fields);
        }
        Ok(Datum::Text(record::to_storage(&fields)))
    }
}
