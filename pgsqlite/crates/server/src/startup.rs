//! From an accepted socket to a session: TLS, the start-up packet, a place among the connections, authentication.

use crate::certificate;
use crate::client::{Client, End};
use crate::errors;
use crate::feed::Feed;
use crate::hba::{Attempt, ClientCertificate, Method};
use crate::os_user;
use crate::shared::{Place, SenderPlace, Shared};
use pgsqlite_engine::engine::Engine;
use pgsqlite_engine::session::{Session, SessionOptions};
use pgsqlite_natives::settings::rights::CLONE;
use pgsqlite_natives::statistics::senders::Sender;
use pgsqlite_types::{PgError, SqlState};
use pgsqlite_wire::scram::{self, Binding};
use pgsqlite_wire::startup::Startup;
use pgsqlite_wire::Malformed;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;

const SCRAM: &str = "SCRAM-SHA-256";
const SCRAM_PLUS: &str = "SCRAM-SHA-256-PLUS";

/// What to do about a password that is wrong. It is told for every role, also for one that does not exist.
const FORGOTTEN: &str =
    "Passwords are set by a superuser with ALTER ROLE … PASSWORD, or, while the server is stopped, \
    with `pgsqlite user passwd NAME --database FILE` (`user add` makes a user).";

/// A client that is let in.
pub struct Started {
    pub session: Session,
    /// out of the table of sessions, and out of the count, when dropped
    pub registered: Registered,
    /// the client is a standby
    pub standby: Option<Replicates>,
}

/// What a standby follows.
pub struct Replicates {
    pub engine: Arc<Engine>,
    pub feed: Arc<Feed>,
    pub sender: Arc<Sender>,
    /// what the client names in its start-up packet
    pub is_for_database: bool,
}

/// The session's entry in the table that cancel requests look in.
pub struct Registered {
    shared: Arc<Shared>,
    pid: i32,
    _place: Option<Place>,
    _sender_place: Option<SenderPlace>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.shared.sessions.lock().remove(&self.pid);
    }
}

fn fatal(code: SqlState, message: impl Into<String>) -> End {
    End::Fatal(PgError::new(code, message).fatal())
}

fn random<const N: usize>() -> Result<[u8; N], End> {
    let mut bytes = [0u8; N];
    getrandom::fill(&mut bytes)
        .map_err(|e| End::Fatal(PgError::no_resources(format!("could not generate random numbers: {e}")).fatal()))?;
    Ok(bytes)
}

/// Start-up packet, TLS, authentication. None: nothing more is to be done (a cancel request).
pub async fn start(
    shared: &Arc<Shared>,
    client: &mut Client,
    address: Option<SocketAddr>,
    uid: Option<u32>,
) -> Result<Option<Box<Started>>, End> {
    let Some((parameters, minor, unknown)) = first_packet(shared, client, address.is_some()).await? else {
        return Ok(None);
    };
    if minor > 0 || !unknown.is_empty() {
        client.out.negotiate_protocol_version(&unknown);
        // (an error clears what waits to be sent)
        client.flush().await?;
    }
    let get = |name: &str| parameters.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
    let user = get("user").filter(|u| !u.is_empty()).ok_or_else(|| {
        fatal(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, "no PostgreSQL user name specified in startup packet")
    })?;
    let replication = get("replication").map_or(Ok(Replication::None), |value| Replication::parse(&value))?;
    let database = get("database").filter(|d| !d.is_empty()).unwrap_or_else(|| user.clone());
    let claim = Claim { user, database, parameters, replication };
    let started = let_in(shared, client, (address, uid), &claim).await;
    if let Some(reason) = started.as_ref().err().and_then(refusal) {
        shared.failed_logins.tell(&claim.user, &claim.database, address, reason);
    }
    started.map(Some)
}

/// What a client says in its start-up packet.
struct Claim {
    user: String,
    database: String,
    parameters: Vec<(String, String)>,
    replication: Replication,
}

/// Whether a connection is for replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replication {
    None,
    /// It is.
    Physical,
    /// It is, and names the database for which rules count (`database`).
    OfDatabase,
}

