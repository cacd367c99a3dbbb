//! Bad bytes, bad text and clients that vanish: an error of their message or the end of their session, never more.

use crate::harness::*;
use std::io::Write;

fn in_memory() -> (Folder, Server) {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    (folder, server)
}

#[test]
fn broken_framing_ends_its_session_only() {
    let (_folder, server) = in_memory();
    let mut bystander = server.session();
    // too short, 1 GiB, negative (PostgreSQL closes these without a word: we say why), short messages that claim to be
    // long, unknown types (as PostgreSQL)
    for bytes in [
        &b"Q\0\0\0\x03"[..],
        b"Q\0\0\0\0",
        b"Q\x40\0\0\0",
        b"P\x7f\xff\xff\xff",
        b"Q\xff\xff\xff\xff",
        b"S\0\0\x27\x11",
        b"D\0\x01\0\0",
        b"z\0\0\0\x04",
        b"\0\0\0\0\x04",
        b"p\0\0\0\x05x",
        b"\xff",
        b"GET / HTTP/1.1\r\n\r\n",
    ] {
        let mut client = server.session();
        client.send(bytes);
        assert_eq!(client.told_to_go(), "08P01", "{bytes:?}");
        bystander.is_served();
    }
}

#[test]
fn a_malformed_body_is_an_error_of_its_message() {
    let (_folder, server) = in_memory();
    let mut client = server.session();
    let bind = |body: &[u8]| message(b'B', body);
    for (bytes, extended) in [
        (message(b'Q', b"SELECT 1"), false), // no terminator
        (message(b'Q', b"SELECT 1\0surplus"), false),
        (message(b'Q', b""), false),
        (message(b'F', b""), false),
        (message(b'P', b"name"), true),
        (message(b'P', b"\0SELECT 1\0\0\x02\0\0\0\x17"), true), // fewer types than announced
        (message(b'P', b"\0SELECT 1\0\xff\xff"), true),
        (bind(b"\0\0\0\0\0\x01\0\0\0\x09x"), true), // a value longer than its message
        (bind(b"\0\0\0\0\0\x01\xff\xff\xff\xfex\0\0"), true), // a length of −2
        (bind(b"\0\0\xff\xff"), true),
        (bind(b"\0\0\0\0\xff\xff"), true),
        (bind(b"\0\0\0\0\0\0\0\0surplus"), true),
        (message(b'D', b""), true),
        (message(b'D', b"X\0"), true),
        (message(b'D', b"S"), true),
        (message(b'C', b"X\0"), true),
        (message(b'E', b"\0\0\0"), true),
        (message(b'E', b"\0\0\0\0\0\0"), true),
        (message(b'H', b"x"), true),
    ] {
        client.send(&bytes);
        if extended {
            client.send(&[execute("", 0), query("SELECT 1"), sync()].concat());
        }
        let messages = client.until_ready();
        assert_eq!(kinds(&messages), "EZ", "{bytes:?}");
        let code = field(&messages[0].1, b'C');
        assert_eq!((code.as_str(), field(&messages[0].1, b'S').as_str()), ("08P01", "ERROR"), "{bytes:?}");
        client.is_served();
    }
    // Sync itself
    client.send(&message(b'S', b"x"));
    assert_eq!(kinds(&client.until_ready()), "EZ");
    client.is_served();
    // and a transaction is failed by it, as by any error
    client.rows("BEGIN");
    client.send(&message(b'Q', b"SELECT 1"));
    assert_eq!(client.until_ready().last().unwrap().1, b"E");
    client.rows("ROLLBACK");
}

#[test]
fn text_that_is_not_utf8_is_refused_where_it_stands() {
    let (_folder, server) = in_memory();
    let mut client = server.session();
    for bytes in [
        message(b'Q', b"SELECT '\xff'\0"),
        message(b'Q', b"SELECT '\xc3\0"),
        message(b'Q', b"SELECT '\xed\xa0\x80'\0"), // half a surrogate pair
        [message(b'P', b"\0SELECT '\xff'\0\0\0"), sync()].concat(),
        [message(b'P', b"\xff\0SELECT 1\0\0\0"), sync()].concat(),
        [parse("", "SELECT $1::text"), message(b'B', b"\0\0\0\0\0\x01\0\0\0\x01\xff\0\0"), sync()].concat(),
        [parse("", "SELECT $1::text"), message(b'B', b"\0\0\0\x01\0\x01\0\x01\0\0\0\x01\xff\0\0"), sync()].concat(),
        [parse("", "SELECT $1::text"), message(b'B', b"\0\0\0\0\0\x01\0\0\0\x01\0\0\0"), sync()].concat(), // a NUL
    ] {
        client.send(&bytes);
        let messages = client.until_ready();
        let (_, body) = messages.iter().find(|m| m.0 == b'E').unwrap_or_else(|| panic!("{bytes:?}"));
        assert_eq!(field(body, b'C'), "22021", "{bytes:?}: {}", error(body));
        client.is_served();
    }
}

