//! What SQLite cannot remember of PostgreSQL's objects, kept in the file's tables `__pgsqlite_*`.
//!
//! [`load`] reads a [`Catalog`] from a file: the objects stored in it, reconciled with what `sqlite_schema` really has (another
//! program may have added, changed or dropped tables), plus the system relations. It never writes. [`init`] makes the tables
//! on the first write, so that nothing in a foreign file changes before, and stores what so far was known in memory only.
//! DDL then stores each changed object with the functions of [`write`].

mod adopted_indexes;
pub mod adopted_tables;
pub mod base;
pub mod declarations;
mod declared;
pub mod names;
mod not_nulls;
pub mod other;
pub mod prepared;
mod repair;
pub mod sequence_relation;
pub mod storing;
pub mod transactions;

use pgsqlite_sql::catalog::{
    Catalog, Extension, Relation, RelationKind, Role, Schema, TsConfiguration, TsDictionary, UserCollation, UserType,
    UserTypeKind, FIRST_TEMPORARY_OID,
};
use pgsqlite_sql::operator::{MadeOperator, UserCast, UserOperator};
use pgsqlite_sql::routine::Function;
pub use pgsqlite_storage::error::sqlite_error;
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use rusqlite::{Connection, OptionalExtension};
use std::collections::BTreeMap;

/// The version of the tables below that this program writes.
pub const VERSION: i64 = 2;

/// Step n brings a file from version n to n + 1.
const MIGRATIONS: &[&str] = &[
    "
CREATE TABLE __pgsqlite_meta (key TEXT NOT NULL PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE __pgsqlite_object (
  oid INTEGER PRIMARY KEY,
  class TEXT NOT NULL,
  schema INTEGER NOT NULL,
  name TEXT NOT NULL,
  definition TEXT NOT NULL
);
CREATE TABLE __pgsqlite_comment (
  class INTEGER NOT NULL,
  object INTEGER NOT NULL,
  sub INTEGER NOT NULL,
  comment TEXT NOT NULL,
  PRIMARY KEY (class, object, sub)
) WITHOUT ROWID;
CREATE TABLE __pgsqlite_sequence (oid INTEGER PRIMARY KEY, last_value INTEGER NOT NULL, is_called INTEGER NOT NULL);
CREATE TABLE __pgsqlite_role (oid INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, definition TEXT NOT NULL);
CREATE TABLE __pgsqlite_setting (
  role INTEGER NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (role, name)
) WITHOUT ROWID;
INSERT INTO __pgsqlite_meta VALUES ('next_oid', 16384);
",
    /* see `repair`: */ "",
];

/// Whether the file has our tables, and in which version. Errors: 0A000 when a newer program wrote them.
pub fn version(conn: &Connection) -> Result<Option<i64>> {
    let there: Option<i64> = conn
        .query_row("SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = '__pgsqlite_meta'", [], |r| {
            r.get(0)
        })
        .optional()
        .map_err(sqlite_error)?;
    if there.is_none() {
        return Ok(None);
    }
    let version: Option<i64> = conn
        .query_row("SELECT value FROM main.__pgsqlite_meta WHERE key = 'version'", [], |r| r.get(0))
        .optional()
        .map_err(sqlite_error)?;
    match version {
        Some(v) if v > VERSION => Err(PgError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("the database file was written by a newer pgsqlite (format {v}, this one knows {VERSION})"),
        )
        .hint("Use the newer pgsqlite for this file.")),
        Some(v) => Ok(Some(v)),
        None => Err(PgError::new(SqlState::DATA_CORRUPTED, "the table __pgsqlite_meta has no version")),
    }
}

