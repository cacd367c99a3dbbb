"""What the crash tests have in common: arguments with a seed that is printed, a moment to kill at, and what SQLite says of the file."""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import time
from typing import Callable


def arguments(doc: str | None, **counts: int) -> tuple[argparse.Namespace, random.Random]:
    """The command line: each of `counts` is an option with its default. The random numbers are those of the seed, which is printed."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in counts.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    given = parser.parse_args()
    print(f"seed {given.seed}")
    return given, random.Random(given.seed)


def live(rng: random.Random, has_begun: Callable[[], bool]) -> None:
    """Lets the server live until there is something to lose, for up to a minute, and for a random moment more."""
    patience = time.monotonic() + 60
    while not has_begun() and time.monotonic() < patience:
        time.sleep(0.01)
    time.sleep(rng.uniform(0.05, 0.6))


def integrity(database: str) -> str:
    """What SQLite finds in the file: "ok", or the first defect."""
    db = sqlite3.connect(database)
    found: str = db.execute("PRAGMA integrity_check").fetchone()[0]
    db.close()
    return found
