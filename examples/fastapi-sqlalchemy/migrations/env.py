import os

from alembic import context
from app.database import url
from app.models import Base
from sqlalchemy import create_engine

# (a test names its own database in the configuration)
where = context.config.attributes.get("url") or os.environ["DATABASE_URL"]
engine = create_engine(url(where))
with engine.connect() as connection:
    context.configure(connection=connection, target_metadata=Base.metadata)
    with context.begin_transaction():
        context.run_migrations()
engine.dispose()
