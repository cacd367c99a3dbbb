"""The other two products: informix-db beside the existing driver, pg-parallel beside pg.Pool and postgres.js.

Their benchmarks are their own (informix-db/tests/benchmarks, bench/pg-parallel); here their figures come into the one format.
"""

from __future__ import annotations

import json
import os
import subprocess

from .. import results
from ..targets import server
from . import Context, Profile, Step
from .codec import pytest_benchmark


def informix(context: Context) -> list[dict]:
    return pytest_benchmark(context, "bench", "informix-db")


def informix_peer(context: Context) -> list[dict]:
    path = results.FOLDER / "informix-peer.json"
    path.unlink(missing_ok=True)
    results.FOLDER.mkdir(exist_ok=True)
    done = subprocess.run(["make", "-s", "bench-peer", f"ARGS=--json {path}"], cwd=results.ROOT / "informix-db", capture_output=True, text=True)
    if not path.exists():
        raise RuntimeError((done.stderr or done.stdout)[-500:])
    names = {"pure": "informix-db", "compiled": "informix-db, compiled", "peer": "informix-driver"}
    return [
        results.single("informix-db beside its peer", what, names[side], "processor time", seconds * 1e9, "ns")
        for side, figures in json.loads(path.read_text()).items()
        for what, seconds in figures.items()
    ]


def pg_parallel(context: Context) -> list[dict]:
    path = results.FOLDER / "bench-pg-parallel.json"
    path.unlink(missing_ok=True)
    environment = {**os.environ, "PGSQLITE_BIN": server.binary()}
    # the rival servers are its own: it kills and restarts them
    environment.pop("PGHOST", None)
    for command in (["make", "-s", "-C", "pg-parallel", "build"], ["npx", "--prefix", "pg-parallel", "tsc", "-p", "pg-parallel/tsconfig.json"]):
        done = subprocess.run(command, cwd=results.ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError((done.stderr or done.stdout)[-500:])
    command = ["node", "bench/pg-parallel/run.mjs", *context.profile.pg_parallel]
    done = subprocess.run(command, cwd=results.ROOT, capture_output=True, text=True, env=environment)
    if not path.exists():
        raise RuntimeError((done.stderr or done.stdout)[-500:])
    out = []
    for r in json.loads(path.read_text())["results"]:
        group, client = "pg-parallel", r.get("target", "")
        if "mebibytesPerThread" in r:
            out.append(results.single(group, "memory of an idle thread", "pg-parallel", "node", r["mebibytesPerThread"] * 2**20, "bytes"))
        elif "opsPerSecond" in r:
            ms = {n: r[n] * 1e6 for n in ("p50", "p95", "p99") if r.get(n) is not None}
            out.append(
                results.single(
                    group, r["scenario"], r["contender"], f"on {client}", r["opsPerSecond"], "per second", "higher",
                    per_second=r["opsPerSecond"], errors={"failed": r["errors"]} if r.get("errors") else {}, count=r.get("rounds", 1), **ms,
                )
            )  # fmt: skip
        elif "cold" in r and "warm" in r:
            for state in ("cold", "warm"):
                out.append(results.single(group, state, r["contender"], f"on {client}", r[state], "per second", "higher", per_second=r[state]))
        elif "share" in r:
            for state in ("idle", "busy"):
                name = f"key SELECTs, {'four CPU tasks' if state == 'busy' else 'no task'} beside"
                out.append(results.single(group, name, r["contender"], f"on {client}", r[state], "per second", "higher", per_second=r[state]))
            out.append(results.single(group, "event-loop delay p99, four CPU tasks", r["contender"], f"on {client}", r["loopP99"] * 1e6, "ns"))
        if "loopP99" in r and "opsPerSecond" in r:
            out.append(results.single(group, f"event-loop delay p99, {r['scenario']}", r["contender"], f"on {client}", r["loopP99"] * 1e6, "ns"))
    return out


def steps(profile: Profile) -> list[Step]:
    return [
        Step("informix-db", "its benchmarks", 60, informix),
        Step("informix-db", "beside its peer", 60, informix_peer),
        Step("pg-parallel", "its scenarios", 60 if profile.name != "full" else 600, pg_parallel),
    ]
