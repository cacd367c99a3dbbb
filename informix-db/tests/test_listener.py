"""The driver against pgsqlite's SQLI listener: what test_live.py leaves out."""

import asyncio
import contextlib
import datetime as dt
import socket
import subprocess
import time
from decimal import Decimal
from pathlib import Path

import pytest

import informix_db
from conftest import CREDENTIALS, TLS, binary, pgsqlite
from informix_db import OperationalError, aio
from informix_db._core.messages.login import login_packet
from informix_db.lob import Upload
from peer.wire import read_to_end


@pytest.fixture
def address(listener):
    return {"host": "127.0.0.1", "port": listener, **CREDENTIALS}


@pytest.fixture
def conn(address):
    with informix_db.connect(**address, autocommit=True) as connection:
        yield connection


def one(conn, sql, *parameters):
    return conn.cursor().execute(sql, parameters).fetchone()


VALUES = [
    ("smallint", [-32767, 32767]),
    ("integer", [-(2**31) + 1, 2**31 - 1]),
    ("bigint", [-(2**63) + 1, 2**63 - 1]),
    ("int8", [-123456789012, 42]),
    ("float", [1.5, -2.5e-300, 1e300]),
    ("smallfloat", [-2.25, 0.0]),
    ("decimal(10,2)", [Decimal("-1234.56"), Decimal("0.00"), Decimal("99999999.99")]),
    ("decimal(3,3)", [Decimal("-0.001")]),
    ("decimal(16)", [Decimal("0.001"), Decimal("1E+100"), Decimal("-1E-100")]),
    ("decimal(32,0)", [Decimal("12345678901234567890123456789012")]),
    ("money(12,2)", [Decimal("99.95")]),
    ("char(6)", ["abc", "abcdef"]),
    ("nchar(5)", ["nch"]),
    ("varchar(255)", ["", "vc", "ä" * 255]),
    ("nvarchar(20)", ["nv"]),
    ("lvarchar", ["", "lvar", "x" * 2048]),
    ("boolean", [True, False]),
    ("date", [dt.date(1, 1, 1), dt.date(1899, 12, 30), dt.date(9999, 12, 31)]),
    ("datetime year to second", [dt.datetime(1, 1, 1), dt.datetime(2026, 6, 20, 12, 34, 56)]),
    ("datetime year to fraction(1)", [dt.datetime(2026, 1, 2, 3, 4, 5, 900000)]),
    ("datetime year to fraction(5)", [dt.datetime(1, 1, 1, 0, 0, 0, 10)]),
    ("datetime year to fraction(5)", [dt.datetime(9999, 12, 31, 23, 59, 59, 999990)]),
    ("datetime hour to second", [dt.time(0, 4, 5), dt.time(23, 59, 59)]),
    ("datetime hour to minute", [dt.time(0, 4)]),
    ("interval day(9) to fraction(5)", [dt.timedelta(999999999), dt.timedelta(0, 0, -10)]),
    ("interval day(9) to fraction(5)", [dt.timedelta(3, 14706)]),
    ("interval minute to second", [dt.timedelta(minutes=5, seconds=6)]),
    ("interval year(4) to month", [informix_db.IntervalYM(30), informix_db.IntervalYM(-1)]),
    ("byte", [b"", b"\0\1\xff" * 5000]),
    ("text", ["", "a text\n" * 3000]),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "values"), VALUES, ids=[t for t, _ in VALUES])
def test_values_come_back(conn, type_, values):
    cur = conn.cursor()
    cur.execute(f"create temp table v (n integer, x {type_}, behind integer)")
    rows = [(i, x, i * 7) for i, x in enumerate([*values, None])]
    for row in rows:
        cur.execute("insert into v values (?, ?, ?)", row)
    got = cur.execute("select * from v order by n").fetchall()
    trimmed = [(n, x.rstrip() if type_.startswith(("char", "nchar")) and x else x, b) for n, x, b in got]
    assert trimmed == rows
    if not type_.startswith(("byte", "text")):
        for n, x, _ in rows[:-1]:
            assert cur.execute("select n from v where x = ?", (x,)).fetchall() == [(n,)]


def test_large_objects(conn, tmp_path):
    cur = conn.cursor()
    cur.execute("create table photo (id serial, data blob, story clob)")
    content = bytes(range(256)) * 700 + b"odd"
    try:
        cur.write_blob_column("insert into photo (data) values (BLOB_PLACEHOLDER)", content)
        (tmp_path / "file").write_bytes(content * 3)
        with open(tmp_path / "file", "rb") as file:
            cur.write_blob_column("update photo set data = BLOB_PLACEHOLDER where id = ?", file, (1,))
        cur.write_blob_column(
            "insert into photo values (?, null, BLOB_PLACEHOLDER)", "ä story\n".encode("latin-1") * 9, (0,), clob=True
        )
        cur.write_blob_column("insert into photo (data) values (BLOB_PLACEHOLDER)", b"")
        assert cur.lastrowid == 3
        with open(tmp_path / "copy", "wb") as file:
            cur.read_blob_column("select data from photo where id = ?", (1,), into=file)
        assert (tmp_path / "copy").read_bytes() == content * 3
        assert cur.read_blob_column("select story from photo where id = ?", (2,)) == "ä story\n".encode("latin-1") * 9
        assert cur.read_blob_column("select data from photo where id = ?", (3,)) == b""
        assert cur.read_blob_column("select data from photo where id = ?", (2,)) is None
        assert cur.read_blob_column("select data from photo where id = ?", (9,)) is None
        rows = cur.execute("select id, data, story from photo order by id").fetchall()
        kinds = [tuple(None if x is None else type(x).__name__ for x in row[1:]) for row in rows]
        assert kinds == [("BlobLocator", None), (None, "ClobLocator"), ("BlobLocator", None)]
        assert len({row[1].raw if row[1] else None for row in rows}) == 3
        assert [d[0] for d in cur.description] == ["id", "data", "story"]
        equal = "select count(*) from photo where data = filetoblob('/tmp/x!', 'client')"
        assert conn._session.files is None
        conn._session.files = Upload(content * 3)
        try:
            assert one(conn, equal) == (1,)
        finally:
            conn._session.files = None
        # the connection is in step after all of that, and after what is refused
        for sql in (
            "select lotofile(data, '/tmp/x', 'server') from photo",
            "select id from photo where lotofile(data, '/tmp/x', 'client') = 'x'",
            "insert into photo (data) values (filetoblob('/etc/passwd', 'server'))",
        ):
            with pytest.raises(informix_db.Error, match="is not supported"):
                cur.execute(sql)
        with pytest.raises(informix_db.Error) as raised:
            cur.execute("insert into photo (data) values (?)", ("text",))
        assert raised.value.sqlcode == -9634
        assert one(conn, "select count(*) from photo") == (3,)
    finally:
        cur.execute("drop table photo")


