"""Type objects and constructors of PEP 249."""

from __future__ import annotations

import datetime as dt
import time

from ._core.types.codes import T


class TypeObject:
    """Equal to every type code that it stands for: `column[1] == NUMBER`."""

    def __init__(self, name: str, *codes: T) -> None:
        self.name = name
        self.codes = frozenset(int(c) for c in codes)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeObject):
            return self.codes == other.codes
        return other in self.codes

    def __hash__(self) -> int:
        return hash(self.codes)

    def __repr__(self) -> str:
        return self.name


STRING = TypeObject("STRING", T.CHAR, T.NCHAR, T.VARCHAR, T.NVARCHAR, T.LVARCHAR, T.UDTVAR, T.TEXT)
BINARY = TypeObject("BINARY", T.BYTE)
NUMBER = TypeObject(
    "NUMBER",
    T.SMALLINT,
    T.INTEGER,
    T.SERIAL,
    T.INT8,
    T.SERIAL8,
    T.BIGINT,
    T.BIGSERIAL,
    T.FLOAT,
    T.SMALLFLOAT,
    T.DECIMAL,
    T.MONEY,
)
DATETIME = TypeObject("DATETIME", T.DATE, T.DATETIME, T.INTERVAL)
ROWID = TypeObject("ROWID", T.SERIAL, T.SERIAL8, T.BIGSERIAL)

Date = dt.date
Time = dt.time
Timestamp = dt.datetime


def Binary(data: bytes | bytearray | memoryview) -> bytes:
    """A BYTE value."""
    return bytes(data)


def DateFromTicks(ticks: float) -> dt.date:
    """The local date at `ticks` seconds since 1970."""
    return dt.date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> dt.time:
    """The local time of day at `ticks` seconds since 1970."""
    return dt.time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> dt.datetime:
    """The local date and time at `ticks` seconds since 1970."""
    return dt.datetime(*time.localtime(ticks)[:6])
