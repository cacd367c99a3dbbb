//! Conditions of WHERE and ON in the form that SQLite finds an index or a join for.
//!
//! * What all arms of an OR have in common is asked once, beside the OR.
//! * An OR whose every arm asks something of the same table alone implies the OR of that: the table's rows are chosen before the join.
//! * A value that depends on settings but not on the row (`now() - interval '7 days'`) becomes a sub-query, which SQLite computes
//!   once, when it is asked for first. (It computes immutable functions of constants once by itself.)
//! * In a join, SQLite is told how many rows a comparison with a value lets through, where ANALYZE has seen the column: SQLite's own
//!   statistics are of indexes alone.
//!
//! * In a query that needs all rows it finds, the bounds of a column that let through every fourteenth row or more use no index.
//!
//! PostgreSQL's planner does the same with conditions; what is volatile or may fail stays where it was written.

use super::Lowerer;
use crate::builtins::catalog as builtin;
use crate::builtins::imp::{imp, Imp};
use crate::catalog::{ColumnStatistics, IndexColumn, KeyPart};
use crate::typed::{CastMethod, Distinct, Expr, ExprKind, Query, QueryBody, RteKind, Var};
use crate::volatility;
use crate::walk;
use pgsqlite_types::datetime::{Date, Interval, Timestamp};
use pgsqlite_types::{oid, Datum, Oid, Result};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;

/// A table of so many rows is large: what is done with all of them takes longer than finding out how.
pub(super) const LARGE: i64 = 10_000;

/// The operands of AND, or the expression by itself.
pub(super) fn conjuncts(e: &Expr) -> &[Expr] {
    match &e.kind {
        ExprKind::And(list) if !list.is_empty() => list,
        _ => std::slice::from_ref(e),
    }
}

/// The conditions that AND joins in WHERE: those that cannot fail, then the others, each as they were written. PostgreSQL's planner asks what takes
/// less time first, which mostly comes to the same. A function that could show what it is asked of never comes before a condition that was written
/// before it, such as that of a policy.
fn in_order(filter: &Expr, cannot_fail: impl Fn(&Expr) -> bool) -> Vec<Expr> {
    fn flatten(e: &Expr, out: &mut Vec<Expr>) {
        match &e.kind {
            ExprKind::And(list) if !list.is_empty() => list.iter().for_each(|e| flatten(e, out)),
            ExprKind::Not(arg) => match &arg.kind {
                ExprKind::Or(list) if !list.is_empty() => {
                    let negated = |e: &Expr| Expr { kind: ExprKind::Not(Box::new(e.clone())), ..(**arg).clone() };
                    list.iter().for_each(|e| flatten(&negated(e), out));
                }
                _ => out.push(e.clone()),
            },
            _ => out.push(e.clone()),
        }
    }
    let mut list = Vec::new();
    flatten(filter, &mut list);
    let (mut first, rest): (Vec<Expr>, Vec<Expr>) = list.into_iter().partition(|e| cannot_fail(e));
    first.extend(rest);
    first
}

/// The conditions joined by AND or OR. `list` is not empty.
pub(super) fn joined(mut list: Vec<Expr>, location: i32, kind: fn(Vec<Expr>) -> ExprKind) -> Expr {
    match list.len() {
        1 => list.remove(0),
        _ => Expr { location, ..Expr::new(kind(list), oid::BOOL, -1) },
    }
}

/// Whether a condition can be asked of any row without an error: comparisons by SQLite's own operators, and functions that PostgreSQL declares
/// LEAKPROOF, which raise none whatever they are asked of. What guards another condition (`k <> 0 AND 10 / k > 4`) stays before it.
pub(super) fn cannot_fail(condition: &Expr) -> bool {
    !walk::any(condition, &may_fail)
}

/// Whether a condition may fail because of what a row has: values that no row decides fail everywhere or nowhere.
fn fails_by_row(condition: &Expr) -> bool {
    let of_row = |e: &Expr| {
        matches!(
            e.kind,
            ExprKind::Var(_) | ExprKind::WholeRow { .. } | ExprKind::SubLink { .. } | ExprKind::Aggregate(_)
        )
    };
    walk::any(condition, &|e| may_fail(e) && walk::any(e, &of_row))
}

