"""The driver against recorded bytes: what it sends is compared byte by byte, what it makes of answers is checked."""

import os
import re
import socket
from pathlib import Path

import pytest

import informix_db
from informix_db._core.capabilities import OFFER, Layout, ServerCapabilities
from informix_db._core.messages import login
from informix_db._core.messages import requests as rq
from informix_db._core.messages.replies import Reply
from informix_db._core.types.encode import bind
from informix_db._core.wire import Inbox, Incomplete
from peer.replay import Replay, load

HERE = Path(__file__).parent


def test_session(monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "host")
    monkeypatch.setattr(os, "getcwd", lambda: "/cwd")
    with Replay(load(HERE / "transcripts" / "session.txt")) as peer:
        conn = informix_db.connect(
            "127.0.0.1",
            peer.port,
            user="informix",
            password="in4mix",
            database="testdb",
            server="x",
            autocommit=True,
            read_timeout=10,
        )
        assert conn.server_version_internal.endswith("Version 14.10.FC7W1")
        assert conn.server_capabilities.bigint
        cur = conn.cursor()
        cur.execute("select 1 from systables where tabid=1")
        assert cur.fetchall() == [(1,)]
        assert cur.description[0][:2] == ("(constant)", 2)
        cur.execute("create table t1 (a int, b varchar(20))")
        cur.execute("insert into t1 values (?,?)", (7, "hello"))
        assert (cur.rowcount, cur.lastrowid) == (1, 1)
        cur.executemany("insert into t1 values (?,?)", [(100, "b0"), (101, "b1"), (102, "b2")])
        assert cur.rowcount == 3
        scroll = conn.cursor(scrollable=True)
        scroll.execute("select a,b from t1 order by a")
        assert scroll.fetch_last() == (102, "b2")
        assert scroll.fetch_first() == (7, "hello")
        assert scroll.fetch_absolute(1) == (100, "b0")
        scroll.close()
        with pytest.raises(informix_db.ProgrammingError) as caught:
            cur.execute("select * from nosuch")
        error = caught.value
        assert (error.sqlcode, error.isamcode, error.object_name) == (-206, -111, "nosuch")
        conn.begin()
        assert conn.in_transaction
        conn.savepoint("sp1")
        conn.rollback_to_savepoint("sp1")
        conn.savepoint("sp2")
        conn.release_savepoint("sp2")
        conn.commit()
        assert not conn.in_transaction
        conn.close()


def captures():
    """The groups of the capture of IBM's driver."""
    groups = []
    for line in (HERE / "transcripts" / "jdbc.txt").read_text().splitlines():
        m = re.match(r"([CS]) ([0-9a-f]+)$", line)
        if m:
            groups.append((m[1], bytes.fromhex(m[2])))
    return groups


def test_the_messages_are_those_of_ibms_driver():
    sent = {data for side, data in captures() if side == "C"}
    assert rq.protocols(OFFER) in sent
    assert rq.info({"DBTEMP": "/tmp", "SUBQCACHESZ": "10"}) in sent
    assert rq.open_database(b"testdb") in sent
    assert rq.prepare(b"select 1 from systables where tabid=1", 0, long_sql=True) in sent
    assert rq.prepare(b"insert into t1 values (?,?)", 2, long_sql=True) in sent
    assert rq.select_id(3) + rq.INPUT_DESCRIBE + rq.EOT in sent
    assert rq.select_id(3) + bind((7, "hello"), "iso-8859-1") + rq.EXECUTE + rq.EOT in sent
    batch = rq.EXECUTE.join(bind((100 + i, f"b{i}"), "iso-8859-1") for i in range(3)) + rq.EXECUTE + rq.EOT
    assert rq.select_id(4) + batch in sent
    opening = rq.cursor_name(b"_ifxc0000000000002") + rq.SCROLL + rq.OPEN + rq.EOT
    assert rq.select_id(5) + opening in sent
    assert rq.close_group(5) in sent
    assert rq.release_group(5) in sent
    assert rq.BEGIN in sent
    assert rq.COMMIT in sent
    assert rq.savepoint(b"sp1") in sent
    assert rq.rollback_to_savepoint(b"sp1") in sent
    assert rq.release_savepoint(b"sp2") in sent
    put = b"".join(rq.put(i.to_bytes(4, "big") + b"\2b%d" % (i - 100)) for i in (100, 101, 102)) + rq.EOT
    assert put in sent


