//! ALTER DOMAIN: defaults, NOT NULL, CHECK constraints, checked against the columns that use the domain.

use super::{strings, Ddl, NodeEnum};
use pgsqlite_metadata::store::sqlite_error;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

/// The parts of a domain's definition.
struct Domain {
    base: Oid,
    typmod: i32,
    not_null: bool,
    default: Option<String>,
    checks: Vec<DomainConstraint>,
    collation: Oid,
}

impl Domain {
    fn kind(self) -> UserTypeKind {
        let Domain { base, typmod, not_null, default, checks, collation } = self;
        UserTypeKind::Domain { base, typmod, not_null, default, checks, collation }
    }
}

impl Ddl<'_> {
    /// The domain a name means. Errors: 42704, 42809, 42501.
    fn find_domain(&self, parts: &[&str]) -> Result<(UserType, Domain)> {
        let not_domain = |shown: String| PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("{shown} is not a domain"));
        let found = match self.find_type(parts) {
            Ok(found) => found,
            // a table's row type is a type, too
            Err(_) if self.find_relation("", parts.last().copied().unwrap_or_default()).is_some() => {
                return Err(not_domain(parts.join(".")))
            }
            Err(e) => return Err(e),
        };
        let UserTypeKind::Domain { base, typmod, not_null, default, checks, collation } = found.kind.clone() else {
            return Err(not_domain(self.display_type(found.oid)));
        };
        self.check_owned("type", &found.name, found.owner)?;
        Ok(((*found).clone(), Domain { base, typmod, not_null, default, checks, collation }))
    }

    /// DEFAULT of a domain, as a text to store; None: NULL, which is no default.
    pub(super) fn new_domain_default(&self, name: &str, base: (Oid, i32), node: &ast::Node) -> Result<Option<String>> {
        self.default_expression(name, base, node)
    }

    pub(super) fn alter_domain(&mut self, statement: &ast::AlterDomainStmt) -> Result<String> {
        let tag = "ALTER DOMAIN".to_string();
        let (user_type, mut domain) = self.find_domain(&strings(&statement.type_name))?;
        let node = statement.def.as_ref();
        let named = |domain: &Domain, name: &str| domain.checks.iter().position(|c| c.name == name);
        let missing = |name: &str| {
            PgError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("constraint \"{name}\" of domain \"{}\" does not exist", user_type.name),
            )
        };
        match statement.subtype.as_str() {
            // SET and DROP DEFAULT
            "T" => {
                domain.default = match node {
                    // (an error of ALTER DOMAIN has no position)
                    Some(node) => self
                        .new_domain_default(&user_type.name, (domain.base, domain.typmod), node)
                        .map_err(PgError::without_position)?,
                    None => None,
                };
            }
            "N" => domain.not_null = false,
            "O" => {
                if !domain.not_null {
                    for (relation, column) in self.columns_of_domain(&user_type)? {
                        work::visit();
                        let sql = format!(
                            "SELECT EXISTS (SELECT 1 FROM {} WHERE {} IS NULL)",
                            super::sqlite_table(&relation),
                            quoted(&column.name)
                        );
                        if self.conn.query_row(&sql, [], |r| r.get(0)).map_err(sqlite_error)? {
                            return Err(PgError::new(
                                SqlState::NOT_NULL_VIOLATION,
                                format!(
                                    "column \"{}\" of table \"{}\" contains null values",
                                    column.name, relation.name
                                ),
                            )
                            .schema(self.catalog.schema_name(relation.schema))
                            .table(&relation.name)
                            .column(&column.name));
                        }
                    }
                    domain.not_null = true;
                }
            }
            "C" => {
                let Some(NodeEnum::Constraint(c)) = node.and_then(|n| n.node.as_ref()) else {
                    return Err(PgError::internal("ADD CONSTRAINT without a constraint"));
                };
                if c.contype() != ast::ConstrType::ConstrCheck {
                    return Err(PgError::not_supported("this domain constraint").at(c.location));
                }
                let mut check = self
                    .domain_check(&user_type.name, user_type.schema, domain.base, domain.typmod, c, &domain.checks)
                    .map_err(PgError::without_position)?;
                check.not_valid = c.skip_validation;
                if !check.not_valid {
                    self.check_domain_values(&user_type, &domain, &check)?;
                }
                domain.checks.push(check);
            }
            "X" => match named(&domain, &statement.name) {
                Some(at) => {
                    let gone = domain.checks.remove(at);
                    self.forget_comments(gone.oid)?;
                }
                None if statement.missing_ok => {
                    self.notice(
                        SqlState::SUCCESSFUL_COMPLETION,
                        format!("{}, skipping", missing(&statement.name).message()),
                    );
                    return Ok(tag);
                }
                None => return Err(missing(&statement.name)),
            },
            "V" => {
                let at = named(&domain, &statement.name).ok_or_else(|| missing(&statement.name))?;
                let check = domain.checks[at].clone();
                self.check_domain_values(&user_type, &domain, &check)?;
                domain.checks[at].not_valid = false;
            }
            _ => return Err(PgError::not_supported("this form of ALTER DOMAIN")),
        }
        let has_range = |catalog: &Catalog| {
            catalog.types.values().any(|t| {
                matches!(&t.kind, UserTypeKind::Range(range) if catalog.holds_values_of(range.subtype, user_type.oid))
            })
        };
        if (domain.not_null || !domain.checks.is_empty()) && has_range(&self.catalog) {
            return Err(PgError::not_supported("a constraint of a domain that a range type is over"));
        }
        self.put_type(UserType { kind: domain.kind(), ..user_type })?;
        Ok(tag)
    }

    /// What DROP … CASCADE of something in the constraint's expression does.
    pub(super) fn remove_domain_constraint(&mut self, ty: Oid, constraint: Oid) -> Result<()> {
        let Some(user_type) = self.catalog.types.get(&ty).cloned() else { return Ok(()) };
        let mut changed = (*user_type).clone();
        if let UserTypeKind::Domain { checks, .. } = &mut changed.kind {
            checks.retain(|c| c.oid != constraint);
        }
        self.forget_comments(constraint)?;
        self.put_type(changed)
    }

    pub(super) fn rename_domain_constraint(&mut self, parts: &[&str], name: &str, new_name: &str) -> Result<()> {
        let (user_type, mut domain) = self.find_domain(parts)?;
        if domain.checks.iter().any(|c| c.name == new_name) {
            return Err(PgError::new(
                SqlState::DUPLICATE_OBJECT,
                format!("constraint \"{new_name}\" for domain {} already exists", user_type.name),
            ));
        }
        let check = domain.checks.iter_mut().find(|c| c.name == name).ok_or_else(|| {
            PgError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("constraint \"{name}\" for domain {} does not exist", user_type.name),
            )
        })?;
        check.name = new_name.to_string();
        self.put_type(UserType { kind: domain.kind(), ..user_type })
    }

    /// The table columns of this domain (or of one made of it). Errors: 0A000 where it is stored inside of other values, which
    /// PostgreSQL does not look into either.
    fn columns_of_domain(&self, user_type: &UserType) -> Result<Vec<(Relation, Column)>> {
        let mut out = Vec::new();
        for relation in self.catalog.relations.values().filter(|r| r.is_stored()) {
            work::visit();
            for column in relation.live_columns() {
                work::visit();
                if self.is_made_of(column.type_oid, user_type.oid) {
                    out.push(((**relation).clone(), column.clone()));
                } else if self.catalog.holds_values_of(column.type_oid, user_type.oid) {
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        format!(
                            "cannot alter type \"{}\" because column \"{}.{}\" uses it",
                            user_type.name, relation.name, column.name
                        ),
                    ));
                }
            }
        }
        Ok(out)
    }

    fn is_made_of(&self, ty: Oid, domain: Oid) -> bool {
        match self.catalog.types.get(&ty).map(|t| &t.kind) {
            _ if ty == domain => true,
            Some(UserTypeKind::Domain { base, .. }) => self.is_made_of(*base, domain),
            _ => false,
        }
    }

    /// 23514 if a stored value violates the check.
    fn check_domain_values(&self, user_type: &UserType, domain: &Domain, check: &DomainConstraint) -> Result<()> {
        let row = super::types::value_row(&user_type.name, user_type.schema, domain.base, domain.typmod);
        let condition = self.lower_stored(&check.expression, Some(&row), Some((oid::BOOL, -1)))?;
        for (relation, column) in self.columns_of_domain(user_type)? {
            work::visit();
            let sql = format!(
                "SELECT EXISTS (SELECT 1 FROM (SELECT {} AS \"value\" FROM {}) WHERE NOT ({condition}))",
                quoted(&column.name),
                super::sqlite_table(&relation)
            );
            if self.conn.query_row(&sql, [], |r| r.get(0)).map_err(|e| self.row_error(e))? {
                return Err(PgError::new(
                    SqlState::CHECK_VIOLATION,
                    format!(
                        "column \"{}\" of table \"{}\" contains values that violate the new constraint",
                        column.name, relation.name
                    ),
                )
                .schema(self.catalog.schema_name(relation.schema))
                .table(&relation.name)
                .column(&column.name));
            }
        }
        Ok(())
    }
}
