"""Alembic on pgsqlite's SQLI listener: upgrade, downgrade, and an autogenerate that finds only what differs."""

import pytest

sa = pytest.importorskip("sqlalchemy")
pytest.importorskip("alembic")
from alembic.autogenerate import compare_metadata, produce_migrations, render_python_code  # noqa: E402
from alembic.migration import MigrationContext  # noqa: E402
from alembic.operations import Operations  # noqa: E402
from sqlalchemy import Column, ForeignKey, Integer, MetaData, String, Table  # noqa: E402

from conftest import CREDENTIALS  # noqa: E402
from informix_db import sqlalchemy as ifx  # noqa: E402


@pytest.fixture
def connection(listener):
    c = CREDENTIALS
    url = (
        f"informix+informix_db://{c['user']}:{c['password']}@127.0.0.1:{listener}/{c['database']}?server={c['server']}"
    )
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def metadata():
    meta = MetaData()
    Table("alembic_parent", meta, Column("id", Integer, primary_key=True), Column("name", String(40), nullable=False))
    Table(
        "alembic_child",
        meta,
        Column("id", sa.BigInteger, primary_key=True),
        Column("parent", Integer, ForeignKey("alembic_parent.id")),
        Column("price", sa.Numeric(10, 2)),
        Column("at", ifx.InformixDatetime("YEAR TO MINUTE")),
    )
    return meta


def own(differences):
    """Other tests' tables are in the database, too."""
    return [d for d in differences if "alembic" in str(d)]


def test_migrations(connection):
    meta = metadata()
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    operations = Operations(context)
    meta.create_all(connection)
    try:
        # A SERIAL is an Integer that is counted: nothing differs.
        assert own(compare_metadata(context, meta)) == []
        operations.add_column("alembic_child", Column("note", String(20)))
        operations.alter_column("alembic_child", "note", new_column_name="remark")
        operations.alter_column(
            "alembic_child", "remark", type_=String(60), nullable=False, server_default="none", existing_nullable=True
        )
        columns = {c["name"]: c for c in sa.inspect(connection).get_columns("alembic_child")}
        assert columns["remark"]["type"].length == 60
        assert not columns["remark"]["nullable"]
        connection.execute(sa.text("insert into alembic_child (id, price) values (0, 1)"))
        assert connection.execute(sa.text("select remark from alembic_child")).scalar() == "none"
        kinds = [d[0] for d in own(compare_metadata(context, meta))]
        assert kinds == ["remove_column"]
        operations.drop_column("alembic_child", "remark")
        assert own(compare_metadata(context, meta)) == []
        operations.rename_table("alembic_child", "alembic_kid")
        assert "alembic_kid" in sa.inspect(connection).get_table_names()
        operations.rename_table("alembic_kid", "alembic_child")
        operations.create_index("alembic_i", "alembic_child", ["price"])
        assert [i["name"] for i in sa.inspect(connection).get_indexes("alembic_child") if i["name"] == "alembic_i"]
        operations.drop_index("alembic_i", table_name="alembic_child")
        assert sa.inspect(connection).get_table_comment("alembic_child") == {"text": None}
    finally:
        meta.drop_all(connection)
        connection.commit()


def test_types_are_written_with_their_import(connection):
    context = MigrationContext.configure(connection, opts={"include_object": lambda o, name, *rest: "alembic" in name})
    migrations = produce_migrations(context, metadata())
    imports = set()
    code = render_python_code(migrations.upgrade_ops, migration_context=context, imports=imports)
    assert "informix_db.sqlalchemy.InformixDatetime(" in code
