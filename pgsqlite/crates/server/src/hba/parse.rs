//! The text of `pg_hba.conf`: one rule a line. What PostgreSQL knows and this server does not is an error, as is what nobody knows.

use super::lines::{lines, Fault, Word};
use super::{Addresses, ClientCertificate, Method, Offered, Rule, Transport};
use std::net::IpAddr;
use std::path::Path;

/// The rules of a text, each with the number of its line, or what is wrong with that line. Files that it names without a folder are in
/// `folder`.
pub(super) fn entries(text: &str, folder: &Path, offered: Offered) -> Vec<(usize, Result<Rule, String>)> {
    lines(text, folder).map(|(line, fields)| (line, fields.and_then(|f| rule(line, f, offered)))).collect()
}

/// The rules of a text, or what is wrong with its lines.
pub(super) fn rules(text: &str, folder: &Path, offered: Offered) -> Result<Vec<Rule>, Vec<Fault>> {
    let (mut rules, mut faults) = (Vec::new(), Vec::new());
    for (line, entry) in entries(text, folder, offered) {
        match entry {
            Ok(rule) => rules.push(rule),
            Err(message) => faults.push(Fault { line, message }),
        }
    }
    if faults.is_empty() {
        Ok(rules)
    } else {
        Err(faults)
    }
}

/// The rule of a line that has fields.
fn rule(line: usize, fields: Vec<Vec<Word>>, offered: Offered) -> Result<Rule, String> {
    let mut fields = fields.into_iter();
    let kind = single(fields.next().unwrap_or_default(), "connection type")?;
    let (kind, transport) = match kind.text.as_str() {
        "local" => ("local", Transport::Local),
        // nobody comes with GSSAPI's encryption
        "host" => ("host", Transport::Tcp(None)),
        "hostnogssenc" => ("hostnogssenc", Transport::Tcp(None)),
        "hostssl" => ("hostssl", Transport::Tcp(Some(true))),
        "hostnossl" => ("hostnossl", Transport::Tcp(Some(false))),
        "hostgssenc" => return Err("connections with GSSAPI's encryption are not supported".into()),
        other => return Err(format!("invalid connection type \"{other}\"")),
    };
    let mut list =
        |what: &str| -> Result<Vec<Word>, String> { fields.next().ok_or_else(|| format!("end-of-line before {what}")) };
    let databases = list("database specification")?;
    let users = list("role specification")?;
    let addresses = match transport {
        Transport::Local => Addresses::All,
        Transport::Tcp(_) => {
            let address = single(list("IP address specification")?, "host address")?;
            match network(&address)? {
                Network::Known(addresses) => addresses,
                Network::NeedsMask(ip) => {
                    let mask = single(list("netmask specification")?, "netmask")?;
                    let mask: IpAddr = mask
                        .text
                        .parse()
                        .map_err(|_| format!("invalid IP mask \"{}\": Name or service not known", mask.text))?;
                    if mask.is_ipv4() != ip.is_ipv4() {
                        return Err("IP address and mask do not match".into());
                    }
                    Addresses::Network(ip, mask)
                }
            }
        }
    };
    let method = single(list("authentication method")?, "authentication type")?;
    let is_ssl = transport == Transport::Tcp(Some(true));
    let method = match method.text.as_str() {
        "trust" => Method::Trust,
        "reject" => Method::Reject,
        "scram-sha-256" => Method::Scram,
        // PostgreSQL, too, takes the one for the other there
        "peer" | "ident" if transport == Transport::Local => Method::Peer,
        "peer" => return Err("peer authentication is only supported on local sockets".into()),
        "cert" if is_ssl => Method::Certificate,
        "cert" => return Err("cert authentication is only supported on hostssl connections".into()),
        known @ ("md5" | "password" | "gss" | "sspi" | "ident" | "pam" | "bsd" | "ldap" | "radius") => {
            return Err(format!("the authentication method \"{known}\" is not supported"));
        }
        other => return Err(format!("invalid authentication method \"{other}\"")),
    };
    let client_certificate = match method {
        Method::Certificate => ClientCertificate::OfUser,
        _ => ClientCertificate::NotAsked,
    };
    let mut rule = Rule { line, kind, transport, databases, users, addresses, method, map: None, client_certificate };
    for option in fields.flatten() {
        match option.text.split_once('=') {
            Some((name, value)) => rule.take_option(name, value)?,
            None => return Err(format!("authentication option not in name=value format: {}", option.text)),
        }
    }
    if rule.client_certificate != ClientCertificate::NotAsked && !offered.client_certificates {
        return Err("client certificates need the certificates of their authorities (--tls-ca FILE)".into());
    }
    if rule.map.as_ref().is_some_and(|map| !map.is_empty()) && !offered.maps {
        return Err("the authentication option \"map\" needs a file of maps (--ident FILE)".into());
    }
    Ok(rule)
}

impl Rule {
    /// Takes an option of the rule's method.
    fn take_option(&mut self, name: &str, value: &str) -> Result<(), String> {
        let is_ssl = self.transport == Transport::Tcp(Some(true));
        let for_ssl = || format!("{name} can only be configured for \"hostssl\" rows");
        let invalid = || format!("invalid value for {name}: \"{value}\"");
        match name {
            "map" if matches!(self.method, Method::Peer | Method::Certificate) => {
                self.map = Some(value.to_string());
            }
            "map" => {
                return Err("authentication option \"map\" is only valid for authentication methods \
                            ident, peer, gssapi, sspi, and cert"
                    .into())
            }
            "clientcert" | "clientname" if !is_ssl => return Err(for_ssl()),
            "clientcert" => {
                self.client_certificate = match value {
                    "verify-full" => ClientCertificate::OfUser,
                    "verify-ca" if self.method == Method::Certificate => {
                        return Err(
                            "clientcert can only be set to \"verify-full\" when using \"cert\" authentication".into()
                        )
                    }
                    "verify-ca" => ClientCertificate::Valid,
                    _ => return Err(invalid()),
                }
            }
            // the name of a certificate is its common name
            "clientname" if value == "CN" => {}
            "clientname" if value == "DN" => {
                return Err("the authentication option \"clientname\" = DN is not supported".into());
            }
            "clientname" => return Err(invalid()),
            _ if OPTIONS.contains(&name) => {
                return Err(format!("the authentication option \"{name}\" is not supported"))
            }
            _ => return Err(format!("unrecognized authentication option name: \"{name}\"")),
        }
        Ok(())
    }
}

