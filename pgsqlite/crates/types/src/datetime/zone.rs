//! Time zones: IANA names, POSIX rules and the abbreviations PostgreSQL knows by default.

use super::{Civil, Timestamp, MICROS_PER_SECOND, UNIX_EPOCH_MICROS};
use crate::{PgError, Result, SqlState};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use std::collections::HashMap;
use std::sync::OnceLock;

/// What an abbreviation stands for.
#[derive(Debug, Clone, Copy)]
pub enum Abbreviation {
    /// Seconds east of UTC, and whether it is daylight-saving time.
    Fixed(i32, bool),
    /// A zone whose offset at the time in question counts.
    Dynamic(&'static str),
}

/// PostgreSQL's default set of abbreviations, in upper case.
pub fn abbreviations() -> impl Iterator<Item = (&'static str, Abbreviation)> {
    include_str!("../../data/zone_abbreviations.tsv").lines().filter_map(|line| {
        let mut fields = line.split('\t');
        let (name, value, dst) = (fields.next()?, fields.next()?, fields.next()? == "t");
        let meaning = match value.parse() {
            Ok(offset) => Abbreviation::Fixed(offset, dst),
            Err(_) => Abbreviation::Dynamic(value),
        };
        Some((name, meaning))
    })
}

/// An abbreviation of PostgreSQL's default set, any case.
pub fn abbreviation(name: &str) -> Option<Abbreviation> {
    static TABLE: OnceLock<HashMap<String, Abbreviation>> = OnceLock::new();
    let table = TABLE.get_or_init(|| abbreviations().map(|(name, is)| (name.to_ascii_lowercase(), is)).collect());
    table.get(&name.to_ascii_lowercase()).copied()
}

/// The names of all zones, sorted.
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
    names.sort_unstable();
    names
}

/// What a zone's clocks show at a moment: the abbreviation, seconds east of UTC, whether it is daylight-saving time.
pub fn clock(zone: &TimeZone, utc: Timestamp) -> (String, i32, bool) {
    let info = zone.to_offset_info(moment(utc));
    (info.abbreviation().to_string(), info.offset().seconds(), info.dst().is_dst())
}

/// The zone of an IANA name (any case) or a POSIX rule (`EST5EDT,M3.2.0,M11.1.0`, `<+03>-3`); None if it is neither.
pub fn by_name(name: &str) -> Option<TimeZone> {
    if name.is_empty() || !name.is_ascii() || name.len() > 255 {
        return None;
    }
    if let Ok(zone) = TimeZone::get(name) {
        return Some(zone);
    }
    if !name.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    // A bare POSIX offset counts west of UTC.
    if name.starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c)) {
        return posix_offset(name).and_then(|o| jiff::tz::Offset::from_seconds(o).ok()).map(TimeZone::fixed);
    }
    // In POSIX rules abbreviations are upper case by custom; PostgreSQL reads any.
    let upper = name.to_ascii_uppercase();
    TimeZone::posix(&upper).or_else(|_| TimeZone::posix(&format!("{upper},M3.2.0,M11.1.0"))).ok()
}

/// The zone that `SET TimeZone` means and the name that SHOW prints: hours east of UTC as a number (also fractional),
/// `INTERVAL '…'`, an IANA name or a POSIX rule. None: the value is invalid.
pub fn for_setting(value: &str) -> Option<(TimeZone, String)> {
    let value = value.trim();
    let value = value.strip_prefix('\'').and_then(|v| v.strip_suffix('\'')).unwrap_or(value);
    let seconds = if let Some(rest) = value.get(..8).filter(|w| w.eq_ignore_ascii_case("interval")) {
        let text = value[rest.len()..].trim().strip_prefix('\'')?.strip_suffix('\'')?;
        let i = super::interval_text::parse(text, -1, crate::settings::IntervalStyle::Postgres).ok()?;
        (i.months == 0 && i.days == 0).then_some((i.micros / MICROS_PER_SECOND) as i32)?
    } else if value.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) && value.parse::<f64>().is_ok() {
        (value.parse::<f64>().ok()? * 3600.0) as i32
    } else {
        let zone = by_name(value)?;
        let name = zone.iana_name().map_or(value, |n| n).to_string();
        return Some((zone, name));
    };
    let zone = TimeZone::fixed(jiff::tz::Offset::from_seconds(seconds).ok()?);
    let mut digits = Vec::new();
    super::storage::write_offset(seconds, &mut digits);
    let shown = String::from_utf8(digits).ok()?;
    // POSIX counts the other way round: <+03>-03 is three hours east.
    let (sign, rest) = shown.split_at(1);
    let posix_sign = if sign == "+" { "-" } else { "+" };
    Some((zone, format!("<{shown}>{posix_sign}{rest}")))
}