/// Statements whose nesting or length is out of all measure. Each is answered, or refused with a code that says so.
fn monsters() -> Vec<(&'static str, String)> {
    let around =
        |n: usize, open: &str, inner: &str, close: &str| format!("SELECT {}{inner}{}", open.repeat(n), close.repeat(n));
    let joined = |n: usize, item: &str, by: &str| vec![item; n].join(by);
    let numbers = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let mut all = vec![("a NOT of NOTs", format!("SELECT {} true", "NOT ".repeat(10_000)))];
    // the parentheses of 1,400 levels are let through, 10,000 levels of anything are not
    for n in [100, 10_000] {
        all.extend([
            ("parentheses", around(n, "(", "1", ")")),
            ("minus", format!("SELECT {}1", "- ".repeat(n))),
            ("not", format!("SELECT {}true", "NOT ".repeat(n))),
            ("subqueries", around(n, "(SELECT ", "1", ")")),
            ("FROM", format!("SELECT * FROM {}(SELECT 1 AS a) x{}", "(SELECT * FROM ".repeat(n), ") x".repeat(n))),
            ("EXISTS", around(n, "EXISTS (SELECT ", "1", ")")),
            ("CASE", around(n, "CASE WHEN true THEN ", "1", " END")),
            ("ARRAY", around(n, "ARRAY[", "1", "]")),
            ("calls", around(n, "abs(", "1", ")")),
            ("COALESCE", around(n, "coalesce(", "1", ", 2)")),
            ("GREATEST", around(n, "greatest(1, ", "1", ")")),
            ("IS DISTINCT FROM", format!("SELECT {}", joined(n, "true", " IS DISTINCT FROM "))),
            ("NULLIF", around(n, "nullif(1, ", "1", ")")),
            ("BETWEEN", around(n, "(1 BETWEEN 0 AND (CASE WHEN ", "true", " THEN 1 END))")),
            ("EXCEPT", joined(n, "SELECT 1", " EXCEPT ")),
            ("JSON", format!("SELECT '{{}}'::jsonb{}", "->'a'".repeat(n))),
            ("time zones", format!("SELECT now(){}", " AT TIME ZONE 'UTC'".repeat(n))),
            ("casts", format!("SELECT 1{}", "::int".repeat(n))),
            ("collations", format!("SELECT 'a'{}", " COLLATE \"C\"".repeat(n))),
            ("IS NULL", format!("SELECT 1{}", " IS NULL".repeat(n))),
            ("plus", format!("SELECT {}", joined(n, "1", "+"))),
            ("concatenation", format!("SELECT {}", joined(n, "'a'", "||"))),
            ("comparison", format!("SELECT {}", joined(n, "(1=1)", "="))),
            ("CTE in CTE", format!("{} SELECT 1 AS x{}", "WITH a AS (".repeat(n), ") SELECT * FROM a".repeat(n))),
            (
                "joins in joins",
                format!("SELECT 1 FROM {}(SELECT 1) a{}", "(".repeat(n), " CROSS JOIN (SELECT 1) b)".repeat(n)),
            ),
            ("UNION in UNION", format!("{}SELECT 1{}", "(".repeat(n), " UNION SELECT 1)".repeat(n))),
            ("subscripts", format!("SELECT a{} FROM (SELECT ARRAY[1] AS a) x", "[1]".repeat(n))),
            ("fields", format!("SELECT a{}", ".a".repeat(n))),
        ]);
    }
    all.push(("parentheses", around(1_400, "(", "1", ")")));
    all.push(("subqueries", around(1_400, "(SELECT ", "1", ")")));
    all.push(("plus", format!("SELECT {}", joined(2_000, "1", "+"))));
    all.push(("UNION", joined(1_000, "SELECT 1", " UNION ")));
    for (what, open, inner, close) in
        [("array", "[", "", "]"), ("object", "{\"a\":", "1", "}"), ("both", "[{\"a\":", "1", "}]")]
    {
        for ty in ["json", "jsonb"] {
            all.push((what, format!("SELECT '{}{inner}{}'::{ty}", open.repeat(50_000), close.repeat(50_000))));
        }
    }
    all.extend([
        ("array text", format!("SELECT '{}1{}'::int[]", "{".repeat(10_000), "}".repeat(10_000))),
        ("record text", format!("SELECT '{}'::record", "(".repeat(10_000))),
        ("AND", format!("SELECT {}", joined(50_000, "1=1", " AND "))),
        ("OR", format!("SELECT {}", joined(50_000, "1=2", " OR "))),
        ("AND and OR", format!("SELECT {}", joined(20_000, "1=2", " AND true OR "))),
        ("IN", format!("SELECT 5 IN ({})", numbers(100_000))),
        ("IN of texts", format!("SELECT 'x' IN ({})", joined(100_000, "'y'", ","))),
        ("ANY", format!("SELECT 5 = ANY (ARRAY[{}])", numbers(50_000))),
        ("CASE arms", format!("SELECT CASE 5 {} END", joined(20_000, "WHEN 6 THEN 1", " "))),
        ("UNION ALL", joined(5_000, "SELECT 1", " UNION ALL ")),
        ("UNION", joined(5_000, "SELECT 1", " UNION ")),
        ("VALUES", format!("SELECT count(*) FROM (VALUES {}) v", joined(50_000, "(1)", ","))),
        ("columns", format!("SELECT {}", joined(10_000, "1", ","))),
        ("arguments", format!("SELECT concat({})", joined(10_000, "'a'", ","))),
        ("joins", format!("SELECT 1 FROM (SELECT 1) t {}", "CROSS JOIN (SELECT 1) t ".repeat(500))),
        ("tables", format!("SELECT 1 FROM {}", joined(3_000, "(SELECT 1) t", ","))),
        ("ORDER BY", format!("SELECT 1 AS a ORDER BY {}", joined(5_000, "a", ","))),
        ("GROUP BY", format!("SELECT 1 GROUP BY {}", joined(5_000, "()", ","))),
        ("CUBE", format!("SELECT 1 FROM (SELECT 1 AS a) x GROUP BY CUBE ({})", joined(40, "a", ","))),
        ("statements", "SELECT 1;".repeat(5_000)),
        ("comments", format!("{}{} SELECT 1", "/*".repeat(5_000), "*/".repeat(5_000))),
        ("a name", format!("SELECT 1 AS \"{}\"", "x".repeat(100_000))),
        ("a dollar quote", format!("SELECT ${0}$a${0}$", "a".repeat(100_000))),
        ("a number", format!("SELECT {}", "9".repeat(200_000))),
        ("regular expression", format!("SELECT 'a' ~ '{}a{}'", "(".repeat(5_000), ")".repeat(5_000))),
        ("SIMILAR", format!("SELECT 'a' SIMILAR TO '{}a{}'", "(".repeat(5_000), ")".repeat(5_000))),
        ("LIKE", format!("SELECT repeat('a', 2000) LIKE '{}b'", "%a".repeat(300))),
        ("repeat", "SELECT repeat('a', 2000000000)".into()),
        ("lpad", "SELECT lpad('a', 2000000000, 'b')".into()),
        ("power", "SELECT 10::numeric ^ 1000000".into()),
        ("PREPARE", format!("PREPARE p AS SELECT {}1{}", "(".repeat(5_000), ")".repeat(5_000))),
        ("CHECK", format!("CREATE TABLE t (a int CHECK ({}a > 0))", "NOT ".repeat(5_000))),
        ("DEFAULT", format!("CREATE TABLE t (a int DEFAULT {}1)", "- ".repeat(3_000))),
        (
            "many columns",
            format!("CREATE TABLE t ({})", (0..5_000).map(|i| format!("c{i} int")).collect::<Vec<_>>().join(",")),
        ),
    ]);
    all
}

