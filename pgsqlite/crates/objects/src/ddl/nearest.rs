//! The tables behind indexes for nearest values (`sql/src/lower/nearest.rs`), and the triggers of SQLite that keep them.
//!
//! The lists of an index are made of the rows that are there when it is made (or made anew by REINDEX): k-means over a sample of their
//! values. Fewer than [`LEAST_ROWS`] are not worth it: then there are no lists, and queries read all rows.

use super::Ddl;
use pgsqlite_metadata::store::sqlite_error;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::lower::inverted::side_table;
use pgsqlite_sql::lower::nearest::{class, is_method, list_of, lists_table, Class};
use pgsqlite_sql::lower::rowid_name;
use pgsqlite_sql::names::quoted;
use pgsqlite_types::extension::vector::distance::{norm, Asked, Metric};
use pgsqlite_types::extension::vector::{elements, store, store_half, Kind};
use pgsqlite_types::{work, Datum, PgError, Result, SqlState};

/// Fewer rows are read one after the other.
const LEAST_ROWS: i64 = 1000;
/// Values per list in the sample.
const SAMPLE: usize = 50;
/// Bytes of the sample, at most.
const SAMPLE_BYTES: usize = 64 << 20;
/// How often centers are moved.
const ROUNDS: usize = 8;
/// Most dimensions of an indexed value, as pgvector has them.
const MOST_DIMENSIONS: i32 = 2000;
const MOST_DIMENSIONS_OF_HALVES: i32 = 4000;

/// What an index is made of, for SQLite.
pub(super) struct KeyedBy {
    pub value: String,
    pub ty: pgsqlite_types::Oid,
    pub typmod: i32,
    /// the columns of the value
    pub columns: Vec<String>,
    /// when an update of these changes the value: a trigger's WHEN, or nothing
    pub changed: String,
}

