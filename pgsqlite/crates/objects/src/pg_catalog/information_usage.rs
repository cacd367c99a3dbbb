//! information_schema, second part: privileges, routines, and who uses what.

use super::information_schema::{data_type, database, schema, yes, Row};
use super::{int, text, Rows};
use pgsqlite_metadata::store::base::DATABASE_OWNER_ROLE;
use pgsqlite_natives::udf::session_cell::SessionState;
use pgsqlite_sql::acl::{self, privilege, AclItem, AclObject, PUBLIC_ROLE};
use pgsqlite_sql::builtins::catalog as builtin;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::{self, Names, Reference};
use pgsqlite_sql::routine::Function;
use pgsqlite_types::work;
use pgsqlite_types::{Datum, Oid};

type Make = fn(&mut Rows, &SessionState);

pub(super) fn maker(name: &str) -> Option<Make> {
    Some(match name {
        "table_privileges" => |rows, state| table_privileges(rows, state, true),
        "role_table_grants" => |rows, state| table_privileges(rows, state, false),
        "column_privileges" => |rows, state| column_privileges(rows, state, true),
        "role_column_grants" => |rows, state| column_privileges(rows, state, false),
        "usage_privileges" => |rows, state| usage_privileges(rows, state, true),
        "role_usage_grants" => |rows, state| usage_privileges(rows, state, false),
        "udt_privileges" => |rows, state| udt_privileges(rows, state, true),
        "role_udt_grants" => |rows, state| udt_privileges(rows, state, false),
        "applicable_roles" => applicable_roles,
        "administrable_role_authorizations" => administrable_roles,
        "enabled_roles" => enabled_roles,
        "routines" => routines,
        "parameters" => parameters,
        "character_sets" => character_sets,
        "column_domain_usage" => column_domain_usage,
        "column_udt_usage" => column_udt_usage,
        "domain_udt_usage" => domain_udt_usage,
        "view_table_usage" => view_table_usage,
        "view_column_usage" => view_column_usage,
        "triggers" => super::information_triggers::triggers,
        "triggered_update_columns" => super::information_triggers::update_columns,
        // none of these can be made here
        "transforms"
        | "column_options"
        | "foreign_data_wrapper_options"
        | "foreign_data_wrappers"
        | "foreign_server_options"
        | "foreign_servers"
        | "foreign_table_options"
        | "foreign_tables"
        | "user_mapping_options"
        | "user_mappings"
        | "_pg_foreign_data_wrappers"
        | "_pg_foreign_servers"
        | "_pg_foreign_table_columns"
        | "_pg_foreign_tables"
        | "_pg_user_mappings" => nothing,
        other => return super::information_routines::maker(other),
    })
}

fn nothing(_: &mut Rows, _: &SessionState) {}

// --- privileges --------------------------------------------------------------------------------------------------------

/// The privileges that the current role may hear of: those that it, or a role whose rights it has, has granted or was granted.
pub(super) struct Heard<'a> {
    catalog: &'a Catalog,
    /// None: all of them (a superuser)
    roles: Option<Vec<Oid>>,
    /// those of PUBLIC, too
    public: bool,
}

