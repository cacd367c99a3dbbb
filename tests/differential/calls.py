#!/usr/bin/env python3
"""Single calls by chance, on pgsqlite and on PostgreSQL 15: every operator, cast and immutable function over extreme values.

    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/calls.py --statements 3000       the fixed part of `make test`
    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/calls.py --seconds 600 --seed N  as long as one likes

A statement computes one call of literals, so both servers must compute it: an error on one side only is a difference here,
whereas `run.py` has to accept it. The answers are compared in the text and the binary format. Each literal is also read
from a text by itself. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import pathlib
import random
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402
from tally import Tally, flags  # noqa: E402
from values import CATALOG_OPERATIONS, EXTREMES, LITERALS, OPERATIONS, SAME, TYPES, USER_TYPES  # noqa: E402

#: types whose OID differs between the servers
FIRST_USER_OID = 16384
#: differences that stay: what the statement looks like, and why
KNOWN = [
    (r"^SELECT age\([^,]*\)$", "it depends on the day"),
    (r"infinity'::timestamp(tz)?.* - |age\(.*infinity'|294276", "PostgreSQL's result is beyond its own range, unnoticed"),
    (r"make_interval\(|int4_sum\(|int2_sum\(", "PostgreSQL's number runs over unnoticed; here it is an error"),
    (r"setweight\(|pg_catalog.\"interval\"\(|float8_regr_combine|float8_combine", "an argument that is XX000 in PostgreSQL"),
    (r"(''|'\\377')::\"char\"\)::char", "PostgreSQL's text has a NUL, or is no UTF-8"),
    (r"trim_array\(.*NULL", "an array that NULLs were trimmed from keeps PostgreSQL's flag for them in its binary form"),
    (r"width_bucket\(.*1e308", "PostgreSQL's number of a bucket runs over unnoticed"),
    (r"'\[-?\d+,-?\d+\]'::", "of an array's bounds that are wrong and out of range PostgreSQL 17 names another fault"),
    (r"width_bucket\(.*(123456789012345678901234567890|9223372036854775807)", "PostgreSQL 15 rounds a quotient up to a bucket beyond the last one"),
]
#: which part of a text that is no time is named first
NO_TIME = {"22007", "22008", "22023"}


def plain(value: bytes | None) -> bytes | None:
    """A binary value without the sign of its NaNs."""
    if value == b"\xff\xc0\0\0":
        return b"\x7f\xc0\0\0"
    return value and value.replace(b"\xff\xf8\0\0\0\0\0\0", b"\x7f\xf8\0\0\0\0\0\0")


def literal(r: random.Random, t: str) -> str:
    """A value of a type: an ordinary or an extreme one, or NULL."""
    if r.random() < 0.04:
        return f"NULL::{TYPES[t]}"
    plain = LITERALS[SAME.get(t, t)]
    text = r.choice(EXTREMES[t]) if t in EXTREMES and r.random() < 0.6 else r.choice(plain)
    return f"{text}::{TYPES[t]}" if text.startswith(("ROW", "ARRAY", "'", "B'", "E'")) else f"({text})::{TYPES[t]}"


def statement(r: random.Random, operations: list[tuple[str, tuple[str, ...], str]]) -> str:
    """A call, or a text that is read as a value of some type."""
    if r.random() < 0.1:
        texts = [v for t in r.sample(list(EXTREMES), 3) for v in EXTREMES[t] if v.startswith(("'", "E'"))]
        if texts:
            return f"SELECT {r.choice(texts)}::{TYPES[r.choice(list(TYPES))]}"
    template, types, _ = r.choice(operations)
    args = [literal(r, t) for t in types]
    pieces = re.split(r"\$(\d)", template)
    return "SELECT " + "".join(args[int(p) - 1] if i % 2 else p for i, p in enumerate(pieces))


def answer(connection: pgwire.Connection, sql: str, binary: int) -> tuple[str, str, object]:
    """The error's code and message, or the row with its types."""
    columns, row = None, None
    for kind, body in connection.extended(sql, result_format=binary):
        if kind == b"E":
            fields = pgwire.fields_of(body)
            return fields["C"], fields["M"], None
        if kind == b"T":
            columns = [(n, o if o < FIRST_USER_OID else "user", m) for n, o, m, _ in pgwire.row_description(body)]
        elif kind == b"D":
            row = [plain(v) for v in pgwire.data_row(body)] if binary else pgwire.data_row(body)
    # a record names its fields' types by OID
    if binary and columns and any(o == "user" or o in (2249, 2287) for _, o, _ in columns):
        row = None
    return "", "", (columns, row)


def main() -> int:
    args = flags(__doc__).parse_args()
    operations = [(template, types, t) for table in (OPERATIONS, CATALOG_OPERATIONS) for t, found in table.items() for template, types in found if types]
    r = random.Random(args.seed)
    tally = Tally(args)
    with server.Server() as s:
        connect = [lambda: pgwire.from_environment("postgres"), lambda: pgwire.Connection(s.dir, s.port, "postgres", "main")]
        sides = [c() for c in connect]
        for side in sides:
            for made in ["CREATE SCHEMA d", "SET search_path = d", *USER_TYPES.split("; ")]:
                side.simple(made)
        while tally.goes_on():
            sql = statement(r, operations)
            binary = int(r.random() < 0.4)
            tally.count += 1
            answers = []
            for i in range(2):
                try:
                    answers.append(answer(sides[i], sql, binary))
                except (pgwire.ServerGone, TimeoutError, OSError) as e:
                    answers.append(("the connection broke", repr(e), None))
                    sides[i] = connect[i]()
                    sides[i].simple("SET search_path = d")
            theirs, ours = answers
            if {theirs[0], ours[0]} <= NO_TIME or theirs[0] == ours[0] and theirs[2] == ours[2] or any(re.search(pattern, sql) for pattern, _ in KNOWN):
                continue
            tally.failed += 1
            shape = re.sub(r"E?'(?:[^']|'')*'|\d+", "_", sql) + ours[0]
            if tally.is_new(shape):
                print(f"{sql}\n    PostgreSQL: {theirs}\n    pgsqlite:   {ours}", flush=True)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
