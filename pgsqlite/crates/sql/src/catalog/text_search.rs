//! Text search configurations and dictionaries.

use super::{Catalog, PG_CATALOG};
use pgsqlite_types::Oid;
use serde::{Deserialize, Serialize};

/// A text search configuration that CREATE TEXT SEARCH CONFIGURATION has made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TsConfiguration {
    pub oid: Oid,
    pub schema: Oid,
    pub name: String,
    pub owner: Oid,
    /// the dictionaries that are asked, by the number of the type of token
    pub mappings: Vec<(i32, Vec<Oid>)>,
}

/// A text search dictionary that CREATE TEXT SEARCH DICTIONARY has made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TsDictionary {
    pub oid: Oid,
    pub schema: Oid,
    pub name: String,
    pub owner: Oid,
    pub template: Oid,
    pub options: Vec<(String, String)>,
}

impl Catalog {
    /// A text search configuration by schema and name.
    pub fn ts_configuration_in(&self, schema: Oid, name: &str) -> Option<Oid> {
        if schema == PG_CATALOG {
            return crate::builtins::text_search::configuration_named(name);
        }
        self.ts_configurations.values().find(|c| c.schema == schema && c.name == name).map(|c| c.oid)
    }

    /// A text search dictionary by schema and name.
    pub fn ts_dictionary_in(&self, schema: Oid, name: &str) -> Option<Oid> {
        use crate::builtins::text_search;
        if schema == PG_CATALOG {
            return text_search::dictionary_named(name);
        }
        if name == "unaccent" && self.extensions.get(name).is_some_and(|e| e.schema == schema) {
            return Some(text_search::UNACCENT_DICTIONARY);
        }
        self.ts_dictionaries.values().find(|c| c.schema == schema && c.name == name).map(|c| c.oid)
    }

    /// Schema and name of a text search configuration.
    pub fn ts_configuration_identity(&self, oid: Oid) -> Option<(Oid, &str)> {
        match self.ts_configurations.get(&oid) {
            Some(own) => Some((own.schema, own.name.as_str())),
            None => crate::builtins::text_search::configuration_name(oid).map(|name| (PG_CATALOG, name)),
        }
    }

    /// Schema and name of a text search dictionary.
    pub fn ts_dictionary_identity(&self, oid: Oid) -> Option<(Oid, &str)> {
        use crate::builtins::text_search;
        if oid == text_search::UNACCENT_DICTIONARY {
            return self.extensions.get("unaccent").map(|e| (e.schema, "unaccent"));
        }
        match self.ts_dictionaries.get(&oid) {
            Some(own) => Some((own.schema, own.name.as_str())),
            None => text_search::dictionary_name(oid).map(|name| (PG_CATALOG, name)),
        }
    }
}
