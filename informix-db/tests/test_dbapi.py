"""PEP 249 over the blocking connection, against the test server."""

import datetime as dt

import pytest

import informix_db
from informix_db import (
    DataError,
    IntegrityError,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Row,
)
from peer.server import Col, Result, SqlError


def test_module():
    assert (informix_db.apilevel, informix_db.threadsafety, informix_db.paramstyle) == ("2.0", 2, "numeric")
    for name in informix_db.__all__:
        assert getattr(informix_db, name) is not None
    assert issubclass(informix_db.PoolTimeoutError, OperationalError)
    assert issubclass(informix_db.PoolClosedError, InterfaceError)
    assert set(informix_db.aio.__all__) >= {
        "AsyncConnection",
        "AsyncCursor",
        "AsyncConnectionPool",
        "connect",
        "create_pool",
    }


def test_select_insert_update_delete(conn):
    cur = conn.cursor()
    cur.execute("create table t (a integer primary key, b varchar(20))")
    assert cur.description is None
    cur.execute("insert into t values (?, ?)", (5, "five"))
    assert (cur.rowcount, cur.lastrowid) == (1, 5)
    cur.execute("update t set b = :1 where a = :2", ("fünf", 5))
    assert cur.rowcount == 1
    cur.execute("select a, b from t where a = :key", {"key": 5, "unused": 1})
    assert [c[0] for c in cur.description] == ["a", "b"]
    assert cur.fetchone() == (5, "fünf")
    assert cur.fetchone() is None
    assert cur.rowcount == 1
    cur.execute("delete from t where a = 5")
    assert cur.rowcount == 1
    assert cur.execute("select * from t").fetchall() == []


def test_fetching_in_every_way(server, conn):
    rows = [(i,) for i in range(1000)]
    server.rules["select n"] = Result([Col("n", 2, 4)], rows)
    cur = conn.cursor()
    assert cur.rownumber is None
    cur.execute("select n")
    assert cur.rownumber == 0
    assert cur.fetchone() == (0,)
    assert cur.fetchmany() == [(1,)]
    assert cur.fetchmany(3) == [(2,), (3,), (4,)]
    assert cur.rownumber == 5
    cur.arraysize = 2
    assert cur.fetchmany() == [(5,), (6,)]
    assert next(iter(cur)) == (7,)
    assert cur.fetchmany(0) == []
    rest = cur.fetchall()
    assert rest == rows[8:]
    assert cur.fetchall() == []
    assert cur.rowcount == 1000
    assert list(cur.execute("select n")) == rows
    with pytest.raises(ProgrammingError):
        cur.fetchmany(-1)


def test_rows_arrive_in_batches(server, connect):
    rows = [(i, "x" * 50) for i in range(5000)]
    server.rules["select n"] = Result([Col("n", 2, 4), Col("s", 13, 60)], rows)
    conn = connect(autocommit=True, fetch_buffer=16384)
    cur = conn.cursor()
    assert cur.execute("select n").fetchall() == rows
    fetches = [g for g in server.log if g == "id nfetch"]
    assert 15 < len(fetches) < 30  # 5000 rows of 64 bytes in buffers of 16 KiB


def test_a_select_takes_two_round_trips_and_one_when_cached(server, conn):
    server.rules["select n"] = Result([Col("n", 2, 4)], [(1,)])
    writes = count_writes(conn)
    cur = conn.cursor()
    assert cur.execute("select n").fetchall() == [(1,)]
    assert writes() == 2
    assert cur.execute("select n").fetchall() == [(1,)]
    assert writes() == 1
    cur.execute("create table t (a integer)")
    writes()
    cur.execute("insert into t values (?)", (1,))
    assert writes() == 2
    cur.execute("insert into t values (?)", (2,))
    assert writes() == 1
    cur.executemany("insert into t values (?)", [(i,) for i in range(1000)])
    assert writes() == 1


