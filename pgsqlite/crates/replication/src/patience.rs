//! For how long a bucket is waited for.

use std::time::Duration;

/// For how long a bucket is waited for.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// so long a request is tried again before it has failed
    pub tries: Duration,
    /// an answer that takes longer does not come
    pub answer: Duration,
}

impl From<Duration> for Patience {
    fn from(tries: Duration) -> Patience {
        Patience { tries, answer: Duration::from_secs(30) }
    }
}
