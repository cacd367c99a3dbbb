#!/usr/bin/env python3
"""Runs the ordinary life of real drivers against a server: each program in a folder beside this file, exit status 0 = passed.

    run.py [--target pgsqlite|postgres] [--verbose] [NAME…]

Each program gets a fresh database through PGHOST, PGPORT, PGUSER and PGDATABASE. `--target postgres` takes the server that
the environment names (see tools/oracle.sh): what a program asserts must hold there first. A driver in expected_failures.txt
is not yet served by pgsqlite: it is run all the same, shown loudly, and fails the run as soon as it passes.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "clients"
sys.path.insert(0, str(HERE.parent / "lib"))
import oracle as reference  # noqa: E402
import pgwire  # noqa: E402
import server  # noqa: E402

#: What asserts must hold on PostgreSQL 18; the rest on 15.
OF_18 = {"pgvector", "psql", "tools", "sqlalchemy", "sequelize"}

# name: (tool it needs, commands run in its folder; the last one is the test)
NPM = ["npm", "ci", "--no-audit", "--no-fund", "--silent"]
CLIENTS: dict[str, tuple[str, list[list[str]]]] = {
    "psql": ("psql", [[sys.executable, "check.py"]]),
    "tools": ("python3", [[sys.executable, "check.py"]]),
    "psycopg2": ("python3", [[sys.executable, "life.py"]]),
    "psycopg3": ("python3", [[sys.executable, "life.py"]]),
    "asyncpg": ("python3", [[sys.executable, "life.py"]]),
    "sqlalchemy": ("python3", [[sys.executable, "life.py"]]),
    "django": ("python3", [[sys.executable, "life.py"]]),
    "pgvector": ("python3", [[sys.executable, "life.py"]]),
    "node-postgres": ("node", [NPM, ["node", "pg.mjs"]]),
    "postgres.js": ("node", [NPM, ["node", "postgres.mjs"]]),
    "pgx": ("go", [["go", "run", "."]]),
    "gorm": ("go", [["go", "run", "."]]),
    "pgjdbc": ("mvn", [["mvn", "-q", "-B", "compile", "exec:java"]]),
    "informix-jdbc": ("mvn", [["mvn", "-q", "-B", "compile", "exec:java"]]),
    "informix-hibernate": ("mvn", [["mvn", "-q", "-B", "compile", "exec:java"]]),
    "informix-driver": ("python3", [[sys.executable, "life.py"]]),
    "mixed": ("python3", [[sys.executable, "life.py"]]),
    "tokio-postgres": ("cargo", [["cargo", "run", "-q", "--target-dir", str(BUILD / "cargo")]]),
    "drizzle": ("node", [NPM, ["node", "drizzle.mjs"]]),
    "knex": ("node", [NPM, ["node", "knex.mjs"]]),
    "kysely": ("node", [NPM, ["node", "kysely.mjs"]]),
    "sequelize": ("node", [NPM, ["node", "sequelize.mjs"]]),
    "sequelize-plpgsql": ("node", [NPM, ["node", "sequelize-plpgsql.mjs"]]),
    "typeorm": ("node", [NPM, ["node", "typeorm.mjs"]]),
}
FOLDER = {
    "node-postgres": "node", "postgres.js": "node", "drizzle": "node-orms", "knex": "node-orms", "kysely": "node-orms",
    "sequelize": "node-orms", "sequelize-plpgsql": "node-orms", "typeorm": "node-orms",
}  # fmt: skip

# Clients of the other protocol. There is no server of theirs to compare with: what they assert is what their driver promises.
SQLI = {"informix-jdbc", "informix-hibernate", "informix-driver", "mixed"}


def sqli_flags(env: dict[str, str]) -> list[str]:
    """The flags of a server that speaks SQLI, with and without TLS; `env` gets what its clients must know."""
    certificates = ROOT / "informix-db" / "tests" / "tls"
    port = str(server.free_port())
    env.update(SQLI_PORT=port, SQLI_CERTIFICATE=str(certificates / "server.pem"))
    return ["--superuser", "informix", "--sqli-port", port, "--tls-cert", env["SQLI_CERTIFICATE"], "--tls-key", str(certificates / "server.key")]


def is_installed(folder: pathlib.Path) -> bool:
    """Whether npm has installed what the folder's lock file names."""
    installed = folder / "node_modules" / ".package-lock.json"
    return installed.exists() and installed.stat().st_mtime >= (folder / "package-lock.json").stat().st_mtime


