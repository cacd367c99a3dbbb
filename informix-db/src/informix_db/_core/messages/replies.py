"""What a server answers to one group, collected until its EOT.

`consume` parses as many messages as have arrived. Messages that only some requests may get (rows, descriptions) must
have been announced by whoever waits for the reply: anything else means that both sides have lost each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Protocol

from ...errors import DatabaseError, ProtocolError
from ..capabilities import Layout
from ..errcodes import server_error
from ..types import decode as d
from ..types.codes import T
from ..wire import MAX_BODY, SHORT, Inbox, Incomplete, Reader
from .describe import Column, Description, parse_describe, parse_input_describe

TUPLE, EOT = 14, 12
#: Messages other than rows in one reply: far more than any request of this driver can cause.
MAX_MESSAGES = 100_000

_TUPLE = Struct(">hhi").unpack_from


class Sink(Protocol):
    """Takes the rows of a reply."""

    def consume(self, data: bytes, pos: int, end: int) -> int:
        """Take complete TUPLE messages from `pos` on; returns the position of the first that is not taken."""


@dataclass
class Done:
    """DONE: rows touched, and the serial value that the last INSERT generated (0 = none)."""

    warnings: int
    rows: int
    rowid: int
    serial: int


@dataclass
class FileRequest:
    """FILE: the server wants something of a client file (op 0 open, 1 close, 2 read, 3 write)."""

    op: int
    path: str = ""
    mode: int = 0
    chunk: int = 0
    amount: int = 0
    data: bytes = b""


@dataclass
class Reply:
    """One group's answer. What may come is set by the caller, what came by `consume`."""

    layout: Layout
    encoding: str
    sink: Sink | None = None
    #: describe, input, blob, routine or protocols: the message that this reply alone may hold.
    expect: str = ""
    expect_files: bool = False
    max_row_bytes: int = 0
    redescribe: Callable[[Description], None] | None = None

    dones: list[Done] = field(default_factory=list)
    description: Description | None = None
    inputs: tuple[Column, ...] | None = None
    error: DatabaseError | None = None
    estimated: tuple[int, int] | None = None
    serial8: int = 0
    transaction: int | None = None
    row_number: int | None = None
    row_bytes: int = 0
    rows: int = 0
    blob: list[bytes] = field(default_factory=list)
    blob_done: bool = False
    routine: tuple[bytes, int] | None = None
    values: list[Any] | None = None
    mask: bytes = b""
    file: FileRequest | None = None
    #: A write into a file whose chunks are still arriving; they collect in `blob`.
    writing: FileRequest | None = None
    exited: bool = False
    messages: int = 0
    file_bytes: int = 0

    def consume(self, inbox: Inbox) -> bool:
        """Parse what has arrived; True at EOT (or a FILE request, see `file`), Incomplete when more is needed."""
        data = inbox.data
        end = len(data)
        while True:
            pos = inbox.pos
            if end - pos < 2:
                raise Incomplete(2)
            code = SHORT.unpack_from(data, pos)[0]
            if code == TUPLE:
                self._rows(inbox, data, pos, end)
                continue
            if code == EOT:
                inbox.pos = pos + 2
                if self.writing is not None:
                    self.file, self.writing = self.writing, None
                    self.file.data = b"".join(self.blob)
                    self.blob = []
                return True
            if self.writing is not None and code != FILE_CHUNK:
                raise ProtocolError(f"message {code} inside a file write")
            self.messages += 1
            if self.messages > MAX_MESSAGES:
                raise ProtocolError(f"a reply of more than {MAX_MESSAGES} messages")
            parse = _PARSERS.get(code)
            if parse is None:
                raise ProtocolError(f"unknown message code {code} in a reply")
            reader = Reader(data, pos + 2, end, pos)
            parse(self, reader)
            inbox.pos = reader.pos
            if self.exited or self.file is not None:
                return True

    def _rows(self, inbox: Inbox, data: bytes, pos: int, end: int) -> None:
        if self.sink is None:
            raise ProtocolError("a row arrived that was not asked for")
        after = self.sink.consume(data, pos, end)
        self.row_bytes += after - pos
        inbox.pos = after
        if after > pos:
            self.rows += 1
        if self.max_row_bytes and self.row_bytes > self.max_row_bytes:
            raise ProtocolError(f"more than {self.max_row_bytes} bytes of rows in one reply")
        if end - after < 2:
            raise Incomplete(2)
        if SHORT.unpack_from(data, after)[0] != TUPLE:
            return
        if end - after < 8:
            raise Incomplete(8)
        size = tuple_size(data, after)
        if end - after < 8 + size + (size & 1):
            raise Incomplete(8 + size + (size & 1))
        if after == pos:
            raise ProtocolError("a row does not have the described length")


