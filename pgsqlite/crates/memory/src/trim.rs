//! Freed memory goes back to the operating system.
//!
//! The allocator is mimalloc, which takes the place of the C library's for everybody in the process: Rust, SQLite and the parser. The C
//! library's has a lock for each of its arenas, and changes the protection of pages as they grow: while one session parsed a text of
//! megabytes, others waited for up to 800 ms.
//!
//! Each thread has pages of its own. What a thread frees of another one's is that one's to use again, and free pages are given to the
//! operating system some time later, when somebody allocates. So there are three rules:
//!
//! * [`set_delay`] shortens that time: from a second to a tenth of one.
//! * When the total has fallen by [`FALL`] bytes, a statement that took much has ended: free pages are given back at once.
//! * The same is done when much more memory is resident than is allocated, which many small statements bring about in the course of hours.
//!   Each thread gives its free pages up when it has run a session the next time: nobody else can do so.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};
use std::time::Duration;

/// So many bytes are freed before it is worth looking for them.
const FALL: isize = 64 << 20;
/// The counts that are added to the total between two looks at what is resident.
const LOOK: usize = 1024;
/// What may be resident besides one and a half times what is allocated: stacks, and the program's own data.
const SLACK: usize = 64 << 20;
/// What has become resident since memory was given back last, before it is worth doing it again.
const AGAIN: usize = 32 << 20;

/// The highest total since memory was given back last.
static PEAK: AtomicIsize = AtomicIsize::new(0);
/// How often a thread has added its count to the total since the last look at what is resident.
static CHANGES: AtomicUsize = AtomicUsize::new(0);
/// What was resident when memory had been given back last, or less if it has been less since.
static FLOOR: AtomicUsize = AtomicUsize::new(0);
static RUNNING: AtomicBool = AtomicBool::new(false);
/// How often threads have been asked for their free pages.
static ASKED: AtomicUsize = AtomicUsize::new(0);
/// The time in which threads that run sessions give up their free pages, before those are given to the operating system.
const PATIENCE: Duration = Duration::from_millis(200);

thread_local! {
    /// [`ASKED`] when this thread gave up its free pages last.
    static ANSWERED: Cell<usize> = const { Cell::new(0) };
}

/// `mi_option_purge_delay` of mimalloc's `mi_option_e`, in milliseconds: the crate has no name for it.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Sets how long free pages are kept: at the program's start. Who sets `MIMALLOC_PURGE_DELAY` in the environment decides otherwise.
pub fn set_delay() {
    if std::env::var_os("MIMALLOC_PURGE_DELAY").is_none() {
        // SAFETY: sets a number of the allocator's.
        unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 100) };
    }
}

/// Remembers a total.
pub(crate) fn note(total: isize) {
    CHANGES.fetch_add(1, Ordering::Relaxed);
    if total > PEAK.load(Ordering::Relaxed) {
        PEAK.fetch_max(total, Ordering::Relaxed);
    }
}

/// Gives memory back if the total has fallen far below its peak, or if much more is resident than is allocated. Called between the turns
/// of a session, never by the allocator. The thread that gives it back calls `flush` at its end.
#[inline]
pub(crate) fn after(total: isize, flush: fn()) {
    let asked = ASKED.load(Ordering::Relaxed);
    if ANSWERED.try_with(|answered| answered.replace(asked) != asked).unwrap_or(false) {
        give_up_pages();
    }
    let fallen = PEAK.load(Ordering::Relaxed) - total >= FALL;
    let looks = CHANGES.load(Ordering::Relaxed) >= LOOK;
    if fallen || looks {
        consider(total, fallen, flush);
    }
}

#[cold]
fn consider(total: isize, fallen: bool, flush: fn()) {
    CHANGES.store(0, Ordering::Relaxed);
    if RUNNING.load(Ordering::Relaxed) || !(fallen || is_scattered(total)) || RUNNING.swap(true, Ordering::AcqRel) {
        return;
    }
    PEAK.store(total, Ordering::Relaxed);
    ASKED.fetch_add(1, Ordering::Relaxed);
    let started = std::thread::Builder::new().name("memory-trim".into()).spawn(move || {
        std::thread::sleep(PATIENCE);
        // SAFETY: takes the allocator's own locks, and nothing of ours.
        unsafe { libmimalloc_sys::mi_collect(true) };
        FLOOR.store(resident().unwrap_or(0), Ordering::Relaxed);
        RUNNING.store(false, Ordering::Release);
        flush();
    });
    if started.is_err() {
        RUNNING.store(false, Ordering::Release);
    }
}

/// Gives up this thread's free pages. To give them to the operating system takes longer, and is another thread's work.
#[cold]
fn give_up_pages() {
    // SAFETY: touches what the allocator keeps for this thread.
    unsafe { libmimalloc_sys::mi_collect(false) };
}

/// Whether so much more is resident than allocated that giving it back is worth the time.
fn is_scattered(total: isize) -> bool {
    let Some(resident) = resident() else { return false };
    let floor = FLOOR.fetch_min(resident, Ordering::Relaxed).min(resident);
    is_much(resident, usize::try_from(total).unwrap_or(0), floor)
}

fn is_much(resident: usize, total: usize, floor: usize) -> bool {
    resident > total + total / 2 + SLACK && resident > floor + AGAIN
}

/// The bytes of the process that are in memory and belong to no file. None: the system does not report them.
fn resident() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split_ascii_whitespace().skip(1).map(str::parse::<usize>);
    let (all, of_files) = (pages.next()?.ok()?, pages.next()?.ok()?);
    // SAFETY: asks for a constant.
    let size = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    Some(all.saturating_sub(of_files) * size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allocator_waits_a_second_before_it_gives_pages_back() {
        // SAFETY: reads a number.
        let get = || unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(get(), 1000, "the option's number is another's");
        set_delay();
        assert_eq!(get(), 100);
    }

    #[test]
    fn what_is_resident_is_compared_with_what_is_allocated_and_with_the_last_time() {
        let mib = 1 << 20;
        assert!(!is_much(163 * mib, 66 * mib, 0));
        assert!(is_much(164 * mib, 66 * mib, 0));
        // giving it back has not helped
        assert!(!is_much(164 * mib, 66 * mib, 140 * mib));
        assert!(is_much(173 * mib, 66 * mib, 140 * mib));
        // (the kernel counts the pages of a small process roughly)
        assert!(resident().is_some_and(|r| r < 1 << 40));
    }
}
