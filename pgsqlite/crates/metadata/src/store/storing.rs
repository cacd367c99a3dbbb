//! Storing one object, comment or sequence state. All run in the caller's write transaction, after [`super::init`].

use super::sqlite_error;
use pgsqlite_sql::catalog::{
    DatabaseProperties, Extension, Relation, Role, Schema, TsConfiguration, TsDictionary, UserCollation, UserType,
};
use pgsqlite_sql::operator::{UserCast, UserOperator};
use pgsqlite_sql::routine::Function;
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result};
use rusqlite::{params, Connection};

fn json<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|e| PgError::internal(format!("catalog object as JSON: {e}")))
}

fn put(conn: &Connection, oid: Oid, class: &str, schema: Oid, name: &str, definition: &str) -> Result<()> {
    conn.prepare_cached("INSERT OR REPLACE INTO main.__pgsqlite_object VALUES (?1, ?2, ?3, ?4, ?5)")
        .and_then(|mut s| s.execute(params![oid, class, schema, name, definition]))
        .map_err(sqlite_error)?;
    Ok(())
}

/// Stores a table, view, index or sequence.
pub fn put_relation(conn: &Connection, relation: &Relation) -> Result<()> {
    put(conn, relation.oid, "relation", relation.schema, &relation.name, &json(relation)?)
}

/// Stores a type.
pub fn put_type(conn: &Connection, user_type: &UserType) -> Result<()> {
    put(conn, user_type.oid, "type", user_type.schema, &user_type.name, &json(user_type)?)
}

/// Stores a function.
pub fn put_function(conn: &Connection, function: &Function) -> Result<()> {
    put(conn, function.oid, "function", function.schema, &function.name, &json(function)?)
}

/// Stores an operator.
pub fn put_operator(conn: &Connection, operator: &UserOperator) -> Result<()> {
    put(conn, operator.oid, "operator", operator.schema, &operator.name, &json(operator)?)
}

/// Stores a cast.
pub fn put_cast(conn: &Connection, cast: &UserCast) -> Result<()> {
    put(conn, cast.oid, "cast", 0, &format!("{} to {}", cast.source, cast.target), &json(cast)?)
}

/// Stores an extension.
pub fn put_extension(conn: &Connection, extension: &Extension) -> Result<()> {
    put(conn, extension.oid, "extension", extension.schema, &extension.name, &json(extension)?)
}

/// Stores a configuration of text search.
pub fn put_ts_configuration(conn: &Connection, c: &TsConfiguration) -> Result<()> {
    put(conn, c.oid, "text search configuration", c.schema, &c.name, &json(c)?)
}

/// Stores a dictionary of text search.
pub fn put_ts_dictionary(conn: &Connection, d: &TsDictionary) -> Result<()> {
    put(conn, d.oid, "text search dictionary", d.schema, &d.name, &json(d)?)
}

/// Stores a collation.
pub fn put_collation(conn: &Connection, collation: &UserCollation) -> Result<()> {
    put(conn, collation.oid, "collation", collation.schema, &collation.name, &json(collation)?)
}

/// Stores a schema.
pub fn put_schema(conn: &Connection, schema: &Schema) -> Result<()> {
    put(conn, schema.oid, "schema", 0, &schema.name, &json(schema)?)
}

/// A schema that every database has by itself (`public`) was dropped: that must be remembered.
pub fn put_dropped_schema(conn: &Connection, schema: &Schema) -> Result<()> {
    put(conn, schema.oid, "dropped schema", 0, &schema.name, &json(schema)?)
}

/// Stores a role.
pub fn put_role(conn: &Connection, role: &Role) -> Result<()> {
    conn.execute(
        "INSERT OR REPLACE INTO main.__pgsqlite_role VALUES (?1, ?2, ?3)",
        params![role.oid, role.name, json(role)?],
    )
    .map_err(sqlite_error)?;
    Ok(())
}