def count_writes(conn):
    """How often the driver has written (and then waited) since the last call."""
    sock = conn._transport._sock

    class Counting:
        count = 0

        def __getattr__(self, name):
            return getattr(sock, name)

        def sendall(self, data):
            self.count += 1
            sock.sendall(data)

    counting = conn._transport._sock = Counting()

    def since():
        count, counting.count = counting.count, 0
        return count

    return since


def test_several_cursors_are_open_at_once(server, connect):
    rows = [(i,) for i in range(3000)]
    server.rules["select n"] = Result([Col("n", 2, 4)], rows)
    server.rules["select m"] = Result([Col("m", 2, 4)], rows)
    conn = connect(autocommit=True, fetch_buffer=4096)
    first, second, third = conn.cursor(), conn.cursor(), conn.cursor()
    first.execute("select n")
    second.execute("select m")
    third.execute("select n")  # the same text while the other is open: a statement of its own
    together = [(a, b, c) for (a,), (b,), (c,) in zip(first, second, third, strict=True)]
    assert together == [(i, i, i) for i in range(3000)]


def test_an_abandoned_cursor_is_closed_with_the_next_request(server, connect):
    server.rules["select n"] = Result([Col("n", 2, 4)], [(i,) for i in range(3000)])
    conn = connect(autocommit=True, fetch_buffer=4096)
    with conn.cursor() as cur:
        cur.execute("select n")
        assert cur.fetchone() == (0,)
    assert server.log[-1] != "id close"
    assert conn.cursor().execute("select n").fetchone() == (0,)
    assert "id close" in server.log


def test_statement_cache_is_bounded_and_emptied_by_ddl(server, connect):
    conn = connect(autocommit=True, statement_cache=2)
    cur = conn.cursor()
    for i in range(5):
        server.rules[f"select {i}"] = Result([Col("n", 2, 4)], [(i,)])
        assert cur.execute(f"select {i}").fetchall() == [(i,)]
    assert len(conn._session.cache) == 2
    assert server.log.count("id release") == 2  # one more waits for the next request
    cur.execute("create table t (a integer)")
    assert len(conn._session.cache) == 0
    without = connect(autocommit=True, statement_cache=0)
    assert without.cursor().execute("select 1").fetchall() == [(1,)]
    assert not without._session.cache


def test_a_stale_statement_is_prepared_anew(server, conn):
    calls = []

    def rule(values):
        calls.append(1)
        if len(calls) == 4:
            return SqlError(-710, 0, "t")
        return Result([Col("n", 2, 4)], [(len(calls),)])

    server.rules["select n"] = rule
    cur = conn.cursor()
    assert cur.execute("select n").fetchall() == [(2,)]  # once for PREPARE, once for OPEN
    assert cur.execute("select n").fetchall() == [(3,)]
    assert cur.execute("select n").fetchall() == [(6,)]  # -710, then PREPARE and OPEN again


def test_errors_have_class_numbers_and_name(server, conn):
    cases = {
        "e1": (SqlError(-201, 0, "", 8), ProgrammingError),
        "e2": (SqlError(-268, -100, "u1"), IntegrityError),
        "e3": (SqlError(-1213), DataError),
        "e4": (SqlError(-256), NotSupportedError),
        "e5": (SqlError(-244, -143, "t"), OperationalError),
        "e6": (SqlError(-9999, -9, "thing"), informix_db.DatabaseError),
        "e7": (SqlError(-746, 0, "my own text"), informix_db.DatabaseError),
    }
    for sql, (error, cls) in cases.items():
        server.rules[sql] = error
        with pytest.raises(cls) as caught:
            conn.cursor().execute(sql)
        e = caught.value
        assert type(e) is cls
        assert (e.sqlcode, e.isamcode, e.object_name, e.offset) == (error.sqlcode, error.isam, error.name, error.offset)
        assert str(e.sqlcode) in str(e)
        assert e.retryable == (sql == "e5")
        assert not e.session_dead
    assert "my own text" in str(e)
    with pytest.raises(IntegrityError, match="u1"):
        conn.cursor().execute("e2")
    assert conn.cursor().execute("select 1").fetchall() == [(1,)]


