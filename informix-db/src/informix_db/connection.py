# Written by tools/async_to_sync.py from connection_async.py. Do not edit.
"""A connection: the public face of a session.

One operation runs at a time; others wait for the lock. Operations come from `_core.session` as generators and are run
by the transport (`_net`).
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import IO, TYPE_CHECKING, Generic, TypeVar, overload

from . import errors
from ._core.capabilities import ServerCapabilities
from ._core.locale import encoding_of
from ._core.session import Op, Session, Statement
from ._net import Lock, Transport
from .cursor import Cursor
from .errors import Error, InterfaceError, NotSupportedError, ProgrammingError
from .options import Options, check_names
from .params import Parameters, check_identifier
from .rows import M, N, R, RowFactory, RowFactoryOption, Values
from .tls import make_context
from .values import BlobLocator, ClobLocator

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import PlainConnectOptions

T = TypeVar("T")

#: Routines that open and close a large object, and the flags that open it for reading and for writing, too.
_LO_OPEN, _LO_CLOSE = "function informix.ifx_lo_open(blob ,integer)", "function informix.ifx_lo_close(integer)"
_LO_SEEK = "function informix.ifx_lo_seek(integer,int8,integer,int8)"
_LO_TRUNCATE = "function informix.ifx_lo_truncate(integer,int8)"
_LO_READ, _LO_READ_WRITE = 4, 8

#: Statement types that end, begin or forbid a transaction themselves: no BEGIN in front of them.
_NO_BEGIN = frozenset((1, 12, 13, 31, 34, 35, 36))


_NO_XA = "two-phase commit is not supported: Informix has it by XA only, and what its servers answer is not documented"


class Connection(Generic[R]):
    """A session with an Informix server. Made by `connect`."""

    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    DataError = errors.DataError
    OperationalError = errors.OperationalError
    IntegrityError = errors.IntegrityError
    InternalError = errors.InternalError
    ProgrammingError = errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    def __init__(self, options: Options, transport: Transport, session: Session) -> None:
        self._options = options
        self._transport = transport
        self._session = session
        self._lock = Lock()
        self._autocommit = options.autocommit
        self._version: str | None = None
        self._savepoints = 0
        #: Row factory of new cursors: None for tuples, `Row`, `dict`, or a function (names → (values → row)).
        self.row_factory: RowFactoryOption = options.row_factory
        #: Seconds after which a statement is cancelled, or None.
        self.statement_timeout: float | None = options.statement_timeout

    @overload
    @classmethod
    def connect(
        cls,
        host: str,
        port: int = 9088,
        user: str = "",
        password: str | None = None,
        database: str | None = None,
        server: str = "informix",
        *,
        row_factory: None = None,
        **more: Unpack[PlainConnectOptions],
    ) -> Connection[Values]: ...

    @overload
    @classmethod
    def connect(
        cls,
        host: str,
        port: int = 9088,
        user: str = "",
        password: str | None = None,
        database: str | None = None,
        server: str = "informix",
        *,
        row_factory: type[N],
        **more: Unpack[PlainConnectOptions],
    ) -> Connection[N]: ...

    @overload
    @classmethod
    def connect(
        cls,
        host: str,
        port: int = 9088,
        user: str = "",
        password: str | None = None,
        database: str | None = None,
        server: str = "informix",
        *,
        row_factory: RowFactory[M],
        **more: Unpack[PlainConnectOptions],
    ) -> Connection[M]: ...

    @classmethod  # type: ignore[misc]
    def connect(
        cls,
        host: str,
        port: int = 9088,
        user: str = "",
        password: str | None = None,
        database: str | None = None,
        server: str = "informix",
        *,
        row_factory: RowFactoryOption = None,
        **more: Unpack[PlainConnectOptions],
    ) -> Connection[R]:
        """Open a connection.

        `server` is the name of the database server (INFORMIXSERVER), `database` the database to open, or None.
        `connect_timeout` covers the TCP connection, TLS and the login; `read_timeout` is the longest silence of the
        server before the connection is given up; `statement_timeout` cancels a statement and keeps the connection.
        All times are seconds. `client_locale` decides how text is encoded on the wire; `db_locale` is sent as
        DB_LOCALE, and "auto" asks the server for the database's locale and uses its code set. `tls=True` verifies the
        server's certificate and name. `fetch_buffer` is the size of one batch of rows in bytes, `statement_cache` the
        number of prepared statements that are kept. `wide_counts` offers 8-byte row counts (Informix 15). Without them:
        no time-outs, `keepalive` and `autocommit` off, `client_locale` en_US.8859-1, no TLS, batches of 256 KiB and 64
        prepared statements.
        """
        check_names(more)
        options = Options(
            host=host,
            port=port,
            user=user,
            password=password,
            database=database,
            server=server,
            row_factory=row_factory,
            **more,
        )
        session = Session(
            encoding=options.encoding, fetch_buffer=options.fetch_buffer, cache_size=options.statement_cache
        )
        transport = Transport.connect(
            options.host,
            options.port,
            timeout=options.connect_timeout,
            read_timeout=options.connect_timeout or options.read_timeout,
            keepalive=options.keepalive,
            tls=make_context(options.tls, ca_file=options.tls_ca_file),
            server_hostname=options.tls_server_hostname,
        )
        try:
            login = session.connect(
                user=options.user,
                password=options.password,
                server=options.server,
                database=options.database,
                environment=options.environment,
                info=options.info,
                wide=options.wide_counts,
            )
            transport.run(login, session)
            connection = cls(options, transport, session)
            if options.db_locale == "auto" and options.database is not None:
                connection._use_database_locale()
        except BaseException:
            transport.abort()
            raise
        transport._read_timeout = options.read_timeout
        return connection

    def _use_database_locale(self) -> None:
        """Ask for the locale of the open database, and use its code set from here on."""
        with self.cursor(row_factory=tuple) as cursor:
            cursor.execute("select first 1 site from informix.systables where tabname = ' GL_COLLATE'", begin=False)
            row = cursor.fetchone()
        if row is None or not row[0]:
            raise InterfaceError("the server does not tell the locale of the database")
        self._session.clear_cache()
        self._session.encoding = encoding_of(str(row[0]).strip())

    # ---- operations -------------------------------------------------------------------------------------------------

    def _run(self, op: Op[T], timeout: float | None = None) -> T:
        """Run one operation of the protocol, alone."""
        with self._lock:
            try:
                return self._transport.run(
                    op, self._session, timeout=self.statement_timeout if timeout is None else timeout
                )
            except Error as error:
                if error.session_dead:
                    self._transport.abort()
                raise

    def _needs_begin(self, statement: Statement) -> bool:
        """True when a transaction is to be started before this statement."""
        session = self._session
        if self._autocommit or session.in_transaction or not session.logged or session.ansi:
            return False
        return statement.description.statement_type not in _NO_BEGIN

    @overload
    def cursor(self, *, scrollable: bool = False, hold: bool = False, row_factory: None = None) -> Cursor[R]: ...

    @overload
    def cursor(self, *, scrollable: bool = False, hold: bool = False, row_factory: type[N]) -> Cursor[N]: ...

    @overload
    def cursor(self, *, scrollable: bool = False, hold: bool = False, row_factory: RowFactory[M]) -> Cursor[M]: ...

    def cursor(  # type: ignore[misc]
        self, *, scrollable: bool = False, hold: bool = False, row_factory: RowFactoryOption = None
    ) -> Cursor[R]:
        """A new cursor. `scrollable`: rows can be fetched in any order; `hold`: it survives COMMIT."""
        self._check()
        return Cursor(self, scrollable=scrollable, hold=hold, row_factory=row_factory or self.row_factory)

    def execute(self, operation: str, parameters: Parameters = None, *, timeout: float | None = None) -> Cursor[R]:
        """Execute with a new cursor, which is returned."""
        cursor = self.cursor()
        cursor.execute(operation, parameters, timeout=timeout)
        return cursor

    def commit(self) -> None:
        """Commit the transaction; nothing happens when there is none."""
        self._check()
        if self._session.in_transaction or self._session.ansi:
            self._run(self._session.commit())

    def rollback(self) -> None:
        """Roll the transaction back; NotSupportedError in a database without a log, where nothing can be undone."""
        self._check()
        session = self._session
        if session.in_transaction or session.ansi:
            self._run(session.rollback())
        elif session.database is not None and not session.logged and not self._autocommit:
            raise NotSupportedError("the database has no log: what has been done cannot be rolled back")

    def begin(self) -> None:
        """Begin a transaction now (BEGIN WORK); needed in autocommit mode only."""
        self._check()
        self._run(self._session.begin())

    def savepoint(self, name: str) -> None:
        """Set a savepoint in the transaction (which is begun when there is none)."""
        self._check()
        self._run(self._session.savepoint("set", check_identifier(name, "savepoint")))

    def release_savepoint(self, name: str) -> None:
        """Forget a savepoint."""
        self._check()
        self._run(self._session.savepoint("release", check_identifier(name, "savepoint")))

    def rollback_to_savepoint(self, name: str) -> None:
        """Undo what was done since the savepoint."""
        self._check()
        self._run(self._session.savepoint("rollback", check_identifier(name, "savepoint")))

    # ---- two-phase commit: PEP 249's optional methods -------------------------------------------------------------

    def xid(self, format_id: int, global_transaction_id: str, branch_qualifier: str) -> tuple[int, str, str]:
        """Not supported: Informix has two-phase commit by XA only, whose answers are not documented."""
        raise NotSupportedError(_NO_XA)

    def tpc_begin(self, xid: tuple[int, str, str]) -> None:
        """Not supported, as `xid`."""
        raise NotSupportedError(_NO_XA)

    def tpc_prepare(self) -> None:
        """Not supported, as `xid`."""
        raise NotSupportedError(_NO_XA)

    def tpc_commit(self, xid: tuple[int, str, str] | None = None) -> None:
        """Not supported, as `xid`."""
        raise NotSupportedError(_NO_XA)

    def tpc_rollback(self, xid: tuple[int, str, str] | None = None) -> None:
        """Not supported, as `xid`."""
        raise NotSupportedError(_NO_XA)

    def tpc_recover(self) -> list[tuple[int, str, str]]:
        """Not supported, as `xid`."""
        raise NotSupportedError(_NO_XA)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A block that commits, or rolls back on an exception. Inside a transaction it is a savepoint."""
        self._check()
        if self._session.in_transaction:
            self._savepoints += 1
            name = f"ifxdb_sp{self._savepoints}"
            self.savepoint(name)
            try:
                yield
            except BaseException:
                if not self.closed:
                    self.rollback_to_savepoint(name)
                raise
            self.release_savepoint(name)
            return
        if not self._session.ansi:
            self.begin()
        try:
            yield
        except BaseException:
            if not self.closed:
                self.rollback()
            raise
        self.commit()

    def fast_path_call(self, signature: str, *params: object) -> list[object]:
        """Call a routine by its signature, such as `function informix.ifx_lo_close(integer)`, without a statement."""
        self._check()
        return self._run(self._session.call_routine(signature, params))

    @overload
    def read_large_object(
        self, locator: BlobLocator | ClobLocator, *, into: None = None, piece: int = 128 << 10
    ) -> bytes: ...

    @overload
    def read_large_object(
        self, locator: BlobLocator | ClobLocator, *, into: IO[bytes], piece: int = 128 << 10
    ) -> int: ...

    def read_large_object(
        self, locator: BlobLocator | ClobLocator, *, into: IO[bytes] | None = None, piece: int = 128 << 10
    ) -> bytes | int:
        """The content that a locator of a row stands for, read in pieces.

        With `into`, a writable binary stream, the content is written there as it arrives, and its size is returned.
        """
        if not 0 < piece <= 16 << 20:
            raise ProgrammingError("a piece of a large object has 1 byte to 16 MiB")
        stream = io.BytesIO() if into is None else into
        (descriptor,) = self.fast_path_call(_LO_OPEN, locator, _LO_READ)
        if not isinstance(descriptor, int):
            raise InterfaceError("the server did not open the large object")
        size = 0
        try:
            while part := self._run(self._session.read_large_object(descriptor, piece)):
                stream.write(part)
                size += len(part)
        finally:
            if not self.closed:
                self.fast_path_call(_LO_CLOSE, descriptor)
        return stream.getvalue() if isinstance(stream, io.BytesIO) and into is None else size

    def write_large_object(
        self, locator: BlobLocator | ClobLocator, content: bytes, *, offset: int = 0, truncate: bool = False
    ) -> None:
        """Put bytes into what a locator of a row stands for, from `offset` on; with `truncate` they are its end.

        The row has it at once, as after an UPDATE. A CLOB's bytes are in the locale's code set.
        """
        if not 0 <= offset < 1 << 63:
            raise ProgrammingError(f"a large object has no byte {offset}")
        (descriptor,) = self.fast_path_call(_LO_OPEN, locator, _LO_READ_WRITE)
        if not isinstance(descriptor, int):
            raise InterfaceError("the server did not open the large object")
        try:
            self.fast_path_call(_LO_SEEK, descriptor, offset, 0, 0)
            for at in range(0, len(content), 16 << 20):
                self._run(self._session.write_large_object(descriptor, content[at : at + (16 << 20)]))
            if truncate:
                self.fast_path_call(_LO_TRUNCATE, descriptor, offset + len(content))
        finally:
            if not self.closed:
                self.fast_path_call(_LO_CLOSE, descriptor)

    def cancel(self) -> bool:
        """Interrupt the running statement (from another task or thread); False when none runs.

        The statement fails with QueryCanceledError. When it ended before the interrupt was noticed, its result
        stands and the connection is closed, because the interrupt could hit the next statement.
        """
        return self._transport.cancel()

    def ping(self) -> None:
        """Make sure, with one round trip, that the server answers."""
        with self.cursor() as cursor:
            cursor.execute("select 1 from informix.systables where tabid = 1", begin=False)
            cursor.fetchall()

    def close(self) -> None:
        """End the session. An open transaction is rolled back by the server."""
        if not self._transport.closed:
            self._transport.close(self._session)

    # ---- what is known of the session -------------------------------------------------------------------------------

    def _check(self) -> None:
        if self._transport.closed:
            raise InterfaceError("the connection is closed")

    @property
    def closed(self) -> bool:
        """True when the connection has been closed, by `close` or because it was lost."""
        return self._transport.closed

    def is_alive(self) -> bool:
        """False when the server has gone, as far as can be told without asking it."""
        return self._transport.is_alive()

    @property
    def autocommit(self) -> bool:
        """True: every statement is its own transaction. Cannot be changed inside a transaction."""
        return self._autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        if self._session.in_transaction and bool(value) != self._autocommit:
            raise errors.ProgrammingError("autocommit cannot be changed inside a transaction")
        self._autocommit = bool(value)

    @property
    def in_transaction(self) -> bool:
        """True when a transaction is open."""
        return self._session.in_transaction

    @property
    def encoding(self) -> str:
        """The Python codec of text on the wire."""
        return self._session.encoding

    @property
    def database(self) -> str | None:
        """The database that was opened."""
        return self._session.database

    @property
    def server_capabilities(self) -> ServerCapabilities:
        """What was negotiated at login."""
        return self._session.capabilities

    @property
    def server_version_internal(self) -> str:
        """The version text of the login answer."""
        return self._session.capabilities.server_version

    def fetch_server_version(self) -> str:
        """The server's release, asked for once; the login's version text when the server does not tell."""
        if self._version is None:
            version = ""
            try:
                with self.cursor(row_factory=tuple) as cursor:
                    sql = "select dbinfo('version', 'full') from informix.systables where tabid = 1"
                    cursor.execute(sql, begin=False)
                    row = cursor.fetchone()
                    version = str(row[0]).strip() if row and row[0] else ""
            except errors.DatabaseError:
                if self.closed:
                    raise
            self._version = version or self.server_version_internal
        return self._version

    @property
    def server_version(self) -> str:
        """The server's release: one query on first use."""
        return self.fetch_server_version()

    def __enter__(self) -> Connection[R]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Commit, or roll back when an exception leaves the block; then close."""
        try:
            if not self.closed:
                if kind is None:
                    self.commit()
                elif self.in_transaction or self._session.ansi:
                    self.rollback()
        finally:
            self.close()


#: Opens a connection: see `Connection.connect`.
connect = Connection.connect
