#!/usr/bin/env python3
"""The scoreboard: the regression tests of PostgreSQL 15, statement by statement, on PostgreSQL 18 and on pgsqlite.

    run.py [--check | --update] [--details DIR] [--jobs N] [--skip FILE] [FILE…]

PGHOST, PGPORT and PGUSER name a real PostgreSQL (ORACLE_VERSION=18 tools/oracle.sh; 15 for the files that 18's package cannot run).
Prints per file and in total how many statements matched, were refused (0A000), failed otherwise, were wrong, crashed.
`--check` fails where a file has become worse than `status.json` says, and for a wrong answer that has no reason in
`reasons.toml`. `--update` writes what became better into `status.json`.
README.md beside this file says what counts as what.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import gzip
import hashlib
import json
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import judge  # noqa: E402
import pgwire  # noqa: E402
import reasons  # noqa: E402
import script  # noqa: E402
import server  # noqa: E402

CORPUS = ROOT / "build" / "regress"
STATUS = HERE / "status.json"
DATABASE = "regression"
# COPY reads the corpus' data and writes to temporary folders.
FILES = ("--server-files", "/")
SETUP = "test_setup"
# What pg_regress sets for the tests; but the zone is the one that PST8PDT is a name of since the time zone database of 2024 (the system's
# files, which pgsqlite reads, may still have it as a zone of its own, without the time before 1883).
SETTINGS = {
    "client_encoding": "UTF8",
    "TimeZone": "America/Los_Angeles",
    "DateStyle": "Postgres, MDY",
    "IntervalStyle": "postgres_verbose",
    "application_name": "scoreboard",
}
# Seconds for one statement: many more than any takes, so that only what hangs is told of.
ORACLE_LIMIT, LIMIT = 60, 60


def scratch() -> str | None:
    """Where databases and the tests' files are: in memory where there is room for them, so that a verdict never waits for a
    disk that others write to (PostgreSQL runs without fsync, too). None: the usual folder."""
    path = "/dev/shm"
    if not os.access(path, os.W_OK):
        return None
    free = os.statvfs(path)
    return path if free.f_bavail * free.f_frsize >= 1 << 30 else None


def names(wanted: list[str]) -> list[str]:
    found = sorted(p.stem for p in (CORPUS / "sql").glob("*.sql"))
    unknown = set(wanted) - set(found)
    if unknown:
        raise SystemExit(f"no such file in the corpus: {', '.join(sorted(unknown))}")
    return [n for n in found if not wanted or n in wanted]


def text_of(name: str) -> str:
    return (CORPUS / "sql" / f"{name}.sql").read_bytes().decode("utf-8", "surrogateescape")


def with_data_inline(text: str) -> str:
    """The set-up script with its COPY of server files turned into COPY FROM STDIN, for servers that read no files."""

    def inline(m: re.Match) -> str:
        data = (CORPUS / "data" / m[1]).read_text()
        return m[0][: m.start(3) - m.start(0)] + "stdin;\n" + data + "\\.\n"

    return re.sub(r"\\set filename :abs_srcdir '/data/([\w.]+)'\s*COPY (\w+) FROM (:'filename');", inline, text)


class Folder:
    """The folder that the tests' files are in: readable for the oracle, which runs as another user."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="scoreboard.", dir=scratch()))
        shutil.copytree(CORPUS / "data", self.path / "data")
        (self.path / "results").mkdir()
        for path in (self.path, self.path / "results"):
            path.chmod(0o777)
        os.environ["PG_ABS_SRCDIR"] = os.environ["PG_ABS_BUILDDIR"] = str(self.path)
        # The tests' own C library is not built: what needs it is left out (see `needs_library`).
        os.environ["PG_LIBDIR"], os.environ["PG_DLSUFFIX"] = "/nonexistent", ".so"

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


