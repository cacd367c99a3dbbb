#!/usr/bin/env python3
"""How long clones take: a migrated schema of 200 tables, and one of about 10 MB; alone, and 16 in parallel. $PGSQLITE_BIN should be a release build.

A time is that from connecting with `pgsqlite.clone` until the session is ready; beside it that of a connection without a clone.
"""

from __future__ import annotations

import pathlib
import statistics
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "packages/python/src"))
import pgsqlite  # noqa: E402

TABLE = "CREATE TABLE t{0} (id serial PRIMARY KEY, name text NOT NULL, at timestamptz DEFAULT now(), other int REFERENCES t0); CREATE INDEX ON t{0} (name);"


def once(server: pgsqlite.Server, name: str, **options: str) -> float:
    began = time.perf_counter()
    session = server.session(name, **options)
    took = time.perf_counter() - began
    session.close()
    return took * 1000


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with pgsqlite.Server() as server:
        small = server.create_database("small")
        small.execute("CREATE TABLE t0 (id serial PRIMARY KEY)")
        small.execute("".join(TABLE.format(i) for i in range(1, 200)))
        large = server.create_database("large", template="small")
        large.execute("INSERT INTO t1 (name) SELECT repeat('x', 80) || n FROM generate_series(1, 45000) AS n")
        for name in ("small", "large"):
            plain = [once(server, name) for _ in range(rounds)]
            first = once(server, "c", **{"pgsqlite.clone": name})
            clones = [once(server, f"c{i}", **{"pgsqlite.clone": name}) for i in range(rounds)]
            size = server.execute(f"SELECT pg_database_size('{name}')")[0][0]
            print(
                f"{name}: {int(size or 0) / 1e6:.1f} MB; connecting {statistics.median(plain):.2f} ms; first clone {first:.2f} ms; "
                f"clones: median {statistics.median(clones):.2f} ms, p99 {sorted(clones)[int(rounds * 0.99)]:.2f} ms"
            )
            together: list[float] = []

            def several(n: int, name: str = name, together: list[float] = together) -> None:
                together.extend(once(server, f"p{n}_{i}", **{"pgsqlite.clone": name}) for i in range(max(1, rounds // 16)))

            threads = [threading.Thread(target=several, args=(n,)) for n in range(16)]
            began = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            each = (time.perf_counter() - began) * 1000 / len(together)
            print(f"    16 in parallel: median {statistics.median(together):.2f} ms, {each:.2f} ms for each of {len(together)}")


if __name__ == "__main__":
    main()
