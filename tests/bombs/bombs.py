"""Statements that take long, or for ever: each must end soon after it is told to, and keep nobody else waiting."""

from __future__ import annotations

SETUP = """
CREATE TABLE keys (id int PRIMARY KEY, v text);
INSERT INTO keys SELECT g, 'v' || g FROM generate_series(1, 1000) g;
CREATE TABLE t (i int);
INSERT INTO t SELECT generate_series(1, 20000);
CREATE TABLE w (n bigint, s text);
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int REFERENCES parent ON DELETE CASCADE, t text);
INSERT INTO parent SELECT generate_series(1, 3);
INSERT INTO child SELECT 1, repeat('x', 50) FROM generate_series(1, 20000);
CREATE VIEW endless AS SELECT a.i FROM t AS a, t AS b, t AS c, t AS d;
CREATE SEQUENCE s;
CREATE MATERIALIZED VIEW m AS SELECT 1 AS one WITH NO DATA;
CREATE FUNCTION dbl(int) RETURNS int LANGUAGE sql AS 'SELECT $1 + $1';
CREATE FUNCTION slow(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN LOOP NULL; END LOOP; END';
CREATE FUNCTION recurses(int) RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM endless';
CREATE FUNCTION tr() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM count(*) FROM endless; RETURN NEW; END';
CREATE TABLE triggered (i int);
CREATE TRIGGER tr BEFORE INSERT ON triggered FOR EACH ROW EXECUTE FUNCTION tr();
CREATE TABLE ruled (i int);
CREATE RULE r AS ON INSERT TO ruled DO ALSO INSERT INTO w SELECT i FROM endless;
CREATE TABLE parts (i int) PARTITION BY RANGE (i);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000000);
INSERT INTO parts SELECT i FROM t;
CREATE TABLE late (i int);
CREATE CONSTRAINT TRIGGER tr AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tr();
CREATE TABLE late_keys (i int, CONSTRAINT late_keys_u EXCLUDE USING gist (int4range(i, i + 2) WITH &&) DEFERRABLE INITIALLY DEFERRED);
INSERT INTO late_keys SELECT 10 * i FROM t WHERE i <= 100;
"""

