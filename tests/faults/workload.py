"""A workload with everything that reaches a disk, and what must be in the files for each thing that a client was told.

Clients write single rows and transactions of several, count, move money, make and drop tables, large objects and databases, take numbers of
sequences, read what others write, checkpoint and vacuum. Each notes what an answer means (`Note`): from that answer on it must hold, until
the request that ends it is sent.
"""

from __future__ import annotations

import os
import pathlib
import random
import sqlite3
import sys
import threading
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import pgwire  # noqa: E402


@dataclass
class Note:
    """What a client was told. `seen`: by a row of the answer, else by its end."""

    what: str
    data: object
    client: int
    request: int
    seen: bool
    #: the client and request after whose answer it may end
    until: tuple[int, int] | None = None


class Client:
    """A session that counts its requests."""

    def __init__(self, work: "Workload", database: str):
        self.work = work
        self.c = pgwire.Connection(work.server.dir, work.server.port, "postgres", database)
        self.request = 0
        self.pid = int(self.query("SELECT pg_backend_pid()")[0][0])

    def run(self, sql: str, extended: bool = False) -> list[tuple[bytes, bytes]]:
        self.request += 1
        return self.c.extended(sql) if extended else self.c.simple(sql)

    def query(self, sql: str, extended: bool = False) -> list[list[str | None]]:
        """Rows. RuntimeError: it was refused."""
        return self.rows(self.run(sql, extended))

    @staticmethod
    def rows(messages: list[tuple[bytes, bytes]]) -> list[list[str | None]]:
        rows = []
        for kind, body in messages:
            if kind == b"D":
                rows.append([None if v is None else v.decode() for v in pgwire.data_row(body)])
            elif kind == b"E":
                f = pgwire.fields_of(body)
                raise RuntimeError(f"{f.get('C')} {f.get('M')}")
        return rows

    def note(self, what: str, data: object, seen: bool = False) -> Note:
        note = Note(what, data, self.pid, self.request, seen)
        with self.work.lock:
            self.work.notes.append(note)
        return note

    def ends(self, *notes: Note) -> None:
        """What the next request may end."""
        for note in notes:
            note.until = (self.pid, self.request)

    def close(self) -> None:
        self.c.close()


#: Databases whose names have a log of another database left behind beside them.
LEFT = [f"left_{i}" for i in range(12)]


def prepare(folder: str) -> None:
    """Files that the server will find: a database of another program, in rollback mode, with a table of its own, and logs without databases."""
    other = sqlite3.connect(os.path.join(folder, "left.db"))
    other.executescript("PRAGMA journal_mode = WAL; CREATE TABLE other (i INT); INSERT INTO other VALUES (1);")
    log = pathlib.Path(folder, "left.db-wal").read_bytes()
    other.close()
    os.remove(os.path.join(folder, "left.db"))
    for name in LEFT:
        pathlib.Path(folder, f"{name}.db-wal").write_bytes(log)
    db = sqlite3.connect(os.path.join(folder, "foreign.db"))
    db.executescript("CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT); INSERT INTO notes VALUES (1, 'made elsewhere');")
    db.commit()
    db.close()


SETUP = """
CREATE TABLE w (id int8 PRIMARY KEY, writer int NOT NULL, size int NOT NULL, number bigserial UNIQUE, pad text);
CREATE TABLE c (id int PRIMARY KEY, v int8 NOT NULL);
INSERT INTO c SELECT g, 0 FROM generate_series(1, 20) g;
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account SELECT g, 100 FROM generate_series(1, 20) g;
CREATE TABLE bulk (id int, pad text);
CREATE TABLE gone (id int PRIMARY KEY);
INSERT INTO gone SELECT g FROM generate_series(1, 2000) g;
CREATE SEQUENCE given;
CREATE SEQUENCE counted;
"""
BALANCE = 2000
#: The database that others are copied from while it is written to.
ORIGINAL = "original"
#: Rows on pages of their own, in groups that are changed together.
COLD = "CREATE TABLE cold (id int PRIMARY KEY, part int, v int, pad text); INSERT INTO cold SELECT g, g % 4, 0, repeat('c', 3000) FROM generate_series(1, 20) g"


