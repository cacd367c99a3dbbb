//! The crates of the workspace use those below them only, and there is no circle of imports among the top modules of any of them. Both are found by
//! reading the manifests and the sources.
//!
//! A top module is a module that the crate's root declares. Module A imports module B where a file of A names a path through the crate's
//! root into B (`crate::B::…`, or as many `super::` as lead to the root). Tests (`#[cfg(test)]`, files named `tests.rs`) do not count.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Modules with the modules that each imports, and the first place where it does.
type Graph = BTreeMap<String, BTreeMap<String, String>>;

/// The node of what a crate's root defines itself.
const ROOT: &str = "(the crate's root)";

/// The folders of the workspace's crates, by the names of their folders. The main crate is `pgsqlite`.
fn crates() -> Vec<(String, PathBuf)> {
    let main = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![("pgsqlite".to_owned(), main.to_path_buf())];
    for folder in [main.join("crates"), main.join("../bench")] {
        for entry in std::fs::read_dir(folder).expect("a folder of crates").flatten() {
            if entry.path().join("Cargo.toml").is_file() {
                found.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
            }
        }
    }
    found.sort();
    found
}

/// The Rust files of a folder and of the folders in it, without tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path).into_iter().filter(|_| !path.ends_with("tests")));
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn tokens_of(file: &Path) -> Vec<TokenTree> {
    let text = std::fs::read_to_string(file).expect("a source");
    let stream: TokenStream = text.parse().unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    stream.into_iter().collect()
}

fn is(token: Option<&TokenTree>, text: &str) -> bool {
    match token {
        Some(TokenTree::Ident(name)) => name == text,
        Some(TokenTree::Punct(mark)) => text.len() == 1 && text.starts_with(mark.as_char()),
        _ => false,
    }
}

fn is_path_separator(tokens: &[TokenTree], at: usize) -> bool {
    is(tokens.get(at), ":") && is(tokens.get(at + 1), ":")
}

/// The first names of the path, or of the braced group of paths, that begins at `at`.
fn first_names(tokens: &[TokenTree], at: usize) -> Vec<(String, Span)> {
    match tokens.get(at) {
        Some(TokenTree::Ident(name)) => vec![(name.to_string(), name.span())],
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            inner.split(|t| is(Some(t), ",")).flat_map(|path| first_names(path, 0)).collect()
        }
        _ => Vec::new(),
    }
}

/// The index behind an item under `#[cfg(test)]` whose attribute begins at `at`; None: no such attribute begins there.
fn behind_test(tokens: &[TokenTree], at: usize) -> Option<usize> {
    let TokenTree::Group(attribute) = tokens.get(at + 1)? else { return None };
    if !is(tokens.get(at), "#") || attribute.stream().to_string().replace(' ', "") != "cfg(test)" {
        return None;
    }
    let ends =
        |t: &TokenTree| is(Some(t), ";") || matches!(t, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace);
    let end = tokens[at + 2..].iter().position(ends)?;
    Some(at + 2 + end + 1)
}

/// Hands over each name that the tokens take from the crate's root. `depth`: how many modules are between them and the root.
fn names_from_root(tokens: &[TokenTree], depth: usize, found: &mut impl FnMut(String, Span)) {
    let mut at = 0;
    while at < tokens.len() {
        if let Some(behind) = behind_test(tokens, at) {
            at = behind;
            continue;
        }
        // `super::` as often as it is written, or `crate::`
        let mut behind = at;
        let mut up = 0;
        while is(tokens.get(behind), "super") && is_path_separator(tokens, behind + 1) {
            behind += 3;
            up += 1;
        }
        if up == 0 && is(tokens.get(at), "crate") && is_path_separator(tokens, at + 1) {
            behind = at + 3;
            up = depth;
        }
        if behind > at {
            if up == depth {
                first_names(tokens, behind).into_iter().for_each(|(name, place)| found(name, place));
            }
            at = behind;
            continue;
        }
        if let TokenTree::Group(group) = &tokens[at] {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            let module = at >= 2 && group.delimiter() == Delimiter::Brace && is(tokens.get(at - 2), "mod");
            names_from_root(&inner, depth + usize::from(module), found);
        }
        at += 1;
    }
}

/// What a crate's root says: its modules, the modules of the names that it hands on, and the modules that its own items use.
#[derive(Default)]
struct Root {
    modules: BTreeSet<String>,
    handed_on: BTreeMap<String, String>,
    uses: BTreeMap<String, String>,
}

