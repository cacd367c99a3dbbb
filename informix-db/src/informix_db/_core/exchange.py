"""Requests and their answers: the lowest layer of a session.

Every operation is a generator. It yields bytes to be written, or None when it needs input, and is resumed with what
was received; its return value is the result. It raises `DatabaseError` for what the server reports, always after the
whole answer has been read, so that the connection stays usable; `ProtocolError` and `OperationalError` with
`session_dead` mean that it is not.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Generator, Sequence
from typing import Protocol, TypeVar

from ..errors import DatabaseError, OperationalError, ProtocolError
from .capabilities import Layout, ServerCapabilities
from .messages import requests as rq
from .messages.replies import FileRequest, Reply, Sink
from .wire import MAX_BODY, Inbox, Incomplete

R = TypeVar("R")
#: An operation: yields bytes to write or None to read, receives what was read, returns the result.
Op = Generator[bytes | None, bytes, R]


class Files(Protocol):
    """The client's end of lotofile() and filetoblob(): a single "file" that lives in memory or in a stream."""

    def open(self, path: str, mode: int) -> None: ...

    def read(self, amount: int) -> bytes: ...

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


class Exchange:
    """What a session knows of its server, and the order of requests and answers."""

    def __init__(self, *, encoding: str) -> None:
        self.encoding = encoding
        self.inbox = Inbox()
        self.capabilities = ServerCapabilities()
        self.layout = Layout()
        self.in_transaction = False
        self.logged = False
        self.ansi = False
        self.database: str | None = None
        self.files: Files | None = None
        # A deque, because cursors are closed by any thread, also while an operation of another one takes from it.
        self._cleanup: deque[bytes] = deque()
        self._names = itertools.count(1)
        self._routines: dict[str, tuple[bytes, int]] = {}
        #: Requests sent and not yet answered: not 0 after an operation means that the stream cannot be used on.
        self.outstanding = 0

    @property
    def in_step(self) -> bool:
        """Every request is answered, and every answer read: the stream can be used on."""
        return self.outstanding == 0 and self.inbox.pending() == 0

    def _fill(self, needed: int) -> Op[None]:
        """Read until `needed` bytes wait in the inbox, at least once."""
        inbox = self.inbox
        missing = max(needed - inbox.pending(), 1)
        chunk = yield None
        if len(chunk) >= missing:
            inbox.feed(chunk)
            return
        # One copy of what has arrived, however many pieces it comes in.
        chunks = []
        while True:
            if not chunk:
                raise lost("the server closed the connection in the middle of a message")
            chunks.append(chunk)
            missing -= len(chunk)
            if missing <= 0:
                break
            chunk = yield None
        inbox.feed(b"".join(chunks))

    def _read(self, reply: Reply) -> Op[Reply]:
        """One answer, up to its EOT."""
        inbox = self.inbox
        while True:
            try:
                if reply.consume(inbox):
                    if reply.file is not None:
                        request, reply.file = reply.file, None
                        yield self._serve(request)
                        continue
                    break
            except Incomplete as more:
                needed = more.needed
            except (UnicodeDecodeError, ValueError, ArithmeticError, LookupError) as error:
                raise ProtocolError(f"a message cannot be read: {error}") from error
            yield from self._fill(needed)
        if reply.exited:
            raise lost("the server ended the session")
        self.outstanding -= 1
        if reply.transaction is not None:
            self.in_transaction = reply.transaction == 1
        if reply.error is not None and reply.error.sqlcode == -458:
            self.in_transaction = False
        return reply

    def _serve(self, request: FileRequest) -> bytes:
        files = self.files
        if files is None:
            raise ProtocolError("the server asked for a client file, which no statement here allows")
        if request.op == 0:
            files.open(request.path, request.mode)
            return rq.EOT
        if request.op == 1:
            files.close()
            return rq.EOT
        if request.op == 2:
            return rq.file_content(
                files.read(min(request.amount, MAX_BODY) if request.amount >= 0 else MAX_BODY),
                min(request.chunk, 32767),
            )
        files.write(request.data)
        return rq.file_written(len(request.data))

    def reply(self, sink: Sink | None = None, *, expect: str = "") -> Reply:
        """A reply that is waited for; `expect` names what may come in it beyond the usual."""
        return Reply(self.layout, self.encoding, sink, expect, expect_files=self.files is not None)

    def exchange(self, groups: Sequence[bytes], replies: Sequence[Reply]) -> Op[None]:
        """Send groups (after what waits for clean-up), read their answers in order, raise the first error."""
        cleanup = []
        while self._cleanup:
            cleanup.append(self._cleanup.popleft())
        if cleanup:
            groups = [*cleanup, *groups]
        self.outstanding += len(groups)
        yield b"".join(groups) if len(groups) > 1 else groups[0]
        for _ in cleanup:
            # Whether a cursor could still be closed is of no interest: it may have ended with its transaction.
            yield from self._read(self.reply())
        for reply in replies:
            try:
                yield from self._read(reply)
            except DatabaseError as end:
                # A server that ends the session says why, and answers nothing further.
                error = next((reply.error for reply in replies if reply.error is not None), None)
                if error is None or not end.session_dead:
                    raise
                error.session_dead = True
                raise error from end
        for reply in replies:
            if reply.error is not None:
                raise reply.error


def lost(text: str) -> OperationalError:
    error = OperationalError(text)
    error.session_dead = True
    return error
