//! COPY … FROM STDIN: an INSERT with one parameter per column is planned once; the client's bytes become lines (`copy_format`) or
//! tuples (`copy_binary`), their fields values, and each row is bound and stepped. Nothing is kept but the line at hand and the
//! bytes after it.

use crate::connection::{Connection, RawStatement as SqliteStatement};
use crate::plans::{Body, Prepared};
use crate::routine::trigger;
use crate::routine::Host;
use crate::session::context::SessionContext;
use crate::session::copy::binary as copy_binary;
use crate::session::copy::copy_options::{CopyOptions, Header, Verbosity};
use crate::session::copy::format::{Fields, Lines, Next};
use crate::session::copy::{check_column, copy_columns, not_referenced, parse_one, Copying};
use crate::session::execution::progress::Shown;
use crate::session::execution::steps::run_to_end;
use crate::session::execution::work::Begins;
use crate::session::executor::Executor;
use crate::session::protocol::client_text::binary_to_utf8;
use crate::session::{CancelHandle, Format, Session};
use pgsqlite_natives::statistics::progress::Command;
use pgsqlite_sql::analyze::Parameters;
use pgsqlite_sql::catalog::{Column, ConstraintKind, Relation, RelationKind};
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::{ast, NodeEnum, RawStatement};
use pgsqlite_sql::plan::QueryPlan;
use pgsqlite_sql::routine::Event;
use pgsqlite_types::codec::{Context, NamesFor, TypeCodec};
use pgsqlite_types::encoding::Encoding;
use pgsqlite_types::error::Severity;
use pgsqlite_types::text::decode_utf8;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// The client's bytes are worked off when this many have come together.
const BATCH: usize = 64 * 1024;
/// How much of a line an error's context shows.
const SHOWN: usize = 100;
/// COPY FROM, waiting for data.
pub(in crate::session) struct CopyIn {
    options: CopyOptions,
    /// the data, in text and CSV
    lines: Lines,
    fields: Fields,
    /// the data in the binary format
    tuples: copy_binary::Rows,
    table: String,
    columns: Vec<Target>,
    insert: Arc<Prepared>,
    /// one per step of the INSERT
    statements: Vec<(String, SqliteStatement)>,
    /// what is bound: one per column, then NULLs that stand for columns which only WHERE names
    values: Vec<Datum>,
    header_due: bool,
    /// rows stored
    rows: u64,
    /// rows left out because a value does not fit (ON_ERROR ignore)
    skipped: u64,
    /// what the client is told of them
    notices: Vec<PgError>,
    /// foreign keys to the table itself, which are checked when all rows are there
    self_references: Vec<String>,
    shown: Shown,
}
/// A column that gets values.
struct Target {
    name: String,
    codec: TypeCodec,
    typmod: i32,
    force_not_null: bool,
    force_null: bool,
    has_default: bool,
}
/// The lines that PostgreSQL prints under an error: clipped, whole characters.
fn clip(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    if text.len() <= SHOWN {
        return text.into_owned();
    }
    let end = (0..=SHOWN).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    format!("{}...", &text[..end])
}
impl CopyIn {
    /// The tables whose rows and keys a COPY may meet, by their names in SQLite; None: any.
    fn tables_met(context: &SessionContext, r: &ast::RangeVar) -> Result<Option<Vec<Arc<str>>>> {
        let relation = context.copy_relation(r)?;
        if relation.kind != RelationKind::Table || !relation.triggers.is_empty() || relation.is_partitioned() {
            return Ok(None);
        }
        let catalog = context.catalog();
        let parents = relation.constraints.iter().filter_map(|c| match &c.kind {
            ConstraintKind::ForeignKey { references, .. } => catalog.relation(*references),
            _ => None,
        });
        let names = parents.map(|p| Arc::from(&*p.sqlite_name)).chain([Arc::from(&*relation.sqlite_name)]);
        Ok(Some(names.collect()))
    }