class Workload:
    """Runs the clients for so many seconds, or until the server is gone."""

    def __init__(self, server, seed: int):
        self.server = server
        self.seed = seed
        self.notes: list[Note] = []
        self.problems: list[str] = []
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.next_row = 1
        #: rows of others that somebody has inserted, or has tried to: their owner may come second
        self.anticipated: set[int] = set()
        self.left = list(LEFT)
        #: what may go wrong in an answer without being a problem: faults are injected
        self.expected: tuple[str, ...] = ()
        self.refused: list[str] = []

    def row(self) -> int:
        with self.lock:
            self.next_row += 1
            return self.next_row

    def set_up(self) -> None:
        c = Client(self, "postgres")
        for statement in SETUP.split(";\n"):
            if statement.strip():
                c.query(statement)
        c.query(COLD)
        c.note("set up", None)
        for i in range(1, 21):
            c.note("counter", (i, 0))
        c.close()

    def run(self, seconds: float, which: list | None = None) -> None:
        threads = []
        for number, body in enumerate(which or EVERYBODY):
            rng = random.Random(f"{self.seed} {number}")
            threads.append(threading.Thread(target=self.one, args=(body, number, rng), daemon=True))
        for t in threads:
            t.start()
        self.over.wait(seconds)
        self.over.set()
        for t in threads:
            t.join(30)

    def one(self, body, number: int, rng: random.Random) -> None:
        while not self.over.is_set():
            try:
                body(self, number, rng)
            except (pgwire.ServerGone, pgwire.StartupError, OSError) as e:
                if not str(e).startswith(self.expected or ("nothing",)) and not self.over.is_set():
                    self.problems.append(f"{body.__name__}: {e}")
                self.over.wait(0.05)
                if self.server.process.poll() is not None:
                    return
            except RuntimeError as e:
                with self.lock:
                    self.refused.append(str(e))
                if not str(e).startswith(self.expected or ("nothing",)):
                    self.problems.append(f"{body.__name__}: {e}")
                    return
                self.over.wait(0.02)


def singles(work: Workload, number: int, rng: random.Random) -> None:
    c = Client(work, "postgres")

    def of_somebody(key: int) -> int:
        """A row that another client has inserted, perhaps not on disk yet, or is about to insert."""
        other = key - rng.randint(0, 8)
        if other != key:
            with work.lock:
                work.anticipated.add(other)
        return other

    while not work.over.is_set():
        key = work.row()
        try:
            c.query(f"INSERT INTO w VALUES ({key}, {number}, 1)", extended=rng.random() < 0.5)
        except RuntimeError as e:
            # A second row of one key is wrong unless another client was quicker.
            if not (str(e).startswith("23505") and key in work.anticipated):
                raise
        c.note("row", key)
        if rng.random() < 0.3:
            other = of_somebody(key)
            c.query(f"INSERT INTO w VALUES ({other}, {number}, 1) ON CONFLICT DO NOTHING", extended=rng.random() < 0.5)
            c.note("row", other)
        if rng.random() < 0.2:
            other = of_somebody(key)
            refused = [pgwire.fields_of(b).get("C") for k, b in c.run(f"INSERT INTO w VALUES ({other}, {number}, 1)") if k == b"E"]
            if refused in ([], ["23505"]):
                c.note("row", other, seen=True)


def triples(work: Workload, number: int, rng: random.Random) -> None:
    c = Client(work, "postgres")
    while not work.over.is_set():
        key = work.row()
        keys = [key + 1_000_000 * i for i in (1, 2, 3)]
        inserts = [f"INSERT INTO w VALUES ({k}, {number}, 3, DEFAULT, repeat('x', {rng.choice([1, 100, 2000])}))" for k in keys]
        how = rng.random()
        if how < 0.3:
            c.query("BEGIN;" + ";".join(inserts) + ";COMMIT")
        elif how < 0.6:
            c.query(";".join(inserts))
        else:
            c.query("BEGIN", extended=True)
            for i, insert in enumerate(inserts):
                c.query(insert, extended=True)
                if i == 1 and how < 0.7:
                    c.query("SAVEPOINT a")
                    c.query(f"INSERT INTO w VALUES ({key + 9_000_000}, {number}, 3)")
                    c.query("ROLLBACK TO a")
            if how > 0.9:
                c.query("ROLLBACK")
                continue
            c.query("COMMIT")
        for k in keys:
            c.note("row", k)


def counters(work: Workload, number: int, rng: random.Random) -> None:
    c = Client(work, "postgres")
    while not work.over.is_set():
        i = rng.randint(1, 20)
        rows = c.query(f"UPDATE c SET v = v + 1 WHERE id = {i} RETURNING v", extended=rng.random() < 0.5)
        c.note("counter", (i, int(rows[0][0])), seen=True)


