"""Prepared statements: preparing, binding, executing, and giving back.

Closing a cursor and releasing a statement cost no round trip: their groups are kept and sent in front of the next
request, and their answers read before its own.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import Error, ProgrammingError, ProtocolError
from .exchange import Exchange, Op
from .messages import requests as rq
from .messages.describe import DDL_TYPES, Column, Description
from .messages.replies import Reply
from .rowplan import Plan
from .types import encode

#: Statement types that open or close a database, and the name in them.
DATABASE, CREATE_DATABASE, CLOSE_DATABASE = 1, 12, 31
_DATABASE = re.compile(r"(?i)\s*(?:create\s+)?database\s+(?:if\s+not\s+exists\s+)?[\"']?(\w+)")
_TO_SAVEPOINT = re.compile(r"(?i)\bto\s+savepoint\b")
#: Errors of a prepared statement that a fresh PREPARE cures: the table has changed since.
STALE = frozenset((-710,))


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


class Statements(Exchange):
    """The prepared statements of a session."""

    def __init__(self, *, encoding: str, fetch_buffer: int = 256 << 10, cache_size: int = 64) -> None:
        super().__init__(encoding=encoding)
        self.fetch_buffer = fetch_buffer
        self.cache_size = cache_size
        self.cache: OrderedDict[tuple[str, int], Statement] = OrderedDict()

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