def test_values_beyond_64_mib_are_refused_and_cost_no_connection(conn):
    cur = conn.cursor()
    cur.execute("create temp table large (id integer, content byte, photo blob)")
    content = bytes(64 << 20)
    with pytest.raises(informix_db.Error, match="more than 64 MiB is not supported") as raised:
        cur.execute("insert into large (id, content) values (1, ?)", (content + b"!",))
    assert raised.value.sqlcode == -746
    with pytest.raises(informix_db.Error, match="more than 64 MiB is not supported"):
        cur.write_blob_column("insert into large (id, photo) values (2, BLOB_PLACEHOLDER)", content + b"!")
    assert not conn.closed
    cur.execute("insert into large (id, content) values (3, ?)", (b"small",))
    rows = cur.execute("select id, content, photo from large").fetchall()
    assert [tuple(row) for row in rows] == [(3, b"small", None)]


def test_locators_are_followed(conn, address, tmp_path):
    cur = conn.cursor()
    cur.execute("create temp table photo (id integer, data blob, story clob)")
    content = bytes(range(256)) * 2000
    cur.write_blob_column("insert into photo values (1, BLOB_PLACEHOLDER, null)", content)
    cur.write_blob_column("insert into photo values (2, null, BLOB_PLACEHOLDER)", b"a story", clob=True)
    cur.write_blob_column("insert into photo values (3, BLOB_PLACEHOLDER, null)", b"")
    (_, blob, _), (_, _, clob), (_, empty, _) = cur.execute("select * from photo order by id").fetchall()
    assert conn.read_large_object(blob) == content
    with open(tmp_path / "copy", "wb") as file:
        assert conn.read_large_object(blob, into=file, piece=1000) == len(content)
    assert (tmp_path / "copy").read_bytes() == content
    assert (conn.read_large_object(clob), conn.read_large_object(empty)) == (b"a story", b"")
    # a locator is a value as any other
    cur.execute("insert into photo values (4, ?, ?)", (blob, clob))
    _, blob, clob = cur.execute("select * from photo where id = 4").fetchone()
    assert (conn.read_large_object(blob), conn.read_large_object(clob)) == (content, b"a story")
    with pytest.raises(informix_db.Error, match="not known to this session"):
        conn.read_large_object(informix_db.BlobLocator(bytes(72)))

    class Full:
        def write(self, data):
            raise OSError("no space left")

    # what goes wrong at the reader's end is his: the object is closed, the connection goes on
    with pytest.raises(OSError, match="no space"):
        conn.read_large_object(blob, into=Full())
    assert one(conn, "select count(*) from photo") == (4,)

    async def asynchronous():
        async with await aio.connect(**address, autocommit=True) as other:
            cursor = await other.execute("select first 1 tabid from systables")
            await cursor.fetchall()
            await (await other.execute("create temp table photo (data blob)")).close()
            cursor = other.cursor()
            await cursor.write_blob_column("insert into photo values (BLOB_PLACEHOLDER)", content)
            (locator,) = await (await other.execute("select data from photo")).fetchone()
            return await other.read_large_object(locator)

    assert asyncio.run(asynchronous()) == content


def test_stored_large_objects_are_written(conn, address):
    cur = conn.cursor()
    cur.execute("create table letter (id integer primary key, data blob, story clob, n integer)")
    cur.write_blob_column("insert into letter values (1, BLOB_PLACEHOLDER, null, 5)", b"abcdef")
    cur.write_blob_column("update letter set story = BLOB_PLACEHOLDER where id = 1", b"a story", clob=True)

    def stored(connection=conn):
        data, story = connection.cursor().execute("select data, story from letter where id = 1").fetchone()
        return connection.read_large_object(data), connection.read_large_object(story)

    data, story = cur.execute("select data, story from letter where id = 1").fetchone()
    conn.write_large_object(data, b"XY", offset=2)
    assert stored() == (b"abXYef", b"a story")
    assert conn.read_large_object(data) == b"abXYef"
    # behind the end: zeros in between
    conn.write_large_object(data, b"!", offset=8)
    conn.write_large_object(story, "tältä".encode("latin-1"), offset=2, truncate=True)
    assert stored() == (b"abXYef\0\0!", b"a t\xe4lt\xe4")
    large = bytes(range(256)) * 400
    conn.write_large_object(data, large, truncate=True)
    assert stored()[0] == large
    conn.write_large_object(data, b"", truncate=True)
    assert stored()[0] == b""
    with pytest.raises(informix_db.ProgrammingError):
        conn.write_large_object(data, b"x", offset=-1)
    # a CLOB has no zeros, and another session's row is another row
    with pytest.raises(informix_db.Error):
        conn.write_large_object(story, b"x", offset=100)
    with informix_db.connect(**address) as other:
        (theirs,) = other.cursor().execute("select data from letter").fetchone()
        other.write_large_object(theirs, b"other")
        other.rollback()
        # what was undone must be fetched again
        with pytest.raises(informix_db.Error, match="not known to this session"):
            other.read_large_object(theirs)
        assert stored(other)[0] == b""
        (theirs,) = other.cursor().execute("select data from letter").fetchone()
        other.write_large_object(theirs, b"theirs")
        other.commit()
    with pytest.raises(informix_db.Error, match="has changed since it was read"):
        conn.write_large_object(data, b"mine")
    assert stored()[0] == b"theirs"
    # the row is told from others by its number and its values
    (data,) = cur.execute("select data from letter").fetchone()
    cur.execute("delete from letter")
    cur.write_blob_column("insert into letter values (2, BLOB_PLACEHOLDER, null, 5)", b"theirs")
    with pytest.raises(informix_db.Error, match="has changed since it was read"):
        conn.write_large_object(data, b"mine")
    # of these it is not known where they are stored
    for query in [
        "select distinct id, data from letter",
        "select a.id, a.data from letter a, letter b where a.id = b.id",
    ]:
        locator = cur.execute(query).fetchone()[1]
        with pytest.raises(informix_db.Error, match="changing a large object that a row holds"):
            conn.write_large_object(locator, b"x")
    # a join and a table with nothing else
    cur.execute("create table lone (b blob)")
    cur.write_blob_column("insert into lone values (BLOB_PLACEHOLDER)", b"lone")
    one_of, other_of = cur.execute("select lone.*, letter.data from lone, outer letter where letter.id = 2").fetchone()
    conn.write_large_object(one_of, b"L")
    conn.write_large_object(other_of, b"T")
    rows = cur.execute("select b, data from lone, letter").fetchone()
    assert [conn.read_large_object(b) for b in rows] == [b"Lone", b"Theirs"]
    # a view shows it only
    cur.execute("create view seen (d) as select data from letter")
    (locator,) = cur.execute("select d from seen").fetchone()
    with pytest.raises(informix_db.Error, match="changing a large object that a row holds"):
        conn.write_large_object(locator, b"x")
    cur.execute("drop table lone")
    cur.execute("drop table letter")


def test_large_objects_by_fast_path(conn):
    """The routines that need no value of an opaque type; IBM's driver calls the others (tests/clients)."""
    for signature, values in (
        ("function informix.ifx_lo_close(integer)", (1,)),
        ("function informix.ifx_lo_truncate(integer,int8)", (1, 2)),
        ("function informix.ifx_lo_seek(integer,int8,integer,int8)", (1, 0, 0, 0)),
    ):
        with pytest.raises(informix_db.Error, match="-9810"):
            conn.fast_path_call(signature, *values)
    with pytest.raises(informix_db.Error) as raised:
        conn.fast_path_call("function informix.nosuch(integer)", 1)
    assert raised.value.sqlcode == -674
    assert one(conn, "select count(*) from systables where tabid = 1") == (1,)