# Attacks of a role that may do no more than SELECT: computed in the midst of one row, by one function.
NATIVES = {
    "regex with back-references": r"SELECT count(*) FROM keys WHERE repeat('ab', 2000) ~ '(.*)(.*)(.*)(.*)(.*)\5\4\3\2\1x'",
    "regex with lookahead": r"SELECT repeat('a', 5000) ~ '^(?=(a+)+$)(a|aa)+b'",
    "regex with large counts": r"SELECT repeat('ab', 100000) ~ '((a|b){1,200}){1,200}c$'",
    "regexp_matches g": r"SELECT count(*) FROM regexp_matches(repeat('ab', 3000000), '(a)(b)', 'g')",
    "regexp_split_to_array": r"SELECT array_length(regexp_split_to_array(repeat('a,', 3000000), ','), 1)",
    "regexp_split_to_table": r"SELECT count(*) FROM regexp_split_to_table(repeat('a,', 3000000), ',')",
    "regexp_replace g": r"SELECT length(regexp_replace(repeat('ab', 3000000), '(a)(b)', '\2\1', 'g'))",
    "regexp_count": r"SELECT regexp_count(repeat('ab', 3000000), 'a(b)')",
    "regexp_instr": r"SELECT regexp_instr(repeat('ab', 3000000), '(a)b', 1, 2900000)",
    "similar to": r"SELECT repeat('ab', 20000) SIMILAR TO '%(a|b)*(ab)*(a|b)*c'",
    "like": r"SELECT repeat('ab', 10000000) LIKE '%' || repeat('ab', 5000) || 'c%'",
    "ilike": r"SELECT repeat('ab', 10000000) ILIKE '%' || repeat('AB', 5000) || 'c%'",
    "repeat": "SELECT length(repeat('ab', 200000000))",
    "repeat of repeat": "SELECT length(repeat(repeat('x', 1000), 300000))",
    "lpad": "SELECT length(lpad('x', 300000000, 'abc'))",
    "rpad": "SELECT length(rpad('x', 300000000, 'abc'))",
    "format width": "SELECT length(format('%300000000s', 'x'))",
    "replace": "SELECT length(replace(repeat('ab', 50000000), 'a', 'xyz'))",
    "translate": "SELECT length(translate(repeat('ab', 50000000), 'ab', 'ba'))",
    "translate of many": "SELECT length(translate(repeat('ab', 5000000), repeat('x', 100000), ''))",
    "reverse": "SELECT length(reverse(repeat('ab', 50000000)))",
    "upper": "SELECT length(upper(repeat('ab', 50000000)))",
    "initcap": "SELECT length(initcap(repeat('ab ', 50000000)))",
    "btrim": "SELECT length(btrim(repeat('ab', 50000000), repeat('ba', 1000)))",
    "position": "SELECT position(repeat('a', 5000) || 'b' IN repeat('a', 100000000))",
    "strpos": "SELECT strpos(repeat('ab', 100000000), 'ac')",
    "split_part": "SELECT split_part(repeat('ab', 50000000), 'a', 50000000)",
    "md5": "SELECT md5(repeat('ab', 100000000))",
    "sha512": "SELECT sha512(convert_to(repeat('ab', 100000000), 'UTF8'))",
    "digest": "SELECT digest(repeat('ab', 100000000), 'sha256')",
    "hmac": "SELECT hmac(repeat('ab', 100000000), repeat('k', 100000000), 'sha512')",
    "uuid of a long name": "SELECT uuid_generate_v5(uuid_ns_dns(), repeat('ab', 200000000))",
    "encode hex": "SELECT length(encode(convert_to(repeat('ab', 50000000), 'UTF8'), 'hex'))",
    "encode base64": "SELECT length(encode(convert_to(repeat('ab', 50000000), 'UTF8'), 'base64'))",
    "encode escape": "SELECT length(encode(convert_to(repeat('ab', 50000000), 'UTF8'), 'escape'))",
    "decode": "SELECT length(decode(repeat('ab', 50000000), 'hex'))",
    "bytea input hex": "SELECT length(('\\x' || repeat('ab', 50000000))::bytea)",
    "bytea input escape": "SELECT length(repeat('a', 100000000)::bytea)",
    "bytea output escape": "SELECT set_config('bytea_output', 'escape', false), length(decode(repeat('ab', 50000000), 'hex')::text)",
    "crypt": "SELECT crypt('x', gen_salt('bf', 31))",
    "crypt des": "SELECT crypt('x', gen_salt('xdes', 16777215))",
    "crypt md5 of a long password": "SELECT crypt(repeat('x', 100000000), '$1$salt')",
    "gen_random_bytes": "SELECT count(gen_random_bytes(1024)) FROM generate_series(1, 100000000)",
    "bytea position": "SELECT position('\\x6163'::bytea IN convert_to(repeat('ab', 50000000), 'UTF8'))",
    "bit_count": "SELECT bit_count(convert_to(repeat('ab', 100000000), 'UTF8'))",
    "array_fill": "SELECT array_length(array_fill(1, ARRAY[20000000]), 1)",
    "array_fill of texts": "SELECT array_length(array_fill(repeat('x', 1000), ARRAY[200000]), 1)",
    "array doubling": "WITH RECURSIVE a(n, x) AS (SELECT 1, ARRAY[1] UNION ALL SELECT n + 1, x || x FROM a WHERE n < 24) SELECT max(array_length(x, 1)) FROM a",
    "string doubling": "WITH RECURSIVE a(n, x) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, x || x FROM a WHERE n < 29) SELECT max(length(x)) FROM a",
    "array contains": "SELECT (SELECT array_agg(i) FROM t) @> (SELECT array_agg(20001 - i) FROM t)",
    "array overlap": "SELECT (SELECT array_agg(i) FROM t) && (SELECT array_agg(-i) FROM t)",
    "array_positions": "SELECT count(*) FROM (SELECT array_positions((SELECT array_agg(i) FROM t), i) FROM t) x",
    "array_to_string": "SELECT length(array_to_string(array_fill('ab'::text, ARRAY[5000000]), ','))",
    "array_remove": "SELECT array_length(array_remove(array_fill(1, ARRAY[5000000]), 2), 1)",
    "unnest": "SELECT count(*) FROM unnest(array_fill(1, ARRAY[5000000]))",
    "generate_subscripts": "SELECT count(*) FROM generate_subscripts(array_fill(1, ARRAY[5000000]), 1)",
    "string_to_array": "SELECT array_length(string_to_array(repeat('a,', 5000000), ','), 1)",
    "string_to_table": "SELECT count(*) FROM string_to_table(repeat('a,', 5000000), ',')",
    "array literal": "SELECT array_length(('{' || repeat('1,', 5000000) || '1}')::int[], 1)",
    "array comparison": "SELECT array_fill(1, ARRAY[5000000]) < array_fill(1, ARRAY[5000000])",
    "json array": "SELECT json_array_length(('[' || repeat('1,', 5000000) || '1]')::json)",
    "jsonb array": "SELECT jsonb_array_length(('[' || repeat('1,', 5000000) || '1]')::jsonb)",
    "jsonb strings": "SELECT length(to_jsonb(repeat('a\"', 30000000))::text)",
    "jsonb concatenation": "SELECT jsonb_array_length(('[' || repeat('1,', 2000000) || '1]')::jsonb || ('[' || repeat('1,', 2000000) || '1]')::jsonb)",
    "jsonb elements": "SELECT count(*) FROM jsonb_array_elements(('[' || repeat('1,', 3000000) || '1]')::jsonb)",
    "jsonb object": "SELECT length((SELECT jsonb_object_agg(g, g) FROM generate_series(1, 2000000) g)::text)",
    "jsonb containment": "SELECT (SELECT jsonb_agg(i) FROM t) @> (SELECT jsonb_agg(-i) FROM t)",
    "jsonpath exists": "SELECT jsonb_path_exists((SELECT jsonb_agg(i) FROM t), '$[*] ? (exists ($[*] ? (@ < 0)))')",
    "jsonpath cross": "SELECT jsonb_path_exists((SELECT jsonb_agg(i) FROM t), '$ ? (@[*] < -1 && @[*] == @[*])')",
    "jsonpath comparison": "SELECT jsonb_path_match((SELECT jsonb_build_object('a', jsonb_agg(i), 'b', jsonb_agg(-i)) FROM t), 'exists($ ? (@.a[*] == @.b[*]))')",
    "jsonpath like_regex": "SELECT jsonb_path_exists(to_jsonb(repeat('ab', 2000)), '$ ? (@ like_regex \"(.*)(.*)(.*)(.*)x\")')",
    "to_tsvector": "SELECT length(to_tsvector('english', (SELECT string_agg('word' || g, ' ') FROM generate_series(1, 60000) g)))",
    "to_tsvector again": "SELECT sum(length(to_tsvector('english', repeat('running dogs ' || i, 500)))) FROM t",
    "ts_headline": "SELECT length(ts_headline('english', repeat('the quick brown fox ', 200000), 'fox & dog'))",
    "ts_rank_cd": "SELECT ts_rank_cd((SELECT to_tsvector('simple', string_agg('a b', ' ')) FROM t), 'a & b')",
    "tsquery phrase": "SELECT (SELECT to_tsvector('simple', string_agg('a b' || i, ' ')) FROM t) @@ to_tsquery('simple', (SELECT string_agg('b' || i, ' <-> ') FROM t WHERE i < 3000))",
    "tsvector literal": "SELECT length((SELECT string_agg('w' || g, ' ') FROM generate_series(1, 80000) g)::tsvector)",
    "polygon": "SELECT p && p, p @> p FROM (SELECT ('(' || string_agg('(' || i || ',' || (i * i) % 1000 || ')', ',') || ')')::polygon p FROM t WHERE i < 8000) x",
    "path": "SELECT length(p) FROM (SELECT ('[' || repeat('(1,2),', 1000000) || '(1,2)]')::path p) x",
    "numeric power": "SELECT length((9.999999999999999::numeric ^ 99999)::text)",
    "factorial": "SELECT length(factorial(32000)::text)",
    "numeric multiplication": "SELECT length((repeat('9', 130000)::numeric * repeat('9', 1000)::numeric)::text)",
    "numeric division": "SELECT length((1::numeric(1000,900) / repeat('7', 100000)::numeric)::text)",
    "numeric exp": "SELECT sum(exp(i / 7.000000000000000000000000000000000000000000000000001)) FROM t",
    "numeric ln": "SELECT sum(ln((i + 1)::numeric(500,400))) FROM t",
    "numeric sqrt": "SELECT length(sqrt(repeat('7', 100000)::numeric)::text)",
    "numeric text": "SELECT length(repeat('7', 131000)::numeric::text) FROM t",
    "gcd": "SELECT length(gcd(repeat('7', 60000)::numeric, repeat('3', 60001)::numeric)::text)",
    "money": "SELECT sum(i::text::money) FROM endless",
    "multirange": "SELECT length(range_agg(int4range(i * 2, i * 2 + 1))::text) FROM t",
    "multirange arithmetic": "SELECT count(*) FROM (SELECT range_agg(int4range(i * 2, i * 2 + 1)) r FROM t) x, generate_series(1, 2000) g WHERE (r * r) = (r + r)",
    "bit strings": "SELECT length((repeat('10', 20000000))::varbit | (repeat('01', 20000000))::varbit)",
    "similarity": "SELECT similarity(repeat('abc def ', 300000), repeat('def ghi ', 300000))",
    "hstore": "SELECT length((SELECT string_agg('k' || g || '=>v', ',') FROM generate_series(1, 500000) g)::hstore::text)",
    "normalize": "SELECT length(normalize(repeat('é', 20000000), NFD))",
    "unistr": r"SELECT length(unistr(repeat('\0061', 20000000)))",
    "convert": "SELECT length(convert_from(convert_to(repeat('é', 20000000), 'LATIN1'), 'LATIN1'))",
    "quote_literal": "SELECT length(quote_literal(repeat('''', 50000000)))",
    "concat": "SELECT length(concat(VARIADIC array_fill('ab'::text, ARRAY[5000000])))",
    "string_agg": "SELECT length(string_agg('ab', ',')) FROM t AS a, t AS b",
    "array_agg": "SELECT array_length(array_agg(a.i), 1) FROM t AS a, (SELECT FROM t WHERE i < 400) AS b",
    "json_agg": "SELECT length(json_agg(a.i)::text) FROM t AS a, (SELECT FROM t WHERE i < 400) AS b",
    "percentile": "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a.i) FROM t AS a, (SELECT FROM t WHERE i < 300) AS b",
    "mode": "SELECT mode() WITHIN GROUP (ORDER BY a.i::text) FROM t AS a, (SELECT FROM t WHERE i < 300) AS b",
    "count distinct": "SELECT count(DISTINCT a.i * 1.5 + b.i) FROM t AS a, t AS b",
    "window over all": "SELECT sum(x) FROM (SELECT array_length(array_agg(i) OVER (ORDER BY i ROWS BETWEEN 5000 PRECEDING AND CURRENT ROW), 1) x FROM t) y",
    "set_config": "SELECT length(set_config('my.value', repeat('x', 100000000), false))",
    "pg_get_viewdef": "SELECT length(pg_get_viewdef('endless'::regclass)) FROM endless",
    "xml-free to_char": "SELECT length(to_char(1.5, repeat('9', 100000))) FROM t",
    "to_timestamp": "SELECT to_timestamp('2020', 'YYYY' || repeat(' ', 20000000))",
    "interval input": "SELECT (repeat('1 day ', 1000000))::interval",
    "parse_ident": "SELECT array_length(parse_ident(repeat('a.', 1000000) || 'b'), 1)",
    "inet": "SELECT count(*) FROM endless WHERE ('10.0.0.0/8'::inet + i) << '10.0.0.0/9'",
    "generate_series": "SELECT count(*) FROM generate_series(1, 1000000000000)",
    "generate_series of times": "SELECT count(*) FROM generate_series('2000-01-01'::timestamp, '9999-01-01', '1 second')",
    "text column of a row": "SELECT length((t.*)::text) FROM t, endless",
    "row comparison": "SELECT count(*) FROM t AS a, t AS b WHERE ROW(a.i::numeric, 1) < ROW(b.i::numeric, 2)",
}

