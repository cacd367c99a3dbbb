"""Schemas by chance: tables with rows, indexes, generated columns, foreign keys and triggers, partitioned tables, views."""

from __future__ import annotations

from generate import Generator, Table
from tree import Node
from values import BOUNDS, HASHED, LITERALS, TYPES, UNORDERED

#: what a generated column can be computed with: immutable whatever the arguments are
GENERATED = [
    ("upper($)", "text", "text"),
    ("$ || '.'", "text", "text"),
    ("$ * 2", "numeric", "numeric"),
    ("coalesce($, 0) + 1", "int4", "int4"),
    ("$ = 'a'", "text", "bool"),
    ("CASE WHEN $ > 1 THEN 'b' ELSE '1.0' END", "numeric", "text"),
    ("$ -> 'a'", "jsonb", "jsonb"),
    ("$[1]", "ints", "int4"),
    ("lower($)", "range", "int4"),
    ("$ + 1", "date", "date"),
    ("NOT $", "bool", "bool"),
    ("$::char(5)", "text", "bpchar"),
]
#: what the triggers write to
LOG = "log"


def tables(g: Generator) -> list[str]:
    """The names of everything whose rows a change may touch."""
    return sorted({t.name for t in g.tables if t.kind == "table"} | {LOG})


def schema(g: Generator) -> list[str]:
    """The statements that make the tables, their rows and what belongs to them."""
    r = g.random
    g.tables = []
    out = [f"CREATE TABLE {LOG} (op text, rel text, id int4, v text)"]
    for n in range(r.randint(2, 3)):
        table(g, n, out)
    if g.chance(0.3):
        references(g, out)
    g.functions = []
    for _ in range(r.choice([0, 0, 1, 2])):
        function(g, out)
    if g.chance(0.35):
        trigger(g, out)
    if g.chance(0.5):
        query, types = g.select(2, [], 3, top=False)
        names = [f"v{i}" for i in range(len(types))]
        out.append(f"CREATE VIEW w ({', '.join(names)}) AS {query}")
        g.tables.append(Table("w", list(zip(names, types)), "view"))
    if g.chance(0.3):
        updatable(g, out)
    return out


def table(g: Generator, n: int, out: list[str]) -> None:
    """A table, partitioned or not, with rows and indexes."""
    r = g.random
    types = r.sample([t for t in TYPES if t != "pair"], r.randint(4, 8))
    for wanted in ("numeric", "text"):
        if wanted not in types:
            types.append(wanted)
    columns = [("id", "int4")] + [(f"c{i}", t) for i, t in enumerate(types)]
    given = columns[1:]
    keys = [(name, t) for name, t in columns if t in BOUNDS]
    key, key_type = r.choice(keys) if g.chance(0.3) else ("", "")
    unique = key in ("", "id")
    definition = ["id int4 PRIMARY KEY" if unique else "id int4"]
    for name, t in given:
        text = f"{name} {TYPES[t]}"
        if g.chance(0.1):
            text += f" DEFAULT {r.choice(LITERALS[g.kind(t)])}"
        definition.append(text)
    if g.chance(0.25):
        template, source, result = r.choice(GENERATED)
        sources = [name for name, t in given if t == source]
        if sources:
            definition.append(f"g {TYPES[result]} GENERATED ALWAYS AS ({template.replace('$', sources[0])}) STORED")
            columns = columns + [("g", result)]
    if g.chance(0.3):
        scope = [("", Table("", columns))]
        definition.append(f"CHECK ({g.expression('bool', 2, scope, queries=False)} IS NOT FALSE OR true)")
    made = Table(f"t{n}", columns, "table", given, unique)
    if key:
        partitioned(g, made, definition, key, key_type, out)
    else:
        out.append(f"CREATE TABLE {made.name} ({', '.join(definition)})")
    rows = []
    for i in range(r.choice([0, 3, 6, 12, 25])):
        values = [str(i + 1)]
        for _, t in given:
            values.append("NULL" if g.chance(0.15) else r.choice(LITERALS[g.kind(t)]))
        rows.append(f"({', '.join(values)})")
    if rows:
        names = ", ".join(["id"] + [c for c, _ in given])
        # row by row where one may have no partition
        for group in [[row] for row in rows] if key else [rows]:
            out.append(f"INSERT INTO {made.name} ({names}) VALUES {', '.join(group)}")
    for name, t in columns[1:]:
        if g.chance(0.3) and t not in UNORDERED:
            out.append(f"CREATE INDEX ON {made.name} ({name}{r.choice(['', ' DESC', ' NULLS FIRST'])})")
    if g.chance(0.5):
        out.append(f"ANALYZE {made.name}")
    g.tables.append(made)


