//! Foreign keys that the server carries out itself, and which they are.
//!
//! Most foreign keys are SQLite's: it checks them and carries out their actions. It cannot where a key reaches several tables
//! (partitions), where its actions have to fire triggers or to compute what SQLite's schema does not know (CHECKs, defaults,
//! generated columns), nor has it MATCH FULL or rows that may violate a key (NOT VALID). Such a key is *managed*
//! ([`Constraint::managed`]): it is not in SQLite's declaration of the table, data modifications of both its tables go
//! row by row (`lower/triggered.rs`), and the engine does after each row what PostgreSQL's RI triggers do.

use crate::catalog::{Catalog, Constraint, ConstraintKind, ForeignKeyAction, Relation};
use crate::routine::Event;
use std::sync::Arc;

/// Whether an action leaves the referencing rows as they are.
fn keeps(action: ForeignKeyAction) -> bool {
    matches!(action, ForeignKeyAction::NoAction | ForeignKeyAction::Restrict)
}

/// What a change of the referenced table does to the referencing one. None: it only forbids.
fn caused(action: ForeignKeyAction, event: Event) -> Option<Event> {
    match (action, event) {
        _ if keeps(action) => None,
        (ForeignKeyAction::Cascade, Event::Delete) => Some(Event::Delete),
        _ => Some(Event::Update),
    }
}

impl Relation {
    /// The constraint belongs to another one of the same table: a foreign key to a partitioned table has one for each partition.
    pub fn is_part_of_key(&self, constraint: &Constraint) -> bool {
        let parent = constraint.inherited.parent;
        parent != 0 && constraint.is_foreign_key() && self.constraints.iter().any(|c| c.oid == parent)
    }

    /// The managed foreign keys that new rows of this table are checked by.
    pub fn managed_keys(&self) -> impl Iterator<Item = &Constraint> {
        self.constraints.iter().filter(|c| c.managed && !self.is_part_of_key(c))
    }
}

impl Catalog {
    /// The managed foreign keys that reference rows of a table: the referencing table (of partitions the root), the constraint, and the
    /// table that it names, which is this one or one whose partition this is.
    pub fn managed_references(&self, table: &Relation) -> Vec<(Arc<Relation>, Constraint, Arc<Relation>)> {
        let mut tables = vec![table.oid];
        if table.is_partition() {
            tables.extend(self.ancestors(table.oid));
        }
        let mut out = Vec::new();
        for oid in tables {
            let Some(named) = self.relation(oid) else { continue };
            for (child, constraint) in self.referencing(oid) {
                if constraint.managed && constraint.inherited.parent == 0 {
                    out.push((child.clone(), constraint.clone(), named.clone()));
                }
            }
        }
        out.sort_by_key(|(_, c, _)| c.oid);
        out
    }

    /// Whether managed foreign keys have something to do when rows of the table are inserted, deleted, or updated in the
    /// columns `set` (attnums).
    pub fn concerns_managed_keys(&self, table: &Relation, event: Event, set: &[i16]) -> bool {
        let changed = |attnum: i16| {
            set.contains(&attnum) || table.column_by_attnum(attnum).is_some_and(|c| c.generated.is_some())
        };
        let checks = match event {
            Event::Insert => table.managed_keys().next().is_some(),
            Event::Update => table.managed_keys().any(|c| c.columns.iter().any(|a| changed(*a))),
            Event::Delete | Event::Truncate => false,
        };
        if checks || matches!(event, Event::Insert | Event::Truncate) {
            return checks;
        }
        self.managed_references(table).iter().any(|(_, constraint, named)| {
            let ConstraintKind::ForeignKey { columns, .. } = &constraint.kind else { return false };
            let own = |attnum: &i16| {
                let name = named.column_by_attnum(*attnum).map(|c| &c.name)?;
                table.column(name).map(|c| c.attnum)
            };
            event == Event::Delete || columns.iter().filter_map(own).any(changed)
        })
    }

    /// Whether rows of the table are changed one by one, whatever the statement.
    fn goes_by_rows(&self, table: &Relation) -> bool {
        !table.triggers.is_empty()
            || !table.inheritance.is_default()
            || self.stands_for_several(table)
            || table.managed_keys().next().is_some()
            || table.immediate_exclusions().next().is_some()
    }

    /// Whether SQLite cannot carry out the foreign key of `child`, as things are.
    pub fn must_manage(&self, child: &Relation, constraint: &Constraint) -> bool {
        let ConstraintKind::ForeignKey { references, columns, on_update, on_delete, match_full, delete_columns } =
            &constraint.kind
        else {
            return false;
        };
        let Some(parent) = self.relation(*references) else { return false };
        if parent.is_partitioned() || !delete_columns.is_empty() {
            return true;
        }
        if *match_full && columns.len() > 1 {
            return true;
        }
        if parent.oid == child.oid && self.goes_by_rows(child) {
            // SQLite would check each row before the next one is there
            return true;
        }
        let actions = [(*on_update, Event::Update), (*on_delete, Event::Delete)];
        if actions.iter().all(|(a, _)| keeps(*a)) {
            return false;
        }
        if child.is_partition() || child.is_partitioned() {
            return true;
        }
        let own = |attnum: &i16| child.column_by_attnum(*attnum);
        for (action, event) in actions {
            let Some(caused) = caused(action, event) else { continue };
            let fires = child.triggers.iter().any(|t| t.is_on() && t.events.contains(&caused));
            if fires || self.concerns_managed_keys(child, caused, &constraint.columns) {
                return true;
            }
            if caused == Event::Delete {
                continue;
            }
            if child.immediate_exclusions().next().is_some() {
                return true;
            }
            if action == ForeignKeyAction::SetDefault
                && constraint.columns.iter().filter_map(own).any(|c| c.default.is_some())
            {
                return true;
            }
            // what SQLite's schema does not have
            let checked = |k: &Constraint| {
                k.is_check() && (k.columns.is_empty() || k.columns.iter().any(|a| constraint.columns.contains(a)))
            };
            if child.constraints.iter().any(checked)
                || child.live_columns().any(|c| c.generated.is_some())
                || constraint.columns.iter().filter_map(own).any(|c| self.base_type(c.type_oid) != c.type_oid)
            {
                return true;
            }
        }
        false
    }
}
