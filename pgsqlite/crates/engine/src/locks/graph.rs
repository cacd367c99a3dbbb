//! Who waits for whom, and whether anybody can still go on.
//!
//! A session that waits for a lock or for the writer slot needs *all* of those that keep it from there; a session that waits for a pooled
//! connection needs *any* of those that have one. A session that does not wait can go on, whatever its client does.

use std::collections::{HashMap, HashSet};

/// What the end of a wait needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Needs {
    All(Vec<u64>),
    Any(Vec<u64>),
}

impl Needs {
    pub fn sessions(&self) -> &[u64] {
        match self {
            Needs::All(sessions) | Needs::Any(sessions) => sessions,
        }
    }
}

/// A wait, as messages tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edge {
    pub needs: Needs,
    /// `ExclusiveLock on advisory lock [1,0,9,1]`
    pub what: String,
}

/// The waits of a database, by the session that waits.
pub(crate) type Graph = HashMap<u64, Edge>;

/// The sessions of a cycle that nothing but an error ends, beginning with `start`; None: `start` is in no such cycle.
pub(crate) fn cycle(graph: &Graph, start: u64) -> Option<Vec<u64>> {
    let stuck = stuck(graph);
    if !stuck.contains(&start) {
        return None;
    }
    // a way from `start` to itself
    let mut path = vec![start];
    let mut seen = HashSet::new();
    way_back(graph, &stuck, start, &mut path, &mut seen).then_some(path)
}

/// The sessions that cannot go on.
fn stuck(graph: &Graph) -> HashSet<u64> {
    let mut stuck: HashSet<u64> = graph.keys().copied().collect();
    loop {
        let goes_on = |session: &u64| match &graph[session].needs {
            Needs::All(needed) => needed.iter().all(|n| !stuck.contains(n)),
            Needs::Any(needed) => needed.iter().any(|n| !stuck.contains(n)),
        };
        let free: Vec<u64> = stuck.iter().copied().filter(|s| goes_on(s)).collect();
        if free.is_empty() {
            return stuck;
        }
        stuck.retain(|s| !free.contains(s));
    }
}

fn way_back(graph: &Graph, stuck: &HashSet<u64>, start: u64, path: &mut Vec<u64>, seen: &mut HashSet<u64>) -> bool {
    let Some(edge) = path.last().and_then(|at| graph.get(at)) else { return false };
    for &next in edge.needs.sessions() {
        if next == start {
            return true;
        }
        if stuck.contains(&next) && seen.insert(next) {
            path.push(next);
            if way_back(graph, stuck, start, path, seen) {
                return true;
            }
            path.pop();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(u64, Needs)]) -> Graph {
        edges.iter().map(|(s, needs)| (*s, Edge { needs: needs.clone(), what: String::new() })).collect()
    }

    #[test]
    fn cycles_over_all_and_any() {
        use Needs::{All, Any};
        let two = graph(&[(1, All(vec![2])), (2, All(vec![1])), (3, All(vec![1]))]);
        assert_eq!(cycle(&two, 1), Some(vec![1, 2]));
        assert_eq!(cycle(&two, 2), Some(vec![2, 1]));
        assert_eq!(cycle(&two, 3), None, "it waits for the cycle, but is no part of it");
        let open = graph(&[(1, All(vec![2])), (2, All(vec![4]))]);
        assert_eq!(cycle(&open, 1), None);
        // a connection that is free soon ends the wait for any of them
        let pool = graph(&[(1, All(vec![9])), (2, All(vec![9])), (9, Any(vec![1, 2, 5]))]);
        assert_eq!(cycle(&pool, 9), None);
        let full = graph(&[(1, All(vec![9])), (2, All(vec![9])), (9, Any(vec![1, 2]))]);
        assert_eq!(cycle(&full, 1), Some(vec![1, 9]));
        assert_eq!(cycle(&full, 9), Some(vec![9, 1]));
        // one's own needs besides
        let itself = graph(&[(1, All(vec![1]))]);
        assert_eq!(cycle(&itself, 1), Some(vec![1]));
    }
}
