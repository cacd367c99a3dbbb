//! Functions that applications ask the catalogs with: those of information_schema, and what the statistics views show, one value
//! at a time.

use super::imp::{row, Imp, Row};
use Imp::{Native, Sql};

pub const ROWS: &[Row] = &[
    row("nameconcatoid oidvectortypes pg_my_temp_schema pg_sequence_last_value", Native),
    row("_pg_index_position(oid,int2)", Native),
    row(
        "_pg_truetypid(pg_attribute,pg_type)",
        Sql("CASE WHEN ($2).typtype = 'd' THEN ($2).typbasetype ELSE ($1).atttypid END"),
    ),
    row(
        "_pg_truetypmod(pg_attribute,pg_type)",
        Sql("CASE WHEN ($2).typtype = 'd' THEN ($2).typtypmod ELSE ($1).atttypmod END"),
    ),
    row(
        "_pg_char_max_length(oid,int4)",
        Sql("CASE WHEN $2 = -1 THEN NULL WHEN $1 IN (1042, 1043) THEN $2 - 4 WHEN $1 IN (1560, 1562) THEN $2 END"),
    ),
    row(
        "_pg_char_octet_length(oid,int4)",
        // (the database's encoding is UTF8: a character has four bytes at most)
        Sql("CASE WHEN $2 IS NOT NULL AND $1 IN (25, 1042, 1043) THEN \
             CASE WHEN $2 = -1 THEN 1073741824 ELSE information_schema._pg_char_max_length($1, $2) * 4 END END"),
    ),
    row(
        "_pg_numeric_precision(oid,int4)",
        Sql("CASE WHEN $2 IS NULL THEN NULL ELSE CASE $1 WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 \
             WHEN 1700 THEN CASE WHEN $2 = -1 THEN NULL ELSE (($2 - 4) >> 16) & 65535 END \
             WHEN 700 THEN 24 WHEN 701 THEN 53 END END"),
    ),
    row(
        "_pg_numeric_precision_radix(oid,int4)",
        Sql("CASE WHEN $2 IS NULL THEN NULL WHEN $1 IN (21, 23, 20, 700, 701) THEN 2 WHEN $1 = 1700 THEN 10 END"),
    ),
    row(
        "_pg_numeric_scale(oid,int4)",
        Sql("CASE WHEN $2 IS NULL THEN NULL WHEN $1 IN (21, 23, 20) THEN 0 \
             WHEN $1 = 1700 THEN CASE WHEN $2 = -1 THEN NULL ELSE ($2 - 4) & 65535 END END"),
    ),
    row(
        "_pg_datetime_precision(oid,int4)",
        Sql("CASE WHEN $2 IS NULL THEN NULL WHEN $1 = 1082 THEN 0 \
             WHEN $1 IN (1083, 1114, 1184, 1266) THEN CASE WHEN $2 < 0 THEN 6 ELSE $2 END \
             WHEN $1 = 1186 THEN CASE WHEN $2 < 0 OR $2 & 65535 = 65535 THEN 6 ELSE $2 & 65535 END END"),
    ),
    row(
        "_pg_interval_type(oid,int4)",
        Sql("CASE WHEN $1 = 1186 THEN upper(substring(format_type($1, $2), 'interval[()0-9]* #\"%#\"', '#')) END"),
    ),
    row(
        "pg_stat_get_numscans pg_stat_get_tuples_returned pg_stat_get_tuples_fetched pg_stat_get_tuples_inserted \
         pg_stat_get_tuples_updated pg_stat_get_tuples_deleted pg_stat_get_tuples_hot_updated pg_stat_get_live_tuples \
         pg_stat_get_dead_tuples pg_stat_get_mod_since_analyze pg_stat_get_ins_since_vacuum pg_stat_get_last_vacuum_time \
         pg_stat_get_last_autovacuum_time pg_stat_get_last_analyze_time pg_stat_get_last_autoanalyze_time \
         pg_stat_get_vacuum_count pg_stat_get_autovacuum_count pg_stat_get_analyze_count pg_stat_get_autoanalyze_count",
        Native,
    ),
    row(
        "pg_stat_get_function_calls pg_stat_get_function_total_time pg_stat_get_function_self_time \
         pg_stat_get_xact_function_calls pg_stat_get_xact_function_total_time pg_stat_get_xact_function_self_time",
        Native,
    ),
    row(
        "pg_stat_get_db_numbackends pg_stat_get_db_xact_commit pg_stat_get_db_xact_rollback \
         pg_stat_get_db_tuples_returned pg_stat_get_db_tuples_inserted pg_stat_get_db_tuples_updated \
         pg_stat_get_db_tuples_deleted pg_stat_get_db_stat_reset_time pg_stat_get_db_session_time \
         pg_stat_get_db_active_time pg_stat_get_db_idle_in_transaction_time pg_stat_get_db_sessions \
         pg_stat_get_db_sessions_killed pg_stat_get_db_blocks_fetched pg_stat_get_db_blocks_hit",
        Native,
    ),
];
