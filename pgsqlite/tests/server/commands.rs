//! The commands that are no server: exec, import, info, check, upgrade, demo, completions, man.

use crate::harness::*;
use std::process::{Command, Stdio};

/// Runs to the end: exit code, standard output, standard error.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = pgsqlite(arguments);
    command.env("TMPDIR", std::env::temp_dir());
    let output = output(command);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A program in Python's place: what a client would do, without one. Opens the socket that the variables name.
const LOOK: &str = r#"test -S "$PGHOST/.s.PGSQL.$PGPORT" && echo "$PGUSER $PGDATABASE ${DATABASE_URL%%\?*}""#;

#[test]
fn exec_ends_as_its_command_and_leaves_nothing() {
    let folder = Folder::new();
    let temporary = Folder::new();
    let exec = |arguments: &[&str]| {
        let mut command = pgsqlite(&["exec"]);
        command.args(arguments).env("TMPDIR", &temporary.0).current_dir(&folder.0);
        let output = output(command);
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(
        exec(&["--", "sh", "-c", LOOK]),
        (Some(0), "postgres main postgresql://postgres@/main\n".into(), String::new())
    );
    assert_eq!(exec(&["--", "sh", "-c", "exit 7"]).0, Some(7));
    assert_eq!(exec(&["--", "sh", "-c", "kill -KILL $$"]).0, Some(128 + 9));
    assert_eq!(exec(&["--", "no-such-program"]).0, Some(127));
    std::fs::write(folder.0.join("plain"), "").unwrap();
    assert_eq!(exec(&["--", "./plain"]).0, Some(126));
    let (code, _, text) = exec(&["--template", "missing.db", "--", "true"]);
    assert_eq!((code, text.contains("missing.db")), (Some(125), true), "{text}");
    assert_eq!(exec(&["--database", "new.db", "--", "sh", "-c", LOOK]).1.lines().count(), 1);
    assert_eq!(folder.names(), ["new.db", "plain"]);
    assert_eq!(temporary.names(), [""; 0]);
}

#[test]
fn exec_passes_signals_on() {
    let temporary = Folder::new();
    let mut command =
        pgsqlite(&["exec", "--", "sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"]);
    let mut process = command.env("TMPDIR", &temporary.0).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(process.stdout.take().unwrap()), &mut line).unwrap();
    assert_eq!(line, "ready\n");
    assert!(Command::new("kill").arg(process.id().to_string()).status().unwrap().success());
    assert_eq!(process.wait().unwrap().code(), Some(9));
    assert_eq!(temporary.names(), [""; 0]);
}

/// A dump as pg_dump writes it, with what can mislead a reader of lines.
const DUMP: &str = "--\n-- PostgreSQL database dump\n--\n\\restrict abc\nSET client_encoding = 'UTF8';\nSET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
CREATE TABLE public.t (i integer NOT NULL, s text DEFAULT ';'::text);
CREATE FUNCTION public.f() RETURNS integer LANGUAGE plpgsql AS $$BEGIN RETURN 1; END;$$;
COPY public.t (i, s) FROM stdin;\n1\ta;b\n2\t\\N\n3\tü\\\\.\n\\.\n
ALTER TABLE ONLY public.t ADD CONSTRAINT t_pkey PRIMARY KEY (i);\n\\unrestrict abc\n";

fn value(file: &str, query: &str) -> String {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--database", file]);
    let value = server.session().value(query);
    server.stop();
    value
}

