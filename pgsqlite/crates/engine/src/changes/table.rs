//! What has to be known of a table to put its rows back, and to tell which rows and keys a change touches.

use pgsqlite_sql::catalog::{Catalog, ConstraintKind, Relation, RelationKind};
use pgsqlite_sql::names::quoted;
use pgsqlite_storage::changes::change_log::{Change, ChangeLog, Operation};
use pgsqlite_types::{Datum, DatumRef, Oid};
use rusqlite::types::ValueRef;
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How the values of a column of an index are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    Bytes,
    /// as numbers
    Decimal,
    /// in some other way: two values may always be equal
    Somehow,
}

/// A unique key.
#[derive(Debug, Clone)]
struct Key {
    /// places of columns, ascending; empty: expressions, any two rows may have the same key
    columns: Vec<(usize, Compared)>,
    /// it holds for some rows only
    partial: bool,
}

/// A foreign key of the table.
#[derive(Debug, Clone)]
struct Reference {
    columns: Vec<usize>,
    /// the table that it refers to
    table: Box<str>,
    /// the query of that row's number, by the values of `columns`
    query: String,
}

/// A table of the database.
#[derive(Debug)]
pub(crate) struct Table {
    pub name: Box<str>,
    /// 0: the catalog does not have it
    pub oid: Oid,
    /// the names of its columns, in SQLite's order
    pub columns: Vec<String>,
    /// the name of its rows' numbers; None: it has none
    pub rowid: Option<&'static str>,
    /// the query of a row by its number; None: rows have no numbers
    pub by_number: Option<String>,
    /// a column is the rows' number
    pub numbered_by_column: bool,
    /// why its changes cannot be put back
    pub obstacle: Option<&'static str>,
    keys: Vec<Key>,
    references: Vec<Reference>,
    /// the tables whose foreign keys refer to it, or to a table that it is a partition of
    referencing: BTreeSet<Oid>,
}

/// A key of a table with its values, so that equal keys are equal bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct KeyOfTable {
    pub table: Box<str>,
    pub bytes: Box<[u8]>,
}

impl Table {
    /// Reads what SQLite and the catalog know of a table.
    pub fn read(conn: &Connection, catalog: &Catalog, name: &str) -> rusqlite::Result<Table> {
        let relation = catalog.relations.values().find(|r| !r.temporary && *r.sqlite_name == *name && is_stored(r));
        let mut columns = Vec::new();
        let mut obstacle = None;
        let mut primary = Vec::new();
        let mut statement =
            conn.prepare_cached("SELECT name, type, pk, hidden FROM pragma_table_xinfo(?1, 'main') ORDER BY cid")?;
        let mut rows = statement.query([name])?;
        while let Some(row) = rows.next()? {
            if row.get::<_, i64>(3)? != 0 {
                obstacle = Some("a table has generated columns");
            }
            if row.get::<_, i64>(2)? > 0 {
                primary.push((columns.len(), row.get::<_, String>(1)?));
            }
            columns.push(row.get::<_, String>(0)?);
        }
        drop(rows);
        let mut keys = Vec::new();
        let mut of_primary_key = false;
        let mut indexes =
            conn.prepare_cached("SELECT name, origin, partial FROM pragma_index_list(?1, 'main') WHERE \"unique\"")?;
        let mut found = indexes.query([name])?;
        while let Some(index) = found.next()? {
            of_primary_key |= index.get::<_, String>(1)? == "pk";
            keys.push(Key { columns: key_columns(conn, &index.get::<_, String>(0)?)?, partial: index.get(2)? });
        }
        drop(found);
        let without_rowid = conn
            .prepare_cached("SELECT wr FROM pragma_table_list(?1) WHERE schema = 'main'")?
            .query_row([name], |row| row.get::<_, bool>(0))?;
        let is_free = |name: &&str| !columns.iter().any(|c| c.eq_ignore_ascii_case(name));
        let numbered_by_column = !without_rowid && !of_primary_key && primary.len() == 1;
        let rowid = match (&primary[..], without_rowid) {
            (_, true) => None,
            _ => ["rowid", "_rowid_", "oid"].into_iter().find(is_free),
        };
        if rowid.is_none() {
            obstacle = Some("a table's rows have no numbers");
        }
        if numbered_by_column {
            keys.push(Key { columns: vec![(primary[0].0, Compared::Bytes)], partial: false });
        }
        if relation.is_some_and(|r| r.deferrable_keys().next().is_some()) {
            obstacle = Some("a table has a deferrable key");
        }
        if relation.is_some_and(|r| r.constraints.iter().any(|c| c.kind == ConstraintKind::Exclusion)) {
            obstacle = Some("a table has an exclusion constraint");
        }
        let place = |r: &Relation, attnum: i16| {
            let column = r.column_by_attnum(attnum)?;
            columns.iter().position(|c| c.eq_ignore_ascii_case(&column.name))
        };
        let mut references = Vec::new();
        for constraint in relation.iter().flat_map(|r| &r.constraints).filter(|c| !c.not_enforced) {
            let ConstraintKind::ForeignKey { references: parent, columns: named, .. } = &constraint.kind else {
                continue;
            };
            let found = relation.and_then(|r| {
                let parent = catalog.relation(*parent)?;
                let places = constraint.columns.iter().map(|&a| place(r, a)).collect::<Option<Vec<_>>>()?;
                let names = named
                    .iter()
                    .map(|&a| Some(quoted(&parent.column_by_attnum(a)?.name)))
                    .collect::<Option<Vec<_>>>()?;
                // (the rows of a partitioned table are in its partitions)
                let with_rows = catalog.with_partitions(parent).into_iter().filter_map(|t| catalog.relation(t));
                let with_rows = with_rows.filter(|t| !t.is_partitioned());
                Some(with_rows.map(|table| Reference::new(places.clone(), table, &names)).collect::<Vec<_>>())
            });
            match found {
                Some(found) => references.extend(found),
                None => obstacle = Some("a foreign key's table is not known"),
            }
        }
        let names: Vec<String> = columns.iter().map(|c| quoted(c)).collect();
        let by_number =
            rowid.map(|number| format!("SELECT {} FROM main.{} WHERE {number} = ?1", names.join(", "), quoted(name)));
        if name.starts_with("__pgsqlite_") {
            // SQLite's triggers keep it, and keep it again where the changes of their table are made again: the recorder sees to it that no
            // statement has changed it
            obstacle = None;
        }
        Ok(Table {
            name: name.into(),
            oid: relation.map_or(0, |r| r.oid),
            columns,
            rowid,
            by_number,
            numbered_by_column,
            obstacle,
            keys,
            references,
            referencing: referencing(catalog, relation),
        })
    }

