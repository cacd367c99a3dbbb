#!/usr/bin/env python3
"""Executes the examples of README.md and docs/ (README.md beside this file describes how they are written).

    python3 tests/docs/run.py [--verbose] [PAGE…]

The last line is `N passed, N failed, N skipped`.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402

CLIENTS = ROOT / "tests" / "clients"
BUILD = ROOT / "build" / "docs-examples"
EXECUTED = {"sh", "sql", "python", "js", "go", "rust", "java"}
NEEDS = {"js": "node", "go": "go", "rust": "cargo", "java": "mvn"}
PROGRAMS = ("psql", "pg_dump", "pg_dumpall", "pg_restore", "createdb", "sqlite3", "curl", "node", "npx", "pytest", "openssl", "go")
PORTS = ("5432", "5433", "9088", "9187", "9188")

PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "informix-db" / "README.md",
    ROOT / "informix-db" / "docs" / "recipes.md",
]

# `pgsqlite` of the examples: a server goes into the background, commands run as they are.
SHIM = """#!/bin/bash
case "${1:-}" in exec|import|info|check|upgrade|restore|verify|user|demo|completions|man|help|--help|--version) exec "$REAL_PGSQLITE" "$@";; esac
port=$PGSQLITE_PORT folder=$PGSQLITE_SOCKET_DIR previous=
for word in "$@"; do
  case "$previous" in --port) port=$word;; --socket-dir) folder=$word;; esac
  previous=$word
done
if [ -e "$EXAMPLES/$port.pid" ]; then
  kill "$(cat "$EXAMPLES/$port.pid")" 2>/dev/null
  for _ in $(seq 500); do kill -0 "$(cat "$EXAMPLES/$port.pid")" 2>/dev/null || break; sleep 0.02; done
fi
"$REAL_PGSQLITE" "$@" >>"$EXAMPLES/server.log" 2>&1 </dev/null &
echo $! >"$EXAMPLES/$port.pid"
for _ in $(seq 1500); do
  python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$folder/.s.PGSQL.$port" 2>/dev/null && exit 0
  kill -0 $! 2>/dev/null || { cat "$EXAMPLES/server.log"; exit 1; }
  sleep 0.02
done
echo "the server did not answer"; exit 1
"""


@dataclasses.dataclass
class Block:
    """A fenced block of a page."""

    line: int
    language: str
    text: str
    # The comment before it: ("file", NAME), ("output", ""), ("fails", WORDS), ("not run", REASON) or ("", "").
    note: tuple[str, str]


def blocks(path: pathlib.Path) -> list[Block]:
    """The fenced blocks of a page."""
    found = []
    lines = path.read_text().splitlines()
    at, note = 0, ("", "")
    while at < len(lines):
        line = lines[at]
        if comment := re.match(r"\s*<!-- (file|output|fails|not run):? ?(.*?) ?-->\s*$", line):
            note = (comment[1], comment[2])
        elif fence := re.match(r"( *)(```+)(\w*)", line):
            end = next(i for i in range(at + 1, len(lines)) if lines[i].strip() == fence[2])
            text = "\n".join(one.removeprefix(fence[1]) for one in lines[at + 1 : end]) + "\n"
            found.append(Block(at + 1, fence[3], text, note))
            at, note = end, ("", "")
        elif line.strip():
            note = ("", "")
        at += 1
    return found


class Folder:
    """The temporary folder of a page, with the servers that it has started."""

    def __init__(self) -> None:
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="docs."))
        for name in ("bin", "sockets", "work", "home", "state"):
            (self.path / name).mkdir()
        shim = self.path / "bin" / "pgsqlite"
        shim.write_text(SHIM)
        shim.chmod(0o755)
        self.ports = {port: str(server.free_port()) for port in PORTS}
        self.work = self.path / "work"
        modules = self.work / "node_modules"
        modules.mkdir()
        installed = CLIENTS / "node" / "node_modules"
        for package in [*installed.glob("*"), ROOT / "packages" / "npm" / "pgsqlite"] if installed.exists() else []:
            (modules / package.name).symlink_to(package)
        self.env = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("PG", "PGSQLITE_"))},
            "PATH": f"{self.path / 'bin'}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME_OF_TOOLS": os.environ.get("HOME", "/"),
            "REAL_PGSQLITE": str(pathlib.Path(server.binary()).resolve()),
            "PGSQLITE_BIN": str(pathlib.Path(server.binary()).resolve()),
            "EXAMPLES": str(self.path / "state"),
            "PGSQLITE_PORT": self.ports["5432"],
            "PGSQLITE_SOCKET_DIR": str(self.path / "sockets"),
            "PYTHONPATH": f"{ROOT / 'packages' / 'python' / 'src'}:{ROOT / 'informix-db' / 'src'}",
            "PYTEST_PLUGINS": "pgsqlite.pytest_plugin",
            "XDG_CACHE_HOME": str(self.path / "home"),
            "SQLI_PORT": self.ports["9088"],
            "PGPORT": self.ports["5432"],
            "PSQLRC": "/dev/null",
            "PAGER": "cat",
        }

    def placed(self, text: str) -> str:
        """The text with the folder's own sockets and ports."""
        text = re.sub(r"(?<![\w/.])/tmp\b", str(self.path / "sockets"), text)
        for port, own in self.ports.items():
            text = re.sub(rf"(?<!\d){port}(?!\d)", own, text)
        return text.replace("0.0.0.0", "127.0.0.1")

    def close(self) -> None:
        for file in (self.path / "state").glob("*.pid"):
            try:
                os.kill(int(file.read_text()), signal.SIGTERM)
            except (ProcessLookupError, ValueError):
                pass
        shutil.rmtree(self.path, ignore_errors=True)