/// The options that methods of PostgreSQL have, but none of this server's.
const OPTIONS: [&str; 24] = [
    "pamservice",
    "pam_use_hostname",
    "ldapurl",
    "ldaptls",
    "ldapscheme",
    "ldapserver",
    "ldapport",
    "ldapbinddn",
    "ldapbindpasswd",
    "ldapsearchattribute",
    "ldapsearchfilter",
    "ldapbasedn",
    "ldapprefix",
    "ldapsuffix",
    "krb_realm",
    "include_realm",
    "compat_realm",
    "upn_username",
    "radiusservers",
    "radiusports",
    "radiussecrets",
    "radiusidentifiers",
    "krb_server_keyfile",
    "usermap",
];

/// The one word of a field.
fn single(mut words: Vec<Word>, what: &str) -> Result<Word, String> {
    match words.len() {
        1 => Ok(words.remove(0)),
        _ => Err(format!("multiple values specified for {what}")),
    }
}

/// What an address field means.
enum Network {
    Known(Addresses),
    /// The next field is its mask.
    NeedsMask(IpAddr),
}

fn network(word: &Word) -> Result<Network, String> {
    if !word.quoted {
        match word.text.as_str() {
            "all" => return Ok(Network::Known(Addresses::All)),
            "samehost" => return Ok(Network::Known(Addresses::SameHost)),
            "samenet" => return Ok(Network::Known(Addresses::SameNet)),
            _ => {}
        }
    }
    let (address, bits) = match word.text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (word.text.as_str(), None),
    };
    let Ok(ip) = address.parse::<IpAddr>() else {
        return match bits {
            Some(_) => Err(format!("specifying both host name and CIDR mask is invalid: \"{}\"", word.text)),
            None => Ok(Network::Known(Addresses::Host(address.to_string()))),
        };
    };
    let Some(bits) = bits else { return Ok(Network::NeedsMask(ip)) };
    let invalid = || format!("invalid CIDR mask in address \"{}\"", word.text);
    let bits: u32 = bits.parse().map_err(|_| invalid())?;
    let mask = match ip {
        IpAddr::V4(_) if bits <= 32 => IpAddr::V4(u32::MAX.checked_shl(32 - bits).unwrap_or(0).into()),
        IpAddr::V6(_) if bits <= 128 => IpAddr::V6(u128::MAX.checked_shl(128 - bits).unwrap_or(0).into()),
        _ => return Err(invalid()),
    };
    Ok(Network::Known(Addresses::Network(ip, mask)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_rule_is_told_with_its_line() {
        let text = "local all all trust\n\nhots all all all trust\nhost all all all peer\nhost all all example.org/8 trust\n\
                    local all all \\\n  md5\nlocal all @admins trust\nhost all all 10.0.0.1/33 trust\nlocal all\n\
                    local a,b all peer map=m\nhost all all 10.0.0.1 trust\nlocal,host all all trust\nlocal all all trust extra\n\
                    local all all peer nonsense=1\n";
        let told: Vec<(usize, String)> = rules(text, Path::new("/nowhere"), Offered::default())
            .unwrap_err()
            .into_iter()
            .map(|f| (f.line, f.message))
            .collect();
        let expected = [
            (3, "invalid connection type \"hots\""),
            (4, "peer authentication is only supported on local sockets"),
            (5, "specifying both host name and CIDR mask is invalid: \"example.org/8\""),
            (6, "the authentication method \"md5\" is not supported"),
            (8, "could not open secondary authentication file \"@admins\" as \"/nowhere/admins\": No such file or directory"),
            (9, "invalid CIDR mask in address \"10.0.0.1/33\""),
            (10, "end-of-line before role specification"),
            (11, "the authentication option \"map\" needs a file of maps (--ident FILE)"),
            (12, "invalid IP mask \"trust\": Name or service not known"),
            (13, "multiple values specified for connection type"),
            (14, "authentication option not in name=value format: extra"),
            (15, "unrecognized authentication option name: \"nonsense\""),
        ];
        assert_eq!(told, expected.map(|(line, message)| (line, message.to_string())));
    }

    #[test]
    fn files_of_words_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        write("names", "ann, bob # two\n\n\"+carl\" @sub/more\n");
        write("sub/more", "dora\n@last");
        write("sub/last", "+eve");
        write("self", "@self");
        let users = |text: &str| {
            rules(text, folder.path(), Offered::default())
                .map(|r| r[0].users.iter().map(|w| w.text.clone()).collect::<Vec<_>>())
        };
        assert_eq!(
            users("local all zoe,@names,yan trust").unwrap(),
            ["zoe", "ann", "bob", "+carl", "dora", "+eve", "yan"]
        );
        assert_eq!(users("local all \"@names\" trust").unwrap(), ["@names"]);
        let fault = users("# one\nlocal all @self trust").unwrap_err();
        assert!(fault[0].line == 2 && fault[0].message.ends_with("maximum nesting depth exceeded"), "{fault:?}");
    }
}
