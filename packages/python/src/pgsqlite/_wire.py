"""As much of PostgreSQL's protocol as starting tests takes: a session, and statements without parameters.

Source: the chapter "Frontend/Backend Protocol" of PostgreSQL's manual.
"""

from __future__ import annotations

import socket
import struct


class DatabaseError(Exception):
    """An error that the server reports. `sqlstate` is its code."""

    def __init__(self, fields: dict[str, str]):
        super().__init__(fields.get("M", "an error without a message"))
        self.sqlstate = fields.get("C", "")


class Session:
    """A connection, held until it is closed."""

    def __init__(self, path: str, user: str, database: str, **options: str):
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(60)
            self._socket.connect(path)
            self._input = self._socket.makefile("rb")
            words = {"user": user, "database": database, **options}
            body = b"".join(part.encode() + b"\0" for pair in words.items() for part in pair) + b"\0"
            self._socket.sendall(struct.pack("!II", len(body) + 8, 196608) + body)
            self._answer()
        except BaseException:
            self._socket.close()
            raise

    def execute(self, statements: str) -> list[list[str | None]]:
        """Runs statements, and returns the rows of them all, as texts."""
        body = statements.encode() + b"\0"
        self._socket.settimeout(None)
        self._socket.sendall(b"Q" + struct.pack("!I", len(body) + 4) + body)
        return self._answer()

    def close(self) -> None:
        """Ends the session, and waits until the server has ended it."""
        try:
            self._socket.settimeout(5)
            self._socket.sendall(b"X\0\0\0\4")
            while self._socket.recv(4096):
                pass
        except OSError:
            pass
        self._input.close()
        self._socket.close()

    def _answer(self) -> list[list[str | None]]:
        """Reads until the server is ready."""
        rows: list[list[str | None]] = []
        error: DatabaseError | None = None
        while True:
            head = self._input.read(5)
            if len(head) < 5:
                raise error or ConnectionError("the server has closed the connection")
            kind, length = struct.unpack("!cI", head)
            body = self._input.read(length - 4)
            if kind == b"Z":
                if error:
                    raise error
                return rows
            if kind == b"E":
                parts = body.rstrip(b"\0").split(b"\0")
                error = error or DatabaseError({part[:1].decode(): part[1:].decode() for part in parts})
            elif kind == b"D":
                rows.append(_values(body))
            elif kind == b"R" and body != b"\0\0\0\0":
                raise ConnectionError("the server asks for a password, which this client does not know")


def _values(body: bytes) -> list[str | None]:
    (count,), at, values = struct.unpack_from("!H", body), 2, []
    for _ in range(count):
        (length,) = struct.unpack_from("!i", body, at)
        at += 4
        values.append(None if length < 0 else body[at : at + length].decode())
        at += max(length, 0)
    return values
