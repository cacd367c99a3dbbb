"""IBM Informix over its own protocol (SQLI), in pure Python: PEP 249. The asyncio side is `informix_db.aio`."""

from __future__ import annotations

from typing import Any

from ._core.capabilities import ServerCapabilities
from .connection import Connection, connect
from .cursor import Cursor
from .dbapi import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)
from .errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    PoolClosedError,
    PoolTimeoutError,
    ProgrammingError,
    ProtocolError,
    QueryCanceledError,
    StatementTimeoutError,
    Warning,
)
from .pool import ConnectionPool, create_pool
from .rows import Row
from .values import BlobLocator, ClobLocator, CollectionValue, IntervalYM, PartialDatetime, RowValue, Text

apilevel = "2.0"
#: Threads may share the module and connections: one statement of a connection runs at a time.
threadsafety = 2
#: `:1`; `?` and `:name` work as well.
paramstyle = "numeric"
__version__ = "0.1.0"

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "BlobLocator",
    "ClobLocator",
    "CollectionValue",
    "Connection",
    "ConnectionPool",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "IntervalYM",
    "NotSupportedError",
    "OperationalError",
    "PartialDatetime",
    "PoolClosedError",
    "PoolTimeoutError",
    "ProgrammingError",
    "ProtocolError",
    "QueryCanceledError",
    "Row",
    "RowValue",
    "ServerCapabilities",
    "StatementTimeoutError",
    "Text",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "__version__",
    "apilevel",
    "connect",
    "create_pool",
    "paramstyle",
    "threadsafety",
]


def __getattr__(name: str) -> Any:
    # `informix_db.aio` without importing asyncio for those who do not use it.
    if name == "aio":
        import importlib

        return importlib.import_module(".aio", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