/// Whether an expression may raise an error by itself, as [`cannot_fail`].
fn may_fail(e: &Expr) -> bool {
    let leakproof = |proc: Oid| builtin::proc_by_oid(proc).is_some_and(|p| p.leakproof);
    let compares = |proc: Oid| matches!(imp(proc), Some(Imp::Inline(_))) || leakproof(proc);
    match &e.kind {
        ExprKind::Const(_)
        | ExprKind::Param(_)
        | ExprKind::Var(_)
        | ExprKind::RowNumbered { .. }
        | ExprKind::DomainValue => false,
        ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Not(_) | ExprKind::IsNull { .. } | ExprKind::BoolTest { .. } => {
            false
        }
        ExprKind::Case { .. } | ExprKind::Coalesce(_) | ExprKind::Array(_) | ExprKind::Row(_) => false,
        ExprKind::Cast { method: CastMethod::Relabel, .. } => false,
        ExprKind::Cast { method: CastMethod::Function(proc), .. } | ExprKind::Func { proc, .. } => !leakproof(*proc),
        ExprKind::Op { op, .. }
        | ExprKind::InList { op, .. }
        | ExprKind::ArrayCompare { op, .. }
        | ExprKind::NullIf { op, .. }
        | ExprKind::Distinct { op, .. } => !compares(op.proc),
        ExprKind::RowCompare { operators, .. } => !operators.iter().all(|op| compares(op.proc)),
        _ => true,
    }
}

/// Whether a condition can be asked of any row of the query without an error, as [`cannot_fail`]: SQLite puts what a column of a sub-query is
/// computed by in the column's place.
fn cannot_fail_in(query: &Query, condition: &Expr) -> bool {
    /// So many columns are looked into: each may be computed of several others, and these again.
    const LOOKS: usize = 200;
    cannot_fail_within(query, condition, &Cell::new(LOOKS))
}

fn cannot_fail_within(query: &Query, condition: &Expr, looks: &Cell<usize>) -> bool {
    let computed = |e: &Expr| {
        let ExprKind::Var(v) = &e.kind else { return false };
        let Some(kind) = query.range_table.get(v.rte).map(|entry| &entry.kind).filter(|_| v.levels_up == 0) else {
            return false;
        };
        let (of, expr) = match kind {
            RteKind::Subquery { query: inner, .. } if !takes_conditions_in(kind) => match &inner.body {
                QueryBody::Select(select) => (&**inner, select.targets.get(v.column).map(|t| &t.expr)),
                _ => return false,
            },
            RteKind::Join { columns } => (query, columns.get(v.column)),
            _ => return false,
        };
        looks.set(looks.get().saturating_sub(1));
        looks.get() == 0 || expr.is_some_and(|e| !cannot_fail_within(of, e, looks))
    };
    cannot_fail(condition) && !walk::any(condition, &computed)
}

/// Whether SQLite may ask conditions within an entry's query, each by itself: then it asks the last one first.
fn takes_conditions_in(kind: &RteKind) -> bool {
    match kind {
        RteKind::Subquery { query, .. } => match &query.body {
            QueryBody::Select(select) => {
                let plain = !select.grouped && select.windows.is_empty() && select.distinct == Distinct::default();
                !plain || query.limit.is_some() || query.offset.is_some()
            }
            _ => true,
        },
        RteKind::Cte { .. } => true,
        _ => false,
    }
}

/// An OR that SQLite may look up arm by arm, each by an index of its own: a row that an earlier arm has found comes again in a later one. What may
/// fail there is not computed for such a row. Arms with sub-queries, and an OR of many, stay as they are: each arm repeats all those before it.
fn with_guarded_arms(condition: &Expr) -> Cow<'_, Expr> {
    const MOST_ARMS: usize = 16;
    let ExprKind::Or(arms) = &condition.kind else { return Cow::Borrowed(condition) };
    let found = |e: &Expr| cannot_fail(e) && walk::any(e, &|e| matches!(e.kind, ExprKind::Var(_)));
    let looked_up = arms.iter().all(|arm| conjuncts(arm).iter().any(found));
    let bounded = arms.len() <= MOST_ARMS && !walk::any(condition, &|e| matches!(e.kind, ExprKind::SubLink { .. }));
    if !looked_up || !bounded || !arms.iter().skip(1).any(fails_by_row) {
        return Cow::Borrowed(condition);
    }
    let mut guarded = condition.clone();
    if let ExprKind::Or(list) = &mut guarded.kind {
        for (i, arm) in list.iter_mut().enumerate().skip(1) {
            let earlier = joined(arms[..i].to_vec(), condition.location, ExprKind::Or);
            if !volatility::is_repeatable(&earlier) {
                break;
            }
            let (fails, mut parts): (Vec<Expr>, Vec<Expr>) = conjuncts(arm).iter().cloned().partition(fails_by_row);
            if fails.is_empty() {
                continue;
            }
            let nothing = Expr::new(ExprKind::Const(Datum::Null), oid::BOOL, -1);
            let fails = joined(fails, arm.location, ExprKind::And);
            let kind = ExprKind::Case { whens: vec![(earlier, nothing)], otherwise: Some(Box::new(fails.clone())) };
            parts.push(Expr { kind, ..fails });
            *arm = joined(parts, arm.location, ExprKind::And);
        }
    }
    Cow::Owned(guarded)
}