impl<'a> Heard<'a> {
    pub(super) fn of(state: &'a SessionState, public: bool) -> Heard<'a> {
        let catalog = &*state.catalog;
        let all = acl::is_superuser(catalog, state.user_oid);
        let roles = (!all).then(|| acl::inherited_roles(catalog, state.user_oid));
        Heard { catalog, roles, public }
    }

    /// The privileges of a list: (grantor, grantee, SQL word, grantable). An owner can grant what is his.
    pub(super) fn spread(&self, items: &[AclItem], owner: Oid) -> Vec<(Datum, Datum, &'static str, Datum)> {
        let name = |oid: Oid| match oid {
            PUBLIC_ROLE => text("PUBLIC"),
            oid => text(self.catalog.role_name(oid).unwrap_or("unknown")),
        };
        let enabled = |role: Oid| self.roles.as_ref().is_none_or(|roles| roles.contains(&role));
        let heard = |item: &&AclItem| match item.grantee {
            PUBLIC_ROLE => self.public || enabled(item.grantor),
            grantee => enabled(item.grantor) || enabled(grantee),
        };
        let mut out = Vec::new();
        for item in items.iter().filter(heard) {
            work::visit();
            for (bit, (_, word)) in privilege::NAMES.iter().enumerate() {
                work::visit();
                // (the standard has no MAINTAIN)
                if item.privileges & (1 << bit) & !privilege::MAINTAIN == 0 {
                    continue;
                }
                let grantable = item.grant_options & (1 << bit) != 0
                    || item.grantee != PUBLIC_ROLE
                        && (acl::is_superuser(self.catalog, item.grantee)
                            || acl::inherited_roles(self.catalog, item.grantee).contains(&owner));
                out.push((name(item.grantor), name(item.grantee), *word, yes(grantable)));
            }
        }
        out
    }
}

pub(super) fn list(object: AclObject, owner: Oid, stored: &Option<Vec<AclItem>>) -> Vec<AclItem> {
    stored.clone().unwrap_or_else(|| acl::default_acl(object, owner))
}

/// Tables and views, whatever the current role may do with them.
fn all_tables(state: &SessionState) -> impl Iterator<Item = &Relation> {
    let tables = state.catalog.relations.values().map(|r| &**r);
    tables.filter(|r| matches!(super::relations::kind(r), b'r' | b'p' | b'v'))
}

fn table_privileges(rows: &mut Rows, state: &SessionState, public: bool) {
    let heard = Heard::of(state, public);
    for r in all_tables(state) {
        work::visit();
        let items = list(AclObject::Table, r.owner, &r.acl);
        for (grantor, grantee, word, grantable) in heard.spread(&items, r.owner) {
            work::visit();
            rows.push(&[
                ("grantor", grantor),
                ("grantee", grantee),
                ("table_catalog", database(state)),
                ("table_schema", schema(state, r.schema)),
                ("table_name", text(&*r.name)),
                ("privilege_type", text(word)),
                ("is_grantable", grantable),
                ("with_hierarchy", yes(word == "SELECT")),
            ]);
        }
    }
}

/// A table's privileges hold for each of its columns.
fn column_privileges(rows: &mut Rows, state: &SessionState, public: bool) {
    let heard = Heard::of(state, public);
    for r in all_tables(state) {
        work::visit();
        let of_table = list(AclObject::Table, r.owner, &r.acl);
        let mut column = |c: &Column, items: &[AclItem]| {
            for (grantor, grantee, word, grantable) in heard.spread(items, r.owner) {
                work::visit();
                if !matches!(word, "SELECT" | "INSERT" | "UPDATE" | "REFERENCES") {
                    continue;
                }
                rows.push(&[
                    ("grantor", grantor),
                    ("grantee", grantee),
                    ("table_catalog", database(state)),
                    ("table_schema", schema(state, r.schema)),
                    ("table_name", text(&*r.name)),
                    ("column_name", text(&*c.name)),
                    ("privilege_type", text(word)),
                    ("is_grantable", grantable),
                ]);
            }
        };
        for c in r.live_columns() {
            work::visit();
            column(c, &of_table);
            // (what both lists say is told once)
            let further = c.acl.iter().flatten().map(|item| {
                let same = of_table.iter().find(|t| (t.grantor, t.grantee) == (item.grantor, item.grantee));
                let doubled = same.map_or(0, |t| t.privileges & !(t.grant_options ^ item.grant_options));
                let (privileges, grant_options) = (item.privileges & !doubled, item.grant_options & !doubled);
                AclItem { privileges, grant_options, ..item.clone() }
            });
            column(c, &further.collect::<Vec<_>>());
        }
    }
}

/// USAGE of collations, domains and sequences.
fn usage_privileges(rows: &mut Rows, state: &SessionState, public: bool) {
    let catalog = &*state.catalog;
    let heard = Heard::of(state, public);
    let mut push = |object_schema: Oid, name: &str, kind: &str, (grantor, grantee, word, grantable)| {
        if word != "USAGE" {
            return;
        }
        rows.push(&[
            ("grantor", grantor),
            ("grantee", grantee),
            ("object_catalog", database(state)),
            ("object_schema", schema(state, object_schema)),
            ("object_name", text(name)),
            ("object_type", text(kind)),
            ("privilege_type", text("USAGE")),
            ("is_grantable", grantable),
        ]);
    };
    for t in catalog.types.values().filter(|t| matches!(t.kind, UserTypeKind::Domain { .. })) {
        work::visit();
        for entry in heard.spread(&list(AclObject::Type, t.owner, &t.acl), t.owner) {
            work::visit();
            push(t.schema, &t.name, "DOMAIN", entry);
        }
    }
    for r in catalog.relations.values().filter(|r| matches!(r.kind, RelationKind::Sequence(_))) {
        work::visit();
        // (without a list of its own PostgreSQL takes a table's default here, which has no USAGE)
        for entry in heard.spread(r.acl.as_deref().unwrap_or_default(), r.owner) {
            work::visit();
            push(r.schema, &r.name, "SEQUENCE", entry);
        }
    }
}

/// USAGE of composite types: the stand-alone ones and relations' row types.
fn udt_privileges(rows: &mut Rows, state: &SessionState, public: bool) {
    let heard = Heard::of(state, public);
    let mut push = |type_schema: Oid, name: &str, owner: Oid, stored: &Option<Vec<AclItem>>| {
        let items = list(AclObject::Type, owner, stored);
        for (grantor, grantee, _, grantable) in heard.spread(&items, owner) {
            work::visit();
            rows.push(&[
                ("grantor", grantor),
                ("grantee", grantee),
                ("udt_catalog", database(state)),
                ("udt_schema", schema(state, type_schema)),
                ("udt_name", text(name)),
                ("privilege_type", text("TYPE USAGE")),
                ("is_grantable", grantable),
            ]);
        }
    };
    for t in state.catalog.types.values().filter(|t| matches!(t.kind, UserTypeKind::Composite { .. })) {
        work::visit();
        push(t.schema, &t.name, t.owner, &t.acl);
    }
    for r in state.catalog.relations.values().filter(|r| r.row_type != 0) {
        work::visit();
        push(r.schema, &r.name, r.owner, &None);
    }
}

/// Member, role and whether it may be granted on. (Several may have granted the same.)
fn memberships(state: &SessionState) -> Vec<(&Role, &Role, bool)> {
    let mut out: Vec<(&Role, &Role, bool)> = Vec::new();
    for role in state.catalog.roles.values() {
        work::visit();
        for m in &role.memberships {
            work::visit();
            let Some(granted) = state.catalog.roles.get(&m.role) else { continue };
            let known = |o: &&(&Role, &Role, bool)| (o.0.oid, o.1.oid, o.2) == (role.oid, granted.oid, m.admin);
            if !out.iter().rev().any(|o| known(&o)) {
                out.push((role, granted, m.admin));
            }
        }
    }
    out
}

/// A superuser is a member of every role.
pub(super) fn enabled(state: &SessionState, role: Oid) -> bool {
    acl::is_superuser(&state.catalog, state.user_oid)
        || acl::inherited_roles(&state.catalog, state.user_oid).contains(&role)
}

fn applicable_roles(rows: &mut Rows, state: &SessionState) {
    for (member, granted, admin) in memberships(state).into_iter().filter(|m| enabled(state, m.0.oid)) {
        work::visit();
        rows.push(&[
            ("grantee", text(&*member.name)),
            ("role_name", text(&*granted.name)),
            ("is_grantable", yes(admin)),
        ]);
    }
    // the owner of the database is a member of pg_database_owner
    let owner = state.catalog.properties.owner;
    if let Some(name) = state.catalog.role_name(owner).filter(|_| enabled(state, owner)) {
        rows.push(&[("grantee", text(name)), ("role_name", text("pg_database_owner")), ("is_grantable", yes(false))]);
    }
}

fn administrable_roles(rows: &mut Rows, state: &SessionState) {
    for (member, granted, _) in memberships(state).into_iter().filter(|m| m.2 && enabled(state, m.0.oid)) {
        work::visit();
        rows.push(&[
            ("grantee", text(&*member.name)),
            ("role_name", text(&*granted.name)),
            ("is_grantable", yes(true)),
        ]);
    }
}

fn enabled_roles(rows: &mut Rows, state: &SessionState) {
    for role in state.catalog.roles.values().filter(|r| enabled(state, r.oid)) {
        work::visit();
        rows.push(&[("role_name", text(&*role.name))]);
    }
    // the owner of the database is a member of pg_database_owner
    let of_owner = state.catalog.roles.get(&DATABASE_OWNER_ROLE).filter(|r| !enabled(state, r.oid));
    if let Some(role) = of_owner.filter(|_| enabled(state, state.catalog.properties.owner)) {
        rows.push(&[("role_name", text(&*role.name))]);
    }
}

// --- routines -----------------------------------------------------------------------------------------------------------

pub(super) fn specific_name(p: &builtin::Proc) -> String {
    format!("{}_{}", p.name, p.oid)
}

fn type_columns(row: &mut Row, state: &SessionState, ty: Oid, columns: [&'static str; 3]) {
    let path = [PG_CATALOG, state.catalog.public_schema()];
    let (type_schema, name) =
        Names::new(&state.catalog, &path).type_identity(ty).unwrap_or((PG_CATALOG, String::new()));
    row.extend([(columns[0], database(state)), (columns[1], schema(state, type_schema)), (columns[2], text(name))]);
}

/// The schema under which a function of PostgreSQL's is shown. None: its extension was not made.
pub(super) fn shown_schema(state: &SessionState, p: &builtin::Proc) -> Option<Datum> {
    match state.catalog.schema_of_builtin(p.oid)? {
        PG_CATALOG | INFORMATION_SCHEMA => Some(text("pg_catalog")),
        other => Some(schema(state, other)),
    }
}

/// What the views show of a function: PostgreSQL's own, or one of the user's that the role may call.
struct Shown<'a> {
    proc: &'a builtin::Proc,
    schema: Datum,
    /// None: PostgreSQL's own
    function: Option<&'a Function>,
}

fn shown_functions(state: &SessionState) -> Vec<Shown<'_>> {
    let own = builtin::all_procs()
        .iter()
        .filter_map(|proc| Some(Shown { proc, schema: shown_schema(state, proc)?, function: None }));
    let callable = |f: &Function| {
        let has = acl::privileges(&state.catalog, state.user_oid, AclObject::Function, f.owner, f.acl.as_ref());
        has & privilege::EXECUTE != 0 || enabled(state, f.owner)
    };
    let of_user = state.catalog.routines.values().filter(|r| callable(&r.function)).map(|r| Shown {
        proc: &r.proc,
        schema: schema(state, r.function.schema),
        function: Some(&r.function),
    });
    own.chain(of_user).collect()
}

