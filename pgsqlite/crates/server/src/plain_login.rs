//! Clients that give their password as a text: Informix clients, and browsers that ask for the status page. Who they are is decided by the
//! rules and passwords that count for all others, too.

use crate::hba::{Attempt, ClientCertificate, Method, Rule};
use crate::shared::Shared;
use crate::startup::may_be;
use pgsqlite_engine::engine::Engine;
use pgsqlite_types::Result;
use pgsqlite_wire::scram::{Verifier, ITERATIONS};
use std::net::SocketAddr;
use std::sync::Arc;

/// Whom a client says it is, and what it wants to open.
pub struct Claim<'a> {
    pub user: &'a str,
    pub database: &'a str,
    pub encrypted: bool,
    /// the client's, which is valid; None: it has none
    pub certificate: Option<&'a [u8]>,
    pub address: SocketAddr,
}

/// How a client has to prove who it is. Certificates are looked at already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// It need not.
    None,
    /// By a password.
    Password,
}

/// What the server's rules demand of a client. `engine`: the database; None: there is none. Errors: 28000 where no rule lets the client in.
pub async fn demanded(shared: &Shared, claim: &Claim<'_>, engine: Option<&Arc<Engine>>) -> Result<Proof> {
    let Claim { user, database, encrypted, address, .. } = *claim;
    let attempt = Attempt { address: Some(address.ip()), encrypted, database, user, replication: false };
    let rules = shared.rules();
    let rule = rules.rule(&attempt, &mut |role| engine.is_some_and(|e| e.is_member(user, role))).await?;
    if !has_certificate(shared, claim, rule) {
        return Err(attempt.refused("connection requires a valid client certificate"));
    }
    match rule.method {
        Method::Trust | Method::Certificate => Ok(Proof::None),
        Method::Scram => Ok(Proof::Password),
        // (no client of these protocols comes over the Unix socket)
        Method::Peer | Method::Reject => Err(attempt.refused("the rule for it is not for this protocol")),
    }
}

/// Whether a client has the certificate that a rule demands.
fn has_certificate(shared: &Shared, claim: &Claim<'_>, rule: &Rule) -> bool {
    match (rule.client_certificate, claim.certificate) {
        (ClientCertificate::NotAsked, _) => true,
        (_, None) => false,
        (ClientCertificate::Valid, Some(_)) => true,
        (ClientCertificate::OfUser, Some(certificate)) => crate::certificate::common_name(certificate)
            .is_some_and(|name| may_be(shared, rule.map.as_deref(), &name, claim.user)),
    }
}

/// Whether the server's rules let the client in with this password. `engine`: the database; None: there is none, and no password is right.
pub async fn proves(shared: &Shared, claim: &Claim<'_>, engine: Option<&Arc<Engine>>, password: &str) -> bool {
    match demanded(shared, claim, engine).await {
        Ok(Proof::None) => true,
        Ok(Proof::Password) => is_right(shared, engine, claim.user, password),
        Err(_) => false,
    }
}

/// Whether the password is the role's. It takes as long for a role that does not exist.
pub fn is_right(shared: &Shared, engine: Option<&Arc<Engine>>, user: &str, password: &str) -> bool {
    let known = engine.and_then(|e| e.password_verifier(user).ok()).flatten().and_then(|v| Verifier::parse(&v));
    let exists = known.is_some();
    let verifier = known.unwrap_or_else(|| Verifier::new("", &shared.mock_secret, ITERATIONS));
    let given = Verifier::new(password, &verifier.salt, verifier.iterations);
    let differences = given.stored_key.iter().zip(&verifier.stored_key).fold(0, |all, (a, b)| all | (a ^ b));
    exists && differences == 0 && given.stored_key.len() == verifier.stored_key.len()
}
