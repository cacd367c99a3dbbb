#!/usr/bin/env python3
"""Three servers with one archive and its lease, whose primary is killed, stopped, cut off and ended: no acknowledged change is lost, and nobody ever reads what is taken back.

    lists.py --moto PYTHON [--rounds N] [--seed N] [--lease SECONDS] [--kinds KIND,…] [--careless] [--calm SECONDS]

Clients append numbers to lists, each by a statement or a block, and read the lists on whatever server they reach. Each server has its own proxy before moto's bucket. In each round something happens to
the primary. In the end the lists are compared with what was acknowledged and what was read:

* each acknowledged number is in its list, once;
* each read is a beginning of the list, on a primary and on a standby;
* a read on a primary has what was acknowledged before it began, and what another such read had that ended before.

With --careless the clients wait for nothing (`synchronous_commit = local`, `pgsqlite.read_unreplicated = on`): then something must be found.
"""

from __future__ import annotations

import argparse
import itertools
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE.parent / "litestream"))
import bucket  # noqa: E402
import pgwire  # noqa: E402
import server  # noqa: E402

LISTS = 3
#: So long anything may take.
PATIENCE = 90
ARCHIVE = f"s3://{bucket.NAME}/shared"


class Node:
    """A server with a proxy of its own."""

    def __init__(self, folder: str, name: str, moto: bucket.Moto, lease: int, seed: int, *flags: str):
        self.name, self.dir = name, f"{folder}/{name}"
        os.makedirs(self.dir)
        self.database, self.server = f"{self.dir}/main.db", None
        self.proxy = bucket.Proxy(moto, seed)
        self.flags = ("--archive", ARCHIVE, "--lease", str(lease), "--node-name", name, *flags)

    def start(self) -> None:
        os.environ.update(self.proxy.environment)
        self.server = server.Server(*self.flags, directory=self.dir, database=self.database)

    def send(self, number: int) -> None:
        os.kill(self.server.process.pid, number)

    def end(self, number: int) -> None:
        if self.server is not None:
            if number == signal.SIGKILL:
                self.server.kill()
            else:
                self.server.stop()
            self.server = None

    def connect(self, timeout: float = 60) -> pgwire.Connection:
        return pgwire.Connection(self.dir, server.Server.port, "postgres", "main", timeout=timeout)

    def ask(self, sql: str, timeout: float = 60) -> str:
        connection = self.connect(timeout)
        try:
            return connection.query(sql)[0][0]
        finally:
            connection.close()

    def log(self) -> str:
        with open(f"{self.dir}/server.log", encoding="utf-8", errors="replace") as file:
            return file.read()

    def cut(self, kind: str) -> None:
        """The server reaches its bucket no longer (`cut`), or does not hear its answers (`lost`)."""
        self.proxy.down = {"cut": "refused", "lost": "lost"}[kind]

    def heal(self) -> None:
        self.proxy.down = ""

    def hiccups(self, chance: float) -> None:
        """So many of its requests fail."""
        self.proxy.failing = chance

    def close(self) -> None:
        if self.server is not None:
            self.server.process.send_signal(signal.SIGCONT)
        self.end(signal.SIGKILL)
        self.proxy.close()


GONE = (pgwire.ServerGone, pgwire.StartupError, OSError, RuntimeError)


def primary(nodes: list[Node], timeout: float = 5) -> Node | None:
    """The server that is the primary now."""
    for node in nodes:
        if node.server is None:
            continue
        try:
            if node.ask("SELECT pg_is_in_recovery()", timeout) == "f":
                return node
        except GONE:
            pass
    return None


def wait_for_primary(nodes: list[Node]) -> Node:
    deadline = time.monotonic() + PATIENCE
    while (found := primary(nodes)) is None:
        if time.monotonic() > deadline:
            raise SystemExit("no server becomes the primary:\n" + "\n".join(f"--- {n.name}\n{n.log()[-3000:]}" for n in nodes))
        time.sleep(0.02)
    return found