/// The entry that a condition is asked of which has to wait for others, where SQLite takes all of them into a sub-query.
fn waits_within(condition: &Expr, query: &Query) -> Option<usize> {
    let entry = only_entry(condition).filter(|_| fails_by_row(condition))?;
    takes_conditions_in(&query.range_table.get(entry)?.kind).then_some(entry)
}

/// The conditions that all arms of an OR share, and the OR of what is left; None: there is nothing, and the OR stays.
fn taken_out(arms: &[Expr]) -> Option<Vec<Expr>> {
    let (first, others) = arms.split_first()?;
    if others.is_empty() {
        return None;
    }
    let mut common: Vec<Expr> = Vec::new();
    for condition in conjuncts(first) {
        if cannot_fail(condition)
            && !common.contains(condition)
            && others.iter().all(|arm| conjuncts(arm).contains(condition))
        {
            common.push(condition.clone());
        }
    }
    if common.is_empty() {
        return None;
    }
    let mut rests = Vec::new();
    for arm in arms {
        let rest: Vec<Expr> = conjuncts(arm).iter().filter(|c| !common.contains(c)).cloned().collect();
        if rest.is_empty() {
            // this arm holds wherever the common conditions do
            return Some(common);
        }
        rests.push(joined(rest, arm.location, ExprKind::And));
    }
    let location = first.location;
    common.push(joined(rests, location, ExprKind::Or));
    Some(common)
}

/// The entry that an expression's columns of its own level are of; None: none, or several.
pub(super) fn only_entry(e: &Expr) -> Option<usize> {
    let (mut entry, mut one) = (None, true);
    walk::deep(e, 0, &mut |depth, e| {
        let seen = match &e.kind {
            ExprKind::Var(v) if v.levels_up == depth => v.rte,
            ExprKind::WholeRow { levels_up, rte, .. } if *levels_up == depth => *rte,
            ExprKind::SubLink { .. } => return one = false,
            _ => return,
        };
        one &= entry.is_none_or(|e| e == seen);
        entry = Some(seen);
    });
    entry.filter(|_| one)
}

/// What ANALYZE has seen of a column of this level.
pub(super) fn statistics<'q>(v: &Var, query: &'q Query) -> Option<&'q ColumnStatistics> {
    let entry = query.range_table.get(v.rte)?;
    let RteKind::Relation(relation) = &entry.kind else { return None };
    let attnum = entry.columns.get(v.column)?.attnum;
    relation.distinct.iter().find(|c| c.attnum == attnum)
}

/// The value of a constant of type date, or of an integer, for an estimate; also of a date and an interval.
fn known(e: &Expr) -> Option<String> {
    match &e.kind {
        ExprKind::Const(Datum::Int(i)) => Some(i.to_string()),
        ExprKind::Const(Datum::Text(text)) => Some(text.clone()),
        ExprKind::Cast { arg, method: CastMethod::Relabel, .. } => known(arg),
        ExprKind::Op { op, args } => {
            let [a, b] = &args[..] else { return None };
            let (start, interval) = (known(a)?, Interval::from_storage(&known(b)?)?);
            let start = match Date::from_storage(&start) {
                Some(date) => date.to_timestamp().ok()?,
                None => Timestamp::from_storage(&start)?,
            };
            let sum = match builtin::proc_by_oid(op.proc)?.src? {
                "date_pl_interval" | "timestamp_pl_interval" => start.add_interval(interval),
                "date_mi_interval" | "timestamp_mi_interval" => start.sub_interval(interval),
                _ => return None,
            };
            Some(sum.ok()?.to_storage())
        }
        _ => None,
    }
}

