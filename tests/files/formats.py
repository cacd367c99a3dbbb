#!/usr/bin/env python3
"""Files that earlier builds made, opened by this one.

    formats.py              every file in formats/ must answer formats/questions.sql as a database made now answers
    formats.py --make NAME  makes formats/NAME.db.gz and NAME.sql with the present build, from formats/objects.sql

What a file keeps of PostgreSQL's objects is JSON in tables of its own: a field that is renamed, or has another meaning, breaks the
files of users. A file is never made anew: one is added when the format has changed. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import gzip
import os
import pathlib
import sqlite3
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402

FORMATS = HERE / "formats"


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


def make(path: str, script: pathlib.Path) -> None:
    """A database with these objects. What it says of them is the same after a restart."""
    reads = [sql for sql in statements(FORMATS / "questions.sql") if sql.startswith("SELECT") and "nextval" not in sql]
    made = answers(path, statements(script) + reads)
    for sql, answer in made:
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
            make(path, FORMATS / "objects.sql")
            target.write_bytes(gzip.compress(pathlib.Path(path).read_bytes(), mtime=0))
            (FORMATS / f"{name}.sql").write_bytes((FORMATS / "objects.sql").read_bytes())
            return 0
        failed = passed = 0
        for kept in sorted(FORMATS.glob("*.db.gz")):
            old, new = os.path.join(folder, "old.db"), os.path.join(folder, "new.db")
            pathlib.Path(old).write_bytes(gzip.decompress(kept.read_bytes()))
            make(new, kept.with_name(kept.name.removesuffix(".db.gz") + ".sql"))
            wrong = 0
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
