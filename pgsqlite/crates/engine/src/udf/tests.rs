//! The table and the native functions belong together, and do what PostgreSQL 15 does (vectors recorded from it).

use super::*;
use pgsqlite_sql::builtins::imp::implemented;
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
fn registers_on_a_connection() {
    let conn = rusqlite::Connection::open_in_memory().expect("an in-memory database");
    let cell = Arc::new(SessionCell::default());
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
    let conn = rusqlite::Connection::open_in_memory().expect("an in-memory database");
    let cell = Arc::new(SessionCell::default());
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
