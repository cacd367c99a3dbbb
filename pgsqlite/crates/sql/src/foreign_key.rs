//! Foreign keys that the server carries out itself, and which they are.
//!
//! Most foreign keys are SQLite's: it checks them and carries out their actions. It cannot where a key reaches several tables
//! (partitions), where its actions have to fire triggers or to compute what SQLite's schema does not know (CHECKs, defaults,
//! generated columns), where ON UPDATE assigns a key to a column of another type or length, or where equal keys may differ (`1.0` and
//! `1.00`), and where one of several ways from a table to another forbids what the others do; nor has it MATCH FULL or rows that may violate a key (NOT VALID). Such a key is *managed*
//! ([`Constraint::managed`]): it is not in SQLite's declaration of the table, data modifications of both its tables go
//! row by row (`lower/triggered.rs`), and the engine does after each row what PostgreSQL's RI triggers do.

use crate::catalog::{Catalog, Column, Constraint, ConstraintKind, ForeignKeyAction, Relation};
use crate::routine::Event;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::{oid, Oid};
use std::collections::{BTreeSet, HashMap};
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

/// What a change of a table's rows comes to, by the actions of foreign keys.
#[derive(Default)]
struct Reached {
    /// the tables whose rows are deleted or updated, with the columns that are updated
    tables: Vec<(Oid, Event, BTreeSet<i16>)>,
    /// (from, key, to): positions among these
    ways: Vec<(usize, Oid, usize)>,
}

impl Reached {
    /// The position of a table and an event; columns that were not known to be updated wait to be looked at.
    fn add(&mut self, table: Oid, event: Event, columns: BTreeSet<i16>, waiting: &mut Vec<usize>) -> usize {
        if let Some(at) = self.tables.iter().position(|(t, e, _)| (*t, *e) == (table, event)) {
            let known = self.tables[at].2.len();
            self.tables[at].2.extend(columns);
            if self.tables[at].2.len() > known {
                waiting.push(at);
            }
            return at;
        }
        self.tables.push((table, event, columns));
        waiting.push(self.tables.len() - 1);
        self.tables.len() - 1
    }

    /// The keys on the ways that end at one of these tables.
    fn keys_to(&self, ends: Vec<usize>) -> BTreeSet<Oid> {
        let (mut waiting, mut seen, mut keys) = (ends, BTreeSet::new(), BTreeSet::new());
        while let Some(at) = waiting.pop() {
            if seen.insert(at) {
                for (from, key, _) in self.ways.iter().filter(|(_, _, to)| *to == at) {
                    keys.insert(*key);
                    waiting.push(*from);
                }
            }
        }
        keys
    }
}

/// A foreign key with the table that has it.
type Referencing<'c> = (&'c Arc<Relation>, &'c Constraint);

/// What a foreign key does at an event of the referenced table.
pub fn action(constraint: &Constraint, event: Event) -> ForeignKeyAction {
    match (&constraint.kind, event) {
        (ConstraintKind::ForeignKey { on_delete, .. }, Event::Delete) => *on_delete,
        (ConstraintKind::ForeignKey { on_update, .. }, _) => *on_update,
        _ => ForeignKeyAction::NoAction,
    }
}

