import os
from collections.abc import Iterator
from functools import cache

from sqlalchemy import Engine, create_engine, make_url
from sqlalchemy.orm import Session


def url(given: str):
    """SQLAlchemy's URL names the driver; the one of the environment does not."""
    return make_url(given).set(drivername="postgresql+psycopg")


@cache
def engine() -> Engine:
    return create_engine(url(os.environ["DATABASE_URL"]))


def session() -> Iterator[Session]:
    with Session(engine()) as opened:
        yield opened
