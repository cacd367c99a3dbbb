//! CREATE SCHEMA, and comments.

use super::Ddl;
use crate::store;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::sync::Arc;

/// OIDs of the catalogs that comments and dependencies name.
pub const CLASS_RELATION: Oid = 1259;
pub const CLASS_TYPE: Oid = 1247;
pub const CLASS_FUNCTION: Oid = 1255;
pub const CLASS_TRIGGER: Oid = 2620;
pub const CLASS_RULE: Oid = 2618;
pub const CLASS_SCHEMA: Oid = 2615;
pub const CLASS_CONSTRAINT: Oid = 2606;
pub const CLASS_DATABASE: Oid = 1262;
pub const CLASS_ROLE: Oid = 1260;
pub const CLASS_EXTENSION: Oid = 3079;
pub const CLASS_COLLATION: Oid = 3456;
/// The extension every database has.
pub const PLPGSQL: Oid = 13559;

impl Ddl<'_> {
    /// The role a RoleSpec names. Errors: 42704.
    pub(super) fn role(&self, spec: &ast::RoleSpec) -> Result<Arc<Role>> {
        let by_oid = |oid: Oid| {
            self.catalog.roles.get(&oid).cloned().ok_or_else(|| PgError::internal("the session's role is not there"))
        };
        match spec.roletype() {
            ast::RoleSpecType::RolespecCstring => self.catalog.role_named(&spec.rolename).cloned().ok_or_else(|| {
                PgError::new(SqlState::UNDEFINED_OBJECT, format!("role \"{}\" does not exist", spec.rolename))
            }),
            ast::RoleSpecType::RolespecPublic => {
                Err(PgError::new(SqlState::UNDEFINED_OBJECT, "role \"public\" does not exist"))
            }
            _ => by_oid(self.environment.user),
        }
    }

    pub(super) fn create_schema(&mut self, statement: &ast::CreateSchemaStmt) -> Result<String> {
        let tag = "CREATE SCHEMA".to_string();
        let owner = match &statement.authrole {
            Some(spec) => self.role(spec)?,
            None => self
                .catalog
                .roles
                .get(&self.environment.user)
                .cloned()
                .ok_or_else(|| PgError::internal("the session's role is not there"))?,
        };
        let name = if statement.schemaname.is_empty() { owner.name.clone() } else { statement.schemaname.clone() };
        self.check_database_privilege(pgsqlite_sql::acl::privilege::CREATE, || {
            format!("permission denied for database {}", self.session.database)
        })?;
        if name.starts_with("pg_") {
            return Err(PgError::new(SqlState::RESERVED_NAME, format!("unacceptable schema name \"{name}\""))
                .detail("The prefix \"pg_\" is reserved for system schemas."));
        }
        if self.catalog.schema_oid(&name).is_some() {
            if statement.if_not_exists {
                self.notice(SqlState::DUPLICATE_SCHEMA, format!("schema \"{name}\" already exists, skipping"));
                return Ok(tag);
            }
            return Err(PgError::new(SqlState::DUPLICATE_SCHEMA, format!("schema \"{name}\" already exists")));
        }
        let acl = self.default_acl(pgsqlite_sql::acl::AclObject::Schema, 0);
        let schema = Schema { oid: self.new_oid(false)?, name: name.clone(), owner: owner.oid, acl };
        store::write::put_schema(self.conn, &schema)?;
        let new = schema.oid;
        self.catalog.add_schema(schema);
        self.changed = true;
        // whatever their order, tables are there before what is made over them
        let mut elements: Vec<&ast::Node> = statement.schema_elts.iter().collect();
        elements.sort_by_key(|e| match &e.node {
            Some(NodeEnum::CreateSeqStmt(_)) => 0,
            Some(NodeEnum::CreateStmt(_)) => 1,
            Some(NodeEnum::ViewStmt(_)) => 2,
            Some(NodeEnum::IndexStmt(_)) => 3,
            Some(NodeEnum::CreateTrigStmt(_)) => 4,
            _ => 5,
        });
        for element in elements {
            let node = element.node.as_ref().ok_or_else(|| PgError::internal("an empty schema element"))?;
            let mut node = node.clone();
            let place = |relation: &mut Option<ast::RangeVar>| {
                if let Some(r) = relation.as_mut().filter(|r| r.schemaname.is_empty()) {
                    r.schemaname.clone_from(&name);
                }
            };
            // tables that the statement has made come before those of the search path
            let find = |relation: &mut ast::RangeVar| {
                if relation.schemaname.is_empty() && self.catalog.relation_in(new, &relation.relname).is_some() {
                    relation.schemaname.clone_from(&name);
                }
            };
            if let NodeEnum::CreateStmt(s) = &mut node {
                for parent in &mut s.inh_relations {
                    if let Some(NodeEnum::RangeVar(parent)) = &mut parent.node {
                        find(parent);
                    }
                }
                for part in &mut s.table_elts {
                    match &mut part.node {
                        Some(NodeEnum::Constraint(c)) => c.pktable.iter_mut().for_each(find),
                        Some(NodeEnum::ColumnDef(column)) => {
                            for constraint in &mut column.constraints {
                                if let Some(NodeEnum::Constraint(c)) = &mut constraint.node {
                                    c.pktable.iter_mut().for_each(find);
                                }
                            }
                        }
                        _ => {}
                    }
                }
            }
            match &mut node {
                NodeEnum::CreateStmt(s) => place(&mut s.relation),
                NodeEnum::CreateSeqStmt(s) => place(&mut s.sequence),
                NodeEnum::IndexStmt(s) => place(&mut s.relation),
                _ => return Err(PgError::not_supported("this element of CREATE SCHEMA")),
            }
            self.run(&node)?;
        }
        Ok(tag)
    }

    /// Stores or removes (None, or an empty text) a comment.
    pub(super) fn set_comment(&mut self, class: Oid, object: Oid, sub: i32, comment: Option<&str>) -> Result<()> {
        let comment = comment.filter(|c| !c.is_empty());
        self.ensure_store()?;
        store::write::put_comment(self.conn, class, object, sub, comment)?;
        match comment {
            Some(text) => {
                self.catalog.comments.insert((class, object, sub), text.to_string());
            }
            None => {
                self.catalog.comments.remove(&(class, object, sub));
            }
        }
        self.changed = true;
        Ok(())
    }
}
