"""What a loss of power leaves: images of the disk at many points of a workload, opened by plain SQLite and by the server.

In each image every transaction is there that a client had been told of, none is there in part, and what a reader had been shown is there.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import re
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import pgwire  # noqa: E402
import record  # noqa: E402
import server  # noqa: E402
import workload  # noqa: E402


@dataclass
class Recorded:
    """A run: its events, what clients were told in it (with the events from and until which it holds), and the files before it."""

    events: list[record.Event]
    notes: list[tuple[int, int | None, workload.Note]]
    before: str
    binary: str

    def disk(self, ignored: frozenset[str] = frozenset()) -> record.Disk:
        disk = record.Disk(self.binary, ignored)
        disk.preset(self.before)
        return disk


def run_recorded(folder: str, seconds: float, seed: int, sync: int = 2000) -> Recorded:
    """Runs the workload under the recording library, and kills the server at its end."""
    with recording(folder, sync, FAULTS_WRITE="300") as s:
        work = workload.Workload(s, seed)
        work.set_up()
        work.run(seconds)
        if work.problems or s.process.poll() is not None:
            raise SystemExit(f"the workload met problems: {work.problems[:5]} {s.log_text()}")
    return recorded(folder, work)


@contextlib.contextmanager
def recording(folder: str, sync: int, **more: str) -> Iterator[server.Server]:
    """A server under the library, over a folder with another program's file; killed at the end."""
    data, before, trace = (os.path.join(folder, name) for name in ("data", "before", "trace"))
    os.makedirs(data)
    workload.prepare(data)
    shutil.copytree(data, before)
    environment = {"LD_PRELOAD": record.shim(folder), "FAULTS_ROOT": data, "FAULTS_TRACE": trace, "FAULTS_SYNC": str(sync), **more}
    os.environ.update(environment)
    try:
        s = server.Server("--data-dir", data, "--server-files", data, directory=folder)
    finally:
        for key in environment:
            del os.environ[key]
    try:
        yield s
    finally:
        s.kill()
        s.stop()


def recorded(folder: str, work: workload.Workload) -> Recorded:
    """What a run under the library has left in its folder, with what its clients were told."""
    events = record.read(os.path.join(folder, "trace"))
    told = record.told(events)
    notes = []
    for note in work.notes:
        person = told.get(note.client)
        places = person and (person.rows if note.seen else person.ready)
        begin = places and places.get(note.request)
        if begin is None:
            continue  # told after the record's end
        until = None
        if note.until:
            client, request = note.until
            until = told[client].ready.get(request)
        notes.append((begin, until, note))
    notes.sort(key=lambda n: n[0])
    return Recorded(events, notes, os.path.join(folder, "before"), server.binary())


class Claims:
    """What must hold at a point of the record."""

    def __init__(self, notes: list, at: int):
        self.rows: set[int] = set()
        self.foreign: set[int] = set()
        self.foreign_tables: set[str] = set()
        self.counters: dict[int, int] = {}
        #: all tables of the workload are there
        self.set_up = False
        self.gone: set[int] = set()
        self.tables: dict[str, int] = {}
        self.no_tables: set[str] = set()
        self.columns: set[tuple[str, str]] = set()
        self.objects: dict[int, str] = {}
        self.no_objects: set[int] = set()
        self.databases: dict[str, int] = {}
        self.no_databases: set[str] = set()
        #: what they have if they are there at all: the request to drop them may be on its way
        self.contents: dict[str, int] = {}
        self.numbers: dict[str, set[int]] = {"given": set(), "counted": set()}
        for begin, until, note in notes:
            if begin > at:
                break
            data = note.data
            if note.what == "database":
                self.contents[data[0]] = max(self.contents.get(data[0], -1), data[1])
            if until is not None and until <= at:
                continue
            match note.what:
                case "row":
                    self.rows.add(data)
                case "foreign row":
                    self.foreign.add(data)
                case "foreign table":
                    self.foreign_tables.add(data)
                case "counter":
                    self.counters[data[0]] = max(self.counters.get(data[0], 0), data[1])
                case "set up":
                    self.set_up = True
                case "no row":
                    self.gone.add(data)
                case "table":
                    self.tables[data[0]] = data[1]
                case "no table":
                    self.no_tables.add(data)
                case "column":
                    self.columns.add(data)
                case "large object":
                    self.objects[data[0]] = data[1]
                case "no large object":
                    self.no_objects.add(data)
                case "database":
                    self.databases[data[0]] = max(self.databases.get(data[0], -1), data[1])
                case "no database":
                    self.no_databases.add(data)
                case "given" | "counted":
                    self.numbers[note.what].add(data)


