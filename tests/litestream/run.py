#!/usr/bin/env python3
"""Litestream beside the server: what it restores is the live database, page by page, whoever is killed.

    run.py LITESTREAM [--rounds N] [--seed N] [--own]

LITESTREAM is its program. Sessions write all the time: rows, large transactions, tables, VACUUM FULL, CHECKPOINT. In each round the server, Litestream or both are
killed or stopped at a random moment, and started again. Then the writers pause, and the database that Litestream restores is compared with the live
one, page by page. A second part is the shortest case in which backups break in silence while a server writes its log back itself. A third looks at what
clients, commands and the server's log say.
`--own` runs both parts with a server that does: they must fail, which shows that the test can.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402

#: What Litestream is told: it looks at the log often.
CONFIGURATION = """\
dbs:
  - path: {database}
    monitor-interval: 50ms
    checkpoint-interval: {interval}
    min-checkpoint-page-count: {pages}
    replica:
      type: file
      path: {replica}
      sync-interval: 50ms
"""
#: So long Litestream may take to have everything.
PATIENCE = 60
#: Bytes of the first page that SQLite's copy of the live database has for itself: the mode, the change counters, the number of the schema (which is compared
#: by itself), and the version that wrote last.
OWN_BYTES = [*range(18, 20), *range(24, 28), *range(40, 44), *range(92, 100)]


class Litestream:
    """Litestream's process, which replicates one database into a folder."""

    def __init__(self, program: str, folder: str, database: str, often: bool):
        self.program, self.folder, self.database = program, folder, database
        self.replica = os.path.join(folder, "replica")
        self.configuration = os.path.join(folder, "litestream.yml")
        pathlib.Path(self.configuration).write_text(CONFIGURATION.format(
            database=database, replica=self.replica, pages=60 if often else 5000, interval="1s" if often else "1h"
        ))
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        with open(os.path.join(self.folder, "litestream.log"), "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "replicate", "-config", self.configuration], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def end(self, number: int) -> None:
        """Sends a signal, and waits for the end."""
        if self.process is not None:
            self.process.send_signal(number)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def wait_for_snapshot(self) -> None:
        """Waits for its first copy of the whole database. (The next is due after a day, and would have whatever was missed.)"""
        deadline = time.monotonic() + PATIENCE
        while b"snapshot complete" not in pathlib.Path(self.folder, "litestream.log").read_bytes():
            if time.monotonic() > deadline:
                raise RuntimeError("Litestream makes no snapshot")
            time.sleep(0.05)

    def restore(self, to: str) -> str:
        """Restores the newest state; returns what went wrong, or nothing."""
        for end in ("", "-wal", "-shm"):
            pathlib.Path(to + end).unlink(missing_ok=True)
        done = subprocess.run(
            [self.program, "restore", "-config", self.configuration, "-o", to, self.database], capture_output=True, text=True
        )
        return "" if done.returncode == 0 else (done.stderr or done.stdout)[-500:]


def pages(path: str) -> list[bytes]:
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[16:18], "big") or 65536
    found = [data[at : at + size] for at in range(0, len(data), size)]
    first = bytearray(found[0])
    for at in OWN_BYTES:
        first[at] = 0
    return [bytes(first), *found[1:]]


def live(database: str, to: str) -> int:
    """Copies what is committed now, page by page. Returns the number of its schema."""
    pathlib.Path(to).unlink(missing_ok=True)
    source, target = sqlite3.connect(database), sqlite3.connect(to)
    source.backup(target)
    target.execute("PRAGMA journal_mode = DELETE")
    target.close()
    schema = source.execute("PRAGMA schema_version").fetchone()[0]
    source.close()
    return schema


def compared(restored: str, live_copy: str, schema: int) -> str:
    """What differs between a restored file and a copy of the live database, whose schema has this number. Nothing: they are the same."""
    a, b = pages(restored), pages(live_copy)
    wrong = [n + 1 for n, (x, y) in enumerate(zip(a, b)) if x != y]
    if int.from_bytes(pathlib.Path(restored).read_bytes()[40:44], "big") != schema:
        wrong.insert(0, 0)
    if len(a) == len(b) and not wrong:
        return ""
    return f"{len(a)} pages restored, {len(b)} are live; different: {wrong[:20]}"


