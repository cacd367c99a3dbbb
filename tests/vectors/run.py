#!/usr/bin/env python3
"""Indexes for nearest values against exact answers: at default settings, while rows change, and after REINDEX.

    run.py [--rows N] [--dimensions D]

The values are points around some hundred places, as embeddings of texts are, from a fixed seed. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402

WANTED = 0.95
#: By products, whose largest values are far from all centers.
WANTED_BY_PRODUCT = 0.9


class Test:
    def __init__(self, rows: int, dimensions: int):
        self.rng = random.Random(19)
        self.dimensions, self.rows = dimensions, rows
        self.places = [[self.rng.gauss(0, 1) for _ in range(dimensions)] for _ in range(200)]
        self.passed = self.failed = 0

    def value(self) -> str:
        place = self.rng.choice(self.places)
        return "[" + ",".join(f"{x + self.rng.gauss(0, 0.5):.4f}" for x in place) + "]"

    def check(self, what: str, ok: bool) -> None:
        self.passed += ok
        self.failed += not ok
        print(("ok      " if ok else "FAILED  ") + what)

    def recall(self, c: pgwire.Connection, operator: str, queries: int = 20, limit: int = 10) -> float:
        """The part of the nearest rows that are found; the exact answer is that of a query with a condition, which reads all rows."""
        found = 0
        for _ in range(queries):
            order = f"ORDER BY e {operator} '{self.value()}' LIMIT {limit}"
            exact = {r[0] for r in c.query(f"SELECT id FROM t WHERE id IS NOT NULL {order}")}
            by_index = [r[0] for r in c.query(f"SELECT id FROM t {order}")]
            assert len(by_index) == limit, "a limit was not reached"
            found += len(exact & set(by_index))
        return found / (queries * limit)

    def copy(self, c: pgwire.Connection, first: int, rows: int) -> None:
        data = "".join(f"{i}\t{self.value()}\n" for i in range(first, first + rows))
        c.simple("COPY t (id, e) FROM STDIN", data.encode())

    def run(self, c: pgwire.Connection) -> None:
        c.query("CREATE EXTENSION vector")
        c.query(f"CREATE TABLE t (id int PRIMARY KEY, e vector({self.dimensions}))")
        self.copy(c, 0, self.rows)
        for method in ("hnsw", "ivfflat"):
            for metric, operator in (("l2", "<->"), ("cosine", "<=>"), ("ip", "<#>")):
                c.query(f"CREATE INDEX i ON t USING {method} (e vector_{metric}_ops)")
                plan = "\n".join(r[0] or "" for r in c.query(f"EXPLAIN SELECT id FROM t ORDER BY e {operator} '{self.value()}' LIMIT 10"))
                self.check(f"{method} by {operator}: the plan names the index", " on i" in plan)
                recall = self.recall(c, operator)
                self.check(f"{method} by {operator}: recall@10 is {recall:.3f}", recall >= (WANTED_BY_PRODUCT if operator == "<#>" else WANTED))
                c.query("DROP INDEX i")
        c.query("CREATE INDEX i ON t USING hnsw (e vector_l2_ops)")
        # rows that come, change and go
        self.copy(c, self.rows, self.rows // 2)
        c.query("DELETE FROM t WHERE id % 7 = 0")
        for i in range(1, 200):
            c.query(f"UPDATE t SET e = '{self.value()}' WHERE id = {i}")
        recall = self.recall(c, "<->")
        self.check(f"after INSERT, UPDATE and DELETE recall@10 is {recall:.3f}", recall >= WANTED)
        c.query("BEGIN")
        c.query("DELETE FROM t WHERE id % 2 = 0")
        self.copy(c, 10_000_000, 200)
        c.query("ROLLBACK")
        count = int(c.query("SELECT count(*) FROM t")[0][0] or 0)
        everything = c.query(f"SELECT id FROM t ORDER BY e <-> '{self.value()}' LIMIT {count + 10}")
        self.check("a limit beyond the table returns all rows", len(everything) == count)
        c.query("REINDEX INDEX i")
        recall = self.recall(c, "<->")
        self.check(f"after REINDEX recall@10 is {recall:.3f}", recall >= WANTED)
        c.query("SET hnsw.ef_search = 200")
        recall = self.recall(c, "<->")
        self.check(f"with hnsw.ef_search = 200 recall@10 is {recall:.3f}", recall == 1)
        target = self.value()
        c.query(f"INSERT INTO t VALUES (-1, '{target}'), (-2, NULL)")
        nearest = c.query(f"SELECT id FROM t ORDER BY e <-> '{target}' LIMIT 1")
        self.check("a new row is found at once", nearest == [["-1"]])


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--rows", type=int, default=2500)
    args.add_argument("--dimensions", type=int, default=24)
    a = args.parse_args()
    test = Test(a.rows, a.dimensions)
    with server.Server() as s:
        c = pgwire.Connection(s.dir, s.port, "postgres", "main", timeout=600)
        test.run(c)
        c.close()
    print(f"{test.passed} passed, {test.failed} failed")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
