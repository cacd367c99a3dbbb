//! PostgreSQL's input syntax of dates, times and timestamps: a text is cut into fields by their looks (`fields`), then
//! the fields are understood one by one in the light of those before them ([`Decoder`]). The rules, including the odd
//! ones, are those of the manual's appendix B.1.

use super::tokens::{self, Unit, Word};
use super::zone::{self, Abbreviation, Zone};
use super::{calendar, Civil, Date, Time, TimeTz, Timestamp, MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::settings::DateOrder;
use crate::{PgError, Result, Settings, SqlState};
use jiff::tz::TimeZone;

/// Why a text was refused; [`Failure::error`] words it.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    Format,
    Field,
    /// month or day out of range: perhaps the order is wrong
    MonthDay,
    Interval,
    Zone,
    /// a finished error
    Other(PgErrorBox),
}

/// A [`PgError`] that can be compared in tests (never equal).
#[derive(Debug, Clone)]
pub struct PgErrorBox(pub PgError);
impl PartialEq for PgErrorBox {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

impl Failure {
    /// The error for input `text` of a type (`date`, `timestamp with time zone` …).
    pub fn error(self, type_name: &str, text: &str) -> PgError {
        match self {
            Failure::Format => PgError::new(
                SqlState::INVALID_DATETIME_FORMAT,
                format!("invalid input syntax for type {type_name}: \"{text}\""),
            ),
            Failure::Field => field_out_of_range(text),
            Failure::MonthDay => field_out_of_range(text).hint("Perhaps you need a different \"datestyle\" setting."),
            Failure::Interval => PgError::new(
                SqlState::INTERVAL_FIELD_OVERFLOW,
                format!("interval field value out of range: \"{text}\""),
            ),
            Failure::Zone => PgError::new(
                SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
                format!("time zone displacement out of range: \"{text}\""),
            ),
            Failure::Other(e) => e.0,
        }
    }
}

fn field_out_of_range(text: &str) -> PgError {
    PgError::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("date/time field value out of range: \"{text}\""))
}

type Parsed<T> = std::result::Result<T, Failure>;

/// What a field looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Text,
    Date,
    Time,
    Zone,
    /// a signed word (`+infinity`)
    Special,
}

/// Most fields in one text, and most bytes.
const MAX_FIELDS: usize = 25;
const MAX_BYTES: usize = 128 + MAX_FIELDS;

/// Cuts a text into fields, in lower case.
pub(super) fn fields(text: &str) -> Parsed<Vec<(Kind, String)>> {
    let b = text.as_bytes();
    let at = |i: usize| b.get(i).copied().unwrap_or(0);
    let mut found: Vec<(Kind, String)> = Vec::new();
    let mut size = 0;
    let mut i = 0;
    while i < b.len() {
        if crate::write::is_space(b[i]) {
            i += 1;
            continue;
        }
        let start = i;
        let run = |mut i: usize, more: &dyn Fn(u8) -> bool| {
            while i < b.len() && more(b[i]) {
                i += 1;
            }
            i
        };
        let digit = |c: u8| c.is_ascii_digit();
        let alpha = |c: u8| c.is_ascii_alphabetic();
        let mut skipped = None;
        let kind = if digit(b[i]) {
            i = run(i, &digit);
            match at(i) {
                b':' => {
                    i = run(i, &|c| digit(c) || c == b':' || c == b'.');
                    Kind::Time
                }
                separator @ (b'-' | b'/' | b'.') => {
                    i += 1;
                    if digit(at(i)) {
                        let mut kind = if separator == b'.' { Kind::Number } else { Kind::Date };
                        i = run(i, &digit);
                        if at(i) == separator {
                            kind = Kind::Date;
                            i = run(i, &|c| digit(c) || c == separator);
                        }
                        kind
                    } else {
                        i = run(i, &|c| c.is_ascii_alphanumeric() || c == separator);
                        Kind::Date
                    }
                }
                _ => Kind::Number,
            }
        } else if b[i] == b'.' {
            i = run(i + 1, &digit);
            Kind::Number
        } else if alpha(b[i]) {
            i = run(i, &alpha);
            let date = match at(i) {
                b'-' | b'/' | b'.' => true,
                b'+' | b'0'..=b'9' => tokens::word(&text[start..i].to_ascii_lowercase()).is_none(),
                _ => false,
            };
            if date {
                i = run(i, &|c| c.is_ascii_alphanumeric() || b"+-/_.:".contains(&c));
                Kind::Date
            } else {
                Kind::Text
            }
        } else if matches!(b[i], b'+' | b'-') {
            i = run(i + 1, &crate::write::is_space);
            skipped = Some(i);
            if digit(at(i)) {
                i = run(i, &|c| digit(c) || c == b':' || c == b'.' || c == b'-');
                Kind::Zone
            } else if alpha(at(i)) {
                i = run(i, &alpha);
                Kind::Special
            } else {
                return Err(Failure::Format);
            }
        } else if b[i].is_ascii_punctuation() {
            i += 1;
            continue;
        } else {
            return Err(Failure::Format);
        };
        let mut field = text[start..i].to_ascii_lowercase();
        if let Some(after) = skipped {
            field = format!("{}{}", &text[start..start + 1], text[after..i].to_ascii_lowercase());
        }
        size += field.len() + 1;
        if found.len() >= MAX_FIELDS || size > MAX_BYTES {
            return Err(Failure::Format);
        }
        found.push((kind, field));
    }
    Ok(found)
}

