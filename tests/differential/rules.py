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
#: texts that a value is read from, and arguments, that are wrong with another code
COMPUTED = r"invalid range bound flags|in tsquery|in tsvector|with radius zero|of jsonpath input|unrecognized weight|expected \d-element float8 array|null character not permitted"
#: either is the first that the statement meets
FIRST_ERRORS = ("22", "23", "21000", "44000")
#: what keeps one of several values that are equal but not the same
CHOOSES = re.compile(r"DISTINCT|GROUP BY|UNION|INTERSECT|EXCEPT|min\(|max\(|greatest|least|OVER|EXCLUDE| JOIN |nullif|_agg\(.* ORDER BY", re.I)


#: what is refused by name
REFUSED = (
    "an index on this expression",
    "an index whose condition",
    "a function made by CREATE FUNCTION in",
    "ON CONFLICT on a view",
    "a data-modifying WITH together with the rows of table",
    "RETURNING with a sub-query over a table whose triggers fire",
    "a sub-query in RETURNING of a data-modifying WITH that is carried out row by row",
    "a sub-query in RETURNING that reads the rows of the target by another table",
    "changing a table twice in one statement",
    "a change of table",
    "this window frame in a recursive term",
)


#: what PostgreSQL may simplify away
SIMPLIFIED = re.compile(r"CASE|\bfn\d+\(|ARRAY\[|coalesce|nullif|greatest|least|VALUES|UNION|INTERSECT|EXCEPT", re.I)


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
    interval = re.fullmatch(r"(?:(-?\d+) years? ?)?(?:(-?\d+) mons? ?)?(?:(-?\d+) days? ?)?(-?)(?:(\d+):(\d\d):(\d\d))?", value)
    if interval and value:
        years, months, days, sign, h, m, s = interval.groups()
        seconds = int(h or 0) * 3600 + int(m or 0) * 60 + int(s or 0)
        whole = (int(years or 0) * 12 + int(months or 0)) * 30 + int(days or 0)
        return f"{whole * 86400 + (-seconds if sign else seconds)} s"
    return text


#: a row assignment from a sub-query, in an action of MERGE
ROW_ASSIGNMENT = re.compile(r"UPDATE SET \([^()]*\) = \(SELECT ")

#: the statements of a case of `stored.py` stand between these
SEPARATOR = ";\n"


def printed(statement: str, postgres: Outcome, ours: Outcome) -> str:
    """Texts of stored expressions that differ though they mean the same: the answers must be equal in every other row."""
    if len(postgres.rows) != len(ours.rows):
        return ""
    names = set()
    flat = lambda part: part if isinstance(part, str) else "\n".join(map(str, part))  # noqa: E731
    shown = lambda rows: sorted("\n".join(map(flat, row)) for row in rows)  # noqa: E731
    for theirs, own in zip(shown(postgres.rows), shown(ours.rows)):
        if '"json"' in own and own.replace('"json"', "json") == theirs.replace('"json"', "json"):
            names.add("a name that is a word of later grammars is quoted")
            continue
        own = own.replace('AS "json"', "AS json")
        if theirs == own:
            continue
        bare = lambda text: re.sub(r"[() ;]|\\n|::(bpchar|charactervarying)(?=\)*::character)", "", text.replace("character varying", "charactervarying"))  # noqa: E731
        unmodified = lambda text: bare(re.sub(r"::interval (second|day|year|hour|minute|month)[a-z ]*(\(\d\))?", "::interval", text))  # noqa: E731
        literals = lambda text: re.sub(r"('[^']*'|NULL)::interval (second|day|year|hour|minute|month)[a-z ]*(\(\d\))?", "'_'::interval", text)  # noqa: E731
        if re.search(r" (AND|OR) | IN |BETWEEN|ROW\(|::bpchar|::character", theirs + own) and bare(theirs) == bare(own):
            # read again, (a AND b) AND c is a AND b AND c, as it is in PostgreSQL after a dump
            names.add("parentheses of a stored text")
        elif "CREATE INDEX" in theirs and unmodified(theirs) == unmodified(own):
            names.add("the modifier of an interval's literal")
        elif "GENERATED" in statement and bare(theirs) == bare(own):
            # the conversion to the column's type is not part of the stored text
            names.add("parentheses of a stored text")
        elif CHOOSES.search(statement) and sorted(re.split(r"\s+|,|'", plain(theirs))) == sorted(re.split(r"\s+|,|'", plain(own))):
            names.add("of values that are equal but not the same another one is kept")
        elif "NULL::" in theirs and re.sub(r"NULL::[\w\"]+(\([\d,]+\))?", "NULL", theirs) == re.sub(r"NULL::[\w\"]+(\([\d,]+\))?", "NULL", own):
            names.add("the modifier of a NULL")
        elif (whole := lambda text: re.sub(r"('_'::interval)(::interval)+", r"\1", bare(literals(text))))(theirs) == whole(own) or re.sub(r"::interval (second|day|year|hour|minute|month)[a-z ]*(\(\d\))?", "::interval", theirs) == own:
            names.add("the modifier of an interval's literal")
        elif (once := lambda text: re.sub(r"GROUP BY ([^\n)]*)", lambda m: "GROUP BY " + ", ".join(dict.fromkeys(m[1].split(", "))), text))(theirs) == once(own):
            # two outputs with one expression are two keys until the text is read again, as after a dump
            names.add("a key that GROUP BY has twice")
        elif re.search(r"\) (SEARCH (DEPTH|BREADTH) FIRST|CYCLE \w+) ", theirs):
            names.add("SEARCH and CYCLE are printed as what they stand for")
        elif re.search(r"::(small|short)\b", theirs) and re.sub(r"[() ]|::(integer|text)(?=\)*::|[ )])|::(integer|text)$", "", theirs, flags=re.M) == re.sub(
            r"[() ]|::(integer|text)(?=\)*::|[ )])|::(integer|text)$", "", own, flags=re.M
        ):
            names.add("a cast to a domain by way of its base type")
        else:
            return ""
    return ", ".join(sorted(names))


