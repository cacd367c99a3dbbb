#!/usr/bin/env python3
"""Transactions are whole or not there, whatever happens to them: cancel requests, clients that are cut off within a message, calls that fail.

    whole.py [--seed N] [--groups N] [--faults N] [--seconds S]

Each transaction writes a group of rows that say how many they are; some write rows with a negative number, which they take back. After that every group is there as a
whole or not at all, those that were acknowledged are there, and negative ones are not. `--faults`: so many servers of which one call that changes
the database's files fails (EIO, a full disk, half of a write; tests/faults/shim.c), most of them at a COMMIT; then plain SQLite looks, too.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import shutil
import sqlite3
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE.parent / "faults"))

import pgwire  # noqa: E402
import record  # noqa: E402
import server  # noqa: E402
from messages import CLIENT  # noqa: E402

SETUP = """
CREATE TABLE pa (i int PRIMARY KEY); INSERT INTO pa VALUES (1);
CREATE TABLE whole (g int NOT NULL, size int NOT NULL, pad text);
CREATE TABLE ch (i int REFERENCES pa DEFERRABLE INITIALLY DEFERRED);
CREATE PROCEDURE two(int, int, int) LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO whole SELECT $1, $3, 'x' FROM generate_series(1, $3); COMMIT; INSERT INTO whole SELECT $2, $3, 'x' FROM generate_series(1, $3); END $$;
"""
#: what is not whole
PARTS = "SELECT g, count(*), min(size) FROM whole GROUP BY g HAVING count(*) <> min(size) OR g < 0"


class Violation(Exception):
    """What must not be."""


def query(sql: str) -> bytes:
    return CLIENT["Query"](sql)


def executed(sql: str) -> bytes:
    return CLIENT["Parse"]("", sql) + CLIENT["Bind"]() + CLIENT["Execute"]()


def transaction(chance: random.Random, g: int) -> tuple[list[bytes], list[int]]:
    """Its writes, and the groups that are there when all is answered without an error."""
    n = chance.randint(2, 5)
    pad = chance.choice(("x", "repeat('y', 3000)"))
    pad = f"'{pad}'" if pad == "x" else pad
    row = f"INSERT INTO whole VALUES ({g}, {n}, {pad})"
    rows = [row] * n
    undone = f"INSERT INTO whole VALUES ({-g}, {n}, {pad})"
    sync = CLIENT["Sync"]()
    match chance.randint(0, 11):
        case 0:
            return [query(";".join(rows))], [g]
        case 1:
            return [query(";".join(["BEGIN", *rows, "COMMIT"]))], [g]
        case 2:
            return [query(s) for s in ("BEGIN", *rows, "COMMIT")], [g]
        case 3:
            return [b"".join(query(s) for s in ("BEGIN", *rows, "COMMIT"))], [g]
        case 4:
            return [b"".join(executed(s) for s in rows) + sync], [g]
        case 5:
            lines = [CLIENT["CopyData"](f"{g}\t{n}\tx\n") for _ in range(n)]
            return [query("COPY whole FROM STDIN"), b"".join(lines[:1]), b"".join(lines[1:]) + CLIENT["CopyDone"]()], [g]
        case 6:
            return [query(f"CALL two({g}, {g + 1}, {n})")], [g, g + 1]
        case 7:
            steps = ["BEGIN", "SAVEPOINT a", undone, "SAVEPOINT b", undone, "RELEASE b", "ROLLBACK TO a", *rows, "SAVEPOINT c", "RELEASE c", "COMMIT"]
            return [query(s) for s in steps] if chance.random() < 0.5 else [b"".join(executed(s) + sync for s in steps)], [g]
        case 8:
            return [query(";".join([undone, undone, "SELECT 1 / 0"]))], []
        case 9:
            return [executed(undone) + executed("INSERT INTO ch VALUES (7)") + sync], []
        case 10:
            return [query(f"DO $$ BEGIN {';'.join(rows)}; BEGIN {undone}; RAISE 'no'; EXCEPTION WHEN OTHERS THEN NULL; END; END $$")], [g]
        case _:
            return [query(f"INSERT INTO whole SELECT {g}, {n}, {pad} FROM generate_series(1, {n})")], [g]


class Run:
    def __init__(self, running: server.Server, chance: random.Random, faulty: bool):
        self.server, self.random, self.faulty = running, chance, faulty
        self.acknowledged: set[int] = set()
        #: negative ones are never there; of these it is not known
        self.g = 0
        self.c: pgwire.Connection | None = None

    def connect(self, name: str = "talker") -> pgwire.Connection:
        return pgwire.Connection(self.server.dir, self.server.port, "postgres", "main", application_name=name)

    def step(self) -> None:
        """One transaction."""
        self.g += 2
        writes, groups = transaction(self.random, self.g)
        self.c = self.c or self.connect()
        kind = self.random.random()
        cut = self.random.randrange(len(writes)) if kind < 0.3 else None
        canceller = None
        if 0.3 <= kind < 0.6:
            canceller = threading.Timer(self.random.choice((0, 0.0003, 0.001, 0.003, 0.01)), self.c.cancel)
            canceller.start()
        try:
            messages: list = []
            for i, write in enumerate(writes):
                if i == cut:
                    self.c.sock.sendall(write[: self.random.choice((len(write), len(write), self.random.randint(0, len(write))))])
                    time.sleep(self.random.choice((0, 0, 0.0005, 0.002, 0.01)))
                    self.c.sock.close()
                    self.c = None
                    return
                self.c.sock.sendall(write)
                messages += self.read(write, i, writes)
                if self.copies(writes) and messages[-1] == (b"Z", b"I"):
                    # (it was refused: nothing answers to its data)
                    break
            ended = messages[-1] == (b"Z", b"I")
            failed = any(k == b"E" for k, _ in messages) or (b"C", b"ROLLBACK\0") in messages[-3:]
            if ended and not failed:
                self.acknowledged |= set(groups)
            if not ended or failed:
                self.c.simple("ROLLBACK")
        except TimeoutError as e:
            raise Violation("no answer comes") from e
        except (pgwire.ServerGone, OSError):
            if not self.faulty:
                raise
            self.c = None
        finally:
            if canceller:
                canceller.join()

    def read(self, write: bytes, i: int, writes: list[bytes]) -> list:
        """The answers to one write."""
        assert self.c
        if self.copies(writes) and 0 < i < len(writes) - 1:
            return []
        waits = write.count(CLIENT["Sync"]()) or self.queries(write) or 1
        out: list = []
        while waits:
            kind, body = self.c.receive()
            out.append((kind, body))
            if kind == b"Z":
                waits -= 1
            elif kind == b"G":
                return out
        return out

    @staticmethod
    def copies(writes: list[bytes]) -> bool:
        return b"FROM STDIN" in writes[0]

    @staticmethod
    def queries(write: bytes) -> int:
        n = at = 0
        while at < len(write):
            n += write[at : at + 1] == b"Q"
            at += 1 + int.from_bytes(write[at + 1 : at + 5], "big")
        return n

    def check(self, c: pgwire.Connection) -> None:
        deadline = time.monotonic() + 20
        while self.c is None and c.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'talker'") != [["0"]]:
            if time.monotonic() > deadline:
                raise Violation("a session stays although its client is gone")
            time.sleep(0.002)
        parts = c.query(PARTS)
        if parts:
            raise Violation(f"there in part: {parts}")
        self.is_there({int(g or 0) for (g,) in c.query("SELECT DISTINCT g FROM whole")})

    def is_there(self, there: set[int]) -> None:
        if self.acknowledged - there:
            raise Violation(f"acknowledged and not there: {sorted(self.acknowledged - there)}")


def play(seed: int, groups: int) -> int:
    """How many groups were acknowledged."""
    with server.Server() as running:
        run = Run(running, random.Random(f"{seed} whole"), False)
        admin = run.connect("looker")
        admin.query(SETUP)
        for i in range(groups):
            run.step()
            if i % 10 == 9:
                run.check(admin)
        run.check(admin)
        admin.close()
    return len(run.acknowledged)


def play_faulty(seed: int) -> str:
    """One server with one fault. What came of it."""
    chance = random.Random(f"{seed} faulty")
    kind, count, only, names, most = chance.choice((
        ("eio", 1, "Y", "main.db-wal", 60), ("eio", 1, "W", "main.db-wal", 120), ("enospc", 1, "W", "main.db-wal", 120), ("short", 1, "W", "main.db-wal", 120),
        ("enospc", 20, "W", "main.db-wal", 120), ("enospc", 1000000, "W", "", 200), ("eio", 1, "", "", 200),
    ))  # fmt: skip
    folder = tempfile.mkdtemp(prefix="pgsqlite-whole.")
    data = os.path.join(folder, "data")
    os.mkdir(data)
    try:
        path = os.path.join(data, "main.db")
        with server.Server(directory=folder, database=path) as first:
            c = pgwire.Connection(first.dir, first.port, "postgres", "main")
            c.query(SETUP)
            c.close()
        fault = f"{chance.randint(10, most)} {kind} {count}"
        environment = {"LD_PRELOAD": record.shim(folder), "FAULTS_ROOT": data, "FAULTS_SYNC": "300", "FAULTS_FAIL": fault, "FAULTS_ONLY": only, "FAULTS_NAMES": names}
        os.environ.update(environment)
        try:
            running = server.Server(directory=folder, database=path)
        finally:
            for key in environment:
                del os.environ[key]
        run = Run(running, chance, True)
        refused = False
        try:
            for _ in range(60):
                try:
                    run.step()
                except pgwire.StartupError:
                    refused = True
                    break
            if running.process.poll() is not None:
                raise Violation(f"{fault}: the server is gone: {running.log_text()}")
            try:
                looker = run.connect("looker")
                if run.c:
                    run.c.close()
                    run.c = None
                run.check(looker)
            except (pgwire.StartupError, pgwire.ServerGone, RuntimeError):
                refused = True
        finally:
            running.kill()
            running.stop()
        with sqlite3.connect(path) as db:
            if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                raise Violation(f"{fault}: integrity_check")
            parts = db.execute(PARTS).fetchall()
            if parts:
                raise Violation(f"{fault}: there in part: {parts}")
            run.is_there({g for (g,) in db.execute("SELECT DISTINCT g FROM whole")})
        return "refused" if refused else "went on"
    except Violation as e:
        raise Violation(f"{fault} of {only or 'all'} {names}: {e}") from e
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--groups", type=int, default=400)
    args.add_argument("--faults", type=int, default=10)
    args.add_argument("--seconds", type=float, default=0, help="go on with other seeds for so long")
    a = args.parse_args()
    began = time.monotonic()
    failed = acknowledged = played = 0
    seed = a.seed
    while True:
        try:
            acknowledged += play(seed, a.groups)
        except (Violation, pgwire.ServerGone, TimeoutError, RuntimeError) as e:
            failed += 1
            print(f"tests/session: whole, seed {seed}: {type(e).__name__} {e}", flush=True)
        for i in range(a.faults):
            try:
                play_faulty(seed * 1000 + i)
            except (Violation, RuntimeError) as e:
                failed += 1
                print(f"tests/session: whole, seed {seed * 1000 + i}: {type(e).__name__} {e}", flush=True)
            played += 1
        seed += 1
        if time.monotonic() - began >= a.seconds or failed >= 5:
            break
    print(
        f"tests/session: whole, {(seed - a.seed) * a.groups} transactions, {acknowledged} groups acknowledged, {played} faults,"
        f" {failed} failed, {time.monotonic() - began:.0f} s"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
