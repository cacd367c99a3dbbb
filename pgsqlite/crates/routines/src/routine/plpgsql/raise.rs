//! RAISE, the EXCEPTION part of blocks, and GET DIAGNOSTICS.
//!
//! A block with handlers whose statements may change data runs inside a savepoint of SQLite. A savepoint cannot begin while a
//! statement around writes (an INSERT that calls the function): that is refused. What a block changes of its session is taken back with or
//! without a savepoint: settings, the role, messages of NOTIFY, cursors, large objects, and locks.

use super::super::{add_context, convert, Access};
use super::run::{Flow, Frame};
use super::variable_values::{Typed, Value};
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_sql::plpgsql::{Block, Condition, Handler, Level, Sql, Target};
use pgsqlite_sql::routine::Function;
use pgsqlite_types::error::Severity;
use pgsqlite_types::{oid, Datum, PgError, Result, SqlState};

impl Frame<'_> {
    // --- EXCEPTION -----------------------------------------------------------------------------------------------------

    /// A block with handlers.
    pub(super) fn guarded(&mut self, block: &Block) -> Result<Flow> {
        let runtime = self.host.routines();
        let savepoint = (runtime.access.get() == Access::Write && self.block_writes(block)).then(|| {
            runtime.blocks.set(runtime.blocks.get() + 1);
            format!("pg_block_{}", runtime.blocks.get())
        });
        if let Some(name) = &savepoint {
            if let Err(e) = self.host.exec(&format!("SAVEPOINT {name}")) {
                return Err(if e.message().contains("in progress") || e.code() == SqlState::LOCK_NOT_AVAILABLE {
                    PgError::not_supported(
                        "an EXCEPTION clause around a data modification, in a function that a data modification calls,",
                    )
                } else {
                    e
                });
            }
        }
        let catalog = self.host.catalog();
        let changed = self.host.routines().changed.borrow().clone();
        let pending = runtime.pending.borrow().clone();
        let modes = runtime.modes.borrow().clone();
        let noted = runtime.written.lock().now();
        let recorded = runtime.recorder.lock().log.mark();
        let cursors = runtime.cursors.borrow().mark();
        let server = self.host.cell.state().server.clone();
        let opened = server.as_ref().map_or(0, |s| s.large_objects().lock().mark());
        let told = server.as_ref().map_or_else(Default::default, |s| s.notifications_now());
        let locked = server.as_ref().map_or_else(Default::default, |s| s.locks_now());
        let settings = self.host.cell.state().variables.as_ref().map(|v| v.mark());
        let access = runtime.access.get();
        let depth = runtime.depth.get();
        let around = runtime.subtransactions.get();
        runtime.subtransactions.set(around + 1);
        let result = self.statements(&block.body);
        runtime.subtransactions.set(around);
        match result {
            Ok(flow) => {
                if let Some(name) = &savepoint {
                    self.host.exec(&format!("RELEASE {name}"))?;
                }
                Ok(flow)
            }
            Err(e) => {
                runtime.depth.set(depth);
                runtime.access.set(access);
                runtime.cursors.borrow_mut().close_since(cursors);
                if let Some(server) = server {
                    server.large_objects().lock().close_since(opened);
                    server.unlock_since(locked);
                    server.take_back_notifications(told);
                }
                let variables = self.host.cell.state().variables.clone();
                if variables.is_some_and(|v| v.get("exit_on_error").as_deref() == Some("on")) {
                    return Err(e);
                }
                if let Some(settings) = settings {
                    self.host.cell.go_back_to_settings(settings);
                }
                let handler = block.handlers.iter().find(|h| catches(h, &e));
                let Some(handler) = handler else { return Err(e) };
                if let Some(name) = &savepoint {
                    if !self.host.in_transaction() {
                        // SQLite has given up the whole transaction (a full disk, an interrupt)
                        return Err(e);
                    }
                    self.host.exec(&format!("ROLLBACK TO {name}; RELEASE {name}"))?;
                    *runtime.pending.borrow_mut() = pending;
                    *runtime.modes.borrow_mut() = modes;
                    runtime.written.lock().undo(noted);
                    runtime.recorder.lock().log.cut(recorded);
                    if self.host.catalog().epoch != catalog.epoch {
                        super::super::utility::show_catalog(self.host, catalog);
                        *self.host.routines().changed.borrow_mut() = changed;
                    }
                }
                self.handle(block, handler, e)
            }
        }
    }

    fn handle(&mut self, block: &Block, handler: &Handler, error: PgError) -> Result<Flow> {
        if let Some((state, message)) = block.error_variables {
            self.values[state] = Value::Scalar(Datum::from(error.code().as_str()));
            self.values[message] = Value::Scalar(Datum::from(error.message()));
        }
        self.errors.push(error);
        let result = self.statements(&handler.body);
        self.errors.pop();
        result
    }

    // --- RAISE ---------------------------------------------------------------------------------------------------------

    pub(super) fn raise(
        &mut self,
        level: Level,
        condition: Option<&Condition>,
        format: Option<&str>,
        arguments: &[Sql],
        options: &[(String, Sql)],
    ) -> Result<()> {
        if condition.is_none() && format.is_none() && options.is_empty() {
            return Err(self.errors.last().cloned().ok_or_else(|| {
                PgError::new(
                    SqlState::STACKED_DIAGNOSTICS_ACCESSED_WITHOUT_ACTIVE_HANDLER,
                    "RAISE without parameters cannot be used outside an exception handler",
                )
            })?);
        }
        let mut code = None;
        let mut name = None;
        match condition {
            Some(Condition::Name(n)) => {
                code = SqlState::by_name(n);
                name = Some(n.clone());
            }
            Some(Condition::State(s)) => {
                code = SqlState::parse(s);
                name = Some(s.clone());
            }
            _ => {}
        }
        let mut message = match format {
            Some(format) => Some(self.formatted(format, arguments)?),
            None => None,
        };
        let mut fields: Vec<(&str, String)> = Vec::new();
        for (option, sql) in options {
            let value = self.eval_text(sql)?.ok_or_else(|| {
                PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "RAISE statement option cannot be null")
            })?;
            let twice =
                |what: &str| PgError::new(SqlState::SYNTAX_ERROR, format!("RAISE option already specified: {what}"));
            match option.as_str() {
                "errcode" => {
                    if code.is_some() {
                        return Err(twice("ERRCODE"));
                    }
                    code = SqlState::parse(&value).or_else(|| SqlState::by_name(&value));
                    if code.is_none() {
                        return Err(PgError::new(
                            SqlState::UNDEFINED_OBJECT,
                            format!("unrecognized exception condition \"{value}\""),
                        ));
                    }
                    name = Some(value);
                }
                "message" => {
                    if message.is_some() {
                        return Err(twice("MESSAGE"));
                    }
                    message = Some(value);
                }
                other => {
                    if fields.iter().any(|(n, _)| *n == other) {
                        return Err(twice(&other.to_uppercase()));
                    }
                    fields.push((other, value));
                }
            }
        }
        let severity = match level {
            Level::Debug => Severity::Debug,
            Level::Log => Severity::Log,
            Level::Info => Severity::Info,
            Level::Notice => Severity::Notice,
            Level::Warning => Severity::Warning,
            Level::Exception => Severity::Error,
        };
        let default = match level {
            Level::Exception => SqlState::RAISE_EXCEPTION,
            Level::Warning => SqlState::WARNING,
            _ => SqlState::SUCCESSFUL_COMPLETION,
        };
        let message = message.or(name).unwrap_or_else(|| default.as_str().to_string());
        let mut error = PgError::new(code.unwrap_or(default), message).severity(severity);
        for (option, value) in fields {
            error = match option {
                "detail" => error.detail(value),
                "hint" => error.hint(value),
                "column" => error.column(value),
                "constraint" => error.constraint(value),
                "datatype" => error.data_type(value),
                "table" => error.table(value),
                _ => error.schema(value),
            };
        }
        if level == Level::Exception {
            return Err(error);
        }
        let context = self.host.routines().context();
        self.host.cell.raise(error.context(context))
    }

    fn formatted(&self, format: &str, arguments: &[Sql]) -> Result<String> {
        let mut out = String::new();
        let mut arguments = arguments.iter();
        let mut chars = format.chars().peekable();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
            } else if chars.peek() == Some(&'%') {
                chars.next();
                out.push('%');
            } else if let Some(sql) = arguments.next() {
                out.push_str(self.eval_text(sql)?.as_deref().unwrap_or("<NULL>"));
            }
        }
        Ok(out)
    }

    // --- GET DIAGNOSTICS -----------------------------------------------------------------------------------------------

    pub(super) fn diagnostics(&mut self, stacked: bool, items: &[(Target, String)]) -> Result<()> {
        let error = self.errors.last().cloned();
        if stacked && error.is_none() {
            return Err(PgError::new(
                SqlState::STACKED_DIAGNOSTICS_ACCESSED_WITHOUT_ACTIVE_HANDLER,
                "GET STACKED DIAGNOSTICS cannot be used outside an exception handler",
            ));
        }
        for (target, item) in items {
            let (value, ty) = match (item.as_str(), &error) {
                ("row_count", _) => (Datum::Int(self.count.get() as i64), oid::INT8),
                ("pg_routine_oid", _) => {
                    return Err(PgError::not_supported("GET DIAGNOSTICS … PG_ROUTINE_OID"));
                }
                ("pg_context", _) => (Datum::Text(self.host.routines().context()), oid::TEXT),
                (item, Some(error)) => {
                    let f = error.fields();
                    let text = match item {
                        "returned_sqlstate" => Some(error.code().as_str().to_string()),
                        "message_text" => Some(error.message().to_string()),
                        "column_name" => f.column.clone(),
                        "constraint_name" => f.constraint.clone(),
                        "pg_datatype_name" => f.data_type.clone(),
                        "table_name" => f.table.clone(),
                        "schema_name" => f.schema.clone(),
                        "pg_exception_detail" => f.detail.clone(),
                        "pg_exception_hint" => f.hint.clone(),
                        _ => f.context.clone(),
                    };
                    (Datum::Text(text.unwrap_or_default()), oid::TEXT)
                }
                _ => return Err(PgError::internal("a diagnostics item")),
            };
            self.assign_target(target, Typed { value, ty })?;
        }
        Ok(())
    }

    /// `CALL procedure(…)`: OUT parameters go into the variables that stand for them.
    pub(super) fn call_procedure(&mut self, sql: &Sql) -> Result<()> {
        let node = super::expressions::one_statement(&sql.text)?.node;
        let NodeEnum::CallStmt(call) = &node else { return Err(PgError::internal("CALL")) };
        let call = call.funccall.as_deref().ok_or_else(|| PgError::internal("CALL of nothing"))?;
        let context = |e: PgError| add_context(e, format!("SQL statement \"{}\"", sql.text));
        let line = || format!("SQL statement \"{}\"", sql.text);
        let planned = self.plan_call(call, sql.names).map_err(|e| super::super::of_query(e, &sql.text, 0, line()));
        let (procedure, expression) = planned?;
        let catalog = self.host.catalog();
        let f = catalog.function(procedure).ok_or_else(|| PgError::cache_lookup_failed("function", procedure))?.clone();
        let targets = self.call_targets(call, &f, sql.names)?;
        let parameters = self.parameters(&expression);
        let mut args = expression.planned.rows(self.host, &parameters).map_err(context)?;
        let args = args.pop().unwrap_or_default();
        let types: Vec<_> = expression.planned.columns.as_deref().unwrap_or_default().iter().map(|c| c.ty).collect();
        self.host.routines().runs(Some(sql.text.clone()));
        let outcome = super::super::call(self.host, procedure, &types, f.returns, args);
        self.host.routines().runs(None);
        let outcome = outcome.map_err(context)?;
        let super::super::Outcome::Value(value) = outcome else { return Err(PgError::internal("a set from CALL")) };
        if targets.is_empty() {
            return Ok(());
        }
        let Some(row) = self.row_of(&Typed { value, ty: oid::RECORD })? else { return Ok(()) };
        let values = row.values.into_iter().zip(row.shape.fields.clone());
        for (target, (value, (_, ty, _))) in targets.iter().zip(values) {
            let value = convert::assign(self.host, value, ty, ty, -1)?;
            self.assign_target(target, Typed { value, ty })?;
        }
        Ok(())
    }

    /// The variables that stand for the OUT and INOUT parameters of a call. Errors: 42601 for an argument that is none.
    fn call_targets(&self, call: &ast::FuncCall, f: &Function, names: usize) -> Result<Vec<Target>> {
        let mut targets = Vec::new();
        for (i, argument) in f.arguments.iter().enumerate().filter(|(_, argument)| argument.mode.is_output()) {
            let target = match argument_of(call, i, &argument.name) {
                Some(NodeEnum::ColumnRef(c)) => {
                    let parts: Vec<String> = c
                        .fields
                        .iter()
                        .filter_map(|f| match &f.node {
                            Some(NodeEnum::String(s)) => Some(s.sval.clone()),
                            _ => None,
                        })
                        .collect();
                    let shown: Vec<&str> = parts.iter().map(String::as_str).collect();
                    self.program.body.look_up(names, &shown).map(|(variable, used)| Target {
                        variable,
                        fields: parts[used..].to_vec(),
                        subscripts: String::new(),
                    })
                }
                _ => None,
            };
            targets.push(target.ok_or_else(|| {
                PgError::new(
                    SqlState::SYNTAX_ERROR,
                    format!(
                        "procedure parameter \"{}\" is an output parameter but corresponding argument is not writable",
                        argument.name
                    ),
                )
            })?);
        }
        Ok(targets)
    }
}

