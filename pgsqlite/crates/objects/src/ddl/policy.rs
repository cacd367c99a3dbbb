//! Row-level security: CREATE, ALTER and DROP POLICY, and ALTER TABLE … ROW LEVEL SECURITY. `sql::analyze` carries them out.

use super::{strings, Ddl, NodeEnum};
use pgsqlite_metadata::store::names::CatalogNames;
use pgsqlite_sql::acl::PUBLIC_ROLE;
use pgsqlite_sql::analyze::{self, Environment};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::{self, Names, Style};
use pgsqlite_sql::parse::ast;
use pgsqlite_types::error::Severity;
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result, SqlState};

/// pg_policy, as the class of comments
pub(super) const CLASS_POLICY: Oid = 3256;

fn missing(name: &str, table: &str) -> PgError {
    PgError::new(SqlState::UNDEFINED_OBJECT, format!("policy \"{name}\" for table \"{table}\" does not exist"))
}

impl Ddl<'_> {
    /// The table that a policy is (to be) on, which the session's role must own.
    fn policy_table(&self, name: Option<&ast::RangeVar>) -> Result<Relation> {
        let name = name.ok_or_else(|| PgError::internal("a policy without a table"))?;
        let relation = self.find(&ast::RangeVar { location: -1, ..name.clone() })?;
        self.check_not_system(&relation)?;
        self.check_owner(&relation)?;
        if relation.kind != RelationKind::Table {
            return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is not a table", relation.name)));
        }
        Ok((*relation).clone())
    }

    fn policy_roles(&mut self, nodes: &[ast::Node]) -> Result<Vec<Oid>> {
        let mut roles = Vec::new();
        for node in nodes {
            work::visit();
            let Some(NodeEnum::RoleSpec(spec)) = &node.node else {
                return Err(PgError::internal("a policy for what is no role"));
            };
            if spec.roletype() == ast::RoleSpecType::RolespecPublic {
                if nodes.len() > 1 {
                    self.notices.push(
                        PgError::new(SqlState::INVALID_PARAMETER_VALUE, "ignoring specified roles other than PUBLIC")
                            .hint("All roles are members of the PUBLIC role.")
                            .severity(Severity::Warning),
                    );
                }
                return Ok(vec![PUBLIC_ROLE]);
            }
            roles.push(self.role(spec)?.oid);
        }
        Ok(roles)
    }

    /// A policy's condition, checked; the text to store.
    fn policy_condition(&self, node: Option<&ast::Node>, table: &Relation) -> Result<Option<String>> {
        let Some(node) = node else { return Ok(None) };
        // PostgreSQL gives no place
        self.analyze(|e| analyze::analyze_policy(e, node, table)).map_err(PgError::without_position)?;
        // what is stored names views and tables with policies as they are written
        let catalog = deparse::definitions::unexpanded(&self.catalog);
        let names = CatalogNames { catalog: &catalog, search_path: self.environment.search_path };
        let environment = Environment { catalog: &catalog, names: &names, user: BOOTSTRAP_ROLE, ..self.environment };
        let printed = analyze::analyze_policy_to_print(&environment, node, table)?;
        let stored = deparse::policy(Names::stored(&self.catalog), Style::Full, &printed, table)?;
        // What cannot be read again would be in the way of every later statement about the table.
        self.analyze_stored_over(&catalog, |e| analyze::analyze_policy_text(e, &stored, table)).map_err(|e| {
            PgError::not_supported(format!("storing this policy, whose text is not read again ({})", e.message()))
        })?;
        #[cfg(debug_assertions)]
        if super::stored_texts::compares() {
            let expr = analyze::analyze_policy(&environment, node, table)?;
            self.analyze_stored_over(&catalog, |e| {
                let lowered =
                    |expr: &pgsqlite_sql::typed::Expr| pgsqlite_sql::lower::lower_expression(e, expr, Some(table));
                let read = analyze::analyze_policy_text(e, &stored, table).and_then(|read| lowered(&read));
                super::stored_texts::compare("policy", &stored, lowered(&expr), read);
                Ok(())
            })?;
        }
        Ok(Some(stored))
    }

    pub(super) fn create_policy(&mut self, s: &ast::CreatePolicyStmt) -> Result<String> {
        let command = match s.cmd_name.as_str() {
            "all" => PolicyCommand::All,
            "select" => PolicyCommand::Select,
            "insert" => PolicyCommand::Insert,
            "update" => PolicyCommand::Update,
            "delete" => PolicyCommand::Delete,
            other => return Err(PgError::internal(format!("a policy for {other}"))),
        };
        let syntax = |message: &str| Err(PgError::new(SqlState::SYNTAX_ERROR, message));
        if matches!(command, PolicyCommand::Select | PolicyCommand::Delete) && s.with_check.is_some() {
            return syntax("WITH CHECK cannot be applied to SELECT or DELETE");
        }
        if command == PolicyCommand::Insert && s.qual.is_some() {
            return syntax("only WITH CHECK expression allowed for INSERT");
        }
        let roles = self.policy_roles(&s.roles)?;
        let mut table = self.policy_table(s.table.as_ref())?;
        let using = self.policy_condition(s.qual.as_deref(), &table)?;
        let check = self.policy_condition(s.with_check.as_deref(), &table)?;
        if table.security.policies.iter().any(|p| p.name == s.policy_name) {
            return Err(PgError::new(
                SqlState::DUPLICATE_OBJECT,
                format!("policy \"{}\" for table \"{}\" already exists", s.policy_name, table.name),
            ));
        }
        let oid = self.new_oid(table.temporary)?;
        let name = s.policy_name.clone();
        table.security.policies.push(Policy { oid, name, permissive: s.permissive, command, roles, using, check });
        self.put_relation(table)?;
        Ok("CREATE POLICY".into())
    }

    pub(super) fn alter_policy(&mut self, s: &ast::AlterPolicyStmt) -> Result<String> {
        let roles = self.policy_roles(&s.roles)?;
        let mut table = self.policy_table(s.table.as_ref())?;
        let using = self.policy_condition(s.qual.as_deref(), &table)?;
        let check = self.policy_condition(s.with_check.as_deref(), &table)?;
        let name = table.name.clone();
        let policy = table.security.policies.iter_mut().find(|p| p.name == s.policy_name);
        let policy = policy.ok_or_else(|| missing(&s.policy_name, &name))?;
        let syntax = |message: &str| Err(PgError::new(SqlState::SYNTAX_ERROR, message));
        if matches!(policy.command, PolicyCommand::Select | PolicyCommand::Delete) && check.is_some() {
            return syntax("only USING expression allowed for SELECT, DELETE");
        }
        if policy.command == PolicyCommand::Insert && using.is_some() {
            return syntax("only WITH CHECK expression allowed for INSERT");
        }
        if !roles.is_empty() {
            policy.roles = roles;
        }
        policy.using = using.or_else(|| policy.using.take());
        policy.check = check.or_else(|| policy.check.take());
        self.put_relation(table)?;
        Ok("ALTER POLICY".into())
    }

    pub(super) fn rename_policy(&mut self, s: &ast::RenameStmt) -> Result<()> {
        let mut table = self.policy_table(s.relation.as_ref())?;
        if table.security.policies.iter().any(|p| p.name == s.newname) {
            return Err(PgError::new(
                SqlState::DUPLICATE_OBJECT,
                format!("policy \"{}\" for table \"{}\" already exists", s.newname, table.name),
            ));
        }
        let name = table.name.clone();
        let policy = table.security.policies.iter_mut().find(|p| p.name == s.subname);
        policy.ok_or_else(|| missing(&s.subname, &name))?.name.clone_from(&s.newname);
        self.put_relation(table)
    }

    /// The table and the policy that a list of names (schema, table, policy) means; None: the table has none of the name.
    fn policy_named(&self, names: &[&str]) -> Result<(Relation, Option<Oid>)> {
        let [table @ .., policy] = names else { return Err(PgError::internal("a policy without a name")) };
        let (schema, table) = self.qualified(table)?;
        let relation = self.find(&ast::RangeVar {
            schemaname: schema.into(),
            relname: table.into(),
            location: -1,
            inh: true,
            ..Default::default()
        })?;
        let oid = relation.security.policies.iter().find(|p| p.name == *policy).map(|p| p.oid);
        Ok(((*relation).clone(), oid))
    }

    pub(super) fn drop_policy(&mut self, s: &ast::DropStmt) -> Result<String> {
        for node in &s.objects {
            work::visit();
            let Some(NodeEnum::List(list)) = &node.node else { return Err(PgError::internal("a policy's name")) };
            let names = strings(&list.items);
            let name = names.last().copied().unwrap_or_default();
            let (mut table, found) = match self.policy_named(&names) {
                Err(e) if s.missing_ok && e.code() == SqlState::UNDEFINED_TABLE => {
                    let message = format!("relation \"{}\" does not exist, skipping", names[names.len() - 2]);
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                    continue;
                }
                other => other?,
            };
            let Some(oid) = found else {
                if s.missing_ok {
                    let message = format!("policy \"{name}\" for relation \"{}\" does not exist, skipping", table.name);
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                    continue;
                }
                return Err(missing(name, &table.name));
            };
            self.check_owned("relation", &table.name, table.owner)?;
            table.security.policies.retain(|p| p.oid != oid);
            self.put_relation(table)?;
            self.set_comment(CLASS_POLICY, oid, 0, None)?;
        }
        Ok("DROP POLICY".into())
    }

    pub(super) fn comment_on_policy(&mut self, names: &[&str], comment: Option<&str>) -> Result<()> {
        let (table, found) = self.policy_named(names)?;
        let oid = found.ok_or_else(|| missing(names.last().copied().unwrap_or_default(), &table.name))?;
        self.check_owner_of_part(&table)?;
        self.set_comment(CLASS_POLICY, oid, 0, comment)
    }

    /// ENABLE, DISABLE, FORCE and NO FORCE ROW LEVEL SECURITY.
    pub(super) fn row_security(&mut self, mut table: Relation, kind: ast::AlterTableType) -> Result<()> {
        use ast::AlterTableType as T;
        match kind {
            T::AtEnableRowSecurity => table.security.enabled = true,
            T::AtDisableRowSecurity => table.security.enabled = false,
            T::AtForceRowSecurity => table.security.forced = true,
            _ => table.security.forced = false,
        }
        self.put_relation(table)
    }

    /// The names of the table's policies that use a column.
    pub(super) fn policies_of_column(&self, table: &Relation, attnum: i16) -> Result<Vec<String>> {
        let mut users = Vec::new();
        for policy in &table.security.policies {
            work::visit();
            for text in [&policy.using, &policy.check].into_iter().flatten() {
                work::visit();
                let expr = self.analyze_stored(|e| analyze::analyze_policy_text(e, text, table))?;
                let uses = deparse::columns_used(&expr)
                    .into_iter()
                    .any(|i| table.live_columns().nth(i).is_some_and(|c| c.attnum == attnum));
                if uses && !users.contains(&policy.name) {
                    users.push(policy.name.clone());
                }
            }
        }
        Ok(users)
    }
}
