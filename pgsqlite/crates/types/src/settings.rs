//! The session settings (GUCs) that decide how values are read and written.

use jiff::tz::TimeZone;

/// `DateStyle`'s first half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateStyle {
    Iso,
    Sql,
    Postgres,
    German,
}

/// `DateStyle`'s second half: the order in which ambiguous dates are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    Mdy,
    Dmy,
    Ymd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalStyle {
    Postgres,
    PostgresVerbose,
    SqlStandard,
    Iso8601,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteaOutput {
    Hex,
    Escape,
}

/// What the codecs need to know of a session. Kept up to date by the session's `SET`.
#[derive(Debug, Clone)]
pub struct Settings {
    pub time_zone: TimeZone,
    /// The name `SHOW TimeZone` prints.
    pub time_zone_name: String,
    pub date_style: DateStyle,
    pub date_order: DateOrder,
    pub interval_style: IntervalStyle,
    pub bytea_output: ByteaOutput,
    /// ≥ 1: shortest exact output; ≤ 0: that many digits fewer than 6 (float4) / 15 (float8).
    pub extra_float_digits: i32,
    /// `now()`: the transaction's start, microseconds since 2000-01-01 00:00 UTC; what 'now', 'today' … mean on input.
    pub transaction_timestamp: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            time_zone: TimeZone::UTC,
            time_zone_name: "UTC".into(),
            date_style: DateStyle::Iso,
            date_order: DateOrder::Mdy,
            interval_style: IntervalStyle::Postgres,
            bytea_output: ByteaOutput::Hex,
            extra_float_digits: 1,
            transaction_timestamp: 0,
        }
    }
}