    /// Begins a COPY FROM: the slot or a transaction for temporary tables, and the INSERT of a row, planned and prepared. (So it borrows the whole
    /// context: it waits for locks and changes what its transaction is. The rows are then stored with the context's connection alone.)
    pub async fn begin(session: &mut Session, c: &ast::CopyStmt, raw: &RawStatement) -> Result<CopyIn> {
        let r = c.relation.as_ref().ok_or_else(|| PgError::internal("COPY FROM without a table"))?;
        session.executor.context.copy_relation(r)?;
        let everything = !session.executor.context.copy_relation(r)?.triggers.is_empty();
        let private = session.executor.context.fills_temporary_alone(&*session.executor.context.copy_relation(r)?)
            && session.executor.begin_temporary()?;
        if !private {
            loop {
                let mode = crate::locks::Mode::RowExclusive;
                let table = session.executor.context.copy_relation(r)?.oid;
                session.begin_write_of("COPY FROM", mode, everything, Some((r, table))).await?;
                // (its rows come once: nothing can be begun anew)
                let tables = CopyIn::tables_met(&session.executor.context, r)?;
                if !session.executor.let_holder_end(tables.as_deref()).await? {
                    break;
                }
            }
        }
        // what waited for the writer slot may have changed the table: it is looked up now
        session.executor.begin_statement().await?;
        let relation = session.executor.context.copy_relation(r)?;
        let options = CopyOptions::read(&c.options, true)?;
        let columns = copy_columns(&relation, &c.attlist)?;
        for (names, option) in [(&options.force_not_null, "FORCE_NOT_NULL"), (&options.force_null, "FORCE_NULL")] {
            for name in names {
                check_column(&relation, name)?;
                if !columns.iter().any(|c| c.name == *name) {
                    return Err(not_referenced(option, name));
                }
            }
        }
        let wrong = |kind: &str| {
            PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("cannot copy to {kind} \"{}\"", relation.name))
        };
        match &relation.kind {
            RelationKind::Table => {}
            RelationKind::View { .. } if relation.has_instead_of(Event::Insert) => {}
            RelationKind::View { .. } | RelationKind::ForeignView => {
                return Err(wrong("view").hint("To enable copying to a view, provide an INSTEAD OF INSERT trigger."))
            }
            RelationKind::MaterializedView { .. } => return Err(wrong("materialized view")),
            RelationKind::Sequence(_) => return Err(wrong("sequence")),
            RelationKind::Index(_) => return Err(wrong("index")),
            RelationKind::System => {
                return Err(PgError::new(
                    SqlState::INSUFFICIENT_PRIVILEGE,
                    format!("permission denied: \"{}\" is a system catalog", relation.name),
                ))
            }
        }
        if options.freeze && relation.is_partitioned() {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cannot perform COPY FREEZE on a partitioned table",
            ));
        }
        let emptied = session.executor.context.transaction.savepoints().has_emptied(relation.oid);
        if options.freeze && !emptied && session.executor.context.engine.catalog().relation(relation.oid).is_some() {
            return Err(PgError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "cannot perform COPY FREEZE because the table was not created or truncated in the current subtransaction",
            ));
        }
        let view = session.executor.context.view();
        let catalog = &view.catalog;
        if session
            .executor
            .context
            .with_environment(&view, |e| pgsqlite_sql::analyze::row_security_counts(e, &relation))?
        {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "COPY FROM not supported with row-level security",
            )
            .hint("Use INSERT statements instead."));
        }
        let mut targets = Vec::with_capacity(columns.len());
        let mut types: Vec<Oid> = Vec::new();
        for column in &columns {
            let codec = catalog.codec(column.type_oid).ok_or_else(|| {
                PgError::not_supported(format!("COPY into column \"{}\", whose type is", column.name))
            })?;
            // a domain's values are read as its base type's; the INSERT checks them
            if options.ignores_errors && catalog.base_type(column.type_oid) != column.type_oid {
                return Err(PgError::not_supported(format!(
                    "COPY with ON_ERROR ignore into column \"{}\", whose type is a domain,",
                    column.name
                )));
            }
            let base = catalog.base_type(column.type_oid);
            types.push(base);
            let typmod = if base == column.type_oid { column.typmod } else { catalog.domain_typmod(column.type_oid) };
            targets.push(Target {
                name: column.name.clone(),
                codec,
                typmod,
                force_not_null: options.force_not_null.contains(&column.name),
                force_null: options.force_null.contains(&column.name),
                has_default: column.identity.is_some()
                    || column.default.is_some()
                    || catalog.domain_default(column.type_oid).is_some(),
            });
        }
        let condition = c.where_clause.as_deref();
        if options.default.is_some() {
            if let Some(condition) = condition {
                let error = PgError::not_supported("COPY with DEFAULT and a WHERE clause");
                return Err(error.at(pgsqlite_sql::analyze::location_of(condition)));
            }
            // (SQLite alone knows a default that another program has declared)
            if let Some(column) = columns.iter().find(|c| c.sqlite_default) {
                let what =
                    format!("COPY with DEFAULT into column \"{}\", whose default is another program's,", column.name);
                return Err(PgError::not_supported(what));
            }
        }
        let (node, others) = insert_statement(r, &relation, &columns, condition)?;
        types.extend(others.iter().map(|c| catalog.base_type(c.type_oid)));
        let flags = if options.default.is_some() { columns.len() } else { 0 };
        types.resize(types.len() + flags, oid::BOOL);
        let insert = Arc::new(RawStatement { node, text: raw.text.clone(), offset: raw.offset });
        // (of the binary format, types have their own ways with modifiers)
        let parameters = Parameters { fitted: true, defaults_behind: flags };
        let fitted = (!options.binary).then(|| view.with_parameters(parameters));
        let view = fitted.as_ref().unwrap_or(&view);
        let insert = Arc::new(session.analyze_now(&insert, &types, view).map_err(|e| match e.code() {
            SqlState::UNDEFINED_COLUMN if names_unlisted(&relation, &columns, e.message()) => {
                PgError::not_supported("a column that gets its default, in the condition of COPY FROM … WHERE")
            }
            // the condition is analyzed as an INSERT's: its clause has another name here
            _ => match e.message().strip_suffix(" in WHERE") {
                Some(message) if condition.is_some() => {
                    let message = format!("{message} in COPY FROM WHERE conditions");
                    let mut e = e;
                    e.fields_mut().message = message;
                    e
                }
                _ => e,
            },
        })?);
        let Body::Plan(plan) = &insert.body else { return Err(PgError::internal("COPY's INSERT")) };
        let connection = session.executor.connection.as_mut().ok_or_else(|| PgError::internal("no connection"))?;
        let mut statements = Vec::with_capacity(plan.query.steps.len());
        let steps = if plan.query.triggered.is_some() { &[][..] } else { &plan.query.steps };
        for step in steps {
            match connection.prepare(&step.sql) {
                Ok(statement) => statements.push((step.sql.clone(), statement)),
                Err(e) => return Err(e),
            }
        }
        // rows may refer to later rows of the same COPY
        let self_references: Vec<String> = relation
            .constraints
            .iter()
            .filter(|c| matches!(c.kind, ConstraintKind::ForeignKey { references, .. } if references == relation.oid && !c.managed))
            .map(|c| c.name.clone())
            .collect();
        // where SQLite waits with all keys already, check_constraints() does it
        let deferred = !self_references.is_empty()
            && !session.executor.context.transaction.defers_all()
            && !connection.has_deferred_violations();
        if deferred {
            connection.exec("PRAGMA defer_foreign_keys = ON")?;
        }
        if let Some(triggered) = &plan.query.triggered {
            session.executor.tell_access();
            let connection = session.executor.connection()?;
            let host = Host { cell: &connection.cell, db: connection.handle() };
            trigger::begin_copy(host, triggered)?;
        }
        let values = vec![Datum::Null; columns.len() + others.len() + flags];
        Ok(CopyIn {
            lines: Lines::new(&options),
            fields: Fields::default(),
            tuples: copy_binary::Rows::default(),
            table: relation.name.clone(),
            columns: targets,
            insert: insert.clone(),
            statements,
            values,
            header_due: options.header != Header::No,
            rows: 0,
            skipped: 0,
            notices: vec![],
            self_references: if deferred { self_references } else { vec![] },
            shown: session.executor.context.show_progress(Command::CopyFrom, relation.oid),
            options,
        })
    }

    /// The format of each column, as CopyInResponse tells it.
    pub fn formats(&self) -> Vec<Format> {
        vec![self.options.format(); self.columns.len()]
    }

    /// Takes a piece of the data, cut anywhere, in the client's encoding. Returns how many bytes wait to be stored.
    fn push(&mut self, data: &[u8], encoding: Encoding) -> Result<usize> {
        self.shown.progress.done.bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
        if self.options.binary {
            // (each value is converted by itself)
            self.tuples.push(data);
            return Ok(self.tuples.waiting());
        }
        match encoding.is_converted() {
            true => self.lines.push(encoding.decode(data)?.as_bytes()),
            false => self.lines.push(data),
        }
        Ok(self.lines.waiting())
    }

    /// An error at what would come next.
    fn at_next(&self, error: PgError) -> PgError {
        let line = if self.options.binary { self.tuples.number } else { self.lines.number } + 1;
        error.context(format!("COPY {}, line {line}", self.table))
    }

    /// The error of a row, with the key or the values that a constraint refuses.
    fn diagnosed(&self, executor: &mut Executor, error: PgError) -> PgError {
        match &self.insert.body {
            // (what the triggers have made of the row cannot be told again)
            Body::Plan(plan) if plan.query.triggered.is_some() => error,
            _ => executor.diagnose(&self.insert, &self.values, error),
        }
    }

    /// Stores the rows that are there. `last`: no more data come.
    fn store(&mut self, executor: &mut Executor, last: bool) -> Result<()> {
        let view = executor.context.view();
        let names = NamesFor { names: &*view, role: Some(view.user) };
        let context = Context { settings: &executor.context.gucs.typed, names: &names };
        let connection = executor.connection.as_mut().ok_or_else(|| PgError::internal("no connection"))?;
        let (cancel, interrupt) = (&executor.context.cancel, connection.interrupt_handle());
        let encoding = executor.context.gucs.client_encoding;
        let result = cancel.work(Begins::Apart, Some(interrupt), || match self.options.binary {
            true => self.store_tuples(connection, encoding, &context, last),
            false => self.store_lines(connection, cancel, &context, last),
        });
        self.shown.progress.done.rows.store(self.rows, Ordering::Relaxed);
        executor.context.notices.append(&mut self.notices);
        result.map_err(|e| self.diagnosed(executor, e))
    }

    fn store_lines(
        &mut self,
        connection: &mut Connection,
        cancel: &CancelHandle,
        context: &Context,
        last: bool,
    ) -> Result<()> {
        let CopyIn {
            options,
            lines,
            fields,
            table,
            columns,
            insert,
            statements,
            values,
            header_due,
            rows,
            skipped,
            notices,
            ..
        } = self;
        let Body::Plan(plan) = &insert.body else { return Err(PgError::internal("COPY's INSERT")) };
        'lines: loop {
            cancel.check()?;
            match lines.next(last) {
                Ok(Next::Line) => {}
                Ok(Next::More | Next::End) => return Ok(()),
                Err(e) => return Err(e.context(format!("COPY {table}, line {}", lines.number))),
            }
            let number = lines.number;
            let in_line = |e: PgError| e.context(format!("COPY {table}, line {number}: \"{}\"", clip(lines.line())));
            if std::mem::take(header_due) {
                if options.header == Header::Match {
                    fields.split(options, lines.line()).map_err(in_line)?;
                    check_header(fields, columns, options).map_err(in_line)?;
                }
                continue;
            }
            fields.split(options, lines.line()).map_err(in_line)?;
            if let Some(i) = fields.defaults().iter().find(|i| columns.get(**i).is_some_and(|c| !c.has_default)) {
                let error = PgError::new(SqlState::BAD_COPY_FILE_FORMAT, "unexpected default marker in COPY data");
                return Err(in_line(error.detail(format!("Column \"{}\" has no default value.", columns[*i].name))));
            }
            if fields.len() > columns.len() && !(columns.is_empty() && lines.line().is_empty()) {
                return Err(in_line(PgError::new(
                    SqlState::BAD_COPY_FILE_FORMAT,
                    "extra data after last expected column",
                )));
            }
            for (i, column) in columns.iter().enumerate() {
                if i >= fields.len() {
                    return Err(in_line(PgError::new(
                        SqlState::BAD_COPY_FILE_FORMAT,
                        format!("missing data for column \"{}\"", column.name),
                    )));
                }
                let mut field = fields.get(i);
                if field.is_none() && column.force_not_null {
                    field = Some(options.null.as_bytes());
                } else if column.force_null && field == Some(options.null.as_bytes()) {
                    field = None;
                }
                if options.default.is_some() {
                    values[columns.len() + i] = Datum::Int(fields.is_default(i).into());
                }
                values[i] = match field {
                    None => Datum::Null,
                    Some(_) if fields.is_default(i) => Datum::Null,
                    Some(bytes) => {
                        let text = decode_utf8(bytes).map_err(|e| e.context(format!("COPY {table}, line {number}")))?;
                        let shown = || clip(bytes);
                        let place = || format!("COPY {table}, line {number}, column {}: \"{}\"", column.name, shown());
                        match column.codec.text_in(text, column.typmod, context) {
                            Ok(value) => value,
                            Err(e) if options.ignores_errors && is_of_value(&e) => {
                                *skipped += 1;
                                if options.log_verbosity == Verbosity::Verbose {
                                    notices.push(skipping(table, number, &column.name, &shown()));
                                }
                                if let Some(limit) = options.reject_limit.filter(|l| *skipped > l.unsigned_abs()) {
                                    return Err(too_many(limit).context(place()));
                                }
                                continue 'lines;
                            }
                            Err(e) => return Err(e.context(place())),
                        }
                    }
                };
            }
            // rows of PostgreSQL reach their indexes in batches: the line itself is not at hand any more
            *rows += store_row(connection, statements, &plan.query, values).map_err(|e| match e.code() {
                SqlState::QUERY_CANCELED => cancel.error(),
                SqlState::UNIQUE_VIOLATION => e.context(format!("COPY {table}, line {number}")),
                _ => in_line(e),
            })?;
        }
    }

    fn store_tuples(
        &mut self,
        connection: &mut Connection,
        encoding: Encoding,
        context: &Context,
        last: bool,
    ) -> Result<()> {
        let CopyIn { tuples, table, columns, insert, statements, values, rows, .. } = self;
        let Body::Plan(plan) = &insert.body else { return Err(PgError::internal("COPY's INSERT")) };
        loop {
            match tuples.next(columns.len(), last) {
                Ok(copy_binary::Next::Row) => {}
                Ok(copy_binary::Next::More | copy_binary::Next::End) => return Ok(()),
                // what is wrong with the header belongs to no line
                Err(e) if tuples.number == 0 => return Err(e),
                Err(e) => {
                    let column = tuples.broken_field().and_then(|i| columns.get(i));
                    let column = column.map_or(String::new(), |c| format!(", column {}", c.name));
                    return Err(e.context(format!("COPY {table}, line {}{column}", tuples.number)));
                }
            }
            let place = format!("COPY {table}, line {}", tuples.number);
            for (i, column) in columns.iter().enumerate() {
                values[i] = match tuples.field(i) {
                    None => Datum::Null,
                    Some(bytes) => binary_to_utf8(encoding, &column.codec, bytes)
                        .and_then(|bytes| column.codec.binary_in(&bytes, column.typmod, context))
                        .map_err(|e| e.context(format!("{place}, column {}", column.name)))?,
                };
            }
            *rows += store_row(connection, statements, &plan.query, values).map_err(|e| e.context(place))?;
        }
    }

    /// The triggers that come after the last row.
    fn fire_after(&self, connection: &Connection, cancel: &CancelHandle) -> Result<()> {
        let Body::Plan(plan) = &self.insert.body else { return Err(PgError::internal("COPY's INSERT")) };
        let Some(triggered) = &plan.query.triggered else { return Ok(()) };
        let host = Host { cell: &connection.cell, db: connection.handle() };
        let interrupt = Some(connection.interrupt_handle());
        cancel.work(Begins::Apart, interrupt, || trigger::end_copy(host, triggered))
    }

    /// Errors: 23503 if a row refers to a row of its table that has not come.
    fn check_self_references(&self, connection: &Connection) -> Result<()> {
        let Some(name) = self.self_references.first() else { return Ok(()) };
        if !connection.has_deferred_violations() {
            return connection.exec("PRAGMA defer_foreign_keys = OFF");
        }
        Err(PgError::new(
            SqlState::FOREIGN_KEY_VIOLATION,
            format!("insert or update on table \"{}\" violates foreign key constraint \"{name}\"", self.table),
        )
        .table(self.table.clone())
        .constraint(name.clone()))
    }

    /// Gives back what it has of a connection. `failed`: a savepoint may bring the transaction back, in which SQLite checks each statement's keys again.
    fn release(self, connection: &mut Connection, failed: bool) {
        for (sql, statement) in self.statements {
            connection.release(&sql, statement);
        }
        if failed && !self.self_references.is_empty() {
            if let Err(e) = connection.exec("PRAGMA defer_foreign_keys = OFF") {
                tracing::debug!("the keys of a failed COPY stay deferred: {e}");
            }
        }
    }

    /// Ends it with what has become of it.
    fn end(self, executor: &mut Executor, result: Result<()>) -> Result<()> {
        if let Some(connection) = &mut executor.connection {
            self.release(connection, result.is_err());
        }
        let result = executor.statement_result(result);
        executor.context.end_running();
        result
    }

    /// Ends it with an error: the one that the client is told.
    pub fn fail(self, executor: &mut Executor, error: PgError) -> PgError {
        self.end(executor, Err(error)).err().unwrap_or_else(|| PgError::internal("COPY"))
    }

    /// Releases what it holds: nobody is left to hear of an error.
    pub fn abandon(self, executor: &mut Executor) {
        let _ = self.end(executor, Ok(()));
    }
}

