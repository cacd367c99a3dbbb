"""SQLAlchemy's expressions → Informix's SQL."""

from __future__ import annotations

from typing import Any

from sqlalchemy import exc
from sqlalchemy import types as sqltypes
from sqlalchemy.sql import compiler

from .types import BIGSERIAL, INTERVAL, SERIAL, SERIAL8, InformixDatetime

_WORDS = """
absolute access add alter any audit avg begin between bigint bigserial boolean by byte char close cluster commit
count cursor database date datetime day decimal declare default delete delimident dirty distinct drop each elif
execute exists explain extend extent external fetch first float foreach format fraction function grant having hex
hour idslbacread immediate index init insert int8 integer interval isolation level like list load lock lvarchar
matches max min minute mod mode modify money month multiset nchar next nvarchar of off option out pdqpriority
prepare procedure public raise reference rename reserve resolution revoke rollback row rowid schema second section
serial serial8 set share sitename size skip smallfloat smallint start statistics stdev step sum synonym table temp
text today trigger truncate units unload unlock update usage user values varchar variance view wait where while work
year
"""
RESERVED = compiler.RESERVED_WORDS | set(_WORDS.split())

#: General types → the type that a parameter of a select list is cast to. A decimal floats: nothing of it is rounded.
_SELECTED: tuple[tuple[type[Any], str], ...] = (
    (sqltypes.Boolean, "BOOLEAN"),
    (sqltypes.Integer, "BIGINT"),
    (sqltypes.Float, "FLOAT"),
    (sqltypes.Numeric, "DECIMAL(32)"),
    (sqltypes.DateTime, "DATETIME YEAR TO FRACTION(5)"),
    (sqltypes.Date, "DATE"),
    (sqltypes.Time, "DATETIME HOUR TO FRACTION(5)"),
    (sqltypes.Interval, "INTERVAL DAY(9) TO FRACTION(5)"),
)
#: Types that say themselves what such a parameter is cast to: they have a qualifier.
_QUALIFIED = (INTERVAL, InformixDatetime)

#: A table of one row, for a SELECT that has no FROM.
ONE_ROW = "(SELECT 1 AS one FROM informix.systables WHERE tabid = 1)"


class InformixIdentifierPreparer(compiler.IdentifierPreparer):
    """Names in double quotes: the dialect connects with DELIMIDENT set, so that quotes never mean strings."""

    reserved_words = RESERVED

    def __init__(self, dialect: Any) -> None:
        super().__init__(dialect, initial_quote='"', omit_schema=False)


