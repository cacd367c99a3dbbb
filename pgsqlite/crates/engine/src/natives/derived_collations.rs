//! Which collation SQLite derives for what is lowered, asked of SQLite itself: the program of `x = 'q'` names it.

use super::register_all;
use pgsqlite_metadata::store::names::CatalogNames;
use pgsqlite_objects::ddl::{execute, DdlSession};
use pgsqlite_sql::analyze::{analyze, Environment};
use pgsqlite_sql::catalog::{Catalog, BOOTSTRAP_ROLE, PG_CATALOG, PUBLIC};
use pgsqlite_sql::lower::lower;
use pgsqlite_types::{Oid, Settings};
use std::sync::Arc;

const PATH: &[Oid] = &[PUBLIC, PG_CATALOG];

/// A database in memory, whose objects statements define.
struct Db {
    conn: rusqlite::Connection,
    catalog: Arc<Catalog>,
}

impl Db {
    fn new() -> Db {
        let conn = pgsqlite_storage::vfs::open::in_memory().expect("SQLite opens");
        let catalog = Arc::new(pgsqlite_metadata::store::load(&conn).expect("an empty file loads"));
        Db { conn, catalog }
    }

    /// Runs a statement that defines an object.
    fn ok(&mut self, sql: &str) {
        let settings = Settings::default();
        let names = CatalogNames { catalog: &self.catalog, search_path: PATH };
        let statements = pgsqlite_sql::parse::parse(sql).expect(sql);
        let environment = environment(&self.catalog, &settings, &names);
        let done = execute(&self.conn, &self.catalog, &environment, &statements[0], &DdlSession::default());
        if let Some(catalog) = done.unwrap_or_else(|e| panic!("{sql}: {e}")).catalog {
            self.catalog = catalog;
        }
    }
}

fn environment<'e>(catalog: &'e Catalog, settings: &'e Settings, names: &'e CatalogNames<'e>) -> Environment<'e> {
    Environment {
        catalog,
        search_path: PATH,
        settings,
        names,
        user: BOOTSTRAP_ROLE,
        rights: pgsqlite_sql::analyze::Rights::AskedNow,
        parameters: Default::default(),
        sqlite_text: pgsqlite_sql::lower::lower_expression,
    }
}

/// The comparison's collation, in the program of `SELECT c1 = 'q'` over a query.
fn derived(db: &Db, query: &str) -> Vec<String> {
    let settings = Settings::default();
    let names = CatalogNames { catalog: &db.catalog, search_path: PATH };
    let environment = environment(&db.catalog, &settings, &names);
    let statements = pgsqlite_sql::parse::parse(query).expect(query);
    let (statement, parameters) = analyze(&environment, &statements[0].node, &[]).expect(query);
    let plan = lower(&environment, &statement, parameters).expect(query);
    let sql = &plan.query.steps[0].sql;
    // (a value that no literal has tells the comparison from those inside)
    let explained = format!("EXPLAIN SELECT q.c1 < 'the outer one' FROM ({sql}) AS q");
    let mut program = db.conn.prepare(&explained).unwrap_or_else(|e| panic!("{query}\n{sql}\n{e}"));
    let mut found = Vec::new();
    let mut rows = program.query([]).expect("a program");
    while let Some(row) = rows.next().expect("a row") {
        let operation: String = row.get(1).expect("an operation");
        let p4: Option<String> = row.get(5).expect("its fourth operand");
        if matches!(operation.as_str(), "Lt" | "Ge") {
            // (no collation is SQLite's own)
            found.push(p4.unwrap_or_else(|| "BINARY".into()));
        }
    }
    found
}

