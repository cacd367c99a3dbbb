//! `pg_hashed(number, key …)`: the rows with these keys of a table that `pg_hash` has made ([`pgsqlite_natives::udf::hashed_rows`]), as a
//! table-valued function.
//!
//! Each column is there three times, without affinity (`p1` …), as TEXT (`x1` …) and as INTEGER (`i1` …), as in `pg_groups`.

use super::{datum, session_of, through_cell, unregistered};
use pgsqlite_natives::udf::hashed_rows::{HashedRows, Place};
use pgsqlite_natives::udf::session_cell::SessionCell;
use pgsqlite_sql::lower::support::{self, MOST_HASHED as MOST, MOST_HASH_KEYS};
use pgsqlite_types::{work, DatumRef, PgError, Result};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::vtab::{
    Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig, VTabConnection, VTabCursor,
};
use rusqlite::{ffi, Connection, ToSql};
use std::borrow::Cow;
use std::ffi::{c_int, CStr, CString};
use std::marker::PhantomData;
use std::sync::Arc;

/// The place of the first hidden argument, the number; the keys follow it.
const NUMBER: c_int = 3 * MOST as c_int;

/// Registers the table with a connection.
pub fn register(conn: &Connection, cell: &Arc<SessionCell>) -> Result<()> {
    const MODULE: Module<HashedTable> = Module::eponymous_only_module();
    conn.create_module(support::HASHED, &MODULE, Some(cell.clone())).map_err(|e| unregistered(support::HASHED, &e))
}

#[repr(C)]
struct HashedTable {
    base: ffi::sqlite3_vtab,
    cell: Arc<SessionCell>,
}

// SAFETY: the struct is repr(C) and starts with sqlite3_vtab, as SQLite demands.
unsafe impl<'vtab> VTab<'vtab> for HashedTable {
    type Aux = Arc<SessionCell>;
    type Cursor = Cursor<'vtab>;

    fn connect(
        db: &mut VTabConnection,
        aux: Option<&Arc<SessionCell>>,
        _module_name: &[u8],
        _database_name: &[u8],
        _table_name: &[u8],
        _args: &[&[u8]],
    ) -> rusqlite::Result<(Cow<'static, CStr>, Self)> {
        let cell = session_of(aux)?;
        db.config(VTabConfig::Innocuous)?;
        let kinds = [("p", ""), ("x", " TEXT"), ("i", " INTEGER")];
        let column = |(name, ty): (&str, &str), i: usize| format!("{name}{i}{ty}");
        let mut columns: Vec<String> =
            kinds.iter().flat_map(|kind| (1..=MOST).map(move |i| column(*kind, i))).collect();
        columns.push("number HIDDEN".into());
        columns.extend((1..=MOST_HASH_KEYS).map(|i| format!("key{i} HIDDEN")));
        let sql = CString::new(format!("CREATE TABLE x({})", columns.join(", ")))
            .map_err(|e| rusqlite::Error::ModuleError(e.to_string()))?;
        Ok((Cow::Owned(sql), HashedTable { base: ffi::sqlite3_vtab::default(), cell }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> rusqlite::Result<bool> {
        // by their places: the number, and the keys
        let mut arguments = [None; 1 + MOST_HASH_KEYS];
        for (i, constraint) in info.constraints().enumerate() {
            let equal = constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ;
            if equal && constraint.column() >= NUMBER {
                if !constraint.is_usable() {
                    // a plan in which a key is not known yet is none
                    return Ok(false);
                }
                arguments[(constraint.column() - NUMBER) as usize] = Some(i);
            }
        }
        let count = arguments.iter().take_while(|a| a.is_some()).count();
        if count < 2 {
            return Ok(false);
        }
        for (place, i) in arguments.iter().flatten().enumerate() {
            let mut usage = info.constraint_usage(*i);
            usage.set_argv_index(place as c_int + 1);
            usage.set_omit(true);
        }
        info.set_idx_str(support::HASHED);
        info.set_estimated_cost(3.0);
        info.set_estimated_rows(2);
        Ok(true)
    }

    fn open(&'vtab mut self) -> rusqlite::Result<Cursor<'vtab>> {
        Ok(Cursor {
            base: ffi::sqlite3_vtab_cursor::default(),
            cell: self.cell.clone(),
            rows: None,
            place: Place::default(),
            at: 0,
            phantom: PhantomData,
        })
    }
}

#[repr(C)]
struct Cursor<'vtab> {
    base: ffi::sqlite3_vtab_cursor,
    cell: Arc<SessionCell>,
    /// with their number
    rows: Option<(i64, Box<HashedRows>)>,
    place: Place,
    at: i64,
    phantom: PhantomData<&'vtab HashedTable>,
}

struct Borrowed<'a>(DatumRef<'a>);

impl ToSql for Borrowed<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            DatumRef::Null => ToSqlOutput::Owned(Value::Null),
            DatumRef::Int(i) => ToSqlOutput::Owned(Value::Integer(i)),
            DatumRef::Real(r) => ToSqlOutput::Owned(Value::Real(r)),
            DatumRef::Text(t) => ToSqlOutput::Borrowed(ValueRef::Text(t.as_bytes())),
            DatumRef::Blob(b) => ToSqlOutput::Borrowed(ValueRef::Blob(b)),
        })
    }
}

