"""A small SQLI server for tests: framing by the protocol's facts, statements by SQLite in memory or by rules.

A rule maps a statement's text to a `Result` (or a function of the parameters that makes one). Everything else goes to
SQLite; result types are then guessed from the values. One thread per connection; stopped by `close`.
"""

from __future__ import annotations

import datetime as dt
import re
import select
import socket
import sqlite3
import ssl
import struct
import threading
import time
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from .wire import (
    COST,
    EOT,
    MASK,
    Col,
    Result,
    SqlError,
    accept_packet,
    char,
    describe,
    done,
    encode_value,
    err,
    pad,
    tuple_message,
)


class Slow:
    """A rule's result: every second execution works until it is interrupted (-213), the others answer at once.

    So a test can warm the statement cache first, and time-outs, however short, can only hit the execution itself.
    `how`: "obey"; "late" answers as if nothing had happened once the interrupt has arrived; "deaf" goes on for
    `seconds`. `working` is set while the server works.
    """

    def __init__(self, result: Result, how: str = "obey", *, seconds: float = 60) -> None:
        self.seconds, self.result, self.how = seconds, result, how
        self.executions = 0
        self.working = threading.Event()


def guess_columns(names: list[str], rows: list[tuple[Any, ...]], declared: dict[str, str]) -> list[Col]:
    """Types by the table's declarations, else by the values."""
    columns = []
    for i, name in enumerate(names):
        values = [r[i] for r in rows if r[i] is not None]
        kind = declared.get(name, "").lower()
        if kind == "bigint":
            columns.append(Col(name, 52, 8))
        elif kind.startswith(("int", "serial")) or (not kind and values and all(isinstance(v, int) for v in values)):
            big = any(abs(v) > 2**31 - 1 for v in values)
            columns.append(Col(name, 52, 8) if big else Col(name, 2, 4))
        elif kind.startswith("float") or (not kind and values and all(isinstance(v, float) for v in values)):
            columns.append(Col(name, 3, 8))
        elif kind == "blob" or (not kind and values and all(isinstance(v, bytes) for v in values)):
            columns.append(Col(name, 11, 56))
        elif any(isinstance(v, str) and len(v) > 200 for v in values):
            columns.append(Col(name, 40, 32000, 1, "lvarchar"))
        else:
            columns.append(Col(name, 13, 255))
    return columns


def sqlite_dialect(sql: str) -> str:
    """The little of Informix's SQL that tests send, as SQLite understands it."""
    sql = re.sub(r"(?i)\b(big)?serial\b", "integer", sql)
    sql = re.sub(r"(?i)\b(datetime|interval)( \w+(\(\d\))? to \w+(\(\d\))?)", r"\1", sql)
    sql = re.sub(r"(?i)\bset isolation .*", "select 1 where 0", sql)
    m = re.match(r"(?is)select (?:skip (\d+) )?(?:first (\d+) )?(.*)", sql)
    if m and (m[1] or m[2]):
        sql = f"select {m[3]} limit {m[2] or -1} offset {m[1] or 0}"
    return sql


class Closed(Exception):
    pass


class Statement:
    def __init__(self, sql: str, kind: int, result: Any) -> None:
        self.sql, self.kind, self.result = sql, kind, result
        self.columns: list[Col] = []
        self.rows: list[tuple[Any, ...]] = []
        self.at = 0
        self.open = False
        self.bound: list[Any] = []


_TRANSACTION_CONTROL = {"begin": 34, "commit": 35, "rollback": 36}


