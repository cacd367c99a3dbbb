//! A database's files belong to the server that has it open: nothing that clients ask for makes it lose its locks on them.

use crate::harness::*;
use std::path::Path;

/// Whether another program that opens and closes a database takes its log away: it does if it finds no locks of ours.
fn another_program_visits(path: &Path) {
    let visit = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT count(*) FROM sqlite_schema').fetchone(); c.close()";
    let done = std::process::Command::new("python3").args(["-c", visit]).arg(path).status().expect("python3 runs");
    assert!(done.success());
}

/// What is acknowledged after the visit of another program is there after a crash.
fn commits_last(folder: &Folder, path: &Path, flags: &[&str], database: &str, meanwhile: impl Fn(&Server)) {
    std::fs::write(path, "").unwrap();
    let mut server = Server::start(folder, flags);
    let mut client = server.session_in(database);
    client.rows("CREATE TABLE t (i int)");
    meanwhile(&server);
    another_program_visits(path);
    for i in 0..20 {
        client.rows(&format!("INSERT INTO t VALUES ({i})"));
    }
    server.signal("KILL");
    server.ended();
    let server = Server::start(folder, flags);
    assert_eq!(server.session_in(database).rows("SELECT count(*) FROM t"), [["20"]]);
}

#[test]
fn a_link_to_an_open_database_costs_it_nothing() {
    for hard in [false, true] {
        let (folder, data) = (Folder::new(), Folder::new());
        let (path, link) = (data.0.join("main.db"), data.0.join("link.db"));
        let flags = ["--data-dir", data.0.to_str().unwrap()];
        commits_last(&folder, &path, &flags, "main", |server| {
            match hard {
                true => std::fs::hard_link(&path, &link).unwrap(),
                false => std::os::unix::fs::symlink(&path, &link).unwrap(),
            }
            // to list the databases, and to ask for the link
            server.session_in("main").rows("SELECT datname, pg_database_size(datname) FROM pg_database");
            let mut client = server.connect();
            client.send(&startup(&[("user", "postgres"), ("database", "link")]));
            assert_eq!(client.told_to_go(), "55006");
            // the link would be in the way of the next start
            std::fs::remove_file(&link).unwrap();
        });
    }
}

#[test]
fn copy_does_not_touch_the_files_of_open_databases() {
    let (folder, data) = (Folder::new(), Folder::new());
    let path = data.0.join("main.db");
    let link = data.0.join("link");
    let flags = ["--data-dir", data.0.to_str().unwrap(), "--server-files", data.0.to_str().unwrap()];
    commits_last(&folder, &path, &flags, "main", |server| {
        std::fs::hard_link(&path, &link).unwrap();
        let mut postgres = server.session_in("postgres");
        postgres.rows("CREATE TABLE c (line text)");
        for name in ["main.db", "main.db-wal", "main.db-shm", "main.db-pgsqlite.lock", "postgres.db", "link"] {
            let file = data.path(name);
            for sql in [format!("COPY c FROM '{file}'"), format!("COPY c TO '{file}'")] {
                assert_eq!(postgres.fails(&sql), "55006", "{sql}");
            }
        }
        std::fs::remove_file(&link).unwrap();
        // one that is not open is no text to be replaced, either
        postgres.rows("CREATE DATABASE closed");
        assert_eq!(postgres.fails(&format!("COPY c TO '{}'", data.path("closed.db"))), "42809");
        postgres.rows(&format!("COPY c TO '{}'", data.path("text")));
        postgres.rows(&format!("COPY c TO '{}'", data.path("text")));
    });
}

#[test]
fn a_file_with_two_names_is_refused() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("a.db"), "").unwrap();
    std::fs::hard_link(folder.0.join("a.db"), folder.0.join("b.db")).unwrap();
    let said = refused(unix_only(&Folder::new(), &["--database", &folder.path("b.db")]));
    assert!(said.contains("hard links"), "{said}");
    assert_eq!(folder.names(), ["a.db", "b.db"]);
}

/// A log that was left behind belongs to no database that is made later.
#[test]
fn a_left_over_log_is_not_taken_up() {
    let (folder, data) = (Folder::new(), Folder::new());
    let flags = ["--data-dir", data.0.to_str().unwrap()];
    let mut server = Server::start(&folder, &flags);
    server.session_in("postgres").rows("CREATE DATABASE shop");
    server.session_in("shop").rows("CREATE TABLE old (i int)");
    server.signal("KILL");
    server.ended();
    // DROP DATABASE that was killed, or a copy
    std::fs::remove_file(data.0.join("shop.db")).unwrap();
    assert!(data.0.join("shop.db-wal").exists());
    let server = Server::start(&folder, &flags);
    server.session_in("postgres").rows("CREATE DATABASE shop");
    let mut shop = server.session_in("shop");
    assert_eq!(shop.rows("SELECT count(*) FROM pg_class WHERE relname = 'old'"), [["0"]]);
    drop(shop);
    server.session_in("postgres").rows("DROP DATABASE shop");
    assert!(data.names().iter().all(|name| !name.starts_with("shop")), "{:?}", data.names());
}
