"""What a type checker says of programs: right ones pass, wrong arguments are found (an unused `ignore` is an error)."""

import inspect
import re
import subprocess
import sys

import pytest

import informix_db
import informix_db.aio
import informix_db.options

PROGRAM = """
import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence

import informix_db
from informix_db import BlobLocator, Connection, Cursor, Row, Value, aio


def blocking(locator: BlobLocator) -> int:
    connection = informix_db.connect("host", 9088, user="u", password="p", row_factory=dict)
    connection.execute("select 1 from t where a = ?", (1,))
    connection.execute("select 1 from t where a = :a", {"a": 1})
    connection.execute("select 1 from t where a = ?", 5)  # type: ignore[arg-type]
    connection.cursor(row_factory=Row).executemany("insert into t values (?)", [(1,), [2], {"a": 3}])
    connection.cursor(row_factory=OrderedDict)
    connection.cursor(row_factory=3)  # type: ignore[call-overload]
    content: bytes = connection.read_large_object(locator)
    with open("file", "wb") as file:
        size: int = connection.read_large_object(locator, into=file)
    informix_db.create_pool("host", user="u", password="p", max_sze=3)  # type: ignore[call-overload]
    return len(content) + size


async def asynchronous() -> None:
    connection = await aio.connect("host", user="u", password="p")
    await connection.execute("select 1 from t", "x" and None)
    await aio.connect("host", user="u", tmeout=3)  # type: ignore[call-overload]


def kept(connection: Connection, cursor: Cursor) -> tuple[Value, ...] | None:
    return cursor.fetchone()


class Customer:
    def __init__(self, number: int) -> None:
        self.number = number


def customers(names: Sequence[str]) -> Callable[[tuple[Value, ...]], Customer]:
    def make(values: tuple[Value, ...]) -> Customer:
        number = values[0]
        assert isinstance(number, int)
        return Customer(number)

    return make


async def rows() -> None:
    plain = informix_db.connect("host", user="u")
    reveal_type(plain.cursor().fetchone())
    reveal_type(plain.cursor(row_factory=customers).fetchall())
    reveal_type(informix_db.connect("host", user="u", row_factory=customers).cursor().fetchone())
    reveal_type(informix_db.connect("host", user="u", row_factory=Row).execute("select 1").fetchmany())
    pool = aio.create_pool(host="host", user="u", row_factory=customers)
    async with pool.connection() as connection:
        async for customer in connection.cursor():
            reveal_type(customer)


asyncio.run(asynchronous())
"""

REVEALED = [
    "tuple[Value, ...] | None",
    "list[program.Customer]",
    "program.Customer | None",
    "list[informix_db.rows.Row]",
    "program.Customer",
]


def test_a_type_checker_finds_wrong_arguments(tmp_path):
    pytest.importorskip("mypy")
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    value = re.search(r'Revealed type is "tuple\[(.*), \.\.\.\] \| None"', done.stdout)[1]
    found = re.findall(r'Revealed type is "(.*)"', done.stdout)
    assert [text.replace(value, "Value") for text in found] == REVEALED


#: Special methods that programs call.
CALLED = ("__init__", "__getitem__", "__getattr__", "__enter__", "__iter__", "__next__", "__aenter__", "__anext__")


def signatures(thing, name):
    """What can be called of a public class or function, by name."""
    if inspect.isfunction(thing) or inspect.ismethod(thing):
        yield name, thing
    elif inspect.isclass(thing) and thing.__module__.startswith("informix_db"):
        for member, value in vars(thing).items():
            if member.startswith("_") and not re.fullmatch(
                r"__(init|call|getitem|enter|exit|iter|next|await)__", member
            ):
                continue
            if isinstance(value, property):
                value = value.fget
            elif isinstance(value, classmethod | staticmethod):
                value = value.__func__
            yield from signatures(inspect.unwrap(value) if callable(value) else value, f"{name}.{member}")


def test_no_public_annotation_is_any():
    """`Any` would hide mistakes of those who use the package."""
    loose = []
    for module in (informix_db, informix_db.aio):
        for public in module.__all__:
            for name, function in signatures(getattr(module, public), public):
                # only those that are written out count: dataclasses and NamedTuples have none of their own
                texts = {k: v for k, v in getattr(function, "__annotations__", {}).items() if isinstance(v, str)}
                loose += [f"{name}({k}: {v})" for k, v in texts.items() if re.search(r"\bAny\b", v)]
    for options in (informix_db.options.ConnectOptions, informix_db.options.PoolOptions):
        loose += [f"{k}: {v}" for k, v in options.__annotations__.items() if re.search(r"\bAny\b", str(v))]
    assert loose == []
