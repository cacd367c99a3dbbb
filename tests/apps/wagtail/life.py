"""Wagtail: all its migrations, a tree of pages, moving, copying, publishing, search, pages of its administration."""

import os

import django
from django.conf import settings

settings.configure(
    SECRET_KEY="x",
    DEBUG=False,
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF="urls",
    STATIC_URL="/static/",
    WAGTAIL_SITE_NAME="test",
    WAGTAILADMIN_BASE_URL="http://localhost",
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=[
        "wagtail.contrib.forms", "wagtail.contrib.redirects", "wagtail.embeds", "wagtail.sites", "wagtail.users", "wagtail.snippets",
        "wagtail.documents", "wagtail.images", "wagtail.search", "wagtail.admin", "wagtail", "modelcluster", "taggit",
        "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions",
        "django.contrib.messages", "django.contrib.staticfiles", "django.contrib.postgres",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[{
        "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
        "OPTIONS": {"context_processors": [
            "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
            "django.contrib.messages.context_processors.messages"]},
    }],
    WAGTAILSEARCH_BACKENDS={"default": {"BACKEND": "wagtail.search.backends.database"}},
    DATABASES={"default": {
        "ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"], "USER": "postgres",
        "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"]}},
)  # fmt: skip
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402

call_command("migrate", verbosity=0)
print("tables:", len(connection.introspection.table_names()))
call_command("makemigrations", "--check", "--dry-run", verbosity=1)

from wagtail.models import Page  # noqa: E402

root = Page.objects.get(depth=1)
home = root.add_child(instance=Page(title="Home two", slug="home2"))
children = [home.add_child(instance=Page(title=f"Child {n} about fish", slug=f"child-{n}")) for n in range(4)]
children[3].move(children[0], pos="last-child")
copy = children[1].copy(update_attrs={"slug": "copied", "title": "Copied"})
revision = copy.save_revision()
revision.publish()
copy.unpublish()
home.refresh_from_db()
print([(p.path, p.depth, p.numchild, p.title, p.live) for p in Page.objects.order_by("path")])
call_command("update_index", verbosity=0)
print("found:", sorted(p.title for p in Page.objects.search("fish")))
print("completed:", sorted(p.title for p in Page.objects.autocomplete("chi")))
user = get_user_model().objects.create_superuser("admin", "a@example.org", "secret")
client = Client()
client.force_login(user)
for path in ["", "pages/", f"pages/{home.pk}/", f"pages/{home.pk}/edit/", "users/", "groups/", "sites/", "reports/locked/", "reports/workflow/",
             "redirects/", "workflows/list/", "images/", "documents/", "search/?q=fish", "collections/"]:  # fmt: skip
    print(path, client.get("/admin/" + path, follow=True).status_code)
print("deleted:", home.delete()[0])