fn referenced_columns(constraint: &Constraint) -> &[i16] {
    match &constraint.kind {
        ConstraintKind::ForeignKey { columns, .. } => columns,
        _ => &[],
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
        self.constraints.iter().filter(|c| c.managed && !c.not_enforced && !self.is_part_of_key(c))
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
                if constraint.managed && !constraint.not_enforced && constraint.inherited.parent == 0 {
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

    /// The foreign keys of the ways from a table to another of which one forbids what the others do: the rows that reference the first
    /// table go with those of a third one. PostgreSQL looks at each key of a row before it looks at those of the rows that its actions
    /// have changed, and refuses; SQLite looks when all is done.
    pub fn crossing_keys(&self) -> BTreeSet<Oid> {
        let mut by_parent: HashMap<Oid, Vec<Referencing>> = HashMap::new();
        for relation in self.relations.values() {
            for constraint in relation.constraints.iter().filter(|c| !c.not_enforced) {
                if let ConstraintKind::ForeignKey { references, .. } = constraint.kind {
                    by_parent.entry(references).or_default().push((relation, constraint));
                }
            }
        }
        let mut crossing = BTreeSet::new();
        for (parent, keys) in &by_parent {
            for event in [Event::Delete, Event::Update] {
                let forbids = |c: &Constraint| keeps(action(c, event)) && !c.initially_deferred;
                let forbidding: Vec<&Referencing> = keys.iter().filter(|(_, c)| forbids(c)).collect();
                if forbidding.is_empty() || keys.iter().all(|(_, c)| keeps(action(c, event))) {
                    continue;
                }
                let reached = Self::reached_by_actions(*parent, event, &by_parent);
                for (child, key) in forbidding {
                    let is_end = |to: usize| {
                        let (table, event, columns) = &reached.tables[to];
                        let changes = *event == Event::Delete || key.columns.iter().any(|a| columns.contains(a));
                        *table == child.oid && changes
                    };
                    let ends: Vec<usize> = reached.ways.iter().map(|(_, _, to)| *to).filter(|to| is_end(*to)).collect();
                    if !ends.is_empty() {
                        crossing.insert(key.oid);
                        crossing.extend(reached.keys_to(ends));
                    }
                }
            }
        }
        crossing
    }

    fn reached_by_actions(table: Oid, event: Event, by_parent: &HashMap<Oid, Vec<Referencing>>) -> Reached {
        let (mut reached, mut waiting) = (Reached::default(), Vec::new());
        let referenced = by_parent.get(&table).into_iter().flatten().flat_map(|(_, c)| referenced_columns(c));
        reached.add(table, event, referenced.copied().collect(), &mut waiting);
        while let Some(from) = waiting.pop() {
            let (table, event, columns) = reached.tables[from].clone();
            for (child, key) in by_parent.get(&table).into_iter().flatten() {
                let Some(caused) = caused(action(key, event), event) else { continue };
                if event == Event::Update && !referenced_columns(key).iter().any(|a| columns.contains(a)) {
                    continue;
                }
                let set = if caused == Event::Update { key.columns.iter().copied().collect() } else { BTreeSet::new() };
                let to = reached.add(child.oid, caused, set, &mut waiting);
                if !reached.ways.contains(&(from, key.oid, to)) {
                    reached.ways.push((from, key.oid, to));
                }
            }
        }
        reached
    }

    /// Whether keys of two columns that are equal have the same bytes.
    fn is_equal_by_bytes(&self, column: &Column) -> bool {
        let strict = |oid| self.collation(oid).is_none_or(|c| c.deterministic);
        let by_bytes = match self.codec(self.base_type(column.type_oid)) {
            None => true,
            // (texts of one length, which blanks fill)
            Some(TypeCodec::BpChar) => column.type_oid == oid::BPCHAR && column.typmod >= 0,
            // these have one form for each value
            Some(
                TypeCodec::Char | TypeCodec::TimeTz | TypeCodec::Lsn | TypeCodec::Inet { .. } | TypeCodec::Enum(_),
            ) => true,
            Some(codec) => codec.collation().is_none(),
        };
        by_bytes && strict(column.collation)
    }

    /// Whether a key of the column `from` is stored in the column `to` as it is, whatever it is.
    fn holds_as_it_is(to: &Column, from: &Column) -> bool {
        let width = |c: &Column| match c.type_oid {
            oid::INT2 => Some(2),
            oid::INT4 => Some(4),
            oid::INT8 => Some(8),
            _ => None,
        };
        let text = |c: &Column| matches!(c.type_oid, oid::TEXT | oid::VARCHAR);
        let modified = to.typmod == from.typmod || to.typmod < 0 && to.type_oid != oid::BPCHAR;
        let same = to.type_oid == from.type_oid || text(to) && text(from);
        same && modified || width(to).zip(width(from)).is_some_and(|(to, from)| to >= from)
    }

    /// Whether SQLite makes of ON UPDATE what PostgreSQL does, as far as the types of the columns go: it gives the new key to the other
    /// column as it is, and looks at no key that it takes for equal to the old one. PostgreSQL assigns it, and looks at its bytes.
    pub fn updates_as_given(&self, child: &Relation, constraint: &Constraint) -> bool {
        let ConstraintKind::ForeignKey { references, columns, on_update, .. } = &constraint.kind else { return true };
        if *on_update == ForeignKeyAction::NoAction {
            return true;
        }
        let Some(parent) = self.relation(*references) else { return true };
        constraint.columns.iter().zip(columns).all(|(own, other)| {
            let (Some(own), Some(other)) = (child.column_by_attnum(*own), parent.column_by_attnum(*other)) else {
                return true;
            };
            let by_bytes = self.is_equal_by_bytes(own) && self.is_equal_by_bytes(other);
            by_bytes && (*on_update != ForeignKeyAction::Cascade || Self::holds_as_it_is(own, other))
        })
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
        // SQLite asks for no privileges
        use crate::acl::{check_key_query, KeyQuery};
        let may = |table: &Relation, query, columns: &[i16]| check_key_query(self, table, query, columns).is_ok();
        let actions = [KeyQuery::Look, KeyQuery::Delete, KeyQuery::Update];
        if !may(parent, KeyQuery::Look, columns) || !actions.iter().all(|q| may(child, *q, &constraint.columns)) {
            return true;
        }
        if *match_full && columns.len() > 1 {
            return true;
        }
        if parent.oid == child.oid && self.goes_by_rows(child) {
            // SQLite would check each row before the next one is there
            return true;
        }
        if !self.updates_as_given(child, constraint) {
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
                k.is_check()
                    && !k.not_enforced
                    && (k.columns.is_empty() || k.columns.iter().any(|a| constraint.columns.contains(a)))
            };
            if child.constraints.iter().any(checked)
                || child.live_columns().any(|c| c.generated.is_some() || c.not_null_pending)
                || constraint.columns.iter().filter_map(own).any(|c| self.base_type(c.type_oid) != c.type_oid)
            {
                return true;
            }
        }
        false
    }
}
