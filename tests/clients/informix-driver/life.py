"""PyPI's informix-driver over SQLI: types both ways, batches, transactions, savepoints by SQL, scroll cursors, errors, large values, the pool, asyncio, TLS.

It holds one statement at a time (it always says statement 0), reads DATETIMEs without their exponent, and sends booleans as letters.
"""

import asyncio
import datetime as dt
import os
import ssl
from decimal import Decimal

import informix_db
from informix_db import aio

PORT = int(os.environ["SQLI_PORT"])
GIVEN = {"host": "127.0.0.1", "port": PORT, "user": "informix", "password": "in4mix", "database": "stores", "server": "x"}


def rows(connection, sql, parameters=()):
    cursor = connection.cursor()
    cursor.execute(sql, parameters)
    found = cursor.fetchall()
    cursor.close()
    return found


def run(connection, *statements):
    for sql in statements:
        cursor = connection.cursor()
        cursor.execute(sql)
        cursor.close()


def fails(code, connection, sql, parameters=()):
    try:
        run_one = connection.cursor()
        run_one.execute(sql, parameters)
    except informix_db.Error as error:
        assert getattr(error, "sqlcode", None) == code, (sql, error, vars(error))
        return
    raise AssertionError(f"no error {code}: {sql}")


def types(connection):
    cases = [
        ("smallint", -2, -2), ("integer", 2**31 - 1, 2**31 - 1), ("bigint", 2**40, 2**40), ("int8", -123456789012, -123456789012),
        ("float", 1.5, 1.5), ("smallfloat", -2.25, -2.25), ("decimal(10,2)", Decimal("-1234.56"), Decimal("-1234.56")),
        ("decimal(16)", Decimal("0.001"), Decimal("0.001")), ("money(12,2)", Decimal("99.95"), Decimal("99.95")),
        ("char(6)", "abc", "abc   "), ("varchar(20)", "vc é", "vc é"), ("varchar(20)", "", ""), ("nvarchar(20)", "nv", "nv"),
        ("lvarchar(500)", "lvar", "lvar"), ("boolean", True, True), ("boolean", False, False),
        ("date", dt.date(2026, 5, 4), dt.date(2026, 5, 4)), ("date", dt.date(1899, 12, 30), dt.date(1899, 12, 30)),
        ("datetime year to second", dt.datetime(2026, 6, 20, 12, 34, 56), dt.datetime(2026, 6, 20, 12, 34, 56)),
        ("datetime year to fraction(5)", dt.datetime(2026, 1, 2, 3, 4, 5, 123450), dt.datetime(2026, 1, 2, 3, 4, 5, 123450)),
        ("interval day(3) to second", dt.timedelta(days=3, hours=4, minutes=5, seconds=6), dt.timedelta(days=3, hours=4, minutes=5, seconds=6)),
        ("byte", b"\x00\x01\xff" * 3000, b"\x00\x01\xff" * 3000), ("text", "text " * 3000, "text " * 3000),
    ]  # fmt: skip
    for name, bound, expected in cases:
        run(connection, f"create table v (id serial, x {name}, behind integer)")
        cursor = connection.cursor()
        for value, behind in ((bound, 77), (None, 78)):
            cursor.execute("insert into v (x, behind) values (?, ?)", (value, behind))
            assert cursor.rowcount == 1
        cursor.close()
        got = rows(connection, "select x, behind from v order by id")
        if name.startswith("char"):
            got = [(x if x is None else x.ljust(6), behind) for x, behind in got]
        assert got == [(expected, 77), (None, 78)], (name, got)
        run(connection, "drop table v")


def decimals(connection):
    """Numbers in all the forms that the driver writes: with zeros before and behind, negative, without a point."""
    run(connection, "create table d (id serial, n decimal(20,6))")
    numbers = [Decimal(t) for t in ("0", "-0", "0.00", "100", "-100", "1E+3", "-1.50", "-0.50", "0.000001", "-99.99", "1000000", "-10000.01", "12345678901234.567891")]
    cursor = connection.cursor()
    cursor.executemany("insert into d (n) values (?)", [(n,) for n in numbers])
    cursor.close()
    assert [row[0] for row in rows(connection, "select n from d order by id")] == numbers
    run(connection, "drop table d")


