//! What a server sends, written into one buffer.

use super::code;
use super::messages::{Xid, XID_DATA};

/// The bytes that wait to be sent.
#[derive(Default)]
pub struct Output {
    pub buffer: Vec<u8>,
}

/// A column as DESCRIBE tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub name: String,
    /// type code with flags
    pub type_code: u16,
    pub extended_id: i32,
    pub type_name: std::borrow::Cow<'static, str>,
    pub encoded_length: i32,
    /// the most bytes it takes in a tuple
    pub width: usize,
}

impl Output {
    pub fn short(&mut self, n: i16) {
        self.buffer.extend_from_slice(&n.to_be_bytes());
    }

    pub fn shorts(&mut self, numbers: &[i16]) {
        numbers.iter().for_each(|n| self.short(*n));
    }

    pub fn int(&mut self, n: i32) {
        self.buffer.extend_from_slice(&n.to_be_bytes());
    }

    /// Bytes and, if there is an odd number of them, a zero.
    pub fn padded(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        if bytes.len() % 2 == 1 {
            self.buffer.push(0);
        }
    }

    /// CHAR. What is longer than a short can say is cut: only names and messages are sent so.
    pub fn char(&mut self, bytes: &[u8]) {
        let bytes = &bytes[..bytes.len().min(i16::MAX as usize)];
        self.short(bytes.len() as i16);
        self.padded(bytes);
    }

    /// A string of the login packet (see [`super::input::Cursor::ascii`]).
    pub fn ascii(&mut self, text: &str) {
        self.short(text.len() as i16 + 1);
        self.buffer.extend_from_slice(text.as_bytes());
        self.buffer.push(0);
    }

    pub fn eot(&mut self) {
        self.short(code::EOT);
    }

    /// DONE in its narrow form: rows touched, the last row's number, the serial that the last INSERT made.
    pub fn done(&mut self, warnings: i16, rows: i32, rowid: i32, serial: i32) {
        self.short(code::DONE);
        self.short(warnings);
        self.int(rows);
        self.int(rowid);
        self.int(serial);
    }

    /// INSERTDONE: the serial value that the last INSERT made, where DONE is too narrow for it.
    pub fn insert_done(&mut self, serial: i64) {
        self.short(code::INSERT_DONE);
        // as an INT8: the sign, and the halves of the number without it
        let size = serial.unsigned_abs();
        self.short(if serial < 0 { -1 } else { 1 });
        self.int(size as u32 as i32);
        self.int((size >> 32) as u32 as i32);
        self.buffer.extend_from_slice(&serial.to_be_bytes());
    }

    pub fn cost(&mut self) {
        self.short(code::COST);
        self.int(1);
        self.int(1);
    }

    /// ERR; `offset` is the 1-based place in the SQL text, 0: unknown.
    pub fn error(&mut self, sqlcode: i16, isamcode: i16, offset: i32, name: &[u8]) {
        self.short(code::ERR);
        self.short(sqlcode);
        self.short(isamcode);
        self.int(offset);
        self.char(name);
    }

    pub fn tuple(&mut self, row: &[u8]) {
        self.row(code::TUPLE, row);
    }

    /// The generated keys of one row, as TUPLE.
    pub fn key(&mut self, row: &[u8]) {
        self.row(code::KEYS_TUPLE, row);
    }

    fn row(&mut self, code: i16, row: &[u8]) {
        self.short(code);
        self.short(0);
        self.int(row.len() as i32);
        self.padded(row);
    }

    /// DESCRIBE: the statement's type and number, and its columns.
    pub fn describe(&mut self, statement_type: i16, id: i16, fields: &[Field]) {
        self.columns(code::DESCRIBE, statement_type, id, fields);
    }

    /// The columns of generated keys, as DESCRIBE.
    pub fn describe_keys(&mut self, statement_type: i16, id: i16, fields: &[Field]) {
        self.columns(code::KEYS_DESCRIBE, statement_type, id, fields);
    }

    fn columns(&mut self, code: i16, statement_type: i16, id: i16, fields: &[Field]) {
        let names: Vec<u8> = fields.iter().flat_map(|f| f.name.bytes().chain([0])).collect();
        let size: usize = fields.iter().map(|f| f.width).sum();
        self.short(code);
        self.short(statement_type);
        self.short(id);
        self.int(1);
        self.short(size.min(i16::MAX as usize) as i16);
        self.short(fields.len() as i16);
        self.int(names.len() as i32);
        let (mut name_at, mut start) = (0, 0);
        for field in fields {
            self.int(name_at as i32);
            self.int(start as i32);
            self.field_type(field);
            name_at += field.name.len() + 1;
            start += field.width;
        }
        self.padded(&names);
    }

    /// IDESCRIBE: the types of a statement's parameters.
    pub fn describe_input(&mut self, fields: &[Field]) {
        self.short(code::IDESCRIBE);
        self.short(fields.len() as i16);
        self.short(0);
        for field in fields {
            self.field_type(field);
        }
    }

    fn field_type(&mut self, field: &Field) {
        self.buffer.extend_from_slice(&field.type_code.to_be_bytes());
        self.int(field.extended_id);
        self.char(b"");
        self.char(field.type_name.as_bytes());
        self.short(0);
        self.short(0);
        self.int(0);
        self.int(field.encoded_length);
    }

    /// XACTSTAT: what happened (1 begin, 2 commit, 3 rollback), the new and the old nesting.
    pub fn transaction(&mut self, event: i16, new: i16, old: i16) {
        for n in [code::XACTSTAT, event, new, old] {
            self.short(n);
        }
    }

    /// The answer to a message of XA: its code, or the number of XIDs that follow.
    pub fn xa_status(&mut self, status: i16) {
        self.short(code::XA_STATUS);
        self.short(status);
    }

    /// An XID behind that number.
    pub fn xid(&mut self, xid: &Xid) {
        self.int(xid.format);
        self.int(xid.global.len() as i32);
        self.int(xid.branch.len() as i32);
        let end = self.buffer.len() + XID_DATA;
        self.buffer.extend_from_slice(&xid.global);
        self.buffer.extend_from_slice(&xid.branch);
        self.buffer.resize(end, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of two exchanges that IBM's driver accepted.
    #[test]
    fn messages_have_the_bytes_that_clients_accept() {
        let hex = |out: &Output| out.buffer.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let mut out = Output::default();
        let constant = Field {
            name: "(constant)".into(),
            type_code: 2,
            extended_id: 0,
            type_name: "".into(),
            encoded_length: 4,
            width: 4,
        };
        out.describe(2, 1, &[constant]);
        assert_eq!(
            hex(&out),
            "0008000200010000000100040001 0000000b 0000000000000000 0002 00000000 0000 0000 0000 0000 00000000 00000004 \
             28636f6e7374616e74290000"
                .replace(' ', "")
        );
        let mut out = Output::default();
        out.error(-206, -111, 0, b"nosuch");
        out.eot();
        assert_eq!(hex(&out), "000dff32ff910000000000066e6f73756368000c");
        let mut out = Output::default();
        out.tuple(b"\x09en_US.819");
        out.done(0, 1, 0, 0);
        out.cost();
        out.eot();
        assert_eq!(
            hex(&out),
            "000e00000000000a09656e5f55532e383139000f000000000001000000000000000000370000000100000001000c"
        );
    }
}
