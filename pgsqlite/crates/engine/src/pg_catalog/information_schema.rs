//! information_schema: the relations that tools and ORMs read. Their rows are made from the catalog like those of pg_catalog.

use super::{int, text, Rows};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::Names;
use pgsqlite_types::{oid, typmod, Datum, Oid};

type Make = fn(&mut Rows, &Catalog);

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
        "referential_constraints" => referential_constraints,
        "check_constraints" => check_constraints,
        "information_schema_catalog_name" => catalog_name,
        _ => return None,
    })
}

fn yes(value: bool) -> Datum {
    text(if value { "YES" } else { "NO" })
}

fn database(catalog: &Catalog) -> Datum {
    text(&*catalog.database)
}

fn schema(catalog: &Catalog, oid: Oid) -> Datum {
    text(catalog.schema_name(oid))
}

fn is_view(relation: &Relation) -> bool {
    super::relations::kind(relation) == b'v'
}

/// Tables and views.
fn shown(catalog: &Catalog) -> impl Iterator<Item = &Relation> {
    catalog.relations.values().map(|r| &**r).filter(|r| matches!(super::relations::kind(r), b'r' | b'v'))
}

fn catalog_name(rows: &mut Rows, catalog: &Catalog) {
    rows.push(&[("catalog_name", database(catalog))]);
}

fn tables(rows: &mut Rows, catalog: &Catalog) {
    for r in shown(catalog) {
        rows.push(&[
            ("table_catalog", database(catalog)),
            ("table_schema", schema(catalog, r.schema)),
            ("table_name", text(&*r.name)),
            (
                "table_type",
                text(match (r.temporary, is_view(r)) {
                    (_, true) => "VIEW",
                    (true, _) => "LOCAL TEMPORARY",
                    _ => "BASE TABLE",
                }),
            ),
            ("is_insertable_into", yes(!is_view(r))),
            ("is_typed", yes(false)),
        ]);
    }
}

fn schemata(rows: &mut Rows, catalog: &Catalog) {
    for s in catalog.schemas.values().filter(|s| s.oid != PG_TEMP) {
        rows.push(&[
            ("catalog_name", database(catalog)),
            ("schema_name", text(&*s.name)),
            ("schema_owner", text(catalog.role_name(s.owner).unwrap_or("unknown"))),
        ]);
    }
}

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

