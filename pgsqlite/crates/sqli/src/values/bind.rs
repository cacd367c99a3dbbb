//! Bound values as texts that PostgreSQL's input functions take for the parameter's type.

use super::base100::{is_null, Base100};
use super::codeset::CodeSet;
use super::complex::{self, Complex, Kind};
use super::complex_bytes;
use super::dates::DateForm;
use super::money::MoneyForm;
use super::qualifier::{self, Qualifier};
use super::types::Type;
use crate::errors::Failure;
use crate::wire::input::{Cursor, Stop};
use crate::wire::messages::{int8, Value};
use pgsqlite_types::calendar::civil;

/// A bound value; None: NULL. `target` is the Informix type of what takes it, where that is known: texts of DATETIME and INTERVAL are
/// read by its qualifier. Blobs are taken from `blobs` in order.
/// Errors: -1213 … -1267 for what is not a value of its type.
pub fn text(
    value: &Value,
    target: Option<Type>,
    codeset: CodeSet,
    dates: &DateForm,
    money: &MoneyForm,
) -> Result<Option<Vec<u8>>, Failure> {
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Text(bytes) => {
            let text = as_written(codeset.decode(bytes)?, target, dates, money)?;
            return Ok(of_read(text, target)?.map(String::into_bytes));
        }
        Value::Integer(n) => n.to_string().into_bytes(),
        Value::Float(n) => n.to_string().into_bytes(),
        Value::SmallFloat(n) => n.to_string().into_bytes(),
        Value::Boolean(on) => if *on { "t" } else { "f" }.into(),
        // a date is the number of its day
        Value::Date(days) if target.is_some_and(Type::is_integer) => days.to_string().into_bytes(),
        Value::Date(days) => {
            let days = days.checked_sub(36525).filter(|d| (-730_119..=2_921_939).contains(d));
            let (year, month, day) = civil(days.ok_or(Failure::new(-1218, 0, ""))?);
            let iso = format!("{year:04}-{month:02}-{day:02}");
            match target {
                Some(t) if t.is_character() => dates.write(&iso),
                _ => iso,
            }
            .into_bytes()
        }
        Value::Decimal(bytes) if is_null(bytes) => return Ok(None),
        Value::Decimal(bytes) => Base100::decode(bytes).ok_or(Failure::new(-1226, 0, ""))?.to_decimal().into_bytes(),
        Value::DateTime(_, bytes) | Value::Interval(_, bytes) if is_null(bytes) => return Ok(None),
        Value::DateTime(encoded, bytes) => {
            let q = Qualifier::decode(*encoded).ok_or(Failure::new(-1262, 0, ""))?;
            let text = datetime(q, bytes)?;
            match target {
                Some(Type::DateTime(t)) if t != q => fitted(&text, q, t)?,
                Some(t) if t.is_character() => characters(&text, q),
                _ => text,
            }
            .into_bytes()
        }
        Value::Interval(encoded, bytes) => {
            let q = Qualifier::decode(*encoded).ok_or(Failure::new(-1262, 0, ""))?;
            let kept = match target {
                Some(Type::Interval(t)) if t != q => interval_fits(q, t)?,
                Some(t) if t.is_character() => return Err(Failure::refused("an INTERVAL as characters")),
                _ => None,
            };
            interval(q, bytes, kept)?.into_bytes()
        }
        Value::Blob { .. } => return Err(Failure::internal("a blob is bound with its content")),
        Value::Opaque { type_name, bytes } if is_complex(type_name) || is_named(type_name, target) => match target {
            Some(ty @ Type::Complex(complex)) => {
                return Ok(complex_bytes::bound(bytes, complex, codeset)?.text(ty).map(String::into_bytes));
            }
            // what it is to be is not known, or something else
            _ => return Err(Failure::new(-9634, 0, String::from_utf8_lossy(type_name).into_owned())),
        },
        // no cast from such a type
        Value::Opaque { type_name, .. } => {
            return Err(Failure::new(-9634, 0, String::from_utf8_lossy(type_name).into_owned()))
        }
    }))
}

