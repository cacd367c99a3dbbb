"""pgsqlite's SQLI listener as programs expect an Informix server: databases, cursors that change rows, functions."""

import datetime as dt
import threading
import time
from decimal import Decimal
from struct import pack, unpack

import pytest

import informix_db
from conftest import CREDENTIALS, pgsqlite
from informix_db import OperationalError

WITHOUT = {k: v for k, v in CREDENTIALS.items() if k != "database"}


@pytest.fixture
def conn(listener):
    with informix_db.connect("127.0.0.1", listener, **CREDENTIALS, autocommit=True) as connection:
        yield connection


def one(conn, sql, *parameters):
    row = conn.cursor().execute(sql, parameters).fetchone()
    return row[0] if row and len(row) == 1 else row


def refused(conn, sql, *parameters):
    with pytest.raises(informix_db.Error) as raised:
        conn.cursor().execute(sql, parameters).fetchall()
    return raised.value


def test_connecting_without_a_database(listener):
    with informix_db.connect("127.0.0.1", listener, **WITHOUT, autocommit=True) as conn:
        assert refused(conn, "select 1 from systables").sqlcode == -349
        cursor = conn.cursor()
        cursor.execute("database testdb")
        assert one(conn, "select count(*) from systables where tabname = 'systables'") == 1
        assert one(conn, "select dbinfo('dbname') from systables where tabid = 1") == "testdb"
        cursor.execute("create temp table t (n integer)")
        cursor.execute("begin work")
        assert refused(conn, "database testdb").sqlcode == -377
        cursor.execute("rollback work")
        cursor.execute("close database")
        assert refused(conn, "select 1 from systables").sqlcode == -349
        assert refused(conn, "close database").sqlcode == -349
        cursor.execute("database testdb")
        # what was temporary is gone
        assert refused(conn, "select * from t").sqlcode == -206
        assert refused(conn, "create database other").sqlcode == -746


def test_transactions_after_database(listener):
    with informix_db.connect("127.0.0.1", listener, **WITHOUT) as conn:
        conn.cursor().execute("database testdb")
        conn.cursor().execute("create table switched (n integer)")
        conn.commit()
        conn.cursor().execute("insert into switched values (1)")
        conn.rollback()
        assert one(conn, "select count(*) from switched") == 0
        conn.cursor().execute("drop table switched")
        conn.commit()


def test_databases_of_a_folder(tmp_path):
    (tmp_path / "data").mkdir()
    with pgsqlite(tmp_path, "--data-dir", str(tmp_path / "data")) as port:
        with informix_db.connect(
            "127.0.0.1", port, **{**CREDENTIALS, "database": "sysmaster"}, autocommit=True
        ) as conn:
            names = "select name from sysdatabases order by name"
            before = [n for (n,) in conn.cursor().execute(names).fetchall()]
            assert "stores" not in before
            cursor = conn.cursor()
            cursor.execute("create database stores with log")
            cursor.execute("create table t (n integer)")
            cursor.execute("insert into t values (1)")
            assert refused(conn, "create database stores").sqlcode == -330
            cursor.execute("create database if not exists stores")
            assert one(conn, "select n from t") == 1
            assert "stores" in [n for (n,) in cursor.execute("select name from sysmaster:sysdatabases").fetchall()]
            assert refused(conn, "drop database stores").sqlcode == -425
            cursor.execute("database sysmaster")
            # programs make tables there, too
            cursor.execute("create table if not exists t (n integer)")
            cursor.execute("drop table t")
            assert refused(conn, "database nosuch").sqlcode == -329
            cursor.execute("drop database stores")
            assert refused(conn, "drop database stores").sqlcode == -329
            cursor.execute("drop database if exists stores")
            assert [n for (n,) in cursor.execute(names).fetchall()] == before


def test_sysmaster(conn):
    assert one(conn, "select 1 from sysmaster:sysdual") == 1
    assert one(conn, "select count(*) from sysmaster:sysdatabases where name = 'testdb'") == 1
    assert one(conn, "select name from sysmaster:informix.sysdbspaces").strip() == "rootdbs"
    session = one(conn, "select dbinfo('sessionid') from systables where tabid = 1")
    assert one(conn, "select username from sysmaster:syssessions where sid = ?", session) == CREDENTIALS["user"]
    assert one(conn, "select count(*) from sysmaster:sysdbslocale where dbs_dbsname = 'testdb'") == 1
    assert refused(conn, "select * from sysmaster:nosuch").sqlcode < 0


