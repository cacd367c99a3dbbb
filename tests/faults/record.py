"""The record of what a server did to its files (shim.c), and the disk that a loss of power leaves of it.

A record is a list of events in the order in which they happened. `Disk` replays them: what was written is on disk after a sync of the file
that began later; a name, after a sync of its folder (or, as with ext4, of the file that has it). `Disk.image` makes one of the states that
the disk may have been in: of what was not synced any part may have arrived, in any order, torn at pages or sectors.
"""

from __future__ import annotations

import bisect
import functools
import os
import pathlib
import random
import re
import struct
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent


def shim(folder: str) -> str:
    """The library, built into this folder."""
    path = os.path.join(folder, "shim.so")
    if not os.path.exists(path):
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", path, str(HERE / "shim.c"), "-ldl", "-lpthread"], check=True)
    return path


@dataclass
class Event:
    kind: str
    handle: int
    number: int
    payload: bytes


def read(path: str) -> list[Event]:
    events = []
    with open(path, "rb") as f:
        data = f.read()
    at = 0
    while at + 17 <= len(data):
        kind, handle, number, length = struct.unpack_from("<cIqI", data, at)
        if at + 17 + length > len(data):
            break
        events.append(Event(kind.decode(), handle, number, data[at + 17 : at + 17 + length]))
        at += 17 + length
    return events


# --- call sites ------------------------------------------------------------------------------------------------------------------

PASSED_BY = re.compile(r"^(do_sync|fsync|fdatasync|full_fsync|unixSync|sqlite3OsSync|sqlite3OsFileControl.*|.*storage::vfs::(sync|progress).*|::sync_(all|data)$|.*::sync_folder$|.*storage::apart::.*|tokio::|std::|core::|alloc::|<?\??$|_ZN3std)")


@functools.cache
def symbols(binary: str) -> tuple[list[int], list[str]]:
    out = subprocess.run(["nm", "-nC", "--defined-only", binary], capture_output=True, text=True, check=True).stdout
    found = []
    for line in out.splitlines():
        parts = line.split(" ", 2)
        if len(parts) == 3 and parts[1] in "tTwW":
            found.append((int(parts[0], 16), parts[2]))
    return [a for a, _ in found], [n for _, n in found]


def caller(binary: str, places: bytes) -> str:
    """Who asked for a sync: the functions of SQLite or ours nearest to the call."""
    addresses, names = symbols(binary)
    chain = []
    for place in struct.unpack(f"<{len(places) // 8}Q", places):
        if place >= addresses[-1] + (1 << 20):
            continue  # another library
        i = bisect.bisect_right(addresses, place - 1) - 1
        name = re.sub(r"::h[0-9a-f]{16}$", "", names[i]) if i >= 0 else "?"
        name = re.sub(r"<[^<>]*>|\[[0-9a-f]{16}\]", "", name)
        if PASSED_BY.match(name):
            continue
        # a function of ours may ask twice
        chain.append(name if name.startswith(("sqlite3", "pager", "sync", "wal")) else f"{name}+{place - addresses[i]:x}")
        if len(chain) == 2:
            break
    return " < ".join(chain)


# --- the disk --------------------------------------------------------------------------------------------------------------------


class File:
    def __init__(self) -> None:
        self.durable = bytearray()
        #: (at, bytes), or (size, None) for a truncation
        self.pending: list[tuple[int, bytes | None]] = []
        self.synced_at = -1


def apply(content: bytearray, op: tuple[int, bytes | None]) -> None:
    at, data = op
    if data is None:
        if at < len(content):
            del content[at:]
        else:
            content.extend(bytes(at - len(content)))
        return
    if at > len(content):
        content.extend(bytes(at - len(content)))
    content[at : at + len(data)] = data


def kind_of(name: str) -> str:
    if name == ".":
        return "folder"
    for end, kind in (("-wal", "log"), ("-journal", "journal"), (".db", "database"), (".db.new", "new database")):
        if name.endswith(end):
            return kind
    return "other"


#: What is rebuilt after a crash (its content is garbage then), or belongs to the running server only.
PASSING = re.compile(r"(-shm|-pgsqlite\.lock|\.log)$")


