//! pg_depend: which object needs which. pg_dump orders what it writes by it.
//!
//! What a stored text (view, default, check, index expression) needs is found by analyzing it.

use super::relations::{composite_class, derived_oid, ATTRDEF, CLASS, CONSTRAINT, NAMESPACE, PROC, REWRITE, TYPE};
use super::views::with_environment;
use super::{int, text, Rows};
use crate::function_references::function_references;
use pgsqlite_natives::udf::session_cell::SessionState;
use pgsqlite_sql::analyze::{analyze_domain_check, analyze_expression, analyze_policy_text, Environment};
use pgsqlite_sql::builtins::{catalog as builtin, extensions as builtin_extensions};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::{
    definitions, expression_references, names, policy_references, query_references, Reference,
};
use pgsqlite_types::catalog as pg_type;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Datum, Oid};

/// An object: class, OID, column.
pub(super) type Node = (Oid, i64, i16);

/// An object that needs another one.
pub(super) struct Edge {
    pub from: Node,
    pub to: Node,
    /// `n`: normal, `a`: goes with the other object, `i`: is a part of it
    kind: &'static str,
}

#[derive(Default)]
struct Edges(Vec<Edge>);

impl Edges {
    fn push(&mut self, from: Node, to: Node, kind: &'static str) {
        pgsqlite_types::work::pulse(64);
        self.0.push(Edge { from, to, kind });
    }

    /// What an analyzed text names.
    fn push_all(&mut self, from: Node, references: Vec<Reference>) {
        // a column says more than its table
        let by_column =
            |r: &Reference| references.iter().any(|o| (o.class, o.object) == (r.class, r.object) && o.sub > 0);
        for r in references.iter().filter(|r| r.sub > 0 || !by_column(r)) {
            work::visit();
            self.push(from, (r.class, i64::from(r.object), r.sub as i16), "n");
        }
    }

    fn schema(&mut self, from: Node, schema: Oid) {
        self.push(from, (NAMESPACE, i64::from(schema), 0), "n");
    }

    /// Types of the system are pinned: nothing is said of them.
    fn of_type(&mut self, from: Node, ty: Oid) {
        if ty >= oid::FIRST_USER_OID {
            self.push(from, (TYPE, i64::from(ty), 0), "n");
        }
    }
}

/// An extension needs its schema; its functions and operators are parts of it.
fn extensions(edges: &mut Edges, catalog: &Catalog) {
    for extension in catalog.extensions.values() {
        work::visit();
        let whole = (EXTENSION, i64::from(extension.oid), 0);
        edges.schema(whole, extension.schema);
        let of = |oid: Oid| builtin_extensions::of(oid) == Some(extension.name.as_str());
        for p in builtin::all_procs().iter().filter(|p| of(p.oid)) {
            work::visit();
            edges.push((PROC, i64::from(p.oid), 0), whole, "e");
        }
        for t in pg_type::all().iter().filter(|t| t.extension == Some(extension.name.as_str()) && t.category != b'A') {
            work::visit();
            edges.push((TYPE, i64::from(t.oid), 0), whole, "e");
        }
        for o in builtin::all_operators().iter().filter(|o| of(o.oid)) {
            work::visit();
            edges.push((OPERATOR, i64::from(o.oid), 0), whole, "e");
        }
        for c in builtin::all_operator_classes().iter().filter(|c| of(c.oid)) {
            work::visit();
            edges.push((OPERATOR_CLASS, i64::from(c.oid), 0), whole, "e");
            edges.push((OPERATOR_FAMILY, i64::from(c.family), 0), whole, "e");
        }
    }
}

/// Classes of objects: OIDs of their catalogs.
const OPERATOR: Oid = 2617;
const OPERATOR_CLASS: Oid = 2616;
const OPERATOR_FAMILY: Oid = 2753;
const EXTENSION: Oid = 3079;
const POLICY: Oid = 3256;
const STATISTICS: Oid = 3381;

pub(super) fn depends(rows: &mut Rows, state: &SessionState) {
    for Edge { from, to, kind } in edges(state) {
        work::visit();
        rows.push(&[
            ("classid", int(from.0)),
            ("objid", Datum::Int(from.1)),
            ("objsubid", int(from.2)),
            ("refclassid", int(to.0)),
            ("refobjid", Datum::Int(to.1)),
            ("refobjsubid", int(to.2)),
            ("deptype", text(kind)),
        ]);
    }
}

