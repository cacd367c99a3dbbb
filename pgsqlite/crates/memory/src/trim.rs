//! Freed memory goes back to the operating system.
//!
//! The C library keeps what is freed between allocations that live on. It does so in each of its arenas, of which it makes up to eight
//! for each processor: what one thread frees is of no use to a thread that allocates from another arena. So there are three rules:
//!
//! * [`limit_arenas`] lets the C library have fewer arenas.
//! * When the total has fallen by [`FALL`] bytes, a thread asks the C library to give back what it can: a statement that took much has ended.
//! * The same is done when much more memory is resident than is allocated, which many small statements bring about in the course of hours.

use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};

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

/// Lets the C library have two arenas for each processor: before the program's first thread is started. Who sets `MALLOC_ARENA_MAX` in the
/// environment decides otherwise.
pub fn limit_arenas() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if std::env::var_os("MALLOC_ARENA_MAX").is_none() {
        let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
        let arenas = i32::try_from(2 * processors).unwrap_or(i32::MAX);
        // SAFETY: sets a number of the allocator's.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, arenas) };
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
    let started = std::thread::Builder::new().name("memory-trim".into()).spawn(move || {
        // SAFETY: takes the allocator's own locks, and nothing of ours.
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        unsafe {
            libc::malloc_trim(0);
        }
        FLOOR.store(resident().unwrap_or(0), Ordering::Relaxed);
        RUNNING.store(false, Ordering::Release);
        flush();
    });
    if started.is_err() {
        RUNNING.store(false, Ordering::Release);
    }
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
