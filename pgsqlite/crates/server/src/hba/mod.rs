//! Who may come in, from where, and how they prove who they are: rules as in PostgreSQL's `pg_hba.conf`, of which the first one that fits a
//! connection decides. `--hba FILE` reads them ([`parse`]); `--auth` stands for a few of them. Maps of `--ident FILE` ([`ident`]) say which
//! names of users, as the operating system or a certificate has them, may be which role.

mod host_name;
mod ident;
mod lines;
mod parse;
mod shown;

pub use host_name::HostName;
pub use ident::Maps;
pub use lines::{Fault, Word};

use nix::ifaddrs::getifaddrs;
use pgsqlite_types::{PgError, Result, SqlState};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// How a client proves who it is, where no rule of a file says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    Trust,
    Scram,
    /// local sockets: the operating system's user; all others: passwords
    Peer,
}

/// How a client proves who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// It need not.
    Trust,
    /// It is sent away.
    Reject,
    /// By a password (SCRAM-SHA-256).
    Scram,
    /// By the operating system, which names the user at the other end of a Unix socket.
    Peer,
    /// By its certificate, which names the user.
    Certificate,
}

/// What a rule demands of the certificate of a client, beside its method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientCertificate {
    NotAsked,
    /// It has a valid one (`clientcert=verify-ca`).
    Valid,
    /// It has a valid one, which names the user (`clientcert=verify-full`, and the method `cert`).
    OfUser,
}

/// What the server was started with, as far as rules ask for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offered {
    pub tls: bool,
    /// Certificates of clients can be verified.
    pub client_certificates: bool,
    /// There is a file of maps.
    pub maps: bool,
}

/// The connections that a rule is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Those over the Unix socket.
    Local,
    /// Those over TCP; `Some(true)` with TLS only, `Some(false)` without it only.
    Tcp(Option<bool>),
}

/// The addresses that a rule is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addresses {
    /// All of them.
    All,
    /// Those of this machine.
    SameHost,
    /// Those of the networks that this machine is in.
    SameNet,
    /// Those of a network: address and mask.
    Network(IpAddr, IpAddr),
    /// Those whose name is this one or, where it begins with a dot, ends with it.
    Host(String),
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The line of the file; 0: it stands for a flag.
    pub line: usize,
    /// The word that the rule begins with.
    pub kind: &'static str,
    pub transport: Transport,
    pub databases: Vec<Word>,
    pub users: Vec<Word>,
    /// For [`Transport::Local`] it is [`Addresses::All`].
    pub addresses: Addresses,
    pub method: Method,
    /// The map that says which role a user may be ([`Maps`]); None, or without a name: the role of its own name.
    pub map: Option<String>,
    pub client_certificate: ClientCertificate,
}

/// What is known of a client that wants to come in.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// None: over the Unix socket.
    pub address: Option<IpAddr>,
    /// The connection has TLS.
    pub encrypted: bool,
    pub database: &'a str,
    pub user: &'a str,
    /// It is for replication: rules for the database count no more, those for `replication` do.
    pub replication: bool,
}

impl Attempt<'_> {
    fn told(&self) -> String {
        let host = self.address.map_or("[local]".to_string(), |a| a.to_string());
        let encryption = if self.encrypted { "SSL encryption" } else { "no encryption" };
        match self.replication {
            true => format!("host \"{host}\", user \"{}\", {encryption}", self.user),
            false => format!("host \"{host}\", user \"{}\", database \"{}\", {encryption}", self.user, self.database),
        }
    }

    /// 28000 for a client that the rules do not let in, with the reason.
    pub fn refused(&self, why: &str) -> PgError {
        PgError::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, format!("{why}: {}", self.told())).fatal()
    }
}

/// All rules, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    rules: Vec<Rule>,
    /// the file that they were read from
    file: Option<PathBuf>,
    offered: Offered,
}

/// What the rules say of a client.
enum Verdict<'r> {
    Rule(&'r Rule),
    /// No rule fits.
    NoRule,
    /// It depends on the name of its address.
    AskForName,
}

/// The lines that are wrong as one error.
fn told(file: &Path, faults: &[Fault]) -> PgError {
    let told: Vec<String> =
        faults.iter().map(|f| format!("line {} of \"{}\": {}", f.line, file.display(), f.message)).collect();
    PgError::new(SqlState::CONFIG_FILE_ERROR, told.join("\n"))
}

