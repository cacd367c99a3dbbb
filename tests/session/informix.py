#!/usr/bin/env python3
"""Random conversations over SQLI, through the driver: what is acknowledged is stored, and nothing else.

    informix.py [--seed N] [--conversations N] [--seconds S]

Informix's rules: a statement that fails undoes itself, and its transaction goes on. A COMMIT that fails has rolled back. Who goes away without COMMIT,
or is cut off, leaves nothing behind. A second session, of a PostgreSQL client, looks at the rows after each end of a transaction.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import socket
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE.parents[1] / "informix-db" / "src"))

import pgwire  # noqa: E402
import server  # noqa: E402

import informix_db  # noqa: E402
from conversation import RESET, SETUP  # noqa: E402
from model import TABLES, State  # noqa: E402
from run import STORED  # noqa: E402


class Violation(Exception):
    """What must not be."""


class Conversation:
    """One session, and what must be stored by it."""

    def __init__(self, port: int, admin: pgwire.Connection, chance: random.Random, first_id: int, committed: State):
        self.random, self.admin, self.id = chance, admin, first_id
        self.committed, self.work = dict(committed), dict(committed)
        self.saves: list[tuple[str, State]] = []
        self.lines: list[str] = []
        self.autocommit = chance.random() < 0.4
        self.c = informix_db.connect("127.0.0.1", port, user="postgres", password="x", database="main", server="x", autocommit=self.autocommit)
        self.in_transaction = False

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def note(self, line: str) -> None:
        self.lines.append(f"    {line}")

    def play(self) -> None:
        try:
            for _ in range(self.random.randint(5, 40)):
                self.step()
                if self.c.in_transaction != self.in_transaction:
                    raise Violation(f"the driver's transaction is {self.c.in_transaction}, expected {self.in_transaction}")
                if self.chance(0.2):
                    self.compare()
            self.leave()
        finally:
            self.c.close()

    def step(self) -> None:
        kind = self.random.random()
        if kind < 0.62:
            self.change()
        elif kind < 0.66:
            self.many()
        elif kind < 0.72:
            self.end("commit")
        elif kind < 0.76:
            self.end("rollback")
        elif kind < 0.8 and not self.in_transaction:
            self.note("begin")
            self.c.begin()
            self.in_transaction = True
        elif kind < 0.9:
            self.savepoint()
        else:
            self.read()

    # --- what is sent ----------------------------------------------------------------------------------------------------

    def value(self, table: str) -> int:
        bad = self.chance(0.15)
        return {"ch": 99 if bad else self.random.randint(1, 3), "k": self.random.randint(1, 4) if bad else self.id + 100, "tr": -1 if bad else 1, "im": -1 if bad else 1}[table]

    def next_id(self) -> int:
        if self.chance(0.12) and self.id > 5:
            return self.id - self.random.randint(1, 5)
        self.id += 1
        return self.id

    def change(self) -> None:
        table = self.random.choice(TABLES)
        id_, v = self.next_id(), self.value(table)
        kind = self.random.random()
        new = dict(self.work)
        if kind < 0.6:
            sql, values = f"insert into {table} values (?, ?)", (id_, v)
            new[table, id_] = v
        elif kind < 0.7:
            other = self.next_id()
            w = self.value(table)
            sql, values = f"insert into {table} select ?::int, ?::int from pa where i = 1 union all select ?::int, ?::int from pa where i = 1", (id_, v, other, w)
            new[table, id_], new[table, other] = v, w
        elif kind < 0.85:
            sql, values = f"update {table} set v = ? where id = ?", (v, id_ - 2)
            if (table, id_ - 2) in new:
                new[table, id_ - 2] = v
        else:
            sql, values = f"delete from {table} where id = ?", (id_ - 3,)
            new.pop((table, id_ - 3), None)
        if self.chance(0.4):
            for value in values:
                sql = sql.replace("?", str(value), 1)
            values = ()
        self.run(sql, values, new)

    def run(self, sql: str, values: tuple, new: State) -> None:
        begins = not self.autocommit and not self.in_transaction
        try:
            self.c.cursor().execute(sql, values)
        except informix_db.DatabaseError as e:
            self.note(f"{sql} {values}  -- {e}")
            self.failed(e)
            # (the driver has begun a transaction with it)
            self.in_transaction = self.in_transaction or begins and self.c.in_transaction
            return
        self.note(f"{sql} {values}")
        self.in_transaction = self.in_transaction or begins
        self.work = new
        if not self.in_transaction:
            self.committed = dict(new)

    def failed(self, e: informix_db.DatabaseError) -> None:
        if self.c.closed or isinstance(e, informix_db.InternalError):
            raise Violation(f"{type(e).__name__}: {e}")

    def many(self) -> None:
        """A batch. Where it fails, the transaction is given up."""
        table = self.random.choice(TABLES)
        rows = [(self.next_id(), self.value(table)) for _ in range(self.random.randint(2, 6))]
        if not self.in_transaction:
            self.end("rollback")
            self.note("begin")
            self.c.begin()
            self.in_transaction = True
        self.note(f"insert into {table}: {rows}")
        try:
            self.c.cursor().executemany(f"insert into {table} values (?, ?)", rows)
        except informix_db.DatabaseError as e:
            self.failed(e)
            self.note(f"-- {e}")
            self.end("rollback")
            return
        self.work |= {(table, id_): v for id_, v in rows}

    def read(self) -> None:
        self.note("reads")
        cursor = self.c.cursor()
        try:
            cursor.execute(self.random.choice(("select id, v from im order by id", "select count(*) from ch", "select id from nothing", "select 1 / 0 from pa")))
            cursor.fetchmany(2)
            if self.chance(0.5):
                cursor.close()
        except informix_db.DatabaseError as e:
            self.failed(e)
        # (without autocommit a query begins a transaction, too)
        self.in_transaction = self.in_transaction or not self.autocommit and self.c.in_transaction

    def savepoint(self) -> None:
        if not self.in_transaction:
            return
        name = self.random.choice(("s", "u", "w"))
        kind = self.random.random()
        there = max((i for i, s in enumerate(self.saves) if s[0] == name), default=None)
        if kind < 0.5 or there is None:
            # (one of a name that is there takes its place)
            if there is not None:
                return
            self.note(f"savepoint {name}")
            self.c.savepoint(name)
            self.saves.append((name, dict(self.work)))
        elif kind < 0.8:
            self.note(f"rollback to {name}")
            self.c.rollback_to_savepoint(name)
            del self.saves[there + 1 :]
            self.work = dict(self.saves[there][1])
        else:
            self.note(f"release {name}")
            self.c.release_savepoint(name)
            del self.saves[there:]

    def end(self, how: str) -> None:
        begun = self.in_transaction
        self.note(how)
        try:
            getattr(self.c, how)()
            if how == "commit" and begun:
                self.committed = dict(self.work)
        except informix_db.DatabaseError as e:
            self.note(f"-- {e}")
            self.failed(e)
            if how == "rollback" or not begun:
                raise Violation(f"{how}: {e}") from e
            if self.c.in_transaction:
                # Informix lets the client decide
                self.c.rollback()
        self.in_transaction, self.saves = False, []
        self.work = dict(self.committed)
        self.compare()

    def leave(self) -> None:
        how = self.random.random()
        if how < 0.4:
            self.end("commit")
            self.c.close()
        elif how < 0.7:
            self.note("closes")
            self.c.close()
        else:
            # what is on its way may be carried out or not: only without autocommit it is known what is stored
            self.note("is cut off")
            transport = self.c._transport
            sock = next(v for v in vars(transport).values() if isinstance(v, socket.socket))
            if not self.autocommit and self.chance(0.5):
                threading.Timer(self.random.choice((0, 0.0005, 0.002)), sock.shutdown, (socket.SHUT_RDWR,)).start()
                try:
                    for _ in range(20):
                        self.id += 1
                        self.c.cursor().execute("insert into im values (?, ?)", (self.id, 1))
                except informix_db.Error:
                    pass
            sock.close()
        deadline = time.monotonic() + 20
        while self.admin.query("SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid()") != [["0"]]:
            if time.monotonic() > deadline:
                raise Violation("a session stays although its client is gone")
            time.sleep(0.002)
        self.compare()

    def compare(self) -> None:
        rows = [((str(t), int(id_ or 0)), int(v or 0)) for t, id_, v in self.admin.query(STORED)]
        stored = dict(rows)
        if len(stored) != len(rows):
            raise Violation(f"a row is stored twice: {rows}")
        if stored != self.committed:
            lost = {k: v for k, v in self.committed.items() if stored.get(k) != v}
            extra = {k: v for k, v in stored.items() if self.committed.get(k) != v}
            raise Violation(f"not stored although acknowledged: {lost}; stored although not: {extra}")


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--conversations", type=int, default=120)
    args.add_argument("--seconds", type=float, default=0, help="go on for so long")
    args.add_argument("--most", type=int, default=5, help="end after so many failures")
    a = args.parse_args()
    port = server.free_port()
    failed = played = 0
    began = time.monotonic()
    with server.Server("--sqli-port", str(port)) as running:
        admin = pgwire.Connection(running.dir, running.port, "postgres", "main")
        admin.query(SETUP)
        committed: State = {}
        first = 1
        while failed < a.most and (time.monotonic() - began < a.seconds if a.seconds else played < a.conversations):
            talk = Conversation(port, admin, random.Random(f"{a.seed + played} sqli"), first, committed)
            played += 1
            try:
                talk.play()
                committed, first = talk.committed, talk.id
            except (Violation, informix_db.Error, OSError) as e:
                failed += 1
                print(f"tests/session: informix, seed {a.seed + played - 1}: {type(e).__name__} {e}\n" + "\n".join(talk.lines[-40:]), flush=True)
                talk.c.close()
                admin.query(RESET)
                committed = {}
            if len(committed) > 300:
                admin.query(RESET)
                committed = {}
        if running.process.poll() is not None:
            failed += 1
            print(f"the server is gone: {running.log_text()}")
        admin.close()
    print(f"tests/session: informix, {played} conversations, {failed} failed, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
