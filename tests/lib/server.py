"""Starts and stops pgsqlite for tests."""

from __future__ import annotations

import atexit
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def binary() -> str:
    """The server under test: $PGSQLITE_BIN, else the release build, else the debug build."""
    named = os.environ.get("PGSQLITE_BIN")
    if named:
        return named
    for profile in ("release", "debug"):
        path = ROOT / "pgsqlite" / "target" / profile / "pgsqlite"
        if path.exists():
            return str(path)
    raise SystemExit("no pgsqlite binary: run `make build` first")


def free_port() -> int:
    """A TCP port of this host that nothing listens on."""
    import socket

    with socket.create_server(("localhost", 0)) as s:
        return int(s.getsockname()[1])


#: What servers have said of threads that panicked. A test in which one has fails, whatever else it found.
_panics: list[str] = []


@atexit.register
def _fail_for_panics() -> None:
    # (registered first, so that it runs last: nothing but this can change how the program ends by then)
    if _panics:
        print(f"FAILED: {len(_panics)} servers had threads that panicked:", *_panics, sep="\n", flush=True)
        sys.stderr.flush()
        os._exit(1)


#: The servers that run. They end with the program that started them, also when it is told to end (a shell's `timeout`).
_running: set[Server] = set()


@atexit.register
def _end_all() -> None:
    for server in list(_running):
        # a forked process has the set, too, but not the servers
        if server.owner == os.getpid():
            server.process.kill()
            server.look_for_panics()


def _end_by_signal(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
    signal.signal(signal.SIGTERM, _end_by_signal)


class Server:
    """A pgsqlite process on a Unix socket in its own temporary folder."""

    port = 5432

    def __init__(self, *flags: str, directory: str | None = None, database: str | None = None):
        self.own = directory is None
        self.dir = directory or tempfile.mkdtemp(prefix="pgsqlite-test.")
        self.database = database or os.path.join(self.dir, "main.db")
        self.log = open(os.path.join(self.dir, "server.log"), "ab")
        # (the log may be that of earlier servers, too)
        self.begins = self.log.seek(0, os.SEEK_END)
        where = () if {"--in-memory", "--data-dir"} & set(flags) else ("--database", self.database)
        # as the recorded answers' initdb: whoever runs the tests is no role
        founder = () if "--superuser" in flags else ("--superuser", "postgres")
        self.process = subprocess.Popen(
            [binary(), *where, *founder, "--port", str(self.port), "--socket-dir", self.dir, "--no-tcp", *flags],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
        )
        self.owner = os.getpid()
        _running.add(self)
        socket = os.path.join(self.dir, f".s.PGSQL.{self.port}")
        deadline = time.monotonic() + 20
        while not self._answers(socket):
            if self.process.poll() is not None or time.monotonic() > deadline:
                text = self.log_text()
                self.stop()
                raise RuntimeError(f"pgsqlite did not start: {text}")
            time.sleep(0.005)

    @staticmethod
    def _answers(path: str) -> bool:
        import socket

        # After a kill -9 the old socket file is still there: only an accepted connection counts.
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.connect(path)
                return True
            except OSError:
                return False

    def log_text(self) -> str:
        self.log.flush()
        with open(os.path.join(self.dir, "server.log"), encoding="utf-8", errors="replace") as f:
            return f.read()[-2000:]

    def look_for_panics(self) -> None:
        """Remembers what the log says of threads that have panicked since this server was started."""
        try:
            with open(os.path.join(self.dir, "server.log"), encoding="utf-8", errors="replace") as f:
                f.seek(self.begins)
                text = f.read()
        except OSError:
            return
        at = text.find(" panicked at ")
        if at >= 0:
            _panics.append(text[max(0, at - 200) : at + 3000])

    def kill(self) -> None:
        """kill -9, as a crash."""
        self.process.kill()
        self.process.wait()
        _running.discard(self)
        self.look_for_panics()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        _running.discard(self)
        self.look_for_panics()
        self.log.close()
        if self.own:
            shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
