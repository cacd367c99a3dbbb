//! Leases of the pool's connections. The last of them are for superusers, so that one can come in and end what holds the others.

use pgsqlite_types::{PgError, Result};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The right to hold one connection, given back when dropped.
#[derive(Debug)]
pub struct Lease {
    _any: OwnedSemaphorePermit,
    _common: Option<OwnedSemaphorePermit>,
}

/// The leases of one pool.
#[derive(Debug)]
pub struct Leases {
    /// all of them
    any: Arc<Semaphore>,
    /// those that are not kept for superusers: who is none takes one of these, too
    common: Arc<Semaphore>,
}

impl Leases {
    /// `reserved`: how many are kept for superusers, but never more than a quarter.
    pub fn new(size: usize, reserved: usize) -> Leases {
        let size = size.clamp(1, 1 << 20);
        let common = size - reserved.min(size / 4);
        Leases { any: Arc::new(Semaphore::new(size)), common: Arc::new(Semaphore::new(common)) }
    }

    /// A lease, if there is one now.
    pub fn take_now(&self, superuser: bool) -> Option<Lease> {
        let common = match superuser {
            true => None,
            false => Some(self.common.clone().try_acquire_owned().ok()?),
        };
        Some(Lease { _any: self.any.clone().try_acquire_owned().ok()?, _common: common })
    }

    /// Waits for a lease, in the order in which they are asked for.
    pub async fn take(&self, superuser: bool) -> Result<Lease> {
        let closed = |_| PgError::shut_down();
        let common = match superuser {
            true => None,
            false => Some(self.common.clone().acquire_owned().await.map_err(closed)?),
        };
        Ok(Lease { _any: self.any.clone().acquire_owned().await.map_err(closed)?, _common: common })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_leases_are_for_superusers() {
        let leases = Leases::new(10, 3);
        let common: Vec<Lease> = std::iter::from_fn(|| leases.take_now(false)).collect();
        assert_eq!(common.len(), 8);
        let last: Vec<Lease> = std::iter::from_fn(|| leases.take_now(true)).collect();
        assert_eq!(last.len(), 2);
        drop(common);
        assert!(leases.take_now(false).is_some());
        assert_eq!(std::iter::from_fn(|| leases.take_now(true).map(std::mem::forget)).count(), 8);
        // a small pool is everybody's
        assert_eq!(std::iter::from_fn(|| Leases::new(1, 3).take_now(false).map(std::mem::forget)).take(1).count(), 1);
    }
}
