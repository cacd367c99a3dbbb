//! The relations that DDL names, and those that it locks besides: children and partitions, the tables of foreign keys, the default
//! partition, the tables with a column of a domain, what CASCADE takes along.

use crate::session::context::SessionContext;
use ast::{AlterTableType as T, ObjectType};
use pgsqlite_sql::analyze::resolve_type_name;
use pgsqlite_sql::catalog::{Catalog, PartitionBound, Relation, RelationKind};
use pgsqlite_sql::parse::{ast, NodeEnum, NodeRef};
use pgsqlite_types::Oid;
use std::collections::BTreeSet;

/// Collects relations.
struct Found<'a> {
    context: &'a SessionContext,
    catalog: &'a Catalog,
    relations: BTreeSet<Oid>,
}

impl Found<'_> {
    /// A table, and (`inherits`) all that inherit from it or are its partitions. For an index: its table.
    fn tree(&mut self, table: &Relation, inherits: bool) {
        let oid = match &table.kind {
            RelationKind::Index(index) => index.table,
            _ => table.oid,
        };
        match inherits {
            true => self.relations.extend(self.catalog.with_descendants(oid)),
            false => drop(self.relations.insert(oid)),
        }
    }

    fn named(&mut self, name: Option<&ast::RangeVar>, inherits: bool) {
        let Some(name) = name else { return };
        if let Ok(relation) = self.context.named_relation(name) {
            self.tree(&relation, inherits);
        }
    }

    /// The default partition of a table: its rows may belong to a new one.
    fn default_of(&mut self, parent: Option<&ast::RangeVar>) {
        let Some(parent) = parent.and_then(|name| self.context.named_relation(name).ok()) else { return };
        self.relations.insert(parent.oid);
        let is_default = |oid: &&Oid| {
            self.catalog.relation(**oid).is_some_and(|r| r.inheritance.bound == Some(PartitionBound::Default))
        };
        let default = self.catalog.children(parent.oid).iter().find(is_default);
        if let Some(default) = default {
            self.relations.extend(self.catalog.with_descendants(*default));
        }
    }

    /// The tables that foreign keys of these nodes (constraints, columns with constraints) refer to.
    fn parents<'n>(&mut self, nodes: impl Iterator<Item = &'n ast::Node>) {
        for node in nodes {
            pgsqlite_types::work::visit();
            match &node.node {
                Some(NodeEnum::Constraint(c)) => self.named(c.pktable.as_ref(), true),
                Some(NodeEnum::ColumnDef(c)) => self.parents(c.constraints.iter()),
                _ => {}
            }
        }
    }

    /// The tables whose foreign keys refer to what was found, as CASCADE reaches them.
    fn with_referencing(&mut self, rows: bool) {
        let mut open: Vec<Oid> = self.relations.iter().copied().collect();
        while let Some(oid) = open.pop() {
            pgsqlite_types::work::visit();
            let new: Vec<Oid> = self.catalog.referencing(oid).map(|(r, _)| r.oid).collect();
            for table in new.into_iter().flat_map(|oid| self.catalog.with_descendants(oid)) {
                if self.relations.insert(table) && rows {
                    open.push(table);
                }
            }
        }
    }

    /// The tables that a condition holds for, with all that inherit from them.
    fn all(&mut self, wanted: impl Fn(&Relation) -> bool) {
        let tables: Vec<Oid> = self.catalog.relations.values().filter(|r| wanted(r)).map(|r| r.oid).collect();
        for table in tables {
            self.relations.extend(self.catalog.with_descendants(table));
        }
    }

    /// The tables with columns of a type.
    fn of_type(&mut self, oid: Oid) {
        self.all(|r| r.columns.iter().any(|c| c.type_oid == oid));
    }

    fn alter_table(&mut self, s: &ast::AlterTableStmt) {
        let inherits = s.relation.as_ref().is_some_and(|r| r.inh);
        let of_partitions = |c: &ast::AlterTableCmd| matches!(c.subtype(), T::AtAttachPartition | T::AtDetachPartition);
        let commands: Vec<&ast::AlterTableCmd> = s
            .cmds
            .iter()
            .filter_map(|c| match &c.node {
                Some(NodeEnum::AlterTableCmd(c)) => Some(&**c),
                _ => None,
            })
            .collect();
        if !crate::session::transaction::detaching::lets_use_table(s) {
            self.named(s.relation.as_ref(), inherits && !commands.iter().any(|c| of_partitions(c)));
        }
        let detaching =
            |c: &&ast::AlterTableCmd| matches!(c.subtype(), T::AtDetachPartition | T::AtDetachPartitionFinalize);
        let detaches = commands.iter().any(detaching);
        for command in commands {
            pgsqlite_types::work::visit();
            match command.def.as_ref().and_then(|def| def.node.as_ref()) {
                Some(NodeEnum::PartitionCmd(part)) => {
                    self.named(part.name.as_ref(), true);
                    if command.subtype() == T::AtAttachPartition {
                        self.default_of(s.relation.as_ref());
                    }
                }
                Some(NodeEnum::RangeVar(parent)) => self.named(Some(parent), false),
                _ => self.parents(command.def.as_deref().into_iter()),
            }
        }
        // (who has inserted references to rows of a partition is waited for: they are to be found)
        if detaches && !crate::session::transaction::detaching::is_concurrent(s) {
            self.with_referencing(false);
        }
    }

    fn drop_objects(&mut self, s: &ast::DropStmt) {
        let cascades = s.behavior() == ast::DropBehavior::DropCascade;
        for object in &s.objects {
            pgsqlite_types::work::visit();
            match (s.remove_type(), &object.node) {
                (ObjectType::ObjectSchema, Some(NodeEnum::String(name))) if cascades => {
                    let schema = self.catalog.schemas.values().find(|schema| schema.name == name.sval).map(|s| s.oid);
                    self.all(|r| Some(r.schema) == schema);
                }
                (ObjectType::ObjectType | ObjectType::ObjectDomain, Some(NodeEnum::TypeName(name))) if cascades => {
                    let view = self.context.view();
                    if let Ok((oid, _)) = self.context.with_environment(&view, |e| resolve_type_name(e, name)) {
                        self.of_type(oid);
                    }
                }
                (_, Some(NodeEnum::List(list))) => {
                    let name = range_var(list);
                    self.named(name.as_ref(), true);
                    // (nobody reads or fills a table while one of its partitions goes)
                    if let Some(table) = name.and_then(|name| self.context.named_relation(&name).ok()) {
                        if table.is_partition() {
                            self.relations.extend(table.inheritance.parents.first());
                        }
                        self.relations.extend(self.catalog.detaching(table.oid).map(|part| part.oid));
                    }
                }
                _ => {}
            }
        }
        if cascades {
            self.with_referencing(false);
        }
    }
}

