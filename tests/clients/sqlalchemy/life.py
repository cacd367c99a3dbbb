"""SQLAlchemy 2 on psycopg, asyncpg-free: create_all of every common type, ORM, Core, reflection to the letter, errors, drop_all."""

import datetime as dt
import decimal
import enum
import uuid

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, aliased, joinedload, mapped_column, relationship, selectinload

UTC = dt.timezone.utc


class Base(DeclarativeBase):
    pass


class Color(enum.Enum):
    red = 1
    blue = 2


class Owner(Base):
    __tablename__ = "owner"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(30), unique=True)
    cars: Mapped[list["Car"]] = relationship(back_populates="owner", cascade="all, delete-orphan")


class Car(Base):
    __tablename__ = "car"
    __table_args__ = (sa.CheckConstraint("price > 0", name="price_positive"), sa.Index("car_made_idx", "made"), {"comment": "a car"})
    id: Mapped[int] = mapped_column(primary_key=True)
    owner_id: Mapped[int] = mapped_column(sa.ForeignKey("owner.id", ondelete="CASCADE"))
    color: Mapped[Color]
    price: Mapped[decimal.Decimal] = mapped_column(sa.Numeric(10, 2), comment="in euros")
    made: Mapped[dt.date]
    seen: Mapped[dt.datetime | None] = mapped_column(sa.DateTime(timezone=True), server_default=sa.func.now())
    extra: Mapped[dict | None] = mapped_column(sa.JSON)
    owner: Mapped[Owner] = relationship(back_populates="cars")


meta = sa.MetaData(schema="store")
kinds = sa.Table(
    "kinds", meta,
    sa.Column("id", pg.UUID(as_uuid=True), primary_key=True, server_default=sa.text("gen_random_uuid()")),
    sa.Column("small", sa.SmallInteger), sa.Column("big", sa.BigInteger, sa.Identity(start=5, increment=2), nullable=False), sa.Column("flag", sa.Boolean, nullable=False, server_default=sa.true()),
    sa.Column("real", sa.REAL), sa.Column("double", sa.Double), sa.Column("exact", sa.Numeric), sa.Column("text", sa.Text, server_default="it's"), sa.Column("code", sa.CHAR(4)),
    sa.Column("raw", sa.LargeBinary), sa.Column("day", sa.Date), sa.Column("hour", sa.Time), sa.Column("zoned", sa.Time(timezone=True)), sa.Column("at", sa.DateTime), sa.Column("span", sa.Interval),
    sa.Column("doc", pg.JSONB), sa.Column("tags", pg.ARRAY(sa.Text)), sa.Column("grid", pg.ARRAY(sa.Integer, dimensions=2)), sa.Column("mood", pg.ENUM("sad", "ok", name="mood", schema="store")),
    sa.Column("twice", sa.Integer, sa.Computed("small * 2", persisted=True)), sa.Column("Odd Name", sa.Integer, key="odd"),
    sa.UniqueConstraint("small", "big", name="kinds_both"), sa.Index("kinds_lower", sa.text("lower(text)"), unique=True), sa.Index("kinds_some", "day", postgresql_where=sa.text("flag")),
)  # fmt: skip
parts = sa.Table(
    "parts", meta,
    sa.Column("a", sa.Integer, primary_key=True, autoincrement=False), sa.Column("b", sa.Integer, primary_key=True, autoincrement=False), sa.Column("small", sa.SmallInteger), sa.Column("big", sa.BigInteger),
    sa.ForeignKeyConstraint(["small", "big"], ["store.kinds.small", "store.kinds.big"], name="parts_kind", onupdate="CASCADE", ondelete="SET NULL", deferrable=True, initially="DEFERRED"),
)  # fmt: skip


