"""Runs Django's own tests against pgsqlite's SQLI listener: `run.py [LABEL …]`, by default the suites of SUITES.

The tests are in Django's source distribution, which pip downloads once into build/django. What is left out, and why,
is in exclusions.py.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "django"
sys.path.insert(0, str(HERE.parent))

from conftest import pgsqlite  # noqa: E402

#: What an application's models, queries, transactions and migrations need.
SUITES = (
    "basic aggregation annotations bulk_create constraints custom_pk dates datetimes defer delete distinct_on_fields "
    "expressions_case fixtures get_or_create introspection lookup many_to_many many_to_one migrations "
    "model_inheritance null_queries one_to_one or_lookups ordering queries raw_query schema select_related "
    "string_lookup transaction_hooks transactions update"
).split()


def source(version: str) -> Path:
    """The unpacked source distribution of a version of Django."""
    found = BUILD / f"django-{version}"
    if not found.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download"]
        options = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--dest", str(BUILD)]
        subprocess.run([*pip, *options, f"Django=={version}"], check=True)
        with tarfile.open(next(BUILD.glob(f"[dD]jango-{version}.tar.gz"))) as archive:
            archive.extractall(BUILD, filter="data")
    return found


def run(labels: list[str]) -> subprocess.CompletedProcess[str]:
    """Django's test program, on a server of its own."""
    import django

    tests = source(django.get_version()) / "tests"
    with tempfile.TemporaryDirectory() as folder:
        databases = Path(folder) / "databases"
        databases.mkdir()
        with pgsqlite(Path(folder), "--data-dir", str(databases)) as port:
            env = {**os.environ, "DJANGO_INFORMIX_PORT": str(port)}
            env["PYTHONPATH"] = os.pathsep.join([str(HERE), str(ROOT / "src")])
            command = [sys.executable, "runtests.py", "--settings=settings", "--parallel=1", "--noinput", *labels]
            return subprocess.run(
                command, cwd=tests, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=3600
            )


if __name__ == "__main__":
    done = run(sys.argv[1:] or SUITES)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    sys.exit(done.returncode)
