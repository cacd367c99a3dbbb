"""Reads what the documents claim to be refused or to work, each with the statement that shows it.

There are three sources: `claims.txt` (sentences of docs/compat/differences.md), `features.toml` (the table of docs/compatibility.md) and
`../scoreboard/reasons.toml` (why answers of PostgreSQL's regression tests differ).
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import sys

try:
    import tomllib
except ImportError:  # before Python 3.11
    from pip._vendor import tomli as tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DIFFERENCES = ROOT / "docs" / "compat" / "differences.md"
sys.path.insert(0, str(HERE.parent / "scoreboard"))
import reasons  # noqa: E402

# A sentence with one of these words says that something is not there: it needs a statement.
REFUSAL = re.compile(r"(?<!PostgreSQL )(?<!not )\b(refus|fails? here|not known|not supported|not implemented)", re.I)


@dataclasses.dataclass
class Probe:
    """A statement, what precedes it, and the SQLSTATE that it must end with; "" is success."""

    where: str
    claim: str
    before: list[str]
    statement: str
    code: str
    # The first value of the last row, where a claim names one.
    gives: str | None = None


def entry(where: str, claim: str, item: str | list[str], code: str) -> Probe:
    """A probe as the TOML files write it: a statement, or a list of statements of which the last one counts."""
    *before, last = [item] if isinstance(item, str) else item
    if code and (named := re.match(r"([0-9A-Z]{5}): ", last)):
        code, last = named[1], last[7:]
    return Probe(where, claim, before, last, code)


def of_sentences() -> list[Probe]:
    """The probes of `claims.txt`."""
    found = []
    for block in (HERE / "claims.txt").read_text().split("\n\n"):
        lines = [line for line in block.strip().splitlines() if not line.startswith("#")]
        if not lines:
            continue
        if not lines[0].startswith("claim: "):
            raise SystemExit(f"claims.txt: a block begins with `claim: `: {block}")
        at = next((i for i, line in enumerate(lines) if re.match("(refused|gives): ?", line)), None)
        if at is None:
            raise SystemExit(f"claims.txt: a block has a line `refused: ` or `gives: `: {block}")
        kind, value = lines[at].split(":", 1)
        code, gives = (value.strip(), None) if kind == "refused" else ("", value.strip())
        found.append(Probe("claims.txt", lines[0][7:], lines[1:at], "\n".join(lines[at + 1 :]), code, gives))
    return found


def features() -> list[dict]:
    """The themes of `features.toml`, each with its features."""
    themes = tomllib.loads((HERE / "features.toml").read_text())["theme"]
    for feature in (f for theme in themes for f in theme["feature"]):
        has = (bool(feature.get("works")), bool(feature.get("refused")))
        if {"yes": (True, False), "partly": (True, True), "no": (False, True)}[feature["answer"]] != has:
            raise SystemExit(f"features.toml: `yes` has works, `no` has refused, `partly` has both: {feature['name']}")
    return themes


def of_features() -> list[Probe]:
    """The probes of `features.toml`."""
    return [
        entry("features.toml", f["name"], item, code)
        for theme in features()
        for f in theme["feature"]
        for key, code in (("works", ""), ("refused", "0A000"))
        for item in f.get(key, [])
    ]


def of_reasons() -> list[Probe]:
    """The probes of the scoreboard's reasons."""
    return [entry("reasons.toml", reason.why, item, "0A000") for reason in reasons.load()[0] for item in reason.refused]


def sentences(text: str) -> list[str]:
    """The sentences of a document, with its lines joined."""
    paragraphs = re.split(r"\n\s*\n|\n(?=- |#)", text)
    return [s for p in paragraphs for s in re.split(r"(?<=[.:;])\s+", " ".join(p.split())) if s]


def joined(text: str) -> str:
    """The text with single blanks, in which the words of a claim are looked for."""
    return " ".join(text.split())


def without_probe() -> list[str]:
    """Sentences and reasons that say that something is refused, and have no statement that shows it."""
    document = DIFFERENCES.read_text()
    claims = [joined(p.claim) for p in of_sentences()]
    lacking = [
        f"docs/compat/differences.md: no statement in claims.txt shows: {s}"
        for s in sentences(document)
        if REFUSAL.search(s) and not any(c in s or s in c for c in claims)
    ]
    lacking += [f"claims.txt: docs/compat/differences.md does not say: {c}" for c in claims if c not in joined(document)]
    lacking += [
        f"tests/scoreboard/reasons.toml: no `refused` shows: {r.why}" for r in reasons.load()[0] if REFUSAL.search(r.why) and not r.refused
    ]
    return lacking
