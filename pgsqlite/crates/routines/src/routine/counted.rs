//! Counts calls of functions and their times, as `track_functions` says (pg_stat_user_functions).

use super::Host;
use pgsqlite_natives::settings::TracksFunctions;
use pgsqlite_natives::udf::session_cell::ServerFunctions;
use pgsqlite_sql::routine::{Function, Language};
use pgsqlite_types::Oid;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A call that is counted when it has ended.
pub(super) struct Counted {
    server: Arc<dyn ServerFunctions>,
    function: Oid,
    began: Instant,
    /// the function's time before: of calls within this one, this one's time counts alone
    total: Duration,
    /// the time of all calls that were counted before
    all: Duration,
}

impl Counted {
    /// The function is about to be called. None: that is not counted.
    pub fn begin(host: Host, f: &Function) -> Option<Counted> {
        let server = host.cell.state().server.clone()?;
        match server.tracks_functions() {
            TracksFunctions::None => return None,
            TracksFunctions::Procedural if f.language != Language::PlPgSql => return None,
            TracksFunctions::Procedural | TracksFunctions::All => {}
        }
        let total = server.function_begins(f.oid);
        let all = host.routines().counted_time.get();
        Some(Counted { server, function: f.oid, began: Instant::now(), total, all })
    }

    /// It has returned. (What fails is not counted.)
    pub fn end(self, host: Host) {
        let took = self.began.elapsed();
        let within = host.routines().counted_time.replace(self.all + took) - self.all;
        self.server.function_called(self.function, self.total + took, took.saturating_sub(within));
    }
}