def test_every_known_code_makes_its_error():
    from informix_db._core.errcodes import CODES, server_error

    for code, known in CODES.items():
        error = server_error(code, 0, 0, "thing")
        assert type(error) is known.cls
        assert str(code) in str(error)
        assert "{}" not in str(error)
        assert "thing" in str(error)
    assert len(CODES) > 250
    assert server_error(-244, -154, 0, "").retryable
    assert not server_error(-244, -111, 0, "").retryable
    assert server_error(-908, 0, 0, "").session_dead


def test_wrong_password_and_database(server, connect):
    with pytest.raises(OperationalError, match="Incorrect password") as caught:
        connect(password="wrong")
    assert caught.value.sqlcode == -951
    with pytest.raises(OperationalError, match="-329"):
        connect(database="nosuchdb")
    with pytest.raises(InterfaceError):
        connect(user="")
    with pytest.raises(InterfaceError):
        connect(client_locale="en_US")
    with pytest.raises(OperationalError, match="cannot connect"):
        informix_db.connect("127.0.0.1", 1, user="x", password="y", connect_timeout=5)


def test_connecting_without_a_database(server, connect):
    conn = connect(database=None)
    assert conn.database is None
    assert "dbopen" not in server.log


def test_misuse_is_an_error(conn):
    cur = conn.cursor()
    with pytest.raises(ProgrammingError):
        cur.fetchone()
    cur.execute("create table t (a integer)")
    for wrong in (cur.fetchall, cur.fetchmany, cur.__iter__):
        with pytest.raises(ProgrammingError):
            wrong()
    cur.close()
    cur.close()
    with pytest.raises(InterfaceError):
        cur.execute("select 1")
    conn.close()
    conn.close()
    assert conn.closed
    for wrong in (conn.cursor, conn.commit, conn.rollback):
        with pytest.raises(InterfaceError):
            wrong()


@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        ("select ?", ()),
        ("select ?", (1, 2)),
        ("select ?", {"a": 1}),
        ("select ?", "a"),
        ("select ?", 5),
        ("select :1, :2", (1,)),
        ("select :0", (1,)),
        ("select :a", {"b": 1}),
        ("select :a", (1,)),
        ("select ?, :1", (1, 2)),
        ("select :a, :1", (1, 2)),
    ],
)
def test_wrong_parameters_are_refused_before_anything_is_sent(server, conn, sql, parameters):
    before = len(server.log)
    with pytest.raises(ProgrammingError):
        conn.cursor().execute(sql, parameters)
    assert len(server.log) == before


@pytest.mark.parametrize(
    ("sql", "sent", "keys"),
    [
        ("select ?, '?', \"?\" -- ?\n, /* ? */ ? {?}", None, (1, 2)),
        ("select 'it''s ?', ?", None, (1,)),
        ("select :2, :1, :2", "select ?, ?, ?", (2, 1, 2)),
        ("select :a_1+:b", "select ?+?", ("a_1", "b")),
        ("select a::int, db:tab.col, '12:30:45' from stores:customer where x = :x", None, ("x",)),
        ("select SET{?, 1}", None, (1,)),
        ("select 1 -- unfinished ?", None, ()),
        ("select 'unfinished ?", None, ()),
        ("select extend(x, hour to minute) from t where t.y=:y and z>=:z", None, ("y", "z")),
    ],
)
def test_placeholders(sql, sent, keys):
    from informix_db.params import parse

    parsed = parse(sql)
    assert parsed.keys == keys
    assert parsed.sql == (sent or __import__("re").sub(r"(?<=[ =]):[xyz]\b", "?", sql))


def test_statements_without_parameters_are_sent_untouched(server, conn):
    sql = "select ':1 ? :a' , 5 as b -- ? :x"
    server.rules[sql] = Result([Col("n", 2, 4)], [(1,)])
    assert conn.cursor().execute(sql).fetchall() == [(1,)]


