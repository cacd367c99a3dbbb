"""The n-th call that changes a file fails: with EIO, with ENOSPC, or after half of a write; n over the whole run.

Whatever fails, clients get 58030 or 53100, nothing that was acknowledged is lost, nothing is there in part, and the server goes on, or refuses
to write with 58030: after a sync of a database has failed it must, since the system may have dropped what the sync was for.
"""

from __future__ import annotations

import os
import pathlib
import random
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import power  # noqa: E402
import pgwire  # noqa: E402
import record  # noqa: E402
import workload  # noqa: E402

#: an I/O error, a full disk; a file that cannot be made
EXPECTED = ("58030", "53100", "58P01")


@dataclass
class Fault:
    n: int
    kind: str
    count: int
    only: str = ""
    names: str = ""

    def __str__(self) -> str:
        which = {"": "calls", "Y": "syncs", "W": "writes", "RU": "changes of names", "T": "truncations"}.get(self.only, self.only)
        return f"{self.kind} from the {self.n}. of the {which}{f' of *{self.names}' if self.names else ''} on, {self.count} times"


def run(fault: Fault, seconds: float, seed: int) -> tuple[bool, list[str]]:
    """One run with one fault: whether it has happened, and what is wrong."""
    folder = tempfile.mkdtemp(prefix="pgsqlite-faults.")
    more = {"FAULTS_FAIL": f"{fault.n} {fault.kind} {fault.count}", "FAULTS_ONLY": fault.only, "FAULTS_NAMES": fault.names}
    wrong: list[str] = []
    try:
        try:
            with power.recording(folder, 500, **more) as s:
                work = workload.Workload(s, seed)
                work.expected = EXPECTED
                try:
                    work.set_up()
                except (RuntimeError, pgwire.StartupError, pgwire.ServerGone) as e:
                    if not str(e).startswith((*EXPECTED, "3D000")):
                        wrong.append(f"the first statements: {e}")
                    # the tables that are not there; the folder's first database, if it could not be made
                    work.expected += ("42P01", "3D000")
                work.run(seconds)
                wrong += work.problems[:3]
                if s.process.poll() is not None:
                    wrong.append(f"the server is gone: {s.log_text()}")
                else:
                    probe(s, folder, fault, wrong)
        except RuntimeError as e:
            # it may refuse to start
            if "did not start" not in str(e) or "panicked" in str(e):
                wrong.append(str(e))
            return True, wrong
        recorded = power.recorded(folder, work)
        claims = power.Claims(recorded.notes, len(recorded.events))
        wrong += power.check_plainly(os.path.join(folder, "data"), claims)
        # and if the power is cut now
        rng = random.Random(seed)
        disk = recorded.disk()
        for e in recorded.events:
            disk.play(e)
        for _ in range(3):
            how, files = disk.image(rng)
            with tempfile.TemporaryDirectory(prefix="pgsqlite-image.") as image:
                power.write_image(image, files, rng)
                wrong += [f"after a loss of power ({how}): {w}" for w in power.check_plainly(image, claims)]
        return any(e.kind == "!" for e in recorded.events), wrong
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def probe(s, folder: str, fault: Fault, wrong: list[str]) -> None:
    """The server answers, and writes unless a sync of the database has failed."""
    events = record.read(os.path.join(folder, "trace"))
    names = {e.handle: e.payload.decode() for e in events if e.kind == "O"}
    # (before there is a log the database is being opened: that fails as a whole, and is tried again)
    opened = next((i for i, e in enumerate(events) if e.kind == "O" and names[e.handle] == "postgres.db-wal"), len(events))
    stopped = any(e.kind == "y" and names[e.handle] in ("postgres.db", "postgres.db-wal") for e in events[opened:])
    try:
        c = power.connect(s, "postgres")
        c.query("SELECT 1")
        errors = []
        for protocol, table in ((c.simple, "probe"), (c.extended, "probe_again")):
            errors += [pgwire.fields_of(b)["C"] for k, b in protocol(f"CREATE TABLE {table} (i int)") if k == b"E"] or ["none"]
        happened = sum(e.kind == "!" for e in record.read(os.path.join(folder, "trace")))
        if happened < fault.count and fault.kind in ("enospc", "short") and not stopped:
            # writes still fail, or failed until now; what has room in the log is written
            expected = {"53100", "none"} if fault.kind == "enospc" else {"53100", "58030", "none"}
            if not set(errors) <= expected:
                wrong.append(f"while writes fail ({fault.kind}) one is answered with {errors}")
            return
        if stopped and errors != ["58030", "58030"]:
            wrong.append(f"after a failed sync a write is answered with {errors}")
        if not stopped and errors != ["none", "none"]:
            wrong.append(f"after the fault a write is answered with {errors}")
        c.close()
    except pgwire.StartupError as e:
        if not stopped and not str(e).startswith((*EXPECTED, "3D000")):
            wrong.append(f"after the fault nobody can log in: {e}")
    except (RuntimeError, pgwire.ServerGone, OSError) as e:
        # what may be lost is not shown
        if not (stopped and isinstance(e, pgwire.ServerGone) and str(e).startswith("58030")):
            wrong.append(f"after the fault: {e}")


def faults(count: int, seed: int) -> list[Fault]:
    """So many faults: each kind of call and error early and late in a run."""
    rng = random.Random(f"{seed} faults")
    shapes = [
        ("eio", 1, "Y", "postgres.db-wal", 300),
        ("eio", 1, "Y", ".db", 20),
        ("eio", 1, "", "", 900),
        ("enospc", 1, "W", "postgres.db-wal", 500),
        ("enospc", 50, "W", "", 700),
        ("short", 1, "W", "postgres.db-wal", 500),
        ("short", 200, "W", "", 700),
        ("eio", 1, "W", "postgres.db", 60),
        ("eio", 1, "RU", "", 12),
        ("eio", 3, "OT", "", 20),
        ("eio", 1, "Y", ".db.new", 8),
        ("enospc", 1000000, "W", "", 700),
    ]  # fmt: skip
    out = []
    for i in range(count):
        kind, times, only, names, most = shapes[i % len(shapes)]
        out.append(Fault(1 + int(most * rng.random() ** 1.5), kind, times, only, names))
    return out


def sweep(count: int, seconds: float, seed: int) -> list[str]:
    wrong = []
    happened = 0
    began = time.monotonic()
    for fault in faults(count, seed):
        did, found = run(fault, seconds, seed)
        happened += did
        wrong += [f"{fault}: {w}" for w in found]
    print(f"faults: {count} runs, {happened} of them long enough, {len(wrong)} findings, {time.monotonic() - began:.0f} s", flush=True)
    if happened < count / 2:
        wrong.append(f"only {happened} of {count} faults have happened")
    return wrong
