//! Templates of dates and times, cut into nodes.

use super::{plain, Case, Plain};

/// What a pattern stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// `AM`, `P.M.` …: whether it is written with points
    Meridiem {
        points: bool,
        case: Case,
    },
    /// `AD`, `B.C.` …
    Era {
        points: bool,
        case: Case,
    },
    Century,
    DayName {
        short: bool,
        case: Case,
    },
    DayOfYear,
    DayOfMonth,
    DayOfWeek,
    /// `FF1` … `FF6`
    Fraction(u8),
    /// `FX`: the rest is read with fixed widths
    Exact,
    Hour12,
    Hour24,
    IsoDayOfYear,
    IsoDayOfWeek,
    IsoWeek,
    /// last digits of the ISO year: 4 (all), 3, 2, 1
    IsoYear(u8),
    Julian,
    Minute,
    Month,
    MonthName {
        short: bool,
        case: Case,
    },
    Millisecond,
    Microsecond,
    /// `OF`
    Offset,
    Quarter,
    RomanMonth(Case),
    /// `SSSS`, `SSSSS`
    SecondOfDay,
    Second,
    ZoneHour,
    ZoneMinute,
    ZoneName(Case),
    Week,
    WeekOfMonth,
    /// `Y,YYY`
    YearWithComma,
    /// last digits of the year: 4 (all), 3, 2, 1
    Year(u8),
}

/// Which calendar a pattern belongs to: a template must not mix them when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Calendar {
    Either,
    Gregorian,
    IsoWeek,
}

impl Field {
    pub(super) fn calendar(self) -> Calendar {
        match self {
            Field::DayOfYear
            | Field::DayOfMonth
            | Field::DayOfWeek
            | Field::Month
            | Field::MonthName { .. }
            | Field::RomanMonth(_)
            | Field::Week
            | Field::WeekOfMonth
            | Field::YearWithComma
            | Field::Year(_) => Calendar::Gregorian,
            Field::IsoDayOfYear | Field::IsoDayOfWeek | Field::IsoWeek | Field::IsoYear(_) => Calendar::IsoWeek,
            _ => Calendar::Either,
        }
    }

    /// Whether what it stands for begins with a digit: then the field before it has a fixed width.
    fn is_digit(self) -> bool {
        !matches!(
            self,
            Field::Meridiem { .. }
                | Field::Era { .. }
                | Field::DayName { .. }
                | Field::MonthName { .. }
                | Field::RomanMonth(_)
                | Field::Exact
                | Field::Offset
                | Field::ZoneHour
                | Field::ZoneName(_)
        )
    }
}

/// The patterns, those that begin another one after it.
const PATTERNS: &[(&str, Field)] = {
    use Case::{Capital, Lower, Upper};
    use Field::*;
    &[
        ("A.D.", Era { points: true, case: Upper }),
        ("A.M.", Meridiem { points: true, case: Upper }),
        ("AD", Era { points: false, case: Upper }),
        ("AM", Meridiem { points: false, case: Upper }),
        ("B.C.", Era { points: true, case: Upper }),
        ("BC", Era { points: false, case: Upper }),
        ("CC", Century),
        ("DAY", DayName { short: false, case: Upper }),
        ("DDD", DayOfYear),
        ("DD", DayOfMonth),
        ("DY", DayName { short: true, case: Upper }),
        ("Day", DayName { short: false, case: Capital }),
        ("Dy", DayName { short: true, case: Capital }),
        ("D", DayOfWeek),
        ("FF1", Fraction(1)),
        ("FF2", Fraction(2)),
        ("FF3", Fraction(3)),
        ("FF4", Fraction(4)),
        ("FF5", Fraction(5)),
        ("FF6", Fraction(6)),
        ("FX", Exact),
        ("HH24", Hour24),
        ("HH12", Hour12),
        ("HH", Hour12),
        ("IDDD", IsoDayOfYear),
        ("ID", IsoDayOfWeek),
        ("IW", IsoWeek),
        ("IYYY", IsoYear(4)),
        ("IYY", IsoYear(3)),
        ("IY", IsoYear(2)),
        ("I", IsoYear(1)),
        ("J", Julian),
        ("MI", Minute),
        ("MM", Month),
        ("MONTH", MonthName { short: false, case: Upper }),
        ("MON", MonthName { short: true, case: Upper }),
        ("MS", Millisecond),
        ("Month", MonthName { short: false, case: Capital }),
        ("Mon", MonthName { short: true, case: Capital }),
        ("OF", Offset),
        ("P.M.", Meridiem { points: true, case: Upper }),
        ("PM", Meridiem { points: false, case: Upper }),
        ("Q", Quarter),
        ("RM", RomanMonth(Upper)),
        ("SSSSS", SecondOfDay),
        ("SSSS", SecondOfDay),
        ("SS", Second),
        ("TZH", ZoneHour),
        ("TZM", ZoneMinute),
        ("TZ", ZoneName(Upper)),
        ("US", Microsecond),
        ("WW", Week),
        ("W", WeekOfMonth),
        ("Y,YYY", YearWithComma),
        ("YYYY", Year(4)),
        ("YYY", Year(3)),
        ("YY", Year(2)),
        ("Y", Year(1)),
        ("a.d.", Era { points: true, case: Lower }),
        ("a.m.", Meridiem { points: true, case: Lower }),
        ("ad", Era { points: false, case: Lower }),
        ("am", Meridiem { points: false, case: Lower }),
        ("b.c.", Era { points: true, case: Lower }),
        ("bc", Era { points: false, case: Lower }),
        ("cc", Century),
        ("day", DayName { short: false, case: Lower }),
        ("ddd", DayOfYear),
        ("dd", DayOfMonth),
        ("dy", DayName { short: true, case: Lower }),
        ("d", DayOfWeek),
        ("ff1", Fraction(1)),
        ("ff2", Fraction(2)),
        ("ff3", Fraction(3)),
        ("ff4", Fraction(4)),
        ("ff5", Fraction(5)),
        ("ff6", Fraction(6)),
        ("fx", Exact),
        ("hh24", Hour24),
        ("hh12", Hour12),
        ("hh", Hour12),
        ("iddd", IsoDayOfYear),
        ("id", IsoDayOfWeek),
        ("iw", IsoWeek),
        ("iyyy", IsoYear(4)),
        ("iyy", IsoYear(3)),
        ("iy", IsoYear(2)),
        ("i", IsoYear(1)),
        ("j", Julian),
        ("mi", Minute),
        ("mm", Month),
        ("month", MonthName { short: false, case: Lower }),
        ("mon", MonthName { short: true, case: Lower }),
        ("ms", Millisecond),
        ("of", Offset),
        ("p.m.", Meridiem { points: true, case: Lower }),
        ("pm", Meridiem { points: false, case: Lower }),
        ("q", Quarter),
        ("rm", RomanMonth(Lower)),
        ("sssss", SecondOfDay),
        ("ssss", SecondOfDay),
        ("ss", Second),
        ("tzh", ZoneHour),
        ("tzm", ZoneMinute),
        ("tz", ZoneName(Lower)),
        ("us", Microsecond),
        ("ww", Week),
        ("w", WeekOfMonth),
        ("y,yyy", YearWithComma),
        ("yyyy", Year(4)),
        ("yyy", Year(3)),
        ("yy", Year(2)),
        ("y", Year(1)),
    ]
};

