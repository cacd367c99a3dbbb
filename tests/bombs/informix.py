#!/usr/bin/env python3
"""Statements of Informix clients that take long: each ends soon after it is told to, and keeps nobody else waiting.

The driver interrupts (SQLI's urgent byte) by itself or by its time-out, the server by `statement_timeout`, `pg_terminate_backend` and
SIGTERM. Another Informix session and one of PostgreSQL's protocol look up keys meanwhile. Bounds of time are the contract; those of
`make test` are generous.
"""

from __future__ import annotations

import argparse
import pathlib
import signal
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "lib"))
sys.path.insert(0, str(ROOT / "informix-db" / "src"))
import informix_db  # noqa: E402
import server  # noqa: E402
from pgwire import Connection  # noqa: E402

SETUP = """
CREATE TABLE keys (id int PRIMARY KEY, v varchar(40));
INSERT INTO keys SELECT g, 'v' || g FROM generate_series(1, 1000) g;
CREATE TABLE t (i int);
INSERT INTO t SELECT generate_series(1, 5000);
CREATE TABLE w (n bigint);
CREATE VIEW endless AS SELECT a.i FROM t AS a, t AS b, t AS c, t AS d;
CREATE FUNCTION slow(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN LOOP NULL; END LOOP; END';
CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM count(*) FROM endless; RETURN NEW; END';
CREATE TABLE triggered (i int);
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON triggered DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION late();
"""

STATEMENTS = {
    "cross join": "SELECT COUNT(*) FROM t a, t b, t c",
    "rows": "SELECT a.i FROM t a, t b, t c",
    "sorted rows": "SELECT a.i FROM t a, t b, t c ORDER BY 1",
    "function": "SELECT slow(id) FROM keys WHERE id = 5",
    "string": "SELECT LENGTH(RPAD('x', 250000000, 'abc')) FROM keys WHERE id = 1",
    "insert of a select": "INSERT INTO w SELECT a.i FROM t a, t b, t c",
    "update": "UPDATE keys SET v = (SELECT COUNT(*) FROM t a, t b, t c)",
    "delete": "DELETE FROM w WHERE n = (SELECT COUNT(*) FROM t a, t b, t c)",
    "into temp": "SELECT a.i FROM t a, t b, t c INTO TEMP made",
    "deferred trigger": "INSERT INTO triggered VALUES (1)",
    "group by": "SELECT a.i * b.i, COUNT(*) FROM t a, t b, t c GROUP BY 1",
}
WAYS = ("cancel", "timeout", "terminate")