def tuple_size(data: bytes, pos: int) -> int:
    """Size of the TUPLE message's payload at `pos` (8 bytes must be there); ProtocolError when absurd."""
    size: int = _TUPLE(data, pos)[2]
    if not 0 <= size <= MAX_BODY:
        raise ProtocolError(f"a row of {size} bytes is outside 0 … {MAX_BODY}")
    return size


def _describe(reply: Reply, r: Reader) -> None:
    if reply.expect != "describe":
        raise ProtocolError("a DESCRIBE arrived that was not asked for")
    reply.description = parse_describe(r, reply.layout, reply.encoding)
    if reply.redescribe is not None:
        reply.redescribe(reply.description)


def _input(reply: Reply, r: Reader) -> None:
    if reply.expect != "input":
        raise ProtocolError("a description of parameters arrived that was not asked for")
    reply.inputs = parse_input_describe(r, reply.encoding)


_ERR = Struct(">hhi").unpack
_ERR_SHORT = Struct(">hhh").unpack


def _error(reply: Reply, r: Reader) -> None:
    if reply.layout.long_sql:
        sqlcode, isamcode, offset = _ERR(r.take(8))
    else:
        sqlcode, isamcode, offset = _ERR_SHORT(r.take(6))
    name = b"" if sqlcode == -368 else r.char()
    if sqlcode == 100:  # end of data, said as an error
        return
    if reply.error is None:  # the first one is the cause
        reply.error = server_error(sqlcode, isamcode, offset, name.decode(reply.encoding, "replace"))


_DONE = Struct(">hiii").unpack
_DONE_WIDE = Struct(">hqqi").unpack


def _done(reply: Reply, r: Reader) -> None:
    reply.dones.append(Done(*(_DONE_WIDE(r.take(22)) if reply.layout.wide_row_count else _DONE(r.take(14)))))


def _cost(reply: Reply, r: Reader) -> None:
    reply.estimated = r.integer(), r.integer()


def _xactstat(reply: Reply, r: Reader) -> None:
    reply.transaction = r.short()
    r.take(4)


def _insertdone(reply: Reply, r: Reader) -> None:
    serial8 = d.int8(r.take(10)) or 0
    reply.serial8 = r.long() or serial8


def _tupid(reply: Reply, r: Reader) -> None:
    reply.row_number = r.integer()


def _blob(reply: Reply, r: Reader) -> None:
    if reply.expect != "blob" or reply.blob_done:
        raise ProtocolError("a blob arrived that was not asked for")
    size = r.length("length of a blob chunk")
    if size:
        reply.blob.append(r.block(size))
    else:
        reply.blob_done = True


def _lodata(reply: Reply, r: Reader) -> None:
    """A piece of a large object: its length, then chunks that make it up; at the end one empty chunk or none."""
    if reply.expect not in ("lodata", "lowrite") or reply.blob_done:
        raise ProtocolError("a piece of a large object arrived that was not asked for")
    operation = r.short()
    if reply.expect == "lowrite":
        if operation != 2:
            raise ProtocolError("a piece of a large object arrived instead of the number of bytes that were written")
        reply.rows, reply.blob_done = r.long_length("number of bytes written into a large object"), True
        return
    left = r.long_length("length of a piece of a large object")
    r.want(left)
    if not left and r.short():
        r.pos -= 2
    parts = []
    while left:
        size = r.length("length of a chunk of a large object")
        if not 0 < size <= left:
            raise ProtocolError(f"a chunk of {size} bytes in {left} bytes of a large object")
        parts.append(r.block(size))
        left -= size
    reply.blob, reply.blob_done = parts, True


def _exit(reply: Reply, r: Reader) -> None:
    reply.exited = True


