"""SELECT with SKIP and FIRST, which come before the columns."""

from __future__ import annotations

from typing import Any

from django.db.models.sql import compiler


class SQLCompiler(compiler.SQLCompiler):
    def as_sql(self, with_limits: bool = True, with_col_aliases: bool = False) -> tuple[str, tuple[Any, ...]]:
        sql, params = super().as_sql(with_limits=False, with_col_aliases=with_col_aliases)
        query = self.query
        if not with_limits or not query.is_sliced:
            return sql, params
        limits = f"SKIP {query.low_mark} " if query.low_mark else ""
        if query.high_mark is not None:
            limits += f"FIRST {query.high_mark - query.low_mark} "
        if query.combinator or not sql.startswith("SELECT "):
            return f"SELECT {limits}* FROM ({sql}) AS limited", params
        return f"SELECT {limits}{sql[len('SELECT ') :]}", params


class SQLInsertCompiler(compiler.SQLInsertCompiler, SQLCompiler):
    pass


class SQLDeleteCompiler(compiler.SQLDeleteCompiler, SQLCompiler):
    pass


class SQLUpdateCompiler(compiler.SQLUpdateCompiler, SQLCompiler):
    pass


class SQLAggregateCompiler(compiler.SQLAggregateCompiler, SQLCompiler):
    pass
