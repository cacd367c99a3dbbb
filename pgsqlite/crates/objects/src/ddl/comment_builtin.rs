//! COMMENT ON the objects that every database has: those of pg_catalog and information_schema, and languages and access methods. They belong
//! to the role that the file began with.

use super::schema::{CLASS_COLLATION, CLASS_FUNCTION, CLASS_OPERATOR, CLASS_RELATION, CLASS_TYPE};
use super::{strings, Ddl, NodeEnum};
use crate::pg_catalog;
use pgsqlite_sql::builtins::catalog as builtin;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast::{self, ObjectType as T};
use pgsqlite_types::{oid, work, Oid, PgError, Result, SqlState};

const CLASS_LANGUAGE: Oid = 2612;
const CLASS_ACCESS_METHOD: Oid = 2601;
const CLASS_OPERATOR_CLASS: Oid = 2616;
const CLASS_OPERATOR_FAMILY: Oid = 2753;

/// A built-in object: how PostgreSQL calls it where it belongs to another role, and under what its comment is kept.
struct Found {
    word: &'static str,
    name: String,
    class: Oid,
    object: Oid,
}

impl Ddl<'_> {
    /// Comments on a built-in object; false: the statement names another object, or none. Errors: 42501 for those who do not own it.
    pub(super) fn comment_on_builtin(&mut self, statement: &ast::CommentStmt) -> Result<bool> {
        let Some(object) = statement.object.as_ref().and_then(|o| o.node.as_ref()) else { return Ok(false) };
        let Some(found) = self.builtin_object(statement.objtype(), object)? else { return Ok(false) };
        self.check_owned(found.word, &found.name, BOOTSTRAP_ROLE)?;
        self.set_comment(found.class, found.object, 0, Some(&statement.comment))?;
        Ok(true)
    }

    fn builtin_object(&self, kind: T, object: &NodeEnum) -> Result<Option<Found>> {
        let found = |word, name: &str, class, object| Ok(Some(Found { word, name: name.into(), class, object }));
        match (kind, object) {
            (T::ObjectFunction | T::ObjectRoutine | T::ObjectAggregate, NodeEnum::ObjectWithArgs(named)) => {
                if named.args_unspecified || self.find_function(named, kind)?.is_ok() {
                    return Ok(None);
                }
                let parts = strings(&named.objname);
                let (schema, name) = self.qualified(&parts)?;
                let types = self.argument_types(named)?;
                let is_meant = |p: &&&builtin::Proc| {
                    p.args == types && self.is_named_in(p.oid, schema) && (kind != T::ObjectAggregate || p.kind == b'a')
                };
                let word = if kind == T::ObjectAggregate { "aggregate" } else { "function" };
                let mut procs = builtin::procs_named(name).filter(|p| is_meant(&p));
                procs.next().map_or(Ok(None), |p| found(word, name, CLASS_FUNCTION, p.oid))
            }
            (T::ObjectOperator, NodeEnum::ObjectWithArgs(named)) => {
                let parts = strings(&named.objname);
                let (schema, name) = self.qualified(&parts)?;
                let types = self.argument_types(named)?;
                let [left, right] = types[..] else { return Ok(None) };
                let path = self.path_of(schema);
                if path.iter().any(|s| self.own_operator(*s, name, left, right).is_some()) {
                    return Ok(None);
                }
                let is_meant =
                    |o: &&builtin::Operator| (o.left, o.right) == (left, right) && self.is_named_in(o.oid, schema);
                let operator = builtin::operators_named(name).find(|o| is_meant(o));
                operator.map_or(Ok(None), |o| found("operator", name, CLASS_OPERATOR, o.oid))
            }
            (T::ObjectType | T::ObjectDomain, NodeEnum::TypeName(name)) => {
                let ty = match self.type_name(name) {
                    Ok((ty, _)) => ty,
                    Err(error) if error.code() == SqlState::FEATURE_NOT_SUPPORTED => return Err(error),
                    Err(_) => return Ok(None),
                };
                if ty >= oid::FIRST_USER_OID || self.catalog.types.contains_key(&ty) || is_of_extension(ty) {
                    return Ok(None);
                }
                found("type", &self.display_type(ty), CLASS_TYPE, ty)
            }
            (T::ObjectLanguage, NodeEnum::String(name)) => match pg_catalog::language_named(&name.sval) {
                Some(language) => found("language", &name.sval, CLASS_LANGUAGE, language),
                None => {
                    let message = format!("language \"{}\" does not exist", name.sval);
                    Err(PgError::new(SqlState::UNDEFINED_OBJECT, message))
                }
            },
            (T::ObjectAccessMethod, NodeEnum::String(name)) => {
                let method = builtin::access_methods().iter().find(|m| m.1 == name.sval && !is_of_extension(m.0));
                if method.is_some() && !self.is_superuser() {
                    // (it has no owner)
                    let message = "must be superuser to comment on access method".to_string();
                    return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
                }
                method.map_or(Ok(None), |m| found("access method", m.1, CLASS_ACCESS_METHOD, m.0))
            }
            (_, NodeEnum::List(list)) => {
                let parts = strings(&list.items);
                self.builtin_of_list(kind, &parts)
            }
            _ => Ok(None),
        }
    }

    fn builtin_of_list(&self, kind: T, parts: &[&str]) -> Result<Option<Found>> {
        let found = |word, name: &str, class, object| Ok(Some(Found { word, name: name.into(), class, object }));
        match kind {
            T::ObjectTable | T::ObjectView => {
                let (schema, name) = self.qualified(parts)?;
                let Some(relation) = self.find_relation(schema, name) else { return Ok(None) };
                if !matches!(relation.kind, RelationKind::System) {
                    return Ok(None);
                }
                let word = if pg_catalog::relation_kind(&relation) == b'v' { "view" } else { "table" };
                if (word == "view") != (kind == T::ObjectView) {
                    let message =
                        format!("\"{name}\" is not a {}", if kind == T::ObjectView { "view" } else { "table" });
                    return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, message));
                }
                found(word, name, CLASS_RELATION, relation.oid)
            }
            T::ObjectCollation => {
                let collation = self.collation_oid(parts)?;
                match builtin::collation_by_oid(collation) {
                    Some(builtin) => found("collation", builtin.name, CLASS_COLLATION, collation),
                    None => Ok(None),
                }
            }
            T::ObjectOpclass => {
                let [method, name @ ..] = parts else { return Ok(None) };
                let (schema, name) = self.qualified(name)?;
                let is_meant = |c: &&builtin::OperatorClass| {
                    c.method == *method && c.name == name && self.is_named_in(c.oid, schema)
                };
                let class = builtin::all_operator_classes().iter().find(is_meant);
                class.map_or(Ok(None), |c| found("operator class", name, CLASS_OPERATOR_CLASS, c.oid))
            }
            T::ObjectOpfamily => {
                let [method, name @ ..] = parts else { return Ok(None) };
                let (schema, name) = self.qualified(name)?;
                let Some(method) = builtin::access_methods().iter().find(|m| m.1 == *method) else { return Ok(None) };
                for family in builtin::all_operator_families() {
                    work::visit();
                    let [id, of, called, ..] = family[..] else { continue };
                    let id: Oid = id.parse().unwrap_or_default();
                    if called == name && of == method.0.to_string() && self.is_named_in(id, schema) {
                        return found("operator family", name, CLASS_OPERATOR_FAMILY, id);
                    }
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn argument_types(&self, named: &ast::ObjectWithArgs) -> Result<Vec<Oid>> {
        let ty = |node: &ast::Node| match &node.node {
            Some(NodeEnum::TypeName(name)) => self.type_name(name).map(|t| t.0),
            _ => Ok(0),
        };
        named.objargs.iter().map(ty).collect()
    }

    fn path_of(&self, schema: &str) -> Vec<Oid> {
        match schema {
            "" => self.environment.search_path.to_vec(),
            schema => self.catalog.schema_oid(schema).into_iter().collect(),
        }
    }

    /// Whether a built-in object that is no extension's is in this schema (none: in one of the path).
    fn is_named_in(&self, object: Oid, schema: &str) -> bool {
        let own = self.catalog.schema_of_builtin(object).filter(|_| !is_of_extension(object));
        own.is_some_and(|own| own == PG_CATALOG && schema.is_empty() || self.path_of(schema).contains(&own))
    }
}

/// The extension's objects come and go with it.
fn is_of_extension(object: Oid) -> bool {
    pgsqlite_sql::builtins::extensions::of(object).is_some()
}
