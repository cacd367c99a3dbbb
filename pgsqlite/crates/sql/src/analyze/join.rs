//! JOIN.

use super::from::{duplicate_alias, plain_column, rename_columns, NamespaceItem};
use super::typename::name_parts;
use super::{entry, var, Analyzer, Clause};
use crate::parse::ast;
use crate::typed::{Expr, ExprKind, FromItem, JoinKind, RteColumn, RteKind};
use pgsqlite_types::{oid, PgError, Result, SqlState};

impl Analyzer<'_> {
    pub(super) fn join(&mut self, j: &ast::JoinExpr) -> Result<(FromItem, Vec<NamespaceItem>)> {
        let kind = match ast::JoinType::try_from(j.jointype) {
            Ok(ast::JoinType::JoinInner) => JoinKind::Inner,
            Ok(ast::JoinType::JoinLeft) => JoinKind::Left,
            Ok(ast::JoinType::JoinRight) => JoinKind::Right,
            Ok(ast::JoinType::JoinFull) => JoinKind::Full,
            _ => return Err(PgError::internal("unknown kind of join")),
        };
        let larg = j.larg.as_deref().ok_or_else(|| PgError::internal("a join without a left side"))?;
        let rarg = j.rarg.as_deref().ok_or_else(|| PgError::internal("a join without a right side"))?;
        let (left, left_ns) = self.from_item(larg)?;
        // the left side is visible to LATERAL items on the right
        let before = self.level().namespace.len();
        let lateral_ok = matches!(kind, JoinKind::Inner | JoinKind::Left);
        for item in &left_ns {
            let mut item = item.clone();
            item.lateral_only = true;
            item.lateral_ok = lateral_ok;
            self.level().namespace.push(item);
        }
        let (right, right_ns) = self.from_item(rarg)?;
        self.level().namespace.truncate(before);
        for r in &right_ns {
            if left_ns.iter().any(|l| {
                l.table_visible
                    && r.table_visible
                    && l.alias == r.alias
                    && !(l.qualified.is_some() && r.qualified.is_some() && l.qualified != r.qualified)
            }) {
                return Err(duplicate_alias(&r.alias, rarg));
            }
        }

        let visible = |ns: &[NamespaceItem]| -> Vec<(String, Expr)> {
            ns.iter().filter(|i| i.columns_visible).flat_map(|i| i.columns.clone()).collect()
        };
        let (left_columns, right_columns) = (visible(&left_ns), visible(&right_ns));
        let mut using: Vec<String> = name_parts(&j.using_clause).into_iter().map(String::from).collect();
        if j.is_natural {
            using = left_columns
                .iter()
                .map(|(n, _)| n.clone())
                .filter(|n| right_columns.iter().any(|(r, _)| r == n))
                .collect();
        }
        let mut conditions = Vec::new();
        let mut merged: Vec<(String, Expr)> = Vec::new();
        for name in &using {
            let side = |columns: &[(String, Expr)], which: &str| -> Result<Expr> {
                let mut found = columns.iter().filter(|(n, _)| n == name);
                let first = found.next().ok_or_else(|| {
                    PgError::new(
                        SqlState::UNDEFINED_COLUMN,
                        format!("column \"{name}\" specified in USING clause does not exist in {which} table"),
                    )
                })?;
                if found.next().is_some() {
                    return Err(PgError::new(
                        SqlState::AMBIGUOUS_COLUMN,
                        format!("common column name \"{name}\" appears more than once in {which} table"),
                    ));
                }
                Ok(first.1.clone())
            };
            let l = side(&left_columns, "left")?;
            let r = side(&right_columns, "right")?;
            conditions.push(self.operator("=", Some(l.clone()), r.clone(), -1)?);
            let common = self.common_type(&[&l, &r], "JOIN/USING")?;
            // of an inner join's two columns the one that needs no conversion is taken, the left one first
            let typmod = if l.typmod == r.typmod { l.typmod } else { -1 };
            let as_it_is = |e: &Expr| e.ty == common && e.typmod == typmod;
            let take_right = !as_it_is(&l) && as_it_is(&r);
            let (l, r) =
                (self.coerce_to_common(l, common, "JOIN/USING")?, self.coerce_to_common(r, common, "JOIN/USING")?);
            merged.push((
                name.clone(),
                match kind {
                    JoinKind::Inner | JoinKind::Cross if take_right => r,
                    JoinKind::Inner | JoinKind::Left | JoinKind::Cross => l,
                    JoinKind::Right => r,
                    JoinKind::Full => Expr::new(ExprKind::Coalesce(vec![l, r]), common, -1),
                },
            ));
        }
        let rest =
            |columns: Vec<(String, Expr)>| columns.into_iter().filter(|(n, _)| !using.contains(n)).collect::<Vec<_>>();
        let mut columns = merged.clone();
        columns.extend(rest(left_columns));
        columns.extend(rest(right_columns));

        let mut namespace: Vec<NamespaceItem> = left_ns.into_iter().chain(right_ns).collect();
        let on = match &j.quals {
            Some(quals) => {
                // ON sees both sides (and outer queries), nothing before them in FROM
                let level = self.level();
                let mark = level.namespace.len();
                level.namespace.extend(namespace.iter().cloned());
                let on = self.in_clause(Clause::JoinOn, |a| a.expr(quals));
                self.level().namespace.truncate(mark);
                Some(self.coerce_boolean(on?, "JOIN/ON")?)
            }
            None => conditions.into_iter().reduce(|a, b| Expr::new(ExprKind::And(vec![a, b]), oid::BOOL, -1)),
        };
        let cross = on.is_none() && kind == JoinKind::Inner;

        let join_alias = j.alias.as_ref();
        let mut own_entry = None;
        if self.storing {
            own_entry = Some(self.join_entry(join_alias, &mut columns, &mut merged)?);
        }
        if let Some(alias) = &j.join_using_alias {
            if namespace.iter().any(|i| i.table_visible && i.alias == alias.aliasname) {
                return Err(PgError::new(
                    SqlState::DUPLICATE_ALIAS,
                    format!("table name \"{}\" specified more than once", alias.aliasname),
                ));
            }
            namespace.push(NamespaceItem {
                alias: alias.aliasname.clone(),
                qualified: None,
                rte: None,
                columns: merged,
                table_visible: true,
                columns_visible: false,
                lateral_only: false,
                lateral_ok: true,
            });
        }
        if let Some(alias) = join_alias {
            let names = name_parts(&alias.colnames);
            if names.len() > columns.len() {
                return Err(PgError::new(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    format!(
                        "join expression \"{}\" has {} columns available but {} columns specified",
                        alias.aliasname,
                        columns.len(),
                        names.len()
                    ),
                ));
            }
            for (column, name) in columns.iter_mut().zip(names) {
                column.0 = name.to_string();
            }
            // an alias hides the sides
            namespace.clear();
        }
        for item in &mut namespace {
            item.columns_visible = false;
        }
        namespace.push(NamespaceItem {
            alias: join_alias.map_or(String::new(), |a| a.aliasname.clone()),
            qualified: None,
            rte: None,
            columns,
            table_visible: join_alias.is_some(),
            columns_visible: true,
            lateral_only: false,
            lateral_ok: true,
        });
        let item = FromItem::Join {
            kind: if cross { JoinKind::Cross } else { kind },
            left: Box::new(left),
            right: Box::new(right),
            on,
            using,
            using_alias: j.join_using_alias.as_ref().map(|a| a.aliasname.clone()),
            entry: own_entry,
        };
        Ok((item, namespace))
    }

    /// The entry of a join in a tree that is printed. Its columns stand for those of its sides where it has an alias, and where a merged
    /// column is neither side's.
    fn join_entry(
        &mut self,
        alias: Option<&ast::Alias>,
        columns: &mut [(String, Expr)],
        merged: &mut [(String, Expr)],
    ) -> Result<usize> {
        let name = alias.map_or(String::new(), |a| a.aliasname.clone());
        let made =
            |(name, e): &(String, Expr)| RteColumn { collation: e.collation, ..plain_column(name, e.ty, e.typmod) };
        let mut own: Vec<RteColumn> = columns.iter().map(made).collect();
        rename_columns(&mut own, alias, &name)?;
        let kind = RteKind::Join { columns: columns.iter().map(|(_, e)| e.clone()).collect() };
        let level = self.level();
        level.range_table.push(entry(kind, name, alias.is_some(), own.clone()));
        let index = level.range_table.len() - 1;
        for (i, (_, e)) in columns.iter_mut().enumerate() {
            if alias.is_some() || !matches!(e.kind, ExprKind::Var(_)) {
                *e = var(0, index, i, &own[i], -1);
                if let Some(merged) = merged.get_mut(i) {
                    merged.1 = e.clone();
                }
            }
        }
        Ok(index)
    }
}

pub(super) fn is_null(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Const(pgsqlite_types::Datum::Null))
}
