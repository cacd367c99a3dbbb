//! ALTER … OWNER TO.

use super::{strings, Ddl, NodeEnum};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::{work, Oid, PgError, Result, SqlState};
use std::sync::Arc;

impl Ddl<'_> {
    fn change_large_object(&mut self, number: Option<&ast::Node>, owner: Oid) -> Result<String> {
        use pgsqlite_natives::large_object::store;
        let object = super::grant::large_object_number(number)?;
        let Some(found) = store::find(self.conn, object)? else {
            let message = format!("large object {object} does not exist");
            return Err(PgError::new(SqlState::UNDEFINED_OBJECT, message));
        };
        self.check_owned("large object", &object.to_string(), found.owner)?;
        self.check_becomes_owner(owner)?;
        self.give_large_object(found, owner)?;
        Ok("ALTER LARGE OBJECT".into())
    }

    pub(super) fn alter_owner(&mut self, statement: &ast::AlterOwnerStmt) -> Result<String> {
        use ast::ObjectType as T;
        let spec = statement.newowner.as_ref().ok_or_else(|| PgError::internal("OWNER TO without a role"))?;
        let owner = self.role(spec)?.oid;
        let kind = statement.object_type();
        if matches!(kind, T::ObjectFunction | T::ObjectProcedure | T::ObjectRoutine | T::ObjectAggregate) {
            if self.function_owner(statement.object.as_deref(), kind)? == Some(owner) {
                return Ok(format!("ALTER {}", super::function::alter_word(kind)));
            }
            let mut function = self.function_of(statement.object.as_deref(), kind)?;
            self.check_new_owner(function.owner, owner, function.schema)?;
            super::grant::change_grantor(&mut function.acl, function.owner, owner);
            function.owner = owner;
            self.put_function(function)?;
            return Ok(format!("ALTER {}", super::function::alter_word(kind)));
        }
        if kind == T::ObjectOperator {
            return self.change_operator(statement.object.as_deref(), |ddl, o| {
                ddl.check_new_owner(o.owner, owner, o.schema)?;
                o.owner = owner;
                Ok(())
            });
        }
        if kind == T::ObjectLargeobject {
            return self.change_large_object(statement.object.as_deref(), owner);
        }
        let parts = match statement.object.as_ref().and_then(|o| o.node.as_ref()) {
            Some(NodeEnum::List(list)) => strings(&list.items),
            Some(NodeEnum::String(s)) => vec![s.sval.as_str()],
            _ => return Err(PgError::not_supported("OWNER TO of this object")),
        };
        match statement.object_type() {
            T::ObjectSchema => {
                let oid = self.catalog.schema_oid(parts[0]).ok_or_else(|| {
                    PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{}\" does not exist", parts[0]))
                })?;
                let mut schema = (*self.catalog.schemas[&oid]).clone();
                if schema.owner == owner {
                    return Ok("ALTER SCHEMA".into());
                }
                self.check_owned("schema", &schema.name, schema.owner)?;
                self.check_new_owner(schema.owner, owner, 0)?;
                if schema.owner != owner {
                    self.check_may_create_schemas()?;
                }
                super::grant::change_grantor(&mut schema.acl, schema.owner, owner);
                self.put_schema(Schema { owner, ..schema })?;
                Ok("ALTER SCHEMA".into())
            }
            T::ObjectCollation => {
                let collation = self.user_collation(&parts)?;
                self.check_new_owner(collation.owner, owner, collation.schema)?;
                self.change_collation(&parts, |c| c.owner = owner)?;
                Ok("ALTER COLLATION".into())
            }
            T::ObjectStatisticExt => {
                self.give_statistics(&parts, owner)?;
                Ok("ALTER STATISTICS".into())
            }
            T::ObjectTsconfiguration => self.own_ts_configuration(&parts, owner),
            T::ObjectTsdictionary => self.own_ts_dictionary(&parts, owner),
            T::ObjectType | T::ObjectDomain => {
                let tag = if statement.object_type() == T::ObjectDomain { "ALTER DOMAIN" } else { "ALTER TYPE" };
                if self.find_type(&parts)?.owner == owner {
                    return Ok(tag.into());
                }
                let mut user_type = (*self.find_owned_type(&parts)?).clone();
                self.check_new_owner(user_type.owner, owner, user_type.schema)?;
                super::grant::change_grantor(&mut user_type.acl, user_type.owner, owner);
                self.put_type(UserType { owner, ..user_type })?;
                Ok(tag.into())
            }
            T::ObjectDatabase if self.catalog.is_database(parts[0]) => {
                let mut properties = self.catalog.properties.clone();
                if properties.owner == owner {
                    return Ok("ALTER DATABASE".into());
                }
                self.check_owned("database", parts[0], properties.owner)?;
                self.check_new_owner(properties.owner, owner, 0)?;
                let user = self.catalog.roles.get(&self.environment.user);
                if properties.owner != owner && !user.is_some_and(|r| r.superuser || r.create_db) {
                    let message = "permission denied to change owner of database";
                    return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
                }
                super::grant::change_grantor(&mut properties.acl, properties.owner, owner);
                self.put_properties(DatabaseProperties { owner, ..properties })?;
                Ok("ALTER DATABASE".into())
            }
            T::ObjectDatabase if self.configure_other_database(parts[0], [spec].into_iter())? => {
                Ok("ALTER DATABASE".into())
            }
            T::ObjectDatabase => {
                Err(PgError::new(SqlState::UNDEFINED_DATABASE, format!("database \"{}\" does not exist", parts[0])))
            }
            other => {
                let word = other.as_str_name().trim_start_matches("OBJECT_").replace('_', " ");
                Err(PgError::not_supported(format!("ALTER {word} … OWNER TO")))
            }
        }
    }

    /// Who owns the function of a statement.
    fn function_owner(&self, object: Option<&ast::Node>, kind: ast::ObjectType) -> Result<Option<Oid>> {
        match object.and_then(|o| o.node.as_ref()) {
            Some(NodeEnum::ObjectWithArgs(named)) => Ok(Some(self.function_named(named, kind, false)?.owner)),
            _ => Ok(None),
        }
    }

    /// 42501 unless the session's role could become the new owner.
    pub(super) fn check_becomes_owner(&self, owner: Oid) -> Result<()> {
        let user = self.environment.user;
        if pgsqlite_sql::acl::may_set_role(&self.catalog, user, owner) {
            return Ok(());
        }
        Err(PgError::new(
            SqlState::INSUFFICIENT_PRIVILEGE,
            format!("must be able to SET ROLE \"{}\"", self.catalog.role_name(owner).unwrap_or_default()),
        ))
    }

    /// 42501 unless the session's role may give an object of the schema (0: of none) to another owner: it could become that one, which may make
    /// objects there.
    pub(super) fn check_new_owner(&self, old: Oid, new: Oid, schema: Oid) -> Result<()> {
        if old == new || pgsqlite_sql::acl::is_superuser(&self.catalog, self.environment.user) {
            return Ok(());
        }
        self.check_becomes_owner(new)?;
        let create = pgsqlite_sql::acl::privilege::CREATE;
        if schema != 0 && pgsqlite_sql::acl::schema_privileges(&self.catalog, new, schema) & create == 0 {
            let message = format!("permission denied for schema {}", self.catalog.schema_name(schema));
            return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        Ok(())
    }

    /// The indexes and the owned sequences of a relation.
    pub(super) fn parts_of(&self, relation: Oid) -> Vec<Relation> {
        let of_relation = |r: &&Arc<Relation>| match &r.kind {
            RelationKind::Index(i) => i.table == relation,
            RelationKind::Sequence(s) => s.owned_by.is_some_and(|o| o.0 == relation),
            _ => false,
        };
        self.catalog.relations.values().filter(of_relation).map(|r| (**r).clone()).collect()
    }

    /// A new owner of a relation and of what goes with it: indexes, owned sequences.
    pub(super) fn change_owner(&mut self, relation: Relation, owner: Oid) -> Result<()> {
        self.check_new_owner(relation.owner, owner, relation.schema)?;
        let parts = self.parts_of(relation.oid);
        for mut part in std::iter::once(relation).chain(parts) {
            work::visit();
            super::grant::change_grantor(&mut part.acl, part.owner, owner);
            for column in &mut part.columns {
                work::visit();
                super::grant::change_grantor(&mut column.acl, part.owner, owner);
            }
            self.put_relation(Relation { owner, ..part })?;
        }
        Ok(())
    }
}
