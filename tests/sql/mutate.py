#!/usr/bin/env python3
"""Recorded statements with something changed in them: whatever comes, no answer may be XX000, and the server goes on.

    mutate.py [--seed N] [--statements N] [--seconds S] [--files NAME…]

XX000 is what the code answers where it thinks that it cannot be (`PgError::internal`), so each one that a statement reaches is a defect.
Statements of tests/sql are taken in their order, so that the objects that they name are there, and most are sent as they are. Of some a
mutation is sent besides: words are left out, doubled, exchanged for words of other statements, literals for others of another type.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE))
import pgwire  # noqa: E402
import server  # noqa: E402
from run import parse  # noqa: E402

WORD = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$\w*\$|\w+|\s+|[^\w\s]")
LITERALS = [
    "NULL", "0", "-1", "1e400", "'NaN'::float8", "''", "'x'", "9223372036854775807", "ARRAY[1,2]", "ARRAY[]::int[]", "'{}'::jsonb", "ROW(1,'a')", "now()",
    "interval '1 month'", "'[1,5)'::int4range", "B'101'", "DEFAULT", "$1", "*", "(SELECT 1)", "(SELECT 1, 2)", "count(*)", "sum(1) OVER ()", "generate_series(1, 2)",
    "pg_class", "ctid", "tableoid", "'t'::regclass", "true", "current_user", "'\\x00'::bytea", "'{{1},{2}}'::int[]", "VALUE", "EXCLUDED.a", "OLD", "NEW.a",
]
#: What ends or slows the run, and is tested elsewhere.
LEFT_OUT = re.compile(r"pg_terminate_backend|pg_sleep|pg_reload|COPY\b.*\b(STDIN|PROGRAM)|\bVACUUM\b|\bCHECKPOINT\b|DATABASE|repeat\(|generate_series\(1, ?\d{5,}|idle_|statement_timeout|RESET ALL|SESSION AUTH|DISCARD", re.I | re.S)
#: PostgreSQL has these by design, too.
BY_DESIGN = re.compile(r"^cache lookup failed for (?:text search (?:configuration|dictionary)|function|type) \d+$|cannot have explicit members|cannot be a member of any role|^Syntax error near .* at position|^Unexpected end of string")


def mutated(sql: str, words: list[str], rng: random.Random) -> str:
    parts = WORD.findall(sql)
    places = [i for i, p in enumerate(parts) if not p.isspace()]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not places:
            break
        i, kind = rng.choice(places), rng.random()
        if kind < 0.2:
            parts[i] = ""
        elif kind < 0.3:
            parts[i] = f"{parts[i]} {parts[i]}"
        elif kind < 0.55:
            parts[i] = rng.choice(words)
        elif kind < 0.85:
            parts[i] = f" {rng.choice(LITERALS)} "
        else:
            j = rng.choice(places)
            parts[i], parts[j] = parts[j], parts[i]
    return "".join(parts)


def errors(messages: list[tuple[bytes, bytes]]) -> list[dict[str, str]]:
    return [pgwire.fields_of(body) for kind, body in messages if kind == b"E"]


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--statements", type=int, default=4000)
    args.add_argument("--seconds", type=float, default=1e9)
    args.add_argument("--files", nargs="*")
    a = args.parse_args()
    files = sorted(HERE.glob("*.slt"))
    statements = {f.stem: [sql for sql in ("\n".join(c.sql) for c in parse(f)[0]) if not LEFT_OUT.search(sql)] for f in files if not a.files or f.stem in a.files}
    words = sorted({w for texts in statements.values() for sql in texts for w in WORD.findall(sql) if not w.isspace() and len(w) < 40})
    rng = random.Random(a.seed)
    began, sent, found = time.monotonic(), 0, {}
    order = list(statements)
    while sent < a.statements and time.monotonic() - began < a.seconds:
        rng.shuffle(order)
        for stem in order:
            if sent >= a.statements or time.monotonic() - began >= a.seconds:
                break
            with server.Server("--superuser", "postgres") as s:

                def connect() -> pgwire.Connection:
                    c = pgwire.Connection(s.dir, s.port, "postgres", "main", timeout=60)
                    c.simple("SET statement_timeout = '5s'")
                    return c

                c = connect()
                before: list[str] = []
                for sql in statements[stem]:
                    for text in [sql] + [mutated(sql, words, rng) for _ in range(3) if rng.random() < 0.33]:
                        if LEFT_OUT.search(text) or "\0" in text:
                            continue
                        sent += text is not sql
                        try:
                            answers = c.extended(text) if rng.random() < 0.3 and text is not sql else c.simple(text)
                        except (OSError, pgwire.ServerGone) as e:
                            if s.process.poll() is not None:
                                print(f"FAILED: {stem}: the server ended: {text!r} after {before[-5:]}\n{s.log_text()}")
                                return 1
                            answers, c = [], connect()
                            if "57P" not in str(e) and "timed out" in str(e):
                                found.setdefault("hangs", (stem, text))
                        for error in errors(answers):
                            if error.get("C", "").startswith("XX") and not BY_DESIGN.search(error["M"]):
                                found.setdefault(re.sub(r"\d+|\"[^\"]*\"", "…", error["M"]), (stem, text))
                        before.append(text)
                c.close()
    for message, (stem, text) in found.items():
        print(f"FAILED: XX000 {message}\n    {stem}: {text}")
    print(f"mutate: {sent} mutations, {len(found)} messages of XX000 (seed {a.seed}, {time.monotonic() - began:.0f} s)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
