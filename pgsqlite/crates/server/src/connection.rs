//! One client: start-up, authentication, then messages until it goes.

use crate::config::Auth;
use crate::errors;
use crate::listen::Shared;
use crate::sink::{describe, WireSink, FLUSH};
use crate::stream::Stream;
use pgsqlite_engine::engine::Engine;
use pgsqlite_engine::session::{Execution, Format, Script, Session, SessionOptions, TransactionStatus};
use pgsqlite_types::error::Severity;
use pgsqlite_types::{PgError, SqlState};
use pgsqlite_wire::backend::Output;
use pgsqlite_wire::frontend::{self, Frame, Message, Target};
use pgsqlite_wire::scram;
use pgsqlite_wire::startup::{self, Startup};
use pgsqlite_wire::Malformed;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A client must be through start-up and authentication by then.
const AUTHENTICATION_TIMEOUT: Duration = Duration::from_secs(60);

/// Why a connection ends.
enum End {
    /// the client said goodbye, or went away
    Gone,
    /// this is told, then the connection is closed
    Fatal(PgError),
}

impl From<std::io::Error> for End {
    fn from(_: std::io::Error) -> End {
        End::Gone
    }
}
impl From<Malformed> for End {
    fn from(e: Malformed) -> End {
        let code = if e.message.contains("invalid byte sequence") {
            SqlState::CHARACTER_NOT_IN_REPERTOIRE
        } else {
            SqlState::PROTOCOL_VIOLATION
        };
        End::Fatal(PgError::new(code, e.message).fatal())
    }
}

/// The socket with its buffers.
struct Client {
    stream: Stream,
    input: Vec<u8>,
    /// how much of `input` is used up
    read: usize,
    out: Output,
}

impl Client {
    async fn flush(&mut self) -> Result<(), End> {
        if !self.out.buffer.is_empty() {
            self.stream.write_all(&self.out.buffer).await?;
            self.stream.flush().await?;
            self.out.buffer.clear();
            if self.out.buffer.capacity() > 4 * FLUSH {
                self.out.buffer.shrink_to(FLUSH);
            }
        }
        Ok(())
    }

    /// Reads more input. The buffer grows with what arrives, never with what a length claims.
    async fn fill(&mut self) -> Result<(), End> {
        if self.read > 0 {
            self.input.drain(..self.read);
            self.read = 0;
        }
        if self.input.is_empty() && self.input.capacity() > 4 * FLUSH {
            self.input.shrink_to(8192);
        }
        if self.input.capacity() - self.input.len() < 4096 {
            self.input.reserve(8192.max(self.input.len() / 2));
        }
        match self.stream.read_buf(&mut self.input).await? {
            0 => Err(End::Gone),
            _ => Ok(()),
        }
    }

    /// A whole message that is there already: its type and the range of its body in `input`.
    fn buffered(&mut self) -> Result<Option<(u8, Range<usize>)>, End> {
        match frontend::frame(&self.input[self.read..])? {
            Frame::Incomplete => Ok(None),
            Frame::Whole { kind, start, end } => {
                let range = self.read + start..self.read + end;
                self.read += end;
                Ok(Some((kind, range)))
            }
        }
    }

    async fn exact(&mut self, n: usize) -> Result<Vec<u8>, End> {
        while self.input.len() - self.read < n {
            self.fill().await?;
        }
        let bytes = self.input[self.read..self.read + n].to_vec();
        self.read += n;
        Ok(bytes)
    }

    async fn startup(&mut self) -> Result<Startup, End> {
        let head = self.exact(4).await?;
        let length = startup::body_length([head[0], head[1], head[2], head[3]])?;
        let body = self.exact(length).await?;
        Ok(startup::decode(&body)?)
    }

    async fn password(&mut self) -> Result<Vec<u8>, End> {
        loop {
            if let Some((kind, range)) = self.buffered()? {
                if kind == b'X' {
                    return Err(End::Gone);
                }
                if kind != b'p' {
                    return Err(
                        Malformed { message: format!("expected SASL response, got message type {kind}") }.into()
                    );
                }
                return Ok(self.input[range].to_vec());
            }
            self.fill().await?;
        }
    }
}