class InformixCompiler(compiler.SQLCompiler):
    """SELECT FIRST/SKIP, functions, booleans."""

    def default_from(self) -> str:
        return f" FROM {ONE_ROW}"

    def get_select_precolumns(self, select: Any, **kw: Any) -> str:
        text = ""
        if select._offset_clause is not None:
            text += f"SKIP {self.process(self._literal(select._offset_clause), **kw)} "
        if select._limit_clause is not None:
            text += f"FIRST {self.process(self._literal(select._limit_clause), **kw)} "
        if select._fetch_clause is not None:
            options = select._fetch_clause_options or {}
            if options.get("with_ties") or options.get("percent"):
                raise exc.CompileError("Informix has neither WITH TIES nor PERCENT")
            text += f"FIRST {self.process(self._literal(select._fetch_clause), **kw)} "
        return text + str(super().get_select_precolumns(select, **kw))

    @staticmethod
    def _literal(clause: Any) -> Any:
        """FIRST and SKIP take numbers, not parameters: put the value in at execution."""
        if not hasattr(clause, "render_literal_execute"):
            return clause
        literal = clause.render_literal_execute()
        if literal.type._isnull:  # a parameter whose type nobody told
            literal.type = sqltypes.Integer()
        return literal

    def limit_clause(self, select: Any, **kw: Any) -> str:
        return ""

    def fetch_clause(self, select: Any, *arguments: Any, **kw: Any) -> str:
        return ""

    def visit_true(self, expr: Any, **kw: Any) -> str:
        return "'t'::BOOLEAN" if kw.get("within_columns_clause") else "'t'"

    def visit_false(self, expr: Any, **kw: Any) -> str:
        return "'f'::BOOLEAN" if kw.get("within_columns_clause") else "'f'"

    def visit_bindparam(self, bindparam: Any, *arguments: Any, **kw: Any) -> str:
        """What a parameter is cannot be told where nothing stands beside it: in a select list it is said."""
        make: Any = super().visit_bindparam
        text = str(make(bindparam, *arguments, **kw))
        within_columns_clause = kw.get("within_columns_clause", False)
        inline = bindparam.expanding or any(kw.get(how) for how in ("literal_binds", "literal_execute"))
        if within_columns_clause and not inline and not bindparam.literal_execute:
            if isinstance(bindparam.type, _QUALIFIED):
                return f"{text}::{self.dialect.type_compiler_instance.process(bindparam.type)}"
            for kind, name in _SELECTED:
                if isinstance(bindparam.type, kind):
                    return f"{text}::{name}"
        return text

    def visit_mod_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"MOD({self.process(binary.left, **kw)}, {self.process(binary.right, **kw)})"

    def visit_now_func(self, fn: Any, **kw: Any) -> str:
        return "CURRENT YEAR TO FRACTION(5)"

    visit_current_timestamp_func = visit_now_func
    visit_localtimestamp_func = visit_now_func

    def visit_current_date_func(self, fn: Any, **kw: Any) -> str:
        return "TODAY"

    def visit_current_time_func(self, fn: Any, **kw: Any) -> str:
        return "CURRENT HOUR TO FRACTION(5)"

    visit_localtime_func = visit_current_time_func

    def visit_char_length_func(self, fn: Any, **kw: Any) -> str:
        return f"CHAR_LENGTH{self.function_argspec(fn, **kw)}"

    def visit_random_func(self, fn: Any, **kw: Any) -> str:
        raise exc.CompileError("Informix has no random()")

    def visit_sequence(self, sequence: Any, **kw: Any) -> str:
        return f"{self.preparer.format_sequence(sequence)}.NEXTVAL"

    def visit_extract(self, extract: Any, **kw: Any) -> str:
        value = self.process(extract.expr, **kw)
        if extract.field in ("year", "month", "day"):
            return f"{extract.field.upper()}({value})"
        if extract.field == "dow":
            return f"WEEKDAY({value})"
        if extract.field in ("hour", "minute", "second"):
            field = extract.field.upper()
            return f"(({value})::DATETIME {field} TO {field}::CHAR(2)::INTEGER)"
        raise exc.CompileError(f"Informix cannot extract {extract.field}")

    def visit_is_distinct_from_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"{self._same(binary, **kw)} = 0"

    def visit_is_not_distinct_from_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"{self._same(binary, **kw)} = 1"

    def _same(self, binary: Any, **kw: Any) -> str:
        a, b = self.process(binary.left, **kw), self.process(binary.right, **kw)
        return f"CASE WHEN {a} = {b} THEN 1 WHEN {a} IS NULL AND {b} IS NULL THEN 1 ELSE 0 END"

    def for_update_clause(self, select: Any, **kw: Any) -> str:
        update = select._for_update_arg
        if update.nowait or update.skip_locked or update.read or update.key_share:
            raise exc.CompileError("Informix has only FOR UPDATE [OF columns]; use SET LOCK MODE for waiting")
        text = " FOR UPDATE"
        if update.of:
            text += " OF " + ", ".join(self.process(c, **kw) for c in update.of)
        return text

    def visit_empty_set_expr(self, element_types: Any, **kw: Any) -> str:
        columns = ", ".join("1" for _ in element_types or (1,))
        return f"SELECT {columns} FROM informix.systables WHERE 1 != 1"


