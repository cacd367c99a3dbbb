#!/usr/bin/env python3
"""A transaction that reads for long does not let the log grow without end (`--log-limit`).

    log.py [NAME…]

While one session reads, another writes many times the limit. Writing goes on, the reader ends with 72000, and the log begins anew.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import socket
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402
from cases import Cases  # noqa: E402

cases = Cases()
LIMIT = 8
# Where readers are to be left alone: none of them is so slow, on any machine, that half of this is written while it reads.
AMPLE = 48
ROW = 100_000


class Setting:
    """A server with this limit and its connections."""

    def __init__(self, limit: int = LIMIT):
        self.server = server.Server("--log-limit", str(limit))
        self.writer = self.connect()
        self.writer.query("CREATE TABLE t (i int PRIMARY KEY, s text)")
        self.writer.query(f"INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 1000) g")

    def connect(self) -> pgwire.Connection:
        return pgwire.Connection(self.server.dir, self.server.port, "postgres", "main", timeout=120)

    def write(self, mib: int) -> None:
        """Replaces rows, so that the log gets so many MiB longer, or begins anew."""
        for n in range(mib * (1 << 20) // ROW):
            self.writer.query(f"INSERT INTO t VALUES (-1, repeat('y', {ROW})) ON CONFLICT (i) DO UPDATE SET s = repeat('{n % 10}', {ROW})")

    def log(self) -> float:
        """MiB"""
        return os.path.getsize(self.server.database + "-wal") / (1 << 20)

    def said(self) -> str:
        return pathlib.Path(self.server.dir, "server.log").read_text()

    def __enter__(self) -> "Setting":
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()


def error(messages: list[tuple[bytes, bytes]]) -> dict[str, str]:
    return next((pgwire.fields_of(body) for kind, body in messages if kind == b"E"), {})


@cases.test
def a_silent_reader_loses_its_session() -> None:
    with Setting() as s:
        reader = s.connect()
        reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
        before = reader.query("SELECT count(*), max(i) FROM t")
        s.write(LIMIT // 2)
        # it sees what it saw, and is left alone
        assert reader.query("SELECT count(*), max(i) FROM t") == before
        s.write(LIMIT * 4)
        assert s.log() < LIMIT * 3, s.log()
        kind, body = reader.receive()
        fields = pgwire.fields_of(body)
        assert kind == b"E" and (fields["S"], fields["C"], fields["M"]) == ("FATAL", "72000", "snapshot too old"), fields
        assert "keeps it from beginning anew" in s.said() and "is ended" in s.said(), s.said()
        assert s.writer.query("SELECT count(*) FROM t WHERE i = -1") == [["1"]]


@cases.test
def a_running_query_ends_and_its_session_goes_on() -> None:
    with Setting() as s:
        reader = s.connect()
        ended: list[dict[str, str]] = []
        query = threading.Thread(target=lambda: ended.append(error(reader.simple("SELECT count(*) FROM t a, t b, t c WHERE a.i + b.i + c.i < 0"))))
        query.start()
        s.write(LIMIT * 4)
        query.join(60)
        assert ended and (ended[0].get("S"), ended[0].get("C")) == ("ERROR", "72000"), ended
        assert reader.query("SELECT count(*) FROM t WHERE i > 0") == [["1000"]]
        assert s.log() < LIMIT * 3, s.log()


@cases.test
def a_client_that_does_not_take_its_rows_is_no_exception() -> None:
    with Setting() as s:
        s.writer.query("INSERT INTO t SELECT 10000 + g, repeat('z', 10000) FROM generate_series(1, 3000) g")
        reader = s.connect()
        reader.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.send(b"Q", b"COPY t TO STDOUT\0")
        s.write(LIMIT * 5)
        assert s.log() < LIMIT * 3, s.log()
        assert "is ended" in s.said(), s.said()
        with contextlib.suppress(pgwire.ServerGone, OSError):
            found = error(reader.until_ready())
            assert found.get("C") in ("72000", "57P01"), found


@cases.test
def readers_that_come_and_go_are_left_alone() -> None:
    with Setting(AMPLE) as s:
        over = threading.Event()
        wrong: list[str] = []

        def read() -> None:
            c = s.connect()
            while not over.is_set():
                found = error(c.simple("SELECT count(*) FROM t WHERE s LIKE '%x'"))
                if found:
                    wrong.append(str(found))
                    return

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        s.write(AMPLE * 2)
        over.set()
        for reader in readers:
            reader.join()
        assert not wrong, wrong
        assert "is ended" not in s.said(), s.said()


@cases.test
def readers_that_overlap_do_not_keep_the_log() -> None:
    with Setting(AMPLE) as s:
        over = threading.Event()
        wrong: list[str] = []

        def read() -> None:
            c = s.connect()
            while not over.is_set():
                found = error(c.simple("SELECT count(*) FROM t a, (SELECT * FROM t LIMIT 100) b WHERE a.s < b.s"))
                if found:
                    wrong.append(str(found))
                    return

        readers = [threading.Thread(target=read) for _ in range(4)]
        for reader in readers:
            reader.start()
        s.write(AMPLE * 2)
        over.set()
        for reader in readers:
            reader.join()
        assert not wrong, wrong
        assert s.log() < AMPLE * 2, s.log()
        assert "is ended" not in s.said(), s.said()


@cases.test
def without_a_limit_nobody_is_ended() -> None:
    with Setting(0) as s:
        reader = s.connect()
        reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
        before = reader.query("SELECT count(*) FROM t")
        s.write(LIMIT * 3)
        assert reader.query("SELECT count(*) FROM t") == before
        assert s.log() > LIMIT * 2


if __name__ == "__main__":
    sys.exit(cases.run(sys.argv[1:]))
