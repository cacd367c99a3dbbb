"""Placeholders: `?`, `:1` and `:name` → the `?` of the wire, and the order of the values.

Values are never spliced into the text. Only placeholders outside of strings, quoted names and comments count, and a
statement that is executed without parameters is sent exactly as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from .errors import ProgrammingError

Parameters = Sequence[object] | Mapping[str, object] | None

_QUESTION, _NUMERIC, _NAMED = "?", ":1", ":name"


class Placeholders:
    """A parsed statement: `sql` with only `?`, and the key of each one in order (position or name)."""

    __slots__ = ("keys", "sql", "style")

    def __init__(self, sql: str, style: str, keys: tuple[int | str, ...]) -> None:
        self.sql = sql
        self.style = style
        self.keys = keys

    def values(self, parameters: Sequence[object] | Mapping[str, object]) -> Sequence[object]:
        """The values in the order of the placeholders; ProgrammingError when they do not fit."""
        keys = self.keys
        if self.style == _NAMED:
            if not isinstance(parameters, Mapping):
                raise ProgrammingError("the statement has named placeholders: pass a mapping")
            try:
                return [parameters[key] for key in keys]  # type: ignore[index]
            except KeyError as error:
                raise ProgrammingError(f"no value is given for the placeholder :{error.args[0]}") from None
        if isinstance(parameters, (str, bytes, Mapping)) or not isinstance(parameters, Sequence):
            if isinstance(parameters, Mapping) and not keys:
                return ()
            raise ProgrammingError("parameters must be a sequence (list, tuple), or a mapping for named placeholders")
        given = len(parameters)
        if self.style == _NUMERIC:
            highest = max(keys)
            if given != highest:
                raise ProgrammingError(
                    f"the statement's placeholders go up to :{highest}, but {given} values are given"
                )
            return [parameters[key - 1] for key in keys]  # type: ignore[operator]
        if given != len(keys):
            raise ProgrammingError(f"the statement has {len(keys)} placeholders, but {given} values are given")
        return parameters


@lru_cache(maxsize=1024)
def parse(sql: str) -> Placeholders:
    """Find the placeholders of a statement. Mixing `?` with `:1` or `:name` is an error."""
    out: list[str] = []
    keys: list[int | str] = []
    style = ""
    copied = 0
    pos, end = 0, len(sql)
    while pos < end:
        c = sql[pos]
        if c in "'\"":
            pos = _after_quoted(sql, pos, c)
        elif c == "-" and sql.startswith("--", pos):
            newline = sql.find("\n", pos)
            pos = end if newline < 0 else newline + 1
        elif c == "/" and sql.startswith("/*", pos):
            pos = _after(sql, pos + 2, "*/")
        elif c == "{":
            # A comment, unless it is the body of a collection literal, which is always inside quotes or after a name.
            pos = pos + 1 if _is_collection(sql, pos) else _after(sql, pos + 1, "}")
        elif c == "?":
            style = _same(style, _QUESTION)
            keys.append(len(keys) + 1)
            pos += 1
        elif c == ":":
            if sql.startswith("::", pos):
                pos += 2
                continue
            name = _name_after(sql, pos + 1)
            if not name or (pos and (sql[pos - 1].isalnum() or sql[pos - 1] in "_$\"'")):
                pos += 1  # database:table
                continue
            if name.isdigit():
                style = _same(style, _NUMERIC)
                if int(name) == 0:
                    raise ProgrammingError("placeholders are counted from :1")
                keys.append(int(name))
            elif name[0].isdigit():
                pos += 1
                continue
            else:
                style = _same(style, _NAMED)
                keys.append(name)
            out += sql[copied:pos], "?"
            pos += 1 + len(name)
            copied = pos
        else:
            pos += 1
    out.append(sql[copied:])
    return Placeholders("".join(out), style or _QUESTION, tuple(keys))


def _same(style: str, new: str) -> str:
    if style and style != new:
        raise ProgrammingError(f"the statement mixes the placeholder styles {style} and {new}")
    return new


def _after(sql: str, pos: int, mark: str) -> int:
    found = sql.find(mark, pos)
    return len(sql) if found < 0 else found + len(mark)


def _after_quoted(sql: str, pos: int, quote: str) -> int:
    """Position after a quoted string; a doubled quote stands for itself, so it just begins the next piece."""
    found = sql.find(quote, pos + 1)
    return len(sql) if found < 0 else found + 1


def _is_collection(sql: str, pos: int) -> bool:
    before = sql[:pos].rstrip()[-8:].upper()
    return before.endswith(("SET", "LIST"))


def _name_after(sql: str, pos: int) -> str:
    stop = pos
    while stop < len(sql) and (sql[stop].isalnum() or sql[stop] == "_"):
        stop += 1
    return sql[pos:stop]


def check_statement(operation: object) -> None:
    """ProgrammingError for what is no text."""
    if not isinstance(operation, str):
        raise ProgrammingError(f"a statement must be a str, not {type(operation).__name__}")


def check_identifier(name: str, what: str) -> str:
    """A name that becomes statement text: letters, digits, `_`, `$`, perhaps with owner and database."""
    parts = name.replace(":", ".").replace("@", ".").split(".")
    if not all(
        p and (p[0].isalpha() or p[0] == "_") and p.replace("_", "a").replace("$", "a").isalnum() for p in parts
    ):
        raise ProgrammingError(f"{name!r} is not the name of a {what}")
    return name
