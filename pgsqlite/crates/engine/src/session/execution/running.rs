//! The statement that runs: when it begins and ends, requests to end it count, and the clocks of `statement_timeout`,
//! `transaction_timeout` and `client_connection_check_interval` go.

use crate::session::context::SessionContext;
use crate::session::executor::Executor;
use crate::session::transaction::state::Limit;
use crate::session::Session;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

impl SessionContext {
    /// A portal is executed: cancel requests count, statement_timeout runs. Again after a pause, or in a query string: it goes on.
    pub(in crate::session) fn begin_running(&mut self) {
        if self.cancel.begin() || std::mem::take(&mut self.began_early) {
            self.begin_observed(self.source.clone());
            self.forget_earlier();
        }
        self.limit();
    }

    /// A statement of a query string begins, as [`SessionContext::begin_running`]; that the string came is told already.
    pub(in crate::session) fn begin_running_script(&mut self) {
        self.cancel.begin();
        self.forget_earlier();
        self.limit();
    }

    /// What an earlier statement has noted is not what came before the one that begins. (One that goes on keeps what it has noted.)
    fn forget_earlier(&mut self) {
        self.transaction.set_before_statement(None);
    }

    /// What ends the statement is known: its time, and what may not be lost with it.
    fn limit(&mut self) {
        self.cancel.note_savepoints(!self.transaction.savepoints().is_empty());
        self.limit_time();
    }

    /// From now on `transaction_timeout` ends the transaction and the session with it. The clock of a transaction that has one goes on.
    pub(in crate::session) fn limit_transaction(&mut self) {
        static LAST: AtomicU64 = AtomicU64::new(0);
        match (self.gucs.often.transaction_timeout, self.transaction.limit()) {
            (0, None) => {}
            (0, Some(_)) => self.transaction.set_limit(None),
            (_, Some(number)) if self.cancel.ends_transaction(number) => self.cancel.end_transaction(number),
            (_, Some(_)) => {}
            (timeout, None) => {
                let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
                let cancel = self.cancel.clone();
                let clock = tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(timeout)).await;
                    cancel.end_transaction(number);
                });
                self.transaction.set_limit(Some(Limit { number, clock }));
            }
        }
    }

    /// From now on `statement_timeout` and `client_connection_check_interval` end what runs.
    pub(in crate::session) fn limit_time(&mut self) {
        self.limit_transaction();
        let (timeout, check) = (self.gucs.often.statement_timeout, self.gucs.often.client_connection_check_interval);
        if timeout == 0 && check == 0 || self.timer.is_some() {
            return;
        }
        let (cancel, client) = (self.cancel.clone(), self.server.client_watch().filter(|_| check > 0));
        let over = async move {
            match timeout {
                0 => std::future::pending().await,
                timeout => tokio::time::sleep(Duration::from_millis(timeout)).await,
            }
        };
        let gone = async move {
            let Some(client) = client else { return std::future::pending().await };
            tokio::time::sleep(Duration::from_millis(check)).await;
            client.gone().await;
        };
        self.timer = Some(tokio::spawn(async move {
            tokio::select! {
                biased;
                () = over => cancel.time_out(),
                () = gone => cancel.lose_client(),
            }
        }));
    }

    pub(in crate::session) fn end_running(&mut self) {
        self.cancel.end();
        self.began_early = false;
        if let Some(timer) = self.timer.take() {
            timer.abort();
        }
    }
}

/// Runs what a message computes outside of a statement's execution: cancel requests and `statement_timeout` end it as they end a statement.
/// `whole` is what `run` works on: a session, or a part of it that has the context.
pub(in crate::session) fn while_requests_count<W: AsMut<SessionContext>, R>(
    whole: &mut W,
    run: impl FnOnce(&mut W) -> R,
) -> R {
    let begins = whole.as_mut().cancel.begin();
    if begins {
        whole.as_mut().limit_time();
    }
    let result = run(whole);
    if begins {
        whole.as_mut().end_running();
    }
    result
}

impl AsMut<SessionContext> for SessionContext {
    fn as_mut(&mut self) -> &mut SessionContext {
        self
    }
}

impl AsMut<SessionContext> for Executor {
    fn as_mut(&mut self) -> &mut SessionContext {
        &mut self.context
    }
}

impl AsMut<SessionContext> for Session {
    fn as_mut(&mut self) -> &mut SessionContext {
        &mut self.executor.context
    }
}
