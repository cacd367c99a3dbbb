//! Foreign keys of a file that an earlier pgsqlite wrote, and that it left to SQLite although SQLite does not carry them out as
//! PostgreSQL does (`pgsqlite_sql::foreign_key`).
//!
//! Each statement of DDL settles which keys the server carries out itself. What a newer pgsqlite has learnt of that, a file that
//! changes no more would never know. So the keys are looked at when the file is opened.

use crate::connection::Connection;
use pgsqlite_metadata::store::{self, names::CatalogNames};
use pgsqlite_objects::ddl;
use pgsqlite_sql::analyze::{Environment, Rights};
use pgsqlite_sql::catalog::{Catalog, BOOTSTRAP_ROLE, PG_CATALOG, PUBLIC};
use pgsqlite_storage::files::Room;
use pgsqlite_types::{Oid, Result, Settings};
use std::sync::Arc;

const PATH: &[Oid] = &[PUBLIC, PG_CATALOG];

/// Makes the tables anew whose foreign keys the server has to carry out itself, in a transaction of its own. Errors: those of SQLite, as
/// where another program is writing.
pub(crate) fn settle(room: &Arc<Room>) -> Result<()> {
    let connection = Connection::open_in(room)?;
    connection.exec("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")?;
    settle_in(&connection)?;
    connection.exec("COMMIT")
}

/// The same in the transaction that is open.
pub(crate) fn settle_in(connection: &Connection) -> Result<()> {
    let db = connection.rusqlite();
    let catalog: Arc<Catalog> = Arc::new(store::load(db)?);
    // (generated columns and conditions of rows may call functions of the file)
    connection.cell.update(|state| state.catalog = catalog.clone());
    store::init(db, &catalog)?;
    let settings = Settings::default();
    let names = CatalogNames { catalog: &catalog, search_path: PATH };
    let environment = Environment {
        catalog: &catalog,
        search_path: PATH,
        settings: &settings,
        names: &names,
        user: BOOTSTRAP_ROLE,
        rights: Rights::AskedNow,
        parameters: Default::default(),
        sqlite_text: pgsqlite_sql::lower::lower_expression,
    };
    ddl::settle(db, &catalog, &environment)
}
