//! What a session has: its prepared statements, its cursors.

use super::{int, numbers, text, Rows};
use pgsqlite_natives::udf::session_cell::SessionState;
use pgsqlite_types::datetime::Timestamp;
use pgsqlite_types::work;
use pgsqlite_types::Datum;

fn time(microseconds: i64) -> Datum {
    text(Timestamp(microseconds).to_storage())
}

pub(super) fn cursors(rows: &mut Rows, state: &SessionState) {
    for cursor in &state.objects.cursors {
        work::visit();
        rows.push(&[
            ("name", text(&*cursor.name)),
            ("statement", text(&*cursor.statement)),
            ("is_holdable", cursor.holdable.into()),
            ("is_binary", cursor.binary.into()),
            ("is_scrollable", cursor.scrollable.into()),
            ("creation_time", time(cursor.created)),
        ]);
    }
}

/// Every plan is made for all parameter values: PostgreSQL's generic plans.
pub(super) fn prepared_statements(rows: &mut Rows, state: &SessionState) {
    for prepared in &state.objects.prepared {
        work::visit();
        rows.push(&[
            ("name", text(&*prepared.name)),
            ("statement", text(&*prepared.statement)),
            ("prepare_time", time(prepared.prepared)),
            ("parameter_types", numbers(prepared.parameters.iter())),
            ("from_sql", prepared.from_sql.into()),
            ("generic_plans", int(prepared.executions)),
            ("custom_plans", int(0)),
        ]);
    }
}

/// What pg_config has of PostgreSQL's build, before the version.
const BUILD: [&str; 22] = [
    "BINDIR",
    "DOCDIR",
    "HTMLDIR",
    "INCLUDEDIR",
    "PKGINCLUDEDIR",
    "INCLUDEDIR-SERVER",
    "LIBDIR",
    "PKGLIBDIR",
    "LOCALEDIR",
    "MANDIR",
    "SHAREDIR",
    "SYSCONFDIR",
    "PGXS",
    "CONFIGURE",
    "CC",
    "CPPFLAGS",
    "CFLAGS",
    "CFLAGS_SL",
    "LDFLAGS",
    "LDFLAGS_EX",
    "LDFLAGS_SL",
    "LIBS",
];

/// pg_config: the names that PostgreSQL has, with its words for what a build has not recorded, and the version.
pub(super) fn configuration(rows: &mut Rows, state: &SessionState) {
    // bounded: a list of this file
    for name in BUILD {
        rows.push(&[("name", text(name)), ("setting", text("not recorded"))]);
    }
    if let Some(version) = state.variables.as_ref().and_then(|v| v.get("server_version")) {
        rows.push(&[("name", text("VERSION")), ("setting", text(format!("PostgreSQL {version}")))]);
    }
}