def test_blanks_behind_what_the_catalog_tells_do_not_count(conn):
    for table in ("systables", "testdb:informix.systables"):
        for condition in ("owner like 'informix'", "owner matches 'inf*x'", "owner = 'informix'"):
            assert one(conn, f"select count(*) from {table} where tabid = 1 and {condition}") == 1, condition
    assert one(conn, "select count(*) from sysmaster:sysdatabases where name = 'testdb' and owner like 'inf%x'") == 1
    assert one(conn, "select owner || '|' from systables where tabid = 1") == "informix" + " " * 24 + "|"


def test_synonyms(conn):
    cursor = conn.cursor()
    cursor.execute("create table meant (n integer)")
    cursor.execute("create public synonym other for meant")
    cursor.execute("create synonym third for other")
    cursor.execute("insert into other values (1)")
    cursor.execute("update third set n = 2")
    assert one(conn, "select other.n from other") == 2
    assert refused(conn, "drop table other").sqlcode == -206
    assert refused(conn, "create table other (n integer)").sqlcode == -310
    assert refused(conn, "create synonym meant for other").sqlcode == -310
    assert refused(conn, "create synonym fourth for nosuch").sqlcode == -206
    cursor.execute("create synonym if not exists other for meant")
    listed = (
        "select t.tabname from syssynonyms s, syssyntable y, systables t"
        " where s.synname = ? and s.tabid = y.tabid and y.btabid = t.tabid"
    )
    assert one(conn, listed, "other") == "meant"
    assert one(conn, "select tabtype from systables where tabname = 'third'") == "S"
    cursor.execute("drop synonym other")
    assert refused(conn, "select * from other").sqlcode == -206
    assert refused(conn, "drop synonym other").sqlcode == -206
    # what it means has gone
    cursor.execute("drop table meant")
    assert refused(conn, "select * from third").sqlcode == -206
    cursor.execute("drop synonym third")


def test_row_numbers(conn):
    cursor = conn.cursor()
    cursor.execute("create table numbered (n integer)")
    cursor.execute("insert into numbered values (1)")
    cursor.execute("insert into numbered values (2)")
    cursor.execute("select rowid, numbered.rowid, n from numbered order by n")
    assert cursor.description[0][0] == "rowid"
    (first, again, _), (second, _, _) = cursor.fetchall()
    assert first == again != second
    cursor.execute("update numbered set n = 7 where rowid = ?", (second,))
    assert [n for (n,) in cursor.execute("select n from numbered order by n").fetchall()] == [1, 7]
    cursor.execute("drop table numbered")
    cursor.execute("create table named (rowid integer)")
    cursor.execute("insert into named values (99)")
    assert one(conn, "select rowid from named") == 99
    cursor.execute("drop table named")


def test_a_number_of_rows_is_a_decimal(conn):
    found = one(conn, "select count(*) from systables")
    assert isinstance(found, Decimal)
    assert found > 50
    cursor = conn.cursor().execute("select first 5 tabid from systables order by 1")
    assert cursor.fetchall() == [(1,), (2,), (3,), (4,), (5,)]