/// A leading integer as C's strtol reads it into an `int`, and the rest.
pub(super) fn leading_int(text: &str) -> Parsed<(i32, &str)> {
    let sign = usize::from(text.starts_with(['+', '-']));
    let n = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if n == 0 {
        return Ok((0, text));
    }
    let end = sign + n;
    let value: i32 = text[..end].parse().map_err(|_| Failure::Field)?;
    Ok((value, &text[end..]))
}

/// `.ffffff…` in microseconds, rounded.
pub(super) fn fraction_micros(text: &str) -> Parsed<i32> {
    let digits = text.strip_prefix('.').ok_or(Failure::Format)?;
    if digits.is_empty() {
        return Ok(0);
    }
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Failure::Format);
    }
    let fraction: f64 = text.parse().map_err(|_| Failure::Format)?;
    Ok((fraction * 1e6).round_ties_even() as i32)
}

mod mask {
    pub const RESERVED: u32 = 1;
    pub const MONTH: u32 = 1 << 1;
    pub const YEAR: u32 = 1 << 2;
    pub const DAY: u32 = 1 << 3;
    pub const ZONE: u32 = 1 << 5;
    pub const AM_PM: u32 = 1 << 9;
    pub const HOUR: u32 = 1 << 10;
    pub const MINUTE: u32 = 1 << 11;
    pub const SECOND: u32 = 1 << 12;
    pub const FRACTION: u32 = 1 << 13 | 1 << 14;
    pub const DAY_OF_YEAR: u32 = 1 << 15;
    pub const DAY_OF_WEEK: u32 = 1 << 16;
    pub const ERA: u32 = 1 << 18;
    pub const DST: u32 = 1 << 28;
    pub const DATE: u32 = YEAR | MONTH | DAY;
    pub const SECONDS: u32 = SECOND | FRACTION;
    pub const TIME: u32 = HOUR | MINUTE | SECONDS;
}

/// What the words of a text came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Fields,
    Infinity,
    NegInfinity,
    Epoch,
}

/// The zone that a text named.
#[derive(Debug, Clone)]
enum NamedZone {
    Full(TimeZone),
    Abbreviation(TimeZone, String),
}

struct Decoder<'a> {
    settings: &'a Settings,
    /// `time`, `timetz`: a date may only stand where a zone needs it
    time_only: bool,
    seen: u32,
    civil: Civil,
    day_of_year: i32,
    two_digits: bool,
    julian: bool,
    bc: bool,
    /// 12-hour clock: Some(pm)
    pm: Option<bool>,
    text_month: bool,
    /// Seconds east of UTC.
    offset: i32,
    named: Option<NamedZone>,
    outcome: Outcome,
}

/// Seconds east of UTC of `±hh[:mm[:ss]]` or `±hhmm`.
fn numeric_zone(text: &str) -> Parsed<i32> {
    let negative = match text.as_bytes().first() {
        Some(b'+') => false,
        Some(b'-') => true,
        _ => return Err(Failure::Format),
    };
    let int = |t: &str| -> Parsed<(i32, String)> {
        leading_int(t).map(|(v, rest)| (v, rest.to_string())).map_err(|_| Failure::Zone)
    };
    let (mut hour, mut rest) = int(&text[1..])?;
    let (mut minute, mut second) = (0, 0);
    if let Some(t) = rest.clone().strip_prefix(':') {
        (minute, rest) = int(t)?;
        if let Some(t) = rest.clone().strip_prefix(':') {
            (second, rest) = int(t)?;
        }
    } else if rest.is_empty() && text.len() > 3 {
        minute = hour % 100;
        hour /= 100;
    }
    if !(0..=15).contains(&hour) || !(0..60).contains(&minute) || !(0..60).contains(&second) {
        return Err(Failure::Zone);
    }
    if !rest.is_empty() {
        return Err(Failure::Format);
    }
    let offset = hour * 3600 + minute * 60 + second;
    Ok(if negative { -offset } else { offset })
}