/// The last names of a path or a group of paths: those that a `use` brings in.
fn last_names(tokens: &[TokenTree]) -> Vec<String> {
    tokens
        .split(|t| is(Some(t), ","))
        .flat_map(|path| match path.last() {
            Some(TokenTree::Ident(name)) => vec![name.to_string()],
            Some(TokenTree::Group(group)) => last_names(&group.stream().into_iter().collect::<Vec<_>>()),
            _ => Vec::new(),
        })
        .collect()
}

fn read_root(file: &Path, name: &str) -> Root {
    let mut root = Root::default();
    let tokens = tokens_of(file);
    for (i, token) in tokens.iter().enumerate() {
        if let (true, Some(TokenTree::Ident(module))) = (is(Some(token), "mod"), tokens.get(i + 1)) {
            root.modules.insert(module.to_string());
        }
    }
    let mut at = 0;
    while at < tokens.len() {
        if let Some(behind) = behind_test(&tokens, at) {
            at = behind;
            continue;
        }
        if is(tokens.get(at), "use") {
            let end = tokens[at..].iter().position(|t| is(Some(t), ";")).map_or(tokens.len(), |n| at + n);
            if let Some((module, _)) = first_names(&tokens, at + 1).into_iter().find(|(m, _)| root.modules.contains(m))
            {
                last_names(&tokens[at + 1..end]).into_iter().for_each(|name| {
                    root.handed_on.insert(name, module.clone());
                });
            }
            at = end;
            continue;
        }
        paths_of_root(&tokens[at..=at], name, &mut root);
        at += 1;
    }
    root
}

/// Notes the modules that the root's own items name (`module::…`).
fn paths_of_root(tokens: &[TokenTree], file: &str, root: &mut Root) {
    for (i, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => paths_of_root(&group.stream().into_iter().collect::<Vec<_>>(), file, root),
            TokenTree::Ident(name) if root.modules.contains(&name.to_string()) && is_path_separator(tokens, i + 1) => {
                let place = format!("{file}:{}", name.span().start().line);
                root.uses.entry(name.to_string()).or_insert(place);
            }
            _ => {}
        }
    }
}

fn graph_of(krate: &Path) -> Graph {
    let folder = krate.join("src");
    let root_file = ["lib.rs", "main.rs"].map(|f| folder.join(f)).into_iter().find(|f| f.is_file()).expect("a root");
    let shown = |file: &Path| file.strip_prefix(krate).expect("a file of the crate").display().to_string();
    let root = read_root(&root_file, &shown(&root_file));
    let mut graph = Graph::from([(ROOT.to_owned(), root.uses.clone())]);
    for file in sources(&folder)
        .iter()
        .filter(|f| f.parent() != Some(&folder) || !(f.ends_with("lib.rs") || f.ends_with("main.rs")))
    {
        let path = file.strip_prefix(&folder).expect("a file of the folder");
        let top = path.components().next().expect("a name").as_os_str().to_string_lossy();
        let top = top.trim_end_matches(".rs").to_owned();
        // the modules between a file's items and the root: `a.rs` and `a/mod.rs` are one below it
        let depth = path.components().count() - usize::from(path.ends_with("mod.rs"));
        let imports = graph.entry(top.clone()).or_default();
        names_from_root(&tokens_of(file), depth, &mut |name, place| {
            let module = match root.handed_on.get(&name) {
                _ if root.modules.contains(&name) => name.clone(),
                Some(module) => module.clone(),
                None => ROOT.to_owned(),
            };
            if module != top {
                let place = format!("{}:{} (crate::{name})", shown(file), place.start().line);
                imports.entry(module).or_insert(place);
            }
        });
    }
    graph
}

/// The graphs of all crates, read once.
fn graphs() -> &'static BTreeMap<String, Graph> {
    static GRAPHS: OnceLock<BTreeMap<String, Graph>> = OnceLock::new();
    GRAPHS.get_or_init(|| crates().into_iter().map(|(name, folder)| (name, graph_of(&folder))).collect())
}

/// The modules from `from` to `to`, both included, along imports; None: no way leads there.
fn way(graph: &Graph, from: &str, to: &str) -> Option<Vec<String>> {
    let mut came_from = BTreeMap::from([(from.to_owned(), None::<String>)]);
    let mut queue = std::collections::VecDeque::from([from.to_owned()]);
    while let Some(here) = queue.pop_front() {
        if here == to {
            let mut way = vec![here];
            while let Some(Some(before)) = way.last().and_then(|m| came_from.get(m)) {
                way.push(before.clone());
            }
            way.reverse();
            return Some(way);
        }
        for next in graph.get(&here).into_iter().flat_map(BTreeMap::keys) {
            if !came_from.contains_key(next) {
                came_from.insert(next.clone(), Some(here.clone()));
                queue.push_back(next.clone());
            }
        }
    }
    None
}

