//! Tests that replay the recorded files of `tests/sql` in this process, where what is between a statement and its answer can be seen.

mod replay;
mod short;
#[cfg(debug_assertions)]
pub(crate) mod stored_texts;
mod translations;
