//! What PostgreSQL calls a statement, for messages about statements that are not carried out.

use crate::parse::{ast, NodeEnum, RawStatement};

/// `CREATE RULE` of a RuleStmt …: the words of PostgreSQL's command tag, without the name of what it is about.
pub fn name(node: &NodeEnum) -> String {
    use NodeEnum as N;
    let name = match node {
        N::RuleStmt(_) => "CREATE RULE",
        N::CreateStmt(_) => "CREATE TABLE",
        N::CreateTableAsStmt(_) => "CREATE TABLE AS",
        N::IndexStmt(_) => "CREATE INDEX",
        N::ViewStmt(_) => "CREATE VIEW",
        N::CreateSeqStmt(_) => "CREATE SEQUENCE",
        N::CompositeTypeStmt(_) | N::CreateEnumStmt(_) => "CREATE TYPE",
        N::AlterEnumStmt(_) => "ALTER TYPE",
        N::AlterSeqStmt(_) => "ALTER SEQUENCE",
        N::TruncateStmt(_) => "TRUNCATE TABLE",
        N::DropStmt(s) => match s.remove_type() {
            ast::ObjectType::ObjectTable => "DROP TABLE",
            ast::ObjectType::ObjectIndex => "DROP INDEX",
            ast::ObjectType::ObjectView => "DROP VIEW",
            ast::ObjectType::ObjectMatview => "DROP MATERIALIZED VIEW",
            ast::ObjectType::ObjectSequence => "DROP SEQUENCE",
            ast::ObjectType::ObjectSchema => "DROP SCHEMA",
            ast::ObjectType::ObjectType => "DROP TYPE",
            ast::ObjectType::ObjectDomain => "DROP DOMAIN",
            ast::ObjectType::ObjectFunction => "DROP FUNCTION",
            ast::ObjectType::ObjectTrigger => "DROP TRIGGER",
            _ => "DROP",
        },
        N::CreateFunctionStmt(s) if s.is_procedure => "CREATE PROCEDURE",
        N::CreateFunctionStmt(_) => "CREATE FUNCTION",
        N::AlterFunctionStmt(s) => match s.objtype() {
            ast::ObjectType::ObjectProcedure => "ALTER PROCEDURE",
            ast::ObjectType::ObjectRoutine => "ALTER ROUTINE",
            _ => "ALTER FUNCTION",
        },
        N::DefineStmt(s) => match s.kind() {
            ast::ObjectType::ObjectAggregate => "CREATE AGGREGATE",
            ast::ObjectType::ObjectOperator => "CREATE OPERATOR",
            ast::ObjectType::ObjectType => "CREATE TYPE",
            ast::ObjectType::ObjectTsparser => "CREATE TEXT SEARCH PARSER",
            ast::ObjectType::ObjectTsdictionary => "CREATE TEXT SEARCH DICTIONARY",
            ast::ObjectType::ObjectTstemplate => "CREATE TEXT SEARCH TEMPLATE",
            ast::ObjectType::ObjectTsconfiguration => "CREATE TEXT SEARCH CONFIGURATION",
            ast::ObjectType::ObjectCollation => "CREATE COLLATION",
            ast::ObjectType::ObjectAccessMethod => "CREATE ACCESS METHOD",
            _ => "CREATE",
        },
        N::CreateRangeStmt(_) => "CREATE TYPE",
        N::AlterTypeStmt(_) => "ALTER TYPE",
        N::CreateTrigStmt(_) => "CREATE TRIGGER",
        N::CreateEventTrigStmt(_) => "CREATE EVENT TRIGGER",
        N::ConstraintsSetStmt(_) => "SET CONSTRAINTS",
        N::AlterEventTrigStmt(_) => "ALTER EVENT TRIGGER",
        N::CreatePolicyStmt(_) => "CREATE POLICY",
        N::AlterPolicyStmt(_) => "ALTER POLICY",
        N::CreatePlangStmt(_) => "CREATE LANGUAGE",
        N::CreateCastStmt(_) => "CREATE CAST",
        N::CreateConversionStmt(_) => "CREATE CONVERSION",
        N::CreateTransformStmt(_) => "CREATE TRANSFORM",
        N::CreateOpClassStmt(_) => "CREATE OPERATOR CLASS",
        N::CreateOpFamilyStmt(_) => "CREATE OPERATOR FAMILY",
        N::AlterOpFamilyStmt(_) => "ALTER OPERATOR FAMILY",
        N::AlterOperatorStmt(_) => "ALTER OPERATOR",
        N::CreateAmStmt(_) => "CREATE ACCESS METHOD",
        N::CreateStatsStmt(_) => "CREATE STATISTICS",
        N::AlterStatsStmt(_) => "ALTER STATISTICS",
        N::CreateTableSpaceStmt(_) => "CREATE TABLESPACE",
        N::DropTableSpaceStmt(_) => "DROP TABLESPACE",
        N::AlterTableSpaceOptionsStmt(_) => "ALTER TABLESPACE",
        N::AlterTableMoveAllStmt(_) => "ALTER TABLE ALL IN TABLESPACE",
        N::CreatePublicationStmt(_) => "CREATE PUBLICATION",
        N::AlterPublicationStmt(_) => "ALTER PUBLICATION",
        N::CreateSubscriptionStmt(_) => "CREATE SUBSCRIPTION",
        N::AlterSubscriptionStmt(_) => "ALTER SUBSCRIPTION",
        N::DropSubscriptionStmt(_) => "DROP SUBSCRIPTION",
        N::CreateFdwStmt(_) => "CREATE FOREIGN DATA WRAPPER",
        N::AlterFdwStmt(_) => "ALTER FOREIGN DATA WRAPPER",
        N::CreateForeignServerStmt(_) => "CREATE SERVER",
        N::AlterForeignServerStmt(_) => "ALTER SERVER",
        N::CreateForeignTableStmt(_) => "CREATE FOREIGN TABLE",
        N::CreateUserMappingStmt(_) => "CREATE USER MAPPING",
        N::AlterUserMappingStmt(_) => "ALTER USER MAPPING",
        N::DropUserMappingStmt(_) => "DROP USER MAPPING",
        N::ImportForeignSchemaStmt(_) => "IMPORT FOREIGN SCHEMA",
        N::SecLabelStmt(_) => "SECURITY LABEL",
        N::AlterSystemStmt(_) => "ALTER SYSTEM",
        N::AlterExtensionStmt(_) | N::AlterExtensionContentsStmt(_) => "ALTER EXTENSION",
        N::AlterDatabaseRefreshCollStmt(_) => "ALTER DATABASE … REFRESH COLLATION VERSION",
        N::AlterCollationStmt(_) => "ALTER COLLATION",
        N::AlterTsconfigurationStmt(_) => "ALTER TEXT SEARCH CONFIGURATION",
        N::AlterTsdictionaryStmt(_) => "ALTER TEXT SEARCH DICTIONARY",
        N::AlterObjectDependsStmt(_) => "ALTER … DEPENDS ON EXTENSION",
        N::AlterDefaultPrivilegesStmt(_) => "ALTER DEFAULT PRIVILEGES",
        N::DoStmt(_) => "DO",
        N::CallStmt(_) => "CALL",
        N::LoadStmt(_) => "LOAD",
        N::ClusterStmt(_) => "CLUSTER",
        N::RangeTableFunc(_) => "XMLTABLE",
        N::JsonTable(_) => "JSON_TABLE",
        // SelectStmt and its like, where they cannot stand: the first word of the node's name
        other => {
            let debug = format!("{other:?}");
            return words(debug.split(['(', ' ', '{']).next().unwrap_or("").trim_end_matches("Stmt"));
        }
    };
    name.into()
}