def test_parameters_are_never_spliced_into_the_text(server, conn):
    cur = conn.cursor()
    cur.execute("create table t (a varchar(50))")
    evil = "'); drop table t; --"
    cur.execute("insert into t values (?)", (evil,))
    assert server.binds[-1] == [evil]
    assert cur.execute("select a from t").fetchall() == [(evil,)]


def test_row_factories(server, connect):
    server.rules["select r"] = Result([Col("id", 2, 4), Col("Name", 13, 20), Col("count", 2, 4)], [(1, "a", 9)])
    conn = connect(row_factory=Row)
    row = conn.cursor().execute("select r").fetchone()
    assert row == (1, "a", 9)
    assert (row["id"], row.id, row["name"], row.Name, row[1], row["count"]) == (1, 1, "a", "a", "a", 9)
    assert row.keys() == ("id", "Name", "count")
    assert repr(row) == "Row(id=1, Name='a', count=9)"
    for wrong in ("nosuch", "ID2"):
        with pytest.raises(KeyError):
            row[wrong]
        with pytest.raises(AttributeError):
            getattr(row, wrong)
    import pickle

    assert pickle.loads(pickle.dumps(row)).name == "a"
    assert conn.cursor(row_factory=dict).execute("select r").fetchall() == [{"id": 1, "Name": "a", "count": 9}]
    pair = conn.cursor(row_factory=lambda names: lambda values: (names[0], values[0]))
    assert list(pair.execute("select r")) == [("id", 1)]
    assert pair.execute("select r").fetchmany(5) == [("id", 1)]


def test_text_in_the_locale(server, connect):
    server.rules["select t"] = Result([Col("t", 13, 20)], [("grüße",)])
    conn = connect()
    assert conn.encoding == "iso-8859-1"
    assert conn.cursor().execute("select t").fetchall() == [("grüße",)]
    utf8 = connect(client_locale="en_US.utf8")
    cur = utf8.cursor()
    with pytest.raises(DataError, match="'t'"):
        cur.execute("select t").fetchall()
    assert not utf8.closed
    server.rules["select u"] = Result([Col("t", 13, 20)], [(b"\x04" + "€a".encode(),)])
    assert cur.execute("select u").fetchall() == [("€a",)]
    with pytest.raises(ProgrammingError, match="character"):
        conn.cursor().execute("select '€'")


def test_locale_of_the_database(server, connect):
    sql = "select first 1 site from informix.systables where tabname = ' GL_COLLATE'"
    server.rules[sql] = Result([Col("site", 13, 128)], [("en_US.57372",)])
    server.rules["select u"] = Result([Col("t", 13, 20)], [(b"\x04" + "€a".encode(),)])
    conn = connect(db_locale="auto")
    assert conn.encoding == "utf-8"
    assert conn.cursor().execute("select u").fetchall() == [("€a",)]


def test_rows_before_a_bad_row_are_given_out(server, connect):
    rows = [(b"\1a",), (b"\1b",), (b"\1\xff",), (b"\1c",)]
    server.rules["select t"] = Result([Col("t", 13, 20)], rows)
    conn = connect(client_locale="en_US.utf8")
    cur = conn.cursor().execute("select t")
    assert cur.fetchone() == ("a",)
    assert cur.fetchone() == ("b",)
    for _ in range(2):
        with pytest.raises(DataError):
            cur.fetchone()
    assert conn.cursor().execute("select 1").fetchall() == [(1,)]


def test_callproc(server, conn):
    server.rules["execute procedure informix.add(?,?)"] = lambda v: Result([Col("s", 2, 4)], [(5,)], kind=56)
    server.rules["execute procedure nothing()"] = Result(kind=56)
    cur = conn.cursor()
    assert cur.callproc("informix.add", (2, 3)) == (2, 3)
    assert cur.fetchall() == [(5,)]
    cur.callproc("nothing")
    assert cur.description is None
    with pytest.raises(ProgrammingError):
        cur.callproc("x(); drop table t")


