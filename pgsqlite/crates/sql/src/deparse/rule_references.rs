//! What a rule names: it depends on that.

use super::{expr_references, levels, sub_queries_of, Reference, CLASS_RELATION};
use crate::analyze::RuleTree;
use crate::catalog::Relation;
use crate::typed::*;
use crate::walk;
use pgsqlite_types::work;
use std::collections::BTreeSet;

/// The objects that a rule of a relation names: relations and their columns (the rule's own among them), types, functions.
pub fn rule_references(tree: &RuleTree, relation: &Relation) -> Vec<Reference> {
    references(tree.condition.as_ref(), &tree.commands, Some(relation))
}

/// What the statements of a function's body name.
pub fn statement_references(statements: &[Product]) -> Vec<Reference> {
    references(None, statements, None)
}

/// `relation`: the one whose OLD and NEW are one query level further out than the commands.
fn references(condition: Option<&Expr>, commands: &[Product], relation: Option<&Relation>) -> Vec<Reference> {
    let mut out = BTreeSet::new();
    let own = |column: usize, out: &mut BTreeSet<Reference>| {
        let Some(relation) = relation else { return };
        if let Some(column) = relation.live_columns().nth(column) {
            out.insert(Reference { class: CLASS_RELATION, object: relation.oid, sub: i32::from(column.attnum) });
        }
    };
    if let Some(expr) = condition {
        walk::deep(expr, 0, &mut |depth, e| {
            expr_references(e, &mut out);
            if let ExprKind::Var(v) = &e.kind {
                if v.levels_up == depth + 1 {
                    own(v.column, &mut out);
                }
            }
        });
        sub_queries_of(expr).into_iter().for_each(|q| levels(q, &mut Vec::new(), &mut out));
    }
    for command in commands {
        work::visit();
        let mut exprs: Vec<(usize, Expr)> = Vec::new();
        match command {
            Product::Notify { .. } => {}
            Product::Query(query) => {
                levels(query, &mut Vec::new(), &mut out);
                walk::query_exprs(query, 0, &mut |depth, e| {
                    expr_references(e, &mut out);
                    if let ExprKind::Var(v) = &e.kind {
                        if v.levels_up == depth + 1 {
                            own(v.column, &mut out);
                        }
                    }
                });
            }
            Product::Modify(modify) => {
                let mut modify = modify.clone();
                out.insert(Reference { class: CLASS_RELATION, object: modify.target.oid, sub: 0 });
                let assigned: Vec<i16> = match &modify.action {
                    ModifyAction::Insert { columns, .. } => columns.clone(),
                    ModifyAction::Update { set, .. } => set.iter().map(|(a, _)| *a).collect(),
                    _ => vec![],
                };
                out.extend(assigned.into_iter().map(|attnum| Reference {
                    class: CLASS_RELATION,
                    object: modify.target.oid,
                    sub: i32::from(attnum),
                }));
                for entry in &modify.range_table {
                    work::visit();
                    match &entry.kind {
                        RteKind::Relation(r) => {
                            out.insert(Reference { class: CLASS_RELATION, object: r.oid, sub: 0 });
                        }
                        RteKind::Subquery { query, .. } => levels(query, &mut Vec::new(), &mut out),
                        _ => {}
                    }
                }
                walk::entry_exprs(&modify.range_table, 0, &mut |depth, e| exprs.push((depth, e.clone())));
                for e in crate::walk::modify_exprs_mut(&mut modify) {
                    work::visit();
                    walk::deep(e, 0, &mut |depth, e| exprs.push((depth, e.clone())));
                }
                for (depth, e) in &exprs {
                    work::visit();
                    expr_references(e, &mut out);
                    match &e.kind {
                        ExprKind::Var(v) if v.levels_up == *depth => {
                            let entry = modify.range_table.get(v.rte);
                            let column = entry.and_then(|entry| entry.columns.get(v.column));
                            if let (Some(RteKind::Relation(r)), Some(c)) = (entry.map(|e| &e.kind), column) {
                                let sub = i32::from(c.attnum);
                                out.insert(Reference { class: CLASS_RELATION, object: r.oid, sub });
                            }
                        }
                        ExprKind::Var(v) if v.levels_up == depth + 1 => own(v.column, &mut out),
                        ExprKind::SubLink { query, .. } => levels(query, &mut Vec::new(), &mut out),
                        _ => {}
                    }
                }
            }
        }
    }
    out.into_iter().collect()
}
