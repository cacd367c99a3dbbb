//! The views of pg_catalog that people read: pg_indexes, pg_views, pg_matviews, pg_sequences, pg_tables …, and the statistics
//! views, in which everything that this server does not count is NULL or 0 as after pg_stat_reset().
//!
//! Texts of definitions follow the session's search path, so these rows are made per snapshot and search path.

use super::cumulative_statistics::optional_time;
use super::relations::kind;
use super::{int, text, Rows};
use pgsqlite_natives::udf::session_cell::SessionState;
use pgsqlite_sql::acl;
use pgsqlite_sql::analyze::Environment;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::{definitions, Style};
use pgsqlite_types::work;
use pgsqlite_types::{Datum, Oid};

/// The analyzer's environment of the session, with the rights to read every definition.
pub(super) fn with_environment<R>(state: &SessionState, run: impl FnOnce(&Environment) -> R) -> R {
    run(&Environment {
        catalog: &state.catalog,
        search_path: &state.search_path,
        settings: &state.settings,
        names: &*state.names,
        user: BOOTSTRAP_ROLE,
        rights: pgsqlite_sql::analyze::Rights::AskedNow,
        parameters: Default::default(),
        sqlite_text: pgsqlite_sql::lower::lower_expression,
    })
}

/// A stored expression as pg_get_expr prints it for the session; as it is stored where that fails.
pub(super) fn expression(state: &SessionState, stored: &str, relation: Option<&Relation>) -> String {
    with_environment(state, |e| definitions::stored_expression(e, stored, relation, Style::Full))
        .unwrap_or_else(|_| stored.to_string())
}

/// The text of a view for the session, with the final `;`.
pub(super) fn view_text(state: &SessionState, relation: &Relation) -> Datum {
    match with_environment(state, |e| definitions::view_definition(e, relation.oid, Style::Full)) {
        Ok(found) => found.into(),
        Err(_) => Datum::Null,
    }
}

fn owner(catalog: &Catalog, oid: Oid) -> Datum {
    text(catalog.role_name(oid).unwrap_or("unknown"))
}

pub(super) fn tables(rows: &mut Rows, state: &SessionState) {
    let catalog = &state.catalog;
    for relation in catalog.relations.values().filter(|r| matches!(kind(r), b'r' | b'p')) {
        work::visit();
        rows.push(&[
            ("schemaname", text(catalog.schema_name(relation.schema))),
            ("tablename", text(&*relation.name)),
            ("tableowner", owner(catalog, relation.owner)),
            ("hasindexes", catalog.indexes_of(relation.oid).next().is_some().into()),
            ("hasrules", false.into()),
            ("hastriggers", super::relations::has_triggers(catalog, relation).into()),
            ("rowsecurity", relation.security.enabled.into()),
        ]);
    }
}

pub(super) fn policies(rows: &mut Rows, state: &SessionState) {
    let catalog = &state.catalog;
    for relation in catalog.relations.values() {
        work::visit();
        for policy in &relation.security.policies {
            work::visit();
            let role = |oid: &Oid| match catalog.role_name(*oid) {
                Some(name) => name.to_string(),
                None => "public".to_string(),
            };
            let command = match policy.command {
                PolicyCommand::All => "ALL",
                PolicyCommand::Select => "SELECT",
                PolicyCommand::Insert => "INSERT",
                PolicyCommand::Update => "UPDATE",
                PolicyCommand::Delete => "DELETE",
            };
            let shown = |stored: &Option<String>| match stored {
                Some(stored) => text(expression(state, stored, Some(relation))),
                None => Datum::Null,
            };
            rows.push(&[
                ("schemaname", text(catalog.schema_name(relation.schema))),
                ("tablename", text(&*relation.name)),
                ("policyname", text(&*policy.name)),
                ("permissive", text(if policy.permissive { "PERMISSIVE" } else { "RESTRICTIVE" })),
                ("roles", super::strings(policy.roles.iter().map(role))),
                ("cmd", text(command)),
                ("qual", shown(&policy.using)),
                ("with_check", shown(&policy.check)),
            ]);
        }
    }
}

