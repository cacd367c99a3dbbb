"""Recipes for frameworks: each test is one."""

from __future__ import annotations

import asyncio
import os
import pathlib
import subprocess
import sys

import asyncpg
import pgsqlite
import sqlalchemy


def test_asyncpg(pgsqlite_database):
    async def use():
        conn = await asyncpg.connect(pgsqlite_database.url)
        try:
            await conn.execute("INSERT INTO books (title) VALUES ($1)", "async")
            return await conn.fetchval("SELECT count(*) FROM books")
        finally:
            await conn.close()

    assert asyncio.run(use()) == 2


def test_sqlalchemy(pgsqlite_database):
    # (the URL names the driver)
    engine = sqlalchemy.create_engine(pgsqlite_database.url.replace("postgresql:", "postgresql+psycopg:"))
    books = sqlalchemy.Table("books", sqlalchemy.MetaData(), autoload_with=engine)
    with engine.begin() as conn:
        conn.execute(books.insert().values(title="second"))
        assert conn.execute(sqlalchemy.select(sqlalchemy.func.count()).select_from(books)).scalar() == 2
    engine.dispose()


REVISION = '''
from alembic import op
import sqlalchemy as sa

revision = "1"
down_revision = None

def upgrade():
    op.create_table("cities", sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.Text, nullable=False))
'''


def test_alembic(pgsqlite_server, tmp_path: pathlib.Path):
    from alembic import command, config

    database = pgsqlite_server.create_database("alembic_template")
    command.init(settings := config.Config(tmp_path / "alembic.ini"), str(tmp_path / "scripts"))
    (tmp_path / "scripts" / "versions" / "1_cities.py").write_text(REVISION)
    settings.set_main_option("script_location", str(tmp_path / "scripts"))
    settings.set_main_option("sqlalchemy.url", database.url.replace("postgresql:", "postgresql+psycopg:").replace("%", "%%"))
    command.upgrade(settings, "head")
    with pgsqlite_server.clone("alembic_template") as copy:
        assert copy.execute("INSERT INTO cities (name) VALUES ('Oslo') RETURNING id") == [["1"]]


SETTINGS = """
import os
SECRET_KEY = "test"
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth"]
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"], "USER": os.environ["PGUSER"],
    "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"]}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
"""
DJANGO_TEST = """
from django.contrib.auth.models import User
from django.test import TestCase

class Users(TestCase):
    def test_one(self):
        User.objects.create_user("ada")
        self.assertEqual(User.objects.count(), 1)

    def test_none(self):
        self.assertEqual(User.objects.count(), 0)
"""


def test_django(tmp_path: pathlib.Path):
    """`pgsqlite exec -- python -m django test`: Django makes its test database itself."""
    (tmp_path / "settings.py").write_text(SETTINGS)
    (tmp_path / "tests.py").write_text(DJANGO_TEST)
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "settings", "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [pgsqlite.find_program(), "exec", "--", sys.executable, "-m", "django", "test"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )
    assert done.returncode == 0 and "Ran 2 tests" in done.stderr, done.stderr
