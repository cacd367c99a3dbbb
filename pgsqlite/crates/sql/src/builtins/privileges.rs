//! Access control lists as values. (The inquiry functions are rows of [`super::server`].)

use super::imp::{row, Imp, Row};

pub const ROWS: &[Row] = &[row("acldefault_sql", Imp::Native), row("aclexplode", Imp::NativeSet { typed: false })];
