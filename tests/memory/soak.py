#!/usr/bin/env python3
"""The server's memory does not grow with time.

    soak.py [--seconds N] [--clients N] [--seed N] [--only ACTION…]

Clients send a mixed load for N seconds: look-ups, changes, queries that are never the same text, prepared statements, cursors, COPY,
notifications, temporary tables, DDL, errors, cancel requests, and disconnects in the midst of it. The data stay of one size. Two figures
are looked at around one sixth of the time (ten minutes of an hour) and at the end: what is allocated (pgsqlite_memory_bytes), by its
median, and what the process has resident (RSS), by its lowest sample. Each may be larger by a tenth and 8 MiB at the end.

The caches (2048 plans, 512 parsed texts, 5000 statements of pg_stat_statements, 16 connections with their pages) are full after some
3000 actions: a sixth of the time must be enough for those. From then on what is allocated stays the same, about 60 MiB. What is
resident varies between that with the free parts of its pages and the point at which the server gives such parts back (one and a half
times what is allocated, and 64 MiB; crates/memory/src/trim.rs): so the lowest sample says what stays, and no sample may be above the
point of the most that was ever allocated by more than a tenth. (The point counts what belongs to no file: the pages of the program itself are not given back.) The sizes of the caches are the reason why less than seven minutes say little.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import statistics
import sys
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402

ROWS = 5000
GROWTH, SLACK = 1.1, 8.0

SETUP = f"""
CREATE TABLE data (id int PRIMARY KEY, n int, s text, j jsonb);
INSERT INTO data SELECT g, g % 100, 'row ' || g, jsonb_build_object('g', g) FROM generate_series(1, {ROWS}) g;
CREATE TABLE log (id serial PRIMARY KEY, s text);
CREATE TABLE copied (n int, s text);
CREATE FUNCTION twice(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN $1 * 2; END';
CREATE TABLE fired (i int);
CREATE FUNCTION tr() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.i := NEW.i + 1; RETURN NEW; END';
CREATE TRIGGER tr BEFORE INSERT ON fired FOR EACH ROW EXECUTE FUNCTION tr();
"""


def resident(s: server.Server) -> tuple[float, float]:
    """What is in memory (VmRSS), and what of it belongs to no file (RssAnon); MiB."""
    status = pathlib.Path(f"/proc/{s.process.pid}/status").read_text().splitlines()
    values = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in status if line.endswith(" kB")}
    return values["VmRSS"], values["RssAnon"]


def allocated(port: int, metric: str = "pgsqlite_memory_bytes") -> float:
    """MiB"""
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/metrics", timeout=60) as page:
        for line in page.read().decode().splitlines():
            if line.startswith(f"{metric} "):
                return float(line.split()[1]) / (1 << 20)
    raise RuntimeError("the server does not report its memory")


class Client(threading.Thread):
    """One client after the other on a thread: each lives for some dozens of actions."""

    def __init__(self, s: server.Server, number: int, seed: int, end: float, only: list[str]):
        super().__init__(daemon=True)
        self.server, self.number, self.end, self.only = s, number, end, only
        self.random = random.Random(seed * 1000 + number)
        self.done = 0
        self.error = ""

    def run(self) -> None:
        try:
            while time.monotonic() < self.end:
                self.life()
        except Exception as e:  # noqa: BLE001
            self.error = f"client {self.number}: {type(e).__name__} {e}"

    def life(self) -> None:
        r = self.random
        c = pgwire.Connection(self.server.dir, self.server.port, "postgres", "main", timeout=120)
        actions = [self.look_up, self.change, self.query, self.error_, self.prepared, self.cursor, self.copy, self.notify, self.temporary,
                   self.ddl, self.cancelled, self.transaction, self.natives]
        weights = [30, 15, 15, 5, 10, 3, 3, 3, 2, 1, 2, 5, 5]
        if self.only:
            actions = [getattr(self, name) for name in self.only]
            weights = [1] * len(actions)
        for _ in range(r.randrange(5, 120)):
            if time.monotonic() > self.end:
                break
            r.choices(actions, weights)[0](c)
            self.done += 1
        if r.random() < 0.3:
            # goes away in the midst of a statement, without a word
            c.send(b"Q", r.choice([b"SELECT count(*) FROM data a, data b WHERE a.n + b.n > 1 AND b.id < 100\0", b"BEGIN; INSERT INTO log (s) VALUES ('lost')\0",
                                   b"SELECT * FROM data a, data b\0", b"COPY copied FROM STDIN\0"]))
            time.sleep(r.random() * 0.05)
            c.sock.close()
        else:
            c.close()

    def expect(self, c: pgwire.Connection, sql: str, *states: str) -> None:
        """Runs a query string; errors are those of other clients' DDL and locks."""
        for kind, body in c.simple(sql, b"1\tone\n2\ttwo\n" * 50):
            if kind == b"E":
                code = pgwire.fields_of(body)["C"]
                if code not in states:
                    raise RuntimeError(f"{sql[:200]}: {pgwire.fields_of(body)}")

    def look_up(self, c: pgwire.Connection) -> None:
        if len(c.query(f"SELECT s FROM data WHERE id = {self.random.randrange(ROWS) + 1}")) != 1:
            raise RuntimeError("a row is missing")

    def change(self, c: pgwire.Connection) -> None:
        r = self.random
        self.expect(c, r.choice([
            f"UPDATE data SET n = {r.randrange(100)}, s = 'row {r.random()}' WHERE id = {r.randrange(ROWS) + 1}",
            "INSERT INTO log (s) VALUES (repeat('x', 100)); DELETE FROM log WHERE id < (SELECT max(id) FROM log) - 500",
            "INSERT INTO fired VALUES (1), (2); DELETE FROM fired",
            f"INSERT INTO data VALUES ({r.randrange(ROWS) + 1}, 1, 'x') ON CONFLICT (id) DO UPDATE SET s = excluded.s",
        ]))

    def query(self, c: pgwire.Connection) -> None:
        r = self.random
        # a text that nobody has sent before: each is parsed, planned and counted anew
        column, name = r.choice(["n", "id", "n + id", "twice(n)"]), f"c{r.randrange(10**9)}"
        self.expect(c, f"SELECT {column} AS {name}, count(*) FROM data WHERE n < {r.randrange(100)} GROUP BY 1 ORDER BY 2, 1 LIMIT 20")

    def error_(self, c: pgwire.Connection) -> None:
        self.expect(c, self.random.choice(["SELECT 1 / 0", "SELECT nothing", "SELECT 'x'::int", "SELEC", "INSERT INTO data VALUES (1)"]),
                    "22012", "42703", "22P02", "42601", "23505")

    def prepared(self, c: pgwire.Connection) -> None:
        name = f"p{self.random.randrange(10**9)}"
        self.expect(c, f"PREPARE {name}(int) AS SELECT s, j FROM data WHERE id = $1 AND n <> {self.random.randrange(1000)}")
        for _ in range(3):
            self.expect(c, f"EXECUTE {name}({self.random.randrange(ROWS)})")
        if self.random.random() < 0.5:
            self.expect(c, f"DEALLOCATE {name}")
        c.extended("SELECT s FROM data WHERE id = $1 AND s <> $2", [b"5", b"x" * self.random.randrange(1000)])

    def cursor(self, c: pgwire.Connection) -> None:
        self.expect(c, "BEGIN; DECLARE c SCROLL CURSOR FOR SELECT * FROM data; FETCH 100 FROM c; MOVE LAST IN c; FETCH BACKWARD 10 FROM c; COMMIT")
        self.expect(c, "DECLARE h CURSOR WITH HOLD FOR SELECT * FROM data; FETCH 10 FROM h; CLOSE h")

    def copy(self, c: pgwire.Connection) -> None:
        self.expect(c, "COPY copied FROM STDIN")
        self.expect(c, "COPY (SELECT * FROM data LIMIT 1000) TO STDOUT")
        self.expect(c, "DELETE FROM copied")

    def notify(self, c: pgwire.Connection) -> None:
        self.expect(c, f"LISTEN c{self.random.randrange(50)}; NOTIFY c{self.random.randrange(50)}, 'something'")
        if self.random.random() < 0.3:
            self.expect(c, "UNLISTEN *")

    def temporary(self, c: pgwire.Connection) -> None:
        name = f"t{self.random.randrange(10**9)}"
        self.expect(c, f"CREATE TEMP TABLE {name} AS SELECT * FROM data LIMIT 500; SELECT count(*) FROM {name}")
        if self.random.random() < 0.7:
            self.expect(c, f"DROP TABLE {name}")

    def ddl(self, c: pgwire.Connection) -> None:
        name = f"x{self.number}"
        self.expect(c, f"CREATE TABLE {name} (i int PRIMARY KEY, s text CHECK (s <> 'z')); CREATE INDEX ON {name} (s); "
                       f"CREATE VIEW {name}_v AS SELECT i + 1 AS j FROM {name}; ALTER TABLE {name} ADD COLUMN d date DEFAULT now(); "
                       f"CREATE FUNCTION {name}_f() RETURNS int LANGUAGE sql AS 'SELECT count(*)::int FROM {name}'")
        self.expect(c, f"INSERT INTO {name} SELECT g, 'a' FROM generate_series(1, 100) g; SELECT {name}_f(); SELECT * FROM {name}_v; "
                       f"DROP FUNCTION {name}_f(); DROP TABLE {name} CASCADE")

    def cancelled(self, c: pgwire.Connection) -> None:
        sql = self.random.choice(["SELECT count(*) FROM data a, data b, data c", "SELECT pg_sleep(100)", "DO $$ BEGIN LOOP NULL; END LOOP; END $$",
                                  "INSERT INTO log (s) SELECT a.s FROM data a, data b, data c", "SELECT length(repeat('ab', 5000000))"])
        if self.random.random() < 0.5:
            self.expect(c, f"SET statement_timeout = 20; {sql}", "57014")
            self.expect(c, "RESET statement_timeout")
            return
        c.send(b"Q", sql.encode() + b"\0")
        time.sleep(self.random.random() * 0.05)
        # a cancel request that comes before its statement is for nothing: the session is asked until it has ended
        over = threading.Event()

        def ask() -> None:
            while not over.is_set():
                try:
                    c.cancel()
                except OSError:
                    return
                over.wait(0.05)

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        try:
            c.until_ready()
        finally:
            over.set()
            asking.join()

    def transaction(self, c: pgwire.Connection) -> None:
        r = self.random
        self.expect(c, f"BEGIN; UPDATE data SET n = n + 1 WHERE id = {r.randrange(ROWS) + 1}; SAVEPOINT a; DELETE FROM data WHERE id < 50; "
                       f"ROLLBACK TO a; SELECT count(*) FROM data; {r.choice(['COMMIT', 'ROLLBACK'])}")

    def natives(self, c: pgwire.Connection) -> None:
        n = self.random.randrange(10**6)
        self.expect(c, f"SELECT regexp_replace(s, '{n}|[0-9]', 'x', 'g'), to_tsvector('english', s), md5(s) FROM data LIMIT 50")
        self.expect(c, f"SELECT length(string_agg(s, ',')), jsonb_agg(j) -> {n % 100}, array_agg(n) FROM data")


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--seconds", type=int, default=3600)
    args.add_argument("--clients", type=int, default=6)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--only", nargs="*", default=[], help="actions (methods of Client)")
    a = args.parse_args()
    failed = 0
    port = server.free_port()
    with server.Server("--metrics-addr", f"127.0.0.1:{port}") as s:
        first = pgwire.Connection(s.dir, s.port, "postgres", "main", timeout=60)
        for statement in SETUP.strip().split(";\n"):
            first.query(statement)
        began = time.monotonic()
        clients = [Client(s, n, a.seed, began + a.seconds, a.only) for n in range(a.clients)]
        for client in clients:
            client.start()
        samples: list[tuple[float, float, float, float]] = []
        told = 0.0
        while any(c.is_alive() for c in clients) and time.monotonic() < began + a.seconds + 60:
            time.sleep(min(1.0, a.seconds / 100))
            now, own = resident(s)
            samples.append((time.monotonic() - began, now, allocated(port), own))
            if samples[-1][0] - told >= a.seconds / 12:
                told = samples[-1][0]
                print(f"{told:6.0f} s: {samples[-1][1]:.1f} MiB resident, {samples[-1][2]:.1f} MiB allocated, {sum(c.done for c in clients)} actions", flush=True)
            if any(c.error for c in clients):
                break
        for client in clients:
            if client.error:
                failed += 1
                print(f"FAILED: {client.error}")

        def within(begin: float, end: float, which: int) -> list[float]:
            return [sample[which] for sample in samples if begin * a.seconds <= sample[0] <= end * a.seconds] or [0.0]

        for what, which, measure in (("allocated", 2, statistics.median), ("resident, at the lowest", 1, min)):
            early, middle, late = (measure(within(*part, which)) for part in ((0.1, 0.24), (0.4, 0.54), (0.86, 1.1)))
            grown = late > early * GROWTH + SLACK
            failed += grown
            print(f"{'FAILED: ' if grown else ''}{what}: {early:.1f} MiB after a sixth of {a.seconds} s, {middle:.1f} after a half, {late:.1f} at the end")
        # (the most that was ever allocated: no sample need have seen it)
        most, bound = max(within(0.1, 1.1, 3)), (allocated(port, "pgsqlite_memory_peak_bytes") * 1.5 + 64) * GROWTH
        failed += most > bound
        print(f"{'FAILED: ' if most > bound else ''}resident and of no file, at the highest: {most:.1f} MiB of {bound:.1f}")
        print(f"{sum(c.done for c in clients)} actions of {a.clients} clients; the file has {pathlib.Path(s.database).stat().st_size >> 20} MiB")
    print(f"{1 - min(failed, 1)} passed, {min(failed, 1)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
