#!/usr/bin/env python3
"""A standby that follows an archive: whoever is killed, it shows states that the primary had, and comes to the primary's last one, page by page.

    kills.py [--rounds N] [--seed N] [--moto PYTHON]

Sessions write all the time on the primary: rows, large transactions, tables, VACUUM FULL. Sessions on the standby check in each statement, and twice in one REPEATABLE READ
transaction, that they see whole transactions. In each round the primary, the standby or both are killed or stopped at a random moment, and started again.
Then the writers pause, and both databases are compared page by page. In the end the primary is killed, and the standby is promoted: it has all that the archive has, and clients of
libpq that look for a primary find it.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE.parent / "litestream"))
import bucket  # noqa: E402
import pgwire  # noqa: E402
import run as litestream  # noqa: E402
import server  # noqa: E402

#: So long the standby may take to have everything.
PATIENCE = 60


class Node:
    """A server that is started again in its place."""

    def __init__(self, folder: str, *flags: str):
        os.makedirs(folder, exist_ok=True)
        self.dir, self.flags, self.server, self.metrics = folder, flags, None, ""
        self.database = os.path.join(folder, "main.db")

    def start_server(self) -> None:
        self.server = server.Server(*self.flags, directory=self.dir, database=self.database)

    def end(self, number: int) -> None:
        if self.server is not None:
            if number == signal.SIGKILL:
                self.server.kill()
            else:
                self.server.stop()
            self.server = None

    def connect(self, **settings: str) -> pgwire.Connection:
        """A session, when the server has started."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return pgwire.Connection(self.dir, server.Server.port, "postgres", "main", timeout=60, **settings)
            except (pgwire.StartupError, OSError, pgwire.ServerGone) as e:
                starting = not isinstance(e, pgwire.StartupError) or e.fields["C"] == "57P03"
                if not starting or time.monotonic() > deadline:
                    raise
            time.sleep(0.05)


class Writers(litestream.Writers):
    """As beside Litestream; each transaction also counts its rows, which the readers compare."""

    @staticmethod
    def statement(number: int, key: int, chance: random.Random) -> str:
        if chance.randrange(40) == 0:
            # the schema changes, and with it what `shape` says of it, in the same transaction
            return f"BEGIN; ALTER TABLE s RENAME COLUMN c{number} TO moved; ALTER TABLE s RENAME COLUMN moved TO c{number}; INSERT INTO w VALUES ({key}, 'ddl'); UPDATE n SET n = n + 1; COMMIT"
        if chance.randrange(40) == 0:
            return f"BEGIN; ALTER TABLE v ALTER COLUMN a TYPE {chance.choice(['int', 'text', 'numeric', 'date'])} USING NULL; UPDATE v SET a = DEFAULT; INSERT INTO w VALUES ({key}, 'type'); UPDATE n SET n = n + 1; COMMIT"
        text = litestream.Writers.statement(number, key, chance)
        first, *rest = text.split(" // ")
        return " // ".join([f"BEGIN; {first}; UPDATE n SET n = n + 1; COMMIT" if "CHECKPOINT" not in first else f"BEGIN; INSERT INTO w VALUES ({key}, ''); UPDATE n SET n = n + 1; COMMIT", *rest])


class Readers:
    """Sessions that look at the standby all the time."""

    def __init__(self, node: Node):
        self.node = node
        self.ended = threading.Event()
        self.looks = 0
        self.problems: list[str] = []
        self.threads = [threading.Thread(target=self.work, args=(n,), daemon=True) for n in range(2)]
        for thread in self.threads:
            thread.start()

    def work(self, number: int) -> None:
        connection, before = None, 0
        while not self.ended.is_set():
            try:
                if connection is None:
                    connection = pgwire.Connection(self.node.dir, server.Server.port, "postgres", "main", timeout=60)
                both = "SELECT (SELECT count(*) FROM w), (SELECT n FROM n), (SELECT count(*) FROM v WHERE a IS NOT NULL), pg_is_in_recovery()"
                if number == 0:
                    seen = [connection.query(both)[0]]
                else:
                    connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
                    seen = [connection.query(both)[0]]
                    time.sleep(0.01)
                    seen.append(connection.query(both)[0])
                    connection.query("COMMIT")
                for rows, counted, of_another_type, recovery in seen:
                    if rows != counted or of_another_type != "0" or seen[0] != seen[-1] or recovery != "t":
                        self.problems.append(f"half a transaction: {seen}")
                    if int(rows) < before:
                        self.problems.append(f"a state of before: {rows} rows after {before}")
                    before = int(rows)
                self.looks += 1
            except (pgwire.ServerGone, pgwire.StartupError, OSError) as e:
                if isinstance(e, pgwire.StartupError) and not e.fields["C"].startswith(("57P0", "3D000")):
                    self.problems.append(str(e))
                connection = None
                time.sleep(0.05)
            except RuntimeError as e:
                # (a server that is being stopped says so)
                if not str(e).startswith("57P0"):
                    self.problems.append(str(e))
                connection = None
            if len(self.problems) > 5:
                return

    def end(self) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join(60)


