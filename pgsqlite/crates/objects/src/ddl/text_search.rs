//! Text search configurations and dictionaries of the user: CREATE, ALTER CONFIGURATION … MAPPING, DROP.

use super::def_elem::{arg, boolean, def_elems, name_of, text_of};
use super::{strings, Ddl};
use pgsqlite_natives::text_search::language::Language;
use pgsqlite_natives::text_search::parser::KINDS;
use pgsqlite_sql::builtins::text_search::{mappings, template_named, SIMPLE_TEMPLATE, SNOWBALL_TEMPLATE};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::CLASS_TS_CONFIGURATION;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};
use std::sync::Arc;

const CONFIGURATION: &str = "text search configuration";
const DICTIONARY: &str = "text search dictionary";

fn syntax(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::SYNTAX_ERROR, message)
}

/// PostgreSQL leaves it to the catalog's index to find out.
fn duplicate(catalog: &str, column: &str, name: &str, schema: Oid) -> PgError {
    let index = format!("{catalog}_{column}_index");
    PgError::new(SqlState::UNIQUE_VIOLATION, format!("duplicate key value violates unique constraint \"{index}\""))
        .detail(format!("Key ({column}, {})=({name}, {schema}) already exists.", column.replace("name", "namespace")))
        .schema("pg_catalog")
        .table(catalog)
        .constraint(index)
}

/// 22023 if an option is given more than once; `shown`: its name in the message.
fn once(given: &[&ast::DefElem], name: &str, shown: &str) -> Result<()> {
    match given.iter().filter(|o| o.defname == name).nth(1) {
        Some(_) => Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("multiple {shown} parameters"))),
        None => Ok(()),
    }
}

/// The number of a type of token.
fn token_type(name: &str) -> Result<i32> {
    KINDS
        .iter()
        .find(|(_, n, _)| *n == name)
        .map(|(kind, ..)| *kind as i32)
        .ok_or_else(|| PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("token type \"{name}\" does not exist")))
}

/// What a stored text has that names a configuration: a constant of this type is written with it.
const REGCONFIG: &str = "regconfig";

