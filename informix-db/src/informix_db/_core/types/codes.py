"""Type codes, flags, and DATETIME/INTERVAL qualifiers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class T(IntEnum):
    """Type codes as they stand in the low byte of a described type."""

    CHAR = 0
    SMALLINT = 1
    INTEGER = 2
    FLOAT = 3
    SMALLFLOAT = 4
    DECIMAL = 5
    SERIAL = 6
    DATE = 7
    MONEY = 8
    NULL = 9
    DATETIME = 10
    BYTE = 11
    TEXT = 12
    VARCHAR = 13
    INTERVAL = 14
    NCHAR = 15
    NVARCHAR = 16
    INT8 = 17
    SERIAL8 = 18
    SET = 19
    MULTISET = 20
    LIST = 21
    ROW = 22
    COLLECTION = 23
    UDTVAR = 40
    UDTFIXED = 41
    LVARCHAR = 43
    BOOLEAN = 45
    BIGINT = 52
    BIGSERIAL = 53


NOT_NULL = 0x0100
DISTINCT = 0x0800
NAMED_ROW = 0x1000
DISTINCT_LVARCHAR = 0x2000
DISTINCT_BOOLEAN = 0x4000

#: Extended ids of the built-in opaque types.
XID_LVARCHAR, XID_BOOLEAN, XID_BLOB, XID_CLOB = 1, 5, 10, 11

YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, FRACTION = 0, 2, 4, 6, 8, 10, 12
_NAMES = {YEAR: "YEAR", MONTH: "MONTH", DAY: "DAY", HOUR: "HOUR", MINUTE: "MINUTE", SECOND: "SECOND"}


@dataclass(frozen=True)
class Qualifier:
    """`start TO end` of a DATETIME or INTERVAL. `end` is 10 + k for FRACTION(k)."""

    digits: int
    start: int
    end: int

    @classmethod
    def of(cls, encoded: int) -> Qualifier:
        """From the encoded length `digits<<8 | start<<4 | end`; raises ValueError for an impossible one."""
        q = cls((encoded >> 8) & 0xFF, (encoded >> 4) & 15, encoded & 15)
        start_ok = q.start in _NAMES or q.start == FRACTION
        end_ok = q.end in _NAMES or q.end > SECOND
        if not (start_ok and end_ok and q.start <= max(q.end, FRACTION if q.start == FRACTION else 0) and q.digits):
            raise ValueError(f"impossible qualifier 0x{encoded:04x}")
        return q

    @property
    def width(self) -> int:
        """Bytes that a value of this qualifier takes in a tuple."""
        return (self.digits + (self.end & 1) + 3) // 2

    @property
    def fraction_digits(self) -> int:
        return self.end - SECOND if self.end > SECOND else 0

    def __str__(self) -> str:
        start = _NAMES.get(self.start, "FRACTION")
        end = _NAMES.get(self.end) or f"FRACTION({self.fraction_digits})"
        return f"{start} TO {end}"


def type_name(code: int, encoded_length: int, extended_name: str = "") -> str:
    """The type as it is written in SQL, for messages."""
    if code in (T.DECIMAL, T.MONEY):
        p, s = encoded_length >> 8, encoded_length & 255
        return f"{T(code).name}({p})" if s == 255 else f"{T(code).name}({p},{s})"
    if code in (T.DATETIME, T.INTERVAL):
        try:
            return f"{T(code).name} {Qualifier.of(encoded_length)}"
        except ValueError:
            return f"{T(code).name} 0x{encoded_length:04x}"
    if code in (T.CHAR, T.NCHAR, T.VARCHAR, T.NVARCHAR):
        return f"{T(code).name}({encoded_length & 0xFFFF if code in (T.CHAR, T.NCHAR) else encoded_length & 255})"
    if code in (T.UDTVAR, T.UDTFIXED):
        return (extended_name or "opaque type").upper()
    try:
        return T(code).name
    except ValueError:
        return f"type {code}"