def known(statement: str, postgres: Outcome, ours: Outcome) -> str:
    """The name of the known difference; empty: there is none."""
    if ours.error == "0A000" and ours.message.startswith(REFUSED):
        return "refused with its name"
    if "42P17" in (postgres.error, ours.error) and SEPARATOR in statement and "0A000" not in ours.error:
        # PostgreSQL computes constants before it asks whether what is left is immutable
        return "constants that make an expression immutable, or leave a call in it"
    if postgres.error == "42P22" and not ours.error and SEPARATOR in statement:
        # 'a'::char(5)::text = 'x' in a generated column: PostgreSQL computes it before it has given it a collation
        return "PostgreSQL stores no comparison of constants cast from character(n)"
    if statement.startswith("MERGE") and len(ROW_ASSIGNMENT.findall(statement)) > 1 and postgres.error == "42804" and not ours.error and "query-specified row type" in postgres.message:
        return "PostgreSQL 15 takes one action's sub-query for another's"
    if postgres.error != ours.error:
        # (the bounds' text of a range constructor is an argument as any other)
        computed = re.search(COMPUTED, postgres.message + ours.message) is not None or re.search("(unrecognized interval|invalid INTERVAL) typmod", postgres.message) is not None
        computed = computed or re.search("elements (from|in) multidimensional arrays is not supported", postgres.message + ours.message) is not None
        data = lambda code: code.startswith(DATA_ERRORS) or computed and code in ("42601", "XX000", "0A000", "54000")  # noqa: E731
        if data(postgres.error) and not ours.error or data(ours.error) and not postgres.error:
            return "a value that cannot be computed is computed by one side only"
        if (postgres.error.startswith(FIRST_ERRORS) or data(postgres.error)) and (ours.error.startswith(FIRST_ERRORS) or data(ours.error)):
            return "of two errors of a statement another comes first"
        return ""
    if ours.error:
        return ""
    if SEPARATOR in statement:
        pairs = list(zip(postgres.rows, ours.rows))
        one_sided = [p for p in pairs if p[0][0] != p[1][0] and (p[0][0] + p[1][0])[:2] in DATA_ERRORS]
        if one_sided and len(postgres.rows) == len(ours.rows):
            kept = [p for p in pairs if p not in one_sided]
            rest = [Outcome(rows=tuple(side)) for side in zip(*kept)]
            same = not kept or rest[0].rows == rest[1].rows or printed(statement, *rest)
            return "a value that cannot be computed is computed by one side only" if same else ""
        return printed(statement, postgres, ours)
    if postgres.columns != ours.columns:
        # PostgreSQL describes what is left of an expression after it computed the constants in it
        bare = lambda columns: [(name, oid) for name, oid, _ in columns]  # noqa: E731
        one_sided = all(-1 in (a[2], b[2]) or a[2] == b[2] for a, b in zip(postgres.columns, ours.columns))
        if bare(postgres.columns) == bare(ours.columns) and one_sided and postgres.rows == ours.rows and SIMPLIFIED.search(statement):
            return "the modifier of a computed column"
        return ""
    if "ORDER BY" in statement and postgres.tag == ours.tag and not postgres.after:
        # values that sort as equals: neither order is wrong
        keys = lambda rows: [tuple(map(plain, r)) for r in rows]  # noqa: E731
        if (" LIMIT " in statement or sorted(map(repr, postgres.rows)) == sorted(map(repr, ours.rows))) and keys(postgres.rows) == keys(ours.rows):
            return "rows with equal keys come in another order"
    if "-0" in str(postgres.rows) + str(postgres.after):
        zero = lambda rows: sorted(re.sub(r"-0(?![\d.])", "0", repr(r)) for r in rows)  # noqa: E731
        if zero(postgres.rows) == zero(ours.rows) and zero(postgres.after) == zero(ours.after):
            return "a negative zero that is stored comes back as zero"
    if statement.startswith("MERGE") and len(ROW_ASSIGNMENT.findall(statement)) > 1 and postgres.tag == ours.tag:
        # MERGE … UPDATE SET (a, b) = (SELECT 10, 11) WHEN MATCHED THEN UPDATE SET (a, b) = (SELECT 20, 21) stores 20, 21 in all rows: the
        # numbers of the sub-queries begin anew with each action, so that those of one action are taken for another's
        return "PostgreSQL 15 takes one action's sub-query for another's"
    if CHOOSES.search(statement) and postgres.tag == ours.tag:
        same = lambda rows: sorted(repr(tuple(map(plain, r))) for r in rows)  # noqa: E731
        if same(postgres.rows) == same(ours.rows) and same(postgres.after) == same(ours.after):
            return "of values that are equal but not the same another one is kept"
    return ""
