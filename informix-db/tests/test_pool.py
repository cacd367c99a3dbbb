"""The blocking pool."""

import threading
import time

import pytest

import informix_db
from conftest import CREDENTIALS
from informix_db import InterfaceError, OperationalError, PoolClosedError, PoolTimeoutError
from peer.server import Col, Result

ONE = Result([Col("n", 2, 4)], [(1,)])
PING = "select 1 from informix.systables where tabid = 1"


def pool_of(server, **options):
    server.rules[PING] = server.rules["select n"] = ONE
    return informix_db.create_pool(host="127.0.0.1", port=server.port, **{**CREDENTIALS, **options})


def test_lends_and_takes_back(server):
    with pool_of(server, min_size=1, max_size=2) as pool:
        assert (pool.size, pool.idle_count) == (1, 1)
        with pool.connection() as conn:
            conn.cursor().execute("create table t (a integer)")
            conn.cursor().execute("insert into t values (1)")
        assert server.log[-1] == "rollback"
        with pool.connection() as conn:
            assert server.connections == 1
        first, second = pool.acquire(), pool.acquire()
        with pytest.raises(PoolTimeoutError):
            pool.acquire(timeout=0.05)
        pool.release(first)
        assert pool.acquire() is first
        pool.release(first)
        pool.release(second)
    assert pool.closed
    assert first.closed
    with pytest.raises(PoolClosedError):
        pool.acquire()


def test_a_lent_connection_of_a_closed_pool_is_closed_on_return(server):
    pool = pool_of(server)
    conn = pool.acquire()
    pool.close()
    assert not conn.closed
    pool.release(conn)
    assert conn.closed
    assert pool.size == 0


def test_waiters_of_a_closed_pool_are_told(server):
    pool = pool_of(server, max_size=1)
    conn = pool.acquire()
    seen = []

    def wait():
        try:
            pool.acquire(timeout=20)
        except PoolClosedError:
            seen.append(True)

    t = threading.Thread(target=wait)
    t.start()
    while not pool._condition._waiters:
        time.sleep(0.005)
    pool.close()
    t.join(20)
    assert seen == [True]
    pool.release(conn)


def test_a_lost_connection_is_replaced(server):
    with pool_of(server, max_size=1) as pool:
        conn = pool.acquire()
        pool.release(conn)
        conn._transport._sock.shutdown(2)
        other = pool.acquire()
        assert other is not conn
        assert other.cursor().execute("select n").fetchall() == [(1,)]
        other._transport.abort()
        pool.release(other)
        assert pool.size == 0


def test_old_and_idle_connections_are_replaced(server):
    with pool_of(server, max_size=1, max_lifetime=0.01) as pool:
        conn = pool.acquire()
        time.sleep(0.02)
        pool.release(conn)
        assert conn.closed
    with pool_of(server, max_size=1, max_idle=0.01) as pool:
        conn = pool.acquire()
        pool.release(conn)
        time.sleep(0.02)
        assert pool.acquire() is not conn
        assert conn.closed


def test_a_rested_connection_is_asked(server):
    with pool_of(server, max_size=1, check_after=0.0, autocommit=True) as pool:
        conn = pool.acquire()
        pool.release(conn)
        time.sleep(0.01)
        before = len(server.log)
        assert pool.acquire() is conn
        assert len(server.log) > before
        pool.release(conn)
        del server.rules[PING]  # the table does not exist here: the health check fails
        conn._session.clear_cache()
        assert pool.acquire() is not conn


def test_failing_to_connect_frees_the_place(server):
    pool = pool_of(server, max_size=1, password="wrong")
    for _ in range(3):
        with pytest.raises(OperationalError):
            pool.acquire(timeout=0.5)
    assert pool.size == 0
    with pytest.raises(OperationalError):
        pool_of(server, min_size=1, password="wrong")
    with pytest.raises(InterfaceError):
        pool_of(server, min_size=3, max_size=2)


def test_many_threads(server):
    results = []
    with pool_of(server, max_size=3, autocommit=True) as pool:

        def work():
            for _ in range(10):
                with pool.connection() as conn:
                    results.append(conn.cursor().execute("select n").fetchone())

        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
        assert pool.size <= 3
    assert results == [(1,)] * 80


def test_unknown_arguments_are_refused_at_once(server):
    from informix_db import aio

    with pytest.raises(TypeError, match="max_sze"):
        informix_db.create_pool(host="127.0.0.1", port=server.port, user="a", password="b", max_sze=3)
    with pytest.raises(TypeError, match="max_sze"):
        aio.create_pool(host="127.0.0.1", port=server.port, user="a", password="b", max_sze=3)
