//! Which engine a database name means.

use crate::config::{Config, Databases};
use parking_lot::{Mutex, MutexGuard};
use pgsqlite_engine::copy::copy_database;
use pgsqlite_engine::ddl::{DatabaseAdmin, Founder};
use pgsqlite_engine::engine::Engine;
use pgsqlite_engine::session::{DatabasesHandle, EngineConfig, Location};
use pgsqlite_engine::statistics::Statistics;
use pgsqlite_engine::store::other::{self, Other};
use pgsqlite_types::{PgError, Result, SqlState};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So long a database that is to go is waited for while sessions use it, as PostgreSQL does.
const PATIENCE: Duration = Duration::from_secs(5);

/// The open databases.
pub struct Registry {
    config: Config,
    pub statistics: Arc<Statistics>,
    open: Arc<Open>,
}

/// By name; "" is the one of a server that serves one file.
type Open = Mutex<HashMap<String, Arc<Engine>>>;

/// `DIR/name.db`; None: the name is not one that a file may have (a name is a file's name, never a path).
fn file_of(dir: &Path, name: &str) -> Option<PathBuf> {
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
    plain.then(|| dir.join(format!("{name}.db")))
}

/// CREATE, DROP and ALTER DATABASE in a folder of files. The registry's map is locked meanwhile, so that no session begins on
/// a file that is being made, moved or removed.
struct Folder {
    dir: PathBuf,
    open: Arc<Open>,
}

impl Folder {
    fn path(&self, name: &str) -> Result<PathBuf> {
        file_of(&self.dir, name)
            .ok_or_else(|| PgError::not_supported(format!("the database name \"{name}\", which cannot be a file's,")))
    }

    /// A file that is there. Errors: 3D000.
    fn existing(&self, name: &str) -> Result<PathBuf> {
        file_of(&self.dir, name)
            .filter(|p| p.is_file())
            .ok_or_else(|| PgError::new(SqlState::INVALID_CATALOG_NAME, format!("database \"{name}\" does not exist")))
    }

    fn duplicate(name: &str) -> PgError {
        PgError::new(SqlState::DUPLICATE_DATABASE, format!("database \"{name}\" already exists"))
    }

    fn io(path: &Path, error: std::io::Error) -> PgError {
        PgError::new(SqlState::IO_ERROR, format!("database file \"{}\": {error}", path.display()))
    }

    /// Closes a database that no session uses. Errors: 55006.
    fn close(open: &mut HashMap<String, Arc<Engine>>, name: &str) -> Result<()> {
        if let Some(engine) = open.get(name) {
            // the map's own is one; every session has another
            let sessions = Arc::strong_count(engine) - 1;
            if sessions > 0 {
                let detail = match sessions {
                    1 => "There is 1 other session using the database.".to_string(),
                    n => format!("There are {n} other sessions using the database."),
                };
                return Err(PgError::new(
                    SqlState::OBJECT_IN_USE,
                    format!("database \"{name}\" is being accessed by other users"),
                )
                .detail(detail));
            }
            engine.settle_before_close();
            open.remove(name);
        }
        Ok(())
    }

    /// The registry, locked, with a database closed. One that a session uses is waited for a moment: a client that has said farewell
    /// may not be gone yet. Errors: 55006.
    fn lock_without(&self, name: &str) -> Result<MutexGuard<'_, HashMap<String, Arc<Engine>>>> {
        let began = Instant::now();
        loop {
            let mut open = self.open.lock();
            match Folder::close(&mut open, name) {
                Ok(()) => return Ok(open),
                Err(e) if began.elapsed() >= PATIENCE => return Err(e),
                Err(_) => {}
            }
            drop(open);
            std::thread::sleep(PATIENCE / 250);
        }
    }

    /// Removes a database's files, as far as they are there.
    fn remove(path: &Path) -> Result<()> {
        for file in Folder::companions(path) {
            match std::fs::remove_file(&file) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Folder::io(&file, e)),
                _ => {}
            }
        }
        Ok(())
    }

    /// The file and what SQLite and we keep beside it.
    fn companions(path: &Path) -> [PathBuf; 4] {
        ["", "-wal", "-shm", "-pgsqlite.lock"].map(|suffix| {
            let mut name = path.as_os_str().to_os_string();
            name.push(suffix);
            PathBuf::from(name)
        })
    }
}

impl DatabaseAdmin for Folder {
    fn create(&self, name: &str, template: Option<&str>, founder: &Founder) -> Result<()> {
        let path = self.path(name)?;
        let open = self.open.lock();
        if path.exists() {
            return Err(Folder::duplicate(name));
        }
        // made under another name: a server that dies meanwhile leaves no half database
        let making = self.dir.join(format!(".{name}.db.new"));
        let made = (|| {
            Folder::remove(&making)?;
            match template {
                Some(template) => {
                    let source = self.existing(template).map_err(|_| {
                        PgError::new(
                            SqlState::INVALID_CATALOG_NAME,
                            format!("template database \"{template}\" does not exist"),
                        )
                    })?;
                    match open.get(template) {
                        Some(engine) => engine.copy_to(&making)?,
                        None => copy_database(&source, &making)?,
                    }
                }
                None => founder.found(&making)?,
            }
            // on disk before it has its name, and then its name
            let sync = |path: &Path| File::open(path).and_then(|file| file.sync_all()).map_err(|e| Folder::io(path, e));
            sync(&making)?;
            std::fs::rename(&making, &path).map_err(|e| Folder::io(&path, e))?;
            sync(&self.dir)
        })();
        if made.is_err() {
            // what is left of the attempt; the error that is told is the first one
            let _ = Folder::remove(&making);
        }
        made
    }

