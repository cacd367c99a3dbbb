#!/usr/bin/env python3
"""Transactions at random on few rows, whose clients think between statements: nothing acknowledged is lost, nothing is done twice.

    tests/session/rows.py [--seed N] [--transactions N] [--sessions N]

Each session runs READ COMMITTED blocks of a few statements: counters are raised by relative UPDATEs, by SELECT … FOR UPDATE and
an absolute UPDATE, and by upserts; lists get elements; rows of a queue are taken with SKIP LOCKED; savepoints are made and gone back to; children are
inserted and parents deleted; tables are made; some statements are cancelled, some sessions end in the midst. What each transaction has done is
known from its answers. At the end each counter is the sum of the acknowledged transactions (those whose COMMIT got no answer may count or
not), each list has the acknowledged elements, each once and in the order of each session, no job was taken twice, and no child is without its parent.
The server runs once as it is, and once so that each silent transaction is put aside at once.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib")]

import pgwire  # noqa: E402
import server  # noqa: E402

COUNTERS, LISTS, JOBS, PARENTS = 6, 3, 400, 8
# what a transaction may meet; anything else is a defect
EXPECTED = {"40P01", "57014", "55P03", "23503", "23505"}


class Failed(Exception):
    def __init__(self, code: str, message: str):
        super().__init__(f"{code} {message}")
        self.code = code


class Books:
    """What was acknowledged, and what may have happened."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.raised = [0] * COUNTERS
        self.maybe = [0] * COUNTERS
        self.appended: list[list[str]] = [[] for _ in range(LISTS)]
        self.perhaps: list[set[str]] = [set() for _ in range(LISTS)]
        self.taken: dict[int, str] = {}
        self.wrong: list[str] = []
        self.done = self.refused = 0


class Work:
    """What one transaction does."""

    def __init__(self) -> None:
        self.raised: list[int] = []
        self.appended: list[tuple[int, str]] = []
        self.taken: list[int] = []

    def copy(self) -> Work:
        other = Work()
        other.raised, other.appended, other.taken = list(self.raised), list(self.appended), list(self.taken)
        return other


