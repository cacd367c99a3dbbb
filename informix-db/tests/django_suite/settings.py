"""Settings for Django's own tests: a server at DJANGO_INFORMIX_PORT that makes and drops databases."""

import os


def _database(name):
    return {
        "ENGINE": "informix_db.django",
        "HOST": "127.0.0.1",
        "PORT": os.environ["DJANGO_INFORMIX_PORT"],
        "NAME": name,
        "USER": "informix",
        "PASSWORD": "in4mix",
        "OPTIONS": {"server": "informix"},
    }


DATABASES = {"default": _database("django"), "other": _database("django_other")}
SECRET_KEY = "only for tests"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False

from exclusions import EXCLUDED  # noqa: E402

from informix_db.django.features import DatabaseFeatures  # noqa: E402

DatabaseFeatures.django_test_skips = EXCLUDED
