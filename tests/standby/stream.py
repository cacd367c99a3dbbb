#!/usr/bin/env python3
"""A standby that follows its primary over a connection: whoever is killed, stopped for a while or cut off, it shows states that the primary had, and comes to its last one, page by page.

    stream.py [--rounds N] [--seed N] [--archive]

As kills.py, with a connection in the place of the archive. Between the two is a proxy, which holds up what is sent and cuts connections at any byte. Some runs have an archive
beside it, and some keep so few changes that the standby needs new copies. In the end the primary is lost, the standby is promoted, and a new standby follows it.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import shutil
import signal
import socket
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


class Proxy:
    """A Unix socket in a folder of its own, behind which is that of a server."""

    def __init__(self, folder: str, target: str, seed: int):
        os.makedirs(folder, exist_ok=True)
        self.dir, self.target, self.chance = folder, target, random.Random(seed)
        self.calm = False
        #: By what was done: how often.
        self.counts: dict[str, int] = {}
        self.open: set[socket.socket] = set()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.path.join(folder, f".s.PGSQL.{server.Server.port}"))
        self.listener.listen(16)
        threading.Thread(target=self.accept, daemon=True).start()

    def url(self, **options: str) -> str:
        host = self.dir.replace("/", "%2F")
        return f"postgresql://postgres@{host}:{server.Server.port}/main" + "?" * bool(options) + "&".join(f"{k}={v}" for k, v in options.items())

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            behind = socket.socket(socket.AF_UNIX)
            try:
                behind.connect(os.path.join(self.target, f".s.PGSQL.{server.Server.port}"))
            except OSError:
                client.close()
                continue
            self.open |= {client, behind}
            # a part of the connections is cut, after this many bytes
            left = [self.chance.choice([200, 5_000, 300_000, 3_000_000]) * self.chance.random()] if self.chance.random() < 0.7 else [float("inf")]
            for one, other in ((client, behind), (behind, client)):
                threading.Thread(target=self.carry, args=(one, other, left), daemon=True).start()

    def carry(self, one: socket.socket, other: socket.socket, left: list[float]) -> None:
        try:
            while data := one.recv(65536):
                if not self.calm:
                    if self.chance.random() < 0.02:
                        self.counts["held up"] = self.counts.get("held up", 0) + 1
                        time.sleep(self.chance.uniform(0, 0.3))
                    if left[0] < len(data):
                        other.sendall(data[: int(left[0])])
                        self.counts["cut"] = self.counts.get("cut", 0) + 1
                        break
                    left[0] -= len(data)
                other.sendall(data)
        except OSError:
            pass
        for end in (one, other):
            self.open.discard(end)
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        self.listener.close()
        for one in list(self.open):
            one.close()


def asleep(node: kills.Node, seconds: float) -> None:
    """A server that stands still for a while."""
    node.server.process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    node.server.process.send_signal(signal.SIGCONT)


def kill(folder: str, rounds: int, seed: int, always_archive: bool) -> list[str]:
    chance = random.Random(seed)
    with_archive, keep = chance.random() < 0.3, chance.choice(["0", "1", "64"])
    with_archive = with_archive or always_archive
    flags = ["--max-wal-senders", "3", "--wal-keep-size", keep, *(["--archive", f"file:{folder}/archive"] if with_archive else [])]
    primary = kills.Node(f"{folder}/a", *flags)
    proxy = Proxy(f"{folder}/p", f"{folder}/a", seed)
    standby = kills.Node(f"{folder}/b", "--standby", proxy.url(application_name="two"))
    standby.metrics = f"127.0.0.1:{server.free_port()}"
    standby.flags += ("--metrics-addr", standby.metrics, "--max-wal-senders", "3")
    primary.start_server()
    standby.start_server()
    connection = primary.connect()
    connection.query(
        "CREATE TABLE w (k bigint PRIMARY KEY, s text); CREATE TABLE big (i int, s text); CREATE TABLE n (n bigint); INSERT INTO n VALUES (0);"
        "CREATE TABLE s (c0 int, c1 int, c2 int); CREATE TABLE v (a int, b text); INSERT INTO v SELECT NULL, 'b' FROM generate_series(1, 20);"
        "CREATE SEQUENCE q; SELECT nextval('q')"
    )
    connection.close()
    if not kills.when(standby, "SELECT count(*) FROM pg_tables WHERE tablename IN ('w', 'big', 'n', 's', 'v')", "5"):
        return ["the standby does not follow"]
    problems: list[str] = []
    writers, readers = kills.Writers(primary, seed), kills.Readers(standby)
    counts: dict[str, int] = {}
    for number in range(rounds):
        proxy.calm = chance.random() < 0.3
        writers.going.set()
        time.sleep(chance.uniform(0.2, 1.5))
        who = chance.choice(["primary", "standby", "standby", "both"])
        how = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP])
        what = f"{who} {how.name}"
        counts[what] = counts.get(what, 0) + 1
        ended = [node for node, name in ((primary, "primary"), (standby, "standby")) if who in (name, "both")]
        chance.shuffle(ended)
        if how == signal.SIGSTOP:
            for node in ended:
                asleep(node, chance.uniform(0.1, 1.5))
        else:
            for node in ended:
                node.end(how)
                time.sleep(chance.uniform(0, 0.3))
            for node in ended:
                node.start_server()
        time.sleep(chance.uniform(0, 1))
        writers.pause()
        proxy.calm = True
        different = kills.difference(primary, standby, folder)
        if different or readers.problems or writers.problems:
            problems += [f"round {number}, {what}: {different}"] if different else []
            break
    writers.end()
    readers.end()
    problems += writers.problems[:5] + readers.problems[:5]
    copies = pathlib.Path(primary.dir, "server.log").read_text().count("is sent a copy")
    print(
        f"{sum(counts.values())} ends ({', '.join(f'{n} {k}' for k, n in sorted(counts.items()))}), "
        f"{', '.join(f'{n} {k}' for k, n in sorted(proxy.counts.items()))}, {copies} copies{' beside an archive' if with_archive else ''}, {keep} MiB kept, "
        f"{len(writers.acknowledged)} transactions acknowledged, {readers.looks} looks at the standby"
    )
    if not problems:
        problems = kills.promotion(folder, None, primary, standby, writers, chance)
    if not problems:
        problems = followed_in_turn(folder, standby)
    for node in (primary, standby):
        node.end(signal.SIGTERM)
    proxy.close()
    return problems


def followed_in_turn(folder: str, promoted: kills.Node) -> list[str]:
    """A new standby follows the one that was promoted."""
    third = kills.Node(f"{folder}/c", "--standby", f"postgresql://postgres@/main?host={promoted.dir}&port={server.Server.port}")
    third.start_server()
    try:
        connection = promoted.connect()
        connection.query("CREATE TABLE third AS SELECT 3 AS i")
        connection.close()
        different = kills.difference(promoted, third, folder)
        return [f"a standby of the promoted one: {different}"] if different else []
    finally:
        third.end(signal.SIGTERM)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--archive", action="store_true", help="with an archive beside the connection; else by chance")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="pgsqlite-stream.")
    problems = kill(folder, options.rounds, options.seed, options.archive)
    if problems:
        for name in ("a", "b", "c"):
            log = pathlib.Path(folder, name, "server.log")
            if log.exists():
                print(f"--- {name}\n{log.read_text()[-1500:]}")
        print("\n".join(problems))
        print(f"the files are in {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"stream: {len(problems)} problems")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
