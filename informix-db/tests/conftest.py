"""Fixtures: a fresh test server per test, and connections to it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

import informix_db
from peer.server import Server

CREDENTIALS = {"user": "informix", "password": "in4mix", "database": "testdb", "server": "x"}


@pytest.fixture
def server():
    with Server() as s:
        yield s


@pytest.fixture
def connect(server):
    """`connect(**options)` → a connection that is closed after the test."""
    opened = []

    def make(**options):
        connection = informix_db.connect("127.0.0.1", server.port, **{**CREDENTIALS, **options})
        opened.append(connection)
        return connection

    yield make
    for connection in opened:
        connection.close()


@pytest.fixture
def conn(connect):
    return connect(autocommit=True)


TLS = Path(__file__).parent / "tls"


def binary():
    """The pgsqlite to test with ($PGSQLITE_BIN, else the repository's debug build), or skip."""
    found = os.environ.get("PGSQLITE_BIN") or str(
        Path(__file__).resolve().parents[2] / "pgsqlite/target/debug/pgsqlite"
    )
    if not Path(found).exists():
        pytest.skip("no pgsqlite is built")
    return found


@contextlib.contextmanager
def pgsqlite(folder, *flags):
    """The SQLI port of a pgsqlite with these flags, on files in `folder`, with and without TLS."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # who may come in without a password must be a role
    founder = () if "--auth" in flags else ("--superuser", CREDENTIALS["user"])
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            [
                *(binary(), *founder, *flags, "--no-tcp", "--socket-dir", str(folder), "--sqli-port", str(port)),
                *("--tls-cert", str(TLS / "server.pem"), "--tls-key", str(TLS / "server.key")),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < deadline, (folder / "log").read_text()
                time.sleep(0.02)
        yield port
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="session")
def listener(tmp_path_factory):
    """The port of a pgsqlite that all tests share; or skip."""
    folder = tmp_path_factory.mktemp("pgsqlite")
    with pgsqlite(folder, "--database", str(folder / "live.db")) as port:
        yield port


@pytest.fixture
def live(request):
    """Arguments for a server: that of INFORMIX_DB_TEST_HOST (_PORT, _USER, _PASSWORD, _DATABASE), else pgsqlite."""
    host = os.environ.get("INFORMIX_DB_TEST_HOST")
    if not host:
        port = request.getfixturevalue("listener")
        return {"host": "127.0.0.1", "port": port, **CREDENTIALS}
    env = os.environ.get
    return {
        "host": host,
        "port": int(env("INFORMIX_DB_TEST_PORT", "9088")),
        "user": env("INFORMIX_DB_TEST_USER", "informix"),
        "password": env("INFORMIX_DB_TEST_PASSWORD", "in4mix"),
        "database": env("INFORMIX_DB_TEST_DATABASE", "testdb"),
        "server": env("INFORMIX_DB_TEST_SERVER", "informix"),
    }
