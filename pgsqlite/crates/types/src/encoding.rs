//! Names of character encodings (PostgreSQL's manual, "Character Set Support").

/// What an encoding's name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Latin1,
    /// bytes as they are
    SqlAscii,
    /// PostgreSQL has it, pgsqlite does not
    Other,
}

/// Names of PostgreSQL's other encodings, folded as it folds them: they are refused, not unknown.
const OTHERS: &[&str] = &[
    "abc",
    "alt",
    "big5",
    "euccn",
    "eucjis2004",
    "eucjp",
    "euckr",
    "euctw",
    "gb18030",
    "gbk",
    "iso885910",
    "iso885913",
    "iso885914",
    "iso885915",
    "iso885916",
    "iso88592",
    "iso88593",
    "iso88594",
    "iso88595",
    "iso88596",
    "iso88597",
    "iso88598",
    "iso88599",
    "johab",
    "koi8",
    "koi8r",
    "koi8u",
    "latin10",
    "latin2",
    "latin3",
    "latin4",
    "latin5",
    "latin6",
    "latin7",
    "latin8",
    "latin9",
    "mskanji",
    "muleinternal",
    "shiftjis",
    "shiftjis2004",
    "sjis",
    "tcvn",
    "tcvn5712",
    "uhc",
    "vscii",
    "win",
    "win1250",
    "win1251",
    "win1252",
    "win1253",
    "win1254",
    "win1255",
    "win1256",
    "win1257",
    "win1258",
    "win866",
    "win874",
    "win932",
    "win936",
    "win949",
    "win950",
    "windows1250",
    "windows1251",
    "windows1252",
    "windows1253",
    "windows1254",
    "windows1255",
    "windows1256",
    "windows1257",
    "windows1258",
    "windows866",
    "windows874",
    "windows932",
    "windows936",
    "windows949",
    "windows950",
];

impl Encoding {
    /// An encoding by any of its names; None: there is no such encoding. Only letters and digits count, whatever their case.
    pub fn by_name(name: &str) -> Option<Encoding> {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
        match plain.as_str() {
            "utf8" | "unicode" => Some(Encoding::Utf8),
            "latin1" | "iso88591" => Some(Encoding::Latin1),
            "sqlascii" => Some(Encoding::SqlAscii),
            other => OTHERS.contains(&other).then_some(Encoding::Other),
        }
    }
}