def orm(engine):
    Base.metadata.create_all(engine)
    Base.metadata.create_all(engine)  # finds what is there
    with Session(engine) as s:
        ann = Owner(name="ann", cars=[Car(color=Color.red, price=decimal.Decimal("9.50"), made=dt.date(2020, 1, 1), extra={"a": 1})])
        s.add_all([ann, Owner(name="bob"), *(Owner(name=f"o{i}") for i in range(20))])
        s.commit()
        assert ann.id == 1 and ann.cars[0].seen.tzinfo is not None
        got = s.scalars(sa.select(Owner).join(Car).where(Car.color == Color.red).options(selectinload(Owner.cars))).one()
        assert got.name == "ann" and got.cars[0].extra == {"a": 1} and got.cars[0].price == decimal.Decimal("9.50")
        rows = s.execute(sa.select(Owner.name, sa.func.count(Car.id)).outerjoin(Car).group_by(Owner.id).order_by(Owner.id).limit(2)).all()
        assert rows == [("ann", 1), ("bob", 0)], rows
        s.execute(sa.update(Car).values(price=Car.price * 2))
        s.commit()
        assert s.scalar(sa.select(Car.price)) == decimal.Decimal("19.00")
        for bad, name in [
            (Owner(name="ann"), "owner_name_key"),
            (Car(owner_id=999, color=Color.blue, price=1, made=dt.date(2020, 1, 1)), "car_owner_id_fkey"),
            (Car(owner_id=1, color=Color.blue, price=-1, made=dt.date(2020, 1, 1)), "price_positive"),
        ]:
            try:
                s.add(bad)
                s.commit()
                raise AssertionError("no error")
            except sa.exc.IntegrityError as e:
                assert e.orig.diag.constraint_name == name, (e.orig.diag.constraint_name, name)
                s.rollback()
        with s.begin_nested():
            s.add(Owner(name="nested"))
        try:
            with s.begin_nested():
                s.add(Owner(name="nested"))
        except sa.exc.IntegrityError:
            pass
        s.add_all([Car(owner_id=2, color=Color.blue, price=decimal.Decimal(i + 1), made=dt.date(2021, 1, 1 + i), extra={"n": i, "l": [i]}) for i in range(10)])
        s.commit()
        assert s.scalar(sa.select(sa.func.count()).where(Owner.name == "nested")) == 1
        assert s.scalars(sa.select(Car.id).where(Car.extra["n"].as_integer() > 7)).all().__len__() == 2
        other = aliased(Car)
        pairs = sa.select(sa.func.count()).select_from(sa.join(Car, other, sa.and_(Car.made < other.made, Car.owner_id == other.owner_id)))
        assert s.scalar(pairs) == 45
        numbered = sa.select(Car.price, sa.func.row_number().over(partition_by=Car.owner_id, order_by=Car.price.desc()).label("n")).subquery()
        assert s.scalars(sa.select(numbered.c.price).where(numbered.c.n == 1).order_by(numbered.c.price)).all() == [decimal.Decimal("10.00"), decimal.Decimal("19.00")]
        tree = sa.select(sa.literal(1).label("n")).cte("tree", recursive=True)
        tree = tree.union_all(sa.select(tree.c.n + 1).where(tree.c.n < 5))
        assert s.scalar(sa.select(sa.func.sum(tree.c.n))) == 15
        assert s.scalars(sa.select(Owner.name).where(~sa.exists().where(Car.owner_id == Owner.id)).order_by(Owner.name).limit(1)).all() == ["nested"]
        assert [o.name for o in s.scalars(sa.select(Owner).options(joinedload(Owner.cars)).where(Owner.id < 3).order_by(Owner.id)).unique()] == ["ann", "bob"]
        assert s.scalar(sa.select(sa.case((Car.price > 15, "dear"), else_="cheap")).where(Car.owner_id == 1)) == "dear"
        assert s.execute(sa.select(Owner).with_for_update().where(Owner.id == 1)).scalar_one().name == "ann"
        s.delete(s.get(Owner, 1))
        s.commit()
        assert s.scalar(sa.select(sa.func.count()).select_from(Car)) == 10
        s.execute(sa.insert(Owner), [{"name": f"bulk{i}"} for i in range(2500)])  # insertmanyvalues
        got = s.scalars(sa.insert(Owner).returning(Owner.id, sort_by_parameter_order=True), [{"name": f"more{i}"} for i in range(1500)]).all()
        assert got == sorted(got) and len(got) == 1500
        s.rollback()