def wait_for_standbys(nodes: list[Node]) -> None:
    deadline = time.monotonic() + PATIENCE
    for node in nodes:
        while True:
            try:
                node.ask("SELECT pg_is_in_recovery()")
                break
            except GONE:
                if time.monotonic() > deadline:
                    raise SystemExit(f"{node.name} does not start again:\n{node.log()[-3000:]}") from None
            time.sleep(0.02)


class Clients:
    """Sessions that append and read."""

    def __init__(self, nodes: list[Node], count: int, seed: int, careless: bool):
        self.careless = careless
        self.nodes, self.ended, self.numbers = nodes, threading.Event(), itertools.count(1)
        #: list, number, when it was sent, when it was acknowledged; None: it was not
        self.appends: list[tuple[int, int, float, float | None]] = []
        #: list, what was read, when it was sent, when it came, whether from a primary, which server
        self.reads: list[tuple[int, list[int], float, float, bool, str]] = []
        self.problems: list[str] = []
        self.codes: dict[str, int] = {}
        self.threads = [threading.Thread(target=self.work, args=(random.Random(seed * 100 + n),), daemon=True) for n in range(count)]
        for thread in self.threads:
            thread.start()

    def work(self, chance: random.Random) -> None:
        connection, node = None, None
        while not self.ended.is_set():
            k = chance.randrange(LISTS)
            appends, number = chance.random() < 0.6, 0
            began = time.monotonic()
            try:
                if connection is None:
                    node = chance.choice(self.nodes)
                    connection = node.connect(20)
                    if self.careless:
                        connection.query("SET synchronous_commit = local; SET pgsqlite.read_unreplicated = on")
                leads = connection.parameters.get("in_hot_standby") == "off"
                if leads and appends:
                    number = next(self.numbers)
                    change = f"UPDATE lists SET v = v || {number} WHERE k = {k}"
                    began = time.monotonic()
                    # (the write-ahead log is to begin anew now and then)
                    filler = f"INSERT INTO filler VALUES ('{chance.randbytes(100_000).hex()}')" if chance.random() < 0.02 else f"INSERT INTO log VALUES ({number})"
                    for message in chance.choice([[change], [f"BEGIN; SELECT 1; {change}; COMMIT"], [f"BEGIN; {change}; {filler}; COMMIT"], ["BEGIN", change, filler, "COMMIT"]]):
                        connection.query(message)
                    self.appends.append((k, number, began, time.monotonic()))
                    number = 0
                else:
                    began = time.monotonic()
                    # (a standby that is promoted says so before its next answer)
                    found = connection.query(f"SELECT pg_is_in_recovery(), array_to_string(v, ',') FROM lists WHERE k = {k}")[0]
                    self.reads.append((k, [int(n) for n in found[1].split(",") if n], began, time.monotonic(), found[0] == "f", node.name))
                    if leads != (found[0] == "f") or not leads and chance.random() < 0.3:
                        connection.close()
                        connection = None
            except GONE as e:
                if number:
                    self.appends.append((k, number, began, None))
                said = str(e)[:5] if isinstance(e, (RuntimeError, pgwire.ServerGone)) else ""
                code = e.fields["C"] if isinstance(e, pgwire.StartupError) else said if said[:1].isdigit() else type(e).__name__
                self.codes[code] = self.codes.get(code, 0) + 1
                if code[:1].isdigit() and code not in ("57P01", "08007", "57P03", "25006"):
                    self.problems.append(str(e))
                connection = None
                time.sleep(0.02)
            time.sleep(chance.uniform(0, 0.02))

    def end(self) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join(60)

    def check(self, lists: dict[int, list[int]]) -> list[str]:
        problems = list(self.problems[:5])
        for k, found in lists.items():
            if len(set(found)) != len(found):
                problems.append(f"list {k} has a number twice")
            place = {number: n for n, number in enumerate(found)}
            acknowledged = [(number, ended) for at, number, _, ended in self.appends if at == k and ended is not None]
            lost = [number for number, _ in acknowledged if number not in place]
            if lost:
                problems.append(f"list {k}: acknowledged and lost: {lost[:20]}")
            reads = [read for read in self.reads if read[0] == k]
            for _, seen, began, _, leads, name in reads:
                if seen != found[: len(seen)]:
                    problems.append(f"list {k}: {name} ({'primary' if leads else 'standby'}) has shown what is no beginning of it: …{seen[-3:]}")
            # what must have been there when each read began
            events = [(ended, place[number] + 1) for number, ended in acknowledged if number in place]
            events += [(ended, len(seen)) for _, seen, _, ended, leads, _ in reads if leads]
            events.sort()
            least, at = 0, 0
            for _, seen, began, _, leads, name in sorted(reads, key=lambda read: read[2]):
                while at < len(events) and events[at][0] < began:
                    least, at = max(least, events[at][1]), at + 1
                if leads and len(seen) < least:
                    problems.append(f"list {k}: {name} has shown {len(seen)} numbers where {least} were known to be there")
        return problems[:20]


