//! The second step of reading dates and times: the fields of [`super::lex`] are understood one by one in the light of
//! those before them. The rules, including the odd ones, are those of the manual's appendix B.1.

mod complete;

use super::lex::{clock_fields, fraction_micros, leading_int, Failure, Kind, Parsed, PgErrorBox};
use super::tokens::{self, Unit, Word};
use super::zone::{self, Abbreviation};
use super::{Civil, Timestamp, MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::calendar;
use crate::settings::DateOrder;
use crate::time_zone::TimeZone;
use crate::Settings;

mod mask {
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
pub(super) enum Outcome {
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

pub(super) struct Decoder<'a> {
    settings: &'a Settings,
    /// `time`, `timetz`: a date may only stand where a zone needs it
    time_only: bool,
    seen: u32,
    pub civil: Civil,
    day_of_year: i32,
    two_digits: bool,
    julian: bool,
    bc: bool,
    /// 12-hour clock: Some(pm)
    pm: Option<bool>,
    text_month: bool,
    /// Seconds east of UTC.
    pub offset: i32,
    named: Option<NamedZone>,
    pub outcome: Outcome,
}

/// Seconds east of UTC of `±hh[:mm[:ss]]` or `±hhmm`.
pub(super) fn numeric_zone(text: &str) -> Parsed<i32> {
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
    pub fn new(settings: &'a Settings, time_only: bool) -> Self {
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

    pub fn run(&mut self, fields: &[(Kind, String)]) -> Parsed<()> {
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
                    // (a time of day is checked at the end)
                    if !self.time_only {
                        self.check_time()?;
                    }
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
            _ if field.len() >= 6 && (date == 0 || time == 0) => self.run_together(field, self.seen),
            _ => self.number(field, self.seen, self.text_month),
        }
    }

    /// A number after a label: `j` or `t`. (Other units label nothing.)
    fn labelled(&mut self, label: Unit, field: &str) -> Parsed<u32> {
        let (value, rest) = leading_int(field)?;
        let decimal = matches!(label, Unit::Julian | Unit::Time);
        let allowed = rest.is_empty() || rest.starts_with('.') && decimal;
        if !allowed {
            return Err(Failure::Format);
        }
        Ok(match label {
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
            _ => return Err(Failure::Format),
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
            Ok(Some(everything))
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
                // (one label after another labels nothing)
                match label.replace(unit) {
                    Some(_) => Err(Failure::Format),
                    None => Ok(None),
                }
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
        let clock = clock_fields(field, false)?;
        let hour = i32::try_from(clock.hour).map_err(|_| Failure::Field)?;
        (self.civil.hour, self.civil.minute, self.civil.second, self.civil.micros) =
            (hour, clock.minute, clock.second, clock.micros);
        Ok(())
    }
}
