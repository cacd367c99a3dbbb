"""Informix clients that wait: they are watched, limited and logged as PostgreSQL's clients are."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time

import server
from situations import SOON, Later, Room, Told, expect, lines, numbered, situation

DRIVER = pathlib.Path(__file__).resolve().parents[2] / "informix-db" / "src"
PORT = str(server.free_port())
CLIENT = """
import sys
sys.path.insert(0, sys.argv[1])
import informix_db
connection = informix_db.connect("127.0.0.1", int(sys.argv[2]), user="postgres", password="", database="main", server="x", autocommit=True)
cursor = connection.cursor()
for text in sys.argv[3:]:
    try:
        cursor.execute(text)
    except informix_db.Error as error:
        print(error, flush=True)
    else:
        print("done", flush=True)
sys.stdin.read()
"""


def client(*texts: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", CLIENT, str(DRIVER), PORT, *texts], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def end(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


SESSIONS = "(SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sqli')"


@situation("--sqli-port", PORT)
def an_informix_client_that_is_gone_waits_and_computes_no_more(room: Room) -> None:
    holder, look = numbered(room, 2)
    lines(holder, "CREATE TABLE t (a int); INSERT INTO t SELECT generate_series(1, 3000)")
    lines(holder, "BEGIN; UPDATE t SET a = a + 1 WHERE a = 1")
    for text in ("UPDATE t SET a = 5 WHERE a = 1", "SELECT count(*) FROM t x, t y, t z WHERE x.a + y.a + z.a = 1"):
        process = client("SET LOCK MODE TO WAIT", text)
        try:
            room.until(look, "EXISTS (SELECT 1 FROM pg_stat_activity WHERE application_name = 'sqli' AND state = 'active' AND query NOT LIKE '%BEGIN%')", f"{text} runs")
            if text.startswith("UPDATE"):
                room.until(look, "EXISTS (SELECT 1 FROM pg_stat_activity WHERE application_name = 'sqli' AND wait_event = 'transactionid')", f"{text} waits")
        finally:
            end(process)
        room.until(look, f"{SESSIONS} = 0", f"the session of {text} ends with its client")
    lines(holder, "ROLLBACK")


@situation("--sqli-port", PORT, "--idle-writer-timeout", "1")
def a_silent_informix_writer_is_ended_while_others_wait(room: Room) -> None:
    waiter, look = numbered(room, 2)
    lines(look, "CREATE TABLE t (a int)")
    # (DDL keeps the writer slot)
    process = client("BEGIN WORK", "INSERT INTO t VALUES (1)", "CREATE TABLE u (a INT)")
    try:
        expect([process.stdout.readline() for _ in range(3)], ["done\n"] * 3, "the writer")
        room.until(look, "EXISTS (SELECT 1 FROM pg_stat_activity WHERE application_name = 'sqli' AND state = 'idle in transaction')", "it is idle")
        expect(Later(waiter, "INSERT INTO t VALUES (2)").result(), ["INSERT 0 1"], "the waiter")
        expect(lines(look, "SELECT a FROM t")[0], "2", "the silent writer's row is gone")
        room.until(look, f"{SESSIONS} = 0", "the session has ended")
    finally:
        end(process)


@situation("--sqli-port", PORT, "--log-refused", "FILE")
def refused_statements_of_informix_clients_are_logged(room: Room) -> None:
    (look,) = numbered(room, 1)
    texts = ["CREATE DATABASE d WITH LOG MODE ANSI", "SELECT nothing FROM nowhere", "CREATE TABLE t (a INT) PARTITION BY x"]
    process = client(*texts)
    try:
        told = [process.stdout.readline() for _ in texts]
        path = os.path.join(room.running.dir, "refused.jsonl")
        deadline = time.monotonic() + SOON
        written = []
        while not written and time.monotonic() < deadline:
            with open(path, encoding="utf-8") as file:
                written = [json.loads(line) for line in file]
        refused = [w["statement"] for w in written]
        if texts[0] not in refused:
            raise Told(f"{texts[0]} is not in the log: {refused}; the client was told {told}")
        expect(texts[1] in refused, False, "only refusals")
        expect({w["application_name"] for w in written}, {"sqli"}, "who was refused")
    finally:
        end(process)


@situation("--sqli-port", PORT, "--shutdown-timeout", "1")
def a_statement_of_an_informix_client_ends_with_the_servers_patience(room: Room) -> None:
    (look,) = numbered(room, 1)
    lines(look, "CREATE TABLE t (a int); INSERT INTO t SELECT generate_series(1, 3000)")
    runs = client("SELECT count(*) FROM t x, t y, t z WHERE x.a + y.a + z.a = 1")
    idle = client("SELECT count(*) FROM t")
    try:
        expect(idle.stdout.readline(), "done\n", "the idle client")
        running = "application_name = 'sqli' AND state = 'active' AND query LIKE '%AS \"z\"%' AND clock_timestamp() - query_start > interval '0.5 s'"
        room.until(look, f"EXISTS (SELECT 1 FROM pg_stat_activity WHERE {running})", "the statement runs")
        began = time.monotonic()
        room.running.process.terminate()
        expect(room.running.process.wait(SOON), 0, "how the server ends")
        took = time.monotonic() - began
        expect(1 <= took < 5, True, f"the statement had its second, and no more ({took:.1f} s)")
        told = runs.stdout.readline()
        expect("terminating connection due to administrator command" in told, True, f"the client is told why: {told!r}")
    finally:
        end(runs)
        end(idle)
