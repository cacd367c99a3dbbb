"""SQLAlchemy's own dialect tests (tests/sqlalchemy_suite) against pgsqlite's SQLI listener."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import CREDENTIALS, pgsqlite

SUITE = Path(__file__).parent / "sqlalchemy_suite"


def test_the_dialect_passes_sqlalchemys_own_tests(tmp_path):
    pytest.importorskip("sqlalchemy")
    with pgsqlite(tmp_path, "--database", str(tmp_path / "suite.db")) as port:
        user, password = CREDENTIALS["user"], CREDENTIALS["password"]
        uri = f"informix+informix_db://{user}:{password}@127.0.0.1:{port}/testdb?server=x"
        locale = "&client_locale=en_US.utf8&db_locale=en_US.utf8"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-c", "setup.cfg", "test_suite.py", "--dburi", uri + locale],
            cwd=SUITE,
            env={**os.environ, "INFORMIX_DB_TEST_HOST": "127.0.0.1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
        )
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    # that many do not depend on what Informix lacks
    assert passed
    assert int(passed[1]) > 700, done.stdout[-2000:]
