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
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402
from run import peak  # noqa: E402

LIMIT = 256
#: An allocation that doubles a buffer is looked at before it is made; what one call makes of its arguments may come on top.
MOST = 2 * LIMIT + 64

SERIES = "generate_series(1, 100000000)"
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
    "pg_notify": f"BEGIN; SELECT count(pg_notify('c', repeat('x', 7000) || g)) FROM {SERIES} g; COMMIT",
    "set_config": f"SELECT count(set_config('a.x' || g, repeat('x', 100000), false)) FROM {SERIES} g",
    "DISTINCT": f"SELECT count(DISTINCT repeat('x', 1000) || g) FROM {SERIES} g",
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
QUICK = ["string_agg", "doubling in a CTE", "RETURN NEXT", "RAISE NOTICE", "cursor WITH HOLD", "pg_notify", "set_config", "DISTINCT", "RETURNING"]
#: What says "too much": resources, program limits, and the time limit where a debug build is slow.
EXPECTED = ("53", "54", "57014")


def outcome(messages: list[tuple[bytes, bytes]]) -> tuple[str, str]:
    """(SQLSTATE, message) of the first error, or ("", "")."""
    for kind, body in messages:
        if kind == b"E":
            fields = {f[:1]: f[1:].decode() for f in body.split(b"\0") if f}
            return fields[b"C"], fields[b"M"]
    return "", ""


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
        answers = {"right": 0, "wrong": 0}
        stop = threading.Event()

        def neighbour() -> None:
            while not stop.wait(0.01):
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
