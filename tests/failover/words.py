#!/usr/bin/env python3
"""What clients of servers with a lease are told, and what their settings mean.

    words.py --moto PYTHON
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import lists  # noqa: E402
from lists import bucket, pgwire, server  # noqa: E402

PROBLEMS: list[str] = []
#: What the large value hashes to.
LARGE: list[str] = []


def expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        PROBLEMS.append(f"{what}: {found!r}, not {wanted!r}")


def told(connection: pgwire.Connection, sql: str) -> str:
    """The first value, or the error."""
    try:
        rows = connection.query(sql)
        return rows[0][0] if rows else ""
    except RuntimeError as e:
        return str(e)
    except pgwire.ServerGone as e:
        return str(e)
    except OSError:
        # (what the server said last is there to be read)
        try:
            connection.until_ready()
        except (pgwire.ServerGone, OSError) as e:
            return str(e)
        return "gone"


def comes(what: str, look: object, wanted: str) -> None:
    deadline = time.monotonic() + lists.PATIENCE
    found = ""
    while time.monotonic() < deadline:
        try:
            found = look()
        except lists.GONE as e:
            found = str(e)
        if found == wanted:
            return
        time.sleep(0.05)
    expect(what, found, wanted)


def flags(folder: str) -> None:
    """What the command line refuses."""
    database = f"{folder}/none.db"
    environment = {**os.environ, **bucket.KEYS, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    for given, wanted in {
        ("--database", database, "--lease", "5"): "lease needs archive",
        ("--database", database, "--node-name", "a"): "node_name needs lease",
        ("--database", database, "--lease", "5", "--archive", f"file:{folder}/archive"): "lease needs an archive in a bucket (s3:, gs: or az:)",
        ("--in-memory", "--lease", "5", "--archive", "s3://a/b"): "lease needs database",
        ("--data-dir", folder, "--lease", "5", "--archive", "s3://a/b"): "lease needs database",
        ("--database", database, "--lease", "0", "--archive", "s3://a/b"): "lease is between 1 and 60 seconds",
        ("--database", database, "--lease", "61", "--archive", "s3://a/b"): "lease is between 1 and 60 seconds",
        ("--database", database, "--lease", "5", "--archive", "s3://a/b", "--standby", "s3://a/b"): "lease and standby exclude each other",
        ("--database", database, "--lease", "5", "--archive", "s3://a/b", "--max-wal-senders", "2"): "lease and max_wal_senders exclude each other",
        ("--database", database, "--lease", "5", "--archive", "s3://a/b", "--node-name", ""): "node_name is empty",
    }.items():
        done = subprocess.run([server.binary(), *given, "--socket-dir", folder, "--no-tcp"], capture_output=True, text=True, env=environment, timeout=60)
        expect(f"{given}", (done.returncode != 0, wanted in done.stderr), (True, True))
        if wanted not in done.stderr:
            PROBLEMS.append(done.stderr)


def settings(node: lists.Node) -> None:
    """synchronous_commit, and who waits for what, with a bucket that does not answer."""
    own, other, careless = node.connect(), node.connect(), node.connect()
    own.query("CREATE TABLE t (i int); INSERT INTO t VALUES (0)")
    careless.query("SET pgsqlite.read_unreplicated = on")
    expect("a value that is none", told(other, "SET pgsqlite.read_unreplicated = maybe"), '22023 parameter "pgsqlite.read_unreplicated" requires a Boolean value')
    own.query("SET synchronous_commit = remote_apply")
    expect("remote_apply", told(own, "INSERT INTO t VALUES (-1)")[:62], "0A000 a commit with synchronous_commit = remote_apply on a ser")
    expect("what remote_apply has left", told(own, "SELECT count(*) FROM t"), "1")
    expect("pg_promote on a primary", told(own, "SELECT pg_promote()")[:5], "55000")
    for number, (setting, waits) in enumerate({"off": False, "local": False, "on": True, "remote_write": True}.items(), 1):
        own.query(f"SET synchronous_commit = {setting}")
        node.proxy.down = "refused"
        done: dict[str, float] = {}
        found: dict[str, str] = {}

        def asks(name: str, connection: pgwire.Connection, sql: str) -> threading.Thread:
            def work() -> None:
                found[name] = told(connection, sql)
                done[name] = time.monotonic()

            thread = threading.Thread(target=work)
            thread.start()
            return thread

        threads = [asks("commit", own, f"INSERT INTO t VALUES ({number}) RETURNING i")]
        time.sleep(0.3)
        threads.append(asks("other", other, "SELECT max(i) FROM t"))
        threads.append(asks("careless", careless, "SELECT max(i) FROM t"))
        time.sleep(0.4)
        healed = time.monotonic()
        node.proxy.down = ""
        for thread in threads:
            thread.join(30)
        expect(f"{setting}: the values", found, {"commit": str(number), "other": str(number), "careless": str(number)})
        # who waits, waits until the bucket answers again; who does not, is answered before
        expect(f"{setting}: who waited", {name: at > healed for name, at in done.items()}, {"commit": waits, "other": True, "careless": False})
    # an entry of many megabytes is one object
    text = os.urandom(10 << 20).hex()
    own.query("SET synchronous_commit = on; CREATE TABLE big (s text)")
    own.query(f"INSERT INTO big VALUES ('{text}')")
    expect("a large transaction", told(own, "SELECT md5(s) FROM big"), hashlib.md5(text.encode()).hexdigest())
    LARGE.append(hashlib.md5(text.encode()).hexdigest())
    # what a clone has is not taken back
    own.query("SET synchronous_commit = local")
    node.proxy.down = "refused"
    own.query("INSERT INTO t VALUES (5)")
    found: list[tuple[str, float]] = []

    def clone() -> None:
        made = pgwire.Connection(node.dir, server.Server.port, "postgres", "made", options="-c pgsqlite.clone=main")
        found.append((told(made, "SELECT max(i) FROM t"), time.monotonic()))
        made.close()

    thread = threading.Thread(target=clone)
    thread.start()
    time.sleep(0.5)
    healed = time.monotonic()
    node.proxy.down = ""
    thread.join(60)
    expect("a clone", [(value, at > healed) for value, at in found], [("5", True)])
    for connection in (own, other, careless):
        connection.close()


def busy(node: lists.Node, moto: bucket.Moto) -> None:
    """Entries are put together while clients commit all the time: a server that begins anew reads few files."""
    connection = node.connect()
    connection.query("CREATE TABLE busy (i int)")
    connection.close()
    over, commits = threading.Event(), []

    def commit() -> None:
        connection = node.connect()
        while not over.is_set():
            connection.query("INSERT INTO busy VALUES (1)")
            commits.append(1)
        connection.close()

    threads = [threading.Thread(target=commit) for _ in range(4)]
    before = {key for key in moto.keys() if "/0001/" in key}
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + lists.PATIENCE
    while not (found := {key for key in moto.keys() if "/0001/" in key} - before) and time.monotonic() < deadline:
        time.sleep(0.5)
    over.set()
    for thread in threads:
        thread.join()
    expect(f"entries are put together, of {len(commits)} commits", bool(found), True)


def lost(nodes: list[lists.Node]) -> None:
    """What sessions of a primary are told that loses its lease, and what has become of their work."""
    primary = lists.wait_for_primary(nodes)
    others = [node for node in nodes if node is not primary]
    for node in others:
        standby = node.connect()
        expect("pg_promote() on a standby", told(standby, "SELECT pg_promote()")[:5], "0A000")
        expect("a write on a standby", told(standby, "INSERT INTO t VALUES (1)")[:5], "25006")
        expect("a standby's parameters", (standby.parameters["in_hot_standby"], standby.parameters["default_transaction_read_only"]), ("on", "off"))
        standby.close()
    in_block, waits, idle = primary.connect(), primary.connect(), primary.connect()
    in_block.query("CREATE TABLE u (i int)")
    in_block.query("BEGIN")
    in_block.query("INSERT INTO u VALUES (1)")
    in_block.query("ROLLBACK")
    in_block.query("BEGIN")
    in_block.query("SELECT 1")
    primary.proxy.down = "refused"
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(told(waits, "INSERT INTO t VALUES (100)")))
    thread.start()
    thread.join(60)
    expect("a commit that waits", found[0][:5] if found else "", "08007")
    expect("a transaction", told(in_block, "SELECT count(*) FROM t")[:5], "57P01")
    expect("a session", told(idle, "SELECT 1")[:5], "57P01")
    successor = lists.wait_for_primary(others)
    comes("what was not acknowledged is not there", lambda: successor.ask("SELECT count(*) FROM t WHERE i = 100"), "0")
    comes("a write on the new primary", lambda: successor.ask("INSERT INTO t VALUES (200) RETURNING i"), "200")
    primary.proxy.down = ""
    comes("the old one follows", lambda: primary.ask("SELECT max(i) FROM t WHERE pg_is_in_recovery()"), "200")
    expect("what it has had and nobody else", primary.ask("SELECT count(*) FROM t WHERE i = 100"), "0")
    aside = sqlite3.connect(f"{primary.database}.dropped")
    expect("what is aside", aside.execute("SELECT count(*) FROM t WHERE i = 100").fetchall(), [(1,)])
    aside.close()
    # a primary that stands still, and goes on after another one has its place
    primary, others = successor, [node for node in nodes if node is not successor]
    session, block = primary.connect(), primary.connect()
    block.query("BEGIN")
    block.query("INSERT INTO t VALUES (300)")
    primary.send(signal.SIGSTOP)
    successor = lists.wait_for_primary(others)
    comes("a write meanwhile", lambda: successor.ask("INSERT INTO t VALUES (400) RETURNING i"), "400")
    primary.send(signal.SIGCONT)
    # (it must not say 200)
    expect("a read on one that was stopped", told(session, "SELECT max(i) FROM t")[:5], "57P01")
    expect("a commit on one that was stopped", told(block, "COMMIT")[:5] in ("57P01", "08007", "gone"), True)
    comes("it follows", lambda: primary.ask("SELECT max(i) FROM t WHERE pg_is_in_recovery()"), "400")
    # a primary that ends gives its lease away
    primary, others = successor, [node for node in nodes if node is not successor]
    began = time.monotonic()
    primary.end(signal.SIGTERM)
    successor = lists.wait_for_primary(others)
    print(f"a primary was stopped: {time.monotonic() - began:.2f} s until another one was there")
    # … and takes it up again where it was if nobody wants it
    for node in sorted(others, key=lambda node: node is successor):
        node.end(signal.SIGTERM)
    before = successor.log().count("is dropped")
    successor.start()
    comes("the last one goes on with its file", lambda: successor.ask("SELECT max(i) FROM t WHERE NOT pg_is_in_recovery()"), "400")
    expect("it has not dropped it", successor.log().count("is dropped") - before, 0)


def alone(node: lists.Node) -> None:
    """A server whose bucket has no answer for longer than its lease, and that nobody has succeeded, goes on with its own file: nothing of it is lost."""
    connection = node.connect()
    connection.query("CREATE TABLE alone (i int)")
    connection.query("SET synchronous_commit = local")
    node.proxy.down = "refused"
    for number in range(3):
        # (the second one has seen the first: with this it waits for its own disk)
        connection.query("SET pgsqlite.read_unreplicated = on")
        connection.query(f"INSERT INTO alone VALUES ({number})")
    expect("a local commit", told(connection, "SELECT count(*) FROM alone"), "3")
    deadline = time.monotonic() + lists.PATIENCE
    while "begins again" not in node.log() and time.monotonic() < deadline:
        time.sleep(0.05)
    node.proxy.down = ""
    comes("what was committed locally", lambda: node.ask("SELECT count(*) FROM alone WHERE NOT pg_is_in_recovery()"), "3")


def ended(node: lists.Node) -> None:
    """A primary that is told to end while the bucket does not answer ends: it does not begin again when it loses its lease meanwhile."""
    node.proxy.down = "refused"
    connection = node.connect()
    connection.query("SET synchronous_commit = local; INSERT INTO t VALUES (500)")
    node.server.process.send_signal(signal.SIGTERM)
    try:
        expect("how it has ended", node.server.process.wait(60), 0)
    except subprocess.TimeoutExpired:
        PROBLEMS.append(f"{node.name} has not ended: {node.log()[-1000:]}")
    node.proxy.down = ""
    # a URL with a mistake in it
    os.environ.update(node.proxy.environment)
    flags = [f"s3://{bucket.NAME}/mistake" if flag == lists.ARCHIVE else flag for flag in node.flags]
    done = subprocess.run([server.binary(), "--database", node.database, "--socket-dir", node.dir, "--no-tcp", *flags], capture_output=True, text=True, timeout=60)
    expect("another archive", (done.returncode != 0, "belongs to an archive with a lease, and this one has none" in done.stderr), (True, True))
    expect("the file is left", os.path.getsize(node.database) > 0, True)


def strangers(folder: str, moto: bucket.Moto) -> None:
    """Files that have nothing to do with the archive, and servers without a lease."""
    node = lists.Node(folder, "stranger", moto, 2, 9)
    os.environ.update(node.proxy.environment)
    with server.Server("--superuser", "postgres", directory=node.dir, database=node.database) as plain:
        connection = pgwire.Connection(node.dir, plain.port, "postgres", "main")
        connection.query("CREATE TABLE mine (i int)")
        connection.close()
    done = subprocess.run([server.binary(), "--database", node.database, "--socket-dir", node.dir, "--no-tcp", *node.flags], capture_output=True, text=True, timeout=60)
    expect("a file that has nothing to do with the archive", (done.returncode != 0, "may have what the archive has not" in done.stderr), (True, True))
    # an archive with a lease is written by nobody without one
    with server.Server("--archive", lists.ARCHIVE, directory=node.dir, database=node.database) as plain:
        deadline = time.monotonic() + lists.PATIENCE
        while "has a lease: start the server with --lease" not in plain.log_text() and time.monotonic() < deadline:
            time.sleep(0.05)
        expect("a server without a lease", "has a lease: start the server with --lease" in plain.log_text(), True)
    node.close()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--moto", required=True)
    given = arguments.parse_args()
    folder = tempfile.mkdtemp(prefix="pgsqlite-failover.")
    moto = bucket.Moto(given.moto, folder)
    nodes: list[lists.Node] = []
    try:
        flags(folder)
        nodes = [lists.Node(folder, name, moto, 2, n) for n, name in enumerate(("n1", "n2", "n3"))]
        nodes[0].start()
        lists.wait_for_primary(nodes[:1])
        alone(nodes[0])
        # (nobody is to lose a lease here)
        nodes[0].end(signal.SIGTERM)
        usual, nodes[0].flags = nodes[0].flags, tuple("30" if flag == "2" else flag for flag in nodes[0].flags)
        nodes[0].start()
        lists.wait_for_primary(nodes[:1])
        settings(nodes[0])
        busy(nodes[0], moto)
        nodes[0].end(signal.SIGTERM)
        nodes[0].flags = usual
        nodes[0].start()
        lists.wait_for_primary(nodes[:1])
        for node in nodes[1:]:
            node.start()
        for node in nodes[1:]:
            comes("a standby follows", lambda node=node: node.ask("SELECT count(*) FROM t"), "6")
            comes("a large value there", lambda node=node: node.ask("SELECT md5(s) FROM big"), LARGE[0])
        lost(nodes)
        ended(lists.wait_for_primary(nodes))
        strangers(folder, moto)
    finally:
        for node in nodes:
            node.close()
        moto.close()
        shutil.rmtree(folder, ignore_errors=True)
    if PROBLEMS:
        print(*PROBLEMS, sep="\n")
        raise SystemExit(f"{len(PROBLEMS)} problems")


if __name__ == "__main__":
    main()