COLLECTIONS = "c (id serial, s set(integer not null), m multiset(varchar(10) not null), l list(varchar(20) not null), \
r row(a integer, b varchar(10)), n list(row(a integer, k set(date not null)) not null))"


def values_of(conn, sql, *parameters):
    rows = conn.cursor().execute(sql, parameters).fetchall()
    return [tuple(v.to_python() if hasattr(v, "to_python") else v for v in row) for row in rows]


def test_collections_and_rows(conn):
    cur = conn.cursor()
    cur.execute("create table " + COLLECTIONS)
    into = "insert into c (s, m, l, r, n) values "
    cur.execute(
        into + "(set{3,1,3}, multiset{'b','a','b'}, list{'x','it''s','x'}, row(1,'x'), "
        "list{row(1,set{'2026-01-02'}),row(null,null)})"
    )
    cur.execute(
        into + """("SET{3, 1, 3}", 'list{"b","a","b"}', "list{'x','it''s','x'}", "row(1,'x')", """
        """"list{row(1,set{'2026-01-02','2026-01-02'}), row(null, null)}")"""
    )
    day = dt.date(2026, 1, 2)
    cur.execute(
        into + "(?, ?, ?, ?, ?)", ({1, 3}, ["b", "a", "b"], ["x", "it's", "x"], (1, "x"), [(1, {day}), (None, None)])
    )
    cur.execute(into + "(?, ?, ?, ?, ?)", (set(), [], [], (None, None), None))
    cur.execute(into + "(null, null, null, null, null)")
    # each element once in a SET, and no order; all of them in the others
    rows = [(1, frozenset({"2026-01-02"})), (None, None)]
    full = (frozenset({1, 3}), ["b", "a", "b"], ["x", "it's", "x"], (1, "x"), rows)
    shown = values_of(conn, "select s, m, l, r, n from c order by id")
    assert shown == [full] * 3 + [(frozenset(), [], [], (None, None), None), (None,) * 5]
    assert cur.execute("select s, r from c").description[0][0] == "s"
    value = cur.fetchone()[0]
    assert (value.kind, value.element_schema) == ("SET", "set(integer not null)")
    for condition, count in [
        ("s = set{1,3}", 3),
        ("s <> set{1,3}", 1),
        ("m = multiset{'a','b','b'}", 3),
        ("m = multiset{'a','b'}", 0),
        ("l = list{'x','x','it''s'}", 0),
        ("l = list{'x','it''s','x'}", 3),
        ("r = row(1,'x')", 3),
        ("3 in s", 3),
        ("3 in (s)", 3),
        ("3 not in s", 1),
        ("s is null", 1),
        ("cardinality(m) = 3", 3),
        ("r.a = 1 and c.r.b = 'x'", 3),
    ]:
        assert one(conn, f"select count(*) from c where {condition}") == (count,), condition
    assert one(conn, "select count(*) from c where s = ? and ? in l", {3, 1}, "x") == (3,)
    assert one(conn, "select r.a, r.b, cardinality(s) from c where id = 1") == (1, "x", 2)
    cur.execute("update c set s = list{5,5,6}, r = ? where id = 1", ((7, None),))
    assert values_of(conn, "select s, r from c where id = 1") == [(frozenset({5, 6}), (7, None))]
    cur.execute("insert into c (s) select s from c where id = 1")
    assert values_of(conn, "select max(id), count(*) from c where 6 in s") == [(6, 2)]
    for refused in [
        "select distinct * from c",
        "select * from c order by 2",
        "select count(distinct r) from c",
        "select s from c union select s from c",
        "select s || 'x' from c",
        "select max(s) from c",
        "select s::lvarchar from c",
        "select * from (select s from c) as x",
        "select id from c where s > set{1}",
        "insert into c (s) values (set{1,null})",
        "insert into c (s) values ('set{1,null}')",
        "insert into c (s) values ('1,2')",
        "insert into c (r) values (row(1))",
    ]:
        with pytest.raises(informix_db.Error) as caught:
            cur.execute(refused).fetchall()
        assert caught.value.sqlcode == -746, refused
    with pytest.raises(informix_db.Error) as caught:
        cur.execute("update c set s = m")
    assert caught.value.sqlcode == -9634
    types = conn.cursor().execute(
        "select colname, coltype, description from systables t, syscolumns c, sysxtddesc d "
        "where t.tabname = 'c' and c.tabid = t.tabid and d.extended_id = c.extended_id order by colno"
    )
    assert [tuple(map(str.strip, map(str, row))) for row in types.fetchall()] == [
        ("s", "19", "set(integer not null)"),
        ("m", "20", "multiset(varchar(10) not null)"),
        ("l", "21", "list(varchar(20) not null)"),
        ("r", "22", "row(a integer, b varchar(10))"),
        ("n", "21", "list(row(a integer, k set(date not null)) not null)"),
    ]
    cur.execute("drop table c")


def test_collections_of_collections(conn):
    cur = conn.cursor()
    cur.execute(
        "create table cc (id serial, s set(set(integer not null) not null), "
        "m multiset(list(varchar(9) not null) not null), "
        "l list(multiset(integer not null) not null), "
        "d list(set(list(smallint not null) not null) not null), "
        "r row(a set(set(integer not null) not null), b integer))"
    )
    into = "insert into cc (s, m, l, d, r) values "
    cur.execute(
        into
        + "(set{set{1,2},set{2,1},set{},set{3}}, multiset{list{'b','a'},list{}}, list{multiset{1,2,1},multiset{}}, "
        "list{set{list{1},list{2}},set{}}, row(set{set{1}},5))"
    )
    cur.execute(
        into
        + """("SET{SET{2,1},SET{3},SET{}}", "MULTISET{LIST{},LIST{'b','a'}}", "LIST{MULTISET{2,1,1},MULTISET{}}", """
        """"LIST{SET{LIST{2},LIST{1}},SET{}}", "ROW(SET{SET{1}},5)")"""
    )
    cur.execute(
        into + "(?, ?, ?, ?, ?)",
        ({frozenset({2, 1}), frozenset({3}), frozenset()}, [["b", "a"], []], [[1, 1, 2], []],
         "LIST{SET{LIST{2},LIST{1}},SET{}}", ({frozenset({1})}, 5)),
    )  # fmt: skip
    cur.execute(into + "(null, null, null, list{}, row(null, null))")
    sets = frozenset({frozenset({1, 2}), frozenset(), frozenset({3})})
    shown = values_of(conn, "select s, m, l, d, r from cc order by id")
    for s, m, multisets, d, r in shown[:3]:
        assert (s, d, r) == (sets, [frozenset({(1,), (2,)}), frozenset()], (frozenset({frozenset({1})}), 5))
        assert sorted(m) == [[], ["b", "a"]]
        assert [sorted(part) for part in multisets] == [[1, 1, 2], []]
    assert shown[3] == (None, None, None, [], (None, None))
    # what has no order has none inside another one either
    for condition in [
        "s = set{set{3},set{},set{1,2}}",
        "m = multiset{list{},list{'b','a'}}",
        "l = list{multiset{1,1,2},multiset{}}",
        "d = list{set{list{2},list{1}},set{}}",
        "r = row(set{set{1}},5)",
        "set{2,1} in s",
        "multiset{2,1,1} in l",
        "list{'b','a'} in m",
        "cardinality(s) = 3",
    ]:
        assert one(conn, f"select count(*) from cc where {condition}") == (3,), condition
    for condition in [
        "s = set{set{3},set{1,2}}",
        "m = multiset{list{},list{'a','b'}}",
        "l = list{multiset{},multiset{1,1,2}}",
        "set{1} in s",
        "list{'a','b'} in m",
        "s <> set{set{3},set{},set{1,2}}",
    ]:
        assert one(conn, f"select count(*) from cc where {condition}") == (0,), condition
    for refused in ["insert into cc (s) values (set{null})", "insert into cc (s) values ('set{set{null}}')"]:
        with pytest.raises(informix_db.Error) as caught:
            cur.execute(refused)
        assert caught.value.sqlcode == -746, refused
    cur.execute("drop table cc")


