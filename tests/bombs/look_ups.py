"""Another session, in a process of its own: it looks up keys one after the other and reports how long each look-up has lasted.

(As a thread it would wait for the interpreter while another thread takes rows as fast as they come.)
"""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import queue
import sys
import time
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized
from typing import TYPE_CHECKING

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from pgwire import Connection, ServerGone  # noqa: E402

if TYPE_CHECKING:
    from server import Server


def delays(pid: int, client: int | None = None) -> float:
    """Seconds that the server's threads, and those of the client (this program), have waited for a processor that others had."""
    total = 0
    for who in (pid, client or os.getpid()):
        try:
            tasks = os.listdir(f"/proc/{who}/task")
        except FileNotFoundError:
            continue
        for task in tasks:
            try:
                total += int(pathlib.Path(f"/proc/{who}/task/{task}/schedstat").read_text().split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
    return total / 1e9


@dataclass
class Present:
    """The look-up that is under way, as both processes see it."""

    #: when it began; 0: there is none
    began: "Synchronized[float]"
    #: what `delays` was then
    delayed: "Synchronized[float]"

    def lasts(self, pid: int, client: int) -> float | None:
        """How long it has lasted, without the time in which other programs had the processors."""
        began, delayed = self.began.value, self.delayed.value
        if not began:
            return None
        waited = time.monotonic() - began
        return waited if waited < 0.005 else max(0.0, waited - (delays(pid, client) - delayed))


def look_up(folder: str, port: int, pid: int, waits: "multiprocessing.Queue[float | str]", present: Present) -> None:
    """The process."""
    n = 0
    try:
        patient = Connection(folder, port, "postgres", "postgres", timeout=120)
        while True:
            n += 1
            present.delayed.value = delays(pid)
            present.began.value = time.monotonic()
            found = patient.query(f"SELECT v FROM keys WHERE id = {n % 1000 + 1}")
            waits.put(present.lasts(pid, os.getpid()) or 0.0)
            present.began.value = 0.0
            if len(found) != 1:
                waits.put(f"{found} for one key")
            # a client thinks: the machine has the bomb and the measuring itself to run, too
            time.sleep(0.002)
    except (OSError, ServerGone, RuntimeError) as e:
        waits.put(str(e) or type(e).__name__)


class LookUps:
    """The process, as the test sees it."""

    def __init__(self, server: "Server"):
        context = multiprocessing.get_context("spawn")
        self.error = ""
        self.waits: "multiprocessing.Queue[float | str]" = context.Queue()
        self.present = Present(context.Value("d", 0.0), context.Value("d", 0.0))
        self.server = server.process.pid
        arguments = (server.dir, server.port, self.server, self.waits, self.present)
        self.process = context.Process(target=look_up, args=arguments, daemon=True)
        self.process.start()
        # (until then nothing is measured)
        self.waits.get(timeout=60)

    def take(self) -> list[float]:
        """What was waited since the last call, a wait that lasts among it."""
        lasts, taken = self.present.lasts(self.server, self.process.pid or 0), []
        while True:
            try:
                waited = self.waits.get_nowait()
            except queue.Empty:
                break
            if isinstance(waited, str):
                self.error = waited
            else:
                taken.append(waited)
        return taken if lasts is None else [*taken, lasts]

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()
