#!/usr/bin/env python3
"""The server's own archive (`--archive`): what is restored from it is the live database, page by page, however the server ended.

    archive.py LITESTREAM [--rounds N] [--seed N] [--moto PYTHON]

Sessions write as in run.py. In each round the server is killed or stopped at a random moment and started again; sometimes without an archive in between,
so that its log begins anew, and sometimes another program writes the log back. Then the writers pause, and `pgsqlite restore` and `litestream restore` both
must give the live database. States of earlier times and places in the log have what was acknowledged by then and nothing else.

With `--moto` the archive is in a bucket of moto's, which that Python has, behind a proxy that fails (bucket.py), while the server writes and while it ends and starts.
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
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bucket  # noqa: E402
import run  # noqa: E402  (it finds tests/lib, too)
import pgwire  # noqa: E402
import server  # noqa: E402


class Setting(run.Setting):
    """A server with an archive, in a folder of their own; in a bucket, if there is a proxy before one."""

    def __init__(self, program: str, proxy: bucket.Proxy | None = None, prefix: str = "some/where"):
        super().__init__(program, own=True)
        self.program = program
        root = f"s3://{bucket.NAME}/{prefix}" if proxy else f"file:{self.dir}/archive"
        self.flags = ("--archive", root)
        self.url = f"{root}/main"
        if proxy:
            # (Litestream has no part in the failures)
            self.litestream_url = f"{self.url}?endpoint=http://127.0.0.1:{proxy.to}&region=us-east-1"
        else:
            self.litestream_url = self.url.replace("file:", "file://")

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
                words = [*words, to] if name == "pgsqlite" else [*words, to, self.litestream_url]
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


def where(setting: Setting) -> tuple[str, str]:
    """The place of the log, which the server knows when it has looked at its archive, and the last file."""
    deadline = time.monotonic() + run.PATIENCE
    while True:
        asks = setting.connect()
        try:
            return tuple(asks.query("SELECT pg_current_wal_lsn(), last_archived_wal FROM pg_stat_archiver")[0])
        except RuntimeError as e:
            if not str(e).startswith("55000") or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        finally:
            asks.close()


def write_back(database: str) -> None:
    """Another program writes the log back, so that the server's next commit begins it anew."""
    with sqlite3.connect(database, timeout=5) as db:
        db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    db.close()


