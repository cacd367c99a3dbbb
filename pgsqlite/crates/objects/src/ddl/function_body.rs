//! The bodies of functions: whether they are what the function says, and where an error in one is.

use super::function::invalid;
use super::{Ddl, NodeEnum};
use pgsqlite_sql::analyze::inline::{conversion, Parameters};
use pgsqlite_sql::analyze::{analyze_in_function, is_polymorphic, sql_body, Environment, Rights, Statement};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::is_optimizable;
use pgsqlite_sql::routine::{Function, Language};
use pgsqlite_sql::{effects, plpgsql};
use pgsqlite_types::{oid, work, Oid, PgError, Result, SqlState};

impl Ddl<'_> {
    /// Errors of the body that are told when the function is made.
    pub(super) fn check_body(&self, catalog: &Catalog, function: &Function) -> Result<()> {
        let polymorphic = function.arguments.iter().any(|a| is_polymorphic(a.type_oid));
        if self.session.skip_bodies {
            return Ok(());
        }
        match function.language {
            Language::Internal => {
                let symbol = function.source.as_str();
                if !pgsqlite_sql::builtins::catalog::all_procs().iter().any(|p| p.src == Some(symbol)) {
                    return Err(PgError::new(
                        SqlState::UNDEFINED_FUNCTION,
                        format!("there is no built-in function named \"{symbol}\""),
                    ));
                }
                Ok(())
            }
            Language::PlPgSql => plpgsql::parse_new(&function.source, &effects::given_of(function)).map(|_| ()),
            Language::Sql => {
                let body = sql_body(function)?;
                if polymorphic {
                    return Ok(());
                }
                let types = function.input_types();
                let parameters = Parameters::of(function, &types);
                let mut last: Option<Option<Statement>> = None;
                for node in &body {
                    work::visit();
                    if !is_optimizable(node) && function.standard {
                        return Err(PgError::not_supported("this statement in an unquoted SQL function body"));
                    }
                    if !is_optimizable(node) {
                        // what it makes is not there yet
                        if matches!(node, NodeEnum::TransactionStmt(_)) {
                            return Err(invalid("COMMIT is not allowed in an SQL function"));
                        }
                        last = Some(None);
                        if !super::handles(node) {
                            continue;
                        }
                        // (what comes last is looked at when it runs)
                        if body.last().is_some_and(is_optimizable) {
                            return Ok(());
                        }
                        break;
                    }
                    let analyzed = self.analyze_over(catalog, |e| {
                        let later = Environment { rights: Rights::AskedAtUse, ..*e };
                        analyze_in_function(&later, node, &parameters)
                    })?;
                    last = Some(Some(analyzed));
                }
                self.check_result(catalog, function, last)
            }
        }
    }

    /// The last statement of a body in SQL must give what the function returns.
    fn check_result(&self, catalog: &Catalog, function: &Function, last: Option<Option<Statement>>) -> Result<()> {
        let outputs: Vec<Oid> = function.outputs().map(|a| a.type_oid).collect();
        if function.returns == oid::VOID || function.procedure && outputs.is_empty() {
            return Ok(());
        }
        let mismatch = || {
            invalid(format!(
                "return type mismatch in function declared to return {}",
                self.display_type(function.returns)
            ))
        };
        let columns: Vec<Oid> = match last {
            Some(Some(Statement::Query(query))) => query.columns.iter().map(|c| c.ty).collect(),
            Some(Some(Statement::Modify(modify))) if !modify.returning.is_empty() => {
                modify.returning.iter().map(|t| t.expr.ty).collect()
            }
            Some(Some(Statement::Rewritten(rewritten))) if !rewritten.returning().is_empty() => {
                rewritten.returning().iter().map(|t| t.expr.ty).collect()
            }
            _ => {
                return Err(mismatch()
                    .detail("Function's final statement must be SELECT or INSERT/UPDATE/DELETE/MERGE RETURNING."))
            }
        };
        let converts = |from: Oid, to: Oid| -> Result<bool> {
            if from == to || from == oid::UNKNOWN {
                return Ok(true);
            }
            self.analyze_over(catalog, |e| conversion(e, from, to, -1, false)).map(|q| q.is_some())
        };
        let fields: Option<Vec<Oid>> = if outputs.len() > 1 || function.procedure {
            Some(outputs)
        } else {
            catalog.composite_fields(function.returns).map(|f| f.into_iter().map(|(_, ty, _)| ty).collect())
        };
        match fields {
            None if function.returns == oid::RECORD => Ok(()),
            None => {
                let [one] = columns[..] else {
                    return Err(mismatch().detail("Final statement must return exactly one column."));
                };
                if !converts(one, function.returns)? {
                    return Err(mismatch().detail(format!("Actual return type is {}.", self.display_type(one))));
                }
                Ok(())
            }
            Some(fields) => {
                if let [one] = columns[..] {
                    if one == function.returns || one == oid::RECORD && fields.len() != 1 {
                        return Ok(());
                    }
                }
                for (i, &column) in columns.iter().enumerate() {
                    work::visit();
                    let Some(&field) = fields.get(i) else {
                        return Err(mismatch().detail("Final statement returns too many columns."));
                    };
                    if !converts(column, field)? {
                        return Err(mismatch().detail(format!(
                            "Final statement returns {} instead of {} at column {}.",
                            self.display_type(column),
                            self.display_type(field),
                            i + 1
                        )));
                    }
                }
                if columns.len() < fields.len() {
                    return Err(mismatch().detail("Final statement returns too few columns."));
                }
                Ok(())
            }
        }
    }

    /// As [`Ddl::find_function`], for messages that list types without blanks.
    pub(super) fn missing_text(message: &str) -> String {
        message.replace(", ", ",")
    }
}

