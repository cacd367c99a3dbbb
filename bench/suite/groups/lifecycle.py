"""Start to first answer, memory of idle sessions, CREATE DATABASE … TEMPLATE."""

from __future__ import annotations

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from .. import results
from ..targets import Pglite, Pgsqlite, Unpooled, of_one_step, pgwire, server, until
from . import Context, Profile, Step


def first_answer(host: str, port: int, database: str) -> None:
    """Waits for the socket, connects, and has `SELECT 1` answered."""
    path = f"{host}/.s.PGSQL.{port}"
    deadline = time.monotonic() + 60
    while True:
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.connect(path)
            except OSError:
                if time.monotonic() > deadline:
                    raise RuntimeError("the server does not come up") from None
                time.sleep(0.0002)
                continue
        try:
            c = pgwire.Connection(host, port, "postgres", database)
        except pgwire.StartupError as e:
            if e.fields.get("C") == "57P03":  # it is starting up
                time.sleep(0.0002)
                continue
            raise
        if c.query("SELECT 1") != [["1"]]:
            raise RuntimeError("a wrong answer")
        c.close()
        return


def start_pgsqlite() -> int:
    folder = tempfile.mkdtemp(prefix="bench-start.")
    command = [server.binary(), "--database", f"{folder}/main.db", "--port", "5432", "--socket-dir", folder, "--no-tcp"]
    try:
        # the file is there already, as it is at any but the first start
        for turn in (0, 1):
            began = time.perf_counter_ns()
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                first_answer(folder, 5432, "main")
                took = time.perf_counter_ns() - began
            finally:
                process.terminate()
                process.wait(30)
        return took
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class OwnPostgreSQL:
    """A cluster of its own, to be started again and again."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="bench-start.")
        self.bin = pathlib.Path(shutil.which("postgres") or "/usr/lib/postgresql/15/bin/postgres").parent
        if not (self.bin / "initdb").exists() or (self.bin / "initdb").resolve().name == "pg_wrapper":
            self.bin = pathlib.Path("/usr/lib/postgresql/15/bin")
        # PostgreSQL refuses to run as root
        self.as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
        if self.as_user:
            shutil.chown(self.folder, "postgres")
        self.run("initdb", "-D", "data", "-U", "postgres", "--auth=trust", "--no-sync")

    def run(self, program: str, *arguments: str) -> None:
        done = subprocess.run([*self.as_user, str(self.bin / program), *arguments], cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-300:])

    def start(self) -> int:
        command = [*self.as_user, str(self.bin / "postgres"), "-D", "data", "-c", "listen_addresses=", "-k", self.folder]
        began = time.perf_counter_ns()
        process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            first_answer(self.folder, 5432, "postgres")
            return time.perf_counter_ns() - began
        finally:
            process.terminate()
            process.wait(60)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def start_pglite() -> int:
    began = time.perf_counter_ns()
    target = Pglite()
    try:
        first_answer(target.host, 5432, "postgres")
        return time.perf_counter_ns() - began
    finally:
        target.stop()


def starting(context: Context) -> list[dict]:
    ways: dict = {"pgsqlite": start_pgsqlite}
    own = None
    if "postgresql" in context.targets:
        own = OwnPostgreSQL()
        ways["postgresql"] = own.start
    if "pglite" in context.targets:
        ways["pglite"] = start_pglite
    times: dict[str, list[int]] = {n: [] for n in ways}
    try:
        for _ in range(context.profile.starts):
            for name, way in ways.items():
                times[name].append(way())
    finally:
        if own:
            own.remove()
    return [results.from_times("life", "start to first answer", n, "protocol", t) for n, t in times.items()]


def resident(pid: int) -> int:
    """Memory of a process and its children that is its own: shared pages count in part."""
    def own(p: int) -> int:
        try:
            for line in pathlib.Path(f"/proc/{p}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
        return 0

    children = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    total, todo = 0, [pid]
    while todo:
        p = todo.pop()
        total += own(p)
        todo += children.get(p, [])
    return total


def idle(context: Context) -> list[dict]:
    """What a session costs that has run a query and waits: with the pool, without it, and beside the rivals.

    A server of ours that has served the steps before would give back memory meanwhile, more than sessions take: each is started anew."""
    rivals = [t for t in context.targets.servers(2) if t.name != Pgsqlite.name]
    with of_one_step(context.run, Pgsqlite) as pooled, of_one_step(context.run, Unpooled) as unpooled:
        return sessions_of(context, [pooled, *rivals, unpooled])


def sessions_of(context: Context, targets: list) -> list[dict]:
    out = []
    for target in targets:
        count = min(context.profile.idle_sessions, 200 if target.name == "postgresql" else 1 << 30)
        pid = target.pid if isinstance(target, Pgsqlite) else int(target.sql("SELECT pg_backend_pid()")[0][0])
        if target.name == "postgresql":
            # the parent of any backend is the postmaster
            helper = target.connect()
            pid = int(helper.query("SELECT pg_backend_pid()")[0][0])
            pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
            helper.close()
        sessions = []
        try:
            before = resident(pid)
            for _ in range(count):
                c = target.connect()
                c.query("SELECT s FROM b WHERE id = 1")
                sessions.append(c)
            after = resident(pid)
        finally:
            for c in sessions:
                c.close()
        if after > before:
            out.append(results.single("life", "memory of an idle session", target.name, "protocol", (after - before) / count, "bytes", sessions=count))
        else:
            context.run.skip(f"memory of idle sessions of {target.name}", f"{count} sessions are too few to tell: the server gave back more than they took")
    return out


def cloning(context: Context) -> list[dict]:
    """CREATE DATABASE … TEMPLATE of a database of about 10 MB."""
    fill = "CREATE TABLE filler AS SELECT i AS id, repeat('some text that takes space ', 4) AS s FROM generate_series(1, 75000) AS i"
    folder = tempfile.mkdtemp(prefix="bench-clone.")
    own = server.Server("--data-dir", folder)
    times: dict[str, list[int]] = {}
    sizes: dict[str, int] = {}
    try:
        places = {"pgsqlite": lambda database: pgwire.Connection(own.dir, own.port, "postgres", database, timeout=600)}
        if "postgresql" in context.targets:
            t = context.targets["postgresql"]
            places["postgresql"] = lambda database: pgwire.Connection(t.host, t.port, t.user, database, timeout=600)
        for name, connect in places.items():
            c = connect("postgres")
            c.query("CREATE DATABASE origin")
            filling = connect("origin")
            filling.query(fill)
            sizes[name] = int(filling.query("SELECT pg_database_size('origin')")[0][0] or 0)
            filling.close()
            c.close()
            times[name] = []
        for _ in range(context.profile.starts):
            for name, connect in places.items():
                c = connect("postgres")
                began = time.perf_counter_ns()
                # the session that filled it may not be gone yet
                until(lambda: made(c))
                times[name].append(time.perf_counter_ns() - began)
                c.query("DROP DATABASE copied")
                c.close()
        if "postgresql" in places:
            c = places["postgresql"]("postgres")
            c.query("DROP DATABASE origin")
            c.close()
    finally:
        own.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return [results.from_times("life", "CREATE DATABASE … TEMPLATE", n, "protocol", t, bytes=sizes[n]) for n, t in times.items()]


def made(c) -> bool:
    try:
        c.query("CREATE DATABASE copied TEMPLATE origin")
        return True
    except RuntimeError as e:
        if str(e).startswith("55006"):
            return False
        raise


def steps(profile: Profile) -> list[Step]:
    return [
        Step("life", "start to first answer", profile.starts * 1.5 + 3, starting),
        Step("life", "memory of idle sessions", 1 + profile.idle_sessions * 0.002, idle),
        Step("life", "CREATE DATABASE … TEMPLATE", 3 + profile.starts * 0.2, cloning),
    ]
