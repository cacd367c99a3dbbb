//! information_schema: tables, columns, types, constraints, views. (Privileges, routines and usage: [`super::information_usage`].)
//! Rows are made from the catalog like those of pg_catalog; texts of expressions follow the session's search path.

use super::information_usage::enabled;
use super::views::{expression, with_environment};
use super::{int, text, Rows};
use pgsqlite_natives::udf::session_cell::SessionState;
use pgsqlite_sql::acl;
use pgsqlite_sql::analyze::Updatable;
use pgsqlite_sql::catalog::domains::DomainCheck;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::{definitions, Names, Style};
use pgsqlite_sql::routine::Event;
use pgsqlite_types::work;
use pgsqlite_types::{oid, typmod, Datum, Oid};

type Make = fn(&mut Rows, &SessionState);
pub(super) type Row = Vec<(&'static str, Datum)>;

pub(super) fn maker(name: &str) -> Option<Make> {
    Some(match name {
        "tables" => tables,
        "columns" => columns,
        "schemata" => schemata,
        "views" => views,
        "sequences" => sequences,
        "table_constraints" => table_constraints,
        "key_column_usage" => key_column_usage,
        "constraint_column_usage" => constraint_column_usage,
        "constraint_table_usage" => constraint_table_usage,
        "referential_constraints" => referential_constraints,
        "check_constraints" => check_constraints,
        "domains" => domains,
        "domain_constraints" => domain_constraints,
        "attributes" => attributes,
        "element_types" => element_types,
        "user_defined_types" => user_defined_types,
        "information_schema_catalog_name" => catalog_name,
        other => return super::information_usage::maker(other),
    })
}

pub(super) fn yes(value: bool) -> Datum {
    text(if value { "YES" } else { "NO" })
}

pub(super) fn database(state: &SessionState) -> Datum {
    text(&*state.database)
}

pub(super) fn schema(state: &SessionState, oid: Oid) -> Datum {
    text(state.catalog.schema_name(oid))
}

pub(super) fn is_view(relation: &Relation) -> bool {
    super::relations::kind(relation) == b'v'
}

/// Tables and views that the current role owns or has some privilege on; materialized views are none in the standard's sense.
pub(super) fn shown(state: &SessionState) -> impl Iterator<Item = &Relation> {
    shown_with(state, u32::MAX)
}

/// As [`shown`], of those on which the role has one of these privileges (or on a column).
fn shown_with(state: &SessionState, privileges: u32) -> impl Iterator<Item = &Relation> {
    let tables = state.catalog.relations.values().map(|r| &**r);
    tables.filter(move |r| matches!(super::relations::kind(r), b'r' | b'p' | b'v') && may_know(state, r, privileges))
}

/// Whether the current role has the rights of a relation's owner.
pub(super) fn is_owner(state: &SessionState, relation: &Relation) -> bool {
    acl::owns(&state.catalog, state.user_oid, relation.owner)
}

/// Whether the current role owns a relation, or has one of these privileges on it or on a column of it.
pub(super) fn may_know(state: &SessionState, relation: &Relation, privileges: u32) -> bool {
    let (catalog, role) = (&*state.catalog, state.user_oid);
    is_owner(state, relation)
        || acl::relation_privileges(catalog, role, relation) & privileges != 0
        || relation.live_columns().any(|c| {
            c.acl.is_some() && acl::column_privileges(catalog, role, relation, c) & privileges & acl::OF_COLUMNS != 0
        })
}

/// What the standard asks for where a reader of rows alone learns nothing.
pub(super) const MORE_THAN_SELECT: u32 = !acl::privilege::SELECT;

fn catalog_name(rows: &mut Rows, state: &SessionState) {
    rows.push(&[("catalog_name", database(state))]);
}

/// Which of INSERT, UPDATE and DELETE work on it (on its column with this attnum), triggers apart.
fn updatable(state: &SessionState, relation: &Relation, column: Option<i16>) -> Updatable {
    if relation.kind == RelationKind::System && !is_view(relation) {
        return Updatable { insert: true, update: true, delete: true };
    }
    with_environment(state, |e| pgsqlite_sql::analyze::updatable(e, relation, false, column)).unwrap_or_else(|e| {
        tracing::debug!(%e, "the view {}", relation.name);
        Updatable::default()
    })
}

fn tables(rows: &mut Rows, state: &SessionState) {
    for r in shown(state) {
        work::visit();
        rows.push(&[
            ("table_catalog", database(state)),
            ("table_schema", schema(state, r.schema)),
            ("table_name", text(&*r.name)),
            (
                "table_type",
                text(match (r.temporary, is_view(r)) {
                    (true, _) => "LOCAL TEMPORARY",
                    (_, true) => "VIEW",
                    _ => "BASE TABLE",
                }),
            ),
            ("is_insertable_into", yes(updatable(state, r, None).insert)),
            ("is_typed", yes(false)),
            // PostgreSQL has a constant here, whatever ON COMMIT says
            ("commit_action", if r.temporary { text("PRESERVE") } else { Datum::Null }),
        ]);
    }
}

fn schemata(rows: &mut Rows, state: &SessionState) {
    let may_know =
        |s: &Schema| enabled(state, s.owner) || acl::schema_privileges(&state.catalog, state.user_oid, s.oid) != 0;
    for s in state.catalog.schemas.values().filter(|s| s.oid != PG_TEMP && may_know(s)) {
        work::visit();
        rows.push(&[
            ("catalog_name", database(state)),
            ("schema_name", text(&*s.name)),
            ("schema_owner", text(state.catalog.role_name(s.owner).unwrap_or("unknown"))),
        ]);
    }
}

// --- types -----------------------------------------------------------------------------------------------------------

/// (precision, radix, scale) of a numeric type.
fn numeric(ty: Oid, modifier: i32) -> (Datum, Datum, Datum) {
    let exact = |bits: i64| (Datum::Int(bits), Datum::Int(2), Datum::Int(0));
    match ty {
        oid::INT2 => exact(16),
        oid::INT4 => exact(32),
        oid::INT8 => exact(64),
        oid::FLOAT4 => (Datum::Int(24), Datum::Int(2), Datum::Null),
        oid::FLOAT8 => (Datum::Int(53), Datum::Int(2), Datum::Null),
        oid::NUMERIC => match typmod::numeric_precision_scale(modifier) {
            Some((precision, scale)) => (int(precision), Datum::Int(10), int(scale)),
            None => (Datum::Null, Datum::Int(10), Datum::Null),
        },
        _ => (Datum::Null, Datum::Null, Datum::Null),
    }
}

/// A type's name as `data_type` says it.
pub(super) fn data_type(catalog: &Catalog, ty: Oid) -> String {
    match catalog.type_entry(ty) {
        Some(TypeEntry::Builtin(t)) if t.is_array() => "ARRAY".into(),
        Some(TypeEntry::ArrayOf(_)) => "ARRAY".into(),
        // (what an extension brings is a type as those of users are)
        Some(TypeEntry::Builtin(t)) if t.extension.is_none() => {
            let path = [PG_CATALOG, catalog.public_schema()];
            super::functions::bare_type_name(&Names::new(catalog, &path), catalog, ty)
        }
        _ => "USER-DEFINED".into(),
    }
}

/// What every description of a type has: its name, length, precision, interval fields.
fn described(row: &mut Row, catalog: &Catalog, ty: Oid, modifier: i32) {
    let length = match ty {
        oid::VARCHAR | oid::BPCHAR if modifier > 4 => int(modifier - 4),
        oid::BIT | oid::VARBIT if modifier > 0 => int(modifier),
        _ => Datum::Null,
    };
    let octets = match (ty, &length) {
        (oid::VARCHAR | oid::BPCHAR, Datum::Int(n)) => Datum::Int(n * 4),
        (oid::VARCHAR | oid::BPCHAR | oid::TEXT, _) => Datum::Int(1_073_741_824),
        _ => Datum::Null,
    };
    let (precision, radix, scale) = numeric(ty, modifier);
    let seconds = match ty {
        oid::DATE => Datum::Int(0),
        oid::TIME | oid::TIMETZ | oid::TIMESTAMP | oid::TIMESTAMPTZ => int(if modifier >= 0 { modifier } else { 6 }),
        oid::INTERVAL => match modifier & 0xffff {
            _ if modifier < 0 => Datum::Int(6),
            0xffff => Datum::Int(6),
            precision => int(precision),
        },
        _ => Datum::Null,
    };
    // `interval day to second(3)` → `DAY TO SECOND(3)`
    let fields = match ty {
        oid::INTERVAL => {
            typmod::format_type(ty, modifier).and_then(|name| name.strip_prefix("interval ").map(str::to_uppercase))
        }
        _ => None,
    };
    row.extend([
        ("data_type", text(data_type(catalog, ty))),
        ("character_maximum_length", length),
        ("character_octet_length", octets),
        ("numeric_precision", precision),
        ("numeric_precision_radix", radix),
        ("numeric_scale", scale),
        ("datetime_precision", seconds),
        ("interval_type", fields.into()),
    ]);
}

/// The type below a domain, with the modifier that the domain sets.
fn below_domain(catalog: &Catalog, ty: Oid, modifier: i32) -> (Oid, i32) {
    match catalog.types.get(&ty).map(|t| &t.kind) {
        Some(UserTypeKind::Domain { base, typmod, .. }) => (*base, *typmod),
        _ => match pgsqlite_types::catalog::by_oid(ty) {
            Some(t) if t.kind == b'd' => (t.base_type, pgsqlite_types::catalog::domain_typmod(ty)),
            _ => (ty, modifier),
        },
    }
}

/// (catalog, schema, name) of a type under these columns.
fn identity(row: &mut Row, state: &SessionState, ty: Oid, columns: [&'static str; 3]) {
    let path = [PG_CATALOG, state.catalog.public_schema()];
    let names = Names::new(&state.catalog, &path);
    let (type_schema, name) = names.type_identity(ty).unwrap_or((PG_CATALOG, String::new()));
    row.extend([(columns[0], database(state)), (columns[1], schema(state, type_schema)), (columns[2], text(name))]);
}

/// A collation other than the database's default.
fn collated(row: &mut Row, state: &SessionState, collation: Oid) {
    let found = state.catalog.collation(collation).filter(|c| c.name != "default");
    if let Some(found) = found {
        row.extend([
            ("collation_catalog", database(state)),
            ("collation_schema", text("pg_catalog")),
            ("collation_name", text(found.name)),
        ]);
    }
}

fn columns(rows: &mut Rows, state: &SessionState) {
    let catalog = &*state.catalog;
    for r in shown(state) {
        work::visit();
        let stored = !is_view(r);
        let owned = is_owner(state, r);
        for c in r.live_columns() {
            work::visit();
            let privileges = || acl::column_privileges(catalog, state.user_oid, r, c);
            if !owned && privileges() & acl::OF_COLUMNS == 0 {
                continue;
            }
            let is_updatable = stored || {
                let works = updatable(state, r, Some(c.attnum));
                works.update && works.delete
            };
            let domain = match catalog.types.get(&c.type_oid).map(|t| (&t.kind, t)) {
                Some((UserTypeKind::Domain { not_null, .. }, t)) => Some((t, *not_null)),
                _ => None,
            };
            let (base, modifier) = below_domain(catalog, c.type_oid, c.typmod);
            let not_null = c.needs_value() || domain.is_some_and(|d| d.1);
            let shown = c.shown_default().map(|text| expression(state, text, Some(r)));
            let (default, generated) = if c.is_generated() { (None, shown) } else { (shown, None) };
            let mut row: Row = vec![
                ("table_catalog", database(state)),
                ("table_schema", schema(state, r.schema)),
                ("table_name", text(&*r.name)),
                ("column_name", text(&*c.name)),
                ("ordinal_position", int(c.attnum)),
                ("column_default", default.into()),
                ("is_nullable", yes(!not_null)),
                ("dtd_identifier", text(c.attnum.to_string())),
                ("is_self_referencing", yes(false)),
                ("is_identity", yes(c.identity.is_some())),
                ("is_generated", text(if c.is_generated() { "ALWAYS" } else { "NEVER" })),
                ("generation_expression", generated.into()),
                ("is_updatable", yes(is_updatable)),
            ];
            described(&mut row, catalog, base, modifier);
            identity(&mut row, state, base, ["udt_catalog", "udt_schema", "udt_name"]);
            let own = if c.collation != 0 {
                c.collation
            } else {
                pgsqlite_metadata::naming::default_collation(catalog, c.type_oid)
            };
            collated(&mut row, state, own);
            if let Some((d, _)) = domain {
                row.extend([
                    ("domain_catalog", database(state)),
                    ("domain_schema", schema(state, d.schema)),
                    ("domain_name", text(&*d.name)),
                ]);
            } else if pgsqlite_types::catalog::by_oid(c.type_oid).is_some_and(|t| t.kind == b'd') {
                identity(&mut row, state, c.type_oid, ["domain_catalog", "domain_schema", "domain_name"]);
            }
            let mut cycle = false;
            if let Some(identity) = c.identity {
                row.push((
                    "identity_generation",
                    text(if identity == Identity::Always { "ALWAYS" } else { "BY DEFAULT" }),
                ));
                if let Some(RelationKind::Sequence(s)) = catalog.relation(c.sequence).map(|s| &s.kind) {
                    cycle = s.cycle;
                    row.extend([
                        ("identity_start", text(s.start.to_string())),
                        ("identity_increment", text(s.increment.to_string())),
                        ("identity_maximum", text(s.max.to_string())),
                        ("identity_minimum", text(s.min.to_string())),
                    ]);
                }
            }
            row.push(("identity_cycle", yes(cycle)));
            rows.push(&row);
        }
    }
}

/// Whether the current role owns a type or may use it.
fn may_use(state: &SessionState, t: &UserType) -> bool {
    let has = || acl::privileges(&state.catalog, state.user_oid, acl::AclObject::Type, t.owner, t.acl.as_ref());
    enabled(state, t.owner) || has() != 0
}

fn domains(rows: &mut Rows, state: &SessionState) {
    let catalog = &*state.catalog;
    for t in catalog.types.values().filter(|t| may_use(state, t)) {
        work::visit();
        let UserTypeKind::Domain { base, typmod, default, .. } = &t.kind else { continue };
        let mut row: Row = vec![
            ("domain_catalog", database(state)),
            ("domain_schema", schema(state, t.schema)),
            ("domain_name", text(&*t.name)),
            ("domain_default", default.as_ref().map(|d| expression(state, d, None)).into()),
            ("dtd_identifier", text("1")),
        ];
        described(&mut row, catalog, *base, *typmod);
        identity(&mut row, state, *base, ["udt_catalog", "udt_schema", "udt_name"]);
        collated(&mut row, state, catalog.type_collation(t.oid));
        rows.push(&row);
    }
}

fn domain_constraints(rows: &mut Rows, state: &SessionState) {
    let known = |c: &DomainCheck| state.catalog.types.get(&c.domain).is_none_or(|t| may_use(state, t));
    for DomainCheck { schema: of, domain_name, check, .. } in state.catalog.domain_checks().filter(known) {
        work::visit();
        rows.push(&[
            ("constraint_catalog", database(state)),
            ("constraint_schema", schema(state, of)),
            ("constraint_name", text(&*check.name)),
            ("domain_catalog", database(state)),
            ("domain_schema", schema(state, of)),
            ("domain_name", text(domain_name)),
            ("is_deferrable", yes(false)),
            ("initially_deferred", yes(false)),
        ]);
    }
}

/// The fields of composite types.
fn attributes(rows: &mut Rows, state: &SessionState) {
    let catalog = &*state.catalog;
    for t in catalog.types.values().filter(|t| may_use(state, t)) {
        work::visit();
        let UserTypeKind::Composite { fields } = &t.kind else { continue };
        for ((name, ty, modifier), position) in fields.iter().zip(t.attribute_numbers()) {
            work::visit();
            let (base, modifier) = below_domain(catalog, *ty, *modifier);
            let mut row: Row = vec![
                ("udt_catalog", database(state)),
                ("udt_schema", schema(state, t.schema)),
                ("udt_name", text(&*t.name)),
                ("attribute_name", text(&**name)),
                ("ordinal_position", Datum::Int(position.into())),
                ("is_nullable", yes(true)),
                ("dtd_identifier", text(position.to_string())),
                ("is_derived_reference_attribute", yes(false)),
            ];
            described(&mut row, catalog, base, modifier);
            identity(&mut row, state, *ty, ["attribute_udt_catalog", "attribute_udt_schema", "attribute_udt_name"]);
            rows.push(&row);
        }
    }
}

/// What arrays are made of: of columns, of attributes, of domains.
fn element_types(rows: &mut Rows, state: &SessionState) {
    let catalog = &*state.catalog;
    let mut push = |object_schema: Oid, name: &str, kind: &str, identifier: String, ty: Oid| {
        let Some(element) = catalog.element_type(ty) else { return };
        let mut row: Row = vec![
            ("object_catalog", database(state)),
            ("object_schema", schema(state, object_schema)),
            ("object_name", text(name)),
            ("object_type", text(kind)),
            ("collection_type_identifier", text(identifier.clone())),
            ("data_type", text(data_type(catalog, element))),
            ("dtd_identifier", text(format!("a{identifier}"))),
        ];
        identity(&mut row, state, element, ["udt_catalog", "udt_schema", "udt_name"]);
        rows.push(&row);
    };
    for r in shown(state) {
        work::visit();
        let known = |c: &&Column| {
            is_owner(state, r) || acl::column_privileges(catalog, state.user_oid, r, c) & acl::OF_COLUMNS != 0
        };
        for c in r.live_columns().filter(known) {
            work::visit();
            // (PostgreSQL calls a view a TABLE here, too)
            push(r.schema, &r.name, "TABLE", c.attnum.to_string(), c.type_oid);
        }
    }
    for t in catalog.types.values().filter(|t| may_use(state, t)) {
        work::visit();
        match &t.kind {
            UserTypeKind::Composite { fields } => {
                for ((_, ty, _), position) in fields.iter().zip(t.attribute_numbers()) {
                    work::visit();
                    push(t.schema, &t.name, "USER-DEFINED TYPE", position.to_string(), *ty);
                }
            }
            UserTypeKind::Domain { base, .. } => push(t.schema, &t.name, "DOMAIN", "1".into(), *base),
            UserTypeKind::Enum { .. } | UserTypeKind::Range(_) | UserTypeKind::Multirange { .. } => {}
        }
    }
}

fn user_defined_types(rows: &mut Rows, state: &SessionState) {
    for t in state.catalog.types.values().filter(|t| may_use(state, t)) {
        work::visit();
        if let UserTypeKind::Composite { .. } = &t.kind {
            rows.push(&[
                ("user_defined_type_catalog", database(state)),
                ("user_defined_type_schema", schema(state, t.schema)),
                ("user_defined_type_name", text(&*t.name)),
                ("user_defined_type_category", text("STRUCTURED")),
                ("is_instantiable", yes(true)),
            ]);
        }
    }
}

// --- views, sequences ------------------------------------------------------------------------------------------------

fn views(rows: &mut Rows, state: &SessionState) {
    for r in shown(state).filter(|r| is_view(r)) {
        work::visit();
        let works = updatable(state, r, None);
        rows.push(&[
            ("table_catalog", database(state)),
            ("table_schema", schema(state, r.schema)),
            ("table_name", text(&*r.name)),
            ("view_definition", if is_owner(state, r) { super::views::view_text(state, r) } else { Datum::Null }),
            (
                "check_option",
                text(match r.check_option() {
                    Some(CheckOption::Local) => "LOCAL",
                    Some(CheckOption::Cascaded) => "CASCADED",
                    None => "NONE",
                }),
            ),
            ("is_updatable", yes(works.update && works.delete)),
            ("is_insertable_into", yes(works.insert)),
            ("is_trigger_updatable", yes(r.has_instead_of(Event::Update))),
            ("is_trigger_deletable", yes(r.has_instead_of(Event::Delete))),
            ("is_trigger_insertable_into", yes(r.has_instead_of(Event::Insert))),
        ]);
    }
}

fn sequences(rows: &mut Rows, state: &SessionState) {
    for r in state.catalog.relations.values() {
        work::visit();
        let RelationKind::Sequence(s) = &r.kind else { continue };
        // The sequence of an identity column is not listed.
        if s.identity || !may_know(state, r, u32::MAX) {
            continue;
        }
        let (precision, radix, scale) = numeric(s.type_oid, -1);
        rows.push(&[
            ("sequence_catalog", database(state)),
            ("sequence_schema", schema(state, r.schema)),
            ("sequence_name", text(&*r.name)),
            ("data_type", text(typmod::format_type(s.type_oid, -1).unwrap_or_default())),
            ("numeric_precision", precision),
            ("numeric_precision_radix", radix),
            ("numeric_scale", scale),
            ("start_value", text(s.start.to_string())),
            ("minimum_value", text(s.min.to_string())),
            ("maximum_value", text(s.max.to_string())),
            ("increment", text(s.increment.to_string())),
            ("cycle_option", yes(s.cycle)),
        ]);
    }
}

// --- constraints -------------------------------------------------------------------------------------------------------

fn table_constraints(rows: &mut Rows, state: &SessionState) {
    for r in shown_with(state, MORE_THAN_SELECT) {
        work::visit();
        let mut push =
            |name: String, kind: &str, (deferrable, deferred, enforced): (bool, bool, bool), distinct: Datum| {
                rows.push(&[
                    ("constraint_catalog", database(state)),
                    ("constraint_schema", schema(state, r.schema)),
                    ("constraint_name", text(name)),
                    ("table_catalog", database(state)),
                    ("table_schema", schema(state, r.schema)),
                    ("table_name", text(&*r.name)),
                    ("constraint_type", text(kind)),
                    ("is_deferrable", yes(deferrable)),
                    ("initially_deferred", yes(deferred)),
                    ("enforced", yes(enforced)),
                    ("nulls_distinct", distinct),
                ]);
            };
        for c in &r.constraints {
            work::visit();
            let (kind, distinct) = match c.kind {
                ConstraintKind::PrimaryKey => ("PRIMARY KEY", Datum::Null),
                ConstraintKind::Unique { nulls_not_distinct } => ("UNIQUE", yes(!nulls_not_distinct)),
                ConstraintKind::Check { .. } | ConstraintKind::SqliteCheck { .. } | ConstraintKind::NotNull { .. } => {
                    ("CHECK", Datum::Null)
                }
                ConstraintKind::ForeignKey { .. } => ("FOREIGN KEY", Datum::Null),
                ConstraintKind::Exclusion => match c.temporal {
                    Some(TemporalKey::Primary) => ("PRIMARY KEY", Datum::Null),
                    Some(TemporalKey::Unique) => ("UNIQUE", yes(true)),
                    // (the SQL standard does not know it)
                    None => continue,
                },
            };
            push(c.name.clone(), kind, (c.deferrable, c.initially_deferred, !c.not_enforced), distinct);
        }
        if !is_view(r) {
            for c in bare_not_nulls(r) {
                work::visit();
                push(not_null_name(r, c), "CHECK", (false, false, true), Datum::Null);
            }
        }
    }
}

/// The columns whose NOT NULL is no constraint with a name.
fn bare_not_nulls(relation: &Relation) -> impl Iterator<Item = &Column> {
    relation.live_columns().filter(|c| c.needs_value() && relation.not_null_constraint(c.attnum).is_none())
}

/// The name that the standard's view makes up for such a NOT NULL.
fn not_null_name(relation: &Relation, column: &Column) -> String {
    format!("{}_{}_{}_not_null", relation.schema, relation.oid, column.attnum)
}

fn column_name(relation: &Relation, attnum: i16) -> Datum {
    relation.column_by_attnum(attnum).map(|c| c.name.clone()).into()
}

fn key_column_usage(rows: &mut Rows, state: &SessionState) {
    for r in shown(state) {
        work::visit();
        for c in &r.constraints {
            work::visit();
            let of_keys = c.kind != ConstraintKind::Exclusion || c.temporal.is_some();
            if c.is_check() || c.not_null_of().is_some() || !of_keys {
                continue;
            }
            for (i, &attnum) in c.columns.iter().enumerate() {
                work::visit();
                let known = |c: &Column| {
                    is_owner(state, r)
                        || acl::column_privileges(&state.catalog, state.user_oid, r, c) & acl::OF_COLUMNS != 0
                };
                if !r.column_by_attnum(attnum).is_some_and(known) {
                    continue;
                }
                // The place of the referenced column in the key it references.
                let position = match &c.kind {
                    ConstraintKind::ForeignKey { references, columns, .. } => state
                        .catalog
                        .relation(*references)
                        .and_then(|p| {
                            p.constraints
                                .iter()
                                .find(|k| k.index == c.index && !matches!(k.kind, ConstraintKind::ForeignKey { .. }))
                        })
                        .and_then(|k| k.columns.iter().position(|&a| Some(&a) == columns.get(i)))
                        .map_or(Datum::Null, |p| Datum::Int(p as i64 + 1)),
                    _ => Datum::Null,
                };
                rows.push(&[
                    ("constraint_catalog", database(state)),
                    ("constraint_schema", schema(state, r.schema)),
                    ("constraint_name", text(&*c.name)),
                    ("table_catalog", database(state)),
                    ("table_schema", schema(state, r.schema)),
                    ("table_name", text(&*r.name)),
                    ("column_name", column_name(r, attnum)),
                    ("ordinal_position", int(i as i64 + 1)),
                    ("position_in_unique_constraint", position),
                ]);
            }
        }
    }
}

fn constraint_column_usage(rows: &mut Rows, state: &SessionState) {
    for r in shown(state) {
        work::visit();
        for c in &r.constraints {
            work::visit();
            let (table, columns) = match &c.kind {
                ConstraintKind::ForeignKey { references, columns, .. } => match state.catalog.relation(*references) {
                    Some(parent) => (&**parent, columns),
                    None => continue,
                },
                _ => (r, &c.columns),
            };
            if !is_owner(state, table) {
                continue;
            }
            for &attnum in columns {
                work::visit();
                rows.push(&[
                    ("table_catalog", database(state)),
                    ("table_schema", schema(state, table.schema)),
                    ("table_name", text(&*table.name)),
                    ("column_name", column_name(table, attnum)),
                    ("constraint_catalog", database(state)),
                    ("constraint_schema", schema(state, r.schema)),
                    ("constraint_name", text(&*c.name)),
                ]);
            }
        }
    }
}

/// The tables of keys, and those that foreign keys reference.
fn constraint_table_usage(rows: &mut Rows, state: &SessionState) {
    for r in shown(state) {
        work::visit();
        for c in &r.constraints {
            work::visit();
            let table = match &c.kind {
                ConstraintKind::ForeignKey { references, .. } => match state.catalog.relation(*references) {
                    Some(parent) => &**parent,
                    None => continue,
                },
                ConstraintKind::Check { .. } | ConstraintKind::SqliteCheck { .. } | ConstraintKind::NotNull { .. } => {
                    continue
                }
                _ => r,
            };
            if !is_owner(state, table) {
                continue;
            }
            rows.push(&[
                ("table_catalog", database(state)),
                ("table_schema", schema(state, table.schema)),
                ("table_name", text(&*table.name)),
                ("constraint_catalog", database(state)),
                ("constraint_schema", schema(state, r.schema)),
                ("constraint_name", text(&*c.name)),
            ]);
        }
    }
}

fn rule(action: ForeignKeyAction) -> Datum {
    text(match action {
        ForeignKeyAction::NoAction => "NO ACTION",
        ForeignKeyAction::Restrict => "RESTRICT",
        ForeignKeyAction::Cascade => "CASCADE",
        ForeignKeyAction::SetNull => "SET NULL",
        ForeignKeyAction::SetDefault => "SET DEFAULT",
    })
}

fn referential_constraints(rows: &mut Rows, state: &SessionState) {
    for r in shown_with(state, MORE_THAN_SELECT) {
        work::visit();
        for c in &r.constraints {
            work::visit();
            let ConstraintKind::ForeignKey { references, on_update, on_delete, match_full, .. } = &c.kind else {
                continue;
            };
            let unique = state.catalog.relation(*references).and_then(|p| {
                p.constraints
                    .iter()
                    .find(|k| k.index == c.index && !matches!(k.kind, ConstraintKind::ForeignKey { .. }))
                    .map(|k| (p, k))
            });
            rows.push(&[
                ("constraint_catalog", database(state)),
                ("constraint_schema", schema(state, r.schema)),
                ("constraint_name", text(&*c.name)),
                ("unique_constraint_catalog", unique.map(|_| state.database.clone()).into()),
                ("unique_constraint_schema", unique.map_or(Datum::Null, |u| schema(state, u.0.schema))),
                ("unique_constraint_name", unique.map(|u| u.1.name.clone()).into()),
                ("match_option", text(if *match_full { "FULL" } else { "NONE" })),
                ("update_rule", rule(*on_update)),
                ("delete_rule", rule(*on_delete)),
            ]);
        }
    }
}

fn check_constraints(rows: &mut Rows, state: &SessionState) {
    let mut push = |constraint_schema: Oid, name: String, clause: String| {
        rows.push(&[
            ("constraint_catalog", database(state)),
            ("constraint_schema", schema(state, constraint_schema)),
            ("constraint_name", text(name)),
            ("check_clause", text(clause)),
        ]);
    };
    // the standard's clause is what stands in the parentheses after CHECK
    let clause = |definition: String| {
        let inner = definition.strip_prefix("CHECK (").and_then(|rest| rest.rsplit_once(')')).map(|c| c.0.to_string());
        inner.unwrap_or(definition)
    };
    for r in shown(state).filter(|r| is_owner(state, r)) {
        work::visit();
        for c in &r.constraints {
            work::visit();
            if let Some(column) = c.not_null_of().and_then(|a| r.column_by_attnum(a)) {
                push(r.schema, c.name.clone(), format!("{} IS NOT NULL", column.name));
            }
            if let ConstraintKind::SqliteCheck { text: stored } | ConstraintKind::Check { expression: stored, .. } =
                &c.kind
            {
                // (that nobody enforces it is no part of the clause)
                let not_valid = c.not_valid && !c.not_enforced;
                let c = &Constraint { not_enforced: false, not_valid, ..c.clone() };
                let printed = with_environment(state, |e| definitions::constraint_definition(e, r, c, Style::Full));
                push(r.schema, c.name.clone(), printed.map_or_else(|_| format!("({stored})"), clause));
            }
        }
        if !is_view(r) {
            for c in bare_not_nulls(r) {
                work::visit();
                push(r.schema, not_null_name(r, c), format!("{} IS NOT NULL", c.name));
            }
        }
    }
    let owner = |c: &DomainCheck| state.catalog.types.get(&c.domain).map_or(BOOTSTRAP_ROLE, |t| t.owner);
    let owned = state.catalog.domain_checks().filter(|c| enabled(state, owner(c)));
    for DomainCheck { schema, base, check, .. } in owned {
        work::visit();
        if check.forbids_null() {
            push(schema, check.name.clone(), "VALUE IS NOT NULL".into());
            continue;
        }
        let printed = with_environment(state, |e| definitions::domain_constraint(e, check, base, Style::Full));
        push(schema, check.name.clone(), printed.map_or_else(|_| format!("({})", check.expression), clause));
    }
}