def test_scroll_cursor(server, conn):
    rows = [(i, f"r{i}") for i in range(10)]
    server.rules["select n"] = Result([Col("n", 2, 4), Col("s", 13, 20)], rows)
    cur = conn.cursor(scrollable=True)
    cur.execute("select n")
    assert cur.fetchone() == rows[0]
    assert cur.fetch_last() == rows[9]
    assert cur.fetchone() is None
    assert cur.fetch_prior() == rows[9] or cur.rownumber == 9
    assert cur.fetch_first() == rows[0]
    assert cur.rownumber == 1
    assert cur.fetch_prior() is None
    assert cur.fetchone() == rows[0]
    assert cur.fetch_absolute(4) == rows[4]
    assert cur.fetch_absolute(-1) == rows[9]
    assert cur.fetch_absolute(20) is None
    assert cur.fetch_absolute(4) == rows[4]
    assert cur.fetch_relative(3) == rows[7]
    assert cur.fetch_relative(-2) == rows[5]
    cur.scroll(-2)
    assert cur.fetchone() == rows[4]
    cur.scroll(0, "absolute")
    assert cur.fetchmany(3) == rows[:3]
    assert cur.fetchall() == rows[3:]
    for wrong in (-1, 11):
        with pytest.raises(IndexError):
            cur.scroll(wrong, "absolute")
    with pytest.raises(ProgrammingError):
        cur.scroll(1, "sideways")
    forward = conn.cursor().execute("select n")
    with pytest.raises(NotSupportedError):
        forward.scroll(1)
    server.rules["select none"] = Result([Col("n", 2, 4)], [])
    empty = conn.cursor(scrollable=True).execute("select none")
    assert (empty.fetchone(), empty.fetch_last(), empty.fetchall()) == (None, None, [])


def test_byte_and_text(server, conn):
    cur = conn.cursor()
    cur.execute("create table t (a integer, b blob, c text)")
    picture, story = bytes(range(256)) * 20, "ü" * 3001
    cur.execute("insert into t values (?, ?, ?)", (1, picture, informix_db.Text(story)))
    columns = [Col("a", 2, 4), Col("b", 11, 56), Col("c", 12, 56)]
    server.rules["select t"] = Result(columns, [(1, picture, story.encode("latin-1")), (2, None, b""), (3, b"x", None)])
    cur.execute("select t")
    assert cur.fetchall() == [(1, picture, story), (2, None, ""), (3, b"x", None)]
    assert cur.description[1][1] == informix_db.BINARY
    assert conn.cursor().execute("select a, b, c from t").fetchall() == [(1, picture, story)]


def test_text_that_cannot_be_decoded_leaves_the_connection_in_order(server, connect):
    server.rules["select t"] = Result([Col("c", 12, 56)], [(b"\xff\xfe",)])
    server.rules["select n"] = Result([Col("n", 2, 4)], [(1,)])
    conn = connect(client_locale="en_US.utf8")
    cur = conn.cursor()
    for _ in range(2):
        with pytest.raises(DataError, match="'c'"):
            cur.execute("select t")
        assert cur.execute("select n").fetchall() == [(1,)]


def test_smart_large_objects(server, conn):
    content = bytes(range(256)) * 40
    server.blobs["data"] = content
    conn.cursor().execute("create table photos (id integer, data blob)")
    sql = "select lotofile(data, '/tmp/_informix_db_blob', 'client') from photos where id = ?"
    server.rules[sql] = lambda v: Result([Col("f", 13, 200)], [("/tmp/x",)] if v[0] == 42 else [])
    cur = conn.cursor()
    assert cur.read_blob_column("select data from photos where id = ?", (42,)) == content
    assert (
        cur.read_blob_column(
            "SELECT data FROM photos where id = ?".replace("SELECT", "select").replace("FROM", "from"), (7,)
        )
        is None
    )
    import io

    stream = io.BytesIO()
    assert cur.read_blob_column("select data from photos where id = ?", (42,), into=stream) == len(content)
    assert stream.getvalue() == content
    for payload in (content, io.BytesIO(content), b""):
        cur.write_blob_column("insert into photos values (?, BLOB_PLACEHOLDER)", payload, (1,))
        assert server.files.pop("/tmp/_informix_db_blob_in") == (b"" if payload == b"" else content)
    server.file_amount = -1
    cur.write_blob_column("insert into photos values (?, BLOB_PLACEHOLDER)", content, (1,))
    assert server.files.pop("/tmp/_informix_db_blob_in") == content
    for wrong in ("insert into photos values (?)", "BLOB_PLACEHOLDER, BLOB_PLACEHOLDER"):
        with pytest.raises(ProgrammingError):
            cur.write_blob_column(wrong, b"", (1,))
    for wrong in ("update x set y = 1", "select a, b from t", "select a"):
        with pytest.raises(ProgrammingError):
            cur.read_blob_column(wrong)


