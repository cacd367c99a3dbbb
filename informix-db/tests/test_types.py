"""Every type against the byte examples of the protocol's description, both ways."""

import datetime as dt
from decimal import Decimal
from struct import pack

import pytest

import informix_db
from informix_db import DataError, IntervalYM, NotSupportedError, PartialDatetime, ProgrammingError, ProtocolError, Text
from informix_db._core.capabilities import Layout
from informix_db._core.messages.describe import Column
from informix_db._core.messages.replies import Reply
from informix_db._core.messages.requests import EOT
from informix_db._core.rowplan import Plan, RowSink
from informix_db._core.types import decode as d
from informix_db._core.types import tupleform
from informix_db._core.types.codes import Qualifier, T
from informix_db._core.types.encode import bind, encode_param
from informix_db._core.wire import Inbox

SECOND = dt.timedelta(seconds=1)

# type, encoded length, bytes, value: what real servers and IBM's driver have been seen to send.
FROM_SERVER = [
    (T.INTEGER, 4, "fffffffb", -5),
    (T.INTEGER, 4, "80000000", None),
    (T.SERIAL, 4, "00000007", 7),
    (T.SMALLINT, 2, "fffe", -2),
    (T.SMALLINT, 2, "8000", None),
    (T.BIGINT, 8, "0000010000000000", 1 << 40),
    (T.BIGSERIAL, 8, "8000000000000000", None),
    (T.INT8, 10, "ffffbe991a140000001c", -123456789012),
    (T.INT8, 10, "00010000002a00000000", 42),
    (T.SERIAL8, 10, "00000000000000000000", None),
    (T.FLOAT, 8, "3ff8000000000000", 1.5),
    (T.FLOAT, 8, "ffffffffffffffff", None),
    (T.SMALLFLOAT, 4, "c0100000", -2.25),
    (T.SMALLFLOAT, 4, "ffffffff", None),
    (T.DECIMAL, 0x0A02, "3d57412c0000", Decimal("-1234.56")),
    (T.DECIMAL, 0x0804, "c201172d00", Decimal("123.4500")),
    (T.DECIMAL, 0x0804, "3d624c3700", Decimal("-123.4500")),
    (T.DECIMAL, 0x0804, "8000000000", Decimal("0.0000")),
    (T.DECIMAL, 0x0804, "0000000000", None),
    (T.DECIMAL, 0x10FF, "bf0a0000000000000000", Decimal("0.001")),
    (T.DECIMAL, 0x0500, "c2010000", Decimal("100")),
    (T.DECIMAL, 0x0101, "c00a", Decimal("0.1")),
    (T.DECIMAL, 0x0303, "405a00", Decimal("-0.001")),
    (T.DECIMAL, 0x20FF, "8001" + "00" * 16, Decimal("1e-130")),
    (T.DECIMAL, 0x20FF, "7f63" + "00" * 16, Decimal("-1e-130")),
    (T.DECIMAL, 0x20FF, "ff0a" + "00" * 16, Decimal("1e125")),
    (T.DECIMAL, 0x20FF, "005a" + "00" * 16, Decimal("-1e125")),
    (T.MONEY, 0x0C02, "c1635f00000000", Decimal("99.95")),
    (T.DATE, 4, "00000000", dt.date(1899, 12, 31)),
    (T.DATE, 4, "ffffffff", dt.date(1899, 12, 30)),
    (T.DATE, 4, "000063e0", dt.date(1970, 1, 1)),
    (T.DATE, 4, "0000b3c7", dt.date(2026, 1, 2)),
    (T.DATE, 4, "fff56aa6", dt.date(1, 1, 1)),
    (T.DATE, 4, "002d2480", dt.date(9999, 12, 31)),
    (T.DATE, 4, "80000000", None),
    (T.DATETIME, 0x0E0A, "c7141a06140c2238", dt.datetime(2026, 6, 20, 12, 34, 56)),
    (T.DATETIME, 0x0E0A, "c601060100000000", dt.datetime(1, 6, 1)),
    (T.DATETIME, 0x0E0A, "0000000000000000", None),
    (T.DATETIME, 0x130F, "c7141a01020304050c2232", dt.datetime(2026, 1, 2, 3, 4, 5, 123450)),
    (T.DATETIME, 0x110D, "c7141a0b150000000c1e", dt.datetime(2026, 11, 21, 0, 0, 0, 123000)),
    (T.DATETIME, 0x0804, "c601020300", dt.date(1, 2, 3)),
    (T.DATETIME, 0x0400, "c60100", dt.date(1, 1, 1)),
    (T.DATETIME, 0x066A, "c2040500", dt.time(0, 4, 5)),
    (T.DATETIME, 0x066A, "80000000", dt.time(0, 0, 0)),
    (T.DATETIME, 0x0468, "c3173b", dt.time(23, 59)),
    (T.DATETIME, 0x05CF, "be0a0000", dt.time(0, 0, 0, 10)),
    (T.DATETIME, 0x0424, "c50614", PartialDatetime("MONTH TO DAY", month=6, day=20)),
    (T.DATETIME, 0x0646, "c4140c00", PartialDatetime("DAY TO HOUR", day=20, hour=12)),
    (T.INTERVAL, 0x05AC, "3d5a0001", -dt.timedelta(seconds=999, milliseconds=990)),
    (T.INTERVAL, 0x0E4F, "c403031b010c223200", dt.timedelta(3, 3 * 3600 + 27 * 60 + 1, 123450)),
    (T.INTERVAL, 0x05CF, "415a0000", dt.timedelta(microseconds=-10)),
    (T.INTERVAL, 0x05CF, "80000000", dt.timedelta(0)),
    (T.INTERVAL, 0x144F, "c80000000003040506000000", dt.timedelta(3, 4 * 3600 + 5 * 60 + 6)),
    (T.INTERVAL, 0x0B02, "ca000000000206", IntervalYM(30)),
    (T.INTERVAL, 0x0B02, "c6020600000000", IntervalYM(30)),
    (T.CHAR, 6, "616263202020", "abc"),
    (T.CHAR, 6, "002020202020", None),
    (T.NCHAR, 5, "6e63682020", "nch"),
]
# Types whose bytes in a row carry a length.
ENVELOPED = [
    (T.VARCHAR, 20, 0, "", "027663", "vc"),
    (T.VARCHAR, 20, 0, "", "00", ""),
    (T.NVARCHAR, 20, 0, "", "0100", None),
    (T.UDTVAR, 2048, 1, "lvarchar", "00000000046c766172", "lvar"),
    (T.UDTVAR, 2048, 1, "lvarchar", "0100000000", None),
    (T.LVARCHAR, 2048, 0, "", "0000000000", ""),
    (T.UDTFIXED, 1, 5, "boolean", "000000000174", True),
    (T.UDTFIXED, 1, 5, "boolean", "000000000166", False),
    (T.UDTFIXED, 1, 5, "boolean", "0100000000", None),
    (T.BOOLEAN, 1, 0, "", "000000000101", True),
    (T.UDTFIXED, 72, 10, "blob", "0000000090" + b"61".hex() * 72, informix_db.BlobLocator(b"a" * 72)),
    (T.UDTFIXED, 72, 11, "clob", "0100000000", None),
    (
        T.LIST,
        0,
        0,
        "integer",
        "0000000009" + b"LIST{1,2}".hex(),
        informix_db.CollectionValue(b"LIST{1,2}", "LIST", "integer"),
    ),
    (T.SET, 0, 0, "", "0100000000", None),
    (T.ROW, 0, 0, "person", "000000000a" + b"ROW('a',1)".hex(), informix_db.RowValue(b"ROW('a',1)", "person")),
]