/// The text of a number, as [`text`] gives it, for something of an integer type: Informix cuts the digits behind the point.
pub fn without_fraction(number: &str) -> String {
    let trimmed = number.trim();
    let (sign, digits) = match trimmed.strip_prefix(['-', '+']) {
        Some(rest) => (&trimmed[..1], rest),
        None => ("", trimmed),
    };
    match digits.split_once('.') {
        Some((whole, behind)) if [whole, behind].iter().all(|part| part.bytes().all(|b| b.is_ascii_digit())) => {
            match whole.trim_start_matches('0') {
                "" => "0".into(),
                whole => format!("{sign}{whole}"),
            }
        }
        _ => trimmed.to_string(),
    }
}

/// A text in the form that the client's environment gives dates and numbers, in that of PostgreSQL. Errors: -1213.
pub fn as_written(text: String, target: Option<Type>, dates: &DateForm, money: &MoneyForm) -> Result<String, Failure> {
    Ok(match target {
        Some(Type::Date) => dates.read(&text).unwrap_or(text),
        Some(Type::Money(..)) => money.read(&text, true)?,
        Some(Type::Decimal(..) | Type::Float | Type::SmallFloat) => money.read(&text, false)?,
        _ => text,
    })
}

/// A text that stands for a value of the type; None: NULL. Errors: as [`text`].
fn of_read(text: String, target: Option<Type>) -> Result<Option<String>, Failure> {
    match target {
        Some(ty @ Type::Complex(complex)) => Ok(complex::literal(&text, complex)?.text(ty)),
        target => Ok(Some(of_text(text, target)?)),
    }
}

/// A text that stands for a value of a simple type. Errors: as [`text`].
pub fn of_text(text: String, target: Option<Type>) -> Result<String, Failure> {
    Ok(match target {
        // no cast from characters to large objects
        Some(Type::Blob | Type::Clob) => return Err(Failure::new(-9634, 0, "char")),
        // bytes are no characters
        Some(Type::Byte) => return Err(Failure::new(-617, 0, "")),
        Some(Type::DateTime(q)) => datetime_text(&text, q)?,
        Some(Type::Interval(q)) => interval_text(&text, q)?,
        // what stands for a number may have blanks around it
        Some(Type::Date) => text.trim().to_string(),
        Some(ty) if ty.is_integer() => text.trim().to_string(),
        _ => text,
    })
}

/// Whether the type is the row type of that name.
fn is_named(type_name: &[u8], target: Option<Type>) -> bool {
    matches!(target, Some(Type::Complex(Complex::Named(name, _))) if name.as_bytes() == type_name)
}

/// Whether a bound value's type is a collection or a row, as `list (  int  not null) `.
fn is_complex(type_name: &[u8]) -> bool {
    let word = type_name.split(|b| !b.is_ascii_alphabetic()).next().unwrap_or_default();
    let word = String::from_utf8_lossy(word);
    Kind::of_word(&word).is_some() || word.eq_ignore_ascii_case("row")
}

/// Pairs of a number from its first field down to SECOND, and those of the fraction.
fn pairs(number: &Base100, before: usize) -> Result<(Vec<u64>, Vec<u64>), Failure> {
    let bad = || Failure::new(-1262, 0, "");
    let gap = usize::try_from(before as i32 - number.exponent).map_err(|_| bad())?;
    if gap > before + 5 {
        return Err(bad());
    }
    let mut all: Vec<u64> = std::iter::repeat_n(0, gap).chain(number.pairs.iter().map(|p| *p as u64)).collect();
    all.resize(all.len().max(before), 0);
    let fraction = all.split_off(before);
    if fraction.len() > 3 {
        return Err(bad());
    }
    Ok((all, fraction))
}

/// Digits behind a second: those that the qualifier has, of pairs that may have one more.
fn fraction(pairs: &[u64], q: Qualifier) -> String {
    if pairs.is_empty() || q.fraction() == 0 {
        return String::new();
    }
    let digits = pairs.iter().fold(String::new(), |text, p| text + &format!("{p:02}"));
    format!(".{}", &digits[..digits.len().min(q.fraction() as usize)])
}