def test_every_captured_answer_is_read_to_its_end():
    layout = Layout.of(ServerCapabilities.from_wire(bytes.fromhex("bdbe9ffe7fb7ffefff")))
    read = 0
    for side, data in captures():
        if side == "C" or data[2:4] in (b"\x02\x3c", b"\x03\x3c") or data == b"\0\x38":
            continue
        expect = {0x08: "describe", 0x7D: "input", 0x7E: "protocols"}.get(data[1], "")
        inbox = Inbox()
        inbox.feed(data)
        reply = Reply(layout, "iso-8859-1", Skip(), expect)
        assert reply.consume(inbox)
        assert inbox.pending() == 0, data.hex()
        # Byte by byte it must wait, never fail and never end early.
        for end in range(len(data)):
            inbox = Inbox()
            inbox.feed(data[:end])
            with pytest.raises(Incomplete):
                Reply(layout, "iso-8859-1", Skip(), expect).consume(inbox)
        read += 1
    assert read > 30


class Skip:
    def consume(self, data, pos, end):
        from informix_db._core.rowplan import skip_rows

        return skip_rows(data, pos, end)[0]


def test_login_answers():
    accept, reject = [data for side, data in captures() if side == "S" and data[2:4] in (b"\x02\x3c", b"\x03\x3c")]
    used, said = login.parse_answer(accept + b"more")
    assert used == 167
    assert (said.version, said.serial, said.cap_1) == (
        "IBM Informix Dynamic Server Version 14.10.FC7W1",
        "AAA#B000000",
        316,
    )
    for end in range(len(accept)):
        assert login.parse_answer(accept[:end]) is None
    with pytest.raises(informix_db.OperationalError, match="Incorrect password") as caught:
        login.parse_answer(reject)
    assert caught.value.sqlcode == -951
    assert caught.value.session_dead


def test_login_request_has_the_skeleton_of_ibms_driver():
    theirs = next(data for side, data in captures() if side == "C" and data[2:4] == b"\x01\x3c")
    ours = login.login_packet("informix", "in4mix", "x", {})
    assert int.from_bytes(ours[:2], "big") == len(ours)
    stop = theirs.index(b"\0\x6a")  # up to the environment
    assert ours[2:stop] == theirs[2:stop]
    assert ours[-2:] == theirs[-2:]
    with pytest.raises(informix_db.InterfaceError):
        login.login_packet("a\0b", None, "x", {})


def test_wide_layouts_follow_the_negotiated_bits():
    caps = ServerCapabilities.from_wire(bytes.fromhex("bdbe9ffe7fb7ffefff"), offer=OFFER + b"\x06")
    assert caps.has(69)
    assert caps.has(70)
    layout = Layout.of(caps)
    inbox = Inbox()
    describe = bytes.fromhex("0008 0002 0001 00000001 00000004 0001 0000000b")
    describe += bytes.fromhex("00000000 00000000 0002 00000000 0000 0000 0000 0000 00000000 00000004")
    describe += b"(constant)\0\0"
    done = bytes.fromhex("000f 0000 0000000100000000 0000000000000101 00000007")
    inbox.feed(describe + done + b"\0\x0c")
    reply = Reply(layout, "iso-8859-1", None, "describe")
    assert reply.consume(inbox)
    assert reply.description.columns[0].name == "(constant)"
    assert (reply.dones[0].rows, reply.dones[0].serial) == (1 << 32, 7)
    # Offered by one side only, they are not in force.
    narrow = Layout.of(ServerCapabilities.from_wire(bytes.fromhex("bdbe9ffe7fb7ffefff")))
    assert not narrow.wide_row_count
    assert not narrow.wide_tuple_size
    assert not Layout.of(
        ServerCapabilities.from_wire(bytes.fromhex("bdbe9ffe7fb7ffeff8"), offer=OFFER + b"\x06")
    ).wide_row_count


def test_short_layouts_without_capability_62():
    mask = bytearray.fromhex("bdbe9ffe7fb7ffef")
    mask[7] &= ~0x02
    layout = Layout.of(ServerCapabilities.from_wire(bytes(mask)))
    assert not layout.long_sql
    assert rq.prepare(b"abc", 0, long_sql=False).hex() == "0002000000036162630000160031000c"
    inbox = Inbox()
    inbox.feed(bytes.fromhex("000d ff37 0000 0008 0000 000c"))
    reply = Reply(layout, "iso-8859-1")
    assert reply.consume(inbox)
    assert (reply.error.sqlcode, reply.error.offset) == (-201, 8)


def test_an_unknown_layout_is_refused():
    mask = bytearray.fromhex("bdbe9ffe7fb7ffef")
    mask[13 >> 3] &= ~(0x80 >> 5)
    assert ServerCapabilities.from_wire(bytes(mask)).violated_assumptions()
    assert not ServerCapabilities.from_wire(bytes.fromhex("bdbe9ffe7fb7ffef")).violated_assumptions()
