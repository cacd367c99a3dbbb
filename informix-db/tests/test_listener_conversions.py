"""pgsqlite's SQLI listener converts values the way Informix does, whichever way a value takes."""

import datetime as dt
import itertools
from decimal import Decimal

import pytest

import informix_db
from conftest import CREDENTIALS


@pytest.fixture
def conn(listener):
    with informix_db.connect("127.0.0.1", listener, **CREDENTIALS, autocommit=True) as connection:
        yield connection


def one(conn, sql, *parameters):
    return conn.cursor().execute(sql, parameters).fetchone()[0]


LAST = dt.datetime(2026, 12, 31, 23, 59, 59, 987650)

#: (value, what Informix writes for it in a statement)
VALUES = [
    (7, "7"),
    (-1 << 40, str(-1 << 40)),
    (2.5, "2.5"),
    (Decimal("12.5"), "12.5"),
    (True, "'t'"),
    ("17", "'17'"),
    ("abc", "'abc'"),
    (dt.date(2026, 12, 31), "'2026-12-31'"),
    (LAST, "datetime (2026-12-31 23:59:59.98765) year to fraction(5)"),
    (LAST.time(), "datetime (23:59:59.98765) hour to fraction(5)"),
    (dt.timedelta(3, 14706, 999990), "interval (3 04:05:06.99999) day(9) to fraction(5)"),
    (informix_db.IntervalYM(30), "interval (2-06) year(9) to month"),
]
COLUMNS = [
    "smallint", "integer", "bigint", "float", "decimal(6,1)", "decimal(16)", "money(8,2)", "char(4)", "char(30)",
    "varchar(30)", "lvarchar(100)", "nchar(30)", "boolean", "date", "datetime year to fraction(5)",
    "datetime year to fraction(2)", "datetime year to second", "datetime year to minute", "datetime year to day",
    "datetime year to month", "datetime hour to fraction(3)", "datetime hour to second", "datetime hour to minute",
    "datetime month to day", "datetime day to hour", "datetime minute to second",
    "interval day(9) to fraction(5)", "interval day(9) to second", "interval day(2) to hour", "interval day to day",
    "interval year(9) to month", "interval year to year",
]  # fmt: skip


def stored(cursor, source, parameters):
    """What a column holds after an INSERT; or that it was refused."""
    cursor.execute("delete from matrix")
    try:
        cursor.execute(f"insert into matrix (x) {source}", parameters)
    except informix_db.Error:
        return "refused"
    return cursor.execute("select x from matrix").fetchone()[0]


@pytest.mark.parametrize("column", COLUMNS)
def test_a_value_is_the_same_bound_written_and_selected(conn, column):
    cursor = conn.cursor()
    cursor.execute(f"create temp table matrix (x {column})")
    differ = []
    for value, literal in VALUES:
        ways = [
            stored(cursor, "values (?)", (value,)),
            stored(cursor, f"values ({literal})", ()),
            stored(cursor, f"select {literal} from systables where tabid = 1", ()),
        ]
        # One way may be refused where Informix takes all; what two ways store must be the same.
        kept = [way for way in ways if way != "refused"]
        if any(a != b for a, b in itertools.combinations(kept, 2)):
            differ.append((value, ways))
    assert not differ


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("datetime year to fraction(3)", dt.datetime(2026, 12, 31, 23, 59, 59, 987000)),
        ("datetime year to fraction(1)", dt.datetime(2026, 12, 31, 23, 59, 59, 900000)),
        ("datetime year to second", dt.datetime(2026, 12, 31, 23, 59, 59)),
        ("datetime year to minute", dt.datetime(2026, 12, 31, 23, 59)),
        ("datetime year to day", dt.datetime(2026, 12, 31)),
    ],
)
def test_what_lies_behind_the_last_field_is_cut(conn, column, value):
    cursor = conn.cursor()
    cursor.execute(f"create temp table cut (x {column}, y datetime year to fraction(5))")
    cursor.execute("insert into cut values (?, ?)", (LAST, LAST))
    cursor.execute("update cut set x = y")
    cursor.execute("insert into cut (x) select y from cut")
    rows = cursor.execute("select cast(x as datetime year to fraction(5)) from cut").fetchall()
    assert rows == [(value,), (value,)]
    cursor.execute("create temp table spans (x interval day(2) to second)")
    cursor.execute("insert into spans values (?)", (dt.timedelta(1, 5, 999990),))
    assert one(conn, "select x from spans where x = interval (1 00:00:05) day(2) to second") == dt.timedelta(1, 5)
    with pytest.raises(informix_db.DataError) as raised:
        cursor.execute("insert into spans values (?)", (dt.timedelta(100),))
    assert raised.value.sqlcode == -1265