def test_named_row_types(conn, address):
    cur = conn.cursor()
    cur.execute("create row type place (street varchar(20), zip integer)")
    cur.execute("create row type person (name varchar(20), home place, tags set(varchar(5) not null))")
    cur.execute("create table people (id serial, p person, l list(place not null))")
    cur.execute(
        "insert into people (p, l) values "
        "(row('Ann', row('High St', 7)::place, set{'a','b'})::person, list{row('x', 1)::place})"
    )
    cur.execute("insert into people (p, l) values (?, ?)", (("Bob", (None, 8), {"a"}), [("y", 2)]))
    cur.execute("insert into people (p) values (null)")
    described = cur.execute("select p, l from people order by id").description
    assert [d[0] for d in described] == ["p", "l"]
    rows = cur.fetchall()
    assert (rows[0][0].schema, rows[2]) == ("person", (None, None))
    assert [tuple(v.to_python() for v in row) for row in rows[:2]] == [
        (("Ann", ("High St", 7), frozenset({"a", "b"})), [("x", 1)]),
        (("Bob", (None, 8), frozenset({"a"})), [("y", 2)]),
    ]
    assert one(conn, "select p.name, p.home.zip, people.p.home.street from people where p.home.zip = 7") == (
        "Ann", 7, "High St")  # fmt: skip
    assert one(conn, "select count(*) from people where p = row('Ann', row('High St', 7), set{'b','a'})::person") == (
        1,
    )
    assert one(conn, "select count(*) from people where row('y', 2)::place in l") == (1,)
    cur.execute("update people set p = row('Cid', null, null)::person where id = 2")
    assert values_of(conn, "select p from people where id = 2") == [(("Cid", None, None),)]
    # a table of the type has its fields as columns
    cur.execute("create table places of type place (primary key (zip))")
    cur.execute("insert into places values ('a', 1)")
    with pytest.raises(informix_db.IntegrityError):
        cur.execute("insert into places (zip) values (1)")
    assert one(conn, "select street, zip from places") == ("a", 1)
    types = cur.execute(
        "select x.name, x.mode, c.coltype, d.description from systables t, syscolumns c, sysxtdtypes x, sysxtddesc d "
        "where t.tabname = 'people' and c.tabid = t.tabid and x.extended_id = c.extended_id "
        "and d.extended_id = x.extended_id and colname = 'p'"
    ).fetchall()
    assert [tuple(str(v).strip() for v in row) for row in types] == [
        ("person", "R", "4118", "person(name varchar(20), home place, tags set(varchar(5) not null))")
    ]
    for statement, code in [
        ("create row type place (a integer)", -746),
        ("create table q (a nosuch)", -9628),
        ("create table q of type nosuch", -9628),
        ("drop row type nosuch restrict", -9628),
        ("create row type q (a integer, a integer)", -201),
        ("create row type q (a serial)", -746),
        ("create row type q (a integer not null null)", -201),
        ("create row type q (zip integer) under place", -746),
        ("create row type q under nosuch", -9628),
        ("create table q of type place under places", -746),
        ("insert into people (p) values (row(1, 2)::person)", -746),
        ("insert into people (p) values (row('x', 1)::place)", -9634),
        ("drop row type place restrict", -746),
    ]:
        with pytest.raises(informix_db.Error) as caught:
            cur.execute(statement).fetchall()
        assert caught.value.sqlcode == code, (statement, caught.value)
    cur.execute("create row type if not exists place (a integer)")
    for drop in ["table people", "table places", "row type person restrict", "row type place restrict"]:
        cur.execute("drop " + drop)
    cur.execute("drop row type if exists place restrict")


def test_row_types_under_others(conn):
    cur = conn.cursor()
    cur.execute("create row type people_t (name varchar(20) not null, city varchar(20))")
    cur.execute("create row type staff_t (salary decimal(8,2), boss people_t not null) under people_t")
    cur.execute("create row type chief_t under staff_t")
    cur.execute("create table chiefs of type chief_t")
    cur.execute("insert into chiefs values ('Ann', null, 7.5, row('Zoe', null)::people_t)")
    described = cur.execute("select * from chiefs").description
    assert [d[0] for d in described] == ["name", "city", "salary", "boss"]
    cur.execute("create table teams (id integer, s staff_t, r row(a integer not null, b integer))")
    cur.execute(
        "insert into teams values (1, row('Bob', 'Rome', 1, row('Ann', null)::people_t)::staff_t, row(1, null))"
    )
    cur.execute("insert into teams values (?, ?, ?)", (2, ("Cid", None, None, ("Ann", "Oslo")), (2, 3)))
    cur.execute("insert into teams values (3, null, null)")
    assert values_of(conn, "select s, r from teams order by id") == [
        (("Bob", "Rome", Decimal("1.00"), ("Ann", None)), (1, None)),
        (("Cid", None, None, ("Ann", "Oslo")), (2, 3)),
        (None, None),
    ]
    assert one(conn, "select s.name, s.boss.city, r.b from teams where s.boss.city = 'Oslo'") == ("Cid", "Oslo", 3)
    for statement, parameters in [
        ("insert into chiefs (city) values ('Rome')", ()),
        ("insert into chiefs values ('Ann', null, 7.5, null)", ()),
        ("insert into chiefs values ('Ann', null, 7.5, row(null, 'Rome')::people_t)", ()),
        ("update teams set s = row(null, 'Rome', 1, row('Ann', null)::people_t)::staff_t", ()),
        ("update teams set r = row(null, 1)", ()),
        ("update teams set r = 'ROW(NULL,1)'", ()),
        ("update teams set r = ?", ((None, 1),)),
        ("update teams set s = ?", (("Bob", None, None, None),)),
    ]:
        with pytest.raises(informix_db.IntegrityError) as caught:
            cur.execute(statement, parameters)
        assert caught.value.sqlcode == -391, statement
    described = cur.execute(
        "select d.description from sysxtddesc d, sysxtdtypes x "
        "where x.extended_id = d.extended_id and x.name matches '*_t' order by x.name"
    ).fetchall()
    assert [row[0].strip() for row in described] == [
        "chief_t(name varchar(20) not null, city varchar(20), salary decimal(8,2), boss people_t not null)",
        "people_t(name varchar(20) not null, city varchar(20))",
        "staff_t(name varchar(20) not null, city varchar(20), salary decimal(8,2), boss people_t not null)",
    ]
    inherits = cur.execute(
        "select c.name, p.name from sysinherits i, sysxtdtypes c, sysxtdtypes p "
        "where c.extended_id = i.child and p.extended_id = i.parent order by 1"
    ).fetchall()
    assert [tuple(name.strip() for name in row) for row in inherits] == [
        ("chief_t", "staff_t"),
        ("staff_t", "people_t"),
    ]
    for used in ["people_t", "staff_t", "chief_t"]:
        with pytest.raises(informix_db.Error):
            cur.execute(f"drop row type {used} restrict")
    cur.execute("drop table teams")
    with pytest.raises(informix_db.Error):
        cur.execute("drop row type staff_t restrict")
    for drop in [
        "table chiefs",
        "row type chief_t restrict",
        "row type staff_t restrict",
        "row type people_t restrict",
    ]:
        cur.execute("drop " + drop)


