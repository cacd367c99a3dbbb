#!/usr/bin/env python3
"""Starts pgsqlite's SQLI listener ($PGSQLITE_BIN) as the server to measure; ends with its input or Ctrl-C."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from conftest import pgsqlite

with tempfile.TemporaryDirectory() as folder:
    with pgsqlite(Path(folder), "--database", str(Path(folder) / "bench.db")) as port:
        print(f"export INFORMIX_DB_TEST_HOST=127.0.0.1 INFORMIX_DB_TEST_PORT={port}", flush=True)
        try:
            sys.stdin.read()
        except KeyboardInterrupt:
            pass
