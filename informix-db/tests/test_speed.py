"""The compiled row decoder gives what the generated Python function gives, for right and wrong bytes alike."""

import random

import pytest

import informix_db
from informix_db._core import speed
from informix_db._core.rowplan import compile_plan
from peer.server import Col, tuple_message
from test_hostile import mutate, plan_of, sample

pytestmark = pytest.mark.skipif(not speed.installed(), reason="informix-sqli-speed is not installed")

TYPES = [
    (2, 4, 0, ""), (1, 2, 0, ""), (52, 8, 0, ""), (3, 8, 0, ""), (4, 4, 0, ""), (5, 0x0A02, 0, ""), (5, 0x0500, 0, ""),
    (5, 0x0303, 0, ""), (5, 0x10FF, 0, ""), (8, 0x0C02, 0, ""), (7, 4, 0, ""), (10, 0x0E0A, 0, ""),
    (10, 0x130F, 0, ""), (10, 0x0F0B, 0, ""), (10, 0x066A, 0, ""), (10, 0x0424, 0, ""), (10, 0x0804, 0, ""),
    (14, 0x144F, 0, ""), (14, 0x0B02, 0, ""), (0, 5, 0, ""), (15, 9, 0, ""), (13, 30, 0, ""), (17, 10, 0, ""),
    (40, 99, 1, "lvarchar"), (41, 1, 5, "boolean"), (41, 72, 10, "blob"), (21, 0, 0, "int"), (22, 0, 0, "row"),
    (11, 56, 0, ""), (12, 56, 0, ""),
]  # fmt: skip


def attempt(function, data):
    rows = []
    try:
        taken = function(data, 0, len(data), rows)
    except Exception:
        taken = "error"
    return taken, repr(rows)


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-8", "cp1252"])
def test_the_same_results(encoding):
    rng = random.Random(encoding)
    outcomes = {"rows": 0, "errors": 0}
    for _ in range(1500):
        chosen = [rng.choice(TYPES) for _ in range(rng.randint(1, 6))]
        plan = plan_of([Col(f"c{i}", t, n, x, e) for i, (t, n, x, e) in enumerate(chosen)], encoding)
        pure = compile_plan(plan.shapes, encoding)
        compiled = speed.row_decoder(plan.shapes, encoding)
        payloads = [b"".join(sample(rng, *t) for t in chosen) for _ in range(3)]
        if rng.random() < 0.4:
            payloads[1] = mutate(rng, payloads[1])
        data = b"".join(map(tuple_message, payloads))
        expected, got = attempt(pure, data), attempt(compiled, data)
        if expected != got:
            # A last row that is shorter than its columns is left to the caller by one and refused by the other; the
            # caller refuses it as well.
            assert got[0] == "error"
            assert expected[0] != len(data)
            assert expected[1] == got[1]
        outcomes["errors" if got[0] == "error" else "rows"] += 1
    assert min(outcomes.values()) > 200, outcomes


def test_partial_input():
    plan = plan_of([Col("a", 2, 4), Col("b", 13, 20)])
    data = tuple_message(b"\0\0\0\1\2ab") + tuple_message(b"\0\0\0\2\2cd")
    compiled = speed.row_decoder(plan.shapes, "utf-8")
    for end in range(len(data) + 1):
        rows = []
        taken = compiled(data, 0, end, rows)
        assert (taken, len(rows)) == {0: (0, 0), 1: (16, 1), 2: (32, 2)}[end // 16]
    for pos, end in ((0, len(data) + 1), (5, 4)):
        with pytest.raises(ValueError):
            compiled(data, pos, end, [])
    with pytest.raises(ValueError):
        speed.informix_db_speed.RowDecoder([("nosuch", 1, 0, None)], "utf-8")


def test_objects_do_not_leak():
    import gc
    import sys

    plan = plan_of([Col("a", 2, 4), Col("b", 13, 20), Col("c", 7, 4), Col("d", 5, 0x0A02)])
    payload = b"\0\0\x7f\1\2ab\0\0\x63\xe0\xc2\x0c\x22\0\0\0"
    bad = b"\0\0\x7f\1\2ab\0\0\x63\xe0\xc2\xff\x22\0\0\0"
    compiled = speed.row_decoder(plan.shapes, "utf-8")
    for data in (tuple_message(payload), tuple_message(bad)):
        attempt(compiled, data)
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(2000):
            attempt(compiled, data)
        gc.collect()
        assert sys.getallocatedblocks() - before < 1000  # one object per row would be 2000


def test_parameters_are_the_same():
    """The compiled encoder gives the bytes of the pure one, or leaves the value to it."""
    import datetime as dt
    from decimal import Decimal

    from informix_db._core.types import encode

    param, bind = speed.param_encoders()
    rng = random.Random(7)

    class Sub(str):
        pass

    def some():
        return rng.choice(
            [
                rng.randint(-(1 << 66), 1 << 66), rng.randint(-(1 << 34), 1 << 34), rng.randint((1 << 63) - 3, 1 << 63),
                rng.randint(-(1 << 31) - 2, -(1 << 31) + 2), -(1 << 63), 0, -1, 1.5, -0.0, float("nan"), float("inf"),
                1e308, 5e-324, None, True, False, "", "a", "ab", "\xe4", "\u20ac", "\udc80", "x" * 32739, "x" * 32740,
                "\0", Sub("sub"), b"bytes", dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1899, 12, 31),
                dt.datetime(2026, 1, 2), Decimal("1.5"), dt.time(1),
            ]
        )  # fmt: skip

    def attempt(function, *arguments):
        try:
            return function(*arguments)
        except informix_db.Error as error:
            return type(error), str(error)

    taken = 0
    for _ in range(4000):
        values = [some() for _ in range(rng.randint(0, 6))]
        values = rng.choice([tuple, list])(values)
        encoding = rng.choice(["iso-8859-1", "utf-8", "cp1252"])
        compiled, pure = bind(values, encoding), attempt(encode.bind_pure, values, encoding)
        taken += compiled is not None
        assert compiled is None or compiled == pure
        assert attempt(encode.bind, values, encoding) == pure
        for value in values:
            assert attempt(param, value, encoding) == attempt(encode.encode_param_pure, value, encoding)
    assert taken > 500
    assert bind((1,) * 32767, "utf-8") == encode.bind_pure((1,) * 32767, "utf-8")
    for wrong in ({1: 2}, "ab", None, 5):
        assert bind(wrong, "utf-8") is None


