#!/usr/bin/env python3
"""When answers come, and which do not come at all: what tests/wire cannot say, because it only compares texts.

    python3 tests/session/moments.py                                     # pgsqlite ($PGSQLITE_BIN, else the newest build)
    ORACLE_VERSION=18 tools/oracle.sh python3 tests/session/moments.py --target postgres   # PostgreSQL 15 does the same
"""

from __future__ import annotations

import pathlib
import socket
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import pgwire  # noqa: E402
import server  # noqa: E402
from messages import CLIENT  # noqa: E402




def complete_answers_come_before_what_lasts(connect) -> None:
    """The second query waits for a lock that is given only after the first one's answer has come."""
    holder, asker = connect(), connect()
    holder.query("SELECT pg_advisory_lock(1)")
    for first in (
        CLIENT["Query"]("SELECT 1"),
        CLIENT["Parse"]("", "SELECT 1") + CLIENT["Bind"]() + CLIENT["Execute"]() + CLIENT["Sync"](),
    ):
        asker.sock.sendall(first + CLIENT["Query"]("SELECT pg_advisory_lock(1), pg_advisory_unlock(1)"))
        assert asker.until_ready()[-1] == (b"Z", b"I")
        holder.query("SELECT pg_advisory_unlock(1)")
        assert asker.until_ready()[-1] == (b"Z", b"I")
        holder.query("SELECT pg_advisory_lock(1)")
    asker.close()
    holder.close()


def statement_timeout_runs_between_messages(connect) -> None:
    connection = connect()
    connection.query("SET statement_timeout = 200")
    connection.sock.sendall(CLIENT["Parse"]("", "SELECT 1") + CLIENT["Flush"]())
    assert connection.receive()[0] == b"1"
    time.sleep(0.5)
    connection.sock.sendall(CLIENT["DescribeStatement"]() + CLIENT["Sync"]())
    kind, body = connection.until_ready()[0]
    assert kind == b"E" and pgwire.fields_of(body)["C"] == "57014", (kind, body)
    connection.query("SELECT 1")
    connection.close()


def errors_and_notices_say_where_they_were_made(connect) -> None:
    connection = connect()
    for sql, wanted in (("SELECT 1 / 0", b"E"), ("DO $$ BEGIN RAISE WARNING 'x'; END $$", b"N")):
        fields = [pgwire.fields_of(body) for kind, body in connection.simple(sql) if kind == wanted]
        assert len(fields) == 1 and all(fields[0].get(code) for code in "FLR") and fields[0]["L"].isdigit(), fields
    connection.close()


def cursors_go_on_beside_definitions(connect) -> None:
    """Others make, change and drop tables, also temporary ones, between and during DECLARE and FETCH."""
    reader, architect = connect(), connect()
    reader.query("CREATE TABLE rows_of (i int); INSERT INTO rows_of SELECT generate_series(1, 50)")
    over = threading.Event()

    def define() -> None:
        n = 0
        while not over.is_set():
            n += 1
            kind = ("TABLE", "TEMP TABLE")[n % 2]
            architect.query(f"CREATE {kind} made (i int)")
            architect.query("ALTER TABLE made ADD COLUMN j int")
            architect.query("DROP TABLE made")

    thread = threading.Thread(target=define, daemon=True)
    thread.start()
    try:
        for i in range(60):
            reader.query("BEGIN" if i % 3 else "BEGIN ISOLATION LEVEL REPEATABLE READ")
            reader.query("DECLARE c CURSOR FOR SELECT i FROM rows_of ORDER BY i" if i % 2 else "DECLARE c SCROLL CURSOR FOR SELECT i FROM rows_of ORDER BY i")
            rows = reader.query("FETCH 3 FROM c") + reader.query("FETCH 7 FROM c") + reader.query("FETCH ALL FROM c")
            assert [r[0] for r in rows] == [str(n) for n in range(1, 51)], rows
            reader.query("COMMIT")
    finally:
        over.set()
        thread.join(30)
    reader.query("DROP TABLE rows_of")
    architect.close()
    reader.close()


def what_is_no_startup_packet_gets_no_answer(address: str) -> None:
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(30)
        s.connect(address)
        s.sendall(b"X\0\0\0\4")
        try:
            assert s.recv(100) == b""
        except ConnectionResetError:
            pass


def a_client_that_goes_away_ends_its_statement(connect) -> None:
    """With client_connection_check_interval; without it, the statement runs on, as in PostgreSQL."""
    looking = connect()
    for lasts in ("SELECT count(*) FROM generate_series(1, 1000000000000) g WHERE g < 0", "SELECT pg_sleep(1000)"):
        leaving = connect()
        leaving.query("SET client_connection_check_interval = 50")
        pid = leaving.query("SELECT pg_backend_pid()")[0][0]
        leaving.sock.sendall(CLIENT["Query"](lasts))
        running = f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND state = 'active'"
        while looking.query(running) != [["1"]]:
            time.sleep(0.01)
        leaving.sock.close()
        # (a test that waits for too long is ended from outside)
        while looking.query(f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}") != [["0"]]:
            time.sleep(0.05)
    looking.close()


