//! Texts that are stored mean what was written, for all recorded statements.

use super::replay::{cases, in_runtime, tests, Replay};
use pgsqlite_objects::ddl::stored_texts::{begin, found};

/// Texts that PostgreSQL stores so, for an IN whose list has columns beside constants: it is taken apart.
const TAKEN_APART: [&str; 2] =
    ["check constraint: ((f <> ALL (ARRAY[7, 8])) AND (f <> s))", "check constraint: ((f = s) OR (f = 9))"];

/// Replays the files of `tests/sql` that store texts.
fn replay(part: usize, parts: usize) {
    let stores = |text: &str| {
        [
            "CHECK",
            "DEFAULT",
            "VIEW",
            "POLICY",
            "RULE",
            "GENERATED",
            "INDEX",
            "DOMAIN",
            "STATISTICS",
            "FUNCTION",
            "PROCEDURE",
            "TRIGGER",
            "PARTITION",
            "EXCLUDE",
        ]
        .iter()
        .any(|word| text.contains(word))
    };
    let mut sources: Vec<_> = std::fs::read_dir(tests().join("sql"))
        .expect("tests/sql")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "slt"))
        .collect();
    sources.sort();
    begin();
    let before = found().0;
    in_runtime(async move {
        for source in sources.into_iter().skip(part).step_by(parts) {
            let cases = cases(&source);
            if !cases.iter().any(|case| stores(&case.sql.to_uppercase())) {
                continue;
            }
            let mut replay = Replay::new();
            for case in cases.iter().filter(|case| !case.bound) {
                replay.run(case).await;
            }
        }
    });
    let (compared, different) = found();
    assert!(compared > before, "no text was stored");
    let told: Vec<&str> = different
        .iter()
        .map(String::as_str)
        .filter(|text| !TAKEN_APART.iter().any(|known| text.starts_with(known)))
        .collect();
    assert!(told.is_empty(), "{} of {compared} stored texts mean something else:\n{}", told.len(), told.join("\n"));
}

#[test]
fn stored_texts_mean_what_was_written_1() {
    replay(0, 2);
}

#[test]
fn stored_texts_mean_what_was_written_2() {
    replay(1, 2);
}
