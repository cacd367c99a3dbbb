"""pgvector's package for Python: psycopg, SQLAlchemy and Django with columns of vectors."""

import os

import numpy as np
import psycopg
from pgvector import HalfVector, SparseVector, Vector
from pgvector.psycopg import register_vector

connection = psycopg.connect(autocommit=True)
connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
register_vector(connection)
connection.execute("CREATE TABLE plain (id bigserial PRIMARY KEY, e vector(3), h halfvec(3), s sparsevec(3))")
rows = [np.array([1, 2, 3]), np.array([1, 1, 1]), np.array([1, 1, 2])]
for row in rows:
    connection.execute("INSERT INTO plain (e, h, s) VALUES (%s, %s, %s)", (row, HalfVector(row), SparseVector(row)))
found = connection.execute("SELECT id, e, h, s FROM plain ORDER BY e <-> %s LIMIT 2", (np.array([1, 1, 1.2]),)).fetchall()
assert [r[0] for r in found] == [2, 3], found
assert np.array_equal(found[0][1], np.array([1, 1, 1])), found
assert found[0][2] == HalfVector([1, 1, 1]) and found[0][3] == SparseVector([1, 1, 1]), found
with connection.cursor().copy("COPY plain (e) FROM STDIN WITH (FORMAT BINARY)") as copy:
    copy.set_types(["vector"])
    for i in range(100):
        copy.write_row([np.array([i, i, i])])
assert connection.execute("SELECT count(*), avg(e) FROM plain").fetchone()[0] == 103
connection.execute("CREATE INDEX ON plain USING hnsw (e vector_l2_ops)")
assert connection.execute("SELECT id FROM plain ORDER BY e <-> %s LIMIT 1", (np.array([50, 50, 50]),)).fetchone() == (54,)

# SQLAlchemy
from pgvector.sqlalchemy import BIT, HALFVEC, SPARSEVEC, VECTOR, avg  # noqa: E402
from sqlalchemy import Index, Integer, create_engine, select, text  # noqa: E402
from sqlalchemy.orm import Session, declarative_base, mapped_column  # noqa: E402

Base = declarative_base()


class Item(Base):
    __tablename__ = "item"
    id = mapped_column(Integer, primary_key=True)
    embedding = mapped_column(VECTOR(3))
    half = mapped_column(HALFVEC(3))
    bits = mapped_column(BIT(3))
    sparse = mapped_column(SPARSEVEC(3))


index = Index(
    "item_index",
    Item.embedding,
    postgresql_using="hnsw",
    postgresql_with={"m": 16, "ef_construction": 64},
    postgresql_ops={"embedding": "vector_l2_ops"},
)
engine = create_engine("postgresql+psycopg://")
Base.metadata.create_all(engine)
with Session(engine) as session:
    session.add_all([Item(embedding=v, half=v, bits="101", sparse=SparseVector(v)) for v in ([1, 1, 1], [2, 2, 2], [1, 1, 2])])
    session.commit()
    near = [session.scalars(select(Item.id).order_by(o([1, 1, 1]))).first() for o in (Item.embedding.l2_distance, Item.half.l1_distance, Item.embedding.cosine_distance)]
    assert near == [1, 1, 1], near
    assert session.scalars(select(Item.id).order_by(Item.embedding.max_inner_product([1, 1, 1]))).first() == 2
    assert session.scalars(select(Item.id).filter(Item.embedding.l2_distance([1, 1, 1]) < 1)).all() == [1]
    assert session.scalars(select(Item.bits.hamming_distance("100"))).first() == 1
    assert np.allclose(session.scalars(select(avg(Item.embedding))).first(), [4 / 3, 4 / 3, 5 / 3])
    session.execute(text("SET LOCAL hnsw.ef_search = 100"))

# Django
import django  # noqa: E402
from django.conf import settings  # noqa: E402

settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": os.environ["PGDATABASE"],
            "USER": os.environ["PGUSER"],
            "HOST": os.environ["PGHOST"],
            "PORT": os.environ["PGPORT"],
        }
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()
from django.db import connection as django_connection  # noqa: E402
from django.db import migrations, models  # noqa: E402
from django.db.migrations.loader import MigrationLoader  # noqa: E402
from django.db.models import Avg  # noqa: E402
from pgvector.django import CosineDistance, HnswIndex, IvfflatIndex, L2Distance, VectorExtension, VectorField  # noqa: E402


class Document(models.Model):
    embedding = VectorField(dimensions=3, null=True)

    class Meta:
        app_label = "app"
        indexes = [
            HnswIndex(name="document_hnsw", fields=["embedding"], m=16, ef_construction=64, opclasses=["vector_l2_ops"]),
            IvfflatIndex(name="document_lists", fields=["embedding"], lists=100, opclasses=["vector_cosine_ops"]),
        ]


class Migration(migrations.Migration):
    operations = [
        VectorExtension(),
        migrations.CreateModel("Document", fields=[("id", models.BigAutoField(primary_key=True)), ("embedding", VectorField(dimensions=3, null=True))]),
        migrations.AddIndex("document", Document._meta.indexes[0]),
        migrations.AddIndex("document", Document._meta.indexes[1]),
    ]


migration = Migration("initial", "app")
state = MigrationLoader(django_connection, replace_migrations=False).project_state()
with django_connection.schema_editor() as editor:
    migration.apply(state, editor)
for v in ([1, 1, 1], [2, 2, 2], [1, 1, 2]):
    Document.objects.create(embedding=v)
assert [d.id for d in Document.objects.order_by(L2Distance("embedding", [1, 1, 1.1]))[:2]] == [1, 3]
assert Document.objects.annotate(d=CosineDistance("embedding", [2, 2, 2])).order_by("d", "id").first().d < 1e-6
assert np.allclose(Document.objects.aggregate(a=Avg("embedding"))["a"], [4 / 3, 4 / 3, 5 / 3])
print("pgvector", Vector([1, 2]).to_list())
