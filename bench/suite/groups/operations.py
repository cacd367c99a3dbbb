"""The five operations, one client: INSERT … RETURNING, SELECT by key, range SELECT, UPDATE, DELETE, in every protocol and format."""

from __future__ import annotations

from ..load import argument, measure, statement
from ..targets import ROWS
from . import Context, Profile, Step

RANGE = 20
MODES = ("simple", "extended", "prepared text", "prepared binary")
KEY = argument("uniform", 0, ROWS - RANGE)


def operations(base: int) -> dict[str, dict]:
    """`base`: the first new key; what is deleted begins there too."""
    return {
        "insert": statement(
            "INSERT INTO b (id, n, s) VALUES ($1, $2, $3) RETURNING id",
            [argument("next", base), argument("uniform", 0, 1000), argument("text", "value ")],
            rows=1,
            affected=1,
        ),
        "select key": statement("SELECT id, n, s FROM b WHERE id = $1", [KEY], rows=1),
        "select range": statement("SELECT id, n, s FROM b WHERE id >= $1 AND id < $2", [KEY, argument("plus", 0, RANGE)], rows=RANGE),
        "update": statement("UPDATE b SET n = n + 1 WHERE id = $1", [KEY], affected=1),
        "delete": statement("DELETE FROM b WHERE id = $1", [argument("next", base)], affected=1),
    }


def fill(context: Context, first: int, count: int) -> None:
    """The rows that DELETE finds, whether INSERT was measured before or not."""
    for target in context.targets.every():
        for at in range(first, first + count, 1000):
            rows = ",".join(f"({i}, 0, 'value')" for i in range(at, min(at + 1000, first + count)))
            target.sql(f"INSERT INTO b (id, n, s) VALUES {rows} ON CONFLICT (id) DO NOTHING")


def steps(profile: Profile) -> list[Step]:
    out = []
    warmup = max(5, profile.operations // 2)
    for number, mode in enumerate(MODES):
        # the keys of each mode are its own; DELETE's are those that INSERT made, and what is missing of them
        for name, one in operations(1_000_000 * (number + 1)).items():

            def run(context: Context, name=name, one=one, mode=mode) -> list[dict]:
                p = context.profile
                if name == "delete":
                    fill(context, one["arguments"][0]["next"], p.slices * p.operations + warmup)
                return measure(
                    context.run, "operations", name, context.targets.every(), [one], mode, slices=p.slices, operations=p.operations, warmup=warmup
                )

            seconds = 1 + profile.slices * profile.operations * 4 * (0.0002 if "select" in name else 0.0006)
            out.append(Step("operations", f"{name}, {mode}", seconds, run))

    def asynchronous(context: Context) -> list[dict]:
        """INSERT with synchronous_commit = off: what is left when nobody waits for the disk."""
        p, targets = context.profile, [context.targets[n] for n in ("pgsqlite", "postgresql") if n in context.targets]
        for t in targets:
            role = "ALTER ROLE postgres SET synchronous_commit = off"
            t.sql(role)
        try:
            one = operations(9_000_000)["insert"]
            return measure(context.run, "operations", "insert, synchronous_commit off", targets, [one], "prepared binary", slices=p.slices, operations=p.operations, warmup=warmup)
        finally:
            for t in targets:
                t.sql("ALTER ROLE postgres RESET synchronous_commit")

    out.append(Step("operations", "insert, synchronous_commit off", 3, asynchronous))
    return out
