#!/usr/bin/env python3
"""Does what the READMEs of the examples say: the commands under "Install" and under "Test", in a copy below build/examples.

python3 examples/run.py [NAME …]

The program is $PGSQLITE_BIN. What registries deliver is kept below build/examples, too. An example whose language is not there is left out, and said so.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
HERE = ROOT / "examples"
WORK = ROOT / "build" / "examples"
NEEDS = {
    "django": ["python3"],
    "fastapi-sqlalchemy": ["python3"],
    "nextjs-drizzle": ["node", "npm"],
    "express-prisma": ["node", "npm"],
    "go-pgx": ["go"],
    "spring-boot-jpa": ["java", "mvn"],
    "rails": ["ruby", "rails"],
}
# seconds for one block of commands, with downloads
LIMIT = 900


def blocks(readme: str, heading: str) -> list[str]:
    """Returns the shell commands below a heading. The test of the runner is that no README is without them."""
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", readme, re.MULTILINE | re.DOTALL)
    commands = re.findall(r"^```sh\n(.*?)^```", found[1], re.MULTILINE | re.DOTALL) if found else []
    if not commands:
        raise SystemExit(f"the README has no commands under {heading!r}")
    return commands


def environment(program: pathlib.Path) -> dict[str, str]:
    """The program on the PATH, its Python package among those that pip finds, and caches below build/."""
    programs = WORK / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    link = programs / "pgsqlite"
    link.unlink(missing_ok=True)
    link.symlink_to(program)
    caches = WORK / "cache"
    wheels = caches / "wheels"
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "DATABASE_URL", "VIRTUAL_ENV"))}
    return {
        **kept,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "WHEELS": str(wheels),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_CACHE_DIR": str(caches / "pip"),
        "npm_config_cache": str(caches / "npm"),
        "npm_config_audit": "false",
        "npm_config_fund": "false",
        "NEXT_TELEMETRY_DISABLED": "1",
        "CHECKPOINT_DISABLE": "1",
        # Prisma's program for migrations comes from a host that is no registry, and the example does not need it
        "PRISMA_SCHEMA_ENGINE_BINARY": shutil.which("true") or "/bin/true",
        "MAVEN_ARGS": f"-Dmaven.repo.local={caches / 'maven'}",
    }


def wheel(program: pathlib.Path) -> None:
    """Packs the Python package around the program, if it is another than the last time."""
    wheels = WORK / "cache" / "wheels"
    mark = wheels / "program"
    state = f"{program} {program.stat().st_mtime_ns}"
    if mark.exists() and mark.read_text() == state:
        return
    shutil.rmtree(wheels, ignore_errors=True)
    wheels.mkdir(parents=True)
    stripped = wheels / "pgsqlite"
    if shutil.which("strip"):
        subprocess.run(["strip", "-o", stripped, program], check=True)
    else:
        shutil.copy(program, stripped)
    packing = [sys.executable, ROOT / "packages/python/wheel_backend.py", wheels]
    subprocess.run(packing, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PGSQLITE_BIN": str(stripped)})
    stripped.unlink()
    mark.write_text(state)


def copy(name: str) -> pathlib.Path:
    """Copies the sources over those of the last time. What was installed there stays."""
    target = WORK / "projects" / name
    tracked = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "."], cwd=HERE / name, check=True, capture_output=True, text=True)
    wanted = [n for n in tracked.stdout.split("\0") if n]
    listed = target / ".sources"
    for old in listed.read_text().split("\0") if listed.exists() else []:
        if old and old not in wanted:
            (target / old).unlink(missing_ok=True)
    for path in wanted:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(HERE / name / path, target / path)
    listed.write_text("\0".join(wanted))
    return target


def run(name: str, here: dict[str, str]) -> bool:
    readme = (HERE / name / "README.md").read_text()
    folder = copy(name)
    for heading in ("Install", "Test"):
        for commands in blocks(readme, heading):
            began = time.monotonic()
            try:
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=folder, env=here, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
                output, code = done.stdout, done.returncode
            except subprocess.TimeoutExpired as e:
                output, code = (e.stdout or b"").decode(errors="replace") + f"\nit took more than {LIMIT} s", 1
            print(f"  {heading.lower()}: {'ok' if code == 0 else 'FAILED'} ({time.monotonic() - began:.1f} s)", flush=True)
            if code:
                print(f"{commands}\n{output[-8000:]}")
                return False
    return True


def main() -> int:
    named = sys.argv[1:]
    folders = sorted(p.parent.name for p in HERE.glob("*/README.md"))
    if folders != sorted(NEEDS):
        raise SystemExit(f"folders and the list of this program differ: {sorted(set(folders) ^ set(NEEDS))}")
    program = pathlib.Path(os.environ.get("PGSQLITE_BIN") or ROOT / "pgsqlite/target/release/pgsqlite").resolve()
    WORK.mkdir(parents=True, exist_ok=True)
    # (an example may use the repository's packages by a relative path)
    packages = WORK / "packages"
    if not packages.is_symlink():
        packages.symlink_to(ROOT / "packages")
    wheel(program)
    here = environment(program)
    passed, failed, left_out = 0, [], 0
    for name in named or folders:
        missing = [tool for tool in NEEDS[name] if not shutil.which(tool)]
        if missing:
            print(f"{name}: left out, for want of {', '.join(missing)}")
            left_out += 1
            continue
        print(name, flush=True)
        if run(name, here):
            passed += 1
        else:
            failed.append(name)
    if failed:
        print(f"failed: {' '.join(failed)}")
    print(f"{passed} passed, {len(failed)} failed, {left_out} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
