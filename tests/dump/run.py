#!/usr/bin/env python3
"""pg_dump and pg_restore between pgsqlite and PostgreSQL 18, in both directions.

    ORACLE_VERSION=18 tools/oracle.sh python3 tests/dump/run.py

schema.sql is loaded into both. Then what pg_dump says of a database must be the same text on both sides, and again after it was
restored into the other: as plain SQL with COPY and with INSERTs through psql, and in the custom format through pg_restore.
later.sql has what only later releases have: a dump of it is restored into pgsqlite alone.
(Only the version that the dump names, the names of NOT NULLs, for which pg_dump asks a server of 18, the random word of \\restrict and the order of a
table's rows may differ.)
The last line is `N passed, N failed`.
"""

from __future__ import annotations

import difflib
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import server  # noqa: E402

SCHEMA = HERE / "schema.sql"
# What is dumped otherwise than by PostgreSQL: pgsqlite restores its own dump.
LATER = HERE / "later.sql"
WORDS_OF_LATER = (
    "CHECK ((a > 0)) NOT ENFORCED",
    "DEFERRABLE NOT ENFORCED",
    "b integer GENERATED ALWAYS AS ((a * 2)) NOT NULL",
    "c integer NOT NULL",
    "PRIMARY KEY (id, during WITHOUT OVERLAPS)",
)
# A dump of one database does not make roles.
ROLES = "CREATE ROLE dump_reader; CREATE ROLE dump_owner;"
# Of schema.sql: a table that nobody makes any more must be noticed.
TABLES = 73


class Place:
    """A database to load into and to dump from."""

    def __init__(self, host: str, database: str):
        self.environment = {**os.environ, "PGHOST": host, "PGPORT": "5432", "PGUSER": "postgres", "PGDATABASE": database}

    def run(self, *command: str, text: str | None = None) -> str:
        """What the command printed. A warning is as bad as an error: nothing may be told of a restored dump."""
        done = subprocess.run(command, input=text, env=self.environment, capture_output=True, text=True, timeout=300)
        if done.returncode or done.stderr.strip():
            raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr.strip()[:3000]}")
        return done.stdout

    def psql(self, text: str) -> str:
        return self.run("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-", text=text)

    def dump(self, *flags: str) -> str:
        return self.run("pg_dump", *flags)


class Postgres(Place):
    """A fresh database of the oracle."""

    count = 0

    def __init__(self):
        Postgres.count += 1
        name = f"dump{Postgres.count}"
        super().__init__(os.environ["PGHOST"], "postgres")
        self.psql(f"CREATE DATABASE {name}")
        self.environment["PGDATABASE"] = name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        name = self.environment["PGDATABASE"]
        self.environment["PGDATABASE"] = "postgres"
        self.psql(f"DROP DATABASE {name}")


class Pgsqlite(Place):
    """A fresh file; its roles are made as the cluster's are."""

    def __init__(self, roles: bool = True):
        self.server = server.Server()
        super().__init__(self.server.dir, "main")
        if roles:
            self.psql(ROLES)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stop()


def comparable(dump: str) -> list[str]:
    """A dump's lines, without what differs by nature, and with each table's rows sorted."""
    lines, rows = [], None
    for line in dump.splitlines():
        if line.startswith(("\\restrict ", "\\unrestrict ", "-- Dumped from database version")):
            continue
        if rows is not None and line != "\\.":
            rows.append(line)
            continue
        if rows is not None:
            lines += sorted(rows)
            rows = None
        lines.append(line)
        if re.match(r"COPY .* FROM stdin;$", line):
            rows = []
        else:
            lines[-1] = re.sub(r'CONSTRAINT (\S+|"([^"]|"")+") NOT NULL(?=,?$)', "NOT NULL", line)
    return lines


def same(expected: str, got: str) -> None:
    expected_lines, got_lines = comparable(expected), comparable(got)
    if expected_lines != got_lines:
        difference = list(difflib.unified_diff(expected_lines, got_lines, "PostgreSQL", "pgsqlite", lineterm="", n=2))
        raise AssertionError("\n".join(difference[:60]))


