"""Servers that lie: truncated, absurd or unasked messages end in an error at once, never in a hang or wrong rows.

Every scene plays a correct session up to a point and then sends something else.
"""

import random
import socket
import struct
import threading

import pytest

import informix_db
from conftest import CREDENTIALS
from informix_db import Error, InterfaceError, OperationalError, ProtocolError
from informix_db._core.capabilities import Layout
from informix_db._core.messages import login
from informix_db._core.messages.replies import Reply
from informix_db._core.rowplan import Plan, RowSink
from informix_db._core.wire import Inbox, Incomplete
from peer.server import COST, EOT, Col, accept_packet, char, describe, done, tuple_message
from peer.wire import read_to_end

MASK = bytes.fromhex("007e0009bdbe9ffe7fb7ffefff00000c")
OPENED = EOT + done(warn=5) + COST + EOT
INT = [Col("n", 2, 4)]
DESCRIBE = describe(2, 0, INT) + done() + COST + EOT


class Scene:
    """Answers every read of the client with the next piece, then closes."""

    def __init__(self, *pieces):
        self.pieces = pieces
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.play, daemon=True)
        self.thread.start()

    def play(self):
        sock, _ = self.listener.accept()
        try:
            for piece in self.pieces:
                if not sock.recv(65536):
                    return
                sock.sendall(piece)
            read_to_end(sock)
        except OSError:
            pass
        finally:
            sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.thread.join(20)
        self.listener.close()

    def connect(self, **options):
        return informix_db.connect(
            "127.0.0.1", self.port, **{**CREDENTIALS, "autocommit": True, "read_timeout": 10, **options}
        )


LOGIN_SCENES = {
    "nothing": b"",
    "http": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "garbage": bytes(range(256)),
    "zeros": bytes(200),
    "short packet": b"\x00\x08\x02\x3c\x10\x00\x00\x64",
    "length beyond its contents": b"\x00\x14" + accept_packet()[2:20],
    "absurd string length": accept_packet()[:6] + b"\0\x64\0\x65\0\0\0\x3d\x7f\xff" + accept_packet()[16:],
    "negative string length": accept_packet()[:6] + b"\0\x64\0\x65\0\0\0\x3d\xff\xff" + accept_packet()[16:],
    "unknown block": accept_packet()[:-2] + b"\x12\x34",
    "rejected without reason": accept_packet(kind=3),
    "redirect": accept_packet(kind=13),
}


@pytest.mark.parametrize("name", LOGIN_SCENES)
def test_login(name):
    with Scene(LOGIN_SCENES[name]) as scene, pytest.raises((InterfaceError, OperationalError)):
        scene.connect()


def error_offset(x):
    return struct.pack(">hhhi", 13, -201, 0, x) + char(b"")


AFTER_PREPARE = {
    "unknown message": b"\x7f\x00",
    "row that was not asked for": tuple_message(b"\0\0\0\1") + EOT,
    "nothing described": done() + COST + EOT,
    "absurd column count": struct.pack(">hhhihhi", 8, 2, 0, 1, 0, 32767, 10) + b"x" * 10,
    "negative column count": struct.pack(">hhhihhi", 8, 2, 0, 1, 0, -1, 10) + b"x" * 10,
    "absurd string table": struct.pack(">hhhihhi", 8, 2, 0, 1, 0, 1, 2**31 - 1),
    "negative string table": struct.pack(">hhhihhi", 8, 2, 0, 1, 0, 1, -5),
    "name outside the table": describe(2, 0, INT).replace(b"\0\0\0\0\0\0\0\0\0\2", b"\0\0\0\x63\0\0\0\0\0\2") + EOT,
    "capability answer": MASK,
    "blob": struct.pack(">hh", 39, 2) + b"xx" + EOT,
    "client file": struct.pack(">hh", 98, 0) + char(b"/etc/passwd") + struct.pack(">iii", 0, 0, 0) + EOT,
    "piece of a large object": struct.pack(">hhih", 97, 0, 2, 2) + b"xx" + EOT,
    "routine": struct.pack(">h", 101) + char(b"x") + struct.pack(">i", 1) + EOT,
    "routine results": struct.pack(">hh", 103, 0) + EOT,
    "input description": struct.pack(">hhh", 125, 0, 0) + EOT,
    "exit": b"\0\x38",
    "truncated": DESCRIBE[:30],
    "negative name length": struct.pack(">hhhi", 13, -201, 0, 0) + b"\xff\xff",
}


