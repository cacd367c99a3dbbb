"""Informix's types for SQLAlchemy, and how values of the general types are bound."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from sqlalchemy import types as sqltypes
from sqlalchemy.sql import type_api
from sqlalchemy.sql.sqltypes import _AbstractInterval

from ..values import IntervalYM
from ..values import Text as TextValue


class SERIAL(sqltypes.Integer):
    """An INTEGER that the server counts."""

    __visit_name__ = "SERIAL"


class SERIAL8(sqltypes.BigInteger):
    """An INT8 that the server counts."""

    __visit_name__ = "SERIAL8"


class BIGSERIAL(sqltypes.BigInteger):
    """A BIGINT that the server counts."""

    __visit_name__ = "BIGSERIAL"


class INT8(sqltypes.BigInteger):
    """The older 8-byte integer."""

    __visit_name__ = "INT8"


class SMALLFLOAT(sqltypes.Float[Any]):
    """A 4-byte float."""

    __visit_name__ = "SMALLFLOAT"


class MONEY(sqltypes.Numeric[Any]):
    """A decimal with a currency; values are `Decimal`."""

    __visit_name__ = "MONEY"


class LVARCHAR(sqltypes.String):
    """Text of up to 32739 bytes."""

    __visit_name__ = "LVARCHAR"


class BYTE(sqltypes.LargeBinary):
    """A simple large object of bytes."""

    __visit_name__ = "BYTE"

    def bind_processor(self, dialect: Any) -> None:
        return None

    def result_processor(self, dialect: Any, coltype: Any) -> None:
        return None


class InformixText(sqltypes.Text):
    """A simple large object of text: must be bound as one, not as a string."""

    __visit_name__ = "TEXT"

    def bind_processor(self, dialect: Any) -> Callable[[Any], Any]:
        return lambda value: None if value is None else TextValue(value)


class InformixDatetime(sqltypes.DateTime):
    """DATETIME with any qualifier, for example `InformixDatetime("YEAR TO MINUTE")`."""

    __visit_name__ = "INFORMIX_DATETIME"

    def __init__(self, qualifier: str = "YEAR TO FRACTION(5)") -> None:
        super().__init__()
        self.qualifier = qualifier


class INTERVAL(type_api.NativeForEmulated, _AbstractInterval):
    """INTERVAL with any qualifier, for example `INTERVAL("YEAR(4) TO MONTH")`; the general Interval becomes one."""

    __visit_name__ = "INFORMIX_INTERVAL"
    native = True

    def __init__(self, qualifier: str = "DAY(9) TO FRACTION(5)") -> None:
        self.qualifier = qualifier

    @classmethod
    def adapt_emulated_to_native(cls, impl: Any, **kw: Any) -> INTERVAL:
        return INTERVAL()

    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        return _interval_literal

    @property
    def python_type(self) -> type[Any]:
        return IntervalYM if self.qualifier.startswith(("YEAR", "MONTH")) else dt.timedelta


def _interval_literal(value: Any) -> str:
    if isinstance(value, IntervalYM):
        return f"INTERVAL({value}) YEAR(9) TO MONTH"
    sign, value = ("-", -value) if value < dt.timedelta() else ("", value)
    hours, rest = divmod(value.seconds, 3600)
    clock = f"{hours:02d}:{rest // 60:02d}:{rest % 60:02d}.{value.microseconds // 10:05d}"
    return f"INTERVAL({sign}{value.days} {clock}) DAY(9) TO FRACTION(5)"


class _Date(sqltypes.Date):
    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        return lambda value: f"DATE('{value.isoformat()}')"


class _DateTime(sqltypes.DateTime):
    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        return lambda value: (
            f"DATETIME({value.strftime('%Y-%m-%d %H:%M:%S')}.{value.microsecond // 10:05d}) YEAR TO FRACTION(5)"
        )


class _Time(sqltypes.Time):
    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        return lambda value: f"DATETIME({value.strftime('%H:%M:%S')}.{value.microsecond // 10:05d}) HOUR TO FRACTION(5)"


COLSPECS: dict[type[Any], type[Any]] = {
    sqltypes.Date: _Date,
    sqltypes.DateTime: _DateTime,
    sqltypes.Time: _Time,
    sqltypes.LargeBinary: BYTE,
    sqltypes.Text: InformixText,
    sqltypes.Interval: INTERVAL,
}
