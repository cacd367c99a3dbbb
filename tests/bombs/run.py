#!/usr/bin/env python3
"""Sends statements that take long, ends them, and watches what others notice. See README.md."""

from __future__ import annotations

import argparse
import os
import pathlib
import resource
import signal
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bombs  # noqa: E402
from look_ups import LookUps, delays  # noqa: E402
from pgwire import Connection, ServerGone, fields_of  # noqa: E402
from server import Server  # noqa: E402

# The end of the name of a statement that is sent by the extended protocol.
EXTENDED = ", extended"
WAYS = ("timeout", "cancel", "terminate")
# Statements that SIGTERM is tried with, each on a server of its own.
STOPPED = ["repeat", "regex with back-references", "create table as", "cross join", "plpgsql loop", "sleep", "copy to",
           "add column default", "insert of a select", "do with transactions"]


class Client(Connection):
    """A session that knows its key for cancel requests."""

    def __init__(self, server: Server, patience: float = 30):
        self.server = server
        self.key = b""
        super().__init__(server.dir, server.port, "postgres", "postgres", timeout=patience)

    def receive(self) -> tuple[bytes, bytes]:
        kind, body = super().receive()
        if kind == b"K":
            self.key = body
        return kind, body

    @property
    def pid(self) -> int:
        return int(struct.unpack("!i", self.key[:4])[0])

    def cancel(self) -> None:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(10)
            s.connect(f"{self.server.dir}/.s.PGSQL.{self.server.port}")
            s.sendall(struct.pack("!ii", 16, 80877102) + self.key)
            s.recv(1)

    def outcome(self) -> str:
        """The SQLSTATE that a query string ends with, or "" if it succeeds; rows are thrown away."""
        state = ""
        try:
            while True:
                kind, body = self.receive()
                if kind == b"E":
                    fields = fields_of(body)
                    state = fields.get("C", "?")
                    if fields.get("S") == "FATAL":
                        return state
                    self.message = fields.get("M", "")
                if kind == b"Z":
                    return state
        except ServerGone:
            return state or "gone"


class Stage:
    """A server, the session that looks up keys, and one that ends others."""

    def __init__(self, memory: int, setup: str = bombs.SETUP):
        self.setup = setup
        self.server = Server()
        resource.prlimit(self.server.process.pid, resource.RLIMIT_AS, (memory, memory))
        # outside the server's runtime: the session that terminates is itself one of those that must not be held up
        self.admin = Client(self.server, patience=600)
        for statement in setup.strip().split(";\n"):
            self.admin.query(statement)
        for extension in ("pgcrypto", "pg_trgm", "hstore", "uuid-ossp"):
            self.admin.query(f'CREATE EXTENSION IF NOT EXISTS "{extension}"')
        self.look_ups = LookUps(self.server)

    def is_well(self) -> bool:
        return self.server.process.poll() is None and not self.look_ups.error

    def stop(self) -> None:
        self.look_ups.stop()
        self.server.stop()


def percentile(waits: list[float], share: float) -> float:
    ordered = sorted(waits)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


class Result:
    def __init__(self, name: str, way: str):
        self.name, self.way = name, way
        self.state, self.late, self.worst, self.p99, self.ended_itself = "", 0.0, 0.0, 0.0, False
        #: of `late`: until the server's threads got a processor that others had
        self.waited = 0.0
        self.faults: list[str] = []

    def line(self) -> str:
        how = "by itself" if self.ended_itself else f"late by {self.late * 1000:6.0f} ms"
        return (f"{'FAIL' if self.faults else 'ok':4} {self.name[:40]:40} {self.way:9} {self.state or '00000'} {how:18} "
                f"others p99 {self.p99 * 1000:6.1f} ms, worst {self.worst * 1000:6.1f} ms {'; '.join(self.faults)}")