def test_locators(server, conn):
    raw = bytes(range(72))
    col = Col("d", 41, 72, 10, "blob", encode=lambda v: b"\0" + (144).to_bytes(4, "big") + v.hex().encode())
    server.rules["select d"] = Result([col], [(raw,)])
    assert conn.cursor().execute("select d").fetchall() == [(informix_db.BlobLocator(raw),)]


def test_fast_path(server, conn):
    from struct import pack

    server.routines["function f(integer, lvarchar)"] = lambda n, s: [
        pack(">hhhi", 2, 0, 0, n + 1),
        pack(">hhh", 0, 0, 0) + pack(">h", len(s)) + s.encode() + b"\0" * (len(s) & 1),
        pack(">hhh", 2, -1, 0),
        pack(">hhh", 10, 0, 0x0E0A) + bytes.fromhex("0008c7141a06140c2238"),
        pack(">h", 41) + b"\0\0\0\7boolean\0" + pack(">hhi", 0, 0, 1) + b"t\0",
    ]
    for _ in range(2):
        assert conn.fast_path_call("function f(integer, lvarchar)", 4, "abc") == [
            5,
            "abc",
            None,
            dt.datetime(2026, 6, 20, 12, 34, 56),
            True,
        ]
    assert server.log.count("getroutine") == 1
    with pytest.raises(ProgrammingError, match="-674"):
        conn.fast_path_call("function nosuch()")


def test_server_version(server, connect):
    sql = "select dbinfo('version', 'full') from informix.systables where tabid = 1"
    server.rules[sql] = Result([Col("v", 13, 100)], [("IBM Informix Dynamic Server Version 14.10.FC7",)])
    conn = connect()
    assert conn.server_version.endswith("14.10.FC7")
    assert conn.server_version.endswith("14.10.FC7")
    assert server.log.count("prepare describe wantdone") == 1
    assert conn.server_capabilities.has(56)
    server.rules.clear()
    other = connect()
    assert other.server_version == other.server_version_internal


def test_column_batches(server, conn):
    pa = pytest.importorskip("pyarrow")
    np = pytest.importorskip("numpy")
    days = [dt.date(1970, 1, 1), None, dt.date(1899, 12, 31), dt.date(2026, 1, 2)]
    fixed = [(i % 4 or None, i * 3_000_000_000, i / 4, days[i % 4]) for i in range(20000)]
    server.rules["select f"] = Result([Col("a", 2, 4), Col("b", 52, 8), Col("c", 3, 8), Col("d", 7, 4)], fixed)
    cur = conn.cursor()
    rows = cur.execute("select f").fetchall()
    assert rows == fixed
    table = cur.execute("select f").fetch_arrow()
    assert table.schema.types == [pa.int32(), pa.int64(), pa.float64(), pa.date32()]
    assert [tuple(r.values()) for r in table.to_pylist()] == fixed
    arrays = cur.execute("select f").fetch_numpy()
    assert arrays["b"].dtype == np.int64
    assert arrays["b"].tolist() == [r[1] for r in fixed]
    assert arrays["a"].tolist() == [r[0] for r in fixed]
    assert arrays["d"].dtype == np.dtype("datetime64[D]")
    assert arrays["d"].tolist() == [r[3] for r in fixed]
    assert cur.rowcount == len(fixed)

    mixed = [(i, None if i % 7 == 0 else f"text {i}", i % 2 == 0) for i in range(20000)]
    server.rules["select m"] = Result([Col("a", 2, 4), Col("a", 13, 60), Col("t", 41, 1, 5, "boolean")], mixed)
    table = cur.execute("select m").fetch_arrow()
    assert table.column_names == ["a", "a_2", "t"]
    assert [tuple(r.values()) for r in table.to_pylist()] == mixed
    part = cur.execute("select m")
    assert part.fetchmany(3) == mixed[:3]
    assert part.fetch_numpy()["a"].tolist() == [r[0] for r in mixed[3:]]
    server.rules["select none"] = Result([Col("a", 2, 4), Col("d", 7, 4)], [])
    assert cur.execute("select none").fetch_arrow().num_rows == 0
    assert cur.execute("select none").fetch_numpy()["a"].dtype == np.int32


