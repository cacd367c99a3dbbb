"""pgcli: what it reads for completion, its commands with a backslash, several statements, errors."""

import os

from pgcli.pgexecute import PGExecute
from pgspecial.main import PGSpecial

special = PGSpecial()
executor = PGExecute(os.environ["PGDATABASE"], "postgres", "unused", os.environ["PGHOST"], os.environ["PGPORT"])


def run(text: str) -> None:
    print("==", text)
    try:
        for title, rows, headers, status, *_ in executor.run(text, special):
            shown = list(rows or [])
            if text == r"\du":
                # a new file of pgsqlite has a role for the user of the system who made it, too
                shown, status = [r for r in shown if r[0] == "postgres"], None
            for part in (title, headers, *shown, status):
                if part:
                    print(part if isinstance(part, str) else [str(v) for v in part])
    except Exception as e:
        print(type(e).__name__, str(e).splitlines()[0])


run(
    "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE parent (id serial PRIMARY KEY, m mood DEFAULT 'ok', price numeric(8,2) CHECK (price > 0));"
    "CREATE TABLE child (id int, parent int REFERENCES parent (id) ON DELETE CASCADE, UNIQUE (parent, id)); CREATE INDEX ON child (id DESC);"
    "CREATE VIEW both_of AS SELECT p.id, c.id AS child FROM parent p JOIN child c ON c.parent = p.id; CREATE SEQUENCE counter; CREATE SCHEMA other; CREATE TABLE other.thing (a text[]);"
    "COMMENT ON TABLE parent IS 'the upper one'; CREATE FUNCTION add(a int, b int DEFAULT 1) RETURNS int LANGUAGE sql AS 'SELECT a + b';"
    "CREATE DOMAIN short AS varchar(5) CHECK (value <> '')"
)
run("INSERT INTO parent (price) VALUES (1.5), (2) RETURNING *; SELECT * FROM parent ORDER BY id; SELECT 1/0; SELECT 2")
for command in (
    r"\dt", r"\dv", r"\ds", r"\di", r"\dn", r"\df", r"\dT", r"\dD", r"\d parent", r"\d child", r"\d both_of", r"\d counter", r"\d other.*",
    r"\dt other.*", r"\dx", r"\dp parent", r"\sf add", r"\db", r"\du", r"\ddp",
):  # fmt: skip
    run(command)
print("schemata", [s for s in executor.schemata() if not s.startswith("pg_t")])
print("search path", executor.search_path())
print("tables", [t for t in executor.tables() if t[0] in ("public", "other")])
print("columns", [c for c in executor.table_columns() if c[0] in ("public", "other")])
print("views", [v for v in executor.views() if v[0] == "public"], [c for c in executor.view_columns() if c[0] == "public"])
print("foreign keys", list(executor.foreignkeys()))
print("datatypes", [d for d in executor.datatypes() if d[0] == "public"])
print("functions", [(f.schema_name, f.func_name, f.arg_names, f.arg_types, f.return_type, f.is_aggregate, f.is_set_returning) for f in executor.functions() if f.schema_name == "public"])
print("builtins", len({f.func_name for f in executor.functions() if f.func_name in ("now", "count", "generate_series", "row_number")}))
print("view", executor.view_definition("both_of"))
print("function", executor.function_definition("add"))
try:
    print("casing", sorted(executor.casing()))
except Exception as e:
    print("casing", str(e).splitlines()[0])
