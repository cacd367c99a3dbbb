//! Each case a known number of times, for callgrind to count:
//!
//!     valgrind --tool=callgrind --toggle-collect=bench_measured --dump-after=bench_measured … pgsqlite-bench-micro [FILTER]
//!
//! The n-th dump belongs to the n-th line of the output: the case's name, a tab, the number of times. Nothing but the cases is
//! collected: the processor's caches are cold before, but the program's own have been filled by a few uncounted runs.

/// Before anything is counted.
const WARMUP: u32 = 20;
const TIMES: u32 = 100;

/// What callgrind collects. Its name is given to callgrind, so it is neither inlined nor mangled.
#[no_mangle]
#[inline(never)]
#[allow(improper_ctypes_definitions)] // it is called from here only
extern "C" fn bench_measured(run: &mut dyn FnMut()) {
    for _ in 0..TIMES {
        run();
    }
}

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    for mut case in pgsqlite_bench_micro::cases().into_iter().filter(|c| c.name.contains(&filter)) {
        for _ in 0..WARMUP {
            (case.run)();
        }
        bench_measured(&mut *case.run);
        println!("{}\t{TIMES}", case.name);
    }
}
