"""The codecs alone: no server, no socket."""

from struct import pack

import pytest

from informix_db._core.messages.describe import Column
from informix_db._core.rowplan import Plan
from informix_db._core.types.decode import decode
from informix_db._core.types.encode import bind, encode_param

pytestmark = pytest.mark.benchmark


def column(name, code, length):
    return Column(name, code, 0, 0, "", "", length)


COLUMNS = [
    column("id", 2, 4),
    column("name", 13, 50),
    column("price", 3, 8),
    column("day", 7, 4),
    column("big", 52, 8),
]
PAYLOAD = pack(">i", 7) + b"\x0bhello world" + pack(">diq", 1.5, 46000, 1 << 40)
MESSAGE = pack(">hhi", 14, 0, len(PAYLOAD)) + PAYLOAD + b"\0" * (len(PAYLOAD) & 1)
FORTY_TWO = pack(">i", 42)


def test_calibration(benchmark):
    """Pure Python of a fixed amount: tells how fast this machine is at the moment, for `compare.py`."""

    def work():
        total = 0
        for i in range(100):
            total += i * i
        return total

    assert benchmark(work) == 328350


def test_decode_int(benchmark):
    assert benchmark(decode, 2, FORTY_TWO) == 42


def test_decode_varchar_short(benchmark):
    assert benchmark(decode, 13, b"hello") == "hello"


def test_decode_varchar_utf8(benchmark):
    assert benchmark(decode, 13, "grüße €".encode(), "utf-8") == "grüße €"


def test_decode_decimal(benchmark):
    assert str(benchmark(decode, 5, bytes.fromhex("3d57412c0000"), "", 0x0A02)) == "-1234.56"


def test_parse_tuple_payload_5_columns(benchmark):
    """One row of five columns with its TUPLE header."""
    plan = Plan(COLUMNS, "iso-8859-1")

    def row():
        rows = []
        plan.decode_rows(MESSAGE, 0, len(MESSAGE), rows)
        return rows

    assert benchmark(row)[0][:3] == (7, "hello world", 1.5)


def test_parse_run_of_1000_rows(benchmark):
    """The same row a thousand times in one buffer, as a fetch delivers them."""
    plan = Plan(COLUMNS, "iso-8859-1")
    data = MESSAGE * 1000

    def rows():
        out = []
        plan.decode_rows(data, 0, len(data), out)
        return out

    assert len(benchmark(rows)) == 1000


def test_encode_param_int(benchmark):
    assert len(benchmark(encode_param, 42)) == 10


def test_encode_param_str(benchmark):
    assert len(benchmark(encode_param, "hello")) == 14


def test_bind_5_parameters(benchmark):
    assert benchmark(bind, (7, "hello world", 1.5, None, 42), "iso-8859-1")
