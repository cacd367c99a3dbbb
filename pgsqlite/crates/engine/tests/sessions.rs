//! Sessions beside each other: what one does must be seen, or not seen, by the others as PostgreSQL does it.
//!
//! Every test opens a database of its own and drives [`Session`] without a socket.

mod common;

use common::*;
use pgsqlite_types::oid;
use std::time::Duration;

/// The database as a crash leaves it: its files are copied while the server runs.
fn crashed(folder: &Folder) -> Folder {
    let copy = Folder::new(&format!("crashed-{}", std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos()));
    for suffix in ["", "-wal"] {
        let name = |folder: &Folder| format!("{}{suffix}", folder.file().display());
        std::fs::copy(name(folder), name(&copy)).expect("a copy");
    }
    copy
}

/// The values that a sequence stores ahead, twice of which a block that only takes numbers may ask for: a crash loses at most so many.
const AHEAD: i64 = 32;

/// The next value of `s` in the database of a folder.
async fn next(folder: &Folder) -> i64 {
    let engine = open(&folder.file());
    let next = ok(&mut session(&engine), "SELECT nextval('s')").await[0].parse().unwrap();
    engine.shutdown().await.unwrap();
    next
}

#[test]
fn a_crash_leaves_a_gap_in_a_sequence_and_never_gives_a_value_again() {
    let folder = Folder::new("sequence-crash");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let mut a = session(&engine);
        ok(&mut a, "CREATE SEQUENCE s").await;
        for given in 1..100 {
            assert_eq!(ok(&mut a, "SELECT nextval('s')").await, [given.to_string()]);
            if given % 11 == 0 {
                let after = next(&crashed(&folder)).await;
                assert!(after > given && after <= given + 1 + 2 * AHEAD, "{after} after {given}");
            }
        }
        assert_eq!(ok(&mut a, "SELECT last_value FROM s").await, ["99"]);
        // what setval() says stays as it is, also where that is less
        ok(&mut a, "SELECT setval('s', 7)").await;
        assert_eq!(next(&crashed(&folder)).await, 8);
        assert_eq!(ok(&mut a, "SELECT nextval('s')").await, ["8"]);
        assert!((9..=9 + 2 * AHEAD).contains(&next(&crashed(&folder)).await));
        // DDL finds the sequence where it stands
        ok(&mut a, "ALTER SEQUENCE s INCREMENT -2 MINVALUE -1000").await;
        assert_eq!(next(&crashed(&folder)).await, 6);
        assert_eq!(ok(&mut a, "SELECT nextval('s')").await, ["6"]);
        assert!((4 - 4 * AHEAD..=4).contains(&next(&crashed(&folder)).await));
        // a cycle begins anew below what was stored
        ok(&mut a, "ALTER SEQUENCE s INCREMENT 1 MINVALUE 1 MAXVALUE 10 CYCLE").await;
        for given in ["7", "8", "9", "10", "1", "2"] {
            assert_eq!(ok(&mut a, "SELECT nextval('s')").await, [given]);
        }
        let after = next(&crashed(&folder)).await;
        assert!((3..=10).contains(&after) || after == 1, "{after}");
        engine.shutdown().await.unwrap();
        drop((a, engine));
        assert_eq!(next(&folder).await, 3);
    });
}

#[test]
fn ddl_does_not_take_back_values_that_another_transaction_has_taken() {
    let folder = Folder::new("sequence-ddl");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let (mut a, mut b) = (session(&engine), session(&engine));
        ok(&mut a, "CREATE SEQUENCE s").await;
        ok(&mut a, "BEGIN").await;
        assert_eq!(ok(&mut a, "SELECT nextval('s')").await, ["1"]);
        ok(&mut b, "ALTER SEQUENCE s MAXVALUE 1000").await;
        assert_eq!(ok(&mut b, "SELECT nextval('s')").await, ["2"]);
        ok(&mut b, "BEGIN").await;
        ok(&mut b, "ALTER SEQUENCE s RESTART 500").await;
        ok(&mut b, "ROLLBACK").await;
        assert_eq!(ok(&mut b, "SELECT nextval('s')").await, ["3"]);
        ok(&mut a, "COMMIT").await;
        let after = next(&crashed(&folder)).await;
        assert!((4..=4 + 2 * AHEAD).contains(&after), "{after}");
        engine.shutdown().await.unwrap();
        drop((a, b, engine));
        assert_eq!(next(&folder).await, 4);
    });
}

