#!/usr/bin/env python3
"""Partitioned tables by chance, on pgsqlite and on PostgreSQL 15: rows that are routed and moved, and partitions that come and go.

    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/partitions.py --statements 500
    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/partitions.py --seconds 600 --seed N

A table is partitioned by range, list or hash, over one or two columns or an expression, in one or two levels, with and without a default partition; partitions have columns in
another order, constraints, defaults, indexes and triggers of their own, and others refer to its keys. Rows are inserted, copied, updated across partitions, deleted and merged, through the
table and its partitions; partitions are made, attached, detached, emptied and dropped. Both servers must answer alike: the error's code and the names in it, the rows that
are returned, and what is in which partition afterwards. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import pgwire  # noqa: E402
import server  # noqa: E402
from sides import Answer, Chooser, Sides, difference, in_any_order  # noqa: E402
from tally import Tally, flags, note  # noqa: E402

COLUMNS = {"a": "int", "b": "text", "c": "numeric", "d": "date"}
VALUES = {
    "a": ["NULL", "0", "1", "5", "9", "10", "11", "15", "19", "20", "25", "99", "-1"],
    "b": ["NULL", "''", "'a'", "'b'", "'c'", "'m'", "'x'", "'zz'"],
    "c": ["NULL", "0", "1.5", "2.50", "10", "-3"],
    "d": ["NULL", "'2020-01-01'", "'2020-06-15'", "'2021-01-01'", "'2021-12-31'", "'2022-02-02'"],
}
#: ordered bounds of a range
STEPS = {"a": ["MINVALUE", "0", "10", "20", "MAXVALUE"], "b": ["MINVALUE", "'b'", "'m'", "MAXVALUE"], "c": ["MINVALUE", "0", "2", "MAXVALUE"], "d": ["MINVALUE", "'2020-06-01'", "'2021-06-01'", "MAXVALUE"]}

#: (pattern of the statement, of both answers) → why the difference stays
KNOWN: list[tuple[str, str, str]] = [
    ("id = id \\+ 20", r"'23505'", "which of several rows is changed first"),
    ("ATTACH PARTITION .* IN \\(.*NULL", r"'23514', 'updated partition constraint for default", "of a list with NULL and others, PostgreSQL looks in the default partition for NULL alone"),
    ("", r"'42804', 'type of parameter .* when preparing the plan", "PostgreSQL's session has prepared an expression of a function for the type that a column had"),
]
#: what may be told of, in the order of the partitions' numbers or of the plan
FIRST = "21000 22P02 23502 23503 23505 23514".split()


class Round(Chooser):
    """A partitioned table and the statements about it."""

    def __init__(self, seed: int):
        super().__init__(seed)
        self.partitions: list[str] = []
        self.loose: list[str] = []
        self.made = 0

    def value(self, column: str) -> str:
        return self.r.choice(VALUES[column])

    def name(self) -> str:
        self.made += 1
        return f"p{self.made}"

    def bounds(self, how: str, key: list[str]) -> list[str]:
        """The bounds of partitions of one parent."""
        if how == "HASH":
            n = self.r.choice([2, 3])
            return [f"FOR VALUES WITH (MODULUS {n}, REMAINDER {i})" for i in range(n) if self.chance(0.9)]
        out = []
        if how == "LIST":
            values = VALUES[key[0]][:]
            self.r.shuffle(values)
            while values and len(out) < 3:
                n = self.r.randint(1, 4)
                out.append(f"FOR VALUES IN ({', '.join(values[:n])})")
                values = values[n:]
        else:
            steps = STEPS[key[0]]
            at = self.r.randint(0, 1)
            while at + 1 < len(steps):
                more = [self.one("MINVALUE", "MAXVALUE") for _ in key[1:]]
                to = at + self.r.choice([1, 1, 2])
                if to >= len(steps):
                    break
                low, high = [", ".join([s, *(m if s not in ("MINVALUE", "MAXVALUE") else s for m in more)]) for s in (steps[at], steps[to])]
                out.append(f"FOR VALUES FROM ({low}) TO ({high})")
                at = to
        if self.chance(0.5):
            out.append("DEFAULT")
        return out

    def key(self) -> tuple[str, list[str], str]:
        how = self.one("RANGE", "RANGE", "LIST", "LIST", "HASH")
        column = self.one("a", "b", "d") if how != "RANGE" else self.one("a", "a", "b", "c", "d")
        key = [column]
        if how != "LIST" and self.chance(0.3):
            key.append(self.one(*[c for c in ("a", "b", "d") if c != column]))
        return how, key, f"{how} ({', '.join(key)})"

    def setup(self) -> list[str]:
        out = ["CREATE TABLE log (n serial, m text)"]
        self.how, self.keys, by = self.key()
        columns = ["id int DEFAULT 7", *(f"{c} {t}{self.one('', '', f' DEFAULT {self.value(c)}')}" for c, t in COLUMNS.items())]
        if self.chance(0.3):
            columns.append("g int GENERATED ALWAYS AS (id * 2) STORED")
        self.unique = ["id", *self.keys] if self.chance(0.6) else []
        if self.unique:
            columns.append(f"{self.one('UNIQUE', 'PRIMARY KEY')} ({', '.join(self.unique)})")
        if self.chance(0.3):
            columns.append("CHECK (id < 900)")
        out.append(f"CREATE TABLE p ({', '.join(columns)}) PARTITION BY {by}")
        for bound in self.bounds(self.how, self.keys):
            name = self.name()
            if self.chance(0.25) and bound != "DEFAULT":
                how, key, below = self.key()
                if not self.unique or set(key) <= set(self.unique):
                    out.append(f"CREATE TABLE {name} PARTITION OF p {bound} PARTITION BY {below}")
                    for inner in self.bounds(how, key):
                        part = self.name()
                        out.append(f"CREATE TABLE {part} PARTITION OF {name} {inner}")
                        self.partitions.append(part)
                    self.partitions.append(name)
                    continue
            self.partitions.append(name)
            if self.chance(0.3):
                out += self.apart(name, "g int" in " ".join(columns))
                out.append(f"ALTER TABLE p ATTACH PARTITION {name} {bound}")
                continue
            own = self.one("", "", f" (b DEFAULT 'own')", " (CHECK (c IS NULL OR c < 1000))", " (a NOT NULL)")
            out.append(f"CREATE TABLE {name} PARTITION OF p{own} {bound}")
        if self.chance(0.4):
            out.append(f"CREATE INDEX ON p ({self.one('a', 'b', 'c', 'd, a', 'lower(b)')})")
        if self.unique and self.chance(0.3):
            out.append(f"CREATE TABLE f (n int, {', '.join(f'{c} {COLUMNS.get(c, chr(105) + chr(110) + chr(116))}' for c in self.unique)}, FOREIGN KEY ({', '.join(self.unique)}) REFERENCES p ({', '.join(self.unique)}) ON UPDATE {self.one('CASCADE', 'NO ACTION', 'SET NULL')} ON DELETE {self.one('CASCADE', 'NO ACTION', 'SET NULL')})")
        out.append("CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (m) VALUES (concat_ws(' ', TG_NAME, TG_WHEN, TG_LEVEL, TG_OP, TG_TABLE_NAME, CASE WHEN TG_LEVEL = 'ROW' THEN coalesce(new.id, old.id) END)); RETURN coalesce(new, old); END $$")
        out.append("CREATE FUNCTION shift() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF new.id = 3 THEN RETURN NULL; END IF; new.c := coalesce(new.c, 0) + 1; RETURN new; END $$")
        out.append("CREATE FUNCTION total() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (m) SELECT concat_ws(' ', TG_NAME, TG_OP, count(*), sum(id)) FROM rows; RETURN NULL; END $$")
        #: PostgreSQL 15 counts a row that MERGE moves to another partition as inserted
        self.counts = False
        for i in range(self.r.choice([0, 0, 1, 2, 3])):
            on = "p" if self.chance(0.6) else self.r.choice(self.partitions or ["p"])
            event = self.one("INSERT", "UPDATE", "DELETE", "INSERT OR UPDATE OR DELETE", "INSERT OR UPDATE")
            out.append(
                self.one(
                    f"CREATE TRIGGER t{i} AFTER {event} ON {on} FOR EACH ROW EXECUTE FUNCTION note()",
                    f"CREATE TRIGGER t{i} BEFORE {event} ON {on} FOR EACH ROW EXECUTE FUNCTION note()",
                    f"CREATE TRIGGER t{i} BEFORE {event} ON {on} FOR EACH STATEMENT EXECUTE FUNCTION note()",
                    f"CREATE TRIGGER t{i} BEFORE {self.one('INSERT', 'UPDATE', 'INSERT OR UPDATE')} ON {on} FOR EACH ROW EXECUTE FUNCTION shift()",
                    f"CREATE TRIGGER t{i} AFTER INSERT ON p REFERENCING NEW TABLE AS rows FOR EACH STATEMENT EXECUTE FUNCTION total()",
                    f"CREATE TRIGGER t{i} AFTER {self.one('UPDATE', 'DELETE')} ON p REFERENCING OLD TABLE AS rows FOR EACH STATEMENT EXECUTE FUNCTION total()",
                )
            )
        self.counts = any("total()" in s and "TRIGGER" in s for s in out)
        out += [f"INSERT INTO p (id, a, b, c, d) VALUES ({i}, {', '.join(self.value(c) for c in COLUMNS)})" for i in range(1, 9)]
        return out

    def apart(self, name: str, generated: bool) -> list[str]:
        """A table that may become a partition: its columns in another order, one of them dropped."""
        columns = [f"{c} {t}" for c, t in COLUMNS.items()] + ["id int", "gone int"] + (["g int GENERATED ALWAYS AS (id * 2) STORED"] if generated else [])
        self.r.shuffle(columns)
        return [f"CREATE TABLE {name} ({', '.join(columns)})", f"ALTER TABLE {name} DROP gone"] + ([f"ALTER TABLE {name} ALTER id SET NOT NULL"] if self.chance(0.3) else [])

    def target(self) -> str:
        return self.r.choice(self.partitions) if self.partitions and self.chance(0.25) else "p"

    def condition(self) -> str:
        c = self.r.choice(list(COLUMNS))
        v = self.value(c)
        return self.one("", f" WHERE {c} = {v}", f" WHERE {c} {self.one('<', '>', '<=', '>=', '<>')} {v}", f" WHERE {c} IS {self.one('', 'NOT ')}NULL", f" WHERE {c} IN ({v}, {self.value(c)})", f" WHERE {c} BETWEEN {v} AND {self.value(c)}", f" WHERE id = {self.r.randint(1, 12)}", f" WHERE {c} = {v} OR id < 4", f" WHERE {c} = (SELECT max({c}) FROM p)")

    def assignment(self) -> str:
        c = self.one(*COLUMNS, *self.keys, *self.keys)
        return self.one(f"{c} = {self.value(c)}", f"{c} = {self.value(c)}", "a = a + 10", "b = b || 'x'", "id = id + 20", f"({c}, id) = ({self.value(c)}, id)", f"{c} = DEFAULT", "d = d + 365")

    def returning(self) -> str:
        return self.one("", " RETURNING tableoid::regclass, *", " RETURNING id, a")

    def row(self) -> str:
        return f"({self.r.randint(1, 30)}, {', '.join(self.value(c) for c in COLUMNS)})"

    def statement(self) -> str:
        t = self.target()
        kind = self.r.random()
        if kind < 0.22:
            rows = ", ".join(self.row() for _ in range(self.r.choice([1, 1, 2, 4])))
            conflict = ""
            if self.unique and self.chance(0.4):
                conflict = self.one(" ON CONFLICT DO NOTHING", f" ON CONFLICT ({', '.join(self.unique)}) DO UPDATE SET {self.one('c = excluded.c', 'c = coalesce(p.c, 0) + 1' if t == 'p' else 'c = excluded.c', 'id = excluded.id + 40', f'{self.keys[0]} = {self.value(self.keys[0])}')}")
            return f"INSERT INTO {t} (id, a, b, c, d) VALUES {rows}{conflict}{self.returning()}"
        if kind < 0.26:
            return f"INSERT INTO {t} DEFAULT VALUES{self.returning()}"
        if kind < 0.30:
            return f"INSERT INTO {t} (id, a, b, c, d) SELECT id + 10, a, b, c, d FROM p{self.condition()}{self.returning()}"
        if kind < 0.5:
            return f"UPDATE {t} SET {self.assignment()}{self.condition()}{self.returning()}"
        if kind < 0.54:
            return f"UPDATE {t} x SET {self.assignment()} FROM (VALUES (1), (3), (5), (12)) AS l (n) WHERE l.n = x.id{self.one('', ' RETURNING x.*')}"
        if kind < 0.62:
            return f"DELETE FROM {t}{self.condition()}{self.returning()}"
        if kind < 0.68:
            return f"MERGE INTO p USING (VALUES {', '.join(self.row() for _ in range(3))}) AS s (id, a, b, c, d) ON p.id = s.id WHEN MATCHED THEN {self.one('DELETE', 'DO NOTHING', *([] if self.counts else ['UPDATE SET a = s.a', 'UPDATE SET b = s.b, d = s.d::date']))} WHEN NOT MATCHED THEN {self.one('DO NOTHING', 'INSERT (id, a, b, c, d) VALUES (s.id, s.a, s.b, s.c, s.d::date)')}"
        if kind < 0.82:
            return f"SELECT {self.one('*', 'tableoid::regclass, id', 'count(*), sum(a)', 'DISTINCT b')} FROM {t}{self.condition()}"
        if kind < 0.84 and self.partitions:
            return f"TRUNCATE {self.one('p', *self.partitions)}{self.one('', ' CASCADE')}"
        if kind < 0.88 and self.partitions:
            return f"ALTER TABLE p DETACH PARTITION {self.r.choice(self.partitions)}"
        if kind < 0.93:
            name = self.r.choice(self.partitions) if self.partitions and self.chance(0.6) else self.name()
            if name not in self.partitions:
                self.partitions.append(name)
            bound = self.r.choice(self.bounds(self.how, self.keys) or ["DEFAULT"])
            return self.one(f"ALTER TABLE p ATTACH PARTITION {name} {bound}", f"CREATE TABLE {name} PARTITION OF p {bound}")
        if kind < 0.95 and self.partitions:
            return f"DROP TABLE {self.r.choice(self.partitions)}{self.one('', ' CASCADE')}"
        if kind < 0.97:
            return self.one("ALTER TABLE p ADD n int DEFAULT 3", "ALTER TABLE p DROP n", f"ALTER TABLE p ALTER {self.one(*COLUMNS)} SET NOT NULL", f"ALTER TABLE p ALTER {self.one(*COLUMNS)} DROP NOT NULL", "ALTER TABLE p ADD CONSTRAINT k CHECK (id > 0)", "ALTER TABLE p DROP CONSTRAINT k", "ALTER TABLE p RENAME c TO c2", "ALTER TABLE p RENAME c2 TO c", "ALTER TABLE p ALTER c TYPE text", "CREATE UNIQUE INDEX u ON p (id)")
        return f"INSERT INTO f SELECT id, {', '.join(self.unique)} FROM p{self.condition()}" if self.unique else f"SELECT id FROM {t}{self.condition()} FOR UPDATE"


def answer(connection: pgwire.Connection, sql: str) -> Answer:
    return in_any_order(connection, sql, b"DC")


SHOWN = [
    "SELECT x::text, tableoid::regclass FROM p x",
    "SELECT m FROM log",
    "SELECT c.relname, c.relispartition, pg_get_expr(c.relpartbound, c.oid), regexp_replace(pg_get_partition_constraintdef(c.oid), '\\d{5,}', 'N', 'g') FROM pg_class c WHERE c.relnamespace = 'd'::regnamespace AND c.relkind IN ('r', 'p')",
    "SELECT conrelid::regclass, conname, contype, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'd'::regnamespace) AND contype <> 'f'",
]


def main() -> int:
    args = flags(__doc__).parse_args()
    tally = Tally(args)
    with server.Server() as s:
        sides = Sides(s, "SET search_path = d; SET client_min_messages = error", answer)
        sides.make([])
        seed = args.seed * 1000
        while tally.goes_on():
            seed += 1
            one = Round(seed)
            done: list[str] = []

            def compare(sql: str, counts: bool = False) -> bool:
                """Whether both answer alike, or as it is known."""
                theirs, ours = sides.ask(sql)
                tally.succeeded += counts and not theirs[0]
                what = difference(theirs, ours)
                if not what and theirs[0] and re.sub(r"\d+", "", theirs[1]) != re.sub(r"\d+", "", ours[1]):
                    what = "message"
                # (of several rows that are wrong another may be told of)
                if what and theirs[0] in FIRST and ours[0] in FIRST:
                    what = ""
                done.append(sql if not theirs[0] else f"-- {sql}")
                if not what:
                    return True
                if ours[0] == "0A000" and (theirs[0] != "0A000" or "is not supported by pgsqlite" in ours[1]):
                    note(tally.refused, re.sub(r'"[^"]*"|\'[^\']*\'', "…", ours[1]))
                    return False
                known = next((why for pattern, answers, why in KNOWN if re.search(pattern, sql) and re.search(answers, f"{theirs} | {ours}")), "")
                if known:
                    note(tally.known, known)
                    return False
                tally.failed += 1
                if tally.is_new(what + re.sub(r"p\d+|\d+|'[^']*'", "_", sql)[:45]):
                    if what == "rows" and isinstance(theirs[2], list) and isinstance(ours[2], list):
                        theirs, ours = [(a[0], a[1], [x for x in a[2] if x not in b[2]] or a[2]) for a, b in ((theirs, ours), (ours, theirs))]
                    print(f"--- seed {seed}\n" + "".join(f"{d};\n" for d in done) + f"    PostgreSQL: {theirs}\n    pgsqlite:   {ours}", flush=True)
                return False

            for statement in ["ROLLBACK", "DROP SCHEMA IF EXISTS d CASCADE", "CREATE SCHEMA d"]:
                sides.ask(statement)
            fine = all(compare(statement) for statement in one.setup())
            for _ in range(40):
                if not fine or not tally.goes_on():
                    break
                tally.count += 1
                sql = one.statement()
                fine = compare(sql, True) and (sql.startswith("SELECT") or all(compare(shown) for shown in SHOWN[:2])) and (not sql.startswith(("ALTER", "CREATE", "DROP")) or all(compare(shown) for shown in SHOWN[2:]))
                done[:] = [d for d in done if not d.startswith(("SELECT", "-- SELECT"))]
    tally.summary()
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
