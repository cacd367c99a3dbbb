//! DBMONEY: how a client writes amounts of money, and the decimal point of its numbers.

use crate::errors::Failure;

/// `$.`, `,`, `.DM`: what stands before an amount, its decimal point, what stands behind.
#[derive(Debug, Clone, PartialEq)]
pub struct MoneyForm {
    front: String,
    pub point: char,
    back: String,
}

impl MoneyForm {
    /// `$.`, which a client means that says nothing.
    pub fn usual() -> MoneyForm {
        MoneyForm { front: "$".into(), point: '.', back: String::new() }
    }

    /// Of the client's environment. None: it is not understood.
    pub fn of_environment(dbmoney: Option<&str>) -> Option<MoneyForm> {
        let Some(text) = dbmoney.filter(|t| !t.is_empty()) else { return Some(MoneyForm::usual()) };
        let at = text.find(['.', ','])?;
        let back = &text[at + 1..];
        if back.contains(['.', ',']) || text.contains(|c: char| c.is_ascii_digit() || "+-".contains(c)) {
            return None;
        }
        let point = if text[at..].starts_with(',') { ',' } else { '.' };
        Some(MoneyForm { front: text[..at].trim().into(), point, back: back.trim().into() })
    }

    /// The number that a client's text stands for. Errors: -1213 for one with the other point.
    pub fn read(&self, text: &str, is_money: bool) -> Result<String, Failure> {
        let trimmed = text.trim();
        let (sign, rest) = match trimmed.strip_prefix(['-', '+']) {
            Some(rest) => (&trimmed[..1], rest.trim_start()),
            None => ("", trimmed),
        };
        let mut number = rest;
        if is_money {
            number = number.strip_prefix(self.front.as_str()).unwrap_or(number).trim_start();
            number = number.strip_suffix(self.back.as_str()).unwrap_or(number).trim_end();
        }
        let other = if self.point == ',' { '.' } else { ',' };
        if number.contains(other) {
            return Err(Failure::new(-1213, 0, ""));
        }
        Ok(format!("{sign}{}", number.replace(self.point, ".")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let form = |text: &str| MoneyForm::of_environment(Some(text)).unwrap();
        for (dbmoney, text, number) in [
            ("", "$12.50", "12.50"),
            ("", " -$ 12.50 ", "-12.50"),
            ("$.", "12.5", "12.5"),
            (",", "12,50", "12.50"),
            (",DM", "-12,50 DM", "-12.50"),
            ("EUR ,", "EUR 12,50", "12.50"),
        ] {
            assert_eq!(form(dbmoney).read(text, true).unwrap(), number, "{dbmoney} {text}");
        }
        assert_eq!(form(",").read("12.50", true).unwrap_err().sqlcode, -1213);
        assert_eq!(form("").read("1,250", false).unwrap_err().sqlcode, -1213);
        for unknown in ["$", "1.", "..", "-,"] {
            assert_eq!(MoneyForm::of_environment(Some(unknown)), None, "{unknown}");
        }
    }
}
