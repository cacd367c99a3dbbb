"""Generates schemas, rows and statements from a seed. Only what both servers can be asked deterministically: no clock, no
chance, no order of rows that the statement does not fix."""

from __future__ import annotations

import random
import re

from tree import Node, Part, listed
from values import (
    AGGREGATES, ARRAYS, CATALOG_OPERATIONS, DISTANCES, FRAMES, LITERALS, OPERATIONS, ORDERED, ROW_FUNCTIONS, SAME, TYPES, UNORDERED, WINDOWS,
)

class Table:
    """A relation: `unique`: each row has its own id; `given`: the columns that a statement may give values; `kind`: of what it is."""

    def __init__(self, name: str, columns: list[tuple[str, str]], kind: str = "", given: list[tuple[str, str]] | None = None, unique: bool = True):
        self.name = name
        self.columns = columns
        self.kind = kind
        self.given = given if given is not None else [c for c in columns if c[0] != "id"]
        self.unique = unique and any(n == "id" for n, _ in columns)


class Generator:
    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.tables: list[Table] = []
        self.counter = 0
        #: without what the server keeps as the expression that it stands for, and prints so
        self.stored = False
        #: functions of the schema: (call with $1 …, types of the arguments, type of the result)
        self.functions: list[tuple[str, tuple[str, ...], str]] = []

    def unique(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    @staticmethod
    def kind(t: str) -> str:
        return SAME.get(t, t)

    # --- expressions -----------------------------------------------------------------------------------------------

    def literal(self, t: str) -> Node:
        if self.chance(0.1):
            return Node(f"NULL::{TYPES[t]}", type=t)
        text = self.random.choice(LITERALS[self.kind(t)])
        if t in ("int4", "bool", "bits", "varbit") and self.chance(0.8) and not (t == "int4" and len(text) > 9):
            return Node(f"({text})" if text.startswith("-") else text, type=t)
        if t == "numeric" and "." in text and not text.startswith("-"):
            return Node(text, type=t)
        return Node(f"({text})::{TYPES[t]}" if not text.startswith(("ROW", "ARRAY")) else f"{text}::{TYPES[t]}", type=t)

    def column(self, t: str, scope: list[tuple[str, Table]]) -> Node | None:
        found = [
            f"{alias}.{name}" if alias else name
            for alias, table in scope
            for name, ct in table.columns
            if ct == t or SAME.get(ct) == t
        ]
        return Node(self.random.choice(found), type=t) if found else None

    def fill(self, template: str, types: tuple[str, ...], depth: int, scope: list, queries: bool, result: str) -> Node:
        args = [self.expression(t, depth, scope, queries) for t in types]
        # the digits of the marks are the odd pieces
        pieces = re.split(r"\$(\d)", template)
        return Node(*(args[int(p) - 1].copy() if i % 2 else p for i, p in enumerate(pieces)), type=result)

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
        if choice < 0.38 and not self.stored:
            kind = r.choice(["text", "int4", "mood", "bool", "date"])
            return Node("CASE ", below(kind), " WHEN ", below(kind), " THEN ", below(t), " ELSE ", below(t), " END", type=t)
        if choice < 0.45:
            return Node("coalesce(", below(t), ", ", below(t), ")", type=t)
        if choice < 0.52 and t not in UNORDERED:
            return Node("nullif(", below(t), ", ", below(t), ")", type=t)
        if choice < 0.58 and t not in UNORDERED:
            return Node(r.choice(["greatest", "least"]) + "(", below(t), ", ", below(t), ")", type=t)
        if choice < 0.64 and queries:
            return self.scalar_query(t, depth - 1, scope)
        own = [f for f in self.functions if f[2] == t]
        if own and queries and self.chance(0.5):
            template, types, _ = r.choice(own)
            return self.fill(template, types, depth - 1, scope, queries, t)
        if t in ARRAYS.values() and queries and depth > 1 and self.chance(0.25):
            return self.array_query(t, depth - 1, scope)
        found = self.operations(t)
        if found:
            template, types = r.choice(found)
            return self.fill(template, types, depth - 1, scope, queries, t)
        return column or self.literal(t)

    def operations(self, t: str) -> list[tuple[str, tuple[str, ...]]]:
        """What gives a value of a type: the chosen templates, or everything that the catalogs know."""
        chosen, every = OPERATIONS.get(t, []), CATALOG_OPERATIONS.get(t, [])
        if self.stored:
            return [o for o in chosen if not re.search(r"OVERLAPS|ROW\(.*NULL|IN \(|\|\| \$|concat|format|num_nonnulls|SELECT", o[0])]
        return every if not chosen or every and self.chance(0.4) else chosen

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
            if self.chance(0.2):
                other = r.choice(["text", "numeric", "date"])
                query, _ = self.select(depth - 1, scope, 2, types=[t, other], top=False)
                return Node("((", below(t), ", ", below(other), ")", r.choice([" IN (", " NOT IN (", " = ANY ("]), query, "))", type="bool")
            query, _ = self.select(depth - 1, scope, 1, types=[t], top=False)
            if self.chance(0.5):
                return Node("(", below(t), r.choice([" IN (", " NOT IN (", " = ANY (", " < ALL ("]), query, "))", type="bool")
            return Node("EXISTS (", query, ")", type="bool")
        template, types = r.choice(self.operations("bool"))
        return self.fill(template, types, depth - 1, scope, queries, "bool")

    def array_query(self, t: str, depth: int, scope: list) -> Node:
        """ARRAY(…): the values of one column in a fixed order."""
        element = next(e for e, a in ARRAYS.items() if a == t)
        table = self.random.choice(self.tables)
        if not table.unique or element in UNORDERED:
            return self.literal(t)
        alias = self.unique("s")
        inner = [(alias, table)] + scope
        where = Node(" WHERE ", self.expression("bool", depth, inner, False), optional=True)
        limit = self.random.choice(["", "", " LIMIT 2", " OFFSET 1"])
        return Node("ARRAY(SELECT ", self.expression(element, depth, inner, False), f" FROM {table.name} {alias}", where, f" ORDER BY {alias}.id{limit})", type=t)

    def scalar_query(self, t: str, depth: int, scope: list) -> Node:
        """A sub-query with one row at most: an aggregate, or a look-up by key."""
        table = self.random.choice(self.tables)
        alias = self.unique("s")
        inner = [(alias, table)] + scope
        if t in ("int4", "numeric", "text", "date", "interval", "inet") and self.chance(0.6):
            value: Node = Node(self.random.choice(["min(", "max("]), self.expression(t, max(depth, 0), [(alias, table)], False), ")", type=t)
            where = Node(" WHERE ", self.expression("bool", depth, inner, False), optional=True)
            return Node("(SELECT ", value, f" FROM {table.name} {alias}", where, ")", type=t)
        if not table.unique:
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
            table = Table("", list(zip(names, types)))
            return Node("(", query, f") AS {alias} ({', '.join(names)})"), (alias, table)
        if self.chance(0.08):
            types = [r.choice(list(LITERALS)) for _ in range(2)]
            rows: list[Part] = [
                Node("(", *[p for i, t in enumerate(types) for p in ([", "] if i else []) + [self.expression(t, 1, [], False)]], ")")
                for _ in range(r.randint(1, 3))
            ]
            table = Table("", [("x0", types[0]), ("x1", types[1])])
            return Node("(VALUES ", listed(rows), f") AS {alias} (x0, x1)"), (alias, table)
        if self.chance(0.06):
            return self.row_function(alias, [])
        table = r.choice(self.tables)
        return Node(f"{table.name} AS {alias}"), (alias, table)

    def row_function(self, alias: str, scope: list) -> tuple[Node, tuple[str, Table]]:
        """A call in FROM."""
        template, types, args = self.random.choice(ROW_FUNCTIONS)
        call = self.fill(template, args, 1, scope, False, "")
        columns = [(f"x{i}", t) for i, t in enumerate(types)]
        numbered = ""
        if self.chance(0.3):
            columns.append(("n", "int8"))
            numbered = " WITH ORDINALITY"
        return Node(call, f"{numbered} AS {alias} ({', '.join(n for n, _ in columns)})"), (alias, Table("", columns))

    def lateral(self, scope: list, depth: int, outer: list) -> tuple[Node, tuple[str, Table]]:
        """An item of FROM that sees those before it."""
        alias = self.unique("a")
        if self.chance(0.5):
            return self.row_function(alias, scope)
        query, types = self.select(depth - 1, scope, self.random.randint(1, 2), top=False)
        columns = [(f"x{i}", t) for i, t in enumerate(types)]
        return Node("LATERAL (", query, f") AS {alias} ({', '.join(n for n, _ in columns)})"), (alias, Table("", columns))

    def select(self, depth: int, outer: list, width: int, types: list[str] | None = None, top: bool = True) -> tuple[Node, list[str]]:
        """A query and the types of its columns."""
        r = self.random
        chosen = not types
        types = types or [r.choice(list(LITERALS) + ["numeric", "text", "text"] * 4) for _ in range(width)]
        ordered = not UNORDERED & set(types)
        choice = r.random()
        if depth > 1 and choice < 0.18:
            left, _ = self.select(depth - 1, outer, width, types, top=False)
            right, _ = self.select(depth - 1, outer, width, types, top=False)
            word = r.choice([" UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT ", " INTERSECT ALL ", " EXCEPT ALL "])
            return Node("(", left, ")", " UNION ALL " if UNORDERED & set(types) else word, "(", right, ")"), types
        if chosen and depth > 1 and choice < 0.24:
            return self.grouping_sets(depth, outer)
        parts: list[Part] = []
        saved = self.tables
        if depth > 1 and 0.28 <= choice < 0.33:
            name = self.unique("q")
            query, columns = self.recursive(name, depth)
            parts += [f"WITH RECURSIVE {name} ({', '.join(n for n, _ in columns)}) AS (", query, f"){self.marks(columns)} "]
            self.tables = self.tables + [Table(name, columns)] * 3
        elif depth > 1 and choice < 0.28:
            query, inner = self.select(depth - 1, [], r.randint(1, 3), top=False)
            name = self.unique("q")
            columns = [(f"y{i}", t) for i, t in enumerate(inner)]
            hint = r.choice(["", "", " MATERIALIZED", " NOT MATERIALIZED"])
            parts += [f"WITH {name} ({', '.join(n for n, _ in columns)}) AS{hint} (", query, ") "]
            self.tables = self.tables + [Table(name, columns)] * 3
        item, entry = self.source(depth, outer)
        scope = [entry]
        sources: list[Part] = [item]
        for _ in range(r.choice([0, 0, 1, 1, 2]) if depth > 1 else 0):
            if self.chance(0.15):
                item, entry = self.lateral(scope, depth, outer)
                word = r.choice([" JOIN ", " LEFT JOIN ", " CROSS JOIN ", ", "])
                sources.append(Node(word, item, " ON true" if "T JOIN" in word or word == " JOIN " else ""))
                if word == ", ":
                    # a comma binds less than JOIN does
                    scope = [entry] + scope
                    break
            else:
                item, entry = self.source(depth - 1, outer)
                word = r.choice([" JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " JOIN ", " FULL JOIN "])
                on, equal = self.join_condition(entry, scope, depth)
                if word == " FULL JOIN " and not equal:
                    word = " LEFT JOIN "
                if self.chance(0.12) and len(scope) == 1 and all(t.name and any(n == "id" for n, _ in t.columns) for t in (entry[1], scope[0][1])):
                    word = r.choice([" JOIN ", " LEFT JOIN ", " FULL JOIN ", " RIGHT JOIN "])
                    sources.append(Node(word, item, " USING (id)"))
                else:
                    sources.append(Node(word, item, " ON ", on))
            scope = [entry] + scope
        self_scope = scope + outer
        where = Node(" WHERE ", self.expression("bool", min(depth, 2), self_scope), optional=True) if self.chance(0.6) else ""
        grouped = ordered and self.chance(0.25)
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
        if top and not grouped and not windows and self.chance(0.06):
            self.tables = saved
            return self.first_of_each(parts, sources, where, scope, targets, types), types
        if top and not grouped and not windows and len(scope) == 1 and scope[0][1].unique and self.chance(0.06):
            self.tables = saved
            return self.with_ties(parts, sources, where, scope, targets, types), types
        if grouped and keys and self.chance(0.15):
            call = r.choice(["sum(count(*)) OVER (ORDER BY {})", "rank() OVER (ORDER BY count(*), {})", "max(count(*)) OVER (PARTITION BY count(*) > 1)", "row_number() OVER (ORDER BY {})"])
            found = [str(t) for t in targets if not re.search(r"\(", str(t))][:1]
            if len(found) == len(keys):
                targets.append(call.format(", ".join(found)))
                types = types + ["int8"]
        if not grouped and not windows and self.chance(0.05) and not UNORDERED & set(types):
            template, given, args = r.choice([f for f in ROW_FUNCTIONS if len(f[1]) == 1])
            targets.append(self.fill(template, args, 1, scope, False, ""))
            types = types + [given[0]]
        distinct = Node("DISTINCT ", optional=True) if ordered and not grouped and self.chance(0.15) else ""
        self.tables = saved
        parts += ["SELECT ", distinct, Node(*[p for i, x in enumerate(targets) for p in ([", "] if i else []) + [x]])]
        parts += [" FROM ", Node(*sources), where, *tail]
        if top and ordered:
            order = [f"{i + 1}{r.choice(['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST'])}" for i in range(len(types))]
            if self.chance(0.5):
                limit = Node(f" LIMIT {r.randint(0, 5)}{r.choice(['', ' OFFSET 1'])}", optional=True) if self.chance(0.3) else ""
                parts += [Node(f" ORDER BY {', '.join(order)}", limit, optional=True)]
        return Node(*parts), types

    def keys_of(self, scope: list) -> list[str] | None:
        """What makes each row of the sources one of its own."""
        keys = [f"{alias}.id" for alias, table in scope if table.unique]
        return keys if len(keys) == len(scope) else None

    def first_of_each(self, parts: list, sources: list, where: Part, scope: list, targets: list, types: list[str]) -> Node:
        """DISTINCT ON: the first row of each group."""
        keys = self.keys_of(scope)
        by = self.expression(self.random.choice(["text", "numeric", "bool", "date", "mood"]), 1, scope, False)
        if keys is None:
            return Node(*parts, "SELECT ", Node(*[p for i, x in enumerate(targets) for p in ([", "] if i else []) + [x]]), " FROM ", Node(*sources), where)
        direction = self.random.choice(["", " DESC", " NULLS FIRST"])
        shown = Node(*[p for i, x in enumerate(targets) for p in ([", "] if i else []) + [x]])
        return Node(*parts, "SELECT DISTINCT ON (", str(by), ") ", shown, " FROM ", Node(*sources), where, f" ORDER BY {by}{direction}, {', '.join(keys)}")

    def with_ties(self, parts: list, sources: list, where: Part, scope: list, targets: list, types: list[str]) -> Node:
        """FETCH FIRST … WITH TIES: with all rows that are equal to the last."""
        by = self.expression(self.random.choice(["text", "numeric", "bool", "date", "mood"]), 1, scope, False)
        shown = Node(*[p for i, x in enumerate(targets) for p in ([", "] if i else []) + [x]])
        n = self.random.randint(1, 4)
        return Node(*parts, "SELECT ", shown, " FROM ", Node(*sources), where, f" ORDER BY {by} FETCH FIRST {n} ROWS WITH TIES")

    def join_condition(self, entry: tuple[str, Table], scope: list, depth: int) -> tuple[Node, bool]:
        """A condition, and whether it is an equality of columns alone."""
        pairs = [
            (f"{entry[0]}.{a}", f"{alias}.{b}")
            for a, ta in entry[1].columns
            for alias, table in scope
            for b, tb in table.columns
            if ta == tb and ta not in UNORDERED
        ]
        if pairs and self.chance(0.7):
            a, b = self.random.choice(pairs)
            extra = Node(" AND ", self.expression("bool", 1, [entry] + scope, False), optional=True) if self.chance(0.3) else ""
            return Node(f"{a} = {b}", extra), not extra
        return self.expression("bool", min(depth, 2), [entry] + scope, False), False

    def recursive(self, name: str, depth: int) -> tuple[Node, list[tuple[str, str]]]:
        """The query of a WITH RECURSIVE that counts to its end, and its columns."""
        t = self.random.choice(["int4", "numeric", "text", "date", "jsonb", "interval", "ints", "range", "bool"])
        columns = [("n", "int4"), ("x", t)]
        first = self.expression(t, 1, [], False)
        again = self.expression(t, 2, [(name, Table(name, columns))], False)
        word = self.random.choice(["UNION", "UNION ALL"])
        return Node(f"SELECT 1, (", first, f")::{TYPES[t]} {word} SELECT n + 1, (", again, f")::{TYPES[t]} FROM {name} WHERE n < {self.random.randint(2, 4)}"), columns

    def marks(self, columns: list[tuple[str, str]]) -> str:
        """SEARCH and CYCLE of a WITH RECURSIVE, or nothing."""
        if not self.chance(0.3):
            return ""
        # (a value with several forms that are equal would be found again or not)
        by = "n" if columns[1][1] != "text" else self.random.choice(["n", "x"])
        if self.chance(0.5):
            return f" SEARCH {self.random.choice(['DEPTH', 'BREADTH'])} FIRST BY {by} SET sought"
        return f" CYCLE {by} SET again{self.random.choice(['', ' TO 1 DEFAULT 0'])} USING way"

    def grouping_sets(self, depth: int, outer: list) -> tuple[Node, list[str]]:
        """A query with grouping sets over columns."""
        r = self.random
        item, entry = self.source(depth, outer)
        found = [c for c in entry[1].columns if c[1] not in UNORDERED]
        if not found:
            return self.select(depth - 1, outer, 1, top=False)
        keys = r.sample(found, min(len(found), r.randint(1, 3)))
        names = [f"{entry[0]}.{n}" for n, _ in keys]
        sets = r.choice([
            f"ROLLUP ({', '.join(names)})",
            f"CUBE ({', '.join(names[:2])})" + "".join(f", {n}" for n in names[2:]),
            "GROUPING SETS (" + ", ".join(f"({n})" for n in names) + ", ())",
            f"GROUPING SETS (({', '.join(names)}), ({names[0]}), ({names[0]}))",
            f"DISTINCT ROLLUP ({', '.join(names)}), ROLLUP ({names[0]})",
        ])
        targets: list[Part] = [*names, f"grouping({', '.join(names)})"]
        types = [t for _, t in keys] + ["int4"]
        for t in r.sample(["int8", "numeric", "text", "bool"], 2):
            aggregate = self.aggregate(t, 1, [entry])
            if aggregate is not None:
                targets.append(aggregate)
                types.append(t)
        where = Node(" WHERE ", self.expression("bool", 1, [entry]), optional=True) if self.chance(0.4) else ""
        having = Node(" HAVING ", r.choice(["count(*) > 1", f"grouping({names[0]}) = 0", "count(*) < 4"]), optional=True) if self.chance(0.3) else ""
        return Node("SELECT ", *[p for i, x in enumerate(targets) for p in ([", "] if i else []) + [x]], " FROM ", item, where, f" GROUP BY {sets}", having), types

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
        keys = [f"{alias}.id" for alias, table in scope if table.unique]
        if len(keys) != len(scope):
            return None
        ranked = template.startswith(("rank", "dense", "percent", "cume"))
        distance = self.random.choice(list(DISTANCES)) if not ranked and template.startswith(("count", "sum", "max", "bool")) and self.chance(0.25) else ""
        first = self.expression(distance or self.random.choice(["text", "numeric", "interval", "date", "range", "mood"]), 1, scope, False)
        partition = Node("PARTITION BY ", self.expression(self.random.choice(["text", "numeric", "bool"]), 1, scope, False), " ", optional=True)
        direction = self.random.choice(["", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"])
        order = [first, direction] if ranked or distance else [first, direction + ", " + ", ".join(keys)]
        frame: Part = ""
        if distance:
            d = DISTANCES[distance]
            frame = f" RANGE BETWEEN {self.random.choice([d + ' PRECEDING AND CURRENT ROW', d + ' PRECEDING AND ' + d + ' FOLLOWING', 'CURRENT ROW AND ' + d + ' FOLLOWING EXCLUDE CURRENT ROW'])}"
        elif not ranked and self.chance(0.4):
            frame = Node(self.random.choice(FRAMES), optional=True)
        return Node(call, " OVER (", partition, "ORDER BY ", *order, frame, ")", type=t)
