#!/usr/bin/env python3
"""Statements that are ended at a random moment, in savepoints, over values of 10 bytes to many megabytes: nothing of them is left, and all else is.

    python3 tests/session/interrupted.py                                     # a fixed seed, part of `make test`
    python3 tests/session/interrupted.py --seed 100000 --seconds 600         # part of `make test-slow`

One session makes transactions of a few statements, each in a savepoint with a statement_timeout of 1 to 400 ms: rows are inserted, updated and
deleted in two tables, the second of which may be temporary (--temporary), tables are made and dropped, all values are read and compared. A statement that is ended must
answer 57014, whatever SQLite did at that moment: it read or wrote a page of the value, took memory for it, sorted it, or took a definition
back. A model has what was acknowledged. It is compared with what the session sees behind ROLLBACK TO and COMMIT, with what another session
sees, and at the end with what plain SQLite reads, which checks the file.

SQLite takes the whole transaction back when it has to stop within a write. The server makes it again up to the savepoint. It cannot do that
in a session that has temporary tables, nor for a transaction that has defined something or run COPY: then ROLLBACK TO answers 3B001 and says why, and the
transaction is over.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import sqlite3
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import pgwire  # noqa: E402
import server  # noqa: E402

SETUP = """CREATE TABLE kept (id int PRIMARY KEY, n int, s text); CREATE INDEX ON kept (n);
CREATE {kind} TABLE second (id int PRIMARY KEY, n int, s text)"""
TABLES = ("kept", "second")
TIMEOUTS = (1, 3, 10, 30, 60, 100, 200, 400)
# What COPY, CREATE TABLE AS and the like would need beside the rows has room below the server's memory limit.
MOST_BYTES = 200_000_000

# (table, id) → (n, length of s)
Rows = dict[tuple[str, int], tuple[int, int]]


class Refused(Exception):
    def __init__(self, fields: dict[str, str]):
        super().__init__(f"{fields['C']} {fields['M']} {fields.get('D', '')}")
        self.code, self.detail = fields["C"], fields.get("D", "")


class Player:
    def __init__(self, connect, seed: int, sizes: list[int], temporary: bool):
        self.session, self.other = connect(), connect()
        self.random = random.Random(seed)
        self.temporary = temporary
        self.shared = TABLES[:1] if self.temporary else TABLES
        self.sizes = sizes
        self.rows: Rows = {}
        self.made = 0
        self.acknowledged = self.ended = self.lost = 0
        # what the current transaction has sent, and what it was answered
        self.sent: list[str] = []
        self.run(SETUP.format(kind="TEMP" if self.temporary else ""))

    def run(self, sql: str) -> None:
        self.sent.append(sql)
        sql, _, rows = sql.partition("\n") if sql.startswith("COPY") else (sql, "", "")
        for kind, body in self.session.simple(sql, rows.encode()):
            if kind == b"E":
                refused = Refused(pgwire.fields_of(body))
                self.sent.append(f"  -- {refused}")
                raise refused

    def statement(self, rows: Rows) -> tuple[str, Rows, bool]:
        """A statement (COPY: with its data in the lines behind it), the rows behind it, and whether the transaction cannot be made again with it."""
        r = self.random
        self.made += 1
        n, size, table = self.made, r.choice(self.sizes), r.choice(TABLES)
        mine = {key: row for key, row in rows.items() if key[0] == table}
        rest = {key: row for key, row in rows.items() if key[0] != table}
        kind = r.choice(["insert", "insert", "update", "update", "delete", "read", "define", "key", "copy", "copy"])
        if kind == "insert":
            return f"INSERT INTO {table} SELECT {n}, {n % 7}, repeat('x', {size})", {**rows, (table, n): (n % 7, size)}, False
        if kind == "copy":
            size = min(size, 2_000_000)
            return f"COPY {table} FROM STDIN\n{n}\t{n % 7}\t{'x' * size}\n", {**rows, (table, n): (n % 7, size)}, True
        if kind == "update":
            more = {key: (a + 1, b + size // 4) for key, (a, b) in mine.items()}
            return f"UPDATE {table} SET s = s || repeat('y', {size // 4}), n = n + 1", {**rest, **more}, False
        if kind == "delete":
            left = {key: row for key, row in mine.items() if key[1] % 3 != n % 3}
            return f"DELETE FROM {table} WHERE id % 3 = {n % 3}", {**rest, **left}, False
        if kind == "key":
            moved = {(table, key[1] + 1_000_000 * (1 if key[1] < 1_000_000 else -1)): row for key, row in mine.items()}
            return f"UPDATE {table} SET id = id + CASE WHEN id < 1000000 THEN 1000000 ELSE -1000000 END", {**rest, **moved}, False
        if kind == "read":
            return f"SELECT count(DISTINCT s), max(s) IS NULL FROM {table}", rows, False
        return f"CREATE TABLE made AS SELECT * FROM {table}; CREATE INDEX ON made (s); DROP TABLE made", rows, True

    def seen(self, session, tables=TABLES) -> Rows:
        out: Rows = {}
        for table in tables:
            for i, n, s in session.query(f"SELECT id, n, length(s) FROM {table}"):
                out[table, int(i)] = (int(n), int(s))
        return out

    def stored(self) -> Rows:
        """What others see, too."""
        return {key: row for key, row in self.rows.items() if key[0] in self.shared}

    def compare(self, seen: Rows, expected: Rows, where: str) -> None:
        if seen != expected:
            lost = {k: v for k, v in expected.items() if seen.get(k) != v}
            more = {k: v for k, v in seen.items() if expected.get(k) != v}
            raise AssertionError(f"{where}: not there {lost}, there {more}")

    def transaction(self) -> None:
        """Some transactions have many savepoints at first, which take time to be made again."""
        r = self.random
        self.sent = []
        # (above 64 MiB of changes a transaction is not made again, either)
        rows, may_be_lost, changed = dict(self.rows), self.temporary, 0
        self.run("BEGIN")
        if r.random() < 0.2:
            self.made += 1
            self.run(f"INSERT INTO kept VALUES ({self.made}, 1, 'first')")
            rows["kept", self.made] = (1, 5)
            self.run(";".join(f"SAVEPOINT s{i}" for i in range(r.choice([3, 300]))))
        for _ in range(r.randint(1, 4)):
            self.run("SAVEPOINT a")
            sql, after, keeps_the_slot = self.statement(rows)
            changed += sum(size for key, (_, size) in after.items() if rows.get(key) != after[key])
            may_be_lost |= keeps_the_slot or changed > 20_000_000
            self.run(f"SET LOCAL statement_timeout = {r.choice(TIMEOUTS)}")
            try:
                self.run(sql)
                self.run("SET LOCAL statement_timeout = 0; RELEASE a")
                rows, self.acknowledged = after, self.acknowledged + 1
                continue
            except Refused as e:
                if e.code != "57014":
                    raise
                self.ended += 1
            try:
                self.run("ROLLBACK TO a")
            except Refused as e:
                if e.code != "3B001" or "interrupted" not in e.detail or not may_be_lost:
                    raise
                self.lost += 1
                self.run("ROLLBACK")
                self.compare(self.seen(self.session), self.rows, "behind a transaction that could not go on")
                return
            if r.random() < 0.3:
                self.compare(self.seen(self.session), rows, "behind ROLLBACK TO")
            self.run("RELEASE a")
        if r.random() < 0.2 or sum(size for _, size in rows.values()) > MOST_BYTES:
            self.run("ROLLBACK")
        else:
            self.run("COMMIT")
            self.rows = rows
        if r.random() < 0.3:
            self.compare(self.seen(self.session), self.rows, "behind the transaction")
            self.compare(self.seen(self.other, self.shared), self.stored(), "in another session")


def check_file(path: str, tables: tuple[str, ...], expected: Rows) -> None:
    file = sqlite3.connect(path)
    answer = file.execute("PRAGMA integrity_check").fetchall()
    assert answer == [("ok",)], answer[:5]
    stored = {(t, i): (n, s) for t in tables for i, n, s in file.execute(f"SELECT id, n, length(s) FROM {t}")}
    assert stored == expected, "the file has other rows than were acknowledged"
    file.close()


def play(seed: int, transactions: int, until: float, sizes: list[int], temporary: bool) -> Player:
    with server.Server() as running:
        player = Player(lambda: pgwire.Connection(running.dir, running.port, "postgres", "postgres", timeout=120), seed, sizes, temporary)
        done = 0
        try:
            while done < transactions and time.monotonic() < until:
                player.transaction()
                done += 1
        except Exception:
            print(f"tests/session: interrupted, seed {seed}, transaction {done}:", *(s[:200] for s in player.sent), sep="\n", flush=True)
            raise
        player.session.close()
        player.other.close()
        running.process.terminate()
        assert running.process.wait(60) == 0, running.log_text()
        check_file(running.database, player.shared, player.stored())
    return player


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--transactions", type=int, default=60, help="of each seed")
    parser.add_argument("--seconds", type=float, help="new seeds until then, and larger values (up to 80 MB)")
    parser.add_argument("--temporary", action="store_true", help="the second table is temporary")
    a = parser.parse_args()
    sizes = [10, 20_000, 2_000_000, 10_000_000] + ([80_000_000] if a.seconds else [])
    until = time.monotonic() + (a.seconds or 3600)
    seeds = acknowledged = ended = lost = 0
    while seeds < 2 or (a.seconds and time.monotonic() < until):
        player = play(a.seed + seeds, a.transactions, until, sizes, a.temporary)
        seeds += 1
        acknowledged, ended, lost = acknowledged + player.acknowledged, ended + player.ended, lost + player.lost
    assert ended, "no statement was ended: the test has tested nothing"
    print(f"tests/session: interrupted, {seeds} seeds, {acknowledged} statements done, {ended} ended, {lost} transactions that could not go on, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
