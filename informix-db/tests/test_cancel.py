"""Interrupting, time-outs and damaged connections of the blocking driver, also through a proxy that does harm."""

import os
import signal
import socket
import threading
import time

import pytest

import informix_db
from conftest import CREDENTIALS
from informix_db import InterfaceError, OperationalError, ProtocolError, QueryCanceledError, StatementTimeoutError
from informix_db._core.wire import Inbox
from peer.proxy import Proxy
from peer.server import Col, Result, Slow

ONE = Result([Col("n", 2, 4)], [(1,)])
ROWS = [(i, f"row number {i}") for i in range(2000)]


@pytest.fixture(autouse=True)
def slow(server):
    server.rules["select n"] = ONE
    server.rules["select rows"] = Result([Col("a", 2, 4), Col("b", 13, 40)], ROWS)
    rule = server.rules["select slow"] = Slow(ONE)
    return rule


def warm(conn):
    """The first execution is quick, and fills the statement cache: time-outs can only hit the execution itself."""
    assert conn.cursor().execute("select slow").fetchall() == [(1,)]
    return conn.cursor()


def usable(conn):
    return conn.cursor().execute("select n").fetchall() == [(1,)]


def through(proxy, **options):
    return informix_db.connect("127.0.0.1", proxy.port, **{**CREDENTIALS, "autocommit": True, **options})


def test_cancel_from_another_thread(conn, slow):
    assert not conn.cancel()
    for _ in range(3):
        cursor = warm(conn)
        canceller = threading.Thread(target=lambda: slow.working.wait(30) and conn.cancel())
        canceller.start()
        with pytest.raises(QueryCanceledError) as caught:
            cursor.execute("select slow")
        canceller.join()
        assert (caught.value.sqlcode, caught.value.isamcode) == (-213, -157)
        assert not conn.closed
        assert usable(conn)


def test_statement_timeout(conn):
    for _ in range(2):
        with pytest.raises(StatementTimeoutError):
            warm(conn).execute("select slow", timeout=0.1)
        assert usable(conn)
    cursor = warm(conn)
    conn.statement_timeout = 0.1
    with pytest.raises(StatementTimeoutError):
        cursor.execute("select slow")
    assert not conn.closed


def test_a_server_that_ignores_the_interrupt_loses_the_connection(conn, slow, monkeypatch):
    from informix_db import _net

    monkeypatch.setattr(_net, "CANCEL_GRACE", 0.1)
    slow.how = "deaf"
    with pytest.raises(StatementTimeoutError) as caught:
        warm(conn).execute("select slow", timeout=0.05)
    assert caught.value.session_dead
    assert conn.closed


def test_a_statement_that_ends_before_the_interrupt_closes_the_connection(conn, slow):
    slow.how = "late"
    with pytest.raises(StatementTimeoutError):
        warm(conn).execute("select slow", timeout=0.1)
    assert conn.closed


def test_read_timeout(conn, slow):
    slow.how = "deaf"
    cursor = warm(conn)
    conn._transport._read_timeout = 0.1
    with pytest.raises(OperationalError, match="read_timeout"):
        cursor.execute("select slow")
    assert conn.closed
    with pytest.raises(InterfaceError):
        conn.cursor()


def interrupted_by_signal(event):
    """Ctrl-C for this process as soon as the server works."""

    def press():
        assert event.wait(10)
        # The client waits for the answer by now.
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    return thread


