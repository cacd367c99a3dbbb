//! The text of `pg_hba.conf`: one rule a line, words with blanks between them, lists with commas, `#` for comments, a backslash at a line's
//! end for a rule of several lines. What PostgreSQL knows and this server does not is an error, as is what nobody knows.

use super::{Addresses, Method, Rule, Transport, Word};
use std::net::IpAddr;

/// A line that is no rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub line: usize,
    pub message: String,
}

/// The rules of a text, or what is wrong with its lines.
pub(super) fn rules(text: &str) -> Result<Vec<Rule>, Vec<Fault>> {
    let (mut rules, mut faults) = (Vec::new(), Vec::new());
    for (line, text) in logical_lines(text) {
        match rule(line, fields(&text)) {
            Ok(found) => rules.extend(found),
            Err(message) => faults.push(Fault { line, message }),
        }
    }
    if faults.is_empty() {
        Ok(rules)
    } else {
        Err(faults)
    }
}

/// Lines with the number of their first: a backslash at the end takes the next one in.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (at, line) in text.lines().enumerate() {
        let continues = line.ends_with('\\');
        let part = line.strip_suffix('\\').unwrap_or(line);
        match lines.last_mut() {
            Some((_, whole)) if open => whole.push_str(part),
            _ => lines.push((at + 1, part.to_string())),
        }
        open = continues;
    }
    lines
}

/// The fields of a line, each a list of words.
fn fields(line: &str) -> Vec<Vec<Word>> {
    let mut characters = line.chars().peekable();
    let mut fields: Vec<Vec<Word>> = Vec::new();
    // the word before ended with a comma: the next one is of the same list
    let mut goes_on = false;
    loop {
        while characters.next_if(|c| matches!(c, ' ' | '\t' | '\r' | ',')).is_some() {}
        let (mut text, mut quoted, mut in_quotes, mut was_quote, mut any_quote) =
            (String::new(), false, false, false, false);
        let mut comma = false;
        let mut ended = true;
        while let Some(c) = characters.next() {
            match c {
                ' ' | '\t' | '\r' if !in_quotes => {
                    ended = false;
                    break;
                }
                '#' if !in_quotes => {
                    characters = "".chars().peekable();
                    break;
                }
                ',' if !in_quotes => {
                    (comma, ended) = (true, false);
                    break;
                }
                _ => {}
            }
            if c != '"' || was_quote {
                text.push(c);
            }
            // two quotes within quotes are one
            was_quote = in_quotes && c == '"' && !was_quote;
            if c == '"' {
                in_quotes = !in_quotes;
                any_quote = true;
                quoted |= text.is_empty();
            }
        }
        if text.is_empty() && !any_quote {
            return fields;
        }
        let word = Word { text, quoted };
        match fields.last_mut() {
            Some(list) if goes_on => list.push(word),
            _ => fields.push(vec![word]),
        }
        goes_on = comma;
        if ended && characters.peek().is_none() {
            return fields;
        }
    }
}