fn columns(rows: &mut Rows, catalog: &Catalog) {
    let path = [PG_CATALOG, PUBLIC];
    let names = Names::new(catalog, &path);
    for r in shown(catalog) {
        for c in r.live_columns() {
            let domain = match catalog.types.get(&c.type_oid).map(|t| (&t.kind, t)) {
                Some((UserTypeKind::Domain { .. }, t)) => Some(t),
                _ => None,
            };
            let (base, modifier) = match domain.map(|d| &d.kind) {
                Some(UserTypeKind::Domain { base, typmod, .. }) => (*base, *typmod),
                _ => match pgsqlite_types::catalog::by_oid(c.type_oid) {
                    Some(t) if t.kind == b'd' => (t.base_type, -1),
                    _ => (c.type_oid, c.typmod),
                },
            };
            let data_type = match catalog.type_entry(base) {
                Some(TypeEntry::Builtin(t)) if t.is_array() => "ARRAY".to_string(),
                Some(TypeEntry::ArrayOf(_)) => "ARRAY".into(),
                Some(TypeEntry::Builtin(_)) => names.type_name(base, -1),
                _ => "USER-DEFINED".into(),
            };
            let (udt_schema, udt_name) = names.type_identity(base).unwrap_or((PG_CATALOG, String::new()));
            let length = match base {
                oid::VARCHAR | oid::BPCHAR if modifier > 4 => int(modifier - 4),
                _ => Datum::Null,
            };
            let octets = match (base, &length) {
                (oid::VARCHAR | oid::BPCHAR, Datum::Int(n)) => Datum::Int(n * 4),
                (oid::VARCHAR | oid::BPCHAR | oid::TEXT, _) => Datum::Int(1_073_741_824),
                _ => Datum::Null,
            };
            let (precision, radix, scale) = numeric(base, modifier);
            let seconds = match base {
                oid::DATE => Datum::Int(0),
                oid::TIME | oid::TIMETZ | oid::TIMESTAMP | oid::TIMESTAMPTZ => {
                    if modifier >= 0 {
                        int(modifier)
                    } else {
                        Datum::Int(6)
                    }
                }
                oid::INTERVAL => Datum::Int(6),
                _ => Datum::Null,
            };
            let mut row = vec![
                ("table_catalog", database(catalog)),
                ("table_schema", schema(catalog, r.schema)),
                ("table_name", text(&*r.name)),
                ("column_name", text(&*c.name)),
                ("ordinal_position", int(c.attnum)),
                ("column_default", c.default.clone().into()),
                ("is_nullable", yes(!c.not_null)),
                ("data_type", text(data_type)),
                ("character_maximum_length", length),
                ("character_octet_length", octets),
                ("numeric_precision", precision),
                ("numeric_precision_radix", radix),
                ("numeric_scale", scale),
                ("datetime_precision", seconds),
                ("udt_catalog", database(catalog)),
                ("udt_schema", schema(catalog, udt_schema)),
                ("udt_name", text(udt_name)),
                ("dtd_identifier", text(c.attnum.to_string())),
                ("is_self_referencing", yes(false)),
                ("is_identity", yes(c.identity.is_some())),
                ("identity_cycle", yes(false)),
                ("is_generated", text(if c.generated.is_some() { "ALWAYS" } else { "NEVER" })),
                ("generation_expression", c.generated.clone().into()),
                ("is_updatable", yes(!is_view(r) && r.kind != RelationKind::System)),
            ];
            if let Some(d) = domain {
                row.extend([
                    ("domain_catalog", database(catalog)),
                    ("domain_schema", schema(catalog, d.schema)),
                    ("domain_name", text(&*d.name)),
                ]);
            }
            if let Some(identity) = c.identity {
                row.push((
                    "identity_generation",
                    text(if identity == Identity::Always { "ALWAYS" } else { "BY DEFAULT" }),
                ));
                if let Some(RelationKind::Sequence(s)) = catalog.relation(c.sequence).map(|s| &s.kind) {
                    row.retain(|v| v.0 != "identity_cycle");
                    row.extend([
                        ("identity_start", text(s.start.to_string())),
                        ("identity_increment", text(s.increment.to_string())),
                        ("identity_maximum", text(s.max.to_string())),
                        ("identity_minimum", text(s.min.to_string())),
                        ("identity_cycle", yes(s.cycle)),
                    ]);
                }
            }
            rows.push(&row);
        }
    }
}

fn views(rows: &mut Rows, catalog: &Catalog) {
    for r in shown(catalog) {
        let RelationKind::View { definition, .. } = &r.kind else { continue };
        rows.push(&[
            ("table_catalog", database(catalog)),
            ("table_schema", schema(catalog, r.schema)),
            ("table_name", text(&*r.name)),
            ("view_definition", text(format!("{definition};"))),
            ("check_option", text("NONE")),
            ("is_updatable", yes(false)),
            ("is_insertable_into", yes(false)),
            ("is_trigger_updatable", yes(false)),
            ("is_trigger_deletable", yes(false)),
            ("is_trigger_insertable_into", yes(false)),
        ]);
    }
}

