"""The optional compiled row decoder and parameter encoder: package `informix-sqli-speed`, with the same results.

Used when it is installed, unless the environment has INFORMIX_DB_PURE=1.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .types.codes import Qualifier, T

if TYPE_CHECKING:
    from .rowplan import Shape

try:
    import informix_db_speed
except ImportError:
    informix_db_speed = None

#: The interface that this driver knows; another version of the package is left alone.
VERSION = 3

_SIMPLE: dict[int, str] = {
    T.SMALLINT: "int16",
    T.INTEGER: "int32",
    T.SERIAL: "int32",
    T.BIGINT: "int64",
    T.BIGSERIAL: "int64",
    T.INT8: "int8",
    T.SERIAL8: "int8",
    T.FLOAT: "float64",
    T.SMALLFLOAT: "float32",
    T.DATE: "date",
    T.CHAR: "char",
    T.NCHAR: "char",
    T.VARCHAR: "varchar",
    T.NVARCHAR: "varchar",
}


def installed() -> bool:
    """The package is there, in a version that fits."""
    return informix_db_speed is not None and informix_db_speed.VERSION == VERSION


def enabled() -> bool:
    """The compiled decoder is to be used."""
    return installed() and os.environ.get("INFORMIX_DB_PURE", "") in ("", "0")


def param_encoders() -> tuple[Callable[..., bytes], Callable[[Sequence[Any], str], bytes | None]] | None:
    """The compiled `encode_param`, and `bind`, which gives None for what is not ordinary; None without the package."""
    return (informix_db_speed.encode_param, informix_db_speed.bind) if enabled() else None


def row_decoder(shapes: Sequence[Shape], encoding: str) -> Callable[..., int]:
    """The compiled decoder for these columns: (data, pos, end, rows) → position."""
    layouts = [(*_layout(item), item.decode) for item in shapes]
    decode: Callable[..., int] = informix_db_speed.RowDecoder(layouts, encoding).decode
    return decode


def column_builder(shapes: Sequence[Shape], encoding: str) -> Any:
    """What collects rows as columns in Arrow's layout; None without the package."""
    if not enabled():
        return None
    layouts = [(*_layout(item), item.decode) for item in shapes]
    return informix_db_speed.ColumnBuilder(layouts, encoding)


def _layout(item: Shape) -> tuple[str, int, int]:
    """(kind, width, argument) as the compiled decoder names them."""
    code, length = item.base_type, item.column.encoded_length
    if code in _SIMPLE:
        return _SIMPLE[code], item.width, 0
    if code in (T.DECIMAL, T.MONEY):
        return "decimal", item.width, length & 0xFF
    if code == T.DATETIME:
        q = Qualifier.of(length)
        return ("datetime" if q.start == 0 and q.end >= 10 else "call"), item.width, 0
    if item.kind == "var4":
        return {"text": "text", "boolean": "boolean"}.get(item.plain, "envelope"), 0, 0
    return "call", item.width, 0