def test_bytes_and_texts_are_what_their_column_is(conn):
    cursor = conn.cursor()
    cursor.execute("create temp table large (n integer, t text, b byte)")
    cursor.execute("insert into large values (1, ?, ?)", (b"abc \xe4", b"abc \xe4"))
    cursor.execute("insert into large values (2, ?, ?)", (informix_db.Text("abc \xe4"), informix_db.Text("abc \xe4")))
    rows = cursor.execute("select t, b from large order by n").fetchall()
    assert rows == [("abc \xe4", b"abc \xe4")] * 2
    # a literal is no large value
    for sql, parameters in (
        ("insert into large (b) values ('\\x61')", ()),
        ("insert into large (b) values (?)", ("\\x61",)),
    ):
        with pytest.raises(informix_db.Error) as raised:
            cursor.execute(sql, parameters)
        assert raised.value.sqlcode == -617


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("c || 'x'", "abc  x"),
        ("'x' || c || 'y'", "xabc  y"),
        ("concat(c, 'x')", "abc  x"),
        ("c || c", "abc  abc"),
        ("v || 'x'", "abc x"),
        ("upper(c) || 'x'", "ABC  x"),
        ("nvl(c, 'z') || 'x'", "abc  x"),
        ("case when n = 1 then c else 'z' end || 'x'", "abc  x"),
        ("c[2,4] || 'x'", "bc x"),
        ("substr(c, 2, 3) || 'x'", "bc x"),
        ("replace(c, ' ', '-')", "abc--"),
        ("lpad(c, 7, '-')", "--abc"),
        ("trim(c) || 'x'", "abcx"),
        ("length(c)", 3),
        ("octet_length(c)", 5),
        ("char_length(c)", 5),
        ("b || 'x'", "tx"),
        ("b::lvarchar", "t"),
        ("b::char(1)", "t"),
        ("d || 'x'", "2026-01-02x"),
        ("h::lvarchar", "10:20"),
        ("f::char(30)", "2026-01-02 10:20:30.12"),
        ("x.joined", "abc  -"),
    ],
)
def test_characters(conn, expression, value):
    cursor = conn.cursor()
    cursor.execute(
        "create temp table chars (n integer, c char(5), v varchar(9), b boolean, d datetime year to day,"
        " h datetime hour to minute, f datetime year to fraction(2))"
    )
    cursor.execute("insert into chars values (1, 'abc', 'abc ', 't', '2026-01-02', '10:20', '2026-01-02 10:20:30.12')")
    got = one(conn, f"select {expression} from chars, (select c || '-' as joined from chars) as x")
    assert (got.rstrip() if isinstance(got, str) else got) == value


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("c like 'abc'", True),
        ("c like 'ab_'", True),
        ("c like '%c'", True),
        ("c like 'abc%'", True),
        ("c like 'abc  '", True),
        ("c like '_____'", True),
        ("c like 'ab'", False),
        ("c not like 'abc'", False),
        ("c not like 'ab'", True),
        ("c like p", True),
        ("c matches 'abc'", True),
        ("c matches 'ab?'", True),
        ("c matches '*c'", True),
        ("c matches 'abc *'", True),
        ("c not matches 'abc'", False),
        ("c matches 'ab'", False),
        ("v like 'abc'", False),
        ("v like 'abc '", True),
        ("upper(c) = 'ABC'", True),
        ("upper(c) like 'ABC'", True),
        ("c[1,4] = 'abc'", True),
        ("c || c = 'abc  abc'", True),
        ("substr(c, 2) = 'bc'", True),
        ("c in ('abc', 'x')", True),
    ],
)
def test_blanks_at_the_end_of_a_char(conn, condition, holds):
    cursor = conn.cursor()
    cursor.execute("create temp table blanks (c char(5), v varchar(9), p char(9))")
    cursor.execute("insert into blanks values ('abc', 'abc ', 'a%c')")
    assert one(conn, f"select count(*) from blanks where {condition}") == holds
    if condition.endswith("'abc'") and " like " in condition:
        bound = condition.replace("'abc'", "?")
        assert one(conn, f"select count(*) from blanks where {bound}", "abc") == holds


