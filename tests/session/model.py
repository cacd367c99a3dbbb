"""What a server must have stored after each of its answers.

The model knows nothing of constraints, plans or SQL: it knows what the protocol promises. It sends a conversation, reads each
answer where the protocol says that it comes, and derives from the acknowledgements what is committed, and from the transaction
block what ReadyForQuery must say. An answer that has no place is a violation.
"""

from __future__ import annotations

import re

import pgwire
from messages import CLIENT, shown

TABLES = ("ch", "k", "tr", "im")
VALUES = re.compile(r"\(\s*(-?\d+|\$\d)\s*,\s*(-?\d+|\$\d)\s*\)")
INSERT = re.compile(r"\s*INSERT INTO (\w+) VALUES (.*)", re.S)
DELETE = re.compile(r"\s*DELETE FROM (\w+) WHERE id = (-?\d+|\$1)")
UPDATE = re.compile(r"\s*UPDATE (\w+) SET v = (-?\d+|\$2) WHERE id = (-?\d+|\$1)")
COPY = re.compile(r"\s*COPY (\w+) FROM STDIN")
EXECUTE = re.compile(r"\s*EXECUTE (\w+)\((-?\d+), (-?\d+)\)")
GUARDED = re.compile(r"DO \$\$ BEGIN (INSERT [^;]*); EXCEPTION")
CALL = re.compile(r"\s*CALL two\((\d+), (-?\d+)\)")

State = dict[tuple[str, int], int]


class Violation(Exception):
    """An answer that the protocol or the model does not allow."""


def text_of(message: tuple) -> str:
    """The message as tests/wire writes it."""
    name, *rest = message
    if name == "Query":
        rest = ["; ".join(rest[0])]
    return f"{name}({', '.join(repr(r) for r in rest)})"


def bytes_of(message: tuple, functions: dict[str, int]) -> bytes:
    name, *rest = message
    if name == "Query":
        rest = ["; ".join(rest[0])]
    if name == "FunctionCall":
        rest[0] = functions[rest[0]]
    return CLIENT[name](*rest)


