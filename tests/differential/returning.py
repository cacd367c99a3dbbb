#!/usr/bin/env python3
"""What changes return, by chance, on pgsqlite and on PostgreSQL 18: RETURNING with the rows as they were and as they are, and MERGE.

    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/returning.py --statements 2000
    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/returning.py --seconds 600 --seed N

INSERT (with ON CONFLICT), UPDATE, DELETE and MERGE change a table with generated columns and defaults, one with triggers that change and suppress rows, a
partitioned one, one that others inherit from, views over it, and one with policies. The statement stands alone, in WITH, or in the body of a function. Both
servers must answer alike: the error's code, or the rows that are returned (in any order), the command's tag, and what the table has afterwards.
The last line is `N passed, N failed`.
"""

from __future__ import annotations

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import pgwire  # noqa: E402
import server  # noqa: E402
from sides import Answer, Chooser, Sides, difference  # noqa: E402
from tally import Tally, flags, note  # noqa: E402

MADE = """
CREATE SCHEMA d; SET search_path = d;
CREATE TABLE plain (id int PRIMARY KEY, a int, b text DEFAULT 'none', c numeric DEFAULT 7.50, g int GENERATED ALWAYS AS (a * 2) STORED, CHECK (a < 1000));
CREATE TABLE fired (LIKE plain INCLUDING ALL);
CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'DELETE' THEN IF old.id = 2 THEN RETURN NULL; END IF; RETURN old; END IF;
  IF new.id = 3 THEN RETURN NULL; END IF; new.b := coalesce(new.b, '') || '!'; RETURN new; END $$;
CREATE TRIGGER fire BEFORE INSERT OR UPDATE OR DELETE ON fired FOR EACH ROW EXECUTE FUNCTION fire();
CREATE TABLE parted (id int PRIMARY KEY, a int, b text DEFAULT 'none', c numeric DEFAULT 7.50, g int GENERATED ALWAYS AS (a * 2) STORED) PARTITION BY RANGE (id);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES FROM (0) TO (4);
CREATE TABLE parted2 (a int, id int NOT NULL, c numeric, b text DEFAULT 'two', g int GENERATED ALWAYS AS (a * 2) STORED);
ALTER TABLE parted ATTACH PARTITION parted2 FOR VALUES FROM (4) TO (100);
CREATE TABLE child (more text DEFAULT 'm') INHERITS (plain);
CREATE TABLE kept (LIKE plain INCLUDING ALL);
ALTER TABLE kept ENABLE ROW LEVEL SECURITY; ALTER TABLE kept FORCE ROW LEVEL SECURITY;
CREATE POLICY seen ON kept USING (a IS NULL OR a < 100) WITH CHECK (a IS NULL OR a < 200);
CREATE VIEW shown AS SELECT id, a, b, c, g FROM plain WHERE a IS NULL OR a < 500;
CREATE VIEW checked AS SELECT b, id, a, g, a + 1 AS more, c FROM shown WHERE id < 50 WITH CHECK OPTION;
CREATE TABLE s (id int, a int, b text);
INSERT INTO s VALUES (1, 10, 'one'), (2, 20, NULL), (3, NULL, 'three'), (5, 50, 'five'), (7, 70, 'seven'), (60, 60, 'sixty');
CREATE TABLE twice (id int, a int, b text);
CREATE ROLE d_user; GRANT USAGE ON SCHEMA d TO d_user; GRANT ALL ON ALL TABLES IN SCHEMA d TO d_user;
INSERT INTO twice VALUES (1, 1, 'x'), (1, 2, 'y'), (4, 4, 'z');
"""
FILLED = "INSERT INTO {} (id, a, b) VALUES (1, 1, 'a'), (2, 2, NULL), (3, NULL, 'c'), (4, 40, 'd'), (6, 60, '')"
MORE = [
    "INSERT INTO d.child (id, a, b) VALUES (11, 11, 'k'), (12, NULL, 'l')",
    "INSERT INTO d.fired SELECT id, a, b, c FROM d.plain WHERE id < 10",
    "UPDATE d.kept SET a = 120 WHERE id = 6",
]
TABLES = ["plain", "plain", "fired", "parted", "parted", "child", "shown", "checked", "kept"]