def column(code, length, xid=0, ext="", flags=0, name="c"):
    return Column(name, int(code), flags, xid, "", ext, length)


def message(payload):
    return pack(">hhi", 14, 0, len(payload)) + payload + b"\0" * (len(payload) & 1)


def rows_of(columns, *payloads, encoding="iso-8859-1"):
    plan = Plan(columns, encoding)
    sink = RowSink(plan)
    data = b"".join(map(message, payloads))
    inbox = Inbox()
    inbox.feed(data + EOT)
    assert Reply(Layout(), encoding, sink).consume(inbox)
    if sink.error:
        raise sink.error
    # The slow way, which names wrong columns, must agree with the generated function.
    assert [plan.row(p) for p in payloads] == sink.rows
    return sink.rows


@pytest.mark.parametrize(("code", "length", "raw", "value"), FROM_SERVER)
def test_decode_fixed_width(code, length, raw, value):
    raw = bytes.fromhex(raw)
    got = d.decode(code, raw, encoded_length=length)
    assert got == value
    assert type(got) is type(value)
    if isinstance(value, Decimal) and length & 255 != 255:
        assert str(got) == str(value)
    # In a row, between sentinels: a wrong width would show.
    around = rows_of(
        [column(T.INTEGER, 4), column(code, length), column(T.INTEGER, 4)], pack(">i", 7) + raw + pack(">i", 8)
    )
    assert around == [(7, value, 8)]


