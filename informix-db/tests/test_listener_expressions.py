"""What programs write in a SELECT list, expression by expression, against pgsqlite's listener.

The values are what IBM's manual says of each. Numbers are compared as such, CHAR without the blanks behind it.
"""

import datetime as dt
from decimal import Decimal

import pytest

import informix_db
from conftest import CREDENTIALS

MOMENT = "datetime (2026-12-31 10:20:30) year to second"
D = dt.date(2026, 12, 31)

EXPRESSIONS = {
    # numbers
    "1 + 2 * 3": 7,
    "(1 + 2) * 3": 9,
    "7 / 2": Decimal("3.5"),
    "-5": -5,
    "mod(7, 3)": 1,
    "mod(-7, 3)": -1,
    "abs(-3)": 3,
    "abs(-3.5)": Decimal("3.5"),
    "round(2.567, 1)": Decimal("2.6"),
    "round(2.5)": 3,
    "round(1234.5, -2)": 1200,
    "trunc(2.567, 1)": Decimal("2.5"),
    "trunc(-2.9)": -2,
    "ceil(2.1)": 3,
    "floor(-2.1)": -3,
    "sqrt(16)": 4.0,
    "pow(2, 10)": 1024.0,
    "power(2, 0.5)": 2**0.5,
    "root(27, 3)": 3.0,
    "root(9)": 3.0,
    "exp(1)": 2.718281828459045,
    "logn(1)": 0.0,
    "ln(1)": 0.0,
    "log10(1000)": 3.0,
    "sin(0)": 0.0,
    "cos(0)": 1.0,
    "tan(0)": 0.0,
    "asin(1)": 1.5707963267948966,
    "acos(1)": 0.0,
    "atan(1)": 0.7853981633974483,
    "atan2(1, 1)": 0.7853981633974483,
    "degrees(0)": 0.0,
    "radians(180)": 3.141592653589793,
    "sign(-4)": -1,
    "bitand(12, 10)": 8,
    "bitor(12, 10)": 14,
    "bitxor(12, 10)": 6,
    "bitnot(0)": -1,
    "bitandnot(12, 10)": 4,
    "hex(255)": "0x000000FF",
    "10::decimal(6,2)": Decimal("10.00"),
    "'12'::integer": 12,
    "12.7::integer": 12,
    "cast(3 as char(5))": "3",
    "1.5e3::float": 1500.0,
    "2147483647::bigint + 1": 2147483648,
    # characters
    "'a' || 'b'": "ab",
    "concat('a', 'b')": "ab",
    "upper('abc')": "ABC",
    "lower('ABC')": "abc",
    "initcap('ann lee')": "Ann Lee",
    "length('abc')": 3,
    "char_length('abc')": 3,
    "character_length('abc')": 3,
    "octet_length('abc')": 3,
    "len('abc  ')": 5,
    "trim('  a  ')": "a",
    "trim(leading 'x' from 'xxa')": "a",
    "trim(trailing 'x' from 'axx')": "a",
    "trim(both 'x' from 'xax')": "a",
    "ltrim('  a')": "a",
    "rtrim('a  ') || '|'": "a|",
    "ltrim('xya', 'xy')": "a",
    "rtrim('ayx', 'xy')": "a",
    "lpad('7', 3, '0')": "007",
    "rpad('7', 3, '.')": "7..",
    "replace('banana', 'an', 'x')": "bxxa",
    "replace('banana', 'an')": "ba",
    "reverse('abc')": "cba",
    "substr('abcdef', 2, 3)": "bcd",
    "substr('abcdef', 4)": "def",
    "substr('abcdef', -2)": "ef",
    "substring('abcdef' from 2 for 3)": "bcd",
    "substring('abcdef' from 3)": "cdef",
    "substring_index('a.b.c', '.', 2)": "a.b",
    "left('abcdef', 3)": "abc",
    "right('abcdef', 2)": "ef",
    "'[' || space(2) || ']'": "[  ]",
    "repeat('ab', 2)": "abab",
    "charindex('c', 'abcabc')": 3,
    "instr('abcabc', 'b')": 2,
    "instr('abcabc', 'b', 3)": 5,
    "instr('abcabc', 'b', 1, 2)": 5,
    "position('c' in 'abc')": 3,
    "overlay('abc' placing 'x' from 2 for 1)": "axc",
    "ascii('A')": 65,
    "chr(65)": "A",
    "'x' || 5": "x5",
    "to_char(12.5)": "12.5",
    "to_number('12.50')": Decimal("12.50"),
    "regexp_like('abc', '^a')": True,
    # moments
    "mdy(12, 31, 2026)": D,
    "year(mdy(12, 31, 2026))": 2026,
    "month(mdy(12, 31, 2026))": 12,
    "day(mdy(12, 31, 2026))": 31,
    "weekday(mdy(12, 31, 2026))": 4,
    "quarter(mdy(5, 1, 2026))": 2,
    "date('2026-12-31')": D,
    "date(46386)": D,
    "mdy(12, 31, 2026) + 1": dt.date(2027, 1, 1),
    "mdy(12, 31, 2026) - mdy(12, 1, 2026)": 30,
    "today - today": 0,
    "today + 1 units day - today": dt.timedelta(days=1),
    "add_months(mdy(1, 31, 2026), 1)": dt.date(2026, 2, 28),
    "last_day(mdy(2, 3, 2028))": dt.date(2028, 2, 29),
    "next_day(mdy(11, 22, 2026), 'MON')": dt.date(2026, 11, 23),
    "months_between(mdy(3, 31, 2026), mdy(2, 28, 2026))": 1,
    f"extend({MOMENT}, year to day)": D,
    f"extend({MOMENT}, hour to minute)": dt.time(10, 20),
    "extend(mdy(12, 31, 2026), year to second)": dt.datetime(2026, 12, 31),
    f"{MOMENT} + 1 units hour": dt.datetime(2026, 12, 31, 11, 20, 30),
    f"{MOMENT} - 2 units day": dt.datetime(2026, 12, 29, 10, 20, 30),
    f"{MOMENT} + interval (1 02:03) day to minute": dt.datetime(2027, 1, 1, 12, 23, 30),
    f"{MOMENT} - datetime (2026-12-30 10:20:30) year to second": dt.timedelta(days=1),
    f"year({MOMENT})": 2026,
    f"date({MOMENT})": D,
    f"trunc({MOMENT}, 'MONTH')": dt.datetime(2026, 12, 1),
    f"round({MOMENT}, 'HH')": dt.datetime(2026, 12, 31, 10),
    f"round({MOMENT}, 'MI')": dt.datetime(2026, 12, 31, 10, 21),
    f"round({MOMENT}, 'DD')": dt.datetime(2026, 12, 31),
    f"round({MOMENT}, 'YEAR')": dt.datetime(2027, 1, 1),
    "round(mdy(2, 16, 2026), 'MONTH')": dt.date(2026, 3, 1),
    "round(mdy(2, 15, 2026), 'MONTH')": dt.date(2026, 2, 1),
    "trunc(mdy(2, 15, 2026), 'YEAR')": dt.date(2026, 1, 1),
    "to_char(mdy(12, 31, 2026), '%d.%m.%Y')": "31.12.2026",
    f"to_char({MOMENT}, '%Y-%m-%d %H:%M:%S')": "2026-12-31 10:20:30",
    "to_date('31.12.2026 23:59', '%d.%m.%Y %H:%M')": dt.datetime(2026, 12, 31, 23, 59),
    "interval (3 04:05:06) day to second": dt.timedelta(days=3, hours=4, minutes=5, seconds=6),
    "interval (10) hour to hour * 2": dt.timedelta(hours=20),
    "3 units day": dt.timedelta(days=3),
    "dbinfo('utc_to_datetime', 0) - dbinfo('utc_to_datetime', 0)": dt.timedelta(0),
    "case when dbinfo('utc_current') > 1000000000 then 1 end": 1,
    "case when current > datetime (2020-01-01) year to day then 1 end": 1,
    "case when sysdate > current - 1 units minute then 1 end": 1,
    "case when today > mdy(1, 1, 2020) then 1 end": 1,
    # conditions
    "case when 1 = 1 then 'a' else 'b' end": "a",
    "case 2 when 1 then 'a' when 2 then 'b' end": "b",
    "decode(2, 1, 'a', 2, 'b', 'c')": "b",
    "decode(9, 1, 'a', 'c')": "c",
    "nvl(null, 3)": 3,
    "nvl2(1, 'a', 'b')": "a",
    "nullif(1, 1)": None,
    "coalesce(null, null, 7)": 7,
    "isnull(null, 3)": 3,
    "case when 2 between 1 and 3 then 1 end": 1,
    "case when 2 in (1, 2) then 1 end": 1,
    "case when 'abc' like 'a%' then 1 end": 1,
    "case when 'abc' matches 'a*' then 1 end": 1,
    "case when 'abc' matches '[a-c]bc' then 1 end": 1,
    "case when exists (select 1 from sysmaster:sysdual) then 1 end": 1,
    "case when null is null then 1 end": 1,
    "case when not (1 = 2 or 2 = 3) and 1 <> 2 then 1 end": 1,
    "case when 3 > all (select 2 from sysmaster:sysdual) then 1 end": 1,
    "'t'::boolean": True,
    "'t'::boolean::lvarchar": "t",
    # sets and rows
    "cardinality(set{1, 2, 2})": 2,
    "case when 2 in set{1, 2} then 1 end": 1,
    # aggregates and windows
    "count(*)": 1,
    "count(distinct 5)": 1,
    "sum(5)": 5,
    "avg(5)": 5,
    "max('a')": "a",
    "min(5)": 5,
    "range(5)": 0,
    "variance(5)": 0,
    "stdev(5)": 0,
    "row_number() over (order by 1)": 1,
    "rank() over (order by dummy)": 1,
    "lag(5, 1, 7) over (order by dummy)": 7,
    "ratio_to_report(4) over ()": 1,
    # the session
    "user": "informix",
    "current_user": "informix",
    "case when length(dbservername) > 0 then 1 end": 1,
    "dbinfo('dbspace', 1)": "rootdbs",
    "dbinfo('dbname')": "testdb",
    "case when dbinfo('sessionid') > 0 then 1 end": 1,
    "case when length(dbinfo('version', 'full')) > 5 then 1 end": 1,
    "dbinfo('sqlca.sqlerrd2') * 0": 0,
    "(select max(tabid) from systables where tabid = 1)": 1,
}


@pytest.fixture(scope="module")
def conn(listener):
    with informix_db.connect("127.0.0.1", listener, **CREDENTIALS, autocommit=True) as connection:
        yield connection


def value_of(conn, expression):
    row = conn.cursor().execute(f"select {expression} as x from sysmaster:sysdual").fetchone()
    return row[0].rstrip() if isinstance(row[0], str) else row[0]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression(conn, expression):
    expected, got = EXPRESSIONS[expression], value_of(conn, expression)
    if isinstance(expected, float):
        assert float(got) == pytest.approx(expected)
    else:
        assert got == expected


def test_there_are_as_many_as_programs_were_seen_to_use():
    assert len(EXPRESSIONS) >= 135
