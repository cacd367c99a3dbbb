"""Many rows at once: COPY in and out, 100,000 rows of a SELECT in text and binary, rows through a pipeline; rounds take
turns. (PGlite's socket server has no COPY from a client, which fills the table.)"""

from __future__ import annotations

import struct
import time

from .. import results
from ..targets import Sqlite, Target
from . import Context, Profile, Step

TABLE = "CREATE TABLE IF NOT EXISTS bulk (id int PRIMARY KEY, n int NOT NULL, amount double precision, s text NOT NULL)"
COPY_IN = {"text": "COPY bulk FROM STDIN", "CSV": "COPY bulk FROM STDIN (FORMAT csv)", "binary": "COPY bulk FROM STDIN (FORMAT binary)"}
COPY_OUT = {"text": "COPY bulk TO STDOUT", "CSV": "COPY bulk TO STDOUT (FORMAT csv)", "binary": "COPY bulk TO STDOUT (FORMAT binary)"}


def rows(count: int) -> list[tuple]:
    return [(i, i * 7 % 1000, i / 8, f"a row with the number {i}") for i in range(count)]


def encoded(count: int, form: str) -> bytes:
    if form == "text":
        return "".join(f"{a}\t{b}\t{c}\t{d}\n" for a, b, c, d in rows(count)).encode()
    if form == "CSV":
        return "".join(f'{a},{b},{c},"{d}"\n' for a, b, c, d in rows(count)).encode()
    out = bytearray(b"PGCOPY\n\xff\r\n\0" + bytes(8))
    for a, b, c, d in rows(count):
        text = d.encode()
        out += struct.pack("!hiiiiidi", 4, 4, a, 4, b, 8, c, len(text)) + text
    return bytes(out + b"\xff\xff")


def fail(messages: list[tuple[bytes, bytes]]) -> None:
    from ..targets import pgwire

    for kind, body in messages:
        if kind == b"E":
            f = pgwire.fields_of(body)
            raise RuntimeError(f"{f.get('C')} {f.get('M')}")


READY = b"Z\0\0\0\5I"


def answer(connection) -> list[bytes]:
    """An answer as it comes, up to ReadyForQuery. It is not looked into: a server that is faster than this client's parser would
    be measured as fast as the parser."""
    sock, pieces, tail = connection.sock, [], b""
    while tail != READY:
        data = sock.recv(1 << 18)
        if not data:
            raise RuntimeError("the server closed the connection")
        pieces.append(data)
        tail = (tail + data[-6:])[-6:]
    return pieces


def count_rows(pieces: list[bytes]) -> int:
    """The DataRow and CopyData messages of an answer."""
    data, at, count = b"".join(pieces), 0, 0
    while at < len(data):
        kind, length = data[at : at + 1], struct.unpack_from("!i", data, at + 1)[0] + 1
        if kind in (b"D", b"d"):
            count += 1
        elif kind == b"E":
            fail([(kind, data[at + 5 : at + length])])
        at += length
    if at != len(data) or data[-6:] != READY:
        raise RuntimeError("the answer ends within a message")
    return count


def copy_in(target: Target, form: str, data: bytes) -> int:
    c = target.connect()
    try:
        c.query(TABLE)
        c.query("TRUNCATE bulk")
        began = time.perf_counter_ns()
        # in pieces, as clients send it
        c.send(b"Q", COPY_IN[form].encode() + b"\0")
        kind, body = c.receive()
        fail([(kind, body)])
        for at in range(0, len(data), 1 << 16):
            c.send(b"d", data[at : at + (1 << 16)])
        c.send(b"c", b"")
        fail(c.until_ready())
        return time.perf_counter_ns() - began
    finally:
        c.close()


def sqlite_in(target: Sqlite, count: int) -> int:
    """The floor of COPY: a prepared INSERT in a loop, one transaction."""
    db = target.open()
    db.execute("DROP TABLE IF EXISTS bulk")
    db.execute(TABLE.replace("int PRIMARY", "INTEGER PRIMARY"))
    all_rows = rows(count)
    began = time.perf_counter_ns()
    db.execute("BEGIN")
    db.executemany("INSERT INTO bulk VALUES (?, ?, ?, ?)", all_rows)
    db.execute("COMMIT")
    took = time.perf_counter_ns() - began
    db.close()
    return took


def timed_answer(target: Target, send, wanted: int | None) -> int:
    c = target.connect()
    try:
        began = time.perf_counter_ns()
        send(c)
        pieces = answer(c)
        took = time.perf_counter_ns() - began
    finally:
        c.close()
    count = count_rows(pieces)
    if wanted is not None and count != wanted:
        raise RuntimeError(f"{target.name}: {count} rows instead of {wanted}")
    return took


def select(form: int):
    """SELECT of the whole table by the extended protocol, without waiting in between."""

    def send(c) -> None:
        def message(kind: bytes, body: bytes) -> bytes:
            return kind + struct.pack("!i", len(body) + 4) + body

        c.sock.sendall(
            message(b"P", b"\0SELECT id, n, amount, s FROM bulk\0\0\0")
            + message(b"B", b"\0\0" + struct.pack("!hhhh", 0, 0, 1, form))
            + message(b"E", b"\0\0\0\0\0")
            + message(b"S", b"")
        )

    return send


