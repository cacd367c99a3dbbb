# Written by tools/async_to_sync.py from pool_async.py. Do not edit.
"""A pool of connections.

No background task: connections are opened when wanted, checked when handed out, and thrown away when handed out or
returned too old. What comes back is rolled back first; what cannot be rolled back is closed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, cast, overload

from ._net import Condition, wait_until
from .connection import Connection
from .errors import Error, InterfaceError, PoolClosedError, PoolTimeoutError
from .options import check_names
from .rows import M, N, R, RowFactory, Values

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import MoreConnectOptions, PlainConnectOptions

_DEFAULT: Any = object()


class _Idle(Generic[R]):
    __slots__ = ("connection", "since")

    def __init__(self, connection: Connection[R]) -> None:
        self.connection = connection
        self.since = time.monotonic()


class ConnectionPool(Generic[R]):
    """Connections that are lent out. Made by `create_pool`."""

    def __init__(
        self,
        *,
        min_size: int = 0,
        max_size: int = 10,
        acquire_timeout: float | None = 30.0,
        max_idle: float | None = 600.0,
        max_lifetime: float | None = 3600.0,
        check_after: float | None = 30.0,
        connect_kwargs: Mapping[str, object] | None = None,
    ) -> None:
        """`max_idle` and `max_lifetime` are seconds after which a connection is replaced; a connection that was idle
        for more than `check_after` seconds is asked whether it still works before it is handed out."""
        if not 0 <= min_size <= max_size or max_size < 1:
            raise InterfaceError("a pool needs 0 <= min_size <= max_size and max_size >= 1")
        self._min, self._max = min_size, max_size
        self._acquire_timeout = acquire_timeout
        self._max_idle, self._max_lifetime, self._check_after = max_idle, max_lifetime, check_after
        self._connect_kwargs: dict[str, Any] = dict(connect_kwargs or {})
        check_names(self._connect_kwargs)
        self._condition = Condition()
        self._idle: deque[_Idle[R]] = deque()
        self._lent: dict[int, Connection[R]] = {}
        self._born: dict[int, float] = {}
        self._opening = 0
        self._closed = False

    def open(self) -> ConnectionPool[R]:
        """Open `min_size` connections."""
        made: list[Connection[R]] = []
        try:
            for _ in range(self._min - self.size):
                connection = cast("Connection[R]", Connection.connect(**self._connect_kwargs))
                made.append(connection)
                self._born[id(connection)] = time.monotonic()
        finally:
            for connection in made:
                self._idle.append(_Idle(connection))
        return self

    # ---- what is known of the pool ----------------------------------------------------------------------------------

    @property
    def min_size(self) -> int:
        return self._min

    @property
    def max_size(self) -> int:
        return self._max

    @property
    def size(self) -> int:
        """Connections that are open or being opened."""
        return len(self._idle) + len(self._lent) + self._opening

    @property
    def idle_count(self) -> int:
        """Connections that wait to be lent."""
        return len(self._idle)

    @property
    def closed(self) -> bool:
        return self._closed

    # ---- lending ----------------------------------------------------------------------------------------------------

    def acquire(self, timeout: float | None = _DEFAULT) -> Connection[R]:
        """Borrow a connection; PoolTimeoutError when none becomes free within `timeout` (or the pool's) seconds."""
        wait = self._acquire_timeout if timeout is _DEFAULT else timeout
        deadline = None if wait is None else time.monotonic() + wait
        while True:
            doomed: list[Connection[R]] = []
            entry: _Idle[R] | None = None
            with self._condition:
                left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
                if not wait_until(self._condition, self._available, left):
                    raise PoolTimeoutError(f"no connection became free within {wait} s (max_size is {self._max})")
                if self._closed:
                    raise PoolClosedError("the pool is closed")
                now = time.monotonic()
                while self._idle and entry is None:
                    candidate = self._idle.pop()  # the one used last: the others may grow old
                    if self._too_old(candidate, now):
                        doomed.append(candidate.connection)
                    else:
                        entry = candidate
                self._opening += 1
            opened = False
            try:
                for connection in doomed:
                    self._discard(connection)
                if entry is None:
                    connection = cast("Connection[R]", Connection.connect(**self._connect_kwargs))
                    self._born[id(connection)] = time.monotonic()
                elif self._healthy(entry):
                    connection = entry.connection
                else:
                    self._discard(entry.connection)
                    continue
                if self._closed:
                    self._discard(connection)
                    raise PoolClosedError("the pool is closed")
                self._lent[id(connection)] = connection
                opened = True
                return connection
            except BaseException:
                if entry is not None and not opened:
                    entry.connection._transport.abort()
                    self._born.pop(id(entry.connection), None)
                raise
            finally:
                with self._condition:
                    self._opening -= 1
                    if not opened:
                        self._condition.notify()

    def _available(self) -> bool:
        return self._closed or bool(self._idle) or self.size < self._max

    def _too_old(self, entry: _Idle[R], now: float) -> bool:
        born = self._born.get(id(entry.connection), now)
        return (self._max_idle is not None and now - entry.since > self._max_idle) or (
            self._max_lifetime is not None and now - born > self._max_lifetime
        )

    def _healthy(self, entry: _Idle[R]) -> bool:
        """Is the connection still good? Asks the server only after a long rest."""
        if not entry.connection.is_alive():
            return False
        if self._check_after is None or time.monotonic() - entry.since <= self._check_after:
            return True
        try:
            entry.connection.ping()
        except Error:
            return False
        return not entry.connection.closed

    def release(self, conn: Connection[R], *, broken: bool = False) -> None:
        """Give a connection back. `broken=True` closes it instead of lending it again."""
        if self._lent.get(id(conn)) is not conn:
            raise InterfaceError("the connection was not borrowed from this pool")
        # A connection that still runs a statement for somebody else is not fit to be lent.
        good = not broken and not conn.closed and not self._closed and not conn._transport.busy
        try:
            if good:
                if conn.in_transaction or conn._session.ansi:
                    try:
                        conn.rollback()
                    except Error:
                        good = False
                good = good and not conn.closed and not self._expired(conn)
        except BaseException:
            good = False
            raise
        finally:
            del self._lent[id(conn)]
            if good:
                self._idle.append(_Idle(conn))
            else:
                self._born.pop(id(conn), None)
                conn._transport.abort()
            with self._condition:
                self._condition.notify()

    def _expired(self, conn: Connection[R]) -> bool:
        born = self._born.get(id(conn), 0.0)
        return self._max_lifetime is not None and time.monotonic() - born > self._max_lifetime

    @contextmanager
    def connection(self, timeout: float | None = _DEFAULT) -> Iterator[Connection[R]]:
        """Borrow a connection for a block. What is not committed at its end is rolled back."""
        conn = self.acquire(timeout)
        try:
            yield conn
        finally:
            self.release(conn)

    def _discard(self, connection: Connection[R]) -> None:
        self._born.pop(id(connection), None)
        connection.close()

    def close(self) -> None:
        """Close the idle connections now, and the lent ones when they come back. Waiters get PoolClosedError."""
        with self._condition:
            self._closed = True
            idle = [entry.connection for entry in self._idle]
            self._idle.clear()
            self._condition.notify_all()
        for connection in idle:
            self._discard(connection)

    def __enter__(self) -> ConnectionPool[R]:
        return self.open() if not self._closed and self.size < self._min else self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@overload
def create_pool(
    *,
    host: str,
    port: int = 9088,
    user: str,
    password: str | None,
    database: str | None = None,
    server: str = "informix",
    min_size: int = 0,
    max_size: int = 10,
    acquire_timeout: float | None = 30.0,
    max_idle: float | None = 600.0,
    max_lifetime: float | None = 3600.0,
    check_after: float | None = 30.0,
    row_factory: None = None,
    **connect_kwargs: Unpack[PlainConnectOptions],
) -> ConnectionPool[Values]: ...


@overload
def create_pool(
    *,
    host: str,
    port: int = 9088,
    user: str,
    password: str | None,
    database: str | None = None,
    server: str = "informix",
    min_size: int = 0,
    max_size: int = 10,
    acquire_timeout: float | None = 30.0,
    max_idle: float | None = 600.0,
    max_lifetime: float | None = 3600.0,
    check_after: float | None = 30.0,
    row_factory: type[N],
    **connect_kwargs: Unpack[PlainConnectOptions],
) -> ConnectionPool[N]: ...


@overload
def create_pool(
    *,
    host: str,
    port: int = 9088,
    user: str,
    password: str | None,
    database: str | None = None,
    server: str = "informix",
    min_size: int = 0,
    max_size: int = 10,
    acquire_timeout: float | None = 30.0,
    max_idle: float | None = 600.0,
    max_lifetime: float | None = 3600.0,
    check_after: float | None = 30.0,
    row_factory: RowFactory[M],
    **connect_kwargs: Unpack[PlainConnectOptions],
) -> ConnectionPool[M]: ...


def create_pool(  # type: ignore[misc]
    *,
    host: str,
    port: int = 9088,
    user: str,
    password: str | None,
    database: str | None = None,
    server: str = "informix",
    min_size: int = 0,
    max_size: int = 10,
    acquire_timeout: float | None = 30.0,
    max_idle: float | None = 600.0,
    max_lifetime: float | None = 3600.0,
    check_after: float | None = 30.0,
    **connect_kwargs: Unpack[MoreConnectOptions],
) -> ConnectionPool[R]:
    """A pool; `min_size` connections are open when this returns. Other arguments: see `connect`."""
    pool: ConnectionPool[R] = ConnectionPool(
        min_size=min_size,
        max_size=max_size,
        acquire_timeout=acquire_timeout,
        max_idle=max_idle,
        max_lifetime=max_lifetime,
        check_after=check_after,
        connect_kwargs=dict(
            connect_kwargs, host=host, port=port, user=user, password=password, database=database, server=server
        ),
    )
    try:
        return pool.open()
    except BaseException:
        pool.close()
        raise