def test_sorting_by_collections(conn):
    cur = conn.cursor()
    cur.execute(
        "create table sc (id integer, s set(integer not null), l list(varchar(5) not null), "
        "m multiset(integer not null), r row(a integer, t set(integer not null)))"
    )
    rows = [
        ("1", "set{2,1}", "list{'b'}", "multiset{2,1,2}", "row(1, set{9,8})"),
        ("2", "set{3}", "list{'a','z'}", "multiset{1}", "row(0, set{1})"),
        ("3", "set{1,2}", "list{'b','a'}", "multiset{1,2,2}", "row(1, set{8,9})"),
        ("4", "null", "null", "null", "null"),
        ("5", "set{}", "list{}", "multiset{}", "row(1, set{})"),
    ]
    for row in rows:
        cur.execute(f"insert into sc values ({', '.join(row)})")

    def ids(sql):
        return [row[-1] for row in cur.execute(sql).fetchall()]

    # equal ones come together, however their elements were written
    assert ids("select s, id from sc order by s, id") == [4, 5, 1, 3, 2]
    assert ids("select s, id from sc order by 1 desc, 2") == [2, 1, 3, 5, 4]
    assert ids("select s as x, id from sc order by x, id desc") == [4, 5, 3, 1, 2]
    assert ids("select id from sc order by l") == [4, 5, 2, 1, 3]
    assert ids("select id from sc order by m, id") == [4, 5, 2, 1, 3]
    assert ids("select id from sc order by r, id") == [4, 2, 5, 1, 3]
    assert ids("select rank() over (order by s) n, id from sc order by id") == [1, 2, 3, 4, 5]
    ranks = cur.execute(
        "select id, rank() over (order by s), count(*) over (partition by m) from sc order by id"
    ).fetchall()
    assert [tuple(map(int, row)) for row in ranks] == [(1, 3, 2), (2, 5, 1), (3, 3, 2), (4, 1, 1), (5, 2, 1)]
    sets = [None, frozenset(), frozenset({1, 2}), frozenset({3})]
    assert [row[0] for row in values_of(conn, "select distinct s from sc order by s")] == sets
    assert [row[0] for row in values_of(conn, "select distinct s from sc order by 1 desc")] == sets[::-1]
    counted = values_of(conn, "select s, count(*), max(id) from sc group by s order by s")
    assert counted == [(None, 1, 4), (frozenset(), 1, 5), (frozenset({1, 2}), 2, 3), (frozenset({3}), 1, 2)]
    assert values_of(conn, "select count(*) from sc group by m, l order by 1") == [(1,)] * 5
    assert [row[1] for row in values_of(conn, "select m, count(*) from sc group by 1 order by 1")] == [1, 1, 1, 2]
    assert [row[1] for row in values_of(conn, "select r, count(*) from sc group by r order by 2, 1")] == [1, 1, 1, 2]
    assert len(values_of(conn, "select distinct m, r from sc")) == 4
    assert values_of(conn, "select count(*) from (select distinct id, 1 from sc group by id, s) as x (i, j)") == [(5,)]
    cur.execute("drop table sc")


def test_many_collections_at_once(address):
    with informix_db.connect(**address) as connection:
        cur = connection.cursor()
        cur.execute("create table many_sets (id integer, s set(integer not null))")
        connection.commit()
        cur.executemany("insert into many_sets values (?, ?)", [(i, {i, i + 1}) for i in range(50)])
        connection.commit()
        assert values_of(connection, "select count(*) from many_sets where 7 in s") == [(2,)]
        cur.execute("drop table many_sets")
        connection.commit()


ELEMENTS = [
    ("smallint", "-5", -5),
    ("bigint", "-9000000000", -9000000000),
    ("int8", "42", 42),
    ("float", "1e300", 1e300),
    ("smallfloat", "-2.5", Decimal("-2.5")),
    ("decimal(8,2)", "1.5", Decimal("1.50")),
    ("decimal(16)", "1.25", Decimal("1.25")),
    ("money(8,2)", "2", Decimal("2.00")),
    ("char(3)", "'ab'", "ab "),
    ("nvarchar(9)", "'a''b\\\"'", "a'b\\\""),
    ("lvarchar", "''", ""),
    ("boolean", "'t'", "t"),
    ("date", "'0001-02-03'", "0001-02-03"),
    ("datetime year to second", "'2026-01-02 03:04:05'", "2026-01-02 03:04:05"),
    ("datetime year to month", "'2026-01'", "2026-01"),
    ("datetime hour to fraction(3)", "'03:04:05.678'", "03:04:05.678"),
    ("interval day(3) to second", "'-3 04:05:06'", "-3 04:05:06"),
    ("interval year(4) to month", "'2-06'", "2-06"),
]


@pytest.mark.parametrize(("type_", "literal", "value"), ELEMENTS, ids=[e[0] for e in ELEMENTS])
def test_elements_of_every_type(conn, type_, literal, value):
    cur = conn.cursor()
    cur.execute(f"create table e (l list({type_} not null), r row(f {type_}, g integer))")
    cur.execute(f"insert into e values (list{{{literal},{literal}}}, row({literal}, 7))")
    cur.execute("insert into e values (list{}, row(null, 7))")
    assert values_of(conn, "select l, r from e") == [([value, value], (value, 7)), ([], (None, 7))]
    assert one(conn, f"select count(*) from e where {literal} in l") == (1,)
    cur.execute("drop table e")


