"""asyncpg: binary only, its own introspection, prepared statements, cursors, COPY, notifications, concurrent sessions."""

import asyncio
import datetime as dt
import io
import json
import math
import os
import uuid
from decimal import Decimal

import asyncpg

UTC = dt.timezone.utc
NAN, INF = float("nan"), float("inf")
# type: values that come back as they went
VALUES = {
    "bool": [True, False], "int2": [-32768, 32767], "int4": [-(2**31), 2**31 - 1], "int8": [-(2**63), 2**63 - 1], "oid": [0, 2**32 - 1],
    "float4": [1.5, -INF], "float8": [0.1, 5e-324, -1e308, INF, NAN], "numeric": [Decimal("12.340"), Decimal("NaN"), Decimal("1E+200"), Decimal("-1E-200"), Decimal("0.000"), Decimal("123456789012345678901234567890.123456789")],
    "numeric(8,2)": [Decimal("-999999.99"), Decimal("0.10")], "text": ["é'\\\"", "", "日本語\n", "x" * 70_000], "varchar(5)": ["abcde", ""], "char(5)": ["ab   "],
    "name": ["a name"], "bytea": [b"", bytes(range(256))], "date": [dt.date(1, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 30)], "time": [dt.time(0, 0), dt.time(23, 59, 59, 999999)],
    "timetz": [dt.time(1, 2, 3, 4, tzinfo=dt.timezone(dt.timedelta(hours=-5)))], "timestamp": [dt.datetime(1, 1, 1), dt.datetime(2024, 1, 2, 3, 4, 5, 6)],
    "timestamptz": [dt.datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=UTC)], "interval": [dt.timedelta(days=3, hours=5), dt.timedelta(microseconds=-1)], "uuid": [uuid.UUID(int=5)],
    "json": ['{"a": [1, null]}'], "jsonb": ['{"a": [1, null]}'], "mood": ["sad", "happy"], "positive": [7],
}  # fmt: skip


def same(got, want):
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, (float, Decimal)) and want != want:
        return math.isnan(got)
    return got == want


