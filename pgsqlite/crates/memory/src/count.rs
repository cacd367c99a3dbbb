//! The counters: one set for each thread, one total for the process.

use crate::account::Account;
use crate::trim;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

/// A thread adds its count to the total when it has changed by so many bytes.
pub const GRAIN: usize = 64 << 10;

/// The smallest limit: an idle server with its caches needs about half of it.
pub const SMALLEST_LIMIT: usize = 64 << 20;

/// What sessions hold that are never refused: less than a connection's page cache.
const SMALL: isize = 4 << 20;

/// The memory that was asked for is not to be had: the limit is reached, and this session holds more than its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeded {
    /// the bytes that were asked for; 0 where a loop looked at the limit
    pub requested: usize,
}

static TOTAL: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The counters of a thread. All are plain cells with constant initial values, so that the allocator may use them.
pub(crate) struct Local {
    /// bytes allocated minus bytes freed by this thread
    net: Cell<isize>,
    /// the part of `net` that the total has
    flushed: Cell<isize>,
    /// the limit was reached when the thread last looked, and the account is above its share
    over: Cell<bool>,
    /// the account of the session that runs, or null
    account: Cell<*const Account>,
    /// `net` when that session began to run
    base: Cell<isize>,
}

thread_local! {
    static LOCAL: Local = const {
        Local {
            net: Cell::new(0),
            flushed: Cell::new(0),
            over: Cell::new(false),
            account: Cell::new(std::ptr::null()),
            base: Cell::new(0),
        }
    };
}

/// Bytes that are allocated, without the last [`GRAIN`] of each thread.
pub fn total() -> usize {
    usize::try_from(TOTAL.load(Ordering::Relaxed)).unwrap_or(0)
}

/// The most that [`total`] has been since the process began.
pub fn peak() -> usize {
    usize::try_from(PEAK.load(Ordering::Relaxed)).unwrap_or(0)
}

/// The limit in bytes; `usize::MAX`: none.
pub fn limit() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

/// Sets the limit, at least [`SMALLEST_LIMIT`]. `usize::MAX` is no limit, which is the default.
pub fn set_limit(bytes: usize) {
    LIMIT.store(bytes.max(SMALLEST_LIMIT), Ordering::Relaxed);
}

/// Adds the rest of this thread's count to the total: before a thread ends.
pub fn flush_thread() {
    let _ = LOCAL.try_with(Local::flush);
}

/// What a session may hold while the total is `total`: a 64th of the limit, and next to nothing when even the reserve is used.
fn share(total: isize, limit: isize) -> isize {
    if total < limit + limit / 8 {
        (limit / 64).max(SMALL)
    } else {
        SMALL
    }
}

impl Local {
    fn flush(&self) {
        let net = self.net.get();
        let change = net - self.flushed.replace(net);
        let total = TOTAL.fetch_add(change, Ordering::Relaxed) + change;
        if total > PEAK.load(Ordering::Relaxed) {
            PEAK.fetch_max(total, Ordering::Relaxed);
        }
        trim::note(total);
        self.over.set(self.is_over(total, 0));
    }

    /// Whether `more` bytes are refused while the total is `total`.
    fn is_over(&self, total: isize, more: isize) -> bool {
        let limit = isize::try_from(limit()).unwrap_or(isize::MAX / 2);
        if total.saturating_add(more) <= limit {
            return false;
        }
        // SAFETY: the pointer is set by `enter`, whose guard keeps the account alive.
        let Some(account) = (unsafe { self.account.get().as_ref() }) else { return false };
        let held = account.held() + self.net.get() - self.base.get();
        held.saturating_add(more) > share(total, limit)
    }

    #[inline]
    fn note(&self, change: isize) {
        let net = self.net.get() + change;
        self.net.set(net);
        if (net - self.flushed.get()).unsigned_abs() >= GRAIN {
            self.flush();
        }
    }
}

/// Counts `change` bytes for this thread.
#[inline]
pub(crate) fn note(change: isize) {
    // a thread that ends has no counters any more
    let _ = LOCAL.try_with(|l| l.note(change));
}

/// Fails if the limit is reached and the running session holds more than its share. One look at a thread's flag: made for loops.
#[inline]
pub fn check() -> Result<(), Exceeded> {
    if LOCAL.try_with(|l| l.over.get()).unwrap_or(false) {
        return reserve(0);
    }
    Ok(())
}

/// Fails if `bytes` more would pass the limit, with the running session holding more than its share.
pub fn reserve(bytes: usize) -> Result<(), Exceeded> {
    let more = isize::try_from(bytes).unwrap_or(isize::MAX / 4);
    let refused = LOCAL.try_with(|l| {
        let total = TOTAL.load(Ordering::Relaxed) + l.net.get() - l.flushed.get();
        let over = l.is_over(total, more);
        if bytes == 0 {
            l.over.set(over);
        }
        over
    });
    match refused {
        Ok(true) => Err(Exceeded { requested: bytes }),
        _ => Ok(()),
    }
}

