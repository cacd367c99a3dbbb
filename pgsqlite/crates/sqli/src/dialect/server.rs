//! `sysmaster`: what Informix tells of the server itself, as far as it means something here.

use super::derived::QueryColumn;
use super::print::literal;
use super::translation::Environment;
use crate::values::types::Type;

/// The columns of a table of `sysmaster` and the query that gives its rows; None: there is no such table.
pub(super) fn table(name: &str, environment: &Environment) -> Option<(Vec<QueryColumn>, String)> {
    let databases = || {
        let mut names: Vec<&str> = environment.databases.iter().map(String::as_str).filter(|n| !n.is_empty()).collect();
        names.push("sysmaster");
        names.sort_unstable();
        names.dedup();
        let rows: Vec<String> = names.iter().map(|n| format!("({}::varchar(128))", literal(n))).collect();
        rows.join(", ")
    };
    let (columns, sql): (&[&str], String) = match name {
        "sysdual" => (&["dummy"], "SELECT 'X'::char(1) AS dummy".into()),
        "sysdatabases" => (
            &[
                "name", "partnum", "owner", "created", "is_logging", "is_buff_log", "is_ansi", "is_nls",
                "is_case_insens", "flags",
            ],
            format!(
                "SELECT d.name, 0 AS partnum, 'informix'::char(32) AS owner, date '2000-01-01' AS created, 1 AS is_logging, \
                 0 AS is_buff_log, 0 AS is_ansi, 0 AS is_nls, 0 AS is_case_insens, 1 AS flags FROM (VALUES {}) AS d(name)",
                databases()
            ),
        ),
        "sysdbslocale" => (
            &["dbs_dbsname", "dbs_collate"],
            format!(
                "SELECT d.name AS dbs_dbsname, {}::char(32) AS dbs_collate FROM (VALUES {}) AS d(name)",
                literal(environment.codeset.site()),
                databases()
            ),
        ),
        // one file has no spaces: it is the one that every server has
        "sysdbspaces" => (
            &[
                "dbsnum", "name", "owner", "pagesize", "fchunk", "nchunks", "is_mirrored", "is_blobspace", "is_sbspace",
                "is_temp", "flags",
            ],
            "SELECT 1 AS dbsnum, 'rootdbs'::varchar(128) AS name, 'informix'::char(32) AS owner, \
             current_setting('block_size')::int AS pagesize, 1 AS fchunk, 1 AS nchunks, 0 AS is_mirrored, \
             0 AS is_blobspace, 0 AS is_sbspace, 0 AS is_temp, 1 AS flags"
                .into(),
        ),
        "syssessions" => (
            &["sid", "username", "uid", "pid", "hostname", "connected", "feprogram", "is_wlatch", "is_wlock"],
            "SELECT a.pid AS sid, a.usename::varchar(32) AS username, 0 AS uid, 0 AS pid, \
             coalesce(host(a.client_addr), '')::varchar(256) AS hostname, \
             extract(epoch FROM a.backend_start)::int AS connected, a.application_name::varchar(255) AS feprogram, \
             0 AS is_wlatch, (coalesce(a.wait_event_type, '') = 'Lock')::int AS is_wlock \
             FROM pg_catalog.pg_stat_activity AS a WHERE a.backend_type = 'client backend'"
                .into(),
        ),
        _ => return None,
    };
    let of = |column: &str| match column {
        "owner" | "dbs_collate" => Some(Type::Char(32)),
        "dummy" => Some(Type::Char(1)),
        _ => None,
    };
    Some((columns.iter().map(|c| (Some(c.to_string()), of(c))).collect(), sql))
}
