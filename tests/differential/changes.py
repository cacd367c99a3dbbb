"""Statements by chance: queries, and changes of tables, partitioned tables and views."""

from __future__ import annotations

from generate import Generator, Table
from tree import Node, Part, listed


def statement(g: Generator) -> tuple[Node, bool]:
    """A statement, and whether it changes something."""
    r = g.random
    targets = [t for t in g.tables if t.kind in ("table", "updatable")]
    if g.chance(0.65) or not targets:
        return g.select(r.randint(1, 3), [], r.randint(1, 3))[0], False
    target = r.choice(targets)
    choice = r.random()
    if choice < 0.1:
        return within(g, target), True
    if choice < 0.25 and target.kind == "table":
        return merge(g, target), True
    return change(g, target, choice), True


def change(g: Generator, target: Table, choice: float) -> Node:
    """INSERT, UPDATE or DELETE."""
    if choice < 0.4:
        return delete(g, target)
    return update(g, target) if choice < 0.7 else insert(g, target)


def returning(g: Generator, scope: list) -> Part:
    """RETURNING, or nothing."""
    if not g.chance(0.6):
        return ""
    if len(scope) == 1 and g.chance(0.1):
        return Node(" RETURNING *", optional=True)
    returned: list[Part] = [g.expression(g.random.choice(["text", "numeric", "bool", "int4", "date", "jsonb", "range"]), 1, scope) for _ in range(2)]
    return Node(" RETURNING ", listed(returned), optional=True)


def other(g: Generator) -> Table | None:
    """A relation each of whose rows has an id of its own."""
    found = [t for t in g.tables if t.unique]
    return g.random.choice(found) if found else None


def delete(g: Generator, target: Table) -> Node:
    scope = [(target.name, target)]
    source = other(g)
    if source is not None and g.chance(0.3):
        alias = g.unique("a")
        both = scope + [(alias, source)]
        condition = Node(" AND ", g.expression("bool", 1, both), optional=True)
        return Node(f"DELETE FROM {target.name} USING {source.name} AS {alias} WHERE {target.name}.id = {alias}.id", condition, returning(g, both))
    where = Node(" WHERE ", g.expression("bool", 2, scope), optional=True)
    return Node(f"DELETE FROM {target.name}", where, returning(g, scope))


def assignments(g: Generator, target: Table, scope: list, depth: int) -> Node:
    """What comes after SET."""
    chosen = g.random.sample(target.given, min(len(target.given), g.random.randint(1, 2)))
    if len(chosen) == 2 and g.chance(0.2):
        source = other(g)
        if source is not None and g.chance(0.5):
            alias = g.unique("s")
            inner = [(alias, source)] + scope
            values = [g.expression(t, 1, inner, False) for _, t in chosen]
            key = g.expression("int4", 0, scope)
            return Node(f"({chosen[0][0]}, {chosen[1][0]}) = (SELECT ", values[0], ", ", values[1], f" FROM {source.name} {alias} WHERE {alias}.id = ", key, ")")
        values = [g.expression(t, depth, scope) for _, t in chosen]
        return Node(f"({chosen[0][0]}, {chosen[1][0]}) = (", values[0], ", ", values[1], ")")
    sets: list[Part] = []
    for name, t in chosen:
        if t == "ints" and g.chance(0.3):
            sets.append(Node(f"{name}[{g.random.randint(1, 3)}] = ", g.expression("int4", depth, scope)))
        elif t == "nested" and g.chance(0.3):
            sets.append(Node(f"{name}.n = ", g.expression("numeric", depth, scope)))
        elif t == "jsonb" and g.chance(0.2):
            sets.append(Node(f"{name}['a'] = ", g.expression("jsonb", depth, scope)))
        elif g.chance(0.07):
            sets.append(f"{name} = DEFAULT")
        else:
            sets.append(Node(f"{name} = ", g.expression(t, depth, scope)))
    return listed(sets)


