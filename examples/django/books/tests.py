from django.db import connection
from django.test import TestCase, TransactionTestCase

from .models import Author, Book


class Api(TestCase):
    @classmethod
    def setUpTestData(cls):
        ada = Author.objects.create(name="Ada")
        Book.objects.create(title="Notes", author=ada, tags=["machines", "poetry"], details={"pages": 66})

    def test_a_book_is_added_once(self):
        given = {"title": "Letters", "author": "Ada", "tags": ["poetry"]}
        self.assertEqual(self.client.post("/api/books", given, content_type="application/json").status_code, 201)
        self.assertEqual(self.client.post("/api/books", given, content_type="application/json").status_code, 409)
        self.assertEqual(Author.objects.get().books.count(), 2)

    def test_books_are_found_by_tag(self):
        self.assertEqual(len(self.client.get("/api/books?tag=machines").json()["books"]), 1)
        self.assertEqual(self.client.get("/api/books?tag=cooking").json()["books"], [])

    def test_the_page(self):
        self.assertContains(self.client.get("/"), "Notes, by Ada")

    def test_json(self):
        self.assertEqual(Book.objects.filter(details__pages__gt=60).count(), 1)


class Transactions(TransactionTestCase):
    def test_the_database_is_this_process_s_own(self):
        self.assertTrue(connection.settings_dict["NAME"].startswith("test_"))
        self.assertEqual(Author.objects.count(), 0)
        Author.objects.create(name="Grace")
