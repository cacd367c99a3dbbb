//! DDL and settings as PostgreSQL's statements.

use super::ast::*;
use super::print::{ident, idents, literal, Printer, Scope};
use super::Parse;
use crate::errors::Failure;
use crate::values::complex::{self, Complex, Field};
use crate::values::types::{Type, SCHEMA};
use pgsqlite_types::work;

impl Printer<'_> {
    /// The statement's number and what to run.
    pub(super) fn utility(&mut self, statement: &Statement) -> Parse<(i16, Vec<String>)> {
        Ok(match statement {
            Statement::CreateTable { table, temporary, if_not_exists, columns, constraints } => {
                let mut before = Vec::new();
                let mut parts = Vec::new();
                for column in columns {
                    work::visit();
                    parts.push(self.column_definition(column, columns, &mut before)?);
                }
                for constraint in constraints {
                    work::visit();
                    parts.push(self.constraint(constraint, columns)?);
                }
                let what = if *temporary { "TEMPORARY TABLE" } else { "TABLE" };
                let if_not_exists = if *if_not_exists { " IF NOT EXISTS" } else { "" };
                let name = match temporary {
                    true => ident(&table.name),
                    false => self.new_name(table)?,
                };
                before.push(format!("CREATE {what}{if_not_exists} {name} ({})", parts.join(", ")));
                (if *temporary { 45 } else { 14 }, before)
            }
            Statement::CreateTableOf { table, row_type, if_not_exists, constraints } => {
                let Some(complex) = Complex::named(&self.environment.catalog, &row_type.name) else {
                    return Err(Failure::new(-9628, 0, row_type.name.clone()));
                };
                let required = complex.fields().unwrap_or_default().iter().filter(|field| field.required);
                let mut parts: Vec<String> = required.map(|field| format!("{} NOT NULL", ident(&field.name))).collect();
                for constraint in constraints {
                    work::visit();
                    parts.push(self.constraint(constraint, &[])?);
                }
                let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
                let if_not_exists = if *if_not_exists { " IF NOT EXISTS" } else { "" };
                let name = self.new_name(table)?;
                (14, vec![format!("CREATE TABLE{if_not_exists} {name} OF {}{parts}", complex.stored())])
            }
            Statement::CreateRowType { name, if_not_exists, fields, under } => {
                let catalog = &self.environment.catalog;
                let there = catalog.schema_oid("public").and_then(|s| catalog.type_in(s, &name.name)).is_some();
                if there && *if_not_exists {
                    return Ok((0, vec![]));
                }
                let parent = match under {
                    Some(parent) => match Complex::named(catalog, &parent.name) {
                        Some(found) => Some(found),
                        None => return Err(Failure::new(-9628, 0, parent.name.clone())),
                    },
                    None => None,
                };
                let inherited = parent.and_then(|parent| parent.fields()).unwrap_or_default();
                if let Some(twice) = fields.iter().find(|field| inherited.iter().any(|f| f.name == field.name)) {
                    let parent = parent.map(Complex::name).unwrap_or_default();
                    return Err(Failure::text(format!("the row type {parent} has a field {} already", twice.name)));
                }
                let (mut before, mut out) = (Vec::new(), Vec::new());
                for field in inherited.iter().chain(fields) {
                    work::visit();
                    out.push(format!("{} {}", ident(&field.name), self.field_type(field, &mut before)?));
                }
                before.push(format!("CREATE TYPE public.{} AS ({})", ident(&name.name), out.join(", ")));
                if let Some(parent) = parent {
                    self.need_schema(&mut before);
                    let says_so = ident(&Complex::under(&name.name, &parent.name()));
                    before.push(format!("CREATE DOMAIN {SCHEMA}.{says_so} AS {}[]", parent.stored()));
                }
                (0, before)
            }
            Statement::DropRowType { name, if_exists } => {
                match Complex::named(&self.environment.catalog, &name.name) {
                    Some(complex) => {
                        // the domains and types that were made for columns of it are of no use without it
                        let catalog = &self.environment.catalog;
                        let mut drops = Vec::new();
                        for user in complex.users(catalog).into_iter().chain([complex]) {
                            work::visit();
                            let required = complex::required_name(Type::Complex(user));
                            if catalog.schema_oid(SCHEMA).is_some_and(|s| catalog.type_in(s, &required).is_some()) {
                                drops.push(format!("DROP DOMAIN {SCHEMA}.{} RESTRICT", ident(&required)));
                            }
                            if let Some((_, says_so)) = user.parent(catalog) {
                                drops.push(format!("DROP DOMAIN {SCHEMA}.{} RESTRICT", ident(&says_so)));
                            }
                            let kind = if user.fields().is_some() { "TYPE" } else { "DOMAIN" };
                            drops.push(format!("DROP {kind} {} RESTRICT", user.stored()));
                        }
                        (0, drops)
                    }
                    None if *if_exists => (0, vec![]),
                    None => return Err(Failure::new(-9628, 0, name.name.clone())),
                }
            }
            Statement::CreateIndex { name, unique, table, columns, if_not_exists } => {
                let keys: Vec<String> = columns
                    .iter()
                    .map(|(c, descending)| {
                        format!("{} {}", ident(c), if *descending { "DESC NULLS LAST" } else { "ASC NULLS FIRST" })
                    })
                    .collect();
                let sql = format!(
                    "CREATE {}INDEX {}{} ON {} ({})",
                    if *unique { "UNIQUE " } else { "" },
                    if *if_not_exists { "IF NOT EXISTS " } else { "" },
                    ident(&name.name),
                    self.table(table)?,
                    keys.join(", ")
                );
                (16, vec![sql])
            }
            Statement::CreateView { name, columns, query, check_option } => {
                let columns = if columns.is_empty() { String::new() } else { format!(" ({})", idents(columns)) };
                self.partial_items = true;
                let query = self.query(query)?;
                let check = if *check_option { " WITH CHECK OPTION" } else { "" };
                (40, vec![format!("CREATE VIEW {}{columns} AS {query}{check}", self.new_name(name)?)])
            }
            // a synonym is not dropped as what it means
            Statement::Drop { name, .. } if self.relation_itself(name).is_none() && self.of_synonym(name).is_some() => {
                return Err(Failure::new(-206, -111, name.name.clone()));
            }
            Statement::Drop { kind, name, if_exists, cascade } => {
                let if_exists = if *if_exists { "IF EXISTS " } else { "" };
                let order = if *kind == "table" { self.dropped_order(name)? } else { None };
                // Informix has no other answer to a missing table than this one
                let name = match *kind {
                    "table" | "view" | "sequence" if if_exists.is_empty() => {
                        self.existing(name)?;
                        self.table(name)?
                    }
                    "index" => ident(&name.name),
                    _ => self.table(name)?,
                };
                let cascade = if *cascade { " CASCADE" } else { "" };
                let number = if *kind == "index" { 17 } else { 15 };
                let drop = format!("DROP {} {if_exists}{name}{cascade}", kind.to_uppercase());
                (number, order.into_iter().chain([drop]).collect())
            }
            Statement::CreateSequence { name, if_not_exists, options } => {
                (0, vec![self.create_sequence(name, *if_not_exists, options)?])
            }
            Statement::AlterSequence { name, options } => (0, vec![self.alter_sequence(name, options)?]),
            Statement::RenameSequence { name, to } => {
                self.existing(name)?;
                (0, vec![format!("ALTER SEQUENCE {} RENAME TO {}", self.table(name)?, ident(to))])
            }
            Statement::AlterTable { table, alterations } => {
                let mut out = Vec::new();
                for alteration in alterations {
                    work::visit();
                    self.alteration(table, alteration, &mut out)?;
                }
                out.extend(self.new_order(table, alterations)?);
                (20, out)
            }
            Statement::RenameTable { table, to } => {
                self.existing(table)?;
                (26, vec![format!("ALTER TABLE {} RENAME TO {}", self.table(table)?, ident(to))])
            }
            Statement::RenameColumn { table, column, to } => {
                self.existing(table)?;
                let sql =
                    format!("ALTER TABLE {} RENAME COLUMN {} TO {}", self.table(table)?, ident(column), ident(to));
                let order = self.renamed_order(table, column, to)?;
                (27, std::iter::once(sql).chain(order).collect())
            }
            Statement::RenameIndex { name, to } => {
                (26, vec![format!("ALTER INDEX {} RENAME TO {}", ident(&name.name), ident(to))])
            }
            Statement::Truncate(table) => {
                self.existing(table)?;
                (0, vec![format!("TRUNCATE {}", self.table(table)?)])
            }
            Statement::Grant { revoke, privileges, table, to, option } => {
                self.existing(table)?;
                let names: Vec<String> =
                    to.iter().map(|n| if n == "public" { "PUBLIC".into() } else { ident(n) }).collect();
                let sql = format!(
                    "{} {} ON {} {} {}{}",
                    if *revoke { "REVOKE" } else { "GRANT" },
                    privileges.join(", ").to_uppercase(),
                    self.table(table)?,
                    if *revoke { "FROM" } else { "TO" },
                    names.join(", "),
                    if *option { " WITH GRANT OPTION" } else { "" }
                );
                (if *revoke { 19 } else { 18 }, vec![sql])
            }
            Statement::Lock { table, exclusive } => {
                self.existing(table)?;
                let mode = if *exclusive { "EXCLUSIVE" } else { "SHARE" };
                (10, vec![format!("LOCK TABLE {} IN {mode} MODE", self.table(table)?)])
            }
            Statement::UpdateStatistics(table) => match table {
                Some(table) => (0, vec![format!("ANALYZE {}", self.table(table)?)]),
                None => (0, vec!["ANALYZE".into()]),
            },
            Statement::Isolation(level) => {
                let level = level.to_uppercase();
                (48, vec![format!("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}")])
            }
            Statement::CreateRoutine(routine) => (0, self.create_routine(routine)?.into_iter().collect()),
            Statement::DropRoutine { name, types, if_exists } => {
                let drop = self.drop_routine(name, types.as_deref(), *if_exists)?;
                (0, drop.map(|routine| format!("DROP {routine}")).into_iter().collect())
            }
            Statement::GrantExecute { revoke, name, to, option } => {
                let routine = self.granted_routine(name)?;
                let names: Vec<String> =
                    to.iter().map(|n| if n == "public" { "PUBLIC".into() } else { ident(n) }).collect();
                let sql = format!(
                    "{} EXECUTE ON {routine} {} {}{}",
                    if *revoke { "REVOKE" } else { "GRANT" },
                    if *revoke { "FROM" } else { "TO" },
                    names.join(", "),
                    if *option { " WITH GRANT OPTION" } else { "" }
                );
                (if *revoke { 19 } else { 18 }, vec![sql])
            }
            Statement::CreateSynonym { name, target, if_not_exists } => {
                (0, self.create_synonym(name, target, *if_not_exists)?)
            }
            Statement::DropSynonym { name, if_exists } => (0, self.drop_synonym(name, *if_exists)?),
            Statement::CreateTrigger(trigger) => (0, self.create_trigger(trigger)?),
            Statement::DropTrigger { name, if_exists } => (0, self.drop_trigger(name, *if_exists)?),
            Statement::Verbatim(sql) => (0, vec![sql.clone()]),
            _ => return Err(Failure::internal("not a utility statement")),
        })
    }

    /// The name of something that is to be made: in `public`, or in the schema of its owner, which is made with the first such thing.
    pub(super) fn new_name(&mut self, name: &Name) -> Parse<String> {
        let plain = Name { database: name.database.clone(), owner: name.owner.clone(), name: name.name.clone() };
        // the name of a synonym is taken
        if self.relation_itself(&plain).is_none() && self.of_synonym(&plain).is_some() {
            return Err(Failure::new(-310, 0, plain.name));
        }
        match (&plain.owner, self.relation(&plain)) {
            // a temporary table of the same name is another one
            (None, _) => {
                self.table(&Name { owner: None, ..plain.clone() })?;
                Ok(format!("\"public\".{}", ident(&plain.name)))
            }
            (Some(owner), None) if self.schema_of_owner(owner).is_none() => {
                self.new_owners.push(owner.clone());
                Ok(format!("{}.{}", ident(owner), ident(&plain.name)))
            }
            _ => self.table(&plain),
        }
    }

    /// A column of CREATE TABLE or ADD. `before` gets what must be made for its type.
    fn column_definition(
        &mut self,
        column: &ColumnDefinition,
        all: &[ColumnDefinition],
        before: &mut Vec<String>,
    ) -> Parse<String> {
        let mut out = format!("{} {}", ident(&column.name), self.type_name(column.ty, before)?);
        if matches!(column.ty, Type::Serial | Type::BigSerial) {
            out += " GENERATED BY DEFAULT AS IDENTITY";
            if let Some(start) = column.start {
                out += &format!(" (START WITH {start})");
            }
        }
        if column.not_null && column.constraints.iter().all(|c| c.kind != ConstraintKind::NotNull) {
            out += " NOT NULL";
        }
        if let Some(default) = &column.default {
            out += &format!(" DEFAULT {}", self.assigned(default, Some(column.ty))?);
        }
        for constraint in &column.constraints {
            work::visit();
            out += &format!(" {}", self.constraint(constraint, all)?);
        }
        Ok(out)
    }

    /// The schema of the types, if it is not there yet.
    fn need_schema(&self, before: &mut Vec<String>) {
        let create = format!("CREATE SCHEMA IF NOT EXISTS {SCHEMA}");
        if self.environment.catalog.schema_oid(SCHEMA).is_none() && !before.contains(&create) {
            before.push(create);
        }
    }

    /// The type that stores a field: of one that is NOT NULL a domain that refuses NULL, whoever writes it.
    pub(super) fn field_type(&self, field: &Field, before: &mut Vec<String>) -> Parse<String> {
        let base = self.type_name(field.ty, before)?;
        if !field.required {
            return Ok(base);
        }
        self.need_schema(before);
        let (catalog, name) = (&self.environment.catalog, complex::required_name(field.ty));
        let create = format!("CREATE DOMAIN {SCHEMA}.{} AS {base} NOT NULL", ident(&name));
        let there = catalog.schema_oid(SCHEMA).is_some_and(|schema| catalog.type_in(schema, &name).is_some());
        if !there && !before.contains(&create) {
            before.push(create);
        }
        Ok(format!("{SCHEMA}.{}", ident(&name)))
    }

    /// What stores the type. Its domain is made if it is not there yet.
    pub(super) fn type_name(&self, ty: Type, before: &mut Vec<String>) -> Parse<String> {
        let Some(domain) = ty.domain() else { return Ok(ty.storage()) };
        if let Type::Complex(complex @ Complex::Named(..)) = ty {
            return Ok(complex.stored());
        }
        let catalog = &self.environment.catalog;
        let schema = catalog.schema_oid(SCHEMA);
        self.need_schema(before);
        let name = format!("{SCHEMA}.{}", ident(&domain));
        if let Type::Complex(complex) = ty {
            self.complex_type(complex, before)?;
            return Ok(name);
        }
        if schema.is_none_or(|s| catalog.type_in(s, &domain).is_none()) {
            let check = match ty {
                Type::DateTime(q) => q.check().map_or(String::new(), |check| format!(" CHECK ({check})")),
                Type::Interval(q) => format!(" CHECK ({})", q.interval_check()),
                _ => String::new(),
            };
            let create = format!("CREATE DOMAIN {name} AS {}{check}", ty.storage());
            if !before.contains(&create) {
                before.push(create);
            }
        }
        Ok(name)
    }

    fn constraint(&mut self, constraint: &Constraint, columns: &[ColumnDefinition]) -> Parse<String> {
        let name = match &constraint.name {
            Some(name) => format!("CONSTRAINT {} ", ident(name)),
            None => String::new(),
        };
        let list = match constraint.columns.as_slice() {
            [] => String::new(),
            columns => format!(" ({})", idents(columns)),
        };
        Ok(name
            + &match &constraint.kind {
                ConstraintKind::Primary => format!("PRIMARY KEY{list}"),
                ConstraintKind::Unique => format!("UNIQUE{list}"),
                ConstraintKind::NotNull => "NOT NULL".into(),
                ConstraintKind::Check(condition) => {
                    let types: Vec<_> = columns.iter().map(|c| (c.name.clone(), Some(c.ty))).collect();
                    self.without_partial(condition, &types)?;
                    let relation = scope_of(columns);
                    self.scopes.push(vec![relation]);
                    let printed = self.expr(condition);
                    self.scopes.pop();
                    format!("CHECK ({})", printed?)
                }
                ConstraintKind::References { table, columns, cascade } => {
                    let target = self.table(table)?;
                    let columns = if columns.is_empty() { String::new() } else { format!(" ({})", idents(columns)) };
                    let cascade = if *cascade { " ON DELETE CASCADE" } else { "" };
                    match list.is_empty() {
                        true => format!("REFERENCES {target}{columns}{cascade}"),
                        false => format!("FOREIGN KEY{list} REFERENCES {target}{columns}{cascade}"),
                    }
                }
            })
    }

    fn alteration(&mut self, table: &Name, alteration: &Alteration, out: &mut Vec<String>) -> Parse<()> {
        self.existing(table)?;
        let head = format!("ALTER TABLE {}", self.table(table)?);
        let action = match alteration {
            Alteration::AddColumn(column, _) => {
                format!("ADD COLUMN {}", self.column_definition(column, std::slice::from_ref(column), out)?)
            }
            Alteration::DropColumn(name) => format!("DROP COLUMN {} CASCADE", ident(name)),
            Alteration::AddConstraint(constraint) => {
                if let ConstraintKind::Check(condition) = &constraint.kind {
                    let catalog = &self.environment.catalog;
                    let relation = self.existing(table)?;
                    let columns = relation.live_columns().map(|c| (c.name.clone(), Type::of_column(catalog, c)));
                    self.without_partial(condition, &columns.collect::<Vec<_>>())?;
                }
                format!("ADD {}", self.constraint(constraint, &[])?)
            }
            Alteration::DropConstraint(name) => format!("DROP CONSTRAINT {} CASCADE", ident(name)),
            Alteration::Modify(column) => {
                let named = match column.constraints.as_slice() {
                    [] => None,
                    [Constraint { name: Some(name), kind: ConstraintKind::NotNull, .. }] => Some(ident(name)),
                    _ => return Err(Failure::refused("MODIFY with a constraint")),
                };
                let name = ident(&column.name);
                let ty = self.type_name(column.ty, out)?;
                let storage = column.ty.storage();
                let relation = self.existing(table)?;
                let old = relation.column(&column.name).and_then(|c| Type::of_column(&self.environment.catalog, c));
                let value = match column.ty.is_integer() {
                    true => super::whole::cut(&name, old),
                    false => None,
                };
                let value = value.unwrap_or_else(|| name.clone());
                let is_serial = |ty: Type| matches!(ty, Type::Serial | Type::BigSerial);
                if is_serial(column.ty) && named.is_some() {
                    return Err(Failure::refused("MODIFY with a constraint"));
                }
                if is_serial(column.ty) {
                    let (head, table) = (&head, self.table(table)?);
                    // what counts it is kept, or made
                    let counted = old.is_some_and(is_serial);
                    let identity =
                        if counted { "" } else { ", ALTER COLUMN {name} ADD GENERATED BY DEFAULT AS IDENTITY" };
                    if !counted {
                        out.push(format!("{head} ALTER COLUMN {name} DROP DEFAULT"));
                    }
                    out.push(format!(
                        "{head} ALTER COLUMN {name} TYPE {ty} USING ({value})::{storage}, ALTER COLUMN {name} SET NOT NULL{}",
                        identity.replace("{name}", &name)
                    ));
                    // it goes on behind what is there, and not before the number that is said
                    let least = column.start.unwrap_or(1);
                    out.push(format!(
                        "SELECT setval(pg_get_serial_sequence({}, {})::regclass, greatest(coalesce((SELECT max({name}) FROM {table}), 0) + 1, \
                         {least}), false)",
                        literal(&table),
                        literal(&column.name)
                    ));
                    return Ok(());
                }
                if old.is_some_and(is_serial) {
                    out.push(format!("{head} ALTER COLUMN {name} DROP IDENTITY IF EXISTS"));
                }
                // what is not said again is gone
                let default = match &column.default {
                    Some(default) => format!("SET DEFAULT {}", self.assigned(default, Some(column.ty))?),
                    None => "DROP DEFAULT".into(),
                };
                let null = match named {
                    // one that is there gets the name that is said now
                    Some(constraint) => format!("DROP NOT NULL, ADD CONSTRAINT {constraint} NOT NULL {name}"),
                    None if column.not_null => "SET NOT NULL".into(),
                    None => "DROP NOT NULL".into(),
                };
                format!(
                    "ALTER COLUMN {name} DROP DEFAULT, ALTER COLUMN {name} TYPE {ty} USING ({value})::{storage}, \
                     ALTER COLUMN {name} {default}, ALTER COLUMN {name} {null}"
                )
            }
        };
        out.push(format!("{head} {action}"));
        Ok(())
    }
}

/// The columns of a table that is being made.
fn scope_of(columns: &[ColumnDefinition]) -> Scope {
    let names = columns.iter().map(|c| c.name.clone()).collect();
    let query = Some(columns.iter().map(|c| (Some(c.name.clone()), Some(c.ty))).collect());
    Scope { alias: String::new(), relation: None, columns: Some(names), query }
}