/// Which part of its rows has a column's value below or above one that is known.
fn share_below(operator: &str, args: &[Expr], query: &Query) -> Option<f64> {
    let [a, b] = args else { return None };
    let (column, value, below) = match (&a.kind, &b.kind) {
        (ExprKind::Var(v), _) => (v, known(b)?, operator.starts_with('<')),
        (_, ExprKind::Var(v)) => (v, known(a)?, operator.starts_with('>')),
        _ => return None,
    };
    if column.levels_up > 0 || !matches!(operator, "<" | "<=" | ">" | ">=") {
        return None;
    }
    let bounds = &statistics(column, query)?.bounds;
    let parts = bounds.len().checked_sub(1).filter(|parts| *parts > 0)? as f64;
    // between two bounds the values are taken to be spread evenly; where those are no numbers, the value is taken to be in the middle
    let number = |text: &String| text.parse::<i64>().ok();
    let (less, within, least) = match number(&value) {
        Some(value) => {
            let less = bounds.iter().filter(|b| number(b).is_some_and(|b| b < value)).count();
            let around =
                less.checked_sub(1).and_then(|i| Some((number(&bounds[i])? as f64, number(bounds.get(less)?)? as f64)));
            (less, around.map_or(0.5, |(from, to)| (value as f64 - from) / (to - from)), 0.002)
        }
        None => (bounds.iter().filter(|b| **b < value).count(), 0.5, 0.2),
    };
    let share = ((less as f64 - 1.0 + within) / parts).clamp(least / parts, 1.0 - least / parts);
    Some(if below { share } else { 1.0 - share })
}

/// The column that a condition bounds by a value, and whether from above.
pub(super) fn ranged<'q>(condition: &Expr, query: &'q Query) -> Option<(&'q ColumnStatistics, bool)> {
    let ExprKind::Op { op, args } = &condition.kind else { return None };
    let name = &builtin::operator_by_oid(op.oid)?.name;
    let [a, b] = &args[..] else { return None };
    let (column, above) = match (&a.kind, &b.kind) {
        (ExprKind::Var(v), _) if known(b).is_some() => (v, name.starts_with('<')),
        (_, ExprKind::Var(v)) if known(a).is_some() => (v, name.starts_with('>')),
        _ => return None,
    };
    let found = matches!(name.as_str(), "<" | "<=" | ">" | ">=") && column.levels_up == 0;
    found.then(|| statistics(column, query)).flatten().map(|s| (s, above))
}

/// Which part of an entry's rows a condition lets through: a comparison of a column with a value, by ANALYZE's estimate of how many
/// different values the column has. None: it is not known.
pub(super) fn share(condition: &Expr, query: &Query) -> Option<f64> {
    let of_column = |column: &Expr, values: &[Expr]| {
        let mut column = column;
        while let ExprKind::Cast { arg, method: CastMethod::Relabel, .. } = &column.kind {
            column = arg;
        }
        let ExprKind::Var(v) = &column.kind else { return None };
        let by_row =
            |e: &Expr| matches!(&e.kind, ExprKind::Var(_) | ExprKind::WholeRow { .. } | ExprKind::SubLink { .. });
        if v.levels_up > 0 || values.iter().any(|value| walk::any(value, &by_row)) {
            return None;
        }
        Some(values.len() as f64 / statistics(v, query)?.distinct.max(1) as f64)
    };
    let share = match &condition.kind {
        ExprKind::Op { op, args }
            if builtin::operator_by_oid(op.oid).is_some_and(|o| o.name.starts_with(['<', '>'])) =>
        {
            share_below(&builtin::operator_by_oid(op.oid)?.name, args, query)
        }
        ExprKind::Op { op, args } if builtin::operator_by_oid(op.oid).is_some_and(|o| o.name == "=") => match &args[..]
        {
            [a, b] => of_column(a, std::slice::from_ref(b)).or_else(|| of_column(b, std::slice::from_ref(a))),
            _ => None,
        },
        ExprKind::InList { left, list, negated: false, .. } => of_column(left, list),
        ExprKind::Or(arms) => arms.iter().map(|arm| share(arm, query)).sum(),
        ExprKind::And(list) => {
            let known: Vec<f64> = list.iter().filter_map(|c| share(c, query)).collect();
            (!known.is_empty()).then(|| known.iter().product())
        }
        ExprKind::Cast { arg, method: CastMethod::Relabel, .. } => share(arg, query),
        _ => None,
    }?;
    Some(share.min(1.0))
}

