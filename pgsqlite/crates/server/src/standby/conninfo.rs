//! Where a primary is, as `--standby postgresql://…` says it: the form of libpq's URLs, with several hosts.

use pgsqlite_types::{PgError, Result, SqlState};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a standby needs to connect to its primary.
#[derive(Clone, PartialEq, Eq)]
pub struct Conninfo {
    /// the servers of which one is the primary, in the order in which they are asked
    pub hosts: Vec<Host>,
    pub user: String,
    password: Option<String>,
    /// the file of passwords; None: none
    passfile: Option<PathBuf>,
    /// the database that is followed, or that tells which there are; None: of the file's name, or `postgres`
    pub database: Option<String>,
    /// what pg_stat_replication shows on the primary
    pub application_name: String,
    pub sslmode: SslMode,
    /// the certificates of the authorities that sign those of servers, PEM
    pub sslrootcert: Option<PathBuf>,
    pub connect_timeout: Duration,
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// a name or an address; the folder of a Unix socket, if it begins with a slash
    pub name: String,
    pub port: u16,
}

impl Host {
    /// The path of its Unix socket; None: it is reached by TCP.
    pub fn socket(&self) -> Option<PathBuf> {
        self.name.starts_with('/').then(|| Path::new(&self.name).join(format!(".s.PGSQL.{}", self.port)))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.name.contains(':') {
            true => write!(f, "[{}]:{}", self.name, self.port),
            false => write!(f, "{}:{}", self.name, self.port),
        }
    }
}

/// What libpq's option of this name has a client do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SslMode {
    Disable,
    /// TLS where the server offers it
    Prefer,
    /// TLS, with whatever certificate
    Require,
    /// TLS, with a certificate that a known authority has signed
    VerifyCa,
    /// … and that is the host's
    VerifyFull,
}

impl SslMode {
    fn parse(text: &str) -> Option<SslMode> {
        Some(match text {
            "disable" => SslMode::Disable,
            "prefer" => SslMode::Prefer,
            "require" => SslMode::Require,
            "verify-ca" => SslMode::VerifyCa,
            "verify-full" => SslMode::VerifyFull,
            _ => return None,
        })
    }

    /// The word that [`SslMode::parse`] takes.
    pub fn name(self) -> &'static str {
        match self {
            SslMode::Disable => "disable",
            SslMode::Prefer => "prefer",
            SslMode::Require => "require",
            SslMode::VerifyCa => "verify-ca",
            SslMode::VerifyFull => "verify-full",
        }
    }
}

/// (The password is in nobody's log.)
impl fmt::Debug for Conninfo {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.shown(None, ""))
    }
}

/// Whether a `--standby` is one of these, and not an archive's URL.
pub fn is_primary(url: &str) -> bool {
    url.starts_with("postgresql://") || url.starts_with("postgres://")
}

fn wrong(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::INVALID_PARAMETER_VALUE, message.into())
}

/// A part of a URL without its percent signs.
fn decoded(text: &str) -> Result<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        match (digit(), digit()) {
            (Some(high), Some(low)) if (high, low) != (0, 0) => bytes.push((high * 16 + low) as u8),
            _ => return Err(wrong("a percent sign in the standby's URL is followed by two hexadecimal digits")),
        }
    }
    String::from_utf8(bytes).map_err(|_| wrong("the standby's URL is no UTF-8"))
}

