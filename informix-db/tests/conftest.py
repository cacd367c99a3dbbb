"""Fixtures: a fresh test server per test, and connections to it."""

from __future__ import annotations

import os

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


@pytest.fixture
def live():
    """Arguments for a real server (INFORMIX_DB_TEST_HOST, _PORT, _USER, _PASSWORD, _DATABASE), or skip."""
    host = os.environ.get("INFORMIX_DB_TEST_HOST")
    if not host:
        pytest.skip("INFORMIX_DB_TEST_HOST is not set")
    env = os.environ.get
    return {
        "host": host,
        "port": int(env("INFORMIX_DB_TEST_PORT", "9088")),
        "user": env("INFORMIX_DB_TEST_USER", "informix"),
        "password": env("INFORMIX_DB_TEST_PASSWORD", "in4mix"),
        "database": env("INFORMIX_DB_TEST_DATABASE", "testdb"),
        "server": env("INFORMIX_DB_TEST_SERVER", "informix"),
    }
