"""SQLAlchemy's own dialect tests, against a real server: `make test-sqlalchemy` with INFORMIX_DB_TEST_HOST set."""

import os

import pytest
from sqlalchemy.dialects import registry

registry.register("informix", "informix_db.sqlalchemy", "InformixDialect")
registry.register("informix.informix_db", "informix_db.sqlalchemy", "InformixDialect")
pytest.register_assert_rewrite("sqlalchemy.testing.assertions")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403

assert os.environ.get("INFORMIX_DB_TEST_HOST"), "these tests need a server: set INFORMIX_DB_TEST_HOST"