/// What a call gives the parameter of a number and a name; None: its default.
fn argument_of<'c>(call: &'c ast::FuncCall, number: usize, name: &str) -> Option<&'c NodeEnum> {
    let named = call.args.iter().find_map(|node| match &node.node {
        Some(NodeEnum::NamedArgExpr(named)) if named.name == name => named.arg.as_deref(),
        _ => None,
    });
    let node = named.or_else(|| call.args.get(number))?.node.as_ref()?;
    (!matches!(node, NodeEnum::NamedArgExpr(_)) || named.is_some()).then_some(node)
}

/// Whether a handler is for the error.
fn catches(handler: &Handler, error: &PgError) -> bool {
    let code = error.code();
    if error.fields().severity != Severity::Error {
        // it ends the session
        return false;
    }
    handler.conditions.iter().any(|condition| match condition {
        // what cancels a statement is caught by its name alone
        Condition::Others => {
            !matches!(code, SqlState::QUERY_CANCELED | SqlState::SNAPSHOT_TOO_OLD | SqlState::ASSERT_FAILURE)
        }
        Condition::State(state) => matches_state(state, code),
        Condition::Name(name) => SqlState::by_name(name).is_some_and(|state| matches_state(state.as_str(), code)),
    })
}

/// A class's own code (`22000`) stands for all of its class.
fn matches_state(state: &str, code: SqlState) -> bool {
    state == code.as_str() || state.ends_with("000") && state[..2] == code.as_str()[..2]
}