impl Executor {
    fn finish_copy(&mut self, copy: &mut CopyIn) -> Result<()> {
        copy.store(self, true)?;
        copy.check_self_references(self.connection()?).map_err(|e| self.explain_commit(e))?;
        copy.fire_after(self.connection()?, &self.context.cancel)?;
        self.check_constraints(None)?;
        if copy.skipped > 0 && copy.options.log_verbosity >= Verbosity::Default {
            self.context.notices.push(all_skipped(copy.skipped));
        }
        Ok(())
    }

    /// The COPY FROM that is under way.
    pub(in crate::session) fn take_copy(&mut self) -> Result<Box<CopyIn>> {
        match self.copying.take() {
            Some(Copying::In(copy)) => Ok(copy),
            other => {
                self.copying = other;
                Err(PgError::internal("no COPY FROM is under way"))
            }
        }
    }
}

impl Session {
    /// A piece of CopyData, cut anywhere.
    pub async fn copy_in_data(&mut self, data: &[u8]) -> Result<()> {
        let executor = &mut self.executor;
        let mut copy = executor.take_copy()?;
        let result = match copy.push(data, executor.context.gucs.client_encoding) {
            Err(e) => Err(e),
            Ok(waiting) => match executor.context.cancel.check() {
                Ok(()) if waiting >= BATCH => copy.store(executor, false),
                checked => checked,
            },
        };
        match result {
            Ok(()) => {
                executor.copying = Some(Copying::In(copy));
                Ok(())
            }
            Err(e) => Err(copy.fail(executor, e)),
        }
    }

