//! SELECTs that need more than one SQLite SELECT: each stage computes some expressions, and what stands above it sees them
//! as columns.
//!
//! * GROUPING SETS: a UNION ALL of one grouped SELECT per set gives keys and aggregates; HAVING, windows, the select list
//!   and ORDER BY stand above
//! * set-returning functions over groups or windows (see [`super::sets`]): what they use is computed below them
//! * DISTINCT ON and WITH TIES: rows with their sort keys below, numbered and chosen above

use super::expr::direction;
use super::query::LimitKind;
use super::Lowerer;
use crate::typed::{Distinct, Expr, ExprKind, Query, Select, SortKey, Target, Var};
use crate::walk;
use pgsqlite_types::{Datum, Result};

/// A SELECT under way: what is left to compute, and the text it is computed from.
#[derive(Clone)]
pub(super) struct Stage {
    pub select: Select,
    pub order_by: Vec<SortKey>,
    /// the items of FROM; empty: none
    pub from: String,
    /// ` WHERE …` or nothing
    pub filter: String,
    /// ` GROUP BY … HAVING …`
    pub group_having: String,
}

impl Stage {
    /// ` FROM … WHERE …`
    pub fn from_where(&self) -> String {
        let from = if self.from.is_empty() { "" } else { " FROM " };
        [from, &self.from, &self.filter].concat()
    }

    /// One more item in FROM.
    pub fn add_from(&mut self, item: &str) {
        if !self.from.is_empty() {
            self.from += ", ";
        }
        self.from += item;
    }

    /// Everything that is still to be computed.
    fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        let mut out: Vec<&mut Expr> = Vec::new();
        out.extend(self.select.targets.iter_mut().map(|t| &mut t.expr));
        out.extend(self.order_by.iter_mut().map(|k| &mut k.expr));
        for window in &mut self.select.windows {
            out.extend(window.partition_by.iter_mut());
            out.extend(window.order_by.iter_mut().map(|k| &mut k.expr));
        }
        if let Distinct::On(list) = &mut self.select.distinct {
            out.extend(list.iter_mut());
        }
        out.extend(self.select.having.iter_mut());
        out
    }

    /// As [`Stage::exprs_mut`], read only.
    pub fn exprs(&self) -> Vec<&Expr> {
        computed_of_rows(&self.select, &self.order_by)
    }

    /// `parts[i]` is column `i` of entry `rte` from now on.
    pub fn replace(&mut self, parts: &[Expr], rte: usize) {
        for expr in self.exprs_mut() {
            replace(expr, parts, rte);
        }
    }
}

/// What a SELECT computes of the rows or groups that FROM, WHERE and GROUP BY give.
pub(super) fn computed_of_rows<'q>(select: &'q Select, order_by: &'q [SortKey]) -> Vec<&'q Expr> {
    let mut out: Vec<&Expr> = select.targets.iter().map(|t| &t.expr).collect();
    out.extend(order_by.iter().map(|k| &k.expr));
    for window in &select.windows {
        out.extend(window.partition_by.iter());
        out.extend(window.order_by.iter().map(|k| &k.expr));
    }
    if let Distinct::On(list) = &select.distinct {
        out.extend(list.iter());
    }
    out.extend(select.having.iter());
    out
}

