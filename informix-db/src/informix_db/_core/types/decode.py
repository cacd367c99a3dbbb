"""Bytes of one column of a row → Python value. One factory per type: given what DESCRIBE says, a function.

The functions here take exactly the column's bytes. NULL gives None. Malformed bytes raise ValueError (or one of its
relatives); `rowplan` turns that into a DataError that names the column.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from struct import Struct
from typing import Any

from ...values import IntervalYM, PartialDatetime
from . import base100
from .codes import DAY, FRACTION, HOUR, MINUTE, MONTH, SECOND, YEAR, Qualifier, T

Decoder = Callable[[bytes], Any]

#: Ordinal (as in `date.fromordinal`) of 1899-12-31, day 0 of Informix.
DATE_EPOCH = dt.date(1899, 12, 31).toordinal()
INT_NULL = -(1 << 31)
SMALLINT_NULL = -(1 << 15)
BIGINT_NULL = -(1 << 63)

_short = Struct(">h").unpack
_int = Struct(">i").unpack
_long = Struct(">q").unpack
_double = Struct(">d").unpack
_single = Struct(">f").unpack
_int8 = Struct(">hII").unpack
_fromordinal = dt.date.fromordinal


def smallint(raw: bytes) -> int | None:
    value: int = _short(raw)[0]
    return None if value == SMALLINT_NULL else value


def integer(raw: bytes) -> int | None:
    value: int = _int(raw)[0]
    return None if value == INT_NULL else value


def bigint(raw: bytes) -> int | None:
    value: int = _long(raw)[0]
    return None if value == BIGINT_NULL else value


def int8(raw: bytes) -> int | None:
    """INT8 and SERIAL8: sign, low and high 32 bits of the magnitude."""
    sign, low, high = _int8(raw)
    if sign == 0:
        return None
    if sign not in (1, -1):
        raise ValueError(f"sign of INT8 is {sign}")
    return int(sign * (high << 32 | low))


def float_(raw: bytes) -> float | None:
    return None if raw == b"\xff" * 8 else float(_double(raw)[0])


def smallfloat(raw: bytes) -> float | None:
    return None if raw == b"\xff" * 4 else float(_single(raw)[0])


def date(raw: bytes) -> dt.date | None:
    days: int = _int(raw)[0]
    return None if days == INT_NULL else _fromordinal(days + DATE_EPOCH)


def decimal_decoder(encoded_length: int) -> Decoder:
    """DECIMAL and MONEY. A fixed scale is kept (1.50 stays 1.50); a floating one shows significant digits only."""
    scale = encoded_length & 0xFF

    def floating(raw: bytes) -> Decimal | None:
        if base100.is_null(raw):
            return None
        sign, exponent, text = base100.digits(raw)
        text = text.rstrip("0")
        if not text:
            return Decimal(0)
        point = 2 * exponent - len(text)
        if point > 0:  # 100, not 1E+2
            text += "0" * point
            point = 0
        return Decimal(f"{sign}{text}E{point}")

    def fixed(raw: bytes) -> Decimal | None:
        head = raw[0]
        if head > 0x80:  # the ordinary case, inline: positive, not zero
            exponent, sign, text = head - 192, "", raw[1:].translate(base100.BCD).hex()
        else:
            if base100.is_null(raw):
                return None
            sign, exponent, text = base100.digits(raw)
        keep = 2 * exponent + scale
        have = len(text)
        if keep <= 0 or keep < have:
            if text[max(keep, 0) :].strip("0"):
                return floating(raw)  # more places than described: keep them all
            text = text[:keep] if keep > 0 else "0"
        elif keep > have:
            text += "0" * (keep - have)
        return Decimal(f"{sign}{text}E-{scale}")

    return floating if scale == 0xFF else fixed


def _pairs_to_second(raw: bytes, high: int) -> tuple[bool, bytes]:
    """(negative, pairs): `high` pairs left of the point (down to SECOND), then three of fraction, zero-filled.

    The exponent says where the first pair stands: leading zero pairs are not stored.
    """
    negative, exponent, pairs = base100.split(raw)
    if not pairs:
        return False, bytes(high + 3)
    lead = high - exponent
    if lead < 0:
        raise ValueError(f"value is too large for its qualifier: {raw.hex()}")
    full = bytes(lead) + pairs
    if len(full) > high + 3:
        raise ValueError(f"value has more digits than its qualifier: {raw.hex()}")
    return negative, full.ljust(high + 3, b"\0")


def datetime_decoder(encoded_length: int) -> Decoder:
    """DATETIME → date (YEAR TO DAY or shorter), datetime, time, or PartialDatetime, by its qualifier."""
    q = Qualifier.of(encoded_length)
    start, end = q.start, q.end
    make = dt.datetime

    def fields(raw: bytes) -> tuple[int, int, int, int, int, int, int] | None:
        if base100.is_null(raw):
            return None
        negative, p = _pairs_to_second(raw, 7)
        if negative:
            raise ValueError(f"negative DATETIME: {raw.hex()}")
        return p[0] * 100 + p[1], p[2], p[3], p[4], p[5], p[6], p[7] * 10000 + p[8] * 100 + p[9]

    def full(raw: bytes) -> dt.datetime | None:
        if (
            raw[0] == 0xC7 and len(raw) == 8 and raw[2] < 100
        ):  # from the year 0100 to the second: nothing was normalised away
            return make(raw[1] * 100 + raw[2], raw[3], raw[4], raw[5], raw[6], raw[7])
        f = fields(raw)
        return None if f is None else make(f[0], f[1] or 1, f[2] or 1, *f[3:])

    def year_to_day(raw: bytes) -> dt.date | None:
        f = fields(raw)
        if f is None:
            return None
        return dt.date(f[0], f[1] if end >= MONTH else 1, f[2] if end >= DAY else 1)

    def year_to_clock(raw: bytes) -> dt.datetime | None:
        f = fields(raw)
        return None if f is None else make(*f)

    def clock(raw: bytes) -> dt.time | None:
        f = fields(raw)
        if f is None:
            return None
        if f[0] or f[1] or f[2]:
            raise ValueError(f"value is too large for {q}: {raw.hex()}")
        return dt.time(*f[3:])

    def partial(raw: bytes) -> PartialDatetime | None:
        f = fields(raw)
        if f is None:
            return None
        values = [
            value if start <= code <= end else None
            for code, value in zip((MONTH, DAY, HOUR, MINUTE, SECOND), f[1:6], strict=True)
        ]
        month, day, hour, minute, second = values
        return PartialDatetime(str(q), month, day, hour, minute, second, f[6] if end > SECOND else None)

    if start == YEAR:
        if end <= DAY:
            return year_to_day
        return full if end == SECOND else year_to_clock
    return clock if start >= HOUR else partial


def interval_decoder(encoded_length: int) -> Decoder:
    """INTERVAL → IntervalYM (YEAR, MONTH) or timedelta (DAY and below)."""
    q = Qualifier.of(encoded_length)
    start = q.start
    # Pairs from SECOND up to the leading field, which takes whatever stands further left.
    position = {YEAR: 5, MONTH: 4, DAY: 3, HOUR: 2, MINUTE: 1, SECOND: 0, FRACTION: 0}[start]

    def signed(raw: bytes) -> tuple[int, list[int], int] | None:
        """(sign, [leading field, next, …, SECOND], microseconds)."""
        if base100.is_null(raw):
            return None
        negative, p = _pairs_to_second(raw, 12)
        lead = 0
        for pair in p[: 12 - position]:
            lead = lead * 100 + pair
        return -1 if negative else 1, [lead, *p[12 - position : 12]], p[12] * 10000 + p[13] * 100 + p[14]

    def year_month(raw: bytes) -> IntervalYM | None:
        parts = signed(raw)
        if parts is None:
            return None
        sign, values, _ = parts
        # The leading field sits at its own place, so it is followed by all lower pairs; only MONTH can matter.
        months = values[0] * 12 + values[1] if start == YEAR else values[0]
        return IntervalYM(sign * months)

    def day_time(raw: bytes) -> dt.timedelta | None:
        parts = signed(raw)
        if parts is None:
            return None
        sign, values, micro = parts
        days, hours, minutes, seconds = [0] * (4 - len(values)) + values
        return sign * dt.timedelta(days, seconds, micro, 0, minutes, hours)

    # `position` pairs stand right of the leading field; the leading field itself takes the rest.
    return year_month if start <= MONTH else day_time


def char_decoder(encoding: str) -> Decoder:
    """CHAR and NCHAR: blank padding is removed; a first byte of 00 is NULL."""

    return lambda raw: _char(raw, encoding)


def varchar_decoder(encoding: str) -> Decoder:
    """VARCHAR and NVARCHAR without the length byte: one byte 00 is NULL."""

    return lambda raw: _varchar(raw, encoding)


def text_decoder(encoding: str) -> Decoder:
    """LVARCHAR, whose NULL is told by its envelope."""

    def text(raw: bytes) -> str:
        return raw.decode(encoding)

    return text


def boolean(raw: bytes) -> bool:
    """The byte of a BOOLEAN: t/f, or 01/00 when the client asked for type 45."""
    if raw in (b"t", b"T", b"\1"):
        return True
    if raw in (b"f", b"F", b"\0"):
        return False
    raise ValueError(f"not a BOOLEAN: {raw.hex()}")


def locator(raw: bytes) -> bytes:
    """The 72 bytes of a smart large object's locator, sent as 144 hex digits."""
    if len(raw) == 72:
        return raw
    if len(raw) != 144:
        raise ValueError(f"a locator of {len(raw)} bytes")
    return bytes.fromhex(raw.decode("ascii"))


