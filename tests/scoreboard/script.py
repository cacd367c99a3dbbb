"""Reads psql scripts: splits them into statements and backslash commands as psql does, and runs them on a connection.

A script is read once, against PostgreSQL (`Reader`, driven by what the server answers: whether data of COPY follows
depends on it), which gives a list of `Step`s. The same steps are then run on any other server (`Player`): each keeps
psql variables of its own, because what \\gset fetched may differ.
"""

from __future__ import annotations

import dataclasses
import os
import re
import socket
import struct
import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import pgwire  # noqa: E402

NAME = re.compile(r"[A-Za-z_0-9\x80-\U0010ffff]+")
IDENT = re.compile(r"[A-Za-z_\x80-\U0010ffff][A-Za-z_0-9$\x80-\U0010ffff]*")
VARIABLE = re.compile(r":(?:\{\?(\w+)\}|'(\w+)'|\"(\w+)\"|(\w+))")
DOLLAR = re.compile(r"\$(?:[A-Za-z_\x80-\U0010ffff][A-Za-z_0-9\x80-\U0010ffff]*)?\$")
PREFIXED_QUOTE = re.compile(r"(?:[eE]|[uU]&|[bBxXnN])(?=')")


@dataclasses.dataclass
class Step:
    """What a script does at one place: a query string to send (`kind` "sql") or a command of psql (`kind` "command")."""

    kind: str
    line: int
    # "sql": text and variable references ("v", form, name) in turn; "command": the words after its name, alike.
    pieces: list
    # "sql": what ended it: ";", "g", "gset", "gexec", "gdesc"; "command": its name.
    end: str
    argument: list = dataclasses.field(default_factory=list)
    # One block per COPY FROM STDIN that PostgreSQL asked data for.
    data: list[str] = dataclasses.field(default_factory=list)


def substitute(pieces: list, variables: dict[str, str]) -> str:
    """The text with the variables' values; an unknown variable stays as it was written, as in psql."""
    out = []
    for piece in pieces:
        if isinstance(piece, str):
            out.append(piece)
            continue
        _, form, name = piece
        value = variables.get(name)
        if form == "?":
            out.append("TRUE" if value is not None else "FALSE")
        elif value is None:
            out.append({"'": f":'{name}'", '"': f':"{name}"', "": f":{name}"}[form])
        elif form == "'":
            quoted = "'" + value.replace("'", "''").replace("\\", "\\\\") + "'"
            out.append((" E" + quoted) if "\\" in value else quoted)
        elif form == '"':
            out.append('"' + value.replace('"', '""') + '"')
        else:
            out.append(value)
    return "".join(out)


