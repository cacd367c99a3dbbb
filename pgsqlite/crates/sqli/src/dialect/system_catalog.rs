//! Informix's system catalog: each table is a list of rows made from the catalog when a statement that names it is translated.
//! (The session translates a statement again when the catalog has changed.)

use super::column_order::columns_of;
use super::derived::QueryColumn;
use super::print::literal;
use super::system_privileges::{syscolauth, systabauth};
use super::translation::Environment;
use crate::values::complex::Complex;
use crate::values::types::Type;
use pgsqlite_sql::catalog::{Catalog, Constraint, ConstraintKind, ForeignKeyAction, KeyPart, Relation, RelationKind};
use pgsqlite_types::work;
use std::sync::Arc;

/// The system tables have the numbers from 1; those of users are above 100.
const TABLES: [&str; 49] = [
    "systables",
    "syscolumns",
    "sysindices",
    "systabauth",
    "syscolauth",
    "sysviews",
    "sysusers",
    "syssynonyms",
    "syssyntable",
    "sysconstraints",
    "sysreferences",
    "syschecks",
    "sysdefaults",
    "syscoldepend",
    "sysprocedures",
    "sysprocauth",
    "sysindexes",
    "sysobjstate",
    "sysxtdtypes",
    "sysroutinelangs",
    "syssequences",
    "sysxtddesc",
    "sysattrtypes",
    "sysinherits",
    "sysdistrib",
    "syscasts",
    "sysblobs",
    "sysroleauth",
    "syslangauth",
    "sysaggregates",
    "syscolattribs",
    "sysprocbody",
    "systriggers",
    "systrigbody",
    "sysviolations",
    "sysfragments",
    "sysfragauth",
    "sysopclstr",
    "sysopclasses",
    "syserrors",
    "systracemsgs",
    "systraceclasses",
    "sysprocplan",
    "sysxtdtypeauth",
    "sysextdfiles",
    "sysexternal",
    "sysextcols",
    "sysams",
    "syssecpolicies",
];

const PARTS: usize = 16;