@pytest.mark.parametrize(("code", "length", "xid", "ext", "raw", "value"), ENVELOPED)
def test_decode_in_envelope(code, length, xid, ext, raw, value):
    tail = column(T.INTEGER, 4)
    assert rows_of([column(code, length, xid, ext), tail], bytes.fromhex(raw) + pack(">i", 8)) == [(value, 8)]


def test_the_exponent_counts():
    # The values that ignoring the exponent gets wrong.
    assert d.decode(T.DATETIME, bytes.fromhex("c2040500"), encoded_length=0x066A) != dt.time(4, 5)
    assert d.decode(T.DATETIME, bytes.fromhex("c60100"), encoded_length=0x0400).year == 1
    assert d.decode(T.DATETIME, bytes.fromhex("be0a0000"), encoded_length=0x05CF).microsecond == 10


FROM_CLIENT = [
    (42, "000200000a000000002a"),
    (-5, "000200000a00fffffffb"),
    (1 << 40, "0034000013000000010000000000"),
    (1.5, "0003000000003ff8000000000000"),
    ("abc", "000000000000000361626300"),
    ("hello", "000000000000000568656c6c6f00"),
    ("", "0000000000000000"),
    (dt.date(2026, 5, 4), "0007000000000000b441"),
    (dt.date(2026, 1, 2), "0007000000000000b3c7"),
    (dt.datetime(2026, 5, 4, 12, 30, 45), "000a00000e0a0008c7141a05040c1e2d"),
    (dt.datetime(2026, 1, 2, 3, 4, 5, 123450), "000a0000130f000bc7141a01020304050c223200"),
    (dt.time(3, 4, 5), "000a0000066a0004c3030405"),
    (dt.time(0, 4, 5), "000a0000066a0004c2040500"),
    (Decimal("123.45"), "0005000006020004c201172d"),
    (Decimal("-1234.56"), "00050000060200043d57412c"),
    (Decimal("0.001"), "0005000002030002bf0a"),
    (Decimal("99.95"), "0005000004020003c1635f00"),
    (True, "00000000000000017400"),
    (False, "00000000000000016600"),
    (None, "0000ffff0000"),
    (informix_db.BlobLocator(bytes(range(72))), "002c00000004626c6f62000000480000" + "0048" + bytes(range(72)).hex()),
    (informix_db.ClobLocator(b"\1" * 72), "002c00000004636c6f62000000480000" + "0048" + "01" * 72),
]