def sound(path: str) -> sqlite3.Connection:
    db = sqlite3.connect(path)
    answer = db.execute("PRAGMA integrity_check").fetchone()[0]
    if answer != "ok":
        raise AssertionError(f"integrity_check of {os.path.basename(path)}: {answer}")
    return db


def check_cold(db: sqlite3.Connection) -> list[str]:
    """What is wrong with the rows that are changed together."""
    if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'cold'").fetchone():
        return []
    torn = db.execute("SELECT part FROM cold GROUP BY part HAVING min(v) <> max(v) OR count(*) <> 5").fetchall()
    return [f"changes are there in part: {torn}"] if torn else []


def check_exported(folder: str, counters: dict[int, int]) -> list[str]:
    """What files got from COPY TO that the database has lost. (Of a file, any part may be there.)"""
    wrong = []
    for name in os.listdir(folder):
        if name.endswith(".rows"):
            for line in pathlib.Path(folder, name).read_bytes().split(b"\n"):
                if found := re.fullmatch(rb"<(\d+):(\d+)>", line):
                    i, v = map(int, found.groups())
                    if counters.get(i, -1) < v:
                        wrong.append(f"{name} has counter {i} at {v}, the database at {counters.get(i)}")
    return wrong


def check_copies(folder: str, claims: Claims) -> list[str]:
    """What copies of a database have that the database itself has lost."""
    wrong = []
    original = os.path.join(folder, f"{workload.ORIGINAL}.db")
    copies = [n for n in os.listdir(folder) if n.startswith("copy_") and n.endswith(".db")]
    if copies and os.path.exists(original):
        db = sound(original)
        last = db.execute("SELECT max(i) FROM n").fetchone()[0] or 0
        db.close()
        for name in copies:
            db = sound(os.path.join(folder, name))
            copied = db.execute("SELECT max(i) FROM n").fetchone()[0] or 0
            db.close()
            if copied > last:
                wrong.append(f"{name} has row {copied}, the database that it was copied from row {last}")
    return wrong


def few(items) -> str:
    items = sorted(items)
    return f"{items[:5]}" + (f" and {len(items) - 5} more" if len(items) > 5 else "")