/// A name with its schema, as DROP has it.
fn range_var(list: &ast::List) -> Option<ast::RangeVar> {
    named_by(&list.items)
}

/// The relation of which a part is named: a column, a constraint, a trigger, a policy, a rule.
fn relation_of_part(list: &ast::List) -> Option<ast::RangeVar> {
    let (_, relation) = list.items.split_last()?;
    named_by(relation)
}

fn named_by(parts: &[ast::Node]) -> Option<ast::RangeVar> {
    let part = |n: &ast::Node| match &n.node {
        Some(NodeEnum::String(s)) => Some(s.sval.clone()),
        _ => None,
    };
    let parts: Vec<String> = parts.iter().filter_map(part).collect();
    let (relname, rest) = parts.split_last()?;
    let schemaname = rest.last().cloned().unwrap_or_default();
    Some(ast::RangeVar { relname: relname.clone(), schemaname, ..Default::default() })
}

/// The relation that an object of DROP or COMMENT is, or is a part of.
fn relation_of_object(kind: ObjectType, object: &ast::Node) -> Option<ast::RangeVar> {
    use ObjectType as T;
    let Some(NodeEnum::List(list)) = &object.node else { return None };
    match kind {
        T::ObjectTable
        | T::ObjectView
        | T::ObjectMatview
        | T::ObjectIndex
        | T::ObjectSequence
        | T::ObjectForeignTable => range_var(list),
        T::ObjectColumn | T::ObjectTabconstraint | T::ObjectTrigger | T::ObjectPolicy | T::ObjectRule => {
            relation_of_part(list)
        }
        _ => None,
    }
}

/// The names of relations in a statement of DDL.
fn names_in(node: &NodeEnum) -> Vec<ast::RangeVar> {
    let ranges = |node: &NodeEnum| -> Vec<ast::RangeVar> {
        let found = node.nodes().into_iter().filter_map(|(node, ..)| match node {
            NodeRef::RangeVar(name) => Some(name.clone()),
            _ => None,
        });
        found.collect()
    };
    let in_expressions = |expressions: [&Option<Box<ast::Node>>; 2]| -> Vec<ast::RangeVar> {
        expressions.into_iter().flatten().filter_map(|e| e.node.as_ref()).flat_map(ranges).collect()
    };
    let mut names = match node {
        NodeEnum::RenameStmt(s) => s.relation.iter().cloned().collect(),
        NodeEnum::AlterObjectSchemaStmt(s) => s.relation.iter().cloned().collect(),
        NodeEnum::ReindexStmt(s) => s.relation.iter().cloned().collect(),
        NodeEnum::DropStmt(s) => s.objects.iter().filter_map(|o| relation_of_object(s.remove_type(), o)).collect(),
        NodeEnum::CommentStmt(s) => {
            s.object.as_deref().and_then(|o| relation_of_object(s.objtype(), o)).into_iter().collect()
        }
        NodeEnum::CreatePolicyStmt(s) => in_expressions([&s.qual, &s.with_check]),
        NodeEnum::AlterPolicyStmt(s) => in_expressions([&s.qual, &s.with_check]),
        node => ranges(node),
    };
    match node {
        NodeEnum::AlterTableStmt(s) => names.extend(s.relation.clone()),
        NodeEnum::IndexStmt(s) => names.extend(s.relation.clone()),
        NodeEnum::CreateTrigStmt(s) => names.extend(s.relation.iter().chain(&s.constrrel).cloned()),
        NodeEnum::RefreshMatViewStmt(s) => names.extend(s.relation.clone()),
        NodeEnum::RuleStmt(s) => {
            names.extend(s.relation.clone());
            names.extend(s.actions.iter().filter_map(|action| action.node.as_ref()).flat_map(ranges));
        }
        NodeEnum::CreatePolicyStmt(s) => names.extend(s.table.clone()),
        NodeEnum::AlterPolicyStmt(s) => names.extend(s.table.clone()),
        NodeEnum::CreateStmt(s) => {
            names.extend(s.inh_relations.iter().chain(&s.table_elts).filter_map(|n| match &n.node {
                Some(NodeEnum::RangeVar(parent)) => Some(parent.clone()),
                Some(NodeEnum::TableLikeClause(like)) => like.relation.clone(),
                _ => None,
            }))
        }
        NodeEnum::VacuumStmt(s) => names.extend(s.rels.iter().filter_map(|n| match &n.node {
            Some(NodeEnum::VacuumRelation(r)) => r.relation.clone(),
            _ => None,
        })),
        _ => {}
    }
    names
}