fn routines(rows: &mut Rows, state: &SessionState) {
    for Shown { proc: p, schema: place, function } in shown_functions(state) {
        work::visit();
        let language = match function {
            Some(f) => f.language.name(),
            None => match builtin::proc_details(p.oid).map(|d| d.language) {
                Some(14) => "sql",
                Some(13) => "c",
                _ => "internal",
            },
        };
        let definition = match function {
            // (a body in the SQL standard's way is no text)
            Some(f) if enabled(state, f.owner) => text(if f.standard { "" } else { f.source.as_str() }),
            Some(_) => Datum::Null,
            None => p.src.into(),
        };
        let mut row: Row = vec![
            ("specific_catalog", database(state)),
            ("specific_schema", place.clone()),
            ("specific_name", text(specific_name(p))),
            ("routine_catalog", database(state)),
            ("routine_schema", place),
            ("routine_name", text(p.name.as_str())),
            ("routine_body", text(if language == "sql" { "SQL" } else { "EXTERNAL" })),
            ("parameter_style", text("GENERAL")),
            ("is_deterministic", yes(p.volatility == b'i')),
            ("sql_data_access", text("MODIFIES")),
            ("schema_level_routine", yes(true)),
            ("max_dynamic_result_sets", int(0)),
            ("security_type", text(if function.is_some_and(|f| f.security_definer) { "DEFINER" } else { "INVOKER" })),
            ("as_locator", yes(false)),
            ("is_udt_dependent", yes(false)),
            ("external_language", text(language.to_uppercase())),
            ("routine_definition", definition),
        ];
        match p.kind {
            b'f' => row.push(("routine_type", text("FUNCTION"))),
            b'p' => row.push(("routine_type", text("PROCEDURE"))),
            _ => {}
        }
        if p.kind != b'p' {
            row.push(("is_null_call", yes(p.strict)));
            row.push(("data_type", text(data_type(&state.catalog, p.ret))));
            row.push(("dtd_identifier", text("0")));
            type_columns(&mut row, state, p.ret, ["type_udt_catalog", "type_udt_schema", "type_udt_name"]);
        }
        rows.push(&row);
    }
}