@pytest.mark.parametrize("column", ["smallint", "integer", "bigint", "int8"])
@pytest.mark.parametrize(
    ("value", "literal", "whole"),
    [
        (Decimal("2.9"), "2.9", 2),
        (Decimal("-2.9"), "-2.9", -2),
        (Decimal("2.5"), "2.5", 2),
        (Decimal("-0.5"), "-0.5", 0),
        (3.99, "3.99e0", 3),
        ("17.9", "'17.9'", 17),
        (" -3.5 ", "' -3.5 '", -3),
        (dt.date(1900, 1, 2), "mdy(1, 2, 1900)", 2),
    ],
)
def test_what_becomes_an_integer_loses_the_digits_behind_the_point(conn, column, value, literal, whole):
    cursor = conn.cursor()
    cursor.execute(f"create temp table whole (n {column}, d decimal(6,2), f float, v varchar(9))")
    ways = [
        stored_whole(cursor, f"insert into whole (n) values ({literal})"),
        stored_whole(cursor, "insert into whole (n) values (?)", value),
        stored_whole(cursor, f"insert into whole (n) select {literal} from systables where tabid = 1"),
        one(conn, f"select ({literal})::{column} from systables where tabid = 1"),
        one(conn, f"select cast(? as {column}) from systables where tabid = 1", value),
    ]
    cursor.execute("insert into whole (n) values (0)")
    cursor.execute(f"update whole set n = {literal}")
    ways.append(cursor.execute("select n from whole").fetchone()[0])
    cursor.execute("update whole set n = ?", (value,))
    ways.append(cursor.execute("select n from whole").fetchone()[0])
    assert ways == [whole] * len(ways)


def stored_whole(cursor, sql, *parameters):
    cursor.execute("delete from whole")
    cursor.execute(sql, parameters)
    return cursor.execute("select n from whole").fetchone()[0]


def test_columns_expressions_and_types_become_integers_alike(conn):
    cursor = conn.cursor()
    cursor.execute("create temp table source (d decimal(6,2), f float, v varchar(9), m money(6,2), n integer)")
    cursor.execute("insert into source values (2.9, 2.9, '2.9', 2.9, 7)")
    cursor.execute("create temp table target (a integer, b integer, c integer, d integer, e integer)")
    cursor.execute("insert into target select d, f, v, m, n from source")
    cursor.execute("insert into target select d, f, v, m, n / 2 from source")
    cursor.execute("update source set n = n / 2")
    cursor.execute("insert into target select d * 1.5, f, v, m, n + 0.6 from source")
    cursor.execute(
        "merge into target using source on a = 99 when not matched then insert (a, b, c, d, e)"
        " values (source.d, f, v, m, n * 1.3)"
    )
    assert cursor.execute("select a, b, c, d, e from target").fetchall() == [
        (2, 2, 2, 2, 7),
        (2, 2, 2, 2, 3),
        (4, 2, 2, 2, 3),
        (2, 2, 2, 2, 3),
    ]
    # a comparison is no conversion
    assert one(conn, "select count(*) from target where a = 2.9") == 0
    cursor.execute("drop table if exists altered")
    cursor.execute("create table altered (d decimal(6,2), n integer default 2.9)")
    cursor.execute("insert into altered (d) values (-2.9)")
    cursor.execute("alter table altered modify (d integer)")
    assert cursor.execute("select d, n from altered").fetchall() == [(-2, 2)]
    cursor.execute("drop table altered")
    assert one(conn, "select substr('abcdef', 2.9, 1.9) from systables where tabid = 1") == "b"
    assert one(conn, "select mdy(1.9, 2.9, 2026.9) from systables where tabid = 1") == dt.date(2026, 1, 2)
    cursor.execute("create temp table sets (s set(integer not null))")
    for value in ("set{1.9, 2.1}", "'set{1.9, 2.1}'"):
        cursor.execute(f"insert into sets values ({value})")
    assert one(conn, "select count(*) from sets where s = set{1, 2}") == 2


