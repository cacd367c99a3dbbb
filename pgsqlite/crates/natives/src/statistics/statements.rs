//! What statements took, by their text without its literals: pg_stat_statements.
//!
//! A plan remembers its entry ([`Slot`]), so that counting a repeated statement is one lock that nobody else holds.

use parking_lot::Mutex;
use pgsqlite_sql::parameterize;
use pgsqlite_types::Oid;
use std::collections::HashMap;
use std::hash::Hasher;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Statements that are kept at once: pg_stat_statements.max. When there are more, those called least go.
const MOST: usize = 5000;
/// The longest text that is kept; a longer one is cut.
const LONGEST: usize = 8192;

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    user: Oid,
    database: Arc<str>,
    query: Arc<str>,
}

/// One statement of one user in one database.
pub struct Entry {
    pub user: Oid,
    pub database: Arc<str>,
    pub query: Arc<str>,
    /// from the text alone: the same after a restart
    pub query_id: i64,
    counts: Mutex<Counts>,
    /// it is in the table no more
    gone: AtomicBool,
}

/// Times in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counts {
    pub calls: u64,
    pub rows: u64,
    pub total: f64,
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    /// the sum of the squared differences from the mean
    squares: f64,
}

impl Counts {
    /// Welford's way: exact also where the times differ little.
    fn add(&mut self, took: Duration, rows: u64) {
        let ms = took.as_secs_f64() * 1000.0;
        self.calls += 1;
        self.rows += rows;
        self.total += ms;
        self.min = if self.calls == 1 { ms } else { self.min.min(ms) };
        self.max = self.max.max(ms);
        let from_old = ms - self.mean;
        self.mean += from_old / self.calls as f64;
        self.squares += from_old * (ms - self.mean);
    }

    /// The standard deviation of the times, in milliseconds.
    pub fn deviation(&self) -> f64 {
        if self.calls == 0 {
            return 0.0;
        }
        (self.squares / self.calls as f64).sqrt()
    }
}

impl Entry {
    /// Counts an execution.
    pub fn add(&self, took: Duration, rows: u64) {
        self.counts.lock().add(took, rows);
    }

    /// What was counted so far.
    pub fn counts(&self) -> Counts {
        *self.counts.lock()
    }
}

/// Where a plan remembers its entry.
#[derive(Default)]
pub struct Slot(OnceLock<Arc<Entry>>);

impl Slot {
    /// The remembered entry, if it is this user's and still in the table.
    pub fn get(&self, user: Oid) -> Option<&Arc<Entry>> {
        self.0.get().filter(|e| e.user == user && !e.gone.load(Ordering::Relaxed))
    }

    /// Remembers an entry, if none is remembered yet.
    pub fn put(&self, entry: &Arc<Entry>) {
        // another session's entry is as good
        let _ = self.0.set(entry.clone());
    }
}

/// All statements.
#[derive(Default)]
pub struct Statements {
    entries: Mutex<HashMap<Key, Arc<Entry>>>,
}

impl Statements {
    /// The entry of a statement; `text` is what the client sent.
    pub fn entry(&self, user: Oid, database: &str, text: &str) -> Arc<Entry> {
        let query: Arc<str> = normalized(text).into();
        let key = Key { user, database: database.into(), query: query.clone() };
        let mut entries = self.entries.lock();
        if let Some(found) = entries.get(&key) {
            return found.clone();
        }
        if entries.len() >= MOST {
            drop_least(&mut entries);
        }
        let entry = Arc::new(Entry {
            user,
            database: key.database.clone(),
            query_id: query_id(&query),
            query,
            counts: Mutex::default(),
            gone: AtomicBool::new(false),
        });
        entries.insert(key, entry.clone());
        entry
    }

    /// All entries.
    pub fn all(&self) -> Vec<Arc<Entry>> {
        self.entries.lock().values().cloned().collect()
    }

    /// `pg_stat_statements_reset()`
    pub fn reset(&self) {
        for (_, entry) in self.entries.lock().drain() {
            entry.gone.store(true, Ordering::Relaxed);
        }
    }
}

