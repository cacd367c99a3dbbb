//! DDL on an in-memory SQLite database. Expected names, texts and messages are PostgreSQL 15's.

use super::*;
use crate::store;
use pgsqlite_types::Settings;

/// A database with the session that runs statements on it.
pub(crate) struct Db {
    pub conn: Connection,
    pub catalog: Arc<Catalog>,
    pub notices: Vec<String>,
}

const PATH: &[Oid] = &[PG_CATALOG, PUBLIC];

impl Db {
    pub fn new() -> Db {
        let conn = Connection::open_in_memory().expect("SQLite opens");
        conn.execute_batch("PRAGMA foreign_keys = ON").expect("a pragma");
        // The engine registers the true ones; order does not matter here.
        conn.collation_needed(|conn, name| conn.create_collation(name, |a, b| a.cmp(b))).expect("a collation");
        let catalog = Arc::new(store::load(&conn).expect("an empty file loads"));
        Db { conn, catalog, notices: Vec::new() }
    }

    /// Runs the statements; gives the last tag.
    pub fn run(&mut self, sql: &str) -> Result<String> {
        let mut tag = String::new();
        for statement in pgsqlite_sql::parse::parse(sql)? {
            let settings = Settings::default();
            let names = CatalogNames { catalog: &self.catalog, search_path: PATH };
            let environment = Environment {
                catalog: &self.catalog,
                search_path: PATH,
                settings: &settings,
                names: &names,
                user: BOOTSTRAP_ROLE,
            };
            self.conn.execute_batch("SAVEPOINT ddl").map_err(sqlite_error)?;
            match execute(&self.conn, &self.catalog, &environment, &statement, &DdlSession::default()) {
                Ok(outcome) => {
                    self.conn.execute_batch("RELEASE ddl").map_err(sqlite_error)?;
                    self.notices.extend(outcome.notices.iter().map(|n| n.message().to_string()));
                    if let Some(catalog) = outcome.catalog {
                        self.catalog = catalog;
                    }
                    tag = outcome.tag;
                }
                Err(error) => {
                    self.conn.execute_batch("ROLLBACK TO ddl; RELEASE ddl").map_err(sqlite_error)?;
                    return Err(error);
                }
            }
        }
        Ok(tag)
    }

    pub fn ok(&mut self, sql: &str) {
        if let Err(error) = self.run(sql) {
            panic!("{sql}: {error}");
        }
    }

    /// (SQLSTATE, message) of a statement that must fail.
    pub fn fails(&mut self, sql: &str) -> (String, String) {
        match self.run(sql) {
            Ok(tag) => panic!("{sql} gave {tag}"),
            Err(error) => (error.code().to_string(), error.message().to_string()),
        }
    }

    pub fn relation(&self, name: &str) -> Arc<Relation> {
        self.catalog.relation_in(PUBLIC, name).unwrap_or_else(|| panic!("no relation {name}")).clone()
    }

    fn constraint_names(&self, name: &str) -> Vec<String> {
        self.relation(name).constraints.iter().map(|c| c.name.clone()).collect()
    }

    fn sqlite_schema(&self, name: &str) -> String {
        self.conn
            .query_row("SELECT sql FROM sqlite_schema WHERE name = ?1", [name], |r| r.get(0))
            .unwrap_or_else(|e| panic!("{name}: {e}"))
    }
}

fn error(code: &str, message: &str) -> (String, String) {
    (code.to_string(), message.to_string())
}

