"""The backend itself: connecting, types, operators, cursors."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.functional import Promise

import informix_db as Database

from . import expressions  # noqa: F401  (what it registers is needed by every query)
from .client import DatabaseClient
from .creation import DatabaseCreation
from .features import DatabaseFeatures
from .introspection import DatabaseIntrospection
from .operations import DatabaseOperations
from .schema import DatabaseSchemaEditor

#: Characters that a TextField holds. Informix' rows have 32767 bytes at most, and TEXT cannot be compared.
TEXT_LENGTH = 8000


def _text_type(field: dict[str, Any]) -> str:
    length = field["max_length"] or TEXT_LENGTH
    return f"VARCHAR({length})" if length <= 255 else f"LVARCHAR({length})"


class _Characters:
    """A column type that depends on the field's length: `data_types` applies `%` to it."""

    def __mod__(self, field: dict[str, Any]) -> str:
        return _text_type(field)


class DatabaseWrapper(BaseDatabaseWrapper):
    """A connection to an Informix database, as Django sees it."""

    vendor = "informix"
    display_name = "Informix"
    Database = Database
    SchemaEditorClass = DatabaseSchemaEditor
    client_class = DatabaseClient
    creation_class = DatabaseCreation
    features_class = DatabaseFeatures
    introspection_class = DatabaseIntrospection
    ops_class = DatabaseOperations

    data_types: dict[str, Any] = {
        "AutoField": "SERIAL",
        "BigAutoField": "BIGSERIAL",
        # The same as SERIAL, in other words: a change between the two is one of type, and keys that refer to it grow.
        "SmallAutoField": "SERIAL(1)",
        "BinaryField": "BYTE",
        "BooleanField": "BOOLEAN",
        "CharField": _Characters(),
        "DateField": "DATE",
        "DateTimeField": "DATETIME YEAR TO FRACTION(5)",
        "DecimalField": "DECIMAL(%(max_digits)s,%(decimal_places)s)",
        "DurationField": "BIGINT",
        "FileField": _Characters(),
        "FilePathField": _Characters(),
        "FloatField": "FLOAT",
        "IntegerField": "INTEGER",
        "BigIntegerField": "BIGINT",
        "IPAddressField": "VARCHAR(15)",
        "GenericIPAddressField": "VARCHAR(39)",
        "OneToOneField": "INTEGER",
        "PositiveBigIntegerField": "BIGINT",
        "PositiveIntegerField": "INTEGER",
        "PositiveSmallIntegerField": "SMALLINT",
        "SlugField": _Characters(),
        "SmallIntegerField": "SMALLINT",
        "TextField": f"LVARCHAR({TEXT_LENGTH})",
        "TimeField": "DATETIME HOUR TO FRACTION(5)",
        "UUIDField": "CHAR(32)",
    }
    data_type_check_constraints = {
        "PositiveBigIntegerField": "%(column)s >= 0",
        "PositiveIntegerField": "%(column)s >= 0",
        "PositiveSmallIntegerField": "%(column)s >= 0",
    }
    operators = {
        "exact": "= %s",
        "iexact": "= UPPER(%s)",
        "contains": "LIKE %s ESCAPE '\\'",
        "icontains": "LIKE UPPER(%s) ESCAPE '\\'",
        "gt": "> %s",
        "gte": ">= %s",
        "lt": "< %s",
        "lte": "<= %s",
        "startswith": "LIKE %s ESCAPE '\\'",
        "endswith": "LIKE %s ESCAPE '\\'",
        "istartswith": "LIKE UPPER(%s) ESCAPE '\\'",
        "iendswith": "LIKE UPPER(%s) ESCAPE '\\'",
    }
    # For a pattern that another column holds.
    pattern_esc = r"REPLACE(REPLACE(REPLACE({}, '\', '\\'), '%%', '\%%'), '_', '\_')"
    pattern_ops = {
        "contains": "LIKE '%%' || {} || '%%' ESCAPE '\\'",
        "icontains": "LIKE '%%' || UPPER({}) || '%%' ESCAPE '\\'",
        "startswith": "LIKE {} || '%%' ESCAPE '\\'",
        "istartswith": "LIKE UPPER({}) || '%%' ESCAPE '\\'",
        "endswith": "LIKE '%%' || {} ESCAPE '\\'",
        "iendswith": "LIKE '%%' || UPPER({}) ESCAPE '\\'",
    }

    def get_connection_params(self) -> dict[str, Any]:
        """Arguments of `informix_db.connect`."""
        settings = self.settings_dict
        if not settings["USER"]:
            raise ImproperlyConfigured("DATABASES: USER is missing")
        params: dict[str, Any] = {"client_locale": "en_US.utf8", "db_locale": "en_US.utf8", **settings["OPTIONS"]}
        params.update(
            host=settings["HOST"] or "localhost",
            port=int(settings["PORT"] or 9088),
            user=settings["USER"],
            password=settings["PASSWORD"] or None,
            database=settings["NAME"] or None,
            autocommit=True,
        )
        # Quoted names must be names: without DELIMIDENT the server takes them for strings.
        params["env"] = {**(params.get("env") or {}), "DELIMIDENT": "y"}
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        return Database.connect(**conn_params)

    def init_connection_state(self) -> None:
        super().init_connection_state()

    def create_cursor(self, name: str | None = None) -> Any:
        return CursorWrapper(self.connection.cursor())

    def chunked_cursor(self) -> Any:
        # A cursor that is open survives the end of a transaction only WITH HOLD.
        self.ensure_connection()
        return self._prepare_cursor(CursorWrapper(self.connection.cursor(hold=True)))

    def _set_autocommit(self, autocommit: bool) -> None:
        with self.wrap_database_errors:
            self.connection.autocommit = autocommit

    def _rollback(self) -> None:
        if self.connection is not None and self.connection.in_transaction:
            super()._rollback()

    def is_usable(self) -> bool:
        try:
            self.connection.ping()
        except Database.Error:
            return False
        return True

    def get_database_version(self) -> tuple[int, ...]:
        with self.temporary_connection():
            found = re.search(r"Version (\d+)\.(\d+)", self.connection.server_version_internal)
        return (int(found[1]), int(found[2])) if found else (0, 0)

    def check_constraints(self, table_names: Iterable[str] | None = None) -> None:
        """Does nothing: constraints are checked with each statement."""


