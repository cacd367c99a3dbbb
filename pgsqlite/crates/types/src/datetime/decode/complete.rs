//! The last step of reading dates and times: what the fields gave is checked, completed (two-digit years, days of the
//! year, AM and PM) and given its offset from UTC.

use super::{mask, Decoder, NamedZone, Outcome, Parsed};
use crate::calendar;
use crate::datetime::lex::Failure;
use crate::datetime::zone::{self, Zone};
use crate::datetime::{Civil, MICROS_PER_DAY};
use crate::time_zone::TimeZone;

impl Decoder<'_> {
    pub(super) fn check_time(&self) -> Parsed<()> {
        let c = &self.civil;
        let fields = (0..=24).contains(&c.hour) && (0..60).contains(&c.minute) && (0..=60).contains(&c.second);
        if !fields || !(0..=1_000_000).contains(&c.micros) || c.day_micros() > MICROS_PER_DAY {
            return Err(Failure::Field);
        }
        Ok(())
    }

    /// Checks and completes what the fields gave.
    pub(super) fn finish(&mut self) -> Parsed<()> {
        if self.outcome != Outcome::Fields {
            return Ok(());
        }
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
        if self.seen & mask::YEAR != 0 && !self.julian {
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
        if self.seen & mask::DAY_OF_YEAR != 0 {
            // Beyond the calendar's range day numbers would wrap around to a wrong date.
            if !calendar::is_valid_year_month(c.year, 1) {
                return Err(Failure::Field);
            }
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
