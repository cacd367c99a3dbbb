//! CREATE SCHEMA, and comments.

use super::Ddl;
use pgsqlite_metadata::store;
use pgsqlite_sql::analyze::Environment;
use pgsqlite_sql::catalog::*;
pub use pgsqlite_sql::deparse::CLASS_RELATION;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::sync::Arc;

/// OIDs of the catalogs that comments and dependencies name.
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
pub const CLASS_OPERATOR: Oid = 2617;
pub const CLASS_STATISTICS: Oid = 3381;
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
            ast::RoleSpecType::RolespecSessionUser => by_oid(self.session.session_role),
            _ => by_oid(self.environment.user),
        }
    }

    pub(super) fn check_may_create_schemas(&self) -> Result<()> {
        self.check_database_privilege(pgsqlite_sql::acl::privilege::CREATE, || {
            format!("permission denied for database {}", self.session.database)
        })
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
        self.check_may_create_schemas()?;
        self.check_becomes_owner(owner.oid)?;
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
        store::storing::put_schema(self.conn, &schema)?;
        let new = schema.oid;
        self.catalog.add_schema(schema);
        self.changed = true;
        if !statement.schema_elts.is_empty() {
            self.create_elements(new, &name, owner.oid, &statement.schema_elts)?;
        }
        Ok(tag)
    }

    /// Runs the commands within CREATE SCHEMA as the schema's owner, with the new schema in front of the search path: whatever
    /// their order, each kind after those that it may need. Errors: 42P15 for a name in another schema, those of the commands.
    fn create_elements(&mut self, schema: Oid, name: &str, owner: Oid, elements: &[ast::Node]) -> Result<()> {
        let mut commands = Vec::with_capacity(elements.len());
        for element in elements {
            work::visit();
            let mut node = element.node.clone().ok_or_else(|| PgError::internal("an empty schema element"))?;
            let (stage, relation) = match &mut node {
                NodeEnum::CreateSeqStmt(s) => (0, s.sequence.as_mut()),
                NodeEnum::CreateStmt(s) => (1, s.relation.as_mut()),
                NodeEnum::ViewStmt(s) => (2, s.view.as_mut()),
                NodeEnum::IndexStmt(s) => (3, s.relation.as_mut()),
                NodeEnum::CreateTrigStmt(s) => (4, s.relation.as_mut()),
                NodeEnum::GrantStmt(_) => (5, None),
                _ => return Err(PgError::not_supported("this element of CREATE SCHEMA")),
            };
            if let Some(relation) = relation {
                if relation.schemaname.is_empty() {
                    relation.schemaname = name.to_string();
                } else if relation.schemaname != name {
                    let message = format!(
                        "CREATE specifies a schema ({}) different from the one being created ({name})",
                        relation.schemaname
                    );
                    return Err(PgError::new(SqlState::INVALID_SCHEMA_DEFINITION, message));
                }
            }
            commands.push((stage, node));
        }
        commands.sort_by_key(|c| c.0);
        let mut search_path = vec![schema];
        search_path.extend(self.environment.search_path);
        let mut inner = Ddl {
            conn: self.conn,
            catalog: self.catalog.clone(),
            environment: Environment { search_path: &search_path, user: owner, ..self.environment },
            session: self.session,
            text: self.text.clone(),
            offset: self.offset,
            notices: std::mem::take(&mut self.notices),
            sequences: std::mem::take(&mut self.sequences),
            next_oid: self.next_oid,
            changed: self.changed,
            stored_path: self.stored_path,
        };
        let done = commands.iter().try_for_each(|(_, node)| inner.run(node).map(drop));
        let Ddl { catalog, notices, sequences, next_oid, changed, .. } = inner;
        (self.catalog, self.notices, self.sequences) = (catalog, notices, sequences);
        (self.next_oid, self.changed) = (next_oid, changed);
        done
    }

    /// Stores or removes (None, or an empty text) a comment. That every database has a comment on the object is taken back by an empty one.
    pub(super) fn set_comment(&mut self, class: Oid, object: Oid, sub: i32, comment: Option<&str>) -> Result<()> {
        let is_of_every_database = sub == 0
            && (pgsqlite_sql::builtins::catalog::description(class, object).is_some()
                || class == CLASS_SCHEMA && [PUBLIC, PG_CATALOG].contains(&object));
        let comment = comment.filter(|c| !c.is_empty()).or(is_of_every_database.then_some(""));
        self.ensure_store()?;
        store::storing::put_comment(self.conn, class, object, sub, comment)?;
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
