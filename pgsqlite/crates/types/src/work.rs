//! What a long computation asks again and again: may it go on?
//!
//! A native function, a regular expression, the analysis of a statement and SQLite itself run for as long as their input is large.
//! Whoever begins such work puts an [`Overseer`] over the thread ([`overseen`]), and each loop over data of the user's size calls
//! [`tick`]. After every [`PER_LOOK`] steps the overseer looks whether the statement is to end, and whether the thread is needed
//! by others. Where nobody oversees the thread a tick does nothing.
//!
//! What can give no error (a comparison, a printer) calls [`pulse`] instead: it unwinds to the [`catching`] around the native, which
//! makes an error of that. There is no unwinding through SQLite: whatever SQLite calls is itself caught, or [`sheltered`].

use crate::{memory, PgError, Result};
use std::any::Any;
use std::cell::Cell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::NonNull;

/// So many steps pass between two looks. A step is some nanoseconds: comparing or copying a few bytes.
pub const PER_LOOK: usize = 4096;
/// What is announced to take this many steps at once may take a millisecond.
pub const LONG: usize = 1 << 17;
/// Pieces in which large texts are copied and read between two ticks. (Miri is too slow for the large ones.)
pub const PIECE: usize = if cfg!(miri) { 64 } else { 1 << 16 };

/// Who decides whether the thread's work goes on.
pub trait Overseer {
    /// Called from time to time. `long`: the next step may take long. Errors: the one with which the work is to end (57014, 57P01).
    fn look(&self, long: bool) -> Result<()>;
    /// Whether SQLite itself may be stopped in the midst of a statement, too.
    fn stops_sqlite(&self) -> bool;
    /// Whether the transaction has savepoints to go back to. SQLite gives up all of it where memory is refused, even to a statement that reads.
    fn has_savepoints(&self) -> bool;
}

thread_local! {
    static LEFT: Cell<usize> = const { Cell::new(PER_LOOK) };
    static PRESENT: Cell<Option<NonNull<dyn Overseer>>> = const { Cell::new(None) };
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Runs with this overseer over the thread; the one before comes back afterwards.
pub fn overseen<R>(overseer: &dyn Overseer, run: impl FnOnce() -> R) -> R {
    struct Restore(Option<NonNull<dyn Overseer>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            PRESENT.set(self.0);
        }
    }
    // SAFETY: only the lifetime is left out. The pointer is gone from the thread when this function returns or unwinds, and the
    // reference outlives that.
    let overseer: NonNull<dyn Overseer + 'static> = unsafe { std::mem::transmute(NonNull::from(overseer)) };
    let _restore = Restore(PRESENT.replace(Some(overseer)));
    run()
}

/// So many steps are about to be made. Errors: that of the request that the statement ends.
#[inline]
pub fn tick(steps: usize) -> Result<()> {
    let left = LEFT.get();
    if left > steps {
        LEFT.set(left - steps);
        return Ok(());
    }
    LEFT.set(PER_LOOK);
    look(steps >= LONG)
}

/// So many bytes are about to be made or read: as [`tick`] with the steps that this takes. What makes a large value calls it before.
/// Errors: also 53200 where so much would pass the server's memory limit.
#[inline]
pub fn room(bytes: usize) -> Result<()> {
    if bytes >= PIECE {
        pgsqlite_memory::reserve(bytes).map_err(memory::out_of_memory)?;
    }
    tick(bytes / 8)
}

/// Makes place for `more` bytes at the end of a text that grows, with the [`room`] that its new buffer takes.
fn grow(out: &mut String, more: usize) -> Result<()> {
    if out.capacity() - out.len() < more {
        let capacity = (out.len() + more).max(2 * out.capacity());
        if capacity >= PIECE {
            pgsqlite_memory::reserve(capacity).map_err(memory::out_of_memory)?;
        }
        out.reserve(more);
    }
    Ok(())
}

/// Looks at once: at the server's memory limit (53200), and at what the overseer knows.
#[cold]
pub fn look(long: bool) -> Result<()> {
    memory::check()?;
    match PRESENT.get() {
        // SAFETY: whoever put it there is still within `overseen`, on this thread.
        Some(overseer) => unsafe { overseer.as_ref() }.look(long),
        None => Ok(()),
    }
}

