//! Aggregates.

use super::expr::fill;
use super::{support, Lowerer};
use crate::builtins::catalog as builtin;
use crate::builtins::imp::{imp, native_name, Imp};
use crate::catalog::KeyPart;
use crate::typed::{Aggregate, Expr, ExprKind, SortKey};
use pgsqlite_types::{oid, Oid, PgError, Result};

impl Lowerer<'_> {
    pub(super) fn aggregate(&mut self, call: &Aggregate, whole: &Expr) -> Result<String> {
        let filter = match &call.filter {
            Some(filter) => format!(" FILTER (WHERE {})", self.condition(filter)?),
            None => String::new(),
        };
        if self.env.catalog.function(call.proc).is_some() && self.stands_for(call.proc, whole)? == call.proc {
            return self.user_aggregate(call, whole, b'f', &filter);
        }
        if let Some(text) = self.last_extreme(call)? {
            return Ok(text + &filter);
        }
        Ok(self.aggregate_core(call, whole)? + &filter)
    }

    /// `min` or `max` of a type whose equal values may be written in different ways (1.0 and 1.00): PostgreSQL gives the last of them,
    /// SQLite the first, unless a collation makes later values better. None: it makes no difference, or an index has the value, which
    /// both take from there.
    pub(super) fn last_extreme(&mut self, call: &Aggregate) -> Result<Option<String>> {
        // (DISTINCT changes nothing)
        let [arg] = &call.args[..] else { return Ok(None) };
        let name = match imp(call.proc) {
            Some(Imp::InlineAggregate("min($1)")) => "min",
            Some(Imp::InlineAggregate("max($1)")) => "max",
            _ => return Ok(None),
        };
        let collation = match self.collation_of(arg) {
            Some(collation) if collation == "decimal" && arg.typmod < 0 || collation == "pg_interval" => collation,
            _ => return Ok(None),
        };
        if !call.order_by.is_empty() || self.is_indexed(arg) {
            return Ok(None);
        }
        Ok(Some(format!("{name}({} COLLATE {collation}_{name})", self.expr(arg)?)))
    }

    /// Whether an index of the one table that is read begins with the column.
    fn is_indexed(&mut self, column: &Expr) -> bool {
        let ExprKind::Var(v) = &column.kind else { return false };
        let Some((table, columns)) = &self.scope().whole_table else { return false };
        let (table, Some(attnum)) = (*table, columns.get(v.column).copied()) else { return false };
        let begins = |part: &KeyPart| matches!(part, KeyPart::Column(a) if *a == attnum);
        self.env.catalog.indexes_of(table).any(|(_, i)| i.columns.first().is_some_and(|c| begins(&c.key)))
    }

    /// The function that carries out an aggregate or window function of the user: one of PostgreSQL's, or itself.
    pub(super) fn stands_for(&self, proc: Oid, whole: &Expr) -> Result<Oid> {
        let Some(function) = self.env.catalog.function(proc) else { return Ok(proc) };
        match &function.aggregate {
            // a state that only PostgreSQL's own functions know
            Some(aggregate) if aggregate.plain.state == oid::INTERNAL => {
                builtin::aggregate_like(aggregate).map(|a| a.proc).filter(|a| imp(*a).is_some()).ok_or_else(|| {
                    let what = format!("the aggregate {}, whose state is internal", function.name);
                    PgError::not_supported(what).at(whole.location)
                })
            }
            Some(_) => Ok(proc),
            None => self.internal(proc, whole.location),
        }
    }

    /// An aggregate that calls functions for its state. `frame`: how its rows come and go, see [`support::AGGREGATE`].
    /// SQLite does not say of which aggregate a group without rows is, so that is asked first; `after`: FILTER and OVER.
    pub(super) fn user_aggregate(&mut self, call: &Aggregate, whole: &Expr, frame: u8, after: &str) -> Result<String> {
        self.uses_catalog = true;
        if !self.routines.contains(&call.proc) {
            self.routines.push(call.proc);
        }
        self.named.reads_more = true;
        let all: Vec<Expr> = call.direct.iter().chain(&call.args).cloned().collect();
        let types = self.type_list(&all, call.variadic, whole.ty);
        let what = format!("'{}:{}:{}:{}", call.proc, frame as char, call.direct.len(), &types[1..]);
        let direct = self.exprs(&call.direct)?;
        let mut of_none = vec![what.clone()];
        of_none.extend(direct);
        let mut texts = vec![];
        if call.distinct {
            texts.push(types);
        }
        texts.push(what);
        for arg in &all {
            texts.push(self.value_arg(arg)?);
        }
        let mut keys = if call.direct.is_empty() { call.order_by.clone() } else { vec![] };
        let mut name = support::AGGREGATE.to_string();
        if call.distinct {
            name += support::DISTINCT_SUFFIX;
            for arg in &call.args {
                if !keys.iter().any(|k| k.expr == *arg) {
                    keys.push(SortKey { expr: arg.clone(), descending: false, nulls_first: false, target: None });
                }
            }
        }
        let order = if keys.is_empty() { String::new() } else { format!(" ORDER BY {}", self.sort_keys(&keys)?) };
        Ok(format!(
            "CASE WHEN count(*){after} = 0 THEN {}({}) ELSE {name}({}{order}){after} END",
            support::AGGREGATE_NONE,
            of_none.join(", "),
            texts.join(", ")
        ))
    }

    /// `name([DISTINCT] args [ORDER BY …])`
    pub(super) fn aggregate_core(&mut self, call: &Aggregate, whole: &Expr) -> Result<String> {
        let proc = self.stands_for(call.proc, whole)?;
        let how = imp(proc).ok_or_else(|| PgError::internal("an aggregate without implementation"))?;
        let order = if call.order_by.is_empty() {
            String::new()
        } else {
            format!(" ORDER BY {}", self.sort_keys(&call.order_by)?)
        };
        let distinct = if call.distinct { "DISTINCT " } else { "" };
        match how {
            Imp::InlineAggregate(template) => {
                if call.star {
                    return Ok("count(*)".into());
                }
                let mut texts = Vec::new();
                for arg in &call.args {
                    texts.push(self.collated(arg)?);
                }
                let filled = fill(template, &texts)?;
                if distinct.is_empty() && order.is_empty() {
                    return Ok(filled);
                }
                // the template is `name(args)`
                let (name, rest) =
                    filled.split_once('(').ok_or_else(|| PgError::internal("an aggregate template without a call"))?;
                let args = rest
                    .strip_suffix(')')
                    .ok_or_else(|| PgError::internal("an aggregate template that is no plain call"))?;
                if call.distinct && call.args.len() != 1 {
                    return Err(
                        PgError::not_supported("DISTINCT in an aggregate of several arguments").at(whole.location)
                    );
                }
                Ok(format!("{name}({distinct}{args}{order})"))
            }
            Imp::NativeAggregate { typed } => {
                if let Some(text) = self.decimal_aggregate(proc, call)? {
                    return Ok(text);
                }
                let mut texts = Vec::new();
                let all: Vec<Expr> = call.direct.iter().chain(&call.args).cloned().collect();
                if call.distinct {
                    texts.push(self.type_list(&all, false, whole.ty));
                }
                if typed {
                    let mut types = self.type_list(&all, call.variadic, whole.ty);
                    if !call.direct.is_empty() {
                        let keys = call.order_by.iter().map(|k| match (k.descending, k.nulls_first) {
                            (false, false) => "al",
                            (false, true) => "af",
                            (true, false) => "dl",
                            (true, true) => "df",
                        });
                        types.insert_str(types.len() - 1, &format!(";{}", keys.collect::<Vec<_>>().join(",")));
                    }
                    texts.push(types);
                }
                for arg in &all {
                    texts.push(self.value_arg(arg)?);
                }
                if !call.distinct {
                    return Ok(format!("{}({}{order})", native_name(proc), texts.join(", ")));
                }
                // Sorted by all arguments, equal rows are neighbours; PostgreSQL's result is in that order, too.
                let mut keys = call.order_by.clone();
                for arg in &call.args {
                    if !keys.iter().any(|k| k.expr == *arg) {
                        keys.push(SortKey { expr: arg.clone(), descending: false, nulls_first: false, target: None });
                    }
                }
                let order = self.sort_keys(&keys)?;
                let (name, suffix) = (native_name(proc), support::DISTINCT_SUFFIX);
                Ok(format!("{name}{suffix}({} ORDER BY {order})", texts.join(", ")))
            }
            other => Err(PgError::internal(format!("{other:?} is not an aggregate"))),
        }
    }
}
