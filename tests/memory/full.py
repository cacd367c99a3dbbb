#!/usr/bin/env python3
"""A disk that is really full: a statement ends with 53100, and nothing that was acknowledged is lost.

    full.py [--verbose]

The server runs on two small file systems in memory (tmpfs), one for SQLite's temporary files and one for the database. Only root may
mount them: where that cannot be done, nothing is tested and the test says so.

1. Sorts, DISTINCT, GROUP BY and indexes need more temporary files than their disk has room for. Afterwards everything works that needs none.
2. Rows are stored until the disk of the database is full. The rows that were acknowledged are there, also after kill -9; reading goes on, and
   writing goes on as soon as there is room.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402

MIB = 32
#: More than the disk holds; each row is different.
ROWS = "(SELECT g, md5(g::text) || repeat('x', 1000) AS s FROM generate_series(1, 60000) g) r"
SORTS = {
    "ORDER BY": f"SELECT count(*) FROM (SELECT s FROM {ROWS} ORDER BY s OFFSET 10) x",
    "DISTINCT": f"SELECT count(*) FROM (SELECT DISTINCT s FROM {ROWS}) x",
    "count(DISTINCT)": f"SELECT count(DISTINCT s) FROM {ROWS}",
    "GROUP BY": f"SELECT count(*) FROM (SELECT s, count(*) FROM {ROWS} GROUP BY s) x",
    "UNION": f"SELECT count(*) FROM (SELECT s FROM {ROWS} UNION SELECT 'x') x",
    "temporary table": f"CREATE TEMP TABLE x AS SELECT s FROM {ROWS}",
    "RETURNING": f"INSERT INTO t SELECT 100 + g, s FROM {ROWS} RETURNING s",
}


class SmallDisk:
    """A tmpfs of some MiB. Raises PermissionError where it cannot be mounted."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="pgsqlite-full.")
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={MIB}m", "tmpfs", self.path], capture_output=True, text=True)
        if done.returncode:
            os.rmdir(self.path)
            raise PermissionError(done.stderr.strip())

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *_: object) -> None:
        # (lazily: a process that is being killed may still have a file open)
        subprocess.run(["umount", "-l", self.path], check=True)
        os.rmdir(self.path)


def state(c: pgwire.Connection, sql: str) -> str:
    """The SQLSTATE that a query string ends with, or ""."""
    for kind, body in c.simple(sql):
        if kind == b"E":
            return pgwire.fields_of(body)["C"]
    return ""


def temporary_files(verbose: bool) -> list[str]:
    wrong = []
    with SmallDisk() as folder:
        os.environ["SQLITE_TMPDIR"] = folder
        try:
            s = server.Server()
        finally:
            del os.environ["SQLITE_TMPDIR"]
        with s:
            c = pgwire.Connection(s.dir, s.port, "postgres", "postgres", timeout=300)
            c.query("CREATE TABLE t (i int PRIMARY KEY, s text)")
            c.query("INSERT INTO t VALUES (1, 'one')")
            full = 0
            for name, sql in SORTS.items():
                code = state(c, sql)
                if verbose:
                    print(f"{name}: {code or 'answered'}", flush=True)
                full += code == "53100"
                if code not in ("53100", ""):
                    wrong.append(f"{name} ends with {code}")
                if code and c.query("SELECT * FROM t") != [["1", "one"]]:
                    wrong.append(f"after {name}: {c.query('SELECT * FROM t')}")
                c.query("DELETE FROM t WHERE i > 1")
            if not full:
                wrong.append("no statement met a full disk")
            # in a block, a savepoint brings back what was before; or the whole block is lost, and says so
            codes = [state(c, sql) for sql in ("BEGIN", "INSERT INTO t VALUES (2, 'two')", "SAVEPOINT a", SORTS["ORDER BY"], "ROLLBACK TO a")]
            end = [body for kind, body in c.simple("COMMIT") if kind == b"C"]
            if verbose:
                print(f"in a block: {codes}, {end}", flush=True)
            if codes[:4] != ["", "", "", "53100"] or end != [b"ROLLBACK\0" if codes[4] else b"COMMIT\0"]:
                wrong.append(f"in a block: {codes}, {end}")
            if c.query("SELECT count(*) FROM t") != [["1" if codes[4] else "2"]]:
                wrong.append("a block is half there")
            c.close()
    return wrong


def database(verbose: bool) -> list[str]:
    wrong = []
    with SmallDisk() as folder:
        file = os.path.join(folder, "main.db")
        filler = pathlib.Path(folder, "filler")
        filler.write_bytes(b"x" * (4 << 20))
        with server.Server(database=file) as s:
            c = pgwire.Connection(s.dir, s.port, "postgres", "main", timeout=300)
            c.query("CREATE TABLE t (i int PRIMARY KEY, s text)")
            stored, code = 0, ""
            while not code and stored < 10000:
                code = state(c, f"INSERT INTO t VALUES ({stored}, repeat('x', 20000))")
                stored += not code
            if verbose:
                print(f"{stored} rows, then {code}", flush=True)
            if code != "53100":
                wrong.append(f"on a full disk an INSERT ends with {code or 'no error'}")
            if c.query("SELECT count(*), min(length(s)) FROM t") != [[str(stored), "20000"]]:
                wrong.append(f"{stored} rows are acknowledged, not {c.query('SELECT count(*) FROM t')}")
            s.kill()
        filler.unlink()
        with server.Server(database=file) as s:
            c = pgwire.Connection(s.dir, s.port, "postgres", "main", timeout=300)
            if c.query("SELECT count(*), min(length(s)) FROM t") != [[str(stored), "20000"]]:
                wrong.append(f"after a crash {stored} rows are not there")
            code = state(c, "INSERT INTO t VALUES (-1, 'small'); DELETE FROM t WHERE i >= 0")
            if code:
                wrong.append(f"with room again, writing ends with {code}")
            c.close()
    return wrong


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--verbose", action="store_true")
    a = args.parse_args()
    try:
        with SmallDisk():
            pass
    except (PermissionError, FileNotFoundError) as e:
        print(f"skipped: a file system cannot be mounted here ({e})")
        return 0
    failed = 0
    for test in (temporary_files, database):
        wrong = test(a.verbose)
        failed += bool(wrong)
        for line in wrong:
            print(f"FAILED: {test.__name__}: {line}")
    print(f"{2 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
