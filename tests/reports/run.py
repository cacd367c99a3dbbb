"""The queries of TPC-H, of the Star Schema Benchmark (scale 0.01) and of a second set: the rows that PostgreSQL 15 gives.

    python3 tests/reports/run.py                                   pgsqlite's answers against answers.txt
    PGSQLITE_HASH_JOINS=always python3 tests/reports/run.py        the same with all joins hashed that can be
    PGSQLITE_GATHER=always python3 tests/reports/run.py            the same with all rows divided that can be
    tools/oracle.sh python3 tests/reports/run.py --record          writes answers.txt from PostgreSQL's

An answer is its number of rows, a hash of all rows in their order, and the first rows in full.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402

import data  # noqa: E402

ANSWERS = HERE / "answers.txt"
SCALE = "0.01"
#: events of the second set
ROWS = 10_000
#: seconds that one query may take in a debug build on a busy machine
PATIENCE = 120
#: what EXPLAIN names in the plans of some queries
NODES = {"Q1": ["HashAggregate"]}
#: and where joins are hashed
HASHED = {"Q3": ["Hash Join", "->  Hash"], "outer": ["Hash Left Join", "->  Hash"]}
#: queries that are explained alone. Q13's orders are grouped before they are joined; these are not, because a sum may fail
EXPLAINED = {
    "outer": "SELECT c_custkey, sum(o_totalprice) FROM customer LEFT JOIN orders ON c_custkey = o_custkey GROUP BY c_custkey",
}
#: rows that are written in full
SHOWN = 5


def answers(connection: pgwire.Connection) -> dict[str, str]:
    data.load(connection, data.generated(SCALE))
    data.load_mixed(connection, ROWS)
    connection.query(f"SET statement_timeout = '{PATIENCE}s'")
    out = {}
    for name, text in (data.queries() | data.mixed_queries()).items():
        rows = ["|".join("NULL" if value is None else value for value in row) for row in connection.query(text)]
        digest = hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]
        out[name] = "\n".join([f"{len(rows)} rows, {digest}", *rows[:SHOWN]])
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="take the answers from the PostgreSQL that PGHOST names")
    if parser.parse_args().record:
        connection = pgwire.from_environment("postgres")
        given = answers(connection)
        ANSWERS.write_text("".join(f"=== {name}\n{answer}\n\n" for name, answer in given.items()))
        return 0
    parts = [part.split("\n", 1) for part in re.split("^=== ", ANSWERS.read_text(), flags=re.M)[1:]]
    wanted = {name: answer.rstrip("\n") for name, answer in parts}
    pgsqlite = server.Server()
    missing = []
    try:
        connection = pgwire.Connection(pgsqlite.dir, pgsqlite.port, "postgres", "main", timeout=10 * PATIENCE)
        given = answers(connection)
        for name, nodes in (NODES | (HASHED if os.environ.get("PGSQLITE_HASH_JOINS") == "always" else {})).items():
            text = (data.queries() | EXPLAINED)[name]
            plan = "\n".join(row[0] or "" for row in connection.query(f"EXPLAIN {text}"))
            missing += [f"EXPLAIN of {name} does not name {node}:\n{plan}" for node in nodes if node not in plan]
    finally:
        pgsqlite.stop()
    print("\n".join(missing), end="\n" if missing else "")
    different = [name for name in wanted if given.get(name) != wanted[name]]
    for name in different:
        print(f"{name}: PostgreSQL gives\n{wanted[name]}\npgsqlite gives\n{given.get(name)}\n")
    print(f"reports: {len(wanted) - len(different)} of {len(wanted)} queries give PostgreSQL's rows")
    return 1 if different or missing else 0


if __name__ == "__main__":
    sys.exit(main())