#[test]
fn monstrous_statements_are_answered_or_refused() {
    let (_folder, server) = in_memory();
    let mut bystander = server.session();
    let mut client = server.session();
    let mut wrong = Vec::new();
    for (what, text) in monsters() {
        // shown if this fails: which one it was
        println!("{what}, {} bytes", text.len());
        for extended in [false, true] {
            if extended {
                client.send(&[parse("", &text), bind("", "", &[]), execute("", 0), sync()].concat());
            } else {
                client.send(&query(&text));
            }
            let messages = client.until_ready();
            if let Some((_, body)) = messages.iter().find(|m| m.0 == b'E') {
                let code = field(body, b'C');
                // too complex, a limit, refused as not there, a mistake in the text, or out of range: never our own bug
                if !["54001", "54000", "54011", "54023", "0A000", "2201B", "22003", "22P02"].contains(&code.as_str())
                    && (!code.starts_with("42") || field(body, b'M').contains("nested"))
                {
                    wrong.push(format!("{what} ({} bytes): {}", text.len(), error(body)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    client.is_served();
    bystander.is_served();
}

#[test]
fn what_long_statements_take_is_given_back() {
    let (_folder, server) = in_memory();
    let mut client = server.session();
    for i in 0..10 {
        let chain = (0..20_000).map(|n| format!("{i} = {n}")).collect::<Vec<_>>().join(" OR ");
        assert_eq!(client.value(&format!("SELECT {chain}")), "t");
    }
    client.is_served();
    let resident = server.resident();
    assert!(resident < 250_000, "{resident} KiB are kept");
}

#[test]
fn ten_thousand_parentheses_are_too_deep() {
    let (_folder, server) = in_memory();
    let mut client = server.session();
    let text = format!("SELECT {}1{}", "(".repeat(10_000), ")".repeat(10_000));
    assert_eq!(client.fails(&text), "54001");
    client.is_served();
    // brackets in quoted text are no nesting
    assert_eq!(client.value(&format!("SELECT length('{}')", "(".repeat(10_000))), "10000");
}

#[test]
fn lists_as_programs_make_them_are_answered() {
    let (_folder, server) = in_memory();
    let mut client = server.session();
    let numbers = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
    let list = numbers(100_000).join(",");
    assert_eq!(client.value(&format!("SELECT 5 IN ({list})")), "t");
    client.rows("CREATE TABLE t (a int)");
    client.rows("INSERT INTO t VALUES (7)");
    let chain = |word: &str| numbers(10_000).iter().map(|i| format!("a = {i}")).collect::<Vec<_>>().join(word);
    assert_eq!(client.value(&format!("SELECT count(*) FROM t WHERE {}", chain(" OR "))), "1");
    assert_eq!(client.value(&format!("SELECT count(*) FROM t WHERE {}", chain(" AND "))), "0");
    assert_eq!(client.value(&format!("SELECT {}", vec!["true"; 50_000].join(" AND "))), "t");
    assert_eq!(client.value(&format!("SELECT {}", vec!["false"; 50_000].join(" OR "))), "f");
}

#[test]
fn clients_that_vanish_are_nobodys_trouble() {
    let (_folder, server) = in_memory();
    let mut bystander = server.session();
    bystander.rows("CREATE TABLE t (a text)");
    let many = "SELECT repeat('x', 1000) FROM generate_series(1, 100000)";
    let insert = "INSERT INTO t SELECT repeat('x', 1000) FROM generate_series(1, 10000) RETURNING a";
    for _ in 0..5 {
        // half a message; a query whose client does not wait; a write whose client does not take its rows
        server.session().stream.write_all(b"Q\0\0\0\x20SEL").unwrap();
        server.session().send(&query(many));
        server.session().send(&query(insert));
        // in a transaction, in the middle of a portal, in the middle of COPY
        let mut client = server.session();
        client.rows("BEGIN");
        client.rows("INSERT INTO t VALUES ('lost')");
        drop(client);
        let mut client = server.session();
        client.send(&[parse("", many), bind("p", "", &[]), execute("p", 10), message(b'H', b"")].concat());
        assert_eq!(client.receive().0, b'1');
        drop(client);
        let mut client = server.session();
        client.send(&[query("COPY t FROM STDIN"), message(b'd', b"lost\n")].concat());
        drop(client);
    }
    bystander.is_served();
    bystander.rows("INSERT INTO t VALUES ('kept')");
    assert_eq!(bystander.value("SELECT string_agg(a, ',') FROM t"), "kept");
    server.stop();
}
