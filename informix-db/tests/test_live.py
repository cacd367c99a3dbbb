"""The driver against a real server: set INFORMIX_DB_TEST_HOST (and _PORT, _USER, _PASSWORD, _DATABASE, _SERVER)."""

import asyncio
import datetime as dt
from decimal import Decimal

import pytest

import informix_db
from informix_db import aio

TABLE = """create table drv_live (a serial primary key, s smallint, b bigint, f float, sf smallfloat, d decimal(10,2),
    m money(12,2), c char(6), v varchar(20), lv lvarchar(500), dy date, ts datetime year to fraction(5),
    tm datetime hour to second, iv interval day(3) to fraction(5), ok boolean)"""
ROW = (
    -2, 1 << 40, 1.5, -2.25, Decimal("-1234.56"), Decimal("99.95"), "abc", "vc", "lvar", dt.date(2026, 1, 2),
    dt.datetime(2026, 1, 2, 3, 4, 5, 123450), dt.time(0, 4, 5), dt.timedelta(3, 14706), True,
)  # fmt: skip


@pytest.fixture
def conn(live):
    connection = informix_db.connect(**live)
    cur = connection.cursor()
    try:
        cur.execute("drop table drv_live")
    except informix_db.ProgrammingError:
        pass
    cur.execute(TABLE)
    connection.commit()
    yield connection
    connection.rollback()
    connection.cursor().execute("drop table drv_live")
    connection.commit()
    connection.close()


def test_every_type(conn):
    cur = conn.cursor()
    marks = ",".join("?" * len(ROW))
    cur.execute(f"insert into drv_live values (0,{marks})", ROW)
    assert (cur.rowcount, cur.lastrowid) == (1, 1)
    cur.execute(f"insert into drv_live values (0,{marks})", (None,) * len(ROW))
    cur.execute("select * from drv_live order by a")
    first, second = cur.fetchall()
    assert first == (1, *ROW)
    assert second == (2, *[None] * len(ROW))
    assert cur.description[5][4:6] == (10, 2)


def test_batches_transactions_and_scrolling(conn):
    cur = conn.cursor()
    insert = "insert into drv_live (a, v) values (?, ?)"
    cur.executemany(insert, [(i, f"row {i}") for i in range(1, 1001)])
    assert cur.rowcount == 1000
    conn.commit()
    with pytest.raises(informix_db.IntegrityError):
        cur.execute(insert, (5, "again"))
    conn.rollback()
    with pytest.raises(ZeroDivisionError), conn.transaction():
        cur.execute("delete from drv_live")
        raise ZeroDivisionError
    scroll = conn.cursor(scrollable=True)
    scroll.execute("select a, v from drv_live order by a")
    assert scroll.fetch_last() == (1000, "row 1000")
    assert scroll.fetch_absolute(1) == (2, "row 2")
    assert len(conn.cursor().execute("select a from drv_live").fetchall()) == 1000
    with pytest.raises(informix_db.ProgrammingError) as caught:
        cur.execute("select * from nosuch_table")
    assert caught.value.sqlcode == -206


def test_asyncio(conn, live):
    async def main():
        async with aio.create_pool(**live, max_size=3, autocommit=True) as pool:

            async def one(i):
                async with pool.connection() as c:
                    return await (
                        await c.execute("select first 1 tabid from systables where tabid = ?", (1,))
                    ).fetchone()

            assert await asyncio.gather(*map(one, range(20))) == [(1,)] * 20

    asyncio.run(main())
