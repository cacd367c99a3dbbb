"""Expressions that a server stores as texts: in CHECK constraints, domains, views, generated columns, indexes, policies, triggers,
rules and defaults. Each is printed by the server, compared as a text, and then used: what was read again must mean the
same."""

from __future__ import annotations

from generate import Generator, Table
from tree import Node, Part
from values import LITERALS, TYPES

#: the statements of one case stand in one tree, so that making it smaller makes all of them smaller
SEPARATOR = ";\n"
DEFINITIONS = "SELECT pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) FROM pg_constraint WHERE conname = 'k'"


def expression(g: Generator, t: str, alias: str, columns: list[tuple[str, str]], queries: bool) -> Node:
    return g.expression(t, 2, [(alias, Table("", columns))], queries)


def case(g: Generator) -> Node:
    """A case of one of the kinds."""
    g.stored = True
    try:
        return of_a_kind(g)
    finally:
        g.stored = False


def of_a_kind(g: Generator) -> Node:
    r = g.random
    table = r.choice([t for t in g.tables if t.kind == "table"])
    columns = table.columns
    listed = ", ".join(f"{n} {TYPES[t]}" for n, t in columns)
    copied = f"INSERT INTO s SELECT * FROM {table.name} ON CONFLICT DO NOTHING"
    everything = "SELECT * FROM s"
    t = r.choice(["text", "numeric", "bool", "int4", "interval", "date", "jsonb"])
    kind = r.choice(["check", "check", "domain", "view", "view", "generated", "index", "policy", "trigger", "rule", "default"])
    if kind == "check":
        # each row by itself, because the first that fails would hide the others
        made = Node(f"CREATE TABLE s ({listed}, CONSTRAINT k CHECK (", expression(g, "bool", "", columns, False), "))")
        rows = [f"SAVEPOINT a{SEPARATOR}INSERT INTO s SELECT * FROM {table.name} WHERE id = {i}{SEPARATOR}ROLLBACK TO a" for i in range(1, 5)]
        return Node(made, SEPARATOR, DEFINITIONS, SEPARATOR, SEPARATOR.join(rows))
    if kind == "domain":
        base = r.choice(["text", "numeric", "int4", "date", "interval"])
        made = Node(f"CREATE DOMAIN s AS {TYPES[base]} CONSTRAINT k CHECK (", expression(g, "bool", "", [("VALUE", base)], False), ")")
        used = [f"SAVEPOINT a{SEPARATOR}SELECT ({v})::{TYPES[base]}::s{SEPARATOR}ROLLBACK TO a" for v in LITERALS[base][:4]]
        return Node(made, SEPARATOR, DEFINITIONS, SEPARATOR, SEPARATOR.join(used))
    if kind == "view":
        query, _ = g.select(r.randint(1, 2), [], r.randint(1, 2), top=False)
        text = "SELECT pg_get_viewdef('s'::regclass), pg_get_viewdef('s'::regclass, true)"
        return Node("CREATE VIEW s AS ", query, SEPARATOR, text, SEPARATOR, everything)
    if kind == "generated":
        made = Node(f"CREATE TABLE s ({listed}, g {TYPES[t]} GENERATED ALWAYS AS (", expression(g, t, "", columns, False), ") STORED)")
        text = "SELECT pg_get_expr(adbin, adrelid), pg_get_expr(adbin, adrelid, true) FROM pg_attrdef WHERE adrelid = 's'::regclass"
        return Node(made, SEPARATOR, text, SEPARATOR, copied, SEPARATOR, everything)
    if kind == "index":
        condition = expression(g, "bool", "", columns, False)
        made: list[Part] = [f"CREATE INDEX k ON {table.name} ((", expression(g, t, "", columns, False), ")) WHERE ", condition]
        text = "SELECT pg_get_indexdef('k'::regclass), pg_get_indexdef('k'::regclass, 0, true)"
        return Node(Node(*made), SEPARATOR, text, SEPARATOR, f"SELECT count(*) FROM {table.name}")
    make = f"CREATE TABLE s ({listed})"
    if kind == "policy":
        made = ["CREATE POLICY k ON s USING (", expression(g, "bool", "", columns, True), ")"]
        text = "SELECT pg_get_expr(polqual, polrelid), pg_get_expr(polqual, polrelid, true) FROM pg_policy WHERE polname = 'k'"
        secured = f"ALTER TABLE s ENABLE ROW LEVEL SECURITY{SEPARATOR}ALTER TABLE s FORCE ROW LEVEL SECURITY{SEPARATOR}GRANT ALL ON ALL TABLES IN SCHEMA d TO d_reader{SEPARATOR}GRANT USAGE ON SCHEMA d TO d_reader{SEPARATOR}SET LOCAL ROLE d_reader"
        return Node(make, SEPARATOR, copied, SEPARATOR, Node(*made), SEPARATOR, text, SEPARATOR, secured, SEPARATOR, everything)
    if kind == "trigger":
        function = "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
        made = ["CREATE TRIGGER k BEFORE INSERT ON s FOR EACH ROW WHEN (", expression(g, "bool", "new", columns, False), ") EXECUTE FUNCTION f()"]
        text = "SELECT pg_get_triggerdef(oid), pg_get_triggerdef(oid, true) FROM pg_trigger WHERE tgname = 'k'"
        return Node(make, SEPARATOR, function, SEPARATOR, Node(*made), SEPARATOR, text, SEPARATOR, copied, SEPARATOR, everything)
    if kind == "rule":
        made = ["CREATE RULE k AS ON INSERT TO s WHERE ", expression(g, "bool", "new", columns, False), " DO INSTEAD NOTHING"]
        text = "SELECT pg_get_ruledef(oid), pg_get_ruledef(oid, true) FROM pg_rewrite WHERE rulename = 'k'"
        return Node(make, SEPARATOR, Node(*made), SEPARATOR, text, SEPARATOR, copied.replace(" ON CONFLICT DO NOTHING", ""), SEPARATOR, everything)
    made = [f"CREATE TABLE s (id int4, g {TYPES[t]} DEFAULT ", expression(g, t, "", [], False), ")"]
    text = "SELECT pg_get_expr(adbin, adrelid), pg_get_expr(adbin, adrelid, true) FROM pg_attrdef WHERE adrelid = 's'::regclass"
    return Node(Node(*made), SEPARATOR, text, SEPARATOR, "INSERT INTO s (id) VALUES (1)", SEPARATOR, everything)
