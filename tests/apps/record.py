#!/usr/bin/env python3
"""Makes tests/sql/applications_NAME.slt of the statements that applications sent (`run.py --capture DIR` writes them).

    record.py DIR [NAME…]     then: tools/oracle.sh python3 tests/sql/run.py --record tests/sql/applications_*.slt

Definitions stay in their order. Of queries those over the catalogs stay that have no parameters and no OIDs, one of each shape: the
others read rows, which the driver tests do.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFINES = re.compile(r"\s*(create|alter|drop|comment|grant|revoke|do|merge)\b", re.I)
ASKS = re.compile(r"pg_catalog|information_schema|\bpg_(class|attribute|type|proc|index|constraint|namespace|enum|depend)\b", re.I)
# databases and roles are the cluster's; locks and sessions are of the moment
NOT = re.compile(
    r"(create|drop|alter)\s+(database|role|user)\b|pg_locks|pg_stat_activity|advisory|txid|pg_backend_pid|concurrently|current_database"
    r"|\blisten\b|\bnotify\b|version\(\)|pg_postmaster|pg_stat_|pg_settings|pg_timezone|random\(\)|typarray|now\(\)",
    re.I,
)


def without_comments(text: str) -> str:
    """A statement on one line: comments go, line ends become blanks."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    lines = []
    for line in text.splitlines():
        at = line.find("--")
        if at >= 0 and line[:at].count("'") % 2 == 0:
            line = line[:at]
        lines.append(line.strip())
    return " ".join(line for line in lines if line)


def main() -> None:
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    for path in sorted(folder.glob("*.json")):
        if names and path.stem not in names:
            continue
        kept, shapes = [], set()
        for statement in json.loads(path.read_text()):
            one = without_comments(statement).rstrip("; ")
            if not one or NOT.search(one) or len(one) > 20000:
                continue
            shape = re.sub(r"'[^']*'|\b\d+\b", "?", one)
            if DEFINES.match(one):
                if re.search(r"\$\d", re.sub(r"\$\$.*?\$\$|\$(\w+)\$.*?\$\1\$", "", one)):
                    continue
                kept.append(one + ";")
            elif ASKS.search(one) and re.match(r"\s*(select|with)\b", one, re.I) and shape not in shapes:
                if re.search(r"\$\d|\b\d{5,}\b|\boid\b", one, re.I):
                    continue
                shapes.add(shape)
                kept.append(f"@sort\n{one};")
        target = ROOT / "tests" / "sql" / f"applications_{path.stem.replace('-', '_')}.slt"
        title = f"# The definitions that {path.stem} makes, in its order, and what it asks the catalogs."
        target.write_text("\n".join([title, *kept]) + "\n")
        print(target.name, len(kept))


if __name__ == "__main__":
    main()
