"""The server and its databases, from Python."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time

import pgsqlite
import psycopg
import pytest


def test_databases_and_copies(pgsqlite_server):
    database = pgsqlite_server.create_database("app")
    database.execute("CREATE TABLE t (i int); INSERT INTO t VALUES (1)")
    with pgsqlite_server.clone("app") as one, pgsqlite_server.clone("app") as two:
        one.execute("INSERT INTO t VALUES (2)")
        assert one.execute("SELECT i, NULL FROM t ORDER BY i") == [["1", None], ["2", None]]
        assert two.execute("SELECT count(*) FROM t") == [["1"]]
        with psycopg.connect(one.url) as conn:
            assert conn.execute("SELECT count(*), current_database() FROM t").fetchone() == (2, one.name)
        with psycopg.connect(one.conninfo) as conn:
            assert conn.execute("SELECT count(*) FROM t").fetchone() == (2,)
    assert database.execute("SELECT count(*) FROM t") == [["1"]]
    # a copy goes when the server has noticed that its last session has ended
    deadline = time.monotonic() + 60
    with pytest.raises(pgsqlite.DatabaseError) as error:
        while time.monotonic() < deadline:
            one.execute("SELECT 1")
    assert error.value.sqlstate == "3D000"
    pgsqlite_server.create_database("copy", template="app")
    assert pgsqlite_server.execute("SELECT count(*) FROM t", "copy") == [["1"]]
    pgsqlite_server.drop_database("copy")


def test_a_system_with_an_old_c_library_is_named(tmp_path, monkeypatch):
    program = tmp_path / "pgsqlite"
    line = "pgsqlite: /lib/libc.so.6: version \\`GLIBC_2.99' not found (required by pgsqlite)"
    program.write_text(f'#!/bin/sh\necho "{line}" >&2\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("PGSQLITE_BIN", str(program))
    with pytest.raises(RuntimeError, match="older than the one"):
        pgsqlite.Server().start()


def test_async_and_tcp():
    async def use():
        async with pgsqlite.Server(tcp=True) as server:
            assert "127.0.0.1" in server.url()
            async with await psycopg.AsyncConnection.connect(server.url()) as conn:
                cursor = await conn.execute("SELECT 1")
                assert await cursor.fetchone() == (1,)
            return server

    server = asyncio.run(use())
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(server.url())


def test_a_start_that_fails_says_why():
    with pytest.raises(RuntimeError, match="pool_size must be at least 1"):
        pgsqlite.Server(flags=("--pool-size", "0")).start()


def test_files_stay_in_a_folder_that_is_given(tmp_path):
    with pgsqlite.Server(databases=tmp_path) as server:
        server.create_database("kept").execute("CREATE TABLE t (i int)")
    assert (tmp_path / "kept.db").exists()
    with pgsqlite.Server(databases=tmp_path) as server:
        assert server.execute("SELECT count(*) FROM t", "kept") == [["0"]]


def test_the_server_ends_with_its_process():
    code = "import pgsqlite, sys, time; s = pgsqlite.Server().start(); print(s._process.pid, s.host, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        pid, _ = process.stdout.readline().split()
        process.send_signal(signal.SIGKILL)
        process.wait()
        deadline = time.monotonic() + 30
        while os.path.exists(f"/proc/{pid}") and open(f"/proc/{pid}/stat").read().split()[2] != "Z":
            assert time.monotonic() < deadline, "the server goes on"
            time.sleep(0.02)
