"""Smart large objects through the server's file functions: the client's end of lotofile() and filetoblob().

The server "opens" a file on the client, and reads or writes it in chunks. Here that file is a stream in this process;
no path that the server names is ever opened.
"""

from __future__ import annotations

import io
from typing import IO

from .errors import OperationalError, ProgrammingError

READ_SENTINEL = "/tmp/_informix_db_blob"
WRITE_SENTINEL = "/tmp/_informix_db_blob_in"
PLACEHOLDER = "BLOB_PLACEHOLDER"


class Download:
    """Takes what the server writes: into a stream, or into memory (`content`)."""

    def __init__(self, into: IO[bytes] | None = None) -> None:
        self._memory = io.BytesIO() if into is None else None
        self._into: IO[bytes] = self._memory if self._memory is not None else into  # type: ignore[assignment]
        self.size = 0
        self.opened = False
        self.closed = False

    def open(self, path: str, mode: int) -> None:
        if self.opened:
            raise OperationalError("the server sent a second large object: select a single row")
        self.opened = True

    def read(self, amount: int) -> bytes:
        raise OperationalError("the server tried to read from a download")

    def write(self, data: bytes) -> None:
        if not self.opened or self.closed:
            raise OperationalError("the server wrote to a file that is not open")
        self._into.write(data)
        self.size += len(data)

    def close(self) -> None:
        self.closed = True

    @property
    def content(self) -> bytes:
        return self._memory.getvalue() if self._memory is not None else b""


class Upload:
    """Gives the server what it reads: from bytes or from a stream."""

    def __init__(self, content: bytes | IO[bytes]) -> None:
        self._from: IO[bytes] = io.BytesIO(content) if isinstance(content, (bytes, bytearray)) else content
        self.opened = False

    def open(self, path: str, mode: int) -> None:
        self.opened = True

    def read(self, amount: int) -> bytes:
        if not self.opened:
            raise OperationalError("the server read from a file that is not open")
        return self._from.read(amount)

    def write(self, data: bytes) -> None:
        raise OperationalError("the server tried to write to an upload")

    def close(self) -> None:
        pass


def quoted(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("'", "''") + "'"


def wrap_select(sql: str, sentinel: str) -> str:
    """`select COLUMN from …` → `select lotofile(COLUMN, 'sentinel', 'client') from …`."""
    words = sql.split(None, 1)
    if len(words) < 2 or words[0].lower() != "select":
        raise ProgrammingError("read_blob_column needs a SELECT of one column")
    start = sql.index(words[1], len(words[0]))
    stop = _find_from(sql, start)
    column = sql[start:stop].strip()
    if not column or stop == len(sql):
        raise ProgrammingError("read_blob_column needs a SELECT of one column FROM a table")
    return f"select lotofile({column}, {quoted(sentinel)}, 'client') {sql[stop:]}"


def _find_from(sql: str, pos: int) -> int:
    """Position of the FROM that belongs to the outermost SELECT; a comma before it means two columns."""
    depth = 0
    lower = sql.lower()
    while pos < len(sql):
        c = sql[pos]
        if c in "'\"":
            found = sql.find(c, pos + 1)
            pos = len(sql) if found < 0 else found + 1
            continue
        if c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
        elif depth == 0:
            if c == ",":
                raise ProgrammingError("read_blob_column needs a SELECT of a single column")
            if lower.startswith("from", pos) and not _word(sql, pos - 1) and not _word(sql, pos + 4):
                return pos
        pos += 1
    return len(sql)


def _word(sql: str, pos: int) -> bool:
    return 0 <= pos < len(sql) and (sql[pos].isalnum() or sql[pos] in "_$")


def place(sql: str, sentinel: str, *, clob: bool) -> str:
    """Put filetoblob() or filetoclob() where the statement says BLOB_PLACEHOLDER."""
    if sql.count(PLACEHOLDER) != 1:
        raise ProgrammingError(f"write_blob_column needs exactly one {PLACEHOLDER} in the statement")
    function = "filetoclob" if clob else "filetoblob"
    return sql.replace(PLACEHOLDER, f"{function}({quoted(sentinel)}, 'client')")
