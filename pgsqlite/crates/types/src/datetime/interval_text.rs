//! Reading intervals: PostgreSQL's, the SQL standard's and ISO 8601's input syntax. `interval_format` prints them.
//! The storage form is the style `postgres` (`1 year 2 mons -3 days +04:05:06.7`), which loses nothing.

use super::lex::{clock_fields, fields, leading_int, Failure, Kind};
use super::tokens::{self, Span};
use super::{
    interval_out_of_range, round_micros, Interval, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE,
    MICROS_PER_SECOND,
};
use crate::settings::IntervalStyle;
use crate::typmod::{interval_range as range, interval_range_precision, INTERVAL_FULL_PRECISION};
use crate::{PgError, Result, SqlState};

type Parsed<T> = std::result::Result<T, Failure>;

/// The fields of an interval while they are added up; each in its own range.
#[derive(Default)]
struct Sum {
    years: i32,
    months: i32,
    days: i32,
    micros: i64,
}

fn fit(value: i64) -> Parsed<i32> {
    i32::try_from(value).map_err(|_| Failure::Field)
}

impl Sum {
    fn add_years(&mut self, value: i64, fraction: f64, scale: i64) -> Parsed<()> {
        let years = fit(value)?.checked_mul(scale as i32).ok_or(Failure::Field)?;
        self.years = self.years.checked_add(years).ok_or(Failure::Field)?;
        let months = (fraction * scale as f64 * 12.0).round_ties_even() as i32;
        self.months = self.months.checked_add(months).ok_or(Failure::Field)?;
        Ok(())
    }
    fn add_months(&mut self, value: i64, fraction: f64) -> Parsed<()> {
        self.months = self.months.checked_add(fit(value)?).ok_or(Failure::Field)?;
        self.add_fraction_of_days(fraction, 30)
    }
    /// Days where the fraction is of a day.
    fn add_days(&mut self, value: i64, fraction: f64) -> Parsed<()> {
        self.days = self.days.checked_add(fit(value)?).ok_or(Failure::Field)?;
        self.add_fraction(fraction, MICROS_PER_DAY)
    }
    fn add_weeks(&mut self, value: i64, fraction: f64) -> Parsed<()> {
        let days = fit(value)?.checked_mul(7).ok_or(Failure::Field)?;
        self.days = self.days.checked_add(days).ok_or(Failure::Field)?;
        self.add_fraction_of_days(fraction, 7)
    }
    fn add_fraction_of_days(&mut self, fraction: f64, scale: i32) -> Parsed<()> {
        let days = fraction * scale as f64;
        let whole = days as i32;
        self.days = self.days.checked_add(whole).ok_or(Failure::Field)?;
        self.add_fraction(days - whole as f64, MICROS_PER_DAY)
    }
    fn add_fraction(&mut self, fraction: f64, scale: i64) -> Parsed<()> {
        let micros = fraction * scale as f64;
        let mut whole = micros as i64;
        let rest = micros - whole as f64;
        if rest > 0.5 {
            whole += 1;
        } else if rest < -0.5 {
            whole -= 1;
        }
        self.micros = self.micros.checked_add(whole).ok_or(Failure::Field)?;
        Ok(())
    }
    fn add_micros(&mut self, value: i64, fraction: f64, scale: i64) -> Parsed<()> {
        let micros = value.checked_mul(scale).ok_or(Failure::Field)?;
        self.micros = self.micros.checked_add(micros).ok_or(Failure::Field)?;
        self.add_fraction(fraction, scale)
    }
}

/// Reads an interval; `typmod` limits its fields and precision (and tells what a bare number means).
pub fn parse(text: &str, typmod: i32, style: IntervalStyle) -> Result<Interval> {
    let fields_allowed = interval_range_precision(typmod).map_or(range::FULL, |r| r.0);
    let mut sum = Sum::default();
    let result = fields(text).and_then(|f| decode(&f, fields_allowed, style, &mut sum));
    let result = match result {
        Err(Failure::Format) => {
            sum = Sum::default();
            decode_iso(text, &mut sum)
        }
        other => other,
    };
    result.map_err(|f| if f == Failure::Field { Failure::Interval } else { f }.error("interval", text))?;
    let months = sum.years as i64 * 12 + sum.months as i64;
    let months = i32::try_from(months).map_err(|_| interval_out_of_range())?;
    Interval { months, days: sum.days, micros: sum.micros }.apply_typmod(typmod)
}

