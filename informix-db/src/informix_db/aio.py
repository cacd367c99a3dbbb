"""The asyncio side: the same protocol core on a socket of the event loop, no threads.

    async with await aio.connect(host, 9088, user=…, password=…, database=…) as connection:
        async with connection.cursor() as cursor:
            await cursor.execute("select …", (1,))
            async for row in cursor: …

A task that is cancelled while its statement runs interrupts the statement on the server.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, overload

from .connection_async import AsyncConnection, connect
from .cursor_async import AsyncCursor
from .pool_async import AsyncConnectionPool
from .rows import M, N, R, RowFactory, Values

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import PlainPoolOptions, PoolOptions

__all__ = ["AsyncConnection", "AsyncConnectionPool", "AsyncCursor", "connect", "create_pool"]


@overload
def create_pool(*, row_factory: None = None, **kwargs: Unpack[PlainPoolOptions]) -> AwaitablePool[Values]: ...


@overload
def create_pool(*, row_factory: type[N], **kwargs: Unpack[PlainPoolOptions]) -> AwaitablePool[N]: ...


@overload
def create_pool(*, row_factory: RowFactory[M], **kwargs: Unpack[PlainPoolOptions]) -> AwaitablePool[M]: ...


def create_pool(**kwargs: Unpack[PoolOptions]) -> AwaitablePool[R]:  # type: ignore[misc]
    """A pool, to be used as `pool = create_pool(…)`, `await create_pool(…)` or `async with create_pool(…) as pool`.

    Connections are opened when they are wanted; `await` and `async with` open `min_size` of them at once. Arguments:
    those of `AsyncConnectionPool`, and those of `connect`.
    """
    names = ("min_size", "max_size", "acquire_timeout", "max_idle", "max_lifetime", "check_after")
    options: dict[str, object] = dict(kwargs)
    own = {name: options.pop(name) for name in names if name in options}
    return AwaitablePool(**own, connect_kwargs=options)  # type: ignore[arg-type]


class AwaitablePool(AsyncConnectionPool[R]):
    """A pool that `await` opens."""

    def __await__(self) -> Generator[object, None, AsyncConnectionPool[R]]:
        return self.open().__await__()
