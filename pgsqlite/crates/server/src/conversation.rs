//! A session and its client, message by message.

use crate::client::{malformed, parameter_context, Client, End};
use crate::errors;
use crate::sink::{describe, WireSink, FLUSH};
use pgsqlite_engine::session::{Execution, Format, Script, Session, StatementSource, TransactionStatus};
use pgsqlite_types::encoding::Encoding;
use pgsqlite_types::error::Severity;
use pgsqlite_types::{PgError, SqlState};
use pgsqlite_wire::backend::Output;
use pgsqlite_wire::frontend::{self, Message, Target};
use pgsqlite_wire::Malformed;
use std::sync::Arc;

/// A session and its client, message by message; `own_thread` says where it runs.
pub struct Conversation {
    pub(crate) session: Session,
    pub client: Client,
    /// the text that error positions count in
    pub(crate) text: Option<String>,
    /// after an error in the extended protocol: messages are skipped up to Sync
    pub(crate) skip_to_sync: bool,
    /// in which messages are written
    pub(crate) encoding: Encoding,
}

type Step = Result<(), End>;

impl Conversation {
    /// Answers the messages that have come, and sends the answers once the client has nothing more to say.
    pub async fn answer_all(&mut self) -> Step {
        while let Some((kind, body)) = self.client.buffered()? {
            // after an error nothing is looked at up to Sync, not even whether it is well-formed
            if self.skip_to_sync && !matches!(kind, b'S' | b'X') {
                continue;
            }
            match frontend::decode(kind, &body) {
                Ok(message) => self.answer(message).await?,
                Err(e) => self.refuse(kind, e).await?,
            }
            self.flush_if_full().await?;
        }
        self.flush().await
    }

    /// Sends the answers. What they tell of is on disk then: the session may have seen commits that are not yet. Who has the writer
    /// slot is exempt as long as no row, error or message tells more than how many rows were changed: its own transaction is lost
    /// together with those.
    async fn flush(&mut self) -> Step {
        if let Some(commit) = self.session.unsettled() {
            let output = &self.client.out.buffer;
            if !(output.is_empty() || self.session.has_writer_slot() && tells_no_rows(output)) {
                self.session.settle(commit).await.map_err(End::Fatal)?;
            }
        }
        let cancel = self.session.cancel_handle();
        tokio::select! {
            biased;
            sent = self.client.flush() => sent,
            // the client takes nothing at the moment, so it cannot be told why either
            () = cancel.terminated() => Err(End::Gone),
        }
    }