class Client(threading.Thread):
    def __init__(self, connect, books: Books, number: int, seed: int, transactions: int):
        super().__init__(daemon=True)
        self.connect, self.books, self.number, self.left = connect, books, number, transactions
        self.random = random.Random(seed)
        self.connection = connect()
        self.elements = 0

    def run(self) -> None:
        try:
            while self.left > 0:
                self.left -= 1
                self.transaction()
        except Exception as error:  # noqa: BLE001: told at the end
            self.books.wrong.append(f"session {self.number}: {error!r}")

    def ask(self, sql: str, cancels: bool = True) -> list[list[str | None]]:
        """The rows of a statement. A few are cancelled at once."""
        if cancels and self.random.random() < 0.02:
            self.connection.send(b"Q", sql.encode() + b"\0")
            time.sleep(self.random.random() * 0.005)
            self.connection.cancel()
            messages = self.connection.until_ready()
        else:
            messages = self.connection.simple(sql)
        for kind, body in messages:
            if kind == b"E":
                fields = pgwire.fields_of(body)
                raise Failed(fields["C"], f"{fields['M']} ({fields.get('D')}) in {sql}")
        return [[None if v is None else v.decode() for v in pgwire.data_row(b)] for k, b in messages if k == b"D"]

    def step(self, work: Work) -> None:
        which = self.random.randrange(19) // 2
        row = self.random.randrange(COUNTERS)
        if which <= 1:
            self.ask(f"UPDATE counters SET n = n + 1 WHERE id = {row}")
            work.raised.append(row)
        elif which == 2:
            # (some look for long at what they lock)
            slowly = " AND (SELECT count(*) FROM generate_series(1, 3000)) > 0" if self.random.random() < 0.3 else ""
            [[n]] = self.ask(f"SELECT n FROM counters WHERE id = {row}{slowly} FOR {self.random.choice(['UPDATE', 'NO KEY UPDATE'])}")
            self.think()
            self.ask(f"UPDATE counters SET n = {int(n or 0) + 1} WHERE id = {row}")
            work.raised.append(row)
        elif which == 3:
            self.ask(f"INSERT INTO counters VALUES ({row}, 1) ON CONFLICT (id) DO UPDATE SET n = counters.n + 1")
            work.raised.append(row)
        elif which == 4:
            which_list, self.elements = self.random.randrange(LISTS), self.elements + 1
            element = f"{self.number}.{self.elements}"
            self.ask(f"UPDATE lists SET elements = elements || '{element}'::text WHERE id = {which_list}")
            work.appended.append((which_list, element))
        elif which == 5:
            found = self.ask("UPDATE jobs SET taken = true WHERE id = (SELECT id FROM jobs WHERE NOT taken ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id")
            work.taken += [int(job or 0) for [job] in found]
        elif which == 6:
            self.ask(f"INSERT INTO children (parent) SELECT id FROM parents WHERE id = {self.random.randrange(PARENTS)}")
        elif which == 7:
            parent = self.random.randrange(PARENTS)
            self.ask(f"DELETE FROM children WHERE parent = {parent}")
            self.ask(f"DELETE FROM parents WHERE id = {parent}")
            self.ask(f"INSERT INTO parents VALUES ({parent}) ON CONFLICT DO NOTHING")
        elif which == 8:
            self.ask("SELECT sum(n) FROM counters")
        else:
            # (it keeps the writer slot from now on: others can lock rows while it thinks)
            self.elements += 1
            self.ask(f"CREATE TABLE made_{self.number}_{self.elements} (n int)")
            self.think()

    def think(self) -> None:
        if self.random.random() < 0.5:
            time.sleep(self.random.random() * 0.004)

    def transaction(self) -> None:
        books, work = self.books, Work()
        self.ask("BEGIN", cancels=False)
        try:
            kept: Work | None = None
            for _ in range(self.random.randrange(1, 5)):
                if kept is None and self.random.random() < 0.2:
                    self.ask("SAVEPOINT s", cancels=False)
                    kept = work.copy()
                try:
                    self.step(work)
                except Failed as failed:
                    if failed.code not in EXPECTED:
                        raise
                    if kept is None or self.random.random() < 0.3:
                        raise
                    self.ask("ROLLBACK TO s", cancels=False)
                    work = kept.copy()
                if kept is not None and self.random.random() < 0.2:
                    self.ask("ROLLBACK TO s", cancels=False)
                    work = kept.copy()
                self.think()
            if self.random.random() < 0.15:
                raise Failed("57014", "given up")
        except Failed as failed:
            if failed.code not in EXPECTED:
                books.wrong.append(f"session {self.number}: {failed}")
            self.ask("ROLLBACK", cancels=False)
            books.refused += 1
            return
        if self.random.random() < 0.02:
            # the client is gone: before its COMMIT, or before the answer
            sent = self.random.random() < 0.5
            if sent:
                self.connection.send(b"Q", b"COMMIT\0")
            self.connection.sock.close()
            with books.lock:
                if sent:
                    for row in work.raised:
                        books.maybe[row] += 1
                    for which, element in work.appended:
                        books.perhaps[which].add(element)
            self.connection = self.connect()
            return
        try:
            self.ask("COMMIT", cancels=False)
        except Failed as failed:
            if failed.code not in EXPECTED:
                books.wrong.append(f"session {self.number}: COMMIT: {failed}")
            return
        with books.lock:
            books.done += 1
            for row in work.raised:
                books.raised[row] += 1
            for which, element in work.appended:
                books.appended[which].append(element)
            for job in work.taken:
                if job in books.taken:
                    books.wrong.append(f"job {job} was taken by {books.taken[job]} and by session {self.number}")
                books.taken[job] = f"session {self.number}"


