"""Transactions, savepoints, batches and insert cursors."""

import pytest

from informix_db import (
    DataError,
    IntegrityError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)
from peer.server import Col, Result, Server

INSERT = "insert into t values (?, ?)"


@pytest.fixture
def table(conn):
    conn.cursor().execute("create table t (a integer primary key, b varchar(20))")


def rows(conn):
    return conn.cursor().execute("select a, b from t order by a").fetchall()


def test_a_transaction_begins_with_the_first_statement(server, connect, table, conn):
    writer = connect()
    cur = writer.cursor()
    assert not writer.in_transaction
    cur.execute(INSERT, (1, "a"))
    assert writer.in_transaction
    begin = server.log.index("begin")
    assert server.log[begin - 1].startswith("prepare")  # after its PREPARE, in one write with the execution
    assert server.log[begin + 1] == "id bind execute"
    writer.rollback()
    assert not writer.in_transaction
    assert rows(conn) == []
    cur.execute(INSERT, (1, "a"))
    writer.commit()
    writer.commit()
    assert rows(conn) == [(1, "a")]
    assert server.log.count("commit") == 1


def test_autocommit_sends_no_begin(server, conn, table):
    conn.cursor().execute(INSERT, (1, "a"))
    assert "begin" not in server.log
    assert not conn.in_transaction
    conn.begin()
    with pytest.raises(ProgrammingError):
        conn.autocommit = False
    with pytest.raises(InternalError, match="-535"):
        conn.begin()
    conn.rollback()
    conn.autocommit = False
    assert not conn.autocommit


def test_sql_text_moves_the_state_too(server, connect):
    conn = connect(autocommit=True)
    conn.cursor().execute("begin work")
    assert conn.in_transaction
    conn.cursor().execute("rollback work")
    assert not conn.in_transaction


def test_a_failed_statement_leaves_the_transaction_open(connect, table, conn):
    writer = connect()
    cur = writer.cursor()
    cur.execute(INSERT, (1, "a"))
    with pytest.raises(IntegrityError):
        cur.execute(INSERT, (1, "b"))
    assert writer.in_transaction
    writer.commit()
    assert rows(conn) == [(1, "a")]


def test_context_manager(server, connect, table, conn):
    with connect() as writer:
        writer.cursor().execute(INSERT, (1, "a"))
    assert writer.closed
    with pytest.raises(ZeroDivisionError), connect() as writer:
        writer.cursor().execute(INSERT, (2, "b"))
        raise ZeroDivisionError
    assert rows(conn) == [(1, "a")]


def test_savepoints(connect, table, conn):
    writer = connect()
    cur = writer.cursor()
    cur.execute(INSERT, (1, "a"))
    writer.savepoint("one")
    cur.execute(INSERT, (2, "b"))
    writer.rollback_to_savepoint("one")
    writer.savepoint("two")
    writer.release_savepoint("two")
    with pytest.raises(ProgrammingError):
        writer.savepoint("x; drop table t")
    writer.commit()
    assert rows(conn) == [(1, "a")]


def test_transaction_blocks_nest(connect, table, conn):
    cur = conn.cursor()
    with conn.transaction():
        cur.execute(INSERT, (1, "a"))
        with pytest.raises(IntegrityError), conn.transaction():
            cur.execute(INSERT, (2, "b"))
            cur.execute(INSERT, (1, "c"))
        with conn.transaction():
            cur.execute(INSERT, (3, "d"))
    assert rows(conn) == [(1, "a"), (3, "d")]
    with pytest.raises(ZeroDivisionError), conn.transaction():
        cur.execute(INSERT, (4, "e"))
        raise ZeroDivisionError
    assert rows(conn) == [(1, "a"), (3, "d")]


def test_a_database_without_log():
    import informix_db

    with Server(warn=4) as s:
        conn = informix_db.connect("127.0.0.1", s.port, user="informix", password="in4mix", database="d")
        conn.cursor().execute("create table t (a integer)")
        assert "begin" not in s.log
        conn.commit()
        with pytest.raises(NotSupportedError):
            conn.rollback()
        conn.close()


def test_an_ansi_database_is_always_in_a_transaction():
    import informix_db

    with Server(warn=7) as s:
        conn = informix_db.connect("127.0.0.1", s.port, user="informix", password="in4mix", database="d")
        conn.cursor().execute("create table t (a integer)")
        assert "begin" not in s.log
        with pytest.raises(InternalError, match="-255"):  # this server is none, and says so
            conn.commit()
        assert s.log[-1] == "commit"
        conn.close()


