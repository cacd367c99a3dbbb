#!/usr/bin/env python3
"""SQL/JSON by chance, on pgsqlite and on PostgreSQL 18: constructors, IS JSON, JSON_EXISTS, JSON_VALUE, JSON_QUERY, JSON_TABLE and jsonpath's methods.

    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/sqljson.py --statements 2000
    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/sqljson.py --seconds 600 --seed N

PostgreSQL 15, which the other generators ask, has none of these. Both servers must compute each statement: the error's code or the rows, with their
types, are compared. Each statement is asked alone and as a view (18 prints views in another way than 15, whose texts are ours). The last line is `N passed, N failed`.
"""

from __future__ import annotations

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import server  # noqa: E402
from sides import Answer, Sides, difference  # noqa: E402
from tally import Tally, flags, note  # noqa: E402
from texts import Texts, answer  # noqa: E402

#: (pattern of the statement, of both answers) → why the difference stays
KNOWN: list[tuple[str, str, str]] = [
    ("JSON_TABLE", r"(?s)^\('\w{5}'.* \| \('(?!XX)\w{5}'", "of two errors of a JSON_TABLE another comes first"),
    ("JSON_OBJECTAGG", "'22004', 'null value not allowed for object key'.*'22023', 'field name must not be null'", "the error of a key that is NULL, in 15 and in 18"),
    (r"DEFAULT to_char\(now", r"\| \('(22|42601|42804)", "a DEFAULT that cannot be computed fails also where it is not needed"),
    (r"interval|timestamp", "(?i)infinity", "15 has no infinite interval, and reads a timestamp that has more than infinity in it"),
    ("", r"XQuery .* is not implemented.*jsonpath input", "of two errors of a path another comes first"),
    # (the varlena's header is taken for the text, also where the text is too long for varchar(n))
    (r"(?s)^SELECT JSON_SERIALIZE\(.*::jsonb", r"^\('', ''.*\| \('(22001)?', '", "PostgreSQL prints the first bytes of a jsonb as it is stored"),
]

#: no constant for the planner, and the same on both servers
STABLE = "to_char(now(), 'TZ')"