class Setting:
    """A server with Litestream beside it, in a folder of their own."""

    def __init__(self, program: str, own: bool, often: bool = True):
        self.dir = tempfile.mkdtemp(prefix="pgsqlite-litestream.")
        self.database = os.path.join(self.dir, "main.db")
        self.flags = () if own else ("--checkpoints", "external")
        self.litestream = Litestream(program, self.dir, self.database, often)
        self.server: server.Server | None = None

    def start_server(self) -> None:
        self.server = server.Server(*self.flags, directory=self.dir, database=self.database)

    def connect(self) -> pgwire.Connection:
        return pgwire.Connection(self.dir, server.Server.port, "postgres", "main", timeout=60)

    def end_server(self, number: int) -> None:
        if self.server is not None:
            if number == signal.SIGKILL:
                self.server.kill()
            else:
                self.server.stop()
            self.server = None

    def difference(self) -> str:
        """Waits until what Litestream restores is the live database. Returns what is different after that, or nothing."""
        deadline = time.monotonic() + PATIENCE
        restored, now = os.path.join(self.dir, "restored.db"), os.path.join(self.dir, "live.db")
        while True:
            found = self.litestream.restore(restored)
            if not found:
                found = compared(restored, now, live(self.database, now))
                if not found:
                    return ""
            if time.monotonic() > deadline:
                return found
            time.sleep(0.1)

    def close(self, keep: bool) -> None:
        self.litestream.end(signal.SIGKILL)
        self.end_server(signal.SIGTERM)
        if keep:
            print(f"the files are in {self.dir}")
        else:
            shutil.rmtree(self.dir, ignore_errors=True)


class Writers:
    """Sessions that write, until they are told to pause."""

    def __init__(self, setting: Setting, seed: int, *expected: str):
        self.setting = setting
        # a server that is being stopped says so; any other error is one
        self.expected = ("57P0", "53300", "08", *expected)
        self.going = threading.Event()
        self.ended = threading.Event()
        self.idle = [threading.Event() for _ in range(3)]
        self.acknowledged: list[int] = []
        self.problems: list[str] = []
        self.threads = [threading.Thread(target=self.work, args=(n, random.Random(seed + n)), daemon=True) for n in range(3)]
        for thread in self.threads:
            thread.start()

    def work(self, number: int, chance: random.Random) -> None:
        connection, key = None, number * 10_000_000
        while not self.ended.is_set():
            if not self.going.is_set():
                self.idle[number].set()
                self.going.wait(0.05)
                continue
            self.idle[number].clear()
            key += 1
            try:
                connection = connection or self.setting.connect()
                for statement in self.statement(number, key, chance).split(" // "):
                    connection.query(statement)
                self.acknowledged.append(key)
            except (pgwire.ServerGone, pgwire.StartupError, OSError):
                connection = None
                time.sleep(0.02)
            except RuntimeError as e:
                if not str(e).startswith(self.expected):
                    self.problems.append(str(e))
                connection = None

    @staticmethod
    def statement(number: int, key: int, chance: random.Random) -> str:
        note = f"INSERT INTO w VALUES ({key}, repeat('{key % 10}', {chance.randrange(400)}))"
        match chance.randrange(60):
            case 0:
                return f"INSERT INTO big SELECT g, repeat('y', 900) FROM generate_series(1, {chance.randrange(2000)}) g; {note}"
            case 1:
                return f"CREATE TABLE t{key} (i int PRIMARY KEY, s text); CREATE INDEX ON t{key} (s); {note}"
            case 2:
                return f"DELETE FROM big; {note}"
            case 3 if number == 0:
                return f"{note}; CHECKPOINT"
            case 4 if number == 0:
                return f"{note} // VACUUM FULL"
            case n if n < 20:
                return f"UPDATE w SET s = s || 'z' WHERE k % 97 = {key % 97}; {note}"
            case _:
                return note

    def pause(self) -> None:
        self.going.clear()
        for idle in self.idle:
            if not idle.wait(60):
                self.problems.append("a writer does not come to its end")

    def end(self) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join(60)


