//! Sequences as relations of the catalog.

use pgsqlite_sql::catalog::*;
use pgsqlite_sql::names::quoted;
use pgsqlite_types::{oid, Oid, PgError, Result};

/// The sequence of an INTEGER PRIMARY KEY (table, attnum), without OID, name and owner.
pub fn row_numbers(numbers: RowNumbers, key: (Oid, i16)) -> Relation {
    let sequence = Sequence {
        type_oid: oid::INT8,
        start: 1,
        increment: 1,
        min: 1,
        max: i64::MAX,
        cache: 1,
        cycle: false,
        owned_by: Some(key),
        identity: true,
        row_numbers: Some(numbers),
    };
    sequence_relation(sequence)
}

/// A sequence that is not stored yet, without OID, name and owner.
pub fn sequence_relation(sequence: Sequence) -> Relation {
    Relation { columns: sequence_columns(), ..Relation::new(RelationKind::Sequence(sequence)) }
}

/// The columns every sequence shows.
fn sequence_columns() -> Vec<Column> {
    [("last_value", oid::INT8), ("log_cnt", oid::INT8), ("is_called", oid::BOOL)]
        .into_iter()
        .zip(1i16..)
        .map(|((name, ty), attnum)| Column { not_null: true, ..Column::new(attnum, name, ty, -1) })
        .collect()
}

/// The highest number of a row of the table whose INTEGER PRIMARY KEY has this sequence, with AUTOINCREMENT the highest that ever
/// was; None: there is none. Errors: XX000 if the sequence is another one's.
pub fn highest_row_number(db: &rusqlite::Connection, catalog: &Catalog, sequence: Oid) -> Result<Option<i64>> {
    let numbered = catalog.relation(sequence).and_then(|r| match &r.kind {
        RelationKind::Sequence(Sequence { row_numbers: Some(numbers), owned_by: Some((table, attnum)), .. }) => {
            let table = catalog.relation(*table)?;
            Some((*numbers, table, table.column_by_attnum(*attnum)?))
        }
        _ => None,
    });
    let Some((numbers, table, column)) = numbered else { return Err(PgError::internal("not a table's row numbers")) };
    let sql = format!("SELECT max({}) FROM main.{}", quoted(&column.name), quoted(&table.sqlite_name));
    let highest: Option<i64> = db.query_row(&sql, [], |r| r.get(0)).map_err(super::sqlite_error)?;
    if numbers == RowNumbers::Highest {
        return Ok(highest);
    }
    let sql = "SELECT max(seq) FROM main.sqlite_sequence WHERE name = ?1";
    let ever: Option<i64> = db.query_row(sql, [&table.sqlite_name], |r| r.get(0)).map_err(super::sqlite_error)?;
    Ok(highest.max(ever))
}