def explode(stage: Stage, name: str, sql: str, way: str, limit: float, bounds: argparse.Namespace, extended: bool = False) -> Result:
    result = Result(name, way)
    client = Client(stage.server, patience=60)
    if way == "timeout":
        client.query(f"SET statement_timeout = {int(limit * 1000)}")
    stage.look_ups.take()
    began = time.monotonic()
    told: list[float] = [began + limit]
    delayed = [0.0]

    def tell() -> None:
        delayed[0] = delays(stage.server.process.pid)
        if way == "timeout":
            return
        told[0] = time.monotonic()
        try:
            if way == "cancel":
                client.cancel()
            else:
                stage.admin.query(f"SELECT pg_terminate_backend({client.pid})")
        except (OSError, ServerGone, RuntimeError) as e:
            result.faults.append(f"{way}: {e}")

    timer = threading.Timer(limit, tell)
    try:
        if extended:
            parse = b"\0" + sql.encode() + b"\0\0\0"
            for kind, body in ((b"P", parse), (b"B", b"\0\0\0\0\0\0\0\0"), (b"E", b"\0\0\0\0\0"), (b"S", b"")):
                client.send(kind, body)
        else:
            client.send(b"Q", sql.encode() + b"\0")
        # (a cancel request that comes before the statement is for nothing)
        timer.start()
        result.state = client.outcome()
    except TimeoutError:
        result.state = "-----"
        result.faults.append("has not ended after a minute")
    ended = time.monotonic()
    timer.cancel()
    if timer.is_alive():
        timer.join()
    if way != "timeout" and not timer.ident:
        result.faults.append("was not sent")
    result.late = max(0.0, ended - told[0])
    result.ended_itself = ended < told[0]
    client.close()
    waits = stage.look_ups.take()
    result.worst, result.p99 = max(waits, default=0.0), percentile(waits, 0.99)
    expected = {"timeout": {"57014"}, "cancel": {"57014"}, "terminate": {"57P01"}}[way]
    if not result.ended_itself and result.state in {"57014", "57P01", "gone", "?"} - expected:
        result.faults.append(f"ends with {result.state}")
    if result.state in ("XX000", "XX001"):
        result.faults.append(f"{result.state} {getattr(client, 'message', '')}")
    if result.late > bounds.end and timer.ident and stage.server.process.poll() is None:
        # on a machine that does other work, too, the server's own time counts, up to a multiple of the bound
        result.waited = delays(stage.server.process.pid) - delayed[0]
    timed_each = way == "timeout" and name in bombs.MANY_SHORT and not result.state
    if not timed_each and (result.late - result.waited > bounds.end or result.late > 10 * bounds.end):
        result.faults.append("ends late")
    if result.worst > bounds.worst:
        result.faults.append("others waited")
    if bounds.p99 and result.p99 > bounds.p99:
        result.faults.append("others' p99")
    if not stage.is_well():
        result.faults.append(f"the server is ill: {stage.look_ups.error} {stage.server.log_text()[-300:]}")
    return result


