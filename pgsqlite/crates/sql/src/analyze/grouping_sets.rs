//! GROUP BY: its keys, and the grouping sets of ROLLUP, CUBE and GROUPING SETS (manual, 7.2.4).

use super::{Analyzer, Clause};
use crate::parse::{ast, NodeEnum};
use crate::typed::{Expr, GroupingElement, Target};
use pgsqlite_types::{PgError, Result, SqlState};

impl Analyzer<'_> {
    /// GROUP BY: its keys, what was written, and the grouping sets of that (none: it has no sets).
    pub(super) fn group_clause(
        &mut self,
        nodes: &[ast::Node],
        targets: &mut [Target],
    ) -> Result<(Vec<Expr>, Vec<GroupingElement>, Vec<Vec<usize>>)> {
        let mut exprs: Vec<Expr> = Vec::new();
        let mut elements: Vec<GroupingElement> = Vec::new();
        let mut has_sets = false;
        for node in nodes {
            has_sets |= matches!(node.node, Some(NodeEnum::GroupingSet(_)));
            elements.push(self.group_element(node, targets, &mut exprs)?);
        }
        if !has_sets {
            return Ok((exprs, vec![], vec![]));
        }
        if let Some(location) = self.level().twice_grouped {
            return Err(PgError::not_supported("grouping sets over two outputs of one expression").at(location));
        }
        // the clause is the cross product of its elements
        let mut sets: Vec<Vec<usize>> = vec![vec![]];
        for element in &elements {
            let additions = sets_of(element);
            let mut next = Vec::new();
            for set in &sets {
                for addition in &additions {
                    let mut combined = set.clone();
                    combined.extend(addition.iter().filter(|i| !set.contains(i)));
                    next.push(combined);
                }
            }
            if next.len() > 4096 {
                return Err(PgError::new(
                    SqlState::STATEMENT_TOO_COMPLEX,
                    "too many grouping sets present (maximum 4096)",
                ));
            }
            sets = next;
        }
        let elements = canonical(elements);
        // (an empty set beside keys adds nothing to them: what is left is a plain GROUP BY)
        let is_plain = !exprs.is_empty() && elements.iter().all(|e| matches!(e, GroupingElement::Keys(_)));
        Ok(if is_plain { (exprs, vec![], vec![]) } else { (exprs, elements, sets) })
    }

    fn group_element(
        &mut self,
        node: &ast::Node,
        targets: &mut [Target],
        exprs: &mut Vec<Expr>,
    ) -> Result<GroupingElement> {
        match &node.node {
            Some(NodeEnum::GroupingSet(set)) => {
                use ast::GroupingSetKind as K;
                let kind = K::try_from(set.kind).map_err(|_| PgError::internal("unknown kind of grouping set"))?;
                let mut parts = Vec::with_capacity(set.content.len());
                for inner in &set.content {
                    parts.push(self.group_element(inner, targets, exprs)?);
                }
                match kind {
                    K::GroupingSetEmpty => Ok(GroupingElement::Keys(vec![])),
                    K::GroupingSetSets => Ok(GroupingElement::Sets(parts)),
                    K::GroupingSetRollup => Ok(GroupingElement::Rollup(parts)),
                    K::GroupingSetCube if parts.len() > 12 => {
                        Err(PgError::new(SqlState::TOO_MANY_COLUMNS, "CUBE is limited to 12 elements").at(set.location))
                    }
                    K::GroupingSetCube => Ok(GroupingElement::Cube(parts)),
                    K::GroupingSetSimple | K::Undefined => Err(PgError::internal("unexpected grouping set")),
                }
            }
            Some(NodeEnum::RowExpr(row)) if row.row_format == ast::CoercionForm::CoerceImplicitCast as i32 => {
                let mut all = Vec::new();
                for inner in &row.args {
                    all.extend(sets_of(&self.group_element(inner, targets, exprs)?).concat());
                }
                let mut seen = Vec::new();
                all.retain(|key| {
                    !seen.contains(key) && {
                        seen.push(*key);
                        true
                    }
                });
                Ok(GroupingElement::Keys(all))
            }
            _ => {
                let (expr, output) = self.list_item(node, targets, Clause::GroupBy)?;
                // Outputs with the same expression are keys of their own: a set may have one of them and not the other.
                let named = self.level().grouped_outputs.iter().find(|(e, _)| *e == expr).map(|(_, o)| *o);
                match (named, output) {
                    (Some(before), Some(now)) if before != now => self.level().twice_grouped = Some(expr.location),
                    (None, Some(now)) => self.level().grouped_outputs.push((expr.clone(), now)),
                    _ => {}
                }
                if crate::walk::contains_aggregate(&expr) {
                    return Err(PgError::new(
                        SqlState::GROUPING_ERROR,
                        "aggregate functions are not allowed in GROUP BY",
                    )
                    .at(expr.location));
                }
                if crate::walk::contains_window(&expr) {
                    return Err(PgError::new(
                        SqlState::WINDOWING_ERROR,
                        "window functions are not allowed in GROUP BY",
                    )
                    .at(expr.location));
                }
                self.check_comparable(expr.ty, expr.location)?;
                let index = match exprs.iter().position(|e| *e == expr) {
                    Some(i) => i,
                    None => {
                        exprs.push(expr);
                        exprs.len() - 1
                    }
                };
                Ok(GroupingElement::Keys(vec![index]))
            }
        }
    }
}

