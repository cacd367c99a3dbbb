"""Python value → one parameter of a BIND message.

A parameter is `short type, [owner, name], short indicator, short precision, data padded to even`. One function per
Python type, found by the exact type first and by inheritance otherwise. Nothing is rounded silently except that
DATETIME and INTERVAL hold five fractional digits of the second where Python holds six (the sixth is cut, as every
Informix client does).
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from struct import Struct
from struct import error as StructError
from typing import Any, NamedTuple
from uuid import UUID

from ...errors import DataError, NotSupportedError, ProgrammingError
from ...values import BlobLocator, ClobLocator, CollectionValue, IntervalYM, PartialDatetime, RowValue, Text, to_literal
from .. import speed
from . import base100
from .codes import T
from .decode import DATE_EPOCH

#: (value, encoding) → the parameter's bytes.
Encoder = Callable[[Any, str], bytes]

NULL = bytes.fromhex("0000ffff0000")
_INT = Struct(">hhhi").pack
#: The same, with its head ready made: two values to pack cost less than four.
_INT_HEAD = Struct(">hhh").pack(2, 0, 0x0A00)
_INT_AFTER = Struct(">6si").pack
_BIGINT = Struct(">hhhq").pack
_INT8 = Struct(">hhhhII").pack
_FLOAT = Struct(">hhhd").pack
_HEAD = Struct(">hhhh").pack
_OPAQUE = Struct(">hhh").pack
_LENGTHS = Struct(">hhi").pack

#: Longest string sent as CHAR; LVARCHAR takes 32739 bytes, longer text belongs in TEXT or CLOB.
MAX_STRING = 32739


class Lob(NamedTuple):
    """A BYTE or TEXT parameter: the descriptor goes into BIND, the content follows in BBIND."""

    type_code: int
    content: bytes


def _none(value: None, encoding: str) -> bytes:
    return NULL


def _bool(value: bool, encoding: str) -> bytes:
    # As text: a real server hangs on a bare type 45, and casts 't' and 'f' wherever a BOOLEAN is expected.
    return b"\0\0\0\0\0\0\0\1t\0" if value else b"\0\0\0\0\0\0\0\1f\0"


def _int(value: int, encoding: str) -> bytes:
    if -0x80000000 < value < 0x80000000:  # -2^31 itself is NULL in an INTEGER
        return _INT(2, 0, 0x0A00, value)
    if -(1 << 63) < value < (1 << 63):
        return _BIGINT(52, 0, 0x1300, value)
    return _decimal(Decimal(value), encoding)


def int8(value: int, encoding: str) -> bytes:
    """An integer for a server without BIGINT (capability 54): as INT8."""
    if -0x80000000 < value < 0x80000000:
        return _INT(2, 0, 0x0A00, value)
    magnitude = abs(value)
    if magnitude >= 1 << 63:
        return _decimal(Decimal(value), encoding)
    return _INT8(17, 0, 0x1300, -1 if value < 0 else 1, magnitude & 0xFFFFFFFF, magnitude >> 32)


def _float(value: float, encoding: str) -> bytes:
    if value - value != 0.0:
        raise DataError(f"{value} cannot be stored: Informix has no NaN and no infinity")
    return _FLOAT(3, 0, 0, value)


def _str(value: str, encoding: str) -> bytes:
    raw = value.encode(encoding)
    n = len(raw)
    if n > MAX_STRING:
        raise DataError(f"a string of {n} bytes is too long for a character type; use Text or a CLOB")
    if n & 1:
        return _HEAD(0, 0, 0, n) + raw + b"\0"
    return _HEAD(0, 0, 0, n) + raw


def _date(value: dt.date, encoding: str) -> bytes:
    return _INT(7, 0, 0, value.toordinal() - DATE_EPOCH)


def _packed(type_code: int, qualifier: int, raw: bytes) -> bytes:
    n = len(raw)
    return _HEAD(type_code, 0, qualifier, n) + raw + (b"\0" if n & 1 else b"")


def _datetime(value: dt.datetime, encoding: str) -> bytes:
    if value.tzinfo is not None:
        raise DataError("DATETIME has no time zone; convert the value to naive local time or UTC first")
    century, year = divmod(value.year, 100)
    pairs = bytes((century, year, value.month, value.day, value.hour, value.minute, value.second))
    if value.microsecond:
        return _packed(10, 0x130F, base100.join(False, 7, pairs + _fraction(value.microsecond), 11))
    return _packed(10, 0x0E0A, base100.join(False, 7, pairs, 8))


def _fraction(microsecond: int) -> bytes:
    """Three pairs for FRACTION(5): the sixth digit is cut."""
    return bytes((microsecond // 10000, microsecond // 100 % 100, microsecond % 100 // 10 * 10))


def _time(value: dt.time, encoding: str) -> bytes:
    if value.tzinfo is not None:
        raise DataError("DATETIME has no time zone; convert the value to naive local time or UTC first")
    pairs = bytes((value.hour, value.minute, value.second))
    if value.microsecond:
        return _packed(10, 0x0B6F, base100.join(False, 3, pairs + _fraction(value.microsecond), 7))
    return _packed(10, 0x066A, base100.join(False, 3, pairs, 4))


def _timedelta(value: dt.timedelta, encoding: str) -> bytes:
    """INTERVAL DAY(9) TO FRACTION(5)."""
    negative = value.days < 0
    if negative:
        value = -value
    days = value.days
    minutes, second = divmod(value.seconds, 60)
    hour, minute = divmod(minutes, 60)
    pairs = base100.pairs_of(f"{days:010d}") + bytes((hour, minute, second)) + _fraction(value.microseconds)
    return _packed(14, 0x144F, base100.join(negative, 8, pairs, 12))


def _interval_ym(value: IntervalYM, encoding: str) -> bytes:
    """INTERVAL YEAR(9) TO MONTH."""
    years, months = divmod(abs(value.months), 12)
    if years > 999_999_999:
        raise DataError(f"{value} exceeds INTERVAL YEAR(9) TO MONTH")
    pairs = base100.pairs_of(f"{years:010d}") + bytes((months,))
    return _packed(14, 0x0B02, base100.join(value.months < 0, 10, pairs, 7))


def decimal_pairs(value: Decimal) -> tuple[bool, int, bytes, int]:
    """(negative, exponent, pairs without trailing zero pairs, scale) of a finite decimal."""
    if not value.is_finite():
        raise DataError(f"{value} cannot be stored: DECIMAL has no NaN and no infinity")
    if not value:
        return False, 0, b"", 0
    if not -131 <= value.adjusted() <= 125:
        raise DataError(f"{value} is outside the range of DECIMAL")
    whole, _, part = f"{value:f}".lstrip("-").partition(".")
    scale = len(part)
    if len(whole) & 1:
        whole = "0" + whole
    if len(part) & 1:
        part += "0"
    pairs = base100.pairs_of(whole + part).rstrip(b"\0")
    return value < 0, len(whole) // 2, pairs, scale


def _decimal(value: Decimal, encoding: str) -> bytes:
    negative, exponent, pairs, scale = decimal_pairs(value)
    significant = pairs.lstrip(b"\0")
    digits = (
        2 * len(significant)
        - (bool(significant) and significant[0] < 10)
        - (bool(significant) and significant[-1] % 10 == 0)
    )
    if digits > 32:
        raise DataError(f"{value} has {digits} significant digits; DECIMAL holds 32")
    try:
        raw = base100.join(negative, exponent, pairs)
    except ValueError as error:
        raise DataError(f"{value} is outside the range of DECIMAL") from error
    precision = min(max(2 * len(significant), 2), 32)
    return _packed(5, precision << 8 | min(scale, 254), raw)


def _lob_descriptor(size: int) -> bytes:
    return bytes(16) + size.to_bytes(4, "big") + bytes(36)


def lob_parameter(lob: Lob) -> bytes:
    """The BIND part of a BYTE or TEXT parameter."""
    return Struct(">hhh").pack(lob.type_code, 0, 0x0038) + _lob_descriptor(len(lob.content))


def _literal(value: Any, encoding: str) -> bytes:
    try:
        return _str(to_literal(value), encoding)
    except ValueError as error:
        raise DataError(str(error)) from error


def _raw_literal(value: RowValue | CollectionValue, encoding: str) -> bytes:
    return _str(value.raw.decode(encoding), encoding)


def _locator(value: Any, encoding: str) -> bytes:
    """What a row or a routine gave, handed back: the server follows it."""
    name = b"blob" if isinstance(value, BlobLocator) else b"clob"
    # no owner; no NULL; the precision is the length
    raw: bytes = value.raw
    if len(raw) != 72:
        raise DataError(f"a locator has 72 bytes, not {len(raw)}")
    return _OPAQUE(44, 0, len(name)) + name + _LENGTHS(0, len(raw), len(raw)) + raw


def _text_of(value: Any, encoding: str) -> bytes:
    return _str(str(value), encoding)


ENCODERS: dict[type, Encoder] = {
    type(None): _none,
    bool: _bool,
    int: _int,
    float: _float,
    str: _str,
    Decimal: _decimal,
    dt.date: _date,
    dt.datetime: _datetime,
    dt.time: _time,
    dt.timedelta: _timedelta,
    IntervalYM: _interval_ym,
    PartialDatetime: _text_of,
    UUID: _text_of,
    list: _literal,
    tuple: _literal,
    set: _literal,
    frozenset: _literal,
    RowValue: _raw_literal,
    CollectionValue: _raw_literal,
    BlobLocator: _locator,
    ClobLocator: _locator,
}


def encoder_for(cls: type) -> Encoder:
    """The encoder of a Python type: its own, or that of the nearest base class."""
    found = ENCODERS.get(cls)
    if found is not None:
        return found
    for base in cls.__mro__[1:]:
        if base in ENCODERS:
            inherited = ENCODERS[base]
            if base is str:  # str subclasses and str enums: the characters, not __str__
                return lambda value, encoding: _str(str.__str__(value), encoding)
            if base is int:
                return lambda value, encoding: inherited(int(value), encoding)
            return inherited
    if hasattr(cls, "__index__"):  # NumPy integers
        return lambda value, encoding: _int(operator.index(value), encoding)
    if hasattr(cls, "__float__") and cls.__module__.partition(".")[0] == "numpy":
        return lambda value, encoding: _float(float(value), encoding)
    raise ProgrammingError(f"cannot bind a parameter of type {cls.__module__}.{cls.__qualname__}")


def encode_param_pure(value: Any, encoding: str = "iso-8859-1") -> bytes:
    """`encode_param` without the compiled package."""
    try:  # the commonest, without a further call
        if type(value) is int and value != -0x80000000:
            return _INT_AFTER(_INT_HEAD, value)
    except StructError:
        pass  # more than an INTEGER holds
    encoder = ENCODERS.get(type(value))
    if encoder is None:
        lob = as_lob(value, encoding)
        if lob is not None:
            return lob_parameter(lob)
        encoder = encoder_for(type(value))
    try:
        return encoder(value, encoding)
    except UnicodeEncodeError as error:
        raise DataError(f"the string has a character that {encoding} does not have: {error}") from error


def as_lob(value: Any, encoding: str) -> Lob | None:
    """bytes-like values and `Text` are BYTE and TEXT large objects; everything else is not."""
    if isinstance(value, Text):
        return Lob(T.TEXT, str.__str__(value).encode(encoding))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return Lob(T.BYTE, bytes(value))
    return None


_BIND = Struct(">hh").pack
_BBIND = Struct(">hh").pack
#: Bytes of content per BLOB chunk.
CHUNK = 1024


def bind(values: Sequence[Any], encoding: str, *, bigint: bool = True) -> bytes:
    """BIND with all parameters, and BBIND with the contents of large ones."""
    if bigint and _compiled_bind is not None:
        whole = _compiled_bind(values, encoding)
        if whole is not None:
            return whole
    return bind_pure(values, encoding, bigint=bigint)


def bind_pure(values: Sequence[Any], encoding: str, *, bigint: bool = True) -> bytes:
    """`bind` without the compiled package."""
    types = tuple(map(type, values))
    fast = _binders.get(types)
    if fast is None:
        if len(_binders) >= MAX_BINDERS:
            _binders.clear()
        fast = _binders[types] = compile_binder(types)
    if bigint:
        try:
            return fast(values, encoding)
        except _Unusual:
            pass
        except UnicodeEncodeError:
            pass  # the slow way says which parameter
    return _bind_each(values, encoding, bigint)


class _Unusual(Exception):
    """A value needs the slow way; raised inside generated code only."""


Binder = Callable[[Sequence[Any], str], bytes]
#: Generated encoders by the types of their parameters.
_binders: dict[tuple[type, ...], Binder] = {}
MAX_BINDERS = 512


def _no_binder(values: Sequence[Any], encoding: str) -> bytes:
    raise _Unusual


def compile_binder(types: tuple[type, ...]) -> Binder:
    """A function for parameters of exactly these types: one `struct` call per run of values without text.

    Values outside of the ordinary (integers beyond 32 bits, NaN, very long text) raise `_Unusual`.
    """
    if len(types) > 200 or not all(t in _SIMPLE for t in types):
        return _no_binder
    lines: list[str] = []
    pieces: list[str] = []  # expressions whose concatenation is the message
    fmt, items = ">hh", ["5", str(len(types))]
    names: dict[str, Any] = {"Unusual": _Unusual, "PAD": (b"", b"\0"), "EPOCH": DATE_EPOCH, "MAX": MAX_STRING}

    def flush() -> None:
        nonlocal fmt, items
        if items:
            name = f"P{len(pieces)}"
            names[name] = Struct(fmt).pack
            pieces.append(f"{name}({', '.join(items)})")
        fmt, items = ">", []

    for i, t in enumerate(types):
        v = f"v{i}"
        if t is int:
            lines.append(f"    if not -2147483648 < {v} < 2147483648: raise Unusual")
            fmt += "hhhi"
            items += ["2", "0", "2560", v]
        elif t is float:
            lines.append(f"    if {v} - {v} != 0.0: raise Unusual")
            fmt += "hhhd"
            items += ["3", "0", "0", v]
        elif t is dt.date:
            fmt += "hhhi"
            items += ["7", "0", "0", f"{v}.toordinal() - EPOCH"]
        elif t is type(None):
            fmt += "hhh"
            items += ["0", "-1", "0"]
        elif t is bool:
            fmt += "hhhhBx"
            items += ["0", "0", "0", "1", f"116 if {v} else 102"]
        else:
            lines.append(f"    {v} = {v}.encode(encoding)")
            lines.append(f"    n{i} = len({v})")
            lines.append(f"    if n{i} > MAX: raise Unusual")
            fmt += "hhhh"
            items += ["0", "0", "0", f"n{i}"]
            flush()
            pieces.append(v)
            pieces.append(f"PAD[n{i} & 1]")
    flush()
    targets = "".join(f"v{i}, " for i in range(len(types)))
    head = f"    {targets}= values" if types else "    pass"
    body = "\n".join([head, *lines, f"    return b''.join(({', '.join(pieces)},))"])
    exec(f"def binder(values, encoding):\n{body}\n", names)
    made: Binder = names["binder"]
    return made


_SIMPLE = frozenset((int, float, str, bool, type(None), dt.date))


def _bind_each(values: Sequence[Any], encoding: str, bigint: bool) -> bytes:
    """`bind`, parameter by parameter."""
    parts = [_BIND(5, len(values))]
    lobs: list[Lob] = []
    get = ENCODERS.get
    for index, value in enumerate(values):
        try:
            encode = get(type(value))
            if encode is not None:
                if encode is _int and not bigint:
                    encode = int8
                parts.append(encode(value, encoding))
                continue
            lob = as_lob(value, encoding)
            if lob is not None:
                lobs.append(lob)
                parts.append(lob_parameter(lob))
            else:
                parts.append(encoder_for(type(value))(value, encoding))
        except UnicodeEncodeError as error:
            raise DataError(f"parameter {index + 1} has a character that {encoding} does not have: {error}") from error
        except (DataError, ProgrammingError, NotSupportedError) as error:
            error.args = (f"parameter {index + 1}: {error}",)
            raise
    if lobs:
        parts.append(_BBIND(41, len(lobs)))
        for lob in lobs:
            parts.append(blob_chunks(lob.content))
    return b"".join(parts)


def blob_chunks(content: bytes) -> bytes:
    """BLOB messages with the content, ended by the empty one."""
    parts = []
    for start in range(0, len(content), CHUNK):
        chunk = content[start : start + CHUNK]
        parts.append(_BBIND(39, len(chunk)) + chunk + (b"\0" if len(chunk) & 1 else b""))
    parts.append(_BBIND(39, 0))
    return b"".join(parts)


_compiled = speed.param_encoders()
_compiled_bind = None if _compiled is None else _compiled[1]

#: One parameter as it stands in BIND: (value, encoding = "iso-8859-1") → bytes.
encode_param: Callable[..., bytes] = encode_param_pure if _compiled is None else _compiled[0]