/// The body in a statement's text that is written in the SQL standard's way: from RETURN or BEGIN ATOMIC on.
pub(super) fn standard_text(text: &str) -> Result<String> {
    let tokens = pgsqlite_sql::parse::words(text)?;
    let mut depth = 0i32;
    for (i, (start, end)) in tokens.iter().enumerate() {
        work::visit();
        let word = text[*start..*end].to_ascii_lowercase();
        match word.as_str() {
            "(" => depth += 1,
            ")" => depth -= 1,
            "return" if depth == 0 => return Ok(text[*start..].to_string()),
            "begin" if depth == 0 => {
                let next = tokens.get(i + 1).map(|(s, e)| text[*s..*e].to_ascii_lowercase());
                if next.as_deref() == Some("atomic") {
                    return Ok(text[*start..].to_string());
                }
            }
            _ => {}
        }
    }
    Err(PgError::internal("a body that is not in the text"))
}

/// An error whose location counts in a body, with its location in the statement that has the body as a literal.
pub fn body_place(mut error: PgError, statement: &str, offset: usize, body: &str, standard: bool) -> PgError {
    let location = error.fields_mut().location.take();
    let Some(location) = location.filter(|_| !standard) else { return error };
    match body_start(statement, body) {
        Some((start, quoted)) => {
            let mut at = start + offset;
            // a quoted literal has its quotes doubled
            for b in body.bytes().take(location) {
                work::visit();
                at += if quoted && b == b'\'' { 2 } else { 1 };
            }
            error.at(at as i32)
        }
        None => error,
    }
}

/// Where the text of a literal begins in a statement, and whether it is in quotes (else in dollars).
fn body_start(statement: &str, body: &str) -> Option<(usize, bool)> {
    let words = pgsqlite_sql::parse::words(statement).ok()?;
    words.into_iter().find_map(|(start, end)| {
        let written = &statement[start..end];
        if let Some(inner) = written.strip_prefix('\'') {
            return (inner.strip_suffix('\'')?.replace("''", "'") == body).then_some((start + 1, true));
        }
        let tag = written.strip_prefix('$')?.find('$')? + 2;
        let inner = written.get(tag..written.len().checked_sub(tag)?)?;
        (inner == body).then_some((start + tag, false))
    })
}
