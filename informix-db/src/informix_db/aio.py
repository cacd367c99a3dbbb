"""The asyncio side: the same protocol core on a socket of the event loop, no threads.

    async with await aio.connect(host, 9088, user=…, password=…, database=…) as connection:
        async with connection.cursor() as cursor:
            await cursor.execute("select …", (1,))
            async for row in cursor: …

A task that is cancelled while its statement runs interrupts the statement on the server.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from .connection_async import AsyncConnection
from .connection_async import connect as _connect
from .cursor_async import AsyncCursor
from .pool_async import AsyncConnectionPool

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import ConnectOptions, PoolOptions

__all__ = ["AsyncConnection", "AsyncConnectionPool", "AsyncCursor", "connect", "create_pool"]


async def connect(*args: Any, **kwargs: Unpack[ConnectOptions]) -> AsyncConnection:
    """Open a connection: see `AsyncConnection.connect`."""
    options: dict[str, Any] = dict(kwargs)
    return await _connect(*args, **options)


def create_pool(**kwargs: Unpack[PoolOptions]) -> AsyncConnectionPool:
    """A pool, to be used as `pool = create_pool(…)`, `await create_pool(…)` or `async with create_pool(…) as pool`.

    Connections are opened when they are wanted; `await` and `async with` open `min_size` of them at once. Arguments:
    those of `AsyncConnectionPool`, and those of `connect`.
    """
    names = ("min_size", "max_size", "acquire_timeout", "max_idle", "max_lifetime", "check_after")
    options: dict[str, Any] = dict(kwargs)
    own = {name: options.pop(name) for name in names if name in options}
    return _AwaitablePool(**own, connect_kwargs=options)


class _AwaitablePool(AsyncConnectionPool):
    def __await__(self) -> Generator[Any, None, AsyncConnectionPool]:
        return self.open().__await__()
