//! information_schema, third part: what routines, views, constraints and generated columns use (as pg_depend has it), who may call routines,
//! collations, and the descriptors of data types.

use super::depends::{edges, Edge};
use super::information_schema::{database, schema, Row};
use super::information_usage::{enabled, list, shown_schema, specific_name, Heard};
use super::relations::{derived_oid, kind, ATTRDEF, CLASS, CONSTRAINT, PROC, REWRITE};
use super::{text, Rows};
use pgsqlite_natives::udf::session_cell::SessionState;
use pgsqlite_sql::acl::{self, AclObject};
use pgsqlite_sql::builtins::catalog as builtin;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::data;
use pgsqlite_sql::routine::Routine;
use pgsqlite_types::work;
use pgsqlite_types::{Datum, Oid};
use std::collections::{BTreeSet, HashMap};

type Make = fn(&mut Rows, &SessionState);

pub(super) fn maker(name: &str) -> Option<Make> {
    Some(match name {
        "routine_privileges" => |rows, state| privileges(rows, state, true),
        "role_routine_grants" => |rows, state| privileges(rows, state, false),
        "routine_column_usage" => |rows, state| relations_of_routines(rows, state, b"rvfp", true),
        "routine_table_usage" => |rows, state| relations_of_routines(rows, state, b"rvfp", false),
        "routine_sequence_usage" => |rows, state| relations_of_routines(rows, state, b"S", false),
        "routine_routine_usage" => routines_of_routines,
        "view_routine_usage" => routines_of_views,
        "check_constraint_routine_usage" => routines_of_checks,
        "column_column_usage" => columns_of_generated_columns,
        "collations" => |rows, state| collations(rows, state, false),
        "collation_character_set_applicability" => |rows, state| collations(rows, state, true),
        "data_type_privileges" => data_types,
        "sql_features" => |rows, _| rows.push_file(data::SQL_FEATURES),
        "sql_implementation_info" => |rows, _| rows.push_file(data::SQL_IMPLEMENTATION_INFO),
        "sql_parts" => |rows, _| rows.push_file(data::SQL_PARTS),
        "sql_sizing" => |rows, _| rows.push_file(data::SQL_SIZING),
        _ => return None,
    })
}

/// A routine of a user as these views name it: the columns of its catalog, its schema and its name with its number.
fn specific(state: &SessionState, oid: Oid) -> Option<(&Routine, Row)> {
    let routine = state.catalog.routines.get(&oid)?;
    let row = vec![
        ("specific_catalog", database(state)),
        ("specific_schema", schema(state, routine.function.schema)),
        ("specific_name", text(specific_name(&routine.proc))),
    ];
    Some((routine, row))
}

/// As [`specific`], of one that is used and whose owner the current role is.
fn used(state: &SessionState, oid: i64) -> Option<(&Routine, Row)> {
    specific(state, oid as Oid).filter(|(r, _)| enabled(state, r.function.owner))
}

/// The edges from one class to another, each pair of objects once (with `columns`: of an object and a column).
fn between(state: &SessionState, from: Oid, to: Oid, columns: bool) -> BTreeSet<(i64, i64, i16)> {
    let wanted = edges(state).into_iter().filter(|e| (e.from.0, e.to.0) == (from, to));
    wanted.map(|Edge { from, to, .. }| (from.1, to.1, if columns { to.2 } else { 0 })).collect()
}

fn privileges(rows: &mut Rows, state: &SessionState, public: bool) {
    let catalog = &*state.catalog;
    let heard = Heard::of(state, public);
    let mut push = |p: &builtin::Proc, place: Datum, owner: Oid, stored: &Option<Vec<acl::AclItem>>| {
        work::visit();
        for (grantor, grantee, word, grantable) in heard.spread(&list(AclObject::Function, owner, stored), owner) {
            work::visit();
            rows.push(&[
                ("grantor", grantor),
                ("grantee", grantee),
                ("specific_catalog", database(state)),
                ("specific_schema", place.clone()),
                ("specific_name", text(specific_name(p))),
                ("routine_catalog", database(state)),
                ("routine_schema", place.clone()),
                ("routine_name", text(p.name.as_str())),
                ("privilege_type", text(word)),
                ("is_grantable", grantable),
            ]);
        }
    };
    for p in builtin::all_procs() {
        work::visit();
        let Some(place) = shown_schema(state, p) else { continue };
        push(p, place, BOOTSTRAP_ROLE, &acl::builtin_function_acl(catalog, p.oid));
    }
    for routine in catalog.routines.values() {
        work::visit();
        let f = &routine.function;
        push(&routine.proc, schema(state, f.schema), f.owner, &f.acl);
    }
}

fn relations_of_routines(rows: &mut Rows, state: &SessionState, kinds: &[u8], columns: bool) {
    let sequences = kinds == b"S";
    for (routine, relation, attnum) in between(state, PROC, CLASS, columns) {
        work::visit();
        let Some((routine, mut row)) = specific(state, routine as Oid) else { continue };
        let Some(r) = state.catalog.relation(relation as Oid) else { continue };
        if !kinds.contains(&kind(r)) || !enabled(state, r.owner) {
            continue;
        }
        row.extend([
            ("routine_catalog", database(state)),
            ("routine_schema", schema(state, routine.function.schema)),
            ("routine_name", text(&*routine.function.name)),
        ]);
        row.extend(match sequences {
            true => [
                ("sequence_catalog", database(state)),
                ("sequence_schema", schema(state, r.schema)),
                ("sequence_name", text(&*r.name)),
            ],
            false => [
                ("table_catalog", database(state)),
                ("table_schema", schema(state, r.schema)),
                ("table_name", text(&*r.name)),
            ],
        });
        if columns {
            let Some(column) = r.column_by_attnum(attnum) else { continue };
            row.push(("column_name", text(&*column.name)));
        }
        rows.push(&row);
    }
}