#[test]
fn a_dump_is_imported_whole_or_not_at_all() {
    let folder = Folder::new();
    let (file, dump) = (folder.path("new.db"), folder.path("dump.sql"));
    std::fs::write(&dump, DUMP).unwrap();
    let (code, out, err) = run(&["import", "--database", &file, &dump]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("7 statements, 3 rows of COPY"), "{out}");
    assert_eq!(value(&file, "SELECT string_agg(coalesce(s, '-'), '|' ORDER BY i) || f() FROM t"), "a;b|-|ü\\.1");
    for (tail, what) in [
        ("ALTER TABLE public.t OWNER TO nobody_here;\n", "--no-owner"),
        ("COPY public.t (i, s) FROM stdin;\n5\tx\n", "not complete"),
        ("\\connect other\n", "another database"),
        ("SELEC 1;\n", "line 18"),
    ] {
        let (bad, other) = (folder.path("bad.sql"), folder.path("other.db"));
        std::fs::write(&bad, format!("{DUMP}{tail}")).unwrap();
        let (code, _, err) = run(&["import", "--database", &other, &bad]);
        assert_eq!((code, err.contains(what)), (Some(1), true), "{tail}: {err}");
        assert!(!std::path::Path::new(&other).exists(), "{tail}");
    }
    assert!(run(&["import", "--database", &file, &file]).2.contains("both the source and the database"));
    std::fs::write(&dump, format!("{DUMP}ALTER TABLE public.t OWNER TO nobody_here;\n")).unwrap();
    assert_eq!(run(&["import", "--no-owner", "--database", &folder.path("third.db"), &dump]).0, Some(0));
    for (content, what) in [(&b"PGDMP..."[..], "pg_restore"), (b"\x1f\x8b..", "gunzip"), (b"SELECT '\xff';", "UTF-8")] {
        std::fs::write(&dump, content).unwrap();
        let (code, _, err) = run(&["import", "--database", &folder.path("fourth.db"), &dump]);
        assert_eq!((code, err.contains(what)), (Some(1), true), "{err}");
    }
}