#: (pattern of the statement, of both answers) → why the difference stays
KNOWN: list[tuple[str, str, str]] = [
    ("", r"(?s)^\('(23|42501|44|21|22)\w*'.* \| \('(23|42501|44|21|22)\w*'", "of two errors of a statement another comes first"),
    (r"^(WITH w AS \(|DO.*FOR r IN )?UPDATE .* FROM twice ", "^\\('', ''.*\\| \\('', ''", "which of several rows that a row is joined with it gets its values from"),
    ("BY SOURCE.* THEN DELETE", "^\\('23505'.*\\| \\('', ''", "whether a key is free that the same MERGE takes away depends on the order of its rows"),
]


class Statements(Chooser):
    def some(self, make, least: int, most: int) -> str:
        return ", ".join(make() for _ in range(self.r.randint(least, most)))

    def value(self, *more: str) -> str:
        return self.one("1", "2", "99", "150", "NULL", "a + 1", "a * 3", "id", "coalesce(a, 0)", "(SELECT max(a) FROM s)", *more)

    def text(self, *more: str) -> str:
        return self.one("'new'", "NULL", "b || '?'", "upper(b)", "id::text", *more)

    def condition(self, t: str, *more: str) -> str:
        return self.one(f"{t}.id > 2", f"{t}.a IS NULL", f"{t}.a < 50", f"{t}.b = 'a'", f"{t}.id = 1", "true", f"{t}.id IN (1, 3, 4)", f"{t}.a < (SELECT max(a) FROM s)", f"NOT {t}.id = 4", *more)

    def item(self, t: str, sources: list[str], old: str, new: str) -> str:
        o, n = self.one(old, old, t), self.one(new, new, t)
        return self.one(
            "*", f"{t}.*", f"{old}.*", f"{new}.*", f"{o}.a", f"{n}.a", f"{o}.b", f"{n}.b", f"{old}.g", f"{new}.g", f"{old}.c", f"{new}.c", f"{old}.id", f"{new}.id", "id" if not sources else f"{t}.id",
            f"{old}.a IS NULL", f"{old} IS NULL", f"{new} IS NOT NULL", f"coalesce({o}.a, 0) + coalesce({n}.a, 0) AS total", f"{old}", f"{new}", f"{old}::text", f"{new}.a - {old}.a AS delta",
            f"{old} IS DISTINCT FROM {new} AS differs", f"(SELECT count(*) FROM s x WHERE x.a < {n}.a) AS below", f"(SELECT max(x.a) FROM s x WHERE x.id = {o}.id) AS x", f"row({old}.a, {new}.b) AS r", f"to_jsonb({new}) AS j",
            f"CASE WHEN {old}.id IS NULL THEN 'made' WHEN {new}.id IS NULL THEN 'gone' ELSE 'changed' END AS what", f"{old}.a = {new}.a AS same", f"upper({old}.b || {new}.b) AS u", f"length({new}.b) AS l",
            f"{t}.tableoid::regclass" if t in ("plain", "parted", "fired") else f"{t}.a", f"{old}.tableoid::regclass" if self.chance(0.05) else f"{old}.a", *[f"{s}.a" for s in sources], *[f"{s}.b || coalesce({new}.b, {old}.b)" for s in sources])

    def returning(self, t: str, sources: list[str] = [], merge: bool = False) -> str:
        given = self.chance(0.25)
        old, new = ("o", "n") if given else ("old", "new")
        items = [self.item(t, sources, old, new) for _ in range(self.r.randint(1, 4))]
        if merge:
            items.insert(self.r.randint(0, len(items)), self.one("merge_action()", "merge_action() || '!'", "lower(merge_action()) AS act", f"{new}.a"))
        return f" RETURNING {'WITH (OLD AS o, NEW AS n) ' if given else ''}{', '.join(items)}"

    def assignments(self, more: tuple[str, ...] = (), texts: tuple[str, ...] = ()) -> str:
        kind = self.r.random()
        if kind < 0.1:
            return f"(a, b) = (SELECT max(x.a), min(x.b) FROM s x WHERE x.id > {self.r.randint(0, 8)})"
        if kind < 0.2:
            return f"(a, b) = ({self.value(*more)}, {self.text(*texts)})"
        sets = [f"a = {self.value('DEFAULT', *more)}", f"b = {self.text('DEFAULT', *texts)}", "id = id + 10" if not more else "c = 1.5"]
        return ", ".join(self.r.sample(sets, self.r.randint(1, 2)))

    def insert(self, t: str) -> str:
        rows = self.some(lambda: f"({self.r.choice([1, 2, 3, 4, 5, 8, 9, 70])}, {self.one('1', '5', 'NULL', '150', '250', 'DEFAULT' if self.chance(0.3) else '7')}, {self.one(chr(39) + 'i' + chr(39), 'NULL', 'DEFAULT')})", 1, 4)
        source = f"VALUES {rows}" if self.chance(0.7) else self.one("SELECT id, a, b FROM s", "SELECT id + 3, a, b FROM s WHERE id < 6", "SELECT id, a, b FROM twice")
        conflict = ""
        if self.chance(0.6) and t not in ("child",):
            where = f" WHERE {self.condition(t, 'excluded.a > 3')}" if self.chance(0.3) else ""
            action = self.one("DO NOTHING", f"DO UPDATE SET a = {self.one('excluded.a', f'{t}.a + excluded.a', 'NULL', f'{t}.a', '3')}{self.one('', ', b = excluded.b', f', b = {t}.b || excluded.b')}{where}")
            conflict = f" ON CONFLICT (id) {action}" if "UPDATE" in action or self.chance(0.6) else f" ON CONFLICT {action}"
        alias = ""
        return f"INSERT INTO {t}{alias} (id, a, b) {source}{conflict}{self.returning(t)}"

    def update(self, t: str) -> str:
        if self.chance(0.4):
            source = self.one("s", "twice", "(SELECT id, sum(a)::int AS a, max(b) AS b FROM s GROUP BY id)")
            sets = self.assignments(("q.a", "q.a + " + t + ".a"), ("q.b", "q.b || " + t + ".b"))
            sets = re.sub(r"(?<![\w.])(a|b|id)(?= (\+|\*|\|\|)|[:),]|$)", rf"{t}.\1", sets) if "(a, b)" not in sets else "a = q.a, b = q.b"
            return f"UPDATE {t} SET {sets.replace(f'upper(b)', f'upper({t}.b)').replace('coalesce(a', f'coalesce({t}.a')} FROM {source} AS q WHERE q.id = {t}.id AND {self.condition(t)}{self.returning(t, ['q'])}"
        return f"UPDATE {t} SET {self.assignments()} WHERE {self.condition(t)}{self.returning(t)}"

    def delete(self, t: str) -> str:
        if self.chance(0.4):
            return f"DELETE FROM {t} USING {self.one('s', 'twice')} AS q WHERE q.id = {t}.id AND {self.condition(t)}{self.returning(t, ['q'])}"
        return f"DELETE FROM {t} WHERE {self.condition(t)}{self.returning(t)}"

    def merge(self, t: str) -> str:
        source = self.one("s", "s", "s", "twice", "(SELECT id, a, b FROM s WHERE a > 15)", "(VALUES (1, 5, 'v'), (9, 9, 'w'))")
        source = f"{source} AS q(id, a, b)" if source.startswith("(V") else f"{source} AS q"
        whens = []
        for _ in range(self.r.randint(1, 4)):
            kind = self.r.randrange(4)
            if kind == 0:
                extra = f" AND {self.condition('q')}" if self.chance(0.4) else ""
                action = self.one("DO NOTHING", "INSERT (id, a, b) VALUES (q.id, q.a, q.b)", "INSERT (id, b) VALUES (q.id, upper(q.b))", "INSERT (id, a) VALUES (q.id, DEFAULT)", "INSERT (id, a, b) VALUES (q.id + 20, q.a, 'merged')")
                whens.append(f"WHEN NOT MATCHED{self.one('', ' BY TARGET')}{extra} THEN {action}")
            else:
                by = kind == 1
                extra = f" AND {self.condition(t) if by else self.condition(t, 'q.a > 15', 'q.b IS NULL')}" if self.chance(0.5) else ""
                action = self.one("DO NOTHING", "DELETE", f"UPDATE SET a = {self.one('5', f'{t}.a + 1', 'NULL' if by else 'q.a', 'DEFAULT')}{self.one('', ', b = NULL' if by else ', b = q.b', f', b = {t}.b || 2')}", "UPDATE SET (a, b) = (SELECT max(x.a), min(x.b) FROM s x)")
                whens.append(f"WHEN {'NOT MATCHED BY SOURCE' if by else 'MATCHED'}{extra} THEN {action}")
        return f"MERGE INTO {t} USING {source} ON {t}.id = q.id{self.one('', '', f' AND {t}.a > 1')} {' '.join(whens)}{self.returning(t, ['q'], True)}"

    def statement(self) -> tuple[str, str]:
        """The table, and the statement that changes it."""
        t = self.r.choice(TABLES)
        return t, self.r.choice([self.insert, self.update, self.delete, self.merge, self.merge])(t)


