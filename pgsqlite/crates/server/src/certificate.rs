//! Names in certificates of clients, and what is told of the TLS of their connections.

use pgsqlite_natives::statistics::activity::Encryption;
use rustls::{CipherSuite, ProtocolVersion, ServerConnection};
use x509_parser::objects::{oid2abbrev, oid_registry};
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::X509Name;

/// The common name of a certificate's subject: whom `cert` and `clientcert=verify-full` take its owner for. None: it has none, or one that is
/// no text, is empty, or has a NUL in it (behind which a careless authority may have let somebody write).
pub fn common_name(certificate: &[u8]) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let name = certificate.subject().iter_common_name().next()?.as_str().ok()?;
    (!name.is_empty() && !name.contains('\0')).then(|| name.to_string())
}

/// What pg_stat_ssl says of a connection; None: its handshake is not over.
pub fn encryption(connection: &ServerConnection) -> Option<Encryption> {
    let version = match connection.protocol_version()? {
        ProtocolVersion::TLSv1_2 => "TLSv1.2".to_string(),
        ProtocolVersion::TLSv1_3 => "TLSv1.3".to_string(),
        other => format!("{other:?}"),
    };
    let (cipher, bits) = cipher(connection.negotiated_cipher_suite()?.suite());
    let certificate = connection.peer_certificates().and_then(|chain| chain.first());
    let read = certificate.and_then(|c| Some(X509Certificate::from_der(c.as_ref()).ok()?.1));
    Some(Encryption {
        version,
        cipher,
        bits,
        client: read.as_ref().map(|c| shown_name(c.subject())),
        client_serial: read.as_ref().map(|c| c.tbs_certificate.serial.to_string()),
        issuer: read.as_ref().map(|c| shown_name(c.issuer())),
    })
}

/// OpenSSL's name of a cipher suite and the bits of its key. Those of TLS 1.3 have the same names as in the registry, but for a digit.
fn cipher(suite: CipherSuite) -> (String, i32) {
    let registered = format!("{suite:?}");
    let bits = if registered.contains("AES_128") { 128 } else { 256 };
    let name = match registered.strip_prefix("TLS13_") {
        Some(rest) => format!("TLS_{rest}"),
        // TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 is ECDHE-RSA-AES256-GCM-SHA384, TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 is ECDHE-RSA-CHACHA20-POLY1305
        None => {
            let short = registered.trim_start_matches("TLS_").replace("_WITH_", "_").replace("AES_", "AES");
            short.strip_suffix("POLY1305_SHA256").map_or(short.clone(), |s| format!("{s}POLY1305")).replace('_', "-")
        }
    };
    (name, bits)
}

/// A name as PostgreSQL shows it: `/C=DE/CN=ada`, cut at 63 bytes.
fn shown_name(name: &X509Name) -> String {
    let mut out = String::new();
    for attribute in name.iter_attributes() {
        let kind = oid2abbrev(attribute.attr_type(), oid_registry())
            .map_or_else(|_| attribute.attr_type().to_id_string(), str::to_string);
        out.push_str(&format!("/{kind}={}", attribute.as_str().unwrap_or_default()));
    }
    let end = (0..=63.min(out.len())).rev().find(|i| out.is_char_boundary(*i)).unwrap_or(0);
    out.truncate(end);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cipher_suites_have_the_names_of_openssl() {
        let name = |suite| cipher(suite).0;
        assert_eq!(cipher(CipherSuite::TLS13_AES_256_GCM_SHA384), ("TLS_AES_256_GCM_SHA384".into(), 256));
        assert_eq!(cipher(CipherSuite::TLS13_AES_128_GCM_SHA256), ("TLS_AES_128_GCM_SHA256".into(), 128));
        assert_eq!(name(CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384), "ECDHE-RSA-AES256-GCM-SHA384");
        assert_eq!(name(CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256), "ECDHE-ECDSA-CHACHA20-POLY1305");
    }
}
