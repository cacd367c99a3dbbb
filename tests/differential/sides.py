"""PostgreSQL and pgsqlite side by side, for the generators that ask both the same statement and compare the answers."""

from __future__ import annotations

import random
from typing import Callable

import pgwire
import server

#: the error's code and message; where there is none, what was answered
Answer = tuple[str, str, object]


class Sides:
    """A session on each of the two servers. PostgreSQL is the one that the environment names."""

    def __init__(self, running: server.Server, settings: str, answer: Callable[[pgwire.Connection, str], Answer]):
        """`settings`: what each session begins with. `answer`: sends a statement and reads what comes."""
        self.connect: list[Callable[[], pgwire.Connection]] = [
            lambda: pgwire.from_environment("postgres"),
            lambda: pgwire.Connection(running.dir, running.port, "postgres", "main"),
        ]
        self.settings, self.answer = settings, answer
        self.sessions: list[pgwire.Connection] = []

    def make(self, statements: list[str]) -> None:
        """Makes the objects that the statements use, on both servers, then opens the two sessions. Errors: SystemExit."""
        for connect in self.connect:
            connection = connect()
            for statement in statements:
                for kind, body in connection.simple(statement):
                    if kind == b"E":
                        raise SystemExit(f"{statement}: {pgwire.fields_of(body)}")
        self.sessions = [self._opened(i) for i in range(2)]

    def _opened(self, side: int) -> pgwire.Connection:
        connection = self.connect[side]()
        connection.simple(self.settings)
        return connection

    def ask(self, sql: str) -> tuple[Answer, Answer]:
        """PostgreSQL's answer and ours. A session that breaks is opened anew."""
        answers: list[Answer] = []
        for i in range(2):
            try:
                answers.append(self.answer(self.sessions[i], sql))
            except (pgwire.ServerGone, TimeoutError, OSError) as e:
                answers.append(("the connection broke", repr(e), None))
                self.sessions[i] = self._opened(i)
        return answers[0], answers[1]


class Chooser:
    """Random choices, the same for the same seed."""

    def __init__(self, seed: int):
        self.r = random.Random(seed)

    def one(self, *of: str) -> str:
        return self.r.choice(of)

    def chance(self, p: float) -> bool:
        return self.r.random() < p


def in_any_order(connection: pgwire.Connection, sql: str, wanted: bytes) -> Answer:
    """The error's code and text, or what came, in any order. `wanted`: the kinds of messages, of D (rows), C (tags), N (notices), d (COPY)."""
    came: list[object] = []
    for kind, body in connection.simple(sql):
        if kind == b"E":
            fields = pgwire.fields_of(body)
            return fields["C"], fields["M"], None
        if kind not in wanted:
            continue
        if kind == b"N":
            came.append((pgwire.fields_of(body)["C"], pgwire.fields_of(body)["M"]))
        elif kind == b"D":
            came.append([v and v.decode() for v in pgwire.data_row(body)])
        elif kind == b"C":
            came.append(body[:-1].decode())
        elif kind == b"d":
            came.append(body)
    return "", "", sorted(came, key=repr)


def difference(theirs: Answer, ours: Answer) -> str:
    """The two codes, or `rows`, where the answers differ in that; empty: they are the same."""
    if theirs[0] != ours[0]:
        return f"{theirs[0]}/{ours[0]}"
    return "rows" if theirs[2] != ours[2] else ""
