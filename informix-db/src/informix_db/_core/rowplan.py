"""The row plan: a DESCRIBE compiled, once, into a Python function that decodes whole runs of rows.

Deciding per column and value what to do costs more than doing it. So the source of a function is written for exactly
these columns: consecutive columns of fixed width (together with the header of the TUPLE message) become one
`struct` call, and every column one expression. The function has no loop over columns and no table look-up. Names and
other text from the server never enter that source, only numbers that are checked here.

A row that cannot be decoded (a NULL-free impossible date, bytes that are not in the locale's code set, a size that
does not fit) must not be given out in part and must not lose the connection: `RowSink` then decodes the row again
slowly, column by column, to name the culprit, keeps the error for the moment that row is asked for, and skips the
rest of the reply. `speed` puts the compiled decoder in the place of the generated function where it is installed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from functools import lru_cache
from struct import Struct
from typing import Any

from ..errors import DataError, Error, NotSupportedError, ProtocolError
from ..values import BlobLocator, ClobLocator, CollectionValue, RowValue
from . import speed
from .messages.describe import Column
from .messages.replies import tuple_size
from .types import decode as d
from .types.codes import (
    DISTINCT,
    DISTINCT_BOOLEAN,
    DISTINCT_LVARCHAR,
    XID_BLOB,
    XID_BOOLEAN,
    XID_CLOB,
    XID_LVARCHAR,
    Qualifier,
    T,
)
from .wire import MAX_BODY

#: (data, pos, end, rows) → position of the first TUPLE not taken; appends to rows.
RowFunction = Callable[[bytes, int, int, list[tuple[Any, ...]]], int]

_HEADER = Struct(">hhi")
_COLLECTIONS = {T.SET: "SET", T.MULTISET: "MULTISET", T.LIST: "LIST", T.COLLECTION: "COLLECTION"}


class LargeObject(bytes):
    """The 56-byte descriptor of a BYTE or TEXT value that has not been fetched yet; NULLs are None already."""

    __slots__ = ()


class Shape:
    """How one column lies in a row and how its bytes become a value.

    `kind` is "struct" (fixed width, `fmt` for struct, `expr` makes the value out of it), "var1" (length byte),
    "var4" (indicator, int length). `decode` takes exactly the column's bytes, without lengths.
    """

    __slots__ = ("base_type", "column", "decode", "expr", "fmt", "kind", "plain", "width")

    def __init__(
        self,
        column: Column,
        base_type: int,
        kind: str,
        decode: d.Decoder,
        *,
        fmt: str = "",
        expr: str = "",
        width: int = 0,
        plain: str = "",
    ) -> None:
        self.column = column
        #: The type code that decides the layout: the column's, or that of the type a DISTINCT type is made of.
        self.base_type = base_type
        self.kind = kind
        self.decode = decode
        self.fmt = fmt
        self.expr = expr
        self.width = width
        #: For "var4": "text" or "boolean" when the contents are just that.
        self.plain = plain


#: Fixed-width types: struct format, width, and the expression over {v}.
_STRUCT = {
    T.SMALLINT: ("h", 2, "None if {v} == -32768 else {v}"),
    T.INTEGER: ("i", 4, "None if {v} == -2147483648 else {v}"),
    T.SERIAL: ("i", 4, "None if {v} == -2147483648 else {v}"),
    T.BIGINT: ("q", 8, "None if {v} == -9223372036854775808 else {v}"),
    T.BIGSERIAL: ("q", 8, "None if {v} == -9223372036854775808 else {v}"),
    T.DATE: ("i", 4, "None if {v} == -2147483648 else from_ordinal({v} + 693595)"),
    T.FLOAT: ("d", 8, "{v} if {v} == {v} else None if {raw} == NAN8 else {v}"),
    T.SMALLFLOAT: ("f", 4, "{v} if {v} == {v} else None if {raw} == NAN4 else {v}"),
    T.INT8: ("10s", 10, "int8({v})"),
    T.SERIAL8: ("10s", 10, "int8({v})"),
}
_PACKED = (T.DECIMAL, T.MONEY, T.DATETIME, T.INTERVAL)


def _base_type(column: Column) -> tuple[int, int]:
    """(type code, extended id) that decide the layout: a DISTINCT type lies as the type it is made of."""
    code, xid = column.type_code, column.extended_id
    if column.flags & DISTINCT_BOOLEAN:
        return T.UDTFIXED, XID_BOOLEAN
    if column.flags & DISTINCT_LVARCHAR:
        return T.UDTVAR, XID_LVARCHAR
    if column.flags & DISTINCT and code in (T.UDTVAR, T.UDTFIXED):
        source = column.source_type & 0xFF
        if source and source not in (T.UDTVAR, T.UDTFIXED):
            return source, 0
    return code, xid


def shape(column: Column, encoding: str) -> Shape:
    """The shape of one column; NotSupportedError names a type that this driver cannot read."""
    code, xid = _base_type(column)
    length = column.encoded_length
    if code in _STRUCT:
        fmt, width, expr = _STRUCT[code]  # type: ignore[index]
        return Shape(column, code, "struct", d.decoder_for(code), fmt=fmt, expr=expr, width=width)
    if code in _PACKED:
        width = _packed_width(column, code, length)
        decode = d.decoder_for(code, length)
        return Shape(column, code, "struct", decode, fmt=f"{width}s", expr="{f}({v})", width=width)
    if code in (T.CHAR, T.NCHAR):
        width = _checked(column, length, 32767)
        return Shape(
            column,
            code,
            "struct",
            d.char_decoder(encoding),
            fmt=f"{width}s",
            expr="None if {v}[0] == 0 else {v}.rstrip(BLANK).decode(ENC)" if width else "''",
            width=width,
        )
    if code in (T.VARCHAR, T.NVARCHAR):
        return Shape(column, code, "var1", d.varchar_decoder(encoding), expr="None if {v} == NUL else {v}.decode(ENC)")
    if code in (T.BYTE, T.TEXT):
        return Shape(
            column, code, "struct", _descriptor, fmt="56s", expr="None if {v}[39] == 1 else LargeObject({v})", width=56
        )
    if code == T.LVARCHAR or (code in (T.UDTVAR, T.UDTFIXED) and xid == XID_LVARCHAR):
        return Shape(column, code, "var4", d.text_decoder(encoding), expr="{v}.decode(ENC)", plain="text")
    if code == T.BOOLEAN or (code in (T.UDTVAR, T.UDTFIXED) and xid == XID_BOOLEAN):
        return Shape(column, code, "var4", d.boolean, expr="boolean({v})", plain="boolean")
    if code in (T.UDTVAR, T.UDTFIXED) and xid in (XID_BLOB, XID_CLOB):
        make = BlobLocator if xid == XID_BLOB else ClobLocator
        return Shape(column, code, "var4", lambda raw: make(d.locator(raw)), expr="{f}({v})")
    if code in _COLLECTIONS:
        kind, schema = _COLLECTIONS[code], column.extended_name  # type: ignore[index]
        return Shape(column, code, "var4", lambda raw: CollectionValue(raw, kind, schema), expr="{f}({v})")
    if code == T.ROW:
        schema = column.extended_name
        return Shape(column, code, "var4", lambda raw: RowValue(raw, schema), expr="{f}({v})")
    raise NotSupportedError(
        f"column {column.name!r} is of type {column.sql_type}, which this driver cannot read; "
        f"cast it in the query, for example {column.name}::lvarchar"
    )


def _descriptor(raw: bytes) -> LargeObject | None:
    return None if raw[39] == 1 else LargeObject(raw)


def _checked(column: Column, length: int, limit: int) -> int:
    if not 0 <= length <= limit:
        raise ProtocolError(f"column {column.name!r} has an absurd length ({length})")
    return length


def _packed_width(column: Column, code: int, length: int) -> int:
    if not 0 < length <= 0xFFFF:
        raise ProtocolError(f"column {column.name!r} has an absurd length ({length})")
    if code in (T.DATETIME, T.INTERVAL):
        try:
            return Qualifier.of(length).width
        except ValueError as error:
            raise ProtocolError(f"column {column.name!r}: {error}") from None
    precision, scale = length >> 8, length & 0xFF
    if not 1 <= precision <= 32 or (scale > precision and scale != 0xFF):
        raise ProtocolError(f"column {column.name!r} has an absurd precision ({precision},{scale})")
    return (precision + (scale & 1) + 3) // 2


class Plan:
    """Everything about the rows of one result."""

    def __init__(self, columns: Sequence[Column], encoding: str) -> None:
        self.columns = tuple(columns)
        self.encoding = encoding
        self.shapes = [shape(c, encoding) for c in columns]
        self.large_objects = [i for i, s in enumerate(self.shapes) if s.fmt == "56s" and s.decode is _descriptor]
        #: Bytes of a row when every column has a fixed width, else None.
        self.fixed_size = sum(s.width for s in self.shapes) if all(s.kind == "struct" for s in self.shapes) else None
        compiled = speed.row_decoder(self.shapes, encoding) if speed.enabled() else None
        self.decode_rows: RowFunction = compiled or compile_plan(self.shapes, encoding)

    def row(self, payload: bytes) -> tuple[Any, ...]:
        """One row from its tuple bytes, column by column: slow, and names the column that is wrong."""
        values: list[Any] = []
        pos, end = 0, len(payload)
        for item in self.shapes:
            try:
                raw, null, pos = _cut(item, payload, pos, end)
                values.append(None if null else item.decode(raw))
            except Error:
                raise
            except Exception as cause:
                raise _column_error(item.column, cause, self.encoding) from cause
        if pos != end:
            raise ProtocolError(f"a row of {end} bytes, of which its columns take {pos}")
        return tuple(values)


def _cut(item: Shape, payload: bytes, pos: int, end: int) -> tuple[bytes, bool, int]:
    """(the column's bytes, is NULL by its envelope, position after it)."""
    width, null = item.width, False
    if item.kind == "var1":
        width = payload[pos] if pos < end else end
        pos += 1
    elif item.kind == "var4":
        if pos + 5 > end:
            raise ProtocolError(f"the row ends inside column {item.column.name!r}")
        null = payload[pos] == 1
        width = int.from_bytes(payload[pos + 1 : pos + 5], "big", signed=True)
        pos += 5
    if width < 0 or pos + width > end:
        raise ProtocolError(f"the row ends inside column {item.column.name!r}")
    return payload[pos : pos + width], null, pos + width


def _column_error(column: Column, cause: Exception, encoding: str) -> DataError:
    if isinstance(cause, UnicodeDecodeError):
        bad = cause.object[cause.start : cause.end].hex()
        text = (
            f"column {column.name!r} holds bytes ({bad} at {cause.start}) that are not {encoding}: "
            "the connection's locale is not the database's"
        )
    else:
        text = f"column {column.name!r} ({column.sql_type}) holds a value that cannot be read: {cause}"
    made = DataError(text)
    made.object_name = column.name
    return made


class RowSink:
    """Takes the TUPLE messages of replies and keeps decoded rows, and the error of the first bad one."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.rows: list[tuple[Any, ...]] = []
        self.error: Error | None = None
        self.count = 0

    def consume(self, data: bytes, pos: int, end: int) -> int:
        if self.error is not None:
            return skip_rows(data, pos, end)[0]
        rows = self.rows
        before = len(rows)
        try:
            after = self.plan.decode_rows(data, pos, end, rows)
        except Exception:
            # Which row: as many as have been appended lie before it.
            after = self._culprit(data, pos, end, len(rows) - before)
        self.count += len(rows) - before
        return after

    def _culprit(self, data: bytes, pos: int, end: int, good: int) -> int:
        start, _ = skip_rows(data, pos, end, good)
        if end - start < 8:
            raise ProtocolError("a row does not have the described length")
        size = tuple_size(data, start)
        if end - start < 8 + size + (size & 1):
            return start
        try:
            self.plan.row(data[start + 8 : start + 8 + size])
        except ProtocolError:
            raise
        except Error as error:
            self.error = error
        else:
            raise ProtocolError("a row does not have the described length")
        return skip_rows(data, start, end)[0]


class RawSink:
    """Takes TUPLE messages as bytes, for columnar decoding: `segments` are runs of whole messages."""

    def __init__(self) -> None:
        self.segments: list[bytes] = []
        self.count = 0

    def consume(self, data: bytes, pos: int, end: int) -> int:
        after, count = skip_rows(data, pos, end)
        if after > pos:
            self.segments.append(data[pos:after])
            self.count += count
        return after


def skip_rows(data: bytes, pos: int, end: int, limit: int = -1) -> tuple[int, int]:
    """(position after, number of) complete TUPLE messages from `pos` on, at most `limit`."""
    count = 0
    header = _HEADER.unpack_from
    while count != limit and end - pos >= 8:
        code, _, size = header(data, pos)
        if code != 14:
            break
        if not 0 <= size <= MAX_BODY:
            raise ProtocolError(f"a row of {size} bytes is outside 0 … {MAX_BODY}")
        after = pos + 8 + size + (size & 1)
        if after > end:
            break
        pos = after
        count += 1
    return pos, count


class Misfit(Exception):
    """A row's size is not the sum of its columns; raised inside generated code only."""


@lru_cache(maxsize=512)
def _code(source: str) -> Any:
    return compile(source, "<row plan>", "exec")


def compile_plan(shapes: Sequence[Shape], encoding: str) -> RowFunction:
    """The generated function for these columns."""
    lines: list[str] = []
    names: dict[str, Any] = {
        "ENC": encoding,
        "NUL": b"\0",
        "BLANK": b" ",
        "NAN8": b"\xff" * 8,
        "NAN4": b"\xff" * 4,
        "from_ordinal": dt.date.fromordinal,
        "int8": d.int8,
        "boolean": d.boolean,
        "LargeObject": LargeObject,
        "Misfit": Misfit,
    }
    runs: list[list[int]] = []
    for i, item in enumerate(shapes):
        if item.kind == "struct":
            if runs and runs[-1][-1] == i - 1 and shapes[i - 1].kind == "struct":
                runs[-1].append(i)
            else:
                runs.append([i])
    run_at = {run[0]: run for run in runs}
    all_fixed = all(item.kind == "struct" for item in shapes)
    total = sum(item.width for item in shapes)

    lines.append("    append = rows.append")
    # The first run is read together with the message's header: code, warning, size.
    first = run_at.get(0, [])
    head_format = ">hhi" + "".join(shapes[i].fmt for i in first)
    head_size = Struct(head_format).size
    names["HEAD"] = Struct(head_format).unpack_from
    targets = ["code", "warning", "size"] + [f"v{i}" for i in first]
    lines.append(f"    while end - pos >= {head_size}:")
    lines.append(f"        {', '.join(targets)} = HEAD(data, pos)")
    if all_fixed:
        lines.append(f"        if code != 14 or size != {total}:")
        lines.append("            if code != 14: return pos")
        lines.append("            raise Misfit")
        step = 8 + total + (total & 1)
        lines.append(f"        after = pos + {step}")
        lines.append("        if after > end: return pos")
    else:
        lines.append("        if code != 14: return pos")
        lines.append("        stop = pos + 8 + size")
        lines.append("        after = stop + (size & 1)")
        lines.append(f"        if size < 0 or size > {MAX_BODY}: raise Misfit")
        lines.append("        if after > end: return pos")
        lines.append(f"        p = pos + {head_size}")

    values: list[str] = []
    for i, item in enumerate(shapes):
        v = f"v{i}"
        names[f"f{i}"] = item.decode
        if item.kind == "struct":
            if i in run_at and i != 0:
                run = run_at[i]
                fmt = ">" + "".join(shapes[j].fmt for j in run)
                names[f"S{i}"] = Struct(fmt).unpack_from
                size = Struct(fmt).size
                lines.append(f"        if p + {size} > stop: raise Misfit")
                lines.append(f"        {', '.join(f'v{j}' for j in run)}{',' if len(run) == 1 else ''} = S{i}(data, p)")
                lines.append(f"        p += {size}")
            raw = "None"
            if item.fmt in "df" and item.fmt:
                # Only for NaN: find the bytes again to tell NULL from a NaN that somebody stored.
                run = next(r for r in runs if i in r)
                before = sum(shapes[j].width for j in run if j < i)
                if run[0] == 0:
                    raw = f"data[pos + {8 + before}:pos + {8 + before + item.width}]"
                else:
                    back = sum(shapes[j].width for j in run if j >= i)
                    lines.append(f"        q{i} = p - {back}")
                    raw = f"data[q{i}:q{i} + {item.width}]"
            values.append(item.expr.format(v=v, raw=raw, f=f"f{i}"))
        elif item.kind == "var1":
            lines.append(f"        n = p + 1 + data[p]; {v} = data[p + 1:n]; p = n")
            values.append(item.expr.format(v=v, f=f"f{i}"))
        else:
            lines.append(f"        null{i}, n = ENVELOPE(data, p); p += 5")
            lines.append("        if n < 0: raise Misfit")
            lines.append(f"        {v} = data[p:p + n]; p += n")
            values.append(f"None if null{i} == 1 else {item.expr.format(v=v, f=f'f{i}')}")
            names["ENVELOPE"] = Struct(">bi").unpack_from
    if not all_fixed:
        lines.append("        if p != stop: raise Misfit")
    lines.append(f"        append(({', '.join(f'({x})' for x in values)}{',' if values else ''}))")
    lines.append("        pos = after")
    lines.append("    return pos")
    source = "def decode_rows(data, pos, end, rows):\n" + "\n".join(lines) + "\n"
    exec(_code(source), names)
    function: RowFunction = names["decode_rows"]
    return function