/// PostgreSQL's command tag of a statement, as the refusals of read-only transactions and of standbys have it.
pub fn tag(node: &NodeEnum) -> String {
    use NodeEnum as N;
    let tag = match node {
        N::SelectStmt(s) if s.into_clause.is_some() => "SELECT INTO",
        N::SelectStmt(s) => match s.locking_clause.first().and_then(|n| n.node.as_ref()) {
            Some(N::LockingClause(l)) => match l.strength() {
                ast::LockClauseStrength::LcsForkeyshare => "SELECT FOR KEY SHARE",
                ast::LockClauseStrength::LcsForshare => "SELECT FOR SHARE",
                ast::LockClauseStrength::LcsFornokeyupdate => "SELECT FOR NO KEY UPDATE",
                _ => "SELECT FOR UPDATE",
            },
            _ => "SELECT",
        },
        N::CreateTableAsStmt(s) if s.is_select_into => "SELECT INTO",
        N::CreateTableAsStmt(s) if s.objtype() == ast::ObjectType::ObjectMatview => "CREATE MATERIALIZED VIEW",
        N::VariableSetStmt(s) => match s.kind() {
            ast::VariableSetKind::VarReset | ast::VariableSetKind::VarResetAll => "RESET",
            _ => "SET",
        },
        N::RefreshMatViewStmt(_) => "REFRESH MATERIALIZED VIEW",
        N::GrantStmt(s) => {
            if s.is_grant {
                "GRANT"
            } else {
                "REVOKE"
            }
        }
        N::GrantRoleStmt(s) => {
            if s.is_grant {
                "GRANT ROLE"
            } else {
                "REVOKE ROLE"
            }
        }
        N::CreatedbStmt(_) => "CREATE DATABASE",
        N::DropdbStmt(_) => "DROP DATABASE",
        N::AlterDatabaseStmt(_) | N::AlterDatabaseSetStmt(_) | N::AlterDatabaseRefreshCollStmt(_) => "ALTER DATABASE",
        N::AlterRoleSetStmt(_) => "ALTER ROLE",
        N::RenameStmt(s) => match s.rename_type() {
            ast::ObjectType::ObjectColumn => return altered(s.relation_type()),
            other => return altered(other),
        },
        N::AlterObjectSchemaStmt(s) => return altered(s.object_type()),
        N::AlterOwnerStmt(s) => return altered(s.object_type()),
        N::AlterObjectDependsStmt(s) => return altered(s.object_type()),
        N::AlterTableStmt(s) => return altered(s.objtype()),
        _ => return name(node),
    };
    tag.into()
}

