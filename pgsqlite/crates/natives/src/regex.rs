//! PostgreSQL's regular expressions outside of SQL, as its configuration files have them.

use crate::udf::pattern;
use pgsqlite_types::Result;

/// Whether a text is a regular expression. Errors: 2201B.
pub fn check(expression: &str) -> Result<()> {
    pattern::parts_of_first_match(expression, "").map(|_| ())
}

/// The first match in a text, and its parts (None: one that took no part in it); None: there is no match. Errors: 2201B.
pub fn parts(expression: &str, text: &str) -> Result<Option<Vec<Option<String>>>> {
    pattern::parts_of_first_match(expression, text)
}
