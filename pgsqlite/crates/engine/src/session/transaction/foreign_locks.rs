//! Beginning to write while another program has the database locked.

use crate::connection::Connection;
use crate::session::executor::Executor;
use pgsqlite_natives::statistics::activity::Wait;
use pgsqlite_storage::connection::patience::pause;
use pgsqlite_types::{PgError, Result, SqlState};

impl Executor {
    /// In the writer slot: BEGIN IMMEDIATE, or, in a transaction that has changed temporary tables alone ([`crate::session::transaction::private`]), the write
    /// lock on the newest snapshot. Other programs that write are waited for as other sessions are: the wait ends with what ends any
    /// other ([`crate::session::transaction::waiting`]). Errors: 55P03 after lock_timeout, 57014, 57P01, 08006.
    pub(in crate::session) async fn begin_immediate(&mut self) -> Result<()> {
        let (engine, goes_on) = (self.context.engine.clone(), self.context.transaction.is_in_sqlite());
        let attempt = move |connection: &Connection| match goes_on {
            false => connection.try_begin_immediate(),
            true => engine.renew_snapshot(connection).and_then(|()| connection.try_write_lock()),
        };
        if attempt(self.connection()?)? {
            return Ok(());
        }
        let (server, limits) = (self.context.server.clone(), self.context.limits());
        let connection = self.connection.as_mut().ok_or_else(|| PgError::internal("no connection"))?;
        let begun = async move {
            for attempts in 0.. {
                tokio::time::sleep(pause(attempts)).await;
                if attempt(connection)? {
                    break;
                }
            }
            Ok(())
        };
        server.wait(Wait::OtherProgram, limits, begun).await.map_err(|e| match e.code() {
            SqlState::LOCK_NOT_AVAILABLE => e.detail("Another program has the database file locked."),
            _ => e,
        })
    }
}
