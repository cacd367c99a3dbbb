"""A database for each test: migrated once, then one copy after the other, each with a short test in it.

A time is that of a whole test: the copy is made, a session connects, inserts a row, counts the rows, and ends, and the copy is removed. The ways take turns, test by test.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import time

from .. import results
from ..targets import BENCH, pgwire, server, until
from . import Context, Profile, Step

#: Tables of the schema that is migrated. Each has a key, an index, a default and a reference.
TABLES = 200
TEST = ("INSERT INTO t1 (name) VALUES ('a row')", "SELECT count(*) FROM t1")


def schema(key: str, moment: str) -> str:
    """Returns the migration; how a key and a moment are declared differs between the databases."""
    first = f"CREATE TABLE t0 (id {key}, name text NOT NULL, at {moment});"
    more = (
        f"CREATE TABLE t{i} (id {key}, name text NOT NULL, at {moment}, other int REFERENCES t0); CREATE INDEX t{i}_name ON t{i} (name);"
        for i in range(1, TABLES)
    )
    return first + "".join(more)


POSTGRESQL = schema("serial PRIMARY KEY", "timestamptz DEFAULT now()")
SQLITE = schema("INTEGER PRIMARY KEY", "text DEFAULT CURRENT_TIMESTAMP")


class Way:
    """A way to give each test a database. `migrate` is called once, `test` for each test; `test` returns how many rows it has counted."""

    target, name = "", ""

    def migrate(self) -> None:
        raise NotImplementedError

    def test(self, number: int) -> int:
        raise NotImplementedError

    def stop(self) -> None:
        """Removes what the way has made."""


def short_test(c: pgwire.Connection) -> int:
    try:
        for statement in TEST:
            rows = c.query(statement)
        return int(rows[0][0])
    finally:
        c.close()


class Clones(Way):
    """The connection option of pgsqlite: the test's session makes the copy and ends it."""

    target, name = "pgsqlite", "pgsqlite.clone"
    # what is migrated, and copied for each test
    template = "migrated"

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="bench-testing.")
        self.server = server.Server("--data-dir", self.folder)

    def connect(self, database: str, **settings: str) -> pgwire.Connection:
        return pgwire.Connection(self.server.dir, self.server.port, "postgres", database, timeout=600, **settings)

    def migrate(self) -> None:
        c = self.connect("postgres")
        c.query(f"CREATE DATABASE {self.template}")
        c.close()
        c = self.connect(self.template)
        c.query(POSTGRESQL)
        c.close()

    def test(self, number: int) -> int:
        return short_test(self.connect(f"test_{number}", **{"pgsqlite.clone": self.template}))

    def stop(self) -> None:
        self.server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Templates(Clones):
    """CREATE DATABASE … TEMPLATE, by a session that stays."""

    name = "CREATE DATABASE … TEMPLATE"
    admin: pgwire.Connection

    def migrate(self) -> None:
        super().migrate()
        self.admin = self.connect("postgres")
        # (the session that has migrated may not be gone yet)
        until(lambda: self.tried(f"CREATE DATABASE first_copy TEMPLATE {self.template}"))
        self.admin.query("DROP DATABASE first_copy")

    def tried(self, statement: str) -> bool:
        try:
            self.admin.query(statement)
            return True
        except RuntimeError as e:
            if str(e).startswith("55006"):  # it is in use
                return False
            raise

    def test(self, number: int) -> int:
        self.admin.query(f"CREATE DATABASE test_{number} TEMPLATE {self.template}")
        counted = short_test(self.connect(f"test_{number}"))
        until(lambda: self.tried(f"DROP DATABASE test_{number}"))
        return counted

    def stop(self) -> None:
        self.admin.close()
        super().stop()


class OfPostgreSQL(Templates):
    """The same on PostgreSQL."""

    target = "postgresql"

    def __init__(self, place) -> None:
        self.place = place

    def connect(self, database: str, **settings: str) -> pgwire.Connection:
        return pgwire.Connection(self.place.host, self.place.port, self.place.user, database, timeout=600, **settings)

    def stop(self) -> None:
        self.admin.query(f"DROP DATABASE {self.template}")
        self.admin.close()


