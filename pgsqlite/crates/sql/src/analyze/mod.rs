//! Parse tree → typed tree. Entry points; the parts are cut along the grammar.

use crate::catalog::{Catalog, Relation};
use crate::parse::{NodeEnum, RawStatement};
use crate::typed::{Expr, Modify, Query};
use pgsqlite_types::codec::RegNames;
use pgsqlite_types::{Oid, PgError, Result, Settings};

/// What analysis reads of the session.
pub struct Environment<'a> {
    pub catalog: &'a Catalog,
    /// schemas in which unqualified names are looked up, in order: pg_catalog (and the temporary schema) included where
    /// PostgreSQL implies them
    pub search_path: &'a [Oid],
    pub settings: &'a Settings,
    /// resolves constants of reg types ('t'::regclass)
    pub names: &'a dyn RegNames,
    pub user: Oid,
}

/// An optimizable statement, analyzed.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    Query(Query),
    Modify(Modify),
}

/// Analyzes SELECT, VALUES, INSERT, UPDATE, DELETE, MERGE (or `TABLE t`). `parameter_types`: given by Parse (0 or missing:
/// to be inferred); returned: the types of all parameters (42P18 if one stays undetermined).
pub fn analyze(
    environment: &Environment,
    statement: &NodeEnum,
    parameter_types: &[Oid],
) -> Result<(Statement, Vec<Oid>)> {
    let _ = (environment, statement, parameter_types);
    Err(PgError::not_supported("this statement"))
}

/// Analyzes an expression over the columns of one relation (DEFAULT without relation, CHECK, index expressions and
/// predicates, GENERATED) given as PostgreSQL SQL text and coerces it to `target` (type, typmod) as an assignment does, if given.
/// Columns appear as [`crate::typed::Var`] {0, 0, index among the live columns}.
pub fn analyze_expression(
    environment: &Environment,
    text: &str,
    relation: Option<&Relation>,
    target: Option<(Oid, i32)>,
) -> Result<Expr> {
    let _ = (environment, text, relation, target);
    Err(PgError::not_supported("expressions"))
}

/// A type name of the grammar → (type OID, typmod). 42704 with position if unknown.
pub fn resolve_type_name(environment: &Environment, name: &pg_query::protobuf::TypeName) -> Result<(Oid, i32)> {
    let _ = (environment, name);
    Err(PgError::not_supported("type names"))
}

/// A possibly qualified relation name → the relation, along the search path; None if there is none.
pub fn find_relation(environment: &Environment, schema: Option<&str>, name: &str) -> Option<std::sync::Arc<Relation>> {
    let _ = (environment, schema, name);
    None
}

/// Parses one statement and analyzes it: for tests and views.
pub fn analyze_text(environment: &Environment, text: &str) -> Result<(Statement, Vec<Oid>)> {
    let statements: Vec<RawStatement> = crate::parse::parse(text)?;
    match &statements[..] {
        [one] => analyze(environment, &one.node, &[]),
        _ => Err(PgError::internal("one statement expected")),
    }
}