def happens(kind: str, node: Node, lease: int, chance: random.Random) -> float:
    """Does something to the primary. Returns when nothing more could be acknowledged by it."""
    if kind == "kill":
        node.end(signal.SIGKILL)
    elif kind == "stop":
        node.end(signal.SIGTERM)
    elif kind == "pause":
        node.send(signal.SIGSTOP)
    else:
        node.cut(kind)
    return time.monotonic()


def again(kind: str, node: Node) -> None:
    """Ends what has happened."""
    if kind in ("kill", "stop"):
        node.start()
    elif kind == "pause":
        node.send(signal.SIGCONT)
    node.heal()


def run(nodes: list[Node], rounds: int, seed: int, lease: int, kinds: list[str], careless: bool = False, verbose: bool = False, calm: int = 0, entries=None) -> list[str]:
    """Plays the rounds. `entries` returns the names of the entries that the bucket has, for `calm`."""
    chance = random.Random(seed)
    try:
        for node in nodes:
            node.start()
        first = wait_for_primary(nodes)
        connection = first.connect()
        connection.query(
            "CREATE TABLE lists (k int PRIMARY KEY, v int[] NOT NULL); CREATE TABLE log (n int); CREATE TABLE filler (s text);"
            f"INSERT INTO lists SELECT k, '{{}}' FROM generate_series(0, {LISTS - 1}) k"
        )
        connection.close()
        for node in nodes:
            deadline = time.monotonic() + PATIENCE
            while True:
                try:
                    if node.ask("SELECT count(*) FROM lists") == str(LISTS):
                        break
                except GONE:
                    pass
                if time.monotonic() > deadline:
                    return [f"{node.name} does not follow: {node.log()[-2000:]}"]
                time.sleep(0.05)
        clients = Clients(nodes, 6, seed, careless)
        times: dict[str, list[float]] = {}
        problems: list[str] = []
        if calm:
            # (entries that others stand for are removed after some minutes)
            time.sleep(calm)
            names = entries()
            print(f"  after {calm} s: {len(names)} entries, from {names[0][:16]} to {names[-1][:16]}", flush=True)
            if int(names[0][:16], 16) < 100:
                problems.append(f"no entries are removed: there are {len(names)}")
        for number in range(rounds):
            for node in nodes:
                node.hiccups(chance.choice([0.0, 0.0, 0.05]))
            time.sleep(chance.uniform(0.5, 2))
            victim = wait_for_primary(nodes)
            # (a server that is still reading the archive takes no lease)
            wait_for_standbys([node for node in nodes if node is not victim])
            kind = kinds[number % len(kinds)]
            began = happens(kind, victim, lease, chance)
            others = [node for node in nodes if node is not victim]
            successor = wait_for_primary(others)
            # (the first change that the new one acknowledges)
            deadline = time.monotonic() + PATIENCE
            while True:
                try:
                    successor.ask("INSERT INTO log VALUES (0) RETURNING n")
                    break
                except GONE as e:
                    if time.monotonic() > deadline:
                        return [*problems, f"round {number} ({kind}): {successor.name} does not write: {e}"]
                    successor = wait_for_primary(others)
            times.setdefault(kind, []).append(time.monotonic() - began)
            if verbose:
                print(f"  round {number}: {kind} of {victim.name}, {successor.name} after {times[kind][-1]:.2f} s", flush=True)
            time.sleep(chance.uniform(0, lease / 2))
            again(kind, victim)
            if clients.problems:
                break
        for node in nodes:
            node.hiccups(0.0)
        time.sleep(1)
        clients.end()
        last = wait_for_primary(nodes)
        lists = {k: [int(n) for n in last.ask(f"SELECT array_to_string(v, ',') FROM lists WHERE k = {k}").split(",") if n] for k in range(LISTS)}
        problems += clients.check(lists)
        # all come to the same state
        for node in nodes:
            deadline = time.monotonic() + PATIENCE
            while True:
                try:
                    if all(node.ask(f"SELECT array_to_string(v, ',') FROM lists WHERE k = {k}") == ",".join(map(str, v)) for k, v in lists.items()):
                        break
                except GONE:
                    pass
                if time.monotonic() > deadline:
                    problems.append(f"{node.name} does not come to the primary's state: {node.log()[-1500:]}")
                    break
                time.sleep(0.1)
        acknowledged = sum(1 for append in clients.appends if append[3] is not None)
        leads = sum(1 for read in clients.reads if read[4])
        print(
            f"seed {seed}, lease of {lease} s: {acknowledged} appends acknowledged, {len(clients.appends) - acknowledged} of unknown outcome, {leads} reads on a primary, "
            f"{len(clients.reads) - leads} on standbys; errors {dict(sorted(clients.codes.items()))}"
        )
        for kind, taken in sorted(times.items()):
            print(f"  {kind}: {', '.join(f'{t:.2f}' for t in taken)} s until another server wrote")
            # (a stop gives the lease away; nothing here is measured on a machine of its own)
            if max(taken) > lease + 15:
                problems.append(f"a failover took {max(taken):.1f} s")
        if acknowledged < 20 * rounds or leads < 20 * rounds:
            problems.append("nearly nothing has happened")
        return problems
    finally:
        for node in nodes:
            node.close()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--moto", required=True)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    arguments.add_argument("--lease", type=int, default=2)
    arguments.add_argument("--kinds", default="kill,pause,lost,cut,stop")
    arguments.add_argument("--careless", action="store_true")
    arguments.add_argument("--calm", type=int, default=0, help="seconds in which nothing happens at first")
    arguments.add_argument("--verbose", action="store_true")
    arguments.add_argument("--keep", action="store_true")
    given = arguments.parse_args()
    folder = tempfile.mkdtemp(prefix="pgsqlite-failover.")
    moto = bucket.Moto(given.moto, folder)
    try:
        nodes = [Node(folder, name, moto, given.lease, given.seed + n) for n, name in enumerate(("n1", "n2", "n3"))]

        def entries() -> list[str]:
            return sorted(key.rsplit("/", 1)[1] for key in moto.keys() if "/0000/" in key)

        problems = run(nodes, given.rounds, given.seed, given.lease, given.kinds.split(","), given.careless, given.verbose, given.calm, entries)
    finally:
        moto.close()
        if given.keep:
            print(folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    if given.careless:
        found = [problem for problem in problems if "lost" in problem or "no beginning" in problem]
        print(f"careless clients: {len(found)} problems, such as: {found[0] if found else 'none'}")
        raise SystemExit(0 if found else "the lists do not show what is lost")
    if problems:
        print(*problems, sep="\n")
        raise SystemExit(f"{len(problems)} problems: --seed {given.seed}")


if __name__ == "__main__":
    main()
