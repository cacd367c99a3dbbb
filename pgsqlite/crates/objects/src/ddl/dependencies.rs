//! What depends on an object, and how messages describe it.

use super::Ddl;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::{Names, Reference};
use pgsqlite_types::{work, Oid, Result};

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
    pub(super) fn place(self) -> (Oid, u8, i32) {
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

    /// The foreign keys that need a unique index; that of a partition stands for the key as a whole.
    fn keys_over(&self, index: Oid, out: &mut Vec<(Object, bool)>) {
        for child in self.catalog.relations.values() {
            work::visit();
            for key in child.constraints.iter().filter(|c| c.index == index && c.is_foreign_key()) {
                work::visit();
                let mut whole = key;
                while let Some(above) = child.constraints.iter().find(|c| c.oid == whole.inherited.parent) {
                    work::visit();
                    whole = above;
                }
                out.push((Object::Constraint(child.oid, whole.oid), false));
            }
        }
    }

    /// What depends on `object`: (dependent, goes without being asked for).
    pub(super) fn dependents(
        &self,
        object: Object,
        stored: &[(Object, Vec<Reference>)],
    ) -> Result<Vec<(Object, bool)>> {
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
                    // (that of a constraint is asked for with the constraint)
                    RelationKind::Index(_) => self.keys_over(oid, &mut out),
                    _ => {}
                }
                if relation.row_type != 0 {
                    out.push((Object::Type(relation.row_type), true));
                }
                by_view(&|r| r.class == super::schema::CLASS_RELATION && r.object == oid, &mut out);
                // (a constant of this type is stored as a cast)
                self.uses_in_tables(super::schema::CLASS_RELATION, &[oid], "::regclass", &mut out)?;
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
                    self.keys_over(c.index, &mut out);
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
}