    /// Compares a row with the values that a transaction has seen. Errors: SQLite's; a table without row numbers has no such row.
    pub fn compare(&self, conn: &Connection, rowid: i64, seen: &[DatumRef]) -> rusqlite::Result<Now> {
        let Some(query) = &self.by_number else { return Ok(Now::Gone) };
        let mut statement = conn.prepare_cached(query)?;
        let mut rows = statement.query([rowid])?;
        let Some(row) = rows.next()? else { return Ok(Now::Gone) };
        for (i, seen) in seen.iter().enumerate() {
            let now = match row.get_ref(i)? {
                ValueRef::Null => DatumRef::Null,
                ValueRef::Integer(n) => DatumRef::Int(n),
                ValueRef::Real(r) => DatumRef::Real(r),
                ValueRef::Text(t) => std::str::from_utf8(t).map_or(DatumRef::Blob(t), DatumRef::Text),
                ValueRef::Blob(b) => DatumRef::Blob(b),
            };
            if !same(seen, &now) {
                return Ok(Now::Changed);
            }
        }
        Ok(Now::Same)
    }

    /// Whether two rows have the same values in the columns of all keys that foreign keys may refer to.
    pub fn has_same_keys(&self, one: &[Datum], other: &[Datum]) -> bool {
        let same = |&(column, _): &(usize, Compared)| one.get(column) == other.get(column);
        self.keys.iter().filter(|k| !k.partial).all(|key| key.columns.iter().all(same))
    }

    /// Whether changes that were recorded of the one can be made in the other.
    pub fn is_like(&self, other: &Table) -> bool {
        // (a foreign key that was made meanwhile has been checked without the changes)
        self.oid == other.oid
            && self.columns == other.columns
            && self.rowid == other.rowid
            && other.referencing.is_subset(&self.referencing)
    }

    /// The keys that a row has. None of its values: such a key is nobody's.
    fn keys_of(&self, row: &[DatumRef], which: impl Fn(&Key) -> bool) -> Vec<KeyOfTable> {
        let bytes = self
            .keys
            .iter()
            .enumerate()
            .filter(|(_, key)| which(key))
            .filter_map(|(number, key)| key.bytes(number, row));
        bytes.map(|bytes| KeyOfTable { table: self.name.clone(), bytes }).collect()
    }

