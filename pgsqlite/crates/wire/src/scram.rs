//! SCRAM-SHA-256 (RFC 5802, RFC 7677), the server's side, as a state machine; and verifiers in PostgreSQL's form
//! `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey`.

use base64::engine::general_purpose::STANDARD as B64;
use base64::Engine;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

pub const ITERATIONS: u32 = 4096;

/// A stored verifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verifier {
    pub iterations: u32,
    pub salt: Vec<u8>,
    pub stored_key: Vec<u8>,
    pub server_key: Vec<u8>,
}

fn hmac(key: &[u8], data: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(data);
    mac.finalize().into_bytes().to_vec()
}

fn salted(password: &str, salt: &[u8], iterations: u32) -> [u8; 32] {
    // a password that SASLprep refuses is used as it is, as PostgreSQL does
    let prepared = stringprep::saslprep(password).map_or(password.into(), |p| p.into_owned());
    let mut out = [0u8; 32];
    pbkdf2::pbkdf2_hmac::<Sha256>(prepared.as_bytes(), salt, iterations, &mut out);
    out
}

impl Verifier {
    pub fn new(password: &str, salt: &[u8], iterations: u32) -> Verifier {
        let salted = salted(password, salt, iterations);
        let client_key = hmac(&salted, b"Client Key");
        Verifier {
            iterations,
            salt: salt.to_vec(),
            stored_key: Sha256::digest(&client_key).to_vec(),
            server_key: hmac(&salted, b"Server Key"),
        }
    }

    pub fn parse(text: &str) -> Option<Verifier> {
        let rest = text.strip_prefix("SCRAM-SHA-256$")?;
        let (params, keys) = rest.split_once('$')?;
        let (iterations, salt) = params.split_once(':')?;
        let (stored, server) = keys.split_once(':')?;
        Some(Verifier {
            iterations: iterations.parse().ok()?,
            salt: B64.decode(salt).ok()?,
            stored_key: B64.decode(stored).ok()?,
            server_key: B64.decode(server).ok()?,
        })
    }
}

impl std::fmt::Display for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "SCRAM-SHA-256${}:{}${}:{}",
            self.iterations,
            B64.encode(&self.salt),
            B64.encode(&self.stored_key),
            B64.encode(&self.server_key)
        )
    }
}

/// An exchange that waits for the client's final message.
pub struct Exchange {
    verifier: Verifier,
    /// the user exists and has a verifier: otherwise the exchange runs to its end and fails there
    genuine: bool,
    client_first_bare: String,
    server_first: String,
    nonce: String,
    /// what `c=` must say: the GS2 header and, with channel binding, the channel's data
    binding: Vec<u8>,
}

/// Whether an exchange is bound to the TLS channel it runs in (RFC 5802, section 6).
#[derive(Debug, Clone, Copy)]
pub enum Binding<'a> {
    /// SCRAM-SHA-256, and the server offered nothing else
    NotOffered,
    /// SCRAM-SHA-256, though the server offered SCRAM-SHA-256-PLUS
    Declined,
    /// SCRAM-SHA-256-PLUS: the channel's `tls-server-end-point`
    EndPoint(&'a [u8]),
}

/// Why an exchange failed.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    Malformed(&'static str),
    /// wrong password or unknown user: the client is not told which
    Denied,
}