/// Serves one client to its end.
pub async fn serve(shared: &Arc<Shared>, stream: Stream, address: Option<SocketAddr>) {
    let mut client = Client { stream, input: Vec::with_capacity(8192), read: 0, out: Output::default() };
    let started = match tokio::time::timeout(AUTHENTICATION_TIMEOUT, start(shared, &mut client, address)).await {
        Ok(started) => started,
        Err(_) => Err(End::Fatal(
            PgError::new(SqlState::PROTOCOL_VIOLATION, "canceling authentication due to timeout").fatal(),
        )),
    };
    let end = match started {
        Ok(None) => End::Gone,
        Ok(Some((session, pid))) => {
            let end = Conversation { session, client: &mut client, text: None, skip_to_sync: false }.run().await;
            shared.sessions.lock().remove(&pid);
            end
        }
        Err(end) => end,
    };
    if let End::Fatal(error) = end {
        client.out.buffer.clear();
        errors::write(&mut client.out, &error, b'E', None);
        // the client may be gone already: then nobody is to be told
        let _ = tokio::time::timeout(Duration::from_secs(5), client.flush()).await;
    }
    let _ = client.stream.shutdown().await;
}

/// Start-up packet, TLS, authentication. None: nothing more is to be done (a cancel request).
async fn start(
    shared: &Arc<Shared>,
    client: &mut Client,
    address: Option<SocketAddr>,
) -> Result<Option<(Session, i32)>, End> {
    let (parameters, minor, unknown) = loop {
        match client.startup().await? {
            Startup::Ssl => match (&shared.tls, std::mem::replace(&mut client.stream, closed_stream())) {
                (Some(acceptor), Stream::Tcp(socket)) => {
                    let mut socket = socket;
                    // bytes that came with the request would be read as encrypted: refused (CVE-2021-23214)
                    if client.read < client.input.len() {
                        return Err(Malformed { message: "received unencrypted data after SSL request".into() }.into());
                    }
                    socket.write_all(b"S").await?;
                    let tls = acceptor.accept(socket).await?;
                    client.stream = Stream::Tls(Box::new(tls));
                }
                (_, stream) => {
                    client.stream = stream;
                    client.stream.write_all(b"N").await?;
                }
            },
            Startup::GssEnc => client.stream.write_all(b"N").await?,
            Startup::Cancel { pid, secret } => {
                let sessions = shared.sessions.lock();
                if let Some((_, cancel)) = sessions.get(&pid).filter(|(s, _)| *s == secret) {
                    cancel.cancel();
                }
                return Ok(None);
            }
            Startup::Start { minor, parameters, unknown_options } => break (parameters, minor, unknown_options),
        }
    };
    let get = |name: &str| parameters.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
    let user = get("user").filter(|u| !u.is_empty()).ok_or_else(|| {
        End::Fatal(
            PgError::new(
                SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                "no PostgreSQL user name specified in startup packet",
            )
            .fatal(),
        )
    })?;
    if get("replication").is_some_and(|r| !matches!(r.as_str(), "false" | "off" | "0" | "no")) {
        return Err(End::Fatal(PgError::not_supported("replication").fatal()));
    }
    let database = get("database").filter(|d| !d.is_empty()).unwrap_or_else(|| user.clone());
    if shared.connections.load(Ordering::Acquire) > shared.config.max_connections {
        return Err(End::Fatal(
            PgError::new(SqlState::TOO_MANY_CONNECTIONS, "sorry, too many clients already").fatal(),
        ));
    }
    if minor > 0 || !unknown.is_empty() {
        client.out.negotiate_protocol_version(&unknown);
    }
    let engine = shared.databases.get(&database).map_err(|e| End::Fatal(e.fatal()))?;
    match shared.config.auth_for(address) {
        Auth::Trust => {}
        Auth::Scram => authenticate(shared, client, &engine, &user).await?,
    }
    let pid = shared.new_pid();
    let mut settings: Vec<(String, String)> = Vec::new();
    for (name, value) in &parameters {
        match name.as_str() {
            "user" | "database" | "replication" => {}
            "options" => settings.extend(command_line_options(value)?),
            _ => settings.push((name.clone(), value.clone())),
        }
    }
    let options = SessionOptions { user, database, settings, backend_pid: pid, client_addr: address };
    let mut session = engine.session(options).map_err(|e| End::Fatal(e.fatal()))?;
    let mut secret = [0u8; 4];
    getrandom::fill(&mut secret)
        .map_err(|e| End::Fatal(PgError::internal(format!("no random numbers: {e}")).fatal()))?;
    let secret = i32::from_be_bytes(secret);
    shared.sessions.lock().insert(pid, (secret, session.cancel_handle()));
    client.out.authentication_ok();
    for (name, value) in session.take_parameter_changes() {
        client.out.parameter_status(&name, &value);
    }
    client.out.backend_key_data(pid, secret);
    client.out.ready_for_query(b'I');
    client.flush().await?;
    Ok(Some((session, pid)))
}

