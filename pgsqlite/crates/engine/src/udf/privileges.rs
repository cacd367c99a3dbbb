//! `has_…_privilege` and `pg_has_role`. Nothing is withheld from a role that may connect, so every role that there is has
//! every privilege on every object that there is; what is checked is that the question makes sense.

use super::shim::{Call, Scalar};
use super::strings::invalid_parameter;
use pgsqlite_sql::builtins::catalog as builtin;
use pgsqlite_sql::catalog::RelationKind;
use pgsqlite_types::{oid, Datum, DatumRef, Oid, PgError, Result, SqlState};

/// What a privilege is asked of.
#[derive(Clone, Copy, PartialEq)]
enum Object {
    Table,
    Column,
    Sequence,
    Database,
    Schema,
    Function,
    Language,
    Type,
    Tablespace,
}

impl Object {
    fn privileges(self) -> &'static [&'static str] {
        match self {
            Object::Table => &["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"],
            Object::Column => &["SELECT", "INSERT", "UPDATE", "REFERENCES"],
            Object::Sequence => &["USAGE", "SELECT", "UPDATE"],
            Object::Database => &["CREATE", "TEMPORARY", "TEMP", "CONNECT"],
            Object::Schema => &["CREATE", "USAGE"],
            Object::Function => &["EXECUTE"],
            Object::Language | Object::Type => &["USAGE"],
            Object::Tablespace => &["CREATE"],
        }
    }
}

/// Checks a comma-separated list of privileges; 22023 for one that the object does not have.
fn check_privileges(list: &str, known: &[&str], options: &[&str]) -> Result<()> {
    for privilege in list.split(',') {
        let privilege = privilege.trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        let upper = privilege.to_ascii_uppercase();
        let plain = options.iter().find_map(|o| upper.strip_suffix(o)).unwrap_or(&upper);
        if !known.contains(&plain) {
            return Err(invalid_parameter(format!("unrecognized privilege type: \"{privilege}\"")));
        }
    }
    Ok(())
}

