//! Walks over typed expressions.

use crate::typed::{
    Aggregate, AssignPart, Distinct, Expr, ExprKind, FrameBound, FromItem, InsertSource, MergeAction, Modify,
    ModifyAction, Query, QueryBody, RangeTableEntry, RteKind, SubLinkKind, TableFunction,
};
use std::cell::RefCell;

/// Calls `f` on the direct children of an expression (not on sub-queries; `on_query` gets those).
pub(crate) fn children<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr), on_query: &mut dyn FnMut(&'e Query)) {
    match &expr.kind {
        ExprKind::Const(_)
        | ExprKind::Param(_)
        | ExprKind::Var(_)
        | ExprKind::WholeRow { .. }
        | ExprKind::Grouping(_)
        | ExprKind::Default
        | ExprKind::NextRow(_)
        | ExprKind::RowNumbered { .. }
        | ExprKind::DomainValue => {}
        ExprKind::Func { args, .. }
        | ExprKind::SetFunc { args, .. }
        | ExprKind::Op { args, .. }
        | ExprKind::SqlJson { args, .. } => args.iter().for_each(f),
        ExprKind::Cast { arg, .. }
        | ExprKind::Not(arg)
        | ExprKind::IsNull { arg, .. }
        | ExprKind::BoolTest { arg, .. }
        | ExprKind::CurrentOf { table: arg, .. }
        | ExprKind::Field { arg, .. } => f(arg),
        ExprKind::And(list)
        | ExprKind::Or(list)
        | ExprKind::Coalesce(list)
        | ExprKind::Greatest(list)
        | ExprKind::Least(list)
        | ExprKind::Array(list)
        | ExprKind::Row(list) => list.iter().for_each(f),
        ExprKind::Distinct { left, right, .. } | ExprKind::NullIf { left, right, .. } => {
            f(left);
            f(right);
        }
        ExprKind::InList { left, list, .. } => {
            f(left);
            list.iter().for_each(f);
        }
        ExprKind::ArrayCompare { left, array, .. } => {
            f(left);
            f(array);
        }
        ExprKind::Case { whens, otherwise } => {
            for (when, then) in whens {
                f(when);
                f(then);
            }
            if let Some(e) = otherwise {
                f(e);
            }
        }
        ExprKind::Aggregate(call) => aggregate_children(call, f),
        ExprKind::Window { call, .. } => aggregate_children(call, f),
        ExprKind::SubLink { kind, query } => {
            match kind {
                SubLinkKind::Quantified { tests, .. } | SubLinkKind::RowCompare { tests, .. } => {
                    tests.iter().for_each(f)
                }
                SubLinkKind::Scalar | SubLinkKind::Exists | SubLinkKind::Array => {}
            }
            on_query(query);
        }
        ExprKind::Subscript { arg, subscripts, .. } => {
            f(arg);
            for (lower, upper) in subscripts {
                lower.iter().for_each(&mut *f);
                upper.iter().for_each(&mut *f);
            }
        }
        ExprKind::JsonSubscript { arg, subscripts } => {
            f(arg);
            subscripts.iter().for_each(f);
        }
        ExprKind::RowCompare { left, right, .. } => left.iter().chain(right).for_each(f),
        ExprKind::Assign { base, part, value } => {
            f(base);
            match part {
                AssignPart::Field { .. } => {}
                AssignPart::Element(list) | AssignPart::Json(list) => list.iter().for_each(&mut *f),
                AssignPart::Slice(bounds) => {
                    for (lower, upper) in bounds {
                        lower.iter().for_each(&mut *f);
                        upper.iter().for_each(&mut *f);
                    }
                }
            }
            f(value);
        }
    }
}

fn aggregate_children<'e>(call: &'e Aggregate, f: &mut dyn FnMut(&'e Expr)) {
    call.direct.iter().chain(&call.args).for_each(&mut *f);
    call.order_by.iter().for_each(|k| f(&k.expr));
    call.filter.iter().for_each(f);
}

/// Whether `test` holds for the expression or one below it (sub-queries are not entered).
pub fn any(expr: &Expr, test: &dyn Fn(&Expr) -> bool) -> bool {
    if test(expr) {
        return true;
    }
    let mut found = false;
    children(expr, &mut |e| found = found || any(e, test), &mut |_| {});
    found
}

