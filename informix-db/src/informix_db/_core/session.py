"""The conversation with one server: operations made of messages.

Every operation is a generator. It yields bytes to be written, or None when it needs input, and is resumed with what
was received; its return value is the result. It raises `DatabaseError` for what the server reports, always after the
whole answer has been read, so that the connection stays usable; `ProtocolError` and `OperationalError` with
`session_dead` mean that it is not.

Closing a cursor and releasing a statement cost no round trip: their groups are kept and sent in front of the next
request, and their answers read before its own.
"""

from __future__ import annotations

import itertools
import re
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from ..errors import (
    DatabaseError,
    Error,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    ProtocolError,
)
from .capabilities import OFFER, OFFER_WIDE, PAM, Layout, ServerCapabilities
from .messages import login
from .messages import requests as rq
from .messages.describe import DDL_TYPES, INSERT, Column, Description
from .messages.replies import FileRequest, Reply, Sink
from .rowplan import LargeObject, Plan, RowSink
from .types import encode
from .types.tupleform import Misfit, row_encoder
from .wire import MAX_BODY, Inbox, Incomplete

R = TypeVar("R")
#: Statement types that open or close a database, and the name in them.
DATABASE, CREATE_DATABASE, CLOSE_DATABASE = 1, 12, 31
_DATABASE = re.compile(r"(?i)\s*(?:create\s+)?database\s+(?:if\s+not\s+exists\s+)?[\"']?(\w+)")
_FOR_UPDATE = re.compile(r"(?i)\bfor\s+update\b")
_TO_SAVEPOINT = re.compile(r"(?i)\bto\s+savepoint\b")
#: An operation: yields bytes to write or None to read, receives what was read, returns the result.
Op = Generator[bytes | None, bytes, R]

#: Rows and bytes of one group of a batch. Small enough that the answers fit into the socket's buffers while the
#: group is still being written, so that neither side waits for the other.
BATCH_ROWS = 1000
BATCH_BYTES = 128 << 10
#: The second NFETCH of the first request only has to tell whether there is more.
PROBE_BUFFER = 4096

#: Errors of a prepared statement that a fresh PREPARE cures: the table has changed since.
STALE = frozenset((-710,))


class Files(Protocol):
    """The client's end of lotofile() and filetoblob(): a single "file" that lives in memory or in a stream."""

    def open(self, path: str, mode: int) -> None: ...

    def read(self, amount: int) -> bytes: ...

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


class Statement:
    """A prepared statement on the server."""

    __slots__ = (
        "cached",
        "columns",
        "cursor_name",
        "description",
        "id",
        "inputs",
        "nparams",
        "plan",
        "put_encoder",
        "sql",
    )

    def __init__(self, sql: str, nparams: int, description: Description) -> None:
        self.sql = sql
        self.nparams = nparams
        self.id = description.statement_id
        self.description = description
        self.plan: Plan | None = None
        self.inputs: tuple[Column, ...] | None = None
        self.put_encoder: Callable[[Sequence[Any]], bytes] | None = None
        #: Came out of the statement cache: the server may know better by now (see STALE).
        self.cached = False
        #: What its cursor was called when it was opened last.
        self.cursor_name = ""

    @property
    def returns_rows(self) -> bool:
        return self.description.returns_rows


