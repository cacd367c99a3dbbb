//! The plan cache: parsed, analyzed and lowered statements, shared by all sessions of an engine.

use parking_lot::Mutex;
use pgsqlite_sql::parameterize::{Literal, Masked, Parameterized};
use pgsqlite_sql::parse::RawStatement;
use pgsqlite_sql::plan::Plan;
use pgsqlite_storage::lru_cache::LruCache;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::Oid;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// One column of a result: what RowDescription says.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputColumn {
    pub name: String,
    pub type_oid: Oid,
    pub type_len: i16,
    pub typmod: i32,
    /// The table and attribute number the column comes from; 0 if it is an expression.
    pub table_oid: Oid,
    pub attnum: i16,
    pub codec: pgsqlite_types::codec::TypeCodec,
}

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
    /// how the parameters are read (None: such a type is not)
    pub codecs: Vec<Option<TypeCodec>>,
    /// of the catalog it was made for
    pub epoch: u64,
    /// it reads what only the session knows (pg_cursors …)
    pub shows_session: bool,
    /// as in [`Key`]
    pub role: Oid,
    /// None: no rows come back
    pub columns: Option<Arc<[OutputColumn]>>,
    /// the indexes of the tables that it changes, once somebody has asked for them
    pub indexes: OnceLock<Box<[Oid]>>,
    /// a query that was begun among other tasks took longer than that allows ([`crate::session`], `scheduling.rs`)
    pub lasts: AtomicBool,
    /// the query of one row that tells whether the statement reads it, once a serializable transaction has asked; None: that cannot be told
    pub row_query: OnceLock<Option<Arc<str>>>,
    /// its entry in pg_stat_statements
    pub entry: pgsqlite_natives::statistics::statements::Slot,
}

pub enum Body {
    Plan(Plan),
    /// SET, BEGIN, DDL …: interpreted by the session from the parse tree
    Utility,
}

/// The statements of a query string.
pub type Parsed = Arc<[Arc<RawStatement>]>;

/// A statement whose literals are parameters, for all query strings of one mask that agree in the literals that stay.
pub struct Template {
    pub statement: Arc<RawStatement>,
    /// types of the parameters, 0 where their surroundings decide
    pub given: Vec<Oid>,
    pub parameterized: Vec<Parameterized>,
    /// the literals that stay: which, and their text
    pub fixed: Vec<(usize, String)>,
}

impl Template {
    fn fits(&self, literals: &[Literal]) -> bool {
        self.fixed.iter().all(|(i, text)| literals.get(*i).is_some_and(|l| l.text == text))
    }
}

/// Least recently used plans by key, parsed query strings by text, and templates by mask.
pub struct PlanCache {
    plans: Mutex<LruCache<Key, Arc<Prepared>>>,
    parsed: Mutex<LruCache<String, Parsed>>,
    templates: Mutex<LruCache<String, Vec<Arc<Template>>>>,
}

const CAPACITY: usize = 2048;
/// The bytes of the plans' texts together: a plan takes some hundred times as much.
const PLAN_BYTES: usize = 1 << 20;
/// A statement with a longer text is planned each time, unless it is prepared. (An INSERT of 1,000 rows with ten parameters each is
/// kept.)
pub const LONGEST_PLANNED: usize = 128 << 10;
/// A parse tree takes some hundred times the bytes of its text: fewer of them are kept.
const PARSED: usize = 512;
/// The bytes of their texts together.
const PARSED_BYTES: usize = 256 << 10;
/// A text is long from here on. The tree of a long text is kept only if the text has parameters: one with its values written out hardly
/// comes a second time.
pub const LONGEST: usize = 4096;

/// Whether the parse tree of a text is kept.
fn is_kept(text: &str) -> bool {
    text.len() <= LONGEST || text.len() <= LONGEST_PLANNED && text.contains('$')
}
/// Templates of one mask: more different LIMITs and the like are not worth keeping.
const VARIANTS: usize = 8;

impl Default for PlanCache {
    fn default() -> Self {
        PlanCache {
            plans: Mutex::new(LruCache::new(CAPACITY, PLAN_BYTES)),
            parsed: Mutex::new(LruCache::new(PARSED, PARSED_BYTES)),
            templates: Mutex::new(LruCache::new(PARSED, PARSED_BYTES)),
        }
    }
}

impl PlanCache {
    pub fn get(&self, key: &Key) -> Option<Arc<Prepared>> {
        self.plans.lock().get(key).cloned()
    }
    /// The statements of a query string that was parsed before.
    pub fn parsed(&self, text: &str) -> Option<Parsed> {
        if !is_kept(text) {
            return None;
        }
        self.parsed.lock().get(text).cloned()
    }
    pub fn put_parsed(&self, text: &str, statements: &Parsed) {
        if is_kept(text) {
            self.parsed.lock().put(text.to_string(), statements.clone(), text.len());
        }
    }
    /// The template for a query string.
    pub fn template(&self, masked: &Masked) -> Option<Arc<Template>> {
        self.templates.lock().get(&masked.mask)?.iter().find(|t| t.fits(&masked.literals)).cloned()
    }
    pub fn put_template(&self, mask: String, template: Arc<Template>) {
        let mut templates = self.templates.lock();
        let mut variants = templates.get(&mask).cloned().unwrap_or_default();
        if variants.len() == VARIANTS {
            variants.remove(0);
        }
        variants.push(template);
        let weight = mask.len() * variants.len();
        templates.put(mask, variants, weight);
    }
    /// Takes out the plans of all catalogs but this one, which has just become the one that all see. Nothing finds those of an
    /// older catalog again but a transaction that has begun before, and they keep all that they name of that catalog. Returns them.
    pub fn keep_only(&self, epoch: u64) -> Vec<Arc<Prepared>> {
        self.plans.lock().retain(|key| key.epoch == epoch)
    }
    /// Gives up all that no session uses at the moment.
    pub fn clear(&self) {
        self.plans.lock().clear();
        self.parsed.lock().clear();
        self.templates.lock().clear();
    }
    pub fn put(&self, key: Key, plan: Arc<Prepared>) {
        let weight = key.text.len();
        if weight <= LONGEST_PLANNED {
            self.plans.lock().put(key, plan, weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(rows: usize, value: &str) -> String {
        format!("INSERT INTO t VALUES {}", vec![format!("({})", [value; 10].join(", ")); rows].join(", "))
    }

    #[test]
    fn bulk_inserts_with_parameters_are_parsed_once() {
        let plans = PlanCache::default();
        let statements: Parsed = Arc::new([]);
        for (text, kept) in [
            ("SELECT 1".to_string(), true),
            (insert(1000, "$12345"), true),
            (insert(10, "12345"), true),
            (insert(1000, "12345"), false),
            (insert(3000, "$12345"), false),
        ] {
            plans.put_parsed(&text, &statements);
            assert_eq!(plans.parsed(&text).is_some(), kept, "{} bytes", text.len());
        }
    }
}
