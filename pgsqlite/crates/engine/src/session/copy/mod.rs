//! COPY … FROM STDIN and COPY … TO STDOUT: what the two have in common.
//!
//! [`copy_to`] turns a query's rows into lines; [`copy_from`] turns the client's bytes into rows.

pub(in crate::session) mod binary;
pub(in crate::session) mod copy_from;
pub(in crate::session) mod copy_options;
pub(in crate::session) mod copy_to;
pub(in crate::session) mod file;
pub(in crate::session) mod format;

use crate::session::context::SessionContext;
use crate::session::copy::copy_from::CopyIn;
use crate::session::copy::copy_to::CopyOut;
use crate::session::{Execution, RowSink, Session};
use pgsqlite_sql::analyze::find_relation;
use pgsqlite_sql::catalog::{Column, Relation};
use pgsqlite_sql::parse::{ast, NodeEnum, RawStatement};
use pgsqlite_types::{PgError, Result, SqlState};
use std::sync::Arc;

/// What a COPY keeps between two calls of the protocol.
pub(in crate::session) enum Copying {
    In(Box<CopyIn>),
    Out(CopyOut),
}

/// COPY, or what follows after a pause of one that gives rows.
pub(in crate::session) async fn copy(
    session: &mut Session,
    c: &ast::CopyStmt,
    raw: &RawStatement,
    sink: &mut dyn RowSink,
) -> Result<Execution> {
    match session.executor.copying.take() {
        Some(Copying::Out(out)) => return out.give(session, sink).await,
        other => session.executor.copying = other,
    }
    session.executor.begin_whole().await?;
    session.executor.context.note_anything(false)?;
    session.executor.refresh_catalog()?;
    if c.is_program {
        let direction = if c.is_from { "from" } else { "to" };
        return Err(PgError::not_supported(format!("COPY {direction} a program"))
            .hint("Use STDIN or STDOUT (psql's \\copy reads and writes files of the client)."));
    }
    let encoding = session.executor.context.gucs.client_encoding;
    // (its pieces may end within a character)
    if encoding.is_multi_byte() && c.is_from && copies_text(c) {
        let what = format!("COPY FROM with client_encoding \"{}\"", encoding.name());
        return Err(PgError::not_supported(what));
    }
    if encoding.is_converted() {
        // whose bytes these are is not the connection's affair alone
        let told = |option: &str| {
            c.options.iter().any(|o| matches!(&o.node, Some(NodeEnum::DefElem(d)) if d.defname == option))
        };
        if !c.filename.is_empty() || told("encoding") {
            let what = format!("COPY of a file or with ENCODING, with client_encoding \"{}\"", encoding.name());
            return Err(PgError::not_supported(what));
        }
    }
    if !c.filename.is_empty() {
        return file::copy(session, c, raw).await;
    }
    if c.is_from {
        let copy = CopyIn::begin(session, c, raw).await?;
        let formats = copy.formats();
        session.executor.copying = Some(Copying::In(Box::new(copy)));
        return Ok(Execution::CopyIn { formats });
    }
    CopyOut::begin(session, c, raw)?.give(session, sink).await
}

/// FORMAT text or csv.
fn copies_text(c: &ast::CopyStmt) -> bool {
    let mut formats = c.options.iter().filter_map(|o| match &o.node {
        Some(NodeEnum::DefElem(d)) if d.defname == "format" => d.arg.as_ref().and_then(|a| a.node.as_ref()),
        _ => None,
    });
    formats.all(|f| matches!(f, NodeEnum::String(s) if s.sval != "binary"))
}

impl SessionContext {
    /// Whether the role may read all columns that COPY … TO names.
    fn may_copy(&self, relation: &pgsqlite_sql::catalog::Relation, c: &ast::CopyStmt) -> bool {
        let (catalog, select) = (self.catalog(), pgsqlite_sql::acl::privilege::SELECT);
        let user = self.user_oid(&catalog);
        let readable = |name: &str| {
            relation.column(name).is_some_and(|column| {
                pgsqlite_sql::acl::column_privileges(&catalog, user, relation, column) & select != 0
            })
        };
        let named = |node: &ast::Node| matches!(&node.node, Some(NodeEnum::String(s)) if readable(&s.sval));
        !c.attlist.is_empty() && c.attlist.iter().all(named)
    }

    /// The relation that COPY names. Errors: 3F000, 42501, 42P01, and 0A000 for another database.
    pub(in crate::session) fn copy_relation(&self, r: &ast::RangeVar) -> Result<Arc<Relation>> {
        let catalog = self.catalog();
        if !r.catalogname.is_empty() && !catalog.is_database(&r.catalogname) {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!(
                    "cross-database references are not implemented: \"{}.{}.{}\"",
                    r.catalogname, r.schemaname, r.relname
                ),
            )
            .at(r.location));
        }
        let view = self.view();
        let schema = (!r.schemaname.is_empty()).then_some(r.schemaname.as_str());
        if let Some(schema) = schema {
            pgsqlite_sql::acl::check_schema_usage(&view.catalog, view.user, schema)?;
        }
        self.with_environment(&view, |e| find_relation(e, schema, &r.relname)).ok_or_else(|| {
            let name = schema.map_or(r.relname.clone(), |s| format!("{s}.{}", r.relname));
            PgError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
        })
    }
}

pub(in crate::session) fn not_referenced(option: &str, column: &str) -> PgError {
    PgError::new(SqlState::INVALID_COLUMN_REFERENCE, format!("{option} column \"{column}\" not referenced by COPY"))
}

/// A column that COPY may name.
pub(in crate::session) fn check_column<'a>(relation: &'a Relation, name: &str) -> Result<&'a Column> {
    let column = relation.column(name).ok_or_else(|| {
        PgError::new(
            SqlState::UNDEFINED_COLUMN,
            format!("column \"{name}\" of relation \"{}\" does not exist", relation.name),
        )
    })?;
    if column.is_generated() {
        return Err(PgError::new(
            SqlState::INVALID_COLUMN_REFERENCE,
            format!("column \"{name}\" is a generated column"),
        )
        .detail("Generated columns cannot be used in COPY."));
    }
    Ok(column)
}

/// The columns named, or all that can be copied.
pub(in crate::session) fn copy_columns(relation: &Relation, list: &[ast::Node]) -> Result<Vec<Column>> {
    if list.is_empty() {
        return Ok(relation.live_columns().filter(|c| !c.is_generated()).cloned().collect());
    }
    let mut columns: Vec<Column> = Vec::new();
    for node in list {
        let Some(NodeEnum::String(name)) = &node.node else { return Err(PgError::internal("a column of COPY")) };
        let column = check_column(relation, &name.sval)?;
        if columns.iter().any(|c| c.attnum == column.attnum) {
            return Err(PgError::new(
                SqlState::DUPLICATE_COLUMN,
                format!("column \"{}\" specified more than once", name.sval),
            ));
        }
        columns.push(column.clone());
    }
    Ok(columns)
}

pub(in crate::session) fn parse_one(text: &str) -> Result<NodeEnum> {
    let statement = pgsqlite_sql::parse::parse(text)?.pop();
    statement.map(|s| s.node).ok_or_else(|| PgError::internal("COPY's own statement is empty"))
}