@pytest.mark.parametrize(("value", "raw"), FROM_CLIENT)
def test_encode(value, raw):
    assert encode_param(value).hex() == raw


def test_bind_as_captured():
    # 'insert into t1 values (?,?)' with (7, 'hello'), as IBM's driver sends it.
    assert bind((7, "hello"), "iso-8859-1").hex() == "00050002000200000a0000000007000000000000000568656c6c6f00"


def test_byte_and_text_parameters_follow_in_bbind():
    raw = bind((1, b"hello world", Text("some text")), "iso-8859-1")
    descriptor = "{:04x}00000038" + "00" * 16 + "{:08x}" + "00" * 36
    expected = "00050003" + "000200000a0000000001" + descriptor.format(11, 11) + descriptor.format(12, 9)
    expected += "00290002" + "0027000b" + b"hello world".hex() + "00" + "00270000"
    expected += "00270009" + b"some text".hex() + "00" + "00270000"
    assert raw.hex() == expected


DECIMALS = "0 1 -1 10 0.5 -0.5 99 100 9999 10000 0.01 0.0001 -0.99 123456789.98765 1e20 -1e-20".split()
ROUND_TRIP = [
    *map(Decimal, DECIMALS),
    *(Decimal(f"{s}{'9' * n}.{'9' * m}") for s in "+-" for n in (1, 2, 3, 8, 16) for m in (1, 2, 3, 16)),
]


@pytest.mark.parametrize("value", ROUND_TRIP)
def test_decimal_round_trip(value):
    raw = encode_param(value)
    size = int.from_bytes(raw[6:8], "big")
    assert d.decode(T.DECIMAL, raw[8 : 8 + size]) == value


@pytest.mark.parametrize(
    "value",
    [
        dt.timedelta(0),
        dt.timedelta(3, 14706),
        -dt.timedelta(3, 14706),
        dt.timedelta(microseconds=10),
        -dt.timedelta(microseconds=10),
        dt.timedelta(999_999_999),
        dt.timedelta(hours=23, minutes=59, seconds=59, microseconds=999990),
        -dt.timedelta(100, 1),
        dt.timedelta(100),
    ],
)
def test_interval_round_trip(value):
    raw = encode_param(value)
    assert raw[:8] == bytes.fromhex("000e0000144f000c")
    assert d.decode(T.INTERVAL, raw[8:20], encoded_length=0x144F) == value


@pytest.mark.parametrize("months", [0, 1, 11, 12, 30, -1, -30, 1200, 12 * 999_999_999 + 11, -(12 * 100)])
def test_year_month_round_trip(months):
    raw = encode_param(IntervalYM(months))
    assert d.decode(T.INTERVAL, raw[8:15], encoded_length=0x0B02) == IntervalYM(months)


@pytest.mark.parametrize("year", [1, 99, 100, 1000, 1999, 2000, 9999])
def test_datetime_round_trip(year):
    for value in (
        dt.datetime(year, 1, 1),
        dt.datetime(year, 12, 31, 23, 59, 59, 999990),
        dt.datetime(year, 2, 3, 0, 0, 9),
    ):
        raw = encode_param(value)
        qualifier = int.from_bytes(raw[4:6], "big")
        size = int.from_bytes(raw[6:8], "big")
        assert size == Qualifier.of(qualifier).width
        assert d.decode(T.DATETIME, raw[8 : 8 + size], encoded_length=qualifier) == value


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        Decimal("NaN"),
        Decimal("Infinity"),
        Decimal("1e126"),
        Decimal("1e999999999"),
        Decimal("1e-140"),
        Decimal("1." + "1" * 40),
        10**40 + 1,
        dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc),
        dt.time(1, tzinfo=dt.timezone.utc),
        "x" * 40000,
        "€",
        IntervalYM(12 * 10**10),
        [float("nan")],
    ],
)
def test_values_without_an_exact_form_are_refused(value):
    with pytest.raises(DataError):
        bind((value,), "iso-8859-1")


