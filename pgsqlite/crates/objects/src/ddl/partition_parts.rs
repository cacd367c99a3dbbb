//! What the partitions of a table have because the table has it: indexes, keys, foreign keys and row triggers, each in every partition.

use super::create_table::{Elements, KeySpec};
use super::inherit::renumbered;
use super::Ddl;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_sql::routine::Trigger;
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::sync::Arc;

impl Ddl<'_> {
    /// A new partition gets all that its table has.
    pub(super) fn give_parts(&mut self, parent: &Relation, child: Oid) -> Result<()> {
        let mut indexes: Vec<Oid> = self.catalog.indexes_of(parent.oid).map(|(r, _)| r.oid).collect();
        indexes.sort_unstable();
        for index in indexes {
            work::visit();
            self.index_of_partition(child, parent, index, true)?;
        }
        for constraint in parent.constraints.clone() {
            work::visit();
            if constraint.is_foreign_key() && !parent.is_part_of_key(&constraint) {
                self.foreign_key_of_partition(child, parent, &constraint)?;
            }
        }
        self.reference_new_partition(parent.oid)?;
        for trigger in parent.triggers.iter().filter(|t| t.row) {
            work::visit();
            self.trigger_of_partition(child, parent, trigger)?;
        }
        Ok(())
    }

    /// A partition that is none any more keeps its indexes and constraints as its own; its table's triggers go.
    pub(super) fn take_parts(&mut self, child: Oid) -> Result<()> {
        let indexes: Vec<Relation> = self.catalog.indexes_of(child).map(|(r, _)| (**r).clone()).collect();
        for mut index in indexes {
            work::visit();
            if !index.inheritance.parents.is_empty() {
                index.inheritance.parents.clear();
                self.put_relation(index)?;
            }
        }
        let mut table = (**self.required(child)?).clone();
        let mut keys = Vec::new();
        let own: Vec<Oid> = table.constraints.iter().map(|c| c.oid).collect();
        let of_parent = |c: &&mut Constraint| c.inherited.parent != 0 && !own.contains(&c.inherited.parent);
        for constraint in table.constraints.iter_mut().filter(|c| !c.is_check()).filter(of_parent) {
            work::visit();
            constraint.inherited = Inherited::default();
            keys.extend((constraint.is_foreign_key() && constraint.managed).then_some(constraint.oid));
        }
        let gone: Vec<Oid> = table.triggers.iter().filter(|t| t.parent != 0).map(|t| t.oid).collect();
        table.triggers.retain(|t| t.parent == 0);
        self.put_relation(table)?;
        for key in keys {
            work::visit();
            self.reference_partitions(child, key)?;
        }
        if !gone.is_empty() {
            for below in self.catalog.with_descendants(child).into_iter().skip(1) {
                work::visit();
                let mut table = (**self.required(below)?).clone();
                table.triggers.retain(|t| t.parent == 0 || !gone.contains(&t.parent));
                self.put_relation(table)?;
            }
        }
        Ok(())
    }

    /// An index of a partitioned table, for all its partitions.
    pub(super) fn pass_on_index(&mut self, parent: Oid, index: Oid) -> Result<()> {
        let table = self.required(parent)?.clone();
        for child in self.catalog.children(parent).to_vec() {
            work::visit();
            self.index_of_partition(child, &table, index, false)?;
        }
        Ok(())
    }

    /// The partition's part of an index: one that it has, or a new one. `attaching`: one that has not all its parts itself will not do.
    fn index_of_partition(&mut self, child: Oid, parent: &Relation, index: Oid, attaching: bool) -> Result<()> {
        let of_parent = self.required(index)?.clone();
        let RelationKind::Index(definition) = &of_parent.kind else {
            return Err(PgError::internal("an index that is none"));
        };
        let constraint = parent.constraints.iter().find(|c| c.is_key() && c.index == index).cloned();
        let table = (**self.required(child)?).clone();
        let wanted = moved_index(definition, parent, &table)?;
        let own = self.matching_index(&table, &wanted, constraint.as_ref(), attaching);
        let is_new = own.is_none();
        let found = match own {
            Some(found) => found,
            None => match &constraint {
                Some(constraint) => {
                    let names = |attnums: &[i16]| -> Vec<String> {
                        attnums.iter().filter_map(|a| parent.column_by_attnum(*a)).map(|c| c.name.clone()).collect()
                    };
                    let spec = KeySpec {
                        name: String::new(),
                        primary: definition.primary,
                        columns: names(&constraint.columns),
                        parameters: vec![],
                        include: names(&definition.include),
                        deferrable: constraint.deferrable,
                        initially_deferred: constraint.initially_deferred,
                        nulls_not_distinct: definition.nulls_not_distinct,
                        without_overlaps: false,
                        location: -1,
                    };
                    let before: Vec<Oid> = table.constraints.iter().map(|c| c.oid).collect();
                    self.add_constraints(child, Elements { keys: vec![spec], ..Default::default() })?;
                    let now = self.required(child)?;
                    let made = now.constraints.iter().find(|c| !before.contains(&c.oid));
                    made.map(|c| c.index).ok_or_else(|| PgError::internal("a key that was not made"))?
                }
                None => {
                    let mut made = Vec::new();
                    let mut copy = table.clone();
                    self.copy_index(&mut copy, wanted, None, &mut made)?;
                    let made = made.pop().ok_or_else(|| PgError::internal("an index that was not made"))?;
                    self.make_sqlite_index(&made, &table)?;
                    let oid = made.oid;
                    self.put_relation(made)?;
                    oid
                }
            },
        };
        let mut relation = (**self.required(found)?).clone();
        relation.inheritance.parents = vec![index];
        self.put_relation(relation)?;
        if let Some(constraint) = &constraint {
            let mut table = (**self.required(child)?).clone();
            if let Some(own) = table.constraints.iter_mut().find(|c| c.is_key() && c.index == found) {
                own.inherited = Inherited { parent: constraint.oid, ..Inherited::ONCE };
            }
            self.put_relation(table)?;
        }
        if is_new && self.required(child)?.is_partitioned() {
            self.pass_on_index(child, found)?;
        }
        Ok(())
    }

    /// An index of the table that is the same and part of no other; `whole`: that is valid.
    fn matching_index(
        &self,
        table: &Relation,
        wanted: &Index,
        constraint: Option<&Constraint>,
        whole: bool,
    ) -> Option<Oid> {
        let mut found: Vec<Oid> = self
            .catalog
            .indexes_of(table.oid)
            .filter(|(r, index)| {
                let own = table.constraints.iter().find(|c| c.is_key() && c.index == r.oid);
                let same_kind = match (constraint, own) {
                    (None, own) => own.is_none() || !wanted.unique,
                    (Some(c), Some(own)) => {
                        std::mem::discriminant(&c.kind) == std::mem::discriminant(&own.kind)
                            && (c.deferrable, c.initially_deferred) == (own.deferrable, own.initially_deferred)
                    }
                    (Some(_), None) => false,
                };
                r.inheritance.parents.is_empty()
                    && !excludes(table, r.oid)
                    && (!whole || crate::pg_catalog::is_whole_index(&self.catalog, r, index))
                    && same_kind
                    && index.unique == wanted.unique
                    && index.method == wanted.method
                    && index.columns.len() == wanted.columns.len()
                    && index
                        .columns
                        .iter()
                        .zip(&wanted.columns)
                        .all(|(a, b)| (&a.key, a.opclass, a.collation) == (&b.key, b.opclass, b.collation))
                    && index.predicate == wanted.predicate
            })
            .map(|(r, _)| r.oid)
            .collect();
        found.sort_unstable();
        found.first().copied()
    }

    /// 0A000 unless a unique key has all columns of the partition key. `word`: `PRIMARY KEY` or `UNIQUE`.
    pub(super) fn check_key_has_partition_key(&self, table: &Relation, word: &str, attnums: &[i16]) -> Result<()> {
        let Some(key) = &table.inheritance.key else { return Ok(()) };
        for column in &key.columns {
            work::visit();
            match &column.part {
                KeyPart::Expression(_) => {
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        format!("unsupported {word} constraint with partition key definition"),
                    )
                    .detail(format!("{word} constraints cannot be used when partition keys include expressions.")))
                }
                KeyPart::Column(attnum) if !attnums.contains(attnum) => {
                    let name = table.column_by_attnum(*attnum).map_or("", |c| c.name.as_str());
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "unique constraint on partitioned table must include all partitioning columns",
                    )
                    .detail(format!(
                        "{word} constraint on table \"{}\" lacks column \"{name}\" which is part of the partition key.",
                        table.name
                    )));
                }
                KeyPart::Column(_) => {}
            }
        }
        Ok(())
    }

    /// ALTER INDEX … ATTACH PARTITION.
    pub(super) fn attach_index(&mut self, parent: &Arc<Relation>, name: &ast::RangeVar) -> Result<()> {
        let child = self.find(name)?;
        let (RelationKind::Index(above), RelationKind::Index(below)) = (&parent.kind, &child.kind) else {
            return Err(PgError::new(
                SqlState::INVALID_OBJECT_DEFINITION,
                format!("\"{}\" is not an index", child.name),
            ));
        };
        self.check_owner(&child)?;
        if child.inheritance.parents.contains(&parent.oid) {
            return Ok(());
        }
        let cannot = |code: SqlState, detail: String| {
            PgError::new(
                code,
                format!("cannot attach index \"{}\" as a partition of index \"{}\"", child.name, parent.name),
            )
            .detail(detail)
        };
        let (state, definition) = (SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, SqlState::INVALID_OBJECT_DEFINITION);
        let (table, of_partition) = (self.required(above.table)?.clone(), self.required(below.table)?.clone());
        if !table.is_partitioned() {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{}\" is not a partitioned index", parent.name),
            ));
        }
        if !child.inheritance.parents.is_empty() {
            return Err(cannot(state, format!("Index \"{}\" is already attached to another index.", child.name)));
        }
        if of_partition.inheritance.parents.first() != Some(&table.oid) {
            return Err(cannot(
                state,
                format!("Index \"{}\" is not an index on any partition of table \"{}\".", child.name, table.name),
            ));
        }
        if self.catalog.indexes_of(of_partition.oid).any(|(r, _)| r.inheritance.parents.contains(&parent.oid)) {
            return Err(cannot(
                state,
                format!("Another index is already attached for partition \"{}\".", of_partition.name),
            ));
        }
        let wanted = moved_index(above, &table, &of_partition)?;
        let constraint = table.constraints.iter().find(|c| c.is_key() && c.index == parent.oid).cloned();
        let only = Relation { ..(*of_partition).clone() };
        let same = self.matching_index(&only, &wanted, constraint.as_ref(), false).is_some_and(|_| {
            !excludes(&of_partition, child.oid)
                && below.unique == wanted.unique
                && below.method == wanted.method
                && below.columns.len() == wanted.columns.len()
                && below.columns.iter().zip(&wanted.columns).all(|(a, b)| (&a.key, a.opclass) == (&b.key, b.opclass))
                && below.predicate == wanted.predicate
        });
        if !same {
            return Err(cannot(definition, "The index definitions do not match.".into()));
        }
        let mut new = (*child).clone();
        new.inheritance.parents = vec![parent.oid];
        self.put_relation(new)?;
        if let Some(constraint) = constraint {
            let mut table = (*of_partition).clone();
            match table.constraints.iter_mut().find(|c| c.is_key() && c.index == child.oid) {
                Some(own) => own.inherited = Inherited { parent: constraint.oid, ..Inherited::ONCE },
                None => {
                    return Err(cannot(definition, format!(
                        "The index \"{}\" belongs to a constraint in table \"{}\" but no constraint exists for index \"{}\".",
                        parent.name, table.name, child.name
                    )))
                }
            }
            self.put_relation(table)?;
        }
        Ok(())
    }

    // --- foreign keys --------------------------------------------------------------------------------------------------

    /// A foreign key of a partitioned table, for a partition: one that it has, or a new one.
    pub(super) fn foreign_key_of_partition(
        &mut self,
        child: Oid,
        parent: &Relation,
        constraint: &Constraint,
    ) -> Result<()> {
        let old = (**self.required(child)?).clone();
        let columns = renumbered(&constraint.columns, parent, &old)?;
        let found = old.constraints.iter().position(|c| {
            c.kind == constraint.kind
                && c.columns == columns
                && c.deferrable == constraint.deferrable
                && c.inherited.parent == 0
        });
        let inherited = Inherited { parent: constraint.oid, ..Inherited::ONCE };
        let mut new = old.clone();
        let own = match found {
            Some(at) if new.constraints[at].not_enforced != constraint.not_enforced => {
                return Err(PgError::new(
                    SqlState::INVALID_OBJECT_DEFINITION,
                    format!(
                        "constraint \"{}\" enforceability conflicts with constraint \"{}\" on relation \"{}\"",
                        constraint.name, old.constraints[at].name, old.name
                    ),
                ));
            }
            Some(at) => {
                new.constraints[at].inherited = inherited;
                let own = new.constraints[at].clone();
                self.put_relation(new)?;
                self.forget_parts_of_key(child, own.oid)?;
                new = (**self.required(child)?).clone();
                own
            }
            None => {
                let name = if old.constraints.iter().any(|c| c.name == constraint.name) {
                    let names: Vec<String> =
                        columns.iter().filter_map(|a| old.column_by_attnum(*a)).map(|c| c.name.clone()).collect();
                    let joined = super::naming::joined_columns(names.iter().map(String::as_str));
                    let taken: Vec<String> = old.constraints.iter().map(|c| c.name.clone()).collect();
                    self.choose_constraint_name(old.schema, &old.name, &joined, "fkey", &taken)
                } else {
                    constraint.name.clone()
                };
                let own =
                    Constraint { oid: self.new_oid(old.temporary)?, name, columns, inherited, ..constraint.clone() };
                self.check_rows(&old, &own)?;
                new.constraints.push(own.clone());
                self.put_relation(new.clone())?;
                if !own.managed {
                    self.rebuild(&old, &new, &Default::default())?;
                }
                own
            }
        };
        if new.is_partitioned() {
            for below in self.catalog.children(child).to_vec() {
                work::visit();
                self.foreign_key_of_partition(below, &new, &own)?;
            }
        }
        Ok(())
    }

    /// Takes a trigger that is about to be replaced from the partitions.
    pub(super) fn forget_parts_of_trigger(&mut self, table: Oid, trigger: Oid) -> Result<()> {
        for child in self.catalog.children(table).to_vec() {
            work::visit();
            let mut new = (**self.required(child)?).clone();
            let Some(at) = new.triggers.iter().position(|t| t.parent == trigger) else { continue };
            let own = new.triggers.remove(at);
            self.put_relation(new)?;
            self.forget_parts_of_trigger(child, own.oid)?;
        }
        Ok(())
    }

    /// ENABLE and DISABLE TRIGGER of a partitioned table, for the partitions: their parts of the triggers that `changed` names
    /// (all, if it names none) fire as those do now.
    pub(super) fn set_parts_of_triggers(&mut self, table: Oid, changed: Option<&str>) -> Result<()> {
        let above = self.required(table)?.clone();
        for child in self.catalog.children(table).to_vec() {
            work::visit();
            let mut new = (**self.required(child)?).clone();
            for own in new.triggers.iter_mut().filter(|t| t.parent != 0 && changed.is_none_or(|name| t.name == name)) {
                work::visit();
                if let Some(trigger) = above.triggers.iter().find(|t| t.oid == own.parent) {
                    own.enabled = trigger.enabled;
                }
            }
            self.put_relation(new)?;
            self.set_parts_of_triggers(child, changed)?;
        }
        Ok(())
    }

    // --- triggers ------------------------------------------------------------------------------------------------------

    /// A row trigger of a partitioned table, for a partition and those below it.
    pub(super) fn trigger_of_partition(&mut self, child: Oid, parent: &Relation, trigger: &Trigger) -> Result<()> {
        let mut new = (**self.required(child)?).clone();
        if new.triggers.iter().any(|t| t.name == trigger.name) {
            return Err(PgError::new(
                SqlState::DUPLICATE_OBJECT,
                format!("trigger \"{}\" for relation \"{}\" already exists", trigger.name, new.name),
            ));
        }
        let own = Trigger {
            oid: self.new_oid(new.temporary)?,
            columns: renumbered(&trigger.columns, parent, &new)?,
            constraint: if trigger.constraint != 0 { self.new_oid(new.temporary)? } else { 0 },
            parent: trigger.oid,
            ..trigger.clone()
        };
        new.triggers.push(own.clone());
        new.triggers.sort_by(|a, b| a.name.cmp(&b.name));
        self.put_relation(new.clone())?;
        for below in self.catalog.children(child).to_vec() {
            work::visit();
            self.trigger_of_partition(below, &new, &own)?;
        }
        Ok(())
    }
}

/// Whether an index is that of an EXCLUDE constraint: no index of a partitioned table is like it.
fn excludes(table: &Relation, index: Oid) -> bool {
    table.constraints.iter().any(|c| c.index == index && c.kind == ConstraintKind::Exclusion)
}

/// An index of one table as one over the columns of the same names of another.
fn moved_index(index: &Index, from: &Relation, to: &Relation) -> Result<Index> {
    let mut out = index.clone();
    for key in &mut out.columns {
        work::visit();
        if let KeyPart::Column(attnum) = &mut key.key {
            *attnum = renumbered(&[*attnum], from, to)?[0];
        }
    }
    out.include = renumbered(&index.include, from, to)?;
    out.table = to.oid;
    Ok(out)
}
