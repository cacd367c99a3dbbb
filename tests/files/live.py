#!/usr/bin/env python3
"""Another program on the file while the server runs: Python's own sqlite3 changes schema and data, locks, checkpoints, is killed,
removes, replaces and cuts files.

    live.py [--seconds N] [TEST…]     N: how long the part under load lasts (default 4)

What another program commits is seen by the next statement; its locks are waited for within the session's limits; what the server has
acknowledged is there after kill -9; and nothing is acknowledged that nobody finds again. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402
from cases import Cases  # noqa: E402

cases = Cases()
test = cases.test
SECONDS = 4.0
# A generous bound of what ends at once: the machine may be busy.
SOON = 10.0


class Client(pgwire.Connection):
    """A session whose last messages are kept when the server ends it with an error."""

    def until_ready(self, copy_data: bytes = b"") -> list[tuple[bytes, bytes]]:
        messages: list[tuple[bytes, bytes]] = []
        while not messages or messages[-1][0] != b"Z":
            try:
                messages.append(self.receive())
            except pgwire.ServerGone:
                if not any(kind == b"E" for kind, _ in messages):
                    raise
                break
        return messages


def connect(s: server.Server, **settings: str) -> Client:
    return Client(s.dir, s.port, "postgres", "main", **settings)


def told(messages: list[tuple[bytes, bytes]]) -> tuple[list[tuple], str | None, str]:
    """Rows, SQLSTATE and text of the error in what a server sent."""
    rows, code, message = [], None, ""
    for kind, body in messages:
        if kind == b"D":
            rows.append(tuple(None if v is None else v.decode() for v in pgwire.data_row(body)))
        elif kind == b"E":
            fields = pgwire.fields_of(body)
            code, message = fields["C"], fields["M"]
    return rows, code, message


def run(c: Client, sql: str) -> tuple[list[tuple], str | None, str]:
    """Rows, SQLSTATE, message of a simple query."""
    return told(c.simple(sql))


def expect(c: Client, sql: str, rows: list[tuple]) -> None:
    got, code, message = run(c, sql)
    assert code is None, f"{sql}: {code} {message}"
    assert got == rows, f"{sql}: {got}, expected {rows}"


def fails(c: Client, sql: str, code: str, part: str = "") -> None:
    rows, got, message = run(c, sql)
    assert got == code and part in message, f"{sql}: {got} {message} {rows}, expected {code} {part}"


def wait_until(condition, what: str) -> None:
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline, f"it never came true: {what}"
        time.sleep(0.01)


class Database:
    """A file with a server on it, and another program's connection."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="pgsqlite-live.")
        self.path = os.path.join(self.folder, "m.db")
        self.server = server.Server(database=self.path)

    def other(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=SOON, isolation_level=None)

    def restart(self) -> None:
        self.server.kill()
        self.server.stop()
        self.server = server.Server(database=self.path)

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@test
def schema_changes_are_seen_by_the_next_statement():
    with Database() as d:
        c, other = connect(d.server), d.other()
        block = connect(d.server)
        still = connect(d.server)
        expect(c, "CREATE TABLE t (a int PRIMARY KEY, b text)", [])
        expect(c, "INSERT INTO t VALUES (1, 'x')", [])
        expect(c, "SELECT * FROM t", [("1", "x")])
        expect(block, "BEGIN", [])
        expect(block, "SELECT a FROM t", [("1",)])
        expect(still, "BEGIN ISOLATION LEVEL REPEATABLE READ", [])
        expect(still, "SELECT a FROM t", [("1",)])
        expect(c, "PREPARE all_of AS SELECT * FROM t", [])
        expect(c, "PREPARE one_of AS SELECT a FROM t", [])
        expect(c, "CREATE FUNCTION how_many() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM t'", [])
        for protocol in ("simple", "extended"):
            query = (lambda sql: run(c, sql)) if protocol == "simple" else (lambda sql: extended(c, sql))
            n = "n" if protocol == "simple" else "m"
            other.execute(f"ALTER TABLE t ADD COLUMN {n} INTEGER DEFAULT 7")
            assert query(f"SELECT {n} FROM t")[0] == [("7",)]
            other.execute(f"CREATE TABLE {n}_made (x INTEGER)")
            assert query(f"INSERT INTO {n}_made VALUES (5)")[1] is None
            other.execute(f"ALTER TABLE {n}_made RENAME COLUMN x TO y")
            assert query(f"SELECT y FROM {n}_made")[0] == [("5",)]
            other.execute(f"ALTER TABLE {n}_made RENAME COLUMN y TO z")
            assert query(f"SELECT y FROM {n}_made")[1] == "42703"
            assert query(f"SELECT z FROM {n}_made")[0] == [("5",)]
            other.execute(f"ALTER TABLE {n}_made ADD COLUMN w TEXT")
            assert query(f"SELECT * FROM {n}_made")[0] == [("5", None)]
            assert query(f"UPDATE {n}_made SET w = 'w' RETURNING *")[0] == [("5", "w")]
            other.execute(f"CREATE VIEW {n}_seen AS SELECT z FROM {n}_made")
            assert query(f"SELECT * FROM {n}_seen")[0] == [("5",)]
            other.execute(f"CREATE TABLE {n}_named (x INTEGER)")
            assert query(f"SELECT to_regclass('{n}_named')")[0] == [(f"{n}_named",)]
            other.execute(f"CREATE TABLE {n}_listed (x INTEGER)")
            assert query(f"SELECT relkind FROM pg_class WHERE relname = '{n}_listed'")[0] == [("r",)]
            other.execute(f"DROP TABLE {n}_listed")
            assert query(f"SELECT relkind FROM pg_class WHERE relname = '{n}_listed'")[0] == []
            other.execute(f"DROP VIEW {n}_seen")
            other.execute(f"DROP TABLE {n}_made")
            assert query(f"SELECT * FROM {n}_made")[1] == "42P01"
            assert query("SELECT how_many()")[0] == [("1",)]
        # what a client has prepared keeps its columns, or is refused
        fails(c, "EXECUTE all_of", "0A000", "cached plan must not change result type")
        expect(c, "EXECUTE one_of", [("1",)])
        expect(block, "SELECT n, m FROM t", [("7", "7")])
        expect(block, "COMMIT", [])
        expect(still, "SELECT count(*) FROM t", [("1",)])
        expect(still, "COMMIT", [])
        # the same text again and again, with a change between each two
        for i in range(5):
            expect(c, "SELECT * FROM t", [("1", "x", "7", "7") + ("8",) * i])
            other.execute(f"ALTER TABLE t ADD COLUMN c{i} INTEGER DEFAULT 8")
        expect(c, "COPY t (a, c4) TO STDOUT", [])
        other.execute("VACUUM")
        expect(c, "SELECT a FROM t", [("1",)])
        other.execute("DROP TABLE t")
        fails(c, "SELECT a FROM t", "42P01")
        fails(c, "EXECUTE one_of", "42P01")
        for each in (c, block, still):
            each.close()
        other.close()


