"""The messages a client sends. Each function returns bytes; a group is messages ended by EOT."""

from __future__ import annotations

import functools
from struct import Struct

from ...errors import DataError
from ..wire import INT, SHORT, char, char4

EOT = b"\0\x0c"
EXIT = b"\0\x38"
BEGIN = b"\0\x23\0\x0c"
COMMIT = b"\0\x13\0\x0c"
ROLLBACK = b"\0\x14\0\0\0\x0c"
#: NDESCRIBE, WANTDONE.
DESCRIBE = b"\0\x16\0\x31"
OPEN = b"\0\x06"
EXECUTE = b"\0\x07"
CLOSE = b"\0\x0a"
RELEASE = b"\0\x0b"
SCROLL = b"\0\x18"
HOLD = b"\0\x2b"
INPUT_DESCRIBE = b"\0\x7c"

_ID = Struct(">hh").pack
_NFETCH = Struct(">hih").pack
_LODATA = Struct(">hhhih").pack
_SFETCH = Struct(">hhii").pack
_PUT = Struct(">hih").pack

#: Kinds of SFETCH. Only these two are used: the others are relative to a position that the client knows anyway.
FETCH_LAST, FETCH_ABSOLUTE = 4, 6


def select_id(statement_id: int) -> bytes:
    """ID: the statement that the following messages of the group are about."""
    return _ID(4, statement_id)


def prepare(sql: bytes, parameters: int, *, long_sql: bool) -> bytes:
    """Group: PREPARE, describe it."""
    if parameters > 32767:
        raise DataError(f"{parameters} parameters; a statement holds at most 32767")
    text = char4(sql) if long_sql else char(sql)
    return SHORT.pack(2) + SHORT.pack(parameters) + text + DESCRIBE + EOT


def cursor_name(name: bytes) -> bytes:
    return SHORT.pack(3) + char(name)


def nfetch(buffer: int) -> bytes:
    return _NFETCH(9, buffer, 0)


def sfetch(kind: int, row: int, buffer: int) -> bytes:
    return _SFETCH(23, kind, row, buffer)


def put(row: bytes) -> bytes:
    """One row of an insert cursor, in row form."""
    return _PUT(17, len(row), 1) + row + (b"\0" if len(row) & 1 else b"")


def ret_type_put(columns: list[tuple[int, str, str, int]]) -> bytes:
    """RET_TYPE for the rows of PUT: (type, owner, name, encoded length) of each column."""
    parts = [SHORT.pack(100), SHORT.pack(0), SHORT.pack(len(columns))]
    for code, owner, name, length in columns:
        parts.append(SHORT.pack(code))
        if code >= 18 and code not in (52, 53):
            parts += [char(owner.encode()), char(name.encode())]
        parts.append(INT.pack(length))
    return b"".join(parts)


def close_group(statement_id: int) -> bytes:
    """Group: close the cursor."""
    return select_id(statement_id) + CLOSE + EOT


def release_group(statement_id: int) -> bytes:
    """Group: forget the statement."""
    return select_id(statement_id) + RELEASE + EOT


def protocols(offer: bytes) -> bytes:
    """Group: the capability offer."""
    return SHORT.pack(126) + SHORT.pack(len(offer)) + offer + (b"\0" if len(offer) & 1 else b"") + EOT


def info(environment: dict[str, str]) -> bytes:
    """Group: INFO. Its length counts the two maxima, the entries and the first trailing short."""
    return _info(tuple(environment.items()))


@functools.lru_cache(maxsize=8)
def _info(environment: tuple[tuple[str, str], ...]) -> bytes:
    entries = [(k.encode(), v.encode()) for k, v in environment]
    # Lengths as they stand in the message: padded to even.
    names, values = [len(k) + (len(k) & 1) for k, _ in entries], [len(v) + (len(v) & 1) for _, v in entries]
    length = 6 + 4 * len(entries) + sum(names) + sum(values)
    head = [SHORT.pack(n) for n in (81, 6, length, max(names), max(values))]
    return b"".join(head) + b"".join(char(k) + char(v) for k, v in entries) + bytes(4) + EOT


def open_database(name: bytes, *, exclusive: bool = False) -> bytes:
    """Group: DBOPEN."""
    return SHORT.pack(36) + char(name) + SHORT.pack(int(exclusive)) + EOT


def savepoint(name: bytes) -> bytes:
    return SHORT.pack(137) + char(name) + SHORT.pack(0) + EOT


def release_savepoint(name: bytes) -> bytes:
    return SHORT.pack(138) + char(name) + EOT


def rollback_to_savepoint(name: bytes) -> bytes:
    return SHORT.pack(139) + char(name) + EOT


def fetch_blob(statement_id: int, descriptor: bytes) -> bytes:
    """Group: the content of one BYTE or TEXT value of an open cursor."""
    return select_id(statement_id) + SHORT.pack(38) + descriptor + EOT


def get_routine(signature: bytes) -> bytes:
    """Group: look a routine up for the fast path."""
    return SHORT.pack(101) + b"\0" + char4(signature) + SHORT.pack(0) + EOT


def execute_routine(database: bytes, handle: int, count: int, bind: bytes) -> bytes:
    """Group: call a routine found by `get_routine`."""
    return SHORT.pack(102) + char(database) + INT.pack(handle) + SHORT.pack(count) + SHORT.pack(0) + bind + EOT


def read_large_object(descriptor: int, length: int) -> bytes:
    """Group: LODATA, a piece of an open BLOB or CLOB from where it stands."""
    return _LODATA(97, 0, descriptor, length, 32000) + EOT


def write_large_object(descriptor: int, content: bytes) -> bytes:
    """Group: LODATA, bytes into an open BLOB or CLOB from where it stands."""
    chunks = b"".join(char(content[at : at + 32000]) for at in range(0, len(content), 32000))
    return _LODATA(97, 2, descriptor, len(content), 32000) + chunks + EOT


# Answers to the server's FILE requests.


def file_written(total: int) -> bytes:
    return SHORT.pack(107) + INT.pack(total) + EOT


def file_content(content: bytes, chunk: int) -> bytes:
    parts = [SHORT.pack(106), INT.pack(len(content))]
    for start in range(0, len(content), chunk):
        piece = content[start : start + chunk]
        parts.append(SHORT.pack(106) + SHORT.pack(len(piece)) + piece + (b"\0" if len(piece) & 1 else b""))
    return b"".join(parts) + EOT
