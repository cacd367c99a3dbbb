//! Rows of a cursor that are kept: those it can go back to, and those read ahead because the query had to end early.

use pgsqlite_types::{Datum, DatumRef};
use std::collections::VecDeque;

/// How far a cursor can go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum Keep {
    /// not at all: rows are let go when they have been passed (NO SCROLL, portals of the protocol)
    Nothing,
    /// as far as [`RECENT`] bytes reach (neither SCROLL nor NO SCROLL)
    Recent,
    /// to the first row (SCROLL)
    All,
}

/// Memory that a cursor without SCROLL spends on the rows it has passed.
const RECENT: usize = 8 << 20;

pub(in crate::session) struct Spool {
    /// row number `base + 1` and those after it
    rows: VecDeque<Box<[Datum]>>,
    /// rows that were let go
    base: u64,
    bytes: usize,
    pub keep: Keep,
}

/// A row of the spool.
pub(in crate::session) struct Spooled<'a>(pub &'a [Datum]);

impl crate::session::Row for Spooled<'_> {
    fn value(&self, column: usize) -> DatumRef<'_> {
        self.0[column].as_ref()
    }
}

/// About what a row takes; never nothing.
fn size(row: &[Datum]) -> usize {
    16 + row
        .iter()
        .map(|d| {
            std::mem::size_of::<Datum>()
                + match d {
                    Datum::Text(t) => t.len(),
                    Datum::Blob(b) => b.len(),
                    _ => 0,
                }
        })
        .sum::<usize>()
}

impl Spool {
    pub fn new(keep: Keep) -> Spool {
        Spool { rows: VecDeque::new(), base: 0, bytes: 0, keep }
    }

    /// The number of the last row that was read.
    pub fn end(&self) -> u64 {
        self.base + self.rows.len() as u64
    }

    /// Row `number` (from 1), if it is (still) here.
    pub fn get(&self, number: u64) -> Option<&[Datum]> {
        let index = number.checked_sub(self.base + 1)?;
        self.rows.get(usize::try_from(index).ok()?).map(|r| &**r)
    }

    /// Takes out row `number`: those after it move up.
    pub fn remove(&mut self, number: u64) {
        let index = number.checked_sub(self.base + 1).and_then(|i| usize::try_from(i).ok());
        if let Some(row) = index.and_then(|i| self.rows.remove(i)) {
            self.bytes -= size(&row);
        }
    }

    /// The row after `end()`.
    pub fn push(&mut self, row: Box<[Datum]>) {
        self.bytes += size(&row);
        self.rows.push_back(row);
    }

    /// The row after `end()` was given out and is not kept.
    pub fn pass(&mut self) {
        self.base += 1;
    }

    /// The cursor stands on row `position`: rows before it that need not be kept are let go.
    pub fn passed(&mut self, position: u64) {
        let (limit, position) = match self.keep {
            Keep::Nothing => (0, position),
            // the row it stands on can be fetched again
            Keep::Recent => (RECENT, position.saturating_sub(1)),
            Keep::All => return,
        };
        while self.bytes > limit && self.base < position {
            let Some(row) = self.rows.pop_front() else { return };
            self.bytes -= size(&row);
            self.base += 1;
        }
    }
}