impl<'a> Decoder<'a> {
    fn new(settings: &'a Settings, time_only: bool) -> Self {
        Decoder {
            settings,
            time_only,
            seen: 0,
            civil: Civil::default(),
            day_of_year: 0,
            two_digits: false,
            julian: false,
            bc: false,
            pm: None,
            text_month: false,
            offset: 0,
            named: None,
            outcome: Outcome::Fields,
        }
    }

    /// What counts as seen when numbers are read: for a time of day the date is taken as known.
    fn date_known(&self) -> u32 {
        if self.time_only {
            self.seen | mask::DATE
        } else {
            self.seen
        }
    }

    fn run(&mut self, fields: &[(Kind, String)]) -> Parsed<()> {
        let mut label: Option<Unit> = None;
        for (i, (kind, field)) in fields.iter().enumerate() {
            let kinds = |k: usize| fields.get(k).map(|f| f.0);
            let last_is_date = fields.last().map(|f| f.0) == Some(Kind::Date);
            let new = match kind {
                Kind::Date if self.time_only => {
                    if i == 0 && fields.len() >= 2 && (last_is_date || kinds(1) == Some(Kind::Time)) {
                        self.date(field)?
                    } else {
                        self.time_and_zone(field)?
                    }
                }
                Kind::Date if label == Some(Unit::Julian) => {
                    let (day, rest) = leading_int(field)?;
                    if day < 0 {
                        return Err(Failure::Field);
                    }
                    self.set_julian(day);
                    self.offset = numeric_zone(rest)?;
                    label = None;
                    mask::DATE | mask::TIME | mask::ZONE
                }
                Kind::Date if label.is_some() || self.seen & (mask::MONTH | mask::DAY) == mask::MONTH | mask::DAY => {
                    if label.take().is_some_and(|l| l != Unit::Time) {
                        return Err(Failure::Format);
                    }
                    self.time_and_zone(field)?
                }
                Kind::Date => self.date(field)?,
                Kind::Time => {
                    if label.take().is_some_and(|l| l != Unit::Time) {
                        return Err(Failure::Format);
                    }
                    self.time(field)?;
                    self.check_time()?;
                    mask::TIME
                }
                Kind::Zone => {
                    self.offset = numeric_zone(field)?;
                    mask::ZONE
                }
                Kind::Number => match label.take() {
                    Some(l) => self.labelled(l, field)?,
                    None => self.number_field(field, i, fields.len(), last_is_date)?,
                },
                Kind::Text | Kind::Special => match self.word(field, &mut label, kinds(i + 1))? {
                    Some(new) => new,
                    None => continue,
                },
            };
            if self.seen & new != 0 {
                return Err(Failure::Format);
            }
            self.seen |= new;
        }
        self.finish()
    }

    /// A number that no word labels.
    fn number_field(&mut self, field: &str, i: usize, count: usize, last_is_date: bool) -> Parsed<u32> {
        let point = field.find('.');
        if self.time_only {
            return match point {
                Some(_) if i == 0 && count >= 2 && last_is_date => self.date(field),
                Some(p) if p > 2 => self.run_together(field, self.date_known()),
                Some(_) => Err(Failure::Format),
                None if field.len() > 4 => self.run_together(field, self.date_known()),
                None => self.number(field, self.date_known(), false),
            };
        }
        let (date, time) = (self.seen & mask::DATE, self.seen & mask::TIME);
        match point {
            Some(_) if date == 0 => self.date(field),
            Some(p) if p > 2 => self.run_together(field, self.seen),
            None if field.len() >= 6 && (date == 0 || time == 0) => self.run_together(field, self.seen),
            _ => self.number(field, self.seen, self.text_month),
        }
    }

    /// A number after a label such as `y` or `j`.
    fn labelled(&mut self, label: Unit, field: &str) -> Parsed<u32> {
        let (value, rest) = leading_int(field)?;
        let decimal = matches!(label, Unit::Julian | Unit::Time | Unit::Second);
        let allowed = rest.is_empty() || rest.starts_with('.') && decimal;
        if !allowed {
            return Err(Failure::Format);
        }
        let c = &mut self.civil;
        Ok(match label {
            Unit::Year => {
                c.year = value;
                mask::YEAR
            }
            Unit::Month if self.seen & mask::MONTH != 0 && self.seen & mask::HOUR != 0 => {
                c.minute = value;
                mask::MINUTE
            }
            Unit::Month => {
                c.month = value;
                mask::MONTH
            }
            Unit::Day => {
                c.day = value;
                mask::DAY
            }
            Unit::Hour => {
                c.hour = value;
                mask::HOUR
            }
            Unit::Minute => {
                c.minute = value;
                mask::MINUTE
            }
            Unit::Second => {
                c.second = value;
                if rest.is_empty() {
                    mask::SECOND
                } else {
                    c.micros = fraction_micros(rest)?;
                    mask::SECONDS
                }
            }
            Unit::Julian => {
                if value < 0 {
                    return Err(Failure::Field);
                }
                self.set_julian(value);
                if rest.is_empty() {
                    mask::DATE
                } else {
                    let fraction: f64 = rest.parse().map_err(|_| Failure::Format)?;
                    let micros = (fraction * MICROS_PER_DAY as f64) as i64;
                    let (h, m, s, f) = calendar::clock(micros);
                    (self.civil.hour, self.civil.minute, self.civil.second, self.civil.micros) = (h, m, s, f);
                    mask::DATE | mask::TIME
                }
            }
            Unit::Time => {
                let new = self.run_together(field, self.seen | mask::DATE)?;
                if new != mask::TIME {
                    return Err(Failure::Format);
                }
                new
            }
            Unit::Other => return Err(Failure::Format),
        })
    }