/// The rules that are no views.
pub(super) fn rules(rows: &mut Rows, state: &SessionState) {
    let catalog = &state.catalog;
    for relation in catalog.relations.values() {
        work::visit();
        for rule in &relation.rules {
            work::visit();
            let definition =
                with_environment(state, |e| definitions::rule_definition(e, relation.oid, rule, Style::Full));
            rows.push(&[
                ("schemaname", text(catalog.schema_name(relation.schema))),
                ("tablename", text(&*relation.name)),
                ("rulename", text(&*rule.name)),
                ("definition", definition.ok().into()),
            ]);
        }
    }
}

pub(super) fn views(rows: &mut Rows, state: &SessionState) {
    let catalog = &state.catalog;
    for relation in catalog.relations.values().filter(|r| kind(r) == b'v') {
        work::visit();
        rows.push(&[
            ("schemaname", text(catalog.schema_name(relation.schema))),
            ("viewname", text(&*relation.name)),
            ("viewowner", owner(catalog, relation.owner)),
            ("definition", view_text(state, relation)),
        ]);
    }
}

pub(super) fn materialized_views(rows: &mut Rows, state: &SessionState) {
    let catalog = &state.catalog;
    for relation in catalog.relations.values() {
        work::visit();
        let RelationKind::MaterializedView { populated, .. } = &relation.kind else { continue };
        rows.push(&[
            ("schemaname", text(catalog.schema_name(relation.schema))),
            ("matviewname", text(&*relation.name)),
            ("matviewowner", owner(catalog, relation.owner)),
            ("hasindexes", catalog.indexes_of(relation.oid).next().is_some().into()),
            ("ispopulated", (*populated).into()),
            ("definition", view_text(state, relation)),
        ]);
    }
}

pub(super) fn indexes(rows: &mut Rows, state: &SessionState) {
    let catalog = &state.catalog;
    for relation in catalog.relations.values() {
        work::visit();
        let RelationKind::Index(index) = &relation.kind else { continue };
        if index.is_named_only() {
            continue;
        }
        let Some(table) = catalog.relation(index.table) else { continue };
        let definition = with_environment(state, |e| definitions::index_definition(e, relation, 0, Style::Full));
        rows.push(&[
            ("schemaname", text(catalog.schema_name(table.schema))),
            ("tablename", text(&*table.name)),
            ("indexname", text(&*relation.name)),
            ("indexdef", definition.unwrap_or(None).into()),
        ]);
    }
}

pub(super) fn sequences(rows: &mut Rows, state: &SessionState) {
    let catalog = &state.catalog;
    for relation in catalog.relations.values() {
        work::visit();
        let RelationKind::Sequence(s) = &relation.kind else { continue };
        let last = state.sequences.as_ref().and_then(|q| q.last_value(relation.oid).ok().flatten());
        rows.push(&[
            ("schemaname", text(catalog.schema_name(relation.schema))),
            ("sequencename", text(&*relation.name)),
            ("sequenceowner", owner(catalog, relation.owner)),
            ("data_type", int(s.type_oid)),
            ("start_value", int(s.start)),
            ("min_value", int(s.min)),
            ("max_value", int(s.max)),
            ("increment_by", int(s.increment)),
            ("cycle", s.cycle.into()),
            ("cache_size", int(s.cache)),
            ("last_value", last.into()),
        ]);
    }
}

/// Which relations a statistics view shows: all, those of the system, those of users.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    All,
    System,
    Users,
}

impl Scope {
    fn shows(self, relation: &Relation) -> bool {
        let system = matches!(relation.schema, PG_CATALOG | PG_TOAST | INFORMATION_SCHEMA);
        match self {
            Scope::All => true,
            Scope::System => system,
            Scope::Users => !system,
        }
    }
}

