//! Functions of transaction numbers, snapshots and places in the log.

use super::imp::{row, Imp, Row};
use Imp::{Inline, InlineAggregate, Native, NativeSet, Sql};

pub const ROWS: &[Row] = &[
    row("xid8eq pg_lsn_eq", Inline("$1 = $2")),
    row("xid8ne pg_lsn_ne", Inline("$1 <> $2")),
    row("xid8lt pg_lsn_lt", Inline("$1 < $2")),
    row("xid8le pg_lsn_le", Inline("$1 <= $2")),
    row("xid8gt pg_lsn_gt", Inline("$1 > $2")),
    row("xid8ge pg_lsn_ge", Inline("$1 >= $2")),
    row("xid8_larger pg_lsn_larger", Inline("max($1, $2)")),
    row("xid8_smaller pg_lsn_smaller", Inline("min($1, $2)")),
    row("min(xid8) min(pg_lsn)", InlineAggregate("min($1)")),
    row("max(xid8) max(pg_lsn)", InlineAggregate("max($1)")),
    row("numeric_pl_pg_lsn(numeric,pg_lsn)", Sql("$2 + $1")),
    row(
        "xid8cmp xid8toxid pg_snapshot_xmin(pg_snapshot) \
         pg_snapshot_xmax(pg_snapshot) txid_snapshot_xmin(txid_snapshot) txid_snapshot_xmax(txid_snapshot) pg_visible_in_snapshot pg_lsn_cmp pg_lsn_mi pg_lsn_pli \
         pg_lsn_mii numeric_pg_lsn pg_wal_lsn_diff",
        Native,
    ),
    row("pg_snapshot_xip(pg_snapshot) txid_snapshot_xip(txid_snapshot)", NativeSet { typed: false }),
];
