"""What the system catalog says about tables, in SQLAlchemy's terms."""

from __future__ import annotations

from typing import Any

from sqlalchemy import exc, text
from sqlalchemy import types as sqltypes
from sqlalchemy.engine import reflection
from sqlalchemy.engine.reflection import ReflectionDefaults

from .._core.types.codes import NOT_NULL, XID_BLOB, XID_BOOLEAN, XID_CLOB, XID_LVARCHAR, Qualifier, T
from .types import (
    BIGSERIAL,
    BYTE,
    INT8,
    INTERVAL,
    LVARCHAR,
    MONEY,
    SERIAL,
    SERIAL8,
    SMALLFLOAT,
    InformixDatetime,
    InformixText,
)

_SIMPLE: dict[int, type[Any]] = {
    T.SMALLINT: sqltypes.SMALLINT,
    T.INTEGER: sqltypes.INTEGER,
    T.FLOAT: sqltypes.FLOAT,
    T.SMALLFLOAT: SMALLFLOAT,
    T.SERIAL: SERIAL,
    T.DATE: sqltypes.DATE,
    T.BYTE: BYTE,
    T.TEXT: InformixText,
    T.INT8: INT8,
    T.SERIAL8: SERIAL8,
    T.BIGINT: sqltypes.BIGINT,
    T.BIGSERIAL: BIGSERIAL,
    T.BOOLEAN: sqltypes.BOOLEAN,
}

_QUALIFIED = {"DATETIME": InformixDatetime, "INTERVAL": INTERVAL}


def column_type(coltype: int, collength: int, extended_id: int) -> Any:
    """The SQLAlchemy type of a row of syscolumns; NullType when there is none."""
    code = coltype & 0xFF
    length = collength & 0xFFFF
    if code in _SIMPLE:
        return _SIMPLE[code]()
    if code in (T.CHAR, T.NCHAR):
        return (sqltypes.CHAR if code == T.CHAR else sqltypes.NCHAR)(length)
    if code in (T.VARCHAR, T.NVARCHAR):
        return (sqltypes.VARCHAR if code == T.VARCHAR else sqltypes.NVARCHAR)(length & 0xFF)
    if code in (T.DECIMAL, T.MONEY):
        precision, scale = length >> 8, length & 0xFF
        make: Any = sqltypes.DECIMAL if code == T.DECIMAL else MONEY
        return make(precision, None if scale == 0xFF else scale)
    if code in (T.DATETIME, T.INTERVAL):
        q = Qualifier.of(length)
        start, _, end = str(q).partition(" TO ")
        if code == T.INTERVAL:
            leading = q.digits - (q.end - q.start) if q.start < 12 else 0
            return INTERVAL(f"{start}({leading}) TO {end}" if leading else f"{start} TO {end}")
        return InformixDatetime(str(q))
    if code in (T.UDTVAR, T.UDTFIXED):
        if extended_id == XID_LVARCHAR:
            return LVARCHAR(length)
        if extended_id == XID_BOOLEAN:
            return sqltypes.BOOLEAN()
        if extended_id in (XID_BLOB, XID_CLOB):
            return sqltypes.BLOB() if extended_id == XID_BLOB else sqltypes.CLOB()
    return sqltypes.NullType()