class Lexer:
    """Cuts a script; `standard` (standard_conforming_strings) says whether a backslash is plain in '…'."""

    def __init__(self, text: str):
        self.text = text
        self.at = 0
        self.standard = True

    def line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    def copy_data(self) -> str:
        """The lines from the next one up to `\\.`."""
        start = self.text.find("\n", self.at) + 1
        if start == 0:
            start = len(self.text)
        at = start
        while at < len(self.text):
            end = self.text.find("\n", at)
            end = len(self.text) if end < 0 else end
            if self.text[at:end].rstrip("\r") == "\\.":
                # What follows the statement on its own line is still to be read.
                data = self.text[start:at]
                self.text = self.text[:start] + "\n" * (data.count("\n") + 1) + self.text[end + 1 :]
                return data
            at = end + 1
        data = self.text[start:]
        self.text = self.text[:start]
        return data

    def variable(self, pieces: list) -> bool:
        m = VARIABLE.match(self.text, self.at)
        if not m:
            return False
        for form, name in zip(("?", "'", '"', ""), m.groups()):
            if name is not None:
                pieces.append(("v", form, name))
        self.at = m.end()
        return True

    def quoted(self, quote: str, backslash: bool) -> str:
        """From the opening quote to behind the closing one."""
        start = self.at
        self.at += 1
        while self.at < len(self.text):
            c = self.text[self.at]
            if c == "\\" and backslash:
                self.at += 2
                continue
            self.at += 1
            if c == quote:
                if self.text[self.at : self.at + 1] == quote:
                    self.at += 1
                    continue
                break
        return self.text[start : self.at]

    def next(self) -> Step | None:
        """The next statement or command; None at the script's end."""
        t = self.text
        pieces: list = []
        line = None
        depth = begins = 0
        words: list[str] = []
        while self.at < len(t):
            c = t[self.at]
            if not c.isspace() and line is None:
                line = self.line()
            if c == "'":
                pieces.append(self.quoted("'", not self.standard))
            elif m := PREFIXED_QUOTE.match(t, self.at):
                pieces.append(m.group())
                self.at = m.end()
                pieces.append(self.quoted("'", m.group() in "eE" or (not self.standard and m.group() in "nN")))
            elif c == '"':
                pieces.append(self.quoted('"', False))
            elif c == "$" and (m := DOLLAR.match(t, self.at)):
                end = t.find(m.group(), m.end())
                end = len(t) if end < 0 else end + len(m.group())
                pieces.append(t[self.at : end])
                self.at = end
            elif t.startswith("--", self.at):
                end = t.find("\n", self.at)
                self.at = len(t) if end < 0 else end
                if not "".join(p if isinstance(p, str) else "v" for p in pieces).strip():
                    line = None
            elif t.startswith("/*", self.at):
                start, level = self.at, 0
                while self.at < len(t):
                    if t.startswith("/*", self.at):
                        level += 1
                        self.at += 2
                    elif t.startswith("*/", self.at):
                        level -= 1
                        self.at += 2
                        if level == 0:
                            break
                    else:
                        self.at += 1
                pieces.append(t[start : self.at])
            elif c == ":" and t.startswith("::", self.at):
                pieces.append("::")
                self.at += 2
            elif c == ":" and self.variable(pieces):
                pass
            elif c == "\\":
                if t.startswith("\\;", self.at):
                    pieces.append(";")
                    self.at += 2
                    continue
                m = re.compile(r"\\([A-Za-z_!?+]+|\\)").match(t, self.at)
                name = m.group(1) if m else "?"
                where = self.line()
                self.at = m.end() if m else self.at + 1
                if name == "\\":
                    continue
                argument = self.rest_of_line(name)
                text = "".join(p if isinstance(p, str) else "v" for p in pieces)
                if name in ("g", "gx", "gset", "gexec", "gdesc", "crosstabview"):
                    if not text.strip():
                        pieces = []
                        continue
                    return Step("sql", line or where, pieces, {"gx": "g", "crosstabview": "g"}.get(name, name), argument)
                if name in ("r", "reset"):
                    pieces, line, depth = [], None, 0
                    continue
                if text.strip():
                    # psql carries the command out and keeps the query buffer: commands of that kind only print.
                    if name in ("p", "echo", "qecho", "warn", "w", "e", "pset", "x", "t", "a"):
                        continue
                    if name not in ("if", "elif", "else", "endif", "set"):
                        continue
                    self.pending = pieces
                if name == "copy":
                    argument = ["copy ", *argument]
                return Step("command", where, argument, name)
            elif m := IDENT.match(t, self.at):
                word = m.group().lower()
                if len(words) < 4:
                    words.append(word)
                routine = words[:1] == ["create"] and ("function" in words or "procedure" in words)
                if routine and depth == 0:
                    if word == "begin":
                        begins += 1
                    elif word == "case" and begins:
                        begins += 1
                    elif word == "end" and begins:
                        begins -= 1
                pieces.append(m.group())
                self.at = m.end()
            elif c == ";" and depth == 0 and begins == 0:
                self.at += 1
                if not "".join(p if isinstance(p, str) else "v" for p in pieces).strip():
                    pieces, line, words = [], None, []
                    continue
                return Step("sql", line, pieces, ";")
            else:
                if c in "([":
                    depth += c == "("
                elif c == ")":
                    depth = max(0, depth - 1)
                pieces.append(c)
                self.at += 1
        if "".join(p if isinstance(p, str) else "v" for p in pieces).strip():
            return Step("sql", line or self.line(), pieces, ";")
        return None

    def rest_of_line(self, name: str) -> list:
        """A command's arguments: to the line's end, or to the next backslash."""
        t, pieces = self.text, []
        whole = name in ("copy", "!", "sf", "sv")
        while self.at < len(t) and t[self.at] != "\n":
            c = t[self.at]
            if c == "'":
                pieces.append(self.quoted("'", True))
            elif c == '"':
                pieces.append(self.quoted('"', False))
            elif c == "\\" and not whole:
                break
            elif c == ":" and self.variable(pieces):
                pass
            else:
                pieces.append(c)
                self.at += 1
        return pieces


