"""The SQLAlchemy dialect: its SQL, reflection from a system catalog, engines of both kinds."""

import asyncio
import datetime as dt

import pytest

sa = pytest.importorskip("sqlalchemy")
from sqlalchemy import Column, ForeignKey, Integer, MetaData, String, Table, exc, func, select  # noqa: E402
from sqlalchemy import types as t  # noqa: E402
from sqlalchemy.ext.asyncio import create_async_engine  # noqa: E402
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship  # noqa: E402
from sqlalchemy.schema import AddConstraint, CreateIndex, CreateTable, DropConstraint  # noqa: E402

from informix_db import IntervalYM  # noqa: E402
from informix_db import sqlalchemy as ifx  # noqa: E402

DIALECT = ifx.InformixDialect()
META = MetaData()
ITEM = Table(
    "item",
    META,
    Column("id", Integer, primary_key=True),
    Column("name", String(40), nullable=False),
    Column("price", t.Numeric(10, 2), server_default=sa.text("0")),
    Column("order", t.Boolean),
)


def sql(statement, **kw):
    return " ".join(str(statement.compile(dialect=DIALECT, **kw)).split())


def literal(statement):
    return sql(statement, compile_kwargs={"literal_binds": True})


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (select(ITEM.c.id).limit(5), "SELECT FIRST 5 item.id FROM item"),
        (select(ITEM.c.id).offset(3), "SELECT SKIP 3 item.id FROM item"),
        (select(ITEM.c.id).limit(5).offset(3).distinct(), "SELECT SKIP 3 FIRST 5 DISTINCT item.id FROM item"),
        (select(ITEM.c.id).fetch(2), "SELECT FIRST 2 item.id FROM item"),
        (select(ITEM.c.order), 'SELECT item."order" FROM item'),
        (select(ITEM.c.id // 2), "SELECT FLOOR(item.id / 2) AS anon_1 FROM item"),
        (select(ITEM.c.id / 2), "SELECT item.id / 2 AS anon_1 FROM item"),
        (select(ITEM.c.id % 3), "SELECT MOD(item.id, 3) AS anon_1 FROM item"),
        (select(sa.true()).select_from(ITEM), "SELECT 't'::BOOLEAN AS anon_1 FROM item"),
        (select(func.now()).select_from(ITEM), "SELECT CURRENT YEAR TO FRACTION(5) AS now_1 FROM item"),
        (select(func.current_date()).select_from(ITEM), "SELECT TODAY AS current_date_1 FROM item"),
        (select(sa.extract("year", sa.column("d"))).select_from(ITEM), "SELECT YEAR(d) AS anon_1 FROM item"),
        (
            select(ITEM.c.id).where(sa.column("d", t.Date) == dt.date(2026, 1, 2)),
            "SELECT item.id FROM item WHERE d = DATE('2026-01-02')",
        ),
        (
            select(ITEM.c.id).where(sa.column("d", t.DateTime) > dt.datetime(2026, 1, 2, 3, 4, 5, 123456)),
            "SELECT item.id FROM item WHERE d > DATETIME(2026-01-02 03:04:05.12345) YEAR TO FRACTION(5)",
        ),
        (select(ITEM.c.name + "x"), "SELECT item.name || 'x' AS anon_1 FROM item"),
        (select(ITEM.c.id).with_for_update(), "SELECT item.id FROM item FOR UPDATE"),
        (select(sa.cast(ITEM.c.id, t.BigInteger)), "SELECT CAST(item.id AS BIGINT) AS id FROM item"),
        (sa.insert(ITEM).values(name="it's"), "INSERT INTO item (name) VALUES ('it''s')"),
        (
            select(ITEM.c.id).where(ITEM.c.name.is_distinct_from("a")),
            "SELECT item.id FROM item WHERE CASE WHEN item.name = 'a' THEN 1 "
            "WHEN item.name IS NULL AND 'a' IS NULL THEN 1 ELSE 0 END = 0",
        ),
    ],
)  # fmt: skip
def test_sql(statement, expected):
    assert literal(statement) == expected


