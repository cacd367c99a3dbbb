#!/usr/bin/env python3
"""The version of pgsqlite, which is that of the workspace in pgsqlite/Cargo.toml. Other files repeat it because their tools want it there.

tools/version.py            prints it
tools/version.py --check    fails if a file says something else, or CHANGELOG.md is not as "Keep a Changelog" has it
tools/version.py 0.2.0      writes it to all of them, and gives what is unreleased in CHANGELOG.md this version and today's date
"""

from __future__ import annotations

import datetime
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CARGO = "pgsqlite/Cargo.toml"
SEMVER = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?")
# Files that repeat the version: how it stands there.
REPEATED = {
    CARGO: re.compile(r'(?m)^(?P<before>pgsqlite-\w+ = \{ path = "[\w/]+", version = "=)(?P<version>[^"]+)'),
    "packages/java/pom.xml": re.compile(r"(?P<before><artifactId>pgsqlite-junit</artifactId>\s+(?:<!--.*?-->\s+)?<version>)(?P<version>[^<]+)"),
}
GROUPS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


def version() -> str:
    found = re.search(r'(?m)^\[workspace\.package\]\nversion = "(.+)"', (ROOT / CARGO).read_text())
    assert found, "the workspace has a version"
    return found[1]


def changelog(text: str) -> list[str]:
    """Returns what is wrong with the changelog: headings that are no versions, versions that do not fall, groups that have no name of the format."""
    wrong = []
    headings = re.findall(r"(?m)^## (.+)$", text)
    if not headings or headings[0] != "[Unreleased]":
        wrong.append("the first heading is not [Unreleased]")
    numbers = []
    for heading in headings[1:]:
        found = re.fullmatch(rf"\[({SEMVER.pattern})\] - \d{{4}}-\d\d-\d\d", heading)
        if found:
            numbers.append(tuple(int(n) for n in found[1].split("-")[0].split(".")))
        else:
            wrong.append(f"{heading!r} is not a version with its day: [1.2.3] - 2026-01-31")
    if numbers != sorted(numbers, reverse=True):
        wrong.append("the newest version is not the first")
    wrong += [f"{group!r} is none of {', '.join(GROUPS)}" for group in re.findall(r"(?m)^### (.+)$", text) if group not in GROUPS]
    group = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            group = None
        elif line.startswith("### "):
            group = line
        elif line.startswith(("- ", "* ")) and group is None:
            wrong.append(f"line {number} is in no group (### {', ### '.join(GROUPS)})")
    return [f"CHANGELOG.md: {w}" for w in wrong]


def check() -> int:
    wanted, wrong = version(), []
    if not SEMVER.fullmatch(wanted):
        wrong.append(f"{CARGO}: {wanted} is not a version of three numbers")
    for name, pattern in REPEATED.items():
        found = [m["version"] for m in pattern.finditer((ROOT / name).read_text())]
        if not found:
            wrong.append(f"{name}: it does not have the version where it had it")
        wrong += [f"{name}: {other} is not {wanted}" for other in found if other != wanted]
    locked = re.findall(r'name = "(pgsqlite[\w-]*)"\nversion = "([^"]+)"', (ROOT / "pgsqlite/Cargo.lock").read_text())
    wrong += [f"pgsqlite/Cargo.lock: {crate} {other} is not {wanted}" for crate, other in locked if other != wanted]
    # (packages/npm/build.js and packages/python/wheel_backend.py read the workspace's)
    npm = json.loads((ROOT / "packages/npm/pgsqlite/package.json").read_text())["version"]
    if npm != "0.0.0":
        wrong.append("packages/npm/pgsqlite/package.json: packages/npm/build.js writes the version; here it is 0.0.0")
    wrong += changelog((ROOT / "CHANGELOG.md").read_text())
    print("\n".join(wrong) or f"version {wanted}: the same everywhere")
    return 1 if wrong else 0


def write(new: str) -> int:
    if not SEMVER.fullmatch(new):
        print(f"{new} is not a version of three numbers")
        return 2
    old = version()
    cargo = ROOT / CARGO
    cargo.write_text(cargo.read_text().replace(f'[workspace.package]\nversion = "{old}"', f'[workspace.package]\nversion = "{new}"'))
    for name, pattern in REPEATED.items():
        path = ROOT / name
        path.write_text(pattern.sub(lambda m: m["before"] + new, path.read_text()))
    path = ROOT / "CHANGELOG.md"
    today = datetime.datetime.now(datetime.timezone.utc).date()
    path.write_text(path.read_text().replace("## [Unreleased]\n", f"## [Unreleased]\n\n## [{new}] - {today}\n", 1))
    subprocess.run(["cargo", "update", "--workspace", "--offline", "--quiet"], cwd=ROOT / "pgsqlite", check=True)
    return check()


def main() -> int:
    arguments = sys.argv[1:]
    if not arguments:
        print(version())
        return 0
    if arguments == ["--check"]:
        return check()
    if len(arguments) == 1 and not arguments[0].startswith("-"):
        return write(arguments[0])
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