@pytest.mark.parametrize("name", AFTER_PREPARE)
def test_prepare(name):
    with Scene(accept_packet(), MASK + OPENED, AFTER_PREPARE[name]) as scene:
        conn = scene.connect()
        with pytest.raises((InterfaceError, OperationalError)):
            conn.cursor().execute("select n")
        assert conn.closed


PIECES = {
    "longer than announced": struct.pack(">hhih", 97, 0, 2, 3) + b"xxx\0" + EOT,
    "an empty chunk": struct.pack(">hhih", 97, 0, 2, 0) + EOT,
    "negative": struct.pack(">hhi", 97, 0, -2) + EOT,
    "absurd": struct.pack(">hhi", 97, 0, 2**31 - 1) + EOT,
    "more than was asked for": struct.pack(">hhih", 97, 0, 6, 6) + b"xxxxxx" + EOT,
    "nothing": EOT,
    "twice": 2 * (struct.pack(">hhih", 97, 0, 2, 2) + b"xx") + EOT,
}


@pytest.mark.parametrize("name", PIECES)
def test_pieces_of_a_large_object(name):
    handle = struct.pack(">h", 101) + char(b"testdb") + struct.pack(">i", 1) + EOT
    opened = struct.pack(">hhhhhi", 103, 1, 2, 0, 0, 7) + EOT
    with Scene(accept_packet(), MASK + OPENED, handle, opened, PIECES[name]) as scene:
        conn = scene.connect()
        with pytest.raises((InterfaceError, OperationalError)):
            conn.read_large_object(informix_db.BlobLocator(bytes(72)), piece=4)
        assert conn.closed