fn sequences(rows: &mut Rows, catalog: &Catalog) {
    for r in catalog.relations.values() {
        let RelationKind::Sequence(s) = &r.kind else { continue };
        // The sequence of an identity column is not listed.
        if s.identity {
            continue;
        }
        let (precision, radix, scale) = numeric(s.type_oid, -1);
        rows.push(&[
            ("sequence_catalog", database(catalog)),
            ("sequence_schema", schema(catalog, r.schema)),
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

fn table_constraints(rows: &mut Rows, catalog: &Catalog) {
    for r in shown(catalog) {
        let mut push = |name: String, kind: &str, deferrable: bool, deferred: bool| {
            rows.push(&[
                ("constraint_catalog", database(catalog)),
                ("constraint_schema", schema(catalog, r.schema)),
                ("constraint_name", text(name)),
                ("table_catalog", database(catalog)),
                ("table_schema", schema(catalog, r.schema)),
                ("table_name", text(&*r.name)),
                ("constraint_type", text(kind)),
                ("is_deferrable", yes(deferrable)),
                ("initially_deferred", yes(deferred)),
                ("enforced", yes(true)),
            ]);
        };
        for c in &r.constraints {
            let kind = match c.kind {
                ConstraintKind::PrimaryKey => "PRIMARY KEY",
                ConstraintKind::Unique { .. } => "UNIQUE",
                ConstraintKind::Check { .. } => "CHECK",
                ConstraintKind::ForeignKey { .. } => "FOREIGN KEY",
            };
            push(c.name.clone(), kind, c.deferrable, c.initially_deferred);
        }
        if !is_view(r) {
            for c in r.live_columns().filter(|c| c.not_null) {
                push(format!("{}_{}_{}_not_null", r.schema, r.oid, c.attnum), "CHECK", false, false);
            }
        }
    }
}

fn column_name(relation: &Relation, attnum: i16) -> Datum {
    relation.column_by_attnum(attnum).map(|c| c.name.clone()).into()
}

fn key_column_usage(rows: &mut Rows, catalog: &Catalog) {
    for r in shown(catalog) {
        for c in &r.constraints {
            if matches!(c.kind, ConstraintKind::Check { .. }) {
                continue;
            }
            for (i, &attnum) in c.columns.iter().enumerate() {
                // The place of the referenced column in the key it references.
                let position = match &c.kind {
                    ConstraintKind::ForeignKey { references, columns, .. } => catalog
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
                    ("constraint_catalog", database(catalog)),
                    ("constraint_schema", schema(catalog, r.schema)),
                    ("constraint_name", text(&*c.name)),
                    ("table_catalog", database(catalog)),
                    ("table_schema", schema(catalog, r.schema)),
                    ("table_name", text(&*r.name)),
                    ("column_name", column_name(r, attnum)),
                    ("ordinal_position", int(i as i64 + 1)),
                    ("position_in_unique_constraint", position),
                ]);
            }
        }
    }
}

fn constraint_column_usage(rows: &mut Rows, catalog: &Catalog) {
    for r in shown(catalog) {
        for c in &r.constraints {
            let (table, columns) = match &c.kind {
                ConstraintKind::ForeignKey { references, columns, .. } => match catalog.relation(*references) {
                    Some(parent) => (&**parent, columns),
                    None => continue,
                },
                _ => (r, &c.columns),
            };
            for &attnum in columns {
                rows.push(&[
                    ("table_catalog", database(catalog)),
                    ("table_schema", schema(catalog, table.schema)),
                    ("table_name", text(&*table.name)),
                    ("column_name", column_name(table, attnum)),
                    ("constraint_catalog", database(catalog)),
                    ("constraint_schema", schema(catalog, r.schema)),
                    ("constraint_name", text(&*c.name)),
                ]);
            }
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

fn referential_constraints(rows: &mut Rows, catalog: &Catalog) {
    for r in shown(catalog) {
        for c in &r.constraints {
            let ConstraintKind::ForeignKey { references, on_update, on_delete, match_full, .. } = &c.kind else {
                continue;
            };
            let unique = catalog.relation(*references).and_then(|p| {
                p.constraints
                    .iter()
                    .find(|k| k.index == c.index && !matches!(k.kind, ConstraintKind::ForeignKey { .. }))
                    .map(|k| (p, k))
            });
            rows.push(&[
                ("constraint_catalog", database(catalog)),
                ("constraint_schema", schema(catalog, r.schema)),
                ("constraint_name", text(&*c.name)),
                ("unique_constraint_catalog", unique.map(|_| catalog.database.clone()).into()),
                ("unique_constraint_schema", unique.map_or(Datum::Null, |u| schema(catalog, u.0.schema))),
                ("unique_constraint_name", unique.map(|u| u.1.name.clone()).into()),
                ("match_option", text(if *match_full { "FULL" } else { "NONE" })),
                ("update_rule", rule(*on_update)),
                ("delete_rule", rule(*on_delete)),
            ]);
        }
    }
}

fn check_constraints(rows: &mut Rows, catalog: &Catalog) {
    for r in shown(catalog) {
        let mut push = |name: String, clause: String| {
            rows.push(&[
                ("constraint_catalog", database(catalog)),
                ("constraint_schema", schema(catalog, r.schema)),
                ("constraint_name", text(name)),
                ("check_clause", text(clause)),
            ]);
        };
        for c in &r.constraints {
            if let ConstraintKind::Check { expression, .. } = &c.kind {
                push(c.name.clone(), format!("({expression})"));
            }
        }
        if !is_view(r) {
            for c in r.live_columns().filter(|c| c.not_null) {
                push(format!("{}_{}_{}_not_null", r.schema, r.oid, c.attnum), format!("{} IS NOT NULL", c.name));
            }
        }
    }
}
