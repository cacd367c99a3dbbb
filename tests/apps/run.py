#!/usr/bin/env python3
"""Runs real applications on PostgreSQL 15 and on pgsqlite, one after the other, and compares what they say.

    run.py [--only pgsqlite|postgres] [--capture DIR] [--verbose] [NAME…]

An application is a folder beside this file with an app.toml: its version, how it is installed (pip, npm, apt, go, mvn, always from
the ordinary registry) and the program of its life. The program gets a fresh database through PGHOST, PGPORT, PGUSER, PGDATABASE and
DATABASE_URL, and prints a line for each thing it did. An application passes if the lines and the exit status are the same on both
servers; `known` in app.toml lists patterns of lines that may differ, each with its reason. The run fails if an application differs
in another way. `--capture` writes the statements that PostgreSQL was sent, one file per application.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "apps"
sys.path.insert(0, str(HERE.parent / "lib"))
import server  # noqa: E402


class App:
    """An application as its app.toml describes it."""

    def __init__(self, folder: pathlib.Path):
        self.name = folder.name
        self.folder = folder
        with open(folder / "app.toml", "rb") as f:
            self.about = tomllib.load(f)
        self.build = BUILD / self.name

    def install(self) -> str | None:
        """Installs the application into its build folder; gives the reason if it cannot be had."""
        stamp = self.build / "installed"
        wanted = json.dumps({k: self.about.get(k) for k in ("pip", "npm", "apt", "go", "go_tags", "mvn")})
        if self.about.get("go") == ["."]:
            wanted += (self.folder / "go.mod").read_text() + (self.folder / "life.go").read_text()
        if stamp.exists() and stamp.read_text() == wanted:
            return None
        self.build.mkdir(parents=True, exist_ok=True)
        steps: list[list[str]] = []
        if packages := self.about.get("apt"):
            missing = [p for p in packages if subprocess.run(["dpkg", "-s", p], capture_output=True).returncode]
            if missing:
                steps.append(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing])
        if packages := self.about.get("pip"):
            steps.append([sys.executable, "-m", "venv", str(self.build / "venv")])
            pip = str(self.build / "venv" / "bin" / "pip")
            steps.append([pip, "install", "--quiet", "--disable-pip-version-check", *packages])
        if packages := self.about.get("npm"):
            steps.append(["npm", "install", "--prefix", str(self.build), "--no-fund", "--no-audit", "--silent", *packages])
        tags = f"-tags={self.about['go_tags']}" if "go_tags" in self.about else "-tags="
        for package in self.about.get("go", []):
            # "." is the folder's own program, anything else a program of a module with its version
            steps.append(["nice", "go", "build", "-o", str(self.build / "bin" / "life"), "."] if package == "." else
                         ["nice", "go", "install", tags, package])  # fmt: skip
        if packages := self.about.get("mvn"):
            self.write_pom(packages)
            steps.append(["mvn", "-q", "-B", "-f", str(self.build / "pom.xml"), "dependency:copy-dependencies",
                          f"-DoutputDirectory={self.build / 'lib'}"])  # fmt: skip
        environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive", GOBIN=str(self.build / "bin"), GOFLAGS="-buildvcs=false")
        for step in steps:
            done = subprocess.run(step, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=900)
            if done.returncode:
                lines = (done.stderr or done.stdout).strip().splitlines()
                return f"{' '.join(step[:2])}: {lines[-1] if lines else 'failed'}"
        stamp.write_text(wanted)
        return None

    def write_pom(self, packages: list[str]) -> None:
        """Names the packages (group:artifact:version) to Maven, which brings them with what they need."""
        each = "".join(
            f"<dependency><groupId>{g}</groupId><artifactId>{a}</artifactId><version>{v}</version></dependency>"
            for g, a, v in (p.split(":") for p in packages)
        )
        (self.build / "pom.xml").write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>app</artifactId><version>1</version>"
            f"<dependencies>{each}</dependencies></project>"
        )

    def live(self, host: str, port: int, database: str) -> tuple[int, list[str], float]:
        """Runs the application's life; gives the exit status, the lines and the seconds."""
        environment = dict(
            os.environ,
            PGHOST=host,
            PGPORT=str(port),
            PGUSER="postgres",
            PGDATABASE=database,
            PGPASSWORD="unused",
            DATABASE_URL=f"postgresql://postgres:unused@{host}:{port}/{database}",
            APP_BUILD=str(self.build),
            CLASSPATH=str(self.build / "lib" / "*"),
            NODE_PATH=str(self.build / "node_modules"),
            PYTHONUNBUFFERED="1",
        )
        environment["PATH"] = f"{self.build / 'venv' / 'bin'}:{self.build / 'bin'}:{self.build / 'node_modules' / '.bin'}:{environment['PATH']}"
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="app.") as scratch:
            environment["APP_SCRATCH"] = scratch
            command = [a.replace("$APP_BUILD", str(self.build)) for a in self.about["run"]]
            try:
                done = subprocess.run(
                    command,
                    cwd=self.folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=self.about.get("timeout", 180),
                )
                status, output = done.returncode, done.stdout
                if status:
                    output += "\n".join(done.stderr.splitlines()[-15:])
            except subprocess.TimeoutExpired as e:
                output = (e.stdout or b"").decode() if isinstance(e.stdout, bytes) else (e.stdout or "")
                status = -1
                output += "\nno end within the time that it has"
        return status, output.splitlines(), time.monotonic() - began