def answer(connection: pgwire.Connection, sql: str) -> Answer:
    """The error's code and message, or the columns, the rows in some order, and the tags."""
    columns, rows, tags = [], [], []
    for kind, body in connection.simple(sql):
        if kind == b"E":
            fields = pgwire.fields_of(body)
            return fields["C"], fields["M"], None
        if kind == b"T":
            columns = [(n, o if o < 16384 else "user", m) for n, o, m, _ in pgwire.row_description(body)]
        elif kind == b"D":
            rows.append([v and v.decode() for v in pgwire.data_row(body)])
        elif kind == b"C":
            tags.append(body[:-1].decode())
    return "", "", (columns, sorted(rows, key=repr), tags)


def main() -> int:
    args = flags(__doc__).parse_args()
    statements = Statements(args.seed)
    tally = Tally(args)
    with server.Server() as s:
        sides = Sides(s, "SET search_path = d; SET client_min_messages = error", answer)
        filled = [FILLED.format(f"d.{t}") for t in ("plain", "parted", "kept")]
        sides.make([MADE, *filled, *MORE])

        def both(sql: str) -> tuple[str, Answer, Answer]:
            """In what the two answers differ, and the answers."""
            theirs, ours = sides.ask(sql)
            return difference(theirs, ours), theirs, ours

        while tally.goes_on():
            t, sql = statements.statement()
            way = statements.r.random()
            tally.count += 1
            asked = sql
            if way < 0.12:
                asked = f"WITH w AS ({sql}) SELECT * FROM w"
            elif way < 0.2:
                asked = f"DO $do$ DECLARE x text := ''; r record; BEGIN FOR r IN {sql} LOOP x := x || r::text; END LOOP; END $do$"
            both("BEGIN; SET LOCAL ROLE d_user" if t == "kept" else "BEGIN")
            what, theirs, ours = both(asked)
            tally.succeeded += not theirs[0]
            if not what and not theirs[0]:
                both("RESET ROLE; ALTER TABLE kept NO FORCE ROW LEVEL SECURITY" if t == "kept" else "SELECT 1")
                base = {"shown": "plain", "checked": "plain", "child": "plain"}.get(t, t)
                what, theirs, ours = both(f"SELECT tableoid::regclass, * FROM {base}")
                what = what and f"afterwards: {what}"
            both("ROLLBACK")
            if not what:
                continue
            if ours[0] == "0A000":
                note(tally.refused, re.sub(r'"[^"]*"|\'[^\']*\'', "…", ours[1]))
                continue
            known = next((why for pattern, answers, why in KNOWN if re.search(pattern, sql) and re.search(answers, f"{theirs} | {ours}")), "")
            if known:
                note(tally.known, known)
                continue
            tally.failed += 1
            shape = what + re.sub(r"'(?:[^']|'')*'|\d+", "_", asked)[:40] + re.sub(r'"[^"]*"|\d+', "_", ours[1])[:30]
            if tally.is_new(shape):
                print(f"{asked};  -- {what}\n    PostgreSQL: {theirs}\n    pgsqlite:   {ours}", flush=True)
    tally.summary()
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