fn parameters(rows: &mut Rows, state: &SessionState) {
    for Shown { proc: p, schema: place, function } in shown_functions(state) {
        work::visit();
        let all = p.all_args.as_ref().unwrap_or(&p.args);
        for (i, &ty) in all.iter().enumerate() {
            work::visit();
            let mode = p.arg_modes.as_ref().and_then(|m| m.get(i)).copied().unwrap_or(b'i');
            let name = p.arg_names.as_ref().and_then(|n| n.get(i)).map(|n| n.as_str()).filter(|n| !n.is_empty());
            let position = i as i64 + 1;
            let default = function.and_then(|f| f.arguments.get(i)).and_then(|a| a.default.clone());
            let mut row: Row = vec![
                ("specific_catalog", database(state)),
                ("specific_schema", place.clone()),
                ("specific_name", text(specific_name(p))),
                ("ordinal_position", Datum::Int(position)),
                (
                    "parameter_mode",
                    text(match mode {
                        b'o' | b't' => "OUT",
                        b'b' => "INOUT",
                        _ => "IN",
                    }),
                ),
                ("is_result", yes(false)),
                ("as_locator", yes(false)),
                ("parameter_name", name.into()),
                ("parameter_default", default.into()),
                ("data_type", text(data_type(&state.catalog, ty))),
                ("dtd_identifier", text(position.to_string())),
            ];
            type_columns(&mut row, state, ty, ["udt_catalog", "udt_schema", "udt_name"]);
            rows.push(&row);
        }
    }
}