def psql(host: str, port: int, statement: str) -> None:
    subprocess.run(
        ["psql", "-qX", "-h", host, "-p", str(port), "-U", "postgres", "-d", "postgres", "-c", statement],
        check=True,
        capture_output=True,
    )


class Ours:
    """A pgsqlite on a folder of databases, with TCP on the loopback."""

    def __enter__(self) -> "Ours":
        self.dir = tempfile.mkdtemp(prefix="apps.")
        os.mkdir(os.path.join(self.dir, "data"))
        self.port = server.free_port()
        self.log = open(os.path.join(self.dir, "log"), "wb")
        self.process = subprocess.Popen(
            [server.binary(), "--data-dir", os.path.join(self.dir, "data"), "--port", str(self.port),
             "--host", "127.0.0.1", "--socket-dir", self.dir],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
        )  # fmt: skip
        deadline = time.monotonic() + 20
        while True:
            try:
                psql("127.0.0.1", self.port, "SELECT 1")
                return self
            except subprocess.CalledProcessError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("pgsqlite did not start") from None
                time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.dir, ignore_errors=True)


def statements(log_folder: pathlib.Path, database: str) -> list[tuple[str, str]]:
    """The statements that PostgreSQL's JSON log has of a database, in order, each with what the log says of its parameters."""
    out = []
    for path in sorted(log_folder.glob("*.json")):
        for line in path.read_text(errors="replace").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if entry.get("dbname") != database:
                continue
            found = re.match(r"(?:statement|execute [^:]+): (.*)", entry.get("message", ""), re.S)
            if found:
                out.append((found[1], entry.get("detail", "")))
    return out


def same(app: App, theirs: list[str], ours: list[str]) -> list[str]:
    """The difference of two outputs, without the lines that may differ."""
    known = [re.compile(k["line"]) for k in app.about.get("known", [])]
    keep = lambda lines: [l.rstrip() for l in lines if not any(k.search(l) for k in known)]  # noqa: E731
    return list(difflib.unified_diff(keep(theirs), keep(ours), "postgres", "pgsqlite", lineterm="", n=1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--only", choices=["pgsqlite", "postgres"])
    parser.add_argument("--capture")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.only != "pgsqlite" and "APPS_PG_PORT" not in os.environ:
        # begins anew below a PostgreSQL of its own
        port = str(server.free_port())
        os.environ["APPS_PG_PORT"] = port
        os.environ["ORACLE_PG_OPTS"] = (
            f"-c fsync=off -c listen_addresses=127.0.0.1 -c port={port} -c logging_collector=on "
            "-c log_destination=jsonlog -c log_statement=all -c log_rotation_size=0 -c max_connections=200"
        )
        os.execv(str(ROOT / "tools" / "oracle.sh"), ["oracle.sh", sys.executable, *sys.argv])
    pg_socket = os.environ.get("PGHOST", "")
    apps = [App(p.parent) for p in sorted(HERE.glob("*/app.toml"))]
    if options.names:
        apps = [a for a in apps if a.name in options.names]
    table = []
    failed = 0
    for app in apps:
        row = [app.name, app.about.get("version", ""), "", "", ""]
        table.append(row)
        reason = app.about.get("unavailable") or app.install()
        if reason:
            row[2] = f"not installed: {reason}"
            print(f"-- {app.name}: {row[2]}", flush=True)
            continue
        results = {}
        database = f"app_{re.sub('[^a-z0-9]', '_', app.name)}"
        if options.only != "pgsqlite":
            port = int(os.environ["APPS_PG_PORT"])
            psql("127.0.0.1", port, f"CREATE DATABASE {database}")
            results["postgres"] = app.live("127.0.0.1", port, database)
            if options.capture:
                folder = pathlib.Path(options.capture)
                folder.mkdir(parents=True, exist_ok=True)
                found = statements(pathlib.Path(pg_socket) / "data" / "log", database)
                (folder / f"{app.name}.json").write_text(json.dumps(found, indent=0))
        if options.only != "postgres":
            with Ours() as ours:
                psql("127.0.0.1", ours.port, f"CREATE DATABASE {database}")
                results["pgsqlite"] = app.live("127.0.0.1", ours.port, database)
        for i, name in ((3, "postgres"), (4, "pgsqlite")):
            if name in results:
                row[i] = f"{results[name][2]:.1f} s"
        if len(results) == 1:
            ((name, (status, lines, _)),) = results.items()
            row[2] = f"exit status {status}"
            print("\n".join(lines))
        else:
            (their_status, theirs, _), (our_status, mine, _) = results["postgres"], results["pgsqlite"]
            difference = same(app, theirs, mine)
            if their_status != our_status:
                difference.append(f"exit status {their_status} on PostgreSQL, {our_status} on pgsqlite")
            if their_status and not app.about.get("fails_on_both"):
                row[2] = f"FAILS ON POSTGRESQL (status {their_status})"
                failed += 1
                print("\n".join(theirs[-20:]))
            elif difference:
                row[2] = "DIFFERS"
                failed += 1
                print("\n".join([f"-- {app.name} differs:", *difference[:60]]))
            else:
                row[2] = f"the same: {len(theirs)} lines"
            if options.verbose:
                print("\n".join(theirs))
        print(f"-- {app.name}: {row[2]} ({row[3]} / {row[4]})", flush=True)
    head = ["application", "version", "result", "PostgreSQL", "pgsqlite"]
    widths = [max(len(str(r[i])) for r in [head, *table]) for i in range(5)]
    for r in [head, ["-" * w for w in widths], *table]:
        print("| " + " | ".join(str(c).ljust(w) for c, w in zip(r, widths)) + " |")
    print(f"{len(table) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