class CursorWrapper:
    """A cursor that takes Django's `%s` and `%(name)s`."""

    def __init__(self, cursor: Any) -> None:
        self.cursor = cursor

    def execute(self, query: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> Any:
        if params is None:
            return self.cursor.execute(query)
        sql, values = _qmark(query, params)
        return self.cursor.execute(sql, values)

    def executemany(self, query: str, param_list: Iterable[Any]) -> Any:
        rows = list(param_list)
        if not rows:
            return None
        sql = _qmark(query, rows[0])[0]
        return self.cursor.executemany(sql, [_qmark(query, row)[1] for row in rows])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cursor, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.cursor)

    def __enter__(self) -> CursorWrapper:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if not self.cursor.connection.closed:
            self.cursor.close()


class _Names(dict):  # type: ignore[type-arg]
    """Collects the names of `%(name)s` in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[str] = []

    def __getitem__(self, name: str) -> str:
        self.order.append(name)
        return "?"


def _qmark(query: str, params: Sequence[Any] | Mapping[str, Any]) -> tuple[str, list[Any]]:
    """The statement with `?`, and the values in their order."""
    if isinstance(params, Mapping):
        names = _Names()
        sql = query % names
        return sql, [_value(params[name]) for name in names.order]
    values = list(params)
    try:
        sql = query % tuple("?" for _ in values)
    except TypeError as error:
        raise Database.ProgrammingError(f"{len(values)} parameters for the statement: {error}") from error
    return sql, [_value(value) for value in values]


def _value(value: Any) -> Any:
    """A value as the driver takes it."""
    if isinstance(value, Promise):
        return str(value)
    if isinstance(value, str) and type(value) is not str:
        return str.__str__(value)
    if isinstance(value, dt.datetime) and value.tzinfo is None and value.microsecond % 10:
        return value.replace(microsecond=value.microsecond // 10 * 10)
    return value