def test_parameters_of_a_select_list_say_what_they_are():
    when, span = dt.datetime(2026, 1, 2), dt.timedelta(1, 2)
    columns = select(sa.literal(5), sa.literal("x"), sa.literal(when) - sa.literal(span), sa.literal(1.5))
    one = "(SELECT 1 AS one FROM informix.systables WHERE tabid = 1)"
    assert sql(columns.where(sa.literal(7) == 8)) == (
        "SELECT ?::BIGINT AS anon_1, ? AS anon_2, "
        "?::DATETIME YEAR TO FRACTION(5) - ?::INTERVAL DAY(9) TO FRACTION(5) AS anon_3, ?::FLOAT AS anon_4 "
        f"FROM {one} WHERE ? = ?"
    )
    # types with a qualifier say it
    minute, months = ifx.InformixDatetime("YEAR TO MINUTE"), ifx.INTERVAL("YEAR(4) TO MONTH")
    seconds = ifx.INTERVAL("DAY TO SECOND")
    qualified = select(sa.literal(when, minute), sa.literal(IntervalYM(30), months), sa.literal(span, seconds))
    assert sql(qualified).startswith(
        "SELECT ?::DATETIME YEAR TO MINUTE AS anon_1, ?::INTERVAL YEAR(4) TO MONTH AS anon_2, "
        "?::INTERVAL DAY TO SECOND AS anon_3 FROM "
    )
    assert literal(select(sa.literal(-span))) == (
        f"SELECT INTERVAL(-1 00:00:02.00000) DAY(9) TO FRACTION(5) AS anon_1 FROM {one}"
    )


def test_parameters_are_question_marks():
    assert sql(select(ITEM.c.id).where(ITEM.c.name == "x")) == "SELECT item.id FROM item WHERE item.name = ?"
    compiled = select(ITEM.c.id).limit(5).compile(dialect=DIALECT)
    assert "FIRST __[POSTCOMPILE" in str(compiled)  # FIRST takes a number, put in at execution


@pytest.mark.parametrize(
    "statement",
    [
        select(ITEM.c.id).with_for_update(nowait=True),
        select(ITEM.c.id).fetch(5, with_ties=True),
        select(func.random()),
        select(sa.extract("epoch", sa.column("d"))),
        CreateTable(Table("x", MetaData(), Column("j", t.JSON))),
        CreateTable(Table("x", MetaData(), Column("c", Integer, sa.Computed("1 + 1")))),
        CreateTable(Table("x", MetaData(), Column("c", Integer, sa.Identity()))),
        CreateTable(Table("x", MetaData(), Column("c", Integer, sa.Identity(cycle=True), primary_key=True))),
        CreateTable(Table("x", MetaData(), Column("c", Integer, sa.Identity(always=True), primary_key=True))),
        CreateTable(Table("x", MetaData(), Column("c", t.DateTime(timezone=True)))),
        CreateTable(Table("x", MetaData(), Column("a", Integer, ForeignKey(ITEM.c.id, onupdate="CASCADE")))),
        CreateTable(Table("x", MetaData(), Column("a", Integer, ForeignKey(ITEM.c.id, ondelete="SET NULL")))),
    ],
)
def test_what_informix_lacks_is_refused(statement):
    with pytest.raises(exc.CompileError):
        statement.compile(dialect=DIALECT)


def test_create_table():
    table = Table(
        "child",
        MetaData(),
        Column("id", t.BigInteger, primary_key=True),
        Column("item_id", Integer, ForeignKey(ITEM.c.id, name="fk_item", ondelete="CASCADE")),
        Column("note", t.Text),
        Column("photo", t.LargeBinary),
        Column("made", t.DateTime, server_default=func.now()),
        Column("day", t.Date),
        Column("at", t.Time),
        Column("took", t.Interval),
        Column("rate", t.Float),
        Column("exact", t.Numeric),
        Column("long", String(2000)),
        Column("free", String),
        Column("code", t.CHAR(3)),
        Column("uni", t.Unicode(20)),
        Column("since", ifx.InformixDatetime("YEAR TO MINUTE")),
        Column("months", ifx.INTERVAL("YEAR(4) TO MONTH")),
        Column("cash", ifx.MONEY(12, 2)),
        sa.UniqueConstraint("day", "at", name="u_day"),
        sa.CheckConstraint("rate > 0", name="c_rate"),
    )
    assert sql(CreateTable(table)) == (
        "CREATE TABLE child ( id BIGSERIAL NOT NULL, item_id INTEGER, note TEXT, photo BYTE, "
        'made DATETIME YEAR TO FRACTION(5) DEFAULT CURRENT YEAR TO FRACTION(5), "day" DATE, '
        "at DATETIME HOUR TO FRACTION(5), took INTERVAL DAY(9) TO FRACTION(5), rate FLOAT, exact DECIMAL(32), "
        "long LVARCHAR(2000), free LVARCHAR, code CHAR(3), uni NVARCHAR(20), since DATETIME YEAR TO MINUTE, "
        "months INTERVAL YEAR(4) TO MONTH, cash MONEY(12,2), PRIMARY KEY (id), "
        'UNIQUE ("day", at) CONSTRAINT u_day, CHECK (rate > 0) CONSTRAINT c_rate, '
        "FOREIGN KEY (item_id) REFERENCES item (id) ON DELETE CASCADE CONSTRAINT fk_item )"
    )


