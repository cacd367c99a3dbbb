//! Synonyms: other names of tables, views and sequences.
//!
//! PostgreSQL has none. One is kept as a function of the schema `informix` whose source is the statement that made it: so it is stored,
//! and goes, with the catalog. Only Informix's statements know what it means.

use super::ast::*;
use super::lexer::tokens;
use super::parser::Parser;
use super::print::{ident, Printer};
use super::spl::routine::{dollar_quoted, marked, text_of};
use super::Parse;
use crate::errors::Failure;
use crate::values::types::SCHEMA;
use pgsqlite_sql::catalog::{Catalog, Relation};
use pgsqlite_sql::routine::Routine;
use std::sync::Arc;

const PREFIX: &str = "synonym ";

/// A synonym's name and what it means.
fn meaning(routine: &Routine) -> Option<(String, Name)> {
    let text = text_of(routine)?;
    let mut parser = Parser::new(&text, tokens(&text, true).ok()?);
    parser.expect("create").ok()?;
    match parser.synonym().ok()? {
        Statement::CreateSynonym { name, target, .. } => Some((name.name, target)),
        _ => None,
    }
}

/// All synonyms, with their functions.
pub(super) fn all(catalog: &Catalog) -> impl Iterator<Item = (&Arc<Routine>, String, Name)> {
    let own = catalog.schema_oid(SCHEMA);
    let routines = catalog.routines.values().filter(move |r| Some(r.function.schema) == own);
    routines.filter(|r| r.function.name.starts_with(PREFIX)).filter_map(|r| {
        let (name, target) = meaning(r)?;
        Some((r, name, target))
    })
}

impl Parser<'_> {
    /// Behind CREATE: `[PUBLIC | PRIVATE] SYNONYM [IF NOT EXISTS] name FOR table`
    pub(super) fn synonym(&mut self) -> Parse<Statement> {
        let _ = self.accept("public") || self.accept("private");
        self.expect("synonym")?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.name()?;
        self.expect("for")?;
        Ok(Statement::CreateSynonym { name, target: self.name()?, if_not_exists })
    }
}

impl Printer<'_> {
    fn synonym(&self, name: &str) -> Option<Name> {
        let catalog = &self.environment.catalog;
        let own = catalog.schema_oid(SCHEMA)?;
        let found = catalog.routines_named(&format!("{PREFIX}{name}")).find(|r| r.function.schema == own)?;
        Some(meaning(found)?.1)
    }

    /// What a synonym means, if the name is one.
    pub(super) fn of_synonym(&self, name: &Name) -> Option<Arc<Relation>> {
        // a synonym of a synonym was made one of its table
        self.relation_itself(&self.synonym(&name.name)?)
    }

    /// CREATE SYNONYM. Errors: -310 for a name that is taken, -206 for a table that is not there.
    pub(super) fn create_synonym(&mut self, name: &Name, target: &Name, if_not_exists: bool) -> Parse<Vec<String>> {
        let taken = self.synonym(&name.name).is_some();
        if taken && if_not_exists {
            return Ok(vec![]);
        }
        if taken || self.relation_itself(name).is_some() {
            return Err(Failure::new(-310, 0, name.name.clone()));
        }
        if target.database.is_some() {
            return Err(Failure::refused("a synonym of a table of another database"));
        }
        let relation = self.existing(target)?;
        if relation.temporary {
            return Err(Failure::refused("a synonym of a temporary table"));
        }
        let schema = self.environment.catalog.schema_name(relation.schema);
        let schema = if schema == "public" { String::new() } else { format!("{}.", ident(schema)) };
        let text = format!("create synonym {} for {schema}{}", ident(&name.name), ident(&relation.name));
        let source = format!("\n{}BEGIN END", marked(&text));
        let mut out = vec![];
        if self.environment.catalog.schema_oid(SCHEMA).is_none() {
            out.push(format!("CREATE SCHEMA IF NOT EXISTS {SCHEMA}"));
        }
        let function = ident(&format!("{PREFIX}{}", name.name));
        out.push(format!(
            "CREATE FUNCTION {SCHEMA}.{function}() RETURNS void LANGUAGE plpgsql AS {}",
            dollar_quoted(&source)
        ));
        Ok(out)
    }

    /// DROP SYNONYM. Errors: -206.
    pub(super) fn drop_synonym(&self, name: &Name, if_exists: bool) -> Parse<Vec<String>> {
        match self.synonym(&name.name) {
            Some(_) => Ok(vec![format!("DROP FUNCTION {SCHEMA}.{}()", ident(&format!("{PREFIX}{}", name.name)))]),
            None if if_exists => Ok(vec![]),
            None => Err(Failure::new(-206, -111, name.name.clone())),
        }
    }
}