/// For SQLite's progress handler: looks at once. Returns whether SQLite is to stop.
pub fn stops_sqlite() -> bool {
    requested_where(|overseer| overseer.stops_sqlite())
}

/// For SQLite's allocator: looks at once. Returns whether it is to refuse memory, so that SQLite stops.
pub fn refuses_memory() -> bool {
    requested_where(|overseer| overseer.stops_sqlite() && !overseer.has_savepoints())
}

fn requested_where(stops: impl FnOnce(&dyn Overseer) -> bool) -> bool {
    match PRESENT.get() {
        Some(overseer) => {
            // SAFETY: as above.
            let overseer = unsafe { overseer.as_ref() };
            overseer.look(false).is_err() && stops(overseer)
        }
        None => false,
    }
}

/// As [`tick`] where no error can be given: the request unwinds to [`catching`]. Outside of that it is left for later.
#[inline]
pub fn pulse(steps: usize) {
    if let Err(error) = tick(steps) {
        if CATCHING.get() {
            resume_unwind(Box::new(error));
        }
    }
}

/// An object of the catalog, an item of a list, or a part of a definition is about to be visited, which takes longer than a [`pulse`] of
/// one step: some hundred nanoseconds.
#[inline]
pub fn visit() {
    pulse(64);
}

fn with_catching<R>(catching: bool, run: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            CATCHING.set(self.0);
        }
    }
    let _restore = Restore(CATCHING.replace(catching));
    run()
}

/// Runs with requests caught that a [`pulse`] meets. Errors: those of the requests, of the work itself, and XX000 for a panic.
pub fn catching<R>(run: impl FnOnce() -> Result<R>) -> Result<R> {
    let caught = catch_unwind(AssertUnwindSafe(|| with_catching(true, run)));
    caught.unwrap_or_else(|payload: Box<dyn Any + Send>| match payload.downcast::<PgError>() {
        Ok(error) => Err(*error),
        Err(_) => Err(PgError::internal("a function or a command panicked")),
    })
}

/// Runs what must come to its end, or must not unwind: a [`pulse`] within leaves requests for later.
pub fn sheltered<R>(run: impl FnOnce() -> R) -> R {
    with_catching(false, run)
}

/// Items of an iterator with a [`tick`] before each.
pub trait Ticking: Iterator + Sized {
    /// `steps`: what one item takes.
    fn ticking(self, steps: usize) -> impl Iterator<Item = Result<Self::Item>> {
        self.map(move |item| tick(steps).map(|()| item))
    }

    /// The same with a [`pulse`]: where the items go to what gives no error.
    fn pulsing(self) -> impl Iterator<Item = Self::Item> {
        self.inspect(|_| pulse(1))
    }
}

impl<I: Iterator> Ticking for I {}

/// As `text.repeat(n)`, in pieces.
pub fn repeated(text: &str, n: usize) -> Result<String> {
    let mut out = String::new();
    append_repeated(&mut out, text, n)?;
    Ok(out)
}

/// Appends what [`repeated`] returns.
pub fn append_repeated(out: &mut String, text: &str, n: usize) -> Result<()> {
    let length = text.len().saturating_mul(n);
    room(out.len().saturating_add(length))?;
    out.reserve(length);
    // a piece of many at a time, where the text is short
    let many = (PIECE / text.len().max(1)).clamp(1, n.max(1));
    let piece = text.repeat(if many > 1 { many } else { 1 });
    let mut left = if text.is_empty() { 0 } else { n };
    while left > 0 {
        let now = left.min(many);
        append(out, &piece[..now * text.len()])?;
        left -= now;
    }
    Ok(())
}

/// As `text.replace(from, to)`, for a `from` that is not empty.
pub fn replaced(text: &str, from: &str, to: &str) -> Result<String> {
    let (mut out, mut copied) = (String::new(), 0);
    for (at, part) in matches(text, from) {
        append(&mut out, &text[copied..at])?;
        append(&mut out, to)?;
        copied = at + part.len();
        tick(4)?;
    }
    append(&mut out, &text[copied..])?;
    Ok(out)
}