def extended(c: Client, sql: str) -> tuple[list[tuple], str | None, str]:
    """Rows, SQLSTATE, message of a statement of the extended protocol."""
    return told(c.extended(sql))


@test
def locks_of_others_are_waited_for_within_the_limits():
    with Database() as d:
        c, reader, other = connect(d.server), connect(d.server), d.other()
        expect(c, "CREATE TABLE t (a int)", [])
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        expect(c, "SET lock_timeout = '100ms'", [])
        fails(c, "INSERT INTO t VALUES (1)", "55P03", "canceling statement due to lock timeout")
        for sql in ("VACUUM FULL", "ANALYZE t", "CREATE INDEX ON t (a)", "COPY t FROM STDIN", "SELECT a FROM t FOR UPDATE"):
            fails(c, sql, "55P03")
        expect(c, "BEGIN", [])
        fails(c, "INSERT INTO t VALUES (1)", "55P03")
        expect(c, "ROLLBACK", [])
        expect(c, "SET lock_timeout = 0", [])
        expect(c, "SET statement_timeout = '100ms'", [])
        fails(c, "INSERT INTO t VALUES (1)", "57014", "canceling statement due to statement timeout")
        fails(c, "CREATE TABLE u (a int)", "57014")
        expect(c, "SET statement_timeout = 0", [])
        # it waits as long as it takes; others read meanwhile, queue with limits of their own, and can end it
        pid = run(c, "SELECT pg_backend_pid()")[0][0][0]
        for end in ("cancel", "release"):
            result: list = []
            waiter = threading.Thread(target=lambda: result.append(run(c, "INSERT INTO t VALUES (2)")))
            waiter.start()
            waits = f"SELECT wait_event_type FROM pg_stat_activity WHERE pid = {pid}"
            wait_until(lambda: run(reader, waits)[0] == [("Lock",)], "it waits for a lock")
            expect(reader, "SELECT count(*) FROM t", [("0",)])
            second = connect(d.server, lock_timeout="50ms")
            fails(second, "INSERT INTO t VALUES (3)", "55P03")
            second.close()
            assert not result
            if end == "cancel":
                expect(reader, f"SELECT pg_cancel_backend({pid})", [("t",)])
            else:
                other.execute("ROLLBACK")
            waiter.join(SOON)
            assert result and result[0][1] == ("57014" if end == "cancel" else None), (end, result)
        assert time.monotonic() - began < 3 * SOON
        expect(reader, "SELECT a FROM t", [("2",)])
        for each in (c, reader, other):
            each.close()


