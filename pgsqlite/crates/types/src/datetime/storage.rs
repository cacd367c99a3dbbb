//! The texts that dates and times have in the file: ISO 8601, whose byte order is chronological.
//!
//! Four-digit years stand as they are. A year above 9999 is `:` + six digits (above 999999, dates only, `;` + seven);
//! a year before 1 AD is `/` + (100000 - the BC year). `-infinity` sorts before all of them, `infinity` after.
//! Timestamps with time zone are in UTC without an offset; `timetz` carries its offset.

use super::{Date, Time, TimeTz, Timestamp, MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::buffer::{fraction, padded, two};
use crate::calendar;

pub const INFINITY: &str = "infinity";
pub const NEG_INFINITY: &str = "-infinity";

fn write_year(year: i32, out: &mut Vec<u8>) {
    match year {
        1..=9999 => padded(out, year as i64, 4),
        10_000..=999_999 => {
            out.push(b':');
            padded(out, year as i64, 6);
        }
        1_000_000.. => {
            out.push(b';');
            padded(out, year as i64, 7);
        }
        _ => {
            out.push(b'/');
            padded(out, 100_000 - (1 - year as i64), 5);
        }
    }
}

/// `YYYY-MM-DD`
pub fn write_date(date: Date, out: &mut Vec<u8>) {
    match date {
        Date::INFINITY => out.extend_from_slice(INFINITY.as_bytes()),
        Date::NEG_INFINITY => out.extend_from_slice(NEG_INFINITY.as_bytes()),
        Date(days) => {
            let (y, m, d) = calendar::civil(days);
            write_year(y, out);
            out.push(b'-');
            two(out, m as u32);
            out.push(b'-');
            two(out, d as u32);
        }
    }
}

/// `HH:MM:SS[.ffffff]`
pub fn write_time(time: Time, out: &mut Vec<u8>) {
    let (h, m, s, f) = calendar::clock(time.0);
    two(out, h as u32);
    out.push(b':');
    two(out, m as u32);
    out.push(b':');
    two(out, s as u32);
    fraction(out, f as u32);
}

/// `YYYY-MM-DD HH:MM:SS[.ffffff]`
pub fn write_timestamp(t: Timestamp, out: &mut Vec<u8>) {
    match t {
        Timestamp::INFINITY => out.extend_from_slice(INFINITY.as_bytes()),
        Timestamp::NEG_INFINITY => out.extend_from_slice(NEG_INFINITY.as_bytes()),
        _ => {
            let (days, micros) = t.split();
            write_date(Date(days), out);
            out.push(b' ');
            write_time(Time(micros), out);
        }
    }
}

/// `±HH[:MM[:SS]]`, the offset from UTC in seconds, east positive.
pub fn write_offset(offset: i32, out: &mut Vec<u8>) {
    out.push(if offset < 0 { b'-' } else { b'+' });
    let o = offset.unsigned_abs();
    two(out, o / 3600);
    if !o.is_multiple_of(3600) {
        out.push(b':');
        two(out, o / 60 % 60);
        if !o.is_multiple_of(60) {
            out.push(b':');
            two(out, o % 60);
        }
    }
}

/// `HH:MM:SS[.ffffff]±HH[:MM[:SS]]`
pub fn write_timetz(t: TimeTz, out: &mut Vec<u8>) {
    write_time(Time(t.micros), out);
    write_offset(t.offset, out);
}

macro_rules! storage_text {
    ($type:ty, $write:ident, $parse:ident) => {
        impl $type {
            /// The storage form.
            pub fn to_storage(self) -> String {
                let mut out = Vec::with_capacity(32);
                $write(self, &mut out);
                String::from_utf8(out).expect("storage forms are ASCII")
            }
            /// The value of a storage form; None for anything else.
            pub fn from_storage(text: &str) -> Option<Self> {
                $parse(text)
            }
        }
    };
}
storage_text!(Date, write_date, parse_date);
storage_text!(Time, write_time, parse_time);
storage_text!(TimeTz, write_timetz, parse_timetz);
storage_text!(Timestamp, write_timestamp, parse_timestamp);

/// Reads `n` digits.
fn digits(bytes: &[u8], n: usize) -> Option<(i32, &[u8])> {
    let (head, tail) = (bytes.get(..n)?, &bytes[n..]);
    let mut value = 0;
    for b in head {
        if !b.is_ascii_digit() {
            return None;
        }
        value = value * 10 + (b - b'0') as i32;
    }
    Some((value, tail))
}

fn expect(bytes: &[u8], c: u8) -> Option<&[u8]> {
    match bytes {
        [b, rest @ ..] if *b == c => Some(rest),
        _ => None,
    }
}

fn date_part(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (year, rest) = match bytes.first()? {
        b':' => digits(&bytes[1..], 6)?,
        b';' => digits(&bytes[1..], 7)?,
        b'/' => {
            let (complement, rest) = digits(&bytes[1..], 5)?;
            (complement - 99_999, rest)
        }
        _ => digits(bytes, 4)?,
    };
    let (month, rest) = digits(expect(rest, b'-')?, 2)?;
    let (day, rest) = digits(expect(rest, b'-')?, 2)?;
    if !(1..=12).contains(&month) || day < 1 || day > calendar::days_in_month(year, month) {
        return None;
    }
    if !calendar::is_valid_year_month(year, month) {
        return None;
    }
    Some((calendar::days(year, month, day), rest))
}

fn time_part(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (h, rest) = digits(bytes, 2)?;
    let (m, rest) = digits(expect(rest, b':')?, 2)?;
    let (s, mut rest) = digits(expect(rest, b':')?, 2)?;
    let mut micros = 0i64;
    if let Some(fraction) = expect(rest, b'.') {
        let n = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        if n == 0 || n > 6 {
            return None;
        }
        let (value, tail) = digits(fraction, n)?;
        micros = value as i64 * 10i64.pow(6 - n as u32);
        rest = tail;
    }
    if h > 24 || m > 59 || s > 59 {
        return None;
    }
    let total = (h as i64 * 3600 + m as i64 * 60 + s as i64) * MICROS_PER_SECOND + micros;
    (total <= MICROS_PER_DAY).then_some((total, rest))
}

fn parse_date(text: &str) -> Option<Date> {
    match text {
        INFINITY => Some(Date::INFINITY),
        NEG_INFINITY => Some(Date::NEG_INFINITY),
        _ => match date_part(text.as_bytes())? {
            (days, []) => Some(Date(days)),
            _ => None,
        },
    }
}

fn parse_time(text: &str) -> Option<Time> {
    match time_part(text.as_bytes())? {
        (micros, []) => Some(Time(micros)),
        _ => None,
    }
}

fn parse_timestamp(text: &str) -> Option<Timestamp> {
    match text {
        INFINITY => return Some(Timestamp::INFINITY),
        NEG_INFINITY => return Some(Timestamp::NEG_INFINITY),
        _ => {}
    }
    let (days, rest) = date_part(text.as_bytes())?;
    let (micros, rest) = time_part(expect(rest, b' ')?)?;
    let t = Timestamp((days as i64).checked_mul(MICROS_PER_DAY)?.checked_add(micros)?);
    (rest.is_empty() && (t.is_valid() || t == Timestamp::END)).then_some(t)
}

fn parse_timetz(text: &str) -> Option<TimeTz> {
    let (micros, rest) = time_part(text.as_bytes())?;
    let sign = match rest.first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (h, mut rest) = digits(&rest[1..], 2)?;
    let mut offset = h * 3600;
    for unit in [60, 1] {
        if let Some(tail) = expect(rest, b':') {
            let (v, tail) = digits(tail, 2)?;
            offset += v * unit;
            rest = tail;
        }
    }
    rest.is_empty().then_some(TimeTz { micros, offset: sign * offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_order_is_chronological_and_nothing_is_lost() {
        let mut dates: Vec<Date> = (Date::MIN.0..=4_000_000).step_by(99_991).map(Date).collect();
        dates.extend((4_000_000..=Date::MAX.0).step_by(9_999_991).map(Date));
        dates.extend([Date::MIN, Date::MAX, Date(-730_119), Date(-730_120), Date(2_921_939), Date(2_921_940)]);
        dates.extend([Date::INFINITY, Date::NEG_INFINITY]);
        dates.sort();
        let texts: Vec<String> = dates.iter().map(|d| d.to_storage()).collect();
        assert!(texts.windows(2).all(|w| w[0] <= w[1]), "{texts:?}");
        for (d, t) in dates.iter().zip(&texts) {
            assert_eq!(Date::from_storage(t), Some(*d), "{t}");
        }
    }

    #[test]
    fn timestamps_survive() {
        for micros in
            [Timestamp::MIN.0, Timestamp::END.0 - 1, 0, -1, 1, 123_456, i64::MAX, i64::MIN, 762_534_896_789_123]
        {
            let text = Timestamp(micros).to_storage();
            assert_eq!(Timestamp::from_storage(&text), Some(Timestamp(micros)), "{text}");
        }
        assert_eq!(Timestamp(0).to_storage(), "2000-01-01 00:00:00");
        assert_eq!(Timestamp(-1).to_storage(), "1999-12-31 23:59:59.999999");
    }
}
