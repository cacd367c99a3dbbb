"""The five operations through real drivers: psycopg 3 (text and binary) and node-postgres."""

from __future__ import annotations

import json
import subprocess
import sys

from .. import results
from ..targets import BENCH, ROWS
from . import Context, Profile, Step
from .operations import RANGE

OPERATIONS = {
    "insert": ("INSERT INTO b (id, n, s) VALUES ($1, $2, $3) RETURNING id", 1, 1),
    "select key": ("SELECT id, n, s FROM b WHERE id = $1", 1, None),
    "select range": ("SELECT id, n, s FROM b WHERE id >= $1 AND id < $2", RANGE, None),
    "update": ("UPDATE b SET n = n + 1 WHERE id = $1", 0, 1),
    "delete": ("DELETE FROM b WHERE id = $1", 0, 1),
}


def psycopg(sql: str) -> str:
    for number in (1, 2, 3):
        sql = sql.replace(f"${number}", "%s")
    return sql


#: title: (command, mode, first key, how it writes parameters)
DRIVERS = {
    "psycopg 3, text": ([sys.executable, str(BENCH / "drivers" / "psycopg3.py")], "text", 11_000_000, psycopg),
    "psycopg 3, binary": ([sys.executable, str(BENCH / "drivers" / "psycopg3.py")], "binary", 12_000_000, psycopg),
    "node-postgres": (["node", str(BENCH / "drivers" / "node_postgres.mjs")], "text", 13_000_000, str),
}


def steps(profile: Profile) -> list[Step]:
    out = []
    for title, (command, mode, base, written) in DRIVERS.items():

        def run(context: Context, title=title, command=command, mode=mode, base=base, written=written) -> list[dict]:
            p, targets = context.profile, context.targets.servers()
            slices = max(1, p.slices // 2)
            each = max(1, p.driver_operations // slices)
            job = {
                "targets": [t.address() for t in targets],
                "operations": {n: {"sql": written(sql), "rows": rows, "affected": a} for n, (sql, rows, a) in OPERATIONS.items()},
                "binary": mode == "binary",
                "rows": ROWS - RANGE,
                "range": RANGE,
                "base": base,
                "warmup": max(2, each // 2),
                "pause_ms": 100,
                "slices": slices,
                "slice_operations": each,
            }
            done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, cwd=BENCH)
            if done.returncode != 0:
                raise RuntimeError(done.stderr[-800:])
            client = title.split(",")[0]
            return [
                results.from_times("drivers", operation, answer["target"], client, times, mode=mode, errors=answer["errors"].get(operation))
                for answer in json.loads(done.stdout)
                for operation, times in answer["times"].items()
            ]

        out.append(Step("drivers", title, 2 + profile.driver_operations * 5 * 3 * 0.0006, run))
    return out
