//! Formatting by template.

use super::imp::{row, Imp, Row};

pub const ROWS: &[Row] = &[row(
    "int4_to_char int8_to_char float4_to_char float8_to_char numeric_to_char numeric_to_number timestamp_to_char \
     timestamptz_to_char interval_to_char to_timestamp to_date",
    Imp::Native,
)];
