"""The login packets: the only ones with an outer length."""

from __future__ import annotations

import functools
import os
import socket
import threading
from dataclasses import dataclass
from struct import Struct

from ...errors import InterfaceError, OperationalError, ProtocolError
from ..errcodes import server_error
from ..wire import INT, SHORT, Incomplete, Reader, asc

REQUEST, ACCEPT, REJECT, REDIRECT = 1, 2, 3, 13
CAP_1 = 316
CLIENT_VERSION = b"9.280"


@dataclass(frozen=True)
class Accepted:
    """What the server says of itself."""

    version: str
    serial: str
    application: str
    cap_1: int
    cap_2: int
    cap_3: int


def _clean(text: str, what: str) -> bytes:
    if "\0" in text:
        raise InterfaceError(f"{what} must not contain a NUL character")
    raw = text.encode("utf-8")
    if len(raw) > 4096:
        raise InterfaceError(f"{what} is too long ({len(raw)} bytes)")
    return raw


@functools.lru_cache(maxsize=64)
def _name(text: str, what: str) -> bytes:
    """What is the same for many connections, as a string of the packet."""
    return asc(_clean(text, what))


def login_packet(user: str, password: str | None, server: str, environment: dict[str, str]) -> bytes:
    """The request that opens a session. The database is left empty: it is opened by DBOPEN."""
    short = SHORT.pack
    body = [
        _HEAD,
        _name(user, "user"),
        short(0) if password is None else asc(_clean(password, "password")),
        _MIDDLE,
        _name(server, "server"),
        bytes(10),
        _environment(tuple(environment.items())),
        _PROCESS(107, 0, os.getpid() & 0x7FFFFFFF, threading.get_ident() & 0x7FFFFFFF),
        _name(socket.gethostname(), "host name"),
        bytes(2),
        asc(_cwd()),
        _TAIL,
    ]
    packet = b"".join(body)
    length = len(packet) + 6
    if length > 32767:
        raise InterfaceError("the login packet is too long; shorten the environment")
    return short(length) + bytes((REQUEST, 60)) + short(0) + packet


#: What stands before the user and behind the working directory is the same for all.
_HEAD = b"".join(
    (
        SHORT.pack(100) + SHORT.pack(101) + INT.pack(61) + asc(b"IEEEM"),
        SHORT.pack(108) + b"sqlexec\0\0\0\0\0",
        asc(CLIENT_VERSION) + asc(b"RDS#R000000") + asc(b"sqli"),
        INT.pack(CAP_1) + INT.pack(0) + INT.pack(0) + SHORT.pack(1),
    )
)
#: Between the password and the server's name.
_MIDDLE = b"".join(
    (
        b"ol\0\0\0\0\0\0" + INT.pack(61) + b"tlitcp\0\0" + INT.pack(1),
        SHORT.pack(104) + SHORT.pack(11) + INT.pack(3),
    )
)
#: Its code, 0, process, thread.
_PROCESS = Struct(">hiii").pack
_PROGRAM = b"informix-db\0"
_TAIL = b"".join(
    (
        SHORT.pack(116) + SHORT.pack(10 + len(_PROGRAM)) + INT.pack(0) + INT.pack(0),
        SHORT.pack(len(_PROGRAM)) + _PROGRAM + SHORT.pack(127),
    )
)


@functools.lru_cache(maxsize=8)
def _environment(variables: tuple[tuple[str, str], ...]) -> bytes:
    """The block of environment variables."""
    pairs = (asc(_clean(k, "environment name")) + asc(_clean(v, "environment value")) for k, v in variables)
    return SHORT.pack(106) + SHORT.pack(len(variables)) + b"".join(pairs)


def _cwd() -> bytes:
    try:
        return os.getcwd().encode("utf-8", "replace")[:1024].replace(b"\0", b"")
    except OSError:
        return b"/"


def parse_answer(data: bytes) -> tuple[int, Accepted] | None:
    """(bytes used, what the server said), or None when the packet is not complete.

    Raises the error that the server gave for a rejected login, ProtocolError for a packet that is none.
    """
    if len(data) < 6:
        return None
    total, kind = SHORT.unpack_from(data)[0] & 0xFFFF, data[2]
    if kind not in (ACCEPT, REJECT, REDIRECT) or data[3] != 60 or total < 8:
        raise ProtocolError(f"the peer does not speak SQLI: its answer to the login begins with {data[:8].hex()}")
    if len(data) < total:
        return None
    try:
        accepted = _accepted(bytes(data[6:total])) if kind == ACCEPT else _body(Reader(data, 6, total), kind)
    except Incomplete:
        raise ProtocolError("the login answer is shorter than its contents") from None
    return total, accepted


@functools.lru_cache(maxsize=8)
def _accepted(body: bytes) -> Accepted:
    """A server says the same to every client that it lets in."""
    return _body(Reader(body, 0, len(body)), ACCEPT)


def _body(r: Reader, kind: int) -> Accepted:
    r.take(8)  # 100, 101, 61
    r.asc()  # IEEEI
    r.take(2 + 12)  # 108, srvinfx
    texts = r.asc(), r.asc(), r.asc()
    caps = r.integer(), r.integer(), r.integer()
    r.short()
    r.take(r.length("length in the login answer"))
    r.take(r.length("length in the login answer"))
    r.take(24)
    while (tag := r.short()) != 127:
        if tag == 102:
            _outcome(r, kind)
        elif tag == 103:
            target = r.char().decode("utf-8", "replace")
            raise OperationalError(f"the server redirects to {target!r}, which this driver does not follow")
        else:
            raise ProtocolError(f"unknown block {tag} in the login answer")
    if kind != ACCEPT:
        raise OperationalError("the server rejected the login without a reason")
    version, serial, application = (t.decode("utf-8", "replace") for t in texts)
    return Accepted(version, serial, application, *caps)


def _outcome(r: Reader, kind: int) -> None:
    r.take(6)
    service, system = r.short(), r.short()
    r.short()  # warnings
    messages = []
    for _ in range(r.length("number of login messages")):
        r.short()
        messages.append(r.char().decode("utf-8", "replace"))
    if kind == ACCEPT and not service:
        return
    text = " ".join(m.strip() for m in messages)
    error = server_error(service, 0, 0, "") if service else OperationalError("the server rejected the login")
    if text:
        error.args = (f"{text} (SQLCODE {service})",)
    if system:
        error.args = (f"{error.args[0]} (system error {system})",)
    error.session_dead = True
    raise error