def run(name: str, target: str) -> tuple[bool, str]:
    """Whether the client's life went well, and what it printed."""
    env = dict(os.environ, CLIENT_TARGET=target)
    database = "client_" + name.replace("-", "_").replace(".", "_")
    started = None
    if target == "pgsqlite":
        try:
            started = server.Server(*(sqli_flags(env) if name in SQLI else []))
        except RuntimeError as e:
            return False, str(e)
        env.update(PGHOST=started.dir, PGPORT=str(started.port), PGUSER="postgres", PGDATABASE="main")
    else:
        admin = pgwire.from_environment("postgres")
        admin.query(f"CREATE DATABASE {database} TEMPLATE template0")
        env["PGDATABASE"] = database
    output = ""
    try:
        folder = HERE / FOLDER.get(name, name)
        for command in CLIENTS[name][1]:
            if command is NPM and is_installed(folder):
                continue
            done = subprocess.run(
                command, cwd=folder, env=env, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
            )  # fmt: skip
            output += done.stdout
            if done.returncode:
                return False, output + (started.log_text() if started else "")
        return True, output
    except subprocess.TimeoutExpired as e:
        return False, f"{output}\ntimed out: {e}"
    finally:
        if started:
            started.stop()
        else:
            admin.query(f"DROP DATABASE {database} WITH (FORCE)")
            # roles are the cluster's: the next program must not see them
            for (role,) in admin.query("SELECT quote_ident(rolname) FROM pg_roles WHERE oid >= 16384 AND rolname <> current_user"):
                admin.query(f"DROP ROLE {role}")
            admin.close()


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--target", choices=["pgsqlite", "postgres"], default="pgsqlite")
    args.add_argument("-v", "--verbose", action="store_true", help="show what the programs that passed have printed, too")
    args.add_argument("names", nargs="*", choices=[[], *CLIENTS])
    a = args.parse_args()
    known = set()
    if a.target == "pgsqlite":
        lines = (HERE / "expected_failures.txt").read_text().splitlines()
        known = {line.split("#")[0].strip() for line in lines} - {""}
    release = reference.release() if a.target == "postgres" else 0
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name in a.names or CLIENTS:
        if name in SQLI and a.target != "pgsqlite":
            continue
        if a.target == "postgres" and (name in OF_18) != (release == 18):
            continue
        if not shutil.which(CLIENTS[name][0]):
            counts["skipped"] += 1
            print(f"SKIPPED {name}: {CLIENTS[name][0]} is not installed")
            continue
        ok, output = run(name, a.target)
        if ok and name not in known:
            counts["passed"] += 1
            print(f"ok      {name}")
            if a.verbose:
                print("        " + "\n        ".join(output.strip().splitlines()))
        elif ok:
            counts["failed"] += 1
            print(f"FAILED  {name} passes: take it out of expected_failures.txt")
        elif name in known:
            counts["skipped"] += 1
            print(f"***** KNOWN FAILURE: {name} does not work with pgsqlite yet; its last lines:")
            print("      " + "\n      ".join(output.strip().splitlines()[-3:]))
        else:
            counts["failed"] += 1
            print(f"FAILED  {name}\n{output}")
    print(f"tests/clients: {a.target}")
    print(", ".join(f"{n} {word}" for word, n in counts.items() if n or word != "skipped"))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