#[test]
fn a_folder_of_csv_files_becomes_tables() {
    let folder = Folder::new();
    let csv = Folder::new();
    std::fs::write(csv.0.join("people.csv"), "id,name,born,score\n1,\"A, B\",1990-01-02,1.5\n2,,,\n").unwrap();
    std::fs::write(csv.0.join("Codes.csv"), "code\n007\n").unwrap();
    let file = folder.path("csv.db");
    let (code, _, err) = run(&["import", "--database", &file, csv.0.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{err}");
    let query = "SELECT string_agg(column_name || ' ' || data_type, ', ' ORDER BY ordinal_position) FROM information_schema.columns WHERE table_name = 'people'";
    assert_eq!(value(&file, query), "id bigint, name text, born date, score numeric");
    assert_eq!(value(&file, "SELECT sum(id) || (SELECT code FROM \"Codes\") || count(name) FROM people"), "30071");
    std::fs::write(csv.0.join("people.csv"), "id,id\n1,2\n").unwrap();
    let (code, _, err) = run(&["import", "--database", &file, csv.0.to_str().unwrap()]);
    assert_eq!((code, err.contains("people.csv: two columns")), (Some(1), true), "{err}");
}

#[test]
fn a_demo_is_sound_and_described() {
    let folder = Folder::new();
    let file = folder.path("demo.db");
    let (code, out, err) = run(&["demo", &file]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("psql -h /tmp"), "{out}");
    assert!(run(&["demo", &file]).2.contains("is there already"));
    assert_eq!(value(&file, "SELECT count(*) || ' ' || sum(sold) || ' ' || spent(3) FROM bestsellers"), "5 399 801.90");
    let (code, out, _) = run(&["check", &file]);
    assert_eq!((code, out.contains("is sound: 3 tables")), (Some(0), true), "{out}");
    // also while a server has it
    let sockets = Folder::new();
    let server = Server::start(&sockets, &["--database", &file]);
    let (code, out, _) = run(&["info", &file]);
    assert_eq!(code, Some(0));
    for part in
        ["public.orders", " 200 ", "3 tables, 1 views, 1 functions", &format!("(process {})", server.process.id())]
    {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert_eq!(run(&["check", &file]).0, Some(0));
    let (code, _, err) = run(&["upgrade", &file]);
    assert_eq!(
        (code, err.contains("another pgsqlite serves"), err.contains("pgsqlite info")),
        (Some(1), true, true),
        "{err}"
    );
    server.stop();
    assert!(run(&["upgrade", &file]).1.contains("newest format"));
    assert_eq!(folder.names(), ["demo.db"]);
}

#[test]
fn what_is_no_database_is_named() {
    let folder = Folder::new();
    let text = folder.path("text.db");
    std::fs::write(&text, "not a database, but some text of more than a hundred bytes: ".repeat(4)).unwrap();
    for command in ["info", "check", "upgrade"] {
        let (code, _, err) = run(&[command, &text]);
        assert_eq!((code, err.contains("is not a SQLite database")), (Some(1), true), "{command}: {err}");
        let (code, _, err) = run(&[command, &folder.path("missing.db")]);
        assert_eq!((code, err.contains("does not exist")), (Some(1), true), "{command}: {err}");
    }
    assert_eq!(folder.names(), ["text.db"]);
    // a damaged page
    let damaged = folder.path("damaged.db");
    assert_eq!(run(&["demo", &damaged]).0, Some(0));
    let mut content = std::fs::read(&damaged).unwrap();
    let end = content.len();
    content[end - 4096..].fill(0x5a);
    std::fs::write(&damaged, content).unwrap();
    let (code, out, err) = run(&["check", &damaged]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(err.contains("problems") || err.contains("malformed"), "{err}");
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (code, out, _) = run(&["completions", shell]);
        assert_eq!((code, out.contains("exec")), (Some(0), true), "{shell}");
    }
    assert!(run(&["man"]).1.contains(".TH pgsqlite 1"));
    assert_eq!(run(&["man", "--dir", folder.0.to_str().unwrap()]).0, Some(0));
    let pages = folder.names();
    for name in ["pgsqlite.1", "pgsqlite-exec.1", "pgsqlite-import.1"] {
        assert!(pages.iter().any(|page| page == name), "{pages:?}");
    }
}

#[test]
fn a_server_can_end_with_its_input() {
    let folder = Folder::new();
    let mut command = unix_only(&folder, &["--in-memory", "--stop-with-input"]);
    command.stdin(Stdio::piped());
    let mut server = Server::spawn(command, folder.0.join(".s.PGSQL.5432"), 5432);
    assert_eq!(server.session().value("SELECT 1"), "1");
    drop(server.process.stdin.take());
    assert_eq!(server.ended().code(), Some(0));
    assert_eq!(folder.names(), [""; 0]);
}

/// What takes long shows how far it is, where somebody looks.
#[test]
fn progress_is_shown_on_a_terminal_and_nowhere_else() {
    let folder = Folder::new();
    let file = folder.path("demo.db");
    assert_eq!(run(&["demo", &file]).0, Some(0));
    let (dump, new) = (folder.path("dump.sql"), folder.path("new.db"));
    std::fs::write(
        &dump,
        "CREATE TABLE public.t (a int);\nCOPY public.t (a) FROM stdin;\n1\n2\n\\.\nCREATE INDEX i ON public.t (a);\n",
    )
    .unwrap();
    for (arguments, shown) in [
        (vec!["check", &file], "checking "),
        (vec!["upgrade", &file], "upgrading "),
        (vec!["import", "--database", &new, &dump], "importing ["),
    ] {
        let (code, _, err) = run(&arguments);
        assert_eq!((code, err.contains('\r')), (Some(0), false), "{arguments:?}: {err}");
        if arguments[0] == "import" {
            std::fs::remove_file(&new).unwrap();
        }
        // `script` (a part of every Linux) gives a command a terminal
        let line = [&[env!("CARGO_BIN_EXE_pgsqlite")][..], &arguments].concat().join(" ");
        let Ok(output) = Command::new("script").args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).output() else {
            eprintln!("no `script`: what is shown on a terminal is not looked at");
            return;
        };
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said.contains(shown), "{arguments:?}: {said}");
    }
}
