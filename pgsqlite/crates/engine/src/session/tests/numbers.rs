//! Statements whose answers are whole numbers.

use crate::session::{Execution, Flow, OutputColumn, Row, RowSink, Session};
use pgsqlite_types::codec::Context;
use pgsqlite_types::{DatumRef, PgError, Result};
use std::sync::Arc;

/// Whole numbers of the first column.
#[derive(Default)]
struct Numbers(Vec<i64>);

impl RowSink for Numbers {
    fn columns(&mut self, _: &Arc<[OutputColumn]>) -> Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &dyn Row, _: &Context) -> Result<Flow> {
        match row.value(0) {
            DatumRef::Int(n) => self.0.push(n),
            other => return Err(PgError::internal(format!("{other:?}"))),
        }
        Ok(Flow::Continue)
    }
}

/// Runs the statements of a text up to Sync. Returns the whole numbers of the first column of all rows. Errors: that of the statement
/// that failed, or of the commit.
pub(crate) async fn numbers(session: &mut Session, text: &str) -> Result<Vec<i64>> {
    let mut numbers = Numbers::default();
    let result = async {
        let mut script = session.script(text)?;
        while let Some(execution) = session.execute_script(&mut script, &mut numbers).await? {
            assert!(!matches!(execution, Execution::Paused), "nothing pauses here");
        }
        Ok(())
    }
    .await;
    if result.is_err() {
        session.failed().await;
    }
    session.sync().await?;
    result.map(|()| numbers.0)
}