/// The grouping sets that an element of GROUP BY stands for.
fn sets_of(element: &GroupingElement) -> Vec<Vec<usize>> {
    let keys = |parts: &[GroupingElement]| parts.iter().map(|p| sets_of(p).concat()).collect::<Vec<_>>();
    match element {
        GroupingElement::Keys(keys) => vec![keys.clone()],
        GroupingElement::Sets(sets) => sets.iter().flat_map(sets_of).collect(),
        GroupingElement::Rollup(parts) => {
            let parts = keys(parts);
            (0..=parts.len()).rev().map(|n| parts[..n].concat()).collect()
        }
        GroupingElement::Cube(parts) => {
            let parts = keys(parts);
            let n = parts.len();
            let chosen = |mask: usize| (0..n).filter(move |i| mask >> (n - 1 - i) & 1 == 1);
            (0..1usize << n).rev().map(|mask| chosen(mask).flat_map(|i| parts[i].clone()).collect()).collect()
        }
    }
}

/// The elements of GROUP BY as PostgreSQL keeps them: a list of sets within a list of sets is part of that one, and an empty set, or a key that
/// was there before, adds nothing to the others.
fn canonical(elements: Vec<GroupingElement>) -> Vec<GroupingElement> {
    fn flat(parts: Vec<GroupingElement>) -> Vec<GroupingElement> {
        let flatten = |part| match part {
            GroupingElement::Sets(inner) => flat(inner),
            other => vec![nested(other)],
        };
        parts.into_iter().flat_map(flatten).collect()
    }
    fn nested(element: GroupingElement) -> GroupingElement {
        match element {
            GroupingElement::Sets(parts) => GroupingElement::Sets(flat(parts)),
            GroupingElement::Rollup(parts) => GroupingElement::Rollup(flat(parts)),
            GroupingElement::Cube(parts) => GroupingElement::Cube(flat(parts)),
            keys => keys,
        }
    }
    let mut seen: Vec<usize> = Vec::new();
    let mut kept = Vec::new();
    for element in elements {
        match element {
            // each key of a row is an element of its own
            GroupingElement::Keys(keys) => {
                for key in keys {
                    if !seen.contains(&key) {
                        seen.push(key);
                        kept.push(GroupingElement::Keys(vec![key]));
                    }
                }
            }
            other => kept.push(nested(other)),
        }
    }
    if kept.is_empty() {
        kept.push(GroupingElement::Keys(vec![]));
    }
    kept
}
