"""The recipe of the README: migrations in files, run once."""

from __future__ import annotations

import pathlib

import pytest

pytest_plugins = ["pytester"]
MIGRATIONS = pathlib.Path(__file__).parent / "migrations"


@pytest.fixture(scope="session")
def pgsqlite_migrations():
    return sorted(MIGRATIONS.glob("*.sql"))


@pytest.fixture(scope="session")
def pgsqlite_migrate(pgsqlite_migrations):
    def migrate(database):
        for file in pgsqlite_migrations:
            database.execute(file.read_text())

    return migrate
