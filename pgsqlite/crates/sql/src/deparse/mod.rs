//! Typed tree → PostgreSQL SQL text, as PostgreSQL's ruleutils prints it: for defaults, checks, index expressions and views.
//!
//! The texts are what is stored (with every name of the user qualified: [`Names::stored`]) and what `pg_get_expr`,
//! `pg_get_viewdef` and their kin print (along the session's search path). Names come from the catalog by OID and attribute
//! number, so a text analyzed before a rename and printed with the catalog after it follows the rename.

mod columns;
pub mod definitions;
mod expr;
mod from;
mod function_body;
pub mod modify;
mod query;
mod rule_references;
mod session_names;
mod sql_json;

pub use crate::names::{self, quote_constant, quote_identifier, quote_literal, Names};
pub use crate::walk::columns_used;
pub use definitions::{condition_anew, condition_references, condition_text, trigger_condition};
pub use function_body::{function_body, stored_body};
pub use rule_references::{rule_references, statement_references};

use crate::catalog::Relation;
use crate::parse::{ast, NodeEnum};
use crate::typed::{Expr, ExprKind, FromItem, Query, QueryBody, RangeTableEntry, RteKind};
use crate::walk;
use pgsqlite_types::work;
use pgsqlite_types::{Datum, Oid, PgError, Result};

/// How texts are printed: ruleutils' pretty flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// All parentheses: `pg_get_expr(…)`, and what is stored.
    Full,
    /// Only the parentheses that are needed: `pg_get_expr(…, true)`, what psql's `\d` shows.
    Pretty,
}

/// What the columns of an expression belong to: one query level.
pub(crate) struct Level<'a> {
    pub entries: &'a [RangeTableEntry],
    /// the name each entry is referred to by (made unique)
    pub aliases: Vec<String>,
    /// column references carry the entry's name
    pub qualify: bool,
    pub windows: &'a [crate::typed::Window],
    /// the grouping expressions, for GROUPING(…)
    pub group_by: &'a [crate::typed::Expr],
    /// names of the WITH queries defined here, and of their columns
    pub ctes: Vec<(String, Vec<String>)>,
    /// what the columns of each entry are called
    pub columns: std::rc::Rc<Vec<columns::ColumnNames>>,
}

/// The state of printing one text.
pub(crate) struct Printer<'a> {
    pub names: Names<'a>,
    pub style: Style,
    pub out: String,
    pub indent: i32,
    /// innermost last
    pub levels: Vec<Level<'a>>,
    /// the relation whose columns a stand-alone expression names
    pub relation: Option<&'a Relation>,
    /// how many levels there are where columns are named without their table; 0: nowhere
    pub bare: usize,
    /// outputs without a name of their own would be called `?column?` by everybody who reads the text
    pub names_visible: bool,
    /// what `$n` is called
    pub parameters: Option<function_body::ParameterNames>,
    /// all on one line
    pub flat: bool,
    /// where columns are named without their table: the outputs' names, with the column that each is if it is one
    pub outputs: Vec<(String, Option<crate::typed::Var>)>,
}

impl<'a> Printer<'a> {
    fn new(names: Names<'a>, style: Style, relation: Option<&'a Relation>) -> Printer<'a> {
        Printer {
            names,
            style,
            out: String::new(),
            indent: 0,
            levels: Vec::new(),
            relation,
            bare: 0,
            names_visible: true,
            parameters: None,
            flat: false,
            outputs: Vec::new(),
        }
    }
}

/// An expression over the columns of one relation (see [`crate::analyze::analyze_expression`]). `relation` is the one it was
/// analyzed over; column names are looked up by attribute number in `names`' catalog, so that they follow a rename.
pub fn expression(names: Names, style: Style, expr: &Expr, relation: Option<&Relation>) -> Result<String> {
    let mut printer = Printer::new(names, style, relation);
    printer.expr(expr, false)?;
    Ok(printer.out)
}

/// A policy's condition over its table (see [`crate::analyze::analyze_policy`]).
pub fn policy(names: Names, style: Style, expr: &Expr, table: &Relation) -> Result<String> {
    let now = names.catalog.relation(table.oid).map_or(table.name.clone(), |r| r.name.clone());
    let columns = crate::analyze::relation_columns(table);
    let kind = RteKind::Relation(std::sync::Arc::new(table.clone()));
    let entries = [crate::analyze::entry(kind, now.clone(), false, columns)];
    let mut printer = Printer::new(names, style, None);
    let columns = columns::column_names(printer.names.catalog, &entries, &[], &|_| None);
    printer.levels.push(Level {
        entries: &entries,
        aliases: vec![now],
        qualify: false,
        windows: &[],
        group_by: &[],
        ctes: vec![],
        columns: std::rc::Rc::new(columns),
    });
    printer.expr(expr, false)?;
    Ok(printer.out)
}

