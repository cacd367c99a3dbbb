//! COMMENT.

use super::schema::{
    CLASS_COLLATION, CLASS_CONSTRAINT, CLASS_DATABASE, CLASS_EXTENSION, CLASS_RELATION, CLASS_ROLE, CLASS_SCHEMA,
    CLASS_TYPE, PLPGSQL,
};
use super::{strings, Ddl, NodeEnum};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::{PgError, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn comment(&mut self, statement: &ast::CommentStmt) -> Result<String> {
        use ast::ObjectType as T;
        let kind = statement.objtype();
        if self.comment_on_builtin(statement)? {
            return Ok("COMMENT".into());
        }
        if matches!(kind, T::ObjectFunction | T::ObjectProcedure | T::ObjectRoutine | T::ObjectAggregate) {
            let function = self.function_of(statement.object.as_deref(), kind)?;
            self.set_comment(super::schema::CLASS_FUNCTION, function.oid, 0, Some(&statement.comment))?;
            return Ok("COMMENT".into());
        }
        if kind == T::ObjectOperator {
            return self.comment_on_operator(statement.object.as_deref(), &statement.comment);
        }
        if kind == T::ObjectCast {
            return self.comment_on_cast(statement.object.as_deref(), &statement.comment);
        }
        let parts: Vec<&str> = match statement.object.as_ref().and_then(|o| o.node.as_ref()) {
            Some(NodeEnum::List(list)) => strings(&list.items),
            Some(NodeEnum::String(s)) => vec![s.sval.as_str()],
            Some(NodeEnum::TypeName(t)) => strings(&t.names),
            _ => {
                return Err(PgError::not_supported(format!("COMMENT ON {}", word_of(kind))));
            }
        };
        let find = |parts: &[&str]| -> Result<std::sync::Arc<Relation>> {
            let (schema, name) = self.qualified(parts)?;
            self.find_relation(schema, name).ok_or_else(|| {
                PgError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{}\" does not exist", parts.join(".")))
            })
        };
        let (class, object, sub) = match statement.objtype() {
            T::ObjectTable | T::ObjectView | T::ObjectMatview | T::ObjectIndex | T::ObjectSequence => {
                let relation = find(&parts)?;
                let (is, article_word) = match statement.objtype() {
                    T::ObjectTable => (relation.kind == RelationKind::Table, "a table"),
                    T::ObjectView => {
                        (matches!(relation.kind, RelationKind::View { .. } | RelationKind::ForeignView), "a view")
                    }
                    T::ObjectMatview => {
                        (matches!(relation.kind, RelationKind::MaterializedView { .. }), "a materialized view")
                    }
                    T::ObjectIndex => (matches!(relation.kind, RelationKind::Index(_)), "an index"),
                    _ => (matches!(relation.kind, RelationKind::Sequence(_)), "a sequence"),
                };
                if !is {
                    return Err(PgError::new(
                        SqlState::WRONG_OBJECT_TYPE,
                        format!("\"{}\" is not {article_word}", relation.name),
                    ));
                }
                self.check_owner(&relation)?;
                (CLASS_RELATION, relation.oid, 0)
            }
            T::ObjectColumn => {
                let [table @ .., column] = &parts[..] else {
                    return Err(PgError::new(SqlState::SYNTAX_ERROR, "column name must be qualified"));
                };
                if table.is_empty() {
                    return Err(PgError::new(SqlState::SYNTAX_ERROR, "column name must be qualified"));
                }
                if let Ok(composite) = self.find_type(table) {
                    if let UserTypeKind::Composite { fields } = &composite.kind {
                        self.check_owned("relation", &composite.name, composite.owner)?;
                        let at = fields.iter().position(|f| f.0 == *column).ok_or_else(|| {
                            PgError::new(
                                SqlState::UNDEFINED_COLUMN,
                                format!("column \"{column}\" of relation \"{}\" does not exist", composite.name),
                            )
                        })?;
                        let class = pgsqlite_sql::catalog::composite::composite_class(composite.oid);
                        let number = composite.attribute_numbers().nth(at).unwrap_or_default();
                        self.set_comment(CLASS_RELATION, class, number.into(), Some(&statement.comment))?;
                        return Ok("COMMENT".into());
                    }
                }
                let relation = find(table)?;
                let column = relation.column(column).ok_or_else(|| {
                    PgError::new(
                        SqlState::UNDEFINED_COLUMN,
                        format!("column \"{column}\" of relation \"{}\" does not exist", relation.name),
                    )
                })?;
                self.check_owner_of_part(&relation)?;
                (CLASS_RELATION, relation.oid, i32::from(column.attnum))
            }
            T::ObjectStatisticExt => (super::schema::CLASS_STATISTICS, self.commented_statistics(&parts)?, 0),
            T::ObjectPolicy => {
                let comment = (!statement.comment.is_empty()).then_some(statement.comment.as_str());
                self.comment_on_policy(&parts, comment)?;
                return Ok("COMMENT".into());
            }
            T::ObjectTrigger => {
                let [table @ .., name] = &parts[..] else {
                    return Err(PgError::internal("a trigger without a table"));
                };
                let relation = find(table)?;
                let trigger = relation.triggers.iter().find(|t| t.name == *name).ok_or_else(|| {
                    PgError::new(
                        SqlState::UNDEFINED_OBJECT,
                        format!("trigger \"{name}\" for table \"{}\" does not exist", relation.name),
                    )
                })?;
                self.check_owner_of_part(&relation)?;
                (super::schema::CLASS_TRIGGER, trigger.oid, 0)
            }
            T::ObjectRule => {
                let [table @ .., name] = &parts[..] else {
                    return Err(PgError::internal("a rule without a relation"));
                };
                let relation = find(table)?;
                let rule = self.rule_oid(&relation, name)?;
                self.check_owner_of_part(&relation)?;
                (super::schema::CLASS_RULE, rule, 0)
            }
            T::ObjectTabconstraint => {
                let [table @ .., name] = &parts[..] else {
                    return Err(PgError::internal("a constraint without a table"));
                };
                let relation = find(table)?;
                let constraint = relation.constraints.iter().find(|c| c.name == *name).ok_or_else(|| {
                    PgError::new(
                        SqlState::UNDEFINED_OBJECT,
                        format!("constraint \"{name}\" for table \"{}\" does not exist", relation.name),
                    )
                })?;
                self.check_owner_of_part(&relation)?;
                (CLASS_CONSTRAINT, constraint.oid, 0)
            }
            T::ObjectSchema => {
                let oid = self.catalog.schema_oid(parts[0]).ok_or_else(|| {
                    PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{}\" does not exist", parts[0]))
                })?;
                self.check_owned("schema", parts[0], self.catalog.schemas[&oid].owner)?;
                (CLASS_SCHEMA, oid, 0)
            }
            T::ObjectType | T::ObjectDomain => (CLASS_TYPE, self.find_owned_type(&parts)?.oid, 0),
            T::ObjectDatabase if self.catalog.is_database(parts[0]) => {
                self.check_owned("database", parts[0], self.catalog.properties.owner)?;
                (CLASS_DATABASE, 1, 0)
            }
            T::ObjectDomconstraint => {
                let (domain, name) = match statement.object.as_ref().and_then(|o| o.node.as_ref()) {
                    Some(NodeEnum::List(list)) => match &list.items[..] {
                        [ast::Node { node: Some(NodeEnum::TypeName(t)) }, ast::Node { node: Some(NodeEnum::String(s)) }] => {
                            (strings(&t.names), s.sval.as_str())
                        }
                        _ => return Err(PgError::internal("a domain constraint without a name")),
                    },
                    _ => return Err(PgError::internal("a domain constraint without a name")),
                };
                let user_type = self.find_owned_type(&domain)?;
                let UserTypeKind::Domain { checks, not_null_constraint, .. } = &user_type.kind else {
                    return Err(PgError::new(
                        SqlState::WRONG_OBJECT_TYPE,
                        format!("\"{}\" is not a domain", user_type.name),
                    ));
                };
                let check = checks.iter().chain(not_null_constraint).find(|c| c.name == name).ok_or_else(|| {
                    PgError::new(
                        SqlState::UNDEFINED_OBJECT,
                        format!("constraint \"{name}\" for domain {} does not exist", user_type.name),
                    )
                })?;
                (CLASS_CONSTRAINT, check.oid, 0)
            }
            T::ObjectCollation => (CLASS_COLLATION, self.user_collation(&parts)?.oid, 0),
            T::ObjectExtension if parts[0] == "plpgsql" => {
                self.check_owned("extension", "plpgsql", BOOTSTRAP_ROLE)?;
                (CLASS_EXTENSION, PLPGSQL, 0)
            }
            T::ObjectExtension => {
                let extension = self.catalog.extensions.get(parts[0]).ok_or_else(|| {
                    PgError::new(SqlState::UNDEFINED_OBJECT, format!("extension \"{}\" does not exist", parts[0]))
                })?;
                (CLASS_EXTENSION, extension.oid, 0)
            }
            T::ObjectDatabase => {
                let known = self.session.databases.is_some_and(|d| d.list().iter().any(|n| n == parts[0]));
                if known {
                    return Err(PgError::not_supported("COMMENT ON a database other than the current one"));
                }
                // PostgreSQL only warns, so that a dump can be read into a database of another name
                let warning =
                    PgError::new(SqlState::UNDEFINED_DATABASE, format!("database \"{}\" does not exist", parts[0]));
                self.notices.push(warning.severity(pgsqlite_types::error::Severity::Warning));
                return Ok("COMMENT".into());
            }
            T::ObjectRole => {
                let role = self.role_named(parts[0])?;
                let denied = |what: &str| {
                    let detail = format!("The current user must have the {what}.");
                    Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, "permission denied").detail(detail))
                };
                if role.superuser && !self.is_superuser() {
                    return denied("SUPERUSER attribute");
                }
                if !self.may_create_roles() {
                    return denied("CREATEROLE attribute");
                }
                if !self.administers(role.oid) {
                    return denied(&format!("ADMIN option on role \"{}\"", role.name));
                }
                (CLASS_ROLE, role.oid, 0)
            }
            other => {
                return Err(PgError::not_supported(format!("COMMENT ON {}", word_of(other))));
            }
        };
        self.set_comment(class, object, sub, Some(&statement.comment))?;
        Ok("COMMENT".into())
    }
}

/// A kind of objects, as a statement names it.
fn word_of(kind: ast::ObjectType) -> String {
    use ast::ObjectType as T;
    match kind {
        T::ObjectLargeobject => "LARGE OBJECT".into(),
        T::ObjectOpclass => "OPERATOR CLASS".into(),
        T::ObjectOpfamily => "OPERATOR FAMILY".into(),
        T::ObjectTsconfiguration => "TEXT SEARCH CONFIGURATION".into(),
        T::ObjectTsdictionary => "TEXT SEARCH DICTIONARY".into(),
        T::ObjectTsparser => "TEXT SEARCH PARSER".into(),
        T::ObjectTstemplate => "TEXT SEARCH TEMPLATE".into(),
        kind => kind.as_str_name().trim_start_matches("OBJECT_").replace('_', " "),
    }
}

/// The parts of a qualified name.
pub(super) fn list_of(object: Option<&ast::Node>) -> Result<Vec<&str>> {
    match object.and_then(|o| o.node.as_ref()) {
        Some(NodeEnum::List(list)) => Ok(strings(&list.items)),
        _ => Err(PgError::internal("an object without a name")),
    }
}
