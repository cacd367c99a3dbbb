//! Natives of `builtins/catalogs.rs`: single values of what the catalogs and the statistics views show.

use crate::pg_catalog::table;
use pgsqlite_natives::statistics::functions::FunctionCounts;
use pgsqlite_natives::statistics::Maintenance;
use pgsqlite_natives::udf::shim::{Call, Scalar};
use pgsqlite_sql::acl::{self, privilege};
use pgsqlite_sql::builtins::catalog::system_relations;
use pgsqlite_sql::catalog::{Catalog, KeyPart, RelationKind, PG_TEMP};
use pgsqlite_sql::deparse::Names;
use pgsqlite_types::array::Array;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::datetime::Timestamp;
use pgsqlite_types::work;
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};

/// The names of the types of an oidvector, as messages show them.
/// `name_oid`, of which the name is cut where it would be longer than names are.
fn name_with_oid(c: &Call) -> Result<Datum> {
    const LONGEST: usize = 63;
    let (name, suffix) = (c.text(0)?, format!("_{}", c.int(1)? as Oid));
    let end = name.floor_char_boundary(name.len().min(LONGEST - suffix.len()));
    Ok(Datum::Text(format!("{}{suffix}", &name[..end])))
}

fn vector_types(c: &Call) -> Result<Datum> {
    let types = Array::from_storage(c.text(0)?, &TypeCodec::Oid).ok_or_else(|| PgError::internal("an oidvector"))?;
    let state = c.session.state();
    let names = Names::new(&state.catalog, &state.search_path);
    let shown = types.elements.iter().map(|ty| match ty {
        Datum::Int(0) => "-".to_string(),
        Datum::Int(ty) if state.catalog.type_entry(*ty as Oid).is_some() => {
            super::objects::bare_type_name(&names, &state.catalog, *ty as Oid)
        }
        _ => "???".to_string(),
    });
    Ok(Datum::Text(shown.collect::<Vec<_>>().join(", ")))
}

/// The schema of the session's temporary objects; 0: it has none.
fn temporary_schema(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(if has_temporary_schema(&c.session.state().catalog) { PG_TEMP.into() } else { 0 }))
}

/// Whether a session has made something temporary that is still there.
pub(super) fn has_temporary_schema(catalog: &Catalog) -> bool {
    catalog.relations.values().any(|r| r.temporary)
}

/// What nextval gave last in any session; NULL where the role may not know. Errors: 42809 for what is no sequence.
fn sequence_last_value(c: &Call) -> Result<Datum> {
    let sequence = c.int(0)? as Oid;
    let state = c.session.state();
    let Some(relation) = state.catalog.relation(sequence) else {
        return Err(PgError::internal(format!("could not open relation with OID {sequence}")));
    };
    if !matches!(relation.kind, RelationKind::Sequence(_)) {
        let message = format!("cannot open relation \"{}\"", relation.name);
        return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, message).detail(relation.kind.not_supported()));
    }
    let granted = acl::relation_privileges(&state.catalog, state.user_oid, relation);
    if granted & (privilege::USAGE | privilege::SELECT) == 0 {
        return Ok(Datum::Null);
    }
    let sequences = state.sequences.clone().ok_or_else(|| PgError::internal("sequences outside a session"))?;
    drop(state);
    Ok(sequences.last_value(sequence)?.map_or(Datum::Null, Datum::Int))
}

/// The place of a column in an index, from 1.
fn index_position(c: &Call) -> Result<Datum> {
    let (index, wanted) = (c.int(0)? as Oid, c.int(1)?);
    let state = c.session.state();
    let Some(RelationKind::Index(index)) = state.catalog.relation(index).map(|r| &r.kind) else {
        return Ok(Datum::Null);
    };
    let keys = index.columns.iter().map(|k| match k.key {
        KeyPart::Column(attnum) => attnum,
        KeyPart::Expression(_) => 0,
    });
    let place = keys.chain(index.include.iter().copied()).position(|attnum| i64::from(attnum) == wanted);
    Ok(place.map_or(Datum::Null, |i| Datum::Int(i as i64 + 1)))
}