/// A stream that is never used: it stands in while TLS takes the socket.
fn closed_stream() -> Stream {
    let (a, _) = std::os::unix::net::UnixStream::pair().expect("a socket pair");
    a.set_nonblocking(true).expect("a non-blocking socket");
    Stream::Unix(tokio::net::UnixStream::from_std(a).expect("a registered socket"))
}

/// `options=-c name=value --name=value …`
fn command_line_options(text: &str) -> Result<Vec<(String, String)>, End> {
    let bad = || {
        End::Fatal(
            PgError::new(SqlState::SYNTAX_ERROR, format!("invalid command-line argument for server process: {text}"))
                .fatal(),
        )
    };
    let mut out = Vec::new();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let setting = match word.strip_prefix("--") {
            Some(rest) => rest,
            None => match word.strip_prefix("-c") {
                Some("") => words.next().ok_or_else(bad)?,
                Some(rest) => rest,
                None => return Err(bad()),
            },
        };
        let (name, value) = setting.split_once('=').ok_or_else(bad)?;
        out.push((name.replace('-', "_"), value.replace('\\', "")));
    }
    Ok(out)
}

async fn authenticate(shared: &Shared, client: &mut Client, engine: &Arc<Engine>, user: &str) -> Result<(), End> {
    let denied = || {
        End::Fatal(
            PgError::new(SqlState::INVALID_PASSWORD, format!("password authentication failed for user \"{user}\""))
                .fatal(),
        )
    };
    let malformed = |f: scram::Failure| match f {
        scram::Failure::Malformed(m) => End::Fatal(PgError::new(SqlState::PROTOCOL_VIOLATION, m).fatal()),
        scram::Failure::Denied => denied(),
    };
    client.out.authentication_sasl();
    client.flush().await?;
    let initial = client.password().await?;
    // SASLInitialResponse: mechanism, length, data
    let end = initial.iter().position(|&b| b == 0).ok_or_else(denied)?;
    if &initial[..end] != b"SCRAM-SHA-256" {
        return Err(End::Fatal(
            PgError::new(SqlState::PROTOCOL_VIOLATION, "client selected an invalid SASL authentication mechanism")
                .fatal(),
        ));
    }
    let data = initial.get(end + 5..).ok_or_else(denied)?;
    let text = std::str::from_utf8(data).map_err(|_| denied())?;
    let verifier =
        engine.password_verifier(user).map_err(|e| End::Fatal(e.fatal()))?.and_then(|v| scram::Verifier::parse(&v));
    let salt: Vec<u8> = {
        use sha2::{Digest, Sha256};
        let mut hash = Sha256::new();
        hash.update(shared.mock_secret);
        hash.update(user.as_bytes());
        hash.finalize()[..16].to_vec()
    };
    let mut nonce = [0u8; 18];
    getrandom::fill(&mut nonce)
        .map_err(|e| End::Fatal(PgError::internal(format!("no random numbers: {e}")).fatal()))?;
    let nonce: String = nonce.iter().map(|b| format!("{b:02x}")).collect();
    let (exchange, server_first) = scram::first(text, verifier, &salt, &nonce).map_err(malformed)?;
    client.out.authentication_sasl_continue(server_first.as_bytes());
    client.flush().await?;
    let last = client.password().await?;
    let last = std::str::from_utf8(&last).map_err(|_| denied())?;
    let server_final = exchange.last(last).map_err(malformed)?;
    client.out.authentication_sasl_final(server_final.as_bytes());
    Ok(())
}