class Model:
    """One session with a server, and what must be stored there."""

    def __init__(self, connection: pgwire.Connection, committed: State, functions: dict[str, int]):
        self.connection, self.functions = connection, functions
        self.committed, self.work = dict(committed), dict(committed)
        self.block, self.saves = "I", []
        self.skip = False
        self.statements: dict[str, str] = {}
        self.portals: dict[str, dict] = {}
        self.transcript: list[str] = []
        self.notices: list[str] = []
        self.queue: list[tuple] = []
        self.acknowledged = 0

    # --- answers ---------------------------------------------------------------------------------------------------------

    def receive(self, expected: str) -> tuple[str, str]:
        """The next answer's type and text; what may come at any time is noted and passed over."""
        while True:
            kind, body = self.connection.receive()
            line = shown(kind, body)
            self.transcript.append(line)
            if kind in b"NSA":
                self.notices.append(line)
                continue
            if kind.decode() not in expected:
                raise Violation(f"expected one of {expected}, got: {line}")
            return kind.decode(), line

    def send(self, write: list[tuple]) -> None:
        """Sends the messages in one write and reads all answers."""
        self.connection.sock.sendall(b"".join(bytes_of(m, self.functions) for m in write))
        self.transcript.append("--")
        self.queue = list(write)
        while self.queue:
            message = self.queue.pop(0)
            if self.skip and message[0] != "Sync":
                continue
            getattr(self, "on_" + message[0])(*message[1:])

    # --- transactions ----------------------------------------------------------------------------------------------------

    def fail(self, statement: str = "") -> None:
        """An error: what is not a block's is undone; a COMMIT that fails ends its block."""
        if self.block == "T" and re.match(r"\s*(COMMIT|END)", statement):
            self.end(False)
        elif self.block == "I":
            self.work = dict(self.committed)
        else:
            self.block = "E"

    def end(self, commit: bool, chain: bool = False) -> None:
        if commit:
            self.committed = dict(self.work)
        else:
            self.work = dict(self.committed)
        self.block, self.saves = ("T" if chain else "I"), []

    def ready(self) -> None:
        """ReadyForQuery, before it perhaps the error of the implicit commit."""
        kind, line = self.receive("EZ")
        if kind == "E":
            if self.block != "I":
                raise Violation(f"an error at Sync in a block: {line}")
            self.fail()
            _, line = self.receive("Z")
        elif self.block == "I":
            self.committed = dict(self.work)
        if line != f"ReadyForQuery {self.block}":
            raise Violation(f"the block is {self.block}, but: {line}")
        self.acknowledged += 1

    # --- what statements do ----------------------------------------------------------------------------------------------

    def apply(self, sql: str, params: list, tag: str, copied: list[tuple[int, int]]) -> None:
        def number(word: str) -> int:
            return int(params[int(word[1:]) - 1]) if word.startswith("$") else int(word)

        def counted(what: str, n: int) -> None:
            if tag and tag != f"{what}{n}":
                raise Violation(f"{sql} {params}: {tag}, expected {what}{n}")

        word = sql.split()[0] if sql.split() else ""
        if word in ("BEGIN", "START"):
            self.block = "T"
        elif word in ("COMMIT", "END"):
            self.end(tag == "COMMIT", "AND CHAIN" in sql)
        elif word == "ROLLBACK" and " TO " in sql:
            name = sql.split()[-1]
            at = max((i for i, s in enumerate(self.saves) if s[0] == name), default=None)
            if at is None:
                raise Violation(f"{sql} succeeded without the savepoint")
            del self.saves[at + 1 :]
            self.work, self.block = dict(self.saves[at][1]), "T"
        elif word == "ROLLBACK":
            self.end(False, "AND CHAIN" in sql)
        elif word == "SAVEPOINT":
            self.saves.append((sql.split()[-1], dict(self.work)))
        elif word == "RELEASE":
            name = sql.split()[-1]
            at = max((i for i, s in enumerate(self.saves) if s[0] == name), default=None)
            if at is None:
                raise Violation(f"{sql} succeeded without the savepoint")
            del self.saves[at:]
        elif word == "VACUUM" and self.block == "I":
            self.committed = dict(self.work)
        elif found := INSERT.match(sql):
            rows = VALUES.findall(found[2])
            for id_, v in rows:
                self.work[found[1], number(id_)] = number(v)
            counted("CommandComplete INSERT 0 ", len(rows))
        elif found := DELETE.match(sql):
            n = 1 if self.work.pop((found[1], number(found[2])), None) is not None else 0
            counted("CommandComplete DELETE ", n)
        elif found := UPDATE.match(sql):
            key = (found[1], number(found[3]))
            if key in self.work:
                self.work[key] = number(found[2])
            counted("CommandComplete UPDATE ", int(key in self.work))
        elif found := COPY.match(sql):
            for id_, v in copied:
                self.work[found[1], id_] = v
            counted("CommandComplete COPY ", len(copied))
        elif found := EXECUTE.match(sql):
            self.apply(self.statements.get(found[1], ""), [found[2], found[3]], tag, [])
        elif word == "PREPARE":
            self.statements[sql.split()[1].split("(")[0]] = sql.split(" AS ", 1)[1]
        elif found := GUARDED.match(sql):
            if not any(" caught" in n for n in self.notices):
                self.apply(found[1], [], "", [])
        elif found := CALL.match(sql):
            self.work["im", int(found[1])] = int(found[2])
            self.end(True)

    def run(self, sql: str, params: list) -> str | None:
        """Reads the answers to one statement; the tag, "suspended", or None after an error."""
        self.notices = []
        copied: list[tuple[int, int]] = []
        while True:
            kind, line = self.receive("TDCEIsGHdc")
            if kind == "G":
                copied = self.copy_in()
            elif kind == "E":
                self.fail(sql)
                return None
            elif kind == "s":
                return "suspended"
            elif kind in "CI":
                tag = {"COMMIT": "COMMIT"}.get(line.removeprefix("CommandComplete "), line)
                self.copied = copied
                return tag

    def copy_in(self) -> list[tuple[int, int]]:
        """Takes the messages that the COPY takes, as far as its end."""
        rows = []
        while self.queue:
            name, *rest = self.queue.pop(0)
            if name == "CopyData":
                for row in rest[0].split("\n"):
                    if re.fullmatch(r"-?\d+\t-?\d+", row):
                        rows.append((int(row.split("\t")[0]), int(row.split("\t")[1])))
            elif name in ("CopyDone", "CopyFail"):
                return rows
        raise Violation("a conversation that does not end its COPY")

    # --- messages --------------------------------------------------------------------------------------------------------

    def on_Query(self, statements: list[str]) -> None:
        unread = "SELEC 1" in statements
        for sql in [s for s in statements if s] or [""]:
            # (a string that cannot be parsed fails before its first statement)
            tag = self.run("" if unread else sql, [])
            if tag is None:
                break
            self.apply(sql, [], tag, self.copied)
        self.ready()

    def extended(self, expected: str) -> str | None:
        kind, line = self.receive(expected + "E")
        if kind == "E":
            self.fail()
            self.skip = True
            return None
        return line

    def on_Parse(self, name: str, sql: str) -> None:
        if self.extended("1"):
            self.statements[name] = sql

    def on_Bind(self, portal: str, statement: str, values: list) -> None:
        if self.extended("2"):
            self.portals[portal] = {"sql": self.statements.get(statement, ""), "params": values, "applied": False}

    def on_DescribeStatement(self, name: str) -> None:
        if self.extended("t"):
            self.receive("Tn")

    def on_DescribePortal(self, name: str) -> None:
        self.extended("Tn")

    def on_Execute(self, name: str, rows: int) -> None:
        portal = self.portals.get(name, {"sql": "", "params": [], "applied": True})
        # (what has run already fails as a portal, not as its statement)
        tag = self.run("" if portal["applied"] else portal["sql"], portal["params"])
        if tag is None:
            self.skip = True
        elif not portal["applied"]:
            portal["applied"] = True
            self.apply(portal["sql"], portal["params"], "" if "RETURNING" in portal["sql"] else tag, getattr(self, "copied", []))

    def on_CloseStatement(self, name: str) -> None:
        if self.extended("3"):
            self.statements.pop(name, None)

    def on_ClosePortal(self, name: str) -> None:
        self.extended("3")

    def on_Flush(self) -> None:
        pass

    def on_Sync(self) -> None:
        self.skip = False
        self.ready()

    def on_FunctionCall(self, function: str, values: list) -> None:
        kind, _ = self.receive("VE")
        if kind == "E":
            self.fail()
        else:
            self.work["ch", int(values[0])] = int(values[1])
        self.ready()

    def on_CopyData(self, data: str) -> None:
        pass

    def on_CopyDone(self) -> None:
        pass

    def on_CopyFail(self, reason: str) -> None:
        pass