    fn set_julian(&mut self, day: i32) {
        let (y, m, d) = calendar::civil(day.wrapping_sub(calendar::EPOCH_JULIAN));
        (self.civil.year, self.civil.month, self.civil.day) = (y, m, d);
        self.julian = true;
    }

    /// A word. None: it adds nothing (a label or filler).
    fn word(&mut self, field: &str, label: &mut Option<Unit>, next: Option<Kind>) -> Parsed<Option<u32>> {
        // Abbreviations of zones take precedence over words.
        if let Some(abbreviation) = zone::abbreviation(field) {
            return match abbreviation {
                Abbreviation::Fixed(offset, _) => {
                    self.offset = offset;
                    Ok(Some(mask::ZONE))
                }
                Abbreviation::Dynamic(name) => {
                    let zone = zone::by_name(name).ok_or(Failure::Format)?;
                    self.named = Some(NamedZone::Abbreviation(zone, field.to_string()));
                    Ok(Some(mask::ZONE))
                }
            };
        }
        let Some(word) = tokens::word(field) else {
            let zone = zone::by_name(field).ok_or(Failure::Format)?;
            self.named = Some(NamedZone::Full(zone));
            return Ok(Some(mask::ZONE));
        };
        let everything = mask::DATE | mask::TIME | mask::ZONE;
        let mut special = |outcome| {
            if self.time_only {
                return Err(Failure::Format);
            }
            self.outcome = outcome;
            Ok(Some(mask::RESERVED))
        };
        match word {
            Word::Infinity => special(Outcome::Infinity),
            Word::NegInfinity => special(Outcome::NegInfinity),
            Word::Epoch => special(Outcome::Epoch),
            Word::Now => {
                let now = Timestamp(self.settings.transaction_timestamp);
                self.offset = zone::offset_at(&self.settings.time_zone, now);
                let local = Civil::of(Timestamp(now.0 + self.offset as i64 * MICROS_PER_SECOND));
                if self.time_only {
                    (self.civil.hour, self.civil.minute, self.civil.second, self.civil.micros) =
                        (local.hour, local.minute, local.second, local.micros);
                    return Ok(Some(mask::TIME));
                }
                self.civil = local;
                Ok(Some(everything))
            }
            Word::Today | Word::Tomorrow | Word::Yesterday => {
                if self.time_only {
                    return Err(Failure::Format);
                }
                let (today, _) = self.local_now().split();
                let day = today + if word == Word::Tomorrow { 1 } else { 0 } - i32::from(word == Word::Yesterday);
                (self.civil.year, self.civil.month, self.civil.day) = calendar::civil(day);
                Ok(Some(mask::DATE))
            }
            Word::Zulu => {
                (self.civil.hour, self.civil.minute, self.civil.second, self.civil.micros) = (0, 0, 0, 0);
                self.offset = 0;
                Ok(Some(mask::TIME | mask::ZONE))
            }
            Word::Month(month) => {
                let mut new = mask::MONTH;
                // A number taken for the month was the day after all.
                if self.seen & mask::MONTH != 0
                    && !self.text_month
                    && self.seen & mask::DAY == 0
                    && (1..=31).contains(&self.civil.month)
                {
                    self.civil.day = self.civil.month;
                    new = mask::DAY;
                }
                if self.time_only {
                    return Err(Failure::Format);
                }
                self.text_month = true;
                self.civil.month = month;
                Ok(Some(new))
            }
            Word::DstModifier => {
                self.offset += 3600;
                Ok(Some(mask::DST))
            }
            Word::Am | Word::Pm => {
                self.pm = Some(word == Word::Pm);
                Ok(Some(mask::AM_PM))
            }
            Word::Ad | Word::Bc => {
                self.bc = word == Word::Bc;
                Ok(Some(mask::ERA))
            }
            Word::DayOfWeek => {
                if self.time_only {
                    return Err(Failure::Format);
                }
                Ok(Some(mask::DAY_OF_WEEK))
            }
            Word::Unit(unit) => {
                *label = Some(unit);
                Ok(None)
            }
            Word::IsoTime => {
                if !self.time_only && self.seen & mask::DATE != mask::DATE {
                    return Err(Failure::Format);
                }
                if !matches!(next, Some(Kind::Number | Kind::Time | Kind::Date)) {
                    return Err(Failure::Format);
                }
                *label = Some(Unit::Time);
                Ok(None)
            }
            Word::Ignore => Ok(None),
        }
    }