def test_generated_encoders_agree_with_those_of_single_values():
    rng = __import__("random").Random(5)
    pool = [
        0,
        1,
        -7,
        2**31 - 1,
        2**31,
        1.5,
        -0.0,
        "",
        "a",
        "ab",
        "grüße",
        "x" * 300,
        True,
        False,
        None,
        dt.date(2026, 1, 2),
    ]
    pool += [Decimal("1.5"), dt.datetime(2026, 1, 2, 3, 4, 5), b"blob", IntervalYM(3)]
    for _ in range(2000):
        values = [rng.choice(pool) for _ in range(rng.randrange(8))]
        lobs = [v for v in values if v == b"blob"]
        expected = pack(">hh", 5, len(values)) + b"".join(map(encode_param, values))
        got = bind(values, "iso-8859-1")
        assert got[: len(expected)] == expected
        assert bool(got[len(expected) :]) == bool(lobs)


def test_unknown_python_types_are_refused():
    with pytest.raises(ProgrammingError, match="parameter 2: cannot bind a parameter of type"):
        bind((1, object()), "iso-8859-1")
    with pytest.raises(DataError, match="72 bytes"):
        bind((informix_db.BlobLocator(b""),), "iso-8859-1")


def test_subclasses_are_bound_as_their_base():
    import enum

    class Color(enum.IntEnum):
        RED = 3

    class Name(str, enum.Enum):
        A = "a"

    assert encode_param(Color.RED) == encode_param(3)
    assert encode_param(Name.A) == encode_param("a")


def test_numpy_scalars():
    np = pytest.importorskip("numpy")
    assert encode_param(np.int64(5)) == encode_param(5)
    assert encode_param(np.float64(1.5)) == encode_param(1.5)
    assert encode_param(np.float32(1.5)) == encode_param(1.5)


def test_int8_is_used_where_the_server_lacks_bigint():
    assert bind((-123456789012,), "iso-8859-1", bigint=False).hex() == "00050001001100001300ffffbe991a140000001c"


def test_integers_at_the_limits():
    for value in (2**31 - 1, -(2**31) + 1, -(2**31), 2**63 - 1, -(2**63) + 1):
        raw = encode_param(value)
        size = {2: 4, 52: 8}[raw[1]]
        assert int.from_bytes(raw[6 : 6 + size], "big", signed=True) == value
        assert d.decode(raw[1], raw[6 : 6 + size]) == value  # and is not the bytes of NULL
    assert encode_param(2**63)[1] == T.DECIMAL


def test_collections_and_rows():
    assert encode_param([1, 2])[8:] == b"LIST{1,2}\0"
    assert encode_param({5})[8:] == b"SET{5}"
    assert encode_param(("a'b", None, True, Decimal("1.5")))[8:].rstrip(b"\0") == b"ROW('a''b',NULL,'t',1.5)"
    collection = informix_db.CollectionValue(b"LIST{ROW('a''b',1),ROW(NULL,2.50)}", "LIST", "")
    assert collection.to_python() == [("a'b", 1), (None, Decimal("2.50"))]
    assert informix_db.CollectionValue(b"SET{}", "SET", "").to_python() == frozenset()
    assert informix_db.RowValue(b"ROW('x', SET{1,2}, -3, 1e5)", "").to_python() == ("x", frozenset((1, 2)), -3, 1e5)
    for wrong in (b"LIST{1", b"LIST{,}", b"ROW(1)x", b"", b"LIST{" * 100):
        with pytest.raises(ValueError):
            informix_db.RowValue(wrong, "").to_python()


# ---- what is wrong is said, with the column's name ---------------------------------------------------------------