TYPES = ["int", "bigint", "smallint", "numeric", "numeric(4,1)", "float8", "text", "varchar(3)", "char(4)", "bool", "date", "time", "timestamp", "timestamptz", "interval", "json", "jsonb", "int[]", "text[]", "bytea", "uuid", "pair", "small", "mood", "int4range", "jsonpath"]
METHODS = [".bigint()", ".boolean()", ".date()", ".decimal()", ".decimal(5,1)", ".integer()", ".number()", ".string()", ".time()", ".time(1)", ".time_tz()", ".timestamp()", ".timestamp(2)", ".timestamp_tz()", ".double()"]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class Statements(Texts):
    """The grammar of SQL/JSON, over the documents and paths of `texts.py`."""

    def path_step(self, depth: int) -> str:
        return self.r.choice(METHODS) if self.chance(0.15) else super().path_step(depth)

    def maybe(self, *of: str, p: float = 0.4) -> str:
        return " " + self.one(*of) if self.chance(p) else ""

    def path(self) -> str:
        strict = self.one("", "", "", "strict ", "lax ")
        value = self.path_predicate(1, False) if self.chance(0.1) else "$" + "".join(self.path_step(1) for _ in range(self.r.choice([0, 1, 1, 2])))
        return quoted(self.spoiled(strict + value) if self.chance(0.2) else strict + value)

    def document(self) -> str:
        text = self.json_text(self.r.choice([0, 1, 2, 2]))
        text = quoted(self.spoiled(text) if self.chance(0.2) else text)
        return self.one(text, f"{text}::json", f"{text}::jsonb", f"{text}::jsonb", f"{text}::text", "NULL", f"{text} FORMAT JSON", f"{text}::bytea FORMAT JSON ENCODING UTF8", "'1 day'::interval" if self.chance(0.1) else text)

    def context_item(self) -> str:
        text = quoted(self.json_text(self.r.choice([1, 2, 3])))
        return self.one(f"jsonb {text}", f"jsonb {text}", f"jsonb {text}", f"{text}::json", text, "NULL::jsonb", self.document())

    def scalar(self) -> str:
        return self.one("1", "2.50", "'a'", "'x'::text", "true", "NULL", "NULL::int", "date '2020-02-29'", "timestamp '2020-02-29 12:30:15.5'", "timestamptz '2020-02-29 12:30+02'", "'{1,2}'::int[]", "'{\"a\": 1}'::jsonb", "'[1, 2]'::json", "ROW(1, 'b')::pair", "'happy'::mood", "1e300::float8", "'NaN'::float8", "'Infinity'::numeric", "interval '1 day 2 hours'", "'\\xff'::bytea", "'(1,2)'::point", "5::small", "int4range(1, 3)", "g", "g::text")

    def value(self) -> str:
        return f"{quoted(self.json_text(1))} FORMAT JSON" if self.chance(0.15) else self.scalar() if self.chance(0.85) else self.constructor(1)

    def returning(self, types: list[str] = ["json", "jsonb", "text", "varchar(5)", "bytea", "bytea FORMAT JSON ENCODING UTF8", "text FORMAT JSON", "char(3)", "int"]) -> str:
        return f" RETURNING {self.r.choice(types)}" if self.chance(0.4) else ""

    def nulls(self) -> str:
        return self.maybe("NULL ON NULL", "ABSENT ON NULL")

    def unique(self) -> str:
        return self.maybe("WITH UNIQUE KEYS", "WITHOUT UNIQUE KEYS", "WITH UNIQUE", p=0.3)

    def key(self) -> str:
        return self.one("'a'", "'b'", "'c'::text", "'a'", "1", "g", "NULL" if self.chance(0.1) else "'d'", "date '2020-01-01'", "true")

    def constructor(self, depth: int = 0) -> str:
        kind = self.r.randrange(9 if depth == 0 else 4)
        if kind == 0:
            pairs = ", ".join(f"{self.key()}{self.one(': ', ' VALUE ', ' : ')}{self.value()}" for _ in range(self.r.randint(0, 3)))
            return f"JSON_OBJECT({pairs}{self.nulls() if pairs else ''}{self.unique() if pairs else ''}{self.returning()})"
        if kind == 1:
            values = ", ".join(self.value() for _ in range(self.r.randint(0, 3)))
            return f"JSON_ARRAY({values}{self.nulls() if values else ''}{self.returning()})"
        if kind == 2:
            return f"JSON_SCALAR({self.scalar()})"
        if kind == 3:
            return f"JSON({self.document()}{self.unique()})"
        if kind == 4:
            return f"JSON_SERIALIZE({self.document()}{self.returning(['text', 'bytea', 'varchar(4)', 'text FORMAT JSON', 'jsonb'])})"
        if kind == 5:
            rows = self.one("SELECT x FROM (VALUES (2), (NULL), (1)) AS v(x)", "SELECT x FROM (VALUES (2), (NULL), (1)) AS v(x) ORDER BY x", "VALUES ('a'), ('b')", "SELECT 1 WHERE false", "SELECT '[1]'::json", "SELECT i FROM generate_series(1, g) AS i")
            return f"JSON_ARRAY({rows}{self.one('', '', ' FORMAT JSON')}{self.returning()})"
        if kind == 6:
            return f"JSON_OBJECTAGG({self.key()}{self.one(': ', ' VALUE ')}{self.value()}{self.nulls()}{self.unique()}{self.returning()}){self.maybe('FILTER (WHERE g > 1)', 'OVER ()', 'OVER (ORDER BY g)', p=0.3)}"
        if kind == 7:
            return f"JSON_ARRAYAGG({self.value()}{self.maybe('ORDER BY g', 'ORDER BY g DESC')}{self.nulls()}{self.returning()}){self.maybe('FILTER (WHERE g > 1)', 'OVER ()', p=0.3)}"
        return f"{self.document()} IS {self.one('', '', 'NOT ')}JSON{self.maybe('VALUE', 'OBJECT', 'ARRAY', 'SCALAR', p=0.6)}{self.unique()}"

    def passing(self) -> str:
        return self.maybe("PASSING 1 AS x", "PASSING 'a' AS x, 2 AS y", "PASSING g AS x", "PASSING jsonb '[1, 2]' AS x", "PASSING date '2020-02-29' AS x", "PASSING NULL::int AS x", p=0.4)

    def default(self) -> str:
        return f"DEFAULT {self.one('0', '1', chr(39) + 'a' + chr(39), 'NULL', 'g', '1 + 1', quoted('[1]'), quoted('{}'), STABLE if self.chance(0.1) else '2')}"

    def behaviours(self, *of: str) -> str:
        on_empty = f" {self.one(self.default(), 'NULL', 'ERROR', *of)} ON EMPTY" if self.chance(0.35) else ""
        return on_empty + (f" {self.one(self.default(), 'NULL', 'ERROR', *of)} ON ERROR" if self.chance(0.45) else "")

    def query_function(self) -> str:
        kind = self.r.randrange(3)
        item = f"{self.context_item()}, {self.path()}{self.passing()}"
        if kind == 0:
            return f"JSON_EXISTS({item}{self.maybe('TRUE ON ERROR', 'FALSE ON ERROR', 'UNKNOWN ON ERROR', 'ERROR ON ERROR')})"
        if kind == 1:
            return f"JSON_VALUE({item}{self.returning(TYPES)}{self.behaviours()})"
        wrapper = self.maybe("WITH WRAPPER", "WITHOUT WRAPPER", "WITH CONDITIONAL WRAPPER", "WITH UNCONDITIONAL ARRAY WRAPPER")
        quotes = self.maybe("KEEP QUOTES", "OMIT QUOTES", "OMIT QUOTES ON SCALAR STRING", p=0.3)
        return f"JSON_QUERY({item}{self.returning(TYPES)}{wrapper}{quotes}{self.behaviours('EMPTY ARRAY', 'EMPTY OBJECT', 'EMPTY')})"

    def column(self, number: list[int], depth: int) -> str:
        number[0] += 1
        name, path = f"c{number[0]}", f" PATH {self.path()}" if self.chance(0.7) else ""
        kind = self.r.random()
        if kind < 0.12:
            return f"{name} FOR ORDINALITY"
        if kind < 0.24:
            return f"{name} {self.one('int', 'bool', 'text')} EXISTS{path}{self.maybe('TRUE ON ERROR', 'ERROR ON ERROR', 'UNKNOWN ON ERROR', p=0.3)}"
        if kind < 0.42 and depth > 0:
            return f"NESTED{self.one('', ' PATH')} {self.path()} COLUMNS ({self.columns(number, depth - 1)})"
        name = self.one(name, name, '"a"', "b") if not path else name
        if kind < 0.6:
            return f"{name} {self.one('text', 'jsonb', 'json', 'bytea', 'varchar(4)')} FORMAT JSON{path}{self.maybe('WITH WRAPPER', 'WITHOUT WRAPPER', 'WITH CONDITIONAL WRAPPER')}{self.maybe('KEEP QUOTES', 'OMIT QUOTES', p=0.2)}{self.behaviours('EMPTY ARRAY', 'EMPTY OBJECT')}"
        return f"{name} {self.r.choice(TYPES)}{path}{self.maybe('WITH WRAPPER', 'OMIT QUOTES', p=0.15)}{self.behaviours()}"

    def columns(self, number: list[int], depth: int) -> str:
        return ", ".join(self.column(number, depth) for _ in range(self.r.randint(1, 3)))

    def table(self) -> str:
        name = " AS p" if self.chance(0.2) else ""
        on_error = self.maybe("ERROR ON ERROR", "EMPTY ON ERROR", "NULL ON ERROR", p=0.3)
        return f"JSON_TABLE({self.context_item()}, {self.path()}{name}{self.passing()} COLUMNS ({self.columns([0], 2)}){on_error})"

    def statement(self) -> str:
        kind = self.r.random()
        if kind < 0.25:
            one = f"{self.constructor()} AS v FROM"
        elif kind < 0.6:
            one = f"{self.query_function()} AS v FROM"
        elif kind < 0.7:
            return f"SELECT jsonb_path_query_array({quoted(self.json_text())}::jsonb, {self.path()}) AS v"
        else:
            outer = self.one("", "", "LEFT ")
            join = f"{outer}JOIN LATERAL {self.table()} AS j ON true" if outer or self.chance(0.3) else f"CROSS JOIN {self.table()} AS j"
            return f"SELECT g, j.* FROM (VALUES (1), (2)) AS s(g) {join}"
        return f"SELECT {one} (VALUES (1), (2)) AS s(g)"