impl Ddl<'_> {
    /// The only key of an index.
    pub(super) fn keyed_by(&self, index: &Index, table: &Relation) -> Result<KeyedBy> {
        let [key] = &index.columns[..] else { return Err(PgError::internal("an index of several keys")) };
        match &key.key {
            KeyPart::Column(attnum) => {
                let missing = || PgError::internal("an index on a column that is not there");
                let column = table.column_by_attnum(*attnum).ok_or_else(missing)?;
                let name = quoted(&column.name);
                let changed = format!(" WHEN old.{name} IS NOT new.{name}");
                let (ty, typmod) = (column.type_oid, column.typmod);
                Ok(KeyedBy { value: name.clone(), ty, typmod, columns: vec![name], changed })
            }
            KeyPart::Expression(text) => {
                let expr =
                    self.analyze_stored(|e| pgsqlite_sql::analyze::analyze_expression(e, text, Some(table), None))?;
                let columns = pgsqlite_sql::deparse::relation_columns(&expr, table);
                let names = columns.iter().filter_map(|a| table.column_by_attnum(*a)).map(|c| quoted(&c.name));
                let value = format!("({})", self.lower_index_part(text, Some(table))?);
                let (ty, typmod) = (expr.ty, expr.typmod);
                Ok(KeyedBy { value, ty, typmod, columns: names.collect(), changed: String::new() })
            }
        }
    }

    /// Refuses an index for nearest values that would not be used, or that PostgreSQL refuses. Errors: 0A000, 22023, 54000.
    pub(super) fn check_nearest(&self, table: &Relation, index: &Index, parameters: &[String]) -> Result<()> {
        if !is_method(&index.method) {
            return Ok(());
        }
        let method = &index.method;
        let unused = |what: &str| Err(PgError::not_supported(format!("a {method} index {what}")));
        let Some(class) = index.columns.first().and_then(|c| class(c.opclass)) else {
            return unused("of bit strings or sparsevec");
        };
        if table.temporary {
            return unused("of a temporary table");
        }
        if table.is_partitioned() || !table.inheritance.parents.is_empty() {
            return unused("of a table with partitions or parents");
        }
        if table.kind != RelationKind::Table || table.origin == Origin::Foreign || rowid_name(table).is_err() {
            return unused("of this relation");
        }
        if index.predicate.is_some() {
            return unused("with WHERE");
        }
        let key = self.keyed_by(index, table)?;
        if key.columns.is_empty() {
            return unused("of a constant");
        }
        if key.typmod < 0 {
            return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, "column does not have dimensions"));
        }
        let most = if class.kind == Kind::Half { MOST_DIMENSIONS_OF_HALVES } else { MOST_DIMENSIONS };
        if key.typmod > most {
            let message = format!("column cannot have more than {most} dimensions for {method} index");
            return Err(PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        if method == "hnsw" {
            let (m, construction) = (number(parameters, "m", 16), number(parameters, "ef_construction", 64));
            if construction < 2 * m {
                let message = "ef_construction must be greater than or equal to 2 * m";
                return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
        }
        Ok(())
    }

    /// Makes (anew) the lists of an index, the table of its rows and the triggers.
    pub(super) fn make_lists(&self, index_relation: &Relation, index: &Index, table: &Relation) -> Result<()> {
        let none = || PgError::internal("an index for nearest values of another class");
        let class = index.columns.first().and_then(|c| class(c.opclass)).ok_or_else(none)?;
        let KeyedBy { value, columns, changed, .. } = self.keyed_by(index, table)?;
        self.drop_terms(index_relation.oid)?;
        let side = side_table(index_relation.oid);
        let trigger = |event: &str| quoted(&format!("{side}_{event}"));
        let (numbers, lists) = (quoted(&side), quoted(&lists_table(index_relation.oid)));
        let (name, number) = (quoted(&table.sqlite_name), rowid_name(table)?);
        self.batch(&format!(
            "CREATE TABLE main.{lists} (number INTEGER PRIMARY KEY, center BLOB NOT NULL);
             CREATE TABLE main.{numbers} (term INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (term, number)) WITHOUT ROWID;
             CREATE INDEX main.{} ON {numbers} (number);",
            quoted(&format!("{side}_number")),
        ))?;
        let rows = format!("SELECT {number}, {value} FROM main.{name} WHERE {value} IS NOT NULL");
        let centers = self.centers(&rows, &class, index_relation)?;
        let mut insert =
            self.conn.prepare(&format!("INSERT INTO main.{lists} VALUES (?1, ?2)")).map_err(sqlite_error)?;
        for (i, center) in centers.iter().enumerate() {
            work::visit();
            insert.execute(rusqlite::params![i as i64, center]).map_err(sqlite_error)?;
        }
        let mut insert =
            self.conn.prepare(&format!("INSERT INTO main.{numbers} VALUES (?1, ?2)")).map_err(sqlite_error)?;
        self.each_value(&rows, |row, bytes| {
            let list = nearest(&class, bytes, &centers)?.unwrap_or(0);
            insert.execute(rusqlite::params![list as i64, row]).map_err(sqlite_error)?;
            Ok(())
        })?;
        let of_new = list_of(index_relation.oid, &class, &value);
        let added = format!(
            "INSERT OR IGNORE INTO {numbers} SELECT {of_new}, {number} FROM {name} WHERE {number} = new.{number} AND {value} IS NOT NULL"
        );
        let removed = format!("DELETE FROM {numbers} WHERE number = old.{number}");
        self.batch(&format!(
            "CREATE TRIGGER main.{} AFTER INSERT ON {name} BEGIN {added}; END;
             CREATE TRIGGER main.{} AFTER UPDATE OF {} ON {name}{changed} BEGIN {removed}; {added}; END;
             CREATE TRIGGER main.{} AFTER UPDATE ON {name} WHEN old.{number} <> new.{number}
             BEGIN UPDATE OR IGNORE {numbers} SET number = new.{number} WHERE number = old.{number}; END;
             CREATE TRIGGER main.{} AFTER DELETE ON {name} BEGIN {removed}; END;",
            trigger("insert"),
            trigger("update"),
            columns.join(", "),
            trigger("move"),
            trigger("delete"),
        ))
    }

    fn batch(&self, script: &str) -> Result<()> {
        self.conn.execute_batch(script).map_err(sqlite_error)
    }

    /// Calls `each` with the number and the stored value of all rows that a query gives.
    fn each_value(&self, rows: &str, mut each: impl FnMut(i64, &[u8]) -> Result<()>) -> Result<()> {
        let mut statement = self.conn.prepare(rows).map_err(sqlite_error)?;
        let mut rows = statement.query([]).map_err(sqlite_error)?;
        while let Some(row) = rows.next().map_err(sqlite_error)? {
            work::visit();
            let number = row.get(0).map_err(sqlite_error)?;
            let value = row.get_ref(1).map_err(sqlite_error)?;
            let bytes = value.as_blob().map_err(|_| PgError::corrupted("a stored vector is no BLOB"))?;
            work::tick(bytes.len() / 256)?;
            each(number, bytes)?;
        }
        Ok(())
    }

    /// The centers of the lists, in storage form. None: there are too few rows.
    fn centers(&self, rows: &str, class: &Class, index_relation: &Relation) -> Result<Vec<Vec<u8>>> {
        let counted = format!("SELECT count(*) FROM ({rows})");
        let count: i64 = self.conn.query_row(&counted, [], |row| row.get(0)).map_err(sqlite_error)?;
        if count < LEAST_ROWS {
            return Ok(Vec::new());
        }
        let root = (count as f64).sqrt() as i64;
        let lists = number(&index_relation.storage.parameters, "lists", root).clamp(1, count / 10) as usize;
        let mut sample: Vec<Vec<u8>> = Vec::new();
        let wanted = lists.saturating_mul(SAMPLE).max(1);
        let step = (count as usize / wanted).max(1);
        let (mut at, mut bytes_taken) = (0usize, 0usize);
        self.each_value(rows, |_, bytes| {
            // (rows that were inserted one after the other may be alike: places change from step to step)
            let place = (at / step).wrapping_mul(2_654_435_761) % step;
            if at % step == place && bytes_taken < SAMPLE_BYTES {
                bytes_taken += bytes.len();
                sample.push(unit(class, bytes)?);
            }
            at += 1;
            Ok(())
        })?;
        k_means(class, &sample, lists.min(sample.len()))
    }
}

/// A whole number among an index's parameters.
fn number(parameters: &[String], name: &str, default: i64) -> i64 {
    let found = parameters.iter().filter_map(|p| p.split_once('=')).find(|(known, _)| *known == name);
    found.and_then(|(_, value)| value.trim_matches('\'').parse().ok()).unwrap_or(default)
}

/// The storage form of a value.
fn stored(class: &Class, values: &[f32]) -> Result<Vec<u8>> {
    let datum = match class.kind {
        Kind::Half => store_half(values)?,
        _ => store(values),
    };
    match datum {
        Datum::Blob(bytes) => Ok(bytes),
        _ => Err(PgError::internal("a vector that is no BLOB")),
    }
}

/// A value as the clusters see it: where only its direction counts, of length 1.
fn unit(class: &Class, bytes: &[u8]) -> Result<Vec<u8>> {
    let length = norm(class.kind, bytes);
    if !matches!(class.metric, Metric::Cosine | Metric::NegativeProduct) || length <= 0.0 || !length.is_finite() {
        return Ok(bytes.to_vec());
    }
    let parts: Vec<f32> = elements(class.kind, bytes).into_iter().map(|e| (f64::from(e) / length) as f32).collect();
    stored(class, &parts)
}

/// The center that is nearest to a value, the first of several.
fn nearest(class: &Class, bytes: &[u8], centers: &[Vec<u8>]) -> Result<Option<usize>> {
    work::tick(centers.len().saturating_mul(bytes.len()) / 256)?;
    let asked = Asked::new(class.kind, bytes);
    let mut best: Option<(usize, f64)> = None;
    for (i, center) in centers.iter().enumerate() {
        work::visit();
        let distance = asked.distance(class.metric, center);
        // (NaN, the distance of a zero by its angle, is nearest to none)
        if best.is_none_or(|(_, least)| distance < least) {
            best = Some((i, distance));
        }
    }
    Ok(best.map(|(i, _)| i))
}

/// Lloyd's algorithm, from centers that are spread evenly over the sample.
fn k_means(class: &Class, sample: &[Vec<u8>], lists: usize) -> Result<Vec<Vec<u8>>> {
    let Some(first) = sample.first() else { return Ok(Vec::new()) };
    let width = class.kind.dimensions(first).max(0) as usize;
    let mut centers: Vec<Vec<u8>> = (0..lists).filter_map(|i| sample.get(i * sample.len() / lists).cloned()).collect();
    for _ in 0..ROUNDS {
        work::visit();
        let mut sums = vec![0f64; width * centers.len()];
        let mut counts = vec![0usize; centers.len()];
        for value in sample {
            work::visit();
            let Some(list) = nearest(class, value, &centers)? else { continue };
            if let (Some(count), Some(sums)) = (counts.get_mut(list), sums.get_mut(list * width..(list + 1) * width)) {
                *count += 1;
                for (sum, e) in sums.iter_mut().zip(elements(class.kind, value)) {
                    work::visit();
                    *sum += f64::from(e);
                }
            }
        }
        for ((center, sums), count) in centers.iter_mut().zip(sums.chunks(width.max(1))).zip(counts) {
            work::visit();
            // (a list without values keeps its center)
            if count > 0 {
                let means: Vec<f32> = sums.iter().map(|s| (s / count as f64) as f32).collect();
                *center = unit(class, &stored(class, &means)?)?;
            }
        }
    }
    Ok(centers)
}