def test_nothing_ends_the_interpreter():
    """Calls that no caller here makes are errors of Python."""
    param, bind = speed.param_encoders()
    for call in (
        lambda: param(),
        lambda: param(1, 2),
        lambda: param(object()),
        lambda: bind([1] * 40000, "utf-8"),
        lambda: speed.informix_db_speed.RowDecoder([("int32", 1, 0, None)], "utf-8").decode("x", 0, 1, []),
        lambda: speed.informix_db_speed.RowDecoder([("int32", 4, 0, None)], "utf-8").decode(b"x", 0, -1, []),
        lambda: speed.informix_db_speed.RowDecoder([("int32", 4, 0, None)], "a\0b"),
        lambda: speed.informix_db_speed.RowDecoder([("call", 1, 0, None)], "utf-8").decode(
            tuple_message(b"a"), 0, 10, []
        ),
        lambda: speed.informix_db_speed.RowDecoder(
            [("datetime", 0, 0, None), ("decimal", 0, 255, None), ("int8", 0, 0, None), ("varchar", 0, 0, None)],
            "utf-8",
        ).decode(tuple_message(b""), 0, 8, []),
    ):
        with pytest.raises(Exception):
            call()


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-8", "cp1252"])
def test_columns_have_the_values_of_rows(encoding, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    from informix_db import columnar

    rng = random.Random(encoding)
    outcomes = {"tables": 0, "errors": 0}
    # large objects are read with the rows
    types = [t for t in TYPES if t[0] not in (11, 12)]
    for _ in range(400):
        chosen = [rng.choice(types) for _ in range(rng.randint(1, 6))]
        plan = plan_of([Col(f"c{i}", t, n, x, e) for i, (t, n, x, e) in enumerate(chosen)], encoding)
        payloads = [b"".join(sample(rng, *t) for t in chosen) for _ in range(4)]
        if rng.random() < 0.3:
            payloads[1] = mutate(rng, payloads[1])
        segments = [b"".join(map(tuple_message, payloads[:2])), b"".join(map(tuple_message, payloads[2:]))]
        results = []
        for columns in (columnar._compiled_columns, lambda *_: None):
            monkeypatch.setattr(columnar, "_compiled_columns", columns)
            try:
                table = columnar.to_arrow(plan, [], segments)
                table.validate(full=True)
                results.append((table.schema, table.to_pylist()))
            except (informix_db.Error, pa.ArrowInvalid, OverflowError) as error:
                results.append(type(error))
        monkeypatch.undo()
        assert repr(results[0]) == repr(results[1])
        outcomes["errors" if isinstance(results[0], type) else "tables"] += 1
    assert min(outcomes.values()) > 20, outcomes


def test_columns_make_no_object_per_value():
    import sys

    plan = plan_of([Col("a", 2, 4), Col("b", 13, 20), Col("c", 7, 4), Col("d", 5, 0x0A02), Col("e", 10, 0x0E0A)])
    payload = b"\0\0\x7f\1\2ab\0\0\x63\xe0\xc2\x0c\x22\0\0\0\xc7\x14\x1a\x06\x14\x0c\x22\x38"
    segment = tuple_message(payload) * 1000
    builder = speed.column_builder(plan.shapes, "utf-8")
    before = sys.getallocatedblocks()
    builder.append(segment)
    assert sys.getallocatedblocks() - before < 50
    assert [length for length, *_ in builder.finish()] == [1000] * 5
    with pytest.raises(ValueError):
        speed.column_builder(plan.shapes, "utf-8").append(segment[:-1])