async def types(conn):
    await conn.execute("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
    await conn.execute("CREATE DOMAIN positive AS int CHECK (VALUE > 0)")
    names = {t: f"c{i}" for i, t in enumerate(VALUES)}
    await conn.execute("CREATE TABLE all_types (id bigserial PRIMARY KEY, " + ", ".join(f"{c} {t}, {c}_a {t}[]" for t, c in names.items()) + ")")
    for t, values in VALUES.items():
        c = names[t]
        for v in values:
            got = await conn.fetchval(f"SELECT $1::{t}", v)
            assert same(got, v), (t, v, got)
            row = await conn.fetchrow(f"INSERT INTO all_types ({c}) VALUES ($1) RETURNING id, {c}", v)
            assert same(row[c], v), (t, v, row)
            if t != "json":
                assert await conn.fetchval(f"SELECT count(*) FROM all_types WHERE {c} = $1", v) >= 1, (t, v)
        assert await conn.fetchval(f"SELECT $1::{t}", None) is None
        for array in (values, [], [values[0], None], [[values[0], values[-1]], [values[-1], None]], [[[values[0]]], [[values[-1]]]]):
            got = await conn.fetchval(f"INSERT INTO all_types ({c}_a) VALUES ($1) RETURNING {c}_a", array)
            assert same(got, array), (t, array, got)
    statement = await conn.prepare("SELECT " + ", ".join(f"{c}, {c}_a" for c in names.values()) + " FROM all_types")
    got = [(a.type.name, a.type.kind, a.type.schema) for a in statement.get_attributes()]
    assert got[0] == ("bool", "scalar", "pg_catalog") and got[1] == ("bool[]", "array", "pg_catalog"), got
    assert got[-4] == ("mood", "scalar", "public") and got[-2] == ("int4", "scalar", "pg_catalog"), got
    row = await conn.fetchrow("SELECT ROW(1, 'x'::text, NULL::int) AS r, $1::text || '!' AS s, ARRAY[ROW(1, true)] AS rs", "hm")
    assert tuple(row["r"]) == (1, "x", None) and row["s"] == "hm!" and [tuple(r) for r in row["rs"]] == [(1, True)]
    # a codec of the application's own
    await conn.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
    assert await conn.fetchval("SELECT $1::jsonb", {"a": [1.5, "é"]}) == {"a": [1.5, "é"]}
    await conn.reset_type_codec("jsonb", schema="pg_catalog")


async def statements(conn):
    await conn.execute("CREATE TABLE t (id bigserial PRIMARY KEY, a int4, b text, h int4[], k mood)")
    await conn.execute("INSERT INTO t (a, b, h, k) VALUES ($1, $2, $3, $4)", 1, "x", [1, 2], "happy")
    assert await conn.fetchval("SELECT count(*) FROM t WHERE k = $1 AND h @> $2", "happy", [2]) == 1
    await conn.executemany("INSERT INTO t (a, b) VALUES ($1, $2)", [(i, str(i)) for i in range(2, 101)])
    statement = await conn.prepare("SELECT a, b FROM t WHERE a BETWEEN $1 AND $2 ORDER BY a")
    assert [p.name for p in statement.get_parameters()] == ["int4", "int4"]
    assert [(c.name, c.type.name) for c in statement.get_attributes()] == [("a", "int4"), ("b", "text")]
    assert [tuple(r) for r in await statement.fetch(3, 4)] == [(3, "3"), (4, "4")]
    assert statement.get_statusmsg() == "SELECT 2"
    assert await conn.execute("UPDATE t SET b = b || '!' WHERE a > 90") == "UPDATE 10"
    assert await conn.execute("SELECT 1; SELECT 2") == "SELECT 1"
    assert await conn.fetchmany("INSERT INTO t (a) VALUES ($1) RETURNING a", [(201,), (202,)]) == [(201,), (202,)]
    await conn.execute("DELETE FROM t WHERE a > 200")
    async with conn.transaction():
        seen = [r["a"] async for r in conn.cursor("SELECT a FROM t ORDER BY a", prefetch=10)]
        assert seen == list(range(1, 101))
        cursor = await conn.cursor("SELECT a FROM t ORDER BY a")
        assert await cursor.forward(10) == 10 and (await cursor.fetchrow())["a"] == 11
        assert [r["a"] for r in await cursor.fetch(3)] == [12, 13, 14]


async def copies(conn):
    records = [(i, f"r{i}" if i % 2 else None, [i, None], "ok") for i in range(1000, 1500)]
    assert await conn.copy_records_to_table("t", records=records, columns=["a", "b", "h", "k"]) == "COPY 500"
    out = io.BytesIO()
    assert await conn.copy_from_query("SELECT a, b, h FROM t WHERE a >= $1 ORDER BY a", 1498, output=out, format="csv", header=True) == "COPY 2"
    assert out.getvalue() == b'a,b,h\n1498,,"{1498,NULL}"\n1499,r1499,"{1499,NULL}"\n', out.getvalue()
    out = io.BytesIO()
    await conn.copy_from_table("t", columns=["a", "b"], output=out, format="binary")
    await conn.execute("CREATE TABLE again (a int4, b text)")
    out.seek(0)
    assert await conn.copy_to_table("again", source=out, format="binary") == "COPY 600"
    assert await conn.fetchval("SELECT count(*) FROM (SELECT a, b FROM t EXCEPT SELECT a, b FROM again) d") == 0
    try:
        await conn.copy_records_to_table("t", records=[(1, "x"), (2, "y")], columns=["id", "b"])
        raise AssertionError("no error")
    except asyncpg.UniqueViolationError as e:
        assert e.detail == "Key (id)=(1) already exists.", e.detail
    await conn.execute("DELETE FROM t WHERE a >= 1000")


async def errors(conn):
    await conn.execute("CREATE TABLE child (id int PRIMARY KEY, t bigint NOT NULL REFERENCES t, n numeric(4,1) CHECK (n < 100))")
    for statement, error, fields in [
        ("INSERT INTO t (id) VALUES (1), (1)", asyncpg.UniqueViolationError, {"constraint_name": "t_pkey", "table_name": "t", "schema_name": "public", "detail": "Key (id)=(1) already exists."}),
        ("INSERT INTO child VALUES (1, 99999)", asyncpg.ForeignKeyViolationError, {"constraint_name": "child_t_fkey", "detail": 'Key (t)=(99999) is not present in table "t".'}),
        ("INSERT INTO child VALUES (1, NULL)", asyncpg.NotNullViolationError, {"column_name": "t", "detail": "Failing row contains (1, null, null)."}),
        ("INSERT INTO child VALUES (1, 1, 100)", asyncpg.CheckViolationError, {"constraint_name": "child_n_check"}),
        ("INSERT INTO child VALUES (1, 1, 1000)", asyncpg.NumericValueOutOfRangeError, {"detail": "A field with precision 4, scale 1 must round to an absolute value less than 10^3."}),
        ("SELECT nope FROM t", asyncpg.UndefinedColumnError, {"position": "8"}),
        ("SELECT * FROM nowhere", asyncpg.UndefinedTableError, {"position": "15"}),
        ("SELECT 1 +", asyncpg.PostgresSyntaxError, {"message": "syntax error at end of input"}),
        ("SELECT 'x'::positive", asyncpg.InvalidTextRepresentationError, {}),
        ("SELECT 1/0", asyncpg.DivisionByZeroError, {}),
    ]:  # fmt: skip
        before = await conn.fetchval("SELECT count(*) FROM t")
        for extended in (False, True):
            try:
                async with conn.transaction():
                    await conn.execute("DELETE FROM t WHERE id > 50")
                    await (conn.fetch(statement) if extended else conn.execute(statement))
                raise AssertionError(f"no error: {statement}")
            except error as e:
                for name, value in fields.items():
                    assert getattr(e, name) == value, (statement, name, getattr(e, name))
        assert await conn.fetchval("SELECT count(*) FROM t") == before
    for value in ("x", 2**40):
        try:
            await conn.fetchval("SELECT $1::int", value)
            raise AssertionError("no error")
        except asyncpg.DataError:
            pass
    async with conn.transaction():
        await conn.execute("UPDATE t SET b = 'outer' WHERE id = 1")
        try:
            async with conn.transaction():
                await conn.execute("UPDATE t SET b = 'inner' WHERE id = 1")
                await conn.execute("SELECT 1/0")
        except asyncpg.DivisionByZeroError:
            pass
        assert await conn.fetchval("SELECT b FROM t WHERE id = 1") == "outer"
    for isolation in ("repeatable_read", "serializable"):
        async with conn.transaction(isolation=isolation, readonly=True):
            assert await conn.fetchval("SHOW transaction_isolation") == isolation.replace("_", " ")
            try:
                async with conn.transaction():
                    await conn.execute("DELETE FROM t")
                raise AssertionError("no error")
            except asyncpg.ReadOnlySQLTransactionError:
                pass
    # a statement prepared before the table changed is prepared anew
    assert len(await conn.fetchrow("SELECT * FROM child LIMIT 1") or [1, 2, 3]) == 3
    await conn.execute("INSERT INTO child VALUES (1, 1, 1)")
    await conn.execute("ALTER TABLE child ADD COLUMN more text DEFAULT 'm'")
    assert dict(await conn.fetchrow("SELECT * FROM child LIMIT 1"))["more"] == "m"
    try:
        await conn.fetchval("SELECT pg_sleep(10)", timeout=0.2)
        raise AssertionError("no error")
    except asyncio.TimeoutError:
        assert await conn.fetchval("SELECT 1") == 1


async def events(conn):
    heard = asyncio.Queue()
    other = await asyncpg.connect(host=os.environ["PGHOST"])
    await other.add_listener("news", lambda c, pid, channel, payload: heard.put_nowait((pid, channel, payload)))
    await conn.execute("NOTIFY news, 'hello'")
    assert await asyncio.wait_for(heard.get(), 10) == (conn.get_server_pid(), "news", "hello")
    notices = asyncio.Queue()
    other.add_log_listener(lambda c, message: notices.put_nowait(message.message))
    await other.execute("DROP TABLE IF EXISTS not_there")
    assert await asyncio.wait_for(notices.get(), 10) == 'table "not_there" does not exist, skipping'
    assert (await other.get_server_version() if asyncio.iscoroutinefunction(other.get_server_version) else other.get_server_version()).major in (15, 18)
    assert other.get_settings().server_encoding == "UTF8"
    await other.close()


async def pools():
    async with asyncpg.create_pool(host=os.environ["PGHOST"], min_size=2, max_size=4) as pool:
        got = await asyncio.gather(*(pool.fetchval("UPDATE t SET a = a + 1000 WHERE a = $1 RETURNING a", i) for i in range(1, 21)))
        assert got == [1000 + i for i in range(1, 21)]
        # a released connection keeps nothing of its last user
        async with pool.acquire() as one:
            pid = one.get_server_pid()
            await one.execute("SET statement_timeout = 1234")
            await one.execute("CREATE TEMP TABLE mine (a int)")
            await one.execute("SELECT pg_advisory_lock(7)")
            await one.execute("LISTEN somewhere")
        async with pool.acquire() as one:
            assert one.get_server_pid() == pid and await one.fetchval("SHOW statement_timeout") == "0"
            assert await one.fetchval("SELECT count(*) FROM pg_listening_channels()") == 0
        async with asyncpg.create_pool(host=os.environ["PGHOST"], min_size=1, max_size=1) as second:
            assert await second.fetchval("SELECT pg_try_advisory_lock(7)") is True


async def main():
    conn = await asyncpg.connect(host=os.environ["PGHOST"])
    await types(conn)
    await statements(conn)
    await copies(conn)
    await errors(conn)
    await events(conn)
    await pools()
    await conn.close()


asyncio.run(main())
print("ok")
