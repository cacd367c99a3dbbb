//! Character encodings of clients (PostgreSQL's manual, "Character Set Support"): their names, and text from and to their bytes.
//!
//! The tables are PostgreSQL's own (`data/encodings.tsv`, for several bytes per character `data/multibyte.tsv`; both made by
//! `gen/encodings.py`).

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
    Multi(&'static MultiByte),
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

/// An encoding in which a character takes one byte or several, the first of them from 0x80 (all bytes below are ASCII).
#[derive(Debug)]
pub struct MultiByte {
    /// as PostgreSQL names it: `EUC_JP`, `SJIS` …
    pub name: &'static str,
    /// PostgreSQL's number of it
    pub number: i64,
    /// bytes of its longest character
    pub longest: i64,
    data: (&'static str, &'static str),
    tables: OnceLock<Tables>,
}

/// Sequences as numbers, first byte first.
#[derive(Debug)]
struct Tables {
    characters: HashMap<u32, char>,
    sequences: HashMap<char, u32>,
}

impl PartialEq for MultiByte {
    fn eq(&self, other: &MultiByte) -> bool {
        self.name == other.name
    }
}
impl Eq for MultiByte {}

fn multi_byte() -> &'static [MultiByte] {
    static ENCODINGS: OnceLock<Vec<MultiByte>> = OnceLock::new();
    ENCODINGS.get_or_init(|| {
        let encoding = |line: &'static str| {
            let mut fields = line.split('\t');
            let (name, number) = (fields.next()?, fields.next()?.parse().ok()?);
            let longest = match name {
                "EUC_TW" | "GB18030" => 4,
                "EUC_JP" | "EUC_CN" | "EUC_KR" | "JOHAB" => 3,
                _ => 2,
            };
            let data = (fields.next()?, fields.next().unwrap_or_default());
            Some(MultiByte { name, number, longest, data, tables: OnceLock::new() })
        };
        include_str!("../data/multibyte.tsv").lines().filter_map(encoding).collect()
    })
}

/// The first sequence of GB18030's characters beyond the Basic Multilingual Plane, which follow each other from U+10000.
const GB18030_BEYOND: u32 = 0x9030_8130;

/// The place of a sequence of four bytes of GB18030 among all of them.
fn gb18030_place(sequence: u32) -> u32 {
    let [a, b, c, d] = sequence.to_be_bytes().map(u32::from);
    ((a * 10 + b) * 126 + c) * 10 + d
}

impl MultiByte {
    fn tables(&self) -> &Tables {
        self.tables.get_or_init(|| {
            let number = |text: &str| u32::from_str_radix(text, 16).unwrap_or(0);
            let mut tables = Tables { characters: HashMap::new(), sequences: HashMap::new() };
            let mut next = 0;
            for word in self.data.0.split(' ') {
                crate::work::pulse(1);
                if let Some(first) = word.strip_suffix(':') {
                    next = number(first);
                    continue;
                }
                let (code, count) = word.split_once('+').map_or((word, 1), |(code, count)| (code, number(count)));
                for code in number(code)..number(code) + count {
                    crate::work::pulse(1);
                    if let Some(c) = char::from_u32(code) {
                        tables.characters.insert(next, c);
                        tables.sequences.entry(c).or_insert(next);
                    }
                    next += 1;
                }
            }
            for (code, sequence) in self.data.1.split(' ').filter_map(|word| word.split_once('>')) {
                crate::work::pulse(1);
                let Some(c) = char::from_u32(number(code)) else { continue };
                match sequence {
                    "" => tables.sequences.remove(&c),
                    sequence => tables.sequences.insert(c, number(sequence)),
                };
            }
            tables
        })
    }

