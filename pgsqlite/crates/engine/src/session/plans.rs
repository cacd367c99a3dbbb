//! The plan cache: analyzed and lowered statements, shared by all sessions of an engine.

use lru::LruCache;
use parking_lot::Mutex;
use pgsqlite_sql::parse::RawStatement;
use pgsqlite_sql::plan::Plan;
use pgsqlite_types::Oid;
use std::num::NonZeroUsize;
use std::sync::Arc;

use super::OutputColumn;

/// What decides a plan besides the catalog's content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    pub text: String,
    pub parameter_types: Vec<Oid>,
    pub search_path: Vec<Oid>,
    /// the catalog's epoch
    pub epoch: u64,
    /// the settings that decide how literals are read
    pub settings: String,
    /// whose privileges were checked; 0: a superuser's
    pub role: Oid,
}

/// A statement that is ready to run.
pub struct Prepared {
    pub statement: RawStatement,
    pub body: Body,
    pub parameters: Vec<Oid>,
    /// of the catalog it was made for
    pub epoch: u64,
    /// it reads what only the session knows (pg_cursors …)
    pub shows_session: bool,
    /// as in [`Key`]
    pub role: Oid,
    /// None: no rows come back
    pub columns: Option<Arc<[OutputColumn]>>,
}

pub enum Body {
    Plan(Plan),
    /// SET, BEGIN, DDL …: interpreted by the session from the parse tree
    Utility,
}

/// Least recently used plans, by key.
pub struct PlanCache(Mutex<LruCache<Key, Arc<Prepared>>>);

const CAPACITY: usize = 2048;

impl Default for PlanCache {
    fn default() -> Self {
        PlanCache(Mutex::new(LruCache::new(NonZeroUsize::new(CAPACITY).expect("not zero"))))
    }
}

impl PlanCache {
    pub fn get(&self, key: &Key) -> Option<Arc<Prepared>> {
        self.0.lock().get(key).cloned()
    }
    pub fn put(&self, key: Key, plan: Arc<Prepared>) {
        self.0.lock().put(key, plan);
    }
}
