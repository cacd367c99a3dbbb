//! Prepared statements: PREPARE, descriptions, BIND, EXECUTE.

use super::cursor::Cursor;
use super::fetch::FILE_NAME;
use super::keys::Inserted;
use super::{Conversation, Step, Wrong, MOST_STATEMENTS};
use crate::client::End;
use crate::dialect::translation::{Keys, EXECUTE_PROCEDURE};
use crate::dialect::{self, Environment, Kind, Shown, Translation};
use crate::errors::Failure;
use crate::values::bind;
use crate::values::types::Type;
use crate::wire::input::LONGEST;
use crate::wire::messages::{Value, Wanted};
use crate::wire::output::Field;
use crate::wire::type_code;
use pgsqlite_engine::session::{Execution, OutputColumn, Session, StatementDescription};
use pgsqlite_sql::analyze::untyped_parameter;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_types::{oid, Oid, PgError};
use std::sync::Arc;

/// A column of a result: how its values are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Output {
    pub ty: Type,
    /// PostgreSQL's type
    pub oid: Oid,
    /// in the form that the client asked for: BOOLEAN as 01 and 00, a locator as bytes
    pub raw: bool,
    /// which of the result's tables it is a column of, if rows say which ones they are, and its number there
    pub origin: Option<(usize, i16)>,
}

/// A prepared statement.
pub struct Statement {
    pub text: String,
    pub translation: Translation,
    /// what the translation was made from
    catalog: Arc<Catalog>,
    /// the engine's name for it
    pub name: String,
    /// columns of the result
    pub outputs: Vec<Output>,
    /// of each: the file of the client that gets the content
    pub files: Vec<Option<String>>,
    fields: Vec<Field>,
    /// what the client wants back of rows that it inserts
    wanted_keys: Keys,
    pub keys: Vec<(Output, Field)>,
    parameters: Vec<Oid>,
    bound: Vec<Value>,
    /// contents of bound blobs, in order, and how many of them are whole
    blobs: Vec<Vec<u8>>,
    whole_blobs: usize,
    /// contents of the client's files that the statement names
    client_files: Vec<Vec<u8>>,
    /// types of the rows of PUT
    pub put_types: Vec<Wanted>,
    pub cursor: Option<Cursor>,
    /// what the client calls its cursor
    pub cursor_name: Option<String>,
    /// an insert cursor is open
    pub inserting: bool,
    pub scroll: bool,
    pub hold: bool,
    /// it is released with its cursor: the client will not ask for that
    pub auto_free: bool,
}

/// Lets the engine analyze a translated text. A parameter of which nothing says what it is takes a text: in Informix it gets the type of the
/// value that comes for it.
async fn parse(session: &mut Session, name: &str, sql: &str) -> Result<(), PgError> {
    let mut types = Vec::new();
    loop {
        let parsed = session.parse(name, sql, &types).await;
        match parsed.as_ref().err().and_then(untyped_parameter) {
            Some(number) if types.get(number - 1).is_none_or(|ty| *ty == 0) => {
                types.resize(types.len().max(number), 0);
                types[number - 1] = oid::TEXT;
            }
            _ => return parsed,
        }
    }
}

impl Statement {
    fn new(text: String, translation: Translation, catalog: Arc<Catalog>, name: String) -> Statement {
        Statement {
            text,
            translation,
            catalog,
            name,
            outputs: vec![],
            files: vec![],
            fields: vec![],
            wanted_keys: Keys::None,
            keys: vec![],
            parameters: vec![],
            bound: vec![],
            blobs: vec![],
            whole_blobs: 0,
            client_files: vec![],
            put_types: vec![],
            cursor: None,
            cursor_name: None,
            inserting: false,
            scroll: false,
            hold: false,
            auto_free: false,
        }
    }
}

/// What the translation knows of each column of a result.
fn known<'a>(columns: &[OutputColumn], shown: &'a [Shown]) -> Vec<Option<&'a Shown>> {
    let stars = shown.iter().filter(|s| s.is_star).count();
    // with one star the number of its columns follows from the others
    let known_of = |i: usize| -> Option<&'a Shown> {
        let known = match stars {
            0 => columns.len() == shown.len(),
            1 => columns.len() + 1 >= shown.len(),
            _ => false,
        };
        if !known {
            return None;
        }
        let star = shown.iter().position(|s| s.is_star).unwrap_or(shown.len());
        let extra = columns.len() + stars - shown.len();
        match i {
            i if i < star => shown.get(i),
            i if stars == 1 && i < star + extra => None,
            i => shown.get(i + stars - extra),
        }
    };
    (0..columns.len()).map(known_of).collect()
}

