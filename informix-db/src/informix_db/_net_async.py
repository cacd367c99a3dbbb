"""Runs the protocol's operations under asyncio, without threads.

Counterpart of `_net`, with the same names prefixed by `Async`. A task that is cancelled while the server works sends
the urgent byte, waits for the server's "interrupted" and then goes on being cancelled: the connection stays usable.
When that answer does not come, or something else comes, the connection is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ._core.session import Op, Session
from ._net import CANCEL, CANCEL_GRACE, dead, is_cancelled, is_fatal, timed_out
from .errors import Error, InterfaceError, StatementTimeoutError

R = TypeVar("R")

#: Bytes that may wait unread before the socket is not read on.
HIGH_WATER = 8 << 20

AsyncLock = asyncio.Lock


class AsyncCondition(asyncio.Condition):
    """A condition variable for `wait_until`."""


class _Stream(asyncio.Protocol):
    """Collects what arrives, and wakes the one reader."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.size = 0
        self.eof = False
        self.error: Exception | None = None
        self.waiter: asyncio.Future[None] | None = None
        self.transport: asyncio.Transport | None = None
        self.reading_paused = False
        self.writable: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.chunks.append(data)
        self.size += len(data)
        if self.size > HIGH_WATER and self.transport is not None and not self.reading_paused:
            self.reading_paused = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self.eof = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.eof = True
        self.error = exc
        self._wake()
        self.resume_writing()

    def pause_writing(self) -> None:
        self.writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self.writable is not None and not self.writable.done():
            self.writable.set_result(None)
        self.writable = None

    def _wake(self) -> None:
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)

    def take(self) -> bytes:
        """What has arrived, possibly nothing."""
        chunks = self.chunks
        if not chunks:
            return b""
        self.chunks = []
        self.size = 0
        if self.reading_paused and self.transport is not None:
            self.reading_paused = False
            self.transport.resume_reading()
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def receive(self, timeout: float | None) -> bytes:
        """Wait for input; b"" at the end of the stream, TimeoutError when the time is over."""
        chunk = self.take()
        if chunk:
            return chunk
        if self.eof:
            if self.error is not None:
                raise OSError(str(self.error)) from self.error
            return b""
        loop = asyncio.get_running_loop()
        waiter = self.waiter = loop.create_future()
        handle = None if timeout is None else loop.call_later(timeout, _expire, waiter)
        try:
            await waiter
        finally:
            self.waiter = None
            if handle is not None:
                handle.cancel()
        chunk = self.take()
        if not chunk and self.error is not None:
            raise OSError(str(self.error)) from self.error
        return chunk


