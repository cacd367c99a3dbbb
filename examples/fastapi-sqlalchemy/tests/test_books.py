import pytest
from alembic import command

from .conftest import settings

LETTERS = {"title": "Letters", "author": "Ada", "tags": ["poetry"]}


def test_a_book_is_added_once(client):
    assert client.post("/books", json=LETTERS).status_code == 201
    assert client.post("/books", json=LETTERS).status_code == 409
    assert client.get("/books").json() == [{"id": 1, **LETTERS}]


@pytest.mark.parametrize(("tag", "count"), [("poetry", 1), ("cooking", 0)])
def test_books_are_found_by_tag(client, tag, count):
    client.post("/books", json=LETTERS)
    assert len(client.get("/books", params={"tag": tag}).json()) == count


def test_each_test_begins_with_an_empty_table(client):
    assert client.get("/books").json() == []


def test_models_and_migrations_are_the_same(pgsqlite_database):
    command.check(settings(pgsqlite_database.url))
