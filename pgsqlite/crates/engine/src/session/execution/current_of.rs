//! WHERE CURRENT OF: UPDATE and DELETE of the row that a cursor stands on.
//!
//! A cursor over tables reads the numbers of its rows, too ([`CursorPosition`]). Before a statement with WHERE CURRENT OF runs, the
//! connection's cell is told the row (`udf/statement_rows.rs` `Current`), and the statement asks a native function for it.

use crate::cursor_position::state;
pub(in crate::session) use crate::cursor_position::CursorPosition;
use crate::plans::Prepared;
use crate::session::context::SessionContext;
use crate::session::executor::Executor;
use crate::session::Session;
use pgsqlite_natives::udf::statement_rows::Current;
use pgsqlite_sql::analyze;
use pgsqlite_sql::parse::{NodeEnum, RawStatement};
use pgsqlite_types::{Datum, Oid, PgError, Result};
use std::sync::Arc;

impl SessionContext {
    /// Whether a cursor may leave rows out: it locks them, and the transaction may have changed some.
    pub(in crate::session) fn may_pass_over(&self, cursor_position: &CursorPosition) -> bool {
        cursor_position.locks() && self.transaction.has_positioned_cursors()
    }
}

impl Executor {
    /// A cursor is open: rows that are deleted from now on are gone for it.
    pub(in crate::session) fn watch_position(&mut self, cursor_position: &mut CursorPosition) -> Result<()> {
        if cursor_position.hidden() == 0 || self.connection.is_none() {
            return Ok(());
        }
        let catalog = self.context.catalog();
        let connection = self.connection()?;
        connection.watch_cursor(cursor_position.watched(&catalog));
        cursor_position.since = connection.written().now();
        self.context.transaction.set_positioned_cursors();
        Ok(())
    }

    /// Whether a cursor FOR UPDATE leaves a row out: the transaction itself has changed it since the cursor was opened.
    pub(in crate::session) fn passes_over(&self, cursor_position: &CursorPosition, row: &[Datum]) -> Result<bool> {
        if !self.context.may_pass_over(cursor_position) {
            return Ok(false);
        }
        cursor_position.passes_over(&self.context.catalog(), &self.connection()?.written(), row)
    }

    /// Before a statement with WHERE CURRENT OF: tells the connection which row that is. `tables`: those that the statement may change.
    /// Errors: 34000 (no such cursor), 24000 (it stands on no row of the table).
    pub(in crate::session) fn show_current(&mut self, cursor: &str, tables: &[Oid]) -> Result<()> {
        let row = self.current_row(cursor, tables)?;
        let current = Current { cursor: cursor.to_string(), row };
        self.connection()?.cell.rows.current.replace(Some(current));
        Ok(())
    }

    fn current_row(&self, name: &str, tables: &[Oid]) -> Result<Option<(i64, i64)>> {
        let portal = self.portals.get(name).ok_or_else(|| crate::session::execution::cursor::no_cursor(name))?;
        if portal.is_held() {
            return Err(state(format!("cursor \"{name}\" is held from a previous transaction")));
        }
        if portal.cursor.is_none() {
            return Err(PgError::not_supported("WHERE CURRENT OF a portal that DECLARE has not made"));
        }
        let row = match portal.position {
            0 => None,
            position => portal.spool.get(position),
        };
        portal.cursor_position.current(name, tables, row, &self.context.catalog(), &self.connection()?.written())
    }
}

impl Session {
    /// Where a cursor stands, and its query with the hidden columns (None: it has none). None: its rows are not those of tables.
    pub(in crate::session) fn cursor_position(
        &mut self,
        inner: &Arc<RawStatement>,
        parameters: &[Oid],
    ) -> Result<Option<(CursorPosition, Option<Arc<Prepared>>)>> {
        let NodeEnum::SelectStmt(select) = &inner.node else { return Ok(None) };
        let view = self.executor.context.view();
        let found = CursorPosition::of(select, |schema, name| {
            self.executor
                .context
                .with_environment(&view, |environment| Ok(analyze::find_relation(environment, schema, name)))
        })?;
        let Some((cursor_position, extended)) = found else { return Ok(None) };
        let raw = inner.within(NodeEnum::SelectStmt(Box::new(extended)), "rows");
        match self.plan(&Arc::new(raw), parameters) {
            Ok((plan, _)) => Ok(Some((cursor_position, Some(plan)))),
            Err(error) => Ok(CursorPosition::without_numbers(error)?.map(|position| (position, None))),
        }
    }
}
