//! EXCLUDE constraints: the query that finds the rows that may not stand beside each other.
//!
//! The engine runs it for a row that has just been stored (`of_row`; a constraint that is deferrable: later) and for a whole
//! table when the constraint is made (`any`). Keys compared by `=` have a SQLite index, by which the candidates are found; the
//! other operators are looked at for each of those. What is NULL relates to nothing, since the operators are strict.

use super::{rowid_name, table_name, Lowerer, Scope};
use crate::analyze::{self, Environment};
use crate::builtins::imp::{imp, Imp};
use crate::catalog::{KeyPart, Relation, RelationKind};
use crate::deparse::{definitions, quote_identifier, Style};
use crate::plan::Exclusion;
use crate::typed::{ConflictTarget, Expr, ExprKind, OnConflict, Var};
use crate::walk;
use pgsqlite_types::{oid, PgError, Result};

/// The constraint behind an index of the table.
pub fn exclusion(environment: &Environment, table: &Relation, index: &Relation) -> Result<Exclusion> {
    Lowerer::new(environment).exclusion(table, index)
}

/// Takes a row's expression to the other row.
fn of_other(expr: &Expr) -> Expr {
    walk::map(expr, &mut |e| {
        let kind = match &e.kind {
            ExprKind::Var(v) if v.levels_up == 0 && v.rte == 0 => ExprKind::Var(Var { rte: 1, ..*v }),
            ExprKind::WholeRow { levels_up: 0, rte: 0, fields } => {
                ExprKind::WholeRow { levels_up: 0, rte: 1, fields: fields.clone() }
            }
            _ => return None,
        };
        Some(Expr { kind, ..e.clone() })
    })
}

impl Lowerer<'_> {
    fn exclusion(&mut self, table: &Relation, index_relation: &Relation) -> Result<Exclusion> {
        let RelationKind::Index(index) = &index_relation.kind else {
            return Err(PgError::damaged_catalog("an exclusion constraint has no index"));
        };
        let rowid = rowid_name(table)?;
        let scope = Scope {
            entries: vec![self.target_columns(table, "n.")?, self.target_columns(table, "o.")?],
            ..Scope::default()
        };
        self.scopes.push(scope);
        let (mut own, mut others, mut conditions) = (vec![], vec![], vec![]);
        let (mut names, mut types, mut equal) = (vec![], vec![], vec![]);
        for (i, (key, &operator)) in index.columns.iter().zip(&index.exclusion).enumerate() {
            let text = match &key.key {
                KeyPart::Column(attnum) => {
                    let column = table.column_by_attnum(*attnum);
                    quote_identifier(&column.ok_or_else(|| PgError::internal("a key on a column that is gone"))?.name)
                }
                KeyPart::Expression(text) => text.clone(),
            };
            let new = analyze::analyze_expression(self.env, &text, Some(table), None)?;
            let other = of_other(&new);
            own.push(self.expr(&new)?);
            others.push(self.expr(&other)?);
            types.push(new.ty);
            let related = analyze::related(self.env, operator, new, other)?;
            if matches!(&related.kind, ExprKind::Op { op, .. } if imp(op.proc) == Some(Imp::Inline("$1 = $2"))) {
                equal.push(i);
            }
            conditions.push(self.expr(&related)?);
            names.push(
                definitions::index_definition(self.env, index_relation, i + 1, Style::Pretty)?.unwrap_or_default(),
            );
        }
        if let Some(text) = &index.predicate {
            let predicate = analyze::analyze_expression(self.env, text, Some(table), Some((oid::BOOL, -1)))?;
            conditions.push(self.condition(&predicate)?);
            conditions.push(self.condition(&of_other(&predicate))?);
        }
        self.scopes.pop();
        let table_name = self.read_table(table);
        // (CROSS JOIN: SQLite reads the new row first)
        let pairs = format!(
            "SELECT o.{rowid}, {}, {} FROM {table_name} AS n CROSS JOIN {table_name} AS o WHERE o.{rowid} <> n.{rowid} AND {}",
            own.join(", "),
            others.join(", "),
            conditions.join(" AND ")
        );
        Ok(Exclusion {
            name: index_relation.name.clone(),
            of_row: format!("{pairs} AND n.{rowid} = ?1 ORDER BY o.{rowid}"),
            any: format!("{pairs} ORDER BY n.{rowid}, o.{rowid} LIMIT 1"),
            keys: names.join(", "),
            types,
            equal,
            hidden: analyze::row_security_counts(self.env, table)?,
            skips: false,
        })
    }

    /// The constraints of a table that each row which is written must satisfy at once. `conflict`: of the INSERT that writes it.
    pub(super) fn immediate_exclusions(
        &mut self,
        table: &Relation,
        conflict: Option<&OnConflict>,
    ) -> Result<Vec<Exclusion>> {
        let mut out = Vec::new();
        for constraint in table.immediate_exclusions() {
            let index = self.env.catalog.relation(constraint.index).cloned();
            let index = index.ok_or_else(|| PgError::damaged_catalog("an exclusion constraint has no index"))?;
            let mut exclusion = self.exclusion(table, &index)?;
            exclusion.skips = match conflict {
                Some(OnConflict { set: None, target: None, .. }) => true,
                Some(OnConflict { set: None, target: Some(target), .. }) => target.index == constraint.index,
                _ => false,
            };
            out.push(exclusion);
        }
        Ok(out)
    }
}

/// Whether ON CONFLICT looks at an EXCLUDE constraint of the table: SQLite knows nothing of it.
pub(super) fn is_exclusion(table: &Relation, target: &ConflictTarget) -> bool {
    table.immediate_exclusions().any(|c| c.index == target.index)
}

/// The statement that takes back a row that was just inserted.
pub fn take_back(table: &Relation) -> Result<String> {
    Ok(format!("DELETE FROM {} WHERE {} = ?1", table_name(table), rowid_name(table)?))
}
