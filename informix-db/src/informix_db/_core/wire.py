"""The smallest pieces of SQLI: integers, padded strings, and the buffer of what has arrived.

All integers are big-endian and signed. A reader never blocks: when bytes are missing it raises `Incomplete`, and the
message is parsed again from its beginning once more bytes are there (messages are small and bounded; rows, which are
not small, say how many bytes they need).
"""

from __future__ import annotations

from struct import Struct

from ..errors import ProtocolError

SHORT = Struct(">h")
INT = Struct(">i")
LONG = Struct(">q")

#: Longest body with an int length (a row, an LVARCHAR) that is accepted; a longer claim is a protocol error.
MAX_BODY = 64 << 20


class Incomplete(Exception):
    """More input is needed; `needed` is the number of bytes from the start of the message, as far as known."""

    def __init__(self, needed: int = 0) -> None:
        super().__init__(needed)
        self.needed = needed


class Inbox:
    """Bytes received and not yet consumed: `data[pos:]`."""

    __slots__ = ("data", "pos")

    def __init__(self) -> None:
        self.data = b""
        self.pos = 0

    def feed(self, chunk: bytes) -> None:
        """Append what arrived, dropping what has been consumed."""
        if self.pos == len(self.data):
            self.data = chunk
        else:
            self.data = self.data[self.pos :] + chunk
        self.pos = 0

    def pending(self) -> int:
        """Number of bytes not yet consumed."""
        return len(self.data) - self.pos


class Reader:
    """Reads one message from `data`, starting at `pos`. `Incomplete` counts from `start`, where the message begins."""

    __slots__ = ("data", "end", "pos", "start")

    def __init__(self, data: bytes, pos: int = 0, end: int | None = None, start: int | None = None) -> None:
        self.data = data
        self.pos = pos
        self.end = len(data) if end is None else end
        self.start = pos if start is None else start

    def want(self, n: int) -> None:
        """Makes sure that the next `n` bytes are there, so that they are waited for at once."""
        if self.pos + n > self.end:
            raise Incomplete(self.pos + n - self.start)

    def take(self, n: int) -> bytes:
        """The next `n` bytes."""
        stop = self.pos + n
        if stop > self.end:
            raise Incomplete(stop - self.start)
        part = self.data[self.pos : stop]
        self.pos = stop
        return part

    def byte(self) -> int:
        return self.take(1)[0]

    def short(self) -> int:
        pos, stop = self.pos, self.pos + 2
        if stop > self.end:
            raise Incomplete(stop - self.start)
        self.pos = stop
        return SHORT.unpack_from(self.data, pos)[0]  # type: ignore[no-any-return]

    def integer(self) -> int:
        pos, stop = self.pos, self.pos + 4
        if stop > self.end:
            raise Incomplete(stop - self.start)
        self.pos = stop
        return INT.unpack_from(self.data, pos)[0]  # type: ignore[no-any-return]

    def long(self) -> int:
        return int(LONG.unpack(self.take(8))[0])

    def length(self, what: str) -> int:
        """A short that counts something: negative is malformed."""
        n = self.short()
        if n < 0:
            raise ProtocolError(f"{what} is negative ({n})")
        return n

    def long_length(self, what: str, limit: int = MAX_BODY) -> int:
        """An int that counts bytes: negative or above `limit` is malformed."""
        n = self.integer()
        if not 0 <= n <= limit:
            raise ProtocolError(f"{what} of {n} bytes is outside 0 … {limit}")
        return n

    def block(self, n: int) -> bytes:
        """`n` bytes and the pad byte that follows an odd number of them."""
        part = self.take(n)
        if n & 1:
            self.take(1)
        return part

    def char(self) -> bytes:
        """CHAR: short length, bytes, pad."""
        return self.block(self.length("length of a string"))

    def char4(self) -> bytes:
        """CHAR4: int length, bytes, pad."""
        return self.block(self.long_length("length of a string"))

    def asc(self) -> bytes:
        """A string of the login packet: short length including the closing NUL, never padded."""
        n = self.length("length of a login string")
        return self.take(n)[:-1] if n else b""


def char(text: bytes) -> bytes:
    """CHAR: short length, bytes, pad to even."""
    n = len(text)
    if n > 32767:
        raise ProtocolError(f"a string of {n} bytes does not fit a 16-bit length")
    return SHORT.pack(n) + text + (b"\0" if n & 1 else b"")


def char4(text: bytes) -> bytes:
    """CHAR4: int length, bytes, pad to even."""
    return INT.pack(len(text)) + text + (b"\0" if len(text) & 1 else b"")


def asc(text: bytes) -> bytes:
    """A string of the login packet: short length including the closing NUL, never padded."""
    return SHORT.pack(len(text) + 1) + text + b"\0"