def core(engine):
    with engine.begin() as c:
        c.execute(sa.schema.CreateSchema("store"))
    meta.create_all(engine)
    values = dict(
        small=7, flag=False, real=1.5, double=0.1, exact=decimal.Decimal("12345678901234567890.123456789"), text="é'", code="ab", raw=b"\0\xff", day=dt.date(2024, 2, 29),
        hour=dt.time(1, 2, 3, 4), zoned=dt.time(1, 2, 3, tzinfo=UTC), at=dt.datetime(2024, 1, 2, 3, 4, 5, 6), span=dt.timedelta(days=1, seconds=1), doc={"k": [1, None]}, tags=["a", 'b"', None],
        grid=[[1, 2], [3, None]], mood="ok", odd=5,
    )  # fmt: skip
    with engine.begin() as c:
        row = c.execute(kinds.insert().values(**values).returning(*kinds.c)).one()._mapping
        assert isinstance(row[kinds.c.id], uuid.UUID) and row[kinds.c.big] == 5 and row[kinds.c.twice] == 14
        for name, value in values.items():
            want = "ab  " if name == "code" else value
            assert row[kinds.c[name]] == want, (name, row[kinds.c[name]])
        assert c.execute(kinds.insert().returning(kinds.c.big, kinds.c.text, kinds.c.flag)).one() == (7, "it's", True)
        upsert = pg.insert(kinds).values(text="IT'S", small=1)
        upsert = upsert.on_conflict_do_update(index_elements=[sa.text("lower(text)")], set_={"small": upsert.excluded.small + 1, "doc": {"up": True}}).returning(kinds.c.small, kinds.c.doc)
        assert c.execute(upsert).one() == (2, {"up": True})
        assert c.execute(pg.insert(kinds).values(text="it's").on_conflict_do_nothing().returning(kinds.c.id)).all() == []
        assert c.scalar(sa.select(kinds.c.doc["k"][0].as_integer()).where(kinds.c.doc.has_key("k"))) == 1
        assert c.scalar(sa.select(sa.func.count()).where(kinds.c.doc.contains({"up": True}))) == 1
        assert c.scalar(sa.select(sa.func.count()).where(kinds.c.tags.contains(["a"]), sa.literal("a") == sa.any_(kinds.c.tags))) == 1
        assert c.scalar(sa.select(kinds.c.grid[2][1]).where(kinds.c.small == 7)) == 3
        assert c.scalars(sa.select(sa.func.unnest(kinds.c.tags)).where(kinds.c.small == 7)).all() == ["a", 'b"', None]
        assert c.execute(sa.select(sa.func.array_agg(pg.aggregate_order_by(kinds.c.small, kinds.c.small.desc())), sa.func.string_agg(kinds.c.text, pg.aggregate_order_by(sa.literal("|"), kinds.c.small)))).one() == ([7, 2], "it's|é'")
        assert c.scalar(sa.select(sa.extract("year", kinds.c.day)).where(kinds.c.small == 7)) == 2024
        assert c.scalar(sa.select(sa.cast(kinds.c.at, sa.Date) + sa.text("interval '1 day'")).where(kinds.c.small == 7)) == dt.datetime(2024, 1, 3)
        c.execute(parts.insert(), [{"a": i, "b": i, "small": 7, "big": 5} for i in range(3)])
        assert sorted(c.execute(parts.update().where(parts.c.a == kinds.c.big - 5).values(b=kinds.c.small).returning(parts.c.b)).scalars()) == [2, 7]
        assert c.execute(parts.delete().where(parts.c.small == kinds.c.small, parts.c.a == 1)).rowcount == 1
        moved = sa.delete(parts).where(parts.c.a == 2).returning(parts.c.a, parts.c.b).cte("moved")
        c.execute(sa.insert(parts).from_select(["a", "b"], sa.select(moved.c.a + 10, moved.c.b)))
        assert c.execute(sa.select(parts.c.a, parts.c.b).order_by(parts.c.a)).all() == [(0, 7), (12, 2)]
    with engine.connect().execution_options(stream_results=True, max_row_buffer=10) as c:
        assert sum(x for (x,) in c.execute(sa.text("SELECT generate_series(1, 1000)"))) == 500500
    with engine.connect().execution_options(isolation_level="SERIALIZABLE") as c:
        assert c.scalar(sa.text("SHOW transaction_isolation")) == "serializable"
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as c:
        assert c.scalar(sa.text("SELECT 1")) == 1
    try:
        with engine.begin() as c:
            c.execute(parts.insert().values(a=9, b=9, small=1, big=1))
        raise AssertionError("no error at COMMIT")
    except sa.exc.IntegrityError as e:
        assert e.orig.diag.constraint_name == "parts_kind" and e.orig.diag.message_detail == 'Key (small, big)=(1, 1) is not present in table "kinds".', e.orig.diag.message_detail


