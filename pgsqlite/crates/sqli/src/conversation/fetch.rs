//! OPEN, fetches, CLOSE: rows from the engine into tuples.

use super::cursor::Cursor;
use super::large_objects::{LargeObjects, Origin};
use super::statement::Output;
use super::{Conversation, Step, Wrong};
use crate::dialect::translation::EXECUTE_PROCEDURE;
use crate::dialect::Kind;
use crate::errors::Failure;
use crate::values::codeset::CodeSet;
use crate::values::complex_bytes;
use crate::values::encode;
use crate::values::types::Type;
use crate::wire::code;
use pgsqlite_engine::session::{Execution, Flow, Format, OutputColumn, Row, RowSink};
use pgsqlite_types::codec::{Context, TypeCodec};
use pgsqlite_types::datetime::zone::to_local;
use pgsqlite_types::datetime::Timestamp;
use pgsqlite_types::{oid, DatumRef, Oid, PgError};
use std::sync::Arc;

/// Most bytes of rows in one answer, whatever the client asks for.
const MOST_BYTES: usize = 1 << 20;
/// Rows that are asked of the engine at once.
const MOST_ROWS: usize = 4096;
/// Bytes of large values of the rows of one answer, beyond which it is sent.
const MOST_BLOBS: usize = 8 << 20;
/// Bytes of one BLOB message.
const PIECE: usize = 16 * 1024;

/// What a file of the client is called.
pub(super) const FILE_NAME: Type = Type::LVarChar(256);

/// Encodes rows into a cursor's store.
struct TupleSink<'a> {
    outputs: &'a [Output],
    codecs: Vec<TypeCodec>,
    codeset: CodeSet,
    cursor: &'a mut Cursor,
    /// of the outputs: the files of the client that get the content
    files: &'a [Option<String>],
    /// tables whose rows say which ones they are, behind the outputs
    numbered: &'a [Oid],
    /// rows also say which one of its table a cursor stands on
    updates: bool,
    objects: &'a mut LargeObjects,
    row: Vec<u8>,
    value: Vec<u8>,
    /// why a row could not be encoded
    failure: Option<Failure>,
}

/// A value as [`encode::value`] reads it: as text where Informix has a character type, else in PostgreSQL's binary form, and a
/// moment as the local time that it is in the session's time zone, which is what a DATETIME that is written there means.
pub(super) fn read_value(
    output: &Output,
    codec: &TypeCodec,
    value: DatumRef,
    context: &Context,
    out: &mut Vec<u8>,
) -> pgsqlite_types::Result<()> {
    out.clear();
    if output.ty.is_character() {
        return codec.text_out(value, context, out);
    }
    codec.binary_out(value, context, out)?;
    if output.oid == oid::TIMESTAMPTZ {
        let utc = out.as_slice().try_into().map_err(|_| PgError::internal("a moment that has not 8 bytes"))?;
        let local = to_local(&context.settings.time_zone, Timestamp(i64::from_be_bytes(utc)));
        out.copy_from_slice(&local.0.to_be_bytes());
    }
    Ok(())
}

/// A value that [`read_value`] has read, behind the others of a tuple.
pub(super) fn encode_value(
    output: &Output,
    value: &[u8],
    codeset: CodeSet,
    tuple: &mut Vec<u8>,
) -> Result<(), Failure> {
    encode::value(output.ty, output.oid, value, codeset, output.raw, tuple)
}