/// A leading 64-bit integer as strtol reads it, and the rest.
fn leading_i64(text: &str) -> Parsed<(i64, &str)> {
    let sign = usize::from(text.starts_with(['+', '-']));
    let n = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if n == 0 {
        return Ok((0, if text[sign..].starts_with('.') { &text[sign..] } else { text }));
    }
    Ok((text[..sign + n].parse().map_err(|_| Failure::Field)?, &text[sign + n..]))
}

fn fraction_of(text: &str) -> Parsed<f64> {
    if text == "." {
        return Ok(0.0);
    }
    if !text[1..].bytes().all(|b| b.is_ascii_digit()) {
        return Err(Failure::Format);
    }
    text.parse().map_err(|_| Failure::Format)
}

/// What a number without a unit means, by the fields that the type allows.
fn default_unit(allowed: i32) -> Span {
    use range::*;
    match allowed {
        YEAR => Span::Year,
        r if r == MONTH || r == YEAR | MONTH => Span::Month,
        DAY => Span::Day,
        r if r == HOUR || r == DAY | HOUR => Span::Hour,
        r if r == MINUTE || r == HOUR | MINUTE || r == DAY | HOUR | MINUTE => Span::Minute,
        _ => Span::Second,
    }
}

/// `h:m[:s]`, as microseconds.
fn clock_micros(field: &str, allowed: i32) -> Parsed<i64> {
    let c = clock_fields(field, allowed == range::MINUTE | range::SECOND)?;
    let rest = c.minute as i64 * MICROS_PER_MINUTE + c.second as i64 * MICROS_PER_SECOND + c.micros as i64;
    c.hour.checked_mul(MICROS_PER_HOUR).and_then(|h| h.checked_add(rest)).ok_or(Failure::Field)
}

/// Bits of fields that have been seen, so that none comes twice.
fn bit(span: Span) -> u32 {
    1 << span as u32
}

/// Reads the fields from right to left: units come before their values that way.
fn decode(fields: &[(Kind, String)], allowed: i32, style: IntervalStyle, sum: &mut Sum) -> Parsed<()> {
    let negate_all = style == IntervalStyle::SqlStandard
        && fields.first().is_some_and(|f| f.1.starts_with('-'))
        && !fields[1..].iter().any(|f| f.1.starts_with(['-', '+']));
    let clock_bits = bit(Span::Hour) | bit(Span::Minute) | SECONDS;
    const SECONDS: u32 = 1 << Span::Second as u32 | 1 << Span::Millisecond as u32 | 1 << Span::Microsecond as u32;
    let (mut unit, mut ago, mut seen): (Option<Span>, bool, u32) = (None, false, 0);
    for (kind, field) in fields.iter().rev() {
        let mut new = 0;
        let clock = match kind {
            Kind::Time => Some(clock_micros(field, allowed)?),
            Kind::Zone if field.contains(':') => clock_micros(&field[1..], allowed).ok(),
            _ => None,
        };
        match kind {
            Kind::Time | Kind::Zone if clock.is_some() => {
                let mut micros = clock.unwrap_or(0);
                if field.starts_with('-') || negate_all && micros > 0 {
                    micros = -micros;
                }
                sum.micros = micros;
                new = clock_bits;
                unit = Some(Span::Day);
            }
            Kind::Zone | Kind::Date | Kind::Number => {
                let mut this = unit.unwrap_or_else(|| default_unit(allowed));
                let (mut value, rest) = leading_i64(field)?;
                let mut part = 0.0;
                if let Some(months) = rest.strip_prefix('-') {
                    let (m, rest) = leading_int(months)?;
                    if !(0..12).contains(&m) {
                        return Err(Failure::Field);
                    }
                    if !rest.is_empty() {
                        return Err(Failure::Format);
                    }
                    this = Span::Month;
                    let m = if field.starts_with('-') { -m } else { m };
                    value = value.checked_mul(12).and_then(|v| v.checked_add(m as i64)).ok_or(Failure::Field)?;
                } else if rest.starts_with('.') {
                    part = fraction_of(rest)?;
                    if field.starts_with('-') {
                        part = -part;
                    }
                } else if !rest.is_empty() {
                    return Err(Failure::Format);
                }
                if negate_all {
                    value = -value.abs();
                    part = -part.abs();
                }
                unit = Some(this);
                new = bit(this);
                match this {
                    Span::Microsecond => sum.add_micros(value, part, 1)?,
                    Span::Millisecond => sum.add_micros(value, part, 1000)?,
                    Span::Second => {
                        sum.add_micros(value, part, MICROS_PER_SECOND)?;
                        if part != 0.0 {
                            new = SECONDS;
                        }
                    }
                    Span::Minute => sum.add_micros(value, part, MICROS_PER_MINUTE)?,
                    Span::Hour => {
                        sum.add_micros(value, part, MICROS_PER_HOUR)?;
                        unit = Some(Span::Day);
                    }
                    Span::Day => sum.add_days(value, part)?,
                    Span::Week => sum.add_weeks(value, part)?,
                    Span::Month => sum.add_months(value, part)?,
                    Span::Year => sum.add_years(value, part, 1)?,
                    Span::Decade => sum.add_years(value, part, 10)?,
                    Span::Century => sum.add_years(value, part, 100)?,
                    Span::Millennium => sum.add_years(value, part, 1000)?,
                    Span::Quarter | Span::Timezone | Span::TimezoneHour | Span::TimezoneMinute | Span::Ago => {
                        return Err(Failure::Format)
                    }
                }
            }
            Kind::Text | Kind::Special => match tokens::span(field) {
                Some(Span::Ago) => {
                    ago = true;
                    unit = Some(Span::Ago);
                }
                Some(u) => unit = Some(u),
                None => return Err(Failure::Format),
            },
            Kind::Time => return Err(Failure::Format),
        }
        if seen & new != 0 {
            return Err(Failure::Format);
        }
        seen |= new;
    }
    if seen == 0 {
        return Err(Failure::Format);
    }
    if ago {
        sum.years = sum.years.checked_neg().ok_or(Failure::Field)?;
        sum.months = sum.months.checked_neg().ok_or(Failure::Field)?;
        sum.days = sum.days.checked_neg().ok_or(Failure::Field)?;
        sum.micros = sum.micros.checked_neg().ok_or(Failure::Field)?;
    }
    Ok(())
}