def test_undecodable_text_names_the_column():
    columns = [column(T.INTEGER, 4, name="id"), column(T.VARCHAR, 20, name="town")]
    good, bad = pack(">i", 1) + b"\2ab", pack(">i", 2) + b"\2\xff\xfe"
    plan = Plan(columns, "utf-8")
    sink = RowSink(plan)
    data = message(good) + message(bad) + message(good)
    assert sink.consume(data, 0, len(data)) == len(data)
    assert sink.rows == [(1, "ab")]
    assert isinstance(sink.error, DataError)
    assert "'town'" in str(sink.error)
    assert sink.error.object_name == "town"


@pytest.mark.parametrize(
    ("code", "length", "raw"),
    [
        (T.DATE, 4, "7fffffff"),
        (T.DATETIME, 0x0E0A, "c7141a0d140c2238"),  # month 13
        (T.DATETIME, 0x0E0A, "c714ff06140c2238"),
        (T.DATETIME, 0x0E0A, "3814" + "00" * 6),  # negative
        (T.DATETIME, 0x066A, "c7040506"),
        (T.DECIMAL, 0x0A02, "c2ff00000000"),
        (T.DECIMAL, 0x0A02, "ff0a00000000"[:10] + "aa"),
        (T.INTERVAL, 0x0E4F, "ff03031b010c223200"),
        (T.INT8, 10, "00050000002a00000000"),
    ],
)
def test_malformed_values_name_the_column(code, length, raw):
    with pytest.raises(DataError, match="'amount'"):
        rows_of([column(code, length, name="amount")], bytes.fromhex(raw))


def test_rows_of_the_wrong_size_are_a_protocol_error():
    for columns in ([column(T.INTEGER, 4)], [column(T.INTEGER, 4), column(T.VARCHAR, 9)]):
        for payload in (b"", b"\0\0\0", b"\0\0\0\1\1a!", b"\0\0\0\1\x7fa", b"\0\0\0\1\1"):
            with pytest.raises(ProtocolError):
                rows_of(columns, payload)


def test_envelopes_that_lie_are_a_protocol_error():
    for payload in ("00ffffffff", "0000000005", "007fffffff61", "00"):
        with pytest.raises(ProtocolError):
            rows_of([column(T.UDTVAR, 9, 1, "lvarchar")], bytes.fromhex(payload))


def test_unknown_types_are_refused_by_name():
    with pytest.raises(NotSupportedError, match="'doc'.*JSON"):
        Plan([column(T.UDTVAR, 9, 77, "json", name="doc")], "utf-8")
    with pytest.raises(ProtocolError):
        Plan([column(T.DECIMAL, 0x0005)], "utf-8")
    with pytest.raises(ProtocolError):
        Plan([column(T.DATETIME, 0x0E01)], "utf-8")
    with pytest.raises(ProtocolError):
        Plan([column(T.CHAR, -1)], "utf-8")


def test_distinct_types_lie_as_what_they_are_made_of():
    assert rows_of([column(T.UDTFIXED, 1, 2050, "flag", 0x4800)], bytes.fromhex("000000000174")) == [(True,)]
    assert rows_of([column(T.UDTVAR, 1, 2051, "tag", 0x2800)], bytes.fromhex("000000000161")) == [("a",)]


def test_code_sets():
    from informix_db._core.locale import encoding_of

    assert encoding_of("en_US.8859-1") == "iso-8859-1"
    assert encoding_of("en_US.819") == "iso-8859-1"
    assert encoding_of("de_DE.utf8") == "utf-8"
    assert encoding_of("de_DE.57372") == "utf-8"
    assert encoding_of("de_DE.8859-15@euro") == "iso-8859-15"
    for wrong in ("en_US", "en_US.", "en_US.martian"):
        with pytest.raises(informix_db.InterfaceError):
            encoding_of(wrong)