def readers(work: Workload, number: int, rng: random.Random) -> None:
    c = Client(work, "postgres")
    while not work.over.is_set():
        extended = rng.random() < 0.5
        match rng.randint(0, 3):
            case 0:
                for (i, v) in c.query("SELECT id, v FROM c", extended):
                    c.note("counter", (int(i), int(v)), seen=True)
            case 1:
                for (i,) in c.query("SELECT id FROM w WHERE id < 1000000 ORDER BY id DESC LIMIT 5", extended):
                    c.note("row", int(i), seen=True)
            case 2:
                for (i,) in c.query("SELECT id FROM w ORDER BY number DESC LIMIT 3", extended):
                    c.note("row", int(i), seen=True)
            case 3:
                c.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
                for (i, v) in c.query("SELECT id, v FROM c", extended):
                    c.note("counter", (int(i), int(v)), seen=True)
                c.query("COMMIT")


def takers(work: Workload, number: int, rng: random.Random) -> None:
    c = Client(work, "postgres")
    while not work.over.is_set():
        sequence = rng.choice(["given", "given", "counted"])
        n = int(c.query(f"SELECT nextval('{sequence}')", extended=rng.random() < 0.5)[0][0])
        c.note(sequence, n)


def movers(work: Workload, number: int, rng: random.Random) -> None:
    """Money moves, with commits that do not wait for the disk: none is half there."""
    c = Client(work, "postgres")
    c.query("SET synchronous_commit = off")
    while not work.over.is_set():
        a, b = rng.sample(range(1, 21), 2)
        c.query(f"BEGIN; UPDATE account SET balance = balance - 1 WHERE id = {a}; UPDATE account SET balance = balance + 1 WHERE id = {b}; COMMIT")
        work.over.wait(0.01)


def loosened(work: Workload, number: int, rng: random.Random) -> None:
    """Commits that wait for nothing, and the log written back right after them: only SQLite's own sync of the log keeps them whole."""
    c = Client(work, "postgres")
    c.query("SET synchronous_commit = off")
    while not work.over.is_set():
        c.query(f"UPDATE cold SET v = v + 1 WHERE part = {rng.randint(0, 3)}")
        c.query("CHECKPOINT")
        work.over.wait(0.1)


def exporters(work: Workload, number: int, rng: random.Random) -> None:
    """What files get, a loss of power does not take back."""
    c = Client(work, "postgres")
    while not work.over.is_set():
        path = os.path.join(work.server.dir, "data", f"{rng.randint(1, 5)}.rows")
        c.query(f"COPY (SELECT '<' || id || ':' || v || '>' FROM c) TO '{path}'", extended=rng.random() < 0.5)
        work.over.wait(0.02)


def copiers(work: Workload, number: int, rng: random.Random) -> None:
    """Copies of a database that somebody writes to."""
    c = Client(work, "postgres")
    if not c.query(f"SELECT 1 FROM pg_database WHERE datname = '{ORIGINAL}'"):
        c.query(f"CREATE DATABASE {ORIGINAL}")
    own = Client(work, ORIGINAL)
    own.query("CREATE TABLE IF NOT EXISTS n (i int PRIMARY KEY)")

    over = threading.Event()

    def write() -> None:
        try:
            i = int(own.query("SELECT coalesce(max(i), 0) FROM n")[0][0])
            while not (over.is_set() or work.over.is_set()):
                i += 1
                own.query(f"INSERT INTO n VALUES ({i})")
        except (RuntimeError, pgwire.ServerGone, OSError) as e:
            if not str(e).startswith(work.expected or ("nothing",)) and not work.over.is_set():
                work.problems.append(f"copiers: {e}")

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        while not work.over.is_set():
            name = f"copy_{rng.randint(1, 3)}"
            c.query(f"DROP DATABASE IF EXISTS {name}")
            c.query(f"CREATE DATABASE {name} TEMPLATE {ORIGINAL}")
            work.over.wait(0.05)
    finally:
        # an error of these begins this client anew, with a writer of its own
        over.set()
        writer.join(30)


def removers(work: Workload, number: int, rng: random.Random) -> None:
    c = Client(work, "postgres")
    while not work.over.is_set():
        key = rng.randint(1, 2000)
        c.query(f"DELETE FROM gone WHERE id = {key}", extended=rng.random() < 0.5)
        c.note("no row", key)
        work.over.wait(0.01)


