"""Fixtures of the benchmarks.

The end-to-end ones run against the server at INFORMIX_DB_TEST_HOST; without it against the test server, in a process of
its own, whose time is then most of what is measured. `compare.py` judges the results.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.utils import SecondsDecimal

import informix_db

HERE = Path(__file__).parent
ROWS = 100_000


@pytest.fixture(scope="session")
def address():
    """Arguments for `connect`."""
    env = os.environ.get
    login = {
        "user": env("INFORMIX_DB_TEST_USER", "informix"),
        "password": env("INFORMIX_DB_TEST_PASSWORD", "in4mix"),
        "database": env("INFORMIX_DB_TEST_DATABASE", "testdb"),
        "server": env("INFORMIX_DB_TEST_SERVER", "informix"),
    }
    host = env("INFORMIX_DB_TEST_HOST")
    if host:
        yield {"host": host, "port": int(env("INFORMIX_DB_TEST_PORT", "9088")), **login}
        return
    server = subprocess.Popen(
        [sys.executable, str(HERE / "serve.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        yield {"host": "127.0.0.1", "port": int(server.stdout.readline()), **login}
    finally:
        assert server.stdin is not None
        server.stdin.close()  # it ends with its input
        server.wait(20)


@pytest.fixture(scope="session")
def tables(address):
    """Table `bench_rows` with 100 000 rows, table `bench_insert` without any."""
    conn = informix_db.connect(**address)
    cur = conn.cursor()
    for name in ("bench_rows", "bench_insert"):
        try:
            cur.execute(f"drop table {name}")
        except informix_db.ProgrammingError:
            pass
        key = " primary key" if name == "bench_rows" else ""
        cur.execute(f"create table {name} (id integer{key}, name varchar(40), price float, day date, big bigint)")
    cur.executemany(
        "insert into bench_rows values (?, ?, ?, ?, ?)",
        [(i, f"name of row {i}", i / 4, None, i << 20) for i in range(ROWS)],
    )
    conn.commit()
    conn.close()


@pytest.fixture
def conn(address, tables):
    connection = informix_db.connect(**address, autocommit=True)
    yield connection
    connection.close()


def pytest_configure(config):
    """Processor time of this process, unless the command line says otherwise; garbage is not collected meanwhile."""
    given = " ".join(config.invocation_params.args)
    for option, value in (
        ("benchmark_timer", "time.process_time"),
        ("benchmark_min_time", SecondsDecimal("0.0005")),
        ("benchmark_disable_gc", True),
    ):
        if "--" + option.replace("_", "-") not in given and hasattr(config.option, option):
            setattr(config.option, option, value)
