"""The PostgreSQL that says what is right: a session with it, after a look at its version."""

from __future__ import annotations

import pgwire

#: The release whose answers the recorded tests hold.
RELEASE = "PostgreSQL 15."


def connect(database: str = "postgres", **settings: str) -> pgwire.Connection:
    """A session with the PostgreSQL that PGHOST names. Ends the program where another server, or another release, is found there:
    expectations that came from pgsqlite itself would hold whatever it does."""
    session = pgwire.from_environment(database, **settings)
    version = session.query("SELECT version()")[0][0] or ""
    if not version.startswith(RELEASE) or "sqlite" in (version + str(session.parameters)).lower():
        raise SystemExit(f"this is not a {RELEASE.rstrip('.')}, so it cannot say what is right: {version}")
    return session
