"""Rows as columns: NumPy arrays, Arrow tables, data frames.

When every column has a fixed width, a run of TUPLE messages is an array of records as it stands: NumPy reads it in
place, without a Python object per value. Otherwise rows are decoded by the row plan and transposed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from ._core import speed
from ._core.rowplan import Plan, RowSink
from ._core.types.codes import Qualifier, T
from ._core.types.decode import BIGINT_NULL, INT_NULL, SMALLINT_NULL
from .errors import NotSupportedError, ProtocolError

#: Days from 1899-12-31 to 1970-01-01.
_EPOCH_DAYS = 25568

#: Types whose bytes NumPy reads directly: record format, and the value that means NULL.
_DIRECT: dict[int, tuple[str, int | None]] = {
    T.SMALLINT: (">i2", SMALLINT_NULL),
    T.INTEGER: (">i4", INT_NULL),
    T.SERIAL: (">i4", INT_NULL),
    T.BIGINT: (">i8", BIGINT_NULL),
    T.BIGSERIAL: (">i8", BIGINT_NULL),
    T.DATE: (">i4", INT_NULL),
    T.FLOAT: (">f8", None),
    T.SMALLFLOAT: (">f4", None),
}


def _numpy() -> Any:
    try:
        import numpy
    except ImportError as error:
        raise NotSupportedError("this needs NumPy: pip install informix-sqli[numpy]") from error
    return numpy


def _segments_to_rows(plan: Plan, segments: Sequence[bytes]) -> list[tuple[Any, ...]]:
    sink = RowSink(plan)
    for segment in segments:
        if sink.consume(segment, 0, len(segment)) != len(segment):
            raise ProtocolError("a run of rows does not end with a row")
    if sink.error is not None:
        raise sink.error
    return sink.rows


def _records(np: Any, plan: Plan, segments: Sequence[bytes]) -> Any:
    """The rows as an array of records, or None when a column cannot be read in place."""
    if plan.fixed_size is None or any(c.type_code not in _DIRECT for c in plan.columns):
        return None
    fields = [("code", ">i2"), ("warning", ">i2"), ("size", ">i4")]
    fields += [(f"c{i}", _DIRECT[c.type_code][0]) for i, c in enumerate(plan.columns)]
    if plan.fixed_size & 1:
        fields.append(("pad", "u1"))
    layout = np.dtype(fields)
    data = b"".join(segments)
    if len(data) % layout.itemsize:
        raise ProtocolError("a row does not have the described length")
    records = np.frombuffer(data, dtype=layout)
    if len(records) and not ((records["code"] == 14).all() and (records["size"] == plan.fixed_size).all()):
        raise ProtocolError("a row does not have the described length")
    return records


def _is_null(np: Any, raw: Any, code: int) -> Any:
    null = _DIRECT[code][1]
    if null is not None:
        return raw == null
    bits = raw.view(">u8" if raw.dtype.itemsize == 8 else ">u4")
    return bits == (0xFFFFFFFFFFFFFFFF if raw.dtype.itemsize == 8 else 0xFFFFFFFF)


def _names(plan: Plan) -> list[str]:
    """Column names, made different where a name occurs twice."""
    names: list[str] = []
    for column in plan.columns:
        name, n = column.name, 1
        while name in names:
            n += 1
            name = f"{column.name}_{n}"
        names.append(name)
    return names


def to_numpy(plan: Plan, rows: Sequence[tuple[Any, ...]], segments: Sequence[bytes]) -> dict[str, Any]:
    """Column name → array. Columns with NULLs are masked arrays; types that NumPy lacks are object arrays."""
    np = _numpy()
    records = _records(np, plan, segments)
    if records is None:
        rows = [*rows, *_segments_to_rows(plan, segments)]
    result = {}
    for i, (name, column) in enumerate(zip(_names(plan), plan.columns, strict=True)):
        parts = []
        if rows or records is None:
            parts.append(_objects_to_array(np, column.type_code, [row[i] for row in rows]))
        if records is not None and (len(records) or not rows):
            parts.append(_field_to_array(np, column.type_code, records[f"c{i}"]))
        if len(parts) == 1:
            result[name] = parts[0]
        elif any(isinstance(p, np.ma.MaskedArray) for p in parts):
            result[name] = np.ma.concatenate(parts)
        else:
            result[name] = np.concatenate(parts)
    return result


def _field_to_array(np: Any, code: int, raw: Any) -> Any:
    null = _is_null(np, np.ascontiguousarray(raw), code)
    if code == T.DATE:
        values = (raw.astype("i8") - _EPOCH_DAYS).astype("datetime64[D]")
    else:
        values = raw.astype(raw.dtype.newbyteorder("="))
    return np.ma.MaskedArray(values, mask=null) if null.any() else values


_NUMPY_TYPES: dict[int, tuple[str, Any]] = {
    T.SMALLINT: ("i2", 0),
    T.INTEGER: ("i4", 0),
    T.SERIAL: ("i4", 0),
    T.BIGINT: ("i8", 0),
    T.BIGSERIAL: ("i8", 0),
    T.INT8: ("i8", 0),
    T.SERIAL8: ("i8", 0),
    T.FLOAT: ("f8", 0.0),
    T.SMALLFLOAT: ("f4", 0.0),
    T.DATE: ("datetime64[D]", dt.date(1970, 1, 1)),
}


def _objects_to_array(np: Any, code: int, values: list[Any]) -> Any:
    kind = _NUMPY_TYPES.get(code)
    if kind is None:
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    dtype, filler = kind
    null = [v is None for v in values]
    if any(null):
        return np.ma.MaskedArray(np.array([filler if v is None else v for v in values], dtype=dtype), mask=null)
    return np.array(values, dtype=dtype)


def _arrow_type(pa: Any, plan: Plan, index: int) -> tuple[Any, Callable[[Any], Any] | None]:
    """(Arrow type, conversion of the Python value or None) of a column."""
    column = plan.columns[index]
    code, length = column.type_code, column.encoded_length
    simple = {
        T.SMALLINT: pa.int16(),
        T.INTEGER: pa.int32(),
        T.SERIAL: pa.int32(),
        T.BIGINT: pa.int64(),
        T.BIGSERIAL: pa.int64(),
        T.INT8: pa.int64(),
        T.SERIAL8: pa.int64(),
        T.FLOAT: pa.float64(),
        T.SMALLFLOAT: pa.float32(),
        T.DATE: pa.date32(),
        T.BYTE: pa.binary(),
        T.TEXT: pa.string(),
        T.BOOLEAN: pa.bool_(),
    }
    if code in simple:
        return simple[T(code)], None
    if code in (T.DECIMAL, T.MONEY):
        precision, scale = length >> 8, length & 0xFF
        if scale == 0xFF:  # floating decimals have no common scale
            return pa.string(), _decimal_text
        return pa.decimal128(precision, scale), None
    if code == T.DATETIME:
        q = Qualifier.of(length)
        if q.start == 0:
            return (pa.date32() if q.end <= 4 else pa.timestamp("us")), None
        return (pa.time64("us"), None) if q.start >= 6 else (pa.string(), str)
    if code == T.INTERVAL:
        q = Qualifier.of(length)
        return (pa.int32(), _months) if q.start <= 2 else (pa.duration("us"), None)
    if code in (T.UDTVAR, T.UDTFIXED) and column.extended_name == "boolean":
        return pa.bool_(), None
    if code in (T.CHAR, T.NCHAR, T.VARCHAR, T.NVARCHAR, T.LVARCHAR) or column.extended_name == "lvarchar":
        return pa.string(), None
    return pa.binary(), _raw


def _decimal_text(value: Decimal) -> str:
    return format(value, "f")


def _months(value: Any) -> int:
    return int(value.months)


def _raw(value: Any) -> bytes:
    return bytes(value.raw)


def to_arrow(plan: Plan, rows: Sequence[tuple[Any, ...]], segments: Sequence[bytes]) -> Any:
    """A `pyarrow.Table`. INTERVAL YEAR TO MONTH becomes a number of months, a floating DECIMAL its text."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise NotSupportedError("this needs PyArrow: pip install informix-sqli[arrow]") from error
    columns = _compiled_columns(pa, plan, segments) if segments else None
    records = None
    if columns is None:
        try:
            records = _records(_numpy(), plan, segments)
        except NotSupportedError:
            pass  # without NumPy every row is decoded
    if columns is None and records is None:
        rows = [*rows, *_segments_to_rows(plan, segments)]
    arrays = []
    for i, column in enumerate(plan.columns):
        kind, convert = _arrow_type(pa, plan, i)
        parts = []
        if rows or (records is None and columns is None):
            values = [row[i] for row in rows]
            if convert is not None:
                values = [None if v is None else convert(v) for v in values]
            parts.append(pa.array(values, type=kind))
        if columns is not None:
            parts.append(columns[i])
        if records is not None and (len(records) or not parts):
            np = _numpy()
            raw = records[f"c{i}"]
            null = _is_null(np, np.ascontiguousarray(raw), column.type_code)
            native = raw.astype(raw.dtype.newbyteorder("="))
            if column.type_code == T.DATE:
                native = native - np.int32(_EPOCH_DAYS)
                native[null] = 0
            parts.append(pa.array(native, type=kind, mask=null if null.any() else None))
        arrays.append(pa.chunked_array(parts, type=kind))
    return pa.table(arrays, names=_names(plan))


