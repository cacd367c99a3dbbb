"""What Alembic asks of a dialect: Informix's ALTER TABLE, and which types are the same.

Alembic finds it as soon as a dialect of this package is made while Alembic is loaded.
"""

from __future__ import annotations

from typing import Any

from alembic.autogenerate.api import AutogenContext
from alembic.ddl.base import AddColumn, DropColumn, RenameTable, alter_table
from alembic.ddl.impl import DefaultImpl
from sqlalchemy import schema, text
from sqlalchemy import types as sqltypes
from sqlalchemy.ext.compiler import compiles

from . import types as own
from .types import BIGSERIAL, INT8, SERIAL, SERIAL8

#: Informix's type of a key that the server counts → the general type that a model has.
COUNTED: dict[type[Any], type[Any]] = {
    SERIAL: sqltypes.Integer,
    SERIAL8: sqltypes.BigInteger,
    BIGSERIAL: sqltypes.BigInteger,
    INT8: sqltypes.BigInteger,
}


class InformixImpl(DefaultImpl):
    """Alembic's face of Informix."""

    __dialect__ = "informix"
    transactional_ddl = True

    def compare_type(self, inspector_column: schema.Column[Any], metadata_column: schema.Column[Any]) -> bool:
        """True when the types differ. A SERIAL is an Integer that is counted."""
        stored = COUNTED.get(type(inspector_column.type))
        if stored is not None and type(inspector_column.type) is not type(metadata_column.type):
            big = isinstance(metadata_column.type, sqltypes.BigInteger)
            return not isinstance(metadata_column.type, sqltypes.Integer) or big != (stored is sqltypes.BigInteger)
        return super().compare_type(inspector_column, metadata_column)

    def render_type(self, type_: Any, autogen_context: AutogenContext) -> Any:
        """Types of this package are written with the import that they need."""
        if type(type_).__module__ != own.__name__:
            return False
        autogen_context.imports.add("import informix_db.sqlalchemy")
        return f"informix_db.sqlalchemy.{type_!r}"

    def alter_column(
        self,
        table_name: str,
        column_name: str,
        *,
        nullable: bool | None = None,
        server_default: Any = False,
        name: str | None = None,
        type_: Any = None,
        schema: str | None = None,
        autoincrement: Any = None,
        comment: Any = False,
        existing_comment: str | None = None,
        existing_type: Any = None,
        existing_server_default: Any = None,
        existing_nullable: bool | None = None,
        existing_autoincrement: bool | None = None,
        **kw: Any,
    ) -> None:
        """MODIFY says all of a column anew, so what does not change must be known."""
        preparer = self.dialect.identifier_preparer
        table = (
            preparer.quote(table_name) if schema is None else f"{preparer.quote(schema)}.{preparer.quote(table_name)}"
        )
        if comment is not False:
            raise NotImplementedError("Informix has no comments on columns")
        if nullable is not None or server_default is not False or type_ is not None:
            kind = type_ if type_ is not None else existing_type
            if kind is None:
                raise NotImplementedError(f"altering {table_name}.{column_name} needs existing_type")
            kind = sqltypes.to_instance(kind)
            default = existing_server_default if server_default is False else server_default
            spec = f"{preparer.quote(column_name)} {self.dialect.type_compiler_instance.process(kind)}"
            if default:
                spec += f" DEFAULT {self._default(default)}"
            may_be_null = nullable if nullable is not None else existing_nullable
            if may_be_null is None:
                raise NotImplementedError(f"altering {table_name}.{column_name} needs existing_nullable")
            self._exec(text(f"ALTER TABLE {table} MODIFY ({spec}{'' if may_be_null else ' NOT NULL'})"))
        if name is not None and name != column_name:
            self._exec(text(f"RENAME COLUMN {table}.{preparer.quote(column_name)} TO {preparer.quote(name)}"))

    def _default(self, default: Any) -> str:
        """A default as the statement has it."""
        if isinstance(default, schema.DefaultClause):
            default = default.arg
        if isinstance(default, str):
            return "'" + default.replace("'", "''") + "'"
        return str(default.compile(dialect=self.dialect, compile_kwargs={"literal_binds": True}))


@compiles(AddColumn, "informix")
def _add_column(element: AddColumn, compiler: Any, **kw: Any) -> str:
    head = alter_table(compiler, element.table_name, element.schema)
    return f"{head} ADD ({compiler.get_column_specification(element.column, **kw)})"


@compiles(DropColumn, "informix")
def _drop_column(element: DropColumn, compiler: Any, **kw: Any) -> str:
    head = alter_table(compiler, element.table_name, element.schema)
    return f"{head} DROP ({compiler.preparer.quote(element.column.name)})"


@compiles(RenameTable, "informix")
def _rename_table(element: RenameTable, compiler: Any, **kw: Any) -> str:
    quote = compiler.preparer.quote
    return f"RENAME TABLE {quote(element.table_name)} TO {quote(element.new_table_name)}"
