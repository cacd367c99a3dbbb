//! DROP, with what depends on the dropped objects; TRUNCATE.

use super::dependencies::{kind_word, Object};
use super::{strings, Ddl, NodeEnum};
use pgsqlite_metadata::store;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::error::Severity;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};
use std::collections::BTreeSet;

impl Ddl<'_> {
    pub(super) fn drop_statement(&mut self, statement: &ast::DropStmt) -> Result<String> {
        if statement.remove_type() == ast::ObjectType::ObjectPolicy {
            return self.drop_policy(statement);
        }
        if let Some(tag) = self.drop_functions(statement)? {
            return Ok(tag);
        }
        if let Some(tag) = self.drop_operators(statement)? {
            return Ok(tag);
        }
        if let Some(tag) = self.drop_extensions(statement)? {
            return Ok(tag);
        }
        if let Some(tag) = self.drop_ts_objects(statement)? {
            return Ok(tag);
        }
        if let Some(tag) = self.drop_statistics(statement)? {
            return Ok(tag);
        }
        if let Some(tag) = self.drop_collations(statement)? {
            return Ok(tag);
        }
        if let Some(tag) = self.drop_trigger(statement)? {
            return Ok(tag);
        }
        if let Some(tag) = self.drop_rule(statement)? {
            return Ok(tag);
        }
        if let Some(tag) = self.drop_absent(statement)? {
            return Ok(tag);
        }
        let kind = statement.remove_type();
        let tag = match kind {
            ast::ObjectType::ObjectTable => "DROP TABLE",
            ast::ObjectType::ObjectView => "DROP VIEW",
            ast::ObjectType::ObjectMatview => "DROP MATERIALIZED VIEW",
            ast::ObjectType::ObjectIndex => "DROP INDEX",
            ast::ObjectType::ObjectSequence => "DROP SEQUENCE",
            ast::ObjectType::ObjectType => "DROP TYPE",
            ast::ObjectType::ObjectDomain => "DROP DOMAIN",
            ast::ObjectType::ObjectSchema => "DROP SCHEMA",
            ast::ObjectType::ObjectExtension => "DROP EXTENSION",
            other => {
                let word = other.as_str_name().trim_start_matches("OBJECT_").replace('_', " ");
                return Err(PgError::not_supported(format!("DROP {word}")));
            }
        };
        let mut targets: Vec<Object> = Vec::new();
        for node in &statement.objects {
            work::visit();
            match self.drop_target(kind, node)? {
                Ok(object) => {
                    self.check_may_drop(object)?;
                    targets.push(object);
                }
                Err(missing) if statement.missing_ok => {
                    let message = format!("{}, skipping", missing.message());
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                }
                Err(missing) => return Err(missing),
            }
        }
        if statement.concurrent {
            for target in &targets {
                work::visit();
                let Object::Relation(oid) = target else { continue };
                let index = self.required(*oid)?;
                let RelationKind::Index(of) = &index.kind else { continue };
                if self.required(of.table)?.is_partitioned() {
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        format!("cannot drop partitioned index \"{}\" concurrently", index.name),
                    ));
                }
            }
        }
        let cascade = statement.behavior() == ast::DropBehavior::DropCascade;
        self.drop_objects(&targets, cascade)?;
        Ok(tag.into())
    }

    /// 42501 unless the session's role owns the object or its schema.
    fn check_may_drop(&self, object: Object) -> Result<()> {
        let (word, name, owner, schema) = match object {
            Object::Relation(oid) => {
                let r = self.required(oid)?;
                (kind_word(&r.kind), r.name.clone(), r.owner, r.schema)
            }
            Object::Type(oid) => {
                let t = &self.catalog.types[&oid];
                ("type", t.name.clone(), t.owner, t.schema)
            }
            Object::Schema(oid) => {
                let s = &self.catalog.schemas[&oid];
                ("schema", s.name.clone(), s.owner, oid)
            }
            _ => return Ok(()),
        };
        let of_schema = self.catalog.schemas.get(&schema).map_or(owner, |s| s.owner);
        if pgsqlite_sql::acl::owns(&self.catalog, self.environment.user, of_schema) {
            return Ok(());
        }
        self.check_owned(word, &name, owner)
    }

    /// The element type of the array type of this name, if it came with a type of the user.
    fn element_of_named_array(&self, parts: &[&str]) -> Result<Option<Oid>> {
        let (schema, name) = self.qualified(parts)?;
        let found = match schema {
            "" => self.environment.search_path.iter().find_map(|&s| self.catalog.type_in(s, name)),
            schema => self.catalog.schema_oid(schema).and_then(|s| self.catalog.type_in(s, name)),
        };
        Ok(match found.and_then(|oid| self.catalog.type_entry(oid)) {
            Some(TypeEntry::ArrayOf(element)) => Some(element),
            _ => None,
        })
    }

    /// The object a name in DROP means; the inner error: it does not exist.
    fn drop_target(&self, kind: ast::ObjectType, node: &ast::Node) -> Result<Result<Object>> {
        let parts: Vec<&str> = match &node.node {
            Some(NodeEnum::List(list)) => strings(&list.items),
            Some(NodeEnum::String(s)) => vec![s.sval.as_str()],
            Some(NodeEnum::TypeName(t)) => strings(&t.names),
            _ => return Err(PgError::not_supported("this name in DROP")),
        };
        let parts = self.without_database(parts);
        let shown = parts.join(".");
        let missing =
            |code: SqlState, word: &str| Ok(Err(PgError::new(code, format!("{word} \"{shown}\" does not exist"))));
        let word = match kind {
            ast::ObjectType::ObjectSchema => {
                return match self.catalog.schema_oid(&shown) {
                    Some(oid) if oid < oid::FIRST_USER_OID && oid != PUBLIC => Err(PgError::new(
                        SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                        format!("cannot drop schema {shown} because it is required by the database system"),
                    )),
                    Some(oid) => Ok(Ok(Object::Schema(oid))),
                    None => missing(SqlState::UNDEFINED_SCHEMA, "schema"),
                }
            }
            ast::ObjectType::ObjectType | ast::ObjectType::ObjectDomain => {
                return match self.find_type(&parts) {
                    Ok(t) => {
                        let domain = matches!(t.kind, UserTypeKind::Domain { .. });
                        if kind == ast::ObjectType::ObjectDomain && !domain {
                            return Err(PgError::new(
                                SqlState::WRONG_OBJECT_TYPE,
                                format!("\"{shown}\" is not a domain"),
                            ));
                        }
                        Ok(Ok(Object::Type(t.oid)))
                    }
                    Err(_) => {
                        if let Some(element) = self.element_of_named_array(&parts)? {
                            let element = self.display_type(element);
                            return Err(PgError::new(
                                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                                format!("cannot drop type {element}[] because type {element} requires it"),
                            )
                            .hint(format!("You can drop type {element} instead.")));
                        }
                        let builtin = pgsqlite_types::catalog::by_name(parts[parts.len() - 1]);
                        if builtin.is_some() && parts.len() == 1 {
                            return Err(PgError::new(
                                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                                format!("cannot drop type {shown} because it is required by the database system"),
                            ));
                        }
                        missing(SqlState::UNDEFINED_OBJECT, "type")
                    }
                }
            }
            ast::ObjectType::ObjectExtension => return missing(SqlState::UNDEFINED_OBJECT, "extension"),
            ast::ObjectType::ObjectView => "view",
            ast::ObjectType::ObjectMatview => "materialized view",
            ast::ObjectType::ObjectIndex => "index",
            ast::ObjectType::ObjectSequence => "sequence",
            _ => "table",
        };
        self.check_database(&parts)?;
        let parts = match &parts[..] {
            [database, rest @ ..] if rest.len() == 2 && self.catalog.is_database(database) => rest,
            all => all,
        };
        let (schema, name) = self.qualified(parts)?;
        if !schema.is_empty() && self.catalog.schema_oid(schema).is_none() {
            return Ok(Err(PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{schema}\" does not exist"))));
        }
        let Some(relation) = self.find_relation(schema, name) else {
            let code = if word == "index" { SqlState::UNDEFINED_OBJECT } else { SqlState::UNDEFINED_TABLE };
            // (without the schema, unlike types)
            return Ok(Err(PgError::new(code, format!("{word} \"{name}\" does not exist"))));
        };
        self.check_not_system(&relation)?;
        if kind_word(&relation.kind) != word {
            let (article, own, command) = match kind_word(&relation.kind) {
                "view" => ("a", "view", "DROP VIEW"),
                "materialized view" => ("a", "materialized view", "DROP MATERIALIZED VIEW"),
                "index" => ("an", "index", "DROP INDEX"),
                "sequence" => ("a", "sequence", "DROP SEQUENCE"),
                _ => ("a", "table", "DROP TABLE"),
            };
            let wanted_article = if word == "index" { "an" } else { "a" };
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{}\" is not {wanted_article} {word}", relation.name),
            )
            .hint(format!("Use {command} to remove {article} {own}.")));
        }
        Ok(Ok(Object::Relation(relation.oid)))
    }

    /// Drops the objects and (with CASCADE) all that depends on them. Errors: 2BP01 with the list of dependents; one that is named twice
    /// makes its message that of several.
    pub(super) fn drop_objects(&mut self, named: &[Object], cascade: bool) -> Result<()> {
        self.drop_objects_among(named, named.len(), cascade)
    }

    /// As [`Ddl::drop_objects`], where the statement is about `count` objects, with those of other kinds.
    pub(super) fn drop_objects_among(&mut self, named: &[Object], count: usize, cascade: bool) -> Result<()> {
        let mut there = BTreeSet::new();
        let targets: &[Object] = &named.iter().copied().filter(|target| there.insert(*target)).collect::<Vec<_>>();
        let mut stored = self.stored_references()?;
        stored.extend(self.further_references());
        for &target in targets {
            work::visit();
            if let Object::Trigger(table, oid) = target {
                let parent = self.catalog.trigger(oid).map_or(0, |(_, t)| t.parent);
                let above = self.catalog.trigger(parent).map(|(r, t)| Object::Trigger(r.oid, t.oid));
                if let Some(above) = above.filter(|a| !targets.contains(a)) {
                    let (own, required) = (self.describe(Object::Trigger(table, oid)), self.describe(above));
                    let message = format!("cannot drop {own} because {required} requires it");
                    return Err(PgError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                        .hint(format!("You can drop {required} instead.")));
                }
            }
            if let Object::Relation(oid) = target {
                let parent = self.catalog.relation(oid).filter(|r| matches!(r.kind, RelationKind::Index(_)));
                let parent = parent.and_then(|r| r.inheritance.parents.first().copied()).map(Object::Relation);
                if let Some(parent) = parent.filter(|p| !targets.contains(p)) {
                    let (own, required) = (self.describe(target), self.describe(parent));
                    let message = format!("cannot drop {own} because {required} requires it");
                    return Err(PgError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                        .hint(format!("You can drop {required} instead.")));
                }
                let owner = self.catalog.relations.values().find_map(|r| {
                    r.constraints
                        .iter()
                        .find(|c| c.index == oid && !matches!(c.kind, ConstraintKind::ForeignKey { .. }))
                        .map(|c| Object::Constraint(r.oid, c.oid))
                });
                if let Some(constraint) = owner {
                    if !targets.contains(&constraint) {
                        let described = self.describe(constraint);
                        return Err(PgError::new(
                            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                            format!("cannot drop {} because {described} requires it", self.describe(target)),
                        )
                        .hint(format!("You can drop {described} instead.")));
                    }
                }
                if let Some(RelationKind::Sequence(s)) = self.catalog.relation(oid).map(|r| &r.kind) {
                    if let (Some((table, attnum)), true) = (s.owned_by, s.identity) {
                        if !targets.contains(&Object::Relation(table)) {
                            let described = self.describe(Object::Column(table, attnum));
                            return Err(PgError::new(
                                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                                format!("cannot drop {} because {described} requires it", self.describe(target)),
                            )
                            .hint(format!("You can drop {described} instead.")));
                        }
                    }
                }
            }
        }
        for &target in targets {
            work::visit();
            let Object::Type(ty) = target else { continue };
            let Some(UserTypeKind::Multirange { range }) = self.catalog.types.get(&ty).map(|t| &t.kind) else {
                continue;
            };
            if !targets.contains(&Object::Type(*range)) {
                let described = self.describe(Object::Type(*range));
                return Err(PgError::new(
                    SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                    format!("cannot drop {} because {described} requires it", self.describe(target)),
                )
                .hint(format!("You can drop {described} instead.")));
            }
        }
        let mut all: Vec<Object> = targets.to_vec();
        let mut seen: BTreeSet<Object> = targets.iter().copied().collect();
        let mut reported: Vec<(Object, Object)> = Vec::new();
        // what goes with something else that goes, as the parts of a dropped table do, is not told of
        let inside = |object: Object, seen: &BTreeSet<Object>| match object {
            Object::Constraint(table, _)
            | Object::Default(table, _)
            | Object::Column(table, _)
            | Object::Policy(table, _)
            | Object::Rule(table, _)
            | Object::Trigger(table, _) => seen.contains(&Object::Relation(table)),
            Object::DomainConstraint(ty, _) | Object::Attribute(ty, _) => seen.contains(&Object::Type(ty)),
            _ => false,
        };
        let mut silent: BTreeSet<Object> = BTreeSet::new();
        // as PostgreSQL tells it, in the reverse order of finding: the last of the dependents first, each after all that depends on
        // it; each with what it goes because of
        let mut open: Vec<(Object, Option<(Object, bool)>, bool)> =
            targets.iter().rev().map(|&t| (t, None, false)).collect();
        while let Some((object, because, seen_through)) = open.pop() {
            work::visit();
            if seen_through {
                if let Some((on, false)) = because {
                    reported.push((object, on));
                }
                continue;
            }
            if let Some((on, automatic)) = because {
                if inside(object, &seen) || !seen.insert(object) {
                    continue;
                }
                all.push(object);
                open.push((object, Some((on, automatic)), true));
            }
            let mut dependents = self.dependents(object, &stored)?;
            dependents.sort_by_key(|(d, _)| d.place());
            silent.extend(dependents.iter().filter(|(_, automatic)| *automatic).map(|(d, _)| *d));
            open.extend(dependents.into_iter().map(|(d, automatic)| (d, Some((object, automatic)), false)));
        }
        reported.retain(|(o, _)| !silent.contains(o) && !inside(*o, &seen));
        reported.reverse();
        if !reported.is_empty() {
            if !cascade {
                let message = match named {
                    [one] if count == 1 => {
                        format!("cannot drop {} because other objects depend on it", self.describe(*one))
                    }
                    _ => "cannot drop desired object(s) because other objects depend on them".into(),
                };
                let detail: Vec<String> = reported
                    .iter()
                    .map(|(d, on)| {
                        // what a foreign key depends on is the index behind the key
                        let on = match (d, on) {
                            (Object::Constraint(..), Object::Constraint(table, key)) => self
                                .catalog
                                .relation(*table)
                                .and_then(|r| r.constraints.iter().find(|c| c.oid == *key && c.index != 0))
                                .map_or(*on, |c| Object::Relation(c.index)),
                            _ => *on,
                        };
                        format!("{} depends on {}", self.describe(*d), self.describe(on))
                    })
                    .collect();
                return Err(PgError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                    .detail(detail.join("\n"))
                    .hint("Use DROP ... CASCADE to drop the dependent objects too."));
            }
            let lines: Vec<String> =
                reported.iter().map(|(d, _)| format!("drop cascades to {}", self.describe(*d))).collect();
            match &lines[..] {
                [one] => self.notice(SqlState::SUCCESSFUL_COMPLETION, one.clone()),
                several => {
                    let notice = PgError::new(
                        SqlState::SUCCESSFUL_COMPLETION,
                        format!("drop cascades to {} other objects", several.len()),
                    )
                    .severity(Severity::Notice)
                    .detail(several.join("\n"));
                    self.notices.push(notice);
                }
            }
        }
        self.remove(&all)
    }

    /// Removes objects from the catalog, the store and SQLite.
    pub(super) fn remove(&mut self, all: &[Object]) -> Result<()> {
        if !self.session.private {
            self.ensure_store()?;
        }
        self.changed = true;
        let mut attributes = Vec::new();
        let tables: Vec<Oid> = all
            .iter()
            .filter_map(|o| match o {
                Object::Relation(oid) => Some(*oid),
                _ => None,
            })
            .filter(|oid| self.catalog.relation(*oid).is_some_and(|r| r.is_stored()))
            .collect();
        // Parts of tables that stay.
        for &object in all {
            work::visit();
            match object {
                Object::Constraint(table, constraint) if !tables.contains(&table) => {
                    self.remove_constraint(table, constraint)?
                }
                Object::Default(table, attnum) if !tables.contains(&table) => {
                    let mut relation = (**self.required(table)?).clone();
                    for column in relation.columns.iter_mut().filter(|c| c.attnum == attnum) {
                        work::visit();
                        column.default = None;
                    }
                    self.put_relation(relation)?;
                }
                Object::Column(table, attnum) if !tables.contains(&table) => self.remove_column(table, attnum)?,
                Object::Trigger(table, trigger) if !tables.contains(&table) => {
                    let mut relation = (**self.required(table)?).clone();
                    relation.triggers.retain(|t| t.oid != trigger);
                    self.put_relation(relation)?;
                    self.forget_comments(trigger)?;
                }
                Object::Statistics(table, oid) if !tables.contains(&table) => {
                    let mut relation = (**self.required(table)?).clone();
                    relation.statistics.retain(|s| s.oid != oid);
                    self.put_relation(relation)?;
                    self.forget_comments(oid)?;
                }
                Object::Policy(table, policy) if !tables.contains(&table) => {
                    let mut relation = (**self.required(table)?).clone();
                    relation.security.policies.retain(|p| p.oid != policy);
                    self.put_relation(relation)?;
                    self.forget_comments(policy)?;
                }
                Object::Rule(table, rule) if !all.contains(&Object::Relation(table)) => {
                    let mut relation = (**self.required(table)?).clone();
                    relation.rules.retain(|r| r.oid != rule);
                    self.put_relation(relation)?;
                    self.forget_comments(rule)?;
                }
                Object::DomainConstraint(ty, constraint) if !all.contains(&Object::Type(ty)) => {
                    self.remove_domain_constraint(ty, constraint)?
                }
                Object::Attribute(ty, at) if !all.contains(&Object::Type(ty)) => attributes.push((ty, at)),
                _ => {}
            }
        }
        // from behind: those before keep their numbers
        attributes.sort_unstable_by(|a, b| b.cmp(a));
        for (ty, at) in attributes {
            work::visit();
            self.remove_attribute(ty, at)?;
        }
        // Referencing tables go first, so that dropping the referenced one touches no row of theirs.
        let mut left = tables.clone();
        while !left.is_empty() {
            work::visit();
            let next = left.iter().position(|&t| {
                !self.catalog.referencing(t).any(|(child, c)| !c.managed && child.oid != t && left.contains(&child.oid))
            });
            let table = match next {
                Some(i) => left.remove(i),
                // (they reference each other)
                None => {
                    self.take_keys_from_sqlite(left[0])?;
                    continue;
                }
            };
            self.remove_relation(table)?;
        }
        for &object in all {
            work::visit();
            match object {
                Object::Relation(oid) if self.catalog.relation(oid).is_some() => self.remove_relation(oid)?,
                Object::Operator(oid) => self.remove_operator(oid)?,
                Object::Cast(from, to) => self.remove_cast(from, to)?,
                Object::Function(oid) => {
                    self.catalog.remove_function(oid);
                    self.forget_object(oid)?;
                    self.forget_comments(oid)?;
                }
                Object::Type(oid) => {
                    let of_domain = self.catalog.domain_checks().filter(|c| c.domain == oid);
                    for constraint in of_domain.map(|c| c.check.oid).collect::<Vec<_>>() {
                        work::visit();
                        self.forget_comments(constraint)?;
                    }
                    self.catalog.remove_type(oid);
                    self.forget_object(oid)?;
                    self.forget_comments(oid)?;
                }
                _ => {}
            }
        }
        // these ask what is left whether it uses them; a dictionary is used by configurations only
        for &object in all {
            work::visit();
            match object {
                Object::Collation(oid) => {
                    if let Some(collation) = self.catalog.collations.get(&oid).cloned() {
                        self.remove_collation(&collation, true)?;
                    }
                }
                Object::TextSearchConfiguration(oid) => self.remove_ts_configuration(oid)?,
                _ => {}
            }
        }
        for &object in all {
            work::visit();
            if let Object::TextSearchDictionary(oid) = object {
                if let Some(dictionary) = self.catalog.ts_dictionaries.get(&oid).cloned() {
                    self.remove_ts_dictionary(&dictionary, true)?;
                }
            }
        }
        for &object in all {
            work::visit();
            if let Object::Schema(oid) = object {
                if let Some(extension) = self.catalog.extensions.values().find(|e| e.schema == oid) {
                    return Err(PgError::not_supported(format!(
                        "dropping the schema of extension \"{}\"",
                        extension.name
                    )));
                }
                if let Some(schema) = self.catalog.schemas.get(&oid).cloned() {
                    self.catalog.remove_schema(oid);
                    let mut properties = self.catalog.properties.clone();
                    properties.default_acls.retain(|d| d.schema != oid);
                    if properties != self.catalog.properties {
                        self.put_properties(properties)?;
                    }
                    self.forget_object(oid)?;
                    if oid < oid::FIRST_USER_OID {
                        store::storing::put_dropped_schema(self.conn, &schema)?;
                    }
                    self.forget_comments(oid)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn required(&self, oid: Oid) -> Result<&std::sync::Arc<Relation>> {
        self.catalog.relation(oid).ok_or_else(|| PgError::internal(format!("relation {oid} is not there")))
    }

    /// The comments of an object that goes, here and in the file.
    pub(super) fn forget_comments(&mut self, object: Oid) -> Result<()> {
        let before = self.catalog.comments.len();
        self.catalog.comments.retain(|key, _| key.1 != object);
        match self.session.private || self.catalog.comments.len() == before {
            true => Ok(()),
            false => store::storing::delete_comments(self.conn, object),
        }
    }

    /// Takes an object out of the store, which knows nothing of temporary ones.
    fn forget_object(&self, oid: Oid) -> Result<()> {
        match self.session.private {
            true => Ok(()),
            false => store::storing::delete_object(self.conn, oid),
        }
    }

    /// One relation: from SQLite, the store and the catalog, with a table's indexes.
    fn remove_relation(&mut self, oid: Oid) -> Result<()> {
        let relation = self.required(oid)?.clone();
        let name = quoted(&relation.sqlite_name);
        let database = if relation.temporary { "temp" } else { "main" };
        match &relation.kind {
            RelationKind::Table | RelationKind::MaterializedView { .. } => {
                self.sqlite(&format!("DROP TABLE {database}.{name}"))?;
                let indexes: Vec<Oid> = self.catalog.indexes_of(oid).map(|(r, _)| r.oid).collect();
                for index in indexes {
                    work::visit();
                    self.catalog.remove_relation(index);
                    self.forget_object(index)?;
                    self.forget_comments(index)?;
                }
            }
            RelationKind::ForeignView => {
                // a virtual table, which is shown as a view, has more in the file than itself
                let kind = "SELECT type FROM main.sqlite_schema WHERE name = ?1";
                let kind: String =
                    self.conn.query_row(kind, [&relation.sqlite_name], |r| r.get(0)).map_err(store::sqlite_error)?;
                if kind != "view" {
                    return Err(PgError::not_supported("DROP of a virtual table"));
                }
                self.sqlite(&format!("DROP VIEW {database}.{name}"))?
            }
            RelationKind::Index(index)
                if !relation.sqlite_name.is_empty() && !relation.sqlite_name.starts_with("sqlite_autoindex_") =>
            {
                if index.inverted {
                    self.drop_terms(oid)?;
                }
                self.drop_nulls_index(oid)?;
                self.sqlite(&format!("DROP INDEX IF EXISTS {database}.{name}"))?
            }
            RelationKind::Sequence(_) => self.sequences.push(oid),
            _ => {}
        }
        self.catalog.remove_relation(oid);
        self.forget_object(oid)?;
        let parts = (relation.constraints.iter().map(|c| c.oid))
            .chain(relation.triggers.iter().flat_map(|t| [t.oid, t.constraint]))
            .chain(relation.rules.iter().map(|r| r.oid))
            .chain(relation.security.policies.iter().map(|p| p.oid))
            .chain(relation.statistics.iter().map(|s| s.oid));
        for part in parts.filter(|p| *p != 0).chain([oid]) {
            work::visit();
            self.forget_comments(part)?;
        }
        Ok(())
    }
}
