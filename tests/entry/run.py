#!/usr/bin/env python3
"""Who gets in, as whom, and what they may set: conversations from the start-up packet on, recorded from PostgreSQL 15.

    python3 tests/entry/run.py --check
    tools/oracle.sh python3 tests/entry/run.py --target postgres --record tests/entry/options.login

A file has cases. Lines `sql` run first, as `postgres`. A line `login` is a start-up packet (JSON: user, database, options and other
parameters); the statements of the lines `>` after it run in the session that it begins. Lines `<` are what the server answered: they were
recorded, nobody writes or edits them.

    == a role that is no superuser asks for another role
    sql CREATE ROLE mallory LOGIN
    login {"user": "mallory", "options": "-c role=postgres"}
    > SELECT current_user
    < FATAL 42501 permission denied to set role "postgres"
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402


def told(kind: bytes, body: bytes) -> list[str]:
    """A message as the lines that are compared."""
    if kind in (b"E", b"N"):
        f = pgwire.fields_of(body)
        return [f"{f['S']} {f['C']} {f['M']}"] + [f"  {name}: {f[code]}" for code, name in (("D", "detail"), ("H", "hint")) if code in f]
    if kind == b"D":
        return ["|" + "|".join("\\N" if v is None else v.decode() for v in pgwire.data_row(body)) + "|"]
    if kind == b"C":
        return [body[:-1].decode()]
    return []


class Notices(pgwire.Connection):
    """Keeps what the server said before the session was ready."""

    said: list[str]

    def receive(self):
        if not hasattr(self, "said"):
            self.said = []
        kind, body = super().receive()
        if kind == b"N" and not getattr(self, "ready", False):
            self.said += told(kind, body)
        return kind, body


def answers(where: tuple[str, int], login: dict[str, str], statements: list[str], database: str) -> list[str]:
    parameters = dict(login)
    user, database = parameters.pop("user"), parameters.pop("database", database)
    try:
        session = Notices(*where, user, database, **parameters)
    except pgwire.StartupError as e:
        f = e.fields
        return [f"{f.get('S')} {f.get('C')} {f.get('M')}"] + [f"  {n}: {f[c]}" for c, n in (("D", "detail"), ("H", "hint")) if c in f]
    session.ready = True
    lines = list(session.said)
    for statement in statements:
        for kind, body in session.simple(statement):
            lines += told(kind, body)
    session.close()
    return lines or ["(nothing)"]


def run_file(path: pathlib.Path, where: tuple[str, int], database: str, admin: pgwire.Connection) -> tuple[list[str], list[str], int]:
    """A file's lines with the answers as they are, the differences, and how many logins there were."""
    lines, out, wrong, logins = path.read_text().splitlines(), [], [], 0
    title, at = "", 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("<"):
            continue
        out.append(line)
        if line.startswith("== "):
            title = line[3:]
        elif line.startswith("sql "):
            admin.query(line[4:])
        elif line.startswith("login "):
            statements, expected = [], []
            while at < len(lines) and lines[at].startswith(">"):
                out.append(lines[at])
                statements.append(lines[at][1:].strip())
                at += 1
            while at < len(lines) and lines[at].startswith("<"):
                expected.append(lines[at][2:])
                at += 1
            got = answers(where, json.loads(line[6:]), statements, database)
            logins += 1
            out += [f"< {g}" for g in got]
            if got != expected:
                wrong.append(f"{path.name}: {title}: {line}\n" + "".join(f"    - {e}\n" for e in expected) + "".join(f"    + {g}\n" for g in got))
    return out, wrong, logins


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=["pgsqlite", "postgres"], default="pgsqlite")
    parser.add_argument("--check", action="store_true", help="the default")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    if options.record and options.target != "postgres":
        parser.error("expectations come from PostgreSQL: --record needs --target postgres")
    failed, total = 0, 0
    for path in options.files or sorted(HERE.glob("*.login")):
        if options.target == "postgres":
            # roles are the cluster's: each file has a fresh one, or names roles of its own
            admin = pgwire.from_environment("postgres")
            version = admin.query("SELECT version()")[0][0] or ""
            if not version.startswith("PostgreSQL 15.") or "sqlite" in version.lower():
                raise SystemExit(f"this is not a PostgreSQL 15, so it cannot say what is right: {version}")
            where = (os.environ["PGHOST"], int(os.environ.get("PGPORT", "5432")))
            admin.query("CREATE DATABASE entry TEMPLATE template0")
            setter = pgwire.from_environment("entry")
            out, wrong, logins = run_file(path, where, "entry", setter)
            setter.close()
            admin.query("DROP DATABASE entry WITH (FORCE)")
            for (role,) in admin.query("SELECT quote_ident(rolname) FROM pg_roles WHERE oid >= 16384 AND rolname <> current_user"):
                admin.query(f"DROP ROLE {role}")
            admin.close()
        else:
            # (PostgreSQL's database has to be made; the name of the file's is that of its file)
            with server.Server(database=os.path.join(directory(), "entry.db")) as running:
                where = (running.dir, running.port)
                admin = pgwire.Connection(*where, "postgres", "entry")
                out, wrong, logins = run_file(path, where, "entry", admin)
                admin.close()
        if options.record:
            path.write_text("\n".join(out) + "\n")
        total += logins
        failed += len(wrong)
        for difference in wrong:
            print(difference)
    print(f"tests/entry: {total} logins, {options.target}, {failed} different")
    return 1 if failed else 0


def directory() -> str:
    """A folder that goes with the process."""
    import tempfile

    global _folder
    _folder = tempfile.TemporaryDirectory(prefix="pgsqlite-entry.")
    return _folder.name


if __name__ == "__main__":
    sys.exit(main())
