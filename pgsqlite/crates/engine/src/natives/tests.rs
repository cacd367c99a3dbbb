//! The table and the native functions belong together, and do what PostgreSQL 15 does (vectors recorded from it).

use super::*;
use pgsqlite_sql::builtins::imp::implemented;
use pgsqlite_types::{Datum, SqlState};
use std::collections::HashSet;

#[test]
fn every_native_row_is_registered_and_nothing_else() {
    let registered: HashSet<Oid> = registered().expect("every native function has a row").into_iter().collect();
    for (oid, imp) in implemented() {
        let native = !matches!(imp, Imp::Inline(_) | Imp::InlineAggregate(_) | Imp::Sql(_) | Imp::Special);
        assert_eq!(native, registered.contains(&oid), "{}", native_name(oid));
    }
}

#[test]
fn the_role_comes_back_when_a_request_ends_the_work() {
    let cell = crate::natives::new_cell();
    let own = cell.state().user_oid;
    let ended: Result<()> = pgsqlite_types::work::catching(|| {
        cell.as_owner(own + 1, || {
            assert!(cell.state().restricted && cell.state().user_oid == own + 1);
            // (a function with SECURITY DEFINER, or a foreign key, stays restricted within)
            cell.as_role(own + 2, || assert!(cell.state().restricted && cell.state().user_oid == own + 2));
            std::panic::resume_unwind(Box::new(PgError::new(SqlState::QUERY_CANCELED, "canceled")))
        })
    });
    assert_eq!(ended.unwrap_err().code(), SqlState::QUERY_CANCELED);
    let state = cell.state();
    assert!(state.user_oid == own && !state.in_definer && !state.restricted);
}

#[test]
fn registers_on_a_connection() {
    let conn = pgsqlite_storage::vfs::open::in_memory().expect("an in-memory database");
    let cell = crate::natives::new_cell();
    register_all(&conn, cell.clone()).expect("registered");
    let value: i64 = conn.query_row("SELECT pg_int4pl_177(2, 3)", [], |r| r.get(0)).expect("2 + 3");
    assert_eq!(value, 5);
    conn.query_row("SELECT pg_int4pl_177(2147483647, 1)", [], |r| r.get::<_, i64>(0)).expect_err("out of range");
    assert_eq!(cell.take_error().expect("the error behind").message(), "integer out of range");
}

/// What a native call gives, written as the vectors have it.
fn outcome(conn: &rusqlite::Connection, cell: &SessionCell, sql: &str) -> String {
    use rusqlite::types::ValueRef;
    let result = conn.query_row(sql, [], |row| {
        Ok(match row.get_ref(0)? {
            ValueRef::Null => "NULL".to_string(),
            ValueRef::Integer(i) => format!("={i}"),
            ValueRef::Real(r) => {
                let mut out = Vec::new();
                pgsqlite_types::float::write(r, false, 1, &mut out);
                format!("={}", String::from_utf8_lossy(&out))
            }
            ValueRef::Text(t) => {
                format!("={}", String::from_utf8_lossy(t).replace('\\', "\\\\").replace('\n', "\\n"))
            }
            ValueRef::Blob(b) => format!("=\\\\x{}", hex::encode(b)),
        })
    });
    result.unwrap_or_else(|e| match cell.take_error() {
        Some(e) => format!("!{} {}", e.code(), e.message().replace('\\', "\\\\")),
        None => format!("SQLite: {e}"),
    })
}

#[test]
fn recorded_vectors() {
    let conn = pgsqlite_storage::vfs::open::in_memory().expect("an in-memory database");
    let cell = crate::natives::new_cell();
    register_all(&conn, cell.clone()).expect("registered");
    let mut wrong = Vec::new();
    for line in include_str!("vectors.tsv").lines().filter(|l| !l.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [postgres, sql, expected] = fields[..] else { panic!("three fields: {line}") };
        let got = outcome(&conn, &cell, sql);
        if got != expected {
            wrong.push(format!("{postgres}\n  expected {expected}\n  got      {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An aggregate that counts how often its result is asked for. An argument of 100 is an error, one of 200 interrupts the statement.
struct Asked;

static ASKED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

impl shim::State for Asked {
    fn step(&mut self, call: &shim::Call) -> Result<()> {
        match call.int(0)? {
            100 => Err(PgError::new(SqlState::DATA_EXCEPTION, "a hundred")),
            200 => {
                // SAFETY: the connection of the running call.
                unsafe { libsqlite3_sys::sqlite3_interrupt(call.connection()) };
                Ok(())
            }
            _ => Ok(()),
        }
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        ASKED.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(Datum::Int(1))
    }
}

#[test]
fn no_result_is_made_for_a_statement_that_has_failed() {
    let conn = pgsqlite_storage::vfs::open::in_memory().expect("an in-memory database");
    let cell = crate::natives::new_cell();
    // SAFETY: a live connection.
    let db = unsafe { conn.handle() };
    let traits = shim::Traits { arity: 1, strict: false, deterministic: true };
    shim::aggregate(db, &cell, "asked", traits, || Box::new(Asked), false).expect("registered");
    let asked = |last: i64| {
        ASKED.store(0, std::sync::atomic::Ordering::Relaxed);
        let sql = format!("WITH r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < {last}) SELECT asked(i), asked(i + 1000) FROM r");
        let result = conn.query_row(&sql, [], |r| r.get::<_, i64>(0));
        (result.is_ok(), ASKED.load(std::sync::atomic::Ordering::Relaxed))
    };
    assert_eq!(asked(50), (true, 2));
    assert_eq!(asked(150), (false, 0));
    assert_eq!(cell.take_error().expect("the step's").message(), "a hundred");
    assert_eq!(asked(90), (true, 2));
    let sql = "WITH r(i) AS (SELECT 101 UNION ALL SELECT i + 1 FROM r WHERE i < 1000000) SELECT asked(i) FROM r";
    ASKED.store(0, std::sync::atomic::Ordering::Relaxed);
    conn.query_row(sql, [], |r| r.get::<_, i64>(0)).expect_err("is interrupted");
    assert_eq!(ASKED.load(std::sync::atomic::Ordering::Relaxed), 0);
    assert_eq!(asked(90), (true, 2));
}
