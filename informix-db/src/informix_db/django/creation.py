"""Databases for tests."""

from __future__ import annotations

from typing import Any

from django.db.backends.base.creation import BaseDatabaseCreation


class DatabaseCreation(BaseDatabaseCreation):
    """CREATE and DROP DATABASE."""

    def sql_table_creation_suffix(self) -> str:
        # Without a log there are no transactions.
        return "WITH LOG"

    def _execute_create_test_db(self, cursor: Any, parameters: dict[str, str], keepdb: bool = False) -> None:
        if keepdb and parameters["dbname"].strip('"') in self._databases(cursor):
            return
        super()._execute_create_test_db(cursor, parameters, keepdb)
        # It is the session's database now: nobody could drop it.
        cursor.execute("CLOSE DATABASE")

    def _databases(self, cursor: Any) -> set[str]:
        cursor.execute("SELECT name FROM sysmaster:sysdatabases")
        return {row[0].strip() for row in cursor.fetchall()}