/// The types of a result's columns: PostgreSQL's description, and what the translation knows better.
fn outputs(catalog: &Catalog, columns: &[OutputColumn], known: &[Option<&Shown>]) -> Step<Vec<Output>> {
    let mut out = Vec::new();
    for (i, column) in columns.iter().enumerate() {
        let stored = Type::of_output(catalog, column);
        let hint = known.get(i).and_then(|k| k.as_ref()?.ty);
        let ty = match (hint, stored) {
            // a hint must be a type of what PostgreSQL gives
            (Some(hint), Some(stored)) if fits(hint, stored) => Some(hint),
            // an array or a row that a cast has made
            (Some(hint @ Type::Complex(_)), None) => Some(hint),
            (_, stored) => stored,
        };
        let ty = ty.ok_or_else(|| {
            Failure::refused(format!("the column \"{}\", whose type Informix does not have,", column.name))
        })?;
        out.push(Output { ty, oid: column.type_oid, raw: false, origin: None });
    }
    Ok(out)
}

/// Whether values that would be sent as `stored` can be sent as `hint`.
fn fits(hint: Type, stored: Type) -> bool {
    match (hint, stored) {
        (Type::DateTime(a), Type::DateTime(b)) => a.is_timestamp() == b.is_timestamp(),
        (Type::Interval(_), Type::Interval(_)) => true,
        (Type::Char(_) | Type::VarChar(_) | Type::LVarChar(_) | Type::NChar(_), b) => matches!(b, Type::LVarChar(_)),
        (Type::Decimal(..) | Type::Money(..), b) => matches!(b, Type::Decimal(..)),
        (Type::Complex(a), b) => b == Type::Complex(a),
        (a, b) => std::mem::discriminant(&a) == std::mem::discriminant(&b),
    }
}

/// Bytes as bytea's text.
pub(super) fn hexadecimal(bytes: &[u8]) -> Vec<u8> {
    let mut out = b"\\x".to_vec();
    pgsqlite_types::buffer::hex(&mut out, bytes);
    out
}