impl Replication {
    /// Reads the parameter of the start-up packet. Errors: 22023.
    fn parse(value: &str) -> Result<Replication, End> {
        if value == "database" {
            return Ok(Replication::OfDatabase);
        }
        match pgsqlite_types::bool::parse(value) {
            Some(true) => Ok(Replication::Physical),
            Some(false) => Ok(Replication::None),
            None => {
                let message = format!("invalid value for parameter \"replication\": \"{value}\"");
                let error = PgError::new(SqlState::INVALID_PARAMETER_VALUE, message).fatal();
                Err(End::Fatal(error.hint("Valid values are: \"false\", 0, \"true\", 1, \"database\".")))
            }
        }
    }
}

/// Why a client was not let in, for the log; None: it went away, or what failed was not its login.
fn refusal(end: &End) -> Option<&'static str> {
    let End::Fatal(error) = end else { return None };
    match error.code() {
        SqlState::INVALID_PASSWORD => Some("the password is wrong, or the role has none"),
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            Some("there is no such role, it may not log in, or not from there")
        }
        SqlState::INVALID_CATALOG_NAME => Some("there is no such database"),
        SqlState::TOO_MANY_CONNECTIONS => Some("too many connections"),
        SqlState::PROTOCOL_VIOLATION => Some("malformed messages"),
        _ => None,
    }
}

/// From the start-up packet on.
async fn let_in(
    shared: &Arc<Shared>,
    client: &mut Client,
    (address, uid): (Option<SocketAddr>, Option<u32>),
    claim: &Claim,
) -> Result<Box<Started>, End> {
    let Claim { user, database, parameters, replication } = claim;
    if *replication != Replication::None && shared.config.max_wal_senders == 0 {
        return Err(End::Fatal(shared.no_sender_place()));
    }
    if shared.config.require_tls && address.is_some() && !client.stream.is_encrypted() {
        return Err(fatal(
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            format!("this server takes TCP connections with TLS only: user \"{user}\", database \"{database}\", no encryption"),
        ));
    }
    // who may come to a clone is what its original says
    let original = clone_of(parameters);
    let home = original.as_deref().unwrap_or(database);
    let encrypted = client.stream.is_encrypted();
    let physical = *replication == Replication::Physical;
    let attempt = Attempt { address: address.map(|a| a.ip()), encrypted, database: home, user, replication: physical };
    let mut is_member = |role: &str| shared.databases.get(home).is_ok_and(|engine| engine.is_member(user, role));
    let rules = shared.rules();
    let rule = rules.rule(&attempt, &mut is_member).await.map_err(End::Fatal)?;
    let has_certificate = client.stream.client_certificate().is_some();
    if rule.client_certificate != ClientCertificate::NotAsked && !has_certificate {
        return Err(fatal(
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            "connection requires a valid client certificate",
        ));
    }
    match rule.method {
        // (whether a certificate is the user's is asked below)
        Method::Trust | Method::Certificate => {}
        // (a rule that rejects is an error)
        Method::Reject => return Err(fatal(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, "rejected")),
        Method::Peer => {
            let name = uid.and_then(os_user::named);
            if !name.is_some_and(|name| may_be(shared, rule.map.as_deref(), &name, user)) {
                return Err(fatal(
                    SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                    format!("Peer authentication failed for user \"{user}\""),
                ));
            }
        }
        // a database that is not there, or cannot be opened, has nobody's password: who has none learns no more
        Method::Scram => {
            let engine = shared.databases.get(home).inspect_err(|error| {
                tracing::debug!(%error, database = home, "nobody can log in");
            });
            authenticate(shared, client, engine.ok(), user).await?;
        }
    }
    if rule.client_certificate == ClientCertificate::OfUser {
        let name = client.stream.client_certificate().and_then(certificate::common_name);
        if !name.is_some_and(|name| may_be(shared, rule.map.as_deref(), &name, user)) {
            let (code, told) = match rule.method {
                Method::Scram => (SqlState::INVALID_PASSWORD, "password"),
                Method::Trust => (SqlState::INVALID_AUTHORIZATION_SPECIFICATION, "\"trust\""),
                _ => (SqlState::INVALID_AUTHORIZATION_SPECIFICATION, "certificate"),
            };
            return Err(fatal(code, format!("{told} authentication failed for user \"{user}\"")));
        }
    }
    // (who has not proved who he is takes nobody's place)
    let sender_place = match replication {
        Replication::None => None,
        _ => Some(shared.take_sender_place().ok_or_else(|| End::Fatal(shared.no_sender_place()))?),
    };
    if sender_place.is_some() && original.is_some() {
        return Err(End::Fatal(PgError::not_supported("replication of a clone").fatal()));
    }
    let engine = match &original {
        None => shared.databases.enter(database),
        Some(original) => shared.databases.enter_clone(database, original, user),
    };
    let engine = engine.map_err(|e| End::Fatal(e.fatal()))?;
    // (those for replication are counted by themselves)
    let place = match sender_place {
        Some(_) => None,
        None => Some(
            shared
                .take_place()
                .ok_or_else(|| fatal(SqlState::TOO_MANY_CONNECTIONS, "sorry, too many clients already"))?,
        ),
    };
    // (the session asks whether the role is there, and may log in)
    if place.as_ref().is_some_and(|p| p.is_reserved) && engine.role(user).is_some_and(|r| !r.superuser) {
        return Err(fatal(
            SqlState::TOO_MANY_CONNECTIONS,
            "remaining connection slots are reserved for non-replication superuser connections",
        ));
    }
    let pid = shared.new_pid();
    let mut settings: Vec<(String, String)> = Vec::new();
    for (name, value) in parameters {
        match name.as_str() {
            "user" | "database" | "replication" => {}
            "options" => settings.extend(command_line_options(value)?),
            _ => settings.push((name.clone(), value.clone())),
        }
    }
    let options = SessionOptions {
        user: user.clone(),
        database: database.clone(),
        settings,
        backend_pid: pid,
        client_addr: address,
        encryption: client.stream.encryption().map(Arc::new),
        server_settings: shared.settings.clone(),
        host: shared.host(),
    };
    let mut session = engine.session(options).map_err(|e| End::Fatal(e.fatal()))?;
    let standby = match sender_place {
        Some(_) => Some(sender(shared, &engine, claim, (pid, address)).map_err(|e| End::Fatal(e.fatal()))?),
        None => None,
    };
    let secret = i32::from_be_bytes(random()?);
    shared.sessions.lock().insert(pid, (secret, session.cancel_handle()));
    let registered = Registered { shared: shared.clone(), pid, _place: place, _sender_place: sender_place };
    client.out.authentication_ok();
    for notice in session.take_notices() {
        errors::write(&mut client.out, &notice, b'N', None);
    }
    for (name, value) in session.take_parameter_changes() {
        client.out.parameter_status(&name, &value);
    }
    client.out.backend_key_data(pid, secret);
    client.out.ready_for_query(b'I');
    client.flush().await?;
    if standby.is_some() {
        session.replicates("");
    }
    Ok(Box::new(Started { session, registered, standby }))
}

