#!/usr/bin/env python3
"""A statement that would pass `--memory-limit` fails with 53200, and nobody else notices.

    limit.py [--all] [--verbose] [NAME…]

Each statement below takes memory without end, or far more than the limit. It must end with an error of class 53 or 54 (or with its
answer, where the memory it needs is less than it seems), the process must live and stay near the limit (VmHWM), and a session that
looks up a key meanwhile gets an answer each time.
"""

from __future__ import annotations

import argparse
import pathlib
import struct
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402
from run import peak  # noqa: E402

LIMIT = 256
#: An allocation that doubles a buffer is looked at before it is made; what one call makes of its arguments may come on top.
MOST = LIMIT + 160

SERIES = "generate_series(1, 100000000)"
#: A thousand million rows that no function makes: nothing but the steps of SQLite passes between two rows.
PLAIN = "t a, t b, t c, t d, t e, t f, t g, t h, t j"
BOMBS = {
    "string_agg": f"SELECT length(string_agg(repeat('x', 100000), '')) FROM {SERIES}",
    "array_agg": f"SELECT cardinality(array_agg(g)) FROM {SERIES} g",
    "json_agg": f"SELECT length(json_agg(g)::text) FROM {SERIES} g",
    "jsonb_object_agg": f"SELECT length(jsonb_object_agg(g, g)::text) FROM {SERIES} g",
    "percentile_disc": f"SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY g) FROM {SERIES} g",
    "array_fill": "SELECT cardinality(array_fill(1, ARRAY[100000000]))",
    "array_fill of two dimensions": "SELECT cardinality(array_fill(0, ARRAY[10000, 10000]))",
    "repeat": "SELECT length(repeat('x', 1000000000))",
    "lpad": "SELECT length(lpad('x', 1000000000))",
    "rpad": "SELECT length(rpad('x', 1000000000, 'yz'))",
    "format": "SELECT length(format('%1000000000s', 'x'))",
    "replace": "SELECT length(replace(repeat('a', 1000000), 'a', repeat('b', 1000)))",
    "string_to_array": "SELECT cardinality(string_to_array(repeat('a,', 50000000), ','))",
    "encode": "SELECT length(encode(convert_to(repeat('x', 100000000), 'UTF8'), 'hex'))",
    "regexp_replace": "SELECT length(regexp_replace(repeat('a', 100000), 'a', repeat('b', 10000), 'g'))",
    "regexp_split_to_array": "SELECT cardinality(regexp_split_to_array(repeat('a,', 20000000), ','))",
    "doubling in a CTE": "WITH RECURSIVE d(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM d WHERE length(s) < 1000000000) SELECT max(length(s)) FROM d",
    "doubling an array": "WITH RECURSIVE d(a) AS (SELECT ARRAY[1] UNION ALL SELECT a || a FROM d WHERE cardinality(a) < 100000000) SELECT max(cardinality(a)) FROM d",
    "PL/pgSQL text": "DO $$ DECLARE s text := 'x'; BEGIN LOOP s := s || s; END LOOP; END $$",
    "PL/pgSQL array": "DO $$ DECLARE a int[] := '{1}'; BEGIN LOOP a := a || a; END LOOP; END $$",
    "RETURN NEXT": "SELECT count(*) FROM endless()",
    "RAISE NOTICE": "DO $$ BEGIN LOOP RAISE NOTICE '%', repeat('x', 100000); END LOOP; END $$",
    "cursor WITH HOLD": f"DECLARE c CURSOR WITH HOLD FOR SELECT repeat('x', 1000), g FROM {SERIES} g",
    "scroll cursor": f"BEGIN; DECLARE c SCROLL CURSOR FOR SELECT repeat('x', 1000), g FROM {SERIES} g; MOVE LAST FROM c; COMMIT",
    "cursor WITH HOLD of numbers": f"DECLARE c CURSOR WITH HOLD FOR SELECT a.i FROM {PLAIN}",
    "cursor that is read ahead": f"BEGIN; UPDATE t SET s = s WHERE i = 10; DECLARE c CURSOR FOR SELECT a.i FROM {PLAIN}; FETCH 1 FROM c; UPDATE t SET s = s WHERE i = 10; FETCH ALL FROM c; COMMIT",
    "RETURN QUERY": "SELECT count(*) FROM many()",
    "pg_notify": f"BEGIN; SELECT count(pg_notify('c', repeat('x', 7000) || g)) FROM {SERIES} g; COMMIT",
    "set_config": f"SELECT count(set_config('a.x' || g, repeat('x', 100000), false)) FROM {SERIES} g",
    # (what SQLite sorts goes to temporary files)
    "DISTINCT": "SELECT count(DISTINCT repeat('x', 10000) || g) FROM generate_series(1, 40000) g",
    "DISTINCT without end": f"SET temp_file_limit = '100MB'; SELECT count(DISTINCT repeat('x', 10000) || g) FROM {SERIES} g",
    "LISTEN": ";".join(f"LISTEN c{n}" for n in range(25000)),
    "RETURNING": "BEGIN; INSERT INTO t SELECT g, repeat('x', 100000) FROM generate_series(100, 6000) g RETURNING *; ROLLBACK",
    "xmlless jsonb": "SELECT length((repeat('[', 1000) || repeat(']', 1000))::jsonb::text), length(jsonb_build_array(repeat('x', 200000000), repeat('y', 200000000))::text)",
    "to_tsvector": "SELECT length(to_tsvector('simple', repeat('abc def ', 20000000)))",
    "unnest": "SELECT count(*) FROM unnest(string_to_array(repeat('a,', 20000000), ','))",
    "polygon": "SELECT npoints(polygon(100000000, circle '((0,0),1)'))",
    "hstore-like text": "SELECT length(quote_literal(repeat('''', 300000000)))",
    "translate": "SELECT length(translate(repeat('a', 300000000), 'a', 'bb'))",
    "overlay": "SELECT length(overlay(repeat('a', 300000000) placing repeat('b', 300000000) from 5))",
    "concat_ws": "SELECT length(concat_ws(',', repeat('a', 200000000), repeat('b', 200000000), repeat('c', 200000000)))",
}
#: Those of `make test`: one of each way to hold memory.
QUICK = [
    "string_agg", "doubling in a CTE", "RETURN NEXT", "RAISE NOTICE", "cursor WITH HOLD", "cursor WITH HOLD of numbers", "cursor that is read ahead", "RETURN QUERY", "pg_notify",
    "set_config", "DISTINCT", "DISTINCT without end", "LISTEN", "RETURNING",
]
#: What says "too much": resources, program limits, and the time limit where a debug build is slow.
EXPECTED = ("53", "54", "57014")


