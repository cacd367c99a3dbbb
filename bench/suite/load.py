"""Jobs for the load generator (bench/load), and measurements from its answers."""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import re
import subprocess

from . import results

_seeds = itertools.count(1)


def binary() -> str:
    """$BENCH_LOAD, else the release build, else the debug build."""
    if named := os.environ.get("BENCH_LOAD"):
        return named
    for profile in ("release", "debug"):
        path = results.ROOT / "pgsqlite" / "target" / profile / "pgsqlite-bench-load"
        if path.exists():
            return str(path)
    raise SystemExit("the load generator is not built: `make build/bench/done`")


class LoadFailed(Exception):
    """The job ended early; `target` is the one it failed on, where that is known."""

    def __init__(self, message: str, names: list[str]):
        super().__init__(message)
        words = re.findall(r"[\w-]+", message)
        self.target = next((w for w in words if w in names), None)


def job(targets: list, statements: list[dict], mode: str, *, clients: int = 1, slices: int, operations: int = 1 << 60, ms: int = 600_000, warmup: int = 100, rate: float | None = None) -> list[dict]:
    """Runs one; the answers in the order of the targets. `statements` as in bench/load/src/job.rs."""
    asked = {
        "targets": [t.place() for t in targets],
        "statements": statements,
        "mode": mode,
        "clients": clients,
        "slices": slices,
        "slice_operations": operations,
        "slice_ms": ms,
        "warmup_operations": warmup,
        "pause_ms": 100,
        "rate": rate,
        "seed": next(_seeds) * 1000 + os.getpid() % 1000,
    }
    environment = {**os.environ, "RUST_BACKTRACE": "0"}
    done = subprocess.run([binary()], input=json.dumps(asked), capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise LoadFailed(re.sub(r"slice .*\n", "", done.stderr)[:1000], [t.name for t in targets])
    return json.loads(done.stdout)


def measure(run: results.Run, group: str, name: str, targets: list, statements: list[dict], mode: str, **how) -> list[dict]:
    """A job's measurements. A rival that fails is left out and noted; pgsqlite's failure is the run's."""
    targets = list(targets)
    while True:
        try:
            answers = job(targets, statements, mode, **how)
            break
        except LoadFailed as e:
            failed = next((t for t in targets if t.name == e.target), None)
            if failed is None or failed.name == "pgsqlite":
                raise
            run.skip(f"{group}, {name}, {mode}: {failed.name}", str(e))
            targets.remove(failed)
    rate = how.get("rate")
    return [
        results.timed(
            group,
            name,
            a["target"],
            "in process" if a["target"] == "sqlite" else "load",
            results.decode(a["histogram"]),
            mean=a["mean_ns"],
            slices=[(s["operations"], s["seconds"]) for s in a["slices"]],
            errors=a["errors"],
            mode=mode,
            clients=how.get("clients", 1),
            loop="open" if rate else "closed",
            **({"rate": rate} if rate else {}),
            **({"beyond": a["beyond"]} if a["beyond"] else {}),
        )
        for a in answers
    ]


def argument(kind: str, *value) -> dict:
    return {kind: value[0] if len(value) == 1 else list(value)}


def statement(sql: str, arguments: list[dict], *, rows: int = 0, affected: int | None = None, weight: int = 1) -> dict:
    return {"sql": sql, "arguments": arguments, "rows": rows, "affected": affected, "weight": weight}


def build_folder() -> pathlib.Path:
    return results.ROOT / "build"
