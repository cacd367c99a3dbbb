"""Queries that have work to do: the 22 of TPC-H and the 13 of the Star Schema Benchmark, warm, beside PostgreSQL with its default
configuration; and how long loading, keys, indexes and ANALYZE take. Rounds take turns."""

from __future__ import annotations

import sys
import time

from .. import results
from ..targets import ROOT
from . import Context, Profile, Step
from .bulk import in_turns

sys.path.insert(0, str(ROOT / "tests" / "reports"))
import data  # noqa: E402

#: a query that takes longer counts as one that failed
PATIENCE = "60s"


def scale(profile: Profile) -> str:
    return {"full": "1", "quick": "0.1"}.get(profile.name, "0.01")


def steps(profile: Profile) -> list[Step]:
    size = scale(profile)
    sessions: dict[str, object] = {}

    def load(context: Context) -> list[dict]:
        folder, out = data.generated(size), []
        for target in context.targets.servers():
            if not target.copies:
                continue
            connection = target.connect()
            connection.query("DROP SCHEMA IF EXISTS ssb CASCADE; DROP TABLE IF EXISTS " + ", ".join(data.TABLES))
            took = data.load(connection, folder)
            out += [results.from_times("reports", f"{part}, scale {size}", target.name, "protocol", [int(s * 1e9)]) for part, s in took.items()]
            connection.query(f"SET statement_timeout = '{PATIENCE}'")
            sessions[target.name] = connection
        return out

    def run(context: Context, name: str, text: str) -> list[dict]:
        answers: dict[str, list] = {}

        def once(target: str) -> int:
            began = time.perf_counter_ns()
            answers[target] = sessions[target].query(text)
            took = time.perf_counter_ns() - began
            if answers[target] != answers[min(answers)]:
                raise RuntimeError(f"{name}: the rows are not those of {min(answers)}")
            return took

        ways = {target: (lambda target=target: once(target)) for target in sessions}
        return in_turns(context, "reports", f"{name}, scale {size}", "text", ways, 1)

    factor = float(size) * 10
    out = [Step("reports", f"load, scale {size}", 1 + 12 * factor, load)]
    for name, text in data.queries().items():
        seconds = 0.3 * factor * (profile.bulk_rounds + 1)
        out.append(Step("reports", name, seconds, lambda context, name=name, text=text: run(context, name, text)))
    return out
