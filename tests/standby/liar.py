#!/usr/bin/env python3
"""A primary that lies: whatever a server sends that is none, or not the standby's, the standby applies nothing of it, and follows its own primary again.

    liar.py [--seed N]

A program answers as a primary does, and then sends changes that are cut off, changed, in another order, or of somebody else.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import signal
import socket
import struct
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "lib"))
import kills  # noqa: E402
import pgwire  # noqa: E402


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def part(kind: bytes, body: bytes, place: int = 1 << 40) -> bytes:
    return message(b"d", b"w" + struct.pack("!QQq", place, place, 0) + kind + body)


def recorded(folder: str) -> list[bytes]:
    """What a primary sends of a copy: its messages."""
    connection = pgwire.Connection(folder, 5432, "postgres", "main", replication="true")
    connection.send(b"Q", b"START_REPLICATION PHYSICAL 0/0 (format 'ltx3')\0")
    found = []
    while True:
        kind, body = connection.receive()
        if kind == b"d":
            found.append(body)
            if body[:1] == b"w" and body[25:26] == b"E":
                connection.sock.close()
                return found


class Liar:
    """A server that says what it is told, to one client after the other."""

    def __init__(self, folder: str, lies: list[bytes]):
        os.makedirs(folder, exist_ok=True)
        self.dir, self.lies, self.told = folder, lies, 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{folder}/.s.PGSQL.5432")
        self.listener.listen(4)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                self.answer(client)
            except OSError:
                pass
            client.close()

    def answer(self, client: socket.socket) -> None:
        client.settimeout(5)
        client.recv(10_000)
        ready = message(b"Z", b"I")
        client.sendall(message(b"R", struct.pack("!i", 0)) + ready)
        client.recv(10_000)
        values = [b"7", b"1", b"0/1", None]
        row = struct.pack("!h", 4) + b"".join(struct.pack("!i", -1) if v is None else struct.pack("!i", len(v)) + v for v in values)
        client.sendall(message(b"D", row) + message(b"C", b"IDENTIFY_SYSTEM\0") + ready)
        client.recv(10_000)
        client.sendall(message(b"W", b"\0\0\0"))
        if self.told < len(self.lies):
            client.sendall(self.lies[self.told])
            self.told += 1
        # (a standby that finds nothing wrong waits for more)
        client.settimeout(0.1)
        try:
            while client.recv(10_000):
                pass
        except TimeoutError:
            pass


def lies(copy: list[bytes], position: str, chance: random.Random) -> list[bytes]:
    begin, *middle, end = copy
    data = b"".join(body[26:] for body in middle)
    whole = b"B\1" + begin[27:]
    own = f"{position} {position}".encode()

    def sent(kind: bytes, content: bytes) -> bytes:
        pieces = [content[i : i + 100_000] for i in range(0, len(content), 100_000)]
        return part(kind[:1], kind[1:]) + b"".join(part(b"P", piece) for piece in pieces)

    made = [
        b"HTTP/1.1 200 OK\r\n\r\n", message(b"d", b""), message(b"d", b"z"), message(b"T", b"\0\0"), b"d\x7f\xff\xff\xff", b"d\0\0\0\1", os.urandom(2000),
        part(b"E", b""), part(b"P", b"abc"), part(b"B", b"\0"), part(b"Q", b""), part(b"B", b"\0" + struct.pack("!Q", 1 << 41) + b"\xff\xfe"),
        part(b"M", struct.pack("!Q", 1 << 41) + b"1-2-3"),
        # changes that do not follow, and a file twice begun
        part(b"B", b"\0" + struct.pack("!Q", 1 << 41) + b"1-2-3 4-5-6") + part(b"P", data) + part(b"E", b""),
        sent(whole, data) + part(b"B", b"\1" + begin[27:]),
        # an empty file, and one of all pages that is said to be changes and is something else
        part(b"B", b"\0" + struct.pack("!Q", 1 << 41) + own) + part(b"E", b""),
        part(b"B", b"\0" + struct.pack("!Q", 1 << 41) + own) + part(b"P", b"x" * 5000) + part(b"E", b""),
    ]
    for _ in range(6):
        damaged = bytearray(data)
        for _ in range(chance.choice([1, 1, 3])):
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        made.append(sent(whole, bytes(damaged)) + part(b"E", b""))
        made.append(sent(whole, data[: chance.randrange(len(data))]) + chance.choice([b"", part(b"E", b"")]))
    made.append(sent(whole, data + b"more") + part(b"E", b""))
    return made


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    chance, problems = random.Random(parser.parse_args().seed), []
    with tempfile.TemporaryDirectory(prefix="pgsqlite-liar.") as folder:
        primary = kills.Node(f"{folder}/a", "--max-wal-senders", "4")
        standby = kills.Node(f"{folder}/b", "--standby", f"postgresql://postgres@/main?host={folder}/a")
        try:
            primary.start_server()
            connection = primary.connect()
            connection.query("CREATE TABLE t AS SELECT g AS i, md5(g::text) AS s FROM generate_series(1, 2000) g")
            standby.start_server()
            if different := kills.difference(primary, standby, folder):
                problems.append(different)
            copy = recorded(primary.dir)
            # (what the liar has is older than the standby)
            connection.query("DELETE FROM t WHERE i > 1000")
            if different := kills.difference(primary, standby, folder):
                problems.append(different)
            connection.close()
            standby.end(signal.SIGTERM)
            kept = pathlib.Path(f"{standby.database}.standby")
            before = kept.read_text()
            told = lies(copy, before.split()[2], chance)
            liar = Liar(f"{folder}/liar", told)
            flags, standby.flags = standby.flags, ("--standby", f"postgresql://postgres@/main?host={liar.dir}")
            standby.start_server()
            deadline = time.monotonic() + 120
            while liar.told < len(told) and time.monotonic() < deadline:
                if (rows := kills.asked(standby, "SELECT count(*) FROM t")) != "1000":
                    problems.append(f"after {liar.told} lies: {rows} rows")
                    break
                time.sleep(0.02)
            time.sleep(0.3)
            if liar.told < len(told):
                problems.append(f"only {liar.told} of {len(told)} lies were asked for")
            for sql, wanted in (("SELECT count(*) FROM t", "1000"), ("SELECT pg_is_in_recovery()", "t")):
                if (found := kills.asked(standby, sql)) != wanted:
                    problems.append(f"{sql}: {found}")
            liar.listener.close()
            standby.end(signal.SIGKILL)
            if kept.read_text() != before:
                problems.append(f"what is kept: {kept.read_text()!r}, not {before!r}")
            standby.flags = flags
            standby.start_server()
            connection = primary.connect()
            connection.query("UPDATE t SET s = 'x' WHERE i < 10")
            connection.close()
            if different := kills.difference(primary, standby, folder):
                problems.append(different)
        finally:
            for node in (primary, standby):
                node.end(signal.SIGKILL)
        if problems:
            print(pathlib.Path(standby.dir, "server.log").read_text()[-3000:])
    print("\n".join(problems))
    print(f"liar: {len(told)} lies, {len(problems)} problems")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
