//! The Informix types of what a query gives: of the columns of derived tables and of WITH, and of the values of INSERT … SELECT.

use super::ast::*;
use super::column_order::columns_of;
use super::moments::{cut_interval, truncated};
use super::print::{Printer, Scope};
use super::Parse;
use crate::errors::Failure;
use crate::values::qualifier;
use crate::values::types::Type;
use pgsqlite_types::work;

/// A column of a query: its name, if it has one, and its type, if that is known.
pub(super) type QueryColumn = (Option<String>, Option<Type>);

impl Printer<'_> {
    /// The columns of a query; None: their number is not known.
    pub(super) fn query_columns(&mut self, query: &Query) -> Parse<Option<Vec<QueryColumn>>> {
        let with = self.with.len();
        for (name, columns, inner) in &query.with {
            work::visit();
            self.enter_with(name, columns, inner)?;
        }
        let found = self.body_columns(&query.body);
        self.with.truncate(with);
        found
    }

    /// The name of a query of WITH is known from here on.
    pub(super) fn enter_with(&mut self, name: &str, columns: &[String], query: &Query) -> Parse<()> {
        let found = self.query_columns(query)?;
        self.with.push((name.to_string(), renamed(found, columns)));
        Ok(())
    }

    /// The columns of a name of WITH, if it is one.
    pub(super) fn with_columns(&self, name: &Name) -> Option<&Option<Vec<QueryColumn>>> {
        if name.owner.is_some() || name.database.is_some() {
            return None;
        }
        self.with.iter().rev().find(|(n, _)| *n == name.name).map(|(_, columns)| columns)
    }

    fn body_columns(&mut self, body: &Body) -> Parse<Option<Vec<QueryColumn>>> {
        match body {
            Body::Set(_, left, right) => {
                let (left, right) = (self.body_columns(left)?, self.body_columns(right)?);
                Ok(left.zip(right).map(|(left, right)| {
                    let same = |((name, a), (_, b)): (QueryColumn, QueryColumn)| (name, a.filter(|a| Some(*a) == b));
                    left.into_iter().zip(right).map(same).collect()
                }))
            }
            Body::Select(select) => {
                let mut scope = Vec::new();
                for source in &select.from {
                    work::visit();
                    self.tables(source, &mut scope)?;
                }
                self.scopes.push(scope);
                let found = self.select_columns(select);
                self.scopes.pop();
                Ok(found)
            }
        }
    }

    fn select_columns(&self, select: &Select) -> Option<Vec<QueryColumn>> {
        let mut out = Vec::new();
        for item in &select.items {
            work::visit();
            match item {
                Item::Star(table) => {
                    let tables = self.scopes.last().into_iter().flatten();
                    for scope in tables.filter(|s| table.as_ref().is_none_or(|t| *t == s.alias)) {
                        work::visit();
                        out.extend(self.scope_columns(scope)?);
                    }
                }
                Item::Expr(value, alias) => {
                    let own = match value {
                        Expr::Column(path) => path.last().cloned(),
                        _ => None,
                    };
                    out.push((alias.clone().or(own), self.known_type(value)));
                }
            }
        }
        Some(out)
    }

    fn scope_columns(&self, scope: &Scope) -> Option<Vec<QueryColumn>> {
        if let Some(relation) = &scope.relation {
            let catalog = &self.environment.catalog;
            return Some(
                columns_of(catalog, relation)
                    .into_iter()
                    .map(|c| (Some(c.name.clone()), Type::of_column(catalog, c)))
                    .collect(),
            );
        }
        scope.query.clone()
    }

    /// The scope of a query under an alias.
    pub(super) fn scope_of_query(alias: String, query: Option<Vec<QueryColumn>>) -> Scope {
        let columns = query.as_ref().and_then(|q| q.iter().map(|(name, _)| name.clone()).collect());
        Scope { alias, relation: None, columns, query }
    }

    /// A value that a query gave, of the type `source`, as an assignment to a column of the type `target` has it; None: as it is.
    /// Errors: -1260 where there is no such conversion.
    pub(super) fn converted(&self, value: &str, source: Option<Type>, target: Option<Type>) -> Parse<Option<String>> {
        let Some(target) = target.filter(|_| source != target) else { return Ok(None) };
        let no_conversion = Err(Failure::new(-1260, 0, ""));
        Ok(match (source, target) {
            (Some(Type::Interval(_)), Type::DateTime(_)) | (Some(Type::DateTime(_)), Type::Interval(_)) => {
                return no_conversion
            }
            (Some(Type::Interval(a)), Type::Interval(b)) if a.is_year_month() != b.is_year_month() => {
                return no_conversion
            }
            (_, Type::DateTime(q)) if q.from == qualifier::YEAR => {
                Some(truncated(&format!("({value})::timestamp"), q)?)
            }
            (_, Type::DateTime(q)) if q.from == qualifier::HOUR => {
                Some(truncated(&format!("(date '2000-01-01' + ({value})::time)"), q)?)
            }
            (Some(source), Type::Interval(_)) if source.is_character() => {
                return Err(Failure::refused("characters of a query as an INTERVAL"));
            }
            // the sum refuses characters, which would be read without the qualifier
            (_, Type::Interval(q)) => Some(cut_interval(&format!("({value} + interval '0')"), q)?),
            (Some(Type::Char(_) | Type::NChar(_)), Type::Char(_) | Type::NChar(_)) => None,
            (source, target) if target.is_integer() => {
                super::whole::cut(value, source).map(|cut| format!("({cut})::{}", target.storage()))
            }
            (Some(source), target) if target.is_character() => self.characters_of(value, source)?,
            _ => None,
        })
    }
}

/// Columns under the names of a list, if there is one.
pub(super) fn renamed(found: Option<Vec<QueryColumn>>, names: &[String]) -> Option<Vec<QueryColumn>> {
    match (found, names) {
        (found, []) => found,
        (Some(found), names) if found.len() == names.len() => {
            Some(names.iter().cloned().map(Some).zip(found.into_iter().map(|(_, ty)| ty)).collect())
        }
        (_, names) => Some(names.iter().map(|n| (Some(n.clone()), None)).collect()),
    }
}