class Session:
    """State of one connection: what was negotiated, the transaction, cached statements, what waits to be cleaned up."""

    def __init__(self, *, encoding: str, fetch_buffer: int = 256 << 10, cache_size: int = 64) -> None:
        self.encoding = encoding
        self.inbox = Inbox()
        self.capabilities = ServerCapabilities()
        self.layout = Layout()
        self.fetch_buffer = fetch_buffer
        self.cache_size = cache_size
        self.cache: OrderedDict[tuple[str, int], Statement] = OrderedDict()
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

    # ---- the way in and out -------------------------------------------------------------------------------------

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
                raise _lost("the server closed the connection in the middle of a message")
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
            raise _lost("the server ended the session")
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
            yield from self._read(reply)
        for reply in replies:
            if reply.error is not None:
                raise reply.error

    # ---- opening and closing the session --------------------------------------------------------------------------

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
                raise _lost("the server closed the connection during the login")
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

    # ---- statements -------------------------------------------------------------------------------------------------

    def encode(self, text: str) -> bytes:
        try:
            raw = text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise ProgrammingError(
                f"the statement has a character that {self.encoding} does not have: {error}"
            ) from None
        if b"\0" in raw:
            raise ProgrammingError("the statement contains a NUL character")
        return raw

    def prepare(self, sql: str, nparams: int) -> Op[Statement]:
        """A statement from the cache, or a new one."""
        cached = self.cache.pop((sql, nparams), None)
        if cached is not None:
            cached.cached = True
            return cached
        reply = self.reply(expect="describe")
        yield from self.exchange([rq.prepare(self.encode(sql), nparams, long_sql=self.layout.long_sql)], [reply])
        if reply.description is None:
            raise ProtocolError("the server did not describe the statement")
        statement = Statement(sql, nparams, reply.description)
        if statement.returns_rows:
            try:
                statement.plan = Plan(reply.description.columns, self.encoding)
            except ProtocolError:
                raise
            except Error:
                self._cleanup.append(rq.release_group(statement.id))
                raise
        return statement

    def give_back(self, statement: Statement, *, opened: bool) -> None:
        """The statement is not used any more: close its cursor, keep it in the cache or release it."""
        if opened:
            self._cleanup.append(rq.close_group(statement.id))
        key = (statement.sql, statement.nparams)
        ddl = statement.description.statement_type in DDL_TYPES
        if ddl or self.cache_size <= 0 or key in self.cache:
            self._cleanup.append(rq.release_group(statement.id))
            return
        self.cache[key] = statement
        if len(self.cache) > self.cache_size:
            _, oldest = self.cache.popitem(last=False)
            self._cleanup.append(rq.release_group(oldest.id))

    def drop(self, statement: Statement, *, opened: bool) -> None:
        """Forget a statement that must not be used again."""
        if opened:
            self._cleanup.append(rq.close_group(statement.id))
        self._cleanup.append(rq.release_group(statement.id))

    def clear_cache(self) -> None:
        """Release every cached statement: the schema has changed."""
        while self.cache:
            _, statement = self.cache.popitem()
            self._cleanup.append(rq.release_group(statement.id))

    def bind(self, values: Sequence[Any]) -> bytes:
        """BIND for these values, empty when there are none."""
        return encode.bind(values, self.encoding, bigint=self.layout.bigint) if values else b""

    def _with_begin(self, begin: bool, groups: list[bytes], replies: list[Reply]) -> Op[None]:
        """`exchange`, with BEGIN in front when a transaction is to be started."""
        if not begin or self.in_transaction:
            yield from self.exchange(groups, replies)
            return
        started = self.reply()
        try:
            yield from self.exchange([rq.BEGIN, *groups], [started, *replies])
        finally:
            if started.error is None and started.dones:
                self.in_transaction = True

    def execute(self, statement: Statement, bind: bytes, *, begin: bool) -> Op[Reply]:
        """Run a statement that returns no rows."""
        reply = self.reply()
        head = rq.select_id(statement.id)
        yield from self._with_begin(begin, [head + bind + rq.EXECUTE + rq.EOT], [reply])
        self._after(statement, reply)
        return reply

    def _after(self, statement: Statement, reply: Reply) -> None:
        """Follow what a statement of this type does to the session."""
        kind = statement.description.statement_type
        if kind in (DATABASE, CREATE_DATABASE, CLOSE_DATABASE):
            # What was prepared belongs to the database that was open.
            self.cache.clear()
            self._routines.clear()
            self.in_transaction = False
            warnings = reply.dones[0].warnings if reply.dones else 0
            self.logged, self.ansi = bool(warnings & 1), bool(warnings & 2)
            named = _DATABASE.match(statement.sql)
            self.database = named[1] if named and kind != CLOSE_DATABASE else None
        elif kind in DDL_TYPES:
            self.clear_cache()
        elif kind == 34:
            self.in_transaction = True
        elif kind == 35 or (kind == 36 and not _TO_SAVEPOINT.search(statement.sql)):
            self.in_transaction = False

    def open(self, statement: Statement, bind: bytes, sink: RowSink, *, begin: bool, hold: bool) -> Op[bool]:
        """Open a cursor and fetch the first rows; True when these were all.

        A second, small NFETCH travels in the same write: for a short result its empty answer is the end of data, which
        would otherwise cost a round trip of its own. Not with BYTE or TEXT columns, which belong to the current rows,
        and not when the server may ask for a client file: what follows the first group would be taken for the file.
        """
        head = rq.select_id(statement.id)
        statement.cursor_name = f"_ifxc{next(self._names):013d}"
        name = rq.cursor_name(statement.cursor_name.encode())
        first = head + name + bind + (rq.HOLD if hold else b"") + rq.OPEN + rq.nfetch(self.fetch_buffer) + rq.EOT
        groups = [first]
        replies = [self._fetch_reply(sink, self.fetch_buffer)]
        replies[0].expect = "describe"
        replies[0].redescribe = self._redescribe(statement, sink)
        # A cursor FOR UPDATE stands on the row that was fetched last: that is to be the one that the program has.
        if not sink.plan.large_objects and self.files is None and not _FOR_UPDATE.search(statement.sql):
            groups.append(head + rq.nfetch(PROBE_BUFFER) + rq.EOT)
            replies.append(self._fetch_reply(sink, PROBE_BUFFER))
        yield from self._with_begin(begin, groups, replies)
        return any(not r.rows for r in replies)

    def _redescribe(self, statement: Statement, sink: RowSink) -> Callable[[Description], None]:
        """The server describes a statement anew when it was prepared again behind the scenes: its rows may differ."""

        def redescribe(description: Description) -> None:
            if description.columns != statement.description.columns:
                statement.description = description
                statement.plan = sink.plan = Plan(description.columns, self.encoding)

        return redescribe

    def _fetch_reply(self, sink: Sink, buffer: int) -> Reply:
        reply = self.reply(sink)
        reply.max_row_bytes = 4 * buffer + MAX_BODY
        return reply

    def fetch(self, statement: Statement, sink: Sink) -> Op[bool]:
        """The next rows of an open cursor; True at end of data."""
        reply = self._fetch_reply(sink, self.fetch_buffer)
        group = rq.select_id(statement.id) + rq.nfetch(self.fetch_buffer) + rq.EOT
        yield from self.exchange([group], [reply])
        return not reply.rows

    def fetch_blobs(self, statement: Statement, descriptors: Sequence[LargeObject]) -> Op[list[bytes]]:
        """The contents of BYTE and TEXT values, several requests in flight."""
        contents: list[bytes] = []
        for start in range(0, len(descriptors), 16):
            window = descriptors[start : start + 16]
            replies = [self.reply(expect="blob") for _ in window]
            yield from self.exchange([rq.fetch_blob(statement.id, x) for x in window], replies)
            for descriptor, reply in zip(window, replies, strict=True):
                content = b"".join(reply.blob)
                size = int.from_bytes(descriptor[16:20], "big", signed=True)
                if not reply.blob_done or (size >= 0 and len(content) != size):
                    raise ProtocolError(f"a large object of {size} bytes arrived with {len(content)}")
                contents.append(content)
        return contents

    # ---- scroll cursors ---------------------------------------------------------------------------------------------

    def open_scroll(self, statement: Statement, bind: bytes, *, begin: bool, hold: bool) -> Op[None]:
        head = rq.select_id(statement.id)
        name = rq.cursor_name(b"_ifxc%013d" % next(self._names))
        group = head + name + bind + (rq.HOLD if hold else b"") + rq.SCROLL + rq.OPEN + rq.EOT
        yield from self._with_begin(begin, [group], [self.reply()])

    def scroll(self, statement: Statement, kind: int, row: int) -> Op[tuple[int, tuple[Any, ...]] | None]:
        """(1-based row number, row), or None when there is no such row."""
        assert statement.plan is not None
        sink = RowSink(statement.plan)
        reply = self._fetch_reply(sink, self.fetch_buffer)
        group = rq.select_id(statement.id) + rq.sfetch(kind, row, self.fetch_buffer) + rq.EOT
        yield from self.exchange([group], [reply])
        if sink.error is not None:
            raise sink.error
        if not sink.rows:
            return None
        number = reply.row_number
        if number is None:
            if kind == rq.FETCH_LAST:
                raise ProtocolError("the server did not number a row of a scroll cursor")
            number = row
        return number, sink.rows[0]

    # ---- batches ----------------------------------------------------------------------------------------------------

    def batch(self, statement: Statement, binds: Iterable[bytes], *, begin: bool) -> Op[int]:
        """BIND and EXECUTE for every row, many rows in one group. The number of rows touched.

        On an error the server skips the rest of the group; `row_index` of the exception is the row that failed.
        """
        total = done = 0
        for chunk in _chunks(binds):
            reply = self.reply()
            body = rq.EXECUTE.join(chunk) + rq.EXECUTE
            try:
                yield from self._with_begin(begin, [rq.select_id(statement.id) + body + rq.EOT], [reply])
            except DatabaseError as error:
                error.row_index = done + len(reply.dones)
                raise
            if len(reply.dones) != len(chunk):
                raise ProtocolError(f"{len(chunk)} rows were sent, {len(reply.dones)} were answered")
            total += sum(d.rows for d in reply.dones)
            done += len(chunk)
        return total

    def describe_input(self, statement: Statement) -> Op[tuple[Column, ...]]:
        """The types of the parameters."""
        if statement.inputs is None:
            reply = self.reply(expect="input")
            yield from self.exchange([rq.select_id(statement.id) + rq.INPUT_DESCRIBE + rq.EOT], [reply])
            statement.inputs = reply.inputs or ()
        return statement.inputs

    def insert_rows(self, statement: Statement, rows: Sequence[Sequence[Any]], *, begin: bool) -> Op[int | None]:
        """Rows through an insert cursor; None (and nothing sent) when a value needs the server's conversion.

        Errors of buffered rows may come as late as the CLOSE, so its answer counts as well.
        """
        if statement.description.statement_type != INSERT or not self.capabilities.describe_input:
            return None
        inputs = yield from self.describe_input(statement)
        if len(inputs) != statement.nparams:
            return None
        if statement.put_encoder is None:
            statement.put_encoder = row_encoder(inputs, self.encoding)
        if statement.put_encoder is None:
            return None
        try:
            encoded = [statement.put_encoder(row) for row in rows]
        except (Misfit, UnicodeEncodeError):
            return None
        head = rq.select_id(statement.id)
        opening = (
            rq.cursor_name(b"_ifxc%013d" % next(self._names))
            + rq.OPEN
            + rq.ret_type_put([(c.type_code, c.owner, c.extended_name, c.encoded_length) for c in inputs])
        )
        counted: list[int] = []
        sent = 0
        closed = False
        try:
            for chunk in _chunks(map(rq.put, encoded)):
                groups = [head + opening + b"".join(chunk) + rq.EOT]
                reply = self.reply()
                replies = [reply]
                opening = b""
                sent += len(chunk)
                if sent == len(encoded):
                    groups.append(rq.close_group(statement.id))
                    replies.append(self.reply())
                    closed = True
                try:
                    yield from self._with_begin(begin, groups, replies)
                except DatabaseError as error:
                    error.row_index = sum(counted) + len(reply.dones)
                    raise
                counted += [d.rows for r in replies for d in r.dones]
        finally:
            if not closed:
                self._cleanup.append(rq.close_group(statement.id))
        # One DONE per row, or one for the buffer, or running totals: each of them must account for every row.
        if sum(counted) != len(encoded) and (not counted or counted[-1] != len(encoded)):
            raise OperationalError(
                f"{len(encoded)} rows were put, but the server confirmed {sum(counted)}; roll the transaction back"
            )
        return len(encoded)

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


def _chunks(blocks: Iterable[bytes]) -> Iterable[list[bytes]]:
    """Blocks in runs that fit into one group."""
    chunk: list[bytes] = []
    size = 0
    for block in blocks:
        if chunk and (len(chunk) >= BATCH_ROWS or size + len(block) > BATCH_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(block)
        size += len(block)
    if chunk:
        yield chunk


def _lost(text: str) -> OperationalError:
    error = OperationalError(text)
    error.session_dead = True
    return error