#[test]
fn texts_are_compared_as_texts_whatever_is_compared_inside_them() {
    let mut db = Db::new();
    let cell = crate::natives::new_cell();
    register_all(&db.conn, cell.clone()).expect("registered");
    db.ok("CREATE TYPE mood AS ENUM ('a', 'b')");
    cell.update(|state| state.catalog = db.catalog.clone());
    db.ok(
        "CREATE TABLE t (id int, n numeric, i interval, j jsonb, c char(3), a numeric[], m mood, r int4range, z timetz, \
         p inet, s text, d date, u uuid)",
    );
    cell.update(|state| state.catalog = db.catalog.clone());
    // (`=` inside leaves `<` to the comparison around the query)
    let conditions = [
        "n = 1.5",
        "1.5 = n",
        "n IN (1, 2.5)",
        "n IS DISTINCT FROM 2",
        "i = '1 day'",
        "j = '1'",
        "c = 'x'",
        "a = '{1}'",
        "m = 'a'",
        "r = '[1,2)'",
        "z = '10:00+00'",
        "p = '::1'",
        "n = ANY (a)",
        "(n, i) = (1.5, '1 day')",
        "s = 'x'",
        "nullif(n, 1) IS NULL",
        "n = (SELECT max(n) FROM t)",
        "EXISTS (SELECT 1 FROM t o WHERE o.n = t.n)",
    ];
    let texts = [
        "CASE WHEN $ THEN s END",
        "CASE WHEN $ THEN '1' ELSE s END",
        "coalesce(CASE WHEN $ THEN s END, 'x')",
        "s || CASE WHEN $ THEN '' END",
        "concat(s, $)",
        "upper(CASE WHEN $ THEN s END)",
        "($)::text",
        "nullif(s, ($)::text)",
        "greatest(s, CASE WHEN $ THEN 'x' END)",
        "(CASE WHEN $ THEN s END)::varchar(5)",
        "(CASE WHEN $ THEN n END)::text",
        "(CASE WHEN $ THEN d END)",
        "CASE WHEN $ THEN u END",
        "(SELECT CASE WHEN $ THEN s END)",
        "c::text || ''",
        "substr(s, CASE WHEN $ THEN 1 ELSE 2 END)",
        "replace(s, ($)::text, '')",
    ];
    let queries = [
        "SELECT @ FROM t",
        "SELECT x FROM (SELECT @ AS x FROM t) AS q",
        "WITH q AS MATERIALIZED (SELECT @ AS x FROM t) SELECT x FROM q",
        "SELECT @ FROM t UNION ALL SELECT NULL",
        "SELECT DISTINCT @ FROM t",
        "SELECT max(@) FROM t",
        "SELECT @ FROM t GROUP BY 1",
        "SELECT first_value(@) OVER (ORDER BY n) FROM t",
        "SELECT x FROM t CROSS JOIN LATERAL (SELECT @ AS x) AS q",
        "SELECT coalesce(max(@) FILTER (WHERE n = 1.5), max(@)) FROM t",
    ];
    let mut asked = 0;
    for condition in conditions {
        for text in texts {
            for query in queries {
                let sql = query.replace('@', &text.replace('$', condition));
                // (there is no max() of uuid)
                if query.contains("max(") && text.contains("THEN u") {
                    continue;
                }
                let collations = derived(&db, &sql);
                assert!(!collations.is_empty(), "no comparison: {sql}");
                for collation in collations {
                    assert!(collation.starts_with("BINARY"), "{sql}: compared under {collation}");
                }
                asked += 1;
            }
        }
    }
    assert!(asked > 2000, "{asked} queries");
}

#[test]
fn functions_are_not_computed_while_sqlite_plans() {
    // STAT4 computes constant functions with arguments that it has given the column's affinity: a native gets the text '2'
    // where it was given the integer 2, and fails.
    let conn = pgsqlite_storage::vfs::open::in_memory().expect("an in-memory database");
    let used: i64 =
        conn.query_row("SELECT sqlite_compileoption_used('ENABLE_STAT4')", [], |r| r.get(0)).expect("a number");
    assert_eq!(used, 0, "the crate `sqlite` turns STAT4 off");
}
