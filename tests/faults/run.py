#!/usr/bin/env python3
"""Commits under faults: calls that fail, and losses of power.

    run.py [--images N] [--faults N] [--seconds S] [--seed N]

* `power.py` records a workload and cuts the power at N points of it; each image is opened by plain SQLite and by the server.
* Then it leaves out the syncs of each call site in turn, in the record of a script that is the same each time: the check must fail for each,
  or the check (or the site) is worth nothing. The script must reach each call site that the workload reaches.
  Those that make no difference are listed in UNNEEDED, with the reason.
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

#: Syncs whose loss no check can notice, by what their site's name begins with. (That of the log is ours, the others are SQLite's.)
UNNEEDED = {
    "folder: sqlite3WalCheckpoint": "each connection's first sync of a log syncs its folder, too; the one that has made the log has done it before",
    "folder: syncJournal": "a database leaves rollback mode by a change within one sector, which is not torn",
    "log: pgsqlite_storage::vfs::write": "a long commit is synced before it is shown, so that who reads it waits less; it is synced again before it is acknowledged",
    "new database: sqlite3PagerSync": "a copied database gets its name after another sync of the whole file, which is ours",
}


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--images", type=int, default=1200)
    args.add_argument("--faults", type=int, default=150)
    args.add_argument("--seconds", type=float, default=12)
    args.add_argument("--seed", type=int, default=1)
    a = args.parse_args()
    wrong: list[str] = []
    folder = tempfile.mkdtemp(prefix="pgsqlite-power.")
    try:
        run = power.run_recorded(folder, a.seconds, a.seed)
        print(f"recorded: {len(run.events)} events, {len(run.notes)} things that clients were told", flush=True)
        wrong += power.check(run, a.images, a.seed)
        script = power.run_script(tempfile.mkdtemp(prefix="script.", dir=folder))
        reached = power.sites(script)
        for site, times in sorted(reached.items()):
            if site.startswith(tuple(UNNEEDED)):
                continue
            began = time.monotonic()
            found = power.needed(script, site)
            print(f"without {site} ({times} times): {found or 'NOTHING GOES WRONG'} ({time.monotonic() - began:.0f} s)", flush=True)
            if not found:
                wrong.append(f"nothing goes wrong without the syncs of {site}")
        missing = [site for site in power.sites(run) if site not in reached and not site.startswith(tuple(UNNEEDED))]
        wrong += [f"the script does not reach the syncs of {site}" for site in missing]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    wrong += failing.sweep(a.faults, 1.5, a.seed)
    for w in wrong[:40]:
        print(w)
    print(f"{len(wrong)} findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
