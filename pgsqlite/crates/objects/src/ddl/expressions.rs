//! Expressions that an object keeps are analyzed, printed for the catalog, and written as SQLite's.

#[cfg(debug_assertions)]
use super::stored_texts;
use super::Ddl;
use pgsqlite_sql::analyze;
use pgsqlite_sql::catalog::Relation;
use pgsqlite_sql::deparse::{self, Names, Style};
use pgsqlite_sql::lower;
use pgsqlite_sql::parse::ast;
use pgsqlite_sql::typed::Expr;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

impl Ddl<'_> {
    /// Analyzes an expression of the statement; gives its tree and the text to store. `place`: what messages call it, one of it.
    pub(super) fn expression(
        &self,
        node: &ast::Node,
        relation: Option<&Relation>,
        target: Option<(Oid, i32)>,
        place: &str,
    ) -> Result<(Expr, String)> {
        let expr = self.analyze(|e| analyze::analyze_expression_node(e, node, relation, target)).map_err(|mut e| {
            // the analyzer calls every expression outside a query "this expression"
            if e.message().contains("this expression") {
                let plural = match place.strip_suffix("index predicate") {
                    Some(_) => "index predicates".to_string(),
                    None => format!("{place}s"),
                };
                let word = if e.message().starts_with("cannot use subquery") { place } else { &plural };
                let message = e.message().replace("this expression", word);
                e.fields_mut().message = message;
            }
            e
        })?;
        let printed = self.analyze(|e| analyze::analyze_expression_to_print(e, node, relation, target))?;
        let stored = deparse::expression(Names::stored(&self.catalog), Style::Full, &printed, relation)?;
        // What cannot be read again would be in the way of every later statement about the object. (A whole row's name is that of a
        // table that may not be there yet; who may not use it refuses it.)
        if deparse::whole_row(&expr).is_some() {
            return Ok((expr, stored));
        }
        self.analyze_stored(|e| analyze::analyze_expression(e, &stored, relation, target)).map_err(|e| {
            PgError::not_supported(format!("storing this expression, whose text is not read again ({})", e.message()))
                .at(expr.location)
        })?;
        #[cfg(debug_assertions)]
        if stored_texts::compares() {
            self.analyze_stored(|e| {
                let lowered = |expr: &Expr| lower::lower_expression(e, expr, relation);
                let read = analyze::analyze_expression(e, &stored, relation, target).and_then(|read| lowered(&read));
                stored_texts::compare(place, &stored, lowered(&expr), read);
                Ok(())
            })?;
        }
        Ok((expr, stored))
    }

    /// An expression whose values are stored may call immutable functions only (`refusal` is the message). One that a user has made
    /// may not read tables where `place` is an index: SQLite computes a row's key again to take it out.
    pub(super) fn check_immutable(
        &self,
        expr: &Expr,
        (text, relation): (&str, &Relation),
        place: &str,
        refusal: &str,
    ) -> Result<()> {
        let mut found = pgsqlite_sql::volatility::volatility(&self.catalog, expr);
        if found.0 != b'i' {
            // a function in SQL is what its body is
            let inlined = self.analyze_stored(|e| analyze::analyze_index_expression(e, text, Some(relation), None))?;
            found = pgsqlite_sql::volatility::volatility(&self.catalog, &inlined);
        }
        match found {
            (b'i', None) => Ok(()),
            (b'i', Some(location)) => {
                let reads = |f: &Oid| pgsqlite_sql::effects::may_read_tables(&self.catalog, *f);
                if place.contains("index") && pgsqlite_sql::volatility::made_functions(expr).iter().any(reads) {
                    return Err(PgError::not_supported(format!("a function that reads tables in {place}")).at(location));
                }
                Ok(())
            }
            _ => Err(PgError::new(SqlState::INVALID_OBJECT_DEFINITION, refusal)),
        }
    }

    /// A stored expression as SQLite's SQL.
    pub(super) fn lower_stored(
        &self,
        text: &str,
        relation: Option<&Relation>,
        target: Option<(Oid, i32)>,
    ) -> Result<String> {
        self.analyze_stored(|e| {
            let expr = analyze::analyze_expression(e, text, relation, target)?;
            lower::lower_expression(e, &expr, relation)
        })
    }

    /// As [`Ddl::lower_stored`], of an expression of an index.
    pub(super) fn lower_index_part(&self, text: &str, relation: Option<&Relation>) -> Result<String> {
        self.analyze_stored(|e| {
            let expr = analyze::analyze_index_expression(e, text, relation, None)?;
            lower::lower_expression(e, &expr, relation)
        })
    }

    /// As [`Ddl::lower_index_part`], of the condition of an index.
    pub(super) fn lower_index_predicate(&self, text: &str, relation: Option<&Relation>) -> Result<String> {
        self.analyze_stored(|e| {
            let expr = analyze::analyze_index_expression(e, text, relation, Some((oid::BOOL, -1)))?;
            lower::lower_condition(e, &expr, relation)
        })
    }
}