/// Attributes what this thread allocates to `account` from now on; gives what [`leave`] needs.
pub(crate) fn enter(account: *const Account) -> (*const Account, isize) {
    LOCAL
        .try_with(|l| {
            let before = (l.account.replace(account), l.base.replace(l.net.get()));
            let total = TOTAL.load(Ordering::Relaxed);
            l.over.set(l.is_over(total, 0));
            before
        })
        .unwrap_or((std::ptr::null(), 0))
}

/// Ends [`enter`]: `settle` gets what was allocated since.
pub(crate) fn leave(before: (*const Account, isize), settle: impl FnOnce(isize)) {
    let _ = LOCAL.try_with(|l| {
        settle(l.net.get() - l.base.get());
        l.account.set(before.0);
        // what was counted within is not the outer account's
        l.base.set(before.1 + l.net.get() - l.base.get());
        l.over.set(false);
        // what was freed last may not be in the total yet: it is less than a grain
        if l.account.get().is_null() {
            trim::after(TOTAL.load(Ordering::Relaxed), flush_thread);
        }
    });
}

/// The account that [`enter`] set, or null.
pub(crate) fn current() -> *const Account {
    LOCAL.try_with(|l| l.account.get()).unwrap_or(std::ptr::null())
}

/// The bytes that an allocation of `size` costs the allocator: multiples of 16, and above 64 multiples of a quarter of the power of two
/// below (mimalloc's size classes). What is larger than all classes is made of pages.
#[inline]
fn cost(size: usize) -> isize {
    let step = if size > LARGEST_CLASS { 4096 } else { (size.next_power_of_two() / 8).max(16) };
    size.max(1).next_multiple_of(step) as isize
}

/// The largest size that mimalloc has a class for, in bytes (`MI_LARGE_MAX_OBJ_SIZE`).
const LARGEST_CLASS: usize = 512 << 10;

/// The global allocator that counts: the process's, which is mimalloc (`trim.rs`), with the counters of this crate.
pub struct Accounting;

// SAFETY: every call goes to the process's allocator unchanged; counting allocates nothing and does not unwind.
unsafe impl GlobalAlloc for Accounting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        let p = unsafe { System.alloc(layout) };
        if !p.is_null() {
            note(cost(layout.size()));
        }
        p
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let p = unsafe { System.alloc_zeroed(layout) };
        if !p.is_null() {
            note(cost(layout.size()));
        }
        p
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(p, layout) };
        note(-cost(layout.size()));
    }
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let new = unsafe { System.realloc(p, layout, size) };
        if !new.is_null() {
            note(cost(size) - cost(layout.size()));
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_above_its_share_is_refused_and_a_small_one_is_not() {
        // This test counts by itself: the test program has another allocator.
        let mib = 1 << 20;
        set_limit(64 * mib);
        let (hog, small) = (Account::new(), Account::new());
        hog.run(|| note(70 * mib as isize));
        hog.run(|| {
            assert_eq!(check(), Err(Exceeded { requested: 0 }));
            assert_eq!(reserve(1), Err(Exceeded { requested: 1 }));
        });
        small.run(|| {
            assert_eq!(check(), Ok(()));
            assert_eq!(reserve(mib), Ok(()));
            // within the reserve, but more than a share
            assert_eq!(reserve(40 * mib), Err(Exceeded { requested: 40 * mib }));
        });
        // nobody's: caches, the committer
        assert_eq!(reserve(mib), Ok(()));
        // freed by another session: the total counts
        small.run(|| note(-30 * mib as isize));
        hog.run(|| {
            assert_eq!(check(), Ok(()));
            assert_eq!(reserve(10 * mib), Ok(()));
            assert_eq!(reserve(30 * mib), Err(Exceeded { requested: 30 * mib }));
        });
        // one within the other
        hog.run(|| {
            small.run(|| note(3));
            note(5);
        });
        assert_eq!(hog.held(), 70 * mib as isize + 5);
        assert_eq!(small.held(), -30 * mib as isize + 3);
    }

    /// `mi_good_size` is what the allocator makes of a size.
    #[test]
    fn the_cost_is_what_the_allocator_takes() {
        let around = |bits: usize| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1, 11 << (bits - 3)];
        for size in (1..=8192).chain((13..=24).flat_map(around)) {
            // SAFETY: computes a number.
            let taken = unsafe { libmimalloc_sys::mi_good_size(size) };
            let cost = cost(size) as usize;
            assert!(cost.abs_diff(taken) <= 16, "{size}: {cost}, {taken}");
        }
        assert_eq!(cost(0), 16);
    }

    #[test]
    fn another_threads_rest_is_in_the_total_when_it_ends() {
        let before = TOTAL.load(Ordering::Relaxed);
        std::thread::spawn(|| {
            note(1000);
            assert!((1000..GRAIN as isize).contains(&LOCAL.with(|l| l.net.get())));
            flush_thread();
            flush_thread();
            note(-1000);
            flush_thread();
        })
        .join()
        .expect("ends");
        // the other test may count meanwhile, in whole mebibytes and single bytes
        assert!((TOTAL.load(Ordering::Relaxed) - before).unsigned_abs() % (1 << 20) < 1000);
    }
}
