"""How Informix writes what Django asks for."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.db import NotSupportedError
from django.db.backends.base.operations import BaseDatabaseOperations
from django.utils import timezone

#: Parts of a moment that a function of the same meaning gives.
_PARTS = {
    "year": "YEAR({})",
    "month": "MONTH({})",
    "day": "DAY({})",
    "quarter": "QUARTER({})",
    "week_day": "(WEEKDAY({}) + 1)",
    "iso_week_day": "(MOD(WEEKDAY({}) + 6, 7) + 1)",
}
#: Those of the time of day, as TO_CHAR writes them.
_TIMES = {"hour": "%%H", "minute": "%%M", "second": "%%S"}
_MOMENT = "YEAR TO FRACTION(5)"
#: Lookups that compare texts, and the fields that are texts.
_OF_TEXTS = (
    "iexact",
    "contains",
    "icontains",
    "startswith",
    "istartswith",
    "endswith",
    "iendswith",
    "regex",
    "iregex",
)
_TEXTS = (
    None,
    "CharField",
    "TextField",
    "SlugField",
    "FileField",
    "FilePathField",
    "GenericIPAddressField",
    "UUIDField",
)


class DatabaseOperations(BaseDatabaseOperations):
    """SQL of Informix."""

    compiler_module = "informix_db.django.compiler"
    # The least value of each type is its NULL.
    integer_field_ranges = {
        "SmallIntegerField": (-32767, 32767),
        "IntegerField": (-2147483647, 2147483647),
        "BigIntegerField": (-9223372036854775807, 9223372036854775807),
        "PositiveBigIntegerField": (0, 9223372036854775807),
        "PositiveSmallIntegerField": (0, 32767),
        "PositiveIntegerField": (0, 2147483647),
        "SmallAutoField": (-2147483647, 2147483647),
        "AutoField": (-2147483647, 2147483647),
        "BigAutoField": (-9223372036854775807, 9223372036854775807),
    }
    set_operators = {"union": "UNION", "intersection": "INTERSECT", "difference": "EXCEPT"}
    cast_char_field_without_max_length = "LVARCHAR(8000)"
    cast_data_types = {
        "AutoField": "INTEGER",
        "BigAutoField": "BIGINT",
        "SmallAutoField": "INTEGER",
    }
    explain_prefix = None

    def max_name_length(self) -> int:
        # Informix takes 128, pgsqlite's listener tells names apart by 63.
        return 63

    def quote_name(self, name: str) -> str:
        return name if name.startswith('"') and name.endswith('"') else f'"{name}"'

    def no_limit_value(self) -> None:
        return None

    def pk_default_value(self) -> str:
        # A serial column takes 0 for the next number.
        return "0"

    def autoinc_sql(self, table: str, column: str) -> None:
        return None

    def last_insert_id(self, cursor: Any, table_name: str, pk_name: str) -> Any:
        return cursor.lastrowid

    def last_executed_query(self, cursor: Any, sql: str, params: Any) -> str:
        # Only for people who read it: what is executed has `?`.
        quote = self.connection.SchemaEditorClass.quote_value
        if not params:
            return sql

        def written(value: Any) -> str:
            return f"<{len(value)} bytes>" if isinstance(value, bytes | memoryview) else quote(None, value)

        if isinstance(params, dict):
            return sql % {name: written(value) for name, value in params.items()}
        return sql % tuple(written(value) for value in params)

    # ---- dates and times ----------------------------------------------------------------------------------------

    def _no_zone(self, tzname: str | None) -> None:
        if tzname is not None and tzname != self.connection.timezone_name:
            raise NotSupportedError("Informix has no time zones: a query cannot convert to another one")

    def date_extract_sql(self, lookup_type: str, sql: str, params: Any) -> Any:
        if lookup_type in _PARTS:
            return _PARTS[lookup_type].format(sql), params
        raise NotSupportedError(f"Informix has no function for {lookup_type!r} of a date")

    def datetime_extract_sql(self, lookup_type: str, sql: str, params: Any, tzname: str | None) -> Any:
        self._no_zone(tzname)
        return self.time_extract_sql(lookup_type, sql, params)

    def time_extract_sql(self, lookup_type: str, sql: str, params: Any) -> Any:
        if lookup_type in _TIMES:
            return f"CAST(TO_CHAR({sql}, '{_TIMES[lookup_type]}') AS INTEGER)", params
        return self.date_extract_sql(lookup_type, sql, params)

    def date_trunc_sql(self, lookup_type: str, sql: str, params: Any, tzname: str | None = None) -> Any:
        self._no_zone(tzname)
        written = {
            "year": "MDY(1, 1, YEAR({0}))",
            "quarter": "MDY((QUARTER({0}) - 1) * 3 + 1, 1, YEAR({0}))",
            "month": "MDY(MONTH({0}), 1, YEAR({0}))",
            "week": "(DATE({0}) - MOD(WEEKDAY({0}) + 6, 7))",
            "day": "DATE({0})",
        }
        if lookup_type not in written:
            raise NotSupportedError(f"a date cannot be cut to {lookup_type!r}")
        text = written[lookup_type]
        return text.format(sql), tuple(params) * text.count("{0}")

    def datetime_trunc_sql(self, lookup_type: str, sql: str, params: Any, tzname: str | None) -> Any:
        self._no_zone(tzname)
        if lookup_type in ("quarter", "week"):
            sql, params = self.date_trunc_sql(lookup_type, sql, params)
            return f"EXTEND({sql}, {_MOMENT})", params
        field = lookup_type.upper()
        return f"EXTEND(EXTEND({sql}, YEAR TO {field}), {_MOMENT})", params

    def time_trunc_sql(self, lookup_type: str, sql: str, params: Any, tzname: str | None = None) -> Any:
        self._no_zone(tzname)
        return f"EXTEND(EXTEND({sql}, HOUR TO {lookup_type.upper()}), HOUR TO FRACTION(5))", params

    def datetime_cast_date_sql(self, sql: str, params: Any, tzname: str | None) -> Any:
        self._no_zone(tzname)
        return f"DATE({sql})", params

    def datetime_cast_time_sql(self, sql: str, params: Any, tzname: str | None) -> Any:
        self._no_zone(tzname)
        return f"EXTEND({sql}, HOUR TO FRACTION(5))", params

    def format_for_duration_arithmetic(self, sql: str) -> str:
        raise NotSupportedError("Informix cannot add a number of microseconds to a moment")

    def adapt_datetimefield_value(self, value: Any) -> Any:
        if value is None or hasattr(value, "resolve_expression"):
            return value
        if timezone.is_aware(value):
            if not settings.USE_TZ:
                raise ValueError("Informix has no time zones, and USE_TZ is False: the value must be naive")
            value = timezone.make_naive(value, self.connection.timezone)
        return value

    def adapt_timefield_value(self, value: Any) -> Any:
        if value is None or hasattr(value, "resolve_expression"):
            return value
        if timezone.is_aware(value):
            raise ValueError("Informix has no time zones: the value must be naive")
        return value

    def adapt_datefield_value(self, value: Any) -> Any:
        return value

    def adapt_decimalfield_value(
        self, value: Any, max_digits: int | None = None, decimal_places: int | None = None
    ) -> Any:
        return value

    # ---- values that come back ----------------------------------------------------------------------------------

    def get_db_converters(self, expression: Any) -> Any:
        converters = super().get_db_converters(expression)
        kind = expression.output_field.get_internal_type()
        found = {
            "BooleanField": self._boolean,
            "DateTimeField": self._moment,
            "DateField": self._date,
            "TimeField": self._time,
            "UUIDField": self._uuid,
        }.get(kind)
        return [*converters, found] if found else converters

    def convert_durationfield_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return None if value is None else dt.timedelta(microseconds=round(value))

    @staticmethod
    def _boolean(value: Any, expression: Any, connection: Any) -> Any:
        return {"t": True, "f": False, "1": True, "0": False, 1: True, 0: False}.get(value, value)

    @staticmethod
    def _moment(value: Any, expression: Any, connection: Any) -> Any:
        if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
            value = dt.datetime(value.year, value.month, value.day)
        if value is not None and settings.USE_TZ and timezone.is_naive(value):
            value = timezone.make_aware(value, connection.timezone)
        return value

    @staticmethod
    def _date(value: Any, expression: Any, connection: Any) -> Any:
        return value.date() if isinstance(value, dt.datetime) else value

    @staticmethod
    def _time(value: Any, expression: Any, connection: Any) -> Any:
        return value.time() if isinstance(value, dt.datetime) else value

    @staticmethod
    def _uuid(value: Any, expression: Any, connection: Any) -> Any:
        return uuid.UUID(value) if isinstance(value, str) else value

    # ---- lookups ------------------------------------------------------------------------------------------------

    def lookup_cast(self, lookup_type: str, internal_type: str | None = None) -> str:
        cast = "%s"
        if lookup_type in _OF_TEXTS and internal_type not in _TEXTS:
            cast = "CAST(%s AS LVARCHAR(255))"
        return f"UPPER({cast})" if lookup_type in ("iexact", "icontains", "istartswith", "iendswith") else cast

    def prep_for_iexact_query(self, x: Any) -> Any:
        # It is compared, and no pattern.
        return x

    def regex_lookup(self, lookup_type: str) -> str:
        return "REGEXP_LIKE(%s, %s)" if lookup_type == "regex" else "REGEXP_LIKE(%s, %s, 'i')"

    def conditional_expression_supported_in_where_clause(self, expression: Any) -> bool:
        """A condition is no value in Informix, and a BOOLEAN column no condition."""
        from django.db.models.expressions import Exists, ExpressionWrapper, RawSQL
        from django.db.models.lookups import Lookup
        from django.db.models.sql.where import WhereNode

        if isinstance(expression, Exists | Lookup | WhereNode):
            return True
        if isinstance(expression, ExpressionWrapper) and expression.conditional:
            return self.conditional_expression_supported_in_where_clause(expression.expression)
        return isinstance(expression, RawSQL) and expression.conditional

    def combine_expression(self, connector: str, sub_expressions: list[str]) -> str:
        if connector == "^":
            return f"POWER({','.join(sub_expressions)})"
        functions = {"%%": "MOD", "&": "BITAND", "|": "BITOR", "#": "BITXOR"}
        if connector in functions:
            return f"{functions[connector]}({', '.join(sub_expressions)})"
        if connector in ("<<", ">>"):
            raise NotSupportedError("Informix has no shift operators")
        return super().combine_expression(connector, sub_expressions)  # type: ignore[no-any-return]

    def adapt_unknown_value(self, value: Any) -> Any:
        return value if isinstance(value, decimal.Decimal) else super().adapt_unknown_value(value)

    # ---- transactions and flushing ------------------------------------------------------------------------------

    def savepoint_create_sql(self, sid: str) -> str:
        return f"SAVEPOINT {self.quote_name(sid)}"

    def savepoint_rollback_sql(self, sid: str) -> str:
        return f"ROLLBACK TO SAVEPOINT {self.quote_name(sid)}"

    def savepoint_commit_sql(self, sid: str) -> str:
        return f"RELEASE SAVEPOINT {self.quote_name(sid)}"

    def start_transaction_sql(self) -> str:
        return "BEGIN WORK;"

    def end_transaction_sql(self, success: bool = True) -> str:
        return "COMMIT WORK;" if success else "ROLLBACK WORK;"

    def sql_flush(
        self, style: Any, tables: Iterable[str], *, reset_sequences: bool = False, allow_cascade: bool = False
    ) -> list[str]:
        wanted = set(tables)
        if not wanted:
            return []
        with self.connection.cursor() as cursor:
            references = self.connection.introspection.all_references(cursor)
        if allow_cascade:
            while more := {child for child, parent in references if parent in wanted} - wanted:
                wanted |= more
        out = []
        while wanted:
            # Those that others refer to come after these; of a circle any comes first.
            kept = {parent for child, parent in references if child != parent and child in wanted}
            free = sorted(wanted - kept) or sorted(wanted)[:1]
            out += [
                f"{style.SQL_KEYWORD('DELETE')} {style.SQL_KEYWORD('FROM')} {style.SQL_FIELD(self.quote_name(t))}"
                for t in free
            ]
            wanted -= set(free)
        return out
