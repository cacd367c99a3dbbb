"""What is measured. Each module has `steps(profile)`: steps with a group, a title, an estimate of their seconds and a function that
takes the context and gives measurements."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from .. import results
from ..targets import Targets


@dataclasses.dataclass(frozen=True)
class Profile:
    """How much of everything."""

    name: str
    #: turns of each target, operations in each, for one client
    slices: int
    operations: int
    #: the same where a turn is bounded by time (ms), for many clients
    timed_slices: int
    slice_ms: int
    clients: tuple[int, ...]
    tpcb_clients: tuple[int, ...]
    #: rounds of pgbench, seconds of each
    rounds: int
    seconds: int
    #: rows of COPY and of the long SELECT, and how often
    rows: int
    bulk_rounds: int
    #: operations through drivers
    driver_operations: int
    starts: int
    idle_sessions: int
    #: criterion's warm-up and measurement, seconds
    criterion: tuple[float, float]
    pg_parallel: tuple[str, ...]
    #: tests that have a database each
    tests: int


PROFILES = {
    "full": Profile("full", 20, 100, 10, 1000, (1, 8, 32, 100, 200), (1, 8, 32), 5, 5, 100_000, 7, 1000, 11, 5000, (0.5, 2.0), ("--rounds", "7"), 1000),
    "quick": Profile(
        "quick", 10, 50, 3, 400, (1, 8, 32, 100, 200), (1, 8), 2, 2, 100_000, 3, 200, 5, 1000, (0.1, 0.3),
        ("--rounds", "1", "--only", "light,medium,heavy"), 10,
    ),
    # for the tests of the benchmark system itself: every way is taken, the figures say nothing
    "tiny": Profile("tiny", 2, 5, 2, 50, (1, 4), (1,), 1, 1, 200, 1, 6, 1, 10, (0.05, 0.1), ("--rounds", "1", "--only", "light"), 2),
}  # fmt: skip


@dataclasses.dataclass
class Context:
    run: results.Run
    targets: Targets
    profile: Profile


@dataclasses.dataclass(frozen=True)
class Step:
    group: str
    title: str
    #: about how long it takes, for the progress
    seconds: float
    measure: Callable[[Context], list[dict]]