def test_numbers_become_integers_in_routines(conn):
    cursor = conn.cursor()
    cursor.execute("drop function if exists cut_all")
    cursor.execute("drop function if exists half")
    cursor.execute("create function half(n integer) returning decimal(8,2); return n / 2; end function")
    cursor.execute(
        "create function cut_all(p integer) returning integer, integer, integer, integer, integer, integer;"
        " define a, b, c, d, s integer; define x decimal(8,2);"
        " let x = 2.9; let a = x; let b = half(7); let s = 0;"
        " select x + 0.05 into c from systables where tabid = 1;"
        " foreach select x into d from systables where tabid = 1 end foreach;"
        " for a = 1 to 2.9 let s = s + a; end for;"
        " return p, 2.9, b, c, d, s; end function"
    )
    assert cursor.execute("execute function cut_all(3.9)").fetchall() == [(3, 2, 3, 2, 2, 3)]
    assert cursor.execute("execute function cut_all(?)", (Decimal("3.9"),)).fetchall() == [(3, 2, 3, 2, 2, 3)]
    cursor.execute("drop function cut_all")
    cursor.execute("drop function half")


def test_a_serial_beyond_an_integer_is_told_as_it_is(conn):
    cursor = conn.cursor()
    cursor.execute("create temp table counted (id bigserial not null, n integer)")
    told = []
    for value in (None, 1 << 33, None, (1 << 62) + 5):
        if value is None:
            cursor.execute("insert into counted (n) values (1)")
        else:
            cursor.execute("insert into counted (id, n) values (?, 1)", (value,))
        told.append(cursor.lastrowid)
    assert told == [1, 1 << 33, (1 << 33) + 1, (1 << 62) + 5]


def test_times_of_day_are_extended_and_written(conn):
    cursor = conn.cursor()
    cursor.execute("create temp table times (t datetime hour to second, n integer, d date)")
    cursor.execute("insert into times values ('10:20:30', 17, '2026-01-02')")
    assert one(conn, "select extend(t, hour to minute) from times") == dt.time(10, 20)
    assert one(conn, "select to_char(t, '%H-%M-%S') from times") == "10-20-30"
    assert one(conn, "select extend(t, year to second) from times").time() == dt.time(10, 20, 30)
    assert one(conn, "select upper(n) || lower(t) from times") == "1710:20:30"
    assert one(conn, "select upper(d) from times") == "2026-01-02"


def test_dates_and_amounts_are_read_as_the_environment_says(listener):
    def connect(**env):
        return informix_db.connect("127.0.0.1", listener, **CREDENTIALS, autocommit=True, env=env)

    with connect(DBDATE="DMY2.", DBMONEY=",DM") as conn:
        cursor = conn.cursor()
        cursor.execute("create temp table forms (d date, m money(8,2), x decimal(8,2), f float)")
        cursor.execute("insert into forms values ('1.2.99', '12,50 DM', '-1,25', '0,5')")
        cursor.execute("insert into forms values (?, ?, ?, ?)", ("01.02.99", "12,50", "-1,25", "0,5"))
        row = (dt.date(2099, 2, 1), Decimal("12.50"), Decimal("-1.25"), 0.5)
        assert cursor.execute("select * from forms").fetchall() == [row, row]
        assert one(conn, "select count(*) from forms where d = '01.02.99' and m = '12,50'") == 2
        assert one(conn, "select year('1.2.99') from systables where tabid = 1") == 2099
        assert one(conn, "select first 1 d || ' ' || x from forms") == "01.02.99 -1,25"
        with pytest.raises(informix_db.Error) as raised:
            cursor.execute("insert into forms (m) values ('12.50')")
        assert raised.value.sqlcode == -1213
    with connect(DBDATE="MDY20", DBCENTURY="C") as conn:
        assert one(conn, "select date('010203') from systables where tabid = 1") == dt.date(2003, 1, 2)
        assert one(conn, "select date('123199') from systables where tabid = 1") == dt.date(1999, 12, 31)
    with connect() as conn:
        cursor = conn.cursor()
        cursor.execute("create temp table dollars (m money(8,2))")
        cursor.execute("insert into dollars values ('$12.50')")
        assert one(conn, "select m from dollars") == Decimal("12.50")
    for wrong in ({"DBMONEY": "x"}, {"DBCENTURY": "Z"}):
        with pytest.raises(informix_db.DatabaseError) as raised:
            connect(**wrong)
        assert raised.value.sqlcode == -23101