impl Rules {
    /// The rules of a file. Errors: 58P01 where it cannot be read, F0000 with every line that is no rule.
    pub fn read(path: &Path, offered: Offered) -> Result<Rules> {
        let text = ident::read(path)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let rules = parse::rules(&text, folder, offered).map_err(|faults| told(path, &faults))?;
        Ok(Rules { rules, file: Some(path.to_path_buf()), offered })
    }

    /// The rules as the file has them now.
    pub fn read_again(&self) -> Result<Option<Rules>> {
        self.file.as_ref().map(|file| Rules::read(file, self.offered)).transpose()
    }

    /// The file that the rules were read from; None: they stand for a flag.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The rules of a text, without other files. Errors: what is wrong, line by line.
    pub fn parse(text: &str) -> std::result::Result<Rules, Vec<Fault>> {
        let offered = Offered { tls: true, client_certificates: true, maps: true };
        parse::rules(text, Path::new("."), offered).map(|rules| Rules { rules, file: None, offered })
    }

    /// What `--auth` means, or its absence: trust for local sockets and loopback, passwords for all others.
    pub fn of_flag(auth: Option<Auth>) -> Rules {
        let word = |text: &str| Word { text: text.into(), quoted: false };
        let rule = |transport, addresses, method| Rule {
            line: 0,
            kind: if transport == Transport::Local { "local" } else { "host" },
            map: None,
            client_certificate: ClientCertificate::NotAsked,
            transport,
            databases: vec![word("all"), word("replication")],
            users: vec![word("all")],
            addresses,
            method,
        };
        let tcp = |addresses, method| rule(Transport::Tcp(None), addresses, method);
        let local = |method| rule(Transport::Local, Addresses::All, method);
        let loopback = [
            Addresses::Network([127, 0, 0, 0].into(), [255, 0, 0, 0].into()),
            Addresses::Network(std::net::Ipv6Addr::LOCALHOST.into(), std::net::Ipv6Addr::from(u128::MAX).into()),
        ];
        let rules = match auth {
            Some(Auth::Trust) => vec![local(Method::Trust), tcp(Addresses::All, Method::Trust)],
            Some(Auth::Scram) => vec![local(Method::Scram), tcp(Addresses::All, Method::Scram)],
            Some(Auth::Peer) => vec![local(Method::Peer), tcp(Addresses::All, Method::Scram)],
            None => std::iter::once(local(Method::Trust))
                .chain(loopback.map(|network| tcp(network, Method::Trust)))
                .chain([tcp(Addresses::All, Method::Scram)])
                .collect(),
        };
        Rules { rules, file: None, offered: Offered::default() }
    }

    /// Whether some rule asks for a password.
    pub fn ask_for_passwords(&self) -> bool {
        self.rules.iter().any(|rule| rule.method == Method::Scram)
    }

    /// The rule that says how this client has to prove who it is. `is_member` says whether the user is a member of a role (of the database that it names).
    /// The name of its address is looked up only if a rule asks for it. Errors: 28000 where no rule fits, or the one that does rejects.
    pub async fn rule(&self, attempt: &Attempt<'_>, is_member: &mut (dyn FnMut(&str) -> bool + Send)) -> Result<&Rule> {
        let mut name = None;
        let verdict = match self.verdict(attempt, None, is_member) {
            Verdict::AskForName => {
                let Some(address) = attempt.address else { return Err(PgError::internal("a socket has no name")) };
                let found = name.insert(HostName::look_up(address).await);
                self.verdict(attempt, Some(found), is_member)
            }
            verdict => verdict,
        };
        let refused = |why: String| {
            let error = PgError::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, why).fatal();
            Err(match name.as_ref().and_then(HostName::told) {
                Some(told) => error.detail(told),
                None => error,
            })
        };
        match verdict {
            Verdict::Rule(Rule { method: Method::Reject, .. }) => refused(match attempt.replication {
                true => format!("pg_hba.conf rejects replication connection for {}", attempt.told()),
                false => format!("pg_hba.conf rejects connection for {}", attempt.told()),
            }),
            Verdict::Rule(rule) => Ok(rule),
            Verdict::NoRule | Verdict::AskForName => refused(match attempt.replication {
                true => format!("no pg_hba.conf entry for replication connection from {}", attempt.told()),
                false => format!("no pg_hba.conf entry for {}", attempt.told()),
            }),
        }
    }

    /// `name`: of the client's address; None: it has not been looked up.
    fn verdict<'r>(
        &'r self,
        attempt: &Attempt,
        name: Option<&HostName>,
        is_member: &mut dyn FnMut(&str) -> bool,
    ) -> Verdict<'r> {
        for rule in self.rules.iter().filter(|rule| rule.fits(attempt, is_member)) {
            let fits = match (&rule.addresses, attempt.address, name) {
                (Addresses::Host(_), Some(_), None) => return Verdict::AskForName,
                (Addresses::Host(host), Some(_), Some(name)) => name.is(host),
                (addresses, Some(address), _) => addresses.contain(address.to_canonical()),
                (_, None, _) => true,
            };
            if fits {
                return Verdict::Rule(rule);
            }
        }
        Verdict::NoRule
    }
}

