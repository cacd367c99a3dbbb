//! What depends on an object because an expression that is stored names it: beside views, policies and rules (`drop.rs`
//! `stored_references`) the defaults, generated columns, checks and indexes of tables, which are looked into only where their text
//! has the object's name, and what few databases have many of: conditions of triggers, domains, partition keys, functions.

use super::dependencies::Object;
use super::Ddl;
use crate::function_references::function_references;
use pgsqlite_sql::analyze::{analyze_domain_check, analyze_expression};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::{condition_references, expression_references, Reference};
use pgsqlite_types::work;
use pgsqlite_types::{Oid, Result};

impl Ddl<'_> {
    /// What has values of a type.
    pub(super) fn uses_of_type(&self, ty: Oid, array: Oid, own: Oid, out: &mut Vec<(Object, bool)>) {
        if ty == 0 {
            return;
        }
        for relation in self.catalog.relations.values().filter(|r| r.kind == RelationKind::Table && r.oid != own) {
            work::visit();
            if relation.inheritance.of_type == ty {
                out.push((Object::Relation(relation.oid), false));
                continue;
            }
            for column in relation.live_columns().filter(|c| c.type_oid == ty || c.type_oid == array) {
                work::visit();
                out.push((Object::Column(relation.oid, column.attnum), false));
            }
        }
        for user in self.catalog.types.values() {
            work::visit();
            match &user.kind {
                UserTypeKind::Domain { base, .. } if *base == ty || *base == array => {
                    out.push((Object::Type(user.oid), false));
                }
                UserTypeKind::Composite { fields } => {
                    let uses = |(_, f): &(usize, &(String, Oid, i32))| f.1 == ty || f.1 == array;
                    out.extend(
                        fields.iter().enumerate().filter(uses).map(|(i, _)| (Object::Attribute(user.oid, i), false)),
                    );
                }
                UserTypeKind::Range(range) if range.subtype == ty || range.subtype == array => {
                    out.push((Object::Type(user.oid), false));
                }
                _ => {}
            }
        }
        for o in self.catalog.operators.values().map(|o| &o.definition) {
            work::visit();
            if [o.left, o.right, o.result].iter().any(|t| *t == ty || *t == array) {
                out.push((Object::Operator(o.oid), false));
            }
        }
        for cast in self.catalog.casts.values() {
            work::visit();
            if [cast.source, cast.target].iter().any(|t| *t == ty || *t == array) {
                out.push((Object::Cast(cast.source, cast.target), false));
            }
        }
        for r in self.catalog.routines.values() {
            work::visit();
            let f = &r.function;
            let uses = |t: Oid| t == ty || t == array;
            if uses(f.returns) || f.arguments.iter().any(|a| uses(a.type_oid)) {
                out.push((Object::Function(f.oid), false));
            }
        }
    }

    /// What calls a function.
    pub(super) fn uses_of_function(&self, function: Oid, out: &mut Vec<(Object, bool)>) -> Result<()> {
        let Some(name) = self.catalog.proc(function).map(|p| p.name.clone()) else { return Ok(()) };
        for user in self.catalog.types.values() {
            work::visit();
            if matches!(&user.kind, UserTypeKind::Range(range) if range.difference == function) {
                out.push((Object::Type(user.oid), false));
            }
        }
        for o in self.catalog.operators.values().map(|o| &o.definition) {
            work::visit();
            if [o.proc, o.restrict, o.join].contains(&function) {
                out.push((Object::Operator(o.oid), false));
            }
        }
        for cast in self.catalog.casts.values().filter(|c| c.function == function) {
            work::visit();
            out.push((Object::Cast(cast.source, cast.target), false));
        }
        for r in self.catalog.routines.values() {
            work::visit();
            let Some(aggregate) = &r.function.aggregate else { continue };
            let steps = [Some(&aggregate.plain), aggregate.moving.as_ref()];
            let mut called: Vec<Oid> = vec![aggregate.combine, aggregate.serialize, aggregate.deserialize];
            called.extend(steps.into_iter().flatten().flat_map(|s| [s.transition, s.inverse, s.finish]));
            if called.contains(&function) {
                out.push((Object::Function(r.function.oid), false));
            }
        }
        for relation in self.catalog.relations.values() {
            work::visit();
            for trigger in relation.triggers.iter().filter(|t| t.function == function) {
                work::visit();
                out.push((Object::Trigger(relation.oid, trigger.oid), false));
            }
        }
        self.uses_in_tables(super::schema::CLASS_FUNCTION, &[function], &name, out)
    }

    /// What has an expression that names an object, wherever it is stored. `written`: what a stored text that does so has in it.
    pub(super) fn users_in_expressions(&self, class: Oid, object: Oid, written: &str) -> Result<Vec<Object>> {
        let mut in_tables = Vec::new();
        self.uses_in_tables(class, &[object], written, &mut in_tables)?;
        let mut users: Vec<Object> = in_tables.into_iter().map(|(user, _)| user).collect();
        let is_it = |r: &Reference| r.class == class && r.object == object;
        let further = self.stored_references()?.into_iter().chain(self.further_references());
        users.extend(further.filter(|(_, references)| references.iter().any(is_it)).map(|(user, _)| user));
        Ok(users)
    }

    /// Defaults, generated columns, indexes and checks whose expression names one of the objects. `written`: what a stored text that
    /// does so has in it.
    pub(super) fn uses_in_tables(
        &self,
        class: Oid,
        objects: &[Oid],
        written: &str,
        out: &mut Vec<(Object, bool)>,
    ) -> Result<()> {
        let names = |text: &str, relation: &Relation| -> Result<bool> {
            // (a double quote in a name is written twice)
            if !text.contains(written) && !written.trim_matches('"').contains('"') {
                return Ok(false);
            }
            let expr = self.analyze_stored(|e| analyze_expression(e, text, Some(relation), None))?;
            Ok(expression_references(&expr).iter().any(|r| r.class == class && objects.contains(&r.object)))
        };
        for relation in self.catalog.relations.values() {
            work::visit();
            for column in relation.live_columns() {
                work::visit();
                if let Some(text) = &column.default {
                    if names(text, relation)? {
                        out.push((Object::Default(relation.oid, column.attnum), false));
                    }
                }
                if let Some(text) = &column.generated {
                    if names(text, relation)? {
                        out.push((Object::Column(relation.oid, column.attnum), false));
                    }
                }
            }
            if let RelationKind::Index(index) = &relation.kind {
                let Some(table) = self.catalog.relation(index.table) else { continue };
                let keys = index.columns.iter().filter_map(|c| match &c.key {
                    KeyPart::Expression(text) => Some(text.as_str()),
                    _ => None,
                });
                for text in keys.chain(index.predicate.as_deref()) {
                    work::visit();
                    if names(text, table)? {
                        // (the index of an exclusion constraint goes with that)
                        let constraint = table.constraints.iter().find(|c| c.index == relation.oid);
                        out.push(match constraint {
                            Some(c) => (Object::Constraint(table.oid, c.oid), false),
                            None => (Object::Relation(relation.oid), false),
                        });
                        break;
                    }
                }
            }
            for object in &relation.statistics {
                work::visit();
                for text in &object.expressions {
                    work::visit();
                    if names(text, relation)? {
                        out.push((Object::Statistics(relation.oid, object.oid), false));
                    }
                }
            }
            for constraint in &relation.constraints {
                work::visit();
                if let ConstraintKind::Check { expression, .. } = &constraint.kind {
                    if names(expression, relation)? {
                        out.push((Object::Constraint(relation.oid, constraint.oid), false));
                    }
                }
            }
        }
        Ok(())
    }

    /// What the expressions of triggers' conditions, domains, partition keys and functions name. A text that
    /// cannot be analyzed any more names nothing: what it named is gone.
    pub(super) fn further_references(&self) -> Vec<(Object, Vec<Reference>)> {
        let mut out: Vec<(Object, Vec<Reference>)> = Vec::new();
        let of_text = |text: &str, relation: Option<&Relation>| {
            let expr = self.analyze_stored(|e| analyze_expression(e, text, relation, None));
            expr.map(|e| expression_references(&e)).unwrap_or_default()
        };
        for relation in self.catalog.relations.values() {
            work::visit();
            for trigger in &relation.triggers {
                work::visit();
                let Some(condition) = &trigger.condition else { continue };
                let found = self.analyze_stored(|e| condition_references(e, relation, condition));
                out.push((Object::Trigger(relation.oid, trigger.oid), found.unwrap_or_default()));
            }
            for key in relation.inheritance.key.iter().flat_map(|k| &k.columns) {
                work::visit();
                if let KeyPart::Expression(text) = &key.part {
                    out.push((Object::Relation(relation.oid), of_text(text, Some(relation))));
                }
            }
        }
        for user in self.catalog.types.values() {
            work::visit();
            let UserTypeKind::Domain { base, default, checks, .. } = &user.kind else { continue };
            if let Some(text) = default {
                out.push((Object::Type(user.oid), of_text(text, None)));
            }
            for check in checks {
                work::visit();
                let expr = self.analyze_stored(|e| analyze_domain_check(e, &check.expression, *base));
                let found = expr.map(|e| expression_references(&e)).unwrap_or_default();
                out.push((Object::DomainConstraint(user.oid, check.oid), found));
            }
        }
        let unexpanded = pgsqlite_sql::deparse::definitions::unexpanded(&self.catalog);
        for f in self.catalog.routines.values().map(|r| &r.function) {
            work::visit();
            let found = self.analyze_stored_over(&unexpanded, |stored| {
                self.analyze_over(&unexpanded, |written| Ok(function_references(f, stored, written)))
            });
            if let Some(found) = found.ok().filter(|found| !found.is_empty()) {
                out.push((Object::Function(f.oid), found));
            }
        }
        out
    }
}
