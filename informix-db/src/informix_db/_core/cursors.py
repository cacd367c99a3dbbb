"""Rows of queries: forward cursors, scroll cursors, and the contents of large objects in rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ProtocolError
from .exchange import Op
from .messages import requests as rq
from .messages.describe import Description
from .messages.replies import Reply, Sink
from .rowplan import LargeObject, Plan, RowSink
from .statements import Statement, Statements
from .wire import MAX_BODY

_FOR_UPDATE = re.compile(r"(?i)\bfor\s+update\b")
#: The second NFETCH of the first request only has to tell whether there is more.
PROBE_BUFFER = 4096


class Cursors(Statements):
    """The cursors of a session."""

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
