#!/usr/bin/env python3
"""Drivers that know several servers find the primary and the standby, also after a promotion; a session that is open is told of it.

    drivers.py [--package FILE]      psycopg, psycopg2, asyncpg; pgx, where there is Go; pg-parallel, if FILE is its built entry
"""

from __future__ import annotations

import argparse
import asyncio
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "litestream"))
sys.path.insert(0, str(HERE))
import kills  # noqa: E402

QUERY = "SELECT current_setting('unix_socket_directories')"
#: By driver: what it takes of target_session_attrs.
ALL = ["read-write", "read-only", "primary", "standby", "prefer-standby"]
#: psycopg tries one host after the other, each by itself: the first that answers is as good as a standby.
LEFT_OUT = {("psycopg", "prefer-standby")}
FOLLOW = {"read-write": 0, "primary": 0, "read-only": 1, "standby": 1, "prefer-standby": 1}


def psycopg_finds(nodes: list[kills.Node], attributes: str) -> str:
    import psycopg

    with psycopg.connect(f"host={','.join(n.dir for n in nodes)} port=5432 user=postgres dbname=main target_session_attrs={attributes}") as c:
        return c.execute(QUERY).fetchone()[0]


def psycopg2_finds(nodes: list[kills.Node], attributes: str) -> str:
    import psycopg2

    connection = psycopg2.connect(f"host={','.join(n.dir for n in nodes)} port=5432 user=postgres dbname=main target_session_attrs={attributes}")
    try:
        with connection.cursor() as cursor:
            cursor.execute(QUERY)
            return cursor.fetchone()[0]
    finally:
        connection.close()


def asyncpg_finds(nodes: list[kills.Node], attributes: str) -> str:
    import asyncpg

    async def find() -> str:
        connection = await asyncpg.connect(
            host=[n.dir for n in nodes], port=5432, user="postgres", database="main", target_session_attrs=attributes
        )
        try:
            return await connection.fetchval(QUERY)
        finally:
            await connection.close()

    return asyncio.run(find())


def programs(package: str | None) -> dict:
    found = {"psycopg": psycopg_finds, "psycopg2": psycopg2_finds, "asyncpg": asyncpg_finds}

    def of(words: list[str], separator: str = ",") -> object:
        def finds(nodes: list[kills.Node], attributes: str) -> str:
            text = f"host={separator.join(n.dir for n in nodes)} port=5432 user=postgres dbname=main target_session_attrs={attributes}"
            done = subprocess.run([*words, text], capture_output=True, text=True)
            return done.stdout.strip() or done.stderr.strip()[-300:]

        return finds

    if shutil.which("go"):
        made = os.path.join(tempfile.mkdtemp(prefix="pgsqlite-pgx."), "pgx")
        subprocess.run(["go", "build", "-o", made, "."], cwd=HERE / "pgx", check=True)
        found["pgx"] = of([made])
    if package:
        found["pg-parallel"] = of(["node", str(HERE / "pg-parallel.mjs"), package])
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--package")
    options = parser.parse_args()
    drivers, problems = programs(options.package), []
    folder = tempfile.mkdtemp(prefix="pgsqlite-standby.")
    archive = f"file:{folder}/archive"
    primary, standby = kills.Node(f"{folder}/a", "--archive", archive), kills.Node(f"{folder}/b", "--standby", archive)
    try:
        primary.start_server()
        kills.asked(primary, "SELECT 1")
        standby.start_server()
        kills.asked(standby, "SELECT 1")

        def compare(when: str, wanted: dict[str, kills.Node]) -> None:
            for driver, finds in drivers.items():
                for attributes, node in wanted.items():
                    if (driver, attributes) in LEFT_OUT:
                        continue
                    for order in ([primary, standby], [standby, primary]):
                        try:
                            found = finds(order, attributes)
                        except Exception as e:  # noqa: BLE001
                            found = f"{type(e).__name__}: {e}"
                        if found != node.dir:
                            problems.append(f"{driver}, {attributes}, {when}: {found}, not {node.dir}")

        nodes = [primary, standby]
        compare("both are there", {a: nodes[n] for a, n in FOLLOW.items()})
        import psycopg

        session = psycopg.connect(f"host={standby.dir} port=5432 user=postgres dbname=main", autocommit=True)
        told = [session.info.parameter_status("in_hot_standby")]
        primary.end(signal.SIGKILL)
        session.execute("SELECT pg_promote()")
        session.execute("SELECT 1")
        told.append(session.info.parameter_status("in_hot_standby"))
        session.execute("CREATE TABLE made (i int)")
        session.close()
        if told != ["on", "off"]:
            problems.append(f"in_hot_standby of an open session: {told}")
        compare("after the promotion", {"read-write": standby, "primary": standby, "prefer-standby": standby})
    finally:
        for node in (primary, standby):
            node.end(signal.SIGTERM)
        shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(problems))
    print(f"drivers: {', '.join(drivers)}: {len(problems)} problems")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
