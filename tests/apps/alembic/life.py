"""alembic: autogenerate finds nothing more after it has carried out what it found."""

import os

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata, produce_migrations
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy.dialects import postgresql as pg

engine = sa.create_engine(os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+psycopg2://"))
meta = sa.MetaData()
mood = sa.Enum("ok", "bad", name="mood")
author = sa.Table(
    "author", meta,
    sa.Column("id", sa.Integer, sa.Identity(), primary_key=True),
    sa.Column("name", sa.String(50), nullable=False, comment="a name"),
    sa.Column("mood", mood, server_default="ok"),
    sa.Column("data", pg.JSONB), sa.Column("tags", pg.ARRAY(sa.Text)), sa.Column("u", pg.UUID),
    sa.Column("n", sa.Numeric(10, 2)), sa.Column("at", sa.DateTime(timezone=True), server_default=sa.func.now()),
    sa.Column("twice", sa.Integer, sa.Computed("id * 2")),
    sa.CheckConstraint("name <> ''", name="named"), sa.UniqueConstraint("name", "u", name="once"),
    comment="authors",
)  # fmt: skip
sa.Index("author_lower", sa.func.lower(author.c.name))
sa.Index("author_some", author.c.name, postgresql_where=author.c.mood.in_(["ok", "bad"]))
book = sa.Table(
    "book", meta,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("author_id", sa.ForeignKey("author.id", ondelete="CASCADE", name="book_author"), index=True),
    sa.Column("title", sa.Text),
)  # fmt: skip


def found(connection):
    context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
    return context, compare_metadata(context, meta)


with engine.begin() as connection:
    context, differences = found(connection)
    print("first:", [d[0] if isinstance(d, tuple) else d[0][0] for d in differences])
    operations = Operations(context)
    for step in produce_migrations(context, meta).upgrade_ops.ops:
        for operation in getattr(step, "ops", [step]):
            operations.invoke(operation)
with engine.begin() as connection:
    print("second:", [str(d)[:120] for d in found(connection)[1]])
    inspector = sa.inspect(connection)
    print(sorted(i["name"] for i in inspector.get_indexes("author")), inspector.get_check_constraints("author"))
    for column in inspector.get_columns("author"):
        print(column["name"], column["type"], column["nullable"], column["default"], column.get("computed"))
    meta.drop_all(connection)
    print("left:", sa.inspect(connection).get_table_names())
