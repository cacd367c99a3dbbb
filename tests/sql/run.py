#!/usr/bin/env python3
"""Runs the files of this folder against a server and compares what it says with what PostgreSQL said.

    run.py --check [--target pgsqlite|postgres] [--modes simple,extended] [FILE…]
    run.py --record [FILE…]            writes the expectations; only against a real PostgreSQL (PGHOST, PGPORT, PGUSER)

A real PostgreSQL runs the files of its release only: those with `@postgres 15`, or those without (18).
    run.py --shrink                    as --check, then takes what passes now out of expected_failures.txt

README.md beside this file defines the format. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import difflib
import itertools
import os
import pathlib
import re
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import oracle as reference  # noqa: E402
import pgwire  # noqa: E402
import server  # noqa: E402

KNOWN = HERE / "expected_failures.txt"
TYPES = {int(o): n for o, n in (line.split() for line in (HERE / "pg_types.txt").read_text().splitlines())}
OIDS = {n: o for o, n in TYPES.items()}
SETTINGS = {"client_encoding": "UTF8", "TimeZone": "UTC"}


class Case:
    """One statement with its directives and expectation (None: not recorded yet)."""

    def __init__(self, number: int, line: int):
        self.number, self.line = number, line
        self.before: list[str] = []  # comments, blank lines and directives, verbatim
        self.sql: list[str] = []
        self.copy: list[str] = []
        self.expected: list[str] | None = None
        self.directives: dict[str, str] = {}


def parse(path: pathlib.Path) -> tuple[list[Case], list[str]]:
    """The cases of a file and the comment lines after the last one."""
    cases: list[Case] = []
    lines = path.read_text().splitlines()
    at = 0
    while True:
        case = Case(len(cases) + 1, at + 1)
        while at < len(lines) and (not lines[at].strip() or lines[at][0] in "#@"):
            line = lines[at]
            case.before.append(line)
            if line.startswith("@"):
                key, _, value = line[1:].partition(" ")
                if key not in ("conn", "params", "bparams", "binary", "sort", "simple", "postgres"):
                    raise SystemExit(f"{path.name}:{at + 1}: unknown directive @{key}")
                case.directives[key] = value
            at += 1
        if at == len(lines):
            return cases, case.before
        case.line = at + 1
        if lines[at] == "----":
            raise SystemExit(f"{path.name}:{case.line}: an answer without a statement")
        while True:
            if at == len(lines):
                raise SystemExit(f"{path.name}:{case.line}: the statement has no line that ends with a semicolon")
            case.sql.append(lines[at])
            at += 1
            if case.sql[-1].rstrip().endswith(";"):
                break
        while at < len(lines) and lines[at].startswith("< "):
            case.copy.append(lines[at][2:])
            at += 1
        if at < len(lines) and lines[at] == "----":
            at += 1
            case.expected = []
            while at < len(lines) and lines[at]:
                case.expected.append(lines[at])
                at += 1
        cases.append(case)


def release(path: pathlib.Path) -> int:
    """The release of PostgreSQL that a file is recorded from."""
    found = re.search(r"^@postgres (\d+)$", path.read_text(), re.M)
    return int(found[1]) if found else reference.RELEASES[-1]


def escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def type_name(oid: int, typmod: int) -> str:
    """The type as `CREATE TABLE` would say it; every type that the user or an extension made is `user`."""
    if oid >= 15000:
        return "user"
    name = TYPES.get(oid, f"oid {oid}")
    base = name.lstrip("_")
    if typmod < 0:
        return name
    if base == "numeric":
        return f"{name}({(typmod - 4) >> 16},{((typmod - 4) & 0x7FF ^ 1024) - 1024})"
    if base in ("varchar", "bpchar"):
        return f"{name}({typmod - 4})"
    return f"{name}({typmod})"


def value(raw: bytes | None, binary: bool) -> str:
    if raw is None:
        return "\\N"
    if binary:
        return "x" + raw.hex()
    return escape(raw.decode("utf-8", "backslashreplace")).replace("|", "\\|")


def render(messages: list[tuple[bytes, bytes]], sort: bool) -> list[str]:
    """The server's answer as the lines of an expectation."""
    out: list[str] = []
    rows: list[str] = []
    formats: list[int] = []

    def flush() -> None:
        out.extend(sorted(rows) if sort else rows)
        rows.clear()

    state = "I"
    for kind, body in messages:
        if kind == b"D":
            values = pgwire.data_row(body)
            flags = formats or [0] * len(values)
            rows.append("|" + "|".join(value(v, bool(f)) for v, f in zip(values, flags)) + "|")
            continue
        flush()
        if kind == b"T":
            columns = pgwire.row_description(body)
            formats = [c[3] for c in columns]
            out.append("columns: " + ", ".join(f"{escape(c[0])} {type_name(c[1], c[2])}" for c in columns))
        elif kind == b"t":
            count = int.from_bytes(body[:2], "big")
            oids = [int.from_bytes(body[2 + 4 * i : 6 + 4 * i], "big") for i in range(count)]
            out.append("parameters: " + ", ".join(type_name(o, -1) for o in oids))
        elif kind == b"C":
            out.append("tag: " + body[:-1].decode())
        elif kind == b"I":
            out.append("empty")
        elif kind in (b"E", b"N"):
            f = pgwire.fields_of(body)
            word = f.get("V", f.get("S", "?")).lower()
            out.append(f"{word}: {f.get('C')} {escape(f.get('M', ''))}")
            for key, label in zip("DHPpstcdn", LABELS):
                if key in f:
                    out.append(f"  {label}: {escape(f[key])}")
        elif kind == b"S":
            key, val = body[:-1].split(b"\0")
            out.append(f"parameter: {key.decode()} = {val.decode()}")
        elif kind == b"A":
            channel, payload = body[4:-1].split(b"\0")
            out.append(f"notification: {channel.decode()} {escape(payload.decode())}")
        elif kind == b"H":
            out.append("copy out")
        elif kind == b"G":
            out.append("copy in")
        elif kind == b"d":
            out.extend("> " + escape(part) for part in body.decode().removesuffix("\n").split("\n"))
        elif kind == b"Z":
            state = body.decode()
    flush()
    if state != "I":
        out.append(f"state: {state}")
    return out