def _protocols(reply: Reply, r: Reader) -> None:
    if reply.expect != "protocols":
        raise ProtocolError("a capability answer arrived that was not asked for")
    size = r.length("length of the capability mask")
    if not 8 <= size <= 64:
        raise ProtocolError(f"a capability mask of {size} bytes")
    reply.mask = r.block(size)


def _routine(reply: Reply, r: Reader) -> None:
    if reply.expect != "routine":
        raise ProtocolError("a routine handle arrived that was not asked for")
    reply.routine = r.char(), r.integer()


def _fparam(reply: Reply, r: Reader) -> None:
    if reply.expect != "routine":
        raise ProtocolError("routine results arrived that were not asked for")
    reply.values = [_fparam_value(r, reply.encoding) for _ in range(r.length("number of routine results"))]


def _fparam_value(r: Reader, encoding: str) -> Any:
    """One result of a routine: as in BIND."""
    code = r.short() & 0xFF
    name = b""
    if code >= 18 and code not in (52, 53):
        r.char()
        name = r.char()
    indicator = r.short()
    precision = r.short()
    if indicator == -1:
        return None
    if code in _FPARAM_WIDTHS:
        return d.decoder_for(code)(r.block(_FPARAM_WIDTHS[code]))
    if code in (T.DECIMAL, T.MONEY, T.DATETIME, T.INTERVAL):
        raw = r.char()
        length = 0x20FF if code in (T.DECIMAL, T.MONEY) else precision & 0xFFFF
        return d.decoder_for(code, length)(raw)
    if code in (T.CHAR, T.NCHAR, T.VARCHAR, T.NVARCHAR):
        return r.char().decode(encoding)
    if code in (T.LVARCHAR, T.BOOLEAN, T.UDTVAR, T.UDTFIXED):
        raw = r.block(r.long_length("length of a routine result"))
        if code == T.BOOLEAN or name == b"boolean":
            return d.boolean(raw)
        return raw.decode(encoding) if code == T.LVARCHAR or name == b"lvarchar" else raw
    raise ProtocolError(f"a routine result of type {code} cannot be read")


_FPARAM_WIDTHS: dict[int, int] = {
    T.SMALLINT: 2,
    T.INTEGER: 4,
    T.SERIAL: 4,
    T.FLOAT: 8,
    T.SMALLFLOAT: 4,
    T.DATE: 4,
    T.INT8: 10,
    T.SERIAL8: 10,
    T.BIGINT: 8,
    T.BIGSERIAL: 8,
}


def _file(reply: Reply, r: Reader) -> None:
    if not reply.expect_files:
        raise ProtocolError("the server asked for a client file, which no statement here allows")
    request = FileRequest(r.short())
    if request.op == 0:
        request.path = r.char().decode(reply.encoding, "replace")
        request.mode = r.integer()
        r.take(8)
    elif request.op == 2:
        request.chunk, request.amount = r.length("chunk of a file read"), r.integer()
        # -1: all that is left
        if not request.chunk > 0 or not request.amount >= -1:
            raise ProtocolError("an absurd file read")
    elif request.op == 3:
        # Its chunks are messages of their own, so that what has been read is not read again when more arrives.
        reply.writing, reply.blob, reply.file_bytes = request, [], 0
        return
    elif request.op != 1:
        raise ProtocolError(f"unknown file operation {request.op}")
    if r.short() != EOT:
        raise ProtocolError("a file request is not ended")
    reply.file = request


def _file_chunk(reply: Reply, r: Reader) -> None:
    if reply.writing is None:
        raise ProtocolError("a piece of a file arrived outside of a file write")
    reply.messages = 0
    reply.blob.append(r.block(r.length("length of a file chunk")))
    reply.file_bytes += len(reply.blob[-1])
    if reply.file_bytes > MAX_BODY:
        raise ProtocolError(f"more than {MAX_BODY} bytes in one write into a file")


#: A piece of what the server writes into a file of the client.
FILE_CHUNK = 107

_PARSERS = {
    8: _describe,
    13: _error,
    15: _done,
    25: _tupid,
    39: _blob,
    55: _cost,
    56: _exit,
    94: _insertdone,
    97: _lodata,
    98: _file,
    99: _xactstat,
    101: _routine,
    103: _fparam,
    FILE_CHUNK: _file_chunk,
    125: _input,
    126: _protocols,
}