/// A DATETIME in ISO form: a timestamp if it begins with YEAR (missing fields are those of the first moment), a time if with HOUR.
fn datetime(q: Qualifier, bytes: &[u8]) -> Result<String, Failure> {
    let number = Base100::decode(bytes).filter(|n| !n.negative).ok_or(Failure::new(-1262, 0, ""))?;
    match q.from {
        qualifier::YEAR | qualifier::MONTH | qualifier::DAY => {
            let missing = if q.from == qualifier::YEAR { 0 } else { 1 + q.from as usize / 2 };
            let (mut p, rest) = pairs(&number, 7 - missing)?;
            p.splice(..0, [20, 0, 1][..missing].iter().copied());
            // fields behind the last one are zero: the first of their kind is meant
            let first = |n: u64, field: u8| if field > q.to { 1 } else { n };
            let (month, day) = (first(p[2], qualifier::MONTH), first(p[3], qualifier::DAY));
            Ok(format!(
                "{:02}{:02}-{month:02}-{day:02} {:02}:{:02}:{:02}{}",
                p[0],
                p[1],
                p[4],
                p[5],
                p[6],
                fraction(&rest, q)
            ))
        }
        _ => {
            let missing = (q.from - qualifier::HOUR) as usize / 2;
            let (mut p, rest) = pairs(&number, 3 - missing)?;
            p.splice(..0, [0, 0, 0][..missing].iter().copied());
            Ok(format!("{:02}:{:02}:{:02}{}", p[0], p[1], p[2], fraction(&rest, q)))
        }
    }
}

/// A DATETIME `from`, as [`datetime`] gives it, as a value of `to`: what lies behind its last field is cut, as in a literal.
/// Errors: -1261, and where fields of the present moment would have to stand before its first field.
fn fitted(text: &str, from: Qualifier, to: Qualifier) -> Result<String, Failure> {
    if to.is_partial() {
        // what lies before its first field does not count
        return narrowed(text, from, to);
    }
    if to.from < from.from {
        return Err(Failure::refused(format!(
            "a {} for a {}",
            from.type_name(false).to_uppercase(),
            to.type_name(false).to_uppercase()
        )));
    }
    let found = fields(text).ok_or(Failure::new(-1262, 0, ""))?;
    let first = if from.is_timestamp() { qualifier::YEAR } else { qualifier::HOUR };
    datetime_of(found.iter().map(|(_, digits)| digits.as_str()), first, to)
}

/// A DATETIME, as [`datetime`] gives it, with the fields that it has.
fn characters(text: &str, q: Qualifier) -> String {
    let place = |field: u8| [0, 5, 8, 11, 14, 17, 20][(field as usize / 2).min(6)];
    let shift = if q.is_timestamp() { 0 } else { place(qualifier::HOUR) };
    let end = match q.fraction() {
        0 => [4, 7, 10, 13, 16, 19][(q.to as usize / 2).min(5)],
        digits => place(qualifier::FRACTION) + digits as usize,
    };
    // the fraction has pairs of digits, and may have none
    let padded = if text.contains('.') { format!("{text}000000") } else { format!("{text}.000000") };
    padded[place(q.from) - shift..end - shift].to_string()
}

/// The fields of `to` out of the text of a DATETIME `from`, as [`datetime`] gives it. Errors: -1261 if it has not all of them.
fn narrowed(text: &str, from: Qualifier, to: Qualifier) -> Result<String, Failure> {
    if to.from < from.from || to.to.min(qualifier::SECOND) > from.to {
        return Err(Failure::new(-1261, 0, ""));
    }
    let found = fields(text).ok_or(Failure::new(-1262, 0, ""))?;
    let first = if from.is_timestamp() { qualifier::YEAR } else { qualifier::HOUR };
    datetime_of(found.iter().map(|(_, digits)| digits.as_str()), first, to)
}

/// Whether an INTERVAL `from` is one of `to`, and what `to` keeps of it. Errors: -1268 for one of the other class.
fn interval_fits(from: Qualifier, to: Qualifier) -> Result<Option<Qualifier>, Failure> {
    match from.is_year_month() == to.is_year_month() {
        true => Ok(Some(to)),
        false => Err(Failure::new(-1268, 0, "")),
    }
}

