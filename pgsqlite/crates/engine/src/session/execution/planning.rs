//! From a statement to its plan: the shared cache, else analysis and lowering; and what is told of its result.

use crate::plans::{Body, Key, Prepared};
use crate::session::execution::catalog_view::View;
use crate::session::execution::cursor;
use crate::session::execution::running::while_requests_count;
use crate::session::execution::session_objects;
use crate::session::explain;
use crate::session::{OutputColumn, Session};
use pgsqlite_sql::analyze::analyze;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_sql::parse::{ast, is_query, NodeEnum, RawStatement};
use pgsqlite_sql::plan::PlanColumn;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::sync::Arc;

impl Session {
    /// The plan of a statement: from the cache, or analyzed and lowered now.
    pub(in crate::session) fn plan(
        &mut self,
        raw: &Arc<RawStatement>,
        given: &[Oid],
    ) -> Result<(Arc<Prepared>, Arc<View>)> {
        let view = self.executor.context.view();
        let key = Key {
            text: raw.text.clone(),
            parameter_types: given.to_vec(),
            search_path: view.path.clone(),
            epoch: view.catalog.epoch,
            settings: view.plan_key.clone(),
            // a plan was permitted to the role that it was made for
            role: view.role,
        };
        // inside a transaction that changed the schema the catalog is this session's own; the columns of EXECUTE and FETCH
        // depend on the session's statements and cursors, which the text does not tell
        let of_session = matches!(raw.node, NodeEnum::ExecuteStmt(_) | NodeEnum::FetchStmt(_));
        let shared = self.executor.context.transaction.catalog().is_none()
            && !self.executor.context.has_temporary()
            && !of_session;
        if shared {
            if let Some(found) = self.executor.context.engine.plans.get(&key) {
                return Ok((found, view));
            }
        }
        if self.executor.connection.is_some() {
            self.executor.refresh_catalog()?;
            let now = self.executor.context.view();
            if now.catalog.epoch != view.catalog.epoch {
                // another program has changed the schema
                self.executor.context.tell_natives(self.executor.connection()?);
                return self.plan(raw, given);
            }
        }
        let prepared = while_requests_count(self, |session| session.analyze_now(raw, given, &view));
        let prepared = Arc::new(prepared.map_err(|error| self.first_error(raw, given, &view, error))?);
        if shared {
            self.executor.context.engine.plans.put(key, prepared.clone());
        }
        Ok((prepared, view))
    }

    /// The error of a statement that is denied: what else is wrong with it comes first, for privileges are asked for when it runs.
    fn first_error(&mut self, raw: &Arc<RawStatement>, given: &[Oid], view: &View, error: PgError) -> PgError {
        match error.code() {
            SqlState::INSUFFICIENT_PRIVILEGE => {
                self.analyze_now(raw, given, &view.to_describe()).err().unwrap_or(error)
            }
            _ => error,
        }
    }

    /// The plan of a query that is a part of the statement with this text; None where the query has an error.
    pub(in crate::session) fn plan_inside(&mut self, node: NodeEnum, text: &str) -> Option<Arc<Prepared>> {
        // (plans are remembered by their text: no statement has this one)
        let text = format!("\0query of {text}").into();
        let raw = Arc::new(RawStatement { node, text, offset: 0 });
        self.plan(&raw, &[]).ok().map(|(prepared, _)| prepared)
    }

    /// The plan of a statement that is prepared; true: it can be described, but the role may not run it.
    pub(in crate::session) fn plan_or_describe(
        &mut self,
        raw: &Arc<RawStatement>,
        given: &[Oid],
    ) -> Result<(Arc<Prepared>, Arc<View>, bool)> {
        match self.plan(raw, given) {
            Ok((prepared, view)) => Ok((prepared, view, false)),
            Err(error) if error.code() == SqlState::INSUFFICIENT_PRIVILEGE && is_query(&raw.node) => {
                // (schemas are looked into now)
                if error.message().starts_with("permission denied for schema") {
                    return Err(error);
                }
                let view = self.executor.context.view();
                let described = self.analyze_now(raw, given, &view.to_describe()).map_err(|_| error)?;
                Ok((Arc::new(described), view, true))
            }
            Err(error) => Err(error),
        }
    }