    /// How to find other rows that have a key which a change gives its row: the key's columns as SQLite names them, the query of the row's
    /// number, and its values. Keys of expressions, and those that hold for some rows only, are left out.
    pub fn lookups(&self, log: &ChangeLog, change: &Change) -> Vec<(String, String, Vec<Datum>)> {
        let (Some(new), Some(number)) = (log.new_row(change), self.rowid) else { return vec![] };
        let old = log.old(change);
        let mut lookups = Vec::new();
        for key in self.keys.iter().filter(|k| !k.partial && !k.columns.is_empty()) {
            let is_new = old.as_ref().is_none_or(|old| key.columns.iter().any(|(c, _)| old[*c] != new[*c]));
            let has_null = key.columns.iter().any(|(c, _)| new[*c] == DatumRef::Null);
            if !is_new || has_null {
                continue;
            }
            let names: Vec<String> =
                key.columns.iter().map(|(c, _)| format!("{}.{}", self.name, self.columns[*c])).collect();
            let conditions: Vec<String> = key
                .columns
                .iter()
                .enumerate()
                .map(|(i, (c, _))| format!("{} = ?{}", quoted(&self.columns[*c]), i + 1))
                .collect();
            let query = format!("SELECT {number} FROM main.{} WHERE {}", quoted(&self.name), conditions.join(" AND "));
            let values = key.columns.iter().map(|(c, _)| new[*c].to_owned()).collect();
            lookups.push((names.join(", "), query, values));
        }
        lookups
    }

    /// What a change touches beside its row.
    pub fn touched(&self, log: &ChangeLog, change: &Change) -> Touched {
        let (old, new) = (log.old(change), log.new_row(change));
        let mut touched = Touched::default();
        match (&old, &new) {
            (Some(old), Some(new)) => {
                let differs = |key: &Key| {
                    key.partial || key.columns.is_empty() || key.columns.iter().any(|(c, _)| old[*c] != new[*c])
                };
                let differs = |key: &Key| (old != new) && differs(key);
                touched.changes_key = self.keys.iter().any(|k| !k.partial && !k.columns.is_empty() && differs(k));
                touched.new_keys = self.keys_of(new, differs);
                touched.old_keys = self.keys_of(old, differs);
                let moved = |r: &&Reference| r.columns.iter().any(|&c| old[c] != new[c]);
                touched.references = self.references.iter().filter(moved).filter_map(|r| r.values(new)).collect();
            }
            (None, Some(new)) => {
                touched.new_keys = self.keys_of(new, |_| true);
                touched.references = self.references.iter().filter_map(|r| r.values(new)).collect();
            }
            (Some(old), None) => touched.old_keys = self.keys_of(old, |_| true),
            (None, None) => {}
        }
        touched.removes = change.operation == Operation::Delete || !touched.old_keys.is_empty();
        touched
    }
}

/// What has become of a row that a transaction has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Now {
    Same,
    Changed,
    Gone,
}

/// Whether two values are stored alike. (Not by numbers' equality: NaN and the sign of zero count.)
pub(crate) fn same(one: &DatumRef, other: &DatumRef) -> bool {
    match (one, other) {
        (DatumRef::Real(a), DatumRef::Real(b)) => a.to_bits() == b.to_bits(),
        _ => one == other,
    }
}

/// Whether a row's change may violate a foreign key until a later change of the same log: a table of the log refers to one of the log.
pub(crate) fn needs_deferral(log: &ChangeLog, tables: &[Arc<Table>]) -> bool {
    let changes = |table: &str| tables.iter().any(|t| *t.name == *table);
    log.len() > 1 && tables.iter().any(|t| t.references.iter().any(|r| changes(&r.table)))
}

/// Why the changes of a log, of these tables, cannot be made again. None: they can.
pub(crate) fn obstacle(log: &ChangeLog, tables: &[Arc<Table>]) -> Option<&'static str> {
    log.obstacle.or_else(|| tables.iter().find_map(|t| t.obstacle))
}

/// What a change touches.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// keys that rows have from now on
    pub new_keys: Vec<KeyOfTable>,
    /// keys that rows had
    pub old_keys: Vec<KeyOfTable>,
    /// an UPDATE has changed a key that others may refer to
    pub changes_key: bool,
    /// a row, or a key of one, is gone
    pub removes: bool,
    /// rows that the new row refers to: table, query of the number, values
    pub references: Vec<(Box<str>, String, Vec<Datum>)>,
}

