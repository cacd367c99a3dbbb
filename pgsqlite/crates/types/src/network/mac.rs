//! `macaddr` and `macaddr8`: six or eight bytes, printed (and stored) as `08:00:2b:01:02:03`.

use crate::buffer::{bad_stored, invalid_syntax, is_space, Reader};
use crate::{Datum, DatumRef, PgError, Result, SqlState};

/// How the six bytes of a `macaddr` may be separated: after which bytes stands which character.
const FORMS: [(u8, &[usize]); 5] = [(b':', &[3]), (b'-', &[3]), (b'.', &[2, 4]), (b'-', &[2, 4]), (b' ', &[])];

/// A hexadecimal number as C's scanf reads one: blanks before it, a sign, at most `width` digits.
fn hexadecimal(text: &[u8], width: usize) -> Option<(i64, &[u8])> {
    let start = text.iter().position(|b| !is_space(*b))?;
    let mut rest = &text[start..];
    let mut width = width;
    let negative = rest[0] == b'-';
    if matches!(rest[0], b'-' | b'+') {
        rest = &rest[1..];
        width -= 1;
    }
    if width > 2 && rest.len() > 2 && rest[0] == b'0' && matches!(rest[1], b'x' | b'X') && rest[2].is_ascii_hexdigit() {
        rest = &rest[2..];
    }
    let count = rest.iter().take(width).take_while(|b| b.is_ascii_hexdigit()).count();
    let mut value = 0i64;
    for b in &rest[..count] {
        value = value.saturating_mul(16).saturating_add(i64::from((*b as char).to_digit(16)?));
    }
    (count > 0).then_some((if negative { -value } else { value }, &rest[count..]))
}

/// Six numbers, with `separator` after those that `after` names; each of at most `width` digits.
fn six(text: &[u8], separator: u8, after: impl Fn(usize) -> bool, width: usize) -> Option<[i64; 6]> {
    let (mut out, mut rest) = ([0; 6], text);
    for (i, slot) in out.iter_mut().enumerate() {
        if i > 0 && after(i) {
            rest = rest.strip_prefix(&[separator])?;
        }
        (*slot, rest) = hexadecimal(rest, width)?;
    }
    rest.iter().all(|b| is_space(*b)).then_some(out)
}

fn mac(text: &str) -> Result<[u8; 6]> {
    let bytes = text.as_bytes();
    let spaced = [b':', b'-'].iter().find_map(|&s| six(bytes, s, |_| true, usize::MAX));
    let numbers = spaced
        .or_else(|| FORMS.iter().find_map(|(s, places)| six(bytes, *s, |i| places.contains(&i), 2)))
        .ok_or_else(|| invalid_syntax("macaddr", text))?;
    let mut out = [0; 6];
    for (byte, number) in out.iter_mut().zip(numbers) {
        *byte = u8::try_from(number).map_err(|_| {
            PgError::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                format!("invalid octet value in \"macaddr\" value: \"{text}\""),
            )
        })?;
    }
    Ok(out)
}

/// The eight bytes of an address of six.
pub fn widen(mac: [u8; 6]) -> [u8; 8] {
    let [a, b, c, d, e, f] = mac;
    [a, b, c, 0xff, 0xfe, d, e, f]
}

/// The six bytes of an address of eight that was one.
pub fn narrow(mac: [u8; 8]) -> Result<[u8; 6]> {
    match mac {
        [a, b, c, 0xff, 0xfe, d, e, f] => Ok([a, b, c, d, e, f]),
        _ => {
            Err(PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "macaddr8 data out of range to convert to macaddr")
                .hint(
                    "Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, for example \
             xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to macaddr.",
                ))
        }
    }
}

/// Pairs of digits, one kind of separator anywhere between them; six pairs stand for eight.
fn mac8(text: &str) -> Option<[u8; 8]> {
    let bytes = text.as_bytes();
    let mut rest = &bytes[bytes.iter().take_while(|b| is_space(**b)).count()..];
    let (mut out, mut separator) = (Vec::new(), None);
    while let [high, low, after @ ..] = rest {
        if out.len() == 8 {
            return None;
        }
        out.push(((*high as char).to_digit(16)? << 4 | (*low as char).to_digit(16)?) as u8);
        rest = after;
        if let [s @ (b':' | b'-' | b'.'), after @ ..] = rest {
            if *separator.get_or_insert(*s) != *s {
                return None;
            }
            rest = after;
        }
        if matches!(out.len(), 6 | 8) && rest.first().is_some_and(|b| is_space(*b)) {
            if !rest.iter().all(|b| is_space(*b)) {
                return None;
            }
            rest = &[];
        }
    }
    match out.len() {
        6 => Some(widen(out.try_into().ok()?)),
        _ => out.try_into().ok(),
    }
}

/// The text (and storage) form.
pub fn to_text(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(":")
}

/// The bytes of a storage form with six (`macaddr`) or eight (`macaddr8`) of them.
pub fn from_storage<const N: usize>(text: &str) -> Option<[u8; N]> {
    let bytes: Option<Vec<u8>> = text.split(':').map(|pair| u8::from_str_radix(pair, 16).ok()).collect();
    bytes?.try_into().ok()
}

pub(crate) fn text_in(text: &str, eight: bool) -> Result<Datum> {
    Ok(Datum::Text(if eight {
        to_text(&mac8(text).ok_or_else(|| invalid_syntax("macaddr8", text))?)
    } else {
        to_text(&mac(text)?)
    }))
}

pub(crate) fn text_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    match value {
        DatumRef::Text(t) => out.extend_from_slice(t.as_bytes()),
        other => return Err(bad_stored("macaddr", other)),
    }
    Ok(())
}

/// Binary form: the bytes. A `macaddr8` may come as six.
pub(crate) fn binary_in(bytes: &[u8], eight: bool) -> Result<Datum> {
    let mut r = Reader(bytes);
    let six = !eight || bytes.len() == 6;
    let given = r.take(if six { 6 } else { 8 })?;
    r.end()?;
    Ok(Datum::Text(match <[u8; 6]>::try_from(given) {
        Ok(mac) if eight => to_text(&widen(mac)),
        _ => to_text(given),
    }))
}

pub(crate) fn binary_out(value: DatumRef, eight: bool, out: &mut Vec<u8>) -> Result<()> {
    let bytes = match value {
        DatumRef::Text(t) if eight => from_storage::<8>(t).map(|b| b.to_vec()),
        DatumRef::Text(t) => from_storage::<6>(t).map(|b| b.to_vec()),
        _ => None,
    };
    out.extend_from_slice(&bytes.ok_or_else(|| bad_stored("macaddr", value))?);
    Ok(())
}
