"""asyncio: latency of one query, and a hundred tasks over a pool of ten connections."""

import asyncio

import pytest

from informix_db import aio

pytestmark = pytest.mark.benchmark

QUERY = "select id from bench_rows where id = 1"


@pytest.fixture
def loop():
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def test_async_latency(benchmark, address, tables, loop):
    conn = loop.run_until_complete(aio.connect(**address, autocommit=True))
    cur = conn.cursor()

    async def one():
        return await (await cur.execute(QUERY)).fetchall()

    assert benchmark(lambda: loop.run_until_complete(one())) == [(1,)]
    loop.run_until_complete(conn.close())


def test_async_throughput_100_tasks(benchmark, address, tables, loop):
    pool = loop.run_until_complete(aio.create_pool(**address, max_size=10, min_size=10, autocommit=True).open())

    async def one():
        async with pool.connection() as conn:
            return await (await conn.execute(QUERY)).fetchone()

    async def hundred():
        return await asyncio.gather(*(one() for _ in range(100)))

    results = benchmark.pedantic(lambda: loop.run_until_complete(hundred()), rounds=5)
    assert results == [(1,)] * 100
    loop.run_until_complete(pool.close())
