//! The tree that is read from libpg_query's structs is the one that libpg_query writes itself, as a protobuf message: for the statements
//! of the recorded tests and some more, which have every node that the grammar makes.

use std::collections::BTreeSet;
use std::fs::read_to_string;

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests");

/// Statements with what the recorded tests do not have.
const MORE: &[&str] = &[
    "",
    "SELECT 1; ; SELECT 2",
    "CHECKPOINT",
    "ALTER EXTENSION e ADD TABLE t",
    "ALTER FUNCTION f(int) DEPENDS ON EXTENSION e",
    "SELECT JSON_OBJECT('a': 1 NULL ON NULL WITH UNIQUE KEYS RETURNING jsonb FORMAT JSON ENCODING UTF8), \
     JSON_ARRAY(1, 2 ABSENT ON NULL), JSON_ARRAY(SELECT 1 RETURNING text), JSON_OBJECTAGG(k VALUE v), \
     JSON_ARRAYAGG(a ORDER BY b) FILTER (WHERE c) OVER w, JSON('1'), JSON_SCALAR(1), \
     JSON_SERIALIZE('1' FORMAT JSON RETURNING bytea), j IS NOT JSON OBJECT WITH UNIQUE KEYS FROM t WINDOW w AS (ORDER BY b)",
    "SELECT JSON_VALUE(j, '$.a' PASSING 1 AS x RETURNING int DEFAULT 3 ON EMPTY ERROR ON ERROR), \
     JSON_QUERY(j, '$' WITH WRAPPER), JSON_QUERY(j, '$' OMIT QUOTES), JSON_EXISTS(j, '$.a' FALSE ON ERROR)",
    "SELECT * FROM JSON_TABLE(j, '$[*]' AS root PASSING 1 AS x COLUMNS (id FOR ORDINALITY, \
     a int PATH '$.a' DEFAULT 1 ON EMPTY, e int EXISTS PATH '$.e', \
     NESTED PATH '$.b' AS b COLUMNS (c text FORMAT JSON PATH '$.c' WITH WRAPPER))) AS t",
    "MERGE INTO a USING b ON a.x = b.x WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN MATCHED THEN UPDATE SET y = 1 \
     RETURNING merge_action(), a.*",
    "UPDATE t SET a = 1 RETURNING WITH (OLD AS o, NEW AS n) o.a, n.a",
    "SELECT * FROM t, XMLTABLE(XMLNAMESPACES('u' AS x, DEFAULT 'v'), '/a' PASSING BY REF d \
     COLUMNS i int PATH 'i' DEFAULT 3 NOT NULL, o FOR ORDINALITY)",
    "SELECT XMLELEMENT(NAME a, XMLATTRIBUTES(1 AS b), 'c'), XMLSERIALIZE(CONTENT x AS text INDENT), x IS DOCUMENT, \
     XMLPARSE(DOCUMENT 'x')",
    "CREATE TABLE p (a int4range, b int GENERATED ALWAYS AS (1) VIRTUAL, PRIMARY KEY (b, a WITHOUT OVERLAPS), \
     CONSTRAINT n NOT NULL b NOT VALID)",
    "ALTER TABLE p ALTER CONSTRAINT c NOT ENFORCED",
    "FETCH FORWARD 2147483647 FROM c; FETCH ALL FROM c",
    "SELECT B'101', X'1f', 1.5e300, 2147483648, -1, NULL, TRUE, 'é', U&'\\00e9', E'\\t', $1",
];

/// The texts of a recorded file: what is between an empty line and `----`.
fn texts(file: &str) -> Vec<String> {
    let records = file.split("\n\n");
    records
        .map(|r| {
            r.lines().take_while(|l| *l != "----").filter(|l| !l.starts_with(['#', '@'])).collect::<Vec<_>>().join("\n")
        })
        .collect()
}

fn corpus() -> Vec<String> {
    let mut out: Vec<String> = MORE.iter().map(|s| s.to_string()).collect();
    let reach = read_to_string(format!("{TESTS}/entry/reach.login")).expect("the file is there");
    out.extend(reach.lines().filter_map(|line| line.strip_prefix("> ")).map(str::to_string));
    for entry in std::fs::read_dir(format!("{TESTS}/sql")).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "slt") {
            out.extend(texts(&read_to_string(path).expect("a text")));
        }
    }
    out
}

#[test]
fn the_tree_is_that_of_the_message() {
    let mut seen = BTreeSet::new();
    let mut compared = 0;
    for text in MORE {
        pgsqlite_sql::parse::parse(text).unwrap_or_else(|e| panic!("{e:?}: {text}"));
    }
    for text in corpus() {
        let Ok(ours) = pgsqlite_sql::parse::parse(&text) else { continue };
        let theirs = pg_query::parse(&text, 0).unwrap_or_else(|e| panic!("{e}: {text}")).protobuf.stmts;
        let theirs: Vec<_> = theirs.into_iter().filter_map(|raw| raw.stmt?.node).collect();
        let ours: Vec<_> = ours.into_iter().map(|raw| raw.node).collect();
        assert!(ours == theirs, "{text}\nis read as\n{ours:#?}\nand is\n{theirs:#?}");
        compared += ours.len();
        let shown = format!("{ours:?}");
        seen.extend(
            shown
                .split(|c: char| !c.is_ascii_alphanumeric())
                .filter(|w| w.starts_with(|c: char| c.is_ascii_uppercase()))
                .map(str::to_string),
        );
    }
    assert!(compared > 15_000, "only {compared} statements");
    let generated = [include_str!("../src/parse/nodes.rs"), include_str!("../src/parse/statements.rs")].concat();
    let structs = generated.split("-> ast::").skip(1).filter_map(|rest| rest.split_once(" {")).map(|(name, _)| name);
    let missing: Vec<&str> = structs.filter(|name| !seen.contains(*name) && *name != "RawStmt").collect();
    assert!(missing.is_empty(), "no statement has {missing:?}");
}

/// How deep a chain of operators, of brackets and of UNIONs may be, and that what is deeper is refused, not a crash.
#[test]
fn depth_has_a_limit() {
    let deep = |levels: usize| {
        [
            format!("SELECT 1{}", " + 1".repeat(levels)),
            format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(levels)),
            format!("SELECT {}1", "NOT ".repeat(levels)),
            format!("SELECT a{}", "[1]".repeat(levels)),
        ]
    };
    for text in deep(4_000) {
        pgsqlite_sql::parse::parse(&text).unwrap_or_else(|e| panic!("{e:?}: {}", &text[..40]));
    }
    for text in deep(12_000).iter().take(3) {
        let e = pgsqlite_sql::parse::parse(text).expect_err("it is too deep");
        assert_eq!(e.code().as_str(), "54001", "{}: {}", &text[..40], e.message());
    }
}
