"""The test server in a process of its own: prints its port, ends when its input ends. --fill makes the tables."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from peer.server import Server

with Server() as server:
    if "--fill" in sys.argv:
        db = server.sqlite()
        for name in ("bench_rows", "bench_insert"):
            key = " primary key" if name == "bench_rows" else ""
            db.execute(f"create table {name} (id integer{key}, name varchar(40), price float, day date, big bigint)")
        rows = [(i, f"name of row {i}", i / 4, None, i << 20) for i in range(100_000)]
        db.execute("begin")
        db.executemany("insert into bench_rows values (?, ?, ?, ?, ?)", rows)
        db.execute("commit")
    print(server.port, flush=True)
    sys.stdin.read()
