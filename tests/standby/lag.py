#!/usr/bin/env python3
"""How far a standby is behind that follows over a connection, while its primary commits as fast as it can.

    lag.py [--seconds N] [--clients N] [--most MS]

pgbench inserts rows. Meanwhile the primary is asked for its place in the log, again and again, and the standby until it has come there. With --most it is an error if half of these
times are longer.
"""

from __future__ import annotations

import argparse
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import kills  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--most", type=float)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pgsqlite-lag.") as folder:
        primary = kills.Node(f"{folder}/a", "--max-wal-senders", "3")
        standby = kills.Node(f"{folder}/b", "--standby", f"postgresql://postgres@/main?host={folder}/a")
        primary.start_server()
        standby.start_server()
        script = pathlib.Path(folder, "insert.sql")
        script.write_text("INSERT INTO t (s) VALUES ('a row of some length, as applications have them');\n")
        here, there = primary.connect(), standby.connect()
        here.query("CREATE TABLE t (i serial PRIMARY KEY, s text)")
        words = ["pgbench", "-n", "-M", "prepared", "-c", str(options.clients), "-j", "2", "-T", str(options.seconds), "-f", str(script), "-h", primary.dir, "-U", "postgres", "main"]
        bench = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        behind = []
        time.sleep(0.5)
        while bench.poll() is None:
            place = here.query("SELECT pg_current_wal_lsn()")[0][0]
            began = time.monotonic()
            while there.query(f"SELECT pg_last_wal_replay_lsn() >= '{place}'") != [["t"]]:
                if time.monotonic() - began > kills.PATIENCE:
                    sys.exit("the standby does not come to the primary's place")
            behind.append((time.monotonic() - began) * 1000)
            time.sleep(0.01)
        speed = [line for line in (bench.stdout.read() if bench.stdout else "").splitlines() if line.startswith("tps")]
        behind.sort()
        shown = {name: behind[min(int(len(behind) * part), len(behind) - 1)] for name, part in (("half", 0.5), ("95 %", 0.95), ("99 %", 0.99), ("all", 1))}
        lag = here.query("SELECT extract(epoch FROM replay_lag) * 1000 FROM pg_stat_replication")
        for node in (primary, standby):
            node.end(signal.SIGTERM)
    print(f"{speed[0] if speed else 'pgbench failed'}; {len(behind)} times, in ms: " + ", ".join(f"{name} within {value:.1f}" for name, value in shown.items()) + f"; replay_lag at the end: {lag[0][0] if lag else None}")
    sys.exit(bool(options.most and shown["half"] > options.most))


if __name__ == "__main__":
    main()
