//! Statements whose texts are long.
//!
//! The grammar is a C library's, which looks at no request and allocates what nobody counts. So a text longer than [`LONG`] is parsed on
//! a thread of its own. Its session waits for that thread, and leaves it behind when a request ends the statement: what it parses is
//! thrown away. At most [`MOST`] such threads are at work; other long texts wait for their turn. The memory that a parse tree takes is
//! held of the server's limit meanwhile, as an estimate.

use pgsqlite_memory::Held;
use pgsqlite_types::{memory, work, PgError, Result};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{sync_channel, RecvTimeoutError};
use std::time::Duration;

/// Parsing a shorter text takes some milliseconds at most.
pub(in crate::session) const LONG: usize = 64 << 10;
/// Long texts that are parsed at the same time.
const MOST: usize = 2;
/// How often a session that waits looks at requests.
const LOOK: Duration = Duration::from_millis(5);
/// What the trees of a token take: libpg_query's, its serialized form, and ours.
const PER_TOKEN: usize = 400;

static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// The turn of a long text.
struct Turn(#[allow(dead_code)] Held);

impl Turn {
    /// Waits for a turn. Errors: those of requests; 53200.
    fn take(text: &str) -> Result<Turn> {
        let tokens = count_tokens(text)?;
        loop {
            let taken = AT_WORK.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| (n < MOST).then_some(n + 1));
            if taken.is_ok() {
                break;
            }
            std::thread::sleep(LOOK);
            work::look(false)?;
        }
        match pgsqlite_memory::hold(tokens.saturating_mul(PER_TOKEN)) {
            Ok(held) => Ok(Turn(held)),
            Err(exceeded) => {
                AT_WORK.fetch_sub(1, Ordering::AcqRel);
                Err(memory::out_of_memory(exceeded))
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::AcqRel);
    }
}

/// About as many tokens as a text has: words, and other characters that are not blank. A quoted piece is one.
fn count_tokens(text: &str) -> Result<usize> {
    let (mut tokens, mut quote, mut in_word) = (0, None, false);
    for piece in work::pieces(text) {
        work::tick(piece.len())?;
        for b in piece.bytes() {
            match quote {
                Some(end) if b == end => quote = None,
                Some(_) => continue,
                None if matches!(b, b'\'' | b'"') => {
                    quote = Some(b);
                    tokens += 1;
                }
                None => {
                    let word = b.is_ascii_alphanumeric() || matches!(b, b'_' | 0x80..);
                    tokens += usize::from(!(b.is_ascii_whitespace() || word && in_word));
                    in_word = word;
                }
            }
        }
    }
    Ok(tokens)
}

/// Reads a long text on a thread of its own. To be called where requests are looked at, and where others' tasks do not wait for the
/// thread. Errors: those of the reading, of requests, 53200.
pub(in crate::session) fn read<R: Send + 'static>(
    text: &str,
    read: impl FnOnce(&str) -> Result<R> + Send + 'static,
) -> Result<R> {
    let turn = Turn::take(text)?;
    work::room(text.len())?;
    let text = text.to_string();
    let (tell, told) = sync_channel(1);
    let parse = move || {
        let result = read(&text);
        drop(turn);
        // nobody waits for it any more where a request has ended the statement
        drop(tell.send(result));
        pgsqlite_memory::flush_thread();
    };
    let thread = std::thread::Builder::new().name("long-text".into()).spawn(parse);
    thread.map_err(|e| PgError::no_resources(format!("could not start a thread for a long text: {e}")))?;
    loop {
        match told.recv_timeout(LOOK) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) => work::look(false)?,
            Err(RecvTimeoutError::Disconnected) => return Err(PgError::internal("the parser of a long text panicked")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_about_right() {
        for (text, tokens) in [("SELECT 1, 'a b''c', \"x y\" FROM t", 9), ("", 0), ("  ", 0), ("a+b", 3)] {
            assert_eq!(count_tokens(text).unwrap(), tokens, "{text}");
        }
    }

    #[test]
    fn turns_come_back() {
        for i in 0..3 * MOST {
            assert_eq!(read("SELECT 1", move |t| Ok(t.len() + i)).unwrap(), 8 + i);
        }
        assert!(read("x", |_| Err::<(), _>(PgError::internal("wrong"))).is_err());
        assert!(read("x", |_| Ok(())).is_ok());
    }
}