def partitioned(g: Generator, made: Table, definition: list[str], key: str, t: str, out: list[str]) -> None:
    """A partitioned table, by list, by ranges of one or two columns, or by hash; a partition may be partitioned again."""
    r = g.random
    name, bounds = made.name, BOUNDS[t]
    how = r.choice(["LIST", "RANGE", "RANGE", "HASH"] if t in HASHED else ["LIST", "RANGE"])
    second = [c for c, ct in made.given if ct == "int4" and c != key][:1] if how == "RANGE" and not made.unique else []
    # the values of an expression are its own
    shown = f"(coalesce({key}, {bounds[0]}))" if how == "LIST" and not made.unique and t in ("text", "int4") and g.chance(0.2) else key
    out.append(f"CREATE TABLE {name} ({', '.join(definition)}) PARTITION BY {how} ({', '.join([shown, *second])})")
    parts: list[str] = []
    if how == "HASH":
        parts = [f"FOR VALUES WITH (MODULUS 3, REMAINDER {i})" for i in range(3)]
    elif how == "LIST":
        parts = [f"FOR VALUES IN ({b})" for b in bounds if g.chance(0.7)] or [f"FOR VALUES IN ({bounds[0]})"]
        if g.chance(0.5) and shown == key:
            parts[0] = parts[0].replace(")", ", NULL)")
    else:
        rest = lambda: f", {r.choice(['0', 'MINVALUE', 'MAXVALUE'])}" if second else ""  # noqa: E731
        low = lambda: ", MINVALUE" if second else ""  # noqa: E731
        ends = [f"MINVALUE{low()}"] + [f"{b}{rest()}" for b in bounds] + [f"MAXVALUE{', MAXVALUE' if second else ''}"]
        chosen = [i for i in range(len(ends)) if g.chance(0.8)]
        parts = [f"FOR VALUES FROM ({ends[a]}) TO ({ends[b]})" for a, b in zip(chosen, chosen[1:])]
    if how != "HASH" and (g.chance(0.6) or not parts):
        parts.append("DEFAULT")
    for i, bound in enumerate(parts):
        if g.chance(0.15):
            out.append(f"CREATE TABLE {name}_{i} PARTITION OF {name} {bound} PARTITION BY HASH (id)")
            out.extend(f"CREATE TABLE {name}_{i}_{m} PARTITION OF {name}_{i} FOR VALUES WITH (MODULUS 2, REMAINDER {m})" for m in range(2))
        else:
            out.append(f"CREATE TABLE {name}_{i} PARTITION OF {name} {bound}")


def references(g: Generator, out: list[str]) -> None:
    """A table whose rows name those of another one."""
    r = g.random
    targets = [t for t in g.tables if t.unique]
    if not targets:
        return
    target = r.choice(targets)
    action = lambda: r.choice(["CASCADE", "SET NULL", "SET DEFAULT", "NO ACTION", "RESTRICT"])  # noqa: E731
    columns = [("id", "int4"), ("ref", "int4"), ("c0", "text")]
    out.append(f"CREATE TABLE f (id int4 PRIMARY KEY, ref int4 DEFAULT 1 REFERENCES {target.name} ON DELETE {action()} ON UPDATE {action()}, c0 text)")
    out.append(f"INSERT INTO f SELECT id + 10, id, id::text FROM {target.name} WHERE id % {r.randint(1, 3)} = 0")
    g.tables.append(Table("f", columns, "table"))


