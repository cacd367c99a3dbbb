//! Compiles SQLite's sources, which are those of the crate `libsqlite3-sys`, with the options of `src/options.rs`.

use std::path::PathBuf;
use std::process::Command;

// (its other lists are for the check at start)
#[allow(dead_code)]
#[path = "src/options.rs"]
mod options;

/// What cargo says of the packages that are built together with this one. `offline`: it downloads nothing.
fn metadata(offline: bool) -> Result<serde_json::Value, String> {
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let mut cargo = Command::new(variable("CARGO"));
    cargo.args(["metadata", "--format-version=1", "--filter-platform", &variable("TARGET")]);
    cargo.args(offline.then_some("--offline"));
    let output = cargo.current_dir(variable("CARGO_MANIFEST_DIR")).output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())
}

/// The folder of the crate `libsqlite3-sys`, as cargo has unpacked it. With `cargo install` packages may be missing that only tests
/// need: cargo names no folders without them, and downloads them.
fn bindings() -> PathBuf {
    let metadata = metadata(true).or_else(|_| metadata(false)).unwrap_or_else(|e| panic!("cargo metadata: {e}"));
    let packages = metadata["packages"].as_array().expect("metadata have packages");
    let package = packages.iter().find(|p| p["name"] == "libsqlite3-sys").expect("libsqlite3-sys is a dependency");
    let manifest = package["manifest_path"].as_str().expect("a package has a manifest");
    PathBuf::from(manifest).parent().expect("a manifest is in a folder").to_owned()
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/options.rs");
    println!("cargo:rerun-if-changed=Cargo.toml");
    let source = bindings().join("sqlite3/sqlite3.c");
    println!("cargo:rerun-if-changed={}", source.display());
    let mut build = cc::Build::new();
    build.file(&source).warnings(false);
    for (name, value) in options::DEFINED {
        build.define(name, (!value.is_empty()).then_some(*value));
    }
    build.compile("sqlite3");
}
