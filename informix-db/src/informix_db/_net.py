"""Runs the protocol's operations over a blocking socket.

Counterpart of `_net_async`, with the same names, so that one source serves both worlds. Whatever goes wrong while an
answer is being read (a time-out, a lost connection) closes the socket: a half-read stream is never used again. Ctrl-C
while the server works interrupts the statement, waits for the server's "interrupted" and then raises
KeyboardInterrupt: the connection stays usable. An error of this side that leaves no answer unread does not cost the
connection either.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from ._core.session import Op, Session
from .errors import DatabaseError, Error, InterfaceError, OperationalError, ProtocolError, StatementTimeoutError

R = TypeVar("R")

#: Bytes asked of the socket: little at first, because the buffer for it is made anew every time, more in a long answer.
RECEIVE, RECEIVE_MORE = 1 << 14, 1 << 18
#: The urgent byte that interrupts the server.
CANCEL = b"\x42"
#: Seconds that a server has to answer a cancel before the connection is given up.
CANCEL_GRACE = 5.0

Lock = threading.Lock


class Condition(threading.Condition):
    """A condition variable; `wait_for(predicate, timeout)` is False when the time is over."""


def dead(text: str, cause: BaseException | None = None) -> OperationalError:
    """An error that says that the connection is gone."""
    error = OperationalError(text)
    error.session_dead = True
    error.__cause__ = cause
    return error


def timed_out(text: str, cause: Error | None, *, session_dead: bool) -> StatementTimeoutError:
    """The error for a statement that ran too long."""
    error = StatementTimeoutError(text)
    error.session_dead = session_dead
    error.sqlcode, error.isamcode = -213, -157
    error.__cause__ = cause
    return error


def is_cancelled(error: BaseException) -> bool:
    return isinstance(error, DatabaseError) and error.sqlcode == -213


def is_fatal(error: Error | None) -> bool:
    """The error says that the stream cannot be used on."""
    return error is not None and (error.session_dead or isinstance(error, ProtocolError))


class Transport:
    """A socket, and the one operation that runs on it."""

    def __init__(self, sock: socket.socket, read_timeout: float | None) -> None:
        self._sock = sock
        self._read_timeout = read_timeout
        # What the socket's time-out is: setting it is a system call.
        self._timeout: float | None = None
        self._mutex = threading.Lock()
        self._busy = False
        self._cancelled = False
        self.closed = False

    @classmethod
    def connect(
        cls,
        host: str,
        port: int,
        *,
        timeout: float | None,
        read_timeout: float | None,
        keepalive: bool,
        tls: ssl.SSLContext | None,
        server_hostname: str | None,
    ) -> Transport:
        """Connect (and shake hands for TLS) within `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        sock: socket.socket | None = None
        try:
            sock = socket.create_connection((host, port), timeout)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if keepalive:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if tls is not None:
                if deadline is not None:
                    sock.settimeout(max(deadline - time.monotonic(), 0.001))
                sock = tls.wrap_socket(sock, server_hostname=server_hostname or host)
            sock.settimeout(None)
        except (OSError, ValueError) as error:
            if sock is not None:
                sock.close()
            raise dead(f"cannot connect to {host}:{port}: {error}", error) from error
        return cls(sock, read_timeout)

    def run(self, op: Op[R], session: Session, *, timeout: float | None = None) -> R:
        """Run one operation to its end. `timeout` seconds later the server is asked to stop it."""
        if self.closed:
            op.close()
            raise InterfaceError("the connection is closed")
        self._cancelled = False
        self._busy = True
        deadline = None if timeout is None else time.monotonic() + timeout
        expired = False
        interrupted: KeyboardInterrupt | None = None
        size = RECEIVE
        result: Any = None
        failure: Error | None = None
        try:
            request = next(op)
            while True:
                if request is not None:
                    if self._cancelled and session.outstanding == 0:
                        raise dead("the statement was cancelled between two requests; the connection is closed")
                    if self._timeout != self._read_timeout:
                        self._set_timeout(self._read_timeout)
                    self._sock.sendall(request)
                    request = next(op)
                    continue
                wait = self._read_timeout
                if deadline is not None:
                    left = max(deadline - time.monotonic(), 0.0)
                    wait = left if wait is None else min(wait, left)
                try:
                    if self._timeout != wait:
                        self._set_timeout(wait if wait is None or wait > 0 else 0.001)
                    chunk = self._sock.recv(size)
                except KeyboardInterrupt as error:
                    if interrupted is not None:
                        raise
                    interrupted = error
                    self.cancel()
                    deadline = time.monotonic() + CANCEL_GRACE
                    continue
                except TimeoutError as error:
                    if deadline is None or time.monotonic() < deadline:
                        raise dead(f"no answer within read_timeout ({self._read_timeout} s)", error) from error
                    if expired or interrupted is not None:
                        raise timed_out(
                            "the server did not stop the statement; the connection is closed", None, session_dead=True
                        ) from error
                    expired = True
                    self.cancel()
                    deadline = time.monotonic() + CANCEL_GRACE
                    continue
                if len(chunk) == size:
                    size = RECEIVE_MORE
                request = op.send(chunk)
        except StopIteration as stop:
            result = stop.value
        except Error as error:
            failure = error
        except (OSError, ssl.SSLError) as error:
            failure = dead(f"the connection is lost: {error}", error)
        except BaseException as error:
            op.close()
            with self._mutex:
                self._busy = False
            if not isinstance(error, Exception) or self._cancelled or not session.in_step:
                self.abort()
            raise
        with self._mutex:
            self._busy = False
        stopped = failure is not None and is_cancelled(failure)
        if session.outstanding or (self._cancelled and not stopped) or is_fatal(failure):
            # The stream is out of step, or a late cancel would hit the next statement.
            self.abort()
        if interrupted is not None:
            raise interrupted
        if expired and not (failure is not None and isinstance(failure, StatementTimeoutError)):
            raise timed_out(
                "the statement ran longer than its time-out" + ("" if stopped else "; the connection is closed"),
                failure,
                session_dead=self.closed,
            )
        if failure is not None:
            raise failure
        return result  # type: ignore[no-any-return]

    def _set_timeout(self, timeout: float | None) -> None:
        self._sock.settimeout(timeout)
        self._timeout = timeout

    def cancel(self) -> bool:
        """Send the urgent byte if an operation runs. Any thread may call this."""
        with self._mutex:
            if not self._busy or self.closed or self._cancelled:
                return False
            self._cancelled = True
            with contextlib.suppress(OSError):
                # Beneath TLS on purpose: the byte travels outside of the records.
                socket.socket.send(self._sock, CANCEL, socket.MSG_OOB)
            return True

    @property
    def busy(self) -> bool:
        """An operation is running."""
        return self._busy

    def is_alive(self) -> bool:
        """False when the server has closed the connection or sent something unasked. No round trip."""
        if self.closed:
            return False
        try:
            if isinstance(self._sock, ssl.SSLSocket) and self._sock.pending():
                return False
            readable, _, _ = select.select([self._sock], [], [], 0)
        except (OSError, ValueError):
            # select cannot take large descriptors; then the first statement finds out.
            return self._sock.fileno() >= 0
        return not readable

    def close(self, session: Session) -> None:
        """Say goodbye and close."""
        if not self.closed and not self._busy and session.outstanding == 0:
            with contextlib.suppress(Error, OSError):
                self._read_timeout = min(self._read_timeout or 2.0, 2.0)
                self.run(session.exit(), session)
        self.abort()

    def abort(self) -> None:
        """Close at once."""
        self.closed = True
        with contextlib.suppress(OSError):
            self._sock.close()


def wait_until(condition: Condition, predicate: Callable[[], bool], timeout: float | None) -> bool:
    """Wait (holding the condition) until the predicate is true; False when the time is over."""
    return condition.wait_for(predicate, timeout)