def function(g: Generator, out: list[str]) -> None:
    """A function in SQL or PL/pgSQL over one or two values."""
    r = g.random
    types = [r.choice(["int4", "text", "numeric", "date", "bool", "jsonb", "ints", "mood", "small", "pair"]) for _ in range(r.randint(1, 2))]
    result = r.choice(["int4", "text", "numeric", "bool", "date", "jsonb", "ints", "interval"])
    name = g.unique("fn")
    columns = [(f"p{i}", t) for i, t in enumerate(types)]
    scope = [("", Table("", columns))]
    queries = g.chance(0.4)
    kind = r.choice(["IMMUTABLE", "STABLE", "VOLATILE"]) if not queries else r.choice(["STABLE", "VOLATILE"])
    strict = r.choice(["", "", " STRICT"])
    value = g.expression(result, 2, scope, queries)
    given = ", ".join(f"{n} {TYPES[t]}" for n, t in columns)
    if g.chance(0.5):
        body = f"LANGUAGE sql {kind}{strict} AS $f$ SELECT {value} $f$"
    else:
        test, other = g.expression("bool", 1, scope, queries), g.expression(result, 1, scope, queries)
        body = f"LANGUAGE plpgsql {kind}{strict} AS $f$ DECLARE v {TYPES[result]} := {other}; BEGIN IF {test} THEN v := {value}; END IF; RETURN v; END $f$"
    out.append(f"CREATE FUNCTION {name}({given}) RETURNS {TYPES[result]} {body}")
    g.functions.append((f"{name}({', '.join(f'${i + 1}' for i in range(len(types)))})", tuple(types), result))


def trigger(g: Generator, out: list[str]) -> None:
    """A trigger that changes, skips or notes rows."""
    r = g.random
    found = [t for t in g.tables if t.kind == "table" and t.name != "f"]
    chosen = r.choice(found)
    columns = [("id", "int4"), *chosen.given]
    kind = r.choice(["before", "before", "after", "statement"])
    events = r.choice(["INSERT", "UPDATE", "INSERT OR UPDATE", "INSERT OR UPDATE OR DELETE", "DELETE"])
    if kind == "before":
        events = events.replace(" OR DELETE", "").replace("DELETE", "UPDATE")
        name, t = r.choice(chosen.given)
        scope = [("NEW", Table("", columns))]
        body = f"IF {g.expression('bool', 1, scope, False)} THEN NEW.{name} := {g.expression(t, 1, scope, False)}; END IF; "
        if g.chance(0.3):
            body += f"IF {g.expression('bool', 1, scope, False)} THEN RETURN NULL; END IF; "
        body += "RETURN NEW; "
        when = Node(" WHEN (", g.expression("bool", 1, [("NEW", Table("", columns))], False), ")") if g.chance(0.3) else ""
        after = f"BEFORE {events} ON {chosen.name} FOR EACH ROW{when}"
    elif kind == "after":
        body = f"INSERT INTO {LOG} VALUES (TG_OP, TG_TABLE_NAME, coalesce(NEW.id, OLD.id), (SELECT count(*) FROM {chosen.name})::text); RETURN NULL; "
        after = f"AFTER {events} ON {chosen.name} FOR EACH ROW"
    else:
        events = r.choice(["INSERT", "UPDATE", "DELETE"])
        which = "OLD" if events == "DELETE" else "NEW"
        body = f"INSERT INTO {LOG} SELECT TG_OP, TG_WHEN, x.id, x.c0::text FROM changed x; RETURN NULL; "
        after = f"AFTER {events} ON {chosen.name} REFERENCING {which} TABLE AS changed FOR EACH STATEMENT"
    out.append(f"CREATE FUNCTION tf() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN {body}END $f$")
    out.append(f"CREATE TRIGGER tr {after} EXECUTE FUNCTION tf()")


def updatable(g: Generator, out: list[str]) -> None:
    """A view that can be written to."""
    base = g.random.choice([t for t in g.tables if t.kind == "table"])
    columns = [("id", "int4")] + g.random.sample(base.given, min(3, len(base.given)))
    where = f" WHERE {g.expression('bool', 1, [('', base)], False)}" if g.chance(0.6) else ""
    check = f" WITH {g.random.choice(['', 'LOCAL ', 'CASCADED '])}CHECK OPTION" if where and g.chance(0.5) else ""
    out.append(f"CREATE VIEW u AS SELECT {', '.join(n for n, _ in columns)} FROM {base.name}{where}{check}")
    g.tables.append(Table("u", columns, "updatable", columns[1:], base.unique))
