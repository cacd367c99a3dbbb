//! PostgreSQL's system catalogs as rows over a catalog snapshot.
//!
//! [`table`] gives the rows of one system relation. Those that only describe PostgreSQL's built-ins are made once for the process;
//! those that describe the database are kept for the newest snapshot; those that show the session are made anew each time.

mod builtin;
mod client_authentication;
pub(crate) mod cluster;
mod cumulative_statistics;
mod depends;
pub mod functions;
mod information_routines;
mod information_schema;
mod information_triggers;
mod information_usage;
mod large_objects;
mod locks;
mod progress;
mod relations;
mod replication;
mod session;
mod shared_dependencies;
mod text_search;
mod types;
mod views;
mod zones;

pub(crate) use builtin::{language, language_named, EXTENSIONS};
pub(crate) use locks::blocking_pids;
pub(crate) use relations::{is_whole_index, kind as relation_kind, ruled, view_rule};
pub(crate) use zones::{abbreviations, zones};

use pgsqlite_natives::host::Host;
use pgsqlite_natives::udf::session_cell::{SessionCell, SessionState};
use pgsqlite_sql::builtins::catalog::SystemRelation;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Datum, Oid, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// The rows of a system relation, in its column order and in storage form.
#[derive(Default)]
pub struct Table {
    pub rows: Vec<Vec<Datum>>,
    /// per column, made at the first look-up
    indexes: Mutex<HashMap<usize, Arc<Index>>>,
}

/// Which rows have a value in one column.
#[derive(Default)]
struct Index {
    integers: HashMap<i64, Vec<u32>>,
    texts: HashMap<String, Vec<u32>>,
}

