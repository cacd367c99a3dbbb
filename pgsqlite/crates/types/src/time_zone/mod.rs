//! A time zone as sessions have it: one of the time zone database, or a rule. What it is for a value is in `datetime::zone`.

mod posix;

pub use posix::PosixZone;
use std::sync::Arc;

/// A zone: how far local time is from UTC at which moment.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeZone {
    /// of the time zone database
    Named(jiff::tz::TimeZone),
    /// of a rule or a number
    Posix(Arc<PosixZone>),
}

impl TimeZone {
    pub const UTC: TimeZone = TimeZone::Named(jiff::tz::TimeZone::UTC);

    /// A zone whose clocks are always that many seconds ahead of UTC.
    pub fn fixed(offset: i32) -> TimeZone {
        TimeZone::Posix(Arc::new(PosixZone::fixed(offset).0))
    }

    /// Whether it is UTC or of one offset that is no zone's of the database.
    pub fn is_fixed(&self) -> bool {
        match self {
            TimeZone::Named(zone) => zone.to_fixed_offset().is_ok(),
            TimeZone::Posix(zone) => zone.only_offset().is_some(),
        }
    }
}