class InformixDDLCompiler(compiler.DDLCompiler):
    """Constraint names come after the constraint; a serial column is a type, not a default."""

    def get_column_specification(self, column: Any, **kw: Any) -> str:
        text = str(self.preparer.format_column(column))
        kind = column.type.dialect_impl(self.dialect)
        table = column.table
        serial = (
            table is not None
            and column is table._autoincrement_column
            and (column.server_default is None or column.identity is not None)
            and not isinstance(kind, (SERIAL, SERIAL8, BIGSERIAL))
            and (column.default is None or (column.default.is_sequence and column.default.optional))
        )
        if column.computed is not None or (column.identity is not None and not serial):
            raise exc.CompileError("Informix has neither computed columns nor identity columns beside the serial key")
        if serial:
            text += " BIGSERIAL" if isinstance(kind, sqltypes.BigInteger) else " SERIAL"
            text += self._serial_start(column.identity)
        else:
            text += " " + self.dialect.type_compiler_instance.process(column.type, type_expression=column)
            default = self.get_column_default_string(column)
            if default is not None:
                text += f" DEFAULT {default}"
        if not column.nullable or serial:
            text += " NOT NULL"
        return text

    @staticmethod
    def _serial_start(identity: Any) -> str:
        """A serial column counts from its start by one; what else an identity may ask for it cannot do."""
        if identity is None:
            return ""
        others = ("increment", "minvalue", "maxvalue", "nominvalue", "nomaxvalue", "cycle", "cache", "order")
        asked = [name for name in others if getattr(identity, name) not in (None, False)]
        if identity.always or (asked and (asked != ["increment"] or identity.increment != 1)):
            raise exc.CompileError(f"a serial column has no {', '.join(asked) or 'GENERATED ALWAYS'}")
        return "" if identity.start is None else f"({identity.start})"

    def _named(self, text: str, constraint: Any) -> str:
        if constraint.name is not None:
            name = self.preparer.format_constraint(constraint)
            if name is not None:
                text += f" CONSTRAINT {name}"
        return text

    def visit_primary_key_constraint(self, constraint: Any, **kw: Any) -> str:
        if len(constraint) == 0:
            return ""
        columns = constraint.columns_autoinc_first if constraint._implicit_generated else constraint.columns
        names = ", ".join(self.preparer.quote(c.name) for c in columns)
        return self._named(f"PRIMARY KEY ({names})", constraint)

    def visit_unique_constraint(self, constraint: Any, **kw: Any) -> str:
        if len(constraint) == 0:
            return ""
        names = ", ".join(self.preparer.quote(c.name) for c in constraint)
        return self._named(f"UNIQUE ({names})", constraint)

    def visit_check_constraint(self, constraint: Any, **kw: Any) -> str:
        text = self.sql_compiler.process(constraint.sqltext, include_table=False, literal_binds=True)
        return self._named(f"CHECK ({text})", constraint)

    visit_column_check_constraint = visit_check_constraint

    def visit_foreign_key_constraint(self, constraint: Any, **kw: Any) -> str:
        local = ", ".join(self.preparer.quote(e.parent.name) for e in constraint.elements)
        remote_table = next(iter(constraint.elements)).column.table
        remote = ", ".join(self.preparer.quote(e.column.name) for e in constraint.elements)
        table = self.preparer.format_table(remote_table)
        text = f"FOREIGN KEY ({local}) REFERENCES {table} ({remote})"
        if constraint.onupdate is not None:
            raise exc.CompileError("Informix has no ON UPDATE")
        if constraint.ondelete is not None:
            if constraint.ondelete.upper() == "CASCADE":
                text += " ON DELETE CASCADE"
            elif constraint.ondelete.upper() not in ("NO ACTION", "RESTRICT"):
                raise exc.CompileError(f"Informix has no ON DELETE {constraint.ondelete}")
        if constraint.deferrable or constraint.initially:
            raise exc.CompileError("constraints are deferred by SET CONSTRAINTS, not by their definition")
        return self._named(text, constraint)

    def visit_add_constraint(self, create: Any, **kw: Any) -> str:
        table = self.preparer.format_table(create.element.table)
        return f"ALTER TABLE {table} ADD CONSTRAINT {self.process(create.element)}"

    def visit_drop_constraint(self, drop: Any, **kw: Any) -> str:
        name = self.preparer.format_constraint(drop.element)
        if name is None:
            raise exc.CompileError("a constraint without a name cannot be dropped")
        return f"ALTER TABLE {self.preparer.format_table(drop.element.table)} DROP CONSTRAINT {name}"

    def visit_create_sequence(self, create: Any, prefix: Any = None, **kw: Any) -> str:
        make: Any = super().visit_create_sequence
        text = str(make(create, prefix=prefix, **kw)).replace(" START WITH ", " START ")
        for option in ("MINVALUE", "MAXVALUE", "CYCLE"):
            text = text.replace(f" NO {option}", f" NO{option}")
        return text