/// An INTERVAL as PostgreSQL reads it. `kept`: what lies behind its last field is cut.
/// Errors: -1265 if the first field has more digits than that of `kept`.
fn interval(q: Qualifier, bytes: &[u8], kept: Option<Qualifier>) -> Result<String, Failure> {
    let number = Base100::decode(bytes).ok_or(Failure::new(-1262, 0, ""))?;
    let sign = if number.negative { "-" } else { "" };
    // the first field may take five pairs
    let after = if q.from == qualifier::FRACTION { 0 } else { (qualifier::SECOND - q.from) as usize / 2 };
    let before = if q.from == qualifier::FRACTION { 0 } else { after + 5 };
    let (p, rest) = pairs(&number, before)?;
    let (lead, fields) = p.split_at(before - after);
    let lead = lead.iter().fold(0, |n, p| n * 100 + p);
    let unit =
        |field: u8| ["years", "months", "days", "hours", "minutes", "seconds", "seconds"][(field / 2).min(6) as usize];
    let mut out = Vec::new();
    let last = kept.map_or(15, |k| k.to);
    let mut put = |n: u64, field: u8, mut fraction: String| {
        if field > last {
            return;
        }
        fraction.truncate(1 + last.saturating_sub(qualifier::SECOND) as usize);
        let fraction = if fraction == "." { "" } else { fraction.as_str() };
        if n > 0 || !fraction.is_empty() || out.is_empty() {
            out.push(format!("{sign}{n}{fraction} {}", unit(field)));
        }
    };
    let rest = fraction(&rest, q);
    let mut first = q.from;
    if q.from >= qualifier::SECOND {
        put(lead, qualifier::SECOND, rest);
    } else {
        put(lead, q.from, String::new());
        for (i, n) in fields.iter().enumerate() {
            let field = q.from + 2 * (i as u8 + 1);
            let behind = if field == qualifier::SECOND { rest.clone() } else { String::new() };
            put(*n, field, behind);
        }
    }
    if let Some(kept) = kept {
        first = first.min(qualifier::SECOND);
        // digits of the first field, counted in its own unit
        let widest = 10u64.saturating_pow(kept.precision.into());
        if first == kept.from && lead >= widest {
            return Err(Failure::new(-1265, 0, ""));
        }
    }
    if out.is_empty() {
        out.push(format!("0 {}", unit(q.from)));
    }
    Ok(out.join(" "))
}

/// Runs of digits of a text, and what stands before each; None: something else is in it.
fn fields(text: &str) -> Option<Vec<(String, String)>> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut between = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' => match out.last_mut() {
                Some((_, digits)) if between.is_empty() => digits.push(c),
                _ => out.push((std::mem::take(&mut between), c.to_string())),
            },
            '-' | ' ' | ':' | '.' | 'T' => between.push(c),
            _ => return None,
        }
    }
    between.is_empty().then_some(out)
}

/// What stands before a field that is not the first.
fn separator(field: u8) -> &'static [&'static str] {
    match field {
        qualifier::MONTH | qualifier::DAY => &["-"],
        qualifier::HOUR => &[" ", "T"],
        qualifier::MINUTE | qualifier::SECOND => &[":"],
        _ => &["."],
    }
}

/// The text of a DATETIME with exactly the fields of `q` (fields behind `q`'s last may be there: they are cut, as a cast does).
/// A client may also give a whole timestamp for a part of it. Errors: -1261 … -1264.
pub fn datetime_text(text: &str, q: Qualifier) -> Result<String, Failure> {
    let bad = || Failure::new(-1262, 0, "");
    let text = text.trim();
    // a fraction may stand without anything before its point
    let text = if q.from == qualifier::FRACTION { text.trim_start_matches('.') } else { text };
    let found = fields(text).ok_or_else(bad)?;
    let first = match found.as_slice() {
        [(_, year), (sign, _), ..] if year.len() == 4 && sign == "-" => qualifier::YEAR,
        _ => q.from,
    };
    let mut field = first;
    for (i, (before, digits)) in found.iter().enumerate() {
        let expected = if i == 0 { before.is_empty() } else { separator(field).contains(&before.as_str()) };
        if !expected || digits.len() > 6 || field > qualifier::FRACTION {
            return Err(bad());
        }
        field += 2;
    }
    // too few fields
    if found.is_empty() || field - 2 < q.to.min(qualifier::SECOND) && found.len() < 6 {
        return Err(Failure::new(-1261, 0, ""));
    }
    datetime_of(found.iter().map(|(_, digits)| digits.as_str()), first, q)
}

