"""The statements of PostgreSQL's grammar, made from the synopses that psql's `\\h` prints: each command in its shortest form, and again with each
option and each alternative in turn. What stands for a name or an expression is filled in by the caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

#: `[`, `{` and so on of the notation, words of the statement, and its own punctuation
TOKEN = re.compile(r"\.\.\.|sub-SELECT|'[^']*'|\$[0-9]|[A-Za-z_][A-Za-z_0-9]*|[0-9]+|.")

#: How deep definitions are followed: below, the caller fills in.
DEEPEST = 2

#: A part of a synopsis: a word, a sequence, or alternatives (one of them may be nothing).
Part = object


class Word(str):
    """A word as it stands, or the name of something to be filled in (lower case)."""


class Sequence(list):
    pass


class Choice(list):
    pass


def tokens(text: str) -> list[str]:
    return [t for t in TOKEN.findall(text) if not t.isspace()]


def parse(words: list[str]) -> Sequence:
    """The parts of a text of the notation. `...` (again, and again) adds nothing."""
    at = 0

    def alternatives(end: str | None) -> Choice:
        nonlocal at
        choice, sequence = Choice(), Sequence()
        while at < len(words):
            word = words[at]
            at += 1
            if word == end:
                break
            if word == "|":
                choice.append(sequence)
                sequence = Sequence()
            elif word in "[{(":
                inner = alternatives({"[": "]", "{": "}", "(": ")"}[word])
                if word == "[":
                    inner.insert(0, Sequence())
                # (parentheses are the statement's own; what they hold may be alternatives)
                sequence += [Word("("), inner, Word(")")] if word == "(" else [inner]
            elif word != "...":
                sequence.append(Word(word))
        choice.append(sequence)
        return choice

    whole = alternatives(None)
    return whole[0] if len(whole) == 1 else Sequence([whole])


def only_repeats(part: Part) -> bool:
    """`[, ...]` and its like: the same once more."""
    return isinstance(part, Choice) and len(part) == 2 and not part[0] and all(w in (",", "AND", "OR") for w in part[1])


def variants(part: Part, fill: Callable[[str], list[str]], productions: dict[str, Choice], depth: int = 0) -> list[str]:
    """The texts of a part: the first choice everywhere, then each other choice in turn."""
    if isinstance(part, Word):
        if part in productions and depth < DEEPEST:
            return variants(productions[part], fill, productions, depth + 1)
        return fill(part) if part[0].islower() or part[0] == "_" else [str(part)]
    if isinstance(part, Choice):
        found: list[str] = []
        for choice in part:
            found += [text for text in variants(choice, fill, productions, depth) if text not in found]
        return found
    ways = [variants(p, fill, productions, depth) for p in part if not only_repeats(p)]
    base = [way[0] for way in ways]
    texts = [base]
    for at, way in enumerate(ways):
        texts += [[*base[:at], other, *base[at + 1 :]] for other in way[1:]]
    return [" ".join(word for word in text if word) for text in texts]


def alternatives(definition: str) -> Choice:
    """What a word stands for. "One of" introduces one alternative a line; a line that is indented more, or begins with `|`, belongs to the one
    before. Other definitions are one text."""
    first, *lines = definition.splitlines()
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    found: list[str] = []
    for line in lines:
        goes_on = len(line) - len(line.lstrip()) > margin or line.lstrip().startswith("|") or found and found[-1].rstrip().endswith("|")
        if found and (goes_on or "one of" not in first):
            found[-1] += " " + line
        else:
            found.append(line)
    choice = Choice()
    for text in found:
        parsed = parse(tokens(text))
        choice += parsed[0] if len(parsed) == 1 and isinstance(parsed[0], Choice) else [parsed]
    return choice


def commands(help_text: str) -> Iterator[tuple[str, list[Sequence], dict[str, Choice]]]:
    """Of each command: its name, its forms, and what its words in lower case stand for, where the synopsis says it."""
    for block in re.split(r"^Command:\s+", help_text, flags=re.MULTILINE)[1:]:
        name = block.splitlines()[0].strip()
        synopsis = block.split("Syntax:\n", 1)[1].split("\nURL:")[0]
        # at the margin a form begins with its command, a definition ends with a colon, and what else is there goes on
        forms: list[str] = []
        definitions: list[str] = []
        part = forms
        for line in filter(str.strip, synopsis.splitlines()):
            definition = re.fullmatch(r"(?:where |and )?([a-z_]+ [^\n]*:)", line)
            if definition:
                part = definitions
                part.append(definition[1])
            elif not part or line.startswith((name.split()[0], "RESET")) and not forms[-1] == "[ WITH [ RECURSIVE ] with_query [, ...] ]":
                part = forms
                part.append(line)
            elif not line[0].islower():
                part[-1] += "\n" + line
        words = {definition.split()[0]: alternatives(definition) for definition in definitions if "\n" in definition}
        yield name, [parse(tokens(form)) for form in forms], words
