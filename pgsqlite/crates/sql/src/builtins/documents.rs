//! Functions of arrays, json and jsonb.

use super::imp::Row;

pub const ROWS: &[Row] = &[];