/// The catalog of a file: stored objects, reconciled with `sqlite_schema`, and the system relations. Reads only; relations that
/// are not stored yet get OIDs above the stored counter, the same at every load of the same file.
pub fn load(conn: &Connection) -> Result<Catalog> {
    let mut catalog = base::catalog().clone();
    let mut next_oid = pgsqlite_types::oid::FIRST_USER_OID;
    let mut stored: BTreeMap<Oid, Relation> = BTreeMap::new();
    let mut functions: Vec<Function> = Vec::new();
    if let Some(version) = version(conn)? {
        next_oid = read_next_oid(conn)?;
        read_objects(conn, version, &mut catalog, &mut stored, &mut functions)?;
        read_roles(conn, &mut catalog)?;
        read_properties(conn, &mut catalog)?;
        read_comments(conn, &mut catalog)?;
    }
    adopted_tables::reconcile(conn, &mut catalog, stored, &mut next_oid)?;
    not_nulls::complete(&mut catalog, &mut next_oid);
    // (their arguments may be of the types of tables)
    functions.into_iter().for_each(|f| catalog.add_function(f));
    catalog.epoch = read_epoch(conn)?;
    Ok(catalog)
}

/// After another program changed the schema: the catalog anew. Kept apart from [`load`] so that the epoch always differs
/// from the one of `old`.
pub fn reconcile(conn: &Connection, old: &Catalog) -> Result<Catalog> {
    let mut catalog = load(conn)?;
    if let (None, Some(founder)) = (version(conn)?, old.roles.get(&base::FOUNDER_ROLE)) {
        // not stored yet
        catalog.roles.insert(base::FOUNDER_ROLE, founder.clone());
    }
    catalog.database.clone_from(&old.database);
    catalog.database_alias.clone_from(&old.database_alias);
    catalog.epoch = catalog.epoch.max(old.epoch + 1);
    Ok(catalog)
}

/// SQLite's schema cookie: changes with every change of the file's schema, whoever made it.
fn read_epoch(conn: &Connection) -> Result<u64> {
    let cookie: i64 = conn.query_row("PRAGMA main.schema_version", [], |r| r.get(0)).map_err(sqlite_error)?;
    Ok(cookie as u32 as u64)
}

/// The OID that the next object of the file gets. Errors: those of SQLite.
pub fn read_next_oid(conn: &Connection) -> Result<Oid> {
    conn.query_row("SELECT value FROM main.__pgsqlite_meta WHERE key = 'next_oid'", [], |r| r.get(0))
        .map_err(sqlite_error)
}

fn read_objects(
    conn: &Connection,
    version: i64,
    catalog: &mut Catalog,
    stored: &mut BTreeMap<Oid, Relation>,
    functions: &mut Vec<Function>,
) -> Result<()> {
    let mut statement =
        conn.prepare("SELECT oid, class, definition FROM main.__pgsqlite_object ORDER BY oid").map_err(sqlite_error)?;
    let mut rows = statement.query([]).map_err(sqlite_error)?;
    while let Some(row) = rows.next().map_err(sqlite_error)? {
        work::visit();
        let oid: Oid = row.get(0).map_err(sqlite_error)?;
        let class: String = row.get(1).map_err(sqlite_error)?;
        let mut definition: String = row.get(2).map_err(sqlite_error)?;
        if version < 2 {
            definition = repair::negated_lists(&class, &definition).unwrap_or(definition);
        }
        let damaged = |e: serde_json::Error| {
            PgError::new(SqlState::DATA_CORRUPTED, format!("row {oid} of __pgsqlite_object cannot be read: {e}"))
        };
        match class.as_str() {
            "schema" => catalog.add_schema(serde_json::from_str::<Schema>(&definition).map_err(damaged)?),
            "dropped schema" => catalog.remove_schema(oid),
            "type" => catalog.add_type(serde_json::from_str::<UserType>(&definition).map_err(damaged)?),
            "text search configuration" => {
                let made = serde_json::from_str::<TsConfiguration>(&definition).map_err(damaged)?;
                catalog.ts_configurations.insert(made.oid, std::sync::Arc::new(made));
            }
            "text search dictionary" => {
                let made = serde_json::from_str::<TsDictionary>(&definition).map_err(damaged)?;
                catalog.ts_dictionaries.insert(made.oid, std::sync::Arc::new(made));
            }
            "collation" => {
                let collation = serde_json::from_str::<UserCollation>(&definition).map_err(damaged)?;
                catalog.collations.insert(collation.oid, std::sync::Arc::new(collation));
            }
            "extension" => {
                let extension = serde_json::from_str::<Extension>(&definition).map_err(damaged)?;
                catalog.extensions.insert(extension.name.clone(), std::sync::Arc::new(extension));
            }
            "operator" => {
                let operator = serde_json::from_str::<UserOperator>(&definition).map_err(damaged)?;
                catalog.operators.insert(operator.oid, std::sync::Arc::new(MadeOperator::new(operator)));
            }
            "cast" => {
                let cast = serde_json::from_str::<UserCast>(&definition).map_err(damaged)?;
                catalog.casts.insert((cast.source, cast.target), std::sync::Arc::new(cast));
            }
            "function" => functions.push(serde_json::from_str::<Function>(&definition).map_err(damaged)?),
            "relation" => {
                stored.insert(oid, serde_json::from_str::<Relation>(&definition).map_err(damaged)?);
            }
            other => {
                return Err(PgError::new(
                    SqlState::DATA_CORRUPTED,
                    format!("row {oid} of __pgsqlite_object has the unknown class \"{other}\""),
                ))
            }
        }
    }
    Ok(())
}