    fn local_now(&self) -> Timestamp {
        zone::to_local(&self.settings.time_zone, Timestamp(self.settings.transaction_timestamp))
    }

    /// `hhmmss-zz` or a zone name with punctuation in it.
    fn time_and_zone(&mut self, field: &str) -> Parsed<u32> {
        if !field.starts_with(|c: char| c.is_ascii_digit()) {
            let zone = zone::by_name(field).ok_or_else(|| Failure::Other(PgErrorBox(zone::not_recognized(field))))?;
            self.named = Some(NamedZone::Full(zone));
            return Ok(mask::ZONE);
        }
        if self.seen & mask::TIME == mask::TIME {
            return Err(Failure::Format);
        }
        let dash = field.find('-').ok_or(Failure::Format)?;
        self.offset = numeric_zone(&field[dash..])?;
        Ok(self.run_together(&field[..dash], self.date_known())? | mask::ZONE)
    }

    /// A date with separators.
    fn date(&mut self, field: &str) -> Parsed<u32> {
        let mut parts: Vec<&str> = Vec::new();
        let b = field.as_bytes();
        let mut i = 0;
        while i < b.len() {
            while i < b.len() && !b[i].is_ascii_alphanumeric() {
                i += 1;
            }
            if i == b.len() {
                return Err(Failure::Format);
            }
            let start = i;
            let digits = b[i].is_ascii_digit();
            while i < b.len() && if digits { b[i].is_ascii_digit() } else { b[i].is_ascii_alphabetic() } {
                i += 1;
            }
            parts.push(&field[start..i]);
            // The separator goes, whatever it is; a letter right after a digit too.
            if i < b.len() {
                i += 1;
            }
        }
        let (mut seen, mut new, mut text_month) = (self.seen, 0, false);
        let mut add = |bits: u32, new: &mut u32| {
            if seen & bits != 0 {
                return Err(Failure::Format);
            }
            seen |= bits;
            *new |= bits;
            Ok(seen)
        };
        for part in parts.iter().filter(|p| !p.as_bytes()[0].is_ascii_digit()) {
            match tokens::word(part) {
                Some(Word::Ignore) => {}
                Some(Word::Month(m)) => {
                    self.civil.month = m;
                    text_month = true;
                    add(mask::MONTH, &mut new)?;
                }
                _ => return Err(Failure::Format),
            }
        }
        let mut known = self.seen | new;
        for part in parts.iter().filter(|p| p.as_bytes()[0].is_ascii_digit()) {
            let bits = self.number(part, known, text_month)?;
            known = add(bits, &mut new)?;
        }
        if known & !(mask::DAY_OF_YEAR | mask::ZONE) != mask::DATE {
            return Err(Failure::Format);
        }
        Ok(new)
    }

    /// One number of a date, understood by what is known so far.
    fn number(&mut self, field: &str, known: u32, text_month: bool) -> Parsed<u32> {
        let (value, rest) = leading_int(field)?;
        if rest.len() == field.len() {
            return Err(Failure::Format);
        }
        let digits = field.len() - rest.len();
        if rest.starts_with('.') {
            if digits > 2 {
                return self.run_together(field, known | mask::DATE);
            }
            self.civil.micros = fraction_micros(rest)?;
        } else if !rest.is_empty() {
            return Err(Failure::Format);
        }
        let length = field.len();
        if length == 3 && known & mask::DATE == mask::YEAR && (1..=366).contains(&value) {
            self.day_of_year = value;
            return Ok(mask::DAY_OF_YEAR | mask::MONTH | mask::DAY);
        }
        const YEAR_MONTH: u32 = mask::YEAR | mask::MONTH;
        const MONTH_DAY: u32 = mask::MONTH | mask::DAY;
        let order = self.settings.date_order;
        let new = match known & mask::DATE {
            0 if length >= 3 || order == DateOrder::Ymd => mask::YEAR,
            0 if order == DateOrder::Dmy => mask::DAY,
            0 => mask::MONTH,
            mask::YEAR => mask::MONTH,
            mask::MONTH if text_month && (length >= 3 || order == DateOrder::Ymd) => mask::YEAR,
            mask::MONTH => mask::DAY,
            YEAR_MONTH => {
                if text_month && length >= 3 && self.two_digits {
                    // The first number was the day.
                    self.civil.day = self.civil.year;
                    self.civil.year = value;
                    self.two_digits = false;
                    return Ok(mask::DAY);
                }
                mask::DAY
            }
            mask::DAY => mask::MONTH,
            MONTH_DAY => mask::YEAR,
            mask::DATE => return self.run_together(field, known),
            _ => return Err(Failure::Format),
        };
        match new {
            mask::YEAR => {
                self.civil.year = value;
                self.two_digits = length <= 2;
            }
            mask::MONTH => self.civil.month = value,
            _ => self.civil.day = value,
        }
        Ok(new)
    }