# SQLite's own work, sub-queries, functions in PL/pgSQL and SQL.
QUERIES = {
    "cross join": "SELECT count(*) FROM endless",
    "order by": "SELECT a.i FROM t AS a, (SELECT FROM t WHERE i < 100) AS b ORDER BY a.i * 7919 % 10007, random() OFFSET 2000000",
    "order by text": "SELECT md5(a.i::text) FROM t AS a, (SELECT FROM t WHERE i < 50) AS b ORDER BY md5(a.i::text) COLLATE \"en-US-x-icu\" OFFSET 1000000",
    "distinct": "SELECT count(*) FROM (SELECT DISTINCT a.i * b.i FROM t AS a, t AS b) x",
    "recursive": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
    "recursive union": "WITH RECURSIVE r(n) AS (SELECT 1::bigint UNION SELECT (n * 7919 + 1) % 100000007 FROM r) SELECT count(*) FROM r",
    "materialized": "WITH x AS MATERIALIZED (SELECT a.i FROM t AS a, t AS b) SELECT count(*) FROM x",
    "except": "SELECT i FROM endless EXCEPT SELECT 1",
    "lateral": "SELECT count(*) FROM t, LATERAL (SELECT count(*) FROM t AS u WHERE u.i <> t.i) x",
    "catalogs": "SELECT count(*) FROM pg_proc AS a, pg_proc AS b, pg_attribute AS c",
    "information_schema": "SELECT count(*) FROM information_schema.columns AS a, information_schema.columns AS b",
    "plpgsql loop": "SELECT slow(1)",
    "plpgsql loop in a key look-up": "SELECT slow(id) FROM keys WHERE id = 5",
    "sql function": "SELECT recurses(1)",
    "do": "DO $$ BEGIN LOOP NULL; END LOOP; END $$",
    "loop with a handler": "DO $$ BEGIN LOOP BEGIN FOR i IN 1..1000000 LOOP END LOOP; EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END $$",
    "do with a handler": "DO $$ BEGIN LOOP BEGIN PERFORM count(*) FROM endless; EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END $$",
    "do with transactions": "DO $$ BEGIN LOOP COMMIT; END LOOP; END $$",
    "do with for": "DO $$ DECLARE s text := 'x'; BEGIN FOR i IN 1..2000000000 LOOP s := md5(s); END LOOP; END $$",
    "do with dynamic SQL": "DO $$ BEGIN LOOP EXECUTE 'SELECT ' || repeat('1+', 100) || '1'; END LOOP; END $$",
    "rows to the client": "SELECT i FROM endless",
    "values of a key look-up": r"SELECT repeat(v, 2000) ~ '(.*)(.*)(.*)\3\2\1x' FROM keys WHERE id = 5",
    "lo": "SELECT count(lo_creat(-1)) FROM endless",
    "nextval": "SELECT count(nextval('s')) FROM endless",
    "sleep": "SELECT pg_sleep(1000)",
    "explain analyze": "EXPLAIN ANALYZE SELECT count(*) FROM endless",
    "copy to": "COPY (SELECT i FROM endless) TO STDOUT",
    "cursor": "BEGIN; DECLARE c CURSOR FOR SELECT i FROM endless; MOVE FORWARD ALL IN c; COMMIT",
    "cursor with hold": "DECLARE h CURSOR WITH HOLD FOR SELECT count(*) FROM endless",
    "doubling CTEs": "WITH " + ", ".join(
        ["a0 AS (SELECT 1 AS x)"] + [f"a{n} AS (SELECT p.x FROM a{n - 1} AS p, a{n - 1} AS q)" for n in range(1, 18)]
    ) + " SELECT count(*) FROM a17 AS p, a17 AS q, a17 AS r",
}