def test_a_bound_fraction_is_cut_also_in_a_column_of_its_own_digits(conn):
    cursor = conn.cursor()
    cursor.execute("create temp table fractions (t datetime year to fraction(5))")
    cursor.execute("insert into fractions values (?)", (dt.datetime(2026, 12, 31, 23, 59, 59, 999999),))
    assert one(conn, "select t from fractions") == dt.datetime(2026, 12, 31, 23, 59, 59, 999990)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("position('m' in 'xm')", 2),
        ("repeat('ab', 2)", "abab"),
        ("overlay('abc' placing 'x' from 2 for 1)", "axc"),
        ("substring_index('a.b.c', '.', 2)", "a.b"),
        ("substring_index('a.b.c', '.', -2)", "b.c"),
        ("substring_index('a.b', '.', -5)", "a.b"),
        ("substring_index('a.b', '.', 0)", ""),
        ("instr('abcb', 'b', 1, 2)", 4),
        ("instr('abcb', 'b', -1)", 4),
        ("instr('abcb', 'b', -2)", 2),
        ("instr('abcb', 'b', -1, 2)", 2),
        ("instr('abc', 'z', 1, 1)", 0),
        ("instr('abcb', 'b', 3)", 4),
        ("trunc(mdy(5, 17, 2026), 'MONTH')", dt.date(2026, 5, 1)),
        ("trunc(datetime(2026-05-17 10:20:30) year to second, 'HH')", dt.datetime(2026, 5, 17, 10)),
        ("cardinality(set{1, 2, 2})", 2),
        ("case when 2 in set{1, 2} then 'in' end", "in"),
        ("current_date - today", 0),
        ("isnull(null, 3)", 3),
        ("regexp_like('abc', '^a')", True),
        ("ratio_to_report(4) over ()", 1),
    ],
)
def test_further_functions(conn, expression, expected):
    assert one(conn, f"select {expression} from systables where tabid = 1") == expected


def test_a_column_comes_before_a_word_that_is_not_informix(conn):
    cursor = conn.cursor()
    cursor.execute("create temp table words (current_date integer)")
    cursor.execute("insert into words values (4)")
    assert one(conn, "select current_date from words") == 4


def test_what_systables_lists_can_be_read(conn):
    names = conn.cursor().execute("select tabname from systables where tabid < 90").fetchall()
    broken = []
    for (name,) in names:
        try:
            conn.cursor().execute(f"select * from informix.{name.strip()}").fetchall()
        except informix_db.Error as error:
            broken.append((name, str(error)))
    assert not broken
    cursor = conn.cursor()
    cursor.execute("create table granted (n integer, m integer)")
    cursor.execute("grant select, insert on granted to public")
    auth = (
        "select tabauth from systabauth a, systables t where a.tabid = t.tabid and tabname = 'granted' and grantee = ?"
    )
    assert one(conn, auth, "public") == "s--i-----"
    cursor.execute("drop table granted")


def test_locks_of_open_transactions_are_not_waited_for(listener, conn):
    """NOT WAIT is Informix's default: what an open transaction has locked is -244/-107 at once."""
    conn.cursor().execute("create table locked (n integer)")
    conn.cursor().execute("insert into locked values (0)")
    conn.commit()
    with (
        informix_db.connect("127.0.0.1", listener, **CREDENTIALS) as holder,
        informix_db.connect("127.0.0.1", listener, **CREDENTIALS, autocommit=True) as fresh,
    ):
        holder.cursor().execute("update locked set n = 1 where n = 0")
        for connection, sql in ((fresh, None), (conn, "set lock mode to wait 1"), (conn, "set lock mode to not wait")):
            if sql:
                connection.cursor().execute(sql)
            began = time.monotonic()
            error = refused(connection, "update locked set n = 2 where n = 0")
            waited = time.monotonic() - began
            assert (error.sqlcode, error.isamcode) == (-244, -154 if sql and sql.endswith("1") else -107)
            assert isinstance(error, OperationalError)
            assert waited >= 1 if sql and sql.endswith("1") else waited < 1
        # another row is nobody's
        fresh.cursor().execute("insert into locked values (4)")
        # one that waits gets its turn
        fresh.cursor().execute("set lock mode to wait")
        later = threading.Timer(0.3, holder.rollback)
        later.start()
        fresh.cursor().execute("update locked set n = 3 where n = 0")
        later.join()
    conn.cursor().execute("insert into locked values (2)")
    assert one(conn, "select count(*) from locked") == 3
    conn.cursor().execute("drop table locked")