#[test]
fn create_table_names_what_postgresql_names() {
    let mut db = Db::new();
    db.ok("CREATE TABLE p (id serial PRIMARY KEY, code varchar(10) UNIQUE)");
    db.ok("CREATE TABLE c (a int, b int, p_id int REFERENCES p ON DELETE CASCADE, UNIQUE (a, b), CHECK (a > 0), CHECK (a < b))");
    assert_eq!(db.constraint_names("p"), ["p_pkey", "p_code_key"]);
    assert_eq!(db.constraint_names("c"), ["c_a_check", "c_check", "c_a_b_key", "c_p_id_fkey"]);
    assert!(db.relation("p_id_seq").kind != RelationKind::Table);
    let p = db.relation("p");
    assert_eq!(p.column("id").unwrap().default.as_deref(), Some("nextval('public.p_id_seq'::regclass)"));
    assert!(p.column("id").unwrap().not_null);
    assert_eq!(p.rowid_column, Some(1));
    let checks: Vec<String> = db
        .relation("c")
        .constraints
        .iter()
        .filter_map(|c| match &c.kind {
            ConstraintKind::Check { expression, .. } => Some(expression.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(checks, ["(a > 0)", "(a < b)"]);
    assert!(db.sqlite_schema("c").contains("REFERENCES \"p\" (\"id\") ON DELETE CASCADE"), "{}", db.sqlite_schema("c"));
    assert!(
        db.sqlite_schema("p").contains("\"id\" INTEGER CONSTRAINT \"p_pkey\" PRIMARY KEY"),
        "{}",
        db.sqlite_schema("p")
    );
}

#[test]
fn a_reloaded_catalog_is_the_same() {
    let mut db = Db::new();
    db.ok("CREATE SCHEMA s; CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy'); CREATE SEQUENCE q INCREMENT 5 START 10");
    db.ok("CREATE TABLE s.t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, m mood DEFAULT 'ok', n numeric(10,2) DEFAULT 1.5)");
    db.ok("CREATE UNIQUE INDEX ON s.t (n DESC, m)");
    let loaded = store::load(&db.conn).expect("loads");
    assert_eq!(loaded.relations, db.catalog.relations);
    assert_eq!(loaded.types, db.catalog.types);
    let schema = loaded.schema_oid("s").unwrap();
    let t = loaded.relation_in(schema, "t").unwrap();
    assert_eq!(t.sqlite_name, "s.t");
    assert_eq!(t.column("m").unwrap().default.as_deref(), Some("'ok'::public.mood"));
    assert!(loaded.relation_in(schema, "t_n_m_idx").is_some());
    assert_eq!(
        store::sequence_state(&db.conn, loaded.relation_in(PUBLIC, "q").unwrap().oid).unwrap(),
        Some((10, false))
    );
}

#[test]
fn errors_are_those_of_postgresql() {
    let mut db = Db::new();
    db.ok("CREATE TABLE t (a int)");
    assert_eq!(db.fails("CREATE TABLE t (a int)"), error("42P07", "relation \"t\" already exists"));
    assert_eq!(db.fails("CREATE TABLE u (a int, a int)"), error("42701", "column \"a\" specified more than once"));
    assert_eq!(db.fails("CREATE TABLE u (a nosuch)"), error("42704", "type \"nosuch\" does not exist"));
    assert_eq!(
        db.fails("CREATE TABLE u (a int PRIMARY KEY, b int PRIMARY KEY)"),
        error("42P16", "multiple primary keys for table \"u\" are not allowed")
    );
    assert_eq!(
        db.fails("CREATE TABLE u (a int REFERENCES t)"),
        error("42704", "there is no primary key for referenced table \"t\"")
    );
    assert_eq!(
        db.fails("CREATE TABLE u (a int REFERENCES t (a))"),
        error("42830", "there is no unique constraint matching given keys for referenced table \"t\"")
    );
    assert_eq!(
        db.fails("CREATE TABLE u (a int REFERENCES nosuch)"),
        error("42P01", "relation \"nosuch\" does not exist")
    );
    assert_eq!(db.fails("CREATE TABLE nosuch.u (a int)"), error("3F000", "schema \"nosuch\" does not exist"));
    assert_eq!(
        db.fails("CREATE TABLE u (a int NULL NOT NULL)"),
        error("42601", "conflicting NULL/NOT NULL declarations for column \"a\" of table \"u\"")
    );
    assert_eq!(db.fails("CREATE INDEX i ON t (b)"), error("42703", "column \"b\" does not exist"));
    assert_eq!(db.fails("CREATE TABLE pg_catalog.u (a int)").0, "42501");
    db.ok("CREATE TABLE IF NOT EXISTS t (b text)");
    assert_eq!(db.notices, ["relation \"t\" already exists, skipping"]);
    assert_eq!(db.fails("CREATE SEQUENCE s INCREMENT 0"), error("22023", "INCREMENT must not be zero"));
    assert_eq!(
        db.fails("CREATE TABLE u (a text CHECK (1))"),
        error("42804", "argument of CHECK must be type boolean, not type integer")
    );
}

#[test]
fn names_are_cut_and_numbered() {
    assert_eq!(naming::object_name("t", "a", "key"), "t_a_key");
    let long = "x".repeat(70);
    assert_eq!(naming::object_name(&long, "a", "fkey").len(), 63);
    let mut db = Db::new();
    db.ok("CREATE TABLE t (a int CHECK (a > 1) CHECK (a > 2), UNIQUE (a), UNIQUE (a))");
    assert_eq!(db.constraint_names("t"), ["t_a_check", "t_a_check1", "t_a_key", "t_a_key1"]);
    db.ok("CREATE INDEX ON t (a); CREATE INDEX ON t (a); CREATE INDEX ON t ((a IS NULL), a)");
    for name in ["t_a_idx", "t_a_idx1", "t_expr_a_idx"] {
        db.relation(name);
    }
}

#[test]
fn enum_values_are_added_in_place() {
    let mut db = Db::new();
    db.ok("CREATE TYPE mood AS ENUM ('a', 'c'); ALTER TYPE mood ADD VALUE 'b' BEFORE 'c'; ALTER TYPE mood ADD VALUE IF NOT EXISTS 'b'");
    let oid = db.catalog.type_in(PUBLIC, "mood").unwrap();
    let UserTypeKind::Enum { labels } = &db.catalog.types[&oid].kind else { panic!("an enum") };
    assert_eq!(labels.iter().map(|l| l.0.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(db.notices, ["enum label \"b\" already exists, skipping"]);
    assert_eq!(db.fails("CREATE TYPE mood AS ENUM ()"), error("42710", "type \"mood\" already exists"));
}

#[test]
fn duplicates_stop_a_unique_index() {
    let mut db = Db::new();
    db.ok("CREATE TABLE t (a int)");
    db.conn.execute_batch("INSERT INTO t VALUES (1), (1)").unwrap();
    let failed = db.run("CREATE UNIQUE INDEX i ON t (a)").unwrap_err();
    assert_eq!(failed.message(), "could not create unique index \"i\"");
    assert_eq!(failed.fields().detail.as_deref(), Some("Key (a)=(1) is duplicated."));
    assert_eq!(failed.code().to_string(), "23505");
}
