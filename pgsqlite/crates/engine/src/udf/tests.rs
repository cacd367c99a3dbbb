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
