"""Sessions that lock, write, read, take numbers and sleep at random: nobody waits for ever, each cycle of waits ends with an error in one
session, and what was committed is there.

A seed fixes what the sessions ask for; who meets whom is up to the machine.
"""

from __future__ import annotations

import random
import re
import threading
import time

import pgwire
import server

# Far more than a statement takes that is not in a cycle: at most all transactions of the others, one after the other.
SOON = 60
TABLES = 3
MODES = ["ACCESS SHARE", "ROW SHARE", "ROW EXCLUSIVE", "SHARE UPDATE EXCLUSIVE", "SHARE", "SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE"]


class Wrong(Exception):
    pass


class Worker(threading.Thread):
    def __init__(self, number: int, seed: int, transactions: int, connection: pgwire.Connection):
        super().__init__(daemon=True)
        self.random = random.Random(f"{seed} {number}")
        self.number, self.transactions, self.connection = number, transactions, connection
        self.values: list[int] = []
        self.changed = [0] * TABLES
        self.rows = 0
        self.deadlocks = 0
        self.statement = ""
        self.wrong: str | None = None

    def ask(self, sql: str) -> list[list[str | None]] | None:
        """The rows; None: a deadlock."""
        self.statement = sql
        rows, error = [], None
        for kind, body in self.connection.simple(sql):
            if kind == b"D":
                rows.append([None if v is None else v.decode() for v in pgwire.data_row(body)])
            elif kind == b"E":
                error = pgwire.fields_of(body)
        self.statement = ""
        if error is None:
            return rows
        if error["C"] != "40P01":
            raise Wrong(f"{sql}: {error['C']} {error['M']}")
        self.deadlocks += 1
        return None

    def run(self) -> None:
        try:
            self.ask("SET deadlock_timeout = 30; CREATE TEMP TABLE mine (a int)")
            for _ in range(self.transactions):
                self.transaction()
            (count,) = (self.ask("SELECT count(*) FROM mine") or [[None]])[0]
            if int(count or -1) != self.rows:
                raise Wrong(f"session {self.number}: {count} rows in its temporary table instead of {self.rows}")
        except (Wrong, OSError, pgwire.ServerGone) as error:
            self.wrong = f"{type(error).__name__} {error}"
        finally:
            self.connection.close()

    def transaction(self) -> None:
        choose = self.random.choice
        self.ask(choose(["BEGIN", "BEGIN", "BEGIN; SAVEPOINT s"]))
        changed, rows = [0] * TABLES, 0
        for _ in range(self.random.randint(1, 5)):
            table = self.random.randrange(TABLES)
            what = choose(["advisory", "advisory", "session", "lock", "lock", "write", "write", "read", "number", "temporary", "sleep", "function"])
            if what == "advisory":
                got = self.ask(f"SELECT pg_advisory_xact_lock{choose(['', '_shared'])}({self.random.randint(1, 3)})")
            elif what == "session":
                got = self.ask(f"SELECT pg_advisory_lock({self.random.randint(1, 3)})")
            elif what == "lock":
                got = self.ask(f"LOCK TABLE t{table} IN {choose(MODES)} MODE")
            elif what == "write":
                got = self.ask(f"UPDATE t{table} SET v = v + 1 WHERE id = 1")
                changed[table] += 1
            elif what == "read":
                got = self.ask(f"SELECT v FROM t{table} WHERE id = 1")
            elif what == "number":
                got = self.ask("SELECT nextval('s')")
                self.values += [int(row[0] or 0) for row in got or []]
            elif what == "temporary":
                got = self.ask(f"INSERT INTO mine SELECT v FROM t{table} WHERE id = 1")
                rows += 1
            elif what == "function":
                got = self.ask(f"SELECT lock_and_write({table}, {self.random.randint(1, 3)})")
                changed[table] += 1
            else:
                got = self.ask("SELECT pg_sleep(0.003)")
            if got is None:
                self.ask("ROLLBACK; SELECT pg_advisory_unlock_all()")
                return
        if self.random.random() < 0.2:
            self.ask("ROLLBACK")
        elif self.ask("COMMIT") is not None:
            self.changed = [a + b for a, b in zip(self.changed, changed)]
            self.rows += rows
        self.ask("SELECT pg_advisory_unlock_all()")


def run(sessions: int, transactions: int, seed: int) -> None:
    with server.Server("--idle-writer-timeout", "0") as running:
        def connect() -> pgwire.Connection:
            return pgwire.Connection(running.dir, running.port, "postgres", "main", timeout=2 * SOON)

        setup = connect()
        for i in range(TABLES):
            setup.simple(f"CREATE TABLE t{i} (id int PRIMARY KEY, v int); INSERT INTO t{i} VALUES (1, 0)")
        setup.simple("CREATE SEQUENCE s")
        setup.simple(
            "CREATE FUNCTION lock_and_write(t int, k int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(k); "
            "EXECUTE 'UPDATE t' || t || ' SET v = v + 1 WHERE id = 1'; RETURN 1; END $$"
        )
        workers = [Worker(i, seed, transactions, connect()) for i in range(sessions)]
        for worker in workers:
            worker.start()
        for worker in workers:
            silent, last = 0.0, ""
            while worker.is_alive():
                worker.join(0.2)
                silent = silent + 0.2 if worker.statement and worker.statement == last else 0.0
                last = worker.statement
                if silent > SOON:
                    waits = setup.query("SELECT pid, wait_event_type, wait_event, query, pg_blocking_pids(pid) FROM pg_stat_activity WHERE state = 'active'")
                    raise SystemExit(f"seed {seed}: {worker.statement!r} still waits after {SOON} s\n" + "\n".join(map(str, waits)))
        wrong = [worker.wrong for worker in workers if worker.wrong]
        values = [v for worker in workers for v in worker.values]
        if len(values) != len(set(values)):
            wrong.append("a number of the sequence came twice")
        for i in range(TABLES):
            committed = sum(worker.changed[i] for worker in workers)
            (stored,) = setup.query(f"SELECT v FROM t{i}")[0]
            if int(stored or -1) != committed:
                wrong.append(f"t{i}: {stored} changes are stored, {committed} were committed")
        deadline = time.monotonic() + SOON
        while setup.query("SELECT count(*) FROM pg_locks WHERE locktype IN ('advisory', 'relation') AND pid <> pg_backend_pid()")[0][0] != "0":
            if time.monotonic() > deadline:
                wrong.append("locks of sessions that have ended are held")
                break
            time.sleep(0.02)
        deadlocks = sum(worker.deadlocks for worker in workers)
        with open(running.log.name, encoding="utf-8", errors="replace") as file:
            told = len(re.findall("deadlock detected", file.read()))
        if told != deadlocks:
            wrong.append(f"{told} cycles are in the log, {deadlocks} sessions got an error")
        if not deadlocks:
            wrong.append("no cycle came about: the test shows nothing")
        print(f"tests/waits: {sessions} sessions, {sessions * transactions} transactions at random, {deadlocks} cycles ended, {len(wrong)} wrong")
        if wrong:
            raise SystemExit(f"seed {seed}:\n" + "\n".join(wrong))
