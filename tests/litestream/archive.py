#!/usr/bin/env python3
"""The server's own archive (`--archive`): what is restored from it is the live database, page by page, however the server ended.

    archive.py LITESTREAM [--rounds N] [--seed N]

Sessions write as in run.py. In each round the server is killed or stopped at a random moment and started again; sometimes without an archive in between,
so that its log begins anew, and sometimes another program writes the log back. Then the writers pause, and `pgsqlite restore` and `litestream restore` both
must give the live database. States of earlier times have what was acknowledged by then and nothing else.
"""

from __future__ import annotations

import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run  # noqa: E402  (it finds tests/lib, too)
import pgwire  # noqa: E402
import server  # noqa: E402


class Setting(run.Setting):
    """A server with an archive, in a folder of their own."""

    def __init__(self, program: str):
        super().__init__(program, own=True)
        self.program = program
        self.flags = ("--archive", f"file:{self.dir}/archive")
        self.url = f"file:{self.dir}/archive/main"
        self.with_litestream = True

    def restored_by(self, words: list[str], to: str) -> str:
        for end in ("", "-wal", "-shm"):
            pathlib.Path(to + end).unlink(missing_ok=True)
        done = subprocess.run(words, capture_output=True, text=True)
        return "" if done.returncode == 0 else (done.stderr or done.stdout)[-500:]

    def difference(self) -> str:
        """Waits until both programs restore the live database. Returns what is different after that, or nothing."""
        deadline = time.monotonic() + run.PATIENCE
        now = os.path.join(self.dir, "live.db")
        ways = {"pgsqlite": [server.binary(), "restore", self.url], "litestream": [self.program, "restore", "-o"]}
        while True:
            found = ""
            for name, words in ways.items():
                to = os.path.join(self.dir, f"restored-{name}.db")
                words = [*words, to] if name == "pgsqlite" else [*words, to, self.url.replace("file:", "file://")]
                found = self.restored_by(words, to)
                if not found:
                    schema = run.live(self.database, now)
                    found = run.compared(to, now, schema)
                if found:
                    found = f"{name}: {found}"
                    break
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(0.2)


def write_back(database: str) -> None:
    """Another program writes the log back, so that the server's next commit begins it anew."""
    with sqlite3.connect(database, timeout=5) as db:
        db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    db.close()


def kills(program: str, rounds: int, seed: int) -> list[str]:
    chance, setting, problems = random.Random(seed), Setting(program), []
    setting.start_server()
    with_tables = setting.connect()
    with_tables.query("CREATE TABLE w (k bigint PRIMARY KEY, s text); CREATE TABLE big (i int, s text)")
    with_tables.close()
    # (what another program does takes SQLite's locks)
    writers = run.Writers(setting, seed, "55P03")
    #: moments, with what was acknowledged before and what was begun after
    moments: list[tuple[float, int]] = []
    counts: dict[str, int] = {}
    for number in range(rounds):
        writers.going.set()
        time.sleep(chance.uniform(0.2, 2.5))
        what = chance.choice(["SIGKILL", "SIGKILL", "SIGKILL", "SIGTERM", "without", "write back"])
        counts[what] = counts.get(what, 0) + 1
        if what == "write back":
            write_back(setting.database)
            time.sleep(chance.uniform(0, 0.5))
        else:
            setting.end_server(signal.SIGKILL if what == "SIGKILL" else signal.SIGTERM)
            if what == "without":
                flags, setting.flags = setting.flags, ()
                setting.start_server()
                time.sleep(chance.uniform(0.1, 0.6))
                setting.end_server(chance.choice([signal.SIGKILL, signal.SIGTERM]))
                setting.flags = flags
            setting.start_server()
        writers.pause()
        # a commit after which nothing comes for a while: a moment to go back to
        moments.append((time.time(), len(writers.acknowledged)))
        different = setting.difference()
        to = os.path.join(setting.dir, "restored-pgsqlite.db")
        if not different:
            with sqlite3.connect(to) as db:
                sound = db.execute("PRAGMA integrity_check").fetchall()
                rows = {k for (k,) in db.execute("SELECT k FROM w")}
            db.close()
            missing = [k for k in writers.acknowledged if k not in rows]
            if sound != [("ok",)] or missing:
                different = f"{sound[:3]}, {len(missing)} acknowledged rows are missing"
        if different:
            problems.append(f"round {number}, {what}: {different}")
            break
        moments[-1] = (time.time(), moments[-1][1])
        time.sleep(0.01)
    writers.pause()
    # the state of each moment
    for at, acknowledged in moments[-12:]:
        to = os.path.join(setting.dir, "then.db")
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1000):03}Z"
        found = setting.restored_by([server.binary(), "restore", setting.url, to, "--at", when], to)
        if found:
            problems.append(f"--at {when}: {found}")
            continue
        with sqlite3.connect(to) as db:
            rows = {k for (k,) in db.execute("SELECT k FROM w")}
        db.close()
        before, after = writers.acknowledged[:acknowledged], writers.acknowledged[acknowledged:]
        missing, early = [k for k in before if k not in rows], [k for k in after if k in rows]
        if missing or early:
            problems.append(f"--at {when}: {len(missing)} rows are missing, {len(early)} are of later")
    writers.end()
    done = subprocess.run([server.binary(), "verify", setting.url], capture_output=True, text=True)
    if done.returncode:
        problems.append(f"verify: {done.stdout}{done.stderr}")
    print(done.stdout, end="")
    problems += writers.problems[:5]
    setting.close(bool(problems))
    print(f"{sum(counts.values())} ends ({', '.join(f'{n} {k}' for k, n in sorted(counts.items()))}), {len(writers.acknowledged)} statements acknowledged")
    return problems