/// The tables of a view, with the figures that `figures` gives for each. Accesses and rows are not counted for each table.
fn table_statistics(
    rows: &mut Rows,
    catalog: &Catalog,
    kinds: &[u8],
    scope: Scope,
    figures: impl Fn(Oid) -> Vec<(&'static str, Datum)>,
) {
    let counters: Vec<&'static str> = rows
        .column_names()
        .filter(|c| {
            c.starts_with("n_")
                || c.starts_with("auto") && c.ends_with("_count")
                || matches!(*c, "seq_scan" | "seq_tup_read")
                || c.starts_with("heap_")
        })
        .collect();
    let index_counters: Vec<&'static str> = rows.column_names().filter(|c| c.starts_with("idx_")).collect();
    for r in catalog.relations.values().filter(|r| kinds.contains(&kind(r)) && scope.shows(r)) {
        work::visit();
        let mut row = vec![
            ("relid", int(r.oid)),
            ("schemaname", text(catalog.schema_name(r.schema))),
            ("relname", text(&*r.name)),
        ];
        row.extend(counters.iter().map(|&c| (c, Datum::Int(0))));
        row.extend(figures(r.oid));
        if catalog.indexes_of(r.oid).next().is_some() {
            row.extend(index_counters.iter().map(|&c| (c, Datum::Int(0))));
        }
        rows.push(&row);
    }
}

/// pg_stat_*_tables: what VACUUM and ANALYZE did since the server started.
fn maintained(rows: &mut Rows, state: &SessionState, scope: Scope) {
    let counters = super::cumulative_statistics::statistics(state).map(|s| s.database(&state.catalog.database));
    table_statistics(rows, &state.catalog, b"rmp", scope, |table| {
        let of_table = counters.as_ref().map(|c| c.maintenance(table)).unwrap_or_default();
        vec![
            ("last_vacuum", optional_time(of_table.last_vacuum)),
            ("vacuum_count", Datum::Int(of_table.vacuum_count)),
            ("last_analyze", optional_time(of_table.last_analyze)),
            ("analyze_count", Datum::Int(of_table.analyze_count)),
        ]
    });
}

pub(super) fn all_tables(rows: &mut Rows, state: &SessionState) {
    maintained(rows, state, Scope::All);
}
pub(super) fn system_tables(rows: &mut Rows, state: &SessionState) {
    maintained(rows, state, Scope::System);
}
pub(super) fn user_tables(rows: &mut Rows, state: &SessionState) {
    maintained(rows, state, Scope::Users);
}

pub(super) fn all_tables_in_transaction(rows: &mut Rows, catalog: &Catalog) {
    table_statistics(rows, catalog, b"rmp", Scope::All, |_| Vec::new());
}
pub(super) fn system_tables_in_transaction(rows: &mut Rows, catalog: &Catalog) {
    table_statistics(rows, catalog, b"rmp", Scope::System, |_| Vec::new());
}
pub(super) fn user_tables_in_transaction(rows: &mut Rows, catalog: &Catalog) {
    table_statistics(rows, catalog, b"rmp", Scope::Users, |_| Vec::new());
}

/// pg_statio_*_tables: a partitioned table has no blocks.
pub(super) fn all_tables_io(rows: &mut Rows, catalog: &Catalog) {
    table_statistics(rows, catalog, b"rm", Scope::All, |_| Vec::new());
}
pub(super) fn system_tables_io(rows: &mut Rows, catalog: &Catalog) {
    table_statistics(rows, catalog, b"rm", Scope::System, |_| Vec::new());
}
pub(super) fn user_tables_io(rows: &mut Rows, catalog: &Catalog) {
    table_statistics(rows, catalog, b"rm", Scope::Users, |_| Vec::new());
}

pub(super) fn all_sequences_io(rows: &mut Rows, catalog: &Catalog) {
    table_statistics(rows, catalog, b"S", Scope::All, |_| Vec::new());
}
pub(super) fn system_sequences_io(rows: &mut Rows, catalog: &Catalog) {
    table_statistics(rows, catalog, b"S", Scope::System, |_| Vec::new());
}
pub(super) fn user_sequences_io(rows: &mut Rows, catalog: &Catalog) {
    table_statistics(rows, catalog, b"S", Scope::Users, |_| Vec::new());
}

fn index_statistics(rows: &mut Rows, catalog: &Catalog, scope: Scope) {
    let counters: Vec<&'static str> = rows.column_names().filter(|c| c.starts_with("idx_")).collect();
    for r in catalog.relations.values() {
        work::visit();
        let RelationKind::Index(index) = &r.kind else { continue };
        let Some(table) = catalog.relation(index.table).filter(|t| scope.shows(t)) else { continue };
        let mut row = vec![
            ("relid", int(table.oid)),
            ("indexrelid", int(r.oid)),
            ("schemaname", text(catalog.schema_name(table.schema))),
            ("relname", text(&*table.name)),
            ("indexrelname", text(&*r.name)),
        ];
        row.extend(counters.iter().map(|&c| (c, Datum::Int(0))));
        rows.push(&row);
    }
}

pub(super) fn all_indexes(rows: &mut Rows, catalog: &Catalog) {
    index_statistics(rows, catalog, Scope::All);
}
pub(super) fn system_indexes(rows: &mut Rows, catalog: &Catalog) {
    index_statistics(rows, catalog, Scope::System);
}
pub(super) fn user_indexes(rows: &mut Rows, catalog: &Catalog) {
    index_statistics(rows, catalog, Scope::Users);
}

/// pg_auth_members
pub(super) fn auth_members(rows: &mut Rows, catalog: &Catalog) {
    for role in catalog.roles.values() {
        work::visit();
        for m in &role.memberships {
            work::visit();
            rows.push(&[
                ("roleid", int(m.role)),
                ("member", int(role.oid)),
                ("grantor", int(m.grantor)),
                ("admin_option", m.admin.into()),
                ("inherit_option", role.inherits_by(m).into()),
                ("set_option", m.set.into()),
            ]);
        }
    }
}

/// `name=value` of stored settings; NULL without any.
pub(super) fn settings_array(settings: &[(String, String)]) -> Datum {
    if settings.is_empty() {
        return Datum::Null;
    }
    super::strings(settings.iter().map(|(name, value)| format!("{name}={value}")))
}

/// pg_db_role_setting
pub(super) fn role_settings(rows: &mut Rows, catalog: &Catalog) {
    if !catalog.properties.settings.is_empty() {
        rows.push(&[
            ("setdatabase", int(1)),
            ("setrole", int(0)),
            ("setconfig", settings_array(&catalog.properties.settings)),
        ]);
    }
    for role in catalog.roles.values().filter(|r| !r.settings.is_empty()) {
        work::visit();
        rows.push(&[
            ("setdatabase", int(0)),
            ("setrole", int(role.oid)),
            ("setconfig", settings_array(&role.settings)),
        ]);
    }
}

/// pg_group: roles that cannot log in, with their members.
pub(super) fn groups(rows: &mut Rows, catalog: &Catalog) {
    for role in catalog.roles.values().filter(|r| !r.login) {
        work::visit();
        let members = catalog.roles.values().filter(|m| m.memberships.iter().any(|x| x.role == role.oid));
        rows.push(&[
            ("groname", text(&*role.name)),
            ("grosysid", int(role.oid)),
            ("grolist", super::numbers(members.map(|m| m.oid))),
        ]);
    }
}

/// A list of privileges as aclitem[]; NULL for the default.
pub(super) fn acl_array(catalog: &Catalog, list: &Option<Vec<acl::AclItem>>) -> Datum {
    match list {
        Some(items) => super::strings(items.iter().map(|i| acl::item_text(catalog, i))),
        None => Datum::Null,
    }
}
