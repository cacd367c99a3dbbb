"""Layer one, without a server: bench/micro by the clock (criterion) and by instructions (callgrind), informix-db's codecs."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from .. import results
from . import Context, Profile, Step

CARGO = results.ROOT / "pgsqlite"


def _run(command: list[str], **how) -> subprocess.CompletedProcess:
    done = subprocess.run(command, capture_output=True, text=True, **how)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout)[-800:]}")
    return done


def split(name: str) -> tuple[str, str]:
    part, _, rest = name.partition("/")
    return f"codec: {part}", rest


def by_clock(context: Context) -> list[dict]:
    return times(*context.profile.criterion)


def times(warmup: float, measurement: float, flags: tuple[str, ...] = (), filter: str = "") -> list[dict]:
    """criterion's means. `flags`: of cargo bench."""
    folder = results.ROOT / "build" / "criterion"
    # criterion compares with what it finds; that is the baseline's work here
    shutil.rmtree(folder, ignore_errors=True)
    _run(
        ["cargo", "bench", "--quiet", "-p", "pgsqlite-bench-micro", "--bench", "time", *flags, "--", "--noplot", "--sample-size", "10"]
        + ["--warm-up-time", str(warmup), "--measurement-time", str(measurement), *([filter] if filter else [])],
        cwd=CARGO,
        env={**os.environ, "CRITERION_HOME": str(folder)},
    )
    out = []
    for path in sorted(folder.glob("**/new/benchmark.json")):
        group, name = split(json.loads(path.read_text())["full_id"])
        sample = json.loads((path.parent / "sample.json").read_text())
        estimates = json.loads((path.parent / "estimates.json").read_text())
        spread = [t / n for t, n in zip(sample["times"], sample["iters"])]
        out.append(
            results.single(
                group, name, "pgsqlite", "criterion", estimates["mean"]["point_estimate"], "ns",
                count=int(sum(sample["iters"])), p50=estimates["median"]["point_estimate"], min=min(spread), max=max(spread),
            )
        )  # fmt: skip
    if not out:
        raise RuntimeError("criterion left no estimates")
    return out


def by_instructions(context: Context) -> list[dict]:
    """Each case some times under callgrind: the same on a loaded machine as on a quiet one."""
    if shutil.which("valgrind") is None:
        context.run.skip("instruction counts", "valgrind is missing")
        return []
    _run(["cargo", "build", "--quiet", "--release", "-p", "pgsqlite-bench-micro"], cwd=CARGO)
    return count_instructions(CARGO / "target" / "release" / "pgsqlite-bench-micro")


def count_instructions(binary: pathlib.Path, filter: str = "") -> list[dict]:
    with tempfile.TemporaryDirectory(prefix="bench-callgrind.") as folder:
        flags = ["--toggle-collect=bench_measured", "--dump-after=bench_measured", f"--callgrind-out-file={folder}/out"]
        done = _run(["valgrind", "--tool=callgrind", *flags, str(binary), *([filter] if filter else [])])
        names = [line.split("\t") for line in done.stdout.splitlines()]
        out = []
        for number, (name, times) in enumerate(names, 1):
            text = pathlib.Path(folder, f"out.{number}").read_text()
            total = re.search(r"^totals: (\d+)", text, re.M) or re.search(r"^summary: (\d+)", text, re.M)
            if total is None:
                raise RuntimeError(f"callgrind counted nothing for {name}")
            group, title = split(name)
            out.append(results.single(group, title, "pgsqlite", "callgrind", int(total[1]) / int(times), "instructions"))
        return out


def informix(context: Context) -> list[dict]:
    """informix-db's own codec benchmarks (pytest-benchmark, processor time)."""
    return pytest_benchmark(context, "bench-codec", "codec: informix-db")


def pytest_benchmark(context: Context, target: str, group: str) -> list[dict]:
    folder = results.ROOT / "informix-db"
    # its own comparison judges by its own baseline; here only the figures are wanted
    subprocess.run(["make", "-s", target], cwd=folder, capture_output=True, text=True)
    path = folder / "tests" / "benchmarks" / ".results" / "latest.json"
    if not path.exists() or path.stat().st_mtime < context.run.begun.timestamp():
        raise RuntimeError(f"make {target} in informix-db left no figures")
    return [
        results.single(
            group, b["name"].removeprefix("test_").replace("_", " "), "informix-db", "pytest-benchmark", b["stats"]["mean"] * 1e9, "ns",
            count=b["stats"]["rounds"], p50=b["stats"]["median"] * 1e9, min=b["stats"]["min"] * 1e9, max=b["stats"]["max"] * 1e9,
        )
        for b in json.loads(path.read_text())["benchmarks"]
        if b["name"] != "test_calibration"
    ]  # fmt: skip


def steps(profile: Profile) -> list[Step]:
    return [
        Step("codec", "bench/micro by the clock", 20 + 110 * sum(profile.criterion), by_clock),
        Step("codec", "bench/micro by instructions", 40, by_instructions),
        Step("codec", "informix-db's codecs", 20, informix),
    ]