def kills(program: str, rounds: int, seed: int, proxy: bucket.Proxy | None = None) -> list[str]:
    chance, setting, problems = random.Random(seed), Setting(program, proxy), []
    setting.start_server()
    with_tables = setting.connect()
    with_tables.query("CREATE TABLE w (k bigint PRIMARY KEY, s text); CREATE TABLE big (i int, s text)")
    with_tables.close()
    # (what another program does takes SQLite's locks)
    writers = run.Writers(setting, seed, "55P03")
    #: moments, with what was acknowledged before and what was begun after
    moments: list[tuple[float, str, int]] = []
    counts: dict[str, int] = {}
    for number in range(rounds):
        if proxy:
            proxy.failing = chance.choice([0.0, 0.3, 0.6])
            proxy.down = chance.choice(["", "", "", "", "refused", "lost"])
        writers.going.set()
        time.sleep(chance.uniform(0.2, 5 if proxy else 2.5))
        what = chance.choice(["SIGKILL", "SIGKILL", "SIGKILL", "SIGTERM", "without", "write back"] + ["nothing"] * 3 * (proxy is not None))
        counts[what] = counts.get(what, 0) + 1
        if what == "nothing":
            pass
        elif what == "write back":
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
            time.sleep(chance.uniform(0, 1) if proxy else 0)
        if proxy:
            proxy.down = ""
        writers.pause()
        if proxy:
            proxy.failing = chance.choice([0.0, 0.1])
        # a commit after which nothing comes for a while: a moment to go back to
        moments.append((time.time(), "", len(writers.acknowledged)))
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
        place, archived = where(setting)
        moments[-1] = (time.time(), place, moments[-1][2])
        if proxy and archived and archived not in {"main/" + key.rsplit("/")[-1] for key in proxy.keys()}:
            problems.append(f"pg_stat_archiver has {archived}, which is not in the bucket")
        time.sleep(0.01)
    writers.pause()
    if proxy:
        proxy.failing = 0.05
    # the state of each moment
    for at, place, acknowledged in moments[-12:]:
        to = os.path.join(setting.dir, "then.db")
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1000):03}Z"
        for way, what in (("--at", when), ("--lsn", place)):
            found = setting.restored_by([server.binary(), "restore", setting.url, to, way, what], to)
            if found:
                problems.append(f"{way} {what}: {found}")
                continue
            with sqlite3.connect(to) as db:
                rows = {k for (k,) in db.execute("SELECT k FROM w")}
            db.close()
            before, after = writers.acknowledged[:acknowledged], writers.acknowledged[acknowledged:]
            missing, early = [k for k in before if k not in rows], [k for k in after if k in rows]
            if missing or early:
                problems.append(f"{way} {what}: {len(missing)} rows are missing, {len(early)} are of later")
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
    expect("a scheme", (pgsqlite("verify", "ftp://bucket/a")[0], "are not supported" in pgsqlite("verify", "ftp://bucket/a")[1]), (1, True))
    expect("no place", "is no place in a log" in pgsqlite("restore", f"file:{archive}/a", os.path.join(folder, "c.db"), "--lsn", "x")[1], True)
    code, said = pgsqlite("restore", f"file:{archive}/a", os.path.join(folder, "c.db"), "--lsn", "FFFF/0")
    expect("a later place", (code, "the archive ends at 0/" in said), (1, True))
    code, said = pgsqlite("restore", f"file:{archive}/a", os.path.join(folder, "c.db"), "--lsn", "0/1")
    expect("an early place", (code, "no state of that place" in said), (1, True))
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