def stop_with(name: str, sql: str, bounds: argparse.Namespace) -> Result:
    """SIGTERM while the statement runs."""
    result = Result(name, "SIGTERM")
    server = Server("--shutdown-timeout", "1")
    resource.prlimit(server.process.pid, resource.RLIMIT_AS, (bounds.memory << 20, bounds.memory << 20))
    client = Client(server, patience=60)
    for statement in bombs.SETUP.strip().split(";\n"):
        client.query(statement)
    client.send(b"Q", sql.encode() + b"\0")
    time.sleep(0.3)
    told = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    ended: list[float] = []

    def read() -> None:
        client.outcome()
        ended.append(time.monotonic())

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    pid, delayed, at_first = server.process.pid, 0.0, delays(server.process.pid)
    while server.process.poll() is None:
        if time.monotonic() - told > 20:
            result.faults.append("the server has not stopped after 20 s")
            break
        delayed = max(delayed, delays(pid) - at_first)
        time.sleep(0.005)
    reader.join(10)
    result.waited = delayed
    # the time it lets statements finish is not late; nor is what it takes to write the log back, which it does when the statement has ended
    result.late = max(0.0, (ended[0] if ended else time.monotonic()) - told - 1)
    if result.late - result.waited > bounds.end or result.late > 10 * bounds.end:
        result.faults.append("ends late")
    server.stop()
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ways", default="one", help="one (each statement is ended one way), all, or names")
    parser.add_argument("--only", default="", help="statements whose name contains this")
    parser.add_argument("--limit", type=float, default=0.2, help="seconds until a statement is ended")
    parser.add_argument("--end", type=float, default=2.0, help="seconds in which it then has to end")
    parser.add_argument("--worst", type=float, default=0.5, help="the longest that another session may wait")
    parser.add_argument("--p99", type=float, default=0.0, help="its 99th percentile; 0: not looked at")
    parser.add_argument("--memory", type=int, default=12288, help="MiB of address space for the server")
    parser.add_argument("--functions", type=float, default=0, help="seconds for calls of functions with large arguments")
    parser.add_argument("--objects", type=int, default=200, help="tables and roles of the catalog that DDL is tried with")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-v", action="store_true")
    bounds = parser.parse_args()
    groups = (bombs.NATIVES, bombs.QUERIES, bombs.PLANNING, bombs.WRITES, bombs.COMMITS, bombs.COMMIT_BLOCKS, bombs.TEXTS, bombs.DDL)
    chosen = [(n, s) for group in groups for n, s in group.items() if bounds.only in n]
    chosen += [(n + EXTENDED, s) for n, s in bombs.COMMITS.items() if bounds.only in n + EXTENDED]
    results: list[Result] = []

    def report(result: Result) -> None:
        results.append(result)
        if bounds.v or result.faults:
            print(result.line(), flush=True)

    def try_all(stage: Stage, chosen: list[tuple[str, str]]) -> Stage:
        """Returns the stage that is left: a server that did not bear it is replaced."""
        for i, (name, sql) in enumerate(chosen):
            # a handler must not catch what ends its statement, whichever way that is
            ways = WAYS if bounds.ways == "all" or "handler" in name else bounds.ways.split(",") if bounds.ways != "one" else [WAYS[i % 3]]
            for way in ways:
                # the bounds of time are the contract: one slow moment of the machine is looked at once more
                for attempt in range(2):
                    # (a busy machine takes its time to receive a long text)
                    limit = max(bounds.limit, 1.0) if name in bombs.TEXTS else bounds.limit
                    result = explode(stage, name, sql, way, limit, bounds, name.endswith(EXTENDED))
                    if not stage.is_well():
                        stage.stop()
                        stage = Stage(bounds.memory << 20, stage.setup)
                    if not result.faults:
                        break
                report(result)
        return stage

    later = [
        (bombs.VALUES_SETUP, [(n, s) for n, s in bombs.VALUES.items() if bounds.only in n]),
        (bombs.catalog_setup(bounds.objects), [(n, s) for n, s in bombs.catalog(bounds.objects).items() if bounds.only in n]),
    ]
    stage = Stage(bounds.memory << 20)
    try:
        stage = try_all(stage, chosen)
        if bounds.functions:
            import enumerate_functions

            for name, sql in enumerate_functions.calls(stage.admin, bounds.functions, bounds.seed):
                result = explode(stage, name, sql, "timeout", bounds.limit, bounds)
                if not stage.is_well():
                    stage.stop()
                    stage = Stage(bounds.memory << 20)
                report(result)
        for setup, some in later:
            if some:
                stage.stop()
                stage = Stage(bounds.memory << 20, setup)
                stage = try_all(stage, some)
    finally:
        stage.stop()
    for name, sql in chosen:
        if name in STOPPED:
            report(stop_with(name, sql, bounds))
    bad = [r for r in results if r.faults]
    ended = [r for r in results if not r.ended_itself and r.state]
    print(f"bombs: {len(results)} explosions, {len(ended)} of them ended from outside; latest "
          f"{max((r.late for r in ended), default=0) * 1000:.0f} ms, others' longest wait {max((r.worst for r in results), default=0) * 1000:.0f} ms")
    print(f"{len(results) - len(bad)} passed, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
