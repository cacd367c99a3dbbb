#!/usr/bin/env python3
"""Writes the tables of docs/compat/ and the table of features in docs/compatibility.md.

    python3 tools/compat.py            # writes them
    python3 tools/compat.py --check    # fails if one is out of date, or if a refusal has no statement that shows it

They are read from the data that the server and its tests use themselves, so that they cannot claim what is not there: PostgreSQL's function list
(pg_proc.tsv), the rows of the built-ins (functions by C symbol or signature), the settings, the lists of expected failures, and the claims of tests/compat.
"""

from __future__ import annotations

import collections
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "compat"), str(ROOT / "tests" / "scoreboard")]
import claims  # noqa: E402
import reasons  # noqa: E402

DOCS = ROOT / "docs"
SQL = ROOT / "pgsqlite" / "crates" / "sql"
TESTS = ROOT / "tests"
BEGIN, END = "<!-- features: written by tools/compat.py -->\n", "<!-- end of features -->\n"


def table(path: pathlib.Path) -> list[dict[str, str]]:
    """The rows of a file of tab-separated values with a heading."""
    lines = path.read_text().splitlines()
    names = lines[0].split("\t")
    return [dict(zip(names, line.split("\t"))) for line in lines[1:]]


def page(title: str, about: str, body: list[str]) -> str:
    """A generated page."""
    return "\n".join([f"# {title}", "", "<!-- Written by tools/compat.py (make compat). -->", "", about, "", *body]) + "\n"


def rows(heads: list[str], lines: list[list[str]]) -> list[str]:
    """A table of Markdown."""
    out = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
    return out + ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def statements() -> str:
    """How many recorded statements each test file has."""
    known = collections.Counter(
        line.split(":")[0] for line in (TESTS / "sql" / "expected_failures.txt").read_text().splitlines() if line and line[0] != "#"
    )
    lines, total = [], [0, 0]
    for path in sorted((TESTS / "sql").glob("*.slt")):
        text = path.read_text().splitlines()
        title = next((line[2:] for line in text if line.startswith("# ")), path.stem)
        count, bad = sum(line == "----" for line in text), known[path.name]
        total = [total[0] + count - bad, total[1] + bad]
        lines.append([f"{title} (`{path.stem}`)", str(count - bad), str(bad or "")])
    lines.append(["**all**", f"**{total[0]}**", f"**{total[1]}**"])
    about = (
        "Recorded from PostgreSQL 18, and from 15 where the two differ and pgsqlite answers as 15 (`tests/sql`). A statement counts as the same when its columns, types, rows, tag and every field of its error\n"
        "are the same on pgsqlite."
    )
    return page("Recorded statements, by file", about, rows(["file", "same", "differ or refused"], lines))


def regression() -> str:
    """PostgreSQL's own regression tests, by file."""
    status = json.loads((TESTS / "scoreboard" / "status.json").read_text())
    heads = ("matched", "refused", "failed", "wrong", "crashed")
    sums = {h: sum(c[h] for c in status.values()) for h in heads}
    lines = [
        [name, *(str(c[h] or "") for h in heads), f"{100 * c['matched'] / max(1, sum(c[h] for h in heads)):.1f}"]
        for name, c in [*sorted(status.items()), ("**all**", sums)]
    ]
    about = (
        "Each statement of PostgreSQL 15's regression tests on both servers (`make scoreboard`; `tests/scoreboard` says what counts as what). *Refused*:\n"
        "SQLSTATE 0A000. *Failed*: another error than PostgreSQL's, mostly because a refused statement did not make its table. *Wrong*: another answer;\n"
        "[the reasons](reasons.md) explain each. pgsqlite crashed on none of them if the column is empty."
    )
    return page("PostgreSQL's regression tests, by file", about, rows(["file", *heads, "matched, %"], lines))


def wrong_answers() -> str:
    """Why answers of the regression tests differ."""
    found, still_open = reasons.load()
    lines = []
    for reason in sorted(found, key=lambda r: -sum(map(len, r.statements.values()))):
        places = ", ".join(f"{file} ({len(starts)})" if len(starts) > 1 else file for file, starts in sorted(reason.statements.items()))
        lines.append([f"{reason.why}{' (Not in every run.)' if reason.varies else ''}", places])
    body = rows(["reason", "statements"], lines)
    if still_open:
        body += ["", f"Not gone through in full yet: {', '.join(sorted(still_open))}."]
    about = (
        "The statements of PostgreSQL's regression tests that are wrong by themselves, not because an earlier one was refused\n"
        "(`tests/scoreboard/reasons.toml`). A test runs a statement for each reason that says that something is refused."
    )
    return page("Why answers of the regression tests differ", about, body)