/// Answers the client's first message. `verifier` None: a mock exchange, so that unknown users cannot be told apart.
/// `mock_salt` must be the same for the same user name.
pub fn first(
    client_first: &str,
    verifier: Option<Verifier>,
    mock_salt: &[u8],
    server_nonce: &str,
    binding: Binding,
) -> Result<(Exchange, String), Failure> {
    let bad = Failure::Malformed("malformed SCRAM message");
    let mut parts = client_first.splitn(3, ',');
    let (flag, authzid, bare) = match (parts.next(), parts.next(), parts.next()) {
        (Some(a), Some(b), Some(c)) => (a, b, c),
        _ => return Err(bad),
    };
    // n: the client cannot bind; y: it could, but believes that the server cannot (somebody between may have said so)
    match (flag, binding) {
        ("n", Binding::NotOffered | Binding::Declined) | ("y", Binding::NotOffered) => {}
        ("p=tls-server-end-point", Binding::EndPoint(_)) => {}
        ("y", Binding::Declined) => return Err(Failure::Malformed("SCRAM channel binding negotiation error")),
        (_, Binding::EndPoint(_)) => {
            return Err(Failure::Malformed(
                "client selected SCRAM-SHA-256-PLUS, but the message does not include tls-server-end-point data",
            ))
        }
        _ => {
            return Err(Failure::Malformed(
                "client selected SCRAM-SHA-256 without channel binding, but the message includes channel binding data",
            ))
        }
    }
    if !authzid.is_empty() {
        return Err(Failure::Malformed("client uses authorization identity, but it is not supported"));
    }
    if bare.starts_with("m=") {
        return Err(Failure::Malformed("client requires an unsupported SCRAM extension"));
    }
    let client_nonce = bare.split(',').find_map(|p| p.strip_prefix("r=")).filter(|n| !n.is_empty()).ok_or(bad)?;
    let genuine = verifier.is_some();
    let verifier = verifier.unwrap_or_else(|| Verifier {
        iterations: ITERATIONS,
        salt: mock_salt.to_vec(),
        stored_key: vec![0; 32],
        server_key: vec![0; 32],
    });
    let nonce = format!("{client_nonce}{server_nonce}");
    let server_first = format!("r={nonce},s={},i={}", B64.encode(&verifier.salt), verifier.iterations);
    let exchange = Exchange {
        verifier,
        genuine,
        client_first_bare: bare.to_string(),
        server_first: server_first.clone(),
        nonce,
        binding: {
            let mut expected = format!("{flag},,").into_bytes();
            if let Binding::EndPoint(data) = binding {
                expected.extend_from_slice(data);
            }
            expected
        },
    };
    Ok((exchange, server_first))
}

impl Exchange {
    /// Checks the client's final message: the server's final message.
    pub fn last(self, client_final: &str) -> Result<String, Failure> {
        let bad = || Failure::Malformed("malformed SCRAM message");
        let (without_proof, proof) = client_final.rsplit_once(",p=").ok_or_else(bad)?;
        let mut parts = without_proof.split(',');
        let binding = parts.next().and_then(|p| p.strip_prefix("c=")).ok_or_else(bad)?;
        let nonce = parts.next().and_then(|p| p.strip_prefix("r=")).ok_or_else(bad)?;
        if B64.decode(binding).ok().as_deref() != Some(&self.binding[..]) {
            // with channel binding this is what a man in the middle looks like
            return Err(match self.binding.starts_with(b"p=") {
                true => Failure::Malformed("SCRAM channel binding check failed"),
                false => Failure::Malformed("unexpected SCRAM channel-binding attribute in client-final-message"),
            });
        }
        if nonce != self.nonce {
            return Err(bad());
        }
        let proof = B64.decode(proof).map_err(|_| bad())?;
        let message = format!("{},{},{without_proof}", self.client_first_bare, self.server_first);
        let signature = hmac(&self.verifier.stored_key, message.as_bytes());
        if proof.len() != signature.len() {
            return Err(bad());
        }
        let client_key: Vec<u8> = proof.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        let digest = Sha256::digest(&client_key);
        // compared without an early end, so that time tells nothing
        let differs = digest.iter().zip(&self.verifier.stored_key).fold(0u8, |acc, (a, b)| acc | (a ^ b));
        if differs != 0 || !self.genuine {
            return Err(Failure::Denied);
        }
        Ok(format!("v={}", B64.encode(hmac(&self.verifier.server_key, message.as_bytes()))))
    }
}

/// The client's side of an exchange, without channel binding.
pub struct Client {
    bare: String,
    nonce: String,
}

/// A client that waits for the server's proof.
pub struct Proof(Vec<u8>);

impl Client {
    /// The client's first message is [`Client::first`]. `nonce`: random, printable, without commas.
    pub fn new(nonce: &str) -> Client {
        // (the name is that of the start-up packet)
        Client { bare: format!("n=,r={nonce}"), nonce: nonce.to_string() }
    }

    /// The client's first message.
    pub fn first(&self) -> String {
        format!("n,,{}", self.bare)
    }

