//! A cache of the least recently used, bounded twice: by how many entries it has, and by what they weigh together. What is
//! cached for a statement grows with its text, so a few monstrous statements must not take the memory of thousands.

use std::borrow::Borrow;
use std::hash::Hash;
use std::num::NonZeroUsize;

/// A cache of the least recently used.
pub struct LruCache<K: Hash + Eq, V> {
    cache: lru::LruCache<K, (V, usize)>,
    weight: usize,
    budget: usize,
}

impl<K: Hash + Eq, V> LruCache<K, V> {
    /// At most `entries` (not 0) that weigh at most `budget` together.
    pub fn new(entries: usize, budget: usize) -> Self {
        let entries = NonZeroUsize::new(entries).unwrap_or(NonZeroUsize::MIN);
        LruCache { cache: lru::LruCache::new(entries), weight: 0, budget }
    }

    /// The value of a key, which is the most recently used now.
    pub fn get<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.cache.get(key).map(|(value, _)| value)
    }

    /// The value, to be changed in place; what it weighs stays the same.
    pub fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.cache.get_mut(key).map(|(value, _)| value)
    }

    /// Keeps a value, unless it alone weighs more than the budget.
    pub fn put(&mut self, key: K, value: V, weight: usize) {
        if weight > self.budget {
            return;
        }
        // an older value of this key, or the entry that had to go
        if let Some((_, (_, gone))) = self.cache.push(key, (value, weight)) {
            self.weight -= gone;
        }
        self.weight += weight;
        while self.weight > self.budget {
            let Some((_, (_, gone))) = self.cache.pop_lru() else { break };
            self.weight -= gone;
        }
    }

    /// Takes out the entries whose keys are not wanted any more; the others stay as recently used as they were. Returns what was taken
    /// out, for the caller to free when nobody waits for the cache.
    pub fn retain(&mut self, wanted: impl Fn(&K) -> bool) -> Vec<V>
    where
        K: Clone,
    {
        let unwanted: Vec<K> = self.cache.iter().filter(|(key, _)| !wanted(key)).map(|(key, _)| key.clone()).collect();
        let gone: Vec<(V, usize)> = unwanted.iter().filter_map(|key| self.cache.pop(key)).collect();
        self.weight -= gone.iter().map(|(_, weight)| weight).sum::<usize>();
        gone.into_iter().map(|(value, _)| value).collect()
    }

    /// Takes out all entries.
    pub fn clear(&mut self) {
        self.cache.clear();
        self.weight = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_and_weight_are_bounded() {
        let mut cache = LruCache::new(3, 10);
        let there = |cache: &mut LruCache<&str, i32>| {
            let keys: String = ["a", "b", "c", "d", "e", "f"].into_iter().filter(|&k| cache.get(k).is_some()).collect();
            (keys, cache.weight)
        };
        for key in ["a", "b", "c", "d"] {
            cache.put(key, 1, 1);
        }
        assert_eq!(there(&mut cache), ("bcd".into(), 3));
        cache.get("b");
        // "c" and "d" have not been used since: they go first
        cache.put("e", 1, 9);
        assert_eq!(there(&mut cache), ("be".into(), 10));
        cache.put("f", 1, 11);
        assert_eq!(there(&mut cache), ("be".into(), 10));
        cache.put("e", 2, 2);
        *cache.get_mut("e").expect("is there") = 3;
        assert_eq!(cache.get("e"), Some(&3));
        assert_eq!(there(&mut cache), ("be".into(), 3));
        assert_eq!(cache.retain(|key| *key == "e"), [1]);
        assert_eq!(there(&mut cache), ("e".into(), 2));
        cache.clear();
        assert_eq!(there(&mut cache), (String::new(), 0));
    }
}