class Oracle:
    """The real PostgreSQL: one cluster, in which every file gets a database of the same name in turn."""

    TEMPLATE = "scoreboard_setup"

    def __init__(self):
        self.roles = self.admin("SELECT rolname FROM pg_roles")
        self.ready = False

    @staticmethod
    def connect(user: str, database: str) -> pgwire.Connection:
        return pgwire.Connection(os.environ["PGHOST"], int(os.environ["PGPORT"]), user, database, timeout=ORACLE_LIMIT, **SETTINGS)

    def admin(self, *statements: str) -> list[str]:
        c = pgwire.Connection(os.environ["PGHOST"], int(os.environ["PGPORT"]), os.environ["PGUSER"], "postgres", timeout=ORACLE_LIMIT)
        try:
            return [row[0] for s in statements for row in c.query(s)]
        finally:
            c.close()

    def fresh(self, template: str) -> script.Player:
        self.clean()
        self.admin(f"CREATE DATABASE {DATABASE} TEMPLATE {template}")
        return script.Player(self.connect, {}, os.environ["PGUSER"], DATABASE)

    def clean(self) -> None:
        """Takes away what a file left behind in the cluster."""
        for gid in self.admin("SELECT gid FROM pg_prepared_xacts"):
            c = self.connect(os.environ["PGUSER"], DATABASE)
            c.query(f"ROLLBACK PREPARED '{gid}'")
            c.close()
        keep = {"postgres", "template0", "template1", self.TEMPLATE}
        if DATABASE in self.admin("SELECT datname FROM pg_database"):
            c = self.connect(os.environ["PGUSER"], DATABASE)
            for name in [row[0] for row in c.query("SELECT subname FROM pg_subscription")]:
                c.query(f"ALTER SUBSCRIPTION {name} DISABLE")
                c.query(f"ALTER SUBSCRIPTION {name} SET (slot_name = NONE)")
                c.query(f"DROP SUBSCRIPTION {name}")
            c.close()
        for slot in self.admin("SELECT slot_name FROM pg_replication_slots"):
            self.admin(f"SELECT pg_drop_replication_slot('{slot}')")
        for name in self.admin("SELECT datname FROM pg_database"):
            if name not in keep:
                self.admin(f"ALTER DATABASE \"{name}\" IS_TEMPLATE false")
                self.admin(f"DROP DATABASE \"{name}\" WITH (FORCE)")
        for name in self.admin("SELECT spcname FROM pg_tablespace WHERE spcname !~ '^pg_'"):
            self.admin(f'DROP TABLESPACE "{name}"')
        for name in set(self.admin("SELECT rolname FROM pg_roles")) - set(self.roles):
            quoted = name.replace('"', '""')
            self.admin(f'DROP OWNED BY "{quoted}"', f'DROP ROLE "{quoted}"')
        self.admin("ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()")

    def run(self, name: str) -> tuple[list, list, list]:
        """The steps of a file, and what PostgreSQL answered to them in two runs."""
        if name != SETUP and not self.ready:
            player = self.fresh("template0")
            script.read(with_data_inline(text_of(SETUP)), player)
            player.close()
            self.admin(f"ALTER DATABASE {DATABASE} RENAME TO {self.TEMPLATE}")
            self.ready = True
        text = with_data_inline(text_of(name)) if name == SETUP else text_of(name)
        template = "template0" if name == SETUP else self.TEMPLATE
        player = self.fresh(template)
        try:
            steps, first = script.read(text, player)
        finally:
            player.close()
        player = self.fresh(template)
        try:
            second = [player.play(s) for s in steps]
        finally:
            player.close()
        return steps, first, second


class Answers:
    """PostgreSQL's answers, kept in build/ as long as the corpus and the code that runs it are the same."""

    def __init__(self):
        key = hashlib.sha256()
        for path in [HERE / "script.py", *sorted((CORPUS / "sql").glob("*.sql"))]:
            key.update(path.read_bytes())
        version = subprocess.run(["psql", "-AtXc", "SELECT version()", "postgres"], capture_output=True, text=True, check=True).stdout
        key.update(repr((version, SETTINGS)).encode())
        self.folder = CORPUS / "answers" / key.hexdigest()[:16]
        self.folder.mkdir(parents=True, exist_ok=True)
        self.lock = threading.Lock()
        self.oracle: Oracle | None = None

    def of(self, name: str) -> tuple[list, list, list]:
        path = self.folder / f"{name}.pickle.gz"
        with self.lock:  # the cluster is one: its roles are everybody's
            if not path.exists():
                self.oracle = self.oracle or Oracle()
                answer = self.oracle.run(name)
                part = path.with_suffix(".part")
                with gzip.open(part, "wb", compresslevel=1) as f:
                    pickle.dump(answer, f)
                part.rename(path)
        with gzip.open(path, "rb") as f:
            return pickle.load(f)


