"""psycopg 3: every type in text and binary, pipeline, COPY, cursors, notifications, cancelling, errors."""

import asyncio
import datetime as dt
import decimal
import enum
import ipaddress  # noqa: F401  (psycopg adapts its types where they are registered)
import threading
import time
import uuid
from decimal import Decimal

import psycopg
from psycopg import sql
from psycopg.rows import class_row, dict_row, namedtuple_row
from psycopg.types.enum import EnumInfo, register_enum
from psycopg.types.json import Json, Jsonb
from psycopg.types.numeric import Float4, Int2, Int4, Int8, Oid

UTC = dt.timezone.utc
PLUS = dt.timezone(dt.timedelta(hours=5, minutes=30))
INF, NAN = float("inf"), float("nan")


class Mood(enum.Enum):
    sad = "sad"
    ok = "ok"
    happy = "happy"


# type: values that come back as they went, with the array type tested beside
VALUES = {
    "bool": [True, False],
    "int2": [Int2(-32768), Int2(32767)],
    "int4": [Int4(-(2**31)), Int4(0), Int4(2**31 - 1)],
    "int8": [Int8(-(2**63)), Int8(2**63 - 1)],
    "oid": [Oid(0), Oid(2**32 - 1)],
    "float4": [Float4(1.5), Float4(-0.25), Float4(INF)],
    "float8": [0.1, -1e308, 5e-324, INF, -INF, NAN, 1 / 3],
    "numeric": [Decimal("12.340"), Decimal("-0.000000000000000000000000000000000000001"), Decimal("NaN"), Decimal("Infinity"), Decimal("1" + "0" * 300), Decimal("0.00"), Decimal("99999999999999999999.99999999999999999999")],
    "numeric(8,2)": [Decimal("-999999.99"), Decimal("0.10")],
    "text": ["é'\\\"", "", "日本語 \t\n x", "x" * 100_000],
    "varchar(5)": ["abcde", "é"],
    "char(5)": ["ab   ", "abcde"],
    "name": ["a_name", "Ä name"],
    "bytea": [b"", bytes(range(256)), b"\\x00"],
    "date": [dt.date(1, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31)],
    "time": [dt.time(0, 0), dt.time(1, 2, 3, 4), dt.time(23, 59, 59, 999999)],
    "timetz": [dt.time(1, 2, 3, 4, tzinfo=PLUS), dt.time(23, 59, tzinfo=UTC)],
    "timestamp": [dt.datetime(1, 1, 1), dt.datetime(2024, 1, 2, 3, 4, 5, 6), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)],
    "timestamptz": [dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), dt.datetime(1900, 6, 1, tzinfo=PLUS)],
    "interval": [dt.timedelta(days=3, seconds=5), dt.timedelta(-1), dt.timedelta(microseconds=-1), dt.timedelta(0)],
    "uuid": [uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), uuid.UUID(int=0)],
    "mood": [Mood.sad, Mood.happy],
    "positive": [Int4(7)],
}  # fmt: skip


def same(got, want):
    """Equality in which NaN equals itself."""
    if isinstance(got, list) and isinstance(want, list):
        return len(got) == len(want) and all(map(same, got, want))
    if got != got and want != want:
        return True
    return got == want and type(got) in (type(want), *type(want).__mro__)


def check(got, want, *about):
    assert same(got, want), (about, got, want)


