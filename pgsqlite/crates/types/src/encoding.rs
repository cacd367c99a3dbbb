//! Character encodings of clients (PostgreSQL's manual, "Character Set Support"): their names, and text from and to their bytes.
//!
//! The single-byte encodings' tables are PostgreSQL's own (`data/encodings.tsv`, made by `gen/encodings.py`). The encodings of
//! several bytes per character are known by name only.

use crate::error::{PgError, Result};
use crate::sqlstate::SqlState;
use crate::text::decode_utf8;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

/// What an encoding's name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    #[default]
    Utf8,
    /// bytes as they are
    SqlAscii,
    Single(&'static SingleByte),
    /// PostgreSQL has it, pgsqlite does not
    Other,
}

/// An encoding in which each byte is a character, those below 0x80 as in ASCII.
#[derive(Debug)]
pub struct SingleByte {
    /// as PostgreSQL names it: `LATIN1`, `WIN1252` …
    pub name: &'static str,
    /// PostgreSQL's number of it
    pub number: i64,
    /// the characters of the bytes from 0x80
    characters: [Option<char>; 128],
    bytes: HashMap<char, u8>,
}

impl PartialEq for SingleByte {
    fn eq(&self, other: &SingleByte) -> bool {
        self.name == other.name
    }
}
impl Eq for SingleByte {}

fn single_byte() -> &'static [SingleByte] {
    static TABLES: OnceLock<Vec<SingleByte>> = OnceLock::new();
    TABLES.get_or_init(|| include_str!("../data/encodings.tsv").lines().filter_map(table).collect())
}

fn table(line: &'static str) -> Option<SingleByte> {
    let mut fields = line.split('\t');
    let (name, number, codes) = (fields.next()?, fields.next()?.parse().ok()?, fields.next()?);
    let mut characters = [None; 128];
    for (place, code) in characters.iter_mut().zip(codes.split(' ')) {
        *place = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
    }
    let bytes = characters.iter().zip(0x80..=0xff).filter_map(|(c, byte)| c.map(|c| (c, byte))).collect();
    Some(SingleByte { name, number, characters, bytes })
}

/// Other names of single-byte encodings, folded as PostgreSQL folds them.
const ALIASES: &[(&str, &str)] = &[
    ("iso88591", "latin1"),
    ("iso88592", "latin2"),
    ("iso88593", "latin3"),
    ("iso88594", "latin4"),
    ("iso88599", "latin5"),
    ("iso885910", "latin6"),
    ("iso885913", "latin7"),
    ("iso885914", "latin8"),
    ("iso885915", "latin9"),
    ("iso885916", "latin10"),
    ("koi8", "koi8r"),
    ("win", "win1251"),
    ("alt", "win866"),
    ("abc", "win1258"),
    ("tcvn", "win1258"),
    ("tcvn5712", "win1258"),
    ("vscii", "win1258"),
];

/// Names of PostgreSQL's other encodings, folded as it folds them: they are refused, not unknown.
const OTHERS: &[&str] = &[
    "big5",
    "euccn",
    "eucjis2004",
    "eucjp",
    "euckr",
    "euctw",
    "gb18030",
    "gbk",
    "johab",
    "mskanji",
    "muleinternal",
    "shiftjis",
    "shiftjis2004",
    "sjis",
    "uhc",
    "win932",
    "win936",
    "win949",
    "win950",
    "windows932",
    "windows936",
    "windows949",
    "windows950",
];

fn shown(bytes: &[u8]) -> String {
    let shown: Vec<String> = bytes.iter().map(|b| format!("0x{b:02x}")).collect();
    shown.join(" ")
}

fn untranslatable(bytes: &[u8], from: &str, to: &str) -> PgError {
    PgError::new(
        SqlState::UNTRANSLATABLE_CHARACTER,
        format!(
            "character with byte sequence {} in encoding \"{from}\" has no equivalent in encoding \"{to}\"",
            shown(bytes)
        ),
    )
}

impl Encoding {
    /// An encoding by any of its names; None: there is no such encoding. Only letters and digits count, whatever their case.
    pub fn by_name(name: &str) -> Option<Encoding> {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
        let windows = plain.strip_prefix("windows").map(|number| format!("win{number}"));
        let plain = windows.filter(|w| !OTHERS.contains(&w.as_str())).unwrap_or(plain);
        let plain = ALIASES.iter().find(|a| a.0 == plain).map_or(plain.as_str(), |a| a.1);
        let folded = |name: &str| name.replace('_', "").to_ascii_lowercase();
        match plain {
            "utf8" | "unicode" => Some(Encoding::Utf8),
            "sqlascii" => Some(Encoding::SqlAscii),
            other => match single_byte().iter().find(|s| folded(s.name) == other) {
                Some(single) => Some(Encoding::Single(single)),
                None => OTHERS.contains(&other).then_some(Encoding::Other),
            },
        }
    }

