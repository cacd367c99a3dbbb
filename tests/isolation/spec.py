"""PostgreSQL's isolation specifications (src/test/isolation/README): sessions, their steps, and permutations of those."""

from __future__ import annotations

import dataclasses
import itertools
import re

TOKEN = re.compile(
    r"""\s+|\#[^\n]*|(?P<sql>\{(?:[^}])*\})|"(?P<quoted>(?:[^"]|"")*)"|(?P<word>[A-Za-z_][A-Za-z0-9_.]*)|(?P<number>\d+)|(?P<mark>[(),*])"""
)


@dataclasses.dataclass
class Step:
    name: str
    sql: str
    session: int


@dataclasses.dataclass
class Session:
    name: str
    setup: str | None = None
    teardown: str | None = None
    steps: list[Step] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Blocker:
    """A condition of a step's end: `(*)` (step None), `(step)`, `(step notices N)`."""

    step: str | None
    notices: int = 0


@dataclasses.dataclass
class Placed:
    """A step in a permutation."""

    step: Step
    blockers: list[Blocker] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Spec:
    setups: list[str] = dataclasses.field(default_factory=list)
    teardown: str | None = None
    sessions: list[Session] = dataclasses.field(default_factory=list)
    written: list[list[tuple[str, list[Blocker]]]] = dataclasses.field(default_factory=list)

    def steps(self) -> dict[str, Step]:
        return {step.name: step for session in self.sessions for step in session.steps}

    def permutations(self) -> list[list[Placed]]:
        """The written ones, or all orders that keep each session's."""
        known = self.steps()
        if self.written:
            return [[Placed(known[name], blockers) for name, blockers in one] for one in self.written]
        lists = [session.steps for session in self.sessions]
        owners = [i for i, steps in enumerate(lists) for _ in steps]
        orders = []
        for order in _distinct(owners):
            rests = [iter(steps) for steps in lists]
            orders.append([Placed(next(rests[i])) for i in order])
        return orders


def _distinct(owners: list[int]) -> list[tuple[int, ...]]:
    """All different orders, ascending: those of isolationtester."""
    found: list[tuple[int, ...]] = []
    counts = {i: owners.count(i) for i in sorted(set(owners))}

    def go(done: tuple[int, ...]) -> None:
        if len(done) == len(owners):
            found.append(done)
            return
        for i in counts:
            if counts[i]:
                counts[i] -= 1
                go((*done, i))
                counts[i] += 1

    go(())
    return found


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"not understood: {text[at:at + 40]!r}")
        at = match.end()
        if match.lastgroup is not None:
            tokens.append((match.lastgroup, match.group(match.lastgroup)))
    return tokens


def parse(text: str) -> Spec:
    tokens = _tokens(text)
    spec = Spec()
    at = 0

    def take(*kinds: str) -> str:
        nonlocal at
        kind, value = tokens[at]
        if kind not in kinds:
            raise ValueError(f"{kinds} expected, not {value!r}")
        at += 1
        return value.replace('""', '"') if kind == "quoted" else value

    def peek() -> tuple[str, str]:
        return tokens[at] if at < len(tokens) else ("end", "")

    def blockers() -> list[Blocker]:
        found = []
        if peek() != ("mark", "("):
            return found
        take("mark")
        while True:
            if peek() == ("mark", "*"):
                take("mark")
                found.append(Blocker(None))
            else:
                name = take("word", "quoted")
                notices = 0
                if peek() == ("word", "notices"):
                    take("word")
                    notices = int(take("number"))
                found.append(Blocker(name, notices))
            if take("mark") == ")":
                return found

    session: Session | None = None
    while at < len(tokens):
        word = take("word")
        if word == "setup":
            sql = take("sql")[1:-1]
            if session is None:
                spec.setups.append(sql)
            else:
                session.setup = sql
        elif word == "teardown":
            sql = take("sql")[1:-1]
            if session is None:
                spec.teardown = sql
            else:
                session.teardown = sql
        elif word == "session":
            session = Session(take("word", "quoted"))
            spec.sessions.append(session)
        elif word == "step":
            assert session is not None
            name = take("word", "quoted")
            session.steps.append(Step(name, take("sql")[1:-1], len(spec.sessions) - 1))
        elif word == "permutation":
            one = []
            while peek()[0] in ("word", "quoted") and peek() != ("word", "permutation"):
                name = take("word", "quoted")
                one.append((name, blockers()))
            spec.written.append(one)
        else:
            raise ValueError(f"not understood: {word!r}")
    # a comment may have a brace; step texts are compared without the white space around them
    for one in itertools.chain(*(s.steps for s in spec.sessions)):
        one.sql = one.sql.strip()
    return spec
