"""A Django backend: `"ENGINE": "informix_db.django"`.

DATABASES = {
    "default": {
        "ENGINE": "informix_db.django",
        "HOST": "db.example.com",
        "PORT": 9088,
        "NAME": "stores",
        "USER": "me",
        "PASSWORD": "…",
        "OPTIONS": {"server": "ol_prod", "tls": True},  # arguments of `informix_db.connect`
    }
}
"""
