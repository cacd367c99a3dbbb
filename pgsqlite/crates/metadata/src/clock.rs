//! The system's clock.

/// Now, in microseconds since 2000-01-01 00:00 UTC.
pub fn now() -> i64 {
    let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64);
    unix - 946_684_800_000_000
}
