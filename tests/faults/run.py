#!/usr/bin/env python3
"""Commits under faults: calls that fail, and losses of power.

    run.py [--images N] [--faults N] [--seconds S] [--seed N] [--tries N] [--plain-sites]

* `power.py` records a workload and cuts the power at N points of it; each image is opened by plain SQLite and by the server.
* Then it leaves out the syncs of each call site in turn: the check must fail for each, or the check (or the site) is worth nothing.
  Those of SQLite's own that make no difference here are listed in UNNEEDED, with the reason; of ours there is none.
* `failing.py` has the n-th call that changes a file fail, in N runs.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time

import failing
import power

#: Syncs that SQLite or we make and whose loss no check can notice, by what their site's name begins with.
UNNEEDED = {
    "folder: sqlite3WalCheckpoint": "each connection's first sync of a log syncs its folder, too; the one that has made the log has done it before",
    "folder: syncJournal": "a database leaves rollback mode by a change within one sector, which is not torn",
}


#: Those whose loss shows at nearly every point, for a short run.
PLAIN = ("log: pgsqlite_engine::wal", "new database: pgsqlite_engine::files", "folder: pagerWalFrames")


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--images", type=int, default=1200)
    args.add_argument("--faults", type=int, default=150)
    args.add_argument("--seconds", type=float, default=12)
    args.add_argument("--tries", type=int, default=400, help="images for each call site")
    args.add_argument("--plain-sites", action="store_true", help="only the call sites whose loss shows at once")
    args.add_argument("--seed", type=int, default=1)
    a = args.parse_args()
    wrong: list[str] = []
    folder = tempfile.mkdtemp(prefix="pgsqlite-power.")
    try:
        run = power.run_recorded(folder, a.seconds, a.seed)
        print(f"recorded: {len(run.events)} events, {len(run.notes)} things that clients were told", flush=True)
        wrong += power.check(run, a.images, a.seed)
        for site, times in sorted(power.sites(run).items()):
            reason = next((r for s, r in UNNEEDED.items() if site.startswith(s)), None)
            if reason or a.plain_sites and not site.startswith(PLAIN):
                continue
            began = time.monotonic()
            found = power.needed(run, site, a.tries, a.seed)
            print(f"without {site} ({times} times): {found or 'NOTHING GOES WRONG'} ({time.monotonic() - began:.0f} s)", flush=True)
            if not found:
                wrong.append(f"nothing goes wrong without the syncs of {site}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    wrong += failing.sweep(a.faults, 1.5, a.seed)
    for w in wrong[:40]:
        print(w)
    print(f"{len(wrong)} findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