/// What a client needs that may replicate. Errors: 42501 for a role that may not, 0A000 on a standby.
fn sender(
    shared: &Arc<Shared>,
    engine: &Arc<Engine>,
    claim: &Claim,
    (pid, client): (i32, Option<SocketAddr>),
) -> pgsqlite_types::Result<Replicates> {
    let Some(user_oid) = engine.may_replicate(&claim.user) else {
        return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, "permission denied to start WAL sender")
            .detail("Only roles with the REPLICATION attribute may start a WAL sender process."));
    };
    if engine.in_recovery() {
        return Err(PgError::not_supported("replication from a standby (cascading replication)")
            .hint("Let the standby follow the primary itself."));
    }
    let database = engine.catalog().database.clone();
    let Some(feed) = shared.databases.feed(&database) else {
        return Err(PgError::not_supported(format!("replication of the database \"{database}\"")));
    };
    let name = claim.parameters.iter().rfind(|(name, _)| name == "application_name");
    let sender = shared.databases.statistics.senders.add(Sender {
        pid,
        database,
        user: claim.user.clone(),
        user_oid,
        application_name: name.map_or(String::new(), |(_, value)| value.clone()),
        client,
        started: pgsqlite_metadata::clock::now(),
        progress: Default::default(),
    });
    Ok(Replicates {
        engine: engine.clone(),
        feed,
        sender,
        is_for_database: claim.replication == Replication::OfDatabase,
    })
}