impl Reference {
    fn new(columns: Vec<usize>, parent: &Relation, names: &[String]) -> Reference {
        let conditions: Vec<String> =
            names.iter().enumerate().map(|(i, name)| format!("{name} = ?{}", i + 1)).collect();
        let id = pgsqlite_sql::lower::rowid_name(parent).unwrap_or("rowid".into());
        let query = format!("SELECT {id} FROM main.{} WHERE {}", quoted(&parent.sqlite_name), conditions.join(" AND "));
        Reference { columns, table: parent.sqlite_name.clone().into(), query }
    }

    /// None: a value is NULL, so that the row refers to none.
    fn values(&self, row: &[DatumRef]) -> Option<(Box<str>, String, Vec<Datum>)> {
        let values: Vec<_> = self.columns.iter().map(|&c| row[c].to_owned()).collect();
        let refers = !values.contains(&Datum::Null);
        refers.then(|| (self.table.clone(), self.query.clone(), values))
    }
}

/// The tables whose foreign keys refer to a table, or to one that it is a partition of.
fn referencing(catalog: &Catalog, relation: Option<&Arc<Relation>>) -> BTreeSet<Oid> {
    let mut found = BTreeSet::new();
    let mut at = relation;
    while let Some(table) = at {
        found.extend(catalog.referencing(table.oid).map(|(r, _)| r.oid));
        at = table.inheritance.parents.first().filter(|_| table.is_partition()).and_then(|p| catalog.relation(*p));
    }
    found
}

fn is_stored(relation: &Relation) -> bool {
    matches!(relation.kind, RelationKind::Table | RelationKind::MaterializedView { .. })
}

/// The columns of an index, ascending; none: it has expressions.
fn key_columns(conn: &Connection, index: &str) -> rusqlite::Result<Vec<(usize, Compared)>> {
    let mut statement = conn.prepare_cached("SELECT cid, coll FROM pragma_index_xinfo(?1, 'main') WHERE key")?;
    let mut rows = statement.query([index])?;
    let mut columns = Vec::new();
    while let Some(row) = rows.next()? {
        let Ok(column) = usize::try_from(row.get::<_, i64>(0)?) else { return Ok(vec![]) };
        let compared = match row.get::<_, String>(1)?.as_str() {
            "BINARY" => Compared::Bytes,
            "decimal" => Compared::Decimal,
            _ => Compared::Somehow,
        };
        columns.push((column, compared));
    }
    columns.sort_unstable_by_key(|(column, _)| *column);
    Ok(columns)
}

impl Key {
    /// None: a value is NULL, which equals no other.
    fn bytes(&self, number: usize, row: &[DatumRef]) -> Option<Box<[u8]>> {
        let mut bytes = Vec::new();
        match self.columns.is_empty() {
            true => bytes.extend_from_slice(&(number as u64).to_le_bytes()),
            false => bytes.push(b'k'),
        }
        for &(column, compared) in &self.columns {
            bytes.extend_from_slice(&(column as u32).to_le_bytes());
            match (row.get(column)?, compared) {
                (DatumRef::Null, _) => return None,
                (_, Compared::Somehow) => bytes.push(b'?'),
                (DatumRef::Int(i), _) => number_bytes(&mut bytes, &i.to_string()),
                (DatumRef::Real(r), _) => number_bytes(&mut bytes, &r.to_string()),
                (DatumRef::Text(text), Compared::Decimal) => number_bytes(&mut bytes, text),
                (DatumRef::Text(text), Compared::Bytes) => text_bytes(&mut bytes, b't', text.as_bytes()),
                (DatumRef::Blob(blob), _) => text_bytes(&mut bytes, b'b', blob),
            }
        }
        Some(bytes.into())
    }
}

fn text_bytes(bytes: &mut Vec<u8>, kind: u8, value: &[u8]) {
    bytes.push(kind);
    bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
    bytes.extend_from_slice(value);
}

/// A number's text without zeros that do not count.
fn number_bytes(bytes: &mut Vec<u8>, text: &str) {
    let shortest = match text.contains('.') && !text.contains(['e', 'E']) {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    };
    let shortest = if shortest == "-0" { "0" } else { shortest };
    text_bytes(bytes, b'n', shortest.as_bytes());
}