    /// Answers the server's first message: the client's final message. None: it is malformed, or not an answer to the first one.
    pub fn last(self, server_first: &str, password: &str) -> Option<(String, Proof)> {
        /// A server that asks for more would keep the client busy.
        const MOST_ITERATIONS: u32 = 10_000_000;
        let mut parts = server_first.split(',');
        let nonce = parts.next()?.strip_prefix("r=").filter(|n| n.starts_with(&self.nonce) && *n != self.nonce)?;
        let salt = B64.decode(parts.next()?.strip_prefix("s=")?).ok()?;
        let iterations = parts.next()?.strip_prefix("i=")?.parse().ok();
        let iterations = iterations.filter(|n| (1..=MOST_ITERATIONS).contains(n))?;
        let salted = salted(password, &salt, iterations);
        let without_proof = format!("c={},r={nonce}", B64.encode("n,,"));
        let message = format!("{},{server_first},{without_proof}", self.bare);
        let client_key = hmac(&salted, b"Client Key");
        let signature = hmac(&Sha256::digest(&client_key), message.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        let server = hmac(&hmac(&salted, b"Server Key"), message.as_bytes());
        Some((format!("{without_proof},p={}", B64.encode(proof)), Proof(server)))
    }
}

impl Proof {
    /// Whether the server knows the password, too.
    pub fn is(&self, server_final: &str) -> bool {
        server_final.strip_prefix("v=").and_then(|v| B64.decode(v).ok()).as_deref() == Some(&self.0[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_agree_on_the_password_alone() {
        for (password, agree) in [("secret", true), ("Secret", false)] {
            let client = Client::new("abc");
            let verifier = Verifier::new("secret", b"salt", 4096);
            let (exchange, server_first) =
                first(&client.first(), Some(verifier), b"", "def", Binding::NotOffered).unwrap();
            assert!(Client::new("xyz").last(&server_first, password).is_none(), "another's nonce");
            let (last, proof) = client.last(&server_first, password).unwrap();
            match exchange.last(&last) {
                Ok(server_final) => assert!(agree && proof.is(&server_final) && !proof.is("v=AAAA")),
                Err(failure) => assert!(!agree && failure == Failure::Denied),
            }
        }
    }

    /// The example exchange of RFC 7677, section 3.
    #[test]
    fn rfc_7677() {
        let salt = B64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let verifier = Verifier::new("pencil", &salt, 4096);
        assert_eq!(Verifier::parse(&verifier.to_string()), Some(verifier.clone()));
        let (exchange, server_first) = first(
            "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
            Some(verifier),
            b"",
            "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
            Binding::NotOffered,
        )
        .unwrap();
        assert_eq!(
            server_first,
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
        );
        let last = exchange.last("c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        assert_eq!(last.as_deref(), Ok("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
    }

    #[test]
    fn wrong_password_and_unknown_user_fail_alike() {
        let client = "n,,n=,r=abc";
        let proof = "c=biws,r=abcdef,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        for verifier in [Some(Verifier::new("x", b"0123456789abcdef", 4096)), None] {
            let (exchange, _) = first(client, verifier, b"0123456789abcdef", "def", Binding::NotOffered).unwrap();
            assert_eq!(exchange.last(proof), Err(Failure::Denied));
        }
    }

    #[test]
    fn the_header_must_fit_what_was_offered() {
        let first = |flag: &str, binding| {
            first(&format!("{flag},,n=,r=abc"), None, b"0123456789abcdef", "def", binding).map(|_| ())
        };
        let end_point = Binding::EndPoint(b"hash");
        assert!(first("n", Binding::NotOffered).is_ok());
        assert!(first("y", Binding::NotOffered).is_ok());
        assert!(first("n", Binding::Declined).is_ok());
        assert!(first("p=tls-server-end-point", end_point).is_ok());
        // a client that was made to believe there is no channel binding
        assert!(first("y", Binding::Declined).is_err());
        for (flag, binding) in [("n", end_point), ("y", end_point), ("p=tls-unique", end_point)] {
            assert!(first(flag, binding).is_err(), "{flag}");
        }
        assert!(first("p=tls-server-end-point", Binding::Declined).is_err());
        assert!(first("n,a=other", Binding::NotOffered).is_err());
    }

    #[test]
    fn another_channel_is_noticed() {
        let (exchange, _) =
            first("p=tls-server-end-point,,n=,r=abc", None, b"0123456789abcdef", "def", Binding::EndPoint(b"right"))
                .unwrap();
        let binding = B64.encode(b"p=tls-server-end-point,,wrong");
        let last = format!("c={binding},r=abcdef,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        assert_eq!(exchange.last(&last), Err(Failure::Malformed("SCRAM channel binding check failed")));
    }
}
