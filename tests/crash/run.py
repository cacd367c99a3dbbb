#!/usr/bin/env python3
"""kill -9 during concurrent writes: what the server acknowledged must be in the file afterwards, and the file must be sound.

    run.py [--rounds N] [--writers N]

Each round starts the server on the same file, lets writers insert rows (single statements and transactions of three rows), kills the
server at a random moment, and reads the file with SQLite itself: every acknowledged row is there, no transaction is there in part, and
`PRAGMA integrity_check` says ok. Sequences give no value a second time, whether rows (`number`, unique) or clients (`given`) have it.
Writers ask for the numbers of their transactions, and an asker for the status of those numbers meanwhile: `pg_xact_status` says `committed` only of
what is in the file after the crash, never says `aborted` of it, and the restarted server knows of every number which of the two it is. The moments
differ from run to run; the seed is printed.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import sqlite3
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import life  # noqa: E402
import pgwire  # noqa: E402
import server  # noqa: E402


def writer(s: server.Server, number: int, first: int, acknowledged: list[int], numbers: dict[str, int], problems: list[str]) -> None:
    """Inserts rows numbered from `first` on until the server dies; `acknowledged` gets those it confirmed, `numbers` a row by its transaction's number."""
    try:
        c = pgwire.Connection(s.dir, s.port, "postgres", "main")
        key = first
        while True:
            if key % 2:
                sql, keys = f"INSERT INTO w VALUES ({key}, {number}, 1)", [key]
            else:
                keys = [key + 100_000, key + 200_000, key + 300_000]
                sql = "".join(f"INSERT INTO w VALUES ({k}, {number}, 3);" for k in keys)
                if key % 4:
                    sql = f"BEGIN;{sql}COMMIT"
                else:
                    c.query("BEGIN")
                    numbers[c.query("SELECT pg_current_xact_id()")[0][0]] = keys[0]
                    sql += "ROLLBACK" if key % 16 == 0 else "COMMIT"
                    if key % 16 == 0:
                        keys = []
            messages = c.simple(sql)
            errors = [pgwire.fields_of(b) for k, b in messages if k == b"E"]
            if errors:
                # A server that is being killed may say so; any other error is one.
                if errors[0].get("C") not in ("57P01", "57P02"):
                    problems.append(f"{sql}: {errors[0]}")
                return
            acknowledged += keys
            key += 1
    except (pgwire.ServerGone, pgwire.StartupError, OSError):
        return


def asker(s: server.Server, numbers: dict[str, int], told: dict[str, str], problems: list[str]) -> None:
    """Asks what became of the last transactions until the server dies; `told` gets what was said last of each."""
    try:
        c = pgwire.Connection(s.dir, s.port, "postgres", "main")
        while True:
            for number in list(numbers)[-6:]:
                said = c.query(f"SELECT pg_xact_status('{number}')")[0][0]
                before = told.setdefault(number, said)
                if before not in (said, "in progress"):
                    problems.append(f"transaction {number} is {before}, and then {said}")
                told[number] = said
            time.sleep(0.002)
    except (pgwire.ServerGone, pgwire.StartupError, OSError):
        return
    except RuntimeError as e:
        if not str(e).startswith(("57P01", "57P02")):
            problems.append(f"pg_xact_status: {e}")


def taker(s: server.Server, taken: list[int], problems: list[str]) -> None:
    """Takes values of a sequence, which no row keeps, until the server dies."""
    try:
        c = pgwire.Connection(s.dir, s.port, "postgres", "main")
        while True:
            taken.append(int(c.query("SELECT nextval('given')")[0][0]))
    except (pgwire.ServerGone, pgwire.StartupError, OSError):
        return
    except RuntimeError as e:
        if not str(e).startswith(("57P01", "57P02")):
            problems.append(f"nextval: {e}")


def main() -> int:
    a, rng = life.arguments(__doc__, rounds=20, writers=4)
    directory = tempfile.mkdtemp(prefix="pgsqlite-crash.")
    database = os.path.join(directory, "main.db")
    passed = failed = 0
    everything: set[int] = set()
    given: set[int] = set()
    base = 1_000_000
    try:
        for round_number in range(a.rounds):
            s = server.Server(directory=directory, database=database)
            if round_number == 0:
                c = pgwire.Connection(s.dir, s.port, "postgres", "main")
                c.query("CREATE TABLE w (id int8 PRIMARY KEY, writer int NOT NULL, size int NOT NULL, number bigserial UNIQUE)")
                c.query("CREATE SEQUENCE given")
                c.close()
            lists: list[list[int]] = [[] for _ in range(a.writers)]
            numbers: dict[str, int] = {}
            told: dict[str, str] = {}
            problems: list[str] = []
            threads = []
            for i in range(a.writers):
                base += 1_000_000
                threads.append(threading.Thread(target=writer, args=(s, i, base, lists[i], numbers, problems)))
            threads.append(threading.Thread(target=asker, args=(s, numbers, told, problems)))
            taken: list[int] = []
            threads.append(threading.Thread(target=taker, args=(s, taken, problems)))
            for t in threads:
                t.start()
            life.live(rng, lambda: any(lists) or bool(problems))
            s.kill()
            for t in threads:
                t.join()
            new = {k for keys in lists for k in keys}
            everything |= new
            again = len(taken) - len(set(taken) - given)
            given |= set(taken)
            integrity = life.integrity(database)
            db = sqlite3.connect(database)
            there = {k for (k,) in db.execute("SELECT id FROM w")}
            torn = db.execute("SELECT count(*) FROM (SELECT id % 100000 k, id / 1000000 m FROM w WHERE size = 3 GROUP BY 1, 2 HAVING count(*) <> 3)").fetchone()[0]
            db.close()
            lost = everything - there
            s = server.Server(directory=directory, database=database)
            c = pgwire.Connection(s.dir, s.port, "postgres", "main")
            for number, key in numbers.items():
                expected = "committed" if key in there else "aborted"
                for said in (told.get(number, "in progress"), c.query(f"SELECT txid_status({number})")[0][0]):
                    if said not in (expected, "in progress"):
                        problems.append(f"transaction {number} is {said}, and its rows say {expected}")
                if said != expected:
                    problems.append(f"transaction {number} is {said} after the restart")
            c.close()
            s.kill()
            good = integrity == "ok" and not lost and not torn and not again and not problems and new and numbers
            passed, failed = passed + bool(good), failed + (not good)
            print(
                f"round {round_number + 1}: {len(new)} rows acknowledged, {len(lost)} lost, {torn} torn, {len(taken)} numbers given, {again} twice, {len(numbers)} transactions asked for, {len(told)} meanwhile, integrity {integrity}"
                + (f", problems {problems[:2]}" if problems else "") + ("" if new else ", NOTHING WAS WRITTEN")
            )  # fmt: skip
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
