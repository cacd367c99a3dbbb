"""Differences that are known and stay: each is recognised by a rule, with its reason. What no rule knows is a defect."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation


@dataclass
class Outcome:
    """What a server answered to a statement."""

    error: str = ""
    message: str = ""
    columns: tuple = ()
    rows: tuple = ()
    ordered: bool = False
    tag: str = ""
    #: the rows of the changed table afterwards
    after: tuple = ()


#: PostgreSQL computes what is constant while it plans, and evaluates WHERE, joins and sub-queries in the order of its plan; which of
#: the values that cannot be computed is met first, or at all, is not part of an answer (manual, 4.2.14).
DATA_ERRORS = ("22", "21000")
#: either is the first that the statement meets
FIRST_ERRORS = ("22", "23", "21000")
#: what keeps one of several values that are equal but not the same
CHOOSES = re.compile(r"DISTINCT|GROUP BY|UNION|INTERSECT|EXCEPT|min\(|max\(|greatest|least|OVER|EXCLUDE| JOIN |nullif", re.I)


def plain(value: object) -> object:
    """A value without what equal values may differ in: the scale of a numeric, the units of an interval, the sign of zero."""
    if not isinstance(value, str):
        return value

    def number(match: re.Match) -> str:
        try:
            n = Decimal(match[0])
        except InvalidOperation:
            return match[0]
        return "0" if n == 0 else f"{n.normalize():f}"

    text = re.sub(r"(?<![\w:.-])-?\d+(\.\d+)?(?![\w:.-])", number, value)
    interval = re.fullmatch(r"(?:(-?\d+) days?)? ?(-?)(?:(\d+):(\d\d):(\d\d))?", value)
    if interval and value:
        days, sign, h, m, s = interval.groups()
        seconds = int(h or 0) * 3600 + int(m or 0) * 60 + int(s or 0)
        return f"{int(days or 0) * 86400 + (-seconds if sign else seconds)} s"
    return text


def known(statement: str, postgres: Outcome, ours: Outcome) -> str:
    """The name of the known difference; empty: there is none."""
    if postgres.error != ours.error:
        data = lambda code: code.startswith(DATA_ERRORS)  # noqa: E731
        if data(postgres.error) and not ours.error or data(ours.error) and not postgres.error:
            return "a value that cannot be computed is computed by one side only"
        if postgres.error.startswith(FIRST_ERRORS) and ours.error.startswith(FIRST_ERRORS):
            return "of two errors of a statement another comes first"
        return ""
    if ours.error:
        return ""
    if postgres.columns != ours.columns:
        return ""
    if "-0" in str(postgres.rows) + str(postgres.after):
        zero = lambda rows: sorted(re.sub(r"-0(?![\d.])", "0", repr(r)) for r in rows)  # noqa: E731
        if zero(postgres.rows) == zero(ours.rows) and zero(postgres.after) == zero(ours.after):
            return "a negative zero that is stored comes back as zero"
    if CHOOSES.search(statement) and postgres.tag == ours.tag:
        same = lambda rows: sorted(repr(tuple(map(plain, r))) for r in rows)  # noqa: E731
        if same(postgres.rows) == same(ours.rows) and same(postgres.after) == same(ours.after):
            return "of values that are equal but not the same another one is kept"
    return ""
