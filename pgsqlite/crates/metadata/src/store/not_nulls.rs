//! NOT NULLs that are properties of their columns or domains alone, as files of earlier versions and tables of other programs have them, become
//! constraints with the names that PostgreSQL 18 gives them.
//!
//! The constraints get OIDs above the stored counter, as relations do that are not stored yet: [`super::init`] stores both.

use super::adopted_tables::take;
use crate::naming;
use pgsqlite_sql::catalog::*;
use pgsqlite_types::{work, Oid};
use std::collections::HashSet;
use std::sync::Arc;

/// The names of constraints that are taken, by schema.
type Names = HashSet<(Oid, String)>;

/// Makes constraints of all NOT NULLs that are none yet.
pub(super) fn complete(catalog: &mut Catalog, next_oid: &mut Oid) {
    let bare = |r: &Arc<Relation>| r.kind == RelationKind::Table && !r.temporary && lacking(r).next().is_some();
    let tables: Vec<Oid> = catalog.relations.values().filter(|r| bare(r)).map(|r| r.oid).collect();
    let unnamed =
        |t: &Arc<UserType>| matches!(t.kind, UserTypeKind::Domain { not_null: true, not_null_constraint: None, .. });
    let domains: Vec<Arc<UserType>> = catalog.types.values().filter(|t| unnamed(t)).cloned().collect();
    if tables.is_empty() && domains.is_empty() {
        return;
    }
    let mut names = Names::new();
    for relation in catalog.relations.values() {
        work::visit();
        names.extend(relation.constraints.iter().map(|c| (relation.schema, c.name.clone())));
    }
    names.extend(catalog.domain_checks().map(|c| (c.schema, c.check.name.clone())));
    let mut done = HashSet::new();
    for table in tables {
        work::visit();
        // parents come first: their children take the names
        let mut open = vec![table];
        while let Some(&table) = open.last() {
            work::visit();
            let Some(relation) = catalog.relation(table).cloned() else { break };
            let above = relation.inheritance.parents.iter().find(|p| !done.contains(*p));
            match above {
                Some(parent) if !open.contains(parent) => open.push(*parent),
                _ => {
                    open.pop();
                    if done.insert(table) && bare(&relation) {
                        let new = completed(catalog, &relation, &mut names, next_oid);
                        catalog.add_relation(new);
                    }
                }
            }
        }
    }
    for domain in domains {
        work::visit();
        let mut new = (*domain).clone();
        let name = free_name(&mut names, new.schema, &new.name, "");
        if let UserTypeKind::Domain { not_null_constraint, .. } = &mut new.kind {
            *not_null_constraint = Some(DomainConstraint::not_null(take(next_oid), name));
        }
        catalog.add_type(new);
    }
}

/// The columns whose NOT NULL is no constraint.
fn lacking(relation: &Relation) -> impl Iterator<Item = &Column> {
    relation.live_columns().filter(|c| c.not_null && relation.not_null_constraint(c.attnum).is_none())
}

fn completed(catalog: &Catalog, relation: &Relation, names: &mut Names, next_oid: &mut Oid) -> Relation {
    let mut new = relation.clone();
    let below = catalog.with_descendants(relation.oid);
    for column in lacking(relation) {
        work::visit();
        let same = |r: &'_ Relation| r.column(&column.name).map(|c| (c.not_null, c.attnum));
        let parents = relation.inheritance.parents.iter().filter_map(|p| catalog.relation(*p));
        let above: Vec<&str> = parents
            .filter_map(|p| p.not_null_constraint(same(p)?.1))
            .filter(|c| !c.is_no_inherit())
            .map(|c| c.name.as_str())
            .collect();
        let merely = column.inherited.merely && !above.is_empty();
        let taken = |name: &str| new.constraints.iter().any(|c| c.name == name);
        let name = match above.first().filter(|name| merely && !taken(name)) {
            Some(name) => name.to_string(),
            None => free_name(names, relation.schema, &relation.name, &column.name),
        };
        // (earlier versions let a child's column be NULL nevertheless)
        let descendants = below.iter().skip(1).filter_map(|t| catalog.relation(*t));
        let no_inherit = descendants.filter_map(|r| same(r)).any(|(not_null, _)| !not_null);
        new.constraints.push(Constraint {
            oid: take(next_oid),
            name,
            kind: ConstraintKind::NotNull { no_inherit },
            columns: vec![column.attnum],
            index: 0,
            deferrable: false,
            initially_deferred: false,
            not_valid: false,
            inherited: Inherited { count: above.len() as u16, merely, parent: 0 },
            managed: false,
            not_enforced: false,
            temporal: None,
        });
    }
    new
}

/// `name1_name2_not_null[n]`: the first that no constraint of the schema has.
fn free_name(names: &mut Names, schema: Oid, name1: &str, name2: &str) -> String {
    let mut n = 0;
    loop {
        work::visit();
        let label = if n == 0 { "not_null".to_string() } else { format!("not_null{n}") };
        let name = naming::object_name(name1, name2, &label);
        if names.insert((schema, name.clone())) {
            return name;
        }
        n += 1;
    }
}