def architects(work: Workload, number: int, rng: random.Random) -> None:
    c = Client(work, "postgres")
    live: list[tuple[str, Note]] = []
    while not work.over.is_set():
        name = f"d_{work.row()}"
        n = rng.randint(1, 5)
        c.query(f"BEGIN; CREATE TABLE {name} (id serial PRIMARY KEY, t text); INSERT INTO {name} (t) SELECT 'x' FROM generate_series(1, {n}); COMMIT")
        live.append((name, c.note("table", (name, n))))
        if rng.random() < 0.3:
            c.query(f"ALTER TABLE {name} ADD COLUMN u int DEFAULT 7; CREATE INDEX ON {name} (u)")
            c.note("column", (name, "u"))
        if len(live) > 3:
            name, note = live.pop(0)
            with work.lock:
                for other in work.notes:
                    if other.what == "column" and other.data[0] == name:
                        c.ends(other)
            c.ends(note)
            c.query(f"DROP TABLE {name}")
            c.note("no table", name)
        work.over.wait(0.02)


def keepers(work: Workload, number: int, rng: random.Random) -> None:
    """Large objects."""
    c = Client(work, "postgres")
    while not work.over.is_set():
        text = f"{work.row()}-" + "large" * rng.choice([1, 100, 2000])
        oid = int(c.query(f"SELECT lo_from_bytea(0, convert_to('{text}', 'UTF8'))", extended=rng.random() < 0.5)[0][0])
        note = c.note("large object", (oid, text))
        if rng.random() < 0.3:
            c.ends(note)
            c.query(f"SELECT lo_unlink({oid})")
            c.note("no large object", oid)
        work.over.wait(0.03)


def founders(work: Workload, number: int, rng: random.Random) -> None:
    """Databases."""
    c = Client(work, "postgres")
    live: list[tuple[str, list[Note]]] = []
    while not work.over.is_set():
        with work.lock:
            name = work.left.pop() if work.left and rng.random() < 0.5 else None
        name = name or f"x_{work.row()}"
        template = f" TEMPLATE {live[-1][0]}" if live and rng.random() < 0.4 else ""
        c.query(f"CREATE DATABASE {name}{template}")
        note = c.note("database", (name, -1))
        own = Client(work, name)
        own.query("CREATE TABLE IF NOT EXISTS t (i int)")
        own.query("INSERT INTO t VALUES (1), (2)")
        content = own.note("database", (name, 2))
        if not template:
            own.query(COLD)
            own.query("CHECKPOINT")
            own.query("SET synchronous_commit = off")
            # right before the database is closed
            own.query("UPDATE cold SET v = v + 1 WHERE part = 1")
        own.close()
        live.append((name, [note, content]))
        if len(live) > 1 and rng.random() < 0.4:
            old, notes = live.pop(0)
            c.ends(*notes)
            with work.lock:
                new = work.left.pop() if work.left and rng.random() < 0.5 else f"{old}_again"
            c.query(f"ALTER DATABASE {old} RENAME TO {new}")
            c.note("no database", old)
            live.append((new, [c.note("database", (new, 2))]))
        if len(live) > 2:
            old, notes = live.pop(0)
            c.ends(*notes)
            other = None
            if rng.random() < 0.5:
                # another program reads it: then its log is not written back when it is closed
                other = sqlite3.connect(os.path.join(work.server.dir, "data", f"{old}.db"))
                other.execute("BEGIN")
                other.execute("SELECT count(*) FROM t").fetchone()
            try:
                c.query(f"DROP DATABASE {old}")
            finally:
                if other:
                    other.close()
            c.note("no database", old)
        work.over.wait(0.02)


def strangers(work: Workload, number: int, rng: random.Random) -> None:
    """The other program's file."""
    c = Client(work, "foreign")
    while not work.over.is_set():
        key = work.row()
        c.query(f"INSERT INTO notes VALUES ({key}, 'x')", extended=rng.random() < 0.5)
        c.note("foreign row", key)
        if rng.random() < 0.1:
            c.query("CREATE TABLE IF NOT EXISTS typed (id uuid PRIMARY KEY, n numeric)")
            c.note("foreign table", "typed")
        work.over.wait(0.03)


