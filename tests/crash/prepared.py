#!/usr/bin/env python3
"""kill -9 while transactions are prepared, finished, and put aside: what the server said of each holds afterwards.

    prepared.py [--rounds N] [--workers N] [--seed N]

Each worker adds one to a row, inserts its identifier into a table, prepares that, and mostly has some session finish it; others have
blocks open in which they have changed rows, and say nothing. The server is killed at a random moment and started again. Of each
transaction that was prepared it then has just one of three states: prepared (its row is locked, nothing of it is seen), committed (all of it is
seen), or rolled back (nothing of it is seen or locked); and it is the state that the server had acknowledged, or one on the way to which a
statement was when the server died. What was open and not prepared is gone. The moments differ from run to run; the seed is printed.
"""

from __future__ import annotations

import os
import pathlib
import random
import shutil
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import life  # noqa: E402
import pgwire  # noqa: E402
import server  # noqa: E402

ROWS = 60
GONE, PREPARED, COMMITTED = "gone", "prepared", "committed"


class Ledger:
    """What may have become of each transaction: the states in which it may be found."""

    def __init__(self) -> None:
        self.may: dict[str, set[str]] = {}
        self.problems: list[str] = []
        self.finished = 0

    def free(self, gid: str) -> bool:
        """Whether a transaction is prepared, and nobody is about to finish it."""
        return self.may.get(gid) == {PREPARED}


def told(messages: list[tuple[bytes, bytes]]) -> str:
    """The SQLSTATE of the first error; an empty string for none."""
    return next((pgwire.fields_of(body)["C"] for kind, body in messages if kind == b"E"), "")


def worker(s: server.Server, ledger: Ledger, name: str, rng: random.Random) -> None:
    """Prepares transactions and finishes them, until the server dies."""
    try:
        c = pgwire.Connection(s.dir, s.port, "postgres", "main")
        c.query("SET lock_timeout = '20ms'")
        for count in range(100_000):
            gid, row = f"{name}-{count}", rng.randrange(ROWS)
            c.query("BEGIN")
            state = told(c.simple(f"UPDATE p SET v = v + 1 WHERE id = {row}; INSERT INTO made VALUES ('{gid}', {row})"))
            if state:
                c.query("ROLLBACK")
                if state not in ("55P03", "57P01"):
                    ledger.problems.append(f"{gid}: {state}")
                    return
            else:
                ledger.may[gid] = {GONE, PREPARED}
                state = told(c.simple(f"PREPARE TRANSACTION '{gid}'"))
                ledger.may[gid] = {GONE if state else PREPARED}
                if state not in ("", "53200", "55P03", "57P01"):
                    ledger.problems.append(f"PREPARE {gid}: {state}")
                    return
            free = [g for g in list(ledger.may)[-200:] if ledger.free(g)]
            if free and rng.random() < 0.8:
                finish(c, ledger, rng.choice(free), rng.random() < 0.7)
    except (pgwire.ServerGone, pgwire.StartupError, OSError):
        return
    except RuntimeError as e:
        if not str(e).startswith(("57P01", "57P02")):
            ledger.problems.append(str(e))


def finish(c: pgwire.Connection, ledger: Ledger, gid: str, commits: bool) -> None:
    """COMMIT PREPARED or ROLLBACK PREPARED; another session may be at it already, and be first."""
    after = COMMITTED if commits else GONE
    ledger.may[gid] = ledger.may[gid] | {after}
    state = told(c.simple(f"{'COMMIT' if commits else 'ROLLBACK'} PREPARED '{gid}'"))
    if not state:
        ledger.may[gid] = {after}
        ledger.finished += 1
    elif state not in ("42704", "55000", "55P03", "57P01"):
        ledger.problems.append(f"finishing {gid}: {state}")