async def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, Any]]:
    """The addresses of a host. Numbers are taken as they are: asyncio looks names up in a thread."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError, ValueError):
            socket.inet_pton(family, host)
            return [(family, (host, port))]
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in found]


def _expire(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_exception(TimeoutError())


class AsyncTransport:
    """A socket under asyncio, and the one operation that runs on it."""

    def __init__(self, sock: socket.socket, stream: _Stream, read_timeout: float | None) -> None:
        self._sock = sock
        self._stream = stream
        self._read_timeout = read_timeout
        self._busy = False
        self._cancelled = False
        self.closed = False

    @classmethod
    async def connect(
        cls,
        host: str,
        port: int,
        *,
        timeout: float | None,
        read_timeout: float | None,
        keepalive: bool,
        tls: ssl.SSLContext | None,
        server_hostname: str | None,
    ) -> AsyncTransport:
        """Connect (and shake hands for TLS) within `timeout` seconds."""
        try:
            sock, stream = await asyncio.wait_for(
                cls._open(host, port, keepalive, tls, server_hostname or host), timeout
            )
        except (asyncio.TimeoutError, TimeoutError) as error:
            raise dead(f"cannot connect to {host}:{port}: timed out", error) from error
        except (OSError, ValueError) as error:
            raise dead(f"cannot connect to {host}:{port}: {error}", error) from error
        return cls(sock, stream, read_timeout)

    @staticmethod
    async def _open(
        host: str, port: int, keepalive: bool, tls: ssl.SSLContext | None, server_hostname: str
    ) -> tuple[socket.socket, _Stream]:
        loop = asyncio.get_running_loop()
        failure: OSError | None = None
        # The socket is made here, and not by asyncio, because the urgent byte needs the socket itself.
        for family, address in await _addresses(host, port):
            sock = socket.socket(family, socket.SOCK_STREAM)
            try:
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if keepalive:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                await loop.sock_connect(sock, address)
                stream = _Stream()
                hostname = server_hostname if tls is not None else None
                await loop.create_connection(lambda: stream, sock=sock, ssl=tls, server_hostname=hostname)  # noqa: B023
            except ssl.SSLError:
                sock.close()
                raise
            except OSError as error:
                sock.close()
                failure = error
                continue
            except BaseException:
                sock.close()
                raise
            return sock, stream
        raise failure or OSError("the host name has no address")

    async def run(self, op: Op[R], session: Session, *, timeout: float | None = None) -> R:
        """Run one operation to its end. `timeout` seconds later the server is asked to stop it."""
        if self.closed:
            op.close()
            raise InterfaceError("the connection is closed")
        self._cancelled = False
        self._busy = True
        stream = self._stream
        clock = asyncio.get_running_loop().time
        deadline = None if timeout is None else clock() + timeout
        expired = False
        interrupted: asyncio.CancelledError | None = None
        result: Any = None
        failure: Error | None = None
        try:
            request = next(op)
            while True:
                if request is not None:
                    if self._cancelled and session.outstanding == 0:
                        raise dead("the statement was cancelled between two requests; the connection is closed")
                    assert stream.transport is not None
                    stream.transport.write(request)
                    if stream.writable is not None:
                        # Cancelled here, a request is half sent: nothing can be saved.
                        await asyncio.wait_for(stream.writable, self._read_timeout)
                    request = next(op)
                    continue
                chunk = stream.take()
                if not chunk:
                    wait = self._read_timeout
                    if deadline is not None:
                        left = max(deadline - clock(), 0.0)
                        wait = left if wait is None else min(wait, left)
                    try:
                        chunk = await stream.receive(wait)
                    except asyncio.CancelledError as error:
                        if interrupted is not None:
                            raise
                        interrupted = error
                        self.cancel()
                        deadline = clock() + CANCEL_GRACE
                        continue
                    except TimeoutError as error:
                        if deadline is None or clock() < deadline - 0.0005:
                            raise dead(f"no answer within read_timeout ({self._read_timeout} s)", error) from error
                        if expired or interrupted is not None:
                            raise timed_out(
                                "the server did not stop the statement; the connection is closed",
                                None,
                                session_dead=True,
                            ) from error
                        expired = True
                        self.cancel()
                        deadline = clock() + CANCEL_GRACE
                        continue
                request = op.send(chunk)
        except StopIteration as stop:
            result = stop.value
        except Error as error:
            failure = error
        except (OSError, asyncio.TimeoutError) as error:
            failure = dead(f"the connection is lost: {error}", error)
        except BaseException as error:
            op.close()
            if not isinstance(error, Exception) or self._cancelled or not session.in_step:
                self.abort()
            raise
        finally:
            self._busy = False
        stopped = failure is not None and is_cancelled(failure)
        if session.outstanding or (self._cancelled and not stopped) or is_fatal(failure):
            # The stream is out of step, or a late cancel would hit the next statement.
            self.abort()
        if interrupted is not None:
            raise interrupted
        if expired and not isinstance(failure, StatementTimeoutError):
            raise timed_out(
                "the statement ran longer than its time-out" + ("" if stopped else "; the connection is closed"),
                failure,
                session_dead=self.closed,
            )
        if failure is not None:
            raise failure
        return result  # type: ignore[no-any-return]

    def cancel(self) -> bool:
        """Send the urgent byte if an operation runs. Call it from another task of the same loop."""
        if not self._busy or self.closed or self._cancelled:
            return False
        self._cancelled = True
        with contextlib.suppress(OSError):
            # Beneath TLS on purpose: the byte travels outside of the records.
            self._sock.send(CANCEL, socket.MSG_OOB)
        return True

    @property
    def busy(self) -> bool:
        """An operation is running."""
        return self._busy

    def is_alive(self) -> bool:
        """False when the server has closed the connection or sent something unasked. No round trip."""
        return not (self.closed or self._stream.eof or self._stream.chunks)

    async def close(self, session: Session) -> None:
        """Say goodbye and close."""
        if not self.closed and not self._busy and session.outstanding == 0:
            with contextlib.suppress(Error, OSError):
                self._read_timeout = min(self._read_timeout or 2.0, 2.0)
                await self.run(session.exit(), session)
        self.abort()

    def abort(self) -> None:
        """Close at once."""
        self.closed = True
        if self._stream.transport is not None:
            with contextlib.suppress(RuntimeError):  # the loop may be closed already
                self._stream.transport.abort()


async def async_wait_until(condition: AsyncCondition, predicate: Callable[[], bool], timeout: float | None) -> bool:
    """Wait (holding the condition) until the predicate is true; False when the time is over."""
    try:
        await asyncio.wait_for(condition.wait_for(predicate), timeout)
    except (asyncio.TimeoutError, TimeoutError):
        return predicate()
    return True