impl TupleSink<'_> {
    fn encode(&mut self, row: &dyn Row, context: &Context) -> pgsqlite_types::Result<Result<(), Failure>> {
        self.row.clear();
        for (i, output) in self.outputs.iter().enumerate() {
            let value = row.value(i);
            if value == DatumRef::Null {
                match (output.ty, &self.files[i]) {
                    (_, Some(_)) => encode::null(FILE_NAME, &mut self.row),
                    (Type::Complex(complex), None) if output.raw => {
                        if let Err(failure) = complex_bytes::binary(complex, None, self.codeset, &mut self.row) {
                            return Ok(Err(failure));
                        }
                    }
                    (ty, None) => encode::null(ty, &mut self.row),
                }
                continue;
            }
            let codec = self.codecs.get(i).ok_or_else(|| PgError::internal("a row before its columns"))?;
            read_value(output, codec, value, context, &mut self.value)?;
            let written = match (output.ty, &self.files[i]) {
                (ty, Some(path)) => self.file(ty, path.clone()),
                (ty @ (Type::Byte | Type::Text), None) => self.blob(ty),
                (ty @ (Type::Blob | Type::Clob), None) => {
                    let origin = self.origin(output, row, context)?;
                    self.object(ty, output.raw, origin)
                }
                _ => encode_value(output, &self.value, self.codeset, &mut self.row),
            };
            if let Err(failure) = written {
                return Ok(Err(failure));
            }
        }
        if self.updates {
            let at = self.outputs.len() + 2 * self.numbered.len();
            let id = self.text_at(at, row, context)?;
            self.cursor.ids.push(id);
        }
        let n = self.row.len();
        self.cursor.average = (self.cursor.average * 7 + n) / 8 + 1;
        Ok(self.cursor.rows.push(&self.row).map_err(|e| Failure::text(format!("rows cannot be kept: {e}"))))
    }

    /// Where a large object of a row is stored, if the row says which one of its table it is.
    fn origin(&self, output: &Output, row: &dyn Row, context: &Context) -> pgsqlite_types::Result<Option<Origin>> {
        let Some((which, attnum)) = output.origin else { return Ok(None) };
        let text = |at: usize| self.text_at(at, row, context);
        let at = self.outputs.len() + 2 * which;
        Ok(match (text(at)?, text(at + 1)?, self.numbered.get(which)) {
            (Some(row), Some(values), Some(table)) => Some(Origin { table: *table, attnum, row, values }),
            // an outer join has no such row
            _ => None,
        })
    }

    /// The text of a column that the client does not see.
    fn text_at(&self, at: usize, row: &dyn Row, context: &Context) -> pgsqlite_types::Result<Option<String>> {
        let (value, codec) = (row.value(at), self.codecs.get(at));
        let codec = codec.ok_or_else(|| PgError::internal("a row without its number"))?;
        if value == DatumRef::Null {
            return Ok(None);
        }
        let mut out = Vec::new();
        codec.text_out(value, context, &mut out)?;
        Ok(String::from_utf8(out).ok())
    }

    /// A large value as the client reads it: a text in its code set.
    fn content(&mut self, ty: Type) -> Result<Vec<u8>, Failure> {
        let content = match ty {
            Type::Byte | Type::Blob => self.value.clone(),
            _ => {
                let text = std::str::from_utf8(&self.value).map_err(|_| Failure::internal("text that is not UTF-8"))?;
                let mut out = Vec::new();
                self.codeset.encode(text, &mut out)?;
                out
            }
        };
        self.cursor.is_large = true;
        self.cursor.blob_bytes += content.len();
        Ok(content)
    }

    /// The content is kept for the session, the row gets its locator.
    fn object(&mut self, ty: Type, raw: bool, origin: Option<Origin>) -> Result<(), Failure> {
        let content = self.content(ty)?;
        let group = *self.cursor.objects.get_or_insert_with(|| self.objects.new_group());
        let locator = self.objects.push(group, &content, origin)?;
        encode::locator(&locator, raw, &mut self.row);
        Ok(())
    }

    /// The content is kept until its row is sent, which gets the name of the client's file.
    fn file(&mut self, ty: Type, path: String) -> Result<(), Failure> {
        let content = self.content(ty)?;
        let number = self.cursor.blobs.len();
        self.cursor.blobs.push(&content).map_err(|e| Failure::text(format!("large values cannot be kept: {e}")))?;
        // an exclamation mark says that the name is to be this one
        let name = match path.strip_suffix('!') {
            Some(name) => name.to_string(),
            None => format!("{path}.{:016x}", number + 1),
        };
        encode::value(FILE_NAME, oid::VARCHAR, name.as_bytes(), self.codeset, false, &mut self.row)?;
        self.cursor.files.entry(self.cursor.rows.len()).or_default().push((number, name));
        Ok(())
    }

    /// The content is kept for FETCHBLOB, the row gets its descriptor.
    fn blob(&mut self, ty: Type) -> Result<(), Failure> {
        let content = self.content(ty)?;
        let number = u32::try_from(self.cursor.blobs.len()).map_err(|_| Failure::text("too many large values"))?;
        self.row.extend_from_slice(&encode::descriptor(Some((content.len(), number))));
        self.cursor.blobs.push(&content).map_err(|e| Failure::text(format!("large values cannot be kept: {e}")))
    }
}

