"""The dialect itself: connecting, transactions, capabilities."""

from __future__ import annotations

import re
import sys
from typing import Any

from sqlalchemy import exc
from sqlalchemy.engine import default

from .compiler import InformixCompiler, InformixDDLCompiler, InformixIdentifierPreparer, InformixTypeCompiler
from .reflection import InformixReflection
from .types import COLSPECS

#: SQLAlchemy's names of isolation levels → Informix's.
ISOLATION = {
    "READ UNCOMMITTED": "DIRTY READ",
    "READ COMMITTED": "COMMITTED READ",
    "CURSOR STABILITY": "CURSOR STABILITY",
    "REPEATABLE READ": "REPEATABLE READ",
    "SERIALIZABLE": "REPEATABLE READ",
}
#: Query arguments of the URL that are numbers, and those that are yes or no.
_FLOATS = ("connect_timeout", "read_timeout", "statement_timeout")
_INTS = ("fetch_buffer", "statement_cache")
_FLAGS = ("keepalive", "wide_counts")


class InformixExecutionContext(default.DefaultExecutionContext):
    def get_lastrowid(self) -> Any:
        return self.cursor.lastrowid

    def fire_sequence(self, seq: Any, type_: Any) -> Any:
        name = self.identifier_preparer.format_sequence(seq)
        return self._execute_scalar(f"SELECT {name}.NEXTVAL FROM informix.systables WHERE tabid = 1", type_)


class InformixDialect(InformixReflection, default.DefaultDialect):
    """`informix+informix_db://`"""

    name = "informix"
    driver = "informix_db"
    default_paramstyle = "qmark"
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_sane_rowcount = True
    supports_sane_multi_rowcount = True
    supports_default_values = False
    supports_default_metavalue = True
    default_metavalue_token = "0"  # a serial column takes 0 for "the next one"
    supports_empty_insert = False
    supports_multivalues_insert = False
    supports_sequences = True
    sequences_optional = True
    supports_comments = False
    supports_schemas = True
    postfetch_lastrowid = True
    preexecute_autoincrement_sequences = False
    insert_returning = update_returning = delete_returning = False
    use_insertmanyvalues = False
    supports_identity_columns = False
    div_is_floordiv = False  # 3 / 2 is 1.5
    requires_name_normalize = False
    max_identifier_length = 128
    colspecs = COLSPECS
    statement_compiler = InformixCompiler
    ddl_compiler = InformixDDLCompiler
    type_compiler_cls = InformixTypeCompiler
    preparer: Any = InformixIdentifierPreparer
    execution_ctx_cls = InformixExecutionContext

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("paramstyle", "qmark")
        super().__init__(**kwargs)
        if "alembic" in sys.modules:
            from . import alembic  # noqa: F401  (is registered by being defined)

    @classmethod
    def import_dbapi(cls) -> Any:
        import informix_db

        return informix_db

    @classmethod
    def get_async_dialect_cls(cls, url: Any) -> Any:
        from .aio import AsyncInformixDialect

        return AsyncInformixDialect

    def create_connect_args(self, url: Any) -> Any:
        arguments: dict[str, Any] = {"host": url.host or "localhost", "port": url.port or 9088}
        arguments.update(user=url.username or "", password=url.password, database=url.database)
        query = dict(url.query)
        for name in _FLOATS:
            if name in query:
                arguments[name] = float(query.pop(name))
        for name in _INTS:
            if name in query:
                arguments[name] = int(query.pop(name))
        for name in _FLAGS:
            if name in query:
                arguments[name] = _flag(name, query.pop(name))
        if "tls" in query:
            tls = query.pop("tls")
            arguments["tls"] = tls if tls.startswith("insecure") else _flag("tls", tls)
        for name in ("server", "client_locale", "db_locale", "tls_server_hostname", "tls_ca_file"):
            if name in query:
                arguments[name] = query.pop(name)
        if query:
            raise exc.ArgumentError(f"unknown arguments in the database URL: {', '.join(sorted(query))}")
        # Quoted names must be names: without DELIMIDENT the server takes them for strings.
        arguments["env"] = {"DELIMIDENT": "y"}
        return (), arguments

    def initialize(self, connection: Any) -> None:
        super().initialize(connection)
        self.default_schema_name = self._get_default_schema_name(connection)

    def _get_server_version_info(self, connection: Any) -> tuple[int, ...]:
        text = _raw(connection).server_version_internal
        found = re.search(r"Version (\d+)\.(\d+)", text)
        return (int(found[1]), int(found[2])) if found else (0,)

    def _get_default_schema_name(self, connection: Any) -> Any:
        return str(connection.engine.url.username) if connection.engine.url.username else None

    def get_isolation_level_values(self, dbapi_conn: Any) -> Any:
        return [*ISOLATION, "AUTOCOMMIT"]

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        raw = _driver(dbapi_connection)
        return "AUTOCOMMIT" if raw.autocommit else getattr(raw, "_isolation", "READ COMMITTED")

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        raw = _driver(dbapi_connection)
        if level == "AUTOCOMMIT":
            raw.autocommit = True
            return
        raw.autocommit = False
        cursor = dbapi_connection.cursor()
        cursor.execute(f"SET ISOLATION TO {ISOLATION[level]}")
        cursor.close()
        dbapi_connection.rollback()  # the statement has begun a transaction
        raw._isolation = level

    def do_rollback(self, dbapi_connection: Any) -> None:
        # In a database without a log there is nothing to roll back, and SQLAlchemy's pool asks on every return.
        raw = _driver(dbapi_connection)
        if raw.in_transaction or raw._session.ansi:
            dbapi_connection.rollback()

    def do_ping(self, dbapi_connection: Any) -> bool:
        dbapi_connection.ping()
        return True

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        if getattr(e, "session_dead", False):
            return True
        return connection is not None and bool(getattr(_driver(connection), "closed", False))


def _flag(name: str, value: str) -> bool:
    if value.lower() in ("true", "yes", "1", "on"):
        return True
    if value.lower() in ("false", "no", "0", "off"):
        return False
    raise exc.ArgumentError(f"{name} must be true or false, not {value!r}")


def _driver(connection: Any) -> Any:
    """The driver's connection behind a pooled or adapted one."""
    connection = getattr(connection, "dbapi_connection", connection)
    return getattr(connection, "driver_connection", connection)


def _raw(connection: Any) -> Any:
    return _driver(connection.connection)


dialect = InformixDialect
