"""A peer that plays a transcript: it insists on exactly the client's bytes, and answers with the recorded ones.

A transcript is text. Lines begin with `>` (client) or `<` (server); the rest is hex, with spaces wherever they help,
`"text"` for ASCII, and `..` for a byte that may be anything. Other lines are comments.
"""

from __future__ import annotations

import re
import socket
import threading
from pathlib import Path

_PART = re.compile(r'"([^"]*)"|(\.\.)|([0-9a-fA-F]{2})|(\s+)')


def parse_bytes(text: str) -> list[int | None]:
    out: list[int | None] = []
    pos = 0
    while pos < len(text):
        m = _PART.match(text, pos)
        if m is None:
            raise ValueError(f"not transcript bytes: {text[pos:]!r}")
        if m[1] is not None:
            out += m[1].encode()
        elif m[2]:
            out.append(None)
        elif m[3]:
            out.append(int(m[3], 16))
        pos = m.end()
    return out


def load(path: Path) -> list[tuple[str, list[int | None]]]:
    steps = []
    for line in path.read_text().splitlines():
        if line[:1] in "<>" and line:
            steps.append((line[0], parse_bytes(line[1:])))
    return steps


class Replay:
    """`with Replay(steps) as r: … connect to r.port`; leaving the block fails if the client said something else."""

    def __init__(self, steps: list[tuple[str, list[int | None]]]) -> None:
        self.steps = steps
        self.problem: str | None = None
        self.played = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        sock, _ = self._socket.accept()
        sock.settimeout(10)
        with sock:
            for number, (side, data) in enumerate(self.steps):
                if side == "<":
                    sock.sendall(bytes(b or 0 for b in data))
                else:
                    got = b""
                    while len(got) < len(data):
                        try:
                            chunk = sock.recv(len(data) - len(got))
                        except OSError as error:
                            chunk, self.problem = b"", f"step {number}: {error}"
                        if not chunk:
                            self.problem = self.problem or f"step {number}: the client closed after {got.hex()}"
                            return
                        got += chunk
                    for i, (want, have) in enumerate(zip(data, got, strict=True)):
                        if want is not None and want != have:
                            self.problem = f"step {number}, byte {i}: {have:02x} instead of {want:02x} in {got.hex()}"
                            return
                self.played += 1

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._thread.join(10)
        self._socket.close()
        if self.problem:
            raise AssertionError(self.problem)
        if kind is None and self.played != len(self.steps):
            raise AssertionError(f"only {self.played} of {len(self.steps)} steps were played")