/// As `text.match_indices(part)`, with pulses in what lies between the matches, too.
pub fn matches<'t>(text: &'t str, part: &'t str) -> impl Iterator<Item = (usize, &'t str)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        while from < text.len() {
            // the next piece, and as much behind it as a match that begins in it takes
            let mut end = (from + PIECE.max(part.len())).min(text.len());
            while !text.is_char_boundary(end) {
                end += 1;
            }
            let mut reach = (end + part.len()).min(text.len());
            while !text.is_char_boundary(reach) {
                reach += 1;
            }
            pulse((reach - from) / 8);
            match text[from..reach].find(part) {
                Some(at) => {
                    let at = from + at;
                    from = at + part.len();
                    return Some((at, part));
                }
                None => from = end,
            }
        }
        None
    })
}

/// Appends a text in pieces, with ticks between.
pub fn append(out: &mut String, text: &str) -> Result<()> {
    if text.len() <= PIECE {
        tick(text.len() / 16 + 1)?;
        grow(out, text.len())?;
        out.push_str(text);
        return Ok(());
    }
    grow(out, text.len())?;
    for piece in pieces(text) {
        tick(piece.len() / 16)?;
        out.push_str(piece);
    }
    Ok(())
}

/// A text in pieces of about [`PIECE`] bytes, none of which divides a character.
pub fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = PIECE.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PgError, SqlState};

    struct Strict(Cell<usize>);
    impl Overseer for Strict {
        fn look(&self, _: bool) -> Result<()> {
            self.0.set(self.0.get() + 1);
            Err(PgError::new(SqlState::QUERY_CANCELED, "enough"))
        }
        fn stops_sqlite(&self) -> bool {
            false
        }
        fn has_savepoints(&self) -> bool {
            false
        }
    }

    #[test]
    fn the_overseer_is_asked_every_so_many_steps_and_only_while_it_is_there() {
        assert!((0..10 * PER_LOOK).try_for_each(|_| tick(1)).is_ok());
        let strict = Strict(Cell::new(0));
        let error = overseen(&strict, || (0..2 * PER_LOOK).try_for_each(|_| tick(1)));
        assert_eq!(error.unwrap_err().code(), SqlState::QUERY_CANCELED);
        assert_eq!(strict.0.get(), 1);
        // asked, but SQLite goes on
        assert!(!overseen(&strict, stops_sqlite));
        assert_eq!(strict.0.get(), 2);
        assert!(tick(10 * LONG).is_ok());
    }

    #[test]
    fn a_pulse_unwinds_to_what_catches_it_and_nowhere_else() {
        let strict = Strict(Cell::new(0));
        let endless = || -> Result<()> {
            (0..2 * PER_LOOK).for_each(|_| pulse(1));
            Ok(())
        };
        overseen(&strict, || {
            assert_eq!(catching(endless).unwrap_err().code(), SqlState::QUERY_CANCELED);
            assert!(endless().is_ok());
            assert!(catching(|| sheltered(endless)).is_ok());
        });
        assert!(catching(endless).is_ok());
    }

    #[test]
    fn pieces_keep_characters_whole() {
        let text = "aü€".repeat(PIECE);
        let mut out = String::new();
        append(&mut out, &text).unwrap();
        assert_eq!(out, text);
        assert!(pieces(&text).all(|p| p.len() <= PIECE + 3));
        assert_eq!(repeated("aü€", PIECE).unwrap(), text.clone());
        assert_eq!(repeated("", 5).unwrap(), String::new());
        assert_eq!(repeated("x", 0).unwrap(), String::new());
        assert_eq!(repeated(&text, 2).unwrap(), text.repeat(2));
        assert_eq!(replaced(&text, "ü", "--").unwrap(), text.replace('ü', "--"));
        // matches across the edges of pieces, and those that overlap
        for n in [PIECE - 3, PIECE - 1, PIECE, PIECE + 1] {
            let text = format!("{}{}{}", "a".repeat(n), "ba€€ab".repeat(3), "a".repeat(2 * PIECE));
            for part in ["ab", "ba€", "€€", "aba", "aa", "zz"] {
                let expected: Vec<_> = text.match_indices(part).collect();
                assert_eq!(matches(&text, part).collect::<Vec<_>>(), expected, "{n} {part}");
            }
        }
    }
}
