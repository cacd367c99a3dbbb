#!/usr/bin/env python3
"""The benchmarks of the whole repository; README.md beside this file says what is measured and how.

    run.py run     layer two: end to end, beside the rivals (under tools/oracle.sh: PGHOST names the PostgreSQL)
    run.py codec   layer one: without a server
    run.py all     both
    run.py report FILE     the HTML page of a run that is there already
    run.py list    what there is to measure

A run is written to .results/, as JSON and as an HTML page. --check holds it against bench/baseline.json and fails if a mean is 25 %
worse; --save makes it the baseline.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import time
import traceback

from suite import baseline, report, results
from suite.groups import PROFILES, Context, Step, bulk, codec, concurrency, drivers, lifecycle, operations, products, reports, testing, tpcb, transactions
from suite.targets import KINDS, Targets

LAYER_TWO = (operations, concurrency, tpcb, transactions, drivers, bulk, reports, lifecycle, testing)
LAYERS = {"run": LAYER_TWO, "codec": (codec,), "all": (codec, *LAYER_TWO)}


def minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def steps_of(command: str, profile, only: list[str]) -> list[Step]:
    modules = list(LAYERS[command])
    # the other products bring long benchmarks of their own: in a full run, or where they are asked for
    if command != "codec" and (profile.name == "full" or only):
        modules.append(products)
    steps = [s for m in modules for s in m.steps(profile)]
    if not only:
        return steps
    chosen = [s for s in steps if any(o in f"{s.group}: {s.title}" for o in only)]
    # the tables of these groups are made by their first step
    first = {"tpcb": "pgbench -i", "transactions": "tables", "reports": "load, ", "mixed": "load, "}
    return [s for s in steps if s in chosen or any(s.group == c.group and s.title.startswith(first.get(c.group, "\0")) for c in chosen)]


def measure(context: Context, steps: list[Step]) -> bool:
    """Runs the steps with a line of progress before each. False: one failed (the others were still made)."""
    began, left, good = time.monotonic(), sum(s.seconds for s in steps), True
    for number, step in enumerate(steps, 1):
        gone = time.monotonic() - began
        print(f"[{number}/{len(steps)}] {minutes(gone)} gone, about {minutes(left)} left: {step.group}: {step.title}", file=sys.stderr, flush=True)
        left -= step.seconds
        try:
            context.run.add(step.measure(context))
        except Exception as e:
            traceback.print_exc()
            context.run.skip(f"{step.group}: {step.title}", f"it failed: {e}")
            good = False
    return good


def summary(run: dict) -> None:
    """The figures in the terminal: per measurement pgsqlite, the others, the ratios."""
    for (group, title, unit, loop), targets in report.grouped(run["measurements"]).items():
        mine = targets.get(report.OWN.get(group, "pgsqlite"))
        line = f"{group + ', ' + title:56}"
        for name, m in targets.items():
            middle = m.get("p50") or m["value"]
            own = (mine.get("p50") or mine["value"]) if mine and m is not mine else 0
            times = f" {middle / own:.2f}×" if own and middle else ""
            tail = f" (p99 {report.shown(m['p99'], 'ns')})" if m.get("p99") else ""
            line += f"  {name} {report.shown(middle, 'ns' if m.get('p50') else unit)}{tail}{times}"
        print(line)


def finish(run: results.Run, arguments: argparse.Namespace, good: bool) -> int:
    path = run.write()
    content = results.read(path)
    summary(content)
    compared = baseline.compare(content) if arguments.check else None
    page = report.write(content, path.with_suffix(".html"), compared)
    report.write(content, path.with_name(f"{run.kind}-latest.html"), compared)
    print(f"written to {path.relative_to(results.ROOT)} and {page.relative_to(results.ROOT)}")
    for s in run.skipped:
        print(f"not measured: {s['what']}: {s['why']}")
    errors = [m for m in content["measurements"] if m["errors"] and m["target"] in baseline.OURS]
    for m in errors:
        print(f"errors in {results.key(m)}: {m['errors']}")
    if compared is not None:
        bad = [r for r in compared if r["fails"]]
        for r in bad:
            print(f"worse than the baseline, {r['worse']:.2f}×: {r['key']}: {report.shown(r['then'], r['unit'])} → {report.shown(r['now'], r['unit'])}")
        print(f"{len(compared)} figures compared with the baseline, {len(bad)} more than 25 % worse")
        if not compared:
            print("nothing of this run is in the baseline: refresh it (bench/README.md)")
        good &= not bad and bool(compared)
    good &= not errors
    if arguments.save:
        if not good:
            print("not saved: the run was not without faults")
        else:
            print(f"saved {baseline.save(content)} figures in {baseline.PATH.relative_to(results.ROOT)}; note it in CHANGELOG.md")
    return 0 if good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=[*LAYERS, "report", "list"])
    parser.add_argument("file", nargs="?", type=pathlib.Path, help="of `report`: the run's JSON")
    parser.add_argument("--quick", action="store_const", const="quick", dest="profile", help="a few minutes instead of half an hour")
    parser.add_argument("--profile", choices=PROFILES)
    parser.add_argument("--only", default="", help="parts of `group: title`, separated by commas (`list` shows them)")
    parser.add_argument("--targets", default=",".join(KINDS), help=f"separated by commas, of: {', '.join(KINDS)}")
    parser.add_argument("--check", action="store_true", help="hold it against bench/baseline.json")
    parser.add_argument("--save", action="store_true", help="make it bench/baseline.json")
    # (two options with one destination: a default of the second alone would not count)
    parser.set_defaults(profile="full")
    a = parser.parse_args()
    profile = PROFILES[a.profile]
    if a.command == "report":
        if a.file is None:
            parser.error("`report` needs the run's JSON")
        print(report.write(results.read(a.file), a.file.with_suffix(".html"), baseline.compare(results.read(a.file)) if a.check else None))
        return 0
    only = [o for o in a.only.split(",") if o]
    if a.command == "list":
        for s in steps_of("all", profile, only or [""]):
            print(f"{s.group}: {s.title}  ({s.seconds:.0f} s)")
        return 0
    steps = steps_of(a.command, profile, only)
    if not steps:
        parser.error(f"nothing is called {a.only}: see `list`")
    run = results.Run("codec" if a.command == "codec" else "bench", profile.name)
    names = [] if all(s.group == "codec" for s in steps) else a.targets.split(",")
    if names and "pgsqlite" not in names:
        parser.error("--targets without pgsqlite: then there is nothing to compare")
    if names:
        with Targets(run, names) as targets:
            good = measure(Context(run, targets, profile), steps)
    else:
        good = measure(Context(run, None, profile), steps)
    return finish(run, a, good)


if __name__ == "__main__":
    sys.exit(main())
