//! Path expressions over jsonb.

use super::imp::{row, Imp, Row};

pub const ROWS: &[Row] = &[
    row(
        "jsonb_path_exists jsonb_path_exists_tz jsonb_path_exists_opr jsonb_path_match jsonb_path_match_tz \
         jsonb_path_match_opr jsonb_path_query_array jsonb_path_query_array_tz jsonb_path_query_first \
         jsonb_path_query_first_tz",
        Imp::Native,
    ),
    row("jsonb_path_query jsonb_path_query_tz", Imp::NativeSet { typed: false }),
];