def test_constraints_and_indexes():
    table = Table("x", MetaData(), Column("a", Integer), sa.UniqueConstraint("a", name="u_a"))
    constraint = next(c for c in table.constraints if c.name == "u_a")
    assert sql(AddConstraint(constraint)) == "ALTER TABLE x ADD CONSTRAINT UNIQUE (a) CONSTRAINT u_a"
    assert sql(DropConstraint(constraint)) == "ALTER TABLE x DROP CONSTRAINT u_a"
    assert sql(CreateIndex(sa.Index("ix", table.c.a.desc(), unique=True))) == "CREATE UNIQUE INDEX ix ON x (a DESC)"
    assert sql(sa.schema.CreateSequence(sa.Sequence("s", start=5))) == "CREATE SEQUENCE s START 5"
    options = sa.Sequence("s", increment=2, nominvalue=True, nomaxvalue=True, cycle=False)
    assert sql(sa.schema.CreateSequence(options)) == "CREATE SEQUENCE s INCREMENT BY 2 NOMINVALUE NOMAXVALUE NOCYCLE"
    counted = Table("x", MetaData(), Column("a", Integer, sa.Identity(start=7), primary_key=True))
    assert sql(CreateTable(counted)) == "CREATE TABLE x ( a SERIAL(7) NOT NULL, PRIMARY KEY (a) )"


def test_url():
    url = sa.make_url(
        "informix+informix_db://me:secret@db:9089/stores?server=ol&connect_timeout=2.5&tls=true&client_locale=en_US.utf8"
    )
    _, arguments = DIALECT.create_connect_args(url)
    assert arguments == {
        "host": "db", "port": 9089, "user": "me", "password": "secret", "database": "stores", "server": "ol",
        "connect_timeout": 2.5, "tls": True, "client_locale": "en_US.utf8", "env": {"DELIMIDENT": "y"},
    }  # fmt: skip
    for wrong in ("?nosuch=1", "?tls=perhaps"):
        with pytest.raises(exc.ArgumentError):
            DIALECT.create_connect_args(sa.make_url("informix+informix_db://me@db/stores" + wrong))
    assert type(sa.create_engine("informix+informix_db://me:x@db/stores").dialect) is ifx.InformixDialect
    assert type(sa.create_engine("informix://me:x@db/stores").dialect) is ifx.InformixDialect
    assert create_async_engine("informix+informix_db://me:x@db/stores").dialect.is_async


# ---- against the test server -------------------------------------------------------------------------------------


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "author"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(40))
    books: Mapped[list["Book"]] = relationship(back_populates="author")


class Book(Base):
    __tablename__ = "book"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(String(100))
    author_id: Mapped[int] = mapped_column(ForeignKey("author.id"))
    author: Mapped[Author] = relationship(back_populates="books")


def url_of(server):
    return f"informix+informix_db://informix:in4mix@127.0.0.1:{server.port}/testdb?server=x"


CATALOG = [
    "attach ':memory:' as informix",
    "create table informix.systables (tabid, tabname, owner, tabtype, site)",
    "create table informix.syscolumns (tabid, colno, colname, coltype, collength, extended_id)",
    'create table informix.sysdefaults (tabid, colno, type, "default")',
    "create table informix.sysconstraints (constrid, constrname, tabid, constrtype, idxname)",
    'create table informix.sysreferences (constrid, ptabid, "primary", delrule)',
    "create table informix.syschecks (constrid, type, seqno, checktext)",
    "create table informix.sysviews (tabid, seqno, viewtext)",
    "create table informix.sysindexes (tabid, idxname, idxtype, "
    + ", ".join(f"part{i} default 0" for i in range(1, 17))
    + ")",
    "insert into informix.systables values (1, 'systables', 'informix', 'T', null), (101, 'author', 'me', 'T', null), "
    "(102, 'book', 'me', 'T', null), (103, 'v', 'you', 'V', null), (104, 'numbers', 'me', 'Q', null)",
    "insert into informix.syscolumns values (101, 1, 'id', 262, 4, 0), (101, 2, 'name', 256 + 13, 40, 0), "
    "(101, 3, 'price', 5, 2562, 0), (101, 4, 'made', 10, 4879, 0), (101, 5, 'took', 14, 3663, 0), "
    "(101, 6, 'ok', 41, 1, 5), (101, 7, 'long', 40, 2000, 1), (101, 8, 'odd', 40, 2000, 77), "
    "(102, 1, 'id', 262, 4, 0), (102, 2, 'author_id', 2, 4, 0), (102, 3, 'title', 0, 10, 0)",
    "insert into informix.sysdefaults values (101, 2, 'L', 'it''s'), (101, 3, 'L', 'AAAAB 7.50'), (101, 4, 'C', null)",
    "insert into informix.sysconstraints values (1, 'pk_a', 101, 'P', ' 101_1'), (2, 'pk_b', 102, 'P', ' 102_1'), "
    "(3, 'fk_b', 102, 'R', ' 102_2'), (4, 'u_b', 102, 'U', ' 102_3'), (5, 'c_b', 102, 'C', null)",
    "insert into informix.sysreferences values (3, 101, 1, 'C')",
    "insert into informix.syschecks values (5, 'T', 0, '(title > '), (5, 'T', 1, '1 )'), (5, 'B', 0, 'junk')",
    "insert into informix.sysviews values (103, 0, 'create view v as '), (103, 1, 'select 1')",
    "insert into informix.sysindexes (tabid, idxname, idxtype, part1, part2) values (101, ' 101_1', 'U', 1, 0), "
    "(102, ' 102_1', 'U', 1, 0), (102, ' 102_2', 'D', 2, 0), (102, ' 102_3', 'U', 3, 2), (102, 'ix', 'D', 3, -2)",
]


