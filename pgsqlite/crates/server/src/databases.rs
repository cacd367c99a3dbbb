//! Which engine a database name means.

use crate::config::{Config, Databases};
use parking_lot::Mutex;
use pgsqlite_engine::engine::Engine;
use pgsqlite_engine::session::{EngineConfig, Location};
use pgsqlite_types::{PgError, Result, SqlState};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The open databases.
pub struct Registry {
    config: Config,
    open: Mutex<HashMap<String, Arc<Engine>>>,
}

impl Registry {
    /// Opens the one database there is; those of a folder are opened when a client asks for them.
    pub fn new(config: Config) -> Result<Registry> {
        let registry = Registry { config, open: Mutex::default() };
        match &registry.config.databases {
            Databases::File(path) => {
                let stem = path.file_stem().map_or("main".to_string(), |s| s.to_string_lossy().into_owned());
                registry.open_as("", Location::File(path.clone()), stem)?;
            }
            Databases::Memory => {
                registry.open_as("", Location::Memory, "main".into())?;
            }
            Databases::Directory(dir) => {
                if !dir.is_dir() {
                    return Err(PgError::new(
                        SqlState::UNDEFINED_FILE,
                        format!("the folder \"{}\" does not exist", dir.display()),
                    ));
                }
            }
        }
        Ok(registry)
    }

    /// The open database `key`, or this one opened as it. The registry is locked meanwhile: of two clients that ask for a
    /// closed database at once, the second must find it open, not find its file locked.
    fn open_as(&self, key: &str, location: Location, database: String) -> Result<Arc<Engine>> {
        let mut open = self.open.lock();
        if let Some(engine) = open.get(key) {
            return Ok(engine.clone());
        }
        let engine = Engine::open(EngineConfig {
            location,
            database,
            pooling: self.config.pooling,
            pool_size: self.config.pool_size,
            pool_timeout: self.config.pool_timeout,
        })?;
        open.insert(key.to_string(), engine.clone());
        Ok(engine)
    }

    /// The database a client names; 3D000 if there is none.
    pub fn get(&self, name: &str) -> Result<Arc<Engine>> {
        let Databases::Directory(dir) = &self.config.databases else {
            return self.open.lock().get("").cloned().ok_or_else(|| PgError::internal("the database is closed"));
        };
        let unknown =
            || PgError::new(SqlState::INVALID_CATALOG_NAME, format!("database \"{name}\" does not exist")).fatal();
        // a name is a file's name, never a path
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
            return Err(unknown());
        }
        if let Some(engine) = self.open.lock().get(name) {
            return Ok(engine.clone());
        }
        let path = dir.join(Path::new(&format!("{name}.db")));
        if !path.is_file() {
            return Err(unknown());
        }
        self.open_as(name, Location::File(path), name.to_string())
    }

    pub async fn shutdown(&self) -> Result<()> {
        let engines: Vec<Arc<Engine>> = self.open.lock().drain().map(|(_, e)| e).collect();
        for engine in engines {
            engine.shutdown().await?;
        }
        Ok(())
    }
}