/// The column of the row of a statistics view whose `key` is the argument. An object that the view does not show has counted
/// nothing: 0, where the column counts.
fn shown(c: &Call, views: &[(&str, &str, &str)]) -> Result<Datum> {
    // SAFETY: the handle belongs to the engine; this view of it does not close it.
    let connection =
        unsafe { rusqlite::Connection::from_handle(c.connection()) }.map_err(pgsqlite_metadata::store::sqlite_error)?;
    for (view, key, column) in views {
        work::visit();
        let relation = system_relations().iter().find(|r| r.name == *view && r.schema == "pg_catalog");
        let relation = relation.ok_or_else(|| PgError::internal("a statistics view that is not there"))?;
        let place = |name: &str| relation.columns.iter().position(|c| c.1 == name);
        let (Some(key), Some(column)) = (place(key), place(column)) else {
            return Err(PgError::internal("a column of a statistics view that is not there"));
        };
        let table = table(relation, c.session, &connection)?;
        if let Some(&row) = table.find(key, &Datum::Int(c.int(0)?)).first() {
            return Ok(table.rows[row as usize][column].clone());
        }
    }
    Ok(Datum::Int(0))
}

/// What VACUUM and ANALYZE did to the table of the first argument.
fn maintenance(c: &Call) -> Result<Maintenance> {
    let state = c.session.state();
    let statistics = state.server.as_ref().and_then(|server| server.statistics());
    let table = Oid::try_from(c.int(0)?).unwrap_or_default();
    Ok(statistics.map(|s| s.database(&state.catalog.database).maintenance(table)).unwrap_or_default())
}

/// What was counted of the function of the first argument, by transactions that have ended or (`own`) by the running one.
fn of_function(c: &Call, own: bool, show: impl Fn(&FunctionCounts) -> Datum) -> Result<Datum> {
    let server = c.session.state().server.clone();
    let function = Oid::try_from(c.int(0)?).unwrap_or_default();
    let counts = server.and_then(|server| match own {
        true => server.own_function_counts(function),
        false => server.function_counts(function),
    });
    Ok(counts.as_ref().map_or(Datum::Null, show))
}

/// Milliseconds.
fn milliseconds(time: std::time::Duration) -> Datum {
    Datum::Real(time.as_secs_f64() * 1000.0)
}

fn moment(micros: Option<i64>) -> Datum {
    micros.map(|m| Timestamp(m).to_storage()).into()
}

/// What is not counted for each table.
fn not_counted(_: &Call) -> Result<Datum> {
    Ok(Datum::Int(0))
}

/// Nothing cleans up or analyzes by itself.
fn never(_: &Call) -> Result<Datum> {
    Ok(Datum::Null)
}

/// As [`shown`], of a time: NULL where nothing is known.
fn time(c: &Call, views: &[(&str, &str, &str)]) -> Result<Datum> {
    Ok(match shown(c, views)? {
        Datum::Int(_) => Datum::Null,
        other => other,
    })
}

macro_rules! of_table {
    ($column:literal) => {
        |c| shown(c, &[("pg_stat_xact_all_tables", "relid", $column)])
    };
    ($column:literal, $of_index:literal) => {
        |c| shown(c, &[("pg_stat_xact_all_tables", "relid", $column), ("pg_stat_all_indexes", "indexrelid", $of_index)])
    };
}
macro_rules! of_database {
    ($column:literal) => {
        |c| shown(c, &[("pg_stat_database", "datid", $column)])
    };
}