/// Which object of the database needs which.
pub(super) fn edges(state: &SessionState) -> Vec<Edge> {
    let catalog = &state.catalog;
    let mut edges = Edges::default();
    extensions(&mut edges, catalog);
    with_environment(state, |environment| {
        let stored = Environment { search_path: names::STORED_PATH, ..*environment };
        for relation in catalog.relations.values().filter(|r| r.oid >= oid::FIRST_USER_OID) {
            work::visit();
            of_relation(&mut edges, &stored, catalog, relation);
        }
        of_policies(&mut edges, &stored, catalog);
        for user in catalog.types.values() {
            work::visit();
            of_user_type(&mut edges, &stored, user);
        }
        let unexpanded = definitions::unexpanded(catalog);
        let stored = Environment { catalog: &unexpanded, ..stored };
        let written = Environment { catalog: &unexpanded, ..*environment };
        for routine in catalog.routines.values() {
            work::visit();
            let own: Node = (PROC, i64::from(routine.function.oid), 0);
            edges.schema(own, routine.function.schema);
            edges.push_all(own, function_references(&routine.function, &stored, &written));
        }
    });
    edges.0
}

/// A policy goes with its table, and needs what its conditions name.
fn of_policies(edges: &mut Edges, environment: &Environment, catalog: &Catalog) {
    if catalog.relations.values().all(|r| r.security.policies.is_empty()) {
        return;
    }
    // views stay as they are named
    let unexpanded = definitions::unexpanded(catalog);
    let environment = Environment { catalog: &unexpanded, ..*environment };
    for table in catalog.relations.values() {
        work::visit();
        for policy in &table.security.policies {
            work::visit();
            let own: Node = (POLICY, i64::from(policy.oid), 0);
            edges.push(own, (CLASS, i64::from(table.oid), 0), "a");
            for condition in policy.using.iter().chain(&policy.check) {
                work::visit();
                match analyze_policy_text(&environment, condition, table) {
                    Ok(expr) => edges.push_all(own, policy_references(&expr, table)),
                    Err(e) => tracing::debug!(%e, "the policy {} of {}", policy.name, table.name),
                }
            }
        }
    }
}

/// What an expression over a relation's columns names: its columns, and objects. A text that cannot be analyzed any more
/// (a foreign one) names nothing.
fn named(environment: &Environment, expression: &str, relation: &Relation) -> (Vec<i16>, Vec<Reference>) {
    match analyze_expression(environment, expression, Some(relation), None) {
        Ok(expr) => (pgsqlite_sql::deparse::relation_columns(&expr, relation), expression_references(&expr)),
        Err(e) => {
            tracing::debug!(%e, "a stored expression of {}", relation.name);
            (vec![], vec![])
        }
    }
}

fn of_relation(edges: &mut Edges, environment: &Environment, catalog: &Catalog, relation: &Relation) {
    let table = i64::from(relation.oid);
    let own: Node = (CLASS, table, 0);
    match &relation.kind {
        RelationKind::Index(index) => {
            let constraint = catalog.relation(index.table).and_then(|t| {
                t.constraints
                    .iter()
                    .find(|c| c.index == relation.oid && !matches!(c.kind, ConstraintKind::ForeignKey { .. }))
            });
            match constraint {
                Some(c) => {
                    edges.push(own, (CONSTRAINT, i64::from(c.oid), 0), "i");
                    let members = index.columns.iter().map(|k| (OPERATOR_CLASS, k.opclass));
                    let members = members.chain(index.exclusion.iter().map(|o| (OPERATOR, *o)));
                    for (class, member) in members.filter(|(_, m)| builtin_extensions::of(*m).is_some()) {
                        work::visit();
                        edges.push((CONSTRAINT, i64::from(c.oid), 0), (class, i64::from(member), 0), "n");
                    }
                }
                None => of_index(edges, environment, catalog, relation, index),
            }
        }
        RelationKind::Sequence(s) => {
            edges.schema(own, relation.schema);
            if let Some((owner, attnum)) = s.owned_by {
                edges.push(own, (CLASS, i64::from(owner), attnum), if s.identity { "i" } else { "a" });
            }
        }
        RelationKind::View { .. } | RelationKind::MaterializedView { .. } => {
            edges.schema(own, relation.schema);
            let rule: Node = (REWRITE, derived_oid(relation.oid, 0), 0);
            edges.push(rule, own, "i");
            edges.push(rule, own, "n");
            match definitions::view_query(environment, relation) {
                Ok(Some(query)) => edges.push_all(rule, query_references(&query)),
                Ok(None) => {}
                Err(e) => tracing::debug!(%e, "the view {}", relation.name),
            }
        }
        _ => edges.schema(own, relation.schema),
    }
    // (the parts of a partitioned table go with it)
    for parent in &relation.inheritance.parents {
        work::visit();
        let part = relation.is_partition() || matches!(relation.kind, RelationKind::Index(_));
        let kind = match (&relation.kind, part) {
            (RelationKind::Index(_), _) => "P",
            (_, true) => "a",
            _ => "n",
        };
        edges.push(own, (CLASS, i64::from(*parent), 0), kind);
        if let RelationKind::Index(index) = &relation.kind {
            edges.push(own, (CLASS, i64::from(index.table), 0), "S");
        }
    }
    if relation.row_type != 0 {
        edges.push((TYPE, i64::from(relation.row_type), 0), own, "i");
    }
    for column in relation.live_columns() {
        work::visit();
        let place: Node = (CLASS, table, column.attnum);
        if let Some(expression) = column.shown_default() {
            let default: Node = (ATTRDEF, derived_oid(relation.oid, column.attnum), 0);
            edges.push(default, place, if column.is_generated() { "i" } else { "a" });
            let (columns, references) = named(environment, expression, relation);
            for attnum in columns {
                work::visit();
                edges.push(default, (CLASS, table, attnum), "n");
            }
            edges.push_all(default, references);
        }
        edges.of_type(place, column.type_oid);
    }
    for object in &relation.statistics {
        work::visit();
        let statistics: Node = (STATISTICS, i64::from(object.oid), 0);
        edges.schema(statistics, object.schema);
        for &attnum in &object.columns {
            work::visit();
            edges.push(statistics, (CLASS, table, attnum), "a");
        }
        for text in &object.expressions {
            work::visit();
            let (columns, references) = named(environment, text, relation);
            for attnum in columns {
                work::visit();
                edges.push(statistics, (CLASS, table, attnum), "a");
            }
            edges.push_all(statistics, references);
        }
    }
    for c in &relation.constraints {
        work::visit();
        let constraint: Node = (CONSTRAINT, i64::from(c.oid), 0);
        if c.inherited.parent != 0 {
            edges.push(constraint, (CONSTRAINT, i64::from(c.inherited.parent), 0), "P");
            edges.push(constraint, own, "S");
        }
        for &attnum in c.columns.iter().filter(|a| **a != 0) {
            work::visit();
            edges.push(constraint, (CLASS, table, attnum), "a");
        }
        match &c.kind {
            ConstraintKind::ForeignKey { references, columns, .. } => {
                for &attnum in columns {
                    work::visit();
                    edges.push(constraint, (CLASS, i64::from(*references), attnum), "n");
                }
                edges.push(constraint, (CLASS, i64::from(c.index), 0), "n");
            }
            ConstraintKind::Check { expression, .. } => {
                let (columns, references) = named(environment, expression, relation);
                for attnum in columns.into_iter().filter(|a| !c.columns.contains(a)) {
                    work::visit();
                    edges.push(constraint, (CLASS, table, attnum), "n");
                }
                edges.push_all(constraint, references);
            }
            _ => {}
        }
    }
}

