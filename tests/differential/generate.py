"""Generates schemas, rows and statements from a seed. Only what both servers can be asked deterministically: no clock, no
chance, no order of rows that the statement does not fix."""

from __future__ import annotations

import random

from tree import Node, Part, listed

#: a type's name in SQL, by the short name used here
TYPES = {
    "int2": "int2",
    "int4": "int4",
    "int8": "int8",
    "numeric": "numeric",
    "money2": "numeric(8,2)",
    "float8": "float8",
    "float4": "float4",
    "text": "text",
    "varchar": "varchar(10)",
    "bpchar": "char(5)",
    "bool": "bool",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
    "time": "time",
    "timetz": "timetz",
    "interval": "interval",
    "uuid": "uuid",
    "bytea": "bytea",
    "jsonb": "jsonb",
    "ints": "int4[]",
    "texts": "text[]",
    "numerics": "numeric[]",
    "mood": "mood",
    "range": "int4range",
    "inet": "inet",
    "bits": "bit(3)",
    "pair": "pair",
}
#: columns of these types are compared as another one
SAME = {"money2": "numeric"}

LITERALS = {
    "int2": ["0", "1", "2", "-3", "7"],
    "int4": ["0", "1", "2", "-1", "10", "65536"],
    "int8": ["0", "1", "3", "-2", "10000000000"],
    "numeric": ["0", "1", "1.0", "1.50", "2.5", "-0.5", "10", "10.0", "100.00"],
    "float8": ["0", "1", "1.5", "-2.25", "1e10", "'NaN'", "'Infinity'"],
    "float4": ["0", "1", "1.5", "-2.25"],
    "text": ["''", "'a'", "'A'", "'1'", "'1.0'", "'01'", "'10'", "'b c'", "'24:00:00'", "'1 day'", "'é'", "'a '", "'{}'", "'null'"],
    "varchar": ["''", "'a'", "'1'", "'1.0'", "'z z'"],
    "bpchar": ["''", "'a'", "'a  '", "'1'", "'1.0'"],
    "bool": ["true", "false"],
    "date": ["'2020-01-01'", "'2020-02-29'", "'1999-12-31'"],
    "timestamp": ["'2020-01-01 00:00'", "'2020-02-29 12:30:15.5'", "'1999-12-31 23:59:59'"],
    "timestamptz": ["'2020-01-01 00:00+00'", "'2020-02-29 12:30:15.5+02'", "'1999-12-31 23:59:59-08'"],
    "time": ["'00:00'", "'12:30:15.5'", "'24:00:00'"],
    "timetz": ["'00:00+00'", "'12:30:15.5+02'", "'10:30:15.5+00'"],
    "interval": ["'0'", "'1 day'", "'24 hours'", "'1 mon'", "'30 days'", "'-1 hour'", "'1 year 2 days 03:04:05'"],
    "uuid": ["'00000000-0000-0000-0000-000000000001'", "'ffffffff-0000-0000-0000-000000000000'"],
    "bytea": ["'\\x'", "'\\x00ff'", "'\\x61'"],
    "jsonb": ["'1'", "'1.0'", "'\"a\"'", "'[1, 2]'", "'{\"a\": 1}'", "'{\"a\": 1.0, \"b\": null}'", "'null'"],
    "ints": ["'{}'", "'{1}'", "'{1,2}'", "'{NULL,3}'"],
    "texts": ["'{}'", "'{a}'", "'{1,1.0}'", "'{NULL,b}'"],
    "numerics": ["'{}'", "'{1}'", "'{1.0}'", "'{1.00,2}'"],
    "mood": ["'sad'", "'ok'", "'happy'"],
    "range": ["'empty'", "'[1,5)'", "'[2,)'", "'(,3]'"],
    "inet": ["'10.0.0.1'", "'10.0.0.0/8'", "'::1'"],
    "bits": ["B'000'", "B'101'"],
    "pair": ["ROW(1, 'a')", "ROW(1, NULL)", "ROW(2, '1.0')"],
}
#: the plainest values of each type, for making statements smaller
SIMPLEST = {t: [f"{LITERALS[t][1]}::{TYPES[t]}", f"NULL::{TYPES[t]}"] for t in LITERALS}
SIMPLEST |= {"bool": ["true", "false"], "money2": ["1::numeric(8,2)", "NULL::numeric(8,2)"]}