class InformixTypeCompiler(compiler.GenericTypeCompiler):
    """Type names."""

    def visit_SERIAL(self, type_: Any, **kw: Any) -> str:
        return "SERIAL"

    def visit_SERIAL8(self, type_: Any, **kw: Any) -> str:
        return "SERIAL8"

    def visit_BIGSERIAL(self, type_: Any, **kw: Any) -> str:
        return "BIGSERIAL"

    def visit_INT8(self, type_: Any, **kw: Any) -> str:
        return "INT8"

    def visit_SMALLFLOAT(self, type_: Any, **kw: Any) -> str:
        return "SMALLFLOAT"

    def visit_MONEY(self, type_: Any, **kw: Any) -> str:
        return f"MONEY({type_.precision or 16},{2 if type_.scale is None else type_.scale})"

    def visit_BYTE(self, type_: Any, **kw: Any) -> str:
        return "BYTE"

    def visit_LVARCHAR(self, type_: Any, **kw: Any) -> str:
        return f"LVARCHAR({type_.length})" if type_.length else "LVARCHAR"

    def visit_INFORMIX_DATETIME(self, type_: Any, **kw: Any) -> str:
        return f"DATETIME {type_.qualifier}"

    def visit_INFORMIX_INTERVAL(self, type_: Any, **kw: Any) -> str:
        return f"INTERVAL {type_.qualifier}"

    def visit_interval(self, type_: Any, **kw: Any) -> str:
        return "INTERVAL DAY(9) TO FRACTION(5)"

    def visit_TIMESTAMP(self, type_: Any, **kw: Any) -> str:
        return "DATETIME YEAR TO FRACTION(5)"

    visit_DATETIME = visit_TIMESTAMP

    def visit_datetime(self, type_: Any, **kw: Any) -> str:
        if type_.timezone:
            raise exc.CompileError("Informix has no DATETIME with a time zone")
        return "DATETIME YEAR TO FRACTION(5)"

    def visit_TIME(self, type_: Any, **kw: Any) -> str:
        return "DATETIME HOUR TO FRACTION(5)"

    def visit_DOUBLE(self, type_: Any, **kw: Any) -> str:
        return "FLOAT"

    visit_DOUBLE_PRECISION = visit_DOUBLE

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:
        return "FLOAT"

    def visit_REAL(self, type_: Any, **kw: Any) -> str:
        return "SMALLFLOAT"

    def visit_NUMERIC(self, type_: Any, **kw: Any) -> str:
        if type_.precision is None:
            return "DECIMAL(32)"
        return f"DECIMAL({type_.precision},{type_.scale or 0})"

    visit_DECIMAL = visit_NUMERIC

    def visit_BOOLEAN(self, type_: Any, **kw: Any) -> str:
        return "BOOLEAN"

    def visit_VARCHAR(self, type_: Any, **kw: Any) -> str:
        if type_.length is None:
            return "LVARCHAR"
        return f"VARCHAR({type_.length})" if type_.length <= 255 else f"LVARCHAR({type_.length})"

    def visit_NVARCHAR(self, type_: Any, **kw: Any) -> str:
        if type_.length is None:
            return "LVARCHAR"
        return f"NVARCHAR({type_.length})" if type_.length <= 255 else f"LVARCHAR({type_.length})"

    def visit_unicode(self, type_: Any, **kw: Any) -> str:
        return self.visit_NVARCHAR(type_, **kw)

    def visit_TEXT(self, type_: Any, **kw: Any) -> str:
        return "TEXT"

    def visit_unicode_text(self, type_: Any, **kw: Any) -> str:
        return "TEXT"

    def visit_large_binary(self, type_: Any, **kw: Any) -> str:
        return "BYTE"

    def visit_BLOB(self, type_: Any, **kw: Any) -> str:
        return "BYTE"

    visit_BINARY = visit_BLOB
    visit_VARBINARY = visit_BLOB

    def visit_JSON(self, type_: Any, **kw: Any) -> str:
        raise exc.CompileError("this dialect does not map JSON")

    def visit_uuid(self, type_: Any, **kw: Any) -> str:
        return "CHAR(32)"