impl Conversation<'_> {
    /// The statement that messages are about.
    pub(super) fn statement(&mut self) -> Step<&mut Statement> {
        let missing = || Wrong::Failed(Failure::new(-267, 0, ""));
        let id = self.current.ok_or_else(missing)?;
        self.statements.get_mut(&id).ok_or_else(missing)
    }

    pub(super) async fn prepare(&mut self, text: &[u8]) -> Step {
        if self.statements.len() >= MOST_STATEMENTS {
            return Err(Failure::text("too many statements are prepared").into());
        }
        self.current = None;
        let text = self.identity.codeset.decode(text)?;
        let id = (0..i16::MAX).find(|i| !self.statements.contains_key(i)).unwrap_or(0);
        let name = format!("s{id}");
        self.text.clone_from(&text);
        if self.session.is_none() {
            let action = dialect::without_database(&text, self.identity.delimident)?;
            let statement = Statement::new(text, Translation::of_action(action), Arc::default(), name);
            self.statements.insert(id, statement);
            self.current = Some(id);
            return Ok(());
        }
        let statement = self.analyze(text, name, Keys::None).await?;
        self.statements.insert(id, statement);
        self.current = Some(id);
        self.end_read().await
    }

    /// Translates a text and lets the engine analyze it.
    pub(super) async fn analyze(&mut self, text: String, name: String, keys: Keys) -> Step<Statement> {
        let mut environment = Environment { keys, ..self.environment()? };
        let cancel = self.session()?.cancel_handle();
        let mut translation = cancel
            .compute(|| dialect::translate(&text, &environment))?
            .inspect_err(|failure| tracing::debug!(text, ?failure, "a statement that is refused"))?;
        tracing::trace!(text, translation.sql, ?translation.kind, "a statement is translated");
        let mut description = StatementDescription { parameters: vec![], columns: None };
        if matches!(translation.kind, Kind::Query | Kind::Change { .. }) {
            let session = self.session()?;
            session.close_statement(&name)?;
            let mut parsed = parse(session, &name, &translation.sql).await;
            if parsed.is_err() && (!translation.numbered.is_empty() || translation.updates.is_some()) {
                // not every row has a number: its large objects are for reading then
                environment.row_numbers = false;
                translation = cancel.compute(|| dialect::translate(&text, &environment))??;
                parsed = parse(session, &name, &translation.sql).await;
            }
            parsed
                .inspect_err(|error| tracing::debug!(text, translation.sql, %error, "a statement that is refused"))?;
            description = session.describe_statement(&name).await?;
        }
        let columns = description.columns.as_deref().unwrap_or_default();
        let hidden = 2 * translation.numbered.len() + translation.updates.iter().len();
        let columns = &columns[..columns.len().saturating_sub(hidden)];
        let is_query = translation.kind == Kind::Query;
        let field = |column: &OutputColumn, output: &Output| {
            let of_table = environment.catalog.relation(column.table_oid);
            let of_table = of_table.and_then(|r| r.column_by_attnum(column.attnum));
            output.ty.numbered_field(column.name.clone(), of_table.is_some_and(|c| c.not_null), &environment.catalog)
        };
        let keys = match &translation.kind {
            Kind::Change { serial, is_insert: true } => {
                let wanted = columns.get(serial.iter().len()..).unwrap_or_default();
                let keys = outputs(&environment.catalog, wanted, &[])?;
                wanted.iter().zip(keys).map(|(column, key)| (key, field(column, &key))).collect()
            }
            _ => vec![],
        };
        let (mut columns_out, mut files) = (vec![], vec![]);
        if is_query {
            let known = known(columns, &translation.shown);
            columns_out = outputs(&environment.catalog, columns, &known)?;
            files = known.iter().map(|k| k.and_then(|k| k.to_file.clone())).collect();
        }
        let mut outputs = columns_out;
        for (output, column) in outputs.iter_mut().zip(columns) {
            let which = translation.numbered.iter().position(|table| *table == column.table_oid);
            output.origin = which.map(|which| (which, column.attnum));
        }
        // a file gets the content of large objects only
        for (output, file) in outputs.iter().zip(&files) {
            if file.is_some() && !matches!(output.ty, Type::Blob | Type::Clob | Type::Byte | Type::Text) {
                return Err(Failure::new(-674, 0, "lotofile").into());
            }
        }
        if files.iter().filter(|f| f.is_some()).count()
            != translation.shown.iter().filter(|s| s.to_file.is_some()).count()
        {
            return Err(Failure::refused("LOTOFILE beside more than one *").into());
        }
        let fields: Vec<Field> = match is_query {
            true => columns
                .iter()
                .zip(&outputs)
                .zip(&files)
                .map(|((column, output), file)| match file {
                    Some(_) => FILE_NAME.field(column.name.clone(), false),
                    None => field(column, output),
                })
                .collect(),
            // an insert cursor's rows have the columns of the table
            false if translation.plain_insert => translation
                .insert_columns
                .iter()
                .map(|(name, ty)| ty.map(|ty| ty.numbered_field(name.clone(), false, &environment.catalog)))
                .collect::<Option<Vec<_>>>()
                .unwrap_or_default(),
            false => vec![],
        };
        Ok(Statement {
            outputs,
            files,
            fields,
            wanted_keys: environment.keys,
            keys,
            parameters: description.parameters,
            ..Statement::new(text, translation, environment.catalog, name)
        })
    }

    /// Before it runs: a statement that was prepared before the catalog changed is translated again.
    /// Errors: -710 if its result would have other columns.
    pub(super) async fn refresh(&mut self) -> Step {
        let now = self.session()?.catalog_snapshot();
        let statement = self.statement()?;
        if Arc::ptr_eq(&statement.catalog, &now) {
            return Ok(());
        }
        let (text, name, keys) = (statement.text.clone(), statement.name.clone(), statement.wanted_keys.clone());
        let new = self.analyze(text, name, keys).await?;
        let old = self.statement()?;
        let same = old.outputs.len() == new.outputs.len()
            && old.outputs.iter().zip(&new.outputs).all(|(a, b)| a.ty == b.ty && a.oid == b.oid)
            && old.keys == new.keys;
        if !same {
            let name = old.translation.sql.chars().take(100).collect::<String>();
            return Err(Failure::new(-710, 0, name).into());
        }
        (old.translation, old.catalog, old.parameters) = (new.translation, new.catalog, new.parameters);
        Ok(())
    }

    pub(super) fn describe(&mut self) -> Step {
        let id = self.current.unwrap_or(0);
        let statement = self.statement()?;
        let (number, fields) = (statement.translation.statement_type, statement.fields.clone());
        self.client.out.describe(number, id, &fields);
        Ok(())
    }

    pub(super) fn describe_input(&mut self) -> Step {
        let statement = self.statement()?;
        let fields: Vec<Field> = statement
            .translation
            .targets
            .iter()
            .enumerate()
            .map(|(i, target)| {
                let stored = || Type::of_postgres(*statement.parameters.get(i)?, -1);
                let ty = match target.or_else(stored) {
                    Some(Type::Serial) => Type::Integer,
                    Some(Type::BigSerial) => Type::BigInt,
                    Some(ty) => ty,
                    // of any type: clients send text
                    None => Type::Char(0),
                };
                ty.numbered_field(String::new(), false, &statement.catalog)
            })
            .collect();
        self.client.out.describe_input(&fields);
        Ok(())
    }

    pub(super) fn bind(&mut self, values: Vec<Value>) -> Step {
        let statement = self.statement()?;
        if values.len() != statement.translation.targets.len() {
            return Err(Failure::new(-254, 0, "").into());
        }
        statement.bound = values;
        (statement.blobs, statement.whole_blobs) = (vec![], 0);
        Ok(())
    }

    pub(super) fn blob_bind(&mut self, count: usize) -> Step {
        let statement = self.statement()?;
        let wanted = statement.bound.iter().filter(|v| matches!(v, Value::Blob { .. })).count();
        if count != wanted {
            return Err(Wrong::End(End::Malformed(format!("{count} blobs instead of {wanted}"))));
        }
        Ok(())
    }

    /// A piece of a bound blob; an empty one ends it. The size that was announced is a guess: JDBC makes it from the number of
    /// characters of a text.
    pub(super) fn blob_piece(&mut self, piece: Vec<u8>) -> Step {
        let statement = self.statement()?;
        let malformed = |what: &str| Err(Wrong::End(End::Malformed(what.into())));
        let at = statement.whole_blobs;
        if at >= statement.bound.iter().filter(|v| matches!(v, Value::Blob { .. })).count() {
            return malformed("a blob that was not announced");
        }
        if statement.blobs.len() == at {
            statement.blobs.push(vec![]);
        }
        let blob = &mut statement.blobs[at];
        if blob.len() + piece.len() > LONGEST {
            // where the next message begins is known: the rest of it is passed over
            statement.blobs = vec![];
            return Err(Failure::too_long("a BYTE or TEXT").into());
        }
        if piece.is_empty() {
            statement.whole_blobs += 1;
        }
        blob.extend(piece);
        Ok(())
    }

    pub(super) fn return_types(&mut self, wanted: Vec<Wanted>) -> Step {
        let statement = self.statement()?;
        if statement.translation.kind != Kind::Query {
            statement.put_types = wanted;
            return Ok(());
        }
        if wanted.len() != statement.outputs.len() {
            return Err(Failure::new(-254, 0, "").into());
        }
        for (wanted, output) in wanted.iter().zip(&mut statement.outputs) {
            output.raw = matches!(wanted.type_code & 0xff, type_code::BOOLEAN | type_code::OPAQUE);
        }
        Ok(())
    }

    /// The row on which an open cursor FOR UPDATE stands. Errors: -507 for no such cursor, -266 if it stands on none.
    fn positioned_row(&self, cursor: &str, table: Oid) -> Step<String> {
        let named = |s: &&Statement| s.cursor_name.as_deref().is_some_and(|n| n.eq_ignore_ascii_case(cursor));
        let open = self.statements.values().filter(named).find_map(|s| Some((s, s.cursor.as_ref()?)));
        let (statement, open) = open.ok_or_else(|| Failure::new(-507, 0, cursor))?;
        if statement.translation.updates != Some(table) {
            // the table is not that of the cursor, or its rows are not to be changed
            return Err(Failure::new(-507, 0, cursor).into());
        }
        Ok(open.row.clone().ok_or_else(|| Failure::new(-266, 0, ""))?)
    }

    /// What the engine's parameters get: texts, by the types that take them.
    fn values(&mut self, bound: &[Value], blobs: Vec<Vec<u8>>) -> Step<Vec<Option<Vec<u8>>>> {
        let (codeset, last_serial, row_count) = (self.identity.codeset, self.last_serial, self.row_count);
        let id = self.current.unwrap_or(0);
        self.statement()?;
        let Some(statement) = self.statements.get(&id) else { return Err(Failure::new(-267, 0, "").into()) };
        if bound.len() != statement.translation.targets.len() {
            return Err(Failure::new(-254, 0, "").into());
        }
        let (dates, money) = (self.identity.dates.clone(), self.identity.money.clone());
        let row = match &statement.translation.current_of {
            Some((cursor, table)) => Some(self.positioned_row(cursor, *table)?),
            None => None,
        };
        let Some(statement) = self.statements.get(&id) else { return Err(Failure::new(-267, 0, "").into()) };
        let objects = &mut self.large_objects;
        let mut blobs = blobs.into_iter();
        let mut out = Vec::new();
        for (at, source) in statement.translation.parameters.iter().enumerate() {
            out.push(match source {
                dialect::translation::Source::LastSerial => Some(last_serial.to_string().into_bytes()),
                dialect::translation::Source::CurrentRow => row.clone().map(String::into_bytes),
                dialect::translation::Source::RowCount => Some(row_count.to_string().into_bytes()),
                dialect::translation::Source::ClientFile(i) => {
                    let content =
                        statement.client_files.get(*i).ok_or_else(|| Failure::internal("a file that was not read"))?;
                    Some(match statement.translation.client_files[*i].is_text {
                        true => codeset.decode(content)?.into_bytes(),
                        false => hexadecimal(content),
                    })
                }
                dialect::translation::Source::Client(i) => {
                    let content = match &bound[*i] {
                        Value::Blob { .. } => blobs.next().ok_or_else(|| Failure::new(-254, 0, ""))?,
                        Value::Opaque { type_name, bytes } if matches!(type_name.as_slice(), b"blob" | b"clob") => {
                            objects.bound(bytes)?
                        }
                        value => {
                            let mut text =
                                bind::text(value, statement.translation.targets[*i], codeset, &dates, &money)?;
                            if statement.translation.cut[*i] {
                                text = text.map(|t| match String::from_utf8(t) {
                                    Ok(t) => bind::without_fraction(&t).into_bytes(),
                                    Err(bytes) => bytes.into_bytes(),
                                });
                            }
                            out.push(text);
                            continue;
                        }
                    };
                    // what takes the content says whether it is bytes or a text, whatever the client calls it
                    Some(match statement.parameters.get(at) {
                        Some(&oid::BYTEA) => hexadecimal(&content),
                        _ => codeset.decode(&content)?.into_bytes(),
                    })
                }
            });
        }
        Ok(out)
    }

    /// Binds the values that came last to a portal of the current statement.
    pub(super) async fn bind_portal(&mut self, portal: &str) -> Step {
        let statement = self.statement()?;
        let (bound, blobs) = (statement.bound.clone(), std::mem::take(&mut statement.blobs));
        statement.whole_blobs = 0;
        let name = statement.name.clone();
        let values = self.values(&bound, blobs)?;
        let values: Vec<Option<&[u8]>> = values.iter().map(|v| v.as_deref()).collect();
        self.session()?.bind(portal, &name, &[], &values, &[]).await?;
        Ok(())
    }

    pub(super) async fn execute(&mut self) -> Step {
        self.check_interrupt()?;
        if let Kind::Session(action) = &self.statement()?.translation.kind {
            let action = action.clone();
            return self.act(action).await;
        }
        self.refresh().await?;
        let kind = self.statement()?.translation.kind.clone();
        match kind {
            Kind::Session(_) => {}
            Kind::Query => return Err(Failure::new(-260, 0, "").into()),
            Kind::Change { .. } => {
                let rows = self.change().await?;
                let serial = if matches!(kind, Kind::Change { is_insert: true, .. }) { self.last_serial } else { 0 };
                self.done(rows, serial);
                return Ok(());
            }
            Kind::Utility(statements) => {
                self.begin_change().await?;
                let result = self.utility(&statements).await;
                const CREATE_INDEX: i16 = 16;
                let is_index = self.statement()?.translation.statement_type == CREATE_INDEX;
                self.end_change(result).await.map_err(|wrong| match wrong {
                    // the name is that of another index
                    Wrong::Failed(failure) if is_index && failure.sqlcode == -310 => {
                        Wrong::Failed(Failure { sqlcode: -316, ..failure })
                    }
                    other => other,
                })?;
                self.row_count = 0;
            }
            Kind::Transaction(what) => return self.transaction(what).await,
        }
        self.done(0, 0);
        Ok(())
    }

    /// All or none.
    async fn utility(&mut self, statements: &[String]) -> Step {
        if statements.is_empty() {
            return Ok(());
        }
        let alone = self.in_transaction || statements.len() == 1;
        if alone {
            for sql in statements {
                self.run_sql(sql).await?;
            }
            return Ok(());
        }
        // several statements of one text are one transaction
        self.run_sql(&statements.join("; ")).await
    }

    /// Runs INSERT, UPDATE or DELETE with the bound values; the number of rows.
    pub(super) async fn change(&mut self) -> Step<i64> {
        let statement = self.statement()?;
        let (serial, is_insert) = match &statement.translation.kind {
            Kind::Change { serial, is_insert } => (serial.clone(), *is_insert),
            _ => (None, false),
        };
        // a row whose number is asked for must come after those whose numbers were given
        let asks = serial.as_ref().is_some_and(|s| match s.parameter.and_then(|i| statement.bound.get(i)) {
            Some(Value::Integer(n)) => *n == 0,
            Some(Value::Text(text)) => text.trim_ascii() == b"0",
            _ => true,
        });
        self.read_client_files().await?;
        if asks && !self.followers.is_empty() {
            self.follow_sequences().await?;
        }
        self.begin_change().await?;
        let codeset = self.identity.codeset;
        let keys: Vec<Output> = self.statement()?.keys.iter().map(|(key, _)| *key).collect();
        let mut inserted = Inserted::new(serial.is_some(), keys, codeset);
        let result = async {
            self.bind_portal("").await?;
            match self.session()?.execute("", 0, &mut inserted).await {
                Ok(Execution::Complete(tag)) => Ok(tag.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)),
                Ok(other) => Err(Wrong::Failed(Failure::internal(format!("a change that ends as {other:?}")))),
                Err(error) => Err(inserted.failure.take().map_or_else(|| error.into(), Wrong::Failed)),
            }
        }
        .await;
        let mut rows = self.end_change(result).await?;
        if self.statement()?.translation.statement_type == EXECUTE_PROCEDURE {
            rows = 0;
        }
        self.row_count = rows;
        if is_insert {
            if let Some(last) = inserted.last {
                self.last_serial = last;
            }
            if let Some(serial) = serial.filter(|s| s.given && (s.parameter.is_none() || !asks)) {
                let highest = self.followers.entry(serial.sequence).or_default();
                *highest = (*highest).max(inserted.highest);
            }
        }
        self.tell_keys(&inserted.rows).await?;
        Ok(rows)
    }

    /// Reads the files that the current statement names, before it begins.
    pub(super) async fn read_client_files(&mut self) -> Step {
        let files = self.statement()?.translation.client_files.clone();
        let mut contents = Vec::new();
        for file in &files {
            contents.push(self.read_client_file(&file.path).await?);
        }
        self.statement()?.client_files = contents;
        Ok(())
    }

    /// Sequences go on behind the values that clients have given.
    pub(super) async fn follow_sequences(&mut self) -> Step {
        while let Some((sequence, highest)) = self.followers.pop_first() {
            let sql = format!(
                "SELECT setval({}::regclass, {highest}) FROM {sequence} WHERE last_value < {highest} OR NOT is_called",
                dialect::print::literal(&sequence)
            );
            self.begin_change().await?;
            let result = self.run_sql(&sql).await;
            self.end_change(result).await?;
        }
        Ok(())
    }

    pub(super) async fn release(&mut self) -> Step {
        let Some(id) = self.current.take() else { return Err(Failure::new(-267, 0, "").into()) };
        self.close_cursor(id)?;
        let (statement, session) = (self.statements.remove(&id), &mut self.session);
        if let (Some(statement), Some(session)) = (statement, session) {
            session.close_statement(&statement.name)?;
            return self.end_read().await;
        }
        Ok(())
    }
}
