#!/usr/bin/env python3
"""What is said on a connection for replication, who may open one, and what becomes of those who do not keep to the protocol.

    replication.py --check              answers of ours against replication.txt, and what only ours has
    ORACLE_VERSION=18 tools/oracle.sh replication.py --record    writes replication.txt from PostgreSQL
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402

SETUP = "CREATE ROLE clerk LOGIN; CREATE ROLE copier LOGIN REPLICATION; CREATE ROLE idle REPLICATION; CREATE ROLE boss LOGIN SUPERUSER"
#: The start-up packet, and then messages: a text is a simple query, a pair another message.
CASES: list[tuple[dict[str, str], list[object]]] = [
    ({"user": "postgres", "replication": "maybe"}, []),
    ({"user": "postgres", "replication": ""}, []),
    ({"user": "postgres", "replication": "off"}, ["SELECT 1 AS one"]),
    ({"user": "postgres", "replication": "f"}, ["SELECT 1 AS one"]),
    ({"user": "clerk", "replication": "true"}, []),
    ({"user": "clerk", "replication": "1"}, []),
    ({"user": "clerk", "replication": "database"}, []),
    ({"user": "clerk", "replication": "false"}, ["SELECT 1 AS one"]),
    ({"user": "idle", "replication": "yes"}, []),
    ({"user": "nobody_of_this_name", "replication": "true"}, []),
    ({"user": "copier", "replication": "true"}, ["IDENTIFY_SYSTEM", "identify_system;", "IDENTIFY_SYSTEM x"]),
    ({"user": "boss", "replication": "on"}, ["IDENTIFY_SYSTEM"]),
    ({"user": "copier", "replication": "t"}, ["SELECT 1", "INSERT INTO t VALUES (1)", "START_REPLICATION", "START_REPLICATION PHYSICAL x", "START_REPLICATION PHYSICAL 0/0 TIMELINE 'x'"]),
    ({"user": "copier", "replication": "true"}, [(b"P", b"\0SELECT 1\0\0\0"), (b"B", b"\0\0\0\0\0\0\0\0"), (b"S", b""), "IDENTIFY_SYSTEM"]),
    ({"user": "copier", "replication": "true"}, [(b"F", struct.pack("!ihhh", 1, 0, 0, 0)), "IDENTIFY_SYSTEM"]),
    ({"user": "copier", "replication": "true"}, [(b"d", b"x"), (b"c", b""), "IDENTIFY_SYSTEM"]),
    ({"user": "copier", "replication": "true"}, [(b"S", b""), (b"X", b"")]),
    ({"user": "copier", "replication": "true"}, [(b"y", b"")]),
]
#: Cases that differ, by their numbers, with the reason.
DIFFERENT: dict[int, str] = {}


def words(kind: bytes, body: bytes) -> list[str]:
    match kind:
        case b"E" | b"N":
            f = pgwire.fields_of(body)
            return [f"{f['S']} {f['C']}: {f['M']}", *(f"{word}: {f[k]}" for k, word in (("D", "DETAIL"), ("H", "HINT")) if k in f)]
        case b"T":
            return ["columns: " + ", ".join(f"{name} {oid}" for name, oid, _, _ in pgwire.row_description(body))]
        case b"D":
            # (which system it is, and where its log is, differs)
            values = [None if v is None else v.decode() for v in pgwire.data_row(body)]
            if len(values) == 4:
                values[0], values[2] = "a number" if values[0] and values[0].isdigit() else values[0], "a place" if values[2] and "/" in values[2] else values[2]
            return ["|".join("NULL" if v is None else v for v in values)]
        case b"C":
            return [f"tag: {body[:-1].decode()}"]
        case b"Z":
            return [f"state: {body.decode()}"]
    return [f"message {kind.decode()}"]


def said(folder: str, database: str, start: dict[str, str], messages: list[object]) -> list[str]:
    try:
        connection = pgwire.Connection(folder, 5432, database=database, **start)
    except pgwire.StartupError as e:
        f = e.fields
        return [f"{f['S']} {f['C']}: {f['M']}", *(f"{word}: {f[k]}" for k, word in (("D", "DETAIL"), ("H", "HINT")) if k in f)]
    lines = []
    try:
        for message in messages:
            if isinstance(message, str):
                lines.append(f"> {message}")
                lines += [line for kind, body in connection.simple(message) for line in words(kind, body)]
            else:
                kind, body = message
                lines.append(f"> {kind.decode()}")
                connection.send(kind, body)
                if kind in (b"S", b"F"):
                    lines += [line for k, b in connection.until_ready() for line in words(k, b)]
                if kind in (b"X", b"y"):
                    while True:
                        lines += words(*connection.receive())
    except pgwire.ServerGone as e:
        lines.append("gone" if "closed" in str(e) else f"gone: {e}")
    finally:
        connection.close()
    return lines


def answers(folder: str, database: str) -> list[list[str]]:
    connection = pgwire.Connection(folder, 5432, "postgres", database)
    connection.query(SETUP)
    connection.close()
    return [said(folder, database, start, messages) for start, messages in CASES]


def written(found: list[list[str]]) -> str:
    return "\n".join(
        "\n".join([f"== {' '.join(f'{k}={v!r}' for k, v in start.items())}", *lines, ""]) for (start, _), lines in zip(CASES, found)
    )


class Check:
    """What only ours has."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def expect(self, what: str, found: object, wanted: object) -> None:
        if found != wanted:
            self.problems.append(f"{what}: {found!r}, not {wanted!r}")

    def garbage(self, node: server.Server) -> None:
        """A client that streams and does not keep to the protocol is sent away, and the server goes on."""
        start = "START_REPLICATION PHYSICAL 0/0 (format 'ltx3')"
        for kind, body, wanted in [
            (b"d", b"z", "08P01 unexpected message type 122 of a standby"),
            (b"d", b"", "08P01 a message ends too early"),
            (b"d", b"r123", "08P01 a message ends too early"),
            (b"d", b"r" + b"\0" * 40, "08P01 a message is longer than it may be"),
            (b"Q", b"SELECT 1\0", '08P01 unexpected standby message type "Q"'),
            (b"d", b"x" * 20_000, "08P01 invalid message length"),
            (b"y", b"", "08P01 invalid frontend message type 121"),
        ]:
            connection = pgwire.Connection(node.dir, 5432, "copier", "main", replication="true")
            connection.send(b"Q", start.encode() + b"\0")
            self.expect("a copy begins", connection.receive()[0], b"W")
            connection.send(kind, body)
            last = ""
            try:
                while True:
                    k, b = connection.receive()
                    if k == b"E":
                        last = f"{pgwire.fields_of(b)['C']} {pgwire.fields_of(b)['M']}"
            except pgwire.ServerGone:
                pass
            self.expect(f"{kind!r} {body[:9]!r}", last, wanted)
            connection.sock.close()
        # bytes that are no messages at all
        for noise in (os.urandom(3000), b"\xff" * 50, b"d\x7f\xff\xff\xff" + b"r" * 100):
            connection = pgwire.Connection(node.dir, 5432, "copier", "main", replication="true")
            connection.send(b"Q", start.encode() + b"\0")
            try:
                connection.sock.sendall(noise)
                while True:
                    connection.receive()
            except (pgwire.ServerGone, OSError):
                pass
            connection.sock.close()
        # the stream ends in good order
        connection = pgwire.Connection(node.dir, 5432, "copier", "main", replication="true")
        connection.send(b"Q", start.encode() + b"\0")
        connection.send(b"c", b"")
        kinds = [kind for kind, _ in connection.until_ready()]
        self.expect("the end of a stream", (kinds[0], kinds[-3:]), (b"W", [b"c", b"C", b"Z"]))
        self.expect("a command after it", [words(*m) for m in connection.simple("LIST_DATABASES")][:2], [["columns: datname 25"], ["main"]])
        connection.close()
        deadline = time.monotonic() + 30
        connection = pgwire.Connection(node.dir, 5432, "postgres", "main")
        while connection.query("SELECT count(*) FROM pg_stat_replication") != [["0"]] and time.monotonic() < deadline:
            time.sleep(0.05)
        self.expect("connections that are left", connection.query("SELECT count(*) FROM pg_stat_replication"), [["0"]])
        connection.close()

    def places(self, node: server.Server) -> None:
        """There are as many as --max-wal-senders says."""
        kept = [pgwire.Connection(node.dir, 5432, "copier", "main", replication="true") for _ in range(2)]
        try:
            pgwire.Connection(node.dir, 5432, "postgres", "main", replication="true")
            self.problems.append("a third connection")
        except pgwire.StartupError as e:
            self.expect("a third connection", str(e), "53300 number of requested standby connections exceeds max_wal_senders (currently 2)")
        connection = pgwire.Connection(node.dir, 5432, "postgres", "main")
        rows = connection.query("SELECT application_name, usename, state, sync_state, backend_type, datname FROM pg_stat_replication JOIN pg_stat_activity USING (pid, application_name, usename, state)")
        self.expect("no join", rows, [])
        rows = connection.query("SELECT r.usename, r.state, r.sync_state, a.backend_type, a.datname FROM pg_stat_replication r JOIN pg_stat_activity a USING (pid)")
        self.expect("the connections", rows, [["copier", "startup", "async", "walsender", None]] * 2)
        connection.query("SET ROLE clerk")
        rows = connection.query("SELECT usename, state, sent_lsn, sync_state, client_port FROM pg_stat_replication")
        self.expect("the connections as others see them", rows, [["copier", None, None, None, None]] * 2)
        connection.query("RESET ROLE")
        self.expect("one is ended", connection.query("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_replication"), [["2"]])
        connection.close()
        for one in kept:
            try:
                while True:
                    one.receive()
            except pgwire.ServerGone:
                one.sock.close()

    def seen_from_outside(self, node: server.Server, status: str, metrics: str) -> None:
        """The status page's data and the metrics have the standbys, for those who may see them."""
        connection = pgwire.Connection(node.dir, 5432, "postgres", "main")
        connection.query("ALTER ROLE clerk PASSWORD 'secret'; ALTER ROLE boss PASSWORD 'secret'")
        connection.close()
        kept = pgwire.Connection(node.dir, 5432, "copier", "main", replication="true", application_name="two")
        for user, wanted in (("boss", [{"database": "main", "name": "two", "state": "startup", "behind": 0, "lag": None}]), ("clerk", [])):
            request = urllib.request.Request(f"http://{status}/live.json?database=main")
            request.add_header("Authorization", "Basic " + base64.b64encode(f"{user}:secret".encode()).decode())
            self.expect(f"the status page for {user}", json.load(urllib.request.urlopen(request))["followed_by"], wanted)
        page = urllib.request.urlopen(f"http://{metrics}/metrics").read().decode()
        self.expect("the metrics", 'pgsqlite_replication_sent_bytes{database="main",application_name="two",pid="' in page, True)
        kept.close()

    def tools(self, node: server.Server) -> None:
        """PostgreSQL's own programs are told what this is."""
        target = os.path.join(node.dir, "copy")
        os.makedirs(target)
        for program in (["pg_basebackup", "-D", target], ["pg_receivewal", "-D", target, "--no-loop"]):
            try:
                done = subprocess.run([*program, "-h", node.dir, "-U", "postgres"], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
            except FileNotFoundError:
                continue
            told = "which PostgreSQL and its tools cannot use" in done.stderr
            self.expect(program[0], (done.returncode != 0, told), (True, True))

    def rules(self, folder: str) -> None:
        """Rules for databases do not let in who replicates."""
        hba = os.path.join(folder, "rules.conf")
        pathlib.Path(hba).write_text("local all clerk trust\nlocal all postgres trust\nlocal replication copier trust\nlocal all copier reject\n")
        node = server.Server("--max-wal-senders", "2", "--hba", hba)
        try:
            connection = pgwire.Connection(node.dir, 5432, "postgres", "main")
            connection.query(SETUP)
            connection.close()
            pgwire.Connection(node.dir, 5432, "copier", "main", replication="true").close()
            for user, replication, wanted in [
                ("postgres", "true", '28000 no pg_hba.conf entry for replication connection from host "[local]", user "postgres", no encryption'),
                ("copier", "database", '28000 pg_hba.conf rejects connection for host "[local]", user "copier", database "main", no encryption'),
                ("copier", "false", '28000 pg_hba.conf rejects connection for host "[local]", user "copier", database "main", no encryption'),
            ]:
                try:
                    pgwire.Connection(node.dir, 5432, user, "main", replication=replication)
                    self.problems.append(f"{user}, replication={replication} is let in")
                except pgwire.StartupError as e:
                    self.expect(f"{user}, replication={replication}", str(e), wanted)
            pgwire.Connection(node.dir, 5432, "postgres", "main", replication="database").close()
        finally:
            node.stop()
        node = server.Server()
        try:
            pgwire.Connection(node.dir, 5432, "postgres", "main", replication="true")
            self.problems.append("a server without --max-wal-senders lets standbys in")
        except pgwire.StartupError as e:
            self.expect("without WAL senders", str(e), "53300 number of requested standby connections exceeds max_wal_senders (currently 0)")
        finally:
            node.stop()


def check() -> list[str]:
    checked = Check()
    status, metrics = (f"127.0.0.1:{server.free_port()}" for _ in range(2))
    node = server.Server("--max-wal-senders", "2", "--status-addr", status, "--metrics-addr", metrics)
    try:
        found = answers(node.dir, "main")
        recorded = (HERE / "replication.txt").read_text().split("\n\n")
        for number, (ours, theirs) in enumerate(zip(written(found).split("\n\n"), recorded, strict=True)):
            if (ours.strip() != theirs.strip()) != (number in DIFFERENT):
                checked.problems.append(f"case {number}:\n{ours}\n-- PostgreSQL:\n{theirs}")
        checked.garbage(node)
        checked.places(node)
        checked.seen_from_outside(node, status, metrics)
        checked.tools(node)
    finally:
        node.stop()
    with tempfile.TemporaryDirectory(prefix="pgsqlite-replication.") as folder:
        checked.rules(folder)
    return checked.problems


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.record:
        (HERE / "replication.txt").write_text(written(answers(os.environ["PGHOST"], "postgres")))
    if options.check:
        problems = check()
        print("\n".join(problems))
        print(f"replication: {len(CASES)} cases, {len(problems)} problems")
        sys.exit(bool(problems))


if __name__ == "__main__":
    main()