/// The first expression (outermost, in order) whose kind passes the test.
pub(crate) fn find(exprs: &[Expr], test: fn(&ExprKind) -> bool) -> Option<&Expr> {
    for expr in exprs {
        if test(&expr.kind) {
            return Some(expr);
        }
        let mut inner: Vec<&Expr> = Vec::new();
        children(expr, &mut |e| inner.push(e), &mut |_| {});
        for e in inner {
            if let Some(found) = find(std::slice::from_ref(e), test) {
                return Some(found);
            }
        }
    }
    None
}

pub(crate) fn contains_window(expr: &Expr) -> bool {
    any(expr, &|e| matches!(e.kind, ExprKind::Window { .. }))
}

pub(crate) fn contains_set_function(expr: &Expr) -> bool {
    any(expr, &|e| matches!(e.kind, ExprKind::SetFunc { .. }))
}

pub(crate) fn contains_aggregate(expr: &Expr) -> bool {
    any(expr, &|e| matches!(e.kind, ExprKind::Aggregate(_)))
}

/// Whether a query is a SELECT of FROM and WHERE alone: each row of FROM that WHERE lets through is one of its rows, whatever it shows of it.
pub(crate) fn is_plain(query: &Query) -> bool {
    let QueryBody::Select(select) = &query.body else { return false };
    let counts =
        query.limit.is_some() || query.offset.is_some() || !query.order_by.is_empty() || !query.ctes.is_empty();
    let computes = select.grouped || !select.windows.is_empty() || select.distinct != Distinct::No;
    !counts && !computes && !select.targets.iter().any(|t| contains_set_function(&t.expr))
}

/// Calls `f(levels_up relative to the start, expr)` on every expression of a query, sub-queries included.
/// `depth` is 0 for expressions of this query's own level.
pub(crate) fn query_exprs(query: &Query, depth: usize, f: &mut dyn FnMut(usize, &Expr)) {
    for cte in &query.ctes {
        if let crate::typed::CteBody::Query(q) = &cte.body {
            query_exprs(q, depth + 1, f);
        }
    }
    entry_exprs(&query.range_table, depth, f);
    match &query.body {
        QueryBody::Select(select) => {
            select.from.iter().for_each(|item| from_exprs(item, depth, f));
            select.targets.iter().for_each(|t| deep(&t.expr, depth, f));
            select.filter.iter().chain(&select.having).for_each(|e| deep(e, depth, f));
            select.group_by.iter().for_each(|e| deep(e, depth, f));
            for window in &select.windows {
                window.partition_by.iter().for_each(|e| deep(e, depth, f));
                window.order_by.iter().for_each(|k| deep(&k.expr, depth, f));
                for bound in window.frame.iter().flat_map(|frame| [&frame.start, &frame.end]) {
                    if let FrameBound::Preceding(offset) | FrameBound::Following(offset) = bound {
                        deep(offset, depth, f);
                    }
                }
            }
            if let Distinct::On(list) = &select.distinct {
                list.iter().for_each(|e| deep(e, depth, f));
            }
        }
        QueryBody::SetOperation { left, right, .. } => {
            query_exprs(left, depth + 1, f);
            query_exprs(right, depth + 1, f);
        }
        QueryBody::Values(rows) => rows.iter().flatten().for_each(|e| deep(e, depth, f)),
    }
    query.order_by.iter().for_each(|k| deep(&k.expr, depth, f));
    query.limit.iter().chain(&query.offset).for_each(|e| deep(e, depth, f));
}

/// The expressions of a range table's entries, as of [`query_exprs`].
pub(crate) fn entry_exprs(entries: &[RangeTableEntry], depth: usize, f: &mut dyn FnMut(usize, &Expr)) {
    for rte in entries {
        if let Some(sample) = &rte.sample {
            deep(&sample.percent, depth, f);
            sample.seed.iter().for_each(|seed| deep(seed, depth, f));
        }
        match &rte.kind {
            RteKind::Subquery { query, .. } => query_exprs(query, depth + 1, f),
            RteKind::Function { functions, .. } => {
                functions.iter().for_each(|TableFunction { call, .. }| deep(call, depth, f));
            }
            RteKind::Values { rows, .. } => rows.iter().flatten().for_each(|e| deep(e, depth, f)),
            RteKind::Join { columns } => columns.iter().for_each(|e| deep(e, depth, f)),
            RteKind::Relation(_) | RteKind::Cte { .. } | RteKind::Returned => {}
        }
    }
}