impl RowSink for TupleSink<'_> {
    fn columns(&mut self, columns: &Arc<[OutputColumn]>) -> pgsqlite_types::Result<()> {
        self.codecs = columns.iter().map(|c| c.codec.clone()).collect();
        Ok(())
    }

    fn row(&mut self, row: &dyn Row, context: &Context) -> pgsqlite_types::Result<Flow> {
        match self.encode(row, context)? {
            Ok(()) => Ok(Flow::Continue),
            Err(failure) => {
                let message = failure.name.clone();
                self.failure = Some(failure);
                Err(PgError::new(pgsqlite_types::SqlState::DATA_EXCEPTION, message))
            }
        }
    }

    fn copy_out(&mut self, _: &[Format]) -> pgsqlite_types::Result<()> {
        Err(PgError::internal("COPY in a cursor"))
    }
    fn copy_data(&mut self, _: &[u8]) -> pgsqlite_types::Result<Flow> {
        Err(PgError::internal("COPY in a cursor"))
    }
    fn copy_done(&mut self) -> pgsqlite_types::Result<()> {
        Err(PgError::internal("COPY in a cursor"))
    }
}

impl Conversation<'_> {
    pub(super) async fn open(&mut self) -> Step {
        self.check_interrupt()?;
        self.refresh().await?;
        let id = self.current.unwrap_or(0);
        self.close_cursor(id)?;
        let statement = self.statement()?;
        match &statement.translation.kind {
            // a scroll cursor is for reading
            Kind::Query if statement.scroll && statement.translation.for_update => {
                return Err(Failure::new(-526, 0, "").into());
            }
            Kind::Query => {}
            Kind::Change { is_insert: true, .. } => {
                statement.inserting = true;
                return Ok(());
            }
            _ => return Err(Failure::new(-261, 0, "").into()),
        }
        self.read_client_files().await?;
        let statement = self.statement()?;
        let portal = format!("p{id}");
        let (scroll, average) = (statement.scroll, statement.outputs.iter().map(|o| o.ty.width().min(64)).sum());
        if self.statement()?.translation.statement_type == EXECUTE_PROCEDURE {
            // what the routine changes is one statement's work, whatever the client reads of its rows
            self.begin_change().await?;
            let result = self.open_whole(id, Cursor::new(portal, scroll, average)).await;
            if result.is_err() {
                self.close_cursor(id)?;
            }
            return self.end_change(result).await;
        }
        self.bind_portal(&portal).await?;
        self.statement()?.cursor = Some(Cursor::new(portal, scroll, average));
        Ok(())
    }

    /// Opens the cursor and reads all of its rows.
    async fn open_whole(&mut self, id: i16, cursor: Cursor) -> Step {
        if let Some(portal) = &cursor.portal {
            let portal = portal.clone();
            self.bind_portal(&portal).await?;
        }
        self.statement()?.cursor = Some(cursor);
        self.read_rest(id).await
    }

    /// Asks the engine for `limit` more rows of a statement's cursor (0: for all).
    async fn more(&mut self, id: i16, limit: usize) -> Step {
        let codeset = self.identity.codeset;
        let Some(statement) = self.statements.get_mut(&id) else { return Ok(()) };
        let Some(cursor) = &mut statement.cursor else { return Ok(()) };
        let Some(portal) = cursor.portal.clone() else { return Ok(()) };
        let Some(session) = &mut self.session else { return Ok(()) };
        let codecs = match session.describe_portal(&portal)? {
            Some((columns, _)) => columns.iter().map(|c| c.codec.clone()).collect(),
            None => vec![],
        };
        let mut sink = TupleSink {
            outputs: &statement.outputs,
            codecs,
            codeset,
            cursor,
            files: &statement.files,
            numbered: &statement.translation.numbered,
            updates: statement.translation.updates.is_some(),
            objects: &mut self.large_objects,
            row: vec![],
            value: vec![],
            failure: None,
        };
        let executed = session.execute(&portal, limit as u64, &mut sink).await;
        let failure = sink.failure.take();
        match executed {
            Ok(Execution::Suspended) => Ok(()),
            Ok(_) => {
                cursor.portal = None;
                session.close_portal(&portal)?;
                Ok(())
            }
            Err(error) => {
                cursor.portal = None;
                Err(failure.map_or_else(|| error.into(), Wrong::Failed))
            }
        }
    }

    /// Reads what is left of a cursor.
    pub(super) async fn read_rest(&mut self, id: i16) -> Step {
        let live = |c: &Self| c.statements.get(&id).is_some_and(|s| s.cursor.as_ref().is_some_and(|c| c.is_live()));
        while live(self) {
            self.more(id, MOST_ROWS).await?;
        }
        Ok(())
    }

    fn cursor(&mut self) -> Step<&mut Cursor> {
        // the cursor is not open
        self.statement()?.cursor.as_mut().ok_or(Wrong::Failed(Failure::new(-259, 0, "")))
    }

    pub(super) async fn fetch(&mut self, buffer: usize) -> Step {
        self.check_interrupt()?;
        let id = self.current.unwrap_or(0);
        let buffer = buffer.min(MOST_BYTES);
        // a cursor that is to change rows stands on the one that the client has
        let one = self.statement()?.translation.for_update;
        let cursor = self.cursor()?;
        cursor.row = None;
        if !cursor.scroll {
            cursor.let_given_rows_go().map_err(|e| Failure::text(format!("rows cannot be read: {e}")))?;
            cursor.blob_bytes = 0;
        }
        // TUPLE's code, warning and size
        const HEAD: usize = 8;
        let (mut filled, mut given) = (0, 0);
        loop {
            let cursor = self.cursor()?;
            let Some(size) = cursor.rows.size_of(cursor.next) else {
                if !cursor.is_live() || cursor.blob_bytes > MOST_BLOBS && given > 0 {
                    break;
                }
                let room = buffer.saturating_sub(filled) / (cursor.average + HEAD);
                let limit = if cursor.is_large || one { 1 } else { room.clamp(1, MOST_ROWS) };
                if one && given > 0 {
                    break;
                }
                self.more(id, limit).await?;
                continue;
            };
            if given > 0 && (one || filled + size + HEAD > buffer) {
                break;
            }
            cursor.row = cursor.ids.get(cursor.next).cloned().flatten();
            let mut row = Vec::with_capacity(size);
            cursor.rows.get(cursor.next, &mut row).map_err(|e| Failure::text(format!("rows cannot be read: {e}")))?;
            let files = cursor.files.remove(&cursor.next).unwrap_or_default();
            cursor.next += 1;
            self.write_files(&files).await?;
            self.client.out.tuple(&row);
            filled += size + HEAD;
            given += 1;
        }
        // of the cursor, not of this answer
        let cursor = self.cursor()?;
        cursor.given += given;
        let given = cursor.given;
        self.row_count = given;
        self.done(given, 0);
        self.end_read().await
    }

    /// SFETCH: 1 next, 2 prior, 3 first, 4 last, 5 relative, 6 absolute.
    pub(super) async fn scroll_fetch(&mut self, kind: i16, row: i32) -> Step {
        self.check_interrupt()?;
        let id = self.current.unwrap_or(0);
        let cursor = self.cursor()?;
        if !cursor.scroll {
            return Err(Failure::new(-266, 0, "").into());
        }
        let at = cursor.position as i64;
        let wanted = match kind {
            // the row may be named
            1 if row > 0 => row as i64,
            1 => at + 1,
            2 => at - 1,
            3 => 1,
            4 => i64::MAX,
            5 => at + row as i64,
            6 => row as i64,
            _ => return Err(Wrong::End(crate::client::End::Malformed(format!("a scroll fetch of kind {kind}")))),
        };
        loop {
            let cursor = self.cursor()?;
            if !cursor.is_live() || (cursor.rows.len() as i64) >= wanted {
                break;
            }
            self.more(id, MOST_ROWS).await?;
        }
        let cursor = self.cursor()?;
        let last = cursor.rows.len() as i64;
        let wanted = if kind == 4 { last } else { wanted };
        let found = (1..=last).contains(&wanted);
        cursor.position = wanted.clamp(0, last + 1) as usize;
        if found {
            let mut bytes = Vec::new();
            let read = cursor.rows.get(wanted as usize - 1, &mut bytes);
            read.map_err(|e| Failure::text(format!("rows cannot be read: {e}")))?;
            let files = cursor.files.get(&(wanted as usize - 1)).cloned().unwrap_or_default();
            self.write_files(&files).await?;
            self.client.out.short(code::TUPID);
            self.client.out.int(wanted as i32);
            self.client.out.tuple(&bytes);
        }
        self.done(found as i64, 0);
        self.end_read().await
    }

    /// Files of the client that go with a row.
    async fn write_files(&mut self, files: &[(usize, String)]) -> Step {
        for (number, path) in files {
            let mut content = Vec::new();
            let read = self.cursor()?.blobs.get(*number, &mut content);
            read.map_err(|e| Failure::text(format!("large values cannot be read: {e}")))?;
            self.write_client_file(path, &content).await?;
        }
        Ok(())
    }

    pub(super) fn fetch_blob(&mut self, descriptor: &[u8]) -> Step {
        let cursor = self.cursor()?;
        let number = encode::blob_number(descriptor).map(|n| n as usize).filter(|n| *n < cursor.blobs.len());
        // the blob cannot be found
        let number = number.ok_or_else(|| Failure::new(-602, 0, ""))?;
        let mut content = Vec::new();
        let read = cursor.blobs.get(number, &mut content);
        read.map_err(|e| Failure::text(format!("large values cannot be read: {e}")))?;
        let out = &mut self.client.out;
        for piece in content.chunks(PIECE) {
            out.short(code::BLOB);
            out.char(piece);
        }
        out.short(code::BLOB);
        out.short(0);
        Ok(())
    }

    pub(super) async fn close(&mut self) -> Step {
        let id = self.current.unwrap_or(0);
        if self.statement()?.auto_free {
            return self.release().await;
        }
        self.close_cursor(id)?;
        self.end_read().await
    }

    /// Forgets a statement's cursor.
    pub(super) fn close_cursor(&mut self, id: i16) -> Step {
        let Some(statement) = self.statements.get_mut(&id) else { return Ok(()) };
        statement.inserting = false;
        let Some(Cursor { portal, objects, .. }) = statement.cursor.take() else { return Ok(()) };
        if let Some(group) = objects {
            self.large_objects.retire(group);
        }
        if let Some(portal) = portal {
            self.session()?.close_portal(&portal)?;
        }
        Ok(())
    }
}