def test_parameters_of_a_select_list_have_the_types_that_sqlalchemy_says(address):
    sa = pytest.importorskip("sqlalchemy")
    from informix_db import sqlalchemy as ifx

    where = {k: address[k] for k in ("host", "port", "database")}
    name, password = address["user"], address["password"]
    url = sa.URL.create("informix+informix_db", name, password, **where, query={"server": "x"})
    values = [
        (dt.datetime(2026, 1, 2, 3, 4), ifx.InformixDatetime("YEAR TO MINUTE")),
        (dt.time(3, 4, 5), ifx.InformixDatetime("HOUR TO SECOND")),
        (informix_db.IntervalYM(-30), ifx.INTERVAL("YEAR(4) TO MONTH")),
        (dt.timedelta(3, 4), ifx.INTERVAL("DAY(3) TO SECOND")),
        (dt.timedelta(0, -5, -10), sa.Interval()),
        (Decimal("1.25"), sa.Numeric(10, 2)),
    ]
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        row = connection.execute(sa.select(*(sa.literal(value, kind) for value, kind in values))).one()
    engine.dispose()
    assert tuple(row) == tuple(value for value, _ in values)


def test_sequences(conn):
    cur = conn.cursor()
    cur.execute("create sequence numbers start with 5 increment by 5 maxvalue 15 nocache order")
    try:
        ask = "select numbers.nextval from systables where tabid = 1"
        assert [one(conn, ask) for _ in range(3)] == [(5,), (10,), (15,)]
        with pytest.raises(informix_db.Error, match="maximum value"):
            one(conn, ask)
        assert one(conn, "select numbers.currval from systables where tabid = 1") == (15,)
        with pytest.raises(informix_db.Error, match="more than once"):
            one(conn, "select numbers.nextval, numbers.currval from systables")
        with pytest.raises(informix_db.Error) as raised:
            cur.execute("create sequence other start with 1 start with 2")
        assert raised.value.sqlcode == -201
    finally:
        cur.execute("drop sequence numbers")


def test_the_values_of_literals(conn):
    sql = """select datetime(2026-01-02) year to day, datetime(03:04:05) hour to second, interval(5 06) day to hour,
        interval(05:06) minute to second, interval(2-06) year to month,
        interval(-3 04:05:06.5) day to fraction(1), interval(.25) fraction to fraction(2),
        7 / 2, 'it''s', "q", 1.50, mdy(2, 29, 2024),
        extend(datetime(2026-05-06 07:08:09) year to second, year to month),
        current year to day - extend(today, year to day)
        from systables where tabid = 1"""
    assert one(conn, sql) == (
        *(dt.date(2026, 1, 2), dt.time(3, 4, 5), dt.timedelta(5, 6 * 3600), dt.timedelta(minutes=5, seconds=6)),
        informix_db.IntervalYM(30),
        *(
            -dt.timedelta(3, 14706, 500000),
            dt.timedelta(microseconds=250000),
            Decimal("3.5"),
            "it's",
            "q",
            Decimal("1.5"),
            dt.date(2024, 2, 29),
        ),
        *(dt.date(2026, 5, 1), dt.timedelta()),
    )


def test_the_least_numbers_of_a_type_are_of_the_next_one(conn):
    sql = "select -2147483648, -9223372036854775808, -2147483647 from systables where tabid = 1"
    assert one(conn, sql) == (-(2**31), Decimal(-(2**63)), 1 - 2**31)


PARTIAL = [
    ("month to day", "02-29", "12-31", "02-29"),
    ("month to month", "02", "11", "02"),
    ("month to fraction(2)", "05-06 07:08:09.25", "05-06 07:08:09.30", "05-06 07:08:09.25000"),
    ("day to hour", "03 23", "31 00", "03 23"),
    ("day to second", "03 23:59:58", "03 23:59:59", "03 23:59:58"),
    ("minute to second", "04:05", "59:00", dt.time(0, 4, 5)),
    ("minute to fraction(3)", "04:05.125", "04:05.250", dt.time(0, 4, 5, 125000)),
    ("second to second", "07", "59", dt.time(0, 0, 7)),
    ("fraction to fraction(5)", ".00001", ".25000", dt.time(0, 0, 0, 10)),
]


@pytest.mark.parametrize(("q", "first", "second", "shown"), PARTIAL, ids=[q for q, *_ in PARTIAL])
def test_partial_datetimes(conn, q, first, second, shown):
    """They have no year, month or hour; what stands for those in the file is never to be seen."""
    cur = conn.cursor()
    cur.execute(f"create table p (n integer, x datetime {q}, behind integer)")
    try:
        for n, x in ((2, second), (1, first), (3, None)):
            cur.execute("insert into p values (?, ?, 7)", (n, x))
        cur.execute(f"insert into p values (4, datetime({first}) {q}, 7)")
        rows = cur.execute("select n, x, behind from p where x is not null order by x, n").fetchall()
        assert [(n, behind) for n, _, behind in rows] == [(1, 7), (4, 7), (2, 7)]
        assert rows[0][1] == rows[1][1] != rows[2][1]
        assert (rows[0][1] if isinstance(shown, dt.time) else str(rows[0][1])) == shown
        assert one(conn, "select max(x) from p") == (rows[2][1],)
        for condition in (f"x = datetime({first}) {q}", "x = ?", f"x between ? and datetime({first}) {q}", "x in (?)"):
            parameters = [first] * condition.count("?")
            found = cur.execute(f"select n from p where {condition} order by n", parameters).fetchall()
            assert found == [(1,), (4,)], condition
        cur.execute("insert into p select n + 10, x, behind from p where n = 1")
        cur.execute("update p set x = ? where n = 3", (second,))
        cur.execute("select x from p where n > 10 into temp q")
        assert one(conn, "select x from q") == (rows[0][1],)
        assert one(conn, "select count(distinct x) from p") == (2,)
        # as characters it has the fields that it has
        text = one(conn, "select x::char(20) from p where n = 1")[0].strip()
        assert text.rstrip("0") == first.lstrip(".").rstrip("0")
        cur.execute("insert into p values (20, current, 7)")
        for sql in (
            "select x + 1 units second from p",
            "select n from p where x > current year to second + 1 units day",
            "select extend(x, year to fraction(5)) from p",
            "select case when n = 1 then x end from p",
            "select y from (select x as y from p) s",
            "select * from (select * from p) s",
            "alter table p add constraint check (x > '01')",
        ):
            with pytest.raises(informix_db.Error, match="is not supported"):
                cur.execute(sql)
        with pytest.raises(informix_db.Error):
            cur.execute("update p set x = current year to fraction(5) + 1 units day")
    finally:
        cur.execute("drop table p")


def test_parts_of_moments(conn):
    sql = """select extend(datetime(2027-12-31 03:04:05.678) year to fraction(3), month to day),
        extend(datetime(2027-12-31 03:04:05.678) year to fraction(3), day to minute),
        extend(datetime(2027-12-31 03:04:05.678) year to fraction(3), minute to second),
        extend(datetime(2027-12-31 03:04:05.678) year to fraction(3), fraction to fraction(2)),
        datetime(02-29) month to day from systables where tabid = 1"""
    month, day, minute, fraction, leap = one(conn, sql)
    assert [str(x) for x in (month, day, leap)] == ["12-31", "31 03:04", "02-29"]
    assert (minute, fraction) == (dt.time(0, 4, 5), dt.time(0, 0, 0, 670000))


