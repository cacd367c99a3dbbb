#!/usr/bin/env python3
"""Asks pgsqlite whether the documents are true: what they say is refused is refused, and what they say works does.

    python3 tests/compat/run.py [WORDS]      # only claims that contain WORDS

A sentence or reason without a statement, a statement that is no longer refused and a claim that no document makes any more fail. `claims.py` says
where the claims are. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import pathlib
import sqlite3
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import claims  # noqa: E402
import pgwire  # noqa: E402
import server  # noqa: E402


def answer_of(messages: list[tuple[bytes, bytes]]) -> tuple[str, str, str]:
    """SQLSTATE and message of the error, if there is one, and the first value of the last row."""
    value = ""
    for kind, body in messages:
        if kind == b"E":
            fields = pgwire.fields_of(body)
            return fields["C"], fields["M"], value
        if kind == b"D":
            first = pgwire.data_row(body)[0]
            value = "NULL" if first is None else first.decode()
    return "", "", value


def problem_of(s: server.Server, number: int, probe: claims.Probe) -> str:
    """What is not as the claim says, or nothing."""
    connection = pgwire.Connection(s.dir, s.port, "postgres", "main", timeout=120)
    schema = f"claim_{number}"
    connection.simple(f"CREATE SCHEMA {schema}")
    connection.simple(f"SET search_path = {schema}, public")
    # The claims of sentences are shown in one transaction, which leaves nothing behind.
    if probe.where == "claims.txt":
        connection.simple("BEGIN")
    problem = ""
    for sql in probe.before:
        code, message, _ = answer_of(connection.simple(sql))
        problem = problem or (f"{sql}: {code} {message}" if code else "")
    if not problem:
        code, message, value = answer_of(connection.simple(probe.statement))
        if code != probe.code:
            problem = f"{probe.statement}: {code or 'no error'} {message}, not {probe.code or 'success'}"
        elif probe.gives is not None and value != probe.gives:
            problem = f"{probe.statement}: {value}, not {probe.gives}"
    connection.simple("ROLLBACK")
    # (an extension that something uses is not dropped)
    for (table,) in connection.query(f"SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'"):
        connection.simple(f'DROP TABLE IF EXISTS {schema}."{table}" CASCADE')
    for (extension,) in connection.query("SELECT extname FROM pg_extension WHERE extname NOT IN ('plpgsql', 'pg_stat_statements')"):
        connection.simple(f'DROP EXTENSION "{extension}" CASCADE')
    connection.simple(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    connection.close()
    return problem


def main() -> int:
    words = " ".join(sys.argv[1:])
    lacking = [] if words else claims.without_probe()
    for line in lacking:
        print(line)
    passed, failed = 0, len(lacking)
    probes = [p for p in (*claims.of_sentences(), *claims.of_features(), *claims.of_reasons()) if words in p.claim]
    with tempfile.TemporaryDirectory() as folder:
        # A file with a table that another program made.
        file = pathlib.Path(folder) / "main.db"
        with sqlite3.connect(file) as other:
            other.execute("CREATE TABLE other_program (id INTEGER PRIMARY KEY, name TEXT)")
        other.close()
        passed_here, failed_here = ask(file, probes)
    passed, failed = passed + passed_here, failed + failed_here
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def ask(file: pathlib.Path, probes: list[claims.Probe]) -> tuple[int, int]:
    """Runs the probes on a server of the file. Returns how many passed and failed."""
    passed = failed = 0
    with server.Server(database=str(file)) as s:
        for number, probe in enumerate(probes):
            problem = problem_of(s, number, probe)
            passed, failed = passed + (not problem), failed + bool(problem)
            if problem:
                print(f"{probe.where}: {probe.claim}\n    {problem}")
    return passed, failed


if __name__ == "__main__":
    sys.exit(main())
