"""The one format of results: a file per run, a list of measurements in it.

A measurement is a dictionary:

    group, name      what was measured: "operations", "select key"
    mode             how: "prepared binary", "COPY text" … ("" if there is one way only)
    clients          sessions at once
    loop             "closed" or "open" (then `rate`, operations per second that were due)
    target, client   who was measured: "pgsqlite", "postgresql" …; through what: "load", "pgbench", "psycopg 3" …
    unit             "ns", "instructions", "bytes" or "per second"
    value            the mean of the times, or the one figure there is
    better           "lower" or "higher"
    count, errors    operations that were timed; those that failed, by SQLSTATE: they are counted and not timed
    p50 … p99.9, min, max   of times; None where there are too few operations to tell
    per_second, slices      throughput of the whole, and of each turn
    histogram        HdrHistogram (V2, deflated, base64; ns)
"""

from __future__ import annotations

import base64
import datetime
import json
import os
import pathlib
import platform
import subprocess

from hdrh.histogram import HdrHistogram

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".results"
FORMAT = 2
#: Times are kept from 1 ns to ten minutes, with three significant digits.
LONGEST = 600_000_000_000
PERCENTILES = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9}


def new_histogram() -> HdrHistogram:
    return HdrHistogram(1, LONGEST, 3)


def record(histogram: HdrHistogram, ns: int) -> None:
    """Keeps a time; what is out of bounds counts as the bound, it is never lost."""
    histogram.record_value(min(max(int(ns), 1), LONGEST))


def decode(histogram: str) -> HdrHistogram:
    return HdrHistogram.decode(histogram)


def encode(histogram: HdrHistogram) -> str:
    text = histogram.encode()
    text = text.decode() if isinstance(text, bytes) else text
    base64.b64decode(text)
    return text


def percentiles(histogram: HdrHistogram) -> dict:
    """None for a percentile that needs more operations than there are: the 99.9th of 100 is their maximum under another name."""
    count = histogram.get_total_count()
    out: dict = {}
    for name, p in PERCENTILES.items():
        enough = count * (100 - p) / 100 >= 1
        out[name] = int(histogram.get_value_at_percentile(p)) if enough else None
    out["min"] = int(histogram.get_min_value()) if count else None
    out["max"] = int(histogram.get_max_value()) if count else None
    return out


def timed(group: str, name: str, target: str, client: str, histogram: HdrHistogram, *, mean: float | None = None, slices=(), errors=None, **more) -> dict:
    """A measurement of many operations' times. `slices`: (operations, seconds) of each turn."""
    count = histogram.get_total_count()
    out = {"group": group, "name": name, "mode": "", "clients": 1, "loop": "closed", "target": target, "client": client, "unit": "ns", "better": "lower"}
    out.update(more)
    out["value"] = (histogram.get_mean_value() if mean is None else mean) if count else None
    out["count"], out["errors"] = count, dict(errors or {})
    out.update(percentiles(histogram))
    seconds = sum(s for _, s in slices)
    out["per_second"] = sum(n for n, _ in slices) / seconds if seconds else None
    out["slices"] = [n / s if s else None for n, s in slices]
    out["histogram"] = encode(histogram)
    return out


def from_times(group: str, name: str, target: str, client: str, times: list[int], **more) -> dict:
    """The same from the times themselves (ns)."""
    histogram = new_histogram()
    for t in times:
        record(histogram, t)
    mean = sum(times) / len(times) if times else None
    slices = more.pop("slices", None) or ([(len(times), sum(times) / 1e9)] if times else [])
    return timed(group, name, target, client, histogram, mean=mean, slices=slices, **more)


def single(group: str, name: str, target: str, client: str, value: float, unit: str, better: str = "lower", **more) -> dict:
    """A measurement that is one figure, not below 0: the report makes ratios of it."""
    if not value >= 0:
        raise ValueError(f"{name} of {target} is {value}, which cannot have been measured")
    out = {"group": group, "name": name, "mode": "", "clients": 1, "loop": "closed", "target": target, "client": client}
    out.update(unit=unit, value=value, better=better, count=1, errors={})
    out.update(more)
    return out


def key(m: dict) -> str:
    """What a measurement is called in the baseline."""
    parts = [m["group"], m["name"], m["mode"], f"{m['clients']} clients" if m["clients"] != 1 else "", m["client"], m["target"]]
    parts.append("open loop" if m["loop"] == "open" else "")
    parts.append(m["unit"] if m["unit"] != "ns" else "")
    return " | ".join(p for p in parts if p)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


class Run:
    """The results of one run of the command line."""

    def __init__(self, kind: str, profile: str):
        self.kind, self.profile = kind, profile
        self.begun = datetime.datetime.now(datetime.timezone.utc)
        self.load_before = os.getloadavg()[0]
        self.measurements: list[dict] = []
        self.targets: dict[str, dict] = {}
        #: what was not measured, and why: nothing is left out silently
        self.skipped: list[dict] = []

    def add(self, measurements: list[dict]) -> None:
        self.measurements.extend(measurements)

    def skip(self, what: str, why: str) -> None:
        self.skipped.append({"what": what, "why": " ".join(why.split())[:500]})

    def to_json(self) -> dict:
        now = datetime.datetime.now(datetime.timezone.utc)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return {
            "format": FORMAT,
            "kind": self.kind,
            "profile": self.profile,
            "begun": self.begun.isoformat(timespec="seconds"),
            "seconds": round((now - self.begun).total_seconds(), 1),
            "commit": _git("rev-parse", "--short=12", "HEAD"),
            "changed": bool(_git("status", "--porcelain", "--untracked-files=no")),
            "machine": {
                "host": "HOST",
                "cpus": os.cpu_count(),
                "memory_mib": memory >> 20,
                "architecture": platform.machine(),
                "system": f"{platform.system()} {platform.release().split('-')[0]}",
                "load_before": round(self.load_before, 2),
                "load_after": round(os.getloadavg()[0], 2),
            },
            "targets": self.targets,
            "skipped": self.skipped,
            "measurements": self.measurements,
        }

    def write(self) -> pathlib.Path:
        """Writes the run's file, and once more as the latest of its kind."""
        FOLDER.mkdir(exist_ok=True)
        text = json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n"
        path = FOLDER / f"{self.kind}-{self.begun.strftime('%Y%m%dT%H%M%SZ')}.json"
        path.write_text(text)
        (FOLDER / f"{self.kind}-latest.json").write_text(text)
        return path


def read(path: pathlib.Path) -> dict:
    run = json.loads(path.read_text())
    if run.get("format") != FORMAT:
        raise SystemExit(f"{path} is of format {run.get('format')}, this is for {FORMAT}")
    return run
