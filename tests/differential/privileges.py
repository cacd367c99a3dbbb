#!/usr/bin/env python3
"""Who may do what, by chance, on pgsqlite and on PostgreSQL 15: a lattice of roles, their grants, and statements in their names.

    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/privileges.py --statements 1500
    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/privileges.py --seconds 600 --seed N

Roles are members of each other, with and without INHERIT and ADMIN OPTION. They own tables, views, functions, sequences, types and schemas, grant and revoke privileges on
them (WITH GRANT OPTION, CASCADE, GRANTED BY, on columns, by default), give objects and themselves away, and read, change and define with what they have. What a
GRANT says stays; what changes data or definitions is rolled back. Both servers must answer alike: the error or warning, the rows, and what the catalogs show afterwards.
The last line is `N passed, N failed`.
"""

from __future__ import annotations

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import pgwire  # noqa: E402
import server  # noqa: E402
from sides import Answer, Chooser, Sides, difference, in_any_order  # noqa: E402
from tally import Tally, flags, note  # noqa: E402

ROLES = [f"r{i}" for i in range(6)]
#: roles of PostgreSQL's own that some of them may belong to
OWN = ["pg_read_all_data", "pg_write_all_data", "pg_database_owner", "pg_monitor"]
TABLES = ["s.t0", "s.t1", "z.t2", "s.v0", "z.v1", "s.p"]
COLUMNS = ["a", "b", "c"]
PRIVILEGES = {
    "TABLE": ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"],
    "SEQUENCE": ["USAGE", "SELECT", "UPDATE"],
    "FUNCTION": ["EXECUTE"],
    "SCHEMA": ["USAGE", "CREATE"],
    "TYPE": ["USAGE"],
    "DATABASE": ["CREATE", "TEMPORARY", "CONNECT"],
}
OBJECTS = {
    "TABLE": TABLES,
    "SEQUENCE": ["s.q"],
    "FUNCTION": ["s.f(int)", "s.g(int)"],
    "SCHEMA": ["s", "z"],
    "TYPE": ["s.e", "s.d"],
    "DATABASE": ["main"],
}
#: views of information_schema that tell more or less of objects
VIEWS = ["tables", "columns", "views", "sequences", "domains", "domain_constraints", "element_types", "user_defined_types", "table_constraints", "key_column_usage", "constraint_column_usage", "constraint_table_usage", "check_constraints", "column_domain_usage", "column_udt_usage", "domain_udt_usage", "view_table_usage", "view_column_usage", "parameters", "triggers", "schemata", "table_privileges", "role_column_grants", "role_udt_grants", "role_usage_grants", "attributes"]
#: what all objects are made of anew
MADE = """
CREATE SCHEMA s; CREATE SCHEMA z;
CREATE TABLE s.t0 (a int PRIMARY KEY, b text, c numeric); CREATE TABLE s.t1 (a int, b text, c numeric); CREATE TABLE z.t2 (a int, b text, c numeric);
CREATE TABLE s.p (a int, b text, c numeric) PARTITION BY RANGE (a); CREATE TABLE s.p1 PARTITION OF s.p FOR VALUES FROM (0) TO (100);
CREATE VIEW s.v0 AS SELECT a, b, c FROM s.t0; CREATE VIEW z.v1 AS SELECT a, b, c FROM s.v0;
CREATE SEQUENCE s.q; CREATE TYPE s.e AS ENUM ('x', 'y'); CREATE DOMAIN s.d AS int CHECK (VALUE > 0);
CREATE FUNCTION s.f(int) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM s.t1) + $1; END $$;
CREATE FUNCTION s.g(int) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RETURN (SELECT count(*) FROM s.t1) + $1; END $$;
INSERT INTO s.t0 VALUES (1, 'a', 1), (2, 'b', 2); INSERT INTO s.t1 VALUES (1, 'a', 1), (2, 'b', 2), (3, NULL, 3); INSERT INTO z.t2 VALUES (1, 'z', 1); INSERT INTO s.p VALUES (5, 'p', 5)
"""

#: (pattern of the statement, of both answers) → why the difference stays
KNOWN: list[tuple[str, str, str]] = []