def look_up(connect, stop: threading.Event, waits: list[float], errors: list[str]) -> None:
    try:
        look = connect()
        n = 0
        while not stop.is_set():
            n = n % 1000 + 1
            began = time.monotonic()
            found = look(n)
            waits.append(time.monotonic() - began)
            if found != f"v{n}":
                errors.append(f"{found} for the key {n}")
            time.sleep(0.005)
    except Exception as e:  # noqa: BLE001
        errors.append(f"{type(e).__name__}: {e}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="statements whose name contains this")
    parser.add_argument("--limit", type=float, default=0.2, help="seconds until a statement is ended")
    parser.add_argument("--end", type=float, default=2.0, help="seconds in which it then has to end")
    parser.add_argument("--worst", type=float, default=0.5, help="the longest that another session may wait")
    parser.add_argument("-v", action="store_true")
    a = parser.parse_args()
    passed = failed = 0

    def report(name: str, late: float, faults: list[str]) -> None:
        nonlocal passed, failed
        passed, failed = passed + (not faults), failed + bool(faults)
        if faults or a.v:
            print(f"{'FAILED' if faults else 'ok'}: {name}: late by {late * 1000:.0f} ms {'; '.join(faults)}", flush=True)

    port = server.free_port()
    with server.Server("--sqli-port", str(port), "--auth", "trust", "--shutdown-timeout", "1") as s:
        admin = Connection(s.dir, s.port, "postgres", "postgres", timeout=60)
        for statement in SETUP.strip().split(";\n"):
            admin.query(statement)

        def informix():
            return informix_db.connect("127.0.0.1", port, user="postgres", password="x", database="main", autocommit=True)

        def by_informix():
            conn = informix()
            return lambda n: conn.cursor().execute("SELECT v FROM keys WHERE id = ?", (n,)).fetchall()[0][0]

        def by_postgres():
            conn = Connection(s.dir, s.port, "postgres", "postgres", timeout=60)
            return lambda n: conn.query(f"SELECT v FROM keys WHERE id = {n}")[0][0]

        stop, waits, errors = threading.Event(), [], []
        others = [threading.Thread(target=look_up, args=(c, stop, waits, errors), daemon=True) for c in (by_informix, by_postgres)]
        for other in others:
            other.start()

        def explode(name: str, sql: str, way: str) -> tuple[float, list[str]]:
            faults: list[str] = []
            conn = informix()
            if conn.cursor().execute("SELECT v FROM keys WHERE id = 1").fetchall() != [("v1",)]:
                faults.append("no answer before")
            pid = admin.query("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() ORDER BY backend_start DESC LIMIT 1")[0][0]
            waits.clear()
            told = [time.monotonic() + a.limit]

            def tell() -> None:
                told[0] = time.monotonic()
                if way == "cancel":
                    # between two fetches nothing runs that could be canceled
                    while not conn.cancel() and not conn.closed:
                        time.sleep(0.001)
                elif way == "terminate":
                    admin.query(f"SELECT pg_terminate_backend({pid})")

            timer = threading.Timer(a.limit, tell)
            if way != "timeout":
                timer.start()
            try:
                cursor = conn.cursor()
                cursor.execute(sql, timeout=a.limit) if way == "timeout" else cursor.execute(sql)
                for _ in cursor:
                    pass
                faults.append("has ended by itself")
            except informix_db.Error as e:
                # each fetch of "rows" is short: an interrupt that comes after it closes the connection, as the driver's manual says
                if conn.closed and way != "terminate" and (way, name) != ("cancel", "rows"):
                    faults.append(f"lost its connection: {e}")
            late = max(0.0, time.monotonic() - told[0])
            timer.cancel()
            if timer.ident is not None:
                # its request may not be answered yet, and others ask on the same connection
                timer.join()
            if late > a.end:
                faults.append("ends late")
            if max(waits, default=0) > a.worst:
                faults.append(f"others waited {max(waits) * 1000:.0f} ms")
            if way != "terminate" and not faults and not conn.closed:
                try:
                    if conn.cursor().execute("SELECT v FROM keys WHERE id = 2").fetchall() != [("v2",)]:
                        faults.append("the session does not go on")
                except informix_db.Error as e:
                    # (the late interrupt may be met by this statement first)
                    if (way, name) != ("cancel", "rows"):
                        faults.append(f"the session does not go on: {e}")
            conn.close()
            if errors:
                faults.append(f"others: {errors}")
            return late, faults

        chosen = {name: sql for name, sql in STATEMENTS.items() if a.only in name}
        for name, sql in chosen.items():
            for way in WAYS:
                # (the driver's time-out ends at the first rows)
                if way == "timeout" and name == "rows":
                    continue
                # the bounds of time are the contract: one slow moment of the machine is looked at once more
                late, faults = explode(name, sql, way)
                if faults and not errors:
                    late, faults = explode(name, sql, way)
                report(f"{name}, {way}", late, faults)
        # a cursor with rows to come is left open: what the session does meanwhile does not wait until they are all read …
        if a.only in "rows left open":
            conn = informix()
            rows = conn.cursor()
            rows.execute(STATEMENTS["rows"])
            first, began = rows.fetchone(), time.monotonic()
            found = conn.cursor().execute("SELECT v FROM keys WHERE id = 3").fetchall()
            late = max(0.0, time.monotonic() - began)
            faults = [] if (first, found, rows.fetchone()) == ((1,), [("v3",)], (1,)) else ["a wrong answer"]
            report("rows left open, another query", late, faults + ["ends late"] * (late > a.end))
            # … and a change, which ends the transaction that they are read in, can be ended while it has them read
            began = time.monotonic()
            try:
                conn.cursor().execute("INSERT INTO w VALUES (1)", timeout=a.limit)
                faults = ["has ended by itself"]
            except informix_db.Error as e:
                faults = [f"lost its connection: {e}"] if conn.closed else []
            late = max(0.0, time.monotonic() - began - a.limit)
            report("rows left open, a change", late, faults + ["ends late"] * (late > a.end))
            conn.close()
        left = {table: admin.query(f"SELECT count(*) FROM {table}")[0][0] for table in ("w", "triggered")}
        if set(left.values()) != {"0"}:
            report("what was ended leaves nothing behind", 0, [f"rows are left: {left}"])
        stop.set()
        for other in others:
            other.join()
        # SIGTERM ends what runs after the time it lets statements finish
        conn = informix()
        running = threading.Thread(target=lambda: _swallow(lambda: conn.cursor().execute(STATEMENTS["cross join"]).fetchall()), daemon=True)
        running.start()
        time.sleep(a.limit)
        told = time.monotonic()
        s.process.send_signal(signal.SIGTERM)
        try:
            s.process.wait(20)
            late = max(0.0, time.monotonic() - told - 1)
            report("SIGTERM", late, ["ends late"] if late > a.end else [])
        except Exception:  # noqa: BLE001
            report("SIGTERM", 20, ["the server has not stopped"])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def _swallow(run) -> None:
    try:
        run()
    except Exception:  # noqa: BLE001
        pass


if __name__ == "__main__":
    sys.exit(main())
