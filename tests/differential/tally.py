"""What the generators that compare one answer after another have in common: their flags, how long they go on, and what they report."""

from __future__ import annotations

import argparse
import time


def flags(doc: str | None, what: str = "statements") -> argparse.ArgumentParser:
    """The flags of a generator. `what`: what it counts."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--statements", type=int, default=0, help=f"how many {what}")
    parser.add_argument("--seconds", type=float, default=0, help="for how long")
    return parser


class Tally:
    """How many answers were compared, and what became of them."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.count = self.failed = self.succeeded = 0
        #: how often each was met
        self.refused: dict[str, int] = {}
        self.known: dict[str, int] = {}
        self._shown: set[str] = set()
        self._statements: int = args.statements
        self._seconds: float = args.seconds
        self._began: float | None = None

    def goes_on(self) -> bool:
        """Whether there is time, or there are statements, for one more. The time begins with the first one."""
        now = time.monotonic()
        self._began = self._began or now
        return self.count < self._statements or now < self._began + self._seconds

    def is_new(self, shape: str) -> bool:
        """Whether no difference of this shape was shown yet."""
        new = shape not in self._shown
        self._shown.add(shape)
        return new

    def summary(self, what: str = "statements") -> None:
        """Prints how many statements PostgreSQL takes, and which differences were met that are known or refused."""
        share = 100 * self.succeeded // max(self.count, 1)
        print(f"{self.count} {what}, {share} % of them succeed on PostgreSQL; known differences: {self.known}; refused: {self.refused}")

    def end(self) -> int:
        """Prints the last line, `N passed, N failed`. Returns the exit code."""
        print(f"{self.count - self.failed} passed, {self.failed} failed")
        return 1 if self.failed else 0


def note(counts: dict[str, int], what: str) -> None:
    """Counts one more of something."""
    counts[what] = counts.get(what, 0) + 1