    /// How many bytes the character takes that `bytes` begins with (a byte from 0x80), and whether they are one.
    fn length(&self, bytes: &[u8]) -> (usize, bool) {
        let euc = |b: &u8| (0xa1..=0xfe).contains(b);
        let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
        let length = match (self.name, at(0)) {
            ("EUC_TW", 0x8e) => 4,
            ("EUC_JP" | "JOHAB" | "EUC_KR" | "EUC_TW", 0x8f) => 3,
            ("SJIS", 0xa1..=0xdf) => 1,
            ("GB18030", _) if (0x30..=0x39).contains(&at(1)) => 4,
            _ => 2,
        };
        let Some(taken) = bytes.get(..length) else { return (length, false) };
        let (first, rest) = (taken[0], &taken[1..]);
        let valid = match self.name {
            "EUC_JP" if first == 0x8e => (0xa1..=0xdf).contains(&rest[0]),
            "EUC_JP" if first == 0x8f => rest.iter().all(euc),
            "EUC_TW" if first == 0x8e => (0xa1..=0xa7).contains(&rest[0]) && rest[1..].iter().all(euc),
            "EUC_TW" if first == 0x8f => false,
            "EUC_TW" => euc(&rest[0]),
            "EUC_JP" | "EUC_CN" | "EUC_KR" => taken.iter().all(euc),
            "JOHAB" => rest.iter().all(euc),
            "SJIS" if length == 1 => true,
            "SJIS" => matches!(first, 0x81..=0x9f | 0xe0..=0xfc) && matches!(rest[0], 0x40..=0x7e | 0x80..=0xfc),
            "GB18030" if length == 4 => {
                matches!(first, 0x81..=0xfe) && matches!(rest[1], 0x81..=0xfe) && matches!(rest[2], 0x30..=0x39)
            }
            "GB18030" => matches!(first, 0x81..=0xfe) && matches!(rest[0], 0x40..=0x7e | 0x80..=0xfe),
            _ => rest.iter().all(|b| *b != 0),
        };
        (length, valid)
    }

    /// The character that bytes from 0x80 begin with, and how many they are. Errors: 22021, 22P05.
    fn character(&self, bytes: &[u8]) -> Result<(char, usize)> {
        let (length, valid) = self.length(bytes);
        if !valid {
            return Err(invalid(self.name, &bytes[..length.min(bytes.len())]));
        }
        let taken = &bytes[..length];
        let number = taken.iter().fold(0, |n, b| n << 8 | u32::from(*b));
        let mut found = self.tables().characters.get(&number).copied();
        if found.is_none() && self.name == "GB18030" && number >= GB18030_BEYOND {
            found = char::from_u32(0x1_0000 + gb18030_place(number) - gb18030_place(GB18030_BEYOND));
        }
        found.map(|c| (c, length)).ok_or_else(|| untranslatable(taken, self.name, "UTF8"))
    }

    /// Appends a character's bytes; None: it has none.
    fn append(&self, c: char, out: &mut Vec<u8>) -> Option<()> {
        if self.name == "GB18030" && c >= '\u{10000}' {
            let place = c as u32 - 0x1_0000;
            let (d, rest) = (place % 10, place / 10);
            let (third, rest) = (rest % 126, rest / 126);
            let (b, a) = (rest % 10, rest / 10);
            out.extend([0x90 + a, 0x30 + b, 0x81 + third, 0x30 + d].map(|byte| byte as u8));
            return Some(());
        }
        let bytes = self.tables().sequences.get(&c)?.to_be_bytes();
        let first = bytes.iter().position(|b| *b != 0)?;
        out.extend_from_slice(&bytes[first..]);
        Some(())
    }
}

fn invalid(name: &str, bytes: &[u8]) -> PgError {
    PgError::new(
        SqlState::CHARACTER_NOT_IN_REPERTOIRE,
        format!("invalid byte sequence for encoding \"{name}\": {}", shown(bytes)),
    )
}

fn single_byte() -> &'static [SingleByte] {
    static TABLES: OnceLock<Vec<SingleByte>> = OnceLock::new();
    TABLES.get_or_init(|| include_str!("../data/encodings.tsv").lines().filter_map(table).collect())
}

