//! From a login packet to a client that is let in.

use crate::client::{Client, End};
use crate::values::codeset::CodeSet;
use crate::values::dates::DateForm;
use crate::values::money::MoneyForm;
use crate::wire::login::{accept, decode, reject, Login};
use pgsqlite_server::config::Databases;
use pgsqlite_server::listen::{Place, Shared};
use pgsqlite_server::plain_login::{proves, Claim};
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
        let encrypted = client.stream.is_encrypted();
        let claim = Claim { user: &login.user, database: "", encrypted, certificate: None, address };
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