def asked(node: Node, sql: str) -> str:
    connection = node.connect()
    try:
        return connection.query(sql)[0][0]
    finally:
        connection.close()


def when(node: Node, sql: str, wanted: str = "t") -> bool:
    """Waits until a query returns a value."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if asked(node, sql) == wanted:
                return True
        except (RuntimeError, pgwire.ServerGone):
            pass
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)


def where(primary: Node) -> str:
    """The primary's place in its log."""
    if not when(primary, "SELECT pg_current_wal_lsn() IS NOT NULL"):
        raise RuntimeError("the primary does not know its place in the log")
    return asked(primary, "SELECT pg_current_wal_lsn()")


def difference(primary: Node, standby: Node, folder: str) -> str:
    """Waits until the standby has all; returns what differs then."""
    place = where(primary)
    if not when(standby, f"SELECT pg_last_wal_replay_lsn() >= '{place}'"):
        return f"the standby does not come to {place}: {asked(standby, 'SELECT pg_last_wal_replay_lsn()')}"
    copies = [os.path.join(folder, name) for name in ("primary.db", "standby.db")]
    schemas = [litestream.live(node.database, copy) for node, copy in zip((primary, standby), copies)]
    if schemas[0] != schemas[1]:
        return f"schemas: {schemas}"
    a, b = (litestream.pages(copy) for copy in copies)
    wrong = [n + 1 for n, (x, y) in enumerate(zip(a, b)) if x != y]
    return "" if len(a) == len(b) and not wrong else f"{place}: {len(a)} and {len(b)} pages; different: {wrong[:20]}; {where(primary)} and {asked(standby, 'SELECT pg_last_wal_replay_lsn()')}"


def kills(folder: str, rounds: int, seed: int, proxy: bucket.Proxy | None = None) -> list[str]:
    chance = random.Random(seed)
    archive = f"s3://{bucket.NAME}/a/b" if proxy else f"file:{folder}/archive"
    primary, standby = Node(f"{folder}/a", "--archive", archive), Node(f"{folder}/b", "--standby", archive)
    standby.metrics = f"127.0.0.1:{server.free_port()}"
    standby.flags += ("--metrics-addr", standby.metrics)
    primary.start_server()
    # (it says that it is starting up, until there is an archive)
    standby.start_server()
    connection = primary.connect()
    connection.query(
        "CREATE TABLE w (k bigint PRIMARY KEY, s text); CREATE TABLE big (i int, s text); CREATE TABLE n (n bigint); INSERT INTO n VALUES (0);"
        "CREATE TABLE s (c0 int, c1 int, c2 int); CREATE TABLE v (a int, b text); INSERT INTO v SELECT NULL, 'b' FROM generate_series(1, 20);"
        "CREATE SEQUENCE q; SELECT nextval('q')"
    )
    connection.close()
    problems = []
    if not when(standby, "SELECT count(*) FROM pg_tables WHERE tablename IN ('w', 'big', 'n', 's', 'v')", "5"):
        return ["the standby does not follow"]
    writers, readers = Writers(primary, seed), Readers(standby)
    counts: dict[str, int] = {}
    for number in range(rounds):
        if proxy:
            proxy.failing = chance.choice([0.0, 0.3, 0.5])
        writers.going.set()
        time.sleep(chance.uniform(0.3, 2))
        who = chance.choice(["primary", "standby", "standby", "both"])
        how = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
        what = f"{who} {how.name}"
        counts[what] = counts.get(what, 0) + 1
        ended = [node for node, name in ((primary, "primary"), (standby, "standby")) if who in (name, "both")]
        chance.shuffle(ended)
        for node in ended:
            node.end(how)
            time.sleep(chance.uniform(0, 0.3))
        for node in ended:
            node.start_server()
        time.sleep(chance.uniform(0, 1))
        writers.pause()
        if proxy:
            proxy.failing = 0.0
        different = difference(primary, standby, folder)
        if different or readers.problems or writers.problems:
            problems += [f"round {number}, {what}: {different}"] if different else []
            break
    writers.end()
    readers.end()
    problems += writers.problems[:5] + readers.problems[:5]
    print(
        f"{sum(counts.values())} ends ({', '.join(f'{n} {k}' for k, n in sorted(counts.items()))}), "
        f"{len(writers.acknowledged)} transactions acknowledged, {readers.looks} looks at the standby"
    )
    if not problems:
        problems = promotion(folder, archive, primary, standby, writers, chance)
    for node in (primary, standby):
        node.end(signal.SIGTERM)
    return problems