def test_statements_that_are_at_work_are_waited_for(listener, conn):
    """Programs that write by autocommit do not disturb each other, though the file has one writer at a time."""
    conn.cursor().execute("create table shared (n integer)")
    failed = []

    def write(first):
        try:
            with informix_db.connect("127.0.0.1", listener, **CREDENTIALS, autocommit=True) as connection:
                for n in range(first, first + 40):
                    connection.cursor().execute("insert into shared values (?)", (n,))
        except informix_db.Error as error:
            failed.append(error)

    writers = [threading.Thread(target=write, args=(i * 100,)) for i in range(5)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert not failed
    assert one(conn, "select count(*) from shared") == 200
    conn.cursor().execute("drop table shared")


def test_a_column_is_added_before_another(listener, conn):
    cursor = conn.cursor()
    cursor.execute("drop table if exists placed")
    cursor.execute("create table placed (a integer primary key, d varchar(9) not null, e integer default 5)")
    cursor.execute("create index placed_d on placed (d)")
    cursor.execute("create table child (p integer references placed (a))")
    cursor.execute("insert into placed values (1, 'one', 10)")
    cursor.execute("insert into child values (1)")
    cursor.execute("alter table placed add (b integer before d, c char(2) before d), add z integer")
    names = [d[0] for d in cursor.execute("select * from placed").description]
    assert names == ["a", "b", "c", "d", "e", "z"]
    assert cursor.fetchall() == [(1, None, None, "one", 10, None)]
    cursor.execute("insert into placed values (2, 20, 'cc', 'two', 22, 23)")
    cursor.execute("insert into placed values (?, ?, ?, ?, ?, ?)", (3, 30, "c3", "three", 33, 34))
    assert cursor.execute("select d, b, c, z from placed where a > 1 order by a").fetchall() == [
        ("two", 20, "cc", 23),
        ("three", 30, "c3", 34),
    ]
    assert cursor.execute("select p.*, 1 one from placed p where a = 2").fetchall() == [(2, 20, "cc", "two", 22, 23, 1)]
    assert cursor.execute("select * from child, placed where p = a").fetchall() == [(1, 1, None, None, "one", 10, None)]
    catalog = (
        "select colname, colno from syscolumns c, systables t where c.tabid = t.tabid and tabname = 'placed' order by 2"
    )
    assert cursor.execute(catalog).fetchall() == [(name, i + 1) for i, name in enumerate(names)]
    index = "select part1 from sysindexes where idxname = 'placed_d'"
    assert one(conn, index) == 4
    # what hangs on the table is still there
    assert refused(conn, "insert into placed values (3, 1, 'c', 'd', 1, 1)").sqlcode == -268
    assert refused(conn, "delete from placed where a = 1").sqlcode == -692
    cursor.execute("create view seen as select * from placed")
    assert [d[0] for d in cursor.execute("select * from seen").description] == names
    cursor.execute("select * from placed into temp copied")
    assert [d[0] for d in cursor.execute("select * from copied").description] == names
    cursor.execute("drop view seen")
    cursor.execute("rename column placed.b to bb")
    cursor.execute("rename table placed to moved")
    cursor.execute("alter table moved drop (c), add (first integer before a)")
    assert [d[0] for d in cursor.execute("select * from moved").description] == ["first", "a", "bb", "d", "e", "z"]
    assert refused(conn, "alter table moved add (x integer before nosuch)").sqlcode == -217
    cursor.execute("drop table child")
    cursor.execute("drop table moved")
    assert one(conn, "select count(*) from sysprocedures where procname matches '*order*'") == 0
    cursor.execute("create table moved (n integer)")
    assert [d[0] for d in cursor.execute("select * from moved").description] == ["n"]
    cursor.execute("drop table moved")
    cursor.execute("create temp table passing (a integer, c integer)")
    cursor.execute("alter table passing add b integer before c")
    cursor.execute("insert into passing values (1, 2, 3)")
    assert cursor.execute("select *, c from passing").fetchall() == [(1, 2, 3, 3)]


def test_rows_of_cursors_are_changed(listener, conn):
    conn.cursor().execute("create table standing (n integer primary key, v varchar(20))")
    with informix_db.connect("127.0.0.1", listener, **CREDENTIALS) as own:
        own.cursor().executemany("insert into standing values (?, ?)", [(i, f"v{i}") for i in range(1, 6)])
        own.commit()
        reader = own.cursor()
        reader.execute("select n, v from standing where n > 1 order by n for update")
        other = own.cursor()
        assert refused(own, "update standing set v = 'x' where current of nosuch").sqlcode == -507
        while (row := reader.fetchone()) is not None:
            if row[0] == 3:
                other.execute(f"update standing set v = v || ? where current of {reader.name}", ("!",))
                assert other.rowcount == 1
            if row[0] == 4:
                other.execute(f"delete from standing where current of {reader.name}")
                assert other.rowcount == 1
        assert reader.name is None
        assert other.execute("select * from standing order by n").fetchall() == [
            (1, "v1"), (2, "v2"), (3, "v3!"), (5, "v5"),
        ]  # fmt: skip
        # a cursor that reads only changes nothing
        reader.execute("select n from standing")
        assert refused(own, f"delete from standing where current of {reader.name}").sqlcode == -507
        own.rollback()
    conn.cursor().execute("drop table standing")


def test_scroll_cursors_are_for_reading(conn):
    with pytest.raises(informix_db.Error) as raised:
        conn.cursor(scrollable=True).execute("select tabid from systables for update")
    assert raised.value.sqlcode == -526


@pytest.mark.parametrize(
    "sql",
    [
        "set explain on",
        "set explain file to '/tmp/x'",
        "set pdqpriority 10",
        "set optimization first_rows",
        "set environment optcompind '0'",
        "set no collation",
        "set statement cache on",
        "set isolation to committed read retain update locks",
        "set constraints all immediate",
        "update statistics",
        "update statistics for procedure",
        "update statistics medium for table plain (n)",
        "unlock table plain",
        "create table plain2 (n integer) with rowids fragment by round robin in a, b extent size 10 lock mode row",
    ],
)
def test_harmless_statements(conn, sql):
    conn.cursor().execute("create table if not exists plain (n integer)")
    conn.cursor().execute(sql)
    conn.cursor().execute("drop table plain")
    conn.cursor().execute("drop table if exists plain2")


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("set collation 'de_DE.8859-1'", -746),
        ("set environment nosuch '1'", -746),
        ("set constraints all disabled", -746),
        ("create database x with log mode ansi", -746),
        ("lock table systables2 in share mode", -206),
        ("select sum(v) from (select tabname as v from systables) as x", -674),
    ],
)
def test_what_is_refused(conn, sql, code):
    assert refused(conn, sql).sqlcode == code