impl Lowerer<'_> {
    /// Computes `parts` by a SELECT over the present stage; the stage stands above it afterwards.
    pub(super) fn push_stage(&mut self, stage: &mut Stage, parts: &[Expr]) -> Result<()> {
        let text = self.select_of_parts(stage, parts)?;
        self.stand_above(stage, &text, parts);
        stage.select.windows.clear();
        Ok(())
    }

    /// A SELECT over the present stage, whose columns `p1`, `p2` … are `parts`.
    pub(super) fn select_of_parts(&mut self, stage: &Stage, parts: &[Expr]) -> Result<String> {
        let mut columns = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            columns.push(format!("{} AS p{}", self.windowed(part, &stage.select)?, i + 1));
        }
        if columns.is_empty() {
            columns.push("1 AS p1".into());
        }
        Ok(format!("SELECT {}{}{}", columns.join(", "), stage.from_where(), stage.group_having))
    }

    /// The stage reads from `from`, an item of FROM, whose entry begins with the columns that `parts` are.
    pub(super) fn replace_below(&mut self, stage: &mut Stage, from: &str, parts: &[Expr], rte: usize) {
        stage.replace(parts, rte);
        stage.from = from.to_string();
        stage.filter = String::new();
        stage.group_having = String::new();
        stage.select.group_by.clear();
        stage.select.grouping_sets.clear();
        stage.select.grouped = false;
        stage.select.having = None;
        stage.select.filter = None;
    }

    /// The stage reads from `text`, whose columns `p1`, `p2` … are `parts`.
    pub(super) fn stand_above(&mut self, stage: &mut Stage, text: &str, parts: &[Expr]) {
        let alias = self.unique("t");
        let rte = self.add_entry((1..=parts.len()).map(|i| format!("{alias}.p{i}")).collect());
        self.replace_below(stage, &format!("({text}) AS {alias}"), parts, rte);
    }

    // --- grouping sets -------------------------------------------------------------------------------------------------

    /// Grouping sets, and groups without keys that SQLite would not make (GROUP BY (), HAVING alone): one row per group of
    /// each set, its keys (NULL where they are not in the set), aggregates and GROUPING(…) as columns.
    pub(super) fn grouping_stage(&mut self, stage: &mut Stage) -> Result<()> {
        let keys = stage.select.group_by.clone();
        let sets = if stage.select.grouping_sets.is_empty() {
            vec![(0..keys.len()).collect::<Vec<_>>()]
        } else {
            stage.select.grouping_sets.clone()
        };
        let mut parts = keys.clone();
        for expr in stage.exprs() {
            collect_group_parts(expr, 0, &mut parts);
        }
        // The rows are computed once for all sets.
        let mut with = String::new();
        let mut source = stage.from_where();
        let mut inner_parts = parts.clone();
        let mut vars: Vec<Expr> = keys.iter().filter(|key| self.is_computed_anew(key)).cloned().collect();
        let arguments = self.needed_once(&parts, sets.len() > 1);
        if sets.len() > 1 || !vars.is_empty() || !arguments.is_empty() {
            // (what has another value each time it is computed is computed with the rows)
            for part in &parts {
                collect_vars(part, &mut vars);
            }
            // (each for itself: two that are equal are computed twice)
            let first = vars.len();
            vars.extend(arguments.iter().map(|(_, arg)| arg.clone()));
            let mut columns = Vec::new();
            for (i, v) in vars.iter().enumerate() {
                columns.push(format!("{} AS p{}", self.expr(v)?, i + 1));
            }
            if columns.is_empty() {
                columns.push("1 AS p1".into());
            }
            let (name, alias) = (self.unique("w"), self.unique("t"));
            with = format!("WITH {name} AS MATERIALIZED (SELECT {}{source}) ", columns.join(", "));
            source = format!(" FROM {name} AS {alias}");
            let rte = self.add_entry((1..=vars.len()).map(|i| format!("{alias}.p{i}")).collect());
            for (i, (part, arg)) in arguments.iter().enumerate() {
                let ExprKind::Aggregate(call) = &mut inner_parts[*part].kind else { continue };
                let keys = call.order_by.iter_mut().map(|key| &mut key.expr);
                for own in call.args.iter_mut().chain(keys).filter(|own| *own == arg) {
                    own.kind = ExprKind::Var(Var { levels_up: 0, rte, column: first + i });
                }
            }
            for part in &mut inner_parts {
                replace(part, &vars[..first], rte);
            }
        }
        let mut arms = Vec::new();
        for set in &sets {
            let mut columns = Vec::new();
            for (i, part) in inner_parts.iter().enumerate() {
                let text = match &part.kind {
                    _ if i < keys.len() && !set.contains(&i) => "NULL".to_string(),
                    ExprKind::Grouping(positions) => {
                        positions.iter().fold(0i64, |bits, p| bits << 1 | i64::from(!set.contains(p))).to_string()
                    }
                    ExprKind::Aggregate(call) if !call.direct.is_empty() => {
                        // a direct argument is the group's: NULL where a key is not in the set
                        let mut part = part.clone();
                        let absent = |e: &Expr| {
                            let mut keys = inner_parts[..keys.len()].iter().enumerate();
                            keys.any(|(k, key)| key == e && !set.contains(&k))
                        };
                        if let ExprKind::Aggregate(call) = &mut part.kind {
                            for direct in &mut call.direct {
                                walk::deep_mut(direct, 0, &mut |depth, e| {
                                    if depth == 0 && absent(e) {
                                        e.kind = ExprKind::Const(Datum::Null);
                                    }
                                });
                            }
                        }
                        self.expr(&part)?
                    }
                    _ => self.expr(part)?,
                };
                columns.push(format!("{text} AS p{}", i + 1));
            }
            let mut arm = String::new();
            if set.is_empty() {
                // an aggregate makes the one group
                columns.push(format!("count(*) AS p{}", parts.len() + 1));
            } else {
                columns.push(format!("1 AS p{}", parts.len() + 1));
                let mut texts = Vec::new();
                for &i in set {
                    texts.push(self.group_key(&inner_parts[i])?);
                }
                arm = format!(" GROUP BY {}", texts.join(", "));
            }
            arms.push(format!("SELECT {}{source}{arm}", columns.join(", ")));
        }
        let filter = stage.select.having.take();
        let text = format!("{with}{}", arms.join(" UNION ALL "));
        self.stand_above(stage, &text, &parts);
        if let Some(mut filter) = filter {
            let rte = self.last_entry();
            replace(&mut filter, &parts, rte);
            stage.filter = format!(" WHERE {}", self.condition(&filter)?);
        }
        Ok(())
    }

    /// Arguments of aggregates that have another value each time they are computed, and are asked for more than once: the aggregate sorts by them,
    /// or (`several`) is computed for several grouping sets. Each with the place of its aggregate in `parts`.
    fn needed_once(&self, parts: &[Expr], several: bool) -> Vec<(usize, Expr)> {
        let mut needed: Vec<(usize, Expr)> = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            let ExprKind::Aggregate(call) = &part.kind else { continue };
            let sorts = call.distinct || !call.direct.is_empty();
            for arg in &call.args {
                let twice = several || sorts || call.order_by.iter().any(|key| key.expr == *arg);
                if twice && self.is_computed_anew(arg) && !needed.iter().any(|n| n.0 == i && n.1 == *arg) {
                    needed.push((i, arg.clone()));
                }
            }
        }
        needed
    }

    /// Whether the stage's groups are to be made of rows that have keys or arguments of aggregates ([`Lowerer::needed_once`]) as columns.
    pub(super) fn needs_rows(&self, stage: &Stage) -> bool {
        let mut parts = stage.select.group_by.clone();
        if parts.iter().any(|key| self.is_computed_anew(key)) {
            return true;
        }
        for expr in stage.exprs() {
            collect_group_parts(expr, 0, &mut parts);
        }
        !self.needed_once(&parts, false).is_empty()
    }

    /// A key of GROUP BY; a bare number would be a column position.
    pub(super) fn group_key(&mut self, key: &Expr) -> Result<String> {
        Ok(super::expr::not_a_position(self.collated(key)?, key))
    }

    // --- DISTINCT ON, WITH TIES ------------------------------------------------------------------------------------------

    /// DISTINCT ON and WITH TIES: the rows `c1` … with their sort keys `k1` … (and `o1` …, what is distinct) below, numbered
    /// and chosen above.
    pub(super) fn chosen_rows(&mut self, stage: &Stage, query: &Query, limit: &str) -> Result<String> {
        let mut columns = Vec::new();
        let width = stage.select.targets.len();
        for (i, Target { expr, .. }) in stage.select.targets.iter().enumerate() {
            columns.push(format!("{}{} AS c{}", self.windowed(expr, &stage.select)?, self.collate_of(expr), i + 1));
        }
        let all = stage.select.distinct == Distinct::All;
        let mut keys = Vec::new();
        for (i, key) in stage.order_by.iter().enumerate() {
            // DISTINCT leaves no columns but the select list's, where its sort keys are
            let of_list = key.target.filter(|_| all).or_else(|| self.output_of(stage, &key.expr));
            let name = match of_list {
                Some(target) => format!("c{}", target + 1),
                None => {
                    columns.push(format!("{} AS k{}", self.windowed(&key.expr, &stage.select)?, i + 1));
                    format!("k{}", i + 1)
                }
            };
            keys.push(format!("{name}{}{}", self.collate_of(&key.expr), direction(key)));
        }
        let order = if keys.is_empty() { String::new() } else { format!("ORDER BY {}", keys.join(", ")) };
        let mut partition = Vec::new();
        if let Distinct::On(on) = &stage.select.distinct {
            for (i, expr) in on.iter().enumerate() {
                let sorted = stage.order_by.iter().position(|key| key.expr == *expr);
                let name = match (self.output_of(stage, expr), sorted) {
                    (Some(target), _) => format!("c{}", target + 1),
                    (None, Some(key)) if !all => format!("k{}", key + 1),
                    _ => {
                        columns.push(format!("{} AS o{}", self.windowed(expr, &stage.select)?, i + 1));
                        format!("o{}", i + 1)
                    }
                };
                partition.push(format!("{name}{}", self.collate_of(expr)));
            }
        }
        let distinct = if all { "DISTINCT " } else { "" };
        let mut text = format!("SELECT {distinct}{}{}{}", columns.join(", "), stage.from_where(), stage.group_having);
        if stage.exprs().into_iter().any(|e| self.is_computed_anew(e)) {
            // (or SQLite computes a column wherever it is named above)
            text += " LIMIT -1 OFFSET 0";
        }
        let output: Vec<String> = (1..=width.max(1)).map(|i| format!("c{i}")).collect();
        let output = if width == 0 { "1 AS c1".to_string() } else { output.join(", ") };
        if !partition.is_empty() {
            text = format!(
                "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY {} {order}) AS rn FROM ({text})) WHERE rn = 1",
                partition.join(", ")
            );
        }
        if query.with_ties {
            return self.with_ties(&text, &output, &order, query);
        }
        Ok(format!("SELECT {output} FROM ({text}) {order}{limit}"))
    }

    /// The place in the select list of an expression that has another value each time: PostgreSQL computes equal ones there and in keys once.
    fn output_of(&self, stage: &Stage, expr: &Expr) -> Option<usize> {
        stage.select.targets.iter().position(|t| t.expr == *expr).filter(|_| self.is_computed_anew(expr))
    }

    /// FETCH FIRST … WITH TIES over rows that have their sort keys.
    pub(super) fn with_ties(&mut self, rows: &str, output: &str, order: &str, query: &Query) -> Result<String> {
        let limit = match &query.limit {
            Some(limit) => self.limit_bound(limit, LimitKind::WithTies)?,
            None => "-1".into(),
        };
        let offset = match &query.offset {
            Some(offset) => self.limit_bound(offset, LimitKind::Offset)?,
            None => "0".into(),
        };
        // a NULL LIMIT (all rows) and a NULL OFFSET (none) come as -1
        Ok(format!(
            "SELECT {output} FROM (SELECT *, rank() OVER w AS tie_rank, row_number() OVER w AS tie_row FROM ({rows}) \
             WINDOW w AS ({order})) WHERE tie_row > max({offset}, 0) AND ({limit} < 0 OR {limit} > 0 AND tie_rank <= \
             {limit} + max({offset}, 0)) ORDER BY tie_row"
        ))
    }

    pub(super) fn collate_of(&self, expr: &Expr) -> String {
        self.collation_of(expr).map_or(String::new(), |c| format!(" COLLATE {c}"))
    }
}