def test_executemany_sends_many_rows_in_a_group(server, conn, table):
    cur = conn.cursor()
    cur.executemany(INSERT, [(i, f"r{i}") for i in range(2500)])
    assert cur.rowcount == 2500
    groups = [g for g in server.log if g.startswith("id bind execute")]
    assert [g.count("execute") for g in groups] == [1000, 1000, 500]
    assert len(rows(conn)) == 2500
    cur.executemany(INSERT, iter([]))
    assert cur.rowcount == 0
    cur.executemany("update t set b = :b where a = :a", [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])
    assert cur.rowcount == 2
    assert rows(conn)[1:3] == [(1, "x"), (2, "y")]


def test_executemany_tells_the_row_that_failed(server, conn, table):
    cur = conn.cursor()
    batch = [(1, "a"), (2, "b"), (1, "c"), (4, "d")]
    with pytest.raises(IntegrityError) as caught:
        cur.executemany(INSERT, batch)
    assert caught.value.row_index == 2
    assert rows(conn) == batch[:2]


def test_executemany_converts_before_it_sends(server, conn, table):
    cur = conn.cursor()
    with pytest.raises(DataError) as caught:
        cur.executemany(INSERT, [(1, "a"), (2, "€")])
    assert caught.value.row_index == 1
    with pytest.raises(ProgrammingError):
        cur.executemany(INSERT, [(1, "a"), (2,)])
    assert rows(conn) == []
    server.rules["select n"] = Result([Col("n", 2, 4)], [(1,)])
    with pytest.raises(ProgrammingError, match="returns rows"):
        cur.executemany("select n", [()])


@pytest.fixture
def described(server):
    server.input_columns[INSERT] = [Col("a", 2, 4), Col("b", 13, 20)]


def test_insert_cursor_inside_a_transaction(server, connect, conn, table, described):
    writer = connect()
    cur = writer.cursor()
    batch = [(i, f"r{i}") for i in range(1500)]
    cur.executemany(INSERT, batch)
    assert cur.rowcount == 1500
    groups = [g for g in server.log if " put" in g]
    assert groups[0].startswith("id curname open rettype put put")
    assert [g.count("put") for g in groups] == [1000, 500]
    assert server.log[-1] == "id close"  # its answer counts: buffered rows may fail as late as here
    assert not any("bind" in g for g in server.log)
    writer.commit()
    assert rows(conn) == batch
    cur.executemany(INSERT, [(i, "again") for i in range(2000, 2003)])
    writer.commit()
    assert len(rows(conn)) == 1503


def test_insert_cursor_leaves_conversions_to_the_server(server, connect, conn, table, described):
    writer = connect()
    writer.cursor().executemany(INSERT, [(1, "a"), ("2", "b")])
    assert not any(" put" in g for g in server.log)
    writer.commit()
    assert rows(conn) == [(1, "a"), (2, "b")]


def test_insert_cursor_tells_the_row_that_failed(server, connect, conn, table, described):
    writer = connect()
    server.fail_inserts_at = 3
    with pytest.raises(IntegrityError) as caught:
        writer.cursor().executemany(INSERT, [(i, "x") for i in range(10)])
    assert caught.value.row_index == 3
    writer.rollback()
    server.fail_inserts_at = None
    assert rows(conn) == []


def test_an_insert_cursor_must_account_for_every_row(server, connect, table, described, monkeypatch):
    from peer import server as peer

    real = peer.done
    monkeypatch.setattr(peer, "done", lambda rows=0, serial=0, warn=0: real(0, serial, warn))
    writer = connect()
    with pytest.raises(OperationalError, match="confirmed 0"):
        writer.cursor().executemany(INSERT, [(1, "x"), (2, "y")])


def test_held_cursors(server, connect):
    server.rules["select n"] = Result([Col("n", 2, 4)], [(i,) for i in range(3000)])
    conn = connect(fetch_buffer=4096)
    plain = conn.cursor().execute("select n")
    held = conn.cursor(hold=True).execute("select n")
    assert any("hold" in g for g in server.log)
    assert plain.fetchone() == (0,)
    assert held.fetchone() == (0,)
    conn.commit()
    with pytest.raises(InternalError, match="-259"):  # the server closed it
        plain.fetchall()


@pytest.mark.parametrize("method", ["xid", "tpc_begin", "tpc_prepare", "tpc_commit", "tpc_rollback", "tpc_recover"])
def test_two_phase_commit_is_refused_with_its_reason(conn, method):
    arguments = {"xid": (1, "a", "b"), "tpc_begin": ((1, "a", "b"),)}.get(method, ())
    with pytest.raises(NotSupportedError, match="by XA only"):
        getattr(conn, method)(*arguments)
