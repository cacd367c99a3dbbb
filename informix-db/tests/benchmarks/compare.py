#!/usr/bin/env python3
"""Judge a run of the benchmarks against the baseline, or make it the baseline.

    compare.py .results/latest.json          fails when a mean is 25 % worse than the baseline's
    compare.py .results/latest.json --save   writes baseline.json

Machines differ: when both runs have `test_calibration`, the baseline is scaled by how fast each ran it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

BASELINE = Path(__file__).parent / "baseline.json"
LIMIT = 1.25


def main() -> int:
    run = json.loads(Path(sys.argv[1]).read_text())
    means = {b["name"]: b["stats"]["mean"] for b in run["benchmarks"]}
    if "--save" in sys.argv:
        known = json.loads(BASELINE.read_text())["means"] if BASELINE.exists() else {}
        known.update(means)
        content = {
            "host": "placeholder",
            "python": run["machine_info"]["python_version"],
            "unit": "seconds of processor time",
            "means": known,
        }
        BASELINE.write_text(json.dumps(content, indent=2) + "\n")
        print(f"saved {len(means)} means")
        return 0
    baseline = json.loads(BASELINE.read_text())["means"]
    scale = 1.0
    if "test_calibration" in means and "test_calibration" in baseline:
        scale = means["test_calibration"] / baseline["test_calibration"]
    print(f"{'benchmark':48} {'baseline':>12} {'now':>12} {'ratio':>7}   (machine factor {scale:.2f})")
    worse = 0
    for name, mean in means.items():
        if name not in baseline or name == "test_calibration":
            continue
        ratio = mean / (baseline[name] * scale)
        worse += ratio > LIMIT
        print(
            f"{name:48} {baseline[name] * 1e6:10.2f}us {mean * 1e6:10.2f}us {ratio:7.2f}{'  WORSE' * (ratio > LIMIT)}"
        )
    return int(worse > 0)


if __name__ == "__main__":
    sys.exit(main())