def test_error_numbers(conn):
    cursor = conn.cursor()
    cursor.execute("create table numbers (n integer, m integer)")
    cursor.execute("create index numbers_i on numbers (n)")
    assert refused(conn, "create index numbers_i on numbers (m)").sqlcode == -316
    assert refused(conn, "create table numbers (n integer)").sqlcode == -310
    error = refused(conn, "select n, m from numbers group by n")
    assert (error.sqlcode, error.object_name) == (-294, "m")
    assert refused(conn, "lock table numbers in exclusive mode").sqlcode == -255
    cursor.execute("drop table numbers")


def test_merge_windows_and_nulls(conn):
    cursor = conn.cursor()
    cursor.execute("create temp table target (n integer, v varchar(10), at datetime year to minute)")
    cursor.execute("create temp table source (n integer, v varchar(10), at datetime year to second)")
    cursor.executemany("insert into target (n, v) values (?, ?)", [(1, "a"), (2, "b")])
    moment = dt.datetime(2026, 12, 31, 23, 59, 59)
    cursor.executemany("insert into source values (?, ?, ?)", [(2, "B", moment), (3, "C", moment), (4, None, moment)])
    cursor.execute(
        "merge into target t using source s on t.n = s.n when matched then update set v = s.v, at = s.at"
        " when not matched then insert (n, v, at) values (s.n, s.v, s.at)"
    )
    assert cursor.rowcount == 3
    cut = moment.replace(second=0)
    rows = [(1, "a", None), (2, "B", cut), (3, "C", cut), (4, None, cut)]
    assert cursor.execute("select * from target order by n").fetchall() == rows
    for order, expected in (
        ("v", [4, 2, 3, 1]),
        ("v desc", [1, 3, 2, 4]),
        ("v nulls last", [2, 3, 1, 4]),
        ("v desc nulls first", [4, 1, 3, 2]),
    ):
        assert [n for (n,) in cursor.execute(f"select n from target order by {order}").fetchall()] == expected
    windows = (
        "select n, row_number() over (order by n desc),"
        " sum(n) over (order by n rows between 1 preceding and current row),"
        " lag(n, 1) over (order by n), rank() over (partition by case when n > 2 then 1 else 0 end order by n),"
        " count(*) over () from target order by n"
    )
    assert cursor.execute(windows).fetchall() == [
        (1, 4, 1, None, 1, 4),
        (2, 3, 3, 1, 2, 4),
        (3, 2, 5, 2, 1, 4),
        (4, 1, 7, 3, 2, 4),
    ]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("add_months(mdy(1, 31, 2026), 1)", dt.date(2026, 2, 28)),
        ("add_months(mdy(2, 28, 2026), 1)", dt.date(2026, 3, 31)),
        ("add_months(mdy(5, 15, 2026), -3)", dt.date(2026, 2, 15)),
        ("last_day(mdy(2, 3, 2028))", dt.date(2028, 2, 29)),
        ("next_day(mdy(11, 22, 2026), 'MON')", dt.date(2026, 11, 23)),
        ("next_day(mdy(11, 22, 2026), 'SUN')", dt.date(2026, 11, 29)),
        ("months_between(mdy(3, 31, 2026), mdy(2, 28, 2026))", 1),
        ("months_between(mdy(3, 15, 2026), mdy(1, 15, 2026))", 2),
        ("quarter(mdy(5, 1, 2026))", 2),
        ("to_date('31.12.2026 23:59', '%d.%m.%Y %H:%M')", dt.datetime(2026, 12, 31, 23, 59)),
        ("to_number(' 12.50 ')", Decimal("12.50")),
        ("to_char(12.5)", "12.5"),
        ("to_char(mdy(12, 31, 2026), '%d.%m.%Y')", "31.12.2026"),
        ("to_char(datetime (2026-12-31 10:20:30.12345) year to fraction(5), '%H:%M:%S.%F3')", "10:20:30.123"),
        ("hex(255)", "0x000000FF"),
        ("date(46386)", dt.date(2026, 12, 31)),
        ("left('abcdef', 3)", "abc"),
        ("right('abcdef', 2)", "ef"),
        ("'[' || space(3) || ']'", "[   ]"),
        ("charindex('c', 'abcabc')", 3),
        ("charindex('c', 'abcabc', 4)", 6),
        ("charindex('x', 'abc', 2)", 0),
        ("instr('abcabc', 'b', 3)", 5),
        ("len('abc  ')", 5),
        ("substr('abcdef', -3)", "def"),
        ("substr('abcdef', -3, 2)", "de"),
        ("substr('abcdef', 0, 2)", "ab"),
        ("substr('abcdef', 1, (3-1))", "ab"),
        ("substr('abcdef', (1+1), 2)", "bc"),
        ("substr('abc', -9)", None),
        ("root(9)", 3.0),
        ("root(27, 3)", 3.0),
        ("bitand(12, 10)", 8),
        ("bitor(12, 10)", 14),
        ("bitxor(12, 10)", 6),
        ("bitnot(0)", -1),
        ("bitandnot(12, 10)", 4),
        ("dbinfo('dbspace', 1)", "rootdbs"),
        ("dbinfo('utc_to_datetime', 0) is not null", None),
        ("dbinfo('utc_current')", None),
    ],
)
def test_functions(conn, expression, value):
    if expression.endswith("is not null"):
        assert one(conn, f"select count(*) from sysmaster:sysdual where {expression}") == 1
        return
    got = one(conn, f"select {expression} from sysmaster:sysdual")
    if expression == "dbinfo('utc_current')":
        assert abs(got - time.time()) < 3600
        return
    if isinstance(value, float):
        assert float(got) == pytest.approx(value)
    else:
        assert (got.rstrip() if isinstance(got, str) and expression[:3] != "'['" else got) == value


