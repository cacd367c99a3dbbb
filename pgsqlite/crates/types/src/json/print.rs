//! Printing JSON.

use super::Json;
use crate::work;

/// Appends a JSON string as `jsonb` and `to_json` print it: minimal escapes.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut plain = 0;
    crate::work::pulse(bytes.len() / 16);
    for (i, b) in bytes.iter().enumerate() {
        if i % crate::work::PIECE == crate::work::PIECE - 1 {
            crate::work::pulse(crate::work::PIECE / 8);
        }
        let short: &[u8] = match b {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            0x08 => b"\\b",
            0x0c => b"\\f",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0..=0x1f => b"",
            _ => continue,
        };
        out.extend_from_slice(&bytes[plain..i]);
        plain = i + 1;
        if short.is_empty() {
            out.extend_from_slice(b"\\u00");
            crate::buffer::hex(out, &[*b]);
        } else {
            out.extend_from_slice(short);
        }
    }
    out.extend_from_slice(&bytes[plain..]);
    out.push(b'"');
}

/// Appends the canonical text of `jsonb`: a blank after `,` and `:`.
pub(crate) fn write(value: &Json, out: &mut Vec<u8>) {
    match value {
        Json::Null => out.extend_from_slice(b"null"),
        Json::Bool(true) => out.extend_from_slice(b"true"),
        Json::Bool(false) => out.extend_from_slice(b"false"),
        Json::Number(n) => n.write(out),
        Json::String(s) => write_string(s, out),
        Json::Moment(moment) => write_string(&moment.to_text(), out),
        Json::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                work::pulse(1);
                if i > 0 {
                    out.extend_from_slice(b", ");
                }
                write(item, out);
            }
            out.push(b']');
        }
        Json::Object(pairs) => {
            out.push(b'{');
            for (i, (key, item)) in pairs.iter().enumerate() {
                work::pulse(1);
                if i > 0 {
                    out.extend_from_slice(b", ");
                }
                write_string(key, out);
                out.extend_from_slice(b": ");
                write(item, out);
            }
            out.push(b'}');
        }
    }
}
