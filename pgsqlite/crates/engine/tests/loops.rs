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

/// Natives, the types' algorithms, DDL, the catalogs and what is stored, whose loops all tick. (Analysis and lowering tick at each
/// expression and query.)
const WATCHED: &[&str] = &[
    "sql/src/deparse/columns.rs",
    "sql/src/deparse/definitions.rs",
    "sql/src/deparse/expr.rs",
    "sql/src/deparse/function_body.rs",
    "sql/src/deparse/mod.rs",
    "sql/src/deparse/modify.rs",
    "sql/src/deparse/query.rs",
    "sql/src/deparse/rule_references.rs",
    "sql/src/analyze/stored_views.rs",
    "sql/src/catalog/inheritance.rs",
    "sql/src/partition.rs",
    "sqli/src/dialect",
    "types/src/codec/array/literal.rs",
    "types/src/bits.rs",
    "types/src/bytea.rs",
    "types/src/encoding.rs",
    "types/src/extension",
    "types/src/formatting",
    "types/src/geometry",
    "types/src/jsonpath/eval.rs",
    "types/src/numeric/arith.rs",
    "types/src/numeric/functions.rs",
    "types/src/codec/range",
    "types/src/tsearch",
    "metadata/src/databases.rs",
    "objects/src/ddl",
    "natives/src/large_object/store.rs",
    "metadata/src/naming.rs",
    "objects/src/pg_catalog",
    "metadata/src/store",
    "natives/src/text_search",
    "natives/src/udf/arrays.rs",
    "natives/src/udf/bits.rs",
    "natives/src/udf/encodings.rs",
    "natives/src/udf/geometry.rs",
    "natives/src/udf/hstore.rs",
    "natives/src/udf/intarray.rs",
    "natives/src/udf/json.rs",
    "natives/src/udf/json_build.rs",
    "natives/src/udf/json_paths.rs",
    "natives/src/udf/regex_exact.rs",
    "natives/src/udf/regex_search.rs",
    "natives/src/udf/regex_syntax.rs",
    "natives/src/udf/strings.rs",
    "natives/src/udf/text_search.rs",
    "natives/src/udf/trigrams.rs",
];

/// Files within these whose loops are over the elements of two vectors (16,000 at most), and compute too little to look at requests in.
const BOUNDED: &[&str] = &["types/src/extension/vector/distance.rs"];

/// The number of the first line within the loop that begins in line `i`; None: none begins there.
fn end_of_header(lines: &[&str], i: usize) -> Option<usize> {
    let start = lines[i].trim_start();
    let label = start.strip_prefix('\'').and_then(|s| s.split_once(": "));
    let start = label.map_or(start, |(_, rest)| rest);
    if !(start == "loop {" || start.starts_with("while ") || start.starts_with("for ") && !start.starts_with("for<")) {
        return None;
    }
    let mut open = 0;
    for (n, line) in lines.iter().enumerate().skip(i) {
        let count = |brackets: [char; 3]| line.chars().filter(|c| brackets.contains(c)).count() as i64;
        open += count(['(', '[', '{']) - count([')', ']', '}']);
        match line {
            line if open == 1 && line.ends_with('{') => return Some(n + 1),
            // (a loop without a body)
            line if open == 0 && line.ends_with("{}") => return None,
            _ => {}
        }
    }
    None
}

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
    let is_bounded = |file: &Path| BOUNDED.iter().any(|bounded| file.ends_with(bounded));
    for file in files.iter().filter(|f| !f.ends_with("tests.rs") && !is_bounded(f)) {
        let text = std::fs::read_to_string(file).expect("a source");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines: Vec<&str> = code.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let start = line.trim_start();
            let Some(behind) = end_of_header(&lines, i) else { continue };
            let ticks = lines[i..(behind + 3).min(lines.len())].iter().any(|l| {
                ["pulse(", "tick(", "visit(", "pulsing()", "ticking(", "self.count("]
                    .iter()
                    .any(|word| l.contains(word))
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
    for name in ["storage", "metadata", "natives", "objects", "engine"] {
        sources(&crates().join(name).join("src"), &mut files);
    }
    for file in files.iter().filter(|f| !f.ends_with("session/work.rs") && !f.ends_with("src/apart.rs")) {
        let text = std::fs::read_to_string(file).expect("a source");
        let calls = text.lines().filter(|l| l.contains("block_in_place(") && !l.trim_start().starts_with("//"));
        assert_eq!(calls.count(), 0, "{}: use CancelHandle::work or apart::apart", file.display());
    }
}
