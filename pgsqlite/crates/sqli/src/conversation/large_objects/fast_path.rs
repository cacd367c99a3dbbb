//! What clients call to read and write large objects: the routines of the fast path, and LODATA.
//!
//! GETROUTINE gives a signature a number, EXFPROUTINE calls it; what stands in an open object is read and written with LODATA. CLOBs are
//! bytes of the client's code set here, and become text when they are bound.
//!
//! What is written into a fetched object changes the row's column at once ([`Conversation::edit_stored`]), if the row could say which
//! one of its table it is ([`Origin`]), is still the same, and holds what this session has read or written last.

use super::{gone, Descriptor, Key, Made, Origin, READ_WRITE, UNBOUND};
use crate::client::End;
use crate::conversation::statement::hexadecimal;
use crate::conversation::transaction::Discard;
use crate::conversation::{Conversation, Step, Wrong};
use crate::dialect::print::ident;
use crate::dialect::query_print::row_values;
use crate::errors::Failure;
use crate::values::types::Type;
use crate::wire::messages::{LargeObjectData, Value};
use crate::wire::{code, type_code};
use pgsqlite_engine::session::Execution;

/// The routines that clients call. Each signature has one number.
const ROUTINES: [&str; 9] = [
    "ifx_lo_create",
    "ifx_lo_open",
    "ifx_lo_close",
    "ifx_lo_seek",
    "ifx_lo_tell",
    "ifx_lo_truncate",
    "ifx_lo_stat",
    "ifx_lo_release",
    "ifx_lo_col_sbinfo",
];

/// A change of an object, where a descriptor stands or of the whole.
#[derive(Clone, Copy)]
enum Edit<'a> {
    Write(&'a [u8]),
    Truncate(u64),
}

/// A result of a routine.
enum Out {
    Int(i32),
    Int8(u64),
    Opaque(&'static str, Vec<u8>),
}

/// The name in `function informix.ifx_lo_open(blob ,integer)`.
fn routine_name(signature: &str) -> Option<String> {
    let (head, _) = signature.split_once('(')?;
    let name = head.trim().rsplit([' ', '.']).next()?;
    Some(name.to_lowercase())
}

/// Bytes of what `ifx_lo_stat` fills, and the place of the size in it: low half, high half, sign.
const STATUS: usize = 644;
const SIZE_AT: usize = 4;

fn status(size: u64) -> Vec<u8> {
    let mut out = vec![0; STATUS];
    out[SIZE_AT..SIZE_AT + 4].copy_from_slice(&(size as u32).to_be_bytes());
    out[SIZE_AT + 4..SIZE_AT + 8].copy_from_slice(&((size >> 32) as u32).to_be_bytes());
    out[SIZE_AT + 8..SIZE_AT + 10].copy_from_slice(&1i16.to_be_bytes());
    out
}

impl Conversation<'_> {
    pub(in crate::conversation) fn get_routine(&mut self, signature: &[u8]) -> Step {
        let signature = self.identity.codeset.decode(signature)?;
        let name = routine_name(&signature);
        let number = ROUTINES.iter().position(|r| name.as_deref() == Some(r));
        let number = number.ok_or_else(|| Failure::new(-674, 0, signature))?;
        self.session()?;
        let mut database = Vec::new();
        self.identity.codeset.encode(&self.database, &mut database)?;
        self.client.out.short(code::GETROUTINE);
        self.client.out.char(&database);
        self.client.out.int(number as i32 + 1);
        Ok(())
    }

    pub(in crate::conversation) async fn call_routine(&mut self, handle: i32, values: &[Value]) -> Step {
        self.check_interrupt()?;
        self.session()?;
        let index = usize::try_from(handle).ok().and_then(|h| h.checked_sub(1));
        let name = index.and_then(|i| ROUTINES.get(i)).ok_or_else(|| Failure::new(-674, 0, handle.to_string()))?;
        let results = match (*name, values) {
            ("ifx_lo_truncate", [Value::Integer(number), Value::Integer(size)]) if self.is_stored(*number) => {
                let size = u64::try_from(*size).map_err(|_| Failure::text("a size below zero"))?;
                self.edit_stored(*number, Edit::Truncate(size)).await?;
                vec![Out::Int(0)]
            }
            _ => self.routine(name, values)?,
        };
        let out = &mut self.client.out;
        out.short(code::FPROUTINE);
        out.short(results.len() as i16);
        for result in results {
            match result {
                Out::Int(n) => {
                    out.shorts(&[type_code::INTEGER, 0, 0]);
                    out.int(n);
                }
                Out::Int8(n) => {
                    out.shorts(&[type_code::INT8, 0, 0, 1]);
                    out.int(n as u32 as i32);
                    out.int((n >> 32) as i32);
                }
                Out::Opaque(name, bytes) => {
                    out.short(type_code::UDT_FIXED);
                    out.char(b"informix");
                    out.char(name.as_bytes());
                    out.shorts(&[0, 0]);
                    out.int(bytes.len() as i32);
                    out.padded(&bytes);
                }
            }
        }
        Ok(())
    }