    /// `yymmdd`, `yyyymmdd`, `hhmmss`, `hhmm`, the times with a fraction.
    fn run_together(&mut self, field: &str, known: u32) -> Parsed<u32> {
        let int = |t: &str| t.parse::<i32>().map_err(|_| Failure::Format);
        let mut body = field;
        if let Some(p) = field.find('.') {
            self.civil.micros = fraction_micros(&field[p..])?;
            body = &field[..p];
        } else if known & mask::DATE != mask::DATE && body.len() >= 6 {
            let n = body.len();
            if !body.bytes().all(|b| b.is_ascii_digit()) {
                return Err(Failure::Format);
            }
            self.civil.day = int(&body[n - 2..])?;
            self.civil.month = int(&body[n - 4..n - 2])?;
            self.civil.year = body[..n - 4].parse().unwrap_or(i32::MAX);
            if n == 6 {
                self.two_digits = true;
            }
            return Ok(mask::DATE);
        }
        if known & mask::TIME != mask::TIME && body.bytes().all(|b| b.is_ascii_digit()) {
            if body.len() == 6 {
                self.civil.second = int(&body[4..])?;
            } else if body.len() == 4 {
                self.civil.second = 0;
            }
            if body.len() == 6 || body.len() == 4 {
                self.civil.minute = int(&body[2..4])?;
                self.civil.hour = int(&body[..2])?;
                return Ok(mask::TIME);
            }
        }
        Err(Failure::Format)
    }

    /// `h:m`, `h:m:s[.f]`, `m:s.f`
    fn time(&mut self, field: &str) -> Parsed<()> {
        let clock = clock_fields(field)?;
        let hour = i32::try_from(clock.hour).map_err(|_| Failure::Field)?;
        (self.civil.hour, self.civil.minute, self.civil.second, self.civil.micros) =
            (hour, clock.minute, clock.second, clock.micros);
        Ok(())
    }

    fn check_time(&self) -> Parsed<()> {
        let c = &self.civil;
        let fields = (0..=24).contains(&c.hour) && (0..60).contains(&c.minute) && (0..=60).contains(&c.second);
        if !fields || !(0..=1_000_000).contains(&c.micros) || c.day_micros() > MICROS_PER_DAY {
            return Err(Failure::Field);
        }
        Ok(())
    }

    /// Checks and completes what the fields gave.
    fn finish(&mut self) -> Parsed<()> {
        self.validate_date()?;
        let c = &mut self.civil;
        if let Some(pm) = self.pm {
            if c.hour > 12 {
                return Err(Failure::Field);
            }
            c.hour = match (pm, c.hour) {
                (false, 12) => 0,
                (true, h) if h != 12 => h + 12,
                (_, h) => h,
            };
        }
        if self.time_only {
            self.check_time()?;
            if self.seen & mask::TIME != mask::TIME {
                return Err(Failure::Format);
            }
            return self.finish_time_zone();
        }
        if self.outcome != Outcome::Fields {
            return Ok(());
        }
        if self.seen & mask::DATE != mask::DATE {
            return Err(Failure::Format);
        }
        let dst = self.seen & mask::DST != 0;
        match &self.named {
            Some(_) if dst => return Err(Failure::Format),
            Some(NamedZone::Full(zone)) => self.offset = offset_of(zone, &self.civil),
            Some(NamedZone::Abbreviation(zone, name)) => {
                let zone = Zone::Abbreviation(zone.clone(), name.clone());
                self.offset = self.civil.timestamp().map_or(0, |local| zone.offset_of_local(local));
            }
            None if self.seen & mask::ZONE == 0 => {
                if dst {
                    return Err(Failure::Format);
                }
                self.offset = offset_of(&self.settings.time_zone, &self.civil);
            }
            None => {}
        }
        Ok(())
    }

