"""A small client of the PostgreSQL wire protocol (version 3), for tests only.

Drivers hide what tests must see: the field a message carries, the order of messages, the state after each
statement. So this client hands every backend message on as `(type byte, body)` and interprets nothing but what it
needs to keep going (startup, COPY IN, ReadyForQuery). Standard library only.
"""

from __future__ import annotations

import os
import socket
import struct


class ServerGone(Exception):
    """The connection ended before the server said ReadyForQuery."""


class StartupError(Exception):
    """The server refused the connection; `fields` is its ErrorResponse."""

    def __init__(self, fields: dict[str, str]):
        super().__init__(f"{fields.get('C')} {fields.get('M')}")
        self.fields = fields


def fields_of(body: bytes) -> dict[str, str]:
    """The fields of an ErrorResponse or NoticeResponse by their one-letter code."""
    out = {}
    for part in body.rstrip(b"\0").split(b"\0"):
        if part:
            out[chr(part[0])] = part[1:].decode("utf-8", "backslashreplace")
    return out


class Connection:
    """One session. `host` is a socket folder (starts with a slash) or an address."""

    def __init__(self, host: str, port: int, user: str, database: str, timeout: float = 30, **settings: str):
        if host.startswith("/"):
            self.sock = socket.socket(socket.AF_UNIX)
            address: object = f"{host}/.s.PGSQL.{port}"
        else:
            self.sock = socket.socket(socket.AF_INET)
            address = (host, port)
        self.sock.settimeout(timeout)
        self.sock.connect(address)
        self.buffer = bytearray()
        self.status = "I"
        self.parameters: dict[str, str] = {}
        self.key = b""
        body = struct.pack("!i", 196608)
        for key, value in {"user": user, "database": database, **settings}.items():
            body += key.encode() + b"\0" + value.encode("utf-8", "surrogateescape") + b"\0"
        body += b"\0"
        self.sock.sendall(struct.pack("!i", len(body) + 4) + body)
        while True:
            kind, body = self.receive()
            if kind == b"R" and struct.unpack("!i", body[:4])[0] != 0:
                raise StartupError({"C": "client", "M": "the test client only knows trust authentication"})
            if kind == b"S":
                key, value = body[:-1].split(b"\0")
                self.parameters[key.decode()] = value.decode()
            if kind == b"K":
                self.key = body
            if kind == b"E":
                raise StartupError(fields_of(body))
            if kind == b"Z":
                return

    def close(self) -> None:
        try:
            self.sock.sendall(b"X\0\0\0\4")
        except OSError:
            pass
        self.sock.close()

    def cancel(self) -> None:
        """Asks the server to cancel what the session runs; returns when the request is taken."""
        with socket.socket(self.sock.family) as s:
            s.settimeout(self.sock.gettimeout())
            s.connect(self.sock.getpeername())
            s.sendall(struct.pack("!ii", 16, 80877102) + self.key)
            s.recv(1)

    def send(self, kind: bytes, body: bytes) -> None:
        self.sock.sendall(kind + struct.pack("!i", len(body) + 4) + body)

    def receive(self) -> tuple[bytes, bytes]:
        """The next backend message."""
        while len(self.buffer) < 5 or len(self.buffer) < 1 + struct.unpack_from("!i", self.buffer, 1)[0]:
            try:
                chunk = self.sock.recv(65536)
            except ConnectionError as e:
                raise ServerGone(str(e)) from e
            if not chunk:
                raise ServerGone("the server closed the connection")
            self.buffer += chunk
        size = 1 + struct.unpack_from("!i", self.buffer, 1)[0]
        kind, body = bytes(self.buffer[:1]), bytes(self.buffer[5:size])
        del self.buffer[:size]
        if kind == b"Z":
            self.status = body.decode()
        return kind, body

    def until_ready(self, copy_data: bytes = b"") -> list[tuple[bytes, bytes]]:
        """All messages up to ReadyForQuery; answers CopyInResponse with `copy_data`."""
        messages: list[tuple[bytes, bytes]] = []
        while True:
            try:
                kind, body = self.receive()
            except ServerGone as e:
                # what the server said last
                last = [fields_of(b) for k, b in messages if k == b"E"][-1:]
                raise ServerGone(*[f"{f.get('C')} {f.get('M')}" for f in last] or e.args) from e
            messages.append((kind, body))
            if kind == b"G":
                if copy_data:
                    self.send(b"d", copy_data)
                self.send(b"c", b"")
            if kind == b"Z":
                return messages

    def simple(self, sql: str, copy_data: bytes = b"") -> list[tuple[bytes, bytes]]:
        self.send(b"Q", sql.encode() + b"\0")
        return self.until_ready(copy_data)

    def extended(
        self,
        sql: str,
        params: list[bytes | None] = (),
        types: list[int] = (),
        param_format: int = 0,
        result_format: int = 0,
        describe_statement: bool = False,
    ) -> list[tuple[bytes, bytes]]:
        """Parse, Bind, Describe, Execute, Sync of the unnamed statement, pipelined in one write."""
        out = bytearray()

        def add(kind: bytes, body: bytes) -> None:
            out.extend(kind + struct.pack("!i", len(body) + 4) + body)

        add(b"P", b"\0" + sql.encode() + b"\0" + struct.pack(f"!h{len(types)}i", len(types), *types))
        if describe_statement:
            add(b"D", b"S\0")
        bind = b"\0\0" + struct.pack("!hhH", 1, param_format, len(params))
        for p in params:
            bind += struct.pack("!i", -1) if p is None else struct.pack("!i", len(p)) + p
        add(b"B", bind + struct.pack("!hh", 1, result_format))
        add(b"D", b"P\0")
        add(b"E", b"\0" + struct.pack("!i", 0))
        add(b"S", b"")
        self.sock.sendall(out)
        return self.until_ready()

    def query(self, sql: str) -> list[list[str | None]]:
        """Rows of a simple query in text; an error is raised as RuntimeError."""
        rows = []
        for kind, body in self.simple(sql):
            if kind == b"D":
                rows.append([None if v is None else v.decode() for v in data_row(body)])
            elif kind == b"E":
                f = fields_of(body)
                raise RuntimeError(f"{f.get('C')} {f.get('M')}")
        return rows


def data_row(body: bytes) -> list[bytes | None]:
    """The values of a DataRow."""
    (count,) = struct.unpack_from("!h", body)
    at, values = 2, []
    for _ in range(count):
        (size,) = struct.unpack_from("!i", body, at)
        at += 4
        if size < 0:
            values.append(None)
        else:
            values.append(body[at : at + size])
            at += size
    return values


def row_description(body: bytes) -> list[tuple[str, int, int, int]]:
    """`(name, type OID, type modifier, format)` of each column."""
    (count,) = struct.unpack_from("!h", body)
    at, columns = 2, []
    for _ in range(count):
        end = body.index(b"\0", at)
        name = body[at:end].decode()
        _table, _attnum, oid, _size, typmod, fmt = struct.unpack_from("!ihihih", body, end + 1)
        columns.append((name, oid & 0xFFFFFFFF, typmod, fmt))
        at = end + 19
    return columns


def from_environment(database: str, **settings: str) -> Connection:
    """A session with the server that PGHOST, PGPORT and PGUSER name."""
    return Connection(
        os.environ["PGHOST"], int(os.environ.get("PGPORT", "5432")), os.environ.get("PGUSER", "postgres"), database, **settings
    )
