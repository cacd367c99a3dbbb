//! COPY … TO STDOUT: the query (or a SELECT of the table's columns) runs as any other; [`CopyOutSink`] turns its rows into lines.

use crate::session::copy::binary::{put_header, put_trailer};
use crate::session::copy::copy_options::{Columns, CopyOptions, Header};
use crate::session::copy::format::put_line;
use crate::session::copy::{check_column, copy_columns, not_referenced, parse_one, Copying};
use crate::session::execution::portal::Portal;
use crate::session::executor::Executor;
use crate::session::protocol::client_text::to_client;
use crate::session::{Execution, Flow, Format, OutputColumn, Row, RowSink, Session};
use pgsqlite_sql::catalog::{Column, RelationKind};
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::{ast, NodeEnum, RawStatement};
use pgsqlite_types::codec::Context;
use pgsqlite_types::encoding::Encoding;
use pgsqlite_types::{DatumRef, PgError, Result, SqlState};
use std::sync::Arc;

/// COPY TO: how its rows are written.
pub(in crate::session) struct CopyOut {
    options: CopyOptions,
    quoted: Vec<bool>,
    columns: Option<Arc<[OutputColumn]>>,
    /// the binary format's header has been written
    begun: bool,
}

/// The portal of the query behind COPY TO.
const PORTAL: &str = "\0copy";

impl CopyOut {
    /// Gives the rows, or goes on giving them after a pause: then the session keeps it.
    pub async fn give(mut self, session: &mut Session, sink: &mut dyn RowSink) -> Result<Execution> {
        let mut portal =
            session.executor.portals.remove(PORTAL).ok_or_else(|| PgError::internal("COPY without its query"))?;
        let encoding = session.executor.context.gucs.client_encoding;
        let mut lines =
            CopyOutSink { sink, out: &mut self, value: Vec::new(), ends: Vec::new(), line: Vec::new(), encoding };
        match Box::pin(session.run_portal(&mut portal, 0, &mut lines)).await {
            Ok(Execution::Complete(tag)) => {
                session.executor.close(portal);
                if self.options.binary {
                    let mut end = Vec::new();
                    if !self.begun {
                        put_header(&mut end);
                    }
                    put_trailer(&mut end);
                    sink.copy_binary(&end)?;
                }
                sink.copy_done()?;
                let count = tag.rsplit(' ').next().unwrap_or("0");
                Ok(Execution::Complete(format!("COPY {count}")))
            }
            Ok(Execution::Paused) => {
                session.executor.portals.insert(PORTAL.into(), portal);
                session.executor.copying = Some(Copying::Out(self));
                Ok(Execution::Paused)
            }
            Ok(other) => {
                session.executor.close(portal);
                Err(PgError::internal(format!("COPY's query ended as {other:?}")))
            }
            Err(e) => {
                session.executor.close(portal);
                Err(e)
            }
        }
    }

    /// Closes the query of a COPY TO that is not to be carried out.
    pub fn abandon(executor: &mut Executor) {
        if let Some(portal) = executor.portals.remove(PORTAL) {
            executor.close(portal);
        }
    }

    /// Begins a COPY TO: its query is planned, and its portal is the executor's. (So it borrows the whole executor, as [`CopyOut::give`] does, which
    /// runs that portal.)
    pub fn begin(session: &mut Session, c: &ast::CopyStmt, raw: &RawStatement) -> Result<CopyOut> {
        let (node, options) = if let Some(r) = &c.relation {
            let relation = session.executor.context.copy_relation(r)?;
            let wrong = |kind: &str| {
                PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("cannot copy from {kind} \"{}\"", relation.name))
            };
            // (what may not be read is not told of)
            let wrong_kind = matches!(relation.kind, RelationKind::View { .. } | RelationKind::MaterializedView { .. });
            if (wrong_kind || relation.is_partitioned()) && !session.executor.context.may_copy(&relation, c) {
                session.executor.context.check_relation_privilege(&relation, pgsqlite_sql::acl::privilege::SELECT)?;
            }
            match &relation.kind {
                RelationKind::Table if relation.is_partitioned() => {
                    return Err(wrong("partitioned table").hint("Try the COPY (SELECT ...) TO variant."))
                }
                RelationKind::Table | RelationKind::System => {}
                RelationKind::View { .. } | RelationKind::ForeignView => {
                    return Err(wrong("view").hint("Try the COPY (SELECT ...) TO variant."))
                }
                RelationKind::MaterializedView { .. } => {
                    return Err(wrong("materialized view").hint("Try the COPY (SELECT ...) TO variant."))
                }
                RelationKind::Sequence(_) => return Err(wrong("sequence")),
                RelationKind::Index(_) => {
                    return Err(PgError::new(
                        SqlState::WRONG_OBJECT_TYPE,
                        format!("cannot open relation \"{}\"", relation.name),
                    )
                    .detail("This operation is not supported for indexes."))
                }
            }
            let options = CopyOptions::read(&c.options, false)?;
            let columns = copy_columns(&relation, &c.attlist)?;
            (select_columns(r, &columns)?, options)
        } else {
            let node = c.query.as_ref().and_then(|q| q.node.clone());
            let node = node.ok_or_else(|| PgError::internal("COPY without a table or query"))?;
            if matches!(&node, NodeEnum::SelectStmt(s) if selects_into(s)) {
                return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "COPY (SELECT INTO) is not supported"));
            }
            (node, CopyOptions::read(&c.options, false)?)
        };
        let inner = Arc::new(raw.within(node, "copied"));
        let (prepared, _) = session.plan(&inner, &[])?;
        if !prepared.parameters.is_empty() {
            return Err(PgError::new(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1"));
        }
        let Some(columns) = prepared.columns.clone() else {
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "COPY query must have a RETURNING clause"));
        };
        let quoted = match &options.force_quote {
            Columns::All => vec![true; columns.len()],
            Columns::Listed(names) => {
                let relation = match &c.relation {
                    Some(r) => Some(session.executor.context.copy_relation(r)?),
                    None => None,
                };
                for name in names {
                    if !columns.iter().any(|c| c.name == *name) {
                        return Err(match &relation {
                            Some(r) => check_column(r, name).err(),
                            None => Some(PgError::new(
                                SqlState::UNDEFINED_COLUMN,
                                format!("column \"{name}\" does not exist"),
                            )),
                        }
                        .unwrap_or_else(|| not_referenced("FORCE_QUOTE", name)));
                    }
                }
                columns.iter().map(|c| names.contains(&c.name)).collect()
            }
        };
        let formats = vec![Format::Text; columns.len()];
        session.executor.portals.insert(PORTAL.into(), Portal::new(Some(prepared), vec![], formats));
        Ok(CopyOut { options, quoted, columns: None, begun: false })
    }
}

