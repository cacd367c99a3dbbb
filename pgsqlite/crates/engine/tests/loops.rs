//! Loops over data of the user's size look at requests, and what lasts is handed to one place: found by reading the source.

use std::path::{Path, PathBuf};

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates' folder").to_path_buf()
}

/// Natives and the types' algorithms whose loops all tick.
const WATCHED: &[&str] = &[
    "types/src/array/literal.rs",
    "types/src/bits.rs",
    "types/src/encoding.rs",
    "types/src/extension",
    "types/src/formatting",
    "types/src/geometry",
    "types/src/jsonpath/eval.rs",
    "types/src/numeric/functions.rs",
    "types/src/range",
    "types/src/tsearch",
    "engine/src/text_search",
    "engine/src/udf/bits.rs",
    "engine/src/udf/encodings.rs",
    "engine/src/udf/geometry.rs",
    "engine/src/udf/hstore.rs",
    "engine/src/udf/intarray.rs",
    "engine/src/udf/json.rs",
    "engine/src/udf/json_build.rs",
    "engine/src/udf/json_paths.rs",
    "engine/src/udf/regex_exact.rs",
    "engine/src/udf/regex_syntax.rs",
    "engine/src/udf/text_search.rs",
    "engine/src/udf/trigrams.rs",
];

#[test]
fn every_loop_of_the_natives_ticks() {
    let mut files = Vec::new();
    for watched in WATCHED {
        let path = crates().join(watched);
        match path.is_dir() {
            true => sources(&path, &mut files),
            false => files.push(path),
        }
    }
    let mut silent = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines: Vec<&str> = code.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let start = line.trim_start();
            let begins = start.starts_with("for ") && line.contains(" in ") || start.starts_with("while ");
            if !line.ends_with(" {") || !(begins || start == "loop {") || start.starts_with("//") {
                continue;
            }
            let ticks = lines[i..(i + 4).min(lines.len())].iter().any(|l| {
                ["pulse(", "tick(", "pulsing()", "ticking(", "self.count("].iter().any(|word| l.contains(word))
            });
            if !ticks {
                silent.push(format!("{}:{}: {start}", file.display(), i + 1));
            }
        }
    }
    assert!(silent.is_empty(), "loops that look at no request (work::tick, work::pulse):\n{}", silent.join("\n"));
}

/// `CancelHandle::work` both interrupts and hands other tasks over; who calls `block_in_place` himself forgets one of them.
#[test]
fn only_one_place_hands_tasks_over() {
    let mut files = Vec::new();
    sources(&crates().join("engine/src"), &mut files);
    for file in files.iter().filter(|f| !f.ends_with("session/work.rs")) {
        let text = std::fs::read_to_string(file).expect("a source");
        let calls = text.lines().filter(|l| l.contains("block_in_place(") && !l.trim_start().starts_with("//"));
        assert_eq!(calls.count(), 0, "{}: use CancelHandle::work or session::apart", file.display());
    }
}