def test_arrow_of_every_type(server, conn):
    pa = pytest.importorskip("pyarrow")
    from decimal import Decimal

    from informix_db import IntervalYM

    h = bytes.fromhex
    cols = [
        Col("dec", 5, 0x0A02),
        Col("fdec", 5, 0x10FF),
        Col("ts", 10, 0x130F),
        Col("day", 10, 0x0804),
        Col("tm", 10, 0x066A),
        Col("ds", 14, 0x144F),
        Col("ym", 14, 0x0B02),
        Col("ch", 0, 6),
        Col("md", 10, 0x0424),
    ]
    row = tuple(
        map(
            h,
            (
                "3d57412c0000",
                "bf0a0000000000000000",
                "c7141a01020304050c2232",
                "c601020300",
                "c2040500",
                "c80000000003040506000000",
                "ca000000000206",
                "616263202020",
                "c50614",
            ),
        )
    )
    nulls = tuple(bytes(len(x)) for x in row)
    server.rules["select x"] = Result(cols, [row, nulls])
    cur = conn.cursor()
    values = cur.execute("select x").fetchall()
    assert values[1] == (None,) * len(cols)
    assert values[0][6] == IntervalYM(30)
    table = cur.execute("select x").fetch_arrow()
    assert table.schema.field("dec").type == pa.decimal128(10, 2)
    first, second = table.to_pylist()
    assert first == {
        "dec": Decimal("-1234.56"),
        "fdec": "0.001",
        "ts": dt.datetime(2026, 1, 2, 3, 4, 5, 123450),
        "day": dt.date(1, 2, 3),
        "tm": dt.time(0, 4, 5),
        "ds": dt.timedelta(3, 14706),
        "ym": 30,
        "ch": "abc",
        "md": "06-20",
    }
    assert set(second.values()) == {None}


def test_threads_share_a_connection(server, conn):
    import threading

    server.rules.update({f"select {i}": Result([Col("n", 2, 4)], [(i,)] * 500) for i in range(4)})
    wrong = []

    def work(i):
        for _ in range(40):
            with conn.cursor() as cur:
                if cur.execute(f"select {i}").fetchmany(2) != [(i,)] * 2:
                    wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not wrong
    assert conn._session.outstanding == 0


def test_data_frames(server, conn):
    server.rules["select f"] = Result([Col("a", 2, 4), Col("b", 13, 20)], [(1, "x"), (None, None)])
    cur = conn.cursor().execute("select f")
    try:
        import pandas
    except ImportError:
        with pytest.raises(NotSupportedError, match="pandas"):
            cur.fetch_df()
        return
    frame = cur.fetch_df()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["b"].tolist()[0] == "x"
    assert frame["a"].isna().tolist() == [False, True]


def test_ping_and_liveness(server, conn):
    server.rules["select 1 from informix.systables where tabid = 1"] = Result([Col("n", 2, 4)], [(1,)])
    assert conn.is_alive()
    conn.ping()
    server.close()
    assert not conn.is_alive()