    fn routine(&mut self, name: &str, values: &[Value]) -> Result<Vec<Out>, Failure> {
        let objects = &mut self.large_objects;
        Ok(match (name, values) {
            ("ifx_lo_create", [_, Value::Integer(flags), _]) => {
                objects.check_room(0)?;
                if objects.made.len() >= u16::MAX as usize {
                    return Err(Failure::text("too many large objects wait to be stored"));
                }
                objects.last_made += 1;
                let key = Key { group: 0, number: objects.last_made };
                objects.made.insert(key.number, Made::default());
                // what is new is there to be written
                let descriptor = objects.open(key, *flags | READ_WRITE)?;
                vec![Out::Opaque("blob", objects.locator(key).to_vec()), Out::Int(descriptor)]
            }
            ("ifx_lo_open", [Value::Opaque { bytes, .. }, Value::Integer(flags)]) => {
                let key = objects.key(bytes)?;
                vec![Out::Int(objects.open(key, *flags)?)]
            }
            ("ifx_lo_close", [Value::Integer(number)]) => {
                objects.descriptor(*number)?;
                objects.open.remove(&(*number as i32));
                vec![Out::Int(0)]
            }
            ("ifx_lo_seek", [Value::Integer(number), Value::Integer(offset), Value::Integer(whence), _]) => {
                let place = objects.seek(*number, *offset, *whence)?;
                vec![Out::Int8(place), Out::Int(0)]
            }
            ("ifx_lo_tell", [Value::Integer(number), _]) => {
                vec![Out::Int8(objects.descriptor(*number)?.place), Out::Int(0)]
            }
            ("ifx_lo_truncate", [Value::Integer(number), Value::Integer(size)]) => {
                objects.truncate(*number, *size)?;
                vec![Out::Int(0)]
            }
            ("ifx_lo_stat", [Value::Integer(number), _]) => {
                let key = objects.descriptor(*number)?.key;
                vec![Out::Opaque("ifx_lo_stat", status(objects.size(key)?)), Out::Int(0)]
            }
            ("ifx_lo_release", [Value::Opaque { bytes, .. }]) => {
                let key = objects.key(bytes)?;
                objects.size(key)?;
                if key.group == 0 {
                    objects.made.remove(&key.number);
                }
                vec![Out::Int(0)]
            }
            // where a column keeps its objects: nothing of it is of use here, so it stays as the client has it
            ("ifx_lo_col_sbinfo", [_, Value::Opaque { bytes, .. }]) => vec![Out::Opaque("ifx_lo_spec", bytes.clone())],
            _ => return Err(Failure::new(-674, 0, name)),
        })
    }

    /// Whether an open object is one that a row holds, as far as that is known.
    fn is_stored(&mut self, number: i64) -> bool {
        let key = self.large_objects.descriptor(number).map(|d| d.key);
        key.is_ok_and(|key| self.large_objects.origin(key).is_some())
    }

    /// Changes an object that a row holds, where it is stored. Errors: -746 if the row is not what it was, and those of an UPDATE.
    async fn edit_stored(&mut self, number: i64, edit: Edit<'_>) -> Step {
        let objects = &mut self.large_objects;
        let &mut Descriptor { key, mut place, writable, append } = objects.descriptor(number)?;
        if !writable {
            return Err(Failure::text("the large object is open for reading only").into());
        }
        let origin = objects.origin(key).cloned().ok_or_else(gone)?;
        let before = objects.read(key, 0, usize::MAX)?;
        let mut content = before.clone();
        let end = match edit {
            Edit::Truncate(size) => size,
            Edit::Write(bytes) => {
                place = if append { content.len() as u64 } else { place };
                place.saturating_add(bytes.len() as u64)
            }
        };
        if end > UNBOUND {
            return Err(Failure::text("a large object that is too long").into());
        }
        match edit {
            Edit::Truncate(_) => content.resize(end as usize, 0),
            Edit::Write(bytes) => {
                content.resize(content.len().max(end as usize), 0);
                content[place as usize..end as usize].copy_from_slice(bytes);
                place = end;
            }
        }
        self.store(&origin, &before, &content).await?;
        let objects = &mut self.large_objects;
        objects.remember(origin, content);
        objects.descriptor(number)?.place = place;
        Ok(())
    }