def words_of(pieces: list, variables: dict[str, str]) -> list[str]:
    """A command's words, unquoted."""
    out: list[str] = []
    current: str | None = None
    for piece in pieces:
        if isinstance(piece, str) and len(piece) > 1 and piece[0] == "'":
            current = (current or "") + re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), piece[1:-1].replace("''", "'"))
        elif isinstance(piece, str) and len(piece) > 1 and piece[0] == '"':
            current = (current or "") + piece[1:-1]
        elif isinstance(piece, str) and piece.isspace():
            if current is not None:
                out.append(current)
            current = None
        elif isinstance(piece, tuple | list) and piece[1] == "":
            current = (current or "") + variables.get(piece[2], f":{piece[2]}")
        elif isinstance(piece, tuple | list):
            current = (current or "") + (variables.get(piece[2], "") if piece[1] != "?" else substitute([piece], variables))
        else:
            current = (current or "") + piece
    if current is not None:
        out.append(current)
    return out


def results_of(messages: list[tuple[bytes, bytes]]) -> list[dict]:
    """One entry per statement of a query string: columns, rows, tag or error, text that COPY gave."""
    results: list[dict] = []
    now: dict = {}
    for kind, body in messages:
        if kind == b"T":
            now["columns"] = [list(c[:3]) for c in pgwire.row_description(body)]
        elif kind == b"D":
            now.setdefault("rows", []).append([None if v is None else v.decode("utf-8", "backslashreplace") for v in pgwire.data_row(body)])
        elif kind == b"d":
            now.setdefault("copied", []).append(body.decode("utf-8", "backslashreplace"))
        elif kind in (b"C", b"I"):
            now["tag"] = body[:-1].decode()
            results.append(now)
            now = {}
        elif kind == b"E":
            fields = pgwire.fields_of(body)
            now["error"] = fields.get("C", "?????")
            now["message"] = fields.get("M", "")
            results.append(now)
            now = {}
    if now:
        results.append(now)
    return results


