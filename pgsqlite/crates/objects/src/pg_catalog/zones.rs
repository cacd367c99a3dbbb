//! Time zones and their abbreviations, as their clocks stand now.

use super::{text, Rows};
use pgsqlite_natives::udf::session_cell::SessionState;
use pgsqlite_types::datetime::zone::{self, Abbreviation};
use pgsqlite_types::datetime::{Interval, Timestamp};
use pgsqlite_types::work;

/// An offset of so many seconds in storage form.
fn offset(seconds: i32) -> String {
    Interval { months: 0, days: 0, micros: i64::from(seconds) * 1_000_000 }.to_storage()
}

/// `pg_timezone_names`: name, abbreviation, offset, daylight-saving time.
pub(crate) fn zones() -> Vec<(String, String, String, bool)> {
    let now = Timestamp(pgsqlite_metadata::clock::now());
    let named = |name: String| {
        let (abbreviation, seconds, dst) = zone::clock(&zone::by_name(&name)?, now);
        Some((name, abbreviation, offset(seconds), dst))
    };
    zone::names().into_iter().filter_map(named).collect()
}

/// `pg_timezone_abbrevs`: abbreviation, offset, daylight-saving time.
pub(crate) fn abbreviations() -> Vec<(String, String, bool)> {
    let now = Timestamp(pgsqlite_metadata::clock::now());
    let mut all: Vec<_> = zone::abbreviations()
        .filter_map(|(name, meaning)| {
            let (seconds, dst) = match meaning {
                Abbreviation::Fixed(seconds, dst) => (seconds, dst),
                Abbreviation::Dynamic(of) => zone::meaning_of_abbreviation(&zone::by_name(of)?, name, now),
            };
            Some((name.to_string(), offset(seconds), dst))
        })
        .collect();
    all.sort_unstable();
    all
}

pub(super) fn timezone_names(rows: &mut Rows, _: &SessionState) {
    for (name, abbreviation, offset, dst) in zones() {
        work::visit();
        rows.push(&[
            ("name", text(name)),
            ("abbrev", text(abbreviation)),
            ("utc_offset", text(offset)),
            ("is_dst", dst.into()),
        ]);
    }
}

pub(super) fn timezone_abbreviations(rows: &mut Rows, _: &SessionState) {
    for (name, offset, dst) in abbreviations() {
        work::visit();
        rows.push(&[("abbrev", text(name)), ("utc_offset", text(offset)), ("is_dst", dst.into())]);
    }
}
