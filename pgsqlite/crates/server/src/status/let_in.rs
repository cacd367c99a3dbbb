//! Who asks for the page, and whether SQL would let them in.

use super::{host_of, Status};
use crate::answer::{Answer, Visitor};
use crate::config::Databases;
use crate::plain_login::{demanded, is_right, Claim, Proof};
use crate::shared::Shared;
use base64::engine::general_purpose::STANDARD;
use base64::Engine as _;
use hyper::header::{AUTHORIZATION, HOST};
use hyper::{HeaderMap, Request, StatusCode};
use pgsqlite_engine::engine::Engine;
use std::net::IpAddr;
use std::sync::Arc;

/// The database that is shown to who names none: of a folder the first one, else the one that there is.
fn first(databases: &Databases) -> &'static str {
    match databases {
        Databases::Directory(_) => "postgres",
        Databases::File(_) | Databases::Memory => "main",
    }
}

/// A request.
pub struct Asked<'a> {
    pub path: &'a str,
    query: &'a str,
    headers: &'a HeaderMap,
}

/// Somebody who is let in.
pub struct Entry {
    pub engine: Arc<Engine>,
    /// by the name under which it was asked for
    pub database: String,
    pub user: String,
    pub address: std::net::SocketAddr,
}

impl<'a> Asked<'a> {
    pub fn of<B>(request: &'a Request<B>) -> Asked<'a> {
        let uri = request.uri();
        Asked { path: uri.path(), query: uri.query().unwrap_or_default(), headers: request.headers() }
    }

    /// A parameter of the address.
    pub fn parameter(&self, name: &str) -> Option<String> {
        form_urlencoded::parse(self.query.as_bytes()).find(|(n, _)| n == name).map(|(_, value)| value.into_owned())
    }

    /// User and password (RFC 7617).
    fn credentials(&self) -> Option<(String, String)> {
        let (scheme, rest) = self.headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
        let decoded = STANDARD.decode(rest.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
        let text = String::from_utf8(decoded).ok()?;
        text.split_once(':').map(|(user, password)| (user.to_string(), password.to_string()))
    }

    /// Whether the browser believes to talk to this machine. A page of somebody else's whose name leads here (DNS rebinding) does not.
    fn is_for(&self, host: &str) -> bool {
        let Some(named) = self.headers.get(HOST).and_then(|value| value.to_str().ok()) else { return false };
        let named = if named.ends_with(']') { named.trim_matches(['[', ']']) } else { host_of(named) };
        named.parse::<IpAddr>().is_ok() || [host, "localhost"].iter().any(|own| named.eq_ignore_ascii_case(own))
    }
}

impl Status {
    /// Lets in whom the rules of SQL let in. Without rules that ask for a password nobody is asked, and sees what the superuser sees.
    pub(super) async fn admit(
        &self,
        shared: &Arc<Shared>,
        visitor: &Visitor,
        asked: &Asked<'_>,
    ) -> Result<Entry, Answer> {
        let forbidden = |why: &str| Err(Answer::told(StatusCode::FORBIDDEN, why));
        if shared.config.require_tls && !visitor.encrypted {
            return forbidden("this server takes connections with TLS only: ask with https://");
        }
        let database = asked.parameter("database").unwrap_or_else(|| first(&shared.config.databases).to_string());
        let engine = shared.databases.get(&database).ok();
        let credentials = asked.credentials();
        let user = match (&credentials, &engine) {
            (Some((user, _)), _) => user.clone(),
            (None, Some(engine)) => engine.bootstrap_role(),
            (None, None) => "postgres".to_string(),
        };
        let claim = Claim {
            user: &user,
            database: &database,
            encrypted: visitor.encrypted,
            certificate: visitor.certificate.as_deref(),
            address: visitor.address,
        };
        let failed = |reason| shared.failed_logins.tell(&user, &database, Some(visitor.address), reason);
        match (demanded(shared, &claim, engine.as_ref()).await, &credentials) {
            (Ok(Proof::None), _) if asked.is_for(&self.host) => {}
            (Ok(Proof::None), _) => {
                let why = format!("ask for this page by the server's address, localhost or \"{}\"", self.host);
                return Err(Answer::told(StatusCode::MISDIRECTED_REQUEST, why));
            }
            (Ok(Proof::Password), _) if !visitor.encrypted && !visitor.address.ip().to_canonical().is_loopback() => {
                return forbidden(
                    "a password would cross the network unencrypted: start the server with TLS, and ask with https://",
                );
            }
            (Ok(Proof::Password), Some((_, password))) => {
                if !tokio::task::block_in_place(|| is_right(shared, engine.as_ref(), &user, password)) {
                    failed("the password is wrong, or the role has none");
                    return Err(Answer::ask_for_password("the password is wrong, or the role has none"));
                }
            }
            (Err(error), Some(_)) => {
                failed("there is no such role, it may not log in, or not from there");
                return forbidden(error.message());
            }
            // (the rules may let another role in)
            (Ok(Proof::Password) | Err(_), None) => {
                return Err(Answer::ask_for_password("log in with a user and a password of the database"))
            }
        }
        match engine {
            Some(engine) => Ok(Entry { engine, database, user, address: visitor.address }),
            None => Err(Answer::told(StatusCode::NOT_FOUND, format!("database \"{database}\" does not exist"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(host: &str, authorization: &str) -> Request<()> {
        Request::builder()
            .uri("/live.json?database=a%20b&x=%26")
            .header(HOST, host)
            .header(AUTHORIZATION, authorization)
            .body(())
            .unwrap()
    }

    #[test]
    fn names_of_others_are_refused() {
        let is_for = |host: &str| Asked::of(&request(host, "")).is_for("db.example");
        for own in ["localhost:9188", "127.0.0.1:9188", "[::1]:9188", "[::1]", "192.0.2.7", "DB.example:1"] {
            assert!(is_for(own), "{own}");
        }
        for other in ["evil.example:9188", "localhost.evil.example", "", "127.0.0.1.evil.example:80"] {
            assert!(!is_for(other), "{other}");
        }
    }

    #[test]
    fn credentials_and_parameters_are_decoded() {
        let request = request("localhost", "basic dXNlcjpwYTpzcw==");
        let asked = Asked::of(&request);
        assert_eq!(asked.credentials(), Some(("user".into(), "pa:ss".into())));
        assert_eq!(asked.parameter("database").as_deref(), Some("a b"));
        assert_eq!((asked.parameter("x").as_deref(), asked.parameter("y")), (Some("&"), None));
        for bad in ["Bearer dXNlcjpwYTpzcw==", "Basic !", "Basic", "Basic dXNlcg=="] {
            assert_eq!(Asked::of(&self::request("localhost", bad)).credentials(), None, "{bad}");
        }
    }
}
