"""SQLAlchemy 2 on psycopg: create_all, ORM, reflection, errors, drop_all."""

import datetime as dt
import decimal
import enum

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload


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
    __table_args__ = (sa.CheckConstraint("price > 0", name="price_positive"), sa.Index("car_made_idx", "made"))
    id: Mapped[int] = mapped_column(primary_key=True)
    owner_id: Mapped[int] = mapped_column(sa.ForeignKey("owner.id", ondelete="CASCADE"))
    color: Mapped[Color]
    price: Mapped[decimal.Decimal] = mapped_column(sa.Numeric(10, 2))
    made: Mapped[dt.date]
    seen: Mapped[dt.datetime | None] = mapped_column(sa.DateTime(timezone=True), server_default=sa.func.now())
    extra: Mapped[dict | None] = mapped_column(sa.JSON)
    owner: Mapped[Owner] = relationship(back_populates="cars")


engine = sa.create_engine("postgresql+psycopg://")
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
    for bad in (Owner(name="ann"), Car(owner_id=999, color=Color.blue, price=1, made=dt.date(2020, 1, 1)), Car(owner_id=1, color=Color.blue, price=-1, made=dt.date(2020, 1, 1))):
        try:
            s.add(bad)
            s.commit()
            raise AssertionError("no error")
        except sa.exc.IntegrityError:
            s.rollback()
    s.delete(s.get(Owner, 1))
    s.commit()
    assert s.scalar(sa.select(sa.func.count()).select_from(Car)) == 0
inspector = sa.inspect(engine)
assert sorted(inspector.get_table_names()) == ["car", "owner"]
assert [c["name"] for c in inspector.get_columns("car")] == ["id", "owner_id", "color", "price", "made", "seen", "extra"]
types = {c["name"]: str(c["type"]) for c in inspector.get_columns("car")}
assert types["price"] == "NUMERIC(10, 2)" and types["made"] == "DATE" and types["seen"] == "TIMESTAMP", types
assert inspector.get_pk_constraint("car")["constrained_columns"] == ["id"]
(fk,) = inspector.get_foreign_keys("car")
assert fk["referred_table"] == "owner" and fk["options"] == {"ondelete": "CASCADE"}, fk
assert [i["name"] for i in inspector.get_indexes("car")] == ["car_made_idx"]
assert inspector.get_unique_constraints("owner")[0]["name"] == "owner_name_key"
assert inspector.get_check_constraints("car")[0]["name"] == "price_positive"
assert inspector.get_enums()[0]["labels"] == ["red", "blue"]
reflected = sa.MetaData()
reflected.reflect(engine)
assert sorted(reflected.tables) == ["car", "owner"]
Base.metadata.drop_all(engine)
assert sa.inspect(engine).get_table_names() == []
print("ok")
