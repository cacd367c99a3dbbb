//! Names in the body of a function: its parameters and variables, which are parameters of the statements that use them.
//!
//! The language says what a name means ([`Variables`]); the statement is analyzed with that name as `$n` of its type.

use super::Analyzer;
use crate::analyze::typename::name_parts;
use crate::parse::{ast, NodeEnum};
use crate::typed::{Expr, ExprKind};
use pgsqlite_types::{Oid, PgError, Result, SqlState};

/// A parameter of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// `$n`
    pub number: usize,
    pub ty: Oid,
    pub typmod: i32,
}

impl Variable {
    pub(crate) fn expr(self, location: i32) -> Expr {
        Expr { typmod: self.typmod, ..Expr::new(ExprKind::Param(self.number), self.ty, location) }
    }
}

/// What a name means that could be a variable or a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precedence {
    Columns,
    Variables,
    /// neither: 42702
    Error,
}

/// The names of a function's body. A name that is asked for becomes a parameter of the statement.
pub trait Variables {
    /// The variable (or field of one) that a name of one to three parts begins with, and how many of the parts it takes: those
    /// behind it are fields of its value.
    fn find(&self, names: &[&str]) -> Result<Option<(Variable, usize)>>;
    /// `$n` as the body writes it
    fn parameter(&self, n: usize) -> Result<Option<Variable>>;
    /// The fields of a variable that is a row, for `variable.*`.
    fn fields(&self, names: &[&str]) -> Result<Option<Vec<(String, Variable)>>>;
    /// The subscripts of this variable count from 0 (TG_ARGV).
    fn counts_from_zero(&self, _names: &[&str]) -> bool {
        false
    }
    /// The values may have come from columns of other collations than the database's.
    fn may_be_collated(&self) -> bool {
        true
    }
    fn precedence(&self) -> Precedence;
    /// How the language calls a variable in DETAIL of 42702.
    fn word(&self) -> &'static str {
        "PL/pgSQL variable"
    }
}

impl<'a> Analyzer<'a> {
    /// A name in an expression: a column or, in a function's body, a variable.
    pub(crate) fn column_or_variable(&mut self, c: &ast::ColumnRef) -> Result<Expr> {
        let Some(variables) = self.variables else { return self.column_ref(c) };
        if c.fields.iter().any(|f| matches!(f.node, Some(NodeEnum::AStar(_)))) {
            // `v.*` as a value: the whole row
            let parts = name_parts(&c.fields[..c.fields.len() - 1]);
            if !parts.is_empty() && variables.fields(&parts)?.is_some() {
                if let Some(found) = self.variable(variables, &parts, c.location)? {
                    return Ok(found);
                }
            }
            return self.column_ref(c);
        }
        let parts = name_parts(&c.fields);
        match variables.precedence() {
            Precedence::Variables => match self.variable(variables, &parts, c.location)? {
                Some(found) => Ok(found),
                None => self.column_ref(c),
            },
            Precedence::Columns => match self.column_ref(c) {
                Err(e) if is_missing(&e) => match self.variable(variables, &parts, c.location)? {
                    Some(found) => Ok(found),
                    None => Err(e),
                },
                other => other,
            },
            Precedence::Error => match self.column_ref(c) {
                Err(e) if is_missing(&e) => match self.variable(variables, &parts, c.location)? {
                    Some(found) => Ok(found),
                    None => Err(e),
                },
                Ok(column) => match variables.find(&parts)? {
                    Some(_) => Err(PgError::new(
                        SqlState::AMBIGUOUS_COLUMN,
                        format!("column reference \"{}\" is ambiguous", parts.join(".")),
                    )
                    .detail(format!("It could refer to either a {} or a table column.", variables.word()))
                    .at(c.location)),
                    None => Ok(column),
                },
                other => other,
            },
        }
    }

    fn variable(&mut self, variables: &dyn Variables, names: &[&str], location: i32) -> Result<Option<Expr>> {
        let Some((found, used)) = variables.find(names)? else { return Ok(None) };
        let mut expr = found.expr(location);
        for field in &names[used..] {
            expr = self.field(expr, field)?;
        }
        Ok(Some(expr))
    }

    /// The fields that `v.*` in a select list stands for; None: `v` is no variable.
    pub(crate) fn variable_fields(&self, c: &ast::ColumnRef) -> Result<Option<Vec<(String, Expr)>>> {
        let Some(variables) = self.variables else { return Ok(None) };
        let parts = name_parts(&c.fields[..c.fields.len().saturating_sub(1)]);
        if parts.is_empty() {
            return Ok(None);
        }
        let fields = variables.fields(&parts)?;
        Ok(fields.map(|list| list.into_iter().map(|(name, v)| (name, v.expr(c.location))).collect()))
    }

    /// The star of a parameter of a row type: each of its fields.
    pub(crate) fn fields_of_parameter(&self, parts: &[&str], location: i32) -> Result<Option<Vec<(String, Expr)>>> {
        let Some(variables) = self.variables else { return Ok(None) };
        let Some((whole, used)) = variables.find(parts)? else { return Ok(None) };
        let Some(fields) = self.env.catalog.composite_fields(self.base_type(whole.ty)) else { return Ok(None) };
        if used != parts.len() {
            return Ok(None);
        }
        let field = |(index, (name, ty, typmod)): (usize, (String, Oid, i32))| {
            let kind = ExprKind::Field { arg: Box::new(whole.expr(location)), index, name: name.clone() };
            (name, Expr::new(kind, ty, location).with_typmod(typmod))
        };
        Ok(Some(fields.into_iter().enumerate().map(field).collect()))
    }
}

/// There is no such column (or table).
fn is_missing(error: &PgError) -> bool {
    matches!(error.code(), SqlState::UNDEFINED_COLUMN | SqlState::UNDEFINED_TABLE | SqlState::UNDEFINED_SCHEMA)
}
