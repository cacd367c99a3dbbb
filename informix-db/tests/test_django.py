"""An application of Django on pgsqlite's listener. `make test-django` passes Django's own tests."""

import sys

import pytest

from conftest import pgsqlite

django = pytest.importorskip("django")

MODELS = """
from django.db import models


class Author(models.Model):
    name = models.CharField(max_length=40, unique=True)
    born = models.DateField(null=True)


class Book(models.Model):
    author = models.ForeignKey(Author, models.CASCADE)
    title = models.TextField()
    price = models.DecimalField(max_digits=8, decimal_places=2, default=0)
    stock = models.PositiveIntegerField(default=0)
    sold = models.BooleanField(default=False)
    added = models.DateTimeField(null=True)
    pages = models.BigIntegerField(null=True)
"""

PROGRAM = """
import datetime as dt, decimal, sys
import django
from django.conf import settings

settings.configure(
    DATABASES={{"default": {{"ENGINE": "informix_db.django", "HOST": "127.0.0.1", "PORT": {port}, "NAME": "testdb",
                             "USER": "informix", "PASSWORD": "in4mix", "OPTIONS": {{"server": "x"}}}}}},
    INSTALLED_APPS=["shop"], USE_TZ=False, DEFAULT_AUTO_FIELD="django.db.models.AutoField",
)
django.setup()
from django.db import IntegrityError, connection, migrations, models, transaction
from django.db.migrations.state import ProjectState
from django.db.models import Avg, Count, F, Q, StdDev, Sum, Value
from django.db.models.functions import ExtractHour, Lower, Substr, TruncMonth, Upper
from shop.models import Author, Book

with connection.schema_editor() as editor:
    editor.create_model(Author)
    editor.create_model(Book)
ann, bob = Author.objects.create(name="Ann"), Author.objects.create(name="Bob_%", born=dt.date(1970, 1, 2))
assert (ann.pk, bob.pk) == (1, 2)
moment = dt.datetime(2026, 1, 2, 13, 14, 15, 678900)
for i in range(5):
    Book.objects.create(author=ann if i % 2 else bob, title=f"T\\u00efle {{i}}", price=decimal.Decimal(i) / 4,
                        stock=i, added=moment, sold=i == 3, pages=1 << 40)
assert [b.title for b in Book.objects.order_by("-stock")[1:3]] == ["T\\u00efle 3", "T\\u00efle 2"]
assert Book.objects.get(sold=True).price == decimal.Decimal("0.75")
assert Book.objects.filter(title__icontains="T\\u00cfLE", author__name__startswith="Bob_").count() == 3
assert Author.objects.filter(name__contains="_%").get() == bob
assert Book.objects.aggregate(s=Sum("stock"), a=Avg("price"))["s"] == 10
assert abs(Book.objects.aggregate(d=StdDev("stock"))["d"] - 2 ** 0.5) < 1e-9
assert list(Author.objects.annotate(n=Count("book")).order_by("pk").values_list("n", flat=True)) == [2, 3]
assert Book.objects.annotate(h=ExtractHour("added"), m=TruncMonth("added")).values_list("h", "m")[0] == (
    13, dt.datetime(2026, 1, 1))
assert Book.objects.annotate(x=Upper(Substr("title", 1, 2)), v=Value(7)).values_list("x", "v")[0] == ("T\\u00cf", 7)
Book.objects.filter(Q(stock__gt=2) & ~Q(sold=True)).update(stock=F("stock") + 10)
assert Book.objects.filter(stock=14).count() == 1
try:
    with transaction.atomic():
        Author.objects.create(name="Cid")
        with transaction.atomic():
            Author.objects.create(name="Ann")
except IntegrityError:
    pass
assert Author.objects.count() == 2
with transaction.atomic():
    Author.objects.create(name="Cid")
    try:
        with transaction.atomic():
            Author.objects.create(name="Ann")
    except IntegrityError:
        pass
assert Author.objects.count() == 3
with connection.schema_editor() as editor:
    old, new = Author._meta.get_field("name"), models.CharField(max_length=300, unique=True)
    new.set_attributes_from_name("name")
    new.model = Author
    editor.alter_field(Author, old, new, strict=True)
    field = models.IntegerField(default=3)
    field.set_attributes_from_name("grade")
    field.model = Author
    editor.add_field(Author, field)

    def made(field, model, name):
        field.set_attributes_from_name(name)
        field.model = model
        return field

    # no literal is a BYTE: the rows that are there get the default by a parameter, and NOT NULL comes after it
    editor.add_field(Author, made(models.BinaryField(default=b"42'"), Author, "photo"))
    # a default of the database is a part of what MODIFY says anew, also of the next one
    plain = made(models.IntegerField(null=True), Author, "rank")
    editor.add_field(Author, plain)
    given = made(models.IntegerField(null=True, db_default=5), Author, "rank")
    editor.alter_field(Author, plain, given, strict=True)
    strict = made(models.IntegerField(db_default=5), Author, "rank")
    editor.alter_field(Author, given, strict, strict=True)
    wide = made(models.BigIntegerField(db_default=5), Author, "rank")
    editor.alter_field(Author, strict, wide, strict=True)
    early = made(models.IntegerField(null=True, db_default=7), Author, "early")
    editor.add_field(Author, early)
    editor.alter_field(Author, early, made(models.IntegerField(null=True), Author, "early"), strict=True)
with connection.cursor() as cursor:
    cursor.execute("insert into shop_author (name, grade, photo) values ('Dan', 1, %s)", [b""])
    cursor.execute("select name, photo, rank, early from shop_author order by name")
    rows = [tuple(row) for row in cursor.fetchall()]
    assert rows == [("Ann", b"42'", 5, 7), ("Bob_%", b"42'", 5, 7), ("Cid", b"42'", 5, 7), ("Dan", b"", 5, None)], rows
    described = {{f.name: f for f in connection.introspection.get_table_description(cursor, "shop_author")}}
    assert not described["photo"].null_ok and not described["rank"].null_ok and described["early"].null_ok
    assert described["rank"].type_code == "BigIntegerField"
    cursor.execute("delete from shop_author where name = 'Dan'")
with connection.schema_editor(collect_sql=True) as editor:
    editor.add_field(Author, made(models.BinaryField(default=b"1"), Author, "sketch"))
assert [line.split(" ")[0] for line in editor.collected_sql] == ["ALTER", "--", "ALTER"], editor.collected_sql
# a key's type is another one for what refers to it, although both kinds of key count in an INTEGER
state = ProjectState()
for operation in (
    migrations.CreateModel("Tag", [("id", models.SmallAutoField(primary_key=True))]),
    migrations.CreateModel("Use", [("id", models.AutoField(primary_key=True)),
                                   ("tag", models.ForeignKey("shop.Tag", models.CASCADE))]),
    migrations.AlterField("Tag", "id", models.AutoField(primary_key=True)),
):
    before = state.clone()
    operation.state_forwards("shop", state)
    with connection.schema_editor() as editor:
        operation.database_forwards("shop", editor, before, state)
Tag, Use = state.apps.get_model("shop", "Tag"), state.apps.get_model("shop", "Use")
Tag.objects.create(pk=100000)
Use.objects.create(tag_id=100000)
with connection.cursor() as cursor:
    assert connection.introspection.get_relations(cursor, "shop_book") == {{"author_id": ("id", "shop_author")}}
    described = {{f.name: f for f in connection.introspection.get_table_description(cursor, "shop_author")}}
    assert described["name"].internal_size == 300 and not described["grade"].null_ok
    # a key that counts has the type of the foreign keys to it
    books = {{f.name: f for f in connection.introspection.get_table_description(cursor, "shop_book")}}
    assert described["id"].type_code == books["author_id"].type_code == "IntegerField"
    kinds = [connection.introspection.get_field_type(f.type_code, f) for f in (described["id"], books["author_id"])]
    assert kinds == ["AutoField", "IntegerField"]
    cursor.execute("select grade from shop_author where name = %s", ["Ann"])
    assert cursor.fetchall() == [(3,)]
with connection.schema_editor() as editor:
    editor.alter_field(Tag, Tag._meta.get_field("id"), made(models.SmallAutoField(primary_key=True), Tag, "id"))
# the counter goes on after the rows that are there
assert Tag.objects.create().pk == 100001, list(Tag.objects.all())
ann.delete()
assert Book.objects.count() == 3
print("well")
"""


def test_an_application(tmp_path):
    import os
    import subprocess
    from pathlib import Path

    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "shop" / "models.py").write_text(MODELS)
    with pgsqlite(tmp_path, "--database", str(tmp_path / "django.db")) as port:
        source = Path(__file__).resolve().parents[1] / "src"
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(port=port)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(source)])},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.stdout == "well\n", done.stderr