def test_aggregates(conn):
    cursor = conn.cursor()
    cursor.execute("create temp table spread (n integer)")
    cursor.executemany("insert into spread values (?)", [(1,), (2,), (6,)])
    assert float(one(conn, "select variance(n) from spread")) == pytest.approx(7)
    assert float(one(conn, "select stdev(n) from spread")) == pytest.approx(7**0.5)
    assert one(conn, "select range(n) from spread") == 5
    assert float(one(conn, "select variance(n) from spread where n = 1")) == 0


@pytest.mark.parametrize(
    ("env", "literal", "text"),
    [
        ({"DBDATE": "MDY4/"}, "12/31/2026", "12/31/2026"),
        ({"DBDATE": "DMY4."}, "31.12.2026", "31.12.2026"),
        ({"DBDATE": "DMY2-"}, "31-12-26", "31-12-26"),
        ({"DBDATE": "Y4MD-"}, "2026-12-31", "2026-12-31"),
        ({"GL_DATE": "%d.%m.%Y", "DBDATE": "MDY4/"}, "31.12.2026", "31.12.2026"),
    ],
)
def test_dates_in_the_client_s_form(listener, env, literal, text):
    day = dt.date(2026, 12, 31)
    with informix_db.connect("127.0.0.1", listener, **CREDENTIALS, autocommit=True, env=env) as conn:
        cursor = conn.cursor()
        cursor.execute("create temp table days (d date, c char(10))")
        cursor.execute(f"insert into days values ('{literal}', null)")
        cursor.execute("insert into days values (?, ?)", (literal, day))
        assert cursor.execute("select d from days").fetchall() == [(day,), (day,)]
        assert one(conn, "select c from days where c is not null").strip() == text
        assert one(conn, f"select first 1 d || '' from days where d = '{literal}'") == text
        assert refused(conn, "insert into days values ('13/13/2026', null)").sqlcode < 0


