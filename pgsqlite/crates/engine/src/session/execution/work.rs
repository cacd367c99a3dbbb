//! Where work of unknown length runs, and what ends it.
//!
//! All that computes for a client goes through [`CancelHandle::work`]: planning, stepping SQLite, functions, DDL, COPY. Requests
//! (cancel, timeout, termination) interrupt SQLite meanwhile, and the natives, loops and statements within see them by
//! `pgsqlite_types::work::tick`.
//!
//! A session is one task of many on a few threads (the server's `own_thread`). Work that is known to last runs in
//! `block_in_place`, which hands the thread's other tasks to another thread; for a query of some microseconds that costs more than
//! the query. So all other work begins on the spot, and when it has lasted for [`ALLOWED`], or announces that it will, the other
//! tasks are handed over in its midst.

use crate::requests::CancelHandle;
use crate::session::context::SessionContext;
use pgsqlite_types::work::{overseen, Overseer};
use pgsqlite_types::{PgError, Result, SqlState};
use rusqlite::InterruptHandle;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Handle, RuntimeFlavor};

/// So long one task may keep the others of its thread waiting.
pub(in crate::session) const ALLOWED: Duration = Duration::from_millis(1);
/// Another thread has taken over the tasks by then, if there is a processor for it.
const MOMENT: Duration = Duration::from_micros(50);

/// On which thread work begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum Begins {
    /// among other tasks, which are handed over when it lasts
    Here,
    /// after the other tasks were handed over
    Apart,
    /// the session's thread has no other tasks
    OwnThread,
}

struct Oversight<'c> {
    cancel: &'c CancelHandle,
    stops_sqlite: bool,
    /// others' tasks wait for the thread
    shared: bool,
    began: Cell<Option<Instant>>,
    handed_over: Cell<u32>,
    /// the work was told that a request ends it
    told: Cell<bool>,
}

impl Overseer for Oversight<'_> {
    fn look(&self, long: bool) -> Result<()> {
        if self.shared {
            let now = Instant::now();
            let began = self.began.get().unwrap_or(now);
            self.began.set(Some(began));
            if long && self.handed_over.get() == 0 || now - began >= ALLOWED {
                self.hand_over();
            }
        }
        let request = self.cancel.check();
        self.told.set(self.told.get() || request.is_err());
        request
    }

    fn stops_sqlite(&self) -> bool {
        self.stops_sqlite
    }

    fn has_savepoints(&self) -> bool {
        self.cancel.has_savepoints()
    }
}

impl Oversight<'_> {
    /// Hands the other tasks of the thread over to another one. That one comes for them while this one sleeps: if it does, this
    /// thread goes on without them; if it does not, because there is no processor for it, this is repeated.
    fn hand_over(&self) {
        let times = self.handed_over.get();
        self.handed_over.set(times + 1);
        hand_over(MOMENT * (1 << times.min(5)));
        // after the first times more seldom
        self.began.set(Some(Instant::now() + ALLOWED * (times * times).min(50)));
    }
}

/// Lets other threads take over this one's tasks, for so long.
fn hand_over(pause: Duration) {
    if Handle::try_current().is_ok_and(|h| h.runtime_flavor() == RuntimeFlavor::MultiThread) {
        tokio::task::block_in_place(|| std::thread::sleep(pause));
    }
}

impl CancelHandle {
    /// Runs work that requests end; see the module. `sqlite`: the connection that it runs on, which requests interrupt. None: there is
    /// none, or SQLite must not be interrupted, because it would take back what others have done, too. Returns whether others'
    /// tasks were handed over meanwhile. Errors: that of a request which has come already.
    pub(in crate::session) fn work_noting<R>(
        &self,
        begins: Begins,
        sqlite: Option<Arc<InterruptHandle>>,
        run: impl FnOnce() -> Result<R>,
    ) -> (Result<R>, bool) {
        struct Disarm<'c>(Option<&'c CancelHandle>);
        impl Drop for Disarm<'_> {
            fn drop(&mut self) {
                if let Some(cancel) = self.0 {
                    cancel.disarm();
                }
            }
        }
        let stops_sqlite = sqlite.is_some();
        let armed = match sqlite {
            Some(handle) => self.arm(handle),
            None => self.check(),
        };
        let _disarm = Disarm(stops_sqlite.then_some(self));
        if let Err(e) = armed {
            return (Err(e), false);
        }
        let oversight = Oversight {
            cancel: self,
            stops_sqlite,
            shared: begins == Begins::Here,
            began: Cell::new(None),
            handed_over: Cell::new(0),
            told: Cell::new(false),
        };
        let result: Result<R> = match begins {
            Begins::Apart => pgsqlite_storage::apart::apart(|| overseen(&oversight, run)),
            Begins::Here | Begins::OwnThread => overseen(&oversight, run),
        };
        let result = result.map_err(|e| self.told(e, oversight.told.get()));
        (result, oversight.handed_over.get() > 0)
    }

    /// SQLite tells only that it was interrupted; the handle knows by what request. `ended`: a request has ended the work, and is told as
    /// such, although the error may be what somebody has made of it.
    fn told(&self, error: PgError, ended: bool) -> PgError {
        match (ended || error.code() == SqlState::QUERY_CANCELED).then(|| self.check()) {
            Some(Err(mut why)) => {
                why.fields_mut().context = error.fields().context.clone();
                why
            }
            _ => error,
        }
    }

    /// As [`CancelHandle::work_noting`].
    pub(in crate::session) fn work<R>(
        &self,
        begins: Begins,
        sqlite: Option<Arc<InterruptHandle>>,
        run: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        self.work_noting(begins, sqlite, run).0
    }

    /// Computes something for a statement outside of the session's own commands, as a front end does that translates its text. Errors:
    /// those of requests.
    pub fn compute<R>(&self, run: impl FnOnce() -> R) -> Result<R> {
        let begun = self.begin();
        let result = self.work(Begins::Here, None, || pgsqlite_types::work::catching(|| Ok(run())));
        if begun {
            self.end();
        }
        result
    }

    /// On a thread of its own that a session's work waits for: the same requests end what runs there.
    pub(in crate::session) fn work_for<R>(&self, run: impl FnOnce() -> R) -> R {
        let oversight = Oversight {
            cancel: self,
            stops_sqlite: true,
            shared: false,
            began: Cell::new(None),
            handed_over: Cell::new(0),
            told: Cell::new(false),
        };
        overseen(&oversight, run)
    }
}

impl SessionContext {
    /// Where work begins that may be over soon.
    pub(in crate::session) fn begins_here(&self) -> Begins {
        match self.own_thread {
            true => Begins::OwnThread,
            false => Begins::Here,
        }
    }
}
