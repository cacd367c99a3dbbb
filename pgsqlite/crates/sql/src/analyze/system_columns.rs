//! System columns: what can be told of a row besides its columns.
//!
//! | column | what it is here |
//! | --- | --- |
//! | `tableoid` | the OID of the table that has the row, NULL in rows that an outer join adds |
//! | `ctid` | the row's number in SQLite. It names the row as long as it is there; an UPDATE does not change it, for the row stays where it is |
//! | `xmax` | in RETURNING of INSERT: 0 for an inserted row, the transaction's number for one that ON CONFLICT DO UPDATE changed |
//! | `xmin` | of a system catalog: the number of its schema's last change, which its rows are made anew with |
//! | the rest | versions of rows are not kept, so nothing can be said: refused |
//!
//! A table's entry gets columns for these behind its own when one of them is named first; they have PostgreSQL's negative
//! numbers, so that nothing takes them for columns of the table. (`tableoid` is one of them where a table stands for several.) So does the query
//! that stands for a table with policies ([`super::row_security`]), once for each that is named.
//!
//! Columns that later releases have added to the catalogs are found in the same way, where nothing else has the name.

use super::Analyzer;
use crate::builtins::catalog::later_columns;
use crate::catalog::{Catalog, Relation, RelationKind};
use crate::typed::{Expr, ExprKind, Query, QueryBody, RangeTableEntry, RteColumn, RteKind, Target};
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};

/// The hidden columns of an entry, in their order behind the live ones: name, attnum, type.
const HIDDEN: [(&str, i16, Oid); 3] = [("ctid", -1, oid::TID), ("xmax", -4, oid::XID), ("tableoid", -6, oid::OID)];

impl Analyzer<'_> {
    /// A system column of an item of FROM. None: it has no such column. Errors: 0A000.
    pub(super) fn system_column(&mut self, up: usize, index: usize, name: &str, location: i32) -> Result<Option<Expr>> {
        if !matches!(name, "ctid" | "xmin" | "xmax" | "cmin" | "cmax" | "tableoid") {
            return Ok(self.later_column(up, index, name, location));
        }
        let at = self.levels.len() - 1 - up;
        let Some(rte) = self.item(up, index).rte else { return Ok(None) };
        let inserts = rte == 0 && self.levels[at].inserts;
        let entry = &mut self.levels[at].range_table[rte];
        if entry.kind == RteKind::Returned {
            let what = format!("system column {name} of a row as it is not any more, or not yet");
            return Err(PgError::not_supported(what).at(location));
        }
        if !has_system_columns(entry) {
            return Ok(None);
        }
        let asked = Asked { catalog: self.env.catalog, name, inserts, up, rte, location };
        let column = asked.of(entry);
        column.map(Some).ok_or_else(|| PgError::not_supported(format!("system column {name}")).at(location))
    }

    /// A system column without a table, where the nearest level with a table in sight has one only.
    pub(super) fn bare_system_column(&mut self, name: &str, location: i32) -> Result<Option<Expr>> {
        if !matches!(name, "ctid" | "xmin" | "xmax" | "cmin" | "cmax" | "tableoid") {
            return Ok(self.bare_later_column(name, location));
        }
        for up in 0..self.levels.len() {
            let level = &self.levels[self.levels.len() - 1 - up];
            let visible: Vec<usize> = (0..level.namespace.len())
                .filter(|&i| level.namespace[i].columns_visible && !level.namespace[i].lateral_only)
                .filter(|&i| level.namespace[i].rte.is_some_and(|rte| has_system_columns(&level.range_table[rte])))
                .collect();
            match visible[..] {
                [] => continue,
                [index] => return self.system_column(up, index, name, location),
                _ => {
                    let message = format!("column reference \"{name}\" is ambiguous");
                    return Err(PgError::new(SqlState::AMBIGUOUS_COLUMN, message).at(location));
                }
            }
        }
        Ok(None)
    }

    /// A column that later releases have added to one of PostgreSQL's catalogs. All of them are put behind the entry's own when one is named
    /// first.
    fn later_column(&mut self, up: usize, index: usize, name: &str, location: i32) -> Option<Expr> {
        let at = self.levels.len() - 1 - up;
        let rte = self.item(up, index).rte?;
        let entry = &mut self.levels[at].range_table[rte];
        let RteKind::Relation(relation) = &entry.kind else { return None };
        let later = later_columns(relation.oid);
        let which = later.iter().position(|c| c.1 == name)?;
        let first = entry.columns.iter().position(|c| c.attnum < 0).unwrap_or(entry.columns.len());
        if first == entry.columns.len() {
            let origin = |attnum| (relation.oid, attnum);
            entry.columns.extend(later.iter().map(|&(attnum, name, ty, typmod, _, collation)| RteColumn {
                name: name.into(),
                ty,
                typmod,
                attnum,
                origin: origin(attnum),
                collation,
            }));
        }
        Some(super::var(up, rte, first + which, &entry.columns[first + which], location))
    }

    /// Such a column without a table: that of the only catalog in the nearest level that has it.
    fn bare_later_column(&mut self, name: &str, location: i32) -> Option<Expr> {
        for up in 0..self.levels.len() {
            let level = &self.levels[self.levels.len() - 1 - up];
            let has = |rte: usize| match &level.range_table[rte].kind {
                RteKind::Relation(r) => later_columns(r.oid).iter().any(|c| c.1 == name),
                _ => false,
            };
            let found: Vec<usize> = (0..level.namespace.len())
                .filter(|&i| !level.namespace[i].lateral_only && level.namespace[i].rte.is_some_and(has))
                .collect();
            match found[..] {
                [] => continue,
                [index] => return self.later_column(up, index, name, location),
                _ => return None,
            }
        }
        None
    }
}

