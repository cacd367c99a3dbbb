//! How values compare where SQLite's own comparison is not at hand, and the bytes by which equal ones are found: for GROUP BY and joins
//! by hashing.

use super::session_cell::SessionCell;
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::DatumRef;

/// How keys and other values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Bytes,
    Padded,
    Numeric,
}

impl How {
    /// The one that a plan's letter stands for.
    pub(super) fn of_letter(letter: Option<&u8>) -> Option<How> {
        Some(match letter? {
            b'b' => How::Bytes,
            b'r' => How::Padded,
            b'd' => How::Numeric,
            _ => return None,
        })
    }
}

/// The bytes that a table of hashes may take: `work_mem` × `hash_mem_multiplier`.
pub(super) fn room(session: &SessionCell) -> usize {
    let state = session.state();
    let setting = |name: &str, default: f64| {
        let value = state.variables.as_ref().and_then(|v| v.raw(name));
        value.and_then(|v| v.parse::<f64>().ok()).unwrap_or(default)
    };
    (setting("work_mem", 4096.0) * 1024.0 * setting("hash_mem_multiplier", 2.0)) as usize
}

/// Appends what tells a key's value apart: equal values have equal bytes, and no value's bytes are the beginning of another's.
pub(super) fn append_key(how: How, value: DatumRef, out: &mut Vec<u8>) {
    let bytes = |kind: u8, bytes: &[u8], out: &mut Vec<u8>| {
        out.push(kind);
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(bytes);
    };
    match value {
        DatumRef::Null => out.push(0),
        DatumRef::Int(i) if how == How::Numeric => append_numeric(&i.to_string(), out),
        DatumRef::Int(i) => {
            out.push(1);
            out.extend_from_slice(&i.to_le_bytes());
        }
        // an integer and a real number of the same value are equal
        DatumRef::Real(r) if r as i64 as f64 == r && r.abs() < 9e15 => append_key(how, DatumRef::Int(r as i64), out),
        DatumRef::Real(r) => {
            out.push(2);
            out.extend_from_slice(&r.to_bits().to_le_bytes());
        }
        DatumRef::Text(t) => match how {
            How::Bytes => bytes(3, t.as_bytes(), out),
            How::Padded => bytes(3, t.trim_end_matches(' ').as_bytes(), out),
            How::Numeric => append_numeric(t, out),
        },
        DatumRef::Blob(b) => bytes(4, b, out),
    }
}

/// Appends a numeric without zeros that change nothing.
fn append_numeric(text: &str, out: &mut Vec<u8>) {
    let canonical = |text: &str, out: &mut Vec<u8>| {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let plain = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !plain(whole) || !plain(fraction) {
            return false;
        }
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        let zero = whole.is_empty() && fraction.is_empty();
        out.push(if sign && !zero { 6 } else { 5 });
        out.extend_from_slice(whole.as_bytes());
        out.push(b'.');
        out.extend_from_slice(fraction.as_bytes());
        out.push(0);
        true
    };
    if canonical(text, out) {
        return;
    }
    let printed = Numeric::parse(text).map(|n| n.to_string());
    if printed.as_ref().is_ok_and(|text| canonical(text, out)) {
        return;
    }
    // NaN, an infinity, or no numeric
    let text = printed.as_deref().unwrap_or(text);
    out.push(7);
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}
