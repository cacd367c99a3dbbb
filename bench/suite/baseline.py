"""baseline.json: the means of a run that later runs are held against. A mean that is 25 % worse fails.

Only our own figures are judged. The rivals' figures of the same run are kept beside them: by how much those differ now tells how
much faster or slower today's machine is, and what is judged is what remains after that (`factor`). Instructions and bytes do
not depend on the machine's speed and are compared as they are.
"""

from __future__ import annotations

import json
import pathlib
import statistics

from . import results

PATH = results.ROOT / "bench" / "baseline.json"
LIMIT = 1.25
OURS = {"pgsqlite", "informix-db", "informix-db, compiled", "pg-parallel"}
CALIBRATION = "calibration"


def figures(run: dict, ours: bool) -> dict[str, dict]:
    """The judged figures of a run (or the rivals') by their names."""
    out = {}
    for m in run["measurements"]:
        is_rival = m["target"] not in OURS or CALIBRATION in m["group"]
        if m["value"] is not None and is_rival != ours and m["loop"] == "closed":
            out[results.key(m)] = {"value": float(f"{m['value']:.5g}"), "unit": m["unit"], "better": m["better"]}
    return out


def save(run: dict, path: pathlib.Path = PATH) -> int:
    """Puts a run's figures into the baseline; what the run has not measured stays. The number of figures."""
    known = json.loads(path.read_text()) if path.exists() else {"figures": {}, "rivals": {}}
    ours = figures(run, True)
    known["figures"].update(ours)
    known["rivals"].update(figures(run, False))
    content = {
        "host": "HOST",
        "machine": {k: v for k, v in run["machine"].items() if k in ("cpus", "architecture")},
        "profile": run["profile"],
        "saved": run["begun"][:10],
        "figures": dict(sorted(known["figures"].items())),
        "rivals": dict(sorted(known["rivals"].items())),
    }
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return len(ours)


def worse(now: dict, then: dict) -> float:
    """By what factor a figure is worse: above 1."""
    a, b = now["value"], then["value"]
    if not a or not b:
        return 1.0
    return a / b if now["better"] == "lower" else b / a


def is_speed(figure: dict) -> bool:
    return figure["unit"] in ("ns", "per second")


def factor(now: dict[str, dict], then: dict[str, dict], of_codecs: bool) -> float:
    """How much slower the machine is than when the baseline was saved, by the figures of others."""
    shared = [k for k in now if k in then and is_speed(now[k]) and k.startswith("codec") == of_codecs]
    return statistics.median(worse(now[k], then[k]) for k in shared) if shared else 1.0


def compare(run: dict, path: pathlib.Path = PATH) -> list[dict]:
    """A row per figure that both have: key, then, now, by what factor it is worse (machine taken out), and whether that fails."""
    if not path.exists():
        raise SystemExit(f"there is no {path.name} yet: `make bench-save` on a quiet machine makes it (bench/README.md)")
    known = json.loads(path.read_text())
    rivals = figures(run, False)
    factors = {codec: factor(rivals, known["rivals"], codec) for codec in (False, True)}
    out = []
    for key, now in figures(run, True).items():
        then = known["figures"].get(key)
        if then is None:
            continue
        machine = factors[key.startswith("codec")] if is_speed(now) else 1.0
        ratio = worse(now, then) / machine
        out.append({"key": key, "unit": now["unit"], "then": then["value"], "now": now["value"], "machine": machine, "worse": ratio, "fails": ratio > LIMIT})
    return sorted(out, key=lambda row: -row["worse"])