class Subject:
    """pgsqlite: a process and a copy of the prepared database file for each test file."""

    def __init__(self, folder: Folder):
        self.prepared = folder.path / "setup"
        self.prepared.mkdir()

    @staticmethod
    def player(s: server.Server) -> script.Player:
        def connect(user: str, database: str) -> pgwire.Connection:
            return pgwire.Connection(s.dir, s.port, user, database, timeout=LIMIT, **SETTINGS)

        return script.Player(connect, {}, "postgres", DATABASE)

    def prepare(self, steps: list) -> list:
        with server.Server(*FILES, directory=str(self.prepared), database=str(self.prepared / f"{DATABASE}.db")) as s:
            player = self.player(s)
            results = [player.play(step) for step in steps]
            player.close()
        return results

    def run(self, name: str, steps: list) -> list:
        folder = tempfile.mkdtemp(prefix="scoreboard-db.", dir=scratch())
        try:
            if name != SETUP:
                for path in self.prepared.glob(f"{DATABASE}.db*"):
                    shutil.copy(path, folder)
            s = server.Server(*FILES, directory=folder, database=os.path.join(folder, f"{DATABASE}.db"))
            try:
                player = self.player(s)
                results = []
                for step in steps:
                    if s.process.poll() is not None:  # a crash costs its statement, not the rest of the file
                        s.stop()
                        s = server.Server(*FILES, directory=folder, database=os.path.join(folder, f"{DATABASE}.db"))
                        player.connect = self.player(s).connect
                        player.session = None
                    results.append(player.play(step))
                player.close()
            finally:
                s.stop()
            return results
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def needs_library(step: script.Step, wanted: list[dict]) -> bool:
    """Whether PostgreSQL itself could not carry it out because the tests' C library is not built."""
    return any(isinstance(p, list | tuple) and p[2] == "regresslib" for p in step.pieces) and any(r.get("error") == "58P01" for r in wanted)


WORD = re.compile(r"[a-z_][a-z_0-9$]{2,}")
READS = re.compile(r"(select|values|table|show|fetch|explain)\b")
KEYWORDS = set(
    "select from where insert into values update set delete table create drop alter function returns language begin end and not null"
    " order group int integer text view index as for each row execute procedure trigger column add constraint primary key default on"
    " references using with rename type cascade check unique schema exists returning all public plpgsql sql int4 int8 numeric varchar"
    " char boolean like partition inherits grant revoke copy stdin temp rule instead".split()
)


# Of the failed ones: how many seem to follow from an earlier miss. Of the wrong ones: how many end a transaction that has failed.
FOLLOWS = ("failed_follows", "wrong_follows")


def objects(sql: str) -> set[str]:
    """The names that a statement may be about."""
    return set(WORD.findall(re.sub(r"'[^']*'", "", sql.lower()))) - KEYWORDS


def quoted(sql: str) -> set[str]:
    """The names that a statement may be about as texts: 'my_configuration'."""
    return set(re.findall(r"'([a-z_]\w*)'", sql.lower())) - KEYWORDS


def compare(steps: list, first: list, second: list, mine: list, touched: set[str]) -> tuple[dict, list]:
    """The counts of one file, and each statement that did not match.

    `touched` starts with the names that the set-up's misses were about and takes in each statement that should have changed
    something and did not: a later failure that is about such a name is hinted at as following from it."""
    counts = dict.fromkeys((*judge.VERDICTS, *FOLLOWS, "plans"), 0)
    misses = []
    touched = set(touched)
    aborted = False
    for step, wanted, again, got in zip(steps, first, second, mine):
        if not wanted and not got:
            continue
        sql = script.substitute(step.pieces, {}).strip()
        verdict, why = judge.judge(sql, wanted, again, got)
        if needs_library(step, wanted):
            continue
        if judge.is_plan(wanted) and verdict != "crashed":
            counts["plans"] += 1
            continue
        counts[verdict] += 1
        if verdict == "matched":
            continue
        # (a COMMIT that rolls back follows from the statement that failed in its transaction)
        rolled_back = why == "tag ROLLBACK (PostgreSQL: COMMIT)"
        follows = aborted and ("25P02" in why or rolled_back)
        # (a wrong answer needs its reason, whatever it seems to follow from)
        follows |= verdict == "failed" and bool((objects(sql) | quoted(sql)) & touched)
        if verdict in ("failed", "wrong") and follows:
            counts[f"{verdict}_follows"] += 1
            why = "(follow-up) " + why
        if not READS.match(sql.lower()):
            touched |= objects(sql)
        aborted = True
        misses.append((step.line, verdict, why, sql, wanted, got))
    return counts, misses


def show(results: list[dict]) -> str:
    out = []
    for r in results:
        if "error" in r:
            out.append(f"  {r['error']} {r['message']}")
            continue
        if "columns" in r:
            out.append("  " + " | ".join(f"{c[0]} {judge.column_type(c[1], c[2])}" for c in r["columns"]))
        out += ["  " + " | ".join("\\N" if v is None else v for v in row) for row in r.get("rows", [])[:40]]
        out += ["  > " + line.rstrip("\n") for line in r.get("copied", [])[:20]]
        out.append(f"  {r.get('tag', '')}")
    return "\n".join(out)