fn character_sets(rows: &mut Rows, state: &SessionState) {
    rows.push(&[
        ("character_set_name", text("UTF8")),
        ("character_repertoire", text("UCS")),
        ("form_of_use", text("UTF8")),
        ("default_collate_catalog", database(state)),
        ("default_collate_schema", text("pg_catalog")),
        ("default_collate_name", text("C.utf8")),
    ]);
}

// --- who uses what ---------------------------------------------------------------------------------------------------------

/// The role that owns a type; those of PostgreSQL's own are the bootstrap role's.
fn type_owner(state: &SessionState, ty: Oid) -> Oid {
    match state.catalog.type_entry(ty) {
        Some(TypeEntry::User(t)) => t.owner,
        Some(TypeEntry::Row(r)) => r.owner,
        Some(TypeEntry::ArrayOf(element)) => type_owner(state, element),
        _ => BOOTSTRAP_ROLE,
    }
}

fn column_domain_usage(rows: &mut Rows, state: &SessionState) {
    for r in all_tables(state) {
        work::visit();
        for c in r.live_columns() {
            work::visit();
            let Some(t) = state.catalog.types.get(&c.type_oid) else { continue };
            if !matches!(t.kind, UserTypeKind::Domain { .. }) || !enabled(state, t.owner) {
                continue;
            }
            rows.push(&[
                ("domain_catalog", database(state)),
                ("domain_schema", schema(state, t.schema)),
                ("domain_name", text(&*t.name)),
                ("table_catalog", database(state)),
                ("table_schema", schema(state, r.schema)),
                ("table_name", text(&*r.name)),
                ("column_name", text(&*c.name)),
            ]);
        }
    }
}

