#!/usr/bin/env python3
"""Writes docs/configuration.md from the flags that the program prints.

    python3 tools/configuration.py            # writes it
    python3 tools/configuration.py --check    # fails if it is out of date

The program is $PGSQLITE_BIN, else the release build, else the debug build. A flag that stands in no group below is an error: a new flag needs its place.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "lib"))
import server  # noqa: E402

PAGE = ROOT / "docs" / "configuration.md"

GROUPS = {
    "What is served": "database in-memory data-dir superuser server-files checkpoints archive archive-retention archive-snapshots lease cluster cluster-cert cluster-key cluster-ca node-name standby max-wal-senders wal-keep-size",
    "Where the server listens": "host port socket-dir no-tcp sqli-port",
    "Who gets in": "auth hba ident authentication-timeout",
    "TLS": "tls-cert tls-key tls-ca tls-self-signed require-tls",
    "Sessions and memory": "max-connections reserved-connections max-prepared-transactions use-pooling pool-size pool-timeout memory-limit busy-poll",
    "Limits for clients": "idle-writer-timeout writer-timeout log-limit send-timeout",
    "Logs and metrics": "log-format log-level log-min-duration-statement log-refused metrics-addr status-addr",
    "Start and stop": "config shutdown-timeout stop-with-input",
}

INTRODUCTION = """# Configuration

<!-- Written by tools/configuration.py from `pgsqlite --help` (make configuration). -->

Each setting of the server can be given in three ways. A flag wins over the environment, and the environment over the file.

| as | example |
| --- | --- |
| a flag | `pgsqlite --database my.db --pool-size 20` |
| a variable of the environment | `PGSQLITE_POOL_SIZE=20 pgsqlite --database my.db` |
| a key of the TOML file that `--config` names | `pool_size = 20` |

The key is the flag's name with underscores. The variable is the key in capitals, with `PGSQLITE_` in front. Switches are `true` or `false` there.

What sessions can change with SET is on [another page](compat/settings.md).
"""


def help_of(*command: str) -> str:
    """What the program prints for `--help`, without the folder that it was started from."""
    binary = pathlib.Path(server.binary())
    done = subprocess.run([str(binary), *command, "--help"], capture_output=True, text=True, check=True)
    return done.stdout.replace(binary.name, "pgsqlite")


def options(text: str) -> dict[str, tuple[str, str]]:
    """Flag → its value's name, and its description."""
    found = {}
    for block in re.split(r"\n(?=  (?:-\w, |    )--|  -\w, --)", text.split("Options:", 1)[1]):
        lines = [line.strip() for line in block.strip("\n").splitlines()]
        head = lines and re.match(r"(?:-\w, )?--([\w-]+)(?: <(\w+)>)?(?:\s{2,}(.*))?$", lines[0])
        if not head or head[1] in ("help", "version"):
            continue
        body = [head[3]] if head[3] else []
        body += [line for line in lines[1:] if line and not line.startswith(("[env:", "Possible values:", "Print help"))]
        values = [line[2:] for line in body if line.startswith("- ")]
        body = [line for line in body if not line.startswith("- ")]
        described = " ".join(body)
        if values and "possible values" not in described:
            described = re.sub(r"(?= \[default|$)", ".", described, count=1) + " Values: " + "; ".join(f"`{v.split(':')[0]}`" + (f" ({v.split(':', 1)[1].strip()})" if ":" in v else "") for v in values) + "."
        found[head[1]] = (head[2] or "", described)
    return found


def row(flag: str, value: str, text: str) -> str:
    """A row of the table: flag, default, meaning."""
    default = re.search(r"\[default: ([^]]*)\]", text)
    text = re.sub(r"\s*\[default: [^]]*\]", "", text)
    text = re.sub(r"\s*\[possible values: ([^]]*)\]", "", text).strip().replace("<", "&lt;")
    text = re.sub(r"(?<![\w`])(--[\w-]+)", r"`\1`", text)
    cells = [f"`--{flag}{' ' + value if value else ''}`", default[1] if default else "", text.rstrip(".") + "."]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def page() -> str:
    """The whole page."""
    text = help_of()
    flags = options(text)
    places = [flag for names in GROUPS.values() for flag in names.split()]
    if unplaced := sorted(set(flags) ^ set(places)):
        raise SystemExit(f"tools/configuration.py: GROUPS and `pgsqlite --help` differ in: {', '.join(unplaced)}")
    out = [INTRODUCTION]
    for group, names in GROUPS.items():
        out += [f"## {group}", "", "| flag | default | meaning |", "| --- | --- | --- |"]
        out += [row(flag, *flags[flag]) for flag in names.split()]
        out.append("")
    out += ["## Commands", "", "Without a command the program is the server. `pgsqlite COMMAND --help` says more.", "", "| command | what it does |", "| --- | --- |"]
    commands = re.findall(r"^  (\w+)\s{2,}(.*)$", text.split("Commands:")[1].split("Options:")[0], re.M)
    out += [f"| `pgsqlite {name}` | {what}. |" for name, what in commands if name != "help"]
    out.append("")
    for name, _ in commands:
        if name == "help":
            continue
        own = options(help_of(name)) if "Options:" in help_of(name) else {}
        if own:
            out += [f"### pgsqlite {name}", "", "| flag | default | meaning |", "| --- | --- | --- |"]
            out += [row(flag, *own[flag]) for flag in own]
            out.append("")
    return "\n".join(out)


def main() -> int:
    wanted = page()
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(wanted)
        return 0
    if not PAGE.exists() or PAGE.read_text() != wanted:
        print("docs/configuration.md is out of date: run make configuration")
        return 1
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