PLANNING = {
    "inlining that doubles": "SELECT " + "dbl(" * 30 + "1" + ")" * 30,
    "doubling CTEs, 40": "WITH " + ", ".join(
        ["a0 AS (SELECT 1 AS x)"] + [f"a{n} AS (SELECT p.x FROM a{n - 1} AS p, a{n - 1} AS q)" for n in range(1, 40)]
    ) + " SELECT count(*) FROM a39",
    "many operators": "SELECT " + "+".join(["1"] * 20000),
    "many ORs": "SELECT count(*) FROM t WHERE " + " OR ".join(f"i = {n}" for n in range(20000)),
    "long IN list": "SELECT count(*) FROM t WHERE i IN (" + ",".join(map(str, range(200000))) + ")",
    "many joins": "SELECT count(*) FROM " + ", ".join(f"keys AS k{n}" for n in range(60)),
    "grouping sets": "SELECT count(*) FROM t GROUP BY CUBE (" + ",".join(f"i % {n}" for n in range(1, 13)) + ")",
    # (the grammar itself looks at no request, as PostgreSQL's does not)
    "many values": "SELECT count(*) FROM (VALUES " + ",".join(f"({n}, 'x')" for n in range(20000)) + ") v",
    "nested queries": "SELECT count(*) FROM " + "(SELECT * FROM " * 60 + "t" + "".join(f") x{n}" for n in range(60)),
    "COALESCE of COALESCE": "SELECT " + "coalesce(nullif(" * 25 + "i" + ", 1), 2)" * 25 + " FROM t",
}