impl Rule {
    /// Whether the rule is for this client, but for its address.
    fn fits(&self, attempt: &Attempt, is_member: &mut dyn FnMut(&str) -> bool) -> bool {
        let transport = match (self.transport, attempt.address) {
            (Transport::Local, None) => true,
            (Transport::Tcp(tls), Some(_)) => tls.is_none_or(|tls| tls == attempt.encrypted),
            _ => false,
        };
        transport
            && self.databases.iter().any(|word| match word {
                word if attempt.replication => word.is("replication"),
                word if word.is("all") => true,
                word if word.is("sameuser") => attempt.database == attempt.user,
                word if word.is("samerole") || word.is("samegroup") => is_member(attempt.database),
                word if word.is("replication") => false,
                word => word.text == attempt.database,
            })
            && self.users.iter().any(|word| match word.text.strip_prefix('+') {
                Some(role) if !word.quoted => is_member(role),
                _ => word.is("all") || word.text == attempt.user,
            })
    }
}

impl Addresses {
    fn contain(&self, address: IpAddr) -> bool {
        match self {
            Addresses::All => true,
            // (names are compared by the rules)
            Addresses::Host(_) => false,
            Addresses::Network(network, mask) => masked(address, *mask) == masked(*network, *mask),
            Addresses::SameHost => own_networks().any(|(own, _)| own == address),
            Addresses::SameNet => own_networks()
                .any(|(own, mask)| masked(own, mask).is_some() && masked(own, mask) == masked(address, mask)),
        }
    }
}

/// An address without what the mask leaves out; None: they are of different kinds.
fn masked(address: IpAddr, mask: IpAddr) -> Option<IpAddr> {
    match (address, mask) {
        (IpAddr::V4(address), IpAddr::V4(mask)) => Some(IpAddr::V4((address.to_bits() & mask.to_bits()).into())),
        (IpAddr::V6(address), IpAddr::V6(mask)) => Some(IpAddr::V6((address.to_bits() & mask.to_bits()).into())),
        _ => None,
    }
}

