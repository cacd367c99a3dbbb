//! The relations that a data modification locks by foreign keys: those whose rows its new rows reference, and those whose rows reference
//! what it changes (manual, "Table-Level Locks": the queries behind foreign keys are SELECT … FOR KEY SHARE, and the actions).

use crate::locks::Mode;
use pgsqlite_sql::catalog::{Catalog, Constraint, ConstraintKind, ForeignKeyAction, Relation};
use pgsqlite_sql::plan::{QueryPlan, Tag};
use pgsqlite_types::Oid;
use std::collections::HashSet;

/// What happens to rows of a table.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Change {
    Insert,
    Delete,
    /// of these columns (attnums)
    Update(Vec<i16>),
    /// anything
    Any,
}

/// The relations that foreign keys reach from a modification.
#[derive(Default)]
pub(in crate::session) struct Reached {
    /// with the modes in which they are locked
    pub relations: Vec<(Oid, Mode)>,
    /// rows of a table with triggers are changed: what these do is not known
    pub fires_triggers: bool,
}

impl Change {
    /// Whether one of the columns has new values. `deleted`: whether a deletion counts.
    fn touches(&self, columns: &[i16], deleted: bool) -> bool {
        match self {
            Change::Insert => !deleted,
            Change::Delete => deleted,
            Change::Update(changed) => columns.iter().any(|c| changed.contains(c)),
            Change::Any => true,
        }
    }
}

/// What the foreign keys of a plan's tables reach.
pub(in crate::session) fn reached(catalog: &Catalog, plan: &QueryPlan) -> Reached {
    let alone = plan.modifies.len() == 1;
    let mut changes: Vec<(Oid, Change)> = Vec::new();
    for &table in &plan.modifies {
        let related = !catalog.ancestors(table).is_empty() || catalog.has_children(table);
        let update = |columns: &[i16]| if related { Change::Any } else { Change::Update(columns.into()) };
        match (plan.tag, &plan.assigns) {
            (Tag::Update, Some(columns)) if alone => changes.push((table, update(columns))),
            (Tag::Insert, Some(columns)) if alone => {
                changes.push((table, Change::Insert));
                if !columns.is_empty() {
                    changes.push((table, update(columns)));
                }
            }
            (Tag::Delete, _) if alone => changes.push((table, Change::Delete)),
            _ => changes.push((table, Change::Any)),
        }
    }
    follow(catalog, changes)
}

/// What the foreign keys of a table reach into which rows are inserted.
pub(in crate::session) fn reached_by_rows(catalog: &Catalog, table: Oid) -> Reached {
    follow(catalog, vec![(table, Change::Insert)])
}

fn follow(catalog: &Catalog, mut open: Vec<(Oid, Change)>) -> Reached {
    let mut found = Reached::default();
    let mut seen = HashSet::new();
    while let Some((table, change)) = open.pop() {
        if !seen.insert((table, change.clone())) {
            continue;
        }
        let mut family = catalog.ancestors(table);
        family.push(table);
        for member in family {
            if let Some(relation) = catalog.relation(member) {
                found.references(catalog, relation, &change);
            }
            for (referencing, constraint) in catalog.referencing(member).filter(|(_, c)| !c.not_enforced) {
                if let Some(next) = found.referencing(catalog, referencing, constraint, &change) {
                    open.push((referencing.oid, next));
                }
            }
        }
    }
    found
}

impl Reached {
    fn add(&mut self, catalog: &Catalog, table: Oid, mode: Mode) {
        self.relations.extend(catalog.with_descendants(table).into_iter().map(|oid| (oid, mode)));
    }

    /// The tables whose rows the new rows of `relation` reference.
    fn references(&mut self, catalog: &Catalog, relation: &Relation, change: &Change) {
        for constraint in relation.constraints.iter().filter(|c| !c.not_enforced) {
            let ConstraintKind::ForeignKey { references, .. } = &constraint.kind else { continue };
            if change.touches(&constraint.columns, false) {
                self.add(catalog, *references, Mode::RowShare);
            }
        }
    }

    /// A table whose rows reference the changed ones: what happens to them, if anything does.
    fn referencing(
        &mut self,
        catalog: &Catalog,
        referencing: &Relation,
        constraint: &Constraint,
        change: &Change,
    ) -> Option<Change> {
        use ForeignKeyAction as A;
        let ConstraintKind::ForeignKey { columns, on_update, on_delete, .. } = &constraint.kind else { return None };
        if !change.touches(columns, true) {
            return None;
        }
        let acts = |action: &A| !matches!(action, A::NoAction | A::Restrict);
        let next = match change {
            Change::Delete if *on_delete == A::Cascade => Some(Change::Delete),
            Change::Delete if acts(on_delete) => Some(Change::Update(constraint.columns.clone())),
            Change::Update(_) if acts(on_update) => Some(Change::Update(constraint.columns.clone())),
            Change::Any if acts(on_delete) || acts(on_update) => Some(Change::Any),
            _ => None,
        };
        self.add(catalog, referencing.oid, if next.is_some() { Mode::RowExclusive } else { Mode::RowShare });
        self.fires_triggers |= next.is_some() && !referencing.triggers.is_empty();
        next
    }
}
