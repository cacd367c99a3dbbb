//! Functions that ask the server: sessions, locks, sizes, privileges.

use super::imp::{row, Imp, Row};
use Imp::{Native, NativeSet, Sql};

pub const ROWS: &[Row] = &[
    row(
        "pg_listening_channels pg_get_keywords pg_timezone_names pg_timezone_abbrevs pg_available_extensions \
         pg_available_extension_versions pg_options_to_table pg_hba_file_rules pg_ident_file_mappings",
        NativeSet { typed: false },
    ),
    row("xid_age", Native),
    row("pg_notification_queue_usage", Native),
    row(
        "pg_current_xact_id pg_current_xact_id_if_assigned pg_xact_status pg_notify pg_postmaster_start_time \
         pg_reload_conf pg_cancel_backend pg_terminate_backend pg_sleep pg_advisory_lock_int8 pg_advisory_lock_int4 \
         pg_advisory_lock_shared_int8 pg_advisory_lock_shared_int4 pg_advisory_xact_lock_int8 \
         pg_advisory_xact_lock_int4 pg_advisory_xact_lock_shared_int8 pg_advisory_xact_lock_shared_int4 \
         pg_try_advisory_lock_int8 pg_try_advisory_lock_int4 pg_try_advisory_lock_shared_int8 \
         pg_try_advisory_lock_shared_int4 pg_try_advisory_xact_lock_int8 pg_try_advisory_xact_lock_int4 \
         pg_try_advisory_xact_lock_shared_int8 pg_try_advisory_xact_lock_shared_int4 pg_advisory_unlock_int8 \
         pg_advisory_unlock_int4 pg_advisory_unlock_shared_int8 pg_advisory_unlock_shared_int4 \
         pg_advisory_unlock_all inet_client_addr inet_server_addr inet_client_port inet_server_port \
         pg_current_wal_lsn pg_current_wal_insert_lsn pg_current_wal_flush_lsn pg_stat_reset_shared \
         pg_stat_reset pg_stat_reset_single_function_counters pg_stat_reset_slru \
         pg_stat_force_next_flush pg_stat_clear_snapshot pg_stat_reset_single_table_counters pg_stat_statements_reset pg_blocking_pids \
         pg_is_in_recovery pg_last_wal_replay_lsn pg_last_wal_receive_lsn pg_last_xact_replay_timestamp pg_wal_replay_pause \
         pg_wal_replay_resume pg_is_wal_replay_paused pg_get_wal_replay_pause_state pg_promote",
        Native,
    ),
    row(
        "be_lo_create be_lo_creat be_lo_from_bytea be_lo_unlink be_lo_get be_lo_get_fragment be_lo_put be_lo_open be_lo_close \
         be_loread be_lowrite be_lo_truncate be_lo_truncate64 be_lo_lseek be_lo_lseek64 be_lo_tell be_lo_tell64",
        Native,
    ),
    row(
        "pg_relation_size(regclass) pg_relation_size pg_table_size pg_indexes_size pg_total_relation_size \
         pg_database_size_name pg_database_size_oid pg_size_pretty pg_size_pretty_numeric pg_size_bytes",
        Native,
    ),
    row(
        "has_table_privilege_name_name has_table_privilege_name_id has_table_privilege_id_name \
         has_table_privilege_id_id has_table_privilege_name has_table_privilege_id \
         has_sequence_privilege_name_name has_sequence_privilege_name_id has_sequence_privilege_id_name \
         has_sequence_privilege_id_id has_sequence_privilege_name has_sequence_privilege_id \
         has_database_privilege_name_name has_database_privilege_name_id has_database_privilege_id_name \
         has_database_privilege_id_id has_database_privilege_name has_database_privilege_id \
         has_schema_privilege_name_name has_schema_privilege_name_id has_schema_privilege_id_name \
         has_schema_privilege_id_id has_schema_privilege_name has_schema_privilege_id \
         has_function_privilege_name_name has_function_privilege_name_id has_function_privilege_id_name \
         has_function_privilege_id_id has_function_privilege_name has_function_privilege_id \
         has_language_privilege_name_name has_language_privilege_name_id has_language_privilege_id_name \
         has_language_privilege_id_id has_language_privilege_name has_language_privilege_id \
         has_type_privilege_name_name has_type_privilege_name_id has_type_privilege_id_name \
         has_type_privilege_id_id has_type_privilege_name has_type_privilege_id \
         has_tablespace_privilege_name_name has_tablespace_privilege_name_id has_tablespace_privilege_id_name \
         has_tablespace_privilege_id_id has_tablespace_privilege_name has_tablespace_privilege_id \
         has_column_privilege_name_name_name has_column_privilege_name_name_attnum \
         has_column_privilege_name_id_name has_column_privilege_name_id_attnum \
         has_column_privilege_id_name_name has_column_privilege_id_name_attnum \
         has_column_privilege_id_id_name has_column_privilege_id_id_attnum has_column_privilege_name_name \
         has_column_privilege_name_attnum has_column_privilege_id_name has_column_privilege_id_attnum \
         has_any_column_privilege_name_name has_any_column_privilege_name_id has_any_column_privilege_id_name \
         has_any_column_privilege_id_id has_any_column_privilege_name has_any_column_privilege_id \
         pg_has_role_name_name pg_has_role_name_id pg_has_role_id_name pg_has_role_id_id pg_has_role_name \
         pg_has_role_id row_security_active row_security_active_name",
        Native,
    ),
    row(
        "pg_sleep_for(interval)",
        Sql("pg_sleep(extract(epoch FROM clock_timestamp() + $1) - extract(epoch FROM clock_timestamp()))"),
    ),
    row("pg_sleep_until(timestamptz)", Sql("pg_sleep(extract(epoch FROM $1) - extract(epoch FROM clock_timestamp()))")),
];