class Writers:
    """Clients that insert, each row in a transaction of its own, and remember which were acknowledged, and when they asked."""

    def __init__(self, d: Database, clients: int):
        self.acknowledged: list[tuple[str, float]] = []
        self.errors: list[tuple[str, str]] = []
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(d, n)) for n in range(clients)]
        for t in self.threads:
            t.start()

    def work(self, d: Database, n: int) -> None:
        i = 0
        c = None
        try:
            c = connect(d.server)
            while not self.stop.is_set():
                i += 1
                key, began = f"{n}-{i}", time.monotonic()
                send = run if i % 2 else extended
                _, code, message = send(c, f"INSERT INTO load VALUES ('{key}')")
                if code is None:
                    self.acknowledged.append((key, began))
                else:
                    self.errors.append((code, message))
                    if code in ("58P01", "58030"):
                        return
        except (pgwire.ServerGone, OSError) as e:
            self.errors.append(("gone", str(e)))
        finally:
            if c is not None:
                try:
                    c.close()
                except OSError:
                    pass

    def wait_for(self, more: int) -> None:
        wanted = len(self.acknowledged) + more
        deadline = time.monotonic() + 3 * SOON
        while len(self.acknowledged) < wanted:
            assert time.monotonic() < deadline and any(t.is_alive() for t in self.threads), (self.errors, len(self.acknowledged))
            time.sleep(0.005)

    def end(self) -> None:
        self.stop.set()
        for t in self.threads:
            t.join(3 * SOON)
            assert not t.is_alive(), "a client hangs"


@test
def what_others_change_of_a_silent_transaction_is_not_lost():
    """Locks keep sessions from the rows of a transaction; what keeps another program from them is nothing: then the transaction fails."""
    with Database() as d:
        c, other = connect(d.server), d.other()
        expect(c, "CREATE TABLE t (a int PRIMARY KEY, b int, c text)", [])
        changes = ("UPDATE t SET b = 50 WHERE a = 1", "UPDATE t SET c = 'theirs' WHERE a = 1", "DELETE FROM t WHERE a = 1")
        for level in ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"):
            for mine in ("UPDATE t SET b = b + 1 WHERE a = 1", "DELETE FROM t WHERE a = 1"):
                for theirs in changes:
                    expect(c, "TRUNCATE t", [])
                    expect(c, "INSERT INTO t VALUES (1, 0, 'x'), (2, 0, 'x')", [])
                    block = connect(d.server)
                    expect(block, f"BEGIN ISOLATION LEVEL {level}", [])
                    expect(block, mine, [])
                    # (another session's write puts it aside)
                    expect(c, "UPDATE t SET b = 100 WHERE a = 2", [])
                    other.execute(theirs)
                    now = other.execute("SELECT * FROM t ORDER BY a").fetchall()
                    fails(block, "COMMIT", "40001", "could not serialize access due to concurrent update")
                    expect(c, "SELECT * FROM t ORDER BY a", [tuple(str(v) for v in row) for row in now])


def keys(c: sqlite3.Connection) -> set[str]:
    return {row[0] for row in c.execute("SELECT k FROM load")}


def keys_of_copy(d: Database) -> set[str]:
    """The rows in the file as it is, without a log."""
    copy = d.path + ".looked-at"
    shutil.copy(d.path, copy)
    db = sqlite3.connect(f"file:{copy}?immutable=1", uri=True)
    try:
        return keys(db)
    except sqlite3.DatabaseError:
        # half of what is being written
        return set()
    finally:
        db.close()


