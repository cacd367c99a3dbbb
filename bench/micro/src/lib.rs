//! What is measured without a server: the ways of a value, of a message and of a statement, each a closure that does it once.
//!
//! `benches/time.rs` takes the time of each with criterion, `src/main.rs` runs each a known number of times for callgrind to
//! count its instructions. Both take the same list, so that a case has both figures.

mod case;
mod engine;
mod sql;
mod statements;
mod types;
mod wire;

pub use case::Case;

/// The same work for ever: how fast the machine is, by which a baseline of another one is scaled.
fn calibration() -> Case {
    let mut state = 1u64;
    Case::new("calibration/fixed work", move || {
        for _ in 0..1000 {
            state = std::hint::black_box(state.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x55);
        }
    })
}

/// All cases. They panic where what they measure fails: a benchmark of errors says nothing.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![calibration()];
    types::cases(&mut cases);
    wire::cases(&mut cases);
    sql::cases(&mut cases);
    engine::cases(&mut cases);
    cases
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_case_runs_and_has_a_name_of_its_own() {
        let mut names = std::collections::HashSet::new();
        for mut case in super::cases() {
            for _ in 0..3 {
                (case.run)();
            }
            assert!(names.insert(case.name.clone()), "{}", case.name);
        }
        assert!(names.len() > 60, "{} cases", names.len());
    }
}