impl Table {
    /// The numbers of the rows whose `column` equals the value.
    pub fn find(&self, column: usize, value: &Datum) -> Vec<u32> {
        let index = {
            let mut indexes = self.indexes.lock().unwrap_or_else(|e| e.into_inner());
            indexes
                .entry(column)
                .or_insert_with(|| {
                    let mut index = Index::default();
                    for (row, i) in self.rows.iter().zip(0u32..) {
                        work::visit();
                        match row.get(column) {
                            Some(Datum::Int(v)) => index.integers.entry(*v).or_default().push(i),
                            Some(Datum::Text(v)) => index.texts.entry(v.clone()).or_default().push(i),
                            _ => {}
                        }
                    }
                    Arc::new(index)
                })
                .clone()
        };
        match value {
            Datum::Int(v) => index.integers.get(v).cloned().unwrap_or_default(),
            Datum::Text(v) => index.texts.get(v).cloned().unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}

/// Collects rows by column name. A column that gets no value is NULL, or where it may not be NULL, the zero of its type.
pub(crate) struct Rows {
    columns: HashMap<&'static str, usize>,
    /// per column
    types: Vec<Oid>,
    empty: Vec<Datum>,
    rows: Vec<Vec<Datum>>,
}

impl Rows {
    fn new(relation: &SystemRelation) -> Rows {
        let empty = relation
            .stored()
            .map(|&(_, _, ty, _, not_null, _)| match ty {
                _ if !not_null => Datum::Null,
                oid::BOOL | oid::INT2 | oid::INT4 | oid::INT8 | oid::OID | oid::XID | oid::CID | oid::REGPROC => {
                    Datum::Int(0)
                }
                oid::FLOAT4 | oid::FLOAT8 => Datum::Real(0.0),
                oid::INT2VECTOR | oid::OIDVECTOR => Datum::Text("[]".into()),
                _ => Datum::Text(String::new()),
            })
            .collect();
        Rows {
            columns: relation.stored().enumerate().map(|(i, c)| (c.1, i)).collect(),
            types: relation.stored().map(|c| c.2).collect(),
            empty,
            rows: Vec::new(),
        }
    }

    /// The columns' names, in no order.
    fn column_names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.columns.keys().copied()
    }

    /// The rows of a data file that gen/catalogs.sh wrote: its first line names the columns.
    fn push_file(&mut self, file: &'static str) {
        let mut lines = file.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let names = lines.next().unwrap_or_default();
        for fields in lines {
            work::visit();
            let mut row = self.empty.clone();
            for (name, field) in names.iter().zip(fields) {
                work::visit();
                let Some(&i) = self.columns.get(name) else {
                    debug_assert!(false, "no column {name}");
                    continue;
                };
                row[i] = match self.types[i] {
                    _ if field == "\\N" => Datum::Null,
                    oid::BOOL => Datum::Int((field == "t").into()),
                    oid::INT2 | oid::INT4 | oid::OID | oid::REGPROC | CARDINAL_NUMBER => {
                        Datum::Int(field.parse().unwrap_or_default())
                    }
                    _ => Datum::Text(field.into()),
                };
            }
            self.rows.push(row);
        }
    }

    /// A row from (column, value) pairs.
    pub(crate) fn push(&mut self, values: &[(&'static str, Datum)]) {
        pgsqlite_types::work::pulse(64);
        let mut row = self.empty.clone();
        for (name, value) in values {
            work::visit();
            match self.columns.get(name) {
                Some(&i) => row[i] = value.clone(),
                None => debug_assert!(false, "no column {name}"),
            }
        }
        self.rows.push(row);
    }
}

/// A JSON array of numbers: the storage form of int2vector, oidvector and arrays of them.
pub(crate) fn numbers<T: std::fmt::Display>(values: impl IntoIterator<Item = T>) -> Datum {
    let items: Vec<String> = values.into_iter().map(|v| v.to_string()).collect();
    Datum::Text(format!("[{}]", items.join(",")))
}

/// A JSON array of strings: the storage form of text[] and its kin.
pub(crate) fn strings<T: AsRef<str>>(values: impl IntoIterator<Item = T>) -> Datum {
    let items: Vec<serde_json::Value> = values.into_iter().map(|v| v.as_ref().into()).collect();
    Datum::Text(serde_json::Value::from(items).to_string())
}

pub(crate) fn int(value: impl Into<i64>) -> Datum {
    Datum::Int(value.into())
}

pub(crate) fn text(value: impl Into<String>) -> Datum {
    Datum::Text(value.into())
}

pub(crate) fn character(value: u8) -> Datum {
    Datum::Text((value as char).to_string())
}

/// How a relation's rows come about.
enum Maker {
    /// Only about PostgreSQL's built-ins.
    Fixed(fn(&mut Rows)),
    /// About the database.
    Catalog(fn(&mut Rows, &Catalog)),
    /// About the database, with texts that follow the session's search path and its name for the database.
    Path(fn(&mut Rows, &SessionState)),
    /// About the session.
    Session(fn(&mut Rows, &SessionState)),
    /// About what the program that serves the database was started with.
    Host(fn(&mut Rows, &dyn Host) -> Result<()>),
    /// About what only the file knows.
    File(fn(&mut Rows, &rusqlite::Connection, &SessionState) -> Result<()>),
    /// There can be no rows: what they describe does not exist here.
    Empty,
}

/// `information_schema.cardinal_number`, a domain over integer.
const CARDINAL_NUMBER: Oid = 13221;

/// Relations of pg_catalog that are empty because pgsqlite refuses to make what they describe.
const EMPTY: &[&str] = &[
    "pg_backend_memory_contexts",
    "pg_event_trigger",
    "pg_file_settings",
    "pg_foreign_data_wrapper",
    "pg_foreign_server",
    "pg_foreign_table",
    "pg_parameter_acl",
    "pg_publication",
    "pg_publication_namespace",
    "pg_publication_rel",
    "pg_publication_tables",
    "pg_replication_origin",
    "pg_replication_origin_status",
    "pg_replication_slots",
    "pg_seclabel",
    "pg_seclabels",
    "pg_shmem_allocations",
    "pg_shseclabel",
    "pg_statistic",
    "pg_statistic_ext_data",
    "pg_stats",
    "pg_stats_ext",
    "pg_stats_ext_exprs",
    "pg_subscription",
    "pg_subscription_rel",
    "pg_transform",
    "pg_user_mapping",
    "pg_user_mappings",
    "pg_stat_progress_basebackup",
    "pg_stat_replication_slots",
    "pg_stat_subscription",
    "pg_stat_subscription_stats",
];

fn maker(relation: &SystemRelation) -> Option<Maker> {
    use Maker::{Catalog, Empty, File, Fixed, Path, Session};
    if relation.schema == "information_schema" {
        return information_schema::maker(relation.name).map(Path);
    }
    Some(match relation.name {
        "pg_namespace" => Catalog(relations::namespaces),
        "pg_class" => Catalog(relations::classes),
        "pg_attribute" => Catalog(relations::attributes),
        "pg_attrdef" => Catalog(relations::defaults),
        "pg_index" => Catalog(relations::indexes),
        "pg_constraint" => Catalog(relations::constraints),
        "pg_inherits" => Catalog(relations::inherits),
        "pg_partitioned_table" => Catalog(relations::partitioned_tables),
        "pg_sequence" => Catalog(relations::sequences),
        "pg_description" => Catalog(relations::descriptions),
        "pg_shdescription" => Catalog(relations::shared_descriptions),
        "pg_depend" => Path(depends::depends),
        "pg_shdepend" => File(shared_dependencies::depends),
        "pg_init_privs" => Catalog(relations::initial_privileges),
        "pg_rewrite" => Catalog(relations::rewrites),
        "pg_tables" => Path(views::tables),
        "pg_rules" => Path(views::rules),
        "pg_views" => Path(views::views),
        "pg_matviews" => Path(views::materialized_views),
        "pg_indexes" => Path(views::indexes),
        "pg_sequences" => Session(views::sequences),
        "pg_stat_all_tables" => Session(views::all_tables),
        "pg_stat_xact_all_tables" => Catalog(views::all_tables_in_transaction),
        "pg_stat_sys_tables" => Session(views::system_tables),
        "pg_stat_xact_sys_tables" => Catalog(views::system_tables_in_transaction),
        "pg_stat_user_tables" => Session(views::user_tables),
        "pg_stat_xact_user_tables" => Catalog(views::user_tables_in_transaction),
        "pg_statio_all_tables" => Catalog(views::all_tables_io),
        "pg_statio_sys_tables" => Catalog(views::system_tables_io),
        "pg_statio_user_tables" => Catalog(views::user_tables_io),
        "pg_stat_all_indexes" | "pg_statio_all_indexes" => Catalog(views::all_indexes),
        "pg_stat_sys_indexes" | "pg_statio_sys_indexes" => Catalog(views::system_indexes),
        "pg_stat_user_indexes" | "pg_statio_user_indexes" => Catalog(views::user_indexes),
        "pg_statio_all_sequences" => Catalog(views::all_sequences_io),
        "pg_statio_sys_sequences" => Catalog(views::system_sequences_io),
        "pg_statio_user_sequences" => Catalog(views::user_sequences_io),
        "pg_default_acl" => Catalog(relations::default_acls),
        "pg_policy" => Catalog(relations::policies),
        "pg_statistic_ext" => Catalog(relations::extended_statistics),
        "pg_policies" => Path(views::policies),
        "pg_auth_members" => Catalog(views::auth_members),
        "pg_db_role_setting" => Catalog(views::role_settings),
        "pg_group" => Catalog(views::groups),
        "pg_shadow" => Catalog(cluster::shadow),
        "pg_type" => Catalog(types::types),
        "pg_enum" => Catalog(types::enums),
        "pg_range" => Catalog(types::ranges),
        "pg_proc" => Catalog(builtin::procs),
        "pg_trigger" => Catalog(builtin::triggers),
        "pg_operator" => Catalog(builtin::operators),
        "pg_cast" => Catalog(builtin::casts),
        "pg_aggregate" => Catalog(builtin::aggregates),
        "pg_am" => Catalog(builtin::access_methods),
        "pg_opclass" => Catalog(builtin::operator_classes),
        "pg_collation" => Catalog(builtin::collations),
        "pg_amop" => Catalog(builtin::family_operators),
        "pg_amproc" => Fixed(|rows| rows.push_file(pgsqlite_sql::data::PG_AMPROC)),
        "pg_conversion" => Fixed(|rows| rows.push_file(pgsqlite_sql::data::PG_CONVERSION)),
        "pg_ts_parser" => Fixed(|rows| rows.push_file(pgsqlite_sql::data::PG_TS_PARSER)),
        "pg_ts_template" => Fixed(|rows| rows.push_file(pgsqlite_sql::data::PG_TS_TEMPLATE)),
        "pg_ts_dict" => Catalog(text_search::dictionaries),
        "pg_ts_config" => Catalog(text_search::configurations),
        "pg_ts_config_map" => Catalog(text_search::mappings),
        "pg_opfamily" => Catalog(builtin::operator_families),
        "pg_language" => Fixed(builtin::languages),
        "pg_tablespace" => Fixed(builtin::tablespaces),
        "pg_extension" => Catalog(builtin::extensions),
        "pg_authid" => Catalog(cluster::authids),
        "pg_roles" => Catalog(cluster::roles),
        "pg_user" => Catalog(cluster::users),
        "pg_database" => Session(cluster::databases),
        "pg_settings" => Session(cluster::settings),
        "pg_cursors" => Session(session::cursors),
        "pg_prepared_statements" => Session(session::prepared_statements),
        "pg_locks" => Session(locks::locks),
        "pg_prepared_xacts" => Session(locks::prepared_transactions),
        "pg_largeobject" => File(large_objects::pages),
        "pg_largeobject_metadata" => File(large_objects::metadata),
        "pg_stat_activity" => Session(cumulative_statistics::activity),
        "pg_stat_database" => Session(cumulative_statistics::stat_database),
        "pg_stat_statements" => Session(cumulative_statistics::stat_statements),
        "pg_stat_replication" => Session(replication::senders),
        "pg_stat_wal_receiver" => Session(replication::receiver),
        "pg_stat_archiver" => Session(cumulative_statistics::archiver),
        "pg_stat_progress_analyze" => Session(progress::analyze),
        "pg_stat_progress_cluster" => Session(progress::cluster),
        "pg_stat_progress_copy" => Session(progress::copy),
        "pg_stat_progress_create_index" => Session(progress::create_index),
        "pg_stat_progress_vacuum" => Session(progress::vacuum),
        "pg_stat_user_functions" => Session(cumulative_statistics::user_functions),
        "pg_stat_xact_user_functions" => Session(cumulative_statistics::user_functions_in_transaction),
        "pg_stat_slru" => Session(cumulative_statistics::slrus),
        "pg_stat_ssl" => Session(cumulative_statistics::ssl),
        "pg_stat_bgwriter" | "pg_stat_wal" => Fixed(cumulative_statistics::uncounted),
        "pg_stat_recovery_prefetch" => Fixed(cumulative_statistics::prefetch),
        "pg_stat_database_conflicts" => Session(cumulative_statistics::conflicts),
        "pg_config" => Session(session::configuration),
        "pg_stat_gssapi" => Session(cumulative_statistics::gssapi),
        "pg_available_extensions" => Catalog(builtin::available_extensions),
        "pg_available_extension_versions" => Catalog(builtin::available_extension_versions),
        "pg_hba_file_rules" => Maker::Host(client_authentication::rules),
        "pg_ident_file_mappings" => Maker::Host(client_authentication::mappings),
        "pg_timezone_names" => Session(zones::timezone_names),
        "pg_timezone_abbrevs" => Session(zones::timezone_abbreviations),
        name if EMPTY.contains(&name) => Empty,
        _ => return None,
    })
}

/// What rows were made from: nothing but this program, a snapshot, a snapshot and what the session sees of it.
struct Made {
    from: Option<Weak<Catalog>>,
    path: Vec<Oid>,
    database: String,
    /// who sees it; 0: any superuser
    role: Oid,
    table: Arc<Table>,
}

/// The rows of a system relation as the session sees them: of the built-ins made once, of the database kept for the newest
/// snapshot they were made from.
pub fn table(
    relation: &'static SystemRelation,
    cell: &SessionCell,
    connection: &rusqlite::Connection,
) -> Result<Arc<Table>> {
    static CACHE: OnceLock<Mutex<HashMap<Oid, Made>>> = OnceLock::new();
    let cache = CACHE.get_or_init(Default::default);
    let state = cell.state();
    let lock = || cache.lock().unwrap_or_else(|e| e.into_inner());
    let maker = maker(relation);
    let (path, database) = match maker {
        Some(Maker::Path(_)) => (state.search_path.as_slice(), state.database.as_str()),
        _ => (&[][..], ""),
    };
    let role = match maker {
        Some(Maker::Path(_)) if !pgsqlite_sql::acl::is_superuser(&state.catalog, state.user_oid) => state.user_oid,
        _ => 0,
    };
    if let Some(made) = lock().get(&relation.oid) {
        let of_this = |w: &Weak<Catalog>| std::ptr::eq(w.as_ptr(), Arc::as_ptr(&state.catalog)) && w.strong_count() > 0;
        if made.from.as_ref().is_none_or(of_this) && made.path == path && made.database == database && made.role == role
        {
            return Ok(made.table.clone());
        }
    }
    // its own pages are those of this connection, too
    if relation.name == "pg_stat_database" {
        // SAFETY: the connection runs the statement that asks.
        cell.pages.count(unsafe { connection.handle() });
    }
    let mut rows = Rows::new(relation);
    let mut keep = None;
    match maker {
        Some(Maker::Fixed(make)) => {
            make(&mut rows);
            keep = Some(None);
        }
        Some(Maker::Catalog(make)) => {
            make(&mut rows, &state.catalog);
            keep = Some(Some(Arc::downgrade(&state.catalog)));
        }
        Some(Maker::Path(make)) => {
            make(&mut rows, &state);
            keep = Some(Some(Arc::downgrade(&state.catalog)));
        }
        Some(Maker::Session(make)) => make(&mut rows, &state),
        Some(Maker::Host(make)) => {
            if let Some(host) = state.server.as_ref().and_then(|server| server.host()) {
                make(&mut rows, &*host)?;
            }
        }
        Some(Maker::File(make)) => make(&mut rows, connection, &state)?,
        Some(Maker::Empty) | None => {}
    }
    let table = Arc::new(Table { rows: rows.rows, indexes: Mutex::default() });
    if let Some(from) = keep {
        lock().insert(
            relation.oid,
            Made { from, path: path.to_vec(), database: database.into(), role, table: table.clone() },
        );
    }
    Ok(table)
}

#[cfg(test)]
mod tests;
