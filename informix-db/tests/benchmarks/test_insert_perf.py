"""Writing: single rows, and batches with and without a transaction around them."""

import itertools

import pytest

pytestmark = pytest.mark.benchmark

INSERT = "insert into bench_insert values (?, ?, ?, ?, ?)"


def rows(count):
    return [(i, f"name of row {i}", i / 4, None, i << 20) for i in range(count)]


def test_insert_1_prepared(benchmark, conn):
    cur = conn.cursor()
    numbers = itertools.count()
    benchmark(lambda: cur.execute(INSERT, (next(numbers), "name", 1.5, None, 7)))
    assert cur.rowcount == 1


@pytest.mark.parametrize("count", [100, 1000])
def test_executemany_autocommit(benchmark, conn, count):
    cur, batch = conn.cursor(), rows(count)
    benchmark.pedantic(lambda: cur.executemany(INSERT, batch), rounds=15, warmup_rounds=1)
    assert cur.rowcount == count


def test_executemany_1000_in_a_transaction(benchmark, conn):
    cur, batch = conn.cursor(), rows(1000)

    def work():
        with conn.transaction():
            cur.executemany(INSERT, batch)

    benchmark.pedantic(work, rounds=15, warmup_rounds=1)
    assert cur.rowcount == 1000
