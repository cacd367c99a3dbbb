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
//! numbers, so that nothing takes them for columns of the table. (`tableoid` is one of them where a table stands for several.)

use super::Analyzer;
use crate::catalog::RelationKind;
use crate::typed::{Expr, ExprKind, RangeTableEntry, RteColumn, RteKind};
use pgsqlite_types::{oid, Datum, PgError, Result, SqlState};

/// The hidden columns of an entry, in their order behind the live ones: name, attnum, type.
const HIDDEN: [(&str, i16, pgsqlite_types::Oid); 3] =
    [("ctid", -1, oid::TID), ("xmax", -4, oid::XID), ("tableoid", -6, oid::OID)];

impl Analyzer<'_> {
    /// A system column of an item of FROM. None: it has no such column. Errors: 0A000.
    pub(super) fn system_column(&mut self, up: usize, index: usize, name: &str, location: i32) -> Result<Option<Expr>> {
        if !matches!(name, "ctid" | "xmin" | "xmax" | "cmin" | "cmax" | "tableoid") {
            return Ok(None);
        }
        let at = self.levels.len() - 1 - up;
        let Some(rte) = self.item(up, index).rte else { return Ok(None) };
        let RteKind::Relation(relation) = &self.levels[at].range_table[rte].kind else { return Ok(None) };
        let relation = relation.clone();
        let stored = relation.is_stored();
        if !stored && !matches!(relation.kind, RelationKind::System | RelationKind::Sequence(_)) {
            return Ok(None);
        }
        // a sample is a sub-query, through which SQLite shows no number but a key that is one
        let sampled = self.levels[at].range_table[rte].sample.is_some() && relation.rowid_column.is_none();
        let has_number = stored && !relation.without_rowid && !sampled;
        let several = !self.levels[at].range_table[rte].only && self.env.catalog.stands_for_several(&relation);
        let column = match name {
            "tableoid" if several => Some(self.hidden_column(up, rte, 2, location)),
            "tableoid" => self.where_present(up, rte, has_number, relation.oid, oid::OID, location),
            // The rows of the catalogs are made anew with every change of the schema; PostgreSQL keeps the first three numbers.
            "xmin" if relation.kind == RelationKind::System => {
                let number = (self.env.catalog.epoch as u32).max(3);
                self.where_present(up, rte, has_number, number, oid::XID, location)
            }
            "ctid" if has_number => Some(self.hidden_column(up, rte, 0, location)),
            "xmax" if has_number && rte == 0 && self.levels[at].inserts => {
                Some(self.hidden_column(up, rte, 1, location))
            }
            _ => None,
        };
        column.map(Some).ok_or_else(|| PgError::not_supported(format!("system column {name}")).at(location))
    }

    /// A system column without a table, where the nearest level with a table in sight has one only.
    pub(super) fn bare_system_column(&mut self, name: &str, location: i32) -> Result<Option<Expr>> {
        if !matches!(name, "ctid" | "xmin" | "xmax" | "cmin" | "cmax" | "tableoid") {
            return Ok(None);
        }
        for up in 0..self.levels.len() {
            let level = &self.levels[self.levels.len() - 1 - up];
            let visible: Vec<usize> = (0..level.namespace.len())
                .filter(|&i| level.namespace[i].columns_visible && !level.namespace[i].lateral_only)
                .filter(|&i| {
                    level.namespace[i].rte.is_some_and(|rte| match &level.range_table[rte].kind {
                        RteKind::Relation(r) => {
                            r.is_stored() || matches!(r.kind, RelationKind::System | RelationKind::Sequence(_))
                        }
                        _ => false,
                    })
                })
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

    /// A number where there is a row: something that is never NULL in one is not. NULL in the rows that an outer join adds.
    fn where_present(
        &mut self,
        up: usize,
        rte: usize,
        has_number: bool,
        number: u32,
        ty: pgsqlite_types::Oid,
        location: i32,
    ) -> Option<Expr> {
        let entry = &self.levels[self.levels.len() - 1 - up].range_table[rte];
        let RteKind::Relation(relation) = &entry.kind else { return None };
        let relation = relation.clone();
        let key = entry.columns.iter().position(|c| relation.column_by_attnum(c.attnum).is_some_and(|c| c.not_null));
        let column = match key {
            Some(key) => super::var(up, rte, key, &entry.columns[key], location),
            None if has_number => self.hidden_column(up, rte, 0, location),
            None => return None,
        };
        let present = Expr::new(ExprKind::IsNull { arg: Box::new(column), negated: true }, oid::BOOL, location);
        let value = Expr::new(ExprKind::Const(Datum::Int(number.into())), ty, location);
        let kind = ExprKind::Case { whens: vec![(present, value)], otherwise: None };
        Some(Expr::new(kind, ty, location))
    }

    /// One of [`HIDDEN`] of an entry.
    fn hidden_column(&mut self, up: usize, rte: usize, which: usize, location: i32) -> Expr {
        let at = self.levels.len() - 1 - up;
        hidden_of(&mut self.levels[at].range_table[rte], up, rte, which, location)
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