/// (symbol or signature, function)
pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("nameconcatoid", name_with_oid),
    ("oidvectortypes", vector_types),
    ("pg_my_temp_schema", temporary_schema),
    ("pg_sequence_last_value", sequence_last_value),
    ("_pg_index_position(oid,int2)", index_position),
    ("pg_stat_get_numscans", of_table!("seq_scan", "idx_scan")),
    ("pg_stat_get_tuples_returned", of_table!("seq_tup_read", "idx_tup_read")),
    ("pg_stat_get_tuples_fetched", of_table!("idx_tup_fetch", "idx_tup_fetch")),
    ("pg_stat_get_tuples_inserted", of_table!("n_tup_ins")),
    ("pg_stat_get_tuples_updated", of_table!("n_tup_upd")),
    ("pg_stat_get_tuples_deleted", of_table!("n_tup_del")),
    ("pg_stat_get_tuples_hot_updated", of_table!("n_tup_hot_upd")),
    ("pg_stat_get_live_tuples", not_counted),
    ("pg_stat_get_dead_tuples", not_counted),
    ("pg_stat_get_mod_since_analyze", not_counted),
    ("pg_stat_get_ins_since_vacuum", not_counted),
    ("pg_stat_get_last_vacuum_time", |c| Ok(moment(maintenance(c)?.last_vacuum))),
    ("pg_stat_get_last_autovacuum_time", never),
    ("pg_stat_get_last_analyze_time", |c| Ok(moment(maintenance(c)?.last_analyze))),
    ("pg_stat_get_last_autoanalyze_time", never),
    ("pg_stat_get_vacuum_count", |c| Ok(Datum::Int(maintenance(c)?.vacuum_count))),
    ("pg_stat_get_autovacuum_count", not_counted),
    ("pg_stat_get_analyze_count", |c| Ok(Datum::Int(maintenance(c)?.analyze_count))),
    ("pg_stat_get_autoanalyze_count", not_counted),
    ("pg_stat_get_function_calls", |c| of_function(c, false, |f| Datum::Int(f.calls))),
    ("pg_stat_get_function_total_time", |c| of_function(c, false, |f| milliseconds(f.total))),
    ("pg_stat_get_function_self_time", |c| of_function(c, false, |f| milliseconds(f.own))),
    ("pg_stat_get_xact_function_calls", |c| of_function(c, true, |f| Datum::Int(f.calls))),
    ("pg_stat_get_xact_function_total_time", |c| of_function(c, true, |f| milliseconds(f.total))),
    ("pg_stat_get_xact_function_self_time", |c| of_function(c, true, |f| milliseconds(f.own))),
    ("pg_stat_get_db_numbackends", of_database!("numbackends")),
    ("pg_stat_get_db_xact_commit", of_database!("xact_commit")),
    ("pg_stat_get_db_xact_rollback", of_database!("xact_rollback")),
    ("pg_stat_get_db_blocks_fetched", |c| {
        let part = |column| shown(c, &[("pg_stat_database", "datid", column)]);
        Ok(match (part("blks_read")?, part("blks_hit")?) {
            (Datum::Int(read), Datum::Int(hit)) => Datum::Int(read + hit),
            (other, _) => other,
        })
    }),
    ("pg_stat_get_db_blocks_hit", of_database!("blks_hit")),
    ("pg_stat_get_db_tuples_returned", of_database!("tup_returned")),
    ("pg_stat_get_db_tuples_inserted", of_database!("tup_inserted")),
    ("pg_stat_get_db_tuples_updated", of_database!("tup_updated")),
    ("pg_stat_get_db_tuples_deleted", of_database!("tup_deleted")),
    ("pg_stat_get_db_stat_reset_time", |c| time(c, &[("pg_stat_database", "datid", "stats_reset")])),
    ("pg_stat_get_db_session_time", of_database!("session_time")),
    ("pg_stat_get_db_active_time", of_database!("active_time")),
    ("pg_stat_get_db_idle_in_transaction_time", of_database!("idle_in_transaction_time")),
    ("pg_stat_get_db_sessions", of_database!("sessions")),
    ("pg_stat_get_db_sessions_killed", of_database!("sessions_killed")),
];
