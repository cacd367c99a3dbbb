//! The message FunctionCall (libpq's `PQfn`): a function named by its OID, called with arguments in either format.
//!
//! It is carried out as the query `SELECT schema.function($1, …)` whose parameters have the declared types, so exactly that overload is
//! found; what is checked before, and told of it, is what PostgreSQL's fast path checks.

use crate::session::context::SessionContext;
use crate::session::execution::portal::Portal;
use crate::session::protocol::extended::incorrect_format_in;
use crate::session::transaction;
use crate::session::{BoxFuture, Execution, Format, RowSink, Session};
use pgsqlite_sql::analyze::is_polymorphic;
use pgsqlite_sql::builtins::catalog::Proc;
use pgsqlite_sql::deparse::quote_identifier;
use pgsqlite_types::codec::{Context, NamesFor};
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};

fn protocol(message: String) -> PgError {
    PgError::new(SqlState::PROTOCOL_VIOLATION, message)
}

impl SessionContext {
    /// The arguments, decoded by the function's declared types.
    fn function_arguments(&self, proc: &Proc, formats: &[Format], values: &[Option<&[u8]>]) -> Result<Vec<Datum>> {
        if values.len() != proc.args.len() {
            return Err(protocol(format!(
                "function call message contains {} arguments but function requires {}",
                values.len(),
                proc.args.len()
            )));
        }
        if formats.len() > 1 && formats.len() != values.len() {
            return Err(protocol(format!(
                "function call message contains {} argument formats but {} arguments",
                formats.len(),
                values.len()
            )));
        }
        let view = self.view();
        let names = NamesFor { names: &*view, role: Some(view.user) };
        let context = Context { settings: &self.gucs.typed, names: &names };
        let mut parameters = Vec::with_capacity(values.len());
        for (i, (value, &ty)) in values.iter().zip(&proc.args).enumerate() {
            let Some(bytes) = value else {
                parameters.push(Datum::Null);
                continue;
            };
            if is_polymorphic(ty) || matches!(ty, oid::ANY | oid::INTERNAL | oid::RECORD) {
                let does = match pgsqlite_types::catalog::by_oid(ty) {
                    Some(t) if ty != oid::RECORD => format!("cannot accept a value of type {}", t.name),
                    _ => "input of anonymous composite types is not implemented".to_string(),
                };
                return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, does));
            }
            let codec =
                view.catalog.codec(ty).ok_or_else(|| PgError::not_supported(format!("an argument of type {ty}")))?;
            let format = match formats {
                [] => Format::Text,
                [one] => *one,
                many => many[i],
            };
            let value = self.read_value(&codec, format, bytes, &context, &mut "");
            parameters.push(value.map_err(|e| incorrect_format_in(e, &format!("function argument {}", i + 1)))?);
        }
        Ok(parameters)
    }
}

impl Session {
    /// Calls the function and gives its result as one row of one column. `formats`: none (all text), one for all, or one for each argument.
    /// Errors: 42883 for an OID that is no function's, 0A000 for what is no plain function, 08P01 for other numbers of arguments.
    pub fn call_function<'a>(
        &'a mut self,
        function: Oid,
        formats: &'a [Format],
        values: &'a [Option<&'a [u8]>],
        result_format: Format,
        sink: &'a mut dyn RowSink,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.call(function, formats, values, result_format, sink))
    }

    async fn call(
        &mut self,
        function: Oid,
        formats: &[Format],
        values: &[Option<&[u8]>],
        result_format: Format,
        sink: &mut dyn RowSink,
    ) -> Result<()> {
        if self.executor.context.transaction.block().is_failed() {
            return Err(transaction::failed_block());
        }
        self.executor.context.wait_for_place().await?;
        self.executor.begin_statement().await?;
        let view = self.executor.context.view();
        let missing =
            || PgError::new(SqlState::UNDEFINED_FUNCTION, format!("function with OID {function} does not exist"));
        let proc = view.catalog.proc(function).ok_or_else(missing)?;
        if proc.kind != b'f' || proc.retset {
            let message = format!("cannot call function \"{}\" via fastpath interface", proc.name);
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let schema = match view.catalog.function(function) {
            Some(made) => made.schema,
            None => match view.catalog.range_of_constructor(function) {
                Some((_, range)) => range.constructor_schema,
                None => view.catalog.schema_of_builtin(function).ok_or_else(missing)?,
            },
        };
        let schema = view.catalog.schema_name(schema);
        let parameters = self.executor.context.function_arguments(proc, formats, values)?;

        let mut arguments: Vec<String> = (1..=proc.args.len()).map(|n| format!("${n}")).collect();
        if let (true, Some(last)) = (proc.variadic != 0, arguments.last_mut()) {
            last.insert_str(0, "VARIADIC ");
        }
        let name = quote_identifier(&proc.name);
        let text = format!("SELECT {}.{name}({})", quote_identifier(schema), arguments.join(", "));
        let statements = self.executor.context.parse_text(&text)?;
        let [raw] = &statements[..] else { return Err(PgError::internal("a call that is not one statement")) };
        let (prepared, _) = self.plan(raw, &proc.args).map_err(PgError::without_position)?;
        if let Some(columns) = &prepared.columns {
            sink.columns(columns)?;
        }
        let mut portal = Portal::new(Some(prepared), parameters, vec![result_format]);
        portal.depth = self.executor.context.transaction.savepoints().len();
        self.executor.context.begin_running();
        let result = loop {
            match self.run_portal(&mut portal, 0, sink).await {
                Ok(Execution::Paused) => {}
                Ok(Execution::Complete(_)) => break Ok(()),
                Ok(_) => break Err(PgError::internal("a function call that is no query")),
                Err(error) => break Err(PgError::without_position(error)),
            }
        };
        self.executor.context.end_running();
        self.executor.close(portal);
        result
    }
}
