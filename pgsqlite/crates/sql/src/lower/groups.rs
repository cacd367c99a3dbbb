//! GROUP BY by hashing.
//!
//! SQLite sorts all rows to find groups, and reads a table in the order of an index for it, however far apart its rows are. Where
//! ANALYZE has seen many rows and few groups, the groups are made by one aggregate without GROUP BY, which has a table of them in
//! memory: `SELECT … FROM pg_groups((SELECT pg_group(plan, value …) FROM … WHERE …))`. Its plan says which values are keys, how keys
//! compare, and which aggregates there are; see `natives/src/udf/groups.rs`.

use super::conditions::LARGE;
use super::gather::{Divided, Found};
use super::join_order::JoinOrder;
use super::query::refers_outwards;
use super::stages::{collect_group_parts, Stage};
use super::{support, Lowerer};
use crate::builtins::catalog as builtin;
use crate::builtins::imp::{imp, native_name, Imp};
use crate::catalog::NO_COLLATION;
use crate::typed::{Aggregate, Expr, ExprKind, Query, QueryBody, RteKind, Var};
use crate::volatility;
use crate::walk;
use pgsqlite_types::{oid, Oid, Result};

/// More groups than this are sorted: the rows of one are then beside each other, and none waits in memory.
const MOST_GROUPS: f64 = 100_000.0;

/// Columns of the table of groups: `support::GROUPS` has as many of each kind.
pub const MOST_COLUMNS: usize = 60;

/// How a comparison treats values: a letter of a plan. None: by rules that only SQLite's collation knows.
pub(super) fn comparison(collation: Option<&str>) -> Option<char> {
    Some(match collation {
        None | Some("BINARY") => 'b',
        Some("RTRIM") => 'r',
        Some("decimal") => 'd',
        Some(_) => return None,
    })
}

/// Whether all GROUP BY that can be hashed are: for tests of what that gives.
fn always() -> bool {
    static ALWAYS: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *ALWAYS.get_or_init(|| std::env::var("PGSQLITE_HASH_GROUPS").is_ok_and(|value| value == "always"))
}

/// The rows of the largest table below a query, as they were counted last.
fn rows_below(query: &Query) -> i64 {
    let of_entry = |kind: &RteKind| match kind {
        RteKind::Relation(relation) => relation.tuples.unwrap_or(0),
        RteKind::Subquery { query, .. } => rows_below(query),
        _ => 0,
    };
    query.range_table.iter().map(|entry| of_entry(&entry.kind)).max().unwrap_or(0)
}

/// How many different values a column of this level has, about, by ANALYZE. None: it is not known.
fn different(v: &Var, query: &Query) -> Option<f64> {
    match &query.range_table.get(v.rte)?.kind {
        RteKind::Relation(_) => Some(super::conditions::statistics(v, query)?.distinct.max(1) as f64),
        RteKind::Subquery { query, .. } => {
            let QueryBody::Select(select) = &query.body else { return None };
            all_different(std::slice::from_ref(&select.targets.get(v.column)?.expr), query)
        }
        RteKind::Join { columns } => all_different(std::slice::from_ref(columns.get(v.column)?), query),
        _ => None,
    }
}

/// How many different rows the values have, at most.
fn all_different(exprs: &[Expr], query: &Query) -> Option<f64> {
    let mut vars: Vec<Var> = Vec::new();
    let mut known = true;
    for e in exprs {
        walk::deep(e, 0, &mut |depth, e| match &e.kind {
            ExprKind::Var(v) if depth == 0 && v.levels_up == 0 && !vars.contains(v) => vars.push(*v),
            ExprKind::Aggregate(_) | ExprKind::SubLink { .. } | ExprKind::WholeRow { .. } => known = false,
            _ => {}
        });
    }
    // the columns of one table have no more different rows than the table
    let mut product = 1.0;
    let mut entries: Vec<usize> = vars.iter().map(|v| v.rte).collect();
    entries.sort_unstable();
    entries.dedup();
    for entry in entries {
        let (mut of_entry, mut most, mut columns) = (1.0, 1.0f64, 0);
        for v in vars.iter().filter(|v| v.rte == entry) {
            let of_column = different(v, query)?;
            (of_entry, most, columns) = (of_entry * of_column, most.max(of_column), columns + 1);
        }
        if let RteKind::Relation(relation) = &query.range_table[entry].kind {
            // columns of one table mostly depend on each other
            let rows = relation.tuples.unwrap_or(0).max(1) as f64;
            of_entry = f64::min(of_entry, if columns > 1 { most.max(rows / 10.0) } else { rows });
        }
        product *= of_entry;
    }
    known.then_some(product)
}

