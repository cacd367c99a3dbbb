//! What a column gets that a data modification does not name, and what DEFAULT stands for.

use super::assignments::multiple_assignments;
use super::{Analyzer, Clause, Level};
use crate::builtins::catalog as builtin;
use crate::catalog::{Column, Identity, RelationKind};
use crate::typed::{CastForm, Expr, ExprKind};
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};

impl Analyzer<'_> {
    pub(super) fn generated_always(&self, column: &Column) -> PgError {
        let error = PgError::new(
            SqlState::GENERATED_ALWAYS,
            format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name),
        );
        if column.is_generated() {
            error.detail(format!("Column \"{}\" is a generated column.", column.name))
        } else {
            error
                .detail(format!("Column \"{}\" is an identity column defined as GENERATED ALWAYS.", column.name))
                .hint("Use OVERRIDING SYSTEM VALUE to override.")
        }
    }

    /// A value of VALUES for a column; DEFAULT is replaced by the column's default.
    pub(super) fn column_value(
        &mut self,
        expr: Expr,
        column: &Column,
        overriding_system: bool,
        overriding_user: bool,
    ) -> Result<Expr> {
        let is_default = matches!(expr.kind, ExprKind::Default);
        if is_default && self.storing {
            return Ok(Expr::new(ExprKind::Default, column.type_oid, expr.location));
        }
        if is_default || overriding_user && column.identity.is_some() {
            return Ok(match self.default_of(column)? {
                Some(default) => default,
                None => Expr::new(ExprKind::Default, column.type_oid, expr.location),
            });
        }
        if column.is_generated() || column.identity == Some(Identity::Always) && !overriding_system {
            return Err(self.generated_always(column));
        }
        let (ty, typmod, name) = (column.type_oid, column.typmod, self.name_in_target(column).into_owned());
        let flag = match (&expr.kind, self.env.parameters.defaults_behind) {
            (ExprKind::Param(n), behind) if (1..=behind).contains(n) => Some(behind + n),
            _ => None,
        };
        let value = self.coerce_assignment(expr, ty, typmod, &name)?;
        match flag {
            Some(flag) => self.value_or_default(value, flag, column),
            None => Ok(value),
        }
    }

    /// The column's default where the parameter says so (see [`Parameters::defaults_behind`](super::Parameters::defaults_behind)).
    fn value_or_default(&mut self, value: Expr, flag: usize, column: &Column) -> Result<Expr> {
        let Some(default) = self.default_of(column)? else { return Ok(value) };
        let (ty, typmod, collation) = (value.ty, value.typmod, value.collation);
        let whens = vec![(Expr::new(ExprKind::Param(flag), oid::BOOL, -1), default)];
        let kind = ExprKind::Case { whens, otherwise: Some(Box::new(value)) };
        Ok(Expr { kind, ty, typmod, collation, location: -1 })
    }

    /// A default's text as a value of a column.
    fn stored_default(&mut self, text: &str, column: &Column) -> Result<Expr> {
        // a default sees nothing of the statement
        let saved = std::mem::take(&mut self.levels);
        let mut level = Level::new();
        level.clause = Clause::Standalone;
        self.levels.push(level);
        let open = std::mem::replace(&mut self.parameters_open, false);
        let result = self
            .sub_expression(text)
            .and_then(|e| self.coerce_assignment(e, column.type_oid, column.typmod, &column.name));
        self.parameters_open = open;
        self.levels = saved;
        result
    }

    /// The default that the view through which a table is changed has for a column; it counts before the column's own.
    /// Errors: 42601 where several columns of the view are the same one of the table, and have defaults.
    pub(super) fn view_default(&mut self, column: &Column) -> Result<Option<String>> {
        let level = self.level();
        let (Some(target), Some(entry)) = (&level.view_target, level.range_table.first()) else { return Ok(None) };
        let is_column = |e: &Expr| match &e.kind {
            ExprKind::Var(v) if v.levels_up == 0 && v.rte == 0 => {
                entry.columns.get(v.column).is_some_and(|c| c.attnum == column.attnum)
            }
            _ => false,
        };
        let of_view = target.view.live_columns().zip(&target.columns);
        let mut defaults = of_view.filter(|(_, (_, e))| is_column(e)).filter_map(|(c, _)| c.default.clone());
        match (defaults.next(), defaults.next()) {
            (_, Some(_)) => Err(multiple_assignments(&column.name)),
            (default, None) => Ok(default),
        }
    }

    /// What a column gets without a value. None: nothing is inserted (generated columns: SQLite or lowering computes them).
    pub(crate) fn default_of(&mut self, column: &Column) -> Result<Option<Expr>> {
        if let Some(text) = self.view_default(column)? {
            if column.is_generated() || column.identity == Some(Identity::Always) {
                return Err(self.generated_always(column));
            }
            return self.stored_default(&text, column).map(Some);
        }
        if column.identity.is_some() {
            return self.nextval(column.sequence, column.type_oid).map(Some);
        }
        if column.generated.is_some() || column.sqlite_default {
            return Ok(None);
        }
        if let Some(text) = &column.default {
            return self.stored_default(text, column).map(Some);
        }
        // a domain's default
        let catalog = self.env.catalog;
        let ty = catalog.types.get(&column.type_oid).map(|t| &t.kind);
        if matches!(ty, Some(crate::catalog::UserTypeKind::Domain { .. })) {
            let expr = match catalog.domain_default(column.type_oid) {
                Some(text) => self.sub_expression(text)?,
                None => Expr::new(ExprKind::Const(Datum::Null), oid::UNKNOWN, -1),
            };
            return self.coerce_assignment(expr, column.type_oid, column.typmod, &column.name).map(Some);
        }
        Ok(Some(Expr {
            kind: ExprKind::Const(Datum::Null),
            ty: column.type_oid,
            typmod: column.typmod,
            collation: 0,
            location: -1,
        }))
    }

    fn nextval(&mut self, sequence: Oid, ty: Oid) -> Result<Expr> {
        if let Some(RelationKind::Sequence(s)) = self.env.catalog.relation(sequence).map(|r| &r.kind) {
            if s.row_numbers.is_some() {
                return Ok(Expr::new(ExprKind::NextRow(sequence), ty, -1));
            }
        }
        let sequence = Expr::new(ExprKind::Const(Datum::Int(sequence as i64)), oid::REGCLASS, -1);
        let call = Expr::new(
            ExprKind::Func { proc: crate::volatility::NEXTVAL, args: vec![sequence], variadic: false },
            oid::INT8,
            -1,
        );
        self.try_coerce(call, ty, -1, builtin::CastContext::Assignment, CastForm::Assignment)?
            .ok_or_else(|| PgError::internal("an identity column of a type that is not an integer"))
    }
}