/// The type of a column, or of its domain.
fn column_udt_usage(rows: &mut Rows, state: &SessionState) {
    for r in all_tables(state) {
        work::visit();
        for c in r.live_columns() {
            work::visit();
            let base = match state.catalog.types.get(&c.type_oid).map(|t| &t.kind) {
                Some(UserTypeKind::Domain { base, .. }) => *base,
                _ => c.type_oid,
            };
            if !enabled(state, type_owner(state, base)) {
                continue;
            }
            let mut row: Row = vec![
                ("table_catalog", database(state)),
                ("table_schema", schema(state, r.schema)),
                ("table_name", text(&*r.name)),
                ("column_name", text(&*c.name)),
            ];
            type_columns(&mut row, state, base, ["udt_catalog", "udt_schema", "udt_name"]);
            rows.push(&row);
        }
    }
}

fn domain_udt_usage(rows: &mut Rows, state: &SessionState) {
    for t in state.catalog.types.values() {
        work::visit();
        let UserTypeKind::Domain { base, .. } = &t.kind else { continue };
        if !enabled(state, type_owner(state, *base)) {
            continue;
        }
        let mut row: Row = vec![
            ("domain_catalog", database(state)),
            ("domain_schema", schema(state, t.schema)),
            ("domain_name", text(&*t.name)),
        ];
        type_columns(&mut row, state, *base, ["udt_catalog", "udt_schema", "udt_name"]);
        rows.push(&row);
    }
}

/// What each view's query names.
fn view_references(state: &SessionState) -> Vec<(&Relation, Vec<Reference>)> {
    let views = state
        .catalog
        .relations
        .values()
        .filter(|r| matches!(r.kind, RelationKind::View { .. }) && r.oid >= pgsqlite_types::oid::FIRST_USER_OID);
    views
        .filter_map(|view| {
            let query = super::views::with_environment(state, |e| deparse::definitions::view_query(e, view)).ok()??;
            Some((&**view, deparse::query_references(&query)))
        })
        .collect()
}

fn view_table_usage(rows: &mut Rows, state: &SessionState) {
    for (view, references) in view_references(state) {
        work::visit();
        let mut seen: Vec<Oid> = Vec::new();
        for r in references.iter().filter_map(|r| state.catalog.relation(r.object)) {
            work::visit();
            if !matches!(super::relations::kind(r), b'r' | b'p' | b'v')
                || seen.contains(&r.oid)
                || !enabled(state, r.owner)
            {
                continue;
            }
            seen.push(r.oid);
            rows.push(&[
                ("view_catalog", database(state)),
                ("view_schema", schema(state, view.schema)),
                ("view_name", text(&*view.name)),
                ("table_catalog", database(state)),
                ("table_schema", schema(state, r.schema)),
                ("table_name", text(&*r.name)),
            ]);
        }
    }
}

fn view_column_usage(rows: &mut Rows, state: &SessionState) {
    for (view, references) in view_references(state) {
        work::visit();
        for reference in references.iter().filter(|r| r.sub > 0) {
            work::visit();
            let Some(r) = state.catalog.relation(reference.object) else { continue };
            let Some(column) = r.column_by_attnum(reference.sub as i16) else { continue };
            if !matches!(super::relations::kind(r), b'r' | b'p' | b'v') || !enabled(state, r.owner) {
                continue;
            }
            rows.push(&[
                ("view_catalog", database(state)),
                ("view_schema", schema(state, view.schema)),
                ("view_name", text(&*view.name)),
                ("table_catalog", database(state)),
                ("table_schema", schema(state, r.schema)),
                ("table_name", text(&*r.name)),
                ("column_name", text(&*column.name)),
            ]);
        }
    }
}
