//! GIN indexes: EXPLAIN shows where one is of use, and the file that other programs see stays right.

use crate::harness::*;
use std::process::Command;

/// The lines of a plan.
fn plan(client: &mut Client, sql: &str) -> Vec<String> {
    let rows = client.rows(&format!("EXPLAIN (COSTS off) {sql}"));
    rows.into_iter().map(|mut row| row.remove(0).trim().to_string()).collect()
}

#[test]
fn explain_shows_the_index_that_a_condition_is_looked_up_in() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let mut client = server.connect();
    client.send(&startup(&[("user", "postgres"), ("database", "main")]));
    client.until_ready();
    client.rows("CREATE TABLE docs (id int PRIMARY KEY, v tsvector, j jsonb, tags text[], b text)");
    client.rows("CREATE TABLE plain (id int PRIMARY KEY, v tsvector)");
    for (name, key) in [("dv", "v"), ("dj", "j"), ("dt", "tags"), ("db", "to_tsvector('english', b)")] {
        client.rows(&format!("CREATE INDEX {name} ON docs USING gin ({key})"));
    }
    for (index, condition) in [
        ("dv", "v @@ 'cat & dog'::tsquery"),
        ("dv", "to_tsquery('english', 'cat') @@ v"),
        ("db", "to_tsvector('english', b) @@ 'cat'::tsquery"),
        ("dj", "j @> '{\"a\": 1}'"),
        ("dj", "j ? 'a'"),
        ("dt", "tags && ARRAY['x']"),
    ] {
        let lines = plan(&mut client, &format!("SELECT * FROM docs WHERE {condition}"));
        let wanted = ["Bitmap Heap Scan on docs".to_string(), format!("->  Bitmap Index Scan on {index}")];
        assert_eq!(lines, wanted, "{condition}");
    }
    // what none serves
    for sql in [
        "SELECT * FROM plain WHERE v @@ 'cat'::tsquery",
        "SELECT * FROM docs WHERE to_tsvector('simple', b) @@ 'cat'::tsquery",
        "SELECT * FROM docs WHERE NOT v @@ 'cat'::tsquery",
    ] {
        let lines = plan(&mut client, sql);
        assert!(lines.iter().all(|l| !l.contains("Bitmap")), "{sql}: {lines:?}");
    }
    client.rows("DROP INDEX dv");
    let lines = plan(&mut client, "SELECT * FROM docs WHERE v @@ 'cat'::tsquery");
    assert_eq!(lines, ["Seq Scan on docs"]);
}

#[test]
fn another_program_changes_other_columns_only() {
    let Ok(found) = Command::new("python3").args(["-c", "import sqlite3"]).status() else { return };
    assert!(found.success());
    let folder = Folder::new();
    let path = folder.path("gin.db");
    let server = Server::start(&folder, &["--database", &path]);
    let mut client = server.connect();
    client.send(&startup(&[("user", "postgres"), ("database", "gin")]));
    client.until_ready();
    client.rows("CREATE TABLE d (a int, v tsvector)");
    client.rows("CREATE INDEX ON d USING gin (v)");
    client.rows("INSERT INTO d VALUES (1, 'cat'), (2, 'dog')");
    let script = "import sqlite3, sys\n\
        c = sqlite3.connect(sys.argv[1])\n\
        c.execute('UPDATE d SET a = 7 WHERE a = 1'); c.commit()\n\
        for sql in ['UPDATE d SET v = 1', 'DELETE FROM d', 'INSERT INTO d VALUES (3, 4)', 'UPDATE d SET rowid = 9 WHERE a = 2']:\n\
        \x20   try: c.execute(sql); sys.exit(sql + ' went through')\n\
        \x20   except sqlite3.OperationalError: pass\n";
    let told = Command::new("python3").args(["-c", script, &path]).output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    assert_eq!(client.rows("SELECT a FROM d WHERE v @@ 'cat'::tsquery"), [["7"]]);
    assert_eq!(client.rows("SELECT a FROM d WHERE v @@ 'dog'::tsquery"), [["2"]]);
}
