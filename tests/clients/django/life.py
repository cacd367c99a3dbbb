"""Django: migrate its own apps, ORM queries, inspectdb."""

import datetime as dt
import io
import os

import django
from django.conf import settings

settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"], "HOST": os.environ["PGHOST"],
                           "PORT": os.environ["PGPORT"], "USER": os.environ["PGUSER"]}},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions"],
    USE_TZ=True, SECRET_KEY="test", DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)  # fmt: skip
django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, connection, transaction  # noqa: E402
from django.db.models import Count, F, Q  # noqa: E402

call_command("migrate", verbosity=0)
call_command("migrate", verbosity=0)
ann = User.objects.create_user("ann", "ann@example.org", "secret")
User.objects.bulk_create([User(username=f"u{i}") for i in range(20)])
staff = Group.objects.create(name="staff")
staff.user_set.add(ann, *User.objects.filter(username__in=["u1", "u2"]))
assert Group.objects.annotate(n=Count("user")).get(name="staff").n == 3
assert User.objects.filter(Q(username__startswith="u1") & ~Q(username="u1")).count() == 10
assert User.objects.filter(username__icontains="ANN").exists()
assert User.objects.filter(date_joined__year=ann.date_joined.year).count() == 21
assert list(User.objects.filter(groups=staff).order_by("-username").values_list("username", flat=True)) == ["u2", "u1", "ann"]
assert User.objects.filter(username="ann").update(first_name=F("username")) == 1
ann.refresh_from_db()
assert ann.first_name == "ann" and ann.date_joined.tzinfo is not None and ann.check_password("secret")
assert User.objects.dates("date_joined", "day").count() == 1 or isinstance(ann.date_joined, dt.datetime)
try:
    with transaction.atomic():
        User.objects.create(username="ann")
    raise AssertionError("no error")
except IntegrityError as e:
    assert "auth_user_username_key" in str(e)
obj, made = User.objects.get_or_create(username="u1")
assert not made
with transaction.atomic():
    assert User.objects.select_for_update().get(username="u1").pk == obj.pk
assert User.objects.exclude(groups=staff).delete()[0] == 18
out = io.StringIO()
call_command("inspectdb", stdout=out)
text = out.getvalue()
assert "class AuthUser(models.Model):" in text and "username = models.CharField(unique=True, max_length=150)" in text, text
assert "content_type = models.ForeignKey('DjangoContentType', models.DO_NOTHING)" in text, text
assert "# The error was" not in text, text
assert "auth_user" in connection.introspection.table_names()
print("ok")
