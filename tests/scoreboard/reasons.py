"""Why wrong answers are wrong: reads reasons.toml and holds it against what a run found.

A reason is a `[[reason]]` table: `why` (one sentence), `varies = true` where its statements are wrong in some runs only, `refused` with
statements that show it where the reason is that something is refused, and
`statements`, which has for each file of the corpus the starts of the statements that the reason explains. A statement is known by
its text, not by its line: comments before it are left out and white space counts as one space.

`open` names the files in which not every wrong answer has its reason yet; a run tells of them, but does not fail for them.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re

try:
    import tomllib
except ImportError:  # before Python 3.11
    from pip._vendor import tomli as tomllib

PATH = pathlib.Path(__file__).resolve().parent / "reasons.toml"


@dataclasses.dataclass
class Reason:
    why: str
    varies: bool
    # Statements that show what the reason says is refused (tests/compat/run.py runs them): one, or a list of which the last one counts.
    refused: list[str | list[str]]
    # File → the starts of statements.
    statements: dict[str, list[str]]


def normal(sql: str) -> str:
    """The text by which a statement is known."""
    sql = re.sub(r"\A(\s+|--[^\n]*\n|/\*.*?\*/)+", "", sql, flags=re.S)
    return " ".join(sql.split())


def load(path: pathlib.Path = PATH) -> tuple[list[Reason], set[str]]:
    """The reasons, and the files that are still open."""
    data = tomllib.loads(path.read_text())
    if unknown := set(data) - {"open", "reason"}:
        raise SystemExit(f"{path.name}: unknown {', '.join(sorted(unknown))}")
    reasons = []
    for entry in data.get("reason", []):
        if not entry.get("why") or not entry.get("statements") or set(entry) - {"why", "varies", "refused", "statements"}:
            raise SystemExit(f"{path.name}: a reason has `why`, `statements` and perhaps `varies` and `refused`: {entry}")
        statements = {file: [normal(start) for start in starts] for file, starts in entry["statements"].items()}
        if not all(starts and all(starts) for starts in statements.values()):
            raise SystemExit(f"{path.name}: an empty start of a statement would explain everything: {entry['why']}")
        reasons.append(Reason(entry["why"], entry.get("varies", False), entry.get("refused", []), statements))
    return reasons, set(data.get("open", []))


class Judgement:
    """What a run's wrong answers are against the list."""

    def __init__(self, misses: dict[str, list]):
        """`misses` has for each file that ran what `run.compare` tells of it."""
        reasons, still_open = load()
        # Wrong by themselves and without a reason: in files that should have one for each, and in those that are open.
        self.unexplained: list[str] = []
        self.unexplained_open: list[str] = []
        self.explained = 0
        used: set[tuple[int, str, str]] = set()
        for file, found in misses.items():
            missing = []
            for line, verdict, why, sql, *_ in found:
                if verdict != "wrong":
                    continue
                text = normal(sql)
                entries = {(n, file, s) for n, r in enumerate(reasons) for s in r.statements.get(file, []) if text.startswith(s)}
                used |= entries
                if why.startswith("(follow-up)"):  # COMMIT of a failed transaction
                    continue
                if entries:
                    self.explained += 1
                else:
                    missing.append(f"{file}.sql:{line}: {why}: {text[:100]}")
            if file in still_open:
                self.unexplained_open += missing
            else:
                self.unexplained += missing
        # What the list says and this run did not find: it is no longer so, or never was.
        self.stale = [
            f"{file}: {start}"
            for n, r in enumerate(reasons)
            for file, starts in r.statements.items()
            for start in starts
            if file in misses and not r.varies and (n, file, start) not in used
        ]

    def complaints(self) -> list[str]:
        return [f"wrong without a reason: {u}" for u in self.unexplained] + [f"stale in {PATH.name}: {s}" for s in self.stale]
