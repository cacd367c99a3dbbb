//! DROP of kinds of objects that users cannot make here: functions, triggers, rules, policies. There is none to drop: IF EXISTS
//! says so, without it that is the error. (PostgreSQL's own functions cannot be dropped.)

use super::{strings, Ddl, NodeEnum};
use pgsqlite_sql::builtins::catalog as builtin;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::work;
use pgsqlite_types::{PgError, Result, SqlState};

impl Ddl<'_> {
    /// None: the kind is none of these.
    pub(super) fn drop_absent(&mut self, statement: &ast::DropStmt) -> Result<Option<String>> {
        use ast::ObjectType as T;
        let kind = statement.remove_type();
        let tag = match kind {
            T::ObjectFunction => "DROP FUNCTION",
            T::ObjectProcedure => "DROP PROCEDURE",
            T::ObjectRoutine => "DROP ROUTINE",
            T::ObjectTrigger => "DROP TRIGGER",
            T::ObjectRule => "DROP RULE",
            _ => return Ok(None),
        };
        for node in &statement.objects {
            work::visit();
            let (error, skipped) = match &node.node {
                Some(NodeEnum::ObjectWithArgs(named)) => self.absent_function(tag, named)?,
                Some(NodeEnum::List(list)) => self.absent_of_table(tag, &strings(&list.items))?,
                _ => return Err(PgError::internal("DROP of something without a name")),
            };
            if !statement.missing_ok {
                return Err(error);
            }
            self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{skipped}, skipping"));
        }
        Ok(Some(tag.into()))
    }

    /// The error, and what IF EXISTS says instead.
    fn absent_function(&self, tag: &str, named: &ast::ObjectWithArgs) -> Result<(PgError, String)> {
        let parts = strings(&named.objname);
        let shown = parts.join(".");
        let word = tag.trim_start_matches("DROP ").to_ascii_lowercase();
        let builtin = match parts[..] {
            [name] | ["pg_catalog", name] => builtin::all_procs().iter().any(|p| p.name == name),
            _ => false,
        };
        let several = parts.last().is_some_and(|name| builtin::procs_named(name).nth(1).is_some());
        if builtin && named.args_unspecified && several {
            return Err(PgError::new(SqlState::AMBIGUOUS_FUNCTION, format!("{word} name \"{shown}\" is not unique"))
                .hint(format!("Specify the argument list to select the {word} unambiguously.")));
        }
        if builtin {
            return Err(PgError::not_supported(format!("dropping the built-in {word} {shown}")));
        }
        if named.args_unspecified {
            let error =
                PgError::new(SqlState::UNDEFINED_FUNCTION, format!("could not find a {word} named \"{shown}\""));
            return Ok((error, format!("{word} {shown}() does not exist")));
        }
        let mut types = Vec::new();
        let mut written = Vec::new();
        for node in &named.objargs {
            work::visit();
            let Some(NodeEnum::TypeName(name)) = &node.node else { continue };
            written.push(strings(&name.names).join("."));
            types.push(match self.type_name(name) {
                Ok((ty, _)) => self.display_type(ty),
                Err(e) => return Ok((e, format!("type \"{}\" does not exist", strings(&name.names).join(".")))),
            });
        }
        let error =
            PgError::new(SqlState::UNDEFINED_FUNCTION, format!("{word} {shown}({}) does not exist", types.join(", ")));
        Ok((error, format!("{word} {shown}({}) does not exist", written.join(","))))
    }

    fn absent_of_table(&self, tag: &str, parts: &[&str]) -> Result<(PgError, String)> {
        let word = tag.trim_start_matches("DROP ").to_ascii_lowercase();
        let [table @ .., name] = parts else { return Err(PgError::internal("a name without its table")) };
        let (schema, relation) = self.qualified(table)?;
        if !schema.is_empty() && self.catalog.schema_oid(schema).is_none() {
            let message = format!("schema \"{schema}\" does not exist");
            return Ok((PgError::new(SqlState::UNDEFINED_SCHEMA, &*message), message));
        }
        if self.find_relation(schema, relation).is_none() {
            let message = format!("relation \"{}\" does not exist", table.join("."));
            return Ok((PgError::new(SqlState::UNDEFINED_TABLE, &*message), message));
        }
        let of = if word == "trigger" { "table" } else { "relation" };
        let error = PgError::new(
            SqlState::UNDEFINED_OBJECT,
            format!("{word} \"{name}\" for {of} \"{relation}\" does not exist"),
        );
        Ok((error, format!("{word} \"{name}\" for relation \"{relation}\" does not exist")))
    }
}
