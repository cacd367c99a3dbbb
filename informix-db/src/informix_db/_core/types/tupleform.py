"""Python value → bytes in *row* form, for the rows of an insert cursor (PUT).

Only exact fits are encoded here: a value of another Python type than the column's own, a string that is too long, a
number with too many places. For those the server's conversions (and its errors) are wanted, so `row_encoder` answers
None and the caller sends ordinary BIND parameters instead.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from struct import Struct
from typing import Any

from . import base100
from .codes import XID_LVARCHAR, Qualifier, T
from .decode import DATE_EPOCH
from .encode import decimal_pairs

#: Returns the bytes, or raises Misfit.
ColumnEncoder = Callable[[Any], bytes]


class Misfit(Exception):
    """The value is not exactly of the column's type: leave it to the server."""


def _integer(fmt: str, null: int) -> ColumnEncoder:
    pack = Struct(fmt).pack
    top = -null

    def encode(value: Any) -> bytes:
        if value is None:
            return pack(null)
        if type(value) is not int or not -top < value < top:
            raise Misfit
        return pack(value)

    return encode


def _int8(value: Any) -> bytes:
    if value is None:
        return bytes(10)
    if type(value) is not int or abs(value) >= 1 << 63:
        raise Misfit
    magnitude = abs(value)
    return Struct(">hII").pack(-1 if value < 0 else 1, magnitude & 0xFFFFFFFF, magnitude >> 32)


def _float(value: Any) -> bytes:
    if value is None:
        return b"\xff" * 8
    if type(value) is not float or value - value != 0.0:
        raise Misfit
    return Struct(">d").pack(value)


def _smallfloat(value: Any) -> bytes:
    if value is None:
        return b"\xff" * 4
    if type(value) is not float or value - value != 0.0:
        raise Misfit
    try:
        return Struct(">f").pack(value)
    except OverflowError:
        raise Misfit from None


def _date(value: Any) -> bytes:
    if value is None:
        return b"\x80\0\0\0"
    if type(value) is not dt.date:
        raise Misfit
    return Struct(">i").pack(value.toordinal() - DATE_EPOCH)


def _decimal(encoded_length: int) -> ColumnEncoder:
    precision, scale = encoded_length >> 8, encoded_length & 255
    width = (precision + (scale & 1) + 3) // 2

    def encode(value: Any) -> bytes:
        if value is None:
            return bytes(width)
        if type(value) is int:
            value = Decimal(value)
        if type(value) is not Decimal or not value.is_finite() or not -129 < value.adjusted() < 125:
            raise Misfit
        negative, exponent, pairs, _ = decimal_pairs(value)
        if scale == 255:
            if len(value.normalize().as_tuple().digits) > precision:
                raise Misfit
        elif value and (value.adjusted() >= precision - scale or -int(value.normalize().as_tuple().exponent) > scale):
            raise Misfit
        raw = base100.join(negative, exponent, pairs, width)
        if len(raw) > width:
            raise Misfit
        return raw

    return encode


def _datetime(encoded_length: int) -> ColumnEncoder:
    q = Qualifier.of(encoded_length)
    width = q.width

    def encode(value: Any) -> bytes:
        if value is None:
            return bytes(width)
        if type(value) is not dt.datetime or value.tzinfo is not None or q.start != 0 or q.end < 10:
            raise Misfit
        if value.microsecond % 10 ** (6 - q.fraction_digits):
            raise Misfit
        century, year = divmod(value.year, 100)
        micro = value.microsecond
        pairs = bytes(
            (century, year, value.month, value.day, value.hour, value.minute, value.second)
            + (micro // 10000, micro // 100 % 100, micro % 100)
        )
        return base100.join(False, 7, pairs, 11)[:width].ljust(width, b"\0")

    return encode


def _char(length: int, encoding: str) -> ColumnEncoder:
    def encode(value: Any) -> bytes:
        if value is None:
            return b"\0" + b" " * (length - 1)
        if type(value) is not str:
            raise Misfit
        raw = value.encode(encoding)
        if len(raw) > length or raw[:1] == b"\0":
            raise Misfit
        return raw.ljust(length)

    return encode


def _varchar(length: int, encoding: str) -> ColumnEncoder:
    def encode(value: Any) -> bytes:
        if value is None:
            return b"\1\0"
        if type(value) is not str:
            raise Misfit
        raw = value.encode(encoding)
        if len(raw) > length or raw == b"\0":
            raise Misfit
        return bytes((len(raw),)) + raw

    return encode


def _lvarchar(length: int, encoding: str) -> ColumnEncoder:
    pack = Struct(">bi").pack

    def encode(value: Any) -> bytes:
        if value is None:
            return pack(1, 0)
        if type(value) is not str:
            raise Misfit
        raw = value.encode(encoding)
        if len(raw) > (length or 2048):
            raise Misfit
        return pack(0, len(raw)) + raw

    return encode


def column_encoder(code: int, encoded_length: int, extended_id: int, encoding: str) -> ColumnEncoder | None:
    """The encoder of one described parameter, or None for a type that has no row form here."""
    if code == T.SMALLINT:
        return _integer(">h", -(1 << 15))
    if code in (T.INTEGER, T.SERIAL):
        return _integer(">i", -(1 << 31))
    if code in (T.BIGINT, T.BIGSERIAL):
        return _integer(">q", -(1 << 63))
    if code in (T.INT8, T.SERIAL8):
        return _int8
    if code == T.FLOAT:
        return _float
    if code == T.SMALLFLOAT:
        return _smallfloat
    if code == T.DATE:
        return _date
    if code in (T.DECIMAL, T.MONEY):
        return _decimal(encoded_length)
    if code == T.DATETIME:
        return _datetime(encoded_length)
    if code in (T.CHAR, T.NCHAR) and encoded_length > 0:
        return _char(encoded_length, encoding)
    if code in (T.VARCHAR, T.NVARCHAR) and encoded_length & 0xFF:
        return _varchar(encoded_length & 0xFF, encoding)
    if code == T.UDTVAR and extended_id == XID_LVARCHAR:
        return _lvarchar(encoded_length, encoding)
    return None


def row_encoder(columns: Sequence[Any], encoding: str) -> Callable[[Sequence[Any]], bytes] | None:
    """A function row → tuple bytes (raising Misfit), or None when a column's type has no row form here."""
    encoders = [column_encoder(c.type_code, c.encoded_length, c.extended_id, encoding) for c in columns]
    if not encoders or any(e is None for e in encoders):
        return None
    ready: list[ColumnEncoder] = [e for e in encoders if e is not None]

    def encode(row: Sequence[Any]) -> bytes:
        if len(row) != len(ready):
            raise Misfit
        return b"".join([encoder(value) for encoder, value in zip(ready, row, strict=True)])

    return encode