/// The shortest circle that an import closes, as text: one line for each import in it, with its place.
fn circle(graph: &Graph, from: &str, to: &str) -> Option<String> {
    let mut modules = vec![from.to_owned()];
    modules.extend(way(graph, to, from)?);
    let lines =
        modules.windows(2).map(|pair| format!("    {} imports {}: {}", pair[0], pair[1], graph[&pair[0]][&pair[1]]));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn modules_import_in_no_circle() {
    let mut wrong = Vec::new();
    for (name, graph) in graphs() {
        let mut reported = BTreeSet::new();
        for (from, imports) in graph {
            for to in imports.keys() {
                let Some(text) = circle(graph, from, to) else { continue };
                let mut members = way(graph, to, from).unwrap_or_default();
                members.sort();
                if reported.insert(members) {
                    wrong.push(format!("crate {name}:\n{text}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "circles of imports; one import of each must go:\n{}", wrong.join("\n"));
}

/// The crates from the bottom up, each with those of ours that it uses. ARCHITECTURE.md describes them. A crate uses only those before it.
const CRATES: &[(&str, &[&str])] = &[
    ("memory", &[]),
    ("sqlite", &[]),
    ("wire", &[]),
    ("cluster", &["sqlite"]),
    ("replication", &["cluster"]),
    ("test", &[]),
    ("types", &["memory"]),
    ("sql", &["types"]),
    ("storage", &["memory", "sqlite", "types"]),
    ("metadata", &["sql", "storage", "types"]),
    ("natives", &["memory", "metadata", "sql", "storage", "types"]),
    ("objects", &["metadata", "natives", "sql", "storage", "types"]),
    ("routines", &["metadata", "natives", "objects", "sql", "storage", "types"]),
    ("engine", &["memory", "metadata", "natives", "objects", "routines", "sql", "sqlite", "storage", "types"]),
    (
        "server",
        &[
            "cluster",
            "engine",
            "memory",
            "metadata",
            "natives",
            "objects",
            "replication",
            "sql",
            "storage",
            "types",
            "wire",
        ],
    ),
    ("sqli", &["engine", "memory", "server", "sql", "types"]),
    (
        "pgsqlite",
        &["cluster", "engine", "memory", "replication", "server", "sql", "sqli", "sqlite", "storage", "types"],
    ),
    ("load", &["sqlite"]),
    ("micro", &["engine", "sql", "types", "wire"]),
];

#[test]
fn crates_use_those_below_them_only() {
    let mut known = BTreeSet::new();
    for (name, uses) in CRATES {
        assert!(known.insert(*name), "{name} is in the list twice");
        for used in *uses {
            assert!(known.contains(used) && used != name, "{name} uses {used}, which is not below it");
        }
    }
    let folders = crates();
    assert_eq!(folders.iter().map(|(name, _)| name.as_str()).collect::<BTreeSet<_>>(), known, "the crates in the list");
    for (name, folder) in &folders {
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        // (what the workspace names is there for any crate that uses it)
        let mut section = "";
        let own = text.lines().filter(|line| {
            section = if line.starts_with('[') { line } else { section };
            !section.starts_with("[workspace")
        });
        let used: BTreeSet<&str> =
            own.filter_map(|l| l.strip_prefix("pgsqlite-")?.split([' ', '.', '=']).next()).collect();
        let (_, listed) = CRATES.iter().find(|(n, _)| n == name).expect("a crate of the list");
        assert_eq!(used, listed.iter().copied().collect(), "what {name} uses; add only a crate that is below it");
    }
}

#[test]
fn imports_are_found_in_every_form() {
    let text = "use crate::a::X; use crate::{b::{self, Y}, c}; use super::super::d; use super::own;
        fn f() { crate::e::g(); let s = \"crate::no\"; /* crate::no */ vec![crate::f::H] }
        mod inner { use super::super::super::g; use super::super::no; }
        #[cfg(test)] mod tests { use crate::no; } pub(crate) fn h() {}";
    let tokens: Vec<TokenTree> = text.parse::<TokenStream>().expect("tokens").into_iter().collect();
    let mut names = Vec::new();
    names_from_root(&tokens, 2, &mut |name, _| names.push(name));
    assert_eq!(names, ["a", "b", "c", "d", "e", "f", "g"]);
}