def test_tables_from_queries_and_of_owners(conn):
    cur = conn.cursor()
    cur.execute("create table somebody.first (a integer)")
    cur.execute("create table somebody.copy as select tabname name, tabid from systables where tabid = 1")
    try:
        assert one(conn, "select name, tabid from somebody.copy") == ("systables", 1)
        cur.execute("create temp table copy (a, b) as select tabid, tabname from systables where tabid < 3")
        assert one(conn, "select count(a), max(a) from copy") == (2, 2)
        assert one(conn, "select owner from systables where tabname = 'copy'") == ("somebody",)
        with pytest.raises(informix_db.Error) as raised:
            cur.execute("select * from nobody.first")
        assert raised.value.sqlcode == -206
    finally:
        cur.execute("drop table somebody.copy")
        cur.execute("drop table somebody.first")


def test_serials(conn):
    cur = conn.cursor()
    cur.execute("create temp table s (id serial(5), b char(3))")
    assert cur.execute("insert into s values (0, 'a')").lastrowid == 5
    cur.execute("insert into s values (20, 'b')")
    assert cur.execute("insert into s (b) values ('c')").lastrowid == 21
    cur.executemany("insert into s values (?, ?)", [(0, "d"), (30, "e"), (0, "f")])
    assert cur.execute("select id from s order by id").fetchall() == [(5,), (20,), (21,), (22,), (30,), (31,)]
    cur.execute("insert into s select id + 100, b from s where b = 'a'")
    assert cur.execute("insert into s (b) values ('g')").lastrowid == 106
    assert one(conn, "select dbinfo('sqlca.sqlerrd1') from systables where tabid = 1") == (106,)


def test_ordering_and_outer_joins(conn):
    cur = conn.cursor()
    cur.execute("create temp table l (a integer, b varchar(5))")
    cur.execute("create temp table r (a integer, c integer)")
    cur.executemany("insert into l values (?, ?)", [(1, "x"), (2, None), (3, "z")])
    cur.executemany("insert into r values (?, ?)", [(1, 10), (1, 5), (3, None)])
    assert cur.execute("select b from l order by b").fetchall() == [(None,), ("x",), ("z",)]
    assert cur.execute("select b from l order by b desc").fetchall() == [("z",), ("x",), (None,)]
    old = "select l.a, r.c from l, outer r where l.a = r.a and r.c > 7 and l.a < 3 order by 1"
    assert cur.execute(old).fetchall() == [(1, 10), (2, None)]
    new = "select l.a, c from l left outer join r on l.a = r.a and c > 7 where l.a < 3 order by 1"
    assert cur.execute(new).fetchall() == [(1, 10), (2, None)]
    assert cur.execute("select skip 1 first 1 a from l order by a").fetchall() == [(2,)]
    assert cur.execute("select first ? a from l order by a desc", (2,)).fetchall() == [(3,), (2,)]
    assert cur.execute("select b from l where b matches '[w-y]'").fetchall() == [("x",)]
    assert cur.execute("select decode(b, null, 'none', 'x', 'ex', 'other') from l order by a").fetchall() == [
        ("ex",), ("none",), ("other",)]  # fmt: skip


def test_a_failed_statement_undoes_itself_only(address):
    with informix_db.connect(**address) as conn:
        cur = conn.cursor()
        cur.execute("create temp table u (a integer primary key)")
        conn.commit()
        cur.execute("insert into u values (1)")
        with pytest.raises(informix_db.IntegrityError) as caught:
            cur.execute("insert into u select 3 - tabid from systables where tabid in (1, 2)")
        assert (caught.value.sqlcode, caught.value.isamcode) == (-268, -100)
        with pytest.raises(informix_db.ProgrammingError):
            cur.execute("select nosuch from u")
        cur.execute("insert into u values (3)")
        conn.commit()
        assert cur.execute("select a from u order by a").fetchall() == [(1,), (3,)]


def test_cursors_go_on_while_others_write(conn):
    cur, other = conn.cursor(), conn.cursor()
    cur.execute("create temp table w (a integer, filler char(100))")
    cur.executemany("insert into w (a) values (?)", [(i,) for i in range(250)])
    for n in (250, 500, 1000, 2000, 4000, 8000):
        cur.execute(f"insert into w (a) select a + {n} from w")
    reading = conn.cursor().execute("select a, filler from w order by a")
    assert reading.fetchone() == (0, None)
    other.execute("delete from w where a > 10000")
    with pytest.raises(informix_db.Error):
        other.execute("selec")
    assert [r[0] for r in reading.fetchall()] == list(range(1, 16000))
    assert one(conn, "select count(*) from w") == (10001,)


def test_a_changed_table_is_seen(conn):
    cur = conn.cursor()
    cur.execute("create table changing (a integer)")
    sql = "select tabname from systables where tabname matches 'changing*' order by 1"
    assert cur.execute(sql).fetchall() == [("changing",)]
    cur.execute("create table changing2 (a integer)")
    assert cur.execute(sql).fetchall() == [("changing",), ("changing2",)]
    cur.execute("select * from changing")
    cur.execute("alter table changing add b varchar(10)")
    try:
        assert cur.execute("select * from changing").description[1][0] == "b"
    except informix_db.Error as e:
        assert e.sqlcode == -710
    cur.execute("drop table changing")
    cur.execute("drop table changing2")


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("selec 1", -201),
        ("select 'x", -282),
        ("select * from nosuch", -206),
        ("select nosuch from systables", -217),
        ("execute procedure p(1)", -674),
        ("select nosuch(1) from systables", -674),
        ("unload to 'f' select * from systables", -746),
        ("load from 'f' insert into systables", -746),
        ("create table t (a set(blob not null))", -746),
        ("create table t (a set(integer))", -201),
        ("create table t (a row(b integer, b integer))", -201),
        ("select set{1, null}::set(integer not null) from systables", -746),
        ("select row(1)::row(nosuchrow integer) from systables", -746),
        ("select 1 in tabid from systables", -746),
        ("create index i on t (upper(a))", -746),
        ("select * from other:t", -746),
        ("select * from systables where tabname matches owner", -746),
        ("insert into nosuch values (1)", -206),
        ("select 1 from systables where tabid = 'x'", -1213),
        ("select interval(1 25) day to hour from systables where x = 1", -217),
        ("select datetime(2026-13-01) year to day from systables", -1262),
    ],
)
def test_what_is_refused(conn, sql, code):
    with pytest.raises(informix_db.Error) as caught:
        conn.cursor().execute(sql).fetchall()
    assert caught.value.sqlcode == code
    assert one(conn, "select 1 from systables where tabid = 1") == (1,)


def test_cancelling(conn, address):
    cur = conn.cursor()
    cur.execute("create temp table many (n integer)")
    cur.executemany("insert into many values (?)", [(1,)] * 3000)
    slow = "select count(*) from many a, many b, many c where a.n + b.n + c.n = 4"
    started = time.monotonic()
    with pytest.raises(informix_db.StatementTimeoutError):
        cur.execute(slow, timeout=0.3)
    assert time.monotonic() - started < 20
    assert one(conn, "select count(*) from many") == (3000,)


SECURE = {"tls": True, "tls_ca_file": str(TLS / "server.pem"), "tls_server_hostname": "localhost"}