/// A query as `pg_get_viewdef` prints it, without the final `;`.
pub fn query(names: Names, style: Style, query: &Query) -> Result<String> {
    let mut printer = Printer::new(names, style, None);
    let outputs: Vec<String> = query.columns.iter().map(|c| c.name.clone()).collect();
    printer.query_as(query, Some(&outputs))?;
    Ok(printer.out)
}

/// An object (class is the OID of its catalog) or, with `sub` > 0, a column that an expression or query names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    pub class: Oid,
    pub object: Oid,
    pub sub: i32,
}

/// What [`Reference::class`] is for a relation: the OID of pg_class.
pub const CLASS_RELATION: Oid = 1259;
const CLASS_TYPE: Oid = 1247;
const CLASS_CONSTRAINT: Oid = 2606;
const CLASS_FUNCTION: Oid = 1255;
const CLASS_OPERATOR: Oid = 2617;
/// What [`Reference::class`] is for a collation that COLLATE names.
pub const CLASS_COLLATION: Oid = 3456;
/// What [`Reference::class`] is for a configuration of text search.
pub const CLASS_TS_CONFIGURATION: Oid = 3602;

fn expr_references(expr: &Expr, out: &mut std::collections::BTreeSet<Reference>) {
    if expr.ty >= pgsqlite_types::oid::FIRST_USER_OID {
        out.insert(Reference { class: CLASS_TYPE, object: expr.ty, sub: 0 });
    }
    let called = match &expr.kind {
        ExprKind::Func { proc, .. } | ExprKind::SetFunc { proc, .. } => *proc,
        ExprKind::Aggregate(call) | ExprKind::Window { call, .. } => call.proc,
        ExprKind::Cast { method: crate::typed::CastMethod::Function(proc), .. } => *proc,
        _ => 0,
    };
    let operator = match &expr.kind {
        ExprKind::Op { op, .. } | ExprKind::Distinct { op, .. } | ExprKind::InList { op, .. } => op.oid,
        ExprKind::ArrayCompare { op, .. } | ExprKind::NullIf { op, .. } => op.oid,
        _ => 0,
    };
    if operator >= pgsqlite_types::oid::FIRST_USER_OID {
        out.insert(Reference { class: CLASS_OPERATOR, object: operator, sub: 0 });
    }
    if called >= pgsqlite_types::oid::FIRST_USER_OID {
        out.insert(Reference { class: CLASS_FUNCTION, object: called, sub: 0 });
    }
    if let (ExprKind::Const(Datum::Int(value)), pgsqlite_types::oid::REGCLASS) = (&expr.kind, expr.ty) {
        out.insert(Reference { class: CLASS_RELATION, object: *value as Oid, sub: 0 });
    }
    let is_collated = matches!(&expr.kind, ExprKind::Cast { form: crate::typed::CastForm::Collate, .. });
    if is_collated && expr.collation >= pgsqlite_types::oid::FIRST_USER_OID {
        out.insert(Reference { class: CLASS_COLLATION, object: expr.collation, sub: 0 });
    }
    if let (ExprKind::Const(Datum::Int(value)), pgsqlite_types::oid::REGCONFIG) = (&expr.kind, expr.ty) {
        if *value >= i64::from(pgsqlite_types::oid::FIRST_USER_OID) {
            out.insert(Reference { class: CLASS_TS_CONFIGURATION, object: *value as Oid, sub: 0 });
        }
    }
}

/// The user's objects that an expression names: types, functions and operators, and what constants of the types regclass and regconfig name.
pub fn expression_references(expr: &Expr) -> Vec<Reference> {
    let mut out = std::collections::BTreeSet::new();
    walk::deep(expr, 0, &mut |_, e| expr_references(e, &mut out));
    out.into_iter().collect()
}

/// Where an expression over a relation uses its whole row.
pub fn whole_row(expr: &Expr) -> Option<i32> {
    let mut found = None;
    walk::deep(expr, 0, &mut |depth, e| {
        if let ExprKind::WholeRow { levels_up, .. } = &e.kind {
            if *levels_up == depth {
                found.get_or_insert(e.location);
            }
        }
    });
    found
}

