//! The cursors that functions have opened. They belong to the transaction: a function that ends leaves them open, for the functions
//! that called it and, when the statement has ended, for the session, which makes portals of them (`session/execution/function_cursors.rs`).

use super::statement::Column;
use crate::cursor_position::CursorPosition;
use pgsqlite_sql::plan::PlanColumn;
use pgsqlite_types::{Datum, Oid};
use std::collections::HashMap;

/// An open cursor. Its rows were read when it was opened.
pub struct Open {
    pub columns: Vec<Column>,
    /// the same as RowDescription tells them
    pub described: Vec<PlanColumn>,
    /// with the hidden columns of `position` behind the others
    pub rows: Vec<Vec<Datum>>,
    /// the row it stands on: 0 before the first, one more than there are behind the last
    pub at: usize,
    /// None: neither SCROLL nor NO SCROLL
    pub scroll: Option<bool>,
    /// the tables that its rows are of; None: that is not known
    pub position: Option<CursorPosition>,
    /// the tables that the query reads
    pub tables: Vec<Oid>,
    /// the query's text
    pub text: String,
    /// a loop goes over its rows
    pub pinned: bool,
    /// the transaction that it was opened in has ended
    pub held: bool,
    /// counts the cursors that were opened
    serial: u64,
}

impl Open {
    pub fn new(text: String, columns: Vec<Column>, described: Vec<PlanColumn>, rows: Vec<Vec<Datum>>) -> Open {
        let (at, scroll, position, tables) = (0, None, None, vec![]);
        Open { tables, columns, described, rows, at, scroll, position, text, pinned: false, held: false, serial: 0 }
    }

    /// The row of a number from 1, without the hidden columns.
    pub fn row(&self, number: usize) -> Option<Vec<Datum>> {
        let row = self.rows.get(number.checked_sub(1)?)?;
        Some(row[..self.columns.len()].to_vec())
    }
}

/// The cursors by name.
#[derive(Default)]
pub struct Cursors {
    open: HashMap<String, Open>,
    opened: u64,
    /// names that the session's own cursors and portals have
    pub of_session: Vec<String>,
}

impl Cursors {
    pub fn get(&self, name: &str) -> Option<&Open> {
        self.open.get(name)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Open> {
        self.open.get_mut(name)
    }

    /// The tables that the open ones read.
    pub fn tables(&self) -> impl Iterator<Item = Oid> + '_ {
        self.open.values().filter(|open| !open.held).flat_map(|open| open.tables.iter().copied())
    }

    /// Whether the name is a cursor's, of whomever.
    pub fn is_taken(&self, name: &str) -> bool {
        self.open.contains_key(name) || self.is_of_session(name)
    }

    pub fn is_of_session(&self, name: &str) -> bool {
        self.of_session.iter().any(|n| n == name)
    }

    pub fn insert(&mut self, name: String, open: Open) {
        self.opened += 1;
        self.open.insert(name, Open { serial: self.opened, ..open });
    }

    pub fn remove(&mut self, name: &str) -> Option<Open> {
        self.open.remove(name)
    }

    /// How many have been opened: what [`Cursors::close_since`] takes.
    pub fn mark(&self) -> u64 {
        self.opened
    }

    /// What has been done since is undone: those that were opened are closed.
    pub fn close_since(&mut self, mark: u64) {
        self.open.retain(|_, open| open.serial <= mark);
    }

    /// The transaction ends, and they with it. Those of loops are held: their rows are there.
    pub fn end_transaction(&mut self) {
        self.open.retain(|_, open| open.pinned);
        self.open.values_mut().for_each(|open| open.held = true);
    }

    /// A statement begins: what is left over is of one that has failed. (Loops go on where a body has ended the transaction.)
    pub fn begin(&mut self) {
        if !self.open.is_empty() {
            self.open.retain(|_, open| open.pinned);
        }
    }

    /// The statement has ended: takes out those that stay open, in the order in which they were opened.
    pub fn take(&mut self) -> Vec<(String, Open)> {
        if self.open.is_empty() {
            return vec![];
        }
        let (pinned, mut open): (Vec<_>, Vec<_>) = self.open.drain().partition(|(_, open)| open.pinned);
        self.open.extend(pinned);
        open.sort_by_key(|(_, open)| open.serial);
        open
    }
}
