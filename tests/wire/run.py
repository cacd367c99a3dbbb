#!/usr/bin/env python3
"""Exchanges of messages: what a client sends, and what PostgreSQL 15 answers, message by message.

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
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import pgwire  # noqa: E402
import server  # noqa: E402

TYPES = {
    int(oid): name
    for oid, name in (line.split()[:2] for line in (HERE.parent / "sql" / "pg_types.txt").read_text().splitlines() if line)
}
# Silence after which a recorded answer is taken to be complete, and the longest a checked one is waited for.
SILENCE, PATIENCE = 0.4, 30


# --- messages of the client ------------------------------------------------------------------------------------------------


def text(value: str | bytes) -> bytes:
    return (value if isinstance(value, bytes) else value.encode()) + b"\0"


def numbers(code: str, values: list[int]) -> bytes:
    return struct.pack(f"!h{len(values)}{code}", len(values), *values)


def message(kind: str, body: bytes) -> bytes:
    return kind.encode() + struct.pack("!i", len(body) + 4) + body


def bind(portal="", statement="", values=(), formats=(), results=()) -> bytes:
    body = text(portal) + text(statement) + numbers("h", list(formats)) + struct.pack("!h", len(values))
    for value in values:
        if value is None:
            body += struct.pack("!i", -1)
        else:
            data = value if isinstance(value, bytes) else value.encode()
            body += struct.pack("!i", len(data)) + data
    return message("B", body + numbers("h", list(results)))


def function_call(function: int, values=(), formats=(), result=0) -> bytes:
    body = struct.pack("!I", function) + numbers("h", list(formats)) + struct.pack("!h", len(values))
    for value in values:
        data = None if value is None else value if isinstance(value, bytes) else value.encode()
        body += struct.pack("!i", -1) if data is None else struct.pack("!i", len(data)) + data
    return message("F", body + struct.pack("!h", result))


CLIENT = {
    "Query": lambda sql: message("Q", text(sql)),
    "Parse": lambda name, sql, types=(): message("P", text(name) + text(sql) + numbers("i", list(types))),
    "Bind": bind,
    "DescribeStatement": lambda name="": message("D", b"S" + text(name)),
    "DescribePortal": lambda name="": message("D", b"P" + text(name)),
    "Execute": lambda portal="", rows=0: message("E", text(portal) + struct.pack("!i", rows)),
    "CloseStatement": lambda name="": message("C", b"S" + text(name)),
    "ClosePortal": lambda name="": message("C", b"P" + text(name)),
    "Sync": lambda: message("S", b""),
    "Flush": lambda: message("H", b""),
    "FunctionCall": function_call,
    "CopyData": lambda data: message("d", data if isinstance(data, bytes) else data.encode()),
    "CopyDone": lambda: message("c", b""),
    "CopyFail": lambda reason: message("f", text(reason)),
    "Terminate": lambda: message("X", b""),
    "Raw": lambda data: data,
}


def client_message(source: str) -> bytes:
    """`Parse("s", "SELECT 1", types=[23])` → bytes."""
    call = ast.parse(source, mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise SystemExit(f"not a message: {source}")
    positional = [ast.literal_eval(a) for a in call.args]
    named = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
    return CLIENT[call.func.id](*positional, **named)


def with_function(source: str, connect) -> str:
    """`FunctionCall("f(int)", …)` → with the function's OID, which differs from server to server."""
    found = re.match(r'FunctionCall\("([^"]+)"', source)
    if not found:
        return source
    connection = connect()
    ((oid,),) = connection.query(f"SELECT '{found[1]}'::regprocedure::oid")
    connection.close()
    return source.replace(f'"{found[1]}"', oid, 1)


# --- messages of the server ------------------------------------------------------------------------------------------------

PLAIN = {
    b"1": "ParseComplete",
    b"2": "BindComplete",
    b"3": "CloseComplete",
    b"n": "NoData",
    b"s": "PortalSuspended",
    b"I": "EmptyQueryResponse",
    b"c": "CopyDone",
}
FIELDS = {"D": "detail", "H": "hint", "P": "position", "s": "schema", "t": "table", "c": "column", "d": "type", "n": "constraint", "W": "context"}


def quoted(value: bytes | None) -> str:
    return "NULL" if value is None else repr(value.decode("latin-1"))


def type_name(oid: int) -> str:
    return TYPES.get(oid, "user" if oid >= 16384 else str(oid))


def shown(kind: bytes, body: bytes) -> str:
    """A message on one line, without what differs from run to run (OIDs of tables, process numbers)."""
    if kind in PLAIN:
        return PLAIN[kind]
    if kind == b"Z":
        return f"ReadyForQuery {body.decode()}"
    if kind == b"C":
        return f"CommandComplete {body[:-1].decode()}"
    if kind == b"D":
        return "DataRow " + ", ".join(quoted(v) for v in pgwire.data_row(body))
    if kind == b"d":
        return "CopyData " + quoted(body)
    if kind == b"V":
        return "FunctionCallResponse " + quoted(None if body[:4] == b"\xff\xff\xff\xff" else body[4:])
    if kind in (b"G", b"H"):
        overall, count = struct.unpack_from("!bh", body)
        formats = struct.unpack_from(f"!{count}h", body, 3)
        return f"{'CopyInResponse' if kind == b'G' else 'CopyOutResponse'} {overall} {list(formats)}"
    if kind == b"t":
        (count,) = struct.unpack_from("!h", body)
        return "ParameterDescription " + ", ".join(type_name(o) for o in struct.unpack_from(f"!{count}I", body, 2))
    if kind == b"T":
        (count,) = struct.unpack_from("!h", body)
        at, columns = 2, []
        for _ in range(count):
            end = body.index(b"\0", at)
            name = body[at:end].decode(errors="backslashreplace")
            table, attnum, oid, size, typmod, fmt = struct.unpack_from("!IhIhih", body, end + 1)
            at = end + 19
            origin = f" column {attnum}" if table else ""
            columns.append(f"{name}: {type_name(oid)} size {size} typmod {typmod} {('text', 'binary')[fmt]}{origin}")
        return "RowDescription " + "; ".join(columns)
    if kind in (b"E", b"N"):
        fields = pgwire.fields_of(body)
        more = "".join(f" [{name}: {fields[code]}]" for code, name in FIELDS.items() if code in fields)
        name = "ErrorResponse" if kind == b"E" else "NoticeResponse"
        return f"{name} {fields.get('V')} {fields.get('C')} {fields.get('M')}{more}".replace("\n", "\\n")
    if kind == b"S":
        name, value = body[:-1].decode().split("\0")
        return f"ParameterStatus {name} = {value}"
    if kind == b"A":
        channel, payload = body[4:-1].decode().split("\0")
        return f"NotificationResponse {channel} {payload!r}"
    return f"{kind!r} {body!r}"


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
            sent += client_message(with_function(lines[at][1:].strip(), connect))
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
    for path in options.files or sorted(HERE.glob("*.wire")):
        if options.target == "postgres":
            database, admin = f"wire_{os.getpid()}", pgwire.from_environment("postgres")
            version = admin.query("SELECT version()")[0][0] or ""
            if not version.startswith("PostgreSQL 15.") or "sqlite" in version.lower():
                raise SystemExit(f"this is not a PostgreSQL 15, so it cannot say what is right: {version}")
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
