#!/usr/bin/env python3
"""Messages in, messages out: what a server says to sequences of protocol messages that no driver sends on purpose.

    run.py --check [--target pgsqlite|postgres] [FILE…]
    run.py --record [FILE…]      writes the answers; only against a real PostgreSQL (PGHOST, PGPORT, PGUSER)

A case of a `.wire` file is a comment line, the messages sent (`> Execute "" 2`), `----`, and the answer (`< CommandComplete …`).
All messages between two `wait` lines are sent in one write; `wait` takes the answers up to the next ReadyForQuery, or up to the
given message (`wait CopyInResponse`). Arguments are Python literals. Each file has a database and a connection of its own.
Columns of RowDescription show name and type; errors show their context, too, which tests/sql does not.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import itertools
import os
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402

BACKEND = {
    b"1": "ParseComplete",
    b"2": "BindComplete",
    b"3": "CloseComplete",
    b"A": "Notification",
    b"C": "CommandComplete",
    b"D": "DataRow",
    b"E": "Error",
    b"G": "CopyInResponse",
    b"H": "CopyOutResponse",
    b"I": "EmptyQueryResponse",
    b"N": "Notice",
    b"S": "ParameterStatus",
    b"T": "RowDescription",
    b"Z": "ReadyForQuery",
    b"c": "CopyDone",
    b"d": "CopyData",
    b"n": "NoData",
    b"s": "PortalSuspended",
    b"t": "ParameterDescription",
}


def text(value: str) -> bytes:
    return value.encode() + b"\0"


def encode(name: str, args: list) -> bytes:
    """A frontend message with its type and length."""
    if name == "Query":
        kind, body = b"Q", text(args[0])
    elif name == "Parse":
        types = args[2] if len(args) > 2 else []
        kind, body = b"P", text(args[0]) + text(args[1]) + struct.pack(f"!h{len(types)}i", len(types), *types)
    elif name == "Bind":
        values = args[2] if len(args) > 2 else []
        formats = args[3] if len(args) > 3 else []
        body = text(args[0]) + text(args[1]) + struct.pack("!hh", 0, len(values))
        for value in values:
            raw = None if value is None else value.encode()
            body += struct.pack("!i", -1) if raw is None else struct.pack("!i", len(raw)) + raw
        kind, body = b"B", body + struct.pack(f"!h{len(formats)}h", len(formats), *formats)
    elif name in ("DescribeStatement", "DescribePortal"):
        kind, body = b"D", name[8:9].encode() + text(args[0])
    elif name in ("CloseStatement", "ClosePortal"):
        kind, body = b"C", name[5:6].encode() + text(args[0])
    elif name == "Execute":
        kind, body = b"E", text(args[0]) + struct.pack("!i", args[1] if len(args) > 1 else 0)
    elif name == "CopyData":
        kind, body = b"d", args[0].encode("latin-1")
    elif name == "CopyFail":
        kind, body = b"f", text(args[0])
    else:
        kind, body = {"Sync": b"S", "Flush": b"H", "CopyDone": b"c"}[name], b""
    return kind + struct.pack("!i", len(body) + 4) + body


def show(kind: bytes, body: bytes) -> str:
    """A backend message as a line."""
    name = BACKEND.get(kind, f"message {kind!r}")
    if kind in b"EN":
        f = pgwire.fields_of(body)
        parts = [f.get("V", "?"), f.get("C", "?"), repr(f.get("M", ""))]
        parts += [f"{label}={f[key]!r}" for key, label in (("D", "detail"), ("H", "hint"), ("P", "position"), ("W", "context")) if key in f]
        return f"{name} {' '.join(parts)}"
    if kind == b"C":
        return f"{name} {body[:-1].decode()}"
    if kind == b"Z":
        return f"{name} {body.decode()}"
    if kind == b"D":
        return f"{name} {[None if v is None else v.decode('utf-8', 'backslashreplace') for v in pgwire.data_row(body)]}"
    if kind == b"T":
        return f"{name} {[(c[0], c[1], c[3]) for c in pgwire.row_description(body)]}"
    if kind == b"t":
        count = struct.unpack_from("!h", body)[0]
        return f"{name} {list(struct.unpack_from(f'!{count}i', body, 2))}"
    if kind in b"GH":
        count = struct.unpack_from("!h", body, 1)[0]
        return f"{name} {body[0]} {list(struct.unpack_from(f'!{count}h', body, 3))}"
    if kind == b"d":
        return f"{name} {body.decode('latin-1')!r}"
    if kind in b"SA":
        return f"{name} {body[4 if kind == b'A' else 0:].decode()!r}"
    return name


class Case:
    def __init__(self):
        self.head: list[str] = []
        self.sent: list[str] = []
        self.expected: list[str] | None = None


def parse(path: pathlib.Path) -> list[Case]:
    cases: list[Case] = []
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            if not cases or cases[-1].sent:
                cases.append(Case())
            cases[-1].head.append(line)
        elif line.startswith("> "):
            cases[-1].sent.append(line[2:])
        elif line == "----":
            cases[-1].expected = []
        elif line.startswith("< "):
            cases[-1].expected.append(line[2:])
        elif line.strip():
            raise SystemExit(f"{path.name}: what is this? {line}")
    return cases


def arguments(line: str) -> tuple[str, list]:
    name, _, rest = line.partition(" ")
    return name, list(ast.literal_eval(f"[{rest}]")) if rest else []


def run(connection: pgwire.Connection, case: Case) -> list[str]:
    out: list[str] = []
    pending = b""

    def wait(until: str) -> None:
        nonlocal pending
        connection.sock.sendall(pending)
        pending = b""
        while True:
            kind, body = connection.receive()
            out.append(show(kind, body))
            if BACKEND.get(kind) in (until, "ReadyForQuery"):
                return

    try:
        for line in case.sent:
            if line.startswith("wait"):
                wait(line[4:].strip() or "ReadyForQuery")
            else:
                pending += encode(*arguments(line))
        if pending:
            wait("ReadyForQuery")
    except (pgwire.ServerGone, OSError) as e:
        out.append(f"connection lost: {type(e).__name__}")
    return out


def run_file(connect, cases: list[Case]) -> list[list[str]]:
    connection = connect()
    answers = []
    for case in cases:
        answers.append(run(connection, case))
        if answers[-1] and answers[-1][-1].startswith("connection lost"):
            connection.sock.close()
            connection = connect()
    connection.close()
    return answers


def on_postgres(cases: list[Case], counter=itertools.count()) -> list[list[str]]:
    database = f"wire_{os.getpid()}_{next(counter)}"
    admin = pgwire.from_environment("postgres")
    version = admin.query("SELECT version()")[0][0] or ""
    if not version.startswith("PostgreSQL 15.") or "sqlite" in version.lower():
        raise SystemExit(f"this is not a PostgreSQL 15, so it cannot say what is right: {version}")
    admin.query(f"CREATE DATABASE {database} TEMPLATE template0")
    try:
        return run_file(lambda: pgwire.from_environment(database, client_encoding="UTF8"), cases)
    finally:
        admin.query(f"DROP DATABASE {database} WITH (FORCE)")
        admin.close()


def on_pgsqlite(cases: list[Case]) -> list[list[str]]:
    with server.Server() as s:
        return run_file(lambda: pgwire.Connection(s.dir, s.port, "postgres", "main", client_encoding="UTF8"), cases)


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--check", action="store_true")
    args.add_argument("--record", action="store_true")
    args.add_argument("--target", choices=["pgsqlite", "postgres"], default="pgsqlite")
    args.add_argument("files", nargs="*", type=pathlib.Path)
    a = args.parse_args()
    passed = failed = 0
    paths = sorted(a.files or HERE.glob("*.wire"))
    if not paths:
        raise SystemExit("no test files")
    for path in paths:
        cases = parse(path)
        answers = (on_postgres if a.record or a.target == "postgres" else on_pgsqlite)(cases)
        if a.record:
            blocks = []
            for case, got in zip(cases, answers):
                blocks.append("\n".join([*case.head, *(f"> {s}" for s in case.sent), "----", *(f"< {g}" for g in got)]))
            path.write_text("\n\n".join(blocks) + "\n")
            continue
        for case, got in zip(cases, answers):
            if got == case.expected:
                passed += 1
                continue
            failed += 1
            print(f"FAIL {path.name}: {case.head[-1]}")
            for line in difflib.ndiff(case.expected or ["(not recorded)"], got):
                if not line.startswith("?"):
                    print("  " + line)
    if not a.record:
        print(f"tests/wire: {len(paths)} files, {a.target}")
        print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
