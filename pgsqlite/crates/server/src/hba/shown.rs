//! The rules and maps as the views pg_hba_file_rules and pg_ident_file_mappings show them: the files are read when they are looked at, so that
//! what is wrong with them is seen before they count.

use super::{ident, parse, Addresses, ClientCertificate, Maps, Method, Rule, Rules, Transport};
use pgsqlite_engine::session::{HbaFileRule, IdentFileMapping};
use pgsqlite_types::Result;
use std::path::Path;

impl Rules {
    /// The rows of pg_hba_file_rules. Rules that stand for a flag have no line. Errors: 58P01 where the file cannot be read.
    pub fn shown(&self) -> Result<Vec<HbaFileRule>> {
        let Some(file) = &self.file else {
            return Ok(self.rules.iter().map(|rule| HbaFileRule { line: None, ..self.row(rule) }).collect());
        };
        let text = ident::read(file)?;
        let entries = parse::entries(&text, file.parent().unwrap_or(Path::new(".")), self.offered);
        let row = |(line, entry): (usize, std::result::Result<Rule, String>)| match entry {
            Ok(rule) => self.row(&rule),
            Err(error) => HbaFileRule { line: Some(line as i64), error: Some(error), ..HbaFileRule::default() },
        };
        Ok(entries.into_iter().map(row).collect())
    }

    fn row(&self, rule: &Rule) -> HbaFileRule {
        let words = |words: &[super::Word]| Some(words.iter().map(|w| w.text.clone()).collect());
        let (address, netmask) = match &rule.addresses {
            _ if rule.transport == Transport::Local => (None, None),
            Addresses::All => (Some("all".to_string()), None),
            Addresses::SameHost => (Some("samehost".to_string()), None),
            Addresses::SameNet => (Some("samenet".to_string()), None),
            Addresses::Network(network, mask) => (Some(network.to_string()), Some(mask.to_string())),
            Addresses::Host(name) => (Some(name.clone()), None),
        };
        let mut options: Vec<String> = rule.map.iter().map(|map| format!("map={map}")).collect();
        match rule.client_certificate {
            ClientCertificate::NotAsked => {}
            ClientCertificate::Valid => options.push("clientcert=verify-ca".into()),
            ClientCertificate::OfUser => options.push("clientcert=verify-full".into()),
        }
        let never = rule.transport == Transport::Tcp(Some(true)) && !self.offered.tls;
        HbaFileRule {
            line: Some(rule.line as i64),
            kind: Some(rule.kind),
            databases: words(&rule.databases),
            users: words(&rule.users),
            address,
            netmask,
            method: Some(match rule.method {
                Method::Trust => "trust",
                Method::Reject => "reject",
                Method::Scram => "scram-sha-256",
                Method::Peer => "peer",
                Method::Certificate => "cert",
            }),
            options: Some(options).filter(|options| !options.is_empty()),
            error: never.then(|| "hostssl record cannot match because SSL is disabled".to_string()),
        }
    }
}

impl Maps {
    /// The rows of pg_ident_file_mappings. Errors: 58P01 where the file cannot be read.
    pub fn shown(&self) -> Result<Vec<IdentFileMapping>> {
        let row = |(line, entry): (usize, std::result::Result<ident::Mapping, String>)| match entry {
            Ok(m) => IdentFileMapping {
                line: line as i64,
                map: Some(m.map),
                system_user: Some(m.system_user),
                role: Some(m.role),
                error: None,
            },
            Err(error) => IdentFileMapping { line: line as i64, error: Some(error), ..IdentFileMapping::default() },
        };
        Ok(Maps::entries_of(self.file())?.into_iter().map(row).collect())
    }
}
