#!/usr/bin/env python3
"""When answers come, and which do not come at all: what tests/wire cannot say, because it only compares texts.

    python3 tests/session/moments.py                                     # pgsqlite ($PGSQLITE_BIN, else the newest build)
    tools/oracle.sh python3 tests/session/moments.py --target postgres   # PostgreSQL 15 does the same
"""

from __future__ import annotations

import pathlib
import socket
import sys
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


def what_is_no_startup_packet_gets_no_answer(address: str) -> None:
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(30)
        s.connect(address)
        s.sendall(b"X\0\0\0\4")
        try:
            assert s.recv(100) == b""
        except ConnectionResetError:
            pass


def main() -> int:
    def check(directory: str, connect) -> None:
        complete_answers_come_before_what_lasts(connect)
        statement_timeout_runs_between_messages(connect)
        errors_and_notices_say_where_they_were_made(connect)
        what_is_no_startup_packet_gets_no_answer(f"{directory}/.s.PGSQL.5432")

    if "postgres" in sys.argv:
        import os

        check(os.environ["PGHOST"], lambda: pgwire.from_environment("postgres"))
    else:
        with server.Server("--in-memory") as running:
            check(running.dir, lambda: pgwire.Connection(running.dir, running.port, "postgres", "postgres"))
    print("tests/session: moments, 4 checks, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
