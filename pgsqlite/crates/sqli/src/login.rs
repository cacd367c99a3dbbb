//! From a login packet to a client that is let in.

use crate::client::{Client, End};
use crate::values::codeset::CodeSet;
use crate::values::dates::DateForm;
use crate::values::money::MoneyForm;
use crate::wire::login::{accept, decode, reject, Login};
use pgsqlite_engine::engine::Engine;
use pgsqlite_server::config::Databases;
use pgsqlite_server::hba::{Attempt, ClientCertificate, Method};
use pgsqlite_server::listen::{Place, Shared};
use pgsqlite_wire::scram::Verifier;
use std::net::SocketAddr;
use std::sync::Arc;

/// A client that has said who it is.
pub struct Identity {
    pub user: String,
    /// still to be checked against the database that it will open
    pub password: Option<String>,
    pub codeset: CodeSet,
    /// how it writes dates
    pub dates: DateForm,
    /// how it writes amounts of money
    pub money: MoneyForm,
    pub delimident: bool,
    pub encrypted: bool,
    pub address: SocketAddr,
    pub pid: i32,
    /// None: it has still to prove who it is
    pub place: Option<Place>,
}

const BAD_PASSWORD: i16 = -951;
const NO_CONNECTION: i16 = -908;
const BAD_LOCALE: i16 = -23101;

/// Reads the login packet and answers it. Errors: the client is sent away, its answer is in the output.
pub async fn login(shared: &Arc<Shared>, client: &mut Client, address: SocketAddr) -> Result<Identity, End> {
    let login = loop {
        match client.take(decode)? {
            Some(login) => break login,
            None => client.fill().await?,
        }
    };
    let user = login.user.clone();
    match admit(shared, client, login, address).await {
        Ok(identity) => {
            client.out.buffer.extend(accept());
            client.flush().await?;
            Ok(identity)
        }
        Err((code, message)) => {
            shared.failed_logins.tell(&user, "", Some(address), message);
            client.out.buffer.extend(reject(code, message));
            Err(End::Gone)
        }
    }
}

async fn admit(
    shared: &Arc<Shared>,
    client: &Client,
    login: Login,
    address: SocketAddr,
) -> Result<Identity, (i16, &'static str)> {
    if shared.config.require_tls && !client.stream.is_encrypted() {
        return Err((NO_CONNECTION, "this server takes connections with TLS only"));
    }
    let codeset = CodeSet::of_locale(login.variable("CLIENT_LOCALE")).ok_or((BAD_LOCALE, "unknown code set"))?;
    let dates =
        DateForm::of_environment(login.variable("GL_DATE"), login.variable("DBDATE"), login.variable("DBCENTURY"))
            .ok_or((BAD_LOCALE, "an unknown form of dates"))?;
    let money = MoneyForm::of_environment(login.variable("DBMONEY")).ok_or((BAD_LOCALE, "an unknown form of money"))?;
    let delimident = login.variable("DELIMIDENT").is_some_and(|v| !v.eq_ignore_ascii_case("n"));
    let mut password = Some(login.password.clone());
    // where there is one database, for which there are no rules of its own, the password is checked at once; else when one is opened
    if !matches!(shared.config.databases, Databases::Directory(_)) && shared.config.hba.is_none() {
        let engine = shared.databases.get("").map_err(|_| (NO_CONNECTION, "no database"))?;
        let claim = Claim { user: &login.user, database: "", encrypted: client.stream.is_encrypted(), address };
        if !proves(shared, &claim, Some(&engine), &login.password).await {
            return Err((BAD_PASSWORD, "incorrect user or password"));
        }
        password = None;
    }
    let place = match password {
        None => Some(shared.take_place().ok_or((NO_CONNECTION, "too many clients"))?),
        Some(_) => None,
    };
    let (user, encrypted, pid) = (login.user, client.stream.is_encrypted(), shared.new_pid());
    Ok(Identity { user, password, codeset, dates, money, delimident, encrypted, address, pid, place })
}

/// Whom a client says it is, and what it wants to open.
pub struct Claim<'a> {
    pub user: &'a str,
    pub database: &'a str,
    pub encrypted: bool,
    pub address: SocketAddr,
}

/// Whether the server's rules let the client in with this password. `engine`: the database; None: there is none, and no password is right.
pub async fn proves(shared: &Shared, claim: &Claim<'_>, engine: Option<&Arc<Engine>>, password: &str) -> bool {
    let Claim { user, database, encrypted, address } = *claim;
    let attempt = Attempt { address: Some(address.ip()), encrypted, database, user };
    let rules = shared.rules();
    match rules.rule(&attempt, &mut |role| engine.is_some_and(|e| e.is_member(user, role))).await {
        // (clients of this protocol have no certificates)
        Ok(rule) if rule.client_certificate != ClientCertificate::NotAsked => false,
        Ok(rule) => match rule.method {
            Method::Trust => true,
            Method::Scram => check_password(shared, engine, user, password),
            // (no client of this protocol comes over the Unix socket)
            Method::Peer | Method::Certificate | Method::Reject => false,
        },
        Err(_) => false,
    }
}

/// Whether the password is the role's. It takes as long for a role that does not exist.
fn check_password(shared: &Shared, engine: Option<&Arc<Engine>>, user: &str, password: &str) -> bool {
    let known = engine.and_then(|e| e.password_verifier(user).ok()).flatten().and_then(|v| Verifier::parse(&v));
    let exists = known.is_some();
    let verifier = known.unwrap_or_else(|| Verifier::new("", &shared.mock_secret, pgsqlite_wire::scram::ITERATIONS));
    let given = Verifier::new(password, &verifier.salt, verifier.iterations);
    let differences = given.stored_key.iter().zip(&verifier.stored_key).fold(0, |all, (a, b)| all | (a ^ b));
    exists && differences == 0 && given.stored_key.len() == verifier.stored_key.len()
}