class Statements(Chooser):
    """Random statements."""

    def role(self) -> str:
        return self.r.choice(ROLES)

    def grantee(self) -> str:
        return "PUBLIC" if self.chance(0.12) else self.one("CURRENT_USER", "SESSION_USER") if self.chance(0.05) else self.role()

    def privileges(self, kind: str) -> str:
        if self.chance(0.2):
            columns = f" ({', '.join(self.r.sample(COLUMNS, self.r.randint(1, 2)))})" if kind == "TABLE" and self.chance(0.3) else ""
            return f"ALL{columns}"
        chosen = self.r.sample(PRIVILEGES[kind], min(len(PRIVILEGES[kind]), self.r.randint(1, 3)))
        if kind == "TABLE" and self.chance(0.3):
            chosen = [p for p in chosen if p in ("SELECT", "INSERT", "UPDATE", "REFERENCES")] or ["SELECT"]
            return ", ".join(f"{p} ({', '.join(self.r.sample(COLUMNS, self.r.randint(1, 2)))})" for p in chosen)
        return ", ".join(chosen)

    def target(self) -> tuple[str, str]:
        kind = self.one("TABLE", "TABLE", "TABLE", "TABLE", "SEQUENCE", "FUNCTION", "SCHEMA", "TYPE", "DATABASE")
        return kind, self.r.choice(OBJECTS[kind])

    def granting(self) -> str:
        kind, name = self.target()
        on = f"{self.one('', 'TABLE ') if kind == 'TABLE' else kind + ' '}{name}"
        if kind == "TABLE" and self.chance(0.08):
            on = f"ALL TABLES IN SCHEMA {self.one('s', 'z')}"
        by = f" GRANTED BY {self.one('CURRENT_USER', self.role())}" if self.chance(0.06) else ""
        if self.chance(0.6):
            return f"GRANT {self.privileges(kind)} ON {on} TO {self.grantee()}{' WITH GRANT OPTION' if self.chance(0.35) else ''}{by}"
        return f"REVOKE {'GRANT OPTION FOR ' if self.chance(0.2) else ''}{self.privileges(kind)} ON {on} FROM {self.grantee()}{by}{' CASCADE' if self.chance(0.4) else ''}"

    def membership(self) -> str:
        of = self.r.choice(OWN) if self.chance(0.12) else self.role()
        if self.chance(0.6):
            return f"GRANT {of} TO {self.role()}{' WITH ADMIN OPTION' if self.chance(0.3) else ''}"
        return f"REVOKE {'ADMIN OPTION FOR ' if self.chance(0.25) else ''}{of} FROM {self.role()}{' CASCADE' if self.chance(0.3) else ''}"

    def defaults(self) -> str:
        of = f" FOR ROLE {self.role()}" if self.chance(0.5) else ""
        where = f" IN SCHEMA {self.one('s', 'z')}" if self.chance(0.4) else ""
        kind = self.one("TABLE", "SEQUENCE", "FUNCTION", "TYPE") if where else self.one("TABLE", "SEQUENCE", "FUNCTION", "TYPE", "SCHEMA")
        what = "ALL" if self.chance(0.3) else self.r.choice(PRIVILEGES[kind])
        if self.chance(0.6):
            return f"ALTER DEFAULT PRIVILEGES{of}{where} GRANT {what} ON {kind}S TO {self.grantee()}{' WITH GRANT OPTION' if self.chance(0.2) else ''}"
        return f"ALTER DEFAULT PRIVILEGES{of}{where} REVOKE {what} ON {kind}S FROM {self.grantee()}"

    def owning(self) -> str:
        kind, name = self.target()
        if kind == "DATABASE":
            return f"ALTER ROLE {self.role()} {self.one('INHERIT', 'NOINHERIT', 'CREATEROLE', 'NOCREATEROLE', 'CREATEDB', 'BYPASSRLS', 'NOBYPASSRLS', 'CONNECTION LIMIT 5', 'REPLICATION')}"
        if self.chance(0.06):
            return self.one(f"REASSIGN OWNED BY {self.role()} TO {self.role()}", f"DROP OWNED BY {self.role()}" + self.one("", " CASCADE"))
        if kind == "TABLE":
            kind = "VIEW" if ".v" in name else "TABLE"
        return f"ALTER {kind} {name} OWNER TO {self.one(self.role(), self.role(), 'CURRENT_USER')}"

    def condition(self) -> str:
        return self.one("", "", " WHERE a = 1", " WHERE b IS NOT NULL", " WHERE c > 1")

    def use(self) -> str:
        """A statement whose changes are rolled back."""
        t, u, c, k = self.r.choice(TABLES), self.r.choice(TABLES), self.r.choice(COLUMNS), self.r.choice(COLUMNS)
        return self.one(
            f"SELECT {self.one('*', c, f'{c}, {k}', 'count(*)', '1', 't', 't.*')} FROM {t} t{self.condition()}",
            f"SELECT x.{c} FROM {t} x JOIN {u} y USING ({k})",
            f"SELECT (SELECT max({c}) FROM {t}) FROM {u}",
            f"SELECT {c} FROM {t} FOR {self.one('UPDATE', 'SHARE', 'KEY SHARE')}",
            f"INSERT INTO {t} {self.one('', f'({c}) ')}{self.one('SELECT 7, NULL, NULL', 'DEFAULT VALUES')}" if self.chance(0.4) else f"INSERT INTO {t} (a, {self.one('b', 'c')}) VALUES (7, NULL){self.one('', f' RETURNING {c}', ' RETURNING 1', ' ON CONFLICT DO NOTHING')}",
            f"INSERT INTO s.t0 (a, b) VALUES (1, 'n') ON CONFLICT (a) DO UPDATE SET b = {self.one('excluded.b', 's.t0.b', chr(39) + 'k' + chr(39), 's.t0.c::text')}",
            f"INSERT INTO {t} (a) SELECT a + 10 FROM {u}",
            f"UPDATE {t} SET {c} = {self.one('NULL', c)}{self.condition()}{self.one('', f' RETURNING {k}')}",
            f"UPDATE {t} SET b = y.b FROM {u} y WHERE y.a = {t.split('.')[1]}.a",
            f"DELETE FROM {t}{self.condition()}{self.one('', f' RETURNING {k}')}",
            f"MERGE INTO {t} t USING {u} u ON t.a = u.a WHEN MATCHED THEN {self.one('DELETE', f'UPDATE SET {c} = u.{c}')} WHEN NOT MATCHED THEN {self.one('DO NOTHING', 'INSERT (a) VALUES (u.a)')}",
            f"WITH w AS (DELETE FROM {t} RETURNING {c}) SELECT * FROM w",
            f"TRUNCATE {t}",
            f"LOCK TABLE {t} IN {self.one('ACCESS SHARE', 'ROW SHARE', 'ROW EXCLUSIVE', 'SHARE', 'ACCESS EXCLUSIVE')} MODE",
            f"COPY {t}{self.one('', f' ({c})')} TO STDOUT",
            f"COPY (SELECT {c} FROM {t}) TO STDOUT",
            f"SELECT {self.one('nextval', 'currval')}('s.q')",
            "SELECT setval('s.q', 5)",
            "SELECT last_value FROM s.q",
            f"SELECT s.{self.one('f', 'g')}(1)",
            f"SELECT {self.one('NULL', '1')}::s.d, 'x'::s.e",
            f"CREATE TABLE {self.one('s', 'z', 'pg_temp')}.n (a {self.one('int', 's.d', 's.e')}{self.one('', ' REFERENCES s.t0', ' DEFAULT nextval(' + chr(39) + 's.q' + chr(39) + ')')})",
            f"CREATE TABLE {self.one('s', 'z')}.n (LIKE {t})",
            f"CREATE TABLE {self.one('s', 'z')}.n AS SELECT {c} FROM {t}",
            f"CREATE TABLE {self.one('s', 'z')}.n () INHERITS ({t})",
            f"CREATE TABLE {self.one('s', 'z')}.n PARTITION OF s.p FOR VALUES FROM (200) TO (300)",
            f"CREATE VIEW {self.one('s', 'z')}.n AS SELECT {c} FROM {t}",
            f"CREATE OR REPLACE VIEW s.v0 AS SELECT a, b, c FROM {self.one('s.t0', 's.t1')}",
            f"CREATE INDEX ON {t} ({c})",
            f"CREATE FUNCTION {self.one('s', 'z')}.n(s.d) RETURNS s.e LANGUAGE {self.one('sql', 'plpgsql')} AS 'SELECT NULL'" if self.chance(0.5) else f"CREATE OR REPLACE FUNCTION s.f(int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'",
            f"CREATE TRIGGER n BEFORE UPDATE ON {t} FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            f"CREATE RULE n AS ON DELETE TO {t} DO INSTEAD NOTHING",
            f"CREATE POLICY n ON {t} USING (true)",
            f"CREATE SEQUENCE {self.one('s', 'z')}.n OWNED BY {self.one('s.t0', 's.t1', 'z.t2', 's.p')}.a",
            f"CREATE DOMAIN {self.one('s', 'z')}.n AS {self.one('s.d', 's.e', 'int')}",
            f"CREATE TYPE {self.one('s', 'z')}.n AS (a {self.one('s.d', 's.e')})",
            f"CREATE SCHEMA n{self.one('', f' AUTHORIZATION {self.role()}')}",
            f"CREATE ROLE n {self.one('', 'CREATEROLE', 'SUPERUSER', f'IN ROLE {self.role()}', f'ROLE {self.role()}', 'CREATEDB')}",
            f"DROP ROLE {self.role()}",
            f"DROP TABLE {t}{self.one('', ' CASCADE')}",
            f"DROP {self.one('SEQUENCE s.q', 'FUNCTION s.f(int)', 'TYPE s.e', 'DOMAIN s.d', 'SCHEMA s', 'SCHEMA z CASCADE', 'VIEW s.v0', 'VIEW z.v1')}",
            f"ALTER TABLE {t} {self.one('ADD n int', 'ADD n s.d', 'RENAME b TO n', 'ALTER b SET DEFAULT 1', 'DROP c', 'ENABLE ROW LEVEL SECURITY', 'SET SCHEMA z', 'SET SCHEMA s', 'ADD FOREIGN KEY (a) REFERENCES s.t0', 'ADD CHECK (a > 0)', 'INHERIT s.t1')}",
            f"ALTER {self.one('SEQUENCE s.q', 'FUNCTION s.f(int)', 'TYPE s.e', 'DOMAIN s.d', 'VIEW s.v0')} {self.one('RENAME TO n', 'SET SCHEMA z', 'SET SCHEMA s')}",
            f"ALTER ROLE {self.role()} {self.one('RENAME TO n', 'SET work_mem = 100', 'PASSWORD NULL', 'SUPERUSER')}",
            f"COMMENT ON {self.one(f'TABLE {t}', f'COLUMN {t}.a', 'FUNCTION s.f(int)', 'SCHEMA s', 'TYPE s.e', f'ROLE {self.role()}')} IS 'c'",
            f"ANALYZE {t}",
            f"PREPARE n AS SELECT {c} FROM {t}; EXECUTE n; DEALLOCATE n",
            f"DO $$ BEGIN PERFORM {c} FROM {t}; END $$",
            f"DECLARE n CURSOR FOR SELECT {c} FROM {t}; FETCH n",
        )

    def question(self) -> str:
        r, t = self.role(), self.r.choice(TABLES)
        p = self.r.choice(PRIVILEGES["TABLE"]) + self.one("", "", " WITH GRANT OPTION")
        s = self.r.choice(PRIVILEGES["SCHEMA"]) + self.one("", " WITH GRANT OPTION")
        column = self.one("SELECT", "INSERT", "UPDATE", "REFERENCES") + self.one("", " WITH GRANT OPTION")
        who = self.one(f"'{r}', ", "", "'public', " if self.chance(0.2) else "")
        return "SELECT " + self.one(
            f"has_table_privilege({who}'{t}', '{p}')",
            f"has_column_privilege({who}'{t}', '{self.r.choice(COLUMNS)}', '{column}')",
            f"has_any_column_privilege({who}'{t}', '{column}')",
            f"has_schema_privilege({who}'{self.one('s', 'z')}', '{s}')",
            f"has_function_privilege({who}'s.f(int)', 'EXECUTE{self.one('', ' WITH GRANT OPTION')}')",
            f"has_sequence_privilege({who}'s.q', '{self.r.choice(PRIVILEGES['SEQUENCE'])}')",
            f"has_type_privilege({who}'s.d', 'USAGE')",
            f"has_database_privilege({who}'main', '{self.one('CREATE', 'TEMP', 'CONNECT')}')" if who != "'public', " else "1",
            f"pg_has_role('{r}', '{self.role()}', '{self.one('USAGE', 'MEMBER', 'USAGE WITH ADMIN OPTION')}')",
            f"pg_has_role('{self.role()}', '{self.one('MEMBER', 'USAGE')}')",
            "table_schema, table_name, grantor, grantee, privilege_type, is_grantable FROM information_schema.role_table_grants WHERE table_schema IN ('s', 'z')",
            "table_name, column_name, grantor, grantee, privilege_type, is_grantable FROM information_schema.column_privileges WHERE table_schema IN ('s', 'z')",
            "table_name, privilege_type FROM information_schema.table_privileges WHERE table_schema IN ('s', 'z')",
            "role_name, grantee, is_grantable FROM information_schema.applicable_roles",
            *[rf"regexp_replace(x::text, '\d{{5,}}', 'N', 'g') FROM information_schema.{v} x WHERE x::text ~ ',(s|z),'" for v in self.r.sample(VIEWS, 3)],
            "role_name FROM information_schema.enabled_roles",
            "grantee, role_name, is_grantable FROM information_schema.administrable_role_authorizations",
            "object_schema, object_name, object_type, grantor, grantee, privilege_type, is_grantable FROM information_schema.usage_privileges WHERE object_schema IN ('s', 'z')",
            "udt_name, grantor, grantee, is_grantable FROM information_schema.udt_privileges WHERE udt_schema IN ('s', 'z')",
            "table_schema, table_name FROM information_schema.tables WHERE table_schema IN ('s', 'z')",
            "table_name, column_name FROM information_schema.columns WHERE table_schema IN ('s', 'z')",
            "table_name, view_definition, is_updatable FROM information_schema.views WHERE table_schema IN ('s', 'z')",
            "routine_name, routine_definition FROM information_schema.routines WHERE routine_schema IN ('s', 'z')",
            "schema_name, schema_owner FROM information_schema.schemata WHERE schema_name IN ('s', 'z')",
            "current_user, session_user",
        )

    def actor(self) -> str:
        return self.one("RESET ROLE", f"SET ROLE {self.role()}", f"SET SESSION AUTHORIZATION {self.role()}", "RESET SESSION AUTHORIZATION", f"RESET SESSION AUTHORIZATION; SET SESSION AUTHORIZATION {self.role()}", "SET ROLE NONE", f"SET LOCAL ROLE {self.role()}")

    def statement(self) -> tuple[str, bool]:
        """A statement, and whether it is rolled back."""
        kind = self.r.random()
        if kind < 0.2:
            return self.actor(), False
        if kind < 0.4:
            return self.granting(), False
        if kind < 0.47:
            return self.membership(), False
        if kind < 0.5:
            return self.defaults(), False
        if kind < 0.55:
            return self.owning(), False
        if kind < 0.65:
            return self.question(), False
        return self.use(), True