    /// As [`Conversation::flush`], once enough has come together.
    async fn flush_if_full(&mut self) -> Step {
        match self.client.out.buffer.len() >= FLUSH {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    /// Whether the session has a thread of its own from now on.
    pub fn set_own_thread(&mut self, own: bool) {
        self.session.set_own_thread(own);
    }

    /// Whether the last commit met others'.
    pub fn commits_beside_others(&self) -> bool {
        self.session.commits_beside_others()
    }

    /// Gives back memory before a wait that may be long.
    pub fn rest(&mut self) {
        self.client.rest();
        self.session.rest();
    }

    /// Waits for input. While the client is silent, notifications go out, and the session may be told to end. False:
    /// nothing has come for a moment, or something else happened.
    pub async fn wait(&mut self) -> Result<bool, End> {
        self.client.stream.be_urgent(self.session.keeps_others_waiting());
        self.session.rest_block();
        let came = tokio::select! {
            biased;
            event = self.session.wait_event() => event.map(|()| false).map_err(End::Fatal),
            filled = self.client.fill() => filled,
        };
        self.session.rouse();
        let came = came?;
        self.notifications();
        self.flush().await?;
        Ok(came)
    }

    /// A malformed body in a whole message is an error like another: the next message's start is known.
    async fn refuse(&mut self, kind: u8, e: Malformed) -> Step {
        self.text = None;
        self.error(malformed(e)).await?;
        match kind {
            b'P' | b'B' | b'D' | b'E' | b'C' | b'H' => self.skip_to_sync = true,
            b'S' => {
                self.skip_to_sync = false;
                self.end_of_query().await?;
            }
            _ => self.end_of_query().await?,
        }
        Ok(())
    }

    /// Ends the implicit transaction and says ReadyForQuery.
    async fn end_of_query(&mut self) -> Step {
        if let Err(e) = self.session.sync().await {
            self.error(e).await?;
        }
        // (deferred triggers may have told something at the commit)
        self.notices();
        self.ready();
        Ok(())
    }

    fn notifications(&mut self) {
        for n in self.session.take_notifications() {
            self.client.out.notification(n.pid, &n.channel, &n.payload);
        }
    }

    async fn answer(&mut self, message: Message<'_>) -> Step {
        match message {
            Message::Query(text) => self.query(text).await,
            Message::Terminate => Err(End::Gone),
            Message::Sync => {
                self.skip_to_sync = false;
                self.end_of_query().await
            }
            Message::Flush => self.flush().await,
            // leftovers of a COPY that ended in an error
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => Ok(()),
            Message::FunctionCall { function, formats, values, result_format } => {
                self.text = None;
                if self.client.out.answered {
                    self.flush().await?;
                }
                if let Err(error) = self.function_call(function, &formats, &values, result_format).await {
                    self.error(error).await?;
                }
                self.end_of_query().await
            }
            extended => {
                let result = self.extended(extended).await;
                match result {
                    Ok(()) => Ok(()),
                    Err(Ok(error)) => {
                        self.error(error).await?;
                        self.skip_to_sync = true;
                        Ok(())
                    }
                    Err(Err(end)) => Err(end),
                }
            }
        }
    }

    /// ReadyForQuery, with what changed before it.
    fn ready(&mut self) {
        self.notices();
        for (name, value) in self.session.take_parameter_changes() {
            self.client.out.parameter_status(&name, &value);
        }
        let status = match self.session.transaction_status() {
            TransactionStatus::Idle => b'I',
            TransactionStatus::InTransaction => b'T',
            TransactionStatus::Failed => b'E',
        };
        if status == b'I' {
            self.notifications();
        }
        self.client.out.ready_for_query(status);
    }

    /// The client's encoding; messages are written in it from now on.
    fn client_encoding(&mut self) -> Encoding {
        let encoding = self.session.client_encoding();
        if self.encoding != encoding {
            self.encoding = encoding;
            self.client.out.encode = match encoding.is_converted() {
                true => Some(Arc::new(move |text: &str| encoding.encode_lossy(text))),
                false => None,
            };
        }
        encoding
    }

    fn notices(&mut self) {
        self.client_encoding();
        for notice in self.session.take_notices() {
            errors::write(&mut self.client.out, &notice, b'N', self.text.as_deref());
        }
    }

    async fn error(&mut self, error: PgError) -> Step {
        self.notices();
        if error.code() == SqlState::INTERNAL_ERROR {
            let text: String = self.text.as_deref().unwrap_or("").chars().take(1000).collect();
            tracing::error!(%error, text, "a defect of pgsqlite");
        }
        if matches!(error.fields().severity, Severity::Fatal | Severity::Panic) {
            return Err(End::Fatal(error));
        }
        self.session.observe_error(&error);
        if self.session.exits_on_error() {
            self.client.flush().await?;
            return Err(End::Fatal(error.fatal()));
        }
        self.session.failed().await;
        errors::write(&mut self.client.out, &error, b'E', self.text.as_deref());
        Ok(())
    }

    // --- simple protocol -------------------------------------------------------------------------------------------------

    async fn query(&mut self, text: &[u8]) -> Step {
        match self.client_encoding().decode(text) {
            Ok(text) => {
                self.text = Some(text.to_string());
                match self.script(&text).await {
                    Ok(()) => {}
                    Err(Ok(error)) => self.error(error).await?,
                    Err(Err(end)) => return Err(end),
                }
            }
            Err(e) => self.error(e).await?,
        }
        self.end_of_query().await
    }

    async fn script(&mut self, text: &str) -> Result<(), Result<PgError, End>> {
        let mut script: Script = self.session.script(text).map_err(Ok)?;
        // (what the scanner warns of)
        self.notices();
        let mut columns = None;
        loop {
            let formats = self.session.script_formats(&script);
            let encoding = self.client_encoding();
            let mut sink = WireSink {
                out: &mut self.client.out,
                columns: columns.take(),
                formats,
                describe: true,
                encoding,
                notices: Some(self.text.as_deref()),
            };
            let execution = self.session.execute_script(&mut script, &mut sink).await.map_err(Ok)?;
            let kept = sink.columns.take();
            match execution {
                None => return Ok(()),
                Some(Execution::Complete(tag)) => {
                    self.finish_statement(&script).await?;
                    self.notices();
                    self.client.out.command_complete(&tag);
                }
                Some(Execution::Empty) => self.client.out.empty_query_response(),
                Some(Execution::Suspended) => return Err(Ok(PgError::internal("a simple query was suspended"))),
                Some(Execution::Paused) => {
                    self.flush().await.map_err(Err)?;
                    columns = kept;
                }
                Some(Execution::CopyIn { formats }) => {
                    let tag = self.copy_in(&formats).await?;
                    self.finish_statement(&script).await?;
                    self.notices();
                    self.client.out.command_complete(&tag);
                }
            }
        }
    }

    /// A single statement commits before its CommandComplete, so that a failing commit is told instead of it.
    async fn finish_statement(&mut self, script: &Script) -> Result<(), Result<PgError, End>> {
        if script.is_last() {
            self.session.sync().await.map_err(Ok)?;
        }
        Ok(())
    }

    /// The data of COPY FROM STDIN.
    async fn copy_in(&mut self, formats: &[Format]) -> Result<String, Result<PgError, End>> {
        let formats: Vec<i16> = formats.iter().map(|f| (*f == Format::Binary) as i16).collect();
        self.client.out.copy_response(b'G', &formats);
        loop {
            let Some((kind, body)) = self.client.buffered().map_err(Err)? else {
                self.flush().await.map_err(Err)?;
                tokio::select! {
                    biased;
                    error = self.session.copy_in_stopped() => return Err(Ok(error)),
                    // a moment's silence is nothing to a COPY: the next round waits on
                    filled = self.client.fill() => { filled.map_err(Err)?; }
                }
                continue;
            };
            match frontend::decode(kind, &body).map_err(|e| Ok(malformed(e)))? {
                Message::CopyData(data) => self.session.copy_in_data(data).await.map_err(Ok)?,
                Message::CopyDone => return self.session.copy_in_done().await.map_err(Ok),
                Message::CopyFail(message) => {
                    return Err(Ok(self.session.copy_in_fail(&String::from_utf8_lossy(message)).await));
                }
                Message::Flush | Message::Sync => {}
                Message::Terminate => return Err(Err(End::Gone)),
                _ => {
                    let message = format!("unexpected message type 0x{kind:02X} during COPY from stdin");
                    return Err(Err(Malformed::new(message).into()));
                }
            }
        }
    }

    // --- function calls --------------------------------------------------------------------------------------------------

    async fn function_call(
        &mut self,
        function: u32,
        formats: &[i16],
        values: &[Option<&[u8]>],
        result_format: i16,
    ) -> pgsqlite_types::Result<()> {
        let encoding = self.client_encoding();
        let formats = to_formats(formats)?;
        let result_format = to_formats(&[result_format])?;
        // the result is written as the only column of a row
        let mut row = Output::default();
        let mut sink = WireSink {
            out: &mut row,
            columns: None,
            formats: result_format.clone(),
            describe: false,
            encoding,
            notices: None,
        };
        self.session.call_function(function, &formats, values, result_format[0], &mut sink).await?;
        // (behind the message's type and length and the number of columns)
        let value = row.buffer.get(7..).ok_or_else(|| PgError::internal("a function call without a result"))?;
        self.notices();
        self.client.out.function_call_response(value);
        Ok(())
    }

    // --- extended protocol -----------------------------------------------------------------------------------------------

    async fn extended(&mut self, message: Message<'_>) -> Result<(), Result<PgError, End>> {
        let encoding = self.client_encoding();
        let utf8 = |bytes| encoding.decode(bytes).map_err(Ok);
        self.session.begin_message().map_err(Ok)?;
        match message {
            Message::Parse { name, text, types } => {
                let text = utf8(text)?;
                self.text = Some(text.to_string());
                self.session.parse(&utf8(name)?, &text, &types).await.map_err(Ok)?;
                self.notices();
                self.client.out.parse_complete();
            }
            Message::Bind { portal, statement, formats, values, result_formats } => {
                self.text = None;
                let portal = utf8(portal)?;
                let formats = to_formats(&formats)
                    .map_err(|e| Ok(if values.is_empty() { e } else { e.context(parameter_context(&portal, 1)) }))?;
                let result_formats = to_formats(&result_formats).map_err(Ok)?;
                let statement = utf8(statement)?;
                let source = self.session.statement_source(&statement);
                let bound =
                    self.session.bind(&portal, &statement, &formats, &values, &result_formats).await.map_err(Ok);
                self.locate(bound, source)?;
                self.client.out.bind_complete();
            }
            Message::Describe { target: Target::Statement, name } => {
                let description = self.session.describe_statement(&utf8(name)?).await.map_err(Ok)?;
                self.client.out.parameter_description(&description.parameters);
                match &description.columns {
                    Some(columns) => describe(&mut self.client.out, columns, &[]),
                    None => self.client.out.no_data(),
                }
            }
            Message::Describe { target: Target::Portal, name } => {
                match self.session.describe_portal(&utf8(name)?).map_err(Ok)? {
                    Some((columns, formats)) => describe(&mut self.client.out, &columns, &formats),
                    None => self.client.out.no_data(),
                }
            }
            Message::Execute { portal, max_rows } => {
                self.session.tell_sync_follows(self.client.sync_follows());
                let portal = utf8(portal)?;
                let source = self.session.portal_source(&portal);
                let executed = self.execute(&portal, max_rows).await;
                self.locate(executed, source)?;
            }
            Message::Close { target: Target::Statement, name } => {
                self.session.close_statement(&utf8(name)?).map_err(Ok)?;
                self.client.out.close_complete();
            }
            Message::Close { target: Target::Portal, name } => {
                self.session.close_portal(&utf8(name)?).map_err(Ok)?;
                self.client.out.close_complete();
            }
            _ => return Err(Ok(PgError::internal("not a message of the extended protocol"))),
        }
        Ok(())
    }

    /// Keeps the text of the statement whose execution failed, because the error's location is an offset in it.
    fn locate(
        &mut self,
        result: Result<(), Result<PgError, End>>,
        source: Option<StatementSource>,
    ) -> Result<(), Result<PgError, End>> {
        if let (Err(Ok(error)), Some(source)) = (&result, source) {
            if error.fields().location.is_some() {
                self.text = Some(source.text());
            }
        }
        result
    }

    async fn execute(&mut self, portal: &str, max_rows: i32) -> Result<(), Result<PgError, End>> {
        let max_rows = max_rows.max(0) as u64;
        let (mut columns, formats) = match self.session.describe_portal(portal).map_err(Ok)? {
            Some((columns, formats)) => (Some(columns), formats),
            None => (None, vec![]),
        };
        loop {
            let encoding = self.client_encoding();
            let mut sink = WireSink {
                out: &mut self.client.out,
                columns: columns.take(),
                formats: formats.clone(),
                describe: false,
                encoding,
                notices: Some(self.text.as_deref()),
            };
            let execution = self.session.execute(portal, max_rows, &mut sink).await.map_err(Ok)?;
            columns = sink.columns.take();
            match execution {
                Execution::Complete(tag) => {
                    self.notices();
                    self.client.out.command_complete(&tag);
                    return Ok(());
                }
                Execution::Empty => {
                    self.client.out.empty_query_response();
                    return Ok(());
                }
                Execution::Suspended => {
                    self.client.out.portal_suspended();
                    return Ok(());
                }
                Execution::Paused => self.flush().await.map_err(Err)?,
                Execution::CopyIn { formats } => {
                    let tag = self.copy_in(&formats).await?;
                    self.notices();
                    self.client.out.command_complete(&tag);
                    return Ok(());
                }
            }
        }
    }
}

/// Whether whole messages say nothing of what is in the database but how many rows were changed.
fn tells_no_rows(mut messages: &[u8]) -> bool {
    while let [kind, rest @ ..] = messages {
        let Some((length, _)) = rest.split_first_chunk::<4>() else { return false };
        let length = u32::from_be_bytes(*length) as usize;
        // CommandComplete, ReadyForQuery, ParseComplete, BindComplete, CloseComplete, descriptions, NoData, ParameterStatus
        if !b"CZ123TtnS".contains(kind) || rest.len() < length {
            return false;
        }
        messages = &rest[length..];
    }
    true
}

fn to_formats(codes: &[i16]) -> pgsqlite_types::Result<Vec<Format>> {
    codes
        .iter()
        .map(|c| match c {
            0 => Ok(Format::Text),
            1 => Ok(Format::Binary),
            other => Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("unsupported format code: {other}"))),
        })
        .collect()
}
