//! Tests that replay the recorded files of `tests/sql` in this process, where what is between a statement and its answer can be seen, and
//! what tests of other modules share.

mod numbers;
mod replay;
mod short;
#[cfg(debug_assertions)]
pub(crate) mod stored_texts;
mod translations;

pub(crate) use numbers::numbers;
