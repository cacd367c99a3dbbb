//! DDL on an in-memory SQLite database. Expected names, texts and messages are PostgreSQL 15's.

use super::*;
use pgsqlite_metadata::store;
use pgsqlite_sql::deparse::Style;
use pgsqlite_types::Settings;

/// A database with the session that runs statements on it.
pub(crate) struct Db {
    pub conn: Connection,
    pub catalog: Arc<Catalog>,
    pub notices: Vec<String>,
}

const PATH: &[Oid] = &[PUBLIC, PG_CATALOG];

impl Db {
    pub fn new() -> Db {
        let conn = pgsqlite_storage::vfs::open::in_memory().expect("SQLite opens");
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
                rights: pgsqlite_sql::analyze::Rights::AskedNow,
                parameters: Default::default(),
                sqlite_text: pgsqlite_sql::lower::lower_expression,
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
    assert_eq!(db.constraint_names("p"), ["p_pkey", "p_code_key", "p_id_not_null"]);
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
    db.ok("CREATE TABLE t (a int CHECK (a > 1) CHECK (a > 2), UNIQUE (a), UNIQUE (a) DEFERRABLE)");
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
    let UserTypeKind::Enum { labels, .. } = &db.catalog.types[&oid].kind else { panic!("an enum") };
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

#[test]
fn drop_lists_what_depends() {
    let mut db = Db::new();
    db.ok("CREATE TABLE p (id serial PRIMARY KEY, a int); CREATE TABLE c (p_id int REFERENCES p); CREATE VIEW v AS SELECT a FROM p");
    let failed = db.run("DROP TABLE p").unwrap_err();
    assert_eq!(failed.message(), "cannot drop table p because other objects depend on it");
    assert_eq!(
        failed.fields().detail.as_deref(),
        Some("constraint c_p_id_fkey on table c depends on table p\nview v depends on table p")
    );
    assert_eq!(failed.fields().hint.as_deref(), Some("Use DROP ... CASCADE to drop the dependent objects too."));
    assert_eq!(
        db.fails("DROP SEQUENCE p_id_seq"),
        error("2BP01", "cannot drop sequence p_id_seq because other objects depend on it")
    );
    assert_eq!(
        db.fails("DROP INDEX p_pkey"),
        error("2BP01", "cannot drop index p_pkey because constraint p_pkey on table p requires it")
    );
    db.conn.execute_batch("INSERT INTO p VALUES (1, 1); INSERT INTO c VALUES (1)").unwrap();
    db.ok("DROP TABLE p CASCADE");
    assert_eq!(db.notices, ["drop cascades to 2 other objects"]);
    assert!(db.catalog.relation_in(PUBLIC, "v").is_none() && db.catalog.relation_in(PUBLIC, "p_id_seq").is_none());
    assert!(db.relation("c").constraints.is_empty());
    let rows: i64 = db.conn.query_row("SELECT count(*) FROM c", [], |r| r.get(0)).unwrap();
    assert_eq!(rows, 1, "the referencing rows stay");
    assert_eq!(store::load(&db.conn).unwrap().relations, db.catalog.relations);
    assert_eq!(db.fails("DROP TABLE p"), error("42P01", "table \"p\" does not exist"));
    db.ok("DROP TABLE IF EXISTS p");
    assert_eq!(db.fails("DROP VIEW c"), error("42809", "\"c\" is not a view"));
}

fn check_file(db: &Db) {
    let check: String = db.conn.query_row("PRAGMA integrity_check", [], |r| r.get(0)).unwrap();
    assert_eq!(check, "ok");
    assert_eq!(store::load(&db.conn).unwrap().relations, db.catalog.relations);
}

#[test]
fn alter_table_keeps_rows_indexes_and_keys() {
    let mut db = Db::new();
    db.ok("CREATE TABLE p (id int PRIMARY KEY, a int, s varchar(5)); CREATE INDEX p_a ON p (a)");
    db.ok("CREATE TABLE c (p_id int REFERENCES p ON DELETE CASCADE)");
    db.conn.execute_batch("INSERT INTO p VALUES (1, 10, 'x'), (2, 20, 'y'); INSERT INTO c VALUES (1)").unwrap();
    db.ok("ALTER TABLE p ALTER a SET NOT NULL, ADD COLUMN n text NOT NULL DEFAULT 'none', ADD UNIQUE (s)");
    db.ok("ALTER TABLE p ALTER COLUMN s TYPE text, DROP COLUMN n, ADD CONSTRAINT big CHECK (a IS NOT NULL)");
    let rows: i64 = db.conn.query_row("SELECT count(*) FROM c", [], |r| r.get(0)).unwrap();
    assert_eq!(rows, 1, "a rebuilt table's referencing rows stay");
    assert!(db.sqlite_schema("c").contains("REFERENCES \"p\""), "{}", db.sqlite_schema("c"));
    assert!(db.sqlite_schema("p_a").contains("ON \"p\""));
    db.conn.execute_batch("DELETE FROM p WHERE id = 1").unwrap();
    let rows: i64 = db.conn.query_row("SELECT count(*) FROM c", [], |r| r.get(0)).unwrap();
    assert_eq!(rows, 0, "and the foreign key works on");
    assert_eq!(
        db.fails("ALTER TABLE p ADD CHECK (a IS NULL)"),
        error("23514", "check constraint \"p_a_check\" of relation \"p\" is violated by some row")
    );
    db.ok("ALTER TABLE p DROP CONSTRAINT p_pkey CASCADE; ALTER TABLE p ADD PRIMARY KEY (id)");
    assert_eq!(db.constraint_names("p"), ["p_id_not_null", "p_a_not_null", "p_s_key", "big", "p_pkey"]);
    assert_eq!(db.relation("p").column("s").unwrap().type_oid, oid::TEXT);
    assert_eq!(
        db.fails("ALTER TABLE p DROP COLUMN z"),
        error("42703", "column \"z\" of relation \"p\" does not exist")
    );
    assert_eq!(
        db.fails("ALTER TABLE p ADD COLUMN a int"),
        error("42701", "column \"a\" of relation \"p\" already exists")
    );
    assert_eq!(
        db.fails("ALTER TABLE p ALTER s TYPE int"),
        error("42804", "column \"s\" cannot be cast automatically to type integer")
    );
    check_file(&db);
}

#[test]
fn texts_follow_a_rename() {
    let mut db = Db::new();
    db.ok("CREATE TABLE t (id int, a int CHECK (a IS NOT NULL)); CREATE VIEW v AS SELECT a, id FROM t WHERE a IS NULL");
    db.ok("ALTER TABLE t RENAME COLUMN a TO b; ALTER TABLE t RENAME TO u");
    let u = db.relation("u");
    assert!(
        matches!(&u.constraints[0].kind, ConstraintKind::Check { expression, .. } if expression == "(b IS NOT NULL)")
    );
    let view = db.relation("v");
    let RelationKind::View { definition, .. } = &view.kind else { panic!("a view") };
    assert_eq!(definition, " SELECT u.b AS a,\n    u.id\n   FROM public.u\n  WHERE (u.b IS NULL)");
    db.ok("CREATE SCHEMA s; ALTER TABLE u SET SCHEMA s");
    let RelationKind::View { definition, .. } = &db.relation("v").kind.clone() else { panic!("a view") };
    assert!(definition.contains("FROM s.u"), "{definition}");
    db.sqlite_schema("s.u");
    check_file(&db);
}

#[test]
fn comments_and_truncate() {
    let mut db = Db::new();
    db.ok("CREATE TABLE t (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY); CREATE TABLE c (t int REFERENCES t)");
    db.ok("COMMENT ON TABLE t IS 'a table'; COMMENT ON COLUMN t.id IS 'a key'");
    let t = db.relation("t").oid;
    assert_eq!(db.catalog.comments[&(1259, t, 0)], "a table");
    assert_eq!(store::load(&db.conn).unwrap().comments[&(1259, t, 1)], "a key");
    db.conn.execute_batch("INSERT INTO t VALUES (1); INSERT INTO c VALUES (1)").unwrap();
    assert_eq!(
        db.fails("TRUNCATE t"),
        error("0A000", "cannot truncate a table referenced in a foreign key constraint")
    );
    db.ok("TRUNCATE t RESTART IDENTITY CASCADE");
    assert_eq!(db.notices, ["truncate cascades to table \"c\""]);
    let rows: i64 =
        db.conn.query_row("SELECT (SELECT count(*) FROM c) + (SELECT count(*) FROM t)", [], |r| r.get(0)).unwrap();
    assert_eq!(rows, 0);
}

#[test]
fn roles_keep_a_scram_verifier() {
    let mut db = Db::new();
    db.ok("CREATE USER bob PASSWORD 'secret' CREATEDB; ALTER ROLE bob NOCREATEDB");
    let bob = db.catalog.role_named("bob").unwrap();
    assert!(bob.login && !bob.create_db);
    assert!(bob.password.as_deref().unwrap().starts_with("SCRAM-SHA-256$4096:"));
    assert_eq!(db.fails("CREATE ROLE bob"), error("42710", "role \"bob\" already exists"));
    db.ok("DROP ROLE bob");
    assert_eq!(db.fails("DROP ROLE bob"), error("42704", "role \"bob\" does not exist"));
}

#[test]
fn definitions_print_as_postgresql_prints_them() {
    use pgsqlite_sql::deparse::definitions::{constraint_definition, index_definition, view_definition};
    let mut db = Db::new();
    db.ok("CREATE TABLE p (id int PRIMARY KEY, s varchar(5), CHECK (s IS NOT NULL OR id IS NULL))");
    db.ok("CREATE TABLE c (p_id int REFERENCES p ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED)");
    db.ok("CREATE UNIQUE INDEX i ON p (s DESC NULLS LAST, id) INCLUDE (id) WHERE s IS NOT NULL");
    db.ok("CREATE VIEW v AS SELECT p.id, c.p_id FROM p LEFT JOIN c ON p.id IS NULL WHERE s IS NULL ORDER BY 1 DESC");
    let settings = Settings::default();
    let names = CatalogNames { catalog: &db.catalog, search_path: PATH };
    let e = Environment {
        catalog: &db.catalog,
        search_path: PATH,
        settings: &settings,
        names: &names,
        user: 10,
        rights: pgsqlite_sql::analyze::Rights::AskedNow,
        parameters: Default::default(),
        sqlite_text: pgsqlite_sql::lower::lower_expression,
    };
    let constraint = |table: &str, at: usize, style| {
        let table = db.relation(table);
        constraint_definition(&e, &table, &table.constraints[at], style).unwrap()
    };
    assert_eq!(constraint("p", 0, Style::Full), "CHECK (((s IS NOT NULL) OR (id IS NULL)))");
    assert_eq!(constraint("p", 0, Style::Pretty), "CHECK (s IS NOT NULL OR id IS NULL)");
    assert_eq!(constraint("p", 1, Style::Full), "PRIMARY KEY (id)");
    assert_eq!(
        constraint("c", 0, Style::Full),
        "FOREIGN KEY (p_id) REFERENCES p(id) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED"
    );
    assert_eq!(
        index_definition(&e, &db.relation("i"), 0, Style::Full).unwrap().unwrap(),
        "CREATE UNIQUE INDEX i ON public.p USING btree (s DESC NULLS LAST, id) INCLUDE (id) WHERE (s IS NOT NULL)"
    );
    assert_eq!(
        view_definition(&e, db.relation("v").oid, Style::Pretty).unwrap().unwrap(),
        " SELECT p.id,\n    c.p_id\n   FROM p\n     LEFT JOIN c ON p.id IS NULL\n  WHERE p.s IS NULL\n  ORDER BY p.id DESC;"
    );
}
