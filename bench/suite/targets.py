"""Who is measured: pgsqlite, and beside it PostgreSQL 15, SQLite in the process, PGlite.

Each starts in a folder of its own, with the table `b` of ROWS rows, and is stopped at the end. All write durably, as far as they
can: what each promises is said in `durability` and shown in the report.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402

BENCH = ROOT / "bench"
#: rows in table `b` before a run; keys up to this are never deleted
ROWS = 10_000
SCHEMA = "CREATE TABLE b (id int PRIMARY KEY, n int NOT NULL, s text NOT NULL)"

TURSO = (
    "Turso's PostgreSQL mode is a server program (tursopg) that is built from its repository: crates.io has its parser only "
    "(turso_pg_parser), the packages turso and limbo of crates.io, pyturso of PyPI and @tursodatabase/database of npm are the "
    "in-process database without it"
)


class Target:
    """A server of the PostgreSQL protocol. `host` is a socket's folder or an address."""

    name = ""
    durability = ""
    #: sessions that it can serve at once
    most_clients = 10_000
    #: COPY … FROM STDIN and TO STDOUT work
    copies = True
    #: seconds without a byte after which it is given up
    patience = 600.0
    host, port, user, database = "", 5432, "postgres", "main"

    def connect(self, **settings: str) -> pgwire.Connection:
        return pgwire.Connection(self.host, self.port, self.user, self.database, timeout=self.patience, **settings)

    def place(self) -> dict:
        """For the load generator."""
        return {"name": self.name, "server": {"host": self.host, "port": self.port, "user": self.user, "database": self.database}}

    def address(self) -> dict:
        """For drivers."""
        return {"name": self.name, "host": self.host, "port": self.port, "user": self.user, "database": self.database}

    def prepare(self) -> None:
        c = self.connect()
        c.query(SCHEMA)
        for first in range(0, ROWS, 1000):
            c.query("INSERT INTO b VALUES " + ",".join(f"({i}, {i}, 'row {i}')" for i in range(first, first + 1000)))
        c.close()

    def version(self) -> str:
        c = self.connect()
        try:
            return c.query("SELECT version()")[0][0] or ""
        finally:
            c.close()

    def sql(self, text: str) -> list:
        """Runs statements in a session of their own."""
        c = self.connect()
        try:
            return c.query(text)
        finally:
            c.close()

    def stop(self) -> None:
        pass


class Pgsqlite(Target):
    name = "pgsqlite"
    durability = "each commit is on disk before it is acknowledged (synchronous_commit = on)"

    def __init__(self, *flags: str):
        self.server = server.Server("--max-connections", "10000", *flags)
        self.host, self.port = self.server.dir, self.server.port
        self.pid = self.server.process.pid

    def stop(self) -> None:
        self.server.stop()


class Unpooled(Pgsqlite):
    """pgsqlite with a SQLite connection for each session: what the pool is measured against, in a step of its own."""

    name = "no pool"

    def __init__(self) -> None:
        super().__init__("--use-pooling", "false")


class PostgreSQL(Target):
    """The one that PGHOST names (tools/oracle.sh starts it)."""

    name = "postgresql"
    durability = "each commit is on disk before it is acknowledged (fsync and synchronous_commit = on)"
    most_clients = 250

    def __init__(self) -> None:
        if "PGHOST" not in os.environ:
            raise RuntimeError("PGHOST names no PostgreSQL: run under tools/oracle.sh")
        self.host, self.port = os.environ["PGHOST"], int(os.environ.get("PGPORT", "5432"))
        self.user, self.database = os.environ.get("PGUSER", "postgres"), "bench"
        own = pgwire.from_environment("postgres")
        fsync, commit = own.query("SELECT current_setting('fsync'), current_setting('synchronous_commit')")[0]
        if (fsync, commit) != ("on", "on"):
            raise RuntimeError("PostgreSQL must run with fsync and synchronous_commit on")
        own.query("DROP DATABASE IF EXISTS bench")
        own.query("CREATE DATABASE bench")
        own.close()

    def prepare(self) -> None:
        super().prepare()
        self.sql("VACUUM ANALYZE b")