def psql(nodes: list[Node], wanted: str) -> str:
    """Which folder a client of libpq is connected to that knows several servers."""
    hosts = ",".join(node.dir for node in nodes)
    done = subprocess.run(
        ["psql", "-qtAX", f"host={hosts} port={server.Server.port} user=postgres dbname=main target_session_attrs={wanted}", "-c", r"\echo :HOST"],
        capture_output=True, text=True,
    )
    return done.stdout.strip() or done.stderr.strip()


def promotion(folder: str, archive: str | None, primary: Node, standby: Node, writers: Writers, chance: random.Random) -> list[str]:
    """The drill: the primary is lost, the standby takes its place, and a new standby follows it. `archive`: what the standby has followed; None: the primary itself."""
    problems: list[str] = []

    def expect(what: str, found: object, wanted: object) -> None:
        if found != wanted:
            problems.append(f"{what}: {found!r}, not {wanted!r}")

    # what was written there is read here
    connection, reader = primary.connect(), standby.connect()
    for n in range(3):
        connection.query(f"INSERT INTO w VALUES ({-5000 - n}, 'read'); UPDATE n SET n = n + 1")
        reader.query(f"SET pgsqlite.wait_for_lsn = '{connection.query('SELECT pg_current_wal_lsn()')[0][0]}'")
        expect("what was written before", reader.query(f"SELECT count(*) FROM w WHERE k = {-5000 - n}"), [["1"]])
    reader.query("SET pgsqlite.wait_for_lsn = 'FFFF/0'")
    for setting, wanted in (("lock_timeout = '50ms'", "55P03"), ("statement_timeout = '50ms'", "57014")):
        # (SET waits for nothing)
        reader.query(f"SET {setting}")
        try:
            reader.query("SELECT 1")
            problems.append(f"no wait with {setting}")
        except RuntimeError as e:
            expect(f"a wait with {setting}", str(e)[:5], wanted)
        reader.query(f"RESET {setting.split()[0]}")
    reader.query("SET pgsqlite.wait_for_lsn = 'nowhere'")
    try:
        reader.query("SELECT 1")
        problems.append("a place that is none")
    except RuntimeError as e:
        expect("a place that is none", str(e), '22023 invalid value for parameter "pgsqlite.wait_for_lsn": "nowhere"')
    reader.close()
    connection.close()
    page = urllib.request.urlopen(f"http://{standby.metrics}/metrics").read().decode()
    lines = dict(line.rsplit(" ", 1) for line in page.splitlines() if line.startswith(("pgsqlite_standby", "pgsqlite_in_recovery")))
    expect("the metric of recovery", lines.get("pgsqlite_in_recovery"), "1")
    age = time.time() - float(lines.get('pgsqlite_standby_current_timestamp_seconds{database="main"}', 0))
    expect("the standby's age", age < PATIENCE, True)
    connection = primary.connect()
    connection.query("CREATE ROLE made PASSWORD 'secret'; CREATE TABLE made (i serial, s text); INSERT INTO made (s) VALUES ('a'), ('b')")
    connection.query("CREATE TABLE held (i int)")
    connection.query("BEGIN; INSERT INTO held VALUES (1); PREPARE TRANSACTION 'held'")
    connection.close()
    if not when(standby, f"SELECT pg_last_wal_replay_lsn() >= '{where(primary)}'"):
        return ["the standby does not come to the primary's state"]
    if shutil.which("psql"):
        for attributes, found in {
            "read-write": primary, "primary": primary, "read-only": standby, "standby": standby, "prefer-standby": standby,
        }.items():
            for order in ([primary, standby], [standby, primary]):
                expect(f"target_session_attrs={attributes}", psql(order, attributes), found.dir)
    # what is committed now may have come to the standby or not
    connection = primary.connect()
    for n in range(200):
        connection.query(f"INSERT INTO w VALUES ({-1 - n}, 'last'); UPDATE n SET n = n + 1")
        time.sleep(0.003)
    primary.end(signal.SIGKILL)
    session = standby.connect()
    expect("a standby's parameters", (session.parameters["in_hot_standby"], session.parameters["default_transaction_read_only"]), ("on", "off"))
    paused = chance.random() < 0.5
    if paused:
        session.query("SELECT pg_wal_replay_pause()")
    in_block = standby.connect()
    in_block.query("BEGIN")
    in_block.query("SELECT count(*) FROM w")
    way = chance.choice(["pg_promote", "pgsqlite promote"])
    said: list[tuple[bytes, bytes]] = []
    if way == "pg_promote":
        said = session.simple("SELECT pg_promote()")
        expect("pg_promote()", [pgwire.data_row(b) for k, b in said if k == b"D"], [[b"t"]])
    else:
        done = subprocess.run([server.binary(), "promote", standby.database], capture_output=True, text=True)
        expect("pgsqlite promote", (done.returncode, done.stderr), (0, ""))
    if not when(standby, "SELECT NOT pg_is_in_recovery()"):
        return [*problems, "the standby is not promoted"]
    said += session.simple("SELECT pg_is_in_recovery()")
    expect(f"what a session is told of the promotion ({way})", [b for k, b in said if k == b"S"], [b"in_hot_standby\0off\0"])
    # a transaction of before stays what it was
    for sql, wanted in (("INSERT INTO w VALUES (-1000, '')", "25006 cannot execute INSERT in a read-only transaction"), ("COMMIT", "")):
        try:
            in_block.query(sql)
            found = ""
        except RuntimeError as e:
            found = str(e)
        expect(f"{sql} in a transaction of before", found, wanted)
    rows = {int(k) for (k,) in session.query("SELECT k FROM w")}
    last = [k for k in range(-1, -201, -1) if k in rows]
    expect("the last rows that have come", last, list(range(-1, -1 - len(last), -1)))
    if archive:
        # all that the archive has is there
        restored = os.path.join(folder, "restored.db")
        done = subprocess.run([server.binary(), "restore", f"{archive}/main", restored], capture_output=True, text=True)
        expect("restore", (done.returncode, done.stderr), (0, ""))
        import sqlite3

        with sqlite3.connect(restored) as db:
            archived = {k for (k,) in db.execute("SELECT k FROM w")}
        db.close()
        expect("rows that the archive has, and the new primary has not", len(archived - rows), 0)
    expect("acknowledged rows of before", len(set(writers.acknowledged) - rows), 0)
    expect("the invariant", session.query("SELECT (SELECT count(*) FROM w) = (SELECT n FROM n)"), [["t"]])
    # sequences, roles, prepared transactions
    expect("a new value", session.query("INSERT INTO made (s) VALUES ('c') RETURNING i > 2"), [["t"]])
    expect("the role", session.query("SELECT rolpassword LIKE 'SCRAM%' FROM pg_authid WHERE rolname = 'made'"), [["t"]])
    expect("what is prepared", session.query("SELECT gid FROM pg_prepared_xacts"), [["held"]])
    session.query("COMMIT PREPARED 'held'")
    expect("a prepared row", session.query("SELECT i FROM held"), [["1"]])
    session.query("CREATE TABLE later AS SELECT 1 AS i")
    session.query("VACUUM FULL")
    session.query("BEGIN; INSERT INTO held VALUES (2); PREPARE TRANSACTION 'held again'")
    session.close()
    # it stays a primary, also with --standby
    standby.end(signal.SIGKILL)
    standby.start_server()
    expect("after a restart", asked(standby, "SELECT NOT pg_is_in_recovery() AND EXISTS (SELECT FROM later)"), "t")
    expect("what is prepared after a restart", asked(standby, "SELECT gid FROM pg_prepared_xacts"), "held again")
    if shutil.which("psql"):
        expect("who looks for a primary", psql([primary, standby], "read-write"), standby.dir)
    # the lost primary's file is none that may follow
    primary.flags = standby.flags[:2]
    try:
        primary.start_server()
        primary.connect().close()
        problems.append("the file of a primary follows an archive")
    except (RuntimeError, OSError, pgwire.ServerGone, pgwire.StartupError):
        log = pathlib.Path(primary.dir, "server.log").read_text()
        if "was not made by a standby" not in log:
            problems.append(f"the file of a primary: {log[-300:]}")
    primary.end(signal.SIGKILL)
    return problems


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--moto", help="the Python that has moto: the archive is in a bucket of its, behind a proxy that fails")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="pgsqlite-standby.")
    if options.moto:
        os.makedirs(f"{folder}/moto")
        moto = bucket.Moto(options.moto, f"{folder}/moto")
        proxy = bucket.Proxy(moto, options.seed)
        os.environ.update(proxy.environment)
        try:
            problems = kills(folder, options.rounds, options.seed, proxy)
            print("requests:", ", ".join(f'{n} {way or "well"}' for way, n in sorted(proxy.counts.items())))
        finally:
            proxy.close()
            moto.close()
    else:
        problems = kills(folder, options.rounds, options.seed)
    if problems:
        for name in ("a", "b"):
            log = pathlib.Path(folder, name, "server.log")
            if log.exists():
                print(f"--- {name}\n{log.read_text()[-1500:]}")
        print("\n".join(problems))
        print(f"the files are in {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"standby: {len(problems)} problems")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