def test_tls(listener):
    with informix_db.connect("127.0.0.1", listener, **CREDENTIALS, **SECURE) as conn:
        assert one(conn, "select count(*) from systables where tabid = 1") == (1,)


def test_cancelling_over_tls(listener):
    """The urgent byte goes beside the records of TLS."""
    with informix_db.connect("127.0.0.1", listener, **CREDENTIALS, **SECURE, autocommit=True) as conn:
        cur = conn.cursor()
        cur.execute("create temp table many (n integer)")
        cur.executemany("insert into many values (?)", [(1,)] * 3000)
        with pytest.raises(informix_db.StatementTimeoutError):
            cur.execute("select count(*) from many a, many b, many c where a.n + b.n + c.n = 4", timeout=0.3)
        assert one(conn, "select count(*) from many") == (3000,)


def user(file, command, name, *flags, password):
    subprocess.run(
        [binary(), "user", command, *flags, name, "--database", str(file)], input=password, text=True, check=True
    )


def refused(port, code, **options):
    with pytest.raises(OperationalError) as caught:
        informix_db.connect("127.0.0.1", port, **{**CREDENTIALS, **options}).cursor().execute("select 1 from systables")
    assert caught.value.sqlcode == code


def test_passwords(tmp_path):
    file = tmp_path / "one.db"
    user(file, "add", "informix", "--superuser", password="in4mix\n")
    user(file, "add", "other", password="sécret\n")
    with pgsqlite(tmp_path, "--database", str(file), "--auth", "scram") as port:
        with informix_db.connect("127.0.0.1", port, **CREDENTIALS, autocommit=True) as conn:
            assert one(conn, "select user from systables where tabid = 1") == ("informix",)
            conn.cursor().execute("create table owned (a integer)")
        with informix_db.connect("127.0.0.1", port, **{**CREDENTIALS, **SECURE}) as conn:
            assert one(conn, "select count(*) from owned") == (0,)
        # a password is read in the client's code set
        for locale in ("en_US.8859-1", "en_US.utf8"):
            options = {"user": "other", "password": "sécret", "client_locale": locale}
            with informix_db.connect("127.0.0.1", port, **{**CREDENTIALS, **options}) as conn:
                assert one(conn, "select user from systables where tabid = 1") == ("other",)
                with pytest.raises(informix_db.Error) as caught:
                    one(conn, "select count(*) from owned")
                assert caught.value.sqlcode == -387
        for wrong in ({"password": "wrong"}, {"password": ""}, {"user": "nobody"}, {"user": "other"}):
            refused(port, -951, **wrong)


def test_passwords_of_a_folder_of_databases(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    user(data / "mine.db", "add", "informix", "--superuser", password="in4mix\n")
    user(data / "theirs.db", "add", "informix", "--superuser", password="another\n")
    with pgsqlite(tmp_path, "--data-dir", str(data), "--auth", "scram") as port:
        for database, password in (("mine", "in4mix"), ("theirs", "another")):
            options = {"database": database, "password": password}
            with informix_db.connect("127.0.0.1", port, **{**CREDENTIALS, **options}) as conn:
                assert one(conn, "select count(*) from systables where tabid = 1") == (1,)
        refused(port, -951, database="theirs", password="in4mix")
        # what databases there are learns only who is let in
        refused(port, -951, database="nosuch")


def test_tls_can_be_required(tmp_path):
    with pgsqlite(tmp_path, "--database", str(tmp_path / "one.db"), "--require-tls") as port:
        refused(port, -908)
        with informix_db.connect("127.0.0.1", port, **{**CREDENTIALS, **SECURE}) as conn:
            assert one(conn, "select count(*) from systables where tabid = 1") == (1,)


def test_savepoints_that_are_not_there_leave_the_transaction(conn):
    cur = conn.cursor()
    cur.execute("create temp table held (a integer)")
    cur.execute("begin work")
    cur.execute("insert into held values (1)")
    for statement in ("rollback to savepoint nosuch", "release savepoint nosuch"):
        with pytest.raises(informix_db.Error) as caught:
            cur.execute(statement)
        assert "nosuch" in str(caught.value)
    cur.execute("savepoint there")
    cur.execute("insert into held values (2)")
    cur.execute("rollback to savepoint there")
    cur.execute("insert into held values (3)")
    cur.execute("release savepoint there")
    cur.execute("commit work")
    assert one(conn, "select sum(a) from held") == (4,)


def test_many_at_once(address):
    async def main():
        async with aio.create_pool(**address, max_size=8, autocommit=True) as pool:

            async def work(i):
                async with pool.connection() as conn:
                    cur = await conn.execute("select first 1 tabid + ? from systables where tabid = 1", (i,))
                    return await cur.fetchone()

            assert await asyncio.gather(*map(work, range(100))) == [(1 + i,) for i in range(100)]

    asyncio.run(main())


def captured(start):
    """A group of IBM's JDBC driver, by how it begins."""
    lines = (Path(__file__).parent / "transcripts" / "jdbc.txt").read_text().splitlines()
    return next(bytes.fromhex(line[2:]) for line in lines if line.startswith(f"C {start}"))


def test_a_statement_goes_with_its_cursor_where_the_client_says_so(listener):
    select = captured("000200000000002573656c65637420312066")
    with socket.create_connection(("127.0.0.1", listener), 20) as peer:

        def ask(group, end=b"\0\x0c"):
            peer.sendall(group)
            answer = b""
            while not answer.endswith(end):
                piece = peer.recv(65536)
                assert piece, answer
                answer += piece
            return answer

        ask(login_packet("informix", "in4mix", "x", {}), end=b"\0\x7f")
        for start in ("007e", "0051", "0024"):
            ask(captured(start))
        for auto_free, next_id in ((True, 0), (False, 1)):
            described = ask(select)
            assert described[4:6] == b"\0\0"  # the statement's number, the first that is free
            free = "006c" if auto_free else ""
            ask(bytes.fromhex(f"0004 0000 0003 0012 5f6966786330303030303030303030303031 {free} 0006 000c"))
            assert b"\0\x0e\0\0\0\0\0\x04\0\0\0\x01" in ask(bytes.fromhex("0004 0000 0009 00001000 0000 000c"))
            ask(bytes.fromhex("0004 0000 000a 000c"))
            if not auto_free:
                assert ask(select)[4:6] == next_id.to_bytes(2, "big")


LOGIN = bytes.fromhex("01a1013c0000006400650000003d0006494545454d00006c73716c657865630000000000")


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        LOGIN,
        b"\x7f\xff\x01\x3c" + b"\0" * 40,
        b"\0\x08\x01\x3c\0\0\0\x64",
        b"\x16\x03\x01\x02\x00" + b"\xff" * 512,
        b"\0" * 100_000,
    ],
    ids=["http", "half", "long", "short", "tls", "flood"],
)
def test_bad_peers_are_sent_away_and_harm_nobody(listener, conn, sent):
    with socket.create_connection(("127.0.0.1", listener), 10) as peer:
        with contextlib.suppress(ConnectionError):  # it was closed while we still sent
            peer.sendall(sent)
        read_to_end(peer)
    assert one(conn, "select 1 from systables where tabid = 1") == (1,)
