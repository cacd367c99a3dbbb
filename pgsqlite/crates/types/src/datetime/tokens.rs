//! The words of date/time and interval input. Words count by their first ten letters.

/// What a word of a date or timestamp means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Infinity,
    NegInfinity,
    Epoch,
    Now,
    Today,
    Tomorrow,
    Yesterday,
    /// `allballs`: 00:00:00 UTC
    Zulu,
    Month(i32),
    DayOfWeek,
    Am,
    Pm,
    Ad,
    Bc,
    /// `dst` after a zone: an hour more
    DstModifier,
    /// `t`: an ISO time follows
    IsoTime,
    /// labels the number after it
    Unit(Unit),
    /// `at`, `on`
    Ignore,
}

/// Fields that a one-letter label or a date/time unit names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Julian,
    /// set by `t`
    Time,
    /// dow, doy, isodow, isoyear: known words that label nothing
    Other,
}

fn cut(word: &str) -> &str {
    word.get(..10).unwrap_or(word)
}

/// Looks a lower-case word up.
pub(super) fn word(word: &str) -> Option<Word> {
    Some(match cut(word) {
        "infinity" | "+infinity" => Word::Infinity,
        "-infinity" => Word::NegInfinity,
        "epoch" => Word::Epoch,
        "now" => Word::Now,
        "today" => Word::Today,
        "tomorrow" => Word::Tomorrow,
        "yesterday" => Word::Yesterday,
        "allballs" => Word::Zulu,
        "jan" | "january" => Word::Month(1),
        "feb" | "february" => Word::Month(2),
        "mar" | "march" => Word::Month(3),
        "apr" | "april" => Word::Month(4),
        "may" => Word::Month(5),
        "jun" | "june" => Word::Month(6),
        "jul" | "july" => Word::Month(7),
        "aug" | "august" => Word::Month(8),
        "sep" | "sept" | "september" => Word::Month(9),
        "oct" | "october" => Word::Month(10),
        "nov" | "november" => Word::Month(11),
        "dec" | "december" => Word::Month(12),
        "sun" | "sunday" | "mon" | "monday" | "tue" | "tues" | "tuesday" | "wed" | "weds" | "wednesday" | "thu"
        | "thur" | "thurs" | "thursday" | "fri" | "friday" | "sat" | "saturday" => Word::DayOfWeek,
        "am" => Word::Am,
        "pm" => Word::Pm,
        "ad" => Word::Ad,
        "bc" => Word::Bc,
        "dst" => Word::DstModifier,
        "t" => Word::IsoTime,
        "y" => Word::Unit(Unit::Year),
        "m" => Word::Unit(Unit::Month),
        "d" => Word::Unit(Unit::Day),
        "h" => Word::Unit(Unit::Hour),
        "mm" => Word::Unit(Unit::Minute),
        "s" => Word::Unit(Unit::Second),
        "j" | "jd" | "julian" => Word::Unit(Unit::Julian),
        "dow" | "doy" | "isodow" | "isoyear" => Word::Unit(Unit::Other),
        "at" | "on" => Word::Ignore,
        _ => return None,
    })
}

/// Units of intervals (and of `extract`, `date_trunc`, which share the words).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    Timezone,
    TimezoneHour,
    TimezoneMinute,
    Ago,
}

/// Looks a lower-case unit word up.
pub(super) fn span(word: &str) -> Option<Span> {
    Some(match cut(word) {
        "us" | "usec" | "usecond" | "useconds" | "usecs" | "microsecon" => Span::Microsecond,
        "ms" | "msec" | "msecond" | "mseconds" | "msecs" | "millisecon" => Span::Millisecond,
        "s" | "sec" | "second" | "seconds" | "secs" => Span::Second,
        "m" | "min" | "mins" | "minute" | "minutes" => Span::Minute,
        "h" | "hour" | "hours" | "hr" | "hrs" => Span::Hour,
        "d" | "day" | "days" => Span::Day,
        "w" | "week" | "weeks" => Span::Week,
        "mon" | "mons" | "month" | "months" => Span::Month,
        "qtr" | "quarter" => Span::Quarter,
        "y" | "year" | "years" | "yr" | "yrs" => Span::Year,
        "dec" | "decade" | "decades" | "decs" => Span::Decade,
        "c" | "cent" | "centuries" | "century" => Span::Century,
        "mil" | "millennia" | "millennium" | "mils" => Span::Millennium,
        "timezone" => Span::Timezone,
        "timezone_h" => Span::TimezoneHour,
        "timezone_m" => Span::TimezoneMinute,
        "ago" => Span::Ago,
        _ => return None,
    })
}
