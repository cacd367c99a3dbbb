//! TLS: a given certificate or one made at start, and requiring it.

use crate::harness::*;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

pub type Encrypted = StreamOwned<ClientConnection, TcpStream>;

/// Takes any certificate: the tests look at it themselves.
#[derive(Debug)]
struct AnyCertificate;

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer,
        _: &[CertificateDer],
        _: &ServerName,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

fn ssl_request() -> Vec<u8> {
    packet(&(1234u32 << 16 | 5679).to_be_bytes())
}

/// An encrypted connection before its start-up packet, and the server's certificate.
pub fn encrypt(server: &Server) -> (Encrypted, Vec<u8>) {
    let mut tcp = server.connect_tcp();
    tcp.write_all(&ssl_request()).unwrap();
    let mut answer = [0];
    tcp.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"S");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate))
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), tcp);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).unwrap();
    }
    let certificate = stream.conn.peer_certificates().unwrap()[0].to_vec();
    (stream, certificate)
}

#[test]
fn a_certificate_made_at_start() {
    let folder = Folder::new();
    let server = Server::start_tcp(&folder, &["--in-memory", "--tls-self-signed"]);
    let (stream, _) = encrypt(&server);
    let mut client = Client { stream: Box::new(stream) };
    client.send(&startup(&[("user", "postgres"), ("database", "main")]));
    client.until_ready();
    client.is_served();
    // results of more than one buffer, and what comes in pieces
    let rows = client.rows("SELECT repeat('x', 1000) FROM generate_series(1, 2000)");
    assert!(rows.len() == 2000 && rows.iter().all(|r| r[0].len() == 1000));
    // without is welcome, too
    let mut plain = Client { stream: Box::new(server.connect_tcp()) };
    plain.send(&startup(&[("user", "postgres"), ("database", "main")]));
    plain.until_ready();
}

#[test]
fn a_given_certificate() {
    let folder = Folder::new();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_string()]).unwrap();
    let (cert, key) = (folder.path("cert.pem"), folder.path("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let server = Server::start_tcp(&folder, &["--in-memory", "--tls-cert", &cert, "--tls-key", &key]);
    let (stream, certificate) = encrypt(&server);
    assert_eq!(certificate, made.cert.der().to_vec());
    let mut client = Client { stream: Box::new(stream) };
    client.send(&startup(&[("user", "postgres"), ("database", "main")]));
    client.until_ready();
    client.is_served();
}

#[test]
fn bad_certificates_are_refused_at_start() {
    let folder = Folder::new();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_string()]).unwrap();
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_string()]).unwrap();
    let write = |name: &str, text: String| {
        std::fs::write(folder.path(name), text).unwrap();
        folder.path(name)
    };
    let (cert, key) = (write("cert.pem", made.cert.pem()), write("key.pem", made.signing_key.serialize_pem()));
    let wrong_key = write("other.pem", other.signing_key.serialize_pem());
    let trash = write("trash.pem", "trash".into());
    let missing = folder.path("missing.pem");
    for (cert, key) in [(&trash, &key), (&cert, &trash), (&missing, &key), (&cert, &missing), (&cert, &wrong_key)] {
        let said = refused(unix_only(&folder, &["--in-memory", "--tls-cert", cert, "--tls-key", key]));
        assert!(said.contains("TLS"), "{said}");
    }
}

#[test]
fn tls_can_be_required_of_tcp() {
    let folder = Folder::new();
    let server = Server::start_tcp(&folder, &["--in-memory", "--tls-self-signed", "--require-tls"]);
    let mut plain = Client { stream: Box::new(server.connect_tcp()) };
    plain.send(&startup(&[("user", "postgres"), ("database", "main")]));
    assert_eq!(plain.told_to_go(), "28000");
    // a Unix socket goes through nobody's hands
    server.session().is_served();
    let (stream, _) = encrypt(&server);
    let mut client = Client { stream: Box::new(stream) };
    client.send(&startup(&[("user", "postgres"), ("database", "main")]));
    client.until_ready();
    client.is_served();
}

#[test]
fn what_is_smuggled_in_before_the_handshake_is_refused() {
    let folder = Folder::new();
    let server = Server::start_tcp(&folder, &["--in-memory", "--tls-self-signed"]);
    let mut tcp = server.connect_tcp();
    tcp.write_all(&[ssl_request(), startup(&[("user", "postgres")])].concat()).unwrap();
    let mut client = Client { stream: Box::new(tcp) };
    assert_eq!(client.told_to_go(), "08P01");
    // a handshake that is none
    let mut tcp = server.connect_tcp();
    tcp.write_all(&ssl_request()).unwrap();
    let mut answer = [0];
    tcp.read_exact(&mut answer).unwrap();
    tcp.write_all(&[0; 100]).unwrap();
    let mut rest = Vec::new();
    let _ = tcp.read_to_end(&mut rest);
    server.session().is_served();
}