/// Removes a role and its settings.
pub fn delete_role(conn: &Connection, oid: Oid) -> Result<()> {
    conn.execute("DELETE FROM main.__pgsqlite_role WHERE oid = ?1", [oid]).map_err(sqlite_error)?;
    conn.execute("DELETE FROM main.__pgsqlite_setting WHERE role = ?1", [oid]).map_err(sqlite_error)?;
    Ok(())
}

/// Removes an object, its comments and (of a sequence) its state.
pub fn delete_object(conn: &Connection, oid: Oid) -> Result<()> {
    for sql in [
        "DELETE FROM main.__pgsqlite_object WHERE oid = ?1",
        "DELETE FROM main.__pgsqlite_comment WHERE object = ?1",
        "DELETE FROM main.__pgsqlite_sequence WHERE oid = ?1",
    ] {
        work::visit();
        conn.prepare_cached(sql).and_then(|mut s| s.execute([oid])).map_err(sqlite_error)?;
    }
    Ok(())
}

/// Removes the comments of an object, which may be a part of another.
pub fn delete_comments(conn: &Connection, object: Oid) -> Result<()> {
    conn.execute("DELETE FROM main.__pgsqlite_comment WHERE object = ?1", [object]).map_err(sqlite_error)?;
    Ok(())
}

/// COMMENT ON; None removes it.
pub fn put_comment(conn: &Connection, class: Oid, object: Oid, sub: i32, comment: Option<&str>) -> Result<()> {
    match comment {
        Some(text) => conn.execute(
            "INSERT OR REPLACE INTO main.__pgsqlite_comment VALUES (?1, ?2, ?3, ?4)",
            params![class, object, sub, text],
        ),
        None => conn.execute(
            "DELETE FROM main.__pgsqlite_comment WHERE class = ?1 AND object = ?2 AND sub = ?3",
            params![class, object, sub],
        ),
    }
    .map_err(sqlite_error)?;
    Ok(())
}

/// The state of a sequence: what `SELECT last_value, is_called FROM seq` shows.
pub fn put_sequence_state(conn: &Connection, oid: Oid, last_value: i64, is_called: bool) -> Result<()> {
    conn.prepare_cached("INSERT OR REPLACE INTO main.__pgsqlite_sequence VALUES (?1, ?2, ?3)")
        .and_then(|mut s| s.execute(params![oid, last_value, is_called]))
        .map_err(sqlite_error)?;
    Ok(())
}

/// The same of a sequence that has a state there; of one that has none (another transaction makes it) nothing.
pub fn move_sequence(conn: &Connection, oid: Oid, last_value: i64, is_called: bool) -> Result<()> {
    conn.prepare_cached("UPDATE main.__pgsqlite_sequence SET last_value = ?2, is_called = ?3 WHERE oid = ?1")
        .and_then(|mut s| s.execute(params![oid, last_value, is_called]))
        .map_err(sqlite_error)?;
    Ok(())
}

/// Sets the OID that the next object of the file gets.
pub fn set_next_oid(conn: &Connection, next: Oid) -> Result<()> {
    conn.execute("UPDATE main.__pgsqlite_meta SET value = ?1 WHERE key = 'next_oid'", [next]).map_err(sqlite_error)?;
    Ok(())
}

/// Owner, privileges and settings of the database.
pub fn put_properties(conn: &Connection, properties: &DatabaseProperties) -> Result<()> {
    conn.execute("INSERT OR REPLACE INTO main.__pgsqlite_meta VALUES ('database', ?1)", [json(properties)?])
        .map_err(sqlite_error)?;
    Ok(())
}

/// A setting of a role (0: of the database); None removes it.
pub fn put_setting(conn: &Connection, role: Oid, name: &str, value: Option<&str>) -> Result<()> {
    match value {
        Some(value) => conn
            .execute("INSERT OR REPLACE INTO main.__pgsqlite_setting VALUES (?1, ?2, ?3)", params![role, name, value]),
        None => conn.execute("DELETE FROM main.__pgsqlite_setting WHERE role = ?1 AND name = ?2", params![role, name]),
    }
    .map_err(sqlite_error)?;
    Ok(())
}