/// The message loop.
struct Conversation<'a> {
    session: Session,
    client: &'a mut Client,
    /// the text that error positions count in
    text: Option<String>,
    /// after an error in the extended protocol: messages are skipped up to Sync
    skip_to_sync: bool,
}

type Step = Result<(), End>;

impl Conversation<'_> {
    async fn run(mut self) -> End {
        loop {
            match self.next().await {
                Ok(()) => {}
                Err(end) => return end,
            }
        }
    }

    /// Reads and answers one message.
    async fn next(&mut self) -> Step {
        let (kind, range) = loop {
            if let Some(found) = self.client.buffered()? {
                break found;
            }
            // nothing more to do: what is written goes out, in one write
            self.client.flush().await?;
            tokio::select! {
                biased;
                event = self.session.wait_event() => event.map_err(End::Fatal)?,
                filled = self.client.fill() => filled?,
            }
            self.notifications();
        };
        // the message's bytes are lent out while it is answered; COPY reads on, so later bytes must stay in the buffer
        let rest = self.client.input.split_off(range.end);
        let body = std::mem::replace(&mut self.client.input, rest);
        self.client.read = 0;
        match frontend::decode(kind, &body[range]) {
            Ok(message) => self.answer(message).await,
            Err(e) => Err(e.into()),
        }
    }

    fn notifications(&mut self) {
        for n in self.session.take_notifications() {
            self.client.out.notification(n.pid, &n.channel, &n.payload);
        }
    }

    async fn answer(&mut self, message: Message<'_>) -> Step {
        if self.skip_to_sync && !matches!(message, Message::Sync | Message::Terminate) {
            return Ok(());
        }
        match message {
            Message::Query(text) => self.query(text).await,
            Message::Terminate => Err(End::Gone),
            Message::Sync => {
                self.skip_to_sync = false;
                if let Err(e) = self.session.sync().await {
                    self.error(e).await?;
                }
                self.ready();
                Ok(())
            }
            Message::Flush => self.client.flush().await,
            // leftovers of a COPY that ended in an error
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => Ok(()),
            Message::Password(_) => Err(Malformed { message: "unexpected password message".into() }.into()),
            Message::FunctionCall => {
                self.error(PgError::not_supported("the function call protocol")).await?;
                self.ready();
                Ok(())
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

    fn notices(&mut self) {
        for notice in self.session.take_notices() {
            errors::write(&mut self.client.out, &notice, b'N', self.text.as_deref());
        }
    }

    async fn error(&mut self, error: PgError) -> Step {
        self.notices();
        if error.code() == SqlState::INTERNAL_ERROR {
            tracing::error!(%error, text = self.text.as_deref().unwrap_or(""), "a defect of pgsqlite");
        }
        if matches!(error.fields().severity, Severity::Fatal | Severity::Panic) {
            return Err(End::Fatal(error));
        }
        self.session.failed().await;
        errors::write(&mut self.client.out, &error, b'E', self.text.as_deref());
        Ok(())
    }

    // --- simple protocol -------------------------------------------------------------------------------------------------

    async fn query(&mut self, text: &[u8]) -> Step {
        match pgsqlite_types::text::decode_utf8(text) {
            Ok(text) => {
                self.text = Some(text.to_string());
                match self.script(text).await {
                    Ok(()) => {}
                    Err(Ok(error)) => self.error(error).await?,
                    Err(Err(end)) => return Err(end),
                }
            }
            Err(e) => self.error(e).await?,
        }
        if let Err(e) = self.session.sync().await {
            self.error(e).await?;
        }
        self.ready();
        Ok(())
    }

    async fn script(&mut self, text: &str) -> Result<(), Result<PgError, End>> {
        let mut script: Script = self.session.script(text).map_err(Ok)?;
        let mut columns = None;
        loop {
            let mut sink =
                WireSink { out: &mut self.client.out, columns: columns.take(), formats: vec![], describe: true };
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
                    self.client.flush().await.map_err(Err)?;
                    columns = kept;
                }
                Some(Execution::CopyIn { formats }) => {
                    let tag = self.copy_in(&formats).await?;
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
        self.client.flush().await.map_err(Err)?;
        loop {
            let Some((kind, range)) = self.client.buffered().map_err(Err)? else {
                self.client.fill().await.map_err(Err)?;
                continue;
            };
            let body = self.client.input[range].to_vec();
            match frontend::decode(kind, &body).map_err(|e| Err(e.into()))? {
                Message::CopyData(data) => self.session.copy_in_data(data).await.map_err(Ok)?,
                Message::CopyDone => return self.session.copy_in_done().await.map_err(Ok),
                Message::CopyFail(message) => {
                    return Err(Ok(self.session.copy_in_fail(&String::from_utf8_lossy(message)).await));
                }
                Message::Flush | Message::Sync => {}
                Message::Terminate => return Err(Err(End::Gone)),
                _ => {
                    return Err(Err(Malformed {
                        message: format!("unexpected message type {kind} during COPY from stdin"),
                    }
                    .into()));
                }
            }
        }
    }

    // --- extended protocol -----------------------------------------------------------------------------------------------

    async fn extended(&mut self, message: Message<'_>) -> Result<(), Result<PgError, End>> {
        let utf8 = |bytes| pgsqlite_types::text::decode_utf8(bytes).map_err(Ok);
        match message {
            Message::Parse { name, text, types } => {
                let text = utf8(text)?;
                self.text = Some(text.to_string());
                self.session.parse(utf8(name)?, text, &types).await.map_err(Ok)?;
                self.client.out.parse_complete();
            }
            Message::Bind { portal, statement, formats, values, result_formats } => {
                self.text = None;
                let formats = to_formats(&formats).map_err(Ok)?;
                let result_formats = to_formats(&result_formats).map_err(Ok)?;
                self.session
                    .bind(utf8(portal)?, utf8(statement)?, &formats, &values, &result_formats)
                    .await
                    .map_err(Ok)?;
                self.client.out.bind_complete();
            }
            Message::Describe { target: Target::Statement, name } => {
                let description = self.session.describe_statement(utf8(name)?).await.map_err(Ok)?;
                self.client.out.parameter_description(&description.parameters);
                match &description.columns {
                    Some(columns) => describe(&mut self.client.out, columns, &[]),
                    None => self.client.out.no_data(),
                }
            }
            Message::Describe { target: Target::Portal, name } => {
                match self.session.describe_portal(utf8(name)?).map_err(Ok)? {
                    Some((columns, formats)) => describe(&mut self.client.out, &columns, &formats),
                    None => self.client.out.no_data(),
                }
            }
            Message::Execute { portal, max_rows } => self.execute(utf8(portal)?, max_rows).await?,
            Message::Close { target: Target::Statement, name } => {
                self.session.close_statement(utf8(name)?).map_err(Ok)?;
                self.client.out.close_complete();
            }
            Message::Close { target: Target::Portal, name } => {
                self.session.close_portal(utf8(name)?).map_err(Ok)?;
                self.client.out.close_complete();
            }
            _ => return Err(Ok(PgError::internal("not a message of the extended protocol"))),
        }
        Ok(())
    }

    async fn execute(&mut self, portal: &str, max_rows: i32) -> Result<(), Result<PgError, End>> {
        let max_rows = max_rows.max(0) as u64;
        let (mut columns, formats) = match self.session.describe_portal(portal).map_err(Ok)? {
            Some((columns, formats)) => (Some(columns), formats),
            None => (None, vec![]),
        };
        loop {
            let mut sink = WireSink {
                out: &mut self.client.out,
                columns: columns.take(),
                formats: formats.clone(),
                describe: false,
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
                Execution::Paused => self.client.flush().await.map_err(Err)?,
                Execution::CopyIn { formats } => {
                    let tag = self.copy_in(&formats).await?;
                    self.client.out.command_complete(&tag);
                    return Ok(());
                }
            }
        }
    }
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
