//! Typed tree → PostgreSQL SQL text, as PostgreSQL's ruleutils prints it: for defaults, checks, index expressions and views.
//!
//! The texts are what is stored (with every name of the user qualified: [`Names::stored`]) and what `pg_get_expr`,
//! `pg_get_viewdef` and their kin print (along the session's search path). Names come from the catalog by OID and attribute
//! number, so a text analyzed before a rename and printed with the catalog after it follows the rename.

mod expr;
pub mod names;
mod query;

pub use names::{quote_identifier, quote_literal, Names};

use crate::catalog::Relation;
use crate::parse::{ast, NodeEnum};
use crate::typed::{Expr, Query, RangeTableEntry};
use pgsqlite_types::{PgError, Result};

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
    pub ctes: Vec<String>,
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
}

impl<'a> Printer<'a> {
    fn new(names: Names<'a>, style: Style, relation: Option<&'a Relation>) -> Printer<'a> {
        Printer { names, style, out: String::new(), indent: 0, levels: Vec::new(), relation }
    }
}

/// An expression over the columns of one relation (see [`crate::analyze::analyze_expression`]). `relation` is the one it was
/// analyzed over; column names are looked up by attribute number in `names`' catalog, so that they follow a rename.
pub fn expression(names: Names, style: Style, expr: &Expr, relation: Option<&Relation>) -> Result<String> {
    let mut printer = Printer::new(names, style, relation);
    printer.expr(expr, false)?;
    Ok(printer.out)
}

/// A query as `pg_get_viewdef` prints it, without the final `;`.
pub fn query(names: Names, style: Style, query: &Query) -> Result<String> {
    let mut printer = Printer::new(names, style, None);
    printer.query(query)?;
    Ok(printer.out)
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