def test_description_has_true_precision_and_scale():
    assert column(T.DECIMAL, 0x0A02, name="x").description() == ("x", T.DECIMAL, 12, 6, 10, 2, True)
    assert column(T.DECIMAL, 0x10FF).description()[4:6] == (16, None)
    assert column(T.INTEGER, 4, flags=0x100).description()[4:] == (10, 0, False)
    assert column(T.VARCHAR, 0x0514).description()[2:4] == (20, 20)
    assert column(T.DATETIME, 0x130F).description()[3:6] == (11, 19, 5)


# ---- the row form of insert cursors -------------------------------------------------------------------------------


def test_row_form_as_captured():
    columns = [column(T.INTEGER, 4), column(T.VARCHAR, 20)]
    encode = tupleform.row_encoder(columns, "iso-8859-1")
    assert encode((100, "b0")).hex() == "00000064026230"


@pytest.mark.parametrize(
    ("code", "length", "xid", "value"),
    [
        (T.SMALLINT, 2, 0, -5),
        (T.BIGINT, 8, 0, 1 << 40),
        (T.INT8, 10, 0, -123456789012),
        (T.FLOAT, 8, 0, 1.5),
        (T.SMALLFLOAT, 4, 0, -2.25),
        (T.DATE, 4, 0, dt.date(2026, 1, 2)),
        (T.DECIMAL, 0x0A02, 0, Decimal("-1234.56")),
        (T.DECIMAL, 0x0303, 0, Decimal("0.001")),
        (T.DECIMAL, 0x10FF, 0, Decimal("1e-100")),
        (T.MONEY, 0x0C02, 0, Decimal("99.95")),
        (T.DATETIME, 0x0E0A, 0, dt.datetime(1, 2, 3, 4, 5, 6)),
        (T.DATETIME, 0x130F, 0, dt.datetime(2026, 2, 3, 4, 5, 6, 123450)),
        (T.CHAR, 6, 0, "abc"),
        (T.UDTVAR, 100, 1, "lvar"),
    ],
)
def test_row_form_is_what_rows_are_decoded_from(code, length, xid, value):
    described = [column(code, length, xid, "lvarchar" if xid else ""), column(T.INTEGER, 4)]
    encode = tupleform.row_encoder(described, "iso-8859-1")
    assert rows_of(described, encode((value, 3)), encode((None, 4))) == [(value, 3), (None, 4)]


@pytest.mark.parametrize(
    ("code", "length", "value"),
    [
        (T.SMALLINT, 2, 40000),
        (T.SMALLINT, 2, -0x8000),
        (T.INTEGER, 4, True),
        (T.INTEGER, 4, "5"),
        (T.VARCHAR, 3, "abcd"),
        (T.CHAR, 3, "abcd"),
        (T.DECIMAL, 0x0402, Decimal("100.00")),
        (T.DECIMAL, 0x0402, Decimal("1.001")),
        (T.DECIMAL, 0x0402, 1.5),
        (T.DATETIME, 0x0E0A, dt.datetime(2026, 1, 1, microsecond=5)),
        (T.DATE, 4, dt.datetime(2026, 1, 1)),
    ],
)
def test_values_that_do_not_fit_exactly_are_left_to_the_server(code, length, value):
    with pytest.raises(tupleform.Misfit):
        tupleform.column_encoder(code, length, 0, "iso-8859-1")(value)


def test_interval_year_month_value():
    value = IntervalYM(-30)
    assert (value.years, value.remainder_months, str(value)) == (-2, -6, "-2-06")
    assert value < IntervalYM(0)
    assert -value == IntervalYM(30)
    assert value + IntervalYM(30) == IntervalYM(0)
    with pytest.raises(AttributeError):
        value.months = 3


def test_type_objects():
    assert informix_db.NUMBER == T.INTEGER
    assert informix_db.STRING == T.VARCHAR
    assert informix_db.DATETIME == T.DATE
    assert informix_db.NUMBER != T.VARCHAR
    assert informix_db.Binary(bytearray(b"x")) == b"x"
    assert informix_db.DateFromTicks(0).year in (1969, 1970)