def check_plainly(folder: str, claims: Claims) -> list[str]:
    """What is wrong with an image, as plain SQLite sees it. It is changed by this: SQLite recovers it."""
    wrong = []
    try:
        # (before the workload's tables are there nothing is claimed but names)
        if claims.set_up and os.path.exists(os.path.join(folder, "postgres.db")):
            db = sound(os.path.join(folder, "postgres.db"))
            there = {i for (i,) in db.execute("SELECT id FROM w")}
            if claims.rows - there:
                wrong.append(f"rows are lost: {few(claims.rows - there)}")
            torn = db.execute(
                "SELECT id % 1000000, count(*) FROM w WHERE size = 3 GROUP BY 1 HAVING count(*) <> 3 OR min(id) > 2000000"
            ).fetchall()
            if torn:
                wrong.append(f"transactions are there in part: {torn[:5]}")
            counters = dict(db.execute("SELECT id, v FROM c"))
            behind = {i: (counters.get(i), v) for i, v in claims.counters.items() if counters.get(i, -1) < v}
            if behind:
                wrong.append(f"counters have gone back: {list(behind.items())[:5]}")
            wrong += check_cold(db)
            wrong += check_exported(folder, counters)
            balance = db.execute("SELECT sum(balance) FROM account").fetchone()[0]
            if balance not in (workload.BALANCE, None):
                wrong.append(f"the accounts have {balance}")
            back = {i for (i,) in db.execute("SELECT id FROM gone")} & claims.gone
            if back:
                wrong.append(f"rows that were deleted are back: {few(back)}")
            tables = {t for (t,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            if set(claims.tables) - tables:
                wrong.append(f"tables are lost: {few(set(claims.tables) - tables)}")
            if claims.no_tables & tables:
                wrong.append(f"tables are back: {few(claims.no_tables & tables)}")
            for table in [t for t in tables if t.startswith("d_")]:
                n = db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                if n != claims.tables.get(table, n) or not n:
                    wrong.append(f"table {table} has {n} rows")
            for table, column in claims.columns & {(t, "u") for t in tables}:
                if column not in [r[1] for r in db.execute(f"PRAGMA table_info({table})")]:
                    wrong.append(f"column {column} of {table} is lost")
            db.close()
        elif claims.set_up:
            wrong.append("postgres.db is lost")
        for name, n in claims.contents.items():
            path = os.path.join(folder, f"{name}.db")
            if not os.path.exists(path):
                if name in claims.databases:
                    wrong.append(f"database {name} is lost")
                continue
            db = sound(path)
            if n >= 0 and db.execute("SELECT count(*) FROM t").fetchone()[0] < n:
                wrong.append(f"rows of database {name} are lost")
            wrong += check_cold(db)
            db.close()
        for name in claims.no_databases:
            if os.path.exists(os.path.join(folder, f"{name}.db")):
                wrong.append(f"database {name} is back")
            if os.path.exists(os.path.join(folder, f"{name}.db-wal")):
                wrong.append(f"the log of database {name} is back")
        wrong += check_copies(folder, claims)
        # those that nobody was told of yet
        for name in os.listdir(folder):
            if name.startswith(("x_", "left_")) and name.endswith(".db") and name.removesuffix(".db") not in claims.contents:
                db = sound(os.path.join(folder, name))
                if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'other'").fetchone():
                    wrong.append(f"{name} has what another database of this name left behind")
                db.close()
        db = sound(os.path.join(folder, "foreign.db"))
        there = {i for (i,) in db.execute("SELECT id FROM notes")}
        if (claims.foreign | {1}) - there:
            wrong.append(f"rows of the other program's file are lost: {few((claims.foreign | {1}) - there)}")
        tables = {t for (t,) in db.execute("SELECT name FROM sqlite_schema")}
        if claims.foreign_tables - tables:
            wrong.append(f"tables of the other program's file are lost: {claims.foreign_tables - tables}")
        db.close()
    except (sqlite3.Error, AssertionError) as e:
        wrong.append(f"SQLite: {e}")
    return wrong


def write_image(folder: str, files: dict[str, bytes], rng: random.Random, prefix: str = "") -> None:
    for name, content in files.items():
        hidden = "." if name.startswith(".") else ""
        path = os.path.join(folder, hidden + prefix + name.removeprefix("."))
        with open(path, "wb") as f:
            f.write(content)
        if name.endswith(".db") and rng.random() < 0.3:
            # shared memory is rebuilt, whatever is in it
            with open(path + "-shm", "wb") as f:
                f.write(rng.randbytes(32768))


def check_with_server(images: list[tuple[dict[str, bytes], Claims]], rng: random.Random) -> dict[int, list[str]]:
    """What is wrong with images, as the server sees them: one server opens the databases of many."""
    wrong: dict[int, list[str]] = {}
    folder = tempfile.mkdtemp(prefix="pgsqlite-power.")
    data = os.path.join(folder, "data")
    os.mkdir(data)
    for i, (files, _) in enumerate(images):
        write_image(data, files, rng, f"i{i}_")
    s = server.Server("--data-dir", data, directory=folder)
    try:
        names = {n for (n,) in connect(s, "postgres").query("SELECT datname FROM pg_database")}
        for i, (_, claims) in enumerate(images):
            found = wrong.setdefault(i, [])
            try:
                check_one_with_server(s, f"i{i}_", claims, names, found)
            except (RuntimeError, pgwire.StartupError, pgwire.ServerGone, OSError) as e:
                found.append(f"the server: {e}")
    finally:
        s.kill()
        s.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return wrong


def connect(s: server.Server, database: str) -> pgwire.Connection:
    return pgwire.Connection(s.dir, s.port, "postgres", database)


def check_one_with_server(s: server.Server, prefix: str, claims: Claims, names: set[str], wrong: list[str]) -> None:
    for name, n in claims.databases.items():
        if prefix + name not in names:
            wrong.append(f"the server does not know database {name}")
        elif n >= 0:
            c = connect(s, prefix + name)
            if int(c.query("SELECT count(*) FROM t")[0][0]) < n:
                wrong.append(f"rows of database {name} are lost")
            c.close()
    for name in claims.no_databases & {n.removeprefix(prefix) for n in names if n.startswith(prefix)}:
        wrong.append(f"the server has database {name} back")
    c = connect(s, prefix + "foreign")
    there = {int(i) for (i,) in c.query("SELECT id FROM notes")}
    if (claims.foreign | {1}) - there:
        wrong.append("the server has lost rows of the other program's file")
    for table in claims.foreign_tables:
        c.query(f"SELECT * FROM {table}")
    c.query("CREATE TABLE after_the_crash (i int)")
    c.close()
    if not claims.set_up:
        return
    c = connect(s, prefix + "postgres")
    there = {int(i) for (i,) in c.query("SELECT id FROM w")}
    if claims.rows - there:
        wrong.append(f"the server has lost rows: {few(claims.rows - there)}")
    known = {t for (t,) in c.query("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'd\\_%'")}
    if set(claims.tables) - known or claims.no_tables & known:
        wrong.append(f"the server's tables differ: {few(set(claims.tables) - known)} {few(claims.no_tables & known)}")
    for table in known:
        c.query(f"SELECT * FROM {table}")
    if claims.objects:
        oids = ",".join(map(str, claims.objects))
        found = {int(o): t for o, t in c.query(f"SELECT o, convert_from(lo_get(o), 'UTF8') FROM unnest(ARRAY[{oids}]::oid[]) o JOIN pg_largeobject_metadata m ON m.oid = o")}
        if found != claims.objects:
            wrong.append(f"large objects are lost or changed: {few(set(claims.objects) - set(found))}")
    if claims.no_objects:
        back = {int(o) for (o,) in c.query("SELECT oid FROM pg_largeobject_metadata")} & claims.no_objects
        if back:
            wrong.append(f"large objects are back: {few(back)}")
    for sequence, given in claims.numbers.items():
        n = int(c.query(f"SELECT nextval('{sequence}')")[0][0])
        if given and n <= max(given):
            wrong.append(f"sequence {sequence} gives {n} again, after {max(given)}")
    # it can be written to, and the column's sequence goes on
    c.query("INSERT INTO w SELECT -100 - g, 0, 1 FROM generate_series(1, 3) g")
    c.query("UPDATE c SET v = v + 1; CREATE TABLE after_the_crash (i int); DROP TABLE after_the_crash")
    c.close()


def points(run: Recorded, count: int, rng: random.Random) -> list[int]:
    """Where the power is cut: a third anywhere, a third right after an answer, a third near syncs, truncations and changes of names."""
    events = run.events
    answers = [i for i, e in enumerate(events) if e.kind == "S"]
    special = [i for i, e in enumerate(events) if e.kind in "TRUBY" and i > answers[0]]
    out = [rng.randrange(answers[0], len(events)) for _ in range(count // 3)]
    out += [rng.choice(answers) for _ in range(count // 3)]
    out += [min(len(events) - 1, max(0, rng.choice(special) + rng.randint(-3, 12))) for _ in range(count - len(out))]
    return sorted(out)


def check(run: Recorded, count: int, seed: int, with_server: bool = True) -> list[str]:
    """Cuts the power at so many points; what was wrong in each image."""
    rng = random.Random(f"{seed} points")
    disk = run.disk()
    wrong = []
    batch: list = []
    at = 0
    began = time.monotonic()

    def finish() -> None:
        for i, found in check_with_server([(files, claims) for files, claims, _ in batch], rng).items():
            wrong.extend(f"{batch[i][2]}: {w}" for w in found)
        batch.clear()

    for point in points(run, count, rng):
        while at <= point:
            disk.play(run.events[at])
            at += 1
        how, files = disk.image(rng)
        claims = Claims(run.notes, point)
        label = f"seed {seed}, event {point} of {len(run.events)} ({how})"
        with tempfile.TemporaryDirectory(prefix="pgsqlite-image.") as folder:
            write_image(folder, files, rng)
            wrong += [f"{label}: {w}" for w in check_plainly(folder, claims)]
        if with_server:
            batch.append((files, claims, label))
            if len(batch) == 40:
                finish()
    if batch:
        finish()
    print(f"power: {count} images, {len(wrong)} findings, {time.monotonic() - began:.0f} s", flush=True)
    return wrong


#: How far behind a sync its loss is looked for, in events.
BEHIND = 60


def needed(run: Recorded, site: str) -> str | None:
    """Cuts the power with the syncs of one call site left out: the first thing that goes wrong, or None. At each of the site's syncs the
    states are tried that lose what it was for, after each answer, sync, change of a name and write to a database that comes soon after it."""
    rng = random.Random(0)
    whole = run.disk()
    places = []
    for i, e in enumerate(run.events):
        whole.play(e)
        if e.kind == "Y" and whole.last_site == site and whole.last_had_work:
            places.append(i)
    disk = run.disk(frozenset([site]))
    until, synced = -1, None
    for i, e in enumerate(run.events):
        disk.play(e)
        if i in places:
            until, synced = i + BEHIND, disk.last_file
        if i > until or e.kind not in "SYTRUW" or not (disk.name_ops if synced is None else synced.pending):
            continue
        if e.kind == "W" and (synced is None or disk.files[e.handle][1] is synced or record.kind_of(disk.files[e.handle][0]) != "database"):
            # what was written for itself waits for an answer; what was written elsewhere may have taken it for granted
            continue
        claims = Claims(run.notes, i)
        for how, files in disk.worst_images(synced):
            with tempfile.TemporaryDirectory(prefix="pgsqlite-image.") as folder:
                write_image(folder, files, rng)
                if wrong := check_plainly(folder, claims):
                    return f"event {i} ({how}): {wrong[0]}"
    return None


def run_script(folder: str) -> Recorded:
    """Runs the script under the recording library, and kills the server at its end."""
    with recording(folder, 0) as s:
        work = workload.Workload(s, 0)
        work.set_up()
        workload.script(work)
    return recorded(folder, work)


def sites(run: Recorded) -> dict[str, int]:
    """The call sites of syncs, and how often each synced."""
    disk = run.disk()
    for e in run.events:
        disk.play(e)
    return disk.sites