/// The command tag of ALTER for objects of this type.
fn altered(object: ast::ObjectType) -> String {
    use ast::ObjectType as O;
    let kind = match object {
        O::ObjectAggregate => "AGGREGATE",
        O::ObjectAttribute | O::ObjectType => "TYPE",
        O::ObjectCollation => "COLLATION",
        O::ObjectConversion => "CONVERSION",
        O::ObjectDatabase => "DATABASE",
        O::ObjectDomain | O::ObjectDomconstraint => "DOMAIN",
        O::ObjectEventTrigger => "EVENT TRIGGER",
        O::ObjectExtension => "EXTENSION",
        O::ObjectFdw => "FOREIGN DATA WRAPPER",
        O::ObjectForeignServer => "SERVER",
        O::ObjectForeignTable => "FOREIGN TABLE",
        O::ObjectFunction => "FUNCTION",
        O::ObjectIndex => "INDEX",
        O::ObjectLanguage => "LANGUAGE",
        O::ObjectLargeobject => "LARGE OBJECT",
        O::ObjectMatview => "MATERIALIZED VIEW",
        O::ObjectOpclass => "OPERATOR CLASS",
        O::ObjectOperator => "OPERATOR",
        O::ObjectOpfamily => "OPERATOR FAMILY",
        O::ObjectPolicy => "POLICY",
        O::ObjectProcedure => "PROCEDURE",
        O::ObjectPublication => "PUBLICATION",
        O::ObjectRole => "ROLE",
        O::ObjectRoutine => "ROUTINE",
        O::ObjectRule => "RULE",
        O::ObjectSchema => "SCHEMA",
        O::ObjectSequence => "SEQUENCE",
        O::ObjectStatisticExt => "STATISTICS",
        O::ObjectSubscription => "SUBSCRIPTION",
        O::ObjectTablespace => "TABLESPACE",
        O::ObjectTrigger => "TRIGGER",
        O::ObjectTsconfiguration => "TEXT SEARCH CONFIGURATION",
        O::ObjectTsdictionary => "TEXT SEARCH DICTIONARY",
        O::ObjectTsparser => "TEXT SEARCH PARSER",
        O::ObjectTstemplate => "TEXT SEARCH TEMPLATE",
        O::ObjectView => "VIEW",
        _ => "TABLE",
    };
    format!("ALTER {kind}")
}

/// `AlterEnum` → `ALTER ENUM`
fn words(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push(' ');
        }
        out.push(c.to_ascii_uppercase());
    }
    out
}

/// Where a statement begins, past the comments before it: the location of a refusal of the whole statement.
pub fn start(statement: &RawStatement) -> i32 {
    let mut rest = &*statement.text;
    loop {
        rest = rest.trim_start();
        if rest.starts_with("--") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if rest.starts_with("/*") {
            rest = after_comment(rest);
        } else {
            return (statement.offset + statement.text.len() - rest.len()) as i32;
        }
    }
}

/// What follows the comment that the text begins with; such comments nest.
fn after_comment(text: &str) -> &str {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return &text[at..];
            }
        } else {
            at += 1;
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_called_as_in_postgresql_and_found_past_comments() {
        for (text, expected, at) in [
            ("CREATE RULE r AS ON INSERT TO t DO NOTHING", "CREATE RULE", 0),
            ("-- one\n  /* two /* nested */ é */ DO $$ $$", "DO", 35),
            ("CREATE AGGREGATE a (int) (sfunc = f, stype = int)", "CREATE AGGREGATE", 0),
            ("CREATE TYPE t", "CREATE TYPE", 0),
            ("CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION f()", "CREATE EVENT TRIGGER", 0),
            ("ALTER PROCEDURE p() SECURITY DEFINER", "ALTER PROCEDURE", 0),
            ("ALTER SYSTEM SET a = 1", "ALTER SYSTEM", 0),
        ] {
            let statements = crate::parse::parse(text).unwrap();
            assert_eq!(name(&statements[0].node), expected);
            assert_eq!(start(&statements[0]), at, "{text}");
        }
        let second = &crate::parse::parse("SELECT 1; -- x\n LOAD 'y'").unwrap()[1];
        assert_eq!((name(&second.node).as_str(), start(second)), ("LOAD", 16));
    }
}
