//! REASSIGN OWNED and DROP OWNED, and what keeps a role from being dropped.

use super::dependencies::Object;
use super::grant::change_grantor;
use super::Ddl;
use pgsqlite_metadata::store;
use pgsqlite_natives::large_object;
use pgsqlite_sql::acl::AclItem;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::{oid, work, Oid, PgError, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn reassign_owned(&mut self, statement: &ast::ReassignOwnedStmt) -> Result<String> {
        let from = self.role_list(&statement.roles, "reassign")?;
        let spec = statement.newrole.as_ref().ok_or_else(|| PgError::internal("REASSIGN OWNED without a role"))?;
        let owner = self.role(spec)?.oid;
        self.check_acts_as(owner, "reassign", "reassign objects to it")?;
        if let Some(&pinned) = from.iter().find(|&&r| r < store::base::FOUNDER_ROLE) {
            return Err(PgError::new(
                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                format!(
                    "cannot reassign ownership of objects owned by role {} because they are required by the database system",
                    self.catalog.role_name(pinned).unwrap_or_default()
                ),
            ));
        }
        let concerned = |r: &Relation| from.contains(&r.owner) || r.statistics.iter().any(|s| from.contains(&s.owner));
        let relations: Vec<Relation> =
            self.catalog.relations.values().filter(|r| concerned(r)).map(|r| (**r).clone()).collect();
        for mut relation in relations {
            work::visit();
            relation.statistics.iter_mut().filter(|s| from.contains(&s.owner)).for_each(|s| s.owner = owner);
            if from.contains(&relation.owner) {
                change_grantor(&mut relation.acl, relation.owner, owner);
                for column in &mut relation.columns {
                    work::visit();
                    change_grantor(&mut column.acl, relation.owner, owner);
                }
                relation.owner = owner;
            }
            self.put_relation(relation)?;
        }
        let schemas: Vec<Schema> =
            self.catalog.schemas.values().filter(|s| from.contains(&s.owner)).map(|s| (**s).clone()).collect();
        for mut schema in schemas {
            work::visit();
            change_grantor(&mut schema.acl, schema.owner, owner);
            self.put_schema(Schema { owner, ..schema })?;
        }
        let types: Vec<UserType> =
            self.catalog.types.values().filter(|t| from.contains(&t.owner)).map(|t| (**t).clone()).collect();
        for mut user_type in types {
            work::visit();
            change_grantor(&mut user_type.acl, user_type.owner, owner);
            self.put_type(UserType { owner, ..user_type })?;
        }
        let functions: Vec<_> = self
            .catalog
            .routines
            .values()
            .filter(|r| from.contains(&r.function.owner))
            .map(|r| r.function.clone())
            .collect();
        for mut function in functions {
            work::visit();
            change_grantor(&mut function.acl, function.owner, owner);
            self.put_function(pgsqlite_sql::routine::Function { owner, ..function })?;
        }
        let operators: Vec<_> = self.catalog.operators.values().map(|o| o.definition.clone()).collect();
        for definition in operators.into_iter().filter(|o| from.contains(&o.owner)) {
            work::visit();
            self.put_operator(pgsqlite_sql::operator::UserOperator { owner, ..definition })?;
        }
        let collations: Vec<UserCollation> = self.catalog.collations.values().map(|c| (**c).clone()).collect();
        for collation in collations.into_iter().filter(|c| from.contains(&c.owner)) {
            work::visit();
            self.put_collation(UserCollation { owner, ..collation })?;
        }
        self.reassign_ts_objects(&from, owner)?;
        let extensions: Vec<Extension> = self.catalog.extensions.values().map(|e| (**e).clone()).collect();
        for extension in extensions.into_iter().filter(|e| from.contains(&e.owner)) {
            work::visit();
            let extension = Extension { owner, ..extension };
            store::storing::put_extension(self.conn, &extension)?;
            self.catalog.extensions.insert(extension.name.clone(), extension.into());
            self.changed = true;
        }
        for found in self.large_objects_of(&from)? {
            work::visit();
            self.give_large_object(found, owner)?;
        }
        if from.contains(&self.catalog.properties.owner) {
            let mut properties = self.catalog.properties.clone();
            change_grantor(&mut properties.acl, properties.owner, owner);
            self.put_properties(DatabaseProperties { owner, ..properties })?;
        }
        Ok("REASSIGN OWNED".into())
    }

    pub(super) fn drop_owned(&mut self, statement: &ast::DropOwnedStmt) -> Result<String> {
        let roles = self.role_list(&statement.roles, "drop")?;
        if let Some(&pinned) = roles.iter().find(|&&r| r < oid::FIRST_USER_OID) {
            return Err(PgError::new(
                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                format!(
                    "cannot drop objects owned by role {} because they are required by the database system",
                    self.catalog.role_name(pinned).unwrap_or_default()
                ),
            ));
        }
        // what was granted to the roles goes, too
        for &role in &roles {
            work::visit();
            self.revoke_all_from(role)?;
        }
        self.change_memberships(|_, m| (!roles.contains(&m.grantor)).then(|| m.clone()))?;
        let mut targets: Vec<Object> = Vec::new();
        for r in self.catalog.relations.values().filter(|r| roles.contains(&r.owner)) {
            work::visit();
            let with_table = match &r.kind {
                RelationKind::Index(_) => true,
                RelationKind::Sequence(s) => s.owned_by.is_some(),
                _ => false,
            };
            if !with_table {
                targets.push(Object::Relation(r.oid));
            }
        }
        targets.extend(self.catalog.types.values().filter(|t| roles.contains(&t.owner)).map(|t| Object::Type(t.oid)));
        targets.extend(
            self.catalog
                .routines
                .values()
                .filter(|r| roles.contains(&r.function.owner))
                .map(|r| Object::Function(r.function.oid)),
        );
        targets
            .extend(self.catalog.schemas.values().filter(|s| roles.contains(&s.owner)).map(|s| Object::Schema(s.oid)));
        let operators = self.catalog.operators.values().map(|o| &o.definition);
        targets.extend(operators.filter(|o| roles.contains(&o.owner)).map(|o| Object::Operator(o.oid)));
        let cascade = statement.behavior() == ast::DropBehavior::DropCascade;
        let entries = self.catalog.properties.default_acls.iter().filter(|d| roles.contains(&d.role)).count();
        self.drop_objects_among(&targets, targets.len() + entries, cascade)?;
        self.drop_owned_apart(&roles, cascade)?;
        for found in self.large_objects_of(&roles)? {
            work::visit();
            large_object::store::unlink(self.conn, found.object)?;
        }
        let secured: Vec<Relation> = self
            .catalog
            .relations
            .values()
            .filter(|r| r.security.policies.iter().any(|p| p.roles.iter().any(|r| roles.contains(r))))
            .map(|r| (**r).clone())
            .collect();
        for mut table in secured {
            work::visit();
            // a policy that is left without roles goes
            table.security.policies.iter_mut().for_each(|p| p.roles.retain(|r| !roles.contains(r)));
            table.security.policies.retain(|p| !p.roles.is_empty());
            self.put_relation(table)?;
        }
        self.drop_default_privileges(&roles)?;
        Ok("DROP OWNED".into())
    }

    /// Drops what [`Ddl::drop_objects`] does not know: collations, and objects of text search.
    fn drop_owned_apart(&mut self, roles: &[Oid], cascade: bool) -> Result<()> {
        if self.catalog.extensions.values().any(|e| roles.contains(&e.owner)) {
            return Err(PgError::not_supported("DROP OWNED of a role that owns an extension"));
        }
        let configurations = self.catalog.ts_configurations.values().filter(|c| roles.contains(&c.owner));
        for configuration in configurations.map(|c| c.oid).collect::<Vec<_>>() {
            work::visit();
            self.remove_ts_configuration(configuration)?;
        }
        let dictionaries = self.catalog.ts_dictionaries.values().filter(|d| roles.contains(&d.owner));
        for dictionary in dictionaries.cloned().collect::<Vec<_>>() {
            work::visit();
            self.remove_ts_dictionary(&dictionary, cascade)?;
        }
        let collations = self.catalog.collations.values().filter(|c| roles.contains(&c.owner));
        for collation in collations.cloned().collect::<Vec<_>>() {
            work::visit();
            self.remove_collation(&collation, cascade)?;
        }
        Ok(())
    }

    fn large_objects_of(&self, roles: &[Oid]) -> Result<Vec<large_object::store::Found>> {
        let all = large_object::store::all(self.conn)?;
        Ok(all.into_iter().filter(|found| roles.contains(&found.owner)).collect())
    }

    /// Makes a role the owner of a large object.
    pub(super) fn give_large_object(&self, found: large_object::store::Found, owner: Oid) -> Result<()> {
        let mut acl = found.acl;
        change_grantor(&mut acl, found.owner, owner);
        if acl.is_some() {
            large_object::store::set_acl(self.conn, found.object, &acl)?;
        }
        large_object::store::set_owner(self.conn, found.object, owner)
    }

    /// What a role still has: lines for the detail of DROP ROLE's refusal.
    pub(super) fn role_dependencies(&self, role: Oid) -> Result<Vec<String>> {
        let mut out: Vec<(Oid, String)> = Vec::new();
        for member in self.catalog.roles.values() {
            work::visit();
            for membership in member.memberships.iter().filter(|m| m.grantor == role) {
                work::visit();
                let of = self.catalog.role_name(membership.role).unwrap_or_default();
                out.push((member.oid, format!("privileges for membership of role {} in role {of}", member.name)));
            }
        }
        let granted = |acl: &Option<Vec<AclItem>>| {
            acl.as_ref().is_some_and(|items| items.iter().any(|i| i.grantee == role || i.grantor == role))
        };
        let mut see = |oid: Oid, owner: Oid, acl: &Option<Vec<AclItem>>, described: String| {
            if owner == role {
                out.push((oid, format!("owner of {described}")));
            } else if granted(acl) {
                out.push((oid, format!("privileges for {described}")));
            }
        };
        for found in large_object::store::all(self.conn)? {
            work::visit();
            see(found.object, found.owner, &found.acl, format!("large object {}", found.object));
        }
        let properties = &self.catalog.properties;
        see(1, properties.owner, &properties.acl, format!("database {}", self.session.database));
        for s in self.catalog.schemas.values() {
            work::visit();
            see(s.oid, s.owner, &s.acl, self.describe(Object::Schema(s.oid)));
        }
        for (table, s) in self.catalog.statistics() {
            work::visit();
            see(s.oid, s.owner, &None, self.describe(Object::Statistics(table.oid, s.oid)));
        }
        for r in self.catalog.relations.values() {
            work::visit();
            if !matches!(r.kind, RelationKind::Index(_)) {
                see(r.oid, r.owner, &r.acl, self.describe(Object::Relation(r.oid)));
            }
        }
        for t in self.catalog.types.values() {
            work::visit();
            see(t.oid, t.owner, &t.acl, self.describe(Object::Type(t.oid)));
        }
        for r in self.catalog.routines.values() {
            work::visit();
            let f = &r.function;
            see(f.oid, f.owner, &f.acl, self.describe(Object::Function(f.oid)));
        }
        for o in self.catalog.operators.values().map(|o| &o.definition) {
            work::visit();
            see(o.oid, o.owner, &None, self.describe(Object::Operator(o.oid)));
        }
        for c in self.catalog.collations.values() {
            work::visit();
            see(c.oid, c.owner, &None, format!("collation {}", c.name));
        }
        for c in self.catalog.ts_configurations.values() {
            work::visit();
            see(c.oid, c.owner, &None, format!("text search configuration {}", c.name));
        }
        for e in self.catalog.extensions.values() {
            work::visit();
            see(e.oid, e.owner, &None, format!("extension {}", e.name));
        }
        for d in self.catalog.ts_dictionaries.values() {
            work::visit();
            see(d.oid, d.owner, &None, format!("text search dictionary {}", d.name));
        }
        for r in self.catalog.relations.values() {
            work::visit();
            for policy in r.security.policies.iter().filter(|p| p.roles.contains(&role)) {
                work::visit();
                out.push((policy.oid, format!("target of policy {} on table {}", policy.name, r.name)));
            }
        }
        for r in self.catalog.relations.values().filter(|r| r.owner != role) {
            work::visit();
            for column in r.live_columns().filter(|c| granted(&c.acl)) {
                work::visit();
                let relation = self.describe(Object::Relation(r.oid));
                out.push((r.oid, format!("privileges for column {} of {relation}", column.name)));
            }
        }
        out.extend(self.default_privileges_of(role));
        out.sort_by_key(|o| o.0);
        Ok(out.into_iter().map(|o| o.1).collect())
    }
}
