#!/usr/bin/env python3
"""What a standby says to its clients: PostgreSQL's answers, word for word.

    words.py --check              a primary of ours with an archive, and its standby, against words.txt
    ORACLE_VERSION=18 tools/oracle.sh words.py --record    writes words.txt from PostgreSQL and a standby of it that pg_basebackup makes

words.sql has the statements. Each paragraph is a session. Known differences are in `DIFFERENT`, each with its reason.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import pgwire  # noqa: E402

#: What the primary has before the standby follows.
SETUP = """\
CREATE TABLE t (i int PRIMARY KEY, s text);
INSERT INTO t SELECT g, 'row ' || g FROM generate_series(1, 10) g;
CREATE SEQUENCE q;
SELECT nextval('q');
CREATE VIEW v AS SELECT count(*) AS n FROM t;
CREATE MATERIALIZED VIEW m AS SELECT max(i) AS m FROM t;
CREATE ROLE reader;
CREATE FUNCTION writes() RETURNS int LANGUAGE plpgsql AS $$BEGIN INSERT INTO t VALUES (100, 'x'); RETURN 1; END$$;
CREATE FUNCTION reads() RETURNS bigint LANGUAGE plpgsql AS $$BEGIN RETURN (SELECT count(*) FROM t); END$$;
CREATE FUNCTION locks() RETURNS int LANGUAGE plpgsql AS $$BEGIN PERFORM * FROM t FOR UPDATE; RETURN 1; END$$;
CREATE PROCEDURE writes_too() LANGUAGE plpgsql AS $$BEGIN DELETE FROM t; END$$;
SELECT lo_from_bytea(4242, 'large');
"""
#: In a session of its own, so that it can be prepared.
PREPARED = ["BEGIN", "INSERT INTO t VALUES (50, 'x')", "PREPARE TRANSACTION 'waits'"]
#: Statements that differ, with the reason. A statement that agrees after all is an error, so that the list does not grow old.
DIFFERENT = {
    "EXPLAIN (COSTS off) UPDATE t SET s = 'x' WHERE i = 1;": "SQLite's conditions",
    "SELECT last_value FROM q;": "the file has sequences up to 32 values ahead, as PostgreSQL's log has them",
    "SELECT pg_sequence_last_value('q'::regclass);": "the same",
    "ALTER SYSTEM SET work_mem = '5MB';": "not implemented",
    "LOAD 'nothing_of_this_name';": "not implemented",
    "SELECT lo_unlink(1);": "the object is looked for first",
    "SELECT pg_switch_wal();": "not implemented",
    "SELECT pg_create_restore_point('a');": "not implemented",
    "INSERT INTO public.t VALUES (100, 'x');": "privileges are checked first",
}


def paragraphs() -> list[list[str]]:
    """The sessions: their statements, in order. The first of a session on the primary is `\\primary`."""
    found: list[list[str]] = []
    for paragraph in (HERE / "words.sql").read_text().split("\n\n"):
        lines = [line for line in paragraph.splitlines() if line and not line.startswith("--")]
        if lines:
            found.append(lines)
    return found


def answer(connection: pgwire.Connection, statement: str) -> list[str]:
    lines = []
    for kind, body in connection.simple(statement.rstrip(";")):
        if kind == b"D":
            lines.append("|".join("NULL" if v is None else v.decode() for v in pgwire.data_row(body)) or "(empty)")
        elif kind in (b"E", b"N"):
            f = pgwire.fields_of(body)
            lines.append(f"{f['S']} {f['C']}: {f['M']}")
            lines += [f"{word}: {f[letter]}" for letter, word in (("D", "DETAIL"), ("H", "HINT")) if letter in f]
        elif kind == b"S":
            name, value = body[:-1].split(b"\0")
            lines.append(f"{name.decode()} is {value.decode()}")
        elif kind == b"C":
            lines.append(body[:-1].decode())
        elif kind == b"d":
            lines.append(body.decode().rstrip("\n"))
    return lines


def change(primary: str, database: str, standby: str, its_database: str) -> None:
    """A change that the standby applies after it was started: its time is known from then on."""
    connection = pgwire.Connection(primary, 5432, "postgres", database)
    connection.query("UPDATE t SET s = 'row 10' WHERE i = 10")
    connection.close()
    deadline = time.monotonic() + 60
    connection = when_started(standby, its_database, deadline)
    while connection.query("SELECT pg_last_xact_replay_timestamp() IS NOT NULL")[0] != ["t"]:
        if time.monotonic() > deadline:
            raise SystemExit("the standby applies nothing")
        time.sleep(0.1)
    connection.close()


def when_started(folder: str, database: str, deadline: float) -> pgwire.Connection:
    """A session, as soon as the server does not say any more that it is starting up."""
    while True:
        try:
            return pgwire.Connection(folder, 5432, "postgres", database)
        except pgwire.StartupError as e:
            if e.fields["C"] != "57P03" or time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def answers(primary: tuple[str, str], standby: tuple[str, str]) -> list[list[tuple[str, list[str]]]]:
    said = []
    for paragraph in paragraphs():
        on_primary = paragraph[0] == "\\primary"
        folder, database = primary if on_primary else standby
        connection = pgwire.Connection(folder, 5432, "postgres", database)
        first = [f"{name} is {connection.parameters[name]}" for name in ("in_hot_standby", "default_transaction_read_only")]
        said.append([("\\primary" if on_primary else "\\standby", first)])
        said[-1] += [(statement, answer(connection, statement)) for statement in paragraph[on_primary:]]
        connection.close()
    return said


def written(said: list[list[tuple[str, list[str]]]]) -> str:
    return "\n".join("".join("\n".join([f"> {statement}", *lines, ""]) for statement, lines in session) for session in said)


def record() -> None:
    folder = os.environ["PGHOST"]
    as_user = [] if os.getuid() else ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "env", f"HOME={folder}"]

    def run(*words: str) -> None:
        subprocess.run([*as_user, *words], check=True, cwd=folder, stdout=subprocess.DEVNULL)

    connection = pgwire.Connection(folder, 5432, "postgres", "postgres")
    connection.query(SETUP)
    connection.close()
    connection = pgwire.Connection(folder, 5432, "postgres", "postgres")
    for statement in PREPARED:
        connection.query(statement)
    connection.close()
    run("pg_basebackup", "-h", folder, "-U", "postgres", "-D", f"{folder}/standby", "-R", "-c", "fast")
    run("mkdir", f"{folder}/s")
    # (without a WAL receiver: what a standby says that reads from an archive is asked)
    options = f"-c listen_addresses='' -k {folder}/s -p 5432 -c timezone=UTC -c max_prepared_transactions=5 -c fsync=off"
    run("pg_ctl", "-D", f"{folder}/standby", "-w", "-l", f"{folder}/log2", "-o", options, "start")
    try:
        change(folder, "postgres", f"{folder}/s", "postgres")
        said = answers((folder, "postgres"), (f"{folder}/s", "postgres"))
    finally:
        run("pg_ctl", "-D", f"{folder}/standby", "-m", "immediate", "-w", "stop")
    (HERE / "words.txt").write_text(written(said))


def recorded() -> list[list[tuple[str, list[str]]]]:
    sessions: list[list[tuple[str, list[str]]]] = []
    for block in (HERE / "words.txt").read_text().split("\n\n"):
        session: list[tuple[str, list[str]]] = []
        for line in block.splitlines():
            if line.startswith("> "):
                session.append((line[2:], []))
            else:
                session[-1][1].append(line)
        sessions.append(session)
    return sessions


def check() -> list[str]:
    import server

    problems = []
    with tempfile.TemporaryDirectory(prefix="pgsqlite-words.") as folder:
        for name in ("a", "b"):
            os.mkdir(f"{folder}/{name}")
        primary = server.Server("--archive", f"file:{folder}/archive", directory=f"{folder}/a")
        standby = None
        try:
            connection = pgwire.Connection(primary.dir, 5432, "postgres", "main")
            connection.query(SETUP)
            connection.close()
            connection = pgwire.Connection(primary.dir, 5432, "postgres", "main")
            for statement in PREPARED:
                connection.query(statement)
            connection.close()
            deadline = time.monotonic() + 60
            # (what it says of its log is known when the archive was read)
            while True:
                connection = pgwire.Connection(primary.dir, 5432, "postgres", "main")
                done = connection.query("SELECT archived_count > 0 FROM pg_stat_archiver")[0] == ["t"]
                if done:
                    wanted = connection.query("SELECT pg_current_wal_lsn()")[0][0]
                connection.close()
                if done or time.monotonic() > deadline:
                    break
                time.sleep(0.1)
            standby = server.Server("--standby", f"file:{folder}/archive", directory=f"{folder}/b")
            connection = when_started(standby.dir, "main", deadline)
            while connection.query(f"SELECT pg_last_wal_replay_lsn() >= '{wanted}'")[0] != ["t"]:
                if time.monotonic() > deadline:
                    raise SystemExit("the standby does not come to the primary's state")
                time.sleep(0.1)
            connection.close()
            change(primary.dir, "main", standby.dir, "main")
            said = answers((primary.dir, "main"), (standby.dir, "main"))
        finally:
            for one in (primary, standby):
                if one is not None:
                    one.stop()
    different = dict(DIFFERENT)
    for ours, theirs in zip(said, recorded(), strict=True):
        for (statement, now), (expected_statement, expected) in zip(ours, theirs, strict=True):
            if statement != expected_statement:
                raise SystemExit(f"words.txt is not of these statements: record it anew ({statement} | {expected_statement})")
            if now != expected:
                different.pop(statement, None)
            if now != expected and statement not in DIFFERENT:
                problems.append("\n  ".join([statement, *(f"+ {line}" for line in now), *(f"- {line}" for line in expected)]))
    problems += [f"{statement}\n  answers as PostgreSQL does, and is listed as different" for statement in different]
    return problems


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.record:
        record()
    if options.check:
        problems = check()
        for problem in problems:
            print(problem)
        print(f"words: {sum(len(s) for s in recorded())} statements, {len(problems)} answers differ")
        sys.exit(bool(problems))


if __name__ == "__main__":
    main()
