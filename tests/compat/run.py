#!/usr/bin/env python3
"""Asks pgsqlite for what COMPAT.md says is refused: a claim that is no longer true, or no longer made, fails.

    python3 tests/compat/run.py

The claims are in `claims.txt`. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402


def claims() -> list[tuple[str, list[str], str, str]]:
    """Words of the document, statements before, SQLSTATE, statement."""
    found = []
    for block in (HERE / "claims.txt").read_text().split("\n\n"):
        lines = [line for line in block.strip().splitlines() if not line.startswith("#")]
        if not lines:
            continue
        assert lines[0].startswith("claim: "), block
        at = next(i for i, line in enumerate(lines) if line.startswith("refused: "))
        found.append((lines[0][7:], lines[1:at], lines[at][9:], "\n".join(lines[at + 1 :])))
    return found


def error_of(messages: list[tuple[bytes, bytes]]) -> tuple[str, str]:
    for kind, body in messages:
        if kind == b"E":
            fields = pgwire.fields_of(body)
            return fields["C"], fields["M"]
    return "", ""


def main() -> int:
    document = (HERE.parents[1] / "tools" / "known_differences.md").read_text()
    passed = failed = 0

    def report(claim: str, problem: str) -> None:
        nonlocal passed, failed
        passed, failed = passed + (not problem), failed + bool(problem)
        if problem:
            print(f"{claim}\n    {problem}")

    with server.Server() as s:
        for number, (claim, before, wanted, statement) in enumerate(claims()):
            if claim not in document:
                report(claim, "tools/known_differences.md does not say it")
                continue
            connection = pgwire.Connection(s.dir, s.port, "postgres", "main")
            schema = f"claim_{number}"
            connection.simple(f"CREATE SCHEMA {schema}; SET search_path = {schema}, public")
            connection.simple("BEGIN")
            problem = ""
            for sql in before:
                code, message = error_of(connection.simple(sql))
                problem = problem or (f"{sql}: {code} {message}" if code else "")
            if not problem:
                code, message = error_of(connection.simple(statement))
                if code != wanted:
                    problem = f"{statement}: {code or 'no error'} {message}, not {wanted}"
            report(f"{claim} ({before[-1] if before else statement})", problem)
            connection.simple("ROLLBACK")
            connection.simple(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
            connection.close()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
