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

/// Natives, the types, DDL, the catalogs and what is stored, whose loops all tick. (Analysis and lowering tick at each expression and
/// query.)
const WATCHED: &[&str] = &[
    "metadata/src/databases.rs",
    "metadata/src/naming.rs",
    "metadata/src/store",
    "natives/src",
    "objects/src/ddl",
    "objects/src/pg_catalog",
    "sql/src/analyze/stored_views.rs",
    "sql/src/catalog/inheritance.rs",
    "sql/src/deparse/columns.rs",
    "sql/src/deparse/definitions.rs",
    "sql/src/deparse/expr.rs",
    "sql/src/deparse/function_body.rs",
    "sql/src/deparse/mod.rs",
    "sql/src/deparse/modify.rs",
    "sql/src/deparse/query.rs",
    "sql/src/deparse/rule_references.rs",
    "sql/src/partition.rs",
    "sqli/src/dialect",
    "types/src",
];

/// Files and folders within these whose loops do not depend on how large a value is, with what bounds them. (A single loop of that kind
/// has a comment `bounded: …` in the line above.)
const BOUNDED: &[(&str, &str)] = &[
    ("natives/src/large_object/mod.rs", "the open descriptors of a session"),
    ("natives/src/settings", "the settings, and the words of one"),
    ("natives/src/statistics", "the counters of the server"),
    ("natives/src/udf/blowfish_crypt.rs", "a password's 72 bytes; the rounds tick"),
    ("natives/src/udf/decimals.rs", "a compiled expression"),
    ("natives/src/udf/shim.rs", "the arguments of a call, and the 18 digits of a short number"),
    ("natives/src/udf/transitions.rs", "the sums of an aggregate"),
    ("types/src/datetime", "25 fields of 153 bytes, of which longer texts are refused"),
    ("types/src/extension/vector/distance.rs", "16,000 elements"),
    ("types/src/int.rs", "the digits until a number overflows"),
    ("types/src/network", "the groups of an address"),
    ("types/src/normalize.rs", "the forms that a value may have"),
    ("types/src/normalize.rs", "the forms that a value may have"),
    ("types/src/numeric/text.rs", "the 18 digits of a short number"),
    ("types/src/text.rs", "the bytes of a name"),
    ("types/src/uuid.rs", "16 bytes"),
    ("types/src/work.rs", "what ticks itself"),
    ("types/src/buffer.rs", "the digits of a number"),
];

/// Whether as many steps are made as the source, a call's arguments or an array's dimensions have: a loop over a literal list or range.
fn has_few_steps(header: &str) -> bool {
    let Some((_, over)) = header.split_once(" in ") else { return false };
    let over = over.trim_start_matches('(');
    let literal_range = over.split_once("..").is_some_and(|(from, to)| {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        is_number(from) && is_number(to.trim_start_matches('=').split([' ', ')']).next().unwrap_or_default())
    });
    let bounded = ["c.len()", "call.len()", "dimensions", "chunks.remainder()"];
    over.starts_with('[') || literal_range || bounded.iter().any(|words| over.contains(words))
}

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
        // (a bracket within quotes opens and closes nothing)
        let line = &["'['", "']'", "'('", "')'", "'{'", "'}'"]
            .iter()
            .fold(line.to_string(), |line, quoted| line.replace(quoted, ""))[..];
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
    let is_bounded = |file: &Path| BOUNDED.iter().any(|(bounded, _)| file.starts_with(crates().join(bounded)));
    for file in files.iter().filter(|f| !f.ends_with("tests.rs") && !is_bounded(f)) {
        let text = std::fs::read_to_string(file).expect("a source");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines: Vec<&str> = code.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let start = line.trim_start();
            let Some(behind) = end_of_header(&lines, i) else { continue };
            if has_few_steps(start) || i > 0 && lines[i - 1].trim_start().starts_with("// bounded: ") {
                continue;
            }
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

/// A digest of a large value takes as long as a loop over it: one place looks at requests meanwhile.
#[test]
fn digests_are_made_in_one_place() {
    let mut files = Vec::new();
    for name in ["types", "natives", "objects", "sqli"] {
        sources(&crates().join(name).join("src"), &mut files);
    }
    for file in files.iter().filter(|f| !f.ends_with("natives/src/hashing.rs")) {
        let text = std::fs::read_to_string(file).expect("a source");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let makes = ["chain_update(", "digest.update(", "::digest("].iter().find(|call| code.contains(**call));
        assert_eq!(makes, None, "{}: use natives::hashing", file.display());
    }
}

/// `CancelHandle::work` both interrupts and hands other tasks over; who calls `block_in_place` himself forgets one of them.
#[test]
fn only_one_place_hands_tasks_over() {
    let mut files = Vec::new();
    for name in ["storage", "metadata", "natives", "objects", "engine"] {
        sources(&crates().join(name).join("src"), &mut files);
    }
    for file in files.iter().filter(|f| !f.ends_with("session/execution/work.rs") && !f.ends_with("src/apart.rs")) {
        let text = std::fs::read_to_string(file).expect("a source");
        let calls = text.lines().filter(|l| l.contains("block_in_place(") && !l.trim_start().starts_with("//"));
        assert_eq!(calls.count(), 0, "{}: use CancelHandle::work or apart::apart", file.display());
    }
}
