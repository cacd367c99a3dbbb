"""Connections: cold, and out of a pool."""

import pytest

import informix_db

pytestmark = pytest.mark.benchmark


def test_cold_connect_and_close(benchmark, address):
    benchmark(lambda: informix_db.connect(**address).close())


def test_pool_cycle(benchmark, address, tables):
    with informix_db.create_pool(**address, min_size=1, max_size=2, autocommit=True) as pool:

        def work():
            with pool.connection() as conn:
                return conn.cursor().execute("select id from bench_rows where id = 1").fetchall()

        assert benchmark(work) == [(1,)]
