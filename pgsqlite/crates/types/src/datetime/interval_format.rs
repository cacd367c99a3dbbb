//! Text output of intervals in the four IntervalStyles.

use super::{Interval, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use crate::buffer::{fraction, int, two};
use crate::settings::IntervalStyle;

/// The parts that all styles print; every part carries the interval's sign of that part.
struct Parts {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
}

impl Parts {
    fn of(i: Interval) -> Parts {
        Parts {
            year: (i.months / 12) as i64,
            month: (i.months % 12) as i64,
            day: i.days as i64,
            hour: i.micros / MICROS_PER_HOUR,
            minute: i.micros % MICROS_PER_HOUR / MICROS_PER_MINUTE,
            second: i.micros % MICROS_PER_MINUTE / MICROS_PER_SECOND,
            micros: i.micros % MICROS_PER_SECOND,
        }
    }
    fn all(&self) -> [i64; 7] {
        [self.year, self.month, self.day, self.hour, self.minute, self.second, self.micros]
    }
    fn seconds(&self, fill: bool, out: &mut Vec<u8>) {
        if fill {
            two(out, self.second.unsigned_abs() as u32);
        } else {
            int(out, self.second.unsigned_abs());
        }
        fraction(out, self.micros.unsigned_abs() as u32);
    }
    /// `h:mm:ss[.f]` without a sign.
    fn clock(&self, out: &mut Vec<u8>) {
        int(out, self.hour.unsigned_abs());
        out.push(b':');
        two(out, self.minute.unsigned_abs() as u32);
        out.push(b':');
        self.seconds(true, out);
    }
}

/// Appends an interval in a style.
pub fn write(i: Interval, style: IntervalStyle, out: &mut Vec<u8>) {
    match style {
        IntervalStyle::Postgres => write_postgres(i, out),
        IntervalStyle::PostgresVerbose => write_verbose(i, out),
        IntervalStyle::SqlStandard => write_sql(i, out),
        IntervalStyle::Iso8601 => write_iso(i, out),
    }
}

pub(super) fn write_postgres(i: Interval, out: &mut Vec<u8>) {
    let p = Parts::of(i);
    let (mut first, mut after_negative) = (true, false);
    for (value, name) in [(p.year, "year"), (p.month, "mon"), (p.day, "day")] {
        if value == 0 {
            continue;
        }
        if !first {
            out.push(b' ');
        }
        if after_negative && value > 0 {
            out.push(b'+');
        }
        int(out, value);
        out.push(b' ');
        out.extend_from_slice(name.as_bytes());
        if value != 1 {
            out.push(b's');
        }
        (first, after_negative) = (false, value < 0);
    }
    if first || i.micros != 0 {
        if !first {
            out.push(b' ');
        }
        if i.micros < 0 {
            out.push(b'-');
        } else if after_negative {
            out.push(b'+');
        }
        if p.hour.unsigned_abs() < 10 {
            out.push(b'0');
        }
        p.clock(out);
    }
}

fn write_verbose(i: Interval, out: &mut Vec<u8>) {
    let p = Parts::of(i);
    out.push(b'@');
    let (mut first, mut ago) = (true, false);
    let parts = [(p.year, "year"), (p.month, "mon"), (p.day, "day"), (p.hour, "hour"), (p.minute, "min")];
    for (value, name) in parts {
        if value == 0 {
            continue;
        }
        // The first part decides whether the whole is "ago"; the others then show their sign relative to it.
        if first {
            ago = value < 0;
        }
        let shown = if ago { -value } else { value };
        out.push(b' ');
        int(out, shown);
        out.push(b' ');
        out.extend_from_slice(name.as_bytes());
        if shown != 1 {
            out.push(b's');
        }
        first = false;
    }
    if p.second != 0 || p.micros != 0 {
        out.push(b' ');
        if p.second < 0 || p.micros < 0 {
            if first {
                ago = true;
            } else if !ago {
                out.push(b'-');
            }
        } else if ago {
            out.push(b'-');
        }
        p.seconds(false, out);
        out.extend_from_slice(if p.second.abs() != 1 || p.micros != 0 { b" secs" } else { b" sec" });
        first = false;
    }
    if first {
        out.extend_from_slice(b" 0");
    }
    if ago {
        out.extend_from_slice(b" ago");
    }
}

fn write_sql(i: Interval, out: &mut Vec<u8>) {
    let p = Parts::of(i);
    let negative = p.all().iter().any(|v| *v < 0);
    let positive = p.all().iter().any(|v| *v > 0);
    let year_month = i.months != 0;
    let day_time = i.days != 0 || i.micros != 0;
    if !negative && !positive {
        return out.push(b'0');
    }
    let year_month_text = |out: &mut Vec<u8>| {
        int(out, p.year.unsigned_abs());
        out.push(b'-');
        int(out, p.month.unsigned_abs());
    };
    if negative && positive || year_month && day_time {
        let sign = |negative: bool| if negative { b'-' } else { b'+' };
        out.push(sign(i.months < 0));
        year_month_text(out);
        out.push(b' ');
        out.push(sign(i.days < 0));
        int(out, p.day.unsigned_abs());
        out.push(b' ');
        out.push(sign(i.micros < 0));
        return p.clock(out);
    }
    if negative {
        out.push(b'-');
    }
    if year_month {
        return year_month_text(out);
    }
    if p.day != 0 {
        int(out, p.day.unsigned_abs());
        out.push(b' ');
    }
    p.clock(out);
}

fn write_iso(i: Interval, out: &mut Vec<u8>) {
    let p = Parts::of(i);
    if p.all().iter().all(|v| *v == 0) {
        return out.extend_from_slice(b"PT0S");
    }
    let part = |value: i64, unit: u8, out: &mut Vec<u8>| {
        if value != 0 {
            int(out, value);
            out.push(unit);
        }
    };
    out.push(b'P');
    part(p.year, b'Y', out);
    part(p.month, b'M', out);
    part(p.day, b'D', out);
    if i.micros != 0 {
        out.push(b'T');
        part(p.hour, b'H', out);
        part(p.minute, b'M', out);
        if p.second != 0 || p.micros != 0 {
            if p.second < 0 || p.micros < 0 {
                out.push(b'-');
            }
            p.seconds(false, out);
            out.push(b'S');
        }
    }
}
