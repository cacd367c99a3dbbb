//! Statements in a body that are no queries: DDL, SET, and those that cannot be there.

use super::firing;
use super::statement::{check_may_write, check_volatile};
use super::Host;
use pgsqlite_natives::settings::values;
use pgsqlite_natives::udf::session_cell::ServerFunctions;
use pgsqlite_objects::ddl;
use pgsqlite_sql::catalog::{Catalog, Relation};
use pgsqlite_sql::parse::ast::TransactionStmtKind as Kind;
use pgsqlite_sql::parse::{ast, NodeEnum, RawStatement};
use pgsqlite_sql::routine::Timing;
use pgsqlite_types::{PgError, Result, SqlState};
use std::sync::Arc;

/// Shows the natives of the connection another state of the catalog.
pub fn show_catalog(host: Host, catalog: Arc<Catalog>) {
    host.cell.update(|state| {
        if let Some(sequences) = &state.sequences {
            sequences.show_catalog(catalog.clone());
        }
        state.show(catalog);
    });
}

/// Runs a statement that is no query. `place`: where it stands, as messages name it.
pub fn run(host: Host, statement: &RawStatement, place: &str) -> Result<()> {
    if !matches!(statement.node, NodeEnum::TransactionStmt(_) | NodeEnum::CopyStmt(_)) {
        check_volatile(host.routines(), &pgsqlite_sql::command::tag(&statement.node))?;
    }
    match &statement.node {
        NodeEnum::TransactionStmt(t) => Err(PgError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            if place == "PL/pgSQL" && matches!(t.kind(), Kind::TransStmtCommit | Kind::TransStmtRollback) {
                // (written as such it would not come here)
                "EXECUTE of transaction commands is not implemented".to_string()
            } else if place == "PL/pgSQL" {
                "unsupported transaction command in PL/pgSQL".to_string()
            } else {
                "COMMIT is not allowed in an SQL function".to_string()
            },
        )),
        NodeEnum::CopyStmt(_) => {
            Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, format!("cannot COPY to/from client in {place}")))
        }
        NodeEnum::VariableSetStmt(s) => set(host, s),
        NodeEnum::ConstraintsSetStmt(s) => super::set_constraints::set(host, s),
        NodeEnum::NotifyStmt(n) => server(host)?.notify(&n.conditionname, &n.payload),
        NodeEnum::ListenStmt(l) => server(host)?.listen(&l.conditionname),
        NodeEnum::UnlistenStmt(u) => {
            server(host)?.unlisten(Some(u.conditionname.as_str()).filter(|channel| !channel.is_empty()))
        }
        NodeEnum::VacuumStmt(s) if s.is_vacuumcmd => Err(from_function("VACUUM")),
        NodeEnum::DiscardStmt(s) if s.target() == ast::DiscardMode::DiscardAll => Err(from_function("DISCARD ALL")),
        node if ddl::handles(node) => run_ddl(host, statement),
        node => Err(PgError::not_supported(format!("{} in a {place} body", pgsqlite_sql::command::name(node)))),
    }
}

/// What the server as a whole knows.
fn server(host: Host) -> Result<Arc<dyn ServerFunctions>> {
    host.cell.state().server.clone().ok_or_else(|| PgError::internal("no session"))
}

/// 25001, for what must not be part of a transaction.
fn from_function(command: &str) -> PgError {
    PgError::new(SqlState::ACTIVE_SQL_TRANSACTION, format!("{command} cannot be executed from a function"))
}

fn set(host: Host, s: &ast::VariableSetStmt) -> Result<()> {
    let set = |value: Option<&str>| host.cell.set_setting(&s.name, value, s.is_local).map(|_| ());
    match ast::VariableSetKind::try_from(s.kind) {
        Ok(ast::VariableSetKind::VarSetValue) => {
            let zone =
                |_: &ast::TypeCast| Err(PgError::not_supported("a time zone given as an interval in a function"));
            set(Some(&values::of_statement(&s.name, &s.args, zone)?))
        }
        Ok(ast::VariableSetKind::VarSetDefault | ast::VariableSetKind::VarReset) => set(None),
        Ok(ast::VariableSetKind::VarResetAll) => {
            let variables = host.cell.state().variables.clone();
            let variables = variables.ok_or_else(|| PgError::internal("no session"))?;
            for name in variables.all().names_to_reset() {
                host.cell.set_setting(&name, None, false)?;
            }
            Ok(())
        }
        Ok(ast::VariableSetKind::VarSetMulti) if s.name == "TRANSACTION" => {
            for (mode, value) in values::of_modes(&s.args)? {
                host.cell.set_setting(mode, Some(&value), true)?;
            }
            Ok(())
        }
        Ok(ast::VariableSetKind::VarSetMulti) if s.name == "SESSION CHARACTERISTICS" => {
            for (mode, value) in values::of_modes(&s.args)? {
                host.cell.set_setting(&format!("default_{mode}"), Some(&value), false)?;
            }
            Ok(())
        }
        _ => Err(PgError::not_supported("this form of SET in a function")),
    }
}

fn run_ddl(host: Host, statement: &RawStatement) -> Result<()> {
    let node = &statement.node;
    check_may_write(host.routines(), &pgsqlite_sql::command::name(node))?;
    if matches!(node, NodeEnum::CreatedbStmt(_) | NodeEnum::DropdbStmt(_)) {
        return Err(from_function("CREATE DATABASE"));
    }
    host.routines().temporary.set(true);
    let catalog = host.catalog();
    let show = |catalog: Arc<Catalog>| show_catalog(host, catalog);
    let as_owner = |owner: pgsqlite_types::Oid, run: &mut dyn FnMut()| host.cell.as_owner(owner, run);
    let fire = |told: Vec<PgError>, relation: &Arc<Relation>, timing: Timing| {
        told.into_iter().for_each(|notice| host.cell.notice(notice));
        firing::fire_truncate(host, relation, timing)
    };
    let (session_role, database) = {
        let state = host.cell.state();
        (state.session_oid, state.database.to_string())
    };
    let session = ddl::DdlSession {
        session_role,
        database: &database,
        show_catalog: Some(&show),
        as_owner: Some(&as_owner),
        fire_truncate: Some(&fire),
        busy: super::after::busy_tables(host),
        pending: super::after::pending_tables(host),
        ..Default::default()
    };
    let connection = host.connection()?;
    if let Some(sequences) = &host.cell.state().sequences {
        sequences.settle(&connection)?;
    }
    let outcome = host
        .with_environment_of_now(|environment| ddl::execute(&connection, &catalog, environment, statement, &session));
    let outcome = outcome.map_err(|e| {
        show_catalog(host, catalog.clone());
        let e = host.cell.take_error().unwrap_or(e);
        if e.message().contains("database table is locked") {
            return PgError::not_supported(
                "dropping or rebuilding a table in a function that a query over tables calls",
            );
        }
        e
    })?;
    for notice in outcome.notices {
        host.cell.notice(notice);
    }
    if let NodeEnum::TruncateStmt(_) = node {
        host.routines().recorder.lock().log.obstacle.get_or_insert("it has cleared a table");
        host.routines().written.lock().note_all_deleted();
    }
    if let Some(mut new) = outcome.catalog {
        Arc::make_mut(&mut new).epoch = pgsqlite_metadata::counter::next_number();
        show_catalog(host, new.clone());
        let mut changed = host.routines().changed.borrow_mut();
        let mut sequences = changed.take().map_or(vec![], |c| c.1);
        sequences.extend(outcome.sequences);
        *changed = Some((new, sequences));
    }
    Ok(())
}
