//! System relations through SQLite, as introspection queries read them.

use super::*;
use crate::ddl::tests::Db;
use pgsqlite_natives::udf::session_cell::Routines;
use pgsqlite_natives::udf::shim::Call;
use pgsqlite_sql::builtins::catalog::system_relations;

/// No function of a user is called here.
struct NoRoutines;

impl Routines for NoRoutines {
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
    fn trigger_depth(&self) -> usize {
        0
    }
    fn assign(&self, _: &Call, _: Datum, _: Oid, _: Oid) -> Result<Datum> {
        unreachable!("PL/pgSQL assigns")
    }
    fn queried(&self, _: &Call, _: &str) -> Result<(Vec<Oid>, Vec<Vec<Datum>>)> {
        unreachable!("a function gets a query as a text")
    }
    fn is_in_subtransaction(&self) -> bool {
        false
    }
    fn only_reads_from_now(&self) {}
    fn check_may_write(&self, _: &str) -> Result<()> {
        unreachable!("a function writes")
    }
    fn check_not_read_only(&self, _: &str) -> Result<()> {
        unreachable!("a function writes")
    }
}

fn db(sql: &str) -> (Db, Arc<SessionCell>) {
    let mut db = Db::new();
    db.ok(sql);
    let cell = Arc::new(SessionCell::new(Default::default(), Box::new(NoRoutines)));
    cell.update(|s| s.catalog = db.catalog.clone());
    crate::vtab::register(&db.conn, &cell).expect("registers");
    (db, cell)
}

fn list(db: &Db, sql: &str) -> Vec<String> {
    let mut statement = db.conn.prepare(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let rows = statement.query_map([], |r| r.get::<_, String>(0)).expect("runs");
    rows.map(|r| r.expect("a text")).collect()
}

#[test]
fn classes_attributes_and_types_join() {
    let (db, _) = db("CREATE TABLE t (id serial PRIMARY KEY, name varchar(20) NOT NULL, n numeric(10,2)); CREATE TYPE mood AS ENUM ('a', 'b')");
    let columns = list(
        &db,
        "SELECT a.attname || ' ' || y.typname || ' ' || a.atttypmod FROM \"pg_catalog.pg_class\" c
         JOIN \"pg_catalog.pg_namespace\" n ON n.oid = c.relnamespace
         JOIN \"pg_catalog.pg_attribute\" a ON a.attrelid = c.oid JOIN \"pg_catalog.pg_type\" y ON y.oid = a.atttypid
         WHERE c.relname = 't' AND n.nspname = 'public' AND a.attnum > 0 ORDER BY a.attnum",
    );
    assert_eq!(columns, ["id int4 -1", "name varchar 24", "n numeric 655366"]);
    let kinds = list(&db, "SELECT relkind || relname FROM \"pg_catalog.pg_class\" WHERE oid >= 16384 ORDER BY 1");
    assert_eq!(kinds, ["St_id_seq", "it_pkey", "rt"]);
    let labels = list(&db, "SELECT enumlabel FROM \"pg_catalog.pg_enum\" ORDER BY enumsortorder");
    assert_eq!(labels, ["a", "b"]);
    assert_eq!(
        list(&db, "SELECT conname || contype || conkey FROM \"pg_catalog.pg_constraint\" WHERE conrelid <> 0"),
        ["t_pkeyp[1]", "t_name_not_nulln[2]", "t_id_not_nulln[1]"]
    );
}

#[test]
fn a_new_catalog_gives_new_rows() {
    let (mut db, cell) = db("CREATE TABLE t (a int)");
    let count = "SELECT count(*) || '' FROM \"pg_catalog.pg_tables\" WHERE schemaname = 'public'";
    assert_eq!(list(&db, count), ["1"]);
    db.ok("CREATE TABLE u (a int)");
    cell.update(|s| s.catalog = db.catalog.clone());
    assert_eq!(list(&db, count), ["2"]);
}

#[test]
fn information_schema_lists_keys() {
    let (db, _) = db("CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (p_id int REFERENCES p ON DELETE CASCADE)");
    let keys = list(
        &db,
        "SELECT k.table_name || '.' || k.column_name || ' ' || r.delete_rule || ' ' || u.table_name FROM
         \"information_schema.key_column_usage\" k JOIN \"information_schema.referential_constraints\" r USING (constraint_name)
         JOIN \"information_schema.constraint_column_usage\" u USING (constraint_name)",
    );
    assert_eq!(keys, ["c.p_id CASCADE p"]);
}

#[test]
fn every_provided_relation_can_be_read() {
    let (db, cell) = db("CREATE TABLE t (id serial PRIMARY KEY, d int DEFAULT 1); CREATE VIEW v AS SELECT id FROM t");
    for relation in system_relations() {
        let table = table(relation, &cell, &db.conn).unwrap();
        for row in &table.rows {
            assert_eq!(row.len(), relation.stored().count(), "{}", relation.name);
            for (value, column) in row.iter().zip(relation.stored()) {
                assert!(!(column.4 && value.is_null()), "{}.{} is null", relation.name, column.1);
            }
        }
        let name = format!("{}.{}", relation.schema, relation.name);
        db.conn.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn every_relation_is_made() {
    for relation in system_relations() {
        assert!(maker(relation).is_some(), "{}", relation.name);
    }
}