def present(words: str, dump: str) -> None:
    if words not in dump:
        raise AssertionError(f"{words} is not in\n{dump}")


@functools.cache
def later_pg_dump() -> str:
    """The program of PostgreSQL 18: that of 15 takes a virtual column's expression for a DEFAULT."""
    oracle = str(HERE.parents[1] / "tools" / "oracle.sh")
    found = subprocess.run([oracle, "bash", "-c", "command -v pg_dump"], env={**os.environ, "ORACLE_VERSION": "18"}, capture_output=True, text=True, check=True)
    return found.stdout.strip()


def dump_of_later(place: Place, *flags: str) -> str:
    # (the pages of psql 15 do not know the commands around the dump of a later release)
    lines = place.run(later_pg_dump(), *flags).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(("\\restrict", "\\unrestrict", "SET transaction_timeout")))


def restored_alike(source: Place, expected: str) -> None:
    for flags in ([], ["--column-inserts"]):
        with Pgsqlite(roles=False) as restored:
            restored.psql(dump_of_later(source, *flags))
            same(expected, dump_of_later(restored))


def main() -> int:
    if "PGHOST" not in os.environ:
        raise SystemExit("start it as ORACLE_VERSION=18 tools/oracle.sh python3 tests/dump/run.py")
    failed = passed = 0

    def step(name: str, check) -> None:
        nonlocal failed, passed
        try:
            check()
            passed += 1
        except (AssertionError, subprocess.TimeoutExpired) as e:
            failed += 1
            print(f"FAIL {name}\n{e}")

    schema = SCHEMA.read_text()
    with Postgres() as original, Pgsqlite(roles=False) as ours, tempfile.TemporaryDirectory() as folder:
        # (the roles are the cluster's: the other databases have them, too)
        original.psql(schema)
        ours.psql(schema)
        expected = original.dump()
        tables = len(re.findall(r"^CREATE (?:UNLOGGED )?TABLE ", expected, re.MULTILINE))
        if tables != TABLES:
            raise SystemExit(f"schema.sql has {tables} tables, not {TABLES}")
        step("pg_dump says of pgsqlite what it says of PostgreSQL", lambda: same(expected, ours.dump()))
        for flags in (["--schema-only"], ["--data-only", "--table=order*"], ["--clean", "--if-exists", "--no-owner"], ["--table=customer"]):
            step(f"pg_dump {' '.join(flags)}", lambda: same(original.dump(*flags), ours.dump(*flags)))
        for source, fresh, way in (
            (ours, Postgres, "pgsqlite to PostgreSQL"),
            (original, Pgsqlite, "PostgreSQL to pgsqlite"),
        ):

            def by_psql(*flags: str) -> None:
                with fresh() as restored:
                    restored.psql(source.dump(*flags))
                    same(expected, restored.dump())

            def by_pg_restore(*flags: str) -> None:
                archive = os.path.join(folder, "archive")
                source.dump("--format=custom", f"--file={archive}")
                with fresh() as restored:
                    database = restored.environment["PGDATABASE"]
                    restored.run("pg_restore", f"--dbname={database}", archive)
                    for more in flags:
                        restored.run("pg_restore", f"--dbname={database}", *more.split(), archive)
                    same(expected, restored.dump())

            step(f"{way}, psql", by_psql)
            step(f"{way}, psql with INSERTs", lambda: by_psql("--column-inserts", "--rows-per-insert=2"))
            step(f"{way}, pg_restore", by_pg_restore)
            step(f"{way}, pg_restore over what is there", lambda: by_pg_restore("--clean --if-exists --single-transaction"))
        with Pgsqlite(roles=False) as later:
            later.psql(LATER.read_text())
            expected = dump_of_later(later)
            for word in WORDS_OF_LATER:
                step(f"a dump has {word}", lambda word=word: present(word, expected))
            step("what later releases have, psql", lambda: restored_alike(later, expected))
    print(f"tests/dump: {tables} tables\n{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