/// The text of a condition, with what is known of how many rows it lets through. (Of a single table, a comparison for equality needs no
/// hint: an index has statistics of its own.) SQLite computes what the hint is about as a value, in which AND and OR compute all that is below
/// them.
fn hinted(condition: &Expr, text: String, query: &Query) -> String {
    let stops = |e: &Expr| matches!(e.kind, ExprKind::And(_) | ExprKind::Or(_)) && !cannot_fail(e);
    if walk::any(condition, &stops) {
        return text;
    }
    let tables = query.range_table.iter().filter(|entry| !matches!(entry.kind, RteKind::Join { .. })).count();
    let ordered = |e: &Expr| match &e.kind {
        ExprKind::Op { op, .. } => builtin::operator_by_oid(op.oid).is_some_and(|o| o.name.starts_with(['<', '>'])),
        _ => false,
    };
    match share(condition, query) {
        Some(share) if share < 1.0 && (tables > 1 || ordered(condition)) => {
            format!("likelihood({text}, {:.6})", share.max(0.000_001))
        }
        _ => text,
    }
}

/// The numbers of an entry's columns that a query uses.
pub(super) fn columns_used(entry: usize, query: &Query) -> Vec<i16> {
    let mut used = Vec::new();
    let columns = &query.range_table[entry].columns;
    walk::query_exprs(query, 0, &mut |depth, e| match &e.kind {
        ExprKind::Var(v) if v.levels_up == depth && v.rte == entry => {
            used.extend(columns.get(v.column).map(|c| c.attnum))
        }
        ExprKind::WholeRow { levels_up, rte, .. } if *levels_up == depth && *rte == entry => {
            used.extend(columns.iter().map(|c| c.attnum));
        }
        _ => {}
    });
    used
}