/// Whether there is the role; 42704 for a name that is none's.
fn role(c: &Call, i: usize) -> Result<bool> {
    let state = c.session.state();
    match c.datum(i) {
        DatumRef::Text("public") => Ok(true),
        DatumRef::Text(name) if state.catalog.role_named(name).is_none() => {
            Err(PgError::new(SqlState::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist")))
        }
        DatumRef::Text(_) => Ok(true),
        _ => Ok(state.catalog.roles.contains_key(&(c.int(i)? as Oid))),
    }
}

/// Whether there is the object, by OID or by name (an error if no object has the name). `column` is the index of the column argument.
fn exists(c: &Call, object: Object, i: usize, column: Option<usize>) -> Result<bool> {
    let state = c.session.state();
    let by_name = match c.datum(i) {
        DatumRef::Text(name) => Some(name),
        _ => None,
    };
    let undefined = |code: SqlState, what: &str| {
        Err(PgError::new(code, format!("{what} \"{}\" does not exist", by_name.unwrap_or_default())))
    };
    let named = |reg_type: Oid| match by_name {
        Some(name) => state.names.reg_oid(reg_type, name),
        None => Ok(c.int(i)? as Oid),
    };
    let system = |oid: Oid| builtin::system_relations().iter().any(|r| r.oid == oid);
    Ok(match object {
        Object::Table | Object::Column => {
            let table = named(oid::REGCLASS)?;
            let relation = state.catalog.relation(table);
            let Some(column) = column else { return Ok(relation.is_some() || system(table)) };
            let Some(relation) = relation else {
                if system(table) {
                    return Err(PgError::not_supported("privileges on columns of system catalogs"));
                }
                return Ok(false);
            };
            match c.datum(column) {
                DatumRef::Text(name) if relation.column(name).is_none() => {
                    return Err(PgError::new(
                        SqlState::UNDEFINED_COLUMN,
                        format!("column \"{name}\" of relation \"{}\" does not exist", relation.name),
                    ))
                }
                DatumRef::Text(_) => true,
                _ => relation.column_by_attnum(c.int(column)? as i16).is_some(),
            }
        }
        Object::Sequence => {
            let relation = named(oid::REGCLASS)?;
            match state.catalog.relation(relation) {
                Some(r) if matches!(r.kind, RelationKind::Sequence(_)) => true,
                Some(r) => {
                    return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is not a sequence", r.name)))
                }
                None => false,
            }
        }
        Object::Database => match by_name {
            Some(name) if name == state.database => true,
            Some(_) => return undefined(SqlState::UNDEFINED_DATABASE, "database"),
            None => c.int(i)? == super::sizes::DATABASE,
        },
        Object::Schema => match by_name {
            Some("pg_catalog" | "information_schema") => true,
            Some(name) if state.catalog.schema_oid(name).is_none() => {
                return undefined(SqlState::UNDEFINED_SCHEMA, "schema")
            }
            Some(_) => true,
            None => {
                let schema = c.int(i)? as Oid;
                schema == pgsqlite_sql::catalog::PG_CATALOG || state.catalog.schemas.contains_key(&schema)
            }
        },
        Object::Function => builtin::proc_by_oid(named(oid::REGPROCEDURE)?).is_some(),
        Object::Type => state.catalog.type_entry(named(oid::REGTYPE)?).is_some(),
        Object::Language => match by_name {
            Some("internal" | "c" | "sql" | "plpgsql") => true,
            Some(_) => return undefined(SqlState::UNDEFINED_OBJECT, "language"),
            None => return Err(PgError::not_supported("privileges on a language given by its OID")),
        },
        Object::Tablespace => match by_name {
            Some("pg_default" | "pg_global") => true,
            Some(_) => return undefined(SqlState::UNDEFINED_OBJECT, "tablespace"),
            None => return Err(PgError::not_supported("privileges on a tablespace given by its OID")),
        },
    })
}

/// `has_…_privilege([role,] object [, column], privileges)`
fn has(c: &Call, object: Object, with_column: bool) -> Result<Datum> {
    let rest = if with_column { 3 } else { 2 };
    let first = c.len() - rest;
    let known_role = first == 0 || role(c, 0)?;
    let there = exists(c, object, first, with_column.then_some(first + 1))?;
    check_privileges(c.text(c.len() - 1)?, object.privileges(), &[" WITH GRANT OPTION"])?;
    Ok(there.then_some(known_role).into())
}
fn has_any_column(c: &Call) -> Result<Datum> {
    let first = c.len() - 2;
    let known_role = first == 0 || role(c, 0)?;
    let there = exists(c, Object::Table, first, None)?;
    check_privileges(c.text(c.len() - 1)?, Object::Column.privileges(), &[" WITH GRANT OPTION"])?;
    Ok(there.then_some(known_role).into())
}
fn has_role(c: &Call) -> Result<Datum> {
    let first = c.len() - 2;
    let (member, of) = (first == 0 || role(c, 0)?, role(c, first)?);
    check_privileges(c.text(c.len() - 1)?, &["USAGE", "MEMBER"], &[" WITH GRANT OPTION", " WITH ADMIN OPTION"])?;
    let state = c.session.state();
    let id = |i: usize| match c.datum(i) {
        DatumRef::Text(name) => Ok(state.catalog.role_named(name).map(|r| r.oid)),
        _ => c.int(i).map(|n| Some(n as Oid)),
    };
    let own = if first == 0 { state.catalog.role_named(&state.user).map(|r| r.oid) } else { id(0)? };
    let superuser = own.and_then(|o| state.catalog.roles.get(&o)).is_some_and(|r| r.superuser);
    // There are no memberships: a role is a member of itself, a superuser of all.
    Ok(Datum::from(member && of && (superuser || own == id(first)?)))
}

pub(super) const FUNCTIONS: &[(&str, Scalar)] = &[
    (
        "has_table_privilege_name_name has_table_privilege_name_id has_table_privilege_id_name \
         has_table_privilege_id_id has_table_privilege_name has_table_privilege_id",
        |c| has(c, Object::Table, false),
    ),
    (
        "has_sequence_privilege_name_name has_sequence_privilege_name_id has_sequence_privilege_id_name \
         has_sequence_privilege_id_id has_sequence_privilege_name has_sequence_privilege_id",
        |c| has(c, Object::Sequence, false),
    ),
    (
        "has_database_privilege_name_name has_database_privilege_name_id has_database_privilege_id_name \
         has_database_privilege_id_id has_database_privilege_name has_database_privilege_id",
        |c| has(c, Object::Database, false),
    ),
    (
        "has_schema_privilege_name_name has_schema_privilege_name_id has_schema_privilege_id_name \
         has_schema_privilege_id_id has_schema_privilege_name has_schema_privilege_id",
        |c| has(c, Object::Schema, false),
    ),
    (
        "has_function_privilege_name_name has_function_privilege_name_id has_function_privilege_id_name \
         has_function_privilege_id_id has_function_privilege_name has_function_privilege_id",
        |c| has(c, Object::Function, false),
    ),
    (
        "has_language_privilege_name_name has_language_privilege_name_id has_language_privilege_id_name \
         has_language_privilege_id_id has_language_privilege_name has_language_privilege_id",
        |c| has(c, Object::Language, false),
    ),
    (
        "has_type_privilege_name_name has_type_privilege_name_id has_type_privilege_id_name \
         has_type_privilege_id_id has_type_privilege_name has_type_privilege_id",
        |c| has(c, Object::Type, false),
    ),
    (
        "has_tablespace_privilege_name_name has_tablespace_privilege_name_id has_tablespace_privilege_id_name \
         has_tablespace_privilege_id_id has_tablespace_privilege_name has_tablespace_privilege_id",
        |c| has(c, Object::Tablespace, false),
    ),
    (
        "has_column_privilege_name_name_name has_column_privilege_name_name_attnum \
         has_column_privilege_name_id_name has_column_privilege_name_id_attnum has_column_privilege_id_name_name \
         has_column_privilege_id_name_attnum has_column_privilege_id_id_name has_column_privilege_id_id_attnum \
         has_column_privilege_name_name has_column_privilege_name_attnum has_column_privilege_id_name \
         has_column_privilege_id_attnum",
        |c| has(c, Object::Column, true),
    ),
    (
        "has_any_column_privilege_name_name has_any_column_privilege_name_id has_any_column_privilege_id_name \
         has_any_column_privilege_id_id has_any_column_privilege_name has_any_column_privilege_id",
        has_any_column,
    ),
    (
        "pg_has_role_name_name pg_has_role_name_id pg_has_role_id_name pg_has_role_id_id pg_has_role_name \
         pg_has_role_id",
        has_role,
    ),
];
