//! Insert cursors: PUT sends rows in tuple form, each is one INSERT.

use super::{Conversation, Step, Wrong};
use crate::client::End;
use crate::errors::Failure;
use crate::values::bind;
use crate::wire::input::Cursor;

impl Conversation<'_> {
    pub(super) async fn put(&mut self, row: &[u8]) -> Step {
        self.check_interrupt()?;
        let statement = self.statement()?;
        if !statement.inserting {
            return Err(Failure::new(-259, 0, "").into());
        }
        let columns: Vec<(i16, i32)> = match statement.put_types.as_slice() {
            // as DESCRIBE told them
            [] => statement
                .translation
                .insert_columns
                .iter()
                .map(|(_, ty)| ty.map(|ty| (ty.code(), ty.encoded_length())))
                .collect::<Option<_>>()
                .ok_or_else(|| Failure::refused("PUT into such columns"))?,
            wanted => wanted.iter().map(|w| (w.type_code, w.encoded_length)).collect(),
        };
        let mut cursor = Cursor::new(row);
        let mut values = Vec::new();
        for (code, length) in columns {
            values.push(bind::tuple_value(&mut cursor, code, length)?);
        }
        if cursor.position() != row.len() {
            return Err(Wrong::End(End::Malformed("a row that is longer than its columns".into())));
        }
        self.bind(values)?;
        let rows = self.change().await?;
        let serial = self.last_serial;
        self.done(rows, serial);
        Ok(())
    }
}