def silent(s: server.Server, ledger: Ledger, row: int, stop: threading.Event) -> None:
    """Has changed a row that nobody else wants, and says nothing: it is put aside by the others."""
    try:
        c = pgwire.Connection(s.dir, s.port, "postgres", "main")
        c.query("BEGIN")
        c.query(f"UPDATE p SET v = -1000 WHERE id = {row}")
        stop.wait(30)
        c.close()
    except (pgwire.ServerGone, pgwire.StartupError, OSError, RuntimeError):
        return


def judge(s: server.Server, ledger: Ledger) -> None:
    """After a crash: each transaction is in one of the states that it may have."""
    c = pgwire.Connection(s.dir, s.port, "postgres", "main")
    prepared = {gid for (gid,) in c.query("SELECT gid FROM pg_prepared_xacts")}
    made = dict(c.query("SELECT gid, row FROM made"))
    for gid, may in ledger.may.items():
        found = PREPARED if gid in prepared else COMMITTED if gid in made else GONE
        if gid in prepared and gid in made:
            ledger.problems.append(f"{gid} is prepared, and seen")
        if found not in may:
            ledger.problems.append(f"{gid} is {found}, and may only be {sorted(may)}")
        ledger.may[gid] = {found}
    if strangers := (prepared | set(made)) - set(ledger.may):
        ledger.problems.append(f"nobody has made {sorted(strangers)[:5]}")
    added, below = c.query("SELECT sum(v), count(*) FILTER (WHERE v < 0) FROM p")[0]
    if int(added) != len(made) or below != "0":
        ledger.problems.append(f"{added} was added by {len(made)} transactions, and {below} rows have what was not committed")
    free = int(c.query("SELECT count(*) FROM (SELECT FROM p FOR UPDATE SKIP LOCKED) x")[0][0])
    if free != ROWS * 2 - len(prepared):
        ledger.problems.append(f"{free} of {ROWS * 2} rows are free while {len(prepared)} transactions are prepared")
    c.close()


def main() -> int:
    a, rng = life.arguments(__doc__, rounds=12, workers=5)
    directory = tempfile.mkdtemp(prefix="pgsqlite-crash.")
    database = os.path.join(directory, "main.db")
    ledger = Ledger()
    passed = 0
    try:
        for round_number in range(a.rounds):
            s = server.Server(directory=directory, database=database)
            if round_number == 0:
                c = pgwire.Connection(s.dir, s.port, "postgres", "main")
                c.query("CREATE TABLE p (id int PRIMARY KEY, v int NOT NULL)")
                c.query(f"INSERT INTO p SELECT g, 0 FROM generate_series(0, {ROWS * 2 - 1}) g")
                c.query("CREATE TABLE made (gid text PRIMARY KEY, row int NOT NULL REFERENCES p)")
                c.close()
            before, stop = ledger.finished, threading.Event()
            threads = [threading.Thread(target=silent, args=(s, ledger, ROWS + i, stop)) for i in range(6)]
            for i in range(a.workers):
                own = random.Random(rng.random())
                threads.append(threading.Thread(target=worker, args=(s, ledger, f"{round_number}-{i}", own)))
            for t in threads:
                t.start()
            life.live(rng, lambda: ledger.finished >= before + 3 or bool(ledger.problems))
            s.kill()
            stop.set()
            for t in threads:
                t.join()
            if (found := life.integrity(database)) != "ok":
                ledger.problems.append(found)
            s = server.Server(directory=directory, database=database)
            judge(s, ledger)
            s.stop()
            states = [next(iter(may)) for may in ledger.may.values()]
            counts = ", ".join(f"{states.count(state)} {state}" for state in (PREPARED, COMMITTED, GONE))
            print(f"round {round_number + 1}: {counts}")
            if ledger.problems:
                print("\n".join(ledger.problems[:20]))
                break
            passed += 1
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print(f"tests/crash: {passed} rounds of prepared transactions passed, {a.rounds - passed} failed")
    return passed != a.rounds


if __name__ == "__main__":
    sys.exit(main())