@test
def under_load():
    """A second program does everything that programs do with a database, and one that writes is killed again and again."""
    rng = random.Random(7)
    killed = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], timeout=10, isolation_level=None)\nprint('ready', flush=True)\nwhile True:\n  c.execute('INSERT INTO others VALUES (1)')\n"
    with Database() as d:
        c = connect(d.server)
        expect(c, "CREATE TABLE load (k text PRIMARY KEY)", [])
        expect(c, "CREATE TABLE others (n int)", [])
        writers = Writers(d, 4)
        mine = 0
        columns = 0
        until = time.monotonic() + SECONDS
        rounds = 0
        while time.monotonic() < until or rounds < 16:
            rounds += 1
            other = d.other()
            kind = rng.choice(["insert", "hold", "alter", "vacuum", "checkpoint", "visit", "kill"])
            if kind == "insert":
                other.execute("INSERT INTO others (n) VALUES (2)")
                mine += 1
            elif kind == "hold":
                other.execute("BEGIN IMMEDIATE")
                time.sleep(0.05)
                other.execute("ROLLBACK")
            elif kind == "alter":
                other.execute(f"ALTER TABLE others ADD COLUMN c{columns} INTEGER DEFAULT {columns}")
                expect(c, f"SELECT DISTINCT c{columns} FROM others UNION SELECT {columns}", [(str(columns),)])
                columns += 1
            elif kind == "vacuum":
                other.execute("VACUUM")
            elif kind == "checkpoint":
                other.execute(f"PRAGMA wal_checkpoint({rng.choice(['PASSIVE', 'FULL', 'RESTART', 'TRUNCATE'])})")
            elif kind == "visit":
                other.execute("SELECT count(*) FROM load").fetchone()
            else:
                process = subprocess.Popen([sys.executable, "-c", killed.replace("VALUES", "(n) VALUES"), d.path], stdout=subprocess.PIPE)
                assert process.stdout
                process.stdout.readline()
                time.sleep(rng.random() / 20)
                process.send_signal(signal.SIGKILL)
                process.wait()
                process.stdout.close()
            other.close()
        writers.wait_for(20)
        writers.end()
        assert not writers.errors, writers.errors
        columns_of = "SELECT count(*) FROM information_schema.columns WHERE table_name = 'others'"
        expect(c, columns_of, [(str(columns + 1),)])
        d.restart()
        other = d.other()
        missing = {k for k, _ in writers.acknowledged} - keys(other)
        assert not missing, f"{len(missing)} of {len(writers.acknowledged)} acknowledged rows are not there"
        assert other.execute("SELECT count(*) FROM others WHERE n = 2").fetchone() == (mine,)
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        other.close()
        print(f"  {rounds} rounds, {len(writers.acknowledged)} commits", flush=True)


def remove_file(d: Database) -> None:
    os.remove(d.path)


def remove_log(d: Database) -> None:
    os.remove(d.path + "-wal")


def replace_file(d: Database) -> None:
    copy = d.path + ".copy"
    sqlite3.connect(copy).close()
    os.replace(copy, d.path)


def move_file(d: Database) -> None:
    os.rename(d.path, d.path + ".moved")


def replace_log(d: Database) -> None:
    shutil.copy(d.path + "-wal", d.path + ".copy")
    os.replace(d.path + ".copy", d.path + "-wal")


def empty_log(d: Database) -> None:
    cut(d, 0)


def cut_log(d: Database) -> None:
    cut(d, 4096)


def cut(d: Database, length: int) -> None:
    """Between two commits: a cut in the middle of one leaves a hole that the log's length does not tell of."""
    other = d.other()
    other.execute("BEGIN IMMEDIATE")
    os.truncate(d.path + "-wal", length)
    # the lock goes with the process's descriptors; nothing is written
    other.close()