    /// CopyDone: the command tag.
    pub async fn copy_in_done(&mut self) -> Result<String> {
        let executor = &mut self.executor;
        let mut copy = executor.take_copy()?;
        let result = executor.finish_copy(&mut copy);
        let rows = copy.rows;
        copy.end(executor, result)?;
        Ok(format!("COPY {rows}"))
    }

    /// CopyFail: 57014 with the client's message.
    pub async fn copy_in_fail(&mut self, message: &str) -> PgError {
        let executor = &mut self.executor;
        let error = PgError::new(SqlState::QUERY_CANCELED, format!("COPY from stdin failed: {message}"));
        let mut copy = match executor.take_copy() {
            Ok(copy) => copy,
            Err(e) => return e,
        };
        // what came before it is read: its errors come first
        let error = match copy.store(executor, false) {
            Ok(()) => copy.at_next(error),
            Err(e) => e,
        };
        copy.fail(executor, error)
    }

    /// Resolves when the COPY is to end although the client sends nothing: cancelled, timed out, terminated.
    pub async fn copy_in_stopped(&mut self) -> PgError {
        let executor = &mut self.executor;
        let error = loop {
            let silence = executor.context.observation.activity.fall_silent();
            tokio::select! {
                biased;
                error = executor.context.cancel.requested() => break error,
                () = executor.context.cancel.woken() => {}
            }
            if let Err(error) = executor.context.check_silence(&silence) {
                break error;
            }
        };
        match executor.take_copy() {
            Ok(copy) => copy.fail(executor, error),
            Err(e) => e,
        }
    }
}