fn table(line: &'static str) -> Option<SingleByte> {
    let mut fields = line.split('\t');
    let (name, number, codes) = (fields.next()?, fields.next()?.parse().ok()?, fields.next()?);
    let mut characters = [None; 128];
    for (place, code) in characters.iter_mut().zip(codes.split(' ')) {
        crate::work::pulse(1);
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
    ("mskanji", "sjis"),
    ("shiftjis", "sjis"),
    ("win932", "sjis"),
    ("win936", "gbk"),
    ("win949", "uhc"),
    ("win950", "big5"),
];

/// Names of PostgreSQL's other encodings, folded as it folds them: they are refused, not unknown.
const OTHERS: &[&str] = &["eucjis2004", "muleinternal", "shiftjis2004"];

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
        let plain = plain.strip_prefix("windows").map_or(plain.clone(), |number| format!("win{number}"));
        let plain = ALIASES.iter().find(|a| a.0 == plain).map_or(plain.as_str(), |a| a.1);
        let folded = |name: &str| name.replace('_', "").to_ascii_lowercase();
        match plain {
            "utf8" | "unicode" => Some(Encoding::Utf8),
            "sqlascii" => Some(Encoding::SqlAscii),
            other => match single_byte().iter().find(|s| folded(s.name) == other) {
                Some(single) => Some(Encoding::Single(single)),
                None if multi_byte().iter().any(|m| folded(m.name) == other) => {
                    multi_byte().iter().find(|m| folded(m.name) == other).map(Encoding::Multi)
                }
                None => OTHERS.contains(&other).then_some(Encoding::Other),
            },
        }
    }

    /// An encoding by PostgreSQL's number; None where it is not one of ours.
    pub fn by_number(number: i64) -> Option<Encoding> {
        match number {
            0 => Some(Encoding::SqlAscii),
            6 => Some(Encoding::Utf8),
            _ => {
                let single = single_byte().iter().find(|s| s.number == number).map(Encoding::Single);
                single.or_else(|| multi_byte().iter().find(|m| m.number == number).map(Encoding::Multi))
            }
        }
    }

    /// PostgreSQL's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "UTF8",
            Encoding::SqlAscii => "SQL_ASCII",
            Encoding::Single(single) => single.name,
            Encoding::Multi(multi) => multi.name,
            Encoding::Other => "",
        }
    }

    /// PostgreSQL's number of it.
    pub fn number(self) -> i64 {
        match self {
            Encoding::Utf8 => 6,
            Encoding::SqlAscii => 0,
            Encoding::Single(single) => single.number,
            Encoding::Multi(multi) => multi.number,
            Encoding::Other => -1,
        }
    }

    /// Whether text has other bytes than in UTF-8.
    pub fn is_converted(self) -> bool {
        matches!(self, Encoding::Single(_) | Encoding::Multi(_))
    }

    /// Whether characters may take several bytes, otherwise than in UTF-8.
    pub fn is_multi_byte(self) -> bool {
        matches!(self, Encoding::Multi(_))
    }

    /// The text of bytes. Errors: 22021 for bytes that are none, 22P05 for a character that UTF-8 has not.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>> {
        if let (Encoding::Multi(multi), false) = (self, bytes.is_ascii()) {
            let mut out = String::with_capacity(bytes.len() * 3 / 2);
            let mut at = 0;
            while at < bytes.len() {
                crate::work::pulse(1);
                let (c, length) = match bytes[at] {
                    0 => return Err(invalid(multi.name, &[0])),
                    b if b < 0x80 => (b as char, 1),
                    _ => multi.character(&bytes[at..])?,
                };
                out.push(c);
                at += length;
            }
            return Ok(Cow::Owned(out));
        }
        if self.is_converted() && bytes.contains(&0) {
            return Err(invalid(self.name(), &[0]));
        }
        let Encoding::Single(single) = self else { return decode_utf8(bytes).map(Cow::Borrowed) };
        if bytes.is_ascii() {
            return decode_utf8(bytes).map(Cow::Borrowed);
        }
        let mut out = String::with_capacity(bytes.len() + bytes.len() / 2);
        for &byte in bytes {
            crate::work::pulse(1);
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
        if let (Encoding::Multi(multi), false) = (self, text.is_ascii()) {
            let mut out = Vec::with_capacity(text.len());
            for c in text.chars() {
                crate::work::pulse(1);
                if c.is_ascii() {
                    out.push(c as u8);
                } else if multi.append(c, &mut out).is_none() {
                    let mut bytes = [0; 4];
                    return Err(untranslatable(c.encode_utf8(&mut bytes).as_bytes(), "UTF8", multi.name));
                }
            }
            return Ok(Cow::Owned(out));
        }
        let Encoding::Single(single) = self else { return Ok(Cow::Borrowed(text.as_bytes())) };
        if text.is_ascii() {
            return Ok(Cow::Borrowed(text.as_bytes()));
        }
        let mut out = Vec::with_capacity(text.len());
        for c in text.chars() {
            crate::work::pulse(1);
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
            Encoding::Multi(multi) => {
                let mut out = Vec::with_capacity(text.len());
                for c in text.chars() {
                    crate::work::pulse(1);
                    if c.is_ascii() {
                        out.push(c as u8);
                    } else if multi.append(c, &mut out).is_none() {
                        out.push(b'?');
                    }
                }
                out
            }
            _ => text.as_bytes().to_vec(),
        }
    }

    /// How many characters bytes are. Errors: 22021 for bytes that are none.
    pub fn count(self, bytes: &[u8]) -> Result<usize> {
        let Encoding::Multi(multi) = self else {
            return match self {
                Encoding::Utf8 => Ok(decode_utf8(bytes)?.chars().count()),
                _ => Ok(bytes.len()),
            };
        };
        let (mut at, mut count) = (0, 0);
        while at < bytes.len() {
            crate::work::pulse(1);
            at += match bytes[at] {
                b if b < 0x80 => 1,
                _ => match multi.length(&bytes[at..]) {
                    (length, true) => length,
                    (length, false) => return Err(invalid(multi.name, &bytes[at..bytes.len().min(at + length)])),
                },
            };
            count += 1;
        }
        Ok(count)
    }

    /// Bytes of its longest character.
    pub fn longest(self) -> i64 {
        match self {
            Encoding::Utf8 => 4,
            Encoding::Multi(multi) => multi.longest,
            _ => 1,
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
        assert_eq!(named("windows932").name(), "SJIS");
        assert_eq!(named("mule_internal"), Encoding::Other);
        assert_eq!(Encoding::by_name("latin99"), None);
        assert_eq!(Encoding::by_number(24), Some(named("win1252")));
    }

    #[test]
    fn several_bytes() {
        for (name, bytes) in [
            ("sjis", &b"\x93\xfa\x96{"[..]),
            ("euc_jp", b"\xc6\xfc\xcb\xdc"),
            ("gbk", b"\xc8\xd5\xb1\xbe"),
            ("big5", b"\xa4\xe9\xa5\xbb"),
            ("gb18030", b"\xc8\xd5\xb1\xbe"),
        ] {
            assert_eq!(named(name).decode(bytes).unwrap(), "日本", "{name}");
            assert_eq!(&*named(name).encode("日本").unwrap(), bytes, "{name}");
            assert_eq!(named(name).count(bytes).unwrap(), 2);
        }
        assert_eq!(&*named("gb18030").encode("😀").unwrap(), b"\x94\x39\xfc\x36");
        assert_eq!(named("gb18030").decode(b"\x94\x39\xfc\x36").unwrap(), "😀");
        assert_eq!(named("euc_jp").decode(b"\xa1").unwrap_err().code().as_str(), "22021");
        assert_eq!(named("sjis").encode("é").unwrap_err().code().as_str(), "22P05");
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
