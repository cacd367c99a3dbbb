# Written by tools/async_to_sync.py from cursor_async.py. Do not edit.
"""A cursor: executes statements and hands out rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Generic, overload

from . import lob
from ._core.messages.requests import FETCH_ABSOLUTE, FETCH_LAST
from ._core.rowplan import LargeObject, Plan, RawSink, RowSink
from ._core.session import STALE, Op, Statement
from ._core.types.codes import T
from .errors import DatabaseError, DataError, Error, InterfaceError, NotSupportedError, ProgrammingError
from .params import Parameters, check_identifier, check_statement, parse
from .rows import R, RowFactoryOption, RowMaker, row_maker

if TYPE_CHECKING:
    import numpy
    import numpy.typing
    import pandas
    import pyarrow

    from .connection import Connection

Description = tuple[tuple[str, int, int | None, int, int | None, int | None, bool], ...]


class Cursor(Generic[R]):
    """Made by `Connection.cursor`."""

    def __init__(
        self,
        connection: Connection[R],
        *,
        scrollable: bool = False,
        hold: bool = False,
        row_factory: RowFactoryOption = None,
    ) -> None:
        self._connection = connection
        self._scrollable = scrollable
        self._hold = hold
        self._row_factory = row_factory
        self._closed = False
        #: Rows that `fetchmany` gets when it is not told otherwise.
        self.arraysize = 1
        self._clear()

    def _clear(self) -> None:
        self._statement: Statement | None = None
        self._plan: Plan | None = None
        self._sink: RowSink | None = None
        self._rows: list[tuple[Any, ...]] = []
        self._next = 0
        self._fetched = 0
        self._exhausted = True
        self._has_result = False
        self._position = 0
        self._last_row: int | None = None
        self._make: RowMaker[R] | None = None
        self._description: Description | None = None
        self._rowcount = -1
        self._lastrowid: int | None = None

    # ---- what PEP 249 calls attributes ------------------------------------------------------------------------------

    @property
    def connection(self) -> Connection[R]:
        """The connection that made this cursor."""
        return self._connection

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def description(self) -> Description | None:
        """(name, type code, display size, internal size, precision, scale, null ok) per column; None without rows."""
        return self._description

    @property
    def rowcount(self) -> int:
        """Rows touched; for a SELECT the number of rows once all have arrived, before that -1."""
        return self._rowcount

    @property
    def lastrowid(self) -> int | None:
        """The serial value that the last INSERT generated."""
        return self._lastrowid

    @property
    def rownumber(self) -> int | None:
        """0-based index of the row that the next fetch gets; None without a result."""
        if not self._has_result:
            return None
        return self._position if self._scrollable else self._fetched - (len(self._rows) - self._next)

    @property
    def name(self) -> str | None:
        """The name of the open cursor for `UPDATE … WHERE CURRENT OF name`; None when none is open.

        The query must be `… FOR UPDATE`, in a transaction; the row is the one that was fetched last.
        """
        return self._statement.cursor_name or None if self._statement is not None else None

    @property
    def row_factory(self) -> RowFactoryOption:
        """None for tuples, `Row`, `dict`, or a function: names → (values → row). Takes effect at the next execute."""
        return self._row_factory

    @row_factory.setter
    def row_factory(self, value: RowFactoryOption) -> None:
        self._row_factory = value

    # ---- executing --------------------------------------------------------------------------------------------------

    def execute(
        self, operation: str, parameters: Parameters = None, *, timeout: float | None = None, begin: bool = True
    ) -> Cursor[R]:
        """Prepare (or take from the cache) and execute a statement; returns the cursor.

        Placeholders are `?`, `:1` or `:name`. `timeout`: seconds after which the statement is cancelled. `begin=False`
        starts no transaction for it, even when autocommit is off.
        """
        self._check()
        check_statement(operation)
        self._reset()
        if parameters is None:
            sql, values = operation, ()  # type: tuple[str, Sequence[object]]
        else:
            parsed = parse(operation)
            sql, values = parsed.sql, parsed.values(parameters)
        self._connection._run(self._execute(sql, values, begin), timeout)
        return self

    def _execute(self, sql: str, values: Sequence[object], begin: bool) -> Op[None]:
        session = self._connection._session
        bind = session.bind(values)
        statement = yield from session.prepare(sql, len(values))
        try:
            yield from self._run_statement(statement, bind, begin)
        except DatabaseError as error:
            self._clear()
            session.drop(statement, opened=False)
            if not (statement.cached and error.sqlcode in STALE):
                raise
            # The table has changed since the statement was cached, and nothing has been executed: prepare it anew.
            statement = yield from session.prepare(sql, len(values))
            try:
                yield from self._run_statement(statement, bind, begin)
            except DatabaseError:
                self._clear()
                session.drop(statement, opened=False)
                raise

    def _run_statement(self, statement: Statement, bind: bytes, begin: bool) -> Op[None]:
        connection, session = self._connection, self._connection._session
        begin = begin and connection._needs_begin(statement)
        if not statement.returns_rows:
            reply = yield from session.execute(statement, bind, begin=begin)
            session.give_back(statement, opened=False)
            self._rowcount = sum(done.rows for done in reply.dones)
            serial = reply.serial8 or (reply.dones[-1].serial if reply.dones else 0)
            self._lastrowid = serial or None
            return
        assert statement.plan is not None
        if self._scrollable:
            if statement.plan.large_objects:
                raise NotSupportedError("a scroll cursor cannot read BYTE or TEXT columns")
            yield from session.open_scroll(statement, bind, begin=begin, hold=self._hold)
            self._adopt(statement, None)
            return
        sink = RowSink(statement.plan)
        exhausted = yield from session.open(statement, bind, sink, begin=begin, hold=self._hold)
        self._adopt(statement, sink)
        yield from self._arrived(exhausted)

    def _adopt(self, statement: Statement, sink: RowSink | None) -> None:
        """The statement's cursor is open: this object describes and owns it."""
        assert statement.plan is not None
        self._statement, self._plan, self._sink = statement, statement.plan, sink
        self._exhausted = False
        self._has_result = True
        self._description = tuple(c.description() for c in statement.plan.columns)
        self._make = row_maker(self._row_factory, [c.name for c in statement.plan.columns])

    def _arrived(self, exhausted: bool) -> Op[None]:
        """Take the rows of a reply, fetch their large objects, give the statement back at end of data."""
        sink, statement = self._sink, self._statement
        assert sink is not None
        assert statement is not None
        rows, sink.rows = sink.rows, []
        if sink.plan.large_objects and rows:
            rows = yield from self._load(statement, sink.plan, rows)
        if self._next:
            del self._rows[: self._next]
            self._next = 0
        if self._rows:
            self._rows.extend(rows)
        else:
            self._rows = rows
        self._fetched += len(rows)
        if exhausted or sink.error is not None:
            self._exhausted = True
            self._statement = None
            self._connection._session.give_back(statement, opened=True)
            if sink.error is None:
                self._rowcount = self._fetched

    def _load(self, statement: Statement, plan: Plan, rows: list[tuple[Any, ...]]) -> Op[list[tuple[Any, ...]]]:
        """Replace the descriptors of BYTE and TEXT values by their contents."""
        session = self._connection._session
        wanted = [row[i] for row in rows for i in plan.large_objects if type(row[i]) is LargeObject]
        contents = iter((yield from session.fetch_blobs(statement, wanted)))
        text = {i for i in plan.large_objects if plan.columns[i].type_code == T.TEXT}
        loaded = []
        for row in rows:
            values = list(row)
            for i in plan.large_objects:
                if type(values[i]) is LargeObject:
                    content = next(contents)
                    values[i] = self._decode_text(plan, i, content) if i in text else content
            loaded.append(tuple(values))
        return loaded

    def _decode_text(self, plan: Plan, index: int, content: bytes) -> str:
        try:
            return content.decode(plan.encoding)
        except UnicodeDecodeError as cause:
            error = DataError(
                f"column {plan.columns[index].name!r} holds bytes that are not {plan.encoding}: "
                "the connection's locale is not the database's"
            )
            error.object_name = plan.columns[index].name
            raise error from cause

    def executemany(
        self,
        operation: str,
        seq_of_parameters: Iterable[Sequence[object] | Mapping[str, object]],
        *,
        timeout: float | None = None,
    ) -> Cursor[R]:
        """Execute a statement for every set of parameters, many of them per round trip.

        Inside a transaction an INSERT goes through an insert cursor. When a row fails, `row_index` of the exception
        tells which; the rows before it have been executed, those after it have not (roll back to undo all).
        """
        self._check()
        check_statement(operation)
        self._reset()
        parsed = parse(operation)
        rows = [parsed.values(parameters) for parameters in seq_of_parameters]
        if not rows:
            self._rowcount = 0
            return self
        self._connection._run(self._executemany(parsed.sql, rows), timeout)
        return self

    def _executemany(self, sql: str, rows: list[Sequence[object]]) -> Op[None]:
        connection, session = self._connection, self._connection._session
        # Encoded before anything is sent: a value that cannot be bound leaves the database as it was.
        nparams = len(rows[0])
        statement = yield from session.prepare(sql, nparams)
        try:
            if statement.returns_rows:
                raise ProgrammingError("executemany cannot run a statement that returns rows")
            begin = connection._needs_begin(statement)
            count: int | None = None
            if len(rows) > 1 and (begin or session.in_transaction or session.ansi):
                count = yield from session.insert_rows(statement, rows, begin=begin)
            if count is None:
                binds = []
                for index, row in enumerate(rows):
                    try:
                        binds.append(session.bind(row))
                    except Error as error:
                        error.row_index = index
                        raise
                count = yield from session.batch(statement, binds, begin=begin)
        except Error:
            session.drop(statement, opened=False)
            raise
        session.give_back(statement, opened=False)
        self._rowcount = count

    def callproc(self, procname: str, parameters: Sequence[object] = ()) -> Sequence[object]:
        """Call a stored procedure; its rows, if any, can be fetched afterwards. Returns the parameters unchanged."""
        name = check_identifier(procname, "procedure")
        marks = ",".join("?" * len(parameters))
        self.execute(f"execute procedure {name}({marks})", parameters)
        return parameters

    # ---- fetching ---------------------------------------------------------------------------------------------------

    def _want_result(self) -> None:
        self._check()
        if not self._has_result:
            raise ProgrammingError("there is no result to fetch from: execute a statement that returns rows first")

    def _fill(self) -> bool:
        """Fetch the next rows; False at the end of data. Raises the error of a row that could not be decoded."""
        if self._sink is not None and self._sink.error is not None:
            raise self._sink.error
        if self._exhausted:
            return False
        self._connection._run(self._fetch_more())
        return self._next < len(self._rows) or self._fill()

    def _fetch_more(self) -> Op[None]:
        statement, sink = self._statement, self._sink
        assert statement is not None
        assert sink is not None
        exhausted = yield from self._connection._session.fetch(statement, sink)
        yield from self._arrived(exhausted)

    def fetchone(self) -> R | None:
        """The next row, or None."""
        index = self._next
        if index < len(self._rows):
            self._next = index + 1
            row = self._rows[index]
            return row if self._make is None else self._make(row)  # type: ignore[return-value]
        self._want_result()
        if self._scrollable:
            return self._fetch_at(self._position + 1)
        if not self._fill():
            return None
        self._next += 1
        row = self._rows[self._next - 1]
        return row if self._make is None else self._make(row)  # type: ignore[return-value]

    def fetchmany(self, size: int | None = None) -> list[R]:
        """The next `size` rows (default: `arraysize`), fewer at the end."""
        self._want_result()
        wanted = self.arraysize if size is None else size
        if wanted < 0:
            raise ProgrammingError("fetchmany needs a size of 0 or more")
        if self._scrollable:
            return self._scroll_many(wanted)
        rows: list[Any] = []
        while len(rows) < wanted:
            if self._next >= len(self._rows) and not self._fill():
                break
            part = self._rows[self._next : self._next + wanted - len(rows)]
            self._next += len(part)
            rows += part if self._make is None else map(self._make, part)
        return rows

    def fetchall(self) -> list[R]:
        """All remaining rows."""
        self._want_result()
        if self._scrollable:
            return self._scroll_many(None)
        make = self._make
        rows: list[Any] = self._rows[self._next :] if self._next else self._rows
        self._rows, self._next = [], 0
        while self._fill():
            rows += self._rows
            self._rows, self._next = [], 0
        return rows if make is None else list(map(make, rows))

    def __iter__(self) -> Cursor[R]:
        self._want_result()
        return self

    def __next__(self) -> R:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    # ---- columns instead of rows ------------------------------------------------------------------------------------

    def _raw(self) -> tuple[Plan, list[tuple[Any, ...]], list[bytes]]:
        """(plan, rows that were decoded already, runs of TUPLE messages with the others)."""
        self._want_result()
        if self._scrollable:
            raise NotSupportedError("columns are fetched from forward-only cursors")
        assert self._plan is not None
        if self._plan.large_objects:
            return self._plan, self._all_tuples(), []
        rows = self._rows[self._next :]
        self._rows, self._next = [], 0
        if self._sink is not None and self._sink.error is not None:
            raise self._sink.error
        sink = RawSink()
        while not self._exhausted:
            self._connection._run(self._fetch_raw(sink))
        self._fetched += sink.count
        self._rowcount = self._fetched
        return self._plan, rows, sink.segments

    def _all_tuples(self) -> list[tuple[Any, ...]]:
        make, self._make = self._make, None
        try:
            return self.fetchall()  # type: ignore[return-value]
        finally:
            self._make = make

    def _fetch_raw(self, sink: RawSink) -> Op[None]:
        session, statement = self._connection._session, self._statement
        assert statement is not None
        if (yield from session.fetch(statement, sink)):
            self._exhausted = True
            self._statement = None
            session.give_back(statement, opened=True)

    def fetch_arrow(self) -> pyarrow.Table:
        """All remaining rows as a `pyarrow.Table`."""
        from .columnar import to_arrow

        return to_arrow(*self._raw())

    def fetch_numpy(self) -> dict[str, numpy.typing.NDArray[numpy.generic]]:
        """All remaining rows as a dictionary: column name → NumPy array (a masked array where NULLs are)."""
        from .columnar import to_numpy

        return to_numpy(*self._raw())

    def fetch_df(self) -> pandas.DataFrame:
        """All remaining rows as a `pandas.DataFrame`."""
        from .columnar import to_dataframe

        return to_dataframe(*self._raw())

    # ---- scrolling --------------------------------------------------------------------------------------------------

    def _want_scroll(self) -> Statement:
        self._want_result()
        if not self._scrollable or self._statement is None:
            raise NotSupportedError("the cursor is not a scroll cursor: open it with cursor(scrollable=True)")
        return self._statement

    def _scroll_to(self, kind: int, row: int) -> R | None:
        """Fetch one row of a scroll cursor and stand on it; None leaves the position as it is."""
        statement = self._want_scroll()
        found = self._connection._run(self._connection._session.scroll(statement, kind, row))
        if found is None:
            return None
        self._position, values = found
        return values if self._make is None else self._make(values)  # type: ignore[return-value]

    def _fetch_at(self, row: int) -> R | None:
        """Row number `row` (1-based), or None; then the position is before the first or after the last row."""
        if row < 1:
            self._want_scroll()
            self._position = 0
            return None
        found = self._scroll_to(FETCH_ABSOLUTE, row)
        if found is None:
            self._position = self._count()
        return found

    def _count(self) -> int:
        """Number of rows, found by a look at the last one."""
        if self._last_row is None:
            position = self._position
            self._scroll_to(FETCH_LAST, 0)
            self._last_row, self._position = self._position, position
        return self._last_row

    def _scroll_many(self, wanted: int | None) -> list[R]:
        statement = self._want_scroll()
        last = self._count()
        stop = last if wanted is None else min(self._position + wanted, last)
        rows: list[Any] = []
        for number in range(self._position + 1, stop + 1):
            session = self._connection._session
            found = self._connection._run(session.scroll(statement, FETCH_ABSOLUTE, number))
            if found is None:
                break
            self._position = number
            rows.append(found[1] if self._make is None else self._make(found[1]))
        return rows

    def scroll(self, value: int, mode: str = "relative") -> None:
        """Move so that the next fetch gets another row: `value` rows on, or (mode "absolute") row `value` from 0.

        IndexError when there is no such place.
        """
        self._want_scroll()
        if mode not in ("relative", "absolute"):
            raise ProgrammingError("mode must be 'relative' or 'absolute'")
        target = self._position + value if mode == "relative" else value
        if not 0 <= target <= self._count():
            raise IndexError(f"there is no row {target}")
        self._position = target

    def fetch_first(self) -> R | None:
        """The first row."""
        return self._fetch_at(1)

    def fetch_last(self) -> R | None:
        """The last row."""
        found = self._scroll_to(FETCH_LAST, 0)
        if found is not None:
            self._last_row = self._position
        return found

    def fetch_prior(self) -> R | None:
        """The row before the current one, or None."""
        return self._fetch_at(self._position - 1)

    def fetch_absolute(self, n: int) -> R | None:
        """Row `n`, counted from 0; negative numbers count from the end."""
        return self._fetch_at(n + 1 if n >= 0 else self._count() + n + 1)

    def fetch_relative(self, n: int) -> R | None:
        """The row `n` rows after the current one."""
        return self._fetch_at(self._position + n)

    # ---- smart large objects ----------------------------------------------------------------------------------------

    @overload
    def read_blob_column(
        self, select_blob_sql: str, params: Parameters = (), *, sentinel: str = lob.READ_SENTINEL, into: None = None
    ) -> bytes | None: ...

    @overload
    def read_blob_column(
        self, select_blob_sql: str, params: Parameters = (), *, sentinel: str = lob.READ_SENTINEL, into: IO[bytes]
    ) -> int | None: ...

    def read_blob_column(
        self,
        select_blob_sql: str,
        params: Parameters = (),
        *,
        sentinel: str = lob.READ_SENTINEL,
        into: IO[bytes] | None = None,
    ) -> bytes | int | None:
        """The content of a BLOB or CLOB: `select COLUMN from … where …` of one row. None for NULL or no row.

        With `into`, a writable binary stream, the content is written there as it arrives, and its size is returned.
        """
        download = lob.Download(into)
        sql = lob.wrap_select(select_blob_sql, sentinel)
        row = self._with_files(download, sql, params)
        if row is None or row[0] is None:
            return None
        if not download.closed:
            raise InterfaceError("the server did not send the large object to its end")
        return download.content if into is None else download.size

    def write_blob_column(
        self,
        sql: str,
        blob_data: bytes | IO[bytes],
        params: Parameters = (),
        *,
        sentinel: str = lob.WRITE_SENTINEL,
        clob: bool = False,
    ) -> None:
        """Execute a statement in which BLOB_PLACEHOLDER stands for the content of a BLOB (or CLOB).

        `blob_data` is bytes, or a readable binary stream that is sent as it is read.
        """
        self._with_files(lob.Upload(blob_data), lob.place(sql, sentinel, clob=clob), params)

    def _with_files(self, files: Any, sql: str, params: Parameters) -> tuple[Any, ...] | None:
        self._check()
        check_statement(sql)
        self._reset()
        parsed = parse(sql)
        values = parsed.values(() if params is None else params)
        self._connection._run(self._execute_with_files(files, parsed.sql, values))
        if not self._has_result:
            return None
        rows = self._all_tuples()
        return rows[0] if rows else None

    def _execute_with_files(self, files: Any, sql: str, values: Sequence[object]) -> Op[None]:
        session = self._connection._session
        session.files = files
        try:
            yield from self._execute(sql, values, True)
        finally:
            session.files = None

    # ---- the rest of PEP 249 ----------------------------------------------------------------------------------------

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Does nothing: parameters carry their own types."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing: rows arrive whole."""

    def _check(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed")
        self._connection._check()

    def _reset(self) -> None:
        """Give the statement of the last execution back."""
        statement = self._statement
        if statement is not None:
            self._connection._session.give_back(statement, opened=True)
        self._clear()

    def close(self) -> None:
        """Close the cursor. The server is told together with the next request."""
        if not self._closed:
            self._reset()
            self._closed = True

    def __enter__(self) -> Cursor[R]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