def started(folder: Folder) -> bool:
    """Whether the page has a server on its first port."""
    return (folder.path / "state" / f"{folder.ports['5432']}.pid").exists()


def command(folder: Folder, block: Block, text: str) -> tuple[list[str], pathlib.Path]:
    """What executes a block, and in which folder."""
    if block.language == "sh":
        return ["bash", "-euo", "pipefail", "-c", text], folder.work
    if block.language == "python":
        file = folder.work / f"example_{block.line}.py"
        file.write_text(text)
        return [sys.executable, str(file)], folder.work
    if block.language == "js":
        file = folder.work / f"example_{block.line}.mjs"
        file.write_text(text)
        return ["node", str(file)], folder.work
    # Compiled languages: the projects of tests/clients, with another program.
    project = BUILD / block.language
    source, place = {"go": ("pgx", "main.go"), "rust": ("tokio-postgres", "src/main.rs"), "java": ("pgjdbc", "")}[block.language]
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(CLIENTS / source, project, ignore=shutil.ignore_patterns("target"))
    if block.language == "java":
        main = next(project.rglob("*.java"))
        package = re.search(r"^package .*;$", main.read_text(), re.M)
        main.write_text((package[0] + "\n" if package else "") + re.sub(r"\bclass \w+", f"class {main.stem}", text, count=1))
        return ["mvn", "-q", "-B", "compile", "exec:java"], project
    (project / place).write_text(text)
    if block.language == "rust":
        # Its target folder is that of tests/clients, in which one name means one program.
        for file in (project / "Cargo.toml", project / "Cargo.lock"):
            file.write_text(file.read_text().replace('"client-tokio-postgres"', '"documents-example"'))
    run = ["go", "run", "."] if block.language == "go" else ["cargo", "run", "-q", "--target-dir", str(ROOT / "build" / "clients" / "cargo")]
    return run, project


def with_prelude(folder: Folder, page: pathlib.Path, text: str) -> str:
    """An example of informix-db's documents as a program: with what it takes for granted, and with our server in the place of the one that it names."""
    if not started(folder):
        flags = ["--in-memory", "--superuser", "me", "--sqli-port", folder.ports["9088"]]
        subprocess.run([str(folder.path / "bin" / "pgsqlite"), *flags], env=folder.env, cwd=folder.work, check=True)
    text = text.replace("db.example.com", "localhost").replace('"…"', '""').replace("host=…, user=…, password=…, database=…", "**WHERE")
    text = re.sub(r'host="localhost", (?!port)', 'host="localhost", port=' + folder.ports["9088"] + ", ", text)
    if re.search(r"^(async |.*\bawait\b)", text, re.M):
        text = "async def example():\n" + "".join(f"    {line}" for line in text.splitlines(True)) + "\n\nasyncio.run(example())\n"
    return (HERE / "preludes" / "informix_db.py").read_text() + "\n" + text