def outcome(messages: list[tuple[bytes, bytes]]) -> tuple[str, str]:
    """(SQLSTATE, message) of the first error, or ("", "")."""
    for kind, body in messages:
        if kind == b"E":
            fields = {f[:1]: f[1:].decode() for f in body.split(b"\0") if f}
            return fields[b"C"], fields[b"M"]
    return "", ""


def prepared_statements(s: server.Server) -> str:
    """A session that prepares statements without end gets 53200, and goes on when it has given them up."""
    c = pgwire.Connection(s.dir, s.port, "postgres", "main", timeout=300)
    code = ""
    for n in range(20000):
        columns = ", ".join(f"upper(s || '{n} {i}') AS a{i}" for i in range(60))
        code, message = outcome(c.simple(f"PREPARE p{n} AS SELECT {columns} FROM t"))
        if code:
            break
    if code != "53200":
        return f"{n} statements: {code or 'no error'}"
    return goes_on(c, "DEALLOCATE ALL")


def portals(s: server.Server) -> str:
    """The same for portals and the values that they are bound to."""
    c = pgwire.Connection(s.dir, s.port, "postgres", "main", timeout=300)
    outcome(c.simple("BEGIN"))
    c.send(b"P", b"s\0SELECT i FROM t WHERE s <> $1\0" + struct.pack("!hi", 1, 25))
    value = b"x" * (1 << 20)
    code = ""
    for n in range(2000):
        c.send(b"B", f"portal{n}".encode() + b"\0s\0" + struct.pack("!hhi", 0, 1, len(value)) + value + struct.pack("!h", 0))
        c.send(b"H", b"")
        kind, body = c.receive()
        while kind == b"1":
            kind, body = c.receive()
        if kind == b"E":
            code = outcome([(kind, body)])[0]
            break
    c.send(b"S", b"")
    c.until_ready()
    if code != "53200":
        return f"{n} portals: {code or 'no error'}"
    return goes_on(c, "ROLLBACK")


def portal_left_open(s: server.Server) -> str:
    """A portal with rows to come keeps its snapshot while the session does something else, and nobody reads its rows ahead for that."""
    c = pgwire.Connection(s.dir, s.port, "postgres", "main", timeout=300)

    def execute(portal: bytes, most: int) -> list[bytes]:
        c.send(b"E", portal + b"\0" + struct.pack("!i", most))
        c.send(b"H", b"")
        kinds = []
        while not kinds or kinds[-1] not in (b"s", b"C", b"E"):
            kinds.append(c.receive()[0])
        return [k for k in kinds if k not in (b"1", b"2")]

    for portal, sql in ((b"rows", f"SELECT a.i FROM {PLAIN}"), (b"other", "SELECT s FROM t WHERE i = 3"), (b"change", "UPDATE t SET s = s WHERE i = 0")):
        c.send(b"P", portal + b"\0" + sql.encode() + b"\0\0\0")
        c.send(b"B", portal + b"\0" + portal + b"\0\0\0\0\0\0\0")
    found = [execute(portal, most) for portal, most in ((b"rows", 2), (b"other", 0), (b"rows", 1), (b"change", 0), (b"rows", 1))]
    if found != [[b"D", b"D", b"s"], [b"D", b"C"], [b"D", b"s"], [b"C"], [b"D", b"s"]]:
        return f"answers: {found}"
    c.send(b"S", b"")
    c.until_ready()
    return goes_on(c, "SELECT 1")


