//! The client's code set, named by the end of CLIENT_LOCALE.

use crate::errors::Failure;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeSet {
    Utf8,
    Latin1,
    Latin9,
}

/// Where ISO 8859-15 differs from 8859-1.
const LATIN9: [(u8, char); 8] =
    [(0xa4, '€'), (0xa6, 'Š'), (0xa8, 'š'), (0xb4, 'Ž'), (0xb8, 'ž'), (0xbc, 'Œ'), (0xbd, 'œ'), (0xbe, 'Ÿ')];

impl CodeSet {
    /// `en_US.utf8` → UTF-8; None: a code set that this server does not know. Without a locale: 8859-1, as clients assume.
    pub fn of_locale(locale: Option<&str>) -> Option<CodeSet> {
        let Some(locale) = locale else { return Some(CodeSet::Latin1) };
        let name = locale.rsplit('.').next().unwrap_or("").split('@').next().unwrap_or("").to_ascii_lowercase();
        match name.as_str() {
            "utf8" | "utf-8" | "57372" | "e01c" => Some(CodeSet::Utf8),
            "8859-1" | "819" | "0333" => Some(CodeSet::Latin1),
            "8859-15" | "923" | "039b" => Some(CodeSet::Latin9),
            _ => None,
        }
    }

    /// How the system catalog names it.
    pub fn site(self) -> &'static str {
        match self {
            CodeSet::Utf8 => "en_US.57372",
            CodeSet::Latin1 => "en_US.819",
            CodeSet::Latin9 => "en_US.923",
        }
    }

    /// Errors: -23103 for bytes that are not text in this code set.
    pub fn decode(self, bytes: &[u8]) -> Result<String, Failure> {
        match self {
            CodeSet::Utf8 => String::from_utf8(bytes.to_vec()).map_err(|_| Failure::new(-23103, 0, "")),
            CodeSet::Latin1 => Ok(bytes.iter().map(|b| *b as char).collect()),
            CodeSet::Latin9 => {
                let character = |b: &u8| LATIN9.iter().find(|(c, _)| c == b).map_or(*b as char, |(_, c)| *c);
                Ok(bytes.iter().map(character).collect())
            }
        }
    }

    /// Errors: -23103 for a character that the code set does not have.
    pub fn encode(self, text: &str, out: &mut Vec<u8>) -> Result<(), Failure> {
        if self == CodeSet::Utf8 || text.is_ascii() {
            out.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        for c in text.chars() {
            let latin9 = LATIN9.iter().find(|(_, l)| *l == c).map(|(b, _)| *b);
            let byte = match (self, u8::try_from(c as u32)) {
                (CodeSet::Latin9, _) if latin9.is_some() => latin9,
                (CodeSet::Latin9, Ok(b)) if LATIN9.iter().any(|(l, _)| *l == b) => None,
                (_, Ok(b)) => Some(b),
                _ => None,
            };
            out.push(byte.ok_or_else(|| Failure::new(-23103, 0, ""))?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_go_both_ways_or_are_refused() {
        let there = |set: CodeSet, text: &str| {
            let mut out = Vec::new();
            set.encode(text, &mut out).map(|()| out)
        };
        assert_eq!(there(CodeSet::Latin1, "aß").unwrap(), [b'a', 0xdf]);
        assert_eq!(there(CodeSet::Latin9, "€").unwrap(), [0xa4]);
        assert_eq!(there(CodeSet::Utf8, "€").unwrap(), "€".as_bytes());
        assert!(there(CodeSet::Latin1, "€").is_err());
        assert!(there(CodeSet::Latin9, "¤").is_err());
        assert_eq!(CodeSet::Latin9.decode(&[0xa4, 0xdf]).unwrap(), "€ß");
        assert!(CodeSet::Utf8.decode(&[0xff]).is_err());
        assert_eq!(CodeSet::of_locale(Some("de_DE.8859-15@euro")), Some(CodeSet::Latin9));
        assert_eq!(CodeSet::of_locale(Some("ja_JP.sjis")), None);
    }
}
