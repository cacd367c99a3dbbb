//! TLS to a primary, as libpq's `sslmode` asks for it.

use super::conninfo::{Conninfo, SslMode};
use pgsqlite_types::{PgError, Result, SqlState};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// Which certificates are taken.
#[derive(Debug)]
struct Verifier {
    /// whose authority is known; None: all
    known: Option<Arc<WebPkiServerVerifier>>,
    /// they may be another host's
    any_name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let Some(known) = &self.known else { return Ok(ServerCertVerified::assertion()) };
        match known.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.any_name => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// What a client of the primary needs for TLS. Errors: F0000 for a file of authorities that cannot be used.
pub fn client(conninfo: &Conninfo) -> Result<Arc<ClientConfig>> {
    let failed = |e: String| PgError::new(SqlState::CONFIG_FILE_ERROR, format!("TLS to the primary: {e}"));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    // (with authorities, `require` is as `verify-ca`, as it is for libpq)
    let known = match (&conninfo.sslrootcert, conninfo.sslmode) {
        (Some(file), SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull) => {
            let of_file = |e: String| failed(format!("{}: {e}", file.display()));
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_file_iter(file).map_err(|e| of_file(e.to_string()))? {
                let certificate = certificate.map_err(|e| of_file(e.to_string()))?;
                roots.add(certificate).map_err(|e| of_file(e.to_string()))?;
            }
            let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
            Some(verifier.map_err(|e| of_file(e.to_string()))?)
        }
        _ => None,
    };
    let any_name = conninfo.sslmode != SslMode::VerifyFull;
    let verifier = Arc::new(Verifier { known, any_name, provider: provider.clone() });
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| failed(e.to_string()))?;
    Ok(Arc::new(config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()))
}