fn routines_of_routines(rows: &mut Rows, state: &SessionState) {
    let is_called = |r: &Routine| matches!(r.function.kind(), b'f' | b'p');
    for (user, other, _) in between(state, PROC, PROC, false) {
        work::visit();
        let Some((user, mut row)) = specific(state, user as Oid).filter(|(r, _)| is_called(r)) else { continue };
        let _ = user;
        let Some((other, _)) = used(state, other).filter(|(r, _)| is_called(r)) else { continue };
        row.extend([
            ("routine_catalog", database(state)),
            ("routine_schema", schema(state, other.function.schema)),
            ("routine_name", text(specific_name(&other.proc))),
        ]);
        rows.push(&row);
    }
}

fn routines_of_views(rows: &mut Rows, state: &SessionState) {
    let views = state.catalog.relations.values().filter(|r| kind(r) == b'v');
    let views: HashMap<i64, &Relation> = views.map(|r| (derived_oid(r.oid, 0), &**r)).collect();
    for (rule, routine, _) in between(state, REWRITE, PROC, false) {
        work::visit();
        let (Some(view), Some((_, mut row))) = (views.get(&rule), used(state, routine)) else { continue };
        row.extend([
            ("table_catalog", database(state)),
            ("table_schema", schema(state, view.schema)),
            ("table_name", text(&*view.name)),
        ]);
        rows.push(&row);
    }
}

fn routines_of_checks(rows: &mut Rows, state: &SessionState) {
    let mut checks: HashMap<i64, (Oid, &str)> = HashMap::new();
    for r in state.catalog.relations.values() {
        work::visit();
        let of_table = r.constraints.iter().filter(|c| matches!(c.kind, ConstraintKind::Check { .. }));
        checks.extend(of_table.map(|c| (i64::from(c.oid), (r.schema, c.name.as_str()))));
    }
    for t in state.catalog.types.values() {
        work::visit();
        let UserTypeKind::Domain { checks: of_domain, .. } = &t.kind else { continue };
        checks.extend(of_domain.iter().map(|c| (i64::from(c.oid), (t.schema, c.name.as_str()))));
    }
    for (constraint, routine, _) in between(state, CONSTRAINT, PROC, false) {
        work::visit();
        let (Some((place, name)), Some((_, mut row))) = (checks.get(&constraint), used(state, routine)) else {
            continue;
        };
        row.extend([
            ("constraint_catalog", database(state)),
            ("constraint_schema", schema(state, *place)),
            ("constraint_name", text(*name)),
        ]);
        rows.push(&row);
    }
}

fn columns_of_generated_columns(rows: &mut Rows, state: &SessionState) {
    let mut generated: HashMap<i64, (&Relation, &Column)> = HashMap::new();
    for r in state.catalog.relations.values().filter(|r| enabled(state, r.owner)) {
        work::visit();
        let columns = r.live_columns().filter(|c| c.is_generated());
        generated.extend(columns.map(|c| (derived_oid(r.oid, c.attnum), (&**r, c))));
    }
    for (default, relation, attnum) in between(state, ATTRDEF, CLASS, true) {
        work::visit();
        let Some((r, dependent)) = generated.get(&default) else { continue };
        let Some(column) = r.column_by_attnum(attnum) else { continue };
        if i64::from(r.oid) != relation || attnum == dependent.attnum {
            continue;
        }
        rows.push(&[
            ("table_catalog", database(state)),
            ("table_schema", schema(state, r.schema)),
            ("table_name", text(&*r.name)),
            ("column_name", text(&*column.name)),
            ("dependent_column", text(&*dependent.name)),
        ]);
    }
}

/// The collations of UTF8, and of every encoding.
fn collations(rows: &mut Rows, state: &SessionState, of_character_sets: bool) {
    let own = builtin::all_collations().iter().filter(|c| matches!(c.encoding, -1 | 6));
    let own = own.map(|c| (PG_CATALOG, c.name));
    let users = state.catalog.collations.values().map(|c| (c.schema, c.name.as_str()));
    for (place, name) in own.chain(users) {
        work::visit();
        rows.push(&[
            ("collation_catalog", database(state)),
            ("collation_schema", schema(state, place)),
            ("collation_name", text(name)),
            if of_character_sets { ("character_set_name", text("UTF8")) } else { ("pad_attribute", text("NO PAD")) },
        ]);
    }
}

/// The descriptors of data types that other views of the information schema have.
fn data_types(rows: &mut Rows, state: &SessionState) {
    let sources = [
        ("attributes", "udt_schema", "udt_name", "USER-DEFINED TYPE"),
        ("columns", "table_schema", "table_name", "TABLE"),
        ("domains", "domain_schema", "domain_name", "DOMAIN"),
        ("parameters", "specific_schema", "specific_name", "ROUTINE"),
        ("routines", "specific_schema", "specific_name", "ROUTINE"),
    ];
    for (view, place, name, object_type) in sources {
        work::visit();
        let in_schema = |r: &&builtin::SystemRelation| r.schema == "information_schema" && r.name == view;
        let Some(relation) = builtin::system_relations().iter().find(in_schema) else { continue };
        let mut found = Rows::new(relation);
        if let Some(make) = super::information_schema::maker(view) {
            make(&mut found, state);
        }
        let [place, name, number] = [place, name, "dtd_identifier"].map(|column| found.columns[column]);
        for row in &found.rows {
            work::visit();
            rows.push(&[
                ("object_catalog", database(state)),
                ("object_schema", row[place].clone()),
                ("object_name", row[name].clone()),
                ("object_type", text(object_type)),
                ("dtd_identifier", row[number].clone()),
            ]);
        }
    }
}
