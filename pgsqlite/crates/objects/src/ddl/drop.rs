//! DROP, with what depends on the dropped objects; TRUNCATE.

use super::{strings, Ddl, NodeEnum};
use pgsqlite_metadata::store;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::{Names, Reference};
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::ast;
use pgsqlite_sql::routine::{Event, Timing};
use pgsqlite_types::error::Severity;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Something that can be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Object {
    Relation(Oid),
    Type(Oid),
    Schema(Oid),
    /// (table, constraint)
    Constraint(Oid, Oid),
    /// (table, attnum)
    Default(Oid, i16),
    Column(Oid, i16),
    Function(Oid),
    /// (table, trigger)
    Trigger(Oid, Oid),
    /// (table, policy)
    Policy(Oid, Oid),
    /// (relation, rule)
    Rule(Oid, Oid),
    Operator(Oid),
    /// (table, statistics object)
    Statistics(Oid, Oid),
    /// from one type to another
    Cast(Oid, Oid),
    /// (composite type, field from 0)
    Attribute(Oid, usize),
    /// (domain, constraint)
    DomainConstraint(Oid, Oid),
    Collation(Oid),
    TextSearchConfiguration(Oid),
    TextSearchDictionary(Oid),
}

impl Object {
    /// PostgreSQL tells of dependents in the order of their OIDs: (OID; what of it; number in it).
    fn place(self) -> (Oid, u8, i32) {
        match self {
            Object::Relation(oid)
            | Object::Type(oid)
            | Object::Schema(oid)
            | Object::Function(oid)
            | Object::Operator(oid)
            | Object::Constraint(_, oid)
            | Object::Trigger(_, oid)
            | Object::Policy(_, oid)
            | Object::Rule(_, oid)
            | Object::Cast(_, oid)
            | Object::Statistics(_, oid)
            | Object::DomainConstraint(_, oid)
            | Object::Collation(oid)
            | Object::TextSearchConfiguration(oid)
            | Object::TextSearchDictionary(oid) => (oid, 0, 0),
            Object::Column(table, attnum) => (table, 1, i32::from(attnum)),
            Object::Attribute(ty, index) => (ty, 1, index as i32),
            // (made after the table, before its constraints)
            Object::Default(table, attnum) => (table, 2, i32::from(attnum)),
        }
    }
}

pub(super) fn kind_word(kind: &RelationKind) -> &'static str {
    match kind {
        RelationKind::Table | RelationKind::System => "table",
        RelationKind::View { .. } | RelationKind::ForeignView => "view",
        RelationKind::MaterializedView { .. } => "materialized view",
        RelationKind::Index(_) => "index",
        RelationKind::Sequence(_) => "sequence",
    }
}

