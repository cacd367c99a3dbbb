#!/usr/bin/env python3
"""A standby delays nobody and keeps nothing without bound, whatever it does; and a primary that stops in good order sends its standbys everything first.

    bounds.py [--quick]
"""

from __future__ import annotations

import argparse
import os
import pathlib
import signal
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "lib"))
import kills  # noqa: E402
import pgwire  # noqa: E402
import server  # noqa: E402

MIB = 1 << 20


class Bounds:
    def __init__(self, folder: str):
        self.folder, self.problems = folder, []

    def expect(self, what: str, found: object, wanted: object) -> None:
        if found != wanted:
            self.problems.append(f"{what}: {found!r}, not {wanted!r}")

    def pair(self, name: str, *flags: str) -> tuple[kills.Node, kills.Node]:
        primary = kills.Node(f"{self.folder}/{name}-a", "--max-wal-senders", "3", *flags)
        standby = kills.Node(f"{self.folder}/{name}-b", "--standby", f"postgresql://postgres@/main?host={self.folder}/{name}-a")
        primary.start_server()
        standby.start_server()
        return primary, standby

    @staticmethod
    def log(node: kills.Node) -> str:
        return pathlib.Path(node.dir, "server.log").read_text()

    @staticmethod
    def log_bytes(node: kills.Node) -> int:
        """The bytes of the write-ahead log."""
        return os.path.getsize(f"{node.database}-wal")

    def stands_still(self) -> None:
        """A standby that does nothing for a while: the primary goes on, its log begins anew, and the standby is sent a copy in the end."""
        primary, standby = self.pair("still", "--wal-keep-size", "2")
        try:
            writer = primary.connect()
            writer.query("CREATE TABLE t (i int, s text)")
            self.expect("the first state", kills.difference(primary, standby, self.folder), "")
            standby.server.process.send_signal(signal.SIGSTOP)
            most = 0
            for i in range(80):
                writer.query(f"INSERT INTO t SELECT {i}, md5(g::text) || repeat('x', 900) FROM generate_series(1, 1000) g")
                most = max(most, self.log_bytes(primary))
            self.expect(f"the log is bounded ({most / MIB:.0f} MiB)", most < 100 * MIB, True)
            standby.server.process.send_signal(signal.SIGCONT)
            self.expect("the last state", kills.difference(primary, standby, self.folder), "")
            self.expect("a copy is told of", "is sent a copy of the whole database: what it has missed" in self.log(primary), True)
            # one large transaction, and one that rewrites everything
            writer.query("INSERT INTO t SELECT g, md5(g::text) || repeat('y', 900) FROM generate_series(1, 12000) g")
            self.expect("a large transaction", kills.difference(primary, standby, self.folder), "")
            writer.query("DELETE FROM t WHERE i % 2 = 0")
            writer.query("VACUUM FULL")
            self.expect("a smaller database", kills.difference(primary, standby, self.folder), "")
            writer.close()
        finally:
            for node in (primary, standby):
                node.end(signal.SIGKILL)

    def silent(self, node: server.Server, what: str, options: str, said: str, *, writes: bool = False) -> None:
        """A client that begins a stream and takes nothing of it, or says nothing."""
        client = pgwire.Connection(node.dir, 5432, "postgres", "main", replication="true", application_name=what, options=options)
        client.send(b"Q", b"START_REPLICATION PHYSICAL 0/0 (format 'ltx3')\0")
        writer = pgwire.Connection(node.dir, 5432, "postgres", "main")
        deadline = time.monotonic() + 30
        while said not in node.log_text() and time.monotonic() < deadline:
            if writes:
                writer.query("INSERT INTO t SELECT g, repeat('z', 900) FROM generate_series(1, 1000) g")
            time.sleep(0.05)
        self.expect(f"{what}: the log says so", said in node.log_text(), True)
        while (left := writer.query("SELECT count(*) FROM pg_stat_replication")) != [["0"]] and time.monotonic() < deadline:
            time.sleep(0.05)
        self.expect(f"{what}: connections that are left", left, [["0"]])
        writer.close()
        client.sock.close()

    def clients(self) -> None:
        node = server.Server("--max-wal-senders", "3", "--log-limit", "24")
        try:
            connection = pgwire.Connection(node.dir, 5432, "postgres", "main")
            connection.query("CREATE TABLE t (i int, s text)")
            connection.close()
            self.silent(node, "mute", "-c wal_sender_timeout=300ms", 'the standby "mute" of database "main" has said nothing for 300ms')
            connection = pgwire.Connection(node.dir, 5432, "postgres", "main")
            # (more than a socket takes, and of which little can be saved by compressing it)
            connection.query("INSERT INTO t SELECT g, (SELECT string_agg(md5((g * 31 + n)::text), '') FROM generate_series(1, 30) n) FROM generate_series(1, 8000) g")
            connection.close()
            self.silent(node, "full", "-c wal_sender_timeout=300ms", "took nothing of its result for 300ms")
            self.silent(node, "endless", "-c wal_sender_timeout=0", 'for the standby "endless" is given up: the log has grown', writes=True)
        finally:
            node.stop()

    def switchover(self) -> None:
        """Clients write until the primary is told to stop: the standby has all that was acknowledged."""
        primary, standby = self.pair("switch")
        acknowledged: list[int] = []
        try:
            connection = primary.connect()
            connection.query("CREATE TABLE t (i int PRIMARY KEY)")
            connection.close()
            self.expect("the first state", kills.difference(primary, standby, self.folder), "")

            def write(number: int) -> None:
                connection = primary.connect()
                try:
                    for i in range(number, 10_000_000, 4):
                        connection.query(f"INSERT INTO t VALUES ({i})")
                        acknowledged.append(i)
                except (RuntimeError, pgwire.ServerGone, OSError):
                    pass

            threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
            for thread in threads:
                thread.start()
            time.sleep(1)
            began = time.monotonic()
            primary.end(signal.SIGTERM)
            took = time.monotonic() - began
            for thread in threads:
                thread.join()
            self.expect(f"the primary stops at once ({took:.1f} s)", took < 8, True)
            self.expect("some rows", len(acknowledged) > 50, True)
            self.expect("pg_promote()", kills.asked(standby, "SELECT pg_promote()"), "t")
            connection = standby.connect()
            rows = {int(i) for (i,) in connection.query("SELECT i FROM t")}
            connection.close()
            self.expect("acknowledged rows that are missing", len(set(acknowledged) - rows), 0)
            # a standby that does not answer keeps nobody from stopping
            standby.flags = ("--max-wal-senders", "3")
            standby.end(signal.SIGTERM)
            standby.start_server()
            third = kills.Node(f"{self.folder}/third", "--standby", f"postgresql://postgres@/main?host={standby.dir}")
            third.start_server()
            try:
                self.expect("a third one", kills.difference(standby, third, self.folder), "")
                third.server.process.send_signal(signal.SIGSTOP)
                connection = standby.connect()
                connection.query("INSERT INTO t VALUES (-1)")
                connection.close()
                began = time.monotonic()
                standby.end(signal.SIGTERM)
                self.expect(f"a stop without an answer ({time.monotonic() - began:.1f} s)", time.monotonic() - began < 8, True)
            finally:
                third.server.process.send_signal(signal.SIGCONT)
                third.end(signal.SIGKILL)
        finally:
            for node in (primary, standby):
                node.end(signal.SIGKILL)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="without the standby that stands still")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pgsqlite-bounds.") as folder:
        bounds = Bounds(folder)
        if not options.quick:
            bounds.stands_still()
        bounds.clients()
        bounds.switchover()
    print("\n".join(bounds.problems))
    print(f"bounds: {len(bounds.problems)} problems")
    sys.exit(bool(bounds.problems))


if __name__ == "__main__":
    main()
