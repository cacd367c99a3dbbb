"""Messages of the wire protocol: those of a client as bytes, those of a server as lines of text."""

from __future__ import annotations

import pathlib
import struct

import pgwire

HERE = pathlib.Path(__file__).resolve().parent

TYPES = {
    int(oid): name
    for oid, name in (line.split()[:2] for line in (HERE.parent / "sql" / "pg_types.txt").read_text().splitlines() if line)
}


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