@test
def nothing_is_acknowledged_that_nobody_finds():
    for loss in (remove_file, remove_log, replace_file, move_file, replace_log, empty_log, cut_log):
        for loaded in (True, False):
            with Database() as d:
                c = connect(d.server)
                expect(c, "CREATE TABLE load (k text PRIMARY KEY)", [])
                expect(c, "SELECT count(*) FROM load", [("0",)])
                writers = Writers(d, 4 if loaded else 0)
                if loaded:
                    writers.wait_for(40)
                else:
                    for i in range(20):
                        expect(c, f"INSERT INTO load VALUES ('idle-{i}')", [])
                        writers.acknowledged.append((f"idle-{i}", 0.0))
                loss(d)
                lost = time.monotonic()
                for t in writers.threads:
                    t.join(3 * SOON)
                    assert not t.is_alive(), f"{loss.__name__}: a client goes on"
                late = [k for k, began in writers.acknowledged if began > lost]
                assert not late, f"{loss.__name__}: {len(late)} commits were acknowledged afterwards"
                codes = {code for code, _ in writers.errors}
                # (SQLite itself may meet the loss of the log before the server looks)
                of_log = loss in (remove_log, empty_log, cut_log, replace_log)
                assert codes <= ({"58P01", "58030"} if of_log else {"58P01"}) and (codes or not loaded), f"{loss.__name__}: {writers.errors}"
                for sql in ("INSERT INTO load VALUES ('late')", "CREATE TABLE more (a int)"):
                    c = connect(d.server) if loss not in (remove_file, move_file, replace_file) else c
                    _, code, message = run_to_the_end(c, sql)
                    assert code in ("58P01", "gone", "58030"), f"{loss.__name__}: {sql}: {code} {message}"
                    if code == "gone":
                        break
                if loss is remove_log:
                    # what was acknowledged before is saved, as soon as nobody reads an older state
                    rows = {k for k, _ in writers.acknowledged}
                    wait_until(lambda: rows <= keys_of_copy(d), "what was acknowledged is in the file")
                    d.server.kill()
                    other = d.other()
                    assert rows <= keys(other), f"{len(rows - keys(other))} of {len(rows)} rows are gone with the log"
                    other.close()


def run_to_the_end(c: Client, sql: str) -> tuple[list[tuple], str | None, str]:
    try:
        return run(c, sql)
    except (pgwire.ServerGone, OSError) as e:
        return [], "gone", str(e)


@test
def what_nobody_waits_for_ends_soon():
    """With synchronous_commit = off a commit is not compared with the file one by one, but soon nothing is written any more."""
    for loss in (remove_file, remove_log, replace_file):
        with Database() as d:
            c = connect(d.server)
            expect(c, "CREATE TABLE load (k text PRIMARY KEY)", [])
            expect(c, "SET synchronous_commit = off", [])
            loss(d)
            codes: list = []
            wait_until(lambda: codes.append(run_to_the_end(c, "INSERT INTO load VALUES (gen_random_uuid()::text)")[1]) or codes[-1], loss.__name__)
            assert codes[-1] == "58P01", (loss.__name__, codes[-1])


