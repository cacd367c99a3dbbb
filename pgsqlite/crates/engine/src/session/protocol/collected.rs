//! The rows of a statement that is no query (SHOW, EXPLAIN, FETCH, EXECUTE, CALL) for a client that takes some at a time: the first Execute
//! carries the statement out and collects them, as in PostgreSQL; each gives as many as its limit says.

use crate::plans::Prepared;
use crate::session::context::SessionContext;
use crate::session::execution::portal::Portal;
use crate::session::execution::spool::Spooled;
use crate::session::{Execution, Flow, OutputColumn, Row, RowSink, Session};
use pgsqlite_types::codec::Context;
use pgsqlite_types::{Datum, PgError, Result};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a statement has given, as far as the client has not taken it.
#[derive(Default)]
pub(in crate::session) struct Collected {
    columns: usize,
    rows: VecDeque<Box<[Datum]>>,
    tag: String,
    /// rows given before the sink asked to pause
    paused: u64,
}

impl RowSink for Collected {
    fn columns(&mut self, columns: &Arc<[OutputColumn]>) -> Result<()> {
        self.columns = columns.len();
        Ok(())
    }
    fn row(&mut self, row: &dyn Row, _context: &Context) -> Result<Flow> {
        self.rows.push_back((0..self.columns).map(|i| row.value(i).to_owned()).collect());
        Ok(Flow::Continue)
    }
}

impl SessionContext {
    /// Gives the next rows, at most `most`. The tag counts those of this call.
    pub(in crate::session) fn give_collected(
        &mut self,
        collected: &mut Collected,
        most: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Execution> {
        let view = self.view();
        let context = Context { settings: &self.gucs.typed, names: &*view };
        let mut given = std::mem::take(&mut collected.paused);
        while most == 0 || given < most {
            let Some(row) = collected.rows.pop_front() else {
                return Ok(Execution::Complete(counting(&collected.tag, given)));
            };
            let flow = sink.row(&Spooled(&row), &context)?;
            given += 1;
            if flow == Flow::Pause {
                collected.paused = given;
                return Ok(Execution::Paused);
            }
        }
        Ok(Execution::Suspended)
    }
}

impl Session {
    /// Carries the statement of a portal out.
    pub(in crate::session) async fn collect(
        &mut self,
        prepared: &Arc<Prepared>,
        portal: &mut Portal,
    ) -> Result<Collected> {
        let mut collected = Collected::default();
        match self.run_utility(prepared, portal, &mut collected).await? {
            Execution::Complete(tag) => Ok(Collected { tag, ..collected }),
            other => Err(PgError::internal(format!("a statement whose rows were collected is {other:?}"))),
        }
    }
}

/// A tag with another number of rows, if it says one.
fn counting(tag: &str, rows: u64) -> String {
    match tag.rsplit_once(' ') {
        Some((what, number)) if number.bytes().all(|b| b.is_ascii_digit()) => format!("{what} {rows}"),
        _ => tag.to_string(),
    }
}