/// Whether an entry's rows are those of a table, so that there is something to tell of them.
fn has_system_columns(entry: &RangeTableEntry) -> bool {
    match &entry.kind {
        RteKind::Relation(r) => r.is_stored() || matches!(r.kind, RelationKind::System | RelationKind::Sequence(_)),
        kind => table_behind_policies(kind, entry.row_type).is_some(),
    }
}

/// The query of the rows that policies let through, where an entry with this row type stands for a table that has some.
fn table_behind_policies(kind: &RteKind, row_type: Oid) -> Option<&Query> {
    let RteKind::Subquery { query, .. } = kind else { return None };
    match &query.range_table[..] {
        [inner] => match &inner.kind {
            RteKind::Relation(table) if row_type != 0 && table.row_type == row_type && table.is_stored() => Some(query),
            _ => None,
        },
        _ => None,
    }
}

/// A system column that an expression asks for: `up` levels up, of the entry with the place `rte`.
struct Asked<'a> {
    catalog: &'a Catalog,
    name: &'a str,
    /// the entry is the target of an INSERT
    inserts: bool,
    up: usize,
    rte: usize,
    location: i32,
}

impl Asked<'_> {
    /// The column of an entry that has some ([`has_system_columns`]). None: this one cannot be told.
    fn of(&self, entry: &mut RangeTableEntry) -> Option<Expr> {
        let row_type = entry.row_type;
        if let RteKind::Subquery { .. } = &entry.kind {
            table_behind_policies(&entry.kind, row_type)?;
            return self.through_policies(entry);
        }
        let RteKind::Relation(relation) = &entry.kind else { return None };
        let relation = relation.clone();
        // a sample is a sub-query, through which SQLite shows no number but a key that is one
        let sampled = entry.sample.is_some() && relation.rowid_column.is_none();
        let has_number = relation.is_stored() && !relation.without_rowid && !sampled;
        let several = !entry.only && self.catalog.stands_for_several(&relation);
        match self.name {
            "tableoid" if several => Some(self.hidden(entry, 2)),
            "tableoid" => self.where_present(entry, &relation, has_number, relation.oid, oid::OID),
            // The rows of the catalogs are made anew with every change of the schema; PostgreSQL keeps the first three numbers.
            "xmin" if relation.kind == RelationKind::System => {
                let number = (self.catalog.epoch as u32).max(3);
                self.where_present(entry, &relation, has_number, number, oid::XID)
            }
            "ctid" if has_number => Some(self.hidden(entry, 0)),
            "xmax" if has_number && self.inserts => Some(self.hidden(entry, 1)),
            _ => None,
        }
    }

    /// The column of a table with policies: one more column of the query that stands for it.
    fn through_policies(&self, entry: &mut RangeTableEntry) -> Option<Expr> {
        let attnum = HIDDEN.iter().find(|(name, ..)| *name == self.name)?.1;
        let found = entry.columns.iter().position(|c| c.attnum == attnum);
        let at = match found {
            Some(at) => at,
            None => {
                let RteKind::Subquery { query, .. } = &mut entry.kind else { return None };
                let inner = query.range_table.first_mut()?;
                let expr = Asked { inserts: false, up: 0, rte: 0, location: -1, ..*self }.of(inner)?;
                let QueryBody::Select(select) = &mut query.body else { return None };
                let RteKind::Relation(table) = &inner.kind else { return None };
                let column = RteColumn {
                    name: self.name.into(),
                    ty: expr.ty,
                    typmod: -1,
                    attnum,
                    origin: (table.oid, attnum),
                    collation: 0,
                };
                select.targets.push(Target { expr, name: column.name.clone(), origin: column.origin });
                query.columns.push(column.clone());
                entry.columns.push(column);
                entry.columns.len() - 1
            }
        };
        Some(super::var(self.up, self.rte, at, &entry.columns[at], self.location))
    }

    /// A number where there is a row: something that is never NULL in one is not. NULL in the rows that an outer join adds.
    fn where_present(
        &self,
        entry: &mut RangeTableEntry,
        relation: &Relation,
        has_number: bool,
        number: u32,
        ty: Oid,
    ) -> Option<Expr> {
        let key = entry.columns.iter().position(|c| relation.column_by_attnum(c.attnum).is_some_and(|c| c.not_null));
        let column = match key {
            Some(key) => super::var(self.up, self.rte, key, &entry.columns[key], self.location),
            None if has_number => self.hidden(entry, 0),
            None => return None,
        };
        let present = Expr::new(ExprKind::IsNull { arg: Box::new(column), negated: true }, oid::BOOL, self.location);
        let value = Expr::new(ExprKind::Const(Datum::Int(number.into())), ty, self.location);
        let kind = ExprKind::Case { whens: vec![(present, value)], otherwise: None };
        Some(Expr::new(kind, ty, self.location))
    }

    /// One of [`HIDDEN`] of a table's entry.
    fn hidden(&self, entry: &mut RangeTableEntry, which: usize) -> Expr {
        hidden_of(entry, self.up, self.rte, which, self.location)
    }
}

/// One of [`HIDDEN`] of an entry: the one with the place `rte`, `up` levels up.
pub(super) fn hidden_of(entry: &mut RangeTableEntry, up: usize, rte: usize, which: usize, location: i32) -> Expr {
    let table = match &entry.kind {
        RteKind::Relation(relation) => relation.oid,
        _ => 0,
    };
    let first = match entry.columns.iter().position(|c| c.attnum < 0) {
        Some(first) => first,
        None => {
            let first = entry.columns.len();
            entry.columns.extend(HIDDEN.map(|(name, attnum, ty)| RteColumn {
                name: name.into(),
                ty,
                typmod: -1,
                attnum,
                origin: (table, attnum),
                collation: 0,
            }));
            first
        }
    };
    super::var(up, rte, first + which, &entry.columns[first + which], location)
}
