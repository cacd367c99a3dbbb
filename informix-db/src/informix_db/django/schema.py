"""CREATE, ALTER and DROP in Informix' words."""

from __future__ import annotations

import copy
import datetime as dt
import decimal
import uuid
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor


class DatabaseSchemaEditor(BaseDatabaseSchemaEditor):
    """MODIFY says all of a column anew: its type, default and NOT NULL."""

    sql_rename_table = "RENAME TABLE %(old_table)s TO %(new_table)s"
    sql_create_column = "ALTER TABLE %(table)s ADD (%(column)s %(definition)s)"
    sql_delete_column = "ALTER TABLE %(table)s DROP (%(column)s)"
    sql_rename_column = "RENAME COLUMN %(table)s.%(old_column)s TO %(new_column)s"
    sql_alter_column_type = "MODIFY (%(column)s %(type)s)"
    sql_constraint = "%(constraint)s CONSTRAINT %(name)s"
    sql_create_check = "ALTER TABLE %(table)s ADD CONSTRAINT CHECK (%(check)s) CONSTRAINT %(name)s"
    sql_create_unique = "ALTER TABLE %(table)s ADD CONSTRAINT UNIQUE (%(columns)s) CONSTRAINT %(name)s"
    sql_create_pk = "ALTER TABLE %(table)s ADD CONSTRAINT PRIMARY KEY (%(columns)s) CONSTRAINT %(name)s"
    sql_create_fk = (
        "ALTER TABLE %(table)s ADD CONSTRAINT FOREIGN KEY (%(column)s) "
        "REFERENCES %(to_table)s (%(to_column)s) CONSTRAINT %(name)s"
    )
    sql_rename_index = "RENAME INDEX %(old_name)s TO %(new_name)s"

    def quote_value(self, value: Any) -> str:
        if isinstance(value, bool):
            return "'t'" if value else "'f'"
        if isinstance(value, int | float | decimal.Decimal):
            return str(value)
        if value is None:
            return "NULL"
        if isinstance(value, dt.datetime):
            text = value.strftime("%Y-%m-%d %H:%M:%S.%f")[:-1]
            return f"DATETIME ({text}) YEAR TO FRACTION(5)"
        if isinstance(value, dt.time):
            return f"DATETIME ({value.strftime('%H:%M:%S.%f')[:-1]}) HOUR TO FRACTION(5)"
        if isinstance(value, dt.date):
            return f"MDY({value.month}, {value.day}, {value.year})"
        if isinstance(value, uuid.UUID):
            return f"'{value.hex}'"
        if isinstance(value, bytes | bytearray | memoryview):
            raise NotImplementedError("Informix has no default of a BYTE column")
        return "'" + str(value).replace("'", "''") + "'"

    def prepare_default(self, value: Any) -> str:
        return self.quote_value(value)

    def _column_default_sql(self, field: Any) -> str:
        return "%s"

    def skip_default(self, field: Any) -> bool:
        # BYTE has no default; the rows that are there get NULL.
        return field.get_internal_type() == "BinaryField"

    def skip_default_on_alter(self, field: Any) -> bool:
        return self.skip_default(field)

    def _field_should_be_indexed(self, model: Any, field: Any) -> bool:
        # A foreign key brings an index of its own, and a second one of the same columns is an error.
        if (
            field.remote_field
            and getattr(field, "db_constraint", False)
            and not field.unique
            and self.connection.features.indexes_foreign_keys
        ):
            return False
        return super()._field_should_be_indexed(model, field)  # type: ignore[no-any-return]

    def add_field(self, model: Any, field: Any) -> None:
        """A BYTE has no default but NULL: the rows that are there get theirs by an UPDATE, before it is NOT NULL."""
        if not self.skip_default(field) or field.null or field.has_db_default():
            super().add_field(model, field)
            return
        nullable = copy.copy(field)
        nullable.null = True
        super().add_field(model, nullable)
        default = self.effective_default(field)
        table, column = self.quote_name(model._meta.db_table), self.quote_name(field.column)
        if default is not None and self.collect_sql:
            self.collected_sql.append(
                f"-- {table}: {column} gets its default as a parameter, because no literal is a BYTE."
            )
        elif default is not None:
            self.execute(f"UPDATE {table} SET {column} = %s", [default])
        changes, _ = self._alter_column_null_sql(model, nullable, field)
        self.execute(self.sql_alter_column % {"table": table, "changes": changes})

    # ---- MODIFY -------------------------------------------------------------------------------------------------

    def _modified(self, field: Any, kind: str, *, null: bool, default: Any = None) -> str:
        text = f"MODIFY ({self.quote_name(field.column)} {kind}"
        if default is not None:
            text += f" DEFAULT {self.quote_value(default)}"
        elif field.has_db_default():
            text += f" DEFAULT {self.db_default_sql(field)[0]}"
        return text + (")" if null else " NOT NULL)")

    def _alter_column_type_sql(
        self, model: Any, old_field: Any, new_field: Any, new_type: str, old_collation: Any, new_collation: Any
    ) -> Any:
        return (self._modified(new_field, new_type, null=old_field.null), []), []

    def _alter_column_null_sql(self, model: Any, old_field: Any, new_field: Any) -> Any:
        return self._modified(new_field, self._type(new_field), null=new_field.null), []

    def _alter_column_default_sql(self, model: Any, old_field: Any, new_field: Any, drop: bool = False) -> Any:
        default = None if drop else self.effective_default(new_field)
        # While a default is set, rows are still to be given a value; afterwards the column is what it is to be.
        null = new_field.null if drop or old_field is None else old_field.null
        return self._modified(new_field, self._type(new_field), null=null, default=default), []

    def _alter_column_database_default_sql(self, model: Any, old_field: Any, new_field: Any, drop: bool = False) -> Any:
        # The field knows whether it has one. Whether NULL is allowed changes after this.
        return self._modified(new_field, self._type(new_field), null=old_field.null), []

    def _type(self, field: Any) -> str:
        return field.db_parameters(connection=self.connection)["type"]  # type: ignore[no-any-return]
