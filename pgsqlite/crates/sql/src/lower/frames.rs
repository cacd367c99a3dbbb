//! Window frames that SQLite does not have: RANGE over other types than integers, and offsets that are no constants.
//!
//! The rows are computed once (a WITH query), numbered in each window's order: `q` tells the partition, `n` the row, `k` its first peer,
//! `d` its peer group. A call over such a frame is a sub-query over the rows of the frame, chosen by a condition between them and the
//! row at hand.

use super::expr::direction;
use super::stages::Stage;
use super::{support, Lowerer};
use crate::builtins::imp::{imp, Imp};
use crate::typed::{
    Aggregate, Expr, ExprKind, Frame, FrameBound, FrameExclusion, FrameMode, Query, SortKey, Var, Window,
};
use crate::walk;
use pgsqlite_types::{oid, Datum, PgError, Result};

/// The numbered rows of a query level.
pub(super) struct NumberedRows {
    /// the WITH query
    name: String,
    /// the row at hand
    alias: String,
    /// its entry: the parts, then the numbers of each window
    entry: usize,
    /// for the windows that have such a frame: where their numbers begin among the columns (`n`, `k`, `d`, `q`)
    windows: Vec<Option<usize>>,
}

/// What a bound's offset is.
fn offset(bound: &FrameBound) -> Option<&Expr> {
    match bound {
        FrameBound::Preceding(e) | FrameBound::Following(e) => Some(e),
        _ => None,
    }
}

/// The integer that an offset is, if it is a constant.
pub(super) fn constant_integer(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Const(Datum::Int(i)) => Some(*i),
        ExprKind::Cast { arg, .. } if matches!(expr.ty, oid::INT2 | oid::INT4 | oid::INT8) => constant_integer(arg),
        _ => None,
    }
}

/// A window function that disregards the frame.
fn disregards_frame(proc: pgsqlite_types::Oid) -> bool {
    let row_wise = ["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"];
    crate::builtins::catalog::proc_by_oid(proc).is_some_and(|p| p.kind == b'w' && row_wise.contains(&p.name.as_str()))
}