LABELS = ("detail", "hint", "position", "internal position", "schema", "table", "column", "data type", "constraint")


class Session:
    """The named connections of one run of a file."""

    def __init__(self, connect):
        self.connect = connect
        self.open: dict[str, pgwire.Connection] = {}
        self.current = "main"

    def run(self, case: Case, mode: str) -> list[str]:
        d = case.directives
        if "conn" in d:
            self.current = d["conn"]
        try:
            if self.current not in self.open:
                self.open[self.current] = self.connect()
            c = self.open[self.current]
            sql = "\n".join(case.sql)
            binary = "binary" in d
            # An extended query is one statement: what comes last is the only semicolon at a line's end.
            several = ";" in sql.rstrip().removesuffix(";")
            if "params" in d or "bparams" in d:
                texts = d.get("params", d.get("bparams", ""))
                parts = [p for p in texts.split("|")] if texts else []
                if "bparams" in d:
                    typed = [p.split(":") for p in parts]
                    params = [None if v == "\\N" else bytes.fromhex(v) for _, v in typed]
                    messages = c.extended(sql, params, [OIDS[t] for t, _ in typed], 1, int(binary), True)
                else:
                    params = [None if p == "\\N" else p.encode() for p in parts]
                    messages = c.extended(sql, params, [], 0, int(binary), True)
                # The statement's description repeats the portal's: it counts once.
                first = next((i for i, m in enumerate(messages) if m[0] in (b"T", b"n")), None)
                if first is not None and any(m[0] == b"T" for m in messages[first + 1 :]):
                    messages.pop(first)
            elif binary or (mode == "extended" and not several and "simple" not in d and not re.match(r"\s*copy\b", sql, re.I)):
                messages = c.extended(sql, result_format=int(binary))
            else:
                messages = c.simple(sql, "".join(line + "\n" for line in case.copy).encode())
            return render(messages, "sort" in d)
        except (pgwire.ServerGone, pgwire.StartupError, OSError) as e:
            gone = self.open.pop(self.current, None)
            if gone:
                gone.sock.close()
            return [f"connection lost: {type(e).__name__} {e}"]

    def close(self) -> None:
        for c in self.open.values():
            c.close()


class Target:
    """Fresh databases on a server: `postgres` (the one that the environment names) or `pgsqlite` (a process per file)."""

    counter = itertools.count()
    lock = threading.Lock()

    def __init__(self, name: str):
        self.name = name

    def with_database(self, work):
        if self.name == "pgsqlite":
            try:
                with server.Server("--server-files", "/") as s:
                    return work(lambda: pgwire.Connection(s.dir, s.port, "postgres", "main", **SETTINGS))
            except RuntimeError as e:
                reason = str(e)

                def refuse():
                    raise pgwire.ServerGone(reason)

                return work(refuse)
        database = f"slt_{os.getpid()}_{next(self.counter)}"
        with self.lock:
            admin = pgwire.from_environment("postgres")
            admin.query(f"CREATE DATABASE {database} TEMPLATE template0")
        try:
            return work(lambda: pgwire.from_environment(database, **SETTINGS))
        finally:
            with self.lock:
                admin.query(f"DROP DATABASE {database} WITH (FORCE)")
                admin.close()


