"""Queries that have work to do: the 22 of TPC-H, the 13 of the Star Schema Benchmark, and 30 over documents, texts, windows, recursion,
LATERAL, arrays and DISTINCT ON (group "mixed"), warm, beside PostgreSQL with its default configuration; and how long loading, keys,
indexes and ANALYZE take. Rounds take turns."""

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


def events(profile: Profile) -> int:
    return {"full": 1_000_000, "quick": 50_000}.get(profile.name, 2_000)


def steps(profile: Profile) -> list[Step]:
    size, rows = scale(profile), events(profile)
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

    def load_mixed(context: Context) -> list[dict]:
        out = []
        for target in context.targets.servers():
            if not target.copies:
                continue
            connection = target.connect()
            connection.query("DROP SCHEMA IF EXISTS mixed CASCADE")
            took = data.load_mixed(connection, rows)
            out.append(results.from_times("mixed", f"load, {rows} events", target.name, "protocol", [int(took * 1e9)]))
            connection.query(f"SET statement_timeout = '{PATIENCE}'")
            sessions[target.name] = connection
        return out

    def run(context: Context, group: str, name: str, size: str, text: str) -> list[dict]:
        answers: dict[str, list] = {}

        def once(target: str) -> int:
            began = time.perf_counter_ns()
            answers[target] = sessions[target].query(text)
            took = time.perf_counter_ns() - began
            if answers[target] != answers[min(answers)]:
                raise RuntimeError(f"{name}: the rows are not those of {min(answers)}")
            return took

        ways = {target: (lambda target=target: once(target)) for target in sessions}
        return in_turns(context, group, f"{name}, {size}", "text", ways, 1)

    factor = float(size) * 10
    out = [Step("reports", f"load, scale {size}", 1 + 12 * factor, load)]
    for name, text in data.queries().items():
        seconds = 0.3 * factor * (profile.bulk_rounds + 1)
        out.append(Step("reports", name, seconds, lambda context, name=name, text=text: run(context, "reports", name, f"scale {size}", text)))
    out.append(Step("mixed", f"load, {rows} events", 1 + rows / 10_000, load_mixed))
    for name, text in data.mixed_queries().items():
        seconds = rows / 500_000 * (profile.bulk_rounds + 1)
        measure = lambda context, name=name, text=text: run(context, "mixed", name, f"{rows} events", text)  # noqa: E731
        out.append(Step("mixed", name, seconds, measure))
    return out