_FIXED: dict[int, Decoder] = {
    T.SMALLINT: smallint,
    T.INTEGER: integer,
    T.SERIAL: integer,
    T.DATE: date,
    T.FLOAT: float_,
    T.SMALLFLOAT: smallfloat,
    T.INT8: int8,
    T.SERIAL8: int8,
    T.BIGINT: bigint,
    T.BIGSERIAL: bigint,
    T.BOOLEAN: boolean,
}
_BY_LENGTH = {
    T.DECIMAL: decimal_decoder,
    T.MONEY: decimal_decoder,
    T.DATETIME: datetime_decoder,
    T.INTERVAL: interval_decoder,
}
_BY_ENCODING = {
    T.CHAR: char_decoder,
    T.NCHAR: char_decoder,
    T.VARCHAR: varchar_decoder,
    T.NVARCHAR: varchar_decoder,
    T.LVARCHAR: varchar_decoder,
}


def decoder_for(type_code: int, encoded_length: int = 0, encoding: str = "iso-8859-1") -> Decoder:
    """The decoder of a column's bytes; LookupError for a type that is not decoded from plain bytes."""
    fixed = _FIXED.get(type_code)
    if fixed is not None:
        return fixed
    by_length = _BY_LENGTH.get(type_code)  # type: ignore[call-overload]
    if by_length is not None:
        made: Decoder = by_length(encoded_length)
        return made
    by_encoding = _BY_ENCODING.get(type_code)  # type: ignore[call-overload]
    if by_encoding is not None:
        return char_decoder(encoding) if type_code in (T.CHAR, T.NCHAR) else varchar_decoder(encoding)
    raise LookupError(f"type {type_code} has no decoder")


def _char(raw: bytes, encoding: str) -> str | None:
    return None if raw[:1] == b"\0" else raw.rstrip(b" ").decode(encoding)


def _varchar(raw: bytes, encoding: str) -> str | None:
    return None if raw == b"\0" else raw.decode(encoding)


_TEXT = {T.CHAR: _char, T.NCHAR: _char, T.VARCHAR: _varchar, T.NVARCHAR: _varchar, T.LVARCHAR: _varchar}
_FIXED_GET = _FIXED.get
_TEXT_GET = {int(code): function for code, function in _TEXT.items()}.get


def decode(type_code: int, raw: bytes, encoding: str = "iso-8859-1", encoded_length: int = 0x20FF) -> Any:
    """One value from its bytes: the direct way (rows go through `rowplan`)."""
    fixed = _FIXED_GET(type_code)
    if fixed is not None:
        return fixed(raw)
    text = _TEXT_GET(type_code)
    if text is not None:
        return text(raw, encoding)
    return decoder_for(type_code, encoded_length, encoding)(raw)