def leave_while_running(connect, looking, statement: str, interval: int = 0) -> str:
    """Sends a statement and goes away once it runs. Returns the session's process number."""
    leaving = connect()
    leaving.query(f"SET client_connection_check_interval = {interval}")
    pid = leaving.query("SELECT pg_backend_pid()")[0][0]
    leaving.sock.sendall(CLIENT["Query"](statement))
    while looking.query(f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND state = 'active'") != [["1"]]:
        time.sleep(0.01)
    time.sleep(0.05)
    leaving.sock.close()
    return pid


def wait_for_end(looking, pid: str) -> None:
    # (a test that waits for too long is ended from outside)
    while looking.query(f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}") != [["0"]]:
        time.sleep(0.05)


MANY = "generate_series(1, 30000) a, generate_series(1, 30000) b"
SLOW = f"(SELECT count(*) FROM {MANY} WHERE a + b < 0)"


def a_change_whose_client_goes_away_is_undone(connect) -> None:
    """With client_connection_check_interval; its locks are free then."""
    looking = connect()
    looking.query("CREATE TABLE left_behind (i int); INSERT INTO left_behind VALUES (1), (2)")
    for begins in ("", "BEGIN; "):
        pid = leave_while_running(connect, looking, f"{begins}UPDATE left_behind SET i = i + 10 + {SLOW}", 50)
        wait_for_end(looking, pid)
        looking.query("SET lock_timeout = '10s'; UPDATE left_behind SET i = i; RESET lock_timeout")
        assert looking.query("SELECT sum(i) FROM left_behind") == [["3"]]
    looking.query("DROP TABLE left_behind")
    looking.close()


def rows_for_a_client_that_has_gone_away_end(connect) -> None:
    """By default: the statement ends when it writes to the closed socket."""
    looking = connect()
    for rows in (f"SELECT repeat('x', 1000) FROM {MANY}", f"COPY (SELECT repeat('x', 1000) FROM {MANY}) TO STDOUT"):
        wait_for_end(looking, leave_while_running(connect, looking, rows))
    looking.close()


def a_writer_whose_client_has_gone_makes_way(connect) -> None:
    """By default a statement goes on whose client has gone away, as in PostgreSQL. One that keeps others from writing ends once one waits."""
    looking = connect()
    looking.query("CREATE TABLE kept (i int); CREATE TABLE beside (i int); INSERT INTO kept VALUES (1), (2)")
    pid = leave_while_running(connect, looking, f"UPDATE kept SET i = i + 10 + {SLOW}")
    time.sleep(0.5)
    assert looking.query(f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND state = 'active'") == [["1"]]
    looking.query("SET lock_timeout = '20s'; INSERT INTO beside VALUES (1)")
    wait_for_end(looking, pid)
    assert looking.query("SELECT sum(i) FROM kept") == [["3"]]
    # who is there is waited for
    there = connect()
    there.sock.sendall(CLIENT["Query"]("UPDATE kept SET i = i + (SELECT count(*) FROM generate_series(1, 2000000) g WHERE g < 0)"))
    while looking.query("SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'UPDATE kept%'") != [["1"]]:
        time.sleep(0.01)
    looking.query("INSERT INTO beside VALUES (2)")
    assert there.until_ready()[0] == (b"C", b"UPDATE 2\0")
    looking.query("DROP TABLE kept, beside")
    there.close()
    looking.close()


def a_client_that_takes_nothing_is_terminated(connect) -> None:
    looking, stuck = connect(), connect()
    pid = stuck.query("SELECT pg_backend_pid()")[0][0]
    stuck.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stuck.sock.sendall(CLIENT["Query"]("COPY (SELECT repeat('x', 1000) FROM generate_series(1, 1000000)) TO STDOUT"))
    while looking.query(f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND state = 'active'") != [["1"]]:
        time.sleep(0.01)
    # until the socket is full
    time.sleep(1)
    assert looking.query(f"SELECT pg_terminate_backend({pid})") == [["t"]]
    while looking.query(f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}") != [["0"]]:
        time.sleep(0.05)
    looking.close()
    stuck.sock.close()


def main() -> int:
    def check(directory: str, connect) -> None:
        complete_answers_come_before_what_lasts(connect)
        statement_timeout_runs_between_messages(connect)
        errors_and_notices_say_where_they_were_made(connect)
        cursors_go_on_beside_definitions(connect)
        a_client_that_goes_away_ends_its_statement(connect)
        a_change_whose_client_goes_away_is_undone(connect)
        rows_for_a_client_that_has_gone_away_end(connect)
        a_client_that_takes_nothing_is_terminated(connect)
        what_is_no_startup_packet_gets_no_answer(f"{directory}/.s.PGSQL.5432")

    if "postgres" in sys.argv:
        import os

        check(os.environ["PGHOST"], lambda: pgwire.from_environment("postgres"))
    else:
        with server.Server("--in-memory") as running:
            connect = lambda: pgwire.Connection(running.dir, running.port, "postgres", "postgres")  # noqa: E731
            check(running.dir, connect)
            a_writer_whose_client_has_gone_makes_way(connect)
    print("tests/session: moments, 10 checks, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