#: what the catalogs show of all that, read by the superuser
SHOWN = [
    "SELECT relname, relowner::regrole, relacl FROM pg_class WHERE relnamespace IN ('s'::regnamespace, 'z'::regnamespace) AND relkind <> 'i' ORDER BY 1",
    "SELECT attrelid::regclass, attname, attacl FROM pg_attribute WHERE attacl IS NOT NULL AND attrelid IN (SELECT oid FROM pg_class WHERE relnamespace IN ('s'::regnamespace, 'z'::regnamespace)) ORDER BY 1::text, 2",
    "SELECT nspname, nspowner::regrole, nspacl FROM pg_namespace WHERE nspname IN ('s', 'z') ORDER BY 1",
    "SELECT proname, proowner::regrole, proacl FROM pg_proc WHERE pronamespace IN ('s'::regnamespace, 'z'::regnamespace) ORDER BY 1",
    "SELECT typname, typowner::regrole, typacl FROM pg_type WHERE typname IN ('e', 'd') AND typnamespace IN ('s'::regnamespace, 'z'::regnamespace) ORDER BY 1",
    "SELECT datacl FROM pg_database WHERE datname = 'main'",
    "SELECT defaclrole::regrole, defaclnamespace::regnamespace, defaclobjtype, defaclacl FROM pg_default_acl ORDER BY 1::text, 2::text, 3",
    "SELECT roleid::regrole, member::regrole, grantor::regrole, admin_option FROM pg_auth_members WHERE member::regrole::text ~ '^r' ORDER BY 1::text, 2::text",
    "SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, rolconnlimit FROM pg_roles WHERE rolname ~ '^r\\d' ORDER BY 1",
]