/// The fields of `q` out of values of fields from `first` on.
fn datetime_of<'a>(found: impl Iterator<Item = &'a str>, first: u8, q: Qualifier) -> Result<String, Failure> {
    // the year in which every day of a month can be
    const NONE: [u64; 6] = [2000, 1, 1, 0, 0, 0];
    let mut values = NONE;
    let mut behind = String::new();
    let mut field = first;
    for digits in found {
        match field {
            qualifier::FRACTION => behind = format!(".{digits}"),
            _ => {
                let value = values.get_mut(field as usize / 2).ok_or(Failure::new(-1262, 0, ""))?;
                *value = digits.parse().map_err(|_| Failure::new(-1262, 0, ""))?;
            }
        }
        field += 2;
    }
    // what lies before the first and behind the last field does not count
    for (i, none) in NONE.into_iter().enumerate() {
        if (i as u8) * 2 > q.to || (i as u8) * 2 < q.from {
            values[i] = none;
        }
    }
    behind.truncate(if q.fraction() > 0 { 1 + q.fraction() as usize } else { 0 });
    let [year, month, day, hour, minute, second] = values;
    let time = format!("{hour:02}:{minute:02}:{second:02}{behind}");
    Ok(if q.is_timestamp() { format!("{year:04}-{month:02}-{day:02} {time}") } else { time })
}

/// The text of an INTERVAL, its fields being those of `q`. Errors: -1261, -1262, -1265.
pub fn interval_text(text: &str, q: Qualifier) -> Result<String, Failure> {
    let bad = || Failure::new(-1262, 0, "");
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    // a fraction may stand without anything before its point
    let digits = if q.from == qualifier::FRACTION { digits.trim_start_matches('.') } else { digits };
    let found = fields(digits).ok_or_else(bad)?;
    let mut out: Vec<String> = Vec::new();
    let mut field = q.from;
    for (i, (before, digits)) in found.iter().enumerate() {
        let expected = if i == 0 { before.is_empty() } else { separator(field).contains(&before.as_str()) };
        let within = field <= q.to || field == qualifier::FRACTION && q.fraction() > 0;
        if !expected || !within {
            return Err(bad());
        }
        if i == 0 && q.from != qualifier::FRACTION && digits.trim_start_matches('0').len() > q.precision as usize {
            return Err(Failure::new(-1265, 0, ""));
        }
        // PostgreSQL takes each unit once
        let seconds = if field == qualifier::FRACTION { out.pop() } else { None };
        out.push(match field {
            qualifier::YEAR => format!("{sign}{digits} years"),
            qualifier::MONTH => format!("{sign}{digits} months"),
            qualifier::DAY => format!("{sign}{digits} days"),
            qualifier::HOUR => format!("{sign}{digits} hours"),
            qualifier::MINUTE => format!("{sign}{digits} minutes"),
            qualifier::SECOND => format!("{sign}{digits} seconds"),
            _ => {
                let whole = seconds.and_then(|s| Some(s.strip_suffix(" seconds")?.to_string()));
                let digits = &digits[..digits.len().min(q.fraction() as usize)];
                format!("{}.{digits} seconds", whole.unwrap_or_else(|| format!("{sign}0")))
            }
        });
        field += 2;
    }
    if found.is_empty() || (field - 2) < q.to.min(qualifier::SECOND) {
        return Err(Failure::new(-1261, 0, ""));
    }
    Ok(out.join(" "))
}