    /// The offset of a time of day: a zone whose offset changes needs a date.
    fn finish_time_zone(&mut self) -> Parsed<()> {
        let dst = self.seen & mask::DST != 0;
        let dated = self.seen & mask::DATE == mask::DATE;
        match self.named.clone() {
            Some(_) if dst => return Err(Failure::Format),
            Some(NamedZone::Full(zone)) => match zone::only_offset(&zone) {
                Some(offset) => self.offset = offset,
                None if dated => self.offset = offset_of(&zone, &self.civil),
                None => return Err(Failure::Format),
            },
            Some(NamedZone::Abbreviation(zone, _)) => self.offset = self.offset_today(&zone)?,
            None if self.seen & mask::ZONE == 0 => {
                if dst {
                    return Err(Failure::Format);
                }
                let zone = self.settings.time_zone.clone();
                self.offset = self.offset_today(&zone)?;
            }
            None => {}
        }
        Ok(())
    }

    fn offset_today(&self, zone: &TimeZone) -> Parsed<i32> {
        let mut civil = self.civil;
        if self.seen & mask::DATE == 0 {
            (civil.year, civil.month, civil.day) = calendar::civil(self.local_now().split().0);
        } else if self.seen & mask::DATE != mask::DATE {
            return Err(Failure::Format);
        }
        Ok(offset_of(zone, &civil))
    }

    fn validate_date(&mut self) -> Parsed<()> {
        let c = &mut self.civil;
        if self.seen & mask::YEAR != 0 && !self.julian && self.outcome == Outcome::Fields {
            if self.bc {
                if c.year <= 0 {
                    return Err(Failure::Field);
                }
                c.year = 1 - c.year;
            } else if self.two_digits {
                if c.year < 0 {
                    return Err(Failure::Field);
                }
                c.year += match c.year {
                    0..=69 => 2000,
                    70..=99 => 1900,
                    _ => 0,
                };
            } else if c.year <= 0 {
                return Err(Failure::Field);
            }
        }
        let c = &mut self.civil;
        if self.outcome != Outcome::Fields {
            return Ok(());
        }
        if self.seen & mask::DAY_OF_YEAR != 0 {
            let day = calendar::days(c.year, 1, 1) + self.day_of_year - 1;
            (c.year, c.month, c.day) = calendar::civil(day);
        }
        if self.seen & mask::MONTH != 0 && !(1..=12).contains(&c.month) {
            return Err(Failure::MonthDay);
        }
        if self.seen & mask::DAY != 0 && !(1..=31).contains(&c.day) {
            return Err(Failure::MonthDay);
        }
        if self.seen & mask::DATE == mask::DATE && c.day > calendar::days_in_month(c.year, c.month) {
            return Err(Failure::Field);
        }
        Ok(())
    }
}

fn offset_of(zone: &TimeZone, civil: &Civil) -> i32 {
    civil.timestamp().map_or(0, |local| zone::offset_of_local(zone, local))
}

/// A time with colons; the hour is not checked.
pub(super) struct Clock {
    pub hour: i64,
    pub minute: i32,
    pub second: i32,
    pub micros: i32,
    /// two fields only, without a fraction
    pub short: bool,
}

pub(super) fn clock_fields(field: &str) -> Parsed<Clock> {
    let n = field.bytes().take_while(u8::is_ascii_digit).count();
    let hour: i64 = field[..n].parse().map_err(|_| Failure::Field)?;
    let rest = field[n..].strip_prefix(':').ok_or(Failure::Format)?;
    let (minute, rest) = leading_int(rest)?;
    let mut clock = Clock { hour, minute, second: 0, micros: 0, short: false };
    if rest.is_empty() {
        clock.short = true;
    } else if rest.starts_with('.') {
        // Always minutes and seconds.
        clock.micros = fraction_micros(rest)?;
        clock.second = minute;
        clock.minute = i32::try_from(hour).map_err(|_| Failure::Field)?;
        clock.hour = 0;
    } else {
        let rest = rest.strip_prefix(':').ok_or(Failure::Format)?;
        let (second, rest) = leading_int(rest)?;
        clock.second = second;
        if !rest.is_empty() {
            clock.micros = fraction_micros(rest)?;
        }
    }
    let valid = (0..60).contains(&clock.minute) && (0..=60).contains(&clock.second) && clock.micros <= 1_000_000;
    if !valid {
        return Err(Failure::Field);
    }
    Ok(clock)
}

fn decode<'a>(text: &str, type_name: &str, settings: &'a Settings, time_only: bool) -> Result<Decoder<'a>> {
    let mut decoder = Decoder::new(settings, time_only);
    fields(text).and_then(|f| decoder.run(&f)).map_err(|f| f.error(type_name, text))?;
    Ok(decoder)
}