/// What may stand around a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Modifiers {
    /// `FM`: no padding; read as many digits as there are
    pub fill: bool,
    /// `TM`: names in the server's language
    pub translated: bool,
    /// `TH` or `th`
    pub ordinal: Option<Case>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node<'a> {
    Pattern { field: Field, name: &'static str, modifiers: Modifiers },
    Separator(&'a str),
    Space(&'a str),
    Character(&'a str),
}

/// Punctuation, as input may have instead of the template's.
pub(super) fn is_separator(byte: u8) -> bool {
    byte.is_ascii_punctuation()
}

/// C's `isspace`.
pub(super) fn is_space(byte: u8) -> bool {
    byte == b' ' || (9..=13).contains(&byte)
}

/// The nodes of a template.
pub(super) fn nodes(template: &str) -> Vec<Node<'_>> {
    let mut out = Vec::new();
    let mut rest = template;
    while !rest.is_empty() {
        crate::work::pulse(1);
        let mut modifiers = Modifiers::default();
        if let Some(after) = rest.strip_prefix("FM").or_else(|| rest.strip_prefix("fm")) {
            (modifiers.fill, rest) = (true, after);
        } else if let Some(after) = rest.strip_prefix("TM").or_else(|| rest.strip_prefix("tm")) {
            (modifiers.translated, rest) = (true, after);
        }
        if let Some(&(name, field)) = PATTERNS.iter().find(|(name, _)| rest.starts_with(name)) {
            rest = &rest[name.len()..];
            for (suffix, case) in [("TH", Some(Case::Upper)), ("th", Some(Case::Lower)), ("SP", None)] {
                crate::work::pulse(1);
                if let Some(after) = rest.strip_prefix(suffix) {
                    modifiers.ordinal = case;
                    rest = after;
                    break;
                }
            }
            out.push(Node::Pattern { field, name, modifiers });
            continue;
        }
        if rest.is_empty() {
            break;
        }
        let (text, after) = plain(rest);
        rest = after;
        match text {
            Plain::Quoted(characters) => out.extend(characters.into_iter().map(Node::Character)),
            Plain::Character(c) => out.push(match c.as_bytes() {
                [b] if is_separator(*b) => Node::Separator(c),
                [b] if is_space(*b) => Node::Space(c),
                _ => Node::Character(c),
            }),
        }
    }
    out
}

/// Whether the number at a node ends where the digits end: nothing that begins with a digit comes next.
pub(super) fn is_delimited(nodes: &[Node], at: usize) -> bool {
    if matches!(nodes[at], Node::Pattern { modifiers: Modifiers { ordinal: Some(_), .. }, .. }) {
        return true;
    }
    match nodes.get(at + 1) {
        None => true,
        Some(Node::Pattern { field, .. }) => !field.is_digit(),
        Some(Node::Separator(c) | Node::Space(c) | Node::Character(c)) => {
            !matches!(c.as_bytes(), [b] if b.is_ascii_digit())
        }
    }
}
