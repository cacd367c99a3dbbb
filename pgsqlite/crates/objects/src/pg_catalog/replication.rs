//! pg_stat_replication and pg_stat_wal_receiver: the two ends of the connections over which standbys follow.

use super::cumulative_statistics::{may_see, optional_time, statistics};
use super::{int, text, Rows};
use pgsqlite_natives::udf::session_cell::SessionState;
use pgsqlite_sql::acl;
use pgsqlite_types::datetime::Interval;
use pgsqlite_types::transaction_ids::lsn_text;
use pgsqlite_types::{work, Datum};
use std::sync::atomic::Ordering;

/// A place in the log; 0: none is known.
fn place(lsn: u64) -> Datum {
    match lsn {
        0 => Datum::Null,
        lsn => text(lsn_text(lsn)),
    }
}

fn lag(micros: Option<i64>) -> Datum {
    micros.map_or(Datum::Null, |micros| text(Interval { months: 0, days: 0, micros }.to_storage()))
}

/// Whether the session may see more of such connections than that they are there.
fn may_see_all(state: &SessionState) -> bool {
    let catalog = &state.catalog;
    acl::is_superuser(catalog, state.user_oid)
        || catalog.roles.is_empty()
        || acl::inherits(catalog, state.user_oid, "pg_read_all_stats")
}

/// The standbys that follow the session's database. (Each database has a log of its own.)
pub(super) fn senders(rows: &mut Rows, state: &SessionState) {
    let Some(statistics) = statistics(state) else { return };
    for sender in statistics.senders.all() {
        work::visit();
        if sender.database != state.catalog.database {
            continue;
        }
        let mut row = vec![
            ("pid", int(sender.pid)),
            ("usesysid", int(sender.user_oid)),
            ("usename", text(&*sender.user)),
            ("application_name", text(&*sender.application_name)),
        ];
        if may_see(state, sender.user_oid) {
            row.extend([
                ("client_addr", sender.client.map(|a| a.ip().to_string()).into()),
                ("client_port", int(sender.client.map_or(-1, |a| i64::from(a.port())))),
                ("backend_start", optional_time(Some(sender.started))),
            ]);
        }
        if may_see_all(state) {
            let sent = sender.progress();
            row.extend([
                ("state", text(sent.phase.name())),
                ("sent_lsn", place(sent.sent)),
                ("write_lsn", place(sent.written)),
                ("flush_lsn", place(sent.flushed)),
                ("replay_lsn", place(sent.replayed)),
                ("write_lag", lag(sent.write_lag)),
                ("flush_lag", lag(sent.flush_lag)),
                ("replay_lag", lag(sent.replay_lag)),
                ("sync_priority", int(0)),
                ("sync_state", text("async")),
                ("reply_time", optional_time(sent.reply_time)),
            ]);
        }
        rows.push(&row);
    }
}

/// The connection by which the session's database follows a primary.
pub(super) fn receiver(rows: &mut Rows, state: &SessionState) {
    let Some(recovery) = state.server.as_ref().and_then(|server| server.recovery()) else { return };
    let Some(receiver) = recovery.receiver.lock().clone() else { return };
    let pid = ("pid", int(i64::from(std::process::id())));
    if !may_see_all(state) {
        rows.push(&[pid]);
        return;
    }
    let received = recovery.received.load(Ordering::Acquire);
    rows.push(&[
        pid,
        ("status", text("streaming")),
        ("receive_start_lsn", place(receiver.began)),
        ("receive_start_tli", int(1)),
        ("written_lsn", place(received)),
        ("flushed_lsn", place(received)),
        ("received_tli", int(1)),
        ("last_msg_send_time", optional_time(receiver.message.map(|(sent, _)| sent))),
        ("last_msg_receipt_time", optional_time(receiver.message.map(|(_, came)| came))),
        ("latest_end_lsn", place(receiver.end.map_or(0, |(lsn, _)| lsn))),
        ("latest_end_time", optional_time(receiver.end.map(|(_, came)| came))),
        ("sender_host", text(&*receiver.host)),
        ("sender_port", int(i64::from(receiver.port))),
        ("conninfo", text(&*receiver.conninfo)),
    ]);
}