def main() -> int:
    args = flags(__doc__).parse_args()
    statements = Statements(args.seed)
    tally = Tally(args)
    with server.Server() as s:
        sides = Sides(s, "SET search_path = d; SET client_min_messages = error; SET timezone = 'UTC'", answer)
        sides.make(["CREATE SCHEMA d", "CREATE TYPE d.pair AS (a int, b text)", "CREATE DOMAIN d.small AS int CHECK (VALUE < 100)", "CREATE TYPE d.mood AS ENUM ('sad', 'happy')"])

        def both(sql: str) -> tuple[str, Answer, Answer]:
            """In what the two answers differ, and the answers."""
            theirs, ours = sides.ask(sql)
            what = difference(theirs, ours)
            # (rows come in any order)
            same = what == "rows" and sorted(map(repr, theirs[2])) == sorted(map(repr, ours[2]))
            return "" if same else what, theirs, ours

        while tally.goes_on():
            sql = statements.statement()
            tally.count += 1
            asked = [sql]
            what, theirs, ours = both(sql)
            tally.succeeded += not theirs[0]
            if not what and not theirs[0]:
                asked = [f"CREATE VIEW v AS {sql}", "TABLE v"]
                for one in asked:
                    what, theirs, ours = both(one)
                    if what:
                        break
                both("DROP VIEW IF EXISTS v")
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
            shape = what + re.sub(r"'(?:[^']|'')*'|\d+", "_", sql)[:60] + re.sub(r'"[^"]*"|\d+', "_", ours[1])[:30]
            if tally.is_new(shape):
                print(f"{sql};\n    {'' if len(asked) == 1 else '(as a view)'}\n    PostgreSQL: {theirs}\n    pgsqlite:   {ours}", flush=True)
    tally.summary()
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
