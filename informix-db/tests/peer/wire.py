"""What the test server sends: values in row form, descriptions, rows, errors, the login answer."""

from __future__ import annotations

import datetime as dt
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MASK = bytes.fromhex("bdbe9ffe7fb7ffefff")


@dataclass
class Col:
    """A described column; `encode` turns a Python value into its bytes in a tuple (default: by type)."""

    name: str
    type: int
    length: int
    xid: int = 0
    ext: str = ""
    flags: int = 0
    encode: Callable[[Any], bytes] | None = None


@dataclass
class Result:
    """Rows of a SELECT (columns given), or the count of a DML."""

    columns: list[Col] = field(default_factory=list)
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    count: int = 0
    serial: int = 0
    kind: int = 2


def read_to_end(sock: socket.socket) -> None:
    """Ends our side and reads on until the other side ends, too; a reset is an end as well. Errors: TimeoutError."""
    try:
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65536):
            pass
    except TimeoutError:
        raise
    except OSError:
        pass


class SqlError(Exception):
    def __init__(self, sqlcode: int, isam: int = 0, name: str = "", offset: int = 0) -> None:
        self.sqlcode, self.isam, self.name, self.offset = sqlcode, isam, name, offset


def pad(raw: bytes) -> bytes:
    return raw + b"\0" * (len(raw) & 1)


def char(raw: bytes) -> bytes:
    return struct.pack(">h", len(raw)) + pad(raw)


def encode_value(col: Col, value: Any) -> bytes:
    """A value in tuple form, for the types that tests use without giving bytes themselves."""
    if col.encode is not None:
        return col.encode(value)
    t = col.type
    if isinstance(value, (bytes, bytearray)) and t not in (11, 12):
        return bytes(value)  # already in tuple form
    if t == 1:
        return struct.pack(">h", -0x8000 if value is None else value)
    if t in (2, 6):
        return struct.pack(">i", -0x80000000 if value is None else value)
    if t in (52, 53):
        return struct.pack(">q", -(1 << 63) if value is None else value)
    if t == 3:
        return b"\xff" * 8 if value is None else struct.pack(">d", value)
    if t == 7:
        return struct.pack(">i", -0x80000000 if value is None else (value - dt.date(1899, 12, 31)).days)
    if t in (13, 16):
        if value is None:
            return b"\1\0"
        value = str(value)
        raw = value.encode("utf-8" if any(ord(c) > 255 for c in value) else "latin-1")
        return bytes([len(raw)]) + raw
    if t in (0, 15):
        return b"\0".ljust(col.length) if value is None else value.encode("latin-1").ljust(col.length)
    if t in (40, 43) or (t == 41 and col.ext == "lvarchar"):
        raw = b"" if value is None else value.encode("latin-1")
        return struct.pack(">bi", value is None, len(raw)) + raw
    if t in (41, 45):
        return b"\1\0\0\0\0" if value is None else b"\0\0\0\0\1" + (b"t" if value else b"f")
    if t in (11, 12):
        descriptor = bytearray(56)
        if value is None:
            descriptor[39] = 1
        else:
            descriptor[16:20] = struct.pack(">i", len(value))
        return bytes(descriptor)
    raise AssertionError(f"the test server cannot encode type {t}")


def describe(kind: int, sid: int, columns: list[Col]) -> bytes:
    names = b""
    body = b""
    for c in columns:
        body += struct.pack(">iiHi", len(names), 0, c.type | c.flags, c.xid) + char(b"") + char(c.ext.encode())
        body += struct.pack(">hhii", 0, 0, 0, c.length)
        names += c.name.encode() + b"\0"
    head = struct.pack(">hhhihhi", 8, kind, sid, 1, 0, len(columns), len(names))
    return head + body + pad(names)


def done(rows: int = 0, serial: int = 0, warn: int = 0) -> bytes:
    return struct.pack(">hhiii", 15, warn, rows, 0, serial)


COST = struct.pack(">hii", 55, 1, 1)
EOT = b"\0\x0c"


def err(e: SqlError) -> bytes:
    return struct.pack(">hhhi", 13, e.sqlcode, e.isam, e.offset) + char(e.name.encode())


def tuple_message(row: bytes) -> bytes:
    return struct.pack(">hhi", 14, 0, len(row)) + pad(row)


def accept_packet(
    version: str = "IBM Informix Dynamic Server Version 14.10.FC7W1", kind: int = 2, service: int = 0, message: str = ""
) -> bytes:
    def asc(s: str) -> bytes:
        return struct.pack(">h", len(s) + 1) + s.encode() + b"\0"

    body = struct.pack(">hhi", 100, 101, 61) + asc("IEEEI") + struct.pack(">h", 108) + b"srvinfx".ljust(12, b"\0")
    body += asc(version) + asc("AAA#B000000") + asc("sqli") + struct.pack(">iiihhh", 316, 0, 0, 1, 0, 0)
    body += b"ol".ljust(8, b"\0") + struct.pack(">i", 61) + b"tlitcp\0\0" + struct.pack(">i", 1)
    body += struct.pack(">h", 102) + bytes(6) + struct.pack(">hhh", service, 0, 0)
    body += struct.pack(">h", 1) + struct.pack(">h", 0) + char(message.encode()) if message else struct.pack(">h", 0)
    body += struct.pack(">h", 127)
    return struct.pack(">hBBh", len(body) + 6, kind, 60, 0x1000) + body
