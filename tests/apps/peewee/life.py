"""Peewee with its PostgreSQL fields: tables, upserts, JSON, arrays, full text, windows, savepoints, migrations, reflection."""

import os

from peewee import *  # noqa: F403
from playhouse.migrate import PostgresqlMigrator, migrate
from playhouse.postgres_ext import ArrayField, BinaryJSONField, PostgresqlExtDatabase, TSVectorField
from playhouse.reflection import generate_models

db = PostgresqlExtDatabase(
    os.environ["PGDATABASE"], host=os.environ["PGHOST"], port=os.environ["PGPORT"], user="postgres", autorollback=True
)


class Author(Model):  # noqa: F405
    name = CharField(unique=True)  # noqa: F405
    tags = ArrayField(CharField, index=True)  # noqa: F405
    data = BinaryJSONField(default={})
    price = DecimalField(max_digits=8, decimal_places=2, constraints=[Check("price NOT IN (7, 8)")], default=1)  # noqa: F405

    class Meta:
        database = db


class Book(Model):  # noqa: F405
    author = ForeignKeyField(Author, backref="books", on_delete="CASCADE")  # noqa: F405
    title = TextField()  # noqa: F405
    words = TSVectorField(null=True)

    class Meta:
        database = db
        indexes = ((("author", "title"), True),)


db.connect()
db.create_tables([Author, Book])
db.create_tables([Author, Book])
Author.insert_many([{"name": n, "tags": [n, "x"], "data": {"n": i, "in": {"a": [1, n]}}} for i, n in enumerate(["ann", "bob", "carl"])]).execute()
Author.insert(name="ann", tags=[]).on_conflict(conflict_target=[Author.name], update={Author.price: EXCLUDED.price + 5}).execute()  # noqa: F405
print([(a.name, a.price) for a in Author.select().order_by(Author.id)])
print([a.name for a in Author.select().where(Author.tags.contains("bob", "x"))])
print([a.name for a in Author.select().where(Author.data["in"]["a"][1] == "carl")])
print([a.name for a in Author.select().where(Author.data.contains({"n": 1}))])
for a in Author.select():
    for n in range(2):
        Book.create(author=a, title=f"{a.name} {n} about fishes", words=fn.to_tsvector("english", f"{a.name} {n} about fishes"))  # noqa: F405
print(Book.select().where(Book.words.match("fish & bob")).count())
query = Book.select(Book.title, fn.rank().over(partition_by=[Book.author], order_by=[Book.title.desc()]).alias("r")).order_by(Book.title)  # noqa: F405
print([(b.title, b.r) for b in query])
print([(a.name, a.n) for a in Author.select(Author, fn.COUNT(Book.id).alias("n")).join(Book, JOIN.LEFT_OUTER).group_by(Author).order_by(Author.name)])  # noqa: F405
with db.atomic() as outer:
    try:
        with db.atomic():
            Author.create(name="bob", tags=[])
    except IntegrityError as e:  # noqa: F405
        print(str(e).splitlines()[0])
    Author.create(name="dora", tags=["d"])
try:
    Author.create(name="eve", tags=[], price=7)
except IntegrityError as e:  # noqa: F405
    print(str(e).splitlines()[0])
print([r.name for r in Author.update(price=Author.price * 2).where(Author.name << ["ann", "dora"]).returning(Author).execute()])
print(Author.delete().where(Author.name == "ann").execute(), Book.select().count())
migrator = PostgresqlMigrator(db)
migrate(
    migrator.add_column("author", "born", DateField(null=True)),  # noqa: F405
    migrator.rename_column("book", "title", "heading"),
    migrator.add_not_null("author", "price"),
    migrator.add_index("author", ("born", "name"), True),
    migrator.alter_column_type("author", "name", TextField()),  # noqa: F405
    migrator.drop_column("book", "words"),
)
print(db.get_tables(), [i.sql for i in db.get_indexes("author")])
print([(c.name, c.data_type, c.null, c.primary_key, c.default) for c in db.get_columns("author")])
print([(k.column, k.dest_table) for k in db.get_foreign_keys("book")], db.get_primary_keys("book"))
models = generate_models(db)
print(sorted((name, sorted((f, type(v).__name__) for f, v in m._meta.fields.items())) for name, m in models.items()))
db.drop_tables([Book, Author], cascade=True)
print(db.get_tables())