fn read_roles(conn: &Connection, catalog: &mut Catalog) -> Result<()> {
    let mut statement = conn.prepare("SELECT oid, definition FROM main.__pgsqlite_role").map_err(sqlite_error)?;
    let mut rows = statement.query([]).map_err(sqlite_error)?;
    while let Some(row) = rows.next().map_err(sqlite_error)? {
        work::visit();
        let oid: Oid = row.get(0).map_err(sqlite_error)?;
        let definition: String = row.get(1).map_err(sqlite_error)?;
        let role: Role = serde_json::from_str(&definition).map_err(|e| {
            PgError::new(SqlState::DATA_CORRUPTED, format!("row {oid} of __pgsqlite_role cannot be read: {e}"))
        })?;
        catalog.roles.insert(oid, std::sync::Arc::new(role));
    }
    Ok(())
}

fn read_properties(conn: &Connection, catalog: &mut Catalog) -> Result<()> {
    let stored: Option<String> = conn
        .query_row("SELECT value FROM main.__pgsqlite_meta WHERE key = 'database'", [], |r| r.get(0))
        .optional()
        .map_err(sqlite_error)?;
    if let Some(stored) = stored {
        catalog.properties = serde_json::from_str(&stored).map_err(|e| {
            PgError::new(
                SqlState::DATA_CORRUPTED,
                format!("the row \"database\" of __pgsqlite_meta cannot be read: {e}"),
            )
        })?;
    }
    Ok(())
}

fn read_comments(conn: &Connection, catalog: &mut Catalog) -> Result<()> {
    let mut statement =
        conn.prepare("SELECT class, object, sub, comment FROM main.__pgsqlite_comment").map_err(sqlite_error)?;
    let mut rows = statement.query([]).map_err(sqlite_error)?;
    while let Some(row) = rows.next().map_err(sqlite_error)? {
        work::visit();
        let key =
            (row.get(0).map_err(sqlite_error)?, row.get(1).map_err(sqlite_error)?, row.get(2).map_err(sqlite_error)?);
        catalog.comments.insert(key, row.get(3).map_err(sqlite_error)?);
    }
    Ok(())
}

