#!/usr/bin/env python3
"""Exchanges of messages: what a client sends, and what PostgreSQL answers, message by message.

    tests/wire/run.py --check                                 # against pgsqlite ($PGSQLITE_BIN, else the newest build)
    tools/oracle.sh python3 tests/wire/run.py --check --target postgres    # against PostgreSQL: no difference allowed
    tools/oracle.sh python3 tests/wire/run.py --target postgres --record   # writes what PostgreSQL answers into the files

A file has a fresh database, a case (`== title`) a fresh connection. Lines that begin with `>` are messages of the client,
written as calls with literal arguments; those up to the next answer go out in one write. Lines that begin with `<` are the
answer, one message per line; nobody writes them by hand. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import ast
import os
import pathlib
import re
import socket
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import oracle as reference  # noqa: E402
import pgwire  # noqa: E402
import server  # noqa: E402
from messages import CLIENT, message, shown  # noqa: E402

# Silence after which a recorded answer is taken to be complete, and the longest a checked one is waited for.
SILENCE, PATIENCE = 0.4, 30


# --- messages of the client ------------------------------------------------------------------------------------------------


def client_message(source: str) -> bytes:
    """`Parse("s", "SELECT 1", types=[23])` → bytes."""
    call = ast.parse(source, mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise SystemExit(f"not a message: {source}")
    positional = [ast.literal_eval(a) for a in call.args]
    named = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
    return CLIENT[call.func.id](*positional, **named)


def with_oids(source: str, connect) -> str:
    """`FunctionCall("f(int)", …)` and `Parse(…, types=["t"])` → with the OIDs, which differ from server to server."""

    def oid(kind: str, name: str) -> str:
        connection = connect()
        ((found,),) = connection.query(f"SELECT '{name}'::{kind}::oid")
        connection.close()
        return found

    if found := re.match(r'FunctionCall\("([^"]+)"', source):
        return source.replace(f'"{found[1]}"', oid("regprocedure", found[1]), 1)
    if found := re.search(r'types=\[((?:"[^"]*",? ?)+)\]', source):
        types = ", ".join(oid("regtype", name) for name in re.findall(r'"([^"]*)"', found[1]))
        return source.replace(found[0], f"types=[{types}]", 1)
    return source


# --- one session ----------------------------------------------------------------------------------------------------------


class Session:
    def __init__(self, connection: pgwire.Connection):
        self.connection = connection

    def answer(self, wait: float) -> str | None:
        """The next message; None: silence for `wait` seconds."""
        self.connection.sock.settimeout(wait)
        try:
            return shown(*self.connection.receive())
        except (socket.timeout, TimeoutError):
            return None
        except pgwire.ServerGone:
            return "closed"


# --- files -----------------------------------------------------------------------------------------------------------------


def run_file(path: pathlib.Path, connect, record: bool) -> tuple[list[str], list[str], int]:
    """Plays a file: its new lines (as recorded), the differences, and how many exchanges there were."""
    lines, out, wrong, exchanges = path.read_text().splitlines(), [], [], 0
    session, title, at = None, "", 0

    def end_case():
        # nothing but this answer may still come: what is surplus shows here
        if session is not None and not session.over:
            session.connection.sock.sendall(message("S", b""))
            got = session.answer(PATIENCE)
            if got is None or not got.startswith("ReadyForQuery"):
                wrong.append(f"{path.name}: {title}: surplus at the end: {got}")
            session.connection.close()

    while at < len(lines):
        line = lines[at]
        if line.startswith("== "):
            end_case()
            title, session = line[3:], Session(connect())
            session.over = False
        if not line.startswith(">"):
            if not line.startswith("<"):
                out.append(line)
            at += 1
            continue
        sent = b""
        while at < len(lines) and lines[at].startswith(">"):
            out.append(lines[at])
            sent += client_message(with_oids(lines[at][1:].strip(), connect))
            at += 1
        expected = []
        while at < len(lines) and lines[at].startswith("<"):
            expected.append(lines[at][1:].strip())
            at += 1
        exchanges += 1
        session.connection.sock.sendall(sent)
        got: list[str] = []
        while record or len(got) < len(expected):
            answer = session.answer(SILENCE if record else PATIENCE)
            if answer is None:
                if not record:
                    got.append("silence")
                break
            got.append(answer.rstrip())
            if answer == "closed":
                session.over = True
                break
            # one wrong message makes the rest of the case meaningless, but is worth the whole answer
            if not record and answer.startswith("ReadyForQuery") and got != expected[: len(got)]:
                break
        out.extend(f"< {g}" for g in got)
        if not record and got != expected:
            wrong.append(f"{path.name}: {title}\n" + "".join(f"    - {e}\n" for e in expected) + "".join(f"    + {g}\n" for g in got))
            session.connection.sock.close()
            session.over = True
            while at < len(lines) and not lines[at].startswith("== "):
                at += 1
    end_case()
    return out, wrong, exchanges


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
    there = reference.release() if options.target == "postgres" else 0
    for path in options.files or sorted(HERE.glob("*.wire")):
        if there and there != (15 if path.read_text().startswith("@postgres 15\n") else reference.RELEASES[-1]):
            continue
        if options.target == "postgres":
            database, admin = f"wire_{os.getpid()}", reference.connect(releases=reference.RELEASES)
            admin.query(f"CREATE DATABASE {database} TEMPLATE template0")
            out, wrong, exchanges = run_file(path, lambda: pgwire.from_environment(database), options.record)
            admin.query(f"DROP DATABASE {database} WITH (FORCE)")
            admin.close()
        else:
            with server.Server("--in-memory") as running:
                connect = lambda: pgwire.Connection(running.dir, running.port, "postgres", "wire")  # noqa: E731
                out, wrong, exchanges = run_file(path, connect, False)
        if options.record:
            path.write_text("\n".join(out) + "\n")
        total += exchanges
        failed += len(wrong)
        for difference in wrong:
            print(difference)
    print(f"tests/wire: {total} exchanges, {options.target}, {failed} cases failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