#[test]
fn values_of_a_sequence_are_not_given_again_after_a_restart() {
    let folder = Folder::new("sequence");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let mut a = session(&engine);
        ok(&mut a, "CREATE SEQUENCE s").await;
        assert_eq!(ok(&mut a, "SELECT nextval('s')").await, ["1"]);
        assert_eq!(ok(&mut a, "SELECT nextval('s')").await, ["2"]);
        drop(a);
        engine.shutdown().await.expect("shutdown");
        drop(engine);
        let engine = open(&folder.file());
        assert_eq!(ok(&mut session(&engine), "SELECT nextval('s')").await, ["3"]);
    });
}

#[test]
fn temporary_tables_belong_to_their_session() {
    let folder = Folder::new("temporary");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let (mut a, mut b) = (session(&engine), session(&engine));
        ok(&mut a, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)").await;
        ok(&mut a, "CREATE TEMP TABLE t (b text); INSERT INTO t VALUES ('mine')").await;
        ok(&mut a, "CREATE TEMP TABLE only_mine (a int)").await;
        assert_eq!(ok(&mut a, "SELECT b FROM t").await, ["mine"]);
        assert_eq!(ok(&mut b, "SELECT a FROM t").await, ["1"]);
        assert_eq!(code(&mut b, "SELECT * FROM only_mine").await, "42P01");
        // another session's change of the schema does not take them away
        ok(&mut b, "CREATE TABLE u (a int)").await;
        assert_eq!(ok(&mut a, "SELECT b FROM t").await, ["mine"]);
        assert_eq!(ok(&mut a, "SELECT count(*) FROM u").await, ["0"]);
        drop(a);
        let mut c = session(&engine);
        assert_eq!(ok(&mut c, "SELECT a FROM t").await, ["1"]);
        assert_eq!(code(&mut c, "SELECT * FROM only_mine").await, "42P01");
    });
}

#[test]
fn the_columns_of_execute_are_those_of_the_sessions_statement() {
    let folder = Folder::new("execute");
    runtime().block_on(async {
        let engine = open(&folder.file());
        for (query, expected) in [("SELECT 1::int4", oid::INT4), ("SELECT 'x'::text", oid::TEXT)] {
            let mut s = session(&engine);
            ok(&mut s, &format!("PREPARE q AS {query}")).await;
            s.parse("", "EXECUTE q", &[]).await.expect("parse");
            let columns = s.describe_statement("").await.expect("describe").columns.expect("columns");
            assert_eq!(columns[0].type_oid, expected, "{query}");
            s.sync().await.expect("sync");
        }
    });
}

#[test]
fn a_plan_of_a_rolled_back_schema_is_not_used() {
    let folder = Folder::new("rolled-back");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let (mut a, mut b) = (session(&engine), session(&engine));
        ok(&mut a, "CREATE TABLE t (a int)").await;
        ok(&mut a, "BEGIN; ALTER TABLE t ADD COLUMN b int").await;
        a.parse("s", "SELECT * FROM t", &[]).await.expect("parse");
        ok(&mut a, "ROLLBACK").await;
        ok(&mut b, "ALTER TABLE t ADD COLUMN c text").await;
        let error = a.describe_statement("s").await.expect_err("the columns are others");
        assert_eq!(error.code().to_string(), "0A000");
    });
}