def update(g: Generator, target: Table) -> Node:
    r = g.random
    scope = [(target.name, target)]
    source = other(g)
    if source is not None and g.chance(0.4):
        # by both keys: a row that several would change is changed by any of them
        alias = g.unique("a")
        both = scope + [(alias, source)]
        condition = Node(" AND ", g.expression("bool", 1, both), optional=True)
        joined = f" FROM {source.name} AS {alias} WHERE {target.name}.id = {alias}.id"
        return Node(f"UPDATE {target.name} SET ", assignments(g, target, both, 1), joined, condition, returning(g, both))
    where = Node(" WHERE ", g.expression("bool", 2, scope), optional=True)
    if g.chance(0.08):
        # no row meets another one's key
        return Node(f"UPDATE {target.name} SET id = id + {r.choice([1000, 5000])}", where, returning(g, scope))
    return Node(f"UPDATE {target.name} SET ", assignments(g, target, scope, 2), where, returning(g, scope))


def rows(g: Generator, target: Table, scope: list) -> Node:
    """What comes after INSERT INTO: all columns by name, and rows."""
    r = g.random
    names = ", ".join(["id"] + [n for n, _ in target.given])
    if g.chance(0.25) and other(g) is not None:
        source = other(g)
        assert source is not None
        alias = g.unique("a")
        values: list[Part] = [f"{alias}.id + {r.choice([0, 50, 100])}"]
        for _, t in target.given:
            values += [", ", g.expression(t, 1, [(alias, source)])]
        where = Node(" WHERE ", g.expression("bool", 1, [(alias, source)]), optional=True)
        return Node(f"({names}) SELECT ", *values, f" FROM {source.name} AS {alias}", where)
    out: list[Part] = []
    for i in range(r.randint(1, 3)):
        values = [str(r.choice([i + 1, 100 + i]))]
        for _, t in target.given:
            values += [", ", g.expression(t, 1, scope) if g.chance(0.8) else "DEFAULT"]
        out.append(Node("(", *values, ")"))
    return Node(f"({names}) VALUES ", listed(out))


def insert(g: Generator, target: Table) -> Node:
    r = g.random
    scope = [(target.name, target)]
    conflict: Part = ""
    kind = r.random()
    if kind < 0.25:
        conflict = " ON CONFLICT DO NOTHING"
    elif kind < 0.7 and target.unique:
        excluded = ("excluded", target)
        sets = assignments(g, target, scope + [excluded], 1)
        condition = Node(" WHERE ", g.expression("bool", 1, scope + [excluded], False), optional=True)
        conflict = Node(" ON CONFLICT (id) DO UPDATE SET ", sets, condition)
    return Node(f"INSERT INTO {target.name} ", rows(g, target, []), conflict, returning(g, scope))


