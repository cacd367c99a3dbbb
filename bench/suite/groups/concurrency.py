"""Many clients at once, closed loop and open loop."""

from __future__ import annotations

from ..load import measure
from ..targets import Unpooled, of_one_step
from . import Context, Profile, Step
from .operations import operations

#: operations per second that are due in the open loop: what one client of either server can do easily
RATES = {"select key": 2000.0, "insert": 500.0}


def workloads(base: int) -> dict[str, list[dict]]:
    ops = operations(base)
    return {
        "select key": [ops["select key"]],
        "mixed 90/10": [{**ops["select key"], "weight": 90}, {**ops["update"], "weight": 10}],
        "insert": [ops["insert"]],
    }


def steps(profile: Profile) -> list[Step]:
    out = []
    for number, clients in enumerate(profile.clients):
        for name, statements in workloads(20_000_000 + 5_000_000 * number).items():

            def run(context: Context, name=name, statements=statements, clients=clients) -> list[dict]:
                p = context.profile
                return measure(
                    context.run, "concurrency", name, context.targets.every(clients), statements, "prepared binary",
                    clients=clients, slices=p.timed_slices, ms=p.slice_ms, warmup=max(10, clients * 2),
                )  # fmt: skip

            out.append(Step("concurrency", f"{name}, {clients} clients", 2 + 3 * profile.timed_slices * profile.slice_ms / 1000, run))
    most = max(profile.clients)
    for name, statements in workloads(80_000_000).items():

        def pools(context: Context, name=name, statements=statements) -> list[dict]:
            p = context.profile
            with of_one_step(context.run, Unpooled) as unpooled:
                return measure(
                    context.run, "pool", name, [context.targets["pgsqlite"], unpooled], statements, "prepared binary",
                    clients=most, slices=p.timed_slices, ms=p.slice_ms, warmup=2 * most,
                )  # fmt: skip

        out.append(Step("pool", f"{name}, {most} clients", 2 + 2 * profile.timed_slices * profile.slice_ms / 1000, pools))
    for number, (name, rate) in enumerate(RATES.items()):
        statements = workloads(50_000_000 + 5_000_000 * number)[name]
        clients = min(32, max(profile.clients))

        def open_loop(context: Context, name=name, statements=statements, rate=rate, clients=clients) -> list[dict]:
            p = context.profile
            return measure(
                context.run, "open loop", name, context.targets.servers(clients), statements, "prepared binary",
                clients=clients, slices=p.timed_slices, ms=2 * p.slice_ms, rate=rate, warmup=clients * 2,
            )  # fmt: skip

        out.append(Step("open loop", f"{name}, {rate:.0f} per second", 2 + 4 * profile.timed_slices * profile.slice_ms / 1000, open_loop))
    return out


