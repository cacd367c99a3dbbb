"""The conversation with one server: opening and closing it, transactions, and routines called without a statement.

The layers below, each a class on the one before: `exchange` (requests and answers), `statements`, `cursors`, `batches`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import NotSupportedError, ProtocolError
from .batches import BATCH_BYTES, BATCH_ROWS, Batches
from .capabilities import OFFER, OFFER_WIDE, PAM, Layout, ServerCapabilities
from .exchange import Files, Op, lost
from .messages import login
from .messages import requests as rq
from .statements import STALE, Statement
from .types import encode

__all__ = ["BATCH_BYTES", "BATCH_ROWS", "STALE", "Files", "Op", "Session", "Statement"]


class Session(Batches):
    """State of one connection: what was negotiated, the transaction, cached statements, what waits to be cleaned up."""

    def connect(
        self,
        *,
        user: str,
        password: str | None,
        server: str,
        database: str | None,
        environment: dict[str, str],
        info: dict[str, str],
        wide: bool = False,
    ) -> Op[None]:
        """Log in, negotiate, open the database."""
        yield login.login_packet(user, password, server, environment)
        answer = None
        while answer is None:
            chunk = yield None
            if not chunk:
                raise lost("the server closed the connection during the login")
            self.inbox.feed(chunk)
            answer = login.parse_answer(self.inbox.data)
        used, accepted = answer
        self.inbox.pos = used
        offer = OFFER_WIDE if wide else OFFER
        # In one write: what a server answers to the capabilities changes how answers look, not these requests.
        groups = [rq.protocols(offer), rq.info(info)]
        if database is not None:
            groups.append(rq.open_database(self.encode(database)))
        self.outstanding = len(groups)
        yield b"".join(groups)
        reply = yield from self._read(self.reply(expect="protocols"))
        if reply.error is not None:
            raise reply.error
        if not reply.mask:
            raise ProtocolError("the server did not answer the capability offer")
        self.capabilities = ServerCapabilities.from_wire(
            reply.mask,
            offer=offer,
            cap_1=accepted.cap_1,
            cap_2=accepted.cap_2,
            cap_3=accepted.cap_3,
            server_version=accepted.version,
            serial_number=accepted.serial,
            applid_name=accepted.application,
        )
        problems = self.capabilities.violated_assumptions()
        if self.capabilities.has(PAM):
            problems.append("the server demands a PAM dialogue")
        if problems:
            raise NotSupportedError("this driver cannot talk to the server: " + "; ".join(problems))
        self.layout = Layout.of(self.capabilities)
        self.fetch_buffer = max(1024, min(self.fetch_buffer, self.layout.max_fetch_buffer))
        replies = []
        for _ in groups[1:]:
            replies.append((yield from self._read(self.reply())))
        for reply in replies:
            if reply.error is not None:
                raise reply.error
        if database is not None:
            warnings = replies[1].dones[0].warnings if replies[1].dones else 0
            self.logged, self.ansi = bool(warnings & 1), bool(warnings & 2)
            self.database = database

    def exit(self) -> Op[None]:
        """Say goodbye; the server answers and closes."""
        yield rq.EXIT + rq.EOT
        inbox = self.inbox
        for _ in range(64):
            chunk = yield None
            if not chunk or inbox.data[-2:] == rq.EXIT:
                return
            inbox.data = chunk[-2:]
            if inbox.data == rq.EXIT:
                return

    # ---- transactions -----------------------------------------------------------------------------------------------

    def begin(self) -> Op[None]:
        yield from self.exchange([rq.BEGIN], [self.reply()])
        self.in_transaction = True

    def commit(self) -> Op[None]:
        try:
            yield from self.exchange([rq.COMMIT], [self.reply()])
        finally:
            self.in_transaction = False

    def rollback(self) -> Op[None]:
        try:
            yield from self.exchange([rq.ROLLBACK], [self.reply()])
        finally:
            self.in_transaction = False

    def savepoint(self, action: str, name: str) -> Op[None]:
        """Set, release, or roll back to a savepoint."""
        if not self.capabilities.savepoint:
            raise NotSupportedError("the server has no savepoints")
        build = {"set": rq.savepoint, "release": rq.release_savepoint, "rollback": rq.rollback_to_savepoint}[action]
        groups, replies = [build(self.encode(name))], [self.reply()]
        yield from self._with_begin(action == "set" and not self.ansi, groups, replies)

    # ---- fast path --------------------------------------------------------------------------------------------------

    def call_routine(self, signature: str, values: Sequence[Any]) -> Op[list[Any]]:
        """Call a routine by its signature without a statement; its results."""
        found = self._routines.get(signature)
        if found is None:
            reply = self.reply(expect="routine")
            yield from self.exchange([rq.get_routine(self.encode(signature))], [reply])
            if reply.routine is None:
                raise ProtocolError("the server gave no handle for the routine")
            found = self._routines[signature] = reply.routine
        database, handle = found
        reply = self.reply(expect="routine")
        bind = encode.bind(values, self.encoding, bigint=self.layout.bigint)
        yield from self.exchange([rq.execute_routine(database, handle, len(values), bind)], [reply])
        if reply.values is None:
            raise ProtocolError("the server gave no result of the routine")
        return reply.values

    def read_large_object(self, descriptor: int, length: int) -> Op[bytes]:
        """At most `length` bytes of an open large object; none at its end."""
        reply = self.reply(expect="lodata")
        yield from self.exchange([rq.read_large_object(descriptor, length)], [reply])
        if not reply.blob_done:
            raise ProtocolError("the server gave nothing of the large object")
        content = b"".join(reply.blob)
        if len(content) > length:
            raise ProtocolError(f"{len(content)} bytes of a large object instead of {length}")
        return content

    def write_large_object(self, descriptor: int, content: bytes) -> Op[None]:
        """Put bytes into an open large object."""
        reply = self.reply(expect="lowrite")
        yield from self.exchange([rq.write_large_object(descriptor, content)], [reply])
        if not reply.blob_done or reply.rows != len(content):
            raise ProtocolError(f"the server wrote {reply.rows} bytes into a large object instead of {len(content)}")
