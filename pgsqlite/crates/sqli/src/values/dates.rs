//! DBDATE, GL_DATE and DBCENTURY: how a client writes dates as characters.

use pgsqlite_types::calendar::civil;
use std::time::{SystemTime, UNIX_EPOCH};

/// The order and the form of a client's dates.
#[derive(Debug, Clone, PartialEq)]
pub struct DateForm {
    /// PostgreSQL's DateStyle that reads them
    pub style: &'static str,
    /// `to_char`'s pattern that writes them
    pub pattern: String,
    /// which year two digits mean
    century: Century,
}

/// DBCENTURY.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Century {
    /// that of the present year
    Present,
    /// the last one that has passed
    Past,
    /// the next one
    Future,
    /// the one nearest to the present day
    Closest,
}

/// Days from 2000 to the present one.
fn today() -> i32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i32::try_from(now.as_secs() / 86400).unwrap_or(0) - 10_957
}

impl DateForm {
    /// What IBM's drivers ask for.
    pub fn iso() -> DateForm {
        DateForm { style: "ISO, YMD", pattern: "YYYY-MM-DD".into(), century: Century::Present }
    }

    /// Of the client's environment. None: it is not understood.
    pub fn of_environment(gl_date: Option<&str>, dbdate: Option<&str>, dbcentury: Option<&str>) -> Option<DateForm> {
        let century = match dbcentury.unwrap_or("") {
            "" | "R" | "r" => Century::Present,
            "P" | "p" => Century::Past,
            "F" | "f" => Century::Future,
            "C" | "c" => Century::Closest,
            _ => return None,
        };
        let form = match (gl_date.filter(|f| !f.is_empty()), dbdate.filter(|f| !f.is_empty())) {
            (Some(format), _) => DateForm::of_gl_date(format),
            (None, Some(format)) => DateForm::of_dbdate(format),
            (None, None) => Some(DateForm::iso()),
        };
        Some(DateForm { century, ..form? })
    }