impl Conninfo {
    /// Reads `postgresql://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?OPTION=VALUE&…`. Errors: 22023, without the password.
    pub fn parse(url: &str) -> Result<Conninfo> {
        let rest = url.split_once("://").map(|(_, rest)| rest).filter(|_| is_primary(url));
        let rest = rest.ok_or_else(|| wrong("a primary's URL begins with postgresql://"))?;
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(decoded(password)?)),
            None => (login, None),
        };
        let (mut names, mut ports) = (Vec::new(), Vec::new());
        for host in hosts.split(',').filter(|_| !hosts.is_empty()) {
            let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                Some((name, port)) => (name, port.strip_prefix(':').unwrap_or(port)),
                None => host.split_once(':').unwrap_or((host, "")),
            };
            names.push(decoded(name)?);
            ports.push(port.to_string());
        }
        let mut made = Conninfo {
            hosts: vec![],
            user: decoded(user)?,
            password,
            passfile: None,
            database: Some(decoded(database)?).filter(|name| !name.is_empty()),
            application_name: "walreceiver".into(),
            sslmode: SslMode::Prefer,
            sslrootcert: None,
            connect_timeout: Duration::from_secs(10),
        };
        let mut passfile = None;
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let value = decoded(value)?;
            match name {
                "host" => names = value.split(',').map(str::to_string).collect(),
                "port" => ports = value.split(',').map(str::to_string).collect(),
                "user" => made.user = value,
                "password" => made.password = Some(value),
                "passfile" => passfile = Some(PathBuf::from(value)),
                "dbname" => made.database = Some(value).filter(|name| !name.is_empty()),
                "application_name" => made.application_name = value,
                "sslmode" => {
                    made.sslmode = SslMode::parse(&value).ok_or_else(|| {
                        wrong(format!("sslmode={value} is none of disable, prefer, require, verify-ca, verify-full"))
                    })?
                }
                "sslrootcert" => made.sslrootcert = Some(PathBuf::from(value)),
                "connect_timeout" => match value.parse::<u64>() {
                    Ok(seconds @ 1..=86_400) => made.connect_timeout = Duration::from_secs(seconds),
                    _ => return Err(wrong("connect_timeout is between 1 and 86400 seconds")),
                },
                name => return Err(wrong(format!("the option \"{name}\" of the standby's URL is not supported"))),
            }
        }
        if names.is_empty() {
            names.push("localhost".into());
        }
        let one = (ports.len() == 1).then(|| ports[0].clone());
        for (i, name) in names.into_iter().enumerate() {
            let port = one.clone().or_else(|| ports.get(i).cloned()).unwrap_or_default();
            let port = match port.as_str() {
                "" => 5432,
                port => port
                    .parse()
                    .ok()
                    .filter(|port| *port > 0)
                    .ok_or_else(|| wrong(format!("\"{port}\" in the standby's URL is no port")))?,
            };
            let name = if name.is_empty() { "localhost".into() } else { name };
            made.hosts.push(Host { name, port });
        }
        if made.user.is_empty() {
            made.user = crate::os_user::own().ok_or_else(|| wrong("the standby's URL names no user"))?;
        }
        if matches!(made.sslmode, SslMode::VerifyCa | SslMode::VerifyFull) && made.sslrootcert.is_none() {
            return Err(wrong(format!("sslmode={} needs sslrootcert=FILE", made.sslmode.name())));
        }
        made.passfile = passfile.or_else(|| std::env::var_os("PGPASSFILE").map(PathBuf::from)).or_else(|| {
            let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
            Some(Path::new(&home).join(".pgpass")).filter(|path| path.exists())
        });
        Ok(made)
    }

    /// Whether the URL has a password.
    pub fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// The password for a database of a server: that of the URL, of PGPASSWORD, or of the file of passwords. None: there is none. Errors: 58030; 42501 for a file that others may read.
    pub fn password(&self, host: &Host, database: &str) -> Result<Option<String>> {
        if let Some(password) = &self.password {
            return Ok(Some(password.clone()));
        }
        if let Some(password) = std::env::var("PGPASSWORD").ok().filter(|password| !password.is_empty()) {
            return Ok(Some(password));
        }
        let Some(path) = &self.passfile else { return Ok(None) };
        let failed = |e: std::io::Error| {
            PgError::new(SqlState::IO_ERROR, format!("the file of passwords \"{}\": {e}", path.display()))
        };
        use std::os::unix::fs::PermissionsExt;
        if path.metadata().map_err(failed)?.permissions().mode() & 0o077 != 0 {
            return Err(PgError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("the file of passwords \"{}\" may be read by others", path.display()),
            )
            .hint("Let it have the permissions 0600."));
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let port = host.port.to_string();
        Ok(text.lines().find_map(|line| password_of(line, [&host.name, &port, database, &self.user])))
    }

    /// As pg_stat_wal_receiver shows it: without the password. `host`: the one that is connected to.
    pub fn shown(&self, host: Option<&Host>, database: &str) -> String {
        let mut words = vec![format!("user={}", quoted(&self.user))];
        if self.password.is_some() {
            words.push("password=********".into());
        }
        if let Some(passfile) = &self.passfile {
            words.push(format!("passfile={}", quoted(&passfile.display().to_string())));
        }
        words.push(format!("dbname={}", quoted(database)));
        let all: Vec<&Host> = host.map_or_else(|| self.hosts.iter().collect(), |host| vec![host]);
        let list = |of: &dyn Fn(&Host) -> String| all.iter().map(|host| of(host)).collect::<Vec<_>>().join(",");
        words.push(format!("host={}", quoted(&list(&|host| host.name.clone()))));
        words.push(format!("port={}", list(&|host| host.port.to_string())));
        words.push(format!("application_name={}", quoted(&self.application_name)));
        words.push(format!("sslmode={}", self.sslmode.name()));
        words.join(" ")
    }
}