class Server:
    """`with Server() as s: connect("127.0.0.1", s.port, …)`. `log` has every group that arrived, as message names."""

    def __init__(
        self,
        *,
        rules: dict[str, Any] | None = None,
        tls: ssl.SSLContext | None = None,
        mask: bytes = MASK,
        warn: int = 5,
        password: str = "in4mix",
    ) -> None:
        self.rules = dict(rules or {})
        self.tls, self.mask, self.warn, self.password = tls, mask, warn, password
        self.log: list[str] = []
        self.binds: list[list[Any]] = []
        self.input_columns: dict[str, list[Col]] = {}
        self.blobs: dict[bytes, bytes] = {}
        self.files: dict[str, bytes] = {}
        #: What the server asks of a client's file at once; -1: all that is left.
        self.file_amount = 2500
        self.routines: dict[str, Callable[..., list[bytes]]] = {}
        self.connections = 0
        #: SQL for SQLite that every new connection runs first, such as an attached catalog.
        self.setup: list[str] = []
        self.fail_inserts_at: int | None = None
        self.fetch_limit = 1 << 30
        self._uri = f"file:{uuid.uuid4()}?mode=memory&cache=shared"
        self._keep = sqlite3.connect(self._uri, uri=True, check_same_thread=False)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self._stop = False
        self.errors: list[BaseException] = []
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._stop = True
        for s in [self._socket, *self._sockets]:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()
        self._acceptor.join(5)
        for t in self._threads:
            t.join(5)
        self._keep.close()
        if self.errors:
            raise AssertionError(f"the test server failed: {self.errors[0]!r}") from self.errors[0]

    def _accept(self) -> None:
        while not self._stop:
            try:
                sock, _ = self._socket.accept()
            except OSError:
                return
            self._sockets.append(sock)
            t = threading.Thread(target=self._serve, args=(sock,), daemon=True)
            self._threads.append(t)
            t.start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls is not None:
                sock = self.tls.wrap_socket(sock, server_side=True)
            self.connections += 1
            Conversation(self, sock).run()
        except (Closed, OSError, ssl.SSLError):
            pass
        except BaseException as error:
            # (a socket that is closed between two calls has no number)
            if not self._stop:
                self.errors.append(error)
        finally:
            try:
                sock.close()
            except OSError:
                pass

    def sqlite(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._uri, uri=True, isolation_level=None, check_same_thread=False, timeout=5)
        for statement in self.setup:
            db.execute(statement)
        db.create_function("filetoblob", 2, lambda path, where: None)
        return db


