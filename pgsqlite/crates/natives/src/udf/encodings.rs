//! Text in other encodings and normal forms: `convert…`, `length(bytea, name)`, `normalize`, `parse_ident`.

use super::shim::{Call, Scalar};
use super::strings::invalid_parameter;
use pgsqlite_types::array::Array;
use pgsqlite_types::encoding::Encoding;
use pgsqlite_types::work::{self, Ticking};
use pgsqlite_types::{Datum, PgError, Result};
use unicode_normalization::UnicodeNormalization;

/// The encoding of a name; 22023 for one that PostgreSQL does not know, either. `role` is `source`, `destination` or nothing.
fn encoding(name: &str, role: &str) -> Result<Encoding> {
    match Encoding::by_name(name) {
        Some(Encoding::Other) => Err(PgError::not_supported(format!("encoding \"{name}\""))),
        Some(found) => Ok(found),
        None if role.is_empty() => Err(invalid_parameter(format!("invalid encoding name \"{name}\""))),
        None => Err(invalid_parameter(format!("invalid {role} encoding name \"{name}\""))),
    }
}

fn convert_to(c: &Call) -> Result<Datum> {
    let encoding = encoding(c.text(1)?, "destination")?;
    Ok(Datum::Blob(encoding.encode(c.text(0)?)?.into_owned()))
}
fn convert_from(c: &Call) -> Result<Datum> {
    let encoding = encoding(c.text(1)?, "source")?;
    Ok(Datum::Text(encoding.decode(c.bytes(0)?)?.into_owned()))
}
fn convert(c: &Call) -> Result<Datum> {
    let (from, to) = (encoding(c.text(1)?, "source")?, encoding(c.text(2)?, "destination")?);
    if from == to {
        from.decode(c.bytes(0)?)?;
        return Ok(Datum::Blob(c.bytes(0)?.to_vec()));
    }
    Ok(Datum::Blob(to.encode(&from.decode(c.bytes(0)?)?)?.into_owned()))
}
fn length_in(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(encoding(c.text(1)?, "")?.count(c.bytes(0)?)? as i64))
}
fn longest_character(c: &Call) -> Result<Datum> {
    match c.int(0)? {
        n if Encoding::by_number(n).is_some() => Ok(Encoding::by_number(n).map(Encoding::longest).into()),
        n if !(0..42).contains(&n) => Ok(Datum::Null),
        n => Err(PgError::not_supported(format!("the character length of encoding {n}"))),
    }
}

// --- normal forms ----------------------------------------------------------------------------------------------------

fn normal_form(c: &Call) -> Result<String> {
    let text = c.text(0)?;
    let form = c.text(1)?;
    Ok(match form.to_ascii_uppercase().as_str() {
        "NFC" => text.nfc().pulsing().collect(),
        "NFD" => text.nfd().pulsing().collect(),
        "NFKC" => text.nfkc().pulsing().collect(),
        "NFKD" => text.nfkd().pulsing().collect(),
        _ => return Err(invalid_parameter(format!("invalid normalization form: {form}"))),
    })
}

// --- identifiers -----------------------------------------------------------------------------------------------------

fn parse_ident(c: &Call) -> Result<Datum> {
    let (whole, strict) = (c.text(0)?, c.bool(1)?);
    let bad = || invalid_parameter(format!("string is not a valid identifier: \"{whole}\""));
    let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c');
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    let (mut out, mut rest, mut after_dot) = (Vec::new(), whole.trim_start_matches(blank), false);
    loop {
        work::pulse(1);
        if let Some(quoted) = rest.strip_prefix('"') {
            let (mut name, mut tail) = (String::new(), quoted);
            loop {
                work::pulse(1);
                let end = tail.find('"').ok_or_else(|| bad().detail("String has unclosed double quotes."))?;
                name.push_str(&tail[..end]);
                tail = &tail[end + 1..];
                match tail.strip_prefix('"') {
                    Some(more) => {
                        name.push('"');
                        tail = more;
                    }
                    None => break,
                }
            }
            if name.is_empty() {
                return Err(bad().detail("Quoted identifier must not be empty."));
            }
            out.push(Datum::Text(name));
            rest = tail;
        } else if rest.starts_with(begins) {
            let end = rest.find(|c: char| !begins(c) && !c.is_ascii_digit() && c != '$').unwrap_or(rest.len());
            out.push(Datum::Text(rest[..end].to_ascii_lowercase()));
            rest = &rest[end..];
        } else if rest.starts_with('.') {
            return Err(bad().detail("No valid identifier before \".\"."));
        } else if after_dot {
            return Err(bad().detail("No valid identifier after \".\"."));
        } else {
            return Err(bad());
        }
        rest = rest.trim_start_matches(blank);
        match rest.strip_prefix('.') {
            Some(more) => {
                after_dot = true;
                rest = more.trim_start_matches(blank);
            }
            None if rest.is_empty() || !strict => break,
            None => return Err(bad()),
        }
    }
    Ok(Array::from_elements(out).to_datum())
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("pg_convert_to", convert_to),
    ("pg_convert_from", convert_from),
    ("pg_convert", convert),
    ("length_in_encoding", length_in),
    ("pg_encoding_max_length_sql", longest_character),
    ("unicode_normalize_func", |c| normal_form(c).map(Datum::Text)),
    ("unicode_is_normalized", |c| Ok(Datum::from(normal_form(c)? == c.text(0)?))),
    ("parse_ident", parse_ident),
];