# What writes: a cancelled one leaves nothing behind.
WRITES = {
    "insert of a native": "INSERT INTO w VALUES (length(repeat('x', 400000000)))",
    "insert of a regex": r"INSERT INTO w VALUES (CASE WHEN repeat('ab', 2000) ~ '(.*)(.*)(.*)(.*)(.*)\5\4\3\2\1x' THEN 1 ELSE 2 END)",
    "insert of a select": "INSERT INTO w SELECT i FROM endless",
    "insert returning": "INSERT INTO w SELECT i FROM endless RETURNING n",
    "update": "UPDATE t SET i = (SELECT count(*) FROM endless)",
    "update of a key": r"UPDATE keys SET v = length(regexp_replace(repeat('ab', 3000), '(.*)(.*)(.*)\3\2\1x', 'y')) WHERE id = 5",
    "delete": "DELETE FROM t WHERE i = (SELECT count(*) FROM endless)",
    "merge": "MERGE INTO w USING endless e ON w.n = e.i WHEN NOT MATCHED THEN INSERT VALUES (e.i)",
    "insert with a trigger": "INSERT INTO triggered VALUES (1)",
    "insert with a rule": "INSERT INTO ruled VALUES (1)",
    "insert into partitions": "INSERT INTO parts SELECT i FROM endless",
    "modifying CTE": "WITH x AS (INSERT INTO w SELECT i FROM endless RETURNING n) SELECT count(*) FROM x",
    "on conflict": "INSERT INTO keys SELECT i % 1000 + 1, 'x' FROM endless ON CONFLICT (id) DO UPDATE SET v = excluded.v",
}

