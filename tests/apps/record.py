#!/usr/bin/env python3
"""Makes tests/sql/applications_NAME.slt of the statements that applications sent (`run.py --capture DIR` writes them down).

    tools/oracle.sh python3 tests/apps/record.py DIR [NAME…]

The statements stay in their order, on one connection, with their parameters as literals. What cannot be replayed so goes: transactions
(several sessions take turns), locks, notifications, databases and roles, numbers of objects. Of statements that differ only in values the
first few stay. The file is then recorded twice: what PostgreSQL answers differently the second time depends on the clock, on chance or
on numbers of objects, and goes, too.
"""

from __future__ import annotations

import json
import pathlib
import re
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ROOT / "tests" / "sql" / "run.py"
sys.path.insert(0, str(RUN.parent))
DEFINES = re.compile(r"(create|alter|drop|comment|grant|revoke|do|truncate|set(?! (local|transaction|session|constraints))|refresh|reindex)\b", re.I)
READS_OR_WRITES = re.compile(r"(select|with|insert|update|delete|merge|values|table|explain(?! analyze)|show)\b", re.I)
# of the cluster, of the moment, or of a transaction
NOT = re.compile(
    r"^((create|drop|alter) (database|role|user|tablespace|system)|lock|copy|set (local|transaction|session|constraints))\b"
    r"|^(create|drop|reindex)\b.*\bconcurrently\b.*;"
    r"|pg_locks|pg_stat_|advisory|txid|pg_backend_pid|backend_xid|\bpg_notify\b|\bpg_sleep\b|pg_terminate|pg_cancel|current_database\(\)\s*$"
    r"|\bversion\(\)|pg_postmaster|pg_settings|pg_timezone|pg_(database|relation|table|total_relation|indexes)_size|server_version",
    re.I,
)
# what looks like the number of an object that the application made
NUMBER = re.compile(r"(?<![\d.:'-])(1[6-9]|[2-9]\d)\d{3}(?![\d.:-])")
CATALOG = re.compile(r"\bpg_[a-z]+\b|information_schema", re.I)
TOKEN = re.compile(
    r"(?P<dollar>\$(?P<tag>\w*)\$(?P<body>.*?)\$(?P=tag)\$)|(?P<escaped>\bE'(?:[^'\\]|\\.|'')*')|(?P<text>'(?:[^']|'')*')|(?P<name>\"(?:[^\"]|\"\")*\")"
    r"|(?P<line>--[^\n]*)|(?P<block>/\*.*?\*/)|\$(?P<parameter>\d+)|(?P<blank>\s+)",
    re.S | re.I,
)
# what is known to differ, and is no matter of the application's
LEFT_OUT = [
    ("FROM pg_catalog.pg_type ", "adbc", "PostgreSQL has types that pgsqlite has not (xml, for one)"),
    ("pg_attribute", "adbc", "the catalogs' own system columns are not in pgsqlite's pg_attribute"),
    ("column_column_usage", "jooq", "pgsqlite's information_schema lacks this view"),
    ("typname AS name, pg_catalog.format_type", "alembic", "the domains of information_schema have no constraints in pgsqlite's catalogs"),
    ("pg_get_indexdef(pgi.indexrelid)", "pgqueuer", "a call of timezone() is printed as AT TIME ZONE"),
]
# folders and the name of the machine that the application ran on
FOLDERS = re.compile(r"/tmp/app\.\w+|" + re.escape(str(ROOT)))
HOST = socket.gethostname()
# the database that the application had, in front of a name
DATABASE = re.compile(r'"?\bapp_[a-z0-9_]+\b"?\.(?=["\w])')
SAME_SHAPE = 2
MOST = 600


def one_line(statement: str, values: dict[int, str]) -> str:
    """A statement on one line: without comments, parameters as literals."""

    def token(m: re.Match[str]) -> str:
        if m["dollar"]:
            return f"${m['tag']}${one_line(m['body'], {})}${m['tag']}$"
        if m["parameter"]:
            return values.get(int(m["parameter"]), m[0])
        if m["line"] or m["block"] or m["blank"]:
            return " "
        return re.sub(r"\s*\n\s*", " ", m[0])

    return re.sub(r" {2,}", " ", TOKEN.sub(token, statement)).strip()


def parameters(detail: str) -> dict[int, str]:
    """The values that PostgreSQL's log says a statement had, as literals."""
    found = re.finditer(r"\$(\d+) = (NULL|'(?:[^']|'')*')", detail)
    return {int(m[1]): m[2].replace("\n", " ") for m in found}


def kept(application: str, statements: list[list[str]]) -> list[str]:
    """The statements that can be replayed."""
    out: list[str] = []
    shapes: dict[str, int] = {}
    for statement, detail in statements:
        one = FOLDERS.sub("/app", one_line(statement, parameters(detail)).rstrip("; ")).replace(HOST, "machine")
        one = DATABASE.sub("", one)
        if not one or len(one) > 100_000:
            continue
        if any(words in one and name == application for words, name, _ in LEFT_OUT):
            continue
        # several statements in one text are a migration, whatever it begins with
        script = ";" in TOKEN.sub(" ", one) and bool(re.search(r"\b(create|alter|drop) ", one, re.I))
        defines = script or bool(DEFINES.match(one))
        if NOT.search(one) and not script and not (defines and not NOT.match(one)) or not (defines or READS_OR_WRITES.match(one)):
            continue
        if not defines and CATALOG.search(one) and NUMBER.search(one):
            continue
        if not defines or one.lower().startswith("set "):
            shape = re.sub(r"'(?:[^']|'')*'|\b\d+\b|\bNULL\b", "?", one)
            shape = re.sub(r"\(\?(, ?\?)*\)(, ?\(\?(, ?\?)*\))*", "(?)", shape)
            shapes[shape] = shapes.get(shape, 0) + 1
            if shapes[shape] > SAME_SHAPE:
                continue
        rows = bool(re.match(r"(select|with|table|values)\b", one, re.I) or re.search(r"\breturning\b", one, re.I))
        out.append(f"@sort\n{one};" if rows else f"{one};")
    return out[:MOST]


def record(path: pathlib.Path) -> None:
    done = subprocess.run([sys.executable, str(RUN), "--record", str(path)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{path.name}: {done.stdout}{done.stderr}")


def answers(path: pathlib.Path) -> list[list[str]]:
    import run

    return [case.expected or [] for case in run.parse(path)[0]]


def main() -> None:
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    for source in sorted(folder.glob("*.json")):
        if names and source.stem not in names:
            continue
        target = ROOT / "tests" / "sql" / f"applications_{source.stem.replace('-', '_')}.slt"
        title = f"# What {source.stem} sends: its definitions, and one or two statements of each other shape."
        cases = kept(source.stem, json.loads(source.read_text()))
        while True:
            recorded = []
            for _ in range(2):
                target.write_text("\n".join([title, *cases]) + "\n")
                record(target)
                recorded.append(answers(target))
            stable = [c for c, a, b in zip(cases, *recorded, strict=True) if a == b]
            if len(stable) == len(cases):
                break
            cases = stable
        errors = sum(any(line.startswith("error:") for line in answer) for answer in recorded[0])
        print(f"{target.name}: {len(cases)} statements, of which {errors} are errors")


if __name__ == "__main__":
    main()
