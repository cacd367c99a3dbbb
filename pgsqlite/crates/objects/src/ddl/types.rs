//! CREATE TYPE (enum, composite), CREATE DOMAIN, ALTER TYPE … VALUE.

use super::composite::written;
use super::{strings, Ddl};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_types::array::Array;
use pgsqlite_types::work;
use pgsqlite_types::{oid, record, Datum, Oid, PgError, Result, SqlState};
use std::sync::Arc;

impl Ddl<'_> {
    /// The schema and name of a new type. Errors: 42710 if a type (or relation) has the name.
    pub(super) fn new_type_name(&self, parts: &[&str]) -> Result<(Oid, String)> {
        let (schema, name) = self.qualified_new(parts)?;
        let schema = self.creation_schema(schema, -1)?;
        if self.catalog.type_name_taken(schema, name) {
            return Err(PgError::new(SqlState::DUPLICATE_OBJECT, format!("type \"{name}\" already exists")));
        }
        self.check_creation(schema, name)?;
        if schema == PG_TEMP {
            return Err(PgError::not_supported("a temporary type"));
        }
        Ok((schema, name.to_string()))
    }

    fn new_type(&mut self, schema: Oid, name: String, kind: UserTypeKind) -> Result<()> {
        let user_type = UserType {
            oid: self.new_oid(false)?,
            array_oid: self.new_oid(false)?,
            array_name: None,
            schema,
            name,
            owner: self.environment.user,
            kind,
            acl: self.default_acl(pgsqlite_sql::acl::AclObject::Type, schema),
            dropped: vec![],
        };
        self.put_type(user_type)
    }

    pub(super) fn create_enum(&mut self, statement: &ast::CreateEnumStmt) -> Result<String> {
        let (schema, name) = self.new_type_name(&strings(&statement.type_name))?;
        let mut labels: Vec<(String, Oid)> = Vec::new();
        for label in strings(&statement.vals) {
            work::visit();
            check_label(label)?;
            if labels.iter().any(|l| l.0 == label) {
                return Err(PgError::new(
                    SqlState::UNIQUE_VIOLATION,
                    "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"",
                )
                .detail(format!(
                    "Key (enumtypid, enumlabel)=({}, {label}) already exists.",
                    self.catalog.highest_oid() + 1
                )));
            }
            let oid = self.new_oid(false)?;
            labels.push((label.to_string(), oid));
        }
        self.new_type(schema, name, UserTypeKind::Enum { labels, orders: vec![], added: vec![] })?;
        Ok("CREATE TYPE".into())
    }

    /// The user's type of a name. Errors: 42704.
    pub(super) fn find_type(&self, parts: &[&str]) -> Result<Arc<UserType>> {
        let (schema, name) = self.qualified(parts)?;
        let oid = if schema.is_empty() {
            self.environment.search_path.iter().find_map(|&s| self.catalog.type_in(s, name))
        } else {
            let schema_oid = self.catalog.schema_oid(schema).ok_or_else(|| {
                PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{schema}\" does not exist"))
            })?;
            self.catalog.type_in(schema_oid, name)
        };
        oid.and_then(|o| self.catalog.types.get(&o)).cloned().ok_or_else(|| {
            PgError::new(SqlState::UNDEFINED_OBJECT, format!("type \"{}\" does not exist", parts.join(".")))
        })
    }

    /// As [`Ddl::find_type`]; 42501 unless the session's role owns it.
    pub(super) fn find_owned_type(&self, parts: &[&str]) -> Result<Arc<UserType>> {
        let found = self.find_type(parts)?;
        self.check_owned("type", &self.display_type(found.oid), found.owner)?;
        Ok(found)
    }

    pub(super) fn alter_enum(&mut self, statement: &ast::AlterEnumStmt) -> Result<String> {
        let tag = "ALTER TYPE".to_string();
        let parts = strings(&statement.type_name);
        let user_type = self.find_owned_type(&parts)?;
        let UserTypeKind::Enum { labels, orders, added } = &user_type.kind else {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("{} is not an enum", self.display_type(user_type.oid)),
            ));
        };
        let mut labels = labels.clone();
        let (mut orders, mut added) = (orders.clone(), added.clone());
        if orders.len() != labels.len() {
            orders = (1u16..).take(labels.len()).map(f32::from).collect();
        }
        let position = |labels: &[(String, Oid)], wanted: &str| {
            labels.iter().position(|l| l.0 == wanted).ok_or_else(|| {
                PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("\"{wanted}\" is not an existing enum label"))
            })
        };
        check_label(&statement.new_val)?;
        let exists = labels.iter().any(|l| l.0 == statement.new_val);
        if statement.old_val.is_empty() {
            if exists {
                let message = format!("enum label \"{}\" already exists", statement.new_val);
                if statement.skip_if_new_val_exists {
                    self.notice(SqlState::DUPLICATE_OBJECT, format!("{message}, skipping"));
                    return Ok(tag);
                }
                return Err(PgError::new(SqlState::DUPLICATE_OBJECT, message));
            }
            let at = if statement.new_val_neighbor.is_empty() {
                labels.len()
            } else {
                position(&labels, &statement.new_val_neighbor)? + usize::from(statement.new_val_is_after)
            };
            let before = at.checked_sub(1).map(|i| orders[i]);
            let order = match (before, orders.get(at)) {
                (None, None) => 1.0,
                (Some(before), None) => before + 1.0,
                (None, Some(behind)) => behind - 1.0,
                (Some(before), Some(behind)) => (before + behind) / 2.0,
            };
            let fits = |o: &f32| *o == order;
            let oid = self.new_oid(false)?;
            added.push(oid);
            labels.insert(at, (statement.new_val.clone(), oid));
            if orders.iter().any(fits) {
                // no number is left between them: all are counted anew
                orders = (1u16..).take(labels.len()).map(f32::from).collect();
            } else {
                orders.insert(at, order);
            }
        } else {
            let at = position(&labels, &statement.old_val)?;
            if exists {
                return Err(PgError::new(
                    SqlState::DUPLICATE_OBJECT,
                    format!("enum label \"{}\" already exists", statement.new_val),
                ));
            }
            self.rename_stored_label(&user_type, &statement.old_val, &statement.new_val)?;
            labels[at].0.clone_from(&statement.new_val);
        }
        self.put_type(UserType { kind: UserTypeKind::Enum { labels, orders, added }, ..(*user_type).clone() })?;
        if !statement.old_val.is_empty() {
            self.reorder_indexes(&user_type)?;
        }
        Ok(tag)
    }

    /// Values are stored as labels: a renamed label is renamed in every table. Texts of expressions that hold it are refused.
    fn rename_stored_label(&mut self, user_type: &UserType, old: &str, new: &str) -> Result<()> {
        let literal = pgsqlite_sql::deparse::quote_literal(old);
        self.check_label_unused_in_texts(user_type, old, &literal)?;
        let updates: Vec<String> = self
            .catalog
            .relations
            .values()
            .filter(|r| r.kind == RelationKind::Table)
            .flat_map(|r| {
                r.live_columns()
                    .filter(|c| self.catalog.base_type(c.type_oid) == user_type.oid)
                    .map(|c| {
                        let name = quoted(&c.name);
                        format!("UPDATE {} SET {name} = ?2 WHERE {name} = ?1", quoted(&r.sqlite_name))
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
        // foreign keys over the type hold again when both sides are renamed
        let deferred: i64 = self
            .conn
            .query_row("PRAGMA defer_foreign_keys", [], |r| r.get(0))
            .map_err(pgsqlite_metadata::store::sqlite_error)?;
        self.sqlite("PRAGMA defer_foreign_keys = ON")?;
        let updated = updates.iter().try_for_each(|sql| self.conn.execute(sql, [old, new]).map(|_| ()));
        if deferred == 0 {
            self.sqlite("PRAGMA defer_foreign_keys = OFF")?;
        }
        updated.map_err(pgsqlite_metadata::store::sqlite_error)?;
        self.rename_label_within(user_type, old, new)
    }

    /// 0A000 where the definition of a relation (its index conditions, triggers, policies, rules, bounds among them) or of a domain may name a
    /// label. (The definition is searched as the text that the file keeps: a label may also be a part of a constant of another type, whose
    /// value is a text in the tree, too. What is found in vain is refused; nothing is renamed by it.)
    fn check_label_unused_in_texts(&self, user_type: &UserType, label: &str, literal: &str) -> Result<()> {
        let escaped = |text: &str| Ok::<_, PgError>(written(text)?.trim_matches('"').to_string());
        let (escaped_label, literal) = (escaped(label)?, escaped(literal)?);
        // literals of arrays, composites and ranges have it inside
        let mut around = vec![format!("{}[]", user_type.name)];
        let holding = |t: &&Arc<UserType>| t.oid != user_type.oid && self.catalog.holds_values_of(t.oid, user_type.oid);
        around.extend(self.catalog.types.values().filter(holding).map(|t| t.name.clone()));
        let names = |text: &str| {
            text.contains(&literal) || text.contains(&escaped_label) && around.iter().any(|name| casts_to(text, name))
        };
        for relation in self.catalog.relations.values().filter(|r| r.oid >= oid::FIRST_USER_OID) {
            work::visit();
            if self.bound_may_name(relation, user_type, label) || names(&written(&**relation)?) {
                return Err(PgError::not_supported(format!(
                    "renaming an enum label that \"{}\" may name in an expression",
                    relation.name
                )));
            }
        }
        for other in self.catalog.types.values().filter(|t| t.oid != user_type.oid) {
            work::visit();
            if names(&written(&**other)?) {
                return Err(PgError::not_supported(format!(
                    "renaming an enum label that type \"{}\" may name in an expression",
                    other.name
                )));
            }
        }
        Ok(())
    }

    /// Whether a value in the bound of a partition is a value of the type, or holds one, and has the label in its text.
    fn bound_may_name(&self, partition: &Relation, user_type: &UserType, label: &str) -> bool {
        let parents = partition.inheritance.parents.iter().filter_map(|parent| self.catalog.relation(*parent));
        let of_the_type = parents
            .filter_map(|parent| parent.inheritance.key.as_ref())
            .any(|key| key.columns.iter().any(|column| self.catalog.holds_values_of(column.type_oid, user_type.oid)));
        of_the_type
            && match &partition.inheritance.bound {
                Some(PartitionBound::List(values)) => values.iter().flatten().any(|value| value.contains(label)),
                Some(PartitionBound::Range { from, to }) => from
                    .iter()
                    .chain(to)
                    .any(|value| matches!(value, RangeDatum::Value(value) if value.contains(label))),
                Some(PartitionBound::Default | PartitionBound::Hash { .. }) | None => false,
            }
    }

    /// After a label got another name: indexes over the type's values are made anew in the order that the collation has now.
    fn reorder_indexes(&self, user_type: &UserType) -> Result<()> {
        self.show_catalog();
        for relation in self.catalog.relations.values().filter(|r| r.is_stored()) {
            work::visit();
            let holds = |c: &Column| self.catalog.holds_values_of(c.type_oid, user_type.oid);
            if relation.live_columns().any(holds) {
                let sql = format!("REINDEX {}", super::sqlite_table(relation));
                super::run_as_owner(self.session.as_owner, relation.owner, || self.sqlite(&sql))?;
            }
        }
        Ok(())
    }

    /// Renames the label in the values that have values of the type inside: arrays, composite values, and these in one another.
    fn rename_label_within(&self, user_type: &UserType, old: &str, new: &str) -> Result<()> {
        for relation in self.catalog.relations.values().filter(|r| r.is_stored()) {
            work::visit();
            let within = |c: &&Column| {
                self.catalog.base_type(c.type_oid) != user_type.oid
                    && self.catalog.holds_values_of(c.type_oid, user_type.oid)
            };
            for column in relation.live_columns().filter(within) {
                work::visit();
                let (table, name) = (super::sqlite_table(relation), quoted(&column.name));
                let values: Vec<String> = self
                    .conn
                    .prepare(&format!(
                        "SELECT DISTINCT CAST({name} AS BLOB) FROM {table} WHERE typeof({name}) = 'text'"
                    ))
                    .and_then(|mut s| {
                        s.query_map([], |r| r.get::<_, Vec<u8>>(0))?.collect::<rusqlite::Result<Vec<_>>>()
                    })
                    .map_err(pgsqlite_metadata::store::sqlite_error)?
                    .into_iter()
                    .filter_map(|bytes| String::from_utf8(bytes).ok())
                    .collect();
                for value in values {
                    work::visit();
                    let Datum::Text(renamed) = self.with_label_renamed(
                        column.type_oid,
                        Datum::Text(value.clone()),
                        (user_type.oid, old, new),
                    )?
                    else {
                        continue;
                    };
                    if renamed != value {
                        let sql =
                            format!("UPDATE {table} SET {name} = ?2 WHERE CAST({name} AS BLOB) = CAST(?1 AS BLOB)");
                        self.conn.execute(&sql, [&value, &renamed]).map_err(pgsqlite_metadata::store::sqlite_error)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A value of a type in storage form, with a label of an enum (its OID, the old name, the new one) renamed in it.
    fn with_label_renamed(&self, ty: Oid, value: Datum, label: (Oid, &str, &str)) -> Result<Datum> {
        let Datum::Text(text) = &value else { return Ok(value) };
        let (of, old, new) = label;
        let base = self.catalog.base_type(ty);
        if base == of {
            return Ok(if text == old { Datum::Text(new.into()) } else { value });
        }
        if !self.catalog.holds_values_of(base, of) {
            return Ok(value);
        }
        let unreadable = || PgError::corrupted("a stored value that cannot be read");
        // what would not come back as it is stored stays as it is
        let unchanged = |again: String| match again == *text {
            true => Ok(()),
            false => Err(PgError::not_supported("renaming an enum label in a value that another program has stored")),
        };
        if let Some(element) = self.catalog.element_type(base) {
            let codec = self.catalog.codec(element).ok_or_else(unreadable)?;
            let mut array = Array::from_storage(text, &codec).ok_or_else(unreadable)?;
            unchanged(array.to_storage())?;
            for value in &mut array.elements {
                work::visit();
                *value = self.with_label_renamed(element, std::mem::replace(value, Datum::Null), label)?;
            }
            return Ok(Datum::Text(array.to_storage()));
        }
        if self.catalog.composite_fields(base).is_some() {
            let mut fields = record::from_storage(text).ok_or_else(unreadable)?;
            unchanged(record::to_storage(&fields))?;
            for (ty, value) in &mut fields {
                work::visit();
                *value = self.with_label_renamed(*ty, std::mem::replace(value, Datum::Null), label)?;
            }
            return Ok(Datum::Text(record::to_storage(&fields)));
        }
        Err(PgError::not_supported("renaming an enum label that a range may hold"))
    }

    pub(super) fn create_composite(&mut self, statement: &ast::CompositeTypeStmt) -> Result<String> {
        let name = statement.typevar.as_ref().ok_or_else(|| PgError::internal("CREATE TYPE without a name"))?;
        let parts: Vec<&str> =
            [name.schemaname.as_str(), name.relname.as_str()].into_iter().filter(|p| !p.is_empty()).collect();
        let (schema, name) = self.new_type_name(&parts)?;
        let mut fields: Vec<(String, Oid, i32)> = Vec::new();
        for node in &statement.coldeflist {
            work::visit();
            let Some(NodeEnum::ColumnDef(def)) = &node.node else {
                return Err(PgError::internal("a field that is no ColumnDef"));
            };
            if fields.iter().any(|f| f.0 == def.colname) {
                return Err(PgError::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column \"{}\" specified more than once", def.colname),
                ));
            }
            let type_name = def.type_name.as_ref().ok_or_else(|| PgError::internal("a field without a type"))?;
            let (ty, typmod) = self.type_name(type_name)?;
            self.check_column_type(&def.colname, ty, type_name.location)?;
            self.check_attribute_collation(def.coll_clause.as_deref(), ty)?;
            fields.push((def.colname.clone(), ty, typmod));
        }
        self.new_type(schema, name, UserTypeKind::Composite { fields })?;
        Ok("CREATE TYPE".into())
    }

    pub(super) fn create_domain(&mut self, statement: &ast::CreateDomainStmt) -> Result<String> {
        let (schema, name) = self.new_type_name(&strings(&statement.domainname))?;
        let type_name = statement.type_name.as_ref().ok_or_else(|| PgError::internal("a domain without a type"))?;
        let (base, typmod) = self.type_name(type_name)?;
        self.check_types_usable(&[base])?;
        if let Some(TypeEntry::Builtin(t)) = self.catalog.type_entry(base) {
            if t.kind == b'p' {
                return Err(PgError::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!("\"{}\" is not a valid base type for a domain", self.display_type(base)),
                ));
            }
        }
        if self.catalog.codec(base).is_none() {
            return Err(PgError::not_supported(format!("type {}", self.display_type(base))).at(type_name.location));
        }
        let collation = match &statement.coll_clause {
            Some(clause) => self.column_collation(Some(clause), base)?,
            None => 0,
        };
        let (mut not_null, mut nullable, mut default) = (false, false, None);
        let mut not_null_name = String::new();
        // how many CHECKs are written before NOT NULL
        let mut not_null_at = 0;
        let mut checks: Vec<DomainConstraint> = Vec::new();
        for node in &statement.constraints {
            work::visit();
            let Some(NodeEnum::Constraint(c)) = &node.node else {
                return Err(PgError::internal("a domain constraint that is no Constraint"));
            };
            match c.contype() {
                // (one without a name may be said again: pg_dump before 17 writes the constraint of a domain that is NOT NULL)
                ast::ConstrType::ConstrNotnull if !not_null_name.is_empty() => {
                    let message = "redundant NOT NULL constraint definition";
                    return Err(PgError::new(SqlState::INVALID_OBJECT_DEFINITION, message).at(c.location));
                }
                ast::ConstrType::ConstrNotnull => {
                    not_null = true;
                    not_null_at = checks.len();
                    not_null_name.clone_from(&c.conname);
                }
                ast::ConstrType::ConstrNull => nullable = true,
                ast::ConstrType::ConstrDefault => {
                    if default.is_some() {
                        return Err(PgError::new(SqlState::SYNTAX_ERROR, "multiple default expressions"));
                    }
                    let node = c.raw_expr.as_ref().ok_or_else(|| PgError::internal("DEFAULT without expression"))?;
                    default = self.new_domain_default(&name, (base, typmod), node)?;
                }
                ast::ConstrType::ConstrCheck => {
                    let check = self.domain_check(&name, schema, base, typmod, c, &checks)?;
                    checks.push(check);
                }
                ast::ConstrType::ConstrAttrEnforced | ast::ConstrType::ConstrAttrNotEnforced => {
                    let message = "specifying constraint enforceability not supported for domains";
                    return Err(PgError::new(SqlState::INVALID_OBJECT_DEFINITION, message).at(c.location));
                }
                _ => return Err(PgError::not_supported("this domain constraint").at(c.location)),
            }
        }
        if not_null && nullable {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "conflicting NULL/NOT NULL constraints"));
        }
        let mut not_null_constraint = match not_null {
            true => Some(self.domain_not_null(&name, schema, not_null_name, &checks)?),
            false => None,
        };
        if let Some(constraint) = &mut not_null_constraint {
            // (the OIDs are in the order in which the constraints are written)
            for check in checks[not_null_at..].iter_mut().rev() {
                work::visit();
                std::mem::swap(&mut constraint.oid, &mut check.oid);
            }
        }
        let kind = UserTypeKind::Domain { base, typmod, not_null, default, checks, collation, not_null_constraint };
        self.new_type(schema, name, kind)?;
        Ok("CREATE DOMAIN".into())
    }

    /// The NOT NULL of a domain; without a name it gets one. Errors: 42710.
    pub(super) fn domain_not_null(
        &mut self,
        domain: &str,
        schema: Oid,
        name: String,
        checks: &[DomainConstraint],
    ) -> Result<DomainConstraint> {
        let taken: Vec<String> = checks.iter().map(|c| c.name.clone()).collect();
        let name = match name.is_empty() {
            true => self.choose_constraint_name(schema, domain, "", "not_null", &taken),
            false if taken.contains(&name) => {
                let message = format!("constraint \"{name}\" for domain \"{domain}\" already exists");
                return Err(PgError::new(SqlState::DUPLICATE_OBJECT, message));
            }
            false => name,
        };
        Ok(DomainConstraint::not_null(self.new_oid(false)?, name))
    }

    /// CHECK (… VALUE …) of a domain: analyzed over a row whose only column is called value.
    pub(super) fn domain_check(
        &mut self,
        domain: &str,
        schema: Oid,
        base: Oid,
        typmod: i32,
        c: &ast::Constraint,
        checks: &[DomainConstraint],
    ) -> Result<DomainConstraint> {
        let node = c.raw_expr.as_ref().ok_or_else(|| PgError::internal("CHECK without expression"))?;
        let row = value_row(domain, schema, base, typmod);
        let (expr, text) = self.expression(node, Some(&row), None, super::create_table::CHECK)?;
        if self.catalog.base_type(expr.ty) != oid::BOOL {
            return Err(PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!("argument of CHECK must be type boolean, not type {}", self.display_type(expr.ty)),
            )
            .at(c.location));
        }
        let taken: Vec<String> = checks.iter().map(|c| c.name.clone()).collect();
        let name = if c.conname.is_empty() {
            self.choose_constraint_name(schema, domain, "", "check", &taken)
        } else if taken.contains(&c.conname) {
            return Err(PgError::new(
                SqlState::DUPLICATE_OBJECT,
                format!("constraint \"{}\" for domain \"{domain}\" already exists", c.conname),
            ));
        } else {
            c.conname.clone()
        };
        Ok(DomainConstraint { oid: self.new_oid(false)?, name, expression: text, not_valid: false })
    }
}

/// A relation with the one column `value`: what a domain's CHECK is analyzed over. The stored text says `value`, which reads
/// back both as that column and as the keyword VALUE.
pub fn value_row(domain: &str, schema: Oid, base: Oid, typmod: i32) -> Relation {
    Relation {
        schema,
        name: domain.to_string(),
        owner: 0,
        columns: vec![Column::new(1, "value", base, typmod)],
        ..Relation::new(RelationKind::Table)
    }
}

fn check_label(label: &str) -> Result<()> {
    if label.len() > super::naming::MAX_NAME {
        return Err(PgError::new(SqlState::INVALID_NAME, format!("invalid enum label \"{label}\""))
            .detail("Labels must be 63 bytes or less."));
    }
    Ok(())
}

/// Whether an expression in a stored text has a constant of the type: `'…'::name`, perhaps with quotes or a schema.
fn casts_to(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].trim_end_matches(['\\', '"']);
        let after = text[at + name.len()..].chars().next();
        (before.ends_with("::") || before.ends_with('.')) && !after.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}
