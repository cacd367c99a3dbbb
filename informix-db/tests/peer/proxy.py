"""A TCP proxy that does harm: cuts after so many bytes, delivers in small pieces, delays, or goes silent."""

from __future__ import annotations

import socket
import threading
import time


class Proxy:
    """Sits before a server on 127.0.0.1:`target`. Faults apply to what the server sends, from byte `after` on.

    `fault`: "cut" closes, "reset" closes hard, "silence" sends nothing more, "trickle" sends `piece` bytes at a time.
    """

    def __init__(self, target: int, *, fault: str = "", after: int = 0, piece: int = 1, delay: float = 0.0) -> None:
        self.target, self.fault, self.after, self.piece, self.delay = target, fault, after, piece, delay
        self.passed = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def _start(self, target, *args) -> None:
        t = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(t)
        t.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target))
            self._sockets += [client, server]
            self._start(self._pump, client, server, False)
            self._start(self._pump, server, client, True)

    def _pump(self, source: socket.socket, sink: socket.socket, harmful: bool) -> None:
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                if harmful and self.fault:
                    self._harm(data, sink, source)
                else:
                    sink.sendall(data)
        except OSError:
            pass

    def _harm(self, data: bytes, sink: socket.socket, source: socket.socket) -> None:
        room = max(self.after - self.passed, 0)
        self.passed += len(data)
        sink.sendall(data[:room])
        rest = data[room:]
        if not rest:
            return
        if self.fault == "trickle":
            for i in range(0, len(rest), self.piece):
                sink.sendall(rest[i : i + self.piece])
                if self.delay:
                    time.sleep(self.delay)
        elif self.fault == "cut":
            sink.shutdown(socket.SHUT_RDWR)
            raise OSError
        elif self.fault == "reset":
            sink.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            sink.shutdown(socket.SHUT_RD)  # wakes the other direction, whose read would keep the socket open
            sink.close()
            raise OSError
        # "silence": nothing more arrives

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *exc: object) -> None:
        for s in [self._listener, *self._sockets]:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()
        for t in self._threads:
            t.join(5)
