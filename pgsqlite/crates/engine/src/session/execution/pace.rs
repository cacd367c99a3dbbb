//! How long a session's client is silent within its transactions.
//!
//! A transaction that is put aside costs its rollback and making its changes again. A client that answers in microseconds (a program that sends
//! its next statement at once) will have ended its transaction before that would pay. One that thinks must not hold up others.

use std::time::{Duration, Instant};

/// A client that is silent for no longer than this, on average, is waited for.
const SHORT: Duration = Duration::from_micros(500);
/// … for so long in one transaction, while others want to write.
const PATIENCE: Duration = Duration::from_millis(5);
/// … and longer by this for each change that would have to be made again.
const FOR_EACH_CHANGE: Duration = Duration::from_micros(20);

/// How long a session's client is silent within its transactions.
#[derive(Debug, Default)]
pub(in crate::session) struct Pace {
    since: Option<Instant>,
    /// the average of the last silences, the last of which counts for a quarter; None: there was none
    average: Option<Duration>,
}

impl Pace {
    /// The client is silent from now on.
    pub fn rests(&mut self) {
        self.since = Some(Instant::now());
    }

    /// The client goes on.
    pub fn goes_on(&mut self) {
        if let Some(since) = self.since.take() {
            self.note(since.elapsed());
        }
    }

    fn note(&mut self, silence: Duration) {
        // (one long silence says little of the next)
        let silence = silence.min(SHORT * 4);
        self.average = Some(match self.average {
            None => silence,
            Some(average) => (average * 3 + silence) / 4,
        });
    }

    /// How long others may wait, all in all, for a transaction with so many changes before it is put aside in a silence. None: not at all.
    pub fn patience(&self, changes: usize) -> Option<Duration> {
        let is_quick = self.average.is_some_and(|average| average <= SHORT);
        let changes = u32::try_from(changes).unwrap_or(u32::MAX);
        is_quick.then(|| PATIENCE + FOR_EACH_CHANGE.saturating_mul(changes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_thinks_is_not_waited_for() {
        let mut pace = Pace::default();
        assert_eq!(pace.patience(0), None, "nothing is known of it");
        (0..3).for_each(|_| pace.note(Duration::from_micros(60)));
        assert_eq!(pace.patience(0), Some(PATIENCE));
        assert_eq!(pace.patience(1000), Some(Duration::from_millis(25)));
        pace.note(Duration::from_millis(10));
        pace.note(Duration::from_micros(60));
        assert_eq!(pace.patience(0), Some(PATIENCE), "once does not count");
        (0..3).for_each(|_| pace.note(Duration::from_millis(10)));
        assert_eq!(pace.patience(0), None);
    }
}
