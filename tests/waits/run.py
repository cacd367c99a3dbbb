#!/usr/bin/env python3
"""Sessions that wait for others: what they hold meanwhile, what ends the wait, and what is looked at again after it.

    tests/waits/run.py --check [--all] [WORD…]             # against pgsqlite ($PGSQLITE_BIN, else the newest build)
    tools/oracle.sh tests/waits/run.py --record            # writes what PostgreSQL 15 answers into expected.json

`schema_changes.py` generates the cases whose answers are recorded; `situations.py` and `informix.py` are scripts about pgsqlite's own resources
(pool, writer slot, log), with PostgreSQL's answers where PostgreSQL has them; `deadlocks.py` lets sessions wait for each other at random, `ordered.py`
lets them take rows in one order, where no cycle can come about.
`--all` runs every generated case, and more at random, else a fixed part of them; words choose cases whose name has one of them.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib"), str(HERE)]

import deadlocks  # noqa: E402
import informix  # noqa: E402, F401
import ordered  # noqa: E402
import pgwire  # noqa: E402
import schema_changes  # noqa: E402
import server  # noqa: E402
import situations  # noqa: E402

EXPECTED = HERE / "expected.json"
# name of a case → why it differs
DIFFERENT = HERE / "differences.json"


def run_cases(connect, names: list[tuple[str, str, str]], expected: dict[str, list[str]] | None) -> dict[str, list[str]]:
    results, wrong = {}, 0
    setup = connect("postgres")
    setup.simple("CREATE ROLE waits_user LOGIN")
    case = schema_changes.Case(connect)
    known = json.loads(DIFFERENT.read_text()) if DIFFERENT.exists() else {}
    for name in names:
        key = " / ".join(name)
        try:
            got = case.run(*name)
        except RuntimeError as error:
            got = [str(error)]
        results[key] = got
        if expected is None:
            continue
        if got != expected[key] and key not in known:
            wrong += 1
            print(f"{key}\n  PostgreSQL: " + "\n              ".join(expected[key]) + "\n  pgsqlite:   " + "\n              ".join(got))
        elif got == expected[key] and key in known:
            wrong += 1
            print(f"{key}: is as in PostgreSQL now, take it out of {DIFFERENT.name}")
    if expected is not None:
        listed = sum(" / ".join(n) in known for n in names)
        print(f"tests/waits: {len(names)} schema changes beside a waiting statement, {wrong} wrong, {listed} known to differ")
        if wrong:
            sys.exit(1)
    return results


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--save", help="write the results to this file")
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_args()
    names = schema_changes.cases()
    if arguments.words:
        names = [n for n in names if any(w in " / ".join(n) for w in arguments.words)]
    if arguments.record:
        host, port = os.environ["PGHOST"], int(os.environ["PGPORT"])
        results = run_cases(lambda user: pgwire.Connection(host, port, user, "postgres"), names, None)
        before = json.loads(EXPECTED.read_text()) if EXPECTED.exists() and arguments.words else {}
        lines = (f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in {**before, **results}.items())
        EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return
    if not arguments.words:
        situations.run()
        deadlocks.run(8, 40, seed=1)
        ordered.run(8, 60, seed=1)
        for seed in range(2, 8) if arguments.all else ():
            deadlocks.run(16, 100, seed)
            ordered.run(16, 200, seed)
    if not arguments.all and not arguments.words:
        names = names[:: 11]
    expected = json.loads(EXPECTED.read_text())
    with server.Server("--idle-writer-timeout", "0") as running:
        connect = lambda user: pgwire.Connection(running.dir, running.port, user, "main")  # noqa: E731
        results = run_cases(connect, names, None if arguments.save else expected)
        if arguments.save:
            pathlib.Path(arguments.save).write_text(json.dumps(results, indent=0, ensure_ascii=False))


if __name__ == "__main__":
    main()
