//! CREATE COLLATION, ALTER COLLATION, DROP COLLATION.

use super::def_elem::{boolean, def_elems, names, text_of};
use super::{strings, Ddl};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::CLASS_COLLATION;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::sync::Arc;

/// libc's locales that every system has; they order by bytes.
const BYTEWISE: [&str; 4] = ["C", "POSIX", "C.UTF-8", "C.utf8"];

/// What the statement says.
#[derive(Default)]
struct Options<'a> {
    from: Option<Vec<&'a str>>,
    locale: Option<String>,
    collate: Option<String>,
    ctype: Option<String>,
    provider: Option<String>,
    deterministic: Option<&'a ast::DefElem>,
    version: Option<String>,
}

fn redundant(location: i32) -> PgError {
    PgError::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options").at(location)
}

impl<'a> Options<'a> {
    fn read(definition: &'a [ast::Node]) -> Result<Options<'a>> {
        let mut out = Options::default();
        for option in def_elems(definition) {
            work::visit();
            let place = match option.defname.as_str() {
                "from" => {
                    if out.from.is_some() {
                        return Err(redundant(option.location));
                    }
                    out.from = Some(names(option));
                    continue;
                }
                "deterministic" => {
                    if out.deterministic.replace(option).is_some() {
                        return Err(redundant(option.location));
                    }
                    continue;
                }
                "locale" => &mut out.locale,
                "lc_collate" => &mut out.collate,
                "lc_ctype" => &mut out.ctype,
                "provider" => &mut out.provider,
                "version" => &mut out.version,
                other => {
                    return Err(PgError::new(
                        SqlState::SYNTAX_ERROR,
                        format!("collation attribute \"{other}\" not recognized"),
                    )
                    .at(option.location))
                }
            };
            if place.replace(text_of(option)).is_some() {
                return Err(redundant(option.location));
            }
        }
        if out.locale.is_some() && (out.collate.is_some() || out.ctype.is_some()) {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options")
                .detail("LOCALE cannot be specified together with LC_COLLATE or LC_CTYPE."));
        }
        if out.from.is_some() && definition.len() != 1 {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options")
                .detail("FROM cannot be specified together with any other options."));
        }
        Ok(out)
    }
}

fn invalid(message: String) -> PgError {
    PgError::new(SqlState::INVALID_OBJECT_DEFINITION, message)
}