    fn drop(&self, name: &str, force: bool) -> Result<()> {
        self.existing(name)?;
        let _open = self.lock_without(name).map_err(|e| match force {
            true => PgError::not_supported("DROP DATABASE … WITH (FORCE) while sessions use it"),
            false => e,
        })?;
        Folder::remove(&self.existing(name)?)
    }

    fn rename(&self, name: &str, new_name: &str) -> Result<()> {
        let target = self.path(new_name)?;
        let path = self.existing(name)?;
        if target.exists() {
            return Err(Folder::duplicate(new_name));
        }
        let _open = self.lock_without(name)?;
        if target.exists() || !path.is_file() {
            return Err(PgError::new(SqlState::OBJECT_IN_USE, "another session changes the database"));
        }
        // closing wrote the WAL back; a reader of another program keeps it, then the file must stay where it is
        if Folder::companions(&path)[1].exists() {
            return Err(PgError::new(
                SqlState::OBJECT_IN_USE,
                format!("database \"{name}\" is being accessed by another program"),
            ));
        }
        std::fs::rename(&path, &target).map_err(|e| Folder::io(&path, e))?;
        match std::fs::remove_file(&Folder::companions(&path)[3]) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Folder::io(&path, e)),
            _ => Ok(()),
        }
    }

    fn list(&self) -> Vec<String> {
        let open = self.open.lock();
        let mut names: Vec<String> = std::fs::read_dir(&self.dir)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|t| t.is_file()))
            .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".db").map(str::to_string))
            .filter(|name| {
                open.contains_key(name) || file_of(&self.dir, name).is_some_and(|path| may_be_database(&path))
            })
            .collect();
        names.sort();
        names
    }

    fn look(&self, name: &str) -> Result<Other> {
        // see `may_be_database`
        let _open = self.open.lock();
        other::look(&self.existing(name)?)
    }
}

/// Whether a file begins as SQLite's do. An empty file is an empty database.
///
/// To be called with the registry locked, for a database that is not open: closing a descriptor of a file gives up all of the process's
/// locks on it (POSIX), those of SQLite's connections among them.
fn may_be_database(path: &Path) -> bool {
    use std::io::Read;
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let mut first = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut first));
    read.is_ok() && (first.is_empty() || first == MAGIC)
}

/// A folder without the database `postgres` gets it, as a cluster of PostgreSQL has it: `psql -l` and other tools connect to it unless they
/// are told otherwise, and CREATE DATABASE needs one to connect to. A folder of files that cannot be written to is served without.
fn first_database(dir: &Path) -> Result<()> {
    let path = dir.join("postgres.db");
    // an empty file is an empty database
    match std::fs::File::create_new(&path) {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => {
            let failed = |e| Folder::io(dir, e);
            for entry in std::fs::read_dir(dir).map_err(failed)? {
                if entry.map_err(failed)?.path().extension().is_some_and(|e| e == "db") {
                    tracing::warn!("the database \"postgres\" cannot be made: {e}");
                    return Ok(());
                }
            }
            Err(failed(e))
        }
    }
}

impl Registry {
    /// Opens the one database there is; those of a folder are opened when a client asks for them.
    pub fn new(config: Config) -> Result<Registry> {
        let registry = Registry { config, statistics: Arc::default(), open: Arc::default() };
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
                    let message = match dir.exists() {
                        true => format!("\"{}\" is no folder: --data-dir serves a folder of files", dir.display()),
                        false => format!("the folder \"{}\" does not exist", dir.display()),
                    };
                    return Err(PgError::new(SqlState::UNDEFINED_FILE, message));
                }
                first_database(dir)?;
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
        let databases = match &self.config.databases {
            Databases::Directory(dir) => {
                Some(DatabasesHandle(Arc::new(Folder { dir: dir.clone(), open: self.open.clone() })))
            }
            _ => None,
        };
        let engine = Engine::open(EngineConfig {
            databases,
            location,
            database,
            pooling: self.config.pooling,
            pool_size: self.config.pool_size,
            pool_timeout: self.config.pool_timeout,
            statistics: self.statistics.clone(),
        })?;
        open.insert(key.to_string(), engine.clone());
        Ok(engine)
    }

    /// Whether any role of the one database may log in with a password; None: a folder of databases.
    pub fn knows_password(&self) -> Option<bool> {
        let open = self.open.lock();
        Some(open.get("")?.users().iter().any(|role| role.password.is_some()))
    }

    /// The databases of a folder; None: there is one, which has every name.
    pub fn names(&self) -> Option<Vec<String>> {
        match &self.config.databases {
            Databases::Directory(dir) => Some(Folder { dir: dir.clone(), open: self.open.clone() }.list()),
            _ => None,
        }
    }

    /// The database a client names; 3D000 if there is none.
    pub fn get(&self, name: &str) -> Result<Arc<Engine>> {
        let Databases::Directory(dir) = &self.config.databases else {
            return self.open.lock().get("").cloned().ok_or_else(|| PgError::internal("the database is closed"));
        };
        let unknown =
            || PgError::new(SqlState::INVALID_CATALOG_NAME, format!("database \"{name}\" does not exist")).fatal();
        let path = file_of(dir, name).ok_or_else(unknown)?;
        if let Some(engine) = self.open.lock().get(name) {
            return Ok(engine.clone());
        }
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