def reflection(engine):
    inspector = sa.inspect(engine)
    assert sorted(inspector.get_table_names()) == ["car", "owner"] and inspector.get_schema_names() == ["information_schema", "public", "store"]
    assert [c["name"] for c in inspector.get_columns("car")] == ["id", "owner_id", "color", "price", "made", "seen", "extra"]
    columns = {c["name"]: c for c in inspector.get_columns("car")}
    assert str(columns["price"]["type"]) == "NUMERIC(10, 2)" and columns["seen"]["type"].timezone and columns["seen"]["default"] == "now()" and columns["price"]["comment"] == "in euros"
    assert columns["id"]["default"] == "nextval('car_id_seq'::regclass)" and columns["id"]["autoincrement"] and columns["color"]["type"].enums == ["red", "blue"]
    assert inspector.get_table_comment("car") == {"text": "a car"}
    assert inspector.get_pk_constraint("car") == {"constrained_columns": ["id"], "name": "car_pkey", "comment": None, "dialect_options": {"postgresql_include": []}}
    (fk,) = inspector.get_foreign_keys("car")
    assert fk["referred_table"] == "owner" and fk["options"] == {"ondelete": "CASCADE"}, fk
    assert [i["name"] for i in inspector.get_indexes("car")] == ["car_made_idx"]
    assert inspector.get_unique_constraints("owner")[0]["name"] == "owner_name_key"
    (check,) = inspector.get_check_constraints("car")
    assert (check["name"], check["sqltext"]) == ("price_positive", "price > 0::numeric"), check
    assert inspector.get_enums()[0]["labels"] == ["red", "blue"] and inspector.get_enums(schema="store")[0]["labels"] == ["sad", "ok"]
    got = {c["name"]: c for c in inspector.get_columns("kinds", schema="store")}
    names = {n: str(c["type"]) for n, c in got.items()}
    assert names == {
        "id": "UUID", "small": "SMALLINT", "big": "BIGINT", "flag": "BOOLEAN", "real": "REAL", "double": "DOUBLE PRECISION", "exact": "NUMERIC", "text": "TEXT", "code": "CHAR(4)", "raw": "BYTEA", "day": "DATE",
        "hour": "TIME", "zoned": "TIME", "at": "TIMESTAMP", "span": "INTERVAL", "doc": "JSONB", "tags": "ARRAY", "grid": "ARRAY", "mood": "VARCHAR(3)", "twice": "INTEGER", "Odd Name": "INTEGER",
    }, names  # fmt: skip
    assert got["big"]["identity"] == {"always": False, "start": 5, "increment": 2, "minvalue": 1, "maxvalue": 2**63 - 1, "cycle": False, "cache": 1}, got["big"]["identity"]
    assert got["twice"]["computed"] == {"sqltext": "(small * 2)", "persisted": True} and got["text"]["default"] == "'it''s'::text" and got["flag"]["nullable"] is False, got["twice"]
    assert got["id"]["default"] == "gen_random_uuid()" and got["flag"]["default"] == "true" and isinstance(got["tags"]["type"].item_type, sa.TEXT)
    indexes = {i["name"]: i for i in inspector.get_indexes("kinds", schema="store")}
    assert set(indexes) == {"kinds_both", "kinds_lower", "kinds_some"} and indexes["kinds_lower"]["expressions"] == ["lower(text)"] and indexes["kinds_lower"]["unique"], indexes
    assert indexes["kinds_some"]["dialect_options"]["postgresql_where"] == "flag", indexes["kinds_some"]
    (fk,) = inspector.get_foreign_keys("parts", schema="store")
    assert fk["options"] == {"onupdate": "CASCADE", "ondelete": "SET NULL", "deferrable": True, "initially": "DEFERRED"} and fk["referred_columns"] == ["small", "big"] and fk["referred_schema"] == "store", fk
    assert inspector.get_pk_constraint("parts", schema="store")["constrained_columns"] == ["a", "b"] and sorted(inspector.get_sequence_names()) == ["car_id_seq", "owner_id_seq"]
    with engine.begin() as c:
        c.execute(sa.text("CREATE VIEW cheap AS SELECT id, price FROM car WHERE price < 10"))
    inspector.clear_cache()
    assert inspector.get_view_names() == ["cheap"] and inspector.has_table("cheap") and not inspector.has_table("nowhere") and inspector.has_index("car", "car_made_idx")
    assert "WHERE (price < (10)::numeric)" in inspector.get_view_definition("cheap"), inspector.get_view_definition("cheap")
    # what is reflected can be made again, and is then the same
    reflected = sa.MetaData()
    reflected.reflect(engine, schema="store")
    assert sorted(reflected.tables) == ["store.kinds", "store.parts"]
    before = {t: [(c["name"], str(c["type"]), c["nullable"], c["default"]) for c in inspector.get_columns(t, schema="store")] for t in ("kinds", "parts")}
    reflected.drop_all(engine)
    with engine.begin() as c:
        c.execute(sa.text("DROP TYPE IF EXISTS store.mood"))
    reflected.create_all(engine)
    inspector.clear_cache()
    assert before == {t: [(c["name"], str(c["type"]), c["nullable"], c["default"]) for c in inspector.get_columns(t, schema="store")] for t in ("kinds", "parts")}
    with engine.begin() as c:
        c.execute(sa.text("DROP VIEW cheap"))
        c.execute(sa.schema.DropSchema("store", cascade=True))
    Base.metadata.drop_all(engine)
    inspector.clear_cache()
    assert inspector.get_table_names() == [] and inspector.get_enums() == []


engine = sa.create_engine("postgresql+psycopg://")
orm(engine)
core(engine)
reflection(engine)
# the other driver shows the same database
with sa.create_engine("postgresql+psycopg2://").connect() as c:
    assert c.execute(sa.text("SELECT CAST(:x AS numeric), :y"), {"x": decimal.Decimal("1.50"), "y": "é"}).one() == (decimal.Decimal("1.50"), "é")
print("ok")
