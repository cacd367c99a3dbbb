"""psycopg2: client-side parameters, execute_values, savepoints, error fields, named cursors, COPY."""

import datetime as dt
import decimal
import io

import psycopg2
import psycopg2.extras

conn = psycopg2.connect("")
cur = conn.cursor()
cur.execute("CREATE TABLE p (id serial PRIMARY KEY, name text NOT NULL UNIQUE, amount numeric(10,2), born date, seen timestamptz, tags text[], data jsonb, raw bytea)")
cur.execute(
    "INSERT INTO p (name, amount, born, seen, tags, data, raw) VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id",
    ("it's", decimal.Decimal("1.50"), dt.date(2024, 1, 2), dt.datetime(2024, 1, 2, 3, 4, tzinfo=dt.timezone.utc), ["a", "b"],
     psycopg2.extras.Json({"k": None}), psycopg2.Binary(b"\0\1")),
)  # fmt: skip
assert cur.fetchone() == (1,)
cur.execute("SELECT * FROM p")
row = cur.fetchone()
assert row[1:7] == ("it's", decimal.Decimal("1.50"), dt.date(2024, 1, 2), row[4], ["a", "b"], {"k": None}), row
assert row[4] == dt.datetime(2024, 1, 2, 3, 4, tzinfo=dt.timezone.utc) and bytes(row[7]) == b"\0\1"
assert [d.name for d in cur.description][:2] == ["id", "name"] and cur.description[2].type_code == 1700
psycopg2.extras.execute_values(cur, "INSERT INTO p (name, amount) VALUES %s", [(f"n{i}", i) for i in range(50)])
conn.commit()
cur.execute("SELECT count(*), max(amount) FROM p")
assert cur.fetchone() == (51, decimal.Decimal("49.00"))
cur.execute("SAVEPOINT s")
try:
    cur.execute("INSERT INTO p (name) VALUES ('n1')")
    raise AssertionError("no error")
except psycopg2.errors.UniqueViolation as e:
    assert (e.diag.constraint_name, e.diag.table_name, e.diag.message_detail) == ("p_name_key", "p", "Key (name)=(n1) already exists.")
cur.execute("ROLLBACK TO s")
cur.execute("UPDATE p SET amount = amount + 1 WHERE amount < %s", (10,))
assert cur.rowcount == 11
conn.rollback()
cur.copy_expert("COPY p (name, amount) FROM STDIN WITH CSV", io.StringIO("x1,5\nx2,\n"))
out = io.StringIO()
cur.copy_expert("COPY (SELECT name, amount FROM p WHERE name LIKE 'x%' ORDER BY name) TO STDOUT WITH CSV", out)
assert out.getvalue() == "x1,5.00\nx2,\n", out.getvalue()
named = conn.cursor("server_side")
named.itersize = 7
named.execute("SELECT id FROM p ORDER BY id")
assert len(list(named)) == 53
named.close()
conn.commit()
try:
    cur.execute("SELECT 1/0")
    raise AssertionError("no error")
except psycopg2.errors.DivisionByZero:
    pass
try:
    cur.execute("SELECT 1")
    raise AssertionError("no error")
except psycopg2.errors.InFailedSqlTransaction:
    conn.rollback()
# large objects go by libpq's fast path
large = conn.lobject(0, "wb")
number = large.oid
assert large.write(b"0123456789" * 5000) == 50000
large.close()
conn.commit()
large = conn.lobject(number, "rwb")
large.seek(49995)
assert large.read(100) == b"56789" and large.tell() == 50000
large.seek(5)
large.write(b"abc")
large.truncate(10)
large.seek(0)
assert large.read() == b"01234abc89"
conn.rollback()
cur.execute("SELECT length(lo_get(%s))", (number,))
assert cur.fetchone() == (50000,)
conn.lobject(number).unlink()
conn.commit()
try:
    conn.lobject(number)
    raise AssertionError("no error")
except psycopg2.Error:
    conn.rollback()
conn.set_session(isolation_level="REPEATABLE READ", readonly=True)
try:
    cur.execute("DELETE FROM p")
    raise AssertionError("no error")
except psycopg2.errors.ReadOnlySqlTransaction:
    pass
conn.close()
print("ok")
