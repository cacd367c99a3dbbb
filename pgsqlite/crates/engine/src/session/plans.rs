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
    pub text: Arc<str>,
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
    pub statement: Arc<RawStatement>,
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

/// Least recently used plans by key, and parsed query strings by text.
pub struct PlanCache {
    plans: Mutex<LruCache<Key, Arc<Prepared>>>,
    parsed: Mutex<LruCache<String, Arc<[Arc<RawStatement>]>>>,
}

const CAPACITY: usize = 2048;
/// A parse tree takes some hundred times the bytes of its text: fewer of them are kept, and none of a long text.
const PARSED: usize = 512;
const LONGEST: usize = 4096;

impl Default for PlanCache {
    fn default() -> Self {
        let size = |n| NonZeroUsize::new(n).expect("not zero");
        PlanCache { plans: Mutex::new(LruCache::new(size(CAPACITY))), parsed: Mutex::new(LruCache::new(size(PARSED))) }
    }
}

impl PlanCache {
    pub fn get(&self, key: &Key) -> Option<Arc<Prepared>> {
        self.plans.lock().get(key).cloned()
    }
    /// The statements of a query string that was parsed before.
    pub fn parsed(&self, text: &str) -> Option<Arc<[Arc<RawStatement>]>> {
        if text.len() > LONGEST {
            return None;
        }
        self.parsed.lock().get(text).cloned()
    }
    pub fn put_parsed(&self, text: &str, statements: &Arc<[Arc<RawStatement>]>) {
        if text.len() <= LONGEST {
            self.parsed.lock().put(text.to_string(), statements.clone());
        }
    }
    pub fn put(&self, key: Key, plan: Arc<Prepared>) {
        self.plans.lock().put(key, plan);
    }
}