/// What a policy of a relation names: the relation's columns, the objects of its sub-queries, functions and types.
pub fn policy_references(expr: &Expr, relation: &Relation) -> Vec<Reference> {
    let mut out: Vec<Reference> = expression_references(expr);
    let own = |attnum| Reference { class: CLASS_RELATION, object: relation.oid, sub: i32::from(attnum) };
    out.extend(relation_columns(expr, relation).into_iter().map(own));
    walk::deep(expr, 0, &mut |_, e| {
        if let ExprKind::SubLink { query, .. } = &e.kind {
            out.extend(query_references(query));
        }
    });
    out
}

/// The columns of a relation that an expression over them uses.
pub fn relation_columns(expr: &Expr, relation: &Relation) -> Vec<i16> {
    let mut out = std::collections::BTreeSet::new();
    walk::deep(expr, 0, &mut |depth, e| {
        if let ExprKind::Var(v) = &e.kind {
            if v.levels_up == depth {
                out.extend(relation.live_columns().nth(v.column).map(|c| c.attnum));
            }
        }
    });
    out.into_iter().collect()
}

/// The objects that a query names: its relations, the columns of them it uses, types, regclass constants, and the primary keys
/// that its ungrouped columns depend on.
pub fn query_references(query: &Query) -> Vec<Reference> {
    let mut out = std::collections::BTreeSet::new();
    walk::query_exprs(query, 0, &mut |_, e| expr_references(e, &mut out));
    levels(query, &mut Vec::new(), &mut out);
    out.into_iter().collect()
}

/// The sub-queries in this level's expressions (not those inside them).
fn sub_queries(query: &Query) -> Vec<&Query> {
    fn of_expr<'q>(expr: &'q Expr, out: &mut Vec<&'q Query>) {
        let mut inner: Vec<&'q Expr> = Vec::new();
        walk::children(expr, &mut |e| inner.push(e), &mut |q| out.push(q));
        inner.into_iter().for_each(|e| of_expr(e, out));
    }
    fn of_from<'q>(item: &'q FromItem, out: &mut Vec<&'q Query>) {
        if let FromItem::Join { left, right, on, .. } = item {
            of_from(left, out);
            of_from(right, out);
            on.iter().for_each(|e| of_expr(e, out));
        }
    }
    let mut out = Vec::new();
    for entry in &query.range_table {
        work::visit();
        match &entry.kind {
            RteKind::Function { functions, .. } => functions.iter().for_each(|f| of_expr(&f.call, &mut out)),
            RteKind::Values { rows, .. } => rows.iter().flatten().for_each(|e| of_expr(e, &mut out)),
            _ => {}
        }
    }
    match &query.body {
        QueryBody::Select(select) => {
            select.from.iter().for_each(|item| of_from(item, &mut out));
            let targets = select.targets.iter().map(|t| &t.expr);
            targets
                .chain(&select.filter)
                .chain(&select.having)
                .chain(&select.group_by)
                .for_each(|e| of_expr(e, &mut out));
        }
        QueryBody::Values(rows) => rows.iter().flatten().for_each(|e| of_expr(e, &mut out)),
        QueryBody::SetOperation { .. } => {}
    }
    query.order_by.iter().for_each(|k| of_expr(&k.expr, &mut out));
    query.limit.iter().chain(&query.offset).for_each(|e| of_expr(e, &mut out));
    out
}

/// The sub-queries in an expression (not those inside them).
fn sub_queries_of(expr: &Expr) -> Vec<&Query> {
    fn of_expr<'q>(expr: &'q Expr, out: &mut Vec<&'q Query>) {
        let mut inner: Vec<&'q Expr> = Vec::new();
        walk::children(expr, &mut |e| inner.push(e), &mut |q| out.push(q));
        inner.into_iter().for_each(|e| of_expr(e, out));
    }
    let mut out = Vec::new();
    of_expr(expr, &mut out);
    out
}

