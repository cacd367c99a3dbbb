//! Rows straight from SQLite into DataRow messages.

use crate::errors;
use pgsqlite_engine::session::client_text::to_client;
use pgsqlite_engine::session::{Flow, Format, OutputColumn, Row, RowSink};
use pgsqlite_types::codec::Context;
use pgsqlite_types::encoding::Encoding;
use pgsqlite_types::{DatumRef, PgError, Result};
use pgsqlite_wire::backend::{Column, Output};
use std::sync::Arc;

/// The buffer is flushed when it holds this much.
pub const FLUSH: usize = 32 * 1024;

/// Encodes the rows of one statement.
pub struct WireSink<'a> {
    pub out: &'a mut Output,
    pub columns: Option<Arc<[OutputColumn]>>,
    /// per column; empty: all text
    pub formats: Vec<Format>,
    /// simple protocol: RowDescription goes out before the first row
    pub describe: bool,
    /// the client's
    pub encoding: Encoding,
    /// notices go out before the row whose functions have raised them. What their locations count in, if it is known.
    pub notices: Option<Option<&'a str>>,
}

/// RowDescription of these columns.
pub fn describe(out: &mut Output, columns: &[OutputColumn], formats: &[Format]) {
    out.row_description(columns.iter().enumerate().map(|(i, c)| Column {
        name: &c.name,
        table_oid: c.table_oid,
        attnum: c.attnum,
        type_oid: c.type_oid,
        type_len: c.type_len,
        typmod: c.typmod,
        format: (formats.get(i) == Some(&Format::Binary)) as i16,
    }));
}

impl RowSink for WireSink<'_> {
    fn columns(&mut self, columns: &Arc<[OutputColumn]>) -> Result<()> {
        if self.describe {
            describe(self.out, columns, &self.formats);
        }
        self.columns = Some(columns.clone());
        Ok(())
    }

    fn row(&mut self, row: &dyn Row, context: &Context) -> Result<Flow> {
        let columns = self.columns.as_ref().ok_or_else(|| PgError::internal("a row before its columns"))?;
        let start = self.out.begin(b'D');
        let buffer = &mut self.out.buffer;
        buffer.extend_from_slice(&(columns.len() as i16).to_be_bytes());
        for (i, column) in columns.iter().enumerate() {
            let value = row.value(i);
            if value == DatumRef::Null {
                buffer.extend_from_slice(&(-1i32).to_be_bytes());
                continue;
            }
            let at = buffer.len();
            buffer.extend_from_slice(&[0; 4]);
            let encoded = if self.formats.get(i) == Some(&Format::Binary) {
                column.codec.binary_out(value, context, buffer)
            } else {
                column.codec.text_out(value, context, buffer)
            };
            let encoded = match encoded {
                Ok(()) if self.encoding.is_converted() => {
                    let binary = self.formats.get(i) == Some(&Format::Binary);
                    to_client(self.encoding, &column.codec, binary, buffer, at + 4)
                }
                other => other,
            };
            if let Err(mut e) = encoded {
                // the half-written row is taken back
                self.out.buffer.truncate(start - 1);
                if column.table_oid != 0 {
                    // a plain column: another program stored what its declared type does not hold
                    let place = format!(" in column \"{}\"", column.name);
                    e.fields_mut().message.push_str(&place);
                }
                return Err(e);
            }
            let length = (buffer.len() - at - 4) as i32;
            buffer[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
        self.out.finish(start);
        Ok(if self.out.buffer.len() >= FLUSH { Flow::Pause } else { Flow::Continue })
    }

    fn takes_notices(&self) -> bool {
        self.notices.is_some()
    }

    fn notice(&mut self, notice: &PgError) {
        errors::write(self.out, notice, b'N', self.notices.flatten());
    }

    fn holds_answers(&self) -> bool {
        self.out.answered
    }

    fn mark(&self) -> Option<usize> {
        Some(self.out.buffer.len())
    }

    fn take_back(&mut self, mark: usize) {
        self.out.buffer.truncate(mark);
    }

    fn takes_rows_aside(&self) -> bool {
        self.describe
    }

    fn copy_out(&mut self, formats: &[Format]) -> Result<()> {
        let formats: Vec<i16> = formats.iter().map(|f| (*f == Format::Binary) as i16).collect();
        self.out.copy_response(b'H', &formats);
        Ok(())
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<Flow> {
        match self.encoding.is_converted().then(|| std::str::from_utf8(data)) {
            Some(Ok(text)) => self.out.copy_data(&self.encoding.encode(text)?),
            _ => self.out.copy_data(data),
        }
        Ok(if self.out.buffer.len() >= FLUSH { Flow::Pause } else { Flow::Continue })
    }

    fn copy_binary(&mut self, data: &[u8]) -> Result<Flow> {
        self.out.copy_data(data);
        Ok(if self.out.buffer.len() >= FLUSH { Flow::Pause } else { Flow::Continue })
    }

    fn copy_done(&mut self) -> Result<()> {
        self.out.copy_done();
        Ok(())
    }
}
