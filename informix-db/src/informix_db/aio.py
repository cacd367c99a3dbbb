"""The asyncio side: the same protocol core on a socket of the event loop, no threads.

    async with await aio.connect(host, 9088, user=…, password=…, database=…) as connection:
        async with connection.cursor() as cursor:
            await cursor.execute("select …", (1,))
            async for row in cursor: …

A task that is cancelled while its statement runs interrupts the statement on the server.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from .connection_async import AsyncConnection
from .connection_async import connect as _connect
from .cursor_async import AsyncCursor
from .pool_async import AsyncConnectionPool

__all__ = ["AsyncConnection", "AsyncConnectionPool", "AsyncCursor", "connect", "create_pool"]


async def connect(*args: Any, **kwargs: Any) -> AsyncConnection:
    """Open a connection: see `AsyncConnection.connect`."""
    return await _connect(*args, **kwargs)


def create_pool(**kwargs: Any) -> AsyncConnectionPool:
    """A pool, to be used as `pool = create_pool(…)`, `await create_pool(…)` or `async with create_pool(…) as pool`.

    Connections are opened when they are wanted; `await` and `async with` open `min_size` of them at once. Arguments:
    those of `AsyncConnectionPool`, and those of `connect`.
    """
    names = ("min_size", "max_size", "acquire_timeout", "max_idle", "max_lifetime", "check_after")
    own = {name: kwargs.pop(name) for name in names if name in kwargs}
    return _AwaitablePool(**own, connect_kwargs=kwargs)


class _AwaitablePool(AsyncConnectionPool):
    def __await__(self) -> Generator[Any, None, AsyncConnectionPool]:
        return self.open().__await__()
