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
    not_null_constraint: Option<DomainConstraint>,
}

impl Domain {
    fn kind(self) -> UserTypeKind {
        let Domain { base, typmod, not_null, default, checks, collation, not_null_constraint } = self;
        UserTypeKind::Domain { base, typmod, not_null, default, checks, collation, not_null_constraint }
    }

    /// The names of its constraints.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.checks.iter().chain(&self.not_null_constraint).map(|c| c.name.as_str())
    }

    fn has_not_null(&self, name: &str) -> bool {
        self.not_null_constraint.as_ref().is_some_and(|c| c.name == name)
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
        let UserTypeKind::Domain { base, typmod, not_null, default, checks, collation, not_null_constraint } =
            found.kind.clone()
        else {
            return Err(not_domain(self.display_type(found.oid)));
        };
        self.check_owned("type", &found.name, found.owner)?;
        let domain = Domain { base, typmod, not_null, default, checks, collation, not_null_constraint };
        Ok(((*found).clone(), domain))
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
            "N" => self.drop_domain_not_null(&mut domain)?,
            "O" => self.set_domain_not_null(&user_type, &mut domain, String::new())?,
            "C" => {
                let Some(NodeEnum::Constraint(c)) = node.and_then(|n| n.node.as_ref()) else {
                    return Err(PgError::internal("ADD CONSTRAINT without a constraint"));
                };
                match c.contype() {
                    ast::ConstrType::ConstrCheck => {
                        let taken: Vec<DomainConstraint> =
                            domain.checks.iter().chain(&domain.not_null_constraint).cloned().collect();
                        let (name, schema) = (&user_type.name, user_type.schema);
                        let mut check = self
                            .domain_check(name, schema, domain.base, domain.typmod, c, &taken)
                            .map_err(PgError::without_position)?;
                        check.not_valid = c.skip_validation;
                        if !check.not_valid {
                            self.check_domain_values(&user_type, &domain, &check)?;
                        }
                        domain.checks.push(check);
                    }
                    ast::ConstrType::ConstrNotnull if !c.skip_validation => {
                        self.set_domain_not_null(&user_type, &mut domain, c.conname.clone())?
                    }
                    ast::ConstrType::ConstrNotnull => {
                        return Err(PgError::not_supported("a domain's NOT NULL that is NOT VALID").at(c.location))
                    }
                    _ => return Err(PgError::not_supported("this domain constraint").at(c.location)),
                }
            }
            "X" => match named(&domain, &statement.name) {
                Some(at) => {
                    let gone = domain.checks.remove(at);
                    self.forget_comments(gone.oid)?;
                }
                None if domain.has_not_null(&statement.name) => self.drop_domain_not_null(&mut domain)?,
                None if statement.missing_ok => {
                    self.notice(
                        SqlState::SUCCESSFUL_COMPLETION,
                        format!("{}, skipping", missing(&statement.name).message()),
                    );
                    return Ok(tag);
                }
                None => return Err(missing(&statement.name)),
            },
            "V" if domain.has_not_null(&statement.name) => {
                let (name, domain) = (&statement.name, &user_type.name);
                let message = format!("constraint \"{name}\" of domain \"{domain}\" is not a check constraint");
                return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
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

    /// NOT NULL of a domain from now on, with a name. Errors: 23502, 42710.
    fn set_domain_not_null(&mut self, user_type: &UserType, domain: &mut Domain, name: String) -> Result<()> {
        if domain.not_null {
            return Ok(());
        }
        let constraint = self.domain_not_null(&user_type.name, user_type.schema, name, &domain.checks)?;
        for (relation, column) in self.columns_of_domain(user_type)? {
            work::visit();
            let sql = format!(
                "SELECT EXISTS (SELECT 1 FROM {} WHERE {} IS NULL)",
                super::sqlite_table(&relation),
                quoted(&column.name)
            );
            if self.conn.query_row(&sql, [], |r| r.get(0)).map_err(sqlite_error)? {
                let message = format!("column \"{}\" of table \"{}\" contains null values", column.name, relation.name);
                return Err(PgError::new(SqlState::NOT_NULL_VIOLATION, message)
                    .schema(self.catalog.schema_name(relation.schema))
                    .table(&relation.name)
                    .column(&column.name));
            }
        }
        domain.not_null = true;
        domain.not_null_constraint = Some(constraint);
        Ok(())
    }

    fn drop_domain_not_null(&mut self, domain: &mut Domain) -> Result<()> {
        domain.not_null = false;
        match domain.not_null_constraint.take() {
            Some(gone) => self.forget_comments(gone.oid),
            None => Ok(()),
        }
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
        if domain.names().any(|n| n == new_name) {
            return Err(PgError::new(
                SqlState::DUPLICATE_OBJECT,
                format!("constraint \"{new_name}\" for domain {} already exists", user_type.name),
            ));
        }
        let mut all = domain.checks.iter_mut().chain(&mut domain.not_null_constraint);
        let check = all.find(|c| c.name == name).ok_or_else(|| {
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