def write_details(folder: pathlib.Path, name: str, misses: list) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{name}.txt", "w", encoding="utf-8", errors="backslashreplace") as f:
        for line, verdict, why, sql, wanted, got in misses:
            f.write(f"## {name}.sql:{line} {verdict}: {why}\n{sql}\n")
            if verdict in ("wrong", "failed"):
                f.write(f"-- PostgreSQL\n{show(wanted)}\n-- pgsqlite\n{show(got)}\n")
            f.write("\n")


def table(scores: dict[str, dict]) -> str:
    heads = ("file", *judge.VERDICTS, "share")
    lines = ["{:<28}{:>9}{:>9}{:>9}{:>9}{:>9}{:>8}".format(*heads)]

    def row(name: str, c: dict) -> str:
        total = sum(c[v] for v in judge.VERDICTS)
        return f"{name:<28}" + "".join(f"{c[v]:>9}" for v in judge.VERDICTS) + f"{100 * c['matched'] / max(total, 1):>7.1f}%"

    total = {k: sum(c[k] for c in scores.values()) for k in (*judge.VERDICTS, *FOLLOWS, "plans")}
    lines += [row(name, c) for name, c in sorted(scores.items())] + [row("all", total)]
    lines.append(f"{total['failed_follows']} of the failed ones seem to follow from an earlier miss; {total['wrong_follows']} of the wrong ones end a failed transaction")
    lines.append(f"{total['plans']} execution plans are not compared")
    return "\n".join(lines)


def worse(name: str, now: dict, before: dict, still_open: set[str]) -> list[str]:
    """How a file is worse than its status. (What is wrong for a reason may become more when a refusal becomes an answer: where each
    wrong answer must have its reason, their number says nothing.)"""
    out = []
    if now["matched"] < before["matched"]:
        out.append(f"{name}: {now['matched']} matched, {before['matched']} before")
    own, own_before = (c["wrong"] - c["wrong_follows"] for c in (now, before))
    if own > own_before and name in still_open:
        out.append(f"{name}: {own} wrong by themselves, {own_before} before")
    if now["crashed"] > before["crashed"]:
        out.append(f"{name}: {now['crashed']} crashed, {before['crashed']} before")
    return out


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("--details", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    began = time.monotonic()
    folder = Folder()
    scores: dict[str, dict] = {}
    missed_in: dict[str, list] = {}
    spent: dict[str, float] = {}
    try:
        known, tested = Answers(), Subject(folder)
        steps, first, second = known.of(SETUP)
        missed = compare(steps, first, second, tested.prepare(steps), set())[1]
        touched = {name for miss in missed for name in objects(miss[3])}

        def one(name: str) -> tuple[str, dict, list]:
            steps, first, second = known.of(name)
            start = time.monotonic()
            mine = tested.run(name, steps)
            if any(r.get("error") == "slow" for results in mine for r in results):
                # what hangs does so again; a machine that stood still for a minute does not
                mine = tested.run(name, steps)
            spent[name] = time.monotonic() - start
            return name, *compare(steps, first, second, mine, set() if name == SETUP else touched)

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for name, counts, misses in pool.map(one, [n for n in names(options.files) if n not in options.skip]):
                scores[name], missed_in[name] = counts, misses
                if options.details:
                    write_details(options.details, name, misses)
    finally:
        folder.remove()
    print(table(scores))
    slowest = sorted(spent, key=lambda n: -spent[n])[:5]
    print(f"{time.monotonic() - began:.0f} s; slowest: " + ", ".join(f"{n} {spent[n]:.0f} s" for n in slowest))
    status = json.loads(STATUS.read_text()) if STATUS.exists() else {}
    still_open = reasons.load()[1]
    complaints = [c for n, counts in scores.items() if n in status for c in worse(n, counts, status[n], still_open)]
    if options.update:
        for n, counts in scores.items():
            if n not in status or not worse(n, counts, status[n], still_open):
                status[n] = counts
        STATUS.write_text("{\n" + ",\n".join(f"  {json.dumps(n)}: {json.dumps(c)}" for n, c in sorted(status.items())) + "\n}\n")
    judgement = reasons.Judgement(missed_in)
    for complaint in complaints:
        print(f"worse: {complaint}")
    print(f"{judgement.explained} wrong answers are listed with their reason, {len(judgement.unexplained_open)} in open files are not yet")
    if not options.check:
        for statement in judgement.unexplained_open:
            print(f"no reason yet: {statement}")
    for complaint in judgement.complaints():
        print(complaint)
    failed = len({c.split(":")[0] for c in complaints})
    failed += len(judgement.complaints())
    print(f"{len(scores) - failed} passed, {failed} failed")
    return int(options.check and failed > 0)


if __name__ == "__main__":
    sys.exit(main())
