//! RETURNING, and in it OLD and NEW (PostgreSQL 18): a row as it was before it was changed, and as it is then.
//!
//! One of the two is what a bare column means: the row of the target (entry 0). The other one is an entry of its own
//! ([`RteKind::Returned`]); where there never is such a row, its columns are NULL. MERGE, whose clauses differ in that, has an entry for each.

use super::from::NamespaceItem;
use super::{entry, Analyzer, Clause};
use crate::catalog::RelationKind;
use crate::parse::{ast, NodeEnum};
use crate::typed::{Expr, ExprKind, RteKind, Target, Var};
use crate::walk;
use pgsqlite_types::{oid, Datum, PgError, Result, SqlState};

/// What the statement does whose RETURNING it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// `updates`: with ON CONFLICT DO UPDATE
    Insert {
        updates: bool,
    },
    Update,
    Delete,
    Merge,
}

/// The names that OLD and NEW have. None: what has the name already keeps it.
struct Names {
    old: Option<String>,
    new: Option<String>,
}

impl Analyzer<'_> {
    pub(super) fn returning(&mut self, clause: Option<&ast::ReturningClause>, change: Change) -> Result<Vec<Target>> {
        let Some(clause) = clause else { return Ok(vec![]) };
        let names = self.returning_names(&clause.options)?;
        self.level().clause = Clause::Returning;
        let own = self.level().namespace.first().cloned().filter(|_| names.old.is_some() || names.new.is_some());
        let first = self.level().range_table.len();
        let named = self.level().namespace.len();
        if let Some(own) = own {
            let of_own = |a: &mut Self, name: Option<String>| a.returned_item(&own, None, name);
            let apart = |a: &mut Self, name: Option<String>| {
                let index = a.returned_entry();
                a.returned_item(&own, Some(index), name);
            };
            match change {
                Change::Insert { .. } | Change::Update => {
                    apart(self, names.old);
                    of_own(self, names.new);
                }
                Change::Delete => {
                    of_own(self, names.old);
                    apart(self, names.new);
                }
                Change::Merge => {
                    apart(self, names.old);
                    apart(self, names.new);
                }
            }
        }
        if change == Change::Merge {
            // (`*` is the columns of the source, then those of the target)
            self.level().namespace[..named].rotate_left(1);
        }
        let targets = self.returning_targets(clause);
        self.level().namespace.truncate(named);
        let mut targets = targets?;
        let mut used = false;
        for target in &mut targets {
            walk::deep(&target.expr, 0, &mut |depth, e| used |= is_of(e, depth, first));
        }
        let is_there = matches!(change, Change::Update | Change::Merge | Change::Insert { updates: true });
        if !used || !is_there {
            for target in &mut targets {
                without_row(&mut target.expr, first);
            }
            self.level().range_table.truncate(first);
            // (its columns are read, though there is no row)
            self.level().names_computed |= used;
            return Ok(targets);
        }
        self.level().names_computed = true;
        let RteKind::Relation(target) = &self.level().range_table[0].kind else {
            return Err(PgError::not_supported("RETURNING OLD of a view with INSTEAD OF triggers"));
        };
        let is_plain = target.kind == RelationKind::Table && target.rules.is_empty();
        if !is_plain || self.storing {
            return Err(PgError::not_supported("RETURNING OLD or NEW of a table with rules, or in a stored body"));
        }
        Ok(targets)
    }

    fn returning_targets(&mut self, clause: &ast::ReturningClause) -> Result<Vec<Target>> {
        let mut targets = self.target_list(&clause.exprs)?;
        if targets.is_empty() {
            let location = match clause.exprs.first().and_then(|n| n.node.as_ref()) {
                Some(NodeEnum::ResTarget(t)) => t.val.as_deref().map_or(t.location, super::location_of),
                _ => -1,
            };
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "RETURNING must have at least one column").at(location));
        }
        for target in &mut targets {
            target.expr = self.resolve_unknown(target.expr.clone())?;
        }
        Ok(targets)
    }

    /// `WITH (OLD AS name, NEW AS name)`; what is not named there is called `old` and `new`, unless something else is.
    fn returning_names(&mut self, options: &[ast::Node]) -> Result<Names> {
        let mut names = Names { old: None, new: None };
        for node in options {
            let Some(NodeEnum::ReturningOption(option)) = &node.node else {
                return Err(PgError::internal("ReturningOption expected"));
            };
            let is_old = option.option == ast::ReturningOptionKind::ReturningOptionOld as i32;
            let (slot, word) = if is_old { (&mut names.old, "OLD") } else { (&mut names.new, "NEW") };
            if slot.is_some() {
                let message = format!("{word} cannot be specified multiple times");
                return Err(PgError::new(SqlState::SYNTAX_ERROR, message).at(option.location));
            }
            *slot = Some(option.value.clone());
            let taken = |item: &NamespaceItem| item.table_visible && item.alias == option.value;
            if self.level().namespace.iter().any(taken) || names.old.is_some() && names.old == names.new {
                let message = format!("table name \"{}\" specified more than once", option.value);
                return Err(PgError::new(SqlState::DUPLICATE_ALIAS, message).at(option.location));
            }
        }
        for (slot, name) in [(&mut names.old, "old"), (&mut names.new, "new")] {
            let is_taken = self.levels.iter().flat_map(|l| &l.namespace).any(|i| i.table_visible && i.alias == name);
            let variable = match self.variables {
                Some(variables) => variables.find(&[name]).is_ok_and(|found| found.is_some()),
                None => false,
            };
            if slot.is_none() && !is_taken && !variable {
                *slot = Some(name.to_string());
            }
        }
        Ok(names)
    }

    /// An entry for the row that a bare column does not mean.
    fn returned_entry(&mut self) -> usize {
        let level = self.level();
        let target = &level.range_table[0];
        let mut columns = target.columns.clone();
        columns.retain(|c| c.attnum >= 0);
        let row_type = match &target.kind {
            RteKind::Relation(relation) => relation.row_type,
            _ => target.row_type,
        };
        let made = entry(RteKind::Returned, String::new(), true, columns);
        level.range_table.push(crate::typed::RangeTableEntry { row_type, ..made });
        level.range_table.len() - 1
    }

    /// The item that a name means: the target's, or (`index`) the same of an entry of its own.
    fn returned_item(&mut self, own: &NamespaceItem, index: Option<usize>, name: Option<String>) {
        let Some(name) = name else { return };
        let mut item =
            NamespaceItem { alias: name, qualified: None, table_visible: true, columns_visible: false, ..own.clone() };
        if let Some(index) = index {
            item.rte = own.rte.map(|_| index);
            for (_, column) in &mut item.columns {
                *column = walk::map(column, &mut |e| match &e.kind {
                    ExprKind::Var(v) if v.levels_up == 0 && v.rte == 0 => {
                        Some(Expr { kind: ExprKind::Var(Var { rte: index, ..*v }), ..e.clone() })
                    }
                    _ => None,
                });
            }
            if let Some(entry) = self.level().range_table.get_mut(index) {
                entry.alias.clone_from(&item.alias);
            }
        }
        self.level().namespace.push(item);
    }

    /// `merge_action()`. Errors: 42601 where it is not in the RETURNING list of a MERGE.
    pub(super) fn merge_action(&mut self, location: i32) -> Result<Expr> {
        for (up, level) in self.levels.iter().rev().enumerate() {
            if level.clause != Clause::Returning || !level.merges {
                continue;
            }
            let found = level.range_table.iter().position(|e| e.kind == RteKind::Returned);
            if let Some(rte) = found {
                // (a column behind those that the entry has)
                let column = level.range_table[rte].columns.len();
                let var = ExprKind::Var(Var { levels_up: up, rte, column });
                return Ok(Expr::new(var, oid::TEXT, location));
            }
        }
        let message = "MERGE_ACTION() can only be used in the RETURNING list of a MERGE command";
        Err(PgError::new(SqlState::SYNTAX_ERROR, message).at(location))
    }
}

/// Whether a node is a column, or the whole, of an entry from number `first` on.
fn is_of(e: &Expr, depth: usize, first: usize) -> bool {
    match &e.kind {
        ExprKind::Var(v) => v.levels_up == depth && v.rte >= first,
        ExprKind::WholeRow { levels_up, rte, .. } => *levels_up == depth && *rte >= first,
        _ => false,
    }
}

/// NULLs in the place of a row that is not there: of the entries from number `first` on.
pub(crate) fn without_row(expr: &mut Expr, first: usize) {
    walk::deep_mut(expr, 0, &mut |depth, e| {
        if is_of(e, depth, first) {
            e.kind = ExprKind::Const(Datum::Null);
        }
    });
}
