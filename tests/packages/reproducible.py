#!/usr/bin/env python3
"""Packs what a release has twice, from two copies of the program, in another folder, time zone, language and file mask, and compares every file.

The program is $PGSQLITE_BIN. What is compared is the packing, not the compiler.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pack(program: pathlib.Path, work: pathlib.Path, mask: int, **settings: str) -> dict[str, str]:
    """Returns the checksum of each file of a release."""
    work.mkdir()
    own = work / "pgsqlite"
    shutil.copy(program, own)
    out = work / "dist"
    command = [sys.executable, str(ROOT / "tools/dist.py"), str(out)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PGSQLITE_BIN": str(own), **settings}, umask=mask)
    sums = {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in out.iterdir()}
    listed = dict(reversed(line.split("  ", 1)) for line in (out / "SHA256SUMS").read_text().splitlines())
    if listed != {name: value for name, value in sums.items() if name != "SHA256SUMS"}:
        raise SystemExit("SHA256SUMS is not what the files have")
    return sums


def main() -> int:
    program = pathlib.Path(os.environ["PGSQLITE_BIN"]).resolve()
    with tempfile.TemporaryDirectory(prefix="pgsqlite-reproducible.") as folder:
        first = pack(program, pathlib.Path(folder) / "one", 0o022)
        # (archives count whole seconds, zip pairs of them)
        time.sleep(2.1)
        second = pack(program, pathlib.Path(folder) / "another place", 0o077, TZ="Pacific/Auckland", LC_ALL="C", LANGUAGE="de", SOURCE_DATE_EPOCH="1")
    failed = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    for name in failed:
        print(f"{name}: the two differ")
    print(f"{len(first) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
