//! The queries of views, as they are stored.

use super::Environment;
use crate::analyze;
use crate::catalog::{Catalog, Relation, RelationKind};
use crate::parse::NodeEnum;
use pgsqlite_types::work;
use pgsqlite_types::{PgError, Result};

/// The catalog with every view as if it were a table: analysis then keeps a view's name instead of expanding its text.
pub fn unexpanded(catalog: &Catalog) -> Catalog {
    let mut out = catalog.clone();
    for view in catalog
        .relations
        .values()
        .filter(|r| matches!(r.kind, RelationKind::View { .. } | RelationKind::MaterializedView { .. }))
    {
        work::visit();
        out.add_relation(Relation { kind: RelationKind::Table, ..(**view).clone() });
    }
    out
}

/// A view's query with its columns' names, views in it kept as references. None: the relation is no view of ours.
pub fn view_query(environment: &Environment, relation: &Relation) -> Result<Option<crate::typed::Query>> {
    stored_query(environment, relation, analyze::analyze_query)
}

pub(crate) fn stored_query(
    environment: &Environment,
    relation: &Relation,
    analyze: fn(&Environment, &crate::parse::ast::SelectStmt) -> Result<crate::typed::Query>,
) -> Result<Option<crate::typed::Query>> {
    let (RelationKind::View { definition, .. } | RelationKind::MaterializedView { definition, .. }) = &relation.kind
    else {
        return Ok(None);
    };
    let catalog = unexpanded(environment.catalog);
    let statements = crate::parse::parse(definition)?;
    let Some(NodeEnum::SelectStmt(select)) = statements.first().map(|s| &s.node) else {
        return Err(PgError::internal("a view that is no query"));
    };
    let stored = Environment { catalog: &catalog, search_path: crate::names::STORED_PATH, ..*environment };
    let mut query = analyze(&stored, select)?;
    for (column, own) in query.columns.iter_mut().zip(relation.live_columns()) {
        work::visit();
        column.name.clone_from(&own.name);
    }
    Ok(Some(query))
}
