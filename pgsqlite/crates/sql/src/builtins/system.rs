//! Session and system information, sequences, set-returning generators.

use super::imp::{row, Imp, Row};
use Imp::{Inline, Native, NativeSet, NativeTyped, Special};

pub const ROWS: &[Row] = &[
    row(
        "pgsql_version current_database current_user session_user current_schema current_schemas pg_backend_pid \
         show_config_by_name show_config_by_name_missing_ok set_config_by_name nextval_oid currval_oid setval_oid \
         setval3_oid lastval gen_random_uuid format_type pg_get_userbyid pg_table_is_visible pg_type_is_visible \
         pg_function_is_visible PG_encoding_to_char getdatabaseencoding pg_client_encoding PG_char_to_encoding \
         pg_get_serial_sequence \
         text_regclass to_regclass to_regtype to_regproc to_regprocedure to_regnamespace to_regrole to_regoper to_regoperator to_regcollation",
        Native,
    ),
    row("obj_description(oid,name) col_description(oid,int4) shobj_description(oid,name) obj_description(oid)", Native),
    row("pg_typeof pg_column_size", NativeTyped),
    row("pg_is_other_temp_schema pg_jit_available", Inline("0")),
    row("pg_trigger_depth", Native),
    row("pg_collation_is_visible pg_operator_is_visible pg_opclass_is_visible pg_opfamily_is_visible", Native),
    // told by analysis
    row("pg_collation_for", Special),
    row("pg_num_nulls pg_num_nonnulls", NativeTyped),
    row(
        "generate_series_int4 generate_series_step_int4 generate_series_int8 generate_series_step_int8 \
         generate_series_numeric generate_series_step_numeric generate_series_timestamp generate_series_timestamptz",
        NativeSet { typed: false },
    ),
];
