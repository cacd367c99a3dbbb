"""The tables of TPC-H, of the Star Schema Benchmark and of a second set, and their queries, for the tests here and for bench/.

The rows come from tpchgen-cli (PyPI), which gives the same rows for a scale each time.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "reports"
TABLES = ("region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem")


def generated(scale: str) -> pathlib.Path:
    """The folder with the rows of a scale, made when it is not there."""
    folder = BUILD / scale
    if not (folder / "done").exists():
        beside = pathlib.Path(sys.executable).with_name("tpchgen-cli")
        program = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
        if program is None:
            raise SystemExit("tpchgen-cli is missing: run this with build/venv/bin/python (make build/venv/done)")
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([program, "-s", scale, "--overwrite", "--output-dir", str(folder)], check=True)
        (folder / "done").touch()
    return folder


def rows(folder: pathlib.Path, table: str) -> bytes:
    """A table's rows as COPY reads them with DELIMITER '|'. (Each line of the generator ends in a delimiter.)"""
    return (folder / f"{table}.tbl").read_bytes().replace(b"|\n", b"\n")


def load(connection, folder: pathlib.Path) -> dict[str, float]:
    """Makes and fills all tables. Returns the seconds that the parts took."""
    took = {}

    def timed(name: str, work) -> None:
        began = time.perf_counter()
        work()
        took[name] = time.perf_counter() - began

    def copy() -> None:
        for table in TABLES:
            data = rows(folder, table)
            for kind, body in connection.simple(f"COPY {table} FROM STDIN (DELIMITER '|')", data):
                if kind == b"E":
                    raise RuntimeError(f"COPY {table}: {body!r}")

    connection.query((HERE / "tpch_tables.sql").read_text())
    timed("COPY of the tables of TPC-H", copy)
    timed("keys, indexes and ANALYZE", lambda: connection.query((HERE / "tpch_indexes.sql").read_text()))
    connection.query((HERE / "ssb_tables.sql").read_text())
    timed("INSERT … SELECT of the star schema", lambda: connection.query((HERE / "ssb_rows.sql").read_text()))
    return took


def load_mixed(connection, rows: int) -> float:
    """Makes and fills the tables of the second set, with so many events. Returns the seconds that it took."""
    began = time.perf_counter()
    connection.query((HERE / "mixed_tables.sql").read_text().replace(":rows", str(rows)))
    return time.perf_counter() - began


def named(file: str) -> dict[str, str]:
    """The queries of a file, each under its name."""
    parts = re.split(r"^-- ([QSM][0-9.]+)\n", (HERE / file).read_text(), flags=re.M)
    return {name: text.strip().rstrip(";") for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def queries() -> dict[str, str]:
    """Name → text: Q1 to Q22 are TPC-H's, S1.1 to S4.3 the Star Schema Benchmark's."""
    return named("tpch_queries.sql") | named("ssb_queries.sql")


def mixed_queries() -> dict[str, str]:
    """Name → text: M1 to M30, over documents, texts, windows, recursion, LATERAL, arrays and DISTINCT ON."""
    return named("mixed_queries.sql")
