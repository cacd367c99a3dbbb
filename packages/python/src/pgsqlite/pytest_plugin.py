"""The fixtures of pytest: a server for the session, a template that is migrated once, a copy of it for each test."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import pathlib
import shutil
import subprocess
from collections.abc import Iterator
from typing import Callable, Optional

import pytest

from . import Database, Server, find_program

Migrate = Callable[[Database], None]


@pytest.fixture(scope="session")
def pgsqlite_server() -> Iterator[Server]:
    """A server for all tests of the process. Workers of pytest-xdist are processes: each has its own."""
    with Server() as server:
        yield server


@pytest.fixture(scope="session")
def pgsqlite_migrations() -> list[os.PathLike[str]]:
    """The files that the template is made from. While their contents are the same, it is taken from pytest's cache."""
    return []


@pytest.fixture(scope="session")
def pgsqlite_migrate() -> Optional[Migrate]:
    """A function that fills the empty template; None: the template is empty."""
    return None


@pytest.fixture(scope="session")
def pgsqlite_template(
    request: pytest.FixtureRequest,
    pgsqlite_server: Server,
    pgsqlite_migrations: list[os.PathLike[str]],
    pgsqlite_migrate: Optional[Migrate],
) -> str:
    """The name of the migrated database."""
    name = "template"
    # (pytest can be told to keep nothing)
    keeps = getattr(request.config, "cache", None)
    if pgsqlite_migrate is None:
        pgsqlite_server.create_database(name)
    elif not pgsqlite_migrations or keeps is None:
        pgsqlite_migrate(pgsqlite_server.create_database(name))
    else:
        cache = pathlib.Path(keeps.mkdir("pgsqlite"))
        kept = cache / f"{_hash(pgsqlite_migrations, pgsqlite_migrate)}.db"
        target = pgsqlite_server.databases / f"{name}.db"
        with _locked(cache / "lock"):
            if kept.exists():
                shutil.copyfile(kept, target)
            else:
                pgsqlite_migrate(pgsqlite_server.create_database(name))
                _keep(pgsqlite_server, name, kept)
                for old in cache.glob("*.db"):
                    if old != kept:
                        old.unlink()
    return name


@pytest.fixture
def pgsqlite_database(pgsqlite_server: Server, pgsqlite_template: str) -> Iterator[Database]:
    """A copy of the template for one test."""
    with pgsqlite_server.clone(pgsqlite_template) as database:
        yield database


def _keep(server: Server, name: str, kept: pathlib.Path) -> None:
    """Keeps the database's file. Its copy is one that nobody has open."""
    copy = f"{name}_to_keep"
    server.create_database(copy, template=name)
    making = kept.with_suffix(".new")
    shutil.copyfile(server.databases / f"{copy}.db", making)
    os.replace(making, kept)
    server.drop_database(copy)


def _hash(files: list[os.PathLike[str]], migrate: Migrate) -> str:
    """Changes with the files' names and contents, the function's text, and the program's version."""
    program = subprocess.run([find_program(), "--version"], capture_output=True, check=True).stdout
    found = hashlib.sha256(program)
    with contextlib.suppress(OSError, TypeError):
        found.update(inspect.getsource(migrate).encode())
    for file in files:
        path = pathlib.Path(file)
        content = path.read_bytes()
        found.update(f"{path.name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()[:32]


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> Iterator[None]:
    """One worker makes the template, the others wait for it."""
    import fcntl

    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
