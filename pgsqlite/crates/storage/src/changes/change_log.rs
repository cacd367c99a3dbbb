//! The changes of a transaction, in their order.

mod stored;

pub use stored::Damaged;

use pgsqlite_types::DatumRef;

/// A longer log is a bulk load and no conversation: its transaction keeps the writer slot.
pub const MOST_BYTES: usize = 64 << 20;

/// What was done to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operation {
    Insert,
    Update,
    Delete,
}

/// The change of one row.
#[derive(Debug, Clone)]
pub struct Change {
    /// its place in [`ChangeLog::tables`]
    pub table: usize,
    /// what was done to the row
    pub operation: Operation,
    /// A statement has made it. Otherwise SQLite has (a referential action or a trigger), and makes it again.
    pub direct: bool,
    /// the row's number before the change
    pub rowid: i64,
    /// … and after it
    pub new_rowid: i64,
    columns: usize,
    /// where its values are: those before the change, then those after it
    values: usize,
}

/// The values of a row, decoded one by one.
pub struct Values<'a> {
    bytes: &'a [u8],
    left: usize,
}

impl<'a> Values<'a> {
    fn take(&mut self, n: usize) -> &'a [u8] {
        let (head, tail) = self.bytes.split_at(n);
        self.bytes = tail;
        head
    }

    fn number(&mut self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(self.take(8));
        bytes
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = DatumRef<'a>;
    fn next(&mut self) -> Option<DatumRef<'a>> {
        self.left = self.left.checked_sub(1)?;
        Some(match self.take(1)[0] {
            NULL => DatumRef::Null,
            INT => DatumRef::Int(i64::from_le_bytes(self.number())),
            REAL => DatumRef::Real(f64::from_le_bytes(self.number())),
            kind => {
                let length = u64::from_le_bytes(self.number()) as usize;
                let bytes = self.take(length);
                match kind {
                    // (it was a text when it was put here)
                    TEXT => std::str::from_utf8(bytes).map_or(DatumRef::Blob(bytes), DatumRef::Text),
                    _ => DatumRef::Blob(bytes),
                }
            }
        })
    }
}

const NULL: u8 = 0;
const INT: u8 = 1;
const REAL: u8 = 2;
const TEXT: u8 = 3;
const BLOB: u8 = 4;

/// A moment of a log: what [`ChangeLog::cut`] goes back to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mark {
    /// how many changes there were
    pub len: usize,
    obstacle: Option<&'static str>,
}

/// The changes of a transaction since it took the writer slot.
#[derive(Debug, Default)]
pub struct ChangeLog {
    /// the names in SQLite of the tables that were changed
    pub tables: Vec<Box<str>>,
    changes: Vec<Change>,
    values: Vec<u8>,
    /// why the changes cannot be put back; None: they can
    pub obstacle: Option<&'static str>,
    /// so many of the changes were told to who watches what serializable transactions write
    told: usize,
}

impl ChangeLog {
    /// How many of the changes were there when [`ChangeLog::tell`] was called last.
    pub fn told(&self) -> usize {
        self.told
    }

