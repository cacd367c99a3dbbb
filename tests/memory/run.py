#!/usr/bin/env python3
"""What the server needs in memory does not grow with what passes through it.

    run.py [--mib N]

COPY of N MiB into a table in one transaction, out of it, and as the rows of a SELECT; the most that the process had in memory up to then
(VmHWM, so the file's pages that the kernel keeps do not count, and without those of the program itself) must stay below 32 MiB each time.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402

LIMIT = 32
ROW = b"12345\tthe same text again and again, as long as lines of a log are: two hundred bytes or thereabouts, with a date (2026-11-22) in it\n"
#: what one CopyData message carries
PIECE = ROW * (65536 // len(ROW))


def peak(s: server.Server) -> float:
    """MiB, without the program's own pages: a debug build has many"""
    status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{s.process.pid}/status").read_text().splitlines())
    if "VmHWM" not in status:
        raise RuntimeError("the kernel does not report a process's peak")
    return (int(status["VmHWM"].split()[0]) - int(status["RssFile"].split()[0])) / 1024


def copy_in(c: pgwire.Connection, pieces: int) -> None:
    c.send(b"Q", b"COPY big FROM STDIN\0")
    kind, body = c.receive()
    assert kind == b"G", (kind, body)
    for _ in range(pieces):
        c.send(b"d", PIECE)
    c.send(b"c", b"")
    messages = c.until_ready()
    assert not [b for k, b in messages if k == b"E"], messages


def passed_through(c: pgwire.Connection, text: str) -> int:
    """Bytes of the answer, which is not kept."""
    c.send(b"Q", text.encode() + b"\0")
    size, tail = 0, b""
    while tail != b"Z\0\0\0\5I":
        data = c.sock.recv(1 << 20)
        assert data, "the server closed the connection"
        size += len(data)
        tail = (tail + data[-6:])[-6:]
    return size


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--mib", type=int, default=100)
    a = args.parse_args()
    pieces = (a.mib << 20) // len(PIECE) + 1
    size = pieces * len(PIECE)
    failed = 0
    with server.Server() as s:
        c = pgwire.Connection(s.dir, s.port, "postgres", "main", timeout=1800)
        c.query("CREATE TABLE big (n int, s text)")

        def check(what: str) -> None:
            nonlocal failed
            most = peak(s)
            failed += most >= LIMIT
            print(f"{what} of {size >> 20} MiB: {most:.1f} MiB at most{'' if most < LIMIT else f', MORE THAN {LIMIT}'}", flush=True)

        copy_in(c, pieces)
        check("COPY in")
        assert c.query("SELECT count(*) FROM big") == [[str(size // len(ROW))]]
        for what, text in (("COPY out", "COPY big TO STDOUT"), ("SELECT", "SELECT * FROM big")):
            assert passed_through(c, text) > size
            check(what)
        c.close()
    print(f"{3 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