def heavy(work: Workload, number: int, rng: random.Random) -> None:
    """Large transactions, checkpoints, a log that grows and begins anew."""
    c = Client(work, "postgres")
    while not work.over.is_set():
        match rng.randint(0, 9):
            case 0:
                c.query("CHECKPOINT")
            case 1:
                c.query("DELETE FROM bulk")
            case 2:
                c.query("BEGIN; INSERT INTO bulk SELECT g, repeat('b', 900) FROM generate_series(1, 300) g; ROLLBACK")
            case 3 if rng.random() < 0.2:
                c.query("VACUUM FULL")
            case 4:
                c.query("TRUNCATE bulk")
            case 5:
                c.rows(c.c.simple("COPY bulk FROM STDIN", b"".join(b"%d\tcopied\n" % i for i in range(2000))))
                c.request += 1
            case _:
                c.query("INSERT INTO bulk SELECT g, repeat('b', 900) FROM generate_series(1, 200) g")
        work.over.wait(0.02)


EVERYBODY = [singles, singles, triples, triples, counters, counters, readers, readers, takers, takers, movers, loosened, exporters, copiers, removers, architects, keepers, founders, strangers, heavy]


def script(work: Workload) -> None:
    """One client after the other does what each sync is there for: the same events in each run."""
    c = Client(work, "postgres")
    stranger = Client(work, "foreign")
    own: dict[str, Client] = {}
    notes: dict[str, list[Note]] = {}

    def insert() -> None:
        key = work.row()
        c.query(f"INSERT INTO w VALUES ({key}, 1, 1)")
        c.note("row", key)

    def count(i: int) -> None:
        c.note("counter", (i, int(c.query(f"UPDATE c SET v = v + 1 WHERE id = {i} RETURNING v")[0][0])))

    def found(name: str, template: str = "") -> None:
        c.query(f"CREATE DATABASE {name}{template}")
        notes[name] = [c.note("database", (name, -1))]
        own[name] = Client(work, name)
        own[name].query("CREATE TABLE IF NOT EXISTS t (i int)")
        own[name].query("INSERT INTO t VALUES (1), (2)")
        notes[name].append(own[name].note("database", (name, 2)))

    def close(name: str) -> None:
        own.pop(name).close()

    def drop(name: str, read: bool) -> None:
        """`read`: another program reads it, so that its log is not written back when it is closed."""
        c.ends(*notes[name])
        if name in own:
            close(name)
        other = sqlite3.connect(os.path.join(work.server.dir, "data", f"{name}.db")) if read else None
        if other:
            other.execute("BEGIN")
            other.execute("SELECT count(*) FROM t").fetchone()
        c.query(f"DROP DATABASE {name}")
        c.note("no database", name)
        if other:
            other.close()

    for _ in range(3):
        insert()
    stranger.query("INSERT INTO notes VALUES (2, 'x')")
    stranger.note("foreign row", 2)
    stranger.query("CREATE TABLE IF NOT EXISTS typed (id uuid PRIMARY KEY, n numeric)")
    stranger.note("foreign table", "typed")
    # a log that is written back, begins anew, and is written back again before its commits are on disk
    for round in range(3):
        c.query("CHECKPOINT")
        for _ in range(3):
            count(round + 1)
            insert()
        c.query("CHECKPOINT")
        c.query("SET synchronous_commit = off")
        for part in range(4):
            c.query(f"UPDATE cold SET v = v + 1 WHERE part = {part}")
        c.query("CHECKPOINT")
        c.query("UPDATE cold SET v = v + 1 WHERE part = 1")
        c.query("UPDATE cold SET v = v + 1")
        c.query("SET synchronous_commit = on")
        count(round + 1)
        insert()
    # databases: made, made where another has left its log, renamed there, and dropped, also while they are read
    for i in range(2):
        found(f"x_{i}")
        found(LEFT[2 * i])
        base = own[f"x_{i}"]
        base.query(COLD)
        base.query("CHECKPOINT")
        base.query("SET synchronous_commit = off")
        base.query("UPDATE cold SET v = v + 1 WHERE part = 1")
        close(f"x_{i}")
        insert()
        c.ends(*notes[f"x_{i}"])
        c.query(f"ALTER DATABASE x_{i} RENAME TO {LEFT[2 * i + 1]}")
        c.note("no database", f"x_{i}")
        notes[LEFT[2 * i + 1]] = [c.note("database", (LEFT[2 * i + 1], 2))]
        insert()
        found(f"y_{i}", f" TEMPLATE {LEFT[2 * i + 1]}")
        insert()
        drop(LEFT[2 * i], read=True)
        insert()
        drop(f"y_{i}", read=False)
        insert()
        drop(LEFT[2 * i + 1], read=True)
        insert()
    c.close()
    stranger.close()