impl Ddl<'_> {
    /// The object as messages name it.
    pub(super) fn describe(&self, object: Object) -> String {
        let names = Names::new(&self.catalog, self.environment.search_path);
        let column = |table: Oid, attnum: i16| {
            self.catalog
                .relation(table)
                .and_then(|r| r.column_by_attnum(attnum))
                .map(|c| c.name.clone())
                .unwrap_or_default()
        };
        let shown = |schema: Oid, name: &str| {
            let name = pgsqlite_sql::deparse::quote_identifier(name);
            match self.environment.search_path.contains(&schema) {
                true => name.to_string(),
                false => {
                    let schema = self.catalog.schema_name(schema);
                    format!("{}.{name}", pgsqlite_sql::deparse::quote_identifier(schema))
                }
            }
        };
        match object {
            Object::Relation(oid) => {
                let word = self.catalog.relation(oid).map_or("table", |r| kind_word(&r.kind));
                format!("{word} {}", names.relation(oid))
            }
            Object::Type(oid) => format!("type {}", names.type_name(oid, -1)),
            Object::Schema(oid) => format!("schema {}", self.catalog.schema_name(oid)),
            Object::Constraint(table, constraint) => {
                let name = self
                    .catalog
                    .relation(table)
                    .and_then(|r| r.constraints.iter().find(|c| c.oid == constraint))
                    .map_or("", |c| c.name.as_str());
                format!("constraint {name} on table {}", names.relation(table))
            }
            Object::Default(table, attnum) => {
                format!("default value for column {} of table {}", column(table, attnum), names.relation(table))
            }
            Object::Function(oid) => match self.catalog.function(oid) {
                Some(f) if f.procedure => format!("procedure {}", self.signature_of(f)),
                Some(f) => format!("function {}", self.signature_of(f)),
                None => "function".into(),
            },
            Object::Operator(oid) => match names.operator_signature(oid) {
                Some(signature) => format!("operator {signature}"),
                None => "operator".into(),
            },
            Object::Statistics(table, oid) => {
                let relation = self.catalog.relation(table);
                let found = relation.and_then(|r| r.statistics.iter().find(|s| s.oid == oid));
                found
                    .map_or("statistics object".into(), |s| format!("statistics object {}", names.statistics_object(s)))
            }
            Object::Cast(from, to) => {
                format!("cast from {} to {}", names.type_name(from, -1), names.type_name(to, -1))
            }
            Object::Trigger(table, trigger) => {
                let relation = self.catalog.relation(table);
                let name = relation.and_then(|r| r.triggers.iter().find(|t| t.oid == trigger)).map_or("", |t| &t.name);
                let word = relation.map_or("table", |r| kind_word(&r.kind));
                format!("trigger {name} on {word} {}", names.relation(table))
            }
            Object::Column(table, attnum) => {
                format!("column {} of table {}", column(table, attnum), names.relation(table))
            }
            Object::Policy(table, policy) => {
                let relation = self.catalog.relation(table);
                let policy = relation.and_then(|r| r.security.policies.iter().find(|p| p.oid == policy));
                format!("policy {} on table {}", policy.map_or("", |p| &p.name), names.relation(table))
            }
            Object::Rule(table, rule) => {
                let relation = self.catalog.relation(table);
                let name = relation.and_then(|r| r.rules.iter().find(|own| own.oid == rule)).map_or("", |r| &r.name);
                let word = relation.map_or("table", |r| kind_word(&r.kind));
                format!("rule {name} on {word} {}", names.relation(table))
            }
            Object::Collation(oid) => {
                let found = self.catalog.collations.get(&oid);
                format!("collation {}", found.map_or(String::new(), |c| shown(c.schema, &c.name)))
            }
            Object::TextSearchConfiguration(oid) => {
                let found = self.catalog.ts_configurations.get(&oid);
                format!("text search configuration {}", found.map_or(String::new(), |c| shown(c.schema, &c.name)))
            }
            Object::TextSearchDictionary(oid) => {
                let found = self.catalog.ts_dictionaries.get(&oid);
                format!("text search dictionary {}", found.map_or(String::new(), |d| shown(d.schema, &d.name)))
            }
            Object::DomainConstraint(ty, constraint) => {
                let check = match self.catalog.types.get(&ty).map(|t| &t.kind) {
                    Some(UserTypeKind::Domain { checks, .. }) => checks.iter().find(|c| c.oid == constraint),
                    _ => None,
                };
                format!("constraint {}", check.map_or("", |c| &c.name))
            }
            Object::Attribute(ty, index) => {
                let fields = self.catalog.composite_fields(ty).unwrap_or_default();
                let field = fields.get(index).map_or("", |f| f.0.as_str());
                format!("column {field} of composite type {}", names.type_name(ty, -1))
            }
        }
    }

    /// What views and policies name.
    pub(super) fn stored_references(&self) -> Result<Vec<(Object, Vec<Reference>)>> {
        let mut out: Vec<(Object, Vec<Reference>)> =
            self.view_references()?.into_iter().map(|(view, found)| (Object::Relation(view), found)).collect();
        // views stay as they are named
        let unexpanded = pgsqlite_sql::deparse::definitions::unexpanded(&self.catalog);
        for table in self.catalog.relations.values() {
            work::visit();
            for policy in &table.security.policies {
                work::visit();
                let mut found = Vec::new();
                for text in policy.using.iter().chain(&policy.check) {
                    work::visit();
                    let expr = self.analyze_stored_over(&unexpanded, |e| {
                        pgsqlite_sql::analyze::analyze_policy_text(e, text, table)
                    })?;
                    found.extend(pgsqlite_sql::deparse::policy_references(&expr, table));
                }
                out.push((Object::Policy(table.oid, policy.oid), found));
            }
            let mut trees = self.rule_trees(&unexpanded, table)?;
            trees.sort_by_key(|(rule, _)| *rule);
            for (rule, tree) in trees {
                work::visit();
                out.push((Object::Rule(table.oid, rule), pgsqlite_sql::deparse::rule_references(&tree, table)));
            }
        }
        Ok(out)
    }

    /// What depends on `object`: (dependent, goes without being asked for).
    fn dependents(&self, object: Object, stored: &[(Object, Vec<Reference>)]) -> Result<Vec<(Object, bool)>> {
        let mut out: Vec<(Object, bool)> = Vec::new();
        let by_view = |test: &dyn Fn(&Reference) -> bool, out: &mut Vec<(Object, bool)>| {
            for (dependent, references) in stored {
                work::visit();
                if references.iter().any(test) {
                    out.push((*dependent, false));
                }
            }
        };
        match object {
            Object::Relation(oid) => {
                let Some(relation) = self.catalog.relation(oid) else { return Ok(out) };
                // children; what partitions have goes with their table
                for child in self.catalog.children(oid) {
                    work::visit();
                    let part = self
                        .catalog
                        .relation(*child)
                        .is_some_and(|r| r.kind != RelationKind::Table || r.is_partition());
                    out.push((Object::Relation(*child), part));
                }
                out.extend(self.catalog.detaching(oid).map(|part| (Object::Relation(part.oid), true)));
                match &relation.kind {
                    RelationKind::Sequence(_) => {
                        for table in self.catalog.relations.values().filter(|r| r.kind == RelationKind::Table) {
                            work::visit();
                            for column in table.live_columns() {
                                work::visit();
                                if column.default.as_deref().is_some_and(|d| self.names_relation(d, oid)) {
                                    out.push((Object::Default(table.oid, column.attnum), false));
                                }
                            }
                        }
                    }
                    RelationKind::Table | RelationKind::MaterializedView { .. } => {
                        for (index, _) in self.catalog.indexes_of(oid) {
                            work::visit();
                            out.push((Object::Relation(index.oid), true));
                        }
                        for sequence in self.catalog.relations.values() {
                            work::visit();
                            if let RelationKind::Sequence(s) = &sequence.kind {
                                if s.owned_by.is_some_and(|o| o.0 == oid) {
                                    out.push((Object::Relation(sequence.oid), true));
                                }
                            }
                        }
                        for (child, constraint) in self.catalog.referencing(oid) {
                            work::visit();
                            // (that of a partition stands for the key as a whole)
                            let mut whole = constraint;
                            while let Some(above) = child.constraints.iter().find(|c| c.oid == whole.inherited.parent) {
                                work::visit();
                                whole = above;
                            }
                            if child.oid != oid {
                                out.push((Object::Constraint(child.oid, whole.oid), false));
                            }
                        }
                    }
                    _ => {}
                }
                if relation.row_type != 0 {
                    out.push((Object::Type(relation.row_type), true));
                }
                by_view(&|r| r.class == super::schema::CLASS_RELATION && r.object == oid, &mut out);
            }
            Object::Column(table, attnum) => {
                let Some(relation) = self.catalog.relation(table) else { return Ok(out) };
                by_view(
                    &|r| r.class == super::schema::CLASS_RELATION && r.object == table && r.sub == i32::from(attnum),
                    &mut out,
                );
                for constraint in self.constraints_of_column(relation, attnum) {
                    work::visit();
                    out.push((Object::Constraint(table, constraint), true));
                }
                for constraint in self.exclusions_over(relation, attnum)? {
                    work::visit();
                    if !out.iter().any(|(o, _)| *o == Object::Constraint(table, constraint)) {
                        out.push((Object::Constraint(table, constraint), false));
                    }
                }
                for (child, constraint) in self.catalog.referencing(table) {
                    work::visit();
                    if let ConstraintKind::ForeignKey { columns, .. } = &constraint.kind {
                        if columns.contains(&attnum) {
                            out.push((Object::Constraint(child.oid, constraint.oid), child.oid == table));
                        }
                    }
                }
                if relation.column_by_attnum(attnum).is_some_and(|c| c.default.is_some()) {
                    out.push((Object::Default(table, attnum), true));
                }
                let name = relation.column_by_attnum(attnum).map_or("", |c| c.name.as_str());
                for trigger in &relation.triggers {
                    work::visit();
                    let condition = trigger.condition.as_deref().unwrap_or("");
                    let names = [format!("new.{name}"), format!("old.{name}")];
                    if trigger.columns.contains(&attnum) || names.iter().any(|n| condition.contains(n)) {
                        out.push((Object::Trigger(table, trigger.oid), false));
                    }
                }
                for object in &relation.statistics {
                    work::visit();
                    let mut uses = object.columns.contains(&attnum);
                    for text in &object.expressions {
                        work::visit();
                        uses |= self.expression_columns(text, relation)?.contains(&attnum);
                    }
                    if uses {
                        out.push((Object::Statistics(table, object.oid), true));
                    }
                }
                for column in relation.live_columns().filter(|c| c.attnum != attnum) {
                    work::visit();
                    if let Some(text) = &column.generated {
                        if self.expression_columns(text, relation)?.contains(&attnum) {
                            out.push((Object::Column(table, column.attnum), false));
                        }
                    }
                }
            }
            Object::Constraint(table, constraint) => {
                let Some(relation) = self.catalog.relation(table) else { return Ok(out) };
                let Some(c) = relation.constraints.iter().find(|c| c.oid == constraint) else { return Ok(out) };
                for child in self.catalog.children(table) {
                    work::visit();
                    let of_child = self.catalog.relation(*child).map_or(&[][..], |r| &r.constraints[..]);
                    let parts = of_child.iter().filter(|own| own.inherited.parent == constraint);
                    out.extend(parts.map(|own| (Object::Constraint(*child, own.oid), true)));
                }
                for part in relation.constraints.iter().filter(|p| p.inherited.parent == constraint) {
                    work::visit();
                    out.push((Object::Constraint(table, part.oid), true));
                }
                // GROUP BY a primary key
                by_view(&|r| r.class == super::schema::CLASS_CONSTRAINT && r.object == constraint, &mut out);
                if c.index != 0 && !matches!(c.kind, ConstraintKind::ForeignKey { .. }) {
                    // (a foreign key depends on the index, which goes with its constraint)
                    for child in self.catalog.relations.values() {
                        work::visit();
                        for f in &child.constraints {
                            work::visit();
                            if f.index == c.index && matches!(f.kind, ConstraintKind::ForeignKey { .. }) {
                                out.push((Object::Constraint(child.oid, f.oid), false));
                            }
                        }
                    }
                }
            }
            Object::Type(ty) => {
                let mut array = 0;
                let mut own = 0;
                if let Some(t) = self.catalog.types.get(&ty) {
                    // the array type goes with its element type
                    array = t.array_oid;
                    out.push((Object::Type(array), true));
                    if let UserTypeKind::Range(range) = &t.kind {
                        out.push((Object::Type(range.multirange), true));
                        for (constructor, _) in range.constructors() {
                            work::visit();
                            by_view(&|r| r.class == super::schema::CLASS_FUNCTION && r.object == constructor, &mut out);
                            self.uses_of_function(constructor, &mut out)?;
                        }
                    }
                } else if let Some(TypeEntry::Row(relation)) = self.catalog.type_entry(ty) {
                    (array, own) = (relation.array_type, relation.oid);
                    out.push((Object::Type(array), true));
                }
                self.uses_of_type(ty, ty, own, &mut out);
                if array != 0 {
                    let written = format!("::{}", Names::stored(&self.catalog).type_name(ty, -1));
                    self.uses_in_tables(super::schema::CLASS_TYPE, &[ty, array], &written, &mut out)?;
                    by_view(
                        &|r| r.class == super::schema::CLASS_TYPE && (r.object == ty || r.object == array),
                        &mut out,
                    );
                }
            }
            Object::Schema(schema) => {
                for relation in self.catalog.relations.values().filter(|r| r.schema == schema) {
                    work::visit();
                    let owned = match &relation.kind {
                        RelationKind::Index(_) => true,
                        RelationKind::Sequence(s) => s.owned_by.is_some(),
                        _ => false,
                    };
                    if !owned {
                        out.push((Object::Relation(relation.oid), false));
                    }
                }
                out.extend(
                    self.catalog
                        .routines
                        .values()
                        .filter(|r| r.function.schema == schema)
                        .map(|r| (Object::Function(r.function.oid), false)),
                );
                // (a multirange type goes with its range type)
                let own = |t: &UserType| {
                    t.schema == schema
                        && !matches!(t.kind, UserTypeKind::Multirange { range }
                            if self.catalog.types.get(&range).is_some_and(|r| r.schema == schema))
                };
                let operators = self.catalog.operators.values().filter(|o| o.definition.schema == schema);
                out.extend(operators.map(|o| (Object::Operator(o.definition.oid), false)));
                let statistics = self.catalog.statistics().filter(|(_, s)| s.schema == schema);
                out.extend(statistics.map(|(table, s)| (Object::Statistics(table.oid, s.oid), table.schema == schema)));
                let types = self.catalog.types.values().filter(|t| own(t));
                out.extend(types.map(|t| (Object::Type(t.oid), false)));
                let collations = self.catalog.collations.values().filter(|c| c.schema == schema);
                out.extend(collations.map(|c| (Object::Collation(c.oid), false)));
                let configurations = self.catalog.ts_configurations.values().filter(|c| c.schema == schema);
                out.extend(configurations.map(|c| (Object::TextSearchConfiguration(c.oid), false)));
                let dictionaries = self.catalog.ts_dictionaries.values().filter(|d| d.schema == schema);
                out.extend(dictionaries.map(|d| (Object::TextSearchDictionary(d.oid), false)));
            }
            Object::Trigger(table, trigger) => {
                for child in self.catalog.children(table) {
                    work::visit();
                    let of_child = self.catalog.relation(*child).map_or(&[][..], |r| &r.triggers[..]);
                    let parts = of_child.iter().filter(|own| own.parent == trigger);
                    out.extend(parts.map(|own| (Object::Trigger(*child, own.oid), true)));
                }
            }
            Object::Operator(operator) => {
                by_view(&|r| r.class == super::schema::CLASS_OPERATOR && r.object == operator, &mut out);
                if let Some(o) = self.catalog.operators.get(&operator) {
                    self.uses_in_tables(super::schema::CLASS_OPERATOR, &[operator], &o.definition.name, &mut out)?;
                }
            }
            Object::Default(..)
            | Object::Policy(..)
            | Object::Rule(..)
            | Object::Attribute(..)
            | Object::Statistics(..)
            | Object::Cast(..)
            | Object::DomainConstraint(..)
            | Object::Collation(..)
            | Object::TextSearchConfiguration(..) => {}
            Object::TextSearchDictionary(dictionary) => {
                let users = self.catalog.ts_configurations.values();
                let users = users.filter(|c| c.mappings.iter().any(|(_, list)| list.contains(&dictionary)));
                out.extend(users.map(|c| (Object::TextSearchConfiguration(c.oid), false)));
            }
            Object::Function(function) => {
                by_view(&|r| r.class == super::schema::CLASS_FUNCTION && r.object == function, &mut out);
                self.uses_of_function(function, &mut out)?;
            }
        }
        Ok(out)
    }

    /// A stored default that names the relation in a regclass constant.
    fn names_relation(&self, text: &str, relation: Oid) -> bool {
        let literal = pgsqlite_sql::deparse::quote_literal(&Names::stored(&self.catalog).relation(relation));
        text.contains(&format!("{literal}::regclass"))
    }

    pub(super) fn drop_statement(&mut self, statement: &ast::DropStmt) -> Result<String> {
        if statement.remove_type() == ast::ObjectType::ObjectPolicy {
            return self.drop_policy(statement);
        }
        if let Some(tag) = self.drop_functions(statement)? {
            return Ok(tag);
        }
        if let Some(tag) = self.drop_operators(statement)? {
            return Ok(tag);
        }
        if let Some(tag) = self.drop_extensions(statement)? {
            return Ok(tag);
        }
        if let Some(tag) = self.drop_ts_objects(statement)? {
            return Ok(tag);
        }
        if let Some(tag) = self.drop_statistics(statement)? {
            return Ok(tag);
        }
        if let Some(tag) = self.drop_collations(statement)? {
            return Ok(tag);
        }
        if let Some(tag) = self.drop_trigger(statement)? {
            return Ok(tag);
        }
        if let Some(tag) = self.drop_rule(statement)? {
            return Ok(tag);
        }
        if let Some(tag) = self.drop_absent(statement)? {
            return Ok(tag);
        }
        let kind = statement.remove_type();
        let tag = match kind {
            ast::ObjectType::ObjectTable => "DROP TABLE",
            ast::ObjectType::ObjectView => "DROP VIEW",
            ast::ObjectType::ObjectMatview => "DROP MATERIALIZED VIEW",
            ast::ObjectType::ObjectIndex => "DROP INDEX",
            ast::ObjectType::ObjectSequence => "DROP SEQUENCE",
            ast::ObjectType::ObjectType => "DROP TYPE",
            ast::ObjectType::ObjectDomain => "DROP DOMAIN",
            ast::ObjectType::ObjectSchema => "DROP SCHEMA",
            ast::ObjectType::ObjectExtension => "DROP EXTENSION",
            other => {
                let word = other.as_str_name().trim_start_matches("OBJECT_").replace('_', " ");
                return Err(PgError::not_supported(format!("DROP {word}")));
            }
        };
        let mut targets: Vec<Object> = Vec::new();
        for node in &statement.objects {
            work::visit();
            match self.drop_target(kind, node)? {
                Ok(object) => {
                    self.check_may_drop(object)?;
                    if !targets.contains(&object) {
                        targets.push(object);
                    }
                }
                Err(missing) if statement.missing_ok => {
                    let message = format!("{}, skipping", missing.message());
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                }
                Err(missing) => return Err(missing),
            }
        }
        if statement.concurrent {
            for target in &targets {
                work::visit();
                let Object::Relation(oid) = target else { continue };
                let index = self.required(*oid)?;
                let RelationKind::Index(of) = &index.kind else { continue };
                if self.required(of.table)?.is_partitioned() {
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        format!("cannot drop partitioned index \"{}\" concurrently", index.name),
                    ));
                }
            }
        }
        let cascade = statement.behavior() == ast::DropBehavior::DropCascade;
        self.drop_objects(&targets, cascade)?;
        Ok(tag.into())
    }

    /// 42501 unless the session's role owns the object or its schema.
    fn check_may_drop(&self, object: Object) -> Result<()> {
        let (word, name, owner, schema) = match object {
            Object::Relation(oid) => {
                let r = self.required(oid)?;
                (kind_word(&r.kind), r.name.clone(), r.owner, r.schema)
            }
            Object::Type(oid) => {
                let t = &self.catalog.types[&oid];
                ("type", t.name.clone(), t.owner, t.schema)
            }
            Object::Schema(oid) => {
                let s = &self.catalog.schemas[&oid];
                ("schema", s.name.clone(), s.owner, oid)
            }
            _ => return Ok(()),
        };
        let of_schema = self.catalog.schemas.get(&schema).map_or(owner, |s| s.owner);
        if pgsqlite_sql::acl::owns(&self.catalog, self.environment.user, of_schema) {
            return Ok(());
        }
        self.check_owned(word, &name, owner)
    }

    /// The element type of the array type of this name, if it came with a type of the user.
    fn element_of_named_array(&self, parts: &[&str]) -> Result<Option<Oid>> {
        let (schema, name) = self.qualified(parts)?;
        let found = match schema {
            "" => self.environment.search_path.iter().find_map(|&s| self.catalog.type_in(s, name)),
            schema => self.catalog.schema_oid(schema).and_then(|s| self.catalog.type_in(s, name)),
        };
        Ok(match found.and_then(|oid| self.catalog.type_entry(oid)) {
            Some(TypeEntry::ArrayOf(element)) => Some(element),
            _ => None,
        })
    }

    /// The object a name in DROP means; the inner error: it does not exist.
    fn drop_target(&self, kind: ast::ObjectType, node: &ast::Node) -> Result<Result<Object>> {
        let parts: Vec<&str> = match &node.node {
            Some(NodeEnum::List(list)) => strings(&list.items),
            Some(NodeEnum::String(s)) => vec![s.sval.as_str()],
            Some(NodeEnum::TypeName(t)) => strings(&t.names),
            _ => return Err(PgError::not_supported("this name in DROP")),
        };
        let parts = self.without_database(parts);
        let shown = parts.join(".");
        let missing =
            |code: SqlState, word: &str| Ok(Err(PgError::new(code, format!("{word} \"{shown}\" does not exist"))));
        let word = match kind {
            ast::ObjectType::ObjectSchema => {
                return match self.catalog.schema_oid(&shown) {
                    Some(oid) if oid < oid::FIRST_USER_OID && oid != PUBLIC => Err(PgError::new(
                        SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                        format!("cannot drop schema {shown} because it is required by the database system"),
                    )),
                    Some(oid) => Ok(Ok(Object::Schema(oid))),
                    None => missing(SqlState::UNDEFINED_SCHEMA, "schema"),
                }
            }
            ast::ObjectType::ObjectType | ast::ObjectType::ObjectDomain => {
                return match self.find_type(&parts) {
                    Ok(t) => {
                        let domain = matches!(t.kind, UserTypeKind::Domain { .. });
                        if kind == ast::ObjectType::ObjectDomain && !domain {
                            return Err(PgError::new(
                                SqlState::WRONG_OBJECT_TYPE,
                                format!("\"{shown}\" is not a domain"),
                            ));
                        }
                        Ok(Ok(Object::Type(t.oid)))
                    }
                    Err(_) => {
                        if let Some(element) = self.element_of_named_array(&parts)? {
                            let element = self.display_type(element);
                            return Err(PgError::new(
                                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                                format!("cannot drop type {element}[] because type {element} requires it"),
                            )
                            .hint(format!("You can drop type {element} instead.")));
                        }
                        let builtin = pgsqlite_types::catalog::by_name(parts[parts.len() - 1]);
                        if builtin.is_some() && parts.len() == 1 {
                            return Err(PgError::new(
                                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                                format!("cannot drop type {shown} because it is required by the database system"),
                            ));
                        }
                        missing(SqlState::UNDEFINED_OBJECT, "type")
                    }
                }
            }
            ast::ObjectType::ObjectExtension => return missing(SqlState::UNDEFINED_OBJECT, "extension"),
            ast::ObjectType::ObjectView => "view",
            ast::ObjectType::ObjectMatview => "materialized view",
            ast::ObjectType::ObjectIndex => "index",
            ast::ObjectType::ObjectSequence => "sequence",
            _ => "table",
        };
        let parts = match &parts[..] {
            [database, rest @ ..] if rest.len() == 2 && self.catalog.is_database(database) => rest,
            all => all,
        };
        let (schema, name) = self.qualified(parts)?;
        if !schema.is_empty() && self.catalog.schema_oid(schema).is_none() {
            return Ok(Err(PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{schema}\" does not exist"))));
        }
        let Some(relation) = self.find_relation(schema, name) else {
            let code = if word == "index" { SqlState::UNDEFINED_OBJECT } else { SqlState::UNDEFINED_TABLE };
            // (without the schema, unlike types)
            return Ok(Err(PgError::new(code, format!("{word} \"{name}\" does not exist"))));
        };
        self.check_not_system(&relation)?;
        if kind_word(&relation.kind) != word {
            let (article, own, command) = match kind_word(&relation.kind) {
                "view" => ("a", "view", "DROP VIEW"),
                "materialized view" => ("a", "materialized view", "DROP MATERIALIZED VIEW"),
                "index" => ("an", "index", "DROP INDEX"),
                "sequence" => ("a", "sequence", "DROP SEQUENCE"),
                _ => ("a", "table", "DROP TABLE"),
            };
            let wanted_article = if word == "index" { "an" } else { "a" };
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{}\" is not {wanted_article} {word}", relation.name),
            )
            .hint(format!("Use {command} to remove {article} {own}.")));
        }
        Ok(Ok(Object::Relation(relation.oid)))
    }

    /// Drops the objects and (with CASCADE) all that depends on them. Errors: 2BP01 with the list of dependents.
    pub(super) fn drop_objects(&mut self, targets: &[Object], cascade: bool) -> Result<()> {
        let mut stored = self.stored_references()?;
        stored.extend(self.further_references());
        for &target in targets {
            work::visit();
            if let Object::Trigger(table, oid) = target {
                let parent = self.catalog.trigger(oid).map_or(0, |(_, t)| t.parent);
                let above = self.catalog.trigger(parent).map(|(r, t)| Object::Trigger(r.oid, t.oid));
                if let Some(above) = above.filter(|a| !targets.contains(a)) {
                    let (own, required) = (self.describe(Object::Trigger(table, oid)), self.describe(above));
                    let message = format!("cannot drop {own} because {required} requires it");
                    return Err(PgError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                        .hint(format!("You can drop {required} instead.")));
                }
            }
            if let Object::Relation(oid) = target {
                let parent = self.catalog.relation(oid).filter(|r| matches!(r.kind, RelationKind::Index(_)));
                let parent = parent.and_then(|r| r.inheritance.parents.first().copied()).map(Object::Relation);
                if let Some(parent) = parent.filter(|p| !targets.contains(p)) {
                    let (own, required) = (self.describe(target), self.describe(parent));
                    let message = format!("cannot drop {own} because {required} requires it");
                    return Err(PgError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                        .hint(format!("You can drop {required} instead.")));
                }
                let owner = self.catalog.relations.values().find_map(|r| {
                    r.constraints
                        .iter()
                        .find(|c| c.index == oid && !matches!(c.kind, ConstraintKind::ForeignKey { .. }))
                        .map(|c| Object::Constraint(r.oid, c.oid))
                });
                if let Some(constraint) = owner {
                    if !targets.contains(&constraint) {
                        let described = self.describe(constraint);
                        return Err(PgError::new(
                            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                            format!("cannot drop {} because {described} requires it", self.describe(target)),
                        )
                        .hint(format!("You can drop {described} instead.")));
                    }
                }
                if let Some(RelationKind::Sequence(s)) = self.catalog.relation(oid).map(|r| &r.kind) {
                    if let (Some((table, attnum)), true) = (s.owned_by, s.identity) {
                        if !targets.contains(&Object::Relation(table)) {
                            let described = self.describe(Object::Column(table, attnum));
                            return Err(PgError::new(
                                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                                format!("cannot drop {} because {described} requires it", self.describe(target)),
                            )
                            .hint(format!("You can drop {described} instead.")));
                        }
                    }
                }
            }
        }
        for &target in targets {
            work::visit();
            let Object::Type(ty) = target else { continue };
            let Some(UserTypeKind::Multirange { range }) = self.catalog.types.get(&ty).map(|t| &t.kind) else {
                continue;
            };
            if !targets.contains(&Object::Type(*range)) {
                let described = self.describe(Object::Type(*range));
                return Err(PgError::new(
                    SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                    format!("cannot drop {} because {described} requires it", self.describe(target)),
                )
                .hint(format!("You can drop {described} instead.")));
            }
        }
        let mut all: Vec<Object> = targets.to_vec();
        let mut seen: BTreeSet<Object> = targets.iter().copied().collect();
        let mut reported: Vec<(Object, Object)> = Vec::new();
        // what goes with something else that goes, as the parts of a dropped table do, is not told of
        let inside = |object: Object, seen: &BTreeSet<Object>| match object {
            Object::Constraint(table, _)
            | Object::Default(table, _)
            | Object::Column(table, _)
            | Object::Policy(table, _)
            | Object::Rule(table, _)
            | Object::Trigger(table, _) => seen.contains(&Object::Relation(table)),
            Object::DomainConstraint(ty, _) => seen.contains(&Object::Type(ty)),
            _ => false,
        };
        let mut silent: BTreeSet<Object> = BTreeSet::new();
        // as PostgreSQL tells it, in the reverse order of finding: the last of the dependents first, each after all that depends on
        // it; each with what it goes because of
        let mut open: Vec<(Object, Option<(Object, bool)>, bool)> =
            targets.iter().rev().map(|&t| (t, None, false)).collect();
        while let Some((object, because, seen_through)) = open.pop() {
            work::visit();
            if seen_through {
                if let Some((on, false)) = because {
                    reported.push((object, on));
                }
                continue;
            }
            if let Some((on, automatic)) = because {
                if inside(object, &seen) || !seen.insert(object) {
                    continue;
                }
                all.push(object);
                open.push((object, Some((on, automatic)), true));
            }
            let mut dependents = self.dependents(object, &stored)?;
            dependents.sort_by_key(|(d, _)| d.place());
            silent.extend(dependents.iter().filter(|(_, automatic)| *automatic).map(|(d, _)| *d));
            open.extend(dependents.into_iter().map(|(d, automatic)| (d, Some((object, automatic)), false)));
        }
        reported.retain(|(o, _)| !silent.contains(o) && !inside(*o, &seen));
        reported.reverse();
        if !reported.is_empty() {
            if !cascade {
                let message = match targets {
                    [one] => format!("cannot drop {} because other objects depend on it", self.describe(*one)),
                    _ => "cannot drop desired object(s) because other objects depend on them".into(),
                };
                let detail: Vec<String> = reported
                    .iter()
                    .map(|(d, on)| {
                        // what a foreign key depends on is the index behind the key
                        let on = match (d, on) {
                            (Object::Constraint(..), Object::Constraint(table, key)) => self
                                .catalog
                                .relation(*table)
                                .and_then(|r| r.constraints.iter().find(|c| c.oid == *key && c.index != 0))
                                .map_or(*on, |c| Object::Relation(c.index)),
                            _ => *on,
                        };
                        format!("{} depends on {}", self.describe(*d), self.describe(on))
                    })
                    .collect();
                return Err(PgError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                    .detail(detail.join("\n"))
                    .hint("Use DROP ... CASCADE to drop the dependent objects too."));
            }
            let lines: Vec<String> =
                reported.iter().map(|(d, _)| format!("drop cascades to {}", self.describe(*d))).collect();
            match &lines[..] {
                [one] => self.notice(SqlState::SUCCESSFUL_COMPLETION, one.clone()),
                several => {
                    let notice = PgError::new(
                        SqlState::SUCCESSFUL_COMPLETION,
                        format!("drop cascades to {} other objects", several.len()),
                    )
                    .severity(Severity::Notice)
                    .detail(several.join("\n"));
                    self.notices.push(notice);
                }
            }
        }
        self.remove(&all)
    }

    /// Removes objects from the catalog, the store and SQLite.
    fn remove(&mut self, all: &[Object]) -> Result<()> {
        if !self.session.private {
            self.ensure_store()?;
        }
        self.changed = true;
        let mut attributes = Vec::new();
        let tables: Vec<Oid> = all
            .iter()
            .filter_map(|o| match o {
                Object::Relation(oid) => Some(*oid),
                _ => None,
            })
            .filter(|oid| self.catalog.relation(*oid).is_some_and(|r| r.is_stored()))
            .collect();
        // Parts of tables that stay.
        for &object in all {
            work::visit();
            match object {
                Object::Constraint(table, constraint) if !tables.contains(&table) => {
                    self.remove_constraint(table, constraint)?
                }
                Object::Default(table, attnum) if !tables.contains(&table) => {
                    let mut relation = (**self.required(table)?).clone();
                    for column in relation.columns.iter_mut().filter(|c| c.attnum == attnum) {
                        work::visit();
                        column.default = None;
                    }
                    self.put_relation(relation)?;
                }
                Object::Column(table, attnum) if !tables.contains(&table) => self.remove_column(table, attnum)?,
                Object::Trigger(table, trigger) if !tables.contains(&table) => {
                    let mut relation = (**self.required(table)?).clone();
                    relation.triggers.retain(|t| t.oid != trigger);
                    self.put_relation(relation)?;
                    self.forget_comments(trigger);
                }
                Object::Statistics(table, oid) if !tables.contains(&table) => {
                    let mut relation = (**self.required(table)?).clone();
                    relation.statistics.retain(|s| s.oid != oid);
                    self.put_relation(relation)?;
                    self.forget_comments(oid);
                }
                Object::Policy(table, policy) if !tables.contains(&table) => {
                    let mut relation = (**self.required(table)?).clone();
                    relation.security.policies.retain(|p| p.oid != policy);
                    self.put_relation(relation)?;
                    self.forget_comments(policy);
                }
                Object::Rule(table, rule) if !all.contains(&Object::Relation(table)) => {
                    let mut relation = (**self.required(table)?).clone();
                    relation.rules.retain(|r| r.oid != rule);
                    self.put_relation(relation)?;
                    self.forget_comments(rule);
                }
                Object::DomainConstraint(ty, constraint) if !all.contains(&Object::Type(ty)) => {
                    self.remove_domain_constraint(ty, constraint)?
                }
                Object::Attribute(ty, at) if !all.contains(&Object::Type(ty)) => attributes.push((ty, at)),
                _ => {}
            }
        }
        // from behind: those before keep their numbers
        attributes.sort_unstable_by(|a, b| b.cmp(a));
        for (ty, at) in attributes {
            work::visit();
            self.remove_attribute(ty, at)?;
        }
        // Referencing tables go first, so that dropping the referenced one touches no row of theirs.
        let mut left = tables.clone();
        while !left.is_empty() {
            work::visit();
            let next = left.iter().position(|&t| {
                !self.catalog.referencing(t).any(|(child, c)| !c.managed && child.oid != t && left.contains(&child.oid))
            });
            let table = match next {
                Some(i) => left.remove(i),
                None => {
                    return Err(PgError::not_supported("dropping tables that reference each other in one statement"))
                }
            };
            self.remove_relation(table)?;
        }
        for &object in all {
            work::visit();
            match object {
                Object::Relation(oid) if self.catalog.relation(oid).is_some() => self.remove_relation(oid)?,
                Object::Operator(oid) => self.remove_operator(oid)?,
                Object::Cast(from, to) => self.remove_cast(from, to)?,
                Object::Function(oid) => {
                    self.catalog.remove_function(oid);
                    self.forget_object(oid)?;
                    self.forget_comments(oid);
                }
                Object::Type(oid) => {
                    self.catalog.remove_type(oid);
                    self.forget_object(oid)?;
                    self.forget_comments(oid);
                }
                _ => {}
            }
        }
        // these ask what is left whether it uses them; a dictionary is used by configurations only
        for &object in all {
            work::visit();
            match object {
                Object::Collation(oid) => {
                    if let Some(collation) = self.catalog.collations.get(&oid).cloned() {
                        self.remove_collation(&collation, true)?;
                    }
                }
                Object::TextSearchConfiguration(oid) => self.remove_ts_configuration(oid)?,
                _ => {}
            }
        }
        for &object in all {
            work::visit();
            if let Object::TextSearchDictionary(oid) = object {
                if let Some(dictionary) = self.catalog.ts_dictionaries.get(&oid).cloned() {
                    self.remove_ts_dictionary(&dictionary, true)?;
                }
            }
        }
        for &object in all {
            work::visit();
            if let Object::Schema(oid) = object {
                if let Some(extension) = self.catalog.extensions.values().find(|e| e.schema == oid) {
                    return Err(PgError::not_supported(format!(
                        "dropping the schema of extension \"{}\"",
                        extension.name
                    )));
                }
                if let Some(schema) = self.catalog.schemas.get(&oid).cloned() {
                    self.catalog.remove_schema(oid);
                    let mut properties = self.catalog.properties.clone();
                    properties.default_acls.retain(|d| d.schema != oid);
                    if properties != self.catalog.properties {
                        self.put_properties(properties)?;
                    }
                    self.forget_object(oid)?;
                    if oid < oid::FIRST_USER_OID {
                        store::write::put_dropped_schema(self.conn, &schema)?;
                    }
                    self.forget_comments(oid);
                }
            }
        }
        Ok(())
    }

    pub(super) fn required(&self, oid: Oid) -> Result<&std::sync::Arc<Relation>> {
        self.catalog.relation(oid).ok_or_else(|| PgError::internal(format!("relation {oid} is not there")))
    }

    pub(super) fn forget_comments(&mut self, object: Oid) {
        self.catalog.comments.retain(|key, _| key.1 != object);
    }

    /// Takes an object out of the store, which knows nothing of temporary ones.
    fn forget_object(&self, oid: Oid) -> Result<()> {
        match self.session.private {
            true => Ok(()),
            false => store::write::delete_object(self.conn, oid),
        }
    }

    /// One relation: from SQLite, the store and the catalog, with a table's indexes.
    fn remove_relation(&mut self, oid: Oid) -> Result<()> {
        let relation = self.required(oid)?.clone();
        let name = quoted(&relation.sqlite_name);
        let database = if relation.temporary { "temp" } else { "main" };
        match &relation.kind {
            RelationKind::Table | RelationKind::MaterializedView { .. } => {
                self.sqlite(&format!("DROP TABLE {database}.{name}"))?;
                let indexes: Vec<Oid> = self.catalog.indexes_of(oid).map(|(r, _)| r.oid).collect();
                for index in indexes {
                    work::visit();
                    self.catalog.remove_relation(index);
                    self.forget_object(index)?;
                    self.forget_comments(index);
                }
                for c in &relation.constraints {
                    work::visit();
                    self.forget_comments(c.oid);
                }
            }
            RelationKind::ForeignView => {
                // a virtual table, which is shown as a view, has more in the file than itself
                let kind = "SELECT type FROM main.sqlite_schema WHERE name = ?1";
                let kind: String =
                    self.conn.query_row(kind, [&relation.sqlite_name], |r| r.get(0)).map_err(store::sqlite_error)?;
                if kind != "view" {
                    return Err(PgError::not_supported("DROP of a virtual table"));
                }
                self.sqlite(&format!("DROP VIEW {database}.{name}"))?
            }
            RelationKind::Index(index)
                if !relation.sqlite_name.is_empty() && !relation.sqlite_name.starts_with("sqlite_autoindex_") =>
            {
                if index.inverted {
                    self.drop_terms(oid)?;
                }
                self.drop_nulls_index(oid)?;
                self.sqlite(&format!("DROP INDEX IF EXISTS {database}.{name}"))?
            }
            RelationKind::Sequence(_) => self.sequences.push(oid),
            _ => {}
        }
        self.catalog.remove_relation(oid);
        self.forget_object(oid)?;
        self.forget_comments(oid);
        Ok(())
    }

    pub(super) fn truncate(&mut self, statement: &ast::TruncateStmt) -> Result<String> {
        let mut tables: Vec<Oid> = Vec::new();
        for node in &statement.relations {
            work::visit();
            let Some(NodeEnum::RangeVar(name)) = &node.node else {
                return Err(PgError::internal("TRUNCATE of something without a name"));
            };
            let relation = self.find(name)?;
            self.check_not_system(&relation)?;
            if relation.kind != RelationKind::Table {
                return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is not a table", relation.name)));
            }
            let has = pgsqlite_sql::acl::relation_privileges(&self.catalog, self.environment.user, &relation);
            if has & pgsqlite_sql::acl::privilege::TRUNCATE == 0 {
                return Err(PgError::new(
                    SqlState::INSUFFICIENT_PRIVILEGE,
                    format!("permission denied for table {}", relation.name),
                ));
            }
            if !name.inh && relation.is_partitioned() {
                return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, "cannot truncate only a partitioned table")
                    .hint("Do not specify the ONLY keyword, or use TRUNCATE ONLY on the partitions directly."));
            }
            let all = if name.inh { self.catalog.with_descendants(relation.oid) } else { vec![relation.oid] };
            for table in all {
                work::visit();
                if !tables.contains(&table) {
                    tables.push(table);
                }
            }
        }
        let cascade = statement.behavior() == ast::DropBehavior::DropCascade;
        let mut at = 0;
        while at < tables.len() {
            work::visit();
            let table = tables[at];
            at += 1;
            let children: Vec<(Oid, String)> =
                self.catalog.referencing(table).map(|(child, _)| (child.oid, child.name.clone())).collect();
            for (child, name) in children {
                work::visit();
                if tables.contains(&child) {
                    continue;
                }
                if !cascade {
                    let parent = self.required(table)?.name.clone();
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "cannot truncate a table referenced in a foreign key constraint",
                    )
                    .detail(format!("Table \"{name}\" references \"{parent}\"."))
                    .hint(format!("Truncate table \"{name}\" at the same time, or use TRUNCATE ... CASCADE.")));
                }
                self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("truncate cascades to table \"{name}\""));
                tables.push(child);
                if self.required(child)?.is_partitioned() {
                    for part in self.catalog.with_descendants(child) {
                        work::visit();
                        if !tables.contains(&part) {
                            let name = self.required(part)?.name.clone();
                            let message = format!("truncate cascades to table \"{name}\"");
                            self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                            tables.push(part);
                        }
                    }
                }
            }
        }
        self.fire_truncate(&tables, Timing::Before)?;
        // Children first: no foreign key sees a missing row.
        let mut left = tables.clone();
        while !left.is_empty() {
            work::visit();
            let next = left
                .iter()
                .position(|&t| {
                    !self
                        .catalog
                        .referencing(t)
                        .any(|(child, c)| !c.managed && child.oid != t && left.contains(&child.oid))
                })
                .unwrap_or(0);
            let relation = self.required(left.remove(next))?.clone();
            let database = if relation.temporary { "temp" } else { "main" };
            self.sqlite(&format!("DELETE FROM {database}.{}", quoted(&relation.sqlite_name)))?;
            self.forget_rows(relation.oid)?;
        }
        if statement.restart_seqs {
            let owned: Vec<(Oid, i64)> = self
                .catalog
                .relations
                .values()
                .filter_map(|r| match &r.kind {
                    RelationKind::Sequence(s) if s.row_numbers.is_some() => None,
                    RelationKind::Sequence(s) if s.owned_by.is_some_and(|o| tables.contains(&o.0)) => {
                        Some((r.oid, s.start))
                    }
                    _ => None,
                })
                .collect();
            // SQLite begins with 1 where there are no rows, unless it remembers what was there
            let remembered = |r: &&Arc<Relation>| match &r.kind {
                RelationKind::Sequence(s) => s.row_numbers == Some(RowNumbers::Autoincrement) && s.owned_by.is_some(),
                _ => false,
            };
            for sequence in self.catalog.relations.values().filter(remembered) {
                work::visit();
                let RelationKind::Sequence(Sequence { owned_by: Some((table, _)), .. }) = &sequence.kind else {
                    continue;
                };
                if let Some(table) = tables.iter().find(|t| *t == table).and_then(|t| self.catalog.relation(*t)) {
                    self.conn
                        .execute("DELETE FROM main.sqlite_sequence WHERE name = ?1", [&table.sqlite_name])
                        .map_err(store::sqlite_error)?;
                }
            }
            for (sequence, start) in owned {
                work::visit();
                self.put_sequence_state(sequence, start, false)?;
            }
        }
        self.fire_truncate(&tables, Timing::After)?;
        Ok("TRUNCATE TABLE".into())
    }

    /// Fires the TRUNCATE triggers of tables.
    fn fire_truncate(&mut self, tables: &[Oid], timing: Timing) -> Result<()> {
        for table in tables {
            work::visit();
            let relation = self.catalog.relation(*table).ok_or_else(|| PgError::internal("a table that is gone"))?;
            if !relation.triggers.iter().any(|t| t.events.contains(&Event::Truncate)) {
                continue;
            }
            let (Some(show), Some(fire)) = (self.session.show_catalog, self.session.fire_truncate) else {
                return Err(PgError::not_supported("a trigger for TRUNCATE in this place"));
            };
            show(Arc::new(self.catalog.clone()));
            fire(std::mem::take(&mut self.notices), relation, timing)?;
        }
        Ok(())
    }
}