# What is left for the end of the transaction. Each is tried as a query string, and by the extended protocol with its Sync.
COMMITS = {
    "deferred trigger": "INSERT INTO late VALUES (1)",
    "deferred exclusion": "UPDATE late_keys SET i = i + 1",
    "cursor with hold at its commit": "DECLARE h2 CURSOR WITH HOLD FOR SELECT i FROM endless",
}
COMMIT_BLOCKS = {
    "deferred trigger, COMMIT": "BEGIN; INSERT INTO late VALUES (1); COMMIT",
    "deferred exclusion, COMMIT": "BEGIN; UPDATE late_keys SET i = i + 1; COMMIT",
    "deferred exclusion, SET CONSTRAINTS": "BEGIN; UPDATE late_keys SET i = i + 1; SET CONSTRAINTS ALL IMMEDIATE; ROLLBACK",
    "deferred trigger, COMMIT AND CHAIN": "BEGIN; INSERT INTO late VALUES (1); COMMIT AND CHAIN",
}

# Long texts: parsed where nobody waits for it.
TEXTS = {
    "text of many values": "INSERT INTO t VALUES " + ",".join(f"({n})" for n in range(400000)),
    "text of many columns": "SELECT " + ",".join(["a.b"] * 500000),
    "text of many statements": ";".join(["SELECT 1"] * 300000),
    "text with escapes": "SELECT E'\\n', " + ",".join(["a.b"] * 500000),
    "text with a long name": "SELECT " + "x" * 100 + " FROM " + ",".join(["a"] * 500000),
}

# `statement_timeout` is for each statement of a query string by itself, as in PostgreSQL since 13 (manual, 20.11): where each of them is short,
# the string may last as long as it takes.
MANY_SHORT = {"text of many statements"}

