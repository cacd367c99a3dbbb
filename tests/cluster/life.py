#!/usr/bin/env python3
"""The life of a cluster: from one file to three nodes and back, and what is refused on the way."""

from __future__ import annotations

import pathlib
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE.parent / "failover"))
import server  # noqa: E402
from appends import NAMES, free_address  # noqa: E402
from lists import GONE, PATIENCE, Node, wait_for_primary, wait_for_standbys  # noqa: E402


class Member(Node):
    def __init__(self, folder: str, name: str, nodes: str):
        self.name, self.dir, self.nodes = name, f"{folder}/{name}", nodes
        pathlib.Path(self.dir).mkdir(exist_ok=True)
        self.database, self.server = f"{self.dir}/main.db", None

    def start(self, *flags: str) -> None:
        self.metrics_addr = free_address()
        flags = flags or ("--cluster", self.nodes, "--node-name", self.name, "--metrics-addr", self.metrics_addr)
        self.server = server.Server(*flags, directory=self.dir, database=self.database)


    def metrics(self) -> str:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://{self.metrics_addr}/metrics", timeout=30) as page:
            return page.read().decode()


def run(*words: str) -> tuple[int, str]:
    done = subprocess.run([server.binary(), *words], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def refused(said: str, *words: str) -> None:
    code, text = run(*words)
    assert code != 0 and said in text, (words, code, text)


def until(what: str, test) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if test():
                return
        except GONE:
            pass
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def start_all(members: list[Member]) -> None:
    """Each waits for the others: they start at the same time."""
    threads = [threading.Thread(target=member.start) for member in members]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def life(folder: str) -> None:
    nodes = ",".join(f"{name}={free_address()}" for name in NAMES)
    members = [Member(folder, name, nodes) for name in NAMES]
    first, second, third = members
    try:
        # a file that somebody has already
        first.start("--max-connections", "50")
        first.ask("CREATE TABLE t (i int PRIMARY KEY, s text); INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 40000) i; CREATE ROLE reader; SELECT 1")
        first.end(signal.SIGTERM)
        how = lambda word, member: ("cluster", word, "--cluster", nodes, "--node-name", member.name, "--database", member.database)  # noqa: E731
        serve = ("--cluster", nodes, "--node-name", "n1", "--database", first.database, "--no-tcp", "--socket-dir", folder)
        refused("make the node first", *serve)
        refused("exists: a node that joins gets its file from the others", *how("join", first), "--id", "1")
        refused("is not the number of a cluster", *how("join", second), "--id", "x")
        refused("has no node \"n9\"", "cluster", "new", "--cluster", nodes, "--node-name", "n9", "--database", first.database)
        refused("at least three nodes", "cluster", "new", "--cluster", "a=localhost:1,b=localhost:2", "--node-name", "a", "--database", first.database)
        refused("is no address of a node", "cluster", "new", "--cluster", "a=x,b=y:1,c=z:1", "--node-name", "a", "--database", first.database)
        code, text = run(*how("new", first))
        assert code == 0, text
        number = re.search("--id ([0-9a-f]{16})", text)[1]
        for member in (second, third):
            code, text = run(*how("join", member), "--id", number)
            assert code == 0, text
        refused("exists already", *how("new", first))
        refused("cluster and archive exclude each other", *serve, "--archive", f"file:{folder}/archive")
        refused("cluster needs node_name", "--cluster", nodes, "--database", first.database)
        refused("cluster needs database", "--cluster", nodes, "--node-name", "n1", "--in-memory")
        refused("go together", *serve, "--cluster-cert", "x")
        refused("has other nodes", *serve[:1], nodes + ",n4=127.0.0.1:1", *serve[2:])
        refused("is the memory of node 1", *serve[:3], "n2", *serve[4:])
        refused("need certificates", *serve[:1], nodes.replace(nodes.split(",")[1].split("=")[1], "192.0.2.1:7432"), *serve[2:])
        start_all(members)
        assert wait_for_primary(members) is first, "the cluster begins with the file"
        refused("another server runs this node", *serve)
        for member in members:
            until(f"{member.name} has the file", lambda member=member: member.ask("SELECT count(*) FROM t") == "40000")
        first.ask("CREATE TABLE u AS SELECT 1 AS i; GRANT SELECT ON u TO reader; SELECT 1")
        for member in (second, third):
            until(f"{member.name} follows", lambda member=member: member.ask("SELECT has_table_privilege('reader', 'u', 'select')") == "t")
            try:
                member.ask("INSERT INTO u VALUES (2) RETURNING i")
                raise AssertionError("a standby writes")
            except RuntimeError as e:
                assert str(e).startswith("25006"), e
        refused("is not the primary", "cluster", "leave", "--database", second.database)
        # (a request that was given up asks no later process)
        for member in members:
            pathlib.Path(f"{member.database}.leave").write_text("0123456789abcdef")
        # a large change goes in parts
        big = first.ask("INSERT INTO t SELECT i, md5(i::text) || md5((i + 1)::text) || repeat('y', 300) FROM generate_series(100001, 150000) i; SELECT sum(length(s)) FROM t")
        for member in members:
            until(f"{member.name} has it", lambda member=member: member.ask("SELECT sum(length(s)) FROM t") == big)
        # one is away, comes back, and has what it has missed; all stop, and go on
        third.end(signal.SIGKILL)
        first.ask("INSERT INTO u VALUES (3) RETURNING i")
        third.start()
        until("n3 has what it has missed", lambda: third.ask("SELECT count(*) FROM u") == "2")
        # one has no room on its disk: the others go on, and it goes on by itself when it has
        pid = third.server.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        for i in range(10, 20):
            first.ask(f"INSERT INTO u VALUES ({i}) RETURNING i")
        until("n3 has no room", lambda: "has failed, and begins again" in third.log())
        assert "pgsqlite_cluster_failed 1" in third.metrics() and "pgsqlite_cluster_has_leader 1" in first.metrics()
        first.ask("DELETE FROM u WHERE i >= 10; SELECT 1")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        first.ask("INSERT INTO u VALUES (20) RETURNING i")
        until("n3 goes on", lambda: third.ask("SELECT max(i) FROM u") == "20")
        first.ask("DELETE FROM u WHERE i = 20; SELECT 1")
        for member in (third, second, first):
            member.end(signal.SIGTERM)
        start_all(members)
        primary = wait_for_primary(members)
        wait_for_standbys([member for member in members if member is not primary])
        until("the primary writes", lambda: primary.ask("INSERT INTO u VALUES (4) RETURNING i") == "4")
        # back to one file
        code, text = run("cluster", "leave", "--database", primary.database)
        assert code == 0 and "is a database of its own" in text, text
        assert primary.server.process.wait(20) == 0
        primary.server = None
        others = [member for member in members if member is not primary]
        time.sleep(4)
        assert [member.ask("SELECT pg_is_in_recovery()") for member in others] == ["t", "t"], "nobody is a primary any more"
        for member in others:
            member.end(signal.SIGTERM)
        left = sorted(path.name for path in pathlib.Path(primary.dir).iterdir())
        assert not any("cluster" in name or "standby" in name or "leave" in name for name in left), left
        primary.start("--max-connections", "50")
        assert primary.ask("SELECT pg_is_in_recovery()") == "f"
        assert primary.ask("INSERT INTO u VALUES (5) RETURNING (SELECT count(*) FROM u)") in ("3", "4")
        primary.end(signal.SIGTERM)
        file = sqlite3.connect(primary.database)
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert file.execute("SELECT count(*), max(i) FROM t").fetchall() == [(90000, 150000)]
        assert file.execute("SELECT i FROM u ORDER BY i").fetchall() == [(1,), (3,), (4,), (5,)]
        file.close()
    finally:
        for member in members:
            member.end(signal.SIGKILL)


def main() -> None:
    folder = tempfile.mkdtemp(prefix="pgsqlite-cluster.")
    try:
        life(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("tests/cluster: the life of a cluster, 0 failed")


if __name__ == "__main__":
    main()