/// Calls `f` on the entries of a query's FROM, those of its sub-queries included.
pub(crate) fn entries(query: &Query, f: &mut dyn FnMut(&RangeTableEntry)) {
    /// Those of the queries that are not within an expression.
    fn outside_expressions(query: &Query, f: &mut dyn FnMut(&RangeTableEntry)) {
        for cte in &query.ctes {
            if let crate::typed::CteBody::Query(q) = &cte.body {
                outside_expressions(q, f);
            }
        }
        for entry in &query.range_table {
            f(entry);
            if let RteKind::Subquery { query, .. } = &entry.kind {
                outside_expressions(query, f);
            }
        }
        if let QueryBody::SetOperation { left, right, .. } = &query.body {
            outside_expressions(left, f);
            outside_expressions(right, f);
        }
    }
    outside_expressions(query, f);
    query_exprs(query, 0, &mut |_, e| {
        if let ExprKind::SubLink { query, .. } = &e.kind {
            outside_expressions(query, f);
        }
    });
}

fn from_exprs(item: &FromItem, depth: usize, f: &mut dyn FnMut(usize, &Expr)) {
    if let FromItem::Join { left, right, on, .. } = item {
        from_exprs(left, depth, f);
        from_exprs(right, depth, f);
        on.iter().for_each(|e| deep(e, depth, f));
    }
}

/// `f` on the expression, those below it, and those of its sub-queries (one level deeper).
pub fn deep(expr: &Expr, depth: usize, f: &mut dyn FnMut(usize, &Expr)) {
    f(depth, expr);
    // (both callbacks go on with `f`, one at a time)
    let f = RefCell::new(f);
    children(expr, &mut |e| deep(e, depth, *f.borrow_mut()), &mut |q| query_exprs(q, depth + 1, *f.borrow_mut()));
}

/// As [`query_exprs`], mutable.
pub(crate) fn query_exprs_mut(query: &mut Query, depth: usize, f: &mut dyn FnMut(usize, &mut Expr)) {
    for cte in &mut query.ctes {
        if let crate::typed::CteBody::Query(q) = &mut cte.body {
            query_exprs_mut(q, depth + 1, f);
        }
    }
    entry_exprs_mut(&mut query.range_table, depth, f);
    match &mut query.body {
        QueryBody::Select(select) => {
            select.from.iter_mut().for_each(|item| from_exprs_mut(item, depth, f));
            select.targets.iter_mut().for_each(|t| deep_mut(&mut t.expr, depth, f));
            select.filter.iter_mut().chain(&mut select.having).for_each(|e| deep_mut(e, depth, f));
            select.group_by.iter_mut().for_each(|e| deep_mut(e, depth, f));
            for window in &mut select.windows {
                window.partition_by.iter_mut().for_each(|e| deep_mut(e, depth, f));
                window.order_by.iter_mut().for_each(|k| deep_mut(&mut k.expr, depth, f));
                for bound in window.frame.iter_mut().flat_map(|frame| [&mut frame.start, &mut frame.end]) {
                    if let FrameBound::Preceding(offset) | FrameBound::Following(offset) = bound {
                        deep_mut(offset, depth, f);
                    }
                }
            }
            if let Distinct::On(list) = &mut select.distinct {
                list.iter_mut().for_each(|e| deep_mut(e, depth, f));
            }
        }
        QueryBody::SetOperation { left, right, .. } => {
            query_exprs_mut(left, depth + 1, f);
            query_exprs_mut(right, depth + 1, f);
        }
        QueryBody::Values(rows) => rows.iter_mut().flatten().for_each(|e| deep_mut(e, depth, f)),
    }
    query.order_by.iter_mut().for_each(|k| deep_mut(&mut k.expr, depth, f));
    query.limit.iter_mut().chain(&mut query.offset).for_each(|e| deep_mut(e, depth, f));
}

/// As [`entry_exprs`], mutable.
pub(crate) fn entry_exprs_mut(entries: &mut [RangeTableEntry], depth: usize, f: &mut dyn FnMut(usize, &mut Expr)) {
    for rte in entries {
        if let Some(sample) = &mut rte.sample {
            deep_mut(&mut sample.percent, depth, f);
            sample.seed.iter_mut().for_each(|seed| deep_mut(seed, depth, f));
        }
        match &mut rte.kind {
            RteKind::Subquery { query, .. } => query_exprs_mut(query, depth + 1, f),
            RteKind::Function { functions, .. } => {
                functions.iter_mut().for_each(|TableFunction { call, .. }| deep_mut(call, depth, f));
            }
            RteKind::Values { rows, .. } => rows.iter_mut().flatten().for_each(|e| deep_mut(e, depth, f)),
            RteKind::Join { columns } => columns.iter_mut().for_each(|e| deep_mut(e, depth, f)),
            RteKind::Relation(_) | RteKind::Cte { .. } | RteKind::Returned => {}
        }
    }
}