/// A number of an ISO 8601 interval, which may have an exponent: whole part, fraction, digits before a point or unit, the rest
/// of the text. It is read as a float, so digits past the 15th or so are lost, as in PostgreSQL.
fn iso_number(text: &str) -> Parsed<(i64, f64, usize, &str)> {
    /// Beyond this a float does not tell fractions.
    const MOST: f64 = 1e15;
    let bytes = text.as_bytes();
    let digits_from = |at: usize| bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
    let sign = usize::from(text.starts_with('-'));
    let width = digits_from(sign);
    let mut end = sign + width;
    let mut digits = width;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits_from(end + 1);
        digits += fraction;
        end += 1 + fraction;
    }
    if digits == 0 {
        return Err(Failure::Format);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = bytes.get(end + 1 + signed..).map_or(0, |_| digits_from(end + 1 + signed));
        if exponent > 0 {
            end += 1 + signed + exponent;
        }
    }
    let value: f64 = text[..end].parse().map_err(|_| Failure::Format)?;
    if !(-MOST..=MOST).contains(&value) {
        return Err(Failure::Field);
    }
    let whole = value.trunc();
    Ok((whole as i64, value - whole, width, &text[end..]))
}

/// `P1Y2M3DT4H5M6S`, `P0001-02-03T04:05:06`, `P00010203T040506`.
fn decode_iso(text: &str, sum: &mut Sum) -> Parsed<()> {
    let mut rest = text.strip_prefix('P').filter(|r| !r.is_empty()).ok_or(Failure::Format)?;
    let (mut date, mut have_field) = (true, false);
    let next = |t: &str| t.chars().next().unwrap_or('\0');
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix('T') {
            (date, have_field, rest) = (false, false, time);
            continue;
        }
        let (value, part, width, after) = iso_number(rest)?;
        let unit = next(after);
        rest = after.get(unit.len_utf8()..).unwrap_or("");
        match (date, unit) {
            (true, 'Y') => sum.add_years(value, part, 1)?,
            (true, 'M') => sum.add_months(value, part)?,
            (true, 'W') => sum.add_weeks(value, part)?,
            (true, 'D') => sum.add_days(value, part)?,
            (true, 'T' | '\0') if width == 8 && !have_field => {
                sum.add_years(value / 10_000, 0.0, 1)?;
                sum.add_months(value / 100 % 100, 0.0)?;
                sum.add_days(value % 100, part)?;
                (date, have_field) = (false, false);
                continue;
            }
            (true, 'T' | '\0' | '-') => {
                if have_field {
                    return Err(Failure::Format);
                }
                sum.add_years(value, part, 1)?;
                if unit != '-' {
                    (date, have_field) = (false, false);
                    continue;
                }
                let (value, part, _, after) = iso_number(rest)?;
                sum.add_months(value, part)?;
                rest = after;
                if let Some(days) = rest.strip_prefix('-') {
                    let (value, part, _, after) = iso_number(days)?;
                    sum.add_days(value, part)?;
                    rest = after;
                }
                if !rest.is_empty() && !rest.starts_with('T') {
                    return Err(Failure::Format);
                }
                continue;
            }
            (false, 'H') => sum.add_micros(value, part, MICROS_PER_HOUR)?,
            (false, 'M') => sum.add_micros(value, part, MICROS_PER_MINUTE)?,
            (false, 'S') => sum.add_micros(value, part, MICROS_PER_SECOND)?,
            (false, '\0') if width == 6 && !have_field => {
                sum.add_micros(value / 10_000, 0.0, MICROS_PER_HOUR)?;
                sum.add_micros(value / 100 % 100, 0.0, MICROS_PER_MINUTE)?;
                sum.add_micros(value % 100, part, MICROS_PER_SECOND)?;
                return Ok(());
            }
            (false, '\0' | ':') => {
                if have_field {
                    return Err(Failure::Format);
                }
                sum.add_micros(value, part, MICROS_PER_HOUR)?;
                if unit == '\0' {
                    return Ok(());
                }
                let (value, part, _, after) = iso_number(rest)?;
                sum.add_micros(value, part, MICROS_PER_MINUTE)?;
                if let Some(seconds) = after.strip_prefix(':') {
                    let (value, part, _, after) = iso_number(seconds)?;
                    sum.add_micros(value, part, MICROS_PER_SECOND)?;
                    return if after.is_empty() { Ok(()) } else { Err(Failure::Format) };
                }
                return if after.is_empty() { Ok(()) } else { Err(Failure::Format) };
            }
            _ => return Err(Failure::Format),
        }
        have_field = true;
    }
    Ok(())
}

