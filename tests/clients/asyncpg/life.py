"""asyncpg: binary only, its own introspection, prepared statements, cursors, COPY, concurrent sessions."""

import asyncio
import datetime as dt
import decimal
import os
import uuid

import asyncpg


async def main():
    conn = await asyncpg.connect(host=os.environ["PGHOST"])
    await conn.execute("CREATE TYPE mood AS ENUM ('sad', 'happy')")
    await conn.execute("CREATE TABLE t (id bigserial PRIMARY KEY, a int4, b text, c numeric(9,3), d date, e timestamptz, f uuid, g jsonb, h int4[], i bytea, j bool, k mood, l interval)")
    values = [1, "x", decimal.Decimal("1.500"), dt.date(2024, 1, 2), dt.datetime(2024, 1, 2, tzinfo=dt.timezone.utc), uuid.UUID(int=5), '{"a": 1}', [1, 2], b"\0", True, "happy", dt.timedelta(hours=5)]
    row = await conn.fetchrow("INSERT INTO t (a,b,c,d,e,f,g,h,i,j,k,l) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12) RETURNING *", *values)
    assert list(row.values()) == [1, *values], row
    assert await conn.fetchval("SELECT count(*) FROM t WHERE k = $1 AND h @> $2", "happy", [2]) == 1
    await conn.executemany("INSERT INTO t (a, b) VALUES ($1, $2)", [(i, str(i)) for i in range(2, 101)])
    statement = await conn.prepare("SELECT a, b FROM t WHERE a BETWEEN $1 AND $2 ORDER BY a")
    assert [p.name for p in statement.get_parameters()] == ["int4", "int4"]
    assert [(c.name, c.type.name) for c in statement.get_attributes()] == [("a", "int4"), ("b", "text")]
    assert [tuple(r) for r in await statement.fetch(3, 4)] == [(3, "3"), (4, "4")]
    async with conn.transaction():
        seen = [r["a"] async for r in conn.cursor("SELECT a FROM t ORDER BY a", prefetch=10)]
        assert seen == list(range(1, 101))
    try:
        async with conn.transaction():
            await conn.execute("DELETE FROM t")
            await conn.execute("INSERT INTO t (id) VALUES (1), (1)")
    except asyncpg.UniqueViolationError as e:
        assert (e.sqlstate, e.constraint_name, e.table_name) == ("23505", "t_pkey", "t")
    else:
        raise AssertionError("no error")
    assert await conn.fetchval("SELECT count(*) FROM t") == 100
    try:
        await conn.execute("SELECT $1::int", "x")
    except asyncpg.DataError:
        pass
    async with asyncpg.create_pool(host=os.environ["PGHOST"], min_size=2, max_size=4) as pool:
        got = await asyncio.gather(*(pool.fetchval("UPDATE t SET a = a + 1000 WHERE a = $1 RETURNING a", i) for i in range(1, 21)))
        assert got == [1000 + i for i in range(1, 21)]
    await conn.close()


asyncio.run(main())
print("ok")