def _compiled_columns(pa: Any, plan: Plan, segments: Sequence[bytes]) -> list[Any] | None:
    """The rows as Arrow arrays, made by the compiled package without an object per value; None without it.

    INTERVAL, partial DATETIME, times, floating DECIMAL, collections and large objects are still made as objects first.
    """
    builder = speed.column_builder(plan.shapes, plan.encoding)
    if builder is None:
        return None
    try:
        for segment in segments:
            builder.append(segment)
    except Exception:
        return None  # a value is not ordinary: the rows' decoder finds out which
    arrays = []
    for i, (length, nulls, validity, buffers, objects) in enumerate(builder.finish()):
        kind, convert = _arrow_type(pa, plan, i)
        if objects is not None:
            values = objects if convert is None else [None if v is None else convert(v) for v in objects]
            arrays.append(pa.array(values, type=kind))
            continue
        made = [None if validity is None else pa.py_buffer(validity), *map(pa.py_buffer, buffers)]
        arrays.append(pa.Array.from_buffers(kind, length, made, nulls))
    return arrays


def to_dataframe(plan: Plan, rows: Sequence[tuple[Any, ...]], segments: Sequence[bytes]) -> Any:
    """A `pandas.DataFrame`, by way of Arrow where it is installed."""
    try:
        import pandas as pd
    except ImportError as error:
        raise NotSupportedError("this needs pandas: pip install informix-sqli[dataframe]") from error
    try:
        return to_arrow(plan, rows, segments).to_pandas()
    except NotSupportedError:
        everything = [*rows, *_segments_to_rows(plan, segments)]
        return pd.DataFrame(everything, columns=_names(plan))