def types(conn):
    conn.execute("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
    conn.execute("CREATE DOMAIN positive AS int CHECK (VALUE > 0)")
    conn.commit()
    register_enum(EnumInfo.fetch(conn, "mood"), conn, Mood)
    columns = {t: "c_" + "".join(ch if ch.isalnum() else "_" for ch in t) for t in VALUES}
    conn.execute(
        "CREATE TABLE all_types (id serial PRIMARY KEY, "
        + ", ".join(f"{c} {t}, {c}_a {t}[]" for t, c in columns.items()) + ", j json, b jsonb)"
    )  # fmt: skip
    for binary in (False, True):
        mark = "%b" if binary else "%t"
        with conn.cursor(binary=binary) as cur:
            for t, values in VALUES.items():
                for v in values:
                    # as a result, as a parameter in both formats, stored and found again
                    cur.execute(f"SELECT {mark}::{t} AS v, {mark}::{t} IS NOT DISTINCT FROM %s::{t} AS e", [v, v, v])
                    got, equal = cur.fetchone()
                    check(got, v, t, binary)
                    assert equal is True, (t, v)
                    c = columns[t]
                    cur.execute(f"INSERT INTO all_types ({c}) VALUES ({mark}) RETURNING id, {c}", [v])
                    key, got = cur.fetchone()
                    check(got, v, t, binary, "returned")
                    cur.execute(f"SELECT {c} FROM all_types WHERE id = %s AND {c} IN (SELECT {c} FROM all_types WHERE {c} = {mark}::{t})", [key, v])
                    check(cur.fetchone()[0], v, t, binary, "stored")
                # lists may not hold other lists' NaN: the driver's dumper asks for equality
                for array in (values, [], [values[0], None], [[values[0], values[-1]], [values[-1], values[0]]], [[[v]] for v in values[:2]]):
                    back = f"{c}_a::int[]" if t == "positive" else f"{c}_a"  # the driver knows no arrays of a domain
                    cur.execute(f"INSERT INTO all_types ({c}_a) VALUES ({mark}::{t}[]) RETURNING {back}, array_ndims({c}_a), cardinality({c}_a)", [array])
                    got, dimensions, count = cur.fetchone()
                    check(got, array, t, binary, "array")
                    flat = array
                    depth = 1 if array else None
                    while flat and isinstance(flat[0], list):
                        flat, depth = [v for inner in flat for v in inner], depth + 1
                    assert (dimensions, count) == (depth, len(flat)), (t, array, dimensions, count)
                base = "int" if t == "positive" else t
                cur.execute(f"SELECT {mark}::{t}, {mark}::{t}[], %s::{t}[]::{base}[]", [None, None, [None, None]])
                assert cur.fetchone() == (None, None, [None, None]), t
            for document in ({"a": [1, None, "é"], "b": {"c": 1.5}}, [], "text", 12, None, True):
                cur.execute("INSERT INTO all_types (j, b) VALUES (%s, %s) RETURNING j, b, b = %s", [Json(document), Jsonb(document), Jsonb(document)])
                assert cur.fetchone() == (document, document, True), document
            cur.execute(f"SELECT {', '.join(columns.values())}, j, b FROM all_types WHERE false")
            names = [d.type_display for d in cur.description]
            assert names[:16] == ["bool", "int2", "int4", "int8", "oid", "float4", "float8", "numeric", "numeric(8,2)", "text", "varchar(5)", "bpchar(5)", "name", "bytea", "date", "time"], names
            assert [d.type_code for d in cur.description][-5:-4] == [2950] and cur.description[-1].type_code == 3802
            assert cur.description[-3].type_code == 23  # a domain travels as its base type
    conn.commit()
    # out of the types' ranges
    for expression, code in [
        ("SELECT 32768::int2", "22003"), ("SELECT %s::int2", "22003"), ("SELECT 2147483647::int4 + 1", "22003"), ("SELECT 'x'::uuid", "22P02"),
        ("SELECT '2024-02-30'::date", "22008"), ("SELECT '{1'::int[]", "22P02"), ("SELECT 'angry'::mood", "22P02"), ("SELECT (-1)::positive", "23514"),
        ("SELECT '{'::jsonb", "22P02"), ("SELECT 1e400::float8", "22003"), ("SELECT 123456789.00::numeric(8,2)", "22003"), ("SELECT 'x'::bool", "22P02"),
    ]:  # fmt: skip
        try:
            conn.execute(expression, [40000] if "%s" in expression else None)
            raise AssertionError(expression)
        except psycopg.Error as e:
            assert e.sqlstate == code, (expression, e.sqlstate, str(e))
            conn.rollback()


def items(conn):
    with conn.cursor() as cur:
        cur.execute("CREATE TABLE items (id int PRIMARY KEY, name varchar(10) NOT NULL, price numeric(8,2) CHECK (price >= 0))")
        cur.execute("CREATE TABLE parts (id int PRIMARY KEY, item int REFERENCES items)")
        cur.executemany("INSERT INTO items VALUES (%s, %s, %s)", [(i, f"n{i}", Decimal(i)) for i in range(100)])
        assert cur.rowcount == 100
        cur.executemany("INSERT INTO parts VALUES (%s, %s) RETURNING item", [(i, i % 3) for i in range(5)], returning=True)
        got = []
        while True:
            got.append(cur.fetchone())
            if not cur.nextset():
                break
        assert got == [(0,), (1,), (2,), (0,), (1,)], got
        cur.execute("SELECT count(*), sum(price) FROM items")
        assert cur.fetchone() == (100, Decimal("4950.00"))
        cur.execute("UPDATE items SET price = price + 1 WHERE id < 10")
        assert (cur.rowcount, cur.statusmessage) == (10, "UPDATE 10")
        cur.execute("SELECT 1; SELECT 2, 3")
        assert cur.fetchone() == (1,) and cur.nextset() and cur.fetchone() == (2, 3)
        cur.execute(sql.SQL("SELECT {} FROM {} WHERE {} = %s").format(sql.Identifier("name"), sql.Identifier("public", "items"), sql.Identifier("id")), [7])
        assert cur.fetchone() == ("n7",)
        assert [r[0] for r in cur.stream("SELECT id FROM items WHERE id < %s ORDER BY id", [4])] == [0, 1, 2, 3]
    conn.commit()

    class Item:
        def __init__(self, id, name):
            self.id, self.name = id, name

    assert conn.cursor(row_factory=dict_row).execute("SELECT id, name FROM items WHERE id = 3").fetchone() == {"id": 3, "name": "n3"}
    assert conn.cursor(row_factory=namedtuple_row).execute("SELECT id, name FROM items WHERE id = 3").fetchone().name == "n3"
    assert conn.cursor(row_factory=class_row(Item)).execute("SELECT id, name FROM items WHERE id = 3").fetchone().name == "n3"
    for binary in (False, True):  # past the threshold at which psycopg prepares on the server
        for _ in range(8):
            assert conn.execute("SELECT id FROM items WHERE name = %s", ["n7"], binary=binary).fetchone() == (7,)
    conn.execute("ALTER TABLE items ADD COLUMN extra text DEFAULT 'x'")
    assert conn.execute("SELECT id, extra FROM items WHERE name = %s", ["n7"]).fetchone() == (7, "x")
    conn.execute("ALTER TABLE items DROP COLUMN extra")
    conn.commit()


def copy(conn):
    rows = [(1000 + i, f"c{i}", Decimal(i) / 4) for i in range(500)]
    with conn.cursor() as cur:
        with cur.copy("COPY items FROM STDIN") as c:
            for row in rows[:250]:
                c.write_row(row)
        with cur.copy("COPY items (id, name, price) FROM STDIN (FORMAT BINARY)") as c:
            c.set_types(["int4", "varchar", "numeric"])
            for row in rows[250:]:
                c.write_row(row)
        assert cur.rowcount == 250
        with cur.copy("COPY (SELECT id, name FROM items WHERE id IN (99, 1000) ORDER BY id) TO STDOUT") as c:
            assert list(c.rows()) == [("99", "n99"), ("1000", "c0")]
        with cur.copy("COPY (SELECT * FROM items WHERE id >= 1000 ORDER BY id) TO STDOUT (FORMAT BINARY)") as c:
            c.set_types(["int4", "varchar", "numeric"])
            assert list(c.rows()) == rows
        try:
            with conn.transaction(), cur.copy("COPY items FROM STDIN") as c:
                c.write("5000\tx\t1\n5001\tx\tnot a number\n")
            raise AssertionError("no error")
        except psycopg.errors.InvalidTextRepresentation as e:
            assert e.diag.context == 'COPY items, line 2, column price: "not a number"', e.diag.context
        try:
            with conn.transaction(), cur.copy("COPY items FROM STDIN") as c:
                c.write("5000\tx\t1\n")
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        cur.execute("DELETE FROM items WHERE id >= 1000")
        assert cur.rowcount == 500
    conn.commit()


def errors(conn):
    fields = ("message_detail", "schema_name", "table_name", "column_name", "datatype_name", "constraint_name", "statement_position")
    for statement, code, *want in [
        ("INSERT INTO items VALUES (1, 'dup', 1)", "23505", "Key (id)=(1) already exists.", "public", "items", None, None, "items_pkey", None),
        ("INSERT INTO items VALUES (-1, 'neg', -1)", "23514", "Failing row contains (-1, neg, -1.00).", "public", "items", None, None, "items_price_check", None),
        ("INSERT INTO items VALUES (-1, NULL, 1)", "23502", "Failing row contains (-1, null, 1.00).", "public", "items", "name", None, None, None),
        ("INSERT INTO items VALUES (-1, 'waytoolongname', 1)", "22001", None, None, None, None, None, None, None),
        ("INSERT INTO parts VALUES (50, 12345)", "23503", 'Key (item)=(12345) is not present in table "items".', "public", "parts", None, None, "parts_item_fkey", None),
        ("DELETE FROM items WHERE id = 1", "23503", 'Key (id)=(1) is still referenced from table "parts".', "public", "parts", None, None, "parts_item_fkey", None),
        ("SELECT nope FROM items", "42703", None, None, None, None, None, None, "8"),
        ("SELECT * FROM nope", "42P01", None, None, None, None, None, None, "15"),
        ("SELECT nope(1)", "42883", None, None, None, None, None, None, "8"),
        ("SELEC 1", "42601", None, None, None, None, None, None, "1"),
        ("SELECT (-1)::positive", "23514", None, "public", None, None, "positive", "positive_check", None),
        ("SELECT 1/0", "22012", None, None, None, None, None, None, None),
        ("CREATE TABLE items ()", "42P07", None, None, None, None, None, None, None),
        ("INSERT INTO items (id, name) VALUES ('x', 'y')", "22P02", None, None, None, None, None, None, "38"),
        ("DROP TABLE items", "2BP01", "constraint parts_item_fkey on table parts depends on table items", None, None, None, None, None, None),
    ]:  # fmt: skip
        for options in ({}, {"prepare": True}):
            try:
                with conn.transaction():
                    conn.execute(statement, **options)
                raise AssertionError(f"no error: {statement}")
            except psycopg.Error as e:
                assert e.sqlstate == code, (statement, e.sqlstate, str(e))
                got = [getattr(e.diag, f) for f in fields]
                assert got == want, (statement, got)
                assert e.diag.severity == "ERROR"
    try:
        conn.execute("SELECT 1/0")
    except psycopg.errors.DivisionByZero:
        pass
    try:
        conn.execute("SELECT 1")
        raise AssertionError("no error")
    except psycopg.errors.InFailedSqlTransaction:
        assert conn.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
    conn.rollback()
    notices = []
    conn.add_notice_handler(lambda n: notices.append((n.severity, n.sqlstate, n.message_primary)))
    conn.execute("DROP TABLE IF EXISTS not_there")
    assert notices == [("NOTICE", "00000", 'table "not_there" does not exist, skipping')], notices
    conn.rollback()


def transactions(conn):
    with conn.transaction():
        conn.execute("DELETE FROM items WHERE id = 99")
        try:
            with conn.transaction():
                conn.execute("DELETE FROM parts")
                conn.execute("DELETE FROM items")
                raise psycopg.Rollback()
        except psycopg.Rollback:
            pass
        try:
            with conn.transaction("named savepoint"):
                conn.execute("INSERT INTO items VALUES (1, 'x', 1)")
        except psycopg.errors.UniqueViolation:
            pass
    assert conn.execute("SELECT count(*) FROM items").fetchone() == (99,)
    conn.commit()
    conn.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
    conn.read_only = True
    try:
        assert conn.execute("SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only')").fetchone() == ("serializable", "on")
        conn.execute("DELETE FROM items")
        raise AssertionError("no error")
    except psycopg.errors.ReadOnlySqlTransaction:
        conn.rollback()
    conn.isolation_level = conn.read_only = None
    # what another session commits is seen by READ COMMITTED, not by REPEATABLE READ
    with psycopg.connect("", autocommit=True) as other:
        for level, seen in ((psycopg.IsolationLevel.READ_COMMITTED, 1), (psycopg.IsolationLevel.REPEATABLE_READ, 0)):
            conn.isolation_level = level
            before = conn.execute("SELECT count(*) FROM parts").fetchone()[0]
            other.execute("INSERT INTO parts VALUES (%s, 1)", [100 + seen])
            assert conn.execute("SELECT count(*) FROM parts").fetchone()[0] == before + seen, level
            conn.rollback()
        try:
            conn.execute("SELECT count(*) FROM parts")
            other.execute("UPDATE parts SET item = 2 WHERE id = 100")
            conn.execute("UPDATE parts SET item = 3 WHERE id = 100")
            raise AssertionError("no error")
        except psycopg.errors.SerializationFailure:
            conn.rollback()
    conn.isolation_level = None
    conn.rollback()


def pipelines(conn):
    with conn.pipeline():
        answers = [conn.execute("SELECT name FROM items WHERE id = %s", [i]) for i in (3, 4, 5)]
    assert [a.fetchone()[0] for a in answers] == ["n3", "n4", "n5"]
    conn.commit()
    try:
        with conn.pipeline():
            conn.execute("INSERT INTO items VALUES (7000, 'p', 1)")
            conn.execute("SELECT 1/0")
            conn.execute("INSERT INTO items VALUES (7001, 'p', 1)")
        raise AssertionError("no error")
    except psycopg.errors.DivisionByZero:
        assert conn.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
    conn.rollback()
    assert conn.execute("SELECT count(*) FROM items").fetchone() == (99,)
    conn.rollback()


def cursors(conn):
    with conn.transaction(), conn.cursor("named") as cur:
        cur.execute("SELECT id, name FROM items WHERE id <> %s ORDER BY id", [2])
        assert [d.name for d in cur.description] == ["id", "name"]
        assert cur.fetchone() == (0, "n0") and [r[0] for r in cur.fetchmany(3)] == [1, 3, 4]
        assert len(cur.fetchall()) == 94
    with conn.transaction(), conn.cursor("itersize", binary=True) as cur:
        cur.itersize = 7
        cur.execute("SELECT id FROM items ORDER BY id")
        assert sum(r[0] for r in cur) == sum(range(99))


    with conn.cursor("scrolls", scrollable=True) as cur:
        cur.execute("SELECT id FROM items ORDER BY id")
        assert cur.fetchmany(5)[-1] == (4,)
        cur.scroll(-3)
        assert cur.fetchone() == (2,)
        cur.scroll(90, mode="absolute")
        assert cur.fetchone() == (89 + 1,) and len(cur.fetchall()) == 8
        cur.scroll(1, mode="absolute")
        assert cur.fetchone() == (1,)
    conn.commit()
    held = conn.cursor("held", withhold=True)
    held.execute("SELECT id FROM items ORDER BY id DESC")
    assert held.fetchone() == (98,)
    conn.commit()
    assert held.fetchone() == (97,) and len(held.fetchall()) == 97
    held.close()
    conn.commit()


def settings(conn):
    assert conn.info.parameter_status("server_encoding") == "UTF8" and conn.info.parameter_status("integer_datetimes") == "on"
    assert conn.info.server_version // 10000 in (15, 18)
    at = dt.datetime(2024, 7, 1, 12, tzinfo=UTC)
    for zone, text in (("America/New_York", "2024-07-01 08:00:00-04"), ("Asia/Kolkata", "2024-07-01 17:30:00+05:30"), ("UTC", "2024-07-01 12:00:00+00")):
        conn.execute(sql.SQL("SET TIME ZONE {}").format(zone))
        assert conn.info.parameter_status("TimeZone") == zone
        got = conn.execute("SELECT %s::timestamptz, %s::timestamptz::text", [at, at]).fetchone()
        assert got == (at, text) and str(got[0].tzinfo) == zone, got
    conn.rollback()
    conn.execute("SELECT set_config('application_name', 'my app', false)")
    assert conn.info.parameter_status("application_name") == "my app"
    conn.commit()


def events(conn):
    """Notifications reach a session that waits, and one that cancels gets its session back."""
    with psycopg.connect("", autocommit=True) as listener:
        listener.execute("LISTEN news")
        told = threading.Timer(0.2, lambda: (conn.execute("NOTIFY news, 'first'"), conn.execute("SELECT pg_notify('news', 'second')"), conn.commit()))
        told.start()
        got = [(n.channel, n.payload, n.pid) for n in listener.notifies(timeout=10, stop_after=2)]
        told.join()
        assert got == [("news", "first", conn.info.backend_pid), ("news", "second", conn.info.backend_pid)], got
    started = time.monotonic()
    done = threading.Event()

    def cancel():  # a request that comes before the statement runs is lost, as in PostgreSQL
        while not done.wait(0.2):
            conn.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    try:
        conn.execute("SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b WHERE a + b < 0")
        raise AssertionError("no error")
    except psycopg.errors.QueryCanceled:
        assert time.monotonic() - started < 10
    finally:
        done.set()
        canceller.join()
    conn.rollback()
    conn.execute("SET LOCAL statement_timeout = '100ms'")
    try:
        conn.execute("SELECT pg_sleep(10)")
        raise AssertionError("no error")
    except psycopg.errors.QueryCanceled as e:
        assert "statement timeout" in str(e)
    conn.rollback()


def locks(conn):
    """Who waits for whom, as a third session sees it."""
    with psycopg.connect("", autocommit=True) as holder, psycopg.connect("", autocommit=True) as waiter:
        pids = holder.info.backend_pid, waiter.info.backend_pid
        holder.execute("CREATE TABLE locked (a int)")
        holder.execute("INSERT INTO locked VALUES (1)")

        def beside(take, give, statement, kind, seen):
            """Runs the statement of the waiter while the holder has what `take` takes, and looks meanwhile."""
            for each in take:
                holder.execute(each)
            thread = threading.Thread(target=lambda: waiter.execute(statement))
            thread.start()
            for _ in range(1000):
                blockers = conn.execute("SELECT pg_blocking_pids(%s)", [pids[1]]).fetchone()[0]
                conn.rollback()
                if blockers:
                    break
                time.sleep(0.01)
            assert blockers == [pids[0]], blockers
            check(conn.execute(seen, {"kind": kind, "holder": pids[0], "waiter": pids[1]}).fetchall(), [(True, False, True), (False, True, False)], kind)
            conn.rollback()
            holder.execute(give)
            thread.join()
            assert conn.execute("SELECT pg_blocking_pids(%s)", [pids[1]]).fetchone()[0] == []

        beside(
            ["SELECT pg_advisory_lock(77)"], "SELECT pg_advisory_unlock(77)", "SELECT pg_advisory_lock_shared(77)", "advisory",
            "SELECT granted, waitstart IS NOT NULL, mode = 'ExclusiveLock' FROM pg_locks WHERE locktype = %(kind)s AND objid = 77 AND pid IN (%(holder)s, %(waiter)s) ORDER BY granted DESC",
        )  # fmt: skip
        # (in PostgreSQL the waiter has a transaction's number of its own by then)
        beside(
            ["BEGIN", "UPDATE locked SET a = 2"], "COMMIT", "UPDATE locked SET a = 3", "transactionid",
            """SELECT granted, waitstart IS NOT NULL, mode = 'ExclusiveLock' FROM pg_locks WHERE locktype = %(kind)s AND transactionid::text = (
                 SELECT transactionid::text FROM pg_locks WHERE locktype = %(kind)s AND pid = %(holder)s) ORDER BY granted DESC""",
        )  # fmt: skip
        assert conn.execute("SELECT a FROM locked").fetchone() == (3,)
        conn.rollback()


async def many():
    async def one(i):
        async with await psycopg.AsyncConnection.connect("") as conn:
            await conn.execute("INSERT INTO counters VALUES (%s, 1) ON CONFLICT (id) DO UPDATE SET n = counters.n + 1", [i % 3])
            cur = await conn.execute("SELECT %s::int", [i])
            return (await cur.fetchone())[0]

    assert await asyncio.gather(*(one(i) for i in range(12))) == list(range(12))


with psycopg.connect("") as conn:
    types(conn)
    items(conn)
    copy(conn)
    errors(conn)
    transactions(conn)
    pipelines(conn)
    cursors(conn)
    settings(conn)
    events(conn)
    locks(conn)
    conn.execute("CREATE TABLE counters (id int PRIMARY KEY, n int NOT NULL)")
    conn.commit()
    asyncio.run(many())
    assert conn.execute("SELECT id, n FROM counters ORDER BY id").fetchall() == [(0, 4), (1, 4), (2, 4)]
assert decimal.getcontext().prec  # the driver leaves the context alone
print("ok")
