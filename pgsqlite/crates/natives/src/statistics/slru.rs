//! pg_stat_slru: the pages of what PostgreSQL keeps in simple caches of its own. Of those, this server has one thing alone: the queue
//! of notifications. Its messages wait in memory, and are counted in pages as PostgreSQL's queue would have begun them.

use parking_lot::Mutex;

/// The caches, as PostgreSQL names them; the last one stands for all others.
pub const NAMES: [&str; 8] =
    ["CommitTs", "MultiXactMember", "MultiXactOffset", "Notify", "Serial", "Subtrans", "Xact", "other"];
const NOTIFY: usize = 3;
const PAGE: usize = 8192;
/// What an entry of the queue has beside the texts: its length, database, transaction and process, and the ends of both texts.
const ENTRY: usize = 18;

/// What was counted of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slru {
    pub pages_begun: i64,
    /// microseconds since 2000-01-01 UTC
    pub reset: i64,
}

struct Counted {
    caches: [Slru; NAMES.len()],
    /// how much of the queue's last page is taken, in bytes
    used: usize,
}

/// The caches of the server.
pub struct Slrus(Mutex<Counted>);

impl Default for Slrus {
    fn default() -> Slrus {
        let now = pgsqlite_metadata::clock::now();
        Slrus(Mutex::new(Counted { caches: [Slru { pages_begun: 0, reset: now }; NAMES.len()], used: 0 }))
    }
}

impl Slrus {
    /// A transaction has committed that notified: the lengths of each message's channel and payload.
    pub fn notified(&self, messages: impl Iterator<Item = (usize, usize)>) {
        let mut counted = self.0.lock();
        for (channel, payload) in messages {
            // (an entry is aligned, and lies within one page)
            let size = (channel + payload + ENTRY).next_multiple_of(4);
            if counted.used + size > PAGE {
                counted.used = 0;
                counted.caches[NOTIFY].pages_begun += 1;
            }
            counted.used += size;
        }
    }

    /// In the order of [`NAMES`].
    pub fn shown(&self) -> [Slru; NAMES.len()] {
        self.0.lock().caches
    }

    /// `pg_stat_reset_slru()`: that of this name, or all. An unknown name is one of the others.
    pub fn reset(&self, name: Option<&str>, now: i64) {
        let meant = name.map(|name| NAMES.iter().position(|n| *n == name).unwrap_or(NAMES.len() - 1));
        for (i, cache) in self.0.lock().caches.iter_mut().enumerate() {
            if meant.is_none_or(|meant| meant == i) {
                *cache = Slru { pages_begun: 0, reset: now };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_begun_when_a_message_finds_no_room() {
        let slrus = Slrus::default();
        slrus.notified([(1, 4000), (1, 4000)].into_iter());
        assert_eq!(slrus.shown()[NOTIFY].pages_begun, 0);
        slrus.notified([(1, 4000), (1, 4200)].into_iter());
        assert_eq!(slrus.shown()[NOTIFY].pages_begun, 2);
        slrus.reset(Some("Xact"), 1);
        assert_eq!(slrus.shown()[NOTIFY].pages_begun, 2);
        slrus.reset(None, 1);
        assert_eq!(slrus.shown(), [Slru { pages_begun: 0, reset: 1 }; NAMES.len()]);
    }
}