@dataclass
class Disk:
    """The files at a point of the record, and what of them is on disk. `ignored`: syncs of these call sites do nothing."""

    binary: str
    ignored: frozenset[str] = frozenset()
    files: dict[int, tuple[str, File]] = field(default_factory=dict)  # by handle
    names: dict[str, File] = field(default_factory=dict)  # as the process sees them
    durable_names: dict[str, File] = field(default_factory=dict)
    name_ops: list[tuple] = field(default_factory=list)
    syncs: dict[int, tuple] = field(default_factory=dict)
    sites: dict[str, int] = field(default_factory=dict)
    #: the site of the sync that ended last
    last_site: str = ""
    #: whether there was anything for it to sync
    last_had_work: bool = False
    #: the file that it synced; None: the folder
    last_file: File | None = None

    def preset(self, folder: str) -> None:
        """Files that were there before, and on disk."""
        for name in os.listdir(folder):
            if PASSING.search(name):
                continue
            f = File()
            f.durable = bytearray(pathlib.Path(folder, name).read_bytes())
            self.names[name] = self.durable_names[name] = f

    def play(self, e: Event) -> None:
        match e.kind:
            case "O":
                name = e.payload.decode()
                f = self.names.get(name)
                if f is None or e.number & 1:
                    f = File()
                    if name != ".":
                        self.names[name] = f
                        self.name_ops.append(("make", name, f))
                elif e.number & 2:
                    f.pending.append((0, None))
                self.files[e.handle] = (name, f)
            case "W":
                self.files[e.handle][1].pending.append((e.number, e.payload))
            case "T":
                self.files[e.handle][1].pending.append((e.number, None))
            case "B":
                name, f = self.files[e.handle]
                site = f"{kind_of(name)}: {caller(self.binary, e.payload)}"
                self.sites[site] = self.sites.get(site, 0) + 1
                upto = len(self.name_ops) if name == "." else len(f.pending)
                self.syncs[e.number] = (site, name, f, upto)
            case "Y":
                site, name, f, upto = self.syncs.pop(e.number)
                self.last_site, self.last_had_work, self.last_file = site, upto > 0, None if name == "." else f
                if site in self.ignored:
                    return
                if name == ".":
                    for op in self.name_ops[:upto]:
                        self.name(self.durable_names, op)
                    del self.name_ops[:upto]
                    # what other syncs of the folder were going to make durable is counted from the front
                    self.syncs = {k: (s, n, g, max(0, u - upto) if n == "." else u) for k, (s, n, g, u) in self.syncs.items()}
                else:
                    for op in f.pending[:upto]:
                        apply(f.durable, op)
                    del f.pending[:upto]
                    self.syncs = {k: (s, n, g, max(0, u - upto) if g is f else u) for k, (s, n, g, u) in self.syncs.items()}
            case "y":
                self.syncs.pop(e.number, None)
            case "R":
                old, new = e.payload.decode().split("\n")
                op = ("rename", old, new)
                self.name(self.names, op)
                self.name_ops.append(op)
            case "U":
                op = ("remove", e.payload.decode())
                self.name(self.names, op)
                self.name_ops.append(op)

    @staticmethod
    def name(names: dict[str, File], op: tuple) -> None:
        match op:
            case ("make", name, f):
                names[name] = f
            case ("rename", old, new):
                if old in names:
                    names[new] = names.pop(old)
            case ("remove", name):
                names.pop(name, None)

    def image(self, rng: random.Random) -> tuple[str, dict[str, bytes]]:
        """A state that a loss of power may leave now, and how it came about."""
        how_names = rng.choice(["none", "all", "first", "any"])
        upto = {"none": 0, "first": rng.randint(0, len(self.name_ops))}.get(how_names, len(self.name_ops))
        stuck: set[str] = set()
        arrived = []
        for op in self.name_ops[:upto]:
            # in any order, but for each name in the order of its changes
            touched = {part for part in op[1:] if isinstance(part, str)}
            if how_names == "any" and (touched & stuck or rng.random() < 0.4):
                stuck |= touched
            else:
                arrived.append(op)
        how = rng.choice(WAYS)
        return f"names {how_names}, writes {how}", self.made(arrived, lambda _, pending: survivors(pending, how, rng))

    def made(self, name_ops: list[tuple], kept: Callable[[File, list], list]) -> dict[str, bytes]:
        """The files when these changes of names have arrived, and of each file what `kept` keeps of its pending writes."""
        names = dict(self.durable_names)
        for op in name_ops:
            self.name(names, op)
        out = {}
        for name, f in names.items():
            if PASSING.search(name):
                continue
            content = bytearray(f.durable)
            for op in kept(f, f.pending) if f.pending else []:
                apply(content, op)
            out[name] = bytes(content)
        return out

    def worst_images(self, synced: File | None) -> Iterator[tuple[str, dict[str, bytes]]]:
        """The states that lose what one sync was for: that of a file, or (None) of the folder. The same ones each time."""
        ops = [op for op in self.name_ops if not all(PASSING.search(part) for part in op[1:] if isinstance(part, str))]
        if synced is None:
            orders = {"none": [], "all": ops}
            for i, op in enumerate(ops[:24]):
                orders[f"only {op[:2]}"] = [op]
                orders[f"all but {op[:2]}"] = ops[:i] + ops[i + 1 :]
            for what, order in orders.items():
                yield f"names {what}", self.made(order, lambda _, pending: pending)
            return
        losses: dict[str, Callable[[list], list]] = {
            "nothing": lambda p: [],
            "the first half": lambda p: p[: len(p) // 2],
            "the second half": lambda p: p[len(p) // 2 :],
            "all but the first": lambda p: p[1:],
            "all but the first two": lambda p: p[2:],
            "all but the first three": lambda p: p[3:],
            "the last": lambda p: p[-1:],
            "the first": lambda p: p[:1],
            "a sector": lambda p: [(at, data and data[:512]) for at, data in p],
            "all but a sector": lambda p: [(at, None) if data is None else (at + 512, data[512:]) for at, data in p],
        }
        for what, loss in losses.items():
            yield f"of its file arrived: {what}", self.made(ops, lambda f, p, loss=loss: loss(p) if f is synced else p)
        for what, loss in losses.items():
            # what another file's later write took for granted
            yield f"of other files arrived: {what}", self.made(ops, lambda f, p, loss=loss: [] if f is synced else loss(p))


WAYS = ["none", "all", "first", "last", "whole", "pages", "sectors", "one", "but one"]


def survivors(pending: list, how: str, rng: random.Random) -> list:
    """Which of the writes that were not synced have arrived."""
    n = len(pending)
    match how:
        case "none":
            return []
        case "all":
            return pending
        case "first":
            return pending[: rng.randint(0, n)]
        case "last":
            return pending[rng.randint(0, n) :]
        case "whole":
            return [op for op in pending if rng.random() < 0.5]
        case "one":
            return [rng.choice(pending)]
        case "but one":
            i = rng.randrange(n)
            return pending[:i] + pending[i + 1 :]
    unit = 4096 if how == "pages" else 512
    out = []
    keep = rng.choice([0.2, 0.5, 0.8, 0.95])
    for at, data in pending:
        if data is None:
            if rng.random() < keep:
                out.append((at, None))
            continue
        start = at
        while start < at + len(data):
            end = min((start // unit + 1) * unit, at + len(data))
            if rng.random() < keep:
                out.append((start, data[start - at : end - at]))
            start = end
    return out


# --- what clients were told --------------------------------------------------------------------------------------------------------


@dataclass
class Told:
    """When a client was told what: by request, the event that carried its first row, and the one that carried its ReadyForQuery."""

    rows: dict[int, int] = field(default_factory=dict)
    ready: dict[int, int] = field(default_factory=dict)


def told(events: list[Event]) -> dict[int, Told]:
    """By the process number that a client got in BackendKeyData. Request 0 is the start-up."""
    buffers: dict[int, bytearray] = {}
    people: dict[int, Told] = {}
    by_pid: dict[int, Told] = {}
    counts: dict[int, int] = {}
    for index, e in enumerate(events):
        if e.kind != "S":
            continue
        buffer = buffers.setdefault(e.handle, bytearray())
        buffer += e.payload
        person = people.setdefault(e.handle, Told())
        count = counts.setdefault(e.handle, 0)
        at = 0
        while at + 5 <= len(buffer):
            size = 1 + struct.unpack_from("!i", buffer, at + 1)[0]
            if at + size > len(buffer):
                break
            match chr(buffer[at]):
                case "K":
                    by_pid[struct.unpack_from("!i", buffer, at + 5)[0]] = person
                case "D" | "C" | "E":
                    person.rows.setdefault(count, index)
                case "Z":
                    person.ready[count] = index
                    count += 1
            at += size
        del buffer[:at]
        counts[e.handle] = count
    return by_pid
