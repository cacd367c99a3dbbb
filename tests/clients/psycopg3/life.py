"""psycopg 3: text and binary, pipeline, COPY, errors."""

import datetime as dt
import decimal
import uuid

import psycopg
from psycopg.types.json import Jsonb

VALUES = {
    "int4": 7, "int8": 1 << 40, "float8": 1.5, "numeric": decimal.Decimal("12.340"), "text": "é'\\", "bool": True,
    "bytea": b"\x00\xff", "date": dt.date(2024, 2, 29), "time": dt.time(1, 2, 3, 4), "timestamp": dt.datetime(2024, 1, 2, 3, 4, 5, 6),
    "timestamptz": dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.timezone.utc), "interval": dt.timedelta(days=3, seconds=5),
    "uuid": uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), "int4[]": [1, None, 3], "text[]": ["a", 'b"', ""],
}  # fmt: skip

with psycopg.connect("") as conn:
    conn.execute("CREATE TABLE all_types (id serial PRIMARY KEY, " + ", ".join(f'"{t}" {t}' for t in VALUES) + ", j jsonb)")
    columns = ", ".join(f'"{t}"' for t in VALUES)
    for binary in (False, True):
        with conn.cursor(binary=binary) as cur:
            mark = "%b" if binary else "%t"
            marks = ", ".join(f"{mark}::{t}" for t in VALUES)
            cur.execute(f"INSERT INTO all_types ({columns}, j) VALUES ({marks}, %s) RETURNING *", [*VALUES.values(), Jsonb({"a": [1]})])
            row = cur.fetchone()
            assert list(row[1:-1]) == list(VALUES.values()), row
            assert row[-1] == {"a": [1]}
            for t, v in VALUES.items():
                cur.execute(f'SELECT count(*) FROM all_types WHERE "{t}" = {mark}::{t}', [v])
                assert cur.fetchone()[0] >= 1, t
            cur.execute("SELECT NULL::int, %s::text", [None])
            assert cur.fetchone() == (None, None)
    conn.commit()
    with conn.cursor() as cur:
        cur.execute("CREATE TABLE items (id int PRIMARY KEY, name varchar(10) NOT NULL, price numeric(8,2) CHECK (price >= 0))")
        cur.executemany("INSERT INTO items VALUES (%s, %s, %s)", [(i, f"n{i}", decimal.Decimal(i)) for i in range(100)])
        cur.execute("SELECT count(*), sum(price) FROM items")
        assert cur.fetchone() == (100, decimal.Decimal("4950.00"))
        with cur.copy("COPY items FROM STDIN") as copy:
            copy.write_row((1000, "copied", decimal.Decimal("1.5")))
        with cur.copy("COPY (SELECT id, name FROM items WHERE id >= 99 ORDER BY id) TO STDOUT") as copy:
            assert list(copy.rows()) == [("99", "n99"), ("1000", "copied")]
    conn.commit()
    for statement, code, constraint in [
        ("INSERT INTO items VALUES (1, 'dup', 1)", "23505", "items_pkey"),
        ("INSERT INTO items VALUES (-1, 'neg', -1)", "23514", "items_price_check"),
        ("INSERT INTO items VALUES (-1, NULL, 1)", "23502", None),
        ("INSERT INTO items VALUES (-1, 'waytoolongname', 1)", "22001", None),
        ("SELECT nope FROM items", "42703", None),
    ]:
        try:
            with conn.transaction():
                conn.execute(statement)
            raise AssertionError(f"no error: {statement}")
        except psycopg.Error as e:
            assert e.sqlstate == code, (statement, e.sqlstate, str(e))
            assert e.diag.constraint_name == constraint, e.diag.constraint_name
    with conn.transaction():
        conn.execute("DELETE FROM items WHERE id = 2")
        try:
            with conn.transaction():
                conn.execute("DELETE FROM items")
                raise psycopg.Rollback()
        except psycopg.Rollback:
            pass
    assert conn.execute("SELECT count(*) FROM items").fetchone() == (100,)
    with conn.pipeline():
        answers = [conn.execute("SELECT name FROM items WHERE id = %s", [i]) for i in (3, 4, 5)]
    assert [a.fetchone()[0] for a in answers] == ["n3", "n4", "n5"]
    for _ in range(8):  # past the threshold at which psycopg prepares on the server
        assert conn.execute("SELECT id FROM items WHERE name = %s", ["n7"]).fetchone() == (7,)
    with conn.transaction(), conn.cursor("named") as cur:
        cur.execute("SELECT id FROM items ORDER BY id")
        assert [r[0] for r in cur.fetchmany(3)] == [0, 1, 3]
print("ok")