/// Seconds east of `[±]hh[:mm[:ss]]`, which counts west.
fn posix_offset(text: &str) -> Option<i32> {
    let mut seconds = 0;
    let mut parts = text.trim_start_matches(['+', '-']).split(':');
    for unit in [3600, 60, 1] {
        let Some(part) = parts.next() else { break };
        let value: i32 = part.parse().ok().filter(|_| part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit()))?;
        seconds += value * unit;
    }
    parts.next().is_none().then_some(if text.starts_with('-') { seconds } else { -seconds })
}

/// Hours, minutes and seconds of `±hh[:mm[:ss]]` or `±hhmm`.
fn displacement(text: &str) -> Option<[u32; 3]> {
    let digits = text.strip_prefix(['+', '-'])?;
    let number = |part: &str| part.parse::<u32>().ok().filter(|_| part.bytes().all(|b| b.is_ascii_digit()));
    let parts = digits.split(':').map(number).collect::<Option<Vec<u32>>>()?;
    match parts[..] {
        [n] if digits.len() > 2 => Some([n / 100, n % 100, 0]),
        [hours] => Some([hours, 0, 0]),
        [hours, minutes] => Some([hours, minutes, 0]),
        [hours, minutes, seconds] => Some([hours, minutes, seconds]),
        _ => None,
    }
}

/// Seconds east of UTC that an abbreviation meant in a zone: as last used before the moment, else as first used after
/// it; the zone's offset where the zone has never used it.
pub fn offset_of_abbreviation(zone: &TimeZone, name: &str, utc: Timestamp) -> i32 {
    meaning_of_abbreviation(zone, name, utc).0
}

/// As [`offset_of_abbreviation`], with whether it is daylight-saving time.
pub fn meaning_of_abbreviation(zone: &TimeZone, name: &str, utc: Timestamp) -> (i32, bool) {
    let at = moment(utc);
    let info = zone.to_offset_info(at);
    if info.abbreviation().eq_ignore_ascii_case(name) {
        return (info.offset().seconds(), info.dst().is_dst());
    }
    // Rules go on for ever: a zone's history is shorter than this.
    const LOOK: usize = 1000;
    let before = zone.preceding(at).take(LOOK).find(|t| t.abbreviation().eq_ignore_ascii_case(name));
    let found = before.or_else(|| zone.following(at).take(LOOK).find(|t| t.abbreviation().eq_ignore_ascii_case(name)));
    match found {
        Some(t) => (t.offset().seconds(), t.dst().is_dst()),
        None => (info.offset().seconds(), info.dst().is_dst()),
    }
}

/// 22023 `time zone "…" not recognized`.
pub fn not_recognized(name: &str) -> PgError {
    PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("time zone \"{name}\" not recognized"))
}

/// A zone as `AT TIME ZONE` and `make_timestamptz` take it.
#[derive(Debug, Clone)]
pub enum Zone {
    /// Seconds east of UTC.
    Offset(i32),
    Rules(TimeZone),
    /// An abbreviation whose meaning depends on the time, and its zone.
    Abbreviation(TimeZone, String),
}

impl Zone {
    /// Reads the zone argument of `AT TIME ZONE`: an abbreviation, an IANA name or a POSIX rule; 22023 otherwise.
    pub fn parse(name: &str) -> Result<Zone> {
        match abbreviation(name) {
            Some(Abbreviation::Fixed(offset, _)) => return Ok(Zone::Offset(offset)),
            Some(Abbreviation::Dynamic(zone)) => {
                let zone = by_name(zone).ok_or_else(|| not_recognized(name))?;
                return Ok(Zone::Abbreviation(zone, name.to_string()));
            }
            None => {}
        }
        by_name(name).map(Zone::Rules).ok_or_else(|| not_recognized(name))
    }
    /// Reads `make_timestamptz`'s zone, whose numbers count east: `±hh[:mm[:ss]]` or `±hhmm`, else as [`Zone::parse`].
    pub fn parse_eastward(name: &str) -> Result<Zone> {
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            let what = format!("invalid input syntax for type numeric time zone: \"{name}\"");
            return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, what)
                .hint("Numeric time zones must have \"-\" or \"+\" as first character."));
        }
        let Some(parts) = displacement(name) else { return Zone::parse(name) };
        let [hours, minutes, seconds] = parts;
        if hours > 15 || minutes > 59 || seconds > 59 {
            let what = format!("numeric time zone \"{name}\" out of range");
            return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, what));
        }
        let offset = (hours * 3600 + minutes * 60 + seconds) as i32;
        Ok(Zone::Offset(if name.starts_with('-') { -offset } else { offset }))
    }
    /// Seconds east of UTC at a moment.
    pub fn offset_at(&self, utc: Timestamp) -> i32 {
        match self {
            Zone::Offset(o) => *o,
            Zone::Rules(z) => offset_at(z, utc),
            Zone::Abbreviation(z, name) => offset_of_abbreviation(z, name, utc),
        }
    }
    /// Seconds east of UTC at a local time.
    pub fn offset_of_local(&self, local: Timestamp) -> i32 {
        match self {
            Zone::Offset(o) => *o,
            Zone::Rules(z) => offset_of_local(z, local),
            Zone::Abbreviation(z, name) => {
                let offset = offset_of_local(z, local) as i64 * MICROS_PER_SECOND;
                offset_of_abbreviation(z, name, Timestamp(local.0.saturating_sub(offset)))
            }
        }
    }
}