def kills(program: str, rounds: int, seed: int, own: bool) -> list[str]:
    """Random ends of either side, or both."""
    chance, setting, problems = random.Random(seed), Setting(program, own), []
    setting.start_server()
    with_tables = setting.connect()
    with_tables.query("CREATE TABLE w (k bigint PRIMARY KEY, s text); CREATE TABLE big (i int, s text)")
    with_tables.close()
    setting.litestream.start()
    writers = Writers(setting, seed)
    counts: dict[str, int] = {}
    for number in range(rounds):
        writers.going.set()
        time.sleep(chance.uniform(0.2, 1.2))
        who = chance.choice(["server", "litestream", "litestream", "both"])
        how = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
        what = f"{who} {how.name}"
        counts[what] = counts.get(what, 0) + 1
        if who in ("litestream", "both"):
            setting.litestream.end(how)
            # the log goes on without it
            time.sleep(chance.uniform(0, 0.6))
        if who in ("server", "both"):
            setting.end_server(how)
            time.sleep(chance.uniform(0, 0.2))
        restart = [setting.start_server] * (setting.server is None) + [setting.litestream.start] * (setting.litestream.process is None)
        chance.shuffle(restart)
        for start in restart:
            start()
            time.sleep(chance.uniform(0, 0.3))
        writers.pause()
        different = setting.difference()
        if different:
            problems.append(f"round {number}, {what}: {different}")
            break
        with sqlite3.connect(os.path.join(setting.dir, "restored.db")) as db:
            sound = db.execute("PRAGMA integrity_check").fetchall()
            rows = {k for (k,) in db.execute("SELECT k FROM w")}
        db.close()
        missing = [k for k in writers.acknowledged if k not in rows]
        if sound != [("ok",)] or missing:
            problems.append(f"round {number}, {what}: {sound[:3]}, {len(missing)} acknowledged rows are missing")
            break
    writers.end()
    problems += writers.problems[:5]
    setting.close(bool(problems))
    print(f"{sum(counts.values())} ends ({', '.join(f'{n} {k}' for k, n in sorted(counts.items()))}), {len(writers.acknowledged)} statements acknowledged")
    return problems


def missed(program: str, own: bool) -> list[str]:
    """Litestream is stopped; rows are written, and whatever may write the log back happens; the log begins anew, shorter than it was."""
    problems = []
    for between in ("CHECKPOINT", "VACUUM FULL", "a restart", "many pages", "INSERT INTO w VALUES (-1, '')"):
        # (the log does not begin anew before, so that Litestream is far into it)
        setting = Setting(program, own, often=False)
        setting.start_server()
        c = setting.connect()
        c.query("CREATE TABLE w (k bigint PRIMARY KEY, s text)")
        setting.litestream.start()
        for k in range(100):
            c.query(f"INSERT INTO w VALUES ({k}, repeat('x', 3000))")
        before = setting.difference()
        setting.litestream.wait_for_snapshot()
        setting.litestream.end(signal.SIGTERM)
        for k in range(100, 150):
            c.query(f"INSERT INTO w VALUES ({k}, repeat('x', 3000))")
        if between == "a restart":
            c.close()
            setting.end_server(signal.SIGTERM)
            setting.start_server()
            c = setting.connect()
        elif between == "many pages":
            c.query("INSERT INTO w SELECT 1000 + g, repeat('p', 3000) FROM generate_series(1, 2500) g")
        else:
            c.query(between)
        # the server's read mark is let go
        time.sleep(0.5)
        for k in range(150, 160):
            c.query(f"INSERT INTO w VALUES ({k}, repeat('x', 3000))")
        setting.litestream.start()
        time.sleep(0.5)
        c.query("INSERT INTO w VALUES (160, '')")
        different = before or setting.difference()
        tables = c.query("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'")
        if tables != [["w"]]:
            problems.append(f"pg_class has {tables}")
        if different:
            problems.append(f"{between}: {different}")
        c.close()
        setting.close(False)
    return problems


def log_is(setting: Setting) -> bytes:
    """The two numbers that each beginning of the log has of its own."""
    with open(setting.database + "-wal", "rb") as log:
        return log.read(32)[16:24]


