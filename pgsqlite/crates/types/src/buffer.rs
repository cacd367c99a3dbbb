//! Appending numbers to an output buffer without allocating, and reading fixed-width words of the binary protocol.

use crate::{DatumRef, PgError, Result, SqlState};

/// Appends an integer in decimal.
pub fn int(out: &mut Vec<u8>, value: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends `value` in decimal with at least `width` digits (zero-filled), a minus sign before them.
pub fn padded(out: &mut Vec<u8>, value: i64, width: usize) {
    if value < 0 {
        out.push(b'-');
    }
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value.unsigned_abs());
    for _ in digits.len()..width {
        out.push(b'0');
    }
    out.extend_from_slice(digits.as_bytes());
}

/// Appends two digits; `value` is 0 to 99.
pub fn two(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&[b'0' + (value / 10 % 10) as u8, b'0' + (value % 10) as u8]);
}

/// Appends `.ffffff` without trailing zeros for 0 < micros < 1,000,000, nothing for 0.
pub fn fraction(out: &mut Vec<u8>, micros: u32) {
    if micros == 0 {
        return;
    }
    let mut digits = [b'.', 0, 0, 0, 0, 0, 0];
    let mut rest = micros;
    for d in digits[1..].iter_mut().rev() {
        *d = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let mut len = 7;
    while digits[len - 1] == b'0' {
        len -= 1;
    }
    out.extend_from_slice(&digits[..len]);
}

/// Appends lower-case hexadecimal.
pub fn hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(bytes.len() * 2);
    crate::work::pulse(bytes.len() / 16);
    for (i, b) in bytes.iter().enumerate() {
        if i % crate::work::PIECE == crate::work::PIECE - 1 {
            crate::work::pulse(crate::work::PIECE);
        }
        out.push(DIGITS[(b >> 4) as usize]);
        out.push(DIGITS[(b & 15) as usize]);
    }
}

/// A cursor over a value in binary form. Errors are those of PostgreSQL's `pq_getmsg…`.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        if n > self.0.len() {
            return Err(PgError::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message"));
        }
        let (head, tail) = self.0.split_at(n);
        self.0 = tail;
        Ok(head)
    }
    pub fn u8(&mut self) -> Result<u8> {
        match self.0 {
            [] => Err(PgError::new(SqlState::PROTOCOL_VIOLATION, "no data left in message")),
            [b, rest @ ..] => {
                self.0 = rest;
                Ok(*b)
            }
        }
    }
    pub fn i16(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.take(2)?.try_into().expect("two bytes")))
    }
    pub fn u16(&mut self) -> Result<u16> {
        Ok(self.i16()? as u16)
    }
    pub fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.take(4)?.try_into().expect("four bytes")))
    }
    pub fn u32(&mut self) -> Result<u32> {
        Ok(self.i32()? as u32)
    }
    pub fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.take(8)?.try_into().expect("eight bytes")))
    }
    pub fn f64(&mut self) -> Result<f64> {
        Ok(f64::from_bits(self.i64()? as u64))
    }
    /// Refuses bytes after the value, as Bind does.
    pub fn end(&self) -> Result<()> {
        match self.0 {
            [] => Ok(()),
            _ => Err(PgError::new(SqlState::INVALID_BINARY_REPRESENTATION, "incorrect binary data format")),
        }
    }
}

/// The error for a stored value that is no value of the type: a file that something else wrote to.
pub fn bad_stored(type_name: &str, value: DatumRef) -> PgError {
    let shown = match value {
        DatumRef::Null => "NULL".to_string(),
        DatumRef::Int(i) => i.to_string(),
        DatumRef::Real(r) => r.to_string(),
        DatumRef::Text(t) => t.chars().take(100).collect(),
        DatumRef::Blob(b) => {
            let mut text = b"\\x".to_vec();
            hex(&mut text, &b[..b.len().min(50)]);
            String::from_utf8_lossy(&text).into_owned()
        }
    };
    PgError::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("stored value is not a value of type {type_name}: \"{shown}\""),
    )
}

/// 22P02 `invalid input syntax for type …: "…"`.
pub fn invalid_syntax(type_name: &str, text: &str) -> PgError {
    PgError::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type {type_name}: \"{text}\""),
    )
}

/// C's `isspace` in the C locale: what PostgreSQL's input functions skip.
pub fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// `text` without the blanks of [`is_space`] at both ends.
pub fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8))
}
