"""The compiled row decoder gives what the generated Python function gives, for right and wrong bytes alike."""

import random

import pytest

from informix_db._core import speed
from informix_db._core.rowplan import compile_plan
from peer.server import Col, tuple_message
from test_hostile import mutate, plan_of, sample

pytestmark = pytest.mark.skipif(not speed.installed(), reason="informix-db-speed is not installed")

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