/// Whether DDL has CASCADE: what depends on its objects is concerned, too.
pub(in crate::session) fn cascades(node: &NodeEnum) -> bool {
    let behavior = match node {
        NodeEnum::DropStmt(s) => s.behavior(),
        NodeEnum::DropOwnedStmt(s) => s.behavior(),
        NodeEnum::TruncateStmt(s) => s.behavior(),
        NodeEnum::RenameStmt(s) => s.behavior(),
        NodeEnum::AlterDomainStmt(s) => s.behavior(),
        NodeEnum::AlterTableStmt(s) => return s.cmds.iter().any(
            |c| matches!(&c.node, Some(NodeEnum::AlterTableCmd(c)) if c.behavior() == ast::DropBehavior::DropCascade),
        ),
        _ => return false,
    };
    behavior == ast::DropBehavior::DropCascade
}

impl SessionContext {
    /// The relations that a statement of DDL names.
    pub(in crate::session) fn named_by_ddl(&self, node: &NodeEnum) -> Vec<Oid> {
        names_in(node).iter().filter_map(|name| self.named_relation(name).ok()).map(|r| r.oid).collect()
    }

    /// The relations that a statement locks against writers or readers, as far as they follow from its nodes and the catalog.
    pub(in crate::session) fn locked_by_ddl(&self, node: &NodeEnum) -> Vec<Oid> {
        let catalog = self.catalog();
        let mut found = Found { context: self, catalog: &catalog, relations: BTreeSet::new() };
        match node {
            NodeEnum::AlterTableStmt(s) => found.alter_table(s),
            NodeEnum::RenameStmt(s) => found.named(s.relation.as_ref(), true),
            NodeEnum::AlterObjectSchemaStmt(s) => found.named(s.relation.as_ref(), false),
            NodeEnum::CreateStmt(s) => {
                if s.partbound.is_some() {
                    let parent = s.inh_relations.first().and_then(|n| match &n.node {
                        Some(NodeEnum::RangeVar(parent)) => Some(parent),
                        _ => None,
                    });
                    found.default_of(parent);
                }
                found.parents(s.table_elts.iter().chain(&s.constraints));
            }
            NodeEnum::CreateTrigStmt(s) => found.named(s.relation.as_ref(), true),
            NodeEnum::IndexStmt(s) if !s.concurrent => found.named(s.relation.as_ref(), true),
            NodeEnum::RuleStmt(s) => found.named(s.relation.as_ref(), false),
            NodeEnum::CreatePolicyStmt(s) => found.named(s.table.as_ref(), false),
            NodeEnum::AlterPolicyStmt(s) => found.named(s.table.as_ref(), false),
            NodeEnum::TruncateStmt(s) => {
                for relation in &s.relations {
                    if let Some(NodeEnum::RangeVar(name)) = &relation.node {
                        found.named(Some(name), name.inh);
                    }
                }
                if s.behavior() == ast::DropBehavior::DropCascade {
                    found.with_referencing(true);
                }
            }
            NodeEnum::DropStmt(s) => found.drop_objects(s),
            NodeEnum::AlterDomainStmt(s) => {
                let name = ast::TypeName { names: s.type_name.clone(), ..Default::default() };
                let view = self.view();
                if let Ok((oid, _)) = self.with_environment(&view, |e| resolve_type_name(e, &name)) {
                    found.of_type(oid);
                }
            }
            _ => {}
        }
        let is_shared = |oid: &Oid| catalog.relation(*oid).is_some_and(|r| !r.temporary);
        found.relations.into_iter().filter(is_shared).collect()
    }
}