def statistics(proxy: bucket.Proxy, program: str) -> list[str]:
    """What pg_stat_archiver, the metrics and the log say of a bucket that is down for a while; commits wait for nothing. Two servers with one archive."""
    problems = []

    def expect(what: str, found: object, wanted: object) -> None:
        if found != wanted:
            problems.append(f"{what}: {found!r}, not {wanted!r}")

    def until(what: str, ready: object) -> None:
        deadline = time.monotonic() + run.PATIENCE
        while not ready():
            if time.monotonic() > deadline:
                problems.append(f"{what}: not within {run.PATIENCE} seconds")
                return
            time.sleep(0.2)

    def stat(c: pgwire.Connection) -> tuple:
        return tuple(c.query("SELECT archived_count, last_archived_wal, failed_count, last_failed_wal, last_archived_time IS NULL, last_failed_time > stats_reset FROM pg_stat_archiver")[0])

    proxy.failing, proxy.down = 0.0, "refused"
    setting = Setting(program, proxy, "other")
    port = server.free_port()
    setting.flags += ("--metrics-addr", f"127.0.0.1:{port}")
    setting.start_server()
    c = setting.connect()
    began = time.monotonic()
    c.query("CREATE TABLE t (i int PRIMARY KEY)")
    for i in range(100):
        c.query(f"INSERT INTO t VALUES ({i})")
    expect("commits wait", time.monotonic() - began < 5, True)
    until("a failure", lambda: int(stat(c)[2]) > 0)
    expect("nothing is archived", (stat(c)[0], stat(c)[1], stat(c)[4], stat(c)[5]), ("0", None, "t", "t"))
    try:
        c.query("SELECT pg_current_wal_lsn()")
        problems.append("pg_current_wal_lsn() before the archive was read")
    except RuntimeError as e:
        expect("pg_current_wal_lsn()", str(e)[:5], "55000")
    expect("the log", "is not written" in setting.server.log_text() and "test" not in setting.server.log_text().split("not written", 1)[1].split(bucket.NAME, 1)[0], True)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/metrics") as answer:
        metrics = answer.read().decode()
    expect("metrics", "pgsqlite_archive_last_error_timestamp_seconds{" in metrics, True)
    proxy.down = ""
    until("the first file", lambda: int(stat(c)[0]) > 0)
    newest = stat(c)[1]
    expect("its name", newest.startswith("main/0000000000000001-"), True)
    expect("the bucket", sum(key == f"other/main/0000/{newest[5:]}" for key in proxy.keys()), 1)
    # a database that is larger than what is put at once: it is put in parts
    c.query("CREATE TABLE big AS SELECT i, (SELECT string_agg(md5(i::text || j::text), '') FROM generate_series(1, 100) j) AS s FROM generate_series(1, 6000) i")
    expect("large", setting.difference(), "")
    # each request is done and no answer comes, so that the server gives up; what is committed meanwhile does not come into the file that the bucket has already
    proxy.down, failures = "lost", int(stat(c)[2])
    c.query("INSERT INTO t VALUES (-1000)")
    until("a lost answer", lambda: int(stat(c)[2]) > failures)
    c.query("INSERT INTO t VALUES (-1001)")
    proxy.down = ""
    expect("after lost answers", setting.difference(), "")
    c.query("SELECT pg_stat_reset_shared('archiver')")
    expect("reset", c.query("SELECT archived_count, last_archived_wal, last_archived_time, failed_count, last_failed_wal, last_failed_time, stats_reset > now() - interval '1 minute' FROM pg_stat_archiver"), [["0", None, None, "0", None, None, "t"]])
    c.query("INSERT INTO t VALUES (1000)")
    until("the next file", lambda: int(stat(c)[0]) > 0)
    before, = c.query("SELECT pg_current_wal_lsn()")[0]
    c.query("INSERT INTO t VALUES (1001)")
    expect("a commit's bytes", c.query(f"SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '{before}') > 0, pg_current_wal_lsn() = pg_current_wal_flush_lsn()"), [["t", "t"]])
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/metrics") as answer:
        metrics = answer.read().decode()
    lag = [float(line.split()[-1]) for line in metrics.splitlines() if line.startswith("pgsqlite_archive_lag_seconds{")]
    expect("lag", len(lag) == 1 and lag[0] < 10, True)
    # a second server with a database of this name: the first one says that it is not archived any more
    other = Setting(program, proxy, "other")
    other.start_server()
    d = other.connect()
    d.query("CREATE TABLE theirs AS SELECT generate_series(1, 10) AS i")
    expect("the second server", other.difference(), "")

    def told() -> bool:
        c.query("UPDATE t SET i = -i WHERE i = 50 OR i = -50")
        return "another server writes to the archive" in setting.server.log_text()

    until("the first server", told)
    d.query("INSERT INTO theirs VALUES (11)")
    expect("the second server goes on", other.difference(), "")
    c.close(), d.close()
    setting.close(bool(problems)), other.close(bool(problems))
    return problems


def main() -> int:
    given = run.arguments(moto="")
    if not given.moto:
        return run.report(commands(given.litestream) + kills(given.litestream, given.rounds, given.seed))
    folder = tempfile.mkdtemp(prefix="pgsqlite-moto.")
    moto = bucket.Moto(given.moto, folder)
    proxy = bucket.Proxy(moto, given.seed)
    os.environ.update(proxy.environment)
    # (certificates are for others, and Litestream does not start with them)
    os.environ.pop("AWS_CA_BUNDLE", None)
    try:
        problems = statistics(proxy, given.litestream) + kills(given.litestream, given.rounds, given.seed, proxy)
        print("requests:", ", ".join(f'{n} {way or "well"}' for way, n in sorted(proxy.counts.items())))
    finally:
        proxy.close()
        moto.close()
    shutil.rmtree(folder)
    return run.report(problems)


if __name__ == "__main__":
    sys.exit(main())