/// The values that a plan's letters refer to, each once.
#[derive(Default)]
struct Values {
    texts: Vec<String>,
}

impl Values {
    fn place(&mut self, text: String) -> usize {
        match self.texts.iter().position(|t| *t == text) {
            Some(place) => place,
            None => {
                self.texts.push(text);
                self.texts.len() - 1
            }
        }
    }
}

/// How a stage's groups are made.
pub(super) struct Groups {
    /// `SELECT pg_group(plan, value …)`, to be followed by FROM
    pub call: String,
    pub plan: String,
    /// the keys, and what is computed of each group
    parts: Vec<Expr>,
    /// the columns of `support::GROUPS` in which they are
    columns: Vec<String>,
}

impl Lowerer<'_> {
    /// How many groups a query has, about, if they are to be found by hashing, provided that they can be. `rows`: how many rows there are, as
    /// far as that is known.
    fn hashed_number(&self, stage: &Stage, query: &Query, rows: Option<f64>) -> Option<f64> {
        let different = all_different(&stage.select.group_by, query);
        // (a row cannot be in two groups)
        let number = rows.map(|rows| different.map_or(rows, |different| different.min(rows))).or(different);
        if always() {
            return Some(number.unwrap_or(f64::MAX));
        }
        let largest = rows_below(query);
        number.filter(|number| largest >= LARGE && *number <= MOST_GROUPS && number * 4.0 <= largest as f64)
    }

    /// Finds the groups of a query by hashing. False: nothing is done, and they are to be sorted. `divided`: the table by whose rows those
    /// of the query may be divided. `order`: that of its join.
    pub(super) fn hashed_groups(
        &mut self,
        stage: &mut Stage,
        query: &Query,
        divided: Option<&Divided>,
        order: Option<&JoinOrder>,
    ) -> Result<bool> {
        let below = refers_outwards(query) || self.in_recursive_term;
        if stage.select.group_by.is_empty() || below || !query.row_locks.is_empty() {
            return Ok(false);
        }
        let joined = order.and_then(JoinOrder::rows).or_else(|| divided?.joined);
        let Some(number) = self.hashed_number(stage, query, joined) else { return Ok(false) };
        let Some(groups) = self.groups_of(stage)? else { return Ok(false) };
        let rows = format!("{}{}", groups.call, stage.from_where());
        if let Some(divided) = divided {
            let parts = divided.clone().parts(&groups.call, stage, Some(number));
            let instead = format!("SELECT {}()", support::GATHERED);
            self.keep_gathered(Found { serial: rows.clone(), instead, parts, one_group: None });
        }
        self.read_groups(stage, &groups, &rows)?;
        Ok(true)
    }

    /// What is to be made of a stage's rows. None: the groups must be sorted.
    pub(super) fn groups_of(&mut self, stage: &Stage) -> Result<Option<Groups>> {
        let keys = &stage.select.group_by;
        let mut parts = keys.clone();
        for expr in stage.exprs() {
            collect_group_parts(expr, 0, &mut parts);
        }
        let mut inputs: Vec<&Expr> = keys.iter().collect();
        for part in &parts {
            match &part.kind {
                ExprKind::Aggregate(call) => {
                    inputs.extend(call.args.iter().chain(&call.filter));
                }
                _ => inputs.push(part),
            }
        }
        let unfit = |e: &&Expr| {
            e.collation == NO_COLLATION
                || walk::contains_set_function(e)
                || walk::contains_window(e)
                || volatility::is_volatile(self.env.catalog, e)
        };
        if parts.len() > MOST_COLUMNS || inputs.iter().any(unfit) {
            return Ok(None);
        }
        let mut values = Values::default();
        let (mut plan, mut columns) = (Vec::new(), Vec::new());
        for (i, part) in parts.iter().enumerate() {
            let Some(word) = (match &part.kind {
                _ if i < keys.len() => self.key_word(part, &mut values)?,
                ExprKind::Aggregate(call) => self.aggregate_word(call, &mut values)?,
                ExprKind::Grouping(_) => None,
                // it depends on a key
                _ => Some(format!("f{}", values.place(self.expr(part)?))),
            }) else {
                return Ok(None);
            };
            plan.push(word);
            let affinity = match &part.kind {
                ExprKind::Aggregate(_) => 'p',
                _ => self.affinity_of(part),
            };
            columns.push(format!("{affinity}{}", i + 1));
        }
        let plan = plan.join(" ");
        let mut call = vec![super::quote_text(&plan)];
        call.extend(values.texts);
        let call = format!("SELECT {}({})", support::GROUP, call.join(", "));
        Ok(Some(Groups { call, plan, parts, columns }))
    }

    /// The stage reads the groups whose number the query `rows` gives.
    pub(super) fn read_groups(&mut self, stage: &mut Stage, groups: &Groups, rows: &str) -> Result<()> {
        let Groups { parts, columns, .. } = groups;
        let alias = self.unique("t");
        let rte = self.add_entry(columns.iter().map(|c| format!("{alias}.{c}")).collect());
        self.scope().hashed = true;
        let having = stage.select.having.take();
        self.replace_below(stage, &format!("{}(({rows})) AS {alias}", support::GROUPS), parts, rte);
        if let Some(mut having) = having {
            super::stages::replace(&mut having, parts, rte);
            stage.filter = format!(" WHERE {}", self.condition(&having)?);
        }
        Ok(())
    }

    /// The affinity that a stored column of an expression's type has, as a letter of the columns of `support::GROUPS`.
    fn affinity_of(&self, e: &Expr) -> char {
        self.affinity_of_type(e.ty)
    }

    /// The same of a type.
    pub(super) fn affinity_of_type(&self, ty: Oid) -> char {
        match self.env.catalog.base_type(ty) {
            oid::BOOL | oid::INT2 | oid::INT4 | oid::INT8 | oid::OID | oid::MONEY => 'i',
            oid::FLOAT4 | oid::FLOAT8 => 'p',
            ty if pgsqlite_types::catalog::is_blob(ty) => 'p',
            _ => 'x',
        }
    }

    /// A key: `k`, how it compares, its value's place.
    fn key_word(&mut self, key: &Expr, values: &mut Values) -> Result<Option<String>> {
        let Some(how) = comparison(self.collation_of(key).as_deref()) else { return Ok(None) };
        Ok(Some(format!("k{how}{}", values.place(self.expr(key)?))))
    }

    /// An aggregate: its letter and its values' places. A row that FILTER leaves out has NULLs for values, which aggregates leave out.
    fn aggregate_word(&mut self, call: &Aggregate, values: &mut Values) -> Result<Option<String>> {
        let plain = !call.distinct && call.order_by.is_empty() && call.direct.is_empty() && call.levels_up == 0;
        if !plain || call.variadic || self.env.catalog.function(call.proc).is_some() {
            return Ok(None);
        }
        let filter = call.filter.as_ref().map(|filter| self.condition(filter)).transpose()?;
        let kept = |text: String| match &filter {
            Some(filter) => format!("CASE WHEN {filter} THEN {text} END"),
            None => text,
        };
        Ok(Some(match imp(call.proc) {
            Some(Imp::InlineAggregate("count($1)")) if call.star || call.args.is_empty() => match &filter {
                Some(_) => format!("n{}", values.place(kept("1".into()))),
                None => "c".to_string(),
            },
            Some(Imp::InlineAggregate(template)) => {
                let [arg] = &call.args[..] else { return Ok(None) };
                let how = comparison(self.collation_of(arg).as_deref());
                let letter = match (template, how) {
                    ("count($1)", _) => "n".to_string(),
                    ("min($1)", Some(how)) => format!("l{how}"),
                    ("max($1)", Some(how)) => format!("g{how}"),
                    _ => return Ok(None),
                };
                format!("{letter}{}", values.place(kept(self.expr(arg)?)))
            }
            Some(Imp::NativeAggregate { typed: false }) if keeps_no_rows(call) => {
                let (name, args) = match self.decimal_aggregate_call(call.proc, call)? {
                    Some((name, args)) => (name.to_string(), args),
                    None => (native_name(call.proc), self.exprs(&call.args)?),
                };
                let places: Vec<String> = args.into_iter().map(|a| values.place(kept(a)).to_string()).collect();
                format!("a{name}:{}", places.join(","))
            }
            _ => return Ok(None),
        }))
    }
}

/// Whether an aggregate's state has the same size for few rows and for many.
fn keeps_no_rows(call: &Aggregate) -> bool {
    let Some(of) = builtin::proc_by_oid(call.proc) else { return false };
    let numbers = |t: &_| matches!(*t, oid::INT2 | oid::INT4 | oid::INT8 | oid::NUMERIC | oid::INTERVAL);
    matches!(
        of.name.as_str(),
        "sum" | "avg" | "variance" | "var_samp" | "var_pop" | "stddev" | "stddev_samp" | "stddev_pop"
    ) && of.args.iter().all(numbers)
}
