#!/usr/bin/env python3
"""Who gets in, as whom, and what they may set: conversations from the start-up packet on, recorded from PostgreSQL 15.

    python3 tests/entry/run.py --check
    tools/oracle.sh python3 tests/entry/run.py --target postgres --record tests/entry/options.login

A file has cases. Lines `sql` run first, as `postgres`. A line `login` is a start-up packet (JSON: user, database, options and other
parameters); the statements of the lines `>` after it run in the session that it begins. Lines `<` are what the server answered to the line
above them: they were recorded, nobody writes or edits them. A file with the line `# tolerant` is about what one gets hold of: there an answer
0A000 is as good as any.

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
import oracle as reference  # noqa: E402
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


def refusal(e: pgwire.StartupError) -> list[str]:
    f = e.fields
    told_more = [f"  {n}: {f[c]}" for c, n in (("D", "detail"), ("H", "hint")) if c in f]
    return [f"{f.get('S')} {f.get('C')} {f.get('M')}"] + told_more


# Answers that differ from PostgreSQL's and give nothing away, with the reason. An entry that differs no more has to go.
KNOWN = {
    line.split("\t")[0] for line in (HERE / "different.tsv").read_text().splitlines() if line and not line.startswith("#")
}


class Login:
    """A session, or why there is none."""

    def __init__(self, where: tuple[str, int], login: dict[str, str], database: str):
        parameters = dict(login)
        user, database = parameters.pop("user"), parameters.pop("database", database)
        self.session = None
        try:
            self.session = Notices(*where, user, database, **parameters)
            self.session.ready = True
            self.said = self.session.said
        except pgwire.StartupError as e:
            self.said = refusal(e)

    def answer(self, statement: str) -> list[str]:
        if self.session is None:
            return []
        return [line for message in self.session.simple(statement) for line in told(*message)]

    def close(self) -> None:
        if self.session is not None:
            self.session.close()


def same(expected: list[str], got: list[str], tolerant: bool) -> bool:
    """Whether an answer is PostgreSQL's. `tolerant`: what is refused as not implemented is as good (nobody gets anything by it)."""
    refused = len(got) > 0 and got[0].startswith(("ERROR 0A000", "FATAL 0A000"))
    return got == expected or (tolerant and refused)


def run_file(path: pathlib.Path, where: tuple[str, int], database: str, admin: pgwire.Connection, postgres: bool) -> tuple[list[str], list[str], int]:
    """A file's lines with the answers as they are, the differences, and how many logins and statements there were."""
    lines, out, wrong, asked = path.read_text().splitlines(), [], [], 0
    title, at, tolerant, login = "", 0, False, None
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("<"):
            continue
        out.append(line)
        tolerant |= line == "# tolerant"
        got = None
        if line.startswith("== "):
            title = line[3:]
        elif line.startswith("sql "):
            admin.query(line[4:])
        elif line.startswith("login "):
            if login is not None:
                login.close()
            login = Login(where, json.loads(line[6:]), database)
            got = login.said
        elif line.startswith(">") and login is not None:
            got = login.answer(line[1:].strip())
            if login.session is None and tolerant and login.said[0].startswith("FATAL 0A000"):
                # there is nobody to ask
                while at < len(lines) and lines[at].startswith("<"):
                    out.append(lines[at])
                    at += 1
                continue
        if got is None:
            continue
        asked += 1
        expected = []
        while at < len(lines) and lines[at].startswith("<"):
            expected.append(lines[at][2:])
            at += 1
        out += [f"< {g}" for g in got]
        known = not postgres and f"{path.name}: {line}" in KNOWN
        if same(expected, got, tolerant) == known:
            wrong.append(f"{path.name}: {title}: {line}\n" + "".join(f"    - {e}\n" for e in expected) + "".join(f"    + {g}\n" for g in got))
    if login is not None:
        login.close()
    return out, wrong, asked


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
            admin = reference.connect(releases=(18,))
            where = (os.environ["PGHOST"], int(os.environ.get("PGPORT", "5432")))
            admin.query("CREATE DATABASE entry TEMPLATE template0")
            setter = pgwire.from_environment("entry")
            out, wrong, asked = run_file(path, where, "entry", setter, True)
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
                out, wrong, asked = run_file(path, where, "entry", admin, False)
                admin.close()
        if options.record:
            path.write_text("\n".join(out) + "\n")
        total += asked
        failed += len(wrong)
        for difference in wrong:
            print(difference)
    print(f"tests/entry: {total} logins and statements, {options.target}, {failed} different")
    return 1 if failed else 0


def directory() -> str:
    """A folder that goes with the process."""
    import tempfile

    global _folder
    _folder = tempfile.TemporaryDirectory(prefix="pgsqlite-entry.")
    return _folder.name


if __name__ == "__main__":
    sys.exit(main())
