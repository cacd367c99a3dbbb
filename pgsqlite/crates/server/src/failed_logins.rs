//! The log's lines of clients that were not let in: who they said they were, where they came from, and why. Never what they gave as a
//! password. Whoever tries names in a flood must not fill the disk: of the failures of a minute so many are told, the others counted.

use parking_lot::Mutex;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Lines that [`PERIOD`] has room for.
const MOST: u32 = 60;
const PERIOD: Duration = Duration::from_secs(60);
/// Bytes of a name that a line shows; PostgreSQL's names are no longer.
const NAME: usize = 63;

/// What was told lately.
#[derive(Default)]
pub struct FailedLogins(Mutex<Lately>);

#[derive(Default)]
struct Lately {
    since: Option<Instant>,
    told: u32,
    /// not told
    silent: u64,
}

/// Whether a failure is told, and how many before it were not.
fn admit(lately: &mut Lately, now: Instant) -> (bool, u64) {
    let mut before = 0;
    if lately.since.is_none_or(|since| now.duration_since(since) >= PERIOD) {
        before = lately.silent;
        *lately = Lately { since: Some(now), told: 0, silent: 0 };
    }
    let tell = lately.told < MOST;
    match tell {
        true => lately.told += 1,
        false => lately.silent += 1,
    }
    (tell, before)
}

/// The beginning of a text that a client has chosen.
fn clipped(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME)]
}

impl FailedLogins {
    /// `address`: None for the Unix socket. `database`: empty if it is not known. `reason` is ours, without anything of the client's.
    pub fn tell(&self, role: &str, database: &str, address: Option<SocketAddr>, reason: &str) {
        let (tell, before) = admit(&mut self.0.lock(), Instant::now());
        if before > 0 {
            tracing::warn!("{before} failed logins before were not told one by one");
        }
        if tell {
            let address = address.map_or("local socket".to_string(), |a| a.to_string());
            // with Debug's escapes: a name cannot begin another line
            tracing::warn!(role = ?clipped(role), database = ?clipped(database), address, "login failed: {reason}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted() {
        let (mut lately, begin) = (Lately::default(), Instant::now());
        let told = (0..1000).filter(|_| admit(&mut lately, begin).0).count();
        assert_eq!(told, MOST as usize);
        assert_eq!(admit(&mut lately, begin + PERIOD / 2), (false, 0));
        assert_eq!(admit(&mut lately, begin + PERIOD), (true, 1001 - MOST as u64));
        assert_eq!(admit(&mut lately, begin + PERIOD), (true, 0));
    }

    #[test]
    fn names_are_clipped_between_characters() {
        assert_eq!(clipped("joe"), "joe");
        assert_eq!(clipped(&"ä".repeat(40)), "ä".repeat(31));
    }
}