impl Ddl<'_> {
    pub(super) fn create_collation(&mut self, statement: &ast::DefineStmt) -> Result<String> {
        let tag = "CREATE COLLATION".to_string();
        let parts = strings(&statement.defnames);
        let (schema_name, name) = self.qualified_new(&parts)?;
        let schema = self.lasting_schema(schema_name, "collation")?;
        self.check_create(schema)?;
        let options = Options::read(&statement.definition)?;
        let mut made = UserCollation {
            oid: 0,
            schema,
            name: name.to_string(),
            owner: self.environment.user,
            deterministic: true,
            locale: None,
            collate: None,
            ctype: None,
            version: None,
            any_encoding: false,
        };
        if let Some(from) = &options.from {
            let oid = self.collation_oid(from)?;
            if oid == DEFAULT_COLLATION {
                return Err(invalid("collation \"default\" cannot be copied".into()));
            }
            self.copy_collation(oid, &mut made)?;
        } else {
            self.define_collation(&options, &mut made)?;
        }
        if self.catalog.collation_in(schema, name).is_some() {
            // what is bound to no encoding is told without one
            let bound = if made.any_encoding { "" } else { " for encoding \"UTF8\"" };
            let message = format!("collation \"{name}\"{bound} already exists");
            if statement.if_not_exists {
                self.notice(SqlState::DUPLICATE_OBJECT, format!("{message}, skipping"));
                return Ok(tag);
            }
            return Err(PgError::new(SqlState::DUPLICATE_OBJECT, message));
        }
        made.oid = self.new_oid(false)?;
        self.put_collation(made)?;
        Ok(tag)
    }

    pub(super) fn put_collation(&mut self, collation: UserCollation) -> Result<()> {
        self.ensure_store()?;
        pgsqlite_metadata::store::storing::put_collation(self.conn, &collation)?;
        self.catalog.collations.insert(collation.oid, Arc::new(collation));
        self.changed = true;
        Ok(())
    }

    fn copy_collation(&self, oid: Oid, made: &mut UserCollation) -> Result<()> {
        if let Some(own) = self.catalog.collations.get(&oid) {
            *made = UserCollation {
                oid: 0,
                schema: made.schema,
                name: made.name.clone(),
                owner: made.owner,
                ..(**own).clone()
            };
            return Ok(());
        }
        let builtin = pgsqlite_sql::builtins::catalog::collation_by_oid(oid)
            .ok_or_else(|| PgError::internal("a collation that is none"))?;
        made.locale = builtin.locale.map(String::from);
        made.collate = builtin.collate.map(String::from);
        made.ctype = builtin.ctype.map(String::from);
        made.version = builtin.version.map(String::from);
        made.any_encoding = builtin.encoding == -1;
        Ok(())
    }

    fn define_collation(&self, options: &Options, made: &mut UserCollation) -> Result<()> {
        made.deterministic = options.deterministic.map_or(Ok(true), boolean)?;
        made.version.clone_from(&options.version);
        let missing = |name: &str| Err(invalid(format!("parameter \"{name}\" must be specified")));
        match options.provider.as_deref().map(str::to_ascii_lowercase).as_deref() {
            Some("icu") => {
                let Some(locale) = &options.locale else { return missing("locale") };
                pgsqlite_types::collation::open(locale, made.deterministic)?;
                made.locale = Some(locale.clone());
                made.any_encoding = true;
                return Ok(());
            }
            None | Some("libc") => {}
            Some(_) => {
                let given = options.provider.as_deref().unwrap_or_default();
                return Err(invalid(format!("unrecognized collation provider: {given}")));
            }
        }
        made.collate = options.collate.clone().or_else(|| options.locale.clone());
        made.ctype = options.ctype.clone().or_else(|| options.locale.clone());
        let Some(collate) = &made.collate else { return missing("lc_collate") };
        let Some(ctype) = &made.ctype else { return missing("lc_ctype") };
        if !made.deterministic {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "nondeterministic collations not supported with this provider",
            ));
        }
        for locale in [collate, ctype] {
            work::visit();
            if locale.is_empty() {
                return Err(PgError::not_supported("a collation of the environment's locale"));
            }
            if !BYTEWISE.contains(&locale.as_str()) {
                return Err(PgError::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("could not create locale \"{locale}\": No such file or directory"),
                )
                .detail(format!(
                    "The operating system could not find any locale data for the locale name \"{locale}\"."
                )));
            }
        }
        Ok(())
    }

    /// A collation of the user's. Errors: 42704; 0A000 for one of PostgreSQL's own.
    pub(super) fn user_collation(&self, parts: &[&str]) -> Result<Arc<UserCollation>> {
        let oid = self.collation_oid(parts)?;
        let found = self.catalog.collations.get(&oid).cloned();
        let found = found.ok_or_else(|| {
            PgError::not_supported(format!("changing collation \"{}\"", parts.last().copied().unwrap_or_default()))
        })?;
        self.check_owned("collation", &found.name, found.owner)?;
        Ok(found)
    }

    /// ALTER COLLATION … RENAME TO, OWNER TO, SET SCHEMA.
    pub(super) fn change_collation(&mut self, parts: &[&str], change: impl FnOnce(&mut UserCollation)) -> Result<()> {
        let mut changed = (*self.user_collation(parts)?).clone();
        let before = (changed.schema, changed.name.clone());
        change(&mut changed);
        let moved = before != (changed.schema, changed.name.clone());
        if moved && self.catalog.collation_in(changed.schema, &changed.name).is_some() {
            return Err(PgError::new(
                SqlState::DUPLICATE_OBJECT,
                format!(
                    "collation \"{}\" already exists in schema \"{}\"",
                    changed.name,
                    self.catalog.schema_name(changed.schema)
                ),
            ));
        }
        self.put_collation(changed)
    }

    /// DROP COLLATION; None: the statement drops something else.
    pub(super) fn drop_collations(&mut self, statement: &ast::DropStmt) -> Result<Option<String>> {
        if statement.remove_type() != ast::ObjectType::ObjectCollation {
            return Ok(None);
        }
        for node in &statement.objects {
            work::visit();
            let Some(NodeEnum::List(list)) = &node.node else {
                return Err(PgError::internal("DROP COLLATION without a name"));
            };
            let parts = strings(&list.items);
            let found = match self.user_collation(&parts) {
                Ok(found) => found,
                Err(e)
                    if statement.missing_ok
                        && matches!(e.code(), SqlState::UNDEFINED_OBJECT | SqlState::UNDEFINED_SCHEMA) =>
                {
                    let message = match e.code() {
                        SqlState::UNDEFINED_SCHEMA => format!("{}, skipping", e.message()),
                        _ => format!("collation \"{}\" does not exist, skipping", parts.join(".")),
                    };
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                    continue;
                }
                Err(e) => return Err(e),
            };
            self.remove_collation(&found, statement.behavior() == ast::DropBehavior::DropCascade)?;
        }
        Ok(Some("DROP COLLATION".into()))
    }

    /// Drops a collation. Errors: 2BP01 where something uses it, 0A000 for that with CASCADE.
    pub(super) fn remove_collation(&mut self, collation: &UserCollation, cascade: bool) -> Result<()> {
        let mut dependents = self.dependents_of_collation(collation.oid);
        let users = self.users_in_expressions(CLASS_COLLATION, collation.oid, "COLLATE")?;
        let known = dependents.len();
        for user in users {
            work::visit();
            let user = self.describe(user);
            if !dependents[..known].contains(&user) {
                dependents.push(user);
            }
        }
        if !dependents.is_empty() {
            if cascade {
                return Err(PgError::not_supported("DROP COLLATION … CASCADE of a collation that something uses"));
            }
            let lines: Vec<String> =
                dependents.iter().map(|d| format!("{d} depends on collation {}", collation.name)).collect();
            return Err(PgError::new(
                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                format!("cannot drop collation {} because other objects depend on it", collation.name),
            )
            .detail(lines.join("\n"))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        self.catalog.collations.remove(&collation.oid);
        pgsqlite_metadata::store::storing::delete_object(self.conn, collation.oid)?;
        self.forget_comments(collation.oid)?;
        self.changed = true;
        Ok(())
    }

    fn dependents_of_collation(&self, collation: Oid) -> Vec<String> {
        let mut out = Vec::new();
        for relation in self.catalog.relations.values() {
            work::visit();
            match &relation.kind {
                RelationKind::Index(index) => {
                    let table = self.catalog.relation(index.table);
                    let by_column = |attnum: i16| {
                        table.and_then(|t| t.column_by_attnum(attnum)).is_some_and(|c| c.collation == collation)
                    };
                    // (an index that has it from its column goes with that)
                    let own = index.columns.iter().any(|k| {
                        k.collation == collation
                            && match k.key {
                                KeyPart::Column(attnum) => !by_column(attnum),
                                KeyPart::Expression(_) => true,
                            }
                    });
                    if own {
                        out.push(format!("index {}", relation.name));
                    }
                }
                kind => {
                    let what = match kind {
                        RelationKind::View { .. } => "view",
                        RelationKind::MaterializedView { .. } => "materialized view",
                        _ => "table",
                    };
                    for column in relation.live_columns().filter(|c| c.collation == collation) {
                        work::visit();
                        out.push(format!("column {} of {what} {}", column.name, relation.name));
                    }
                }
            }
        }
        for t in self.catalog.types.values() {
            work::visit();
            let used = match &t.kind {
                UserTypeKind::Domain { collation: own, .. } => *own == collation,
                UserTypeKind::Range(range) => range.collation == collation,
                _ => false,
            };
            if used {
                out.push(format!("type {}", t.name));
            }
        }
        out
    }
}