DDL = {
    "create role with a long password": "DO $$ BEGIN EXECUTE format('CREATE ROLE long_one PASSWORD %L', repeat('x', 50000000)); DROP ROLE long_one; END $$",
    "create table as": "CREATE TABLE x1 AS SELECT i FROM endless",
    "select into": "SELECT i INTO x2 FROM endless",
    "create temp table as": "CREATE TEMP TABLE x3 AS SELECT i FROM endless",
    "create table as execute": "PREPARE p AS SELECT i FROM endless; CREATE TABLE x4 AS EXECUTE p",
    "create materialized view": "CREATE MATERIALIZED VIEW x5 AS SELECT i FROM endless",
    "refresh materialized view": "CREATE OR REPLACE FUNCTION many() RETURNS SETOF int LANGUAGE sql AS 'SELECT i FROM endless'; "
    "CREATE MATERIALIZED VIEW x6 AS SELECT many() WITH NO DATA; REFRESH MATERIALIZED VIEW x6",
    "create index": "CREATE FUNCTION pure(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN LOOP NULL; END LOOP; END'; CREATE INDEX x7 ON t ((pure(i)))",
    "create index where": "CREATE INDEX x8 ON t (i) WHERE length(repeat('x', 3000000 + i)) > 0",
    "create unique index": "CREATE UNIQUE INDEX x9 ON t ((length(repeat('x', 1000000 + i))))",
    "add column default": "ALTER TABLE t ADD COLUMN y int DEFAULT slow(1)",
    "add column generated": "ALTER TABLE t ADD COLUMN z int GENERATED ALWAYS AS (length(repeat('x', 3000000 + i))) STORED",
    "add check": "ALTER TABLE t ADD CHECK (slow(i) > 0)",
    "add exclude": "ALTER TABLE t ADD EXCLUDE USING gist (int4range(i - 1, i + 1, '[]') WITH &&)",
    "add unique": "ALTER TABLE t ADD CONSTRAINT u UNIQUE (i)",
    "alter type": "ALTER TABLE t ALTER COLUMN i TYPE bigint USING slow(i)",
    "attach partition": "CREATE TABLE x10 (i int); INSERT INTO x10 SELECT 1000001 FROM t AS a, (SELECT FROM t WHERE i < 50) AS b; "
    "ALTER TABLE parts ATTACH PARTITION x10 FOR VALUES FROM (1000000) TO (2000000)",
    "domain check": "CREATE DOMAIN d AS int; CREATE TABLE x11 (i d); INSERT INTO x11 VALUES (1); ALTER DOMAIN d ADD CHECK (slow(VALUE) > 0)",
    "cascaded delete": "DELETE FROM parent WHERE id = 1",
    "create trigger table rebuild": "ALTER TABLE t ALTER COLUMN i TYPE text USING repeat('x', 100000)",
    "analyze": "ANALYZE",
    "explain": "EXPLAIN " + "SELECT " + "+".join(["1"] * 5000),
}

# Definitions of many objects: DDL's own loops, on a server that has such catalogs.
COLUMNS = range(1600)
LABELS = range(10000)


VALUES_SETUP = SETUP + """;
CREATE TABLE large (i int, s text);
INSERT INTO large SELECT 1, repeat('x', 150000000)
"""

# One value is most of the work: SQLite's own handler of interrupts is called between values.
VALUES = {
    "value: insert": "INSERT INTO w SELECT 1, repeat('x', 150000000)",
    "value: compare": "SELECT count(*) FROM large WHERE s = 'x'",
    "value: distinct": "SELECT count(DISTINCT s) FROM large",
    "value: update beside it": "UPDATE large SET i = i + 1",
    "value: update of it": "UPDATE large SET s = s || 'x'",
    "value: copy of the table": "CREATE TABLE large_2 AS SELECT * FROM large",
    "value: concatenation": "SELECT count(*) FROM large WHERE s || s = 'x'",
    "value: max": "SELECT max(s) IS NULL FROM large",
    "value: delete": "DELETE FROM large",
}


def catalog_setup(many: int) -> str:
    """So many tables and roles, half as many views and partitions, a table of 1,600 columns, and an enum of 10,000 labels."""
    return f"""
CREATE SCHEMA big;
CREATE TABLE base (a int, b int);
DO $$ BEGIN FOR i IN 1..{many} LOOP EXECUTE format('CREATE TABLE big.t%s (a int PRIMARY KEY, b text, c numeric)', i); END LOOP; END $$;
DO $$ BEGIN FOR i IN 1..{many} LOOP EXECUTE format('CREATE ROLE r%s', i); END LOOP; END $$;
DO $$ BEGIN FOR i IN 1..{many // 2} LOOP EXECUTE format('CREATE VIEW v%s AS SELECT a, b FROM base WHERE a > %s', i, i); END LOOP; END $$;
CREATE TABLE parted (i int, s text) PARTITION BY RANGE (i);
DO $$ BEGIN FOR i IN 1..{many // 2} LOOP EXECUTE format('CREATE TABLE part_%s PARTITION OF parted FOR VALUES FROM (%s) TO (%s)', i, i, i + 1); END LOOP; END $$;
CREATE TYPE labels AS ENUM ({", ".join(f"'l{n}'" for n in LABELS)});
CREATE TABLE labelled (x labels);
CREATE TABLE wide ({", ".join(f"c{n} int" for n in COLUMNS)});
CREATE VIEW wide_v AS SELECT * FROM wide;
CREATE TABLE wide3 (LIKE wide);
CREATE TABLE keys (id int PRIMARY KEY, v text);
INSERT INTO keys SELECT g, 'v' || g FROM generate_series(1, 1000) g;
"""