#[test]
fn a_write_that_waited_obeys_the_new_constraint() {
    let folder = Folder::new("waited");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let (mut a, mut b) = (session(&engine), session(&engine));
        ok(&mut a, "CREATE TABLE t (a int)").await;
        ok(&mut b, "INSERT INTO t VALUES (1)").await;
        ok(&mut a, "BEGIN; ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0)").await;
        let waiting = tokio::spawn(async move { run(&mut b, "INSERT INTO t VALUES (-1)").await });
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!waiting.is_finished(), "the writer slot is taken");
        ok(&mut a, "COMMIT").await;
        let error = waiting.await.expect("the task").expect_err("the constraint holds");
        assert_eq!(error.code().to_string(), "23514");
        assert_eq!(ok(&mut a, "SELECT count(*) FROM t").await, ["1"]);
    });
}

#[test]
fn a_read_only_transaction_names_the_command() {
    let folder = Folder::new("read-only");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let mut a = session(&engine);
        ok(&mut a, "CREATE TABLE t (a int)").await;
        let error = run(&mut a, "BEGIN READ ONLY; INSERT INTO t VALUES (1)").await.expect_err("read-only");
        assert_eq!(error.code().to_string(), "25006");
        assert_eq!(error.message(), "cannot execute INSERT in a read-only transaction");
    });
}

#[test]
fn system_columns_that_nothing_is_known_of_are_refused_where_they_stand() {
    let folder = Folder::new("system_columns");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let mut a = session(&engine);
        ok(&mut a, "CREATE TABLE t (a int PRIMARY KEY); CREATE TABLE p (a int)").await;
        for (text, column) in [
            ("SELECT xmin FROM t", "xmin"),
            ("SELECT t.xmin, a FROM t", "xmin"),
            ("SELECT a FROM t WHERE cmax = '1'", "cmax"),
            ("UPDATE t SET a = 1 WHERE xmin = '5'", "xmin"),
            ("UPDATE t SET a = 1 RETURNING xmax", "xmax"),
            ("SELECT xmax FROM t", "xmax"),
            ("SELECT oid, cmin FROM pg_class", "cmin"),
            ("SELECT ctid FROM p TABLESAMPLE BERNOULLI (50)", "ctid"),
        ] {
            let error = run(&mut a, text).await.expect_err(text);
            assert_eq!(error.message(), format!("system column {column} is not supported by pgsqlite"), "{text}");
            let place = text.find(column).map(|at| if text[..at].ends_with("t.") { at - 2 } else { at });
            assert_eq!(error.fields().location, place, "{text}");
        }
    });
}

/// PostgreSQL refuses these values when it reads them (`domain_in`, `array_in`, `record_in`), with the same codes.
#[test]
fn values_of_declared_types_are_checked_as_domains() {
    let folder = Folder::new("declared-domains");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let mut s = session(&engine);
        ok(&mut s, "CREATE DOMAIN cents AS numeric(5,2) CHECK (value < 500)").await;
        ok(&mut s, "CREATE DOMAIN filled AS int NOT NULL").await;
        ok(&mut s, "CREATE TYPE pair AS (a cents, b filled)").await;
        ok(&mut s, "CREATE TABLE t (x cents, xs cents[], p pair, ps pair[])").await;
        for (column, ty, value, code) in [
            ("x", "cents", "500", "23514"),
            ("xs", "cents[]", "{1,500}", "23514"),
            ("p", "pair", "(500,1)", "23514"),
            ("p", "pair", "(1,)", "23502"),
            ("ps", "pair[]", "{\"(500,1)\"}", "23514"),
        ] {
            let declared = ok(&mut s, &format!("SELECT '{ty}'::regtype::oid::int8")).await[0].parse().unwrap();
            for text in ["SELECT $1".to_string(), format!("INSERT INTO t ({column}) VALUES ($1)")] {
                s.parse("", &text, &[declared]).await.expect("parse");
                let bound =
                    s.bind("", "", &[pgsqlite_engine::session::Format::Text], &[Some(value.as_bytes())], &[]).await;
                let got = match bound {
                    Ok(()) => s.execute("", 0, &mut Rows::default()).await.map(|_| ()),
                    refused => refused,
                };
                assert_eq!(got.expect_err(value).code().to_string(), code, "{text} with {value} as {ty}");
                s.failed().await;
                s.sync().await.expect("sync");
            }
        }
        assert_eq!(ok(&mut s, "SELECT count(*) FROM t").await, ["0"]);
    });
}
