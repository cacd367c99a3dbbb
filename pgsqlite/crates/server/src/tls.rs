//! TLS: the certificate of the server, and what SCRAM binds to it.
//!
//! The certificate comes from files or is made at start. `tls-server-end-point` (RFC 5929) is the certificate's hash under
//! the hash function of its own signature; a client that sees another certificate (a man in the middle) proves another one.

use crate::config;
use pgsqlite_types::{PgError, Result, SqlState};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::RootCertStore;
use sha2::Digest;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// What a TLS listener needs.
pub struct Tls {
    pub acceptor: TlsAcceptor,
    /// `tls-server-end-point`; None: the signature's hash function is not one that RFC 5929 knows, so that
    /// SCRAM-SHA-256-PLUS is not offered
    pub end_point: Option<Vec<u8>>,
}

impl Tls {
    /// Reads (or makes) the certificate. `client_ca`: the certificates of the authorities whose signature makes a client's certificate
    /// valid; a client may come without one, and is sent away with one that is not valid. None: clients are asked for none. Errors: F0000 naming the file.
    pub fn new(tls: &config::Tls, client_ca: Option<&Path>) -> Result<Tls> {
        let bad = |what: &str, e: String| PgError::new(SqlState::CONFIG_FILE_ERROR, format!("TLS {what}: {e}"));
        let (chain, key) = match tls {
            config::Tls::Files { cert, key } => {
                let chain = CertificateDer::pem_file_iter(cert)
                    .and_then(|i| i.collect::<std::result::Result<Vec<_>, _>>())
                    .map_err(|e| bad("certificate", format!("{}: {e}", cert.display())))?;
                let key =
                    PrivateKeyDer::from_pem_file(key).map_err(|e| bad("key", format!("{}: {e}", key.display())))?;
                (chain, key)
            }
            config::Tls::SelfSigned => {
                let made = rcgen::generate_simple_self_signed(vec!["localhost".to_string()])
                    .map_err(|e| bad("certificate", e.to_string()))?;
                let key =
                    PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(|e| bad("key", e.to_string()))?;
                (vec![made.cert.der().clone()], key)
            }
        };
        let end_point = chain.first().and_then(|leaf| end_point(leaf));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = match client_ca {
            None => WebPkiClientVerifier::no_client_auth(),
            Some(file) => {
                let failed = |e: String| bad("authorities of clients", format!("{}: {e}", file.display()));
                let mut roots = RootCertStore::empty();
                for certificate in CertificateDer::pem_file_iter(file).map_err(|e| failed(e.to_string()))? {
                    roots.add(certificate.map_err(|e| failed(e.to_string()))?).map_err(|e| failed(e.to_string()))?;
                }
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                    .allow_unauthenticated()
                    .build()
                    .map_err(|e| failed(e.to_string()))?
            }
        };
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| bad("set-up", e.to_string()))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .map_err(|e| bad("set-up", e.to_string()))?;
        Ok(Tls { acceptor: TlsAcceptor::from(Arc::new(config)), end_point })
    }
}

/// The DER object identifiers of signatures, and the hash that `tls-server-end-point` takes for each (SHA-256 where the
/// signature's own is weaker).
const SIGNATURES: &[(&[u8], Hash)] = &[
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x04", Hash::Sha256), // md5WithRSAEncryption
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05", Hash::Sha256), // sha1WithRSAEncryption
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b", Hash::Sha256), // sha256WithRSAEncryption
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c", Hash::Sha384), // sha384WithRSAEncryption
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d", Hash::Sha512), // sha512WithRSAEncryption
    (b"\x2a\x86\x48\xce\x3d\x04\x01", Hash::Sha256),         // ecdsa-with-SHA1
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x02", Hash::Sha256),     // ecdsa-with-SHA256
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x03", Hash::Sha384),     // ecdsa-with-SHA384
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x04", Hash::Sha512),     // ecdsa-with-SHA512
];

#[derive(Clone, Copy)]
enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    // Certificate ::= SEQUENCE { tbsCertificate SEQUENCE, signatureAlgorithm SEQUENCE { algorithm OBJECT IDENTIFIER … } … }
    const SEQUENCE: u8 = 0x30;
    const OBJECT_IDENTIFIER: u8 = 0x06;
    let (body, _) = der(certificate, SEQUENCE)?;
    let (_, after) = der(body, SEQUENCE)?;
    let (algorithm, _) = der(after, SEQUENCE)?;
    let (identifier, _) = der(algorithm, OBJECT_IDENTIFIER)?;
    let (_, hash) = SIGNATURES.iter().find(|(known, _)| *known == identifier)?;
    Some(match hash {
        Hash::Sha256 => sha2::Sha256::digest(certificate).to_vec(),
        Hash::Sha384 => sha2::Sha384::digest(certificate).to_vec(),
        Hash::Sha512 => sha2::Sha512::digest(certificate).to_vec(),
    })
}

/// The content of the DER element at the start, if it has this tag, and what follows it.
fn der(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = bytes.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let mut length = first as usize;
    if first & 0x80 != 0 {
        let digits = (first & 0x7f) as usize;
        if digits > 4 {
            return None;
        }
        let (head, tail) = rest.split_at_checked(digits)?;
        length = head.iter().fold(0, |n, &b| n << 8 | b as usize);
        rest = tail;
    }
    let parts = rest.split_at_checked(length)?;
    (found == tag).then_some(parts)
}