    /// A date that the client has written, as `2026-12-31`. None: it has another form, which PostgreSQL reads or refuses.
    pub fn read(&self, text: &str) -> Option<String> {
        let text = text.trim();
        let order: Vec<u8> = self.style.bytes().skip("ISO, ".len()).collect();
        let mut runs: Vec<&str> = text.split(|c: char| !c.is_ascii_digit()).collect();
        if let ([run], true) = (runs.as_slice(), matches!(text.len(), 6 | 8)) {
            // nothing stands between
            let (run, year) = (*run, text.len() - 4);
            let mut at = 0;
            runs = order
                .iter()
                .map(|part| {
                    let from = at;
                    at += if *part == b'Y' { year } else { 2 };
                    run.get(from..at).unwrap_or("")
                })
                .collect();
        }
        if runs.len() != 3 || text.contains(|c: char| !c.is_ascii_digit() && !"-/., ".contains(c)) {
            return None;
        }
        let part = |wanted: u8| runs.get(order.iter().position(|p| *p == wanted)?).copied();
        let (year, month, day) = (part(b'Y')?, part(b'M')?, part(b'D')?);
        if !matches!(year.len(), 1 | 2 | 4) || !(1..=2).contains(&month.len()) || !(1..=2).contains(&day.len()) {
            return None;
        }
        let (mut number, month, day): (i32, i32, i32) = (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
        if year.len() < 4 {
            number = self.whole_year(number, (month, day), civil(today()));
        }
        Some(format!("{number:04}-{month:02}-{day:02}"))
    }

    /// The year that two digits mean.
    fn whole_year(&self, digits: i32, day: (i32, i32), now: (i32, i32, i32)) -> i32 {
        let (year, today) = (now.0, (now.1, now.2));
        let present = year - year.rem_euclid(100) + digits;
        let is_past = (present, day) < (year, today);
        match self.century {
            Century::Present => present,
            Century::Past if is_past => present,
            Century::Past => present - 100,
            Century::Future if is_past || (present, day) == (year, today) => present + 100,
            Century::Future => present,
            Century::Closest if present - year > 50 => present - 100,
            Century::Closest if year - present > 50 => present + 100,
            Century::Closest => present,
        }
    }

    /// `MDY4/`, `DMY2.`, `Y4MD-`: the order, the digits of the year, what stands between (`0`: nothing).
    fn of_dbdate(format: &str) -> Option<DateForm> {
        let (mut parts, mut between) = (Vec::new(), '/');
        let mut characters = format.chars().peekable();
        while let Some(c) = characters.next() {
            match c.to_ascii_uppercase() {
                'M' => parts.push("MM"),
                'D' => parts.push("DD"),
                'Y' => parts.push(match characters.next()? {
                    '4' => "YYYY",
                    '2' => "YY",
                    _ => return None,
                }),
                // the era, of locales that have others
                'E' if characters.peek().is_none() => return None,
                '-' | '/' | '.' | ',' => between = c,
                '0' => between = '\0',
                _ => return None,
            }
        }
        let between = if between == '\0' { String::new() } else { between.to_string() };
        DateForm::of_parts(&parts, &parts.join(&between))
    }

    /// `%d.%m.%Y`
    fn of_gl_date(format: &str) -> Option<DateForm> {
        let (mut parts, mut pattern) = (Vec::new(), String::new());
        let mut characters = format.chars();
        while let Some(c) = characters.next() {
            let part = match c {
                '%' => match characters.next()? {
                    'd' => "DD",
                    'm' => "MM",
                    'Y' => "YYYY",
                    'y' => "YY",
                    _ => return None,
                },
                '-' | '/' | '.' | ',' | ' ' => {
                    pattern.push(c);
                    continue;
                }
                _ => return None,
            };
            parts.push(part);
            pattern += part;
        }
        DateForm::of_parts(&parts, &pattern)
    }

    fn of_parts(parts: &[&str], pattern: &str) -> Option<DateForm> {
        let order: String = parts.iter().map(|p| &p[..1]).collect();
        let style = match order.as_str() {
            "YMD" => "ISO, YMD",
            "MDY" => "ISO, MDY",
            "DMY" => "ISO, DMY",
            // PostgreSQL reads no other order
            _ => return None,
        };
        Some(DateForm { style, pattern: pattern.into(), century: Century::Present })
    }

    /// A date in this form, out of `2026-12-31`.
    pub fn write(&self, iso: &str) -> String {
        let mut parts = iso.split('-');
        let (year, month, day) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let short = &year[year.len().saturating_sub(2)..];
        self.pattern.replace("YYYY", year).replace("YY", short).replace("MM", month).replace("DD", day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let form =
            |gl: &str, db: &str| DateForm::of_environment(Some(gl), Some(db), None).map(|f| (f.style, f.pattern));
        assert_eq!(form("", ""), Some(("ISO, YMD", "YYYY-MM-DD".into())));
        assert_eq!(form("", "Y4MD-"), Some(("ISO, YMD", "YYYY-MM-DD".into())));
        assert_eq!(form("", "MDY4/"), Some(("ISO, MDY", "MM/DD/YYYY".into())));
        assert_eq!(form("", "dmy2."), Some(("ISO, DMY", "DD.MM.YY".into())));
        assert_eq!(form("", "Y4MD0"), Some(("ISO, YMD", "YYYYMMDD".into())));
        assert_eq!(form("%d.%m.%Y", "MDY4/"), Some(("ISO, DMY", "DD.MM.YYYY".into())));
        for unknown in ["Y5MD-", "YMD", "M4DY", "YDM4-", "x"] {
            assert_eq!(form("", unknown), None, "{unknown}");
        }
        assert_eq!(form("%A %d", ""), None);
        let german = DateForm::of_environment(None, Some("DMY4."), None).unwrap();
        assert_eq!(german.write("2026-12-31"), "31.12.2026");
        let read = |db: &str, text: &str| DateForm::of_environment(None, Some(db), None).unwrap().read(text);
        assert_eq!(read("DMY4.", "1.2.2026").as_deref(), Some("2026-02-01"));
        assert_eq!(read("MDY20", "010203").as_deref(), Some("2003-01-02"));
        assert_eq!(read("DMY40", "01022003").as_deref(), Some("2003-02-01"));
        assert_eq!(read("Y4MD-", "2026-12-31").as_deref(), Some("2026-12-31"));
        // another form is PostgreSQL's to read
        assert_eq!(read("MDY4/", "2026-12-31"), None);
        assert_eq!(read("MDY4/", "today"), None);
        let year = |century: &str, digits, day| {
            let form = DateForm::of_environment(None, None, Some(century)).unwrap();
            form.whole_year(digits, day, (2026, 11, 23))
        };
        for (century, digits, day, expected) in [
            ("", 99, (1, 1), 2099),
            ("P", 26, (11, 22), 2026),
            ("P", 26, (11, 23), 1926),
            ("F", 26, (11, 23), 2126),
            ("F", 26, (11, 24), 2026),
            ("C", 99, (1, 1), 1999),
            ("C", 60, (1, 1), 2060),
        ] {
            assert_eq!(year(century, digits, day), expected, "{century} {digits}");
        }
    }
}