/// A twentieth of the entries goes, those with the fewest calls.
fn drop_least(entries: &mut HashMap<Key, Arc<Entry>>) {
    let mut calls: Vec<u64> = entries.values().map(|e| e.counts().calls).collect();
    let few = calls.len() / 20;
    let (_, limit, _) = calls.select_nth_unstable(few);
    let (limit, mut left) = (*limit, few + 1);
    entries.retain(|_, entry| {
        let goes = left > 0 && entry.counts().calls <= limit;
        if goes {
            left -= 1;
            entry.gone.store(true, Ordering::Relaxed);
        }
        !goes
    });
}

/// The text with its literals replaced by `$1`, `$2` …; as it is where only the parser could tell them (comments, parameters).
fn normalized(text: &str) -> String {
    let text = text.trim().trim_end_matches(';').trim_end();
    let mut out = match parameterize::mask(text) {
        Some(masked) => {
            let (mut out, mut at) = (String::with_capacity(text.len()), 0);
            for (i, literal) in masked.literals.iter().enumerate() {
                out.push_str(&text[at..literal.start]);
                out.push_str(&format!("${}", i + 1));
                at = literal.start + literal.text.len();
            }
            out.push_str(&text[at..]);
            out
        }
        None => text.to_string(),
    };
    if out.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|i| out.is_char_boundary(*i)).unwrap_or(0);
        out.truncate(end);
    }
    out
}

/// FNV-1a.
fn query_id(query: &str) -> i64 {
    struct Fnv(u64);
    impl Hasher for Fnv {
        fn write(&mut self, bytes: &[u8]) {
            for b in bytes {
                self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        fn finish(&self) -> u64 {
            self.0
        }
    }
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    hasher.write(query.as_bytes());
    hasher.finish() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_differ_in_literals_are_one() {
        let statements = Statements::default();
        let a = statements.entry(10, "d", "SELECT * FROM t WHERE a = 1 AND b = 'it''s'");
        let b = statements.entry(10, "d", "  SELECT * FROM t WHERE a = 2 AND b = 'x' ; ");
        assert!(Arc::ptr_eq(&a, &b));
        assert_eq!(&*a.query, "SELECT * FROM t WHERE a = $1 AND b = $2");
        assert!(!Arc::ptr_eq(&a, &statements.entry(11, "d", "SELECT * FROM t WHERE a = 1 AND b = ''")));
        assert!(!Arc::ptr_eq(&a, &statements.entry(10, "e", "SELECT * FROM t WHERE a = 1 AND b = ''")));
        assert_eq!(&*statements.entry(10, "d", "SELECT $1 + 5").query, "SELECT $1 + 5");
    }

    #[test]
    fn counts_are_those_of_the_calls() {
        let entry = Statements::default().entry(10, "d", "SELECT 1");
        for ms in [2, 4, 4, 4, 5, 5, 7, 9] {
            entry.add(Duration::from_millis(ms), 3);
        }
        let c = entry.counts();
        assert_eq!((c.calls, c.rows, c.total, c.min, c.max, c.mean), (8, 24, 40.0, 2.0, 9.0, 5.0));
        assert!((c.deviation() - 2.0).abs() < 1e-9, "{}", c.deviation());
    }

    #[test]
    fn the_least_called_make_room() {
        let statements = Statements::default();
        let often = statements.entry(10, "d", "SELECT often");
        often.add(Duration::from_millis(1), 1);
        often.add(Duration::from_millis(1), 1);
        for i in 0..MOST {
            statements.entry(10, "d", &format!("SELECT c{i}")).add(Duration::ZERO, 0);
        }
        assert!(statements.all().len() <= MOST);
        assert!(!often.gone.load(Ordering::Relaxed));
        let slot = Slot::default();
        slot.put(&often);
        assert!(slot.get(10).is_some() && slot.get(11).is_none());
        statements.reset();
        assert!(slot.get(10).is_none());
    }

    #[test]
    fn a_statement_keeps_its_number() {
        assert_eq!(query_id(""), 0xcbf2_9ce4_8422_2325_u64 as i64);
        assert_eq!(query_id("a"), 0xaf63_dc4c_8601_ec8c_u64 as i64);
    }
}