    /// Puts a content into the column of a row that holds `before`.
    async fn store(&mut self, origin: &Origin, before: &[u8], content: &[u8]) -> Step {
        let catalog = self.session()?.catalog_snapshot();
        let relation = catalog.relation(origin.table).ok_or_else(gone)?;
        let column = relation.column_by_attnum(origin.attnum).ok_or_else(gone)?;
        let codeset = self.identity.codeset;
        let stored = |bytes: &[u8]| -> Result<Vec<u8>, Failure> {
            match Type::of_column(&catalog, column) {
                Some(Type::Clob) => Ok(codeset.decode(bytes)?.into_bytes()),
                Some(Type::Blob) => Ok(hexadecimal(bytes)),
                _ => Err(gone()),
            }
        };
        let (before, content) = (stored(before)?, stored(content)?);
        let table = match relation.temporary {
            true => ident(&relation.name),
            false => format!("{}.{}", ident(catalog.schema_name(relation.schema)), ident(&relation.name)),
        };
        let (name, values) = (ident(&column.name), row_values(&catalog, relation, "t"));
        let sql = format!(
            "UPDATE {table} AS t SET {name} = $1 WHERE t.ctid = $2::text::tid AND {values} = $3::text AND t.{name} = $4"
        );
        let parameters = [content.as_slice(), origin.row.as_bytes(), origin.values.as_bytes(), before.as_slice()];
        self.begin_change().await?;
        let result = async {
            let session = self.session()?;
            session.parse("", &sql, &[]).await?;
            session.bind("", "", &[], &parameters.map(Some), &[]).await?;
            match session.execute("", 0, &mut Discard).await? {
                Execution::Complete(tag) if tag.ends_with(" 1") => Ok(()),
                // also if another client has written into it
                _ => Err(Failure::text("the row of this large object has changed since it was read").into()),
            }
        }
        .await;
        self.end_change(result).await
    }

    /// LODATA: reads or writes a piece of an open object.
    pub(in crate::conversation) async fn large_object_data(&mut self, data: LargeObjectData) -> Step {
        self.check_interrupt()?;
        let number = i64::from(data.descriptor);
        if let Some(bytes) = &data.written {
            match self.is_stored(number) {
                true => self.edit_stored(number, Edit::Write(bytes)).await?,
                false => self.large_objects.write(number, bytes)?,
            }
            let out = &mut self.client.out;
            out.shorts(&[code::LODATA, 2]);
            out.int(bytes.len() as i32);
            return Ok(());
        }
        let objects = &mut self.large_objects;
        if data.chunk == 0 {
            return Err(Wrong::End(End::Malformed("a large object in chunks of no bytes".into())));
        }
        if let Some((offset, whence)) = data.seek {
            objects.seek(number, offset, whence.into())?;
        }
        let descriptor = objects.descriptor(number)?;
        let (key, place) = (descriptor.key, descriptor.place);
        let bytes = objects.read(key, place, data.wanted)?;
        objects.descriptor(number)?.place += bytes.len() as u64;
        let out = &mut self.client.out;
        out.shorts(&[code::LODATA, data.seek.is_some() as i16]);
        out.int(bytes.len() as i32);
        for chunk in bytes.chunks(data.chunk) {
            out.char(chunk);
        }
        if bytes.is_empty() {
            // clients read a chunk even of nothing
            out.short(0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures() {
        assert_eq!(
            routine_name("function informix.ifx_lo_create( ifx_lo_spec,integer,blob)").unwrap(),
            "ifx_lo_create"
        );
        assert_eq!(routine_name("function ifx_lo_close (integer)").unwrap(), "ifx_lo_close");
        assert_eq!(routine_name("nothing"), None);
        assert_eq!(status(5)[..16], [0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 1, 0, 0]);
    }
}
