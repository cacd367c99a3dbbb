"""The PostgreSQL that says what is right: a session with it, after a look at its version."""

from __future__ import annotations

import pgwire

#: The releases whose answers the recorded tests hold. Files of tests/sql are recorded from the last one, unless they say `@postgres 15`.
RELEASES = (15, 18)


def connect(database: str = "postgres", releases: tuple[int, ...] = (15,), **settings: str) -> pgwire.Connection:
    """A session with the PostgreSQL that PGHOST names. Ends the program where another server, or another release, is found there:
    expectations that came from pgsqlite itself would hold whatever it does."""
    session = pgwire.from_environment(database, **settings)
    version = session.query("SELECT version()")[0][0] or ""
    wanted = [f"PostgreSQL {release}." for release in releases]
    if not version.startswith(tuple(wanted)) or "sqlite" in (version + str(session.parameters)).lower():
        raise SystemExit(f"this is not {' or '.join(w.rstrip('.') for w in wanted)}, so it cannot say what is right: {version}")
    return session


def release() -> int:
    """The release of the PostgreSQL that PGHOST names, which is one of `RELEASES`."""
    session = connect(releases=RELEASES)
    number = int(session.query("SHOW server_version_num")[0][0] or "0") // 10000
    session.close()
    return number