fn of_index(edges: &mut Edges, environment: &Environment, catalog: &Catalog, relation: &Relation, index: &Index) {
    let own: Node = (CLASS, i64::from(relation.oid), 0);
    let Some(table) = catalog.relation(index.table) else { return };
    let mut columns: Vec<i16> = index.include.clone();
    let mut texts: Vec<&str> = index.predicate.iter().map(String::as_str).collect();
    for key in &index.columns {
        work::visit();
        match &key.key {
            KeyPart::Column(attnum) => columns.push(*attnum),
            KeyPart::Expression(text) => texts.push(text),
        }
    }
    for text in texts {
        work::visit();
        let (used, references) = named(environment, text, table);
        columns.extend(used);
        edges.push_all(own, references);
    }
    columns.sort_unstable();
    columns.dedup();
    let of_whole = index.predicate.is_some() || index.is_named_only();
    if of_whole || index.columns.iter().any(|k| matches!(k.key, KeyPart::Expression(_))) {
        columns.insert(0, 0);
    }
    for attnum in columns {
        work::visit();
        edges.push(own, (CLASS, i64::from(index.table), attnum), "a");
    }
}

fn of_user_type(edges: &mut Edges, environment: &Environment, user: &UserType) {
    let own: Node = (TYPE, i64::from(user.oid), 0);
    edges.schema(own, user.schema);
    edges.push((TYPE, i64::from(user.array_oid), 0), own, "i");
    match &user.kind {
        UserTypeKind::Domain { base, checks, .. } => {
            edges.of_type(own, *base);
            for check in checks {
                work::visit();
                let constraint: Node = (CONSTRAINT, i64::from(check.oid), 0);
                edges.push(constraint, own, "a");
                if let Ok(expr) = analyze_domain_check(environment, &check.expression, *base) {
                    edges.push_all(constraint, expression_references(&expr));
                }
            }
        }
        UserTypeKind::Composite { fields } => {
            let class = composite_class(user.oid);
            edges.push((CLASS, class, 0), own, "i");
            for (field, attnum) in fields.iter().zip(user.attribute_numbers()) {
                work::visit();
                edges.of_type((CLASS, class, attnum), field.1);
            }
        }
        UserTypeKind::Range(range) => {
            edges.of_type(own, range.subtype);
            for (constructor, _) in range.constructors() {
                work::visit();
                edges.push((PROC, i64::from(constructor), 0), own, "i");
            }
        }
        UserTypeKind::Multirange { range } => edges.push(own, (TYPE, i64::from(*range), 0), "i"),
        UserTypeKind::Enum { .. } => {}
    }
}
