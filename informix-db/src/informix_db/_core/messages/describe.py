"""DESCRIBE and input-parameter descriptions: the columns of a statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import ProtocolError
from ..capabilities import Layout
from ..types.codes import NOT_NULL, Qualifier, T, type_name
from ..wire import Reader

SELECT = 2
INSERT = 6
EXECUTE_PROCEDURE = 56

#: Statements that change the schema: statements prepared before them may no longer fit.
DDL_TYPES = frozenset((14, 15, 16, 17, 20, 21, 22, 23, 24, 25, 26, 37, 38, 39, 40, 41, 45, 53, 54))


@dataclass(frozen=True)
class Column:
    """One described column or parameter. `type_code` is the low byte, `flags` the high byte of the type."""

    name: str
    type_code: int
    flags: int
    extended_id: int
    owner: str
    extended_name: str
    encoded_length: int
    source_type: int = 0

    @property
    def not_null(self) -> bool:
        return bool(self.flags & NOT_NULL)

    @property
    def sql_type(self) -> str:
        """The type as SQL writes it."""
        return type_name(self.type_code, self.encoded_length, self.extended_name)

    def description(self) -> tuple[str, int, int | None, int, int | None, int | None, bool]:
        """The seven fields of `cursor.description`: precision in digits, scale in places."""
        code, length = self.type_code, self.encoded_length
        precision: int | None = None
        scale: int | None = None
        display: int | None = None
        internal = length
        if code in (T.DECIMAL, T.MONEY):
            precision, scale = length >> 8, length & 0xFF
            internal = (precision + (scale & 1) + 3) // 2
            if scale == 0xFF:
                scale = None
            display = precision + 2
        elif code in (T.DATETIME, T.INTERVAL):
            try:
                q = Qualifier.of(length)
                precision, scale, internal = q.digits, q.fraction_digits, q.width
            except ValueError:
                pass
        elif code in _INTEGER_DIGITS:
            precision, scale = _INTEGER_DIGITS[code], 0
            display = precision + 1
        elif code in (T.VARCHAR, T.NVARCHAR):
            internal = display = length & 0xFF
        elif code in (T.CHAR, T.NCHAR) or (code == T.UDTVAR and self.extended_name == "lvarchar"):
            display = length
        return self.name, code, display, internal, precision, scale, not self.not_null


_INTEGER_DIGITS: dict[int, int] = {
    T.SMALLINT: 5,
    T.INTEGER: 10,
    T.SERIAL: 10,
    T.INT8: 19,
    T.SERIAL8: 19,
    T.BIGINT: 19,
    T.BIGSERIAL: 19,
}


@dataclass(frozen=True)
class Description:
    """What DESCRIBE says about a statement. For an INSERT the columns are its targets, not a result."""

    statement_type: int
    statement_id: int
    estimated_rows: int
    tuple_size: int
    columns: tuple[Column, ...]

    @property
    def returns_rows(self) -> bool:
        return self.statement_type == SELECT or (self.statement_type == EXECUTE_PROCEDURE and bool(self.columns))


def parse_describe(reader: Reader, layout: Layout, encoding: str) -> Description:
    """The body of DESCRIBE (after its code)."""
    statement_type, statement_id = reader.short(), reader.short()
    rows = reader.integer()
    tuple_size = reader.integer() if layout.wide_tuple_size else reader.short() & 0xFFFF
    count = reader.length("number of described columns")
    table_size = reader.long_length("string table of DESCRIBE", 16 << 20)
    raw: list[tuple[int, dict[str, Any]]] = []
    for _ in range(count):
        offset, _position = reader.integer(), reader.integer()
        kind = reader.short() & 0xFFFF
        extended_id = reader.integer()
        owner, name = reader.char(), reader.char()
        reader.take(4)  # reference, alignment
        source, length = reader.integer(), reader.integer()
        raw.append(
            (
                offset,
                {
                    "type_code": kind & 0xFF,
                    "flags": kind & 0xFF00,
                    "extended_id": extended_id,
                    "owner": owner.decode(encoding, "replace"),
                    "extended_name": name.decode(encoding, "replace"),
                    "encoded_length": length,
                    "source_type": source,
                },
            )
        )
    table = reader.block(table_size)
    columns = []
    for offset, fields in raw:
        stop = table.find(b"\0", offset) if 0 <= offset < len(table) else -1
        if stop < 0:
            raise ProtocolError(f"DESCRIBE: a column's name is outside the string table (offset {offset})")
        columns.append(Column(name=table[offset:stop].decode(encoding, "replace"), **fields))
    return Description(statement_type, statement_id, rows, tuple_size, tuple(columns))


def parse_input_describe(reader: Reader, encoding: str) -> tuple[Column, ...]:
    """The body of IDESCRIBE (after its code): the parameters of a statement, without names."""
    count = reader.length("number of described parameters")
    reader.short()
    columns = []
    for _ in range(count):
        kind = reader.short() & 0xFFFF
        extended_id = reader.integer()
        owner, name = reader.char(), reader.char()
        reader.take(4)
        source, length = reader.integer(), reader.integer()
        columns.append(
            Column(
                name="",
                type_code=kind & 0xFF,
                flags=kind & 0xFF00,
                extended_id=extended_id,
                owner=owner.decode(encoding, "replace"),
                extended_name=name.decode(encoding, "replace"),
                encoded_length=length,
                source_type=source,
            )
        )
    return tuple(columns)