def test_unknown_forms_of_dates_are_refused(listener):
    with pytest.raises(informix_db.Error):
        informix_db.connect("127.0.0.1", listener, **CREDENTIALS, env={"DBDATE": "YDM4-"})


def test_a_column_becomes_a_serial_and_back(conn):
    cursor = conn.cursor()
    cursor.execute("drop table if exists keys")
    cursor.execute("create table keys (id integer primary key, v varchar(9))")
    cursor.execute("insert into keys values (7, 'seven')")
    cursor.execute("alter table keys modify (id serial)")
    cursor.execute("insert into keys (v) values ('next')")
    assert cursor.lastrowid == 8
    cursor.execute("alter table keys modify (id bigserial not null)")
    cursor.execute("insert into keys values (0, 'next')")
    assert cursor.lastrowid == 9
    cursor.execute("alter table keys modify (id bigserial(100))")
    cursor.execute("insert into keys (v) values ('far')")
    assert one(conn, "select max(id) from keys") == 100
    coltype = "select coltype from syscolumns c, systables t where c.tabid = t.tabid and tabname = 'keys' and colno = 1"
    assert one(conn, coltype) & 255 == 53
    cursor.execute("alter table keys modify (id integer not null)")
    assert one(conn, coltype) & 255 == 2
    assert refused(conn, "insert into keys (v) values ('none')").sqlcode == -391
    cursor.execute("insert into keys values (0, 'zero')")
    assert one(conn, "select min(id) from keys") == 0
    cursor.execute("drop table keys")


XA_ROLLBACK, XA_COMMIT, XA_END, XA_PREPARE, XA_RECOVER, XA_START = 65, 67, 68, 70, 71, 72


def xid(name):
    return pack(">3i128s", 7, len(name), 0, name)


def xa(conn, code, about, flags=0):
    """The code that an XA message is answered with, and the XIDs behind it."""
    sock = conn._transport._sock
    sock.sendall(pack(">h", code) + about + pack(">2ih", 1, flags, 12))
    answer = sock.recv(1 << 16)
    message, status = unpack(">2h", answer[:4])
    assert (message, answer[-2:]) == (73, pack(">h", 12)), answer
    return status, [answer[at : at + 140] for at in range(4, len(answer) - 2, 140)]


