//! Numbers that transactions and catalogs share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

/// The last number that a transaction or an epoch got.
static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);

/// When this process began, in microseconds since 2000-01-01 UTC. No number that it gives is below the millisecond of it, so
/// that a client can tell from a number below it that a process before this one gave it, and that nobody gets it again.
pub fn start_time() -> i64 {
    static START: OnceLock<i64> = OnceLock::new();
    *START.get_or_init(crate::clock::now)
}

fn number_after(last: u64) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
    now.max(last + 1)
}

/// A number above all others, also those of the process before this one: milliseconds of the clock, or the one after the last.
/// Transactions and catalogs' epochs share them, so that an epoch is the `xmin` of a catalog's rows: above the number of
/// every transaction that saw another catalog before, and below those to come.
///
/// No two catalogs share an epoch: plans are found by it, also those of a catalog that a rollback threw away, and of one
/// with a session's temporary tables.
pub fn next_number() -> u64 {
    // (set before the first number, so that none is below it)
    start_time();
    let mut last = LAST_NUMBER.load(Ordering::Relaxed);
    loop {
        let next = number_after(last);
        match LAST_NUMBER.compare_exchange_weak(last, next, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return next,
            Err(other) => last = other,
        }
    }
}

/// An epoch for a catalog that lives only while a statement runs, as one with transition tables does: such are made often, and
/// would let the numbers run ahead of the clock.
pub fn passing_epoch() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1 << 32);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The number that [`next_number`] would give now.
pub fn coming_number() -> u64 {
    number_after(LAST_NUMBER.load(Ordering::Relaxed))
}

/// The numbers to come are above this one.
pub fn pass(number: u64) {
    LAST_NUMBER.fetch_max(number, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The start is known before the first number is given, whoever asks for it first, and whenever.
    #[test]
    fn no_number_is_below_the_start() {
        let first = next_number();
        std::thread::sleep(std::time::Duration::from_millis(5));
        let start = (start_time() + 946_684_800_000_000) as u64 / 1000;
        assert!(first >= start, "{first} was given before {start}");
    }
}
