#!/usr/bin/env python3
"""pgsqlite, PostgreSQL 15 and in-process SQLite side by side; README.md beside this file says how and why.

    tools/oracle.sh python3 bench/run.py [--count N]        (PGHOST names the PostgreSQL)
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import sqlite3
import statistics
import struct
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402

ROWS = 10_000  # in the table before the run
RANGE = 100
SLICE = 50
# operation: (SQL, rows it must return)
STATEMENTS = {
    "insert": ("INSERT INTO b (id, n, s) VALUES ($1, $2, $3) RETURNING id", 1),
    "select key": ("SELECT id, n, s FROM b WHERE id = $1", 1),
    "select range": ("SELECT id, n, s FROM b WHERE id >= $1 AND id < $2", RANGE),
    "update": ("UPDATE b SET n = n + 1 WHERE id = $1", 0),
    "delete": ("DELETE FROM b WHERE id = $1", 0),
}
TYPES = {"insert": [23, 23, 25], "select key": [23], "select range": [23, 23], "update": [23], "delete": [23]}
MODES = ("simple", "prepared text", "prepared binary")


def arguments(operation: str, mode: int, i: int) -> list:
    """The arguments of the i-th execution: each mode has keys of its own."""
    new = 1_000_000 * (mode + 1) + i
    if operation == "insert":
        return [new, i, f"value {i}"]
    if operation == "delete":
        return [new]
    key = (i * 7919) % (ROWS - RANGE)
    return [key, key + RANGE] if operation == "select range" else [key]


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def request(operation: str, mode: str, args: list) -> bytes:
    sql = STATEMENTS[operation][0]
    if mode == "simple":
        for number in range(len(args), 0, -1):
            a = args[number - 1]
            sql = sql.replace(f"${number}", f"'{a}'" if isinstance(a, str) else str(a))
        return message(b"Q", sql.encode() + b"\0")
    binary = mode == "prepared binary"
    body = b"\0" + operation.encode() + b"\0" + struct.pack("!hhh", 1, int(binary), len(args))
    for a in args:
        raw = struct.pack("!i", a) if binary and isinstance(a, int) else str(a).encode()
        body += struct.pack("!i", len(raw)) + raw
    body += struct.pack("!hh", 1, int(binary))
    return message(b"B", body) + message(b"E", b"\0\0\0\0\0") + message(b"S", b"")


READY = b"Z\0\0\0\5I"


class Remote:
    """A server: requests are ready-made bytes, the answer's end is ReadyForQuery."""

    def __init__(self, name: str, connect):
        self.name = name
        self.connections = {}
        for mode in MODES:
            c = connect()
            if mode != "simple":
                for operation, (sql, _) in STATEMENTS.items():
                    types = TYPES[operation]
                    c.sock.sendall(
                        message(b"P", operation.encode() + b"\0" + sql.encode() + b"\0" + struct.pack(f"!h{len(types)}i", len(types), *types))
                        + message(b"S", b"")
                    )
                    self.check(operation, b"".join(k + b for k, b in c.until_ready()))
            self.connections[mode] = c

    @staticmethod
    def check(operation: str, answer: bytes) -> None:
        if answer[:1] == b"E":
            raise SystemExit(f"{operation}: {pgwire.fields_of(answer[1:])}")

    def run(self, operation: str, mode: str, argument_lists: list[list]) -> list[float]:
        sock = self.connections[mode].sock
        requests = [request(operation, mode, a) for a in argument_lists]
        times, answers = [], []
        for r in requests:
            began = time.perf_counter()
            sock.sendall(r)
            answer = sock.recv(65536)
            while not answer.endswith(READY):
                more = sock.recv(65536)
                if not more:
                    raise SystemExit(f"{self.name} closed the connection")
                answer += more
                if answer.endswith(b"Z\0\0\0\5E"):
                    break
            times.append(time.perf_counter() - began)
            answers.append(answer)
        for answer in answers:
            rows, at = 0, 0
            while at < len(answer):
                if answer[at : at + 1] == b"E":
                    raise SystemExit(f"{self.name}, {operation}, {mode}: {pgwire.fields_of(answer[at + 5 :])}")
                rows += answer[at : at + 1] == b"D"
                at += 1 + struct.unpack_from("!i", answer, at + 1)[0]
            if rows != STATEMENTS[operation][1]:
                raise SystemExit(f"{self.name}, {operation}, {mode}: {rows} rows")
        return times