class InformixReflection:
    """The reflection methods of the dialect. A schema is an owner; without one, the table of any owner is meant."""

    default_schema_name: Any

    def _rows(self, connection: Any, sql: str, **values: Any) -> list[Any]:
        return list(connection.execute(text(sql), values).fetchall())

    def _tabid(self, connection: Any, table: str, schema: str | None, kinds: str = "TVSPE") -> int:
        sql = "SELECT tabid, owner, tabtype FROM informix.systables WHERE tabname = :name"
        found = [
            r
            for r in self._rows(connection, sql, name=str(table))
            if str(r[2]).strip() in kinds and (schema is None or str(r[1]).strip() == schema)
        ]
        if not found:
            raise exc.NoSuchTableError(f"{schema}.{table}" if schema else table)
        return int(found[0][0])

    @reflection.cache
    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        try:
            self._tabid(connection, table_name, schema)
        except exc.NoSuchTableError:
            return False
        return True

    @reflection.cache
    def has_sequence(self, connection: Any, sequence_name: str, schema: str | None = None, **kw: Any) -> bool:
        return sequence_name in self.get_sequence_names(connection, schema, **kw)

    def _names(self, connection: Any, kind: str, schema: str | None) -> list[str]:
        sql = "SELECT tabname, owner FROM informix.systables WHERE tabtype = :kind AND tabid >= 100 ORDER BY tabname"
        rows = self._rows(connection, sql, kind=kind)
        return [str(r[0]).strip() for r in rows if schema is None or str(r[1]).strip() == schema]

    @reflection.cache
    def get_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        return self._names(connection, "T", schema)

    @reflection.cache
    def get_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        return self._names(connection, "V", schema)

    @reflection.cache
    def get_sequence_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        return self._names(connection, "Q", schema)

    @reflection.cache
    def get_temp_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        raise NotImplementedError

    @reflection.cache
    def get_schema_names(self, connection: Any, **kw: Any) -> list[str]:
        rows = self._rows(connection, "SELECT DISTINCT owner FROM informix.systables WHERE tabid >= 100")
        return sorted({str(r[0]).strip() for r in rows if r[0] and str(r[0]).strip()})

    @reflection.cache
    def get_view_definition(self, connection: Any, view_name: str, schema: str | None = None, **kw: Any) -> str:
        tabid = self._tabid(connection, view_name, schema, "V")
        sql = "SELECT viewtext FROM informix.sysviews WHERE tabid = :tabid ORDER BY seqno"
        return "".join(str(r[0]) for r in self._rows(connection, sql, tabid=tabid)).strip()

    @reflection.cache
    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        tabid = self._tabid(connection, table_name, schema)
        sql = (
            "SELECT colno, colname, coltype, collength, extended_id FROM informix.syscolumns "
            "WHERE tabid = :tabid ORDER BY colno"
        )
        defaults = self._defaults(connection, tabid)
        columns: list[dict[str, Any]] = []
        for number, name, coltype, length, extended_id in self._rows(connection, sql, tabid=tabid):
            kind = column_type(int(coltype), int(length), int(extended_id or 0))
            serial = isinstance(kind, (SERIAL, SERIAL8, BIGSERIAL))
            columns.append(
                {
                    "name": str(name).strip(),
                    "type": kind,
                    "nullable": not int(coltype) & NOT_NULL,
                    "default": defaults.get(int(number)),
                    "autoincrement": serial,
                }
            )
        return columns or ReflectionDefaults.columns()

    def _defaults(self, connection: Any, tabid: int) -> dict[int, str]:
        """Column number → the default as SQL. Types L literal, C CURRENT, T TODAY, U USER, S DBSERVERNAME, N NULL."""
        sql = (
            'SELECT d.colno, d.type, d."default", c.coltype FROM informix.sysdefaults d, informix.syscolumns c '
            "WHERE d.tabid = :tabid AND c.tabid = d.tabid AND c.colno = d.colno"
        )
        words = {"C": "CURRENT", "T": "TODAY", "U": "USER", "S": "DBSERVERNAME"}
        found = {}
        for number, kind, default, coltype in self._rows(connection, sql, tabid=tabid):
            kind = str(kind).strip()
            if kind in words:
                found[int(number)] = words[kind]
            elif kind == "L" and default is not None:
                value = str(default).strip()
                code = int(coltype) & 0xFF
                if code in (T.CHAR, T.NCHAR, T.VARCHAR, T.NVARCHAR, T.UDTVAR, T.UDTFIXED):
                    found[int(number)] = "'" + value.strip("'").replace("'", "''") + "'"
                else:
                    # Other types: an encoded form, a blank, and the value as text.
                    found[int(number)] = value.rpartition(" ")[2]
        return found

    def _constraints(self, connection: Any, tabid: int, kind: str) -> list[Any]:
        sql = (
            "SELECT constrid, constrname, idxname FROM informix.sysconstraints "
            "WHERE tabid = :tabid AND constrtype = :kind ORDER BY constrname"
        )
        return self._rows(connection, sql, tabid=tabid, kind=kind)

    def _column_names(self, connection: Any, tabid: int) -> dict[int, str]:
        sql = "SELECT colno, colname FROM informix.syscolumns WHERE tabid = :tabid"
        return {int(r[0]): str(r[1]).strip() for r in self._rows(connection, sql, tabid=tabid)}

    def _index_parts(self, connection: Any, tabid: int) -> dict[str, tuple[bool, list[int]]]:
        """Index name → (unique, column numbers; negative = descending)."""
        parts = ", ".join(f"part{i}" for i in range(1, 17))
        sql = f"SELECT idxname, idxtype, {parts} FROM informix.sysindexes WHERE tabid = :tabid ORDER BY idxname"
        found = {}
        for row in self._rows(connection, sql, tabid=tabid):
            found[str(row[0])] = (str(row[1]).strip() == "U", [int(p) for p in row[2:] if p])
        return found

    @reflection.cache
    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        tabid = self._tabid(connection, table_name, schema)
        names, parts = self._column_names(connection, tabid), self._index_parts(connection, tabid)
        for _, name, index in self._constraints(connection, tabid, "P"):
            return {"constrained_columns": [names[abs(p)] for p in parts[str(index)][1]], "name": str(name).strip()}
        return ReflectionDefaults.pk_constraint()

    @reflection.cache
    def get_unique_constraints(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        tabid = self._tabid(connection, table_name, schema)
        names, parts = self._column_names(connection, tabid), self._index_parts(connection, tabid)
        found = [
            {"name": str(name).strip(), "column_names": [names[abs(p)] for p in parts[str(index)][1]]}
            for _, name, index in self._constraints(connection, tabid, "U")
        ]
        return found or ReflectionDefaults.unique_constraints()

    @reflection.cache
    def get_check_constraints(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        tabid = self._tabid(connection, table_name, schema)
        found = []
        for constraint, name, _ in self._constraints(connection, tabid, "C"):
            sql = "SELECT checktext FROM informix.syschecks WHERE constrid = :constrid AND type = 'T' ORDER BY seqno"
            body = "".join(str(r[0]) for r in self._rows(connection, sql, constrid=constraint)).strip()
            if body.startswith("(") and body.endswith(")"):
                body = body[1:-1].strip()
            found.append({"name": str(name).strip(), "sqltext": body})
        return found or ReflectionDefaults.check_constraints()

    @reflection.cache
    def get_foreign_keys(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        tabid = self._tabid(connection, table_name, schema)
        names, parts = self._column_names(connection, tabid), self._index_parts(connection, tabid)
        found = []
        for constraint, name, index in self._constraints(connection, tabid, "R"):
            sql = (
                "SELECT r.ptabid, p.idxname, t.tabname, t.owner, r.delrule "
                "FROM informix.sysreferences r, informix.sysconstraints p, informix.systables t "
                'WHERE r.constrid = :constrid AND p.constrid = r."primary" AND t.tabid = r.ptabid'
            )
            for remote_id, remote_index, remote_table, owner, rule in self._rows(connection, sql, constrid=constraint):
                remote_names = self._column_names(connection, int(remote_id))
                remote_parts = self._index_parts(connection, int(remote_id))[str(remote_index)][1]
                found.append(
                    {
                        "name": str(name).strip(),
                        "constrained_columns": [names[abs(p)] for p in parts[str(index)][1]],
                        "referred_schema": str(owner).strip() if schema is not None else None,
                        "referred_table": str(remote_table).strip(),
                        "referred_columns": [remote_names[abs(p)] for p in remote_parts],
                        "options": {"ondelete": "CASCADE"} if str(rule).strip() == "C" else {},
                    }
                )
        return found or ReflectionDefaults.foreign_keys()

    @reflection.cache
    def get_indexes(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        tabid = self._tabid(connection, table_name, schema)
        names = self._column_names(connection, tabid)
        own = {str(r[2]) for kind in "PUR" for r in self._constraints(connection, tabid, kind)}
        found = []
        for name, (unique, parts) in self._index_parts(connection, tabid).items():
            if name in own:
                continue  # made for a constraint
            entry: dict[str, Any] = {
                "name": name.strip(),
                "unique": unique,
                "column_names": [names[abs(p)] for p in parts],
            }
            descending = {names[-p]: ("desc",) for p in parts if p < 0}
            if descending:
                entry["column_sorting"] = descending
            found.append(entry)
        return found or ReflectionDefaults.indexes()

    @reflection.cache
    def get_table_comment(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        # Informix has no comments on tables.
        self._tabid(connection, table_name, schema)
        return ReflectionDefaults.table_comment()
