//! Beginning to write while another program has the database locked.

use super::Session;
use crate::patience::pause;
use crate::statistics::activity::Wait;
use pgsqlite_types::{PgError, Result, SqlState};
use std::time::{Duration, Instant};

impl Session {
    /// BEGIN IMMEDIATE, in the writer slot. Other programs that write are waited for as other sessions are. Errors: 55P03 after
    /// lock_timeout, 57014, 57P01.
    pub(super) async fn begin_immediate(&mut self) -> Result<()> {
        if self.connection()?.try_begin_immediate()? {
            return Ok(());
        }
        self.activity.set_wait(Wait::Writer);
        let result = self.wait_for_other_programs().await;
        self.activity.set_wait(Wait::Nothing);
        result
    }

    async fn wait_for_other_programs(&mut self) -> Result<()> {
        let limit = self.gucs.often.lock_timeout;
        let until = (limit > 0).then(|| Instant::now() + Duration::from_millis(limit));
        for attempts in 0.. {
            tokio::select! {
                biased;
                stopped = self.cancel.requested() => return Err(stopped),
                () = tokio::time::sleep(pause(attempts)) => {}
            }
            if self.connection()?.try_begin_immediate()? {
                return Ok(());
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(PgError::new(SqlState::LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout")
                    .detail("Another program has the database file locked."));
            }
        }
        Err(PgError::internal("an endless wait has ended"))
    }
}
