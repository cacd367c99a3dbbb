"""Transactions that are open for a while: clients that think within one, a job queue, and one that stays open beside others.

What is measured is how much they hold each other up: a server that made them wait would do a fraction of what the pauses allow. Scripts run by
pgbench; rounds of the targets take turns.
"""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import tempfile
from collections.abc import Iterator

from ..targets import Target
from . import Context, Profile, Step
from .tpcb import in_rounds, pgbench

ROWS = 1000
JOBS = 50_000

TABLES = f"""
DROP TABLE IF EXISTS bench_own, bench_jobs;
CREATE TABLE bench_own (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO bench_own SELECT g, 0 FROM generate_series(0, {ROWS - 1}) g;
CREATE TABLE bench_jobs (id int PRIMARY KEY, done boolean NOT NULL);
INSERT INTO bench_jobs SELECT g, false FROM generate_series(1, {JOBS}) g;
CREATE INDEX ON bench_jobs (id) WHERE NOT done;
"""

THINKS = """\
BEGIN;
UPDATE bench_own SET n = n + 1 WHERE id = :client_id;
\\sleep 10 ms
COMMIT;
"""

QUEUE = """\
BEGIN;
SELECT id FROM bench_jobs WHERE NOT done ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED \\gset
\\sleep 20 ms
UPDATE bench_jobs SET done = true WHERE id = :id;
COMMIT;
"""

UPDATE = f"""\
\\set id random(1, {ROWS - 1})
UPDATE bench_own SET n = n + 1 WHERE id = :id;
"""

BLOCK = f"""\
BEGIN;
{"".join(f"UPDATE bench_own SET n = n + 1 WHERE id = :client_id * 10 + {i};" for i in range(10))}
COMMIT;
"""


@dataclasses.dataclass(frozen=True)
class Load:
    title: str
    script: str
    clients: int
    #: another session has changed a row, and says nothing
    beside_open: bool = False


LOADS = (
    Load("own row, 10 ms of thought", THINKS, 100),
    Load("queue, jobs of 20 ms", QUEUE, 8),
    Load("ten rows in a block", BLOCK, 1),
    Load("row by key", UPDATE, 8),
    Load("row by key, beside an open transaction", UPDATE, 8, beside_open=True),
)


def make_tables(context: Context) -> list[dict]:
    for target in context.targets.servers(2):
        c = target.connect()
        c.query(TABLES)
        c.close()
    return []


@contextlib.contextmanager
def open_transaction(target: Target, wanted: bool) -> Iterator[None]:
    """A session that has changed a row which nobody else wants."""
    if not wanted:
        yield
        return
    c = target.connect()
    c.query("BEGIN")
    c.query("UPDATE bench_own SET n = n + 1 WHERE id = 0")
    try:
        yield
    finally:
        c.close()


def steps(profile: Profile) -> list[Step]:
    out = [Step("transactions", "tables", 2, make_tables)]
    for load in LOADS:

        def run(context: Context, load=load) -> list[dict]:
            with tempfile.TemporaryDirectory(prefix="bench-script.") as folder:
                script = pathlib.Path(folder) / "script.sql"
                script.write_text(load.script)

                def beside(target: Target):
                    return open_transaction(target, load.beside_open)

                return in_rounds(context, "transactions", load.title, "prepared", load.clients, ("-f", str(script)), beside)

        out.append(Step("transactions", load.title, 2 * profile.rounds * profile.seconds, run))
    return out
