//! Clients that have not been let in yet: how many of them there may be, and who has to go when one more comes.
//!
//! Whoever comes is heard: the one that has waited longest is sent away, of those who come from where most come from. A flood of
//! silent connections so sends away its own.

use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::sync::Notify;

/// Where a client comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Origin {
    /// A user of this machine, over the Unix socket.
    Local(Option<u32>),
    /// An address; of IPv6 the network, whose addresses one may have all.
    Address(IpAddr),
}

impl Origin {
    fn of(address: Option<SocketAddr>, uid: Option<u32>) -> Origin {
        match address.map(|a| a.ip().to_canonical()) {
            None => Origin::Local(uid),
            Some(IpAddr::V4(ip)) => Origin::Address(ip.into()),
            Some(IpAddr::V6(ip)) => Origin::Address(std::net::Ipv6Addr::from(ip.to_bits() >> 64 << 64).into()),
        }
    }
}

/// The clients that wait to be let in.
#[derive(Default)]
pub struct Entrance(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    next: u64,
    /// in the order in which they came
    visitors: BTreeMap<u64, (Origin, Arc<Notify>)>,
    by_origin: HashMap<Origin, usize>,
}

impl Waiting {
    fn remove(&mut self, number: u64) -> Option<Arc<Notify>> {
        let (origin, sent_away) = self.visitors.remove(&number)?;
        if let Some(count) = self.by_origin.get_mut(&origin) {
            *count -= 1;
            if *count == 0 {
                self.by_origin.remove(&origin);
            }
        }
        Some(sent_away)
    }

    /// The one that has to go: the first of the origin that most come from.
    fn longest(&self) -> Option<u64> {
        let most = *self.by_origin.values().max()?;
        self.visitors.iter().find(|(_, (origin, _))| self.by_origin.get(origin) == Some(&most)).map(|(n, _)| *n)
    }
}

/// A client that has come, until it is let in or goes.
pub struct Visitor {
    entrance: Arc<Entrance>,
    number: u64,
    sent_away: Arc<Notify>,
    /// The operating system's user at the other end of a Unix socket.
    pub uid: Option<u32>,
}

impl Entrance {
    /// One more client. If there are more than `most` then, one is sent away.
    pub fn enter(self: &Arc<Self>, address: Option<SocketAddr>, uid: Option<u32>, most: usize) -> Visitor {
        let origin = Origin::of(address, uid);
        let sent_away = Arc::new(Notify::new());
        let mut waiting = self.0.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.visitors.insert(number, (origin, sent_away.clone()));
        *waiting.by_origin.entry(origin).or_default() += 1;
        while waiting.visitors.len() > most.max(1) {
            let gone = waiting.longest().and_then(|number| waiting.remove(number));
            match gone {
                // (a permit is kept for who does not wait yet)
                Some(gone) => gone.notify_one(),
                None => break,
            }
        }
        drop(waiting);
        Visitor { entrance: self.clone(), number, sent_away, uid }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.0.lock().visitors.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Visitor {
    /// Resolves when the client has to go.
    pub async fn sent_away(&self) {
        self.sent_away.notified().await;
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        self.entrance.0.lock().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_sent_away(visitor: &Visitor) -> bool {
        use std::future::Future;
        let mut wait = std::pin::pin!(visitor.sent_away());
        wait.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())).is_ready()
    }

    #[test]
    fn a_flood_sends_away_its_own() {
        let entrance = Arc::<Entrance>::default();
        let from = |address: &str| Some(SocketAddr::new(address.parse().unwrap(), 1));
        let patient = entrance.enter(from("192.0.2.7"), None, 10);
        let local = entrance.enter(None, Some(1000), 10);
        let flood: Vec<Visitor> = (0..100).map(|_| entrance.enter(from("198.51.100.1"), None, 10)).collect();
        assert_eq!(entrance.len(), 10);
        let newcomer = entrance.enter(from("203.0.113.5"), None, 10);
        assert_eq!(entrance.len(), 10);
        assert!(!is_sent_away(&patient) && !is_sent_away(&local) && !is_sent_away(&newcomer));
        let stay: Vec<bool> = flood.iter().map(|v| !is_sent_away(v)).collect();
        assert!(stay[..93].iter().all(|s| !s) && stay[93..].iter().all(|s| *s), "{stay:?}");
        drop((flood, patient, local, newcomer));
        assert!(entrance.is_empty());
    }

    #[test]
    fn a_network_of_ipv6_is_one_origin() {
        let of = |address: &str| Origin::of(Some(SocketAddr::new(address.parse().unwrap(), 1)), None);
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }
}
