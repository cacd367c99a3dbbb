"""The asyncio side of the dialect: SQLAlchemy's greenlet bridge over `informix_db.aio`."""

from __future__ import annotations

from typing import Any

from sqlalchemy import pool
from sqlalchemy.connectors.asyncio import (
    AsyncAdapt_dbapi_connection,
    AsyncAdapt_dbapi_module,
    AsyncAdapt_terminate,
)

import informix_db

from .. import aio
from .base import InformixDialect, InformixExecutionContext

try:
    from sqlalchemy.util.concurrency import await_
except ImportError:  # SQLAlchemy 2.0
    from sqlalchemy.util import await_only as await_


class AdaptedConnection(AsyncAdapt_terminate, AsyncAdapt_dbapi_connection):
    """A connection that looks blocking to SQLAlchemy's core."""

    __slots__ = ()

    def ping(self) -> None:
        await_(self._connection.ping())

    async def _terminate_graceful_close(self) -> None:
        await self._connection.close()

    def _terminate_force_close(self) -> None:
        self._connection._transport.abort()


class AdaptedModule(AsyncAdapt_dbapi_module):
    """`informix_db` with an asyncio `connect`."""

    def __init__(self) -> None:
        super().__init__(informix_db)
        self.paramstyle = "qmark"
        for name in informix_db.__all__:
            if name[0].isupper() and not hasattr(self, name):
                setattr(self, name, getattr(informix_db, name))
        for name in informix_db.errors.__all__:
            setattr(self, name, getattr(informix_db.errors, name))

    def connect(self, *arguments: Any, **keywords: Any) -> AdaptedConnection:
        make = keywords.pop("async_creator_fn", aio.connect)
        return await_(AdaptedConnection.create(self, make(*arguments, **keywords)))


class AsyncExecutionContext(InformixExecutionContext):
    def create_server_side_cursor(self) -> Any:
        return self._dbapi_connection.cursor(server_side=True)


class AsyncInformixDialect(InformixDialect):
    """`create_async_engine("informix+informix_db://…")`"""

    execution_ctx_cls = AsyncExecutionContext
    is_async = True
    supports_statement_cache = True
    has_terminate = True
    supports_server_side_cursors = True

    @classmethod
    def import_dbapi(cls) -> Any:
        return AdaptedModule()

    @classmethod
    def get_pool_class(cls, url: Any) -> type[pool.Pool]:
        return pool.AsyncAdaptedQueuePool

    def do_terminate(self, dbapi_connection: Any) -> None:
        dbapi_connection.terminate()

    def get_driver_connection(self, connection: Any) -> Any:
        return connection._connection
