"""The fixtures: a copy for each test, the template made once."""

from __future__ import annotations

import psycopg
import pytest


@pytest.mark.parametrize("i", range(3))
def test_each_test_has_a_copy(pgsqlite_database, i):
    with psycopg.connect(pgsqlite_database.url) as conn:
        conn.execute("INSERT INTO books (title) VALUES ('mine')")
        assert conn.execute("SELECT id FROM books ORDER BY id").fetchall() == [(1,), (2,)]
        conn.execute("INSERT INTO orders (book) VALUES (2)")


PROJECT = """
import pathlib, pytest

@pytest.fixture(scope="session")
def pgsqlite_migrations():
    return [pathlib.Path(__file__).with_name("schema.sql")]

@pytest.fixture(scope="session")
def pgsqlite_migrate(pgsqlite_migrations):
    def migrate(database):
        with open(pathlib.Path(__file__).with_name("runs"), "a") as runs:
            runs.write("x")
        database.execute(pgsqlite_migrations[0].read_text())
    return migrate
"""
TESTS = """
import pytest

@pytest.mark.parametrize("i", range(8))
def test_copy(pgsqlite_database, i):
    assert pgsqlite_database.execute("INSERT INTO t DEFAULT VALUES RETURNING i") == [["1"]]
"""


def test_migrations_run_once_for_all_workers_and_runs(pytester: pytest.Pytester):
    pytester.makeconftest(PROJECT)
    pytester.makepyfile(TESTS)
    pytester.makefile(".sql", schema="CREATE TABLE t (i serial)")
    pytester.runpytest_subprocess("-n", "2").assert_outcomes(passed=8)
    pytester.runpytest_subprocess().assert_outcomes(passed=8)
    assert (pytester.path / "runs").read_text() == "x"
    pytester.makefile(".sql", schema="CREATE TABLE t (i serial, s text)")
    pytester.runpytest_subprocess("-n", "2").assert_outcomes(passed=8)
    assert (pytester.path / "runs").read_text() == "xx"


def test_nothing_to_migrate(pytester: pytest.Pytester):
    pytester.makepyfile("def test_it(pgsqlite_database): assert pgsqlite_database.execute('SELECT 1') == [['1']]")
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
