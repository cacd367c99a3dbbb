"""What a type checker says of programs: right ones pass, wrong arguments are found (an unused `ignore` is an error)."""

import subprocess
import sys

import pytest

PROGRAM = """
import asyncio
from collections import OrderedDict

import informix_db
from informix_db import BlobLocator, Row, aio


def blocking(locator: BlobLocator) -> int:
    connection = informix_db.connect("host", 9088, user="u", password="p", row_factory=dict)
    connection.execute("select 1 from t where a = ?", (1,))
    connection.execute("select 1 from t where a = :a", {"a": 1})
    connection.execute("select 1 from t where a = ?", 5)  # type: ignore[arg-type]
    connection.cursor(row_factory=Row).executemany("insert into t values (?)", [(1,), [2], {"a": 3}])
    connection.cursor(row_factory=OrderedDict)
    connection.cursor(row_factory=3)  # type: ignore[arg-type]
    content: bytes = connection.read_large_object(locator)
    with open("file", "wb") as file:
        size: int = connection.read_large_object(locator, into=file)
    informix_db.create_pool("host", user="u", password="p", max_sze=3)  # type: ignore[call-arg]
    return len(content) + size


async def asynchronous() -> None:
    connection = await aio.connect("host", user="u", password="p")
    await connection.execute("select 1 from t", "x" and None)
    await aio.connect("host", user="u", tmeout=3)  # type: ignore[call-arg]


asyncio.run(asynchronous())
"""


def test_a_type_checker_finds_wrong_arguments(tmp_path):
    pytest.importorskip("mypy")
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