def statements(connection):
    run(connection, "create table item (id serial primary key, name varchar(40) not null, price decimal(10,2) default 0)",
        "create unique index item_name on item (name)")
    cursor = connection.cursor()
    cursor.executemany("insert into item (name, price) values (?, ?)", [(f"n{i}", Decimal(i)) for i in range(500)])
    cursor.close()
    assert rows(connection, "select count(*), sum(price) from item") == [(500, Decimal(124750))]
    assert [row[0] for row in rows(connection, "select id from item order by id")] == list(range(1, 501))
    cursor = connection.cursor()
    cursor.execute("select id, name, price from item where price > ?", (Decimal("10.5"),))
    assert [column[0] for column in cursor.description] == ["id", "name", "price"]
    cursor.close()
    cursor = connection.cursor()
    cursor.execute("update item set price = price + 1 where id <= ?", (10,))
    assert cursor.rowcount == 10
    cursor.close()
    assert rows(connection, "select first 2 name from item where name matches 'n1?' order by id") == [("n10",), ("n11",)]
    scroll = connection.cursor(scrollable=True)
    scroll.execute("select id from item order by id")
    assert [scroll.fetch_last(), scroll.fetch_first(), scroll.fetch_absolute(9), scroll.fetch_prior(), scroll.fetch_relative(3)] == [(500,), (1,), (10,), (9,), (12,)]  # it counts rows from 0
    scroll.close()


def errors(connection):
    fails(-206, connection, "select * from nosuch")
    fails(-217, connection, "select nosuch from item")
    fails(-201, connection, "selec 1")
    fails(-268, connection, "insert into item (name) values ('n1')")
    fails(-391, connection, "insert into item (price) values (1)")
    fails(-746, connection, "create database other with log mode ansi")
    assert rows(connection, "select count(*) from item") == [(500,)]


def transactions():
    with informix_db.connect(**GIVEN, autocommit=False) as one, informix_db.connect(**GIVEN, autocommit=True) as other:
        run(one, "insert into item (name) values ('t1')")
        assert rows(other, "select count(*) from item where name = 't1'") == [(0,)]
        one.rollback()
        run(one, "insert into item (name) values ('t2')", "savepoint sp", "insert into item (name) values ('t3')", "rollback to savepoint sp")
        fails(-268, one, "insert into item (name) values ('t2')")
        one.commit()
        assert rows(other, "select name from item where name like 't%'") == [("t2",)]
        cursor = one.cursor()
        cursor.executemany("insert into item (name) values (?)", [(f"m{i}",) for i in range(1000)])
        one.commit()
        assert rows(other, "select count(*) from item where name like 'm%'") == [(1000,)]


def large_objects(connection):
    """BLOB and CLOB by way of lotofile() and filetoblob(), whose file the driver keeps in memory."""
    run(connection, "create table smart (id integer, b blob, c clob)")
    content = bytes(range(256)) * 300 + b"!"
    cursor = connection.cursor()
    cursor.write_blob_column("insert into smart values (?, BLOB_PLACEHOLDER, null)", content, (1,))
    cursor.write_blob_column("insert into smart values (?, null, BLOB_PLACEHOLDER)", b"a story", (2,), clob=True)
    cursor.close()
    cursor = connection.cursor()
    assert cursor.read_blob_column("SELECT b FROM smart WHERE id = ?", (1,)) == content
    cursor.close()
    cursor = connection.cursor()
    assert cursor.read_blob_column("SELECT c FROM smart WHERE id = ?", (2,)) == b"a story"
    cursor.close()
    assert [type(x).__name__ for x in rows(connection, "select b, c from smart where id = 1")[0]] == ["BlobLocator", "NoneType"]
    run(connection, "drop table smart")


def pools():
    with informix_db.create_pool(**GIVEN, min_size=1, max_size=3, autocommit=True) as pool:
        with pool.connection() as connection:
            assert rows(connection, "select count(*) from item where name = 't2'") == [(1,)]

    async def together():
        pool = await aio.create_pool(**GIVEN, min_size=1, max_size=4, autocommit=True)

        async def work(i):
            async with pool.connection() as connection:
                cursor = await connection.cursor()
                await cursor.execute("select first 1 tabid + ? from systables where tabid = 1", (i,))
                return await cursor.fetchone()

        assert await asyncio.gather(*map(work, range(20))) == [(1 + i,) for i in range(20)]
        await pool.close()

    asyncio.run(together())


def tls():
    context = ssl.create_default_context(cafile=os.environ["SQLI_CERTIFICATE"])
    context.check_hostname = False
    with informix_db.connect(**GIVEN, autocommit=True, tls=context) as connection:
        assert rows(connection, "select count(*) from item where name = 't2'") == [(1,)]


with informix_db.connect(**GIVEN, autocommit=True) as connection:
    types(connection)
    decimals(connection)
    statements(connection)
    errors(connection)
    large_objects(connection)
transactions()
pools()
tls()
print("ok")
