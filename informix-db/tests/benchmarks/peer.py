#!/usr/bin/env python3
"""This driver beside the existing pure-Python one (`informix-driver` from PyPI), in one run.

    peer.py            makes a second environment in build/peer, measures both in turns, prints the ratios
    peer.py --listener sessions with pgsqlite's SQLI listener ($PGSQLITE_BIN), in time on the wall
    peer.py --json FILE   writes the figures to a file as well (seconds)
    peer.py --measure  one side's figures as JSON, in whose environment it is run

What is measured is the client's processor time: the codecs alone, and sessions with the test server. With --listener it
is the time that a user waits. Both drivers have the import name `informix_db`, hence the two environments.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from struct import pack

HERE = Path(__file__).parent
BUILD = HERE.parent.parent / "build"
PEER = "informix-driver==2026.9.3"
#: Limits of the ratio to the peer: per row and per parameter, and what has to be as fast at least.
LIMITS = {
    "row of 5 columns": 0.7,
    "encode_param(int)": 0.6,
    "encode_param(int), compiled": 0.5,
    "one parameter, in its message": 0.5,
    "five parameters, in their message": 0.5,
    "row of 5 columns, compiled": 0.15,
    "100k rows, compiled": 0.4,
    "async, 100 tasks": 0.34,
}

PAYLOAD = pack(">i", 7) + b"\x0bhello world" + pack(">diq", 1.5, 46000, 1 << 40)
COLUMNS = [("id", 2, 4), ("name", 13, 50), ("price", 3, 8), ("day", 7, 4), ("big", 52, 8)]


#: What the driver uses, or what its user waits.
clock = time.perf_counter if "--listener" in sys.argv else time.process_time


def cost(work, repeat=7, inner=1):
    """Least time of one `work`, in seconds."""
    best = float("inf")
    for _ in range(repeat):
        began = clock()
        for _ in range(inner):
            work()
        best = min(best, (clock() - began) / inner)
    return best


def ours():
    from informix_db._core.messages.describe import Column
    from informix_db._core.rowplan import Plan
    from informix_db._core.types.decode import decode
    from informix_db._core.types.encode import bind, encode_param

    plan = Plan([Column(n, t, 0, 0, "", "", size) for n, t, size in COLUMNS], "iso-8859-1")
    message = pack(">hhi", 14, 0, len(PAYLOAD)) + PAYLOAD + b"\0" * (len(PAYLOAD) & 1)
    data = message * 1000

    def rows():
        out = []
        plan.decode_rows(data, 0, len(data), out)

    def message_of(values):
        return bind(values, "iso-8859-1")

    return decode, encode_param, message_of, cost(rows, 40) / 1000


def theirs():
    import io

    from informix_db.converters import decode, encode_param

    from informix_db import _protocol, _resultset, cursors

    columns = [_resultset.ColumnInfo(n, t, t, size) for n, t, size in COLUMNS]
    readers = _resultset.compile_column_readers(columns)
    decoder = _resultset.compile_row_decoder(readers, columns)
    body = pack(">hi", 0, len(PAYLOAD)) + PAYLOAD + b"\0" * (len(PAYLOAD) & 1)
    stream = body * 1000

    def rows():
        reader = _protocol.IfxStreamReader(io.BytesIO(stream))
        for _ in range(1000):
            _resultset.parse_tuple_payload(reader, columns, "iso-8859-1", readers, decoder)

    class Encoding:
        encoding = "iso-8859-1"

    cursor = object.__new__(cursors.Cursor)
    cursor._conn = Encoding()

    def message_of(values):
        # What its cursor does for each execution: a value's bytes are not yet those of the message.
        writer, buffer = _protocol.make_pdu_writer()
        writer.write_short(5)
        writer.write_short(len(values))
        cursor._emit_bind_params(writer, values)
        return buffer.getvalue()

    return decode, encode_param, message_of, cost(rows, 40) / 1000


def measure() -> dict[str, float]:
    import informix_db

    own = hasattr(informix_db, "ProtocolError")
    decode, encode_param, message_of, row = ours() if own else theirs()
    four = pack(">i", 42)
    five = (7, "hello world", 1.5, None, 42)
    assert message_of((42,)) == bytes.fromhex("0005 0001 0002 0000 0a00 0000002a")
    results = {
        "decode(int)": cost(lambda: decode(2, four), 40, 2000),
        "encode_param(int)": cost(lambda: encode_param(42), 40, 2000),
        "one parameter, in its message": cost(lambda: message_of((42,)), 40, 2000),
        "five parameters, in their message": cost(lambda: message_of(five), 40, 1000),
        "varchar, short": cost(lambda: decode(13, b"hello"), 40, 2000),
        "varchar, UTF-8": cost(lambda: decode(13, "grüße €".encode(), "utf-8"), 40, 2000),
        "row of 5 columns": row,
    }
    login = {"host": "127.0.0.1", "port": int(os.environ["PORT"]), "user": "informix", "password": "in4mix"}
    login |= {"database": "testdb", "server": "x"}
    conn = informix_db.connect(**login, autocommit=True)
    cur = conn.cursor()

    def query(sql):
        cur.execute(sql)
        return cur.fetchall()

    insert = "insert into bench_insert values (?, ?, ?, ?, ?)"
    batch = [(i, f"name of row {i}", i / 4, None, i << 20) for i in range(1000)]
    one = "select id from bench_rows where id = 1"
    if "--fill" in sys.argv:
        for name in ("bench_rows", "bench_insert"):
            key = " primary key" if name == "bench_rows" else ""
            cur.execute(f"create table {name} (id integer{key}, name varchar(40), price float, day date, big bigint)")
        with conn.transaction():
            sql = "insert into bench_rows values (?, ?, ?, ?, ?)"
            cur.executemany(sql, [(i, f"name of row {i}", i / 4, None, i << 20) for i in range(100_000)])
        return {}
    assert [tuple(r) for r in query(one)] == [(1,)]
    assert len(query("select * from bench_rows")) == 100_000
    results["SELECT of one row"] = cost(lambda: query(one), 5, 200)
    results["1000 rows"] = cost(lambda: query("select * from bench_rows where id < 1000"), 7)
    results["10k rows"] = cost(lambda: query("select * from bench_rows where id < 10000"), 5)
    results["100k rows"] = cost(lambda: query("select * from bench_rows"), 3)
    results["INSERT"] = cost(lambda: cur.execute(insert, (1, "name", 1.5, None, 7)), 5, 100)
    results["executemany(100)"] = cost(lambda: cur.executemany(insert, batch[:100]), 5)
    results["executemany(1000)"] = cost(lambda: cur.executemany(insert, batch), 3)
    conn.close()
    conn = informix_db.connect(**login)

    def transaction():
        cursor = conn.cursor()
        cursor.executemany(insert, batch)
        cursor.close()
        conn.commit()

    results["executemany(1000), transaction"] = cost(transaction, 5)
    conn.close()
    results["connect and close"] = cost(lambda: informix_db.connect(**login).close(), 5, 20)
    with informix_db.create_pool(**login, min_size=1, max_size=2, autocommit=True) as pool:

        def cycle():
            with pool.connection() as c:
                cursor = c.cursor()
                cursor.execute(one)
                cursor.fetchall()
                cursor.close()

        results["pool cycle"] = cost(cycle, 5, 100)
    results["async, 100 tasks"] = asyncio.run(tasks(login, one))
    return results


async def tasks(login, sql):
    from informix_db import aio

    pool = aio.create_pool(**login, max_size=10, autocommit=True)
    if asyncio.iscoroutine(pool):
        pool = await pool

    async def one():
        async with pool.connection() as c:
            cursor = await c.cursor()
            await cursor.execute(sql)
            await cursor.fetchone()
            await cursor.close()

    best = float("inf")
    for _ in range(6):
        began = clock()
        await asyncio.gather(*(one() for _ in range(100)))
        best = min(best, clock() - began)
    await pool.close()
    return best


@contextlib.contextmanager
def serve():
    """The port of what both are measured with: the test server, or pgsqlite."""
    if "--listener" not in sys.argv:
        command = [sys.executable, str(HERE / "serve.py"), "--fill"]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        yield server.stdout.readline().strip()
        server.stdin.close()
        server.wait(20)
        return
    binary = os.environ.get("PGSQLITE_BIN") or str(HERE.parents[2] / "pgsqlite/target/release/pgsqlite")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        command = [binary, "--superuser", "informix", "--database", f"{folder}/bench.db", "--no-tcp"]
        command += ["--socket-dir", folder, "--sqli-port", port]
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 20
            while socket.socket().connect_ex(("127.0.0.1", int(port))):
                if server.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{binary} does not serve")
                time.sleep(0.02)
            command = [sys.executable, __file__, "--measure", "--listener", "--fill"]
            subprocess.run(command, env={**os.environ, "PORT": port}, stdout=subprocess.DEVNULL, check=True)
            yield port
        finally:
            server.terminate()
            server.wait(20)


def main() -> int:
    if "--measure" in sys.argv:
        print(json.dumps(measure()))
        return 0
    peer = BUILD / "peer" / "bin" / "python"
    if not peer.exists():
        subprocess.run([sys.executable, "-m", "venv", str(BUILD / "peer")], check=True)
        subprocess.run([peer, "-m", "pip", "install", "--quiet", PEER], check=True)
    how = ["--listener"] if "--listener" in sys.argv else []
    best: dict[str, dict[str, float]] = {"peer": {}, "pure": {}, "compiled": {}}
    with serve() as port:

        def run(python, **environment):
            environment = {**os.environ, "PORT": port, **environment}
            command = [python, __file__, "--measure", *how]
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
            return json.loads(done.stdout)

        for _ in range(2):  # in turns, so that a disturbance meets everybody
            for side, python, pure in (
                ("peer", peer, "1"),
                ("pure", sys.executable, "1"),
                ("compiled", sys.executable, "0"),
            ):
                for name, value in run(str(python), INFORMIX_DB_PURE=pure).items():
                    best[side][name] = min(value, best[side].get(name, value))
    if "--json" in sys.argv:
        Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps(best))
    what = "time on the wall" if how else "processor time of the client"
    print(f"{what + ', µs':32} {'peer':>22} {'pure':>11} {'ratio':>6} {'compiled':>11} {'ratio':>6}")
    missed = 0
    for name, theirs in best["peer"].items():
        pure, compiled = best["pure"][name], best["compiled"][name]
        bad = pure / theirs > LIMITS.get(name, 1.0) or compiled / theirs > LIMITS.get(f"{name}, compiled", 1.0)
        missed += bad
        line = f"{name:32} {theirs * 1e6:22.2f} {pure * 1e6:11.2f} {pure / theirs:6.2f}"
        print(f"{line} {compiled * 1e6:11.2f} {compiled / theirs:6.2f}{'  MISSED' * bad}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