/// The rule of a line; None: the line is empty.
fn rule(line: usize, fields: Vec<Vec<Word>>) -> Result<Option<Rule>, String> {
    let mut fields = fields.into_iter();
    let Some(first) = fields.next() else { return Ok(None) };
    if first.iter().any(is_file) {
        return Err(format!("files of names are not supported: \"{}\"", first[0].text));
    }
    let kind = single(first, "connection type")?;
    let transport = match kind.text.as_str() {
        "local" => Transport::Local,
        // nobody comes with GSSAPI's encryption
        "host" | "hostnogssenc" => Transport::Tcp(None),
        "hostssl" => Transport::Tcp(Some(true)),
        "hostnossl" => Transport::Tcp(Some(false)),
        "hostgssenc" => return Err("connections with GSSAPI's encryption are not supported".into()),
        other => return Err(format!("invalid connection type \"{other}\"")),
    };
    let mut list = |what: &str| -> Result<Vec<Word>, String> {
        let words = fields.next().ok_or_else(|| format!("end-of-line before {what}"))?;
        match words.iter().find(|word| is_file(word)) {
            Some(file) => Err(format!("files of names are not supported: \"{}\"", file.text)),
            None => Ok(words),
        }
    };
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
                    let mask: IpAddr = mask.text.parse().map_err(|_| format!("invalid IP mask \"{}\"", mask.text))?;
                    if mask.is_ipv4() != ip.is_ipv4() {
                        return Err("IP address and mask do not match".into());
                    }
                    Addresses::Network(ip, mask)
                }
            }
        }
    };
    let method = single(list("authentication method")?, "authentication type")?;
    let method = match method.text.as_str() {
        "trust" => Method::Trust,
        "reject" => Method::Reject,
        "scram-sha-256" => Method::Scram,
        "peer" if transport == Transport::Local => Method::Peer,
        "peer" => return Err("peer authentication is only supported on local sockets".into()),
        known @ ("md5" | "password" | "gss" | "sspi" | "ident" | "pam" | "bsd" | "ldap" | "cert" | "radius") => {
            return Err(format!("the authentication method \"{known}\" is not supported"));
        }
        other => return Err(format!("invalid authentication method \"{other}\"")),
    };
    if let Some(option) = fields.next().and_then(|words| words.into_iter().next()) {
        return Err(match option.text.split_once('=') {
            Some((name, _)) => format!("the authentication option \"{name}\" is not supported"),
            None => format!("authentication option not in name=value format: {}", option.text),
        });
    }
    Ok(Some(Rule { line, transport, databases, users, addresses, method }))
}

/// `@name`, which PostgreSQL reads names from.
fn is_file(word: &Word) -> bool {
    !word.quoted && word.text.len() > 1 && word.text.starts_with('@')
}

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
        return Err(match bits {
            Some(_) => format!("specifying both host name and CIDR mask is invalid: \"{}\"", word.text),
            None => format!("host names are not supported, only addresses: \"{address}\""),
        });
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
        let text = "local all all trust\n\nhots all all all trust\nhost all all all peer\nhost all all example.org trust\n\
                    local all all \\\n  md5\nlocal all @admins trust\nhost all all 10.0.0.1/33 trust\nlocal all\n\
                    local a,b all peer map=m\nhost all all 10.0.0.1 trust\nlocal,host all all trust\nlocal all all trust extra\n";
        let told: Vec<(usize, String)> = rules(text).unwrap_err().into_iter().map(|f| (f.line, f.message)).collect();
        let expected = [
            (3, "invalid connection type \"hots\""),
            (4, "peer authentication is only supported on local sockets"),
            (5, "host names are not supported, only addresses: \"example.org\""),
            (6, "the authentication method \"md5\" is not supported"),
            (8, "files of names are not supported: \"@admins\""),
            (9, "invalid CIDR mask in address \"10.0.0.1/33\""),
            (10, "end-of-line before role specification"),
            (11, "the authentication option \"map\" is not supported"),
            (12, "invalid IP mask \"trust\""),
            (13, "multiple values specified for connection type"),
            (14, "authentication option not in name=value format: extra"),
        ];
        assert_eq!(told, expected.map(|(line, message)| (line, message.to_string())));
    }

    #[test]
    fn words_are_split_as_postgresql_splits_them() {
        let texts = |line: &str| -> Vec<Vec<String>> {
            fields(line).iter().map(|f| f.iter().map(|w| w.text.clone()).collect()).collect()
        };
        assert_eq!(texts("a , b,c  \"d e\",f # g"), [vec!["a"], vec!["b", "c"], vec!["d e", "f"]]);
        assert_eq!(texts("a, b \"\" \"x\"\"y\""), [vec!["a", "b"], vec![""], vec!["x\"y"]]);
        assert_eq!(texts("\"a#b\"#c"), [vec!["a#b"]]);
        assert!(fields("\"all\"")[0][0].quoted && !fields("all")[0][0].quoted);
    }
}
