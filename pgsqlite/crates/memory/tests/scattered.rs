//! What is freed between allocations that live on goes back to the system, though the total never falls far.

use pgsqlite_memory::{total, Account, Accounting};
use std::sync::mpsc;

#[global_allocator]
static ALLOCATOR: Accounting = Accounting;

const MIB: usize = 1 << 20;

/// MiB that are resident and belong to no file.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("is Linux");
    let pages: Vec<usize> = text.split(' ').map(|n| n.trim().parse().expect("a number")).collect();
    (pages[1] - pages[2]) * 4096 / MIB
}

/// Takes 40 MiB, and frees all but one block of each 128 KiB.
fn scatter() -> Vec<Vec<u8>> {
    let mut blocks: Vec<Vec<u8>> = (0..40 * MIB / 2048).map(|_| vec![1; 2000]).collect();
    let mut at = 0;
    blocks.retain(|_| {
        at += 1;
        at % 64 == 0
    });
    blocks
}

#[test]
fn scattered_memory_is_given_back() {
    let account = Account::new();
    // each thread has an arena of its own, until it ends
    let mut threads = Vec::new();
    let mut highest = 0;
    for _ in 0..7 {
        let ((done, is_done), (end, ends)) = (mpsc::channel(), mpsc::channel::<()>());
        let thread = std::thread::spawn(move || {
            // (nobody looks at the memory at the end of what belongs to no account)
            let kept = scatter();
            done.send(()).expect("is waited for");
            let _ = ends.recv();
            drop(kept);
        });
        is_done.recv().expect("scatters");
        assert!(total() < 60 * MIB, "the total does not fall by what is always looked at: {}", total());
        highest = highest.max(resident());
        threads.push((thread, end));
    }
    // (a generous bound: the memory is given back by a thread of its own)
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while resident() > 150 && std::time::Instant::now() < deadline {
        account.run(|| drop(vec![1u8; MIB]));
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(resident() <= 150, "{} MiB are resident, {} MiB are allocated", resident(), total() / MIB);
    assert!(highest > 160, "{highest} MiB");
    for (thread, end) in threads {
        drop(end);
        thread.join().expect("ends");
    }
}