class Player:
    """Runs steps on one server. `connect(user, database)` opens a session; `limit` bounds a statement, in seconds."""

    def __init__(self, connect, variables: dict[str, str], user: str, database: str):
        self.connect = connect
        self.variables = {"DBNAME": database, "USER": user, "VERSION_NUM": "150000", "SERVER_VERSION_NUM": "150000", **variables}
        self.user, self.database = user, database
        self.session = connect(user, database)
        self.reader: Lexer | None = None

    def close(self) -> None:
        if self.session:
            self.session.close()

    def reconnect(self, words: list[str]) -> None:
        if words and words[0] not in ("-", "") and "=" not in words[0]:
            self.database = words[0]
        if len(words) > 1 and words[1] not in ("-", ""):
            self.user = words[1]
        self.close()
        self.session = None
        try:
            self.session = self.connect(self.user, self.database)
        except (pgwire.StartupError, pgwire.ServerGone, OSError):
            pass
        self.variables["DBNAME"], self.variables["USER"] = self.database, self.user

    def send(self, sql: str, step: Step, describe: bool = False) -> list[dict]:
        """What the server answers to a query string. A lost connection is an error `lost`, a silent one `slow`."""
        if self.session is None:
            try:
                self.session = self.connect(self.user, self.database)
            except (pgwire.StartupError, pgwire.ServerGone, OSError) as e:
                return [{"error": "lost", "message": f"cannot connect: {e}"}]
        c = self.session
        try:
            if describe:
                c.send(b"P", b"\0" + sql.encode() + b"\0" + struct.pack("!h", 0))
                c.send(b"D", b"S\0")
                c.send(b"S", b"")
            else:
                c.send(b"Q", sql.replace("\0", "").encode("utf-8", "surrogateescape") + b"\0")
            messages, blocks = [], 0
            while True:
                kind, body = c.receive()
                messages.append((kind, body))
                if kind == b"G":
                    if self.reader is not None:
                        step.data.append(self.reader.copy_data())
                    if blocks < len(step.data):
                        c.send(b"d", step.data[blocks].encode("utf-8", "surrogateescape"))
                        c.send(b"c", b"")
                    else:
                        c.send(b"f", b"no data in the script\0")
                    blocks += 1
                if kind == b"Z":
                    break
        except socket.timeout:
            c.sock.close()
            self.session = None
            return [{"error": "slow", "message": "no answer within the limit"}]
        except (pgwire.ServerGone, OSError) as e:
            c.sock.close()
            self.session = None
            return [{"error": "lost", "message": f"connection lost: {e}"}]
        return results_of(messages)

    def play(self, step: Step) -> list[dict]:
        """Carries a step out; the results of what was sent."""
        if step.kind == "command":
            words = words_of(step.pieces, self.variables)
            if step.end == "set" and words:
                self.variables[words[0]] = "".join(words[1:])
            elif step.end == "unset" and words:
                self.variables.pop(words[0], None)
            elif step.end == "getenv" and len(words) > 1 and words[1] in os.environ:
                self.variables[words[0]] = os.environ[words[1]]
            elif step.end in ("c", "connect"):
                self.reconnect(words)
            elif step.end == "copy" and re.search(r"\bfrom\s+(stdin|pstdin)\b", substitute(step.pieces, self.variables), re.I):
                return self.send(substitute(step.pieces, self.variables), step)
            return []
        sql = substitute(step.pieces, self.variables).strip()
        if step.end == "gdesc":
            return self.send(sql, step, describe=True)
        results = self.send(sql, step)
        rows = results[-1].get("rows", []) if results else []
        if step.end == "gset" and len(rows) == 1:
            prefix = "".join(words_of(step.argument, self.variables))
            for (name, *_), value in zip(results[-1]["columns"], rows[0]):
                if value is None:
                    self.variables.pop(prefix + name, None)
                else:
                    self.variables[prefix + name] = value
        if step.end == "gexec":
            for row in rows:
                for value in row:
                    if value is not None:
                        results += self.send(value, step)
        return results


def truth(words: list[str]) -> bool:
    return bool(words) and words[0].lower() in ("true", "on", "1", "yes", "t", "y")


def read(text: str, player: Player) -> tuple[list[Step], list[list[dict]]]:
    """Reads a script while playing it: the steps that were carried out, and their results."""
    lexer = Lexer(text)
    player.reader = lexer
    steps, results = [], []
    branches: list[list[bool]] = []  # per \if: whether this branch is taken, whether one was
    kept: list = []
    while True:
        lexer.pending = None
        step = lexer.next()
        if step is None:
            return steps, results
        if step.kind == "sql" and kept:
            step.pieces, kept = kept + step.pieces, []
        active = all(b[0] for b in branches)
        if step.kind == "command" and step.end in ("if", "elif", "else", "endif"):
            # Inside a statement: what the branch adds to the query buffer counts only if it is taken.
            if lexer.pending and active:
                kept += lexer.pending
            if step.end == "if":
                taken = active and truth(words_of(step.pieces, player.variables))
                branches.append([taken, taken or not active])
            elif step.end == "endif" and branches:
                branches.pop()
            elif branches:
                yes = not branches[-1][1] and (step.end == "else" or truth(words_of(step.pieces, player.variables)))
                branches[-1] = [yes, branches[-1][1] or yes]
            continue
        if lexer.pending:
            kept += lexer.pending
        if not active:
            continue
        if step.kind == "command" and step.end in ("q", "quit"):
            return steps, results
        steps.append(step)
        results.append(player.play(step))
        sql = substitute(step.pieces, player.variables).lower() if step.kind == "sql" else ""
        if m := re.match(r"\s*set\s+standard_conforming_strings\s*(?:=|to)\s*'?(\w+)", sql):
            lexer.standard = m[1] in ("on", "true", "default")
        elif re.match(r"\s*reset\s+(standard_conforming_strings|all)\b", sql):
            lexer.standard = True