def around(program: str) -> list[str]:
    """What clients, commands and the server's log say of it."""
    problems = []

    def expect(what: str, found: object, wanted: object) -> None:
        if found != wanted:
            problems.append(f"{what}: {found!r}, not {wanted!r}")

    setting = Setting(program, False)
    setting.start_server()
    c = setting.connect()
    c.query('CREATE TABLE w (k bigint PRIMARY KEY); CREATE TABLE "_litestream_seq" (mine int); INSERT INTO "_litestream_seq" VALUES (7)')
    expect("a table of the user's by that name", c.query('SELECT mine FROM "_litestream_seq"'), [["7"]])
    c.query('DROP TABLE "_litestream_seq"')
    setting.litestream.start()
    expect("before", setting.difference(), "")
    for catalog in ("pg_class WHERE relname", "information_schema.tables WHERE table_name", "pg_tables WHERE tablename"):
        expect(catalog, c.query(f"SELECT count(*) FROM {catalog} LIKE '%litestream%'"), [["0"]])
    told = [pgwire.fields_of(body) for kind, body in c.simple("CHECKPOINT") if kind == b"N"]
    expect("CHECKPOINT", [(f["S"], f["C"]) for f in told], [("WARNING", "01000")])
    setting.litestream.end(signal.SIGKILL)
    c.query("INSERT INTO w SELECT generate_series(1, 1000)")
    c.close()
    first = log_is(setting)
    setting.end_server(signal.SIGTERM)
    expect("the log after the server's end", log_is(setting), first)
    # commands know such a file by its tables
    sql = os.path.join(setting.dir, "more.sql")
    pathlib.Path(sql).write_text("INSERT INTO w VALUES (0);\n")
    for command in (["info"], ["check"], ["upgrade"], ["import", sql, "--database"], ["exec", "--", "true", "--database"]):
        words = [server.binary(), *command, setting.database]
        if command[0] == "exec":
            words = [server.binary(), "exec", "--database", setting.database, "--", "true"]
        done = subprocess.run(words, capture_output=True, text=True)
        expect(f"{command[0]}", (done.returncode, log_is(setting)), (0, first))
    # a server that is not told so says that it is wrong
    setting.flags = ()
    setting.start_server()
    deadline = time.monotonic() + 10
    while "Litestream replicates" not in setting.server.log_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    expect("a warning", "Litestream replicates" in setting.server.log_text(), True)
    setting.close(False)

    folder = tempfile.mkdtemp(prefix="pgsqlite-litestream.")
    with server.Server("--data-dir", folder, "--checkpoints", "external") as s:
        c = pgwire.Connection(s.dir, s.port, "postgres", "postgres")
        c.query("CREATE DATABASE a")
        a = pgwire.Connection(s.dir, s.port, "postgres", "a")
        a.query("CREATE TABLE t AS SELECT generate_series(1, 10) AS i")
        a.close()
        c.query("CREATE DATABASE b TEMPLATE a")
        b = pgwire.Connection(s.dir, s.port, "postgres", "b")
        expect("a copy", b.query("SELECT count(*) FROM t"), [["10"]])
        b.close()
        try:
            c.query("ALTER DATABASE b RENAME TO d")
            expect("RENAME", "done", "refused")
        except RuntimeError as e:
            expect("RENAME", str(e)[:5], "0A000")
        c.query("DROP DATABASE b")
        expect("files", sorted(f for f in os.listdir(folder) if f.startswith("b.")), [])
        c.close()
    shutil.rmtree(folder)
    done = subprocess.run([server.binary(), "--in-memory", "--checkpoints", "external"], capture_output=True, text=True)
    expect("in memory", (done.returncode != 0, "need files" in done.stderr), (True, True))
    return problems


def report(problems: list[str]) -> int:
    """Prints what has failed. Returns the exit code."""
    for problem in problems:
        print(f"FAIL {problem}")
    print(f"{len(problems)} failed")
    return 1 if problems else 0


def arguments(**flags: bool | str) -> argparse.Namespace:
    """The command line: the program of Litestream, how often a server is killed, and the seed, which is printed; `flags` are more options."""
    parser = argparse.ArgumentParser()
    parser.add_argument("litestream")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    for name, default in flags.items():
        kind = {} if isinstance(default, str) else {"action": "store_true"}
        parser.add_argument(f"--{name}", default=default, **kind)
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    return given


def main() -> int:
    given = arguments(own=False)
    if given.own:
        globals()["PATIENCE"] = 5
    problems = missed(given.litestream, given.own)
    problems += [] if given.own else around(given.litestream)
    problems += kills(given.litestream, given.rounds, given.seed, given.own)
    return report(problems)


if __name__ == "__main__":
    sys.exit(main())
