#!/usr/bin/env python3
"""Hostile texts in every place where a name or a literal gets into SQL, on both servers, answer by answer.

    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/names.py [--only NUMBER] [--verbose]

Each text below is the name of a table, its columns, indexes, constraints, sequences, types, roles, schemas, cursors, savepoints,
prepared statements, triggers, functions, arguments, channels and settings, and a literal in stored expressions. pgsqlite writes all of
them into SQLite's SQL; an answer that differs from PostgreSQL's shows a place where one is not quoted, or means something else.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import oracle as reference  # noqa: E402
import pgwire  # noqa: E402
import server  # noqa: E402

TEXTS = [
    "plain", "Upper", "UPPER", "two words", " leading", "trailing ", "it's", "''", "'", '"', '""', 'a"b', "a\"'b", "`", "a`b`", "[a]", "a]b",
    "\\", "a\\'b", "\\x00", "$", "$1", "$$", "$a$x$a$", "?", "?1", ":a", "@a", "#a", "%s", "%", "_", "a.b", '"."', "a;b", "a--b", "/*", "*/", "/* x */",
    "a\nb", "a\tb", "a\rb", "\x01", "\x7f", "é", "e\u0301", "ß", "İ", "日本語", "🦀", "\u202eabc", "\u00a0", "\ufeffx", "a\u200bb",
    "select", "table", "NULL", "true", "default", "rowid", "_rowid_", "oid", "main", "temp", "sqlite_master", "sqlite_sequence", "sqlite_x",
    "__pgsqlite_object", "pg_x_catalog", "0x1F", "1e5", "x'00'", "');DROP TABLE victim;--", "'||(SELECT 1)||'", "a" * 63, "a" * 64, "é" * 40, "old", "new",
    "excluded", "value", "current_user", "public", "json", "key", "new\"; x", "c1", "t1", "t1\".\"c1",
]

# {i}, {j}: the text as a name, and with a letter behind it; {l}: as a literal; {d}: between dollar quotes, if it may be there
PLACES = """
CREATE TABLE {i} ({i} text PRIMARY KEY, {j} int DEFAULT 7, CONSTRAINT {j} CHECK ({i} <> {l}))
INSERT INTO {i} ({i}) VALUES ('a'), ('b'), (NULL)
INSERT INTO {i} ({i}) VALUES ('a'), ('b')
INSERT INTO {i} VALUES ({l})
INSERT INTO {i} VALUES ('a')
INSERT INTO {i} AS {j} ({i}) VALUES ('a') ON CONFLICT ({i}) DO UPDATE SET {j} = {j}.{j} + 1 RETURNING {j}.{i}, {j}.{j}
SELECT {i}, {j} AS {i}, {i}.{i} FROM {i} ORDER BY {i}
SELECT {j}.{i} AS {i} FROM {i} AS {j} WHERE {j}.{i} IN ('a', {l}) GROUP BY {j}.{i} HAVING max({j}.{j}) > 0 ORDER BY 1
SELECT {l} AS x, {l} = {l}, length({l}), {l} || {l}, {l} LIKE {l}, upper({l}), E'x' || {l}, position({l} in {l} || 'x')
SELECT * FROM (VALUES ({l}, 1)) AS {i} ({i}, {j}) WHERE {i} = {l}
WITH {i} ({j}) AS (SELECT {l}) SELECT {j}, {i}.* FROM {i}
SELECT {i} FROM {i} WINDOW {j} AS (ORDER BY {i}) ORDER BY rank() OVER {j}
CREATE INDEX {k} ON {i} ({j}, lower({i})) WHERE {i} <> {l}
SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'h' ORDER BY 1
SELECT {i} FROM {i} WHERE lower({i}) = 'a' AND {j} > 1 AND {i} <> {l}
ALTER TABLE {i} ADD COLUMN {k} text DEFAULT {l}
UPDATE {i} SET {k} = {k} || {l}, {j} = {j} + 1 WHERE {i} = 'a' RETURNING {i}.{k}
SELECT {k}, count(*) FROM {i} GROUP BY {k} ORDER BY 1
ALTER TABLE {i} ADD COLUMN g text GENERATED ALWAYS AS ({k} || {l}) STORED
SELECT g FROM {i} ORDER BY {i}
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'h'::regnamespace ORDER BY 1
SELECT attname, pg_get_expr(adbin, adrelid) FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = '{q}'::regclass AND attnum > 0 ORDER BY attnum
SELECT '{q}'::regclass, to_regclass('{q}') IS NOT NULL, quote_ident({l}), quote_literal({l}), format('%I %L %s', {l}, {l}, {l})
COMMENT ON TABLE {i} IS {l}
COMMENT ON COLUMN {i}.{i} IS {l}
SELECT obj_description('{q}'::regclass), col_description('{q}'::regclass, 1)
CREATE VIEW {v} AS SELECT {i} AS {j}, {l}::text AS {k} FROM {i} WHERE {i} <> {l}
SELECT * FROM {v} ORDER BY 1
SELECT pg_get_viewdef('{qv}'::regclass)
ALTER TABLE {i} RENAME COLUMN {j} TO {v}
SELECT {v} FROM {i} ORDER BY {i}
ALTER TABLE {i} RENAME COLUMN {v} TO {j}
CREATE SEQUENCE {s}
SELECT nextval('{qs}'), currval('{qs}'), setval('{qs}', 5)
CREATE TYPE {e} AS ENUM ({l}, 'other')
SELECT {l}::{e}, enum_range(NULL::{e}), 'nope'::{e}
SELECT {l}::{e}, enum_range(NULL::{e}), ARRAY[{l}]::{e}[]
CREATE TYPE {c} AS ({i} text, {j} int)
SELECT ROW({l}, 1)::{c}, (ROW({l}, 1)::{c}).{i}, to_json(ROW({l}, 1)::{c})
CREATE DOMAIN {dm} AS text DEFAULT {l} CONSTRAINT {i} CHECK (VALUE <> {l})
SELECT 'a'::{dm}
SELECT {l}::{dm}
CREATE FUNCTION {f} ({i} text, {j} text DEFAULT {l}) RETURNS text LANGUAGE sql AS {body}
SELECT {f}('a'), {f}({i} => 'b', {j} => {l})
CREATE FUNCTION {p} ({i} text) RETURNS text LANGUAGE plpgsql AS {pbody}
SELECT {p}({l})
SELECT {i}, {p}({i}) AS {j} FROM {i} ORDER BY 1
CREATE FUNCTION {t} () RETURNS trigger LANGUAGE plpgsql AS {tbody}
CREATE TRIGGER {i} BEFORE INSERT OR UPDATE ON {i} FOR EACH ROW WHEN (NEW.{i} <> {l}) EXECUTE FUNCTION {t} ({l})
INSERT INTO {i} ({i}) VALUES ('t') RETURNING {i}, {k}
UPDATE {i} SET {j} = 1 WHERE {i} = 't' RETURNING {k}
SELECT tgname, encode(tgargs, 'escape') FROM pg_trigger WHERE NOT tgisinternal
DROP TRIGGER {i} ON {i}
CREATE TABLE {ch} (id int GENERATED ALWAYS AS IDENTITY, {i} text CONSTRAINT {e} REFERENCES {i} ({i}) ON UPDATE CASCADE)
INSERT INTO {ch} ({i}) VALUES ('a'), ('zzz')
INSERT INTO {ch} ({i}) VALUES ('a'), ('b')
UPDATE {i} SET {i} = 'aa' WHERE {i} = 'a'
DELETE FROM {i} WHERE {i} = 'aa'
SELECT c.{i}, p.{j} FROM {ch} AS c JOIN {i} AS p USING ({i}) ORDER BY 1
SELECT c.{i} FROM {ch} AS c NATURAL JOIN {i} AS {k} ORDER BY 1
CREATE RULE {i} AS ON DELETE TO {ch} DO INSTEAD UPDATE {ch} SET {i} = NULL WHERE {i} = OLD.{i}
DELETE FROM {ch} WHERE {i} = 'b'
SELECT {i} FROM {ch} ORDER BY id
CREATE TABLE {pt} ({i} text, {j} int) PARTITION BY LIST ({i})
CREATE TABLE {pp} PARTITION OF {pt} FOR VALUES IN ({l})
INSERT INTO {pt} VALUES ({l}, 1)
INSERT INTO {pt} VALUES ('nope', 1)
SELECT {i}, {j}, tableoid::regclass FROM {pt}
ALTER TABLE {i} ENABLE ROW LEVEL SECURITY
CREATE POLICY {i} ON {i} USING ({i} <> {l})
SELECT polname, pg_get_expr(polqual, polrelid) FROM pg_policy
BEGIN
SAVEPOINT {i}
INSERT INTO {i} ({i}) VALUES ('sp')
ROLLBACK TO {i}
RELEASE {i}
DECLARE {i} CURSOR FOR SELECT {i}, {l} FROM {i} ORDER BY 1
FETCH ALL FROM {i}
CLOSE {i}
COMMIT
PREPARE {i} (text) AS SELECT $1, {l}, {i} FROM {i} ORDER BY 3
EXECUTE {i} ({l})
SELECT name FROM pg_prepared_statements
DEALLOCATE {i}
LISTEN {i}
SELECT pg_listening_channels()
UNLISTEN {i}
SET application_name = {l}
SHOW application_name
SELECT set_config('my.x', {l}, false), current_setting('my.x')
CREATE ROLE {r}
GRANT SELECT ({i}), UPDATE ON {i} TO {r}
SELECT relacl::text, attacl::text FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid WHERE pg_class.oid = '{q}'::regclass AND attnum = 1
ALTER TABLE {ch} OWNER TO {r}
DROP OWNED BY {r} CASCADE
DROP ROLE {r}
CREATE SCHEMA {sc}
CREATE TABLE {sc}.{i} ({i} int PRIMARY KEY)
INSERT INTO {sc}.{i} VALUES (1)
SELECT {sc}.{i}.{i} FROM {sc}.{i}
ALTER TABLE {sc}.{i} RENAME TO {j}
SELECT {j}.{i} FROM {sc}.{j}
DROP SCHEMA {sc} CASCADE
CREATE TEMP TABLE {i} ({i} int)
INSERT INTO {i} VALUES (42)
SELECT {i} FROM {i}
DROP TABLE pg_temp.{i}
SELECT {i}, {j} FROM {i} ORDER BY 1
CREATE MATERIALIZED VIEW {mv} AS SELECT {i}, {l}::text AS {j} FROM {i}
REFRESH MATERIALIZED VIEW {mv}
SELECT * FROM {mv} ORDER BY 1
CREATE TABLE {ct} AS SELECT {i} AS {j}, {l}::text AS {i} FROM {i}
SELECT * FROM {ct} ORDER BY 1
SELECT json_build_object({l}, 1), jsonb_build_object({l}, {l}) -> {l}, (jsonb_build_object({l}, {l}) #>> ARRAY[{l}]) = {l}
SELECT to_jsonb({i}) FROM {i} ORDER BY {i}
SELECT array_agg({l}::text), string_agg({i}, {l} ORDER BY {i}) FROM {i}
SELECT regexp_replace('x' || {l}, '^x', ''), split_part('a' || {l} || 'b', {l}, 2), replace({l} || 'z', {l}, 'y'), starts_with({l}, {l})
COPY {i} ({i}) TO STDOUT
COPY (SELECT {i} AS {j}, {l} AS {i} FROM {i} ORDER BY 1) TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE *)
EXPLAIN (COSTS OFF) SELECT 1
ALTER TABLE {i} DROP COLUMN {k} CASCADE
ALTER TABLE {i} DROP CONSTRAINT {j}
INSERT INTO {i} ({i}) VALUES ({l})
DELETE FROM {i} WHERE {i} = {l} RETURNING {i}
SELECT count(*) FROM victim
SELECT relname, relkind FROM pg_class WHERE relnamespace = 'h'::regnamespace ORDER BY relname COLLATE "C"
SELECT table_name, column_name, column_default FROM information_schema.columns WHERE table_schema = 'h' ORDER BY table_name COLLATE "C", ordinal_position
DROP TABLE {i} CASCADE
""".strip().split("\n")


#: (text, what the statement begins with): answers that differ, and why.
KNOWN = [
    # PL/pgSQL there counts a parameter `$1` and one that is named so as two of the same name
    ("$1", 'CREATE FUNCTION "P$1"'),
    ("$1", 'SELECT "P$1"'),
    ("$1", 'SELECT "$1", "P$1"'),
    # a view's range table has entries `old` and `new` there, so that tables of these names are printed with an alias
    ("old", "SELECT pg_get_viewdef"),
    ("new", "SELECT pg_get_viewdef"),
]


def name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def dollars(body: str) -> str:
    tag = next(t for t in ("$$", "$q$", "$qq$") if t[:-1] not in body)
    return tag + body + tag


def statements(text: str) -> list[str]:
    """The places with the text in them."""
    i, j, lit = name(text), name(text + "J"), literal(text)
    ends = {"k": "K", "v": "V", "s": "S", "e": "E", "c": "C", "dm": "D", "f": "F", "p": "P", "t": "T", "ch": "H", "pt": "PT", "pp": "PP", "r": "R", "sc": "SC", "mv": "M", "ct": "CT"}
    fields = {"i": i, "j": j, "l": lit, "q": i.replace("'", "''"), **{key: name(end + text) for key, end in ends.items()}}
    fields["qv"], fields["qs"] = fields["v"].replace("'", "''"), fields["s"].replace("'", "''")
    fields["body"] = dollars(f" SELECT {i} || {j} || {lit} ")
    fields["pbody"] = dollars(f" DECLARE {j} text := {lit}; BEGIN {j} := {j} || {i}; RETURN {j} || {lit}; END ")
    fields["tbody"] = dollars(f" BEGIN NEW.{fields['k']} := TG_ARGV[0] || TG_NAME || {lit}; RETURN NEW; END ")
    return [place.format(**fields) for place in PLACES]


def answer(c: pgwire.Connection, sql: str) -> list[str]:
    """What a server says, without positions (which follow from the text) and without notices."""
    out = []
    for kind, body in c.simple(sql):
        if kind == b"E":
            f = pgwire.fields_of(body)
            out.append(" | ".join(f"{key}{f[key]}" for key in "CMDHstcdn" if key in f))
        elif kind == b"D":
            out.append(repr(pgwire.data_row(body)))
        elif kind == b"T":
            out.append(repr([column[0] for column in pgwire.row_description(body)]))
        elif kind == b"C":
            out.append(body[:-1].decode())
        elif kind == b"d":
            out.append(repr(body))
    if sql.startswith("COPY ") and not sql.startswith("COPY ("):
        out.sort()  # where rows are stored
    errors = [line for line in out if line.startswith("C") and " | M" in line]
    return errors or out  # (an error of planning comes before RowDescription, or after it)


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--only", type=int)
    args.add_argument("--verbose", action="store_true")
    a = args.parse_args()
    right = reference.connect(releases=(18,))
    passed = failed = 0
    with server.Server() as s:
        ours = pgwire.Connection(s.dir, s.port, "postgres", "main", timeout=60)
        for c in (right, ours):
            c.simple("SET client_min_messages = error; CREATE SCHEMA h; SET search_path = h; CREATE TABLE public.victim (a int); SET application_name = ''")
        for number, text in enumerate(TEXTS):
            if a.only is not None and number != a.only:
                continue
            for c in (right, ours):
                c.simple("ROLLBACK; DROP SCHEMA h CASCADE; CREATE SCHEMA h; SET search_path = h, public")
            for sql in statements(text):
                expected, got = answer(right, sql), answer(ours, sql)
                same = expected == got or any(text == t and sql.startswith(begin) for t, begin in KNOWN)
                passed, failed = passed + same, failed + (not same)
                if not same:
                    print(f"{number} {text!r}: {sql}\n    PostgreSQL {expected}\n    pgsqlite   {got}", flush=True)
                elif a.verbose:
                    print(f"{sql}\n    {got}")
    print(f"names: {len(TEXTS)} texts, {len(PLACES)} places: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