@pytest.fixture
def engine(server):
    server.setup[:] = CATALOG
    engine = sa.create_engine(url_of(server))
    yield engine
    engine.dispose()


def test_engine(engine, server):
    server.setup[:] = CATALOG[:3]
    with engine.begin() as conn:
        conn.execute(CreateTable(ITEM))
        result = conn.execute(sa.insert(ITEM).values(name="one"))
        assert result.inserted_primary_key == (1,)
        conn.execute(sa.insert(ITEM), [{"name": f"n{i}"} for i in range(5)])
        with pytest.raises(ZeroDivisionError), conn.begin_nested():
            conn.execute(sa.delete(ITEM))
            raise ZeroDivisionError
        assert conn.scalar(select(func.count()).select_from(ITEM)) == 6
        assert conn.execute(select(ITEM.c.name).order_by(ITEM.c.id).limit(2).offset(1)).scalars().all() == ["n0", "n1"]
        assert conn.execute(sa.update(ITEM).where(ITEM.c.id > 3).values(name="x")).rowcount == 3
    with engine.connect() as conn:
        assert conn.scalar(select(func.count()).select_from(ITEM)) == 6
        with pytest.raises(exc.IntegrityError) as caught:
            conn.execute(sa.insert(ITEM).values(id=1, name="dup"))
        assert caught.value.orig.sqlcode == -268
        bound = select(ITEM.c.name).order_by(ITEM.c.id).limit(sa.bindparam("most")).offset(sa.bindparam("from"))
        assert conn.scalars(bound, {"most": 1, "from": 1}).all() == ["n0"]
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as conn:
        assert conn.get_isolation_level() == "REPEATABLE READ"
        conn.execute(select(ITEM.c.id))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.execute(sa.insert(ITEM).values(name="auto"))
        assert not conn.connection.dbapi_connection.in_transaction
    assert engine.dialect.server_version_info == (14, 10)


def test_a_connection_gets_the_isolation_of_its_engine_back(server):
    engine = sa.create_engine(url_of(server), isolation_level="REPEATABLE READ", pool_size=1)
    server.setup[:] = CATALOG[:3]
    for _ in range(2):
        with engine.connect() as conn:
            assert conn.get_isolation_level() == "REPEATABLE READ"
            conn.execution_options(isolation_level="READ COMMITTED")
            assert conn.get_isolation_level() == "READ COMMITTED"
    engine.dispose()


def test_an_inspector_remembers(engine, server):
    inspector = sa.inspect(engine)
    assert not inspector.has_table("later")
    asked = len(server.log)
    assert not inspector.has_table("later")
    assert len(server.log) == asked
    inspector.clear_cache()
    assert not inspector.has_table("later")
    assert len(server.log) > asked


def test_orm(engine, server):
    for statement in ("create table author (id integer primary key, name varchar(40))",
                      "create table book (id integer primary key, title varchar(100), author_id integer)"):  # fmt: skip
        with engine.begin() as conn:
            conn.exec_driver_sql(statement)
    with Session(engine) as session:
        session.add(Author(name="Ada", books=[Book(title="A"), Book(title="B")]))
        session.commit()
        ada = session.scalars(select(Author).where(Author.name == "Ada")).one()
        assert sorted(b.title for b in ada.books) == ["A", "B"]
        ada.books[0].title = "Z"
        session.flush()
        session.rollback()
        assert session.scalars(select(Book.title).order_by(Book.title)).all() == ["A", "B"]