/// A value as libpq's strings have it.
fn quoted(value: &str) -> String {
    match value.is_empty() || value.contains([' ', '\'', '\\']) {
        true => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'")),
        false => value.to_string(),
    }
}

/// The password of a line `host:port:database:user:password`, if it is for these. A star stands for anything, and a backslash takes the character after it as it is.
fn password_of(line: &str, wanted: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![(String::new(), false)];
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        let last = fields.len() - 1;
        match c {
            ':' if last < 4 => fields.push((String::new(), false)),
            '\\' => {
                fields[last].0.extend(characters.next());
                fields[last].1 = true;
            }
            c => fields[last].0.push(c),
        }
    }
    let [rest @ .., (password, _)] = &fields[..] else { return None };
    let fits = |(field, wanted): (&(String, bool), &str)| field.0 == "*" && !field.1 || field.0 == wanted;
    (rest.len() == 4 && !password.is_empty() && rest.iter().zip(wanted).all(fits)).then(|| password.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> std::result::Result<Conninfo, String> {
        Conninfo::parse(url).map_err(|e| e.message().to_string())
    }

    #[test]
    fn urls_are_read() {
        let one =
            parsed("postgresql://joe:se%40cret@a:1,[::1]:2,c/my%20db?sslmode=disable&application_name=two").unwrap();
        let hosts: Vec<String> = one.hosts.iter().map(Host::to_string).collect();
        assert_eq!(hosts, ["a:1", "[::1]:2", "c:5432"]);
        assert_eq!((one.user.as_str(), one.database.as_deref()), ("joe", Some("my db")));
        assert_eq!(one.password(&one.hosts[0], "x").unwrap().as_deref(), Some("se@cret"));
        let shown = format!("{one:?}");
        assert!(!shown.contains("cret") && shown.contains("password=********"), "{shown}");
        let socket = parsed("postgres://joe@/?host=/tmp/a&port=5").unwrap();
        assert_eq!(socket.hosts[0].socket(), Some(PathBuf::from("/tmp/a/.s.PGSQL.5")));
        let socket = parsed("postgres://joe@%2Ftmp:7").unwrap();
        assert_eq!(socket.hosts[0].socket(), Some(PathBuf::from("/tmp/.s.PGSQL.7")));
        for (url, why) in [
            ("http://a", "begins with"),
            ("postgresql://joe@a:x", "no port"),
            ("postgresql://joe@a:0", "no port"),
            ("postgresql://joe@a?sslmode=allow", "none of"),
            ("postgresql://joe@a?sslmode=verify-full", "needs sslrootcert"),
            ("postgresql://joe@a?options=x", "not supported"),
            ("postgresql://joe:%zz@a", "hexadecimal"),
            ("postgresql://joe:%00@a", "hexadecimal"),
        ] {
            assert!(parsed(url).as_ref().is_err_and(|e| e.contains(why)), "{url}: {:?}", parsed(url));
        }
    }

    #[test]
    fn passwords_are_those_of_the_first_line_that_fits() {
        let wanted = ["a:b", "5432", "main", "joe"];
        assert_eq!(password_of("a\\:b:5432:main:joe:x\\:y:z", wanted).as_deref(), Some("x:y:z"));
        assert_eq!(password_of("*:*:*:*:p", wanted).as_deref(), Some("p"));
        for line in ["#*:*:*:*:p", "*:*:*:*", "*:*:*:\\*:p", "*:1:*:*:p", "*:*:*:*:"] {
            assert_eq!(password_of(line, wanted), None, "{line}");
        }
    }
}