class LikePgtestdb(OfPostgreSQL):
    """As pgtestdb does it: each test has a session of its own that asks under a lock whether there is a template, and one that drops its database."""

    name = "pgtestdb's method"
    # (its own: the other way's may be in use)
    template = "migrated_by_hash"

    def test(self, number: int) -> int:
        c = self.connect("postgres")
        c.query("SELECT pg_advisory_lock(71)")
        there = c.query(f"SELECT EXISTS (SELECT FROM pg_database WHERE datname = '{self.template}')")
        c.query("SELECT pg_advisory_unlock(71)")
        if there != [["t"]]:
            raise RuntimeError("the template is gone")
        c.query(f"CREATE DATABASE hashed_{number} WITH TEMPLATE {self.template} OWNER postgres")
        c.close()
        counted = short_test(self.connect(f"hashed_{number}"))
        c = self.connect("postgres")
        c.query(f"DROP DATABASE hashed_{number} WITH (FORCE)")
        c.close()
        return counted


class OfPglite(Way):
    """`clone()` of a database in the memory of the tests' process."""

    target, name = "pglite", "clone()"

    def __init__(self) -> None:
        command = ["node", str(BENCH / "drivers" / "pglite_copies.mjs")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, what: dict) -> dict:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("PGlite has ended")
        return json.loads(answer)

    def migrate(self) -> None:
        self.ask({"migrate": POSTGRESQL})

    def test(self, number: int) -> int:
        return int(self.ask({"test": TEST})["value"])

    def stop(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Files(Way):
    """A copy of a SQLite file, opened in the tests' process: the floor."""

    target, name = "sqlite", "a copy of the file"

    def __init__(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-testing."))

    def migrate(self) -> None:
        c = sqlite3.connect(self.folder / "migrated.db")
        c.executescript(f"BEGIN; {SQLITE} COMMIT;")
        c.close()

    def test(self, number: int) -> int:
        path = self.folder / f"{number}.db"
        shutil.copyfile(self.folder / "migrated.db", path)
        c = sqlite3.connect(path)
        with c:
            c.execute(TEST[0])
        counted = c.execute(TEST[1]).fetchone()[0]
        c.close()
        os.unlink(path)
        return int(counted)

    def stop(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def each_its_own(context: Context) -> list[dict]:
    ways: list[Way] = []
    times: list[list[int]] = []
    migrations: list[int] = []
    try:
        ways += [Clones(), Templates(), Files()]
        if "postgresql" in context.targets:
            ways += [OfPostgreSQL(context.targets["postgresql"]), LikePgtestdb(context.targets["postgresql"])]
        if "pglite" in context.targets:
            ways.append(OfPglite())
        for way in ways:
            began = time.perf_counter_ns()
            way.migrate()
            migrations.append(time.perf_counter_ns() - began)
            times.append([])
        for number in range(context.profile.tests):
            # (in another order each time)
            for turn in range(len(ways)):
                i = (turn + number) % len(ways)
                began = time.perf_counter_ns()
                counted = ways[i].test(number)
                times[i].append(time.perf_counter_ns() - began)
                if counted != 1:
                    raise RuntimeError(f"{ways[i].name} of {ways[i].target}: a test has seen {counted} rows")
    finally:
        for way in ways:
            way.stop()
    out = []
    for way, migration, taken in zip(ways, migrations, times):
        common = {"mode": way.name, "tables": TABLES}
        out.append(results.from_times("testing", "a database for each test", way.target, "protocol", taken, **common))
        whole = migration + sum(taken)
        out.append(results.single("testing", f"migrate once, then {len(taken)} tests", way.target, "protocol", whole, "ns", migration=migration, **common))
    return out


def steps(profile: Profile) -> list[Step]:
    return [Step("testing", "a database for each test", 4 + profile.tests * 0.6, each_its_own)]