#: result type → (text with $1 …, argument types)
OPERATIONS: dict[str, list[tuple[str, tuple[str, ...]]]] = {
    "int4": [
        ("($1 + $2)", ("int4", "int2")),
        ("($1 - $2)", ("int2", "int2")),
        ("($1 % nullif($2, 0))", ("int4", "int2")),
        ("length($1)", ("text",)),
        ("length($1)", ("bpchar",)),
        ("strpos($1, $2)", ("text", "text")),
        ("ascii($1)", ("text",)),
        ("($1)::int4", ("bool",)),
        ("cardinality($1)", ("ints",)),
        ("array_length($1, 1)", ("texts",)),
        ("($1)[1]", ("ints",)),
        ("($1 - $2)", ("date", "date")),
        ("extract(year FROM $1)::int4", ("timestamp",)),
        ("($1).a", ("pair",)),
        ("lower($1)", ("range",)),
        ("octet_length($1)", ("bytea",)),
        ("jsonb_array_length(CASE WHEN jsonb_typeof($1) = 'array' THEN $1 END)", ("jsonb",)),
    ],
    "int2": [("abs($1)", ("int2",)), ("(($1)::int4 % 100)::int2", ("int4",))],
    "int8": [("($1 * $2)", ("int2", "int8")), ("($1)::int8", ("int4",)), ("($1 & $2)", ("int8", "int8")), ("char_length($1)::int8", ("varchar",))],
    "numeric": [
        ("($1 + $2)", ("numeric", "numeric")),
        ("($1 * $2)", ("numeric", "int4")),
        ("($1 - $2)", ("money2", "numeric")),
        ("round($1, 1)", ("numeric",)),
        ("trunc($1)", ("numeric",)),
        ("abs($1)", ("numeric",)),
        ("($1)::numeric", ("int4",)),
        ("($1)::numeric(8,2)", ("money2",)),
        ("($1 / nullif($2, 0))", ("numeric", "int2")),
        ("($1)[1]", ("numerics",)),
        ("extract(epoch FROM $1)", ("interval",)),
    ],
    "money2": [("($1)::numeric(8,2)", ("int2",))],
    "float8": [("($1 + $2)", ("float8", "float4")), ("abs($1)", ("float8",)), ("($1)::float8", ("numeric",)), ("floor($1)", ("float8",))],
    "float4": [("(- $1)", ("float4",)), ("($1)::float4", ("int2",))],
    "text": [
        ("($1 || $2)", ("text", "text")),
        ("($1 || $2)", ("varchar", "text")),
        ("concat($1, $2)", ("text", "numeric")),
        ("upper($1)", ("text",)),
        ("lower($1)", ("varchar",)),
        ("substr($1, $2)", ("text", "int4")),
        ("trim($1)", ("text",)),
        ("replace($1, $2, $3)", ("text", "text", "text")),
        ("left($1, 2)", ("text",)),
        ("reverse($1)", ("text",)),
        ("lpad($1, 3, '*')", ("text",)),
        ("split_part($1, '.', 1)", ("text",)),
        ("($1)::text", ("numeric",)),
        ("($1)::text", ("interval",)),
        ("($1)::text", ("jsonb",)),
        ("($1)::text", ("bpchar",)),
        ("($1)::text", ("date",)),
        ("($1)::text", ("bool",)),
        ("($1)::text", ("mood",)),
        ("($1)::text", ("ints",)),
        ("($1)[2]", ("texts",)),
        ("($1 ->> 'a')", ("jsonb",)),
        ("array_to_string($1, ',')", ("texts",)),
        ("($1).b", ("pair",)),
        ("to_char($1, 'YYYY-MM-DD')", ("timestamp",)),
        ("host($1)", ("inet",)),
        ("encode($1, 'hex')", ("bytea",)),
    ],
    "varchar": [("($1)::varchar(10)", ("text",))],
    "bpchar": [("($1)::char(5)", ("text",))],
    "date": [("($1 + $2)", ("date", "int2")), ("($1)::date", ("timestamp",))],
    "timestamp": [("($1 + $2)", ("timestamp", "interval")), ("($1)::timestamp", ("date",)), ("date_trunc('month', $1)", ("timestamp",)), ("($1 AT TIME ZONE 'UTC')", ("timestamptz",))],
    "timestamptz": [("($1 - $2)", ("timestamptz", "interval")), ("($1 AT TIME ZONE 'UTC')", ("timestamp",))],
    "time": [("($1)::time", ("timestamp",)), ("($1 + interval '1 hour')", ("time",))],
    "timetz": [("($1)::timetz", ("time",))],
    "interval": [("($1 + $2)", ("interval", "interval")), ("($1 - $2)", ("timestamp", "timestamp")), ("($1 * $2)", ("interval", "int2")), ("justify_days($1)", ("interval",)), ("(- $1)", ("interval",))],
    "uuid": [],
    "bytea": [("($1 || $2)", ("bytea", "bytea")), ("decode(md5($1), 'hex')", ("text",))],
    "jsonb": [("($1 || $2)", ("jsonb", "jsonb")), ("to_jsonb($1)", ("text",)), ("to_jsonb($1)", ("numeric",)), ("jsonb_build_object('k', $1)", ("int4",)), ("($1 -> 'a')", ("jsonb",)), ("to_jsonb($1)", ("ints",))],
    "ints": [("($1 || $2)", ("ints", "int4")), ("ARRAY[$1, $2]", ("int4", "int4")), ("($1)[1:2]", ("ints",)), ("array_remove($1, $2)", ("ints", "int4"))],
    "texts": [("ARRAY[$1, $2]", ("text", "text")), ("string_to_array($1, '.')", ("text",)), ("array_append($1, $2)", ("texts", "text"))],
    "numerics": [("ARRAY[$1, $2]", ("numeric", "numeric"))],
    "mood": [],
    "range": [("($1 * $2)", ("range", "range")), ("int4range(least($1, $2), greatest($1, $2))", ("int2", "int2"))],
    "inet": [("($1 + 1)", ("inet",))],
    "bits": [("(~ $1)", ("bits",)), ("($1 & $2)", ("bits", "bits"))],
    "pair": [("ROW($1, $2)::pair", ("int4", "text"))],
    "bool": [
        ("($1 LIKE $2 || '%')", ("text", "text")),
        ("starts_with($1, $2)", ("text", "text")),
        ("($1 @> $2)", ("jsonb", "jsonb")),
        ("($1 ? 'a')", ("jsonb",)),
        ("($1 @> $2)", ("ints", "ints")),
        ("($1 = ANY ($2))", ("int4", "ints")),
        ("($1 = ANY ($2))", ("text", "texts")),
        ("($1 <> ALL ($2))", ("numeric", "numerics")),
        ("($1 < ANY ($2))", ("numeric", "numerics")),
        ("($1 && $2)", ("range", "range")),
        ("($1 @> $2)", ("range", "int4")),
        ("isempty($1)", ("range",)),
        ("($1 << $2)", ("inet", "inet")),
        ("(($1, $2) < ($3, $4))", ("numeric", "text", "numeric", "text")),
        ("(($1, $2) = ($3, $4))", ("text", "interval", "text", "interval")),
        ("($1 = $2)", ("bpchar", "text")),
        ("($1 = $2)", ("int4", "numeric")),
        ("($1 < $2)", ("int8", "float8")),
        ("($1 >= $2)", ("date", "timestamp")),
    ],
}
ORDERED = [t for t in TYPES if t not in ("money2",)]
#: aggregates: text with $1 … → result type, argument types
AGGREGATES = [
    ("count(*)", "int8", ()),
    ("count($1)", "int8", None),
    ("count(DISTINCT $1)", "int8", None),
    ("min($1)", "=", ("int4", "numeric", "text", "date", "interval", "bpchar", "time", "mood", "timestamptz", "float8", "inet")),
    ("max($1)", "=", ("int4", "numeric", "text", "date", "interval", "bpchar", "time", "mood", "timestamptz", "float8", "inet")),
    ("sum($1)", "numeric", ("numeric", "int8")),
    ("sum($1)", "int8", ("int4", "int2")),
    ("sum($1)", "interval", ("interval",)),
    ("bool_and($1)", "bool", ("bool",)),
    ("bool_or($1)", "bool", ("bool",)),
    ("bit_or($1)", "int4", ("int4",)),
    ("round(avg($1), 3)", "numeric", ("numeric", "int4")),
    ("array_agg($1 ORDER BY $1)", "@", ("int4", "text", "numeric")),
    ("array_agg(DISTINCT $1)", "@", ("int4", "text")),
    ("string_agg($1, ',' ORDER BY $1)", "text", ("text", "varchar")),
    ("string_agg(DISTINCT $1, ',' ORDER BY $1)", "text", ("text", "varchar")),
    ("jsonb_agg($1 ORDER BY $1)", "jsonb", ("int4", "text", "date")),
]
ARRAYS = {"int4": "ints", "text": "texts", "numeric": "numerics"}
WINDOWS = [
    ("row_number()", "int8", ()),
    ("rank()", "int8", ()),
    ("dense_rank()", "int8", ()),
    ("lag($1)", "=", ("int4", "text", "numeric", "date")),
    ("lead($1)", "=", ("int4", "text", "numeric", "interval")),
    ("first_value($1)", "=", ("text", "numeric", "jsonb")),
    ("last_value($1)", "=", ("text", "int4")),
    ("count($1)", "int8", None),
    ("sum($1)", "numeric", ("numeric",)),
    ("max($1)", "=", ("text", "interval", "numeric")),
]