    /// An encoding by PostgreSQL's number; None where it is not one of ours.
    pub fn by_number(number: i64) -> Option<Encoding> {
        match number {
            0 => Some(Encoding::SqlAscii),
            6 => Some(Encoding::Utf8),
            _ => single_byte().iter().find(|s| s.number == number).map(Encoding::Single),
        }
    }

    /// PostgreSQL's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "UTF8",
            Encoding::SqlAscii => "SQL_ASCII",
            Encoding::Single(single) => single.name,
            Encoding::Other => "",
        }
    }

    /// PostgreSQL's number of it.
    pub fn number(self) -> i64 {
        match self {
            Encoding::Utf8 => 6,
            Encoding::SqlAscii => 0,
            Encoding::Single(single) => single.number,
            Encoding::Other => -1,
        }
    }

    /// Whether text has other bytes than in UTF-8.
    pub fn is_single_byte(self) -> bool {
        matches!(self, Encoding::Single(_))
    }

    /// The text of bytes. Errors: 22021 for bytes that are none, 22P05 for a character that UTF-8 has not.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>> {
        let Encoding::Single(single) = self else { return decode_utf8(bytes).map(Cow::Borrowed) };
        if bytes.contains(&0) {
            return Err(PgError::new(
                SqlState::CHARACTER_NOT_IN_REPERTOIRE,
                format!("invalid byte sequence for encoding \"{}\": 0x00", single.name),
            ));
        }
        if bytes.is_ascii() {
            return decode_utf8(bytes).map(Cow::Borrowed);
        }
        let mut out = String::with_capacity(bytes.len() + bytes.len() / 2);
        for &byte in bytes {
            match byte {
                0..=0x7f => out.push(byte as char),
                _ => out.push(
                    single.characters[byte as usize - 0x80]
                        .ok_or_else(|| untranslatable(&[byte], single.name, "UTF8"))?,
                ),
            }
        }
        Ok(Cow::Owned(out))
    }

    /// The bytes of a text. Errors: 22P05 for a character that the encoding has not.
    pub fn encode(self, text: &str) -> Result<Cow<'_, [u8]>> {
        let Encoding::Single(single) = self else { return Ok(Cow::Borrowed(text.as_bytes())) };
        if text.is_ascii() {
            return Ok(Cow::Borrowed(text.as_bytes()));
        }
        let mut out = Vec::with_capacity(text.len());
        for c in text.chars() {
            if c.is_ascii() {
                out.push(c as u8);
                continue;
            }
            let byte = single.bytes.get(&c).ok_or_else(|| {
                let mut bytes = [0; 4];
                untranslatable(c.encode_utf8(&mut bytes).as_bytes(), "UTF8", single.name)
            })?;
            out.push(*byte);
        }
        Ok(Cow::Owned(out))
    }

    /// As [`Encoding::encode`], with a question mark for what the encoding has not: for messages, which must arrive.
    pub fn encode_lossy(self, text: &str) -> Vec<u8> {
        match self {
            Encoding::Single(single) => text
                .chars()
                .map(|c| if c.is_ascii() { c as u8 } else { single.bytes.get(&c).copied().unwrap_or(b'?') })
                .collect(),
            _ => text.as_bytes().to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Encoding {
        Encoding::by_name(name).unwrap()
    }

    #[test]
    fn names() {
        assert_eq!(named("latin-1").name(), "LATIN1");
        assert_eq!(named("ISO 8859-15").name(), "LATIN9");
        assert_eq!(named("Windows-1252").name(), "WIN1252");
        assert_eq!(named("windows932"), Encoding::Other);
        assert_eq!(named("sjis"), Encoding::Other);
        assert_eq!(Encoding::by_name("latin99"), None);
        assert_eq!(Encoding::by_number(24), Some(named("win1252")));
    }

    #[test]
    fn bytes_and_characters() {
        assert_eq!(named("latin9").decode(b"5 \xa4").unwrap(), "5 €");
        assert_eq!(named("latin1").decode(b"5 \xa4").unwrap(), "5 ¤");
        assert_eq!(&*named("win1252").encode("5 €").unwrap(), b"5 \x80");
        let missing = named("latin1").encode("5 €").unwrap_err();
        assert_eq!(
            (missing.code().as_str(), missing.message()),
            (
                "22P05",
                "character with byte sequence 0xe2 0x82 0xac in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\""
            )
        );
        assert!(named("win1252").decode(b"\x81").is_err());
        assert!(named("latin1").decode(b"a\0").is_err());
        assert_eq!(named("latin1").encode_lossy("é €"), b"\xe9 ?");
    }
}