@test
def a_file_that_took_the_place_is_left_alone():
    """A server whose file was replaced ends without a write to the new one, or to its log."""
    with Database() as d:
        c = connect(d.server)
        expect(c, "CREATE TABLE t (a int)", [])
        new = d.path + ".new"
        os.rename(d.path, d.path + ".old")
        os.rename(d.path + "-wal", d.path + ".old-wal")
        db = sqlite3.connect(new, isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE mine (a)")
        db.close()
        os.rename(new, d.path)
        os.remove(d.path + "-shm")
        keeper = d.other()
        keeper.execute("INSERT INTO mine VALUES (1)")
        c.close()
        d.server.process.terminate()
        d.server.process.wait(30)
        assert os.path.exists(d.path + "-wal"), "the log of the new file is gone"
        keeper.close()
        other = d.other()
        assert other.execute("SELECT a FROM mine").fetchall() == [(1,)]
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        other.close()


@test
def a_sequence_is_never_behind_its_column():
    """Also where another program has stored what is no number."""
    with Database() as d:
        c = connect(d.server)
        expect(c, "CREATE TABLE s (id serial, v text)", [])
        expect(c, "INSERT INTO s (v) VALUES ('x') RETURNING id", [("1",)])
        c.close()
        d.server.stop()
        other = d.other()
        other.execute("INSERT INTO s (id) VALUES (400), ('text'), (1e300)")
        other.close()
        d.server = server.Server(database=d.path)
        c = connect(d.server)
        expect(c, "INSERT INTO s (v) VALUES ('y') RETURNING id", [("401",)])
        c.close()


@test
def vacuum_full_alone_makes_the_file_smaller():
    """VACUUM rewrites nothing: it would take the longer the larger the other tables are."""
    with Database() as d:
        c, other = connect(d.server), d.other()

        def pages() -> tuple[int, int]:
            return tuple(other.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count"))

        run(c, "CREATE TABLE t (id int PRIMARY KEY, s text); INSERT INTO t SELECT g, repeat('x', 900) FROM generate_series(1, 2000) AS g")
        run(c, "CREATE TABLE small (a int); DELETE FROM t WHERE id > 10")
        before = pages()
        assert before[1] > 300, before
        for statement in ("VACUUM", "VACUUM small", "VACUUM (ANALYZE, VERBOSE) t"):
            expect(c, statement, [])
            assert pages()[0] <= before[0] + 2 and pages()[1] > 300, (statement, before, pages())
        expect(c, "SELECT reltuples FROM pg_class WHERE relname = 't'", [("10",)])
        expect(c, "VACUUM FULL small", [])
        assert pages()[0] < before[0] - 300 and pages()[1] == 0, (before, pages())
        other.close()
        c.close()


@test
def one_server_for_a_file():
    """By its name, a symbolic or a hard link, while the first one writes."""
    with Database() as d:
        c = connect(d.server)
        expect(c, "CREATE TABLE load (k text PRIMARY KEY)", [])
        writers = Writers(d, 2)
        os.symlink(d.path, os.path.join(d.folder, "soft.db"))
        os.link(d.path, os.path.join(d.folder, "hard.db"))
        for name in ("m.db", "soft.db", "hard.db") * 2:
            flags = ["--database", os.path.join(d.folder, name), "--socket-dir", d.folder, "--port", "5433", "--no-tcp"]
            second = subprocess.run([server.binary(), *flags], capture_output=True, text=True, timeout=3 * SOON)
            assert second.returncode != 0, f"a second server has {name}"
            assert "another pgsqlite serves" in second.stderr or "hard links" in second.stderr, second.stderr
        writers.wait_for(20)
        writers.end()
        assert not writers.errors, writers.errors
        os.remove(os.path.join(d.folder, "hard.db"))
        d.restart()
        other = d.other()
        assert not {k for k, _ in writers.acknowledged} - keys(other)
        other.close()


@test
def a_file_that_may_not_grow_is_an_error():
    """With a limit of the size of files (ulimit -f) a statement fails, and the server lives."""
    folder = tempfile.mkdtemp(prefix="pgsqlite-live.")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, before[1]))
        try:
            s = server.Server(database=os.path.join(folder, "m.db"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        c = connect(s)
        expect(c, "CREATE TABLE t (a text)", [])
        fails(c, "INSERT INTO t SELECT repeat('x', 1000) FROM generate_series(1, 20000)", "58030")
        expect(c, "SELECT count(*) FROM t", [("0",)])
        expect(c, "INSERT INTO t VALUES ('y')", [])
        c.close()
        s.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@test
def values_that_others_store_are_told_as_such():
    """A value that is none of its column's type is an error of class 22 or XX001 wherever it is read, never one of ours (XX000)."""
    table = "id int, e mood, arr int[], ts timestamp, r int4range, v text, by bytea"
    values = ["'nonsense', 'garbage', 'x', 'zz', CAST(x'ff' AS TEXT), 5", "5, '[1,\"a\",[2]]', 5, 7, CAST(x'ff41' AS TEXT), 1.5", "'', '[', '', '', 12, ''"]
    reads = [
        "enum_range(e, NULL)", "array_to_string(arr, ',')", "arr::numeric[]", "arr || 3", "to_json(arr)", "ts::timestamp(2)", "upper(r)", "r * r", "string_agg(v, ',')",
        "pg_column_size(by)", "digest(by, 'sha256')",
    ]  # fmt: skip
    sets = ["unnest(arr)", "generate_series(ts, ts, '1 day')", "generate_series(1, v)"]
    with Database() as d:
        c, other = connect(d.server), d.other()
        expect(c, "CREATE EXTENSION pgcrypto", [])
        expect(c, "CREATE TYPE mood AS ENUM ('sad', 'ok')", [])
        expect(c, f"CREATE TABLE t ({table})", [])
        other.execute("PRAGMA ignore_check_constraints = ON")
        for row in values:
            other.execute("DELETE FROM t")
            other.execute(f"INSERT INTO t VALUES (1, {row})")
            for sql in [f"SELECT {read} FROM t" for read in reads] + [f"SELECT * FROM t, {read}" for read in sets]:
                code = run(c, sql)[1]
                assert code != "XX000", f"{sql}: {code}, of {row}"
        fails(c, "SELECT enum_range(e, NULL) FROM t", "22P02", "stored value is not a value of type enum")
        fails(c, "SELECT unnest(arr) FROM t", "22P02", "stored value is not a value of type array")


@test
def what_others_leave_of_a_schema_is_told_as_such():
    """Tables that foreign keys, partitioned tables and indexes need are gone, renamed or others: errors that say so, never one of ours (XX000)."""
    with Database() as d:
        c, other = connect(d.server), d.other()
        for sql in (
            "CREATE TABLE p (a int PRIMARY KEY, b text)",
            "CREATE TABLE renamed (a int PRIMARY KEY)",
            "CREATE TABLE again (a int PRIMARY KEY)",
            "CREATE TABLE c (id int PRIMARY KEY, pa int REFERENCES p, ra int REFERENCES renamed ON DELETE CASCADE)",
            "CREATE TABLE k (id int REFERENCES again)",
            "CREATE TABLE keyed (id int PRIMARY KEY, v text)",
            "CREATE TABLE whole (a int, b int) PARTITION BY RANGE (a)",
            "CREATE TABLE part PARTITION OF whole FOR VALUES FROM (0) TO (10)",
            "CREATE TABLE found (a int[])",
            "CREATE INDEX found_gin ON found USING gin (a)",
        ):
            expect(c, sql, [])
        expect(c, "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'c_ra_fkey'", [("c_ra_fkey", "FOREIGN KEY (ra) REFERENCES renamed(a) ON DELETE CASCADE")])
        other.execute("PRAGMA foreign_keys = OFF")
        (terms,) = other.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '__pgsqlite_gin_*'").fetchone()
        other.execute(f"DROP TABLE {terms}")
        fails(c, "INSERT INTO found VALUES ('{1}')", "XX001", f'its table "{terms}" is missing')
        for (trigger,) in other.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            other.execute(f"DROP TRIGGER {trigger}")
        other.execute("DROP INDEX found_gin")
        other.execute("ALTER TABLE renamed RENAME TO other_name")
        other.execute("DROP TABLE p")
        other.execute("DROP TABLE again")
        other.execute("CREATE TABLE again (a, b)")
        other.execute("DROP TABLE part")
        other.execute("CREATE TABLE part (c)")
        other.execute("DROP TABLE keyed")
        other.execute("CREATE TABLE keyed (id TEXT, v TEXT)")
        other.execute("INSERT INTO keyed VALUES ('x', 'a'), ('x', 'b')")
        # the table that references one that is gone can be read and altered; what SQLite would look up there is refused
        expect(c, "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'c'::regclass AND contype = 'f'", [("c_ra_fkey", "FOREIGN KEY (ra) REFERENCES other_name(a) ON DELETE CASCADE")])
        fails(c, "INSERT INTO c VALUES (1, 1)", "42P01", 'relation "p" does not exist')
        fails(c, "INSERT INTO k VALUES (1)", "42830", 'there is no unique constraint matching given keys for referenced table "again"')
        expect(c, "ALTER TABLE c ALTER pa SET NOT NULL", [])
        expect(c, "INSERT INTO other_name VALUES (1)", [])
        expect(c, "INSERT INTO c VALUES (1, 1, 1)", [])
        fails(c, "INSERT INTO c VALUES (2, 1, 2)", "23503", "")
        for sql in ("SELECT * FROM whole", "INSERT INTO whole VALUES (1)", "UPDATE whole SET b = 1"):
            fails(c, sql, "XX001", 'table "part" lacks the column')
        expect(c, "UPDATE keyed SET v = v || '!'", [])
        expect(c, "SELECT v FROM keyed ORDER BY v", [("a!",), ("b!",)])
        expect(c, "ANALYZE keyed", [])


def main() -> int:
    global SECONDS
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    SECONDS = options.seconds
    return cases.run(options.tests)


if __name__ == "__main__":
    sys.exit(main())