class Table:
    def __init__(self, name: str, columns: list[tuple[str, str]], definition: list[str]):
        self.name = name
        self.columns = columns
        self.definition = definition
        self.rows: list[list[str]] = []

    def create(self) -> list[str]:
        return [f"CREATE TABLE {self.name} ({', '.join(self.definition)})"]


class Generator:
    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.tables: list[Table] = []
        self.indexes: list[str] = []
        self.counter = 0

    def unique(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    # --- schema and rows -------------------------------------------------------------------------------------------

    def schema(self) -> list[str]:
        """The statements that make the tables, their rows and indexes."""
        r = self.random
        self.tables, out = [], []
        for n in range(r.randint(2, 3)):
            types = r.sample([t for t in TYPES if t != "pair"], r.randint(4, 8))
            for wanted in ("numeric", "text"):
                if wanted not in types:
                    types.append(wanted)
            columns = [("id", "int4")] + [(f"c{i}", t) for i, t in enumerate(types)]
            definition = ["id int4 PRIMARY KEY"]
            for name, t in columns[1:]:
                text = f"{name} {TYPES[t]}"
                if self.chance(0.1):
                    text += f" DEFAULT {r.choice(LITERALS[self.kind(t)])}"
                definition.append(text)
            if self.chance(0.3):
                base = Table("", columns, [])
                scope = [("", base)]
                definition.append(f"CHECK ({self.expression('bool', 2, scope, queries=False)} IS NOT FALSE OR true)")
            table = Table(f"t{n}", columns, definition)
            out += table.create()
            count = r.choice([0, 3, 6, 12, 25])
            rows = []
            for i in range(count):
                values = [str(i + 1)]
                for _, t in columns[1:]:
                    values.append("NULL" if self.chance(0.15) else r.choice(LITERALS[self.kind(t)]))
                rows.append(f"({', '.join(values)})")
            if rows:
                out.append(f"INSERT INTO {table.name} VALUES {', '.join(rows)}")
            for name, t in columns[1:]:
                if self.chance(0.3):
                    order = r.choice(["", " DESC", " NULLS FIRST"])
                    out.append(f"CREATE INDEX ON {table.name} ({name}{order})")
            self.tables.append(table)
            if self.chance(0.5):
                out.append(f"ANALYZE {table.name}")
        if self.chance(0.5):
            query, types = self.select(2, [], 3, top=False)
            names = [f"v{i}" for i in range(len(types))]
            out.append(f"CREATE VIEW w ({', '.join(names)}) AS {query}")
            self.tables.append(Table("w", list(zip(names, types)), []))
        return out

    @staticmethod
    def kind(t: str) -> str:
        return SAME.get(t, t)

    # --- expressions -----------------------------------------------------------------------------------------------

    def literal(self, t: str) -> Node:
        if self.chance(0.1):
            return Node(f"NULL::{TYPES[t]}", type=t)
        text = self.random.choice(LITERALS[self.kind(t)])
        if t in ("int4", "bool", "bits") and self.chance(0.8) and not (t == "int4" and len(text) > 9):
            return Node(f"({text})" if text.startswith("-") else text, type=t)
        if t == "numeric" and "." in text and not text.startswith("-"):
            return Node(text, type=t)
        return Node(f"({text})::{TYPES[t]}" if t != "pair" else f"{text}::pair", type=t)

    def column(self, t: str, scope: list[tuple[str, Table]]) -> Node | None:
        found = [
            f"{alias}.{name}" if alias else name
            for alias, table in scope
            for name, ct in table.columns
            if ct == t or t == "numeric" and ct == "money2"
        ]
        return Node(self.random.choice(found), type=t) if found else None

    def fill(self, template: str, types: tuple[str, ...], depth: int, scope: list, queries: bool, result: str) -> Node:
        args = [self.expression(t, depth, scope, queries) for t in types]
        parts: list[Part] = []
        rest = template
        while "$" in rest:
            before, rest = rest.split("$", 1)
            parts += [before, args[int(rest[0]) - 1].copy()]
            rest = rest[1:]
        return Node(*parts, rest, type=result)

    def expression(self, t: str, depth: int, scope: list[tuple[str, Table]], queries: bool = True) -> Node:
        r = self.random
        column = self.column(t, scope)
        if depth <= 0 or self.chance(0.2):
            return column if column and self.chance(0.75) else self.literal(t)
        below = lambda wanted: self.expression(wanted, depth - 1, scope, queries)  # noqa: E731
        choice = r.random()
        if t == "bool":
            return self.condition(depth, scope, queries)
        if choice < 0.2 and column:
            return column
        if choice < 0.35:
            parts: list[Part] = ["CASE WHEN ", below("bool"), " THEN ", below(t)]
            if self.chance(0.3):
                parts += [Node(" WHEN ", below("bool"), " THEN ", below(t), optional=True)]
            parts += [Node(" ELSE ", below(t), optional=True) if self.chance(0.7) else "", " END"]
            return Node(*parts, type=t)
        if choice < 0.45:
            return Node("coalesce(", below(t), ", ", below(t), ")", type=t)
        if choice < 0.52:
            return Node("nullif(", below(t), ", ", below(t), ")", type=t)
        if choice < 0.58:
            return Node(r.choice(["greatest", "least"]) + "(", below(t), ", ", below(t), ")", type=t)
        if choice < 0.64 and queries:
            return self.scalar_query(t, depth - 1, scope)
        if OPERATIONS[t]:
            template, types = r.choice(OPERATIONS[t])
            return self.fill(template, types, depth - 1, scope, queries, t)
        return column or self.literal(t)

    def condition(self, depth: int, scope: list, queries: bool) -> Node:
        r = self.random
        below = lambda wanted: self.expression(wanted, depth - 1, scope, queries)  # noqa: E731
        t = r.choice(ORDERED + ["numeric", "text", "text", "interval", "int4"])
        choice = r.random()
        if choice < 0.35:
            return Node("(", below(t), r.choice([" = ", " <> ", " < ", " <= ", " > ", " >= "]), below(t), ")", type="bool")
        if choice < 0.45:
            return Node("(", below("bool"), r.choice([" AND ", " OR "]), below("bool"), ")", type="bool")
        if choice < 0.5:
            return Node("(NOT ", below("bool"), ")", type="bool")
        if choice < 0.57:
            return Node("(", below(t), r.choice([" IS NULL", " IS NOT NULL"]), ")", type="bool")
        if choice < 0.65:
            items: list[Part] = [below(t) for _ in range(r.randint(1, 3))]
            return Node("(", below(t), r.choice([" IN (", " NOT IN ("]), listed(items), "))", type="bool")
        if choice < 0.71:
            return Node("(", below(t), r.choice([" BETWEEN ", " NOT BETWEEN "]), below(t), " AND ", below(t), ")", type="bool")
        if choice < 0.77:
            return Node("(", below(t), r.choice([" IS DISTINCT FROM ", " IS NOT DISTINCT FROM "]), below(t), ")", type="bool")
        if choice < 0.8:
            return Node("(", below("bool"), r.choice([" IS TRUE", " IS NOT TRUE", " IS UNKNOWN"]), ")", type="bool")
        if choice < 0.88 and queries and depth > 1:
            query, _ = self.select(depth - 1, scope, 1, types=[t], top=False)
            if self.chance(0.5):
                return Node("(", below(t), r.choice([" IN (", " NOT IN (", " = ANY (", " < ALL ("]), query, "))", type="bool")
            return Node("EXISTS (", query, ")", type="bool")
        template, types = r.choice(OPERATIONS["bool"])
        return self.fill(template, types, depth - 1, scope, queries, "bool")

    def scalar_query(self, t: str, depth: int, scope: list) -> Node:
        """A sub-query with one row at most: an aggregate, or a look-up by key."""
        table = self.random.choice(self.tables)
        alias = self.unique("s")
        inner = [(alias, table)] + scope
        if t in ("int4", "numeric", "text", "date", "interval", "inet") and self.chance(0.6):
            value: Node = Node(self.random.choice(["min(", "max("]), self.expression(t, max(depth, 0), [(alias, table)], False), ")", type=t)
            where = Node(" WHERE ", self.expression("bool", depth, inner, False), optional=True)
            return Node("(SELECT ", value, f" FROM {table.name} {alias}", where, ")", type=t)
        keys = [name for name, ct in table.columns if name == "id"]
        if not keys:
            return self.literal(t)
        value = self.expression(t, depth, inner, False)
        return Node("(SELECT ", value, f" FROM {table.name} {alias} WHERE {alias}.id = ", self.expression("int4", 0, scope), ")", type=t)

    # --- queries ---------------------------------------------------------------------------------------------------

    def source(self, depth: int, outer: list) -> tuple[Node, tuple[str, Table]]:
        """An item of FROM and what it offers."""
        r = self.random
        alias = self.unique("a")
        if depth > 1 and self.chance(0.25):
            query, types = self.select(depth - 1, [], r.randint(1, 3), top=False)
            names = [f"x{i}" for i in range(len(types))]
            table = Table("", list(zip(names, types)), [])
            return Node("(", query, f") AS {alias} ({', '.join(names)})"), (alias, table)
        if self.chance(0.08):
            types = [r.choice(list(LITERALS)) for _ in range(2)]
            rows: list[Part] = [
                Node("(", *[p for i, t in enumerate(types) for p in ([", "] if i else []) + [self.expression(t, 1, [], False)]], ")")
                for _ in range(r.randint(1, 3))
            ]
            table = Table("", [("x0", types[0]), ("x1", types[1])], [])
            return Node("(VALUES ", listed(rows), f") AS {alias} (x0, x1)"), (alias, table)
        table = r.choice(self.tables)
        return Node(f"{table.name} AS {alias}"), (alias, table)

    def select(self, depth: int, outer: list, width: int, types: list[str] | None = None, top: bool = True) -> tuple[Node, list[str]]:
        """A query and the types of its columns."""
        r = self.random
        types = types or [r.choice(list(LITERALS) + ["numeric", "text", "text"]) for _ in range(width)]
        choice = r.random()
        if depth > 1 and choice < 0.18:
            left, _ = self.select(depth - 1, outer, width, types, top=False)
            right, _ = self.select(depth - 1, outer, width, types, top=False)
            word = r.choice([" UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT ", " INTERSECT ALL ", " EXCEPT ALL "])
            return Node("(", left, ")", word, "(", right, ")"), types
        parts: list[Part] = []
        saved = self.tables
        if depth > 1 and choice < 0.28:
            query, inner = self.select(depth - 1, [], r.randint(1, 3), top=False)
            name = self.unique("q")
            columns = [(f"y{i}", t) for i, t in enumerate(inner)]
            hint = r.choice(["", "", " MATERIALIZED", " NOT MATERIALIZED"])
            parts += [f"WITH {name} ({', '.join(n for n, _ in columns)}) AS{hint} (", query, ") "]
            self.tables = self.tables + [Table(name, columns, [])] * 3
        item, entry = self.source(depth, outer)
        scope = [entry]
        sources: list[Part] = [item]
        for _ in range(r.choice([0, 0, 1, 1, 2]) if depth > 1 else 0):
            item, entry = self.source(depth - 1, outer)
            joined = [entry] + scope
            on = self.join_condition(entry, scope, depth)
            word = r.choice([" JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " JOIN "])
            sources.append(Node(word, item, " ON ", on))
            scope = joined
        self_scope = scope + outer
        where = Node(" WHERE ", self.expression("bool", min(depth, 2), self_scope), optional=True) if self.chance(0.6) else ""
        grouped = self.chance(0.25)
        windows = not grouped and self.chance(0.15)
        targets: list[Part] = []
        tail: list[Part] = []
        if grouped:
            keys = []
            for i, t in enumerate(types):
                aggregate = self.aggregate(t, depth - 1, scope) if i or len(types) == 1 else None
                if aggregate is None:
                    keys.append(str(i + 1))
                    aggregate = self.expression(t, depth - 1, scope, False)
                targets.append(aggregate)
            if keys:
                tail.append(f" GROUP BY {', '.join(keys)}")
            if self.chance(0.3):
                condition = Node("(count(*) ", r.choice(["> 1", "= 1", "< 3"]), ")", type="bool")
                tail.append(Node(" HAVING ", condition, optional=True))
        else:
            for t in types:
                window = self.window(t, scope) if windows else None
                targets.append(window or self.expression(t, depth - 1, self_scope))
        distinct = Node("DISTINCT ", optional=True) if not grouped and self.chance(0.15) else ""
        self.tables = saved
        parts += ["SELECT ", distinct, Node(*[p for i, x in enumerate(targets) for p in ([", "] if i else []) + [x]])]
        parts += [" FROM ", Node(*sources), where, *tail]
        if top:
            order = [f"{i + 1}{r.choice(['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST'])}" for i in range(len(types))]
            if self.chance(0.5):
                limit = Node(f" LIMIT {r.randint(0, 5)}{r.choice(['', ' OFFSET 1'])}", optional=True) if self.chance(0.3) else ""
                parts += [Node(f" ORDER BY {', '.join(order)}", limit, optional=True)]
        return Node(*parts), types

    def join_condition(self, entry: tuple[str, Table], scope: list, depth: int) -> Node:
        pairs = [
            (f"{entry[0]}.{a}", f"{alias}.{b}")
            for a, ta in entry[1].columns
            for alias, table in scope
            for b, tb in table.columns
            if ta == tb
        ]
        if pairs and self.chance(0.7):
            a, b = self.random.choice(pairs)
            extra = Node(" AND ", self.expression("bool", 1, [entry] + scope, False), optional=True) if self.chance(0.3) else ""
            return Node(f"{a} = {b}", extra)
        return self.expression("bool", min(depth, 2), [entry] + scope, False)

    def aggregate(self, t: str, depth: int, scope: list) -> Node | None:
        found = []
        for template, result, types in AGGREGATES:
            for a in types if types is not None else ("text", "numeric", "interval", "jsonb", "bool"):
                if result == t or result == "=" and a == t or result == "@" and ARRAYS.get(a) == t:
                    found.append((template, (a,)))
            if types == () and result == t:
                found.append((template, ()))
        if not found:
            return None
        template, types = self.random.choice(found)
        call = self.fill(template, types, max(depth, 0), scope, False, t)
        if self.chance(0.2) and not template.startswith("round"):
            call.parts.append(Node(" FILTER (WHERE ", self.expression("bool", 1, scope, False), ")", optional=True))
        return call

    def window(self, t: str, scope: list) -> Node | None:
        found = []
        for template, result, types in WINDOWS:
            for a in types if types is not None else ("text", "numeric"):
                if result == t or result == "=" and a == t:
                    found.append((template, (a,)))
            if types == () and result == t:
                found.append((template, ()))
        if not found:
            return None
        template, types = self.random.choice(found)
        call = self.fill(template, types, 1, scope, False, t)
        # every row has its own place: the keys of all entries come last
        keys = [f"{alias}.id" for alias, table in scope if any(n == "id" for n, _ in table.columns)]
        if len(keys) != len(scope):
            return None
        ranked = template.startswith(("rank", "dense"))
        first = self.expression(self.random.choice(["text", "numeric", "interval", "date"]), 1, scope, False)
        partition = Node("PARTITION BY ", self.expression(self.random.choice(["text", "numeric", "bool"]), 1, scope, False), " ", optional=True)
        order = [first] if ranked else [first, ", " + ", ".join(keys)]
        frame = "" if ranked or not self.chance(0.3) else Node(self.random.choice([" ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", " GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING"]), optional=True)
        return Node(call, " OVER (", partition, "ORDER BY ", *order, frame, ")", type=t)

    # --- statements ------------------------------------------------------------------------------------------------

    def statement(self) -> tuple[Node, str]:
        """A statement, and the table that it changes (empty: none)."""
        tables = [t for t in self.tables if t.definition]
        if self.chance(0.75) or not tables:
            return self.select(self.random.randint(1, 3), [], self.random.randint(1, 3))[0], ""
        table = self.random.choice(tables)
        scope = [(table.name, table)]
        returning: Part = ""
        if self.chance(0.6):
            returned: list[Part] = [self.expression(self.random.choice(["text", "numeric", "bool", "int4"]), 1, scope) for _ in range(2)]
            returning = Node(" RETURNING ", listed(returned), optional=True)
        choice = self.random.random()
        where = Node(" WHERE ", self.expression("bool", 2, scope), optional=True)
        if choice < 0.25:
            return Node(f"DELETE FROM {table.name}", where, returning), table.name
        settable = [c for c in table.columns if c[0] != "id"]
        if choice < 0.6:
            chosen = self.random.sample(settable, min(len(settable), self.random.randint(1, 2)))
            keyed = [t for t in self.tables if any(n == "id" for n, _ in t.columns)]
            if choice < 0.4 and keyed:
                # by both keys: a row that several would change is changed by any of them
                other = self.random.choice(keyed)
                alias = self.unique("a")
                both = scope + [(alias, other)]
                sets: list[Part] = [Node(f"{n} = ", self.expression(t, 1, both)) for n, t in chosen]
                condition = Node(" AND ", self.expression("bool", 1, both), optional=True)
                joined = f" FROM {other.name} AS {alias} WHERE {table.name}.id = {alias}.id"
                return Node(f"UPDATE {table.name} SET ", listed(sets), joined, condition, returning), table.name
            sets = [Node(f"{n} = ", self.expression(t, 2, scope)) for n, t in chosen]
            return Node(f"UPDATE {table.name} SET ", listed(sets), where, returning), table.name
        rows: list[Part] = []
        for i in range(self.random.randint(1, 3)):
            values: list[Part] = [str(self.random.choice([i + 1, 100 + i]))]
            for _, t in table.columns[1:]:
                values += [", ", self.expression(t, 1, []) if self.chance(0.8) else "DEFAULT"]
            rows.append(Node("(", *values, ")"))
        conflict: Part = ""
        kind = self.random.random()
        if kind < 0.3:
            conflict = " ON CONFLICT DO NOTHING"
        elif kind < 0.8:
            name, t = self.random.choice(settable)
            excluded = ("excluded", table)
            value = self.expression(t, 1, scope + [excluded], False)
            condition = Node(" WHERE ", self.expression("bool", 1, scope + [excluded], False), optional=True)
            conflict = Node(f" ON CONFLICT (id) DO UPDATE SET {name} = ", value, condition)
        return Node(f"INSERT INTO {table.name} VALUES ", listed(rows), conflict, returning), table.name
