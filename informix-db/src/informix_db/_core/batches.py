"""Many rows with one statement: batches of executions, and insert cursors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import DatabaseError, OperationalError, ProtocolError
from .cursors import Cursors
from .exchange import Op
from .messages import requests as rq
from .messages.describe import INSERT, Column
from .statements import Statement
from .types.tupleform import Misfit, row_encoder

#: Rows and bytes of one group of a batch. Small enough that the answers fit into the socket's buffers while the
#: group is still being written, so that neither side waits for the other.
BATCH_ROWS = 1000
BATCH_BYTES = 128 << 10


class Batches(Cursors):
    """The batches of a session."""

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