def merge(g: Generator, target: Table) -> Node:
    """MERGE by the keys: each row has one of the source at most."""
    r = g.random
    source = other(g)
    alias = g.unique("a")
    if source is None or g.chance(0.3):
        values = [Node(f"({i}, ", g.expression("text", 1, []), ", ", g.expression("numeric", 1, []), ")") for i in r.sample(range(1, 40), r.randint(1, 4))]
        source = Table("", [("id", "int4"), ("x0", "text"), ("x1", "numeric")])
        using = Node("(VALUES ", listed(values), f") AS {alias} (id, x0, x1)")
    else:
        using = Node(f"{source.name} AS {alias}")
    matched = [("m", target), (alias, source)]
    clauses: list[Part] = []
    for _ in range(r.randint(1, 3)):
        condition: Part = Node(" AND ", g.expression("bool", 1, matched), optional=True) if g.chance(0.5) else ""
        kind = r.random()
        if kind < 0.4:
            clauses.append(Node(" WHEN MATCHED", condition, " THEN UPDATE SET ", assignments(g, target, matched, 1)))
        elif kind < 0.55:
            clauses.append(Node(" WHEN MATCHED", condition, " THEN DELETE"))
        elif kind < 0.65:
            clauses.append(Node(" WHEN MATCHED", condition, " THEN DO NOTHING"))
        else:
            condition = Node(" AND ", g.expression("bool", 1, [(alias, source)]), optional=True) if g.chance(0.4) else ""
            chosen = r.sample(target.given, min(len(target.given), 3))
            given: list[Part] = [f"{alias}.id + 200"]
            for _, t in chosen:
                given += [", ", g.expression(t, 1, [(alias, source)]) if g.chance(0.9) else "DEFAULT"]
            names = ", ".join(["id"] + [n for n, _ in chosen])
            clauses.append(Node(" WHEN NOT MATCHED", condition, f" THEN INSERT ({names}) VALUES (", *given, ")"))
    # what can never be reached is an error: the conditional clauses come first
    unreachable = lambda c: " AND " not in str(c).split(" THEN ")[0]  # noqa: E731
    kept: list[Part] = []
    for clause in sorted(clauses, key=unreachable):
        if not (unreachable(clause) and any(unreachable(k) and ("NOT MATCHED" in str(k)[:20]) == ("NOT MATCHED" in str(clause)[:20]) for k in kept)):
            kept.append(clause)
    extra = Node(" AND ", g.expression("bool", 1, matched, False), optional=True) if g.chance(0.2) else ""
    return Node(f"MERGE INTO {target.name} AS m USING ", using, f" ON m.id = {alias}.id", extra, listed(kept, ""))


def within(g: Generator, target: Table) -> Node:
    """A change within WITH, whose rows a query or another change reads."""
    r = g.random
    scope = [(target.name, target)]
    kind = r.random()
    where = Node(" WHERE ", g.expression("bool", 1, scope), optional=True)
    if kind < 0.4:
        first = Node(f"DELETE FROM {target.name}", where)
    elif kind < 0.7:
        first = Node(f"UPDATE {target.name} SET ", assignments(g, target, scope, 1), where)
    else:
        first = Node(f"INSERT INTO {target.name} ", rows(g, target, []), " ON CONFLICT DO NOTHING")
    types = [r.choice(["text", "numeric", "int4", "bool"]) for _ in range(2)]
    name = g.unique("d")
    columns = [("id", "int4")] + [(f"x{i}", t) for i, t in enumerate(types)]
    with_ = Node(f"WITH {name} (id, x0, x1) AS (", first, f" RETURNING {target.name}.id, ", g.expression(types[0], 1, scope), ", ", g.expression(types[1], 1, scope), ") ")
    made = Table(name, columns)
    if target.kind == "table" and g.chance(0.3):
        # the same table by another part: no row is changed twice, and each part sees the rows as they were
        again = g.unique("d")
        second = delete(g, target) if g.chance(0.4) else Node(f"UPDATE {target.name} SET ", assignments(g, target, scope, 1), Node(" WHERE ", g.expression("bool", 2, scope), optional=True))
        second = second if " RETURNING " in str(second) else Node(second, " RETURNING 1")
        return Node(with_.parts[0], *with_.parts[1:-1], f"), {again} AS (", second, f") SELECT (SELECT count(*) FROM {name}), (SELECT count(*) FROM {again})")
    others = [t for t in g.tables if t.kind == "table" and t.name != target.name]
    if target.kind == "table" and others and g.chance(0.4):
        second = r.choice(others)
        both = [(second.name, second), (name, made)]
        sets = assignments(g, second, both, 1)
        return Node(with_, f"UPDATE {second.name} SET ", sets, f" FROM {name} WHERE {second.name}.id = {name}.id", returning(g, both))
    saved = g.tables
    g.tables = g.tables + [made] * 4
    query, _ = g.select(r.randint(1, 2), [], 2)
    g.tables = saved
    return Node(with_, query)
