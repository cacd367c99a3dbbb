//! The lines that tell a newcomer how to connect.

use pgsqlite_server::config::{Auth, Databases};
use pgsqlite_server::Server;
use std::net::IpAddr;
use std::path::Path;

/// What is printed once the server listens. `sqli_port`: where Informix clients are listened for.
pub fn greeting(server: &Server, sqli_port: Option<u16>) -> String {
    let config = server.config();
    let what = match &config.databases {
        Databases::File(path) => path.display().to_string(),
        Databases::Memory => "a database in memory".into(),
        Databases::Directory(dir) => format!("the databases in {}", dir.display()),
    };
    let database = if matches!(config.databases, Databases::Directory(_)) { "NAME" } else { "main" };
    let scram = config.auth == Some(Auth::Scram) || config.hba.as_ref().is_some_and(|rules| rules.ask_for_passwords());
    let (flag, at) = if scram { (" -U USER", "USER@") } else { ("", "") };
    let mut lines = format!("pgsqlite {} serves {what}\n", env!("CARGO_PKG_VERSION"));
    if let Some(dir) = &config.socket_dir {
        lines += &format!("  psql -h {} -p {}{flag} {database}\n", word(dir), config.port);
    }
    if config.tcp {
        let (host, note) = reachable(&config.host);
        lines += &format!("  postgresql://{at}{host}:{}/{database}{note}\n", config.port);
    }
    if let Some(port) = sqli_port {
        let (host, note) = reachable(&config.host);
        lines += &format!("  jdbc:informix-sqli://{host}:{port}/{database}:INFORMIXSERVER=pgsqlite{note}\n");
    }
    if let Some(address) = &config.status_addr {
        lines += &format!("  http://{}/ shows what the server does\n", address.replace("0.0.0.0", "localhost"));
    }
    if scram && server.knows_password() == Some(false) {
        lines += "Nobody can log in yet: no user has a password. ";
        lines += &match &config.databases {
            Databases::File(path) => format!(
                "While the server is stopped:\n  pgsqlite user add --superuser NAME --database {}\n",
                word(path)
            ),
            _ => "A database in memory can be used with --auth trust only.\n".into(),
        };
    }
    lines
}

/// A host as it stands in a URL, and what else reaches the server. 0.0.0.0 and :: mean every address of the machine.
fn reachable(host: &str) -> (String, &'static str) {
    match host.parse::<IpAddr>() {
        Ok(ip) if ip.is_unspecified() => ("localhost".into(), "  (and every other address of this machine)"),
        Ok(IpAddr::V6(ip)) => (format!("[{ip}]"), ""),
        _ => (host.into(), ""),
    }
}

/// A path as one word of a shell's command line.
pub fn word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