/// Reads a `date`.
pub fn date(text: &str, settings: &Settings) -> Result<Date> {
    if let Some(d) = plain(text).and_then(Date::from_storage) {
        return Ok(d);
    }
    let d = decode(text, "date", settings, false)?;
    let out_of_range = || PgError::new(SqlState::DATETIME_VALUE_OUT_OF_RANGE, format!("date out of range: \"{text}\""));
    match d.outcome {
        Outcome::Infinity => Ok(Date::INFINITY),
        Outcome::NegInfinity => Ok(Date::NEG_INFINITY),
        Outcome::Epoch => Ok(Date(-super::UNIX_EPOCH_DAYS)),
        Outcome::Fields => {
            let c = d.civil;
            if !calendar::is_valid_year_month(c.year, c.month) {
                return Err(out_of_range());
            }
            let date = Date(calendar::days(c.year, c.month, c.day));
            if date.is_valid() {
                Ok(date)
            } else {
                Err(out_of_range())
            }
        }
    }
}

/// Texts that begin like the storage form of years 1000 to 9999 need no further look; others might mean something else.
fn plain(text: &str) -> Option<&str> {
    let b = text.as_bytes();
    (b.len() >= 10 && b[0].is_ascii_digit() && b[0] != b'0' && b[4] == b'-').then_some(text)
}

/// `YYYY-MM-DD HH:MM:SS[.ffffff]`, with `T` for the blank, and nothing, `Z` or `±HH[:MM]` after it: what drivers send.
fn plain_timestamptz(text: &str, settings: &Settings) -> Option<Timestamp> {
    let b = plain(text)?.as_bytes();
    let end = 19 + b.get(19..)?.iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    let local = match b[10] {
        b' ' => Timestamp::from_storage(text.get(..end)?)?,
        b'T' => {
            let mut copy = [0u8; 26];
            let copy = copy.get_mut(..end)?;
            copy.copy_from_slice(&b[..end]);
            copy[10] = b' ';
            Timestamp::from_storage(std::str::from_utf8(copy).ok()?)?
        }
        _ => return None,
    };
    let offset = match text.get(end..)? {
        "" => zone::offset_of_local(&settings.time_zone, local),
        "Z" => 0,
        suffix if suffix.starts_with(['+', '-']) && suffix.is_ascii() => numeric_zone(suffix).ok()?,
        _ => return None,
    };
    Some(Timestamp(local.0 - offset as i64 * MICROS_PER_SECOND)).filter(|t| t.is_valid())
}

/// Reads a `timestamp`: a zone in the text is read and ignored.
pub fn timestamp(text: &str, settings: &Settings) -> Result<Timestamp> {
    if let Some(t) = plain(text).and_then(Timestamp::from_storage) {
        return Ok(t);
    }
    let d = decode(text, "timestamp", settings, false)?;
    finish_timestamp(&d, text, false)
}

/// Reads a `timestamp with time zone`.
pub fn timestamptz(text: &str, settings: &Settings) -> Result<Timestamp> {
    if let Some(t) = plain_timestamptz(text, settings) {
        return Ok(t);
    }
    let d = decode(text, "timestamp with time zone", settings, false)?;
    finish_timestamp(&d, text, true)
}

fn finish_timestamp(d: &Decoder, text: &str, zoned: bool) -> Result<Timestamp> {
    match d.outcome {
        Outcome::Infinity => Ok(Timestamp::INFINITY),
        Outcome::NegInfinity => Ok(Timestamp::NEG_INFINITY),
        Outcome::Epoch => Ok(Timestamp(-super::UNIX_EPOCH_MICROS)),
        Outcome::Fields => {
            let out_of_range =
                || PgError::new(SqlState::DATETIME_VALUE_OUT_OF_RANGE, format!("timestamp out of range: \"{text}\""));
            let c = &d.civil;
            if !calendar::is_valid_year_month(c.year, c.month) {
                return Err(out_of_range());
            }
            let days = calendar::days(c.year, c.month, c.day) as i64;
            let local = days.checked_mul(MICROS_PER_DAY).and_then(|v| v.checked_add(c.day_micros()));
            let shift = if zoned { d.offset as i64 * MICROS_PER_SECOND } else { 0 };
            let t = local.and_then(|v| v.checked_sub(shift)).map(Timestamp).filter(|t| t.is_valid());
            t.ok_or_else(out_of_range)
        }
    }
}

/// Reads a `time`: a zone in the text is read and ignored.
pub fn time(text: &str, settings: &Settings) -> Result<Time> {
    let d = decode(text, "time", settings, true)?;
    Ok(Time(d.civil.day_micros()))
}

/// Reads a `time with time zone`; without a zone in the text the session's offset of today counts.
pub fn timetz(text: &str, settings: &Settings) -> Result<TimeTz> {
    let d = decode(text, "time with time zone", settings, true)?;
    Ok(TimeTz { micros: d.civil.day_micros(), offset: d.offset })
}