// SAFETY: the struct is repr(C) and starts with sqlite3_vtab_cursor, as SQLite demands.
unsafe impl VTabCursor for Cursor<'_> {
    fn filter(&mut self, _idx_num: c_int, _idx_str: Option<&str>, args: &Filters<'_>) -> rusqlite::Result<()> {
        self.place.end();
        let mut keys = [DatumRef::Null; 1 + MOST_HASH_KEYS];
        let mut count = 0;
        for (key, value) in keys.iter_mut().zip(args.iter()) {
            *key = datum(value);
            count += 1;
        }
        let DatumRef::Int(number) = keys[0] else {
            return through_cell(&self.cell, Err(PgError::internal("a join without its rows")));
        };
        if number == 0 {
            return Ok(());
        }
        if self.rows.as_ref().is_none_or(|(n, _)| *n != number) {
            let rows = self.cell.hashed_rows.take(number).map(|rows| (number, rows));
            self.rows = Some(through_cell(&self.cell, rows.ok_or_else(|| PgError::internal("rows that are gone")))?);
        }
        self.at += 1;
        let (rows, place) = (&mut self.rows, &mut self.place);
        let found = match rows {
            Some((_, rows)) => work::catching(|| rows.find(count - 1, |i| keys[i + 1], place)),
            None => Ok(()),
        };
        through_cell(&self.cell, found)
    }

    fn next(&mut self) -> rusqlite::Result<()> {
        self.at += 1;
        let place = &mut self.place;
        let gone = match &self.rows {
            Some((_, rows)) => work::catching(|| rows.next(place)),
            None => Ok(()),
        };
        through_cell(&self.cell, gone)
    }

    fn eof(&self) -> bool {
        self.place.is_end()
    }

    fn column(&self, context: &mut Context, i: c_int) -> rusqlite::Result<()> {
        let i = i as usize;
        match &self.rows {
            Some((_, rows)) if i < 3 * MOST => match rows.value(&self.place, i % MOST) {
                // (a text of another program that is no UTF-8)
                DatumRef::Blob(bytes) if i / MOST == 1 => {
                    context.set_result(ToSqlOutput::Borrowed(ValueRef::Text(bytes)))
                }
                value => context.set_result(Borrowed(value)),
            },
            _ => context.set_result(Borrowed(DatumRef::Null)),
        }
    }

    fn rowid(&self) -> rusqlite::Result<i64> {
        Ok(self.at)
    }
}