/// Columns (name, PostgreSQL type) and rows (SQL literals).
pub(super) struct Table {
    pub columns: Vec<(String, &'static str)>,
    pub rows: Vec<Vec<String>>,
}

/// The columns of a system table and the query that gives its rows; None: there is no such table.
pub fn table(name: &str, environment: &Environment) -> Option<(Vec<QueryColumn>, String)> {
    let table = make(name, environment)?;
    let names: Vec<String> = table.columns.iter().map(|(n, _)| n.clone()).collect();
    let list: Vec<String> = table.columns.iter().map(|(n, t)| format!("v.\"{n}\"::{t} AS \"{n}\"")).collect();
    let (rows, none) = match table.rows.is_empty() {
        true => (vec![vec!["NULL".to_string(); names.len()]], " WHERE FALSE"),
        false => (table.rows, ""),
    };
    let rows: Vec<String> = rows.iter().map(|r| format!("({})", r.join(", "))).collect();
    let quoted: Vec<String> = names.iter().map(|n| format!("\"{n}\"")).collect();
    let sql = format!("SELECT {} FROM (VALUES {}) AS v({}){none}", list.join(", "), rows.join(", "), quoted.join(", "));
    // what is a CHAR has to be known: blanks behind it do not count
    let types = table.columns.iter().map(|(_, t)| super::simple_type(t));
    Some((names.into_iter().map(Some).zip(types).collect(), sql))
}

pub(super) fn columns(list: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
    list.iter().map(|(n, t)| (n.to_string(), *t)).collect()
}

pub(super) const NAME: &str = "varchar(128)";
pub(super) const OWNER: &str = "char(32)";
pub(super) const FLAG: &str = "char(1)";

fn make(name: &str, environment: &Environment) -> Option<Table> {
    let catalog = &environment.catalog;
    Some(match name {
        "systables" => systables(environment),
        "syscolumns" => syscolumns(catalog),
        "sysindexes" => sysindexes(catalog),
        "sysindices" => sysindices(catalog),
        "sysconstraints" => Table {
            columns: columns(&[
                ("constrid", "int"),
                ("constrname", NAME),
                ("owner", OWNER),
                ("tabid", "int"),
                ("constrtype", FLAG),
                ("idxname", NAME),
                ("collation", OWNER),
            ]),
            rows: constraints(catalog)
                .map(|(r, c)| {
                    let kind = match c.kind {
                        ConstraintKind::PrimaryKey => "P",
                        ConstraintKind::Unique { .. } => "U",
                        ConstraintKind::ForeignKey { .. } => "R",
                        ConstraintKind::NotNull { .. } => "N",
                        // Informix has no such constraint: it is shown as what it is most like
                        ConstraintKind::Exclusion => "U",
                        ConstraintKind::Check { .. } | ConstraintKind::SqliteCheck { .. } => "C",
                    };
                    let index = index_name(catalog, c);
                    vec![
                        c.oid.to_string(),
                        literal(&c.name),
                        owner(catalog, r),
                        r.oid.to_string(),
                        literal(kind),
                        index.map_or("NULL".into(), |n| literal(&n)),
                        literal(environment.codeset.site()),
                    ]
                })
                .collect(),
        },
        "sysreferences" => Table {
            columns: columns(&[
                ("constrid", "int"),
                ("primary", "int"),
                ("ptabid", "int"),
                ("updrule", FLAG),
                ("delrule", FLAG),
                ("matchtype", FLAG),
                ("pendant", FLAG),
            ]),
            rows: constraints(catalog)
                .filter_map(|(_, c)| match &c.kind {
                    ConstraintKind::ForeignKey { references, columns, on_delete, .. } => {
                        let target = catalog.relation(*references)?;
                        let key = target.constraints.iter().find(|k| {
                            let is_key = matches!(k.kind, ConstraintKind::PrimaryKey | ConstraintKind::Unique { .. });
                            is_key && k.columns == *columns
                        });
                        let rule = if *on_delete == ForeignKeyAction::Cascade { "'C'" } else { "'R'" };
                        Some(vec![
                            c.oid.to_string(),
                            key.map_or(0, |k| k.oid).to_string(),
                            references.to_string(),
                            "'R'".into(),
                            rule.into(),
                            "'N'".into(),
                            "'N'".into(),
                        ])
                    }
                    _ => None,
                })
                .collect(),
        },
        "sysobjstate" => Table {
            columns: columns(&[("objtype", FLAG), ("owner", OWNER), ("name", NAME), ("tabid", "int"), ("state", FLAG)]),
            rows: constraints(catalog)
                .map(|(r, c)| ("C", r, c.name.clone()))
                .chain(indexes(catalog).map(|(r, i, _)| ("I", r, i.name.clone())))
                .map(|(kind, r, name)| {
                    vec![literal(kind), owner(catalog, r), literal(&name), r.oid.to_string(), "'E'".into()]
                })
                .collect(),
        },
        "sysxtdtypes" => Table {
            columns: columns(&[
                ("extended_id", "int"),
                ("domain", FLAG),
                ("mode", FLAG),
                ("owner", OWNER),
                ("name", NAME),
                ("type", "smallint"),
                ("source", "int"),
                ("maxlen", "int"),
                ("length", "int"),
                ("byvalue", FLAG),
                ("cannothash", FLAG),
                ("align", "smallint"),
                ("locator", "int"),
            ]),
            rows: [
                (1, "lvarchar", 40, 32739, 0),
                (5, "boolean", 41, 0, 1),
                (10, "blob", 41, 0, 72),
                (11, "clob", 41, 0, 72),
            ]
            .iter()
            .map(|(id, name, code, most, length)| {
                let mut row = vec![id.to_string(), "' '".into(), "'B'".into(), "'informix'".into(), literal(name)];
                row.extend([code, &0, most, length].map(|n: &i32| n.to_string()));
                row.extend(["'F'".into(), "'F'".into(), "1".into(), "0".into()]);
                row
            })
            .chain(complex_types(catalog).map(|(id, complex)| {
                let mode = if complex.fields().is_some() { "'R'" } else { "'C'" };
                let name = if let Complex::Named(name, _) = complex { literal(name) } else { "NULL".into() };
                let mut row = vec![id.to_string(), "' '".into(), mode.into(), "'informix'".into(), name];
                row.extend([complex.code().to_string(), "0".into(), "0".into(), "0".into()]);
                row.extend(["'F'".into(), "'T'".into(), "4".into(), "0".into()]);
                row
            }))
            .collect(),
        },
        // what the types are that have no name
        "sysxtddesc" => Table {
            columns: columns(&[("extended_id", "int"), ("seqno", "smallint"), ("description", "char(256)")]),
            rows: complex_types(catalog)
                .map(|(id, complex)| vec![id.to_string(), "1".into(), literal(&complex.written())])
                .collect(),
        },
        // the types that each of them is made of
        "sysattrtypes" => Table {
            columns: columns(&[
                ("extended_id", "int"),
                ("seqno", "smallint"),
                ("levelno", "smallint"),
                ("parent_no", "smallint"),
                ("fieldname", NAME),
                ("fieldno", "smallint"),
                ("type", "smallint"),
                ("length", "smallint"),
                ("xtd_type_id", "int"),
            ]),
            rows: complex_types(catalog)
                .flat_map(|(id, complex)| {
                    // Without the type itself: clients would look into it for ever. Of a row type that has a name they begin behind it.
                    let first = if matches!(complex, Complex::Named(..)) { 0 } else { 1 };
                    complex.nodes().into_iter().enumerate().skip(first).map(move |(i, node)| {
                        let field = node.ty.field(String::new(), false);
                        let number = match i {
                            0 => Some(0),
                            _ => node.ty.complex().and_then(|c| c.oid(catalog)).map(|oid| oid as i32),
                        };
                        let name = if node.name.is_empty() { "NULL".into() } else { literal(&node.name) };
                        let mut row = vec![id.to_string(), (i + 1 - first).to_string(), node.level.to_string()];
                        row.extend([node.parent.saturating_sub(first).to_string(), name, node.field.to_string()]);
                        let length = field.encoded_length as i16;
                        row.extend([node.ty.code().to_string(), length.to_string()]);
                        row.push(number.unwrap_or(field.extended_id).to_string());
                        row
                    })
                })
                .collect(),
        },
        "sysdefaults" => Table {
            columns: columns(&[
                ("tabid", "int"),
                ("colno", "smallint"),
                ("type", FLAG),
                ("default", "varchar(256)"),
                ("class", FLAG),
            ]),
            rows: relations(catalog)
                .flat_map(|r| columns_of(catalog, r).into_iter().enumerate().map(move |(i, c)| (r, i + 1, c)))
                .filter_map(|(r, number, c)| {
                    let (kind, text) = default(c.default.as_deref()?)?;
                    let text = text.map_or("NULL".into(), |t| literal(&t));
                    Some(vec![r.oid.to_string(), number.to_string(), literal(kind), text, "'T'".into()])
                })
                .collect(),
        },
        "syssequences" => Table {
            columns: columns(&[
                ("seqid", "int"),
                ("tabid", "int"),
                ("start_val", "bigint"),
                ("inc_val", "bigint"),
                ("min_val", "bigint"),
                ("max_val", "bigint"),
                ("cycle", FLAG),
                ("restart_val", "bigint"),
                ("cache", "int"),
                ("order", FLAG),
            ]),
            rows: relations(catalog)
                .filter_map(|r| match &r.kind {
                    RelationKind::Sequence(s) => {
                        let mut row = vec![r.oid.to_string(), r.oid.to_string()];
                        row.extend([s.start, s.increment, s.min, s.max].map(|n| n.to_string()));
                        row.extend([if s.cycle { "'1'" } else { "'0'" }.into(), "NULL".into()]);
                        row.extend([s.cache.min(i32::MAX.into()).to_string(), "'1'".into()]);
                        Some(row)
                    }
                    _ => None,
                })
                .collect(),
        },
        "sysviews" => Table {
            columns: columns(&[("tabid", "int"), ("seqno", "smallint"), ("viewtext", "varchar(32000)")]),
            rows: relations(catalog)
                .filter_map(|r| match &r.kind {
                    RelationKind::View { definition, .. } => {
                        let text = format!("create view {} as {definition};", r.name);
                        Some(vec![r.oid.to_string(), "0".into(), literal(&text)])
                    }
                    _ => None,
                })
                .collect(),
        },
        "syschecks" => Table {
            columns: columns(&[
                ("constrid", "int"),
                ("type", FLAG),
                ("seqno", "smallint"),
                ("checktext", "varchar(32000)"),
            ]),
            rows: constraints(catalog)
                .filter_map(|(_, c)| match &c.kind {
                    ConstraintKind::Check { expression, .. } => {
                        Some(vec![c.oid.to_string(), "'T'".into(), "0".into(), literal(expression)])
                    }
                    _ => None,
                })
                .collect(),
        },
        "sysusers" => Table {
            columns: columns(&[("username", OWNER), ("usertype", FLAG), ("priority", "smallint"), ("password", OWNER)]),
            rows: catalog
                .roles
                .values()
                .filter(|r| r.login)
                .map(|r| {
                    vec![literal(&r.name), literal(if r.superuser { "D" } else { "C" }), "5".into(), "NULL".into()]
                })
                .collect(),
        },
        // there are no synonyms and no routines
        "syssynonyms" => Table {
            columns: columns(&[("owner", OWNER), ("synname", NAME), ("created", "date"), ("tabid", "int")]),
            rows: super::synonyms::all(catalog)
                .map(|(r, name, _)| {
                    let id = r.function.oid.to_string();
                    vec!["'informix'".into(), literal(&name), "'2000-01-01'".into(), id]
                })
                .collect(),
        },
        "syssyntable" => Table {
            columns: columns(&[
                ("tabid", "int"),
                ("servername", NAME),
                ("dbname", NAME),
                ("owner", OWNER),
                ("tabname", NAME),
                ("btabid", "int"),
            ]),
            rows: super::synonyms::all(catalog)
                .filter_map(|(r, _, target)| {
                    let schema = catalog.schema_oid(target.owner.as_deref().unwrap_or("public"))?;
                    let table = catalog.relation_in(schema, &target.name)?;
                    let null = || "NULL".to_string();
                    let ids = [r.function.oid, table.oid].map(|n| n.to_string());
                    Some(vec![ids[0].clone(), null(), null(), null(), null(), ids[1].clone()])
                })
                .collect(),
        },
        "systabauth" => systabauth(catalog),
        "sysroleauth" => Table {
            columns: columns(&[("rolename", OWNER), ("grantee", OWNER), ("is_grantable", FLAG)]),
            rows: catalog
                .roles
                .values()
                .flat_map(|r| r.memberships.iter().map(move |m| (r, m)))
                .filter_map(|(r, m)| {
                    let name = catalog.role_name(m.role)?;
                    Some(vec![literal(name), literal(&r.name), literal(if m.admin { "Y" } else { "N" })])
                })
                .collect(),
        },
        "sysroutinelangs" => Table {
            columns: columns(&[
                ("langid", "int"),
                ("langname", "char(30)"),
                ("langinitfunc", NAME),
                ("langpath", "char(255)"),
                ("langclass", "char(18)"),
            ]),
            rows: vec![vec!["2".into(), "'spl'".into(), "''".into(), "''".into(), "''".into()]],
        },
        "syscolauth" => syscolauth(catalog),
        "sysinherits" => Table {
            columns: columns(&[("child", "int"), ("parent", "int"), ("class", FLAG)]),
            rows: relations(catalog)
                .flat_map(|r| r.inheritance.parents.iter().map(move |parent| (r.oid, *parent)))
                .chain(complex_types(catalog).filter_map(|(child, complex)| {
                    let parent = complex.parent(catalog)?.0.oid(catalog)?;
                    Some((child, parent))
                }))
                .map(|(child, parent)| vec![child.to_string(), parent.to_string(), "'t'".into()])
                .collect(),
        },
        "syscoldepend" => Table {
            columns: columns(&[("constrid", "int"), ("tabid", "int"), ("colno", "smallint")]),
            rows: constraints(catalog)
                .filter(|(_, c)| matches!(c.kind, ConstraintKind::Check { .. } | ConstraintKind::NotNull { .. }))
                .flat_map(|(r, c)| c.columns.iter().map(move |attnum| (r, c, *attnum)))
                .map(|(r, c, attnum)| {
                    vec![c.oid.to_string(), r.oid.to_string(), column_number(catalog, r, attnum).to_string()]
                })
                .collect(),
        },
        // nothing of these kinds can be made
        name => {
            if let Some(table) = super::system_routines::table(name, catalog) {
                return Some(table);
            }
            let (_, list) = EMPTY.iter().find(|(n, _)| *n == name)?;
            Table { columns: columns(list), rows: vec![] }
        }
    })
}

/// Tables of what cannot be here, so that they have no rows.
const EMPTY: [(&str, &[(&str, &str)]); 22] = [
    ("sysviolations", &[("targettid", "int"), ("viotid", "int"), ("diatid", "int"), ("maxrows", "int")]),
    (
        "sysfragments",
        &[
            ("fragtype", FLAG),
            ("tabid", "int"),
            ("indexname", NAME),
            ("colno", "int"),
            ("partn", "int"),
            ("strategy", FLAG),
            ("dbspace", NAME),
            ("evalpos", "int"),
            ("exprtext", "text"),
        ],
    ),
    (
        "sysfragauth",
        &[("grantor", OWNER), ("grantee", OWNER), ("tabid", "int"), ("fragment", NAME), ("fragauth", "char(6)")],
    ),
    ("sysopclstr", &[("owner", OWNER), ("clstrname", NAME), ("clstrsize", "int"), ("tabid", "int")]),
    ("sysopclasses", &[("opclassname", NAME), ("owner", OWNER), ("amid", "int"), ("opclassid", "int")]),
    (
        "syserrors",
        &[
            ("sqlstate", "char(5)"),
            ("locale", "char(36)"),
            ("level", "smallint"),
            ("seqno", "smallint"),
            ("message", "varchar(255)"),
        ],
    ),
    (
        "systracemsgs",
        &[("name", NAME), ("msgid", "int"), ("locale", "char(36)"), ("seqno", "smallint"), ("message", "varchar(255)")],
    ),
    ("systraceclasses", &[("name", "char(18)"), ("classid", "int")]),
    (
        "sysprocplan",
        &[
            ("procid", "int"),
            ("planid", "int"),
            ("datakey", FLAG),
            ("seqno", "int"),
            ("created", "date"),
            ("data", "char(256)"),
        ],
    ),
    ("sysxtdtypeauth", &[("grantor", OWNER), ("grantee", OWNER), ("type", "int"), ("auth", "char(2)")]),
    ("sysexternal", &[("tabid", "int"), ("fmttype", FLAG)]),
    ("sysextcols", &[("tabid", "int"), ("colno", "smallint"), ("exttype", "smallint")]),
    ("sysams", &[("am_name", NAME), ("am_owner", OWNER), ("am_id", "int"), ("am_type", FLAG)]),
    ("syssecpolicies", &[("secpolicyname", NAME), ("secpolicyid", "int")]),
    ("sysextdfiles", &[("tabid", "int"), ("dfentry", "char(152)")]),
    ("sysprocauth", &[("grantor", OWNER), ("grantee", OWNER), ("procid", "int"), ("procauth", FLAG)]),
    (
        "sysdistrib",
        &[("tabid", "int"), ("colno", "smallint"), ("seqno", "int"), ("constructed", "date"), ("mode", FLAG)],
    ),
    (
        "syscasts",
        &[
            ("owner", OWNER),
            ("argument_type", "smallint"),
            ("argument_xid", "int"),
            ("result_type", "smallint"),
            ("result_xid", "int"),
            ("routine_name", NAME),
            ("class", FLAG),
        ],
    ),
    ("sysblobs", &[("spacename", NAME), ("type", FLAG), ("tabid", "int"), ("colno", "smallint")]),
    ("syslangauth", &[("grantor", OWNER), ("grantee", OWNER), ("langid", "int"), ("langauth", FLAG)]),
    ("sysaggregates", &[("name", NAME), ("owner", OWNER), ("aggid", "int")]),
    (
        "syscolattribs",
        &[("tabid", "int"), ("colno", "smallint"), ("extentsize", "int"), ("flags", "int"), ("sbspace", NAME)],
    ),
];

// --- what is told of --------------------------------------------------------------------------------------------------------

/// Tables, views and sequences of users, without temporary ones and those of PostgreSQL.
pub(super) fn relations(catalog: &Catalog) -> impl Iterator<Item = &Arc<Relation>> {
    catalog.relations.values().filter(|r| {
        let kind = match &r.kind {
            RelationKind::Sequence(s) => s.owned_by.is_none(),
            RelationKind::Index(_) | RelationKind::System => false,
            _ => true,
        };
        let schema = catalog.schema_name(r.schema);
        kind && !r.temporary && !matches!(schema, "pg_catalog" | "information_schema" | "pg_toast")
    })
}

/// The types of collections and rows that were made for columns.
fn complex_types(catalog: &Catalog) -> impl Iterator<Item = (u32, &'static Complex)> + '_ {
    catalog.types.keys().filter_map(|oid| Some((*oid, Complex::of_stored(catalog, *oid)?)))
}

fn constraints(catalog: &Catalog) -> impl Iterator<Item = (&Arc<Relation>, &Constraint)> {
    relations(catalog).flat_map(|r| r.constraints.iter().map(move |c| (r, c)))
}

fn indexes(catalog: &Catalog) -> impl Iterator<Item = (&Arc<Relation>, &Arc<Relation>, &pgsqlite_sql::catalog::Index)> {
    let told = |r| catalog.indexes_of(r).filter(|(_, index)| !index.is_named_only());
    relations(catalog).flat_map(move |r| told(r.oid).map(move |(i, index)| (r, i, index)))
}

/// What is in `public` belongs to its owner, what is in another schema is named by that.
pub(super) fn owner(catalog: &Catalog, r: &Relation) -> String {
    match catalog.schema_name(r.schema) {
        "public" => literal(catalog.role_name(r.owner).unwrap_or("informix")),
        schema => literal(schema),
    }
}

/// The number of a column among those that are there.
fn column_number(catalog: &Catalog, r: &Relation, attnum: i16) -> usize {
    columns_of(catalog, r).into_iter().position(|c| c.attnum == attnum).map_or(0, |i| i + 1)
}

/// The index behind a constraint. That of a foreign key has a name that begins with a blank, as Informix's own have.
fn index_name(catalog: &Catalog, c: &Constraint) -> Option<String> {
    match c.kind {
        ConstraintKind::Check { .. } | ConstraintKind::SqliteCheck { .. } | ConstraintKind::NotNull { .. } => None,
        ConstraintKind::ForeignKey { .. } => Some(format!(" {}", c.oid)),
        _ => catalog.relation(c.index).map(|i| i.name.clone()).or_else(|| Some(c.name.clone())),
    }
}

/// A default as Informix classes it: L literal, C CURRENT, T TODAY, U USER. None: a serial's, or an expression Informix has not.
fn default(text: &str) -> Option<(&'static str, Option<String>)> {
    let lower = text.to_ascii_lowercase();
    if lower.starts_with("nextval(") {
        return None;
    }
    if lower.contains("localtimestamp") || lower.contains("current_timestamp") || lower.contains("now()") {
        return Some(("C", None));
    }
    if lower.contains("current_date") {
        return Some(("T", None));
    }
    if lower.starts_with("current_user") || lower.starts_with("(current_user") {
        return Some(("U", None));
    }
    // 'x'::type, or a number
    let value = match text.strip_prefix('\'') {
        Some(rest) => rest[..rest.rfind('\'')?].replace("''", "'"),
        None => text.split("::").next()?.trim_matches(['(', ')']).to_string(),
    };
    Some(("L", Some(value)))
}

fn systables(environment: &Environment) -> Table {
    let catalog = &environment.catalog;
    let columns = columns(&[
        ("tabname", NAME),
        ("owner", OWNER),
        ("partnum", "int"),
        ("tabid", "int"),
        ("rowsize", "smallint"),
        ("ncols", "smallint"),
        ("nindexes", "smallint"),
        ("nrows", "float8"),
        ("created", "date"),
        ("version", "int"),
        ("tabtype", FLAG),
        ("locklevel", FLAG),
        ("npused", "float8"),
        ("fextsize", "int"),
        ("nextsize", "int"),
        ("flags", "smallint"),
        ("site", NAME),
        ("dbname", NAME),
        ("type_xid", "int"),
        ("am_id", "int"),
    ]);
    let row = |name: &str, owner: String, id: u32, counts: [usize; 3], kind: &str, site: &str| {
        let mut row = vec![literal(name), owner, "0".into(), id.to_string()];
        row.extend(counts.map(|n| n.min(i16::MAX as usize).to_string()));
        row.extend(["0", "'2000-01-01'", "1"].map(String::from));
        row.push(literal(kind));
        row.extend(["'R'", "0", "16", "16", "0"].map(String::from));
        row.extend([literal(site), "NULL".into(), "0".into(), "0".into()]);
        row
    };
    let informix = || "'informix'".to_string();
    let mut rows: Vec<Vec<String>> =
        TABLES.iter().enumerate().map(|(i, name)| row(name, informix(), i as u32 + 1, [0; 3], "T", "")).collect();
    let site = environment.codeset.site();
    for (i, name) in [" GL_COLLATE", " GL_CTYPE", " VERSION"].into_iter().enumerate() {
        work::visit();
        rows.push(row(name, informix(), 90 + i as u32, [0; 3], "", site));
    }
    for r in relations(catalog) {
        work::visit();
        let kind = match r.kind {
            RelationKind::Table => "T",
            RelationKind::Sequence(_) => "Q",
            _ => "V",
        };
        let width: usize = r.live_columns().filter_map(|c| Type::of_column(catalog, c)).map(Type::width).sum();
        let counts = [width, r.live_columns().count(), catalog.indexes_of(r.oid).count()];
        rows.push(row(&r.name, owner(catalog, r), r.oid, counts, kind, ""));
    }
    for (r, name, _) in super::synonyms::all(catalog) {
        work::visit();
        rows.push(row(&name, informix(), r.function.oid, [0; 3], "S", ""));
    }
    Table { columns, rows }
}

fn syscolumns(catalog: &Catalog) -> Table {
    const NOT_NULL: i32 = 256;
    let columns = columns(&[
        ("colname", NAME),
        ("tabid", "int"),
        ("colno", "smallint"),
        ("coltype", "smallint"),
        ("collength", "smallint"),
        ("colmin", "int"),
        ("colmax", "int"),
        ("extended_id", "int"),
        ("seclabelid", "int"),
        ("colattr", "smallint"),
    ]);
    let mut rows = Vec::new();
    for r in relations(catalog) {
        work::visit();
        for (i, c) in columns_of(catalog, r).into_iter().enumerate() {
            work::visit();
            // what Informix has no type for cannot be read, but is there
            let ty = Type::of_column(catalog, c).unwrap_or(Type::LVarChar(crate::values::types::LVARCHAR));
            let field = ty.numbered_field(String::new(), false, catalog);
            let code = ty.code() as i32 | ty.flags() as i32 | if c.not_null { NOT_NULL } else { 0 };
            let mut row = vec![literal(&c.name)];
            row.extend([r.oid as i64, i as i64 + 1, code as i64].map(|n| n.to_string()));
            // the column is a short: lengths above are negative in it
            row.push((field.encoded_length as i16).to_string());
            row.extend(["NULL".to_string(), "NULL".into(), field.extended_id.to_string(), "0".into(), "0".into()]);
            rows.push(row);
        }
    }
    Table { columns, rows }
}

fn sysindexes(catalog: &Catalog) -> Table {
    let mut names =
        columns(&[("idxname", NAME), ("owner", OWNER), ("tabid", "int"), ("idxtype", FLAG), ("clustered", FLAG)]);
    names.extend((1..=PARTS).map(|i| (format!("part{i}"), "smallint")));
    names.extend(columns(&[("levels", "smallint"), ("leaves", "float8"), ("nunique", "float8"), ("clust", "float8")]));
    let row = |name: &str, r: &Relation, unique: bool, parts: Vec<i64>| {
        let mut row = vec![literal(name), owner(catalog, r), r.oid.to_string()];
        row.extend([literal(if unique { "U" } else { "D" }), "''".into()]);
        row.extend((0..PARTS).map(|i| parts.get(i).copied().unwrap_or(0).to_string()));
        row.extend(["1", "0", "0", "0"].map(String::from));
        row
    };
    let mut rows = Vec::new();
    for (r, relation, index) in indexes(catalog) {
        work::visit();
        let parts = index.columns.iter().map(|c| match &c.key {
            KeyPart::Column(attnum) if c.descending => -(column_number(catalog, r, *attnum) as i64),
            KeyPart::Column(attnum) => column_number(catalog, r, *attnum) as i64,
            KeyPart::Expression(_) => 0,
        });
        rows.push(row(&relation.name, r, index.unique, parts.collect()));
    }
    for (r, c) in constraints(catalog) {
        work::visit();
        let own = matches!(c.kind, ConstraintKind::ForeignKey { .. }) || catalog.relation(c.index).is_none();
        if let (true, Some(name)) = (own, index_name(catalog, c)) {
            let unique = !matches!(c.kind, ConstraintKind::ForeignKey { .. });
            rows.push(row(&name, r, unique, c.columns.iter().map(|a| column_number(catalog, r, *a) as i64).collect()));
        }
    }
    Table { columns: names, rows }
}

/// What `sysindexes` is a view of: the columns of an index are in one text, each with its operator class.
fn sysindices(catalog: &Catalog) -> Table {
    let whole = sysindexes(catalog);
    let place = |name: &str| whole.columns.iter().position(|(n, _)| n == name).unwrap_or(0);
    let (first, levels) = (place("part1"), place("levels"));
    let mut columns: Vec<_> = whole.columns[..first].to_vec();
    columns.extend_from_slice(&whole.columns[levels..]);
    columns.push(("indexkeys".into(), "varchar(2048)"));
    let rows = whole
        .rows
        .iter()
        .map(|row| {
            let parts = row[first..levels].iter().filter(|part| *part != "0");
            let keys: Vec<String> = parts.map(|part| format!("{part} [1]")).collect();
            let mut out = row[..first].to_vec();
            out.extend_from_slice(&row[levels..]);
            out.push(literal(&keys.join(", ")));
            out
        })
        .collect();
    Table { columns, rows }
}

/// `CASE coltype …` over type numbers. Its own names are such that they hide nothing of the query around.
fn by_type(coltype: &str, branches: &[(&str, &str)], otherwise: &str) -> String {
    let whens: String =
        branches.iter().map(|(numbers, then)| format!(" WHEN \"(code)\" IN ({numbers}) THEN {then}")).collect();
    format!(
        "(SELECT CASE{whens} ELSE {otherwise} END FROM (SELECT ({coltype})::int & 255 AS \"(code)\") AS \"(type)\")"
    )
}

/// The routines that clients ask for descriptions of columns, written out over their arguments; None: unknown.
pub fn function(name: &str, arguments: &[String]) -> Option<String> {
    let argument = |i: usize| arguments.get(i).map(String::as_str);
    let coltype = argument(0)?;
    const INTEGERS: &str = "1, 2, 6, 17, 18, 52, 53";
    const SERIALS: &str = "6, 18, 53";
    const CHARACTERS: &str = "0, 13, 15, 16, 40";
    // the second argument tells opaque types apart
    let opaque = |boolean: &str, blob: &str, clob: &str| {
        Some(format!("CASE ({})::int WHEN 10 THEN {blob} WHEN 11 THEN {clob} ELSE {boolean} END", argument(1)?))
    };
    Some(match (name, arguments.len()) {
        // java.sql.Types
        ("get_data_type", 3) => by_type(
            coltype,
            &[
                ("0, 15", "1"),
                ("1", "5"),
                ("2, 6", "4"),
                ("3", "8"),
                ("4", "7"),
                ("5, 8", "3"),
                ("7", "91"),
                ("10", "93"),
                ("11", "-4"),
                ("12", "-1"),
                ("13, 16", "12"),
                ("17, 18, 52, 53", "-5"),
                ("40", "-1"),
                // STRUCT; the driver has no type of SQL's for collections
                ("22", "2002"),
                ("41", &opaque("16", "2004", "2005")?),
            ],
            "1111",
        ),
        ("schema_coltypename", 2) => by_type(
            coltype,
            &[
                ("0", "'char'"),
                ("1", "'smallint'"),
                ("2", "'int'"),
                ("3", "'float'"),
                ("4", "'smallfloat'"),
                ("5", "'decimal'"),
                ("6", "'serial'"),
                ("7", "'date'"),
                ("8", "'money'"),
                ("10", "'datetime'"),
                ("11", "'byte'"),
                ("12", "'text'"),
                ("13", "'varchar'"),
                ("14", "'interval'"),
                ("15", "'nchar'"),
                ("16", "'nvarchar'"),
                ("17", "'int8'"),
                ("18", "'serial8'"),
                ("19", "'set'"),
                ("20", "'multiset'"),
                ("21", "'list'"),
                ("22", "'row'"),
                ("40", "'lvarchar'"),
                ("41", &opaque("'boolean'", "'blob'", "'clob'")?),
                ("52", "'bigint'"),
                ("53", "'bigserial'"),
            ],
            "''",
        ),
        ("schema_precision", 3) => {
            let length = argument(2)?;
            let decimal = format!("(({length})::int & 65535) / 256");
            let plain = format!("({length})::int");
            by_type(
                coltype,
                &[
                    ("1", "5"),
                    ("2, 6", "10"),
                    ("17, 18, 52, 53", "19"),
                    ("3", "15"),
                    ("4", "7"),
                    ("5, 8", &decimal),
                    (CHARACTERS, &plain),
                    ("7", "10"),
                    // the driver reads the qualifier from it
                    ("10, 14", &plain),
                    ("41", "1"),
                ],
                "NULL::int",
            )
        }
        ("schema_numscale", 2) => {
            let scale = format!("nullif(({})::int & 255, 255)", argument(1)?);
            by_type(coltype, &[(INTEGERS, "0"), ("5, 8", &scale)], "NULL::int")
        }
        ("schema_numprecradix", 1) => by_type(coltype, &[(INTEGERS, "10"), ("5, 8", "10"), ("3, 4", "2")], "NULL::int"),
        ("schema_isnullable", 1) => format!("(CASE WHEN ({coltype})::int & 256 = 0 THEN 1 ELSE 0 END)"),
        ("schema_nullable", 1) => format!("(CASE WHEN ({coltype})::int & 256 = 0 THEN 'YES' ELSE 'NO' END)"),
        ("schema_isautoincr", 1) => by_type(coltype, &[(SERIALS, "'YES'")], "'NO'"),
        ("schema_datetype", 2) => by_type(coltype, &[("7", "1"), ("10", "3")], "NULL::int"),
        ("schema_charlen", 3) => {
            let plain = format!("({})::int", argument(2)?);
            by_type(coltype, &[(CHARACTERS, &plain)], "NULL::int")
        }
        ("get_default_value", 4) => format!("({})::varchar(256)", argument(3)?),
        _ => return None,
    })
}