def catalog(many: int) -> dict[str, str]:
    """Statements about what `catalog_setup` makes."""
    roles = ", ".join(f"r{n}" for n in range(1, many + 1, 5))
    tables = ", ".join(f"big.t{n}" for n in range(1, many + 1))
    return {
        "catalog: create wide": "CREATE TABLE wide2 (" + ", ".join(f"c{n} int DEFAULT {n} CHECK (c{n} > 0)" for n in COLUMNS) + ")",
        "catalog: like wide": "CREATE TABLE wide4 (LIKE wide INCLUDING ALL)",
        "catalog: types of columns": "ALTER TABLE wide3 " + ", ".join(f"ALTER COLUMN c{n} TYPE bigint" for n in COLUMNS),
        "catalog: defaults of columns": "ALTER TABLE wide3 " + ", ".join(f"ALTER COLUMN c{n} SET DEFAULT 5" for n in COLUMNS),
        "catalog: checks of columns": "ALTER TABLE wide3 " + ", ".join(f"ADD CHECK (c{n} > 5)" for n in COLUMNS),
        "catalog: drop columns": "ALTER TABLE wide3 " + ", ".join(f"DROP COLUMN c{n}" for n in COLUMNS[1:]),
        "catalog: privileges of columns": f"GRANT SELECT ({', '.join(f'c{n}' for n in COLUMNS)}) ON wide TO {roles}",
        "catalog: indexes": "DO $$ BEGIN FOR i IN 1..1500 LOOP EXECUTE format('CREATE INDEX ON wide (c%s)', i); END LOOP; END $$",
        "catalog: rename a column of views": "ALTER TABLE base RENAME COLUMN a TO z",
        "catalog: rename a table of views": "ALTER TABLE base RENAME TO base2",
        "catalog: add a label": "ALTER TYPE labels ADD VALUE 'x' BEFORE 'l5'",
        "catalog: rename a label": "ALTER TYPE labels RENAME VALUE 'l7' TO 'y'",
        "catalog: labels as values": "INSERT INTO labelled SELECT ('l' || (g % 5000 + 100))::labels FROM generate_series(1, 100000) g",
        "catalog: index of labels": "CREATE INDEX ON labelled (x)",
        "catalog: privileges of tables": f"GRANT ALL ON ALL TABLES IN SCHEMA big TO {roles}",
        "catalog: revoke": f"REVOKE SELECT ON ALL TABLES IN SCHEMA big FROM {roles}",
        "catalog: memberships": f"GRANT {', '.join(f'r{n}' for n in range(1, many, 2))} TO {', '.join(f'r{n}' for n in range(2, many, 10))}",
        "catalog: column of partitions": "ALTER TABLE parted ADD COLUMN n int DEFAULT 5",
        "catalog: index of partitions": "CREATE INDEX ON parted (i)",
        "catalog: check of partitions": "ALTER TABLE parted ADD CHECK (i > 0)",
        "catalog: type in partitions": "ALTER TABLE parted ALTER COLUMN s TYPE varchar(10)",
        "catalog: rows of partitions": f"INSERT INTO parted SELECT g % {many // 2} + 1 FROM generate_series(1, 1000000) g",
        "catalog: pg_attribute": "SELECT count(*) FROM pg_attribute AS a, pg_attribute AS b",
        "catalog: column_privileges": "SELECT count(*) FROM information_schema.column_privileges",
        "catalog: table_privileges": "SELECT count(*) FROM information_schema.table_privileges",
        "catalog: pg_depend": "SELECT count(*) FROM pg_depend",
        "catalog: definitions of views": "SELECT sum(length(pg_get_viewdef(oid))) FROM pg_class WHERE relkind = 'v'",
        "catalog: definitions of constraints": "SELECT sum(length(pg_get_constraintdef(oid))) FROM pg_constraint",
        "catalog: analyze": "ANALYZE",
        "catalog: truncate": f"TRUNCATE {tables}",
        "catalog: lock": f"BEGIN; LOCK TABLE {tables}; ROLLBACK",
        "catalog: drop owned": "DROP OWNED BY r6",
        "catalog: drop tables": f"DROP TABLE {tables}",
        "catalog: drop a schema": "DROP SCHEMA big CASCADE",
        "catalog: drop a table of views": "DROP TABLE base CASCADE",
        "catalog: drop partitions": "DROP TABLE parted",
        "catalog: drop roles": "DROP ROLE " + ", ".join(f"r{n}" for n in range(3, many, 5)),
        "catalog: schema of many": "CREATE SCHEMA many " + " ".join(f"CREATE TABLE t{n} (i int)" for n in range(5000)),
    }