def commands(program: str) -> list[str]:
    """Several databases, errors, and damage."""
    problems = []

    def expect(what: str, found: object, wanted: object) -> None:
        if found != wanted:
            problems.append(f"{what}: {found!r}, not {wanted!r}")

    def pgsqlite(*words: str) -> tuple[int, str]:
        done = subprocess.run([server.binary(), *words], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    folder = tempfile.mkdtemp(prefix="pgsqlite-archive.")
    data, archive = os.path.join(folder, "data"), os.path.join(folder, "archive")
    os.mkdir(data)
    with server.Server("--data-dir", data, "--archive", f"file:{archive}") as s:
        c = pgwire.Connection(s.dir, s.port, "postgres", "postgres")
        for name in ("a", "b"):
            c.query(f"CREATE DATABASE {name}")
            d = pgwire.Connection(s.dir, s.port, "postgres", name)
            d.query(f"CREATE TABLE t AS SELECT '{name}' AS name, generate_series(1, 100) AS i")
            d.close()
        c.query("CREATE DATABASE x TEMPLATE a")
        c.query("DROP DATABASE x")
        c.query("DROP DATABASE b")
        c.query("CREATE DATABASE b TEMPLATE a")
        d = pgwire.Connection(s.dir, s.port, "postgres", "b")
        d.query("INSERT INTO t VALUES ('new', 0)")
        d.close()
        c.close()
        # nobody else may write to the same archive
        other = os.path.join(folder, "other")
        os.mkdir(other)
        done = subprocess.run([server.binary(), "--database", os.path.join(other, "a.db"), "--archive", f"file:{archive}", "--no-tcp", "--socket-dir", other], capture_output=True, text=True, timeout=60)
        expect("two servers", (done.returncode != 0, "another server writes to the archive" in done.stdout + done.stderr), (True, True))
    # (the server has been stopped: all is there)
    for name, rows in (("a", 100), ("b", 101)):
        to = os.path.join(folder, f"{name}.db")
        code, said = pgsqlite("restore", f"file:{archive}/{name}", to)
        expect(f"restore {name}", code, 0)
        with sqlite3.connect(to) as db:
            expect(f"rows of {name}", db.execute("SELECT count(*) FROM t").fetchone()[0], rows)
        db.close()
    expect("a file that exists", pgsqlite("restore", f"file:{archive}/a", os.path.join(folder, "a.db"))[0], 1)
    code, said = pgsqlite("restore", f"file:{archive}/a", os.path.join(folder, "c.db"), "--at", "2001-01-01T00:00:00Z")
    expect("too early", (code, "no state of that time" in said, os.path.exists(os.path.join(folder, "c.db"))), (1, True, False))
    for url in ("s3://bucket/a", "gs://bucket/a", "az://bucket/a"):
        expect(url, (pgsqlite("verify", url)[0], "not supported" in pgsqlite("verify", url)[1]), (1, True))
    expect("both", pgsqlite("--database", os.path.join(folder, "a.db"), "--archive", "file:/x", "--checkpoints", "external")[0], 1)
    # each damaged byte is found
    files = sorted(pathlib.Path(archive, "a", "ltx", "0").glob("*.ltx"))
    victim = max(files, key=lambda f: f.stat().st_size)
    content = bytearray(victim.read_bytes())
    for at in (5, 130, len(content) // 2, len(content) - 30, len(content) - 1):
        damaged = content.copy()
        damaged[at] ^= 0x10
        victim.write_bytes(damaged)
        code, said = pgsqlite("verify", f"file:{archive}/a")
        expect(f"damage at {at}", (code, victim.name in said), (1, True))
        to = os.path.join(folder, "damaged.db")
        expect(f"restore of damage at {at}", (pgsqlite("restore", f"file:{archive}/a", to)[0], os.path.exists(to)), (1, False))
    victim.write_bytes(content)
    expect("mended", pgsqlite("verify", f"file:{archive}/a")[0], 0)
    shutil.rmtree(folder)
    return problems


def main() -> int:
    given = run.arguments()
    return run.report(commands(given.litestream) + kills(given.litestream, given.rounds, given.seed))


if __name__ == "__main__":
    sys.exit(main())