/// Makes (or migrates) our tables and stores the relations and constraints that `catalog` knows in memory only, with the OIDs they have there;
/// rows of relations that another program dropped go. Must run in a write transaction.
pub fn init(conn: &Connection, catalog: &Catalog) -> Result<()> {
    let from = version(conn)?.unwrap_or(0);
    for step in &MIGRATIONS[from as usize..] {
        work::visit();
        conn.execute_batch(step).map_err(sqlite_error)?;
    }
    if from == 1 {
        repair_objects(conn)?;
    }
    if from < VERSION {
        conn.execute("INSERT OR REPLACE INTO main.__pgsqlite_meta VALUES ('version', ?1)", [VERSION])
            .map_err(sqlite_error)?;
    }
    let fresh = |oid: Oid, from: Oid| (from..FIRST_TEMPORARY_OID).contains(&oid);
    let first = read_next_oid(conn)?;
    let mut known: std::collections::HashSet<Oid> = {
        let mut statement = conn
            .prepare_cached("SELECT oid FROM main.__pgsqlite_object WHERE class = 'relation'")
            .map_err(sqlite_error)?;
        let rows = statement.query_map([], |r| r.get(0)).map_err(sqlite_error)?;
        rows.collect::<rusqlite::Result<_>>().map_err(sqlite_error)?
    };
    for relation in catalog.relations.values() {
        work::visit();
        if relation.oid < pgsqlite_types::oid::FIRST_USER_OID
            || relation.temporary
            || relation.kind == RelationKind::System
        {
            continue;
        }
        let has_new = relation.constraints.iter().any(|c| c.not_null_of().is_some() && fresh(c.oid, first));
        if !known.remove(&relation.oid) || has_new {
            storing::put_relation(conn, relation)?;
        }
    }
    for domain in catalog.types.values() {
        work::visit();
        let UserTypeKind::Domain { not_null_constraint: Some(own), .. } = &domain.kind else { continue };
        if fresh(own.oid, first) {
            storing::put_type(conn, domain)?;
        }
    }
    for gone in known {
        work::visit();
        storing::delete_object(conn, gone)?;
    }
    if let (0, Some(founder)) = (from, catalog.roles.get(&base::FOUNDER_ROLE)) {
        storing::put_role(conn, founder)?;
    }
    let next = catalog.highest_oid() + 1;
    if read_next_oid(conn)? < next {
        storing::set_next_oid(conn, next)?;
    }
    Ok(())
}

/// Stores the objects of a file of format 1 as [`load`] reads them.
fn repair_objects(conn: &Connection) -> Result<()> {
    let mut statement =
        conn.prepare("SELECT oid, class, name, definition FROM main.__pgsqlite_object").map_err(sqlite_error)?;
    let mut rows = statement.query([]).map_err(sqlite_error)?;
    let mut repaired: Vec<(Oid, String, String)> = Vec::new();
    while let Some(row) = rows.next().map_err(sqlite_error)? {
        work::visit();
        let (class, definition): (String, String) =
            (row.get(1).map_err(sqlite_error)?, row.get(3).map_err(sqlite_error)?);
        if let Some(definition) = repair::negated_lists(&class, &definition) {
            repaired.push((row.get(0).map_err(sqlite_error)?, row.get(2).map_err(sqlite_error)?, definition));
        }
    }
    for (oid, name, definition) in repaired {
        work::visit();
        tracing::info!(
            "\"{name}\": = ALL (ARRAY[…]), as NOT IN was stored by an earlier version, is stored as <> ALL now"
        );
        conn.execute(
            "UPDATE main.__pgsqlite_object SET definition = ?2 WHERE oid = ?1",
            rusqlite::params![oid, definition],
        )
        .map_err(sqlite_error)?;
    }
    Ok(())
}

/// The stored state of a sequence: (last_value, is_called).
pub fn sequence_state(conn: &Connection, oid: Oid) -> Result<Option<(i64, bool)>> {
    conn.query_row("SELECT last_value, is_called FROM main.__pgsqlite_sequence WHERE oid = ?1", [oid], |r| {
        Ok((r.get(0)?, r.get::<_, i64>(1)? != 0))
    })
    .optional()
    .map_err(sqlite_error)
}

/// Stored settings of a role (0: of the database): ALTER ROLE … SET, ALTER DATABASE … SET.
pub fn role_settings(conn: &Connection, role: Oid) -> Result<Vec<(String, String)>> {
    if version(conn)?.is_none() {
        return Ok(Vec::new());
    }
    let mut statement = conn
        .prepare("SELECT name, value FROM main.__pgsqlite_setting WHERE role = ?1 ORDER BY name")
        .map_err(sqlite_error)?;
    let rows = statement.query_map([role], |r| Ok((r.get(0)?, r.get(1)?))).map_err(sqlite_error)?;
    rows.collect::<rusqlite::Result<_>>().map_err(sqlite_error)
}

#[cfg(test)]
mod tests;