def run_file(target: Target, cases: list[Case], mode: str) -> list[list[str]]:
    def work(connect):
        session = Session(connect)
        try:
            return [session.run(case, mode) for case in cases]
        finally:
            session.close()

    return target.with_database(work)


def record(target: Target, path: pathlib.Path) -> None:
    cases, rest = parse(path)
    answers = run_file(target, cases, "simple")
    extended = run_file(target, cases, "extended")
    out: list[str] = []
    for case, got, other in zip(cases, answers, extended):
        if any(line.startswith("connection lost") for line in got):
            raise SystemExit(f"{path.name}:{case.line}: {got}")
        if got != other:
            # What differs by protocol (say, a description that precedes the error) is recorded as the simple one gives it.
            print(f"{path.name}:{case.line}: differs by protocol, marked @simple: {got} / {other}")
            case.before.append("@simple")
        before = case.before
        while before and not before[0].strip():
            before = before[1:]
        out += before + case.sql + ["< " + c for c in case.copy] + ["----", *got, ""]
    path.write_text("\n".join(out + [r for r in rest if r.strip()]).rstrip("\n") + "\n")


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--check", action="store_true")
    args.add_argument("--record", action="store_true")
    args.add_argument("--shrink", action="store_true")
    args.add_argument("--target", choices=["pgsqlite", "postgres"], default="pgsqlite")
    args.add_argument("--modes", default="simple,extended")
    args.add_argument("--jobs", type=int, default=3)
    args.add_argument("--quiet", action="store_true", help="no differences, only the summary")
    args.add_argument("--failures", metavar="FILE", help="write file:number of every failed statement to FILE")
    args.add_argument("files", nargs="*", type=pathlib.Path)
    a = args.parse_args()
    everything = not a.files
    paths = sorted(a.files or HERE.glob("*.slt"))
    if not paths:
        raise SystemExit("no test files")
    if a.record or a.target == "postgres":
        there = reference.release()
        others = [p for p in paths if release(p) != there]
        if others and not everything:
            print(f"not of PostgreSQL {there}: {', '.join(p.name for p in others)}")
        paths = [p for p in paths if p not in others]
    pool = concurrent.futures.ThreadPoolExecutor(a.jobs)
    if a.record:
        target = Target("postgres")
        bad = 0
        for path, job in [(p, pool.submit(record, target, p)) for p in paths]:
            try:
                job.result()
            except SystemExit as e:
                print(e)
                bad = 1
        return bad

    target = Target(a.target)
    modes = a.modes.split(",")
    parsed = {p: parse(p)[0] for p in paths}

    def run_modes(path: pathlib.Path) -> dict[str, list]:
        """In turn: what a file makes for the whole server (roles) is there only once."""
        return {m: run_file(target, parsed[path], m) for m in modes}

    jobs = {p: pool.submit(run_modes, p) for p in paths}
    known = set()
    if a.target == "pgsqlite" and KNOWN.exists():
        known = {line.strip() for line in KNOWN.read_text().splitlines() if line.strip() and not line.startswith("#")}
    passed = failed = 0
    failures: list[str] = []
    for path in paths:
        got = jobs[path].result()
        for i, case in enumerate(parsed[path]):
            label = f"{path.name}:{case.number}"
            wrong = {m: got[m][i] for m in modes if got[m][i] != case.expected}
            if not wrong:
                passed += 1
                continue
            failed += 1
            failures.append(label)
            if label in known or a.quiet:
                continue
            for m, answer in wrong.items():
                print(f"FAIL {path.name}:{case.number} (line {case.line}, {m})")
                print("    " + "\n    ".join(case.sql))
                for line in difflib.ndiff(case.expected or ["(not recorded)"], answer):
                    if not line.startswith("?"):
                        print("  " + line)
                if len({tuple(w) for w in wrong.values()}) == 1:
                    break
    if a.failures:
        pathlib.Path(a.failures).write_text("".join(f + "\n" for f in failures))
    listed = known & set(failures)
    if everything:
        gone = sorted(known - set(failures))
        if gone and a.shrink:
            KNOWN.write_text("".join(line + "\n" for line in KNOWN.read_text().splitlines() if line.strip() not in gone))
        elif gone:
            for label in gone:
                print(f"{label} passes (or is gone): remove it from {KNOWN.name} (run.py --shrink does)")
            failed += len(gone)
    if listed:
        print(f"KNOWN FAILURES: {len(listed)} statements of {KNOWN.name} still fail")
        failed -= len(listed)
    print(f"tests/sql: {len(paths)} files, {'+'.join(modes)}, {a.target}")
    tail = f", {len(listed)} skipped" if listed else ""
    print(f"{passed} passed, {failed} failed{tail}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
