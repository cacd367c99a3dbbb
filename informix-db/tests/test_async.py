"""asyncio: the same protocol on the event loop, with cancellation that leaves the connection usable or closed."""

import asyncio
import threading
from functools import wraps

import pytest

from conftest import CREDENTIALS
from informix_db import (
    IntegrityError,
    InterfaceError,
    OperationalError,
    PoolClosedError,
    PoolTimeoutError,
    QueryCanceledError,
    StatementTimeoutError,
    aio,
)
from peer.server import Col, Result, Slow

ONE = Result([Col("n", 2, 4)], [(1,)])


def run(test):
    """Run a coroutine test."""

    @wraps(test)
    def inner(*args, **kwargs):
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 60))

    return inner


def connect(server, **options):
    return aio.connect("127.0.0.1", server.port, **{**CREDENTIALS, "autocommit": True, **options})


@run
async def test_a_day_in_the_life(server):
    async with await connect(server) as conn:
        cur = conn.cursor()
        await cur.execute("create table t (a integer primary key, b varchar(20))")
        await cur.execute("insert into t values (?, ?)", (1, "one"))
        assert (cur.rowcount, cur.lastrowid) == (1, 1)
        await cur.executemany("insert into t values (:a, :b)", [{"a": i, "b": str(i)} for i in range(2, 5)])
        async with conn.cursor() as other:
            await other.execute("select a, b from t where a > ? order by a", (2,))
            assert await other.fetchone() == (3, "3")
            assert await other.fetchmany(5) == [(4, "4")]
            assert await other.fetchone() is None
        await cur.execute("select a from t order by a")
        assert [row async for row in cur] == [(1,), (2,), (3,), (4,)]
        with pytest.raises(IntegrityError):
            await cur.execute("insert into t values (1, 'x')")
        with pytest.raises(ZeroDivisionError):
            async with conn.transaction():
                await cur.execute("delete from t")
                raise ZeroDivisionError
        scroll = await conn.cursor(scrollable=True)
        await scroll.execute("select a from t order by a")
        assert await scroll.fetch_last() == (4,)
        assert (await conn.execute("select a from t where a = 1")).rowcount == 1
    assert conn.closed
    with pytest.raises(InterfaceError):
        conn.cursor()


@run
async def test_no_threads_are_used(server):
    conn = await connect(server)
    before = set(threading.enumerate())
    server.rules["select n"] = Result([Col("n", 2, 4)], [(i,) for i in range(30000)])
    cur = await conn.execute("select n")
    assert len(await cur.fetchall()) == 30000
    new = {t for t in threading.enumerate() if t not in before}
    assert not [t for t in new if "asyncio" in t.name or "ThreadPool" in t.name]
    await conn.close()


@run
async def test_tasks_share_a_connection_one_statement_at_a_time(server):
    server.rules.update({f"select {i}": Result([Col("n", 2, 4)], [(i,)]) for i in range(20)})
    conn = await connect(server)

    async def one(i):
        cur = conn.cursor()
        await cur.execute(f"select {i}")
        return await cur.fetchall()

    assert await asyncio.gather(*map(one, range(20))) == [[(i,)] for i in range(20)]
    await conn.close()


@run
async def test_statements_of_different_connections_run_at_once(server):
    barrier = threading.Barrier(5)

    def rule(values):
        if values[0] is not None:  # not at PREPARE
            barrier.wait(60)
        return ONE

    server.rules["select m where a = ?"] = rule
    conns = [await connect(server) for _ in range(5)]
    cursors = await asyncio.gather(*(c.execute("select m where a = ?", (1,)) for c in conns))
    assert [await c.fetchall() for c in cursors] == [[(1,)]] * 5
    for c in conns:
        await c.close()


async def start(conn, slow):
    """A task that runs the slow statement, once the server works on it."""
    await conn.execute("select slow")  # the first execution is quick, and fills the statement cache
    task = asyncio.create_task(conn.execute("select slow"))
    while not slow.working.is_set():  # noqa: ASYNC110 (set by another thread)
        await asyncio.sleep(0.002)
    return task


async def usable(conn):
    return await (await conn.execute("select n")).fetchall() == [(1,)]


@pytest.fixture
def slow(server):
    server.rules["select n"] = ONE
    rule = server.rules["select slow"] = Slow(ONE)
    return rule


async def cancelled(task):
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@run
async def test_a_cancelled_task_interrupts_the_server_and_the_connection_stays(server, slow):
    conn = await connect(server)
    for _ in range(3):
        await cancelled(await start(conn, slow))
        assert not conn.closed
        assert await usable(conn)
    await conn.close()


@run
async def test_a_timeout_around_a_statement(server, slow):
    conn = await connect(server)
    await conn.execute("select slow")
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(conn.execute("select slow"), 0.1)
    assert await usable(conn)
    await conn.close()


@run
async def test_statement_timeout(server, slow):
    conn = await connect(server)
    await conn.execute("select slow")
    conn.statement_timeout = 0.1
    with pytest.raises(StatementTimeoutError) as caught:
        await conn.execute("select slow")
    assert (caught.value.sqlcode, caught.value.isamcode) == (-213, -157)
    assert not conn.closed
    conn.statement_timeout = None
    cur = await conn.execute("select slow")
    with pytest.raises(StatementTimeoutError):
        await cur.execute("select slow", timeout=0.05)
    assert await usable(conn)
    await conn.close()