/// The database of which a client wants a throw-away copy: the option `pgsqlite.clone`. None: it wants none.
fn clone_of(parameters: &[(String, String)]) -> Option<String> {
    let mut asked = None;
    for (name, value) in parameters {
        match name.as_str() {
            "user" | "database" | "replication" => {}
            // (what is wrong with them is said when the session begins)
            "options" => {
                let options = command_line_options(value).unwrap_or_default();
                asked = options.into_iter().rfind(|(name, _)| name.eq_ignore_ascii_case(CLONE)).or(asked);
            }
            name if name.eq_ignore_ascii_case(CLONE) => asked = Some((name.into(), value.clone())),
            _ => {}
        }
    }
    asked.map(|(_, original)| original).filter(|original| !original.is_empty())
}

/// Whether a user of the operating system, or the owner of a certificate, may be a role: by a rule's map, or because the names are the same.
pub(crate) fn may_be(shared: &Shared, map: Option<&str>, name: &str, role: &str) -> bool {
    let lets = match (map.filter(|map| !map.is_empty()), shared.maps()) {
        (None, _) => Ok(name == role),
        (Some(map), Some(maps)) => maps.lets(map, name, role),
        // (a rule with a map is none without a file of maps)
        (Some(_), None) => Ok(false),
    };
    match lets {
        Ok(true) => return true,
        Ok(false) => tracing::info!(user = name, role, map, "the user may not be the role"),
        Err(error) => tracing::warn!(user = name, role, map, "the map cannot be used: {}", error.message()),
    }
    false
}

/// Requests for encryption, then the start-up packet: its parameters, the minor version it asks for, its unknown options.
/// None: it was a cancel request, which is carried out.
async fn first_packet(
    shared: &Arc<Shared>,
    client: &mut Client,
    is_tcp: bool,
) -> Result<Option<(Vec<(String, String)>, u16, Vec<String>)>, End> {
    let (mut ssl_done, mut gss_done) = (false, false);
    loop {
        match client.startup().await? {
            Startup::Ssl if !ssl_done => {
                ssl_done = true;
                match &shared.tls {
                    Some(tls) if is_tcp => {
                        // bytes that came with the request would be read as encrypted: refused (CVE-2021-23214)
                        if client.has_input() {
                            return Err(Malformed::new("received unencrypted data after SSL request").into());
                        }
                        client.stream.write_all(b"S").await?;
                        client.stream.encrypt(&tls.acceptor).await?;
                    }
                    _ => client.stream.write_all(b"N").await?,
                }
            }
            Startup::GssEnc if !gss_done => {
                gss_done = true;
                client.stream.write_all(b"N").await?;
            }
            // asked for twice
            request @ (Startup::Ssl | Startup::GssEnc) => {
                let minor = if matches!(request, Startup::Ssl) { 5679 } else { 5680 };
                return Err(fatal(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("unsupported frontend protocol 1234.{minor}: server supports 3.0 to 3.0"),
                ));
            }
            Startup::Cancel { pid, secret } => {
                let sessions = shared.sessions.lock();
                if let Some((_, cancel)) = sessions.get(&pid).filter(|(s, _)| *s == secret) {
                    cancel.cancel();
                }
                return Ok(None);
            }
            Startup::Start { minor, parameters, unknown_options } => {
                return Ok(Some((parameters, minor, unknown_options)))
            }
        }
    }
}

/// The words of `options`: white space separates them, a backslash takes the next character as it is.
fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => word.get_or_insert_default().extend(characters.next()),
            c if c.is_ascii_whitespace() => out.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    out.extend(word);
    out
}

/// `options=-c name=value --name=value …`
fn command_line_options(text: &str) -> Result<Vec<(String, String)>, End> {
    let bad =
        |word: &str| fatal(SqlState::SYNTAX_ERROR, format!("invalid command-line argument for server process: {word}"));
    let mut out = Vec::new();
    let mut words = words(text).into_iter();
    while let Some(word) = words.next() {
        let setting = match word.strip_prefix("--") {
            Some(rest) => rest.to_string(),
            None => match word.strip_prefix("-c") {
                Some("") => words.next().ok_or_else(|| bad(&word))?,
                Some(rest) => rest.to_string(),
                None => return Err(bad(&word)),
            },
        };
        let (name, value) = setting.split_once('=').ok_or_else(|| bad(&word))?;
        out.push((name.replace('-', "_"), value.to_string()));
    }
    Ok(out)
}