class Pglite(Target):
    """PGlite with its files in a folder, behind its own socket server: one session at a time."""

    name = "pglite"
    durability = "files are written, but there is no fsync: less than the others promise"
    most_clients = 1
    copies = False
    patience = 30.0
    database = "postgres"

    def __init__(self) -> None:
        if not (BENCH / "node_modules" / "@electric-sql" / "pglite").is_dir():
            raise RuntimeError("its npm package is not installed: `make build/bench/done`")
        self.host = tempfile.mkdtemp(prefix="bench-pglite.")
        command = ["node", str(BENCH / "drivers" / "pglite.mjs"), f"{self.host}/data", f"{self.host}/.s.PGSQL.5432"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            error = self.process.stderr.read()
            self.stop()
            raise RuntimeError(f"it did not start: {error[-300:]}")
        self.pid = self.process.pid

    def stop(self) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.host, ignore_errors=True)


class Sqlite(Target):
    """SQLite in the client's process: the floor, not a rival."""

    name = "sqlite"
    durability = "each commit is on disk before it returns (WAL, synchronous = FULL)"

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="bench-sqlite.")
        self.path = f"{self.folder}/floor.db"

    def place(self) -> dict:
        return {"name": self.name, "sqlite": {"path": self.path}}

    def open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, isolation_level=None)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        return db

    def prepare(self) -> None:
        db = self.open()
        db.execute("BEGIN")
        db.execute(SCHEMA.replace("int PRIMARY", "INTEGER PRIMARY"))
        db.executemany("INSERT INTO b VALUES (?, ?, ?)", [(i, i, f"row {i}") for i in range(ROWS)])
        db.execute("COMMIT")
        db.close()

    def sql(self, text: str) -> list:
        db = self.open()
        rows = []
        for statement in filter(None, (s.strip() for s in text.split(";"))):
            rows = db.execute(statement).fetchall()
        db.close()
        return rows

    def version(self) -> str:
        return f"SQLite in the load generator (the build that pgsqlite links), {sqlite3.sqlite_version} in Python"

    def stop(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def of_one_step(run, kind: type[Target]):
    """A target that only one step measures, started and prepared."""
    target = kind()
    try:
        target.prepare()
        run.targets[target.name] = {"version": target.version(), "durability": target.durability}
        yield target
    finally:
        target.stop()


KINDS = {t.name: t for t in (Pgsqlite, PostgreSQL, Sqlite, Pglite)}


class Targets:
    """The targets of a run, started and prepared; a rival that cannot be had is noted, pgsqlite must be there."""

    def __init__(self, run, names: list[str]):
        self.all: dict[str, Target] = {}
        run.skip("turso", TURSO)
        try:
            for name in names:
                try:
                    target = KINDS[name]()
                except Exception as e:
                    if name == "pgsqlite":
                        raise
                    run.skip(name, str(e))
                    continue
                self.all[name] = target
                target.prepare()
                run.targets[name] = {"version": target.version(), "durability": target.durability}
        except BaseException:
            self.stop()
            raise

    def servers(self, clients: int = 1) -> list[Target]:
        return [t for t in self.all.values() if t.most_clients >= clients and not isinstance(t, Sqlite)]

    def every(self, clients: int = 1) -> list[Target]:
        return [t for t in self.all.values() if t.most_clients >= clients]

    def __getitem__(self, name: str) -> Target:
        return self.all[name]

    def __contains__(self, name: str) -> bool:
        return name in self.all

    def stop(self) -> None:
        for target in self.all.values():
            target.stop()

    def __enter__(self) -> "Targets":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def until(what, seconds: float = 20):
    """Waits for `what()` to be true."""
    deadline = time.monotonic() + seconds
    while not what():
        if time.monotonic() > deadline:
            raise RuntimeError("it took too long")
        time.sleep(0.001)
