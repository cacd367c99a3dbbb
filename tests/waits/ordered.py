"""Sessions that take the same rows in one order: no cycle can come about, so no session may get an error.

The transactions are put aside at each silence, so that a session often waits for another one that has ended its transaction and begun the next.
"""

from __future__ import annotations

import os
import random
import threading

import pgwire
import server

#: rows that all sessions change, in this order
ROWS = 6


class Worker(threading.Thread):
    def __init__(self, number: int, seed: int, transactions: int, connection: pgwire.Connection):
        super().__init__(daemon=True)
        self.random = random.Random(f"{seed} {number}")
        self.number, self.transactions, self.connection = number, transactions, connection
        self.changed = [0] * ROWS
        self.errors: list[str] = []

    def ask(self, sql: str) -> bool:
        """False: the transaction has failed."""
        try:
            errors = [pgwire.fields_of(body) for kind, body in self.connection.simple(sql) if kind == b"E"]
        except (OSError, pgwire.ServerGone) as error:
            self.errors.append(f"{sql}: {error}")
            return False
        self.errors += [f"{sql}: {e['C']} {e['M']} {e.get('D', '')}" for e in errors]
        return not errors

    def run(self) -> None:
        self.ask("SET deadlock_timeout = 30")
        for _ in range(self.transactions):
            taken = sorted(self.random.sample(range(ROWS), self.random.randint(1, 4)))
            kept = self.ask("BEGIN") and self.ask(f"UPDATE own SET v = v + 1 WHERE id = {self.number}")
            for row in taken:
                if not kept:
                    break
                if self.random.random() < 0.3:
                    kept = self.ask(f"SELECT v FROM shared WHERE id = {row} FOR UPDATE")
                kept = kept and self.ask(f"UPDATE shared SET v = v + 1 WHERE id = {row}")
            if not kept or self.random.random() < 0.1:
                self.ask("ROLLBACK")
            elif self.ask("COMMIT"):
                for row in taken:
                    self.changed[row] += 1


def run(sessions: int, transactions: int, seed: int) -> None:
    before = os.environ.get("PGSQLITE_PUT_ASIDE")
    os.environ["PGSQLITE_PUT_ASIDE"] = "true"
    try:
        running = server.Server()
    finally:
        del os.environ["PGSQLITE_PUT_ASIDE"]
        if before is not None:
            os.environ["PGSQLITE_PUT_ASIDE"] = before
    with running:
        def connect() -> pgwire.Connection:
            return pgwire.Connection(running.dir, running.port, "postgres", "main", timeout=60)

        setup = connect()
        for table, count in (("own", sessions), ("shared", ROWS)):
            setup.simple(f"CREATE TABLE {table} (id int PRIMARY KEY, v int); INSERT INTO {table} SELECT n, 0 FROM generate_series(0, {count - 1}) AS n")
        workers = [Worker(i, seed, transactions, connect()) for i in range(sessions)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        wrong = [error for worker in workers for error in worker.errors]
        stored = [int(v or -1) for (v,) in setup.query("SELECT v FROM shared ORDER BY id")]
        committed = [sum(worker.changed[row] for worker in workers) for row in range(ROWS)]
        if stored != committed:
            wrong.append(f"{stored} changes are stored, {committed} were committed")
        print(f"tests/waits: {sessions} sessions, {sessions * transactions} transactions that take rows in one order, {len(wrong)} wrong")
        if wrong:
            raise SystemExit(f"seed {seed}:\n" + "\n".join(wrong[:20]))
