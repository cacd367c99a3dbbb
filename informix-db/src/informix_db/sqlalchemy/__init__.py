"""SQLAlchemy dialect: `informix+informix_db://user:password@host:9088/database?server=ol_prod`, also for asyncio.

`types` holds Informix's types, `compiler` its SQL, `reflection` reads the system catalog, `base` ties them together,
`aio` is the asyncio side, which SQLAlchemy finds by itself for `create_async_engine`.
"""

from .base import InformixDialect
from .types import (
    BIGSERIAL,
    BYTE,
    INT8,
    INTERVAL,
    LVARCHAR,
    MONEY,
    SERIAL,
    SERIAL8,
    SMALLFLOAT,
    InformixDatetime,
)

__all__ = [
    "BIGSERIAL",
    "BYTE",
    "INT8",
    "INTERVAL",
    "LVARCHAR",
    "MONEY",
    "SERIAL",
    "SERIAL8",
    "SMALLFLOAT",
    "AsyncInformixDialect",
    "InformixDatetime",
    "InformixDialect",
]


def __getattr__(name: str) -> object:
    if name == "AsyncInformixDialect":
        from .aio import AsyncInformixDialect

        return AsyncInformixDialect
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