impl Ddl<'_> {
    fn ts_object(&self, kind: Oid, parts: &[&str]) -> Result<Oid> {
        let names = pgsqlite_metadata::store::names::CatalogNames {
            catalog: &self.catalog,
            search_path: self.environment.search_path,
        };
        let quoted: Vec<String> = parts.iter().map(|p| pgsqlite_sql::deparse::quote_identifier(p)).collect();
        pgsqlite_types::codec::RegNames::reg_oid(&names, kind, &quoted.join("."))
    }

    pub(super) fn create_ts_configuration(&mut self, statement: &ast::DefineStmt) -> Result<String> {
        let parts = strings(&statement.defnames);
        let (schema_name, name) = self.qualified_new(&parts)?;
        let schema = self.lasting_schema(schema_name, "text search configuration")?;
        self.check_create(schema)?;
        let (mut parser, mut copied) = (None, None);
        for option in def_elems(&statement.definition) {
            work::visit();
            match option.defname.as_str() {
                "parser" => parser = Some(name_of(option)),
                "copy" => copied = Some(name_of(option)),
                other => return Err(syntax(format!("{CONFIGURATION} parameter \"{other}\" not recognized"))),
            }
        }
        let list = match (parser, copied) {
            (Some(_), Some(_)) => return Err(syntax("cannot specify both PARSER and COPY options")),
            (Some(parser), None) => match parser[..] {
                ["default"] | ["pg_catalog", "default"] => vec![],
                _ => {
                    return Err(PgError::new(
                        SqlState::UNDEFINED_OBJECT,
                        format!("text search parser \"{}\" does not exist", parser.join(".")),
                    ))
                }
            },
            (None, Some(copied)) => {
                let oid = self.ts_object(oid::REGCONFIG, &copied)?;
                match self.catalog.ts_configurations.get(&oid) {
                    Some(own) => own.mappings.clone(),
                    None => mappings(oid).unwrap_or_default(),
                }
            }
            (None, None) => {
                return Err(PgError::new(SqlState::INVALID_OBJECT_DEFINITION, "text search parser is required"))
            }
        };
        if self.catalog.ts_configuration_in(schema, name).is_some() {
            return Err(duplicate("pg_ts_config", "cfgname", name, schema));
        }
        let oid = self.new_oid(false)?;
        let owner = self.environment.user;
        self.put_ts_configuration(TsConfiguration { oid, schema, name: name.to_string(), owner, mappings: list })?;
        Ok("CREATE TEXT SEARCH CONFIGURATION".into())
    }

    fn put_ts_configuration(&mut self, configuration: TsConfiguration) -> Result<()> {
        self.ensure_store()?;
        pgsqlite_metadata::store::storing::put_ts_configuration(self.conn, &configuration)?;
        self.catalog.ts_configurations.insert(configuration.oid, Arc::new(configuration));
        self.changed = true;
        Ok(())
    }

    /// A configuration of the user. Errors: 42704; 0A000 for one of PostgreSQL's own.
    fn own_configuration(&self, parts: &[&str]) -> Result<TsConfiguration> {
        let oid = self.ts_object(oid::REGCONFIG, parts)?;
        let found =
            self.catalog.ts_configurations.get(&oid).ok_or_else(|| {
                PgError::not_supported(format!("changing the {CONFIGURATION} \"{}\"", parts.join(".")))
            })?;
        self.check_owned(CONFIGURATION, &found.name, found.owner)?;
        Ok((**found).clone())
    }

    pub(super) fn alter_ts_configuration(&mut self, statement: &ast::AlterTsConfigurationStmt) -> Result<String> {
        use ast::AlterTsConfigType as K;
        let mut configuration = self.own_configuration(&strings(&statement.cfgname))?;
        let mut tokens = Vec::new();
        for name in strings(&statement.tokentype) {
            work::visit();
            let token = token_type(name)?;
            if !tokens.contains(&(token, name)) {
                tokens.push((token, name));
            }
        }
        let mut dictionaries = Vec::new();
        for node in &statement.dicts {
            work::visit();
            let Some(NodeEnum::List(list)) = &node.node else {
                return Err(PgError::internal("a dictionary without a name"));
            };
            dictionaries.push(self.ts_object(oid::REGDICTIONARY, &strings(&list.items))?);
        }
        let list = &mut configuration.mappings;
        match statement.kind() {
            K::AlterTsconfigDropMapping => {
                for (token, name) in tokens {
                    work::visit();
                    let before = list.len();
                    list.retain(|(t, _)| *t != token);
                    if list.len() < before {
                        continue;
                    }
                    let message = format!("mapping for token type \"{name}\" does not exist");
                    if !statement.missing_ok {
                        return Err(PgError::new(SqlState::UNDEFINED_OBJECT, message));
                    }
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{message}, skipping"));
                }
            }
            K::AlterTsconfigReplaceDict | K::AlterTsconfigReplaceDictForToken => {
                let [old, new] = dictionaries[..] else {
                    return Err(PgError::internal("REPLACE of other than one dictionary"));
                };
                for (token, list) in list {
                    work::visit();
                    if tokens.is_empty() || tokens.iter().any(|(t, _)| t == token) {
                        list.iter_mut().filter(|d| **d == old).for_each(|d| *d = new);
                    }
                }
            }
            K::AlterTsconfigAddMapping | K::AlterTsconfigAlterMappingForToken => {
                for (token, _) in tokens {
                    work::visit();
                    if statement.r#override {
                        list.retain(|(t, _)| *t != token);
                    } else if list.iter().any(|(t, _)| *t == token) {
                        let index = "pg_ts_config_map_index";
                        return Err(PgError::new(
                            SqlState::UNIQUE_VIOLATION,
                            format!("duplicate key value violates unique constraint \"{index}\""),
                        )
                        .detail(format!(
                            "Key (mapcfg, maptokentype, mapseqno)=({}, {token}, 1) already exists.",
                            configuration.oid
                        ))
                        .schema("pg_catalog")
                        .table("pg_ts_config_map")
                        .constraint(index));
                    }
                    list.push((token, dictionaries.clone()));
                }
                list.sort_by_key(|(t, _)| *t);
            }
            K::AlterTsconfigTypeUndefined => return Err(PgError::internal("an ALTER of nothing")),
        }
        self.put_ts_configuration(configuration)?;
        Ok("ALTER TEXT SEARCH CONFIGURATION".into())
    }

    pub(super) fn create_ts_dictionary(&mut self, statement: &ast::DefineStmt) -> Result<String> {
        let parts = strings(&statement.defnames);
        let (schema_name, name) = self.qualified_new(&parts)?;
        let schema = self.lasting_schema(schema_name, "text search dictionary")?;
        self.check_create(schema)?;
        let mut template = None;
        let mut given: Vec<&ast::DefElem> = Vec::new();
        for option in def_elems(&statement.definition) {
            work::visit();
            match option.defname.as_str() {
                "template" => template = Some(name_of(option)),
                _ if arg(option).is_none() => {
                    return Err(syntax(format!("{} requires a parameter", option.defname)));
                }
                _ => given.push(option),
            }
        }
        let Some(template) = template else {
            return Err(PgError::new(SqlState::INVALID_OBJECT_DEFINITION, "text search template is required"));
        };
        let found = match template[..] {
            [name] | ["pg_catalog", name] => template_named(name),
            _ => None,
        };
        let found = found.ok_or_else(|| {
            PgError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("text search template \"{}\" does not exist", template.join(".")),
            )
        })?;
        let wrong = |message: String| PgError::new(SqlState::INVALID_PARAMETER_VALUE, message);
        match found {
            SIMPLE_TEMPLATE => {
                once(&given, "accept", "Accept")?;
                for option in &given {
                    work::visit();
                    match option.defname.as_str() {
                        "accept" => {
                            boolean(option)?;
                        }
                        "stopwords" => {
                            return Err(PgError::not_supported("a file of stop words for the template simple"))
                        }
                        other => return Err(wrong(format!("unrecognized simple dictionary parameter: \"{other}\""))),
                    }
                }
            }
            SNOWBALL_TEMPLATE => {
                once(&given, "stopwords", "StopWords")?;
                once(&given, "language", "Language")?;
                let value = |name: &str| given.iter().find(|o| o.defname == name).map(|o| text_of(o));
                let known = |o: &&&ast::DefElem| matches!(o.defname.as_str(), "language" | "stopwords");
                if let Some(other) = given.iter().find(|o| !known(o)) {
                    return Err(wrong(format!("unrecognized Snowball parameter: \"{}\"", other.defname)));
                }
                let language = value("language").ok_or_else(|| wrong("missing Language parameter".into()))?;
                if Language::named(&language).is_none() {
                    return Err(PgError::not_supported(format!("the Snowball stemmer for \"{language}\"")));
                }
                if value("stopwords").is_some_and(|list| list != language) {
                    return Err(PgError::not_supported("a list of stop words of another language than the stemmer's"));
                }
            }
            _ => {
                return Err(PgError::not_supported(format!("dictionaries of the template \"{}\"", template.join("."))))
            }
        }
        if self.catalog.ts_dictionary_in(schema, name).is_some() {
            return Err(duplicate("pg_ts_dict", "dictname", name, schema));
        }
        let dictionary = TsDictionary {
            oid: self.new_oid(false)?,
            schema,
            name: name.to_string(),
            owner: self.environment.user,
            template: found,
            options: given.iter().map(|o| (o.defname.clone(), text_of(o))).collect(),
        };
        pgsqlite_metadata::store::storing::put_ts_dictionary(self.conn, &dictionary)?;
        self.catalog.ts_dictionaries.insert(dictionary.oid, Arc::new(dictionary));
        self.changed = true;
        Ok("CREATE TEXT SEARCH DICTIONARY".into())
    }

    /// DROP TEXT SEARCH CONFIGURATION and DICTIONARY; None: the statement drops something else.
    /// ALTER TEXT SEARCH CONFIGURATION … OWNER TO
    pub(super) fn own_ts_configuration(&mut self, parts: &[&str], owner: Oid) -> Result<String> {
        let configuration = self.own_configuration(parts)?;
        self.check_owned(CONFIGURATION, &configuration.name, configuration.owner)?;
        self.check_new_owner(configuration.owner, owner, configuration.schema)?;
        self.put_ts_configuration(TsConfiguration { owner, ..configuration })?;
        Ok("ALTER TEXT SEARCH CONFIGURATION".into())
    }

    /// ALTER TEXT SEARCH DICTIONARY … OWNER TO
    pub(super) fn own_ts_dictionary(&mut self, parts: &[&str], owner: Oid) -> Result<String> {
        let oid = self.ts_object(oid::REGDICTIONARY, parts)?;
        let Some(own) = self.catalog.ts_dictionaries.get(&oid).cloned() else {
            return Err(PgError::not_supported(format!("OWNER TO of the {DICTIONARY} \"{}\"", parts.join("."))));
        };
        self.check_owned(DICTIONARY, &own.name, own.owner)?;
        self.check_new_owner(own.owner, owner, own.schema)?;
        let dictionary = TsDictionary { owner, ..(*own).clone() };
        pgsqlite_metadata::store::storing::put_ts_dictionary(self.conn, &dictionary)?;
        self.catalog.ts_dictionaries.insert(oid, Arc::new(dictionary));
        self.changed = true;
        Ok("ALTER TEXT SEARCH DICTIONARY".into())
    }

    pub(super) fn drop_ts_objects(&mut self, statement: &ast::DropStmt) -> Result<Option<String>> {
        let (kind, word) = match statement.remove_type() {
            ast::ObjectType::ObjectTsconfiguration => (oid::REGCONFIG, CONFIGURATION),
            ast::ObjectType::ObjectTsdictionary => (oid::REGDICTIONARY, DICTIONARY),
            _ => return Ok(None),
        };
        for node in &statement.objects {
            work::visit();
            let Some(NodeEnum::List(list)) = &node.node else { return Err(PgError::internal("DROP without a name")) };
            let parts = strings(&list.items);
            let oid = match self.ts_object(kind, &parts) {
                Ok(oid) => oid,
                Err(e) if statement.missing_ok && e.code() == SqlState::UNDEFINED_OBJECT => {
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{}, skipping", e.message()));
                    continue;
                }
                Err(e) => return Err(e),
            };
            if kind == oid::REGCONFIG {
                let own = self.own_configuration(&parts)?;
                let cascade = statement.behavior() == ast::DropBehavior::DropCascade;
                let users =
                    if cascade { vec![] } else { self.users_in_expressions(CLASS_TS_CONFIGURATION, oid, REGCONFIG)? };
                if !users.is_empty() {
                    let name = pgsqlite_sql::deparse::quote_identifier(&own.name);
                    let depends = |user| format!("{} depends on {CONFIGURATION} {name}", self.describe(user));
                    let users: Vec<String> = users.into_iter().map(depends).collect();
                    return Err(PgError::new(
                        SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                        format!("cannot drop {CONFIGURATION} {name} because other objects depend on it"),
                    )
                    .detail(users.join("\n"))
                    .hint("Use DROP ... CASCADE to drop the dependent objects too."));
                }
                self.remove_ts_configuration(oid)?;
            } else {
                let Some(own) = self.catalog.ts_dictionaries.get(&oid).cloned() else {
                    return Err(PgError::not_supported(format!("DROP of the {DICTIONARY} \"{}\"", parts.join("."))));
                };
                self.check_owned(DICTIONARY, &own.name, own.owner)?;
                self.remove_ts_dictionary(&own, statement.behavior() == ast::DropBehavior::DropCascade)?;
            }
        }
        Ok(Some(format!("DROP {}", word.to_uppercase())))
    }

    /// Drops a configuration. Errors: 0A000 where something uses it.
    pub(super) fn remove_ts_configuration(&mut self, configuration: Oid) -> Result<()> {
        if !self.users_in_expressions(CLASS_TS_CONFIGURATION, configuration, REGCONFIG)?.is_empty() {
            return Err(PgError::not_supported(format!("DROP of a {CONFIGURATION} that expressions name")));
        }
        self.catalog.ts_configurations.remove(&configuration);
        self.removed(configuration)
    }

    /// Drops a dictionary. Errors: 2BP01 where a configuration uses it, 0A000 for that with CASCADE.
    pub(super) fn remove_ts_dictionary(&mut self, dictionary: &TsDictionary, cascade: bool) -> Result<()> {
        let users: Vec<String> = self
            .catalog
            .ts_configurations
            .values()
            .filter(|c| c.mappings.iter().any(|(_, list)| list.contains(&dictionary.oid)))
            .map(|c| format!("{CONFIGURATION} {} depends on {DICTIONARY} {}", c.name, dictionary.name))
            .collect();
        if !users.is_empty() {
            if cascade {
                return Err(PgError::not_supported("DROP TEXT SEARCH DICTIONARY … CASCADE of one that is used"));
            }
            return Err(PgError::new(
                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                format!("cannot drop {DICTIONARY} {} because other objects depend on it", dictionary.name),
            )
            .detail(users.join("\n"))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        self.catalog.ts_dictionaries.remove(&dictionary.oid);
        self.removed(dictionary.oid)
    }

    /// An object of text search is gone from the catalog, and goes from the file.
    fn removed(&mut self, object: Oid) -> Result<()> {
        pgsqlite_metadata::store::storing::delete_object(self.conn, object)?;
        self.forget_comments(object)?;
        self.changed = true;
        Ok(())
    }

    /// Gives the configurations and dictionaries of some roles to another one.
    pub(super) fn reassign_ts_objects(&mut self, from: &[Oid], owner: Oid) -> Result<()> {
        let configurations: Vec<TsConfiguration> =
            self.catalog.ts_configurations.values().map(|c| (**c).clone()).collect();
        for configuration in configurations.into_iter().filter(|c| from.contains(&c.owner)) {
            work::visit();
            self.put_ts_configuration(TsConfiguration { owner, ..configuration })?;
        }
        let dictionaries: Vec<TsDictionary> = self.catalog.ts_dictionaries.values().map(|d| (**d).clone()).collect();
        for dictionary in dictionaries.into_iter().filter(|d| from.contains(&d.owner)) {
            work::visit();
            let dictionary = TsDictionary { owner, ..dictionary };
            pgsqlite_metadata::store::storing::put_ts_dictionary(self.conn, &dictionary)?;
            self.catalog.ts_dictionaries.insert(dictionary.oid, Arc::new(dictionary));
            self.changed = true;
        }
        Ok(())
    }
}