    /// All changes are known to who asks for [`ChangeLog::told`].
    pub fn tell(&mut self) {
        self.told = self.changes.len();
    }

    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.obstacle.is_none()
    }

    /// The present end of the log.
    pub fn mark(&self) -> Mark {
        Mark { len: self.changes.len(), obstacle: self.obstacle }
    }

    /// How many changes there are.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// The changes, in their order.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The changes, to be corrected in place.
    pub fn changes_mut(&mut self) -> &mut [Change] {
        &mut self.changes
    }

    fn bytes(&self) -> usize {
        self.values.len() + self.changes.len() * size_of::<Change>()
    }

    /// What came after a mark has been taken back.
    pub fn cut(&mut self, mark: Mark) {
        self.obstacle = mark.obstacle;
        if let Some(first) = self.changes.get(mark.len) {
            self.values.truncate(first.values);
            self.changes.truncate(mark.len);
            self.told = self.told.min(mark.len);
        }
    }

    /// The place of a table among those that were changed.
    pub fn table(&mut self, name: &str) -> usize {
        // (few tables are changed, and mostly the last one again)
        match self.tables.iter().rposition(|t| **t == *name) {
            Some(at) => at,
            None => {
                self.tables.push(name.into());
                self.tables.len() - 1
            }
        }
    }

    /// Notes a change, whose values [`ChangeLog::push_value`] adds.
    pub fn push(
        &mut self,
        table: usize,
        operation: Operation,
        direct: bool,
        (rowid, new_rowid): (i64, i64),
        columns: usize,
    ) {
        if self.bytes() > MOST_BYTES {
            self.obstacle.get_or_insert("it has made more changes than are kept");
        }
        if self.obstacle.is_some() {
            // nothing is put back any more
            return;
        }
        let values = self.values.len();
        self.changes.push(Change { table, operation, direct, rowid, new_rowid, columns, values });
    }

    /// Adds the next value of the last change.
    pub fn push_value(&mut self, value: DatumRef) {
        if self.obstacle.is_some() {
            return;
        }
        match value {
            DatumRef::Null => self.values.push(NULL),
            DatumRef::Int(i) => {
                self.values.push(INT);
                self.values.extend_from_slice(&i.to_le_bytes());
            }
            DatumRef::Real(r) => {
                self.values.push(REAL);
                self.values.extend_from_slice(&r.to_le_bytes());
            }
            DatumRef::Text(text) => self.push_bytes(TEXT, text.as_bytes()),
            DatumRef::Blob(bytes) => self.push_bytes(BLOB, bytes),
        }
    }

    fn push_bytes(&mut self, kind: u8, bytes: &[u8]) {
        self.values.push(kind);
        self.values.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.values.extend_from_slice(bytes);
    }

    /// The values of the row before a change. None: it was not there.
    pub fn old(&self, change: &Change) -> Option<Vec<DatumRef<'_>>> {
        (change.operation != Operation::Insert).then(|| self.row(change).take(change.columns).collect())
    }

    /// The values of the row after a change. None: it is gone.
    pub fn new_row(&self, change: &Change) -> Option<Vec<DatumRef<'_>>> {
        let before = match change.operation {
            Operation::Insert => 0,
            Operation::Update => change.columns,
            Operation::Delete => return None,
        };
        Some(self.row(change).skip(before).take(change.columns).collect())
    }

    fn row(&self, change: &Change) -> Values<'_> {
        let left = if change.operation == Operation::Update { 2 * change.columns } else { change.columns };
        Values { bytes: &self.values[change.values..], left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_are_cut() {
        let mut log = ChangeLog::default();
        let table = log.table("t");
        let row =
            [DatumRef::Null, DatumRef::Int(-7), DatumRef::Real(0.5), DatumRef::Text("é"), DatumRef::Blob(b"\xff")];
        log.push(table, Operation::Insert, true, (1, 1), row.len());
        row.iter().for_each(|v| log.push_value(*v));
        log.push(table, Operation::Update, true, (1, 2), 1);
        log.push_value(DatumRef::Int(1));
        log.push_value(DatumRef::Text(""));
        let mark = log.mark();
        log.push(table, Operation::Delete, false, (2, 2), 1);
        log.push_value(DatumRef::Null);
        assert_eq!(log.old(&log.changes()[2]), Some(vec![DatumRef::Null]));
        log.obstacle = Some("taken back, too");
        log.cut(mark);
        let [insert, update] = log.changes() else { panic!("two changes") };
        assert_eq!((log.old(insert), log.new_row(insert)), (None, Some(row.to_vec())));
        assert_eq!(log.old(update), Some(vec![DatumRef::Int(1)]));
        assert_eq!(log.new_row(update), Some(vec![DatumRef::Text("")]));
        log.cut(Mark::default());
        assert!(log.is_empty() && log.values.is_empty() && log.table("t") == table);
    }

    #[test]
    fn what_is_too_long_is_not_kept() {
        let mut log = ChangeLog::default();
        let text = "x".repeat(MOST_BYTES / 4);
        for i in 0..8 {
            log.push(0, Operation::Insert, true, (i, i), 1);
            log.push_value(DatumRef::Text(&text));
        }
        assert!(log.obstacle.is_some() && log.bytes() < 2 * MOST_BYTES, "{}", log.bytes());
    }
}