def goes_on(c: pgwire.Connection, after: str) -> str:
    code, message = outcome(c.simple(after))
    if code or c.query("SELECT s FROM t WHERE i = 3") != [["row 3"]]:
        return f"the session does not go on: {code} {message}"
    c.close()
    return ""


def dropped_definitions(s: server.Server) -> str:
    """What was dropped takes no memory: each function below has a default of half a megabyte."""
    c = pgwire.Connection(s.dir, s.port, "postgres", "main", timeout=300)
    c.query("SELECT 1")
    before, count = resident(s), 300
    for n in range(count):
        c.query(f"CREATE FUNCTION f{n}(a text DEFAULT '{n}{'x' * (1 << 19)}') RETURNS int LANGUAGE sql AS 'SELECT 1'")
        c.query(f"DROP FUNCTION f{n}(text)")
    grown = resident(s) - before
    if grown > count / 4:
        return f"{grown:.0f} MiB stay of {count / 2:.0f}"
    return goes_on(c, "SELECT 1")


def resident(s: server.Server) -> float:
    """MiB"""
    for line in pathlib.Path(f"/proc/{s.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the kernel does not report a process's memory")


#: What a session keeps between its statements, and the server of what is gone.
KEPT = {"prepared statements": prepared_statements, "portals": portals, "portal left open": portal_left_open, "dropped definitions": dropped_definitions}


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--verbose", action="store_true")
    args.add_argument("--all", action="store_true")
    args.add_argument("only", nargs="*")
    a = args.parse_args()
    passed = failed = 0
    with server.Server("--memory-limit", f"{LIMIT}MB") as s:
        first = pgwire.Connection(s.dir, s.port, "postgres", "main")
        first.query("CREATE TABLE t (i int PRIMARY KEY, s text); INSERT INTO t SELECT g, 'row ' || g FROM generate_series(1, 10) g")
        first.query("CREATE FUNCTION endless() RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN LOOP RETURN NEXT repeat('x', 10000); END LOOP; END $$")
        first.query(f"CREATE FUNCTION many() RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT a.i FROM {PLAIN}; END $$")
        answers = {"right": 0, "wrong": 0}
        stop = threading.Event()

        def neighbour() -> None:
            while not stop.wait(0.01) or not any(answers.values()):
                try:
                    ok = first.query("SELECT upper(s) FROM t WHERE i = 7") == [["ROW 7"]]
                except Exception as e:  # noqa: BLE001
                    print(f"the neighbour's query failed: {e}")
                    answers["wrong"] += 1
                    return
                answers["right" if ok else "wrong"] += 1

        thread = threading.Thread(target=neighbour)
        thread.start()
        for name, sql in BOMBS.items():
            if name not in (a.only or (BOMBS if a.all else QUICK)):
                continue
            pathlib.Path(f"/proc/{s.process.pid}/clear_refs").write_text("5")  # the peak is counted from here on
            before = peak(s)
            try:
                c = pgwire.Connection(s.dir, s.port, "postgres", "main", timeout=120)
                c.query("SET statement_timeout = '60s'")
                code, message = outcome(c.simple(sql))
                c.close()
            except (ConnectionError, OSError, AssertionError) as e:
                code, message = "lost", repr(e)
            after = peak(s) if s.process.poll() is None else float("inf")
            good = (code == "" or code.startswith(EXPECTED)) and after < MOST and not answers["wrong"]
            passed, failed = passed + good, failed + (not good)
            if a.verbose or not good:
                print(f"{'ok' if good else 'FAILED'}: {name}: {code or 'answered'} {message}; {before:.0f} -> {after:.0f} MiB", flush=True)
            if after == float("inf"):
                print(s.log_text())
                break
        for name, kept in KEPT.items():
            if a.only and name not in a.only:
                continue
            problem = kept(s)
            good = not problem and s.process.poll() is None and not answers["wrong"]
            passed, failed = passed + good, failed + (not good)
            if a.verbose or not good:
                print(f"{'ok' if good else 'FAILED'}: {name}: {problem}", flush=True)
        stop.set()
        thread.join()
        if not answers["right"]:
            print("FAILED: the neighbour got no answer")
            failed += 1
        if answers["wrong"]:
            print(f"FAILED: {answers['wrong']} of the neighbour's queries")
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
