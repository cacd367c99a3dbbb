//! The bytes of a request, and what an answer says. Only what the load generator needs of the protocol.

use crate::job::{Mode, Statement, Value};
use std::fmt::Write;

const INT4: u32 = 23;
const TEXT: u32 = 25;

fn message(out: &mut Vec<u8>, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    fill(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn cstr(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// The startup packet.
pub fn startup(user: &str, database: &str) -> Vec<u8> {
    let mut body = 196_608u32.to_be_bytes().to_vec();
    for (name, value) in [("user", user), ("database", database), ("application_name", "bench")] {
        cstr(&mut body, name);
        cstr(&mut body, value);
    }
    body.push(0);
    let mut out = ((body.len() + 4) as u32).to_be_bytes().to_vec();
    out.extend(body);
    out
}

fn parse(out: &mut Vec<u8>, name: &str, statement: &Statement, values: &[Value]) {
    message(out, b'P', |out| {
        cstr(out, name);
        cstr(out, &statement.sql);
        out.extend_from_slice(&(values.len() as u16).to_be_bytes());
        for value in values {
            let ty = if matches!(value, Value::Int(_)) { INT4 } else { TEXT };
            out.extend_from_slice(&ty.to_be_bytes());
        }
    });
}

fn bind_and_execute(out: &mut Vec<u8>, name: &str, values: &[Value], binary: bool, describe: bool) {
    let format = u16::from(binary).to_be_bytes();
    message(out, b'B', |out| {
        cstr(out, "");
        cstr(out, name);
        out.extend_from_slice(&1u16.to_be_bytes());
        out.extend_from_slice(&format);
        out.extend_from_slice(&(values.len() as u16).to_be_bytes());
        for value in values {
            let bytes = match value {
                Value::Int(n) if binary => n.to_be_bytes().to_vec(),
                Value::Int(n) => n.to_string().into_bytes(),
                Value::Text(t) => t.as_bytes().to_vec(),
            };
            out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
            out.extend(bytes);
        }
        out.extend_from_slice(&1u16.to_be_bytes());
        out.extend_from_slice(&format);
    });
    if describe {
        message(out, b'D', |out| out.extend_from_slice(b"P\0"));
    }
    message(out, b'E', |out| out.extend_from_slice(&[0; 5]));
    message(out, b'S', |_| {});
}

/// What prepares a statement under a name; ends with Sync.
pub fn prepare(name: &str, statement: &Statement, values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    parse(&mut out, name, statement, values);
    message(&mut out, b'S', |_| {});
    out
}

/// The request of one operation; the answer ends with ReadyForQuery. `out` is emptied first.
pub fn request(out: &mut Vec<u8>, mode: Mode, name: &str, statement: &Statement, values: &[Value]) {
    out.clear();
    match mode {
        Mode::Simple => message(out, b'Q', |out| cstr(out, &with_literals(&statement.sql, values))),
        Mode::Extended => {
            parse(out, "", statement, values);
            bind_and_execute(out, "", values, false, true);
        }
        Mode::PreparedText => bind_and_execute(out, name, values, false, false),
        Mode::PreparedBinary => bind_and_execute(out, name, values, true, false),
    }
}

/// The statement with its parameters replaced by literals.
fn with_literals(sql: &str, values: &[Value]) -> String {
    let mut out = String::with_capacity(sql.len() + 32);
    let mut rest = sql;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        match rest[at + 1..at + 1 + digits].parse::<usize>().ok().and_then(|n| values.get(n.wrapping_sub(1))) {
            // writing to a String does not fail
            Some(Value::Int(n)) => drop(write!(out, "{n}")),
            Some(Value::Text(t)) => drop(write!(out, "'{}'", t.replace('\'', "''"))),
            None => out.push_str(&rest[at..at + 1 + digits]),
        }
        rest = &rest[at + 1 + digits..];
    }
    out.push_str(rest);
    out
}

/// Reads answers as they come in: message after message, without keeping them.
#[derive(Default)]
pub struct Answer {
    /// bytes that do not make a whole header or an interesting message yet
    kept: Vec<u8>,
    /// bytes of the present message that are passed over
    to_skip: usize,
    pub rows: u64,
    pub affected: Option<u64>,
    /// SQLSTATE and message
    pub error: Option<(String, String)>,
}

impl Answer {
    /// Takes what was read. True: the answer is complete (ReadyForQuery was its last message).
    pub fn feed(&mut self, mut bytes: &[u8]) -> bool {
        loop {
            let skipped = self.to_skip.min(bytes.len());
            self.to_skip -= skipped;
            bytes = &bytes[skipped..];
            if bytes.is_empty() {
                return false;
            }
            if self.kept.is_empty() && bytes.len() >= 5 {
                let length = u32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]) as usize + 1;
                if bytes.len() >= length {
                    if self.message(bytes[0], &bytes[5..length]) {
                        return true;
                    }
                    bytes = &bytes[length..];
                    continue;
                }
                if bytes[0] == b'D' {
                    // a row that goes on: only that it is there counts
                    self.rows += 1;
                    self.to_skip = length - bytes.len();
                    return false;
                }
            }
            self.kept.extend_from_slice(bytes);
            if self.kept.len() < 5 {
                return false;
            }
            let length = u32::from_be_bytes([self.kept[1], self.kept[2], self.kept[3], self.kept[4]]) as usize + 1;
            if self.kept.len() < length {
                return false;
            }
            let kept = std::mem::take(&mut self.kept);
            if self.message(kept[0], &kept[5..length]) {
                return true;
            }
            return self.feed(&kept[length..]);
        }
    }

    fn message(&mut self, kind: u8, body: &[u8]) -> bool {
        match kind {
            b'D' => self.rows += 1,
            b'C' => {
                let tag = String::from_utf8_lossy(body.strip_suffix(b"\0").unwrap_or(body)).into_owned();
                self.affected = tag.rsplit(' ').next().and_then(|n| n.parse().ok());
            }
            b'E' => {
                let field = |code: u8| {
                    body.split(|b| *b == 0)
                        .find(|f| f.first() == Some(&code))
                        .map_or(String::new(), |f| String::from_utf8_lossy(&f[1..]).into_owned())
                };
                self.error = Some((field(b'C'), field(b'M')));
            }
            b'Z' => return true,
            _ => {}
        }
        false
    }

    /// Ready for the next answer.
    pub fn reset(&mut self) {
        self.kept.clear();
        self.to_skip = 0;
        self.rows = 0;
        self.affected = None;
        self.error = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_take_the_place_of_parameters() {
        let values = [Value::Int(-5), Value::Text("it's".into())];
        assert_eq!(with_literals("VALUES ($1, $2, $1) -- $9 $", &values), "VALUES (-5, 'it''s', -5) -- $9 $");
    }

    #[test]
    fn an_answer_is_read_the_same_in_any_pieces() {
        let mut bytes = Vec::new();
        message(&mut bytes, b'D', |out| out.extend_from_slice(&[0; 100]));
        message(&mut bytes, b'D', |out| out.extend_from_slice(&[1; 3]));
        message(&mut bytes, b'E', |out| out.extend_from_slice(b"SERROR\0C40001\0Mno luck\0\0"));
        message(&mut bytes, b'C', |out| out.extend_from_slice(b"INSERT 0 17\0"));
        message(&mut bytes, b'Z', |out| out.extend_from_slice(b"I"));
        for step in 1..=bytes.len() {
            let mut answer = Answer::default();
            let pieces: Vec<_> = bytes.chunks(step).collect();
            for (i, piece) in pieces.iter().enumerate() {
                assert_eq!(answer.feed(piece), i + 1 == pieces.len(), "pieces of {step}, number {i}");
            }
            assert_eq!((answer.rows, answer.affected), (2, Some(17)), "pieces of {step}");
            assert_eq!(answer.error, Some(("40001".into(), "no luck".into())), "pieces of {step}");
        }
    }
}
