#!/usr/bin/env python3
"""Statements by chance, on pgsqlite and on PostgreSQL 15, answer by answer.

    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/run.py --statements 1500       the fixed part of `make test`
    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/run.py --seconds 600 --seed N  as long as one likes

Each round makes a schema with rows, the same on both servers, and asks both the same statements; changes are rolled back
after the changed table was compared. A statement whose answers differ is made smaller for as long as they differ, and
printed with what both said. `rules.py` names the differences that stay. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import re
import sys
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "lib"))
import changes  # noqa: E402
import pgwire  # noqa: E402
import schemas  # noqa: E402
import server  # noqa: E402
import stored  # noqa: E402
from generate import Generator  # noqa: E402
from rules import Outcome, known  # noqa: E402
from tree import Node, shrink  # noqa: E402
from values import SIMPLEST, USER_TYPES  # noqa: E402

#: types of PostgreSQL's own have the same OID on both sides
FIRST_USER_OID = 16384
#: instead of a table's name: a case of `stored.py`
STORED = "stored"


def with_parameters(sql: str) -> tuple[str, list[bytes | None]]:
    """A statement with every third of its constants as a parameter, and the parameters."""
    if not sql.startswith(("SELECT", "WITH", "(", "INSERT", "UPDATE", "DELETE", "MERGE")):
        return sql, []
    found: list[bytes | None] = []

    def parameter(match: re.Match) -> str:
        if len(found) == 30 or zlib.crc32(match[0].encode()) % 3:
            return match[0]
        found.append(match[1].replace("''", "'").encode())
        return f"(${len(found)})::"

    return re.sub(r"\('((?:[^']|'')*)'\)::", parameter, sql), found


class Side:
    """One of the two servers."""

    def __init__(self, connect: "object"):
        self.connect = connect
        self.connection = connect()  # type: ignore[operator]

    def run(self, sql: str, extended: bool = False) -> Outcome:
        try:
            messages = self.connection.extended(*with_parameters(sql)) if extended else self.connection.simple(sql)
        except (pgwire.ServerGone, TimeoutError, OSError) as e:
            self.connection = self.connect()  # type: ignore[operator]
            self.connection.simple("SET search_path = d")
            return Outcome(error="the connection broke", message=repr(e))
        out = Outcome()
        rows = []
        for kind, body in messages:
            if kind == b"T":
                out.columns = tuple((n, o if o < FIRST_USER_OID else "user", m) for n, o, m, _ in pgwire.row_description(body))
            elif kind == b"D":
                rows.append(tuple(None if v is None else v.decode() for v in pgwire.data_row(body)))
            elif kind == b"C":
                out.tag = body[:-1].decode()
            elif kind == b"E" and not out.error:
                fields = pgwire.fields_of(body)
                out.error, out.message = fields["C"], fields["M"]
        if out.error:
            return Outcome(error=out.error, message=out.message)
        out.rows = tuple(rows)
        return out

    def answer(self, sql: str, table: str, extended: bool) -> Outcome:
        """What a statement gives; what it changes is undone."""
        if table == STORED:
            return self.sequence(sql)
        if not table:
            return self.run(sql, extended)
        self.run("BEGIN")
        out = self.run(sql, extended)
        if not out.error:
            # the partition, too, in which a row is
            out.after = tuple(
                (name, *row) for name in table.split() for row in sorted(self.run(f"SELECT tableoid::regclass::text, * FROM {name}").rows, key=repr)
            )
        self.run("ROLLBACK")
        return out


    def sequence(self, sql: str) -> Outcome:
        """What several statements give in one transaction, which is undone."""
        self.run("BEGIN")
        rows, last = [], Outcome()
        for statement in sql.split(stored.SEPARATOR):
            out = self.run(statement)
            if out.error == "25P02":
                # the error that came before it is the answer
                last = Outcome(error=rows[-1][0])
                break
            if out.error and not statement.startswith(("INSERT", "SELECT (")):
                last = out
                break
            rows.append((out.error, out.tag, *sorted(out.rows, key=repr)))
            last = Outcome(rows=tuple(rows))
        self.run("ROLLBACK")
        return last


def settled(out: Outcome, ordered: bool) -> Outcome:
    if not ordered:
        out.rows = tuple(sorted(out.rows, key=repr))
    return out


def differ(postgres: Outcome, ours: Outcome) -> str:
    """In what two answers differ; empty: in nothing."""
    if postgres.error or ours.error:
        return "" if postgres.error == ours.error else f"error {postgres.error or 'none'} / {ours.error or 'none'}"
    for field in ("columns", "rows", "after", "tag"):
        if getattr(postgres, field) != getattr(ours, field):
            return field
    return ""


class Comparison:
    def __init__(self, postgres: Side, ours: Side, show: str = ""):
        self.postgres, self.ours, self.show = postgres, ours, show
        self.count, self.succeeded, self.failures = 0, 0, 0
        self.known: dict[str, int] = {}
        self.seen: set[str] = set()

    def both(self, tree: Node, table: str, extended: bool) -> tuple[str, str, Outcome, Outcome]:
        sql = str(tree)
        ordered = table == STORED or bool(re.search(r" ORDER BY [\d, A-Z]+( LIMIT \d+( OFFSET 1)?)?$", sql))
        a, b = (settled(side.answer(sql, table, extended), ordered) for side in (self.postgres, self.ours))
        return differ(a, b), known(sql, a, b), a, b

    def check(self, tree: Node, table: str, extended: bool, setup: list[str]) -> None:
        self.count += 1
        what, rule, a, b = self.both(tree, table, extended)
        self.succeeded += not a.error
        if not what:
            return
        if rule:
            self.known[rule] = self.known.get(rule, 0) + 1
        if rule and not (self.show and re.search(self.show, rule)):
            return
        self.failures += not rule

        def still(candidate: Node) -> bool:
            again, excused, _, _ = self.both(candidate, table, extended)
            return again == what and excused == rule

        # a connection that broke is not broken again and again
        small = tree if "broke" in what else shrink(tree, SIMPLEST, still)
        if small is not tree:
            _, _, a, b = self.both(small, table, extended)
        # the same difference is shown once
        shape = re.sub(r"\b[a-z]+\d+(\.\w+)?|'[^']*'|\d+", "_", str(small))
        if shape in self.seen:
            return
        self.seen.add(shape)
        mentioned = [s for s in setup if any(re.search(rf"\b{t}\b", str(small)) for t in re.findall(r"(?:INTO|TABLE|ON|VIEW|ANALYZE) (\w+)", s))]
        print(f"--- {what}{' (extended)' if extended else ''}{': ' if rule else ''}{rule}")
        if "broke" in what:
            print(f"-- {b.message or a.message}: {tree}")
        for s in mentioned:
            print(f"{s};")
        print(f"{small};")
        for name, out in (("PostgreSQL", a), ("pgsqlite", b)):
            if out.error:
                print(f"  {name}: {out.error} {out.message}")
            else:
                other = b if out is a else a
                rows = [r for r in out.rows if r not in other.rows] or out.rows
                after = [r for r in out.after if r not in other.after]
                print(f"  {name}: {out.tag} {out.columns if what == 'columns' else ''} {rows[:6]} {after[:6] if what == 'after' else ''}")
        sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--statements", type=int, default=0, help="how many statements")
    parser.add_argument("--seconds", type=float, default=0, help="for how long")
    parser.add_argument("--stored", type=float, default=0.2, help="the share of expressions that are stored and printed")
    parser.add_argument("--show", default="", metavar="PATTERN", help="print the known differences, too, whose names have this pattern")
    args = parser.parse_args()
    with server.Server() as s:
        postgres = Side(lambda: pgwire.from_environment("postgres"))
        ours = Side(lambda: pgwire.Connection(s.dir, s.port, "postgres", "main"))
        comparison = Comparison(postgres, ours, args.show)
        for side in (postgres, ours):
            side.run("CREATE ROLE d_reader")
        end = time.monotonic() + args.seconds if args.seconds else None
        seed = args.seed * 100_000
        while comparison.count < args.statements or end is not None and time.monotonic() < end:
            seed += 1
            generator = Generator(seed)
            setup = schemas.schema(generator)
            broken = False
            for statement in ["DROP SCHEMA IF EXISTS d CASCADE", "CREATE SCHEMA d", "SET search_path = d", *USER_TYPES.split("; "), *setup]:
                a, b = postgres.run(statement), ours.run(statement)
                if a.error != b.error and not known(statement, a, b):
                    comparison.failures += 1
                    print(f"--- seed {seed}, the schema")
                    for made in setup[: setup.index(statement) + 1] if statement in setup else [statement]:
                        print(f"{made};")
                    print(f"  PostgreSQL: {a.error} {a.message}\n  pgsqlite: {b.error} {b.message}", flush=True)
                if a.error or b.error:
                    broken = True
                    break
            if broken:
                continue
            chance = random.Random(seed)
            for _ in range(60):
                if chance.random() < args.stored:
                    tree, table = stored.case(generator), STORED
                else:
                    tree, changing = changes.statement(generator)
                    table = " ".join(schemas.tables(generator)) if changing else ""
                comparison.check(tree, table, chance.random() < 0.25, setup)
                if end is not None and time.monotonic() > end or not end and comparison.count >= args.statements:
                    break
        share = 100 * comparison.succeeded // max(comparison.count, 1)
        print(f"{comparison.count} statements, {share} % of them succeed on PostgreSQL; known differences: {comparison.known}")
        failed = min(comparison.failures, comparison.count)
        print(f"{comparison.count - failed} passed, {failed} failed")
        return 1 if comparison.failures else 0


if __name__ == "__main__":
    sys.exit(main())
