#!/usr/bin/env python3
"""PostgreSQL's isolation specifications, permutation by permutation, on PostgreSQL and on pgsqlite: the transcripts are compared.

    ORACLE_VERSION=18 tools/oracle.sh python3 tests/isolation/run.py [--check] [--save] [--whole] [--details FILE] [--workers N] [SPEC…]

`score.json` says of each specification how many of its permutations give PostgreSQL's transcript, and why the others do not. `--check` fails
where one has got worse; `--save` writes the counts, and drops the reason of what has none any more; `--whole`: those that are marked as `quick`, for which all of them do. Which session of a deadlock fails depends on
when each began to wait: a specification that has got worse is tried again before it counts. `tests/scoreboard/corpus.sh` brings the specifications.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib"), str(HERE)]

import pgwire  # noqa: E402
import server  # noqa: E402
import spec as specs  # noqa: E402
import tester  # noqa: E402

CORPUS = HERE.parents[1] / "build" / "isolation" / "specs"
SCORE = HERE / "score.json"
# Both servers name who is in a session's way; PostgreSQL's function of its own tester sees safe snapshots, too.
POSTGRESQL = "SELECT pg_isolation_test_session_is_blocked({pid}, '{{{pids}}}')"
PGSQLITE = "SELECT pg_blocking_pids({pid}) && ARRAY[{pids}]"


def names(chosen: list[str]) -> list[str]:
    every = sorted(p.stem for p in CORPUS.glob("*.spec"))
    return [n for n in every if not chosen or n in chosen]


def transcripts(connect, name: str, is_blocked: str, restart) -> list[list[str]]:
    """One transcript for each permutation of a specification; `["hangs …"]` for one that does not end."""
    spec = specs.parse((CORPUS / f"{name}.spec").read_text())
    found = []
    for placed in spec.permutations():
        permutation = None
        try:
            permutation = tester.Permutation(connect, spec, placed, is_blocked)
            found.append(permutation.run())
        except tester.Hangs as step:
            found.append([f"hangs at {step}"])
        except (OSError, RuntimeError, pgwire.ServerGone, pgwire.StartupError) as error:
            found.append([f"breaks: {error}"])
        if permutation is not None:
            permutation.close()
        if found[-1][:1] and found[-1][0].startswith(("hangs", "breaks")):
            restart()
            continue
    return found


def of_postgresql(name: str) -> list[list[str]]:
    database = f"iso_{name.replace('-', '_')}"

    def connect_to(database: str) -> pgwire.Connection:
        return pgwire.Connection(os.environ["PGHOST"], int(os.environ["PGPORT"]), "postgres", database, timeout=60)

    control = connect_to("postgres")
    # (another release answers otherwise)
    kept = CORPUS.parent / "answers" / control.parameters["server_version"].split(".")[0] / f"{name}.json"
    if kept.exists():
        control.close()
        return json.loads(kept.read_text())
    control.simple(f'DROP DATABASE IF EXISTS "{database}"')
    control.simple(f'CREATE DATABASE "{database}"')
    found = transcripts(lambda: connect_to(database), name, POSTGRESQL, lambda: None)
    control.simple(f'DROP DATABASE "{database}" WITH (FORCE)')
    control.close()
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(found))
    return found


def of_pgsqlite(name: str) -> list[list[str]]:
    running = server.Server("--idle-writer-timeout", "0")

    def connect() -> pgwire.Connection:
        return pgwire.Connection(running.dir, running.port, "postgres", "main", timeout=60)

    def restart() -> None:
        nonlocal running
        if running.process.poll() is not None:
            print(f"{name}: the server has ended\n{running.log_text()[-4000:]}", file=sys.stderr)
        running.stop()
        running = server.Server("--idle-writer-timeout", "0")

    try:
        return transcripts(connect, name, PGSQLITE, restart)
    finally:
        running.stop()


def compare(name: str) -> tuple[str, list[list[str]], list[list[str]]]:
    return name, of_postgresql(name), of_pgsqlite(name)


def save(results: dict[str, list[int]]) -> None:
    """The counts of `results` into the score; what else it says of a specification stays."""
    specifications = json.loads(SCORE.read_text())["specifications"]
    for name, (same, every) in results.items():
        entry = {**specifications.get(name, {}), "same": same, "of": every}
        if same == every:
            entry.pop("reason", None)
        specifications[name] = entry
    lines = [f"  {json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}" for name, entry in sorted(specifications.items())]
    SCORE.write_text('{\n "specifications": {\n' + ",\n".join(lines) + "\n }\n}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--details", type=pathlib.Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("specs", nargs="*")
    options = parser.parse_args()
    chosen = names(options.specs)
    known = json.loads(SCORE.read_text())["specifications"]
    if options.whole:
        chosen = [n for n in chosen if known.get(n, {}).get("quick")]
    totals: collections.Counter[str] = collections.Counter()
    results: dict[str, list[int]] = {}
    details = options.details.open("w") if options.details else None
    with concurrent.futures.ProcessPoolExecutor(options.workers) as pool:
        for name, wanted, got in pool.map(compare, chosen):
            same = sum(w == g for w, g in zip(wanted, got, strict=True))
            for _ in range(2):
                if options.check and same < known.get(name, {"same": 0})["same"]:
                    print(f"{name}: {same} of {len(wanted)}, again", flush=True)
                    got = of_pgsqlite(name)
                    same = sum(w == g for w, g in zip(wanted, got, strict=True))
            hanging = sum(g[:1] != [] and g[0].startswith("hangs") for g in got)
            results[name] = [same, len(wanted)]
            totals.update(same=same, all=len(wanted), hanging=hanging)
            print(f"{name}: {same} of {len(wanted)}" + (f", {hanging} hang" if hanging else ""), flush=True)
            if details:
                for number, (w, g) in enumerate(zip(wanted, got, strict=True)):
                    if w != g:
                        print(f"=== {name} {number}", *[f"  P {line}" for line in w], *[f"  S {line}" for line in g], sep="\n", file=details)
    print(f"tests/isolation: {totals['same']} of {totals['all']} permutations as PostgreSQL, {totals['hanging']} hang")
    if options.save:
        save(results)
    if options.check:
        worse = {n: r for n, r in results.items() if r[0] < known.get(n, {"same": r[1]})["same"]}
        for name, (same, every) in worse.items():
            print(f"{name}: {same} of {every}, {known[name]['same']} before")
        if worse:
            sys.exit(1)


if __name__ == "__main__":
    main()