/// Every occurrence of `parts[i]` in the expression (inside sub-queries: of those that are variables) becomes column `i` of
/// entry `rte`.
pub(super) fn replace(expr: &mut Expr, parts: &[Expr], rte: usize) {
    walk::deep_mut(expr, 0, &mut |depth, e| {
        let found = if depth == 0 {
            parts.iter().position(|p| p == e)
        } else {
            outer_var(e, depth).and_then(|own| parts.iter().position(|p| *p == own))
        };
        if let Some(column) = found {
            e.kind = ExprKind::Var(Var { levels_up: depth, rte, column });
        }
    });
}

/// The variable of this level that an expression `depth` levels further in is, as this level would write it.
pub(super) fn outer_var(e: &Expr, depth: usize) -> Option<Expr> {
    let kind = match &e.kind {
        ExprKind::Var(v) if v.levels_up == depth => ExprKind::Var(Var { levels_up: 0, ..*v }),
        ExprKind::WholeRow { levels_up, rte, fields } if *levels_up == depth => {
            ExprKind::WholeRow { levels_up: 0, rte: *rte, fields: fields.clone() }
        }
        _ => return None,
    };
    Some(Expr { kind, ..e.clone() })
}

/// What a grouped query's expression is made of: grouping keys, aggregates, GROUPING(…), and columns that depend on a key.
pub(super) fn collect_group_parts(expr: &Expr, depth: usize, parts: &mut Vec<Expr>) {
    if depth == 0 && parts.contains(expr) {
        return;
    }
    let own = match &expr.kind {
        ExprKind::Aggregate(_) | ExprKind::Grouping(_) if depth == 0 => Some(expr.clone()),
        ExprKind::Var(v) if depth == 0 && v.levels_up == 0 => Some(expr.clone()),
        ExprKind::WholeRow { levels_up: 0, .. } if depth == 0 => Some(expr.clone()),
        _ => None,
    };
    if let Some(own) = own {
        parts.push(own);
        return;
    }
    let mut children: Vec<&Expr> = Vec::new();
    let mut queries: Vec<&Query> = Vec::new();
    walk::children(expr, &mut |e| children.push(e), &mut |q| queries.push(q));
    children.into_iter().for_each(|e| collect_group_parts(e, depth, parts));
    for query in queries {
        walk::query_exprs(query, 1, &mut |depth, e| {
            if let Some(own) = outer_var(e, depth) {
                if !parts.contains(&own) {
                    parts.push(own);
                }
            }
        });
    }
}

