import pathlib

import pytest
from alembic import command
from alembic.config import Config
from app import database
from app.main import app
from fastapi.testclient import TestClient
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

HERE = pathlib.Path(__file__).parents[1]


def settings(url):
    config = Config(HERE / "alembic.ini")
    config.set_main_option("script_location", str(HERE / "migrations"))
    config.attributes["url"] = url
    return config


@pytest.fixture(scope="session")
def pgsqlite_migrations():
    """The migrated database is kept between runs until one of these files changes."""
    return sorted((HERE / "migrations").rglob("*.py"))


@pytest.fixture(scope="session")
def pgsqlite_migrate():
    return lambda empty: command.upgrade(settings(empty.url), "head")


@pytest.fixture
def client(pgsqlite_database):
    """A client of the application, on a copy of the migrated database."""
    engine = create_engine(database.url(pgsqlite_database.url))

    def session():
        with Session(engine) as opened:
            yield opened

    app.dependency_overrides[database.session] = session
    yield TestClient(app)
    engine.dispose()