/// Whether an error tells that the text is none of the type's: such rows are what ON_ERROR leaves out.
fn is_of_value(e: &PgError) -> bool {
    let code = e.code();
    !["XX", "0A", "53", "57"].iter().any(|class| code.as_str().starts_with(class))
        && code != SqlState::STATEMENT_TOO_COMPLEX
}

fn notice(message: String) -> PgError {
    PgError::new(SqlState::SUCCESSFUL_COMPLETION, message).severity(Severity::Notice)
}

fn skipping(table: &str, line: u64, column: &str, value: &str) -> PgError {
    let what = "skipping row due to data type incompatibility at line";
    notice(format!("{what} {line} for column \"{column}\": \"{value}\"")).context(format!("COPY {table}"))
}

fn all_skipped(rows: u64) -> PgError {
    let were = if rows == 1 { "row was" } else { "rows were" };
    notice(format!("{rows} {were} skipped due to data type incompatibility"))
}

fn too_many(limit: i64) -> PgError {
    let message = format!("skipped more than REJECT_LIMIT ({limit}) rows due to data type incompatibility");
    PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
}

/// Runs the INSERT for one row; gives the rows stored (none where a condition says so).
fn store_row(
    connection: &mut Connection,
    statements: &mut [(String, SqliteStatement)],
    plan: &QueryPlan,
    values: &[Datum],
) -> Result<u64> {
    let mut stored = 0;
    connection.cell.rows.clear();
    if let Some(triggered) = &plan.triggered {
        let host = Host { cell: &connection.cell, db: connection.handle() };
        return trigger::copy_row(host, triggered, values);
    }
    for ((_, statement), step) in statements.iter_mut().zip(&plan.steps) {
        // SAFETY: the values stay as they are until the statement is reset below.
        let result = unsafe { connection.bind_all(statement, values) }
            .and_then(|()| run_to_end(connection, statement, &step.output));
        let changed = connection.changes();
        connection.reset(statement);
        result?;
        if step.counts {
            stored += changed;
        }
    }
    Ok(stored)
}