@pytest.fixture(autouse=True)
def interrupts():
    """SIGINT raises KeyboardInterrupt, also in the background of a shell, which ignores the signal there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_interrupts_the_statement_and_keeps_the_connection(conn, slow):
    for _ in range(3):
        cursor = warm(conn)
        slow.working.clear()
        thread = interrupted_by_signal(slow.working)
        with pytest.raises(KeyboardInterrupt):
            cursor.execute("select slow")
        thread.join()
        assert not conn.closed
        assert usable(conn)


def test_ctrl_c_closes_the_connection_of_a_server_that_goes_on(conn, slow, monkeypatch):
    monkeypatch.setattr("informix_db._net.CANCEL_GRACE", 0.2)
    slow.how = "deaf"
    cursor = warm(conn)
    slow.working.clear()
    thread = interrupted_by_signal(slow.working)
    with pytest.raises(KeyboardInterrupt):
        cursor.execute("select slow")
    thread.join()
    assert conn.closed


def test_an_interrupt_while_sending_closes_the_connection(conn, monkeypatch):
    sock = conn._transport._sock

    class Interrupted:
        def __getattr__(self, name):
            return getattr(sock, name)

        def sendall(self, data):
            raise KeyboardInterrupt

    conn._transport._sock = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        conn.cursor().execute("select n")
    assert conn.closed


class Awkward:
    """A value whose methods fail as no driver expects."""

    def __index__(self):
        raise RuntimeError("awkward")


@pytest.mark.parametrize(
    "use",
    [
        lambda cursor: cursor.execute(None),
        lambda cursor: cursor.execute(b"select n"),
        lambda cursor: cursor.execute(17),
        lambda cursor: cursor.execute("select n", 5),
        lambda cursor: cursor.execute("select n where a = ?", (object(),)),
        lambda cursor: cursor.execute("select n where a = ?", (Awkward(),)),
        lambda cursor: cursor.executemany(None, [(1,)]),
        lambda cursor: cursor.executemany("insert into t values (?)", None),
        lambda cursor: cursor.executemany("insert into t values (?)", [5]),
        lambda cursor: cursor.executemany("insert into t values (?)", [(1,), (Awkward(),)]),
        lambda cursor: cursor.callproc(None),
        lambda cursor: cursor.read_blob_column(None),
        lambda cursor: cursor.connection.savepoint(None),
        lambda cursor: cursor.connection.fast_path_call(None),
        lambda cursor: cursor.execute("select n").fetchmany("a"),
    ],
)
def test_wrong_arguments_do_not_cost_the_connection(conn, use):
    with pytest.raises(Exception):
        use(conn.cursor())
    assert not conn.closed
    assert usable(conn)


def test_connect_timeout():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with pytest.raises(OperationalError):
            informix_db.connect("127.0.0.1", silent.getsockname()[1], **CREDENTIALS, connect_timeout=0.1)


@pytest.mark.parametrize("piece", [1, 3, 7, 1000])
def test_answers_in_small_pieces(server, piece):
    with Proxy(server.port, fault="trickle", piece=piece) as proxy:
        conn = through(proxy)
        cur = conn.cursor().execute("select rows")
        assert cur.fetchmany(300 if piece < 10 else 2000) == ROWS[: 300 if piece < 10 else 2000]
        conn.close()


class Counting(Inbox):
    """An inbox that counts the bytes that it copies."""

    copied = 0

    def feed(self, chunk):
        self.copied += len(chunk) + self.pending()
        super().feed(chunk)


@pytest.mark.parametrize("columns", [16, 64])
def test_answers_in_small_pieces_are_copied_a_fixed_number_of_times(server, columns):
    """A row of half a megabyte, and one of two, in pieces of a thousand bytes: what is copied grows as the row does."""
    row = tuple("x" * 32000 for _ in range(columns))
    described = [Col(f"c{i}", 43, 32000) for i in range(columns)]
    server.rules["select large"] = Result(described, [row, row])
    with Proxy(server.port, fault="trickle", piece=1000) as proxy:
        conn = through(proxy)
        before = proxy.passed
        inbox = conn._session.inbox = Counting()
        assert conn.cursor().execute("select large").fetchall() == [row, row]
        received = proxy.passed - before
        conn.close()
    assert received > 2 * 32000 * columns
    assert inbox.copied < 3 * received


def total_bytes(server):
    """Bytes that the server sends for the scenario below."""
    with Proxy(server.port, fault="trickle", piece=1 << 20) as proxy:
        scenario(proxy)
        return proxy.passed


def scenario(proxy):
    conn = through(proxy, read_timeout=10)
    try:
        assert conn.cursor().execute("select n").fetchall() == [(1,)]
        assert conn.cursor().execute("select rows").fetchall() == ROWS
        assert conn.cursor().execute("select n").fetchall() == [(1,)]
    finally:
        conn.close()


@pytest.mark.parametrize("fault", ["cut", "reset"])
def test_a_connection_that_breaks_anywhere_is_an_error(server, fault):
    total = total_bytes(server)
    for after in {*range(0, 700, 23), *range(700, total - 10, total // 12)}:
        with Proxy(server.port, fault=fault, after=after) as proxy:
            with pytest.raises(OperationalError) as caught:
                scenario(proxy)
            assert caught.value.session_dead


def test_silence_ends_with_the_read_timeout(server):
    for after in (0, 100, 400, 1000, 20000):
        with Proxy(server.port, fault="silence", after=after) as proxy:
            with pytest.raises(OperationalError):
                conn = through(proxy, read_timeout=0.2)
                conn.cursor().execute("select rows").fetchall()


def test_cancel_through_the_proxy_is_lost_and_the_connection_closed(server, monkeypatch):
    # The proxy does not pass urgent data on, as some firewalls do not.
    from informix_db import _net

    monkeypatch.setattr(_net, "CANCEL_GRACE", 0.2)
    with Proxy(server.port) as proxy:
        conn = through(proxy)
        with pytest.raises((StatementTimeoutError, ProtocolError)):
            warm(conn).execute("select slow", timeout=0.1)
        assert conn.closed
