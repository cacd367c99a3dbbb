//! Generated keys: what an INSERT gives back of its rows.
//!
//! The serial number of the last row goes into DONE in any case. A client that asks for keys behind PREPARE or COMMAND (JDBC's
//! `getGeneratedKeys`) gets a description of their columns and a tuple for each row, before DONE.

use super::cursor::Rows;
use super::fetch::{encode_value, read_value};
use super::statement::Output;
use super::{Conversation, Step};
use crate::dialect::translation::Keys;
use crate::errors::Failure;
use crate::values::codeset::CodeSet;
use crate::values::encode;
use crate::values::types::Type;
use crate::wire::messages::WantedKeys;
use pgsqlite_engine::session::{Flow, Format, OutputColumn, Row, RowSink};
use pgsqlite_types::codec::{Context, TypeCodec};
use pgsqlite_types::{DatumRef, PgError, SqlState};
use std::sync::Arc;

/// Takes the rows that an INSERT returns.
pub(super) struct Inserted {
    /// whether the first column is the SERIAL one
    has_serial: bool,
    /// the columns behind it, which the client wants
    keys: Vec<Output>,
    codecs: Vec<TypeCodec>,
    codeset: CodeSet,
    /// the last row's number
    pub last: Option<i64>,
    pub highest: i64,
    /// a tuple of `keys` for each row
    pub rows: Rows,
    /// why a row could not be encoded
    pub failure: Option<Failure>,
}

impl Inserted {
    pub fn new(has_serial: bool, keys: Vec<Output>, codeset: CodeSet) -> Inserted {
        Inserted {
            has_serial,
            keys,
            codecs: vec![],
            codeset,
            last: None,
            highest: 0,
            rows: Rows::default(),
            failure: None,
        }
    }

    fn tuple(&self, row: &dyn Row, context: &Context) -> pgsqlite_types::Result<Result<Vec<u8>, Failure>> {
        let (mut tuple, mut value) = (vec![], vec![]);
        for (i, key) in self.keys.iter().enumerate() {
            let i = i + self.has_serial as usize;
            let codec = self.codecs.get(i).ok_or_else(|| PgError::internal("a row before its columns"))?;
            let datum = row.value(i);
            if datum == DatumRef::Null {
                encode::null(key.ty, &mut tuple);
                continue;
            }
            read_value(key, codec, datum, context, &mut value)?;
            if let Err(failure) = encode_value(key, &value, self.codeset, &mut tuple) {
                return Ok(Err(failure));
            }
        }
        Ok(Ok(tuple))
    }
}

impl RowSink for Inserted {
    fn columns(&mut self, columns: &Arc<[OutputColumn]>) -> pgsqlite_types::Result<()> {
        self.codecs = columns.iter().map(|c| c.codec.clone()).collect();
        Ok(())
    }

    fn row(&mut self, row: &dyn Row, context: &Context) -> pgsqlite_types::Result<Flow> {
        if let (true, DatumRef::Int(n)) = (self.has_serial, row.value(0)) {
            self.last = Some(n);
            self.highest = self.highest.max(n);
        }
        if !self.keys.is_empty() {
            let kept = match self.tuple(row, context)? {
                Ok(tuple) => {
                    self.rows.push(&tuple).map_err(|e| Failure::text(format!("generated keys cannot be kept: {e}")))
                }
                Err(failure) => Err(failure),
            };
            if let Err(failure) = kept {
                let message = failure.name.clone();
                self.failure = Some(failure);
                return Err(PgError::new(SqlState::DATA_EXCEPTION, message));
            }
        }
        Ok(Flow::Continue)
    }

    fn copy_out(&mut self, _: &[Format]) -> pgsqlite_types::Result<()> {
        Ok(())
    }
    fn copy_data(&mut self, _: &[u8]) -> pgsqlite_types::Result<Flow> {
        Ok(Flow::Continue)
    }
    fn copy_done(&mut self) -> pgsqlite_types::Result<()> {
        Ok(())
    }
}

impl Conversation<'_> {
    /// The client wants keys of the rows that the current statement inserts: it is prepared anew, with them.
    /// Errors: -217 for a column that the table has not.
    pub(super) async fn want_keys(&mut self, wanted: WantedKeys) -> Step {
        let codeset = self.identity.codeset;
        let keys = match wanted {
            WantedKeys::Serial => Keys::Serial,
            WantedKeys::Numbers(numbers) => Keys::Numbers(numbers),
            WantedKeys::Names(names) => {
                Keys::Names(names.iter().map(|n| codeset.decode(n)).collect::<Result<_, Failure>>()?)
            }
        };
        let statement = self.statement()?;
        let (text, name) = (statement.text.clone(), statement.name.clone());
        let id = self.current.unwrap_or(0);
        let new = self.analyze(text, name, keys).await?;
        let refused = |ty| matches!(ty, Type::Byte | Type::Text | Type::Blob | Type::Clob | Type::Complex(_));
        if new.keys.iter().any(|k| refused(k.0.ty)) {
            return Err(Failure::refused("a large value, collection or row as a generated key").into());
        }
        self.statements.insert(id, new);
        Ok(())
    }

    /// Tells the keys of the rows that an INSERT has made.
    pub(super) async fn tell_keys(&mut self, rows: &Rows) -> Step {
        let id = self.current.unwrap_or(0);
        let statement = self.statement()?;
        let fields: Vec<_> = statement.keys.iter().map(|(_, field)| field.clone()).collect();
        if fields.is_empty() {
            return Ok(());
        }
        let number = statement.translation.statement_type;
        // a batch of executions has its keys described once: JDBC forgets the keys before a second description
        if self.described_keys.replace(id) != Some(id) {
            self.client.out.describe_keys(number, id, &fields);
        }
        for i in 0..rows.len() {
            let mut tuple = vec![];
            rows.get(i, &mut tuple).map_err(|e| Failure::text(format!("generated keys cannot be read: {e}")))?;
            self.client.out.key(&tuple);
            self.flush_if_full().await?;
        }
        Ok(())
    }
}