/// HEADER MATCH: the first line must name the columns.
fn check_header(fields: &Fields, columns: &[Target], options: &CopyOptions) -> Result<()> {
    let bad = |message: String| Err(PgError::new(SqlState::BAD_COPY_FILE_FORMAT, message));
    if fields.len() != columns.len() {
        return bad(format!("wrong number of fields in header line: got {}, expected {}", fields.len(), columns.len()));
    }
    for (i, column) in columns.iter().enumerate() {
        match fields.get(i) {
            None => {
                return bad(format!(
                    "column name mismatch in header line field {}: got null value (\"{}\"), expected \"{}\"",
                    i + 1,
                    options.null,
                    column.name
                ))
            }
            Some(name) if name != column.name.as_bytes() => {
                return bad(format!(
                    "column name mismatch in header line field {}: got \"{}\", expected \"{}\"",
                    i + 1,
                    String::from_utf8_lossy(name),
                    column.name
                ))
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Whether the message is about a column of the table that COPY does not fill.
fn names_unlisted(relation: &Relation, columns: &[Column], message: &str) -> bool {
    relation
        .live_columns()
        .filter(|c| !columns.iter().any(|l| l.attnum == c.attnum))
        .any(|c| message.contains(&format!("column \"{}\"", c.name)) || message.contains(&format!(".{} ", c.name)))
}

/// The INSERT behind COPY FROM: `$1`, `$2` … are the columns. With a condition, the row is a sub-query under the table's
/// name, so that the condition can name its columns: those that get no value are NULLs, given as further parameters (they are
/// returned); those with a default cannot be named.
fn insert_statement(
    r: &ast::RangeVar,
    relation: &Relation,
    columns: &[Column],
    condition: Option<&ast::Node>,
) -> Result<(NodeEnum, Vec<Column>)> {
    let list: Vec<String> = columns.iter().map(|c| quoted(&c.name)).collect();
    let values = |n: usize| (1..=n).map(|i| format!("${i}")).collect::<Vec<_>>().join(", ");
    let Some(condition) = condition else {
        let text = if columns.is_empty() {
            "INSERT INTO t DEFAULT VALUES".to_string()
        } else {
            format!("INSERT INTO t ({}) OVERRIDING SYSTEM VALUE VALUES ({})", list.join(", "), values(columns.len()))
        };
        let mut node = parse_one(&text)?;
        let NodeEnum::InsertStmt(insert) = &mut node else { return Err(PgError::internal("COPY's INSERT")) };
        insert.relation = Some(r.clone());
        return Ok((node, vec![]));
    };
    let others: Vec<Column> = relation
        .live_columns()
        .filter(|c| !columns.iter().any(|n| n.attnum == c.attnum))
        .filter(|c| c.default.is_none() && c.identity.is_none() && c.generated.is_none() && !c.sqlite_default)
        .cloned()
        .collect();
    let named: Vec<String> = columns.iter().chain(&others).map(|c| quoted(&c.name)).collect();
    let mut node = parse_one(&format!(
        "INSERT INTO t ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM (VALUES ({})) AS {} ({}) WHERE true",
        list.join(", "),
        list.join(", "),
        values(named.len()),
        quoted(&relation.name),
        named.join(", ")
    ))?;
    let NodeEnum::InsertStmt(insert) = &mut node else { return Err(PgError::internal("COPY's INSERT")) };
    insert.relation = Some(r.clone());
    let select = insert.select_stmt.as_mut().and_then(|s| s.node.as_mut());
    let Some(NodeEnum::SelectStmt(select)) = select else { return Err(PgError::internal("COPY's row")) };
    select.where_clause = Some(Box::new(condition.clone()));
    Ok((node, others))
}