/// Relations and their columns, level by level (a column reference counts levels outwards).
fn levels<'q>(query: &'q Query, outer: &mut Vec<&'q Query>, out: &mut std::collections::BTreeSet<Reference>) {
    outer.push(query);
    for entry in &query.range_table {
        work::visit();
        match &entry.kind {
            RteKind::Relation(relation) => {
                out.insert(Reference { class: CLASS_RELATION, object: relation.oid, sub: 0 });
            }
            RteKind::Subquery { query, .. } => levels(query, outer, out),
            _ => {}
        }
    }
    for cte in &query.ctes {
        work::visit();
        if let crate::typed::CteBody::Query(q) = &cte.body {
            levels(q, outer, out);
        }
    }
    if let QueryBody::SetOperation { left, right, .. } = &query.body {
        levels(left, outer, out);
        levels(right, outer, out);
    }
    grouping_keys(query, out);
    let depth = outer.len();
    let stack: Vec<&Query> = outer.clone();
    walk::query_exprs(query, 0, &mut |deep, e| {
        if let ExprKind::Var(v) = &e.kind {
            // Levels below this query are not on the stack; what they name of this level or outside of it is.
            let Some(up) = v.levels_up.checked_sub(deep) else { return };
            let Some(level) = depth.checked_sub(1 + up).and_then(|i| stack.get(i)) else { return };
            if let Some(entry) = level.range_table.get(v.rte) {
                if let (RteKind::Relation(relation), Some(column)) = (&entry.kind, entry.columns.get(v.column)) {
                    out.insert(Reference {
                        class: CLASS_RELATION,
                        object: relation.oid,
                        sub: i32::from(column.attnum),
                    });
                }
            }
        }
    });
    for sub in sub_queries(query) {
        work::visit();
        levels(sub, outer, out);
    }
    outer.pop();
}

/// GROUP BY a primary key: columns that are not grouped may be used because of that constraint.
fn grouping_keys(query: &Query, out: &mut std::collections::BTreeSet<Reference>) {
    let QueryBody::Select(select) = &query.body else { return };
    if select.group_by.is_empty() || !select.grouping_sets.is_empty() {
        return;
    }
    let grouped = |rte: usize, column: usize| {
        select
            .group_by
            .iter()
            .any(|e| matches!(&e.kind, ExprKind::Var(v) if v.levels_up == 0 && v.rte == rte && v.column == column))
    };
    for (rte, entry) in query.range_table.iter().enumerate() {
        work::visit();
        let RteKind::Relation(relation) = &entry.kind else { continue };
        let Some(key) = relation.primary_constraint() else { continue };
        let position = |attnum: &i16| entry.columns.iter().position(|c| c.attnum == *attnum);
        if !key.columns.iter().all(|a| position(a).is_some_and(|column| grouped(rte, column))) {
            continue;
        }
        let mut used = false;
        for expr in select.targets.iter().map(|t| &t.expr).chain(&select.having) {
            work::visit();
            used |= uses_ungrouped(expr, &|v| v.levels_up == 0 && v.rte == rte && !grouped(rte, v.column));
        }
        if used {
            out.insert(Reference { class: CLASS_CONSTRAINT, object: key.oid, sub: 0 });
        }
    }
}

/// Whether an expression uses a column outside of aggregates.
fn uses_ungrouped(expr: &Expr, test: &dyn Fn(&crate::typed::Var) -> bool) -> bool {
    match &expr.kind {
        ExprKind::Var(v) => test(v),
        ExprKind::Aggregate(_) => false,
        _ => {
            let mut found = false;
            walk::children(expr, &mut |e| found |= uses_ungrouped(e, test), &mut |_| {});
            found
        }
    }
}

/// An expression of the parse tree as SQL text.
pub fn raw_expression(node: &ast::Node) -> Result<String> {
    let target = ast::ResTarget { val: Some(Box::new(node.clone())), ..Default::default() };
    let select = ast::SelectStmt {
        target_list: vec![ast::Node { node: Some(NodeEnum::ResTarget(Box::new(target))) }],
        limit_option: ast::LimitOption::Default as i32,
        op: ast::SetOperation::SetopNone as i32,
        ..Default::default()
    };
    let text = raw_statement(&NodeEnum::SelectStmt(Box::new(select)))?;
    text.strip_prefix("SELECT ")
        .map(str::to_string)
        .ok_or_else(|| PgError::internal(format!("unexpected text of an expression: {text}")))
}

/// A statement of the parse tree as SQL text.
pub fn raw_statement(node: &NodeEnum) -> Result<String> {
    let statement = ast::RawStmt { stmt: Some(Box::new(ast::Node { node: Some(node.clone()) })), ..Default::default() };
    let tree = ast::ParseResult { version: 0, stmts: vec![statement] };
    pg_query::deparse(&tree, Default::default()).map_err(|e| PgError::internal(format!("text of a parse tree: {e}")))
}