class Local:
    """SQLite in this process, the floor."""

    name = "sqlite"

    def __init__(self, path: str):
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=FULL")
        self.db.execute("CREATE TABLE b (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, s TEXT NOT NULL)")
        with self.db:
            self.db.executemany("INSERT INTO b VALUES (?, ?, ?)", [(i, i, f"row {i}") for i in range(ROWS)])

    def run(self, operation: str, mode: str, argument_lists: list[list]) -> list[float]:
        sql = STATEMENTS[operation][0].replace("$", "?")
        times = []
        for a in argument_lists:
            began = time.perf_counter()
            rows = self.db.execute(sql, a).fetchall()
            times.append(time.perf_counter() - began)
            if len(rows) != STATEMENTS[operation][1]:
                raise SystemExit(f"sqlite, {operation}: {len(rows)} rows")
        return times


def prepare(connect) -> None:
    c = connect()
    c.query("CREATE TABLE b (id int PRIMARY KEY, n int NOT NULL, s text NOT NULL)")
    for first in range(0, ROWS, 1000):
        c.query("INSERT INTO b VALUES " + ",".join(f"({i}, {i}, 'row {i}')" for i in range(first, first + 1000)))
    c.close()


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--count", type=int, default=1000)
    a = args.parse_args()
    with tempfile.TemporaryDirectory() as directory, server.Server() as s:

        def here():
            return pgwire.Connection(s.dir, s.port, "postgres", "main")

        def there():
            return pgwire.from_environment("postgres")

        fsync, commit = there().query("SELECT current_setting('fsync'), current_setting('synchronous_commit')")[0]
        if (fsync, commit) != ("on", "on"):
            raise SystemExit("PostgreSQL must run with fsync and synchronous_commit on")
        for connect in (here, there):
            prepare(connect)
        targets = [Remote("pgsqlite", here), Remote("postgresql", there), Local(os.path.join(directory, "floor.db"))]
        times: dict[tuple, list[float]] = {}
        for operation in STATEMENTS:
            for first in range(0, a.count, SLICE):
                for number, mode in enumerate(MODES):
                    lists = [arguments(operation, number, i) for i in range(first, min(first + SLICE, a.count))]
                    for t in targets:
                        times.setdefault((operation, mode, t.name), []).extend(t.run(operation, mode, lists))
    results = []
    print(f"{'':32}{'pgsqlite':>24}{'postgresql':>24}{'sqlite':>24}   median vs.")
    print(f"{'µs':32}" + f"{'median    p95    p99':>24}" * 3 + "   PostgreSQL")
    for operation in STATEMENTS:
        for mode in MODES:
            line, medians = f"{operation + ', ' + mode:32}", []
            for name in ("pgsqlite", "postgresql", "sqlite"):
                t = sorted(times[operation, mode, name])
                mid, p95, p99 = (1e6 * x for x in (statistics.median(t), t[int(len(t) * 0.95)], t[int(len(t) * 0.99)]))
                medians.append(mid)
                line += f"{mid:>10.1f}{p95:>7.0f}{p99:>7.0f}"
                results.append({"operation": operation, "mode": mode, "target": name, "median_us": mid, "p95_us": p95, "p99_us": p99})
            print(f"{line}   {medians[0] / medians[1]:.2f}x")
    out = ROOT / ".results" / "bench.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps({"count": a.count, "binary": server.binary(), "machine": platform.machine(), "cpus": os.cpu_count(), "results": results}, indent=1))
    print(f"written to {out.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
