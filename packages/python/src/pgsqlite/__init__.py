"""pgsqlite for tests: a PostgreSQL server in milliseconds, and a database for each test.

with pgsqlite.Server() as server:
    with server.clone() as database:
        print(database.url)
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import itertools
import os
import pathlib
import shutil
import subprocess
import sysconfig
import tempfile
import urllib.parse
from collections.abc import Iterator
from types import TracebackType

from ._wire import DatabaseError, Session

__all__ = ["Database", "DatabaseError", "Server", "Session", "find_program"]


_OLD_SYSTEM = (
    "The C library of this system is older than the one that the program was built with: install a package for this system, "
    "build the program here (cargo install pgsqlite), or use a container image of a newer system."
)


def find_program() -> str:
    """Returns the path of the program `pgsqlite`: $PGSQLITE_BIN, that of this package, or the one of the PATH. Errors: FileNotFoundError."""
    named = os.environ.get("PGSQLITE_BIN")
    if named:
        return named
    schemes = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    suffix = ".exe" if os.name == "nt" else ""
    for folder in schemes:
        path = os.path.join(folder, f"pgsqlite{suffix}")
        if os.path.exists(path):
            return path
    found = shutil.which("pgsqlite")
    if found:
        return found
    raise FileNotFoundError("the program pgsqlite was not found: pip install pgsqlite-server, or name it in PGSQLITE_BIN")


class Database:
    """A database of a server: where it is, and statements without a driver."""

    def __init__(self, server: Server, name: str):
        self.server = server
        self.name = name
        self.host = server.host
        self.port = server.port
        self.user = server.user

    @property
    def url(self) -> str:
        """`postgresql://…` for libpq's clients, asyncpg, SQLAlchemy and others."""
        return self.server.url(self.name)

    @property
    def conninfo(self) -> str:
        """`host=… port=… user=… dbname=…`"""
        return f"host={self.host} port={self.port} user={self.user} dbname={self.name}"

    def execute(self, statements: str) -> list[list[str | None]]:
        """Runs statements in a session of their own, and returns their rows, as texts. Errors: DatabaseError."""
        return self.server.execute(statements, self.name)


def _memory_folder() -> str | None:
    """A folder in memory, if there is one with room."""
    shared = "/dev/shm"
    with contextlib.suppress(OSError):
        found = os.statvfs(shared)
        if found.f_bavail * found.f_frsize >= 1 << 30 and os.access(shared, os.W_OK):
            return shared
    return None


class Server:
    """A server with databases of its own, in a private folder that is gone when it stops.

    `databases`: a folder of files that are to stay. `flags`: more of the program's.
    """

    user = "postgres"

    def __init__(self, *, databases: str | os.PathLike[str] | None = None, tcp: bool = False, flags: tuple[str, ...] = ()):
        self._given = databases
        self._flags = flags
        self._tcp = tcp
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count(1)
        self.port = 5432
        self.host = ""

    def start(self) -> Server:
        """Starts the server, and returns when it takes connections. Errors: RuntimeError with what it says."""
        self._folder = tempfile.mkdtemp(prefix="pgsqlite-", dir=_memory_folder())
        self.databases = pathlib.Path(self._given or os.path.join(self._folder, "databases"))
        self.databases.mkdir(parents=True, exist_ok=True)
        self.host = self._folder
        if self._tcp:
            self.port = _free_port()
        log_path = os.path.join(self._folder, "log")
        where = ["--host", "127.0.0.1", "--port", str(self.port)] if self._tcp else ["--no-tcp"]
        arguments = [find_program(), "--data-dir", str(self.databases), "--socket-dir", self._folder, "--auth", "trust"]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PGSQLITE_")}
        with open(log_path, "wb") as log:
            # the server ends with its input, also if this process is killed
            self._process = subprocess.Popen(
                [*arguments, *where, "--superuser", self.user, "--stop-with-input", *self._flags],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
            )
        assert self._process.stdout
        atexit.register(self.stop)
        # (the first line comes when it listens)
        if not self._process.stdout.readline():
            self._process.wait()
            text = pathlib.Path(log_path).read_text(errors="replace").strip()
            self.stop()
            if "GLIBC_" in text and "not found" in text:
                text += f"\n{_OLD_SYSTEM}"
            raise RuntimeError(f"pgsqlite did not start: {text}")
        if self._tcp:
            self.host = "127.0.0.1"
        return self

    def stop(self) -> None:
        """Stops the server and removes its folder."""
        process, self._process = self._process, None
        if process is None:
            return
        atexit.unregister(self.stop)
        assert process.stdin and process.stdout
        process.stdin.close()
        try:
            process.wait(40)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    async def __aenter__(self) -> Server:
        return await asyncio.to_thread(self.start)

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await asyncio.to_thread(self.stop)

    def url(self, database: str = "postgres") -> str:
        """Returns the URL of a database."""
        name = urllib.parse.quote(database, safe="")
        if self._tcp:
            return f"postgresql://{self.user}@127.0.0.1:{self.port}/{name}"
        # (no host before the path: a client that overlooks the parameter must not come to another server)
        return f"postgresql://{self.user}@/{name}?host={urllib.parse.quote(self.host, safe='')}&port={self.port}"

    def session(self, database: str = "postgres", **options: str) -> Session:
        """Opens a session, for statements without parameters. Errors: DatabaseError."""
        return Session(os.path.join(self._folder, f".s.PGSQL.{self.port}"), self.user, database, **options)

    def execute(self, statements: str, database: str = "postgres") -> list[list[str | None]]:
        """Runs statements in a session of their own, and returns their rows, as texts. Errors: DatabaseError."""
        session = self.session(database)
        try:
            return session.execute(statements)
        finally:
            session.close()

    def create_database(self, name: str, template: str | None = None) -> Database:
        """Makes a database, or a copy of another. Errors: DatabaseError."""
        self.execute(f"CREATE DATABASE {_quoted(name)}" + (f" TEMPLATE {_quoted(template)}" if template else ""))
        return Database(self, name)

    def drop_database(self, name: str) -> None:
        """Removes a database that no session uses. Errors: DatabaseError."""
        self.execute(f"DROP DATABASE {_quoted(name)}")

    @contextlib.contextmanager
    def clone(self, original: str = "postgres", name: str | None = None) -> Iterator[Database]:
        """Gives a private copy of a database, in memory. It is gone at the end, once its sessions are. Errors: DatabaseError."""
        name = name or f"{original}_{os.getpid()}_{next(self._numbers)}"
        session = self.session(name, **{"pgsqlite.clone": original})
        try:
            yield Database(self, name)
        finally:
            session.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
