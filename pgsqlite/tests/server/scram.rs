//! Passwords: SCRAM-SHA-256, over TLS bound to the certificate, and what an attacker can learn from a refusal.

use crate::harness::*;
use crate::tls::encrypt;
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
use sha2::Digest;
use std::io::Write;
use std::process::Stdio;

/// A server with `--auth scram` and a user `alice` with the password `secret`.
fn with_alice(flags: &[&str]) -> (Folder, Server) {
    let folder = Folder::new();
    let file = folder.path("a.db");
    user(&["add", "alice", "--superuser", "--database", &file], "secret");
    let server = Server::start_tcp(&folder, &[&["--database", &file, "--auth", "scram"], flags].concat());
    (folder, server)
}

/// `pgsqlite user …` with a password on its standard input: what it says.
fn user(arguments: &[&str], password: &str) -> String {
    let output = try_user(arguments, password);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn try_user(arguments: &[&str], password: &str) -> std::process::Output {
    let mut command = pgsqlite(&[&["user"], arguments].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // one that asks for no password may have ended already
    let _ = child.stdin.take().unwrap().write_all(format!("{password}\n").as_bytes());
    child.wait_with_output().unwrap()
}

/// The mechanisms the server offers to this user.
fn offered(client: &mut Client, user: &str) -> Vec<String> {
    client.send(&startup(&[("user", user), ("database", "main")]));
    let (kind, body) = client.receive();
    assert_eq!((kind, &body[..4]), (b'R', &10u32.to_be_bytes()[..]), "AuthenticationSASL, not {}", error(&body));
    let names = String::from_utf8(body[4..].to_vec()).unwrap();
    names.split('\0').filter(|n| !n.is_empty()).map(str::to_string).collect()
}

fn initial(mechanism: &str, data: &[u8]) -> Vec<u8> {
    message(b'p', &[mechanism.as_bytes(), b"\0", &(data.len() as u32).to_be_bytes(), data].concat())
}

/// Runs the exchange: the ErrorResponse it ends with, if it does.
fn exchange(client: &mut Client, mechanism: &str, mut scram: ScramSha256) -> Result<(), Vec<u8>> {
    client.send(&initial(mechanism, scram.message()));
    let expect = |client: &mut Client, code: u32| match client.receive() {
        (b'R', body) if body[..4] == code.to_be_bytes() => Ok(body[4..].to_vec()),
        (b'E', body) => Err(body),
        (kind, body) => panic!("{} {}", kind as char, error(&body)),
    };
    let challenge = expect(client, 11)?;
    scram.update(&challenge).unwrap();
    client.send(&message(b'p', scram.message()));
    let last = expect(client, 12)?;
    // the server proves that it knows the password's verifier
    scram.finish(&last).unwrap();
    client.until_ready();
    Ok(())
}

fn log_in(client: &mut Client, name: &str, password: &str) -> Result<(), Vec<u8>> {
    offered(client, name);
    exchange(client, "SCRAM-SHA-256", ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported()))
}

#[test]
fn the_right_password_lets_in() {
    let (_folder, server) = with_alice(&[]);
    for mut client in [server.connect(), Client { stream: Box::new(server.connect_tcp()) }] {
        assert_eq!(offered(&mut client, "alice"), ["SCRAM-SHA-256"]);
        let scram = ScramSha256::new(b"secret", ChannelBinding::unsupported());
        exchange(&mut client, "SCRAM-SHA-256", scram).unwrap();
        assert_eq!(client.value("SELECT current_user"), "alice");
    }
}

#[test]
fn a_wrong_password_and_an_unknown_user_look_alike() {
    let (_folder, server) = with_alice(&[]);
    let mut salts = Vec::new();
    for (name, password) in [("alice", "wrong"), ("alice", ""), ("nobody", "secret"), ("nobody", "secret")] {
        let mut client = server.connect();
        offered(&mut client, name);
        let mut scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
        client.send(&initial("SCRAM-SHA-256", scram.message()));
        let (kind, body) = client.receive();
        assert_eq!((kind, &body[..4]), (b'R', &11u32.to_be_bytes()[..]));
        let challenge = String::from_utf8(body[4..].to_vec()).unwrap();
        salts.push(challenge.split(',').skip(1).collect::<Vec<_>>().join(","));
        scram.update(&body[4..]).unwrap();
        client.send(&message(b'p', scram.message()));
        let (kind, body) = client.receive();
        assert_eq!((kind, field(&body, b'S').as_str(), field(&body, b'C').as_str()), (b'E', "FATAL", "28P01"));
        assert_eq!(field(&body, b'M'), format!("password authentication failed for user \"{name}\""));
        client.closed();
    }
    // the salt and the iterations of a user that is not there are the same each time, and of the same shape
    assert_eq!((salts[0] == salts[1], salts[2] == salts[3]), (true, true));
    assert!(salts[0] != salts[2] && salts[0].len() == salts[2].len(), "{salts:?}");
}

#[test]
fn roles_decide_who_may_come_in() {
    let (_folder, server) = with_alice(&[]);
    let mut alice = server.connect();
    log_in(&mut alice, "alice", "secret").unwrap();
    for statement in [
        "CREATE ROLE staff PASSWORD 'pw'",
        "CREATE ROLE late LOGIN PASSWORD 'pw' VALID UNTIL '2001-01-01'",
        "CREATE ROLE early LOGIN PASSWORD 'pw' VALID UNTIL '2901-01-01'",
        "CREATE ROLE empty LOGIN",
        "CREATE ROLE \"ünï\" LOGIN PASSWORD 'pässword'",
    ] {
        alice.rows(statement);
    }
    let code = |name: &str, password: &str| match log_in(&mut server.connect(), name, password) {
        Ok(()) => "in".to_string(),
        Err(body) => field(&body, b'C'),
    };
    assert_eq!(code("early", "pw"), "in");
    assert_eq!(code("ünï", "pässword"), "in");
    assert_eq!(code("late", "pw"), "28P01");
    assert_eq!(code("empty", ""), "28P01");
    alice.rows("ALTER ROLE early PASSWORD 'other'");
    assert_eq!((code("early", "pw"), code("early", "other")), ("28P01".into(), "in".into()));
    // who has proved who it is, but may not log in, is told so
    let mut staff = server.connect();
    offered(&mut staff, "staff");
    let mut scram = ScramSha256::new(b"pw", ChannelBinding::unsupported());
    staff.send(&initial("SCRAM-SHA-256", scram.message()));
    let (_, body) = staff.receive();
    scram.update(&body[4..]).unwrap();
    staff.send(&message(b'p', scram.message()));
    assert_eq!(staff.told_to_go(), "28000");
}

#[test]
fn over_tls_the_password_is_bound_to_the_certificate() {
    let (_folder, server) = with_alice(&["--tls-self-signed"]);
    let plus = "SCRAM-SHA-256-PLUS";
    let (stream, certificate) = encrypt(&server);
    let mut client = Client { stream: Box::new(stream) };
    assert_eq!(offered(&mut client, "alice"), [plus, "SCRAM-SHA-256"]);
    let end_point = sha2::Sha256::digest(&certificate).to_vec();
    exchange(&mut client, plus, ScramSha256::new(b"secret", ChannelBinding::tls_server_end_point(end_point))).unwrap();
    client.is_served();
    // a client that saw another certificate has somebody between
    let (stream, _) = encrypt(&server);
    let mut client = Client { stream: Box::new(stream) };
    offered(&mut client, "alice");
    let other = ChannelBinding::tls_server_end_point(vec![1; 32]);
    let refusal = exchange(&mut client, plus, ScramSha256::new(b"secret", other)).unwrap_err();
    assert_eq!(field(&refusal, b'C'), "08P01");
    // one that was made to believe that the server cannot bind
    let (stream, _) = encrypt(&server);
    let mut client = Client { stream: Box::new(stream) };
    offered(&mut client, "alice");
    let unrequested = ScramSha256::new(b"secret", ChannelBinding::unrequested());
    assert_eq!(field(&exchange(&mut client, "SCRAM-SHA-256", unrequested).unwrap_err(), b'C'), "08P01");
    // and one that cannot bind itself is let in
    let (stream, _) = encrypt(&server);
    log_in(&mut Client { stream: Box::new(stream) }, "alice", "secret").unwrap();
}

#[test]
fn bad_exchanges_end_their_connection() {
    let (_folder, server) = with_alice(&[]);
    let first = b"n,,n=,r=abcdefghijklmnop";
    for bytes in [
        message(b'p', b""),
        message(b'p', b"SCRAM-SHA-256"),
        message(b'p', b"SCRAM-SHA-256\0\0\0\0\x09n,,"),
        initial("SCRAM-SHA-1", first),
        initial("SCRAM-SHA-256-PLUS", first),
        initial("SCRAM-SHA-256", b""),
        initial("SCRAM-SHA-256", b"\xff\xff"),
        initial("SCRAM-SHA-256", b"n,,n=,r="),
        initial("SCRAM-SHA-256", b"n,a=bob,n=,r=abc"),
        initial("SCRAM-SHA-256", b"p=tls-unique,,n=,r=abc"),
        query("SELECT 1"),
        b"p\0\0\x04\x01".to_vec(),
        b"p\x3f\xff\xff\xff".to_vec(),
    ] {
        let mut client = server.connect();
        offered(&mut client, "alice");
        client.send(&bytes);
        assert_eq!(client.told_to_go(), "08P01", "{bytes:?}");
    }
    for last in ["", "c=biws", "c=biws,r=abc,p=", "c=!,r=x,p=AAAA", "c=biws,r=other,p=AAAA"] {
        let mut client = server.connect();
        offered(&mut client, "alice");
        client.send(&initial("SCRAM-SHA-256", first));
        assert_eq!(client.receive().0, b'R');
        client.send(&message(b'p', last.as_bytes()));
        assert_eq!(client.told_to_go(), "08P01", "{last}");
    }
    log_in(&mut server.connect(), "alice", "secret").unwrap();
}

#[test]
fn users_are_kept_from_the_command_line() {
    let folder = Folder::new();
    let file = folder.path("a.db");
    let database = ["--database", &file];
    let with = |words: &[&'static str]| [words, &database].concat();
    user(&with(&["add", "alice"]), "secret");
    user(&with(&["add", "Bob \"the\" Ä"]), "o'clock");
    assert_eq!(user(&with(&["list"]), ""), "Bob \"the\" Ä\nalice\n");
    for (words, password, said) in [
        (&["add", "alice"][..], "again", "already exists"),
        (&["add", "empty"], "", "password"),
        (&["add", "pg_own"], "x", "reserved"),
        (&["remove", "nobody"], "", "does not exist"),
        (&["passwd", "nobody"], "x", "does not exist"),
    ] {
        let output = try_user(&with(words), password);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && text.contains(said), "{words:?}: {text}");
    }
    // the password is nowhere in the file
    assert!(!String::from_utf8_lossy(&bytes(&file)).contains("secret"));
    {
        let server = Server::start(&folder, &["--database", &file, "--auth", "scram"]);
        log_in(&mut server.connect(), "alice", "secret").unwrap();
        log_in(&mut server.connect(), "Bob \"the\" Ä", "o'clock").unwrap();
        // while a server has the file, CREATE ROLE is the way
        let output = try_user(&with(&["list"]), "");
        assert!(String::from_utf8(output.stderr).unwrap().contains("another pgsqlite serves"));
        server.stop();
    }
    user(&with(&["passwd", "alice"]), "changed");
    user(&with(&["remove", "Bob \"the\" Ä"]), "");
    assert_eq!(user(&with(&["list"]), ""), "alice\n");
    let server = Server::start(&folder, &["--database", &file, "--auth", "scram"]);
    assert!(log_in(&mut server.connect(), "alice", "secret").is_err());
    log_in(&mut server.connect(), "alice", "changed").unwrap();
    // a file that is not there is not made for a question
    let missing = folder.path("missing.db");
    let output = try_user(&["list", "--database", &missing], "");
    assert!(!output.status.success() && !std::path::Path::new(&missing).exists());
}

/// What a server's log says until it ends.
fn logged(folder: &Folder, flags: &[&str], run: impl FnOnce(&Server)) -> String {
    let path = folder.0.join("log");
    let mut command = unix_only(folder, flags);
    command.stderr(Stdio::from(std::fs::File::create(&path).unwrap()));
    let server = Server::spawn(command, folder.0.join(".s.PGSQL.5432"), 5432);
    run(&server);
    server.stop();
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn failed_logins_are_logged_without_secrets() {
    let folder = Folder::new();
    let file = folder.path("a.db");
    user(&["add", "alice", "--database", &file], "secret");
    let fails = |server: &Server, user: &str, password: &str| {
        let mut client = server.connect();
        offered(&mut client, user);
        let scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
        assert!(exchange(&mut client, "SCRAM-SHA-256", scram).is_err());
    };
    let log = logged(&folder, &["--database", &file, "--auth", "scram"], |server| {
        fails(server, "alice", "wrong-guess");
        fails(server, "eve\nWARN forged", "secret");
        for _ in 0..200 {
            fails(server, "flood", "x");
        }
    });
    let lines: Vec<&str> = log.lines().filter(|l| l.contains("login failed")).collect();
    assert!(
        lines[0].contains("WARN") && lines[0].contains("role=\"alice\"") && lines[0].contains("database=\"main\""),
        "{log}"
    );
    assert!(lines[0].contains("local socket") && lines[0].contains("password"), "{log}");
    assert!(lines[1].contains(r"eve\nWARN forged"), "{log}");
    assert_eq!(lines.len(), 60, "{log}");
    assert!(!log.contains("wrong-guess") && !log.contains("secret"), "{log}");
}
