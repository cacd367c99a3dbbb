#!/usr/bin/env python3
"""Programs by chance, on pgsqlite and on PostgreSQL 15: functions, procedures and blocks in PL/pgSQL, functions in SQL, and cursors of a session.

    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/programs.py --statements 500        the fixed part of `make test`
    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/programs.py --seconds 600 --seed N  as long as one likes

A program has loops, branches, handlers of errors, cursors, dynamic statements, changes of a table, diagnostics. It is made and called in a
transaction that is rolled back; its rows, its notices, its error (code, message, detail, hint) and the table's rows afterwards are compared. What
differs is made smaller for as long as it differs in the same way. `KNOWN` names the differences that stay. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import pgwire  # noqa: E402
import server  # noqa: E402
from sides import Chooser  # noqa: E402
from tally import Tally, flags, note  # noqa: E402
from tree import Node, Part, listed, shrink  # noqa: E402

#: (pattern of the statement, of both answers) → why the difference stays
KNOWN: list[tuple[str, str, str]] = [
    (r"twice\(", r"Failing row contains.* \| ", "of a row with several volatile values no constraint error has a detail"),
    (r"twice\(", r"error P0003[^|]*\|[^|]*error 23502", "of two errors of a statement another comes first"),
    ("", r"no value found for parameter \d+.* \| .*no value found for parameter \d+", "PL/pgSQL's variables have other numbers"),
    ("", r"error 42702.* \| .*error 42702", "of two names with two meanings another is told"),
    ("", r"error (21000|22P02|22012|22003|23502)[^|]*\|[^|]*error (21000|22P02|22012|22003|23502)", "of two errors of a statement another comes first"),
    (r"(?s)CURRENT OF.*SELECT f\(id\) FROM", r"^(?!.*error)", "rows that one call has changed come last in PostgreSQL's scan of the next"),
    (r"\ba\[|m\[1\]\[", r"error (2[12]|P0003)\d* .* \| .*error (2[12]|P0003)", "of two errors of a statement another comes first"),
]

SETUP = [
    "CREATE SCHEMA d",
    "SET search_path = d",
    "CREATE TYPE pair AS (a int, b text)",
    "CREATE DOMAIN few AS int CHECK (VALUE BETWEEN -3 AND 9)",
    "CREATE TABLE tt (id int PRIMARY KEY, k int CHECK (k < 50), s text DEFAULT 'def', n numeric(6,2), p pair)",
    "INSERT INTO tt VALUES (1, 10, 'a', 1.5, ROW(1, 'x')), (2, 20, 'b', NULL, NULL), (3, NULL, NULL, 2.25, ROW(NULL, 'y')), (4, 40, 'a', -1, ROW(4, NULL))",
    "CREATE TABLE note (at serial, what text)",
    "CREATE FUNCTION twice(v int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF v = 3 THEN RAISE EXCEPTION 'three' USING ERRCODE = 'P0003', HINT = 'not three'; END IF; RETURN 2 * v; END $$",
    "CREATE FUNCTION pairof(INOUT v int, OUT w text) LANGUAGE sql AS $$ SELECT v + 1, 'w' || v $$",
    "CREATE FUNCTION upto(m int) RETURNS SETOF tt LANGUAGE sql STABLE AS $$ SELECT * FROM tt WHERE id <= m ORDER BY id $$",
    "CREATE PROCEDURE pp(x int, INOUT y int DEFAULT 7) LANGUAGE plpgsql AS $$ BEGIN y := x + y; INSERT INTO note (what) VALUES ('pp ' || x); END $$",
]
SIMPLEST = {"int": ["1", "NULL::int"], "text": ["'a'", "NULL::text"], "bool": ["true", "false"], "numeric": ["1.5"], "ints": ["'{1,2}'::int[]"], "pair": ["ROW(1, 'x')::pair"]}
CONDITIONS = [
    "division_by_zero", "others", "OTHERS", "unique_violation", "check_violation", "no_data_found", "too_many_rows", "raise_exception", "SQLSTATE '22012'", "SQLSTATE 'P0003'", "null_value_not_allowed", "not_null_violation",
    "case_not_found", "assert_failure", "array_subscript_error", "numeric_value_out_of_range", "invalid_text_representation", "data_exception", "integrity_constraint_violation", "plpgsql_error", "undefined_column", "undefined_table", "syntax_error",
    "invalid_cursor_name", "cardinality_violation", "query_canceled OR division_by_zero", "string_data_right_truncation",
]
#: the variables of every block: name → type
VARIABLES = {"i": "int", "j": "int", "f": "int", "nn": "int", "t": "text", "u": "text", "n": "numeric", "b": "bool", "a": "ints", "p": "pair"}
DECLARED = (
    "i int := 2; j int; f few := 1; nn int NOT NULL := 5; kk CONSTANT int := 3; t text := 'a'; u varchar(4) DEFAULT 'uv'; n numeric(6,2) := 1; b bool; a int[] := '{3,1,2}'; m int[] := '{{1,2},{3,4}}'; p pair; r record; "
    "q tt%ROWTYPE; z tt.s%TYPE := 'zz'; c refcursor; cc CURSOR (lo int) FOR SELECT * FROM tt WHERE id >= lo; cs SCROLL CURSOR FOR SELECT id, s FROM tt; g int := 0; "
)


class Programs(Chooser):
    def __init__(self, seed: int):
        super().__init__(seed)
        self.labels: list[str] = []
        self.loops: list[str] = []
        self.counter = 0
        self.handler = False
        self.kind = ""
        #: whether an expression is computed in any case: PostgreSQL computes what is constant in a query while it plans it
        self.certain = False

    # --- expressions -----------------------------------------------------------------------------------------------

    def e(self, t: str, depth: int = 2) -> Node:
        r = self.r
        if depth <= 0 or self.chance(0.3):
            return Node(self.leaf(t), type=t)
        below = lambda wanted: self.e(wanted, depth - 1)  # noqa: E731

        def perhaps(wanted: str) -> Node:
            """What may be left out: PostgreSQL computes what is constant in it all the same."""
            saved, self.certain = self.certain, False
            made = below(wanted)
            self.certain = saved
            return made

        if self.chance(0.1):
            return Node("CASE WHEN ", below("bool"), " THEN ", perhaps(t), " ELSE ", perhaps(t), " END", type=t)
        if self.chance(0.07):
            return Node("coalesce(", below(t), ", ", perhaps(t), ")", type=t)
        i, s, b = "int", "text", "bool"
        forms: dict[str, list[tuple[str, tuple[str, ...]]]] = {
            "int": [
                ("({} + {})", (i, i)), ("({} - {})", (i, i)), ("({} * {})", (i, i)), ("({} / nullif({}, 0))", (i, i)), ("({} % nullif({}, 0))", (i, i)), *([("({} / {})", (i, i)), ("({} % {})", (i, i))] * 2 if self.certain else []), ("length({})", (s,)), ("({})[{}]", ("ints", i)), ("cardinality({})", ("ints",)), ("twice({})", (i,)),
                ("(SELECT max(id) FROM tt WHERE k > {})", (i,)), ("(SELECT k FROM tt WHERE id = {})", (i,)), ("({})::int", ("numeric",)), ("({}).a", ("pair",)), ("array_length({}, 1)", ("ints",)), ("({})::int", (b,)),
                ("(pairof({})).v", (i,)), ("({})::few", (i,)),
            ],
            "text": [("({} || {})", (s, s)), ("({} || {})", (s, i)), ("upper({})", (s,)), ("({})::text", (i,)), ("({})::text", ("ints",)), ("({})::text", ("pair",)), ("format('%s-%L', {}, {})", (s, i)), ("({}).b", ("pair",)), ("({})::text", ("numeric",)), ("substr({}, {})", (s, i)), ("({})::text", (b,)), ("(SELECT string_agg(s, ',' ORDER BY id) FROM tt WHERE id <> {})", (i,)), ("concat({}, {}, {})", (s, i, b)), ("({})::varchar(2)", (s,))],
            "bool": [("({} > {})", (i, i)), ("({} = {})", (i, i)), ("({} IS NULL)", (s,)), ("({} = {})", (s, s)), ("({} AND {})", (b, b)), ("({} OR {})", (b, b)), ("(NOT {})", (b,)), ("({} = ANY ({}))", (i, "ints")), ("EXISTS (SELECT 1 FROM tt WHERE id = {})", (i,)), ("({} IN ({}, {}))", (i, i, i)), ("({} IS NOT NULL)", ("pair",)), ("({} BETWEEN {} AND {})", (i, i, i)), ("({} < {})", ("numeric", i)), ("({} IS DISTINCT FROM {})", ("pair", "pair"))],
            "numeric": [("({} * {})", ("numeric", i)), ("({} / nullif({}, 0))", (i, "numeric")), ("round({}, 1)", ("numeric",)), ("({})::numeric", (i,)), ("({})::numeric(4,1)", (i,))],
            "ints": [("({} || {})", ("ints", i)), ("ARRAY[{}, {}]", (i, i)), ("({})[{}:{}]", ("ints", i, i)), ("array_remove({}, {})", ("ints", i)), ("ARRAY(SELECT id FROM tt WHERE id > {} ORDER BY 1)", (i,))],
            "pair": [("ROW({}, {})::pair", (i, s)), ("(SELECT p FROM tt WHERE id = {})", (i,))],
        }
        template, types = r.choice(forms[t])
        pieces = template.split("{}")
        parts: list[Part] = [pieces[0]]
        for at, (piece, wanted) in enumerate(zip(pieces[1:], types)):
            parts += [(perhaps if at and template in ("({} AND {})", "({} OR {})") else below)(wanted), piece]
        return Node(*parts, type=t)

    def leaf(self, t: str) -> str:
        names = [n for n, of in VARIABLES.items() if of == t]
        literals = {"int": ["0", "1", "2", "-1", "3", "NULL", "kk", "q.k", "q.id", "g", "arg"], "text": ["'a'", "''", "'b'", "'7'", "'it''s'", "NULL", "q.s", "z"], "bool": ["true", "false", "FOUND", "NULL::bool"], "numeric": ["0.5", "2.25", "q.n", "1e3"], "ints": ["'{1,2}'::int[]", "NULL::int[]", "'{}'::int[]", "m"], "pair": ["ROW(1, 'x')::pair", "NULL::pair", "q.p"]}
        more = (["SQLERRM", "SQLSTATE"] if self.handler else []) if t == "text" else []
        return self.r.choice(names * 2 + literals[t] + more)

    # --- statements ------------------------------------------------------------------------------------------------

    def block(self, depth: int, most: int = 4) -> Node:
        return Node(*[self.statement(depth) for _ in range(self.r.randint(1, most))])

    def s(self, *parts: Part) -> Node:
        return Node(*parts, "; ", optional=True)

    def show(self) -> str:
        return self.r.choice(["i", "j", "t", "n", "a", "p", "FOUND", "q", "b", "g", "nn", "f", "u", "z", "q.id", "m", "r"] + (["SQLERRM", "SQLSTATE"] if self.handler else []))

    def assign(self) -> Node:
        kind = self.r.random()
        if kind < 0.08:
            return self.s("a[", self.e("int", 1), "] := ", self.e("int", 1))
        if kind < 0.12:
            return self.s("m[1][", self.e("int", 1), "] := ", self.e("int", 1))
        if kind < 0.15:
            return self.s("a[1:2] := ", self.e("ints", 1))
        if kind < 0.22:
            return self.s(self.one("p.a := ", "q.k := ", "q.id := "), self.e("int", 1))
        if kind < 0.3:
            return self.s("q := ", self.one("ROW(9, 8, 'r', 7, NULL)", "(5, 6, 'x')", "NULL", "(SELECT x FROM tt x WHERE id = 2)"))
        if kind < 0.33:
            return self.s("r := ", self.one("ROW(1, 'y')", "q", "p", "(SELECT x FROM tt x WHERE id = 1)", "NULL"))
        if kind < 0.36:
            return self.s("i := ", self.one("count(*) FROM tt", "id FROM tt WHERE k = 20", "k FROM tt ORDER BY id", "r.a", "r.id", "r.nothing"))
        name = self.r.choice(list(VARIABLES))
        self.certain = True
        value = self.e(VARIABLES[name])
        self.certain = False
        return self.s(name, self.one(" := ", " = "), value)

    def loop(self, depth: int) -> Node:
        label = f"l{len(self.labels)}"
        self.labels.append(label)
        self.loops.append(label)
        kind = self.r.random()
        body = lambda: self.block(depth - 1, 3)  # noqa: E731
        head: list[Part]
        guard = "g := g + 1; EXIT WHEN g > 12; "
        if kind < 0.25:
            head = ["FOR x IN ", self.one("", "", "REVERSE "), self.e("int", 1), "..", self.e("int", 1), self.one("", "", " BY 2", " BY 3", " BY kk", " BY 0"), " LOOP ", guard, Node("j := x; ", optional=True)]
        elif kind < 0.45:
            source = self.one("SELECT * FROM tt ORDER BY id", "SELECT id, s FROM tt WHERE id > i ORDER BY id DESC", "SELECT * FROM upto(3)", "VALUES (1, 'a'), (2, NULL)", "UPDATE tt SET k = k + 1 WHERE id < 3 RETURNING id, s", "EXECUTE 'SELECT id, s FROM tt WHERE id > $1 ORDER BY 1' USING i", "EXECUTE 'SELECT ' || quote_literal(t)", "SELECT id, s FROM tt WHERE false")
            head = [f"FOR {self.one('r', 'r', 'i, t')} IN {source} LOOP ", guard]
        elif kind < 0.55:
            head = [f"FOR r IN cc({self.one('2', 'i', 'lo := 3', '9')}) LOOP ", guard, Node("UPDATE tt SET s = s || '!' WHERE CURRENT OF cc; ", optional=True) if self.chance(0.3) else ""]
        elif kind < 0.7:
            head = [self.one("FOREACH j IN ARRAY ", "FOREACH a SLICE 1 IN ARRAY ", "FOREACH i IN ARRAY ", "FOREACH a SLICE 2 IN ARRAY "), self.e("ints", 1), " LOOP ", guard]
        elif kind < 0.85:
            head = ["WHILE ", self.e("bool", 1), " LOOP ", guard]
        else:
            head = ["LOOP ", guard]
        node = Node(f"<<{label}>> " if self.chance(0.5) else f"<<{label}>> ", *head, body(), f"END LOOP{self.one('', ' ' + label)}; ", optional=True)
        self.labels.pop()
        self.loops.pop()
        return node

    def statement(self, depth: int) -> Node:
        r = self.r
        kind = r.random()
        if depth <= 0 and kind < 0.45:
            kind = 0.45 + r.random() * 0.55
        if kind < 0.1:
            parts: list[Part] = ["IF ", self.e("bool"), " THEN ", self.block(depth - 1, 2)]
            if self.chance(0.3):
                parts += [Node("ELSIF ", self.e("bool"), " THEN ", self.block(depth - 1, 2), optional=True)]
            if self.chance(0.4):
                parts += [Node("ELSE ", self.block(depth - 1, 2), optional=True)]
            return Node(*parts, "END IF; ", optional=True)
        if kind < 0.15:
            last: Part = Node("ELSE ", self.block(depth - 1, 1), optional=True) if self.chance(0.5) else ""
            if self.chance(0.5):
                return Node("CASE ", self.e("int", 1), " WHEN ", self.e("int", 1), self.one("", ", 2"), " THEN ", self.block(depth - 1, 1), "WHEN ", self.e("int", 1), " THEN ", self.block(depth - 1, 1), last, "END CASE; ", optional=True)
            return Node("CASE WHEN ", self.e("bool", 1), " THEN ", self.block(depth - 1, 1), last, "END CASE; ", optional=True)
        if kind < 0.3:
            return self.loop(depth)
        if kind < 0.45:
            return self.inner(depth)
        if kind < 0.62:
            return self.assign()
        if kind < 0.72:
            shown = [self.show() for _ in range(r.randint(0, 3))]
            level = self.one("NOTICE", "NOTICE", "WARNING", "INFO", "")
            if self.chance(0.12) or not level:
                return self.s("RAISE ", self.one("EXCEPTION 'bad % %%', i", "division_by_zero", "SQLSTATE '22012'", "unique_violation USING MESSAGE = t", "EXCEPTION USING ERRCODE = 'P0003', MESSAGE = 'm', DETAIL = t, HINT = 'h'", "'plain %', t", "EXCEPTION 'e' USING ERRCODE = 'check_violation', COLUMN = 'c', TABLE = 'x'") if not self.handler or self.chance(0.7) else "")
            using = self.one("", "", "", " USING DETAIL = t, HINT = 'h'")
            return self.s(f"RAISE {level} '{self.one('s', '', '%%')}{' %' * len(shown)}'{''.join(', ' + x for x in shown)}{using}")
        if kind < 0.8:
            return self.query()
        if kind < 0.88:
            return self.change()
        if kind < 0.92:
            return self.cursor()
        if kind < 0.94 and self.loops:
            label = r.choice(self.loops)
            return self.s(self.one("EXIT", "CONTINUE"), self.one("", " " + label), *([" WHEN ", self.e("bool", 1)] if self.chance(0.8) else []))
        if kind < 0.95:
            return self.s(self.one("GET DIAGNOSTICS j = ROW_COUNT", "GET CURRENT DIAGNOSTICS i := ROW_COUNT", "NULL", "PERFORM twice(i)", "PERFORM 1 FROM tt WHERE id > i"))
        if kind < 0.96:
            return self.s("ASSERT ", self.e("bool", 1), self.one("", ", 'asserted ' || t"))
        if kind < 0.97:
            return self.s("CALL pp(", self.e("int", 1), self.one(", i", ", j", ", y => i", "", ", 1"), ")")
        return self.returning()

    def returning(self) -> Node:
        if self.kind == "int":
            return self.s("RETURN ", self.e("int"))
        if self.kind == "text":
            return self.s("RETURN ", self.e("text"))
        if self.kind == "pair":
            return self.s("RETURN ", self.e("pair") if self.chance(0.5) else self.one("r", "q", "ROW(1, 'z')", "NULL", "(1, 2)"))
        if self.kind == "set":
            return self.s(*(["RETURN NEXT ", self.e("int")] if self.chance(0.5) else [self.one("RETURN QUERY SELECT id FROM tt WHERE id > i ORDER BY id", "RETURN QUERY EXECUTE 'SELECT k FROM tt WHERE id < $1 ORDER BY id' USING j", "RETURN", "RETURN QUERY VALUES (1), (i)", "RETURN QUERY UPDATE tt SET k = 1 WHERE id = 1 RETURNING k")]))
        if self.kind == "table":
            return self.s(self.one("o1 := i; o2 := t; RETURN NEXT", "RETURN NEXT", "RETURN QUERY SELECT id, s FROM tt ORDER BY id", "RETURN QUERY SELECT i, t", "RETURN QUERY SELECT s, id FROM tt", "RETURN"))
        if self.kind == "rows":
            return self.s(self.one("RETURN NEXT q", "RETURN QUERY SELECT * FROM upto(2)", "RETURN NEXT r", "RETURN", "q.id := i; RETURN NEXT q", "RETURN QUERY SELECT 1, 2, 'a'::text, 3::numeric(6,2), NULL::pair"))
        if self.kind == "out":
            return self.s(self.one("o1 := i", "o2 := t", "RETURN", "o1 := o1 + 1"))
        return self.s("RETURN" if self.kind in ("void", "procedure", "do") else "NULL")

    def inner(self, depth: int) -> Node:
        """A block of its own, mostly with a handler."""
        declared = self.one("", "", "", "DECLARE i int := 9; ", "DECLARE t text; x int := i; ", "DECLARE nn int NOT NULL := j; ", "DECLARE q pair := ROW(7, 'in'); ")
        if "q pair" in declared:
            declared = ""
        parts: list[Part] = [declared, "BEGIN ", self.block(depth - 1, 3)]
        if self.chance(0.8):
            parts.append("EXCEPTION ")
            saved, self.handler = self.handler, True
            for _ in range(self.r.randint(1, 2)):
                more: list[Part] = []
                if self.chance(0.3):
                    more.append(Node(f"GET STACKED DIAGNOSTICS {self.one('t = MESSAGE_TEXT', 't = RETURNED_SQLSTATE', 't = PG_EXCEPTION_DETAIL', 'z = PG_EXCEPTION_HINT', 't = CONSTRAINT_NAME', 't = TABLE_NAME, z = COLUMN_NAME', 't = PG_DATATYPE_NAME')}; ", optional=True))
                more.append(Node("RAISE NOTICE 'caught % %', SQLSTATE, SQLERRM; ", optional=True))
                if self.chance(0.1):
                    more.append(Node("RAISE; ", optional=True))
                if self.chance(0.6):
                    more.append(self.block(depth - 1, 2))
                parts.append(Node(f"WHEN {self.r.choice(CONDITIONS + ['others'] * 6)} THEN ", *more))
            self.handler = saved
        return Node(*parts, "END; ", optional=True)

    def query(self) -> Node:
        into = self.one("INTO i", "INTO STRICT i", "INTO i, t", "INTO q", "INTO STRICT q", "INTO r", "INTO p", "INTO STRICT r", "INTO j, i, z")
        what = "*" if into.endswith((" q", " r")) and self.chance(0.7) else self.one("id, s", "k, s", "k", "s", "p", "(p).a, (p).b", "id, k, s", "count(*)", "x.*")
        kind = self.r.random()
        if kind < 0.65:
            order = "" if what == "count(*)" else self.one(" ORDER BY id", " ORDER BY id DESC", " ORDER BY id LIMIT 1")
            return self.s(f"SELECT {what} {into} FROM tt x WHERE ", self.e("bool", 1) if self.chance(0.3) else Node("id = ", self.e("int", 1)), order)
        if kind < 0.85:
            text = self.one("SELECT id, s FROM tt WHERE id = $1", "SELECT $1, $1 + 1", "UPDATE tt SET k = $1 WHERE id = 1 RETURNING k, s", "INSERT INTO note (what) VALUES ($1) RETURNING 5, what", "SELECT k FROM tt WHERE id > $1 ORDER BY id", "SELEC $1", "SELECT nothing FROM tt WHERE id = $1")
            return self.s(f"EXECUTE '{text}' {into} USING ", self.e("int", 1))
        return self.s("EXECUTE ", self.one("format('SELECT %L, %s', t, i)", "'SELECT ' || i", "format('UPDATE %I SET s = %L WHERE id = %s', 'tt', t, i)", "'DELETE FROM tt WHERE id = 4'", "t", "NULL::text", "'SELECT 1; SELECT 2'"), self.one("", " INTO t", " INTO r"))

    def change(self) -> Node:
        into = self.one("", "", " RETURNING k INTO i", " RETURNING * INTO q", " RETURNING id, s INTO STRICT i, t", " RETURNING k INTO STRICT j")
        kind = self.r.random()
        if kind < 0.35:
            return self.s("INSERT INTO tt (id, k, s) VALUES (", self.e("int", 1), ", ", self.e("int", 1), ", ", self.e("text", 1), ")", self.one("", "", " ON CONFLICT DO NOTHING", " ON CONFLICT (id) DO UPDATE SET k = excluded.k"), into)
        if kind < 0.7:
            return self.s("UPDATE tt SET ", self.one("k = ", "id = ", "k = k + "), self.e("int", 1), " WHERE id ", self.one("= ", "< "), self.e("int", 1), "" if self.chance(0.4) else into.replace("id, s INTO STRICT i, t", "id INTO i"))
        if kind < 0.85:
            return self.s("DELETE FROM tt WHERE id = ", self.e("int", 1), into)
        return self.s(self.one("INSERT INTO note (what) SELECT s FROM tt WHERE k > i ORDER BY id", "INSERT INTO tt SELECT 20, q.k, z", "UPDATE tt SET (k, s) = (SELECT 5, t) WHERE id = i", "TRUNCATE note", "INSERT INTO note (what) VALUES (t), (u)", "MERGE INTO tt USING (SELECT i AS y) v ON tt.id = v.y WHEN MATCHED THEN UPDATE SET s = t WHEN NOT MATCHED THEN INSERT (id, s) VALUES (v.y, 'new')", "UPDATE tt SET p.a = i WHERE id = 1"))

    def cursor(self) -> Node:
        return self.s(self.one(
            "OPEN c FOR SELECT id, s FROM tt ORDER BY id", "OPEN c SCROLL FOR SELECT id, s FROM tt ORDER BY id", "OPEN c NO SCROLL FOR SELECT id, s FROM tt ORDER BY id", "OPEN c FOR EXECUTE 'SELECT id, s FROM tt WHERE id > $1 ORDER BY 1' USING i", "OPEN cc(i)", "OPEN cc(lo := 2)", "OPEN cs", "FETCH c INTO i, t",
            "FETCH c INTO r", "FETCH NEXT FROM cs INTO i, t", "FETCH LAST FROM cs INTO i, t", "FETCH PRIOR FROM cs INTO r", "FETCH ABSOLUTE 2 FROM cs INTO i, t", "FETCH RELATIVE -1 FROM cs INTO i, t", "FETCH cc INTO q", "MOVE NEXT FROM c", "MOVE 2 FROM cs", "MOVE LAST FROM cs", "CLOSE c", "CLOSE cs", "CLOSE cc",
            "UPDATE tt SET k = 7 WHERE CURRENT OF cs", "FETCH BACKWARD FROM cs INTO r", "FETCH FIRST FROM c INTO r", "MOVE FORWARD ALL FROM cs", "FETCH ABSOLUTE i FROM cs INTO r",
        ))

    # --- programs --------------------------------------------------------------------------------------------------

    def program(self) -> Node:
        kind = self.r.random()
        if kind < 0.12:
            return self.session_cursor()
        if kind < 0.24:
            return self.sql_function()
        self.kind = self.one("int", "int", "text", "pair", "set", "table", "rows", "out", "void", "procedure", "do")
        declared = Node("DECLARE ", DECLARED)
        body = Node(self.block(3, 5), self.returning(), self.returning() if self.kind in ("int", "text", "pair", "set", "table") else "")
        text = Node(declared, "BEGIN ", body, "END")
        if self.kind == "do":
            return Node("DO $$ DECLARE arg int := 2; ", Node(DECLARED), "BEGIN ", body, "END $$")
        header = {
            "int": "f(arg int) RETURNS int", "text": "f(arg int) RETURNS text", "pair": "f(arg int) RETURNS pair", "set": "f(arg int) RETURNS SETOF int", "table": "f(arg int) RETURNS TABLE (o1 int, o2 text)", "rows": "f(arg int) RETURNS SETOF tt",
            "out": "f(arg int, OUT o1 int, INOUT o2 text DEFAULT 'o')", "void": "f(arg int) RETURNS void",
        }.get(self.kind, "f(arg int, INOUT o1 int DEFAULT 3)")
        made = Node(f"CREATE {'PROCEDURE' if self.kind == 'procedure' else 'FUNCTION'} {header} LANGUAGE plpgsql AS $$ ", text, " $$")
        call = {
            "set": "SELECT f(2), f(3)", "table": "SELECT * FROM f(2)", "rows": "SELECT * FROM f(2)", "out": "SELECT * FROM f(2)", "procedure": "CALL f(2)", "pair": "SELECT (f(2)).b",
        }.get(self.kind, self.one("SELECT f(2)", "SELECT f(NULL)", "SELECT f(id) FROM tt WHERE id < 3 ORDER BY id"))
        return Node(made, ";\n", call)

    def sql_function(self) -> Node:
        """A function in SQL of one or several statements."""
        saved, VARIABLES_ = dict(VARIABLES), VARIABLES
        VARIABLES_.clear()
        VARIABLES_.update({"x": "int", "y": "text", "w": "ints", "v": "pair"})
        try:
            for _ in range(50):
                value = self.e(self.one("int", "text"), 3)
                if not re.search(r"\b(q\.|k\b(?! FROM| >)|g\b|z\b|arg|FOUND|m\b|SQLERRM|SQLSTATE)", str(value)):
                    break
            else:
                value = Node("x", type="int")
            first = self.one("", "", "INSERT INTO note (what) VALUES (y); ", "UPDATE tt SET s = y WHERE id = x; ", "DELETE FROM tt WHERE id = x RETURNING id; ")
            kind = self.r.random()
            if kind < 0.3:
                made = Node("CREATE FUNCTION f(x int, y text, w int[], v pair) RETURNS ", value.type, f" LANGUAGE sql{self.one('', ' STRICT', ' IMMUTABLE', ' STABLE')} AS $$ {first}SELECT ", value, " $$")
                call = self.one("SELECT f(2, 'q', '{4,5}', ROW(1, 'p'))", "SELECT f(id, s, ARRAY[k], p) FROM tt ORDER BY id", "SELECT f(NULL, NULL, NULL, NULL)", "SELECT count(*) FROM tt WHERE f(id, s, '{1}', p) IS NULL")
            elif kind < 0.6:
                made = Node(f"CREATE FUNCTION f(x int, y text, w int[], v pair) RETURNS {self.one('SETOF tt', 'tt', 'SETOF record', 'TABLE (one int, two int, three text, four numeric, five pair)')} LANGUAGE sql AS $$ {first}SELECT id, k, s, n, p FROM tt WHERE id ", self.one("= x", "> x", "<> x", "= ANY (w)"), " ORDER BY id $$")
                call = self.one("SELECT * FROM f(1, 'a', '{2,3}', NULL) AS t (i int, j int, s text, n numeric, p pair)", "SELECT f(1, 'a', '{2,3}', NULL)", "SELECT f(id, 'a', '{2,3}', NULL) FROM tt ORDER BY id", "SELECT * FROM f(2, 'a', '{2,3}', NULL) ORDER BY 1", "SELECT (f(1, 'a', '{2,3}', NULL)).*", "SELECT t.id, u.* FROM tt t, LATERAL f(t.id, 'a', '{2,3}', NULL) u ORDER BY 1")
            elif kind < 0.8:
                made = Node("CREATE FUNCTION f(x int, y text, w int[], v pair, OUT o1 int, OUT o2 text) ", self.one("", "RETURNS SETOF record "), f"LANGUAGE sql BEGIN ATOMIC {first}SELECT ", self.one("x, y", "id, s FROM tt WHERE id > x ORDER BY id", "x + 1, v.b", "w[1], y || x"), "; END")
                call = self.one("SELECT * FROM f(1, 'a', '{2,3}', ROW(1, 'b'))", "SELECT f(1, 'a', '{2,3}', NULL)", "SELECT (f(id, s, NULL, p)).o2 FROM tt ORDER BY id", "SELECT pg_get_functiondef('f'::regproc)")
            else:
                made = Node("CREATE FUNCTION f(x int, y text DEFAULT 'dy', VARIADIC w int[] DEFAULT '{9}') RETURNS text LANGUAGE sql AS $$ ", first, "SELECT format('%s %s %s', x, y, w) $$")
                call = self.one("SELECT f(1)", "SELECT f(1, 'b')", "SELECT f(1, 'b', 2, 3)", "SELECT f(1, VARIADIC w => '{7}')", "SELECT f(y => 'n', x => 2)", "SELECT f(1, 'b', VARIADIC ARRAY[i, 2]) FROM generate_series(1, 2) i", "SELECT f(x => 1, w => 2)", "SELECT f(1, NULL, VARIADIC NULL)")
            return Node(made, ";\n", call)
        finally:
            VARIABLES_.clear()
            VARIABLES_.update(saved)

    def session_cursor(self) -> Node:
        query = self.one("SELECT id, s FROM tt ORDER BY id", "SELECT * FROM tt WHERE k > 5 ORDER BY k DESC", "SELECT count(*) FROM tt", "SELECT id, row_number() OVER (ORDER BY id) FROM tt ORDER BY id", "SELECT * FROM upto(3)", "SELECT a.id FROM tt a JOIN tt b ON a.id < b.id ORDER BY 1, b.id", "VALUES (1), (2), (3)", "SELECT id FROM tt FOR UPDATE", "SELECT id, s FROM tt", "SELECT s, count(*) FROM tt GROUP BY s ORDER BY s")
        # (without either of SCROLL and NO SCROLL PostgreSQL's plan says which it is)
        made = f"DECLARE cu {self.one('', '', 'BINARY ', 'INSENSITIVE ', 'ASENSITIVE ')}{self.one('SCROLL ', 'SCROLL ', 'NO SCROLL ')}CURSOR {self.one('', '', 'WITH HOLD ', 'WITHOUT HOLD ')}FOR {query}"
        steps: list[Part] = []
        for _ in range(self.r.randint(2, 7)):
            way = self.one("NEXT", "PRIOR", "FIRST", "LAST", "ABSOLUTE 2", "ABSOLUTE -1", "ABSOLUTE 0", "ABSOLUTE 9", "RELATIVE 1", "RELATIVE -1", "RELATIVE 0", "2", "ALL", "FORWARD", "FORWARD 2", "FORWARD 0", "FORWARD ALL", "BACKWARD", "BACKWARD 2", "BACKWARD 0", "BACKWARD ALL", "-1", "0", "FORWARD -1")
            step = self.one(f"FETCH {way} FROM cu", f"FETCH {way} IN cu", f"MOVE {way} FROM cu", f"FETCH {way} FROM cu", "UPDATE tt SET k = k + 1 WHERE CURRENT OF cu", "DELETE FROM tt WHERE CURRENT OF cu", "UPDATE tt SET s = 'seen' WHERE id = 2", "SELECT name, is_holdable, is_binary, is_scrollable FROM pg_cursors", "SAVEPOINT sp", "ROLLBACK TO sp", "CLOSE cu", "INSERT INTO tt (id) VALUES (7)")
            if step in ("ROLLBACK TO sp", "CLOSE cu") and self.chance(0.5):
                step = "FETCH 1 FROM cu"
            if "CURRENT OF" in step and not query.endswith((" FOR UPDATE", "s FROM tt")):
                # (which of the others stand on a row of the table depends on PostgreSQL's plan)
                continue
            steps.append(Node(";\n", step, optional=True))
        return Node(made, *steps)


Answer = tuple[str, ...]


class Side:
    def __init__(self, connect: "object"):
        self.connect = connect
        self.connection = connect()  # type: ignore[operator]
        for made in SETUP:
            if (answer := self.run(made))[0].startswith("error"):
                raise SystemExit(f"{made}: {answer}")

    def run(self, sql: str) -> Answer:
        out: list[str] = []
        try:
            messages = self.connection.simple(sql)
        except (pgwire.ServerGone, TimeoutError, OSError) as e:
            self.connection = self.connect()  # type: ignore[operator]
            self.connection.simple("SET search_path = d")
            return ("the connection broke: " + repr(e),)
        for kind, body in messages:
            if kind in b"EN":
                fields = pgwire.fields_of(body)
                text = " ".join([("error" if kind == b"E" else fields["S"]), *(fields.get(f, "") for f in "CMDHcnt")]).strip()
                # the number that a cursor without a name gets counts all cursors of the session
                out.append(re.sub(r"<unnamed portal \d+>", "<unnamed portal>", text))
            elif kind == b"D":
                out.append("|".join("∅" if v is None else v.decode("utf-8", "backslashreplace") for v in pgwire.data_row(body)))
            elif kind == b"T":
                out.append(", ".join(f"{n} {o if o < 16384 else 'user'} {m}" for n, o, m, _ in pgwire.row_description(body)))
            elif kind == b"C":
                out.append(body[:-1].decode())
        return tuple(out)

    def answer(self, sql: str) -> list[Answer]:
        self.run("BEGIN")
        out = []
        for statement in sql.split(";\n"):
            out.append(self.run(statement))
            if out[-1] and out[-1][-1].startswith("error"):
                break
        else:
            out += [self.run("SELECT * FROM tt ORDER BY id"), self.run("SELECT what FROM note ORDER BY at")]
        self.run("ROLLBACK")
        return out


def differ(theirs: list[Answer], ours: list[Answer]) -> str:
    """In what two answers differ; empty: in nothing."""
    if theirs == ours:
        return ""
    one, two = next((pair for pair in zip(theirs, ours) if pair[0] != pair[1]), ((), ()))
    ends = [(side[-1].split()[1] if side and side[-1].startswith("error") else "") for side in (one, two)]
    if ends[0] != ends[1]:
        return f"error {ends[0] or 'none'} / {ends[1] or 'none'}"
    return "the error's text" if ends[0] and one[:-1] == two[:-1] else "the answer"


def main() -> int:
    args = flags(__doc__, "programs").parse_args()
    tally = Tally(args)
    with server.Server() as s:
        sides = [Side(lambda: pgwire.from_environment("postgres")), Side(lambda: pgwire.Connection(s.dir, s.port, "postgres", "main"))]

        def both(sql: str) -> tuple[str, list[Answer], list[Answer]]:
            theirs, ours = (side.answer(sql) for side in sides)
            return differ(theirs, ours), theirs, ours

        def excuse(sql: str, theirs: list[Answer], ours: list[Answer], counted: bool) -> str:
            last = next((two[-1] for one, two in zip(theirs, ours) if one != two and two), "")
            if last.startswith("error 0A000"):
                if counted:
                    note(tally.refused, last)
                return "refused"
            return next((why for pattern, answers, why in KNOWN if re.search(pattern, sql) and re.search(answers, f"{theirs} | {ours}", re.S)), "")

        seed = args.seed * 100_000
        while tally.goes_on():
            seed += 1
            tree = Programs(seed).program()
            tally.count += 1
            what, theirs, ours = both(str(tree))
            tally.succeeded += not any(a and a[-1].startswith("error") for a in theirs)
            if not what:
                continue
            if rule := excuse(str(tree), theirs, ours, True):
                note(tally.known, rule)
                continue
            tally.failed += 1

            def still(candidate: Node) -> bool:
                again, one, two = both(str(candidate))
                return again == what and not excuse(str(candidate), one, two, False)

            small = tree if "broke" in str(ours) else shrink(tree, SIMPLEST, still)
            _, theirs, ours = both(str(small))
            shape = what + re.sub(r"'[^']*'|\d+|\b[a-z]\b", "_", str(small).replace(DECLARED, ""))
            if not tally.is_new(shape):
                continue
            text = str(small)
            # only the variables that are used
            for declared in DECLARED.split("; "):
                name = declared.split(" ")[0]
                if name and not re.search(rf"\b{name}\b", text.replace(declared + "; ", "", 1)):
                    text = text.replace(declared + "; ", "", 1)
            print(f"--- seed {seed}: {what}\n{text};\n    PostgreSQL: {[a for a, b in zip(theirs, ours) if a != b] or theirs}\n    pgsqlite:   {[b for a, b in zip(theirs, ours) if a != b] or ours}", flush=True)
    tally.summary("programs")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
