//! Qualifiers of DATETIME and INTERVAL: first field, last field, digits.

use std::fmt;

/// Field numbers as they stand in encoded lengths; fractions of k digits end at 10 + k.
pub const YEAR: u8 = 0;
pub const MONTH: u8 = 2;
pub const DAY: u8 = 4;
pub const HOUR: u8 = 6;
pub const MINUTE: u8 = 8;
pub const SECOND: u8 = 10;
pub const FRACTION: u8 = 12;

const NAMES: [(u8, &str); 7] = [
    (YEAR, "year"),
    (MONTH, "month"),
    (DAY, "day"),
    (HOUR, "hour"),
    (MINUTE, "minute"),
    (SECOND, "second"),
    (FRACTION, "fraction"),
];

/// The number of a field's name.
pub fn field(name: &str) -> Option<u8> {
    NAMES.iter().find(|(_, n)| *n == name).map(|(f, _)| *f)
}

fn name(field: u8) -> &'static str {
    NAMES.iter().rev().find(|(f, _)| *f <= field).map_or("year", |(_, n)| n)
}

/// `YEAR TO FRACTION(3)`; for intervals with the digits of the first field, as in `DAY(3) TO SECOND`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Qualifier {
    /// YEAR … FRACTION
    pub from: u8,
    /// YEAR … SECOND, or 10 + digits of the fraction
    pub to: u8,
    /// of the first field
    pub precision: u8,
}

impl Qualifier {
    /// A DATETIME's, whose first field has its usual digits.
    pub fn datetime(from: u8, to: u8) -> Qualifier {
        let precision = match from {
            YEAR => 4,
            FRACTION => to - SECOND,
            _ => 2,
        };
        Qualifier { from, to, precision }
    }

    /// Digits of the fraction.
    pub fn fraction(self) -> u8 {
        self.to.saturating_sub(SECOND)
    }

    /// Decimal digits of a value.
    fn digits(self) -> u8 {
        match self.from {
            FRACTION => self.to - SECOND,
            from => self.precision + self.to.saturating_sub(from),
        }
    }

    /// As DESCRIBE tells it.
    pub fn encoded(self) -> i32 {
        (self.digits() as i32) << 8 | (self.from as i32) << 4 | self.to as i32
    }

    /// Back from [`Qualifier::encoded`]; None if it is none.
    pub fn decode(encoded: u16) -> Option<Qualifier> {
        let (digits, from, to) = ((encoded >> 8) as u8, (encoded >> 4) as u8 & 15, encoded as u8 & 15);
        let ends = to % 2 == 0 && to <= SECOND || (SECOND..=15).contains(&to);
        if from % 2 == 1 || from > FRACTION || !ends || from < FRACTION && to < from || from == FRACTION && to <= SECOND
        {
            return None;
        }
        let precision = if from == FRACTION { to - SECOND } else { digits.checked_sub(to - from)? };
        (1..=9).contains(&precision).then_some(Qualifier { from, to, precision })
    }

    /// Bytes of a value in a row.
    pub fn width(self) -> usize {
        (self.digits() as usize + (self.to & 1) as usize + 3) / 2
    }

    /// Whether a DATETIME of it is stored as a timestamp; else as a time. Fields before the first one are those of 2000-01-01, 00:00:00.
    pub fn is_timestamp(self) -> bool {
        self.from <= DAY
    }

    /// Whether a DATETIME of it is stored with fields that it has not, so that it is comparable only with its like.
    pub fn is_partial(self) -> bool {
        self.from != YEAR && self.from != HOUR
    }

    /// The condition of a CHECK that keeps the fields which a partial DATETIME does not have at their fixed values.
    pub fn check(self) -> Option<&'static str> {
        Some(match self.from {
            MONTH => "VALUE >= '2000-01-01' AND VALUE < '2001-01-01'",
            DAY => "VALUE >= '2000-01-01' AND VALUE < '2000-02-01'",
            MINUTE => "VALUE < '01:00'",
            SECOND => "VALUE < '00:01'",
            FRACTION => "VALUE < '00:00:01'",
            _ => return None,
        })
    }

    /// What values of an INTERVAL must keep to: fields of its class, and as many digits as the first field has.
    pub fn interval_check(self) -> String {
        let class = match self.is_year_month() {
            true => "date_trunc('month', VALUE) = VALUE",
            false => "date_trunc('month', VALUE) = '0 months'",
        };
        let limit = match self.from {
            // more years than an interval can have
            YEAR if self.precision >= 9 => return class.into(),
            FRACTION => "1 second".to_string(),
            from => format!("{} {}s", 10u64.pow(self.precision.into()), name(from)),
        };
        format!("{class} AND VALUE < '{limit}' AND VALUE > '-{limit}'")
    }

    /// Whether it is of the class YEAR TO MONTH.
    pub fn is_year_month(self) -> bool {
        self.from <= MONTH
    }
}

impl Qualifier {
    /// `datetime year to second`, `interval day(3) to fraction(5)`: a type's name in the catalog.
    pub fn type_name(self, is_interval: bool) -> String {
        let kind = if is_interval { "interval" } else { "datetime" };
        let precision = match (is_interval, self.from) {
            (true, FRACTION) | (false, _) => String::new(),
            (true, _) => format!("({})", self.precision),
        };
        format!("{kind} {}{precision} to {self}", name(self.from))
    }
}

/// The last field.
impl fmt::Display for Qualifier {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.fraction() {
            0 => f.write_str(name(self.to)),
            digits => write!(f, "fraction({digits})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_lengths() {
        for (from, to, encoded, width) in [
            (YEAR, SECOND, 0x0e0a, 8),
            (YEAR, DAY, 0x0804, 5),
            (HOUR, SECOND, 0x066a, 4),
            (HOUR, MINUTE, 0x0468, 3),
            (YEAR, 13, 0x110d, 10),
            (YEAR, 15, 0x130f, 11),
            (YEAR, YEAR, 0x0400, 3),
            (FRACTION, 15, 0x05cf, 4),
        ] {
            let q = Qualifier::datetime(from, to);
            assert_eq!((q.encoded(), q.width()), (encoded, width), "{encoded:x}");
            assert_eq!(Qualifier::decode(encoded as u16), Some(q));
        }
        for (from, to, precision, encoded) in
            [(DAY, 15, 3, 0x0e4f), (DAY, 15, 9, 0x144f), (YEAR, MONTH, 9, 0x0b02), (SECOND, 12, 3, 0x05ac)]
        {
            let q = Qualifier { from, to, precision };
            assert_eq!(q.encoded(), encoded, "{encoded:x}");
            assert_eq!(Qualifier::decode(encoded as u16), Some(q));
        }
        for code in 0..=u16::MAX {
            if let Some(q) = Qualifier::decode(code) {
                q.width();
            }
        }
    }
}
