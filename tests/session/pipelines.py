#!/usr/bin/env python3
"""A pipeline that is put aside between its statements keeps what the earlier ones have changed, while others share their commits.

    pipelines.py [--rounds N]

Two updates come with one Sync. The second meets a row that another transaction has locked, so that the first one's change is put aside. Other sessions commit
single rows all the while, and syncs last (tests/faults/shim.c): when the lock is free, the pipeline may join their commit. Both rows must have what was acknowledged.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE.parent / "faults"))

import pgwire  # noqa: E402
import record  # noqa: E402
import server  # noqa: E402
from messages import CLIENT  # noqa: E402


def executed(sql: str) -> bytes:
    return CLIENT["Parse"]("", sql) + CLIENT["Bind"]() + CLIENT["Execute"]()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    lost = []
    with tempfile.TemporaryDirectory(prefix="pgsqlite-pipelines.") as folder, contextlib.ExitStack() as stack:
        data = os.path.join(folder, "data")
        os.mkdir(data)
        slow = {"LD_PRELOAD": record.shim(folder), "FAULTS_ROOT": data, "FAULTS_SYNC": "2000"}
        os.environ.update(slow)
        running = stack.enter_context(server.Server(directory=data))
        for name in slow:
            del os.environ[name]
        connect = lambda: pgwire.Connection(running.dir, running.port, "postgres", "main", timeout=60)  # noqa: E731
        holder, pipeline, look = connect(), connect(), connect()
        holder.query("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0), (2, 0); CREATE TABLE others (i int)")
        pid = pipeline.query("SELECT pg_backend_pid()")[0][0]
        over = threading.Event()

        def commit_rows() -> None:
            with contextlib.closing(connect()) as connection:
                while not over.is_set():
                    connection.sock.sendall(executed("INSERT INTO others VALUES (1)") + CLIENT["Sync"]())
                    connection.until_ready()

        others = [threading.Thread(target=commit_rows) for _ in range(8)]
        for other in others:
            other.start()
        try:
            for i in range(1, rounds + 1):
                holder.query("BEGIN; SELECT FROM t WHERE id = 1 FOR UPDATE")
                pipeline.sock.sendall(executed(f"UPDATE t SET v = {i} WHERE id = 2") + executed(f"UPDATE t SET v = {i} WHERE id = 1") + CLIENT["Sync"]())
                while look.query(f"SELECT pg_blocking_pids({pid}) <> '{{}}'")[0][0] != "t":
                    pass
                holder.query("COMMIT")
                kinds = [kind for kind, _ in pipeline.until_ready()]
                assert kinds.count(b"C") == 2 and b"E" not in kinds, kinds
                stored = [row[0] for row in look.query("SELECT v FROM t ORDER BY id")]
                if stored != [str(i)] * 2:
                    lost.append((i, stored))
        finally:
            over.set()
            for other in others:
                other.join()
    print(f"tests/session: pipelines, {rounds} acknowledged, {len(lost)} not stored as a whole")
    if lost:
        sys.exit(f"rows after their round: {lost[:5]}")


if __name__ == "__main__":
    main()
