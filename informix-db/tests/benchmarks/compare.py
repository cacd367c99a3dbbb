#!/usr/bin/env python3
"""Judges the benchmarks against a baseline without crying wolf, or prepares a baseline.

    compare.py --baseline FILE [--attempts N] TESTS…   runs TESTS, fails when something is 25 % worse in every attempt
    compare.py --strip RUN.json                        takes what says where a run was made out of its file

The files are pytest-benchmark's. A busy machine makes a run slower as a whole and single rounds slower at random, so
the least time of each benchmark is compared, scaled by how fast `test_calibration` ran beside it, and what seems worse
is measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 1.25
CALIBRATION = "test_calibration"


def least(file: Path) -> dict[str, float]:
    """The least time of each benchmark of a file of pytest-benchmark, in seconds."""
    return {b["name"]: b["stats"]["min"] for b in json.loads(file.read_text())["benchmarks"]}


def measure(tests: list[str], wanted: set[str] | None) -> dict[str, float]:
    """A run of these tests, or of those of them that are wanted again."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "run.json"
        command = [sys.executable, "-m", "pytest", *tests, "-m", "benchmark", "-q", "-q", "-p", "no:cacheprovider"]
        command += ["--benchmark-only", "--benchmark-columns=min,mean,ops", f"--benchmark-json={result}"]
        if wanted is not None:
            names = {name.split("[")[0] for name in wanted} | {CALIBRATION}
            command += ["-k", " or ".join(sorted(names))]
        subprocess.run(command, check=True, env=os.environ)
        return least(result)


def worse(now: dict[str, float], baseline: dict[str, float]) -> dict[str, float]:
    """What takes too long, and how many times as long as it may."""
    scale = now[CALIBRATION] / baseline[CALIBRATION] if CALIBRATION in now else 1.0
    ratios = {n: t / (baseline[n] * scale) for n, t in now.items() if n in baseline and n != CALIBRATION}
    return {name: ratio for name, ratio in ratios.items() if ratio > LIMIT}


def strip(file: Path) -> None:
    """A baseline says nothing about the machine that it was recorded on."""
    run = json.loads(file.read_text())
    python = run["machine_info"]["python_version"]
    run["machine_info"] = {"node": "placeholder", "python_version": python}
    run["commit_info"] = {}
    for benchmark in run["benchmarks"]:
        benchmark["stats"].pop("data", None)
    file.write_text(json.dumps(run, indent=1, sort_keys=True) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--baseline", type=Path)
    parser.add_argument("--attempts", type=int, default=3)
    parser.add_argument("--strip", type=Path)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    if arguments.strip:
        strip(arguments.strip)
        return 0
    baseline = least(arguments.baseline)
    found: dict[str, float] | None = None
    for attempt in range(arguments.attempts):
        again = worse(measure(arguments.tests, None if found is None else set(found)), baseline)
        found = again if found is None else {name: min(found[name], again[name]) for name in found if name in again}
        if not found:
            return 0
        print(f"attempt {attempt + 1}: worse are {', '.join(sorted(found))}")
    assert found is not None
    for name, ratio in sorted(found.items()):
        print(f"{name}: {ratio:.2f} of the baseline in every attempt, the limit is {LIMIT}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