@run
async def test_cancel_from_another_task(server, slow):
    conn = await connect(server)
    assert not conn.cancel()
    task = await start(conn, slow)
    assert conn.cancel()
    assert not conn.cancel()
    with pytest.raises(QueryCanceledError):
        await task
    assert await usable(conn)
    await conn.close()


@run
async def test_a_server_that_ignores_the_interrupt_loses_the_connection(server, slow, monkeypatch):
    from informix_db import _net_async

    monkeypatch.setattr(_net_async, "CANCEL_GRACE", 0.1)
    slow.how = "deaf"
    conn = await connect(server)
    await cancelled(await start(conn, slow))
    assert conn.closed
    conn = await connect(server)
    await conn.execute("select slow")
    with pytest.raises(StatementTimeoutError) as caught:
        await conn.cursor().execute("select slow", timeout=0.05)
    assert caught.value.session_dead
    assert conn.closed


@run
async def test_a_statement_that_ends_before_the_interrupt_closes_the_connection(server, slow):
    # The late byte would hit the next statement.
    slow.how = "late"
    conn = await connect(server)
    await cancelled(await start(conn, slow))
    assert conn.closed


@run
async def test_cancelling_twice_closes_the_connection(server, slow):
    slow.how = "deaf"
    conn = await connect(server)
    task = await start(conn, slow)
    task.cancel()
    await asyncio.sleep(0.02)
    await cancelled(task)
    assert conn.closed


@run
async def test_read_timeout(server, slow):
    slow.how = "deaf"
    conn = await connect(server)
    await conn.execute("select slow")
    conn._transport._read_timeout = 0.1
    with pytest.raises(OperationalError, match="read_timeout") as caught:
        await conn.execute("select slow")
    assert caught.value.session_dead
    assert conn.closed


@run
async def test_connect_timeout():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        with pytest.raises(OperationalError):
            await aio.connect("127.0.0.1", silent.getsockname()[1], **CREDENTIALS, connect_timeout=0.1)
    with pytest.raises(OperationalError, match="cannot connect"):
        await aio.connect("127.0.0.1", 1, **CREDENTIALS, connect_timeout=5)


# ---- pool ---------------------------------------------------------------------------------------------------------


def pool_of(server, **options):
    return aio.create_pool(host="127.0.0.1", port=server.port, **{**CREDENTIALS, **options})


@run
async def test_pool_lends_and_takes_back(server):
    server.rules["select n"] = ONE
    async with pool_of(server, min_size=2, max_size=3) as pool:
        assert (pool.size, pool.idle_count, pool.min_size, pool.max_size) == (2, 2, 2, 3)
        async with pool.connection() as conn:
            assert pool.idle_count == 1
            assert await (await conn.execute("select n")).fetchall() == [(1,)]
            assert conn.in_transaction
        assert server.log[-1] == "rollback"
        assert pool.idle_count == 2
        a, b, c = [await pool.acquire() for _ in range(3)]
        with pytest.raises(PoolTimeoutError):
            await pool.acquire(timeout=0.05)
        waiting = asyncio.create_task(pool.acquire(timeout=20))
        await asyncio.sleep(0.02)
        await pool.release(b)
        assert await waiting is b
        await pool.release(a, broken=True)
        assert a.closed
        assert pool.size == 2
        with pytest.raises(InterfaceError):
            await pool.release(a)
        await pool.release(b)
        await pool.release(c)
    with pytest.raises(PoolClosedError):
        await pool.acquire()
    assert b.closed
    assert c.closed


@run
async def test_pool_survives_cancelled_tasks(server, slow):
    pool = await pool_of(server, max_size=2)

    async def work():
        async with pool.connection() as conn:
            await conn.execute("select slow")
            await conn.execute("select slow")

    for _ in range(4):
        task = asyncio.create_task(work())
        while not slow.working.is_set():  # noqa: ASYNC110 (set by another thread)
            await asyncio.sleep(0.002)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with pool.connection() as conn:
            assert await usable(conn)
    assert pool.size <= 2
    waiters = [asyncio.create_task(pool.acquire()) for _ in range(5)]
    await asyncio.sleep(0.05)
    for w in waiters:
        w.cancel()
    got = await asyncio.gather(*waiters, return_exceptions=True)
    lent = [c for c in got if isinstance(c, aio.AsyncConnection)]
    assert len(lent) <= 2
    for c in lent:
        await pool.release(c)
    assert pool.size == pool.idle_count == len(lent)
    a, b = await pool.acquire(), await pool.acquire()
    assert pool.size == 2
    await pool.release(a)
    await pool.release(b)
    await pool.close()


@run
async def test_a_connection_that_still_works_for_somebody_is_not_lent_again(server, slow):
    pool = await pool_of(server, max_size=1)
    conn = await pool.acquire()
    task = await start(conn, slow)
    await pool.release(conn)
    assert conn.closed
    with pytest.raises(OperationalError):
        await task
    assert await pool.acquire() is not conn


@run
async def test_pool_under_load(server):
    server.rules["select n"] = ONE
    async with pool_of(server, max_size=4, autocommit=True) as pool:

        async def one():
            async with pool.connection() as conn:
                return await (await conn.execute("select n")).fetchone()

        assert await asyncio.gather(*(one() for _ in range(100))) == [(1,)] * 100
        assert pool.size <= 4
        assert server.connections <= 4