def test_reflection(engine):
    inspector = sa.inspect(engine)
    assert inspector.get_table_names() == ["author", "book"]
    assert inspector.get_table_names(schema="me") == ["author", "book"]
    assert inspector.get_table_names(schema="you") == []
    assert inspector.get_view_names() == ["v"]
    assert inspector.get_sequence_names() == ["numbers"]
    assert inspector.get_schema_names() == ["me", "you"]
    assert inspector.get_view_definition("v") == "create view v as select 1"
    assert inspector.has_table("author")
    assert not inspector.has_table("author", schema="you")
    columns = {c["name"]: c for c in inspector.get_columns("author")}
    kinds = {name: str(c["type"].compile(dialect=DIALECT)) for name, c in columns.items() if name != "odd"}
    assert kinds == {
        "id": "SERIAL", "name": "VARCHAR(40)", "price": "DECIMAL(10,2)", "made": "DATETIME YEAR TO FRACTION(5)",
        "took": "INTERVAL DAY(3) TO FRACTION(5)", "ok": "BOOLEAN", "long": "LVARCHAR(2000)",
    }  # fmt: skip
    assert isinstance(columns["odd"]["type"], t.NullType)
    assert [columns[n]["nullable"] for n in ("id", "name", "price")] == [False, False, True]
    assert [columns[n]["default"] for n in ("id", "name", "price", "made")] == [None, "'it''s'", "7.50", "CURRENT"]
    assert columns["id"]["autoincrement"]
    assert inspector.get_pk_constraint("author") == {"constrained_columns": ["id"], "name": "pk_a"}
    assert inspector.get_foreign_keys("book") == [
        {
            "name": "fk_b", "constrained_columns": ["author_id"], "referred_schema": None,
            "referred_table": "author", "referred_columns": ["id"], "options": {"ondelete": "CASCADE"},
        }
    ]  # fmt: skip
    assert inspector.get_unique_constraints("book") == [{"name": "u_b", "column_names": ["title", "author_id"]}]
    assert inspector.get_check_constraints("book") == [{"name": "c_b", "sqltext": "title > 1"}]
    assert inspector.get_indexes("book") == [
        {
            "name": "ix",
            "unique": False,
            "column_names": ["title", "author_id"],
            "column_sorting": {"author_id": ("desc",)},
        }
    ]
    with pytest.raises(exc.NoSuchTableError):
        inspector.get_columns("nosuch")
    meta = MetaData()
    meta.reflect(engine)
    assert set(meta.tables) == {"author", "book"}
    assert next(iter(meta.tables["book"].foreign_keys)).column is meta.tables["author"].c.id


def test_a_lost_connection_is_replaced(engine, server):
    with engine.begin() as conn:
        conn.execute(CreateTable(ITEM))
    with engine.connect() as conn:
        conn.connection.driver_connection._transport._sock.shutdown(2)
        with pytest.raises(exc.DBAPIError) as caught:
            conn.execute(select(ITEM.c.id))
        assert caught.value.connection_invalidated
    with engine.connect() as conn:
        assert conn.execute(select(ITEM.c.id)).all() == []
    pre = sa.create_engine(url_of(server), pool_pre_ping=True)
    with pre.connect() as conn:
        raw = conn.connection.driver_connection
    raw._transport._sock.shutdown(2)
    with pre.connect() as conn:
        assert conn.execute(select(ITEM.c.id)).all() == []
    pre.dispose()


def test_asyncio_engine(server):
    server.setup[:] = CATALOG

    async def main():
        engine = create_async_engine(url_of(server))
        async with engine.begin() as conn:
            await conn.execute(CreateTable(ITEM))
            result = await conn.execute(sa.insert(ITEM).values(name="one"))
            assert result.inserted_primary_key == (1,)
            await conn.execute(sa.insert(ITEM), [{"name": f"n{i}"} for i in range(3)])
        async with engine.connect() as conn:
            assert (await conn.execute(select(ITEM.c.name).order_by(ITEM.c.id).limit(2))).scalars().all() == [
                "one",
                "n0",
            ]
            stream = await conn.stream(select(ITEM.c.id).order_by(ITEM.c.id))
            assert [row.id async for row in stream] == [1, 2, 3, 4]
            names = await conn.run_sync(lambda c: sa.inspect(c).get_table_names())
            assert names == ["author", "book"]
            with pytest.raises(exc.ProgrammingError):
                await conn.exec_driver_sql("select * from nosuch")
        await engine.dispose()

    asyncio.run(main())