def execute(folder: Folder, block: Block, page: pathlib.Path) -> tuple[bool, str]:
    """Whether the block succeeded, and what it printed."""
    text = folder.placed(block.text)
    if block.language == "sql":
        if not started(folder):
            subprocess.run([str(folder.path / "bin" / "pgsqlite"), "--in-memory"], env=folder.env, cwd=folder.work, check=True)
        connection = pgwire.Connection(str(folder.path / "sockets"), int(folder.ports["5432"]), "postgres", "main")
        try:
            rows = connection.query(text)
        except RuntimeError as e:
            return False, str(e)
        finally:
            connection.close()
        return True, "".join(" | ".join(v if v is not None else "" for v in row) + "\n" for row in rows)
    if block.language == "python" and page.is_relative_to(ROOT / "informix-db"):
        text = with_prelude(folder, page, text)
    words, where = command(folder, block, text)
    done = subprocess.run(words, cwd=where, env=folder.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    return done.returncode == 0, done.stdout


def missing(block: Block) -> str:
    """The program that the block needs and the machine does not have, or nothing."""
    if block.language in NEEDS:
        return "" if shutil.which(NEEDS[block.language]) else NEEDS[block.language]
    if block.language == "sh":
        for program in PROGRAMS:
            here = pathlib.Path(sys.executable).parent / program
            if re.search(rf"(?:^|[\s|;(]){program}\s", block.text, re.M) and not shutil.which(program) and not here.exists():
                return program
    return ""


def same(wanted: str, printed: str) -> bool:
    """Whether the output is the expected one; `…` stands for anything, and blanks at the ends of lines do not count."""

    def tidy(text: str) -> str:
        text = re.sub(r"\x1b\[[0-9;]*m", "", text)  # colours
        return "\n".join(line.rstrip() for line in text.strip().splitlines())

    pattern = ".*?".join(re.escape(part) for part in tidy(wanted).split("…"))
    return re.fullmatch(pattern, tidy(printed), re.S) is not None


def run(path: pathlib.Path, verbose: bool) -> dict[str, int]:
    """Executes the blocks of a page. Returns how many passed, failed and were skipped."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    folder = Folder()
    # Whether the block before was skipped, and whether any was: what comes later may need what it would have made.
    printed, skipped, incomplete = "", False, False
    try:
        for block in blocks(path):
            where = f"{path.relative_to(ROOT)}:{block.line}"
            kind, words = block.note
            problem = ""
            if kind == "file":
                file = folder.work / words
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(folder.placed(block.text))
                continue
            if kind == "not run":
                if not words:
                    counts["failed"] += 1
                    print(f"{where}: `not run` needs a reason")
                continue
            if kind == "output":
                if skipped:
                    continue
                if not same(folder.placed(block.text), printed):
                    problem = f"expected:\n{block.text}printed:\n{printed}"
            elif block.language in EXECUTED:
                program = missing(block)
                skipped = bool(program)
                incomplete |= skipped
                if program:
                    counts["skipped"] += 1
                    print(f"SKIPPED {where}: {program} is not installed")
                    continue
                ok, printed = execute(folder, block, path)
                if verbose:
                    print(f"{where}:\n{printed}")
                if kind == "fails":
                    if ok or words not in printed:
                        problem = f"did not fail with {words}:\n{printed}"
                elif not ok:
                    log = folder.path / "state" / "server.log"
                    problem = f"failed:\n{printed}" + (f"server:\n{log.read_text()[-1500:]}" if log.exists() else "")
            else:
                continue
            if problem and incomplete:
                skipped = True
                counts["skipped"] += 1
                print(f"SKIPPED {where}: it needs an example that was skipped")
                continue
            counts["failed" if problem else "passed"] += 1
            if problem:
                print(f"{where}: {problem}")
    finally:
        folder.close()
    return counts


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("-v", "--verbose", action="store_true", help="show what each block printed")
    args.add_argument("pages", nargs="*", type=pathlib.Path)
    a = args.parse_args()
    modules = CLIENTS / "node"
    if shutil.which("npm") and not (modules / "node_modules").exists():
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--silent"], cwd=modules, check=True)
    total = {"passed": 0, "failed": 0, "skipped": 0}
    for path in [p.resolve() for p in a.pages] or PAGES:
        counts = run(path, a.verbose)
        if sum(counts.values()):
            print(f"{path.relative_to(ROOT)}: {counts['passed']} examples passed" + (f", {counts['failed']} failed" if counts["failed"] else ""))
        total = {k: total[k] + counts[k] for k in total}
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