impl Lowerer<'_> {
    /// Whether a frame is to be found by a condition.
    fn needs_condition(&self, window: &Window) -> bool {
        let Some(frame) = &window.frame else { return false };
        let mut offsets = [&frame.start, &frame.end].into_iter().filter_map(offset);
        match (frame.mode, &window.order_by[..]) {
            (FrameMode::Range, [key]) => {
                let ty = self.env.catalog.base_type(key.expr.ty);
                offsets.any(|e| match ty {
                    oid::INT2 | oid::INT4 | oid::INT8 => constant_integer(e).is_none(),
                    _ => self.counted_offset(ty, e).is_none(),
                })
            }
            _ => offsets.any(|e| constant_integer(e).is_none() && !matches!(e.kind, ExprKind::Param(_))),
        }
    }

    /// Puts numbered rows below the stage, which is of this query, if one of its windows needs them.
    pub(super) fn numbered_rows(&mut self, stage: &mut Stage, query: &Query) -> Result<()> {
        let needed: Vec<bool> = stage.select.windows.iter().map(|w| self.needs_condition(w)).collect();
        if !needed.contains(&true) {
            return Ok(());
        }
        if super::query::refers_outwards(query) || !self.scope().takes_ahead {
            return Err(PgError::not_supported(
                "this window frame in a recursive term, or in a sub-query that depends on the query around it",
            ));
        }
        let mut parts: Vec<Expr> = Vec::new();
        for expr in stage.exprs() {
            collect(expr, &needed, &mut parts);
        }
        for window in stage.select.windows.iter().zip(&needed).filter(|(_, needed)| **needed).map(|(w, _)| w) {
            for key in window.partition_by.iter().chain(window.order_by.iter().map(|k| &k.expr)) {
                take(key, &mut parts);
            }
        }
        let mut columns = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            columns.push(format!("{} AS p{}", self.windowed(part, &stage.select)?, i + 1));
        }
        columns.push("1 AS p0".into());
        let rows = format!("SELECT {}{}{}", columns.join(", "), stage.from_where(), stage.group_having);
        let mut names: Vec<String> = (1..=parts.len()).map(|i| format!("p{i}")).collect();
        let mut windows = Vec::new();
        let mut numbers = Vec::new();
        for (i, window) in stage.select.windows.iter().enumerate() {
            if !needed[i] {
                windows.push(None);
                continue;
            }
            let column =
                |e: &Expr| parts.iter().position(|p| p == e).map(|at| format!("p{}{}", at + 1, self.collate_of(e)));
            let partition: Vec<String> = window.partition_by.iter().filter_map(column).collect();
            let order: Vec<String> =
                window.order_by.iter().filter_map(|k| Some(format!("{}{}", column(&k.expr)?, direction(k)))).collect();
            let by = |word: &str, list: &[String]| match list.is_empty() {
                true => String::new(),
                false => format!("{word} BY {} ", list.join(", ")),
            };
            let over = format!("OVER ({}{})", by("PARTITION", &partition), by("ORDER", &order));
            windows.push(Some(names.len()));
            for (letter, function) in [("n", "row_number"), ("k", "rank"), ("d", "dense_rank")] {
                numbers.push(format!("{function}() {over} AS {letter}{i}"));
                names.push(format!("{letter}{i}"));
            }
            let q = match partition.is_empty() {
                true => "1".to_string(),
                false => format!("dense_rank() OVER ({})", by("ORDER", &partition)),
            };
            numbers.push(format!("{q} AS q{i}"));
            names.push(format!("q{i}"));
        }
        let (name, alias) = (self.unique("w"), self.unique("t"));
        self.scope().ahead.push(format!("{name} AS MATERIALIZED (SELECT *, {} FROM ({rows}))", numbers.join(", ")));
        let entry = self.add_entry(names.iter().map(|n| format!("{alias}.{n}")).collect());
        let kept = stage.select.windows.len();
        self.replace_below(stage, &format!("{name} AS {alias}"), &parts, entry);
        debug_assert_eq!(kept, stage.select.windows.len());
        self.scope().numbered = Some(NumberedRows { name, alias, entry, windows });
        Ok(())
    }

    /// A call over numbered rows; None: its window is SQLite's.
    pub(super) fn call_over_rows(
        &mut self,
        call: &Aggregate,
        index: usize,
        window: &Window,
        whole: &Expr,
    ) -> Result<Option<String>> {
        let Some(rows) = &self.scope().numbered else { return Ok(None) };
        let Some(first) = rows.windows.get(index).copied().flatten() else { return Ok(None) };
        let (name, t, entry) = (rows.name.clone(), rows.alias.clone(), rows.entry);
        let proc = self.stands_for(call.proc, whole)?;
        if disregards_frame(proc) {
            let plain = Window { frame: None, ..window.clone() };
            return self.window_call(call, &plain, whole).map(Some);
        }
        let frame = window.frame.as_ref().ok_or_else(|| PgError::internal("a frame that is not there"))?;
        let f = self.unique("f");
        let own = self.scope().entries[entry].clone();
        let of_frame: Vec<String> = own.iter().map(|c| c.replacen(&format!("{t}."), &format!("{f}."), 1)).collect();
        let condition = self.frame_condition(frame, window, index, (&t, &f), entry, &of_frame)?;
        let number = format!("{f}.n{index}");
        // what the call names is of the frame's rows
        let function = crate::builtins::catalog::proc_by_oid(proc).filter(|p| p.kind == b'w').map(|p| p.name.as_str());
        let nth = match (function, &call.args[..]) {
            (Some("nth_value"), [_, n]) => Some(format!("{}({})", support::NTH, self.expr(n)?)),
            _ => None,
        };
        let saved = std::mem::replace(&mut self.scope().entries[entry], of_frame);
        let value = (|| -> Result<String> {
            let from = format!("FROM {name} AS {f} WHERE {condition}");
            let argument = |lowerer: &mut Self| match call.args.first() {
                Some(argument) => lowerer.expr(argument),
                None => Err(PgError::internal("a window function without argument")),
            };
            Ok(match function {
                Some("first_value") => format!("(SELECT {} {from} ORDER BY {number} LIMIT 1)", argument(self)?),
                Some("last_value") => format!("(SELECT {} {from} ORDER BY {number} DESC LIMIT 1)", argument(self)?),
                Some("nth_value") => format!(
                    "(SELECT v FROM (SELECT {} AS v, row_number() OVER (ORDER BY {number}) AS i {from}) WHERE i = {})",
                    argument(self)?,
                    nth.unwrap_or_default()
                ),
                Some(other) => return Err(PgError::internal(format!("{other} over numbered rows"))),
                None => {
                    // in the order of the window
                    let mut call = call.clone();
                    if !matches!(imp(proc), Some(Imp::InlineAggregate(_))) {
                        let place = Var { levels_up: 0, rte: entry, column: first };
                        let expr = Expr::new(ExprKind::Var(place), oid::INT8, -1);
                        call.order_by = vec![SortKey { expr, descending: false, nulls_first: false, target: None }];
                    }
                    format!("(SELECT {} {from})", self.aggregate(&call, whole)?)
                }
            })
        })();
        self.scope().entries[entry] = saved;
        value.map(Some)
    }

    /// Which rows `f` are in the frame of row `t`.
    fn frame_condition(
        &mut self,
        frame: &Frame,
        window: &Window,
        i: usize,
        (t, f): (&str, &str),
        entry: usize,
        of_frame: &[String],
    ) -> Result<String> {
        let mut all = vec![format!("{f}.q{i} = {t}.q{i}")];
        for (bound, is_end) in [(&frame.start, false), (&frame.end, true)] {
            let sign = if is_end { "<=" } else { ">=" };
            let letter = match frame.mode {
                FrameMode::Rows => "n",
                FrameMode::Groups => "d",
                FrameMode::Range => "k",
            };
            let Some(offset) = offset(bound) else {
                if matches!(bound, FrameBound::CurrentRow) {
                    all.push(format!("{f}.{letter}{i} {sign} {t}.{letter}{i}"));
                }
                continue;
            };
            let preceding = matches!(bound, FrameBound::Preceding(_));
            let counts = frame.mode != FrameMode::Range;
            let text = self.expr(offset)?;
            let text = format!("{}({text}, {}, {})", support::FRAME_OFFSET, is_end as i32, counts as i32);
            if counts {
                let operator = if preceding { '-' } else { '+' };
                all.push(format!("{f}.{letter}{i} {sign} {t}.{letter}{i} {operator} {text}"));
                continue;
            }
            let [key] = &window.order_by[..] else { return Err(PgError::internal("RANGE without its one key")) };
            let of_t = self.expr(&key.expr)?;
            let saved = std::mem::replace(&mut self.scope().entries[entry], of_frame.to_vec());
            let of_f = self.expr(&key.expr);
            self.scope().entries[entry] = saved;
            let of_f = of_f?;
            // where one of the two is NULL, the order of the rows alone decides
            let by_order = match (key.nulls_first, is_end) {
                (true, false) => format!("{of_f} IS NOT NULL OR {of_t} IS NULL"),
                (false, false) => format!("{of_f} IS NULL OR {of_t} IS NOT NULL"),
                (true, true) => format!("{of_f} IS NULL OR {of_t} IS NOT NULL"),
                (false, true) => format!("{of_f} IS NOT NULL OR {of_t} IS NULL"),
            };
            let ty = self.env.catalog.base_type(key.expr.ty);
            all.push(format!(
                "CASE WHEN {of_f} IS NULL OR {of_t} IS NULL THEN {by_order} ELSE {}({ty}, {of_f}, {of_t}, {text}, {}, {}) END",
                support::IN_RANGE,
                (preceding != key.descending) as i32,
                (is_end != key.descending) as i32
            ));
        }
        match frame.exclusion {
            FrameExclusion::NoOthers => {}
            FrameExclusion::CurrentRow => all.push(format!("{f}.n{i} <> {t}.n{i}")),
            FrameExclusion::Group => all.push(format!("{f}.k{i} <> {t}.k{i}")),
            FrameExclusion::Ties => all.push(format!("({f}.k{i} <> {t}.k{i} OR {f}.n{i} = {t}.n{i})")),
        }
        Ok(all.join(" AND "))
    }
}

fn take(expr: &Expr, parts: &mut Vec<Expr>) {
    if !matches!(expr.kind, ExprKind::Const(_) | ExprKind::Param(_)) && !parts.contains(expr) {
        parts.push(expr.clone());
    }
}

/// What is computed below: the arguments of calls over such frames, and all the rest that holds none of them.
fn collect(expr: &Expr, needed: &[bool], parts: &mut Vec<Expr>) {
    let above = |e: &Expr| matches!(&e.kind, ExprKind::Window { window, .. } if needed[*window]);
    if let ExprKind::Window { call, .. } = &expr.kind {
        if above(expr) {
            call.args.iter().chain(&call.filter).for_each(|e| take(e, parts));
            return;
        }
    }
    if !walk::any(expr, &above) {
        return take(expr, parts);
    }
    let mut children = Vec::new();
    walk::children(expr, &mut |e| children.push(e), &mut |_| {});
    children.into_iter().for_each(|e| collect(e, needed, parts));
}