WRITTEN = {
    "less": struct.pack(">hhi", 97, 2, 2) + EOT,
    "negative": struct.pack(">hhi", 97, 2, -2) + EOT,
    "something to read": struct.pack(">hhih", 97, 0, 3, 3) + b"xxx\0" + EOT,
    "nothing": EOT,
    "twice": 2 * struct.pack(">hhi", 97, 2, 3) + EOT,
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_said_of_a_written_large_object(name):
    handle = struct.pack(">h", 101) + char(b"testdb") + struct.pack(">i", 1) + EOT
    opened = struct.pack(">hhhhhi", 103, 1, 2, 0, 0, 7) + EOT
    sought = struct.pack(">hhhhhhii", 103, 2, 17, 0, 0, 1, 0, 0) + struct.pack(">hhhi", 2, 0, 0, 0) + EOT
    with Scene(accept_packet(), MASK + OPENED, handle, opened, handle, sought, WRITTEN[name]) as scene:
        conn = scene.connect()
        with pytest.raises((InterfaceError, OperationalError)):
            conn.write_large_object(informix_db.BlobLocator(bytes(72)), b"abc")
        assert conn.closed


AFTER_OPEN = {
    "size of the row is negative": struct.pack(">hhi", 14, 0, -4) + b"\0\0\0\1" + EOT,
    "size of the row is absurd": struct.pack(">hhi", 14, 0, 2**31 - 1) + b"\0\0\0\1" + EOT,
    "row is too short": tuple_message(b"\0\0") + EOT,
    "row is too long": tuple_message(b"\0\0\0\1\0\0") + EOT,
    "row is empty": tuple_message(b"") + EOT,
    "row is cut": tuple_message(b"\0\0\0\1")[:-2],
    "unknown message": tuple_message(b"\0\0\0\1") + b"\x12\x34",
    "second row is wrong": tuple_message(b"\0\0\0\1") + tuple_message(b"\0\0\0\1\0\0") + EOT,
    "blob": struct.pack(">hh", 39, 2) + b"xx" + EOT,
}


@pytest.mark.parametrize("name", AFTER_OPEN)
def test_open(name):
    with Scene(accept_packet(), MASK + OPENED, DESCRIBE, AFTER_OPEN[name]) as scene:
        conn = scene.connect()
        with pytest.raises((InterfaceError, OperationalError)):
            conn.cursor().execute("select n")
        assert conn.closed


def test_endless_rows_are_stopped(monkeypatch):
    from informix_db._core import cursors

    monkeypatch.setattr(cursors, "MAX_BODY", 1000)
    flood = tuple_message(b"\0\0\0\1") * 20000
    with Scene(accept_packet(), MASK + OPENED, DESCRIBE, flood) as scene:
        conn = scene.connect(fetch_buffer=1024)
        with pytest.raises(ProtocolError, match="rows in one reply"):
            conn.cursor().execute("select n")


def test_endless_messages_are_stopped():
    inbox = Inbox()
    inbox.feed(COST * 100_001)
    with pytest.raises(ProtocolError, match="messages"):
        Reply(Layout(), "utf-8").consume(inbox)


def test_too_few_answers_to_a_batch():
    prepared = describe(6, 0, []) + done() + COST + EOT
    with Scene(accept_packet(), MASK + OPENED, prepared, done(1) + COST + EOT) as scene:
        conn = scene.connect()
        with pytest.raises(ProtocolError, match="2 rows were sent, 1"):
            conn.cursor().executemany("insert into t values (?)", [(1,), (2,)])
        assert conn.closed


def test_capability_masks():
    for mask in (
        b"\0\x7e\0\0" + EOT,
        b"\0\x7e\xff\xff" + EOT,
        b"\0\x7e\x7f\xff" + EOT,
        EOT,
        b"\0\x7e\0\x08" + bytes(8) + EOT,
    ):
        with Scene(accept_packet(), mask) as scene, pytest.raises(Error):
            scene.connect()


def test_pam_is_refused():
    mask = bytearray(MASK)
    mask[4 + 5] |= 0x08
    with Scene(accept_packet(), bytes(mask)) as scene, pytest.raises(informix_db.NotSupportedError, match="PAM"):
        scene.connect()


# ---- fuzzing: bounded and seeded ----------------------------------------------------------------------------------

ANSWERS = [
    DESCRIBE,
    describe(2, 1, [Col("a", 2, 4), Col("b", 13, 20), Col("c", 40, 200, 1, "lvarchar")]) + done() + COST + EOT,
    tuple_message(b"\0\0\0\1\2ab\0\0\0\0\3xyz") * 3 + done(3) + COST + EOT,
    struct.pack(">hhhi", 13, -206, -111, 0) + char(b"nosuch") + EOT,
    struct.pack(">hhhh", 99, 1, 1, 0) + done() + COST + EOT,
    struct.pack(">hh", 39, 5) + b"hello\0" + struct.pack(">hh", 39, 0) + EOT,
    MASK,
    struct.pack(">hi", 25, 4) + tuple_message(b"\0\0\0\1\2ab\0\0\0\0\3xyz") + done(1) + COST + EOT,
]
PLAN_COLUMNS = [Col("a", 2, 4), Col("b", 13, 20), Col("c", 40, 200, 1, "lvarchar")]


def plan_of(columns, encoding="utf-8"):
    from informix_db._core.messages.describe import Column

    return Plan([Column(c.name, c.type, c.flags, c.xid, "", c.ext, c.length) for c in columns], encoding)


def mutate(rng, data):
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        action = rng.randrange(4)
        at = rng.randrange(len(data)) if data else 0
        if action == 0 and data:
            data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        elif action == 1:
            del data[at : at + rng.randint(1, 8)]
        elif action == 2:
            data[at:at] = rng.randbytes(rng.randint(1, 8))
        elif data:
            data[at : at + 4] = struct.pack(">i", rng.choice((-1, 0, 2**31 - 1, -(2**31), 65536, rng.getrandbits(20))))
    return bytes(data)


def test_fuzz_replies():
    rng = random.Random(20261121)
    plan = plan_of(PLAN_COLUMNS)
    outcomes = {"read": 0, "waits": 0, "refused": 0}
    for _ in range(20000):
        data = mutate(rng, rng.choice(ANSWERS))
        sink = RowSink(plan)
        expect = rng.choice(("", "describe", "blob", "protocols", "input", "routine"))
        reply = Reply(Layout(), "utf-8", sink, expect, max_row_bytes=1 << 20)
        inbox = Inbox()
        inbox.feed(data)
        try:
            reply.consume(inbox)
            outcomes["read"] += 1
        except Incomplete as more:
            outcomes["waits"] += more.needed <= 65 << 20
        except (Error, ValueError, ArithmeticError, LookupError):
            outcomes["refused"] += 1
        assert 0 <= inbox.pos <= len(data)
        for row in sink.rows:
            assert type(row[0]) in (int, type(None))
            assert type(row[1]) in (str, type(None))
    assert min(outcomes.values()) > 1000, outcomes


def test_fuzz_rows_of_every_type():
    """The generated function and the column-by-column decoder must agree on everything, right or wrong."""
    rng = random.Random(7)
    types = [
        (2, 4, 0, ""), (1, 2, 0, ""), (52, 8, 0, ""), (3, 8, 0, ""), (4, 4, 0, ""), (5, 0x0A02, 0, ""),
        (5, 0x10FF, 0, ""), (7, 4, 0, ""), (10, 0x0E0A, 0, ""), (10, 0x130F, 0, ""), (10, 0x066A, 0, ""),
        (10, 0x0424, 0, ""), (14, 0x144F, 0, ""), (14, 0x0B02, 0, ""), (0, 5, 0, ""), (13, 30, 0, ""),
        (17, 10, 0, ""), (40, 99, 1, "lvarchar"), (41, 1, 5, "boolean"), (41, 72, 10, "blob"), (21, 0, 0, "int"),
        (22, 0, 0, "row"),
    ]  # fmt: skip
    decoded = wrong = 0
    for _ in range(3000):
        chosen = [rng.choice(types) for _ in range(rng.randint(1, 5))]
        plan = plan_of([Col(f"c{i}", t, n, x, e) for i, (t, n, x, e) in enumerate(chosen)])
        payload = b"".join(sample(rng, *t) for t in chosen)
        if rng.random() < 0.3:
            payload = mutate(rng, payload)
        message = tuple_message(payload)
        sink = RowSink(plan)
        try:
            slow = plan.row(payload)
        except Error as error:
            slow = error
        try:
            taken = sink.consume(message, 0, len(message))
        except ProtocolError:
            taken = 0
        if isinstance(slow, tuple):
            assert taken == len(message)
            assert repr(sink.rows) == repr([slow])
            decoded += 1
        else:
            assert sink.rows == []
            if taken and not isinstance(slow, ProtocolError):  # not taken: `Reply` refuses the row for its size
                assert str(sink.error) == str(slow)
            wrong += 1
    assert decoded > 500
    assert wrong > 500


def sample(rng, code, length, xid, ext):
    """Bytes of a value: mostly plausible ones."""
    if code in (13,):
        n = rng.randrange(20)
        return bytes([n]) + bytes(rng.randrange(97, 123) for _ in range(n))
    if code in (40, 21, 22):
        n = rng.randrange(20)
        return struct.pack(">bi", rng.randrange(2), n) + bytes(rng.randrange(97, 123) for _ in range(n))
    if code == 41 and xid == 5:
        return rng.choice((b"\1\0\0\0\0", b"\0\0\0\0\1t", b"\0\0\0\0\1f", b"\0\0\0\0\1x"))
    if code == 41:
        return struct.pack(">bi", 0, 144) + rng.randbytes(72).hex().encode()
    if code in (5, 8, 10, 14):
        from informix_db._core.types.codes import Qualifier

        width = Qualifier.of(length).width if code in (10, 14) else ((length >> 8) + (length & 1) + 3) // 2
        if rng.random() < 0.15:
            return bytes(width)
        if code == 10 and length in (0x0E0A, 0x130F):
            head = bytes((0xC7, 20, rng.randrange(100), rng.randint(1, 12), rng.randint(1, 28), rng.randrange(24)))
            return (head + bytes(rng.randrange(60) for _ in range(6)))[:width]
        return bytes((rng.choice((0xC0, 0xC1, 0xC2, 0x3E, 0x3D, 0x80)),)) + bytes(
            rng.randrange(60) for _ in range(width - 1)
        )
    if code in (0, 15):
        return bytes(rng.choice((32, rng.randrange(97, 123))) for _ in range(length))
    if code in (11, 12):
        return bytes(56)
    if code == 7:
        return struct.pack(">i", rng.randrange(-600000, 2900000))
    if code == 17:
        return struct.pack(">hII", rng.choice((-1, 0, 1)), rng.getrandbits(32), rng.getrandbits(31))
    return rng.randbytes(length)


def test_fuzz_login():
    rng = random.Random(3)
    good = accept_packet()
    for _ in range(5000):
        data = mutate(rng, good)
        try:
            login.parse_answer(data)
        except Error:
            pass


def test_fuzz_whole_sessions():
    """Damaged answers over a socket: the driver ends every one of them with an error or a complete answer."""
    rng = random.Random(11)
    rows = tuple_message(b"\0\0\0\1") * 5 + done(5) + COST + EOT
    for _ in range(60):
        pieces = [accept_packet(), MASK + OPENED, DESCRIBE, rows + done() + COST + EOT, b"\0\x38"]
        at = rng.randrange(len(pieces) - 1)
        pieces[at] = mutate(rng, pieces[at])
        with Scene(*pieces) as scene:
            try:
                conn = scene.connect(read_timeout=0.3)
                got = conn.cursor().execute("select n").fetchall()
                assert all(len(r) == 1 for r in got)
                conn._transport.abort()
            except Error:
                pass
