"""Values that Python has no type for: year-month intervals, partial date-times, rows, collections, LOB locators."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import total_ordering

__all__ = ["BlobLocator", "ClobLocator", "CollectionValue", "IntervalYM", "PartialDatetime", "RowValue", "Text"]


@total_ordering
class IntervalYM:
    """INTERVAL YEAR TO MONTH (or YEAR, or MONTH): a number of months, possibly negative."""

    __slots__ = ("months",)

    def __init__(self, months: int) -> None:
        object.__setattr__(self, "months", int(months))

    months: int

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("IntervalYM is immutable")

    @property
    def years(self) -> int:
        """Whole years, towards zero."""
        return self.months // 12 if self.months >= 0 else -(-self.months // 12)

    @property
    def remainder_months(self) -> int:
        """Months beyond the whole years, with the sign of the interval."""
        return self.months - 12 * self.years

    def __str__(self) -> str:
        years, months = divmod(abs(self.months), 12)
        return f"{'-' if self.months < 0 else ''}{years}-{months:02d}"

    def __repr__(self) -> str:
        return f"IntervalYM(months={self.months})"

    def __eq__(self, other: object) -> bool:
        return self.months == other.months if isinstance(other, IntervalYM) else NotImplemented

    def __lt__(self, other: IntervalYM) -> bool:
        return self.months < other.months if isinstance(other, IntervalYM) else NotImplemented

    def __hash__(self) -> int:
        return hash(("IntervalYM", self.months))

    def __neg__(self) -> IntervalYM:
        return IntervalYM(-self.months)

    def __add__(self, other: IntervalYM) -> IntervalYM:
        return IntervalYM(self.months + other.months) if isinstance(other, IntervalYM) else NotImplemented

    def __sub__(self, other: IntervalYM) -> IntervalYM:
        return IntervalYM(self.months - other.months) if isinstance(other, IntervalYM) else NotImplemented

    def __reduce__(self) -> tuple[type[IntervalYM], tuple[int]]:
        return IntervalYM, (self.months,)


@dataclass(frozen=True)
class PartialDatetime:
    """A DATETIME that starts at MONTH or DAY: no Python type holds it without inventing a year.

    Fields outside the qualifier are None. `str()` gives Informix's literal form, which can be bound again.
    """

    qualifier: str
    month: int | None = None
    day: int | None = None
    hour: int | None = None
    minute: int | None = None
    second: int | None = None
    microsecond: int | None = None

    def __str__(self) -> str:
        text = "-".join(f"{v:02d}" for v in (self.month, self.day) if v is not None)
        clock = ":".join(f"{v:02d}" for v in (self.hour, self.minute, self.second) if v is not None)
        if self.microsecond is not None:
            clock += f".{self.microsecond:06d}"[:-1]
        return f"{text} {clock}" if clock else text


class Text(str):
    """A string that is to be bound as a TEXT large object, not as a character string."""

    __slots__ = ()


@dataclass(frozen=True)
class BlobLocator:
    """Where a BLOB is: 72 bytes that only the server can follow."""

    __slots__ = ("raw",)
    raw: bytes


@dataclass(frozen=True)
class ClobLocator:
    """Where a CLOB is: 72 bytes that only the server can follow."""

    __slots__ = ("raw",)
    raw: bytes


@dataclass(frozen=True)
class RowValue:
    """A ROW: `raw` is the literal text as the server sent it, `schema` the row type's name as described."""

    __slots__ = ("raw", "schema")
    raw: bytes
    schema: str

    def to_python(self, encoding: str = "utf-8") -> tuple[object, ...]:
        """The fields as a tuple: numbers as int, Decimal or float; everything else as str; NULL as None."""
        value = parse_literal(self.raw.decode(encoding))
        return value if isinstance(value, tuple) else (value,)


