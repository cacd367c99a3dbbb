"""Reading: the smallest query, a thousand rows, ten and a hundred thousand."""

import pytest

pytestmark = pytest.mark.benchmark

SELECT = "select id, name, price, day, big from bench_rows"


def test_select_1(benchmark, conn):
    cur = conn.cursor()
    one = "select id from bench_rows where id = 1"
    assert benchmark(lambda: cur.execute(one).fetchall()) == [(1,)]


def test_select_1000_rows(benchmark, conn):
    cur = conn.cursor()
    rows = benchmark(lambda: cur.execute(f"{SELECT} where id < 1000").fetchall())
    assert len(rows) == 1000


@pytest.mark.parametrize("count", [10_000, 100_000])
def test_select_many_rows(benchmark, conn, count):
    cur = conn.cursor()
    rows = benchmark.pedantic(
        lambda: cur.execute(f"{SELECT} where id < {count}").fetchall(), rounds=10, warmup_rounds=1
    )
    assert len(rows) == count