/// A value of a PUT row, which has tuple form.
pub fn tuple_value(c: &mut Cursor, type_code: i16, encoded_length: i32) -> Result<Value, Failure> {
    use crate::wire::type_code as t;
    let read = |c: &mut Cursor| -> Result<Value, Stop> {
        let decimal_width = |length: i32| super::types::decimal_width((length >> 8) as u8, length as u8);
        Ok(match type_code & 0xff {
            t::CHAR | t::NCHAR => {
                let bytes = c.take(usize::try_from(encoded_length).unwrap_or(0))?;
                match bytes.first() {
                    Some(0) => Value::Null,
                    _ => Value::Text(bytes.trim_ascii_end().to_vec()),
                }
            }
            t::VARCHAR | t::NVARCHAR => {
                let n = c.byte()?;
                match c.take(n.into())? {
                    [0] => Value::Null,
                    bytes => Value::Text(bytes.to_vec()),
                }
            }
            t::SMALLINT => match c.short()? {
                i16::MIN => Value::Null,
                n => Value::Integer(n.into()),
            },
            t::INTEGER | t::SERIAL => match c.int()? {
                i32::MIN => Value::Null,
                n => Value::Integer(n.into()),
            },
            t::BIGINT | t::BIGSERIAL => match c.long()? {
                i64::MIN => Value::Null,
                n => Value::Integer(n),
            },
            t::INT8 | t::SERIAL8 => int8(c)?.map_or(Value::Null, Value::Integer),
            t::DATE => match c.int()? {
                i32::MIN => Value::Null,
                n => Value::Date(n),
            },
            t::FLOAT => match c.take(8)? {
                [255, 255, 255, 255, 255, 255, 255, 255] => Value::Null,
                bytes => Value::Float(Cursor::new(bytes).double()?),
            },
            t::SMALLFLOAT => match c.take(4)? {
                [255, 255, 255, 255] => Value::Null,
                bytes => Value::SmallFloat(Cursor::new(bytes).single()?),
            },
            t::DECIMAL | t::MONEY => Value::Decimal(c.take(decimal_width(encoded_length))?.to_vec()),
            t::DATETIME | t::INTERVAL => {
                let encoded = encoded_length as u16;
                let q = Qualifier::decode(encoded).ok_or(Stop::Malformed("a qualifier of a row".into()))?;
                let bytes = c.take(q.width())?.to_vec();
                match type_code & 0xff {
                    t::DATETIME => Value::DateTime(encoded, bytes),
                    _ => Value::Interval(encoded, bytes),
                }
            }
            t::UDT_VAR | t::LVARCHAR | t::UDT_FIXED | t::BOOLEAN | t::OPAQUE => {
                let null = c.byte()?;
                let n = c.length("the length of a value in a row")?;
                let bytes = c.take(n)?;
                match (null, type_code & 0xff) {
                    (1, _) => Value::Null,
                    (_, t::UDT_VAR | t::LVARCHAR) => Value::Text(bytes.to_vec()),
                    (_, t::OPAQUE) => Value::Opaque { type_name: b"blob".to_vec(), bytes: bytes.to_vec() },
                    _ if n != 1 => Value::Opaque { type_name: b"blob".to_vec(), bytes: bytes.to_vec() },
                    _ => Value::Boolean(matches!(bytes, [1 | b't'])),
                }
            }
            other => return Err(Stop::Malformed(format!("a value of type {other} in a row"))),
        })
    };
    read(c).map_err(|e| match e {
        Stop::Incomplete => Failure::text("a row that is shorter than its columns"),
        Stop::Malformed(what) => Failure::refused(what),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(value: Value, target: Option<Type>) -> String {
        String::from_utf8(
            text(&value, target, CodeSet::Latin1, &DateForm::iso(), &MoneyForm::usual()).unwrap().unwrap(),
        )
        .unwrap()
    }

    #[test]
    fn a_row_that_is_too_short_is_the_clients_fault() {
        let failure = tuple_value(&mut Cursor::new(b"\x05a"), crate::wire::type_code::VARCHAR, 10).unwrap_err();
        assert_eq!(failure, Failure::text("a row that is shorter than its columns"));
    }

    #[test]
    fn values_become_texts() {
        let b =
            |hex: &str| (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect();
        for (value, expected) in [
            (Value::Integer(-5), "-5"),
            (Value::Decimal(b("3d57412c")), "-1234.56"),
            (Value::Decimal(b("bf0a")), "0.001"),
            (Value::Date(0xb441), "2026-05-04"),
            (Value::DateTime(0x0e0a, b("c7141a05040c1e2d")), "2026-05-04 12:30:45"),
            (Value::DateTime(0x130f, b("c7141a0102030405000000")), "2026-01-02 03:04:05"),
            (Value::DateTime(0x066a, b("c2040500")), "00:04:05"),
            (Value::DateTime(0x0804, b("c7141a0102")), "2026-01-02 00:00:00"),
            (Value::DateTime(0x0424, b("c50506")), "2000-05-06 00:00:00"),
            (Value::DateTime(0x05cf, b("be0a0000")), "00:00:00.00001"),
            // not normalized, as a client sends it
            (Value::Interval(0x144f, b("c80000000003040506000000")), "3 days 4 hours 5 minutes 6 seconds"),
            (Value::Interval(0x0b02, b("ca000000000206")), "2 years 6 months"),
            (Value::Interval(0x05ac, b("3d5a0001")), "-999.99 seconds"),
        ] {
            assert_eq!(bound(value, None), expected);
        }
        let day = Type::DateTime(Qualifier::datetime(qualifier::MONTH, qualifier::DAY));
        assert_eq!(bound(Value::DateTime(0x0e0a, b("c7141a05040c1e2d")), Some(day)), "2000-05-04 00:00:00");
        let read = |value, target| text(&value, target, CodeSet::Utf8, &DateForm::iso(), &MoneyForm::usual());
        assert_eq!(read(Value::DateTime(0x066a, b("c2040500")), Some(day)).unwrap_err().sqlcode, -1261);
        assert_eq!(read(Value::Decimal(vec![0, 0]), None).unwrap(), None);
    }

    #[test]
    fn texts_are_read_by_the_qualifier() {
        let dt = |text: &str, from, to| datetime_text(text, Qualifier::datetime(from, to)).map_err(|e| e.sqlcode);
        use qualifier::*;
        assert_eq!(dt("2026-01-02 03:04:05.678", YEAR, SECOND).unwrap(), "2026-01-02 03:04:05");
        assert_eq!(dt("2026-01-02 03:04:05.678", YEAR, 12).unwrap(), "2026-01-02 03:04:05.67");
        assert_eq!(dt("2026-01", YEAR, MONTH).unwrap(), "2026-01-01 00:00:00");
        assert_eq!(dt("2020-01-01 00:00:00.0", HOUR, SECOND).unwrap(), "00:00:00");
        assert_eq!(dt("23:59", HOUR, MINUTE).unwrap(), "23:59:00");
        assert_eq!(dt("02-29", MONTH, DAY).unwrap(), "2000-02-29 00:00:00");
        assert_eq!(dt("2026-05-06 07:08:09", MONTH, DAY).unwrap(), "2000-05-06 00:00:00");
        assert_eq!(dt("31 23", DAY, HOUR).unwrap(), "2000-01-31 23:00:00");
        assert_eq!(dt("07:08.5", MINUTE, 11).unwrap(), "00:07:08.5");
        assert_eq!(dt("59", SECOND, SECOND).unwrap(), "00:00:59");
        assert_eq!(dt(".25", FRACTION, 12).unwrap(), "00:00:00.25");
        assert_eq!(dt("05", MONTH, DAY), Err(-1261));
        assert_eq!(dt("05:06", MONTH, DAY), Err(-1262));
        assert_eq!(dt("2026-01-02", YEAR, SECOND), Err(-1261));
        assert_eq!(dt("", YEAR, SECOND), Err(-1261));
        assert_eq!(dt("yesterday", YEAR, SECOND), Err(-1262));
        let iv = |text: &str, from, to, precision| {
            interval_text(text, Qualifier { from, to, precision }).map_err(|e| e.sqlcode)
        };
        assert_eq!(iv("05:06", MINUTE, SECOND, 2).unwrap(), "05 minutes 06 seconds");
        assert_eq!(iv("-3 04:05:06.5", DAY, 11, 3).unwrap(), "-3 days -04 hours -05 minutes -06.5 seconds");
        assert_eq!(iv("2-06", YEAR, MONTH, 4).unwrap(), "2 years 06 months");
        assert_eq!(iv("1234", DAY, DAY, 3), Err(-1265));
        assert_eq!(iv("1 02", DAY, SECOND, 3), Err(-1261));
        assert_eq!(iv("1:2", DAY, SECOND, 3), Err(-1262));
    }
}
