//! The session settings (GUCs) that decide how values are read and written.

use crate::time_zone::TimeZone;
use crate::work;

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
    /// off: a query that policies would change is an error
    pub row_security: bool,
    /// views of the users may not be read or written (`restrict_nonsystem_relation_kind`)
    pub restrict_views: bool,
    /// off: backslashes escape in plain string constants of the client, and are doubled in those that are printed for it
    pub standard_conforming_strings: bool,
    /// off: `NULL` in the text of an array is a text as any other
    pub array_nulls: bool,
    /// on: `x = NULL` is `x IS NULL`
    pub transform_null_equals: bool,
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
            row_security: true,
            restrict_views: false,
            standard_conforming_strings: true,
            array_nulls: true,
            transform_null_equals: false,
        }
    }
}

/// Reads a value of `DateStyle` (`ISO, DMY`, `German` …): words of style and order, each at most once; what is not
/// named stays as it is, but `German` brings DMY with it. The error is the detail that PostgreSQL gives with its
/// 22023 `invalid value for parameter "DateStyle"`.
pub fn parse_date_style(value: &str, current: (DateStyle, DateOrder)) -> Result<(DateStyle, DateOrder), String> {
    let (mut style, mut order): (Option<DateStyle>, Option<DateOrder>) = (None, None);
    let mut conflict = false;
    for word in value.split(',').flat_map(str::split_whitespace) {
        work::pulse(1);
        let lower = word.to_ascii_lowercase();
        let (new_style, new_order) = match lower.as_str() {
            "iso" => (Some(DateStyle::Iso), None),
            "sql" => (Some(DateStyle::Sql), None),
            "german" => (Some(DateStyle::German), None),
            w if w.starts_with("postgres") => (Some(DateStyle::Postgres), None),
            "ymd" => (None, Some(DateOrder::Ymd)),
            w if w == "dmy" || w.starts_with("euro") => (None, Some(DateOrder::Dmy)),
            w if w == "mdy" || w == "us" || w.starts_with("noneuro") => (None, Some(DateOrder::Mdy)),
            "default" => (style.is_none().then_some(DateStyle::Iso), order.is_none().then_some(DateOrder::Mdy)),
            _ => return Err(format!("Unrecognized key word: \"{lower}\".")),
        };
        conflict |= style.is_some() && new_style.is_some() && style != new_style;
        conflict |= order.is_some() && new_order.is_some() && order != new_order;
        style = new_style.or(style);
        order = new_order.or(order);
    }
    if conflict {
        return Err("Conflicting \"datestyle\" specifications.".into());
    }
    if style == Some(DateStyle::German) {
        order = order.or(Some(DateOrder::Dmy));
    }
    Ok((style.unwrap_or(current.0), order.unwrap_or(current.1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a real PostgreSQL answers.
    #[test]
    fn date_styles() {
        let iso = (DateStyle::Iso, DateOrder::Mdy);
        let read = |value| parse_date_style(value, iso);
        assert_eq!(read("German"), Ok((DateStyle::German, DateOrder::Dmy)));
        assert_eq!(read("German, MDY"), Ok((DateStyle::German, DateOrder::Mdy)));
        assert_eq!(read("DMY"), Ok((DateStyle::Iso, DateOrder::Dmy)));
        assert_eq!(read("default"), Ok(iso));
        assert_eq!(read("ISO, SQL"), Err("Conflicting \"datestyle\" specifications.".into()));
        assert_eq!(read("DMY,MDY"), Err("Conflicting \"datestyle\" specifications.".into()));
        assert_eq!(read("eu,german"), Err("Unrecognized key word: \"eu\".".into()));
    }
}