class Conversation:
    def __init__(self, server: Server, sock: socket.socket) -> None:
        self.s, self.sock = server, sock
        self.buffer = b""
        self.db = server.sqlite()
        self.statements: dict[int, Statement] = {}
        self.handles: list[str] = []

    # ---- reading ----

    def take(self, n: int) -> bytes:
        while len(self.buffer) < n:
            chunk = self.sock.recv(65536)
            if not chunk:
                raise Closed
            self.buffer += chunk
        part, self.buffer = self.buffer[:n], self.buffer[n:]
        return part

    def short(self) -> int:
        return struct.unpack(">h", self.take(2))[0]

    def int(self) -> int:
        return struct.unpack(">i", self.take(4))[0]

    def block(self, n: int) -> bytes:
        part = self.take(n)
        if n & 1:
            self.take(1)
        return part

    def char(self) -> bytes:
        return self.block(self.short())

    def char4(self) -> bytes:
        return self.block(self.int())

    # ---- running ----

    def run(self) -> None:
        n = struct.unpack(">h", self.take(2))[0]
        login = self.take(n - 2)
        assert login[0] == 1, login[:4]
        password = self.s.password.encode() + b"\0"
        if struct.pack(">h", len(password)) + password not in login:
            text = "Incorrect password or user is not known on the database server."
            self.sock.sendall(accept_packet(kind=3, service=-951, message=text))
            return
        self.sock.sendall(accept_packet())
        while True:
            if self.group():
                return

    def group(self) -> bool:
        """One group: collect the answer; after an error, skip to its EOT."""
        names: list[str] = []
        actions: list[Any] = []
        self.current: Statement | None = None
        while (code := self.short()) != 12:
            if code == 56:
                self.sock.sendall(b"\0\x38")
                return True
            handler = getattr(self, f"m{code}", None)
            assert handler is not None, f"message {code} from the client"
            names.append(handler.__doc__)
            actions.append(handler())  # reads the body; returns what executes the message
        out = b""
        for run in actions:
            try:
                out += (run() or b"") if run else b""
            except SqlError as e:
                out += err(e)
            except sqlite3.IntegrityError as e:
                out += err(SqlError(-268, -100, str(e).split(":")[-1].strip()))
            except sqlite3.OperationalError as e:
                m = re.match(r"no such table: (\w+)", str(e))
                out += err(SqlError(-206, -111, m[1]) if m else SqlError(-201, 0, "", 1))
            else:
                continue
            break
        self.s.log.append(" ".join(names))
        self.sock.sendall(out + EOT)
        return False

    # ---- messages: the method reads the body and returns the action ----

    def m126(self) -> Any:
        "protocols"
        self.offer = self.block(self.short())
        mask = self.s.mask
        return lambda: struct.pack(">hh", 126, len(mask)) + pad(mask)

    def m81(self) -> Any:
        "info"
        assert self.short() == 6
        length = self.short()
        self.take(length)
        assert self.short() == 0
        return lambda: b""

    def m36(self) -> Any:
        "dbopen"
        name = self.char().decode()
        self.short()

        def run() -> bytes:
            if name == "nosuchdb":
                raise SqlError(-329, -111, name)
            return done(warn=self.s.warn) + COST

        return run

    def m2(self) -> Any:
        "prepare"
        nparams = self.short()
        sql = self.char4().decode("latin-1")
        return lambda: self.prepare(sql, nparams)

    def m22(self) -> Any:
        "describe"
        return None

    def m49(self) -> Any:
        "wantdone"
        return None

    def prepare(self, original: str, nparams: int) -> bytes:
        rule = self.s.rules.get(original)
        sql = original if rule is not None else sqlite_dialect(original)
        first = sql.split()[0].lower() if sql.split() else ""
        columns: list[Col] = []
        if isinstance(rule, SqlError):
            raise rule
        if rule is not None:
            result = rule([None] * nparams) if callable(rule) else rule
            if isinstance(result, Slow):
                result = result.result
            kind, columns = result.kind, result.columns
        elif first in ("select", "values", "with"):
            sample = self.db.execute(sql, [None] * nparams) if nparams else self.db.execute(sql)
            names = [d[0] for d in sample.description]
            rows = sample.fetchall()
            if nparams:
                rows = self.sample(sql)
            kind, columns = 2, guess_columns(names, rows, self.declared(sql))
        elif first in _TRANSACTION_CONTROL:
            kind = _TRANSACTION_CONTROL[first]
        else:
            kind = {"insert": 6, "update": 4, "delete": 5, "create": 14, "drop": 15, "alter": 37}.get(first, 14)
            if kind in (4, 5, 6):
                self.db.execute("explain " + sql, [None] * sql.count("?"))
            if kind == 6 and original in self.s.input_columns:
                columns = self.s.input_columns[original]
        sid = next(i for i in range(1 << 15) if i not in self.statements)
        st = self.statements[sid] = Statement(sql, kind, rule)
        st.columns = columns
        return describe(kind, sid, columns) + done() + COST

    def declared(self, sql: str) -> dict[str, str]:
        m = re.search(r"(?i)from (\w+)", sql)  # not "informix.systables": its columns have no types
        return {r[1]: r[2] for r in self.db.execute(f"pragma table_info({m[1]})")} if m else {}

    def sample(self, sql: str) -> list[tuple[Any, ...]]:
        m = re.search(r"(?i)^(select .*? from [\w.]+)", sql)
        try:
            return self.db.execute(m[1]).fetchall() if m else []
        except sqlite3.OperationalError:  # columns of a second table
            return []

    def m4(self) -> Any:
        "id"
        sid = self.short()

        def run() -> bytes:
            st = self.statements.get(sid)
            if st is None:
                raise SqlError(-258)
            self.current, self.sid = st, sid
            return b""

        return run

    def m3(self) -> Any:
        "curname"
        name = self.char()
        assert len(name) == 18, name
        return None

    def m5(self) -> Any:
        "bind"
        values = [self.parameter() for _ in range(self.short())]

        def run() -> bytes:
            self.s.binds.append(values)
            self.current.bound = values
            return b""

        self._lob_values = values
        return run

    def parameter(self) -> Any:
        t = self.short()
        if t >= 18 and t not in (52, 53):
            self.char(), self.char()
        ind, prec = self.short(), self.short()
        if ind == -1:
            return None
        if t == 0:
            return self.char().decode("latin-1")
        if t == 1:
            return self.short()
        if t == 2:
            return self.int()
        if t == 52:
            return struct.unpack(">q", self.take(8))[0]
        if t == 3:
            return struct.unpack(">d", self.take(8))[0]
        if t == 7:
            return str(dt.date(1899, 12, 31) + dt.timedelta(self.int()))
        if t == 17:
            sign, low, high = struct.unpack(">hII", self.take(10))
            return sign * (high << 32 | low)
        if t in (5, 8, 10, 14):
            return (t, prec, self.char())
        if t in (11, 12):
            d = self.take(56)
            return ("lob", t, struct.unpack(">i", d[16:20])[0])
        raise AssertionError(f"parameter of type {t}")

    def m41(self) -> Any:
        "bbind"
        contents = [self.blob() for _ in range(self.short())]
        values = self._lob_values
        places = [i for i, v in enumerate(values) if isinstance(v, tuple) and v[0] == "lob"]
        assert len(places) == len(contents)
        for place, content in zip(places, contents, strict=True):
            assert values[place][2] == len(content)
            values[place] = content if values[place][1] == 11 else content.decode("latin-1")
        return None

    def blob(self) -> bytes:
        parts = []
        while True:
            assert self.short() == 39
            n = self.short()
            if n == 0:
                return b"".join(parts)
            parts.append(self.block(n))

    def m7(self) -> Any:
        "execute"

        def run() -> bytes:
            st = self.current
            r = self.execute(st)
            return done(r.count, r.serial) + COST

        return run

    def execute(self, st: Statement) -> Result:
        values = [self.to_sqlite(v) for v in st.bound]
        rule = st.result
        if rule is not None:
            result = rule(st.bound) if callable(rule) else rule
            if isinstance(result, SqlError):
                raise result
            if isinstance(result, Slow):
                self.wait(result)
                result = result.result
            return result
        m = re.match(r"(?is)insert into \w+ values \(\?, filetoblob\('(.*?)', 'client'\)\)", st.sql)
        if m:
            self.s.files[m[1]] = self.read_client_file(m[1])
            return Result(count=1)
        if st.kind in (34, 35, 36):
            self.db.execute(st.sql.replace("work", ""))
            return Result()
        c = self.db.execute(st.sql, values) if values else self.db.execute(st.sql)
        if st.kind == 2:
            names = [d[0] for d in c.description]
            rows = c.fetchall()
            return Result(st.columns or guess_columns(names, rows, self.declared(st.sql)), rows)
        count = max(c.rowcount, 0)
        if self.s.fail_inserts_at is not None and st.kind == 6:
            self.s.fail_inserts_at -= 1
            if self.s.fail_inserts_at < 0:
                raise SqlError(-268, -100, "u1")
        return Result(count=count, serial=(c.lastrowid or 0) if st.kind == 6 else 0)

    def to_sqlite(self, v: Any) -> Any:
        if isinstance(v, tuple):
            return v[2].hex()
        return str(v) if isinstance(v, Decimal) else v

    def wait(self, slow: Slow) -> None:
        slow.executions += 1
        if slow.executions % 2:
            return
        deadline = time.monotonic() + slow.seconds
        slow.working.set()
        try:
            while time.monotonic() < deadline:
                _, _, urgent = select.select([], [], [self.sock], 0.02)
                if urgent and slow.how != "deaf":
                    assert socket.socket.recv(self.sock, 1, socket.MSG_OOB) == b"\x42"
                    if slow.how == "late":
                        return
                    raise SqlError(-213, -157)
                if self.s._stop:
                    raise Closed
        finally:
            slow.working.clear()

    def m6(self) -> Any:
        "open"

        def run() -> bytes:
            st = self.current
            if st.kind == 6:
                st.open = True
                return b""
            result = self.execute(st)
            st.rows, st.at, st.open = result.rows, 0, True
            st.columns = st.columns or result.columns
            return b""

        return run

    def m9(self) -> Any:
        "nfetch"
        size, _ = self.int(), self.short()

        def run() -> bytes:
            st = self.current
            if not st.open:
                raise SqlError(-259)
            m = re.match(r"(?is)select lotofile\((\w+), '(.*?)', 'client'\)", st.sql)
            if m and st.at < len(st.rows) and m[1] in self.s.blobs:
                self.write_client_file(m[2], self.s.blobs[m[1]])
            out, n = b"", 0
            limit = min(size, self.s.fetch_limit)
            while st.at < len(st.rows):
                message = tuple_message(
                    b"".join(encode_value(c, v) for c, v in zip(st.columns, st.rows[st.at], strict=True))
                )
                if n and len(out) + len(message) > limit:
                    break
                out += message
                n += 1
                st.at += 1
            return out + done(n) + COST

        return run

    def m24(self) -> Any:
        "scroll"
        return None

    def m43(self) -> Any:
        "hold"
        return None

    def m23(self) -> Any:
        "sfetch"
        kind, row, _ = self.short(), self.int(), self.int()

        def run() -> bytes:
            st = self.current
            if not st.open:
                raise SqlError(-259)
            n = {4: len(st.rows), 6: row}[kind]
            if not 1 <= n <= len(st.rows):
                return done() + COST
            raw = b"".join(encode_value(c, v) for c, v in zip(st.columns, st.rows[n - 1], strict=True))
            return struct.pack(">hi", 25, n) + tuple_message(raw) + done(1) + COST

        return run

    def m10(self) -> Any:
        "close"

        def run() -> bytes:
            if not self.current.open:
                raise SqlError(-259)
            self.current.open = False
            return b""

        return run

    def m11(self) -> Any:
        "release"

        def run() -> bytes:
            del self.statements[self.sid]
            return b""

        return run

    def m124(self) -> Any:
        "inputs"

        def run() -> bytes:
            columns = self.s.input_columns.get(self.current.sql, [])
            out = struct.pack(">hhh", 125, len(columns), 0)
            for c in columns:
                out += struct.pack(">Hi", c.type, c.xid) + char(b"") + char(c.ext.encode())
                out += struct.pack(">hhii", 0, 0, 0, c.length)
            return out

        return run

    def m100(self) -> Any:
        "rettype"
        assert self.short() == 0
        self.ret_types = []
        for _ in range(self.short()):
            t = self.short()
            if t >= 18 and t not in (52, 53):
                self.char(), self.char()
            self.ret_types.append((t, self.int()))
        return None

    def m17(self) -> Any:
        "put"
        size = self.int()
        assert self.short() == 1
        raw = self.block(size)

        def run() -> bytes:
            values: list[Any] = []
            at = 0
            for t, length in self.ret_types:
                if t in (2, 6):
                    v = struct.unpack_from(">i", raw, at)[0]
                    values.append(None if v == -0x80000000 else v)
                    at += 4
                elif t == 13:
                    n = raw[at]
                    values.append(raw[at + 1 : at + 1 + n].decode("latin-1"))
                    at += 1 + n
                elif t == 0:
                    values.append(raw[at : at + length].decode("latin-1").rstrip())
                    at += length
                else:
                    raise AssertionError(f"put of type {t}")
            assert at == len(raw)
            self.s.binds.append(values)
            if self.s.fail_inserts_at is not None:
                self.s.fail_inserts_at -= 1
                if self.s.fail_inserts_at < 0:
                    raise SqlError(-268, -100, "u1")
            self.db.execute(self.current.sql, values)
            return done(1) + COST

        return run

    def m38(self) -> Any:
        "fetchblob"
        descriptor = self.take(56)

        def run() -> bytes:
            st = self.current
            if not st.open:
                raise SqlError(-259)
            size = struct.unpack(">i", descriptor[16:20])[0]
            for row in st.rows:
                for c, v in zip(st.columns, row, strict=True):
                    if c.type in (11, 12) and v is not None and len(v) == size:
                        out = b""
                        for i in range(0, size, 1000):
                            part = v[i : i + 1000]
                            out += struct.pack(">hh", 39, len(part)) + pad(part)
                        return out + struct.pack(">hh", 39, 0)
            raise SqlError(-602)

        return run

    def m35(self) -> Any:
        "begin"

        def run() -> bytes:
            if self.db.in_transaction:
                raise SqlError(-535)
            self.db.execute("begin")
            return struct.pack(">hhhh", 99, 1, 1, 0) + done() + COST

        return run

    def m19(self) -> Any:
        "commit"

        def run() -> bytes:
            if not self.db.in_transaction:
                raise SqlError(-255)
            self.db.execute("commit")
            self.close_cursors()
            return struct.pack(">hhhh", 99, 2, 0, 1) + done() + COST

        return run

    def m20(self) -> Any:
        "rollback"
        assert self.short() == 0

        def run() -> bytes:
            if not self.db.in_transaction:
                raise SqlError(-255)
            self.db.execute("rollback")
            self.close_cursors()
            return struct.pack(">hhhh", 99, 3, 0, 1) + done() + COST

        return run

    def close_cursors(self) -> None:
        for st in self.statements.values():
            st.open = False

    def m137(self) -> Any:
        "savepoint"
        name = self.char().decode()
        assert self.short() == 0
        return lambda: self.db.execute(f"savepoint {name}") and done()

    def m138(self) -> Any:
        "release-savepoint"
        name = self.char().decode()
        return lambda: self.db.execute(f"release {name}") and done()

    def m139(self) -> Any:
        "rollback-to"
        name = self.char().decode()
        return lambda: self.db.execute(f"rollback to {name}") and done()

    # ---- fast path and client files ----

    def m101(self) -> Any:
        "getroutine"
        assert self.take(1) == b"\0"
        signature = self.char4().decode()
        assert self.short() == 0

        def run() -> bytes:
            if signature not in self.s.routines:
                raise SqlError(-674, 0, signature)
            self.handles.append(signature)
            return struct.pack(">h", 101) + char(b"testdb") + struct.pack(">i", len(self.handles) - 1)

        return run

    def m102(self) -> Any:
        "call"
        assert self.char() == b"testdb"
        handle, _, _ = self.int(), self.short(), self.short()
        assert self.short() == 5
        values = [self.parameter() for _ in range(self.short())]

        def run() -> bytes:
            results = self.s.routines[self.handles[handle]](*values)
            return struct.pack(">hh", 103, len(results)) + b"".join(results)

        return run

    def write_client_file(self, path: str, content: bytes) -> None:
        def ask(body: bytes) -> None:
            self.sock.sendall(struct.pack(">h", 98) + body + EOT)

        ask(struct.pack(">h", 0) + char(path.encode()) + struct.pack(">iii", 0, 0, 0))
        assert self.short() == 12
        for i in range(0, len(content), 3000):
            part = content[i : i + 3000]
            chunks = b"".join(
                struct.pack(">hh", 107, len(part[j : j + 1000])) + pad(part[j : j + 1000])
                for j in range(0, len(part), 1000)
            )
            ask(struct.pack(">h", 3) + chunks)
            assert (self.short(), self.int(), self.short()) == (107, len(part), 12)
        ask(struct.pack(">h", 1))
        assert self.short() == 12

    def read_client_file(self, path: str) -> bytes:
        def ask(body: bytes) -> None:
            self.sock.sendall(struct.pack(">h", 98) + body + EOT)

        ask(struct.pack(">h", 0) + char(path.encode()) + struct.pack(">iii", 0, 0, 0))
        assert self.short() == 12, "open"
        content = b""
        while True:
            ask(struct.pack(">hhi", 2, 700, self.s.file_amount))
            assert self.short() == 106
            total = self.int()
            part = b""
            while (code := self.short()) == 106:
                part += self.block(self.short())
            assert code == 12
            assert len(part) == total
            content += part
            if not total:
                break
        ask(struct.pack(">h", 1))
        assert self.short() == 12
        return content