/// A variable of this level that an expression uses, sub-queries included.
pub(super) fn first_var(expr: &Expr) -> Option<Expr> {
    let mut vars = Vec::new();
    collect_vars(expr, &mut vars);
    vars.into_iter().next()
}

/// The variables of this level that an expression uses, sub-queries included.
pub(super) fn collect_vars(expr: &Expr, vars: &mut Vec<Expr>) {
    walk::deep(expr, 0, &mut |depth, e| {
        if let Some(own) = outer_var(e, depth) {
            if !vars.contains(&own) {
                vars.push(own);
            }
        }
    });
}

/// The largest parts of an expression that hold no set-returning function, leaving out constants.
pub(super) fn collect_plain_parts(expr: &Expr, parts: &mut Vec<Expr>) {
    if !walk::contains_set_function(expr) {
        let constant = matches!(expr.kind, ExprKind::Const(_) | ExprKind::Param(_));
        if !constant && !parts.contains(expr) {
            parts.push(expr.clone());
        }
        return;
    }
    let mut children = Vec::new();
    walk::children(expr, &mut |e| children.push(e), &mut |_| {});
    children.into_iter().for_each(|e| collect_plain_parts(e, parts));
}

/// Whether LIMIT's expression is a number that needs no check.
pub(super) fn plain_limit(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Const(Datum::Int(n)) if *n >= 0 => Some(*n),
        _ => None,
    }
}