fn from_exprs_mut(item: &mut FromItem, depth: usize, f: &mut dyn FnMut(usize, &mut Expr)) {
    if let FromItem::Join { left, right, on, .. } = item {
        from_exprs_mut(left, depth, f);
        from_exprs_mut(right, depth, f);
        on.iter_mut().for_each(|e| deep_mut(e, depth, f));
    }
}

/// As [`deep`], mutable.
pub(crate) fn deep_mut(expr: &mut Expr, depth: usize, f: &mut dyn FnMut(usize, &mut Expr)) {
    f(depth, expr);
    children_mut(expr, &mut |e| deep_mut(e, depth, f));
    if let ExprKind::SubLink { query, .. } = &mut expr.kind {
        query_exprs_mut(query, depth + 1, f);
    }
}

/// Whether a query names no row around it, so that it has the same rows wherever it is computed. `parameters`: how many the statement has;
/// those beyond stand for values of a row.
pub(crate) fn is_closed(query: &Query, parameters: usize) -> bool {
    let mut closed = true;
    query_exprs(query, 0, &mut |depth, e| {
        closed &= match &e.kind {
            ExprKind::Var(v) => v.levels_up <= depth,
            ExprKind::WholeRow { levels_up, .. } => *levels_up <= depth,
            ExprKind::Aggregate(call) => call.levels_up <= depth,
            ExprKind::Param(n) => *n <= parameters,
            ExprKind::CurrentOf { .. }
            | ExprKind::RowNumbered { .. }
            | ExprKind::Grouping(_)
            | ExprKind::DomainValue
            | ExprKind::NextRow(_) => false,
            _ => true,
        };
    });
    closed
}

/// The lowest query level (0: where the call stands) whose variables an aggregate's arguments use; None: no variables.
pub(crate) fn lowest_level(call: &Aggregate) -> Option<usize> {
    let mut lowest: Option<usize> = None;
    let mut see = |depth: usize, e: &Expr| {
        let up = match &e.kind {
            ExprKind::Var(v) => v.levels_up,
            ExprKind::WholeRow { levels_up, .. } => *levels_up,
            _ => return,
        };
        if let Some(level) = up.checked_sub(depth) {
            lowest = Some(lowest.map_or(level, |l| l.min(level)));
        }
    };
    for arg in call.direct.iter().chain(&call.args).chain(&call.filter) {
        deep(arg, 0, &mut see);
    }
    lowest
}

/// A copy of an expression with `f` applied to every node, outermost first: Some replaces the node (and stops there).
pub(crate) fn map(expr: &Expr, f: &mut dyn FnMut(&Expr) -> Option<Expr>) -> Expr {
    if let Some(new) = f(expr) {
        return new;
    }
    let mut out = expr.clone();
    children_mut(&mut out, &mut |child| {
        let new = map(child, f);
        *child = new;
    });
    out
}

/// As [`children`], mutable; sub-queries are left alone.
pub(crate) fn children_mut(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    match &mut expr.kind {
        ExprKind::Const(_)
        | ExprKind::Param(_)
        | ExprKind::Var(_)
        | ExprKind::WholeRow { .. }
        | ExprKind::Grouping(_)
        | ExprKind::Default
        | ExprKind::NextRow(_)
        | ExprKind::RowNumbered { .. }
        | ExprKind::DomainValue => {}
        ExprKind::Func { args, .. }
        | ExprKind::SetFunc { args, .. }
        | ExprKind::Op { args, .. }
        | ExprKind::SqlJson { args, .. } => args.iter_mut().for_each(f),
        ExprKind::Cast { arg, .. }
        | ExprKind::Not(arg)
        | ExprKind::IsNull { arg, .. }
        | ExprKind::BoolTest { arg, .. }
        | ExprKind::CurrentOf { table: arg, .. }
        | ExprKind::Field { arg, .. } => f(arg),
        ExprKind::And(list)
        | ExprKind::Or(list)
        | ExprKind::Coalesce(list)
        | ExprKind::Greatest(list)
        | ExprKind::Least(list)
        | ExprKind::Array(list)
        | ExprKind::Row(list) => list.iter_mut().for_each(f),
        ExprKind::Distinct { left, right, .. } | ExprKind::NullIf { left, right, .. } => {
            f(left);
            f(right);
        }
        ExprKind::InList { left, list, .. } => {
            f(left);
            list.iter_mut().for_each(f);
        }
        ExprKind::ArrayCompare { left, array, .. } => {
            f(left);
            f(array);
        }
        ExprKind::Case { whens, otherwise } => {
            for (when, then) in whens {
                f(when);
                f(then);
            }
            if let Some(e) = otherwise {
                f(e);
            }
        }
        ExprKind::Aggregate(call) => aggregate_children_mut(call, f),
        ExprKind::Window { call, .. } => aggregate_children_mut(call, f),
        ExprKind::SubLink { kind, .. } => match kind {
            SubLinkKind::Quantified { tests, .. } | SubLinkKind::RowCompare { tests, .. } => {
                tests.iter_mut().for_each(f)
            }
            SubLinkKind::Scalar | SubLinkKind::Exists | SubLinkKind::Array => {}
        },
        ExprKind::Subscript { arg, subscripts, .. } => {
            f(arg);
            for (lower, upper) in subscripts {
                lower.iter_mut().for_each(&mut *f);
                upper.iter_mut().for_each(&mut *f);
            }
        }
        ExprKind::JsonSubscript { arg, subscripts } => {
            f(arg);
            subscripts.iter_mut().for_each(f);
        }
        ExprKind::RowCompare { left, right, .. } => left.iter_mut().chain(right).for_each(f),
        ExprKind::Assign { base, part, value } => {
            f(base);
            match part {
                AssignPart::Field { .. } => {}
                AssignPart::Element(list) | AssignPart::Json(list) => list.iter_mut().for_each(&mut *f),
                AssignPart::Slice(bounds) => {
                    for (lower, upper) in bounds {
                        lower.iter_mut().for_each(&mut *f);
                        upper.iter_mut().for_each(&mut *f);
                    }
                }
            }
            f(value);
        }
    }
}

