#!/usr/bin/env python3
"""A standby of a folder of databases: it follows those that are there and those that come, and all are promoted together."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "litestream"))
sys.path.insert(0, str(HERE))
import kills  # noqa: E402
import pgwire  # noqa: E402
import server  # noqa: E402


class Folder(kills.Node):
    """A server of a folder."""

    def start_server(self) -> None:
        os.makedirs(f"{self.dir}/data", exist_ok=True)
        self.server = server.Server("--data-dir", f"{self.dir}/data", *self.flags, directory=self.dir)

    def ask(self, database: str, *statements: str) -> str:
        """The first value of the last statement, or the error; waits until the database is there."""
        deadline = time.monotonic() + kills.PATIENCE
        while True:
            try:
                connection = pgwire.Connection(self.dir, 5432, "postgres", database)
                break
            except (pgwire.StartupError, OSError) as e:
                if time.monotonic() > deadline:
                    return str(e)
            time.sleep(0.1)
        try:
            rows = [connection.query(statement) for statement in statements][-1]
            return rows[0][0] if rows else ""
        except RuntimeError as e:
            return str(e)
        finally:
            connection.close()

    def comes_to(self, database: str, statement: str, wanted: str) -> str:
        deadline = time.monotonic() + kills.PATIENCE
        while (found := self.ask(database, statement)) != wanted and time.monotonic() < deadline:
            time.sleep(0.1)
        return found


def follow(by_stream: bool) -> list[str]:
    """`by_stream`: over a connection; else by an archive."""
    problems: list[str] = []

    def expect(what: str, found: object, wanted: object) -> None:
        if found != wanted:
            problems.append(f"{what}: {found!r}, not {wanted!r}")

    with tempfile.TemporaryDirectory(prefix="pgsqlite-standby.") as folder:
        feeds = ("--max-wal-senders", "10") if by_stream else ("--archive", f"file:{folder}/archive")
        source = f"postgresql://postgres@/?host={folder}/a" if by_stream else f"file:{folder}/archive"
        primary, standby = Folder(f"{folder}/a", *feeds), Folder(f"{folder}/b", "--standby", source)
        try:
            standby.start_server()
            primary.start_server()
            primary.ask("postgres", "CREATE DATABASE one", "CREATE ROLE clerk")
            primary.ask("one", "CREATE TABLE t AS SELECT 1 AS i")
            expect("the first", standby.comes_to("one", "SELECT i FROM t", "1"), "1")
            primary.ask("postgres", "CREATE DATABASE two")
            primary.ask("two", "CREATE TABLE t AS SELECT 2 AS i")
            expect("one that comes", standby.comes_to("two", "SELECT i FROM t", "2"), "2")
            expect("a new one", standby.ask("one", "CREATE DATABASE three"), "25006 cannot execute CREATE DATABASE in a read-only transaction")
            expect("all", standby.comes_to("postgres", "SELECT string_agg(datname, ',' ORDER BY datname) FROM pg_database WHERE NOT datistemplate", "one,postgres,two"), "one,postgres,two")
            standby.end(signal.SIGKILL)
            primary.ask("one", "INSERT INTO t VALUES (11)")
            standby.start_server()
            expect("after a kill", standby.comes_to("one", "SELECT sum(i) FROM t", "12"), "12")
            if by_stream:
                # standbys are no users of a database
                for ended in ("standby", "primary"):
                    primary.ask("postgres", "CREATE DATABASE gone")
                    primary.ask("gone", "CREATE TABLE t AS SELECT 3 AS i")
                    expect("one that will go", standby.comes_to("gone", "SELECT i FROM t", "3"), "3")
                    expect("it goes", primary.ask("postgres", "DROP DATABASE gone"), "")
                    expect("what the standby has of it stays", standby.ask("gone", "SELECT i FROM t"), "3")
                    if ended == "standby":
                        # (made again, it is another one)
                        primary.ask("postgres", "CREATE DATABASE gone")
                        expect("one that is made again", standby.comes_to("gone", "SELECT to_regclass('t') IS NULL", "t"), "t")
                        expect("it goes again", primary.ask("postgres", "DROP DATABASE gone"), "")
                expect("the others", primary.ask("one", "SELECT count(*) FROM pg_stat_replication"), "1")
                row = "SELECT status || ' ' || (conninfo LIKE '%host=%dbname=%' OR conninfo LIKE '%dbname=%host=%') FROM pg_stat_wal_receiver"
                expect("the receiver", standby.ask("one", row), "streaming true")
            primary.ask("two", "INSERT INTO t VALUES (22)")
            primary.end(signal.SIGTERM)
            done = subprocess.run([server.binary(), "promote", f"{standby.dir}/data"], capture_output=True, text=True)
            expect("pgsqlite promote", (done.returncode, done.stderr), (0, ""))
            for database, total in (("one", "12"), ("two", "24")):
                expect(f"{database} is promoted", standby.comes_to(database, "SELECT NOT pg_is_in_recovery()", "t"), "t")
                expect(f"{database} has all", standby.ask(database, "SELECT sum(i) FROM t"), total)
                expect(f"{database} may be written", standby.ask(database, "INSERT INTO t VALUES (1)"), "")
            expect("a new one after the promotion", standby.ask("one", "CREATE DATABASE three"), "")
            standby.end(signal.SIGKILL)
            # (it needs the archive no more)
            shutil.rmtree(f"{folder}/archive", ignore_errors=True)
            standby.start_server()
            expect("after a restart", standby.ask("two", "INSERT INTO t VALUES (1)", "SELECT sum(i) FROM t"), "26")
            expect("the new one after a restart", standby.ask("three", "SELECT pg_is_in_recovery()"), "f")
        finally:
            for node in (primary, standby):
                node.end(signal.SIGTERM)
                if problems:
                    print(pathlib.Path(node.dir, "server.log").read_text()[-1500:])
    return problems


def main() -> None:
    problems = [f"{'by stream' if by_stream else 'by archive'}: {p}" for by_stream in (False, True) for p in follow(by_stream)]
    print("\n".join(problems))
    print(f"folder: {len(problems)} problems")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
