"""Runs a permutation by the rules of PostgreSQL's isolationtester (isolationtester.c), on any server of its protocol.

A step that does not end is *waiting* if the server says that its session is blocked by another one of the test. A
session that waits gets no further step before its own has ended. Steps that have ended are reported after each step, as soon
as their blockers allow it. What is reported is a transcript: lines of text, without anything that depends on chance
(process numbers, times).
"""

from __future__ import annotations

import re
import select
import time

import pgwire
from spec import Placed, Spec

# A step that is neither blocked nor over for so long hangs.
HANGS = 20.0
LOOK = 0.01


class Hangs(Exception):
    pass


class Running:
    """A session of the test."""

    def __init__(self, connect, name: str):
        self.connection = connect()
        self.name = name
        self.connection.simple(f"SET application_name = 'isolation/{name}'")
        self.pid = int(value(self.connection, "SELECT pg_backend_pid()"))
        self.step: Placed | None = None
        self.lines: list[str] = []
        self.pending: list[tuple[bytes, bytes]] = []
        self.notices = 0
        self.done = True

    def begin(self, placed: Placed) -> None:
        self.step, self.done, self.lines = placed, False, []
        self.connection.send(b"Q", placed.step.sql.encode() + b"\0")

    def poll(self) -> None:
        """Takes what has come."""
        sock = self.connection.sock
        while not self.done:
            buffered = self.connection.buffer
            whole = len(buffered) >= 5 and len(buffered) >= 1 + int.from_bytes(buffered[1:5], "big")
            if not whole and not select.select([sock], [], [], 0)[0]:
                return
            try:
                self.take(*self.connection.receive())
            except pgwire.ServerGone:
                self.lines.append("FATAL: the server closed the connection")
                self.done = True

    def take(self, kind: bytes, body: bytes) -> None:
        if kind == b"T":
            self.lines.append("columns " + "|".join(names_of(body)))
        elif kind == b"D":
            row = pgwire.data_row(body)
            self.lines.append("row " + "|".join("" if v is None else v.decode(errors="backslashreplace") for v in row))
        elif kind == b"C":
            self.lines.append(body[:-1].decode())
        elif kind == b"E":
            fields = pgwire.fields_of(body)
            self.lines.append(f"{fields['S']}: {fields['C']} {clean(fields['M'])}")
        elif kind == b"N":
            self.notices += 1
            fields = pgwire.fields_of(body)
            self.lines.append(f"{fields['S']}: {clean(fields['M'])}")
        elif kind == b"A":
            at = body.index(b"\0", 4)
            self.lines.append(f"notification {body[4:at].decode()} {body[at + 1:-1].decode()}")
        elif kind == b"Z":
            self.done = True


def clean(message: str) -> str:
    return re.sub(r"\b(process|PID|transaction) \d+", r"\1 N", message)


def names_of(body: bytes) -> list[str]:
    names, at = [], 2
    for _ in range(int.from_bytes(body[:2], "big")):
        end = body.index(b"\0", at)
        names.append(body[at:end].decode())
        at = end + 19
    return names


def value(connection: pgwire.Connection, sql: str) -> str | None:
    for kind, body in connection.simple(sql):
        if kind == b"D":
            found = pgwire.data_row(body)[0]
            return None if found is None else found.decode()
        if kind == b"E":
            raise RuntimeError(f"{sql}: {pgwire.fields_of(body)['M']}")
    return None


def must(connection: pgwire.Connection, sql: str) -> list[str]:
    """Runs what is no step; its errors are part of the transcript."""
    return [
        f"ERROR: {pgwire.fields_of(body)['C']} {clean(pgwire.fields_of(body)['M'])}"
        for kind, body in connection.simple(sql)
        if kind == b"E"
    ]


class Permutation:
    def __init__(self, connect, spec: Spec, placed: list[Placed], is_blocked: str):
        self.control = connect()
        self.spec, self.placed, self.is_blocked = spec, placed, is_blocked
        self.sessions = [Running(connect, s.name) for s in spec.sessions]
        self.transcript: list[str] = []
        self.waiting: list[Running] = []

    def blocked(self, session: Running) -> bool:
        others = ",".join(str(s.pid) for s in self.sessions)
        return value(self.control, self.is_blocked.format(pid=session.pid, pids=others)) == "t"

    def report(self, session: Running, completed: bool) -> None:
        assert session.step is not None
        name = session.step.step.name
        head = f"step {name}: <... completed>" if completed else f"step {name}: {session.step.step.sql}"
        self.transcript += [head, *session.lines]
        session.step = None

    def held(self, session: Running) -> bool:
        """Whether a blocker keeps a step that has ended from being reported."""
        assert session.step is not None
        for blocker in session.step.blockers:
            if blocker.step is None:
                continue
            other = next((s for s in self.sessions if s.step and s.step.step.name == blocker.step), None)
            if blocker.notices:
                owner = self.sessions[self.spec.steps()[blocker.step].session]
                if owner.notices < blocker.notices:
                    return True
            elif other is not None:
                return True
        return False

    def until_done_or_blocked(self, session: Running) -> bool:
        """Whether the session's step has ended."""
        began = time.monotonic()
        while True:
            session.poll()
            if session.done:
                return True
            for other in self.sessions:
                other.poll()
            # (as there: nobody is asked before the step has had this time)
            select.select([session.connection.sock], [], [], LOOK)
            session.poll()
            if session.done:
                return True
            if self.blocked(session):
                session.poll()
                return session.done
            if time.monotonic() - began > HANGS:
                raise Hangs(session.step.step.name if session.step else "")

    def settle(self) -> None:
        """Reports the steps that have ended meanwhile."""
        progress = True
        while progress:
            progress = False
            for session in list(self.waiting):
                # (who is not blocked any more ends soon)
                if self.until_done_or_blocked(session) and not self.held(session):
                    self.waiting.remove(session)
                    self.report(session, True)
                    progress = True

    def run(self) -> list[str]:
        for sql in self.spec.setups:
            self.transcript += must(self.control, sql)
        for spec, session in zip(self.spec.sessions, self.sessions, strict=True):
            if spec.setup:
                session.connection.send(b"Q", spec.setup.encode() + b"\0")
                session.done = False
                session.lines = []
                began = time.monotonic()
                while not session.done:
                    session.poll()
                    if time.monotonic() - began > HANGS:
                        raise Hangs(f"setup of {spec.name}")
                    time.sleep(LOOK / 10)
                self.transcript += session.lines
        for placed in self.placed:
            session = self.sessions[placed.step.session]
            if session.step is not None:
                self.wait_for(session)
            session.begin(placed)
            star = any(b.step is None for b in placed.blockers)
            if not star and self.until_done_or_blocked(session) and not self.held(session):
                self.report(session, False)
            else:
                self.transcript.append(f"step {placed.step.name}: {placed.step.sql} <waiting ...>")
                self.waiting.append(session)
            self.settle()
        for session in list(self.waiting):
            if session in self.waiting:
                self.wait_for(session)
        for spec, session in zip(self.spec.sessions, self.sessions, strict=True):
            if spec.teardown:
                self.transcript += must(session.connection, spec.teardown)
        if self.spec.teardown:
            self.transcript += must(self.control, self.spec.teardown)
        return self.transcript

    def wait_for(self, session: Running) -> None:
        began = time.monotonic()
        while session in self.waiting:
            self.settle()
            if session in self.waiting:
                if time.monotonic() - began > HANGS:
                    raise Hangs(session.step.step.name if session.step else "")
                time.sleep(LOOK)

    def close(self) -> None:
        for session in self.sessions:
            session.connection.close()
        self.control.close()