impl Interval {
    /// Drops the fields that the typmod excludes and rounds to its precision.
    pub fn apply_typmod(self, typmod: i32) -> Result<Interval> {
        let Some((allowed, precision)) = interval_range_precision(typmod) else { return Ok(self) };
        use range::*;
        let mut i = self;
        match allowed {
            YEAR => i = Interval::new(i.months / 12 * 12, 0, 0),
            r if r == MONTH || r == YEAR | MONTH => i = Interval::new(i.months, 0, 0),
            DAY => i.micros = 0,
            r if r == HOUR || r == DAY | HOUR => i.micros -= i.micros % MICROS_PER_HOUR,
            r if r == MINUTE || r == HOUR | MINUTE || r == DAY | HOUR | MINUTE => {
                i.micros -= i.micros % MICROS_PER_MINUTE
            }
            _ => {}
        }
        if precision != INTERVAL_FULL_PRECISION {
            if precision > 6 {
                return Err(PgError::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("interval({precision}) precision must be between 0 and 6"),
                ));
            }
            i.micros = round_micros(i.micros, precision);
        }
        Ok(i)
    }

    /// The storage form.
    pub fn to_storage(self) -> String {
        let mut out = Vec::with_capacity(32);
        super::interval_format::write_postgres(self, &mut out);
        String::from_utf8(out).expect("intervals are printed in ASCII")
    }

    /// The value of a storage form (or of any text that reads as an interval); None otherwise.
    pub fn from_storage(text: &str) -> Option<Interval> {
        from_canonical(text).or_else(|| parse(text, -1, IntervalStyle::Postgres).ok())
    }
}

/// How the smallest number of microseconds is printed.
const LEAST_MICROS: &str = "-2562047788:00:54.775808";

/// Reads exactly what [`super::interval_format::write_postgres`] prints, without allocating.
fn from_canonical(text: &str) -> Option<Interval> {
    let mut i = Interval::default();
    let mut words = text.split(' ');
    while let Some(word) = words.next() {
        if word.contains(':') {
            let (negative, clock) = match word.as_bytes()[0] {
                b'-' => (true, &word[1..]),
                b'+' => (false, &word[1..]),
                _ => (false, word),
            };
            i.micros = match clock_micros(clock, range::FULL) {
                Ok(micros) if negative => -micros,
                Ok(micros) => micros,
                // The least value has no positive counterpart.
                Err(_) if word == LEAST_MICROS => i64::MIN,
                Err(_) => return None,
            };
            return words.next().is_none().then_some(i);
        }
        let value: i32 = word.parse().ok()?;
        match words.next()? {
            "year" | "years" => i.months = i.months.checked_add(value.checked_mul(12)?)?,
            "mon" | "mons" => i.months = i.months.checked_add(value)?,
            "day" | "days" => i.days = value,
            _ => return None,
        }
    }
    Some(i)
}
