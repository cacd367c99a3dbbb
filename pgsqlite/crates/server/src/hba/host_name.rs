//! The name of a client's address, for the rules that name hosts.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// `NI_NAMEREQD`: an address without a name is an error, not its digits.
const NAME_REQUIRED: i32 = libc::NI_NAMEREQD;

/// What the resolver says of a client's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostName {
    /// This is its name, and the name has this address.
    Confirmed(String),
    /// This is its name, but the name has other addresses: anybody may name addresses of their own as they like.
    Unconfirmed(String),
    /// It has none, or the resolver does not answer.
    Unknown,
}

impl HostName {
    /// Asks the resolver, on a thread that may wait.
    pub async fn look_up(address: IpAddr) -> HostName {
        let asked = tokio::task::spawn_blocking(move || HostName::resolve(address.to_canonical()));
        asked.await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the look-up of a host's name failed");
            HostName::Unknown
        })
    }

    fn resolve(address: IpAddr) -> HostName {
        let Ok((name, _)) = dns_lookup::getnameinfo(&SocketAddr::new(address, 0), NAME_REQUIRED) else {
            return HostName::Unknown;
        };
        let found = (name.as_str(), 0).to_socket_addrs();
        match found.is_ok_and(|mut all| all.any(|a| a.ip().to_canonical() == address)) {
            true => HostName::Confirmed(name),
            false => HostName::Unconfirmed(name),
        }
    }

    /// Whether it is this host or, where that begins with a dot, a host of this domain.
    pub fn is(&self, host: &str) -> bool {
        let HostName::Confirmed(name) = self else { return false };
        match host.starts_with('.') {
            true => {
                name.len() >= host.len()
                    && name.is_char_boundary(name.len() - host.len())
                    && name[name.len() - host.len()..].eq_ignore_ascii_case(host)
            }
            false => name.eq_ignore_ascii_case(host),
        }
    }

    /// What the detail of an error says of it.
    pub fn told(&self) -> Option<String> {
        Some(match self {
            HostName::Confirmed(name) => format!("Client IP address resolved to \"{name}\", forward lookup matches."),
            HostName::Unconfirmed(name) => {
                format!("Client IP address resolved to \"{name}\", forward lookup does not match.")
            }
            HostName::Unknown => "Could not resolve client IP address to a host name.".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_postgresql_compares_them() {
        let name = HostName::Confirmed("Db.Example.org".into());
        assert!(name.is("db.example.ORG") && name.is(".example.org") && name.is(".EXAMPLE.org"));
        assert!(
            !name.is("example.org")
                && !name.is(".ample.org")
                && !name.is("x.db.example.org")
                && !name.is(".b.example.org")
        );
        assert!(!HostName::Unconfirmed("db.example.org".into()).is("db.example.org"), "the name has another address");
        assert!(!HostName::Unknown.is(""));
    }
}
