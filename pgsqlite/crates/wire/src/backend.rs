//! Messages to the client, appended to an output buffer.

/// How texts become the client's bytes.
pub type Encode = std::sync::Arc<dyn Fn(&str) -> Vec<u8> + Send + Sync>;

/// The output buffer of a session.
#[derive(Default)]
pub struct Output {
    pub buffer: Vec<u8>,
    /// The buffer has the whole answer to a query: ReadyForQuery.
    pub answered: bool,
    /// None: texts are sent in UTF-8
    pub encode: Option<Encode>,
}

/// A column as RowDescription tells it.
pub struct Column<'a> {
    pub name: &'a str,
    pub table_oid: u32,
    pub attnum: i16,
    pub type_oid: u32,
    pub type_len: i16,
    pub typmod: i32,
    pub format: i16,
}

impl Output {
    /// A message of type `kind` whose body `fill` writes; the length is put in afterwards.
    pub fn message(&mut self, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
        let start = self.begin(kind);
        fill(&mut self.buffer);
        self.finish(start);
    }

    /// Begins a message; give the result to [`Output::finish`] (or truncate to it minus one to take it back).
    pub fn begin(&mut self, kind: u8) -> usize {
        self.buffer.push(kind);
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 4]);
        start
    }

    pub fn finish(&mut self, start: usize) {
        let length = (self.buffer.len() - start) as i32;
        self.buffer[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    fn empty(&mut self, kind: u8) {
        self.message(kind, |_| {});
    }

    pub fn authentication_ok(&mut self) {
        self.message(b'R', |b| b.extend_from_slice(&0i32.to_be_bytes()));
    }
    /// The mechanisms a client may choose from, the best first.
    pub fn authentication_sasl(&mut self, mechanisms: &[&str]) {
        let encode = self.encode.clone();
        self.message(b'R', |b| {
            b.extend_from_slice(&10i32.to_be_bytes());
            mechanisms.iter().for_each(|m| cstr(b, &encode, m));
            b.push(0);
        });
    }
    pub fn authentication_sasl_continue(&mut self, data: &[u8]) {
        self.message(b'R', |b| {
            b.extend_from_slice(&11i32.to_be_bytes());
            b.extend_from_slice(data);
        });
    }
    pub fn authentication_sasl_final(&mut self, data: &[u8]) {
        self.message(b'R', |b| {
            b.extend_from_slice(&12i32.to_be_bytes());
            b.extend_from_slice(data);
        });
    }
    pub fn backend_key_data(&mut self, pid: i32, secret: i32) {
        self.message(b'K', |b| {
            b.extend_from_slice(&pid.to_be_bytes());
            b.extend_from_slice(&secret.to_be_bytes());
        });
    }
    /// The newest version we speak is 3.0; options the client asked for and we do not know.
    pub fn negotiate_protocol_version(&mut self, unknown: &[String]) {
        let encode = self.encode.clone();
        self.message(b'v', |b| {
            b.extend_from_slice(&(3i32 << 16).to_be_bytes());
            b.extend_from_slice(&(unknown.len() as i32).to_be_bytes());
            unknown.iter().for_each(|name| cstr(b, &encode, name));
        });
    }
    pub fn parameter_status(&mut self, name: &str, value: &str) {
        let encode = self.encode.clone();
        self.message(b'S', |b| {
            cstr(b, &encode, name);
            cstr(b, &encode, value);
        });
    }
    /// `status`: `I`, `T` or `E`
    pub fn ready_for_query(&mut self, status: u8) {
        self.answered = true;
        self.message(b'Z', |b| b.push(status));
    }
    pub fn command_complete(&mut self, tag: &str) {
        let encode = self.encode.clone();
        self.message(b'C', |b| cstr(b, &encode, tag));
    }
    pub fn empty_query_response(&mut self) {
        self.empty(b'I');
    }
    pub fn parse_complete(&mut self) {
        self.empty(b'1');
    }
    pub fn bind_complete(&mut self) {
        self.empty(b'2');
    }
    pub fn close_complete(&mut self) {
        self.empty(b'3');
    }
    pub fn no_data(&mut self) {
        self.empty(b'n');
    }
    pub fn portal_suspended(&mut self) {
        self.empty(b's');
    }
    /// FunctionCallResponse: the result, or the NULL, as DataRow has a column's value (its length, -1 for NULL, and its bytes).
    pub fn function_call_response(&mut self, value: &[u8]) {
        self.message(b'V', |b| b.extend_from_slice(value));
    }
    pub fn copy_done(&mut self) {
        self.empty(b'c');
    }
    pub fn copy_data(&mut self, data: &[u8]) {
        self.message(b'd', |b| b.extend_from_slice(data));
    }
    /// CopyInResponse (`G`), CopyOutResponse (`H`) or CopyBothResponse (`W`); 0 text, 1 binary per column.
    pub fn copy_response(&mut self, kind: u8, formats: &[i16]) {
        self.message(kind, |b| {
            b.push(formats.contains(&1) as u8);
            b.extend_from_slice(&(formats.len() as i16).to_be_bytes());
            formats.iter().for_each(|f| b.extend_from_slice(&f.to_be_bytes()));
        });
    }
    pub fn parameter_description(&mut self, types: &[u32]) {
        self.message(b't', |b| {
            b.extend_from_slice(&(types.len() as i16).to_be_bytes());
            types.iter().for_each(|t| b.extend_from_slice(&t.to_be_bytes()));
        });
    }
    pub fn row_description<'a>(&mut self, columns: impl ExactSizeIterator<Item = Column<'a>>) {
        let encode = self.encode.clone();
        self.message(b'T', |b| {
            b.extend_from_slice(&(columns.len() as i16).to_be_bytes());
            for c in columns {
                cstr(b, &encode, c.name);
                b.extend_from_slice(&c.table_oid.to_be_bytes());
                b.extend_from_slice(&c.attnum.to_be_bytes());
                b.extend_from_slice(&c.type_oid.to_be_bytes());
                b.extend_from_slice(&c.type_len.to_be_bytes());
                b.extend_from_slice(&c.typmod.to_be_bytes());
                b.extend_from_slice(&c.format.to_be_bytes());
            }
        });
    }
    pub fn notification(&mut self, pid: i32, channel: &str, payload: &str) {
        let encode = self.encode.clone();
        self.message(b'A', |b| {
            b.extend_from_slice(&pid.to_be_bytes());
            cstr(b, &encode, channel);
            cstr(b, &encode, payload);
        });
    }
    /// ErrorResponse (`E`) or NoticeResponse (`N`): (field code, value) pairs.
    pub fn fields<'a>(&mut self, kind: u8, fields: impl Iterator<Item = (u8, std::borrow::Cow<'a, str>)>) {
        let encode = self.encode.clone();
        self.message(kind, |b| {
            for (code, value) in fields {
                b.push(code);
                cstr(b, &encode, &value);
            }
            b.push(0);
        });
    }
}

/// A C string; a NUL inside would end it early, so it is cut there.
fn cstr(b: &mut Vec<u8>, encode: &Option<Encode>, text: &str) {
    let text = text.split('\0').next().unwrap_or("");
    match encode {
        Some(encode) if !text.is_ascii() => b.extend_from_slice(&encode(text)),
        _ => b.extend_from_slice(text.as_bytes()),
    }
    b.push(0);
}
