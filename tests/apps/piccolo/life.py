"""Piccolo: tables, JSON, arrays, upserts, joins, transactions, ALTER."""

import asyncio
import os

from piccolo.columns import JSONB, Array, ForeignKey, Integer, Numeric, Timestamptz, Varchar
from piccolo.columns.base import OnDelete
from piccolo.engine.postgres import PostgresEngine
from piccolo.query.methods.select import Count
from piccolo.table import Table

db = PostgresEngine({k: os.environ[v] for k, v in [("host", "PGHOST"), ("port", "PGPORT"), ("user", "PGUSER"), ("database", "PGDATABASE")]}, extensions=("uuid-ossp",))


class Band(Table, db=db):
    name = Varchar(length=50, unique=True)
    rating = Numeric(digits=(5, 2))
    tags = Array(base_column=Varchar())
    data = JSONB()
    seen = Timestamptz(null=True, default=None)


class Concert(Table, db=db):
    band = ForeignKey(Band, on_delete=OnDelete.cascade)
    visitors = Integer(index=True)


async def main() -> None:
    await db.start_connection_pool(min_size=1, max_size=4)
    await Band.create_table(if_not_exists=True)
    await Concert.create_table(if_not_exists=True)
    await Band.insert(*[Band(name=f"band {n}", rating=n + 0.5, tags=["a", str(n)], data={"n": n, "deep": {"x": [n]}}) for n in range(5)])
    await Band.insert(Band(name="band 1", rating=9, tags=[], data={})).on_conflict(target=Band.name, action="DO UPDATE", values=[Band.rating])
    await Concert.insert(*[Concert(band=1 + n % 3, visitors=n * 10) for n in range(9)])
    print(await Band.select(Band.name, Band.rating, Band.tags).order_by(Band.id))
    print(await Band.select(Band.name).where(Band.tags.any("3")))
    print(await Band.select(Band.name).where(Band.data.arrow("deep").arrow("x") == "[2]"))
    print(await Concert.select(Concert.band.name, Count()).group_by(Concert.band.name).order_by(Concert.band.name))
    print(await Concert.select(Concert.band.all_columns(exclude=[Band.id]), Concert.visitors).where(Concert.visitors > 60).order_by(Concert.id))
    await Concert.update({Concert.visitors: Concert.visitors + 1}).where(Concert.visitors == 80)
    try:
        async with db.transaction():
            await Band.delete(force=True)
            raise ValueError
    except ValueError:
        print("rolled back:", await Band.count())
    async with db.transaction() as outer:
        savepoint = await outer.savepoint()
        await Band.delete().where(Band.name == "band 0")
        await savepoint.rollback_to()
    print(await Band.count(), await Concert.count())
    await Band.alter().add_column("country", Varchar(length=10, null=True)).set_null(Band.rating, True)
    await Band.alter().rename_column(Band.seen, "last_seen")
    await Band.alter().rename_column("last_seen", "seen")
    await Band.alter().set_length(Band.name, 80)
    print(await Band.raw("SELECT column_name, data_type, is_nullable, character_maximum_length FROM information_schema.columns WHERE table_name = 'band' ORDER BY ordinal_position"))
    obj = await Band.objects().get_or_create(Band.name == "new", defaults={Band.rating: 3})
    print(obj._was_created, obj.name)
    print(await Band.exists().where(Band.name == "new"), await Concert.delete().where(Concert.visitors < 50).returning(Concert.visitors))
    await Concert.alter().drop_table()
    await Band.alter().drop_table(cascade=True)
    print(await Band.table_exists())
    await db.close_connection_pool()


asyncio.run(main())