def check(control: pgwire.Connection, books: Books) -> None:
    def rows(sql: str) -> list[list[str]]:
        return [[(v or b"").decode() for v in pgwire.data_row(b)] for k, b in control.simple(sql) if k == b"D"]

    for row, n in rows("SELECT id, n FROM counters ORDER BY id"):
        least = books.raised[int(row)]
        if not least <= int(n) <= least + books.maybe[int(row)]:
            books.wrong.append(f"counter {row} is {n}, acknowledged are {least}, open {books.maybe[int(row)]}")
    for row, elements in rows("SELECT id, array_to_string(elements, ',') FROM lists ORDER BY id"):
        found = [e for e in elements.split(",") if e]
        wanted, perhaps = set(books.appended[int(row)]), books.perhaps[int(row)]
        if len(set(found)) != len(found) or not wanted <= set(found) <= wanted | perhaps:
            books.wrong.append(f"list {row}: lost {sorted(wanted - set(found))[:5]}, not acknowledged {sorted(set(found) - wanted - perhaps)[:5]}")
        last: dict[str, int] = {}
        for element in found:
            session, number = element.split(".")
            if int(number) < last.get(session, 0):
                books.wrong.append(f"list {row}: {element} comes after {session}.{last[session]}")
            last[session] = int(number)
    for [n] in rows("SELECT count(*) FROM children c WHERE NOT EXISTS (SELECT 1 FROM parents p WHERE p.id = c.parent)"):
        if n != "0":
            books.wrong.append(f"{n} children without a parent")
    for [n] in rows("SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid()"):
        if n != "0":
            books.wrong.append(f"{n} locks are left")


PLAIN = """
CREATE TABLE parents (id int PRIMARY KEY);
CREATE TABLE children (id serial, parent int REFERENCES parents);
"""
PARTITIONED = """
CREATE TABLE parents (id int PRIMARY KEY) PARTITION BY LIST (id);
CREATE TABLE parents_0 PARTITION OF parents FOR VALUES IN (0, 2, 4);
CREATE TABLE parents_1 PARTITION OF parents DEFAULT;
CREATE TABLE children (id serial, parent int REFERENCES parents) PARTITION BY LIST (parent);
CREATE TABLE children_0 PARTITION OF children FOR VALUES IN (0, 1);
CREATE TABLE children_1 PARTITION OF children DEFAULT;
"""


def run(seed: int, transactions: int, sessions: int, away: bool, partitioned: bool) -> Books:
    books = Books()
    environment = dict(os.environ)
    os.environ["PGSQLITE_PUT_ASIDE"] = "true" if away else "false"
    try:
        with server.Server("--idle-writer-timeout", "0") as running:
            def connect() -> pgwire.Connection:
                connection = pgwire.Connection(running.dir, running.port, "postgres", "main", timeout=120)
                connection.simple("SET deadlock_timeout = '20ms'")
                return connection

            control = connect()
            control.simple(
                "CREATE TABLE counters (id int PRIMARY KEY, n int NOT NULL); CREATE TABLE lists (id int PRIMARY KEY, elements text[] NOT NULL DEFAULT '{}');"
                "CREATE TABLE jobs (id int PRIMARY KEY, taken boolean NOT NULL DEFAULT false);"
                + (PARTITIONED if partitioned else PLAIN)
                + "CREATE INDEX ON children (parent);"
                f"INSERT INTO counters SELECT i, 0 FROM generate_series(0, {COUNTERS - 1}) i; INSERT INTO lists SELECT generate_series(0, {LISTS - 1});"
                f"INSERT INTO jobs SELECT generate_series(1, {JOBS}); INSERT INTO parents SELECT generate_series(0, {PARENTS - 1})"
            )
            clients = [Client(connect, books, i, seed * 1000 + i, transactions // sessions) for i in range(sessions)]
            for client in clients:
                client.start()
            for client in clients:
                client.join(600)
                if client.is_alive():
                    books.wrong.append(f"session {client.number} hangs")
            for client in clients:
                client.connection.close()
            time.sleep(0.2)
            check(control, books)
            if running.process.poll() is not None:
                books.wrong.append("the server has ended: " + running.log_text()[-2000:])
    finally:
        os.environ.clear()
        os.environ.update(environment)
    return books


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--transactions", type=int, default=1500)
    parser.add_argument("--sessions", type=int, default=16)
    options = parser.parse_args()
    failed = 0
    for away, partitioned in ((False, False), (True, False), (True, True)):
        books = run(options.seed, options.transactions, options.sessions, away, partitioned)
        for line in books.wrong[:20]:
            print(line)
        failed += len(books.wrong)
        print(f"tests/session: rows, seed {options.seed}, {'put aside at once' if away else 'as they come'}{', partitions' if partitioned else ''}: {books.done} transactions acknowledged,"
              f" {books.refused} taken back, {len(books.wrong)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
