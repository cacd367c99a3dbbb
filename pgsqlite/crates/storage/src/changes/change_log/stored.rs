//! A log of changes as bytes, to be stored.
//!
//! The bytes, all numbers little-endian: the form's number; the number of tables (4 bytes), and for each the length of its name (4) and the
//! name; the number of changes (4), and for each its table (4), operation (1), whether a statement has made it (1), the row's
//! number before and after it (8 and 8), and the number of columns (4); then the values of all changes, as the log keeps them.

use super::{Change, ChangeLog, Operation, BLOB, INT, NULL, REAL, TEXT};

/// The number of this form.
const FORM: u8 = 1;

/// The bytes are not those of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damaged;

impl ChangeLog {
    /// The log as bytes. Its obstacle is not among them: a log that has one cannot be put back.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![FORM];
        let mut number = |n: usize| bytes.extend_from_slice(&(n as u32).to_le_bytes());
        number(self.tables.len());
        for table in &self.tables {
            bytes.extend_from_slice(&(table.len() as u32).to_le_bytes());
            bytes.extend_from_slice(table.as_bytes());
        }
        bytes.extend_from_slice(&(self.changes.len() as u32).to_le_bytes());
        for change in &self.changes {
            bytes.extend_from_slice(&(change.table as u32).to_le_bytes());
            let operation = match change.operation {
                Operation::Insert => 0,
                Operation::Update => 1,
                Operation::Delete => 2,
            };
            bytes.extend_from_slice(&[operation, u8::from(change.direct)]);
            bytes.extend_from_slice(&change.rowid.to_le_bytes());
            bytes.extend_from_slice(&change.new_rowid.to_le_bytes());
            bytes.extend_from_slice(&(change.columns as u32).to_le_bytes());
        }
        bytes.extend_from_slice(&self.values);
        bytes
    }

    /// The log of these bytes. Errors: they are not what [`ChangeLog::to_bytes`] gives.
    pub fn from_bytes(bytes: &[u8]) -> Result<ChangeLog, Damaged> {
        let mut reader = Reader { bytes };
        if reader.byte()? != FORM {
            return Err(Damaged);
        }
        let mut log = ChangeLog::default();
        for _ in 0..reader.length()? {
            let length = reader.length()?;
            let name = std::str::from_utf8(reader.take(length)?).map_err(|_| Damaged)?;
            log.tables.push(name.into());
        }
        for _ in 0..reader.length()? {
            let table = reader.length()?;
            let operation = match reader.byte()? {
                0 => Operation::Insert,
                1 => Operation::Update,
                2 => Operation::Delete,
                _ => return Err(Damaged),
            };
            let direct = match reader.byte()? {
                0 => false,
                1 => true,
                _ => return Err(Damaged),
            };
            let (rowid, new_rowid, columns) = (reader.number()?, reader.number()?, reader.length()?);
            if table >= log.tables.len() {
                return Err(Damaged);
            }
            log.changes.push(Change { table, operation, direct, rowid, new_rowid, columns, values: 0 });
        }
        log.values = reader.bytes.to_vec();
        for change in &mut log.changes {
            change.values = log.values.len() - reader.bytes.len();
            let rows = if change.operation == Operation::Update { 2 } else { 1 };
            (0..rows * change.columns).try_for_each(|_| reader.value())?;
        }
        match reader.bytes {
            [] => Ok(log),
            _ => Err(Damaged),
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], Damaged> {
        let (head, tail) = self.bytes.split_at_checked(n).ok_or(Damaged)?;
        self.bytes = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        self.take(N)?.try_into().map_err(|_| Damaged)
    }

    fn byte(&mut self) -> Result<u8, Damaged> {
        Ok(self.array::<1>()?[0])
    }

    fn length(&mut self) -> Result<usize, Damaged> {
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    fn number(&mut self) -> Result<i64, Damaged> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// Passes over a value.
    fn value(&mut self) -> Result<(), Damaged> {
        match self.byte()? {
            NULL => {}
            INT | REAL => drop(self.number()?),
            kind @ (TEXT | BLOB) => {
                let length = usize::try_from(self.number()?).map_err(|_| Damaged)?;
                let value = self.take(length)?;
                if kind == TEXT {
                    std::str::from_utf8(value).map_err(|_| Damaged)?;
                }
            }
            _ => return Err(Damaged),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgsqlite_types::DatumRef;

    fn log() -> ChangeLog {
        let mut log = ChangeLog::default();
        let table = log.table("t");
        let other = log.table("ü");
        let row =
            [DatumRef::Null, DatumRef::Int(-7), DatumRef::Real(0.5), DatumRef::Text("é"), DatumRef::Blob(b"\xff")];
        log.push(table, Operation::Insert, true, (1, 1), row.len());
        row.iter().for_each(|v| log.push_value(*v));
        log.push(other, Operation::Update, false, (1, 2), 1);
        log.push_value(DatumRef::Int(1));
        log.push_value(DatumRef::Text(""));
        log.push(table, Operation::Delete, true, (i64::MIN, i64::MAX), 1);
        log.push_value(DatumRef::Null);
        log
    }

    #[test]
    fn a_log_comes_back() {
        for log in [log(), ChangeLog::default()] {
            let back = ChangeLog::from_bytes(&log.to_bytes()).expect("is a log");
            assert_eq!(format!("{back:?}"), format!("{log:?}"));
        }
    }

    /// Every byte that is missing is noticed, and no byte that is wrong makes it panic.
    #[test]
    fn damage_is_noticed() {
        let bytes = log().to_bytes();
        for end in 0..bytes.len() {
            assert_eq!(ChangeLog::from_bytes(&bytes[..end]).unwrap_err(), Damaged, "{end}");
        }
        let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
        assert_eq!(ChangeLog::from_bytes(&longer).unwrap_err(), Damaged);
        for at in 0..bytes.len() {
            for wrong in [0, 1, 4, 0x7f, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] = wrong;
                if let Ok(log) = ChangeLog::from_bytes(&bytes) {
                    log.changes().iter().for_each(|c| drop((log.old(c), log.new_row(c))));
                }
            }
        }
    }
}