/// `SELECT columns FROM table`, of which the table is the client's own node, so that errors point at it.
fn select_columns(r: &ast::RangeVar, columns: &[Column]) -> Result<NodeEnum> {
    let list: Vec<String> = columns.iter().map(|c| quoted(&c.name)).collect();
    let mut node = parse_one(&format!("SELECT {} FROM t", list.join(", ")))?;
    let NodeEnum::SelectStmt(select) = &mut node else { return Err(PgError::internal("COPY's SELECT")) };
    // (the rows of children are not meant)
    let only = ast::RangeVar { inh: false, ..r.clone() };
    select.from_clause = vec![ast::Node { node: Some(NodeEnum::RangeVar(only)) }];
    Ok(node)
}

/// Whether a query is SELECT INTO: of a set operation its first arm says so.
fn selects_into(select: &ast::SelectStmt) -> bool {
    select.into_clause.is_some() || select.larg.as_ref().is_some_and(|first| selects_into(first))
}

/// Turns rows into lines.
struct CopyOutSink<'a> {
    sink: &'a mut dyn RowSink,
    out: &'a mut CopyOut,
    value: Vec<u8>,
    ends: Vec<Option<std::ops::Range<usize>>>,
    line: Vec<u8>,
    /// the client's
    encoding: Encoding,
}

impl RowSink for CopyOutSink<'_> {
    fn columns(&mut self, columns: &Arc<[OutputColumn]>) -> Result<()> {
        self.out.columns = Some(columns.clone());
        self.sink.copy_out(&vec![self.out.options.format(); columns.len()])?;
        if self.out.options.header != Header::No {
            let names = columns.iter().map(|c| Some(c.name.as_bytes()));
            put_line(&self.out.options, names, &[], &mut self.line)?;
            self.sink.copy_data(&self.line)?;
        }
        Ok(())
    }

    fn takes_notices(&self) -> bool {
        self.sink.takes_notices()
    }

    fn notice(&mut self, notice: &PgError) {
        self.sink.notice(notice);
    }

    fn row(&mut self, row: &dyn Row, context: &Context) -> Result<Flow> {
        let columns = self.out.columns.as_ref().ok_or_else(|| PgError::internal("a row before its columns"))?;
        self.value.clear();
        self.ends.clear();
        self.line.clear();
        if self.out.options.binary {
            if !std::mem::replace(&mut self.out.begun, true) {
                put_header(&mut self.line);
            }
            self.line.extend_from_slice(&(columns.len() as i16).to_be_bytes());
            for (i, column) in columns.iter().enumerate() {
                let value = row.value(i);
                let at = self.line.len();
                self.line.extend_from_slice(&(-1i32).to_be_bytes());
                if value != DatumRef::Null {
                    column.codec.binary_out(value, context, &mut self.line)?;
                    if self.encoding.is_converted() {
                        to_client(self.encoding, &column.codec, true, &mut self.line, at + 4)?;
                    }
                    let length = (self.line.len() - at - 4) as i32;
                    self.line[at..at + 4].copy_from_slice(&length.to_be_bytes());
                }
            }
            return self.sink.copy_binary(&self.line);
        }
        for (i, column) in columns.iter().enumerate() {
            let value = row.value(i);
            let start = self.value.len();
            if value == DatumRef::Null {
                self.ends.push(None);
                continue;
            }
            column.codec.text_out(value, context, &mut self.value)?;
            self.ends.push(Some(start..self.value.len()));
        }
        let values = self.ends.iter().map(|end| end.as_ref().map(|r| &self.value[r.clone()]));
        put_line(&self.out.options, values, &self.out.quoted, &mut self.line)?;
        self.sink.copy_data(&self.line)
    }

    fn copy_out(&mut self, _formats: &[Format]) -> Result<()> {
        Err(PgError::internal("COPY inside COPY"))
    }
    fn copy_data(&mut self, _data: &[u8]) -> Result<Flow> {
        Err(PgError::internal("COPY inside COPY"))
    }
    fn copy_done(&mut self) -> Result<()> {
        Err(PgError::internal("COPY inside COPY"))
    }
}
