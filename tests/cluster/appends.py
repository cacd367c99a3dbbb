#!/usr/bin/env python3
"""Three servers that keep a database together (`--cluster`), whose primary is killed, stopped, cut off (also one way) and ended: no acknowledged change is lost, and nobody ever reads what is taken back.

    appends.py [--rounds N] [--seed N] [--lease SECONDS] [--kinds KIND,…] [--careless] [--verbose]

The clients, and what is checked, are those of tests/failover/lists.py. The nodes reach each other through a relay for each way.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE.parent / "litestream"))
sys.path.insert(0, str(HERE.parent / "failover"))
import lists  # noqa: E402
import server  # noqa: E402

NAMES = ("n1", "n2", "n3")
#: what happens to a primary, beside kill, stop and pause: nobody hears it and it hears nobody; it hears nobody; nobody hears it
CUTS = {"cut": (True, True), "deaf": (True, False), "mute": (False, True)}


def free_address() -> str:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{s.getsockname()[1]}"


class Relay:
    """Carries the connections of one node to another one, unless it is cut. What is sent while it is cut waits, as on a line that is out, or is gone with its connection."""

    def __init__(self, to: str, seed: int):
        self.to, self.is_cut, self.failing = to, False, 0.0
        self.chance = random.Random(seed)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.open: set[socket.socket] = set()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(near,), daemon=True).start()

    def carry(self, near: socket.socket) -> None:
        host, port = self.to.rsplit(":", 1)
        self.open.add(near)
        try:
            with near, socket.create_connection((host, int(port)), timeout=3) as far:
                far.settimeout(None)
                threading.Thread(target=self.back, args=(far, near), daemon=True).start()
                while content := near.recv(1 << 16):
                    while self.is_cut:
                        time.sleep(0.01)
                        if self.chance.random() < 0.02:
                            return
                    if self.chance.random() < self.failing:
                        return
                    far.sendall(content)
        except OSError:
            pass
        finally:
            self.open.discard(near)

    @staticmethod
    def back(far: socket.socket, near: socket.socket) -> None:
        """(TLS and TCP answer; the nodes' protocol goes one way)"""
        try:
            while content := far.recv(1 << 16):
                near.sendall(content)
        except OSError:
            pass

    def close(self) -> None:
        self.is_cut = False
        self.listener.close()
        for near in list(self.open):
            near.close()


class Member(lists.Node):
    """A server of the cluster with the relays that lead to it and from it."""

    #: the cluster's, which the first node's making prints
    number = ""

    def __init__(self, folder: str, name: str, own: str, relays: dict[tuple[str, str], Relay], lease: int):
        self.name, self.dir = name, f"{folder}/{name}"
        (pathlib.Path(self.dir)).mkdir()
        self.database, self.server = f"{self.dir}/main.db", None
        self.incoming = [relay for (_, to), relay in relays.items() if to == name]
        self.outgoing = [relay for (at, _), relay in relays.items() if at == name]
        nodes = ",".join(f"{to}={own if to == name else relays[name, to].address}" for to in NAMES)
        self.flags = ("--cluster", nodes, "--lease", str(lease), "--node-name", name)
        how = ["new"] if name == NAMES[0] else ["join", "--id", Member.number]
        make = [server.binary(), "cluster", *how, "--cluster", nodes, "--node-name", name, "--database", self.database]
        made = subprocess.run(make, check=True, stdout=subprocess.PIPE, text=True).stdout
        Member.number = re.search("cluster ([0-9a-f]{16})", made)[1]

    def start(self) -> None:
        self.server = server.Server(*self.flags, directory=self.dir, database=self.database)

    def cut(self, kind: str) -> None:
        hears_nobody, is_not_heard = CUTS[kind]
        for relay in self.incoming:
            relay.is_cut |= hears_nobody
        for relay in self.outgoing:
            relay.is_cut |= is_not_heard

    def heal(self) -> None:
        for relay in self.incoming + self.outgoing:
            relay.is_cut = False

    def hiccups(self, chance: float) -> None:
        for relay in self.outgoing:
            relay.failing = chance / 10

    def close(self) -> None:
        self.heal()
        if self.server is not None:
            self.server.process.send_signal(lists.signal.SIGCONT)
        self.end(lists.signal.SIGKILL)
        for relay in self.outgoing:
            relay.close()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    arguments.add_argument("--lease", type=int, default=2)
    arguments.add_argument("--kinds", default="kill,pause,cut,deaf,mute,stop")
    arguments.add_argument("--careless", action="store_true")
    arguments.add_argument("--verbose", action="store_true")
    arguments.add_argument("--keep", action="store_true")
    given = arguments.parse_args()
    folder = tempfile.mkdtemp(prefix="pgsqlite-cluster.")
    own = {name: free_address() for name in NAMES}
    relays = {(at, to): Relay(own[to], given.seed + i) for i, (at, to) in enumerate((a, b) for a in NAMES for b in NAMES if a != b)}
    try:
        nodes = [Member(folder, name, own[name], relays, given.lease) for name in NAMES]
        problems = lists.run(nodes, given.rounds, given.seed, given.lease, given.kinds.split(","), given.careless, given.verbose)
    finally:
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
