#!/usr/bin/env python3
"""What a role without privileges reaches: every function of pg_proc with sample values and with NULLs, every relation of the catalogs and
each of its columns. PostgreSQL says who may do what; its SQLSTATEs are recorded in reachable.tsv.

    python3 tests/entry/reachable.py                              # pgsqlite
    tools/oracle.sh python3 tests/entry/reachable.py --record     # PostgreSQL: writes reachable.tsv

An answer is wrong where PostgreSQL denies (42501) and pgsqlite does not, unless it has no such thing (0A000, 42883, 42P01, 42703), and where
pgsqlite denies what PostgreSQL does. (A call with NULLs only may be folded by PostgreSQL's planner before anybody is asked.)
"""

from __future__ import annotations

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import oracle as reference  # noqa: E402
import pgwire  # noqa: E402
import server  # noqa: E402

TABLE = HERE / "reachable.tsv"
DENIED = "42501"
ABSENT = {"0A000", "42883", "42P01", "42703", "42704", "42601"}

SETUP = """
CREATE ROLE reacher LOGIN;
CREATE TABLE secret (id int PRIMARY KEY, pin text);
INSERT INTO secret VALUES (1, 'one');
CREATE SEQUENCE secret_seq;
SELECT lo_create(1);
"""

# What is denied there is not even made here: there never is a row.
EMPTY = {'SELECT count(*) FROM information_schema.transforms', 'SELECT "subconninfo" FROM pg_catalog.pg_subscription LIMIT 1'} | {
    f'SELECT "{column}" FROM information_schema.transforms LIMIT 1'
    for column in ("udt_catalog", "udt_schema", "udt_name", "specific_catalog", "specific_schema", "specific_name", "group_name", "transform_type")
}

# They wait, end sessions, or depend on the moment.
SKIPPED = {"pg_sleep", "pg_sleep_for", "pg_sleep_until", "pg_terminate_backend", "pg_cancel_backend", "pg_export_snapshot", "pg_notification_queue_usage"}

# A value of each type that reaches something; others are 'x' in the type's text form, or NULL where that is none.
SAMPLES = {
    "oid": "'secret'::regclass::oid", "regclass": "'secret'::regclass", "text": "'secret'", "name": "'secret'::name",
    "cstring": "'secret'::cstring", "integer": "1", "bigint": "1::bigint", "smallint": "1::smallint", "boolean": "true",
    "double precision": "1::float8", "real": "1::float4", "numeric": "1::numeric", "bytea": "'\\x01'::bytea", "\"char\"": "'r'::\"char\"",
    "anyelement": "1", "anycompatible": "1", "\"any\"": "1", "anyarray": "ARRAY[1]", "anycompatiblearray": "ARRAY[1]",
    "anynonarray": "1", "anycompatiblenonarray": "1", "text[]": "ARRAY['secret']", "oid[]": "ARRAY['secret'::regclass::oid]",
    "json": "'{\"a\": 1}'::json", "jsonb": "'{\"a\": 1}'::jsonb", "date": "'2020-01-01'::date", "timestamp without time zone": "'2020-01-01'::timestamp",
    "timestamp with time zone": "'2020-01-01'::timestamptz", "interval": "'1s'::interval", "uuid": "'00000000-0000-0000-0000-000000000000'::uuid",
    "regprocedure": "'now()'::regprocedure", "regproc": "'now'::regproc", "regrole": "'postgres'::regrole", "regnamespace": "'public'::regnamespace",
    "pg_lsn": "'0/1'::pg_lsn", "xid": "'1'::xid", "tid": "'(0,1)'::tid", "character": "'x'::bpchar", "character varying": "'x'::varchar",
}  # fmt: skip

FUNCTIONS = """
SELECT p.proname, array_to_string(ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, n) ORDER BY n), ';')
FROM pg_proc p WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
AND NOT 'internal'::regtype = ANY (proargtypes) ORDER BY 1, 2
"""
COLUMNS = """
SELECT n.nspname, c.relname, array_to_string(ARRAY(SELECT attname FROM pg_attribute a WHERE attrelid = c.oid AND attnum > 0 ORDER BY attnum), ';')
FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname IN ('pg_catalog', 'information_schema') AND relkind IN ('r', 'v') ORDER BY 1, 2
"""


def statements(admin: pgwire.Connection) -> list[str]:
    """What is tried."""
    out = []
    for name, arguments in admin.query(FUNCTIONS):
        if name in SKIPPED:
            continue
        types = arguments.split(";") if arguments else []
        call = f'SELECT pg_catalog."{name}"'
        nulls = ", ".join("NULL" if t.startswith(("any", '"any"')) else f"NULL::{t}" for t in types)
        samples = ", ".join(SAMPLES.get(t, f"NULL::{t}") for t in types)
        out.append(f"{call}({nulls})")
        if samples != nulls:
            out.append(f"{call}({samples})")
    for schema, relation, columns in admin.query(COLUMNS):
        out.append(f"SELECT count(*) FROM {schema}.{relation}")
        out.append(f"DELETE FROM {schema}.{relation} WHERE false")
        for column in columns.split(";"):
            out.append(f'SELECT "{column}" FROM {schema}.{relation} LIMIT 1')
    return out


def state_of(session: pgwire.Connection, statement: str) -> str:
    """The SQLSTATE of a statement, 00000 for none."""
    for kind, body in session.simple(f"BEGIN; {statement}"):
        if kind == b"E":
            found = pgwire.fields_of(body)["C"]
            break
    else:
        found = "00000"
    session.simple("ROLLBACK")
    return found


def main() -> int:
    if "--record" in sys.argv:
        admin = reference.connect(releases=(18,))
        admin.query("CREATE DATABASE reachable TEMPLATE template0")
        setter = pgwire.from_environment("reachable")
        setter.simple(SETUP)
        tried = statements(setter)
        host, port = __import__("os").environ["PGHOST"], 5432
        session = pgwire.Connection(host, port, "reacher", "reachable")
        session.query("SET statement_timeout = '5s'")
        lines = [f"{state_of(session, statement)}\t{statement}" for statement in tried]
        TABLE.write_text("\n".join(lines) + "\n")
        print(f"tests/entry: {len(lines)} statements, {sum(line.startswith(DENIED) for line in lines)} of them denied")
        return 0
    recorded = [line.split("\t", 1) for line in TABLE.read_text().splitlines()]
    wrong = []
    with server.Server() as running:
        admin = pgwire.Connection(running.dir, running.port, "postgres", "main")
        admin.simple(SETUP)
        session = pgwire.Connection(running.dir, running.port, "reacher", "main")
        session.query("SET statement_timeout = '20s'")
        for state, statement in recorded:
            try:
                got = state_of(session, statement)
            except pgwire.ServerGone as e:
                wrong.append(f"{statement}: the server is gone: {e}")
                break
            too_much = state == DENIED and got != DENIED and got not in ABSENT and statement not in EMPTY
            too_little = got == DENIED and state == "00000" and "NULL" not in statement
            if too_much or too_little or got == "XX000" != state:
                wrong.append(f"{statement}: PostgreSQL {state}, pgsqlite {got}")
        admin.close()
    for line in wrong:
        print(line)
    print(f"tests/entry: {len(recorded)} functions, relations and columns, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
