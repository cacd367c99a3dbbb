"""SQLAlchemy's dialect tests, but for what only a type that Informix has not can show."""

import decimal

from sqlalchemy import Float, Numeric, cast, func, literal_column, select, testing
from sqlalchemy.testing import eq_
from sqlalchemy.testing.suite import *  # noqa: F403
from sqlalchemy.testing.suite import TrueDivTest as _TrueDivTest


class TrueDivTest(_TrueDivTest):
    """DECIMAL has 32 digits: the cases of 38 are made as wide as it is."""

    @testing.combinations(
        ("typed", lambda x: x), ("untyped_function", lambda x: func.nullif(x, 0)), id_="ia", argnames="wrap"
    )
    @testing.combinations(
        ("float", "7.0", "3.5", Float(), "2"),
        ("whole", "1", "2.00", Numeric(10, 2), "0.5"),
        ("tiny", "0.00000000000049382716", "0.00000000000012345679", Numeric(32, 20), "4"),
        ("wide", "3" + "0" * 31, "1" + "0" * 31, Numeric(32, 0), "3"),
        id_="iaaaa",
        argnames="left, right, type_, expected",
    )
    def test_truediv_divisor(self, connection, wrap, left, right, type_, expected):
        quotient = cast(literal_column(left), type_) / wrap(cast(literal_column(right), type_))
        eq_(decimal.Decimal(str(connection.scalar(select(quotient)))), decimal.Decimal(expected))
