#!/usr/bin/env python3
"""Which operands are computed, on pgsqlite and on PostgreSQL 15: AND, OR, NOT, CASE and their kin by chance, in all places of a statement.

    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/guards.py --statements 1500      the fixed part of `make test`
    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/guards.py --seconds 600 --seed N  as long as one likes

Some operands fail for some rows, and others are counted. PostgreSQL says in which order they are computed and when it stops (manual, 4.2.14), and
no statement here leaves it a choice: an error on one side only, or another count, is a difference. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import pathlib
import random
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402
from tally import Tally, flags  # noqa: E402

SETUP = """CREATE SCHEMA d; SET search_path = d; CREATE SEQUENCE q;
CREATE TABLE t (id int PRIMARY KEY, x int, y int, s text, b bool);
INSERT INTO t VALUES (1, 0, 3, 'a', true), (2, 5, 0, '7', false), (3, NULL, 2, '', NULL), (4, 2, NULL, NULL, true), (5, 0, 0, '0', false);
CREATE FUNCTION noted(v bool) RETURNS bool LANGUAGE plpgsql VOLATILE AS $$ BEGIN PERFORM nextval('q'); RETURN v; END $$;
CREATE FUNCTION number(v int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$ BEGIN PERFORM nextval('q'); RETURN v; END $$"""
#: conditions that fail for no row
PLAIN = ["x = 0", "x <> 0", "x > 1", "y = 0", "y IS NULL", "x IS NOT NULL", "b", "s = 'a'", "s < '5'", "id > 2", "id IN (1, 3)"]
#: those that fail for some rows, or are counted
FAILING = ["10 / x > 3", "10 / y > 4", "s::int > 3", "noted(b)", "noted(x = 0)", "number(x) > 1", "(10 / x) IN (2, 5)", "x = ANY (ARRAY[10 / y, 2])", "s::int = x", "substr(s, x) = 'a'"]
#: places where a condition that is NULL is as good as one that is false: here SQLite computes nothing more after NULL, so that there is none
CONDITIONS = re.compile(r"WHERE \(?\{\}|HAVING|WHEN \(?\{|IF \{\}|FILTER|CASE")
#: `{}` is the condition; a statement's rows are computed one after the other, and nothing in it may be computed earlier or later
PLACES = [
    "SELECT id, {} FROM t ORDER BY id",
    "SELECT id, ({})::text, 1 FROM t ORDER BY id",
    "SELECT array_agg({} ORDER BY id) FROM t",
    "SELECT bool_or({}), bool_and({}) FROM t",
    "SELECT count(*) FILTER (WHERE {}) FROM t",
    "SELECT id FROM t WHERE ({}) ORDER BY id",
    "SELECT id FROM t WHERE ({}) IS NOT TRUE ORDER BY id",
    "SELECT id, CASE WHEN {} THEN 1 WHEN id > 2 THEN 2 END FROM t ORDER BY id",
    "SELECT id, CASE WHEN id > 3 THEN NULL ELSE {} END FROM t ORDER BY id",
    "SELECT x, s FROM t WHERE id = 2 GROUP BY x, y, s, b, id HAVING {}",
    "WITH c AS MATERIALIZED (SELECT id, {} AS v FROM t) SELECT * FROM c ORDER BY id",
    "SELECT id, (SELECT {}) FROM t ORDER BY id",
    "SELECT id, ROW({}, 2) FROM t ORDER BY id",
    "SELECT id, coalesce({}, true) FROM t ORDER BY id",
    "SELECT id, nullif({}, true) FROM t ORDER BY id",
    "SELECT id, ({}) IS NULL FROM t ORDER BY id",
    "SELECT id, ({}) = b FROM t ORDER BY id",
    "UPDATE t SET b = {} WHERE id < 6 RETURNING id, b",
    "INSERT INTO t SELECT id + 10, x, y, s, {} FROM t ORDER BY id RETURNING b",
    "DELETE FROM t WHERE ({}) RETURNING id",
]
STORED = [
    ("CREATE TABLE c (id int, x int, y int, s text, b bool, CHECK ({}))", "INSERT INTO c SELECT * FROM t WHERE id = {id}"),
    ("CREATE FUNCTION f(id int, x int, y int, s text, b bool) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN IF {} THEN RETURN true; END IF; RETURN {}; END $$", "SELECT f(id, x, y, s, b) FROM t WHERE id = {id}"),
    ("CREATE VIEW v AS SELECT id, {} AS v FROM t", "SELECT * FROM v WHERE id = {id}"),
    ("CREATE FUNCTION tf() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.y := 77; RETURN NEW; END $$; CREATE TRIGGER tg BEFORE UPDATE ON t FOR EACH ROW WHEN ({new}) EXECUTE FUNCTION tf()", "UPDATE t SET id = id WHERE id = {id} RETURNING y"),
]


def condition(r: random.Random, depth: int) -> str:
    choice = r.random()
    if depth == 0 or choice < 0.1:
        return r.choice(PLAIN if r.random() < 0.5 else FAILING)
    below = lambda: condition(r, depth - 1)  # noqa: E731
    if choice < 0.7:
        word = r.choice([" AND ", " OR "])
        # (of two operands that are the same, the planner of PostgreSQL may leave one)
        return "(" + word.join(dict.fromkeys(below() for _ in range(r.choice([2, 2, 3, 4])))) + ")"
    if choice < 0.8:
        return f"(NOT {below()})"
    if choice < 0.87:
        return f"(CASE WHEN {below()} THEN {below()} ELSE {below()} END)"
    if choice < 0.93:
        return f"coalesce({below()}, {below()})"
    return f"({below()} {r.choice(['IS TRUE', 'IS NOT TRUE', 'IS NULL', 'IS NOT FALSE'])})"


def statements(r: random.Random) -> list[str]:
    """What is run in one transaction, which is rolled back."""
    made = condition(r, r.choice([1, 2, 2, 3]))
    if r.random() < 0.25:
        setup, use = r.choice(STORED)
        if setup.startswith(("CREATE VIEW", "CREATE TABLE")):
            # (a view whose rows are computed first calls for all of them, and a CHECK that does not hold is computed once more)
            made = made.replace("noted(b)", "b").replace("noted(x = 0)", "x = 0").replace("number(x)", "x")
        new = re.sub(r"\b(x|y|s|b|id)\b", r"NEW.\1", made)
        script = [setup.replace("{new}", new).replace("{}", made), use.replace("{id}", str(r.randint(1, 5)))]
        without_null = CONDITIONS.search(setup + made)
    else:
        place = r.choice(PLACES)
        if "WHERE ({})" in place:
            # (where AND joins x = 0 to a condition without another column, SQLite asks that of 0, and before the first row)
            made = re.sub(r"\b([xy]) = 0", r"\1 <= 0", made)
        script = [place.replace("{}", made)]
        without_null = CONDITIONS.search(place + made)
    return (["UPDATE t SET x = coalesce(x, 3), y = coalesce(y, 0), s = coalesce(s, '9'), b = coalesce(b, false)"] if without_null else []) + script


def answer(side: pgwire.Connection, made: list[str]) -> tuple:
    """What each statement says: its error, or its rows; and how often a function was called."""
    side.simple("BEGIN")
    side.simple("SELECT setval('q', 1000)")
    said = []
    for sql in made:
        rows, error = [], None
        for kind, body in side.simple(sql):
            if kind == b"E":
                error = pgwire.fields_of(body)["C"], pgwire.fields_of(body)["M"]
            elif kind == b"D":
                rows.append(tuple(pgwire.data_row(body)))
        # (which rows come before an error depends on when they are sent; where the UPDATE before has put the rows is PostgreSQL's affair)
        said.append(error or (rows if sql.startswith(("SELECT", "INSERT")) else sorted(rows, key=repr)))
    side.simple("ROLLBACK")
    # (the numbers that were taken stay taken)
    count = [pgwire.data_row(body)[0] for kind, body in side.simple("SELECT last_value - 1000 FROM q") if kind == b"D"]
    return said, count


def main() -> int:
    args = flags(__doc__).parse_args()
    r = random.Random(args.seed)
    tally = Tally(args)
    with server.Server() as s:
        sides = [pgwire.from_environment("postgres"), pgwire.Connection(s.dir, s.port, "postgres", "main")]
        for side in sides:
            side.simple(SETUP)
        while tally.goes_on():
            made = statements(r)
            tally.count += 1
            theirs, ours = (answer(side, made) for side in sides)
            if re.search(r"FROM t WHERE \(|HAVING", made[-1]):
                # the planner chooses which conditions of WHERE (and of HAVING without an aggregate) are asked first, and leaves out what follows from others
                fails = any(isinstance(said, tuple) for side in (theirs, ours) for said in side[0])
                differ = theirs[0] != ours[0] and not fails
            else:
                differ = theirs != ours
            if differ:
                tally.failed += 1
                print("; ".join(made) + f"\n    PostgreSQL: {theirs}\n    pgsqlite:   {ours}", flush=True)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
