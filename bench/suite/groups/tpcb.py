"""pgbench's TPC-B-like script at scale 10 (at scale 1 all clients wait for one row), with PostgreSQL's own pgbench, in its three ways to send a statement;
rounds of the targets take turns."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from .. import results
from ..targets import Target
from . import Context, Profile, Step

WAYS = ("simple", "extended", "prepared")
SCALE = "10"


def pgbench(target: Target, *arguments: str, folder: str | None = None) -> str:
    command = shutil.which("pgbench")
    if command is None:
        raise RuntimeError("pgbench is missing: it comes with the distribution's postgresql-15")
    place = ["-h", target.host, "-p", str(target.port), "-U", target.user, target.database]
    done = subprocess.run([command, "-n", *arguments, *place], capture_output=True, text=True, cwd=folder)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-500:])
    return done.stdout


def initialize(context: Context) -> list[dict]:
    for target in context.targets.servers(2):
        pgbench(target, "-i", "-q", "-s", SCALE)
    return []


def one_round(target: Target, way: str, clients: int, seconds: int, more: tuple[str, ...] = ()) -> tuple[list[int], float, int]:
    """The times of the transactions (ns), the seconds they took together, and how many failed. `more`: further arguments of pgbench."""
    with tempfile.TemporaryDirectory(prefix="bench-pgbench.") as folder:
        out = pgbench(target, "-M", way, "-c", str(clients), "-j", "1", "-T", str(seconds), "-l", *more, folder=folder)
        # client, transaction, time in µs, script, second, microsecond
        lines = [line.split() for path in pathlib.Path(folder).glob("pgbench_log.*") for line in path.read_text().splitlines()]
    times = [int(f[2]) * 1000 for f in lines if f[2] not in ("failed", "skipped")]
    failed = re.search(r"number of failed transactions: (\d+)", out)
    tps = re.search(r"tps = ([0-9.]+) \(without initial connection time\)", out)
    if tps is None:
        raise RuntimeError(f"pgbench said no tps: {out[-300:]}")
    return times, len(times) / float(tps[1]) if float(tps[1]) else float(seconds), int(failed[1]) if failed else 0


def in_rounds(
    context: Context,
    group: str,
    title: str,
    way: str,
    clients: int,
    more: tuple[str, ...] = (),
    beside: Callable[[Target], AbstractContextManager] = lambda _: nullcontext(),
) -> list[dict]:
    """Rounds of pgbench, in which the targets take turns. `beside`: what is there during a round."""
    p, targets = context.profile, context.targets.servers(max(clients, 2))
    histograms = {t.name: results.new_histogram() for t in targets}
    sums = {t.name: 0 for t in targets}
    slices: dict = {t.name: [] for t in targets}
    errors = {t.name: 0 for t in targets}
    for turn in range(p.rounds):
        for offset in range(len(targets)):
            t = targets[(turn + offset) % len(targets)]
            with beside(t):
                times, seconds, failed = one_round(t, way, clients, p.seconds, more)
            for ns in times:
                results.record(histograms[t.name], ns)
            sums[t.name] += sum(times)
            slices[t.name].append((len(times), seconds))
            errors[t.name] += failed
    return [
        results.timed(
            group, title, t.name, "pgbench", histograms[t.name],
            mean=sums[t.name] / max(1, histograms[t.name].get_total_count()), slices=slices[t.name],
            errors={"failed": errors[t.name]} if errors[t.name] else {}, mode=way, clients=clients,
        )
        for t in targets
    ]  # fmt: skip


def steps(profile: Profile) -> list[Step]:
    out = [Step("tpcb", "pgbench -i", 20, initialize)]
    for clients in profile.tpcb_clients:
        for way in WAYS:

            def run(context: Context, clients=clients, way=way) -> list[dict]:
                return in_rounds(context, "tpcb", "TPC-B-like", way, clients)

            out.append(Step("tpcb", f"{way}, {clients} clients", 2 * profile.rounds * profile.seconds, run))
    return out
