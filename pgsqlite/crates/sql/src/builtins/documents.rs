//! (rows follow)

use super::imp::Row;

pub const ROWS: &[Row] = &[];
