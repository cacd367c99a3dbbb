//! DBDATE and GL_DATE: how a client writes dates as characters.

/// The order and the form of a client's dates.
#[derive(Debug, Clone, PartialEq)]
pub struct DateForm {
    /// PostgreSQL's DateStyle that reads them
    pub style: &'static str,
    /// `to_char`'s pattern that writes them
    pub pattern: String,
}

impl DateForm {
    /// What IBM's drivers ask for.
    pub fn iso() -> DateForm {
        DateForm { style: "ISO, YMD", pattern: "YYYY-MM-DD".into() }
    }

    /// Of the client's environment. None: it is not understood.
    pub fn of_environment(gl_date: Option<&str>, dbdate: Option<&str>) -> Option<DateForm> {
        match (gl_date.filter(|f| !f.is_empty()), dbdate.filter(|f| !f.is_empty())) {
            (Some(format), _) => DateForm::of_gl_date(format),
            (None, Some(format)) => DateForm::of_dbdate(format),
            (None, None) => Some(DateForm::iso()),
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
        Some(DateForm { style, pattern: pattern.into() })
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
        let form = |gl: &str, db: &str| DateForm::of_environment(Some(gl), Some(db)).map(|f| (f.style, f.pattern));
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
        let german = DateForm::of_environment(None, Some("DMY4.")).unwrap();
        assert_eq!(german.write("2026-12-31"), "31.12.2026");
    }
}