def answer(connection: pgwire.Connection, sql: str) -> Answer:
    return in_any_order(connection, sql, b"DCNd")


def shown(answer: Answer) -> str:
    """An error's text. (Whether a name is written with its schema is each command's own way.)"""
    return re.sub(r"\b[sz]\.(?=\w)", "", answer[1])


def main() -> int:
    args = flags(__doc__).parse_args()
    statements = Statements(args.seed)
    tally = Tally(args)
    with server.Server() as s:
        sides = Sides(s, "SET client_min_messages = warning", answer)
        postgres = pgwire.from_environment("postgres")
        postgres.simple("CREATE DATABASE main")
        sides.connect[0] = lambda: pgwire.from_environment("main")
        sides.make([f"CREATE ROLE {role} {'LOGIN ' if i % 2 else ''}{'NOINHERIT' if i % 3 == 2 else 'INHERIT'}{' CREATEROLE' if i == 4 else ''}" for i, role in enumerate(ROLES)])
        done: list[str] = []

        def report(sql: str, what: str, theirs: Answer, ours: Answer) -> None:
            if ours[0] == "0A000":
                note(tally.refused, re.sub(r'"[^"]*"|\'[^\']*\'', "…", ours[1]))
                return
            known = next((why for pattern, answers, why in KNOWN if re.search(pattern, sql) and re.search(answers, f"{theirs} | {ours}")), "")
            if known:
                note(tally.known, known)
                return
            tally.failed += 1
            shape = what + re.sub(r"r\d|[sz]\.\w+|'[^']*'", "_", sql)[:50]
            if tally.is_new(shape):
                related = [d for d in done if d.startswith(("GRANT", "REVOKE", "ALTER", "SET", "RESET", "REASSIGN", "DROP OWNED"))]
                print(f"{sql};\n    PostgreSQL: {theirs}\n    pgsqlite:   {ours}\n    after: {'; '.join(related[-60:])}", flush=True)

        anew = 0
        while tally.goes_on():
            if anew == 0:
                done.clear()
                # (PostgreSQL 15 fails to drop some default privileges together with others)
                for one in ["RESET SESSION AUTHORIZATION", "RESET ROLE", *[f"DROP OWNED BY {role} CASCADE" for role in ROLES]]:
                    for _ in range(3):
                        sides.ask(one)
                for one in ["DROP SCHEMA IF EXISTS s CASCADE", "DROP SCHEMA IF EXISTS z CASCADE", *[f"ALTER ROLE {r} {'NOINHERIT' if i % 3 == 2 else 'INHERIT'} NOBYPASSRLS NOCREATEDB NOREPLICATION" for i, r in enumerate(ROLES)], *[f"REVOKE {r} FROM {', '.join(ROLES)}" for r in [*ROLES, *OWN]], MADE]:
                    theirs, ours = sides.ask(one)
                    if what := difference(theirs, ours):
                        report(one, what, theirs, ours)
                anew = statements.r.randint(60, 250)
            anew -= 1
            sql, undone = statements.statement()
            tally.count += 1
            if undone:
                sides.ask("BEGIN")
            theirs, ours = sides.ask(sql)
            if undone:
                sides.ask("ROLLBACK")
            done.append(sql if not theirs[0] else f"-- {sql}")
            tally.succeeded += not theirs[0]
            what = difference(theirs, ours)
            # (errors of privileges name what they are about: of several relations and schemas the first)
            several = len(re.findall(r"\b[sz]\.[tvpq]|ALL TABLES|SCHEMA|JOIN|\bz\b|s\.[fg]", sql)) > 1 and theirs[1].startswith("permission denied for")
            if not what and theirs[0] and shown(theirs) != shown(ours) and not several:
                what = "message"
            if what:
                report(sql, what, theirs, ours)
                if not undone or "broke" in theirs[0] + ours[0]:
                    anew = 0
                    continue
            if anew == 0:
                sides.ask("RESET SESSION AUTHORIZATION")
                sides.ask("RESET ROLE")
                for one in SHOWN:
                    theirs, ours = sides.ask(one)
                    if what := difference(theirs, ours):
                        report(one, what, theirs, ours)
    tally.summary()
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