def test_prepared_branches_are_there_after_a_restart(tmp_path):
    def go(conn, name):
        assert xa(conn, XA_START, xid(name)) == (0, [])
        conn.cursor().execute("insert into t values (?)", [name.decode()])
        assert xa(conn, XA_END, xid(name), 0x0400_0000) == (0, [])

    file = ("--database", str(tmp_path / "xa.db"))
    scan = 0x0180_0000
    with (
        pgsqlite(tmp_path, *file) as port,
        informix_db.connect("127.0.0.1", port, **CREDENTIALS, autocommit=True) as conn,
    ):
        conn.cursor().execute("create table t (name varchar(9))")
        for name in (b"kept", b"undone", b"lost"):
            go(conn, name)
            if name != b"lost":
                assert xa(conn, XA_PREPARE, xid(name)) == (0, [])
        assert refused(conn, "select 1 from t").sqlcode == -746
    with (
        pgsqlite(tmp_path, *file) as port,
        informix_db.connect("127.0.0.1", port, **CREDENTIALS, autocommit=True) as conn,
    ):
        assert one(conn, "select count(*) from t") == 0
        # one after the other for a client that has no place for more
        assert xa(conn, XA_RECOVER, pack(">i", 1), 0x0100_0000) == (1, [xid(b"kept")])
        assert xa(conn, XA_RECOVER, pack(">i", 1)) == (1, [xid(b"undone")])
        assert xa(conn, XA_RECOVER, pack(">i", 1)) == (0, [])
        assert xa(conn, XA_RECOVER, pack(">i", 1), scan) == (2, [xid(b"kept"), xid(b"undone")])
        assert xa(conn, XA_COMMIT, xid(b"kept")) == (0, [])
        assert xa(conn, XA_ROLLBACK, xid(b"undone")) == (0, [])
        assert xa(conn, XA_COMMIT, xid(b"lost")) == (-4, [])
        assert xa(conn, XA_RECOVER, pack(">i", 1), scan) == (0, [])
        assert [name for (name,) in conn.cursor().execute("select name from t").fetchall()] == ["kept"]


def test_a_branch_is_no_transaction_of_its_session(conn):
    conn.cursor().execute("create temp table scratch (a integer)")
    conn.cursor().execute("begin work")
    assert xa(conn, XA_START, xid(b"a")) == (-9, [])
    conn.cursor().execute("rollback work")
    for flags, status in ((0x0020_0000, -4), (0x0800_0000, -4), (1, -5)):
        assert xa(conn, XA_START, xid(b"a"), flags) == (status, [])
    assert xa(conn, XA_START, pack(">3i128s", -1, 1, 0, b"a")) == (-5, [])
    assert xa(conn, XA_START, pack(">3i128s", 1, 0, 1, b"a")) == (-5, [])
    assert xa(conn, XA_START, xid(b"a")) == (0, [])
    conn.cursor().execute("insert into scratch values (1)")
    # its pending work is not lost with the database
    for sql in ("database testdb", "close database"):
        assert refused(conn, sql).sqlcode == -377
    assert xa(conn, XA_END, xid(b"a"), 0x0400_0000) == (0, [])
    assert xa(conn, XA_END, xid(b"b"), 0x0400_0000) == (-4, [])
    # a temporary table cannot be prepared
    assert xa(conn, XA_PREPARE, xid(b"a")) == (-3, [])
    assert one(conn, "select count(*) from scratch") == 0


def test_not_null_is_a_constraint_without_an_index(conn):
    cursor = conn.cursor()
    cursor.execute(
        "create table filled (a integer not null constraint a_there, b integer not null, c serial not null, d integer)"
    )
    constraints = (
        "select constrname, constrtype, idxname, colno from sysconstraints c, syscoldepend d, systables t "
        "where c.tabid = t.tabid and tabname = 'filled' and d.constrid = c.constrid order by colno"
    )
    of_table = "from sysindexes i, systables t where i.tabid = t.tabid and tabname = 'filled'"
    assert cursor.execute(constraints).fetchall() == [
        ("a_there", "N", None, 1),
        ("filled_b_not_null", "N", None, 2),
        ("filled_c_not_null", "N", None, 3),
    ]
    assert one(conn, f"select count(*) {of_table}") == 0
    cursor.execute("alter table filled drop constraint a_there")
    cursor.execute("insert into filled (a, b) values (null, 1)")
    assert refused(conn, "alter table filled modify (a integer not null constraint a_again)").sqlcode != 0
    cursor.execute("update filled set a = 1")
    cursor.execute("alter table filled modify (a integer not null constraint a_again, b integer, d integer)")
    cursor.execute("alter table filled modify (a integer not null constraint a_more)")
    assert [row[0] for row in cursor.execute(constraints).fetchall()] == ["a_more", "filled_c_not_null"]
    assert refused(conn, "insert into filled (a, b) values (null, 1)").sqlcode == -391
    assert refused(conn, "alter table filled modify (d integer constraint d_there)").sqlcode != 0
    cursor.execute("insert into filled (a, b) values (2, null)")
    cursor.execute("drop table filled")
