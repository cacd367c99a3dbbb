//! SQLite, compiled with the options that pgsqlite needs.
//!
//! The build script compiles the sources that the crate `libsqlite3-sys` brings. Its own build takes options from the environment
//! alone (`LIBSQLITE3_FLAGS`), which only a caller of cargo can set: a build from another folder, or by `cargo install`, would have
//! another SQLite, and nobody would notice. So that crate gives the bindings only, and the options are here ([`options`]).

pub mod options;

use std::ffi::CString;

/// Checks that the SQLite of this process was compiled with the options of [`options`]. Errors: the options that differ.
pub fn check() -> Result<(), String> {
    let has = |option: &str| {
        let name = CString::new(option).unwrap_or_default();
        // SAFETY: a string that ends with a null byte and is not kept.
        unsafe { libsqlite3_sys::sqlite3_compileoption_used(name.as_ptr()) != 0 }
    };
    let reported = |(name, _): &&(&str, &str)| !options::UNREPORTED.contains(name);
    let missing = options::DEFINED.iter().filter(reported).map(|(name, value)| {
        match value.is_empty() || options::REPORTED_BARE.contains(name) {
            true => (*name).to_owned(),
            false => format!("{name}={value}"),
        }
    });
    let missing = missing.filter(|option| !has(option)).map(|option| format!("{option} is missing"));
    let unwanted = options::OFF.iter().filter(|name| has(name)).map(|name| format!("{name} is set"));
    let wrong: Vec<String> = missing.chain(unwanted).collect();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_options_are_those_of_the_library() {
        assert_eq!(super::check(), Ok(()));
    }
}