/// SCRAM-SHA-256, over TLS also bound to the server's certificate.
///
/// `engine`: the database that knows the password; None: there is none, and no password is right.
async fn authenticate(
    shared: &Shared,
    client: &mut Client,
    engine: Option<Arc<Engine>>,
    user: &str,
) -> Result<(), End> {
    let denied = || {
        let error =
            PgError::new(SqlState::INVALID_PASSWORD, format!("password authentication failed for user \"{user}\""));
        End::Fatal(error.fatal().hint(FORGOTTEN))
    };
    let malformed = |f: scram::Failure| match f {
        scram::Failure::Malformed(m) => fatal(SqlState::PROTOCOL_VIOLATION, m),
        scram::Failure::Denied => denied(),
    };
    let end_point = match &shared.tls {
        Some(tls) if client.stream.is_encrypted() => tls.end_point.as_deref(),
        _ => None,
    };
    match end_point {
        Some(_) => client.out.authentication_sasl(&[SCRAM_PLUS, SCRAM]),
        None => client.out.authentication_sasl(&[SCRAM]),
    }
    client.flush().await?;
    // SASLInitialResponse: mechanism, length, data
    let initial = client.password().await?;
    let bad = || fatal(SqlState::PROTOCOL_VIOLATION, "malformed SASLInitialResponse message");
    let end = initial.iter().position(|&b| b == 0).ok_or_else(bad)?;
    let binding = match (&initial[..end], end_point) {
        (name, Some(data)) if name == SCRAM_PLUS.as_bytes() => Binding::EndPoint(data),
        (name, Some(_)) if name == SCRAM.as_bytes() => Binding::Declined,
        (name, None) if name == SCRAM.as_bytes() => Binding::NotOffered,
        _ => {
            return Err(fatal(SqlState::PROTOCOL_VIOLATION, "client selected an invalid SASL authentication mechanism"))
        }
    };
    let (length, data) = initial[end + 1..].split_first_chunk::<4>().ok_or_else(bad)?;
    if u32::from_be_bytes(*length) as usize != data.len() {
        return Err(bad());
    }
    let text = std::str::from_utf8(data).map_err(|_| bad())?;
    let verifier = match &engine {
        Some(engine) => engine.password_verifier(user).map_err(|e| End::Fatal(e.fatal()))?,
        None => None,
    };
    let verifier = verifier.and_then(|v| scram::Verifier::parse(&v));
    drop(engine);
    // a user that does not exist has a salt, too, and always the same one
    let salt: Vec<u8> = {
        use sha2::{Digest, Sha256};
        let mut hash = Sha256::new();
        hash.update(shared.mock_secret);
        hash.update(user.as_bytes());
        hash.finalize()[..16].to_vec()
    };
    let nonce: String = random::<18>()?.iter().map(|b| format!("{b:02x}")).collect();
    let (exchange, server_first) = scram::first(text, verifier, &salt, &nonce, binding).map_err(malformed)?;
    client.out.authentication_sasl_continue(server_first.as_bytes());
    client.flush().await?;
    let last = client.password().await?;
    let last = std::str::from_utf8(&last).map_err(|_| bad())?;
    let server_final = exchange.last(last).map_err(malformed)?;
    client.out.authentication_sasl_final(server_final.as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_split_as_a_shell_would() {
        let split = |text: &str| command_line_options(text).unwrap_or_else(|_| vec![("refused".into(), text.into())]);
        let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
        assert_eq!(split("-c a=1 --work-mem=4MB  -cb=2"), [pair("a", "1"), pair("work_mem", "4MB"), pair("b", "2")]);
        assert_eq!(split(r"-c a=x\ y -c b=c\\d"), [pair("a", "x y"), pair("b", r"c\d")]);
        for bad in ["-c", "-x", "-c a", "word"] {
            assert_eq!(split(bad)[0].0, "refused", "{bad}");
        }
    }
}