fn aggregate_children_mut(call: &mut Aggregate, f: &mut dyn FnMut(&mut Expr)) {
    call.direct.iter_mut().chain(&mut call.args).for_each(&mut *f);
    call.order_by.iter_mut().for_each(|k| f(&mut k.expr));
    call.filter.iter_mut().for_each(f);
}

/// Which columns of its one relation an expression uses: indexes among the live columns, each once, as they appear (the order that a
/// CHECK constraint's `conkey` has).
pub fn columns_used(expr: &Expr) -> Vec<usize> {
    let mut used = Vec::new();
    deep(expr, 0, &mut |depth, e| match &e.kind {
        ExprKind::Var(v) if v.levels_up == depth && v.rte == 0 && !used.contains(&v.column) => used.push(v.column),
        _ => {}
    });
    used
}

/// The expressions of a modification itself.
pub(crate) fn modify_exprs_mut(modify: &mut Modify) -> Vec<&mut Expr> {
    fn of_from<'m>(item: &'m mut FromItem, out: &mut Vec<&'m mut Expr>) {
        if let FromItem::Join { left, right, on, .. } = item {
            of_from(left, out);
            of_from(right, out);
            out.extend(on.iter_mut());
        }
    }
    let mut out: Vec<&mut Expr> = Vec::new();
    match &mut modify.action {
        ModifyAction::Insert { source, on_conflict, .. } => {
            match source {
                InsertSource::Values(rows) => out.extend(rows.iter_mut().flatten()),
                InsertSource::Query { values, .. } => out.extend(values.iter_mut()),
            }
            if let Some(conflict) = on_conflict {
                out.extend(conflict.set.iter_mut().flatten().map(|(_, e)| e));
                out.extend(conflict.filter.iter_mut());
                out.extend(conflict.secured.conditions());
            }
        }
        ModifyAction::Update { set, from, filter } => {
            out.extend(set.iter_mut().map(|(_, e)| e));
            from.iter_mut().for_each(|item| of_from(item, &mut out));
            out.extend(filter.iter_mut());
        }
        ModifyAction::Delete { using, filter } => {
            using.iter_mut().for_each(|item| of_from(item, &mut out));
            out.extend(filter.iter_mut());
        }
        ModifyAction::Merge { source, on, whens } => {
            of_from(source, &mut out);
            out.push(on);
            for when in whens {
                out.extend(when.condition.iter_mut());
                out.extend(when.secured.conditions());
                match &mut when.action {
                    MergeAction::Update(set) => out.extend(set.iter_mut().map(|(_, e)| e)),
                    MergeAction::Insert { values, .. } => out.extend(values.iter_mut()),
                    MergeAction::Nothing | MergeAction::Delete => {}
                }
            }
        }
    }
    out.extend(modify.returning.iter_mut().map(|t| &mut t.expr));
    out.extend(modify.checks.iter_mut().map(|c| &mut c.condition));
    out
}