def functions() -> str:
    """The built-in functions that are there, and those that are not."""
    known = set()
    for file in (SQL / "src" / "builtins").glob("*.rs"):
        for literal in re.findall(r'\brow\(\s*"((?:[^"\\]|\\.|\\\n)*)"', file.read_text()):
            # A Rust string continues over a line's end that is escaped.
            known.update(re.sub(r"\\\n\s*", "", literal).split())
    types = {t["oid"]: t["typname"] for t in table(ROOT / "pgsqlite" / "crates" / "types" / "data" / "pg_type.tsv")}
    # What the storage layer, indexes and the type system call; no client writes these.
    internal = {"internal", "cstring", "trigger", "event_trigger", "index_am_handler", "table_am_handler", "fdw_handler", "tsm_handler", "language_handler"}
    by_name: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
    for proc in table(SQL / "data" / "pg_proc.tsv"):
        args = [types.get(o, "?") for o in proc["proargtypes"].split()]
        if internal & {*args, types.get(proc["prorettype"], "?")}:
            continue
        signature = f"{proc['proname']}({','.join(args)})"
        by_name[proc["proname"]][0 if {proc["prosrc"], signature} & known else 1] += 1
    full = sorted(n for n, (a, b) in by_name.items() if a and not b)
    part = sorted(n for n, (a, b) in by_name.items() if a and b)
    none = sorted(n for n, (a, b) in by_name.items() if not a)
    body = [f"## With all signatures ({len(full)} names)", "", ", ".join(f"`{n}`" for n in full), ""]
    body += [f"## With some signatures ({len(part)} names)", ""]
    body += [", ".join(f"`{n}` ({by_name[n][0]} of {sum(by_name[n])})" for n in part), ""]
    body += [f"## Refused ({len(none)} names)", "", ", ".join(f"`{n}`" for n in none)]
    return page("Built-in functions", "The functions of PostgreSQL 15 that a client can call, by name.", body)


def clients() -> str:
    """Drivers, ORMs and tools that the tests run."""
    expected = {line for line in (TESTS / "clients" / "expected_failures.txt").read_text().splitlines() if line and line[0] != "#"}
    names = re.findall(r'^    "([^"]+)": \("', (TESTS / "clients" / "run.py").read_text(), re.M)
    about = "`make test-clients` runs the ordinary life of each on pgsqlite: definitions, data of many types, transactions, errors, COPY where it has it."
    return page("Drivers, ORMs and tools", about, rows(["client", "state"], [[n, "not yet in full" if n in expected else "works"] for n in names]))


def settings() -> str:
    """What each setting does."""
    effects = {"works": "Settings that work", "neutral": "Settings that are kept and shown, and change no answer"}
    body = []
    found = table(ROOT / "pgsqlite" / "crates" / "natives" / "src" / "settings" / "accepted_settings.tsv")
    for effect in dict.fromkeys(row["effect"] for row in found):
        here = [row for row in found if row["effect"] == effect]
        body += [f"## {effects.get(effect, effect)}", ""]
        if effect == "works":
            body += [", ".join(f"`{row['name']}`" for row in here), ""]
        else:
            body += [*rows(["setting", "why"], [[f"`{row['name']}`", row["where, or why"]] for row in here]), ""]
    about = (
        "What SET, ALTER ROLE … SET and the options of a connection can change. Every other setting of PostgreSQL 15 keeps its default; another\n"
        "value is refused (0A000). The server's own configuration is [another page](../configuration.md)."
    )
    return page("Settings", about, body[:-1])


def refusals() -> str:
    """Statements that the tests expect to be refused."""
    seen, lines = set(), []
    for probe in (*claims.of_features(), *claims.of_sentences(), *claims.of_reasons()):
        statement = " ".join(probe.statement.rstrip(";").split())
        if probe.code and statement not in seen:
            seen.add(statement)
            lines.append([f"`{statement}`", probe.code])
    lines.sort(key=lambda line: line[0].lower())
    about = (
        "Each of these statements is run by a test (`tests/compat`), which fails when pgsqlite no longer refuses it. They are examples: what pgsqlite\n"
        "does not implement is refused whether it is listed or not."
    )
    return page("Statements that are refused", about, rows(["statement", "SQLSTATE"], lines))


def anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub and mdBook make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def features() -> str:
    """The table of features, theme by theme."""
    headings = {f"#{anchor(h)}": h for h in re.findall(r"^#+ (.*)", claims.DIFFERENCES.read_text(), re.M)}
    body = []
    for theme in claims.features():
        body += [f"### {theme['name']}", ""]
        lines = []
        for f in theme["feature"]:
            links = []
            for see in f.get("see", []):
                if see.startswith("#"):
                    links.append(f"[{headings[see].lower()}](compat/differences.md{see})")
                elif not (TESTS / "sql" / f"{see}.slt").exists():
                    raise SystemExit(f"features.toml: there is no tests/sql/{see}.slt")
                else:
                    links.append(f"[{see}](../tests/sql/{see}.slt)")
            if f.get("refused"):
                links.append("[refused](compat/refused.md)")
            lines.append([f["name"], f["answer"] if f["answer"] == "yes" else f"**{f['answer']}**", f.get("note", ""), ", ".join(links)])
        body += [*rows(["feature", "answer", "remark", "details"], lines), ""]
    return "\n".join(body)


def main() -> int:
    overview = DOCS / "compatibility.md"
    text = overview.read_text()
    head, rest = text.split(BEGIN)
    files = {
        overview: head + BEGIN + "\n" + features() + END + rest.split(END)[1],
        DOCS / "compat" / "statements.md": statements(),
        DOCS / "compat" / "regression.md": regression(),
        DOCS / "compat" / "reasons.md": wrong_answers(),
        DOCS / "compat" / "functions.md": functions(),
        DOCS / "compat" / "clients.md": clients(),
        DOCS / "compat" / "settings.md": settings(),
        DOCS / "compat" / "refused.md": refusals(),
    }
    if sys.argv[1:] != ["--check"]:
        for path, content in files.items():
            path.write_text(content)
        return 0
    stale = [path for path, content in files.items() if not path.exists() or path.read_text() != content]
    for path in stale:
        print(f"{path.relative_to(ROOT)} is out of date: run make compat")
    lacking = claims.without_probe()
    print("\n".join(lacking), end="\n" if lacking else "")
    return 1 if stale or lacking else 0


if __name__ == "__main__":
    sys.exit(main())