    pub(in crate::session) fn analyze_now(
        &mut self,
        raw: &Arc<RawStatement>,
        given: &[Oid],
        view: &View,
    ) -> Result<Prepared> {
        let epoch = view.catalog.epoch;
        let codecs = |parameters: &[Oid]| parameters.iter().map(|ty| view.catalog.codec(*ty)).collect();
        if !is_query(&raw.node) {
            let mut columns = self.utility_columns(&raw.node)?;
            let parameters = match &raw.node {
                NodeEnum::CallStmt(call) => {
                    let (outputs, parameters) = self.executor.context.call_columns(call, given, view)?;
                    columns = outputs;
                    parameters
                }
                // the query of a cursor, or an explained one, may have parameters
                NodeEnum::DeclareCursorStmt(d) => {
                    let inner = cursor::cursor_query(d, raw)?;
                    self.analyze_now(&inner, given, view)?.parameters
                }
                NodeEnum::CreateTableAsStmt(c) => match c.query.as_ref().and_then(|q| q.node.clone()) {
                    // (a materialized view takes none)
                    Some(node @ NodeEnum::SelectStmt(_))
                        if !c.is_select_into && c.objtype() != ast::ObjectType::ObjectMatview =>
                    {
                        let inner = Arc::new(raw.within(node, "its rows"));
                        self.analyze_now(&inner, given, view)?.parameters
                    }
                    _ => vec![],
                },
                NodeEnum::ExplainStmt(e) => match explain::explained(e, raw) {
                    Some(inner) => self.analyze_now(&inner, given, view)?.parameters,
                    None => vec![],
                },
                _ => vec![],
            };
            return Ok(Prepared {
                statement: raw.clone(),
                body: Body::Utility,
                codecs: codecs(&parameters),
                parameters,
                columns,
                epoch,
                shows_session: false,
                entry: Default::default(),
                indexes: Default::default(),
                row_query: Default::default(),
                lasts: Default::default(),
                role: view.role,
            });
        }
        let begins = if raw.text.len() > crate::plans::LONGEST {
            crate::session::execution::work::Begins::Apart
        } else {
            self.executor.context.begins_here()
        };
        let plan = self.executor.context.cancel.work(begins, None, || {
            self.executor.context.with_environment(view, |environment| {
                let (statement, parameters) = analyze(environment, &raw.node, given)?;
                pgsqlite_sql::lower::lower(environment, &statement, parameters)
            })
        })?;
        let columns = match &plan.columns {
            Some(columns) => Some(output_columns(&view.catalog, columns)?),
            None => None,
        };
        Ok(Prepared {
            statement: raw.clone(),
            codecs: codecs(&plan.parameters),
            parameters: plan.parameters.clone(),
            shows_session: session_objects::shown_by(&plan.query.named),
            body: Body::Plan(plan),
            entry: Default::default(),
            indexes: Default::default(),
            row_query: Default::default(),
            lasts: Default::default(),
            columns,
            epoch,
            role: view.role,
        })
    }
}

/// Whether rows of the one can be sent where the other was described. (Which tables the columns come from may change.)
pub(in crate::session) fn same_result(a: &Option<Arc<[OutputColumn]>>, b: &Option<Arc<[OutputColumn]>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => {
            let shape = |c: &OutputColumn| (c.type_oid, c.typmod);
            a.len() == b.len() && a.iter().zip(&**b).all(|(a, b)| a.name == b.name && shape(a) == shape(b))
        }
        (None, None) => true,
        _ => false,
    }
}

/// Clients know by the routine that preparing the statement again will do.
pub(in crate::session) fn result_type_changed() -> PgError {
    PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "cached plan must not change result type")
        .routine("RevalidateCachedQuery")
}

/// Whether an error is [`result_type_changed`].
pub(in crate::session) fn is_result_type_changed(error: &PgError) -> bool {
    error.code() == SqlState::FEATURE_NOT_SUPPORTED && error.fields().routine == Some("RevalidateCachedQuery")
}

/// RowDescription's view of a plan's columns.
pub(in crate::session) fn output_columns(catalog: &Catalog, columns: &[PlanColumn]) -> Result<Arc<[OutputColumn]>> {
    columns
        .iter()
        .map(|c| {
            let codec = catalog
                .codec(c.type_oid)
                .ok_or_else(|| PgError::not_supported(format!("a result of type {}", c.type_oid)))?;
            // a domain's values travel as its base type's
            let shown = catalog.base_type(c.type_oid);
            let type_len = pgsqlite_types::catalog::by_oid(shown).map_or(
                if catalog.types.contains_key(&shown) && matches!(codec, pgsqlite_types::codec::TypeCodec::Enum(_)) {
                    4
                } else {
                    -1
                },
                |t| t.len,
            );
            Ok(OutputColumn {
                name: c.name.clone(),
                type_oid: shown,
                type_len,
                typmod: if shown == c.type_oid { c.typmod } else { catalog.domain_typmod(c.type_oid) },
                table_oid: c.table_oid,
                attnum: c.attnum,
                codec,
            })
        })
        .collect::<Result<Vec<_>>>()
        .map(Into::into)
}
