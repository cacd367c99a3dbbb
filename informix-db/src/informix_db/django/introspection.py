"""What the system catalog says about tables, in Django's terms."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from django.db.backends.base.introspection import BaseDatabaseIntrospection, TableInfo
from django.db.backends.base.introspection import FieldInfo as BaseFieldInfo
from django.db.models import Index

from .._core.types.codes import NOT_NULL, XID_BLOB, XID_BOOLEAN, XID_CLOB, XID_LVARCHAR, Qualifier, T

_make_field: Any = namedtuple
FieldInfo: Any = _make_field("FieldInfo", [*BaseFieldInfo._fields, "is_autofield"])

_FIELDS: dict[int, str] = {
    T.CHAR: "CharField",
    T.NCHAR: "CharField",
    T.VARCHAR: "CharField",
    T.NVARCHAR: "CharField",
    T.SMALLINT: "SmallIntegerField",
    T.INTEGER: "IntegerField",
    T.SERIAL: "IntegerField",
    T.SERIAL8: "BigIntegerField",
    T.BIGSERIAL: "BigIntegerField",
    T.INT8: "BigIntegerField",
    T.BIGINT: "BigIntegerField",
    T.FLOAT: "FloatField",
    T.SMALLFLOAT: "FloatField",
    T.DECIMAL: "DecimalField",
    T.MONEY: "DecimalField",
    T.DATE: "DateField",
    T.BYTE: "BinaryField",
    T.TEXT: "TextField",
}
_SERIALS = (T.SERIAL, T.SERIAL8, T.BIGSERIAL)
#: What a foreign key and the column that it points to have in common is not that one of them counts.
_COUNTING = {"IntegerField": "AutoField", "BigIntegerField": "BigAutoField"}


class DatabaseIntrospection(BaseDatabaseIntrospection):
    """Reads `systables`, `syscolumns`, `sysconstraints` and their like."""

    def get_field_type(self, data_type: str, description: Any) -> str:
        return _COUNTING.get(data_type, data_type) if description.is_autofield else data_type

    def identifier_converter(self, name: str) -> str:
        return name

    def _rows(self, cursor: Any, sql: str, *values: Any) -> list[Any]:
        cursor.execute(sql, values)
        return list(cursor.fetchall())

    def get_table_list(self, cursor: Any) -> list[Any]:
        sql = "SELECT tabname, tabtype FROM informix.systables WHERE tabid >= 100 AND tabtype IN ('T', 'V')"
        return [TableInfo(name.strip(), kind.strip().lower()) for name, kind in self._rows(cursor, sql)]

    def _tabid(self, cursor: Any, table_name: str) -> int:
        sql = "SELECT tabid FROM informix.systables WHERE tabname = %s AND tabtype IN ('T', 'V')"
        rows = self._rows(cursor, sql, table_name)
        return int(rows[0][0]) if rows else 0

    def get_table_description(self, cursor: Any, table_name: str) -> list[Any]:
        tabid = self._tabid(cursor, table_name)
        if not tabid:
            # The server says that there is no such table.
            cursor.execute(f"SELECT FIRST 1 * FROM {self.connection.ops.quote_name(table_name)}")
        defaults = {
            int(number): None if kind.strip() == "N" else default
            for number, kind, default in self._rows(
                cursor, 'SELECT colno, type, "default" FROM informix.sysdefaults WHERE tabid = %s', tabid
            )
        }
        sql = (
            "SELECT colno, colname, coltype, collength, extended_id FROM informix.syscolumns "
            "WHERE tabid = %s ORDER BY colno"
        )
        return [
            self._field(*row, default=defaults.get(int(row[0])))  # type: ignore[misc]
            for row in self._rows(cursor, sql, tabid)
        ]

    def _field(self, number: int, name: str, coltype: int, collength: int, extended: int, *, default: Any) -> Any:
        code, length = coltype & 0xFF, collength & 0xFFFF
        kind, size, precision, scale = _FIELDS.get(code, "TextField"), None, None, None
        if code in (T.CHAR, T.NCHAR):
            size = length
        elif code in (T.VARCHAR, T.NVARCHAR):
            size = length & 0xFF
        elif code in (T.DECIMAL, T.MONEY):
            precision, scale = length >> 8, length & 0xFF
            scale = None if scale == 0xFF else scale
        elif code == T.DATETIME:
            q = Qualifier.of(length)
            kind = "DateField" if str(q) == "YEAR TO DAY" else "TimeField" if q.start >= 6 else "DateTimeField"
        elif code in (T.UDTVAR, T.UDTFIXED):
            kind = {
                XID_BOOLEAN: "BooleanField",
                XID_LVARCHAR: "TextField" if length >= 8000 else "CharField",
                XID_BLOB: "BinaryField",
                XID_CLOB: "TextField",
            }.get(extended, "TextField")
            size = length if kind == "CharField" else None
        null = not coltype & NOT_NULL
        return FieldInfo(name.strip(), kind, size, size, precision, scale, null, default, None, code in _SERIALS)

    def _columns(self, cursor: Any, tabid: int) -> dict[int, str]:
        sql = "SELECT colno, colname FROM informix.syscolumns WHERE tabid = %s"
        return {int(number): name.strip() for number, name in self._rows(cursor, sql, tabid)}

    def _indexes(self, cursor: Any, tabid: int) -> dict[str, tuple[bool, list[int]]]:
        """Name → (unique, numbers of the columns; below zero where descending)."""
        parts = ", ".join(f"part{i}" for i in range(1, 17))
        sql = f"SELECT idxname, idxtype, {parts} FROM informix.sysindexes WHERE tabid = %s"
        return {
            row[0]: (row[1].strip() == "U", [int(p) for p in row[2:] if p]) for row in self._rows(cursor, sql, tabid)
        }

    def get_sequences(self, cursor: Any, table_name: str, table_fields: Any = ()) -> list[dict[str, str]]:
        described = self.get_table_description(cursor, table_name)
        return [{"table": table_name, "column": field.name} for field in described if field.is_autofield]

    def get_relations(self, cursor: Any, table_name: str) -> dict[str, tuple[str, str]]:
        found = {}
        for constraint in self.get_constraints(cursor, table_name).values():
            if constraint["foreign_key"] and len(constraint["columns"]) == 1:
                table, column = constraint["foreign_key"]
                found[constraint["columns"][0]] = (column, table)
        return found

    def all_references(self, cursor: Any) -> list[tuple[str, str]]:
        """(table, the table that it refers to) of every foreign key of the database."""
        sql = (
            "SELECT child.tabname, parent.tabname FROM informix.sysreferences r, informix.sysconstraints c, "
            "informix.systables child, informix.systables parent "
            "WHERE c.constrid = r.constrid AND child.tabid = c.tabid AND parent.tabid = r.ptabid"
        )
        return [(child.strip(), parent.strip()) for child, parent in self._rows(cursor, sql)]

    def get_primary_key_columns(self, cursor: Any, table_name: str) -> list[str] | None:
        for constraint in self.get_constraints(cursor, table_name).values():
            if constraint["primary_key"]:
                return list(constraint["columns"])
        return None

    def get_constraints(self, cursor: Any, table_name: str) -> dict[str, Any]:
        tabid = self._tabid(cursor, table_name)
        columns, indexes = self._columns(cursor, tabid), self._indexes(cursor, tabid)
        found: dict[str, Any] = {}
        of_constraints = set()
        sql = "SELECT constrid, constrname, constrtype, idxname FROM informix.sysconstraints WHERE tabid = %s"
        for number, name, kind, index in self._rows(cursor, sql, tabid):
            kind = kind.strip()
            if kind not in "PURC":
                continue
            names: list[str] = []
            if kind == "C":
                depends = "SELECT colno FROM informix.syscoldepend WHERE constrid = %s AND tabid = %s"
                names = [columns[int(row[0])] for row in self._rows(cursor, depends, number, tabid)]
            elif index in indexes:
                of_constraints.add(index)
                names = [columns[abs(part)] for part in indexes[index][1]]
            found[name.strip()] = {
                "columns": names,
                "primary_key": kind == "P",
                "unique": kind in "PU",
                "foreign_key": self._referred(cursor, number) if kind == "R" else None,
                "check": kind == "C",
                "index": False,
                "definition": None,
                "options": None,
            }
        for name, (unique, parts) in indexes.items():
            if name in of_constraints:
                continue
            found[name.strip()] = {
                "columns": [columns[abs(part)] for part in parts],
                "orders": ["DESC" if part < 0 else "ASC" for part in parts],
                "primary_key": False,
                "unique": unique,
                "foreign_key": None,
                "check": False,
                "index": True,
                "type": Index.suffix,
                "definition": None,
                "options": None,
            }
        return found

    def _referred(self, cursor: Any, constraint: int) -> tuple[str, str] | None:
        sql = (
            "SELECT r.ptabid, t.tabname, p.idxname FROM informix.sysreferences r, informix.sysconstraints p, "
            'informix.systables t WHERE r.constrid = %s AND p.constrid = r."primary" AND t.tabid = r.ptabid'
        )
        for tabid, table, index in self._rows(cursor, sql, constraint):
            parts = self._indexes(cursor, int(tabid))[index][1]
            return table.strip(), self._columns(cursor, int(tabid))[abs(parts[0])]
        return None