def pipeline(target: Target, count: int) -> int:
    """`count` prepared INSERTs in one transaction, sent without waiting for answers: what executemany does."""
    c = target.connect()

    def message(kind: bytes, body: bytes) -> bytes:
        return kind + struct.pack("!i", len(body) + 4) + body

    try:
        c.query(TABLE)
        c.query("TRUNCATE bulk")
        out = bytearray(message(b"P", b"i\0INSERT INTO bulk VALUES ($1, $2, $3, $4)\0" + struct.pack("!hiiii", 4, 23, 23, 701, 25)))
        for a, b, x, s in rows(count):
            text = s.encode()
            values = struct.pack("!iiiiidi", 4, a, 4, b, 8, x, len(text)) + text
            out += message(b"B", b"\0i\0" + struct.pack("!hhh", 1, 1, 4) + values + b"\0\0") + message(b"E", b"\0\0\0\0\0")
        out += message(b"S", b"")
        began = time.perf_counter_ns()
        # the answers are short: they fit into the socket's buffer while pieces of the request are written
        for at in range(0, len(out), 1 << 14):
            c.sock.sendall(out[at : at + (1 << 14)])
            c.sock.setblocking(False)
            try:
                while True:
                    c.buffer += c.sock.recv(1 << 16)
            except BlockingIOError:
                pass
            c.sock.settimeout(600)
        messages = c.until_ready()
        took = time.perf_counter_ns() - began
        fail(messages)
        done = sum(kind == b"C" for kind, _ in messages)
        if done != count:
            raise RuntimeError(f"{target.name}: {done} of {count} rows")
        return took
    finally:
        c.close()


def in_turns(context: Context, group: str, name: str, mode: str, ways: dict, count: int) -> list[dict]:
    """`ways`: target → a function that gives the ns of one round. The unit is one round of `count` rows."""
    times: dict[str, list[int]] = {n: [] for n in ways}
    errors: dict[str, dict] = {n: {} for n in ways}
    order = list(ways)
    # one round more than is counted
    for turn in range(context.profile.bulk_rounds + 1):
        for offset in range(len(order)):
            target = order[(turn + offset) % len(order)]
            try:
                took = ways[target]()
            except Exception as e:
                if target == "pgsqlite":
                    raise
                errors[target][str(e)[:60]] = errors[target].get(str(e)[:60], 0) + 1
                continue
            if turn > 0:
                times[target].append(took)
    return [
        results.from_times(
            group, name, n, "in process" if n == "sqlite" else "protocol", times[n], mode=mode, errors=errors[n],
            rows=count, slices=[(count, t / 1e9) for t in times[n]],
        )
        for n in order
    ]  # fmt: skip


def steps(profile: Profile) -> list[Step]:
    out = []
    count = profile.rows
    for form in COPY_IN:

        def run_in(context: Context, form=form) -> list[dict]:
            data = encoded(count, form)
            ways = {t.name: (lambda t=t: copy_in(t, form, data)) for t in context.targets.servers() if t.copies}
            if "sqlite" in context.targets:
                ways["sqlite"] = lambda: sqlite_in(context.targets["sqlite"], count)
            return in_turns(context, "bulk", f"COPY in, {count} rows", form, ways, count)

        out.append(Step("bulk", f"COPY in, {form}", 1 + profile.bulk_rounds * count * 8e-6, run_in))
    for form, sql in COPY_OUT.items():

        def run_out(context: Context, form=form, sql=sql) -> list[dict]:
            def send(c) -> None:
                c.send(b"Q", sql.encode() + b"\0")

            # a CopyData message per row; the binary format has a header and a trailer, which servers may send with a row or alone
            wanted = count if form != "binary" else None
            ways = {t.name: (lambda t=t: timed_answer(t, send, wanted)) for t in context.targets.servers() if t.copies}
            return in_turns(context, "bulk", f"COPY out, {count} rows", form, ways, count)

        out.append(Step("bulk", f"COPY out, {form}", 1 + profile.bulk_rounds * count * 4e-6, run_out))
    for number, form in enumerate(("text", "binary")):

        def run_select(context: Context, number=number, form=form) -> list[dict]:
            ways = {t.name: (lambda t=t: timed_answer(t, select(number), count)) for t in context.targets.servers() if t.copies}
            if "sqlite" in context.targets:

                def all_rows() -> int:
                    db = context.targets["sqlite"].open()
                    began = time.perf_counter_ns()
                    for _ in db.execute("SELECT id, n, amount, s FROM bulk"):
                        pass
                    took = time.perf_counter_ns() - began
                    db.close()
                    return took

                ways["sqlite"] = all_rows
            return in_turns(context, "bulk", f"SELECT, {count} rows", form, ways, count)

        out.append(Step("bulk", f"SELECT of {count} rows, {form}", 1 + profile.bulk_rounds * count * 4e-6, run_select))

    def run_pipeline(context: Context) -> list[dict]:
        many = max(10, count // 20)
        ways = {t.name: (lambda t=t: pipeline(t, many)) for t in context.targets.servers(2)}
        return in_turns(context, "bulk", f"executemany by pipeline, {many} rows", "binary", ways, many)

    out.append(Step("bulk", "executemany by pipeline", 1 + profile.bulk_rounds * count * 2e-6, run_pipeline))
    return out