/// Microseconds in 400 years, after which the calendar and every zone's rules repeat.
const CYCLE: i64 = 146_097 * 86_400 * MICROS_PER_SECOND;
/// 9990-01-01: beyond it jiff's range ends.
const FAR: i64 = 252_140_000_000 * MICROS_PER_SECOND;

/// A moment within the range of the zone library that has the same offset.
fn near(t: Timestamp) -> i64 {
    if t.0 < FAR {
        t.0
    } else {
        FAR - CYCLE + (t.0 - FAR) % CYCLE
    }
}

fn moment(utc: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_microsecond(near(utc) + UNIX_EPOCH_MICROS).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// Seconds east of UTC at a moment.
pub fn offset_at(zone: &TimeZone, utc: Timestamp) -> i32 {
    // Not by way of to_fixed_offset: its error, for zones with rules, is allocated.
    zone.to_offset(moment(utc)).seconds()
}

/// Seconds east of UTC of a zone that never changes its offset.
pub fn only_offset(zone: &TimeZone) -> Option<i32> {
    if let Ok(offset) = zone.to_fixed_offset() {
        return Some(offset.seconds());
    }
    zone.preceding(jiff::Timestamp::MAX).next().is_none().then(|| offset_at(zone, Timestamp(0)))
}

/// Seconds east of UTC at a local time. In the gap of a change to summer time the offset before it counts, in the
/// hour that comes twice the one after it.
pub fn offset_of_local(zone: &TimeZone, local: Timestamp) -> i32 {
    let c = Civil::of(Timestamp(near(local)));
    let Ok(datetime) = DateTime::new(
        c.year as i16,
        c.month as i8,
        c.day as i8,
        c.hour as i8,
        c.minute as i8,
        c.second as i8,
        c.micros * 1000,
    ) else {
        return 0;
    };
    match zone.to_ambiguous_timestamp(datetime).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.seconds(),
        AmbiguousOffset::Gap { before, .. } => before.seconds(),
        AmbiguousOffset::Fold { after, .. } => after.seconds(),
    }
}

/// Offset (seconds east) and abbreviation in use at a moment.
pub fn offset_and_name(zone: &TimeZone, utc: Timestamp) -> (i32, String) {
    let info = zone.to_offset_info(moment(utc));
    (info.offset().seconds(), info.abbreviation().to_string())
}

/// Local time in a zone of a moment; infinities stay.
pub fn to_local(zone: &TimeZone, utc: Timestamp) -> Timestamp {
    if utc.is_infinite() {
        return utc;
    }
    Timestamp(utc.0.saturating_add(offset_at(zone, utc) as i64 * MICROS_PER_SECOND))
}

/// The moment of a local time in a zone; None outside the range. Infinities stay.
pub fn to_utc(zone: &TimeZone, local: Timestamp) -> Option<Timestamp> {
    if local.is_infinite() {
        return Some(local);
    }
    let t = Timestamp(local.0.checked_sub(offset_of_local(zone, local) as i64 * MICROS_PER_SECOND)?);
    t.is_valid().then_some(t)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values and names as PostgreSQL shows them.
    #[test]
    fn settings() {
        let cases = [
            ("-7", "<-07>+07", -7 * 3600),
            ("5.5", "<+05:30>-05:30", 19_800),
            ("interval '3 hours'", "<+03>-03", 10_800),
            ("INTERVAL '-08:00'", "<-08>+08", -8 * 3600),
            ("15.123", "<+15:07:22>-15:07:22", 54_442),
            ("utc", "UTC", 0),
            ("america/new_york", "America/New_York", -5 * 3600),
            ("EST5EDT", "EST5EDT", -5 * 3600),
            ("<+03>-3", "<+03>-3", 10_800),
            ("UTC+3", "UTC+3", -10_800),
            ("+05:30", "+05:30", -19_800),
            ("JST-9", "JST-9", 9 * 3600),
            ("00:30", "00:30", -1800),
            ("-04:15", "-04:15", 15_300),
        ];
        for (value, name, offset) in cases {
            let (zone, shown) = for_setting(value).unwrap_or_else(|| panic!("{value}"));
            assert_eq!(shown, name, "{value}");
            // 2024-01-01 00:00 UTC
            assert_eq!(offset_at(&zone, Timestamp(757_382_400_000_000)), offset, "{value}");
        }
        for value in ["foo", "PST", "", "1x", "interval '1 day'", "100"] {
            assert!(for_setting(value).is_none(), "{value}");
        }
    }
}
