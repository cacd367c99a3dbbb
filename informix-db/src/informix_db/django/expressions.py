"""Expressions that Informix wants to be written in another way.

A parameter in a list of columns has no type that the server could know, so a value says its own.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import uuid
from typing import Any

from django.db.models import Lookup, StdDev, Value, Variance
from django.db.models.expressions import NegatedExpression
from django.db.models.functions import ConcatPair, Length, Now, Pi, Random, StrIndex, Substr


def _type_of(value: Any) -> str | None:
    """Informix' type for a value; None: it is written as it is."""
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, int):
        return "INTEGER" if -(2**31) < value < 2**31 else "BIGINT"
    if isinstance(value, float):
        return "FLOAT"
    if isinstance(value, decimal.Decimal):
        return "DECIMAL(32)"
    if isinstance(value, str):
        return "LVARCHAR(8000)"
    if isinstance(value, dt.datetime):
        return "DATETIME YEAR TO FRACTION(5)"
    if isinstance(value, dt.date):
        return "DATE"
    if isinstance(value, dt.time):
        return "DATETIME HOUR TO FRACTION(5)"
    if isinstance(value, uuid.UUID):
        return "CHAR(32)"
    return None


def _value(self: Value, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
    sql, params = self.as_sql(compiler, connection)
    if sql == "NULL":
        field = self._output_field_or_none
        kind = field.db_type(connection) if field is not None else None
        return (f"CAST(NULL AS {_plain(kind)})", []) if kind else ("NULL", [])
    if sql != "%s" or len(params) != 1:
        return sql, params
    kind = _type_of(params[0])
    return (f"CAST(%s AS {kind})" if kind else sql), params


def _plain(kind: str) -> str:
    """A column's type as one of values."""
    return {"SERIAL": "INTEGER", "SERIAL(1)": "INTEGER", "BIGSERIAL": "BIGINT"}.get(kind, kind)


def _concat_pair(self: ConcatPair, compiler: Any, connection: Any, **extra: Any) -> Any:
    coalesced = self.coalesce()
    return super(ConcatPair, coalesced).as_sql(
        compiler, connection, template="(%(expressions)s)", arg_joiner=" || ", **extra
    )


def _now(self: Now, compiler: Any, connection: Any, **extra: Any) -> Any:
    return self.as_sql(compiler, connection, template="CURRENT YEAR TO FRACTION(5)", **extra)


def _pi(self: Pi, compiler: Any, connection: Any, **extra: Any) -> Any:
    return self.as_sql(compiler, connection, template=str(math.pi), **extra)


def _named(function: str) -> Any:
    """The same function under Informix' name."""

    def write(self: Any, compiler: Any, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, function=function, **extra)

    return write


def _spread(sample: str, population: str) -> Any:
    """STDEV and VARIANCE are those of a sample; those of a whole population follow from them."""

    def write(self: Any, compiler: Any, connection: Any, **extra: Any) -> Any:
        if self.function.endswith("_SAMP"):
            return self.as_sql(compiler, connection, function=sample, **extra)
        sql, params = self.as_sql(compiler, connection, function="COUNT", **extra)
        values = sql[len("COUNT(") : -1]
        return population.replace("{}", values), tuple(params) * population.count("{}")

    return write


def _negated(self: NegatedExpression, compiler: Any, connection: Any) -> Any:
    sql, params = super(NegatedExpression, self).as_sql(compiler, connection)
    if connection.ops.conditional_expression_supported_in_where_clause(self.expression):
        return f"NOT {sql}", params
    return f"CASE WHEN {sql} = CAST('f' AS BOOLEAN) THEN CAST('t' AS BOOLEAN) ELSE CAST('f' AS BOOLEAN) END", params


# `as_<vendor>` is how Django lets a backend write an expression.
for _cls, _method in (
    (ConcatPair, _concat_pair),
    (Length, _named("CHAR_LENGTH")),
    # A condition is no value here, as it is none in Oracle.
    (Lookup, Lookup.as_oracle),
    (NegatedExpression, _negated),
    (Now, _now),
    (Pi, _pi),
    (Random, _named("RAND")),
    (StdDev, _spread("STDEV", "SQRT(VARIANCE({}) * (COUNT({}) - 1) / COUNT({}))")),
    (StrIndex, _named("INSTR")),
    (Substr, _named("SUBSTR")),
    (Value, _value),
    (Variance, _spread("VARIANCE", "(VARIANCE({}) * (COUNT({}) - 1) / COUNT({}))")),
):
    setattr(_cls, "as_informix", _method)  # noqa: B010
