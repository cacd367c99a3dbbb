"""IBM Informix over its own protocol (SQLI), in pure Python: PEP 249. The asyncio side is `informix_db.aio`."""

from __future__ import annotations

from types import ModuleType

from ._core.capabilities import ServerCapabilities
from ._version import __version__
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
from .rows import Row, RowFactory
from .values import BlobLocator, ClobLocator, CollectionValue, IntervalYM, PartialDatetime, RowValue, Text, Value

apilevel = "2.0"
#: Threads may share the module and connections: one statement of a connection runs at a time.
threadsafety = 2
#: `:1`; `?` and `:name` work as well.
paramstyle = "numeric"

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
    "RowFactory",
    "RowValue",
    "ServerCapabilities",
    "StatementTimeoutError",
    "Text",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Value",
    "Warning",
    "__version__",
    "apilevel",
    "connect",
    "create_pool",
    "paramstyle",
    "threadsafety",
]


def _notice_other_files() -> None:
    """Say so when the files of `informix-driver`, whose import name is the same, lie in this folder, too."""
    import os

    if os.path.exists(os.path.join(os.path.dirname(__file__), "_protocol.py")):
        import warnings

        warnings.warn(
            "informix-driver has the same import name as informix-sqli, and its files are mixed with these: "
            "uninstall both, then install the one that is wanted",
            RuntimeWarning,
            stacklevel=3,
        )


_notice_other_files()


def __getattr__(name: str) -> ModuleType:
    # `informix_db.aio` without importing asyncio for those who do not use it.
    if name == "aio":
        import importlib

        return importlib.import_module(".aio", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
