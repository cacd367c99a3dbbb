#!/usr/bin/env python3
"""Files that earlier builds made, opened by this one.

    formats.py              every file in formats/ must answer formats/questions.sql as a database made now answers, and have no field
                            that a database made now does not have; the newest file has every field and variant that can be stored,
                            and each released version has a file
    formats.py --make NAME  makes formats/NAME.db.gz with the present build, from formats/foreign.sql and objects.sql, which are
                            kept beside it

What a file keeps of PostgreSQL's objects is JSON in tables of its own: a field that is renamed, or has another meaning, breaks the
files of users. A file is never made anew: one is added when the format has changed. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import datetime
import gzip
import json
import os
import pathlib
import re
import sqlite3
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402

FORMATS = HERE / "formats"


# The tables whose columns hold JSON, and the columns that say what kind of thing a row is.
DEFINITIONS = (
    ("__pgsqlite_object", "class", "definition"),
    ("__pgsqlite_role", "'role'", "definition"),
    ("__pgsqlite_prepared", "'prepared'", "locks"),
    ("__pgsqlite_meta", "'database'", "CASE WHEN key = 'database' THEN value END"),
)

# Where what is stored is declared.
DECLARED = ("sql/src/catalog/*.rs", "sql/src/operator.rs", "sql/src/builtins/catalog.rs", "metadata/src/store/prepared.rs")

# Fields and variants that no file has.
NEVER_STORED = {
    "System": "the system's relations are a part of the program",
    "DeleteRows": "of temporary tables alone, which are not stored",
    "Drop": "as DeleteRows",
    "detaching": "only between the two transactions of DETACH PARTITION CONCURRENTLY",
}

# Fields that older builds stored, and how this one reads them.
RETIRED: dict[str, str] = {}


class Failure(tuple):
    """SQLSTATE, message and detail."""


def statements(path: pathlib.Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("--")]


def answers(path: str, asked: list[str]) -> list[tuple[str, list]]:
    out = []
    with server.Server(database=path) as s:
        c = pgwire.Connection(s.dir, s.port, "postgres", "main")
        for sql in asked:
            answer: list = []
            for kind, body in c.simple(sql):
                if kind == b"D":
                    answer.append(tuple(None if v is None else v.decode() for v in pgwire.data_row(body)))
                elif kind == b"E":
                    fields = pgwire.fields_of(body)
                    answer.append(Failure((fields["C"], fields["M"], fields.get("D"))))
                elif kind == b"C":
                    answer.append(body[:-1].decode())
            out.append((sql, answer))
        c.close()
    return out


def fields(path: str) -> set[str]:
    """Where values are in the definitions that a file keeps: `relation.columns[].name`. A list has one place for all its elements."""
    found: set[str] = set()

    def walk(place: str, value: object) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(f"{place}.{key}", inner)
        elif isinstance(value, list):
            found.add(place)
            for inner in value:
                walk(f"{place}[]", inner)
        # a variant without values is a word: `Pgsqlite`
        elif isinstance(value, str) and place.rsplit(".", 1)[-1] in WORDS:
            found.add(f"{place} = {value}")
        else:
            found.add(place)

    db = sqlite3.connect(path)
    try:
        for table, kind, definition in DEFINITIONS:
            if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", [table]).fetchall():
                continue
            for name, text in db.execute(f"SELECT {kind}, {definition} FROM {table}"):
                if text is not None:
                    walk(name, json.loads(text))
    finally:
        db.close()
    return found


def declared() -> set[str]:
    """The names of all fields and variants that a file may keep, as the source declares them."""
    names: set[str] = set()
    crates = HERE.parents[1] / "pgsqlite" / "crates"
    for path in (path for pattern in DECLARED for path in sorted(crates.glob(pattern))):
        text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
        stored = r"#\[derive\([^)]*\bSerialize\b[^)]*\)\]\s*(?:#\[[^\]]*\]\s*)*pub(?:\([^)]*\))? (struct|enum) \w+[^{;]*\{(.*?)\n\}"
        for what, body in re.findall(stored, text, re.DOTALL):
            body = re.sub(r"#\[serde\(skip\)\]\s*(?:pub )?\w+:[^\n]*", "", body)
            names.update(re.findall(r"^\s+(?:pub )?(\w+):", body, re.MULTILINE))
            if what == "enum":
                names.update(re.findall(r"^    ([A-Z]\w*)", body, re.MULTILINE))
    return names


# Fields whose values are variants of an enumeration.
WORDS = {"kind", "mode", "language", "timing", "event", "events[]", "origin", "on_commit", "identity", "storage", "strategy", "command",
         "on_delete", "on_update", "replica_identity", "bound", "from[]", "to[]", "row_numbers", "temporal"}


def make(path: str, script: pathlib.Path, foreign: pathlib.Path) -> None:
    """A database with these objects; `foreign`: on a file that another program has made. What it says of them is the same after a restart."""
    if foreign.exists():
        db = sqlite3.connect(path)
        db.executescript(foreign.read_text(encoding="utf-8"))
        db.close()
    reads = [sql for sql in statements(FORMATS / "questions.sql") if sql.startswith("SELECT") and "nextval" not in sql]
    made = answers(path, statements(script) + reads)
    # (a question about what a script does not make may fail: then it fails after the restart, too)
    for sql, answer in made[: -len(reads)]:
        errors = [part for part in answer if isinstance(part, Failure)]
        assert not errors, (sql, errors)
    assert not os.path.exists(path + "-wal"), "the server has left its log"
    for before, after in zip(made[-len(reads):], answers(path, reads)):
        assert before == after, f"{before[0]}\n  before the restart {before[1]}\n  after it           {after[1]}"


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="pgsqlite-formats.") as folder:
        if sys.argv[1:2] == ["--make"]:
            (name,) = sys.argv[2:]
            target = FORMATS / f"{name}.db.gz"
            assert not target.exists(), f"{target} is kept as it is"
            path = os.path.join(folder, "m.db")
            make(path, FORMATS / "objects.sql", FORMATS / "foreign.sql")
            target.write_bytes(gzip.compress(pathlib.Path(path).read_bytes(), mtime=0))
            (FORMATS / f"{name}.sql").write_bytes((FORMATS / "objects.sql").read_bytes())
            (FORMATS / f"{name}.foreign.sql").write_bytes((FORMATS / "foreign.sql").read_bytes())
            return 0
        failed = passed = 0
        files = sorted(FORMATS.glob("*.db.gz"))
        changelog = (HERE.parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
        for version in re.findall(r"^## \[(\d[^\]]*)\]", changelog, re.MULTILINE):
            if not (FORMATS / f"{version}.db.gz").exists():
                failed += 1
                print(f"FAIL: there is no file of version {version}: formats.py --make {version}, with that version's server")
        for kept in files:
            old, new = os.path.join(folder, "old.db"), os.path.join(folder, "new.db")
            pathlib.Path(old).write_bytes(gzip.decompress(kept.read_bytes()))
            stem = kept.name.removesuffix(".db.gz")
            make(new, kept.with_name(f"{stem}.sql"), kept.with_name(f"{stem}.foreign.sql"))
            wrong = 0
            had, has = fields(old), fields(new)
            for field in sorted(had - has - set(RETIRED)):
                wrong += 1
                print(f"FAIL {kept.name}: {field} is in the file, and in none that is made now: was it renamed?")
            if kept == files[-1]:
                for field in sorted(has - had):
                    wrong += 1
                    print(f"FAIL {kept.name}: {field} is new, and no file is kept that has it: formats.py --make {datetime.date.today()}")
                words = {word for place in had for word in re.split(r"[^\w]+", place)}
                for name in sorted(declared() - words - set(NEVER_STORED)):
                    wrong += 1
                    print(f"FAIL {kept.name}: nothing in it has {name}: add what has it to formats/objects.sql, and make a file")
                for name in sorted(set(NEVER_STORED) & words):
                    wrong += 1
                    print(f"FAIL {kept.name}: {name} is stored after all: strike it from NEVER_STORED")
            for (sql, then), (_, now) in zip(answers(old, statements(FORMATS / "questions.sql")), answers(new, statements(FORMATS / "questions.sql"))):
                if then != now:
                    wrong += 1
                    print(f"FAIL {kept.name}: {sql}\n  the file says  {then}\n  a new one says {now}")
            db = sqlite3.connect(old)
            tables = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE '\\_\\_pgsqlite%' ESCAPE '\\'")]
            db.close()
            if not tables:
                wrong += 1
                print(f"FAIL {kept.name}: no tables of pgsqlite in it")
            for path in (old, new):
                os.remove(path)
            failed, passed = (failed + 1, passed) if wrong else (failed, passed + 1)
        if not passed + failed:
            failed = 1
            print("FAIL: there is no file of an earlier build")
        print(f"{passed} passed, {failed} failed")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