/// The addresses of this machine, with the masks of their networks.
fn own_networks() -> impl Iterator<Item = (IpAddr, IpAddr)> {
    let ip = |address: Option<nix::sys::socket::SockaddrStorage>| -> Option<IpAddr> {
        let address = address?;
        match (address.as_sockaddr_in(), address.as_sockaddr_in6()) {
            (Some(v4), _) => Some(v4.ip().into()),
            (_, Some(v6)) => Some(v6.ip().into()),
            _ => None,
        }
    };
    let interfaces = getifaddrs().inspect_err(|error| tracing::warn!(%error, "the machine's addresses are not known"));
    interfaces.into_iter().flatten().filter_map(move |i| Some((ip(i.address)?, ip(i.netmask)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(
        rules: &Rules,
        address: &str,
        encrypted: bool,
        database: &str,
        user: &str,
    ) -> std::result::Result<Method, String> {
        let address = (!address.is_empty()).then(|| address.parse().unwrap());
        let attempt = Attempt { address, encrypted, database, user, replication: false };
        // joe is a member of staff, and of the role that has his database's name
        let mut is_member = |role: &str| user == "joe" && matches!(role, "staff" | "shop" | "joe");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(rules.rule(&attempt, &mut is_member)).map(|r| r.method).map_err(|e| e.message().to_string())
    }

    #[test]
    fn rules_for_replication_are_of_their_own() {
        let rules = Rules::parse(
            "local all all trust\nlocal replication joe scram-sha-256\nlocal replication,all ann peer\nlocal \"replication\" all reject",
        )
        .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let asked = |database: &str, user: &str, replication: bool| {
            let attempt = Attempt { address: None, encrypted: false, database, user, replication };
            let found = runtime.block_on(rules.rule(&attempt, &mut |_| false)).map(|rule| rule.method);
            found.map_err(|e| e.message().to_string())
        };
        assert_eq!(asked("shop", "joe", true), Ok(Method::Scram));
        assert_eq!(asked("shop", "ann", true), Ok(Method::Peer));
        assert_eq!(asked("shop", "bob", false), Ok(Method::Trust));
        let none = "no pg_hba.conf entry for replication connection from host \"[local]\", user \"bob\", no encryption";
        assert_eq!(asked("replication", "bob", true), Err(none.to_string()));
        // what a flag stands for is for both
        let rules = Rules::of_flag(None);
        let attempt = Attempt { address: None, encrypted: false, database: "shop", user: "bob", replication: true };
        assert_eq!(runtime.block_on(rules.rule(&attempt, &mut |_| false)).map(|r| r.method).ok(), Some(Method::Trust));
    }

    #[test]
    fn names_of_hosts_count_where_their_rule_is_reached() {
        let rules = Rules::parse(
            "host all ann 127.0.0.1 255.0.0.0 trust\nhost all all localhost scram-sha-256\nhost all all 127.0.0.1/8 reject\n\
             host all all .no-such-domain.invalid trust\n",
        )
        .unwrap();
        assert_eq!(method(&rules, "127.0.0.1", false, "main", "ann"), Ok(Method::Trust));
        assert_eq!(method(&rules, "127.0.0.1", false, "main", "bob"), Ok(Method::Scram));
        assert!(method(&rules, "127.9.9.9", false, "main", "bob").is_err(), "an address that localhost does not have");
        assert!(method(&rules, "192.0.2.1", false, "main", "ann").is_err(), "an address without a name");
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rules = Rules::parse(
            "# comment\n\
             local   all  postgres                    peer\n\
             local   sameuser,samerole +staff         trust # of their own\n\
             hostssl \"all\" all 10.0.0.0/8           scram-sha-256\n\
             hostnossl all all 10.0.0.0 255.0.0.0     reject\n\
             host    all,\"x y\" \"+staff\",bob 127.0.0.1/32 trust\n\
             host    all all ::1/128                  trust\n\
             host    log all samehost                 scram-sha-256\n",
        )
        .unwrap();
        assert_eq!(method(&rules, "", false, "any", "postgres"), Ok(Method::Peer));
        assert_eq!(method(&rules, "", false, "joe", "joe"), Ok(Method::Trust));
        assert_eq!(method(&rules, "", false, "shop", "joe"), Ok(Method::Trust));
        let told = "no pg_hba.conf entry for host \"[local]\", user \"joe\", database \"main\", no encryption";
        assert_eq!(method(&rules, "", false, "main", "joe"), Err(told.to_string()));
        assert!(method(&rules, "", false, "bob", "bob").is_err(), "no member of staff");
        assert_eq!(method(&rules, "10.1.2.3", true, "all", "eve"), Ok(Method::Scram));
        assert!(method(&rules, "10.1.2.3", true, "main", "eve").is_err(), "quoted: a database named all");
        let told =
            "pg_hba.conf rejects connection for host \"10.1.2.3\", user \"eve\", database \"main\", no encryption";
        assert_eq!(method(&rules, "10.1.2.3", false, "main", "eve"), Err(told.to_string()));
        assert_eq!(method(&rules, "127.0.0.1", false, "main", "bob"), Ok(Method::Trust));
        assert_eq!(method(&rules, "::ffff:127.0.0.1", false, "main", "+staff"), Ok(Method::Trust));
        assert!(method(&rules, "127.0.0.1", false, "main", "joe").is_err(), "quoted: no role but a name");
        assert_eq!(method(&rules, "::1", true, "main", "eve"), Ok(Method::Trust));
        assert_eq!(method(&rules, "127.0.0.1", false, "log", "joe"), Ok(Method::Scram));
    }

    #[test]
    fn a_flag_is_rules() {
        let method = |auth, address: &str| method(&Rules::of_flag(auth), address, false, "main", "joe").unwrap();
        for (auth, local, loopback, others) in [
            (None, Method::Trust, Method::Trust, Method::Scram),
            (Some(Auth::Trust), Method::Trust, Method::Trust, Method::Trust),
            (Some(Auth::Scram), Method::Scram, Method::Scram, Method::Scram),
            (Some(Auth::Peer), Method::Peer, Method::Scram, Method::Scram),
        ] {
            assert_eq!(method(auth, ""), local);
            assert_eq!((method(auth, "127.0.0.9"), method(auth, "::1")), (loopback, loopback));
            assert_eq!((method(auth, "192.0.2.1"), method(auth, "2001:db8::1")), (others, others));
        }
    }
}