@dataclass(frozen=True)
class CollectionValue:
    """A SET, MULTISET or LIST: `raw` is the literal text as the server sent it."""

    __slots__ = ("element_schema", "kind", "raw")
    raw: bytes
    kind: str
    element_schema: str

    def to_python(self, encoding: str = "utf-8") -> list[object] | frozenset[object]:
        """A list, or a frozenset for a SET, in which lists are tuples; elements as in `RowValue.to_python`."""
        value = parse_literal(self.raw.decode(encoding))
        if not isinstance(value, (list, frozenset)):
            raise ValueError(f"not a collection literal: {self.raw!r}")
        return value


_TOKEN = re.compile(
    r"\s*(?:(?P<open>(?:SET|MULTISET|LIST)\s*\{|ROW\s*\()|(?P<close>[})])|(?P<comma>,)"
    r"|'(?P<single>(?:[^']|'')*)'|\"(?P<double>(?:[^\"]|\"\")*)\"|(?P<bare>[^\s,{}()'\"][^,{}()'\"]*))",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z")


def parse_literal(text: str) -> object:
    """The value of a collection or row literal such as `LIST{1,2}`, `ROW('a',NULL)`, `SET{ROW(1,'x')}`."""
    value, pos = _parse_value(text, 0, 0)
    if text[pos:].strip():
        raise ValueError(f"extra characters after the literal: {text[pos:]!r}")
    return value


def _parse_value(text: str, pos: int, depth: int) -> tuple[object, int]:
    if depth > 64:
        raise ValueError("the literal is nested too deeply")
    token = _TOKEN.match(text, pos)
    if token is None or token["close"] or token["comma"]:
        raise ValueError(f"a value is missing at {pos} of {text!r}")
    pos = token.end()
    if token["open"] is None:
        return _scalar(token), pos
    kind = token["open"].rstrip("{( \t\n").upper()
    items: list[object] = []
    peek = _TOKEN.match(text, pos)
    if peek is not None and peek["close"]:
        pos = peek.end()
    else:
        while True:
            item, pos = _parse_value(text, pos, depth + 1)
            items.append(item)
            separator = _TOKEN.match(text, pos)
            if separator is None or not (separator["comma"] or separator["close"]):
                raise ValueError(f"a comma or bracket is missing at {pos} of {text!r}")
            pos = separator.end()
            if separator["close"]:
                break
    if kind == "ROW":
        return tuple(items), pos
    # the elements of a set are hashable: a list in one is a tuple
    return (frozenset(tuple(i) if isinstance(i, list) else i for i in items) if kind == "SET" else items), pos


def _scalar(token: re.Match[str]) -> object:
    if token["single"] is not None:
        return token["single"].replace("''", "'")
    if token["double"] is not None:
        return token["double"].replace('""', '"')
    bare = token["bare"].strip()
    if bare.upper() == "NULL":
        return None
    if not _NUMBER.match(bare):
        return bare
    if "e" in bare or "E" in bare:
        return float(bare)
    return Decimal(bare) if "." in bare else int(bare)


def to_literal(value: object) -> str:
    """The literal text of a list, tuple or set, for a collection or row parameter."""
    if isinstance(value, list):
        return "LIST{" + ",".join(map(to_literal, value)) + "}"
    if isinstance(value, (set, frozenset)):
        return "SET{" + ",".join(map(to_literal, value)) + "}"
    if isinstance(value, tuple):
        return "ROW(" + ",".join(map(to_literal, value)) + ")"
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "'t'" if value else "'f'"
    if isinstance(value, (int, float, Decimal)):
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError(f"{value} has no literal in Informix")
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


#: What a column of a row can be: docs/types.md says which type gives which.
Value = (
    bool
    | int
    | float
    | Decimal
    | str
    | bytes
    | dt.date
    | dt.time
    | dt.datetime
    | dt.timedelta
    | PartialDatetime
    | IntervalYM
    | BlobLocator
    | ClobLocator
    | RowValue
    | CollectionValue
    | None
)
