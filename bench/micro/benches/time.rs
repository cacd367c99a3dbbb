//! The time of each case, with criterion; its estimates are read from target/criterion.

use criterion::Criterion;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for mut case in pgsqlite_bench_micro::cases() {
        criterion.bench_function(&case.name, |b| b.iter(|| (case.run)()));
    }
    criterion.final_summary();
}