impl Lowerer<'_> {
    /// The condition with what all arms of an OR share taken out of it.
    pub(super) fn factored(&self, filter: &Expr) -> Expr {
        let mut out = Vec::new();
        for condition in conjuncts(filter) {
            match &condition.kind {
                ExprKind::Or(arms) if volatility::is_repeatable(condition) => match taken_out(arms) {
                    Some(parts) => out.extend(parts),
                    None => out.push(condition.clone()),
                },
                _ => out.push(condition.clone()),
            }
        }
        joined(out, filter.location, ExprKind::And)
    }

    /// The condition of WHERE, part by part. `first`: the table that is read first, if all rows are needed that the query finds.
    pub(super) fn filter(&mut self, filter: &Expr, query: &Query, first: Option<usize>) -> Result<String> {
        let mut texts = Vec::new();
        let scanned = first.map_or(vec![], |entry| self.scanned(filter, query, entry));
        let parts = in_order(filter, |e| cannot_fail_in(query, e));
        let mut waiting: BTreeMap<usize, Vec<&Expr>> = BTreeMap::new();
        for part in &parts {
            if let Some(entry) = waits_within(part, query) {
                waiting.entry(entry).or_default().push(part);
                continue;
            }
            let mut text = self.asked(part)?;
            let bounded = ranged(part, query).filter(|_| only_entry(part) == first);
            if bounded.is_some_and(|(column, _)| scanned.contains(&column.attnum)) {
                // (SQLite uses no index for an expression)
                text = format!("+{text}");
            }
            texts.push(hinted(part, text, query));
        }
        for (entry, waiting) in waiting {
            let own = |e: &&Expr| only_entry(e) == Some(entry) && cannot_fail(e) && volatility::is_repeatable(e);
            let before = parts.iter().filter(own);
            // each is asked where those before it hold
            let mut text = String::new();
            for part in before.chain(waiting).rev() {
                let own = self.asked(part)?;
                text = match text.is_empty() {
                    true => own,
                    false => format!("(CASE WHEN {own} THEN {text} END)"),
                };
            }
            texts.push(text);
        }
        Ok(match &texts[..] {
            [one] => one.clone(),
            _ => super::expr::chain(&texts, " AND "),
        })
    }

    /// The condition of WHERE or HAVING, part by part, without what is known of its rows.
    pub(super) fn ordered_condition(&mut self, filter: &Expr) -> Result<String> {
        let parts = in_order(filter, cannot_fail);
        let texts: Vec<String> =
            parts.iter().map(|part| self.condition(&with_guarded_arms(part))).collect::<Result<_>>()?;
        Ok(match &texts[..] {
            [one] => one.clone(),
            _ => super::expr::chain(&texts, " AND "),
        })
    }

    /// The columns of the table that is read first whose bounds let so many rows through that all rows are read sooner than an index
    /// and the rows that it leads to, each at another place. (SQLite takes the index whatever its rows are.) Only where the index does
    /// not have all columns that are asked for.
    fn scanned(&self, filter: &Expr, query: &Query, entry: usize) -> Vec<i16> {
        /// rows that are read one after the other in the time that one takes which is looked up
        const AT_ONCE: f64 = 14.0;
        let RteKind::Relation(relation) = &query.range_table[entry].kind else { return vec![] };
        if relation.tuples.is_none_or(|rows| rows < LARGE) {
            return vec![];
        }
        let mut shares: Vec<(i16, f64)> = Vec::new();
        for part in conjuncts(filter).iter().flat_map(conjuncts) {
            let bounded = ranged(part, query).filter(|_| only_entry(part) == Some(entry));
            let (Some((column, _)), Some(share)) = (bounded, share(part, query)) else { continue };
            match shares.iter_mut().find(|(attnum, _)| *attnum == column.attnum) {
                // both bounds: what is outside one is inside the other
                Some((_, both)) => *both = (*both + share - 1.0).max(0.0),
                None => shares.push((column.attnum, share)),
            }
        }
        let used = columns_used(entry, query);
        // (behind another column, the bounds go with what is asked of that one)
        let needed = |attnum: i16| {
            self.env.catalog.indexes_of(relation.oid).any(|(_, index)| {
                let key = |c: &IndexColumn| match c.key {
                    KeyPart::Column(attnum) => attnum,
                    _ => 0,
                };
                let columns: Vec<i16> = index.columns.iter().map(key).collect();
                let place = columns.iter().position(|c| *c == attnum);
                place > Some(0) || place == Some(0) && used.iter().all(|u| columns.contains(u))
            })
        };
        shares.retain(|(attnum, share)| *share > 1.0 / AT_ONCE && !needed(*attnum));
        shares.into_iter().map(|(attnum, _)| attnum).collect()
    }

    /// What follows from the ORs of a condition for one table alone, with that table.
    pub(super) fn implied(&mut self, filter: &Expr, query: &Query) -> Result<Vec<(usize, String)>> {
        let mut out = Vec::new();
        for condition in conjuncts(filter) {
            let ExprKind::Or(arms) = &condition.kind else { continue };
            if arms.len() < 2 || only_entry(condition).is_some() || !volatility::is_repeatable(condition) {
                continue;
            }
            let mut entries: Vec<usize> = conjuncts(&arms[0]).iter().filter_map(only_entry).collect();
            entries.sort_unstable();
            entries.dedup();
            for entry in entries {
                let of_entry = |arm: &Expr| -> Option<Expr> {
                    let own = conjuncts(arm).iter().filter(|c| only_entry(c) == Some(entry) && cannot_fail(c)).cloned();
                    let own: Vec<Expr> = own.collect();
                    (!own.is_empty()).then(|| joined(own, arm.location, ExprKind::And))
                };
                let Some(parts) = arms.iter().map(of_entry).collect::<Option<Vec<Expr>>>() else { continue };
                let implied = joined(parts, condition.location, ExprKind::Or);
                let text = self.asked(&implied)?;
                out.push((entry, hinted(&implied, text, query)));
            }
        }
        Ok(out)
    }

    /// A condition that each row of a query is asked.
    pub(super) fn asked(&mut self, condition: &Expr) -> Result<String> {
        let around = std::mem::replace(&mut self.asks_rows, true);
        let text = self.condition(&with_guarded_arms(condition));
        self.asks_rows = around;
        text
    }

    /// A value that does not depend on the row, computed once where each row is asked for it.
    pub(super) fn once(&self, text: String) -> String {
        if self.asks_rows {
            format!("(SELECT {text})")
        } else {
            text
        }
    }

    /// Whether an expression has the same value throughout a statement, but SQLite does not know.
    pub(super) fn is_steady(&self, expr: &Expr) -> bool {
        if !matches!(expr.kind, ExprKind::Func { .. } | ExprKind::Op { .. } | ExprKind::Cast { .. }) {
            return false;
        }
        let by_row = |e: &Expr| {
            matches!(
                e.kind,
                ExprKind::Var(_)
                    | ExprKind::WholeRow { .. }
                    | ExprKind::SubLink { .. }
                    | ExprKind::SetFunc { .. }
                    | ExprKind::Aggregate(_)
                    | ExprKind::Window { .. }
                    | ExprKind::Grouping(_)
                    | ExprKind::CurrentOf { .. }
                    | ExprKind::RowNumbered { .. }
                    | ExprKind::Default
                    | ExprKind::DomainValue
                    | ExprKind::NextRow(_)
            )
        };
        !walk::any(expr, &by_row) && volatility::volatility(self.env.catalog, expr) == (b's', None)
    }
}
